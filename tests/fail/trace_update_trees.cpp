// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: update_all: the trees of gradients and states must have the structure of the parameters
// ERRORS: 1
// LINES: g++ 16
#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto p, auto g, auto v) {
#ifdef REFUSED
  ct::update_all(ct::sgd{}, p, std::array{g[0], g[1], g[1]}, v);
#else
  ct::update_all(ct::sgd{}, p, g, v);
#endif
  return std::tuple(p, v);
};

int main() {
  std::array<ct::tensor<double, 3>, 2> p{};
  auto y = ct::compiled(f)(p, p, p);
  return std::get<0>(y)[0](0) == 0 ? 0 : 1;
}
