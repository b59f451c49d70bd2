// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_GRAPH_ACCESS_HPP
#define COTANGENT_DYNAMIC_GRAPH_GRAPH_ACCESS_HPP

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/graph/graph.hpp>

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Access to graphs for writing, reading and drawing them.
struct graph_access {
  static graph_state& state(graph& g) { return *g.s_; }
  static graph_state const& state(graph const& g) { return *g.s_; }
  static any_expr expression(graph const& g, symbol t) { return g.expression(t); }
  static symbol symbol_of(graph const& g, any_expr const& e, request const& r) { return g.symbol_of(e, r); }
};

} // namespace cotangent::dynamic::detail

#endif
#endif
