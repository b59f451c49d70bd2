// SPDX-License-Identifier: BSL-1.0
// A custom operation: one struct, and one function for expressions.
#include <cotangent/cotangent.hpp>

#include <cstdio>

namespace ct = cotangent;

// [operation]
/// x / (1 + |x|).
struct softsign_operation : ct::extend::elementwise<1> {
  static constexpr char const* name = "softsign";
  static constexpr float cost = 6;
  // The arithmetic, for a number or a SIMD vector.
  template <class V> static constexpr V apply(V x) {
    return static_cast<V>(x / (ct::math::broadcast<V>(1) + ct::math::abs(x)));
  }
  // The derivative, written with graph operations, so that it can be differentiated again.
  static constexpr ct::term partial(ct::rule const& r, int) {
    ct::term const shrunk = 1 - ct::extend::apply<ct::op::abs>(r.y()); // 1 / (1 + |x|)
    return shrunk * shrunk;
  }
};

template <class X>
constexpr auto softsign(X const& x, std::source_location where = std::source_location::current()) {
  return ct::extend::apply<softsign_operation>(where, x);
}
// [/operation]

// [use]
inline constexpr auto loss = [](auto w, auto x, auto y) {
  return ct::mean(ct::square(softsign(ct::matmul(x, w)) - y));
};
// [/use]

static_assert(ct::grad([](auto x) { return softsign(x); })(1.0) == 0.25);
static_assert(ct::grad(ct::grad([](auto x) { return softsign(x); }))(1.0) == -0.25);

int main() {
  ct::tensor<double, 3, 2> w{{0.5, -0.25}, {1, 0.75}, {-0.5, 0.3}};
  ct::tensor<double, 5, 3> x{{1, 2, 3}, {-1, 0.5, 2}, {0, 1, -1}, {2, -2, 1}, {0.5, 0.5, 0.5}};
  ct::tensor<double, 5, 2> y{{1, 0}, {0, 1}, {0.5, 0.5}, {-1, 0}, {0, -1}};

  // [check]
  ct::gradient_check const check = ct::check_gradient(loss, w, x, y);
  std::printf("%s\n", check.words().text());
  // [/check]
  return check ? 0 : 1;
}
