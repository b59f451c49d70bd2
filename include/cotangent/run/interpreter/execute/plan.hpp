// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_PLAN_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_PLAN_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/plan/memory/arena.hpp>
#include <cotangent/run/interpreter/execute/layout.hpp>

#include <cstdint>

// The interpreter's plan: the steps, their order, and the memory of their results.

namespace cotangent {

/// The owners of an interpreter's inputs and outputs.
struct interpreter_memory {
  bool results_apart = false; // no output aliases an input unless it `may_replace` it, which saves copies
  detail::array<bool> own_inputs{}, own_outputs{}; // those in the workspace; empty: none
  detail::array<std::int32_t> updates{};       // by output: the input that it replaces, or none
  bool in_order = false;               // in the graph's order, even if another needs less memory
  bool from_plan = false; // by the plan of static programs wherever possible, not only where that is faster
  std::int64_t tile_bytes = 256 * 1024;    // the most that slots of a fused step take; at least 64 elements each
};

} // namespace cotangent

namespace cotangent::detail::interpret {

enum class home : unsigned char {
  workspace,
  input,
  output,
  constant,
  positions,
  part, // a contiguous part of another root
};

/// A range of memory with one writer.
struct memory_root {
  home kind = home::workspace;
  std::int32_t which = 0; // index of the input or output; or the enclosing root
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::int32_t unit = -1;   // that writes it; -1: it is live from the start
  std::int32_t step = -1;   // of that unit
  std::int32_t stage = -1;  // of that step
  std::int32_t last = -1;   // the position of the last step that reads it
  // the position from which on it has memory in the workspace; -2: it has none of its own
  std::int32_t first = -2;
  bool outside = false;     // read by a step other than its writer
  bool given = false;       // in the workspace before the first step
  bool begins = false;      // a part of it is in the workspace before the first step
  bool at_end = false;      // written in the workspace after the last step
  std::int32_t pieces = -1; // its index in `pieces` if it is written in pieces
  std::int64_t offset = 0;  // in the workspace, in the constants, or in the enclosing root
};

/// A node to execute, or a copy of a view to contiguous memory.
struct unit {
  std::int32_t node = -1; // -1: a copy
  std::int32_t first = 0; // operands, in the plan's views
  std::int32_t count = 0;
  std::int32_t root = -1; // its result
  std::int32_t step = -1;
  std::int32_t next = -1;  // in the same step
  std::int32_t drain = -1; // its further destinations, non-contiguous views: the first of the plan's drains
  std::int32_t sum =
      // the unit that reduces its result to one element while it is computed; the list continues from that
      // unit
      -1;
  bool absorbed = false; // into the step of its operand
  bool changes_rows = false; // of its last operand, which it may overwrite
  std::int32_t more = 0; // further results of control nodes, in the plan's results
  std::int32_t more_count = 0;
};

/// A copy of a result, as soon as it is computed, to its window in a root that is written in pieces.
struct drain {
  strided to;
  std::int32_t next = -1;  // of the same unit
  std::int32_t turn = 0;  // above 0: adds to the old value, in this order within a tile
};

/// A dependency between steps, due to pieces.
struct step_edge {
  std::int32_t before = -1, after = -1;
};

/// A value that the readers of a view wait for without reading it: see op::after.
struct barrier {
  strided of;
  bool direct = false; // the result of an elementwise unit itself
  std::int32_t shape = -1;
  std::int32_t next = -1;
};

struct planned_step {
  std::int32_t first_unit = -1, last_unit = -1;
  std::int32_t key = 0; // its position in the graph's order
  std::int32_t stage = 0;
  std::int32_t shape = -1; // elementwise steps: the shape of all their units
  bool in_slots = false;   // these are threaded code over slots, which writes after all its reads
  std::int32_t position = -1;
};

struct plan_data {
  array<strided> views;
  array<memory_root> roots;
  array<unit> units;
  array<planned_step> steps;
  array<drain> drains;
  array<barrier> barriers;
  array<std::int32_t> results;
  array<step_edge> edges;
  array<std::int32_t> order; // steps by position
  std::int64_t tile_bytes = 0; // see `interpreter_memory`

  strided const& operand(unit const& u, int k) const { return views[u.first + k]; }
  /// The outermost root that encloses it.
  std::int32_t whole(std::int32_t root) const {
    while (roots[root].kind == home::part) root = roots[root].which;
    return root;
  }
};

/// The last unit of a step that reads a root, and whether all its reads are pointwise: then that unit may
/// overwrite the root, if no later step reads it.
struct reads_in_step {
  std::int32_t step = -1, last_unit = -1;
  bool pointwise = true;
};

/// True if units of the step may overwrite operands.
template <class Plan> bool may_overwrite(Plan const& p, std::int32_t s) {
  auto const& step = p.steps[s]; // without units: merged into another step
  return step.shape >= 0 || (step.first_unit >= 0 && p.units[step.first_unit].changes_rows);
}

template <class Plan> void note_reads(Plan const& p, std::int32_t s, array<reads_in_step>& reads) {
  for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next)
    for (int k = 0; k < p.units[u].count; ++k) {
      strided const& v = p.operand(p.units[u], k);
      if (v.root < 0) continue;
      reads_in_step& r = reads[v.root];
      bool const pointwise = v.contiguous() && v.offset == 0 && v.count() == p.roots[v.root].elements &&
                             (p.steps[s].shape >= 0 || k == p.units[u].count - 1);
      r = {s, u, pointwise && (r.step != s || r.pointwise)};
      for (std::int32_t whole = v.root;
           p.roots[whole].kind == home::part;) { // enclosing roots are read as well
        whole = p.roots[whole].which;
        reads[whole] = {s, u, false};
      }
    }
}

