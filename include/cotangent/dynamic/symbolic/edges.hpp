// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_EDGES_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_EDGES_HPP

#include <cotangent/dynamic/symbolic/order.hpp>
#include <cotangent/dynamic/symbolic/queries.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Edges, sources and destinations, and walks over the operations.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

/// One operation, as shown by `visit`.
struct symbolic_node {
  symbolic_exec exec;
  std::string name;
  command what;
  std::vector<symbolic_tensor> inputs, outputs;
  int edges_in = 0, edges_out = 0;    // data dependencies and manual edges
  std::vector<std::int32_t> graphs{}; // the sub-graphs that it runs: see `symbolic_graph::graph`
  std::string hint{};                 // of `set_hint`
};

/// The scope of `autogen`.
enum class autogen_of : unsigned char { edges, ends, all };

namespace detail {

inline void add_edge(graph_scope const& scope, request const& r, symbolic_exec const& before, symbolic_exec const& after) {
  graph_state& s = *scope.s;
  std::int32_t const a = scope.here(before, r), b = scope.here(after, r);
  if (a == b) raise_graph<refusals::symbolic_edge>(s.b, r);
  for (std::int32_t const known : exec_at(s, a).after)
    if (known == b) return;
  exec_at(s, a).after.push_back(b);
  exec_at(s, b).before.push_back(a);
}
inline void remove_edge(graph_scope const& scope, request const& r, symbolic_exec const& before,
                        symbolic_exec const& after) {
  graph_state& s = *scope.s;
  std::int32_t const a = scope.here(before, r), b = scope.here(after, r);
  bool const adjoint = forward_of(s, b) == a;
  if (adjoint) exec_at(s, b).forward = none;
  if (std::erase(exec_at(s, a).after, b) == 0 && !adjoint) raise_graph<refusals::symbolic_no_edge>(s.b, r);
  std::erase(exec_at(s, b).before, a);
}

/// Replaces the edges among these operations by those of their data dependencies.
inline void generate_edges(graph_scope const& scope, std::vector<std::int32_t> const& among) {
  graph_state& s = *scope.s;
  exec_order const order = order_in(s, scope.region, false, &among);
  auto const listed = [&](std::int32_t e) { return order.place.count(e) != 0; };
  for (std::int32_t const e : order.execs) {
    std::erase_if(exec_at(s, e).after, listed);
    std::erase_if(exec_at(s, e).before, listed);
  }
  for (std::size_t k = 0; k < order.execs.size(); ++k)
    for (std::int32_t const next : order.after[k]) {
      std::int32_t const e = order.execs[static_cast<std::size_t>(next)];
      exec_at(s, order.execs[k]).after.push_back(e);
      exec_at(s, e).before.push_back(order.execs[k]);
    }
}
/// Operations without incoming edges become sources, those without outgoing edges destinations.
inline void generate_ends(graph_scope const& scope) {
  graph_state& s = *scope.s;
  graph_record& g = scope.record();
  g.sources.clear();
  g.destinations.clear();
  std::vector<bool> has_adjoint(s.symbolic.execs.size());
  for (std::int32_t const e : g.execs)
    if (std::int32_t const f = forward_of(s, e); f != none) has_adjoint[static_cast<std::size_t>(f)] = true;
  for (std::int32_t const e : g.execs) {
    if (exec_at(s, e).before.empty() && forward_of(s, e) == none) g.sources.push_back(e);
    if (exec_at(s, e).after.empty() && !has_adjoint[static_cast<std::size_t>(e)]) g.destinations.push_back(e);
  }
  g.sources_set = g.destinations_set = true;
}
inline void autogen(graph_scope const& scope, std::vector<std::int32_t> const& among, autogen_of what) {
  if (what != autogen_of::ends) generate_edges(scope, among);
  if (what != autogen_of::edges) generate_ends(scope);
}

/// The direct successors of an operation, or its predecessors, in the order of creation.
inline std::vector<symbolic_exec> neighbors_of(graph_scope const& scope, request const& r, symbolic_exec const& e,
                                               bool after) {
  graph_state& s = *scope.s;
  std::int32_t const id = checked(s, e, r);
  exec_order const order = order_in(s, exec_at(s, id).graph);
  auto const at = static_cast<std::size_t>(order.place.at(id));
  std::vector<std::int32_t> places = after ? order.after[at] : order.before[at];
  std::sort(places.begin(), places.end());
  std::vector<symbolic_exec> found;
  for (std::int32_t const k : places) found.push_back(exec_handle(s, order.execs[static_cast<std::size_t>(k)]));
  return found;
}
/// The sources, or the destinations: as set or generated, else by the order.
inline std::vector<symbolic_exec> ends_of(graph_scope const& scope, bool first) {
  graph_state& s = *scope.s;
  keep_in_step(s);
  graph_record const& g = scope.record();
  std::vector<symbolic_exec> found;
  if (first ? g.sources_set : g.destinations_set) {
    for (std::int32_t const e : first ? g.sources : g.destinations) found.push_back(exec_handle(s, e));
    return found;
  }
  exec_order const order = order_in(s, scope.region);
  for (std::size_t k = 0; k < order.execs.size(); ++k)
    if ((first ? order.before[k] : order.after[k]).empty()) found.push_back(exec_handle(s, order.execs[k]));
  return found;
}
inline void set_sources(graph_scope const& scope, request const& r, std::vector<symbolic_exec> const& all) {
  graph_record& g = scope.record();
  g.sources = scope.here(all, r);
  g.sources_set = true;
}
inline void set_destinations(graph_scope const& scope, request const& r, std::vector<symbolic_exec> const& all) {
  graph_record& g = scope.record();
  g.destinations = scope.here(all, r);
  g.destinations_set = true;
}

/// For each candidate: true if it is on a path to `target` (or is `target`).
inline std::vector<bool> reaches(graph_scope const& scope, request const& r, std::vector<symbolic_exec> const& candidates,
                                 symbolic_exec const& target) {
  std::vector<std::int32_t> const from = scope.here(candidates, r);
  std::int32_t const to = scope.here(target, r);
  exec_order const order = order_in(*scope.s, scope.region);
  std::vector<bool> const seen = order.reach({order.place.at(to)}, false);
  std::vector<bool> found;
  for (std::int32_t const e : from) found.push_back(seen[static_cast<std::size_t>(order.place.at(e))]);
  return found;
}

/// Calls `with(symbolic_node)` for each operation between the sources and the destinations, in a valid order.
template <class With> void visit_execs(graph_scope const& scope, request const& r, With& with) {
  graph_state& s = *scope.s;
  graph_record const& g = scope.record();
  exec_order const order = order_in(s, scope.region);
  std::vector<bool> const on =
      between(order, g.sources_set ? &g.sources : nullptr, g.destinations_set ? &g.destinations : nullptr);
  for (std::int32_t const at : sorted(s, order, r)) {
    auto const k = static_cast<std::size_t>(at);
    if (!on[k]) continue;
    std::int32_t const e = order.execs[k];
    exec_record const& x = exec_at(s, e);
    exec_io const io = io_of(s, e);
    symbolic_node const n{exec_handle(s, e),
                          x.name,
                          x.what,
                          handles_of(s, io.in),
                          handles_of(s, io.out),
                          static_cast<int>(order.before[k].size()),
                          static_cast<int>(order.after[k].size()),
                          x.graphs,
                          x.hint};
    with(n);
  }
}

} // namespace detail
} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
