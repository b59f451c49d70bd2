// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/nn.hpp>
#include <cotangent/numeric.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

// Special functions and formulas over other functions at their edges, in constant evaluations: values, derivatives and second
// derivatives.

namespace ct = cotangent;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = 3.141592653589793;

constexpr bool is_nan(double x) { return x != x; }
constexpr bool near(double x, double y) { return x - y <= 1e-14 * (1 + (y < 0 ? -y : y)) && y - x <= 1e-14 * (1 + (y < 0 ? -y : y)); }
constexpr bool negative_zero(double x) { return x == 0 && 1 / (x == 0 ? std::bit_cast<std::int64_t>(x) < 0 ? -1. : 1. : x) < 0; }

constexpr auto atan2 = ct::compiled([](auto y, auto x) { return ct::atan2(y, x); });
static_assert(atan2(0.0, 1.0) == 0 && near(atan2(0.0, -1.0), pi) && near(atan2(-0.0, -1.0), -pi));
static_assert(near(atan2(0.0, -0.0), pi) && atan2(0.0, 0.0) == 0 && negative_zero(atan2(-0.0, 1.0)));
static_assert(near(atan2(1.0, 0.0), pi / 2) && near(atan2(-1.0, 0.0), -pi / 2) && near(atan2(3.0, 3.0), pi / 4));
static_assert(near(atan2(inf, inf), pi / 4) && near(atan2(inf, -inf), 3 * pi / 4) && near(atan2(-inf, 7.0), -pi / 2));
static_assert(atan2(7.0, inf) == 0 && near(atan2(7.0, -inf), pi) && is_nan(atan2(nan, 1.0)) && is_nan(atan2(1.0, nan)));
static_assert(near(atan2(1e308, 1e308), pi / 4) && near(atan2(1e-320, -1e-320), 3 * pi / 4));
constexpr auto slopes = ct::grad<0, 1>([](auto y, auto x) { return ct::atan2(y, x); });
static_assert(near(std::get<0>(slopes(3.0, 4.0)), 0.16) && near(std::get<1>(slopes(3.0, 4.0)), -0.12));
static_assert(near(std::get<0>(slopes(3e200, 4e200)) * 1e200, 0.16)); // no square overflows

static_assert(ct::compiled([](auto x) { return ct::tan(x); })(0.0) == 0);
static_assert(near(ct::compiled([](auto x) { return ct::asin(x); })(1.0), pi / 2) && is_nan(ct::compiled([](auto x) { return ct::asin(x); })(1.5)));
static_assert(ct::compiled([](auto x) { return ct::acos(x); })(1.0) == 0 && near(ct::compiled([](auto x) { return ct::acos(x); })(-1.0), pi));
static_assert(ct::compiled([](auto x) { return ct::acosh(x); })(1.0) == 0 && is_nan(ct::compiled([](auto x) { return ct::acosh(x); })(-3.0)));
static_assert(ct::compiled([](auto x) { return ct::atanh(x); })(1.0) == inf && is_nan(ct::compiled([](auto x) { return ct::atanh(x); })(-1.5)));
static_assert(near(ct::grad([](auto x) { return ct::acos(x); })(0.6), -1.25) && near(ct::grad([](auto x) { return ct::atanh(x); })(0.5), 4. / 3));

constexpr auto exp2 = ct::compiled([](auto x) { return ct::exp2(x); });
static_assert(exp2(-1074.0) == 0x1p-1074 && exp2(1023.0) == 0x1p1023 && exp2(1024.0) == inf && exp2(-1080.0) == 0 && exp2(-inf) == 0);
constexpr auto log2 = ct::compiled([](auto x) { return ct::log2(x); });
static_assert(log2(0x1p-1074) == -1074 && log2(1.0) == 0 && log2(0.0) == -inf && is_nan(log2(-1.0)) && log2(inf) == inf);
constexpr auto log10 = ct::compiled([](auto x) { return ct::log10(x); });
static_assert(log10(1e22) == 22 && log10(1e5) == 5 && log10(10.0) == 1 && ct::compiled([](auto x) { return ct::log10(x); })(1e5f) == 5.f);
constexpr auto cbrt = ct::compiled([](auto x) { return ct::cbrt(x); });
static_assert(cbrt(27.0) == 3 && cbrt(-0.001) == -0.1 && negative_zero(cbrt(-0.0)) && cbrt(-inf) == -inf && near(cbrt(0x1p-1074) * 0x1p358, 1));

