// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_ELEMENTWISE_HPP
#define COTANGENT_OPS_ELEMENTWISE_HPP

#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/ops/rule.hpp>
#include <cotangent/ops/source.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent {

namespace op {
struct multiply;
struct add;
} // namespace op

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_TYPES(elements_differ, is, element_of_left, element_of_right, "cotangent: both operands must have one element type; convert one with ct::convert<T>(x)")
COTANGENT_REFUSAL_TYPES(element_not_floating, is, element_of_operand, floating, "cotangent: this operation needs float or double; convert the operand with ct::convert<double>(x)")
COTANGENT_REFUSAL_TYPES(element_not_numeric, is, element_of_the_operand, numeric, "cotangent: this operation needs numbers; convert the operand with ct::convert<T>(x)")
COTANGENT_REFUSAL_TYPES(element_not_integer, is, element_of_the_operands, integer, "cotangent: % needs integers; ct::fmod(x, y) and ct::mod(x, y) take float and double")
COTANGENT_REFUSAL(convert_element, less_than, element_given, element_types, "cotangent: convert: the element must be the number of one of ct::element")
COTANGENT_REFUSAL_TYPES(element_not_boolean, is, element_of_condition, boolean, "cotangent: the condition must be a bool expression, such as x > 0")
// clang-format on
} // namespace refusals

namespace extend {

/// The element types that an elementwise operation takes.
enum class takes : unsigned char { floating, numbers, integers, booleans, anything };
/// The element type of its result.
enum class yields : unsigned char { the_same, boolean };

} // namespace extend

namespace detail {

constexpr bool accepts(extend::takes t, element e) noexcept {
  using extend::takes;
  if (is_half(e)) return false; // storage: values are float before an operation gets them
  return t == takes::floating   ? is_floating(e)
         : t == takes::numbers  ? e != element::boolean
         : t == takes::integers ? e == element::int32 || e == element::int64
         : t == takes::booleans ? e == element::boolean
                                : true;
}

template <class Op> constexpr void infer_elementwise(inference& r) {
  r.like(r.operand_count - 1);
  if (!accepts(Op::operands, r.type)) {
    if constexpr (Op::operands == extend::takes::floating) return r.template refuse<refusals::element_not_floating>();
    else if constexpr (Op::operands == extend::takes::integers) return r.template refuse<refusals::element_not_integer>();
    else if constexpr (Op::operands == extend::takes::booleans) return r.template refuse<refusals::element_not_boolean>();
    else return r.template refuse<refusals::element_not_numeric>();
  }
  for (int k = Op::condition_first ? 1 : 0; k < r.operand_count - 1; ++k)
    if (r.tensor(k).type != r.type) return r.template refuse<refusals::elements_differ>();
  if (Op::condition_first && r.tensor(0).type != element::boolean)
    return r.template refuse<refusals::element_not_boolean>();
  if (Op::result == extend::yields::boolean) r.type = element::boolean;
}

template <class Op, class T, std::size_t... K>
constexpr scalar evaluate_as(scalar const* x, std::index_sequence<K...>) {
  if constexpr (Op::condition_first)
    return scalar::of(Op::apply(x[0].template as<bool>(), x[K + 1].template as<T>()...));
  else
    return scalar::of(Op::template apply<T>(x[K].template as<T>()...));
}

template <class Op> constexpr scalar evaluate_elementwise(scalar const* x) {
  using values = std::make_index_sequence<Op::arity - (Op::condition_first ? 1 : 0)>;
  // (No function for each element type: every unit that includes the library instantiates these.)
  switch (x[Op::arity - 1].type) {
  case element::float32:
    if constexpr (accepts(Op::operands, element::float32)) return evaluate_as<Op, float>(x, values{});
    break;
  case element::float64:
    if constexpr (accepts(Op::operands, element::float64)) return evaluate_as<Op, double>(x, values{});
    break;
  case element::int32:
    if constexpr (accepts(Op::operands, element::int32)) return evaluate_as<Op, std::int32_t>(x, values{});
    break;
  case element::int64:
    if constexpr (accepts(Op::operands, element::int64)) return evaluate_as<Op, std::int64_t>(x, values{});
    break;
  case element::boolean:
    if constexpr (accepts(Op::operands, element::boolean)) return evaluate_as<Op, bool>(x, values{});
    break;
  case element::float16:
  case element::bfloat16: break; // (the builder refuses them)
  }
  return x[0];
}

// Dependent on Op, so that lookup happens once the arithmetic is complete.
template <class Op> using multiply_of = std::conditional_t<(sizeof(Op) > 0), op::multiply, Op>;
template <class Op> using add_of = std::conditional_t<(sizeof(Op) > 0), op::add, Op>;

template <class Op> concept gives_partial = requires(rule const& r) { Op::partial(r, 0); };
template <class Op> concept gives_adjoint = requires(adjoint_rule& r) { Op::adjoint(r); };
template <class Op> concept gives_tangent = requires(tangent_rule& r) { Op::tangent(r); };

/// dx_k = dy * partial_k.
template <class Op> constexpr void adjoint_elementwise(adjoint_rule& r) {
  if constexpr (gives_adjoint<Op>)
    Op::adjoint(r);
  else
    for (int k = 0; k < Op::arity; ++k)
      if (r.wanted(k)) r.give(k, push(info_of<multiply_of<Op>>(), {r.dy(), Op::partial(r, k)}));
}

/// dy = sum of partial_k * dx_k.
template <class Op> constexpr void tangent_elementwise(tangent_rule& r) {
  if constexpr (gives_tangent<Op>)
    Op::tangent(r);
  else {
    term sum;
    for (int k = 0; k < Op::arity; ++k)
      if (r.has(k)) {
        term const t = push(info_of<multiply_of<Op>>(), {r.dx(k), Op::partial(r, k)});
        sum = sum.present() ? push(info_of<add_of<Op>>(), {sum, t}) : t;
      }
    r.give(sum);
  }
}

} // namespace detail

