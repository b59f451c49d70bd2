// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_PROGRAMS_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_PROGRAMS_HPP

#include <cotangent/dynamic/symbolic/backward.hpp>
#include <cotangent/dynamic/symbolic/changes.hpp>
#include <cotangent/dynamic/symbolic/compiling.hpp>
#include <cotangent/dynamic/symbolic/options.hpp>
#include <cotangent/dynamic/symbolic/order.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <utility>
#include <vector>

// Gradients, programs and substitutions of symbols, for the graph itself.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// By operation: true if it is on a path from a source to a destination; empty if neither are given.
inline std::vector<bool> part_between(graph_scope const& scope, request const& r, std::vector<symbolic_exec> const& sources,
                                      std::vector<symbolic_exec> const& destinations) {
  std::vector<bool> on;
  if (sources.empty() && destinations.empty()) return on;
  std::vector<std::int32_t> const from = scope.here(sources, r), to = scope.here(destinations, r);
  exec_order const order = order_in(*scope.s, scope.region, false);
  std::vector<bool> const runs = between(order, from.empty() ? nullptr : &from, to.empty() ? nullptr : &to);
  on.resize(scope.s->symbolic.execs.size());
  for (std::size_t k = 0; k < runs.size(); ++k) on[static_cast<std::size_t>(order.execs[k])] = runs[k];
  return on;
}
inline gradient_table gradients_of(graph_scope const& scope, request const& r, symbolic_backward const& what) {
  graph_state& s = *scope.s;
  if (scope.region != 0) raise_graph<refusals::symbolic_not_root>(s.b, r);
  std::vector<symbol> const y = scope.local(what.outputs, r);
  std::vector<symbol> dy = scope.local(what.seeds, r);
  std::vector<symbol> const x = scope.local(what.wrt, r);
  std::vector<bool> const part = part_between(scope, r, what.sources, what.destinations);
  gradient_table table = table_of_gradients(s, y, std::move(dy), x, {what.policy, what.tape, what.sum}, r,
                                            part.empty() ? nullptr : &part);
  tell_made(s);
  return table;
}

/// The symbol of a binding: a tensor or an alias, also of a sub-graph.
inline symbol bound_symbol(graph_state& s, binding const& one, request const& r) {
  standing const& at = one.what.where_it_stands();
  std::uint32_t generation = one.generation;
  if (!at.is_in(s)) generation = 0;
  else if (!one.generation_known) generation = look(s, at.id).generation;
  return checked(s, symbolic_tensor{at.s, at.id, generation, at.graph}, r);
}
inline program program_of(graph_scope const& scope, request const& r, symbolic_compile const& what) {
  graph_state& s = *scope.s;
  if (scope.region != 0) raise_graph<refusals::symbolic_not_root>(s.b, r);
  lowering wanted{.outputs = scope.local(what.outputs, r), .all = false};
  for (binding const& one : what.binds) wanted.bound.push_back(bound_symbol(s, one, r));
  for (auto const& [of, to] : what.updates) {
    symbol const from = scope.local(of, r), next = scope.local(to, r);
    wanted.updates.emplace_back(from, next);
  }
  std::vector<std::int32_t> const sources = scope.here(what.sources, r), destinations = scope.here(what.destinations, r);
  if (!sources.empty()) wanted.sources = &sources;
  if (!destinations.empty()) wanted.destinations = &destinations;
  return compiled_as<program>(s, wanted, what.binds,
                              {.exact = what.exact,
                               .own_memory = what.own_memory,
                               .memory_budget = what.memory_budget,
                               .mirror = what.mirror,
                               .keep_all = what.keep_all},
                              r);
}

/// Replaces each command of the graph and of its sub-graphs by the result of `to`.
inline void substitute(graph_state& s, std::function<command(symbolic_exec, command const&)> const& to,
                       std::source_location where) {
  keep_in_step(s);
  whole_undo back(s);
  for (std::int32_t e = 0; e < static_cast<std::int32_t>(s.symbolic.execs.size()); ++e) {
    exec_record const x = exec_at(s, e);
    if (x.dead || x.kind != exec_kind::operation) continue;
    command const now = to(exec_handle(s, e), x.what);
    if (now == x.what) continue;
    graph_scope const at{&s, x.graph};
    set_command(at, at.changing("set_command", where), exec_handle(s, e), now);
  }
  back.keep();
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
