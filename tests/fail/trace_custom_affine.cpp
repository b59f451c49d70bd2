// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_vjp: forward mode needs a rule that is linear in the cotangent; give the function a rule for tangents with ct::custom_jvp, or use reverse mode: grad, vjp, jacrev
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto decays = ct::custom_vjp([](auto x) { return x * 1.0; }, [](auto x, auto, auto dy) { return dy + 0.1 * x; });

int main() {
#ifdef REFUSED
  return ct::jvp(decays)(3.0, 1.0).second == 1 ? 0 : 1;
#else
  return ct::grad(decays)(3.0) == 1.3 ? 0 : 1;
#endif
}
