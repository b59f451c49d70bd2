// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_LINALG_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_LINALG_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>
#include <cotangent/trace/expressions/linalg.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/expressions/functions.hpp>

#  include <source_location>
#  include <string_view>

// Linear algebra of expressions of a run-time graph, with options known at run time: ct::einsum("ij,jk->ik", a, b).

namespace cotangent {
namespace dynamic::inline COTANGENT_ABI::detail {

struct einsum_of_text_fn {
  static constexpr char const* name = "einsum";
  using emits = operations<>;
  std::string_view text;
  template <class... Term> constexpr term operator()(term first, Term... rest) const {
    term const x[]{first, rest...};
    return extend::einsum(text, x, sizeof...(Term) + 1);
  }
};

} // namespace dynamic::detail

template <detail::open_expr X>
auto einsum(std::string_view text, X const& x, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::einsum_of_text_fn{text}, x);
}
template <detail::open_expr X, detail::open_expr Y>
auto einsum(std::string_view text, X const& a, Y const& b,
            std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::einsum_of_text_fn{text}, a, b);
}
template <detail::open_expr X, detail::open_expr Y, detail::open_expr Z>
auto einsum(std::string_view text, X const& a, Y const& b, Z const& c,
            std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::einsum_of_text_fn{text}, a, b, c);
}
// A source location cannot follow a pack.
template <detail::open_expr X, detail::open_expr A, detail::open_expr B, detail::open_expr C, detail::open_expr... More>
auto einsum(std::string_view text, X const& x, A const& a, B const& b, C const& c, More const&... more) {
  return X::lift({}, dynamic::detail::einsum_of_text_fn{text}, x, a, b, c, more...);
}

} // namespace cotangent

#endif

COTANGENT_HEADER_END

#endif
