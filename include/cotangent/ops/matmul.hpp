// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_MATMUL_HPP
#define COTANGENT_OPS_MATMUL_HPP

#include <cotangent/ops/movement.hpp>

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(matmul_inner, equal, columns_of_left, rows_of_right, "cotangent: matmul: the columns of the left operand must equal the rows of the right")
COTANGENT_REFUSAL(matmul_rank, equal, rank_of_a_matrix, rank_of_matmul_operand, "cotangent: matmul: both operands must be matrices; give a vector an axis of size 1 with ct::reshape")
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
    r.give(r.rows <= 64 && is_large(r) ? separately(r, ta, tb) : as_sums(r, ta, tb));
  }
  /// True if one product is worth a kernel call.
  static constexpr bool is_large(batch_rule const& r) {
    dimensions const a = r.x(0).dims(), y = r.y().dims();
    for (dimension const d : {r.rows, a.size[0], a.size[1], y.size[0], y.size[1]})
      if (d < 1) return false;
    return a.size[0] * a.size[1] >= (1 << 12) / y.size[1];
  }
  static constexpr term separately(batch_rule const& r, bool ta, bool tb) {
    dimensions const y = r.y().dims();
    std::int32_t const one = r.b.shape({3, {1, y.size[0], y.size[1]}});
    array<symbol> products;
    for (dimension k = 0; k < r.rows; ++k)
      products.push(reshape::of(of(extend::at(r.each(0), 0, k), extend::at(r.each(1), 0, k), ta, tb), one).id);
    std::int64_t const axis = 0;
    return {&r.b, r.b.push(info_of<concatenate>(), products.data(), products.size(), &axis, 1, r.b.place)};
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

/// The product of two matrices. If the result has one column (or row), it is a sum over products, which fuses
/// with its neighbors; a matrix product does not. One row times a large matrix stays a matrix product:
/// unfused, the products would need memory for a second matrix.
constexpr term matmul(term a, term b) {
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

} // namespace extend
} // namespace cotangent

#endif
