// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PLAN_HPP
#define COTANGENT_RUN_INTERPRETER_PLAN_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/run/interpreter_layout.hpp>

#include <cstdint>

// What the interpreter decides once: which nodes run together, in which order, and where their results live.

namespace cotangent::detail::interpret {

enum class home : unsigned char {
  workspace,
  input,
  output,
  constant,
  positions,
  part, // of another root: one run of its elements
};

/// A piece of memory that something writes and others read.
struct memory_root {
  home kind = home::workspace;
  std::int32_t which = 0; // of the inputs, of the outputs; the root that this is a part of
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::int32_t unit = -1;  // that writes it; -1: it is there from the beginning
  std::int32_t step = -1;  // of that unit
  std::int32_t stage = -1; // of that step
  std::int32_t last = -1;  // the position of the last step that reads it
  bool outside = false;    // read by another step than the one that writes it
  bool placed = false;     // has its offset
  std::int32_t pieces = -1; // the number of what is written in pieces, where it is that
  std::int64_t offset = 0; // in the workspace, in the constants, in what it is a part of
};

/// A node at work, or a copy of a view into contiguous memory.
struct unit {
  std::int32_t node = -1; // -1: a copy
  std::int32_t first = 0; // operands, in the plan's views
  std::int32_t count = 0;
  std::int32_t root = -1; // its result
  std::int32_t step = -1;
  std::int32_t next = -1;   // of the same step
  std::int32_t drain = -1;  // what it writes besides: into views that are not one run, by the plan's drains
  std::int32_t more = 0;    // further results of what runs regions, in the plan's results
  std::int32_t more_count = 0;
};

/// A copy of a result, as soon as it is there, to where it stands in a root that is written in pieces.
struct drain {
  strided to;
  std::int32_t next = -1; // of the same unit
};

/// A step that has to run before another for what it writes in pieces.
struct step_edge {
  std::int32_t before = -1, after = -1;
};

struct planned_step {
  std::int32_t first_unit = -1, last_unit = -1;
  std::int32_t key = 0; // where it stands in the graph
  std::int32_t stage = 0;
  std::int32_t shape = -1; // elementwise steps: of all their units
  std::int32_t position = -1;
};

struct plan_data {
  array<strided> views;
  array<memory_root> roots;
  array<unit> units;
  array<planned_step> steps;
  array<drain> drains;
  array<std::int32_t> results;
  array<step_edge> edges;
  array<std::int32_t> order; // steps by position

  strided const& operand(unit const& u, int k) const { return views[u.first + k]; }
  /// The root whose memory it is.
  std::int32_t whole(std::int32_t root) const {
    while (roots[root].kind == home::part) root = roots[root].which;
    return root;
  }
};

/// A binary heap of steps, the one that stands first in the graph on top.
template <class Plan> class step_heap {
  array<std::int32_t> at_;

public:
  bool empty() const noexcept { return at_.empty(); }
  void push(Plan const& p, std::int32_t s) {
    int k = at_.push(s);
    for (; k > 0 && before(p, s, at_[(k - 1) / 2]); k = (k - 1) / 2) at_[k] = at_[(k - 1) / 2];
    at_[k] = s;
  }
  std::int32_t pop(Plan const& p) {
    std::int32_t const top = at_[0], s = at_.pop();
    int const n = at_.size();
    if (n == 0) return top;
    int k = 0;
    for (int child = 1; child < n; child = 2 * k + 1) {
      if (child + 1 < n && before(p, at_[child + 1], at_[child])) ++child;
      if (!before(p, at_[child], s)) break;
      at_[k] = at_[child];
      k = child;
    }
    at_[k] = s;
    return top;
  }

private:
  static bool before(Plan const& p, std::int32_t a, std::int32_t b) {
    return p.steps[a].key != p.steps[b].key ? p.steps[a].key < p.steps[b].key : a < b;
  }
};

/// Brings the steps into an order in which they can run, as near to the graph's as can be, and notes who
/// reads what when.
template <class Plan> void order_steps(Plan& p) {
  int const n = p.steps.size();
  array<std::int32_t> waits(n, 0), first(n + 1, 0), readers;
  auto const each_edge = [&](auto visit) {
    for (int s = 0; s < n; ++s)
      for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next)
        for (int k = 0; k < p.units[u].count; ++k) {
          std::int32_t const root = p.operand(p.units[u], k).root;
          int const from = root < 0 ? -1 : p.roots[root].step;
          if (from >= 0 && from != s) visit(from, s);
        }
    for (int e = 0; e < p.edges.size(); ++e)
      if (p.edges[e].before != p.edges[e].after) visit(p.edges[e].before, p.edges[e].after);
  };
  each_edge([&](int from, int) { ++first[from + 1]; });
  for (int s = 0; s < n; ++s) first[s + 1] += first[s];
  readers.resize(first[n]);
  array<std::int32_t> filled = first;
  each_edge([&](int from, int s) {
    readers[filled[from]++] = s;
    ++waits[s];
  });
  step_heap<Plan> ready;
  for (int s = 0; s < n; ++s)
    if (waits[s] == 0) ready.push(p, s);
  while (!ready.empty()) {
    std::int32_t const s = ready.pop(p);
    p.steps[s].position = p.order.push(s);
    for (int k = first[s]; k < first[s + 1]; ++k)
      if (--waits[readers[k]] == 0) ready.push(p, readers[k]);
  }
  auto const touch = [&](std::int32_t root, int s, bool from_outside) {
    for (;; root = p.roots[root].which) { // what it is a part of lives as long
      memory_root& r = p.roots[root];
      if (r.last < p.steps[s].position) r.last = p.steps[s].position;
      if (from_outside || r.kind == home::part) r.outside = true;
      if (r.kind != home::part) return;
      from_outside = true;
    }
  };
  for (int s = 0; s < n; ++s)
    for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next) {
      unit const& at = p.units[u];
      for (int k = 0; k < at.count; ++k)
        if (std::int32_t const root = p.operand(at, k).root; root >= 0) touch(root, s, p.roots[root].step != s);
      for (int d = at.drain; d >= 0; d = p.drains[d].next) touch(p.drains[d].to.root, s, true);
      for (int k = 0; k < at.more_count; ++k) touch(p.results[at.more + k], s, true);
      if (at.root >= 0 && p.roots[at.root].kind == home::part) touch(at.root, s, true);
    }
}

