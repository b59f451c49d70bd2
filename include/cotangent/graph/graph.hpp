// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_GRAPH_HPP
#define COTANGENT_GRAPH_GRAPH_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/core/extent.hpp>
#include <cotangent/core/shape.hpp>

#include <cstdint>
#include <source_location>

namespace cotangent {
struct operation;
} // namespace cotangent

namespace cotangent::extend {

/// Index of a tensor symbol, a node, a shape, ... within its graph.
using symbol = std::int32_t;
inline constexpr symbol none = -1;

/// The size of one axis inside a graph: a number, or `-1 - k` for the graph's k-th symbolic extent. Equal sizes have
/// equal values, since symbolic extents are interned.
using dimension = std::int64_t;

/// The sizes of all axes of a tensor symbol, row-major.
struct dimensions {
  std::int32_t rank = 0;
  dimension size[max_rank]{};

  friend constexpr bool operator==(dimensions const& a, dimensions const& b) noexcept {
    if (a.rank != b.rank) return false;
    for (int k = 0; k < a.rank; ++k)
      if (a.size[k] != b.size[k]) return false;
    return true;
  }
};

/// A value in the graph: its element type and shape, never its memory. A view of another symbol has a `base` and
/// a `window`: the position in `graph::numbers` of its offset followed by one stride for each axis.
///
/// With a `depth` d > 0 it is a sequence: a list of values of depth d - 1, of which a loop writes or reads one in each
/// iteration; type and shape are those of an innermost entry. Entries behind the end of a sequence are zero.
struct tensor_symbol {
  element type = element::float32;
  unsigned char depth = 0;
  std::int32_t shape = 0;     // into graph::shapes
  symbol producer = none;     // the node that assigns it, at most one; none for inputs of a region
  symbol base = none;         // the symbol it is a view of, never itself a view
  std::int32_t window = none; // into graph::numbers
  std::int32_t region = 0;    // the sub-graph it lives in
  std::int32_t name = none;   // into graph::names, zero terminated
};

} // namespace cotangent::extend

namespace cotangent::detail {
using extend::dimension;
using extend::dimensions;
using extend::none;
using extend::symbol;
using extend::tensor_symbol;

// Copied in half the time that g++ takes for a call of the constructor in a constant evaluation.
inline constexpr std::source_location no_place{};
} // namespace cotangent::detail

namespace cotangent::extend {

/// The properties of a node beside its operation. Passes copy them as a whole, so no pass loses a new one.
struct node_flags {
  bool merges = true;       // false: never merged with an equal node (effects, recomputed copies, user-marked)
  bool exact = false;       // no rewrite changes it, merges it with a node that may be changed, or looks into it
  bool repeated = false;    // it may run again in a copy, so no rewrite may depend on the readers of its result
  bool read_once = false;   // of a repeated node: its sub-graph read its result once when it was differentiated
  bool of_carried = false;  // of a repeated node: an operand of it was a value that its loop carries
  bool of_gradient = false; // differentiation has emitted it
  std::int32_t block = 0;   // the recomputed function it belongs to, see `ct::checkpoint`; -k: the gradient of block k

  friend constexpr bool operator==(node_flags const&, node_flags const&) = default;
};

/// One application of an operation. `first` is the position of its operands in `graph::ids`; its results follow them. An
/// absent operand is `none`.
struct node {
  operation const* op = nullptr;
  std::int32_t first = 0; // into graph::ids
  std::int32_t operand_count = 0;
  std::int32_t result_count = 1;
  std::int32_t attribute = 0; // into graph::numbers
  std::int32_t attribute_count = 0;
  std::int32_t region = 0; // the sub-graph it lives in
  node_flags flags;
  std::source_location where = detail::no_place;
};

/// A sub-graph: the body of a loop, a branch; region 0 is the graph itself. Sub-graphs share the pools of their graph,
/// so a pass visits every node of every region in one sweep.
struct region {
  std::int32_t first_input = 0; // into graph::ids
  std::int32_t input_count = 0;
  std::int32_t first_output = 0; // into graph::ids
  std::int32_t output_count = 0;
  symbol owner = none; // the node of the parent region that runs it
  std::int32_t parent = none;
};

/// A graph to read: what every pass takes. Made from a `graph` or from a frozen one; owns nothing.
struct graph_view {
  tensor_symbol const* tensors = nullptr;
  node const* nodes = nullptr;
  std::int32_t const* ids = nullptr;
  std::int64_t const* numbers = nullptr;
  dimensions const* shapes = nullptr;
  extent const* extents = nullptr;
  region const* regions = nullptr;
  char const* names = nullptr;
  std::int32_t tensor_count = 0, node_count = 0, id_count = 0, number_count = 0, shape_count = 0, extent_count = 0,
               region_count = 0, name_count = 0;
  std::int32_t const* blocks = nullptr; // by block - 1: the block around it, 0 where there is none
  std::int32_t block_count = 0;

