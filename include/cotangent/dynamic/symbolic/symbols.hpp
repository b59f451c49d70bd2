// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLS_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLS_HPP

#include <cotangent/dynamic/expressions/functions.hpp>
#include <cotangent/dynamic/expressions/options.hpp>
#include <cotangent/dynamic/symbolic/realize.hpp>
#include <cotangent/dynamic/symbolic/scope.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

// Creates symbols: tensors, aliases, operations; converts tensors to expressions and back.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Keeps a hook registered until destruction; hooks that are set later must end earlier.
template <class List> class hook_guard {
  std::weak_ptr<symbolic_hooks> hooks_;
  List symbolic_hooks::* list_;
  int number_;

public:
  hook_guard(std::shared_ptr<symbolic_hooks> const& hooks, List symbolic_hooks::* list, int number)
      : hooks_(hooks), list_(list), number_(number) {}
  hook_guard(hook_guard&& other) noexcept
      : hooks_(std::move(other.hooks_)), list_(other.list_), number_(other.number_) {
    other.hooks_.reset();
  }
  hook_guard& operator=(hook_guard&&) = delete;
  ~hook_guard() {
    if (auto const hooks = hooks_.lock())
      std::erase_if((*hooks).*list_, [&](auto const& h) { return h.first == number_; });
  }
};
template <class List, class Hook>
hook_guard<List> hooked(graph_state& s, List symbolic_hooks::* list, Hook&& hook) {
  tell_made(s); // the others
  symbolic_hooks& all = *s.symbolic.hooks;
  (all.*list).emplace_back(++all.next, std::forward<Hook>(hook));
  return hook_guard<List>(s.symbolic.hooks, list, all.next);
}
/// The handle of a new symbol. Calls the hooks.
inline symbolic_tensor made_tensor(graph_state& s, symbol t) {
  symbolic_tensor const handle = handle_of(s, t);
  tell_made(s);
  return handle;
}
inline symbolic_exec made_exec(graph_state& s, std::int32_t e) {
  symbolic_exec const handle = exec_handle(s, e);
  tell_made(s);
  return handle;
}

inline std::int32_t checked_shape(graph_state& s, sizes const& shape, request const& r) {
  std::int32_t const id = shape_for(s.b, shape);
  if (failure const f = s.b.failed(); f.why != nullptr) raise(s.b, f, r);
  return id;
}
inline symbolic_tensor add_tensor(graph_scope const& scope, request const& r, element e, sizes const& shape,
                                  std::string_view name) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  s.b.place = r.where;
  symbol const t = new_tensor(s, scope.region, e, checked_shape(s, shape, r), false, name);
  back.keep();
  return made_tensor(s, t);
}
inline symbolic_tensor add_tensor(graph_scope const& scope, request const&, element e, automatic_t, std::string_view name) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  symbol const t = new_tensor(s, scope.region, e, s.b.shape(extend::dimensions{}), true, name);
  back.keep();
  return made_tensor(s, t);
}

/// The symbol of a window on `of`. Throws if it does not fit; the caller rolls back additions.
inline symbol window_on(graph_state& s, symbol of, window const& w, request const& r) {
  s.b.place = r.where;
  symbol const v = view_symbol(s.b, of, w);
  if (failure const f = s.b.failed(); f.why != nullptr) raise(s.b, f, about(r, of));
  return v;
}
inline symbolic_tensor add_alias(graph_scope const& scope, request const& r, symbolic_tensor const& of, window const& w,
                                 std::string_view name) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  symbol const from = scope.here(of, r);
  if (is_unknown(s, from)) raise_graph<refusals::symbolic_shape_unknown>(s.b, about(r, from));
  symbol const t = window_on(s, from, w, r);
  name_symbol(s.b, t, name);
  record(s, t).own = true;
  scope.record().tensors.push_back(t);
  s.symbolic.made_tensors.push_back(t);
  back.keep();
  tell_made(s);
  return handle_of(s, t);
}

