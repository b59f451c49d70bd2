// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <cotangent/core/math/elementary.hpp>
#include <cotangent/core/math/gamma.hpp>
#include <cotangent/core/math/incomplete_gamma.hpp>
#include <cotangent/core/math/inverse.hpp>
#include <cotangent/core/math/normal.hpp>
#include <cotangent/core/math/normal_quantile.hpp>
#include <cotangent/core/math/roots.hpp>
#include <cotangent/kernels/simd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

namespace math = cotangent::math;
namespace simd = cotangent::simd;

namespace {

using reference = long double (*)(long double);

// How far a value is from a reference that is better than it, in units of the last place of the reference, or of a least
// magnitude if that is larger. By bits and frexp only, so that it holds with -ffast-math.
template <class T>
double ulps_between(T value, long double expected, long double least = 0) {
  int exponent = 0;
  std::frexp(std::max(std::fabs(expected), least), &exponent);
  int const last = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(static_cast<long double>(value) - expected) / std::ldexp(1.0L, last));
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// By bits: clang refuses the usual names with -ffast-math.
template <class T>
constexpr T infinity = math::detail::infinity<T>;
template <class T>
constexpr T not_a_number = math::detail::nan<T>;

template <class T>
bool is_nan_by_bits(T x) {
  auto const magnitude = math::bit_cast<math::bits_t<T>>(x) & std::numeric_limits<math::bits_t<T>>::max();
  return magnitude > math::bit_cast<math::bits_t<T>>(infinity<T>);
}

// The numbers between two limits, in the order of their bits: every exponent comes as often as any other.
template <class T>
struct numbers {
  T low, high;
  std::mt19937_64 random{7};

  static std::int64_t order(T x) {
    auto const bits = static_cast<std::int64_t>(math::bit_cast<math::bits_t<T>>(x < 0 ? -x : x));
    return x < 0 ? -bits : bits;
  }
  T by_bits() {
    std::int64_t const o = std::uniform_int_distribution<std::int64_t>(order(low), order(high))(random);
    auto const x = math::bit_cast<T>(static_cast<math::bits_t<T>>(o < 0 ? -o : o));
    return o < 0 ? -x : x;
  }
  T by_value() { return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random)); }
};

struct worst {
  double ulps = 0;
  double at = 0;
};

// The largest error over two sweeps, and whether every lane gave the bits of the scalar function.
template <class T, class F>
worst sweep(F f, reference expected, T low, T high, double least, bool& equal_bits) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr int w = simd::width<T>;
  numbers<T> source{low, high};
  worst r;
  std::array<T, static_cast<std::size_t>(w)> x{}, y{};
  for (int i = 0; i < 6000; ++i) {
    for (auto& e : x) e = i % 2 == 0 ? source.by_bits() : source.by_value();
    simd::store(y.data(), V(f(simd::load<V>(x.data()))));
    for (std::size_t k = 0; k < x.size(); ++k) {
      long double const e = expected(x[k]);
      if (!(std::fabs(e) <= std::numeric_limits<T>::max())) continue; // a pole, or a value out of range
      double const ulps = ulps_between(y[k], e, least);
      if (!(ulps <= r.ulps)) r = {ulps, static_cast<double>(x[k])};
      equal_bits = equal_bits && same_bits(y[k], f(x[k]));
    }
  }
  return r;
}

template <class T, class F>
void expect(char const* name, F f, reference expected, double low, double high, double limit, double least = 0) {
  bool equal_bits = true;
  // -ffast-math divides by approximate reciprocals and sums in any order
  double const allowed = math::is_fast ? 2 * limit + 2 : limit;
  worst const r = sweep<T>(f, expected, static_cast<T>(low), static_cast<T>(high), least, equal_bits);
  INFO(name << (sizeof(T) == 4 ? " of float" : " of double") << " at " << r.at);
  CHECK(r.ulps <= allowed);
  CHECK((equal_bits || math::is_fast));
}

template <class T>
constexpr bool is_double = sizeof(T) == 8;

