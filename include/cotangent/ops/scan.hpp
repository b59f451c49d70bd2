// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_SCAN_HPP
#define COTANGENT_OPS_SCAN_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/along.hpp>
#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/ops/broadcast.hpp>

#include <cstdint>
#include <source_location>

// Scans along an axis: cumsum and cumprod; and the operations of their derivatives, recurrence and shift. Element i of a
// result depends on the element before it, which is element i + 1 if the scan runs backward.

namespace cotangent {
namespace detail {

/// The base of scans. Attributes: the axis; 1 to run backward; a number of the operation. `Self::step(last, x, at, before)` is
/// the value of element `at`, if element `before` of the result is `last`; `before` is negative for the first element.
template <class Self, int Arity> struct scan : extend::primitive<operation_kind::whole, Arity> {
  static constexpr void infer(inference& r) {
    r.like(0);
    int const rank = r.dims(0).rank;
    if (r.type == element::boolean) return r.refuse<refusals::element_not_numeric>();
    if (r.attribute_count != 3 || r.attribute[0] < 0 || r.attribute[0] >= rank)
      return r.refuse<refusals::axis_out_of_range>(rank, rank);
    for (int k = 1; k < r.operand_count; ++k) {
      if (r.tensor(k).type != r.type) return r.refuse<refusals::elements_differ>();
      if (r.tensor(k).shape != r.shape) return r.refuse<refusals::reshape_count>(rank, r.dims(k).rank);
    }
  }
  static constexpr void batch(batch_rule& r) {
    symbol const all[]{r.every(0).id, r.every(Arity - 1).id};
    std::int64_t const attributes[]{r.attribute(0) + 1, r.attribute(1), r.attribute(2)};
    r.give({&r.b, r.b.push(r.at.op, all, Arity, attributes, 3, r.b.place)});
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    T const* const x[]{c.operand[0].data<T>(), c.operand[Arity - 1].data<T>()};
    T* const y = c.result.data<T>();
    int const axis = static_cast<int>(c.attribute[0]);
    std::int64_t const n = c.result.size[axis];
    std::int64_t inner = 1;
    for (int k = axis + 1; k < c.result.rank; ++k) inner *= c.result.size[k];
    std::int64_t const back = c.attribute[1] != 0 ? inner : -inner, lines = c.result.count();
    if (n == 0 || lines == 0) return;
    if (inner == 1) { // some lines side by side: an element waits for the one before it
      std::int64_t first = 0;
      for (; first + 4 * n <= lines; first += 4 * n) scan_lines<4>(y, x, first, n, back, c.attribute[2]);
      for (; first < lines; first += n) scan_lines<1>(y, x, first, n, back, c.attribute[2]);
      return;
    }
    for (std::int64_t first = 0; first < lines; first += n * inner)
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t const row = first + (back > 0 ? n - 1 - i : i) * inner;
        for (std::int64_t at = row; at < row + inner; ++at)
          y[at] = i == 0 ? Self::step(T{}, x, at, -1, c.attribute[2]) : Self::step(y[at + back], x, at, at + back, c.attribute[2]);
      }
  }
  template <int Lines, class T>
  static constexpr void scan_lines(T* y, T const* const* x, std::int64_t first, std::int64_t n, std::int64_t back, std::int64_t number) {
    T last[Lines]{};
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = 0; k < Lines; ++k) {
        std::int64_t const at = first + k * n + (back > 0 ? n - 1 - i : i);
        y[at] = last[k] = Self::step(last[k], x, at, i == 0 ? -1 : at + back, number);
      }
  }
  static constexpr void whole(whole_call const& c) {
    switch (c.result.type) {
    case element::float32: return compute<float>(c);
    case element::float64: return compute<double>(c);
    case element::int32: return compute<std::int32_t>(c);
    case element::int64: return compute<std::int64_t>(c);
    case element::boolean:
    case element::float16:
    case element::bfloat16: return; // (the builder refuses them)
    }
  }
  static constexpr double flops(graph_view const& g, node const& n) {
    dimensions const& d = g.shape(g.result(n));
    double product = 1;
    for (int k = 0; k < d.rank; ++k) product *= d.size[k] < 0 ? 1. : static_cast<double>(d.size[k]);
    return product;
  }
};

} // namespace detail

namespace op {

/// The element before each along the axis; attribute 2, 0 or 1, for the first. Adjoint: shift(dy), the other way.
struct shift : detail::scan<shift, 1> {
  static constexpr char const* name = "shift";
  template <class T>
  static constexpr T step(T, T const* const* x, std::int64_t, std::int64_t before, std::int64_t first) {
    return before < 0 ? static_cast<T>(first) : x[0][before];
  }
  static constexpr term of(term x, std::int64_t axis, std::int64_t backward, std::int64_t first) {
    return detail::push(info_of<shift>(), {x}, {axis, backward, first});
  }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, of(r.dy(), r.attribute(), 1 - r.attribute(1), 0)); }
  static constexpr void tangent(tangent_rule& r) { r.give(of(r.dx(), r.attribute(), r.attribute(1), 0)); }
};

