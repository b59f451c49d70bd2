// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_REGIONS_HPP
#define COTANGENT_PLAN_REGIONS_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

// Loops and branches in static programs. The graph itself and each body become graphs of their own, which are planned and
// executed like any other. In them, a loop or a branch is one node that a kernel runs, and a sequence is a tensor with the
// entries along its first axis. A sequence of unknown length is the address of a `tape_stack::sequence`, in an int64.

namespace cotangent::detail {

/// How many iterations the loops of a graph run at most, and how many entries its sequences have room for: numbers, or named
/// extents. Sequences that may be one value have room for equally many entries. A sequence of parts of loops only has room for
/// one part: an entry lies at its distance from the start of the loop that reads or writes it, the same start for all of them.
class sequence_sizes {
  graph_view const& g_;
  array<std::int32_t> first_; // by symbol of a sequence: into entries_, one for each level
  array<dimension> entries_;
  array<bool> whole_; // like entries_: entries lie at the number of their iteration
  bool changed_ = false, sizes_known_ = false;

public:
  static constexpr dimension unknown = INT64_MIN;

  constexpr explicit sequence_sizes(graph_view const& g) : g_(g), first_(g.tensor_count) {
    for (symbol t = 0; t < g.tensor_count; ++t) {
      first_[t] = entries_.size();
      for (int k = 0; k < g.tensors[t].depth; ++k) entries_.push(0);
    }
    if (entries_.empty()) return;
    bool parts = false;
    for (std::int32_t i = 0; i < g.node_count && !parts; ++i)
      parts = g.nodes[i].op == info_of<op::loop>() && loop_layout::of(g, g.nodes[i]).has_start();
    whole_.assign(entries_.size(), !parts);
    for (sizes_known_ = !parts;; sizes_known_ = true) { // first where entries lie, then how many there are
      do {
        changed_ = false;
        for (std::int32_t i = 0; i < g.node_count; ++i) relate(g.nodes[i]);
      } while (changed_);
      if (sizes_known_) return;
    }
  }

  constexpr dimension entries(symbol t, int level = 0) const { return entries_[first_[t] + level]; }

  /// True if entries lie at their distance from the start of the loop.
  constexpr bool from_start(symbol t) const { return !whole_[first_[t]]; }

  /// The count stays below that number; unknown if the loop runs until a condition fails.
  constexpr dimension most_trips(node const& n) const {
    loop_layout const at = loop_layout::of(g_, n);
    symbol const limit = g_.operand(n, loop_layout::limit());
    dimension most = limit == none ? unknown : bound(limit);
    if (most == unknown && at.condition != none) most = bound_by(g_.output(0, at.condition), at.condition);
    return most == unknown && at.most() > 0 && !at.has_start() ? at.most() : most;
  }

