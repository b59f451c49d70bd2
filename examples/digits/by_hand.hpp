// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_BY_HAND_HPP
#define COTANGENT_EXAMPLES_DIGITS_BY_HAND_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/hyperbolic.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/kernels/matrix/matmul.hpp>
#include <cotangent/kernels/simd.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// The gradient step of network.hpp, written by hand around the library's matrix products and elementary functions. The
// generated step is compared with it.

namespace digits::by_hand {

namespace math = cotangent::math;
namespace simd = cotangent::simd;
namespace kernels = cotangent::kernels;

inline namespace COTANGENT_ABI {

using pack = simd::pack<float, simd::width<float>>;
using ints = math::bits_t<pack>;
inline constexpr int width = simd::width<float>;

struct parameters {
  float const *w1, *b1, *w2, *b2;
};
struct gradients {
  float *w1, *b1, *w2, *b2;
};

/// The mean loss of N images of 64 pixels, and its gradient: 64 -> 32 tanh -> 10.
template <int N>
class step {
  static constexpr int in = 64, hidden = 32, out = 10;
  static constexpr int parts = hidden / width;                   // registers per row of the hidden layer
  static constexpr int stride = (N + width - 1) / width * width; // logits are transposed, with images in lanes
  alignas(64) float h_[N * hidden], dh_[N * hidden], z_[out * stride]{};
  static constexpr std::int64_t scratch(std::int64_t m, std::int64_t n, std::int64_t k) {
    return kernels::matmul_scratch_bytes<float>(m, n, k);
  }
  static constexpr std::int64_t largest = // scratch of the five products below
      std::max({std::int64_t{1}, scratch(N, hidden, in), scratch(out, N, hidden), scratch(hidden, out, N),
                scratch(N, hidden, out), scratch(in, hidden, N)});
  alignas(64) unsigned char scratch_[static_cast<std::size_t>(largest)];

  COTANGENT_INLINE static pack larger(pack const& a, pack const& b) { return a > b ? a : b; }

  COTANGENT_INLINE void hidden_layer(float const* bias) {
    pack b[parts];
    for (int k = 0; k < parts; ++k) b[k] = simd::load<pack>(bias + k * width);
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < parts; ++k) {
        float* const h = h_ + i * hidden + k * width;
        simd::store(h, math::tanh<pack>(simd::load<pack>(h) + b[k]));
      }
  }

  // Replaces the logits by their cotangents; returns the sum of the losses.
  COTANGENT_INLINE float cross_entropy(float const* bias, std::int32_t const* labels, float* db) {
    constexpr float each = 1.f / N;
    pack loss{}, sums[out]{};
    for (int first = 0; first < N; first += width) {
      auto const inside = simd::first<math::mask_t<pack>>(N - first);
      ints wanted;
      if (first + width <= N) wanted = simd::load<ints>(labels + first);
      else wanted = simd::load<ints>(labels + first, N - first);
      pack z[out];
      for (int c = 0; c < out; ++c)
        z[c] = simd::load<pack>(z_ + c * stride + first) + math::broadcast<pack>(bias[c]);
      pack top[2] = {larger(z[0], z[1]), larger(z[2], z[3])};
      for (int c = 4; c < out; ++c) top[c % 2] = larger(top[c % 2], z[c]);
      pack const m = larger(top[0], top[1]);
      pack s[2]{}, chosen{};
      for (int c = 0; c < out; ++c) {
        chosen = math::select(wanted == math::broadcast<ints>(c), z[c], chosen);
        z[c] = math::exp<pack>(z[c] - m);
        s[c % 2] += z[c];
      }
      pack const all = s[0] + s[1];
      pack const l = math::log<pack>(all) + m - chosen;
      pack const scale = math::broadcast<pack>(each) / all;
      if (first + width <= N) loss += l;
      else loss += math::select(inside, l, pack{});
      for (int c = 0; c < out; ++c) {
        pack d = z[c] * scale -
                 math::select(wanted == math::broadcast<ints>(c), math::broadcast<pack>(each), pack{});
        if (first + width > N) d = math::select(inside, d, pack{});
        simd::store(z_ + c * stride + first, d);
        sums[c] += d;
      }
    }
    for (int c = 0; c < out; ++c) db[c] = simd::sum<pack>(sums[c]);
    return simd::sum<pack>(loss) * each;
  }

  // dh *= 1 - h^2; also sums dh over the images.
  COTANGENT_INLINE void hidden_layer_backward(float* db) {
    pack sums[2][parts]{};
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < parts; ++k) {
        float* const at = dh_ + i * hidden + k * width;
        pack const h = simd::load<pack>(h_ + i * hidden + k * width), g = simd::load<pack>(at);
        pack const d = g - g * (h * h);
        simd::store(at, d);
        sums[i % 2][k] += d;
      }
    for (int k = 0; k < parts; ++k) simd::store<pack>(db + k * width, sums[0][k] + sums[1][k]);
  }

public:
  // [by hand]
  float operator()(parameters const& p, float const* x, std::int32_t const* labels, gradients const& d) {
    float* const s = reinterpret_cast<float*>(scratch_);
    using kernels::matmul;
    matmul<false, false, N, hidden, in>(x, in, p.w1, hidden, h_, hidden, s);
    hidden_layer(p.b1);
    matmul<true, true, out, N, hidden>(p.w2, out, h_, hidden, z_, stride, s);
    float const loss = cross_entropy(p.b2, labels, d.b2);
    matmul<true, true, hidden, out, N>(h_, hidden, z_, stride, d.w2, out, s);
    matmul<true, true, N, hidden, out>(z_, stride, p.w2, out, dh_, hidden, s);
    hidden_layer_backward(d.b1);
    matmul<true, false, in, hidden, N>(x, in, dh_, hidden, d.w1, hidden, s);
    return loss;
  }
  // [/by hand]
};

} // namespace COTANGENT_ABI
} // namespace digits::by_hand

#endif
