// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_INTEROP_MDSPAN_HPP
#define COTANGENT_INTEROP_MDSPAN_HPP

#include <cotangent/core/argument.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// std::mdspan and types with its members (Kokkos::mdspan) as memory. The types are found by their members, so that this
// header includes neither. Include it before the first use of such a type with this library.

namespace cotangent::detail {

/// A type with the members of mdspan whose handle is a pointer; layouts without strides are refused when called.
template <class T>
concept mdspan_like = requires(T const& t) {
  typename T::extents_type;
  typename T::layout_type;
  t.mapping();
  { t.data_handle() } -> std::convertible_to<std::add_pointer_t<typename T::element_type>>;
  t.extent(0);
  T::static_extent(0);
  T::rank();
} && element_type<std::remove_cv_t<typename T::element_type>>;

template <class T> consteval shape mdspan_extents() {
  static_assert(T::rank() <= static_cast<std::size_t>(max_rank), "cotangent: memory: the rank of an mdspan must be at most 8");
  shape s;
  for (std::size_t k = 0; k < T::rank(); ++k)
    s.push(T::static_extent(k) == static_cast<std::size_t>(-1)
               ? extent::anonymous(static_cast<int>(k))
               : extent::of(static_cast<std::int64_t>(T::static_extent(k))));
  return s;
}

} // namespace cotangent::detail

/// Elements lie by `stride(k)`. Memory of `layout_right` is used in place, other memory is copied for the call.
///
/// Refuses: a layout that is not strided.
template <cotangent::detail::mdspan_like T>
struct cotangent::extend::memory<T> {
  static_assert(T::is_always_strided(), "cotangent: memory: the layout of an mdspan must be strided");
  using element = std::remove_cv_t<typename T::element_type>;
  static constexpr cotangent::shape extents = cotangent::detail::mdspan_extents<T>();
  static constexpr bool owns = false;
  static constexpr typename T::element_type* data(T const& t) { return t.data_handle(); }
  static constexpr void sizes(T const& t, std::int64_t* to) {
    for (int k = 0; k < extents.rank; ++k) to[k] = static_cast<std::int64_t>(t.extent(static_cast<std::size_t>(k)));
  }
  static constexpr void strides(T const& t, std::int64_t* to) {
    if constexpr (T::rank() > 0) // without axes there is no stride
      for (int k = 0; k < extents.rank; ++k) to[k] = static_cast<std::int64_t>(t.stride(static_cast<std::size_t>(k)));
  }
};

#endif
