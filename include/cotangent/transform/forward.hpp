// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_FORWARD_HPP
#define COTANGENT_TRANSFORM_FORWARD_HPP

#include <cotangent/ops/rule.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

namespace cotangent {

/// Appends to `b` the tangents of the outputs, given those of each `wrt` in `seeds` (`none`: zero): one symbol each in
/// `result`, `none` where the tangent is zero whatever the values. Only nodes on a path from a `wrt` with a seed to an
/// output get tangents. What goes wrong is recorded in the builder.
///
/// Refuses: a seed of another shape than its `wrt`; an operation on such a path that has no derivative.
/// Cost: linear in the nodes between.
/// Checked: tests/static/forward.cpp, tests/runtime/forward.cpp.
constexpr void tangents(builder& b, symbol const* wrt, symbol const* seeds, int wrt_count,
                        symbol const* outputs, int output_count, symbol* result) {
  symbol const symbols = b.get().tensors.size();
  std::int32_t const nodes = b.get().nodes.size();
  for (int k = 0; k < output_count; ++k) result[k] = none;

  array<symbol> dx(symbols, none);
  array<bool> moves(symbols), needed(symbols); // depends on a wrt; leads to an output
  std::int32_t begin = nodes;
  for (int k = 0; k < wrt_count; ++k) {
    symbol const x = wrt[k], seed = seeds[k];
    if (seed == none) continue;
    if (b.tensor(seed).shape != b.tensor(x).shape)
      return b.refuse<refusals::seed_shape>(b.count(b.dims(seed)), b.count(b.dims(x)), b.place);
    dx[x] = seed;
    moves[x] = true;
    if (b.tensor(x).producer < begin) begin = b.tensor(x).producer + 1;
  }
  for (std::int32_t i = begin; i < nodes; ++i) {
    node const& n = b.get().nodes[i];
    symbol const* const ids = b.get().ids.data() + n.first;
    symbol const y = ids[n.operand_count];
    if (n.op->derivative == derivative_kind::zero || !is_floating(b.tensor(y).type)) continue;
    for (int k = 0; k < n.operand_count && !moves[y]; ++k) moves[y] = ids[k] != none && moves[ids[k]];
  }
  for (int k = 0; k < output_count; ++k) needed[outputs[k]] = true;
  int widest = 1;
  for (std::int32_t i = nodes - 1; i >= begin; --i) {
    node const& n = b.get().nodes[i];
    symbol const* const ids = b.get().ids.data() + n.first;
    symbol const y = ids[n.operand_count];
    if (!needed[y] || !moves[y] || dx[y] != none) continue;
    for (int k = 0; k < n.operand_count; ++k)
      if (ids[k] != none && moves[ids[k]]) needed[ids[k]] = true;
    if (n.operand_count > widest) widest = n.operand_count;
  }

  std::source_location const outer = b.place;
  bool const outer_exact = b.exact;
  array<symbol> given(widest);
  for (std::int32_t i = begin; i < nodes; ++i) {
    node const n = b.get().nodes[i]; // a copy: rules append nodes
    symbol const* const ids = b.get().ids.data() + n.first;
    symbol const y = ids[n.operand_count];
    if (!needed[y] || !moves[y] || dx[y] != none) continue;
    b.place = n.where;
    b.exact = n.exact;
    if (n.op->tangent == nullptr || n.op->derivative == derivative_kind::none_)
      return b.fail({why<refusals::not_differentiable>(), {}, {}, i, n.where});
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) {
      given[k] = ids[k] == none ? none : dx[ids[k]];
      any = any || given[k] != none;
    }
    if (!any) continue;
    tangent_rule rule{{b, n}, given.data()};
    n.op->tangent(rule);
    dx[y] = rule.given;
  }
  b.place = outer;
  b.exact = outer_exact;
  for (int k = 0; k < output_count; ++k) result[k] = dx[outputs[k]];
}

} // namespace cotangent

#endif
