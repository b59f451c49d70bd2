// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_SPECIAL_HPP
#define COTANGENT_OPS_FUNCTIONS_SPECIAL_HPP

#include <cotangent/core/math/gamma.hpp>
#include <cotangent/core/math/hyperbolic.hpp>
#include <cotangent/core/math/inverse.hpp>
#include <cotangent/core/math/roots.hpp>
#include <cotangent/ops/functions.hpp>
#include <cotangent/ops/functions/normal.hpp>
#include <cotangent/ops/integers.hpp>

#include <source_location>
#include <type_traits>

// Further elementwise functions: angles and lengths, powers and logarithms to other bases, the error function, the normal
// distribution and the gamma function. (Rules are templates, so that an operation in them is
// described only where it is used.)

namespace cotangent {
namespace op {

/// Value: x in radians; 3.8 ulp for every angle
/// Adjoint: dy (1 + y y)
/// Edges: NaN for infinite angles
/// Example: for `x = {0, 1}`, `ct::tan(x)` is `{0, 1.55741}`; the gradient of its sum is `{1, 3.42552}`
struct tan : extend::elementwise<1> {
  static constexpr char const* name = "tan";
  static constexpr float cost = 30;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::tan(x); }
  static constexpr term partial(auto const& r, int) { return 1 + r.y() * r.y(); }
};
/// Value: the angle in [-pi/2, pi/2] that has the sine x; 3 ulp
/// Adjoint: dy / sqrt((1 - x) (1 + x))
/// Edges: NaN for |x| > 1; the adjoint is infinite at -1 and 1
/// Example: for `x = {0, 0.5}`, `ct::asin(x)` is `{0, 0.523599}`; the gradient of its sum is `{1, 1.1547}`
struct asin : extend::elementwise<1> {
  static constexpr char const* name = "asin";
  static constexpr float cost = 28;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::asin(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / root(r)); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / root(r)); }
  static constexpr term root(auto const& r) { return extend::apply<sqrt>((1 - r.x()) * (1 + r.x())); }
};
/// Value: the angle in [0, pi] that has the cosine x; 3.5 ulp
/// Adjoint: -dy / sqrt((1 - x) (1 + x))
/// Edges: NaN for |x| > 1; the adjoint is infinite at -1 and 1
/// Example: for `x = {0, 0.5}`, `ct::acos(x)` is `{1.5708, 1.0472}`; the gradient of its sum is `{-1, -1.1547}`
struct acos : extend::elementwise<1> {
  static constexpr char const* name = "acos";
  static constexpr float cost = 32;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::acos(x); }
  static constexpr void adjoint(auto& r) { r.give(0, -(r.dy() / asin::root(r))); }
  static constexpr void tangent(auto& r) { r.give(-(r.dx() / asin::root(r))); }
};
/// Value: the number of at least 0 that has the hyperbolic cosine x; 3 ulp
/// Adjoint: dy / (sqrt(x - 1) sqrt(x + 1))
/// Edges: NaN for x < 1; the adjoint is infinite at 1
/// Example: for `x = {2, 3}`, `ct::acosh(x)` is `{1.31696, 1.76275}`; the gradient of its sum is `{0.57735, 0.353553}`
struct acosh : extend::elementwise<1> {
  static constexpr char const* name = "acosh";
  static constexpr float cost = 30;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::acosh(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / root(r)); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / root(r)); }
  static constexpr term root(auto const& r) { return extend::apply<sqrt>(r.x() - 1) * extend::apply<sqrt>(r.x() + 1); }
};
/// Value: the number that has the hyperbolic tangent x; 3 ulp
/// Adjoint: dy / ((1 - x) (1 + x))
/// Edges: infinite at -1 and 1, NaN beyond
/// Example: for `x = {0, 0.5}`, `ct::atanh(x)` is `{0, 0.549306}`; the gradient of its sum is `{1, 1.33333}`
struct atanh : extend::elementwise<1> {
  static constexpr char const* name = "atanh";
  static constexpr float cost = 24;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::atanh(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / ((1 - r.x()) * (1 + r.x()))); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / ((1 - r.x()) * (1 + r.x()))); }
};

