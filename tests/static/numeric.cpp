// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>
#include <cotangent/special.hpp>

#include <cstdint>
#include <limits>

// Numerical and special functions at their edges, by the compiler.

namespace ct = cotangent;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr bool near(double x, double y) { return x - y < 1e-13 && y - x < 1e-13; }
constexpr bool is_nan(double x) { return x != x; }

// empty and one-element axes
using none = ct::tensor<double, 0>;
using one = ct::tensor<double, 1>;
using two = ct::tensor<double, 2>;
constexpr auto diff = ct::compiled([](auto x) { return ct::diff(x); });
static_assert(diff(none()).size() == 0 && diff(one{3}).size() == 0 && diff(two{3, 5}) == one{2});
constexpr auto area = ct::compiled([](auto y) { return ct::trapezoid(y); });
static_assert(area(none()) == 0 && area(one{3}) == 0 && area(two{3, 5}) == 4);
static_assert(ct::compiled([](auto a, auto b) { return ct::kron(a, b); })(two{1, 2}, none()).size() == 0);

// weights of the whole operand, or along its axis
using table = ct::tensor<double, 2, 2>;
static_assert(ct::compiled([](auto x, auto w) { return ct::average<0>(x, w); })(table{{1, 2}, {3, 6}}, two{3, 1}) == two{1.5, 3});
static_assert(ct::compiled([](auto x, auto w) { return ct::average<1>(x, w); })(table{{1, 2}, {3, 6}}, two{3, 1}) == two{1.25, 3.75});
static_assert(ct::compiled([](auto x, auto w) { return ct::average<1>(x, w); })(ct::tensor<double, 2, 1>{{1}, {3}}, one{2}) == two{1, 3});
static_assert(ct::compiled([](auto x, auto w) { return ct::average(x, w); })(table{{1, 2}, {3, 6}}, two{3, 1}) == 2.5);

// remainders have the sign of the divisor
constexpr auto mod = ct::compiled([](auto x, auto y) { return ct::mod(x, y); });
static_assert(mod(7.0, 3.0) == 1 && mod(-7.0, 3.0) == 2 && mod(7.0, -3.0) == -2 && mod(-6.0, 3.0) == 0);

// numbers for NaN and infinities, with the adjoint 0
constexpr auto finite = ct::compiled([](auto x) { return ct::nan_to_num(x); });
static_assert(finite(std::numeric_limits<double>::quiet_NaN()) == 0 && finite(inf) == std::numeric_limits<double>::max() && finite(2.0) == 2);
static_assert(ct::grad([](auto x) { return ct::nan_to_num(x); })(inf) == 0 && ct::grad([](auto x) { return ct::nan_to_num(x); })(2.0) == 1);

// rows: ties, several rows for one place, integers, no rows
using places = ct::tensor<std::int64_t, 2>;
constexpr auto largest = [](auto x, auto i, auto v) { return ct::scatter_max(x, i, v); };
static_assert(ct::compiled(largest)(two{1, 2}, places{1, 1}, two{5, 4}) == two{1, 5});
static_assert(ct::compiled(largest)(ct::tensor<std::int32_t, 2>{1, 2}, places{0, 0}, ct::tensor<std::int32_t, 2>{-5, 4}) == ct::tensor<std::int32_t, 2>{4, 2});
// integers of every size
using integers = ct::tensor<std::int64_t, 3>;
constexpr std::int64_t most = INT64_MAX, least = INT64_MIN;
constexpr auto smallest = [](auto x, auto i, auto v) { return ct::scatter_min(x, i, v); };
constexpr ct::tensor<std::int64_t, 1> first{0}, five{5};
static_assert(ct::compiled(smallest)(integers{most, most, least}, first, five) == integers{5, most, least});
static_assert(ct::compiled(largest)(integers{least, least, most}, first, five) == integers{5, least, most});
static_assert(ct::compiled(largest)(ct::tensor<std::int32_t, 2>{INT32_MIN, INT32_MIN}, first, ct::tensor<std::int32_t, 1>{5}) == ct::tensor<std::int32_t, 2>{5, INT32_MIN});
constexpr auto slopes = ct::grad<0, 2>([](auto x, auto i, auto v) { return ct::sum(largest(x, i, v)); })(two{1, 5}, places{1, 1}, two{5, 4});
static_assert(std::get<0>(slopes) == two{1, 0.5} && std::get<1>(slopes) == two{0.5, 0});
constexpr auto set = [](auto x, auto i, auto v) { return ct::scatter_set(x, i, v); };
static_assert(ct::compiled(set)(two{1, 2}, places{1, 1}, two{5, 4}) == two{1, 4});
static_assert(ct::compiled(set)(two{1, 2}, ct::tensor<std::int64_t, 0>(), none()) == two{1, 2});
constexpr auto kept = ct::grad<0, 2>([](auto x, auto i, auto v) { return ct::sum(set(x, i, v)); })(two{1, 5}, places{1, 1}, two{5, 4});
static_assert(std::get<0>(kept) == two{1, 0} && std::get<1>(kept) == two{0, 1});

