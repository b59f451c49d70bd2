// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_OTHER_HEADERS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_OTHER_HEADERS_HPP

#include <cotangent/trace/expressions/lift.hpp>

// Functions whose headers are not part of cotangent.hpp: a call names the missing header. If the header is included, it declares
// `is_included` for its refusal, and its functions alone are candidates. (Written out, since a macro would add lines to each error.)

namespace cotangent {

namespace detail {
/// True if the header is missing; and after the refusal of an operand, since one mistake is one error.
template <class Missing, class... A>
concept lacks_header =
    (std::is_same_v<A, refused> || ...) || ((is_expr<A> || ...) && !requires(Missing header) { is_included(header); });
/// The refusal `Missing`, unless an operand was refused before: one mistake is one error.
template <class Missing, class... A> using if_new = std::conditional_t<(std::is_same_v<A, refused> || ...), said_before, Missing>;
} // namespace detail

template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto gelu(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto binary_cross_entropy_with_logits(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto batch_take(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <auto... Parameters, class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto split(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto mse(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto huber(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto hinge(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto kl_divergence(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto soft_cross_entropy(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto smooth_labels(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto layer_norm(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto batch_norm(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <std::int64_t Groups, class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto group_norm(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto rms_norm(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto embedding(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto attention(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto causal_attention(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto lstm_cell(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_nn, A...>
constexpr auto gru_cell(A const&...) {
  static_assert(detail::if_new<refusals::header_of_nn, A...>::template report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::lacks_header<refusals::header_of_images, A...>
constexpr auto conv2d(A const&...) {
  static_assert(detail::if_new<refusals::header_of_images, A...>::template report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::lacks_header<refusals::header_of_images, A...>
constexpr auto max_pool2d(A const&...) {
  static_assert(detail::if_new<refusals::header_of_images, A...>::template report<A...>());
  return refused{};
}
template <auto... How, class... A>
  requires detail::lacks_header<refusals::header_of_images, A...>
constexpr auto avg_pool2d(A const&...) {
  static_assert(detail::if_new<refusals::header_of_images, A...>::template report<A...>());
  return refused{};
}
template <element_type T, extent... E, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_uniform(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <element_type T, extent... E, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_normal(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <element_type T, extent... E, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_exponential(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <extent... E, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_bernoulli(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <extent... E, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_gamma(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_categorical(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_fold_in(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <extent Count, class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto random_split(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}
template <class... A>
  requires detail::lacks_header<refusals::header_of_random, A...>
constexpr auto dropout(A const&...) {
  static_assert(detail::if_new<refusals::header_of_random, A...>::template report<A...>());
  return refused{};
}

} // namespace cotangent

#endif
