// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_DEPTHWISE_HPP
#define COTANGENT_KERNELS_DEPTHWISE_HPP

#include <cotangent/core/stencil.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

// Convolution of each channel by itself (depthwise), also of images with a single channel: sums over taps, whose terms are read from
// the image. A matrix product would have one column.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
namespace detail {

/// The element that a tap of a result reads, along one axis. Results are windows and elements are pixels, or, for the adjoint, the
/// other way round.
struct tap_axis {
  std::int64_t results, elements, step, border, spread, taps;
  bool adjoint;

  /// -1 if there is none.
  constexpr std::int64_t at(std::int64_t result, std::int64_t tap) const noexcept {
    std::int64_t k = adjoint ? result + border - tap * spread : result * step - border + tap * spread;
    if (adjoint && step > 1) {
      if (k < 0 || k % step != 0) return -1;
      k /= step;
    }
    return k >= 0 && k < elements ? k : -1;
  }
  /// The results that have elements for all taps, and equal distances from one to the next.
  constexpr cotangent::detail::stencil::range complete() const noexcept {
    std::int64_t const reach = (taps - 1) * spread;
    cotangent::detail::stencil::range r{(border + step - 1) / step, (elements - 1 + border - reach + step) / step};
    if (elements + border <= reach) r.end = 0;
    if (adjoint) r = {reach > border ? reach - border : 0, step > 1 ? 0 : elements - border};
    if (r.end > results) r.end = results;
    if (r.end < r.first) r.end = r.first;
    return r;
  }
  constexpr bool is_complete() const noexcept { return complete().first == 0 && complete().end == results; }
  /// The distance of their elements.
  constexpr std::int64_t pace() const noexcept { return adjoint ? 1 : step; }
};

/// The taps of one result: where their elements, and where their weights begin.
template <class T> struct tap_list {
  T const** from;
  T const** weight;
  std::int64_t count = 0;
};

template <bool Adjoint, class V> COTANGENT_INLINE V add_term(V const& x, V const& w, V const& sum) {
  if constexpr (Adjoint) return sum + math::mul(x, w); // rounded by itself, as in a product of one term that is added
  else return math::fma(x, w, sum);
}

/// Calls `f(integral constant U, first)` for parts of 1 to 5 of n, few of them short: independent sums hide the latency of additions.
template <class F> COTANGENT_INLINE void in_parts(std::int64_t n, F f) {
  for (std::int64_t k = 0, u = 0; k < n; k += u) {
    std::int64_t const left = n - k;
    u = left <= 5 ? left : left == 6 ? 3 : left <= 8 ? 4 : 5;
    switch (u) {
    case 1: f(std::integral_constant<int, 1>(), k); break;
    case 2: f(std::integral_constant<int, 2>(), k); break;
    case 3: f(std::integral_constant<int, 3>(), k); break;
    case 4: f(std::integral_constant<int, 4>(), k); break;
    default: f(std::integral_constant<int, 5>(), k);
    }
  }
}

/// U packs of results at `to(u)`, of elements at `from(u)`; `weight(t, u)` is the pack of weights.
template <int U, bool Adjoint, class T, class Lanes, class From, class To, class Weight>
COTANGENT_INLINE void sum_taps(tap_list<T> const& taps, Lanes lanes, From from, To to, Weight weight) {
  using V = simd::pack<T, simd::width<T>>;
  V sum[U]{};
  for (std::int64_t t = 0; t < taps.count; ++t)
    for (int u = 0; u < U; ++u) sum[u] = detail::add_term<Adjoint, V>(lanes(taps.from[t] + from(u)), weight(t, u), sum[u]);
  for (int u = 0; u < U; ++u) lanes(to(u), sum[u]);
}

/// Loads and stores whole packs, or the first `count` lanes.
template <class T, bool Whole> struct lanes_of {
  using V = simd::pack<T, simd::width<T>>;
  std::int64_t count;
  COTANGENT_INLINE V operator()(T const* p) const {
    if constexpr (Whole) return simd::load<V>(p);
    else return simd::load<V>(p, count);
  }
  COTANGENT_INLINE void operator()(T* p, V const& v) const {
    if constexpr (Whole) simd::store(p, v);
    else simd::store(p, v, count);
  }
};
template <class T, class F> COTANGENT_INLINE void with_lanes(std::int64_t count, F f) {
  if (count >= simd::width<T>) f(lanes_of<T, true>{count});
  else f(lanes_of<T, false>{count});
}

/// `count` results side by side, of `channels` elements each; their elements are `pace` apart. Lanes are channels.
template <bool Adjoint, class T>
[[gnu::noinline]] void sum_channels(tap_list<T> const& taps, std::int64_t count, std::int64_t channels, std::int64_t pace, T* to) {
  constexpr std::int64_t w = simd::width<T>;
  for (std::int64_t l = 0; l < channels; l += w)
    detail::with_lanes<T>(channels - l, [&](auto lanes) {
      auto const weight = [&](std::int64_t t, int) { return lanes(taps.weight[t] + l); };
      detail::in_parts(count, [&]<int U>(std::integral_constant<int, U>, std::int64_t c) {
        detail::sum_taps<U, Adjoint>(
            taps, lanes, [&](int u) { return (c + u) * pace + l; }, [&](int u) { return to + (c + u) * channels + l; }, weight);
      });
    });
}
/// The same where the elements of all follow each other: lanes are (result, channel), and weights repeat from lane to lane, `channels` +
/// width of them.
template <bool Adjoint, class T> [[gnu::noinline]] void sum_line(tap_list<T> const& taps, std::int64_t count, std::int64_t channels, T* to) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  std::int64_t const n = count * channels;
  auto const sum = [&]<int U>(std::integral_constant<int, U>, std::int64_t k, auto lanes) {
    std::int64_t at[U], phase[U]{}; // the last pack ends where the line ends, and computes some results again
    for (int u = 0; u < U; ++u) at[u] = n < w || k + (u + 1) * w <= n ? k + u * w : n - w;
    auto const place = [&](int u) { return at[u]; };
    auto const result = [&](int u) { return to + at[u]; };
    if (channels == 1)
      return detail::sum_taps<U, Adjoint>(taps, lanes, place, result, [&](std::int64_t t, int) { return math::broadcast<V>(taps.weight[t][0]); });
    for (int u = 0; u < U; ++u) phase[u] = at[u] % channels;
    detail::sum_taps<U, Adjoint>(taps, lanes, place, result, [&](std::int64_t t, int u) { return simd::load<V>(taps.weight[t] + phase[u]); });
  };
  if (n < w) return sum(std::integral_constant<int, 1>(), 0, lanes_of<T, false>{n});
  detail::in_parts((n + w - 1) / w, [&](auto u, std::int64_t k) { sum(u, k * w, lanes_of<T, true>{w}); });
}