/// Value: 2 to the power x, 1 ulp (1.3 without FMA); exact for integers
/// Adjoint: dy y log(2)
/// Edges: overflows to infinity, underflows to 0
/// Example: for `x = {0, 3}`, `ct::exp2(x)` is `{1, 8}`; the gradient of its sum is `{0.693147, 5.54518}`
struct exp2 : extend::elementwise<1> {
  static constexpr char const* name = "exp2";
  static constexpr float cost = 12;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::exp2(x); }
  static constexpr term partial(auto const& r, int) { return 0.69314718055994530941723212145818 * r.y(); }
};
/// Value: the logarithm to the base 2, 2 ulp; exact for powers of 2
/// Adjoint: dy / (x log(2))
/// Edges: -infinity at 0, NaN below
/// Example: for `x = {1, 8}`, `ct::log2(x)` is `{0, 3}`; the gradient of its sum is `{1.4427, 0.180337}`
struct log2 : extend::elementwise<1> {
  static constexpr char const* name = "log2";
  static constexpr float cost = 16;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::log2(x); }
  static constexpr void adjoint(auto& r) { r.give(0, slope * r.dy() / r.x()); }
  static constexpr void tangent(auto& r) { r.give(slope * r.dx() / r.x()); }
  static constexpr double slope = 1.4426950408889634073599246810019;
};
/// Value: the logarithm to the base 10, 2 ulp; exact for powers of 10
/// Adjoint: dy / (x log(10))
/// Edges: -infinity at 0, NaN below
/// Example: for `x = {1, 1000}`, `ct::log10(x)` is `{0, 3}`; the gradient of its sum is `{0.434294, 0.000434294}`
struct log10 : extend::elementwise<1> {
  static constexpr char const* name = "log10";
  static constexpr float cost = 16;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::log10(x); }
  static constexpr void adjoint(auto& r) { r.give(0, slope * r.dy() / r.x()); }
  static constexpr void tangent(auto& r) { r.give(slope * r.dx() / r.x()); }
  static constexpr double slope = 0.43429448190325182765112891891661;
};
/// Value: the cube root, with the sign of x; 1 ulp
/// Adjoint: dy / (3 y y)
/// Edges: the adjoint is infinite at 0
/// Example: for `x = {8, -27}`, `ct::cbrt(x)` is `{2, -3}`; the gradient of its sum is `{0.0833333, 0.037037}`
struct cbrt : extend::elementwise<1> {
  static constexpr char const* name = "cbrt";
  static constexpr float cost = 36;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::cbrt(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / (3 * (r.y() * r.y()))); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / (3 * (r.y() * r.y()))); }
};

/// The third derivative of digamma; 4 ulp. A derivative of it is refused.
struct pentagamma : extend::elementwise<1> {
  static constexpr char const* name = "pentagamma";
  static constexpr float cost = 130;
  static constexpr derivative_kind derivative = derivative_kind::none_;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::polygamma<3>(x); }
};
/// The second derivative of digamma; 4 ulp, below 0 of the larger of |y| and 1. Adjoint: dy pentagamma(x).
struct tetragamma : extend::elementwise<1> {
  static constexpr char const* name = "tetragamma";
  using emits = operations<pentagamma>;
  static constexpr float cost = 120;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::polygamma<2>(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<pentagamma>(r.x()); }
};
/// Value: the derivative of digamma; 3 ulp
/// Adjoint: dy tetragamma(x)
/// Edges: NaN at 0 and the negative integers
/// Example: for `x = {1, 4.5}`, `ct::trigamma(x)` is `{1.64493, 0.248725}`; the gradient of its sum is `{-2.40411,
///   -0.0615568}`
struct trigamma : extend::elementwise<1> {
  static constexpr char const* name = "trigamma";
  using emits = operations<tetragamma>;
  static constexpr float cost = 110;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::polygamma<1>(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<tetragamma>(r.x()); }
};
/// Value: the derivative of lgamma; 4 ulp of the larger of |y| and 1
/// Adjoint: dy trigamma(x)
/// Edges: NaN at 0 and the negative integers
/// Example: for `x = {1, 4.5}`, `ct::digamma(x)` is `{-0.577216, 1.38887}`; the gradient of its sum is `{1.64493, 0.248725}`
struct digamma : extend::elementwise<1> {
  static constexpr char const* name = "digamma";
  using emits = operations<trigamma>;
  static constexpr float cost = 110;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::polygamma<0>(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<trigamma>(r.x()); }
};
/// Value: the logarithm of the absolute value of the gamma function; 3.2 ulp for x > 0, 2 ulp of the larger of |y| and 1 below
/// Adjoint: dy digamma(x)
/// Edges: infinite at 0 and the negative integers
/// Example: for `x = {1, 4.5}`, `ct::lgamma(x)` is `{0, 2.45374}`; the gradient of its sum is `{-0.577216, 1.38887}`
struct lgamma : extend::elementwise<1> {
  static constexpr char const* name = "lgamma";
  using emits = operations<digamma>;
  static constexpr float cost = 90;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::lgamma(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<digamma>(r.x()); }
};

