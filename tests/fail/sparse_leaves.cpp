// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: sparse_jacobian: the result of the function and the argument must each be one tensor
// ERRORS: 1
#include <cotangent/sparse.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return std::pair(ct::sin(x), x);
#else
  return ct::sin(x);
#endif
};

int main() {
  ct::tensor<double, 3> const x{1, 2, 3};
  auto const j = ct::sparse_jacobian(f)(x); // a refused one has the members of a result
  (void)j.values, (void)j.dense(), (void)j.times(x);
  return 0;
}
