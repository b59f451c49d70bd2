// SPDX-License-Identifier: BSL-1.0
// Tangents through views, and the evaluation element by element of graphs with views.
#include "catch.hpp"

#include "../view_twins.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace view_graph;

namespace {

/// The outputs of a graph of doubles for these inputs.
std::vector<std::vector<double>> outputs_of(extend::graph_view const& g, detail::array<reference::values> const& numbers) {
  std::vector<std::vector<double>> in, out;
  std::vector<double const*> from;
  std::vector<double*> to;
  for (int k = 0; k < g.input_count(); ++k) {
    in.emplace_back();
    for (int i = 0; i < numbers[k].size(); ++i) in.back().push_back(numbers[k][i].real);
  }
  for (int k = 0; k < g.output_count(); ++k)
    out.emplace_back(static_cast<std::size_t>(reference::count(g.shape(g.output(k)))));
  for (auto const& x : in) from.push_back(x.data());
  for (auto& y : out) to.push_back(y.data());
  REQUIRE(detail::evaluate(g, from.data(), to.data()).ok());
  return out;
}

} // namespace

TEST_CASE("graphs with views have the values and the tangents of equal graphs without views") {
  int compared = 0, moving = 0;
  for (unsigned round = 0; round < 500; ++round) {
    CAPTURE(round);
    reference::dice d(round + 9000);
    twins t(d, 3 + d.below(14), round % 3 == 0);
    std::vector<twin> outputs, wrt, seeds, all;
    for (int k = d.below(4); k >= 0; --k) outputs.push_back(t.any());
    std::vector<twin> const inputs = t.inputs;
    for (twin x : inputs)
      if (d.below(2) == 0) wrt.push_back(x);
    for (twin x : wrt) seeds.push_back(t.input(t.v.dims(x.viewed)));
    all = outputs;
    if (round % 4 == 0 && !wrt.empty()) { // of a gradient
      twin const y = outputs.back(), seed = t.input(t.v.dims(y.viewed));
      extend::symbol v = extend::none, p = extend::none;
      gradient(t.v, {&y.viewed, &seed.viewed, 1, &wrt[0].viewed, 1}, &v);
      gradient(t.p, {&y.plain, &seed.plain, 1, &wrt[0].plain, 1}, &p);
      outputs.push_back({v, p});
      all.push_back(outputs.back());
    }
    t.finish(all);
    std::vector<extend::symbol> result[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<extend::symbol> x, dx, y;
      auto const one = [side](twin s) { return side == 0 ? s.viewed : s.plain; };
      for (twin s : wrt) x.push_back(one(s));
      for (twin s : seeds) dx.push_back(one(s));
      for (twin s : outputs) y.push_back(one(s));
      result[side].resize(y.size());
      tangents(side == 0 ? t.v : t.p, x.data(), dx.data(), static_cast<int>(x.size()), y.data(),
               static_cast<int>(y.size()), result[side].data());
    }
    REQUIRE(t.v.failed().why == nullptr);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      twin made{result[0][k], result[1][k]};
      auto const zero = [](extend::builder& b, extend::symbol like) {
        return extend::constant(b, element::float64, b.tensor(like).shape, 0).id;
      };
      moving += made.plain != extend::none;
      if (made.viewed == extend::none) made.viewed = zero(t.v, outputs[k].viewed);
      if (made.plain == extend::none) made.plain = zero(t.p, outputs[k].plain);
      all.push_back(made);
    }
    t.finish(all);
    verification const sound = verify(t.v.get());
    REQUIRE(std::string(sound.text == nullptr ? "" : sound.text) == "");
    detail::array<reference::values> numbers;
    for (twin x : t.inputs) {
      reference::values v;
      for (std::int64_t k = reference::count(t.v.dims(x.viewed)); k > 0; --k)
        v.push(extend::scalar::of(d.between(-1.5, 1.5)));
      numbers.push(v);
    }
    auto const a = outputs_of(t.v.get(), numbers), b = outputs_of(t.p.get(), numbers);
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t i = 0; i < b[k].size(); ++i, ++compared)
        REQUIRE(std::abs(a[k][i] - b[k][i]) <= 1e-9 * (1 + std::abs(b[k][i])));
  }
  CHECK(compared > 5000);
  CHECK(moving > 500);
}
