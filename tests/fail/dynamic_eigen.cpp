// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: an Eigen object must be described by a header; include cotangent/interop/eigen.hpp before
// ERRORS: 1
// LINES: g++ 16, clang 28
#include <cotangent/dynamic.hpp>
#if __has_include(<eigen3/Eigen/Core>)
#  include <eigen3/Eigen/Core>
using row = Eigen::Block<Eigen::MatrixXd, 1>;
#else // what it is recognized by
struct row {
  using Scalar = double;
  enum { RowsAtCompileTime = 1, ColsAtCompileTime = -1 };
  double* data() { return nullptr; }
  std::int64_t size() { return 0; }
};
#endif

namespace ct = cotangent;

void bind(ct::dynamic::program& p, ct::dynamic::expr<double> const& x, row& r, double* copy) {
#ifdef REFUSED
  (void)copy;
  p.bind(x, r);
#else
  p.bind(x, ct::view<double, "n">(copy, r.size()));
#endif
}
