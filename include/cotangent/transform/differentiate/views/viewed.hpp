// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_VIEWED_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_VIEWED_HPP

#include <cotangent/transform/differentiate/views/region_sum.hpp>
#include <cotangent/transform/differentiate/views/view_terms.hpp>

#include <cstdint>

// Cotangents of tensors that are read and written through views.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The tensors with views: their dependence on a wrt, and the contributions to their cotangents, by window.
/// Equal windows share a slot; slots are found by overlap.
class viewed_tensors {
  struct slot {
    std::int32_t head = 0, tail = 0; // into the lists; 0: none
    bool slides = false;             // the window repeats elements
    symbol written = none;           // the symbol that a node assigns through this window
  };
  struct viewed {
    symbol root = none;
    std::int32_t whole = none; // the slot of the whole tensor
    window_index index;
    array<slot> slots;
    array<std::int32_t> filled; // by cell: slots with contributions
    array<bool> marked;         // by cell: something in it depends on a wrt
    array<bool> assigned;       // by cell: a node assigns something in it
    bool input = false;
  };
  builder& b_;
  symbol low_;
  array<std::int32_t> number_; // by symbol - low_: the index of its tensor
  array<std::int32_t> slot_;   // by symbol - low_
  array<viewed> tensors_;
  contribution_lists lists_;
  std::int32_t new_nodes_;
  array<bool> seen_through_;
  bool any_ = false;

public:
  /// For the symbols of a region, which are among those from `low` to `high`.
  constexpr viewed_tensors(builder& b, std::int32_t region, symbol low, symbol high, aggregation const& how)
      : b_(b), low_(low), lists_(b, how), new_nodes_(b.get().nodes.size()) {
    graph const& g = b.get();
    auto const root_of = [&](symbol t) { return g.tensors[t].region == region ? g.tensors[t].base : none; };
    for (symbol t = low; t < high && !any_; ++t) any_ = root_of(t) != none;
    if (!any_) return;
    number_.assign(high - low, none);
    slot_.assign(high - low, none);
    int count = 0;
    for (symbol t = low; t < high; ++t)
      if (symbol const root = root_of(t); root != none) {
        if (number_[root - low] == none) number_[root - low] = count++;
        number_[t - low] = number_[root - low];
      }
    tensors_.resize(count);
    array<std::int32_t> members(count);
    for (symbol t = low; t < high; ++t)
      if (number_[t - low] != none) ++members[number_[t - low]];
    array<array<symbol>> symbols(count);
    for (int n = 0; n < count; ++n) symbols[n].reserve(members[n]);
    for (symbol t = low; t < high; ++t)
      if (number_[t - low] != none) symbols[number_[t - low]].push(t);
    for (int n = 0; n < count; ++n) list(tensors_[n], symbols[n]);
  }
  viewed_tensors(viewed_tensors const&) = delete;

  constexpr bool any() const noexcept { return any_; }
  constexpr bool has(symbol t) const {
    return t - low_ < number_.size() && t >= low_ && number_[t - low_] != none;
  }

  // ---- dependence on a wrt

  constexpr void mark(symbol t) {
    viewed& v = of(t);
    for (std::int32_t c = v.index.leaf(slot_[t - low_]); c >= 0 && !v.marked[c];
         c = c == 0 ? none : (c - 1) / 2)
      v.marked[c] = true;
  }
  constexpr bool depends(symbol t) const {
    viewed const& v = of(t);
    bool yes = false;
    v.index.visit(
        v.index.ask(v.index.window(slot_[t - low_])),
        [&](std::int32_t c, bool all) {
          if (all && v.marked[c]) yes = true;
          return yes || !v.marked[c];
        },
        [&](std::int32_t) { yes = true; });
    return yes;
  }

  // ---- contributions

  constexpr bool any(symbol t) const {
    viewed const& v = of(t);
    bool yes = false;
    v.index.visit(
        v.index.ask(v.index.window(slot_[t - low_])),
        [&](std::int32_t c, bool all) {
          if (all && v.filled[c] != 0) yes = true;
          return yes || v.filled[c] == 0;
        },
        [&](std::int32_t) { yes = true; });
    return yes;
  }

  constexpr void add(symbol t, symbol contribution) {
    viewed& v = of(t);
    std::int32_t const i = slot_[t - low_];
    if (v.index.leaf(i) == none) return; // it is empty
    std::uint32_t repeated = 0;
    tensor_window const w = without_repeats(detail::window_of(b_.get(), t), repeated);
    if (repeated != 0) contribution = extend::sum({&b_, contribution}, repeated).id;
    if (v.slots[i].slides) put(v, v.whole, scattered(b_, w, contribution));
    else put(v, i, contribution);
  }

  /// The cotangent of a symbol: of all or a part of its tensor.
  constexpr symbol sum(symbol t) {
    viewed& v = of(t);
    std::int32_t const i = slot_[t - low_];
    tensor_window const own = detail::window_of(b_.get(), t);
    std::uint32_t repeated = 0;
    (void)without_repeats(own, repeated);
    symbol const total = sum(v, i);
    if (repeated == 0) return total;
    tensor_window const from = detail::window_of(b_.get(), total);
    tensor_window at = from;
    for (int k = 0, j = 0; k < own.rank; ++k) {
      bool const again = (repeated >> k & 1u) != 0;
      at.size[k] = own.size[k];
      at.stride[k] = again ? 0 : from.stride[j++];
    }
    at.rank = own.rank;
    return adder(v).symbol_for({own, at});
  }

