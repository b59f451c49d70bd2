// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this function must be declared by its header; include cotangent/random.hpp
// ERRORS: 4
// LINES: g++ 40, clang 90
#include <cotangent/cotangent.hpp>
#ifndef REFUSED
#  include <cotangent/random.hpp>
#endif

namespace ct = cotangent;

// Functions of refused values are not refused again.
inline constexpr auto walk = [](auto key) {
  auto keys = ct::random_split<2>(key);
  return ct::random_uniform<double, 2>(ct::random_fold_in(keys(0), 3)) + ct::random_exponential<double, 2>(keys(1));
};
inline constexpr auto next = [](auto key) { return ct::random_fold_in(key, 3); };
inline constexpr auto wait = [](auto key) { return ct::random_exponential<double, 2>(key); };
inline constexpr auto draw = [](auto key, auto x) { return ct::random_categorical(key, x); };
inline constexpr auto mixed = [](auto key, auto a) {
  return ct::select(ct::random_bernoulli<2>(key, a), ct::random_gamma<2>(key, a), 0);
};

int main() {
  ct::tensor<std::int64_t> const key(3);
  auto sum = ct::compiled(walk)(key);
  auto waits = ct::compiled(wait)(key);
  auto random = ct::compiled(mixed)(key, 0.5);
  std::int64_t const number = ct::compiled(next)(key) + ct::compiled(draw)(key, ct::tensor<double, 3>());
  return number != 0 && sum.data() != nullptr && waits.data() != nullptr && random.data() != nullptr ? 0 : 1;
}
