// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

// The bytes of programs that hold all that is not bound: inputs, values on the way, results. (`value_bytes` is just that;
// what steps need while they run, such as the tiles of a fused chain, is not in it.)

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

ct::dynamic::compile_options const own{.exact = false, .own_memory = true};

template <class T> void fill(std::span<T> to, std::initializer_list<double> elements) {
  std::size_t k = 0;
  for (double const e : elements) to[k++] = static_cast<T>(e);
}

/// Of y = step^length(x), or of the cotangent of x for a given one of y. Nothing is bound: x, y, the cotangent that is fed
/// and the one that results are counted.
template <class Step>
std::int64_t arena(int length, bool backward, ct::dynamic::sizes const& shape, Step const& step, bool exact) {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", shape);
  expr<float> y = x;
  for (int k = 0; k < length; ++k) y = step(y);
  ct::dynamic::compile_options const options{.exact = exact, .own_memory = true};
  if (!backward) return g.compile({y}, {}, options).value_bytes();
  auto const dy = g.input<float>("dy", shape);
  return g.compile({g.gradient({y}, {x}, {dy}).front()}, {}, options).value_bytes();
}

TEST_CASE("an input that is also a result is written in the memory that the program reads",
          "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1});
  auto const y = ct::sum(x * x);
  auto p = g.compile({x, y}, {}, own);
  p.memory(x)[0] = 0.5;
  p.run();
  CHECK(p.value(x)(0) == 0.5);
  CHECK(p.value(y) == 0.25);
}

TEST_CASE("chains of operations need the expected arenas", "[dynamic][memory]") {
  auto const exponentials = [](auto y) { return ct::exp(y); };
  auto const doubles = [](auto y) { return 2.0 * y; };
  auto const products = [](auto y) { return ct::matmul(y, y); };
  for (bool const exact : {false, true})
    for (int const n : {1, 2, 10, 20, 33}) {
      CHECK(arena(n, false, {1024}, exponentials, exact) == 4096);
      CHECK(arena(n, true, {1024}, exponentials, exact) <= (n + 1) * 4096);
      CHECK(arena(n, false, {1024}, doubles, exact) == 4096);
      CHECK(arena(n, true, {1024}, doubles, exact) <= 12288);
      CHECK(arena(n, false, {32, 32}, products, exact) == 8192);
      CHECK(arena(n, true, {32, 32}, products, exact) <= (n + 3) * 4096);
    }
}

/// A sequence of `length` dense layers (no bias, tanh) with the mean of squared errors: the bytes of what is not bound, with
/// the gradient of every weight.
std::int64_t dense(int length, int batch, int width) {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {batch, width}), target = g.input<float>("target", {batch, width});
  std::vector<float> rows(static_cast<std::size_t>(batch * width)),
      weight(static_cast<std::size_t>(width * width));
  std::vector<ct::dynamic::binding> binds{{x, rows}, {target, rows}};
  std::vector<ct::dynamic::any_expr> weights, gradients;
  expr<float> h = x;
  for (int k = 0; k < length; ++k) {
    auto const w = g.parameter<float>("w", {width, width});
    weights.push_back(w);
    binds.push_back({w, weight});
    h = ct::tanh(ct::matmul(h, w));
  }
  for (auto const& dw : g.gradient({ct::mean(ct::square(h - target))}, weights)) gradients.push_back(dw);
  return g.compile(gradients, binds, own).value_bytes();
}

TEST_CASE("a deep network without checkpoints needs an activation and a weight a layer, and one more of each",
          "[dynamic][memory]") {
  CHECK(dense(4, 256, 64) <= 409600);
  CHECK(dense(16, 256, 64) <= 1392640);
  CHECK(dense(9, 128, 32) <= 10 * (128 * 32 + 32 * 32) * 4);
}

TEST_CASE("a result overwrites an input that is not bound and is dead", "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const a = g.input<float>("a"), b = g.input<float>("b");
  auto const c = a * b;
  auto p = g.compile({c}, {}, own);
  CHECK(p.value_bytes() == 128);
  for (int times = 0; times < 2; ++times) {
    fill(p.memory(a), {1.2});
    fill(p.memory(b), {2.3});
    p.run();
    CHECK(p.value(c) == Approx(2.76));
    CHECK((p.value(c).data() == p.memory(a).data() || p.value(c).data() == p.memory(b).data()));
    CHECK(p.value(c).data() == p.memory(c).data());
  }
}

