// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: update_all: this optimizer takes its trees of states, then the number of the step
// ERRORS: 1
// LINES: g++ 16
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto p, auto g, auto m, auto v) {
#ifdef REFUSED
  ct::update_all(ct::adam{}, p, g, m, v);
#else
  ct::update_all(ct::adam{}, p, g, m, v, 1.0);
#endif
  return std::get<0>(p);
};

int main() {
  std::tuple<ct::tensor<float, 2>, ct::tensor<float, 3>> p;
  auto y = ct::compiled(f)(p, p, p, p);
  return y(0) == 0 ? 0 : 1;
}
