// SPDX-License-Identifier: BSL-1.0
// Random numbers by the compiler: known answers, and values that programs have too.
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

namespace {

namespace ct = cotangent;
using word = std::uint64_t;

// From the paper's known answers for ten rounds: zeros, ones, and digits of pi.
constexpr bool philox_is(ct::math::philox_words<word> in, word k0, word k1,
                         ct::math::philox_words<word> out) {
  auto const w = ct::math::philox<word>(in, k0, k1);
  return w.w0 == out.w0 && w.w1 == out.w1 && w.w2 == out.w2 && w.w3 == out.w3;
}
static_assert(philox_is({0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
constexpr word all_bits = 0xffffffff;
static_assert(philox_is({all_bits, all_bits, all_bits, all_bits}, all_bits, all_bits,
                        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
static_assert(philox_is({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0,
                        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));

// Position 0 of key 0: the first words of the first answer.
constexpr auto uniform = [](auto key) { return ct::random_uniform<double, 2, 3>(key); };
static_assert(ct::compiled(uniform)(std::int64_t{0})(0, 0) ==
              static_cast<double>((word{0x6627e8d5} << 21) | (word{0xe169c58d} >> 11)) / 9007199254740992.);
constexpr auto single = [](auto key) { return ct::random_uniform<float, 2>(key); };
static_assert(ct::compiled(single)(std::int64_t{0})(0) == static_cast<float>(0x6627e8) / 16777216.f);
static_assert(ct::compiled(uniform)(std::int64_t{7})(1, 2) == ct::compiled(uniform)(std::int64_t{7})(1, 2));
static_assert(ct::compiled(uniform)(std::int64_t{7})(1, 2) != ct::compiled(uniform)(std::int64_t{8})(1, 2));

// A gradient goes where the value went.
constexpr auto dropped = [](auto x, auto key) { return ct::sum(ct::dropout(x, 0.5, key)); };
consteval bool goes_back() {
  ct::tensor<double, 8> x{1, 1, 1, 1, 1, 1, 1, 1};
  auto const dx = ct::grad(dropped)(x, std::int64_t{3});
  double sum = 0, both = 0;
  for (int k = 0; k < 8; ++k) {
    if (dx(k) != 0 && dx(k) != 2) return false;
    sum += dx(k);
    both += dx(k) * x(k);
  }
  return sum > 0 && sum < 16 && both == ct::compiled(dropped)(x, std::int64_t{3});
}
static_assert(goes_back());

} // namespace
