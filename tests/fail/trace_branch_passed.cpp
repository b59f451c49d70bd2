// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: a value that is passed through must have the element type and shape of its result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::case_of(1, [](auto z) { return ct::sum(z); }, [](auto z) { return ct::sum(z * z); })(x);
#else
  return ct::sum(ct::case_of(1, [](auto z) { return z; }, [](auto z) { return z * z; })(x));
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
