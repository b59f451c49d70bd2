// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: update_all: this optimizer takes its trees of states, then the number of the step if it counts steps; a learning rate may follow
// ERRORS: 1
// LINES: g++ 16
#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto p, auto g, auto v) {
#ifdef REFUSED
  ct::update_all(ct::sgd{}, p, g, 0.5);
#else
  ct::update_all(ct::sgd{}, p, g, v, 0.5);
#endif
  return std::tuple(p, v);
};

int main() {
  std::array<ct::tensor<double, 3>, 2> p{};
  auto y = ct::compiled(f)(p, p, p);
  return std::get<0>(y)[0](0) == 0 ? 0 : 1;
}
