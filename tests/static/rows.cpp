// SPDX-License-Identifier: BSL-1.0
// Loops over the rows of an expression.
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

namespace {

constexpr auto horner = [](auto coefficients, auto x) {
  ct::expr<double> y = 0.0;
  for (auto c : coefficients) y = y * x + c;
  return y;
};
static_assert(ct::compiled(horner)(ct::tensor<double, 3>{1, 2, 3}, 2.0) == 11);
static_assert(ct::grad<1>(horner)(ct::tensor<double, 3>{1, 2, 3}, 2.0) == 6);

constexpr auto product_of_rows = [](auto m) {
  ct::expr<double, 2> y = ct::ones<2>();
  for (auto row : m) y *= row;
  return y;
};
static_assert(ct::compiled(product_of_rows)(ct::tensor<double, 3, 2>{{1, 2}, {3, 4}, {5, 6}}) ==
              ct::tensor<double, 2>{15, 48});

template <class X> concept loops_over = requires(X const& x) { x.begin(); };
static_assert(loops_over<ct::expr<float, 3, "n">> && !loops_over<ct::expr<float, "n", 3>> &&
              !loops_over<ct::expr<float>>);

} // namespace
