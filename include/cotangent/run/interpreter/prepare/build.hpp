// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_BUILD_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_BUILD_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/run/interpreter/execute/carries.hpp>
#include <cotangent/run/interpreter/prepare/arrange.hpp>
#include <cotangent/run/interpreter/prepare/graph_values.hpp>
#include <cotangent/run/interpreter/prepare/units.hpp>

#include <cstdint>

// Translates a graph, with the sizes of its extents, to units of work: views become strides, and elementwise
// nodes over one shape are fused into one step.

COTANGENT_COLD_BEGIN
namespace cotangent::refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_OF(interpreter_results, allowed, "cotangent: interpreter: an operation other than a loop or a branch must have one result")
COTANGENT_REFUSAL_OF(interpreter_operation, allowed, "cotangent: interpreter: an operation must say how its value is computed")
COTANGENT_REFUSAL_OF(interpreter_sizes, allowed, "cotangent: interpreter: every extent of the graph must have a size when it is prepared")
// clang-format on
} // namespace cotangent::refusals

namespace cotangent::detail {

namespace interpret {
inline namespace COTANGENT_ABI {

/// (Templates, like all of the preparation, so that a program without an interpreter does not compile them.)
template <class Kernels> class interpreter_build {
public:
  graph_view g;
  std::int64_t const* sizes;
  std::int32_t region;
  Kernels const& kernels;
  failure failed;
  plan_data plan;
  array<std::int64_t> constants; // eight words each: one element, repeated over a line
  array<std::int32_t> input_roots;
  array<strided> outputs; // without a root: absent, or handed on
  array<output_source> sources; // by output

  interpreter_build(graph_view const& v, std::int64_t const* sizes_of_extents, Kernels const& k,
                    graph_values& all_regions, std::int32_t r, interpreter_memory const* memory, int carried)
      : g(v), sizes(sizes_of_extents), region(r), kernels(k), all_(all_regions), memory_(memory) {
    check();
    if (failed.why == nullptr) make_units(carried);
  }

  std::int64_t size(dimension d) const noexcept { return d >= 0 ? d : sizes[-1 - d]; }
  std::int64_t attribute(node const& n, int k) const noexcept { return g.attribute(n, k); }
  symbol written_root(std::int32_t pieces) const noexcept { return all_.written.root(pieces); }

private:
  graph_values& all_;
  interpreter_memory const* memory_; // of the graph's inputs and outputs; null for sub-graphs
  unit_maker units_{all_.written, plan, constants};

  template <class Refusal> void refuse(std::int32_t node_index) {
    if (failed.why != nullptr) return;
    failed.why = why<Refusal>();
    failed.node = node_index;
    if (node_index >= 0) failed.where = g.nodes[node_index].where;
  }

  void check() {
    for (std::int32_t k = 0; k < g.extent_count; ++k)
      if (sizes == nullptr || sizes[k] < 0) return refuse<refusals::interpreter_sizes>(none);
    for (std::int32_t j = all_.first[region]; j < all_.first[region + 1]; ++j) {
      std::int32_t const k = all_.nodes[j];
      node const& n = g.nodes[k];
      if (n.op->kind != operation_kind::control && n.result_count != 1)
        return refuse<refusals::interpreter_results>(k);
      if (n.op->kind == operation_kind::elementwise && n.op != kernels.convert && n.op->evaluate == nullptr)
        return refuse<refusals::interpreter_operation>(k);
      if (n.op->kind == operation_kind::whole && (n.op->whole == nullptr || n.operand_count > whole_call::max_operands))
        return refuse<refusals::interpreter_operation>(k);
      if (n.op->kind == operation_kind::elementwise && n.operand_count > 8)
        return refuse<refusals::interpreter_operation>(k);
    }
  }

  void make_units(int carried) { // the first `carried` outputs may be handed on by address
    all_.mark_needed(g, region);
    for (int k = 0; k < g.input_count(region); ++k) {
      symbol const t = g.input(k, region);
      strided v = shaped(t);
      v.make_contiguous();
      v.root = units_.add_root(home::input, k, v);
      input_roots.push(v.root);
      all_.values[t] = v;
    }
    for (int r = 0; r < all_.written.roots(); ++r)
      if (symbol const t = all_.written.root(r); g.tensors[t].region == region && all_.needed[t])
        make_room(r, t);
    for (std::int32_t j = all_.first[region]; j < all_.first[region + 1] && failed.why == nullptr; ++j) {
      std::int32_t const i = all_.nodes[j];
      node const& n = g.nodes[i];
      if (!all_.is_needed(g, n)) continue;
      if (n.op->kind == operation_kind::control) control_of(i);
      else if (!puts_off(i)) computed(i, g.result(n), value_of(i));
    }
    if (failed.why != nullptr) return;
    int const output_count = g.output_count(region);
    for (int k = 0; k < output_count; ++k) {
      if (g.output(k, region) == none) {
        outputs.push({});
        continue;
      }
      strided v = value(g.output(k, region));
      // A final copy from an argument could read another result that overwrote it in place.
      if (is_argument(v, k < carried ? g.input_count(region) : carried)) {
        sources.resize(k + 1);
        sources[k] = {output_source::input, plan.roots[v.root].which};
        v = {};
      } else if (plan.roots[v.root].kind == home::input && (output_count > 1 || !v.contiguous()))
        v = units_.copied(v, g.node_count);
      outputs.push(v);
    }
  }

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

  /// True if `v` is a whole input up to `last`, other than the iteration count.
  bool is_argument(strided const& v, std::int32_t last) const {
    memory_root const& r = plan.roots[v.root];
    return r.kind == home::input && r.which > 0 && r.which <= last && r.pieces == none && v.offset == 0 &&
           v.contiguous() && v.count() == r.elements;
  }

  // ---- deferred nodes

  /// True if elementwise node i is computed just before its first reader, so that its result need not be
  /// stored. It must depend on one tensor only, which is stored instead, and often is anyway.
  bool puts_off(std::int32_t i) {
    node const& n = g.nodes[i];
    symbol const y = g.result(n);
    if (n.op->kind != operation_kind::elementwise || all_.late[y] == graph_values::never ||
        g.tensors[y].base != none)
      return false;
    symbol from = none;
    int depth = 1;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol t = g.operand(n, k);
      if (all_.late[t] > 0) {
        if (depth <= all_.late[t]) depth = all_.late[t] + 1;
        t = all_.late_of[t];
      } else if (value(t).uniform()) continue;
      if (t == none) continue;
      if (from != none && from != t) return false;
      from = t;
    }
    if (depth > most_put_off) return false;
    all_.late[y] = static_cast<signed char>(depth);
    all_.late_of[y] = from;
    return true;
  }
  static constexpr int most_put_off = 8; // the longest chain
  /// The first stage in which elementwise node i can run.
  std::int32_t stage_of(node const& n) {
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      if (k > 0 && t == g.operand(n, k - 1)) continue;
      std::int32_t const after =
          all_.late[t] > 0 ? stage_of(g.nodes[g.tensors[t].producer])
                           : units_.stage_beside(value(t), all_.direct[t], g.tensors[g.result(n)].shape);
      if (stage < after) stage = after;
    }
    return stage;
  }
  /// Emits an elementwise node, and the deferred nodes that it reads.
  strided elementwise_unit(std::int32_t i, std::int32_t stage, std::int32_t key) {
    node const& n = g.nodes[i];
    symbol const y = g.result(n);
    array<strided> x(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      if (all_.late[t] > 0) {
        all_.late[t] = graph_values::never;
        all_.values[t] = elementwise_unit(g.tensors[t].producer, stage, key);
      }
      x[k] = value(t);
    }
    all_.direct[y] = true;
    return units_.work(i, key, x.data(), n.operand_count, shaped(y), stage, g.tensors[y].shape);
  }

