// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../control_cases.hpp"
#include "../random_nest.hpp"

#include <cotangent/transform/differentiate/forward.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace cotangent;
using namespace control_cases;

namespace {

std::vector<double> logs_at(extend::graph_view const& g, double x, double y, double v) {
  values const r = run(g, {x, y, v});
  return {r.at, r.at + g.output_count()};
}

/// The outputs of a graph of one element type for elements in the order of its inputs.
template <class T> std::vector<double> outputs_of(extend::graph_view const& g, std::vector<double> const& elements) {
  std::vector<std::vector<T>> in, out;
  std::vector<T const*> from;
  std::vector<T*> to;
  auto const count = [&](extend::symbol t) {
    std::size_t n = 1;
    for (int k = 0; k < g.shape(t).rank; ++k) n *= static_cast<std::size_t>(g.shape(t).size[k]);
    return n;
  };
  auto at = elements.begin();
  for (int k = 0; k < g.input_count(); ++k) {
    auto const end = at + static_cast<std::ptrdiff_t>(count(g.input(k)));
    in.emplace_back();
    for (; at != end; ++at) in.back().push_back(static_cast<T>(*at));
  }
  for (int k = 0; k < g.output_count(); ++k) out.emplace_back(count(g.output(k)));
  for (auto const& x : in) from.push_back(x.data());
  for (auto& y : out) to.push_back(y.data());
  REQUIRE(detail::evaluate(g, from.data(), to.data()).ok());
  std::vector<double> all;
  for (auto const& y : out) all.insert(all.end(), y.begin(), y.end());
  return all;
}

} // namespace

TEST_CASE("loops give the specified numbers") {
  CHECK(near(w1(), .5729198));
  CHECK(near(w5(1, 0), 2.1090609));
  CHECK(near(w5(1.2, 1), 3.7308730));
  CHECK(near(wb1(), 1.6850582));
  values const v = wb2_all();
  CHECK(near(v[0], .3487781));
  CHECK(near(v[1], .065682308));
  CHECK(near(v[2], .18960060));
  CHECK(near(v[3], 1.5853552));
  CHECK(near(wb2_once(), .06875));
}

TEST_CASE("branches give the specified numbers and slopes") {
  for (auto const& [x, y, slope] :
       {std::tuple{-1., 0., 0.}, {.76, .76, 1.}, {1.226, 1.113, .5}, {2.1, 1.5, 0.}}) {
    CHECK(near(b1_at(x)[0], y));
    CHECK(near(b1_at(x)[1], slope));
  }
  CHECK(near(b2_at(1001)[0], 1101.1));
  CHECK(near(b4_at(1.226)[0], .3042375));
  CHECK(near(b4_at(1.226)[1], .3 / 16));
}

TEST_CASE("one graph runs repeatedly, with other values and other numbers of iterations") {
  scalars s;
  extend::symbol const x = s.input(), y = s.input(), times = s.input();
  detail::loop_builder loop(s.b,
                    {.inits = &x, .carried = 1, .limit = extend::convert(s.of(times), element::int64).id});
  extend::symbol const v = loop.open_body()[1];
  extend::symbol const next = extend::apply<op::sin>(s.of(v) * s.of(loop.capture(y))).id;
  loop.close_body(&next, 1);
  (void)loop.finish();
  s.output(loop.last(0));
  s.gradient_of(loop.last(0), {x, y});
  REQUIRE(s.finish());
  for (int const n : {3, 0, 7, 1, 7, 100, 3}) {
    double z = .4, dx = 1, dy = 0;
    for (int k = 0; k < n; ++k) {
      double const slope = std::cos(1.3 * z);
      dx *= 1.3 * slope;
      dy = slope * (z + 1.3 * dy);
      z = std::sin(1.3 * z);
    }
    std::vector<double> const r = logs_at(s.b.get(), .4, 1.3, n);
    CHECK(near(r[0], z, 1e-12));
    CHECK(near(r[1], dx, 1e-12));
    CHECK(near(r[2], dy, 1e-12));
  }
}