  constexpr void is_input(symbol t) {
    if (has(t)) of(t).input = true;
  }
  /// The gradient of an input is that of its initial value: elements that a node writes are not read from it.
  constexpr symbol of_input(symbol t, symbol total) {
    viewed const& v = of(t);
    if (!v.input || b_.tensor(t).producer != none) return total;
    array<symbol> writers;
    tensor_window const own = detail::window_of(b_.get(), t);
    v.index.visit(
        v.index.ask(own), [&](std::int32_t c, bool) { return !v.assigned[c]; },
        [&](std::int32_t i) {
          if (v.slots[i].written != none) writers.push(v.slots[i].written);
        });
    if (writers.empty()) return total;
    symbol const written = mask_of(b_, v.root, writers);
    tensor_window w = own;
    w.root = written;
    symbol const mask = detail::symbol_of(b_, share{own, w});
    term const total_term{&b_, total};
    return extend::select({&b_, mask}, extend::constant_like(total_term, 0), total_term).id;
  }

private:
  constexpr viewed& of(symbol t) { return tensors_[number_[t - low_]]; }
  constexpr viewed const& of(symbol t) const { return tensors_[number_[t - low_]]; }

  /// One slot for each window of these symbols, and one for the whole tensor.
  constexpr void list(viewed& v, array<symbol> const& symbols) {
    graph_view const g = b_.get();
    v.root = g.tensors[symbols[0]].base == none ? symbols[0] : g.tensors[symbols[0]].base;
    array<tensor_window> all;
    array<std::int32_t> order;
    std::uint32_t repeated = 0;
    all.reserve(symbols.size() + 1);
    order.reserve(symbols.size() + 1);
    for (symbol t : symbols) {
      order.push(all.size());
      all.push(without_repeats(detail::window_of(g, t), repeated));
    }
    order.push(all.size());
    all.push(all_of(v.root, g.shape(v.root)));
    auto const compare = [](tensor_window const& a, tensor_window const& b) -> std::int64_t {
      if (a.offset != b.offset) return a.offset - b.offset;
      if (a.rank != b.rank) return a.rank - b.rank;
      for (int k = 0; k < a.rank; ++k) {
        if (a.size[k] != b.size[k]) return a.size[k] - b.size[k];
        if (a.stride[k] != b.stride[k]) return a.stride[k] - b.stride[k];
      }
      return 0;
    };
    sort(order.data(), order.size(),
         [&](std::int32_t x, std::int32_t y) { return compare(all[x], all[y]) < 0; });
    array<tensor_window> windows;
    windows.reserve(order.size());
    for (int k = 0; k < order.size(); ++k) {
      if (k == 0 || compare(all[order[k]], all[order[k - 1]]) != 0) windows.push(all[order[k]]);
      if (order[k] == symbols.size()) v.whole = windows.size() - 1;
      else slot_[symbols[order[k]] - low_] = windows.size() - 1;
    }
    v.index = window_index(g.shape(v.root), static_cast<array<tensor_window>&&>(windows));
    v.slots.resize(v.index.size());
    for (int i = 0; i < v.index.size(); ++i)
      v.slots[i].slides = v.index.window(i).known && detail::repeats(v.index.window(i));
    v.filled.assign(v.index.cells(), 0);
    v.marked.assign(v.index.cells(), false);
    v.assigned.assign(v.index.cells(), false);
    for (symbol t : symbols) {
      if (g.tensors[t].base == none || g.tensors[t].producer == none) continue;
      v.slots[slot_[t - low_]].written = t;
      for (std::int32_t c = v.index.leaf(slot_[t - low_]); c >= 0 && !v.assigned[c];
           c = c == 0 ? none : (c - 1) / 2)
        v.assigned[c] = true;
    }
  }

  constexpr region_sum adder(viewed const& v) {
    return {b_, v.index.grid(), b_.dims(v.root), v.root, new_nodes_, seen_through_, lists_.how()};
  }
  constexpr bool box_of(viewed const& v, std::int32_t i, grid_box& to) const {
    tensor_window const& w = v.index.window(i);
    return w.known && !v.slots[i].slides && box_on(v.index.grid(), element_set(w), to);
  }

