// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_BACKWARD_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_BACKWARD_HPP

#include <cotangent/dynamic/expressions/aggregation.hpp>
#include <cotangent/dynamic/expressions/options.hpp>
#include <cotangent/dynamic/state/body_gradient.hpp>
#include <cotangent/dynamic/symbolic/lower.hpp>

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

// Gradients of graphs built from expressions, symbols, or both.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {

/// Restores a former graph, if more was changed than added.
template <class = void> void restore(graph_state& s, graph_state& was) {
  std::shared_ptr<symbolic_hooks> hooks = std::move(s.symbolic.hooks);
  s.b = std::move(was.b);
  s.inputs = std::move(was.inputs);
  s.parameters = std::move(was.parameters);
  s.states = std::move(was.states);
  s.piecewise = std::move(was.piecewise);
  s.written = std::move(was.written);
  s.gradients = std::move(was.gradients);
  s.constants = std::move(was.constants);
  s.symbolic = std::move(was.symbolic);
  s.symbolic.hooks = std::move(hooks);
  s.forget(s.b.get().tensors.size());
}

/// Restores the graph on destruction, unless `keep` is called.
class whole_undo {
  graph_state* s_;
  std::unique_ptr<graph_state> was_;

public:
  explicit whole_undo(graph_state& s) : s_(&s), was_(std::make_unique<graph_state>(s)) {}
  whole_undo(whole_undo const&) = delete;
  whole_undo& operator=(whole_undo const&) = delete;
  ~whole_undo() {
    if (s_ != nullptr) restore(*s_, *was_);
  }
  void keep() noexcept { s_ = nullptr; }
};

/// Finds the values that loops record for their reverse sweep, and pairs of sub-graphs.
inline void find_peers(graph_state& s, std::int32_t first_node) {
  graph const& g = s.b.get();
  for (std::int32_t i = first_node; i < g.nodes.size(); ++i) {
    node const& n = g.nodes[i];
    if (n.op != info_of<op::loop>()) continue;
    loop_layout const at = loop_layout::of(g, n);
    auto const belongs = [&](symbol operand, symbol inside) {
      if (operand == none || g.tensors[operand].producer == none) return;
      node const& f = g.nodes[g.tensors[operand].producer];
      if (f.op != info_of<op::loop>() || &f == &n) return;
      loop_layout const forward = loop_layout::of(g, f);
      graph_at(s, at.body).peer = forward.body;
      graph_at(s, forward.body).peer = at.body;
      for (int k = 0; k < forward.stacked && inside != none; ++k)
        if (g.ids[f.first + f.operand_count + forward.stack(k)] == operand) {
          symbol const kept = g.ids[g.regions[forward.body].first_output + forward.entry(k)];
          record(s, kept).taped = true;
          record(s, kept).peer = inside;
          record(s, inside).peer = kept;
        }
    };
    belongs(g.ids[n.first], none);
    for (int k = 0; k < at.scanned; ++k)
      belongs(g.ids[n.first + at.scan(k)], g.ids[g.regions[at.body].first_input + at.scan(k)]);
  }
}

/// Orders each operation from node `first` on after the operation whose adjoint it is, and copies its exact
/// flag.
inline void follow_forward(graph_state& s, std::int32_t first, array<std::int32_t> const& made_for) {
  std::vector<std::int32_t> const& execs = s.symbolic.node_exec;
  for (std::int32_t i = first; i < made_for.size(); ++i) {
    std::int32_t const e = execs[static_cast<std::size_t>(i)];
    if (e == none || made_for[i] == none) continue;
    std::int32_t const f = execs[static_cast<std::size_t>(made_for[i])];
    if (f == none || f == e || exec_at(s, e).graph != exec_at(s, f).graph) continue;
    exec_at(s, e).forward = f;
    exec_at(s, e).forward_generation = exec_at(s, f).generation;
    exec_at(s, e).flags.exact = exec_at(s, f).flags.exact;
  }
}

