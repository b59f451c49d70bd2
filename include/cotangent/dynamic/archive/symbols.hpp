// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_ARCHIVE_SYMBOLS_HPP
#define COTANGENT_DYNAMIC_ARCHIVE_SYMBOLS_HPP

#include <cotangent/io/archive/graph_reader.hpp>
#include <cotangent/io/archive/json.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/graph/graph_access.hpp>

#  include <algorithm>
#  include <cstdint>
#  include <memory>
#  include <string>
#  include <unordered_map>
#  include <utility>
#  include <vector>

// Saves symbolic graphs in their lowered form: every command as operations, every sub-graph as a loop or a
// branch. Manual edges, names of operations, peers and dead symbols are saved beside the graph.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

namespace archived = cotangent::detail::archived;

/// A graph without pending operations: the graph itself, or a lowered copy. Throws like `compile`.
class settled {
  graph_state const* s_;
  std::unique_ptr<graph_state> copy_;
  std::unordered_map<symbol, symbol> inputs_; // by bound symbol: the input that gets its memory

public:
  settled(graph_state const& built, lowering const& wanted, request const& r) : s_(&built) {
    if (!built.symbolic.used) return;
    copy_ = std::make_unique<graph_state>(built);
    lowered const low = lower(*copy_, wanted, r);
    inputs_.insert(low.stands_for.begin(), low.stands_for.end());
    keep_in_step(*copy_);
    take_away_what_nobody_runs();
    s_ = copy_.get();
  }
  graph_state const& state() const noexcept { return *s_; }
  symbol input_for(symbol t) const {
    auto const at = inputs_.find(t);
    return at == inputs_.end() ? t : at->second;
  }

private:
  void take_away_what_nobody_runs() {
    cotangent::graph& g = copy_->b.edit();
    std::vector<bool> gone(static_cast<std::size_t>(g.regions.size()));
    for (std::int32_t const r : cotangent::detail::regions_from_outside(g))
      if (r > 0 && (gone[static_cast<std::size_t>(g.regions[r].parent)] ||
                    g.nodes[g.regions[r].owner].op == info_of<op::nothing>())) {
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
    for (exec_record& e : copy_->symbolic.execs)
      if (gone[static_cast<std::size_t>(e.graph)]) e.nodes.clear();
  }
};

inline bool is_noop(exec_record const& e) {
  return e.kind == exec_kind::operation && e.what.kind() == command::form::nothing;
}

/// The symbolic records of a graph. A noop is a node without operands, as is a deleted node; only noops are
/// listed.
inline archived::json symbols_as_json(graph_state const& s) {
  using archived::json;
  json j;
  for (char const* const key : {"edges", "names", "hints", "flags", "noops", "peers", "taped", "dead", "adjoints"})
    j[key] = json::array();
  auto const stands = [](exec_record const& e) { return !e.dead && !e.nodes.empty(); };
  std::vector<std::pair<std::int32_t, exec_record const*>> execs; // sorted by their last node
  for (exec_record const& e : s.symbolic.execs)
    if (stands(e)) execs.emplace_back(e.nodes.back(), &e);
  std::sort(execs.begin(), execs.end());
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (auto const& [last, e] : execs) {
    for (std::int32_t const f : e->after)
      if (stands(exec_at(s, f)))
        for (std::int32_t const i : e->nodes)
          for (std::int32_t const k : exec_at(s, f).nodes) edges.emplace_back(i, k);
    if (!e->name.empty()) j["names"].push_back({last, e->name});
    if (!e->hint.empty()) j["hints"].push_back({last, e->hint});
    if (is_noop(*e)) j["noops"].push_back({last, e->in, e->out});
    if (std::int32_t const f = forward_of(s, static_cast<std::int32_t>(e - s.symbolic.execs.data()));
        f != none && stands(exec_at(s, f)))
      j["adjoints"].push_back({exec_at(s, f).nodes.back(), last});
  }
  std::sort(edges.begin(), edges.end());
  for (auto const& [before, after] : edges) j["edges"].push_back({before, after});
  for (std::int32_t i = 0; i < s.b.get().nodes.size(); ++i)
    if (std::int32_t const e = s.symbolic.node_exec[static_cast<std::size_t>(i)]; e != none && stands(exec_at(s, e)))
      if (exec_flags const& f = exec_at(s, e).flags; f.keep || f.exact) j["flags"].push_back({i, f.keep, f.exact});
  for (symbol t = 0; t < s.b.get().tensors.size(); ++t) {
    tensor_record const& at = look(s, t);
    if (at.peer != none && !at.dead) j["peers"].push_back({t, at.peer});
    if (at.taped && !at.dead) j["taped"].push_back(t);
    if (at.dead) j["dead"].push_back(t);
  }
  return j;
}

/// Edges between nodes: manual ones first, then those from operations to their adjoints.
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
  parts::object(j, {"edges", "names", "hints", "flags", "noops", "peers", "taped", "dead", "adjoints"});
  read(parts::member(j, "edges"));
  edges.by_hand = edges.all.size();
  if (archived::json const* const adjoints = parts::member_if(j, "adjoints")) read(*adjoints);
  return edges;
}

