// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_BRACES_HPP
#define COTANGENT_CORE_BRACES_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/core/names.hpp>
#include <cotangent/core/well_formed.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace cotangent::refusals {

// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(brace_count, equal, values_given, extent_of_axis, "cotangent: tensor: the values must be as many as the extent of their axis; an extent that is a number has no size to pass")
COTANGENT_REFUSAL(brace_depth, equal, depth_of_braces, rank_of_tensor, "cotangent: tensor: the braces must nest as deep as the rank; run-time sizes go in parentheses, and only names have them")
COTANGENT_REFUSAL(number_of_sizes, equal, sizes_given, names_in_extents, "cotangent: tensor: there must be one size for each name in the extents")
COTANGENT_REFUSAL_TYPES(brace_element, is, values_in_braces_of, elements_of, "cotangent: tensor: integers and bools cannot be made from floating values; convert them first")

// clang-format on
} // namespace cotangent::refusals

namespace cotangent::detail {

/// Placeholder for an element in braces that are to be refused: it matches worse than any element.
struct any_value {
  template <class T>
    requires(std::is_arithmetic_v<T>)
  constexpr any_value(T) noexcept {}
};

template <class Element>
constexpr Element* copy_nested(Element* to, Element const& value) noexcept {
  *to = value;
  return to + 1;
}
template <class Element, class Row, std::size_t N>
constexpr Element* copy_nested(Element* to, Row const (&rows)[N]) noexcept {
  for (Row const& row : rows) to = copy_nested(to, row);
  return to;
}

struct brace_sizes {
  std::int64_t of[max_rank]{};
};

/// The number of values in nested braces that do not fit the extents, and the right number; {0, 0} if they
/// fit.
struct brace_misfit {
  std::int64_t given = 0;
  std::int64_t wanted = 0;
};

constexpr brace_misfit find_misfit(shape const& extents, std::initializer_list<brace_sizes> rows) noexcept {
  bindings known;
  for (brace_sizes const& row : rows)
    if (axis_fit const f = bind_axes(known, extents, row.of); f.failed != axis_fit::nothing)
      return {row.of[f.axis], f.wanted};
  return {};
}

} // namespace cotangent::detail

#endif
