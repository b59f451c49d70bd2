// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_PIPELINE_HPP
#define COTANGENT_TRANSFORM_PIPELINE_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/transform/checkpoint.hpp>
#include <cotangent/transform/order.hpp>
#include <cotangent/transform/refusals.hpp>
#include <cotangent/transform/simplify.hpp>

#include <type_traits>

// Every pass from a front end's graph to the graph that is planned, in order, and what holds after it.
//
// A front end (functions: trace/stages.hpp, expressions and the symbolic API: dynamic/compiling.hpp, eager mode:
// dynamic/eager_code.hpp) fills a graph. Derivatives are appended to it by gradient() (transform/backward.hpp) and
// tangent() (transform/forward.hpp), inside of which `op::identity` marks what is not to be looked through. Then the passes
// of `pipeline` run. What they return is planned: by run/executor.hpp for static programs, by run/interpreter.hpp for graphs
// at run time. A program that saves values for a later pullback is cut in two before it is planned (transform/parts.hpp).

namespace cotangent {

/// When the values of checkpointed functions are recomputed for their gradients.
enum class recomputation : unsigned char { never, to_lower_peak, always };

/// No limit for the memory of a program.
struct no_budget {
  static constexpr bool limits = false;
  constexpr built operator()(graph_view const& g) const { return {graph(g), {}}; }
};

/// What a search finds that recomputes values to lower the memory of a program: `search(graph)` is a `built`.
template <class Search> struct memory_limit {
  bool limits;
  Search search;
  constexpr built operator()(graph_view const& g) const { return search(g); }
};

/// What a front end asks of the pipeline.
template <class Measure = detail::estimated_bytes, class Budget = no_budget> struct pipeline_options {
  simplify_options simplify = {};
  recomputation recompute = recomputation::to_lower_peak;
  Measure measure = {}; // the bytes of the workspace of a graph
  Budget budget = {};   // from a graph to one that takes no more than it may; a failure where there is none
  bool in_order = true; // false: nodes may stand before nodes whose results they read
  dependency const* extra = nullptr; // what else runs before what
  int extra_count = 0;
};

/// The passes. `runs` says whether one has anything to do; `room` how large its graph is, as a first guess.
namespace passes {

struct always {
  static constexpr bool runs(graph_view const&, auto const&) { return true; }
};
struct on_control_flow {
  static constexpr bool runs(graph_view const& g, auto const&) {
    return g.region_count > 1 && detail::knows_regions(g);
  }
};

/// Every node stands after the nodes whose results it reads. Fails where they form a cycle.
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

/// Loops and branches carry, capture and return only values that are read.
struct prune : on_control_flow {
  static constexpr built run(graph_view const& g, auto const&) {
    return {cotangent::prune(g), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Loop-invariant values are computed before their loops. Equal values of different sub-graphs are one value.
struct hoist : on_control_flow {
  static constexpr built run(graph_view const& g, auto const&) {
    return {cotangent::hoist(g), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// Equal nodes are one. The rewrites of docs/explanation/rewrites.md are applied, unless the graph is to stay exact. The
/// borders for gradients are gone.
struct rewrite : always {
  static constexpr built run(graph_view const& g, auto const& o) {
    return {detail::rewritten(g, o.simplify), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// Dead nodes are eliminated. Products that are only added are part of fused multiply-adds, where the target has these: so no
/// later copy of a node rounds differently.
struct compact : always {
  static constexpr built run(graph_view const& g, auto const& o) {
    return {detail::compacted(g, o.simplify), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

/// Gradients of checkpointed functions read recomputed values instead of kept ones. Nothing is rewritten from here on: copies
/// of nodes compute the same bits.
struct recompute {
  static constexpr bool runs(graph_view const& g, auto const& o) {
    return g.block_count > 0 && o.recompute != recomputation::never;
  }
  static constexpr built run(graph_view const& g, auto const& o) {
    return {recompute_blocks(g, o.recompute == recomputation::always, o.measure), {}};
  }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g).widened(); }
};

/// The workspace takes at most the bytes that were asked for; further values are recomputed. Fails where that is impossible.
/// (At compile time this search is a chain of constant evaluations of its own: trace/memory_budget_stages.hpp.)
struct budget {
  static constexpr bool runs(graph_view const&, auto const& o) { return o.budget.limits; }
  static constexpr built run(graph_view const& g, auto const& o) { return o.budget(g); }
  static constexpr capacity room(graph_view const& g) { return capacity::of(g); }
};

} // namespace passes

template <class... Passes> struct pass_list {};

/// What simplify() runs.
using simplification = pass_list<passes::prune, passes::hoist, passes::rewrite, passes::compact, passes::prune>;

/// What every program goes through.
using pipeline = pass_list<passes::order, passes::prune, passes::hoist, passes::rewrite, passes::compact, passes::prune,
                           passes::recompute, passes::budget>;

/// Runs passes one after the other; stops at the first failure.
template <class Options, class... Passes>
constexpr built run_passes(graph_view const& g, Options const& o, pass_list<Passes...>) {
  built now;
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

namespace detail {

/// One pass as a constant evaluation of its own, since compilers bound what one may take.
template <class Before, class Options, class Pass> struct pass_stage {
  static constexpr built make() {
    graph_view g = Before::view; // a variable, see frozen
    return Pass::run(g, Options::value);
  }
};

/// `type`: the frozen graph after passes over the frozen graph `Before`, with the options `Options::value`.
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

} // namespace detail
} // namespace cotangent

#endif
