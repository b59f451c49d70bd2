// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_ORDER_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_ORDER_HPP

#include <cotangent/dynamic/state/symbolic_store.hpp>

#include <cotangent/graph/order.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

// The order of operations: by data dependencies and by edges.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

struct exec_io {
  std::vector<symbol> in, out;
};

/// True if an operation writes it, also one of a sub-graph that is not lowered yet.
inline bool gets_written(graph_state const& s, symbol t) {
  if (is_written(s, t)) return true;
  for (graph_record const& g : s.symbolic.graphs) {
    if (g.sealed || g.region == 0 || g.parent != s.b.tensor(t).region) continue;
    for (auto const& [outer, inner] : g.outer_inner)
      if (outer == t && gets_written(s, inner)) return true;
  }
  return false;
}

/// The symbols that an operation reads and writes in its own graph; for a loop or choice, those of its
/// sub-graphs.
inline exec_io io_of(graph_state const& s, std::int32_t e) {
  exec_record const& x = exec_at(s, e);
  graph const& g = s.b.get();
  if (x.kind == exec_kind::operation) return {x.in, x.out};
  if (!x.pending && !x.nodes.empty()) {
    node const& n = g.nodes[x.nodes.back()];
    symbol const* const ids = g.ids.data() + n.first;
    return {{ids, ids + n.operand_count}, {ids + n.operand_count, ids + n.operand_count + n.result_count}};
  }
  exec_io io;
  auto const add = [](std::vector<symbol>& to, symbol t) {
    for (symbol const known : to)
      if (known == t) return;
    to.push_back(t);
  };
  if (x.selector != none) add(io.in, x.selector);
  for (std::int32_t const r : x.graphs)
    for (auto const& [outer, inner] : graph_at(s, r).outer_inner)
      add(gets_written(s, inner) ? io.out : io.in, outer);
  for (auto const& [from, to] : x.bypasses) {
    add(io.in, from);
    add(io.out, to);
  }
  return io;
}

/// Intermediate symbols of an operation with several nodes: gradients may read them.
inline std::vector<symbol> inside_of(graph_state const& s, std::int32_t e) {
  exec_record const& x = exec_at(s, e);
  std::vector<symbol> found;
  if (x.kind != exec_kind::operation || x.nodes.size() < 2) return found;
  graph const& g = s.b.get();
  for (std::int32_t const i : x.nodes)
    for (int k = 0; k < g.nodes[i].result_count; ++k) {
      symbol const y = g.ids[g.nodes[i].first + g.nodes[i].operand_count + k];
      bool known = y == none || g.tensors[y].producer != i;
      for (symbol const t : x.out) known = known || t == y;
      if (!known) found.push_back(y);
    }
  return found;
}

/// The operations of one graph, with their successors and predecessors, by index in `execs`.
struct exec_order {
  std::vector<std::int32_t> execs;
  std::unordered_map<std::int32_t, std::int32_t> place;
  std::vector<std::vector<std::int32_t>> after, before;

  std::vector<bool> reach(std::vector<std::int32_t> from, bool forward) const {
    std::vector<bool> seen(execs.size());
    for (std::int32_t const at : from) seen[static_cast<std::size_t>(at)] = true;
    while (!from.empty()) {
      auto const at = static_cast<std::size_t>(from.back());
      from.pop_back();
      for (std::int32_t const next : forward ? after[at] : before[at])
        if (!seen[static_cast<std::size_t>(next)]) {
          seen[static_cast<std::size_t>(next)] = true;
          from.push_back(next);
        }
    }
    return seen;
  }
};

/// The data dependencies among these operations, by index: exact, in n log n. `noops`: also those on outputs
/// of noops.
inline array<dependency> data_edges(graph_state const& s, std::vector<std::int32_t> const& execs,
                                    bool noops) {
  graph const& g = s.b.get();
  graph shadow;
  shadow.tensors = g.tensors;
  shadow.shapes = g.shapes;
  shadow.extents = g.extents;
  shadow.numbers = g.numbers;
  for (tensor_symbol& t : shadow.tensors) t.producer = none;
  for (std::size_t k = 0; k < execs.size(); ++k) {
    exec_io const io = io_of(s, execs[k]);
    exec_record const& x = exec_at(s, execs[k]);
    bool const noop = x.kind == exec_kind::operation && x.what.kind() == command::form::nothing;
    node n;
    n.first = shadow.ids.size();
    for (symbol const t : io.in)
      if (t != none && !(noop && noops)) {
        shadow.ids.push(t);
        ++n.operand_count;
      }
    n.result_count = 0;
    auto const writes = [&](symbol t) {
      if (t == none || noop != noops) return;
      shadow.ids.push(t);
      ++n.result_count;
      shadow.tensors[t].producer = static_cast<std::int32_t>(k);
    };
    for (symbol const t : io.out) writes(t);
    for (symbol const t : inside_of(s, execs[k])) writes(t);
    shadow.nodes.push(n);
  }
  return edges_of(shadow);
}

/// The operation whose adjoint this is a part of; none if it does not exist any more.
inline std::int32_t forward_of(graph_state const& s, std::int32_t e) {
  std::int32_t const f = exec_at(s, e).forward;
  return f == none || exec_at(s, f).dead || exec_at(s, f).generation != exec_at(s, e).forward_generation ? none : f;
}

