// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_REPEAT_HPP
#define COTANGENT_OPS_REPEAT_HPP

#include <cotangent/ops/compare.hpp>

#include <cstdint>

// Broadcast, its adjoint the sum over axes, and reshape: closed under differentiation.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(axis_out_of_range, less_than, axis, rank_of_operand, "cotangent: an axis must be less than the rank of the operand")
COTANGENT_REFUSAL(reshape_count, equal, elements_of_operand, elements_of_result, "cotangent: reshape: the result must have as many elements as the operand")
// clang-format on
} // namespace refusals

namespace op {

/// Operand axis k, of the same size or of size 1, is result axis `attribute k`; all other axes repeat.
/// Adjoint: the sum over the repeated axes.
struct broadcast : extend::primitive<operation_kind::broadcast, 1> {
  static constexpr char const* name = "broadcast";
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r);
  static constexpr void batch(batch_rule& r) {
    std::int64_t axes[max_rank]{};
    int const rank = r.at.attribute_count;
    for (int k = 0; k < rank; ++k) axes[k + 1] = r.attribute(k) + 1;
    r.give(detail::push_as(info_of<broadcast>(), r.b, {r.each()}, axes, rank + 1, r.y().type(),
                           r.with_rows(r.y().shape_id())));
  }
};

/// The same elements, in row-major order, with another shape.
struct reshape : extend::primitive<operation_kind::reshape, 1> {
  static constexpr char const* name = "reshape";
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, of(r.dy(), r.x().shape_id())); }
  static constexpr void tangent(tangent_rule& r) { r.give(of(r.dx(), r.y().shape_id())); }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(), r.with_rows(r.y().shape_id()))); }
  static constexpr term of(term x, std::int32_t shape) {
    return x.shape_id() == shape ? x : detail::push_as(info_of<reshape>(), *x.b, {x}, nullptr, 0, x.type(), shape);
  }
};

/// The base of reductions over the axes in the bits of attribute 0. The derived struct defines `combine<V>(a,
/// b)` and `neutral<T>()`, the value of no elements.
struct reduction {
  static constexpr float cost = 1;
  static constexpr void infer(inference& r) {
    std::uint32_t const mask = static_cast<std::uint32_t>(r.attribute[0]);
    extend::dimensions const from = r.dims(0);
    extend::dimensions d;
    for (int k = 0; k < from.rank; ++k)
      if ((mask >> k & 1u) == 0) d.size[d.rank++] = from.size[k];
    r.result(r.tensor(0).type, d);
    if (r.type == element::boolean) r.template refuse<refusals::element_not_numeric>();
    if (mask >> from.rank != 0) r.template refuse<refusals::axis_out_of_range>(from.rank, from.rank);
  }
  static constexpr void batch(batch_rule& r) { r.give(detail::push(r.at.op, {r.each()}, {r.attribute() << 1})); }
  template <class Op, element E> static constexpr extend::scalar combine_one(extend::scalar const* x) {
    return extend::scalar::of(Op::template combine<element_t<E>>(x[0].as<element_t<E>>(), x[1].as<element_t<E>>()));
  }
  template <class Op> static constexpr extend::scalar evaluate(extend::scalar const* x) {
    switch (x[0].type) {
    case element::float32: return combine_one<Op, element::float32>(x);
    case element::float64: return combine_one<Op, element::float64>(x);
    case element::int32: return combine_one<Op, element::int32>(x);
    case element::int64: return combine_one<Op, element::int64>(x);
    case element::boolean:
    case element::float16:
    case element::bfloat16: break; // (the builder refuses them)
    }
    return x[0];
  }
  template <class Op> static constexpr extend::scalar nothing(element e) {
    switch (e) {
    case element::float32: return extend::scalar::of(Op::template neutral<float>());
    case element::float64: return extend::scalar::of(Op::template neutral<double>());
    case element::int32: return extend::scalar::of(Op::template neutral<std::int32_t>());
    case element::int64: return extend::scalar::of(Op::template neutral<std::int64_t>());
    case element::boolean:
    case element::float16:
    case element::bfloat16: break; // (the builder refuses them)
    }
    return {e};
  }
  template <class Op> static consteval operation describe(std::type_identity<Op>) {
    return {.name = Op::name,
            .code = detail::hash_of(Op::name),
            .kind = operation_kind::reduction,
            .arity = 1,
            .cost = Op::cost,
            .infer = &infer,
            .adjoint = &Op::adjoint,
            .tangent = &Op::tangent,
            .batch = &batch,
            .evaluate = &evaluate<Op>,
            .neutral = &nothing<Op>};
  }
};

/// The sum over axes. Adjoint: broadcast(dy).
struct sum : reduction {
  static constexpr char const* name = "sum";
  template <class V> COTANGENT_FORMULA static constexpr V combine(V const& a, V const& b) { return math::add(a, b); }
  template <class T> static constexpr T neutral() { return T{}; }
  static constexpr void adjoint(adjoint_rule& r) {
    r.give(0, repeat(r.dy(), r.x().shape_id(), static_cast<std::uint32_t>(r.attribute())));
  }
  static constexpr void tangent(tangent_rule& r) { r.give(detail::push(info_of<sum>(), {r.dx()}, {r.attribute()})); }

  /// Broadcasts the result of a reduction over `mask` back to the operand's shape.
  static constexpr term repeat(term y, std::int32_t shape, std::uint32_t mask) {
    std::int64_t axes[max_rank]{};
    int n = 0;
    for (int k = 0; k < y.b->get().shapes[shape].rank; ++k)
      if ((mask >> k & 1u) == 0) axes[n++] = k;
    return mask == 0 ? y : detail::push_as(info_of<broadcast>(), *y.b, {y}, axes, n, y.type(), shape);
  }
};

constexpr void broadcast::adjoint(adjoint_rule& r) {
  extend::dimensions const from = r.x().dims(), to = r.y().dims();
  std::uint32_t mask = (1u << to.rank) - 1;
  for (int k = 0; k < from.rank; ++k)
    if (from.size[k] == to.size[r.attribute(k)]) mask &= ~(1u << r.attribute(k));
  term const s = mask == 0 ? r.dy() : detail::push(info_of<sum>(), {r.dy()}, {static_cast<std::int64_t>(mask)});
  r.give(0, reshape::of(s, r.x().shape_id()));
}
constexpr void broadcast::tangent(tangent_rule& r) {
  std::int64_t axes[max_rank]{};
  for (int k = 0; k < r.at.attribute_count; ++k) axes[k] = r.attribute(k);
  r.give(detail::push_as(info_of<broadcast>(), r.b, {r.dx()}, axes, r.at.attribute_count, r.dx().type(),
                         r.y().shape_id()));
}

} // namespace op

namespace detail {
using repeat_operations = operations<op::broadcast, op::reshape, op::sum>;
} // namespace detail
} // namespace cotangent

#endif
