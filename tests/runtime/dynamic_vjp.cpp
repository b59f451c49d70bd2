// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/dynamic/graph/graph_access.hpp>
#include <cotangent/random.hpp>

#include "../allocations.hpp"
#include "../random_nest.hpp"
#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

// Graphs that are split into a program and a pullback.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;
using ct::dynamic::graph;

std::vector<double> waves(int n, double from, double step = .7) {
  std::vector<double> v;
  for (int k = 0; k < n; ++k) v.push_back(std::sin(from + step * k));
  return v;
}
bool same(ct::dynamic::values<double> const& a, ct::dynamic::values<double> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * 8) == 0;
}

/// How many loops a program has, in bodies and branches too: forward, and in reverse.
int loops(ct::dynamic::program const& p, bool reverse) {
  int count = 0;
  for (auto const& code : ct::dynamic::detail::program_access::code(p).code.codes())
    for (auto const& loop : code.program.loops) count += loop.reverse == reverse;
  return count;
}

/// Splits a graph of doubles, and compares with the program of outputs and gradients together, bit by bit, for several
/// cotangents. Returns the bytes that were saved.
std::int64_t check_vjp(graph& g, std::vector<any_expr> const& y, std::vector<any_expr> const& x,
                         ct::dynamic::vjp_options const& options = {}, bool loops_again = false) {
  auto s = g.vjp(y, x, options);
  std::vector<any_expr> seeds, all = y;
  std::vector<std::vector<double>> memory;
  for (any_expr const& e : y)
    seeds.push_back(g.input<double>("", ct::dynamic::sizes(e.as<double>().shape())));
  for (any_expr const& d : g.gradient(y, x, seeds)) all.push_back(d);
  auto p = g.compile(all);
  memory.reserve(64);
  for (any_expr const& e : x) {
    memory.push_back(
        waves(static_cast<int>(e.as<double>().size()), 1.0 + static_cast<double>(memory.size())));
    s.bind(e.as<double>(), memory.back());
    p.bind(e.as<double>(), memory.back());
  }
  auto back = s.run();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<double>> dy;
    for (std::size_t k = 0; k < y.size(); ++k)
      dy.push_back(waves(static_cast<int>(y[k].as<double>().size()), round + .3, .4));
    for (std::size_t k = 0; k < y.size(); ++k) {
      back.bind(y[k].as<double>(), dy[k]);
      p.bind(seeds[k].as<double>(), dy[k]);
    }
    p.run();
    long const before = allocations;
    back.run();
    if (round > 0) CHECK(allocations == before);
    for (std::size_t k = 0; k < y.size(); ++k)
      CHECK(same(s.value(y[k].as<double>()), p.value(y[k].as<double>())));
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK(same(back.value(x[k].as<double>()), p.value(all[y.size() + k].as<double>())));
  }
  CHECK(back.bytes() >= s.saved_bytes()); // more where nobody knows how often a loop runs
  bool records = false;
  for (auto const& v : s.saved()) records = records || v.depth > 0;
  CHECK((records || back.bytes() == s.saved_bytes()));
  for (bool const reverse : {false, true})
    if (!loops_again) CHECK(loops(s.forward(), reverse) + loops(s.backward(), reverse) <= loops(p, reverse));
  return back.bytes();
}

} // namespace

TEST_CASE("a network of relus saves the operands of products, and bits for all else", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {20, 12}), w = g.input<double>("w", {12, 9}),
             v = g.input<double>("v", {9, 4});
  auto const h = ct::relu(ct::matmul(x, w));
  CHECK(check_vjp(g, {ct::tanh(ct::matmul(h, v))}, {w, x, v}) ==
        8 * (20 * 12 + 12 * 9 + 9 * 4 + 20 * 9 + 20 * 4)); // inputs, relu, tanh
  CHECK(check_vjp(g, {h + 1.0}, {x, w}) == 8 * (20 * 12 + 12 * 9) + 20 * 9 / 8 + 1);
  auto const y = ct::sum(ct::relu(x * 2.0));
  CHECK(check_vjp(g, {y}, {x}) == 30);
}

