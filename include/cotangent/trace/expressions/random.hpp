// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_RANDOM_HPP
#define COTANGENT_TRACE_EXPRESSIONS_RANDOM_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/functions/gamma.hpp>
#include <cotangent/ops/random.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <cstdint>
#include <source_location>
#include <type_traits>

// Random numbers from keys. (Not part of cotangent.hpp.)

namespace cotangent {

namespace refusals {
void is_included(header_of_random); // see trace/expressions/other_headers.hpp
COTANGENT_REFUSAL(random_shape, at_most, axes_of_parameter, axes_of_result, "cotangent: random_gamma: the shape parameter must broadcast to the shape of the result")
} // namespace refusals

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
template <element To, extent... E> struct random_exponential_fn {
  static constexpr char const* name = "random_exponential";
  static constexpr element gives = To;
  constexpr term operator()(term key) const {
    return extend::random_exponential(key, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}), To);
  }
};
template <extent... E> struct random_bernoulli_fn {
  static constexpr char const* name = "random_bernoulli";
  static constexpr element gives = element::boolean;
  constexpr term operator()(term key, term p) const {
    return extend::random_bernoulli(key, p, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}));
  }
};
/// Numbers of the gamma distributions of these shape parameters, by the inverse of the distribution function of a uniform number.
constexpr term gamma_numbers(term key, term a, std::int32_t shape) {
  if (extend::broadcast_shape(*a.b, shape, a.shape_id()) != shape) {
    if (a.b->failed().why == nullptr) a.b->refuse<refusals::random_shape>(a.rank(), a.b->get().shapes[shape].rank, a.b->place);
    return key;
  }
  term const u = extend::random_uniform(key, shape, a.type());
  return a.b->failed().why != nullptr ? key : extend::apply<op::gammaincinv>(extend::broadcast_to(a, shape), u);
}
template <element To, extent... E> struct random_gamma_fn {
  static constexpr char const* name = "random_gamma";
  static constexpr element gives = To;
  using uses = gamma_operations;
  constexpr term operator()(term key, term a) const {
    return gamma_numbers(key, a, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}));
  }
};
/// The element type that an operand is computed in; a literal counts as double.
template <class X> inline constexpr element element_of_operand = element::float64;
template <class X>
  requires requires { typename X::value_type; }
inline constexpr element element_of_operand<X> = arithmetic_of(element_of<typename X::value_type>);
struct random_categorical_fn {
  static constexpr char const* name = "random_categorical";
  static constexpr element gives = element::int64;
  constexpr term operator()(term key, term logits) const { return extend::random_categorical(key, logits); }
};
struct random_fold_in_fn {
  static constexpr char const* name = "random_fold_in";
  static constexpr element gives = element::int64;
  constexpr term operator()(term key, term number) const { return extend::random_fold_in(key, number); }
};
/// An integer variable of eager mode.
template <class N>
concept eager_index = open_expr<N> && std::is_integral_v<typename N::value_type> && requires(N const& n) { n.value(); };
/// Elements are known in eager mode, and are checked as a literal is.
template <eager_index N> void check_fold_numbers(N const& numbers, std::source_location where) {
  if (numbers.is_number() || numbers.empty()) return; // a literal, or refused below
  for (auto const n : numbers.value(where))
    if (n < 0) N::template refuse<refusals::random_number>("random_fold_in", where);
}
template <extent Count> struct random_split_fn {
  static constexpr char const* name = "random_split";
  static constexpr element gives = element::int64;
  constexpr term operator()(term key) const { return extend::random_split(key, key.b->size(Count)); }
};
struct dropout_fn {
  static constexpr char const* name = "dropout";
  double rate;
  constexpr term operator()(term x, term key) const { return extend::dropout(x, rate, key); }
};

/// An operand; a literal becomes an element of this type.
template <class T, class X> constexpr auto as_operand(X const& x) {
  if constexpr (literal<X>) return as_expr<T>(x);
  else return x;
}
template <class K> constexpr auto as_key(K const& key) { return as_operand<std::int64_t>(key); }

} // namespace detail

/// Uniform numbers in [0, 1), determined by the int64 key and the position: `ct::random_uniform<float, 64,
/// 10>(key)`.
template <element_type T, extent... E, detail::operand K>
constexpr auto random_uniform(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_uniform_fn<element_of<T>, E...>{}, detail::as_key(key));
}
/// Normal numbers of mean 0 and variance 1, determined by the int64 key and the position.
template <element_type T, extent... E, detail::operand K>
constexpr auto random_normal(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_normal_fn<element_of<T>, E...>{}, detail::as_key(key));
}
/// Exponentially distributed numbers of mean 1, determined by the int64 key and the position.
template <element_type T, extent... E, detail::operand K>
constexpr auto random_exponential(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_exponential_fn<element_of<T>, E...>{}, detail::as_key(key));
}
/// True with probability p, a number or a tensor that broadcasts: `ct::random_bernoulli<64>(key, 0.25)`. Adjoint: 0.
template <extent... E, detail::operand K, detail::operand P>
constexpr auto random_bernoulli(K const& key, P const& p, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_bernoulli_fn<E...>{}, detail::as_key(key), detail::as_operand<double>(p));
}
/// Numbers of the gamma distribution of the shape parameter a > 0 and scale 1, with a a number or a tensor that broadcasts:
/// `ct::random_gamma<64>(key, 2.5)`. Adjoint of a: by implicit reparameterization, as if the probability of each number were kept.
template <extent... E, detail::operand K, detail::operand A>
constexpr auto random_gamma(K const& key, A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_gamma_fn<detail::element_of_operand<A>, E...>{}, detail::as_key(key), detail::as_operand<double>(a));
}
/// An index (int64) for each row of the last axis, with the probabilities softmax(logits). Adjoint: 0.
template <detail::operand K, detail::operand X>
constexpr auto random_categorical(K const& key, X const& logits, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_categorical_fn{}, detail::as_key(key), logits);
}
/// A key that depends on a key and an integer of at least 0, such as the number of a step; integers in a tensor give as many keys.
template <detail::operand K, detail::operand N>
constexpr auto random_fold_in(K const& key, N const& number, std::source_location where = std::source_location::current()) {
  if constexpr (detail::eager_index<N>) detail::check_fold_numbers(number, where);
  return detail::lift(where, detail::random_fold_in_fn{}, detail::as_key(key), detail::as_key(number));
}
/// Count keys that are independent of each other and of the key's numbers: `auto keys = ct::random_split<2>(key)`.
template <extent Count, detail::operand K>
constexpr auto random_split(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::random_split_fn<Count>{}, detail::as_key(key));
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
