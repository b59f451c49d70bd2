// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_STAGES_HPP
#define COTANGENT_TRACE_PROGRAM_STAGES_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/plan/regions.hpp>
#include <cotangent/plan/straight/straight.hpp>
#include <cotangent/trace/functions/grad.hpp>
#include <cotangent/trace/functions/held_prints.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

// From a function to its graph, each step a constant evaluation of its own, since compilers bound what one may take.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// Refuses names that no axis of an input has: no call could tell their sizes.
constexpr void refuse_unbound_names(builder& b) {
  graph_view const g = b.get();
  auto const is_bound = [&](auto holds) {
    for (int k = 0; k < g.input_count(); ++k)
      for (int a = 0; a < g.shape(g.input(k)).rank; ++a)
        if (holds(g.extent_of(g.shape(g.input(k)).size[a]))) return true;
    return false;
  };
  for (std::int32_t k = 0; k < g.extent_count; ++k) {
    extent const e = g.extents[k];
    if (!e.is_symbol() || e.overflow() || is_bound([&](extent const& own) { return own == e; })) continue;
    formula const f = to_formula(e);
    for (int t = 0; t < f.count; ++t)
      for (int j = 0; j < f.terms[t].degree; ++j) {
        char const* const name = f.terms[t].names[j];
        if (is_bound([&](extent const& own) { return is_name(own) && compare_names(own.text, name) == 0; })) continue;
        failure found{why<refusals::unbound_name>(), e};
        for (symbol s = g.tensor_count; s-- > 0;)
          for (int a = 0; a < g.shape(s).rank; ++a)
            if (g.shape(s).size[a] == -1 - k && g.producer(s) != nullptr) found.where = g.producer(s)->where;
        return b.fail(found);
      }
  }
}

/// Traces F on the arguments' expressions.
template <class F, class Indices, class... Args> struct trace_stage;
template <class F, std::size_t... I, class... Args> struct trace_stage<F, std::index_sequence<I...>,
                                                                       Args...> {
  using trees = argument_list<std::index_sequence<I...>, expr_tree<Args, first_leaf<I, Args...>>...>;
  using returned = decltype(std::declval<callable_with<F, Args...> const&>()(
      std::declval<expr_tree<Args, first_leaf<I, Args...>> const&>()...));
  static constexpr unfit why = unfit_arguments<F, Args...>() != unfit::nothing
                                   ? unfit_arguments<F, Args...>()
                                   : unfit_result<F, returned, sizeof...(Args)>();
  static constexpr bool accepted = why == unfit::nothing;

  static constexpr built make() {
    built result;
    if constexpr (accepted) {
      bounded_builder b;
      kinds_of_leaves<Args...> const kinds{};
      leaf_declarer declare{b, kinds.of};
      trees const x{{build_tree<expr_tree<Args, first_leaf<I, Args...>>>(declare)}...};
      returned const y =
          remade<F>()(static_cast<held<I, expr_tree<Args, first_leaf<I, Args...>>> const&>(x).value...);
      symbols_of_leaves outputs{b};
      visit_leaves(y, outputs);
      b.set_inputs(declare.inputs.data(), declare.inputs.size());
      hold_prints(b, outputs.ids);
      b.set_outputs(outputs.ids.data(), outputs.ids.size());
      refuse_unbound_names(b);
      if (b.failed().why == nullptr) b.fail(escaped_value(b.get()));
      result = b.finish();
    }
    return result;
  }
};

/// Appends the gradients of the one output of a traced graph with respect to ranges of leaves.
template <class Traced, bool WithValue, int... FirstAndCount> struct gradient_stage {
  static constexpr bool prints = has_prints(Traced::view); // (an evaluation of its own: clang limits the steps of each)
  static constexpr built make() {
    bounded_builder b(Traced::view);
    b.place = {};
    constexpr int ranges[]{FirstAndCount..., 0};
    array<symbol> wrt;
    for (int k = 0; k + 1 < static_cast<int>(sizeof...(FirstAndCount)); k += 2)
      for (int j = 0; j < ranges[k + 1]; ++j) wrt.push(Traced::view.input(ranges[k] + j));
    array<symbol> results(wrt.size() + 1);
    results[0] = Traced::view.output(0);
    if (Traced::value.failed.why == nullptr)
      gradient(b, {results.data(), nullptr, 1, wrt.data(), wrt.size()}, results.data() + 1);
    array<symbol> outputs;
    outputs.append(results.data() + (WithValue ? 0 : 1), results.size() - (WithValue ? 0 : 1));
    b.prints = prints;
    hold_prints(b, outputs);
    if (b.failed().why == nullptr) b.set_outputs(outputs.data(), outputs.size());
    return b.finish();
  }
};

