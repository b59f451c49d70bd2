// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_MATMUL_HPP
#define COTANGENT_OPS_MATMUL_HPP

#include <cotangent/ops/movement.hpp>

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(matmul_inner, equal, columns_of_left, rows_of_right, "cotangent: matmul: the columns of the left operand must equal the rows of the right")
COTANGENT_REFUSAL(matmul_rank, equal, rank_of_a_matrix, rank_of_matmul_operand, "cotangent: matmul: both operands of the operation must be matrices")
COTANGENT_REFUSAL(matmul_scalar, at_most, axes_needed, axes_of_matmul_operand, "cotangent: matmul: both operands must be vectors, matrices or stacks of matrices; multiply by a scalar with *")
// clang-format on
} // namespace refusals

namespace op {

/// The product of two matrices. Attributes: whether the left operand is transposed, whether the right one is.
/// Adjoints: dA = dy B', dB = A' dy.
struct matmul : extend::primitive<operation_kind::matmul, 2> {
  static constexpr char const* name = "matmul";
  static constexpr float cost = 100;
  static constexpr void infer(inference& r) {
    dimensions const a = r.dims(0), b = r.dims(1);
    r.like(0);
    if (r.tensor(1).type != r.type) return r.refuse<refusals::elements_differ>();
    if (!is_floating(r.type)) return r.refuse<refusals::element_not_floating>();
    if (a.rank != 2) return r.refuse<refusals::matmul_rank>(2, a.rank);
    if (b.rank != 2) return r.refuse<refusals::matmul_rank>(2, b.rank);
    int const ta = r.attribute[0] != 0, tb = r.attribute[1] != 0;
    if (a.size[1 - ta] != b.size[tb]) return r.refuse<refusals::matmul_inner>(a.size[1 - ta], b.size[tb]);
    dimensions d;
    d.rank = 2;
    d.size[0] = a.size[ta];
    d.size[1] = b.size[1 - tb];
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
  /// Rows on one side extend that side of one product. With rows on both sides, small products are sums, and large ones, up to
  /// 64, are products of their own.
  static constexpr void batch(batch_rule& r) {
    bool const ta = r.attribute(0) != 0, tb = r.attribute(1) != 0;
    std::int32_t const shape = r.with_rows(r.y().shape_id());
    if (!r.has(1)) {
      term const left = ta ? extend::move_axis(r.each(0), 2, 1) : r.each(0);
      return r.give(reshape::of(of(extend::merge_axes(left), r.x(1), false, tb), shape));
    }
    if (!r.has(0)) {
      term const right = tb ? r.each(1) : extend::move_axis(r.each(1), 0, 1); // [rows, columns, inner]: [inner, rows, columns]
      term const product = of(r.x(0), tb ? extend::merge_axes(right) : extend::merge_axes(right, 1), ta, tb);
      dimensions d = r.y().dims();
      d = {3, {d.size[0], r.rows, d.size[1]}};
      return r.give(extend::move_axis(reshape::of(product, r.b.shape(d)), 1, 0));
    }
    bool const large = are_worth_calls(r.rows, r.x(0).dims(), r.y().dims().size[1]);
    r.give(large ? separately(r.each(0), r.each(1), r.y().dims(), ta, tb) : as_sums(r, ta, tb));
  }
  /// True if there are few products of matrices, each worth a kernel call. An axis with a name counts as long.
  static constexpr bool are_worth_calls(dimension rows, dimensions const& a, dimension columns) {
    if (rows < 1 || rows > 64) return false;
    dimension work = 1;
    for (dimension const d : {a.size[a.rank - 2], a.size[a.rank - 1], columns})
      work *= d < 0 ? 64 : d < 1 << 12 ? d : 1 << 12;
    return work >= 1 << 12;
  }
  /// One product for each position of axis 0, stacked; `y` has the sizes of one.
  static constexpr term separately(term a, term b, dimensions const& y, bool ta, bool tb) {
    builder& g = *a.b;
    std::int32_t const one = g.shape({3, {1, y.size[0], y.size[1]}});
    array<symbol> products;
    for (dimension k = 0, rows = a.dims().size[0]; k < rows; ++k)
      products.push(reshape::of(of(extend::at(a, 0, k), extend::at(b, 0, k), ta, tb), one).id);
    std::int64_t const axis = 0;
    return {&g, g.push(info_of<concatenate>(), products.data(), products.size(), &axis, 1, g.place)};
  }
  /// Sums over the last axis, so that both operands are read in order.
  static constexpr term as_sums(batch_rule const& r, bool ta, bool tb) {
    term const left = ta ? extend::move_axis(r.each(0), 2, 1) : r.each(0), right = tb ? r.each(1) : extend::move_axis(r.each(1), 2, 1);
    std::int32_t const all = r.b.shape({4, {r.rows, left.dims().size[1], right.dims().size[1], left.dims().size[2]}});
    return extend::sum(sum::repeat(left, all, 4u) * sum::repeat(right, all, 2u), 8u);
  }
  static constexpr term of(term a, term b, bool ta, bool tb) {
    return detail::push(info_of<matmul>(), {a, b}, {ta, tb});
  }
};

} // namespace op

using matmul_operations = operations<op::matmul>;

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

/// The products of the matrices of two stacks, whose leading axes broadcast. Few large products are products of their own;
/// other ones are sums over the last axis of both, which fuse. Precondition: the inner extents are equal.
constexpr term matmul_of_stacks(term a, term b) {
  builder& g = *a.b;
  dimensions const p = a.dims(), q = b.dims();
  dimension const rows = p.size[p.rank - 2], inner = p.size[p.rank - 1], columns = q.size[q.rank - 1];
  std::int32_t const common = broadcast_shape(g, g.shape(stack_axes(p)), g.shape(stack_axes(q)));
  if (common == none) return a;
  dimensions const stack = g.get().shapes[common];
  dimension const count = g.count(stack);
  if (op::matmul::are_worth_calls(count, p, columns)) {
    term const left = broadcast_to(a, g.shape(stack_of(stack, rows, inner)));
    term const right = broadcast_to(b, g.shape(stack_of(stack, inner, columns)));
    term const flat_left = op::reshape::of(left, g.shape({3, {count, rows, inner}}));
    term const flat_right = op::reshape::of(right, g.shape({3, {count, inner, columns}}));
    term const products = op::matmul::separately(flat_left, flat_right, {2, {rows, columns}}, false, false);
    return op::reshape::of(products, g.shape(stack_of(stack, rows, columns)));
  }
  if (stack.rank + 3 > max_rank)
    return g.refuse<refusals::rank_too_large>(stack.rank + 3, max_rank, g.place), a;
  dimensions left = stack_of(stack_axes(p), rows, 1), right = stack_of(stack_axes(q), 1, columns);
  left.size[left.rank++] = right.size[right.rank++] = inner;
  term const products = op::reshape::of(a, g.shape(left)) * op::reshape::of(transpose_matrices(b), g.shape(right));
  return products.b->failed().why != nullptr ? a : sum(products, 1u << (products.rank() - 1));
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
