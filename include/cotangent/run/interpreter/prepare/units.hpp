// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_UNITS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_UNITS_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/graph/window.hpp>
#include <cotangent/run/interpreter/execute/carries.hpp>
#include <cotangent/run/interpreter/execute/kernels.hpp>
#include <cotangent/run/interpreter/execute/pieces.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>
#include <cotangent/transform/differentiate/views/coverage.hpp>

#include <cstdint>
#include <cstring>

// Units of work, the steps that they are fused into, and memory for their results.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// Data shared by the preparation of all regions: arrays by symbol, since a symbol belongs to one region, and
/// the nodes of each region.
struct graph_values {
  array<strided> values; // without a root: not known yet
  array<bool> direct;    // the result of an elementwise unit itself, not a view of it
  array<bool> needed;
  static constexpr signed char never = -1;
  // above 0: deferred to its first reader, in a chain of that length; never: must not be deferred
  array<signed char> late;
  array<symbol> late_of;   // the one tensor that it is computed from, or none
  array<std::int32_t> first, nodes; // by region
  pieces written;
  array<bool> zeroed; // by symbol: unwritten elements of it are read; empty if no tensor is written in pieces

  explicit graph_values(graph_view const& g) : written(g) {
    if (written.any()) zeroed = zero_filled(g);
    values.resize(g.tensor_count);
    direct.assign(g.tensor_count, false);
    needed.assign(g.tensor_count, false);
    late.assign(g.tensor_count, 0);
    late_of.assign(g.tensor_count, none);
    first.assign(g.region_count + 1, 0);
    nodes.resize(g.node_count);
    for (std::int32_t i = 0; i < g.node_count; ++i) ++first[g.nodes[i].region + 1];
    for (std::int32_t r = 0; r < g.region_count; ++r) first[r + 1] += first[r];
    array<std::int32_t> at = first;
    for (std::int32_t i = 0; i < g.node_count; ++i) nodes[at[g.nodes[i].region]++] = i;
  }
};

class unit_maker {
public:
  graph_view g;
  std::int64_t const* sizes;
  std::int32_t region;
  plan_data plan;
  array<std::int64_t> constants; // eight words each: one element, repeated over a line
  array<output_source> sources;  // by output

  std::int64_t size(dimension d) const noexcept { return d >= 0 ? d : sizes[-1 - d]; }
  std::int64_t attribute(node const& n, int k) const noexcept { return g.attribute(n, k); }
  symbol written_root(std::int32_t pieces) const noexcept { return all_.written.root(pieces); }

  /// Hands on by address those of the first outputs that equal another output.
  void hand_on_equals(array<strided>& outputs, int carried) {
    sources.resize(outputs.size());
    if (carried == 0) return;
    array<std::int32_t> shown(plan.roots.size(), -1); // by root: the output that it is
    for (int k = outputs.size(); k-- > 0;) { // recorded values come first: each has memory of its own
      if (outputs[k].root < 0) continue;
      std::int32_t& as = shown[outputs[k].root];
      if (as < 0 || (k < carried && as < carried)) as = k;
    }
    for (int k = 0; k < carried; ++k) {
      if (outputs[k].root < 0) continue;
      std::int32_t const as = shown[outputs[k].root];
      if (as == k || !(outputs[as] == outputs[k])) continue;
      outputs[k] = {};
      sources[k] = {output_source::output, as};
    }
  }

protected:
  graph_values& all_;

  unit_maker(graph_view const& v, std::int64_t const* sizes_of_extents, graph_values& all_regions,
             std::int32_t r)
      : g(v), sizes(sizes_of_extents), region(r), all_(all_regions) {}

  strided shaped(symbol t) const noexcept {
    strided v;
    if (g.tensors[t].depth > 0) { // a sequence: its address on the tape
      v.type = element::int64;
      return v;
    }
    v.type = g.tensors[t].type;
    dimensions const& d = g.shape(t);
    v.rank = d.rank;
    for (int k = 0; k < d.rank; ++k) v.size[k] = size(d.size[k]);
    return v;
  }

  std::int32_t add_root(home kind, std::int32_t which, strided const& v) {
    memory_root r;
    r.kind = kind;
    r.which = which;
    r.elements = v.count();
    r.bytes = r.elements * static_cast<std::int64_t>(size_of(v.type));
    return plan.roots.push(r);
  }

  /// A constant, repeated over a line, so that kernels can read a pack of it.
  strided constant(strided v, scalar const& value) {
    std::size_t const bytes = size_of(v.type);
    char word[8];
    for (std::size_t at = 0; at < 8; at += bytes) write(v.type, word + at, 0, value);
    std::int64_t bits;
    std::memcpy(&bits, word, 8);
    v.root = add_root(home::constant, 0, v);
    plan.roots[v.root].offset = 8 * constants.size();
    for (int k = 0; k < 8; ++k) constants.push(bits);
    return v; // all strides are 0
  }

