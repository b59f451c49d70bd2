// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_PLAIN_LOOPS_HPP
#define COTANGENT_EXAMPLES_DIGITS_PLAIN_LOOPS_HPP

#include "by_hand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

// The same step as loops over functions of the standard library.

namespace digits::plain_loops {

inline constexpr int in = 64, hidden = 32, out = 10;

inline float step(by_hand::parameters const& p, float const* x, std::int32_t const* labels, int n,
                  by_hand::gradients const& d) {
  std::fill_n(d.w1, in * hidden, 0.f), std::fill_n(d.b1, hidden, 0.f);
  std::fill_n(d.w2, hidden * out, 0.f), std::fill_n(d.b2, out, 0.f);
  float loss = 0;
  float const each = 1 / static_cast<float>(n);
  for (int i = 0; i < n; ++i, x += in) {
    float h[hidden], z[out], dh[hidden];
    for (int j = 0; j < hidden; ++j) h[j] = p.b1[j];
    for (int k = 0; k < in; ++k)
      for (int j = 0; j < hidden; ++j) h[j] += x[k] * p.w1[k * hidden + j];
    for (int j = 0; j < hidden; ++j) h[j] = std::tanh(h[j]);
    for (int j = 0; j < out; ++j) z[j] = p.b2[j];
    for (int k = 0; k < hidden; ++k)
      for (int j = 0; j < out; ++j) z[j] += h[k] * p.w2[k * out + j];

    float const top = *std::max_element(z, z + out), chosen = z[labels[i]];
    float sum = 0;
    for (int j = 0; j < out; ++j) sum += z[j] = std::exp(z[j] - top);
    loss += std::log(sum) + top - chosen;
    for (int j = 0; j < out; ++j) z[j] *= each / sum;
    z[labels[i]] -= each;

    for (int j = 0; j < out; ++j) d.b2[j] += z[j];
    for (int k = 0; k < hidden; ++k) {
      float sum_of_row = 0;
      for (int j = 0; j < out; ++j) {
        d.w2[k * out + j] += h[k] * z[j];
        sum_of_row += z[j] * p.w2[k * out + j];
      }
      dh[k] = sum_of_row * (1 - h[k] * h[k]);
    }
    for (int j = 0; j < hidden; ++j) d.b1[j] += dh[j];
    for (int k = 0; k < in; ++k)
      for (int j = 0; j < hidden; ++j) d.w1[k * hidden + j] += x[k] * dh[j];
  }
  return loss * each;
}

} // namespace digits::plain_loops

#endif
