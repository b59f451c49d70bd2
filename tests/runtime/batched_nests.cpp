// SPDX-License-Identifier: BSL-1.0
// Random nests of loops and branches, batched, against the same nests row by row; also gradients of batched nests.
#include "catch.hpp"

#include "../nest_runs.hpp"
#include "../random_nest.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/transform/batch/batch.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cmath>
#include <vector>

using namespace cotangent;
using namespace nest_runs;

namespace {

constexpr int slots = reference::nest_slots, rows = 3;

struct nest_without_views : reference::nest_in_graph {
  constexpr nest_without_views(extend::builder& b, int elements, int codes) : nest_in_graph(b, elements, codes) { views_ = false; }
};
using drawn_nest = reference::nest<nest_without_views>;

std::vector<double> elements_of(graph const& g, std::vector<double> const& inputs) {
  interpreter const p(g);
  if (p.failed().why != nullptr) FAIL(p.failed().why->text);
  detail::tape record;
  return interpreted(p, inputs, record);
}

/// The nest with rows in the inputs that `mapped` has bits of; with the gradient of the second order behind it.
struct batched_nest {
  extend::builder b;
  detail::array<extend::symbol> outputs; // those of the nest, with rows
  detail::array<bool> have_rows;

  batched_nest(drawn_nest const& of, unsigned mapped, bool gradients) : b(of.b.get()) {
    extend::symbol in[slots];
    detail::array<extend::symbol> from, given;
    for (int k = 0; k < slots; ++k) {
      in[k] = of.x[k];
      if ((mapped >> k & 1u) == 0) continue;
      in[k] = b.symbol_of(element::float64, batch_rule{{b, {}}, rows, nullptr}.with_rows(b.tensor(in[k]).shape));
      from.push(of.x[k]);
      given.push(in[k]);
    }
    extend::graph_view const g = of.b.get();
    for (int k = 0; k < g.output_count(); ++k) outputs.push(g.output(k));
    detail::array<extend::symbol> made(outputs.size(), extend::none);
    detail::batch(b, {from.data(), given.data(), from.size(), rows, outputs.data(), outputs.size()}, made.data());
    if (b.failed().why != nullptr) FAIL(b.failed().why->text << " " << (b.failed().node == extend::none ? "" : b.get().nodes[b.failed().node].op->name));
    for (int k = 0; k < outputs.size(); ++k) {
      have_rows.push(made[k] != extend::none);
      if (made[k] != extend::none) outputs[k] = made[k];
    }
    if (gradients) {
      term loss{};
      for (int k = 0; k < slots; ++k) {
        term const t{&b, outputs[1 + k]};
        term part = t * (0.5 + 0.1 * k) + 0.1 * (t * t);
        if (part.rank() > 0) part = extend::sum(part, (1u << part.rank()) - 1);
        loss = k == 0 ? part : loss + part;
      }
      extend::symbol d[slots]{};
      detail::gradient(b, {.outputs = &loss.id, .output_count = 1, .wrt = in, .wrt_count = slots}, d);
      for (extend::symbol const s : d) outputs.push(s);
    }
    detail::array<extend::symbol> inputs;
    for (extend::symbol const s : in) inputs.push(s);
    for (extend::symbol const s : from) inputs.push(s); // (dead, but nodes still read them)
    b.set_inputs(inputs.data(), inputs.size());
    b.set_outputs(outputs.data(), outputs.size());
  }
};

bool near(double a, double b) { return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b)); }

} // namespace

TEST_CASE("nests of loops and branches are batched") {
  int const depth = GENERATE(1, 2, 3);
  int compared = 0, second = 0;
  for (std::uint64_t seed = 0; seed < (depth == 3 ? 40u : 80u); ++seed) {
    int const elements = 1 + static_cast<int>(seed % 2);
    unsigned const mapped = seed % 3 == 0 ? 15u : static_cast<unsigned>(1 + seed % 15);
    bool const gradients = mapped == 15u && depth < 3;
    CAPTURE(depth, seed, mapped);
    reference::dice d(seed + 77);
    std::vector<std::vector<double>> at(rows);
    for (auto& row : at)
      for (int k = 0; k < slots * elements; ++k) row.push_back(d.between(-1, 1));
    bool surely = true;
    for (auto& row : at) {
      for (int k = 0; k < slots * elements; ++k)
        if ((mapped >> k / elements & 1u) == 0) row[static_cast<std::size_t>(k)] = at[0][static_cast<std::size_t>(k)];
      surely = surely && reference::nest<reference::nest_unrolled>(seed + 5000, depth, elements, element::float64, row.data(), 0).margin >= 1e-6;
    }
    if (!surely) continue;
    drawn_nest const alone(seed + 5000, depth, elements, element::float64, at[0].data(), 1, {}, reference::few_codes);
    batched_nest const all(alone, mapped, gradients);
    REQUIRE(verify(all.b.get()).text == nullptr);
    std::vector<double> inputs;
    for (int k = 0; k < slots; ++k)
      for (int r = 0; r < ((mapped >> k & 1u) != 0 ? rows : 1); ++r)
        for (int j = 0; j < elements; ++j) inputs.push_back(at[static_cast<std::size_t>(r)][static_cast<std::size_t>(k * elements + j)]);
    for (int k = 0; k < slots; ++k)
      if ((mapped >> k & 1u) != 0)
        for (int j = 0; j < elements; ++j) inputs.push_back(at[0][static_cast<std::size_t>(k * elements + j)]);
    drawn_nest const twice(seed + 5000, depth, elements, element::float64, at[0].data(), 2, {}, reference::few_codes);
    for (bool const simple : {false, true}) {
      std::vector<double> const whole = elements_of(simple ? detail::simplify(all.b.get()) : all.b.get(), inputs);
      for (int r = 0; r < rows; ++r) {
        CAPTURE(simple, r);
        std::vector<double> const row = elements_of(gradients ? twice.b.get() : alone.b.get(), at[static_cast<std::size_t>(r)]);
        std::size_t first = 0, from = 0;
        for (int k = 0; k < all.outputs.size(); ++k) {
          std::size_t const count = k == 0 ? 1 : static_cast<std::size_t>(elements);
          bool const has_rows = k >= all.have_rows.size() || all.have_rows[k];
          for (std::size_t j = 0; j < count; ++j) {
            double const is = whole[first + (has_rows ? static_cast<std::size_t>(r) * count : 0) + j], wanted = row[from + j];
            if (!near(is, wanted)) FAIL("output " << k << ": " << is << ", alone " << wanted);
            ++compared;
          }
          first += has_rows ? rows * count : count;
          from += count;
        }
        second += gradients;
      }
    }
  }
  CHECK(compared > 1000);
  CHECK((depth == 3 || second > 20));
}
