// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_READER_HPP
#define COTANGENT_EXAMPLES_DIGITS_READER_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// Images of 64 pixels from 0 to 1 each, in sequence, and their digits.
struct image_set {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::size_t size() const { return labels.size(); }
};

/// The images, or one sentence that says why there are none.
struct reading {
  image_set images;
  std::string problem;
};

namespace detail {

/// The numbers of a line, or a description of its defect.
inline std::string read_line(std::string_view line, int (&numbers)[65]) {
  if (line.empty()) return "the line is empty";
  char const* at = line.data();
  char const* const end = at + line.size();
  for (int k = 0; k < 65; ++k) {
    int const most = k < 64 ? 16 : 9;
    char const* const comma = std::find(at, end, ',');
    auto const parsed = std::from_chars(at, comma, numbers[k]);
    std::string wrong;
    if (parsed.ec != std::errc() || parsed.ptr != comma || numbers[k] < 0 || numbers[k] > most) {
      if (k < 64) wrong.append("pixel ").append(std::to_string(k + 1));
      else wrong.append("the digit");
      wrong.append(" must be a whole number from 0 to ").append(std::to_string(most)).append(", found '");
      wrong.append(at, at + std::min<std::ptrdiff_t>(20, comma - at)).append(comma - at > 20 ? "...'" : "'");
    } else if ((comma == end) != (k == 64)) {
      wrong.append("a line must contain 64 pixels and the digit, found ");
      if (k == 64) wrong.append("more");
      else wrong.append("only ").append(std::to_string(k + 1)).append(k == 0 ? " number" : " numbers");
    }
    if (!wrong.empty()) return wrong;
    at = comma + 1;
  }
  return {};
}

} // namespace detail

/// Reads lines of 64 pixels, 0 to 16, and the digit, separated by commas. `name` denotes the stream in error messages.
inline reading read(std::istream& in, std::string const& name) {
  reading r;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    int values[65];
    if (std::string const wrong = detail::read_line(line, values); !wrong.empty()) {
      r.problem.append(name).append(", line ").append(std::to_string(number)).append(": ").append(wrong);
      return r;
    }
    for (int k = 0; k < 64; ++k) r.images.pixels.push_back(static_cast<float>(values[k]) / 16);
    r.images.labels.push_back(values[64]);
  }
  if (in.bad()) r.problem = name + " cannot be read";
  else if (r.images.size() == 0) r.problem = name + " holds no images";
  return r;
}

inline reading read(std::string const& path) {
  std::ifstream in(path);
  if (!in) return {{}, std::string("the file ").append(path).append(" cannot be opened")};
  return digits::read(in, path);
}

} // namespace digits

#endif
