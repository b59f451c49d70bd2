// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_ESCAPED_VALUE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_ESCAPED_VALUE_HPP

#include <cotangent/graph/failure.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The values that each value depends on, whatever the order of the nodes, without the rules of custom derivatives (`liveness`
/// needs nodes in order, and reads these rules). Of a loop or branch a result depends on the carried values and results that it
/// reads, not on all.
class read_values {
  graph_view const& g_;
  array<std::int32_t> input_of_; // by symbol: the region that it is an input of, none for others

public:
  constexpr explicit read_values(graph_view const& g) : g_(g), input_of_(g.tensor_count, none) {
    for (std::int32_t r = 1; r < g.region_count; ++r)
      for (int k = 0; k < g.input_count(r); ++k) input_of_[g.input(k, r)] = r;
  }
  template <class Visit> constexpr void each(symbol t, Visit visit) const {
    if (g_.tensors[t].base != none) visit(g_.tensors[t].base);
    if (std::int32_t const r = input_of_[t]; r != none) {
      int k = 0;
      while (g_.input(k, r) != t) ++k;
      if (std::int32_t const owner = g_.regions[r].owner; owner != none) each_of_input(g_.nodes[owner], k, visit); // else still open
    }
    std::int32_t const i = g_.tensors[t].producer;
    if (i == none) return;
    node const& n = g_.nodes[i];
    int k = 0;
    while (g_.result(n, k) != t) ++k;
    if (n.op == info_of<op::loop>()) each_of_loop(n, k, visit);
    else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      visit(g_.operand(n, case_layout::index()));
      if (at.bypass(k) >= 0) visit(g_.operand(n, case_layout::value(at.bypass(k))));
      for (int j = 0; j < at.branches; ++j) visit(g_.output(k, at.branch(j)));
    } else {
      int const read = n.op == info_of<op::custom>() ? 1 : n.operand_count; // (its rule is read by derivatives)
      for (int j = 0; j < read; ++j) visit(g_.operand(n, j));
    }
  }
  /// Values that were written into another: (part, whole).
  template <class Visit> constexpr void each_part(Visit visit) const {
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      for (int k = 0; k < g_.nodes[i].result_count; ++k)
        if (symbol const y = g_.result(g_.nodes[i], k); y != none && g_.tensors[y].base != none) visit(y, g_.tensors[y].base);
  }

private:
  template <class Visit> constexpr void each_of_loop(node const& n, int result, Visit visit) const {
    loop_layout const at = loop_layout::of(g_, n);
    visit(g_.operand(n, loop_layout::limit()));
    if (at.has_start()) visit(g_.operand(n, at.start()));
    if (at.condition != none) visit(g_.output(0, at.condition));
    if (result < at.carried) visit(g_.operand(n, at.init(result)));
    if (result < at.output_count()) visit(g_.output(result, at.body));
  }
  template <class Visit> constexpr void each_of_input(node const& owner, int k, Visit visit) const {
    if (owner.op == info_of<op::case_of>()) return visit(g_.operand(owner, case_layout::value(k)));
    if (owner.op != info_of<op::loop>() || k == loop_layout::count()) return;
    loop_layout const at = loop_layout::of(g_, owner);
    visit(g_.operand(owner, k));
    if (k <= at.carried) visit(g_.output(k - 1, at.body));
  }
};

/// Marks the values that the outputs of a graph depend on.
constexpr array<bool> values_of_outputs(graph_view const& g) {
  read_values const reads(g);
  array<bool> marked(g.tensor_count);
  array<symbol> waiting;
  auto const mark = [&](symbol t) {
    if (t == none || marked[t]) return;
    marked[t] = true;
    waiting.push(t);
  };
  for (int k = 0; k < g.output_count(); ++k) mark(g.output(k));
  for (bool more = true; more;) {
    while (!waiting.empty()) reads.each(waiting.pop(), mark);
    reads.each_part([&](symbol part, symbol whole) {
      if (marked[whole]) mark(part);
    });
    more = !waiting.empty();
  }
  return marked;
}

constexpr bool has_placeholders(graph_view const& g, std::int32_t first = 0) {
  for (std::int32_t i = first; i < g.node_count; ++i)
    if (g.nodes[i].op == info_of<op::placeholder>()) return true;
  return false;
}
/// Marks the values that depend on a placeholder, from node `first` on: those of one row, or of a derivative's rule.
constexpr array<bool> values_of_placeholders(graph_view const& g, std::int32_t first = 0) {
  read_values const reads(g);
  array<bool> marked(g.tensor_count);
  bool more = has_placeholders(g, first);
  auto const mark = [&](symbol t) {
    more = more || !marked[t];
    marked[t] = true;
  };
  while (more) { // (most nodes are in order: two passes)
    more = false;
    for (symbol t = 0; t < g.tensor_count; ++t) {
      std::int32_t const i = g.tensors[t].producer;
      if (i >= first && g.nodes[i].op == info_of<op::placeholder>()) mark(t);
      reads.each(t, [&](symbol u) {
        if (u != none && marked[u]) mark(t);
      });
    }
    reads.each_part([&](symbol part, symbol whole) {
      if (marked[part]) mark(whole);
    });
  }
  return marked;
}

/// The failure of a graph whose outputs depend on a placeholder: a value of one row, or of a derivative's rule, has left the
/// function that it was computed in. The placeholder says where this function was called.
constexpr failure escaped_value(graph_view const& g) {
  if (!has_placeholders(g)) return {};
  array<bool> const reached = values_of_outputs(g);
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (g.nodes[i].op == info_of<op::placeholder>() && reached[g.result(g.nodes[i])])
      return {why<refusals::escaped_value>(), {}, {}, none, g.nodes[i].where};
  return {};
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
