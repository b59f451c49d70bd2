// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_RANDOM_HPP
#define COTANGENT_TRACE_EXPRESSIONS_RANDOM_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/random.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <cstdint>
#include <source_location>

// Random numbers from keys. (Not part of cotangent.hpp.)

namespace cotangent {
namespace detail {

template <element To, extent... E> struct random_uniform_fn {
  static constexpr char const* name = "random_uniform";
  static constexpr element gives = To;
  constexpr term operator()(term key) const {
    return extend::random_uniform(key, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}), To);
  }
};
template <element To, extent... E> struct random_normal_fn {
  static constexpr char const* name = "random_normal";
  static constexpr element gives = To;
  constexpr term operator()(term key) const {
    return extend::random_normal(key, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}), To);
  }
};
struct dropout_fn {
  static constexpr char const* name = "dropout";
  double rate;
  constexpr term operator()(term x, term key) const { return extend::dropout(x, rate, key); }
};

/// A key; a literal becomes an int64.
template <class K> constexpr auto as_key(K const& key) {
  if constexpr (literal<K>) return as_expr<std::int64_t>(key);
  else return key;
}

} // namespace detail

/// Uniform numbers in [0, 1), determined by the int64 key and the position: `ct::random_uniform<float, 64,
/// 10>(key)`.
template <element_type T, extent... E, detail::operand K>
constexpr auto random_uniform(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_uniform_fn<element_of<T>, E...>{}, key);
}
/// Normal numbers of mean 0 and variance 1, determined by the int64 key and the position.
template <element_type T, extent... E, detail::operand K>
constexpr auto random_normal(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_normal_fn<element_of<T>, E...>{}, key);
}
/// Each element is 0 with probability `rate`, a number, else divided by 1 - rate. The key determines which
/// elements: each layer and each call needs its own key (`key + 1` will do).
template <detail::operand X, detail::operand K>
constexpr auto dropout(X const& x, double rate, K const& key,
                       std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::dropout_fn{rate}, x, detail::as_key(key));
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
