// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

// Functions of rows as run-time graphs: the bits of the compiled function, and less memory than one value of each element.

namespace ct = cotangent;

namespace {

inline constexpr auto softmax = [](auto x) { return ct::square(ct::softmax(x)); };
inline constexpr auto normalization = [](auto x) {
  auto const centered = x - ct::mean(x, ct::axes<1>, ct::keep);
  return ct::square(ct::square(centered / ct::sqrt(ct::mean(ct::square(centered), ct::axes<1>, ct::keep) + 1e-5)));
};
template <class F> struct summed {
  template <class X> constexpr auto operator()(X x) const { return ct::sum(F{}(x)); }
};

/// Equal; but with -ffast-math, by which compilers reassociate, near for numbers of this size.
template <class T> bool near(T a, T b, T size) { return ct::math::is_fast ? std::fabs(a - b) <= 1e-3 * size : a == b; }

template <std::ptrdiff_t Rows, std::ptrdiff_t Columns, class T, class F> void agrees(F) {
  CAPTURE(Rows, Columns, sizeof(T));
  ct::tensor<T, Rows, Columns> x;
  for (int k = 0; k < x.size(); ++k) x.data()[k] = static_cast<T>(std::sin(0.37 * k + 0.1 * (k % 7)));
  auto const [value, gradient] = ct::value_and_grad<0>(summed<F>{})(x);
  ct::dynamic::graph g;
  auto const in = g.input<T>("x", {Rows, Columns});
  auto const y = summed<F>{}(in);
  auto const slope = g.gradient({y}, {in}).front();
  T found{};
  ct::tensor<T, Rows, Columns> to;
  auto p = g.compile({y, slope});
  p.bind(in, x);
  p.bind(y, found);
  p.bind(slope, to);
  for (int times = 0; times < 2; ++times) {
    p.run();
    CHECK(near(found, value, value));
    T largest = 0;
    for (T const d : gradient) largest = std::max(largest, std::fabs(d));
    for (int k = 0; k < to.size(); ++k)
      if (!near(to.data()[k], gradient.data()[k], largest)) FAIL_CHECK(k << ": " << to.data()[k] << " is not " << gradient.data()[k]);
  }
  if (Rows * Columns > 20000) CHECK(p.workspace_bytes() < Rows * Columns * static_cast<std::int64_t>(sizeof(T)));
}

} // namespace

TEST_CASE("Functions of rows as run-time graphs have the bits of the compiled functions, and intermediate rows no memory") {
  agrees<40, 17, double>(softmax);
  agrees<40, 17, float>(normalization);
  agrees<300, 3, double>(normalization);
  agrees<128, 256, double>(normalization);
  agrees<50, 64, double>(normalization); // short rows in vectors of 8: a total over interleaved rows
  agrees<70, 128, float>(normalization);
  agrees<37, 520, float>(normalization);
  agrees<6, 4000, float>(softmax);
}

TEST_CASE("A run-time graph with functions of rows may be written over its input") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {64, 16});
  auto const y = ct::softmax(x) + x;
  auto p = g.compile({y});
  std::vector<double> a(64 * 16), b(64 * 16);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = std::cos(0.1 * static_cast<double>(k));
  p.bind(x, ct::view<double const, 64, 16>(a.data()));
  p.bind(y, ct::view<double, 64, 16>(b.data()));
  p.run();
  p.bind(y, ct::view<double, 64, 16>(a.data()));
  p.run();
  CHECK(a == b);
}
