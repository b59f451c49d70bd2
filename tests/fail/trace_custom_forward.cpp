// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_vjp: forward mode needs a rule that is linear in the cotangent; give the function a rule for tangents with ct::custom_jvp, or use reverse mode: grad, vjp, jacrev
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = ct::custom_vjp([](auto x) { return x * x; },
                                         [](auto x, auto, auto dy) { return 2 * x * ct::min(dy, 1); });

int main() {
#ifdef REFUSED
  return ct::jvp(f)(3.0, 1.0).second == 6 ? 0 : 1;
#else
  return ct::vjp(f)(3.0, 1.0).second == 6 ? 0 : 1;
#endif
}
