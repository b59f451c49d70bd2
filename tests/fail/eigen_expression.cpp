// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: an Eigen expression must be evaluated first, since its elements are nowhere in memory
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#if __has_include(<eigen3/Eigen/Core>)
#  include <cotangent/interop/eigen.hpp>
Eigen::VectorXd const a = Eigen::VectorXd::Ones(3);
auto expression() { return a + a; }
auto value() { return (a + a).eval(); }
#else // the members that identify it
struct sum_of_two {
  using Scalar = double;
  enum { RowsAtCompileTime = -1, ColsAtCompileTime = 1 };
};
auto expression() { return sum_of_two(); }
auto value() { return std::array<double, 3>{}; }
#endif

namespace ct = cotangent;
inline constexpr auto squares = [](auto x) { return ct::sum(ct::square(x)); };

int main() {
#ifdef REFUSED
  auto const gradient = ct::grad(squares)(expression());
#else
  auto const gradient = ct::grad(squares)(value());
#endif
  return gradient.size() == 0 ? 1 : 0;
}
