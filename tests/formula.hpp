// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_FORMULA_HPP
#define COTANGENT_TESTS_FORMULA_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

// What functions of the library are compared with, and owes nothing to it: numbers that carry one derivative, with the
// functions of <cmath>, and arrays of them that are read place by place.

namespace formula {

/// A number and its derivative along one direction.
struct dual {
  double v = 0, d = 0;
  constexpr dual() = default;
  constexpr dual(double value, double derivative = 0) : v(value), d(derivative) {}
};

constexpr dual operator-(dual a) { return {-a.v, -a.d}; }
constexpr dual operator+(dual a, dual b) { return {a.v + b.v, a.d + b.d}; }
constexpr dual operator-(dual a, dual b) { return {a.v - b.v, a.d - b.d}; }
constexpr dual operator*(dual a, dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
constexpr dual operator/(dual a, dual b) { return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)}; }
constexpr bool operator<(dual a, dual b) { return a.v < b.v; }

inline dual exp(dual x) { return {std::exp(x.v), std::exp(x.v) * x.d}; }
inline dual expm1(dual x) { return {std::expm1(x.v), std::exp(x.v) * x.d}; }
inline dual log(dual x) { return {std::log(x.v), x.d / x.v}; }
inline dual log1p(dual x) { return {std::log1p(x.v), x.d / (1 + x.v)}; }
inline dual sqrt(dual x) { return {std::sqrt(x.v), x.d / (2 * std::sqrt(x.v))}; }
inline dual sin(dual x) { return {std::sin(x.v), std::cos(x.v) * x.d}; }
inline dual cos(dual x) { return {std::cos(x.v), -std::sin(x.v) * x.d}; }
inline dual tanh(dual x) {
  double const c = std::cosh(x.v);
  return {std::tanh(x.v), x.d / (c * c)};
}
inline dual pow(dual x, dual p) {
  double const y = std::pow(x.v, p.v);
  return {y, p.v * std::pow(x.v, p.v - 1) * x.d + y * std::log(x.v) * p.d};
}
inline dual erf(dual x) { return {std::erf(x.v), std::exp(-x.v * x.v) / std::sqrt(std::atan(1.)) * x.d}; }
/// The derivative n of digamma for x > 0, by recurrence to 60 and its asymptotic series.
inline double polygamma(int n, double x) {
  long double a = x, sum = 0, factorial = 1;
  for (int k = 2; k <= n; ++k) factorial *= k;
  for (; a < 60; a += 1) sum += factorial / std::pow(a, n + 1);
  long double const b[]{1.L / 6, -1.L / 30, 1.L / 42, -1.L / 30};
  long double tail = n == 0 ? -std::log(a) + 1 / (2 * a) : factorial / n / std::pow(a, n) + factorial / 2 / std::pow(a, n + 1);
  for (int k = 1; k <= 4; ++k) {
    long double c = n == 0 ? b[k - 1] / (2 * k) : b[k - 1];
    if (n > 0)
      for (int j = 2 * k + 1; j < 2 * k + n; ++j) c *= j;
    tail += c / std::pow(a, 2 * k + n);
  }
  return static_cast<double>((n % 2 == 0 ? -1 : 1) * (tail + sum));
}
/// The regularized lower incomplete gamma function, as the series of x^(a + n) e^-x / Gamma(a + n + 1).
inline dual lower_gamma(dual a, dual x) {
  dual sum;
  for (int n = 0; n < 200; ++n) {
    double const b = a.v + n, term = std::exp(b * std::log(x.v) - x.v - std::lgamma(b + 1));
    sum.v += term;
    sum.d += term * (std::log(x.v) - polygamma(0, b + 1)) * a.d;
  }
  sum.d += std::exp((a.v - 1) * std::log(x.v) - x.v - std::lgamma(a.v)) * x.d;
  return sum;
}
inline dual abs(dual x) { return x.v < 0 ? -x : x; }
inline dual without_derivative(double x) { return {x, 0}; }
inline dual truth(bool b) { return {b ? 1. : 0., 0}; }

using sizes = std::vector<std::int64_t>;
using place = std::vector<std::int64_t>;

