// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_TRANSFORMATIONS_HPP
#define COTANGENT_DYNAMIC_GRAPH_TRANSFORMATIONS_HPP

#include <cotangent/dynamic/expressions/control.hpp>
#include <cotangent/dynamic/symbolic/backward.hpp>

#include <cotangent/trace/functions/graph_calls.hpp>
#include <cotangent/transform/batch/jacobian.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstdint>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

// Transformations of functions of expressions: ct::grad, ct::vmap and the like are those of traced functions (see
// trace/functions/graph_calls.hpp), and append to the graph of their arguments.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Appends to the graph what `pass` computes from `from`, in `result`; after a failure the graph is as before.
template <class Pass>
void append(graph_state& s, symbol const* from, int from_count, symbol* result, int result_count,
            Pass const& pass) {
  builder& b = s.b;
  request const r{nullptr, 0, nullptr, 0, b.place};
  std::unique_ptr<whole_undo> all;
  std::unique_ptr<builder> before;
  if (s.symbolic.used) {
    all = std::make_unique<whole_undo>(s);
    std::vector<symbol> wanted(from, from + from_count);
    if (!s.frames.empty())
      s.frames.front().maker->each_known([&](symbol outer, symbol) { wanted.push_back(outer); });
    sealing(s, r).run(&wanted);
    keep_in_step(s);
  } else if (b.get().regions.size() > 1) before = std::make_unique<builder>(b);
  undo back(s, before.get()); // loops and branches get further results
  symbol const first = b.get().tensors.size();
  pass();
  back.check(r);
  std::vector<symbol> own;
  for (int k = 0; k < result_count; ++k)
    if (result[k] != none) own.push_back(result[k]);
  give_own_symbols(b, own, first);
  for (int k = result_count, n = static_cast<int>(own.size()); k-- > 0;)
    if (result[k] != none) result[k] = own[static_cast<std::size_t>(--n)];
  back.keep();
  for (symbol t = first; t < b.get().tensors.size(); ++t)
    if (b.tensor(t).base != none && b.tensor(t).producer != none) s.written[b.tensor(t).base].push_back(t);
  if (s.symbolic.used) keep_in_step(s);
  if (all != nullptr) all->keep();
}

template <class = void> void append_gradient_to(graph_state& s, gradient_request r, symbol* result) {
  array<symbol> inputs;
  if (s.frames.empty()) r.inputs = s.inputs.data(), r.input_count = static_cast<int>(s.inputs.size());
  else if (s.frames.back().maker != nullptr) {
    inputs = s.frames.back().maker->inputs();
    r.inputs = inputs.data(), r.input_count = inputs.size();
  }
  append(s, r.outputs, r.output_count, result, r.wrt_count, [&] { cotangent::detail::gradient(s.b, r, result); });
}
template <class = void>
void append_tangents_to(graph_state& s, symbol const* wrt, symbol const* seeds, int wrt_count,
                        symbol const* outputs, int output_count, symbol* result) {
  append(s, outputs, output_count, result, output_count,
         [&] { cotangent::detail::tangents(s.b, wrt, seeds, wrt_count, outputs, output_count, result); });
}
template <class = void>
void append_jacobian_to(graph_state& s, jacobian_request const& r, bool diagonal, symbol* result) {
  append(s, r.outputs, r.output_count, result, diagonal ? r.wrt_count : r.output_count * r.wrt_count, [&] {
    if (diagonal) cotangent::detail::jacobian_diagonal(s.b, r, result);
    else cotangent::detail::jacobian(s.b, r, result);
  });
}
template <class = void> void append_batch_to(graph_state& s, batch_request const& r, symbol* result) {
  append(s, r.outputs, r.output_count, result, r.output_count, [&] { cotangent::detail::batch(s.b, r, result); });
}

/// The parts of transformations that differ from those of traced functions.
struct front_end {
  template <class T> using expression = expr<T>;

  static graph_state& state_of(builder& b) { return *static_cast<graph_state*>(b.owner); }

