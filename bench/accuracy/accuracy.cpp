// SPDX-License-Identifier: BSL-1.0
// The largest error of each elementary function, in units in the last place (ulp), found by search: random arguments, by
// value and by bits (all exponents alike), then hill climbing from the worst of them. One line for each function, element
// type and range; the reference is the C library's in long double. Usage: accuracy [samples for each line
// [a function]]
#include <cotangent/core/math/elementary.hpp>
#include <cotangent/core/math/gamma.hpp>
#include <cotangent/core/math/incomplete_gamma.hpp>
#include <cotangent/core/math/normal.hpp>
#include <cotangent/core/math/normal_quantile.hpp>
#include <cotangent/core/math/roots.hpp>
#include <cotangent/kernels/simd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace math = cotangent::math;
namespace simd = cotangent::simd;

namespace {

using reference = long double (*)(long double);

bool at_least_one = false; // errors are counted in ulps of the larger of |expected| and 1

template <class T>
double ulps_between(T value, long double expected) {
  int exponent = 0;
  std::frexp(at_least_one ? std::max(std::fabs(expected), 1.0L) : expected, &exponent);
  int const last = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(static_cast<long double>(value) - expected) / std::ldexp(1.0L, last));
}

template <class T>
struct error {
  double ulps;
  T at;
};

template <class T>
std::int64_t order(T x) {
  auto const bits = static_cast<std::int64_t>(math::bit_cast<math::bits_t<T>>(std::fabs(x)));
  return x < 0 ? -bits : bits;
}
template <class T>
T number(std::int64_t o) {
  auto const x = math::bit_cast<T>(static_cast<math::bits_t<T>>(o < 0 ? -o : o));
  return o < 0 ? -x : x;
}

long samples = 1000000;
char const* only = nullptr; // a function's name
constexpr std::size_t kept = 48; // starting points of the climb

template <class T, class F>
void measure(char const* name, F f, reference expected, double low_, double high_) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr int w = simd::width<T>;
  if (only != nullptr && std::strcmp(only, name) != 0) return;
  T const low = static_cast<T>(low_), high = static_cast<T>(high_);
  std::mt19937_64 random{11};
  std::vector<error<T>> best;
  std::array<T, static_cast<std::size_t>(w)> x{}, y{};
  auto const try_all = [&] {
    simd::store(y.data(), V(f(simd::load<V>(x.data()))));
    for (std::size_t k = 0; k < x.size(); ++k) {
      long double const e = expected(x[k]);
      if (!(std::fabs(e) <= std::numeric_limits<T>::max())) continue;
      if (std::isinf(y[k]) && std::fabs(e) > std::numeric_limits<T>::max() * (1 - 1e-7L)) continue;
      double const u = ulps_between(y[k], e);
      if (best.size() < kept || !(u <= best.back().ulps)) {
        best.push_back({std::isnan(u) ? 1e30 : u, x[k]});
        std::sort(best.begin(), best.end(), [](auto const& a, auto const& b) { return a.ulps > b.ulps; });
        best.erase(
            std::unique(best.begin(), best.end(), [](auto const& a, auto const& b) { return a.at == b.at; }),
            best.end());
        if (best.size() > kept) best.pop_back();
      }
    }
  };
  std::int64_t const from = order(low), to = order(high);
  std::uniform_int_distribution<std::int64_t> by_bits(from, to);
  std::uniform_real_distribution<double> by_value(low_, high_);
  for (long i = 0; i < samples; ++i) {
    for (auto& e : x)
      e = i % 2 ? number<T>(by_bits(random)) : std::clamp(static_cast<T>(by_value(random)), low, high);
    try_all();
  }
  for (int round = 0; round < 40; ++round) {
    auto const seeds = best;
    for (auto const& s : seeds)
      for (int r = 0; r < 200; ++r) {
        for (auto& e : x) {
          int const reach = static_cast<int>(random() % (sizeof(T) == 4 ? 20 : 46));
          auto const step =
              static_cast<std::int64_t>(random() % (std::uint64_t{2} << reach)) - (std::int64_t{1} << reach);
          e = number<T>(std::clamp(order(s.at) + step, from, to));
        }
        try_all();
      }
    if (!(best.front().ulps > seeds.front().ulps) && round > 6) break;
  }
  std::printf("%-9s %-6s [%g, %g]  %.4f at %a\n", name, sizeof(T) == 4 ? "float" : "double", low_, high_,
              best.front().ulps, static_cast<double>(best.front().at));
  std::fflush(stdout);
}

