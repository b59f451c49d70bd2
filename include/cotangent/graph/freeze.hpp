// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_FREEZE_HPP
#define COTANGENT_GRAPH_FREEZE_HPP

#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// How many entries of each pool a frozen graph has room for.
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
  /// Room for `factor` times as much.
  constexpr capacity grown(int factor) const noexcept {
    return {factor * tensors + 32, factor * nodes + 32, factor * ids + 96, factor * numbers + 32, 2 * shapes + 16,
            extents + 4,           regions,             names,           blocks};
  }
  /// Room for half as much again.
  constexpr capacity widened() const noexcept {
    return {tensors + tensors / 2 + 32, nodes + nodes / 2 + 32, ids + ids / 2 + 96, numbers + numbers / 2 + 32, shapes + 16,
            extents + 4,                regions,                names,           blocks};
  }
};

namespace detail {

template <class T, int N> struct pool {
  T data[N > 0 ? N : 1]{};
};

template <class T, int N> constexpr void fill(pool<T, N>& to, T const* from, int count) {
  for (int k = 0; k < count; ++k) to.data[k] = from[k];
}

} // namespace detail

/// A finished graph as a literal: the form in which one constant evaluation hands it to the next and to templates,
/// which take a type that holds it, never the graph itself.
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
  capacity size; // what is there, or what would be needed
  failure failed;

  constexpr operator graph_view() const noexcept {
    return {tensors.data, nodes.data,   ids.data,   numbers.data, shapes.data,  extents.data, regions.data, names.data,
            size.tensors, size.nodes, size.ids, size.numbers, size.shapes, size.extents, size.regions, size.names,
            blocks.data,  size.blocks};
  }
};

/// A graph and why it is not what was asked for, where it is not.
struct built {
  graph g;
  failure failed;
};

namespace detail {

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

} // namespace detail

/// The graph that `Make::make()` builds (a `built`), frozen: evaluated once where `Guess` has room for it, else once
/// more with exactly the room it needs.
///
/// What `make` hands to a pass must be a variable of its own, also where it is a constant: a call of which all
/// arguments are constants is evaluated by g++ already when `make` is instantiated, up to three times, for nothing.
template <class Make, capacity Guess = capacity{}> struct frozen {
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (Guess.holds(detail::frozen_with<Make, Guess>::value.size))
      return detail::frozen_with<Make, Guess>::value;
    else
      return detail::frozen_with<Make, detail::frozen_with<Make, Guess>::value.size>::value;
  }();
  static constexpr graph_view view = value;
};

} // namespace cotangent

#endif