/// The angle in [-pi, pi] of the point (x, y), 2 ulp, with the edges of C. Adjoints: dy x / (x x + y y), -dy y / (x x + y y),
/// without overflow of the squares; NaN at (0, 0).
struct atan2 : extend::elementwise<2> {
  static constexpr char const* name = "atan2";
  using emits = operations<struct hypot>;
  static constexpr float cost = 30;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& y, V const& x) { return math::atan2(y, x); }
  static constexpr term partial(auto const& r, int k);
};
/// sqrt(x x + y y), 1.2 ulp, without overflow of the squares. Adjoints: dy x / h, dy y / h; all derivatives are 0 at (0, 0).
struct hypot : extend::elementwise<2> {
  static constexpr char const* name = "hypot";
  static constexpr bool commutative = true;
  static constexpr float cost = 14;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) { return math::hypot(x, y); }
  static constexpr term partial(auto const& r, int k) {
    term const is_origin = r.y() == 0, one = extend::constant_like(r.y(), 1), zero = extend::constant_like(r.y(), 0);
    return extend::select(is_origin, zero, r.x(k) / extend::select(is_origin, one, r.y()));
  }
};
constexpr term atan2::partial(auto const& r, int k) {
  term const h = extend::apply<hypot>(r.x(0), r.x(1));
  return k == 0 ? r.x(1) / h / h : -(r.x(0) / h / h);
}
/// x log(y), and 0 for x = 0. Adjoints: dy log(y); dy x / y, which is 0 for x = 0.
struct xlogy : extend::elementwise<2> {
  static constexpr char const* name = "xlogy";
  static constexpr float cost = 16;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) {
    if constexpr (!math::is_vector<V>)
      if (std::is_constant_evaluated() && (x != x || !(y >= 0))) // no arithmetic on NaN
        return x != x ? x : vanishes(x, y) ? V{} : math::log(y);
    auto const zero = vanishes(x, y);
    return math::select(zero, V{}, math::mul(x, math::log(math::select(zero, math::broadcast<V>(1), y))));
  }
  /// x is 0, and y a number.
  template <class V> COTANGENT_FORMULA static constexpr auto vanishes(V const& x, V const& y) {
    return math::logical_and<math::mask_t<V>>(x == V{}, y == y);
  }
  static constexpr term partial(auto const& r, int k) {
    if (k == 0) return extend::apply<log>(r.x(1));
    term const x = r.x(0), y = r.x(1);
    return x / extend::select(x == 0, extend::select(y == 0, extend::constant_like(y, 1), y), y); // (0 / 0 is NaN)
  }
};

/// The remainder of x / y with the sign of x, as in C; exact if |x / y| is less than 2^52 (`float`: 2^23), otherwise to an ulp
/// of x. Adjoints: dy, -dy trunc(x / y).
struct fmod : extend::elementwise<2> {
  static constexpr char const* name = "fmod";
  static constexpr float cost = 14;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) { return math::fmod(x, y); }
  static constexpr term partial(auto const& r, int k) {
    return k == 0 ? extend::constant_like(r.x(0), 1) : (r.y() - r.x(0)) / r.x(1);
  }
};