// Through a pointer that the compiler cannot see through: -ffast-math would put x87 instructions with a
// smaller domain.
template <reference F>
long double apart(long double x) {
  static reference volatile f = F;
  return f(x);
}

long double logistic_reference(long double x) { return 1 / (1 + apart<expl>(-x)); }
long double normal_reference(long double x) {
  return apart<erfcl>(-x * 0.707106781186547524400844362104849039L) / 2;
}
long double softplus_reference(long double x) { return x > 60 ? x : apart<log1pl>(apart<expl>(x)); }

#define COTANGENT_FUNCTION(Name) [](auto const& x) { return math::Name(x); }

} // namespace

TEMPLATE_TEST_CASE("exponentials are accurate to two units in the last place", "[math]", float, double) {
  constexpr bool d = is_double<TestType>;
  double const low = math::is_fast ? (d ? -690 : -70) : d ? -745 : -103;
  expect<TestType>("exp", COTANGENT_FUNCTION(exp), apart<expl>, low, d ? 709.7 : 88.7, 1.2);
  expect<TestType>("exp", COTANGENT_FUNCTION(exp), apart<expl>, -1, 1, 1.2);
  expect<TestType>("expm1", COTANGENT_FUNCTION(expm1), apart<expm1l>, 0.001, d ? 709.7 : 88.7, 2);
  expect<TestType>("expm1", COTANGENT_FUNCTION(expm1), apart<expm1l>, d ? -60 : -30, -0.001, 2);
  if (!math::is_fast) expect<TestType>("expm1", COTANGENT_FUNCTION(expm1), apart<expm1l>, -1, 1, 2);
}

TEMPLATE_TEST_CASE("logarithms are accurate to two units in the last place", "[math]", float, double) {
  double const low =
      math::is_fast ? std::numeric_limits<TestType>::min() : std::numeric_limits<TestType>::denorm_min();
  double const high = std::numeric_limits<TestType>::max();
  expect<TestType>("log", COTANGENT_FUNCTION(log), apart<logl>, low, high, 1.2);
  expect<TestType>("log", COTANGENT_FUNCTION(log), apart<logl>, 0.5, 2, 1.2);
  expect<TestType>("log1p", COTANGENT_FUNCTION(log1p), apart<log1pl>, 0.001, high, 1.6);
  expect<TestType>("log1p", COTANGENT_FUNCTION(log1p), apart<log1pl>, -0.999, -0.001, 1.6);
  if (!math::is_fast)
    expect<TestType>("log1p", COTANGENT_FUNCTION(log1p), apart<log1pl>, -1 + 1e-7, high, 1.6);
}

TEMPLATE_TEST_CASE("sine, cosine and tangent are accurate for every angle", "[math]", float, double) {
  constexpr bool d = is_double<TestType>;
  double const far = d ? 1e9 : 1e5, largest = std::numeric_limits<TestType>::max();
  for (double const to : {10.0, far, largest / 2}) {
    double const from = math::is_fast ? 0.001 : -to;
    expect<TestType>("sin", COTANGENT_FUNCTION(sin), apart<sinl>, from, to, 1.7);
    expect<TestType>("cos", COTANGENT_FUNCTION(cos), apart<cosl>, from, to, 1.7);
    expect<TestType>("tan", COTANGENT_FUNCTION(tan), apart<tanl>, from, to, 3.8);
  }
}

TEMPLATE_TEST_CASE("hyperbolic functions are accurate to three units in the last place",
                   "[math]", float, double) {
  constexpr bool d = is_double<TestType>;
  double const low = math::is_fast ? 0.001 : -1, far = d ? 710.4 : 89.4,
               largest = std::numeric_limits<TestType>::max();
  expect<TestType>("tanh", COTANGENT_FUNCTION(tanh), apart<tanhl>, low, 1, 3);
  expect<TestType>("tanh", COTANGENT_FUNCTION(tanh), apart<tanhl>, -40, -0.001, 3);
  expect<TestType>("sinh", COTANGENT_FUNCTION(sinh), apart<sinhl>, low, 1, 3);
  expect<TestType>("sinh", COTANGENT_FUNCTION(sinh), apart<sinhl>, -far, -0.001, 3);
  expect<TestType>("cosh", COTANGENT_FUNCTION(cosh), apart<coshl>, -1, 1, 3);
  expect<TestType>("cosh", COTANGENT_FUNCTION(cosh), apart<coshl>, -far, far, 3);
  expect<TestType>("asinh", COTANGENT_FUNCTION(asinh), apart<asinhl>, low, 2, 3);
  expect<TestType>("asinh", COTANGENT_FUNCTION(asinh), apart<asinhl>, -largest, -0.001, 3);
}

