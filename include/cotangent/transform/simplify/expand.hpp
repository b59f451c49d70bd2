// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_EXPAND_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_EXPAND_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/rule.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The sub-graphs whose nodes are replaced by formulas.
class regions_with_formulas {
  array<bool> has_;

public:
  int nodes = 0; // with a formula, in these

  /// `keep_straight(g, regions)` leaves those that run as straight-line code once formulas replace their nodes.
  constexpr regions_with_formulas(graph_view const& g, auto const& keep_straight) : has_(g.region_count) {
    array<std::int32_t> count(g.region_count);
    bool any = false;
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->formula != nullptr) ++count[g.nodes[i].region], has_[g.nodes[i].region] = any = true;
    if (any) keep_straight(g, has_);
    for (std::int32_t r = 0; r < g.region_count; ++r) nodes += has_[r] ? count[r] : 0;
  }
  constexpr bool operator[](std::int32_t r) const { return has_[r]; }
};

/// The graph with formulas in place of nodes, in sub-graphs that run as straight-line code.
constexpr built expanded(graph_view const& g, auto const& keep_straight) {
  regions_with_formulas const chosen(g, keep_straight);
  builder b; // (without a limit: straight-line code has one)
  rewriter copy(g, b);
  copy.begin_regions();
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node n = g.nodes[i];
    b.region = copy.regions[n.region];
    array<symbol> const operands = copy.operands(n);
    if (n.op->formula == nullptr || !chosen[n.region]) {
      std::int32_t const made = b.assign(n, operands, copy.results(n), g.numbers + n.attribute);
      if (n.op->kind == operation_kind::control) copy.set_owner(i, made);
      continue;
    }
    b.flags = n.flags;
    b.place = n.where;
    symbol const y = g.result(n);
    n.first = b.edit().ids.append(operands.data(), operands.size());
    n.attribute = b.edit().numbers.append(g.numbers + n.attribute, n.attribute_count);
    copy.now[y] = n.op->formula({b, n}).id + 1;
  }
  b.region = 0;
  copy.end_regions();
  return {static_cast<graph&&>(b.edit()), b.failed()};
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