/// The linear recurrence y[i] = b[i] + a[i] y[before], or with attribute 2 y[i] = b[i] + a[before] y[before].
/// Adjoint: with s the recurrence of dy the other way, toward b: s; toward a: s y[before], or s[after] y.
struct recurrence : detail::scan<recurrence, 2> {
  static constexpr char const* name = "recurrence";
  static constexpr float cost = 2;
  template <class T>
  static constexpr T step(T last, T const* const* x, std::int64_t at, std::int64_t before, std::int64_t lag) {
    return before < 0 ? x[1][at] : math::fma(x[0][lag != 0 ? before : at], last, x[1][at]);
  }
  static constexpr term of(term a, term b, std::int64_t axis, std::int64_t backward, std::int64_t lag) {
    return detail::push(info_of<recurrence>(), {a, b}, {axis, backward, lag});
  }
  static constexpr void adjoint(adjoint_rule& r) {
    std::int64_t const axis = r.attribute(), back = r.attribute(1), lag = r.attribute(2);
    term const s = of(r.x(0), r.dy(), axis, 1 - back, 1 - lag);
    if (r.wanted(0)) r.give(0, lag != 0 ? shift::of(s, axis, 1 - back, 0) * r.y() : s * shift::of(r.y(), axis, back, 0));
    if (r.wanted(1)) r.give(1, s);
  }
  static constexpr void tangent(tangent_rule& r) {
    std::int64_t const axis = r.attribute(), back = r.attribute(1), lag = r.attribute(2);
    term sum = r.has(1) ? r.dx(1) : term{};
    if (r.has(0)) {
      term const t = lag != 0 ? shift::of(r.dx(0) * r.y(), axis, back, 0) : r.dx(0) * shift::of(r.y(), axis, back, 0);
      sum = sum.present() ? sum + t : t;
    }
    r.give(of(r.x(0), sum, axis, back, lag));
  }
};

/// The sum of all elements up to each. Adjoint: cumsum(dy), the other way.
/// Cost: one addition per element.
struct cumsum : detail::scan<cumsum, 1> {
  static constexpr char const* name = "cumsum";
  using emits = operations<>;
  template <class T>
  static constexpr T step(T last, T const* const* x, std::int64_t at, std::int64_t before, std::int64_t) {
    return before < 0 ? x[0][at] : math::add(last, x[0][at]);
  }
  static constexpr term of(term x, std::int64_t axis, std::int64_t backward = 0) {
    return detail::push(info_of<cumsum>(), {x}, {axis, backward, 0});
  }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, of(r.dy(), r.attribute(), 1 - r.attribute(1))); }
  static constexpr void tangent(tangent_rule& r) { r.give(of(r.dx(), r.attribute(), r.attribute(1))); }
};

/// The product of all elements up to each. Adjoint, also at zeros: s y[before], with s[i] = dy[i] + x[after] s[after].
/// Cost: one multiplication per element.
struct cumprod : detail::scan<cumprod, 1> {
  static constexpr char const* name = "cumprod";
  using emits = operations<>;
  template <class T>
  static constexpr T step(T last, T const* const* x, std::int64_t at, std::int64_t before, std::int64_t) {
    return before < 0 ? x[0][at] : math::mul(last, x[0][at]);
  }
  static constexpr term of(term x, std::int64_t axis, std::int64_t backward = 0) {
    return detail::push(info_of<cumprod>(), {x}, {axis, backward, 0});
  }
  static constexpr void adjoint(adjoint_rule& r) {
    std::int64_t const axis = r.attribute(), back = r.attribute(1);
    r.give(0, recurrence::of(r.x(), r.dy(), axis, 1 - back, 1) * shift::of(r.y(), axis, back, 1));
  }
  static constexpr void tangent(tangent_rule& r) {
    std::int64_t const axis = r.attribute(), back = r.attribute(1);
    r.give(recurrence::of(r.x(), r.dx() * shift::of(r.y(), axis, back, 1), axis, back, 0));
  }
};

} // namespace op

namespace detail {
using scan_operations = operations<op::shift, op::recurrence, op::cumsum, op::cumprod>;
} // namespace detail

/// The sums of all elements up to each, along the last axis or another one: `cumsum(x)`, `cumsum<0>(x)`, `cumsum(x, 0)`.
template <int Axis = -1, detail::operand X>
constexpr auto cumsum(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<op::cumsum, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto cumsum(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<op::cumsum>(where, x, axis);
}
/// The products of all elements up to each: `cumprod(x)`, `cumprod<0>(x)`, `cumprod(x, 0)`.
template <int Axis = -1, detail::operand X>
constexpr auto cumprod(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<op::cumprod, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto cumprod(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<op::cumprod>(where, x, axis);
}

} // namespace cotangent

#endif
