// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SIMD_HPP
#define COTANGENT_KERNELS_SIMD_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/core/math/lanes.hpp>
#include <cotangent/kernels/simd_native.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// Packs: vectors of elements, with loads and stores. A pack of one lane is the element itself. Packs wider
// than a register (two or more registers) work too.

namespace cotangent::simd {
inline namespace COTANGENT_ABI {

using math::lane_t;
using math::lanes;
using math::mask_t;

/// The bytes of a register.
inline constexpr int bytes = COTANGENT_ABI_BYTES;
inline constexpr bool has_fma = math::has_fma;

/// W elements; the element itself if W is 1. A pack of bool is a vector of bytes, 0 or -1.
template <class T, int W>
using pack = math::vector<std::conditional_t<std::is_same_v<T, bool> && W != 1, std::int8_t, T>, W>;

/// The number of elements in a register.
template <class T>
inline constexpr int width = bytes / static_cast<int>(sizeof(T));

namespace detail {

template <class V, int... I>
COTANGENT_INLINE constexpr V counted(std::integer_sequence<int, I...>) {
  return V{static_cast<lane_t<V>>(I)...};
}

} // namespace detail

/// start, start + 1, ...
template <class V>
COTANGENT_INLINE constexpr V iota(lane_t<V> start) {
  if constexpr (math::is_vector<V>)
    return math::broadcast<V>(start) + detail::counted<V>(std::make_integer_sequence<int, lanes<V>>{});
  else return start;
}

/// The mask of the first `count` lanes.
template <class M>
COTANGENT_INLINE M first(std::ptrdiff_t count) {
  if constexpr (!math::is_vector<M>) return count > 0;
  else {
    using lane = lane_t<M>;
    return math::mask_cast<M>(iota<M>(0) <
                              math::broadcast<M>(static_cast<lane>(count < lanes<M> ? count : lanes<M>)));
  }
}

/// The first `count` lanes of v, the rest of `other`.
template <class V>
COTANGENT_INLINE V first_or(V const& v, std::ptrdiff_t count, V const& other) {
  if constexpr (!math::is_vector<V>) return count > 0 ? v : other;
  else if constexpr (detail::masked_memory<V>) return detail::masked_choice(v, count, other);
  else return math::select(first<mask_t<V>>(count), v, other);
}

/// Loads W elements.
template <class V>
COTANGENT_INLINE V load(lane_t<V> const* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// Loads the first `count` elements, the other lanes zero; memory behind them is not touched.
template <class V>
COTANGENT_INLINE V load(lane_t<V> const* p, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) return count > 0 ? *p : V{};
  else if constexpr (detail::masked_memory<V>) return detail::masked_load<V>(p, count);
  else if constexpr (math::is_wide<V>) {
    using half = math::vector<lane_t<V>, lanes<V> / 2>;
    std::ptrdiff_t const low = count < lanes<half> ? count : lanes<half>;
    return math::bit_cast<V>(math::halves<V>{load<half>(p, low), load<half>(p + low, count - low)});
  } else {
    V v{};
    for (int i = 0; i < lanes<V>; ++i)
      if (i < count) v[i] = p[i];
    return v;
  }
}

template <class V>
COTANGENT_INLINE void store(lane_t<V>* p, V const& v) {
  std::memcpy(p, &v, sizeof v);
}

/// Stores the first `count` lanes.
template <class V>
COTANGENT_INLINE void store(lane_t<V>* p, V const& v, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) {
    if (count > 0) *p = v;
  } else if constexpr (detail::masked_memory<V>) detail::masked_store(p, v, count);
  else if constexpr (math::is_wide<V>) {
    auto const h = math::split(v);
    std::ptrdiff_t const low = count < lanes<V> / 2 ? count : lanes<V> / 2;
    store(p, h.low, low);
    store(p + low, h.high, count - low);
  } else {
    for (int i = 0; i < lanes<V>; ++i)
      if (i < count) p[i] = v[i];
  }
}

/// Loads bools as a mask.
template <class M>
COTANGENT_INLINE M load_mask(bool const* p) {
  if constexpr (!math::is_vector<M>) return *p;
  else {
    math::with_lane<M, std::int8_t> b; // bytes behind the last element are arbitrary
    std::memcpy(&b, p, sizeof b);
    return math::neg<M>(__builtin_convertvector(b, M));
  }
}

template <class M>
COTANGENT_INLINE M load_mask(bool const* p, std::ptrdiff_t count) {
  if (count >= lanes<M>) return load_mask<M>(p);
  bool b[static_cast<std::size_t>(lanes<M>)] = {};
  for (std::ptrdiff_t i = 0; i < count; ++i) b[i] = p[i];
  return load_mask<M>(b);
}

template <class M>
COTANGENT_INLINE void store_mask(bool* p, M const& m) {
  if constexpr (!math::is_vector<M>) *p = m;
  else {
    using byte_lanes = math::with_lane<M, std::int8_t>;
    byte_lanes const b = __builtin_convertvector(m, byte_lanes) & math::broadcast<byte_lanes>(1);
    std::memcpy(p, &b, sizeof b);
  }
}

template <class M>
COTANGENT_INLINE void store_mask(bool* p, M const& m, std::ptrdiff_t count) {
  if (count >= lanes<M>) return store_mask(p, m);
  bool b[static_cast<std::size_t>(lanes<M>)];
  store_mask(b, m);
  for (std::ptrdiff_t i = 0; i < count; ++i) p[i] = b[i];
}

namespace detail {
/// Lane k is f(k). Lanes written one after the other would go through memory, and the load would wait for the stores.
template <class V, class F, int... K>
COTANGENT_INLINE V from_lanes(F const& f, std::integer_sequence<int, K...>) {
  return V{f(K)...};
}
template <class V, class F> COTANGENT_INLINE V from_lanes(F const& f) {
  return from_lanes<V>(f, std::make_integer_sequence<int, lanes<V>>());
}
} // namespace detail

/// p[index] in each lane; Index has as many lanes as V, of int32 or int64.
template <class V, class Index>
COTANGENT_INLINE V gather(lane_t<V> const* p, Index const& index) {
  static_assert(lanes<V> == lanes<Index>,
                "cotangent: gather: the index must have as many lanes as the value");
  if constexpr (!math::is_vector<V>) return p[index];
  else if constexpr (detail::gathers<V, Index>) return detail::native_gather<V>(p, index);
  else return detail::from_lanes<V>([&](int i) __attribute__((always_inline)) { return p[index[i]]; });
}

/// p[0], p[stride], p[2 * stride], ...
template <class V>
COTANGENT_INLINE V load_strided(lane_t<V> const* p, std::ptrdiff_t stride) {
  if constexpr (!math::is_vector<V>) return static_cast<void>(stride), *p;
  else return detail::from_lanes<V>([&](int i) __attribute__((always_inline)) { return p[i * stride]; });
}

template <class V>
COTANGENT_INLINE V load_strided(lane_t<V> const* p, std::ptrdiff_t stride, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) return count > 0 ? *p : V{};
  else return detail::from_lanes<V>([&](int i) __attribute__((always_inline)) { return i < count ? p[i * stride] : lane_t<V>{}; });
}

