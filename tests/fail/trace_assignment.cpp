// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an assignment such as x = y or x \+= y must keep the shape of x; give the result a new name
// EXPECT: shape_before<.*size<3>
// EXPECT: shape_after<.*size<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto steps = []([[maybe_unused]] auto w, auto x) {
  auto h = x;
  for (int i = 0; i < 3; ++i) {
#ifdef REFUSED
    h = ct::tanh(h(ct::range<0, 2>));
#else
    h = ct::tanh(h * w);
#endif
  }
  return ct::sum(h);
};

int main() {
  ct::tensor<double, 3> w, x;
  return ct::compiled(steps)(w, x) == 0 ? 0 : 1;
}
