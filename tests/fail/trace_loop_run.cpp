// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: workspace: a loop whose values are recorded must have a bound: a count that is a number or an extent, or ct::loop{.max_iterations = n}; without one, call P::run_growing
// ERRORS: 1
// LINES: clang 21
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
  return ct::while_loop([](auto, auto y) { return y < 100.0; }, [=](auto, auto y) { return y * x; }, x);
};

int main() {
  using P = ct::program<decltype(ct::grad(f)), double>;
  double x = 2, dx = 0;
#ifdef REFUSED
  alignas(64) unsigned char memory[4096];
  return P::run(memory, std::tie(x), std::tie(dx)) == ct::status::ok ? 0 : 1;
#else
  ct::growing_workspace memory;
  return P::run_growing(memory, std::tie(x), std::tie(dx)) == ct::status::ok ? 0 : 1;
#endif
}
