// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_OPTIONS_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_OPTIONS_HPP

#include <cotangent/dynamic/expressions/data.hpp>
#include <cotangent/dynamic/expressions/functions.hpp>

#include <cotangent/graph/window.hpp>
#include <cotangent/transform/differentiate/backward_sweep.hpp>

#include <cstdint>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

// Options of the functions of a graph: windows, bindings, compilation.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

/// An expression and the memory bound to it.
struct binding {
  any_expr what;
  detail::memory_of memory;
  std::source_location where;
  template <class T, class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>>)
  binding(expr<T> const& x, M& m, std::source_location w = std::source_location::current())
      : what(x), memory(detail::memory_in(m)), where(w) {
    static_assert(
        std::is_same_v<T, typename cotangent::detail::memory_traits<std::remove_cvref_t<M>>::element>,
        "cotangent: bind: the elements of the memory must be those of the expression");
    detail::refuse_strides<std::remove_cvref_t<M>>();
  }
  /// For one of a list of expressions of any element: element types are compared when it is bound.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>>)
  binding(any_expr const& x, M& m, std::source_location w = std::source_location::current())
      : what(x), memory(detail::memory_in(m)), where(w) {
    detail::refuse_strides<std::remove_cvref_t<M>>();
  }
  /// For a tensor symbol: the same.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>>)
  binding(symbolic_tensor const& x, M& m, std::source_location w = std::source_location::current())
      : what(x.s == nullptr ? any_expr() : any_expr(detail::standing(*x.s, x.id), x.s->b.tensor(x.id).type)),
        memory(detail::memory_in(m)), where(w), generation(x.generation), generation_known(true) {
    detail::refuse_strides<std::remove_cvref_t<M>>();
  }
  std::uint32_t generation = 0; // of a symbol that may have been freed meanwhile
  bool generation_known = false;
  binding(any_expr const& x, detail::memory_of const& m,
          std::source_location w = std::source_location::current())
      : what(x), memory(m), where(w) {}
};

/// The elements of a tensor that a view sees: position (i, j, ...) is element (offset + (i, j, ...)) * stride
/// of its tensor's memory, counted from the first element of the viewed tensor or view. The default `stride`
/// is that of the viewed tensor, the default `offset` 0.
struct window {
  sizes offset{}, shape{}, stride{};
};

/// After a run the memory of `of`, an input, holds the value of `to`, computed from its previous contents.
struct update {
  any_expr of, to;
};

namespace detail {

/// The symbol of a window; a refusal is recorded in the builder.
inline symbol view_symbol(builder& b, symbol of, window const& w) {
  tensor_window const from = window_of(b.get(), of);
  (void)shape_for(b, w.shape); // invalid shapes are refused
  if (b.failed().why != nullptr) return b.refused();
  int const rank = w.shape.rank();
  sizes stride = w.stride;
  if (stride.rank() == 0 && rank == from.rank)
    for (int k = 0; k < rank; ++k) stride.push(from.stride[k]);
  for (int const given : {stride.rank(), w.offset.rank() == 0 ? rank : w.offset.rank()})
    if (given != rank) return b.refuse<refusals::dynamic_window>(given, rank, b.place), b.refused();
  dimensions d;
  std::int64_t offset = 0;
  bool far = false; // outside of any memory: no other axis can lead back
  for (int k = 0; k < rank; ++k) {
    d.size[d.rank++] = w.shape[k];
    if (w.offset.rank() == 0 || far) continue;
    std::int64_t const part = cotangent::detail::capped_product(w.offset[k], stride[k]);
    offset = cotangent::detail::capped_sum(offset, part);
    for (std::int64_t const n : {part, offset}) far = far || n == INT64_MIN || n == INT64_MAX;
  }
  return strided_view(b, of, offset, stride.begin(), d);
}

} // namespace detail

/// The operations of an optimizer's step: pass `updates` to `compile`.
struct training_step {
  std::vector<any_expr> gradients; // by parameter
  std::vector<update> updates;     // of the parameters and of the optimizer's states
  expr<double> learning_rate;      // an input that holds the optimizer's rate, unless you bind it
  expr<std::int64_t> count;        // the number of steps taken, if the optimizer counts them
};

/// The step of a symbolic graph: `updates` are pairs of an input and its next value, first of the parameters,
/// then of the optimizer's states.
struct symbolic_step {
  std::vector<symbolic_tensor> gradients;
  std::vector<std::pair<symbolic_tensor, symbolic_tensor>> updates;
  symbolic_tensor learning_rate, count; // count is absent if the optimizer has none
};

/// The values of `tape.schedule`: how a loop that reruns for its gradient stores the values that it restarts from.
using checkpoints = cotangent::detail::checkpoints;

/// Options of gradients. With a `tape.limit`, a loop whose record would exceed it reruns parts of itself,
/// with the same bits.
///
/// `sum` takes two or more contributions to one cotangent, in order of arrival, and returns their sum: an
/// expression of their shape and element type. By default they are added one after another.
struct gradient_options {
  unreachable policy = unreachable::zeros;
  detail::tape_options tape = {};
  std::function<any_expr(std::vector<any_expr> const&)> sum = {};
};

/// Options of a reverse sweep in eager mode.
struct backward_options {
  bool record = false;  // true: the sweep is recorded too, so that gradients have gradients
  bool release = false; // true: the record is freed; a second sweep through it is refused
  unreachable policy = unreachable::zeros;
};

struct compile_options {
  bool exact = false; // true: no rewrites, every operation runs as written
  std::vector<update> updates{};
  /// true: inputs and results that are not bound here are in the program's own memory too, see
  /// `program::memory`. A run may overwrite such inputs with results.
  bool own_memory = false;
  /// The limit of `program::workspace_bytes` plus the records of loops with a known bound; 0: unlimited.
  /// Below the bytes of all values, some are recomputed when they are read, with the same bits;
  /// `program::predicted` is the cost.
  std::int64_t memory_budget = 0;
  /// A predicate for nodes that may be recomputed, such as `&ct::is_cheap`. With a budget, other nodes never
  /// are; null: all may be. Without a budget, these nodes are rematerialized for gradients if that lowers the
  /// peak, by the mirroring rule; null: none. `program::predicted` is the cost.
  bool (*mirror)(extend::node const&) = nullptr;
  /// true: every value of the graph is a result, so that `program::value` finds any symbol, also by its name.
  /// No two values then share memory.
  bool keep_all = false;
};

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
