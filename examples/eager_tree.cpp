// SPDX-License-Identifier: BSL-1.0
// A recursive function of trees whose shape differs between samples. Eager mode runs it operation by operation and learns how
// the values of two branches combine.
#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>

namespace ct = cotangent;

namespace {

struct tree {
  std::unique_ptr<tree> left, right; // both or none
  double leaf = 0;
};

std::unique_ptr<tree> grow(std::mt19937& random, int depth) {
  auto t = std::make_unique<tree>();
  if (depth > 0 && random() % 4 != 0) {
    t->left = grow(random, depth - 1);
    t->right = grow(random, depth - 1);
  } else t->leaf = static_cast<double>(random() % 1000) / 500 - 1;
  return t;
}

// [function]
template <class X> X value_of(tree const& t, X const& from_left, X const& from_right) {
  if (t.left == nullptr) return t.leaf;
  return from_left * value_of(*t.left, from_left, from_right) +
         from_right * ct::tanh(value_of(*t.right, from_left, from_right));
}
// [/function]

} // namespace

int main() {
  std::mt19937 random(7);
  // [learn]
  ct::dynamic::eager e;
  auto left = e.parameter(0.1), right = e.parameter(0.1);
  ct::dynamic::trainer descent(ct::adam{.learning_rate = 0.02}, {left, right});
  for (int k = 0; k < 600; ++k) {
    auto const sample = grow(random, 4);
    double const wanted = value_of<ct::dynamic::variable<double>>(*sample, 0.75, -0.5).item();
    auto const loss = ct::square(value_of(*sample, left, right) - wanted);
    if (loss.tracked()) descent.minimize(e, loss); // a single leaf depends on no parameter
  }
  // [/learn]
  std::printf("left %.4f (0.75), right %.4f (-0.5); %lld operations are still recorded\n", left.item(),
              right.item(), static_cast<long long>(e.live().operations));
  bool const learnt = std::abs(left.item() - 0.75) < 0.01 && std::abs(right.item() + 0.5) < 0.01;
  return learnt && e.live().operations == 0 ? 0 : 1;
}
