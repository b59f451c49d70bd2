// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_ARCHIVE_SYMBOLS_HPP
#define COTANGENT_DYNAMIC_ARCHIVE_SYMBOLS_HPP

#include <cotangent/io/archive/graph_reader.hpp>
#include <cotangent/io/archive/json.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/graph_access.hpp>

#  include <algorithm>
#  include <cstdint>
#  include <memory>
#  include <string>
#  include <utility>
#  include <vector>

// Graphs that the symbolic API has made, as a file keeps them: as they would be compiled, with every command as operations and
// every sub-graph as a loop or a branch; and beside that edges by hand, names of operations, peers and dead symbols.

namespace cotangent::dynamic::detail {

namespace archived = cotangent::detail::archived;

/// A graph of which nothing is open any more: itself, or a copy. Throws: what compiling throws.
class settled {
  graph_state const* s_;
  std::unique_ptr<graph_state> copy_;
  lowered low_;

public:
  settled(graph_state const& built, lowering const& wanted, request const& r) : s_(&built) {
    if (!built.symbolic.used) return;
    copy_ = std::make_unique<graph_state>(built);
    low_ = lower(*copy_, wanted, r);
    keep_in_step(*copy_);
    take_away_what_nobody_runs();
    s_ = copy_.get();
  }
  graph_state const& state() const noexcept { return *s_; }
  /// The input that gets the memory of what is bound.
  symbol input_for(symbol t) const {
    for (auto const& [bound, in] : low_.stands_for)
      if (bound == t) return in;
    return t;
  }

  archived::json beside() const {
    using archived::json;
    json j{{"edges", json::array()}, {"names", json::array()}, {"hints", json::array()},
           {"peers", json::array()}, {"taped", json::array()}, {"dead", json::array()}, {"adjoints", json::array()}};
    for (dependency const& d : low_.extra) j["edges"].push_back({d.before, d.after});
    for (exec_record const& e : s_->symbolic.execs)
      if (!e.dead && !e.nodes.empty() && is_node(e.nodes.back())) {
        if (!e.name.empty()) j["names"].push_back({e.nodes.back(), e.name});
        if (!e.hint.empty()) j["hints"].push_back({e.nodes.back(), e.hint});
        std::int32_t const f = forward_of(*s_, static_cast<std::int32_t>(&e - s_->symbolic.execs.data()));
        if (f != none && !exec_at(*s_, f).nodes.empty() && is_node(exec_at(*s_, f).nodes.back()))
          j["adjoints"].push_back({exec_at(*s_, f).nodes.back(), e.nodes.back()});
      }
    for (symbol t = 0; t < s_->b.get().tensors.size(); ++t) {
      tensor_record const& at = look(*s_, t);
      if (at.peer != none && !at.dead) j["peers"].push_back({t, at.peer});
      if (at.taped && !at.dead) j["taped"].push_back(t);
      if (at.dead) j["dead"].push_back(t);
    }
    return j;
  }

private:
  bool is_node(std::int32_t i) const { return s_->b.get().nodes[i].op != info_of<op::nothing>(); }

