// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <cotangent/core/math/elementary.hpp>
#include <cotangent/core/math/normal.hpp>
#include <cotangent/kernels/simd.hpp>

#include <array>
#include <cstring>

// What the compiler computes, the program computes with the same bits, in a scalar and in every lane.

namespace math = cotangent::math;
namespace simd = cotangent::simd;

namespace {

template <class T>
constexpr std::array<T, 32> points = {
    T(0.0),    T(-0.0),    T(1e-30),  T(-3e-9),   T(0.001),  T(-0.012345), T(0.1),      T(-0.25),
    T(0.3333), T(-0.4142), T(0.5),    T(0.693),   T(0.7071), T(-0.75),     T(0.9),      T(1.0),
    T(-1.1),   T(1.2),     T(1.4142), T(-1.5708), T(1.9),    T(2.4143),    T(2.718282), T(-3.1),
    T(5.5),    T(-9.9),    T(20.3),   T(50.0),    T(-80.7),  T(87.0),      T(123456.7), T(1e30)};

template <class T, class F>
constexpr auto tabulate(F f) {
  std::array<T, 32> r{};
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = f(points<T>[i]);
  return r;
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <class T, class F>
void expect_same(char const* name, F f, std::array<T, 32> const& constant) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  std::array<T, 32> input = points<T>, lanes{};
  asm volatile("" : : "r"(input.data()) : "memory"); // not to be computed by the compiler again
  for (std::size_t i = 0; i < input.size(); i += static_cast<std::size_t>(w))
    simd::store(&lanes[i], V(f(simd::load<V>(&input[i]))));
  for (std::size_t i = 0; i < input.size(); ++i) {
    INFO(name << " at " << input[i] << ": " << constant[i] << ", " << f(input[i]) << ", " << lanes[i]);
    CHECK(same_bits(constant[i], f(input[i])));
    CHECK(same_bits(constant[i], lanes[i]));
  }
}

#define COTANGENT_SAME(T, Name)                                                                              \
  do {                                                                                                       \
    constexpr auto f = [](auto const& x) { return math::Name(x); };                                          \
    constexpr std::array<T, 32> constant = tabulate<T>(f);                                                   \
    expect_same<T>(#Name, f, constant);                                                                      \
  } while (false)

template <class T>
struct two_of {
  template <class V>
  constexpr V operator()(V const& x) const {
    return math::pow(x, math::broadcast<V>(exponent));
  }
  T exponent;
};

} // namespace

TEMPLATE_TEST_CASE("elementary functions have the bits of their constant evaluation", "[math]", float,
                   double) {
  if constexpr (!math::is_fast) {
    COTANGENT_SAME(TestType, exp);
    COTANGENT_SAME(TestType, expm1);
    COTANGENT_SAME(TestType, log);
    COTANGENT_SAME(TestType, log1p);
    COTANGENT_SAME(TestType, sin);
    COTANGENT_SAME(TestType, cos);
    COTANGENT_SAME(TestType, tan);
    COTANGENT_SAME(TestType, tanh);
    COTANGENT_SAME(TestType, sinh);
    COTANGENT_SAME(TestType, cosh);
    COTANGENT_SAME(TestType, asinh);
    COTANGENT_SAME(TestType, sigmoid);
    COTANGENT_SAME(TestType, softplus);
    COTANGENT_SAME(TestType, atan);
    COTANGENT_SAME(TestType, erf);
    COTANGENT_SAME(TestType, normal_cdf);
    COTANGENT_SAME(TestType, sqrt);
    COTANGENT_SAME(TestType, floor);
    COTANGENT_SAME(TestType, round_to_even);
    constexpr two_of<TestType> powers[] = {{TestType(2.7)}, {TestType(-3)}, {TestType(0.5)}, {TestType(0)}};
    static constexpr auto constant = [](auto const& all) {
      std::array<std::array<TestType, 32>, 4> r{};
      for (std::size_t i = 0; i < 4; ++i) r[i] = tabulate<TestType>(all[i]);
      return r;
    }(powers);
    for (std::size_t i = 0; i < 4; ++i) expect_same<TestType>("pow", powers[i], constant[i]);
  }
}

TEMPLATE_TEST_CASE("a fused multiply-add has the bits of its constant evaluation", "[math]", float, double) {
  using T = TestType;
  struct three {
    T a, b, c;
  };
  // ties, cancellation, subnormals and what lies far apart
  static constexpr T e = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::min();
  static constexpr std::array<three, 14> all = {{{1 + e, 1 + e, -1},
                                                 {1 + e, 1 - e, -1},
                                                 {1 + e, 1 + e, e * e},
                                                 {1 + e, T(0.5), e * e},
                                                 {1 + e, T(1.5), -e * e * e},
                                                 {3, T(1) / 3, -1},
                                                 {T(1) / 3, T(1) / 7, T(1) / 11},
                                                 {tiny, T(0.75), tiny * e},
                                                 {tiny, e, tiny * e},
                                                 {tiny, T(1.5) * e, -tiny * e},
                                                 {T(1e30), T(1e-30), -1},
                                                 {T(1e18), T(1e18), T(1e-18)},
                                                 {T(-0.0), T(1), T(-0.0)},
                                                 {T(7), T(-0.0), T(0)}}};
  static constexpr auto constant = [] {
    std::array<T, 14> r{};
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = math::fma(all[i].a, all[i].b, all[i].c);
    return r;
  }();
  if (math::is_fast) return;
  std::array<three, 14> input = all;
  asm volatile("" : : "r"(input.data()) : "memory");
  for (std::size_t i = 0; i < input.size(); ++i) {
    auto const [a, b, c] = input[i];
    INFO(i << ": " << a << " * " << b << " + " << c);
    CHECK(same_bits(constant[i], math::fma(a, b, c)));
    if constexpr (math::has_fma) CHECK(same_bits(math::exact::fma(a, b, c), constant[i]));
  }
}
