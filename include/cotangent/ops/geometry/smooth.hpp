// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_SMOOTH_HPP
#define COTANGENT_OPS_GEOMETRY_SMOOTH_HPP

#include <cotangent/core/math/polynomial.hpp>
#include <cotangent/ops/functions.hpp>

// Functions of an angle that are smooth in its square, as formulas whose derivatives are exact at 0, too. Rotations
// are composed of them: the squared length of a rotation vector has derivatives at 0, the length has none.

namespace cotangent::extend {

/// c[0] + c[1] x + c[2] x x + ...
constexpr term polynomial(term x, double const* c, int count) {
  if (count == 1) return constant_like(x, c[0]);
  term y = constant_like(x, c[count - 1]);
  for (int k = count - 2; k >= 0; --k) y = apply<op::multiply_add>(y, x, constant_like(x, c[k]));
  return y;
}

/// Coefficients of series in a squared angle: (-1)^j / (2 j + Offset)!, or of their derivatives. Below 1, ten terms are exact up to
/// second derivatives, in float seven.
template <int Offset, bool Slope = false> struct angle_series {
  double c[10]{};
  consteval angle_series() {
    double factorial = 1;
    for (int k = 2; k <= Offset; ++k) factorial *= k;
    for (int j = 0; j < 11; ++j) {
      double const number = (j % 2 == 0 ? 1 : -1) / factorial;
      if (int const at = Slope ? j - 1 : j; at >= 0 && at < 10) c[at] = Slope ? j * number : number;
      factorial *= (2 * j + Offset + 1) * (2 * j + Offset + 2);
    }
  }
  /// Where u is not near, of 0.
  static constexpr term of(term is_near, term u) {
    constexpr angle_series series;
    term const near = select(is_near, u, constant_like(u, 0));
    return polynomial(near, series.c, u.type() == element::float32 ? 7 : 10);
  }
};
/// 1 where u is near.
constexpr term unless_near(term is_near, term u) { return select(is_near, constant_like(u, 1), u); }

} // namespace cotangent::extend

namespace cotangent::op {

/// Value: sin(h) / h of x = h h, and 1 at 0
/// Adjoint: dy (cos(h) - sin(h) / h) / (2 x), by its series for x below 1
struct sinc_of_square : extend::elementwise<1> {
  static constexpr char const* name = "sinc_of_square";
  static constexpr float cost = 28;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) {
    V const h = math::sqrt(x), one = math::detail::constant<V>(1);
    auto const at_0 = h == V{};
    return math::select(at_0, one, math::sin(h) / math::select(at_0, one, h));
  }
  static constexpr term partial(auto const& r, int);
};
/// Value: cos(h) of x = h h
/// Adjoint: -dy sin(h) / (2 h)
struct cos_of_square : extend::elementwise<1> {
  static constexpr char const* name = "cos_of_square";
  static constexpr float cost = 23;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::cos(math::sqrt(x)); }
  static constexpr term partial(auto const& r, int) { return -0.5 * extend::apply<sinc_of_square>(r.x()); }
};
constexpr term sinc_of_square::partial(auto const& r, int) {
  auto const u = r.x(); // (dependent: clang looks for the rules of both operations where it meets their names)
  auto const near = u < 1, twice = 2 * extend::unless_near(near, u);
  return extend::select(near, extend::angle_series<1, true>::of(near, u), (extend::apply<cos_of_square>(u) - r.y()) / twice);
}

} // namespace cotangent::op

namespace cotangent {
namespace detail {
using geometry_operations = operations<op::sinc_of_square, op::cos_of_square>;
} // namespace detail
} // namespace cotangent

namespace cotangent::extend {

/// (h - sin(h)) / h^3 of u = h h.
constexpr term angle_minus_sine(term u) {
  term const near = u < 1;
  return select(near, angle_series<3>::of(near, u), (1 - apply<op::sinc_of_square>(u)) / unless_near(near, u));
}

/// A continued fraction 1 / (1 + g(2) x / (1 + g(3) x / (1 + ...))) with that number of levels, as a quotient of polynomials.
template <auto G, int Levels> struct continued_fraction {
  static constexpr int size = Levels / 2 + 1;
  double above[size]{}, below[size]{};
  consteval continued_fraction() {
    // A(k) = A(k - 1) + g(k) x A(k - 2), and likewise B(k)
    long double a[size]{1}, b[size]{1}, a_before[size]{}, b_before[size]{1};
    for (int k = 2; k <= Levels; ++k)
      for (int i = size - 1; i >= 0; --i) {
        long double const was[]{a[i], b[i]};
        if (i > 0) a[i] += G(k) * a_before[i - 1], b[i] += G(k) * b_before[i - 1];
        a_before[i] = was[0], b_before[i] = was[1];
      }
    for (int i = 0; i < size; ++i) above[i] = static_cast<double>(a[i]), below[i] = static_cast<double>(b[i]);
  }
  static constexpr term of(term x) {
    constexpr continued_fraction all;
    int count = size;
    while (all.above[count - 1] == 0) --count;
    return polynomial(x, all.above, count) / polynomial(x, all.below, size);
  }
};
inline constexpr auto of_arctangent = [](int k) -> long double { return (k - 1.L) * (k - 1.L) / ((2 * k - 1.L) * (2 * k - 3.L)); };
inline constexpr auto of_cotangent = [](int k) -> long double { return -1.L / ((2 * k + 1.L) * (2 * k - 1.L)); };

/// atan(h) / h of the square x = h h, from 0 to 1, by the continued fraction of Gauss.
constexpr term arctangent_of_square(term x) {
  return x.type() == element::float32 ? continued_fraction<of_arctangent, 12>::of(x) : continued_fraction<of_arctangent, 24>::of(x);
}
/// (1 - h cot(h)) / (h h) of the square x = h h, by the continued fraction of Lambert: from 0 to (pi / 2)^2, or to pi^2 with further levels.
template <int Single = 6, int Double = 10> constexpr term cotangent_rest(term x) {
  return (1. / 3) * (x.type() == element::float32 ? continued_fraction<of_cotangent, Single>::of(x) : continued_fraction<of_cotangent, Double>::of(x));
}

} // namespace cotangent::extend

#endif
