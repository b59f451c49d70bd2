// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_RECORD_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_RECORD_HPP

#include <cotangent/run/interpreter/execute/pieces.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>

#include <cstdint>
#include <source_location>

// The part of a region's plan that outlives its preparation: enough to report where every byte went.

namespace cotangent::detail::interpret {

/// The operation that something comes from, and its source location; null: none.
struct kept_place {
  char const* what = nullptr;
  std::source_location where{};
};
/// A value in the workspace, live from step `first` to step `last`; -1: it is live from the start.
struct kept_value {
  kept_place from;
  element type = element::float32;
  dimensions size; // numbers
  std::int64_t offset = 0, bytes = 0;
  std::int32_t first = 0, last = 0;
  std::int32_t name = none; // an offset in the record's names, zero terminated
};
struct kept_step {
  std::int32_t first = 0, count = 0; // in `made`: the operations of its units
  std::source_location where{};
  std::int64_t scratch = 0;
};
/// A sub-graph that a step runs: its index in the interpreter's codes, and its offset in the step's scratch
/// memory.
struct kept_region {
  char const* what = "";
  std::int32_t step = 0, code = 0;
  std::int64_t offset = 0;
};
/// The bytes that an iteration of a loop writes to the tape.
struct kept_tape {
  std::int32_t step = 0;
  std::int64_t bytes = 0;
};

struct region_record {
  array<kept_value> values;
  array<kept_step> steps;
  array<char const*> made;
  array<kept_region> regions;
  array<kept_tape> tapes;
  array<char> names;
  bool copies_results = false; // after the last step
};

/// Builds the record of a region after its steps were emitted. (A template, like all of the preparation.)
template <class Build, class Emit> class record_maker {
  Build const& b_;
  plan_data const& p_;
  array<std::int32_t> step_at_; // by position in the order
  region_record r_;

public:
  record_maker(Build const& b, Emit& e, bool copies_results) : b_(b), p_(b.plan) {
    r_.copies_results = copies_results;
    r_.regions = static_cast<array<kept_region>&&>(e.regions_of_step);
    r_.tapes = static_cast<array<kept_tape>&&>(e.tapes_of_step);
    for (std::int32_t const s : p_.order) {
      step_at_.push(r_.steps.size());
      if (p_.steps[s].first_unit >= 0) add_step(p_.steps[s], e.step_scratch[r_.steps.size()]);
    }
    for (std::int32_t root = 0; root < p_.roots.size(); ++root)
      if (p_.roots[root].kind == home::workspace && p_.roots[root].first > -2) add_value(root);
  }
  region_record take() { return static_cast<region_record&&>(r_); }

private:
  kept_place place_of(unit const& u) const {
    if (u.node >= 0) return {b_.g.nodes[u.node].op->name, b_.g.nodes[u.node].where};
    if (u.count == 0) return {"zeros", {}};
    std::int32_t const from = p_.operand(u, 0).root;
    std::int32_t const maker = from < 0 ? -1 : p_.roots[from].unit;
    bool const known = maker >= 0 && p_.units[maker].node >= 0;
    return {"copy", known ? b_.g.nodes[p_.units[maker].node].where : std::source_location{}};
  }
  void add_step(planned_step const& s, std::int64_t scratch) {
    kept_step to;
    to.first = r_.made.size();
    to.scratch = scratch;
    bool stored = false;
    for (std::int32_t u = s.first_unit; u >= 0; u = p_.units[u].next) {
      kept_place const from = place_of(p_.units[u]);
      r_.made.push(from.what);
      bool const stores = p_.units[u].root >= 0 && p_.roots[p_.units[u].root].outside;
      if (from.where.line() == 0 || (stored && (!stores || to.where.line() != 0))) continue;
      to.where = from.where;
      stored = stores;
    }
    to.count = r_.made.size() - to.first;
    r_.steps.push(to);
  }

  std::int32_t step_of(std::int32_t position) const {
    return position < 0 ? -1 : position < step_at_.size() ? step_at_[position] : r_.steps.size();
  }
  /// The tensor of a root.
  symbol symbol_of(std::int32_t root) const {
    memory_root const& m = p_.roots[root];
    if (m.pieces >= 0) return b_.written_root(m.pieces);
    if (m.unit < 0 || p_.units[m.unit].node < 0) return none;
    unit const& u = p_.units[m.unit];
    node const& n = b_.g.nodes[u.node];
    for (int k = 0; k < u.more_count; ++k)
      if (p_.results[u.more + k] == root) return b_.g.result(n, k);
    return b_.g.result(n);
  }
  void add_value(std::int32_t root) {
    memory_root const& m = p_.roots[root];
    kept_value v;
    symbol t = symbol_of(root);
    if (m.unit >= 0) v.from = place_of(p_.units[m.unit]);
    if (m.pieces >= 0) v.from.what = "written in pieces";
    for (int k = 0; k < b_.input_roots.size() && m.given; ++k)
      if (b_.input_roots[k] == root) {
        t = b_.g.input(k, b_.region);
        v.from.what = "input";
      }
    if (m.at_end) v.from.what = "result";
    v.offset = m.offset;
    v.bytes = m.bytes == 0 ? 64 : whole_lines(m.bytes);
    v.first = step_of(m.first);
    v.last = step_of(m.last);
    if (v.last < v.first) v.last = v.first;
    if (t != none) {
      v.type = b_.g.tensors[t].type;
      v.size = b_.g.shape(t);
      for (int k = 0; k < v.size.rank; ++k) v.size.size[k] = b_.size(v.size.size[k]);
      if (b_.g.tensors[t].depth > 0) { // the workspace holds its address on the tape
        v.type = element::int64;
        v.size = {};
        v.from.what = "sequence";
      }
      if (char const* name = b_.g.name(t); name != nullptr) {
        v.name = r_.names.size();
        do r_.names.push(*name);
        while (*name++ != '\0');
      }
    } else {
      v.size = {1, {m.elements}};
      if (m.unit >= 0 && p_.units[m.unit].count == 1) { // a copy has the shape of its operand
        strided const& x = p_.operand(p_.units[m.unit], 0);
        v.type = x.type;
        v.size.rank = x.rank;
        for (int k = 0; k < x.rank; ++k) v.size.size[k] = x.size[k];
      }
    }
    r_.values.push(v);
  }
};

} // namespace cotangent::detail::interpret

#endif