TEST_CASE("a gradient lists the inputs, outputs and cotangents that it needs", "[dynamic]") {
  ct::dynamic::vjp_options as_read;
  as_read.saving = {false, false};
  for (int n : {42, 5}) {
    graph g;
    auto const a = g.input<double>("a", {n}), b = g.input<double>("b", {n}),
               wide = g.input<double>("wide", {5, n});
    auto const product = a * b, rectified = ct::relu(a), sum = a + wide;
    auto const of_product = g.vjp({product}, {a, b}, as_read);
    CHECK((of_product.needs_input(a) && of_product.needs_input(b) && !of_product.needs_output(product) &&
           of_product.needs_cotangent(product)));
    auto const of_relu = g.vjp({rectified}, {a}, as_read);
    CHECK((!of_relu.needs_input(a) && of_relu.needs_output(rectified) && of_relu.needs_cotangent(rectified)));
    auto const of_sum = g.vjp({sum}, {a, wide});
    CHECK((!of_sum.needs_input(a) && !of_sum.needs_input(wide) && !of_sum.needs_output(sum) &&
           of_sum.needs_cotangent(sum) && of_sum.saved().empty()));
    CHECK(check_vjp(g, {sum}, {a, wide}) == 0);
    auto const only_a = g.vjp({product}, {a}, as_read); // one factor is enough
    CHECK((!only_a.needs_input(a) && only_a.needs_input(b)));
    REQUIRE(only_a.saved().size() == 1);
    CHECK((only_a.saved()[0].name == "b" && only_a.saved()[0].bytes == 8 * n && only_a.saved()[0].is_input));
  }
}

TEST_CASE("absent cotangents of several outputs count as zeros, and scalars default to 1", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {3});
  auto const y = ct::sum(x * x), z = ct::sum(ct::exp(x));
  auto const at = ct::convert<std::int32_t>(x);
  std::vector<double> const data{1, 2, 3};
  auto s = g.vjp({y, z, at}, {x});
  s.bind(x, data);
  {
    auto back = s.run();
    back.run();
    CHECK(back.value(x)[1] == Approx(4 + std::exp(2.0)));
    back.bind(z, 2.0);
    back.run();
    CHECK(back.value(x)[1] == Approx(2 * std::exp(2.0)));
    back.bind(y, 10.0);
    back.run();
    CHECK(back.value(x)[2] == Approx(60 + 2 * std::exp(3.0)));
    CHECK_THROWS_AS(back.bind(at, std::vector<std::int32_t>(3)), ct::graph_error);
  }
  auto tensors = g.vjp({x * 2.0}, {x});
  tensors.bind(x, data);
  auto back = tensors.run();
  CHECK_THROWS_AS(back.run(), ct::shape_error);
  CHECK_THROWS_AS(g.vjp({y}, {at}), ct::graph_error);
  auto const stranger = g.input<double>("stranger", {2}); // nothing depends on it
  auto none = g.vjp({y}, {stranger, x});
  none.bind(x, data);
  auto zeros = none.run();
  zeros.run();
  CHECK((zeros.value(stranger)[0] == 0 && zeros.value(stranger)[1] == 0 && zeros.value(x)[0] == 2));
}

TEST_CASE("a pullback owns its values, independent of later runs and of the program's lifetime",
          "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {4});
  auto const y = ct::sum(ct::exp(x) * ct::sin(x));
  std::vector<ct::dynamic::pullback> backs;
  {
    auto s = g.vjp({y}, {x});
    for (int k = 0; k < 3; ++k) {
      s.bind(x, waves(4, k));
      backs.push_back(s.run());
    }
  }
  auto const copy = backs;
  for (auto* list : {&backs, const_cast<std::vector<ct::dynamic::pullback>*>(&copy)})
    for (int k = 0; k < 3; ++k) {
      (*list)[static_cast<std::size_t>(k)].run();
      std::vector<double> const at = waves(4, k);
      for (int i = 0; i < 4; ++i) {
        double const v = at[static_cast<std::size_t>(i)];
        CHECK((*list)[static_cast<std::size_t>(k)].value(x)[i] ==
              Approx(std::exp(v) * (std::sin(v) + std::cos(v))));
      }
    }
}