  constexpr symbol operand(node const& n, int k) const noexcept { return ids[n.first + k]; }
  constexpr symbol result(node const& n, int k = 0) const noexcept { return ids[n.first + n.operand_count + k]; }
  constexpr std::int64_t attribute(node const& n, int k = 0) const noexcept { return numbers[n.attribute + k]; }
  constexpr dimensions const& shape(symbol t) const noexcept { return shapes[tensors[t].shape]; }
  constexpr node const* producer(symbol t) const noexcept {
    return tensors[t].producer == none ? nullptr : nodes + tensors[t].producer;
  }
  constexpr int input_count(int r = 0) const noexcept { return regions[r].input_count; }
  constexpr int output_count(int r = 0) const noexcept { return regions[r].output_count; }
  constexpr symbol input(int k, int r = 0) const noexcept { return ids[regions[r].first_input + k]; }
  constexpr symbol output(int k, int r = 0) const noexcept { return ids[regions[r].first_output + k]; }
  constexpr extent extent_of(dimension d) const noexcept {
    if (d < 0) return extents[-1 - d];
    return extent::of(d);
  }
  constexpr char const* name(symbol t) const noexcept {
    return tensors[t].name == none ? nullptr : names + tensors[t].name;
  }
};

} // namespace cotangent::extend

namespace cotangent::detail {

using extend::graph_view;
using extend::node;
using extend::node_flags;
using extend::region;

/// The sizes of a product of an [m, k] and a [k, n] matrix, or of the matrices of two stacks.
struct product_sizes {
  dimension matrices, m, n, k;
};
constexpr product_sizes product_sizes_of(graph_view const& g, node const& n) {
  dimensions const &a = g.shape(g.operand(n, 0)), &y = g.shape(g.result(n));
  int const at = y.rank - 2;
  return {at == 0 ? 1 : y.size[0], y.size[at], y.size[at + 1], a.size[g.attribute(n, 0) != 0 ? at : at + 1]};
}
} // namespace cotangent::detail

namespace cotangent::extend {

/// The graph: a regular value that consists of arrays which refer to each other by index. Nodes are in topological order. The graph itself merges nothing and checks nothing: `builder` and `verify` do.
struct graph {
  detail::array<tensor_symbol> tensors;
  detail::array<node> nodes;
  detail::array<std::int32_t> ids;
  detail::array<std::int64_t> numbers;
  detail::array<dimensions> shapes;
  detail::array<extent> extents;
  detail::array<region> regions;
  detail::array<char> names;
  detail::array<std::int32_t> blocks; // rematerialized functions (`ct::checkpoint`): the block around each, or 0

  constexpr graph() { regions.push(region{}); }
  /// A copy of what a view shows, with room for `room` times as much.
  constexpr explicit graph(graph_view const& v, int room = 1) {
    tensors.reserve(room * v.tensor_count);
    nodes.reserve(room * v.node_count);
    ids.reserve((2 * room - 1) * v.id_count); // (adjoints have more operands)
    tensors.append(v.tensors, v.tensor_count);
    nodes.append(v.nodes, v.node_count);
    ids.append(v.ids, v.id_count);
    numbers.append(v.numbers, v.number_count);
    shapes.append(v.shapes, v.shape_count);
    extents.append(v.extents, v.extent_count);
    regions.append(v.regions, v.region_count);
    names.append(v.names, v.name_count);
    blocks.append(v.blocks, v.block_count);
  }

