// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic/convolution.hpp>

// Code of docs/reference/operations.md that no example has.

namespace ct = cotangent;

namespace {
// [windows]
inline constexpr auto features = [](auto x, auto w, auto bias) {
  auto y = ct::relu(ct::conv2d<ct::convolution{.stride = {2, 1}, .padding = 1}>(x, w) + bias);
  return ct::max_pool2d<ct::pooling{.window = 3, .stride = 2, .padding = 1}>(y);
};
// [/windows]
} // namespace

TEST_CASE("one function of an image is a program and a graph") {
  ct::tensor<float, 6, 5, 2> x;
  ct::tensor<float, 3, 3, 2, 4> w;
  ct::tensor<float, 4> bias{.1f, 0, -.1f, .2f};
  for (int k = 0; k < 60; ++k) x.data()[k] = .1f * static_cast<float>(k * 7 % 13) - .5f;
  for (int k = 0; k < 72; ++k) w.data()[k] = .1f * static_cast<float>(k * 5 % 11) - .5f;
  auto const y = ct::compiled(features)(x, w, bias);
  CHECK(y.extent(0) == 2);
  CHECK(y.extent(1) == 3);

  ct::dynamic::graph g;
  auto const image = g.input<float>("image", {6, 5, 2}), weights = g.input<float>("weights", {3, 3, 2, 4});
  auto const b = g.input<float>("bias", {4});
  auto const one = features(image, weights, b);
  auto const other =
      ct::max_pool2d(ct::relu(ct::conv2d(image, weights, {.stride = {2, 1}, .padding = 1}) + b),
                     {.window = 3, .stride = 2, .padding = 1});
  auto p = g.compile({one, other});
  p.bind(image, x);
  p.bind(weights, w);
  p.bind(b, bias);
  p.run();
  for (int k = 0; k < 24; ++k) {
    CHECK(p.value(one).data()[k] == y.data()[k]);
    CHECK(p.value(other).data()[k] == y.data()[k]);
  }
}