// incomplete gamma functions
constexpr auto lower = ct::compiled([](auto a, auto x) { return ct::gammainc(a, x); });
constexpr auto upper = ct::compiled([](auto a, auto x) { return ct::gammaincc(a, x); });
static_assert(lower(2.0, 0.0) == 0 && lower(2.0, inf) == 1 && lower(0.0, 1.0) == 1 && is_nan(lower(-1.0, 1.0)) && is_nan(lower(1.0, -1.0)));
static_assert(upper(2.0, 0.0) == 1 && upper(2.0, inf) == 0 && is_nan(upper(0.0, 0.0)));
static_assert(near(lower(1.0, 0.5), 0.3934693402873666) && near(upper(3.0, 4.0), 0.23810330555354436) && near(lower(100.0, 100.0), 0.5132987982791487));
static_assert(near(ct::grad<1>([](auto a, auto x) { return ct::gammainc(a, x); })(1.0, 0.5), 0.6065306597126334));
// P(a, x) is about x^a / Gamma(a + 1) near 0: for a > 2 its second derivatives are 0 there, and for a = 2 that in x is 1
template <int A> constexpr bool is_flat_at_zero(double in_x) {
  constexpr auto second = ct::hessian<0, 1>([](auto b, auto x) { return ct::gammainc(b, x); })(A / 2.0, 0.0);
  auto const [of_a, of_x] = second;
  return std::get<0>(of_a) == 0 && std::get<1>(of_a) == 0 && std::get<0>(of_x) == 0 && std::get<1>(of_x) == in_x;
}
static_assert(is_flat_at_zero<7>(0) && is_flat_at_zero<4>(1));
static_assert(near(1e200 * lower(10., 1e-20) * 1e7, 2.7557319223985876) && near(1e127 * lower(10., 1e-12), 2.7557319223960833));
constexpr auto log_beta = ct::compiled([](auto a, auto b) { return ct::betaln(a, b); });
static_assert(near(1e-1 * log_beta(1., 1e7), -1.611809565095832) && near(log_beta(1e7, 0.1), 0.64090309113837389) && near(1e-1 * log_beta(12., 12.), -1.6602059876016602));
static_assert(near(1e-1 * log_beta(9.99, 2.), -0.46985703610759922) && near(1e-1 * log_beta(10., 2.), -0.47004803657924162));
constexpr auto curve_of_log_beta = ct::grad([](auto a, auto b) { return ct::grad([](auto x, auto y) { return ct::betaln(x, y); })(a, b); });
static_assert(near(curve_of_log_beta(12., 12.), 0.0443550985034317) && near(curve_of_log_beta(3., 3.), 0.2136111111111111)); // equal arguments
constexpr auto quantile = ct::compiled([](auto a, auto p) { return ct::gammaincinv(a, p); });
static_assert(quantile(2.0, 0.0) == 0 && quantile(2.0, 1.0) == inf && is_nan(quantile(2.0, 1.5)) && near(quantile(1.0, 0.5), 0.6931471805599453));
constexpr auto normal = ct::compiled([](auto p) { return ct::normal_quantile(p); });
static_assert(normal(0.5) == 0 && normal(0.0) == -inf && normal(1.0) == inf && is_nan(normal(2.0)) && near(normal(0.975), 1.959963984540054));
static_assert(near(normal(1e-10) / 6.361340902404056, -1));
static_assert(near(normal(0x1p-1074) / 38.467405617144344, -1) && near(normal(0x1p-149f) / 14.121426613351208f, -1));

constexpr auto entropy = ct::compiled([](auto x) { return ct::entr(x); });
static_assert(entropy(0.0) == 0 && entropy(1.0) == 0 && entropy(-1.0) == -inf);
static_assert(ct::compiled([](auto x, auto y) { return ct::xlog1py(x, y); })(0.0, -1.0) == 0);
static_assert(ct::grad<0>([](auto x, auto y) { return ct::xlog1py(x, y); })(0.0, 1.0) > 0.69);
static_assert(near(ct::compiled([](auto x) { return ct::log1mexp(x); })(1e-20), -46.051701859880914));
} // namespace

int main() {}
