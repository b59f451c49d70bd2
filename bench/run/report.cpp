// SPDX-License-Identifier: BSL-1.0
#include "harness.hpp"

#include <cotangent/core/abi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

namespace bench {

namespace {

#define BENCH_TEXT(Name) #Name
#define BENCH_EXPANDED_TEXT(Name) BENCH_TEXT(Name)

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string today() {
  std::time_t const now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string format(char const* pattern, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string duration(double seconds) {
  if (seconds <= 0) return "-";
  double const ns = seconds * 1e9;
  return ns < 1e3   ? format("%.1f ns", ns)
         : ns < 1e6 ? format("%.2f us", ns / 1e3)
                    : format("%.2f ms", ns / 1e6);
}

std::string quoted(std::string const& text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (static_cast<unsigned char>(c) >= ' ') out += c;
  return out + '"';
}

std::string json_estimate(estimate const& e) {
  if (e.median == 0) return "null";
  return format("{\"median\": %.4f, \"low\": %.4f, \"high\": %.4f}", e.median, e.low, e.high);
}

} // namespace

void print_heading() {
  std::printf("%s, %s, %s\n\n", processor().c_str(), compiler().c_str(), BENCH_EXPANDED_TEXT(COTANGENT_ABI));
  std::printf("%-22s %-6s %8s  %-22s %10s %10s  %-21s %s\n", "case", "", "n", "by hand, the fastest", "hand",
              "ours", "ours / hand", "loops / hand");
}

void print(measurement const& m) {
  std::string const ratio =
      m.ours.median > 0 ? format("%5.2f [%.2f, %.2f]", m.ours.median, m.ours.low, m.ours.high) : "    -";
  std::string const loops = m.loops.median > 0 ? format("%6.2f", m.loops.median) : "     -";
  std::printf("%-22s %-6s %8s  %-22s %10s %10s  %-21s %s\n", m.name.c_str(), m.element.c_str(),
              m.size.c_str(), m.hand.c_str(), duration(m.seconds_hand).c_str(),
              duration(m.seconds_ours).c_str(), ratio.c_str(), loops.c_str());
  std::fflush(stdout);
}

void print_summary(std::vector<measurement> const& all) {
  std::vector<double> ours, loops;
  for (auto const& m : all) {
    if (m.loops.median <= 0) continue; // not compared with code by hand
    if (m.ours.median > 0) ours.push_back(m.ours.median);
    loops.push_back(m.loops.median);
  }
  if (loops.empty()) return;
  std::printf("\ngeometric mean: loops / hand %.2f", geometric_mean(loops));
  if (!ours.empty())
    std::printf(", ours / hand %.3f, worst %.2f", geometric_mean(ours),
                *std::max_element(ours.begin(), ours.end()));
  std::puts("");
}

bool write_json(std::string const& path, std::vector<measurement> const& all) {
  std::ofstream file(path);
  file << "{\n  \"date\": " << quoted(today()) << ",\n  \"processor\": " << quoted(processor())
       << ",\n  \"compiler\": " << quoted(compiler())
       << ",\n  \"instructions\": " << quoted(BENCH_EXPANDED_TEXT(COTANGENT_ABI)) << ",\n  \"cases\": [";
  char const* separator = "\n";
  for (auto const& m : all) {
    file << separator << "    {\"name\": " << quoted(m.name) << ", \"element\": " << quoted(m.element)
         << ", \"size\": " << quoted(m.size) << ", \"n\": " << m.n << ", \"pairs\": " << m.pairs
         << ",\n     \"hand\": " << quoted(m.hand)
         << format(", \"seconds_ours\": %.4g, \"seconds_hand\": %.4g, \"seconds_loops\": %.4g",
                   m.seconds_ours, m.seconds_hand, m.seconds_loops)
         << ",\n     \"ours_to_hand\": " << json_estimate(m.ours)
         << ", \"loops_to_hand\": " << json_estimate(m.loops) << ",\n     \"variants\": {";
    for (std::size_t i = 0; i < m.variants.size(); ++i)
      file << (i ? ", " : "") << quoted(m.variants[i].first) << format(": %.4g", m.variants[i].second);
    file << "}}";
    separator = ",\n";
  }
  file << "\n  ]\n}\n";
  file.close();
  if (!file) std::fprintf(stderr, "bench: could not write %s\n", path.c_str());
  return static_cast<bool>(file);
}

// One line a measurement, grouped by case; the ratio against hand on a logarithmic axis.
bool write_svg(std::string const& path, std::vector<measurement> const& all) {
  int const left = 250, width = 620, right = 130, top = 74, line = 17, gap = 30;
  double low = 0.7, high = 2.5;
  for (auto const& m : all) {
    if (m.ours.low > 0) low = std::min(low, m.ours.low * 0.95), high = std::max(high, m.ours.high * 1.1);
    if (m.loops.median > 0)
      low = std::min(low, m.loops.median * 0.95), high = std::max(high, m.loops.median * 1.1);
  }
  auto const x = [&](double ratio) { return left + width * std::log(ratio / low) / std::log(high / low); };

  std::string rows;
  int y = top;
  std::string group;
  for (auto const& m : all) {
    if (m.name != group) {
      y += group.empty() ? 14 : gap;
      group = m.name;
      rows += format("<text x='14' y='%d' class='group'>%s</text>\n", y, group.c_str());
      y += 6;
    }
    y += line;
    rows += format("<text x='%d' y='%d' text-anchor='end'>%s %s</text>\n", left - 12, y + 4,
                   m.element.c_str(), m.size.c_str());
    rows += format("<line x1='%d' x2='%d' y1='%d' y2='%d' class='faint'/>\n", left, left + width, y, y);
    if (m.loops.median > 0)
      rows += format(
          "<rect x='%.1f' y='%d' width='7' height='7' class='loops'><title>plain loops %.2f</title></rect>\n",
          x(m.loops.median) - 3.5, y - 4, m.loops.median);
    if (m.ours.median > 0)
      rows += format(
          "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' class='ours'/>"
          "<circle cx='%.1f' cy='%d' r='4' class='ours'><title>%.3f [%.3f, %.3f]</title></circle>\n",
          x(m.ours.low), x(m.ours.high), y, y, x(m.ours.median), y, m.ours.median, m.ours.low, m.ours.high);
    rows += format("<text x='%d' y='%d'>%s%s</text>\n", left + width + 10, y + 4,
                   m.ours.median > 0 ? format("%.2f, ", m.ours.median).c_str() : "",
                   duration(m.seconds_hand).c_str());
  }
  int const bottom = y + 16, height = bottom + 30;

  std::ofstream file(path);
  file << format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d'>\n",
                 left + width + right, height, left + width + right, height)
       << "<style>text{font:12px sans-serif;fill:#333}.group{font-weight:bold}.title{font:bold 15px "
          "sans-serif}"
          ".faint{stroke:#eee}.tick{stroke:#ccc}.one{stroke:#333}.goal{stroke:#c60;stroke-dasharray:4 3}"
          ".ours{stroke:#06c;stroke-width:2;fill:#06c}.loops{fill:#aaa}</style>\n"
       << "<rect width='100%' height='100%' fill='white'/>\n"
       << "<text x='14' y='24' class='title'>Time of a gradient, as a multiple of the best one by "
          "hand</text>\n"
       << "<text x='14' y='43'>" << processor() << ", " << compiler() << ", " << today() << "</text>\n"
       << "<circle cx='20' cy='57' r='4' class='ours'/><text x='30' y='61'>Cotangent, with the 95 % interval "
          "of the "
          "median</text><rect x='350' y='53' width='7' height='7' class='loops'/><text x='364' y='61'>plain "
          "loops over "
          "std:: functions</text><text x='570' y='61'>right: ratio, time by hand</text>\n";
  for (double tick : {0.5, 0.7, 1.0, 1.15, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0})
    if (tick >= low && tick <= high) {
      char const* const kind = tick == 1 ? "one" : tick == 1.15 ? "goal" : "tick";
      file << format("<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' class='%s'/>\n", x(tick), x(tick), top,
                     bottom, kind);
      if (tick != 1.15)
        file << format("<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x(tick), bottom + 16, tick);
    }
  file << rows << "</svg>\n";
  file.close();
  if (!file) std::fprintf(stderr, "bench: could not write %s\n", path.c_str());
  return static_cast<bool>(file);
}

// Draws the cases in a budget: time over memory, both relative to the program that stores all values.
bool write_curve(std::string const& path, std::vector<measurement> const& all) {
  int const left = 70, width = 640, top = 84, height = 360, right = 30;
  char const* const colors[]{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1"};
  double high = 1.3;
  for (auto const& m : all)
    if (m.size.back() == '%') high = std::max(high, m.ours.high * 1.05);
  auto const x = [&](double part) { return left + width * (1 - part); };
  auto const y = [&](double ratio) { return top + height * (high - ratio) / (high - 0.9); };

  std::string drawn;
  for (int k = 0; k <= 10; k += 2)
    drawn += format("<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#ddd'/>"
                    "<text x='%.1f' y='%d' text-anchor='middle'>%d %%</text>\n",
                    x(k / 10.), x(k / 10.), top, top + height, x(k / 10.), top + height + 18, 10 * k);
  for (double ratio = 1; ratio < high; ratio += high < 1.7 ? 0.1 : 0.25)
    drawn += format("<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>"
                    "<text x='%d' y='%.1f' text-anchor='end'>%.2f</text>\n",
                    left, left + width, y(ratio), y(ratio), left - 8, y(ratio) + 4, ratio);
  std::string group, line;
  double whole = 0;
  int groups = 0;
  auto const end = [&] {
    if (!line.empty()) drawn += "<path d='" + line + "' fill='none' stroke='" + colors[(groups - 1) % 4] + "' stroke-width='2'/>\n";
    line.clear();
  };
  for (auto const& m : all) {
    if (m.size.back() != '%' || m.ours.median <= 0) continue;
    if (m.name != group) {
      end();
      group = m.name;
      whole = static_cast<double>(m.n);
      drawn += format("<rect x='%d' y='%d' width='12' height='12' fill='%s'/><text x='%d' y='%d'>%s: all kept %.0f KB, %s</text>\n",
                      left + 14, top + 14 + 20 * groups, colors[groups % 4], left + 32, top + 25 + 20 * groups,
                      group.c_str(), whole / 1024, duration(m.seconds_hand).c_str());
      ++groups;
    }
    double const at = x(static_cast<double>(m.n) / whole);
    line += format("%s%.1f %.1f ", line.empty() ? "M" : "L", at, y(m.ours.median));
    drawn += format("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='%s'/><circle cx='%.1f' cy='%.1f' r='4' fill='%s'>"
                    "<title>%ld bytes: %.3f [%.3f, %.3f]</title></circle>\n",
                    at, at, y(m.ours.low), y(m.ours.high), colors[(groups - 1) % 4], at, y(m.ours.median),
                    colors[(groups - 1) % 4], static_cast<long>(m.n), m.ours.median, m.ours.low, m.ours.high);
  }
  end();
  std::ofstream file(path);
  file << format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d'>\n",
                 left + width + right, top + height + 60, left + width + right, top + height + 60)
       << "<style>text{font:12px sans-serif;fill:#333}.title{font:bold 15px sans-serif}</style>\n"
       << "<rect width='100%' height='100%' fill='white'/>\n"
       << "<text x='14' y='24' class='title'>What less memory costs: time of a run, as a multiple of the one that keeps all</text>\n"
       << "<text x='14' y='43'>" << processor() << ", " << compiler() << ", " << today() << "</text>\n"
       << drawn
       << format("<text x='%d' y='%d' text-anchor='middle'>memory, as a part of what keeping all takes</text>\n",
                 left + width / 2, top + height + 42)
       << "</svg>\n";
  file.close();
  if (!file) std::fprintf(stderr, "bench: could not write %s\n", path.c_str());
  return static_cast<bool>(file);
}

} // namespace bench
