// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_CHANGES_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_CHANGES_HPP

#include <cotangent/dynamic/symbolic/symbols.hpp>

#include <cstdint>
#include <utility>
#include <vector>

// Changes and frees symbols.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Changes an operation; restores it after an error.
template <class Change>
void change_exec(graph_scope const& scope, std::int32_t id, Change const& to, request const& r) {
  graph_state& s = *scope.s;
  exec_record const was = exec_at(s, id);
  exec_record now = was;
  unclaim(s, id);
  unrealize(s, id);
  try {
    symbolic_undo back(s);
    to(now);
    now.where = r.where;
    now.nodes.clear();
    if (now.what.kind() != command::form::nothing) check_outputs(scope, now.out, r);
    exec_at(s, id) = now;
    realize(s, id);
    back.keep();
  } catch (...) {
    exec_at(s, id) = was;
    exec_at(s, id).nodes.clear();
    realize(s, id);
    claim(s, id);
    throw;
  }
  claim(s, id);
}
inline void set_io(graph_scope const& scope, request const& r, symbolic_exec const& e,
                   std::vector<symbolic_tensor> const& inputs, std::vector<symbolic_tensor> const& outputs) {
  std::int32_t const id = scope.operation(e, r);
  auto const to = [&](exec_record& x) {
    x.in = scope.here(inputs, r);
    x.out = scope.here(outputs, r);
  };
  change_exec(scope, id, to, r);
}
inline void set_command(graph_scope const& scope, request const& r, symbolic_exec const& e, command const& what) {
  change_exec(scope, scope.operation(e, r), [&](exec_record& x) { x.what = what; }, r);
}
inline void set_params(graph_scope const& scope, request const& r, symbolic_exec const& e,
                       std::vector<std::int64_t> attributes) {
  command const& now = exec_at(*scope.s, scope.operation(e, r)).what;
  if (now.kind() != command::form::operation)
    raise_graph<refusals::symbolic_attributes>(
        scope.s->b, r, extent::of(static_cast<std::int64_t>(attributes.size())), extent::of(0));
  set_command(scope, r, e, now.with_attributes(std::move(attributes)));
}

/// Sets the value of a tensor that no operation writes.
inline void set_fill(graph_scope const& scope, request const& r, symbolic_tensor const& t, unwritten fill) {
  symbol const id = scope.local(t, r);
  if (scope.s->b.tensor(id).base != none) raise_graph<refusals::symbolic_flags_of_alias>(scope.s->b, about(r, id));
  record(*scope.s, id).fill = fill;
}
/// A tensor whose shape may be set.
inline symbol reshaped(graph_scope const& scope, symbolic_tensor const& t, request const& r) {
  graph_state& s = *scope.s;
  symbol const id = scope.local(t, r);
  bool fixed = s.b.tensor(id).base != none || !look(s, id).own;
  for (symbol const other : scope.record().tensors) fixed = fixed || s.b.tensor(other).base == id;
  if (fixed) raise_graph<refusals::symbolic_shape_of_alias>(s.b, about(r, id));
  return id;
}
/// Defers the operations on a tensor until all shapes are known.
inline void defer_operations_on(graph_scope const& scope, symbol t) {
  graph_state& s = *scope.s;
  for (std::int32_t const e : scope.record().execs) {
    exec_record& x = exec_at(s, e);
    if (x.kind != exec_kind::operation || x.what.kind() == command::form::nothing) continue;
    bool touched = false;
    for (symbol const in : x.in) touched = touched || in == t;
    for (symbol const out : x.out) touched = touched || out == t;
    if (!touched) continue;
    unrealize(s, e);
    x.pending = true;
  }
}
/// Sets the shape of a tensor, or that it is not known yet. Symbols of sub-graphs that stand for it follow, unless their shape was set.
inline void reshape_symbol(graph_scope const& scope, symbol t, std::int32_t shape, bool is_unknown) {
  graph_state& s = *scope.s;
  std::int32_t const before = s.b.tensor(t).shape;
  bool const was_unknown = look(s, t).automatic;
  s.b.edit().tensors[t].shape = shape;
  record(s, t).automatic = is_unknown;
  defer_operations_on(scope, t);
  for (std::int32_t region = 1; region < static_cast<std::int32_t>(s.symbolic.graphs.size()); ++region) {
    if (graph_at(s, region).sealed) continue;
    for (auto const& [outer, inner] : graph_at(s, region).outer_inner)
      if (outer == t && s.b.tensor(inner).shape == before && look(s, inner).automatic == was_unknown)
        reshape_symbol(graph_scope{&s, region}, inner, shape, is_unknown);
  }
}
inline void set_shape(graph_scope const& scope, request const& r, symbolic_tensor const& t, sizes const& shape) {
  graph_state& s = *scope.s;
  symbol const id = reshaped(scope, t, r);
  symbolic_undo back(s);
  std::int32_t const to = checked_shape(s, shape, r);
  back.keep();
  reshape_symbol(scope, id, to, false);
}
inline void set_shape(graph_scope const& scope, request const& r, symbolic_tensor const& t, automatic_t) {
  symbol const id = reshaped(scope, t, r);
  reshape_symbol(scope, id, scope.s->b.tensor(id).shape, true);
}

