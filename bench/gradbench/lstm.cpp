// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <cotangent/dynamic.hpp>

#include <algorithm>
#include <array>

namespace gradbench {
namespace {

using ct::dynamic::expr;

/// The graph for one number of layers, of bits and of characters.
struct prepared {
  std::int64_t l, b, c;
  ct::dynamic::graph g;
  expr<double> main = g.input<double>("main", {2 * l, 4, b}), extra = g.input<double>("extra", {3, b}),
               state = g.input<double>("state", {2 * l, b}), sequence = g.input<double>("sequence", {c, b}),
               loss = network(), dmain, dextra;
  ct::dynamic::program objective = g.compile({loss}), jacobian = compile();

  prepared(std::int64_t layers, std::int64_t bits, std::int64_t characters) : l(layers), b(bits), c(characters) {}

  /// The carried values are the hidden state and the cell of each layer, and the sum of the losses.
  expr<double> network() {
    auto const step = [&](auto t, auto states, auto sum) {
      auto const row = [&](auto i) { return ct::sum(ct::gather(sequence, ct::reshape(i, {1})), 0); };
      auto z = row(t) * extra(0);
      std::vector<expr<double>> next;
      for (std::int64_t k = 0; k < l; ++k) {
        auto const weights = main(2 * k), biases = main(2 * k + 1), hidden = states(2 * k), cell = states(2 * k + 1);
        auto const gate = [&](auto const& x, int of) { return x * weights(of) + biases(of); };
        auto const forget = ct::sigmoid(gate(z, 0)), in = ct::sigmoid(gate(hidden, 1)), out = ct::sigmoid(gate(z, 2)),
                   change = ct::tanh(gate(hidden, 3));
        next.push_back(cell * forget + in * change);
        z = out * ct::tanh(next.back());
        next.insert(next.end() - 1, z);
      }
      auto const y = z * extra(1) + extra(2);
      auto const gold = row(t + 1);
      auto all = ct::reshape(next[0], {1, b});
      for (std::size_t k = 1; k < next.size(); ++k) all = ct::concatenate<0>(all, ct::reshape(next[k], {1, b}));
      return std::tuple(all, sum + ct::sum(gold * (y - ct::log(2.0 + ct::sum(ct::exp(y))))));
    };
    auto const [last, sum] = ct::for_loop(c - 1, step, state, g.constant(0.0));
    return sum * (-1.0 / static_cast<double>(b * (c - 1)));
  }
  ct::dynamic::program compile() {
    auto const gradients = g.gradient({loss}, {main, extra});
    dmain = gradients[0], dextra = gradients[1];
    return g.compile({dmain, dextra});
  }
};

struct state {
  std::shared_ptr<prepared> graph;
  ct::dynamic::program program;
  matrix main, extra, states, sequence;
};

std::shared_ptr<state> read(json const& input, ct::dynamic::program prepared::*which) {
  matrix main = read_matrix(member(input, "main_params")), extra = read_matrix(member(input, "extra_params")),
         states = read_matrix(member(input, "state")), sequence = read_matrix(member(input, "sequence"));
  std::int64_t const l = main.extent(0) / 2, b = main.extent(1) / 4, c = sequence.extent(0);
  require(l > 0 && b > 0 && main.extent(0) == 2 * l && main.extent(1) == 4 * b,
          "main_params must have two rows a layer, of four weights a bit");
  require(extra.extent(0) == 3 && extra.extent(1) == b, "extra_params must have three rows, of a number a bit");
  require(states.extent(0) == 2 * l && states.extent(1) == b, "state must have two rows a layer, of a number a bit");
  require(c > 1 && sequence.extent(1) == b, "sequence must have at least two rows, of a number a bit");
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::shared_ptr<prepared>> kept;
  auto& p = kept[{l, b, c}];
  if (!p) p = std::make_shared<prepared>(l, b, c);
  auto s = std::make_shared<state>(state{p, (*p).*which, std::move(main), std::move(extra), std::move(states), std::move(sequence)});
  s->program.bind(p->main, std::span<double const>(s->main));
  s->program.bind(p->extra, std::span<double const>(s->extra));
  s->program.bind(p->state, std::span<double const>(s->states));
  s->program.bind(p->sequence, std::span<double const>(s->sequence));
  return s;
}

task objective(json const& input) {
  auto s = read(input, &prepared::objective);
  return {[s] { s->program.run(); }, [s](json& to) { write(to, static_cast<double>(s->program.value(s->graph->loss))); }};
}
task jacobian(json const& input) {
  auto s = read(input, &prepared::jacobian);
  return {[s] { s->program.run(); },
          [s](json& to) {
            auto const dmain = s->program.value(s->graph->dmain), dextra = s->program.value(s->graph->dextra);
            std::vector<double> all(dmain.data(), dmain.data() + s->main.size());
            all.insert(all.end(), dextra.data(), dextra.data() + s->extra.size());
            write(to, all);
          }};
}

} // namespace

problem lstm() { return {{"objective", objective}, {"jacobian", jacobian}}; }

} // namespace gradbench
