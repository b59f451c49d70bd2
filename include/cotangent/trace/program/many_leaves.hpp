// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_MANY_LEAVES_HPP
#define COTANGENT_TRACE_PROGRAM_MANY_LEAVES_HPP

#include <cotangent/core/shape.hpp>
#include <cotangent/trace/program/binding.hpp>

#include <cstddef>
#include <cstdint>

// Checks of arguments and results by loops, for programs with many leaves. (Unrolled checks grow with the
// square of their number, and clang stops at folds over 256 operands.)

namespace cotangent::detail {

/// The largest number of arguments and results with unrolled checks.
inline constexpr int unrolled_leaves = 64;

struct leaf_size {
  dimensions shape;
  std::int64_t element_bytes = 0;

  constexpr std::int64_t bytes(std::int64_t const* sizes) const noexcept {
    std::int64_t n = element_bytes;
    for (int k = 0; k < shape.rank; ++k) n = capped_product(n, at(k, sizes)); // (a size 0 may follow large ones)
    return n;
  }
  constexpr bool is(std::int64_t const* found, std::int64_t const* sizes) const noexcept {
    for (int k = 0; k < shape.rank; ++k)
      if (found[k] != at(k, sizes)) return false;
    return true;
  }

private:
  constexpr std::int64_t at(int axis, std::int64_t const* sizes) const noexcept {
    return shape.size[axis] >= 0 ? shape.size[axis] : sizes[-1 - shape.size[axis]];
  }
};

/// In place, so that a run allocates nothing. Linear if x is in order.
template <class Before> constexpr void heap_sort(int* x, int n, Before before) noexcept {
  int ordered = 1;
  while (ordered < n && !before(x[ordered], x[ordered - 1])) ++ordered;
  if (ordered >= n) return;
  auto const sink = [&](int at, int end) {
    for (int child = 2 * at + 1; child < end; at = child, child = 2 * at + 1) {
      if (child + 1 < end && before(x[child], x[child + 1])) ++child;
      if (!before(x[at], x[child])) return;
      int const other = x[at];
      x[at] = x[child];
      x[child] = other;
    }
  };
  for (int k = n / 2 - 1; k >= 0; --k) sink(k, n);
  for (int end = n - 1; end > 0; --end) {
    int const last = x[0];
    x[0] = x[end];
    x[end] = last;
    sink(0, end);
  }
}

/// True if a result overlaps another result, or an argument without permission. `order` has room for one
/// number for each result; `may_be(argument, result)` permits exact aliases.
///
/// Cost: n log n.
template <class MayBe> constexpr bool any_collides(byte_range const* arguments, int argument_count,
                                                   byte_range const* results, int result_count, int* order,
                                                   MayBe may_be) noexcept {
  int n = 0;
  for (int k = 0; k < result_count; ++k)
    if (results[k].bytes > 0) order[n++] = k;
  heap_sort(order, n, [&](int a, int b) { return results[a].first < results[b].first; });
  for (int k = 1; k < n; ++k)
    if (results[order[k - 1]].overlaps(results[order[k]])) return true;
  for (int j = 0; j < argument_count; ++j) {
    byte_range const& a = arguments[j];
    if (a.bytes <= 0) continue;
    int low = 0, high = n; // the first result that ends behind the argument's beginning
    while (low < high) {
      int const middle = low + (high - low) / 2;
      byte_range const& r = results[order[middle]];
      if (r.first + r.bytes > a.first) high = middle;
      else low = middle + 1;
    }
    for (; low < n && results[order[low]].overlaps(a); ++low)
      if (!results[order[low]].is(a) || !may_be(j, order[low])) return true;
  }
  return false;
}

/// The shapes of all arguments, then of all results, of a program.
template <int Inputs, int Outputs> struct leaf_sizes_of {
  leaf_size of[Inputs + Outputs + 1]{};

  constexpr explicit leaf_sizes_of(graph_view const& g) {
    for (int k = 0; k < Inputs + Outputs; ++k) {
      symbol const t = k < Inputs ? g.input(k) : g.output(k - Inputs);
      of[k] = {g.shape(t), static_cast<std::int64_t>(size_of(g.tensors[t].type))};
    }
  }
};

} // namespace cotangent::detail

#endif
