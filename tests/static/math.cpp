// SPDX-License-Identifier: BSL-1.0
#include <cotangent/core/math/elementary.hpp>
#include <cotangent/core/math/incomplete_gamma.hpp>
#include <cotangent/core/math/normal.hpp>

#include <cstdint>
#include <limits>

namespace {

namespace math = cotangent::math;

// The class of a value.
using four = math::vector<float, 4>;
static_assert(math::lanes<float> == 1 && math::lanes<four> == 4 && math::is_vector<four> &&
              !math::is_vector<bool>);
static_assert(std::is_same_v<math::lane_t<four>, float> && std::is_same_v<math::vector<double, 1>, double>);
static_assert(std::is_same_v<math::mask_t<double>, bool> && math::lanes<math::mask_t<four>> == 4);
static_assert(std::is_same_v<math::bits_t<four>, math::vector<std::int32_t, 4>>);
static_assert(std::is_same_v<math::with_lane<four, double>, math::vector<double, 4>>);

// Arithmetic.
static_assert(math::select(true, 1, 2) == 1 && math::select(false, 1, 2) == 2);
static_assert(math::max(1.0, 2.0) == 2.0 && math::min(1, 2) == 1 && math::abs(-3) == 3 &&
              math::abs(-2.5f) == 2.5f);
static_assert(math::abs(std::numeric_limits<std::int64_t>::min()) ==
              std::numeric_limits<std::int64_t>::min());
// Integers wrap around: a signed overflow would be no constant.
template <class T> constexpr bool wraps() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return math::add(high, T{1}) == low && math::add(low, low) == 0 && math::sub(low, T{1}) == high &&
         math::neg(low) == low && math::neg(high) == low + 1 && math::mul(high, T{2}) == -2 &&
         math::mul(low, T{-1}) == low && math::fma(high, high, high) == low;
}
static_assert(wraps<std::int32_t>() && wraps<std::int64_t>());

// Values out of the range of an integer become the lowest one.
template <class To, class From> constexpr bool holds_or_lowest() {
  constexpr To low = std::numeric_limits<To>::min();
  constexpr From bound = -static_cast<From>(low);
  constexpr From below = bound * (1 - std::numeric_limits<From>::epsilon() / 2),
                 infinity = std::numeric_limits<From>::infinity();
  return math::to_integer<To>(From(-2.75)) == -2 && math::to_integer<To>(From(2.75)) == 2 &&
         math::to_integer<To>(-bound) == low && math::to_integer<To>(below) == static_cast<To>(below) &&
         math::to_integer<To>(-below) == static_cast<To>(-below) && math::to_integer<To>(bound) == low &&
         math::to_integer<To>(infinity) == low && math::to_integer<To>(-infinity) == low &&
         math::to_integer<To>(std::numeric_limits<From>::quiet_NaN()) == low;
}
static_assert(holds_or_lowest<std::int32_t, float>() && holds_or_lowest<std::int64_t, float>());
static_assert(holds_or_lowest<std::int32_t, double>() && holds_or_lowest<std::int64_t, double>());
static_assert(math::to_integer<std::int32_t>(-2147483648.5) == std::numeric_limits<std::int32_t>::min());
static_assert(math::floor(-1.5) == -2 && math::floor(2.0f) == 2 && math::floor(1e300) == 1e300);
static_assert(math::round_to_even(2.5) == 2 && math::round_to_even(-3.5f) == -4);
static_assert(math::convert<std::int32_t>(-2.75) == -2 && math::convert<double>(3) == 3.0);
static_assert(math::sqrt(2.0) == 0x1.6a09e667f3bcdp+0 && math::sqrt(2.0f) == 0x1.6a09e6p+0f);
static_assert(math::sqrt(0x1p-1074) == 0x1p-537 &&
              math::sqrt(0x1.fffffffffffffp1023) == 0x1.fffffffffffffp511);
static_assert(math::exact::fma(0x1.0000000000001p0, 0x1.0000000000001p0, -0x1.0000000000002p0) == 0x1p-104);
static_assert(math::exact::fma(0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f) == 0x1p-46f);

// NaN is seen, and stays.
#if !defined(__FAST_MATH__)
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
static_assert(math::is_nan(nan) && !math::is_nan(infinity) && !math::is_nan(1.0f));
static_assert(math::is_nan(math::max(nan, 1.0)) && math::is_nan(math::max(1.0, nan)));
static_assert(math::is_nan(math::min(nan, 1.0)) && math::is_nan(math::min(1.0, nan)));
static_assert(math::is_nan(math::at_most(nan, 1.0)) && math::at_least(-2.0, 1.0) == 1.0);
static_assert(math::is_nan(math::exp(nan)) && math::is_nan(math::expm1(nan)) && math::is_nan(math::log(nan)));
static_assert(math::is_nan(math::log1p(nan)) && math::is_nan(math::sin(nan)) &&
              math::is_nan(math::cos(infinity)));
static_assert(math::is_nan(math::tan(nan)) && math::is_nan(math::tanh(nan)) && math::is_nan(math::sinh(nan)));
static_assert(math::is_nan(math::cosh(nan)) && math::is_nan(math::asinh(nan)) &&
              math::is_nan(math::atan(nan)));
