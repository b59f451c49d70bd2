// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_OTHER_HEADERS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_OTHER_HEADERS_HPP

#include <cotangent/trace/expressions/expr.hpp>

// Functions whose headers are not part of cotangent.hpp: a call names the missing header. If the header is
// included, its function is the better match, since these take packs. (Written out, since a macro would add
// lines to each error.)

namespace cotangent {

namespace detail {
template <class... A>
concept with_expressions = (is_expr<A> || ...);
} // namespace detail

template <class... A>
  requires detail::with_expressions<A...>
constexpr auto gelu(A const&...) {
  static_assert(refusals::header_of_nn::report<A...>());
  return refused{};
}
template <class... A>
  requires detail::with_expressions<A...>
constexpr auto binary_cross_entropy_with_logits(A const&...) {
  static_assert(refusals::header_of_nn::report<A...>());
  return refused{};
}
template <class... A>
  requires detail::with_expressions<A...>
constexpr auto batch_take(A const&...) {
  static_assert(refusals::header_of_nn::report<A...>());
  return refused{};
}
template <auto... Parameters, class... A>
  requires detail::with_expressions<A...>
constexpr auto split(A const&...) {
  static_assert(refusals::header_of_nn::report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::with_expressions<A...>
constexpr auto conv2d(A const&...) {
  static_assert(refusals::header_of_images::report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::with_expressions<A...>
constexpr auto max_pool2d(A const&...) {
  static_assert(refusals::header_of_images::report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::with_expressions<A...>
constexpr auto avg_pool2d(A const&...) {
  static_assert(refusals::header_of_images::report<A...>());
  return refused{};
}
template <element_type T, extent... E, class... A>
  requires detail::with_expressions<A...>
constexpr auto random_uniform(A const&...) {
  static_assert(refusals::header_of_random::report<A...>());
  return refused{};
}
template <element_type T, extent... E, class... A>
  requires detail::with_expressions<A...>
constexpr auto random_normal(A const&...) {
  static_assert(refusals::header_of_random::report<A...>());
  return refused{};
}
template <class... A>
  requires detail::with_expressions<A...>
constexpr auto dropout(A const&...) {
  static_assert(refusals::header_of_random::report<A...>());
  return refused{};
}

} // namespace cotangent

#endif
