// SPDX-License-Identifier: BSL-1.0
// The largest error of each elementary function, in units in the last place (ulp), found by search: random arguments, by
// value and by bits (all exponents alike), then hill climbing from the worst of them. One line for each function, element
// type and range; the reference is the C library's in long double. Usage: accuracy [samples for each line]
#include <cotangent/core/math/elementary.hpp>
#include <cotangent/core/math/normal.hpp>
#include <cotangent/kernels/simd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

namespace math = cotangent::math;
namespace simd = cotangent::simd;

namespace {

using reference = long double (*)(long double);

template <class T>
double ulps_between(T value, long double expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
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
constexpr std::size_t kept = 48; // starting points of the climb

template <class T, class F>
void measure(char const* name, F f, reference expected, double low_, double high_) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr int w = simd::width<T>;
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
  all<float>();
  all<double>();
}
