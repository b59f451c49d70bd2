// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: external: the rule must take a std::span<T const> for each argument, for the result and for its cotangent, and a std::span<T> for each cotangent that it writes
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <span>

namespace ct = cotangent;

int main() {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const f = ct::external(
      {3}, [](std::span<double const>, std::span<double>) {},
#ifdef REFUSED
      [](std::span<double const>, std::span<double>) {});
#else
      [](std::span<double const>, std::span<double const>, std::span<double const>, std::span<double>) {});
#endif
  return f(x).rank() == 1 ? 0 : 1;
}