TEST_CASE("bound or live values are not overwritten", "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const a = g.input<float>("a", {3}), b = g.input<float>("b", {3});
  auto const c = a * b;
  std::vector<float> va{1, 2, 3}, vb{4, 5, 6};
  auto p = g.compile({c}, {{a, va}, {b, vb}}, own);
  p.run();
  CHECK(p.value(c)(2) == 18);
  CHECK(va == std::vector<float>{1, 2, 3});
  CHECK(vb == std::vector<float>{4, 5, 6});
  CHECK(p.value_bytes() == 64);

  auto q = g.compile({c, ct::sum(a) + ct::exp(c)}, {{b, vb}}, own);
  fill(q.memory(a), {1, 2, 3});
  q.run();
  CHECK(q.value(c)(1) == 10);
  CHECK(q.memory(c).data() != q.memory(a).data());

  auto const both = g.compile({a, b, c}, {}, own); // results that are inputs stay apart from them
  CHECK(both.value_bytes() >= 3 * 64);
}

TEST_CASE("memory bound after compiling is copied from and to the program's own memory",
          "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const y = ct::exp(x) * 2.0;
  auto p = g.compile({y}, {}, own);
  std::vector<double> in{0, 1, 2, 3}, out(4);
  p.bind(x, in);
  p.bind(y, out);
  for (double const first : {0., 5.}) {
    in[0] = first;
    p.run();
    CHECK(out[0] == Approx(2 * std::exp(first)));
    CHECK(out[3] == Approx(2 * std::exp(3.)));
    CHECK(in[0] == first);
  }
  p.bind(y, in); // a result over an input
  p.run();
  CHECK(in[1] == Approx(2 * std::exp(1.)));
}

TEST_CASE("a copy of a program has its own memory", "[dynamic][memory]") {
  for (bool const owns : {false, true}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {4});
    auto const y = ct::exp(x) * 2.0;
    auto p = g.compile({y}, {}, {.exact = false, .own_memory = owns});
    std::vector<double> const in{0, 1, 2, 3}, other{1, 1, 1, 1};
    p.bind(x, in);
    p.run();
    auto q = p;
    q.bind(x, other);
    q.run();
    CHECK(q.value(y).data() != p.value(y).data());
    CHECK(p.value(y)(0) == 2);
    CHECK(q.value(y)(0) == Approx(2 * std::exp(1.)));
  }
}

TEST_CASE("a step reuses the memory of its last read, and unused symbols get no memory",
          "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const a = g.input<float>("a", {8, 16}), w = g.input<float>("w", {16, 32});
  auto const unused = ct::exp(g.input<float>("unused", {1000}));
  auto const b = ct::matmul(a, w), m = ct::softmax(b, 1);
  std::vector<float> weights(16 * 32, .1f), nothing(1000);
  auto p = g.compile({m}, {{w, weights}}, own);
  // a, which is dead when the sums of rows come; b, m; the input that is declared but not read
  CHECK(p.value_bytes() <= 8 * 16 * 4 + 8 * 32 * 4 + 4032);
  CHECK_THROWS_AS(p.memory(b), ct::graph_error);
  CHECK_THROWS_AS(p.memory(unused), ct::graph_error);
  CHECK_THROWS_AS(p.memory(w), ct::graph_error);
  for (float& e : p.memory(a)) e = 1;
  p.run();
  CHECK(p.value(m)(7, 31) == Approx(1. / 32));
}

TEST_CASE("nothing is allocated for bound values", "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const a = g.input<float>("a", {1, 2}), b = g.input<float>("b", {2, 1}),
             d = g.input<float>("d", {1, 1});
  auto const c = ct::matmul(a, b) + 1.1f, e = ct::matmul(c, d);
  std::vector<float> va{11003, 1}, vd{-.5f}, ve(1);
  auto p = g.compile({}, {{a, va}, {d, vd}, {e, ve}}, own);
  CHECK(p.value_bytes() == 128);
  fill(p.memory(b), {.12, 0});
  p.run();
  CHECK(ve[0] == Approx(-660.73));
}

