// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: an Eigen object must be described by a header; include cotangent/interop/eigen.hpp before
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#if __has_include(<eigen3/Eigen/Core>)
#  include <eigen3/Eigen/Core>
using matrix = Eigen::MatrixXd;
#else // what it is recognized by
struct matrix {
  using Scalar = double;
  enum { RowsAtCompileTime = -1, ColsAtCompileTime = -1 };
  double const* data() const { return nullptr; }
  std::int64_t size() const { return 0; }
  std::int64_t rows() const { return 0; }
  std::int64_t cols() const { return 0; }
};
#endif

namespace ct = cotangent;
inline constexpr auto squares = [](auto x) { return ct::sum(ct::square(x)); };

int main() {
  matrix const m{};
#ifdef REFUSED
  auto [value, gradient] = ct::value_and_grad(squares)(m);
#else
  ct::view<double const, "columns", "rows"> const transpose(m.data(), m.cols(), m.rows());
  auto [value, gradient] = ct::value_and_grad(squares)(transpose);
#endif
  return value == 0 && gradient.size() == 0 ? 0 : 1;
}
