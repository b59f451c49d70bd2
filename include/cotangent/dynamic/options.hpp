// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_OPTIONS_HPP
#define COTANGENT_DYNAMIC_OPTIONS_HPP

#include <cotangent/dynamic/data.hpp>
#include <cotangent/dynamic/expr.hpp>

#include <source_location>
#include <type_traits>

// What the functions of a graph are told: windows, bindings, how to compile.

namespace cotangent::dynamic {

/// An expression and the memory that it is bound to.
struct binding {
  any_expr what;
  detail::memory_of memory;
  std::source_location where;
  template <class T, class M>
    requires(cotangent::detail::memory_traits<std::remove_cvref_t<M>>::exists)
  binding(expr<T> const& x, M& m, std::source_location w = std::source_location::current())
      : what(x), memory(detail::memory_in(m)), where(w) {
    static_assert(
        std::is_same_v<T, typename cotangent::detail::memory_traits<std::remove_cvref_t<M>>::element>,
        "cotangent: bind: the elements of the memory must be those of the expression");
  }
};

/// Which elements of a tensor a view sees: position (i, j, ...) is element (offset + (i, j, ...)) * stride of the memory of
/// what it is a view of, counted from its first element. `stride` left out is that of what it is a view of, `offset` 0.
struct window {
  sizes offset{}, shape{}, stride{};
};

struct compile_options {
  bool exact = false; // true: nothing is rewritten, every operation runs as it was written
};

} // namespace cotangent::dynamic

#endif
