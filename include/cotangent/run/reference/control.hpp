// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_REFERENCE_CONTROL_HPP
#define COTANGENT_RUN_REFERENCE_CONTROL_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/run/reference/memory.hpp>

#include <cstdint>

// Loops and branches in the reference evaluation.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// The sequences that loops produced. Their entries are freed only when the evaluation ends.
class sequences {
  struct entry {
    std::int32_t at = none; // an offset in the pool of its type, or the index of a sequence; none: not stored
  };
  array<array<entry>> lists_;
  element_pools pools_;

public:
  constexpr std::int32_t add() { return lists_.push({}); }
  constexpr std::int32_t length(std::int32_t s) const { return lists_[s].size(); }
  constexpr void store(std::int32_t s, std::int64_t index, std::int32_t at) {
    int const k = static_cast<int>(index);
    if (lists_[s].size() <= k) lists_[s].resize(k + 1);
    lists_[s][k].at = at;
  }
  constexpr std::int32_t entry_at(std::int32_t s, std::int64_t index) const {
    return index < 0 || index >= lists_[s].size() ? none : lists_[s][static_cast<int>(index)].at;
  }
  constexpr std::int32_t keep(element_pools& from, place_in_pool p, std::int64_t count) {
    place_in_pool const to = pools_.add(p.type, count);
    pools_.copy(to, from, p, count);
    return to.first;
  }
  /// A copy of an entry; zeros if it was not stored.
  constexpr place_in_pool load(element_pools& to, element e, std::int32_t at, std::int64_t count) {
    place_in_pool const p = to.add(e, count);
    if (at == none) to.fill(p, scalar{element::int64}, count);
    else to.copy(p, pools_, {e, at}, count);
    return p;
  }
  /// x + y, two sequences of this depth.
  constexpr std::int32_t sum(std::int32_t x, std::int32_t y, int depth, element e, std::int64_t count) {
    std::int32_t const to = add();
    int const longest = length(x) > length(y) ? length(x) : length(y);
    for (int k = 0; k < longest; ++k) {
      std::int32_t const a = entry_at(x, k), b = entry_at(y, k);
      if (a == none && b == none) continue;
      std::int32_t made = a == none ? b : a;
      if (a != none && b != none)
        made = depth > 1 ? sum(a, b, depth - 1, e, count) : sum_of_values(a, b, e, count);
      store(to, k, made);
    }
    return to;
  }

private:
  constexpr std::int32_t sum_of_values(std::int32_t a, std::int32_t b, element e, std::int64_t count) {
    place_in_pool const p = pools_.add(e, count);
    for (std::int64_t i = 0; i < count; ++i) {
      scalar x = pools_.get({e, a}, i);
      scalar const y = pools_.get({e, b}, i);
      x.real += y.real;
      x.integer += y.integer;
      pools_.set(p, i, x);
    }
    return p.first;
  }
};