static_assert(math::is_nan(math::erf(nan)) && math::erf(infinity) == 1 && math::erf(-7.0f) == -1);
static_assert(math::is_nan(math::normal_cdf(nan)) && math::normal_cdf(infinity) == 1 &&
              math::normal_cdf(-infinity) == 0);
static_assert(math::is_nan(math::sigmoid(nan)) && math::is_nan(math::softplus(nan)));
static_assert(math::is_nan(math::pow(nan, 2.0)) && math::pow(nan, 0.0) == 1 && math::pow(1.0, nan) == 1);
static_assert(math::is_nan(math::log(-1.0)) && math::is_nan(math::log1p(-2.0)) &&
              math::is_nan(math::sqrt(-1.0)));
static_assert(math::is_nan(math::pow(-2.0, 0.5)) && math::is_nan(math::pow(2.0, nan)));

// Limits.
static_assert(math::exp(1000.0) == infinity && math::exp(-1000.0) == 0 && math::exp(infinity) == infinity);
static_assert(math::exp(709.782712893384) < infinity && math::exp(709.7827128933841) == infinity);
static_assert(math::exp(88.72283f) < math::exp(88.7229f) && math::exp(-745.1) > 0 && math::exp(-746.0) == 0);
static_assert(math::expm1(-1000.0) == -1 && math::expm1(1000.0) == infinity && math::expm1(1e-20) == 1e-20);
static_assert(math::log(0.0) == -infinity && math::log(infinity) == infinity &&
              math::log1p(-1.0) == -infinity);
static_assert(math::sinh(-800.0) == -infinity && math::cosh(710.5) == infinity &&
              math::cosh(710.4) < infinity);
static_assert(math::tanh(infinity) == 1 && math::tanh(-50.0f) == -1 && math::asinh(infinity) == infinity);
static_assert(math::atan(infinity) == 0x1.921fb54442d18p+0 && math::atan(-infinity) == -0x1.921fb54442d18p+0);
static_assert(math::sigmoid(infinity) == 1 && math::sigmoid(-infinity) == 0 &&
              math::softplus(-infinity) == 0);
static_assert(math::pow(0.0, -1.0) == infinity && math::pow(-0.0, -3.0) == -infinity &&
              math::pow(-1.0, infinity) == 1);
static_assert(math::pow(10.0, 400.0) == infinity && math::pow(10.0f, 40.0f) > 3.4e38f &&
              math::pow(10.0, -400.0) == 0);
#endif

// Results that users expect to be exact.
static_assert(math::exp(0.0) == 1 && math::expm1(0.0f) == 0 && math::log(1.0) == 0 && math::log1p(0.0) == 0);
static_assert(math::sin(0.0) == 0 && math::cos(0.0) == 1 && math::cos(0.0f) == 1 && math::tan(0.0) == 0);
static_assert(math::sin(1.5707963267948966) == 1 && math::cos(3.141592653589793) == -1);
static_assert(math::tanh(0.0) == 0 && math::sinh(0.0) == 0 && math::cosh(0.0) == 1 && math::atan(0.0) == 0);
static_assert(math::sigmoid(0.0) == 0.5 && math::sigmoid(0.0f) == 0.5f);
static_assert(math::pow(2.0, 10.0) == 1024 && math::pow(2.0f, -3.0f) == 0.125f &&
              math::pow(-3.0, 3.0) == -27);
static_assert(math::pow(5.0, 0.0) == 1 && math::pow(9.0, 0.5) == 3 && math::pow(10.0, 2.0) == 100);

// Signs of zero.
constexpr bool is_negative(double x) { return math::bit_cast<std::int64_t>(x) < 0; }
static_assert(is_negative(math::sin(-0.0)) && is_negative(math::tanh(-0.0)) &&
              is_negative(math::expm1(-0.0)));
static_assert(is_negative(math::log1p(-0.0)) && is_negative(math::atan(-0.0)) &&
              is_negative(math::sinh(-0.0)));
static_assert(is_negative(math::floor(-0.0)) && is_negative(math::round_to_even(-0.25)));

// An angle that needs 1,100 bits of pi, and the one that comes closest to a multiple of pi / 2.
constexpr bool about(double x, double y) {
  return x > y - math::abs(y) * 4e-16 && x < y + math::abs(y) * 4e-16;
}
static_assert(about(math::sin(1e300), -0.81788191211590859705));
static_assert(about(math::cos(0x1.6ac5b262ca1ffp+849), -4.6871659242546276e-19));

// A quadrature and a value by recurrence are constants.
static_assert(about(math::gammainc<0>(60.0, 62.0), 0.61726927575914316));
static_assert(about(math::lgamma(-3.7), -1.3797399049658245));

// A thousand exponentials fit into one constant evaluation, with the default limits of both compilers.
constexpr double sum_of_exponentials = [] {
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += math::exp(i * 0.001);
  return sum;
}();
static_assert(sum_of_exponentials > 1717 && sum_of_exponentials < 1719);

} // namespace