TEST_CASE("nests of loops and branches agree with their unrolled form, to the second derivative") {
  int const depth = GENERATE(1, 2, 3);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(depth, seed);
    reference::dice d(seed + 77);
    int const elements = 1 + static_cast<int>(seed % 2);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    reference::nest<reference::nest_in_graph> const nested(seed, depth, elements, element::float64,
                                                           at.data());
    reference::nest<reference::nest_unrolled> const unrolled(seed, depth, elements, element::float64,
                                                             at.data());
    REQUIRE(nested.b.failed().why == nullptr);
    REQUIRE(std::string(verify(nested.b.get()) ? "" : verify(nested.b.get()).text) == "");
    if (unrolled.margin < 1e-6) continue; // a decision that rounding can turn
    std::vector<double> const b = outputs_of<double>(unrolled.b.get(), at);
    graph const simplified = detail::simplify(nested.b.get(), {.fuse_multiply_add = seed % 3 == 0});
    REQUIRE(std::string(verify(simplified) ? "" : verify(simplified).text) == "");
    for (graph const& g : {nested.b.get(), detail::prune(nested.b.get()), simplified}) {
      std::vector<double> const a = outputs_of<double>(g, at);
      REQUIRE(a.size() == b.size());
      for (std::size_t k = 0; k < a.size(); ++k) REQUIRE(near(a[k], b[k], 1e-11));
    }
  }
}

TEST_CASE("nests in single precision agree with their unrolled form") {
  for (std::uint64_t seed = 300; seed < 400; ++seed) {
    CAPTURE(seed);
    reference::dice d(seed);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots; ++k) at.push_back(static_cast<float>(d.between(-1, 1)));
    reference::nest<reference::nest_in_graph> const nested(seed, 3, 1, element::float32, at.data());
    reference::nest<reference::nest_unrolled> const unrolled(seed, 3, 1, element::float32, at.data());
    if (unrolled.margin < 1e-3) continue;
    std::vector<double> const a = outputs_of<float>(nested.b.get(), at),
                              b = outputs_of<float>(unrolled.b.get(), at);
    for (std::size_t k = 0; k < a.size(); ++k) REQUIRE(near(a[k], b[k], 2e-3));
  }
}

TEST_CASE("third derivatives of nests agree with their unrolled form") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::vector<double> const at{.3, -.7, .9, .2};
    reference::nest<reference::nest_in_graph> const nested(seed, 2, 1, element::float64, at.data(), 3);
    reference::nest<reference::nest_unrolled> const unrolled(seed, 2, 1, element::float64, at.data(), 3);
    if (unrolled.margin < 1e-6) continue;
    std::vector<double> const a = outputs_of<double>(nested.b.get(), at),
                              b = outputs_of<double>(unrolled.b.get(), at);
    for (std::size_t k = 0; k < a.size(); ++k) REQUIRE(near(a[k], b[k], 1e-10));
  }
}

TEST_CASE("tangents of nests agree with gradients, and tangents of gradients with gradients of gradients") {
  int const depth = GENERATE(1, 2, 3);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(depth, seed);
    reference::dice d(seed + 7);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots; ++k) at.push_back(d.between(-1, 1));
    // the loss, its gradient, and the gradient of a function of that
    reference::nest<reference::nest_in_graph> nested(seed + 1000, depth, 1, element::float64, at.data());
    extend::builder& b = nested.b;
    detail::array<extend::symbol> outputs;
    extend::graph_view const before = b.get();
    for (int k = 0; k < before.output_count(); ++k) outputs.push(before.output(k));
    extend::symbol direction[reference::nest_slots]{};
    term second{};
    for (int k = 0; k < reference::nest_slots; ++k) {
      direction[k] = extend::constant(b, element::float64, 0, 0.5 - 0.3 * k).id;
      term const g{&b, outputs[1 + k]};
      term const part = g * (0.5 + 0.1 * k) + 0.1 * (g * g);
      second = k == 0 ? part : second + part;
    }
    extend::symbol const asked[2]{outputs[0], second.id};
    extend::symbol moved[2]{};
    detail::tangents(b, nested.x, direction, reference::nest_slots, asked, 2, moved);
    REQUIRE(b.failed().why == nullptr);
    for (extend::symbol t : moved) outputs.push(t != extend::none ? t : extend::constant(b, element::float64, 0, 0).id);
    b.set_outputs(outputs.data(), outputs.size());
    REQUIRE(std::string(verify(b.get()) ? "" : verify(b.get()).text) == "");
    for (graph const& g : {b.get(), detail::simplify(b.get())}) {
      std::vector<double> const r = outputs_of<double>(g, at);
      double first = 0, other = 0;
      for (std::size_t k = 0; k < reference::nest_slots; ++k) {
        first += r[1 + k] * (0.5 - 0.3 * static_cast<double>(k));
        other += r[1 + reference::nest_slots + k] * (0.5 - 0.3 * static_cast<double>(k));
      }
      REQUIRE(near(r[r.size() - 2], first, 1e-10));
      REQUIRE(near(r[r.size() - 1], other, 1e-10));
    }
  }
}