/// Keeps the sub-graphs that run as straight-line code.
struct straight_code {
  static constexpr bool exists = true;
  constexpr void operator()(graph_view const& g, array<bool>& regions) const {
    sequence_solver const sequences(g);
    for (std::int32_t r = 0; r < g.region_count; ++r)
      if (regions[r])
        regions[r] = runs_straight(g.region_count == 1 ? g : graph_view(region_graph(g, r, sequences.sizes())), COTANGENT_ABI_BYTES, true);
  }
};
template <bool Straight>
using static_pipeline_options = pipeline_options<estimated_bytes, no_budget, std::conditional_t<Straight, straight_code, no_straight_code>>;

struct straight_options {
  static constexpr static_pipeline_options<true> value{};
};
/// The options of the pipeline for a static program, or for one with a separate pullback.
template <class Before, bool Rewrite, bool Splits> struct static_options {
  static constexpr auto value = [] {
    static_pipeline_options<!Splits> o; // (formulas come after a split)
    if (Splits) o.recompute = recomputation::always; // (a block that is not rematerialized would be saved, whatever the peak of one program)
    o.simplify.rewrite = Rewrite;
    // (of the graph before: the executor decides about the simplified one, and a borderline graph may differ)
    o.simplify.split_sums = !runs_straight(Before::view, COTANGENT_ABI_BYTES, !Splits);
    o.simplify.update_rows = Before::view.region_count > 1; // (without loops, the sum is part of a nest)
    return o;
  }();
};
template <class Before, bool Rewrite, bool Splits = false>
using pipelined = typename passed_through<Before, static_options<Before, Rewrite, Splits>, pipeline>::type;
/// A part of a split graph.
template <class Part> using with_formulas = typename passed_through<Part, straight_options, pass_list<passes::expand>>::type;

/// The request of the outermost transformation: the function to trace, and the derivatives to append.
template <class F> struct outermost {
  using traced = F;
  static constexpr bool rewrites = true;
  template <class Traced, class...> using differentiated = Traced;
  template <class R, class...> using result = value_tree<result_tree<R>>;
};
template <class F> struct outermost<compiled_function<F>> : outermost<F> {};
template <class F> struct outermost<exact_function<F>> : outermost<F> {
  static constexpr bool rewrites = false;
};
template <class F, bool WithValue, int... I> struct outermost<gradient_function<F, WithValue, I...>> {
  using traced = F;
  static constexpr bool rewrites = outermost<F>::rewrites;

  template <class Traced, class Indices, class... Args> struct differentiated_from;
  template <class Traced, int... FirstAndCount, class... Args>
  struct differentiated_from<Traced, std::integer_sequence<int, FirstAndCount...>, Args...> {
    using type =
        frozen<gradient_stage<Traced, WithValue, FirstAndCount...>, capacity::of(Traced::view).grown(4)>;
  };
  template <class... Sequence> struct joined;
  template <int... K> struct joined<std::integer_sequence<int, K...>> {
    using type = std::integer_sequence<int, K...>;
  };
  template <int... K, int... L, class... Rest>
  struct joined<std::integer_sequence<int, K...>, std::integer_sequence<int, L...>, Rest...>
      : joined<std::integer_sequence<int, K..., L...>, Rest...> {};
  template <class Traced, class... Args>
  using differentiated = typename differentiated_from<
      Traced,
      typename joined<
          std::integer_sequence<int, first_leaf<I, Args...>, leaf_count<argument_at<I, Args...>>>...>::type,
      Args...>::type;
  template <class R, class... Args>
  using result = typename paired<
      WithValue, value_tree<result_tree<R>>,
      typename packed<gradient_tree<argument_at<I, Args...>, first_leaf<I, Args...>>...>::type>::type;
};

/// The failure of a stage, if there is one, with the name of the operation that failed.
template <class Stage> struct failure_of {
  static constexpr bool exists = Stage::value.failed.why != nullptr;
  static constexpr failure value = [] {
    failure f = Stage::value.failed;
    if (f.why == nullptr || f.node == none) return f;
    char const* const name = Stage::view.nodes[f.node].op->name;
    int length = 0;
    while (name[length] != '\0') ++length;
    f.left = extent::named(name, length);
    return f;
  }();
};

/// The same of a graph with loops, `Of::graph`, that cannot be planned. (`Of` has a short name: errors print it.)
template <class Of> struct tape_failure {
  static constexpr failure value = [] {
    graph_view g = Of::graph::view;
    return unbounded_rows(g, frozen_sequences<typename Of::graph>::value);
  }();
};
/// The loop that records values without a bound.
template <class Graph> struct unbounded_loop {
  static constexpr failure value = [] {
    graph_view g = Graph::view;
    return unbounded_tape(g, frozen_sequences<Graph>::value);
  }();
};
template <class Of> consteval bool has_planned_rows() {
  if constexpr (Of::graph::view.region_count == 1) return true;
  else return tape_failure<Of>::value.why == nullptr;
}

