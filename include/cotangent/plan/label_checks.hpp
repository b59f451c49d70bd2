// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_LABEL_CHECKS_HPP
#define COTANGENT_PLAN_LABEL_CHECKS_HPP

#include <cotangent/ops/ops.hpp>

#include <cstdint>

// Labels (op::label) are compared with positions at their use, where one out of range does no harm. Labels that are arguments are
// checked when a program begins, so that a run can report them.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// An argument of labels, and its number of classes.
struct label_check {
  int input = none;
  element type = element::int32;
  dimension classes = 0;
};

/// The input that `t` is, possibly with another symbol or shape; none if `t` is computed.
constexpr int input_behind(graph_view const& g, symbol t) {
  while (node const* const n = g.producer(t)) {
    bool const same = n->op->kind == operation_kind::identity || n->op->kind == operation_kind::reshape ||
                      n->op->kind == operation_kind::permute || n->op->kind == operation_kind::broadcast;
    if (!same) return none;
    t = g.operand(*n, 0);
  }
  for (int k = 0; k < g.input_count(); ++k)
    if (g.input(k) == t) return k;
  return none;
}
constexpr label_check label_check_of(graph_view const& g, node const& n) {
  if (n.op != info_of<op::label>()) return {};
  symbol const labels = g.operand(n, 0);
  return {input_behind(g, labels), g.tensors[labels].type, g.attribute(n)};
}
constexpr int count_label_checks(graph_view const& g) {
  int count = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) count += label_check_of(g, g.nodes[i]).input != none ? 1 : 0;
  return count;
}
/// Writes all label checks to `to`.
constexpr void find_label_checks(graph_view const& g, label_check* to) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (label_check const c = label_check_of(g, g.nodes[i]); c.input != none) *to++ = c;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
