// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_REDUCTION_HPP
#define COTANGENT_OPS_REDUCTION_HPP

#include <cotangent/ops/functions.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(axis_repeated, less_than, axis_named, axis_named_again, "cotangent: the axes of a reduction must be different")
// clang-format on
} // namespace refusals

namespace detail {
// Derivatives of the maximum and the minimum: ties share equally.
template <class Op> constexpr void adjoint_of_extreme(adjoint_rule& r) {
  std::uint32_t const mask = static_cast<std::uint32_t>(r.attribute());
  term const x = r.x(), hit = extend::convert(x == op::sum::repeat(r.y(), x.shape_id(), mask), x.type());
  term const hits = detail::push(info_of<op::sum>(), {hit}, {r.attribute()});
  r.give(0, hit * op::sum::repeat(r.dy() / hits, x.shape_id(), mask));
}
template <class Op> constexpr void tangent_of_extreme(tangent_rule& r) {
  std::uint32_t const mask = static_cast<std::uint32_t>(r.attribute());
  term const x = r.x(), hit = extend::convert(x == op::sum::repeat(r.y(), x.shape_id(), mask), x.type());
  term const hits = detail::push(info_of<op::sum>(), {hit}, {r.attribute()});
  r.give(detail::push(info_of<op::sum>(), {hit * r.dx()}, {r.attribute()}) / hits);
}
// From bits, or the largest number with -ffast-math: there compilers refuse to name infinity, and fold
// expressions of it to any value.
template <class T> constexpr T highest() {
  if constexpr (math::is_fast) return std::numeric_limits<T>::max();
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(std::uint32_t{0x7f800000});
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(std::uint64_t{0x7ff0000000000000});
  else return std::numeric_limits<T>::max();
}
template <class T> constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -highest<T>();
  else return std::numeric_limits<T>::lowest();
}
} // namespace detail

namespace op {

/// The maximum over axes. Adjoint: dy to the largest elements; ties share equally. NaN wins; of no elements:
/// the lowest value.
struct reduce_max : reduction {
  static constexpr char const* name = "reduce_max";
  template <class V> COTANGENT_FORMULA static constexpr V combine(V const& a, V const& b) { return math::max(a, b); }
  template <class T> static constexpr T neutral() { return detail::lowest<T>(); }
  static constexpr void adjoint(adjoint_rule& r) { detail::adjoint_of_extreme<reduce_max>(r); }
  static constexpr void tangent(tangent_rule& r) { detail::tangent_of_extreme<reduce_max>(r); }
};
/// The minimum over axes; otherwise like the maximum.
struct reduce_min : reduction {
  static constexpr char const* name = "reduce_min";
  template <class V> COTANGENT_FORMULA static constexpr V combine(V const& a, V const& b) { return math::min(a, b); }
  template <class T> static constexpr T neutral() { return detail::highest<T>(); }
  static constexpr void adjoint(adjoint_rule& r) { detail::adjoint_of_extreme<reduce_min>(r); }
  static constexpr void tangent(tangent_rule& r) { detail::tangent_of_extreme<reduce_min>(r); }
};

/// The position (int64) of the maximum along axis `attribute 0`: the first of equals; that of a NaN if there
/// is one.
struct arg_max : extend::primitive<operation_kind::arg_reduction, 1> {
  static constexpr char const* name = "argmax";
  static constexpr float cost = 2;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) {
    extend::dimensions const from = r.dims(0);
    extend::dimensions d;
    for (int k = 0; k < from.rank; ++k)
      if (k != r.attribute[0]) d.size[d.rank++] = from.size[k];
    r.result(element::int64, d);
    if (r.attribute[0] < 0 || r.attribute[0] >= from.rank)
      r.refuse<refusals::axis_out_of_range>(r.attribute[0] < 0 ? from.rank : r.attribute[0], from.rank);
  }
  static constexpr void batch(batch_rule& r) { r.give(detail::push(info_of<arg_max>(), {r.each()}, {r.attribute() + 1})); }
};

} // namespace op

namespace detail {
using reduction_operations = operations<op::reduce_max, op::reduce_min, op::arg_max>;
} // namespace detail

namespace extend {

/// The mask of all axes of `x`.
constexpr std::uint32_t all_axes(term x) { return (1u << x.rank()) - 1; }

/// The shape of a reduction that keeps the reduced axes with size 1.
constexpr std::int32_t kept_shape(term x, std::uint32_t mask) {
  dimensions d = x.dims();
  for (int k = 0; k < d.rank; ++k)
    if ((mask >> k & 1u) != 0) d.size[k] = 1;
  return x.b->shape(d);
}

template <class Op> constexpr term reduce(term x, std::uint32_t mask, bool keep = false) {
  term const y = mask == 0 ? x : detail::push(info_of<Op>(), {x}, {static_cast<std::int64_t>(mask)});
  return keep ? op::reshape::of(y, kept_shape(x, mask)) : y;
}
constexpr term sum(term x, std::uint32_t mask, bool keep = false) { return reduce<op::sum>(x, mask, keep); }
constexpr term max(term x, std::uint32_t mask, bool keep = false) { return reduce<op::reduce_max>(x, mask, keep); }
constexpr term min(term x, std::uint32_t mask, bool keep = false) { return reduce<op::reduce_min>(x, mask, keep); }
constexpr term mean(term x, std::uint32_t mask, bool keep = false) {
  term const s = sum(x, mask, keep);
  return s / count_of(x, mask, s.shape_id());
}
constexpr term argmax(term x, int axis) { return detail::push(info_of<op::arg_max>(), {x}, {axis}); }

// (Templates, so that a file pays for those that it calls.)

/// log(sum(exp(x))) over axes, without overflow.
constexpr term logsumexp(auto x, std::uint32_t mask, bool keep = false) {
  auto const top = stop_gradient(max(x, mask));
  // If all elements are -infinity, or one is infinity, the shift is 0: the exponentials give the right
  // result.
  auto const finite = top - top == 0;
  auto const m = select(finite, top, constant_like(top, 0));
  auto const s = sum(apply<op::exp>(x - op::sum::repeat(m, x.shape_id(), mask)), mask);
  auto const y = apply<op::log>(s) + m;
  return keep ? op::reshape::of(y, kept_shape(x, mask)) : y;
}
constexpr term log_softmax(auto x, int axis) {
  std::uint32_t const mask = 1u << axis;
  return x - op::sum::repeat(logsumexp(x, mask), x.shape_id(), mask);
}
constexpr term softmax(auto x, int axis) {
  std::uint32_t const mask = 1u << axis;
  auto const m = op::sum::repeat(stop_gradient(max(x, mask)), x.shape_id(), mask);
  auto const e = apply<op::exp>(x - m);
  return e / op::sum::repeat(sum(e, mask), x.shape_id(), mask);
}

} // namespace extend
} // namespace cotangent

#endif
