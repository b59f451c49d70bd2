// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_ARITHMETIC_HPP
#define COTANGENT_OPS_ARITHMETIC_HPP

#include <cotangent/ops/elementwise.hpp>
#include <cotangent/ops/function.hpp>

#include <source_location>

// The four arithmetic operations, and the fused multiply-add that simplify emits.

namespace cotangent {

namespace op {

struct add : extend::elementwise<2> {
  static constexpr char const* name = "add";
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return math::add(a, b); }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, r.dy());
    if (r.wanted(1)) r.give(1, r.dy());
  }
  static constexpr void tangent(tangent_rule& r) {
    r.give(!r.has(0) ? r.dx(1) : !r.has(1) ? r.dx(0) : detail::push(info_of<add>(), {r.dx(0), r.dx(1)}));
  }
};

struct negate : extend::elementwise<1> {
  static constexpr char const* name = "neg";
  static constexpr extend::takes operands = extend::takes::numbers;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a) { return math::neg(a); }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, detail::push(info_of<negate>(), {r.dy()})); }
  static constexpr void tangent(tangent_rule& r) { r.give(detail::push(info_of<negate>(), {r.dx()})); }
};

struct subtract : extend::elementwise<2> {
  static constexpr char const* name = "sub";
  static constexpr extend::takes operands = extend::takes::numbers;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return math::sub(a, b); }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, r.dy());
    if (r.wanted(1)) r.give(1, detail::push(info_of<negate>(), {r.dy()}));
  }
  static constexpr void tangent(tangent_rule& r) {
    if (r.has(0) && r.has(1)) r.give(detail::push(info_of<subtract>(), {r.dx(0), r.dx(1)}));
    else r.give(r.has(0) ? r.dx(0) : detail::push(info_of<negate>(), {r.dx(1)}));
  }
};

struct multiply : extend::elementwise<2> {
  static constexpr char const* name = "mul";
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return math::mul(a, b); }
  static constexpr term partial(rule const& r, int k) { return r.x(1 - k); }
};

struct divide : extend::elementwise<2> {
  static constexpr char const* name = "div";
  static constexpr float cost = 4;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return static_cast<V>(a / b); }
  // (dy / b, -(dy / b) y): both share one division.
  static constexpr void adjoint(adjoint_rule& r) {
    term const q = detail::push(info_of<divide>(), {r.dy(), r.x(1)});
    if (r.wanted(0)) r.give(0, q);
    if (r.wanted(1)) r.give(1, detail::push(info_of<negate>(), {detail::push(info_of<multiply>(), {q, r.y()})}));
  }
  static constexpr void tangent(tangent_rule& r) {
    term const product = r.has(1) ? detail::push(info_of<multiply>(), {r.y(), r.dx(1)}) : term{};
    term const top = !r.has(1)  ? r.dx(0)
                     : r.has(0) ? detail::push(info_of<subtract>(), {r.dx(0), product})
                                : detail::push(info_of<negate>(), {product});
    r.give(detail::push(info_of<divide>(), {top, r.x(1)}));
  }
};

/// a b + c, rounded once if the target has FMA. Simplify emits it before any pass duplicates nodes.
struct multiply_add : extend::elementwise<3> {
  static constexpr char const* name = "fma";
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b, V const& c) { return math::fma(a, b, c); }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, detail::push(info_of<multiply>(), {r.dy(), r.x(1)}));
    if (r.wanted(1)) r.give(1, detail::push(info_of<multiply>(), {r.dy(), r.x(0)}));
    if (r.wanted(2)) r.give(2, r.dy());
  }
  static constexpr void tangent(tangent_rule& r) {
    term sum = r.has(2) ? r.dx(2) : term{};
    for (int k = 0; k < 2; ++k)
      if (r.has(k)) {
        term const t = detail::push(info_of<multiply>(), {r.dx(k), r.x(1 - k)});
        sum = sum.present() ? detail::push(info_of<add>(), {sum, t}) : t;
      }
    r.give(sum);
  }
};

} // namespace op

namespace detail {
using arithmetic_operations =
    operations<op::add, op::negate, op::subtract, op::multiply, op::divide, op::multiply_add>;
} // namespace detail

template <detail::operand X>
constexpr auto neg(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::negate>(where, x);
}

} // namespace cotangent

#endif
