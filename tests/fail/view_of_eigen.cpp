// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: an Eigen object must be described by a header; include cotangent/interop/eigen.hpp before
// ERRORS: 1
#include <cotangent/core/view.hpp>
#if __has_include(<eigen3/Eigen/Core>)
#  include <eigen3/Eigen/Core>
using vector = Eigen::VectorXd;
#else // what it is recognized by
struct vector {
  using Scalar = double;
  enum { RowsAtCompileTime = -1, ColsAtCompileTime = 1 };
  double* data() { return nullptr; }
  std::int64_t size() { return 0; }
};
#endif

double first(vector v) {
#ifdef REFUSED
  cotangent::view<double, "n"> const x(v);
#else
  cotangent::view<double, "n"> const x(v.data(), v.size());
#endif
  return x(0);
}
