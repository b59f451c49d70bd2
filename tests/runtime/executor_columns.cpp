// SPDX-License-Identifier: BSL-1.0
// Neighboring columns of rows, loaded and stored 16 bytes at a time, against plain loops: every choice of columns, rows around the
// widths of vectors, memory that ends with the last element.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace {

namespace ct = cotangent;

template <int... J> struct chosen {
  static constexpr auto sum = [](auto x) { return (... + (x(ct::all, J) * (J + 2))); };
  static constexpr auto energy = [](auto x) { return ct::sum((... + (x(ct::all, J) * x(ct::all, J) * (J + 2)))); };
};
/// A copy whose memory has no more elements than it: a sanitizer sees each access beyond.
template <class T> std::unique_ptr<T[]> counted(std::int64_t n) {
  auto x = std::make_unique<T[]>(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) x[static_cast<std::size_t>(k)] = static_cast<T>((k * 7 + 3) % 11 - 4);
  return x;
}

template <class T, int Columns, int... J> void check_columns() {
  for (std::int64_t const n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100}) {
    auto const x = counted<T>(n * Columns);
    auto const y = counted<T>(n), dx = counted<T>(n * Columns);
    ct::view<T const, "n", Columns> const in(x.get(), n);
    auto const out = ct::compiled(chosen<J...>::sum)(in);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += out(i) != (... + (in(i, J) * (J + 2)));
    if constexpr (!std::is_integral_v<T>) {
      auto const [value, gradient] = ct::value_and_grad(chosen<J...>::energy)(in);
      T sum{};
      for (std::int64_t i = 0; i < n; ++i) {
        sum += (... + (in(i, J) * in(i, J) * (J + 2)));
        for (int j = 0; j < Columns; ++j) wrong += gradient(i, j) != (((j == J) || ...) ? 2 * in(i, j) * T(j + 2) : T{});
      }
      wrong += value != sum; // (small integers: no rounding)
    }
    CAPTURE(n, Columns);
    CHECK(wrong == 0);
  }
}
template <class T> void check_choices() {
  check_columns<T, 2, 0, 1>();
  check_columns<T, 3, 0, 1, 2>();
  check_columns<T, 3, 2, 0>();
  check_columns<T, 3, 1, 2>();
  check_columns<T, 4, 0, 1, 2, 3>();
  check_columns<T, 4, 3, 1>();
  check_columns<T, 4, 0, 1, 2>();
  check_columns<T, 5, 4, 2, 0, 1, 3>();
  check_columns<T, 7, 0, 6, 1, 5>();
  check_columns<T, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>();
}
TEST_CASE("Functions of the columns of a matrix, with their gradients") {
  check_choices<double>();
  check_choices<float>();
  check_choices<std::int32_t>();
  check_choices<std::int64_t>();
}

inline constexpr auto crossed = [](auto x, auto y) {
  auto const of = [](auto const& m, int j) { return m(ct::all, j % 3); };
  return ct::stack<1>(of(x, 1) * of(y, 2) - of(x, 2) * of(y, 1), of(x, 2) * of(y, 0) - of(x, 0) * of(y, 2),
                      of(x, 0) * of(y, 1) - of(x, 1) * of(y, 0));
};
inline constexpr auto turned_about = [](auto x) {
  return ct::stack<1>(x(ct::all, 3) + 1, x(ct::all, 2) * 2, x(ct::all, 1) * 3, x(ct::all, 0) - 1);
};
inline constexpr auto moved = [](auto x) { return ct::stack<1>(x(ct::all, 0) * 2, x(ct::all, 1) * 3, x(ct::all, 2) * 5); };
inline constexpr auto rows_turned = [](auto x) { // [b, n, 4]: neighbors in each block
  return ct::stack<2>(x(ct::all, ct::all, 1), x(ct::all, ct::all, 0), x(ct::all, ct::all, 3) * x(ct::all, ct::all, 2), x(ct::all, ct::all, 2));
};

