// SPDX-License-Identifier: BSL-1.0
// The code of docs/how-to/run-time-graphs.md.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

TEST_CASE("a graph is built, differentiated, compiled and run", "[documented][dynamic]") {
  // [first]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3});
  auto y = ct::sum(ct::exp(x));
  auto dx = g.gradient({y}, {x}).front();

  auto p = g.compile({y, dx});
  std::vector<double> data{0, 1, 2};
  p.bind(x, data); // read where it lies, at every run
  p.run();
  double const value = p.value(y);
  double const slope = p.value(dx)(2);
  // [/first]
  CHECK(value == Approx(1 + std::exp(1) + std::exp(2)));
  CHECK(slope == Approx(std::exp(2)));
}

// [generic]
inline constexpr auto loss = [](auto slope, auto x, auto y) { return ct::mean(ct::square(slope * x - y)); };
// [/generic]

TEST_CASE("one function makes both kinds of program", "[documented][dynamic]") {
  // [both]
  ct::tensor<double, 4> const xs{0, 1, 2, 3}, ys{1, 3, 5, 7};
  double const fixed = ct::compiled(loss)(2.0, xs, ys);

  ct::dynamic::graph g;
  auto slope = g.input<double>("slope");
  auto value = loss(slope, g.constant(xs), g.constant(ys));
  // [/both]
  auto p = g.compile({value});
  p.bind(slope, 2.0);
  p.run();
  CHECK(double(p.value(value)) == fixed);
}

TEST_CASE("windows are read and written", "[documented][dynamic]") {
  // [views]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {4, 2}), w = g.input<double>("w", {4, 1});
  auto joined = g.tensor<double>("joined", {4, 3});
  g.write(g.view(joined, {.shape = {4, 2}}), ct::tanh(x));         // columns 0 and 1
  g.write(g.view(joined, {.offset = {0, 2}, .shape = {4, 1}}), w); // column 2
  auto diagonal = g.view(joined, {.shape = {3}, .stride = {4}});   // of the first three rows
  auto dw = g.gradient({ct::sum(joined * joined)}, {w}).front();
  // [/views]
  auto p = g.compile({joined, diagonal, dw});
  p.bind(x, std::vector<double>(8, .5));
  p.bind(w, std::vector<double>{1, 2, 3, 4});
  p.run();
  CHECK(p.value(joined)(3, 2) == 4);
  CHECK(p.value(diagonal)(2) == 3);
  CHECK(p.value(diagonal)(0) == Approx(std::tanh(.5)));
  CHECK(p.value(dw)(1, 0) == 4);
}

TEST_CASE("the record of a loop stays within a limit", "[documented][dynamic]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {100});
  auto total = ct::sum(ct::for_loop(1000, [](auto, auto h) { return ct::tanh(h) * 1.01; }, x));
  auto whole = g.gradient({total}, {x}).front();
  // [tape_limit]
  auto dx = g.gradient({total}, {x}, {}, {.tape = {.limit = 64 * 1024}}).front();
  // [/tape_limit]
  std::vector<double> const at(100, .7);
  auto p = g.compile({dx}), q = g.compile({whole});
  p.bind(x, at);
  q.bind(x, at);
  p.run();
  q.run();
  CHECK(p.value(dx)(3) == q.value(whole)(3));
  CHECK(p.tape_bytes() <= 64 * 1024);
  CHECK(q.tape_bytes() > 64 * 1024);
}

TEST_CASE("the number of iterations of a loop depends on data", "[documented][dynamic]") {
  // [loops]
  ct::dynamic::graph g;
  auto x = g.input<double>("x"), w = g.input<double>("w");
  auto n = g.input<std::int64_t>("n");
  auto y = ct::while_loop([](auto i, auto s) { return s < 100.0 && i < 50; }, // asked before each iteration
                          [&](auto, auto s) { return s * w; }, x);
  auto [fib, next] = ct::for_loop(n, [](auto, auto a, auto b) { return std::tuple(b, a + b); }, x * 0.0, x);
  auto dw = g.gradient({y}, {w}).front();
  // [/loops]
  auto p = g.compile({y, fib, dw});
  p.bind(x, 1.0);
  p.bind(w, 2.0);
  p.bind(n, 10);
  p.run();
  CHECK(double(p.value(y)) == 128);
  CHECK(double(p.value(fib)) == 55);
  CHECK(double(p.value(dw)) == 7 * 64);
}

TEST_CASE("branches compute one of several", "[documented][dynamic]") {
  // [branches]
  ct::dynamic::graph g;
  auto x = g.input<double>("x");
  auto which = g.input<std::int32_t>("which");
  auto y = ct::case_of(which, [](auto s) { return ct::exp(s); }, [](auto s) { return ct::log(s); })(x);
  auto z = ct::cond(x > 1.0, [](auto s) { return s * s; }, [](auto s) { return s; })(x);
  auto dx = g.gradient({y + z}, {x}).front();
  // [/branches]
  auto p = g.compile({y, z, dx});
  p.bind(x, 2.0);
  for (int k : {-1, 0, 1}) {
    p.bind(which, int(k));
    p.run();
    CHECK(double(p.value(y)) == Approx(k == 0 ? std::exp(2) : k == 1 ? std::log(2) : 2));
    CHECK(double(p.value(dx)) == Approx((k == 0 ? std::exp(2) : k == 1 ? .5 : 1) + 4));
  }
}

TEST_CASE("functions of expressions are transformed, scanned and mapped", "[documented][dynamic]") {
  // [transformations]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3}), w = g.input<double>("w", {3}), rows = g.input<double>("rows", {2, 3});
  auto energy = [&](auto y) { return ct::sum(ct::exp(y) * w); };          // closes over w
  auto [value, dy] = ct::jvp(energy)(x, w);                               // forward mode
  auto hessian = ct::hessian(energy)(x);                                  // 3 x 3
  auto gradients = ct::vmap(ct::grad(energy))(rows);                      // of each row
  auto lengths = ct::map([](auto r) { return ct::sum(r * r); }, rows);    // 2 numbers
  auto [last, sums] = ct::scan([](auto s, auto r) { return std::pair(s + r, ct::sum(s)); }, x, rows);
  auto p = g.compile({dy, hessian, gradients, lengths, last, sums});
  // [/transformations]
  p.bind(x, {0.0, 0.0, 0.0});
  p.bind(w, {1.0, 2.0, 3.0});
  p.bind(rows, std::vector<double>{0, 1, 2, 0, 0, 0});
  p.run();
  CHECK(double(p.value(dy)) == 14);
  CHECK(p.value(hessian)(2, 2) == 3);
  CHECK(p.value(gradients)(0, 1) == Approx(2 * std::exp(1)));
  CHECK(p.value(lengths)(0) == 5);
  CHECK(p.value(last)(2) == 2);
  CHECK(p.value(sums)(1) == 3);
}

} // namespace