  // ---- views

  /// A tensor written in pieces starts as its input, or as zeros if unwritten elements are read.
  void make_room(std::int32_t r, symbol t) {
    strided v = shaped(t);
    bool const given = all_.values[t].root >= 0;
    if (given || all_.zeroed[t]) v = units_.work(none, none, &all_.values[t], given ? 1 : 0, v, 0, -1);
    else { // every element that is read is written
      v.make_contiguous();
      v.root = units_.add_root(home::workspace, 0, v);
    }
    plan.roots[v.root].pieces = r;
    all_.values[t] = v;
  }

  /// An operand in memory: a view is a window on its tensor, unless the value written there is known.
  strided value(symbol t) {
    symbol const base = g.tensors[t].base;
    if (all_.values[t].root >= 0) return all_.values[t];
    if (all_.late[t] > 0) { // its reader was not foreseen
      std::int32_t const i = g.tensors[t].producer;
      all_.late[t] = graph_values::never;
      return all_.values[t] = elementwise_unit(i, stage_of(g.nodes[i]), i);
    }
    if (base == none)
      return all_.values[t] = units_.work(none, none, nullptr, 0, shaped(t), 0, -1); // no node assigns it: zero
    // A broadcast or permuted tensor is materialized, so that the window's strides are valid.
    strided const from = units_.contiguous(value(base), g.tensors[base].producer);
    all_.values[base] = from;
    strided v = shaped(t);
    std::int64_t const* const window = g.numbers + g.tensors[t].window;
    v.look_at(from);
    v.offset += window[0];
    for (int k = 0; k < v.rank; ++k) v.stride[k] = window[1 + k];
    return v;
  }

