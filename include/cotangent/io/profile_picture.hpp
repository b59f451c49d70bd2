// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_PROFILE_PICTURE_HPP
#define COTANGENT_IO_PROFILE_PICTURE_HPP

#include <cotangent/io/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Draws the workspace of a program: time to the right, addresses upwards, a rectangle for each buffer.

namespace cotangent {
namespace detail {

class profile_picture {
  struct color_of {
    std::string key, what; // the line of the source; its operation
    std::int64_t at_peak = 0, area = 0;
  };
  static constexpr double left = 86, top = 64, width = 700, legend = 270, below = 92;
  static constexpr std::size_t most_pieces = 4000, most_lines = 12;
  static constexpr char const* colors[most_lines]{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1",
                                                   "#edc948", "#76b7b2", "#ff9da7", "#9c755f",
                                                   "#86bc86", "#d4a6c8", "#a0cbe8", "#d7b5a6"};
  std::string text_;
  double from_ = 0;    // the upper edge of the drawn part
  double height = 400; // of the range of addresses

public:
  static std::string of(profile const& p) {
    profile_picture drawn;
    std::string const tall = number(height_of(p, drawn.height));
    std::string const wide = number(left + width + legend);
    drawn.text_.append("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"")
        .append(wide)
        .append("\" height=\"");
    drawn.text_.append(tall).append("\" viewBox=\"0 0 ").append(wide).append(1, ' ').append(tall);
    drawn.text_ += "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n";
    drawn.text_.append("<rect width=\"").append(wide).append("\" height=\"").append(tall);
    drawn.text_ += "\" fill=\"#ffffff\"/>\n";
    drawn.panel(p);
    return drawn.text_.append("</svg>\n");
  }

private:
  static constexpr double height_inside = 200;
  static double height_of(profile const& p, double own) {
    own += top + below;
    for (profile const& inside : p.regions) own += height_of(inside, height_inside);
    return own;
  }
  /// With one decimal digit, in every locale.
  static std::string number(double x) {
    auto const tenths = static_cast<std::int64_t>(x * 10 + (x < 0 ? -0.5 : 0.5));
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0)
      text.append(1, '.').append(std::to_string(tenths % 10 < 0 ? -(tenths % 10) : tenths % 10));
    return text;
  }
  static std::string escaped(std::string const& words) {
    std::string to;
    for (char const c : words) switch (c) {
      case '&': to += "&amp;"; break;
      case '<': to += "&lt;"; break;
      case '>': to += "&gt;"; break;
      case '"': to += "&quot;"; break;
      default: to += static_cast<unsigned char>(c) < 32 ? ' ' : c;
      }
    return to;
  }
  static std::string shortened(std::string const& words, std::size_t most) {
    return words.size() <= most ? words : words.substr(0, most - 2).append("..");
  }
  void rectangle(double x, double y, double w, double h, char const* fill, char const* more) {
    text_.append("<rect x=\"").append(number(x)).append("\" y=\"").append(number(y)).append("\" width=\"");
    text_.append(number(w)).append("\" height=\"").append(number(h)).append("\" fill=\"").append(fill);
    text_.append(1, '"').append(more);
  }
  void words(double x, double y, std::string const& what, char const* more = "") {
    text_.append("<text x=\"")
        .append(number(x))
        .append("\" y=\"")
        .append(number(y))
        .append(1, '"')
        .append(more);
    text_.append(1, '>').append(escaped(what)).append("</text>\n");
  }
  void line(double x, double y, double to_x, double to_y, char const* more) {
    text_.append("<line x1=\"").append(number(x)).append("\" y1=\"").append(number(y)).append("\" x2=\"");
    text_.append(number(to_x))
        .append("\" y2=\"")
        .append(number(to_y))
        .append(1, '"')
        .append(more)
        .append("/>\n");
  }

  // ---- one profile

