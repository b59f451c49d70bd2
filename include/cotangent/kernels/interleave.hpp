// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_INTERLEAVE_HPP
#define COTANGENT_KERNELS_INTERLEAVE_HPP

#include <cotangent/kernels/simd_join.hpp>

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Columns of a matrix of few columns, whose elements are consecutive in memory, as vectors.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// Lane i of the result is lane `from(i)` of the vectors one after another, by one shuffle for each vector after the first.
template <int K, class From, class V, std::size_t N, int... I>
COTANGENT_INLINE V gather_lanes(From from, V const& before, V const (&all)[N], std::integer_sequence<int, I...> lanes) {
  constexpr int w = simd::lanes<V>;
  // of the vectors up to K: lanes of later ones are of any value
  constexpr auto lane = [](int i) {
    int const at = From()(i), k = at / w;
    return k == K ? w + at % w : k > K ? -1 : K == 1 ? at : i;
  };
  V const y = simd::shuffle<lane(I)...>(before, all[K]);
  if constexpr (K + 1 < static_cast<int>(N)) return detail::gather_lanes<K + 1>(from, y, all, lanes);
  else return y;
}
template <class From, class V, std::size_t N> COTANGENT_INLINE V gather_lanes(From from, V const (&all)[N]) {
  return detail::gather_lanes<1>(from, all[0], all, std::make_integer_sequence<int, simd::lanes<V>>());
}
/// The lanes of column J among the vectors of rows, and of vector J of rows among the columns.
template <int Columns, int J> struct column_lane {
  constexpr int operator()(int i) const { return i * Columns + J; }
};
template <int Columns, int J, int W> struct row_lane {
  constexpr int operator()(int i) const { return (J * W + i) % Columns * W + (J * W + i) / Columns; }
};

/// The elements of vector J among those of the first `count` rows.
template <class V, int Columns, int J> COTANGENT_INLINE std::ptrdiff_t elements_left(std::ptrdiff_t count) {
  std::ptrdiff_t const left = count * Columns - J * simd::lanes<V>;
  return left < 0 ? 0 : left < simd::lanes<V> ? left : simd::lanes<V>;
}

/// `load` and `store` access vector J of the rows.
template <class V, std::size_t N, class Load, std::size_t... J>
COTANGENT_INLINE void load_columns(V (&columns)[N], Load const& load, std::index_sequence<J...>) {
  constexpr int n = static_cast<int>(N);
  V const rows[]{load(std::integral_constant<int, static_cast<int>(J)>())...};
  static_cast<void>(std::initializer_list<int>{(columns[J] = detail::gather_lanes(column_lane<n, static_cast<int>(J)>(), rows), 0)...});
}
template <class V, std::size_t N, class Store, std::size_t... J>
COTANGENT_INLINE void store_columns(V const (&columns)[N], Store const& store, std::index_sequence<J...>) {
  constexpr int w = simd::lanes<V>, n = static_cast<int>(N);
  static_cast<void>(std::initializer_list<int>{
      (store(std::integral_constant<int, static_cast<int>(J)>(), detail::gather_lanes(row_lane<n, static_cast<int>(J), w>(), columns)), 0)...});
}

} // namespace detail

/// Lane i of columns[j] is p[i * N + j].
/// Checked: tests/runtime/movement_kernels.cpp
template <class V, std::size_t N, class T> COTANGENT_INLINE void load_columns(V (&columns)[N], T const* p) {
  detail::load_columns(
      columns, [&](auto j) __attribute__((always_inline)) { return simd::load<V>(p + j * simd::lanes<V>); }, std::make_index_sequence<N>());
}
/// p[i * N + j] is lane i of columns[j].
/// Checked: tests/runtime/movement_kernels.cpp
template <class V, std::size_t N, class T> COTANGENT_INLINE void store_columns(V const (&columns)[N], T* p) {
  detail::store_columns(
      columns, [&](auto j, V const& row) __attribute__((always_inline)) { simd::store(p + j * simd::lanes<V>, row); },
      std::make_index_sequence<N>());
}
/// The same for the first `count` rows; the other lanes are zero, and memory behind them is not touched.
/// Checked: tests/runtime/movement_kernels.cpp
template <class V, std::size_t N, class T> COTANGENT_INLINE void load_columns(V (&columns)[N], T const* p, std::ptrdiff_t count) {
  detail::load_columns(
      columns,
      [&](auto j) __attribute__((always_inline)) {
        return simd::load<V>(p + j * simd::lanes<V>, detail::elements_left<V, static_cast<int>(N), decltype(j)::value>(count));
      },
      std::make_index_sequence<N>());
}
template <class V, std::size_t N, class T> COTANGENT_INLINE void store_columns(V const (&columns)[N], T* p, std::ptrdiff_t count) {
  detail::store_columns(
      columns,
      [&](auto j, V const& row) __attribute__((always_inline)) {
        simd::store(p + j * simd::lanes<V>, row, detail::elements_left<V, static_cast<int>(N), decltype(j)::value>(count));
      },
      std::make_index_sequence<N>());
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
