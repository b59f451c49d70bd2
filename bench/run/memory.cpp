// SPDX-License-Identifier: BSL-1.0
// What less memory costs: networks in a budget (ours) against the same program without one (by hand: all is kept). Their
// results are compared before they are timed; `n` is the bytes of the workspace.
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/dynamic/dynamic.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t outputs = 10;

/// The digits network, deepened: dense layers of tanh with a way around each, a loss, and the gradients of all weights.
struct deep_digits {
  ct::dynamic::graph g;
  std::vector<ct::dynamic::expr<float>> inputs;
  std::vector<ct::dynamic::any_expr> results;
  std::vector<bench::buffer<float>> data, gradients;
  float loss = 0;

  deep_digits(int layers, std::int64_t rows) {
    auto const in = [&](std::int64_t m, std::int64_t n, float size) {
      inputs.push_back(g.input<float>("x", {m, n}));
      data.emplace_back(m * n);
      bench::numbers().fill(data.back(), -size, size);
      return inputs.back();
    };
    auto h = ct::matmul(in(rows, 64, 1), in(64, 32, .2f));
    for (int k = 0; k < layers; ++k) h = h + ct::tanh(ct::matmul(h, in(32, 32, .1f)));
    auto const y = ct::mean(ct::square(ct::matmul(h, in(32, outputs, .2f))));
    std::vector<ct::dynamic::any_expr> const wrt(inputs.begin() + 1, inputs.end());
    results.push_back(y);
    for (auto const& d : g.gradient({y}, wrt)) {
      results.push_back(d);
      gradients.emplace_back(inputs[results.size() - 1].shape().size().number);
    }
  }
  ct::dynamic::program within(std::int64_t bytes) {
    ct::dynamic::compile_options options;
    options.fit = bytes;
    auto p = g.compile(results, {}, options);
    for (std::size_t k = 0; k < inputs.size(); ++k) p.bind(inputs[k], flat(data[k]));
    p.bind(results[0].as<float>(), ct::view<float, "n">(&loss, 1));
    for (std::size_t k = 0; k < gradients.size(); ++k) p.bind(results[k + 1].as<float>(), flat(gradients[k]));
    return p;
  }

private:
  static ct::view<float, "n"> flat(bench::buffer<float>& b) {
    return ct::view<float, "n">(b.data(), b.size());
  }
};

bench::contestant running(char const* name, ct::dynamic::program p) {
  auto const shared = std::make_shared<ct::dynamic::program>(std::move(p));
  return bench::named(name, [shared] { shared->run(); });
}

bench::entry const one("in a budget", [](bench::suite& suite) {
  for (int const layers : {16, 64}) {
    deep_digits net(layers, 128);
    std::int64_t const whole = net.within(0).workspace_bytes();
    std::string const name = "in a budget, digits with " + std::to_string(layers) + " layers";
    for (int const percent : {100, 80, 65, 50, 40, 30, 20, 15, 10}) {
      if (suite.quick() && percent != 50) continue;
      ct::dynamic::program fitted;
      try {
        fitted = net.within(whole * percent / 100);
      } catch (ct::graph_error const&) {
        break; // less is not enough
      }
      bench::comparison c{name, "float", std::to_string(percent) + " %", fitted.workspace_bytes(), {}, {},
                          {},   {}};
      c.results = {bench::written("loss", &net.loss, 1)};
      for (auto& d : net.gradients) c.results.push_back(bench::written("gradient", d.data(), d.size()));
      c.ours = {running("in a budget", std::move(fitted))};
      c.hand = {running("all is kept", net.within(0))};
      suite.run(c);
    }
  }
});

} // namespace
