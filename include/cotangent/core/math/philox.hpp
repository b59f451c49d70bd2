// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_PHILOX_HPP
#define COTANGENT_CORE_MATH_PHILOX_HPP

#include <cotangent/core/math/lanes.hpp>

#include <cstdint>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The four 32-bit words that Philox 4x32-10 computes from a counter and a key, without any other state.
///
/// V: a std::uint64_t or a vector of them, whose low halves hold the words.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
template <class V> struct philox_words {
  V w0, w1, w2, w3;
};

template <class V>
COTANGENT_FORMULA constexpr philox_words<V> philox(philox_words<V> const& counter, V const& key0, V const& key1) {
  using lane = lane_t<V>;
  philox_words<V> x = counter;
  V k0 = key0, k1 = key1;
  V const low = broadcast<V>(lane{0xFFFFFFFF});
  for (int round = 0; round < 10; ++round) {
    V const a = static_cast<V>(x.w0 * broadcast<V>(lane{0xD2511F53}));
    V const b = static_cast<V>(x.w2 * broadcast<V>(lane{0xCD9E8D57}));
    x = {static_cast<V>((b >> 32) ^ x.w1 ^ k0), static_cast<V>(b & low),
         static_cast<V>((a >> 32) ^ x.w3 ^ k1), static_cast<V>(a & low)};
    k0 = static_cast<V>((k0 + broadcast<V>(lane{0x9E3779B9})) & low);
    k1 = static_cast<V>((k1 + broadcast<V>(lane{0xBB67AE85})) & low);
  }
  return x;
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
