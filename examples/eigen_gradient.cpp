// SPDX-License-Identifier: BSL-1.0
// A code base that uses Eigen replaces one gradient written by hand: ridge regression by gradient descent.
#include <cmath>
#include <cstdio>

#if __has_include(<Eigen/Core>) || __has_include(<eigen3/Eigen/Core>)
#  include <cotangent/cotangent.hpp>
#  include <cotangent/interop/eigen.hpp>

namespace ct = cotangent;

namespace {

// [by hand]
Eigen::VectorXd gradient_by_hand(Eigen::VectorXd const& w, Eigen::MatrixXd const& x, Eigen::VectorXd const& y) {
  return 2 * x.transpose() * (x * w - y) / static_cast<double>(y.size()) + 0.2 * w;
}
// [/by hand]

// [replaced]
inline constexpr auto loss = [](auto w, auto x, auto y) {
  return ct::mean(ct::square(ct::sum(x * w, ct::axes<1>) - y)) + 0.1 * ct::sum(ct::square(w));
};
Eigen::VectorXd gradient(Eigen::VectorXd const& w, Eigen::MatrixXd const& x, Eigen::VectorXd const& y) {
  return ct::grad(loss)(ct::eigen_view<"k">(w), ct::eigen_view<"n", "k">(x), ct::eigen_view<"n">(y));
}
// [/replaced]

} // namespace

int main() {
  constexpr int samples = 40, features = 3;
  Eigen::MatrixXd x(samples, features);
  Eigen::VectorXd y(samples), w = Eigen::VectorXd::Zero(features);
  for (int i = 0; i < samples; ++i) {
    for (int j = 0; j < features; ++j) x(i, j) = std::sin(1.0 + i * (j + 1.0));
    y(i) = 2 * x(i, 0) - x(i, 1) + 0.5;
  }
  double difference = 0;
  for (int k = 0; k < 300; ++k) {
    Eigen::VectorXd const g = gradient(w, x, y);
    difference = std::fmax(difference, (g - gradient_by_hand(w, x, y)).norm());
    w -= 0.3 * g;
  }
  std::printf("w %.4f %.4f %.4f; the gradients differ by %.1e\n", w(0), w(1), w(2), difference);
  return difference < 1e-12 && gradient(w, x, y).norm() < 1e-6 ? 0 : 1;
}
#else
int main() { std::puts("Eigen is not installed"); }
#endif
