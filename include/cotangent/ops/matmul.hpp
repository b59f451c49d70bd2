// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_MATMUL_HPP
#define COTANGENT_OPS_MATMUL_HPP

#include <cotangent/ops/movement.hpp>

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(matmul_inner, equal, columns_of_left, rows_of_right, "cotangent: matmul: the columns of the left operand must equal the rows of the right")
COTANGENT_REFUSAL(matmul_rank, equal, rank_of_a_matrix, rank_of_matmul_operand, "cotangent: matmul: both operands of the operation must be matrices, or both stacks of matrices with three axes")
COTANGENT_REFUSAL(matmul_stacks, equal, matrices_on_the_left, matrices_on_the_right, "cotangent: matmul: both stacks must have the same number of matrices")
COTANGENT_REFUSAL(matmul_scalar, at_most, axes_needed, axes_of_matmul_operand, "cotangent: matmul: both operands must be vectors, matrices or stacks of matrices; multiply by a scalar with *")
// clang-format on
} // namespace refusals

namespace op {

/// The product of two matrices, or of the matrices of two stacks, [matrix, row, column]. Attributes: whether the left matrices
/// are transposed, whether the right ones are. Adjoints: dA = dy B', dB = A' dy.
struct matmul : extend::primitive<operation_kind::matmul, 2> {
  static constexpr char const* name = "matmul";
  static constexpr float cost = 100;
  static constexpr void infer(inference& r) {
    extend::dimensions const a = r.dims(0), b = r.dims(1);
    r.like(0);
    if (r.tensor(1).type != r.type) return r.refuse<refusals::elements_differ>();
    if (!is_floating(r.type)) return r.refuse<refusals::element_not_floating>();
    int const at = a.rank == 3 ? 1 : 0; // the axis of rows
    if (a.rank != 2 + at) return r.refuse<refusals::matmul_rank>(2, a.rank);
    if (b.rank != a.rank) return r.refuse<refusals::matmul_rank>(a.rank, b.rank);
    if (at == 1 && a.size[0] != b.size[0]) return r.refuse<refusals::matmul_stacks>(a.size[0], b.size[0]);
    int const ta = r.attribute[0] != 0, tb = r.attribute[1] != 0;
    if (a.size[at + 1 - ta] != b.size[at + tb]) return r.refuse<refusals::matmul_inner>(a.size[at + 1 - ta], b.size[at + tb]);
    extend::dimensions d = a;
    d.size[at] = a.size[at + ta];
    d.size[at + 1] = b.size[at + 1 - tb];
    r.result(r.type, d);
  }
  static constexpr void adjoint(adjoint_rule& r) {
    bool const ta = r.attribute(0) != 0, tb = r.attribute(1) != 0;
    if (r.wanted(0)) r.give(0, ta ? of(r.x(1), r.dy(), tb, true) : of(r.dy(), r.x(1), false, !tb));
    if (r.wanted(1)) r.give(1, tb ? of(r.dy(), r.x(0), true, ta) : of(r.x(0), r.dy(), !ta, false));
  }
  static constexpr void tangent(tangent_rule& r) {
    bool const ta = r.attribute(0) != 0, tb = r.attribute(1) != 0;
    term const left = r.has(0) ? of(r.dx(0), r.x(1), ta, tb) : term{};
    term const right = r.has(1) ? of(r.x(0), r.dx(1), ta, tb) : term{};
    r.give(!right.present() ? left : !left.present() ? right : left + right);
  }
  /// Rows on one side extend the matrices of that side. Rows on both sides extend the stack.
  static constexpr void batch(batch_rule& r) {
    bool const ta = r.attribute(0) != 0, tb = r.attribute(1) != 0;
    int const at = r.y().rank() - 2; // the axis of rows, without those of the batch
    std::int32_t const shape = r.with_rows(r.y().shape_id());
    if (r.has(0) && r.has(1)) {
      if (at == 0) return r.give(of(r.each(0), r.each(1), ta, tb));
      return r.give(reshape::of(of(extend::merge_axes(r.each(0)), extend::merge_axes(r.each(1)), ta, tb), shape));
    }
    extend::dimensions d = r.y().dims(); // of the result, with the rows before or behind the axis that they extend
    if (r.has(0)) { // [rows, matrix, row, column] or transposed: [matrix, rows and row, column]
      term left = ta ? extend::move_axis(r.each(0), at + 2, at + 1) : r.each(0);
      left = extend::merge_axes(extend::move_axis(left, 0, at), at);
      d = at == 0 ? extend::dimensions{3, {r.rows, d.size[0], d.size[1]}} : extend::dimensions{4, {d.size[0], r.rows, d.size[1], d.size[2]}};
      return r.give(extend::move_axis(reshape::of(of(left, r.x(1), false, tb), r.b.shape(d)), at, 0));
    }
    int const columns = at + (tb ? 1 : 2); // of the right operand, behind the rows
    term const right = extend::merge_axes(extend::move_axis(r.each(1), 0, columns - 1), columns - 1);
    d = at == 0 ? extend::dimensions{3, {d.size[0], r.rows, d.size[1]}} : extend::dimensions{4, {d.size[0], d.size[1], r.rows, d.size[2]}};
    r.give(extend::move_axis(reshape::of(of(r.x(0), right, ta, tb), r.b.shape(d)), at + 1, 0));
  }
  static constexpr term of(term a, term b, bool ta, bool tb) {
    return detail::push(info_of<matmul>(), {a, b}, {ta, tb});
  }
};

} // namespace op