/// |x| with the sign of y, also of -0. Adjoints: dy if both have one sign, otherwise -dy; 0.
struct copysign : extend::elementwise<2> {
  static constexpr char const* name = "copysign";
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) { return math::copysign(x, y); }
  static constexpr void adjoint(auto& r) {
    if (r.wanted(0)) r.give(0, turned(r, r.dy()));
  }
  static constexpr void tangent(auto& r) {
    if (r.has(0)) r.give(turned(r, r.dx()));
  }
  static constexpr term turned(auto const& r, term d) {
    term const one = extend::constant_like(r.y(), 1);
    return d * (extend::apply<copysign>(one, r.x(0)) * extend::apply<copysign>(one, r.x(1)));
  }
};

} // namespace op

namespace detail {
using special_operations =
    operations<op::tan, op::asin, op::acos, op::acosh, op::atanh, op::exp2, op::log2, op::log10, op::cbrt, op::lgamma, op::digamma, op::trigamma,
               op::tetragamma, op::pentagamma, op::atan2, op::hypot, op::xlogy, op::fmod, op::copysign>;
/// The operation that leaves the rest of a division of X by Y.
template <class X, class Y> using remainder_of = std::conditional_t<divides_integers<X, Y>, op::remainder, op::fmod>;
} // namespace detail

template <detail::operand X>
constexpr auto tan(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::tan>(where, x);
}
template <detail::operand X>
constexpr auto asin(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::asin>(where, x);
}
template <detail::operand X>
constexpr auto acos(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::acos>(where, x);
}
template <detail::operand X>
constexpr auto acosh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::acosh>(where, x);
}
template <detail::operand X>
constexpr auto atanh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::atanh>(where, x);
}
template <detail::operand X>
constexpr auto exp2(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::exp2>(where, x);
}
template <detail::operand X>
constexpr auto log2(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::log2>(where, x);
}
template <detail::operand X>
constexpr auto log10(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::log10>(where, x);
}
template <detail::operand X>
constexpr auto cbrt(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::cbrt>(where, x);
}
template <detail::operand X>
constexpr auto erf(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::erf>(where, x);
}
template <detail::operand X>
constexpr auto erfc(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::erfc>(where, x);
}
template <detail::operand X>
constexpr auto erfinv(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::erfinv>(where, x);
}
template <detail::operand X>
constexpr auto normal_cdf(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::normal_cdf>(where, x);
}
template <detail::operand X>
constexpr auto normal_log_cdf(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::normal_log_cdf>(where, x);
}
template <detail::operand X>
constexpr auto lgamma(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::lgamma>(where, x);
}
template <detail::operand X>
constexpr auto digamma(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::digamma>(where, x);
}
template <detail::operand X>
constexpr auto trigamma(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::trigamma>(where, x);
}
/// The derivative N of digamma, for N from 0 to 3.
template <int N, detail::operand X>
  requires(N >= 0 && N <= 3)
constexpr auto polygamma(X const& x, std::source_location where = std::source_location::current()) {
  using op_type = std::conditional_t<N == 0, op::digamma, std::conditional_t<N == 1, op::trigamma, std::conditional_t<N == 2, op::tetragamma, op::pentagamma>>>;
  return detail::unary<op_type>(where, x);
}
template <detail::operand Y, detail::operand X>
constexpr auto atan2(Y const& y, X const& x, std::source_location where = std::source_location::current()) {
  return detail::binary<op::atan2>(where, y, x);
}
template <detail::operand X, detail::operand Y>
constexpr auto hypot(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::binary<op::hypot>(where, x, y);
}
template <detail::operand X, detail::operand Y>
constexpr auto xlogy(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::binary<op::xlogy>(where, x, y);
}
template <detail::operand X, detail::operand Y>
constexpr auto fmod(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::binary<detail::remainder_of<X, Y>>(where, x, y);
}
template <detail::operand X, detail::operand Y>
constexpr auto copysign(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::binary<op::copysign>(where, x, y);
}

} // namespace cotangent

#endif
