// SPDX-License-Identifier: BSL-1.0
#include <span>

// A user's short global names, in a build with -Wshadow -Werror: the library's locals and members are none of them to warn of.
namespace {
[[maybe_unused]] int w, x, y, p, c, n, k, g, r, s, t, u, v, at, row, rows, lane, lanes, first, last, count, size, constant, from,
    to, value, block, once, sub, active, sums, total, into, before, index_, wide, turned, one, all, low, high, stride, offset;
}

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto logistic = [](auto a, auto b) {
  auto const z = ct::sum(a * b, ct::axes<1>);
  return ct::sum(ct::softplus(z)) + ct::sum(ct::square(ct::exp(b) - 1.0));
};
using program = ct::program<decltype(ct::value_and_grad<0, 1>(logistic)), ct::tensor<double, "n", 20>, ct::tensor<double, 20>>;

int main() {
  ct::tensor<double, "n", 20> a(3), da(3);
  ct::tensor<double, 20> b, db;
  double result = 0;
  alignas(64) static unsigned char memory[4096];
  return program::run(std::span<unsigned char>(memory), std::tie(a, b), std::tie(result, da, db)) == ct::status::ok ? 0 : 1;
}