namespace extend {

/// The base of an elementwise operation. The derived struct defines
///
///     static constexpr char const* name = "softsign";
///     template <class V> static constexpr V apply(V x);      // over a scalar, or a vector of lanes
///     static constexpr term partial(rule const&, int k);     // d result / d operand k, by graph operations
///
/// It may define `adjoint(adjoint_rule&)` and `tangent(tangent_rule&)` if shorter forms exist, or
/// `derivative` instead of all three if the derivative is zero. An operation with none of them is refused if
/// a derivative needs it. `operands`, `result`, `cost` and `commutative` may be overridden.
template <int Arity> struct elementwise {
  static constexpr int arity = Arity;
  static constexpr takes operands = takes::floating;
  static constexpr yields result = yields::the_same;
  static constexpr bool condition_first = false; // operand 0 is a bool, and apply takes its mask
  static constexpr bool commutative = false;
  static constexpr float cost = 1;
  static constexpr derivative_kind derivative = derivative_kind::differentiable;

  template <class Op> static consteval operation describe(std::type_identity<Op>) {
    operation o{.name = Op::name,
                .code = detail::hash_of(Op::name),
                .kind = operation_kind::elementwise,
                .arity = Op::arity,
                .commutative = Op::commutative,
                .derivative = Op::derivative,
                .cost = Op::cost,
                .infer = &detail::infer_elementwise<Op>,
                .evaluate = &detail::evaluate_elementwise<Op>};
    if constexpr (Op::derivative == derivative_kind::differentiable) {
      constexpr bool partial = detail::gives_partial<Op>;
      if constexpr (partial || detail::gives_adjoint<Op>) o.adjoint = &detail::adjoint_elementwise<Op>;
      if constexpr (partial || detail::gives_tangent<Op>) o.tangent = &detail::tangent_elementwise<Op>;
    }
    if constexpr (requires { typename Op::reporting; }) {
      o.reports = Op::reports;
      if constexpr (requires { &Op::regular; }) o.regular = &Op::regular;
      o.reporting = info_of<typename Op::reporting>();
    }
    return o;
  }
};

} // namespace extend
} // namespace cotangent

#endif
