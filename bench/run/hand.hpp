// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_HAND_HPP
#define COTANGENT_BENCH_RUN_HAND_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstddef>
#include <limits>
#include <utility>

// Parts of the hand-written gradients. They use the library's elementary functions, so that both sides differ only in the
// arrangement of the loops.

namespace bench::hand {

namespace math = cotangent::math;
namespace simd = cotangent::simd;

/// One register of elements.
template <class T>
using wide = simd::pack<T, simd::width<T>>;
template <class T>
inline constexpr std::ptrdiff_t width = simd::width<T>;

/// The larger one, in one instruction: a NaN may be lost.
template <class V>
COTANGENT_INLINE V larger(V const& a, V const& b) {
  return a > b ? a : b;
}

template <class V>
COTANGENT_INLINE auto largest(V const& v) {
  if constexpr (math::lanes<V> == 1) return v;
  else {
    auto const h = math::split(v);
    return largest(larger(h.low, h.high));
  }
}

/// The first `count` lanes of memory, `other` in the rest.
template <class V>
COTANGENT_INLINE V load_or(math::lane_t<V> const* p, std::ptrdiff_t count, math::lane_t<V> other) {
  return math::select(simd::first<math::mask_t<V>>(count), simd::load<V>(p, count),
                      math::broadcast<V>(other));
}

// One step of a reduction of several registers at once: lanes with the bit Step clear come from a, the others from b,
// each combined with its partner.
template <int Step, class V, class F, int... I>
COTANGENT_INLINE V merge(V const& a, V const& b, F f, std::integer_sequence<int, I...>) {
  constexpr int w = math::lanes<V>;
  return f(V(__builtin_shufflevector(a, b, ((I & Step) ? w + I - Step : I)...)),
           V(__builtin_shufflevector(a, b, ((I & Step) ? w + I : I + Step)...)));
}

// Lane r of the result is register r reduced over its lanes.
template <int Step, class V, class F>
COTANGENT_INLINE V reduce_each(V* v, F f) {
  for (int i = 0; i < Step; ++i)
    v[i] = merge<Step>(v[i], v[i + Step], f, std::make_integer_sequence<int, math::lanes<V>>{});
  if constexpr (Step == 1) return v[0];
  else return reduce_each<Step / 2>(v, f);
}

template <class T>
inline constexpr T lowest = -std::numeric_limits<T>::infinity();

} // namespace bench::hand

#endif
