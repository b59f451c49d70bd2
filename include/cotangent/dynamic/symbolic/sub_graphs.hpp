// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SUB_GRAPHS_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SUB_GRAPHS_HPP

#include <cotangent/dynamic/symbolic/order.hpp>
#include <cotangent/dynamic/symbolic/symbols.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

// Sub-graphs, the loops and choices that run them, and symbols that correspond across their borders.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// A new sub-graph, and its number.
inline std::int32_t add_sub_graph(graph_scope const& scope, request const&, std::string_view name) {
  graph_state& s = *scope.s;
  std::int32_t const before = s.b.region;
  s.b.region = scope.region;
  std::int32_t const r = s.b.open_region();
  s.b.region = before;
  s.b.edit().regions[r].owner = s.b.assign(info_of<op::nothing>(), nullptr, 0, nullptr, 0, nullptr, 0, {});
  s.b.edit().nodes[s.b.get().regions[r].owner].region = scope.region;
  keep_in_step(s);
  graph_at(s, r).sealed = false;
  graph_at(s, r).name = name;
  return r;
}
/// Adds a loop or a choice, whose nodes wait for the rest of its sub-graphs.
inline std::int32_t add_control(graph_scope const& scope, request const& r, exec_record&& e, char const* what,
                                std::string_view name) {
  e.what = command(what, gives_back{});
  e.name = name;
  e.where = r.where;
  e.graph = scope.region;
  e.pending = true;
  return new_exec(*scope.s, std::move(e));
}
/// True if `b` may have the value of `a`, as far as their shapes are known.
inline bool may_hold(graph_state const& s, symbol b, symbol a) {
  extend::tensor_symbol const from = s.b.tensor(a), to = s.b.tensor(b);
  return from.type == to.type && (from.shape == to.shape || is_unknown(s, a) || is_unknown(s, b));
}

// ---- loops

/// The symbol of a condition: one bool of this sub-graph.
inline symbol condition_of(graph_scope const& scope, request const& r, symbolic_tensor const& t) {
  builder const& b = scope.s->b;
  symbolic_undo back(*scope.s);
  symbol const id = scope.here(t, r);
  if (b.tensor(id).type != element::boolean || b.dims(id).rank != 0)
    raise_graph<refusals::symbolic_condition>(b, about(r, id));
  back.keep();
  return id;
}
inline symbolic_exec add_loop(graph_scope const& scope, request const& r, graph_scope const& body,
                              symbolic_tensor const& condition, bool last, std::string_view name) {
  graph_state& s = *scope.s;
  if (body.s != &s || body.record().parent != scope.region || body.record().owner != none || body.record().sealed)
    raise_graph<refusals::symbolic_has_owner>(s.b, r);
  symbol const asked = condition_of(body, r, condition);
  exec_record e;
  e.kind = exec_kind::loop;
  e.graphs.push_back(body.region);
  std::int32_t const id = add_control(scope, r, std::move(e), "while", name);
  graph_record& g = body.record();
  g.owner = id;
  g.condition = asked;
  g.condition_last = last;
  return made_exec(s, id);
}
inline void set_condition(graph_scope const& scope, request const& r, symbolic_tensor const& condition, bool last) {
  symbol const asked = condition_of(scope, r, condition);
  scope.record().condition = asked;
  scope.record().condition_last = last;
}
inline symbolic_tensor iteration_count(graph_scope const& scope, request const&) {
  graph_state& s = *scope.s;
  if (scope.record().count == none) {
    symbol const t = new_tensor(s, scope.region, element::int64, s.b.shape(extend::dimensions{}), false, "count");
    scope.record().count = t;
    tell_made(s);
  }
  return handle_of(s, scope.record().count);
}
inline void add_carry(graph_scope const& scope, request const& r, symbolic_tensor const& from, symbolic_tensor const& to) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  symbol const pair[]{scope.here(from, r), scope.here(to, r)};
  graph_record& g = scope.record();
  if (!may_hold(s, pair[1], pair[0])) raise_graph<refusals::symbolic_carry>(s.b, about(r, pair));
  bool taken = s.b.tensor(pair[1]).base != none || pair[1] == g.count || gets_written(s, pair[1]) ||
               look(s, pair[1]).writer != none;
  for (auto const& known : g.carries) taken = taken || known.second == pair[1];
  if (taken) raise_graph<refusals::symbolic_carry_twice>(s.b, about(r, pair));
  back.keep();
  g.carries.emplace_back(pair[0], pair[1]);
  tell_made(s);
}

