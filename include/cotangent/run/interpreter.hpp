// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_HPP
#define COTANGENT_RUN_INTERPRETER_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/graph/failure.hpp>
#include <cotangent/run/interpreter_emit.hpp>

#include <cstdint>

namespace cotangent {
namespace detail::interpret {
inline namespace COTANGENT_ABI {

template <class F, class D, class I, class L, class B> step_table steps_for() noexcept {
  return {{&run_matmul<F>, &run_matmul<D>},
          {{&run_gather<F, I>, &run_gather<D, I>, &run_gather<I, I>, &run_gather<L, I>, &run_gather<B, I>},
           {&run_gather<F, L>, &run_gather<D, L>, &run_gather<I, L>, &run_gather<L, L>, &run_gather<B, L>}},
          {{&run_scatter_add<F, I>, &run_scatter_add<D, I>, &run_scatter_add<I, I>, &run_scatter_add<L, I>,
            nullptr},
           {&run_scatter_add<F, L>, &run_scatter_add<D, L>, &run_scatter_add<I, L>, &run_scatter_add<L, L>,
            nullptr}},
          {&run_copy<F>, &run_copy<D>, &run_copy<I>, &run_copy<L>, &run_copy<B>},
          {&run_arg_max<F>, &run_arg_max<D>, &run_arg_max<I>, &run_arg_max<L>, &run_arg_max<B>}};
}
template <class List> step_table steps_of() noexcept {
  return steps_for<typename later<float, List>::type, double, std::int32_t, std::int64_t, bool>();
}

} // namespace COTANGENT_ABI
} // namespace detail::interpret

inline namespace COTANGENT_ABI {

/// A graph that is run as it is, when it is known only while the program runs: prepared once for the sizes of
/// its extents, then run as often as one likes, by many threads, each with its own workspace.
///
/// Value: the same bits as the static program where no sum is reordered.
/// Cost: preparing is n log n in the number of nodes; `run` allocates nothing.
class interpreter {
public:
  interpreter() = default;

  /// `sizes`: of each of the graph's extents. Operations of the user's run faster when they are named here
  /// (`operations<softsign>{}`), and run where they are not. What is refused stands in `failed()`.
  template <class... UserOps>
  explicit interpreter(graph_view const& g, std::int64_t const* sizes = nullptr,
                       operations<UserOps...> = {}) {
    prepare(g, sizes, detail::interpret::table_of<operations<UserOps...>>(),
            detail::interpret::steps_of<operations<UserOps...>>());
  }

  failure const& failed() const noexcept { return failed_; }
  /// What `run` needs, aligned to `workspace_alignment`.
  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  static constexpr std::int64_t workspace_alignment = 64;
  /// How many steps a run takes: fused nodes count once.
  int step_count() const noexcept { return program_.steps.size(); }

  int input_count() const noexcept { return input_elements_.size(); }
  int output_count() const noexcept { return output_elements_.size(); }
  std::int64_t input_elements(int k) const noexcept { return input_elements_[k]; }
  std::int64_t output_elements(int k) const noexcept { return output_elements_[k]; }

  /// Inputs and outputs are contiguous. An output may be an input exactly, or overlap none.
  status run(void const* const* inputs, void* const* outputs, void* workspace) const noexcept {
    if (failed_.why != nullptr || workspace == nullptr ||
        reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0)
      return status::workspace_too_small;
    auto** const bases = static_cast<char**>(workspace);
    char* const memory = static_cast<char*>(workspace) + table_bytes_;
    bases[detail::interpret::base::scratch] = memory;
    bases[detail::interpret::base::constants] =
        const_cast<char*>(reinterpret_cast<char const*>(constants_.data())); // never written
    bases[detail::interpret::base::roots] = memory + scratch_bytes_;
    char** next = bases + detail::interpret::base::first_argument;
    for (int k = 0; k < input_count(); ++k) {
      if (inputs[k] == nullptr && input_elements_[k] != 0) return status::null_argument;
      *next++ = const_cast<char*>(static_cast<char const*>(inputs[k])); // never written
    }
    for (int k = 0; k < output_count(); ++k) {
      if (outputs[k] == nullptr && output_elements_[k] != 0) return status::null_argument;
      *next++ = static_cast<char*>(outputs[k]);
    }
    detail::interpret::run_context context{bases};
    for (detail::interpret::step const& s : program_.steps) s.run(program_, s.which, context);
    return context.state;
  }

private:
  detail::interpret::program_data program_;
  array<std::int64_t> constants_;
  array<std::int64_t> input_elements_, output_elements_;
  std::int64_t workspace_bytes_ = 0, table_bytes_ = 0, scratch_bytes_ = 0;
  failure failed_;

  template <class Kernels, class Steps>
  void prepare(graph_view const& g, std::int64_t const* sizes, Kernels const& kernels, Steps const& steps) {
    detail::interpret::interpreter_build b(g, sizes, kernels);
    failed_ = b.failed;
    if (failed_.why != nullptr) return;
    detail::interpret::order_steps(b.plan);
    array<bool> const direct = place_outputs(b);
    std::int64_t const roots = detail::interpret::place_roots(b.plan);
    detail::interpret::interpreter_emit e(b, steps);
    for (int k = 0; k < g.output_count(); ++k) {
      if (!direct[k]) e.copy_to_output(b.outputs[k], k);
      output_elements_.push(b.outputs[k].count());
    }
    for (int k = 0; k < g.input_count(); ++k) input_elements_.push(b.plan.roots[b.input_roots[k]].elements);
    program_ = static_cast<detail::interpret::program_data&&>(e.program);
    constants_ = static_cast<array<std::int64_t>&&>(b.constants);
    table_bytes_ =
        detail::interpret::rounded(8 * static_cast<std::int64_t>(detail::interpret::base::first_argument +
                                                                 g.input_count() + g.output_count()));
    scratch_bytes_ = e.scratch_bytes;
    // kernels read whole packs, up to a line beyond the last element
    workspace_bytes_ = table_bytes_ + scratch_bytes_ + roots + 64;
  }

  /// Results that a step writes are written to the caller's memory at once, unless that may be an argument
  /// that is still read; the others are copied at the end.
  template <class Build> static array<bool> place_outputs(Build& b) {
    detail::interpret::plan_data& p = b.plan;
    array<bool> direct(b.outputs.size(), false);
    array<detail::interpret::reads_in_step> reads(p.roots.size());
    for (int k = 0; k < b.outputs.size(); ++k) {
      detail::interpret::strided const& v = b.outputs[k];
      detail::interpret::memory_root& r = p.roots[v.root];
      r.outside = true;
      direct[k] = r.kind == detail::interpret::home::workspace && v.offset == 0 && v.contiguous() &&
                  v.count() == r.elements;
      if (direct[k]) {
        std::int32_t const position = p.steps[r.step].position;
        bool const elementwise = p.steps[r.step].shape >= 0;
        if (elementwise) detail::interpret::note_reads(p, r.step, reads);
        for (std::int32_t const i : b.input_roots) {
          detail::interpret::memory_root const& in = p.roots[i];
          bool const read_later = in.last > position;
          bool const read_here = in.last == position && !(elementwise && reads[i].step == r.step &&
                                                          reads[i].pointwise && reads[i].last_unit <= r.unit);
          if (in.bytes == r.bytes && in.bytes != 0 && (read_later || read_here)) direct[k] = false;
        }
      }
      if (direct[k]) {
        r.kind = detail::interpret::home::output;
        r.which = k;
      } else r.last = p.order.size();
    }
    return direct;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
