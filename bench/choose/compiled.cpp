// SPDX-License-Identifier: BSL-1.0
#include "ways.hpp"

#include <cotangent/cotangent.hpp>

#include "functions.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

namespace choose {

namespace {

inline constexpr auto step = [](auto w1, auto b1, auto w2, auto b2, auto x, auto labels) {
  auto const [value, gradient] = ct::value_and_grad<0, 1, 2, 3>(network)(w1, b1, w2, b2, x, labels);
  auto const& [d1, e1, d2, e2] = gradient;
  return std::tuple(value, w1 - 0.01f * d1, b1 - 0.01f * e1, w2 - 0.01f * d2, b2 - 0.01f * e2);
};

inline constexpr auto loop = [](auto s) {
  for (int k = 0; k < iterations; ++k) s = iteration(s);
  return ct::sum(s);
};

template <class Tensor, class T>
Tensor filled(std::vector<T> const& from) {
  Tensor to;
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}

template <ct::extent N>
task gradient_of(std::vector<double> const& w, std::vector<double> const& x) {
  using vector = ct::tensor<double, N>;
  // [program]
  using P = ct::program<decltype(ct::value_and_grad(loss)), vector, vector>;
  // [/program]
  struct state {
    vector w, x, dw;
    typename P::workspace memory;
  };
  auto s = std::make_shared<state>(state{filled<vector>(w), filled<vector>(x), {}, {}});
  return [s] {
    // [run]
    double value;
    P::run(s->memory, std::tie(s->w, s->x), std::tie(value, s->dw));
    // [/run]
    return value + *s->dw.begin();
  };
}

template <class Tensor>
task loop_from(Tensor const& start) {
  using P = ct::program<decltype(ct::value_and_grad(loop)), Tensor>;
  struct state {
    Tensor x, dx;
    typename P::workspace memory;
  };
  auto s = std::make_shared<state>(state{start, {}, {}});
  return [s] {
    double value;
    P::run(s->memory, std::tie(s->x), std::tie(value, s->dx));
    if constexpr (Tensor::rank == 0) return value + double(s->dx);
    else return value + *s->dx.begin();
  };
}

task training(data const& d) {
  using w1 = ct::tensor<float, 64, 32>;
  using b1 = ct::tensor<float, 32>;
  using w2 = ct::tensor<float, 32, 10>;
  using b2 = ct::tensor<float, 10>;
  using x = ct::tensor<float, 50, 64>;
  using labels = ct::tensor<std::int32_t, 50>;
  using P = ct::program<decltype(ct::compiled(step)), w1, b1, w2, b2, x, labels>;
  struct state {
    w1 a;
    b1 b;
    w2 c;
    b2 e;
    x images;
    labels digits;
    P::workspace_in_place memory;
  };
  auto s = std::make_shared<state>(state{filled<w1>(d.w1), filled<b1>(d.b1), filled<w2>(d.w2), filled<b2>(d.b2),
                                         filled<x>(d.images), filled<labels>(d.labels), {}});
  return [s] {
    float value;
    P::run(s->memory, std::tie(s->a, s->b, s->c, s->e, s->images, s->digits),
           std::tie(value, s->a, s->b, s->c, s->e));
    return double(value);
  };
}

} // namespace

tasks compiled(data const& d) {
  using number = ct::tensor<double>;
  using vector = ct::tensor<double, 1000>;
  return {"compiled function",
          gradient_of<3>(d.w3, d.x3),
          gradient_of<65536>(d.w65536, d.x65536),
          training(d),
          loop_from(number(0.25)),
          loop_from(filled<vector>(d.start1000)),
          {}};
}

} // namespace choose
