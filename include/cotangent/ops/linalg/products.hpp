// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_PRODUCTS_HPP
#define COTANGENT_OPS_LINALG_PRODUCTS_HPP

#include <cotangent/ops/matmul.hpp>

#include <cstdint>

// Triangles, diagonals and traces of matrices; outer and cross products.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(linalg_rank, at_most, axes_needed, axes_of_operand, "cotangent: trace, triangular functions and decompositions need a matrix or a stack of matrices")
COTANGENT_REFUSAL(outer_rank, equal, rank_of_vector, rank_of_operand, "cotangent: outer: both operands must be vectors")
COTANGENT_REFUSAL(cross_extent, equal, three, last_extent_of_operand, "cotangent: cross: the last axis of both operands must have extent 3")
// clang-format on
} // namespace refusals

namespace extend {

/// The index along `axis` of each element of `x`, as int64.
constexpr term positions(term x, int axis) {
  std::uint32_t const others = ((1u << x.rank()) - 1) & ~(1u << axis);
  return op::sum::repeat(iota(*x.b, element::int64, x.dims().size[axis]), x.shape_id(), others);
}
/// Zeros off the triangle of each matrix: that at and below the diagonal, or at and above it. `strict` excludes the diagonal.
constexpr term triangle(term x, bool lower, bool strict = false) {
  term const row = positions(x, x.rank() - 2), column = positions(x, x.rank() - 1);
  term const large = lower ? row : column, small = lower ? column : row;
  return select(strict ? large > small : large >= small, x, constant_like(x, 0));
}
/// The diagonal of each square matrix of a stack.
constexpr term diagonal_of_matrices(term x) {
  int const rank = x.rank();
  term const on = positions(x, rank - 2) == positions(x, rank - 1);
  return sum(select(on, x, constant_like(x, 0)), 1u << (rank - 2));
}
/// True if `x` has matrices; else the failure is recorded.
constexpr bool has_matrices(term x) {
  if (x.rank() >= 2) return true;
  x.b->refuse<refusals::linalg_rank>(2, x.rank(), x.b->place);
  return false;
}
constexpr term trace(term x) {
  if (!has_matrices(x)) return x;
  int const rank = x.rank();
  term const on = positions(x, rank - 2) == positions(x, rank - 1);
  return sum(select(on, x, constant_like(x, 0)), 3u << (rank - 2));
}
constexpr term outer(term a, term b) {
  builder& g = *a.b;
  for (term const& x : {a, b})
    if (x.rank() != 1) return g.refuse<refusals::outer_rank>(1, x.rank(), g.place), x;
  return op::reshape::of(a, g.shape({2, {a.dims().size[0], 1}})) * b;
}
constexpr term cross(term a, term b) {
  builder& g = *a.b;
  for (term const& x : {a, b}) {
    dimension const last = x.rank() == 0 ? 0 : x.dims().size[x.rank() - 1];
    if (last != 3) return g.refuse<refusals::cross_extent>(3, last, g.place), x;
  }
  auto const turned = [](term x, dimension by) { // element i is element (i + by) mod 3
    int const axis = x.rank() - 1;
    symbol const parts[]{slice(x, axis, by, 3 - by).id, slice(x, axis, 0, by).id};
    std::int64_t const along = axis;
    return term{x.b, x.b->push(info_of<op::concatenate>(), parts, 2, &along, 1, x.b->place)};
  };
  term const y = turned(a, 1) * turned(b, 2);
  return g.failed().why != nullptr ? a : y - turned(a, 2) * turned(b, 1);
}

} // namespace extend
} // namespace cotangent

#endif
