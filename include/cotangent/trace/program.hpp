// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_HPP
#define COTANGENT_TRACE_PROGRAM_HPP

#include <cotangent/run/executor.hpp>
#include <cotangent/run/labels.hpp>
#include <cotangent/trace/call.hpp>
#include <cotangent/trace/in_place.hpp>
#include <cotangent/trace/many_leaves.hpp>
#include <cotangent/trace/memory.hpp>
#include <cotangent/trace/quick_binding.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class Executor, bool IsStatic> struct workspace_of {
  /// Bytes of memory that a run needs besides arguments and results, aligned to 64 bytes.
  static constexpr std::size_t workspace_bytes = Executor::workspace_bytes;
  /// Such memory.
  struct workspace {
    alignas(64) unsigned char bytes[workspace_bytes == 0 ? 1 : workspace_bytes];
  };
};
template <class Executor> struct workspace_of<Executor, false> {};

template <class F, class Simplified, class... Args> struct program_of;

// What is left of a program whose function was refused: enough that nothing else is said.
template <class F, class... Args> struct program_of<F, refused, Args...> {
  static_assert(stages<F, Args...>::report());
  static constexpr bool accepted = false;
  static constexpr std::size_t workspace_bytes = 0;
  static constexpr double flops = 0;
  static constexpr graph_view graph{};
  struct workspace {};
  using result = typename F::template refused_result<Args...>;
  template <class... Any> static constexpr result call(Any const&...) { return result(); }
  template <class... Any> static status run(Any&&...) noexcept { return status::ok; }
  template <class... Any> static std::size_t workspace_for(Any const&...) noexcept { return 0; }
};

template <class F, class Simplified, class... Args>
struct program_of : workspace_of<run::executor<Simplified>, run::executor<Simplified>::is_static> {
private:
  using executor = run::executor<Simplified>;
  using returned = typename stages<F, Args...>::trace_of::returned;

  static constexpr graph_view const& g = Simplified::view;
  static constexpr int input_count = g.input_count(), output_count = g.output_count();
  // (Copies: the graph names operations, and all their rules would be compiled into a program that read it.)
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

  struct aliases {
    bool of[input_count * output_count + 1]{};
    constexpr aliases() {
      for (int k = 0; k < output_count; ++k)
        for (int j = 0; j < input_count; ++j) of[k * input_count + j] = ask_in_place(j, k);
    }
  };
  static constexpr bool ask_in_place(int argument, int result) {
    if constexpr (executor::is_straight) return executor::may_be_in_place(argument, result);
    else return may_be_in_place(executor::P, argument, result);
  }
  static constexpr bool many_leaves = input_count + output_count > unrolled_leaves;
  static constexpr aliases in_place{}; // unless there are many leaves

  struct memory {
    void const* inputs[input_count + 1];
    void* outputs[output_count + 1];
    std::int64_t sizes[g.extent_count + 1];
  };
  static constexpr std::int64_t size(dimension d, [[maybe_unused]] std::int64_t const* sizes) {
    if constexpr (g.extent_count == 0) return d; // else g++ -O3 sees a size that nothing set
    else return d >= 0 ? d : sizes[-1 - d];
  }
  template <symbol T> COTANGENT_INLINE static constexpr std::int64_t bytes(std::int64_t const* sizes) {
    constexpr dimensions d = g.shape(T);
    std::int64_t n = static_cast<std::int64_t>(size_of(g.tensors[T].type));
    for (int k = 0; k < d.rank; ++k) n *= size(d.size[k], sizes);
    return n;
  }

  template <class... Tree> static constexpr size_conflict bind(std::int64_t* sizes, Tree const&... tree) {
    if constexpr (axis_count == 0) return {};
    else {
      std::int64_t of_leaves[(input_count + 1) * max_rank]{};
      leaf_sizes note{of_leaves};
      (visit_leaves(tree, note), ...);
      if (!std::is_constant_evaluated() && bind_quickly(of_leaves, sizes)) return {};
      return bound(of_leaves, sizes); // which has the words
    }
  }

public:
  static constexpr bool accepted = true;
  /// What the checked call returns.
  using result = typename outermost<F>::template result<returned, Args...>;
  /// The graph that runs.
  static constexpr graph_view const& graph = Simplified::view;
  /// The nodes before: as traced, and with gradients appended.
  static constexpr int traced_nodes = stages<F, Args...>::traced::view.node_count;
  static constexpr int differentiated_nodes =
      outermost<F>::template differentiated<typename stages<F, Args...>::traced, Args...>::view.node_count;
  /// Its cost in additions; where extents have names, for sizes of 1.
  static constexpr double flops = count_flops(Simplified::view);

