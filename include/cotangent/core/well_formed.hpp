// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_WELL_FORMED_HPP
#define COTANGENT_CORE_WELL_FORMED_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/core/element.hpp>
#include <cotangent/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace cotangent::refusals {

// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(negative_extent, at_least, extent_given, extent_wanted, "cotangent: an extent must not be negative")
COTANGENT_REFUSAL(malformed_extent, is, extent_given, number_or_name, "cotangent: an extent must be a number, a name of at most 15 characters, or a formula such as \"2*n+1\"")
COTANGENT_REFUSAL(large_extent, at_most, extent_given, largest_extent, "cotangent: an extent must fit a signed integer of 64 bits")
COTANGENT_REFUSAL_SHAPES(large_shape, at_most, size_of_shape, largest_size, "cotangent: a tensor must have fewer than 2^60 elements")
COTANGENT_REFUSAL(large_rank, at_most, rank_given, largest_rank, "cotangent: the rank of a tensor must be at most 8")
COTANGENT_REFUSAL_OF(other_element, allowed, "cotangent: the elements of a tensor must be float, double, std::int32_t, std::int64_t, bool, ct::float16 or ct::bfloat16")

// clang-format on
} // namespace cotangent::refusals

namespace cotangent::detail {

/// Valid extents of a tensor, a view or an expression.
template <extent... E>
concept well_formed_extents =
    sizeof...(E) <= max_rank && (E.is_valid() && ...) &&
    (E * ... * extent::of(1)).number >= extent::symbolic && (E * ... * extent::of(1)).number <= max_size;

constexpr extent first_invalid(std::initializer_list<extent> all) noexcept {
  for (extent const& e : all)
    if (!e.is_valid()) return e;
  return {};
}

/// Says in words why these extents or this element cannot form a tensor; to be called in a static_assert.
template <class Element, extent... E>
constexpr bool refuse_malformed() {
  constexpr extent bad = first_invalid({E...});
  if constexpr (!element_type<Element>) refusals::other_element::report<Element>();
  else if constexpr (bad.number == extent::negative) refusals::negative_extent::report<bad, extent::of(0)>();
  else if constexpr (bad.number == extent::malformed)
    refusals::malformed_extent::report<bad, extent::named("n", 1)>();
  else if constexpr (!bad.is_valid()) refusals::large_extent::report<bad, extent::of(INT64_MAX)>();
  else if constexpr (sizeof...(E) > max_rank)
    refusals::large_rank::report<extent::of(sizeof...(E)), extent::of(max_rank)>();
  else if constexpr (!well_formed_extents<E...>)
    refusals::large_shape::report<shape_of<E...>, shape_of<extent::of(max_size)>>();
  return true;
}

} // namespace cotangent::detail

#endif
