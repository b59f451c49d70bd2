// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
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

template <std::ptrdiff_t Rows, std::ptrdiff_t Columns, class T, bool Bits = true, class F> void agrees(F) {
  auto const alike = [](T a, T b, T size) { // without Bits, up to rounding
    return Bits ? near(a, b, size) : std::fabs(a - b) <= (ct::math::is_fast ? 1e-3 : 64 * static_cast<double>(std::numeric_limits<T>::epsilon())) * size;
  };
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
    CHECK(alike(found, value, value));
    T largest = ct::math::is_fast ? std::numeric_limits<T>::epsilon() * std::fabs(value) : T{0}; // what rounding leaves of 0
    for (T const d : gradient) largest = std::max(largest, std::fabs(d));
    for (int k = 0; k < to.size(); ++k)
      if (!alike(to.data()[k], gradient.data()[k], largest)) FAIL_CHECK(k << ": " << to.data()[k] << " is not " << gradient.data()[k]);
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

namespace {

// Of rows of a few elements: sums of products, and the largest.
inline constexpr auto products = [](auto x) { return ct::square(ct::sum(x * ct::sin(x), ct::axes<1>)); };
inline constexpr auto largest = [](auto x) { return ct::square(ct::max(x, ct::axes<1>) + ct::sum(x, ct::axes<1>)); };
template <std::ptrdiff_t Rows, std::ptrdiff_t Columns> void short_rows_agree() {
  agrees<Rows, Columns, double, false>(products);
  agrees<Rows, Columns, float, false>(products);
  agrees<Rows, Columns, double, false>(largest);
  agrees<Rows, Columns, float, false>(largest);
}

} // namespace

TEST_CASE("Rows of a few elements in run-time graphs have the values and gradients of compiled functions") {
  short_rows_agree<37, 1>();
  short_rows_agree<37, 2>();
  short_rows_agree<41, 3>();
  short_rows_agree<40, 4>();
  short_rows_agree<129, 5>();
  short_rows_agree<29, 7>();
  short_rows_agree<33, 8>();
}

// Long chains of expensive operations: compiled functions interleave the vectors of a row.

namespace {

inline constexpr auto chain = [](auto x) {
  auto y = x;
  for (int k = 0; k < 5; ++k) y = ct::tanh(y) + 0.5 * ct::exp(-(y * y));
  return y;
};
inline constexpr auto short_chain = [](auto x) { return ct::log(1.5 + ct::sin(ct::exp(x))); };
inline constexpr auto of_masks = [](auto x) {
  auto const y = ct::pow(1.25 + ct::sin(ct::exp(x)), x);
  return ct::select(y > 1, ct::log(y + 1), x);
};
inline constexpr auto long_chain = [](auto x) { // a body that is compiled once for any number of lanes
  auto y = x;
  for (int k = 0; k < 26; ++k) y = ct::tanh(ct::exp(-y) - 0.25);
  return y;
};
/// Computed again for a second pass over the row, or kept.
template <class F> struct of_rows {
  template <class X> constexpr auto operator()(X x) const {
    auto const y = F{}(x) + 2;
    return y / ct::sum(y, ct::axes<1>, ct::keep);
  }
};
template <class F> struct of_columns {
  template <class X> constexpr auto operator()(X x) const { return ct::square(ct::sum(F{}(x), ct::axes<0>)); }
};

/// Each element alone, in vectors of all lengths.
template <class T, class F> void agrees_with_elements(F f) {
  auto const whole = ct::compiled(f);
  auto const slopes = ct::grad(summed<F>{});
  for (std::size_t n = 0; n < 140; n += n < 70 ? 1 : 7) {
    std::vector<T> x(n);
    for (std::size_t k = 0; k < n; ++k) x[k] = static_cast<T>(std::sin(0.37 * static_cast<double>(k)));
    auto const y = whole(x);
    auto const dy = slopes(x);
    bool same = true;
    for (std::size_t k = 0; k < n; ++k) same = same && near(y.data()[k], T(whole(x[k])), T(4)) && near(dy.data()[k], T(slopes(x[k])), T(40));
    CAPTURE(n);
    CHECK(same);
  }
}

} // namespace

TEST_CASE("Interleaved vectors of long chains have the bits of each element alone") {
  agrees_with_elements<double>(chain);
  agrees_with_elements<float>(short_chain);
  agrees_with_elements<double>(of_masks);
  agrees_with_elements<double>(long_chain);
}

TEST_CASE("Interleaved rows of long chains have the bits of run-time graphs, which do not interleave them") {
  using short_one = std::remove_const_t<decltype(short_chain)>;
  using long_one = std::remove_const_t<decltype(long_chain)>;
  agrees<3, 140, double>(of_rows<short_one>{});
  agrees<3, 140, double>(of_rows<long_one>{});
  agrees<5, 67, float>(of_columns<long_one>{});
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

// Totals, rows and columns of integers: wrapping sums and extremes have one result in each order.
TEMPLATE_TEST_CASE("Reductions of integers in fused loops equal plain loops", "", std::int32_t, std::int64_t) {
  using T = TestType;
  using unsigned_type = std::make_unsigned_t<T>;
  for (int const rows : {1, 2, 5, 64, 301})
    for (int const columns : {1, 3, 8, 33, 600}) {
      CAPTURE(rows, columns);
      std::vector<T> x(static_cast<std::size_t>(rows * columns));
      for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(k * 2654435761u % 1000003) - 500000;
      ct::dynamic::graph g;
      auto const in = g.input<T>("x", {rows, columns});
      auto const y = in - ct::max(in, ct::axes<1>, ct::keep) * T{4321};
      auto const total = ct::sum(y), most = ct::max(y);
      auto const by_row = ct::sum(y, ct::axes<1>), least_of_row = ct::min(y, ct::axes<1>);
      auto const by_column = ct::sum(y, ct::axes<0>), most_of_column = ct::max(y, ct::axes<0>);
      auto p = g.compile({total, most, by_row, least_of_row, by_column, most_of_column});
      p.bind(in, x);
      p.run();
      unsigned_type of_all = 0;
      T top_of_all = std::numeric_limits<T>::min();
      std::vector<unsigned_type> of_rows(static_cast<std::size_t>(rows)), of_columns(static_cast<std::size_t>(columns));
      std::vector<T> least(of_rows.size(), std::numeric_limits<T>::max()), greatest(of_columns.size(), top_of_all);
      for (std::size_t r = 0; r < of_rows.size(); ++r)
        for (std::size_t c = 0; c < of_columns.size(); ++c) {
          auto const row = x.begin() + static_cast<std::ptrdiff_t>(r * of_columns.size());
          auto const top = static_cast<unsigned_type>(*std::max_element(row, row + columns));
          auto const bits = static_cast<unsigned_type>(static_cast<unsigned_type>(row[static_cast<std::ptrdiff_t>(c)]) - top * 4321u);
          auto const v = static_cast<T>(bits);
          of_all += bits, of_rows[r] += bits, of_columns[c] += bits;
          top_of_all = std::max(top_of_all, v), least[r] = std::min(least[r], v), greatest[c] = std::max(greatest[c], v);
        }
      CHECK(p.value(total) == static_cast<T>(of_all));
      CHECK(p.value(most) == top_of_all);
      bool same = true;
      for (int r = 0; r < rows; ++r)
        same = same && p.value(by_row)(r) == static_cast<T>(of_rows[static_cast<std::size_t>(r)]) && p.value(least_of_row)(r) == least[static_cast<std::size_t>(r)];
      CHECK(same);
      for (int c = 0; c < columns; ++c)
        same = same && p.value(by_column)(c) == static_cast<T>(of_columns[static_cast<std::size_t>(c)]) && p.value(most_of_column)(c) == greatest[static_cast<std::size_t>(c)];
      CHECK(same);
    }
}
