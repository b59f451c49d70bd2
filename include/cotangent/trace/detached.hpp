// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_DETACHED_HPP
#define COTANGENT_TRACE_DETACHED_HPP

#include <cotangent/core/names.hpp> // before the graph, whose `none` its enumerator would hide
#include <cotangent/graph/builder.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

namespace cotangent::detail {

/// The one number that all elements of a symbol are, as far as it is known.
struct uniform_number {
  bool known = false;
  scalar value{};
};

/// Computes ahead what nodes that only move or combine equal numbers make of them.
constexpr uniform_number uniform_value(builder const& b, symbol wanted) {
  graph const& g = b.get();
  array<uniform_number> of(g.tensors.size());
  for (int i = 0; i < g.nodes.size(); ++i) {
    node const& n = g.nodes[i];
    std::int32_t const* const x = g.ids.data() + n.first;
    uniform_number& y = of[x[n.operand_count]];
    element const type = g.tensors[x[n.operand_count]].type;
    bool known = n.operand_count <= 4;
    scalar in[4]{};
    for (int k = 0; k < n.operand_count && known; ++k) {
      known = of[x[k]].known;
      in[k] = of[x[k]].value;
    }
    if (!known) continue;
    switch (n.op->kind) {
    case operation_kind::constant: y = {true, scalar_of(type, g.numbers[n.attribute])}; break;
    case operation_kind::elementwise:
      if (n.op == info_of<op::convert>()) {
        scalar const& v = in[0];
        y = {true,
             is_floating(type)
                 ? scalar{type,
                          type == element::float32 ? static_cast<double>(v.as<float>()) : v.as<double>(), 0}
                 : scalar{type, 0, type == element::boolean ? v.as<bool>() : v.as<std::int64_t>()}};
      } else if (n.op->evaluate != nullptr) y = {true, n.op->evaluate(in)};
      break;
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: y = {true, in[0]}; break;
    default: break;
    }
  }
  return of[wanted];
}

} // namespace cotangent::detail

#endif
