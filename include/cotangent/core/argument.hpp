// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ARGUMENT_HPP
#define COTANGENT_CORE_ARGUMENT_HPP

#include <cotangent/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cotangent::detail {

/// The argument types of a compiled function: values of element types, tensors, views, arrays, vectors,
/// spans, and every type for which `extend::memory` is specialized. `A` is neither a reference nor const.
template <class A>
concept argument_type = detail::memory_traits<A>::exists;

// Anonymous extents of an argument are named after its position, so that those of two arguments differ.
constexpr shape name_anonymous(shape s, int position) noexcept {
  int count = 0;
  for (int i = 0; i < s.rank; ++i)
    if (s.extents[i].is_anonymous()) s.extents[i] = extent::anonymous(position, count++);
  return s;
}

// Tensors and views keep the extents of their type: their anonymous extents were named before.
template <class A>
inline constexpr bool keeps_extents = false;
template <class Element, extent... E>
inline constexpr bool keeps_extents<tensor<Element, E...>> = true;
template <class Element, extent... E>
inline constexpr bool keeps_extents<view<Element, E...>> = true;

template <class Element, shape const& S, class Axes>
struct view_with;
template <class Element, shape const& S, std::size_t... I>
struct view_with<Element, S, std::index_sequence<I...>> {
  using type = view<Element, S.extents[I]...>;
};

/// Traits of the argument at a position: its element, its extents (those known at run time only are
/// "?position"), and a view of it. Other types join by `extend::memory` (core/memory.hpp).
template <argument_type A, int Position>
struct argument_traits {
  using memory = detail::memory_traits<A>;
  using element = typename memory::element;
  static constexpr shape extents =
      detail::keeps_extents<A> ? memory::extents : detail::name_anonymous(memory::extents, Position);
  static constexpr int rank = extents.rank;
  /// True for a plain value, whose gradient is a plain value too.
  static constexpr bool is_scalar = element_type<A>;
  using view_type =
      typename detail::view_with<element const, extents, std::make_index_sequence<extents.rank>>::type;

  static constexpr element const* data(A const& a) { return memory::data(a); }
  /// Writes the sizes of all axes, `rank` of them.
  static constexpr void sizes(A const& a, std::int64_t* of_all_axes) { memory::sizes(a, of_all_axes); }
  /// Throws `shape_error` if a formula in the extents differs from the size of its axis.
  static constexpr view_type view_of(A const& a) { return view_type(a); }
};

} // namespace cotangent::detail

#endif
