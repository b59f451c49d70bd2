// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_CURVE_HPP
#define COTANGENT_EXAMPLES_DIGITS_CURVE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <vector>

namespace digits {

/// The training loss (left) and the test accuracy after each epoch, as SVG.
class curve {
  static constexpr double width = 760, height = 420, left = 70, right = 690, top = 50, bottom = 360;
  std::vector<double> loss_, accuracy_;

public:
  void add(double mean_loss, double part_right) {
    loss_.push_back(mean_loss);
    accuracy_.push_back(part_right);
  }

  void write(std::ostream& out) const {
    double const most = step(max_of(loss_)) * std::ceil(max_of(loss_) / step(max_of(loss_)));
    double const worst = accuracy_.empty() ? 0 : *std::min_element(accuracy_.begin(), accuracy_.end());
    double const least = std::min(0.9, std::floor(worst * 10) / 10);
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << height
        << "\" width=\"" << width << "\" height=\"" << height
        << "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\">\n"
        << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    text(out, (left + right) / 2, 26, "middle", "black", "Learning handwritten digits", 16);
    for (int k = 0; k * step(most) <= most * 1.0001; ++k) {
      double const y = at(k * step(most), 0, most);
      out << "<line x1=\"" << left << "\" x2=\"" << right << "\" y1=\"" << y << "\" y2=\"" << y
          << "\" stroke=\"#e4e4e4\"/>\n";
      text(out, left - 8, y + 4, "end", "#1f5f9f", k * step(most));
    }
    double const each = 1 - least > 0.55 ? 0.2 : 1 - least > 0.25 ? 0.1 : 0.02;
    for (int k = 0; 1 - k * each >= least - 1e-9; ++k) {
      double const y = at(1 - k * each, least, 1);
      out << "<line x1=\"" << right << "\" x2=\"" << right + 5 << "\" y1=\"" << y << "\" y2=\"" << y
          << "\" stroke=\"#b3560b\"/>\n";
      text(out, right + 9, y + 4, "start", "#b3560b", std::round(100 * (1 - k * each)));
    }
    auto const epochs = static_cast<int>(loss_.size());
    int const tick = std::max(1, static_cast<int>(step(epochs)));
    for (int k = 0; k <= epochs; k += tick) {
      double const x = across(k);
      out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << bottom << "\" y2=\"" << bottom + 5
          << "\" stroke=\"black\"/>\n";
      text(out, x, bottom + 20, "middle", "black", k);
    }
    out << "<path d=\"M" << left << ' ' << top << "V" << bottom << "H" << right << "V" << top
        << "\" fill=\"none\" stroke=\"black\"/>\n";
    line(out, loss_, 0, most, "#1f5f9f");
    line(out, accuracy_, least, 1, "#d9730d");
    text(out, (left + right) / 2, bottom + 42, "middle", "black", "epoch");
    out << "<g transform=\"rotate(-90 20 205)\">";
    text(out, 20, 205, "middle", "#1f5f9f", "mean cross-entropy in training");
    out << "</g>\n<g transform=\"rotate(90 742 205)\">";
    text(out, 742, 205, "middle", "#b3560b", "test images right, %");
    out << "</g>\n</svg>\n";
  }

private:
  static double max_of(std::vector<double> const& v) {
    return v.empty() ? 1 : std::max(1e-9, *std::max_element(v.begin(), v.end()));
  }
  /// A tick distance, 1, 2 or 5 times a power of ten, that divides `range` into about 4 to 10 steps.
  static double step(double range) {
    double const power = std::pow(10, std::floor(std::log10(range)));
    return range / power <= 2 ? power / 5 : range / power <= 5 ? power / 2 : power;
  }
  double across(double epoch) const {
    return left + (right - left) * epoch / std::max(1., static_cast<double>(loss_.size()));
  }
  static double at(double value, double low, double high) {
    return bottom - (bottom - top) * (value - low) / (high - low);
  }

  template <class T>
  static void text(std::ostream& out, double x, double y, char const* anchor, char const* color,
                   T const& what, int size = 13) {
    out << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\" fill=\"" << color
        << "\" font-size=\"" << size << "\">" << what << "</text>\n";
  }
  void line(std::ostream& out, std::vector<double> const& values, double low, double high,
            char const* color) const {
    out << "<polyline fill=\"none\" stroke=\"" << color
        << "\" stroke-width=\"2.2\" stroke-linejoin=\"round\" points=\"";
    for (std::size_t k = 0; k < values.size(); ++k)
      out << across(static_cast<double>(k + 1)) << ',' << at(values[k], low, high) << ' ';
    out << "\"/>\n";
  }
};

} // namespace digits

#endif
