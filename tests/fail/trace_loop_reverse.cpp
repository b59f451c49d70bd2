// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: a loop in reverse needs a limit, and can have no condition
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::while_loop<ct::loop{.reverse = true}>([](auto i, auto) { return i < 3; }, [](auto, auto s) { return s * s; }, ct::sum(x) * ct::sum(y));
#else
  return ct::for_loop<ct::loop{.reverse = true}>(3, [](auto, auto s) { return s * s; }, ct::sum(x) * ct::sum(y));
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
