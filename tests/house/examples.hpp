// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_HOUSE_EXAMPLES_HPP
#define COTANGENT_TESTS_HOUSE_EXAMPLES_HPP

#include "../traced.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

// Comparisons of the examples of the reference, whose programs tools/examples.py writes. Values are compared as texts of the form
// "double[2][2] 1 2 3 4", since code that constructs expected tensors takes a large part of the time to compile.

namespace examples {

namespace ct = cotangent;

inline constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

inline int failures = 0;

inline void append(std::string& text, char const* type, std::size_t rank, std::size_t const* extents) {
  text += text.empty() ? "" : "; ";
  text += type;
  for (std::size_t k = 0; k < rank; ++k) text += '[' + std::to_string(extents[k]) + ']';
}

inline void append_elements(std::string& text, auto const* elements, std::size_t count) {
  char digits[40];
  for (std::size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, " %.12g", static_cast<double>(elements[i]));
    text += digits;
  }
}

template <class T> constexpr char const* type_name() {
  if (std::is_same_v<T, double>) return "double";
  if (std::is_same_v<T, float>) return "float";
  if (std::is_same_v<T, bool>) return "bool";
  return std::is_same_v<T, std::int64_t> ? "int64" : "int32";
}

template <class T> concept several = requires { std::tuple_size<T>::value; };

template <class T> void append(std::string& text, T const& x) {
  if constexpr (several<T>) {
    std::apply([&](auto const&... part) { (append(text, part), ...); }, x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    append(text, type_name<T>(), 0, nullptr);
    append_elements(text, &x, 1);
  } else {
    std::size_t extents[8] = {};
    for (int k = 0; k < static_cast<int>(x.rank); ++k) extents[k] = static_cast<std::size_t>(x.extent(k));
    append(text, type_name<std::remove_cvref_t<decltype(*x.data())>>(), static_cast<std::size_t>(x.rank), extents);
    append_elements(text, x.data(), static_cast<std::size_t>(x.size()));
  }
}

// Equal words, or numbers that are equal to the digits of the page.
inline bool agree(char const* a, char const* b) {
  while (*a && *b) {
    char *after_a = nullptr, *after_b = nullptr;
    double const x = std::strtod(a, &after_a), y = std::strtod(b, &after_b);
    if (after_a != a && after_b != b) {
      if (x != y && !(std::isnan(x) && std::isnan(y)) && !(std::abs(x - y) <= 1e-6 + 1e-5 * std::abs(y))) return false;
      a = after_a, b = after_b;
    } else if (*a++ != *b++) return false;
  }
  return *a == *b;
}

inline void compare_texts(char const* example, std::string const& found, char const* expected) {
  if (agree(found.c_str(), expected)) return;
  failures = 1;
  std::printf("%s\n  on the page: %s\n  computed:    %s\n", example, expected, found.c_str());
}

// The result and the gradients.
template <class T> void compare(char const* example, T const& found, char const* expected) {
  std::string text;
  append(text, found);
  compare_texts(example, text, expected);
}

// Of all elements of a result, or of several results.
inline constexpr auto sum = [](auto const& result) {
  if constexpr (several<std::remove_cvref_t<decltype(result)>>) {
    return std::apply([](auto const&... part) { return (ct::sum(part) + ...); }, result);
  } else {
    return ct::sum(result);
  }
};
inline constexpr auto sum_of_squares = [](auto const& result) {
  if constexpr (several<std::remove_cvref_t<decltype(result)>>) {
    return std::apply([](auto const&... part) { return (ct::sum(ct::square(part)) + ...); }, result);
  } else {
    return ct::sum(ct::square(result));
  }
};

} // namespace examples

#endif
