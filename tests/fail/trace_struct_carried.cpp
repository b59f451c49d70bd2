// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter
// ERRORS: 1
// LINES: g++ 35, clang 35
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

inline constexpr auto turn = [](auto l) { return line{l.offset, l.slope}; };
inline constexpr auto carried = [](auto x) { return ct::for_loop(3, [](auto, auto l) { return turn(l); }, line{x, 2.0 * x}); };

int main() {
  auto const last = ct::compiled(carried)(0.5);
  (void)last;
}