/// A sweep over some operations of the graph itself: the others are constant.
class part_walk {
  builder& b_;
  array<bool> const& part_; // by node

public:
  part_walk(builder& b, array<bool> const& part) : b_(b), part_(part) {}
  gradient_walk walk() {
    return {[](void* with, sweep_scope const& whole, gradient_request const& r, symbol* result) {
              part_walk const& self = *static_cast<part_walk*>(with);
              region_index index(self.b_.get(), order_of(self.b_.get()).nodes.data());
              index.keep_of_graph(self.part_);
              sweep_scope const scope{self.b_,       index,      whole.region, whole.in,
                                      whole.control, whole.tape, whole.sum};
              return backward_sweep(scope, r).run(r, result);
            },
            this};
  }
};

/// Two results are two values, each with memory of its own: a gradient that equals another one, or an
/// existing symbol (a seed, an input, a part of one), becomes a copy.
inline void give_own_symbols(builder& b, std::vector<symbol>& dx, symbol first_new) {
  builder_scope const before(b);
  b.flags.of_gradient = true;
  std::vector<bool> taken(static_cast<std::size_t>(b.get().tensors.size()));
  for (symbol& t : dx) {
    tensor_symbol const like = b.tensor(t);
    bool const old = (like.base == none ? t : like.base) < first_new;
    if (!old && !taken[static_cast<std::size_t>(t)]) {
      taken[static_cast<std::size_t>(t)] = true;
      continue;
    }
    symbol const own = b.symbol_of(like.type, like.shape);
    (void)b.assign(info_of<op::identity>(), &t, 1, &own, 1, nullptr, 0, b.place);
    t = own;
  }
}

/// The gradients of `y` with cotangents `dy` (or none) with respect to `x`, one symbol each. `undone`: the
/// caller restores a symbolic graph after an error. `part`: by operation, whether it is differentiated; null:
/// all are.
template <class = void>
std::vector<symbol> gradient_symbols(graph_state& s, std::vector<symbol> const& y, std::vector<symbol> const& dy,
                                     std::vector<symbol> const& x, gradient_options const& options, request r,
                                     bool undone = false, std::vector<bool> const* part = nullptr) {
  builder& b = s.b;
  std::unique_ptr<whole_undo> all;
  std::unique_ptr<builder> before;
  std::vector<symbol> inputs = s.inputs, dx(x.size() + 1, none);
  if (s.symbolic.used) {
    if (!undone) all = std::make_unique<whole_undo>(s);
    std::vector<symbol> wanted = y;
    if (!s.frames.empty()) s.frames.front().maker->each_known([&](symbol outer, symbol) { wanted.push_back(outer); });
    sealing(s, r).run(&wanted);
    keep_in_step(s);
    find_inputs(s, {}, std::vector<bool>(s.symbolic.execs.size()), r);
    std::swap(inputs, s.inputs);
  } else if (b.get().regions.size() > 1) before = std::make_unique<builder>(b);
  undo back(s, before.get()); // loops and branches get further results
  r.operands = y.data();
  r.operand_count = static_cast<int>(y.size());
  if (!dy.empty() && dy.size() != y.size())
    raise<refusals::dynamic_seed_count>(b, r, extent::of(static_cast<std::int64_t>(dy.size())),
                                        extent::of(static_cast<std::int64_t>(y.size())));
  if (options.tape.limit < 0)
    raise<refusals::tape_limit>(b, r, extent::of(options.tape.limit), extent::of(0));
  for (std::vector<symbol> const* const all_of_them : {&y, &x})
    for (symbol const t : *all_of_them)
      if (!is_floating(b.tensor(t).type)) {
        request const about{"gradient", 8, &t, 1, r.where};
        raise<refusals::element_not_floating>(b, about);
      }
  b.place = r.where;
  std::int32_t const first = b.get().nodes.size();
  symbol const first_symbol = b.get().tensors.size();
  tape_options tape = options.tape;
  tape.in_place = !s.symbolic.used; // operations of symbolic graphs are identified by their position
  array<std::int32_t> made_for;
  for (std::int32_t i = 0; s.symbolic.used && i < first; ++i) made_for.push(none);
  users_sum sums(s, r, options);
  walk_out out(s, r);
  array<bool> among;
  for (std::int32_t i = 0; part != nullptr && i < first; ++i) {
    std::int32_t const e = s.symbolic.node_exec[static_cast<std::size_t>(i)];
    among.push(e != none && static_cast<std::size_t>(e) < part->size() && (*part)[static_cast<std::size_t>(e)]);
  }
  part_walk some(b, among);
  cotangent::detail::gradient(b,
                      {y.data(), dy.empty() ? nullptr : dy.data(), static_cast<int>(y.size()), x.data(),
                       static_cast<int>(x.size()), options.policy, inputs.data(),
                       static_cast<int>(inputs.size()), tape, s.symbolic.used ? &made_for : nullptr,
                       sums.how(), part != nullptr ? some.walk() : out.walk()},
                      dx.data());
  sums.check();
  if (failure const f = b.failed(); f.why == why<refusals::unreachable_wrt>() && f.left.number >= 0) {
    r.operands = x.data() + f.left.number;
    r.operand_count = 1;
  }
  back.check(r);
  dx.pop_back();
  give_own_symbols(b, dx, first_symbol);
  back.keep();
  for (symbol t = first_symbol; t < b.get().tensors.size(); ++t)
    if (b.tensor(t).base != none && b.tensor(t).producer != none) s.written[b.tensor(t).base].push_back(t);
  if (s.symbolic.used) {
    keep_in_step(s);
    find_peers(s, first);
    follow_forward(s, first, made_for);
  }
  if (all != nullptr) all->keep();
  return dx;
}

} // namespace detail

