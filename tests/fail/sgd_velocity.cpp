// SPDX-License-Identifier: BSL-1.0
// EXPECT: (momentum_needs_a_velocity|constexpr variable 'value' must be initialized by a constant expression)
// ERRORS: 2
// LINES: g++ 30, clang 80
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto p, auto g, [[maybe_unused]] auto velocity) {
#ifdef REFUSED
  ct::sgd{.momentum = 0.9}.update(p, g);
#else
  ct::sgd{.momentum = 0.9}.update(p, g, velocity);
#endif
  return p;
};

int main() {
  ct::tensor<float, 3> const p{}, g{}, v{};
  return ct::compiled(f)(p, g, v)(0) == 0 ? 0 : 1;
}
