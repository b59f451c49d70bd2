// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: qr: a matrix must have at least as many rows as columns, and both must be numbers or one name
// EXPECT: rows_of_matrix<2>
// EXPECT: columns_of_matrix<3>
// ERRORS: 1
// LINES: clang 30
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a) { return std::get<1>(ct::qr(a)); };
#else
inline constexpr auto f = [](auto a) { return std::get<1>(ct::qr(ct::transpose(a))); };
#endif

int main() {
  ct::tensor<float, 2, 3> a;
  auto y = ct::compiled(f)(a);
  return y(0, 0) == 0 ? 0 : 1;
}