  /// Adds a unit of work. An elementwise one joins the step of its shape and stage.
  std::int32_t push_unit(std::int32_t node_index, std::int32_t key, strided const* operands, int count,
                         std::int32_t stage, std::int32_t shape) {
    unit u;
    u.node = node_index;
    u.changes_rows = node_index >= 0 && g.nodes[node_index].op == info_of<op::update_rows>();
    u.first = plan.views.size();
    u.count = count;
    for (int k = 0; k < count; ++k) plan.views.push(operands[k]);
    u.step = shape < 0 ? plan.steps.push({}) : step_of(stage, shape);
    for (int k = 0; k < count; ++k) {
      each_writing_step(operands[k], [&](std::int32_t s) { plan.edges.push({s, u.step}); });
      for (std::int32_t w = operands[k].after; w >= 0; w = plan.barriers[w].next) {
        strided const& t = plan.barriers[w].of;
        if (t.root >= 0 && plan.roots[t.root].step >= 0) plan.edges.push({plan.roots[t.root].step, u.step});
        each_writing_step(t, [&](std::int32_t s) { plan.edges.push({s, u.step}); });
      }
    }
    std::int32_t const at = plan.units.size();
    planned_step& s = plan.steps[u.step];
    if (s.first_unit < 0) {
      s.first_unit = at;
      s.key = key;
      s.stage = stage;
      s.shape = shape;
    } else plan.units[s.last_unit].next = at;
    s.last_unit = at;
    plan.units.push(u);
    return at;
  }
  /// Allocates the result of a unit.
  strided result_of(std::int32_t at, strided to) {
    to.make_contiguous();
    to.offset = 0;
    to.after = -1;
    to.root = add_root(home::workspace, 0, to);
    memory_root& r = plan.roots[to.root];
    r.unit = at;
    r.step = plan.units[at].step;
    r.stage = plan.steps[r.step].stage;
    return to;
  }
  /// Adds a unit with one result.
  strided work(std::int32_t node_index, std::int32_t key, strided const* operands, int count,
               strided const& to, std::int32_t stage, std::int32_t shape) {
    std::int32_t const at = push_unit(node_index, key, operands, count, stage, shape);
    strided const y = result_of(at, to);
    plan.units[at].root = y.root;
    return y;
  }

  std::int32_t step_of(std::int32_t stage, std::int32_t shape) {
    std::uint32_t const h = mix(static_cast<std::uint32_t>(stage), static_cast<std::uint64_t>(shape)) | 1u;
    std::int32_t const at = groups_.find(h, [&](std::int32_t k) {
      planned_step const& s = plan.steps[group_steps_[k]];
      return s.stage == stage && s.shape == shape;
    });
    if (at != none) return group_steps_[at];
    groups_.add(h);
    group_steps_.push(plan.steps.push({}));
    return group_steps_.back();
  }

  /// The first stage after all writers of an operand and all values that it waits for.
  std::int32_t stage_after(strided const& v) const {
    std::int32_t const there = stage_of_value(v), waits = stage_of_barriers(v, -1);
    return there < waits ? waits : there;
  }
  std::int32_t stage_of_value(strided const& v) const {
    if (v.root < 0) return 0;
    std::int32_t stage = plan.roots[v.root].stage;
    each_writing_step(v, [&](std::int32_t s) {
      if (stage < plan.steps[s].stage) stage = plan.steps[s].stage;
    });
    return stage + 1;
  }
  /// The first stage in which an elementwise unit of this shape may read `v`; within one step it may read
  /// another unit's result.
  std::int32_t stage_beside(strided const& v, bool direct, std::int32_t shape) const {
    std::int32_t const there = stage_of_value(v) - (direct ? 1 : 0),
                       waits = v.after < 0 ? 0 : stage_of_barriers(v, shape);
    return there < waits ? waits : there;
  }
  /// The result of an op::after: its operand `v`, whose readers wait for the other operands.
  template <class Value> strided waiting(node const& n, strided v, Value value) {
    for (int k = 1; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      plan.barriers.push({value(t), all_.direct[t], g.tensors[t].shape, v.after});
      v.after = plan.barriers.size() - 1;
    }
    return v;
  }
  /// The first stage in which an elementwise unit of this shape (-1: another unit) may read `v`, with regard
  /// to the values that `v` waits for. It may be their own stage if one step computes both.
  std::int32_t stage_of_barriers(strided const& v, std::int32_t shape) const {
    std::int32_t stage = 0;
    for (std::int32_t w = v.after; w >= 0; w = plan.barriers[w].next) {
      barrier const& b = plan.barriers[w];
      std::int32_t const one = stage_of_value(b.of) - (b.direct && b.shape == shape ? 1 : 0);
      if (stage < one) stage = one;
    }
    return stage;
  }

  /// Copies to contiguous memory. Consecutive operations that need the same copy share it.
  strided copied(strided const& v, std::int32_t key) {
    int const n = copies_.size();
    for (int k = n - 1; k >= 0 && k >= n - 8; --k)
      if (copies_[k].of == v) return copies_[k].to;
    strided const to = work(none, key, &v, 1, v, stage_after(v), -1);
    copies_.push({v, to});
    return to;
  }
  bool in_memory(strided const& v) const { return plan.roots[v.root].kind != home::positions; }
  strided contiguous(strided const& v, std::int32_t key) {
    return in_memory(v) && v.contiguous() ? v : copied(v, key);
  }

  /// Visits the steps that write, in pieces, elements that an operand reads.
  template <class Visit> void each_writing_step(strided const& v, Visit visit) const {
    if (v.root < 0 || plan.roots[v.root].pieces == none) return;
    all_.written.each_view(plan.roots[v.root].pieces, v, [&](symbol, std::int32_t step) {
      if (step != none) visit(step);
    });
  }

  // ---- carried values: handed on or recorded

  /// True if `v` is a whole input up to `last`, other than the iteration count.
  bool is_argument(strided const& v, std::int32_t last) const {
    memory_root const& r = plan.roots[v.root];
    return r.kind == home::input && r.which > 0 && r.which <= last && r.pieces == none && v.offset == 0 &&
           v.contiguous() && v.count() == r.elements;
  }
  strided handed_on(int k, strided const& v) {
    sources.resize(k + 1);
    sources[k] = {output_source::input, plan.roots[v.root].which};
    return {};
  }

private:
  struct copy {
    strided of, to;
  };
  detail::hash_index groups_;
  array<std::int32_t> group_steps_;
  array<copy> copies_;
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
