// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_LIVENESS_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_LIVENESS_HPP

#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/control.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The symbols and nodes that the outputs of a graph need, in all regions: through carried values to a fixed
/// point. A live view keeps its tensor alive, and so are the writers of views of a live tensor.
class liveness {
  graph_view g_;
  region_nodes nodes_;
  array<bool> live_, runs_; // by symbol; by node

public:
  constexpr explicit liveness(graph_view const& g)
      : g_(g), nodes_(g), live_(g.tensor_count), runs_(g.node_count) {
    for (int k = 0; k < g.output_count(); ++k) mark(g.output(k));
    visit(0);
  }
  constexpr bool operator[](symbol t) const { return live_[t]; }
  /// False for `none`, the owner of a region that has been emptied.
  constexpr bool runs(std::int32_t node_index) const { return node_index != none && runs_[node_index]; }
  /// True if the carried value at this position is read, inside or after the loop.
  constexpr bool carries(loop_layout const& at, node const& n, int k) const {
    return live_[g_.result(n, k)] || live_[g_.input(at.init(k), at.body)] ||
           (at.condition != none && live_[g_.input(at.init(k), at.condition)]);
  }
  /// True if the value at this position is read in a branch, or bypasses to a live result.
  constexpr bool passes(case_layout const& at, node const& n, int k) const {
    for (int j = 0; j < at.branches; ++j)
      if (live_[g_.input(k, at.branch(j))]) return true;
    for (int j = 0; j < at.results; ++j)
      if (at.bypass(j) == k && live_[g_.result(n, j)]) return true;
    return false;
  }

private:
  constexpr void mark(symbol t) {
    if (t == none) return;
    live_[t] = true;
    if (symbol const base = g_.tensors[t].base; base != none) live_[base] = true;
  }
  constexpr void mark_all(symbol const* t, int count) {
    for (int k = 0; k < count; ++k)
      if (t[k] != none && !live_[t[k]]) mark(t[k]);
  }
  constexpr bool needed(node const& n) const {
    if (n.result_count == 1 && live_[g_.ids[n.first + n.operand_count]]) return true;
    if (n.result_count == 0) return true;
    for (int k = 0; k < n.result_count; ++k) {
      symbol const y = g_.result(n, k);
      if (live_[y] || (g_.tensors[y].base != none && live_[g_.tensors[y].base])) return true;
    }
    return false;
  }
  constexpr void visit(std::int32_t r) {
    for (int p = nodes_.count(r); p-- > 0;) {
      std::int32_t const i = nodes_.at(r, p);
      node const& n = g_.nodes[i];
      if (!needed(n)) continue;
      runs_[i] = true;
      if (n.op == info_of<op::loop>()) visit_loop(n);
      else if (n.op == info_of<op::case_of>()) visit_case(n);
      else mark_all(g_.ids + n.first, read_count(n));
    }
  }
  constexpr void visit_loop(node const& n) {
    loop_layout const at = loop_layout::of(g_, n);
    for (int k = 0; k < at.output_count(); ++k)
      if (live_[g_.result(n, k)]) mark(g_.output(k, at.body));
    if (at.condition != none) {
      mark(g_.output(0, at.condition));
      visit(at.condition);
    }
    for (bool grew = true; grew;) {
      for (int k = 0; k < at.carried; ++k)
        if (carries(at, n, k)) mark(g_.output(k, at.body));
      visit(at.body);
      grew = false;
      for (int k = 0; k < at.carried; ++k)
        grew = grew || (carries(at, n, k) && !live_[g_.output(k, at.body)]);
    }
    mark(g_.operand(n, loop_layout::limit()));
    if (at.has_start()) mark(g_.operand(n, at.start()));
    for (int k = 1; k < at.operand_count(); ++k)
      if (live_[g_.input(k, at.body)] || (k < at.capture(0) && carries(at, n, k - 1)) ||
          (k < at.scan(0) && at.condition != none && live_[g_.input(k, at.condition)]))
        mark(g_.operand(n, k));
  }
  constexpr void visit_case(node const& n) {
    case_layout const at = case_layout::of(g_, n);
    for (int j = 0; j < at.branches; ++j) {
      for (int k = 0; k < at.results; ++k)
        if (live_[g_.result(n, k)]) mark(g_.output(k, at.branch(j)));
      visit(at.branch(j));
    }
    mark(g_.operand(n, case_layout::index()));
    for (int k = 0; k < at.values; ++k)
      if (passes(at, n, k)) mark(g_.operand(n, 1 + k));
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
