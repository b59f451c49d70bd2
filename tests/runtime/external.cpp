// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdint>
#include <tuple>

// C++ functions that are called as they are, with rules of their own.

namespace ct = cotangent;

namespace {

using vector3 = ct::tensor<double, 3>;

// [waves]
// A simulator that knows nothing of graphs: y[k] = a sin(x[k]) + x[0].
inline constexpr auto waves = ct::external(
    [](ct::view<double const, 3> x, double a) {
      ct::tensor<double, 3> y;
      for (int k = 0; k < 3; ++k) y(k) = a * std::sin(x(k)) + x(0);
      return y;
    },
    [](ct::view<double const, 3> x, double a, auto /* y */, ct::view<double const, 3> dy) {
      ct::tensor<double, 3> dx;
      double da = 0;
      for (int k = 0; k < 3; ++k) dx(k) = a * std::cos(x(k)) * dy(k), da += std::sin(x(k)) * dy(k);
      for (int k = 0; k < 3; ++k) dx(0) += dy(k);
      return std::tuple(dx, da); // a cotangent for each argument
    });
// [/waves]
inline constexpr auto written = [](auto x, auto a) { return a * ct::sin(x) + x(0); };

inline constexpr auto cube = ct::external([](float x) { return x * x * x; }, [](float x, float, float dy) { return 3 * x * x * dy; });
inline constexpr auto product = ct::external([](ct::view<double const, 2, 2> m) { return m(0, 0) * m(1, 1); },
                                             [](ct::view<double const, 2, 2> m, double, double dy) {
                                               return ct::tensor<double, 2, 2>{{m(1, 1) * dy, 0}, {0, m(0, 0) * dy}};
                                             });
static_assert(ct::compiled(cube)(2.f) == 8 && ct::grad(cube)(2.f) == 12, "constexpr functions work in constant evaluations");

template <class A, class B> void same(A const& a, B const& b) {
  REQUIRE(a.size() == b.size());
  for (std::int64_t k = 0; k < a.size(); ++k) CHECK(a.data()[k] == Approx(b.data()[k]).margin(1e-14));
}

constexpr vector3 point{0.5, 1.0, 2.0};

} // namespace

TEST_CASE("an external function has its value and its rule") {
  auto const with = [](auto f) { return [](auto x, auto a) { return ct::sum(ct::square(decltype(f){}(ct::exp(x), a)) * x); }; };
  auto const [value, slopes] = ct::value_and_grad<0, 1>(with(waves))(point, 2.0);
  auto const [wanted, wanted_slopes] = ct::value_and_grad<0, 1>(with(written))(point, 2.0);
  CHECK(value == Approx(wanted));
  same(std::get<0>(slopes), std::get<0>(wanted_slopes));
  CHECK(std::get<1>(slopes) == Approx(std::get<1>(wanted_slopes)));
  CHECK(ct::compiled(product)(ct::tensor<double, 2, 2>{{2, 1}, {1, 5}}) == 10);
  same(ct::grad(product)(ct::tensor<double, 2, 2>{{2, 1}, {1, 5}}), ct::tensor<double, 2, 2>{{5, 0}, {0, 2}});
}

TEST_CASE("external functions in rows, Jacobians and loops") {
  same(ct::jacrev([](auto x) { return waves(x, 2.0); })(point), ct::jacrev([](auto x) { return written(x, 2.0); })(point));
  ct::tensor<double, 2, 3> const rows{{0.5, 1, 2}, {1, 2, 3}};
  same(ct::vmap([](auto x) { return waves(x, 2.0); })(rows), ct::vmap([](auto x) { return written(x, 2.0); })(rows));
  same(ct::vmap(ct::grad([](auto x) { return ct::sum(waves(x, 2.0)); }))(rows), ct::vmap(ct::grad([](auto x) { return ct::sum(written(x, 2.0)); }))(rows));
  auto const looped = [](auto f) {
    return [](auto x) { return ct::sum(ct::for_loop(4, [](auto, auto y) { return decltype(f){}(y, 0.5); }, x)); };
  };
  same(ct::grad(looped(waves))(point), ct::grad(looped(written))(point));
}

TEST_CASE("two external functions, and one that is called twice with other arguments") {
  auto const both = [](auto x) { return ct::sum(waves(x, 1.0) * waves(2 * x, 3.0)) * ct::convert<double>(cube(ct::convert<float>(x(0)))); };
  auto const wanted = [](auto x) { return ct::sum(written(x, 1.0) * written(2 * x, 3.0)) * x(0) * x(0) * x(0); };
  same(ct::grad(both)(point), ct::grad(wanted)(point));
}

// A call inside an external function takes no memory of the call that it interrupts.
namespace {

using line = ct::tensor<double, 2000>;
inline constexpr auto running = [](auto x) { return ct::sum(ct::cumsum(ct::exp(ct::cumsum(x)))); };
inline constexpr auto large_inside = ct::external(
    [](double a) {
      ct::tensor<double, 9000> x{};
      for (int k = 0; k < 9000; ++k) x(k) = 1e-8 * k;
      return 0 * a * ct::grad(running)(x)(0);
    },
    [](double, double, double) { return 0.0; });
inline constexpr auto unbounded = [](auto a) {
  return ct::while_loop([](auto, auto y) { return y < 1e3; }, [=](auto, auto y) { return y * 1.1 + 0.05 * ct::sin(y) + a; }, a);
};
inline constexpr auto unbounded_inside =
    ct::external([](double a) { return 0 * ct::grad(unbounded)(a); }, [](double, double, double) { return 0.0; });

} // namespace

TEST_CASE("an external function may differentiate") {
  auto const rows = [](auto inside) {
    return [](auto x) {
      auto const c = ct::cumsum(x), d = ct::cumsum(ct::exp(c * 0.01));
      auto const s = ct::sum(d * c);
      return ct::sum(ct::cumsum(d * c) * (s + decltype(inside){}(s)));
    };
  };
  line x{};
  for (int k = 0; k < 2000; ++k) x(k) = 1e-3 * k;
  for (int run = 0; run < 2; ++run) {
    auto const with = ct::grad(rows(large_inside))(x), without = ct::grad(rows([](auto s) { return 0.0 * s; }))(x);
    for (int k = 0; k < 2000; ++k) CHECK(with(k) == Approx(without(k)));
  }
  auto const loop = [](auto inside) {
    return [](auto a) {
      return ct::while_loop([](auto, auto y) { return y < 50.0; },
                            [=](auto, auto y) { return y * 1.1 + 0.1 * ct::sin(y) + decltype(inside){}(y * 0.01 + 1.0) + a; }, a);
    };
  };
  CHECK(ct::grad(loop(unbounded_inside))(0.7) == Approx(ct::grad(loop([](auto y) { return 0.0 * y; }))(0.7)));
  auto const [y, back] = ct::vjp(loop(unbounded_inside))(0.7); // and in what a pullback recomputes
  CHECK(back(1.0) == Approx(ct::grad(loop([](auto s) { return 0.0 * s; }))(0.7)));
  CHECK(y > 50);
}