  /// Assigns `v` as result t of node i; if t is a view, writes `v` to its window.
  void computed(std::int32_t i, symbol t, strided v) {
    if (g.tensors[t].base == none) {
      all_.values[t] = v;
      return;
    }
    if (!all_.needed[t]) return;
    strided const to = value(t);
    std::int32_t const before = plan.roots[to.root].step;
    if (!units_.in_memory(v)) v = units_.copied(v, i);
    memory_root& r = plan.roots[v.root];
    std::int32_t step = r.step;
    if (lies_in(v, to, g.tensors[t].base)) { // the input is passed at its final location
      plan.roots[to.root].begins = true;
      r.kind = home::part;
      r.which = to.root;
      r.offset = to.offset * static_cast<std::int64_t>(size_of(to.type));
      all_.values[t] = v;
      return;
    }
    bool const whole = r.kind == home::workspace && r.unit >= 0 && r.pieces == none && v.offset == 0 &&
                       v.contiguous() && v.count() == r.elements;
    if (whole && to.contiguous()) { // computed at its final location
      r.kind = home::part;
      r.which = to.root;
      r.offset = to.offset * static_cast<std::int64_t>(size_of(to.type));
    } else {
      std::int32_t at = r.unit;
      if (!whole || plan.steps[step].shape < 0) {
        at = units_.push_unit(none, i, &v, 1, units_.stage_after(v), -1);
        step = plan.units[at].step;
      }
      drain d;
      d.to = to;
      d.next = plan.units[at].drain;
      plan.units[at].drain = plan.drains.push(d);
    }
    if (before >= 0) plan.edges.push({before, step});
    all_.written.set_step(t, step);
    all_.values[t] = v;
  }

  /// True if `v` is a whole input in the workspace, and `to` is part of a tensor in the workspace that is not
  /// cleared first: then the input may be placed there.
  bool lies_in(strided const& v, strided const& to, symbol base) const {
    memory_root const &r = plan.roots[v.root], &whole = plan.roots[to.root];
    if (memory_ == nullptr || r.kind != home::input || r.which >= memory_->own_inputs.size() ||
        !memory_->own_inputs[r.which] || v.offset != 0 || !v.contiguous() || v.count() != r.elements ||
        !to.contiguous() || whole.kind != home::workspace || whole.unit >= 0 || r.bytes == 0)
      return false;
    for (int k = 0; k < g.output_count(); ++k) {
      if (g.output(k) == base && (k >= memory_->own_outputs.size() || !memory_->own_outputs[k])) return false;
      if (g.output(k) == g.input(r.which)) return false;
    }
    return true;
  }

  // ---- control nodes