/// The result of one call of `backward`: gradients by the symbols they are with respect to. Each call has its
/// own table.
class gradient_table {
  detail::graph_state* s_ = nullptr;
  std::unordered_map<extend::symbol, symbolic_tensor> gradients_;
  std::unordered_map<extend::symbol, symbolic_exec> joins_; // by tensor
  std::vector<symbolic_tensor> in_order_;

public:
  gradient_table() = default;
  explicit gradient_table(detail::graph_state& s) : s_(&s) {}

  /// The gradient with respect to a `wrt`; for an output that depends on one, its cotangent. Absent for other
  /// symbols.
  symbolic_tensor gradient_of(symbolic_tensor const& t) const {
    auto const at = gradients_.find(t.id);
    return t.s != s_ || at == gradients_.end() ? symbolic_tensor{} : at->second;
  }
  /// The operation that completes a gradient: its producer, or a noop that waits for all of its pieces.
  /// Absent if no operation computes it.
  symbolic_exec producer_of(symbolic_tensor const& gradient) const {
    if (s_ == nullptr || gradient.s != s_) return {};
    if (auto const at = joins_.find(detail::root_of(*s_, gradient.id)); at != joins_.end()) return at->second;
    extend::symbol t = gradient.id;
    if (s_->b.tensor(t).producer == extend::none) t = detail::root_of(*s_, t);
    std::int32_t const node = s_->b.tensor(t).producer;
    if (node == extend::none || static_cast<std::size_t>(node) >= s_->symbolic.node_exec.size()) return {};
    return detail::exec_handle(*s_, s_->symbolic.node_exec[static_cast<std::size_t>(node)]);
  }
  /// The gradients in the order of `wrt`.
  std::vector<symbolic_tensor> const& all() const& noexcept { return in_order_; }
  std::vector<symbolic_tensor> all() && { return std::move(in_order_); } // for loops over a temporary table

  void add(extend::symbol of, symbolic_tensor const& gradient, bool wrt) {
    if (wrt) in_order_.push_back(gradient);
    gradients_.insert_or_assign(of, gradient);
  }
  void join(extend::symbol of, symbolic_exec const& e) { joins_.emplace(of, e); }
};

