// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SORT_HPP
#define COTANGENT_KERNELS_SORT_HPP

#include <cotangent/core/abi.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// An element as an unsigned number of the same order, and its position.
template <class U> struct sort_record {
  U key, position;
};

template <class T> using sort_key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// In the order of the elements; both zeros are equal, as are all NaNs, which are last. (By the bits: with -ffast-math, comparisons ignore
/// NaNs.)
template <class T> sort_key<T> sort_key_of(T x) noexcept {
  using U = sort_key<T>;
  constexpr U sign = U(1) << (8 * sizeof(T) - 1);
  U const bits = std::bit_cast<U>(x);
  if constexpr (std::is_integral_v<T>) return bits ^ sign;
  else {
    constexpr U infinity = sizeof(T) == 4 ? U(0x7F800000) : static_cast<U>(0x7FF0000000000000);
    U const size = bits & ~sign;
    return size > infinity ? ~U(0) : bits > sign ? ~bits : size | sign;
  }
}

/// Below this number of elements, sorting by digits takes longer than a heapsort.
inline constexpr std::int64_t least_sorted_by_digits = 128;

/// Sorts the n records, which are in the order of their positions, from the smallest key on; equal keys keep their order. Returns the
/// sorted ones, either `from` or `other`, n records too. A stable counting sort for each byte of the keys that differs among them.
template <class U> sort_record<U> const* sort_by_digits(sort_record<U>* from, sort_record<U>* other, std::int64_t n) noexcept {
  constexpr int digits = sizeof(U);
  U counts[digits][256]{};
  bool sorted = true;
  U last = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    U const key = from[k].key;
    sorted = sorted && last <= key;
    last = key;
    for (int d = 0; d < digits; ++d) ++counts[d][key >> (8 * d) & 255u];
  }
  for (int d = 0; d < digits && !sorted; ++d) {
    U* const place = counts[d];
    if (place[last >> (8 * d) & 255u] == static_cast<U>(n)) continue;
    for (U sum = 0, next, k = 0; k < 256; ++k, sum = next) next = sum + place[k], place[k] = sum;
    for (std::int64_t k = 0; k < n; ++k) other[place[from[k].key >> (8 * d) & 255u]++] = from[k];
    sort_record<U>* const filled = other;
    other = from, from = filled;
  }
  return from;
}

/// The positions of n elements from the smallest on. `scratch` has 2 n records. Precondition: n fits in a key.
template <class T> void argsort(T const* x, std::int64_t* y, std::int64_t n, sort_record<sort_key<T>>* scratch) noexcept {
  using U = sort_key<T>;
  for (std::int64_t k = 0; k < n; ++k) scratch[k] = {kernels::sort_key_of(x[k]), static_cast<U>(k)};
  sort_record<U> const* const order = kernels::sort_by_digits(scratch, scratch + n, n);
  for (std::int64_t k = 0; k < n; ++k) y[k] = static_cast<std::int64_t>(order[k].position);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