TEST_CASE("unassigned elements are cleared in every run, after earlier users of their memory",
          "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {32, 32});
  auto const before = ct::matmul(ct::matmul(x, x), x); // needs memory that z can have afterwards
  auto const z = g.tensor<float>("z", {32, 32});
  g.write(g.view(z, {.offset = {4, 0}, .shape = {8, 32}, .stride = {}}),
          ct::matmul(before, x)(ct::dynamic::between(0, 8)));
  auto const y = ct::matmul(z, x);
  auto p = g.compile({ct::sum(before), y}, {}, own);
  CHECK(p.value_bytes() <= 4 * 4096 + 64);
  for (float const e : {1.f, 2.f}) {
    for (float& to : p.memory(x)) to = e;
    p.run();
    CHECK(p.value(y)(0, 0) == 0);
    CHECK(p.value(y)(31, 31) == 0);
    CHECK(p.value(y)(4, 5) == Approx(std::pow(32., 4) * std::pow(e, 5.)));
  }
}

TEST_CASE("branches share their memory", "[dynamic][memory]") {
  auto const bytes = [](auto const&... branch) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {64, 64});
    auto const index = g.input<std::int32_t>("index");
    return g.compile({ct::case_of(index, branch...)(x)}).workspace_bytes();
  };
  auto const one = [](auto s) { return ct::matmul(ct::matmul(s, s), ct::matmul(s, ct::transpose(s))); };
  auto const other = [](auto s) { return ct::matmul(ct::matmul(s, ct::transpose(s)), ct::matmul(s, s) + s); };
  CHECK(bytes(one, other) == bytes(one));
  CHECK(bytes(one, other, one) == bytes(one));
}

/// The gradient of `steps` of y = sin(y) x, which keeps a value of each step; in checkpoints of `together` steps where that
/// is not 0.
struct waves {
  ct::dynamic::graph g;
  expr<double> x, dx;

  waves(std::int64_t elements, int steps, int together = 0) : x(g.input<double>("x", {elements})) {
    auto const several = [&](expr<double> y, int count) {
      for (int k = 0; k < count; ++k) y = ct::sin(y) * x;
      return y;
    };
    expr<double> y = x;
    if (together == 0) y = several(y, steps);
    else
      for (int k = 0; k < steps; k += together) y = ct::checkpoint([&](auto z) { return several(z, together); })(y);
    dx = g.gradient({ct::sum(y)}, {x}).front();
  }
  std::int64_t bytes() { return g.compile({dx}).workspace_bytes(); }
  std::vector<double> run(ct::dynamic::program p) {
    std::vector<double> in(512), out(512);
    for (std::size_t k = 0; k < in.size(); ++k) in[k] = static_cast<double>(k) / 256 - 1;
    p.bind(x, in);
    p.bind(dx, out);
    p.run();
    return out;
  }
};

TEST_CASE("the tiles of a long fused chain stay small at every size, with or without checkpoints", "[dynamic][memory]") {
  for (std::int64_t const elements : {512, 2'000, 65'536}) {
    INFO(elements);
    CHECK(waves(elements, 400).bytes() <= 512 * 1024);
    CHECK(waves(elements, 400, 20).bytes() <= 512 * 1024);
  }
}

TEST_CASE("a budget shortens tiles before anything is rematerialized, with equal bits",
          "[dynamic][memory][memory_budget]") {
  for (int const steps : {16, 100}) {
    INFO(steps);
    waves w(512, steps);
    std::int64_t const budget = steps == 16 ? 64 * 1024 : waves(512, steps, 10).bytes(); // 100: what checkpoints keep to
    auto const p = w.g.compile({w.dx}, {}, {.memory_budget = budget});
    CHECK(p.workspace_bytes() <= budget);
    CHECK(p.predicted().again == 0);
    CHECK(w.run(p) == w.run(w.g.compile({w.dx})));
  }
}

} // namespace
