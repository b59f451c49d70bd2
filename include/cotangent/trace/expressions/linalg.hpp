// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_LINALG_HPP
#define COTANGENT_TRACE_EXPRESSIONS_LINALG_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/linalg/einsum.hpp>
#include <cotangent/ops/linalg/products.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <cstddef>
#include <source_location>
#include <string_view>

// Functions of linear algebra. (Not part of cotangent.hpp.)

namespace cotangent {

namespace detail {

/// Subscripts as a template argument: ct::einsum<"ij,jk->ik">.
template <std::size_t N> struct subscripts {
  char text[N]{};
  consteval subscripts(char const (&from)[N]) {
    for (std::size_t k = 0; k < N; ++k) text[k] = from[k];
  }
};
template <subscripts S> struct einsum_fn {
  static constexpr char const* name = "einsum";
  template <class... Term> constexpr term operator()(term first, Term... rest) const {
    term const x[]{first, rest...};
    return extend::einsum(std::string_view(S.text, sizeof(S.text) - 1), x, sizeof...(Term) + 1);
  }
};

} // namespace detail

/// The sum of products that the subscripts describe, with a letter for each axis: `ct::einsum<"bij,bjk->bik">(a, b)`.
template <detail::subscripts S, detail::operand A>
constexpr auto einsum(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a);
}
template <detail::subscripts S, detail::operand A, detail::operand B>
constexpr auto einsum(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a, b);
}
template <detail::subscripts S, detail::operand A, detail::operand B, detail::operand C>
constexpr auto einsum(A const& a, B const& b, C const& c, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a, b, c);
}
// A source location cannot follow a pack.
template <detail::subscripts S, detail::operand A, detail::operand B, detail::operand C, detail::operand D,
          detail::operand... X>
constexpr auto einsum(A const& a, B const& b, C const& c, D const& d, X const&... x) {
  return detail::lift({}, detail::einsum_fn<S>{}, a, b, c, d, x...);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
