// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MESSAGE_HPP
#define COTANGENT_CORE_MESSAGE_HPP

#include <cotangent/core/shape.hpp>

#include <concepts>
#include <cstdint>

namespace cotangent::detail {

/// Composes a sentence in a fixed buffer, so that copying it cannot fail; longer text is cut and ends in
/// "...".
class message {
public:
  static constexpr int capacity = 512;

  constexpr message() = default;
  constexpr message(char const* words) { put(words); }

  constexpr message& put(char const* words) noexcept {
    for (; *words != '\0'; ++words) put_character(*words);
    return *this;
  }
  constexpr message& put(char const* words, int length) noexcept {
    for (int i = 0; i < length; ++i) put_character(words[i]);
    return *this;
  }
  template <std::integral I>
  constexpr message& put(I number) noexcept {
    if constexpr (std::same_as<I, bool>) return put(number ? "true" : "false");
    else if constexpr (std::same_as<I, char>) return put_character(number);
    else {
      auto rest = static_cast<std::uint64_t>(number);
      if (number < I{}) {
        put_character('-');
        rest = 0 - rest;
      }
      char digits[20]{};
      int count = 0;
      do {
        digits[count++] = static_cast<char>('0' + static_cast<int>(rest % 10));
        rest /= 10;
      } while (rest != 0);
      while (count > 0) put_character(digits[--count]);
      return *this;
    }
  }
  /// Appends a number, a formula, or the invalid text of an extent.
  constexpr message& put(extent const& e) noexcept {
    if (e.number >= 0) return put(e.number);
    if (e.overflow()) return put("(a long formula)");
    if (e.number == extent::negative) return put(static_cast<std::int64_t>(e.hash));
    if (e.number == extent::too_large) return put("(too large)");
    return e.text[0] == '\0' ? put("(none)") : put(e.text);
  }
  constexpr message& put(shape const& s) noexcept {
    put_character('[');
    for (int i = 0; i < s.rank; ++i) {
      if (i != 0) put(", ");
      put(s.extents[i]);
    }
    return put_character(']');
  }

  constexpr char const* text() const noexcept { return text_; }
  constexpr int length() const noexcept { return length_; }

private:
  char text_[capacity]{};
  int length_ = 0;

  constexpr message& put_character(char c) noexcept {
    if (length_ < capacity - 1) text_[length_++] = c;
    else
      for (int i = 2; i <= 4; ++i) text_[capacity - i] = '.';
    return *this;
  }
};

} // namespace cotangent::detail

#endif
