// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x.size\(\), x.extent\(k\): the extent must be a number, since a name gets its size at the call; write ct::axis_size<k>\(x\) for its value
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto average = [](auto x, [[maybe_unused]] auto size) {
#ifdef REFUSED
  return ct::sum(x) / static_cast<double>(x.size());
#else
  return ct::sum(x) / size;
#endif
};

int main() {
  ct::tensor<double, "n"> x(2);
  return ct::compiled(average)(x, 2.0) == 0 ? 0 : 1;
}