TEMPLATE_TEST_CASE("logistic functions are accurate to three units in both tails", "[math]", float, double) {
  constexpr bool d = is_double<TestType>;
  double const low = math::is_fast ? (d ? -690 : -70) : d ? -745 : -103;
  expect<TestType>("sigmoid", COTANGENT_FUNCTION(sigmoid), logistic_reference, low, 50, 2.5);
  expect<TestType>("sigmoid", COTANGENT_FUNCTION(sigmoid), logistic_reference, -3, 3, 2.5);
  expect<TestType>("softplus", COTANGENT_FUNCTION(softplus), softplus_reference, low, 1000, 2.5);
  expect<TestType>("softplus", COTANGENT_FUNCTION(softplus), softplus_reference, -3, 3, 2.5);
}

TEMPLATE_TEST_CASE("the arc tangent is accurate to two units in the last place", "[math]", float, double) {
  double const largest = std::numeric_limits<TestType>::max();
  expect<TestType>("atan", COTANGENT_FUNCTION(atan), apart<atanl>, math::is_fast ? 0.001 : -largest, largest,
                   2);
  expect<TestType>("atan", COTANGENT_FUNCTION(atan), apart<atanl>, math::is_fast ? 0.001 : -3, 3, 2);
}

TEMPLATE_TEST_CASE("the error function is accurate to two units in the last place", "[math]", float, double) {
  expect<TestType>("erf", COTANGENT_FUNCTION(erf), apart<erfl>, math::is_fast ? 0.001 : -7, 7, 2);
  expect<TestType>("erf", COTANGENT_FUNCTION(erf), apart<erfl>, -1, -0.001, 2);
}

namespace {

long double normal_log_reference(long double x) {
  return x > 0 ? apart<log1pl>(-normal_reference(-x)) : apart<logl>(normal_reference(x));
}
/// From a double near the root, by two Newton steps.
long double erfinv_reference(long double x) {
  long double y = math::erfinv(static_cast<double>(x));
  for (int k = 0; k < 2; ++k) {
    long double const residual = x > 0.5L ? (1 - x) - apart<erfcl>(y) : apart<erfl>(y) - x;
    y -= residual * apart<expl>(y * y) * 0.886226925452758013649083741670572591L;
  }
  return y;
}
/// From a double near the root, by two Newton steps on the smaller of both tails.
long double normal_quantile_reference(long double p) {
  long double const tail = p > 0.5L ? 1 - p : p;
  long double x = math::normal_quantile(static_cast<double>(tail));
  for (int k = 0; k < 2; ++k) {
    long double const density = 0.398942280401432677939946059934381868L * apart<expl>(-x * x / 2);
    x -= (normal_reference(x) - tail) / density;
  }
  return p > 0.5L ? -x : x;
}

} // namespace

