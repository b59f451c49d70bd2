// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_RULE_HPP
#define COTANGENT_OPS_RULE_HPP

#include <cotangent/ops/term.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL(batch_rank, at_most, axes_of_value, axes_with_rows, "cotangent: vmap, jacobian: a value of the function must have at most 7 axes, since batching adds one")
} // namespace refusals

namespace detail {
/// Precondition: the rank is less than max_rank.
constexpr extend::dimensions with_first(extend::dimensions const& d, extend::dimension first) {
  extend::dimensions all{d.rank + 1, {first}};
  for (int k = 0; k < d.rank; ++k) all.size[k + 1] = d.size[k];
  return all;
}
constexpr extend::dimensions without_first(extend::dimensions d) {
  for (int k = 1; k < d.rank; ++k) d.size[k - 1] = d.size[k];
  --d.rank;
  return d;
}
} // namespace detail

/// The view of one node in its derivative and batching rules.
struct rule {
  extend::builder& b;
  extend::node at;

  constexpr int operand_count() const noexcept { return at.operand_count; }
  constexpr term x(int k = 0) const noexcept { return {&b, b.get().ids[at.first + k]}; }
  constexpr term y(int k = 0) const noexcept { return {&b, b.get().ids[at.first + at.operand_count + k]}; }
  constexpr std::int64_t attribute(int k = 0) const noexcept { return b.get().numbers[at.attribute + k]; }
};

/// Input: the cotangents of the results. Output: the contributions to those of the wanted operands, set by
/// `give`.
struct adjoint_rule : rule {
  extend::symbol const* cotangent;          // of the results; `none` if no cotangent arrived
  bool const* wanted_operand;       // by position
  extend::symbol* given;                    // by position: the arguments of `give`
  constexpr term dy(int k = 0) const noexcept { return {&b, cotangent[k]}; }
  constexpr bool wanted(int k) const noexcept { return wanted_operand[k]; }
  constexpr void give(int k, term dx) noexcept { given[k] = dx.id; }
};

/// Input: the tangents of the operands, absent if zero. Output: the tangent of the result.
struct tangent_rule : rule {
  extend::symbol const* tangent;
  extend::symbol given = extend::none;
  constexpr bool has(int k) const noexcept { return tangent[k] != extend::none; }
  constexpr term dx(int k = 0) const noexcept { return {&b, tangent[k]}; }
  constexpr void give(term dy) noexcept { given = dy.id; }
};

/// Input: the operands, some with an axis of rows in front. Output: the result with an axis of rows in front, for the same
/// operation on each row.
struct batch_rule : rule {
  extend::dimension rows;        // the extent of the axis
  extend::symbol const* batched; // by operand: with rows in front; `none` if every row has the same
  extend::symbol given = extend::none;
  constexpr bool has(int k) const noexcept { return batched[k] != extend::none; }
  constexpr term each(int k = 0) const noexcept { return {&b, batched[k]}; }
  /// With rows in front, also if all are the same. (In ops/broadcast.hpp.)
  constexpr term every(int k) const;
  constexpr void give(term y) noexcept { given = y.id; }

  /// The shape with rows in front.
  constexpr std::int32_t with_rows(std::int32_t shape) const {
    extend::dimensions const d = b.get().shapes[shape];
    if (d.rank == max_rank) return b.refuse<refusals::batch_rank>(d.rank, max_rank - 1, b.place), shape;
    return b.shape(detail::with_first(d, rows));
  }
};

/// Operation structs, by name. Every header of operations lists its own.
template <class... Ops> struct operations {};

namespace detail {
template <class... Lists> struct joined_operations;
template <class... A> struct joined_operations<operations<A...>> {
  using type = operations<A...>;
};
template <class... A, class... B, class... Rest>
struct joined_operations<operations<A...>, operations<B...>, Rest...>
    : joined_operations<operations<A..., B...>, Rest...> {};
} // namespace detail

namespace extend {

/// The base of operations that are not elementwise. The derived struct defines a name, `infer(inference&)`,
/// and `adjoint(adjoint_rule&)` and `tangent(tangent_rule&)` unless `derivative` says that there are none;
/// `batch(batch_rule&)` if functions with it may be batched.
template <operation_kind Kind, int Arity> struct primitive {
  static constexpr int arity = Arity;
  static constexpr float cost = 0;
  static constexpr derivative_kind derivative = derivative_kind::differentiable;
  static constexpr void infer(inference&) {} // the node states element and shape of its result

  template <class Op> static consteval operation describe(std::type_identity<Op>) {
    operation o{.name = Op::name,
                .code = detail::hash_of(Op::name),
                .kind = Kind,
                .arity = Arity,
                .derivative = Op::derivative,
                .cost = Op::cost,
                .infer = &Op::infer};
    if constexpr (requires { &Op::adjoint; }) o.adjoint = &Op::adjoint;
    if constexpr (requires { &Op::tangent; }) o.tangent = &Op::tangent;
    if constexpr (requires { &Op::batch; }) o.batch = &Op::batch;
    if constexpr (requires { &Op::evaluate; }) o.evaluate = &Op::evaluate;
    if constexpr (requires { &Op::check; }) o.check = &Op::check;
    if constexpr (requires { &Op::whole; }) o.whole = &Op::whole;
    if constexpr (requires { &Op::formula; }) o.formula = &Op::formula, o.formula_steps = &Op::formula_steps;
    if constexpr (requires { &Op::flops; }) o.flops = &Op::flops;
    if constexpr (requires { Op::has_address; }) o.has_address = Op::has_address;
    if constexpr (requires { Op::prints; }) o.prints = Op::prints;
    if constexpr (requires { Op::reports; }) o.reports = Op::reports;
    if constexpr (requires { Op::looks_up; }) o.looks_up = Op::looks_up;
    if constexpr (requires { &Op::regular; }) o.regular = &Op::regular;
    return o;
  }
};

} // namespace extend
} // namespace cotangent

#endif
