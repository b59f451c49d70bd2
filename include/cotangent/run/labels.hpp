// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_LABELS_HPP
#define COTANGENT_RUN_LABELS_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/plan/label_checks.hpp>

#include <cstdint>
#include <limits>

// Checks the elements of labels that are arguments.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

template <class T> bool are_labels(T const* x, std::int64_t count, std::int64_t classes) noexcept {
  using V = simd::pack<T, simd::width<T>>;
  using M = math::mask_t<V>;
  constexpr std::int64_t w = simd::width<T>;
  std::int64_t k = 0;
  bool good = true;
  if (count >= w) {
    constexpr std::int64_t highest = std::numeric_limits<T>::max();
    V const most = math::broadcast<V>(static_cast<T>(classes <= highest ? classes - 1 : highest)), zero{};
    M bad{};
    for (; k + w <= count; k += w) {
      V const v = simd::load<V>(x + k);
      bad = math::logical_or<M>(bad, math::logical_or<M>(v < zero, v > most));
    }
    good = !math::any(bad);
  }
  for (std::int64_t j = 0; j < w && k + j < count; ++j) good &= x[k + j] >= 0 && x[k + j] < classes; // (with a bound that g++ sees)
  return good;
}
inline bool are_labels(label_check const& c, void const* x, std::int64_t count, std::int64_t classes) noexcept {
  return c.type == element::int32 ? are_labels(static_cast<std::int32_t const*>(x), count, classes)
                                  : are_labels(static_cast<std::int64_t const*>(x), count, classes);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
