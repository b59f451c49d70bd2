// SPDX-License-Identifier: BSL-1.0
#ifndef TESTS_TRACED_HPP
#define TESTS_TRACED_HPP

#include <cotangent/cotangent.hpp>

#include <cotangent/graph/verify.hpp>

// Calls of compiled functions in constant evaluations, without a plan: every stage of the graph is verified, and the last one
// is evaluated.

namespace traced {

using namespace cotangent;
namespace part = cotangent::detail;

/// A call that no graph could be made for has the name of the refusal instead of the text of a stage that is not valid.
template <class Stage> consteval bool holds() {
  return static_cast<bool>(verify(Stage::view));
}

template <class F, class... Args> struct evaluation_of {
  using stages = part::stages<F, Args...>;
  static constexpr extend::graph_view const& graph = stages::simplified::view;
  using result = typename part::outermost<F>::template result<typename stages::trace_of::returned, Args...>;

  static constexpr result run(Args const&... args) {
    extend::dimensions outputs[graph.output_count() + 1]{};
    for (int k = 0; k < graph.output_count(); ++k) outputs[k] = graph.shape(graph.output(k));
    part::leaf_results make{outputs, nullptr};
    result r = part::build_tree<result>(make);
    detail::elements_in inputs[graph.input_count() + 1]{};
    detail::elements_out results[graph.output_count() + 1]{};
    part::leaf_elements_in in{inputs};
    (part::visit_leaves(args, in), ...);
    part::leaf_elements_out out{results};
    part::visit_leaves(r, out);
    (void)evaluate(graph, nullptr, inputs, results);
    return r;
  }
};

template <class F, class... Args> struct call_of : evaluation_of<F, Args...> {
  using stages = part::stages<F, Args...>;
  static_assert(holds<typename stages::traced>(), "the traced graph");
  static_assert(holds<typename stages::differentiated>(), "the graph with derivatives");
  static_assert(holds<typename stages::simplified>(), "the simplified graph");
};

/// `call(f)(x...)` is `f(x...)`, for a function of `ct::compiled`, `ct::grad` and the like; arguments have constant extents.
template <class F> consteval auto call(F) {
  return []<class... Args>(Args const&... args) { return call_of<F, Args...>::run(args...); };
}

/// The same without the verification of the stages, at run time too.
template <class F> consteval auto evaluated(F) {
  return []<class... Args>(Args const&... args) { return evaluation_of<F, Args...>::run(args...); };
}

} // namespace traced

#endif
