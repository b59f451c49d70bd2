// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BLOCK_TREE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BLOCK_TREE_HPP

#include <cotangent/graph/graph.hpp>

#include <cstdint>

// The nesting of a graph's blocks, which are functions that are rematerialized for their gradients.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// True if a node reads or writes a view. `Graph`: graph or graph_view.
template <class Graph> constexpr bool touches_views(Graph const& g, node const& n) {
  for (int k = 0; k < n.operand_count + n.result_count; ++k)
    if (symbol const t = g.ids[n.first + k]; t != none && g.tensors[t].base != none) return true;
  return false;
}

/// Blocks are numbered from 1; 0 encloses all of them. The contents of a dissolved block belong to the
/// enclosing one.
class block_tree {
  array<std::int32_t> around_, depth_; // by block
  array<bool> dissolved_;

public:
  constexpr explicit block_tree(graph_view const& g) {
    around_.push(0);
    depth_.push(0);
    for (std::int32_t k = 0; k < g.block_count; ++k) {
      around_.push(g.blocks[k]);
      depth_.push(depth_[g.blocks[k]] + 1);
    }
    dissolved_.assign(around_.size(), false);
  }
  constexpr std::int32_t size() const noexcept { return around_.size(); }
  constexpr void dissolve(std::int32_t b, bool yes = true) { dissolved_[b] = yes; }

  /// The remaining block: itself, or the next enclosing one that is not dissolved.
  constexpr std::int32_t left_of(std::int32_t b) const noexcept {
    while (dissolved_[b]) b = around_[b];
    return b;
  }
  /// The enclosing block that is not dissolved.
  constexpr std::int32_t around(std::int32_t b) const noexcept { return left_of(around_[b]); }
  /// The innermost common block.
  constexpr std::int32_t common(std::int32_t a, std::int32_t b) const noexcept {
    while (a != b) {
      bool const first = depth_[a] > depth_[b];
      if (first || depth_[a] == depth_[b]) a = around_[a];
      if (!first) b = around_[b];
    }
    return left_of(a);
  }
  /// True if block a equals b or lies in it.
  constexpr bool lies_in(std::int32_t a, std::int32_t b) const noexcept {
    while (depth_[a] > depth_[b]) a = around_[a];
    return a == b;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