  constexpr void count(viewed& v, std::int32_t i, int by) {
    for (std::int32_t c = v.index.leaf(i); c >= 0; c = c == 0 ? none : (c - 1) / 2) v.filled[c] += by;
  }
  constexpr void put(viewed& v, std::int32_t i, symbol contribution) {
    slot& s = v.slots[i];
    if (s.head == 0) count(v, i, 1);
    lists_.add(s.head, s.tail, contribution);
  }
  constexpr void clear(viewed& v, std::int32_t i) {
    if (v.slots[i].head != 0) count(v, i, -1);
    v.slots[i].head = v.slots[i].tail = 0;
  }
  constexpr symbol chain(viewed& v, std::int32_t i) { return lists_.sum(v.slots[i].head, v.slots[i].tail); }
  /// The slots with contributions that overlap this one, in order of arrival.
  constexpr array<std::int32_t> overlapping(viewed const& v, std::int32_t i) const {
    array<std::int32_t> found;
    v.index.visit(
        v.index.ask(v.index.window(i)), [&](std::int32_t c, bool) { return v.filled[c] == 0; },
        [&](std::int32_t k) { found.push(k); });
    sort(found.data(), found.size(),
         [&](std::int32_t x, std::int32_t y) { return v.slots[x].head < v.slots[y].head; });
    return found;
  }

  constexpr symbol sum(viewed& v, std::int32_t i) {
    array<std::int32_t> found = overlapping(v, i);
    if (found.size() == 1 && found[0] == i) return chain(v, i);
    grid_box over, box;
    bool regular = box_of(v, i, over), spread_out = false;
    for (std::int32_t f : found)
      if (!box_of(v, f, box)) {
        symbol const spread_value = spread(b_, v.index.window(f), chain(v, f));
        clear(v, f);
        put(v, v.whole, spread_value);
        spread_out = true;
      }
    if (!regular) return through(v, sum(v, v.whole), v.index.window(i));
    if (spread_out) found = overlapping(v, i);
    merge_many(v, found, over);
    region_sum sums = adder(v);
    array<boxed_term> terms;
    terms.reserve(found.size());
    int const rank = v.index.grid().rank;
    bool inside = true;
    for (std::int32_t f : found) {
      (void)box_of(v, f, box);
      grid_box const both = meet(box, over, rank);
      inside = inside && same(both, box, rank);
      terms.push({chain(v, f), v.index.window(f), box, both});
    }
    symbol const total = sums.run(terms, v.index.window(i), over);
    if (inside) { // no other slot needs them individually
      for (std::int32_t f : found) clear(v, f);
      put(v, i, total);
    }
    return total;
  }

  /// If many contributions cover a box and reach beyond it, sums them in place: later requests for nearby
  /// boxes then find one term.
  constexpr void merge_many(viewed& v, array<std::int32_t>& found, grid_box const& over) {
    constexpr int many = 8;
    if (found.size() <= many) return;
    int const rank = v.index.grid().rank;
    array<std::int32_t> order;
    grid_box box;
    for (std::int32_t f : found) {
      (void)box_of(v, f, box);
      if (!within(box, over, rank)) order.push(f);
    }
    if (order.size() <= many) return;
    auto const size_of = [&](std::int32_t f) {
      (void)box_of(v, f, box);
      return volume(box, rank);
    };
    sort(order.data(), order.size(), [&](std::int32_t x, std::int32_t y) { return size_of(x) < size_of(y); });
    std::int64_t total = 0;
    int last = none;
    for (int k = 0; k < order.size(); ++k) {
      std::int64_t const n = size_of(order[k]);
      if (k > 0 && n <= 8 * total) last = k;
      total += n;
    }
    std::int32_t target = last == none ? none : order[last];
    grid_box all;
    if (target != none) {
      (void)box_of(v, target, all);
      for (int k = 0; k < last && target != none; ++k) {
        (void)box_of(v, order[k], box);
        if (!within(box, all, rank)) target = none;
      }
    }
    if (target == none) { // the whole tensor has room for all of them
      if (!box_of(v, v.whole, all) || volume(all, rank) > 8 * total) return;
      target = v.whole;
      last = order.size() - 1;
    }
    array<boxed_term> terms;
    for (int k = 0; k <= last; ++k) {
      (void)box_of(v, order[k], box);
      terms.push({chain(v, order[k]), v.index.window(order[k]), box, box});
    }
    if (v.slots[target].head != 0 && target == v.whole) {
      bool listed = false;
      for (int k = 0; k <= last; ++k) listed = listed || order[k] == target;
      if (!listed) terms.push({chain(v, target), v.index.window(target), all, all});
    }
    symbol const sum_of_all = adder(v).run(terms, v.index.window(target), all);
    for (int k = 0; k <= last; ++k) clear(v, order[k]);
    clear(v, target);
    put(v, target, sum_of_all);
    found = overlapping_again(v, found, target);
  }
  static constexpr array<std::int32_t> overlapping_again(viewed const& v, array<std::int32_t> const& found,
                                                         std::int32_t target) {
    array<std::int32_t> left;
    for (std::int32_t f : found)
      if (v.slots[f].head != 0 && f != target) left.push(f);
    left.push(target);
    return left;
  }

  /// A window of the cotangent of the whole tensor.
  constexpr symbol through(viewed const& v, symbol whole, tensor_window w) {
    if (b_.tensor(whole).base != none) {
      symbol const copy = b_.symbol_like(whole);
      (void)b_.assign(info_of<op::identity>(), &whole, 1, &copy, 1, nullptr, 0, b_.place);
      whole = copy;
    }
    tensor_window const of = w;
    w.root = whole;
    return adder(v).symbol_for({of, w});
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