  /// Whether `run` may write a result exactly where an argument lies: both are leaves, counted from 0.
  static constexpr bool may_be_in_place_of(int result_leaf, int argument_leaf) {
    if constexpr (many_leaves) return ask_in_place(argument_leaf, result_leaf);
    else return in_place.of[result_leaf * input_count + argument_leaf];
  }

  /// What these arguments make of the graph's extents. Throws: `shape_error` where they do not agree.
  static constexpr void find_sizes(std::int64_t* sizes, Args const&... args) {
    if (size_conflict const c = bind(sizes, args...); c.kind != size_conflict::nothing) report(c);
  }

  /// The bytes that a run with these arguments needs.
  static std::size_t workspace_for(Args const&... args) noexcept {
    std::int64_t sizes[g.extent_count + 1]{};
    (void)bind(sizes, args...);
    return executor::is_static ? executor::workspace_bytes : executor::workspace_for(sizes);
  }

  /// The sizes of the graph's extents with these arguments.
  static void extent_sizes(std::int64_t* sizes, Args const&... args) noexcept { (void)bind(sizes, args...); }

  /// Never allocates and never throws. `arguments` is a tuple such as `std::tie(x, y)`; `results` is what the function
  /// returns, or a tuple of references to it. A result may be an argument exactly where `may_be_in_place_of` says so; else
  /// they must not overlap.
  template <class Workspace, class Arguments, class Results>
  static status run(Workspace&& workspace, Arguments const& arguments, Results&& results) noexcept {
    if constexpr (!workspace_like<std::remove_reference_t<Workspace>>) {
      refusals::workspace_of_kind::template report<std::remove_reference_t<Workspace>>();
      return status::ok;
    } else if constexpr (!matches<Arguments>(true)) {
      refusals::arguments_of_kind::template report<Arguments>();
      return status::ok;
    } else if constexpr (!matches<std::remove_cvref_t<Results>>(false)) {
      refusals::results_of_kind::template report<std::remove_cvref_t<Results>>();
      return status::ok;
    } else {
      memory m{};
      status seen = status::ok;
      if constexpr (many_leaves) seen = look_at_many(m, arguments, results);
      else seen = look_at(m, arguments, results, leaf_numbers<input_count + output_count>{}, leaf_numbers<output_count>{});
      if (seen != status::ok) return seen;
      workspace_memory const w = memory_of_workspace(workspace);
      std::size_t const needed =
          executor::is_static ? executor::workspace_bytes : executor::workspace_for(m.sizes);
      if (needed != 0 && (w.bytes < needed || reinterpret_cast<std::uintptr_t>(w.first) % 64 != 0))
        return status::workspace_too_small;
      return run_with(w.first, m.inputs, m.outputs, m.sizes);
    }
  }