  /// Appends a node like `n`, of which operation, attributes, sub-graph, flags and location are taken: the producer of these
  /// results.
  constexpr std::int32_t add(node n, symbol const* operands, int operand_count, symbol const* results, int result_count) {
    std::int32_t const at = nodes.size();
    n.operand_count = operand_count;
    n.result_count = result_count;
    n.first = ids.append(operands, operand_count);
    ids.append(results, result_count);
    for (int k = 0; k < result_count; ++k)
      if (results[k] != none) tensors[results[k]].producer = at;
    return nodes.push(n);
  }
  /// The same with other attributes.
  constexpr std::int32_t add(node n, symbol const* operands, int operand_count, symbol const* results, int result_count,
                             std::int64_t const* attributes, int attribute_count) {
    n.attribute = numbers.append(attributes, attribute_count);
    n.attribute_count = attribute_count;
    return add(n, operands, operand_count, results, result_count);
  }
  /// Appends a name; its position in `names`.
  constexpr std::int32_t add_name(char const* text, int length) {
    std::int32_t const at = names.append(text, length);
    names.push('\0');
    return at;
  }
  /// Names the inputs and outputs of a sub-graph; again, to change them.
  constexpr void set_inputs(symbol const* s, int n, int r = 0) {
    regions[r].first_input = ids.append(s, n);
    regions[r].input_count = n;
  }
  constexpr void set_outputs(symbol const* s, int n, int r = 0) {
    regions[r].first_output = ids.append(s, n);
    regions[r].output_count = n;
  }
  /// Replaces the operands and results of a node, for example by more results.
  constexpr void rewire(std::int32_t at, detail::array<symbol> const& operands, detail::array<symbol> const& results) {
    node& n = nodes[at];
    n.first = ids.append(operands.data(), operands.size());
    n.operand_count = operands.size();
    n.result_count = results.size();
    ids.append(results.data(), results.size());
    for (symbol const t : results) tensors[t].producer = at;
  }

  constexpr operator graph_view() const noexcept {
    return {tensors.data(), nodes.data(), ids.data(), numbers.data(), shapes.data(), extents.data(), regions.data(),
            names.data(), tensors.size(), nodes.size(),
            ids.size(), numbers.size(),
            shapes.size(), extents.size(),
            regions.size(), names.size(),
            blocks.data(), blocks.size()};
  }
};

} // namespace cotangent::extend

namespace cotangent {
using extend::graph;
} // namespace cotangent

namespace cotangent::detail {

/// The nodes of each region, in their order, or in the one given.
class region_nodes {
  array<std::int32_t> begin_, nodes_; // by region; empty where there is one only
  std::int32_t node_count_;

public:
  constexpr explicit region_nodes(graph_view const& g, std::int32_t const* order = nullptr)
      : node_count_(g.node_count) {
    if (g.region_count == 1 && order == nullptr) return;
    begin_ = array<std::int32_t>(g.region_count + 2);
    nodes_ = array<std::int32_t>(g.node_count);
    for (std::int32_t i = 0; i < g.node_count; ++i) ++begin_[g.nodes[i].region + 2];
    for (std::int32_t r = 2; r <= g.region_count; ++r) begin_[r] += begin_[r - 1];
    for (std::int32_t k = 0; k < g.node_count; ++k) {
      std::int32_t const i = order == nullptr ? k : order[k];
      nodes_[begin_[g.nodes[i].region + 1]++] = i;
    }
  }
  constexpr int count(std::int32_t r) const noexcept {
    return begin_.size() == 0 ? node_count_ : begin_[r + 1] - begin_[r];
  }
  /// Leaves out nodes of the graph itself that are not marked; newer ones stay. An order must have been given.
  constexpr void keep_of_graph(array<bool> const& kept) {
    std::int32_t first = begin_[1];
    for (std::int32_t k = begin_[1]; k-- > begin_[0];)
      if (std::int32_t const i = nodes_[k]; i >= kept.size() || kept[i]) nodes_[--first] = i;
    begin_[0] = first;
  }
  /// Null where there is one region only, in the order of the pool: then node k is node k.
  constexpr std::int32_t const* list(std::int32_t r) const noexcept {
    return begin_.size() == 0 ? nullptr : nodes_.data() + begin_[r];
  }
  constexpr std::int32_t at(std::int32_t r, int k) const noexcept {
    return begin_.size() == 0 ? k : nodes_[begin_[r] + k];
  }
};

} // namespace cotangent::detail

#endif