constexpr std::int64_t rounded(std::int64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

/// The parts of the workspace in use, by offset. A new part takes the smallest gap that holds it.
template <class Offset> class block_list {
  struct block {
    Offset offset = 0, bytes = 0;
  };
  array<block> used_;
  std::int64_t top_ = 0;

public:
  std::int64_t size() const noexcept { return top_; }
  std::int64_t take(std::int64_t bytes) {
    std::int64_t end = 0, best = -1, best_gap = 0;
    int at = used_.size();
    for (int k = 0; k < used_.size(); ++k) {
      std::int64_t const gap = used_[k].offset - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
        at = k;
      }
      end = used_[k].offset + used_[k].bytes;
    }
    if (best < 0) best = end;
    used_.push({});
    for (int k = used_.size() - 1; k > at; --k) used_[k] = used_[k - 1];
    used_[at] = {best, bytes};
    if (top_ < best + bytes) top_ = best + bytes;
    return best;
  }
  void give_back(std::int64_t offset) {
    int k = 0;
    while (k < used_.size() && used_[k].offset != offset) ++k;
    if (k == used_.size()) return;
    for (; k + 1 < used_.size(); ++k) used_[k] = used_[k + 1];
    (void)used_.pop();
  }
};

/// The last unit of a step that reads a root, and whether all read it position by position: then that unit
/// may write its result over it, if no later step reads it.
struct reads_in_step {
  std::int32_t step = -1, last_unit = -1;
  bool pointwise = true;
};

template <class Plan> void note_reads(Plan const& p, std::int32_t s, array<reads_in_step>& reads) {
  for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next)
    for (int k = 0; k < p.units[u].count; ++k) {
      strided const& v = p.operand(p.units[u], k);
      if (v.root < 0) continue;
      reads_in_step& r = reads[v.root];
      bool const pointwise = v.contiguous() && v.offset == 0 && v.count() == p.roots[v.root].elements;
      r = {s, u, pointwise && (r.step != s || r.pointwise)};
    }
}

/// Gives every root of the workspace its offset, and returns the bytes that all need.
template <class Plan> std::int64_t place_roots(Plan& p) {
  block_list<std::int64_t> blocks;
  array<reads_in_step> reads(p.roots.size());
  array<array<std::int32_t>> dies(p.order.size());
  array<bool> taken(p.roots.size(), false);
  for (int r = 0; r < p.roots.size(); ++r) {
    memory_root const& m = p.roots[r];
    if (m.kind == home::workspace && m.outside && m.last >= 0 && m.last < p.order.size())
      dies[m.last].push(r);
  }
  auto const take = [&](memory_root& to) {
    to.offset = blocks.take(rounded(to.bytes) == 0 ? 64 : rounded(to.bytes));
    to.placed = true;
  };
  auto const take_whole = [&](std::int32_t root) { // of something that is written in pieces
    memory_root& to = p.roots[p.whole(root)];
    if (to.kind == home::workspace && !to.placed) take(to);
  };
  for (int position = 0; position < p.order.size(); ++position) {
    std::int32_t const s = p.order[position];
    bool const in_place = p.steps[s].shape >= 0;
    if (in_place) note_reads(p, s, reads);
    for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next) {
      for (int d = p.units[u].drain; d >= 0; d = p.drains[d].next) take_whole(p.drains[d].to.root);
      for (int k = 0; k < p.units[u].more_count; ++k) take_whole(p.results[p.units[u].more + k]);
      if (p.units[u].root < 0) continue;
      if (p.roots[p.units[u].root].kind == home::part) take_whole(p.units[u].root);
      memory_root& to = p.roots[p.units[u].root];
      if (to.kind != home::workspace || !to.outside || to.placed) continue;
      bool placed = false;
      for (int k = 0; in_place && !placed && k < p.units[u].count; ++k) {
        std::int32_t const r = p.operand(p.units[u], k).root;
        memory_root const& from = p.roots[r];
        if ( from.kind != home::workspace || !from.outside || from.step == s || from.last != position ||
            taken[r] || from.bytes != to.bytes || from.elements != to.elements || !reads[r].pointwise ||
            reads[r].last_unit > u)
          continue;
        to.offset = from.offset;
        taken[r] = placed = true;
      }
      if (placed) to.placed = true;
      else take(to);
    }
    for (std::int32_t const r : dies[position])
      if (!taken[r]) blocks.give_back(p.roots[r].offset);
  }
  return blocks.size();
}

} // namespace cotangent::detail::interpret

#endif
