// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_HEAP_HPP
#define COTANGENT_CORE_HEAP_HPP

#include <cotangent/core/array.hpp>

namespace cotangent::detail {

/// Adds x to a binary heap, in which what comes before all others, by `before(a, b)`, stands first.
template <class T, class Before> constexpr void heap_push(array<T>& heap, T const& x, Before const& before) {
  int k = heap.push(x);
  for (; k > 0 && before(x, heap[(k - 1) / 2]); k = (k - 1) / 2) heap[k] = heap[(k - 1) / 2];
  heap[k] = x;
}

/// Takes the first one out.
template <class T, class Before> constexpr T heap_pop(array<T>& heap, Before const& before) {
  T const first = heap[0], x = heap.pop();
  int const n = heap.size();
  if (n == 0) return first;
  int k = 0;
  for (int child = 1; child < n; k = child, child = 2 * k + 1) {
    if (child + 1 < n && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], x)) break;
    heap[k] = heap[child];
  }
  heap[k] = x;
  return first;
}

} // namespace cotangent::detail

#endif
