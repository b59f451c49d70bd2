// SPDX-License-Identifier: BSL-1.0
// A dense block: each layer reads all previous features and adds its own. All features are in one tensor. Each layer reads
// one view of it and writes the next one, so nothing is concatenated or copied. The gradient is compared with finite
// differences.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace ct = cotangent;

int main() {
  // [block]
  constexpr std::int64_t samples = 5, first = 3, growth = 2, layers = 4, width = first + layers * growth;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {samples, first});
  auto const features = g.tensor<double>("features", {samples, width});
  g.write(g.view(features, {.shape = {samples, first}}), x);
  std::vector<ct::dynamic::any_expr> weights;
  for (std::int64_t k = 0; k < layers; ++k) {
    std::int64_t const so_far = first + k * growth;
    auto const w = g.parameter<double>(std::string("w").append(std::to_string(k)), {so_far, growth});
    auto const before = g.view(features, {.shape = {samples, so_far}});
    g.write(g.view(features, {.offset = {0, so_far}, .shape = {samples, growth}}),
            ct::tanh(ct::matmul(before, w)));
    weights.push_back(w);
  }
  auto const loss = ct::mean(ct::square(features));
  auto const gradients = g.gradient({loss}, weights);
  // [/block]

  auto const numbers = [](std::int64_t n, double phase) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = std::sin(1.7 * double(k) + phase);
    return v;
  };
  std::vector<double> const data = numbers(samples * first, .3);
  std::vector<std::vector<double>> at;
  std::vector<ct::dynamic::any_expr> wanted{loss};
  wanted.insert(wanted.end(), gradients.begin(), gradients.end());
  auto program = g.compile(wanted);
  program.bind(x, data);
  for (std::int64_t k = 0; k < layers; ++k) at.push_back(numbers((first + k * growth) * growth, double(k)));
  for (std::size_t k = 0; k < at.size(); ++k) program.bind(weights[k].as<double>(), at[k]);

  program.run();
  double worst = 0;
  for (std::size_t k = 0; k < at.size(); ++k) {
    auto const exact = [&] {
      program.run();
      auto const v = program.value(gradients[k].as<double>());
      return std::vector<double>(v.begin(), v.end());
    }();
    for (std::size_t i = 0; i < at[k].size(); ++i) {
      double const h = 1e-5, w = at[k][i];
      at[k][i] = w + h; // the program reads this memory
      program.run();
      double const up = program.value(loss);
      at[k][i] = w - h;
      program.run();
      double const difference = (up - double(program.value(loss))) / (2 * h);
      at[k][i] = w;
      worst = std::fmax(worst, std::abs(difference - exact[i]));
    }
  }
  program.run();
  std::printf("loss %.9f; largest distance of %lld gradients from differences: %.1e\n",
              double(program.value(loss)),
              static_cast<long long>(layers * growth * (first + (layers - 1) * growth / 2)), worst);
  return worst < 1e-9 ? 0 : 1;
}