  void panel(profile const& p) {
    double const steps = p.steps.empty() ? 1 : static_cast<double>(p.steps.size());
    double const bytes = p.bytes > 0 ? static_cast<double>(p.bytes) : 1;
    auto const x = [&](double step) { return left + width * step / steps; };
    auto const y = [&](std::int64_t at) {
      return from_ + top + height * (1 - static_cast<double>(at) / bytes);
    };
    words(left, from_ + 24, p.title, " font-size=\"16\" font-weight=\"bold\"");
    words(left, from_ + 42,
          std::string("workspace ")
              .append(with_commas(p.bytes))
              .append(" bytes, at most ")
              .append(with_commas(p.peak))
              .append(" live at once; ")
              .append(std::to_string(p.steps.size()))
              .append(" steps"));
    int const peak = p.peak_step();
    rectangle(x(peak), from_ + top, width / steps, height, "#fbe3e0", "/>\n");
    for (int k = 0; k <= 4; ++k) {
      std::int64_t const at = p.bytes * k / 4;
      line(left, y(at), left + width, y(at), " stroke=\"#dddddd\"");
      words(left - 6, y(at) + 4, with_commas(at), " text-anchor=\"end\"");
    }
    words(left - 6, from_ + top - 12, "address", " text-anchor=\"end\" fill=\"#666666\"");
    std::vector<color_of> const lines = lines_of(p, peak);
    pieces(p, lines, x, y);
    live(p, x, y);
    line(left, y(p.peak), left + width, y(p.peak), " stroke=\"#c0392b\" stroke-dasharray=\"6 4\"");
    words(left + width + 6, y(p.peak) + 4, std::string("peak ").append(with_commas(p.peak)),
          " fill=\"#c0392b\"");
    line(left, from_ + top, left, from_ + top + height, " stroke=\"#333333\"");
    line(left, from_ + top + height, left + width, from_ + top + height, " stroke=\"#333333\"");
    ticks(p, x);
    explain(p, lines);
    from_ += top + height + below;
    height = height_inside;
    for (profile const& inside : p.regions) panel(inside);
  }

  static std::string key_of(profile::piece const& t) {
    if (!t.value) return "while a step runs";
    return t.where.line == 0 ? t.what : t.where.text();
  }
  /// The lines of the source, sorted by the live bytes they hold at the peak.
  static std::vector<color_of> lines_of(profile const& p, int peak) {
    std::vector<color_of> all;
    std::vector<profile::piece const*> sorted;
    for (profile::piece const& t : p.pieces) sorted.push_back(&t);
    std::sort(sorted.begin(), sorted.end(), [](auto const* a, auto const* b) {
      return key_of(*a) != key_of(*b) ? key_of(*a) < key_of(*b) : a < b;
    });
    for (profile::piece const* const t : sorted) {
      if (!t->value) continue;
      if (all.empty() || all.back().key != key_of(*t)) all.push_back({key_of(*t), t->what, 0, 0});
      else if (all.back().what.find(t->what) == std::string::npos)
        all.back().what.append(", ").append(t->what);
      all.back().area += t->bytes * (t->last - t->first + 1);
      if (t->first <= peak && peak <= t->last) all.back().at_peak += t->bytes;
    }
    std::sort(all.begin(), all.end(), [](color_of const& a, color_of const& b) {
      if (a.at_peak != b.at_peak) return a.at_peak > b.at_peak;
      return a.area != b.area ? a.area > b.area : a.key < b.key;
    });
    return all;
  }

  template <class X, class Y>
  void pieces(profile const& p, std::vector<color_of> const& lines, X const& x, Y const& y) {
    std::vector<std::size_t> order(p.pieces.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    if (order.size() > most_pieces) { // the largest, in order of their first step
      auto const area = [&](std::size_t k) {
        return p.pieces[k].bytes * (p.pieces[k].last - p.pieces[k].first + 1);
      };
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return area(a) != area(b) ? area(a) > area(b) : a < b; });
      words(left + width, from_ + top + height + below - 10,
            with_commas(static_cast<std::int64_t>(order.size() - most_pieces))
                .append(" small pieces are not drawn"),
            " text-anchor=\"end\" fill=\"#666666\"");
      order.resize(most_pieces);
      std::sort(order.begin(), order.end());
    }
    for (std::size_t const k : order) {
      profile::piece const& t = p.pieces[k];
      char const* fill = t.value ? "#bbbbbb" : "#eeeeee";
      for (std::size_t j = 0; j < lines.size() && j < most_lines && t.value; ++j)
        if (lines[j].key == key_of(t)) fill = colors[j];
      double const w = x(t.last + 1) - x(t.first), h = y(t.offset) - y(t.offset + t.bytes);
      rectangle(x(t.first), y(t.offset + t.bytes), w, h, fill,
                t.value ? " stroke=\"#ffffff\" stroke-width=\"0.6\">"
                        : " stroke=\"#cccccc\" stroke-width=\"0.6\">");
      std::string all = t.what;
      if (!t.shape.empty()) all.append(1, ' ').append(t.shape);
      if (!t.name.empty()) all.append(1, ' ').append(t.name);
      text_.append("<title>")
          .append(escaped(all))
          .append(": ")
          .append(with_commas(t.bytes))
          .append(" bytes at ");
      text_.append(with_commas(t.offset))
          .append(", steps ")
          .append(std::to_string(t.first + 1))
          .append(1, '-');
      text_.append(std::to_string(t.last + 1)).append(1, ' ').append(escaped(t.where.text()));
      text_ += "</title></rect>\n";
      if (h >= 12 && w >= 40) {
        std::string const short_form = t.name.empty() ? t.what : t.name;
        words(x(t.first) + 3, y(t.offset + t.bytes) + h / 2 + 4,
              shortened(w >= 6.2 * static_cast<double>(all.size()) ? all : short_form,
                        static_cast<std::size_t>(w / 6.2)),
              t.value ? " fill=\"#111111\" pointer-events=\"none\""
                      : " fill=\"#888888\" pointer-events=\"none\"");
      }
    }
  }