TEST_CASE("loops, branches, views, dropout and constants are split without changed values", "[dynamic]") {
  {
    graph g;
    auto const x = g.input<double>("x", {6}), y = g.input<double>("y", {6});
    auto const z = ct::for_loop(5, [&](auto, auto s) { return ct::tanh(s * y) + x; }, x);
    CHECK(check_vjp(g, {ct::sum(z * z)}, {x, y}, {.saving = {.records = false}}, true) <= 3 * 48);
    auto const b = ct::case_of(
        ct::convert<std::int32_t>(ct::sum(x) > 0.0), [](auto v) { return ct::sin(v); },
        [](auto v) { return v * v; })(y);
    CHECK(check_vjp(g, {b}, {x, y}) <= 2 * 48 + 8);
  }
  {
    graph g;
    auto const x = g.input<double>("x", {8});
    auto const t = g.tensor<double>("t", {8});
    auto const low = g.view(x, {.offset = {0}, .shape = {4}}),
               high = g.view(x, {.offset = {4}, .shape = {4}});
    g.write(g.view(t, {.offset = {0}, .shape = {4}}), low * high);
    g.write(g.view(t, {.offset = {4}, .shape = {4}}), ct::sin(low));
    CHECK(check_vjp(g, {t}, {x}) == 64);
  }
  {
    graph g;
    auto const x = g.input<double>("x", {7, 5});
    auto const noise = g.constant(waves(35, 2), {7, 5});
    CHECK(check_vjp(g, {ct::dropout(x, .25, g.constant(std::int64_t{5})) * noise}, {x}) == 0);
    auto const key = g.input<std::int64_t>("key");
    CHECK(g.vjp({ct::dropout(x, .25, key)}, {x}).saved_bytes() == 5); // 35 bits
    auto const wide = g.input<double>("wide", {40, 5});
    CHECK(g.vjp({ct::dropout(wide, .25, key)}, {wide}).saved_bytes() == 8); // the key
  }
}

TEST_CASE("records of loops are saved with the run, so that no loop runs forward again", "[dynamic]") {
  graph g;
  for (int const trips : {5, 0, 1}) {
    auto const x = g.input<double>("x", {6}), y = g.input<double>("y", {6});
    auto const z = ct::for_loop(trips, [&](auto, auto s) { return ct::tanh(s * y) + x; }, x);
    std::int64_t const entries = 64 * trips; // 48 bytes lie in a line of 64
    // y, the last value of the loop; s and tanh(s y), and where these stand
    CHECK(check_vjp(g, {ct::sum(z * z)}, {x, y}) == (trips == 0 ? 48 : 2 * 48 + 2 * (8 + 384 + entries)));
    auto const s = g.vjp({ct::sum(z * z)}, {x, y});
    CHECK(loops(s.backward(), false) == 0);
    int records = 0;
    for (auto const& v : s.saved())
      if (v.depth == 1) {
        ++records;
        CHECK((v.bytes == 8 + 384 + entries && v.shape.size().number == 6 && v.type == ct::element::float64));
        CHECK((!v.moved && !v.is_input && !v.is_output && v.bits == 64));
      }
    CHECK(records == (trips == 0 ? 0 : 2));
  }
  for (double const limit : {9.0, 0.0}) { // no limit that is known, nested loops, branches with loops
    auto const x = g.input<double>("x", {6}), y = g.input<double>("y", {6});
    auto const goes_on = [&](auto i, auto s) { return ct::convert<double>(i) + 0.0 * ct::sum(s) < limit; };
    auto const z = ct::while_loop(
        goes_on,
        [&](auto, auto s) {
          return ct::cond(
              ct::sum(s) > 0.0,
              [&](auto t) {
                return ct::for_loop(3, [&](auto, auto u) { return ct::sin(u * y) + 0.5 * u; }, t);
              },
              [&](auto t) { return ct::exp(0.1 * t) * y; })(s);
        },
        x);
    auto const nested = ct::for_loop(
        4, [&](auto, auto s) { return ct::for_loop(3, [&](auto, auto t) { return ct::tanh(t + y); }, s); },
        x);
    std::int64_t const kept = check_vjp(g, {z, nested}, {x, y});
    CHECK(kept > (limit > 0 ? 9 * 64 : 0) + 4 * (384 + 3 * 64));
    CHECK(check_vjp(g, {nested}, {x, y}) == 8 + 384 + 64 + 4 * (384 + 3 * 64));
    std::int64_t const again = check_vjp(g, {z, nested}, {x, y}, {.saving = {.records = false}}, true);
    CHECK(again <= 4 * 48);
  }
  auto const x = g.input<double>("x", {6}), y = g.input<double>("y", {6});
  auto const z = ct::for_loop(100, [&](auto, auto s) { return ct::tanh(s * y) + x; }, x);
  ct::dynamic::vjp_options limited;
  limited.gradient.tape.limit = 3000; // then parts of the loop run again, from what is recorded between them
  CHECK(check_vjp(g, {z}, {x, y}) > 100 * 64);
  CHECK(check_vjp(g, {z}, {x, y}, limited, true) <= 3000 + 3 * 48);
  auto const block = [](auto a, auto b) {
    return ct::for_loop(100, [&](auto, auto s) { return ct::tanh(s * b) + a; }, a);
  };
  CHECK(check_vjp(g, {ct::checkpoint(block)(ct::checkpoint(block)(x, y), y)}, {x, y}, {}, true) == 3 * 48);
}

