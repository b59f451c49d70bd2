// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_CONTROL_HPP
#define COTANGENT_DYNAMIC_EAGER_CONTROL_HPP

#include <cotangent/dynamic/eager/lift.hpp>

// Loops and branches of variables are those of C++: the functions for expressions refuse variables.

namespace cotangent {

namespace dynamic::inline COTANGENT_ABI::detail {

template <class... A>
concept meets_variable = (is_variable<A> || ...);

template <class Result, class... A> constexpr Result refuse_control() {
  static_assert(!meets_variable<A...>, "cotangent: eager: loops and branches of variables must be those of C++, which knows their values");
  return {};
}
/// Results, so that there is one error: of `cond` and `case_of`.
struct refused_branches {
  template <class... A> constexpr int operator()(A const&...) const { return 0; }
};
/// Of `scan`.
struct refused_scan {
  int first = 0, second = 0;
};

} // namespace dynamic::detail

template <auto... Options, class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr int while_loop(A const&...) { return dynamic::detail::refuse_control<int, A...>(); }
template <auto... Options, class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr int for_loop(A const&...) { return dynamic::detail::refuse_control<int, A...>(); }
template <auto... Options, class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr auto scan(A const&...) { return dynamic::detail::refuse_control<dynamic::detail::refused_scan, A...>(); }
template <auto... Options, class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr int map(A const&...) { return dynamic::detail::refuse_control<int, A...>(); }
template <class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr auto cond(A const&...) { return dynamic::detail::refuse_control<dynamic::detail::refused_branches, A...>(); }
template <class... A>
  requires dynamic::detail::meets_variable<A...>
constexpr auto case_of(A const&...) { return dynamic::detail::refuse_control<dynamic::detail::refused_branches, A...>(); }

} // namespace cotangent

#endif
