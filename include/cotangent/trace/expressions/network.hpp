// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_NETWORK_HPP
#define COTANGENT_TRACE_EXPRESSIONS_NETWORK_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/network.hpp>
#include <cotangent/trace/expressions/reductions.hpp>

#include <array>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <utility>

// Further functions of neural networks. (Not part of cotangent.hpp.)

namespace cotangent {

namespace refusals {
void is_included(header_of_nn); // see trace/expressions/other_headers.hpp
}

namespace detail {

struct gelu_fn {
  static constexpr char const* name = "gelu";
  using emits = operations<op::normal_cdf>;
  constexpr term operator()(term x) const { return extend::gelu(x); }
};
struct binary_cross_entropy_with_logits_fn {
  static constexpr char const* name = "binary_cross_entropy_with_logits";
  using emits = operations<op::softplus>;
  constexpr term operator()(term z, term t) const {
    if (z.type() != t.type()) return z.b->refuse<refusals::elements_differ>(0, 0, z.b->place), z;
    return extend::binary_cross_entropy_with_logits(z, t);
  }
};
struct batch_take_fn {
  static constexpr char const* name = "batch_take";
  using emits = operations<>;
  constexpr term operator()(term x, term indices) const { return extend::batch_take(x, indices); }
};
template <int Axis, int Parts, int K> struct equal_split_fn {
  static constexpr char const* name = "split";
  using emits = operations<>;
  constexpr term operator()(term x) const {
    int const axis = axis_of(x, Axis);
    return x.b->failed().why != nullptr ? x : extend::split(x, axis, Parts, K);
  }
};
template <int Axis, int K, std::int64_t... Size> struct split_fn {
  static constexpr char const* name = "split";
  using emits = operations<>;
  constexpr term operator()(term x) const {
    constexpr std::int64_t sizes[]{Size...};
    int const axis = axis_of(x, Axis);
    return x.b->failed().why != nullptr ? x : extend::split(x, axis, sizes, sizeof...(Size), K);
  }
};

} // namespace detail

/// x times the probability that a standard normal number is less than x.
template <detail::operand X>
constexpr auto gelu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gelu_fn{}, x);
}
/// The loss of sigmoid(logits) against targets in [0, 1], elementwise.
template <detail::operand Z, detail::operand T>
constexpr auto binary_cross_entropy_with_logits(Z const& logits, T const& targets,
                                    std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::binary_cross_entropy_with_logits_fn{}, logits, targets);
}
/// The element of each row of the last axis that an index selects.
template <detail::operand X, detail::operand I>
constexpr auto batch_take(X const& x, I const& indices,
                          std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::batch_take_fn{}, x, indices);
}

/// Splits an axis into equal parts: a std::array of expressions, `auto [a, b] = ct::split<1, 2>(x)`.
template <int Axis, int Parts, detail::operand X>
constexpr auto split(X const& x, std::source_location where = std::source_location::current()) {
  auto const first = detail::lift(where, detail::equal_split_fn<Axis, Parts, 0>{}, x);
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    if constexpr (std::is_same_v<decltype(first), refused const>)
      return std::array < refused, Parts<1 ? 1 : Parts>{}; // one mistake, one error
    else return std::array{first, detail::lift(where, detail::equal_split_fn<Axis, Parts, K + 1>{}, x)...};
  }(std::make_integer_sequence<int, (Parts < 1 ? 1 : Parts) - 1>{});
}
/// Splits an axis into parts of these sizes: a std::tuple of expressions, `auto [a, b, c] = ct::split<0, 2,
/// 3, 4>(x)`.
template <int Axis, std::int64_t First, std::int64_t Second, std::int64_t... Rest, detail::operand X>
constexpr auto split(X const& x, std::source_location where = std::source_location::current()) {
  auto const first = detail::lift(where, detail::split_fn<Axis, 0, First, Second, Rest...>{}, x);
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    if constexpr (std::is_same_v<decltype(first), refused const>)
      return std::tuple{first, (static_cast<void>(K), refused{})...};
    else
      return std::tuple{first,
                        detail::lift(where, detail::split_fn<Axis, K + 1, First, Second, Rest...>{}, x)...};
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Rest)) + 1>{});
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
