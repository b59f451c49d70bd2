// SPDX-License-Identifier: BSL-1.0
// A network of 64 layers is trained in a quarter of its memory. The program is compiled with a memory budget and
// rematerializes the values that do not fit. The example asserts the bytes of the workspace. After every step, the weights
// equal those of training without a budget, bit for bit. Eager mode then computes the same gradients, limited to a quarter of
// its memory. `deep_in_a_budget memory.svg` draws both workspaces.
#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>
#include <cotangent/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace ct = cotangent;

namespace {

constexpr int layers = 64;
constexpr std::int64_t batch = 128, width = 16;

std::vector<float> wave(std::int64_t n, float by) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = .5f * std::sin(by * float(k + 1));
  return v;
}
std::vector<float> first_weights(int layer) { return wave(width * width, .7f + .01f * float(layer)); }

/// The network with its weights, which the program updates in place.
class network {
  ct::dynamic::graph g_;
  ct::dynamic::expr<float> x_ = g_.input<float>("x", {batch, width}),
                           y_ = g_.input<float>("y", {batch, width});
  std::vector<ct::dynamic::expr<float>> weights_;
  ct::dynamic::expr<float> loss_;
  std::vector<float> x = wave(batch * width, .37f), y = wave(batch * width, .11f);

public:
  std::vector<std::vector<float>> values; // the weights
  ct::dynamic::program program;

  explicit network(std::int64_t bytes) {
    // [network]
    auto h = x_;
    for (int k = 0; k < layers; ++k) {
      weights_.push_back(g_.parameter<float>(std::string("w").append(std::to_string(k)), {width, width}));
      h = h + .1f * ct::tanh(ct::matmul(h, weights_.back()));
    }
    loss_ = ct::mean(ct::square(h - y_));
    auto const step =
        g_.minimize(loss_, ct::sgd{.learning_rate = .2, .momentum = 0}, {weights_.begin(), weights_.end()});
    program =
        g_.compile({loss_}, {}, {.exact = false, .updates = step.updates, .own_memory = false, .memory_budget = bytes});
    // [/network]
    values.reserve(layers);
    for (int k = 0; k < layers; ++k)
      program.bind(weights_[static_cast<std::size_t>(k)], values.emplace_back(first_weights(k)));
    program.bind(x_, x);
    program.bind(y_, y);
  }
  float run() {
    program.run();
    return program.value(loss_);
  }
};

/// The loss and all gradients of the first step, computed by eager mode.
struct written_step {
  std::int64_t most = 0, again = 0; // peak bytes; rematerialized operations
  std::vector<float> results;

  explicit written_step(std::int64_t bytes) {
    std::vector<float> const x = wave(batch * width, .37f), y = wave(batch * width, .11f);
    // [within]
    ct::dynamic::eager e;
    e.set_memory_limit(bytes);
    e.on_free([&](std::int64_t freed) { most = std::max(most, e.live().bytes + freed); });
    std::vector<ct::dynamic::variable<float>> weights;
    auto h = e.constant(x, {batch, width});
    for (int k = 0; k < layers; ++k) {
      weights.push_back(e.parameter(first_weights(k), {width, width}));
      h = h + .1f * ct::tanh(ct::matmul(h, weights.back()));
    }
    auto const loss = ct::mean(ct::square(h - e.constant(y, {batch, width})));
    e.backward(loss);
    again = e.recompute_count(); // rematerialized operations
    // [/within]
    results.push_back(loss.item());
    for (auto const& w : weights) {
      auto const d = w.grad().value();
      results.insert(results.end(), d.data(), d.data() + width * width);
    }
  }
};

} // namespace

int main(int count, char** words) {
  network whole(0);
  std::int64_t const budget = whole.program.workspace_bytes() / 4;
  network fitted(budget);

  bool right = true;
  float first = 0, last = 0;
  for (int k = 0; k < 20; ++k) {
    last = whole.run();
    if (k == 0) first = last;
    float const again = fitted.run();
    right = right && std::memcmp(&last, &again, sizeof last) == 0;
    for (std::size_t j = 0; j < whole.values.size(); ++j)
      right = right &&
              std::memcmp(whole.values[j].data(), fitted.values[j].data(), 4 * whole.values[j].size()) == 0;
  }
  auto const predicted = fitted.program.predicted();
  std::printf("without a limit: %8lld bytes\n", static_cast<long long>(whole.program.workspace_bytes()));
  std::printf("in a budget:     %8lld bytes of %lld, %.0f %% more work (predicted)\n",
              static_cast<long long>(fitted.program.workspace_bytes()), static_cast<long long>(budget),
              100 * predicted.again / (predicted.seconds - predicted.again));
  std::printf("loss after 20 steps: %.6f, at first %.6f; equal bits: %s\n", static_cast<double>(last),
              static_cast<double>(first), right ? "yes" : "no");

  written_step const kept(0), within(kept.most / 4);
  std::printf("eager: %lld bytes, then %lld of %lld, %lld operations again; loss %.6f\n",
              static_cast<long long>(kept.most), static_cast<long long>(within.most),
              static_cast<long long>(kept.most / 4), static_cast<long long>(within.again),
              static_cast<double>(within.results[0]));
  right = right && kept.again == 0 && within.most <= kept.most / 4 && within.again > 0 &&
          std::memcmp(kept.results.data(), within.results.data(), 4 * kept.results.size()) == 0 &&
          std::abs(within.results[0] - first) < 1e-6f;

  // [profile]
  ct::profile before = ct::memory_profile(whole.program), now = ct::memory_profile(fitted.program);
  before.title = "64 layers, all kept";
  now.title = "64 layers in a quarter of that";
  // [/profile]
  if (count > 1) {
    now.regions.push_back(before); // below
    ct::svg(std::ofstream(words[1]), now);
  }
  right = right && fitted.program.workspace_bytes() <= budget && now.bytes <= budget && now.peak <= budget &&
          before.peak > 3 * budget && last < first;
  return right ? 0 : 1;
}
