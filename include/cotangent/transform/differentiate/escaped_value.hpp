// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_ESCAPED_VALUE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_ESCAPED_VALUE_HPP

#include <cotangent/graph/failure.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

namespace cotangent::detail {

/// Marks the values that the outputs of a graph depend on, whatever the order of its nodes, without the rules of custom derivatives
/// (`liveness` needs nodes in order, and reads these rules). Of a loop or branch they depend on the carried values and results that
/// they read, not on all.
class reached_values {
  graph_view const& g_;
  array<bool> reached_;          // by symbol
  array<std::int32_t> input_of_; // by symbol: the region that it is an input of, none for others
  array<symbol> waiting_;

public:
  constexpr explicit reached_values(graph_view const& g) : g_(g), reached_(g.tensor_count), input_of_(g.tensor_count, none) {
    for (std::int32_t r = 1; r < g.region_count; ++r)
      for (int k = 0; k < g.input_count(r); ++k) input_of_[g.input(k, r)] = r;
    for (int k = 0; k < g.output_count(); ++k) reach(g.output(k));
    for (bool more = true; more;) {
      while (!waiting_.empty()) follow(waiting_.pop());
      for (std::int32_t i = 0; i < g.node_count; ++i) // those that write parts of reached values
        for (int k = 0; k < g.nodes[i].result_count; ++k)
          if (symbol const y = g.result(g.nodes[i], k); y != none && g.tensors[y].base != none && reached_[g.tensors[y].base]) reach(y);
      more = !waiting_.empty();
    }
  }
  constexpr bool operator[](symbol t) const { return reached_[t]; }

private:
  constexpr void reach(symbol t) {
    if (t == none || reached_[t]) return;
    reached_[t] = true;
    waiting_.push(t);
  }
  constexpr void follow(symbol t) {
    reach(g_.tensors[t].base);
    if (std::int32_t const r = input_of_[t]; r != none) {
      int k = 0;
      while (g_.input(k, r) != t) ++k;
      follow_input(g_.nodes[g_.regions[r].owner], k);
    }
    std::int32_t const i = g_.tensors[t].producer;
    if (i == none) return;
    node const& n = g_.nodes[i];
    int k = 0;
    while (g_.result(n, k) != t) ++k;
    if (n.op == info_of<op::loop>()) follow_loop(n, k);
    else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      reach(g_.operand(n, case_layout::index()));
      if (at.bypass(k) >= 0) reach(g_.operand(n, case_layout::value(at.bypass(k))));
      for (int j = 0; j < at.branches; ++j) reach(g_.output(k, at.branch(j)));
    } else {
      int const read = n.op == info_of<op::custom>() ? 1 : n.operand_count; // (its rule is read by derivatives)
      for (int j = 0; j < read; ++j) reach(g_.operand(n, j));
    }
  }
  constexpr void follow_loop(node const& n, int result) {
    loop_layout const at = loop_layout::of(g_, n);
    reach(g_.operand(n, loop_layout::limit()));
    if (at.has_start()) reach(g_.operand(n, at.start()));
    if (at.condition != none) reach(g_.output(0, at.condition));
    if (result < at.carried) reach(g_.operand(n, at.init(result)));
    if (result < at.output_count()) reach(g_.output(result, at.body));
  }
  constexpr void follow_input(node const& owner, int k) {
    if (owner.op == info_of<op::case_of>()) return reach(g_.operand(owner, case_layout::value(k)));
    if (owner.op != info_of<op::loop>() || k == loop_layout::count()) return;
    loop_layout const at = loop_layout::of(g_, owner);
    reach(g_.operand(owner, k));
    if (k <= at.carried) reach(g_.output(k - 1, at.body));
  }
};

/// The failure of a graph whose outputs depend on a placeholder: a value of one row, or of a derivative's rule, has left the
/// function that it was computed in. The placeholder says where this function was called.
constexpr failure escaped_value(graph_view const& g) {
  auto const is_placeholder = [&](std::int32_t i) { return g.nodes[i].op == info_of<op::placeholder>(); };
  std::int32_t first = 0;
  while (first < g.node_count && !is_placeholder(first)) ++first;
  if (first == g.node_count) return {};
  reached_values const reached(g);
  for (std::int32_t i = first; i < g.node_count; ++i)
    if (is_placeholder(i) && reached[g.result(g.nodes[i])])
      return {why<refusals::escaped_value>(), {}, {}, none, g.nodes[i].where};
  return {};
}

} // namespace cotangent::detail

#endif
