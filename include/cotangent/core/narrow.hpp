// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_NARROW_HPP
#define COTANGENT_CORE_NARROW_HPP

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Packs masks into bits, and integers known to be small into few bytes.

namespace cotangent::detail {

constexpr std::int64_t narrow_bytes(std::int64_t count, int bits) noexcept { return (count * bits + 7) / 8; }

/// The lowest bit. A mask that its branch did not compute may hold any byte, and reading such a byte as a
/// `bool` is undefined.
template <class T> constexpr unsigned lowest_bit(T const& x) {
  if constexpr (std::is_same_v<T, bool>)
    if (!std::is_constant_evaluated()) {
      unsigned char byte;
      std::memcpy(&byte, &x, 1);
      return byte & 1u;
    }
  return static_cast<unsigned>(x != T{});
}

/// Packs elements, none negative and all of at most `bits` bits (1, 8, 16 or 32); the lowest bit of a byte is
/// the first mask.
template <class T> constexpr void put_narrow(T const* from, std::int64_t count, int bits, unsigned char* to) {
  if (bits > 1) {
    int const bytes = bits / 8;
    for (std::int64_t i = 0; i < count; ++i)
      for (int k = 0; k < bytes; ++k)
        to[i * bytes + k] = static_cast<unsigned char>(static_cast<std::uint64_t>(from[i]) >> (8 * k));
    return;
  }
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, bool> && std::endian::native == std::endian::little && sizeof(bool) == 1)
    if (!std::is_constant_evaluated())
      for (; i + 8 <= count; i += 8) { // the multiplication gathers the lowest bits of eight bytes
        std::uint64_t eight;
        std::memcpy(&eight, from + i, 8);
        eight &= 0x0101010101010101u;
        to[i / 8] = static_cast<unsigned char>((eight * 0x0102040810204080u) >> 56);
      }
  for (; i < count; i += 8) {
    unsigned byte = 0;
    for (int k = 0; k < 8 && i + k < count; ++k) byte |= lowest_bit(from[i + k]) << k;
    to[i / 8] = static_cast<unsigned char>(byte);
  }
}

/// Unpacks the output of `put_narrow`.
template <class T> constexpr void take_narrow(unsigned char const* from, std::int64_t count, int bits,
                                              T* to) {
  if (bits > 1) {
    int const bytes = bits / 8;
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      for (int k = 0; k < bytes; ++k) value |= static_cast<std::uint64_t>(from[i * bytes + k]) << (8 * k);
      to[i] = static_cast<T>(value);
    }
    return;
  }
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, bool> && std::endian::native == std::endian::little && sizeof(bool) == 1)
    if (!std::is_constant_evaluated())
      for (; i + 8 <= count; i += 8) { // byte k keeps bit k; adding 0x7F carries it to the highest bit
        std::uint64_t const spread = from[i / 8] * std::uint64_t{0x0101010101010101u} & 0x8040201008040201u;
        std::uint64_t const eight = (spread + 0x7F7F7F7F7F7F7F7Fu) >> 7 & 0x0101010101010101u;
        std::memcpy(to + i, &eight, 8);
      }
  for (; i < count; ++i) to[i] = static_cast<T>(from[i / 8] >> (i % 8) & 1);
}

} // namespace cotangent::detail

#endif