TEMPLATE_TEST_CASE("the normal distribution, its logarithm and inverses are accurate to four units in both tails",
                   "[math]", float, double) {
  constexpr bool d = is_double<TestType>;
  double const lowest = math::is_fast ? (d ? -37 : -13) : d ? -38.5 : -14.2, highest = math::is_fast ? (d ? 30 : 9) : d ? 37 : 12,
               least = d ? 1e-300 : 1e-37;
  expect<TestType>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, lowest, 9, 4);
  expect<TestType>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, -1.5, -0.5, 4);
  expect<TestType>("normal_log_cdf", COTANGENT_FUNCTION(normal_log_cdf), normal_log_reference, d ? -100 : -15, highest, 3.8);
  expect<TestType>("normal_log_cdf", COTANGENT_FUNCTION(normal_log_cdf), normal_log_reference, 0.5, 1.5, 3.8);
  expect<TestType>("normal_quantile", COTANGENT_FUNCTION(normal_quantile), normal_quantile_reference, least, 0.4999, 4);
  expect<TestType>("normal_quantile", COTANGENT_FUNCTION(normal_quantile), normal_quantile_reference, 0.7, 0.999, 4);
  expect<TestType>("erfinv", COTANGENT_FUNCTION(erfinv), erfinv_reference, 0.001, 0.999, 3);
  expect<TestType>("erfinv", COTANGENT_FUNCTION(erfinv), erfinv_reference, 1 - 0x1p-20, d ? 1 - 0x1p-53 : 1 - 0x1p-24, 3);
  if constexpr (d) expect<TestType>("erfinv", COTANGENT_FUNCTION(erfinv), erfinv_reference, 1 - 0x1p-48, 1 - 0x1p-53, 3);
  expect<TestType>("erfc", COTANGENT_FUNCTION(erfc), apart<erfcl>, -6, math::is_fast ? (d ? 25 : 9) : d ? 26.5 : 9.9, 3.7);
  expect<TestType>("erfc", COTANGENT_FUNCTION(erfc), apart<erfcl>, 0.5, 1.5, 3.7);
}

namespace {

// The derivative N of digamma, by recurrence to 40 and its asymptotic series; below 1/2 by reflection.
template <int N>
long double polygamma_reference(long double x) {
  long double const pi = 3.14159265358979323846264338327950288L;
  if (x < 0.5L) {
    long double const r = x - std::round(x), s = apart<sinl>(pi * r), c = apart<sinl>(pi * (0.5L - std::fabs(r)));
    if (r == 0) return std::numeric_limits<long double>::max();
    long double const cot = c / s, other = polygamma_reference<N>(1 - x);
    if constexpr (N == 0) return other - pi * cot;
    if constexpr (N == 1) return pi * pi / (s * s) - other;
    if constexpr (N == 2) return other - 2 * pi * pi * pi * cot / (s * s);
    if constexpr (N == 3) return 2 * pi * pi * pi * pi * (1 + 2 * c * c) / (s * s * s * s) - other;
  }
  constexpr long double bernoulli[]{1.L / 6,  -1.L / 30,      1.L / 42, -1.L / 30,
                                    5.L / 66, -691.L / 2730, 7.L / 6,  -3617.L / 510};
  auto const inverse_power = [](long double a, int n) {
    long double r = 1;
    for (int k = 0; k < n; ++k) r /= a;
    return r;
  };
  long double sum = 0, factorial = 1, a = x;
  for (int n = 2; n <= N; ++n) factorial *= n;
  for (; a < 40; a += 1) sum += inverse_power(a, N + 1);
  long double series = factorial / 2 * inverse_power(a, N + 1);
  series += N == 0 ? -apart<logl>(a) : factorial / std::max(N, 1) * inverse_power(a, N);
  for (int k = 1; k <= 8; ++k) {
    long double c = bernoulli[k - 1];
    if (N == 0) c /= 2 * k;
    else
      for (int n = 2 * k + 1; n < 2 * k + N; ++n) c *= n;
    series += c * inverse_power(a, 2 * k + N);
  }
  return (N % 2 == 0 ? -1 : 1) * (series + factorial * sum);
}

} // namespace

