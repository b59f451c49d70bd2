// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_PLANNED_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_PLANNED_HPP

#include <cotangent/run/interpreter/prepare/nest_emit.hpp>
#include <cotangent/run/interpreter/prepare/node_steps.hpp>

#include <cstdint>

// Prepares a graph from the plan that static programs have, too. For graphs of numbers without views, loops and branches,
// if some nest has reductions over its rows: the steps of other graphs come from `interpreter_build`.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// A graph of numbers, as `node_steps` takes it.
struct numeric_graph {
  graph_view const& g;
  kernel_table const& kernels;
  std::int64_t size(dimension d) const { return d; }
  std::int64_t attribute(node const& n, int k) const { return g.attribute(n, k); }
};

class planned_code {
  graph_view const& g_;
  kernel_table const& kernels_;
  step_table const& steps_;
  interpreter_memory const& memory_;
  plan p_;
  array<bool> in_tiles_; // by buffer: a row buffer that stays in a tile
  array<bool> moved_;    // by output: computed elsewhere, then copied

public:
  region_code code;

  planned_code(graph_view const& g, kernel_table const& k, step_table const& steps, interpreter_memory const& memory)
      : g_(g), kernels_(k), steps_(steps), memory_(memory) {}

  /// True if `code` runs the graph.
  bool make() {
    if (!is_plain()) return false;
    p_ = make_plan(g_, static_cast<int>(simd::bytes));
    if (!is_worth()) return false;
    emit();
    return true;
  }
  bool reads_input(int k) const {
    for (buffer const& b : p_.buffers)
      if (b.where == residence::argument && b.index == k) return b.first_nest != none || is_result(b);
    return false;
  }

private:
  bool is_result(buffer const& b) const {
    for (std::int32_t const r : p_.results)
      if (&p_.buffers[r] == &b) return true;
    return false;
  }