// ---- choices

inline symbolic_exec add_choice(graph_scope const& scope, request const& r, symbolic_tensor const& selector,
                                std::string_view name) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  symbol const t = scope.here(selector, r);
  element const e = s.b.tensor(t).type;
  if ((e != element::int32 && e != element::int64) || s.b.dims(t).rank != 0)
    raise_graph<refusals::case_index>(s.b, about(r, t));
  back.keep();
  exec_record x;
  x.kind = exec_kind::choice;
  x.selector = t;
  return made_exec(s, add_control(scope, r, std::move(x), "case_of", name));
}
/// A choice that is not lowered yet.
inline std::int32_t choice_of(graph_scope const& scope, request const& r, symbolic_exec const& e) {
  graph_state const& s = *scope.s;
  std::int32_t const id = scope.here(e, r);
  if (exec_at(s, id).kind != exec_kind::choice) raise_graph<refusals::symbolic_not_a_choice>(s.b, r);
  if (!exec_at(s, id).pending) raise_graph<refusals::symbolic_sealed>(s.b, r);
  return id;
}
/// The number of the new branch.
inline std::int32_t add_branch(graph_scope const& scope, request const& r, symbolic_exec const& choice,
                               std::string_view name) {
  graph_state& s = *scope.s;
  std::int32_t const id = choice_of(scope, r, choice);
  std::int32_t const region = add_sub_graph(scope, r, name);
  exec_at(s, id).graphs.push_back(region);
  graph_at(s, region).owner = id;
  return region;
}
inline void add_bypass(graph_scope const& scope, request const& r, symbolic_exec const& choice, symbolic_tensor const& from,
                       symbolic_tensor const& to) {
  graph_state& s = *scope.s;
  std::int32_t const id = choice_of(scope, r, choice);
  symbolic_undo back(s);
  symbol const pair[]{scope.here(from, r), scope.here(to, r)};
  bool fits = may_hold(s, pair[1], pair[0]);
  for (auto const& known : exec_at(s, id).bypasses) fits = fits && known.second != pair[1];
  if (!fits) raise_graph<refusals::symbolic_bypass>(s.b, about(r, pair));
  back.keep();
  exec_at(s, id).bypasses.emplace_back(pair[0], pair[1]);
  tell_made(s);
}

// ---- symbols of other sub-graphs

/// The symbol of this sub-graph for `t` of an enclosing or an inner one.
inline symbolic_tensor resolve(graph_scope const& scope, request const& r, symbolic_tensor const& t) {
  graph_state& s = *scope.s;
  symbol const id = checked(s, t, r);
  bool inside = false;
  for (std::int32_t up = s.b.tensor(id).region; up != none; up = graph_at(s, up).parent)
    inside = inside || up == scope.region;
  return made_tensor(s, inside ? resolved_outwards(s, scope.region, id, r) : resolved(s, scope.region, id, r));
}
inline void hook_up(graph_scope const& scope, request const& r, symbolic_tensor const& inner,
                    symbolic_tensor const& outer) {
  graph_state& s = *scope.s;
  if (scope.region == 0) raise_graph<refusals::symbolic_hookup>(s.b, r);
  symbolic_undo back(s);
  symbol const in = scope.local(inner, r);
  symbol const out = graph_scope{&s, scope.record().parent}.here(outer, r);
  symbol const pair[]{in, out};
  bool fits = may_hold(s, in, out) && look(s, in).outer == none && in != scope.record().count;
  for (auto const& known : scope.record().outer_inner) fits = fits && known.first != out;
  if (!fits) raise_graph<refusals::symbolic_hookup>(s.b, about(r, pair));
  back.keep();
  record(s, in).outer = out;
  scope.record().outer_inner.emplace_back(out, in);
  tell_made(s);
}
inline void set_peer(graph_state& s, request const& r, symbolic_tensor const& a, symbolic_tensor const& b) {
  symbol const x = checked(s, a, r), y = checked(s, b, r);
  record(s, x).peer = y;
  record(s, y).peer = x;
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
