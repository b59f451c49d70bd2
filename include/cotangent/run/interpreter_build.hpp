// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_BUILD_HPP
#define COTANGENT_RUN_INTERPRETER_BUILD_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/run/interpreter_arrange.hpp>
#include <cotangent/run/interpreter_plan.hpp>

#include <cstdint>
#include <cstring>

// From a graph and the sizes of its extents to units of work: views become strides, elementwise nodes over
// one shape come together into one step.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_OF(interpreter_control, allowed, "cotangent: interpreter: loops and branches are not run by it yet")
COTANGENT_REFUSAL_OF(interpreter_view, allowed, "cotangent: interpreter: symbols that are views of others are not run by it yet")
COTANGENT_REFUSAL_OF(interpreter_operation, allowed, "cotangent: interpreter: an operation must say how its value is computed")
COTANGENT_REFUSAL_OF(interpreter_sizes, allowed, "cotangent: interpreter: every extent of the graph must have a size when it is prepared")
// clang-format on
} // namespace refusals

namespace detail::interpret {
inline namespace COTANGENT_ABI {

/// (Templates, like all that prepares, so that a program without an interpreter does not wait for them.)
template <class Kernels> class interpreter_build {
public:
  graph_view g;
  std::int64_t const* sizes;
  Kernels const& kernels;
  plan_data plan;
  array<std::int64_t> constants; // eight words each: one element, filling a line
  failure failed;
  array<std::int32_t> input_roots;

  array<strided> outputs;
  array<strided> values; // by symbol

  interpreter_build(graph_view const& v, std::int64_t const* sizes_of_extents, Kernels const& k)
      : g(v), sizes(sizes_of_extents), kernels(k) {
    check();
    if (failed.why == nullptr) make_units();
  }

  std::int64_t size(dimension d) const noexcept { return d >= 0 ? d : sizes[-1 - d]; }
  std::int64_t attribute(node const& n, int k) const noexcept { return g.attribute(n, k); }

private:
  detail::hash_index groups_;
  array<std::int32_t> group_steps_;
  array<bool> direct_; // by symbol: the result of an elementwise unit itself, no view of it

  template <class Refusal> void refuse(std::int32_t node_index) {
    if (failed.why != nullptr) return;
    failed.why = why<Refusal>();
    failed.node = node_index;
    if (node_index >= 0) failed.where = g.nodes[node_index].where;
  }

  void check() {
    for (std::int32_t k = 0; k < g.extent_count; ++k)
      if (sizes == nullptr || sizes[k] < 0) return refuse<refusals::interpreter_sizes>(none);
    for (std::int32_t k = 0; k < g.node_count; ++k) {
      node const& n = g.nodes[k];
      if (n.op->kind == operation_kind::control || n.region != 0 || n.result_count != 1)
        return refuse<refusals::interpreter_control>(k);
      if (n.op->kind == operation_kind::elementwise && n.op != kernels.convert && n.op->evaluate == nullptr)
        return refuse<refusals::interpreter_operation>(k);
      if (n.op->kind == operation_kind::elementwise && n.operand_count > 8)
        return refuse<refusals::interpreter_operation>(k);
    }
    for (std::int32_t k = 0; k < g.tensor_count; ++k)
      if (g.tensors[k].base != none) return refuse<refusals::interpreter_view>(g.tensors[k].producer);
  }

  strided shaped(symbol t) const noexcept {
    strided v;
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

  /// Filling a line, so that kernels can read a pack of it.
  strided constant(strided v, scalar const& value) {
    alignas(8) char line[64]{};
    std::int64_t word[8];
    write(v.type, line, 0, value);
    copy_line(line, 1, line, 0, 64 / static_cast<std::int64_t>(size_of(v.type)), size_of(v.type));
    std::memcpy(word, line, sizeof word);
    v.root = add_root(home::constant, 0, v);
    plan.roots[v.root].offset = 8 * constants.size();
    for (std::int64_t const w : word) constants.push(w);
    return v; // strides 0
  }

  /// A unit of work and its result. An elementwise one joins the step of its shape and stage.
  strided work(std::int32_t node_index, std::int32_t key, strided const* operands, int count, strided to,
               std::int32_t stage, std::int32_t shape) {
    unit u;
    u.node = node_index;
    u.first = plan.views.size();
    u.count = count;
    for (int k = 0; k < count; ++k) plan.views.push(operands[k]);
    to.make_contiguous();
    to.offset = 0;
    to.root = u.root = add_root(home::workspace, 0, to);
    u.step = shape < 0 ? plan.steps.push({}) : step_of(stage, shape);
    memory_root& r = plan.roots[u.root];
    r.unit = plan.units.size();
    r.step = u.step;
    r.stage = stage;
    planned_step& s = plan.steps[u.step];
    if (s.first_unit < 0) {
      s.first_unit = r.unit;
      s.key = key;
      s.stage = stage;
      s.shape = shape;
    } else plan.units[s.last_unit].next = r.unit;
    s.last_unit = r.unit;
    plan.units.push(u);
    return to;
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

  std::int32_t stage_after(strided const& v) const { return plan.roots[v.root].stage + 1; }

  strided copied(strided const& v, std::int32_t key) { return work(none, key, &v, 1, v, stage_after(v), -1); }
  bool in_memory(strided const& v) const { return plan.roots[v.root].kind != home::positions; }
  strided contiguous(strided const& v, std::int32_t key) {
    return in_memory(v) && v.contiguous() ? v : copied(v, key);
  }

  void make_units() {
    values.resize(g.tensor_count);
    direct_.assign(g.tensor_count, false);
    array<bool> needed(g.tensor_count, false);
    for (int k = 0; k < g.output_count(); ++k) needed[g.output(k)] = true;
    for (std::int32_t i = g.node_count; i-- > 0;)
      if (needed[g.result(g.nodes[i])])
        for (int k = 0; k < g.nodes[i].operand_count; ++k)
          if (g.operand(g.nodes[i], k) != none) needed[g.operand(g.nodes[i], k)] = true;
    for (int k = 0; k < g.input_count(); ++k) {
      strided v = shaped(g.input(k));
      v.make_contiguous();
      v.root = add_root(home::input, k, v);
      input_roots.push(v.root);
      values[g.input(k)] = v;
    }
    for (std::int32_t i = 0; i < g.node_count && failed.why == nullptr; ++i)
      if (needed[g.result(g.nodes[i])]) values[g.result(g.nodes[i])] = value_of(i);
    if (failed.why != nullptr) return;
    for (int k = 0; k < g.output_count(); ++k) {
      strided v = values[g.output(k)];
      // what is copied from an argument at the end could have been overwritten by another result that is in
      // its place
      if (plan.roots[v.root].kind == home::input && (g.output_count() > 1 || !v.contiguous()))
        v = copied(v, g.node_count);
      outputs.push(v);
    }
  }

  strided value_of(std::int32_t i) {
    node const& n = g.nodes[i];
    symbol const result = g.result(n);
    strided y = shaped(result);
    strided const x = n.operand_count > 0 ? values[g.operand(n, 0)] : strided{};
    y.root = x.root;
    y.offset = x.offset;
    switch (n.op->kind) {
    case operation_kind::constant: return constant(y, scalar_of(y.type, attribute(n, 0)));
    case operation_kind::size: {
      std::int64_t count = 1;
      for (int k = 0; k < n.attribute_count; ++k) count *= size(attribute(n, k));
      return constant(y, is_floating(y.type) ? scalar{y.type, static_cast<double>(count), 0}
                                             : scalar{y.type, 0, count});
    }
    case operation_kind::iota:
      y.offset = 0;
      y.stride[attribute(n, 0)] = 1;
      y.root = add_root(home::positions, 0, y);
      return y;
    case operation_kind::identity: direct_[result] = direct_[g.operand(n, 0)]; return x;
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
      if (!reshaped(x, y)) (void)reshaped(copied(x, i), y);
      return y;
    default: return unit_of(i, y);
    }
  }

  strided unit_of(std::int32_t i, strided const& y) {
    node const& n = g.nodes[i];
    bool const elementwise = n.op->kind == operation_kind::elementwise;
    array<strided> x(n.operand_count);
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      x[k] = values[t];
      if (!elementwise) x[k] = ready(n, k, x[k], i);
      bool const joins = elementwise && direct_[t];
      std::int32_t const after = stage_after(x[k]) - (joins ? 1 : 0);
      if (stage < after) stage = after;
    }
    direct_[g.result(n)] = elementwise;
    return work(i, i, x.data(), n.operand_count, y, stage, elementwise ? g.tensors[g.result(n)].shape : none);
  }

  /// An operand in a form that its kernel can read.
  strided ready(node const& n, int k, strided const& v, std::int32_t key) {
    bool ok = in_memory(v);
    reduction_step r;
    bool rows = false;
    std::int64_t row = 0;
    bool turned = false;
    switch (n.op->kind) {
    case operation_kind::reduction:
      ok = ok && arrange_reduction(v, static_cast<std::uint32_t>(attribute(n, 0)), r, rows);
      break;
    case operation_kind::matmul: ok = ok && arrange_matrix(v, attribute(n, k) != 0, row, turned); break;
    case operation_kind::concatenate:
    case operation_kind::pad: break;
    default: return contiguous(v, key);
    }
    return ok ? v : copied(v, key);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail::interpret
} // namespace cotangent

#endif
