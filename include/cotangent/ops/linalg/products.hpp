// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_PRODUCTS_HPP
#define COTANGENT_OPS_LINALG_PRODUCTS_HPP

#include <cotangent/ops/matmul.hpp>
#include <cotangent/ops/movement.hpp>

#include <cstdint>

// Triangles and diagonals of matrices and of stacks of matrices.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(linalg_rank, at_most, axes_needed, axes_of_operand, "cotangent: decompositions and linear systems need a matrix or a stack of matrices")
// clang-format on
} // namespace refusals

namespace extend {

/// The index along `axis` of each element of `x`, as int64.
constexpr term positions(term x, int axis) {
  std::uint32_t const others = ((1u << x.rank()) - 1) & ~(1u << axis);
  return op::sum::repeat(iota(*x.b, element::int64, x.dims().size[axis]), x.shape_id(), others);
}
/// As many identity matrices as `x` has matrices.
constexpr term identity_like(term x) { return convert(positions(x, x.rank() - 2) == positions(x, x.rank() - 1), x.type()); }
/// Zeros off the triangle of each matrix: that at and below the diagonal, or at and above it. `strict` excludes the diagonal.
constexpr term triangle(term x, bool lower, bool strict = false) {
  term const row = positions(x, x.rank() - 2), column = positions(x, x.rank() - 1);
  term const large = lower ? row : column, small = lower ? column : row;
  return select(strict ? large > small : large >= small, x, constant_like(x, 0));
}
/// The diagonal of two axes of one extent, `axis` and the later `other`, which the result lacks. If the extent is a number, elements off
/// the diagonal are not read.
constexpr term diagonal_of(term x, int axis, int other) {
  dimension const n = x.dims().size[axis];
  if (n >= 0) return slice(merge_axes(move_axis(x, other, axis + 1), axis), axis, 0, n, n + 1);
  return sum(select(positions(x, axis) == positions(x, other), x, constant_like(x, 0)), 1u << other);
}
/// The diagonal of each square matrix of a stack.
constexpr term diagonal_of_matrices(term x) { return diagonal_of(x, x.rank() - 2, x.rank() - 1); }
/// True if `x` has matrices; else the failure is recorded.
constexpr bool has_matrices(term x) {
  if (x.rank() >= 2) return true;
  x.b->refuse<refusals::linalg_rank>(2, x.rank(), x.b->place);
  return false;
}

} // namespace extend
} // namespace cotangent

#endif
