// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_DEBUG_NANS_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_DEBUG_NANS_HPP

#include <cotangent/trace/program/program.hpp>

#include <cstdint>
#include <type_traits>

// Calls that say where a NaN comes from.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// A graph before simplification, whose nodes have the user's source lines, evaluated node by node.
template <class Graph> struct watched_graph {
  static constexpr graph_view const& g = Graph::view;
  static constexpr int input_count = g.input_count();
  struct tables {
    shape leaves[input_count + 1]{};
    extent extents[g.extent_count + 1]{};
    constexpr tables() {
      for (int k = 0; k < g.extent_count; ++k) extents[k] = g.extents[k];
      for (int k = 0; k < input_count; ++k)
        for (int a = 0; a < g.shape(g.input(k)).rank; ++a) leaves[k].push(g.extent_of(g.shape(g.input(k)).size[a]));
    }
  };
  static constexpr tables table{};
  static constexpr binding_table<count_symbolic(table.leaves, input_count), g.extent_count> binding{table.leaves, input_count, g.extents};

  /// Throws if a node makes a NaN or an infinity. Precondition: the sizes fit.
  template <class... Args> static constexpr void check(Args const&... args) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wc++23-extensions" // (as in `program_of::call`)
    if consteval {
    } else {
      evaluate_now(args...);
    }
#pragma GCC diagnostic pop
  }

private:
  template <class... Args> static void evaluate_now(Args const&... args) {
    std::int64_t of_leaves[(input_count + 1) * max_rank]{}, sizes[g.extent_count + 1]{};
    [[maybe_unused]] leaf_sizes note_sizes{of_leaves};
    (visit_leaves(args, note_sizes), ...);
    (void)binding.bind(table.leaves, table.extents, of_leaves, sizes);
    elements_in in[input_count + 1]{};
    [[maybe_unused]] leaf_elements_in note_elements{in};
    (visit_leaves(args, note_elements), ...);
    not_finite const first = first_not_finite(g, sizes, in);
    if (first.operation == nullptr) return;
    message text("cotangent: debug_nans: ");
    text.put(first.operation).put(" made ").put(first.is_nan ? "a NaN" : "an infinity");
    text.put(" in ").put(first.of_gradient ? "the derivative" : "the value");
    if (first.where.line() != 0) text.put(", at ").put(first.where.file_name()).put(":").put(first.where.line());
    raise_if_offered<numeric_error>(text);
  }
};

template <class F> struct watched_function : like_function<watched_function<F>, F> {
  using unwatched = like_function<watched_function, F>;
  using unwatched::unwatched;

  template <class... Args>
    requires(!(detail::holds_expressions<Args> || ...))
  COTANGENT_CHECKED_CALL auto operator()(Args const&... args) const {
    auto result = unwatched::operator()(args...);
    if constexpr (unfit_arguments<F, Args...>() == unfit::nothing)
      if constexpr (!std::is_same_v<typename stages<watched_function, Args...>::simplified, refused>)
        watched_graph<typename stages<watched_function, Args...>::differentiated>::check(args...);
    return result;
  }
  template <class... Args>
    requires(detail::holds_expressions<Args> || ...)
  constexpr auto operator()(Args const&... args) const {
    return unwatched::operator()(args...);
  }
};

template <class F> struct outermost<watched_function<F>> : outermost<F> {};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The function f, whose calls throw if an operation makes a NaN or an infinity of values that had none:
/// `ct::debug_nans(ct::value_and_grad(f))(x)`. The exception names the operation and its line in the source, also of an operation
/// of a gradient. Inside a traced function it is f.
///
/// Value: that of f.
/// Throws: `numeric_error`.
/// Domain: arguments and constants that are not finite are not reported. Constant evaluations are not checked.
/// Cost: that of f, and a second, slow evaluation, node by node, of the function as written.
/// Checked: tests/static/debug_nans.cpp, tests/runtime/debug_nans.cpp.
template <class F> constexpr auto debug_nans(F f) { return detail::watched_function<F>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
