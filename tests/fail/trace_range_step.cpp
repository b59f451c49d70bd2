// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: ct::range<start, stop, step>: the step must not be 0, and must divide the length of a range whose length has a name
// EXPECT: step_given<2>
// EXPECT: length_of_range<'n'>
// ERRORS: 1
// LINES: clang 27
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto part = [](auto x) {
  auto both = ct::concatenate<0>(x, x); // of 2n elements
#ifdef REFUSED
  return ct::sum(both) + ct::sum(x(ct::range<0, ct::end, 2>));
#else
  return ct::sum(both) + ct::sum(both(ct::range<0, ct::end, 2>));
#endif
};

int main() {
  ct::tensor<double, "n"> x{1, 2, 4};
  return ct::compiled(part)(x) == 14 + 1 + 4 + 2 ? 0 : 1;
}
