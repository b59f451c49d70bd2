// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CONSTANT_CALLS_HPP
#define COTANGENT_TESTS_CONSTANT_CALLS_HPP

#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// Calls at run time against constant evaluations of the same calls.

namespace constant_calls {

template <class A, class B> void is_close(A const& a, B const& b) {
  if constexpr (std::is_arithmetic_v<A>) CHECK(std::fabs(static_cast<double>(a) - static_cast<double>(b)) <= 1e-11 * (1 + std::fabs(static_cast<double>(b))));
  else if constexpr (requires { a.first; }) {
    is_close(a.first, b.first);
    is_close(a.second, b.second);
  } else if constexpr (requires { a.data(); }) {
    REQUIRE(a.size() == b.size());
    auto const count = static_cast<std::size_t>(a.size());
    for (std::size_t k = 0; k < count; ++k) is_close(a.data()[k], b.data()[k]);
  } else
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (is_close(std::get<I>(a), std::get<I>(b)), ...);
    }(std::make_index_sequence<std::tuple_size_v<A>>{});
}
/// A call at run time against the constant evaluation of the same call; `arguments` returns a tuple of constants.
template <class F, class Arguments> void agrees(F, Arguments) {
  static constexpr auto wanted = std::apply(F{}, Arguments{}());
  is_close(std::apply(F{}, Arguments{}()), wanted);
}

} // namespace constant_calls

#endif
