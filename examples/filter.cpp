// SPDX-License-Identifier: BSL-1.0
// An adaptive filter for a microcontroller: no allocation, no exceptions, and memory of a size known at compile time. It
// learns the eight taps of an unknown system from its input and output.
#include <cotangent/cotangent.hpp>

#include <cstdio>
#include <tuple>

namespace ct = cotangent;

// [step]
using taps = ct::tensor<float, 8>;

inline constexpr auto error = [](auto w, auto x, auto wanted) {
  return 0.5f * ct::square(ct::dot(w, x) - wanted);
};

inline constexpr auto learn = [](auto w, auto x, auto wanted, auto rate) {
  auto const [e, dw] = ct::value_and_grad(error)(w, x, wanted);
  return std::pair(w - rate * dw, e);
};
using program = ct::program<decltype(learn), taps, taps, float, float>;

static_assert(program::workspace_bytes <= 64, "the workspace must fit the remaining memory");
// [/step]

int main() {
  taps const unknown{0.5f, -0.25f, 0.125f, 1, 0, -0.75f, 0.3f, 0.1f};
  taps w, history, next;
  program::workspace memory;
  float e = 0;
  unsigned noise = 1;

  for (int n = 0; n < 5000; ++n) {
    for (int k = 7; k > 0; --k) history(k) = history(k - 1);
    noise = noise * 1664525u + 1013904223u;
    history(0) = static_cast<float>(noise >> 16) / 32768 - 1;
    float wanted = 0;
    for (int k = 0; k < 8; ++k) wanted += unknown(k) * history(k);

    // [run]
    float const rate = 0.2f;
    if (program::run(memory, std::tie(w, history, wanted, rate), std::tie(next, e)) != ct::status::ok)
      return 1;
    w = next;
    // [/run]
  }

  float worst = 0;
  for (int k = 0; k < 8; ++k) {
    float const off = w(k) > unknown(k) ? w(k) - unknown(k) : unknown(k) - w(k);
    if (!(off <= worst)) worst = off;
  }
  std::printf("%zu bytes of workspace, %g operations a step; taps off by %.2g at most\n",
              program::workspace_bytes, program::flops, static_cast<double>(worst));
  return worst < 1e-3f ? 0 : 1;
}
