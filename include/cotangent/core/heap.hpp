// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_HEAP_HPP
#define COTANGENT_CORE_HEAP_HPP

#include <cotangent/core/array.hpp>

namespace cotangent::detail {

/// Pushes x onto a binary heap whose root precedes all other elements in the order `before(a, b)`.
template <class T, class Before> constexpr void heap_push(array<T>& heap, T const& x, Before const& before) {
  int k = heap.push(x);
  for (; k > 0 && before(x, heap[(k - 1) / 2]); k = (k - 1) / 2) heap[k] = heap[(k - 1) / 2];
  heap[k] = x;
}

/// Pops the root.
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
