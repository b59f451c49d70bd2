// SPDX-License-Identifier: BSL-1.0
// Straight-line code near its limits, for vectors of every width: the compiler's limit on constant evaluations must hold it. (The
// instructions that a test is compiled for do not matter.)
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

namespace {
template <class T, ct::extent Rows, int Layers> struct network {
  static constexpr auto value = [](auto x, auto w) {
    auto h = x;
    for (int k = 0; k < Layers; ++k) h = ct::tanh(ct::matmul(h, w));
    return ct::sum(h * h);
  };
  using stages = ct::detail::stages<decltype(ct::grad<1>(value)), ct::tensor<T, Rows, 6>, ct::tensor<T, 6, 6>>;
};
/// The steps of a graph as straight-line code, evaluated as programs do; -1 if it is loops.
template <class Network, int Bytes> constexpr int steps_of() {
  using stage = typename Network::stages::simplified;
  if constexpr (ct::detail::runs_straight(stage::view, Bytes)) return ct::detail::straightened<stage, Bytes>::value.size.steps;
  else return -1;
}
template <class Network, int Bytes> inline constexpr int steps = steps_of<Network, Bytes>();

// ---- the largest that are straight-line code with each width, and larger ones, which are loops
#ifdef __clang__
static_assert((steps<network<double, 4, 1>, 16> > 0) && (steps<network<double, 8, 1>, 32> > 0));
static_assert((steps<network<double, 9, 2>, 64> > 0) && (steps<network<float, 9, 2>, 64> > 0));
#else
static_assert((steps<network<double, 4, 3>, 16> > 0) && (steps<network<double, 9, 3>, 32> > 0));
static_assert((steps<network<double, 9, 4>, 64> > 0) && (steps<network<float, 9, 3>, 64> > 0));
#endif
static_assert(steps<network<double, 9, 6>, 64> < 0 && steps<network<double, 16, 6>, 64> < 0 && steps<network<float, 16, 6>, 64> < 0);
static_assert(steps<network<double, 9, 6>, 16> < 0 && steps<network<double, 9, 6>, 32> < 0);

// ---- elementwise operations on whole tensors are one loop nest, which is as fast and compiles in a fifth of the time; numbers are not

template <ct::extent Elements> struct chain {
  static constexpr auto value = [](auto x, auto w) {
    auto h = x;
    for (int k = 0; k < 20; ++k) h = ct::tanh(h * w + x);
    return ct::sum(h);
  };
  using stages = ct::detail::stages<decltype(ct::grad<0, 1>(value)), ct::tensor<double, Elements>, ct::tensor<double, Elements>>;
};
static_assert(steps<chain<64>, 16> < 0 && steps<chain<64>, 32> < 0 && steps<chain<64>, 64> < 0);
static_assert((steps<chain<4>, 16> > 0) && (steps<chain<4>, 32> > 0) && (steps<chain<4>, 64> > 0));
} // namespace

int main() {}