namespace detail {

/// By output: true if it depends on one of `x`, through the elements written to it.
inline std::vector<bool> depending(graph_state const& s, std::vector<symbol> const& y,
                                   std::vector<symbol> const& x, std::vector<bool> const* part) {
  graph const& g = s.b.get();
  std::vector<std::int32_t> among;
  for (std::int32_t const e : graph_at(s, 0).execs)
    if (part == nullptr || (static_cast<std::size_t>(e) < part->size() && (*part)[static_cast<std::size_t>(e)]))
      among.push_back(e);
  exec_order const order = order_in(s, 0, false, &among);
  std::vector<std::int32_t> readers;
  auto const meet = [&](symbol t, std::vector<symbol> const& all, auto found) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (t != none && root_of(s, t) == root_of(s, all[k]) && overlap(g, t, all[k])) found(k);
  };
  for (std::size_t k = 0; k < order.execs.size(); ++k) {
    bool reads = false;
    for (symbol const t : io_of(s, order.execs[k]).in) meet(t, x, [&](std::size_t) { reads = true; });
    if (reads) readers.push_back(static_cast<std::int32_t>(k));
  }
  std::vector<bool> const seen = order.reach(readers, true);
  std::vector<bool> depends(y.size());
  for (std::size_t k = 0; k < order.execs.size(); ++k)
    for (symbol const t : io_of(s, order.execs[k]).out)
      if (seen[k]) meet(t, y, [&](std::size_t j) { depends[j] = true; });
  return depends;
}

/// Gives each gradient that is computed in pieces, from node `first` on, one operation that completes it.
inline void join_pieces(graph_state& s, gradient_table& table, std::vector<symbol> const& dx,
                        std::int32_t first, std::source_location where) {
  graph const& g = s.b.get();
  for (symbol const t : dx) {
    symbol const root = root_of(s, t);
    if (g.tensors[root].producer != none || table.producer_of(handle_of(s, root)).present()) continue;
    std::vector<symbol> pieces;
    for (std::int32_t i = first; i < g.nodes.size(); ++i)
      for (int k = 0; k < g.nodes[i].result_count; ++k)
        if (symbol const y = g.ids[g.nodes[i].first + g.nodes[i].operand_count + k];
            g.tensors[y].base == root)
          pieces.push_back(y);
    if (pieces.size() == 1) table.join(root, table.producer_of(handle_of(s, pieces[0])));
    if (pieces.size() < 2) continue;
    exec_record join;
    join.in = pieces;
    join.out = {root};
    join.name = "join";
    join.where = where;
    std::int32_t const id = new_exec(s, std::move(join));
    realize(s, id);
    table.join(root, exec_handle(s, id));
  }
}

inline gradient_table table_of_gradients(graph_state& s, std::vector<symbol> const& y, std::vector<symbol> dy,
                                         std::vector<symbol> const& x, gradient_options const& options,
                                         request const& r, std::vector<bool> const* part) {
  builder& b = s.b;
  whole_undo back(s);
  bool scalars = dy.empty();
  for (symbol const t : y) scalars = scalars && b.dims(t).rank == 0 && !is_unknown(s, t);
  for (std::size_t k = 0; scalars && k < y.size(); ++k) { // (for others `gradient` refuses a missing dy)
    element const e = b.tensor(y[k]).type;
    std::int64_t const bits = cotangent::detail::bits_of(e, 1);
    dy.push_back(b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, e, b.tensor(y[k]).shape, r.where));
  }
  keep_in_step(s);
  std::int32_t const first = b.get().nodes.size();
  std::vector<symbol> const dx = gradient_symbols(s, y, dy, x, options, r, true, part);
  gradient_table table(s);
  std::vector<bool> const depends = depending(s, y, x, part);
  for (std::size_t j = 0; j < y.size(); ++j)
    if (depends[j] && j < dy.size()) table.add(y[j], handle_of(s, dy[j]), false);
  for (std::size_t k = 0; k < x.size(); ++k) {
    table.add(x[k], handle_of(s, dx[k]), true);
    s.gradients[x[k]] = dx[k];
  }
  join_pieces(s, table, dx, first, r.where);
  back.keep();
  return table;
}

} // namespace detail
} // namespace cotangent::dynamic

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template void restore(graph_state&, graph_state&);
extern template std::vector<symbol> gradient_symbols(graph_state&, std::vector<symbol> const&, std::vector<symbol> const&,
                                                     std::vector<symbol> const&, gradient_options const&, request, bool,
                                                     std::vector<bool> const*);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
