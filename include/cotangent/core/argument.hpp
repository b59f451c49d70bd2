// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ARGUMENT_HPP
#define COTANGENT_CORE_ARGUMENT_HPP

#include <cotangent/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cotangent {

/// What a compiled function can take: values of element types, tensors, views, arrays, vectors, spans, and
/// everything for which `extend::memory` is specialised. `A` is no reference and not const.
template <class A>
concept argument_type = detail::memory_traits<A>::exists;

namespace detail {

// The anonymous extents of an argument are called after its position, so that those of two arguments differ.
constexpr shape name_anonymous(shape s, int position) noexcept {
  int count = 0;
  for (int i = 0; i < s.rank; ++i)
    if (s.extents[i].is_anonymous()) s.extents[i] = extent::anonymous(position, count++);
  return s;
}

// Tensors and views keep what they have in their type: their anonymous extents were named where they come
// from.
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

} // namespace detail

/// How the argument at a position is seen: the element, the extents (those that only the run knows are
/// "?position"), and a view of it. Other types join by `extend::memory` (core/memory.hpp).
template <argument_type A, int Position>
struct argument_traits {
  using memory = detail::memory_traits<A>;
  using element = typename memory::element;
  static constexpr shape extents =
      detail::keeps_extents<A> ? memory::extents : detail::name_anonymous(memory::extents, Position);
  static constexpr int rank = extents.rank;
  /// A plain value, whose gradient is one too.
  static constexpr bool is_scalar = element_type<A>;
  using view_type =
      typename detail::view_with<element const, extents, std::make_index_sequence<extents.rank>>::type;

  static constexpr element const* data(A const& a) { return memory::data(a); }
  /// The sizes of all axes, as many as the rank.
  static constexpr void sizes(A const& a, std::int64_t* of_all_axes) { memory::sizes(a, of_all_axes); }
  /// Throws `shape_error` where a formula in the extents is not what the sizes make of it.
  static constexpr view_type view_of(A const& a) { return view_type(a); }
};

} // namespace cotangent

#endif