long double logistic_reference(long double x) { return 1 / (1 + expl(-x)); }
long double softplus_reference(long double x) { return x > 60 ? x : log1pl(expl(x)); }
long double normal_reference(long double x) {
  return erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
}
long double normal_log_reference(long double x) {
  return x > 0 ? log1pl(-erfcl(x * 0.707106781186547524400844362104849039L) / 2)
               : logl(erfcl(-x * 0.707106781186547524400844362104849039L) / 2);
}
long double erfinv_reference(long double x) {
  long double const a = fabsl(x), rest = 1 - a, half_root_of_pi = 0.886226925452758013649083741670572591L;
  long double y = a < 0.5L ? a * half_root_of_pi : sqrtl(-logl(rest));
  for (int k = 0; k < 60; ++k) {
    long double const residual = a < 0.5L ? erfl(y) - a : rest - erfcl(y);
    long double const step = residual * expl(y * y) * half_root_of_pi;
    y -= step / (1 + y * step);
  }
  return x < 0 ? -y : y;
}
long double normal_quantile_reference(long double p) {
  bool const above = p > 0.5L;
  long double const rest = 2 * (above ? 1 - p : p), a = 1 - rest, half_root_of_pi = 0.886226925452758013649083741670572591L;
  long double y = a < 0.5L ? a * half_root_of_pi : sqrtl(-logl(rest));
  for (int k = 0; k < 60; ++k) {
    long double const step = (a < 0.5L ? erfl(y) - a : rest - erfcl(y)) * expl(y * y) * half_root_of_pi;
    y -= step / (1 + y * step);
  }
  return (above ? y : -y) * 1.41421356237309504880168872420969808L;
}
long double shape; // of the incomplete gamma function
long double gammainc_reference(long double x) {
  long double sum = 1, term = 1, a = shape;
  for (long double n = a + 1; term > sum * 1e-20L; n += 1) term *= x / n, sum += term;
  if (a < 10) return powl(x, a) * expl(-x) / tgammal(a + 1) * sum;
  // by powers of x / a and Stirling's series, since the rounding of an exponent counts by its size
  long double const ratio = x / a, rest = fmal(-ratio, a, x), pi = 3.14159265358979323846264338327950288L, w = 1 / (a * a);
  long double const series = (1 / 12.L - w * (1 / 360.L - w * (1 / 1260.L - w * (1 / 1680.L - w * (1 / 1188.L - w * (691 / 360360.L - w / 156)))))) / a;
  return powl(ratio, a) * expl(a - x + rest / ratio - series) / sqrtl(2 * pi * a) * sum;
}
/// The derivative N of digamma, by recurrence to 40 and its asymptotic series; below 1/2 by reflection for N < 2.
template <int N> long double polygamma_reference(long double x) {
  long double const pi = 3.14159265358979323846264338327950288L;
  if (x < 0.5L) {
    long double const r = x - roundl(x), s = sinl(pi * r), c = cosl(pi * r);
    if (r == 0) return std::numeric_limits<long double>::infinity();
    if constexpr (N == 0) return polygamma_reference<0>(1 - x) - pi * c / s;
    if constexpr (N == 1) return pi * pi / (s * s) - polygamma_reference<1>(1 - x);
    if constexpr (N == 2) return polygamma_reference<2>(1 - x) - 2 * pi * pi * pi * c / (s * s * s);
    if constexpr (N == 3) return 2 * pi * pi * pi * pi * (1 + 2 * c * c) / (s * s * s * s) - polygamma_reference<3>(1 - x);
  }
  constexpr long double bernoulli[]{1.L / 6, -1.L / 30, 1.L / 42, -1.L / 30, 5.L / 66, -691.L / 2730, 7.L / 6, -3617.L / 510};
  long double sum = 0, factorial = 1, a = x;
  for (int n = 2; n <= N; ++n) factorial *= n;
  for (; a < 40; a += 1) sum += powl(a, -(N + 1));
  long double series = N == 0 ? -logl(a) + 0.5L / a : factorial / N * powl(a, -N) + factorial / 2 * powl(a, -(N + 1));
  for (int k = 1; k <= 8; ++k) {
    long double c = bernoulli[k - 1];
    if (N == 0) c /= 2 * k;
    else
      for (int n = 2 * k + 1; n < 2 * k + N; ++n) c *= n;
    series += c * powl(a, -(2 * k + N));
  }
  return (N % 2 == 0 ? -1 : 1) * (series + factorial * sum);
}
long double other = 0;
long double atan2_reference(long double y) { return atan2l(y, other); }
long double atan2_of_x_reference(long double x) { return atan2l(other, x); }
long double hypot_reference(long double x) { return hypotl(x, other); }
long double exponent = 0;
long double power_reference(long double x) { return powl(x, exponent); }

#define COTANGENT_FUNCTION(Name) [](auto const& x) { return math::Name(x); }