  /// The first level of a sequence whose length is unknown; its depth if all are known.
  constexpr int known_levels(symbol t) const {
    int k = 0;
    while (k < g_.tensors[t].depth && entries(t, k) != unknown) ++k;
    return k;
  }
  /// The symbol of a sequence of unknown length, or none.
  constexpr symbol unbounded() const {
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if (known_levels(t) < g_.tensors[t].depth) return t;
    return none;
  }

private:
  static constexpr dimension joined(dimension a, dimension b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    return a > 0 && b > 0 ? (a > b ? a : b) : unknown;
  }
  constexpr void widen(symbol t, int level, dimension to) {
    if (!sizes_known_) return;
    dimension& own = entries_[first_[t] + level];
    dimension const wide = joined(own, to);
    changed_ = changed_ || wide != own;
    own = wide;
  }
  constexpr void is_whole(symbol t, int level = 0) {
    bool& own = whole_[first_[t] + level];
    changed_ = changed_ || !own;
    own = true;
  }
  /// A loop reads or writes an entry of `t` in each iteration.
  constexpr void iterate(symbol t, node const& n) {
    loop_layout const at = loop_layout::of(g_, n);
    if (t == none) return;
    if (!at.has_start()) is_whole(t), widen(t, 0, most_trips(n));
    else if (from_start(t)) widen(t, 0, at.most() > 0 ? at.most() : unknown);
  }
  /// `inner` is `outer`, or an entry of it.
  constexpr void same(symbol outer, symbol inner) {
    if (outer == none || inner == none) return;
    int const deeper = g_.tensors[outer].depth - g_.tensors[inner].depth;
    for (int k = 0; k < g_.tensors[inner].depth; ++k) {
      if (whole_[first_[inner] + k]) is_whole(outer, deeper + k);
      if (whole_[first_[outer] + deeper + k]) is_whole(inner, k);
      widen(outer, deeper + k, entries(inner, k));
      widen(inner, k, entries(outer, deeper + k));
    }
  }
  constexpr void relate(node const& n) {
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g_, n);
      for (int k = 1; k < at.operand_count(); ++k) {
        same(g_.operand(n, k), g_.input(k, at.body));
        if (at.condition != none && k < at.scan(0)) same(g_.operand(n, k), g_.input(k, at.condition));
      }
      for (int k = 0; k < at.output_count(); ++k) same(g_.result(n, k), g_.output(k, at.body));
      for (int k = 0; k < at.carried; ++k) same(g_.result(n, k), g_.operand(n, at.init(k)));
      for (int k = 0; k < at.scanned; ++k) iterate(g_.operand(n, at.scan(k)), n);
      for (int k = 0; k < at.stacked; ++k) iterate(g_.result(n, at.stack(k)), n);
    } else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      for (int j = 0; j < at.branches; ++j) {
        for (int k = 0; k < at.values; ++k) same(g_.operand(n, at.value(k)), g_.input(k, at.branch(j)));
        for (int k = 0; k < at.results; ++k) same(g_.result(n, k), g_.output(k, at.branch(j)));
      }
      for (int k = 0; k < at.results; ++k)
        if (at.bypass(k) >= 0) same(g_.result(n, k), g_.operand(n, at.value(at.bypass(k))));
    } else if (n.op == info_of<op::sequence_add>()) {
      same(g_.result(n), g_.operand(n, 0));
      same(g_.result(n), g_.operand(n, 1));
    } else if (n.op == info_of<op::rows_to_sequence>()) {
      is_whole(g_.result(n)), widen(g_.result(n), 0, g_.shape(g_.operand(n, 0)).size[0]);
    } else if (n.op == info_of<op::sequence_to_rows>()) {
      is_whole(g_.operand(n, 0)), widen(g_.operand(n, 0), 0, g_.shape(g_.result(n)).size[0]);
    }
  }

  /// The iterations during which a condition can hold that compares their count.
  constexpr dimension bound_by(symbol holds, std::int32_t condition) const {
    node const* const n = g_.producer(holds);
    if (n == nullptr) return unknown;
    symbol const count = g_.input(loop_layout::count(), condition);
    if (n->op == info_of<op::logical_and>()) {
      dimension const most = bound_by(g_.operand(*n, 0), condition);
      return most != unknown ? most : bound_by(g_.operand(*n, 1), condition);
    }
    if (n->op == info_of<op::less>() && g_.operand(*n, 0) == count) return bound(g_.operand(*n, 1));
    if (n->op == info_of<op::less_equal>() && g_.operand(*n, 0) == count)
      if (dimension const last = bound(g_.operand(*n, 1)); last >= 0) return capped_sum(last, 1);
    return unknown;
  }
  /// An upper bound of the elements of an integer value, or of all entries of a sequence of them.
  constexpr dimension bound(symbol t) const {
    node const* const n = g_.producer(t);
    if (n == nullptr) return bound_of_input(t);
    if (n->op == info_of<op::constant>()) return g_.attribute(*n) < 0 ? 0 : g_.attribute(*n);
    if (n->op == info_of<op::size>()) return n->attribute_count == 1 ? g_.attribute(*n) : unknown;
    if (n->op == info_of<op::convert>() || n->op == info_of<op::identity>() || n->op == info_of<op::after>())
      return is_floating(g_.tensors[g_.operand(*n, 0)].type) ? unknown : bound(g_.operand(*n, 0));
    if (n->op == info_of<op::reduce_max>() || n->op == info_of<op::broadcast>()) return bound(g_.operand(*n, 0));
    if (n->op == info_of<op::select>()) return joined(bound(g_.operand(*n, 1)), bound(g_.operand(*n, 2)));
    if (n->op == info_of<op::min>()) {
      dimension const a = bound(g_.operand(*n, 0)), b = bound(g_.operand(*n, 1));
      return a == unknown ? b : b == unknown || b < 0 ? a : a < 0 ? b : a < b ? a : b;
    }
    if (n->op == info_of<op::subtract>()) {
      node const* const less = g_.producer(g_.operand(*n, 1));
      bool const lower = less != nullptr && less->op == info_of<op::constant>() && g_.attribute(*less) >= 0;
      return lower ? bound(g_.operand(*n, 0)) : unknown;
    }
    if (n->op == info_of<op::add>()) {
      dimension const a = bound(g_.operand(*n, 0)), b = bound(g_.operand(*n, 1));
      return a == 0 ? b : b == 0 ? a : a > 0 && b > 0 ? capped_sum(a, b) : unknown;
    }
    if (n->op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g_, *n);
      for (int k = 0; k < at.stacked; ++k)
        if (g_.result(*n, at.stack(k)) == t) return bound(g_.output(at.entry(k), at.body));
      return g_.result(*n, at.trips()) == t ? most_trips(*n) : unknown;
    }
    if (n->op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, *n);
      dimension most = 0;
      for (int k = 0; k < at.results; ++k) {
        if (g_.result(*n, k) != t) continue;
        if (at.bypass(k) >= 0) most = bound(g_.operand(*n, at.value(at.bypass(k))));
        for (int j = 0; j < at.branches; ++j)
          if (symbol const y = g_.output(k, at.branch(j)); y != none) most = joined(most, bound(y));
      }
      return most;
    }
    return unknown;
  }
  constexpr dimension bound_of_input(symbol t) const {
    std::int32_t const r = g_.tensors[t].region;
    if (r == 0) return unknown;
    node const& owner = g_.nodes[g_.regions[r].owner];
    for (int k = 0; k < g_.input_count(r); ++k) {
      if (g_.input(k, r) != t) continue;
      if (owner.op == info_of<op::case_of>()) return bound(g_.operand(owner, case_layout::value(k)));
      loop_layout const at = loop_layout::of(g_, owner);
      if (k == loop_layout::count()) return most_trips(owner);
      return k < at.capture(0) ? unknown : bound(g_.operand(owner, k));
    }
    return unknown;
  }
};