/// Assigns memory to roots: which roots share memory because one overwrites another, and each location's live
/// range.
template <class Plan> class root_places {
  Plan& p_;
  array<reads_in_step> reads_;
  array<array<std::int32_t>> dies_; // by position: the roots that no later step reads
  array<std::int32_t> place_;       // by root
  array<bool> taken_;               // by root: another root overwrites it
  array<lifetime> places_;

public:
  explicit root_places(Plan& p)
      : p_(p), reads_(p.roots.size()), dies_(p.order.size()), place_(p.roots.size(), -1),
        taken_(p.roots.size(), false) {
    for (int r = 0; r < p.roots.size(); ++r) {
      memory_root const& m = p.roots[r];
      if (m.kind != home::workspace) continue;
      if (m.given || m.begins) take(r, -1);
      if (m.outside && m.last >= 0 && m.last < p.order.size()) dies_[m.last].push(r);
    }
    for (int position = 0; position < p.order.size(); ++position) visit(position);
    for (int r = 0; r < p.roots.size(); ++r)
      if (p.roots[r].kind == home::workspace && p.roots[r].at_end) take(r, p.order.size());
  }

  /// Assigns an offset to every root; returns the total bytes.
  std::int64_t settle() {
    arena const a = plan_arena(places_);
    for (int r = 0; r < p_.roots.size(); ++r)
      if (place_[r] >= 0) p_.roots[r].offset = a.offsets[place_[r]];
    return a.bytes;
  }

private:
  void take(std::int32_t root, std::int32_t position) {
    if (place_[root] >= 0) return;
    memory_root& m = p_.roots[root];
    m.first = position;
    std::int64_t const bytes = whole_lines(m.bytes);
    place_[root] = places_.push({position, m.last < position ? position : m.last, bytes == 0 ? 64 : bytes});
  }
  /// Allocates a root that is written in pieces.
  void take_whole(std::int32_t root, std::int32_t position) {
    root = p_.whole(root);
    if (p_.roots[root].kind == home::workspace) take(root, position);
  }
  void visit(std::int32_t position) {
    std::int32_t const s = p_.order[position];
    bool const in_place = may_overwrite(p_, s);
    if (in_place) note_reads(p_, s, reads_);
    for (int u = p_.steps[s].first_unit; u >= 0; u = p_.units[u].next) {
      unit const& at = p_.units[u];
      for (int d = at.drain; d >= 0; d = p_.drains[d].next) take_whole(p_.drains[d].to.root, position);
      for (int k = 0; k < at.more_count; ++k) take_whole(p_.results[at.more + k], position);
      for (int r = at.sum; r >= 0; r = p_.units[r].sum)
        if (p_.roots[p_.units[r].root].kind == home::workspace) take(p_.units[r].root, position);
      if (at.root < 0) continue;
      if (p_.roots[at.root].kind == home::part) take_whole(at.root, position);
      memory_root const& to = p_.roots[at.root];
      if (to.kind != home::workspace || !to.outside || place_[at.root] >= 0) continue;
      if (!in_place || !overwrite(u, position)) take(at.root, position);
    }
  }
  /// Lets unit u overwrite a root that it or an earlier unit reads last; its own operands are tried first.
  bool overwrite(std::int32_t u, std::int32_t position) {
    unit const& at = p_.units[u];
    for (int k = 0; k < at.count; ++k)
      if (std::int32_t const r = p_.operand(at, k).root; r >= 0 && overwrites(u, r, position)) return true;
    array<std::int32_t> const& others = dies_[position];
    for (int k = 0; k < others.size() && k < 16; ++k)
      if (overwrites(u, others[k], position)) return true;
    return false;
  }
  bool overwrites(std::int32_t u, std::int32_t r, std::int32_t position) {
    memory_root const &to = p_.roots[p_.units[u].root], &from = p_.roots[r];
    std::int32_t const s = p_.units[u].step;
    if (from.kind != home::workspace || !from.outside || from.step == s || from.last != position ||
        place_[r] < 0 || from.bytes != to.bytes || from.elements != to.elements || reads_[r].step != s ||
        !reads_[r].pointwise || reads_[r].last_unit > u || taken_[r])
      return false;
    lifetime& place = places_[place_[r]];
    if (place.last < to.last) place.last = to.last;
    place_[p_.units[u].root] = place_[r];
    p_.roots[p_.units[u].root].first = position;
    return taken_[r] = true;
  }
};

/// Assigns an offset to every root of the workspace; returns the total bytes.
template <class Plan> std::int64_t place_roots(Plan& p) { return root_places<Plan>(p).settle(); }

} // namespace cotangent::detail::interpret

#endif