/// Frees a tensor's index.
inline void forget_tensor(graph_state& s, symbol id) {
  tensor_record dead;
  dead.dead = true;
  dead.own = true;
  dead.generation = look(s, id).generation + 1;
  record(s, id) = dead;
  std::erase(graph_at(s, s.b.tensor(id).region).tensors, id);
  s.symbolic.free_tensors.push_back(id);
  std::erase_if(s.gradients, [&](auto const& of) { return of.first == id || of.second == id; });
}
inline void free_tensor(graph_scope const& scope, request const& r, symbolic_tensor const& t) {
  graph_state& s = *scope.s;
  symbol const id = scope.local(t, r);
  tensor_record const& at = look(s, id);
  bool used = !at.own || at.exposed || at.outer != none;
  graph const& g = s.b.get();
  for (symbol other = 0; other < g.tensors.size(); ++other)
    used = used || (g.tensors[other].base == id && !look(s, other).dead);
  auto const is = [&](symbol x) { used = used || x == id; };
  for (exec_record const& e : s.symbolic.execs) {
    if (e.dead) continue;
    for (symbol const x : e.in) is(x);
    for (symbol const x : e.out) is(x);
    is(e.selector);
    for (auto const& [from, to] : e.bypasses) is(from), is(to);
  }
  for (graph_record const& sub : s.symbolic.graphs) {
    is(sub.count);
    is(sub.condition);
    for (auto const& [from, to] : sub.carries) is(from), is(to);
    for (auto const& [outer, inner] : sub.outer_inner) is(outer), is(inner);
  }
  if (used) raise_graph<refusals::symbolic_in_use>(s.b, about(r, id));
  forget_tensor(s, id);
}
/// Frees an operation with its edges and sub-graphs.
inline void free_exec(graph_state& s, std::int32_t id) {
  unclaim(s, id);
  unrealize(s, id);
  exec_record const x = exec_at(s, id);
  for (std::int32_t const p : x.before) std::erase(exec_at(s, p).after, id);
  for (std::int32_t const n : x.after) std::erase(exec_at(s, n).before, id);
  std::erase(graph_at(s, x.graph).sources, id);
  std::erase(graph_at(s, x.graph).destinations, id);
  for (std::int32_t const r : x.graphs) {
    std::vector<std::int32_t> const inside = graph_at(s, r).execs;
    for (std::int32_t const e : inside) free_exec(s, e);
    std::vector<symbol> const tensors = graph_at(s, r).tensors;
    for (symbol const t : tensors) forget_tensor(s, t);
    graph_record gone;
    gone.region = r;
    gone.parent = x.graph;
    gone.sealed = true;
    graph_at(s, r) = gone;
  }
  forget_exec(s, id);
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
