// SPDX-License-Identifier: BSL-1.0
// Gradients of tensors that loops read by index: rows are added where the sum is.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include "../control_cases.hpp"

#include <cotangent/transform/pipeline.hpp>

#include <cstdint>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

std::vector<double> numbers(int n) {
  std::vector<double> v;
  for (int k = 0; k < n; ++k) v.push_back(.25 * ((k * 7 + 3) % 11) - 1);
  return v;
}

TEST_CASE("the reverse loop of an indexed sum holds one accumulation, and no pass over the whole tensor", "[rows]") {
  control_cases::scalars s;
  ct::extend::symbol const x = s.b.symbol_of(ct::element::float64, s.b.shape(ct::extend::dimensions{1, {100}})), start = s.number(0).id;
  s.inputs.push(x);
  ct::detail::loop_builder loop(s.b, {.inits = &start, .carried = 1, .limit = s.index(100).id});
  ct::extend::symbol const* in = loop.open_body();
  ct::term const at = s.of(in[0]), sum = s.of(in[1]), row = ct::extend::gather(s.of(loop.capture(x)), at);
  ct::extend::symbol const next = (sum + row * row).id;
  loop.close_body(&next, 1);
  (void)loop.finish();
  s.gradient_of(loop.last(0), {x});
  REQUIRE(s.finish());
  for (bool const accumulates : {false, true}) {
    ct::graph const simple = ct::detail::simplify(s.b.get(), {.update_rows = accumulates});
    ct::extend::graph_view const g = simple;
    CHECK(ct::verify(g));
    std::int32_t const body = ct::detail::loop_layout::of(g, *control_cases::find(g, "loop", 1)).body;
    CHECK(control_cases::count_nodes(g, "update_rows", body) == (accumulates ? 1 : 0));
    CHECK(control_cases::count_nodes(g, "scatter_add", body) == (accumulates ? 0 : 1));
    CHECK(control_cases::count_nodes(g, "add", body) == (accumulates ? 0 : 1));
    std::vector<double> const given = numbers(100);
    std::vector<double> dx(100);
    double const* const inputs[]{given.data()};
    double* const outputs[]{dx.data()};
    REQUIRE(ct::detail::evaluate(g, inputs, outputs).ok());
    for (std::size_t k = 0; k < dx.size(); ++k) CHECK(dx[k] == 2 * given[k]);
  }
}

TEST_CASE("gradients of indexed reads in loops: several indices, rows, repeated rows, second derivatives", "[rows]") {
  int const n = 12;
  std::vector<double> const given = numbers(n);
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {n});
  for (ct::detail::tape_options const& tape : {ct::detail::tape_options{}, ct::detail::tape_options{.limit = 4096}}) {
    // x(0) x(1) x(2) + x(1) x(2) x(3) + ...
    auto const y = ct::for_loop(
        n - 2,
        [&](auto i, auto s) { return s + ct::gather(x, i) * ct::gather(x, i + 1) * ct::gather(x, i + 2); }, g.constant(0.0));
    auto const dx = g.gradient({y}, {x}, {}, {.tape = tape}).front();
    auto const second = g.gradient({ct::sum(dx * dx)}, {x}, {}, {.tape = tape}).front();
    auto p = g.compile({dx, second});
    p.bind(x, given);
    for (int run = 0; run < 2; ++run) {
      p.run();
      auto const first = p.value(dx), twice = p.value(second);
      auto const at = [&](int k) { return k < 0 || k >= n ? 0. : given[static_cast<std::size_t>(k)]; };
      auto const slope = [&](int k) { return at(k - 1) * at(k - 2) + at(k - 1) * at(k + 1) + at(k + 1) * at(k + 2); };
      for (int k = 0; k < n; ++k) {
        CHECK(first[k] == Approx(slope(k)).margin(1e-12));
        double expected = 0;
        for (int j = 0; j < n; ++j) { // d slope(j) / d x(k)
          double d = 0;
          if (k == j - 2) d = at(j - 1);
          if (k == j - 1) d = at(j - 2) + at(j + 1);
          if (k == j + 1) d = at(j - 1) + at(j + 2);
          if (k == j + 2) d = at(j + 1);
          expected += 2 * slope(j) * d;
        }
        CHECK(twice[k] == Approx(expected).margin(1e-12));
      }
    }
  }
}

TEST_CASE("rows of a table that a loop selects, several at a time and some twice", "[rows]") {
  ct::dynamic::graph g;
  auto const table = g.input<double>("table", {5, 3});
  auto const which = g.input<std::int64_t>("which", {4, 3});
  auto const weights = g.input<double>("weights", {3, 3});
  auto const y = ct::for_loop(
      4, [&](auto i, auto s) { return s + ct::sum(ct::gather(table, ct::gather(which, i)) * weights); }, g.constant(0.0));
  auto const d = g.gradient({y}, {table}).front();
  auto p = g.compile({y, d});
  std::vector<double> const t = numbers(15), w = numbers(9);
  std::vector<std::int64_t> const chosen{0, 4, 4, 2, 2, 2, 1, 0, 4, 3, 1, 1};
  p.bind(table, t);
  p.bind(which, chosen);
  p.bind(weights, w);
  std::vector<double> expected(15);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    for (std::size_t j = 0; j < 3; ++j) expected[static_cast<std::size_t>(chosen[k]) * 3 + j] += w[k % 3 * 3 + j];
  for (int run = 0; run < 2; ++run) {
    p.run();
    for (int k = 0; k < 15; ++k) CHECK(p.value(d)[k] == Approx(expected[static_cast<std::size_t>(k)]).margin(1e-12));
  }
}

TEST_CASE("sums of rows outside of loops leave arguments and other readers alone", "[rows]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {6});
  auto const i = g.input<std::int64_t>("i", {3}), j = g.input<std::int64_t>("j", {3});
  auto const dx = g.gradient({ct::sum(ct::gather(x, i) * ct::gather(x, j))}, {x}).front();
  auto const once = ct::for_loop(2, [&](auto, auto s) { return s + dx; }, x); // starts from an argument
  auto p = g.compile({dx, once});
  p.bind(x, std::vector<double>{1, 2, 3, 4, 5, 6});
  p.bind(i, std::vector<std::int64_t>{0, 2, 0});
  p.bind(j, std::vector<std::int64_t>{5, 2, 1});
  for (int run = 0; run < 2; ++run) {
    p.run();
    std::vector<double> const expected{8, 1, 6, 0, 0, 1};
    for (int k = 0; k < 6; ++k) {
      CHECK(p.value(dx)[k] == expected[static_cast<std::size_t>(k)]);
      CHECK(p.value(once)[k] == k + 1 + 2 * expected[static_cast<std::size_t>(k)]);
    }
  }
}

} // namespace
