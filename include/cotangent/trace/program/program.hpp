// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_PROGRAM_HPP
#define COTANGENT_TRACE_PROGRAM_PROGRAM_HPP

#include <cotangent/graph/reports.hpp>
#include <cotangent/run/labels.hpp>
#include <cotangent/run/program/executor.hpp>
#include <cotangent/trace/program/call.hpp>
#include <cotangent/trace/program/call_memory.hpp>
#include <cotangent/trace/program/quick_binding.hpp>
#include <cotangent/trace/program/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class F, class Simplified, class... Args>
struct program_of
    : workspace_of<Simplified, run::executor<Simplified>,
                   has_static_workspace<run::executor<Simplified>, F, Simplified, Args...>,
                   staged_bytes_if_static<run::executor<Simplified>, F, Simplified, Args...>()> {
private:
  using executor = run::executor<Simplified>;

  static constexpr graph_view const& g = Simplified::view;
  static constexpr int input_count = g.input_count(), output_count = g.output_count();
  // (Copies: the graph names operations, so a program that read it would compile all their rules.)
  struct tables {
    shape leaves[input_count + 1]{};
    int argument_of[input_count + 1]{};
    dimensions outputs[output_count + 1]{};
    extent extents[g.extent_count + 1]{};
    constexpr tables() {
      for (int k = 0; k < g.output_count(); ++k) outputs[k] = g.shape(g.output(k));
      for (int k = 0; k < g.extent_count; ++k) extents[k] = g.extents[k];
      for (int k = 0; k < g.input_count(); ++k)
        for (int a = 0; a < g.shape(g.input(k)).rank; ++a)
          leaves[k].push(g.extent_of(g.shape(g.input(k)).size[a]));
      int const counts[]{leaf_count<Args>..., 0};
      for (int argument = 0, k = 0; argument < static_cast<int>(sizeof...(Args)); ++argument)
        for (int j = 0; j < counts[argument]; ++j) argument_of[k++] = argument;
    }
  };
  static constexpr tables table{};
  static constexpr int axis_count = count_symbolic(table.leaves, input_count);
  static constexpr binding_table<axis_count, g.extent_count> binding{table.leaves, input_count, g.extents};

  static constexpr int range_count = count_range_checks(Simplified::view);
  static constexpr range_checks<range_count> ranges{Simplified::view};
  static constexpr size_conflict bound(std::int64_t const* of_leaves, std::int64_t* sizes) noexcept {
    size_conflict const c = binding.bind(table.leaves, table.extents, of_leaves, sizes);
    return c.kind != size_conflict::nothing || range_count == 0 ? c : ranges.find(sizes);
  }

  using memory = call_memory<Simplified, executor>;
  static constexpr std::int64_t size(dimension d, std::int64_t const* sizes) { return memory::size(d, sizes); }

  template <class... Tree> static constexpr size_conflict bind(std::int64_t* sizes, Tree const&... tree) {
    if constexpr (axis_count == 0) return {};
    else {
      std::int64_t of_leaves[(input_count + 1) * max_rank]{};
      leaf_sizes note{of_leaves};
      (visit_leaves(tree, note), ...);
      if (!std::is_constant_evaluated() && bind_quickly(of_leaves, sizes)) return {};
      return bound(of_leaves, sizes); // which has the error message
    }
  }

public:
  static constexpr bool accepted = true;
  /// True if only `run_growing` and the checked call can run the program: its loops record values without a bound.
  static constexpr bool grows = executor::grows;
  /// The result of the checked call.
  using result = result_of_program<F, Args...>;
  /// The executed graph.
  static constexpr graph_view const& graph = Simplified::view;
  /// The number of nodes before simplification: as traced, and with gradients appended.
  static constexpr int traced_nodes = stages<F, Args...>::traced::view.node_count;
  static constexpr int differentiated_nodes =
      outermost<F>::template differentiated<typename stages<F, Args...>::traced, Args...>::view.node_count;
  /// The cost in additions; named extents count as 1.
  static constexpr double flops = count_flops(Simplified::view);

  /// True if `run` writes a result in place of an argument without a copy: both are leaves, counted from 0.
  static constexpr bool may_be_in_place_of(int result_leaf, int argument_leaf) {
    return memory::is_in_place(argument_leaf, result_leaf);
  }

  /// Computes the sizes of the graph's extents for these arguments. Throws: `shape_error` if they contradict
  /// each other.
  static constexpr void find_sizes(std::int64_t* sizes, Args const&... args) {
    if (size_conflict const c = bind(sizes, args...); c.kind != size_conflict::nothing) report(c);
  }

  /// The bytes of workspace of a run with these arguments.
  static std::size_t workspace_for(Args const&... args) noexcept {
    if constexpr (executor::grows) (void)detail::refuse_workspace<unbounded_loop<Simplified>>();
    std::int64_t sizes[g.extent_count + 1]{};
    (void)bind(sizes, args...);
    return workspace_with(own_workspace(sizes), staged_bytes<Simplified, result, Args...>(sizes));
  }
  /// The bytes of workspace if results may alias any arguments.
  static std::size_t workspace_in_place_for(Args const&... args) noexcept {
    if constexpr (executor::grows) (void)detail::refuse_workspace<unbounded_loop<Simplified>>();
    std::int64_t sizes[g.extent_count + 1]{};
    (void)bind(sizes, args...);
    return workspace_with(own_workspace(sizes), staged_bytes<Simplified, result, Args...>(sizes)) +
           memory::bytes_of_copies(sizes);
  }

  /// Computes the sizes of the graph's extents for these arguments, without checks.
  static void extent_sizes(std::int64_t* sizes, Args const&... args) noexcept { (void)bind(sizes, args...); }

  /// Never allocates and never throws. Memory with strides is copied to the workspace, which then has a known size
  /// (not `void*`). `arguments` is a tuple such as `std::tie(x, y)`; `results` is the
  /// function's result, or a tuple of references to its leaves. A result may alias an argument exactly if
  /// `may_be_in_place_of` is true; otherwise they must not overlap.
  template <class Workspace, class Arguments, class Results>
  COTANGENT_INLINE static status run(Workspace&& workspace, Arguments const& arguments, Results&& results) noexcept {
    using kind = std::remove_reference_t<Workspace>;
    if constexpr (executor::grows && !std::is_same_v<kind, growing_workspace>) {
      (void)detail::refuse_workspace<unbounded_loop<Simplified>>();
      return status::ok;
    } else if constexpr (!workspace_like<kind> && !std::is_same_v<kind, growing_workspace>) {
      refusals::workspace_of_kind::template report<kind>();
      return status::ok;
    } else if constexpr (!matches<Arguments>(true)) {
      refusals::arguments_of_kind::template report<Arguments>();
      return status::ok;
    } else if constexpr (!matches<std::remove_cvref_t<Results>>(false)) {
      refusals::results_of_kind::template report<std::remove_cvref_t<Results>>();
      return status::ok;
    } else if constexpr (!is_writable<std::remove_reference_t<Results>>()) {
      refusals::results_constant::template report<std::remove_reference_t<Results>>();
      return status::ok;
    } else {
      memory m;
      if (!collect(m, arguments, results)) return status::size_mismatch;
      if constexpr (std::is_same_v<kind, growing_workspace>) {
        std::size_t staged = 0;
        if constexpr (has_strided<Arguments, std::remove_cvref_t<Results>>) {
          staging<input_count, output_count> const copies(arguments, results);
          if (status const s = copies.check(); s != status::ok) return s;
          staged = copies.bytes();
        }
        std::size_t const needed = workspace_with(own_workspace(m.sizes), staged) + memory::bytes_of_copies(m.sizes);
        void* const first = growing_access::memory(workspace).at_least(needed);
        if (first == nullptr && needed != 0) return status::out_of_memory;
        return run_in({first, needed}, m, arguments, results, &workspace);
      } else return run_in(memory_of_workspace(workspace), m, arguments, results, nullptr);
    }
  }

  /// `run` with a `ct::growing_workspace`, which allocates memory as loops need it: also for gradients of loops whose number of iterations no
  /// bound limits. A run that needs no more than the previous one allocates nothing.
  template <class Arguments, class Results>
  static status run_growing(growing_workspace& workspace, Arguments const& arguments, Results&& results) noexcept {
    return run(workspace, arguments, results);
  }

  /// The checked call, as in `ct::compiled(f)(x...)`: allocates its result, and throws.
  static constexpr result call(Args const&... args) {
    std::int64_t sizes[g.extent_count + 1]{};
    find_sizes(sizes, args...);
    leaf_results make{table.outputs, sizes};
    result r = build_tree<result>(make);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wc++23-extensions" // (the evaluator of constants never becomes code)
    if consteval {
      evaluate_now(sizes, r, args...);
    } else {
      run_now(sizes, r, args...);
    }
#pragma GCC diagnostic pop
    return r;
  }

private:
  template <class Tree> static consteval bool matches(bool as_arguments) {
    if constexpr (!is_inner<Tree> && !tree_has<Tree, tree_kind::memory>) return false;
    else if constexpr (tree_has<Tree, tree_kind::other>) return false;
    else {
      constexpr kinds_of_leaves<Tree> kinds{};
      if (kinds.count != (as_arguments ? input_count : output_count)) return false;
      for (int k = 0; k < kinds.count; ++k) {
        symbol const t = as_arguments ? g.input(k) : g.output(k);
        dimensions const& d = g.shape(t);
        if (kinds.of[k].type != g.tensors[t].type || kinds.of[k].extents.rank != d.rank) return false;
        for (int a = 0; a < d.rank; ++a)
          if (extent const& e = kinds.of[k].extents[a];
              e.is_number() && d.size[a] >= 0 && e.number != d.size[a])
            return false;
      }
      return true;
    }
  }

  template <int K> COTANGENT_INLINE static std::int64_t misfit(std::int64_t const* of_leaves,
                                                               std::int64_t const* sizes) noexcept {
    constexpr dimensions d = g.shape(memory::template leaf<K>);
    std::int64_t off = 0;
    for (int a = 0; a < d.rank; ++a) off |= of_leaves[K * max_rank + a] ^ size(d.size[a], sizes);
    return off;
  }
  template <int... K>
  COTANGENT_INLINE static bool all_fit(std::int64_t const* of_leaves, std::int64_t const* sizes,
                                       std::integer_sequence<int, K...>) noexcept {
    return (std::int64_t{} | ... | misfit<K>(of_leaves, sizes)) == 0;
  }
  template <class Arguments, class Results> static consteval bool sizes_are_known() {
    constexpr kinds_of_leaves<Arguments> in{};
    constexpr kinds_of_leaves<Results> out{};
    bool known = g.extent_count == 0;
    for (leaf_kind const& k : in.of) known = known && k.extents.is_static();
    for (leaf_kind const& k : out.of) known = known && k.extents.is_static();
    return known;
  }

  /// Binds names to sizes; false if they contradict each other.
  COTANGENT_INLINE static bool bind_quickly(std::int64_t const* of_leaves, std::int64_t* sizes) noexcept {
    if constexpr (!binding.quick) return bound(of_leaves, sizes).kind == size_conflict::nothing;
    else {
      bool good = quick_binding<binding>::bind(of_leaves, sizes);
      if constexpr (range_count > 0) good = good && ranges.find(sizes).kind == size_conflict::nothing;
      return good;
    }
  }

  /// Collects all addresses and sizes; false if sizes contradict each other.
  template <class Arguments, class Results>
  COTANGENT_INLINE static bool collect(memory& m, Arguments const& arguments, Results& results) noexcept {
    [[maybe_unused]] leaf_inputs in{m.inputs};
    leaf_outputs out{m.outputs};
    visit_leaves(arguments, in);
    visit_leaves(results, out);
    if constexpr (!sizes_are_known<Arguments, std::remove_cvref_t<Results>>()) {
      std::int64_t of_leaves[(input_count + output_count + 1) * max_rank];
      leaf_sizes note{of_leaves};
      visit_leaves(arguments, note);
      visit_leaves(results, note);
      if constexpr (memory::many_leaves) {
        if (bound(of_leaves, m.sizes).kind != size_conflict::nothing) return false;
        for (int k = 0; k < input_count + output_count; ++k)
          if (!memory::table.of[k].is(of_leaves + k * max_rank, m.sizes)) return false;
      } else return bind_quickly(of_leaves, m.sizes) && all_fit(of_leaves, m.sizes, typename memory::leaves{});
    }
    return true;
  }

  static constexpr std::size_t own_workspace(std::int64_t const* sizes) noexcept {
    return executor::is_static ? executor::workspace_bytes : executor::workspace_for(sizes);
  }
  template <class Arguments, class Results>
  COTANGENT_INLINE static status run_in(workspace_memory w, memory& m, Arguments const& arguments, Results& results,
                                        growing_workspace* tape) noexcept {
    std::size_t const needed = own_workspace(m.sizes);
    if constexpr (has_strided<Arguments, std::remove_cvref_t<Results>>) {
      if (needed != 0 && !w.holds(needed)) return status::workspace_too_small;
      return run_staged(w, needed, m, arguments, results, tape);
    } else {
      if (status const s = m.settle(w, needed); s != status::ok) return s;
      if (needed != 0 && (w.first == nullptr || w.bytes < needed || reinterpret_cast<std::uintptr_t>(w.first) % 64 != 0))
        return status::workspace_too_small;
      return run_with(w.first, m.inputs, m.outputs, m.sizes, tape);
    }
  }
  /// Runs with memory that has strides; `needed` bytes of the workspace are the program's.
  template <class Arguments, class Results>
  static status run_staged(workspace_memory w, std::size_t needed, memory& m, Arguments const& arguments, Results& results,
                           growing_workspace* tape) noexcept {
    staging<input_count, output_count> const copies(arguments, results);
    if (status const s = copies.check(); s != status::ok) return s;
    std::size_t const used = workspace_with(needed, copies.bytes());
    if (used != needed && !w.holds(used)) return status::workspace_too_small;
    copies.enter(static_cast<char*>(w.first) + (used - copies.bytes()), m.inputs, m.outputs);
    if (status const s = m.settle(w, used); s != status::ok) return s;
    status const s = run_with(w.first, m.inputs, m.outputs, m.sizes, tape);
    // (a run that stopped early has not written all of the copies)
    if (s != status::out_of_memory && s != status::too_many_iterations) copies.leave(m.outputs);
    return s;
  }

  static constexpr void evaluate_now(std::int64_t const* sizes, result& r, Args const&... args) {
    if constexpr (has_strided<Args..., result>) a_constant_evaluation_needs_memory_without_strides();
    elements_in in[input_count + 1]{};
    elements_out out[output_count + 1]{};
    [[maybe_unused]] leaf_elements_in note_in{in}; // (there may be no arguments)
    leaf_elements_out note_out{out};
    (visit_leaves(args, note_in), ...);
    visit_leaves(r, note_out);
    evaluated const e = evaluate(g, sizes, in, out);
    if (e.state == status::singular_matrix) a_constant_evaluation_found_a_singular_matrix();
    else if (!e.ok()) a_constant_evaluation_found_an_index_out_of_range();
  }

  static constexpr int label_count = count_label_checks(Simplified::view);
  struct label_table {
    label_check of[label_count + 1]{};
    constexpr label_table() { find_label_checks(Simplified::view, of); }
  };
  static constexpr label_table labels{};
  template <int... K>
  COTANGENT_INLINE static bool labels_are_good([[maybe_unused]] void const* const* inputs,
                                               [[maybe_unused]] std::int64_t const* sizes,
                                               std::integer_sequence<int, K...>) noexcept {
    bool good = true;
    ((good &= are_labels(labels.of[K], inputs[labels.of[K].input],
                         memory::template bytes<g.input(labels.of[K].input)>(sizes) / static_cast<std::int64_t>(size_of(labels.of[K].type)),
                         size(labels.of[K].classes, sizes))),
     ...);
    return good;
  }
  /// Labels are checked first: results may overwrite them.
  COTANGENT_INLINE static status run_with(void* workspace, void const* const* inputs, void* const* outputs,
                                          std::int64_t const* sizes, [[maybe_unused]] growing_workspace* tape) noexcept {
    bool const good = labels_are_good(inputs, sizes, std::make_integer_sequence<int, label_count>{});
    status s = status::ok;
    if constexpr (executor::grows) s = detail::run_on_tape<executor>(*tape, workspace, inputs, outputs, sizes);
    else s = executor::run(workspace, inputs, outputs, sizes);
    return s == status::ok && !good ? status::index_out_of_range : s;
  }

  static void run_now(std::int64_t const* sizes, result& r, Args const&... args) {
    memory m;
    [[maybe_unused]] leaf_inputs in{m.inputs};
    leaf_outputs out{m.outputs};
    (visit_leaves(args, in), ...);
    visit_leaves(r, out);
    if (in.nothing) report(status::null_argument);
    constexpr bool strided = has_strided<Args..., result>;
    std::size_t const own = own_workspace(sizes),
                      needed = workspace_with(own, staged_bytes<Simplified, result, Args...>(sizes));
    constexpr std::size_t on_stack = [] {
      if constexpr (!has_static_workspace<executor, F, Simplified, Args...>) return std::size_t{0};
      else return program_of::workspace_bytes <= 4096 ? program_of::workspace_bytes : 0;
    }();
    alignas(64) unsigned char small[on_stack + 1];
    growing_workspace* tape = nullptr;
    call_workspace of_call;
    if constexpr (executor::grows) tape = &of_call.get();
    void* const workspace = needed <= on_stack ? static_cast<void*>(small) : of_call.at_least(needed);
    if constexpr (strided) {
      if (needed != 0 && workspace == nullptr) report(status::out_of_memory);
      for (int k = 0; k < g.extent_count; ++k) m.sizes[k] = sizes[k];
      if (status const s = run_staged({workspace, needed}, own, m, std::tie(args...), r, tape); s != status::ok) report(s);
    } else if (status const s = run_with(workspace, m.inputs, m.outputs, sizes, tape); s != status::ok) report(s);
  }

  static void a_constant_evaluation_needs_memory_without_strides() {}
  static void a_constant_evaluation_found_an_index_out_of_range() {}
  static void a_constant_evaluation_found_a_singular_matrix() {}
  static constexpr void report(size_conflict const& c) {
    raise_if_offered<shape_error>(words_for(c, table.argument_of));
  }
  static void report(status s) {
    message text("cotangent: call: ");
    raise_status(s, put_status<Simplified>(text, s));
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The compiled form of a function for arguments of these types.
///
///     using P = ct::program<decltype(ct::value_and_grad(loss)), ct::tensor<float, 64>, float>;
///     static_assert(P::workspace_bytes <= 4096);           // if all extents are numbers
///     P::workspace memory;
///     ct::status s = P::run(memory, std::tie(x, rate), std::tie(value, gradient));
///
/// One workspace serves one run at a time; programs have no state.
template <class F, class... Args>
struct program : detail::program_of<F, typename detail::stages<F, Args...>::simplified, Args...> {};

/// A plain function is compiled by `ct::compiled`.
template <class F, class... Args>
  requires(!std::is_base_of_v<detail::transformation<F>, F>)
struct program<F, Args...> : program<detail::compiled_function<std::remove_const_t<F>>, Args...> {};

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