/// Runs the control nodes of an evaluation, which has: `g`, `pools`, `tape`, `place(symbol)`,
/// `count(symbol)` and `run_region(r)`.
template <class Evaluation> class control_evaluation {
  Evaluation& e_;
  graph_view const& g_;
  node const& n_;

  constexpr place_in_pool& place(symbol t) { return e_.place(t); }
  constexpr std::int64_t integer(symbol t) { return e_.pools.get(place(t), 0).integer; }
  constexpr place_in_pool number(std::int64_t v) {
    place_in_pool const p = e_.pools.add(element::int64, 1);
    e_.pools.set(p, 0, scalar{element::int64, 0, v});
    return p;
  }
  constexpr bool is_sequence(symbol t) const { return g_.tensors[t].depth > 0; }
  constexpr void copy(place_in_pool to, symbol t) { e_.pools.copy(to, e_.pools, place(t), e_.count(t)); }
  constexpr place_in_pool room(symbol t) {
    return is_sequence(t) ? place_in_pool{} : e_.pools.add(g_.tensors[t].type, e_.count(t));
  }
  constexpr place_in_pool zero(symbol t) {
    if (is_sequence(t)) return {g_.tensors[t].type, e_.tape.add()};
    place_in_pool const p = room(t);
    e_.pools.fill(p, scalar{element::int64}, e_.count(t));
    return p;
  }

public:
  constexpr control_evaluation(Evaluation& e, node const& n) : e_(e), g_(e.g), n_(n) {}

  constexpr void run() {
    if (n_.op == info_of<op::loop>()) loop();
    else if (n_.op == info_of<op::case_of>()) choose();
    else if (n_.op == info_of<op::sequence_zero>()) place(g_.result(n_)) = zero(g_.result(n_));
    else if (n_.op == info_of<op::rows_to_sequence>()) take_rows();
    else if (n_.op == info_of<op::sequence_to_rows>()) give_rows();
    else add();
  }

private:
  constexpr void add() {
    symbol const y = g_.result(n_);
    place(y) = {g_.tensors[y].type,
                e_.tape.sum(place(g_.operand(n_, 0)).first, place(g_.operand(n_, 1)).first,
                            g_.tensors[y].depth, g_.tensors[y].type, e_.count(y))};
  }

  constexpr void take_rows() {
    symbol const x = g_.operand(n_, 0), y = g_.result(n_);
    std::int64_t const count = e_.count(y), all = e_.count(x);
    std::int32_t const to = e_.tape.add();
    for (std::int64_t k = 0; k * count < all; ++k)
      e_.tape.store(to, k, e_.tape.keep(e_.pools, row_of(place(x), k, count), count));
    place(y) = {g_.tensors[y].type, to};
  }
  constexpr void give_rows() {
    symbol const x = g_.operand(n_, 0), y = g_.result(n_);
    std::int64_t const count = e_.count(x), all = e_.count(y);
    place_in_pool const to = room(y);
    for (std::int64_t k = 0; k * count < all; ++k) {
      auto const start = e_.pools.mark();
      std::int32_t const at = e_.tape.entry_at(place(x).first, k);
      e_.pools.copy(row_of(to, k, count), e_.pools, e_.tape.load(e_.pools, to.type, at, count), count);
      e_.pools.release(start);
    }
    place(y) = to;
  }
  static constexpr place_in_pool row_of(place_in_pool p, std::int64_t k, std::int64_t count) {
    return {p.type, p.first + static_cast<std::int32_t>(k * count)};
  }

  constexpr void choose() {
    case_layout const at = case_layout::of(g_, n_);
    std::int64_t const index = integer(g_.operand(n_, 0));
    if (index < 0 || index >= at.branches) {
      for (int k = 0; k < at.results; ++k)
        place(g_.result(n_, k)) =
            at.bypass(k) < 0 ? zero(g_.result(n_, k)) : place(g_.operand(n_, 1 + at.bypass(k)));
      return;
    }
    std::int32_t const r = at.branch(static_cast<int>(index));
    for (int k = 0; k < at.values; ++k) place(g_.input(k, r)) = place(g_.operand(n_, 1 + k));
    e_.run_region(r);
    for (int k = 0; k < at.results; ++k)
      place(g_.result(n_, k)) = g_.output(k, r) == none ? zero(g_.result(n_, k)) : place(g_.output(k, r));
  }

  /// Each iteration resets the pools to the level of the one before, so that memory does not grow with
  /// iterations.
  constexpr void loop() {
    loop_layout const at = loop_layout::of(g_, n_);
    symbol const limit_symbol = g_.operand(n_, loop_layout::limit());
    std::int64_t const limit = limit_symbol == none ? INT64_MAX : integer(limit_symbol);
    std::int64_t const first = at.has_start() ? integer(g_.operand(n_, at.start())) : 0;
    for (int k = 0; k < at.carried; ++k) { // carried values live in the results from the start
      symbol const y = g_.result(n_, k), x = g_.operand(n_, at.init(k));
      place(y) = is_sequence(y) ? place(x) : room(y);
      if (!is_sequence(y)) copy(place(y), x);
    }
    for (int k = 0; k < at.stacked; ++k) place(g_.result(n_, at.stack(k))) = {element::int64, e_.tape.add()};
    place(g_.result(n_, at.trips())) = number(0);
    auto const start = e_.pools.mark();
    std::int64_t trips = 0;
    for (; trips < limit - first; ++trips) {
      place_in_pool const count = number(at.is_reverse() ? limit - 1 - trips : first + trips);
      if (at.condition != none && !(trips == 0 && (at.flags & loop_layout::runs_first) != 0)) {
        pass(at, at.condition, count);
        e_.run_region(at.condition);
        if (integer(g_.output(0, at.condition)) == 0) break;
      }
      pass(at, at.body, count);
      for (int k = 0; k < at.scanned; ++k)
        slice(g_.operand(n_, at.scan(k)), g_.input(at.scan(k), at.body), integer_at(count));
      e_.run_region(at.body);
      for (int k = 0; k < at.stacked; ++k)
        keep(g_.result(n_, at.stack(k)), g_.output(at.entry(k), at.body), integer_at(count));
      carry(at);
      e_.pools.release(start);
    }
    e_.pools.release(start);
    e_.pools.set(place(g_.result(n_, at.trips())), 0, scalar{element::int64, 0, trips});
  }
  constexpr std::int64_t integer_at(place_in_pool p) { return e_.pools.get(p, 0).integer; }
  constexpr void pass(loop_layout const& at, std::int32_t r, place_in_pool count) {
    place(g_.input(0, r)) = count;
    for (int k = 0; k < at.carried; ++k) place(g_.input(at.init(k), r)) = place(g_.result(n_, k));
    for (int k = 0; k < at.captured; ++k)
      place(g_.input(at.capture(k), r)) = place(g_.operand(n_, at.capture(k)));
  }
  constexpr void slice(symbol from, symbol to, std::int64_t index) {
    std::int32_t const at = e_.tape.entry_at(place(from).first, index);
    if (!is_sequence(to)) place(to) = e_.tape.load(e_.pools, g_.tensors[to].type, at, e_.count(to));
    else place(to) = at == none ? zero(to) : place_in_pool{g_.tensors[to].type, at};
  }
  constexpr void keep(symbol to, symbol entry, std::int64_t index) {
    e_.tape.store(place(to).first, index,
                  is_sequence(entry) ? place(entry).first
                                     : e_.tape.keep(e_.pools, place(entry), e_.count(entry)));
  }
  /// Copies all carried values at once, since one may be the next value of another.
  constexpr void carry(loop_layout const& at) {
    array<place_in_pool> next(at.carried);
    for (int k = 0; k < at.carried; ++k) {
      symbol const y = g_.output(k, at.body);
      next[k] = is_sequence(y) ? place(y) : room(y);
      if (!is_sequence(y)) copy(next[k], y);
    }
    for (int k = 0; k < at.carried; ++k) {
      symbol const y = g_.result(n_, k);
      if (is_sequence(y)) place(y) = next[k];
      else e_.pools.copy(place(y), e_.pools, next[k], e_.count(y));
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
