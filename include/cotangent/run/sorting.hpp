// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_SORTING_HPP
#define COTANGENT_RUN_SORTING_HPP

#include <cotangent/kernels/sort.hpp>
#include <cotangent/ops/functions/sorting.hpp>
#include <cotangent/run/whole.hpp>

#include <cstdint>

// The kernel of argsort, for static programs and the interpreter.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

template <> struct whole_kernel<op::argsort> {
  static constexpr std::int64_t row(whole_call const& c) { return c.result.size[c.result.rank - 1]; }
  static constexpr std::int64_t bytes(whole_call const& c) { return static_cast<std::int64_t>(size_of(c.operand[0].type)); }
  /// Positions of 4-byte elements have 4 bytes.
  static constexpr bool by_digits(whole_call const& c) {
    return row(c) >= kernels::least_sorted_by_digits && (bytes(c) == 8 || row(c) <= UINT32_MAX);
  }
  static constexpr std::int64_t scratch_bytes(whole_call const& c) {
    return by_digits(c) ? 4 * bytes(c) * row(c) : 0;
  }
  template <class, std::int64_t> static void on(whole_call const& c) noexcept {
    if (!by_digits(c)) return op::argsort::whole(c);
    detail::by_element(c.operand[0].type, [&]<class T>() {
      T const* const x = c.operand[0].data<T>();
      std::int64_t* const y = c.result.data<std::int64_t>();
      std::int64_t const n = row(c), all = c.result.count();
      auto* const scratch = reinterpret_cast<kernels::sort_record<kernels::sort_key<T>>*>(c.scratch);
      for (std::int64_t at = 0; at < all; at += n) kernels::argsort(x + at, y + at, n, scratch);
    });
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