namespace detail {
using matmul_operations = operations<op::matmul>;
} // namespace detail

namespace extend {

/// The sizes of leading axes `stack`, followed by two.
constexpr dimensions stack_of(dimensions stack, dimension rows, dimension columns) {
  stack.size[stack.rank++] = rows;
  stack.size[stack.rank++] = columns;
  return stack;
}
/// The axes before the last two.
constexpr dimensions stack_axes(dimensions d) {
  dimensions stack;
  for (int k = 0; k + 2 < d.rank; ++k) stack.size[stack.rank++] = d.size[k];
  return stack;
}
/// The matrices of a stack, transposed.
constexpr term transpose_matrices(term x) { return move_axis(x, x.rank() - 1, x.rank() - 2); }

/// The product of two matrices. If the result has one column (or row), it is a sum over products, which fuses
/// with its neighbors; a matrix product does not. One row times a large matrix stays a matrix product:
/// unfused, the products would need memory for a second matrix.
constexpr term matmul_of_matrices(term a, term b) {
  term const product = op::matmul::of(a, b, false, false);
  builder& g = *a.b;
  if (g.failed().why != nullptr) return product;
  dimensions const p = a.dims(), q = b.dims();
  if (q.size[1] == 1) {
    term const row = op::sum::repeat(op::reshape::of(b, g.shape(dimensions{1, {q.size[0]}})), a.shape_id(), 1u);
    return op::reshape::of(sum(a * row, 2u), product.shape_id());
  }
  if (p.size[0] == 1 && !(q.size[0] > 0 && q.size[1] > (1 << 16) / q.size[0])) {
    term const column = op::sum::repeat(op::reshape::of(a, g.shape(dimensions{1, {p.size[1]}})), b.shape_id(), 2u);
    return op::reshape::of(sum(column * b, 1u), product.shape_id());
  }
  return product;
}

/// The products of the matrices of two stacks, whose leading axes broadcast. Products with one row or one column are sums over the
/// last axis of both, which fuse with their neighbors. Precondition: the inner extents are equal.
constexpr term matmul_of_stacks(term a, term b) {
  builder& g = *a.b;
  dimensions const p = a.dims(), q = b.dims();
  dimension const rows = p.size[p.rank - 2], inner = p.size[p.rank - 1], columns = q.size[q.rank - 1];
  std::int32_t const common = broadcast_shape(g, g.shape(stack_axes(p)), g.shape(stack_axes(q)));
  if (common == none) return a;
  dimensions const stack = g.get().shapes[common];
  if (rows == 1 || columns == 1) {
    if (stack.rank + 3 > max_rank)
      return g.refuse<refusals::rank_too_large>(stack.rank + 3, max_rank, g.place), a;
    dimensions left = stack_of(stack_axes(p), rows, 1), right = stack_of(stack_axes(q), 1, columns);
    left.size[left.rank++] = right.size[right.rank++] = inner;
    term const products = op::reshape::of(a, g.shape(left)) * op::reshape::of(transpose_matrices(b), g.shape(right));
    return products.b->failed().why != nullptr ? a : sum(products, 1u << (products.rank() - 1));
  }
  dimension const count = g.count(stack);
  term const left = broadcast_to(a, g.shape(stack_of(stack, rows, inner)));
  term const right = broadcast_to(b, g.shape(stack_of(stack, inner, columns)));
  term const product = op::matmul::of(op::reshape::of(left, g.shape({3, {count, rows, inner}})),
                                      op::reshape::of(right, g.shape({3, {count, inner, columns}})), false, false);
  return op::reshape::of(product, g.shape(stack_of(stack, rows, columns)));
}

/// The product of vectors, matrices and stacks of matrices, as in NumPy.
constexpr term matmul(term a, term b) {
  if (a.rank() == 2 && b.rank() == 2) return matmul_of_matrices(a, b);
  builder& g = *a.b;
  if (g.failed().why != nullptr) return a;
  dimensions p = a.dims(), q = b.dims();
  bool const from_row = p.rank == 1, from_column = q.rank == 1;
  if (p.rank == 0 || q.rank == 0) return g.refuse<refusals::matmul_scalar>(1, 0, g.place), a;
  if (a.type() != b.type()) return g.refuse<refusals::elements_differ>(0, 0, g.place), a;
  if (!is_floating(a.type())) return g.refuse<refusals::element_not_floating>(0, 0, g.place), a;
  if (from_row) a = op::reshape::of(a, g.shape(p = {2, {1, p.size[0]}}));
  if (from_column) b = op::reshape::of(b, g.shape(q = {2, {q.size[0], 1}}));
  dimension const rows = p.size[p.rank - 2], inner = p.size[p.rank - 1], columns = q.size[q.rank - 1];
  if (inner != q.size[q.rank - 2]) return g.refuse<refusals::matmul_inner>(inner, q.size[q.rank - 2], g.place), a;
  term y;
  dimensions d = stack_axes(p);
  if (q.rank == 2) { // the rows of all matrices of the stack are those of one
    dimension const all = g.count(stack_of(d, rows, 1));
    y = matmul_of_matrices(op::reshape::of(a, g.shape({2, {all, inner}})), b);
  } else {
    y = matmul_of_stacks(a, b);
    if (g.failed().why != nullptr) return y;
    d = stack_axes(y.dims());
  }
  if (!from_row) d.size[d.rank++] = rows;
  if (!from_column) d.size[d.rank++] = columns;
  return g.failed().why != nullptr ? y : op::reshape::of(y, g.shape(d));
}

} // namespace extend
} // namespace cotangent

#endif