constexpr auto hypot = ct::compiled([](auto x, auto y) { return ct::hypot(x, y); });
static_assert(hypot(3e300, 4e300) == 5e300 && hypot(0.0, 0.0) == 0 && hypot(inf, nan) == inf && is_nan(hypot(1.0, nan)));
static_assert(ct::grad<0>([](auto x, auto y) { return ct::hypot(x, y); })(0.0, 0.0) == 0);
constexpr auto xlogy = ct::compiled([](auto x, auto y) { return ct::xlogy(x, y); });
static_assert(xlogy(0.0, 0.0) == 0 && xlogy(0.0, inf) == 0 && is_nan(xlogy(0.0, nan)) && xlogy(2.0, 1.0) == 0);
static_assert(ct::grad<1>([](auto x, auto y) { return ct::xlogy(x, y); })(0.0, 0.0) == 0);

static_assert(ct::compiled([](auto x) { return ct::erfc(x); })(0.0) == 1 && ct::compiled([](auto x) { return ct::erfc(x); })(-inf) == 2);
static_assert(ct::compiled([](auto x) { return ct::erfinv(x); })(0.0) == 0 && ct::compiled([](auto x) { return ct::erfinv(x); })(-1.0) == -inf);
static_assert(near(ct::compiled([](auto x) { return ct::erf(ct::erfinv(x)); })(0.75), 0.75));
constexpr auto log_cdf = ct::compiled([](auto x) { return ct::normal_log_cdf(x); });
static_assert(near(log_cdf(0.0), -0.6931471805599453) && log_cdf(-inf) == -inf && log_cdf(inf) == 0 && near(log_cdf(-1e3), -500007.82669481218));
static_assert(near(1e-2 * ct::grad([](auto x) { return ct::normal_log_cdf(x); })(-30.0), 0.300332596674336770)); // the inverse of Mills' ratio
constexpr auto slope_of_log_cdf = ct::grad([](auto x) { return ct::normal_log_cdf(x); });
constexpr auto curve_of_log_cdf = ct::grad([](auto x) { return ct::grad([](auto y) { return ct::normal_log_cdf(y); })(x); });
static_assert(near(1e-3 * slope_of_log_cdf(-1000.), 1.000000999998) && near(curve_of_log_cdf(-1000.), -0.999999000006));
static_assert(near(1e-1 * slope_of_log_cdf(-19.99), 2.0039777713286282) && near(1e-1 * slope_of_log_cdf(-20.01), 2.0059728448042083));
static_assert(near(curve_of_log_cdf(-50.), -0.9996009568131961));
static_assert(slope_of_log_cdf(-1e5f) == 1e5f && curve_of_log_cdf(-1e5f) == -1);

constexpr auto lgamma = ct::compiled([](auto x) { return ct::lgamma(x); });
static_assert(lgamma(1.0) == 0 && lgamma(2.0) == 0 && near(lgamma(11.0), 15.104412573075516) && lgamma(0.0) == inf && lgamma(-3.0) == inf);
static_assert(near(lgamma(-1.5), 0.860047015376481) && lgamma(inf) == inf && near(ct::grad([](auto x) { return ct::lgamma(x); })(1.0), -0.5772156649015329));
static_assert(near(ct::grad(ct::grad([](auto x) { return ct::lgamma(x); }))(1.0), pi * pi / 6) && is_nan(ct::compiled([](auto x) { return ct::digamma(x); })(-2.0)));
static_assert(near(ct::compiled([](auto x) { return ct::polygamma<3>(x); })(1.0), 6.4939394022668291));

