// SPDX-License-Identifier: BSL-1.0
// A small recurrent network, a gated recurrent unit of 16 numbers, learns to add two numbers of a sequence of 20 that are marked. A whole
// step of training is one function: the network by ct::scan, its gradient, and Adam for all parameters.
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include <cstdint>
#include <cstdio>
#include <random>
#include <tuple>
#include <utility>

namespace ct = cotangent;

// [network]
inline constexpr int length = 20, batch = 32, width = 16;

template <template <class, ct::extent...> class Tensor>
struct network {
  BOOST_HANA_DEFINE_STRUCT(network, (Tensor<float, 2, 3 * width>, inputs), (Tensor<float, width, 3 * width>, state), (Tensor<float, 3 * width>, bias),
                           (Tensor<float, 3 * width>, state_bias), (Tensor<float, width>, weights), (Tensor<float>, offset));
};
using sequences = ct::tensor<float, length, batch, 2>; // the number, and its mark
using sums = ct::tensor<float, batch>;

inline constexpr auto predict = [](auto const& p, auto x) {
  auto const step = [=](auto h, auto row) { return std::pair(ct::gru_cell(row, h, p.inputs, p.state, p.bias, p.state_bias), ct::sum(row)); };
  auto const h = ct::scan(step, ct::zeros<float, batch, width>(), x).first;
  return ct::matmul(h, p.weights) + p.offset;
};
inline constexpr auto loss = [](auto const& p, auto x, auto y) { return ct::mse(predict(p, x), y); };

// [train]
inline constexpr auto train = [](auto p, auto m, auto v, auto number, auto x, auto y) {
  auto const [value, slope] = ct::value_and_grad(loss)(p, x, y);
  ct::update_all(ct::adam{.learning_rate = 0.01}, p, slope, m, v, number);
  return std::tuple(value, p, m, v);
};
// [/train]
// [/network]

int main() {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform;
  auto const draw = [&](sequences& x, sums& y) {
    for (int b = 0; b < batch; ++b) {
      int const first = static_cast<int>(random() % (length / 2)), second = length / 2 + static_cast<int>(random() % (length / 2));
      y(b) = 0;
      for (int k = 0; k < length; ++k) {
        x(k, b, 0) = uniform(random);
        x(k, b, 1) = k == first || k == second ? 1.f : 0.f;
        y(b) += x(k, b, 0) * x(k, b, 1);
      }
    }
  };

  network<ct::tensor> p{}, m{}, v{};
  constexpr auto weights = [](auto key) {
    return std::tuple(ct::xavier_uniform<float, 2, 3 * width>(key), ct::concatenate<1>(ct::orthogonal<float, width, width>(key + 1),
      ct::orthogonal<float, width, width>(key + 2), ct::orthogonal<float, width, width>(key + 3)), ct::random_normal<float, width>(key + 4) * 0.25f);
  };
  std::tie(p.inputs, p.state, p.weights) = ct::compiled(weights)(std::int64_t{1});

  sequences x;
  sums y;
  float value = 0, first = 0, late = 0;
  for (int k = 1; k <= 1000; ++k) {
    draw(x, y);
    std::tie(value, p, m, v) = ct::compiled(train)(p, m, v, static_cast<float>(k), x, y);
    if (k == 1) first = value;
    if (k > 900) late += value / 100;
  }
  draw(x, y);
  auto const guess = ct::compiled(predict)(p, x);
  std::printf("squared error %.3f -> %.4f (always 1: 0.167); for example %.2f for %.2f, %.2f for %.2f\n", static_cast<double>(first), static_cast<double>(late),
              static_cast<double>(guess(0)), static_cast<double>(y(0)), static_cast<double>(guess(1)), static_cast<double>(y(1)));
  return late < 0.02f ? 0 : 1;
}
