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

constexpr extend::dimensions sizes(numbers n) {
  extend::dimensions d;
  for (std::int64_t k : n) d.size[d.rank++] = k;
  return d;
}
constexpr extend::symbol tensor(extend::builder& b, numbers n, element e = element::float64) {
  return b.symbol_of(e, b.shape(sizes(n)));
}
/// start, start + step, ... along each axis.
constexpr extend::symbol range(extend::builder& b, extend::symbol x, numbers start, numbers count, numbers step) {
  return detail::range_view(b, x, start.begin(), step.begin(), sizes(count));
}
constexpr extend::symbol range(extend::builder& b, extend::symbol x, numbers start, numbers count) {
  std::int64_t const ones[max_rank]{1, 1, 1, 1, 1, 1, 1, 1};
  return detail::range_view(b, x, start.begin(), ones, sizes(count));
}
constexpr extend::symbol strided(extend::builder& b, extend::symbol x, std::int64_t offset, numbers stride, numbers count) {
  return detail::strided_view(b, x, offset, stride.begin(), sizes(count));
}
/// A node that computes `op` of these into a view, or into any symbol.
constexpr std::int32_t write(extend::builder& b, operation const* op, std::initializer_list<extend::symbol> from, extend::symbol to,
                             numbers attributes = {}) {
  return b.assign(op, from.begin(), static_cast<int>(from.size()), &to, 1, attributes.begin(),
                  static_cast<int>(attributes.size()));
}
/// The elements of the root that a symbol stands for, in its own order.
constexpr detail::array<std::int64_t> elements(extend::graph_view const& g, extend::symbol t) {
  detail::tensor_window const w = detail::window_of(g, t);
  detail::array<std::int64_t> all;
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
