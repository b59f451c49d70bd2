// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: run: the results must not be const, since run writes them
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;
inline constexpr auto twice = [](auto x) { return x + x; };

ct::status run(ct::tensor<double, 3> const& x, ct::tensor<double, 3>& y) {
  using P = ct::program<decltype(ct::compiled(twice)), ct::tensor<double, 3>>;
  P::workspace workspace;
#ifdef REFUSED
  ct::view<double const, 3> const to(y);
#else
  ct::view<double, 3> const to(y);
#endif
  return P::run(workspace, std::tie(x), std::tie(to));
}
