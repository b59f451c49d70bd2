// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch.hpp>

#include <cotangent/kernels/half.hpp>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace {

namespace ct = cotangent;

static_assert(sizeof(ct::float16) == 2 && sizeof(ct::bfloat16) == 2 && std::is_trivial_v<ct::float16> && std::is_trivial_v<ct::bfloat16>);
static_assert(ct::float16(1).bits() == 0x3c00 && ct::float16(65504.f).bits() == 0x7bff && ct::float16(65520.f).bits() == 0x7c00);
static_assert(ct::float16(65519.f).bits() == 0x7bff && ct::float16(0x1p-25f).bits() == 0 && ct::float16(0x1.8p-24f).bits() == 2);
static_assert(ct::bfloat16(1).bits() == 0x3f80 && ct::bfloat16(0x1.01p0f).bits() == 0x3f80 && ct::bfloat16(0x1.03p0f).bits() == 0x3f82);
static_assert(ct::bfloat16(3.4e38f).bits() == 0x7f80 && ct::bfloat16(-0.f).bits() == 0x8000 && ct::float16(-0.f).bits() == 0x8000);
static_assert(ct::float16(2) * ct::float16(3) == 6 && std::is_same_v<decltype(ct::float16(2) * ct::float16(3)), float>);

std::uint32_t bits_of_float(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of_bits(std::uint32_t u) { return std::bit_cast<float>(u); }

/// The number of a pattern, from its definition: sign, exponent, fraction.
template <int Exponent, int Fraction> double number_defined(std::uint32_t h) {
  int const e = static_cast<int>(h >> Fraction & ((1u << Exponent) - 1)), bias = (1 << (Exponent - 1)) - 1;
  double m = static_cast<double>(h & ((1u << Fraction) - 1)) + (e == 0 ? 0 : 1 << Fraction);
  for (int k = (e == 0 ? 1 : e) - bias - Fraction; k != 0; k += k < 0 ? 1 : -1) m = k < 0 ? m / 2 : m * 2;
  return h >> 15 != 0 ? -m : m;
}

/// Calls f with the bits of floats: every exponent with fractions of all kinds, and for every pattern of H the number, the tie behind
/// it, and the neighbors of both.
template <class H, class F> void for_each_float(F f) {
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t const low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) f(high << 16 | low);
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    std::uint32_t const u = bits_of_float(H::from_bits(static_cast<std::uint16_t>(h)));
    for (std::uint32_t const tie : {0u, 0x1000u, 0x8000u, 0x400000u})
      for (std::uint32_t const by : {0u, 1u, 0xffffffffu}) f(u + tie + by);
  }
}

/// The kernels, W lanes at a time, have the bits of the scalar code.
template <class H, int W> void compare_lanes() {
  using V = ct::math::vector<float, W>;
  long wrong = 0;
  for (std::uint32_t h = 0; h < 0x10000; h += W) {
    H from[W], to[W], part[W]{};
    for (int k = 0; k < W; ++k) from[k] = H::from_bits(static_cast<std::uint16_t>(h + static_cast<std::uint32_t>(k)));
    V const v = ct::simd::load_half<V>(from), some = ct::simd::load_half<V>(from, 1, W - 1);
    ct::simd::store_half(to, v);
    ct::simd::store_half(part, v, W - 1);
    for (int k = 0; k < W; ++k) {
      bool const nan = (from[k].bits() & 0x7fff) > (std::is_same_v<H, ct::float16> ? 0x7c00 : 0x7f80);
      std::uint32_t const quiet = nan && std::is_same_v<H, ct::float16> ? 0x200 : 0;
      wrong += bits_of_float(v[k]) != bits_of_float(from[k]) || to[k].bits() != (from[k].bits() | quiet);
      wrong += k + 1 == W ? bits_of_float(some[k]) != 0 || part[k].bits() != 0
                          : bits_of_float(some[k]) != bits_of_float(v[k]) || part[k].bits() != to[k].bits();
    }
  }
  float x[W]{};
  int n = 0;
  for_each_float<H>([&](std::uint32_t u) {
    x[n++] = float_of_bits(u);
    if (n < W) return;
    n = 0;
    V const y = ct::simd::rounded_to_half<H>(ct::simd::load<V>(x));
    for (int k = 0; k < W; ++k) wrong += bits_of_float(y[k]) != bits_of_float(H(x[k]));
  });
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("numbers of half precision: every pattern has its number, and comes back") {
  long wrong = 0;
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    auto const pattern = static_cast<std::uint16_t>(h);
    float const a = ct::float16::from_bits(pattern), b = ct::bfloat16::from_bits(pattern);
    bool const large = (h & 0x7c00) == 0x7c00, nan = large && (h & 0x3ff) != 0;
    wrong += !large && static_cast<double>(a) != number_defined<5, 10>(h);
    wrong += large && !nan && bits_of_float(a) != ((h & 0x8000) << 16 | 0x7f800000);
    wrong += ct::float16(a).bits() != (nan ? h | 0x200 : h); // a NaN becomes quiet
    wrong += bits_of_float(b) != h << 16;
    wrong += ct::bfloat16(b).bits() != ((h & 0x7fff) > 0x7f80 ? h | 0x40 : h);
  }
  CHECK(wrong == 0);
}

TEST_CASE("bfloat16 rounds to the nearest, ties to even") {
  long wrong = 0;
  for_each_float<ct::bfloat16>([&](std::uint32_t u) {
    std::uint32_t const got = ct::bfloat16(float_of_bits(u)).bits(), low = u & 0xffff, down = u >> 16;
    if ((u & 0x7fffffff) > 0x7f800000) wrong += (got & 0x7fff) <= 0x7f80;
    else wrong += got != (low > 0x8000 || (low == 0x8000 && (down & 1) != 0) ? down + 1 : down);
  });
  CHECK(wrong == 0);
}

TEST_CASE("doubles are rounded to float first") {
  CHECK(static_cast<float>(ct::float16(2049.0000001)) == 2048);
  CHECK(static_cast<float>(ct::bfloat16(1.00390625000001)) == 1);
}

#ifdef __FLT16_MANT_DIG__
TEST_CASE("float16 has the bits of the compiler's _Float16") {
  long wrong = 0;
  for_each_float<ct::float16>([&](std::uint32_t u) {
    std::uint32_t const got = ct::float16(float_of_bits(u)).bits();
    if ((u & 0x7fffffff) > 0x7f800000) wrong += (got & 0x7fff) <= 0x7c00;
    else wrong += got != std::bit_cast<std::uint16_t>(static_cast<_Float16>(float_of_bits(u)));
  });
  CHECK(wrong == 0);
}
#endif

TEST_CASE("kernels of half precision have the bits of the scalar code") {
  constexpr int w = ct::simd::width<float>;
  compare_lanes<ct::float16, w>();
  compare_lanes<ct::float16, 2 * w>();
  compare_lanes<ct::bfloat16, w>();
  compare_lanes<ct::bfloat16, 2 * w>();
}
