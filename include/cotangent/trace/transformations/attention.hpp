// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_ATTENTION_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_ATTENTION_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/expressions/layers.hpp>
#include <cotangent/trace/expressions/sources.hpp>
#include <cotangent/trace/transformations/checkpoint.hpp>
#include <cotangent/trace/transformations/scan.hpp>

#include <cstdint>
#include <tuple>
#include <utility>

// Attention by blocks of queries: a loop whose memory holds the scores of one block. (Not part of cotangent.hpp.)

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

struct attention_of_block {
  template <class... X> constexpr auto operator()(X const&... x) const { return cotangent::attention(x...); }
};
/// `first` is the number of the first query of the block.
struct causal_attention_of_block {
  template <class I, class Q, class K, class V> constexpr auto operator()(I const& first, Q const& q, K const& k, V const& v) const {
    auto const row = first + cotangent::iota<Q::extents[0]>();
    return cotangent::attention(q, k, v, cotangent::expand<1>(row) >= cotangent::iota<K::extents[0]>());
  }
};

/// x with axis 0 in blocks of `Rows`, of which the last is filled with zeros.
template <std::int64_t Rows, class X> constexpr auto in_blocks(X const& x) {
  constexpr std::int64_t count = X::extents[0].number, blocks = (count + Rows - 1) / Rows;
  if constexpr (count % Rows == 0) return cotangent::reshape<blocks, Rows, X::extents[1]>(x);
  else return cotangent::reshape<blocks, Rows, X::extents[1]>(cotangent::pad<0, blocks * Rows - count, 0, 0>(x));
}
template <std::int64_t Count, class Y> constexpr auto without_blocks(Y const& y) {
  constexpr std::int64_t rows = Y::extents[0].number * Y::extents[1].number;
  return cotangent::reshape<rows, Y::extents[2]>(y)(range<0, Count>);
}
/// `of(first, block...)` for each block of queries and of the other operands.
template <std::int64_t Rows, class Of, class Q, class... Block> constexpr auto by_blocks(Of const& of, Q const& q, Block const&... x) {
  auto const all = cotangent::scan([&](auto first, auto const&... block) { return std::pair(first + Rows, of(first, block...)); }, std::int64_t{0},
                                   detail::in_blocks<Rows>(q), detail::in_blocks<Rows>(x)...);
  return detail::without_blocks<Q::extents[0].number>(std::get<1>(all));
}

} // namespace COTANGENT_ABI
} // namespace detail

namespace refusals {
COTANGENT_REFUSAL(attention_blocks, at_least, zero, extent_of_queries, "cotangent: block_attention: the number of queries must be a number, not a name")
} // namespace refusals

/// attention(q, k, v), by blocks of that many queries: the memory holds the scores of one block, for gradients, too, which compute
/// them again. In traced functions.
template <std::int64_t Rows, detail::operand Q, detail::operand K, detail::operand V>
  requires(Rows > 0 && detail::is_expr<Q> && detail::is_expr<K> && detail::is_expr<V>)
constexpr auto block_attention(Q const& q, K const& k, V const& v) {
  if constexpr (Q::rank != 2 || K::rank != 2 || V::rank != 2) return cotangent::attention(q, k, v); // refuses
  else if constexpr (!Q::extents[0].is_number()) {
    static_assert(refusals::attention_blocks::report<extent::of(0), Q::extents[0]>());
    return refused{};
  } else
    return detail::by_blocks<Rows>([&](auto, auto const& block) { return cotangent::checkpoint(detail::attention_of_block{})(block, k, v); }, q);
}
/// With a mask [t, s] of bools.
template <std::int64_t Rows, detail::operand Q, detail::operand K, detail::operand V, detail::operand M>
  requires(Rows > 0 && detail::is_expr<Q> && detail::is_expr<K> && detail::is_expr<V>)
constexpr auto block_attention(Q const& q, K const& k, V const& v, M const& mask) {
  if constexpr (Q::rank != 2 || K::rank != 2 || V::rank != 2) return cotangent::attention(q, k, v, mask); // refuses
  else if constexpr (!Q::extents[0].is_number()) {
    static_assert(refusals::attention_blocks::report<extent::of(0), Q::extents[0]>());
    return refused{};
  } else {
    auto const whole = cotangent::convert<std::int32_t>(cotangent::broadcast_to<Q::extents[0], K::extents[0]>(mask));
    return detail::by_blocks<Rows>(
        [&](auto, auto const& block, auto const& seen) { return cotangent::checkpoint(detail::attention_of_block{})(block, k, v, seen > 0); }, q, whole);
  }
}
/// causal_attention(q, k, v), by blocks of that many queries.
template <std::int64_t Rows, detail::operand Q, detail::operand K, detail::operand V>
  requires(Rows > 0 && detail::is_expr<Q> && detail::is_expr<K> && detail::is_expr<V>)
constexpr auto block_causal_attention(Q const& q, K const& k, V const& v) {
  if constexpr (Q::rank != 2 || K::rank != 2 || V::rank != 2) return cotangent::causal_attention(q, k, v); // refuses
  else if constexpr (!Q::extents[0].is_number()) {
    static_assert(refusals::attention_blocks::report<extent::of(0), Q::extents[0]>());
    return refused{};
  } else
    return detail::by_blocks<Rows>(
        [&](auto first, auto const& block) { return cotangent::checkpoint(detail::causal_attention_of_block{})(first, block, k, v); }, q);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
