// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_SHAPE_HPP
#define COTANGENT_CORE_SHAPE_HPP

#include <cotangent/core/extent.hpp>

#include <cstdint>

namespace cotangent {

inline constexpr int max_rank = 8;

namespace detail {
/// The largest number of elements: the bytes of more would overflow a pointer difference.
inline constexpr std::int64_t max_size = (std::int64_t{1} << 60) - 1;
} // namespace detail

/// The extents of a tensor, outermost first. A regular value, at compile time and at run time.
struct shape {
  std::uint8_t rank = 0;
  extent extents[max_rank]{};

  constexpr extent const& operator[](int axis) const noexcept { return extents[axis]; }
  constexpr extent& operator[](int axis) noexcept { return extents[axis]; }

  /// Precondition: rank < `max_rank`.
  constexpr void push(extent const& e) noexcept { extents[rank++] = e; }

  /// The number of elements; invalid (`extent::too_large`) if it does not fit 64 bits.
  constexpr extent size() const noexcept {
    extent product = extent::of(1);
    for (int i = 0; i < rank; ++i) product = product * extents[i];
    return product;
  }

  constexpr bool is_static() const noexcept {
    for (int i = 0; i < rank; ++i)
      if (extents[i].number < 0) return false;
    return true;
  }

  constexpr bool is_valid() const noexcept {
    for (int i = 0; i < rank; ++i)
      if (!extents[i].is_valid()) return false;
    return true;
  }

  constexpr std::uint64_t hash() const noexcept {
    std::uint64_t h = rank;
    for (int i = 0; i < rank; ++i) h = (h ^ (h >> 29) ^ detail::hash_value(extents[i])) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
  }

  friend constexpr bool operator==(shape const& a, shape const& b) noexcept {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (!(a.extents[i] == b.extents[i])) return false;
    return true;
  }
};

template <extent... E>
  requires(sizeof...(E) <= max_rank)
inline constexpr shape shape_of{sizeof...(E), {E...}};

/// Distances between neighbors along each axis, in elements.
struct strides {
  std::int64_t along[max_rank]{};
  constexpr std::int64_t operator[](int axis) const noexcept { return along[axis]; }
  constexpr std::int64_t& operator[](int axis) noexcept { return along[axis]; }
  friend constexpr bool operator==(strides const&, strides const&) = default;
};

namespace detail {

/// Row-major strides of a shape whose extents are numbers and whose size was checked.
constexpr strides row_major(shape const& s) noexcept {
  strides result;
  std::int64_t step = 1;
  for (int i = s.rank - 1; i >= 0; --i) {
    result.along[i] = step;
    step *= s.extents[i].number;
  }
  return result;
}

/// The product of `count` sizes, none negative; -1 if it does not fit 64 bits. It is 0 if any size is.
constexpr std::int64_t checked_product(std::int64_t const* sizes, int count) noexcept {
  std::int64_t product = 1;
  bool fits = true;
  for (int i = 0; i < count; ++i) {
    if (sizes[i] == 0) return 0;
    fits = !__builtin_mul_overflow(product, sizes[i], &product) && fits;
  }
  return fits ? product : -1;
}

/// Broadcasts two shapes as NumPy does (aligned at the last axis); axes that do not fit are invalid.
constexpr shape broadcast_shapes(shape const& a, shape const& b) noexcept {
  if (a.rank < b.rank) return broadcast_shapes(b, a);
  shape result = a;
  int const missing = a.rank - b.rank;
  for (int i = 0; i < b.rank; ++i)
    result.extents[missing + i] = broadcast_extents(a.extents[missing + i], b.extents[i]);
  return result;
}

} // namespace detail
} // namespace cotangent

#endif
