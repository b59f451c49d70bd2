// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_CHECKPOINT_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_CHECKPOINT_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/trace/program/stages.hpp>

#include <type_traits>

// Checkpointed functions: their values are rematerialized for their gradients, not stored.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class A>
concept holds_values = !open_expr<A> && requires(A const& a) {
  typename A::value_type;
  a.begin();
  a.end();
};

struct no_leaf {};
template <class... X> struct leaf_among {
  using type = no_leaf;
};
template <class X, class... Rest> struct leaf_among<X, Rest...> {
  using type = X;
};
template <class... Rest> struct leaf_among<no_leaf, Rest...> : leaf_among<Rest...> {};

/// The first leaf of arguments that is an expression of a run-time graph, alone or in a range.
template <class A> consteval auto find_open_leaf() {
  if constexpr (open_expr<A>) return std::type_identity<A>{};
  else if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return leaf_among<typename decltype(find_open_leaf<Part>())::type...>{};
    }(typename parts_of<A>::type{});
  else if constexpr (holds_values<A>) {
    if constexpr (std::is_same_v<typename A::value_type, A>) return leaf_among<>{};
    else return find_open_leaf<typename A::value_type>();
  } else return leaf_among<>{};
}
template <class... A> using open_leaf = typename leaf_among<typename decltype(find_open_leaf<A>())::type...>::type;
template <class A> consteval bool find_open() { return !std::is_same_v<open_leaf<A>, no_leaf>; }

/// The graph of such expressions, and its builder.
struct open_builder {
  builder* b = nullptr;
  void* graph = nullptr;
  template <class X> void operator()(X const& x) {
    if constexpr (open_expr<X>) {
      if (b != nullptr) return;
      b = x.standing().b;
      graph = x.graph_held();
    } else if constexpr (find_open<X>())
      for (auto const& part : x) visit_leaves(part, *this);
  }
};
/// Calls a function that adds blocks and nodes; if it throws, the graph is restored.
template <class Leaf, class F> auto all_or_nothing(open_builder const& found, F const& f) {
  builder_scope const outer(*found.b);
  typename Leaf::undo back(found.graph);
  auto y = f();
  back.keep();
  return y;
}

template <class F> struct checkpoint_function : like_function<checkpoint_function<F>, F> {
  using like_function<checkpoint_function, F>::like_function;

  template <class Result, class... X> constexpr Result trace(X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return this->f(x...);
    builder_scope const outer(*found.b);
    (void)found.b->open_block();
    return this->f(x...);
  }
  template <class... Args> static constexpr bool is_open = (find_open<Args>() || ...);
  template <class... Args> auto call_open(Args const&... args) const {
    open_builder found;
    (visit_leaves(args, found), ...);
    if (found.b == nullptr) return this->f(args...);
    return all_or_nothing<open_leaf<Args...>>(found, [&] {
      (void)found.b->open_block();
      return this->f(args...);
    });
  }
};
template <class F> struct outermost<checkpoint_function<F>> : outermost<F> {};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The function f, checkpointed: only its arguments and results are stored for its gradient. Other values
/// that the gradient reads are rematerialized, as late as possible, if that lowers peak memory.
///
/// Takes expressions of every kind, and any number of arguments and results, also trees; functions inside it
/// may be checkpointed too. With tensors it is `ct::compiled(f)`.
///
/// Value: the same bits as f. Random numbers are the same, since they are functions of key and counter.
/// Cost: at most one more run of f for each level of nested checkpoints.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp.
template <class F> constexpr auto checkpoint(F f) { return detail::checkpoint_function<F>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
