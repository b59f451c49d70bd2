// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_SYMBOLIC_STORE_HPP
#define COTANGENT_DYNAMIC_STATE_SYMBOLIC_STORE_HPP

#include <cotangent/dynamic/state/state.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

// Records of the symbolic API: synchronized with the graph, accessed with checks, rolled back after an error.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

inline request request_of_words(std::string_view name, std::source_location where) {
  return {name.data(), static_cast<int>(name.size()), nullptr, 0, where};
}
/// Throws a failure about the graph, not about shapes.
template <class Refusal>
[[noreturn]] inline void raise_graph(builder const& b, request const& r, extent const& left = {},
                                     extent const& right = {}) {
  throw graph_error(words_of(b, {why<Refusal>(), left, right, none, {}}, r));
}

inline tensor_record const& look(graph_state const& s, symbol t) {
  static tensor_record const nothing;
  return static_cast<std::size_t>(t) < s.symbolic.tensors.size()
             ? s.symbolic.tensors[static_cast<std::size_t>(t)]
             : nothing;
}
inline tensor_record& record(graph_state& s, symbol t) {
  auto& all = s.symbolic.tensors;
  if (static_cast<std::size_t>(t) >= all.size())
    all.resize(static_cast<std::size_t>(s.b.get().tensors.size()));
  return all[static_cast<std::size_t>(t)];
}
inline exec_record& exec_at(graph_state& s, std::int32_t e) {
  return s.symbolic.execs[static_cast<std::size_t>(e)];
}
inline exec_record const& exec_at(graph_state const& s, std::int32_t e) {
  return s.symbolic.execs[static_cast<std::size_t>(e)];
}
inline graph_record& graph_at(graph_state& s, std::int32_t r) {
  return s.symbolic.graphs[static_cast<std::size_t>(r)];
}
inline graph_record const& graph_at(graph_state const& s, std::int32_t r) {
  return s.symbolic.graphs[static_cast<std::size_t>(r)];
}

inline bool is_control(node const& n) {
  return n.op == info_of<op::loop>() || n.op == info_of<op::case_of>();
}

/// An index for an operation: a freed one, or a new one.
inline std::int32_t new_exec(graph_state& s, exec_record&& e) {
  std::int32_t const region = e.graph;
  std::int32_t at = static_cast<std::int32_t>(s.symbolic.execs.size());
  if (!s.symbolic.free_execs.empty()) {
    at = s.symbolic.free_execs.back();
    s.symbolic.free_execs.pop_back();
    e.generation = exec_at(s, at).generation;
    e.reused = static_cast<std::uint32_t>(s.origins.size());
    exec_at(s, at) = std::move(e);
  } else s.symbolic.execs.push_back(std::move(e));
  graph_at(s, region).execs.push_back(at);
  s.symbolic.made_execs.push_back(at);
  return at;
}

/// Adds records for symbols of expressions and gradients.
template <class = void> void keep_in_step(graph_state& s) {
  graph const& g = s.b.get();
  symbolic_record& all = s.symbolic;
  while (all.graphs.size() < static_cast<std::size_t>(g.regions.size())) {
    graph_record r;
    r.region = static_cast<std::int32_t>(all.graphs.size());
    r.parent = g.regions[r.region].parent;
    r.sealed = r.region != 0;
    all.graphs.push_back(std::move(r));
  }
  for (auto i = static_cast<std::int32_t>(all.node_exec.size()); i < g.nodes.size(); ++i) {
    node const& n = g.nodes[i];
    if (n.op == info_of<op::nothing>()) {
      all.node_exec.push_back(none);
      continue;
    }
    exec_record e;
    symbol const* const ids = g.ids.data() + n.first;
    e.in.assign(ids, ids + n.operand_count);
    e.out.assign(ids + n.operand_count, ids + n.operand_count + n.result_count);
    std::int64_t const* const a = g.numbers.data() + n.attribute;
    if (n.op == info_of<op::constant>()) {
      scalar const v = cotangent::detail::scalar_of(g.tensors[e.out.front()].type, a[0]);
      e.what = is_floating(v.type) ? command::set(v.real) : command::set(v.integer);
    } else e.what = command::emitted(n.op, std::vector<std::int64_t>(a, a + n.attribute_count));
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g, n);
      e.kind = exec_kind::loop;
      e.graphs.push_back(at.body);
    } else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g, n);
      e.kind = exec_kind::choice;
      for (int k = 0; k < at.branches; ++k) e.graphs.push_back(at.branch(k));
      e.selector = e.in.front();
    }
    e.nodes.push_back(i);
    e.graph = n.region;
    e.where = n.where;
    e.foreign = true;
    std::vector<std::int32_t> const graphs = e.graphs;
    std::int32_t const id = new_exec(s, std::move(e));
    for (std::int32_t const r : graphs) graph_at(s, r).owner = id;
    all.node_exec.push_back(id);
  }
}

