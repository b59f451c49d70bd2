// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_PIPELINE_HPP
#define COTANGENT_TRANSFORM_PIPELINE_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/transform/differentiate/escaped_value.hpp>
#include <cotangent/transform/refusals.hpp>
#include <cotangent/transform/rematerialize/checkpoint.hpp>
#include <cotangent/transform/rematerialize/fuse_loops.hpp>
#include <cotangent/transform/simplify/expand.hpp>
#include <cotangent/transform/simplify/simplify.hpp>

#include <type_traits>

// Every pass, in order, with the invariant that holds after it.
//
// 1. A front end fills a graph: functions (trace/program/stages.hpp), expressions and the symbolic API (dynamic/symbolic/compiling.hpp), eager
//    mode (dynamic/eager/code.hpp).
// 2. gradient() (transform/differentiate/backward.hpp) and tangents() (transform/differentiate/forward.hpp) append derivatives to it.
// 3. The passes of `pipeline` run: at run time one after the other (`run_passes`), at compile time each as a constant evaluation
//    of its own (`detail::passed_through`), because compilers bound the steps of one evaluation.
// 4. A program with a separate pullback is split into two graphs (transform/rematerialize/parts.hpp).
// 5. The graph is planned and executed: as a static program (run/program/executor.hpp) or by the interpreter (run/interpreter/interpreter.hpp).

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

namespace passes {
struct order;
struct prune;
struct hoist;
struct rewrite;
struct compact;
struct fuse;
struct recompute;
struct budget;
struct expand;
} // namespace passes

template <class... Passes> struct pass_list {};

using pipeline = pass_list<passes::order,     // every node follows the nodes whose results it reads
                           passes::prune,     // loops and branches carry, capture and return only live values
                           passes::hoist,     // loop-invariant values are computed before their loops
                           passes::rewrite,   // equal nodes are merged; the rewrites of docs/explanation/rewrites.md are applied
                           passes::compact,   // dead nodes are eliminated; multiply-adds are fused; nothing is rewritten after it
                           passes::prune,     // loops and branches again carry, capture and return only live values
                           passes::fuse,      // a loop over rows whose gradient follows runs inside of the loop of that gradient
                           passes::recompute, // gradients of checkpointed functions read rematerialized values
                           passes::budget,    // the workspace fits the memory budget
                           passes::expand>;   // straight-line code has formulas in place of small linear systems

/// The part of the pipeline that simplify() runs.
using simplification = pass_list<passes::prune, passes::hoist, passes::rewrite, passes::compact, passes::prune>;

/// When values of checkpointed functions are rematerialized for their gradients.
enum class recomputation : unsigned char { never, to_lower_peak, always };

/// No memory budget.
struct no_budget {
  static constexpr bool limits = false;
  constexpr built operator()(graph_view const& g) const { return {graph(g), {}}; }
};

/// A memory budget. `search(graph)` returns a graph that fits it, or a failure.
template <class Search> struct memory_limit {
  bool limits;
  Search search;
  constexpr built operator()(graph_view const& g) const { return search(g); }
};

/// Nothing runs as straight-line code.
struct no_straight_code {
  static constexpr bool exists = false;
  constexpr void operator()(graph_view const& g, array<bool>& regions) const { regions.assign(g.region_count, false); }
};

/// The options of a front end. (Types, not pointers to functions: without optimization, a constant that holds a pointer brings the code.)
template <class Measure = detail::estimated_bytes, class Budget = no_budget, class Straight = no_straight_code> struct pipeline_options {
  simplify_options simplify = {};
  recomputation recompute = recomputation::to_lower_peak;
  Measure measure = {};              // from a graph to the bytes of its workspace
  Budget budget = {};                // no_budget or memory_limit
  bool in_order = true;              // false: a node may precede nodes whose results it reads
  dependency const* extra = nullptr; // further dependencies between nodes
  int extra_count = 0;
  Straight keep_straight = {};       // see regions_with_formulas
};

