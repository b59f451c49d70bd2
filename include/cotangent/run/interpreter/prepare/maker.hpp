// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_MAKER_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_MAKER_HPP

#include <cotangent/graph/failure.hpp>
#include <cotangent/run/interpreter/prepare/emit.hpp>
#include <cotangent/run/interpreter/prepare/layers.hpp>
#include <cotangent/run/interpreter/prepare/order.hpp>
#include <cotangent/run/interpreter/prepare/planned.hpp>
#include <cotangent/run/interpreter/prepare/sequence.hpp>

#include <cstdint>

// Translates the regions of a graph to the code that the interpreter runs.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

namespace interpret {
inline namespace COTANGENT_ABI {

template <class F, class D, class I, class L, class B, class H> step_table steps_for() noexcept {
  return {{&run_matmul<F>, &run_matmul<D>},
          {{&run_gather<F, I>, &run_gather<D, I>, &run_gather<I, I>, &run_gather<L, I>, &run_gather<B, I>},
           {&run_gather<F, L>, &run_gather<D, L>, &run_gather<I, L>, &run_gather<L, L>, &run_gather<B, L>}},
          {{&run_scatter<F, I>, &run_scatter<D, I>, &run_scatter<I, I>, &run_scatter<L, I>, nullptr},
           {&run_scatter<F, L>, &run_scatter<D, L>, &run_scatter<I, L>, &run_scatter<L, L>, nullptr}},
          {{&run_scatter<F, I, true>, &run_scatter<D, I, true>, &run_scatter<I, I, true>, &run_scatter<L, I, true>, &run_scatter<B, I, true>},
           {&run_scatter<F, L, true>, &run_scatter<D, L, true>, &run_scatter<I, L, true>, &run_scatter<L, L, true>, &run_scatter<B, L, true>}},
          {&run_copy<F>, &run_copy<D>, &run_copy<I>, &run_copy<L>, &run_copy<B>, &run_copy<H>, &run_copy<H>},
          {&run_accumulate<F>, &run_accumulate<D>, &run_accumulate<I>, &run_accumulate<L>, nullptr},
          {&run_arg_max<F>, &run_arg_max<D>, &run_arg_max<I>, &run_arg_max<L>, &run_arg_max<B>}};
}
template <class List> step_table steps_of() noexcept {
  return steps_for<typename later<float, List>::type, double, std::int32_t, std::int64_t, bool, std::int16_t>();
}

/// The control operations. (Looked up when the template is instantiated, like all descriptors.)
template <class List> struct control_operations {
  static operation const* loop() noexcept { return info_of<typename later<op::loop, List>::type>(); }
  static operation const* case_of() noexcept { return info_of<typename later<op::case_of, List>::type>(); }
  static operation const* rows_to_sequence() noexcept {
    return info_of<typename later<op::rows_to_sequence, List>::type>();
  }
  static operation const* sequence_to_rows() noexcept {
    return info_of<typename later<op::sequence_to_rows, List>::type>();
  }
  static operation const* zero() noexcept { return info_of<typename later<op::sequence_zero, List>::type>(); }
};

/// Prepares each region of a graph once, inner regions first.
template <class List> class region_maker {
public:
  using control = control_operations<List>;
  graph_view const& g;
  std::int64_t const* sizes;
  kernel_table kernels;
  step_table steps = steps_of<List>();
  graph_values values;
  array<region_code> codes;
  failure failed;
  array<std::int64_t> input_elements, output_elements; // of the graph itself
  array<std::int64_t> input_places, output_places;     // in its workspace; -1 for the caller's memory

  region_maker(graph_view const& v, std::int64_t const* sizes_of_extents, kernel_list const& users,
               interpreter_memory const& memory)
      : g(v), sizes(sizes_of_extents), kernels(table_of<List>(&users)), values(v), memory_(memory) {
    codes.resize(1); // the graph itself comes first
    if (planned_code planned(g, kernels, steps, memory); planned.make()) {
      take(planned);
      return;
    }
    region_code whole = make(0);
    if (failed.why == nullptr) codes[0] = static_cast<region_code&&>(whole);
  }

  /// `carried`: the number of first outputs that are next values of a loop.
  std::int32_t code_of(std::int32_t region, int carried = 0) {
    region_code made = make(region, carried);
    codes.resize(codes.size() + 1);
    codes.back() = static_cast<region_code&&>(made);
    return codes.size() - 1;
  }

private:
  interpreter_memory memory_;

  void take(planned_code& planned) {
    codes[0] = static_cast<region_code&&>(planned.code);
    auto const elements = [&](symbol t) {
      std::int64_t count = 1;
      for (int k = 0; k < g.shape(t).rank; ++k) count *= g.shape(t).size[k];
      return count;
    };
    for (int k = 0; k < g.input_count(); ++k) {
      input_elements.push(elements(g.input(k)));
      input_places.push(-1);
      values.needed[g.input(k)] = planned.reads_input(k);
    }
    for (int k = 0; k < g.output_count(); ++k) {
      output_elements.push(elements(g.output(k)));
      output_places.push(-1);
    }
  }

  region_code make(std::int32_t region, int carried = 0) {
    region_code code;
    interpreter_build<kernel_table> b(g, sizes, kernels, values, region, region == 0 ? &memory_ : nullptr,
                                      carried);
    b.plan.tile_bytes = memory_.tile_bytes;
    if (failed.why == nullptr) failed = b.failed;
    if (failed.why != nullptr) return code;
    hand_on_equals(b, carried);
    layer_sums merged(b);
    absorb_reductions(b);
    unit_sequence const arranged(b.plan);
    for (std::int32_t s = 0; s < b.plan.steps.size(); ++s) b.plan.steps[s].in_slots = runs_in_slots(b, s);
    array<bool> direct; // by output: a step writes it at its final location
    array<std::int32_t> kept;
    code.root_bytes = settle_order(b, region, direct, kept);
    interpreter_emit<interpreter_build<kernel_table>, region_maker> e(b, steps, *this);
    bool copies_results = false;
    for (int k = 0; k < b.outputs.size(); ++k)
      if (b.outputs[k].root >= 0 && !direct[k]) {
        e.copy_to_output(b.outputs[k], k, k < kept.size() ? kept[k] : -1);
        copies_results = true;
      }
    code.record = record_maker(b, e, copies_results).take();
    auto const place = [&](std::int32_t root) {
      if (root < 0 || b.plan.roots[b.plan.whole(root)].kind != home::workspace) return std::int64_t{-1};
      std::int64_t at = 0;
      for (; b.plan.roots[root].kind == home::part; root = b.plan.roots[root].which)
        at += b.plan.roots[root].offset;
      return at + b.plan.roots[root].offset;
    };
    if (region == 0) {
      for (std::int32_t const r : b.input_roots) input_places.push(place(r));
      for (std::int32_t const r : kept) output_places.push(place(r));
    }
    code.inputs = g.input_count(region);
    code.outputs = b.outputs.size();
    if (region == 0 || carried > 0) note_uses(b, direct, code);
    code.sources = static_cast<array<output_source>&&>(b.sources);
    if (region == 0) {
      for (strided const& v : b.outputs) output_elements.push(v.count());
      for (std::int32_t const r : b.input_roots) input_elements.push(b.plan.roots[r].elements);
    }
    code.program = static_cast<program_data&&>(e.program);
    code.constant_words = static_cast<array<std::int64_t>&&>(b.constants);
    code.marks = 8 * static_cast<std::int64_t>(base::first_argument + code.inputs + code.outputs);
    code.table_bytes = whole_lines(code.marks + e.lives.marks * static_cast<std::int64_t>(sizeof(tape_stack::mark)));
    code.scratch_bytes = e.scratch_bytes;
    code.kept_bytes = e.kept_bytes;
    // Kernels read whole packs, up to a line beyond the last element.
    code.memory_bytes = capped_sum(code.scratch_bytes + 64, code.root_bytes);
    return code;
  }

  /// Hands on by address those of the first outputs that equal another output.
  static void hand_on_equals(interpreter_build<kernel_table>& b, int carried) {
    array<strided>& outputs = b.outputs;
    b.sources.resize(outputs.size());
    if (carried == 0) return;
    array<std::int32_t> shown(b.plan.roots.size(), -1); // by root: the output that it is
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
      b.sources[k] = {output_source::output, as};
    }
  }

  /// Selects the graph's order, unless another order needs less memory. Returns the bytes of values.
  std::int64_t settle_order(interpreter_build<kernel_table>& b, std::int32_t region, array<bool>& direct,
                            array<std::int32_t>& kept) const {
    plan_data const unordered = b.plan;
    set_order(b.plan, order_of_steps(b.plan));
    array<std::int32_t> less;
    std::int64_t all = 0; // too large for any memory: no search
    for (memory_root const& r : b.plan.roots) all = capped_sum(all, whole_lines(r.bytes));
    if (!memory_.in_order && all < INT64_MAX / 4) less = order_of_less(b, region == 0 ? memory_ : interpreter_memory{});
    std::int64_t const bytes = settle_memory(b, region, direct, kept);
    if (less.empty()) return bytes;
    plan_data as_given = unordered;
    exchange(as_given, b.plan);
    set_order(b.plan, less);
    array<bool> direct_now;
    array<std::int32_t> kept_now;
    std::int64_t const bytes_now = settle_memory(b, region, direct_now, kept_now);
    if (bytes_now >= bytes) {
      exchange(as_given, b.plan);
      return bytes;
    }
    direct = static_cast<array<bool>&&>(direct_now);
    kept = static_cast<array<std::int32_t>&&>(kept_now);
    return bytes_now;
  }
  std::int64_t settle_memory(interpreter_build<kernel_table>& b, std::int32_t region, array<bool>& direct,
                             array<std::int32_t>& kept) const {
    if (region == 0) keep_inputs(b);
    direct = place_outputs(b, memory_.results_apart || region != 0);
    if (region == 0) kept = keep_outputs(b, direct);
    return place_roots(b.plan);
  }
  /// Inputs in the workspace are live before the first step.
  void keep_inputs(interpreter_build<kernel_table>& b) const {
    for (int k = 0; k < b.input_roots.size() && k < memory_.own_inputs.size(); ++k) {
      memory_root& r = b.plan.roots[b.input_roots[k]];
      if (!memory_.own_inputs[k] || r.kind == home::part) continue;
      r.kind = home::workspace;
      r.given = r.outside = true;
    }
  }
  /// Outputs in the workspace stay live until the end; those that no step writes there get memory of their
  /// own. Returns their roots.
  array<std::int32_t> keep_outputs(interpreter_build<kernel_table>& b, array<bool> const& direct) const {
    array<std::int32_t> roots(b.outputs.size(), -1);
    for (int k = 0; k < roots.size() && k < memory_.own_outputs.size(); ++k) {
      strided const& v = b.outputs[k];
      if (!memory_.own_outputs[k] || v.root < 0) continue;
      if (direct[k]) {
        roots[k] = v.root;
        memory_root& r = b.plan.roots[v.root];
        r.kind = home::workspace;
        r.last = b.plan.order.size();
      } else {
        memory_root r;
        r.elements = v.count();
        r.bytes = r.elements * static_cast<std::int64_t>(size_of(v.type));
        r.at_end = true;
        roots[k] = b.plan.roots.push(r);
      }
    }
    return roots;
  }

  /// Marks results that a step writes directly to the caller's memory. Others are copied at the end: those
  /// whose memory may be an argument that is still read (impossible in a sub-graph).
  static array<bool> place_outputs(interpreter_build<kernel_table>& b, bool apart) {
    plan_data& p = b.plan;
    array<bool> direct(b.outputs.size(), false);
    array<reads_in_step> reads(p.roots.size());
    std::int32_t noted = -1; // the step that `reads` describes
    array<std::int64_t> by_step;
    for (int k = 0; k < b.outputs.size(); ++k)
      by_step.push((b.outputs[k].root < 0 ? 0 : p.roots[b.outputs[k].root].step + std::int64_t{1}) << 32 | k);
    cotangent::detail::sort(by_step.data(), by_step.size(), [](auto x, auto y) { return x < y; });
    for (std::int64_t const one : by_step) {
      int const k = static_cast<int>(one & INT32_MAX);
      strided const& v = b.outputs[k];
      if (v.root < 0) continue;
      memory_root& r = p.roots[v.root];
      r.outside = true;
      direct[k] =
          r.kind == home::workspace && !r.given && v.offset == 0 && v.contiguous() && v.count() == r.elements;
      if (direct[k] && !apart) {
        use_of_memory const written = first_write(p, r);
        if (written.unit >= 0 && noted != r.step) note_reads(p, noted = r.step, reads);
        for (std::int32_t const i : b.input_roots)
          if (p.roots[i].bytes == r.bytes && r.bytes != 0 && !is_free(last_read(p, i, r.step, reads), written))
            direct[k] = false;
      }
      if (direct[k]) {
        r.kind = home::output;
        r.which = k;
      } else
        for (std::int32_t at = v.root;; at = p.roots[at].which) {
          p.roots[at].outside = true;
          p.roots[at].last = p.order.size();
          if (p.roots[at].kind != home::part) break;
        }
    }
    return direct;
  }

  static void note_uses(interpreter_build<kernel_table> const& b, array<bool> const& direct,
                        region_code& code) {
    plan_data const& p = b.plan;
    array<reads_in_step> reads(p.roots.size());
    for (std::int32_t const i : b.input_roots) {
      std::int32_t const last = p.roots[i].last, step = last < 0 || last >= p.order.size() ? -1 : p.order[last];
      if (step >= 0 && may_overwrite(p, step) && reads[i].step != step) note_reads(p, step, reads);
      code.inputs_read.push(last_read(p, i, step, reads));
    }
    for (int k = 0; k < b.outputs.size(); ++k) // outputs copied at the end are written after all reads
      code.outputs_written.push(direct[k] ? first_write(p, p.roots[b.outputs[k].root])
                                          : use_of_memory{p.order.size() + 1, 0});
  }

  /// A non-pointwise step writes to it from its start: unit -1.
  static use_of_memory first_write(plan_data const& p, memory_root const& r) {
    if (r.step < 0) return {};
    planned_step const& s = p.steps[r.step];
    bool const pointwise = may_overwrite(p, r.step) && !p.units[r.unit].absorbed;
    return {s.position, !pointwise ? -1 : s.in_slots ? p.units.size() : r.unit};
  }
  static use_of_memory last_read(plan_data const& p, std::int32_t root, std::int32_t step,
                                 array<reads_in_step> const& reads) {
    bool const pointwise = reads[root].step == step && reads[root].pointwise;
    return {p.roots[root].last, pointwise ? reads[root].last_unit : p.units.size()};
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
