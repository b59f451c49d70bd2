// SPDX-License-Identifier: BSL-1.0
// Values without operands: arithmetic on them before they meet a graph.
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

namespace {

constexpr ct::tensor<double, 3> x{10, 20, 30};
constexpr ct::tensor<double, 2, 3> m{{1, 2, 3}, {4, 5, 6}};

template <class F, class... Args> consteval auto run(F f, Args const&... args) { return ct::compiled(f)(args...); }
template <int N> constexpr bool equals(ct::tensor<double, N> const& a, ct::tensor<double, N> const& b) {
  return a == b;
}

// Numbers.
static_assert(equals<3>(run([](auto y) { return y + (ct::zeros<3>() + 1) * 2; }, x), {12, 22, 32}));
static_assert(equals<3>(run([](auto y) { return ct::exp(ct::zeros<3>()) + y; }, x), {11, 21, 31}));
static_assert(run([](auto y) {
                ct::expr<double> s = 0.0;
                for (int i = 0; i < 3; ++i) s = s + y(i);
                return s;
              }, x) == 60);
static_assert(run([](auto y) {
                ct::expr<double> s = 1.0;
                for (int i = 0; i < 3; ++i) s *= y(i);
                s += 0.5;
                return s;
              }, x) == 6000.5);

// Numbers that count.
static_assert(equals<3>(run([](auto y) { return ct::iota<double, 3>() * 2.0 + y; }, x), {10, 22, 34}));
static_assert(equals<3>(run([](auto y) { return y + (1 - ct::iota<double, 3>() / 2); }, x), {11, 20.5, 30}));
static_assert(equals<3>(run([](auto y) { return y + ct::convert<double>(5 - 2 * ct::iota<3>()); }, x), {15, 23, 31}));
static_assert(equals<3>(run([](auto y) { return y * (ct::iota<double, 3>() - ct::iota<double, 3>(1.0, 1.0)); }, x),
                        {-10, -20, -30}));
static_assert(equals<3>(run([](auto y) { return y + -ct::iota<double, 3>(); }, x), {10, 19, 28}));
static_assert(equals<2>(run([](auto y) { return y(ct::range<0, 2>) + (ct::iota<double, 6>() + 1)(ct::range<1, 5, 2>); },
                            x), {12, 24}));
// Rows and columns of an outer sum.
static_assert(run([](auto y) { return y + ct::reshape<2, 1>(ct::iota<double, 2>() * 10) + ct::zeros<2, 3>(); }, m)(1, 2) ==
              16);
static_assert(run([](auto y) { return y + ct::transpose(ct::reshape<3, 1>(ct::iota<double, 3>())); }, m)(1, 2) == 8);
static_assert(run([](auto) { return ct::broadcast_to<2, 3>(ct::iota<double, 3>() * 2); }, x)(1, 2) == 4);
static_assert(run([](auto) { return ct::iota<double, 3>() * 2 + 1; }, x)(2) == 5);

// They are constants for a gradient.
static_assert(ct::grad([](auto y) { return ct::sum(y * (ct::iota<double, 3>() + 1)); })(x)(2) == 3);

} // namespace
