// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the shapes of both operands must be equal axis by axis from the last, or 1
// ERRORS: 1
// LINES: g++ 20, clang 44
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

// A mistake in a body is the only error: neither the loop nor its result is refused.
inline constexpr auto f = [](auto x, auto y) {
  auto const [a, b] = ct::for_loop(
      3,
      [&](auto, auto p, auto q) {
#ifdef REFUSED
        return std::tuple(p + y, q);
#else
        return std::tuple(p + x, q);
#endif
      },
      x, y);
  return ct::cond(ct::sum(a) > 0, [](auto z) { return ct::sum(z); }, [](auto z) { return -ct::sum(z); })(a * a) + ct::sum(b);
};

int main() { return ct::compiled(f)(ct::tensor<double, 3>{}, ct::tensor<double, 2>{}) == 0 ? 0 : 1; }
