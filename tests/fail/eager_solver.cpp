// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: eager: fixed_point and root must be in a traced function or a run-time graph
// ERRORS: 2
// LINES: g++ 30, clang 56
#include <cotangent/cotangent.hpp>
#include <cotangent/eager.hpp>

namespace ct = cotangent;

inline constexpr auto residual = [](auto z, auto a) { return z * z - a; };
inline constexpr auto solved = [](auto a) { return ct::root(residual, a, a); };
inline constexpr auto captured = [](auto a) { return ct::root([&](auto z) { return residual(z, a); }, 1.0); };

void solve(ct::dynamic::eager& e) {
  auto x = e.parameter(2.0);
#ifdef REFUSED
  auto const y = solved(x);
  auto const z = captured(x);
#else
  auto const y = ct::compiled(solved)(x.item());
  auto const z = ct::compiled(captured)(x.item());
#endif
  static_cast<void>(y);
  static_cast<void>(z);
}