template <class T> void check_stores() {
  for (std::int64_t const n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65}) {
    CAPTURE(n);
    int wrong = 0;
    auto const a = counted<T>(3 * n), b = counted<T>(3 * n + 5), out = counted<T>(3 * n);
    ct::view<T const, "n", 3> const x(a.get(), n), y(b.get() + 5, n);
    ct::view<T, "n", 3> z(out.get(), n);
    using P = ct::program<decltype(ct::compiled(crossed)), ct::view<T const, "n", 3>, ct::view<T const, "n", 3>>;
    ct::growing_workspace memory;
    REQUIRE(P::run_growing(memory, std::tie(x, y), std::tie(z)) == ct::status::ok);
    for (std::int64_t i = 0; i < n; ++i)
      for (int j = 0; j < 3; ++j) {
        int const k = (j + 1) % 3, l = (j + 2) % 3;
        wrong += z(i, j) != x(i, k) * y(i, l) - x(i, l) * y(i, k);
      }
    CHECK(wrong == 0);

    auto const c = counted<T>(4 * n);
    ct::view<T const, "n", 4> const u(c.get(), n);
    auto const v = ct::compiled(turned_about)(u);
    for (std::int64_t i = 0; i < n; ++i)
      wrong += v(i, 0) != u(i, 3) + 1 || v(i, 1) != u(i, 2) * 2 || v(i, 2) != u(i, 1) * 3 || v(i, 3) != u(i, 0) - 1;
    CHECK(wrong == 0);
  }
}
TEST_CASE("Results whose columns are stored side by side") {
  check_stores<double>();
  check_stores<float>();
  check_stores<std::int32_t>();
  check_stores<std::int64_t>();
}

template <class T> void check_in_place() {
  for (std::int64_t const n : {1, 3, 4, 7, 8, 16, 17, 33, 64, 100}) {
    CAPTURE(n);
    auto const a = counted<T>(3 * n), before = counted<T>(3 * n);
    ct::view<T const, "n", 3> const x(a.get(), n), old(before.get(), n);
    ct::view<T, "n", 3> y(a.get(), n);
    using P = ct::program<decltype(ct::compiled(moved)), ct::view<T const, "n", 3>>;
    ct::growing_workspace memory;
    REQUIRE(P::run_growing(memory, std::tie(x), std::tie(y)) == ct::status::ok);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += y(i, 0) != 2 * old(i, 0) || y(i, 1) != 3 * old(i, 1) || y(i, 2) != 5 * old(i, 2);
    CHECK(wrong == 0);
  }
}
TEST_CASE("A result in the memory of its argument, column by column") {
  check_in_place<double>();
  check_in_place<float>();
}

template <class T> void check_blocks() {
  for (std::int64_t const blocks : {1, 3})
    for (std::int64_t const n : {1, 5, 16, 17, 40}) {
      auto const a = counted<T>(blocks * n * 4);
      ct::view<T const, "b", "n", 4> const x(a.get(), blocks, n);
      auto const y = ct::compiled(rows_turned)(x);
      int wrong = 0;
      for (std::int64_t b = 0; b < blocks; ++b)
        for (std::int64_t i = 0; i < n; ++i)
          wrong += y(b, i, 0) != x(b, i, 1) || y(b, i, 1) != x(b, i, 0) || y(b, i, 2) != x(b, i, 3) * x(b, i, 2) || y(b, i, 3) != x(b, i, 2);
      CAPTURE(blocks, n);
      CHECK(wrong == 0);
    }
}
TEST_CASE("Columns of blocks of rows") {
  check_blocks<double>();
  check_blocks<float>();
}

TEST_CASE("Columns of a number that is known at run time only") {
  constexpr auto f = [](auto x) { return x(ct::all, 0) * 3 - x(ct::all, 1); };
  for (std::int64_t const n : {1, 4, 16, 19})
    for (std::int64_t const m : {2, 3, 4, 6}) {
      auto const a = counted<float>(n * m);
      ct::view<float const, "n", "m"> const x(a.get(), n, m);
      auto const y = ct::compiled(f)(x);
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) wrong += y(i) != x(i, 0) * 3 - x(i, 1);
      CAPTURE(n, m);
      CHECK(wrong == 0);
    }
}

TEST_CASE("Columns of two types, and in the body of a loop") {
  constexpr auto f = [](auto x, auto y) {
    auto const z = ct::convert<double>(x(ct::all, 0)) + y(ct::all, 1) * ct::convert<double>(x(ct::all, 1)) + y(ct::all, 0);
    return ct::for_loop(3, [=](auto, auto v) { return v * y(ct::all, 1) + y(ct::all, 0) * ct::convert<double>(x(ct::all, 2)); }, z);
  };
  for (std::int64_t const n : {1, 7, 8, 16, 33}) {
    auto const a = counted<float>(n * 3);
    auto const b = counted<double>(n * 2);
    ct::view<float const, "n", 3> const x(a.get(), n);
    ct::view<double const, "n", 2> const y(b.get(), n);
    auto const z = ct::compiled(f)(x, y);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double v = double(x(i, 0)) + y(i, 1) * double(x(i, 1)) + y(i, 0);
      for (int k = 0; k < 3; ++k) v = v * y(i, 1) + y(i, 0) * double(x(i, 2));
      wrong += z(i) != v;
    }
    CAPTURE(n);
    CHECK(wrong == 0);
  }
}

} // namespace
