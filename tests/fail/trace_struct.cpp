// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

template <template <class, ct::extent...> class Tensor> struct line {
#ifdef REFUSED
  BOOST_HANA_DEFINE_STRUCT(line, (Tensor<double, 3>, slope), (double, offset));
#else
  BOOST_HANA_DEFINE_STRUCT(line, (Tensor<double, 3>, slope), (Tensor<double>, offset));
#endif
};
inline constexpr auto height = [](auto const& p, auto x) { return ct::dot(p.slope, x) + p.offset; };

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  line<ct::tensor> p{{1, 1, 1}, 4.0};
  auto gradient = ct::grad(height)(p, x);
  return gradient.slope(2) == 3 && gradient.offset == 1.0 ? 0 : 1;
}
