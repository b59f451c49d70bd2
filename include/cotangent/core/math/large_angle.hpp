// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_LARGE_ANGLE_HPP
#define COTANGENT_CORE_MATH_LARGE_ANGLE_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/math/arithmetic.hpp>

#include <cstdint>
#include <limits>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

struct large_angle {
  double r;
  int quadrant;
};

// The bits of 1 / pi, after 64 zeros.
inline constexpr std::uint32_t inverse_pi[] = {
    0x00000000, 0x00000000, 0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820,
    0xff28b1d5, 0xef5de2b0, 0xdb92371d, 0x2126e970, 0x03249775, 0x04e8c90e, 0x7f0ef58e, 0x5894d39f,
    0x74411afa, 0x975da242, 0x74ce3813, 0x5a2fbf20, 0x9cc8eb1c, 0xc1a99cfa, 0x4e422fc5, 0xdefc941d,
    0x8ffc4bff, 0xef02cc07, 0xf79788c5, 0xad05368f, 0xb69b3f67, 0x93e584db, 0xa7a31fb3, 0x4f2ff516,
    0xba93dd63, 0xf5f2f8bd, 0x9e839cfb, 0xc5294975, 0x35fdafd8, 0x8fc6ae84, 0x2b019823, 0x7e3db5d5};

/// The remainder of an angle of at least 1 after subtracting the nearest multiple of pi/2, and that multiple
/// modulo 4.
///
/// Value: within 1 ulp of the remainder.
/// Source: Payne and Hanek, Radian Reduction for Trigonometric Functions, 1983. The angle is m 2^e with an
/// integer m. Of 1 / pi only the bits whose product with 2^e is below 2 matter; 192 of them leave 120 after
/// the worst cancellation.
constexpr large_angle reduce_large_angle(double x) {
  if (!(x <= std::numeric_limits<double>::max())) return {bit_cast<double>(0x7ff8000000000000), 0};
  auto const bits = bit_cast<std::uint64_t>(x);
  std::uint64_t const m = (bits & 0xfffffffffffff) | 0x10000000000000;
  auto const start =
      static_cast<unsigned>(static_cast<int>(bits >> 52) - 1075 - 1 + 64); // the first bit that matters
  std::uint64_t const factor[] = {m & 0xffffffff, m >> 32};
  std::uint32_t product[6] =
      {}; // m times the bits, modulo 2^192: x / pi modulo 2, in units of 2^-191; low word first
  for (int i = 0; i < 2; ++i) {
    std::uint64_t carry = 0;
    for (int j = 0; i + j < 6; ++j) {
      unsigned const at = start + 32 * static_cast<unsigned>(5 - j), word = at / 32, shift = at % 32;
      std::uint64_t const pair = std::uint64_t{inverse_pi[word]} << 32 | inverse_pi[word + 1];
      carry += (pair >> (32 - shift) & 0xffffffff) * factor[i] + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  bool const negative = (product[5] >> 29 & 1) != 0; // the bits below the quarter turn are a signed fraction
  int const quadrant = static_cast<int>(product[5] >> 30) + negative;
  if (negative)
    for (auto& word : product) word = ~word; // off by 2^-191
  product[5] &= 0x1fffffff;
  int top = 5;
  double unit = 0x1p-31; // of the first word that is not zero
  while (top > 2 && product[top] == 0) --top, unit *= 0x1p-32;
  double const high = product[top], low = product[top - 1] * 0x1p-32 + product[top - 2] * 0x1p-64;
  double const part = mul(high, 0x1.921fbp+1); // exact: 32 and 21 bits
  double const r = part + fma(high, 0x1.5110b4611a626p-21, mul(low, 0x1.921fb54442d18p+1));
  return {negative ? -r * unit : r * unit, quadrant};
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