  /// The number of live bytes, as a step line.
  template <class X, class Y> void live(profile const& p, X const& x, Y const& y) {
    text_ += "<polyline fill=\"none\" stroke=\"#111111\" stroke-width=\"1.6\" points=\"";
    for (std::size_t k = 0; k < p.steps.size(); ++k)
      for (int side = 0; side < 2; ++side) {
        text_.append(k + static_cast<std::size_t>(side) == 0 ? "" : " ");
        text_.append(number(x(static_cast<double>(k) + side)))
            .append(1, ',')
            .append(number(y(p.steps[k].live)));
      }
    text_ += "\"/>\n";
  }

  template <class X> void ticks(profile const& p, X const& x) {
    std::size_t const n = p.steps.size();
    bool const named = n <= 32;
    std::size_t const by = n <= 32 ? 1 : (n + 19) / 20;
    for (std::size_t k = 0; k < n; k += by) {
      double const at = (x(static_cast<double>(k)) + x(static_cast<double>(k) + 1)) / 2;
      double const y = from_ + top + height + 14;
      words(at, y, std::to_string(k + 1), " text-anchor=\"middle\"");
      if (!named) continue;
      std::string label = p.steps[k].where.text();
      if (label.empty()) label = p.steps[k].what;
      std::string const turn = std::string(" fill=\"#666666\" font-size=\"9\" transform=\"rotate(40 ")
                                   .append(number(at - 4))
                                   .append(1, ' ')
                                   .append(number(y + 10))
                                   .append("\" ");
      std::string const turned = std::string(turn, 0, turn.size() - 2).append(")\"");
      words(at - 4, y + 10, shortened(label, 16), turned.c_str());
    }
    words(left + width + 6, from_ + top + height + 14, "step", " fill=\"#666666\"");
  }

  void explain(profile const& p, std::vector<color_of> const& lines) {
    double const x = left + width + 20;
    double y = from_ + top + height - 20 * static_cast<double>(std::min(lines.size(), most_lines + 1)) - 62;
    double const peak =
        from_ + top +
        height * (1 - static_cast<double>(p.peak) / static_cast<double>(p.bytes > 0 ? p.bytes : 1));
    if (peak > y - 16 && peak < from_ + top + height) y = std::max(from_ + top, y);
    words(x, y, "bytes at the peak, by source line", " font-weight=\"bold\"");
    for (std::size_t k = 0; k < lines.size() && k < most_lines; ++k) {
      y += 20;
      rectangle(x, y - 10, 12, 12, colors[k], "/>\n");
      words(x + 18, y,
            shortened(std::string(with_commas(lines[k].at_peak))
                          .append("  ")
                          .append(lines[k].key)
                          .append("  ")
                          .append(lines[k].what),
                      42));
    }
    if (lines.size() > most_lines) {
      y += 20;
      rectangle(x, y - 10, 12, 12, "#bbbbbb", "/>\n");
      words(x + 18, y, std::string("other lines: ").append(std::to_string(lines.size() - most_lines)));
    }
    y += 20;
    rectangle(x, y - 10, 12, 12, "#eeeeee", " stroke=\"#cccccc\"/>\n");
    words(x + 18, y, "scratch memory of steps");
    y += 20;
    line(x, y - 4, x + 12, y - 4, " stroke=\"#111111\" stroke-width=\"1.6\"");
    words(x + 18, y, "live bytes, by step");
    if (p.records.empty()) return;
    std::int64_t bytes = 0;
    for (profile::record const& r : p.records) bytes += r.bytes;
    words(x, y + 20,
          std::string("beside it: ").append(with_commas(bytes)).append(" bytes of tape an iteration"));
  }
};

} // namespace detail

/// Draws a profile: time to the right, addresses upwards; a rectangle is a buffer, in the color of its line
/// in the source. Bodies of loops and branches follow below.
template <class Stream>
  requires requires(Stream& out, char const* text) { out << text; }
void svg(Stream&& out, profile const& p) {
  out << detail::profile_picture::of(p).c_str();
}

} // namespace cotangent

#endif