inline std::int64_t count(sizes const& of) {
  std::int64_t n = 1;
  for (std::int64_t const k : of) n *= k;
  return n;
}

/// An array of numbers, row by row.
struct grid {
  sizes size;
  std::vector<dual> at;

  std::size_t position(place const& p) const {
    std::int64_t i = 0;
    for (std::size_t k = 0; k < size.size(); ++k) i = i * size[k] + p[k];
    return static_cast<std::size_t>(i);
  }
  dual operator()(place const& p) const { return at[position(p)]; }
};

/// The array of this size with `of(place)` at each place.
template <class Of> grid made(sizes const& size, Of const& of) {
  grid g{size, std::vector<dual>(static_cast<std::size_t>(count(size)))};
  place p(size.size());
  for (dual& x : g.at) {
    x = of(static_cast<place const&>(p));
    for (std::size_t k = size.size(); k-- > 0;) {
      if (++p[k] < size[k]) break;
      p[k] = 0;
    }
  }
  return g;
}

/// `of(numbers)` over axes; those of size 1 in the result if they are kept.
template <class Of> grid reduced(grid const& x, std::initializer_list<int> axes, bool keep, Of const& of) {
  std::vector<bool> goes(x.size.size());
  for (int const a : axes) goes[static_cast<std::size_t>(a)] = true;
  sizes to, along;
  for (std::size_t k = 0; k < x.size.size(); ++k) {
    if (goes[k]) along.push_back(x.size[k]);
    if (!goes[k] || keep) to.push_back(goes[k] ? 1 : x.size[k]);
  }
  return made(to, [&](place const& p) {
    std::vector<dual> numbers;
    (void)made(along, [&](place const& q) {
      place whole;
      std::size_t i = 0, j = 0;
      for (std::size_t k = 0; k < x.size.size(); ++k) {
        whole.push_back(goes[k] ? q[j++] : p[i]);
        if (!goes[k] || keep) ++i;
      }
      numbers.push_back(x(whole));
      return dual();
    });
    return of(numbers);
  });
}

/// `of(numbers)`, as many numbers, along one axis.
template <class Of> grid along(grid const& x, int axis, Of const& of) {
  std::size_t const a = static_cast<std::size_t>(axis);
  return made(x.size, [&](place const& p) {
    std::vector<dual> numbers;
    place q = p;
    for (q[a] = 0; q[a] < x.size[a]; ++q[a]) numbers.push_back(x(q));
    return of(numbers)[static_cast<std::size_t>(p[a])];
  });
}

using numbers = std::vector<dual>;

inline dual sum(numbers const& x) {
  dual s;
  for (dual const a : x) s = s + a;
  return s;
}
inline dual mean(numbers const& x) { return sum(x) / static_cast<double>(x.size()); }
inline dual product(numbers const& x) {
  dual p = 1;
  for (dual const a : x) p = p * a;
  return p;
}
inline dual variance(numbers const& x) {
  dual const m = mean(x);
  numbers apart;
  for (dual const a : x) apart.push_back((a - m) * (a - m));
  return mean(apart);
}
constexpr double huge = 1.7e308; // of nothing: what is beyond all numbers, and moves nowhere
inline dual beyond(numbers const& x, double v) { return {v, x.empty() ? std::log(-1.) : 0.}; }
inline dual largest(numbers const& x) {
  dual m = beyond(x, -huge);
  for (dual const a : x) m = m < a ? a : m;
  return m;
}
inline dual smallest(numbers const& x) {
  dual m = beyond(x, huge);
  for (dual const a : x) m = a < m ? a : m;
  return m;
}
inline dual logsumexp(numbers const& x) {
  dual s;
  for (dual const a : x) s = s + exp(a);
  return log(s);
}
inline numbers softmax(numbers x) {
  dual s;
  for (dual const a : x) s = s + exp(a);
  for (dual& a : x) a = exp(a) / s;
  return x;
}
inline numbers log_softmax(numbers x) {
  dual const l = logsumexp(x);
  for (dual& a : x) a = a - l;
  return x;
}
inline dual position_of_largest(numbers const& x) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < x.size(); ++k)
    if (x[best] < x[k]) best = k;
  return without_derivative(static_cast<double>(best));
}

} // namespace formula

#endif
