// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_LOWER_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_LOWER_HPP

#include <cotangent/dynamic/symbolic/seal.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Lowers the records of the symbolic API to a plain graph. It works on a copy, so that compiling changes
// nothing.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// The purpose of a lowering.
struct lowering {
  std::vector<symbol> outputs{};
  std::vector<symbol> bound{};                        // symbols with memory
  std::vector<std::pair<symbol, symbol>> updates{};   // inputs and their next values
  std::vector<std::int32_t> const* sources = nullptr; // null: all
  std::vector<std::int32_t> const* destinations = nullptr;
  bool all = true; // false: only operations that outputs, bindings and updates need
};
struct lowered {
  array<dependency> extra;                           // order beyond data dependencies
  std::vector<std::pair<symbol, symbol>> stands_for; // bound symbols, and the inputs that get their memory
};

/// Finds inputs that are neither written nor declared: symbols that are read or requested. `cut`: by operation, those that
/// sources and destinations leave out.
inline void find_inputs(graph_state& s, std::vector<symbol> const& wanted, std::vector<bool> const& cut, request r) {
  std::vector<bool> seen(static_cast<std::size_t>(s.b.get().tensors.size()));
  for (symbol const t : s.inputs) seen[static_cast<std::size_t>(t)] = true;
  for (symbol const t : s.piecewise) seen[static_cast<std::size_t>(t)] = true;
  for (std::int32_t const e : graph_at(s, 0).execs) // also by operations that nothing needs: the elements between are zero
    for (symbol const t : io_of(s, e).out)
      if (t != none && root_of(s, t) != t && !cut[static_cast<std::size_t>(e)]) seen[static_cast<std::size_t>(root_of(s, t))] = true;
  auto const look_at = [&](symbol t) {
    if (t == none || s.b.tensor(t).region != 0) return;
    symbol const root = root_of(s, t);
    if (seen[static_cast<std::size_t>(root)] || is_written(s, root)) return;
    seen[static_cast<std::size_t>(root)] = true;
    r.operands = &root;
    r.operand_count = 1;
    if (is_unknown(s, root)) raise_graph<refusals::symbolic_shape_unknown>(s.b, r);
    s.inputs.push_back(root);
  };
  for (node const& n : s.b.get().nodes)
    for (int k = 0; k < n.operand_count; ++k) look_at(s.b.get().ids[n.first + k]);
  for (symbol const t : wanted) look_at(t);
}

/// True if memory bound to `t` is read: `t` is a view of a part that no operation writes.
inline bool is_given_part(graph_state const& s, symbol t, std::vector<symbol> const& bound) {
  symbol const root = root_of(s, t);
  if (t == root || s.b.tensor(t).region != 0 || s.b.tensor(root).producer != none ||
      repeats(window_of(s.b.get(), t)))
    return false;
  bool given = true;
  if (auto const at = s.written.find(root); at != s.written.end())
    for (symbol const other : at->second) given = given && !overlap(s.b.get(), t, other);
  for (symbol const other : bound) given = given && (other == t || root != other);
  return given;
}
/// An input that is written to the view: the bound memory is its memory.
inline void give_part(graph_state& s, symbol t, std::vector<symbol> const& bound, lowered& l,
                      request const& r) {
  if (!is_given_part(s, t, bound)) return;
  symbol const in = s.b.symbol_like(t);
  s.b.edit().tensors[in].name = s.b.tensor(t).name;
  (void)s.b.assign(info_of<op::identity>(), &in, 1, &t, 1, nullptr, 0, r.where);
  s.written[root_of(s, t)].push_back(t);
  s.inputs.push_back(in);
  l.stands_for.emplace_back(t, in);
}

