// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
struct line {
  BOOST_HANA_DEFINE_STRUCT(line, (ct::expr<double>, slope), (ct::expr<double>, offset));
};
#else
template <template <class, ct::extent...> class Tensor> struct lines {
  BOOST_HANA_DEFINE_STRUCT(lines, (Tensor<double>, slope), (Tensor<double>, offset));
};
using line = lines<ct::expr>;
#endif

int main() {
  auto const made = ct::compiled([](auto x) { return line{x, x * 2.0}; })(0.5);
  (void)made;
}
