// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <utility>
#include <vector>

// Linear maps, run: sizes that are known at run time, saved values, and equality with jvp.

namespace ct = cotangent;

namespace linearized {

// [linearize]
inline constexpr auto layer = [](auto x, auto w) { return ct::tanh(ct::matmul(x, w)); };

template <class X, class W> auto response(X const& x, W const& w, X const& dx) {
  auto const [y, map] = ct::linearize(layer)(x, w); // computes y, saves what tangents need
  return map(dx);                                   // J dx, any number of times
}
// [/linearize]

inline constexpr auto scaled = [](auto x) { return ct::sin(x) * ct::sum(x); };
inline constexpr auto rows_by_vmap = [](auto x, auto rows) {
  auto const map = ct::linearize(scaled)(x).second;
  return ct::vmap([=](auto row) { return map(row); })(rows);
};
inline constexpr auto rows_by_scan = [](auto x, auto rows) {
  return ct::scan([=](auto c, auto row) { return std::pair(c, ct::jvp(scaled)(x, row).second); }, 0.0, rows).second;
};

TEST_CASE("many tangents: a linear map under vmap, jvp in a loop") {
  ct::tensor<double, 2> const x{0.3, 0.4};
  ct::tensor<double, 3, 2> const rows{{1, 0}, {0, 1}, {1, -2}};
  auto const a = ct::compiled(rows_by_vmap)(x, rows), b = ct::compiled(rows_by_scan)(x, rows);
  for (int k = 0; k < 3; ++k) {
    auto const expected = ct::jvp(scaled)(x, ct::tensor<double, 2>{rows(k, 0), rows(k, 1)}).second;
    for (int j = 0; j < 2; ++j) {
      CHECK(a(k, j) == Approx(expected(j)).epsilon(1e-14));
      CHECK(b(k, j) == Approx(expected(j)).epsilon(1e-14));
    }
  }
}

TEST_CASE("a linear map returns the tangent that jvp returns") {
  ct::tensor<double, 2, 3> x{{0.1, -0.4, 0.7}, {1, 0.3, -2}}, dx{{1, 2, -1}, {0.5, 0, 3}};
  ct::tensor<double, 3, 2> const w{{0.2, -1}, {0.6, 0.4}, {-0.3, 1.5}};
  auto const found = response(x, w, dx);
  auto const [y, dy] = ct::jvp(layer)(x, w, dx);
  for (int k = 0; k < 4; ++k) CHECK(found.data()[k] == Approx(dy.data()[k]).epsilon(1e-14));
  auto const [value, map] = ct::linearize<0, 1>(layer)(x, w);
  auto const only_first = map(dx, ct::absent);
  for (int k = 0; k < 4; ++k) {
    CHECK(value.data()[k] == Approx(y.data()[k]).epsilon(1e-14));
    CHECK(only_first.data()[k] == Approx(dy.data()[k]).epsilon(1e-14));
  }
  CHECK(map.bytes() > 0);
}

TEST_CASE("a linear map of a vector checks the size of its tangent") {
  auto const f = [](auto x) { return ct::exp(x) * x; };
  std::vector<double> const x{0, 1, 2}, dx{1, 1, 1}, two{1, 1}, none;
  auto const [y, map] = ct::linearize(f)(ct::view<double const, "n">(x));
  auto const dy = map(ct::view<double const, "n">(dx));
  CHECK(dy.size() == 3);
  CHECK(dy.data()[0] == Approx(1));
  CHECK(dy.data()[1] == Approx(2 * 2.718281828459045));
  CHECK_THROWS_WITH(map(ct::view<double const, "n">(two)),
                    "cotangent: linearize: the size 2 of axis 0 of tangent 0 must equal the argument's, which is 3");
  CHECK(ct::linearize(f)(ct::view<double const, "n">(none)).second(ct::view<double const, "n">(none)).size() == 0);
}

TEST_CASE("a linear map of a loop returns its tangent") {
  auto const power = [](auto x) { return ct::for_loop(5, [&](auto, auto y) { return ct::sin(y) * x; }, x); };
  auto const [y, map] = ct::linearize(power)(0.7);
  auto const [z, dz] = ct::jvp(power)(0.7, 2.0);
  CHECK(y == Approx(z).epsilon(1e-14));
  CHECK(map(2.0) == Approx(dz).epsilon(1e-14));
  CHECK(map(0.0) == 0);
}

template <class Half> void check_half() {
  ct::tensor<Half, 3> const x{1, 2, 3}, dx{1, 1, 2};
  ct::tensor<float, 3> const w{3, 2, 1}, dw{1, 0, 1};
  auto const square = [](auto a) { return ct::sum(a * a); };
  CHECK(float(ct::linearize(square)(x).second(dx)) == 18);
  CHECK(float(ct::linearize([](auto a) { return a * a; })(Half(3)).second(Half(1))) == 6);
  auto const map = ct::linearize<0, 1>([](auto a, auto b) { return ct::sum(a * b); })(x, w).second;
  CHECK(float(map(dx, dw)) == 11);
}
TEST_CASE("tangents of half precision are those of arguments of half precision") {
  check_half<ct::float16>();
  check_half<ct::bfloat16>();
}

} // namespace linearized
