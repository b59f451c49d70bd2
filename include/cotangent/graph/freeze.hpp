// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_FREEZE_HPP
#define COTANGENT_GRAPH_FREEZE_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>

/// The most nodes of a traced function, its gradient included. Every stage of the pipeline takes at most 250 steps a
/// node (bench/compile/steps.py), so clang's 1,048,576 steps hold for 4,194 nodes; g++ counts differently.
/// Define it before the include where -fconstexpr-steps or -fconstexpr-ops-limit allow more.
#ifndef COTANGENT_MOST_NODES
#  ifdef __clang__
#    define COTANGENT_MOST_NODES 4194
#  else
#    define COTANGENT_MOST_NODES 6144
#  endif
#endif

namespace cotangent::detail {

/// The capacity of each pool of a frozen graph.
struct capacity {
  int tensors = 64, nodes = 64, ids = 256, numbers = 64, shapes = 16, extents = 4, regions = 1, names = 1, blocks = 16;

  static constexpr capacity of(graph_view const& g) noexcept {
    return {g.tensor_count, g.node_count, g.id_count, g.number_count, g.shape_count, g.extent_count, g.region_count,
            g.name_count, g.block_count};
  }
  constexpr bool holds(capacity const& c) const noexcept {
    return tensors >= c.tensors && nodes >= c.nodes && ids >= c.ids && numbers >= c.numbers && shapes >= c.shapes &&
           extents >= c.extents && regions >= c.regions && names >= c.names && blocks >= c.blocks;
  }
  /// The capacity times `factor`. A sub-graph gets one more, for its adjoint.
  constexpr capacity grown(int factor) const noexcept {
    return {factor * tensors + 32, factor * nodes + 32, factor * ids + 96, factor * numbers + 32, 2 * shapes + 16,
            extents + 4,           2 * regions - 1,     names,           blocks};
  }
  /// One and a half times the capacity.
  constexpr capacity widened() const noexcept {
    return {tensors + tensors / 2 + 32, nodes + nodes / 2 + 32, ids + ids / 2 + 96, numbers + numbers / 2 + 32, shapes + 16,
            extents + 4,                2 * regions - 1,        names,           blocks};
  }
};

template <class T, int N> struct pool {
  T data[N > 0 ? N : 1]{};
};

template <class T, int N> constexpr void fill(pool<T, N>& to, T const* from, int count) {
  copy_elements(to.data, from, count);
}

/// A finished graph as a constant: the form in which one constant evaluation passes it to the next and to
/// templates. These take a type that holds it, never the graph itself.
template <capacity C> struct frozen_graph {
  detail::pool<tensor_symbol, C.tensors> tensors;
  detail::pool<node, C.nodes> nodes;
  detail::pool<std::int32_t, C.ids> ids;
  detail::pool<std::int64_t, C.numbers> numbers;
  detail::pool<dimensions, C.shapes> shapes;
  detail::pool<extent, C.extents> extents;
  detail::pool<region, C.regions> regions;
  detail::pool<char, C.names> names;
  detail::pool<std::int32_t, C.blocks> blocks;
  capacity size; // used, or required
  failure failed;

  constexpr operator graph_view() const noexcept {
    return {tensors.data, nodes.data,   ids.data,   numbers.data, shapes.data,  extents.data, regions.data, names.data,
            size.tensors, size.nodes, size.ids, size.numbers, size.shapes, size.extents, size.regions, size.names,
            blocks.data,  size.blocks};
  }
};

/// A graph, and the failure that prevented the requested one, if any.
struct built {
  graph g;
  failure failed;
};

/// A builder for graphs that constant evaluations plan.
struct bounded_builder : builder {
  constexpr bounded_builder() : builder(COTANGENT_MOST_NODES) {}
  constexpr explicit bounded_builder(graph_view const& v) : builder(v, COTANGENT_MOST_NODES) {}

  /// The graph, and the failure; one for too many nodes gets their number.
  constexpr built finish() {
    failure found = failed();
    if (found.why == why<refusals::too_many_nodes>()) found.left = extent::of(nodes_wanted());
    return {static_cast<graph&&>(edit()), found};
  }
};

template <capacity C> constexpr frozen_graph<C> freeze(built const& from) {
  frozen_graph<C> f;
  graph_view const g = from.g;
  f.size = capacity::of(g);
  f.failed = from.failed;
  if (!C.holds(f.size)) return f;
  fill(f.tensors, g.tensors, g.tensor_count);
  fill(f.nodes, g.nodes, g.node_count);
  fill(f.ids, g.ids, g.id_count);
  fill(f.numbers, g.numbers, g.number_count);
  fill(f.shapes, g.shapes, g.shape_count);
  fill(f.extents, g.extents, g.extent_count);
  fill(f.regions, g.regions, g.region_count);
  fill(f.names, g.names, g.name_count);
  fill(f.blocks, g.blocks, g.block_count);
  return f;
}

template <class Make, capacity C> struct frozen_with {
  static constexpr frozen_graph<C> value = freeze<C>(Make::make());
};

/// Freezes the graph that `Make::make()` builds (a `built`): evaluated once if `Guess` has room for it, else
/// again with exactly the required room.
///
/// `make` must pass variables of its own to passes, even for constants: a call with constant arguments only
/// is evaluated by g++ when `make` is instantiated, up to three times, for nothing.
template <class Make, capacity Guess = capacity{}> struct frozen {
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (Guess.holds(detail::frozen_with<Make, Guess>::value.size))
      return detail::frozen_with<Make, Guess>::value;
    else
      return detail::frozen_with<Make, detail::frozen_with<Make, Guess>::value.size>::value;
  }();
  static constexpr graph_view view = value;
};

} // namespace cotangent::detail

#endif
