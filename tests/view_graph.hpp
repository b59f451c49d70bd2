// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_VIEW_GRAPH_HPP
#define COTANGENT_TESTS_VIEW_GRAPH_HPP

#include <cotangent/graph/window.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>
#include <initializer_list>

// Graphs with views, written down shortly.

namespace view_graph {

using namespace cotangent;
using numbers = std::initializer_list<std::int64_t>;

constexpr dimensions sizes(numbers n) {
  dimensions d;
  for (std::int64_t k : n) d.size[d.rank++] = k;
  return d;
}
constexpr symbol tensor(builder& b, numbers n, element e = element::float64) {
  return b.symbol_of(e, b.shape(sizes(n)));
}
/// start, start + step, ... along each axis.
constexpr symbol range(builder& b, symbol x, numbers start, numbers count, numbers step) {
  return range_view(b, x, start.begin(), step.begin(), sizes(count));
}
constexpr symbol range(builder& b, symbol x, numbers start, numbers count) {
  std::int64_t const ones[max_rank]{1, 1, 1, 1, 1, 1, 1, 1};
  return range_view(b, x, start.begin(), ones, sizes(count));
}
constexpr symbol strided(builder& b, symbol x, std::int64_t offset, numbers stride, numbers count) {
  return strided_view(b, x, offset, stride.begin(), sizes(count));
}
/// A node that computes `op` of these into a view, or into any symbol.
constexpr std::int32_t write(builder& b, operation const* op, std::initializer_list<symbol> from, symbol to,
                             numbers attributes = {}) {
  return b.assign(op, from.begin(), static_cast<int>(from.size()), &to, 1, attributes.begin(),
                  static_cast<int>(attributes.size()));
}
/// The elements of the root that a symbol stands for, in its own order.
constexpr array<std::int64_t> elements(graph_view const& g, symbol t) {
  tensor_window const w = window_of(g, t);
  array<std::int64_t> all;
  for (std::int64_t i = 0, n = w.count(); i < n; ++i) {
    std::int64_t left = i, at = w.offset;
    for (int k = w.rank - 1; k >= 0; --k) {
      at += left % w.size[k] * w.stride[k];
      left /= w.size[k];
    }
    all.push(at);
  }
  return all;
}

} // namespace view_graph

#endif