namespace detail {

struct do_sum {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return a + b;
  }
};

struct do_prod {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return a * b;
  }
};

struct do_max {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return math::max(a, b);
  }
};

struct do_min {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return math::min(a, b);
  }
};

// Maximum and minimum if neither value is NaN.
struct do_max_of_numbers {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return math::at_least(b, a);
  }
};

struct do_min_of_numbers {
  template <class V>
  COTANGENT_INLINE V operator()(V const& a, V const& b) const {
    return math::at_most(b, a);
  }
};

template <class V, class F>
COTANGENT_INLINE lane_t<V> fold(V const& v, F f) {
  if constexpr (!math::is_vector<V>) return v;
  else {
    auto const h = math::split(v);
    return detail::fold(f(h.low, h.high), f);
  }
}

} // namespace detail

/// The sum of all lanes, as a tree that first adds lane i + W / 2 to lane i: the same order on every target.
template <class V>
COTANGENT_INLINE lane_t<V> sum(V const& v) {
  return detail::fold(v, detail::do_sum{});
}

template <class V>
COTANGENT_INLINE lane_t<V> prod(V const& v) {
  return detail::fold(v, detail::do_prod{});
}

namespace detail {

// Folds several values as a tree, then their lanes.
template <class F, class V, std::size_t N>
COTANGENT_INLINE lane_t<V> fold_all(V const (&v)[N], F f) {
  static_assert(N == 1 || N == 2 || N == 4);
  if constexpr (N == 4) return detail::fold(V(f(V(f(v[0], v[1])), V(f(v[2], v[3])))), f);
  else if constexpr (N == 2) return detail::fold(V(f(v[0], v[1])), f);
  else return detail::fold(v[0], f);
}

// The levels depend on each other. One test for NaN before all of them, and one instruction a level, take
// half the time of levels that each test for NaN.
template <class OfNumbers, class OfAll, class V, std::size_t N>
COTANGENT_INLINE lane_t<V> extreme(V const (&v)[N]) {
  if constexpr (math::is_vector<V> && math::is_floating<V> && !math::is_fast) {
    auto odd = v[0] != v[0];
    for (std::size_t k = 1; k < N; ++k) odd |= v[k] != v[k];
    if (!math::any(odd)) [[likely]]
      return detail::fold_all(v, OfNumbers{});
  }
  return detail::fold_all(v, OfAll{});
}

} // namespace detail

