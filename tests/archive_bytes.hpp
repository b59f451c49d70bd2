// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ARCHIVE_BYTES_HPP
#define COTANGENT_TESTS_ARCHIVE_BYTES_HPP

#include <cotangent/io/archive/compose.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

// Files made by hand, and files that were tampered with so that only what is in them speaks against them.

namespace archive_bytes {

/// A safetensors file of this header and these elements.
inline std::string file(std::string const& header, std::string const& elements = "") {
  std::uint64_t const length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + elements;
}

/// Gives a file the checksum that it would have.
inline void seal(std::string& bytes) {
  using namespace cotangent::detail::archived;
  if (has_sum(bytes)) bytes.replace(sum_at, sum_digits, digits_of(sum_of(bytes)));
}

/// "fine", or the sentence of the `io_error`, without what was found in the file; "another error: ..." for all others.
template <class Read> std::string said(Read read) {
  try {
    read();
    return "fine";
  } catch (cotangent::io_error const& e) {
    std::string_view text = e.what();
    constexpr std::string_view opening = "cotangent: archive: ";
    if (text.substr(0, opening.size()) != opening) return "another error: " + std::string(text);
    text.remove_prefix(opening.size());
    return std::string(text);
  } catch (std::exception const& e) { return std::string("another error: ") + e.what(); }
}

} // namespace archive_bytes

#endif