TEMPLATE_TEST_CASE("the gamma function and its derivatives are accurate to four units on both sides of zero",
                   "[math]", float, double) {
  using T = TestType;
  constexpr bool d = is_double<T>;
  double const largest = std::numeric_limits<T>::max();
  auto const digamma = [](auto const& x) { return math::polygamma<0>(x); };
  auto const trigamma = [](auto const& x) { return math::polygamma<1>(x); };
  auto const tetragamma = [](auto const& x) { return math::polygamma<2>(x); };
  auto const pentagamma = [](auto const& x) { return math::polygamma<3>(x); };
  expect<T>("lgamma", COTANGENT_FUNCTION(lgamma), apart<lgammal>, 0.1, 20, 3.3, math::is_fast ? 1 : 0);
  expect<T>("digamma", digamma, polygamma_reference<0>, 0.01, 20, 3.3, 1);
  expect<T>("trigamma", trigamma, polygamma_reference<1>, 0.01, 20, 2.5);
  expect<T>("tetragamma", tetragamma, polygamma_reference<2>, 0.01, 20, 3.5);
  // (-ffast-math: a quotient that should be 1 goes into the fourth power)
  expect<T>("pentagamma", pentagamma, polygamma_reference<3>, 0.01, 20, math::is_fast ? 8 : 3.8);
  // where the logarithm and the sum cancel, and where x + k rounds
  expect<T>("digamma", digamma, polygamma_reference<0>, 0.497, 0.4999, 3.3, 1);
  expect<T>("pentagamma", pentagamma, polygamma_reference<3>, 14, 14.3, 2.9);
  // Numbers with fractions reach down to these; near a pole a value is large.
  for (double const from : {-40.0, d ? -0x1p52 : -0x1p23}) {
    expect<T>("lgamma", COTANGENT_FUNCTION(lgamma), apart<lgammal>, from, -0.001, 2.2, 1);
    expect<T>("digamma", digamma, polygamma_reference<0>, from, -0.001, 2.9, 1);
    expect<T>("trigamma", trigamma, polygamma_reference<1>, from, -0.001, 2, 1);
    expect<T>("tetragamma", tetragamma, polygamma_reference<2>, from, -0.001, 3, 1);
    expect<T>("pentagamma", pentagamma, polygamma_reference<3>, from, -0.001, 3.5, 1);
  }
  if (math::is_fast) return;
  // beside a pole, where large terms cancel and -x + 1/2 rounds
  if constexpr (d) expect<T>("lgamma", COTANGENT_FUNCTION(lgamma), apart<lgammal>, -0x1.fffffffffffffp+3, -0x1.ffffffffffd00p+3, 2.2, 1);
  // where a power of x is subnormal
  expect<T>("trigamma", trigamma, polygamma_reference<1>, d ? 0x1p-512 : 0x1p-64, d ? 0x1p-510 : 0x1p-62, 2.5);
  CHECK(math::lgamma(-static_cast<T>(largest)) > largest);
}

namespace {

long double shape = 1; // of the incomplete gamma function
long double gammainc_reference(long double x) {
  static long double (*volatile power)(long double, long double) = powl;
  long double sum = 1, term = 1, a = shape;
  for (long double n = a + 1; term > sum * 1e-20L; n += 1) term *= x / n, sum += term;
  if (a < 10) return power(x, a) * apart<expl>(-x) / apart<tgammal>(a + 1) * sum;
  // by powers of x / a and Stirling's series, since the rounding of an exponent counts by its size
  long double const ratio = x / a, rest = std::fma(-ratio, a, x), pi = 3.14159265358979323846264338327950288L, w = 1 / (a * a);
  long double const series =
      (1 / 12.L - w * (1 / 360.L - w * (1 / 1260.L - w * (1 / 1680.L - w * (1 / 1188.L - w * (691 / 360360.L - w / 156)))))) / a;
  return power(ratio, a) * apart<expl>(a - x + rest / ratio - series) / std::sqrt(2 * pi * a) * sum;
}
long double gammaincc_reference(long double x) { return 1 - gammainc_reference(x); }

} // namespace

TEMPLATE_TEST_CASE("incomplete gamma functions are accurate to seven units also for large shapes", "[math]", float, double) {
  if (math::is_fast) return; // sums are compensated
  using T = TestType;
  for (double const wanted : {0.25, 3.5, 24.0, 60.0, 2000.0}) {
    T const a = static_cast<T>(wanted);
    shape = a;
    auto const lower = [a](auto const& x) { return math::gammainc<0>(math::broadcast<std::remove_cvref_t<decltype(x)>>(a), x); };
    auto const upper = [a](auto const& x) { return math::gammaincc(math::broadcast<std::remove_cvref_t<decltype(x)>>(a), x); };
    expect<T>("gammainc", lower, gammainc_reference, wanted / 2, wanted * 2, wanted > 1 ? 7 : 3);
    // where 1 - P has enough digits, and is a continued fraction or a quadrature
    double const from = std::max(wanted, 1.0), deviation = std::sqrt(wanted);
    expect<T>("gammaincc", upper, gammaincc_reference, from + 1.01, from + 1.01 + deviation, 7);
  }
}