  /// The checked form, which `ct::compiled(f)(x...)` stands for: allocates what it returns, and throws.
  static constexpr result call(Args const&... args) {
    std::int64_t sizes[g.extent_count + 1]{};
    find_sizes(sizes, args...);
    leaf_results make{table.outputs, sizes};
    result r = build_tree<result>(make);
    if (std::is_constant_evaluated()) evaluate_now(sizes, r, args...);
    else run_now(sizes, r, args...);
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

  // What follows is unrolled over leaves when it is compiled: a call of a small function takes a few nanoseconds, and so
  // may no more be spent on looking at its arguments.
  template <int N> using leaf_numbers = std::make_integer_sequence<int, N>;
  template <int K> static constexpr symbol leaf = K < input_count ? g.input(K) : g.output(K - input_count);
  template <int K> static constexpr void const* address(memory const& m) {
    if constexpr (K < input_count) return m.inputs[K];
    else return m.outputs[K - input_count];
  }
  template <int K> COTANGENT_INLINE static bool fits(std::int64_t const* of_leaves,
                                                     std::int64_t const* sizes) noexcept {
    constexpr dimensions d = g.shape(leaf<K>);
    bool fit = true;
    for (int a = 0; a < d.rank; ++a) fit &= of_leaves[K * max_rank + a] == size(d.size[a], sizes);
    return fit;
  }
  template <int K> COTANGENT_INLINE static bool is_missing(memory const& m) noexcept {
    return address<K>(m) == nullptr && bytes<leaf<K>>(m.sizes) != 0;
  }
  /// Does result K lie where leaf J lies, without leave?
  template <int K, int J> COTANGENT_INLINE static bool collides(memory const& m) noexcept {
    if constexpr (J >= K || (executor::is_straight && J < input_count)) return false;
    else {
      byte_range const r{static_cast<char const*>(address<K>(m)), bytes<leaf<K>>(m.sizes)};
      byte_range const o{static_cast<char const*>(address<J>(m)), bytes<leaf<J>>(m.sizes)};
      if constexpr (J >= input_count) return r.overlaps(o);
      else if constexpr (in_place.of[(K - input_count) * input_count + J]) return r.overlaps(o) && !r.is(o);
      else return r.overlaps(o);
    }
  }
  template <int K, int... J>
  COTANGENT_INLINE static bool collides_with_any(memory const& m, std::integer_sequence<int, J...>) noexcept {
    return (false || ... || collides<K, J>(m));
  }
  template <int K> COTANGENT_INLINE static std::intptr_t at(memory const& m) noexcept {
    return reinterpret_cast<std::intptr_t>(address<K>(m));
  }
  /// Does each result end where the next one begins, or before, but for one place where they start over? Then none lies on
  /// another: a quick answer where there are many.
  template <int... K> COTANGENT_INLINE static bool stand_in_a_row(memory const& m) noexcept {
    constexpr int last = input_count + output_count - 1;
    // by signs: g++ would keep the outcome of each comparison in a mask register
    return (std::intptr_t{} + ... + ((at<(K < last ? K + 1 : input_count)>(m) - at<K>(m) - bytes<leaf<K>>(m.sizes)) >> 63)) >= -1;
  }
  template <class Arguments, class Results> static consteval bool sizes_are_known() {
    constexpr kinds_of_leaves<Arguments> in{};
    constexpr kinds_of_leaves<Results> out{};
    bool known = g.extent_count == 0;
    for (leaf_kind const& k : in.of) known = known && k.extents.is_static();
    for (leaf_kind const& k : out.of) known = known && k.extents.is_static();
    return known;
  }

  /// Binds names to sizes; false where they do not agree.
  COTANGENT_INLINE static bool bind_quickly(std::int64_t const* of_leaves, std::int64_t* sizes) noexcept {
    if constexpr (!binding.quick || many_leaves) return bound(of_leaves, sizes).kind == size_conflict::nothing;
    else {
      bool good = quick_binding<binding>::bind(of_leaves, sizes);
      if constexpr (range_count > 0) good = good && ranges.find(sizes).kind == size_conflict::nothing;
      return good;
    }
  }

  static constexpr leaf_sizes_of<input_count, output_count> leaf_table{g};
  template <class Arguments, class Results>
  static status look_at_many(memory& m, Arguments const& arguments, Results& results) noexcept {
    leaf_inputs in{m.inputs};
    leaf_outputs out{m.outputs};
    visit_leaves(arguments, in);
    visit_leaves(results, out);
    constexpr bool known = sizes_are_known<Arguments, Results>();
    std::int64_t of_leaves[(known ? 0 : input_count + output_count) * max_rank + 1];
    if constexpr (!known) {
      leaf_sizes note{of_leaves};
      visit_leaves(arguments, note);
      visit_leaves(results, note);
      if (bound(of_leaves, m.sizes).kind != size_conflict::nothing) return status::size_mismatch;
    }
    return leaf_table.look_at(m.inputs, m.outputs, known ? nullptr : of_leaves, m.sizes, ask_in_place,
                              executor::is_straight); // which loads everything before anything is stored
  }

  template <class Arguments, class Results, int... K, int... R>
  COTANGENT_INLINE static status look_at(memory& m, Arguments const& arguments, Results& results,
                                         std::integer_sequence<int, K...> all, std::integer_sequence<int, R...>) noexcept {
    [[maybe_unused]] leaf_inputs in{m.inputs};
    leaf_outputs out{m.outputs};
    visit_leaves(arguments, in);
    visit_leaves(results, out);
    if constexpr (!sizes_are_known<Arguments, std::remove_cvref_t<Results>>()) {
      std::int64_t of_leaves[(input_count + output_count + 1) * max_rank];
      leaf_sizes note{of_leaves};
      visit_leaves(arguments, note);
      visit_leaves(results, note);
      if (!bind_quickly(of_leaves, m.sizes)) return status::size_mismatch;
      if (!(true & ... & fits<K>(of_leaves, m.sizes))) return status::size_mismatch;
    }
    if ((false || ... || is_missing<K>(m))) return status::null_argument;
    if constexpr (executor::is_straight) { // everything is loaded before anything is stored
      if (!stand_in_a_row<input_count + R...>(m) && (false || ... || collides_with_any<input_count + R>(m, all))) return status::overlap;
    } else if ((false || ... || collides_with_any<input_count + R>(m, all))) return status::overlap;
    return status::ok;
  }

  static constexpr void evaluate_now(std::int64_t const* sizes, result& r, Args const&... args) {
    elements_in in[input_count + 1]{};
    elements_out out[output_count + 1]{};
    [[maybe_unused]] leaf_elements_in note_in{in}; // (there may be no arguments)
    leaf_elements_out note_out{out};
    (visit_leaves(args, note_in), ...);
    visit_leaves(r, note_out);
    if (!evaluate(g, sizes, in, out).ok()) a_constant_evaluation_found_an_index_out_of_range();
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
                         bytes<g.input(labels.of[K].input)>(sizes) / static_cast<std::int64_t>(size_of(labels.of[K].type)),
                         size(labels.of[K].classes, sizes))),
     ...);
    return good;
  }
  /// Labels are looked at first: what is written may stand in their place.
  COTANGENT_INLINE static status run_with(void* workspace, void const* const* inputs, void* const* outputs,
                                          std::int64_t const* sizes) noexcept {
    bool const good = labels_are_good(inputs, sizes, std::make_integer_sequence<int, label_count>{});
    status const s = executor::run(workspace, inputs, outputs, sizes);
    return s == status::ok && !good ? status::index_out_of_range : s;
  }

  static void run_now(std::int64_t const* sizes, result& r, Args const&... args) {
    memory m;
    [[maybe_unused]] leaf_inputs in{m.inputs};
    leaf_outputs out{m.outputs};
    (visit_leaves(args, in), ...);
    visit_leaves(r, out);
    std::size_t const needed =
        executor::is_static ? executor::workspace_bytes : executor::workspace_for(sizes);
    constexpr std::size_t on_stack =
        executor::is_static && executor::workspace_bytes <= 4096 ? executor::workspace_bytes : 0;
    alignas(64) unsigned char small[on_stack + 1];
    void* const workspace =
        needed <= on_stack ? static_cast<void*>(small) : memory_of_thread().at_least(needed);
    if (status const s = run_with(workspace, m.inputs, m.outputs, sizes); s != status::ok) report(s);
  }

  static void a_constant_evaluation_found_an_index_out_of_range() {}
  static constexpr void report(size_conflict const& c) {
    raise_if_offered<shape_error>(words_for(c, table.argument_of));
  }
  static void report(status s) {
    message text("cotangent: call: ");
    raise_if_offered<shape_error>(text.put(text_of(s)));
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// What the compiler made of a function for arguments of these types.
///
///     using P = ct::program<decltype(ct::value_and_grad(loss)), ct::tensor<float, 64>, float>;
///     static_assert(P::workspace_bytes <= 4096);           // where all extents are numbers
///     P::workspace memory;
///     ct::status s = P::run(memory, std::tie(x, rate), std::tie(value, gradient));
///
/// One workspace serves one run at a time; programs have no state.
template <class F, class... Args>
struct program : detail::program_of<F, typename detail::stages<F, Args...>::simplified, Args...> {};

/// A plain function is one that was given to `ct::compiled`.
template <class F, class... Args>
  requires(!std::is_base_of_v<detail::transformation<F>, F>)
struct program<F, Args...> : program<detail::compiled_function<std::remove_const_t<F>>, Args...> {};

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