inline std::unique_ptr<graph_state> graph_state::duplicate() const {
  auto copy = std::make_unique<graph_state>(*this);
  copy->identity = std::make_shared<graph_identity>();
  copy->identity->state = copy.get();
  copy->b.owner = copy.get();
  if (symbolic.used) keep_in_step(*copy); // its operations get the indices that they have, or will get, here
  cotangent::graph const& g = copy->b.get();
  auto execs = static_cast<std::int32_t>(copy->symbolic.execs.size());
  for (auto i = static_cast<std::int32_t>(copy->symbolic.node_exec.size()); i < g.nodes.size(); ++i)
    if (g.nodes[i].op != info_of<op::nothing>()) ++execs;
  copy->origins.push_back({identity->number, g.tensors.size(), execs});
  return copy;
}

/// The symbol of a handle, checked.
inline symbol checked(graph_state& s, symbolic_tensor const& t, request const& r) {
  if (!t.present()) raise_graph<refusals::symbolic_absent>(s.b, r);
  if (t.graph != s.identity->number) raise_graph<refusals::dynamic_other_graph>(s.b, r);
  tensor_record const& at = look(s, t.id);
  if (at.dead || at.generation != t.generation) raise_graph<refusals::symbolic_dead>(s.b, r);
  return t.id;
}
inline std::int32_t checked(graph_state& s, symbolic_exec const& e, request const& r) {
  if (!e.present()) raise_graph<refusals::symbolic_absent>(s.b, r);
  if (e.graph != s.identity->number) raise_graph<refusals::dynamic_other_graph>(s.b, r);
  if (static_cast<std::size_t>(e.id) >= s.symbolic.execs.size() || exec_at(s, e.id).dead ||
      exec_at(s, e.id).generation != e.generation)
    raise_graph<refusals::symbolic_dead>(s.b, r);
  return e.id;
}
/// The number of a sub-graph, checked.
inline std::int32_t checked_graph(graph_state const& s, std::int32_t number, request const& r) {
  auto const count = static_cast<std::int32_t>(s.symbolic.graphs.size());
  if (number >= 0 && number < count) return number;
  raise_graph<refusals::symbolic_number>(s.b, r, extent::of(number), extent::of(count));
}
inline symbolic_tensor handle_of(graph_state& s, symbol t) {
  if (t == none) return {};
  return {&s, t, look(s, t).generation, s.identity->number};
}
inline symbolic_exec exec_handle(graph_state& s, std::int32_t e) {
  if (e == none) return {};
  return {&s, e, exec_at(s, e).generation, s.identity->number};
}

inline void name_symbol(builder& b, symbol t, std::string_view name) {
  if (name.empty()) return;
  b.edit().tensors[t].name = b.edit().add_name(name.data(), static_cast<int>(name.size()));
}

