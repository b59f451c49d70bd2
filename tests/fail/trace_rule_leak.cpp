// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, map, custom_vjp, custom_jvp: a value must not leave the function or rule that it was computed in, except as its result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
  ct::expr<double> last = x;
  auto const square = ct::custom_vjp([](auto a) { return a * a; }, [&](auto a, auto, auto d) {
#ifdef REFUSED
    last = d * a;
#endif
    return 2.0 * d * a;
  });
  return std::pair(ct::grad(square)(x), last);
};

int main() { return ct::compiled(f)(3.0).first == 6 ? 0 : 1; }
