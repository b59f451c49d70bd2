// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_NETWORK_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_NETWORK_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>
#include <cotangent/trace/expressions/network.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/expressions/functions.hpp>

#  include <cstdint>
#  include <source_location>
#  include <vector>

// Splits an axis into parts whose number is known when the graph is built: ct::split(x, 3, 0), ct::split(x,
// {2, 3, 4}, 0).

namespace cotangent {
namespace dynamic::inline COTANGENT_ABI::detail {

struct parts_fn {
  static constexpr char const* name = "split";
  using emits = operations<>;
  int axis;
  std::int64_t parts, k;
  term operator()(term x) const {
    int const a = axis_of(x, axis);
    return x.b->failed().why != nullptr ? x : extend::split(x, a, parts, k);
  }
};
struct parts_of_sizes_fn {
  static constexpr char const* name = "split";
  using emits = operations<>;
  int axis;
  std::vector<std::int64_t> const& sizes;
  int k;
  term operator()(term x) const {
    int const a = axis_of(x, axis);
    if (x.b->failed().why != nullptr) return x;
    return extend::split(x, a, sizes.data(), static_cast<int>(sizes.size()), k);
  }
};

} // namespace dynamic::detail

template <detail::open_expr X>
auto split(X const& x, std::int64_t parts, int axis, std::source_location where = std::source_location::current()) {
  std::vector<decltype(X::lift(where, dynamic::detail::parts_fn{axis, parts, 0}, x))> made;
  for (std::int64_t k = 0; k < (parts < 1 ? 1 : parts); ++k)
    made.push_back(X::lift(where, dynamic::detail::parts_fn{axis, parts, k}, x));
  return made;
}
template <detail::open_expr X>
auto split(X const& x, std::vector<std::int64_t> const& sizes, int axis, std::source_location where = std::source_location::current()) {
  std::vector<decltype(X::lift(where, dynamic::detail::parts_of_sizes_fn{axis, sizes, 0}, x))> made;
  for (std::size_t k = 0; k < (sizes.empty() ? 1 : sizes.size()); ++k)
    made.push_back(X::lift(where, dynamic::detail::parts_of_sizes_fn{axis, sizes, static_cast<int>(k)}, x));
  return made;
}

} // namespace cotangent

#endif

COTANGENT_HEADER_END

#endif