template <class = void> lowered lower(graph_state& s, lowering const& to, request const& r) {
  lowered l;
  keep_in_step(s);
  std::vector<symbol> wanted = to.outputs;
  wanted.insert(wanted.end(), to.bound.begin(), to.bound.end());
  for (auto const& [of, next] : to.updates) {
    wanted.push_back(of);
    wanted.push_back(next);
  }
  sealing(s, r).run(to.all ? nullptr : &wanted);
  keep_in_step(s);
  std::vector<symbol> may_be_given; // unread symbols may be bound too
  for (symbol const t : graph_at(s, 0).tensors)
    if (s.b.tensor(t).base == none && !is_unknown(s, t) && !gets_written(s, t)) may_be_given.push_back(t);
  exec_order const order = order_in(s, 0, false);
  (void)sorted(s, order, r); // cycles are refused
  std::vector<bool> runs = between(order, to.sources, to.destinations);
  std::vector<bool> cut(s.symbolic.execs.size()); // by operation
  for (std::size_t k = 0; k < runs.size(); ++k) cut[static_cast<std::size_t>(order.execs[k])] = !runs[k];
  if (!to.all) {
    std::vector<bool> const needed = needed_for(s, order, wanted);
    for (std::size_t k = 0; k < runs.size(); ++k) runs[k] = runs[k] && needed[k];
  }
  for (std::size_t k = 0; k < order.execs.size(); ++k) {
    std::int32_t const e = order.execs[k];
    if (runs[k]) {
      bool const keep = exec_at(s, e).flags.keep || !exec_at(s, e).hint.empty();
      if (!exec_at(s, e).foreign || keep || exec_at(s, e).flags.exact)
        for (std::int32_t const i : exec_at(s, e).nodes) {
          node& n = s.b.edit().nodes[i];
          n.flags.merges = exec_at(s, e).kind == exec_kind::operation && !keep;
          n.flags.exact = n.flags.exact || exec_at(s, e).flags.exact;
        }
      continue;
    }
    for (symbol const t : io_of(s, e).out)
      if (t != none)
        if (auto const at = s.written.find(root_of(s, t)); at != s.written.end()) std::erase(at->second, t);
    unrealize(s, e);
  }
  auto const before = [&](std::int32_t a, std::int32_t b) {
    for (std::int32_t const i : exec_at(s, a).nodes)
      for (std::int32_t const j : exec_at(s, b).nodes) l.extra.push({i, j});
  };
  auto const is_noop = [&](std::int32_t e) {
    return exec_at(s, e).kind == exec_kind::operation && exec_at(s, e).what.kind() == command::form::nothing;
  };
  for (std::size_t k = 0; k < order.execs.size(); ++k) {
    if (!runs[k]) continue;
    std::int32_t const e = order.execs[k];
    for (std::int32_t const next : order.after[k]) {
      std::int32_t const f = order.execs[static_cast<std::size_t>(next)];
      if (is_noop(e) || is_noop(f)) before(e, f);
    }
    if (!is_noop(e))
      for (std::int32_t const f : exec_at(s, e).after)
        if (!is_noop(f)) before(e, f);
  }
  for (std::size_t k = 0; k < to.bound.size(); ++k) {
    symbol const t = to.bound[k];
    if (s.b.tensor(t).region != 0) { // of a sub-graph: its outer input
      symbol at = t;
      while (s.b.tensor(at).region != 0 && look(s, at).outer != none && look(s, look(s, at).outer).lifted)
        at = look(s, at).outer;
      if (s.b.tensor(at).region == 0 && !is_written(s, at)) l.stands_for.emplace_back(t, at);
      continue;
    }
    give_part(s, t, to.bound, l, r);
  }
  for (std::int32_t const e : order.execs) // of a tensor that operations still write in part, the other parts are inputs
    if (cut[static_cast<std::size_t>(e)])
      for (symbol const t : io_of(s, e).out)
        if (t != none && root_of(s, t) != t && is_written(s, root_of(s, t))) give_part(s, t, to.bound, l, r);
  wanted.insert(wanted.end(), may_be_given.begin(), may_be_given.end());
  find_inputs(s, wanted, cut, r);
  return l;
}

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template lowered lower(graph_state&, lowering const&, request const&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