  /// True for what the plan and the steps below know.
  bool is_plain() const {
    if (g_.region_count != 1 || memory_.own_inputs.size() > 0 || memory_.own_outputs.size() > 0) return false;
    bool reduces = false;
    array<bool> given(g_.tensor_count, false);
    for (int k = 0; k < g_.input_count(); ++k) given[g_.input(k)] = true;
    auto const is_made = [&](symbol t) { return t != none && (g_.producer(t) != nullptr || given[t]); };
    for (symbol t = 0; t < g_.tensor_count; ++t) {
      if (g_.tensors[t].base != none || g_.tensors[t].depth > 0) return false;
      dimensions const& d = g_.shape(t);
      for (int k = 0; k < d.rank; ++k)
        if (d.size[k] <= 0) return false;
    }
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.result_count != 1 || n.op->kind == operation_kind::control) return false;
      if (n.op->kind == operation_kind::identity && n.operand_count != 1) return false;
      for (int k = 0; k < n.operand_count; ++k)
        if (!is_made(g_.operand(n, k))) return false;
      if (g_.result(n) == none) return false;
      bool const elementwise = n.op->kind == operation_kind::elementwise;
      if (elementwise && n.op != kernels_.convert && n.op->evaluate == nullptr) return false;
      if (elementwise && n.operand_count > 8) return false;
      if (n.op->kind == operation_kind::whole && (n.op->whole == nullptr || n.operand_count > whole_call::max_operands)) return false;
      reduces = reduces || (n.op->kind == operation_kind::reduction && reduces_rows(n));
    }
    for (int k = 0; k < g_.output_count(); ++k)
      if (!is_made(g_.output(k))) return false;
    if (!is_needed()) return false;
    return reduces || memory_.from_plan;
  }
  /// True if a reduction may give a nest stages over rows: there is no need for a plan to know that others do not.
  bool reduces_rows(node const& n) const {
    dimensions const& d = g_.shape(g_.operand(n, 0));
    std::int64_t rows = 1, lanes = 1;
    bool last = false; // the last axis is reduced
    for (int k = 0; k < d.rank; ++k) {
      if (d.size[k] == 1) continue;
      last = (g_.attribute(n) >> k & 1) != 0;
      (last ? lanes : rows) *= d.size[k];
    }
    return last && rows > 1 && rows * lanes >= least_elements;
  }

  /// True if all nodes are: kernels of others would run in vain, and could find an index out of range.
  bool is_needed() const {
    array<bool> read(g_.tensor_count, false);
    for (int k = 0; k < g_.output_count(); ++k) read[g_.output(k)] = true;
    for (std::int32_t i = g_.node_count; i-- > 0;) {
      if (!read[g_.result(g_.nodes[i])]) return false;
      for (int k = 0; k < g_.nodes[i].operand_count; ++k) read[g_.operand(g_.nodes[i], k)] = true;
    }
    return true;
  }

  /// True if tiles can run all nests, and some nest has stages over rows.
  bool is_worth() const {
    bool structured = memory_.from_plan;
    for (nest const& n : p_.nests) {
      if (n.kind != nest_kind::loops) continue;
      if (!nest_emit::takes(p_, n, kernels_)) return false;
      std::int64_t rows = 1, lanes = 1;
      for (int k = 0; k < n.split; ++k) rows *= n.size[k];
      for (int k = n.split; k < n.rank; ++k) lanes *= n.size[k];
      structured = structured || (rows > 1 && n.stages > 1 && rows * lanes >= least_elements);
    }
    return structured;
  }
  static constexpr std::int64_t least_elements = 256;

  std::int64_t bytes_of(buffer const& b) const { return b.count * static_cast<std::int64_t>(size_of(b.type)); }
  address result(int k) const { return {base::first_argument + g_.input_count() + k, 0}; }

  /// The reads of an argument by the last nest that reads it, and the first writes of a result. Units are instances.
  use_of_memory last_read(std::int32_t b) const {
    buffer const& of = p_.buffers[b];
    for (std::int32_t const r : p_.results)
      if (r == b) return {p_.nests.size(), 0};
    if (of.first_nest == none) return {};
    nest const& n = p_.nests[of.last_nest];
    use_of_memory last{of.last_nest, p_.instances.size()};
    if (n.kind != nest_kind::loops || n.split != 0 || n.stages > 1) return last;
    std::int32_t unit = none;
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = p_.instances[i];
      if (v.what == action::load && p_.accesses[v.access].buffer == b && !is_pointwise(v, n, of)) return last;
      if (!reads(v, b)) continue;
      if (v.what != action::compute || nest_memory::is_copy(v)) return last; // reads it after all units
      unit = i;
    }
    last.unit = unit;
    return last;
  }
  /// True if an operand of the instance is an element of the buffer; sums of unrounded products read those of the product.
  bool reads(instance const& v, std::int32_t b) const {
    for (int k = 0; k < v.operand_count && p_.operands[v.first_operand + k] != none; ++k) {
      instance const& u = p_.instances[p_.operands[v.first_operand + k]];
      if (v.fused ? reads(u, b) : u.what == action::load && p_.accesses[u.access].buffer == b) return true;
    }
    return false;
  }
  use_of_memory first_write(int k) const {
    std::int32_t const b = p_.results[k];
    buffer const& of = p_.buffers[b];
    if (of.where != residence::result || of.index != k || moved_[k]) return {p_.nests.size() + 1, 0};
    nest const& n = p_.nests[of.first_nest];
    use_of_memory first{of.first_nest, none};
    if (n.kind != nest_kind::loops || n.split != 0 || n.stages > 1) return first;
    for (row_slot const& s : p_.row_slots)
      if (s.buffer == b) return first;
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = p_.instances[i];
      if (v.access == none || p_.accesses[v.access].buffer != b) continue;
      if (v.what != action::compute || nest_memory::is_copy(v) || !is_pointwise(v, n, of)) return first;
      if (first.unit < 0) first.unit = i;
    }
    return first;
  }
  /// True if position i of the nest reads or writes element i.
  bool is_pointwise(instance const& v, nest const& n, buffer const& b) const {
    access const& a = p_.accesses[v.access];
    return n.rank == 1 && a.offset == 0 && a.stride[0] == 1 && n.size[0] == b.count;
  }

  /// Results that would overwrite an argument which is still read: callers may pass the same memory for both.
  void find_moved() {
    moved_.assign(g_.output_count(), false);
    if (memory_.results_apart) return;
    array<use_of_memory> reads;
    array<std::int64_t> bytes;
    for (buffer const& b : p_.buffers)
      if (b.where == residence::argument) {
        reads.push(last_read(static_cast<std::int32_t>(&b - p_.buffers.data())));
        bytes.push(bytes_of(b));
      }
    for (int k = 0; k < moved_.size(); ++k) {
      use_of_memory const written = first_write(k);
      for (int j = 0; j < reads.size(); ++j)
        if (bytes[j] == bytes_of(p_.buffers[p_.results[k]]) && bytes[j] != 0 && !is_free(reads[j], written)) moved_[k] = true;
    }
  }

  /// Places the buffers of the workspace; returns its bytes.
  std::int64_t place_buffers(array<address>& to) {
    array<lifetime> lives;
    array<symbol> const symbols = symbols_of_buffers();
    array<std::int32_t> of;
    for (std::int32_t k = 0; k < p_.buffers.size(); ++k) {
      buffer const& b = p_.buffers[k];
      to.push({base::roots, 0});
      if (b.where == residence::argument) to[k] = {base::first_argument + b.index, 0};
      bool const moved = b.where == residence::result && moved_[b.index];
      if (b.where == residence::result && !moved) to[k] = result(b.index);
      if (b.where != residence::workspace && !moved) continue;
      if (b.first_nest == none || in_tiles_[k]) continue;
      std::int64_t const bytes = bytes_of(b);
      lives.push({b.first_nest, moved ? p_.nests.size() : b.last_nest, bytes == 0 ? 64 : whole_lines(bytes)});
      of.push(k);
    }
    arena const found = plan_arena(lives);
    for (int k = 0; k < of.size(); ++k) {
      to[of[k]].offset = found.offsets[k];
      add_value(symbols[of[k]], p_.buffers[of[k]], lives[k], found.offsets[k]);
    }
    return found.bytes;
  }

  void emit() {
    find_moved();
    program_data& program = code.program;
    nest_memory m{g_, p_, kernels_, program, {}, memory_.tile_bytes, {}, {}};
    nest_emit nests(m, code.constant_words);
    in_tiles_.assign(p_.buffers.size(), false);
    for (nest const& n : p_.nests) {
      if (n.kind != nest_kind::loops || !nests.has_rows(n)) continue;
      for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i)
        if (std::int32_t const s = p_.instances[i].slot; s != none) in_tiles_[p_.row_slots[s].buffer] = true;
    }
    code.root_bytes = place_buffers(m.buffers);
    numeric_graph const numbers{g_, kernels_};
    node_steps<numeric_graph> nodes(numbers, steps_, program);
    std::int64_t scratch = 0;
    array<std::int64_t> step_scratch;
    for (std::int32_t k = 0; k < p_.nests.size(); ++k) {
      nest const& n = p_.nests[k];
      if (n.kind == nest_kind::loops) {
        program.steps.push({&run_nest, nests.emit(k)});
        step_scratch.push(none);
      } else {
        std::int64_t const bytes = emit_kernel(nodes, m, n);
        step_scratch.push(bytes);
        scratch = larger(scratch, bytes);
      }
    }
    nests.place_segments();
    for (std::int64_t& bytes : step_scratch)
      if (bytes < 0) bytes = nests.scratch_bytes;
    bool copies = false;
    for (int k = 0; k < g_.output_count(); ++k) {
      buffer const& b = p_.buffers[p_.results[k]];
      if (b.where == residence::result && b.index == k && !moved_[k]) continue;
      nodes.move({nodes.layout_of(g_.output(k)), m.buffers[p_.results[k]]}, result(k));
      copies = true;
    }
    finish(larger(scratch, nests.scratch_bytes), step_scratch, copies);
  }

  /// Emits a nest of one node; returns the scratch bytes of its step.
  std::int64_t emit_kernel(node_steps<numeric_graph>& nodes, nest_memory const& m, nest const& n) const {
    node const& of = g_.nodes[n.node];
    array<placed> x;
    for (int k = 0; k <= of.operand_count; ++k) {
      access const& a = p_.accesses[p_.kernel_accesses[n.first_instance + k]];
      placed one{nodes.layout_of(k < of.operand_count ? g_.operand(of, k) : g_.result(of)), {}};
      for (int j = 0; j < one.v.rank; ++j) one.v.stride[j] = a.stride[j];
      one.at = m.address_of(a, one.v.type);
      x.push(one);
    }
    placed const to = x.pop();
    if (moves(of.op->kind)) {
      std::int64_t const bytes = static_cast<std::int64_t>(size_of(to.v.type));
      placed from = seen_through(of, x[0], to.v);
      from.at.offset += from.v.offset * bytes;
      nodes.move(from, to.at);
      return 0;
    }
    std::int64_t at = 0; // (the operands of kernels with scratch memory are ready)
    numeric_graph const numbers{g_, kernels_};
    for (int k = 0; k < x.size(); ++k) {
      if (is_ready(numbers, of, k, x[k].v)) continue;
      address const copy{base::scratch, at};
      nodes.move(x[k], copy);
      x[k].at = copy;
      x[k].v.make_contiguous();
      at += whole_lines(x[k].v.count() * static_cast<std::int64_t>(size_of(x[k].v.type)));
    }
    nodes.node_step(of, x.data(), x.size(), to.at, of.op == info_of<op::update_rows>());
    return larger(at, nodes.scratch);
  }
  static bool moves(operation_kind k) {
    return k == operation_kind::broadcast || k == operation_kind::identity || k == operation_kind::reshape ||
           k == operation_kind::permute || k == operation_kind::slice;
  }
  /// The operand of a view in the shape of its result.
  placed seen_through(node const& n, placed const& x, strided const& y) const {
    placed from{y, x.at};
    for (int k = 0; k < y.rank; ++k) from.v.stride[k] = 0;
    if (n.op->kind == operation_kind::broadcast)
      for (int k = 0; k < x.v.rank; ++k) from.v.stride[g_.attribute(n, k)] = x.v.size[k] == 1 ? 0 : x.v.stride[k];
    else if (n.op->kind == operation_kind::permute)
      for (int k = 0; k < y.rank; ++k) from.v.stride[k] = x.v.stride[g_.attribute(n, k)];
    else if (n.op->kind == operation_kind::slice)
      for (int k = 0; k < y.rank; ++k) {
        from.v.offset += g_.attribute(n, 2 * k) * x.v.stride[k];
        from.v.stride[k] = g_.attribute(n, 2 * k + 1) * x.v.stride[k];
      }
    else from.v = x.v; // a reshape: in row-major order of the operand
    return from;
  }

  // ---- the record of the memory layout

  /// By buffer the symbol whose value it holds.
  array<symbol> symbols_of_buffers() const {
    array<symbol> of(p_.buffers.size(), none);
    for (instance const& v : p_.instances)
      if (v.what != action::load && v.access != none) of[p_.accesses[v.access].buffer] = v.value;
    for (instance const& v : p_.instances)
      if (v.slot != none) of[p_.row_slots[v.slot].buffer] = v.value;
    for (nest const& n : p_.nests)
      if (n.kind == nest_kind::kernel) {
        node const& k = g_.nodes[n.node];
        of[p_.accesses[p_.kernel_accesses[n.first_instance + k.operand_count]].buffer] = g_.result(k);
      }
    return of;
  }
  void add_value(symbol t, buffer const& b, lifetime const& life, std::int64_t offset) {
    kept_value v;
    if (node const* const n = t == none ? nullptr : g_.producer(t); n != nullptr) v.from = {n->op->name, n->where};
    v.type = b.type;
    v.size = {1, {b.count}};
    v.offset = offset;
    v.bytes = life.bytes;
    v.first = life.first;
    v.last = life.last;
    if (t != none && g_.name(t) != nullptr) {
      char const* name = g_.name(t);
      v.name = code.record.names.size();
      do code.record.names.push(*name);
      while (*name++ != '\0');
    }
    if (t != none) v.size = g_.shape(t);
    code.record.values.push(v);
  }
  void add_step(nest const& n, std::int64_t scratch) {
    kept_step to;
    to.first = code.record.made.size();
    to.scratch = scratch;
    auto const add = [&](node const* of) {
      if (of == nullptr) return;
      code.record.made.push(of->op->name);
      if (to.where.line() == 0) to.where = of->where;
    };
    if (n.kind == nest_kind::kernel) add(g_.nodes + n.node);
    else
      for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i)
        if (instance const& v = p_.instances[i]; v.what == action::compute || v.what >= action::reduce)
          add(v.value == none ? nullptr : g_.producer(v.value));
    to.count = code.record.made.size() - to.first;
    code.record.steps.push(to);
  }

  void finish(std::int64_t scratch, array<std::int64_t> const& step_scratch, bool copies_results) {
    for (int k = 0; k < p_.nests.size(); ++k) add_step(p_.nests[k], step_scratch[k]);
    code.record.copies_results = copies_results;
    code.planned = true;
    code.inputs = g_.input_count();
    code.outputs = g_.output_count();
    for (int k = 0; k < code.inputs; ++k) code.inputs_read.push({});
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].where == residence::argument) code.inputs_read[p_.buffers[b].index] = last_read(b);
    for (int k = 0; k < code.outputs; ++k) {
      code.outputs_written.push(first_write(k));
      code.sources.push({});
    }
    code.marks = 8 * static_cast<std::int64_t>(base::first_argument + code.inputs + code.outputs);
    code.table_bytes = whole_lines(code.marks);
    code.scratch_bytes = whole_lines(scratch);
    // Kernels read whole packs, up to a line beyond the last element.
    code.memory_bytes = capped_sum(code.scratch_bytes + 64, code.root_bytes);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
