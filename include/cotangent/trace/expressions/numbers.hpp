// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_NUMBERS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_NUMBERS_HPP

#include <cotangent/trace/expressions/layout.hpp>
#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/expressions/reductions.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>

// Sizes, axes and counts as arguments, as run-time graphs take them: for functions whose result has the shape of x. Others are
// refused, since the type of the result would depend on the value of an argument.

namespace cotangent {

/// Elements moved `by` positions along an axis; those beyond the end return at the beginning.
template <class X>
  requires detail::is_expr<X>
constexpr auto roll(X const& x, std::int64_t by, std::int64_t axis = -1, std::source_location where = std::source_location::current()) {
  std::int64_t const numbers[]{by, axis};
  return detail::lift_like<detail::roll_kind, detail::with_constants<detail::roll_kind, 0, -1>>(
      where, x, detail::with_values<detail::roll_kind>({numbers, 2}));
}
/// The lower or upper triangle of matrices, up to the diagonal with this number.
template <class X>
  requires detail::is_expr<X>
constexpr auto tril(X const& x, std::int64_t offset, std::source_location where = std::source_location::current()) {
  return detail::lift_like<detail::triangle_kind<true>, detail::with_constants<detail::triangle_kind<true>, 0>>(
      where, x, detail::with_values<detail::triangle_kind<true>>({&offset, 1}));
}
template <class X>
  requires detail::is_expr<X>
constexpr auto triu(X const& x, std::int64_t offset, std::source_location where = std::source_location::current()) {
  return detail::lift_like<detail::triangle_kind<false>, detail::with_constants<detail::triangle_kind<false>, 0>>(
      where, x, detail::with_values<detail::triangle_kind<false>>({&offset, 1}));
}

#define COTANGENT_SIZES_AS_VALUES(NAME)                                                                                          \
  template <class X, class More = int>                                                                                           \
    requires detail::is_expr<X>                                                                                                  \
  constexpr auto NAME(X const&, detail::axis_values, More const& = {}) {                                                         \
    static_assert(refusals::size_as_value::report<X>());                                                                         \
    return refused{};                                                                                                            \
  }
COTANGENT_SIZES_AS_VALUES(reshape)
COTANGENT_SIZES_AS_VALUES(broadcast_to)
COTANGENT_SIZES_AS_VALUES(permute)
COTANGENT_SIZES_AS_VALUES(swap_axes)
COTANGENT_SIZES_AS_VALUES(expand)
COTANGENT_SIZES_AS_VALUES(squeeze)
COTANGENT_SIZES_AS_VALUES(repeat)
COTANGENT_SIZES_AS_VALUES(tile)
COTANGENT_SIZES_AS_VALUES(pad)
COTANGENT_SIZES_AS_VALUES(pad_edge)
COTANGENT_SIZES_AS_VALUES(pad_reflect)
COTANGENT_SIZES_AS_VALUES(one_hot)
#undef COTANGENT_SIZES_AS_VALUES

template <class X>
  requires detail::is_expr<X>
constexpr auto concatenate(std::initializer_list<X>, detail::axis_values = 0) {
  static_assert(refusals::list_of_operands::report<X>());
  return refused{};
}
template <class X>
  requires detail::is_expr<X>
constexpr auto stack(std::initializer_list<X>, detail::axis_values = 0) {
  static_assert(refusals::list_of_operands::report<X>());
  return refused{};
}

} // namespace cotangent

#endif
