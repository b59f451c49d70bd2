// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_BROADCAST_HPP
#define COTANGENT_OPS_BROADCAST_HPP

#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/repeat.hpp>

#include <concepts>
#include <cstdint>

// Broadcasting as in NumPy, and the operators on terms, which broadcast.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(shapes_do_not_broadcast, broadcasts_with, extent_of_left, extent_of_right, "cotangent: the shapes of both operands must be equal axis by axis from the last, or 1")
// clang-format on
} // namespace refusals

namespace extend {

/// Broadcasts `x` to the shape `to`, aligned at the last axis. Precondition: the shapes fit
/// (`broadcast_shape`).
constexpr term broadcast_to(term x, std::int32_t to) {
  if (x.shape_id() == to) return x;
  builder& b = *x.b;
  node const* const p = x.producer();
  if (p != nullptr && p->op == info_of<op::constant>()) {
    std::int64_t const bits = b.get().numbers[p->attribute];
    return detail::push_as(info_of<op::constant>(), b, {}, &bits, 1, x.type(), to);
  }
  std::int64_t axes[max_rank]{};
  int const rank = x.rank();
  for (int k = 0; k < rank; ++k) axes[k] = b.get().shapes[to].rank - rank + k;
  return detail::push_as(info_of<op::broadcast>(), b, {x}, axes, rank, x.type(), to);
}

/// The broadcast shape of two shapes; `none`, and a failure in the builder, if they do not fit.
constexpr std::int32_t broadcast_shape(builder& b, std::int32_t left, std::int32_t right) {
  if (left == right) return left;
  dimensions const l = b.get().shapes[left], r = b.get().shapes[right];
  if (l.rank == 0) return right;
  if (r.rank == 0) return left;
  dimensions d;
  d.rank = l.rank > r.rank ? l.rank : r.rank;
  for (int k = 1; k <= d.rank; ++k) {
    dimension const p = k <= l.rank ? l.size[l.rank - k] : 1, q = k <= r.rank ? r.size[r.rank - k] : 1;
    if (p != q && p != 1 && q != 1) {
      b.refuse<refusals::shapes_do_not_broadcast>(p, q, b.place);
      return none;
    }
    d.size[d.rank - k] = p == 1 ? q : p;
  }
  return b.shape(d);
}

/// Emits an elementwise operation after broadcasting its operands.
template <class Op> constexpr term apply(term x) { return detail::push(info_of<Op>(), {x}); }
template <class Op> constexpr term apply(term x, term y) {
  std::int32_t const s = broadcast_shape(*x.b, x.shape_id(), y.shape_id());
  if (s == none) return x;
  return detail::push(info_of<Op>(), {broadcast_to(x, s), broadcast_to(y, s)});
}
template <class Op> constexpr term apply(term x, term y, term z) {
  std::int32_t s = broadcast_shape(*x.b, x.shape_id(), y.shape_id());
  if (s != none) s = broadcast_shape(*x.b, s, z.shape_id());
  if (s == none) return y;
  return detail::push(info_of<Op>(), {broadcast_to(x, s), broadcast_to(y, s), broadcast_to(z, s)});
}

constexpr term convert(term x, element to) {
  if (x.type() == to) return x;
  // elements of half precision convert from and to their arithmetic element only
  for (element const between : {detail::arithmetic_of(x.type()), detail::arithmetic_of(to)})
    if ((detail::is_half(x.type()) || detail::is_half(to)) && x.type() != between && to != between)
      return convert(convert(x, between), to);
  return detail::push(info_of<op::convert>(), {x}, {static_cast<std::int64_t>(to)});
}
// Of half precision, which loops carry and branches return, too: in its arithmetic element, and so with the same elements.
constexpr term select(term condition, term a, term b) {
  element const e = a.type(), wide = detail::arithmetic_of(e);
  if (wide == e) return apply<op::select>(condition, a, b);
  return convert(apply<op::select>(condition, convert(a, wide), convert(b, wide)), e);
}
constexpr term stop_gradient(term x) {
  element const e = x.type(), wide = detail::arithmetic_of(e);
  return convert(apply<op::stop_gradient>(convert(x, wide)), e);
}

} // namespace extend

constexpr term batch_rule::every(int k) const {
  return has(k) ? each(k) : extend::broadcast_to(x(k), with_rows(x(k).shape_id()));
}

constexpr term operator+(term a, term b) { return extend::apply<op::add>(a, b); }
constexpr term operator-(term a, term b) { return extend::apply<op::subtract>(a, b); }
constexpr term operator*(term a, term b) { return extend::apply<op::multiply>(a, b); }
constexpr term operator/(term a, term b) { return extend::apply<op::divide>(a, b); }
constexpr term operator-(term a) { return extend::apply<op::negate>(a); }
constexpr term operator<(term a, term b) { return extend::apply<op::less>(a, b); }
constexpr term operator>(term a, term b) { return extend::apply<op::less>(b, a); }
constexpr term operator<=(term a, term b) { return extend::apply<op::less_equal>(a, b); }
constexpr term operator>=(term a, term b) { return extend::apply<op::less_equal>(b, a); }
constexpr term operator==(term a, term b) { return extend::apply<op::equal>(a, b); }
constexpr term operator!=(term a, term b) { return extend::apply<op::not_equal>(a, b); }
constexpr term operator!(term a) { return extend::apply<op::logical_not>(a); }
constexpr term operator&&(term a, term b) { return extend::apply<op::logical_and>(a, b); }
constexpr term operator||(term a, term b) { return extend::apply<op::logical_or>(a, b); }

// A number in a formula takes the element type of the other operand.
namespace detail {
template <class N>
concept number = std::is_arithmetic_v<N>;
} // namespace detail
#define COTANGENT_WITH_NUMBERS(OP)                                                                                     \
  template <detail::number N> constexpr term operator OP(term a, N b) {                                                        \
    return a OP extend::constant_like(a, static_cast<double>(b));                                                      \
  }                                                                                                                    \
  template <detail::number N> constexpr term operator OP(N a, term b) {                                                        \
    return extend::constant_like(b, static_cast<double>(a)) OP b;                                                      \
  }
COTANGENT_WITH_NUMBERS(+)
COTANGENT_WITH_NUMBERS(-)
COTANGENT_WITH_NUMBERS(*)
COTANGENT_WITH_NUMBERS(/)
COTANGENT_WITH_NUMBERS(<)
COTANGENT_WITH_NUMBERS(>)
COTANGENT_WITH_NUMBERS(<=)
COTANGENT_WITH_NUMBERS(>=)
COTANGENT_WITH_NUMBERS(==)
COTANGENT_WITH_NUMBERS(!=)
#undef COTANGENT_WITH_NUMBERS

} // namespace cotangent

#endif