/// The line of the first loop that records values, and has no bound.
constexpr failure unbounded_tape(graph_view const& g) {
  symbol const t = sequence_sizes(g).unbounded();
  if (t == none) return {};
  failure f{why<refusals::unbounded_tape>()};
  if (node const* const n = g.producer(t)) f.where = n->where;
  return f;
}

/// The same for rows of a tensor whose sequence has no known length: no static program has them.
constexpr failure unbounded_rows(graph_view const& g) {
  sequence_sizes const sizes(g);
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    symbol const t = n.op == info_of<op::rows_to_sequence>()   ? g.result(n)
                     : n.op == info_of<op::sequence_to_rows>() ? g.operand(n, 0)
                                                               : none;
    if (t == none || sizes.known_levels(t) > 0) continue;
    failure f{why<refusals::unbounded_tape>()};
    f.where = n.where;
    return f;
  }
  return {};
}

/// The shape of a sequence as a tensor: its entries along the first axis, up to the first level of unknown length.
constexpr dimensions stacked_shape(graph_view const& g, sequence_sizes const& sizes, symbol t) {
  dimensions to;
  int const levels = sizes.known_levels(t);
  if (levels == 0) return to;
  to.rank = 2;
  to.size[0] = sizes.entries(t);
  to.size[1] = 1;
  bool numbers = true;
  dimensions const d = levels < g.tensors[t].depth ? dimensions{} : g.shape(t);
  auto const size = [&](int k) { return k < levels ? sizes.entries(t, k) : d.size[k - levels]; };
  for (int k = 1; k < levels + d.rank; ++k) {
    numbers = numbers && size(k) >= 0;
    if (numbers) to.size[1] = capped_product(to.size[1], size(k));
  }
  if (numbers || levels + d.rank > max_rank) return to;
  to.rank = levels + d.rank;
  for (int k = 0; k < to.rank; ++k) to.size[k] = size(k);
  return to;
}

constexpr bool has_control(graph_view const& g) {
  bool found = g.region_count > 1;
  for (std::int32_t i = 0; i < g.node_count && !found; ++i) found = g.nodes[i].op->kind == operation_kind::control;
  return found;
}

/// Sub-graph `r` as a graph: its inputs, nodes and outputs. Its loops and branches keep the index of their node as their only
/// attribute, and have neither absent operands nor absent outputs.
constexpr graph region_graph(graph_view const& g, std::int32_t r) {
  sequence_sizes const sizes(g);
  graph to;
  rewriter copy(g, to);
  copy.regions.assign(g.region_count, 0);
  to.numbers.append(g.numbers, g.number_count);
  for (symbol t = 0; t < g.tensor_count; ++t)
    if (g.tensors[t].region == r && g.tensors[t].depth > 0) {
      symbol const y = copy(t);
      if (sizes.known_levels(t) < g.tensors[t].depth) to.tensors[y].type = element::int64;
      to.tensors[y].depth = 0;
      to.tensors[y].shape = to.shapes.push(stacked_shape(g, sizes, t));
    }
  array<symbol> inputs(g.input_count(r)), operands, outputs;
  for (int k = 0; k < inputs.size(); ++k) inputs[k] = copy(g.input(k, r));
  to.set_inputs(inputs.data(), inputs.size());
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node n = g.nodes[i];
    if (n.region != r || n.op == info_of<op::nothing>()) continue;
    n.region = 0;
    operands.clear();
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.operand(n, k); x != none) operands.push(copy(x));
    array<symbol> const results = copy.results(n);
    std::int64_t const index = i;
    bool const moves_rows = n.op == info_of<op::rows_to_sequence>() || n.op == info_of<op::sequence_to_rows>();
    if (moves_rows) n.op = info_of<op::reshape>(); // a sequence has its entries where a tensor has its rows
    if (n.op->kind == operation_kind::control)
      to.add(n, operands.data(), operands.size(), results.data(), results.size(), &index, 1);
    else to.add(n, operands.data(), operands.size(), results.data(), results.size());
  }
  for (int k = 0; k < g.output_count(r); ++k)
    if (symbol const y = g.output(k, r); y != none) outputs.push(copy(y));
  to.set_outputs(outputs.data(), outputs.size());
  return to;
}

} // namespace cotangent::detail

#endif