/// The maximum and the minimum over all lanes of several values; NaN if there is one.
template <class V, std::size_t N>
COTANGENT_INLINE lane_t<V> max_of(V const (&v)[N]) {
  return detail::extreme<detail::do_max_of_numbers, detail::do_max>(v);
}

template <class V, std::size_t N>
COTANGENT_INLINE lane_t<V> min_of(V const (&v)[N]) {
  return detail::extreme<detail::do_min_of_numbers, detail::do_min>(v);
}

template <class V>
COTANGENT_INLINE lane_t<V> max(V const& v) {
  return simd::max_of<V>({v});
}

template <class V>
COTANGENT_INLINE lane_t<V> min(V const& v) {
  return simd::min_of<V>({v});
}

namespace detail {

// Swaps the lanes of a whose index has the bit Step set with the lanes of b whose index has it clear.
template <int Step, class V, int... I>
COTANGENT_INLINE void exchange(V& a, V& b, std::integer_sequence<int, I...>) {
  constexpr int w = lanes<V>;
  V const low = __builtin_shufflevector(a, b, ((I & Step) ? w + I - Step : I)...);
  V const high = __builtin_shufflevector(a, b, ((I & Step) ? w + I : I + Step)...);
  a = low;
  b = high;
}

template <int Step, class V>
COTANGENT_INLINE void transpose_steps(V (&rows)[static_cast<std::size_t>(lanes<V>)]) {
  for (int i = 0; i < lanes<V>; ++i)
    if ((i & Step) == 0)
      detail::exchange<Step>(rows[i], rows[i + Step], std::make_integer_sequence<int, lanes<V>>{});
  if constexpr (Step > 1) detail::transpose_steps<Step / 2>(rows);
}

} // namespace detail

/// Transposes: lane j of row i becomes lane i of row j.
template <class V, std::size_t W>
COTANGENT_INLINE void transpose(V (&rows)[W]) {
  static_assert(W == static_cast<std::size_t>(lanes<V>), "cotangent: transpose: as many rows as lanes");
  if constexpr (W > 1) detail::transpose_steps<lanes<V> / 2>(rows);
}

namespace detail {

// The partial results of each row are in adjacent lanes.
template <class V, class F, int... I>
COTANGENT_INLINE auto fold_groups(V const& v, F f, std::integer_sequence<int, I...>) {
  constexpr int half = lanes<V> / 2, rows = static_cast<int>(sizeof...(I)), group = half / rows;
  if constexpr (group == 0) return v;
  else {
    using halves = math::vector<lane_t<V>, half>;
    auto const pick = [&]<int... K>(auto from, std::integer_sequence<int, K...>) {
      return static_cast<halves>(__builtin_shufflevector(v, v, (K / group * 2 * group + K % group + decltype(from)::value)...));
    };
    constexpr std::make_integer_sequence<int, half> all{};
    return detail::fold_groups(halves(f(pick(std::integral_constant<int, 0>{}, all), pick(std::integral_constant<int, group>{}, all))),
                               f, std::integer_sequence<int, I...>{});
  }
}

template <int Rows, int Step, class V, class F>
COTANGENT_INLINE auto fold_rows(V* rows, F f) {
  if constexpr (Rows == 1) return rows[0];
  else {
    for (int i = 0; i < Rows / 2; ++i) {
      detail::exchange<Step>(rows[i], rows[i + Rows / 2], std::make_integer_sequence<int, lanes<V>>{});
      rows[i] = f(rows[i], rows[i + Rows / 2]);
    }
    return detail::fold_rows<Rows / 2, Step / 2>(rows, f);
  }
}

} // namespace detail

/// The last `Far` lanes of `before`, then the first lanes of `now`.
template <int Far, class V>
COTANGENT_INLINE V shifted(V const& before, V const& now) {
  return [&]<int... I>(std::integer_sequence<int, I...>) -> V {
    return __builtin_shufflevector(before, now, (I + lanes<V> - Far)...);
  }(std::make_integer_sequence<int, lanes<V>>{});
}

/// Lane i is the fold of all lanes of row i, in the order of `detail::fold`.
template <class V, std::size_t Rows, class F>
COTANGENT_INLINE auto fold_rows(V (&rows)[Rows], F f) {
  static_assert(Rows <= static_cast<std::size_t>(lanes<V>), "cotangent: fold_rows: no more rows than lanes");
  return detail::fold_groups(detail::fold_rows<static_cast<int>(Rows), lanes<V> / 2>(rows, f), f,
                             std::make_integer_sequence<int, static_cast<int>(Rows)>{});
}

} // namespace COTANGENT_ABI
} // namespace cotangent::simd

#endif