/// By symbol: true if it is read, written, viewed or listed.
inline std::vector<bool> mentioned(graph_state const& s) {
  cotangent::graph const& g = s.b.get();
  std::vector<bool> seen(static_cast<std::size_t>(g.tensors.size()));
  auto const see = [&](symbol t) {
    if (t != none) seen[static_cast<std::size_t>(t)] = true;
  };
  for (node const& n : g.nodes)
    for (int k = 0; k < n.operand_count + n.result_count; ++k) see(g.ids[n.first + k]);
  for (exec_record const& e : s.symbolic.execs)
    for (auto const* const some : {&e.in, &e.out})
      for (symbol const t : *some) see(t);
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

/// Restores noops from nodes that compute nothing.
inline void read_noops(archived::json const& all, graph_state& s) {
  using parts = archived::graph_parts;
  cotangent::graph const& g = s.b.get();
  for (archived::json const& j : parts::list(all)) {
    parts::list(j, 3);
    auto const i = static_cast<std::int32_t>(parts::integer(j[0], 0, g.nodes.size() - 1));
    node const& n = g.nodes[i];
    std::int32_t& owner = s.symbolic.node_exec[static_cast<std::size_t>(i)];
    if (n.op != info_of<op::nothing>() || owner != none) archived::refuse_graph("a noop computes something");
    exec_record e;
    for (auto const& [from, to] : {std::pair(&j[1], &e.in), std::pair(&j[2], &e.out)})
      for (archived::json const& id : parts::list(*from)) {
        to->push_back(static_cast<symbol>(parts::integer(id, none, g.tensors.size() - 1)));
        if (to->back() != none && g.tensors[to->back()].region != n.region)
          archived::refuse_graph("a noop waits in another sub-graph");
      }
    e.nodes.push_back(i);
    e.graph = n.region;
    e.where = n.where;
    e.foreign = true;
    owner = new_exec(s, std::move(e));
  }
  for (graph_record& r : s.symbolic.graphs)
    std::sort(r.execs.begin(), r.execs.end(), [&](std::int32_t a, std::int32_t b) {
      return exec_at(s, a).nodes.back() < exec_at(s, b).nodes.back();
    });
}

/// Reads the records of a valid graph. Throws: `io_error`.
inline void read_symbols(archived::json const& j, archived_edges const& edges, graph_state& s) {
  using parts = archived::graph_parts;
  cotangent::graph const& g = s.b.get();
  auto const tensor = [&](archived::json const& t) {
    return static_cast<symbol>(parts::integer(t, 0, g.tensors.size() - 1));
  };
  keep_in_step(s);
  s.symbolic.used = true;
  if (archived::json const* const noops = parts::member_if(j, "noops")) read_noops(*noops, s);
  auto const exec = [&](std::int32_t node) {
    std::int32_t const e = s.symbolic.node_exec[static_cast<std::size_t>(node)];
    if (e == none) archived::refuse_graph("an edge or a name belongs to nothing");
    return e;
  };
  std::vector<std::pair<std::int32_t, std::int32_t>> by_hand;
  for (int k = 0; k < edges.all.size(); ++k) {
    dependency const& d = edges.all[k];
    std::int32_t const before = exec(d.before), after = exec(d.after);
    if (g.nodes[d.before].region != g.nodes[d.after].region || before == after)
      archived::refuse_graph("an edge leads from one sub-graph to another, or to where it begins");
    if (k < edges.by_hand) {
      by_hand.emplace_back(before, after);
    } else {
      exec_at(s, after).forward = before;
      exec_at(s, after).forward_generation = exec_at(s, before).generation;
    }
  }
  std::sort(by_hand.begin(), by_hand.end());
  by_hand.erase(std::unique(by_hand.begin(), by_hand.end()), by_hand.end());
  for (auto const& [before, after] : by_hand) {
    exec_at(s, before).after.push_back(after);
    exec_at(s, after).before.push_back(before);
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
  if (archived::json const* const flags = parts::member_if(j, "flags"))
    for (archived::json const& one : parts::list(*flags)) {
      parts::list(one, 3);
      exec_at(s, exec(static_cast<std::int32_t>(parts::integer(one[0], 0, g.nodes.size() - 1)))).flags = {
          parts::truth(one[1]), parts::truth(one[2])};
    }
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
  s.symbolic.made_tensors.clear(); // hooks are called for later symbols only
  s.symbolic.made_execs.clear();
  s.symbolic.told = g.tensors.size();
}

} // namespace cotangent::dynamic::detail

#endif
#endif
