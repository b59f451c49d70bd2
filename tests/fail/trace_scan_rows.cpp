// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scan: after the carry there must be tensors with rows: expressions, or tuples, arrays or Boost.Hana structs of them
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto add = [](auto s, auto row, auto other) { return std::pair(s + row * other, row); };

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::scan(add, ct::sum(x) + ct::sum(y), 1.0, 2.0).first;
#else
  return ct::scan(add, ct::sum(x), x, y(ct::range<0, 2>)).first;
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
