// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_WITH_COMMAS_HPP
#define COTANGENT_IO_WITH_COMMAS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace cotangent::detail {

/// 12,345,678
inline std::string with_commas(std::int64_t n) {
  std::string const digits = std::to_string(n);
  std::string text;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (k != 0 && (digits.size() - k) % 3 == 0 && digits[k - 1] != '-') text += ',';
    text += digits[k];
  }
  return text;
}

} // namespace cotangent::detail

#endif
