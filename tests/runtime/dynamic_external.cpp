// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../words.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

// C++ functions with captures that programs of run-time graphs call as they are.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

/// y[k] = a sin(x[k]) factor, and how often it was called.
struct simulator {
  double factor = 1;
  int values = 0, cotangents = 0;
};
auto waves(std::int64_t n, std::shared_ptr<simulator> const& s) {
  return ct::external(
      {n},
      [s](std::span<double const> x, std::span<double const> a, std::span<double> y) {
        ++s->values;
        for (std::size_t k = 0; k < y.size(); ++k) y[k] = s->factor * a[0] * std::sin(x[k]);
      },
      [s](std::span<double const> x, std::span<double const> a, std::span<double const> y, std::span<double const> dy, std::span<double> dx,
          std::span<double> da) {
        ++s->cotangents;
        da[0] = 0;
        for (std::size_t k = 0; k < dx.size(); ++k) {
          dx[k] = s->factor * a[0] * std::cos(x[k]) * dy[k];
          da[0] += y[k] / a[0] * dy[k];
        }
      });
}

} // namespace

TEST_CASE("an external function of a run-time graph has its value and its rule, and lives as long as programs") {
  auto own = std::make_shared<simulator>(simulator{2});
  std::weak_ptr<simulator> const watched = own;
  numbers const x{0.25, -1, 2, 0.5};
  numbers y(4), dx(4);
  double const a = 1.5;
  {
    auto const make = [&] {
      ct::dynamic::graph g;
      auto const gx = g.input<double>("x", {4});
      auto const ga = g.input<double>("a");
      auto const gy = waves(4, own)(gx, ga);
      auto const d = g.gradient<double>({ct::sum(gy * gy)}, {gx}).front();
      auto p = g.compile({gy, d});
      p.bind(gx, x);
      p.bind(ga, a);
      p.bind(gy, y);
      p.bind(d, dx);
      return p; // the graph ends
    };
    auto p = make();
    own.reset();
    REQUIRE(!watched.expired());
    p.run();
    auto copy = p;
    p = ct::dynamic::graph().compile({});
    copy.run();
  }
  CHECK(watched.expired());
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(y[k] == Approx(3 * std::sin(x[k])));
    CHECK(dx[k] == Approx(18 * std::sin(x[k]) * std::cos(x[k])));
  }
}

TEST_CASE("the gradient of an external function in a run-time graph is its rule") {
  auto const s = std::make_shared<simulator>(simulator{2});
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const a = g.input<double>("a");
  auto const y = waves(4, s)(x, a);
  CHECK(s->values == 0);
  auto const sum = ct::sum(y * y);
  auto const d = g.gradient<double>({sum}, {x, a});
  auto const f = [&](auto z) { return waves(4, s)(z, a); };
  auto const j = ct::jacrev(f)(x);
  auto const rows = ct::vmap(f)(ct::stack<0>(x, 2.0 * x, x * x));
  auto const looped = ct::for_loop(3, [&](auto, auto z) { return waves(4, s)(z, a); }, x);
  auto const through = g.gradient<double>({ct::sum(looped)}, {x}).front();
  numbers const at{0.25, -1, 2, 0.5};
  double const scale = 0.75;
  numbers value(4), dx(4), jacobian(16), batch(12), end(4), slope(4);
  double da = 0;
  auto p = g.compile({y, d[0], d[1], j, rows, looped, through});
  p.bind(x, at);
  p.bind(a, scale);
  p.bind(y, value);
  p.bind(d[0], dx);
  p.bind(d[1], da);
  p.bind(j, jacobian);
  p.bind(rows, batch);
  p.bind(looped, end);
  p.bind(through, slope);
  p.run();
  double wanted_da = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    double const v = 1.5 * std::sin(at[k]), dv = 1.5 * std::cos(at[k]);
    CHECK(value[k] == Approx(v));
    CHECK(dx[k] == Approx(2 * v * dv));
    wanted_da += 2 * v * v / scale;
    for (std::size_t i = 0; i < 4; ++i) CHECK(jacobian[4 * i + k] == Approx(i == k ? dv : 0).margin(1e-15));
    CHECK(batch[k] == Approx(v));
    CHECK(batch[4 + k] == Approx(1.5 * std::sin(2 * at[k])));
    CHECK(batch[8 + k] == Approx(1.5 * std::sin(at[k] * at[k])));
    double z = at[k], dz = 1;
    for (int i = 0; i < 3; ++i) {
      dz *= 1.5 * std::cos(z);
      z = 1.5 * std::sin(z);
    }
    CHECK(end[k] == Approx(z));
    CHECK(slope[k] == Approx(dz));
  }
  CHECK(da == Approx(wanted_da));
  CHECK(s->cotangents > 0);
}