/// U sums of terms x y over windows, of one pack of channels each. Windows are `pace` and `channels` elements apart.
template <int U, class T, class Lanes, class Y>
COTANGENT_INLINE void add_windows(T const* const* from, std::int64_t offset, std::int64_t pace, std::int64_t count, T* sum, std::int64_t step, Lanes lanes, Y y) {
  typename Lanes::V s[U];
  for (int u = 0; u < U; ++u) s[u] = lanes(sum + u * step);
  for (std::int64_t c = 0; c < count; ++c) {
    auto const dy = y(c);
    for (int u = 0; u < U; ++u) s[u] = math::fma(lanes(from[u] + (offset + c * pace)), dy, s[u]);
  }
  for (int u = 0; u < U; ++u) lanes(sum + u * step, s[u]);
}
} // namespace detail

/// A depthwise convolution: x [image, height, width, channel], w [tap, channel], y [window, channel]. The terms of each sum are added in
/// the order of the taps, or of the windows, as convolve does. Precondition: at most 128 taps, so that a sum is one chain.
/// Checked: tests/runtime/convolution_kernels.cpp
template <class T> struct depthwise {
  static constexpr std::int64_t most_taps = 128, chain = 128, w = simd::width<T>;

  cotangent::detail::stencil const& z;

  /// Pointers for two lists, zeros for a row, weights or a chain of sums.
  static constexpr std::int64_t scratch_bytes(cotangent::detail::stencil const& z) noexcept {
    return z.taps() * 2 * static_cast<std::int64_t>(sizeof(T const*)) + (row_elements(z) + z.taps() * (z.channels + w)) * static_cast<std::int64_t>(sizeof(T));
  }
  static constexpr std::int64_t row_elements(cotangent::detail::stencil const& z) noexcept {
    return ((z.width > z.columns * z.step_right ? z.width : z.columns * z.step_right) + 1) * z.channels + w;
  }
  detail::tap_axis down(bool adjoint) const noexcept {
    return {adjoint ? z.height : z.rows, adjoint ? z.rows : z.height, z.step_down, z.above, z.spread_down, z.tall, adjoint};
  }
  detail::tap_axis across(bool adjoint) const noexcept {
    return {adjoint ? z.width : z.columns, adjoint ? z.columns : z.width, z.step_right, z.left, z.spread_right, z.wide, adjoint};
  }
  struct memory {
    detail::tap_list<T> taps;
    T *zeros, *rest;
    memory(char* scratch, cotangent::detail::stencil const& z, bool with_zeros) {
      taps.from = reinterpret_cast<T const**>(scratch);
      taps.weight = taps.from + z.taps();
      zeros = reinterpret_cast<T*>(taps.weight + z.taps());
      rest = zeros + row_elements(z);
      if (with_zeros) std::memset(zeros, 0, static_cast<std::size_t>(row_elements(z)) * sizeof(T));
    }
  };

  /// Calls `f(offset of the element, or -1, tap)` for the taps of result (r, c), in the order of the terms. Elements beyond the image count as
  /// zeros; the adjoint leaves them out.
  template <bool Adjoint, class F>
  COTANGENT_INLINE void for_taps(detail::tap_axis const& down, detail::tap_axis const& across, std::int64_t image, std::int64_t r, std::int64_t c, F f) const {
    for (std::int64_t i = 0; i < z.tall; ++i) {
      std::int64_t const di = Adjoint ? z.tall - 1 - i : i, y = down.at(r, di), row = (image * down.elements + y) * across.elements; // (the order of the windows)
      if (Adjoint && y < 0) continue;
      for (std::int64_t j = 0; j < z.wide; ++j) {
        std::int64_t const dj = Adjoint ? z.wide - 1 - j : j, x = across.at(c, dj);
        if (!Adjoint || x >= 0) f(y >= 0 && x >= 0 ? (row + x) * z.channels : -1, di * z.wide + dj);
      }
    }
  }

  template <bool Adjoint>
  COTANGENT_INLINE void list(memory& m, detail::tap_axis const& down, detail::tap_axis const& across, std::int64_t image, std::int64_t r, std::int64_t c,
                             T const* from, T const* weights, std::int64_t weight_step) const {
    m.taps.count = 0;
    for_taps<Adjoint>(down, across, image, r, c, [&](std::int64_t at, std::int64_t tap) {
      m.taps.from[m.taps.count] = at < 0 ? m.zeros : from + at;
      m.taps.weight[m.taps.count++] = weights + tap * weight_step;
    });
  }

  /// The result from the image, or the image from the result.
  template <bool Adjoint> void run(T const* from, T const* weights, T* to, char* scratch) const noexcept {
    detail::tap_axis const down = this->down(Adjoint), across = this->across(Adjoint);
    memory m(scratch, z, !Adjoint && !(down.is_complete() && across.is_complete()));
    cotangent::detail::stencil::range const whole = across.complete();
    std::int64_t const channels = z.channels, pace = across.pace() * channels;
    bool const lines = channels < w && across.pace() == 1;
    std::int64_t weight_step = channels;
    if (lines && channels > 1) { // repeated
      weight_step = channels + w;
      for (std::int64_t t = 0; t < z.taps(); ++t)
        for (std::int64_t k = 0; k < weight_step; ++k) m.rest[t * weight_step + k] = weights[t * channels + k % channels];
      weights = m.rest;
    }
    for (std::int64_t image = 0; image < z.images; ++image)
      for (std::int64_t r = 0; r < down.results; ++r)
        for (std::int64_t c = 0, n = 0; c < across.results; c += n, to += n * channels) {
          bool const complete = c == whole.first && whole.end > c;
          n = complete ? whole.end - c : 1;
          if (lines && !complete) { // few lanes
            for (std::int64_t k = 0; k < channels; ++k) {
              T sum{};
              for_taps<Adjoint>(down, across, image, r, c, [&](std::int64_t at, std::int64_t tap) {
                sum = detail::add_term<Adjoint, T>(at < 0 ? T{} : from[at + k], weights[tap * weight_step + k], sum);
              });
              to[k] = sum;
            }
            continue;
          }
          list<Adjoint>(m, down, across, image, r, c, from, weights, weight_step);
          if (lines) detail::sum_line<Adjoint>(m.taps, n, channels, to);
          else detail::sum_channels<Adjoint>(m.taps, n, channels, pace, to);
        }
  }

  /// The weights, from the image and the cotangent of the result.
  void run_weights(T const* x, T const* y, T* weights, char* scratch) const noexcept {
    detail::tap_axis const down = this->down(false), across = this->across(false);
    memory m(scratch, z, !(down.is_complete() && across.is_complete()));
    cotangent::detail::stencil::range const whole = across.complete();
    std::int64_t const channels = z.channels, pace = across.pace() * channels, all = z.positions(), elements = z.taps() * channels;
    cotangent::detail::stencil_position at;
    for (std::int64_t p = 0; p < all;) {
      std::int64_t const end = all - p < chain ? all : p + chain, first = p;
      std::memset(m.rest, 0, static_cast<std::size_t>(elements) * sizeof(T));
      for (std::int64_t n = 0; p < end; p += n) {
        bool const complete = at.column >= whole.first && at.column < whole.end;
        n = !complete ? 1 : whole.end - at.column < end - p ? whole.end - at.column : end - p;
        list<false>(m, down, across, at.image, at.row, at.column, x, weights, 0);
        add(m, n, pace, complete && channels == 1 && z.spread_right == 1, y + p * channels);
        at.column += n - 1, at.next(z);
      }
      for (std::int64_t k = 0; k < elements; ++k) weights[k] = first == 0 ? m.rest[k] : weights[k] + m.rest[k];
    }
  }
  /// Adds the terms of n windows of a row; taps of a row that follow each other are lanes.
  [[gnu::noinline]] void add(memory const& m, std::int64_t n, std::int64_t pace, bool taps_are_lanes, T const* y) const noexcept {
    using V = simd::pack<T, simd::width<T>>;
    if (taps_are_lanes) {
      for (std::int64_t j = 0; j < z.wide; j += w)
        detail::with_lanes<T>(z.wide - j, [&](auto lanes) {
          detail::in_parts(z.tall, [&]<int U>(std::integral_constant<int, U> u, std::int64_t i) {
            T const* from[U];
            for (int k = 0; k < u; ++k) from[k] = m.taps.from[(i + k) * z.wide + j];
            detail::add_windows<U>(from, 0, pace, n, m.rest + i * z.wide + j, z.wide, lanes, [&](std::int64_t c) { return math::broadcast<V>(y[c]); });
          });
        });
      return;
    }
    std::int64_t const channels = z.channels;
    for (std::int64_t l = 0; l < channels; l += w)
      detail::with_lanes<T>(channels - l, [&](auto lanes) {
        detail::in_parts(z.taps(), [&]<int U>(std::integral_constant<int, U>, std::int64_t t) {
          detail::add_windows<U>(m.taps.from + t, l, pace, n, m.rest + t * channels + l, channels, lanes, [&](std::int64_t c) { return lanes(y + c * channels + l); });
        });
      });
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