template <class T>
void all() {
  constexpr bool d = sizeof(T) == 8;
  double const largest = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min(),
               over = d ? 709.78 : 88.72, under = d ? -745 : -103;
  measure<T>("exp", COTANGENT_FUNCTION(exp), expl, -1, 1);
  measure<T>("exp", COTANGENT_FUNCTION(exp), expl, under, over);
  measure<T>("expm1", COTANGENT_FUNCTION(expm1), expm1l, -1, 1);
  measure<T>("expm1", COTANGENT_FUNCTION(expm1), expm1l, -60, over);
  measure<T>("log", COTANGENT_FUNCTION(log), logl, 0.5, 2);
  measure<T>("log", COTANGENT_FUNCTION(log), logl, tiny, largest);
  measure<T>("log1p", COTANGENT_FUNCTION(log1p), log1pl, -0.999999, 1);
  measure<T>("log1p", COTANGENT_FUNCTION(log1p), log1pl, -0.5, largest);
  for (double const to : {0.8, 10.0, 1000.0, 1048576.0}) {
    measure<T>("sin", COTANGENT_FUNCTION(sin), sinl, -to, to);
    measure<T>("cos", COTANGENT_FUNCTION(cos), cosl, -to, to);
    measure<T>("tan", COTANGENT_FUNCTION(tan), tanl, -to, to);
  }
  measure<T>("sin", COTANGENT_FUNCTION(sin), sinl, 1048577, largest);
  measure<T>("cos", COTANGENT_FUNCTION(cos), cosl, 1048577, largest);
  measure<T>("tan", COTANGENT_FUNCTION(tan), tanl, 1048577, largest);
  measure<T>("tanh", COTANGENT_FUNCTION(tanh), tanhl, -1, 1);
  measure<T>("tanh", COTANGENT_FUNCTION(tanh), tanhl, -40, 40);
  measure<T>("sinh", COTANGENT_FUNCTION(sinh), sinhl, -1, 1);
  measure<T>("sinh", COTANGENT_FUNCTION(sinh), sinhl, -over, over);
  measure<T>("cosh", COTANGENT_FUNCTION(cosh), coshl, -over, over);
  measure<T>("asinh", COTANGENT_FUNCTION(asinh), asinhl, -2, 2);
  measure<T>("asinh", COTANGENT_FUNCTION(asinh), asinhl, -largest, largest);
  measure<T>("sigmoid", COTANGENT_FUNCTION(sigmoid), logistic_reference, d ? -745 : -103, 50);
  measure<T>("sigmoid", COTANGENT_FUNCTION(sigmoid), logistic_reference, -3, 3);
  measure<T>("softplus", COTANGENT_FUNCTION(softplus), softplus_reference, d ? -745 : -103, 1000);
  measure<T>("softplus", COTANGENT_FUNCTION(softplus), softplus_reference, -3, 3);
  measure<T>("atan", COTANGENT_FUNCTION(atan), atanl, -largest, largest);
  measure<T>("atan", COTANGENT_FUNCTION(atan), atanl, -3, 3);
  measure<T>("erf", COTANGENT_FUNCTION(erf), erfl, -7, 7);
  measure<T>("erf", COTANGENT_FUNCTION(erf), erfl, -1, 1);
  measure<T>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, d ? -38.4 : -14.1, 9);
  measure<T>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, -3, 3);
  measure<T>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, -1, 1);
  measure<T>("normal_cdf", COTANGENT_FUNCTION(normal_cdf), normal_reference, d ? -37.5 : -13, -2);
  measure<T>("exp2", COTANGENT_FUNCTION(exp2), exp2l, d ? -1074 : -149, d ? 1024 : 128);
  measure<T>("exp2", COTANGENT_FUNCTION(exp2), exp2l, -1, 1);
  measure<T>("log2", COTANGENT_FUNCTION(log2), log2l, tiny, largest);
  measure<T>("log2", COTANGENT_FUNCTION(log2), log2l, 0.5, 2);
  measure<T>("log10", COTANGENT_FUNCTION(log10), log10l, tiny, largest);
  measure<T>("log10", COTANGENT_FUNCTION(log10), log10l, 0.5, 2);
  measure<T>("cbrt", COTANGENT_FUNCTION(cbrt), cbrtl, -largest, largest);
  measure<T>("asin", COTANGENT_FUNCTION(asin), asinl, -1, 1);
  measure<T>("acos", COTANGENT_FUNCTION(acos), acosl, -1, 1);
  measure<T>("acosh", COTANGENT_FUNCTION(acosh), acoshl, 1, 3);
  measure<T>("acosh", COTANGENT_FUNCTION(acosh), acoshl, 1, largest);
  measure<T>("atanh", COTANGENT_FUNCTION(atanh), atanhl, -1, 1);
  for (double const wanted : {1.0, -1.0, 0.37, -3e-5, d ? 1e300 : 1e30, d ? -1e-310 : -1e-40}) {
    T const y = static_cast<T>(wanted);
    other = y;
    auto const like = [y](auto const& x) { return math::broadcast<std::remove_cvref_t<decltype(x)>>(y); };
    measure<T>("atan2", [like](auto const& x) { return math::atan2(x, like(x)); }, atan2_reference, -largest, largest);
    measure<T>("atan2", [like](auto const& x) { return math::atan2(like(x), x); }, atan2_of_x_reference, -3, 3);
    measure<T>("hypot", [like](auto const& x) { return math::hypot(x, like(x)); }, hypot_reference, -largest, largest);
  }
  measure<T>("erfc", COTANGENT_FUNCTION(erfc), erfcl, -6, d ? 26.5 : 9.9);
  measure<T>("erfc", COTANGENT_FUNCTION(erfc), erfcl, -1, 1);
  measure<T>("erfinv", COTANGENT_FUNCTION(erfinv), erfinv_reference, -1, 1);
  measure<T>("normal_log_cdf", COTANGENT_FUNCTION(normal_log_cdf), normal_log_reference, d ? -100 : -15, d ? 38 : 13);
  measure<T>("normal_log_cdf", COTANGENT_FUNCTION(normal_log_cdf), normal_log_reference, -3, 3);
  measure<T>("normal_quantile", COTANGENT_FUNCTION(normal_quantile), normal_quantile_reference, tiny, 1);
  measure<T>("normal_quantile", COTANGENT_FUNCTION(normal_quantile), normal_quantile_reference, 0.4, 0.6);
  for (double const wanted : {0.25, 3.5, 24.0, 60.0, 2000.0}) {
    T const a = static_cast<T>(wanted);
    shape = a;
    auto const of_shape = [a](auto const& x) { return math::gammainc<0>(math::broadcast<std::remove_cvref_t<decltype(x)>>(a), x); };
    measure<T>("gammainc", of_shape, gammainc_reference, wanted / 2, wanted * 2);
  }
  measure<T>("lgamma", COTANGENT_FUNCTION(lgamma), lgammal, tiny, 20);
  measure<T>("lgamma", COTANGENT_FUNCTION(lgamma), lgammal, 0.5, 3);
  measure<T>("lgamma", COTANGENT_FUNCTION(lgamma), lgammal, 8, d ? 1e300 : 1e30);
  measure<T>("trigamma", [](auto const& x) { return math::polygamma<1>(x); }, polygamma_reference<1>, tiny, 1e6);
  measure<T>("tetragamma", [](auto const& x) { return math::polygamma<2>(x); }, polygamma_reference<2>, tiny, 1e6);
  measure<T>("pentagamma", [](auto const& x) { return math::polygamma<3>(x); }, polygamma_reference<3>, tiny, 1e6);
  at_least_one = true; // near their roots: of the larger of |y| and 1
  double const fractions = d ? -0x1p52 : -0x1p23; // below, all numbers are integers
  for (double const from : {-40.0, fractions}) {
    measure<T>("lgamma", COTANGENT_FUNCTION(lgamma), lgammal, from, 0);
    measure<T>("digamma", [](auto const& x) { return math::polygamma<0>(x); }, polygamma_reference<0>, from, 0);
    measure<T>("trigamma", [](auto const& x) { return math::polygamma<1>(x); }, polygamma_reference<1>, from, 0);
    measure<T>("tetragamma", [](auto const& x) { return math::polygamma<2>(x); }, polygamma_reference<2>, from, 0);
    measure<T>("pentagamma", [](auto const& x) { return math::polygamma<3>(x); }, polygamma_reference<3>, from, 0);
  }
  measure<T>("digamma", [](auto const& x) { return math::polygamma<0>(x); }, polygamma_reference<0>, tiny, 1e6);
  at_least_one = false;
  for (double const wanted : {2.7, 0.5, -1.3, 3.0, -7.0, 100.3, 1e-3, -250.5}) {
    T const y = static_cast<T>(wanted);
    exponent = y;
    double const range = (d ? 1020 : 125) / std::max(std::fabs(wanted), 1.0);
    measure<T>(
        "pow",
        [y](auto const& x) { return math::pow(x, math::broadcast<std::remove_cvref_t<decltype(x)>>(y)); },
        power_reference, std::exp2(-range), std::exp2(range));
  }
}

} // namespace

int main(int count, char** words) {
  if (count > 1) samples = std::atol(words[1]);
  if (count > 2) only = words[2];
  all<float>();
  all<double>();
}
