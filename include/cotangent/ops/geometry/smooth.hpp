// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_SMOOTH_HPP
#define COTANGENT_OPS_GEOMETRY_SMOOTH_HPP

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

/// The series of the terms (-u)^j / (2 j + Offset)!. Below 1, ten terms are exact up to second derivatives, in float seven.
template <int Offset> struct angle_series {
  double c[10]{};
  consteval angle_series() {
    double factorial = 1;
    for (int k = 2; k <= Offset; ++k) factorial *= k;
    for (int j = 0; j < 10; ++j) {
      c[j] = (j % 2 == 0 ? 1 : -1) / factorial;
      factorial *= (2 * j + Offset + 1) * (2 * j + Offset + 2);
    }
  }
  static constexpr term of(term near) {
    constexpr angle_series series;
    return polynomial(near, series.c, near.type() == element::float32 ? 7 : 10);
  }
};

/// A squared angle u = h h: the operand of series below 1, and of functions of the angle from 1 on.
struct squared_angle {
  term is_near, near, far;
  constexpr explicit squared_angle(term u) : is_near(u < 1) {
    near = select(is_near, u, constant_like(u, 0));
    far = apply<op::sqrt>(select(is_near, constant_like(u, 1), u));
  }
  /// cos(h)
  constexpr term cosine() const { return select(is_near, angle_series<0>::of(near), apply<op::cos>(far)); }
  /// sin(h) / h
  constexpr term sinc() const { return select(is_near, angle_series<1>::of(near), apply<op::sin>(far) / far); }
  /// (h - sin(h)) / h^3
  constexpr term rest() const {
    return select(is_near, angle_series<3>::of(near), (far - apply<op::sin>(far)) / (far * far * far));
  }
};

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
/// (1 - h cot(h)) / (h h) of the square x = h h, from 0 to (pi / 2)^2, by the continued fraction of Lambert.
constexpr term cotangent_rest(term x) {
  return (1. / 3) * (x.type() == element::float32 ? continued_fraction<of_cotangent, 6>::of(x) : continued_fraction<of_cotangent, 10>::of(x));
}

} // namespace cotangent::extend

#endif