  void take_away_what_nobody_runs() {
    cotangent::graph& g = copy_->b.edit();
    std::vector<bool> gone(static_cast<std::size_t>(g.regions.size()));
    for (std::int32_t r = 1; r < g.regions.size(); ++r)
      if (gone[static_cast<std::size_t>(g.regions[r].parent)] ||
          g.nodes[g.regions[r].owner].op == info_of<op::nothing>()) {
        gone[static_cast<std::size_t>(r)] = true;
        g.regions[r].input_count = g.regions[r].output_count = 0;
      }
    for (std::int32_t i = 0; i < g.nodes.size(); ++i) {
      node& n = g.nodes[i];
      if (!gone[static_cast<std::size_t>(n.region)]) continue;
      for (int k = 0; k < n.result_count; ++k) {
        symbol const y = g.ids[n.first + n.operand_count + k];
        g.tensors[y].producer = none;
        if (auto const at = copy_->written.find(root_of(*copy_, y)); at != copy_->written.end())
          std::erase(at->second, y);
      }
      n.op = info_of<op::nothing>();
      n.operand_count = n.result_count = n.attribute_count = 0;
    }
  }
};

/// Between nodes: those drawn by hand, then those from operations to their adjoints.
struct archived_edges {
  array<dependency> all;
  int by_hand = 0;
};
inline archived_edges edges_in(archived::json const& j, std::int64_t nodes) {
  using parts = archived::graph_parts;
  archived_edges edges;
  auto const read = [&](archived::json const& pairs) {
    for (archived::json const& pair : parts::list(pairs)) {
      parts::list(pair, 2);
      edges.all.push({static_cast<std::int32_t>(parts::integer(pair[0], 0, nodes - 1)),
                      static_cast<std::int32_t>(parts::integer(pair[1], 0, nodes - 1))});
    }
  };
  parts::object(j, {"edges", "names", "hints", "peers", "taped", "dead", "adjoints"});
  read(parts::member(j, "edges"));
  edges.by_hand = edges.all.size();
  if (archived::json const* const adjoints = parts::member_if(j, "adjoints")) read(*adjoints);
  return edges;
}

/// Whether somebody reads, writes, looks into or lists a symbol.
inline std::vector<bool> mentioned(graph_state const& s) {
  cotangent::graph const& g = s.b.get();
  std::vector<bool> seen(static_cast<std::size_t>(g.tensors.size()));
  auto const see = [&](symbol t) {
    if (t != none) seen[static_cast<std::size_t>(t)] = true;
  };
  for (node const& n : g.nodes)
    for (int k = 0; k < n.operand_count + n.result_count; ++k) see(g.ids[n.first + k]);
  for (region const& r : g.regions) {
    for (int k = 0; k < r.input_count; ++k) see(g.ids[r.first_input + k]);
    for (int k = 0; k < r.output_count; ++k) see(g.ids[r.first_output + k]);
  }
  for (tensor_symbol const& t : g.tensors) see(t.base);
  for (auto const* const some : {&s.inputs, &s.parameters, &s.states, &s.piecewise})
    for (symbol const t : *some) see(t);
  for (auto const& [x, dx] : s.gradients) see(x), see(dx);
  return seen;
}

/// Into a graph that is sound. Throws: `io_error`.
inline void read_symbols(archived::json const& j, archived_edges const& edges, graph_state& s) {
  using parts = archived::graph_parts;
  cotangent::graph const& g = s.b.get();
  auto const tensor = [&](archived::json const& t) {
    return static_cast<symbol>(parts::integer(t, 0, g.tensors.size() - 1));
  };
  keep_in_step(s);
  s.symbolic.used = true;
  auto const exec = [&](std::int32_t node) {
    std::int32_t const e = s.symbolic.node_exec[static_cast<std::size_t>(node)];
    if (e == none) archived::refuse_graph("an edge or a name belongs to nothing");
    return e;
  };
  auto const add = [](std::vector<std::int32_t>& to, std::int32_t e) {
    if (std::find(to.begin(), to.end(), e) == to.end()) to.push_back(e);
  };
  for (int k = 0; k < edges.all.size(); ++k) {
    dependency const& d = edges.all[k];
    std::int32_t const before = exec(d.before), after = exec(d.after);
    bool const by_hand = k < edges.by_hand;
    if (g.nodes[d.before].region != g.nodes[d.after].region || (!by_hand && before == after))
      archived::refuse_graph("an edge leads from one sub-graph to another");
    if (by_hand) {
      add(exec_at(s, before).after, after);
      add(exec_at(s, after).before, before);
    } else {
      exec_at(s, after).forward = before;
      exec_at(s, after).forward_generation = exec_at(s, before).generation;
    }
  }
  auto const texts = [&](archived::json const& all, std::string exec_record::* which) {
    for (archived::json const& pair : parts::list(all)) {
      parts::list(pair, 2);
      exec_at(s, exec(static_cast<std::int32_t>(parts::integer(pair[0], 0, g.nodes.size() - 1)))).*which =
          parts::text(pair[1]);
    }
  };
  texts(parts::member(j, "names"), &exec_record::name);
  if (archived::json const* const hints = parts::member_if(j, "hints")) texts(*hints, &exec_record::hint);
  for (archived::json const& pair : parts::list(parts::member(j, "peers"))) {
    parts::list(pair, 2);
    symbol const t = tensor(pair[0]), peer = tensor(pair[1]);
    record(s, t).peer = peer;
  }
  for (archived::json const& t : parts::list(parts::member(j, "taped"))) record(s, tensor(t)).taped = true;
  std::vector<bool> const alive = mentioned(s);
  for (archived::json const& at : parts::list(parts::member(j, "dead"))) {
    symbol const t = tensor(at);
    if (alive[static_cast<std::size_t>(t)] || look(s, t).dead)
      archived::refuse_graph("a dead symbol is used");
    record(s, t).dead = true;
    s.symbolic.free_tensors.push_back(t);
  }
}

} // namespace cotangent::dynamic::detail

#endif
#endif