TEST_CASE("each pullback owns its records, across later runs, copies and second gradients", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {6}), y = g.input<double>("y", {6});
  auto const goes_on = [&](auto i, auto s) { return ct::convert<double>(i) < 4.0 + 4.0 * ct::sum(s * s); };
  auto const z = ct::while_loop(goes_on, [&](auto, auto s) { return ct::tanh(s * y) + 0.1 * s; }, x);
  std::vector<double> at = waves(6, .3), dy = waves(6, 1);
  std::vector<double> const by = waves(6, 2);
  std::vector<ct::dynamic::pullback> lasting, fresh;
  {
    auto s = g.vjp({z}, {x, y}), once = g.vjp({z}, {x, y}, {.saving = {.records = false}});
    for (int run = 0; run < 4; ++run) {
      for (double& v : at) v += .2 * (1 - run % 2 * 3); // more and fewer iterations
      for (auto* split : {&s, &once}) {
        split->bind(x, at);
        split->bind(y, by);
      }
      lasting.push_back(s.run());
      fresh.push_back(once.run());
    }
  }
  auto const copies = lasting;
  auto again = copies;
  for (std::size_t run : {2u, 0u, 3u, 1u}) {
    for (auto* list : {&lasting, &fresh, &again}) {
      (*list)[run].bind(z, dy);
      (*list)[run].run();
    }
    for (auto* list : {&lasting, &again}) {
      CHECK(same((*list)[run].value(x), fresh[run].value(x)));
      CHECK(same((*list)[run].value(y), fresh[run].value(y)));
    }
  }
  // the first gradient is part of the function: what only it reads of the tape is not kept
  auto const w = ct::for_loop(5, [&](auto, auto s) { return ct::sin(s * y) + x; }, x);
  auto const dx = g.gradient({ct::sum(w * w)}, {x})[0];
  CHECK(check_vjp(g, {dx}, {x, y}) > 5 * 48);
  auto const first = g.vjp({w, g.gradient({ct::sum(ct::exp(w))}, {x})[0] * 0.0 + y}, {y});
  auto second = first;
  second.bind(x, at);
  second.bind(y, by);
  CHECK(second.run().bytes() == second.saved_bytes());
}

TEST_CASE("gradients with respect to intermediate values, and to overwritten ones", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {3});
  auto y = x * x;
  auto const before = y;
  y *= y;
  auto s = g.vjp({ct::sum(y)}, {before, x});
  s.bind(x, {1.0, 2.0, -3.0});
  auto back = s.run();
  back.run();
  CHECK((back.value(before)[1] == 8 && back.value(before)[2] == 18)); // 2 y
  CHECK((back.value(x)[1] == 32 && back.value(x)[2] == -108));        // 4 x^3
  CHECK(s.saved_bytes() == 24);                                       // x
}

TEST_CASE("values marked for recomputation are not saved", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {16, 8}), w = g.input<double>("w", {8, 8});
  auto const deep = [](auto z, auto v) {
    for (int k = 0; k < 6; ++k) z = ct::tanh(ct::matmul(z, v));
    return z;
  };
  std::int64_t const plain = check_vjp(g, {deep(x, w)}, {x, w});
  CHECK(plain == 8 * (16 * 8 + 8 * 8 + 6 * 16 * 8));
  graph h;
  auto const y = h.input<double>("y", {16, 8}), v = h.input<double>("v", {8, 8});
  CHECK(check_vjp(h, {ct::checkpoint(deep)(y, v)}, {y, v}) == 8 * (16 * 8 + 8 * 8 + 16 * 8));
}