/// True if a constant evaluation made the value. (Otherwise the compiler has reported why, and each further use of the value
/// would be an error of its own.)
template <class Frozen>
concept is_constant = requires { typename std::bool_constant<(Frozen::value.size.nodes >= 0)>; };

/// The failure of a trace that is not a constant.
struct not_constant {
  static constexpr failure value{why<refusals::trace_not_constant>()};
};

/// Reports a failure, with the line of the user's source that it came from.
template <class Failure, unsigned Line> constexpr void line_of_your_source() {
  using why = refusal_behind<Failure::value.why>;
  if constexpr (says_extents<why>) why::template report<Failure::value.left, Failure::value.right>();
  else why::template report<void, refusals::wanted>();
}

/// Room for most small functions, which are traced once. A larger one is traced again, with its own sizes: room costs memory of the
/// compiler, and bytes of object files without optimization.
inline constexpr capacity traced_at_first{64, 64, 256, 128, 16, 8, 1, 64};

/// The stages of a program, up to its simplified graph; `refused` where there is none.
template <class F, class... Args> struct stages {
  using trace_of = trace_stage<typename outermost<F>::traced, std::index_sequence_for<Args...>, Args...>;
  using first_trace = frozen_with<trace_of, traced_at_first>;
  using traced = frozen<trace_of, traced_at_first>;

  static consteval bool is_accepted() {
    if constexpr (!trace_of::accepted) return false;
    else return !F::template refuses<typename trace_of::returned, Args...>();
  }
  static constexpr bool accepted = is_accepted();

  static consteval auto find_differentiated() {
    if constexpr (!accepted) return std::type_identity<refused>{};
    else if constexpr (!is_constant<first_trace>) return std::type_identity<refused>{};
    else if constexpr (failure_of<traced>::exists) return std::type_identity<refused>{};
    else return std::type_identity<typename outermost<F>::template differentiated<traced, Args...>>{};
  }
  using differentiated = typename decltype(find_differentiated())::type;

  struct in_workspace {
    using graph = pipelined<differentiated, outermost<F>::rewrites>;
  };
  /// The simplified graph by a short name, which all code of the program has in its own.
  struct graph {
    static constexpr auto const& value = in_workspace::graph::value;
    static constexpr graph_view view = in_workspace::graph::view;
  };
  static consteval auto find_simplified() {
    if constexpr (std::is_same_v<differentiated, refused>) return std::type_identity<refused>{};
    else if constexpr (failure_of<differentiated>::exists) return std::type_identity<refused>{};
    else if constexpr (!has_planned_rows<in_workspace>()) return std::type_identity<refused>{};
    else return std::type_identity<graph>{};
  }
  using simplified = typename decltype(find_simplified())::type;

  /// The failure of tracing, of differentiation, or of planning.
  static consteval auto find_failure() {
    if constexpr (std::is_same_v<simplified, refused> && !std::is_same_v<differentiated, refused>) {
      if constexpr (failure_of<differentiated>::exists) return std::type_identity<failure_of<differentiated>>{};
      else return std::type_identity<tape_failure<in_workspace>>{};
    } else if constexpr (!std::is_same_v<differentiated, refused>) return std::type_identity<failure_of<differentiated>>{};
    else if constexpr (!is_constant<first_trace>) return std::type_identity<not_constant>{};
    else return std::type_identity<failure_of<traced>>{};
  }
  using found = typename decltype(find_failure())::type;
  static constexpr bool failed = accepted && std::is_same_v<simplified, refused>;

  /// Says why there is no graph.
  static constexpr bool report() {
    if constexpr (!trace_of::accepted)
      detail::report_unfit<trace_of::why, typename outermost<F>::traced, Args...>();
    else if constexpr (!accepted) F::template report<typename trace_of::returned, Args...>();
    else if constexpr (failed) detail::line_of_your_source<found, found::value.where.line()>();
    return true;
  }
};

constexpr double count_flops(graph_view const& g) {
  double sum = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    operation_kind const kind = n.op->kind;
    bool const reduces = kind == operation_kind::reduction || kind == operation_kind::scatter_add;
    dimensions const& d = g.shape(reduces ? g.operand(n, 0) : g.result(n));
    double elements = 1;
    for (int k = 0; k < d.rank; ++k) elements *= d.size[k] < 0 ? 1. : static_cast<double>(d.size[k]);
    if (kind == operation_kind::matmul) {
      dimension const inner = product_sizes_of(g, n).k;
      sum += 2 * elements * (inner < 0 ? 1. : static_cast<double>(inner));
    } else if (kind == operation_kind::whole && n.op->flops != nullptr)
      sum += n.op->flops(g, n);
    else if (kind == operation_kind::elementwise || reduces)
      sum += elements * static_cast<double>(n.op->cost);
  }
  return sum;
}

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
