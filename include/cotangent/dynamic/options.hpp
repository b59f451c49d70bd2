// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_OPTIONS_HPP
#define COTANGENT_DYNAMIC_OPTIONS_HPP

#include <cotangent/dynamic/data.hpp>
#include <cotangent/dynamic/functions.hpp>

#include <cotangent/graph/window.hpp>
#include <cotangent/transform/backward_sweep.hpp>

#include <cstdint>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

// What the functions of a graph are told: windows, bindings, how to compile.

namespace cotangent::dynamic {

/// An expression and the memory that it is bound to.
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
  }
  /// The same for a tensor symbol: elements are compared when it is bound.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>>)
  binding(symbolic_tensor const& x, M& m, std::source_location w = std::source_location::current())
      : what(x.s == nullptr ? any_expr() : any_expr(detail::standing(*x.s, x.id), x.s->b.tensor(x.id).type)),
        memory(detail::memory_in(m)), where(w), generation(x.generation), generation_known(true) {}
  std::uint32_t generation = 0; // of a symbol that may have been freed since
  bool generation_known = false;
  binding(any_expr const& x, detail::memory_of const& m,
          std::source_location w = std::source_location::current())
      : what(x), memory(m), where(w) {}
};

/// Which elements of a tensor a view sees: position (i, j, ...) is element (offset + (i, j, ...)) * stride of the memory of
/// what it is a view of, counted from its first element. `stride` left out is that of what it is a view of, `offset` 0.
struct window {
  sizes offset{}, shape{}, stride{};
};

/// After a run the memory of `of`, an input, holds what `to` was computed to be, from what it held before.
struct update {
  any_expr of, to;
};

namespace detail {

/// The symbol of a window; what is refused is recorded in the builder.
inline symbol view_symbol(builder& b, symbol of, window const& w) {
  tensor_window const from = window_of(b.get(), of);
  (void)shape_for(b, w.shape); // what is no shape is refused
  if (b.failed().why != nullptr) return b.refused();
  int const rank = w.shape.rank();
  sizes stride = w.stride;
  if (stride.rank() == 0 && rank == from.rank)
    for (int k = 0; k < rank; ++k) stride.push(from.stride[k]);
  for (int const given : {stride.rank(), w.offset.rank() == 0 ? rank : w.offset.rank()})
    if (given != rank) return b.refuse<refusals::dynamic_window>(given, rank, b.place), b.refused();
  dimensions d;
  std::int64_t offset = 0;
  bool far = false; // outside of anything: no other axis leads back
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

/// What a step of an optimizer computes: give `updates` to `compile`.
struct training_step {
  std::vector<any_expr> gradients; // by parameter
  std::vector<update> updates;     // of the parameters, and of what the optimizer remembers
  expr<double> learning_rate;      // an input that holds the optimizer's rate, unless you bind it to another
  expr<std::int64_t> count;        // how many steps were taken, where the optimizer counts them
};

/// The same for symbols: `updates` are pairs of an input and its next value, of the parameters first, then of what the
/// optimizer remembers.
struct symbolic_step {
  std::vector<symbolic_tensor> gradients;
  std::vector<std::pair<symbolic_tensor, symbolic_tensor>> updates;
  symbolic_tensor learning_rate, count; // the count absent where the optimizer has none
};

/// How gradients are made. With a `tape.limit` a loop whose record would take more bytes runs parts of itself again, with
/// the same results bit for bit.
///
/// `sum` makes of the contributions to one cotangent, two or more in the order in which they came, an expression of their
/// shape and element type: their sum, made as you like. Left out, they are added one after another.
struct gradient_options {
  unreachable policy = unreachable::zeros;
  tape_options tape = {};
  std::function<any_expr(std::vector<any_expr> const&)> sum = {};
};

/// How eager mode walks back.
struct backward_options {
  bool record = false;  // true: the walk is recorded too, so that gradients have gradients
  bool release = false; // true: what was recorded for it goes; a second walk through there is refused
  unreachable policy = unreachable::zeros;
};

struct compile_options {
  bool exact = false; // true: nothing is rewritten, every operation runs as it was written
  std::vector<update> updates{};
  /// true: inputs and results that are not bound here lie in the program's memory too, where `program::memory` finds them.
  /// What comes in there is used up by a run, since results may be written over it.
  bool own_memory = false;
  /// The bytes that `program::workspace_bytes` may be, together with what loops record that are known to run so often at
  /// most; 0 where it may be any. Where that is less than what all values take, some are computed again when they are read,
  /// with the same bits; `program::predicted` says at which cost.
  std::int64_t memory_budget = 0;
  /// Which nodes may be computed again, `&ct::is_cheap` say. With a budget: the others never are; null: all may. Without one:
  /// those are, for gradients, where that lowers the peak, as is decided by the bytes that come and go with them; null: none.
  /// `program::predicted` says at which cost.
  bool (*mirror)(node const&) = nullptr;
  /// true: everything that the graph computes is a result, so that `program::value` finds any symbol, also by its name. No
  /// two values share memory then.
  bool keep_all = false;
};

} // namespace cotangent::dynamic

#endif
