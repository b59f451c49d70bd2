// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TOOLS_FUZZING_STATIC_HPP
#define COTANGENT_TOOLS_FUZZING_STATIC_HPP

#include <cotangent/cotangent.hpp>

#include <cotangent/images.hpp>
#include <cotangent/memory_budget.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <tuple>
#include <type_traits>

// What the traced functions that tools/fuzz generates are compared by.

namespace ct = cotangent;

namespace {

template <class Tensor, class E = typename Tensor::value_type> constexpr Tensor filled(std::initializer_list<double> values) {
  Tensor t;
  std::int64_t k = 0;
  for (double const v : values) t.data()[k++] = static_cast<E>(v);
  return t;
}

template <class T> struct numbers {
  T const* data;
  std::int64_t count;
};
template <class T, class Y> numbers<T> numbers_of(Y const& y) {
  if constexpr (std::is_arithmetic_v<Y>) return {&y, 1};
  else return {y.data(), static_cast<std::int64_t>(y.size())};
}
template <class T> constexpr double tolerance = sizeof(T) == 4 ? 4e-3 : 1e-8;

/// The largest difference of a result, relative to 1 + the magnitude of what is expected, for tools/referee.
inline void measured([[maybe_unused]] char const* what, [[maybe_unused]] double difference) {
#ifdef COTANGENT_FUZZING_MEASURES
  std::printf("measured %s %.3g\n", what, difference);
#endif
}
inline int report(char const* what, double expected, double actual) {
  std::printf("differs %s: expected %.17g, got %.17g\n", what, expected, actual);
  return 1;
}
template <class T, class Y> int compare(char const* what, Y const& y, std::initializer_list<double> expected) {
  numbers<T> const v = numbers_of<T>(y);
  if (v.count != static_cast<std::int64_t>(expected.size())) return report(what, double(expected.size()), double(v.count));
  std::int64_t k = 0;
  double largest = 0;
  for (double const want : expected) {
    double const got = double(v.data[k++]);
    largest = std::max(largest, std::abs(got - want) / (1 + std::abs(want)));
    if (!(std::abs(got - want) <= tolerance<T> * (1 + std::abs(want)))) return report(what, want, got);
  }
  measured(what, largest);
  return 0;
}
/// The product of y with a direction.
template <class T, class Y> int product(char const* what, Y const& y, std::initializer_list<double> direction, double expected) {
  numbers<T> const v = numbers_of<T>(y);
  if (v.count != static_cast<std::int64_t>(direction.size())) return report(what, double(direction.size()), double(v.count));
  double sum = 0, scale = 1 + std::abs(expected);
  std::int64_t k = 0;
  for (double const d : direction) {
    double const a = double(v.data[k++]);
    sum += a * d;
    scale += std::abs(a);
  }
  measured(what, std::abs(sum - expected) / scale);
  return std::abs(sum - expected) <= tolerance<T> * scale ? 0 : report(what, expected, sum);
}
/// Two tuples of results.
template <class T, class A, class B> int same(char const* what, A const& a, B const& b, bool bits) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    auto const one = [&](auto const& p, auto const& q) {
      numbers<T> const v = numbers_of<T>(p), w = numbers_of<T>(q);
      if (v.count != w.count) return report(what, double(w.count), double(v.count));
      for (std::int64_t k = 0; k < v.count; ++k) {
        double const x = double(v.data[k]), y = double(w.data[k]);
        bool const equal = std::memcmp(v.data + k, w.data + k, sizeof(T)) == 0;
        if (!equal && (bits || !(std::abs(x - y) <= tolerance<T> * (1 + std::abs(y))))) return report(what, y, x);
      }
      return 0;
    };
    return (one(std::get<K>(a), std::get<K>(b)) + ... + 0);
  }(std::make_index_sequence<std::tuple_size_v<A>>());
}

} // namespace

#endif