constexpr auto round = ct::compiled([](auto x) { return ct::round(x); });
static_assert(round(0.5) == 0 && round(1.5) == 2 && round(2.5) == 2 && round(-1.5) == -2 && round(-2.6) == -3 && round(0x1p60) == 0x1p60);
static_assert(ct::compiled([](auto x) { return ct::trunc(x); })(-2.7) == -2 && ct::compiled([](auto x) { return ct::ceil(x); })(-2.7) == -2);
static_assert(ct::grad([](auto x) { return ct::round(x) * x; })(2.6) == 3);
constexpr auto fmod = ct::compiled([](auto x, auto y) { return ct::fmod(x, y); });
static_assert(fmod(7.5, 2.0) == 1.5 && fmod(-7.5, 2.0) == -1.5 && fmod(7.5, -2.0) == 1.5 && fmod(6.0, 3.0) == 0 && fmod(0.3, inf) == 0.3 && is_nan(fmod(1.0, 0.0)));
static_assert(fmod(1.0, 0.1) == 0.09999999999999995 && fmod(0x1p1000, 3.0 * 0x1p998) == 0x1p998 && ct::compiled([](auto x, auto y) { return ct::fmod(x, y); })(1.f, 0.1f) == 0.09999999f);
constexpr auto floor_div = ct::compiled([](auto x, auto y) { return ct::floor_div(x, y); });
static_assert(floor_div(-7.0, 2.0) == -4 && floor_div(7.0, -2.0) == -4 && floor_div(1.0, 0.1) == 9 && floor_div(6.0, 3.0) == 2);
static_assert(floor_div(0x1p52 + 1, 1.0) == 0x1p52 + 1 && ct::compiled([](auto x, auto y) { return ct::floor_div(x, y); })(8388609.f, 1.f) == 8388609.f);

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto quotient = ct::compiled([](auto i, auto j) { return i / j; });
constexpr auto rest = ct::compiled([](auto i, auto j) { return i % j; });
static_assert(quotient(7, -2) == -3 && quotient(-7, 2) == -3 && quotient(5, 0) == -1 && quotient(lowest, std::int64_t{-1}) == lowest);
static_assert(rest(7, -2) == 1 && rest(-7, 2) == -1 && rest(5, 0) == 5 && rest(lowest, std::int64_t{-1}) == 0);
constexpr auto divided = ct::compiled([](auto i) { return std::pair(ct::floor_div(i, 4), ct::mod(i, 4)); });
static_assert(divided(-5).first == -2 && divided(-5).second == 3 && divided(8).first == 2 && divided(8).second == 0);
static_assert(ct::compiled([](auto i) { return ct::floor_div(i, 0) + 10 * ct::mod(i, 0); })(5) == 49);
static_assert(ct::grad([](auto x) { return x * ct::convert<double>((ct::convert<std::int32_t>(x) + 2) / 2); })(5.0) == 3);

