// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_REGISTERS_HPP
#define COTANGENT_RUN_PROGRAM_REGISTERS_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/kernels/half.hpp>
#include <cotangent/kernels/simd.hpp>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The number of live values of each element type. Separate members: in template arguments, g++ 12 treats
/// structs whose arrays differ only in the position of zeros as equal.
struct register_count {
  int f32 = 0, f64 = 0, i32 = 0, i64 = 0, b = 0;
  constexpr int& of(element of_memory) {
    element const e = cotangent::detail::arithmetic_of(of_memory);
    return e == element::float32 ? f32 : e == element::float64 ? f64 : e == element::int32 ? i32 : e == element::int64 ? i64 : b;
  }
  friend constexpr bool operator==(register_count const&, register_count const&) = default;
};

/// Values of W lanes by element type, those of half precision as float: plain arrays with constant indices, which compilers split into
/// registers. A bool is the mask of a value of `Wide`, the widest type of its nest.
template <int W, class Wide, register_count N> struct registers {
  using mask = math::mask_t<math::vector<Wide, W>>;
  math::vector<float, W> f32[N.f32 > 0 ? N.f32 : 1];
  math::vector<double, W> f64[N.f64 > 0 ? N.f64 : 1];
  math::vector<std::int32_t, W> i32[N.i32 > 0 ? N.i32 : 1];
  math::vector<std::int64_t, W> i64[N.i64 > 0 ? N.i64 : 1];
  mask b[N.b > 0 ? N.b : 1];

  template <element E> COTANGENT_INLINE constexpr auto& at(int k) noexcept { return of<E>(*this)[k]; }
  template <element E> COTANGENT_INLINE constexpr auto const& at(int k) const noexcept { return of<E>(*this)[k]; }

private:
  template <element E, class Self> COTANGENT_INLINE static constexpr auto& of(Self& self) noexcept {
    if constexpr (cotangent::detail::arithmetic_of(E) == element::float32) return self.f32;
    else if constexpr (E == element::float64) return self.f64;
    else if constexpr (E == element::int32) return self.i32;
    else if constexpr (E == element::int64) return self.i64;
    else return self.b;
  }
};

/// The value type of W lanes of an element type.
template <int W, class Wide, element E> struct value_of { using type = math::vector<cotangent::detail::arithmetic_t<E>, W>; };
template <int W, class Wide> struct value_of<W, Wide, element::boolean> {
  using type = math::mask_t<math::vector<Wide, W>>;
};
template <int W, class Wide, element E> using value_t = typename value_of<W, Wide, E>::type;

/// Loads and stores a value of any element type; bools are converted to and from masks. A value to be stored in half precision
/// is exact in it: `op::convert` rounded it.
template <class V, class T> COTANGENT_INLINE V load_value(T const* p) {
  if constexpr (!math::is_vector<V>) return *p;
  else if constexpr (std::is_same_v<T, bool>) return simd::load_mask<V>(p);
  else if constexpr (cotangent::detail::is_half_type<T>) return simd::load_half<V>(p);
  else return simd::load<V>(p);
}
template <class V, class T> COTANGENT_INLINE V load_value(T const* p, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) return count > 0 ? V(*p) : V{};
  else if constexpr (std::is_same_v<T, bool>) return simd::load_mask<V>(p, count);
  else if constexpr (cotangent::detail::is_half_type<T>) return simd::load_half<V>(p, 1, count);
  else return simd::load<V>(p, count);
}
template <class V, class T> COTANGENT_INLINE V load_value(T const* p, std::ptrdiff_t stride, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) return count > 0 ? V(*p) : V{};
  else if constexpr (std::is_same_v<T, bool>) {
    bool lane[math::lanes<V>]{};
    for (std::ptrdiff_t k = 0; k < count; ++k) lane[k] = p[k * stride];
    return simd::load_mask<V>(lane);
  } else if constexpr (cotangent::detail::is_half_type<T>) return simd::load_half<V>(p, stride, count);
  else return simd::load_strided<V>(p, stride, count);
}
template <class V, class T> COTANGENT_INLINE void store_value(T* p, V const& v) {
  if constexpr (!math::is_vector<V>) *p = v;
  else if constexpr (std::is_same_v<T, bool>) simd::store_mask(p, v);
  else if constexpr (cotangent::detail::is_half_type<T>) simd::store_half(p, v);
  else simd::store(p, v);
}
template <class V, class T> COTANGENT_INLINE void store_value(T* p, V const& v, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) {
    if (count > 0) *p = v;
  } else if constexpr (std::is_same_v<T, bool>) simd::store_mask(p, v, count);
  else if constexpr (cotangent::detail::is_half_type<T>) simd::store_half(p, v, count);
  else simd::store(p, v, count);
}
template <class V, class T> COTANGENT_INLINE void store_value(T* p, V const& v, std::ptrdiff_t stride, std::ptrdiff_t count) {
  if constexpr (!math::is_vector<V>) {
    if (count > 0) *p = v;
  } else {
    T lane[math::lanes<V>];
    store_value(lane, v);
    for (std::ptrdiff_t k = 0; k < count; ++k) p[k * stride] = lane[k];
  }
}

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