namespace {

long double exponent = 0;
long double power_reference(long double x) {
  static long double (*volatile f)(long double, long double) = powl;
  return f(x, exponent);
}

} // namespace

TEMPLATE_TEST_CASE("powers are accurate to two units in the last place", "[math]", float, double) {
  using T = TestType;
  for (double const wanted : {2.7, 0.5, -1.3, 3.0, -7.0, 100.3, 1e-3, -250.5}) {
    T const y = static_cast<T>(wanted);
    exponent = y;
    // where the result is a normal number
    double const range = (is_double<T> ? 1020 : 125) / std::max(std::fabs(wanted), 1.0);
    expect<T>(
        "pow",
        [y](auto const& x) { return math::pow(x, math::broadcast<std::remove_cvref_t<decltype(x)>>(y)); },
        power_reference, std::exp2(-range), std::exp2(range), 1.5);
  }
}

TEMPLATE_TEST_CASE("powers have the limits that C specifies", "[math]", float, double) {
  if (math::is_fast) return;
  using T = TestType;
  using V = simd::pack<T, simd::width<T>>;
  T const inf = infinity<T>, nan = not_a_number<T>;
  T const largest = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  T const all[] = {0,    -T(0), 1,       -1,       2,    -2,    3,      -3,          T(0.5), -T(0.5), inf,
                   -inf, nan,   largest, -largest, tiny, -tiny, T(1e5), T(-1e5 - 1), T(2.5), T(-2.5)};
  for (T const x : all)
    for (T const y : all) {
      INFO(x << " to the " << y);
      T const expected = static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
      T const scalar = math::pow(x, y);
      T const lane = math::get(math::pow(math::broadcast<V>(x), math::broadcast<V>(y)), simd::width<T> - 1);
      CHECK(is_nan_by_bits(scalar) == is_nan_by_bits(expected));
      if (!is_nan_by_bits(expected)) {
        CHECK(scalar == Approx(expected));
        CHECK(std::signbit(scalar) == std::signbit(expected));
        CHECK(same_bits(scalar, lane));
      }
    }
}

namespace {

template <class T, class F>
void expect_limits(char const* name, F f, reference expected) {
  using V = simd::pack<T, simd::width<T>>;
  using limits = std::numeric_limits<T>;
  T const special[] = {0,
                       -T(0),
                       infinity<T>,
                       -infinity<T>,
                       not_a_number<T>,
                       limits::denorm_min(),
                       -limits::denorm_min(),
                       limits::min(),
                       -limits::min(),
                       limits::min() / 3,
                       limits::max(),
                       limits::lowest(),
                       1,
                       -1,
                       T(0.5),
                       2,
                       -2,
                       100,
                       -100,
                       750,
                       -750};
  for (T const x : special) {
    INFO(name << (sizeof(T) == 4 ? " of float " : " of double ") << x);
    T const scalar = f(x), lane = math::get(V(f(math::broadcast<V>(x))), simd::width<T> - 1);
    long double const value = expected(x);
    T const rounded = static_cast<T>(value);
    CHECK(is_nan_by_bits(scalar) == is_nan_by_bits(rounded));
    CHECK(is_nan_by_bits(lane) == is_nan_by_bits(rounded));
    if (is_nan_by_bits(rounded)) continue;
    CHECK(same_bits(scalar, lane));
    CHECK(std::signbit(scalar) == std::signbit(rounded));
    if (std::fabs(rounded) <= limits::max()) CHECK(ulps_between(scalar, value) <= 3);
    else CHECK(scalar == rounded);
  }
}

} // namespace

