// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_PLAIN_LOOPS_HPP
#define COTANGENT_EXAMPLES_DIGITS_PLAIN_LOOPS_HPP

#include "by_hand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

// The same step as loops over the functions of the standard library.

namespace digits::plain_loops {

template <int N>
class step {
  static constexpr int in = 64, hidden = 32, out = 10;
  float h_[N][hidden], z_[N][out], dh_[N][hidden];

public:
  float operator()(by_hand::parameters const& p, float const* x, std::int32_t const* labels,
                   by_hand::gradients const& d) {
    std::fill_n(d.w1, in * hidden, 0.f), std::fill_n(d.b1, hidden, 0.f);
    std::fill_n(d.w2, hidden * out, 0.f), std::fill_n(d.b2, out, 0.f);
    float loss = 0;
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < hidden; ++j) h_[i][j] = p.b1[j];
      for (int k = 0; k < in; ++k)
        for (int j = 0; j < hidden; ++j) h_[i][j] += x[i * in + k] * p.w1[k * hidden + j];
      for (int j = 0; j < hidden; ++j) h_[i][j] = std::tanh(h_[i][j]);
      for (int j = 0; j < out; ++j) z_[i][j] = p.b2[j];
      for (int k = 0; k < hidden; ++k)
        for (int j = 0; j < out; ++j) z_[i][j] += h_[i][k] * p.w2[k * out + j];
      float const top = *std::max_element(z_[i], z_[i] + out), chosen = z_[i][labels[i]];
      float sum = 0;
      for (int j = 0; j < out; ++j) sum += z_[i][j] = std::exp(z_[i][j] - top);
      loss += std::log(sum) + top - chosen;
      for (int j = 0; j < out; ++j) z_[i][j] /= sum * N;
      z_[i][labels[i]] -= 1.f / N;
      for (int j = 0; j < out; ++j) d.b2[j] += z_[i][j];
      for (int k = 0; k < hidden; ++k) {
        float sum_of_row = 0;
        for (int j = 0; j < out; ++j) {
          d.w2[k * out + j] += h_[i][k] * z_[i][j];
          sum_of_row += z_[i][j] * p.w2[k * out + j];
        }
        dh_[i][k] = sum_of_row * (1 - h_[i][k] * h_[i][k]);
      }
      for (int j = 0; j < hidden; ++j) d.b1[j] += dh_[i][j];
      for (int k = 0; k < in; ++k)
        for (int j = 0; j < hidden; ++j) d.w1[k * hidden + j] += x[i * in + k] * dh_[i][j];
    }
    return loss / N;
  }
};

} // namespace digits::plain_loops

#endif
