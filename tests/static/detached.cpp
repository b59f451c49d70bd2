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

// One of two numbers, chosen by position.
using square = ct::tensor<double, 3, 3>;
static_assert(run([](auto) { return ct::eye<3>(); }, x) == square{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
static_assert(ct::compiled([](auto y) { return y * ct::eye<2, 3>(); })(ct::tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6}}) == ct::tensor<double, 2, 3>{{1, 0, 0}, {0, 5, 0}});
static_assert(ct::compiled([](auto y) { return y + ct::eye<float, 3, 1>(); })(ct::tensor<float, 3, 1>{{0}, {1}, {2}}) == ct::tensor<float, 3, 1>{{1}, {1}, {2}});
static_assert(run([](auto) { return 3 - 2 * ct::eye<3>(); }, x) == square{{1, 3, 3}, {3, 1, 3}, {3, 3, 1}});
static_assert(run([](auto y) { return ct::matmul(y, ct::eye<3>()); }, m) == m);
static_assert(equals<3>(run([](auto) { return ct::one_hot<3, double>(ct::full<std::int64_t>(2)); }, x), {0, 0, 1}));
static_assert(run([](auto) { return ct::one_hot<3, double>(2 - ct::iota<3>()); }, x) ==
              square{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}});
static_assert(equals<3>(run([](auto y) { return y * ct::convert<double>(ct::iota<3>() == 1); }, x), {0, 20, 0}));
static_assert(equals<3>(run([](auto y) { return y * ct::convert<double>(ct::iota<3>() != 1); }, x), {10, 0, 30}));
static_assert(equals<3>(run([](auto) { return ct::select(ct::iota<3>() < 1, 5., ct::exp(ct::zeros<3>())); }, x), {5, 1, 1}));
static_assert(equals<3>(run([](auto) { return ct::select(2 * ct::iota<3>() >= 5 - ct::iota<3>(), 1., 0.); }, x), {0, 0, 1}));
static_assert(run([](auto) {
                auto rows = ct::reshape<3, 1>(ct::iota<3>());
                return ct::convert<double>(ct::iota<3>() <= rows);
              }, x) == square{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}});
static_assert(equals<2>(run([](auto) { return ct::convert<double>(ct::iota<6>() == 3)(ct::range<1, 5, 2>); }, x), {0, 1}));
static_assert(run([](auto) { return ct::transpose(ct::convert<double>(ct::reshape<2, 1>(ct::iota<2>()) < ct::iota<3>())); },
                  x) == ct::tensor<double, 3, 2>{{0, 0}, {1, 0}, {1, 1}});
static_assert(run([](auto) { return ct::eye<3>()(1)(1) + ct::eye<3>()(2, 1); }, x) == 1);
static_assert(run([](auto y) { return ct::sum(ct::eye<"n">() * y); }, ct::view<double const, "n">(x)) == 60);

// They are constants for a gradient.
static_assert(ct::grad([](auto y) { return ct::sum(y * (ct::iota<double, 3>() + 1)); })(x)(2) == 3);

// What is not computed ahead is refused with the line of the operation, wherever it meets the graph.
inline constexpr auto wave = [](auto y) {
  auto z = ct::exp(y);
  auto sines = ct::sin(ct::iota<double, 3>());

  return z * (sines + 1);
};
inline constexpr unsigned line_of_sines = __LINE__ - 4;
using refused_wave = ct::detail::stages<ct::detail::compiled_function<decltype(wave)>, ct::tensor<double, 3>>;
static_assert(refused_wave::found::value.where.line() == line_of_sines);

} // namespace
