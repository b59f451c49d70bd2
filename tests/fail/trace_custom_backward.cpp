// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_jvp: reverse mode needs a rule that is linear in the tangents; give the function a rule for cotangents with ct::custom_vjp, or use forward mode: jvp, jacfwd
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = ct::custom_jvp([](auto x) { return x * x; }, [](auto x, auto dx) { return 2 * x * ct::max(dx, 0.); });

int main() {
#ifdef REFUSED
  return ct::grad(f)(3.0) == 6 ? 0 : 1;
#else
  return ct::jvp(f)(3.0, 1.0).second == 6 ? 0 : 1;
#endif
}
