// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_SOURCES_HPP
#define COTANGENT_TRACE_SOURCES_HPP

#include <cotangent/trace/lift.hpp>

#include <cstdint>

// Expressions without operands. They are detached: they join a graph where they first meet one, or when returned.

namespace cotangent {

/// `value` at every position.
template <element_type T, extent... E, detail::literal L> constexpr expr<T, E...> full(L value) {
  return expr<T, E...>(detail::as_expr<T>(value).standing());
}
/// The same in double.
template <extent... E, detail::literal L>
  requires(sizeof...(E) != 0)
constexpr expr<double, E...> full(L value) {
  return expr<double, E...>(detail::as_expr<double>(value).standing());
}

template <element_type T, extent... E> constexpr expr<T, E...> zeros() { return full<T, E...>(0); }
template <extent... E> constexpr expr<double, E...> zeros() { return full<double, E...>(0); }
template <element_type T, extent... E> constexpr expr<T, E...> ones() { return full<T, E...>(1); }
template <extent... E> constexpr expr<double, E...> ones() { return full<double, E...>(1); }

/// start, start + step, ...: along one axis.
template <element_type T, extent N> constexpr expr<T, N> iota(T start = T(0), T step = T(1)) {
  return expr<T, N>(detail::standing{nullptr, detail::standing::counted, detail::literal_bits<T>(start),
                                     detail::literal_bits<T>(step)});
}
/// The positions 0, 1, ... as int64.
template <extent N> constexpr expr<std::int64_t, N> iota() { return iota<std::int64_t, N>(); }

} // namespace cotangent

#endif