/// Checks that an operation of this graph may write these symbols, besides `own`.
inline void check_outputs(graph_scope const& scope, std::vector<symbol> const& out, request const& r) {
  graph_state const& s = *scope.s;
  builder const& b = s.b;
  std::vector<symbol> mine;
  for (symbol const t : out) {
    if (t == none) continue;
    symbol const root = root_of(s, t);
    graph_record const& g = scope.record();
    bool fixed = t == g.count;
    for (auto const& carried : g.carries) fixed = fixed || root == carried.second;
    if (!look(s, root).own)
      for (symbol const in : s.inputs) fixed = fixed || (in == root && t == root);
    if (fixed) raise_graph<refusals::symbolic_output_place>(b, about(r, t));
    if (b.tensor(t).producer != none || b.tensor(root).producer != none || look(s, t).writer != none ||
        (t != root && repeats(window_of(b.get(), t))))
      raise_graph<refusals::symbolic_assigned>(b, about(r, t));
    auto const at = s.written.find(root);
    auto const meets = [&](symbol other) {
      symbol const pair[]{t, other};
      if (overlap(b.get(), t, other)) raise_graph<refusals::symbolic_assigned>(b, about(r, pair));
    };
    if (at != s.written.end() && at->second.size() < compared_at_once)
      for (symbol const other : at->second) meets(other);
    if (mine.size() < compared_at_once)
      for (symbol const other : mine) meets(other);
    mine.push_back(t);
  }
}
/// Registers an operation as the writer of its outputs.
inline void claim(graph_state& s, std::int32_t e) {
  exec_record const& x = exec_at(s, e);
  if (x.kind != exec_kind::operation || x.what.kind() == command::form::nothing) return;
  for (symbol const t : x.out)
    if (t != none) {
      s.written[root_of(s, t)].push_back(t);
      record(s, t).writer = e;
    }
}
inline void unclaim(graph_state& s, std::int32_t e) {
  for (symbol const t : exec_at(s, e).out) {
    if (t == none || exec_at(s, e).what.kind() == command::form::nothing) continue;
    if (auto const at = s.written.find(root_of(s, t)); at != s.written.end()) std::erase(at->second, t);
    record(s, t).writer = none;
  }
}

/// Frees an operation's index.
inline void forget_exec(graph_state& s, std::int32_t id) {
  exec_record& e = exec_at(s, id);
  std::erase(graph_at(s, e.graph).execs, id);
  std::erase(s.symbolic.made_execs, id);
  std::uint32_t const generation = e.generation + 1;
  e = {};
  e.dead = true;
  e.generation = generation;
  s.symbolic.free_execs.push_back(id);
}
inline symbolic_exec add_exec(graph_scope const& scope, request const& r, command const& what,
                              std::vector<symbolic_tensor> const& inputs, std::vector<symbolic_tensor> const& outputs,
                              std::string_view name) {
  graph_state& s = *scope.s;
  symbolic_undo back(s);
  exec_record e;
  e.what = what;
  e.in = scope.here(inputs, r);
  e.out = scope.here(outputs, r);
  e.name = name;
  e.where = r.where;
  e.graph = scope.region;
  if (what.kind() != command::form::nothing) check_outputs(scope, e.out, r);
  std::int32_t const id = new_exec(s, std::move(e));
  try {
    realize(s, id);
  } catch (...) {
    forget_exec(s, id);
    throw;
  }
  claim(s, id);
  back.keep();
  return made_exec(s, id);
}

/// The expression of a tensor symbol of the graph itself.
inline any_expr expression_at(graph_scope const& scope, request const& r, symbolic_tensor const& t) {
  graph_state& s = *scope.s;
  symbol const id = scope.local(t, r);
  if (scope.region != 0) raise_graph<refusals::symbolic_not_root>(s.b, r);
  if (is_unknown(s, id)) raise_graph<refusals::symbolic_shape_unknown>(s.b, about(r, id));
  record(s, id).exposed = true;
  return any_expr(standing(s, id), s.b.tensor(id).type);
}
inline symbolic_tensor symbol_of(graph_state& s, request const& r, any_expr const& e) {
  if (e.where_it_stands().s == nullptr) raise_graph<refusals::dynamic_detached>(s.b, r);
  if (!e.where_it_stands().is_in(s)) raise_graph<refusals::dynamic_other_graph>(s.b, r);
  record(s, e.id()).exposed = true;
  return handle_of(s, checked(s, handle_of(s, e.id()), r));
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
