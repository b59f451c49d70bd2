// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: external: the function must take a std::span<T const> for each argument, and a std::span<T> for the result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <span>

namespace ct = cotangent;

int main() {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const f = ct::external(
      {3},
#ifdef REFUSED
      [](std::span<float const>, std::span<float>) {},
#else
      [](std::span<double const>, std::span<double>) {},
#endif
      [](auto, auto, auto, auto) {});
  return f(x).rank() == 1 ? 0 : 1;
}