TEST_CASE("a pullback neither computes nor saves values that its copies of blocks only wait for",
          "[dynamic]") {
  auto const block = [](auto p) {
    return ct::checkpoint([](auto q) { return ct::for_loop(1, [](auto, auto a) { return ct::tanh(a); }, q); })(p);
  };
  auto const crossed = [](int trips, auto s, auto q) {
    return std::get<0>(ct::for_loop(trips, [](auto, auto a, auto b) { return std::tuple(b, a); }, s, q));
  };
  graph g;
  auto const x = g.input<double>("x", {4});
  auto const cubes = ct::sum(x * x * x);
  for (int const trips : {0, 1, 2}) check_vjp(g, {crossed(trips, cubes, block(x(2)))}, {x}, {}, true);
  auto s = g.vjp({crossed(0, cubes, block(x(2)))}, {x});
  s.bind(x, {1.0, 10.0, 100.0, 1000.0});
  auto back = s.run();
  back.run();
  for (int k = 0; k < 4; ++k) CHECK(back.value(x)[k] == Approx(3 * std::pow(100.0, k)));
  auto const y = g.input<double>("y", {5, 5}); // its products are computed last: the block waits for them
  auto const h = ct::matmul(y, y);
  auto const last = crossed(0, h, block(ct::sin(h)));
  auto const products = ct::matmul(h, h);
  check_vjp(g, {last, products}, {y}, {}, true);
  CHECK(g.vjp({last, products}, {y}).saved_bytes() == 2 * 25 * 8); // y and h
}

TEST_CASE("masks of branches that did not run are saved as they are", "[dynamic]") {
  for (int const n : {3, 8, 21}) {
    graph g;
    auto const x = g.input<double>("x", {n}), y = g.input<double>("y", {n});
    for (double const level : {-1e9, 1e9}) {
      auto const b = ct::cond(
          ct::sum(x) > level,
          [](auto v, auto w) { return ct::select(v > w, ct::relu(v), v * w); },
          [](auto v, auto w) { return ct::max(ct::relu(w), 0.5 * v) * ct::abs(w); })(x, y);
      check_vjp(g, {b}, {x, y});
      check_vjp(g, {ct::for_loop(2, [&](auto, auto v) { return ct::relu(v) * b; }, x)}, {x, y});
    }
  }
}

TEST_CASE("sums over slices and transposed values have the order of the unsplit program", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {7, 9}), w = g.input<double>("w", {9, 7});
  auto const t = ct::transpose(ct::tanh(x));
  auto const part = x(ct::all, ct::range<1, 4>);
  auto const rows = ct::sum(t, ct::axes<1>), all = ct::exp(ct::sum(part) * 0.1);
  auto const y = ct::matmul(w * all, ct::broadcast_to(ct::reshape(rows, {1, 9}), {7, 9}));
  for (bool const recompute : {true, false})
    for (bool const move : {true, false})
      check_vjp(g, {ct::sin(y) * ct::sum(ct::transpose(y)), ct::sin(part) * ct::sum(ct::transpose(part))},
                  {x, w}, {.saving = {.move = move, .recompute = recompute}});
}

TEST_CASE("random nests of loops, branches and blocks are split with equal bits", "[dynamic]") {
  using ct::dynamic::detail::graph_access;
  for (int seed = 0; seed < 48; ++seed) {
    CAPTURE(seed);
    int const elements = 1 + seed / 3 % 2;
    std::vector<double> const at = waves(reference::nest_slots * elements, seed);
    reference::nest<reference::nest_in_graph> drawn(
        static_cast<std::uint64_t>(seed) + 5000, 1 + seed % 3, elements, ct::element::float64, at.data(), 0, {},
        reference::few_codes, seed % 2 == 0 ? static_cast<std::uint64_t>(seed) + 77 : 0);
    graph g;
    auto& state = graph_access::state(g);
    state.b = static_cast<ct::extend::builder&&>(drawn.b);
    std::vector<any_expr> x;
    for (ct::extend::symbol const t : drawn.x) {
      state.inputs.push_back(t);
      x.push_back(graph_access::expression(g, t));
    }
    any_expr const y = graph_access::expression(g, ct::extend::graph_view(state.b.get()).output(0));
    check_vjp(g, {y}, x, {}, true);
    check_vjp(g, {y}, x, {.saving = {.records = false}}, true);
  }
}

