// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SEQUENCE_SIZES_HPP
#define COTANGENT_PLAN_SEQUENCE_SIZES_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// How many entries the sequences of a graph have room for, and where these lie. sequence_solver finds it.
struct sequence_sizes {
  static constexpr dimension unknown = INT64_MIN;

  std::int32_t tensor_count;
  std::int32_t const* first; // by symbol, and one more: the place of its first level in the other two
  dimension const* of;
  bool const* whole; // entries lie at the number of their iteration

  constexpr dimension entries(symbol t, int level = 0) const { return of[first[t] + level]; }
  constexpr int depth(symbol t) const { return first[t + 1] - first[t]; }

  /// True if entries lie at their distance from the start of the loop.
  constexpr bool from_start(symbol t) const { return !whole[first[t]]; }

  /// The first level of a sequence whose length is unknown; its depth if all are known.
  constexpr int known_levels(symbol t) const {
    int k = 0;
    while (k < depth(t) && entries(t, k) != unknown) ++k;
    return k;
  }
  /// The symbol of a sequence of unknown length, or none.
  constexpr symbol unbounded() const {
    for (symbol t = 0; t < tensor_count; ++t)
      if (known_levels(t) < depth(t)) return t;
    return none;
  }
};

/// How many iterations the loops of a graph run at most, and how many entries its sequences have room for: numbers, or named
/// extents. Sequences that may be one value have room for equally many entries. A sequence of parts of loops only has room for
/// one part: an entry lies at its distance from the start of the loop that reads or writes it, the same start for all of them.
class sequence_solver {
  static constexpr dimension unknown = sequence_sizes::unknown;
  graph_view const& g_;
  array<std::int32_t> first_; // these three are as in sequence_sizes
  array<dimension> entries_;
  array<bool> whole_;
  bool changed_ = false, sizes_known_ = false;

public:
  constexpr explicit sequence_solver(graph_view const& g) : g_(g), first_(g.tensor_count + 1) {
    for (symbol t = 0; t < g.tensor_count; ++t) {
      first_[t] = entries_.size();
      for (int k = 0; k < g.tensors[t].depth; ++k) entries_.push(0);
    }
    first_[g.tensor_count] = entries_.size();
    if (entries_.empty()) return;
    bool parts = false;
    for (std::int32_t i = 0; i < g.node_count && !parts; ++i)
      parts = g.nodes[i].op == info_of<op::loop>() && loop_layout::of(g, g.nodes[i]).has_start();
    whole_.assign(entries_.size(), !parts);
    array<std::int32_t> relating; // nodes that read or write sequences
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->kind == operation_kind::control) relating.push(i);
    for (sizes_known_ = !parts;; sizes_known_ = true) { // first where entries lie, then how many there are
      do {
        changed_ = false;
        for (int k = 0; k < relating.size(); ++k) relate(g.nodes[relating[k]]);
      } while (changed_);
      if (sizes_known_) return;
    }
  }

  constexpr sequence_sizes sizes() const { return {g_.tensor_count, first_.data(), entries_.data(), whole_.data()}; }

private:
  constexpr dimension entries(symbol t, int level = 0) const { return entries_[first_[t] + level]; }
  constexpr bool from_start(symbol t) const { return !whole_[first_[t]]; }

  /// The count stays below that number; unknown if the loop runs until a condition fails.
  constexpr dimension most_trips(node const& n) const {
    loop_layout const at = loop_layout::of(g_, n);
    symbol const limit = g_.operand(n, loop_layout::limit());
    dimension most = limit == none ? unknown : bound(limit);
    if (most == unknown && at.condition != none) {
      most = bound_by(g_.output(0, at.condition), at.condition);
      if ((at.flags & loop_layout::runs_first) != 0) most = joined(most, 1); // the first iteration asks no condition
    }
    return most == unknown && at.most() > 0 && !at.has_start() ? at.most() : most;
  }

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

/// The sizes of the sequences of the graph of a stage: a constant that all of its loops and bodies share.
template <class Whole> class frozen_sequences {
  static constexpr graph_view g = Whole::view;
  static constexpr int levels = [] {
    int n = 0;
    for (symbol t = 0; t < g.tensor_count; ++t) n += g.tensors[t].depth;
    return n;
  }();
  struct tables {
    pool<std::int32_t, g.tensor_count + 1> first;
    pool<dimension, levels> of;
    pool<bool, levels> whole;
  };
  static constexpr tables found = [] {
    tables to;
    if (levels == 0) return to;
    graph_view from = Whole::view; // a variable: see frozen
    sequence_solver const solved(from);
    sequence_sizes const sizes = solved.sizes();
    fill(to.first, sizes.first, g.tensor_count + 1);
    fill(to.of, sizes.of, levels);
    fill(to.whole, sizes.whole, levels);
    return to;
  }();

public:
  static constexpr sequence_sizes value{g.tensor_count, found.first.data, found.of.data, found.whole.data};
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
