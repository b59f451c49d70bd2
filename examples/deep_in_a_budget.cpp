// SPDX-License-Identifier: BSL-1.0
// A network of 64 layers is trained in a quarter of the memory that it would take: the program is told how many bytes there
// are, and computes again what it cannot keep. The bytes are asserted, and after every step the weights are those of the
// training without a limit, bit for bit. `deep_in_a_budget memory.svg` draws both workspaces.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic/dynamic.hpp>
#include <cotangent/dynamic/memory_profile.hpp>

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

/// The network with its weights, which a program updates where they lie.
class network {
  ct::dynamic::graph g_;
  ct::dynamic::expr<float> x_ = g_.input<float>("x", {batch, width}),
                           y_ = g_.input<float>("y", {batch, width});
  std::vector<ct::dynamic::expr<float>> weights_;
  ct::dynamic::expr<float> loss_;
  std::vector<float> x = wave(batch * width, .37f), y = wave(batch * width, .11f);

public:
  std::vector<std::vector<float>> values; // of the weights
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
        g_.minimise(loss_, ct::sgd{.rate = .2, .momentum = 0}, {weights_.begin(), weights_.end()});
    program =
        g_.compile({loss_}, {}, {.exact = false, .updates = step.updates, .own_memory = false, .fit = bytes});
    // [/network]
    values.reserve(layers);
    for (int k = 0; k < layers; ++k)
      program.bind(weights_[static_cast<std::size_t>(k)],
                   values.emplace_back(wave(width * width, .7f + .01f * float(k))));
    program.bind(x_, x);
    program.bind(y_, y);
  }
  float run() {
    program.run();
    return program.value(loss_);
  }

private:
  static std::vector<float> wave(std::int64_t n, float by) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = .5f * std::sin(by * float(k + 1));
    return v;
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