  void control_of(std::int32_t i) {
    node const& n = g.nodes[i];
    array<strided> x(n.operand_count);
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      if (g.operand(n, k) == none) continue;
      x[k] = units_.contiguous(value(g.operand(n, k)), i);
      if (stage < units_.stage_after(x[k])) stage = units_.stage_after(x[k]);
    }
    std::int32_t const at = units_.push_unit(i, i, x.data(), n.operand_count, stage, -1);
    array<std::int32_t> roots;
    array<strided> results;
    for (int k = 0; k < n.result_count; ++k) {
      results.push(units_.result_of(at, shaped(g.result(n, k))));
      roots.push(results[k].root);
    }
    plan.units[at].more = plan.results.size();
    plan.units[at].more_count = n.result_count;
    for (std::int32_t const r : roots) plan.results.push(r);
    for (int k = 0; k < n.result_count; ++k) computed(i, g.result(n, k), results[k]);
  }

  strided value_of(std::int32_t i) {
    node const& n = g.nodes[i];
    symbol const result = g.result(n);
    strided y = shaped(result);
    if (n.op->kind == operation_kind::elementwise) return unit_of(i, y);
    strided const x = n.operand_count > 0 ? value(g.operand(n, 0)) : strided{};
    y.look_at(x);
    switch (n.op->kind) {
    case operation_kind::constant: return units_.constant(y, scalar_of(y.type, attribute(n, 0)));
    case operation_kind::size: {
      std::int64_t count = 1;
      for (int k = 0; k < n.attribute_count; ++k) count = capped_product(count, size(attribute(n, k)));
      return units_.constant(y, is_floating(y.type) ? scalar{y.type, static_cast<double>(count), 0}
                                                    : scalar{y.type, 0, count});
    }
    case operation_kind::iota:
      y.offset = 0;
      y.stride[attribute(n, 0)] = 1;
      y.root = units_.add_root(home::positions, 0, y);
      return y;
    case operation_kind::identity:
      all_.direct[result] = all_.direct[g.operand(n, 0)];
      return waiting(n, x);
    case operation_kind::broadcast:
      for (int k = 0; k < x.rank; ++k)
        y.stride[attribute(n, k)] = x.size[k] == 1 && y.size[attribute(n, k)] != 1 ? 0 : x.stride[k];
      return y;
    case operation_kind::permute:
      for (int k = 0; k < y.rank; ++k) y.stride[k] = x.stride[attribute(n, k)];
      return y;
    case operation_kind::slice:
      for (int k = 0; k < y.rank; ++k) {
        y.offset += size(attribute(n, 2 * k)) * x.stride[k];
        y.stride[k] = attribute(n, 2 * k + 1) * x.stride[k];
      }
      return y;
    case operation_kind::reshape:
      if (!reshaped(x, y)) (void)reshaped(units_.copied(x, i), y);
      return y;
    default: return unit_of(i, y);
    }
  }

  /// The result of an op::after: its operand `v`, whose readers wait for the other operands.
  strided waiting(node const& n, strided v) {
    for (int k = 1; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      strided const of = value(t);
      units_.add_barrier(v, of, all_.direct[t], g.tensors[t].shape);
    }
    return v;
  }

  strided unit_of(std::int32_t i, strided const& y) {
    node const& n = g.nodes[i];
    if (n.op->kind == operation_kind::elementwise) return elementwise_unit(i, stage_of(n), i);
    array<strided> x(n.operand_count);
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      x[k] = ready(n, k, value(g.operand(n, k)), i);
      std::int32_t const after = units_.stage_after(x[k]);
      if (stage < after) stage = after;
    }
    all_.direct[g.result(n)] = false;
    strided const made = units_.work(i, i, x.data(), n.operand_count, y, stage, none);
    plan.units.back().changes_rows = n.op == info_of<op::update_rows>();
    return made;
  }

  /// An operand in a layout that its kernel can read.
  strided ready(node const& n, int k, strided const& v, std::int32_t key) {
    return units_.in_memory(v) && is_ready(*this, n, k, v) ? v : units_.copied(v, key);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
