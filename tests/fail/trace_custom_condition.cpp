// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_jvp: reverse mode needs a rule that is linear in the tangents; give the function a rule for cotangents with ct::custom_vjp, or use forward mode: jvp, jacfwd
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto doubled = ct::custom_jvp([](auto x) { return x * 1.0; }, [](auto, auto dx) {
  return ct::while_loop<ct::loop{.max_iterations = 40}>([](auto, auto s) { return s < 100.0; }, [](auto, auto s) { return s * 2.0; }, dx);
});

int main() {
#ifdef REFUSED
  return ct::grad(doubled)(3.0) == 128 ? 0 : 1;
#else
  return ct::jvp(doubled)(3.0, 1.0).second == 128 ? 0 : 1;
#endif
}