/// A tensor symbol of a sub-graph: at a freed index, or a new one.
inline symbol new_tensor(graph_state& s, std::int32_t region, element e, std::int32_t shape, bool automatic,
                         std::string_view name) {
  symbol t = none;
  tensor_record fresh;
  auto& unused = s.symbolic.free_tensors;
  if (!unused.empty() && s.b.tensor(unused.back()).region == region) {
    fresh.reused = static_cast<std::uint32_t>(s.origins.size());
    t = unused.back();
    unused.pop_back();
    tensor_symbol& at = s.b.edit().tensors[t];
    at.type = e;
    at.shape = shape;
    at.name = at.base = at.window = at.producer = none;
  } else {
    std::int32_t const before = s.b.region;
    s.b.region = region;
    t = s.b.symbol_of(e, shape);
    s.b.region = before;
  }
  name_symbol(s.b, t, name);
  fresh.own = true;
  fresh.automatic = automatic;
  fresh.generation = look(s, t).generation;
  record(s, t) = fresh;
  graph_at(s, region).tensors.push_back(t);
  s.symbolic.made_tensors.push_back(t);
  return t;
}

/// True if a symbol is an intermediate value of one operation of this API: it has no name outside.
inline bool is_internal(graph_state const& s, symbol t) {
  graph const& g = s.b.get();
  std::int32_t node = g.tensors[t].producer;
  bool const made = node != none;
  if (!made) node = g.regions[g.tensors[t].region].owner;
  if (node == none || static_cast<std::size_t>(node) >= s.symbolic.node_exec.size()) return false;
  std::int32_t const e = s.symbolic.node_exec[static_cast<std::size_t>(node)];
  return e == none ? made : !exec_at(s, e).foreign;
}

/// Calls the hooks for all symbols created since the last call: by this API, by expressions, by gradients.
/// Tensors and aliases come first, then operations, each in the order of creation; the hook set last is
/// called first. A hook may create symbols and set hooks.
template <class = void> void tell_made(graph_state& s) {
  symbolic_record& all = s.symbolic;
  if (!all.used) return;
  std::shared_ptr<symbolic_hooks> const hooks = all.hooks;
  bool const any = !hooks->tensor.empty() || !hooks->alias.empty() || !hooks->exec.empty();
  if (any) keep_in_step(s);
  std::vector<symbol> tensors = std::exchange(all.made_tensors, {});
  std::vector<std::int32_t> const execs = std::exchange(all.made_execs, {});
  symbol const first = std::exchange(all.told, s.b.get().tensors.size());
  if (!any) return;
  for (symbol t = first; t < s.b.get().tensors.size(); ++t)
    if (!look(s, t).own && !is_internal(s, t)) tensors.push_back(t);
  auto const tell = [](auto const list, auto const& made) { // a copy
    for (auto at = list.rbegin(); at != list.rend(); ++at) at->second(made);
  };
  for (symbol const t : tensors)
    if (!look(s, t).dead) tell(s.b.tensor(t).base == none ? hooks->tensor : hooks->alias, handle_of(s, t));
  for (std::int32_t const e : execs)
    if (!exec_at(s, e).dead) tell(hooks->exec, exec_handle(s, e));
}

inline symbol root_of(graph_state const& s, symbol t) {
  return s.b.tensor(t).base == none ? t : s.b.tensor(t).base;
}
inline bool is_unknown(graph_state const& s, symbol t) {
  return t != none && look(s, root_of(s, t)).automatic;
}
/// True if an operation writes it, or a part of it.
inline bool is_written(graph_state const& s, symbol t) {
  if (s.b.tensor(t).producer != none) return true;
  symbol const root = root_of(s, t);
  if (s.b.tensor(root).producer != none) return true;
  auto const at = s.written.find(root);
  return at != s.written.end() && !at->second.empty();
}

/// Rolls back additions, unless `keep` is called. (Changes are restored by the caller.)
class symbolic_undo {
  graph_state* s_;
  builder::mark mark_;

public:
  explicit symbolic_undo(graph_state& s) : s_(&s), mark_((keep_in_step(s), s.b.here())) {}
  symbolic_undo(symbolic_undo const&) = delete;
  symbolic_undo& operator=(symbolic_undo const&) = delete;
  ~symbolic_undo() {
    if (s_ == nullptr) return;
    s_->b.take_back(mark_);
    s_->symbolic.take_back(mark_.tensors, mark_.nodes, mark_.regions);
  }
  void keep() noexcept { s_ = nullptr; }
};

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template void keep_in_step(graph_state&);
extern template void tell_made(graph_state&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