static_assert(ct::compiled([](auto x) { return ct::clamp(x, 0, 7); })(9) == 7 && ct::grad([](auto x) { return ct::clamp(x, 0, 1); })(1.0) == 0.5);
static_assert(ct::grad([](auto x) { return ct::clamp(x, 0, 1); })(-3.0) == 0 && is_nan(ct::compiled([](auto x) { return ct::clamp(x, 0, 1); })(nan)));
static_assert(ct::compiled([](auto x, auto y) { return ct::logaddexp(x, y); })(-1e300, -1e300) == -1e300);
static_assert(ct::grad<0>([](auto x, auto y) { return ct::logaddexp(x, y); })(3.0, 3.0) == 0.5);
constexpr auto curvature = ct::grad<0>([](auto x, auto y) { return ct::grad<0>([](auto u, auto v) { return ct::logaddexp(u, v); })(x, y); });
static_assert(curvature(3.0, 3.0) == 0.25 && near(curvature(1.0, 1.5), 0.23500371220159449));
static_assert(ct::compiled([](auto x, auto y) { return ct::logaddexp(x, y); })(-inf, -inf) == -inf);
static_assert(ct::grad<1>([](auto x, auto y) { return ct::logaddexp(x, y); })(2.0, -inf) == 0);
static_assert(ct::compiled([](auto x, auto y) { return ct::copysign(x, y); })(3.0, -0.0) == -3 && ct::grad<0>([](auto x, auto y) { return ct::copysign(x, y); })(3.0, -1.0) == -1);
static_assert(ct::compiled([](auto t) { return ct::lerp(t * 0 + 3, t * 0 + 5, t); })(1.0) == 5);
static_assert(ct::compiled([](auto x) { return ct::sinc(x); })(0.0) == 1 && ct::grad([](auto x) { return ct::sinc(x); })(0.0) == 0);
static_assert(near(ct::grad(ct::grad([](auto x) { return ct::sinc(x); }))(0.0), -pi * pi / 3));
static_assert(ct::grad([](auto x) { return ct::elu(x); })(0.0) == 1 && ct::grad([](auto x) { return ct::leaky_relu(x, 0.5); })(0.0) == 1);
static_assert(ct::grad([](auto x) { return ct::elu(x); })(800.0) == 1); // the other branch overflows
static_assert(ct::compiled([](auto x) { return ct::isnan(x); })(nan) && !ct::compiled([](auto x) { return ct::isfinite(x); })(inf));
static_assert(ct::compiled([](auto x) { return ct::isinf(x); })(-inf) && ct::compiled([](auto x) { return ct::isfinite(x); })(1e308));
static_assert(ct::compiled([](auto x) { return ct::logit(x); })(0.5) == 0 && ct::compiled([](auto x) { return ct::rsqrt(x); })(0.25) == 2);
constexpr double close_to_half = ct::compiled([](auto x) { return ct::logit(x); })(0.501) - 0.0040000053333461369;
static_assert(close_to_half < 4e-18 && close_to_half > -4e-18);
static_assert(ct::grad([](auto x) { return ct::logit(x); })(0.5) == 4 && near(ct::grad([](auto x) { return ct::logit(x); })(0.125), 64. / 7));

// Functions of numbers only are numbers, whether they are one operation or several.
static_assert(ct::clamp(2.5, 0.0, 1.0) == 1 && ct::clamp(-1, 0, 3) == 0 && std::is_same_v<decltype(ct::clamp(-1, 0, 3)), std::int32_t>);
static_assert(ct::lerp(1.0, 3.0, 0.25) == 1.5 && ct::lerp(1, 3.0, 0.5) == 2 && near(ct::logaddexp(0.0, 0.0), 0.69314718055994531));
static_assert(ct::rsqrt(4.0) == 0.5 && std::is_same_v<decltype(ct::rsqrt(4.0f)), float>);
static_assert(ct::abs(-3) == 3 && ct::max(1, 2.5) == 2.5 && ct::pow(2.0, 3) == 8 && ct::relu(-2) == 0);
static_assert(ct::max(1, 3000000000) == 3000000000 && std::is_same_v<decltype(ct::max(1, 2)), std::int32_t>);
static_assert(ct::mod(-7, 3) == 2 && ct::fmod(-7, 3) == -1 && ct::floor_div(-7, 2) == -4 && ct::floor_div(7, 2) == 3);
static_assert(ct::mod(-7.0, 3) == 2 && ct::floor_div(7, 2.0) == 3);
static_assert(ct::isfinite(5) && !ct::isinf(5) && !ct::isnan(5) && ct::nan_to_num(std::numeric_limits<std::int64_t>::min()) < 0);
static_assert(ct::celu(-1.0) == ct::expm1(-1.0) && ct::exp(ct::float16(0.f)) == 1 && ct::max(ct::float16(1.f), 2.f) == 2);
static_assert(ct::compiled([](auto x) { return ct::isfinite(x) && !ct::isinf(x); })(std::numeric_limits<std::int64_t>::min()));
} // namespace

int main() {}