/// Each pass has three functions: `runs`, whether it has anything to do; `run`; `room`, a guess of the size of its result.
namespace passes {

struct always {
  static constexpr bool runs(graph_view const&, auto const&) { return true; }
};
struct on_control_flow {
  static constexpr bool runs(graph_view const& g, auto const&) {
    return g.region_count > 1 && detail::knows_regions(g);
  }
};

/// Every node follows the nodes whose results it reads. Fails if dependencies form a cycle.
struct order {
  static constexpr bool runs(graph_view const& g, auto const& o) {
    return o.extra_count != 0 || (!o.in_order && !in_order(g));
  }
  static constexpr built run(graph_view const& g, auto const& o) {
    ordering const found = order_of(g, o.extra, o.extra_count);
    if (!found) return {{}, {why<refusals::order_cycle>(), {}, {}, found.cycle, g.nodes[found.cycle].where}};
    return {reordered(g, found), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Loops and branches carry, capture and return only live values.
struct prune : on_control_flow {
  static constexpr built run(graph_view const& g, auto const&) {
    return {cotangent::detail::prune(g), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Loop-invariant values are computed before their loops. Equal values of nested sub-graphs are one value. Unless memory is limited,
/// or `simplify.rewrite` is false, sums of the matrix products of all iterations are products after their loops.
struct hoist : on_control_flow {
  static constexpr built run(graph_view const& g, auto const& o) {
    return {cotangent::detail::hoist(g, o.simplify.rewrite && !o.budget.limits), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// Equal nodes are merged. The rewrites of docs/explanation/rewrites.md are applied, unless `simplify.rewrite` is false. Markers
/// for differentiation (`op::identity`) are removed.
struct rewrite : always {
  static constexpr built run(graph_view const& g, auto const& o) {
    return {detail::rewritten(g, o.simplify), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// Dead nodes are eliminated. Products that are only added are part of fused multiply-adds if the target has the instruction.
/// No later pass rewrites anything, so every copy of a node computes the same bits.
struct compact : always {
  static constexpr built run(graph_view const& g, auto const& o) {
    return {detail::compacted(g, o.simplify), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// A loop over rows runs inside of the loop of its gradient, unless this is part of another program.
struct fuse {
  static constexpr bool runs(graph_view const& g, auto const& o) {
    return g.region_count > 2 && o.recompute != recomputation::always && detail::knows_regions(g) &&
           fusable_loops(g).first != none;
  }
  static constexpr built run(graph_view const& g, auto const&) { return {fuse_loops(g), {}}; }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Gradients of checkpointed functions read rematerialized values, so the values of the forward pass are freed earlier.
struct recompute {
  static constexpr bool runs(graph_view const& g, auto const& o) {
    return g.block_count > 0 && o.recompute != recomputation::never;
  }
  static constexpr built run(graph_view const& g, auto const& o) {
    return {recompute_blocks(g, o.recompute == recomputation::always, o.measure), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// The workspace fits the memory budget: further values are rematerialized. Fails if no schedule fits. At compile time the search
/// is a chain of constant evaluations of its own (trace/transformations/memory_budget_stages.hpp).
struct budget {
  static constexpr bool runs(graph_view const&, auto const& o) { return o.budget.limits; }
  static constexpr built run(graph_view const& g, auto const& o) { return o.budget(g); }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Sub-graphs that run as straight-line code have formulas in place of small linear systems.
struct expand {
  static constexpr bool runs(graph_view const& g, auto const& o) {
    return decltype(o.keep_straight)::exists && detail::regions_with_formulas(g, o.keep_straight).nodes > 0;
  }
  static constexpr built run(graph_view const& g, auto const& o) { return detail::expanded(g, o.keep_straight); }
  static constexpr capacity room(graph_view const& g) {
    capacity c = capacity::of(g).widened();
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->formula != nullptr) c.tensors += 96, c.nodes += 96, c.ids += 320, c.numbers += 128;
    return c;
  }
};

} // namespace passes

/// Runs passes one after the other, until one fails.
template <class Options, class... Passes>
constexpr built run_passes(graph_view const& g, Options const& o, pass_list<Passes...>) {
  built now{{}, escaped_value(g)};
  bool changed = false;
  auto const next = [&]<class Pass>(Pass) {
    graph_view const before = changed ? graph_view(now.g) : g;
    if (now.failed.why != nullptr || !Pass::runs(before, o)) return;
    now = Pass::run(before, o);
    changed = true;
  };
  (next(Passes{}), ...);
  if (!changed) now.g = graph(g);
  return now;
}

/// The same function with less to do: dead nodes are eliminated, equal nodes merge, borders for gradients vanish, and the
/// rewrites listed with their error bounds in docs/explanation/rewrites.md are applied. Inputs and outputs keep their number
/// and order; two outputs may become one symbol. Runs after differentiation.
///
/// Cost: linear.
/// Checked: tests/static/simplify.cpp, tests/runtime/simplify.cpp.
constexpr graph simplify(graph_view const& g, simplify_options const& o = {}) {
  return run_passes(g, pipeline_options<>{.simplify = o}, simplification{}).g;
}

/// One pass as a constant evaluation.
template <class Before, class Options, class Pass> struct pass_stage {
  static constexpr built make() {
    graph_view g = Before::view; // a variable, see `frozen`
    return Pass::run(g, Options::value);
  }
};

/// `type` holds the frozen graph that the passes return for `Before`, with the options `Options::value`.
template <class Before, class Options, class Passes> struct passed_through;
template <class Before, class Options> struct passed_through<Before, Options, pass_list<>> {
  using type = Before;
};
template <class Before, class Options, class First, class... Rest>
struct passed_through<Before, Options, pass_list<First, Rest...>> {
  static consteval auto after_first() {
    if constexpr (First::runs(Before::view, Options::value))
      return std::type_identity<frozen<pass_stage<Before, Options, First>, First::room(Before::view)>>{};
    else return std::type_identity<Before>{};
  }
  using type =
      typename passed_through<typename decltype(after_first())::type, Options, pass_list<Rest...>>::type;
};

} // namespace cotangent::detail

namespace cotangent::extend {
using detail::simplify;
} // namespace cotangent::extend
COTANGENT_COLD_END

#endif
