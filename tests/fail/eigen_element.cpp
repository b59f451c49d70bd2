// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the elements of a tensor must be float, double, std::int32_t, std::int64_t, bool, ct::float16 or ct::bfloat16
// EXPECT: allowed<char>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#if __has_include(<eigen3/Eigen/Core>)
#  include <cotangent/interop/eigen.hpp>
template <class T> using matrix = Eigen::Matrix<T, 2, 2>;
#else // the members that identify it
template <class T> struct matrix {
  using Scalar = T;
  enum { RowsAtCompileTime = 2, ColsAtCompileTime = 2 };
  T const* data() const { return nullptr; }
};
#endif

namespace ct = cotangent;
inline constexpr auto all = [](auto x) { return ct::sum(x); };

int main() {
#ifdef REFUSED
  auto const y = ct::compiled(all)(matrix<char>{});
#else
  auto const y = ct::compiled(all)(ct::tensor<double, 2, 2>());
#endif
  return y == 0 ? 0 : 1;
}
