// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_SYMBOLIC_RECORD_HPP
#define COTANGENT_DYNAMIC_STATE_SYMBOLIC_RECORD_HPP

#include <cotangent/dynamic/state/symbolic_command.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

// The records of the symbolic API besides the graph: dead symbols, manual edges, sub-graphs that are not
// lowered yet.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {
struct graph_state;
}

/// A tensor symbol: a handle of a symbol of the graph. Default constructed it is absent, as inputs and
/// outputs of an operation may be.
struct symbolic_tensor {
  detail::graph_state* s = nullptr;
  extend::symbol id = extend::none;
  std::uint32_t generation = 0;
  std::uint64_t graph = 0; // the number of the graph, which may have ended

  bool present() const noexcept { return s != nullptr; }
  friend bool operator==(symbolic_tensor const&, symbolic_tensor const&) = default;
};
inline constexpr symbolic_tensor absent{};

/// An exec symbol: one application of a command.
struct symbolic_exec {
  detail::graph_state* s = nullptr;
  std::int32_t id = extend::none;
  std::uint32_t generation = 0;
  std::uint64_t graph = 0; // as in `symbolic_tensor`

  bool present() const noexcept { return s != nullptr; }
  friend bool operator==(symbolic_exec const&, symbolic_exec const&) = default;
};

struct automatic_t {
  struct tag {};
  explicit constexpr automatic_t(tag) {}
};
/// A shape that is set later, or inferred from the operation that writes the tensor.
inline constexpr automatic_t automatic{automatic_t::tag{}};

/// The value of a tensor that no operation writes: given at run time, zeros, or ones.
enum class unwritten : unsigned char { given, zeros, ones };

/// The flags of an operation, see `set_flags`.
struct exec_flags {
  bool keep = false;  // never merged with an equal one: a copy for recomputation
  bool exact = false; // never rewritten
};

namespace detail {

struct tensor_record {
  bool own = false; // created by the symbolic API
  bool dead = false;
  bool automatic = false; // its shape is not known yet
  bool exposed = false;   // an expression may refer to it: its index is not reused
  bool lifted = false;    // represents an input of the graph that was not declared
  bool taped = false;     // its value is recorded for each iteration
  unwritten fill = unwritten::given;
  std::uint32_t generation = 0;
  std::uint32_t reused = 0;   // the number of `graph_state::origins` when it took the index of a freed one
  symbol outer = none;        // the outer symbol that it represents
  symbol peer = none;         // the corresponding symbol of another graph
  std::int32_t writer = none; // the operation that writes it
};

enum class exec_kind : unsigned char { operation, loop, choice };

struct exec_record {
  command what;
  std::vector<symbol> in, out;             // none: absent
  std::vector<std::int32_t> before, after; // edges
  std::vector<std::int32_t> nodes;         // of the graph
  std::vector<std::int32_t> graphs;        // of a loop, of branches: their regions
  std::string name, hint;
  std::source_location where{};
  symbol selector = none;
  std::vector<std::pair<symbol, symbol>> bypasses; // from, to
  std::int32_t graph = 0;                          // its region
  std::uint32_t generation = 0;
  std::uint32_t reused = 0; // as in `tensor_record`
  exec_kind kind = exec_kind::operation;
  bool dead = false;
  bool pending = false; // its nodes wait for shapes, or for the rest of its sub-graphs
  bool foreign = false; // created by an expression or a gradient
  std::int32_t forward = none; // the operation whose adjoint it is a part of, and runs after
  std::uint32_t forward_generation = 0;
  exec_flags flags;
};

/// A sub-graph; the first one is the graph itself.
struct graph_record {
  std::int32_t region = 0, parent = none;
  std::string name;
  std::int32_t owner = none; // the loop or choice that runs it
  bool sealed = false;       // lowered to a loop or branch: it cannot be changed any more
  std::vector<std::int32_t> execs;
  std::vector<symbol> tensors;
  std::vector<std::pair<symbol, symbol>> outer_inner; // outer symbols and their inner symbols
  std::vector<std::pair<symbol, symbol>> carries;     // from, to
  symbol count = none, condition = none;
  bool condition_last = false;
  std::vector<std::int32_t> sources, destinations;
  bool sources_set = false, destinations_set = false;
  std::int32_t peer = none;
};

struct symbolic_hooks {
  std::vector<std::pair<int, std::function<void(symbolic_tensor)>>> tensor, alias;
  std::vector<std::pair<int, std::function<void(symbolic_exec)>>> exec;
  int next = 0;
};

/// Copied with the graph, except for the hooks, which belong to their owners.
struct symbolic_record {
  std::vector<tensor_record> tensors; // by symbol, as far as they were used
  std::vector<exec_record> execs;
  std::vector<std::int32_t> node_exec; // by node: the exec it belongs to, or none
  std::vector<graph_record> graphs;    // by region, as far as they exist
  std::vector<symbol> free_tensors;    // dead, to be reused
  std::vector<std::int32_t> free_execs;
  std::shared_ptr<symbolic_hooks> hooks = std::make_shared<symbolic_hooks>();
  std::vector<symbol> made_tensors;    // by this API, before hooks were called
  std::vector<std::int32_t> made_execs;
  symbol told = 0;   // hooks were called for the symbols before this one
  bool used = false; // the symbolic API was used

  symbolic_record() = default;
  symbolic_record(symbolic_record const& o)
      : tensors(o.tensors), execs(o.execs), node_exec(o.node_exec), graphs(o.graphs),
        free_tensors(o.free_tensors), free_execs(o.free_execs), told(o.told), used(o.used) {}
  symbolic_record(symbolic_record&&) = default;
  symbolic_record& operator=(symbolic_record&&) = default;
  symbolic_record& operator=(symbolic_record const&) = delete;

  /// Removes records of symbols that are no longer in the graph.
  void take_back(std::int32_t tensor_count, std::int32_t node_count, std::int32_t region_count) {
    if (told > tensor_count) told = tensor_count;
    std::erase_if(made_tensors, [&](symbol t) { return t >= tensor_count; });
    if (tensors.size() > static_cast<std::size_t>(tensor_count))
      tensors.resize(static_cast<std::size_t>(tensor_count));
    while (node_exec.size() > static_cast<std::size_t>(node_count)) {
      if (std::int32_t const e = node_exec.back(); e != none)
        forget_node(e, static_cast<std::int32_t>(node_exec.size()) - 1);
      node_exec.pop_back();
    }
    if (graphs.size() > static_cast<std::size_t>(region_count))
      graphs.resize(static_cast<std::size_t>(region_count));
    for (graph_record& g : graphs) {
      std::erase_if(g.outer_inner, [&](auto const& p) { return p.second >= tensor_count; });
      std::erase_if(g.tensors, [&](symbol t) { return t >= tensor_count; });
    }
  }

private:
  void forget_node(std::int32_t e, std::int32_t node) {
    exec_record& x = execs[static_cast<std::size_t>(e)];
    std::erase(x.nodes, node);
    if (!x.foreign || !x.nodes.empty()) return;
    if (static_cast<std::size_t>(x.graph) < graphs.size())
      std::erase(graphs[static_cast<std::size_t>(x.graph)].execs, e);
    std::erase(made_execs, e);
    std::uint32_t const generation = x.generation + 1;
    x = {};
    x.dead = true;
    x.generation = generation;
    free_execs.push_back(e);
  }
};

} // namespace detail
} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
