// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: gradient: every operation on the way to the output must have a derivative; give the operation partial
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

struct twice : ct::extend::elementwise<1> {
  static constexpr char const* name = "twice";
  template <class V> static constexpr V apply(V x) { return x + x; }
#ifndef REFUSED
  static constexpr ct::term partial(ct::rule const& r, int) { return r.x(0) * 0 + 2; }
#endif
};
inline constexpr auto f = [](auto x) { return 3 * ct::extend::apply<twice>(std::source_location::current(), x); };

int main() {
  auto [value, gradient] = ct::value_and_grad(f)(2.0);
  return value == 12 && gradient == 6 ? 0 : 1;
}