/// `adjoints`: includes the edges from operations to their adjoints, which only order and cause no operation
/// to run. `among`: only these operations of the region; null: all.
template <class = void>
exec_order order_in(graph_state const& s, std::int32_t region, bool adjoints = true,
                    std::vector<std::int32_t> const* among = nullptr) {
  exec_order o;
  bool noops = false;
  for (std::int32_t const e : among != nullptr ? *among : graph_at(s, region).execs) {
    if (!o.place.emplace(e, static_cast<std::int32_t>(o.execs.size())).second) continue;
    o.execs.push_back(e);
    noops = noops ||
            (exec_at(s, e).kind == exec_kind::operation && exec_at(s, e).what.kind() == command::form::nothing);
  }
  o.after.resize(o.execs.size());
  o.before.resize(o.execs.size());
  for (int pass = 0; pass < (noops ? 2 : 1); ++pass)
    for (dependency const& d : data_edges(s, o.execs, pass == 1))
      if (d.before != d.after) o.after[static_cast<std::size_t>(d.before)].push_back(d.after);
  for (std::size_t k = 0; adjoints && k < o.execs.size(); ++k)
    if (std::int32_t const f = forward_of(s, o.execs[k]); f != none)
      if (auto const at = o.place.find(f); at != o.place.end())
        o.after[static_cast<std::size_t>(at->second)].push_back(static_cast<std::int32_t>(k));
  std::vector<std::int32_t> told(o.execs.size(), none); // by index: the last operation that reported it
  for (std::size_t k = 0; k < o.execs.size(); ++k) {
    auto const at = static_cast<std::int32_t>(k);
    std::vector<std::int32_t> once;
    auto const add = [&](std::int32_t next) {
      if (told[static_cast<std::size_t>(next)] == at) return;
      told[static_cast<std::size_t>(next)] = at;
      once.push_back(next);
      o.before[static_cast<std::size_t>(next)].push_back(at);
    };
    for (std::int32_t const next : o.after[k]) add(next);
    for (std::int32_t const e : exec_at(s, o.execs[k]).after)
      if (auto const next = o.place.find(e); next != o.place.end()) add(next->second);
    o.after[k] = std::move(once);
  }
  return o;
}

/// A valid order, as close to the order of creation as possible. Throws: `graph_error` naming an operation on
/// a cycle.
inline std::vector<std::int32_t> sorted(graph_state const& s, exec_order const& o, request const& r) {
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  std::vector<std::size_t> missing(o.execs.size());
  for (std::size_t k = 0; k < o.execs.size(); ++k) {
    missing[k] = o.before[k].size();
    if (missing[k] == 0) ready.push(static_cast<std::int32_t>(k));
  }
  std::vector<std::int32_t> places;
  while (!ready.empty()) {
    places.push_back(ready.top());
    ready.pop();
    for (std::int32_t const next : o.after[static_cast<std::size_t>(places.back())])
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push(next);
  }
  if (places.size() == o.execs.size()) return places;
  std::size_t at = 0;
  while (missing[at] == 0) ++at;
  for (std::size_t steps = 0; steps < o.execs.size(); ++steps) // back along its predecessors, onto the cycle
    for (std::int32_t const p : o.before[at])
      if (missing[static_cast<std::size_t>(p)] != 0) {
        at = static_cast<std::size_t>(p);
        break;
      }
  exec_record const& x = exec_at(s, o.execs[at]);
  message text = words_of(s.b, {why<refusals::order_cycle>(), {}, {}, none, x.where}, r);
  throw graph_error(text.put("; on it is ").put(x.what.name().c_str()).put(" ").put(x.name.c_str()));
}

/// The operations on a path from the sources to the destinations; all if neither was set.
inline std::vector<bool> between(exec_order const& o, std::vector<std::int32_t> const* sources,
                                 std::vector<std::int32_t> const* destinations) {
  std::vector<bool> in(o.execs.size(), true);
  auto const narrow = [&](std::vector<std::int32_t> const* ends, bool forward) {
    if (ends == nullptr) return;
    std::vector<std::int32_t> from;
    for (std::int32_t const e : *ends)
      if (auto const at = o.place.find(e); at != o.place.end()) from.push_back(at->second);
    std::vector<bool> const seen = o.reach(std::move(from), forward);
    for (std::size_t k = 0; k < in.size(); ++k) in[k] = in[k] && seen[k];
  };
  narrow(sources, true);
  narrow(destinations, false);
  return in;
}

/// By index: the operations that these symbols need.
inline std::vector<bool> needed_for(graph_state const& s, exec_order const& o,
                                    std::vector<symbol> const& wanted) {
  std::vector<bool> is_wanted(static_cast<std::size_t>(s.b.get().tensors.size()));
  for (symbol const t : wanted) is_wanted[static_cast<std::size_t>(root_of(s, t))] = true;
  std::vector<std::int32_t> writers;
  for (std::size_t k = 0; k < o.execs.size(); ++k) {
    bool writes = false;
    std::vector<symbol> out = io_of(s, o.execs[k]).out;
    for (symbol const t : inside_of(s, o.execs[k])) out.push_back(t);
    for (symbol const t : out)
      writes = writes || (t != none && is_wanted[static_cast<std::size_t>(root_of(s, t))]);
    if (writes) writers.push_back(static_cast<std::int32_t>(k));
  }
  return o.reach(std::move(writers), false);
}

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template exec_order order_in(graph_state const&, std::int32_t, bool, std::vector<std::int32_t> const*);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