  /// Refusals and operations without a location have that of this call of the user, until an operation has its own.
  template <class... X> static void mark(std::source_location where, X const&... x) {
    found_graph found;
    (cotangent::detail::visit_leaves(x, found), ...);
    if (found.s != nullptr) found.s->b.place = place_of_call(*found.s, where);
  }
  /// The result of `call`, which appends to the graph; after an exception the graph is as before.
  template <class Call> static auto changed(void* graph, std::source_location where, Call const& call) {
    graph_state& s = *static_cast<graph_state*>(graph);
    std::unique_ptr<whole_undo> all;
    if (s.symbolic.used) all = std::make_unique<whole_undo>(s);
    same_region const region{s};
    undo back(s);
    s.b.place = place_of_call(s, where);
    auto y = call();
    back.check({nullptr, 0, nullptr, 0, s.b.place});
    back.keep();
    if (all != nullptr) all->keep();
    tell_made(s);
    return y;
  }
  template <class F, class... X>
  static auto transformed(std::source_location where, F const& f, X const&... x) {
    if constexpr ((is_refused<X>() || ...)) return refused();
    else {
      found_graph found;
      (cotangent::detail::visit_leaves(x, found), ...);
      graph_state& s = given(found.s, where);
      return changed(&s, where, [&] { return f(argument(s, x)...); });
    }
  }
  /// Refuses expressions without a graph.
  static graph_state& given(graph_state* s, std::source_location where) {
    static builder const nothing;
    if (s == nullptr) raise<refusals::dynamic_detached>(nothing, {nullptr, 0, nullptr, 0, where});
    return *s;
  }
  /// `x` in the graph of the first expression that has one.
  template <class T, class... X> static expr<T> attached(expr<T> const& x, X const&... others) {
    found_graph found;
    found(x);
    (cotangent::detail::visit_leaves(others, found), ...);
    return found.s == nullptr ? x : expr<T>(found.s->b, x.attach(found.s->b));
  }
  /// Refuses an operand of another graph.
  static void same_graph(builder& b, cotangent::detail::standing const& at) {
    if (at.b != nullptr && at.b != &b)
      raise<refusals::dynamic_other_graph>(b, {nullptr, 0, nullptr, 0, b.place});
  }
  static void check(builder& b) {
    if (failure const f = b.failed(); f.why != nullptr) raise(b, f, {nullptr, 0, nullptr, 0, b.place});
  }
  template <class Refusal, class T> [[noreturn]] static expr<T> refuse(expr<T> const& x) {
    static builder const nothing;
    graph_state const* const s = x.where_it_stands().s;
    raise<Refusal>(s == nullptr ? nothing : s->b,
                   {nullptr, 0, nullptr, 0, s == nullptr ? std::source_location{} : s->b.place});
  }

  static void gradient(builder& b, gradient_request const& r, symbol* result) {
    append_gradient_to(state_of(b), r, result);
  }
  static void tangents(builder& b, symbol const* wrt, symbol const* seeds, int wrt_count,
                       symbol const* outputs, int output_count, symbol* result) {
    append_tangents_to(state_of(b), wrt, seeds, wrt_count, outputs, output_count, result);
  }
  static void jacobian(builder& b, jacobian_request const& r, symbol* result) {
    append_jacobian_to(state_of(b), r, false, result);
  }
  static void jacobian_diagonal(builder& b, jacobian_request const& r, symbol* result) {
    append_jacobian_to(state_of(b), r, true, result);
  }
  static void batch(builder& b, batch_request const& r, symbol* result) {
    append_batch_to(state_of(b), r, result);
  }

  /// While it lives, the body that `maker` has opened is under construction.
  class body {
    builder& b_;
    open_body here_;

  public:
    template <class Maker>
    body(builder& b, Maker& maker) : b_(b), here_(state_of(b), maker, b.get().regions[b.region].parent) {}
    void finish() const { fill_unwritten(state_of(b_), b_.place); }
  };

private:
  struct found_graph {
    graph_state* s = nullptr;
    template <class X> void operator()(X const& x) {
      if constexpr (cotangent::detail::graph_expr<X>)
        if (s == nullptr) s = x.where_it_stands().s;
    }
  };
  /// Leaves become symbols of the region under construction.
  struct attached_leaves {
    builder& b;
    template <class X> void operator()(X& x) {
      if constexpr (cotangent::detail::graph_expr<X>) x = X(b, x.attach(b));
    }
  };
  /// The symbols of leaves; numbers and values without a graph, as `ct::zeros<3>()`, join the graph.
  struct joined_leaves {
    graph_state& s;
    array<symbol> ids{};
    template <class X> void operator()(X const& x) {
      ids.push(symbol_of<typename element_taken<X>::type>(s, x, {nullptr, 0, nullptr, 0, s.b.place}));
    }
  };
  /// True for a struct whose members cannot be expressions of the graph; `result_among` has reported it.
  template <class A> static consteval bool is_refused() {
    using namespace cotangent::detail;
    if constexpr (is_result<A>()) return tree_has<result_among<A, expr<bool>>, tree_kind::refusal>;
    else return false;
  }
  /// The expression, or tree of expressions of this graph, for an argument.
  template <class A> static auto argument(graph_state& s, A const& a) {
    if constexpr (element_type<A>) return expr<A>(s.b, expr<A>(a).attach(s.b));
    else if constexpr (cotangent::detail::is_expr<A>)
      return expr<typename A::value_type>(
          s.b, symbol_of<typename A::value_type>(s, a, {nullptr, 0, nullptr, 0, s.b.place}));
    else if constexpr (cotangent::detail::is_result<A>() && !cotangent::detail::is_all_in_graph<A>()) {
      joined_leaves all{s};
      cotangent::detail::visit_leaves(a, all);
      cotangent::detail::leaf_from_symbols make{s.b, all.ids.data()};
      return cotangent::detail::build_tree<cotangent::detail::result_among<A, expr<bool>>>(make);
    } else {
      A x = a;
      attached_leaves attach{s.b};
      cotangent::detail::visit_leaves(x, attach);
      return x;
    }
  }
};

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template void append_gradient_to(graph_state&, gradient_request, symbol*);
extern template void append_tangents_to(graph_state&, symbol const*, symbol const*, int, symbol const*, int,
                                        symbol*);
extern template void append_jacobian_to(graph_state&, jacobian_request const&, bool, symbol*);
extern template void append_batch_to(graph_state&, batch_request const&, symbol*);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
