// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_DEPENDENCE_HPP
#define COTANGENT_TRANSFORM_BATCH_DEPENDENCE_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/shape.hpp>

#include <cstdint>

// The elements of one value that each element of another one depends on, as boxes in which both positions are affine.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A group of elements: those at first + step i along each axis, i < count; each depends on the elements base + stride i + (sum of
/// free_stride j) of the input, counted in row-major order, for all j < free_count.
struct dependence {
  static constexpr int most_free = 8;
  std::int64_t first[max_rank]{}, step[max_rank]{}, count[max_rank]{}, stride[max_rank]{};
  std::int64_t base = 0;
  int free = 0;
  std::int64_t free_count[most_free]{}, free_stride[most_free]{};

  constexpr bool is_empty() const {
    for (int k = 0; k < free; ++k)
      if (free_count[k] <= 0) return true;
    for (std::int64_t const n : count)
      if (n < 0) return true; // (axes that the value lacks have 0)
    return false;
  }
  constexpr void set(int axis, std::int64_t from, std::int64_t by, std::int64_t n, std::int64_t along) {
    first[axis] = from;
    step[axis] = by;
    count[axis] = n;
    stride[axis] = along;
  }
  friend constexpr bool operator==(dependence const&, dependence const&) = default;
  /// An order in which equal ones follow each other.
  constexpr bool precedes(dependence const& d) const {
    if (base != d.base) return base < d.base;
    for (int a = 0; a < max_rank; ++a) {
      if (first[a] != d.first[a]) return first[a] < d.first[a];
      if (step[a] != d.step[a]) return step[a] < d.step[a];
      if (count[a] != d.count[a]) return count[a] < d.count[a];
      if (stride[a] != d.stride[a]) return stride[a] < d.stride[a];
    }
    if (free != d.free) return free < d.free;
    for (int k = 0; k < free; ++k) {
      if (free_count[k] != d.free_count[k]) return free_count[k] < d.free_count[k];
      if (free_stride[k] != d.free_stride[k]) return free_stride[k] < d.free_stride[k];
    }
    return false;
  }
};

/// The i for which 0 <= a + b i < n, and 0 <= i < count: `count` of them, from `first` on.
struct index_range {
  std::int64_t first = 0, count = 0;
  constexpr index_range(std::int64_t a, std::int64_t b, std::int64_t n, std::int64_t all) {
    std::int64_t low = 0, high = all; // (b is not 0)
    auto const up = [](std::int64_t x, std::int64_t y) { return x >= 0 ? (x + y - 1) / y : -(-x / y); };
    if (b > 0) {
      if (std::int64_t const from = up(-a, b); from > low) low = from;
      if (std::int64_t const to = up(n - a, b); to < high) high = to;
    } else {
      if (std::int64_t const from = up(a - n + 1, -b); from > low) low = from;
      if (std::int64_t const to = up(a + 1, -b); to < high) high = to;
    }
    first = low;
    count = high > low ? high - low : 0;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
