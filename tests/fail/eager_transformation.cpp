// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: eager: a variable must not be an argument of a traced function; differentiate variables with e.grad, or pass the elements, x.value\(\)
// ERRORS: 1
// LINES: g++ 30, clang 56
#include <cotangent/cotangent.hpp>
#include <cotangent/eager.hpp>

namespace ct = cotangent;

inline constexpr auto square = [](auto x) { return x * x; };

void slope(ct::dynamic::eager& e) {
  auto x = e.parameter(2.0);
#ifdef REFUSED
  auto const d = ct::grad(square)(x);
#else
  auto const d = e.grad({square(x)}, {x}).front();
#endif
  static_cast<void>(d);
}