TEMPLATE_TEST_CASE("NaN, infinities, zeros and subnormals give the expected results",
                   "[math]", float, double) {
  if (math::is_fast) return;
  using T = TestType;
  expect_limits<T>("exp", COTANGENT_FUNCTION(exp), expl);
  expect_limits<T>("expm1", COTANGENT_FUNCTION(expm1), expm1l);
  expect_limits<T>("log", COTANGENT_FUNCTION(log), logl);
  expect_limits<T>("log1p", COTANGENT_FUNCTION(log1p), log1pl);
  expect_limits<T>("sin", COTANGENT_FUNCTION(sin), sinl);
  expect_limits<T>("cos", COTANGENT_FUNCTION(cos), cosl);
  expect_limits<T>("tan", COTANGENT_FUNCTION(tan), tanl);
  expect_limits<T>("tanh", COTANGENT_FUNCTION(tanh), tanhl);
  expect_limits<T>("sinh", COTANGENT_FUNCTION(sinh), sinhl);
  expect_limits<T>("cosh", COTANGENT_FUNCTION(cosh), coshl);
  expect_limits<T>("asinh", COTANGENT_FUNCTION(asinh), asinhl);
  expect_limits<T>("sigmoid", COTANGENT_FUNCTION(sigmoid), logistic_reference);
  expect_limits<T>("softplus", COTANGENT_FUNCTION(softplus), softplus_reference);
  expect_limits<T>("atan", COTANGENT_FUNCTION(atan), atanl);
  expect_limits<T>("erf", COTANGENT_FUNCTION(erf), erfl);
  expect_limits<T>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference);
}

TEMPLATE_TEST_CASE("angles keep NaN, lengths and the gamma function take subnormals", "[math]", float, double) {
  if (math::is_fast) return;
  using T = TestType;
  using V = simd::pack<T, simd::width<T>>;
  T const nan = std::numeric_limits<T>::quiet_NaN(), least = std::numeric_limits<T>::denorm_min();
  auto const all = [](T x) { return math::broadcast<V>(x); };
  auto const first = [](V const& v) { return T(v[0]); };
  for (T const zero : {T(0), T(-0.0)}) {
    CHECK(std::isnan(math::atan2(zero, nan)));
    CHECK(std::isnan(first(math::atan2(all(zero), all(nan)))));
    CHECK(std::isnan(math::atan2(nan, zero)));
  }
  for (T const x : {least, T(3 * least), T(7 * least), T(1000 * least), std::numeric_limits<T>::min()}) {
    CHECK(std::abs(math::hypot(x, x) - std::hypot(x, x)) <= least);
    CHECK(first(math::hypot(all(x), all(x))) == math::hypot(x, x));
    CHECK(math::hypot(x, T(0)) == x);
    CHECK(math::lgamma(-x) == Approx(-std::log(x)).epsilon(4 * std::numeric_limits<T>::epsilon()));
    CHECK(first(math::lgamma(all(-x))) == math::lgamma(-x));
  }
}

TEST_CASE("the measure of errors notices an error", "[math]") {
  CHECK(ulps_between(1.0, 1.0L) == 0);
  CHECK(ulps_between(std::nextafter(1.5, 2.0), 1.5L) == 1);
  CHECK(ulps_between(std::nextafter(1.5f, 2.0f), 1.5L) == 1);
  CHECK(ulps_between(std::numeric_limits<double>::min(),
                     static_cast<long double>(std::numeric_limits<double>::min()) * 2) > 1e9);
  bool equal_bits = true;
  auto const wrong = [](auto const& x) { return x * 1.001f; };
  CHECK(sweep<float>(wrong, [](long double x) { return x; }, 1.0f, 2.0f, 0, equal_bits).ulps > 1000);
  auto const lanes_differ = [](auto const& x) { return math::is_vector<decltype(x)> ? x + x : x; };
  sweep<float>(lanes_differ, [](long double x) { return x; }, 1.0f, 2.0f, 0, equal_bits);
  CHECK(!equal_bits);
}