TEST_CASE("external functions of one argument, of numbers, of other shapes, and of nothing") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {2, 3});
  float const factor = 3;
  auto const transposed = ct::external(
      {3, 2},
      [factor](std::span<float const> in, std::span<float> out) {
        for (std::size_t r = 0; r < 2; ++r)
          for (std::size_t c = 0; c < 3; ++c) out[2 * c + r] = factor * in[3 * r + c];
      },
      [factor](std::span<float const>, std::span<float const>, std::span<float const> dy, std::span<float> dx) {
        for (std::size_t r = 0; r < 2; ++r)
          for (std::size_t c = 0; c < 3; ++c) dx[3 * r + c] = factor * dy[2 * c + r];
      })(x);
  auto const number = g.input<float>("number");
  auto const cube = ct::external({}, [](auto z, auto y) { y[0] = z[0] * z[0] * z[0]; },
                                 [](auto z, auto, auto dy, auto dz) { dz[0] = 3 * z[0] * z[0] * dy[0]; })(number);
  auto const none = g.input<float>("none", {0});
  auto const empty = ct::external({2}, [](auto, auto y) { y[0] = y[1] = 7; }, [](auto, auto, auto, auto) {})(none);
  auto const d = g.gradient<float>({ct::sum(ct::square(transposed)) + cube + ct::sum(empty)}, {x, number, none});
  std::vector<float> const at{1, 2, 3, 4, 5, 6};
  std::vector<float> turned(6), dx(6), sevens(2), nothing;
  float two = 2, eight = 0, twelve = 0;
  auto p = g.compile({transposed, cube, empty, d[0], d[1], d[2]});
  p.bind(x, at);
  p.bind(number, two);
  p.bind(none, nothing);
  p.bind(transposed, turned);
  p.bind(cube, eight);
  p.bind(empty, sevens);
  p.bind(d[0], dx);
  p.bind(d[1], twelve);
  p.run();
  CHECK(turned == std::vector<float>{3, 12, 6, 15, 9, 18});
  CHECK(eight == 8);
  CHECK(twelve == 12);
  CHECK(sevens == std::vector<float>{7, 7});
  for (std::size_t k = 0; k < 6; ++k) CHECK(dx[k] == 18 * at[k]);
}

TEST_CASE("external functions of run-time graphs refuse forward mode and impossible sizes") {
  auto const s = std::make_shared<simulator>();
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const a = g.input<double>("a");
  auto const nodes = g.get().nodes.size();
  CHECK(refused<ct::error>("external", [&] { (void)ct::jvp([&](auto z) { return waves(4, s)(z, a); })(x, x); }));
  CHECK(refused<ct::error>("external", [&] { (void)ct::grad(ct::grad([&](auto z) { return ct::sum(waves(4, s)(z * a, a)); }))(a); }));
  CHECK(refused<ct::error>("reverse mode only", [&] { (void)ct::jacfwd([&](auto z) { return waves(4, s)(z, a); })(x); }));
  CHECK(refused<ct::error>("dynamic_external.cpp:", [&] { (void)ct::jacfwd(waves(4, s))(x, a); })); // where `external` was called
  CHECK(refused<ct::shape_error>("dynamic_external.cpp:", [&] { (void)waves(-1, s)(x, a); }));
  CHECK(refused<ct::shape_error>("size", [&] { (void)waves(-1, s)(x, a); }));
  CHECK(refused<ct::error>("must be combined with an expression of a graph first", [&] {
    (void)waves(4, s)(ct::dynamic::expr<double>(1.0), ct::dynamic::expr<double>(2.0));
  }));
  CHECK(g.get().nodes.size() == nodes);
}