TEMPLATE_TEST_CASE("numbers of every floating type have the cotangent 1", "[dynamic]", ct::float16, ct::bfloat16, float, double) {
  graph g;
  auto const x = g.input<TestType>("x", {3});
  auto const sum = ct::sum(ct::square(ct::convert<float>(x)));
  auto const y = ct::convert<TestType>(sum);
  auto s = g.vjp({y, sum}, {x});
  s.bind(x, std::vector<TestType>{TestType(1.f), TestType(2.f), TestType(3.f)});
  auto back = s.run();
  back.run();
  CHECK(static_cast<float>(back.value(x)(2)) == 12);
}

TEST_CASE("an output that is listed twice counts twice", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x");
  auto const y = x * x;
  auto s = g.vjp({y, ct::sin(x), y}, {x});
  s.bind(x, 3.0);
  auto back = s.run();
  back.run();
  CHECK(double(back.value(x)) == 12 + std::cos(3.0));
  any_expr const any_x = x, any_y = y;
  back.bind(any_y, 1.0);
  back.run();
  CHECK(double(back.value(x)) == 6);
  s.bind(any_x, std::vector<double>{4});
  auto other = s.run();
  other.bind(any_y, 1.0);
  other.run();
  CHECK(double(other.value(x)) == 8);
  std::vector<double> const five{5};
  auto p = g.compile({y}, {{any_x, five}});
  p.run();
  CHECK(double(p.value(y)) == 25);
}

TEST_CASE("a copy of the forward program has memory of its own for saved values", "[dynamic]") {
  graph g;
  auto const x = g.input<double>("x", {3});
  auto s = g.vjp({ct::sum(ct::sin(x) * ct::exp(x))}, {x});
  s.bind(x, std::vector<double>{1, 2, 3});
  auto back = s.run();
  back.run();
  double const before = back.value(x)(0);
  auto forward = s.forward();
  forward.bind(x, std::vector<double>{4, 5, 6});
  forward.run();
  back.run();
  CHECK(back.value(x)(0) == before);
  auto again = s.run(); // after a run of the copy
  again.run();
  CHECK(again.value(x)(0) == before);
}

TEST_CASE("symbolic graphs are split", "[dynamic]") {
  using ct::dynamic::command;
  graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({3}, "x"), u = s.tensor<double>({3}, "u"), z = s.tensor<double>({3}, "z");
  s.exec(command::of<ct::op::multiply>(), {u, x}, {z}, "product"); // in any order
  s.exec(command::of<ct::op::exp>(), {x}, {u}, "exp");
  auto const of = g.expression<double>(x), to = g.expression<double>(z);
  auto split = g.vjp({to}, {of});
  split.bind(of, {0.5, 1.0, -2.0});
  auto back = split.run();
  CHECK(split.value(to)[1] == Approx(std::exp(1.0)));
  back.bind(to, {1.0, 2.0, 3.0});
  back.run();
  CHECK(back.value(of)[0] == Approx(std::exp(.5) * 1.5));
  CHECK(back.value(of)[2] == Approx(3 * std::exp(-2.0) * -1.0).margin(1e-12));
  CHECK(split.saved_bytes() == 24);
}

TEST_CASE("documented: a split graph", "[dynamic]") {
  std::vector<double> const data{1, -2, 3}, dy{1, 1, 10};
  // [vjp]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3});
  auto y = ct::relu(2.0 * x);

  auto s = g.vjp({y}, {x});
  s.bind(x, data);
  auto back = s.run(); // owns three bits
  double const last = s.value(y)(2);

  back.bind(y, dy);
  back.run();
  double const slope = back.value(x)(2);
  // [/vjp]
  CHECK((last == 6 && slope == 20 && back.value(x)(1) == 0 && back.bytes() == 1));
}
