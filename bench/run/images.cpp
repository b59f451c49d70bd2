// SPDX-License-Identifier: BSL-1.0
// Convolutions of each channel by itself, with gradients, against loops by hand over a padded image: 3 x 3 taps on 64 channels, and 5 x 5
// taps on an image of one channel.
#include "graphs.hpp"
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/images.hpp>

#include <algorithm>
#include <cstring>

namespace {

using namespace bench::hand;

/// Half the sum of squares of a depthwise convolution, whose result has the size of the image. Four registers of channels
/// at a time, or of columns if there is one channel.
template <int Side, int Channels, int Taps> struct filter {
  static constexpr int border = Taps / 2, line = (Side + 2 * border) * Channels, row = Side * Channels, pixels = Side * row;
  using V = simd::pack<float, simd::width<float>>;
  static constexpr int width = simd::width<float>, lanes = 4 * width; // at once
  static_assert(row % lanes == 0 && (Channels == 1 || Channels % lanes == 0));
  static constexpr int padded = (Side + 2 * border) * line + lanes;

  static float const* tap(float const* image, int i, int k, int t) { return image + (i + t / Taps) * line + k + t % Taps * Channels; }
  /// Results of a row from lane k on: of one pixel, or of several.
  static void forward(float const* image, float const* w, float* y) {
    for (int i = 0; i < Side; ++i)
      for (int k = 0; k < row; k += lanes) {
        V sum[4]{};
        for (int t = 0; t < Taps * Taps; ++t) {
          float const *const x = tap(image, i, k, t), *const weight = w + (Channels == 1 ? t : t * Channels + k % Channels);
          for (int c = 0; c < 4; ++c) sum[c] = math::fma(simd::load<V>(x + c * width), Channels == 1 ? math::broadcast<V>(*weight) : simd::load<V>(weight + c * width), sum[c]);
        }
        for (int c = 0; c < 4; ++c) simd::store(y + i * row + k + c * width, sum[c]);
      }
  }
  /// `memory`: two padded images.
  static void sweep(float const* x, float const* w, float* value, float* dx, float* dw, float* memory) {
    float *const image = memory, *const cotangent = memory + padded;
    std::memset(memory, 0, 2 * padded * sizeof(float));
    auto const inside = [](float* p, int i) { return p + (i + border) * line + border * Channels; };
    for (int i = 0; i < Side; ++i) std::copy(x + i * row, x + (i + 1) * row, inside(image, i));
    forward(image, w, dx);
    V total[4]{};
    for (int i = 0; i < Side; ++i) {
      for (int k = 0; k < row; k += lanes)
        for (int c = 0; c < 4; ++c) {
          V const y = simd::load<V>(dx + i * row + k + c * width);
          total[c] = math::fma(y, y, total[c]);
        }
      std::copy(dx + i * row, dx + (i + 1) * row, inside(cotangent, i));
    }
    *value = 0;
    for (V const& part : total)
      for (int c = 0; c < width; ++c) *value += .5f * part[c];
    // a row of taps at a time, each with a register of channels, or of columns
    for (int first = 0; first < Taps * Taps; first += Taps)
      for (int part = 0; part < (Channels == 1 ? 1 : Channels); part += width) {
        V sum[Taps]{};
        for (int i = 0; i < Side; ++i)
          for (int k = part; k < row; k += Channels == 1 ? width : Channels) {
            V const dy = simd::load<V>(inside(cotangent, i) + k);
            for (int t = 0; t < Taps; ++t) sum[t] = math::fma(simd::load<V>(tap(image, i, k, first + t)), dy, sum[t]);
          }
        for (int t = 0; t < Taps; ++t)
          if (Channels > 1) simd::store(dw + (first + t) * Channels + part, sum[t]);
          else {
            dw[first + t] = 0;
            for (int c = 0; c < width; ++c) dw[first + t] += sum[t][c];
          }
      }
    float flipped[Taps * Taps * Channels];
    for (int t = 0; t < Taps * Taps; ++t) std::copy(w + t * Channels, w + (t + 1) * Channels, flipped + (Taps * Taps - 1 - t) * Channels);
    forward(cotangent, flipped, dx);
  }
};

inline constexpr auto depthwise = [](auto x, auto w) { return .5f * ct::sum(ct::square(ct::conv2d<ct::convolution{.padding = 1, .groups = 64}>(x, w))); };
inline constexpr auto single = [](auto x, auto w) { return .5f * ct::sum(ct::square(ct::conv2d<ct::convolution{.padding = 2}>(x, w))); };

template <int Side, int Channels, int Taps, class F> void measure(bench::suite& suite, char const* name, char const* size, F f) {
  using hand = filter<Side, Channels, Taps>;
  constexpr int weights = Taps * Taps * Channels;
  bench::buffer<float> x(hand::pixels), w(weights), dx(hand::pixels), dw(weights), value(16), memory(2 * hand::padded);
  bench::numbers random;
  random.fill(x, -1.f, 1.f);
  random.fill(w, -1.f, 1.f);
  float *const in = x.data(), *const by = w.data(), *const v = value.data(), *const d = dx.data(), *const e = dw.data(), *const m = memory.data();
  bench::comparison c{name, "float", size, hand::pixels, {}, {}, {}, {}};
  c.results = {bench::written("value", v, 1, hand::pixels), bench::written("dx", d, hand::pixels, 2 * Taps * Taps), bench::written("dw", e, weights, Side * Side)};
  c.hand = {bench::named("sweep", [=] { hand::sweep(in, by, v, d, e, m); })};
  using image = ct::view<float const, 1, Side, Side, Channels>;
  using taps = ct::view<float const, Taps, Taps, 1, Channels>;
  bench::run_both<0, 1>(suite, c, f, bench::into(*v, ct::view<float, 1, Side, Side, Channels>(d), ct::view<float, Taps, Taps, 1, Channels>(e)), image(in), taps(by));
}

bench::entry const e("images", [](bench::suite& suite) {
  measure<32, 64, 3>(suite, "images: depthwise convolution", "32x32x64", depthwise);
  measure<256, 1, 5>(suite, "images: filter of one channel", "256x256", single);
});

} // namespace
