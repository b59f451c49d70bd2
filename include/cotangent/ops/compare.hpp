// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_COMPARE_HPP
#define COTANGENT_OPS_COMPARE_HPP

#include <cotangent/ops/arithmetic.hpp>

// Comparisons, logic on bools, select, and conversion of the element type.

namespace cotangent {
namespace op {

struct comparison : extend::elementwise<2> {
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr extend::yields result = extend::yields::boolean;
  static constexpr derivative_kind derivative = derivative_kind::zero;
};
struct equal : comparison {
  static constexpr char const* name = "equal";
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr math::mask_t<V> apply(V const& a, V const& b) { return a == b; }
};
struct not_equal : comparison {
  static constexpr char const* name = "not_equal";
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr math::mask_t<V> apply(V const& a, V const& b) { return a != b; }
};
struct less : comparison {
  static constexpr char const* name = "less";
  template <class V> COTANGENT_FORMULA static constexpr math::mask_t<V> apply(V const& a, V const& b) { return a < b; }
};
struct less_equal : comparison {
  static constexpr char const* name = "less_equal";
  template <class V> COTANGENT_FORMULA static constexpr math::mask_t<V> apply(V const& a, V const& b) { return a <= b; }
};

struct logic : extend::elementwise<2> {
  static constexpr extend::takes operands = extend::takes::booleans;
  static constexpr bool commutative = true;
  static constexpr derivative_kind derivative = derivative_kind::zero;
};
struct logical_and : logic {
  static constexpr char const* name = "and";
  template <class M> COTANGENT_FORMULA static constexpr M apply(M const& a, M const& b) { return math::logical_and(a, b); }
};
struct logical_or : logic {
  static constexpr char const* name = "or";
  template <class M> COTANGENT_FORMULA static constexpr M apply(M const& a, M const& b) { return math::logical_or(a, b); }
};
struct logical_not : extend::elementwise<1> {
  static constexpr char const* name = "not";
  static constexpr extend::takes operands = extend::takes::booleans;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  template <class M> COTANGENT_FORMULA static constexpr M apply(M const& a) { return math::logical_not(a); }
};

/// select(c, a, b): a where c is true, else b.
struct select : extend::elementwise<3> {
  static constexpr char const* name = "select";
  static constexpr extend::takes operands = extend::takes::anything;
  static constexpr bool condition_first = true;
  template <class M, class V> COTANGENT_FORMULA static constexpr V apply(M const& m, V const& a, V const& b) { return math::select(m, a, b); }
  static constexpr void adjoint(adjoint_rule& r) {
    term const zero = extend::constant_like(r.dy(), 0);
    if (r.wanted(1)) r.give(1, detail::push(info_of<select>(), {r.x(0), r.dy(), zero}));
    if (r.wanted(2)) r.give(2, detail::push(info_of<select>(), {r.x(0), zero, r.dy()}));
  }
  static constexpr void tangent(tangent_rule& r) {
    if (!r.has(1) && !r.has(2)) return;
    term const zero = extend::constant_like(r.has(1) ? r.dx(1) : r.dx(2), 0);
    r.give(detail::push(info_of<select>(), {r.x(0), r.has(1) ? r.dx(1) : zero, r.has(2) ? r.dx(2) : zero}));
  }
};

/// x converted to the element type in attribute 0, as by static_cast; bool counts as 0 and 1. Between half precision and all elements
/// but float, `extend::convert` converts twice.
struct convert : extend::primitive<operation_kind::elementwise, 1> {
  static constexpr char const* name = "convert";
  static constexpr float cost = 1;
  static constexpr void infer(inference& r) {
    r.like(0);
    if (r.attribute[0] < 0 || r.attribute[0] >= element_count)
      return r.refuse<refusals::convert_element>(r.attribute[0] < 0 ? element_count : r.attribute[0], element_count);
    element const to = static_cast<element>(r.attribute[0]);
    if (r.type != to && (detail::is_half(r.type) || detail::is_half(to)) && r.type != detail::arithmetic_of(to) &&
        to != detail::arithmetic_of(r.type))
      return r.refuse<refusals::half_operand>(2, 4);
    r.type = to;
  }
  static constexpr void adjoint(adjoint_rule& r) {
    r.give(0, detail::push(info_of<convert>(), {r.dy()}, {static_cast<std::int64_t>(r.x().type())}));
  }
  static constexpr void tangent(tangent_rule& r) {
    r.give(detail::push(info_of<convert>(), {r.dx()}, {r.attribute()}));
  }
};

/// x, treated as a constant by differentiation.
struct stop_gradient : extend::primitive<operation_kind::identity, 1> {
  static constexpr char const* name = "stop_gradient";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) { r.like(0); }
};

/// x under a second symbol: the argument of a function that is differentiated inside another one.
struct identity : extend::primitive<operation_kind::identity, 1> {
  static constexpr char const* name = "identity";
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return x; }
  static constexpr void infer(inference& r) { r.like(0); }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, r.dy()); }
  static constexpr void tangent(tangent_rule& r) { r.give(r.dx()); }
};

/// Operand 0, ordered after the other operands: its readers run after the nodes that compute those. It costs
/// no copy and no memory. Its readers never merge with readers of operand 0 itself. It keeps no other operand
/// alive: `prune` drops those that have no reader.
///
/// Adjoint: dy to operand 0; nothing to the others.
struct after : extend::primitive<operation_kind::identity, -1> {
  static constexpr char const* name = "after";
  static constexpr void infer(inference& r) { r.like(0); }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, r.dy());
  }
  static constexpr void tangent(tangent_rule& r) {
    if (!r.has(0)) return;
    detail::array<extend::symbol> all;
    all.push(r.tangent[0]);
    for (int k = 1; k < r.operand_count(); ++k) all.push(r.x(k).id);
    r.give({&r.b, r.b.push(info_of<after>(), all.data(), all.size(), nullptr, 0, r.b.place)});
  }
};

} // namespace op

namespace detail {
using compare_operations =
    operations<op::equal, op::not_equal, op::less, op::less_equal, op::logical_and, op::logical_or,
               op::logical_not, op::select, op::convert, op::stop_gradient, op::identity, op::after>;
} // namespace detail

namespace detail {

/// The number of operands whose values a node reads: an `after` does not read those that it only waits for.
constexpr int read_count(node const& n) noexcept {
  return n.op->kind == operation_kind::identity && n.operand_count > 1 ? 1 : n.operand_count;
}

} // namespace detail

namespace extend {

/// The value of `x`, ordered after `t`.
constexpr term after(term x, term t) { return detail::push(info_of<op::after>(), {x, t}); }

} // namespace extend
} // namespace cotangent

#endif
