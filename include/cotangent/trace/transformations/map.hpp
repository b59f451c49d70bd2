// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_MAP_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_MAP_HPP

#include <cotangent/trace/transformations/scan.hpp>

#include <tuple>
#include <utility>

// Functions of independent rows.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// The rows of a function with loops or branches: one after the other.
struct rows_by_scan {
  template <class F, class... X> static constexpr auto rows(F const& f, X const&... x) {
    return std::get<1>(cotangent::scan([&](auto carry, auto const&... row) { return std::pair(carry, f(row...)); }, 0.0, x...));
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The rows `body(x(i), y(i), ...)`, for use in traced functions: rows are positions along axis 0 of the arguments, and of the
/// results.
///
/// The body may use expressions of the surrounding function, and return a tree. It is called once, when the function is traced.
/// Rows become an axis of the operations of the body (`vmap`), so that they fill SIMD lanes, and sums over them need no memory.
/// A body with loops, branches or operations without a batching rule runs row by row (`scan`).
///
/// Adjoint: of each row; those of expressions that the body uses are added over the rows.
/// Refuses: what vmap refuses, but for operations without a batching rule.
/// Checked: tests/static/map.cpp.
template <class Body, class... X>
  requires(sizeof...(X) > 0)
constexpr auto map(Body const& body, X const&... xs) {
  return detail::vmap_function<detail::rows_by_scan, Body>(body)(xs...);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
