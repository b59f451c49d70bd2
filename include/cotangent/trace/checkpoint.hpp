// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_CHECKPOINT_HPP
#define COTANGENT_TRACE_CHECKPOINT_HPP

#include <cotangent/trace/stages.hpp>

#include <type_traits>

// Functions whose values are computed again for their gradients instead of being kept.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class A>
concept holds_values = requires(A const& a) {
  typename A::value_type;
  a.begin();
  a.end();
};

/// Whether leaves of an argument are expressions of a graph that is made at run time, alone or in rows.
template <class A> consteval bool find_open() {
  if constexpr (open_expr<A>) return true;
  else if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return (false || ... || find_open<Part>());
    }(typename parts_of<A>::type{});
  else if constexpr (holds_values<A>) {
    if constexpr (std::is_same_v<typename A::value_type, A>) return false;
    else return find_open<typename A::value_type>();
  } else return false;
}

/// The builder of the graph that such expressions belong to.
struct open_builder {
  builder* b = nullptr;
  template <class X> void operator()(X const& x) {
    if constexpr (open_expr<X>) {
      if (b == nullptr) b = x.standing().b;
    } else if constexpr (find_open<X>())
      for (auto const& part : x) visit_leaves(part, *this);
  }
};

template <class F> struct checkpoint_function : like_function<checkpoint_function<F>, F> {
  using like_function<checkpoint_function, F>::like_function;

  template <class Result, class... X> constexpr Result trace(X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return this->f(x...);
    kept_block const outer(*found.b);
    (void)found.b->open_block();
    return this->f(x...);
  }
  template <class... Args> static constexpr bool is_open = (find_open<Args>() || ...);
  template <class... Args> auto call_open(Args const&... args) const {
    open_builder found;
    (visit_leaves(args, found), ...);
    if (found.b == nullptr) return this->f(args...);
    kept_block const outer(*found.b);
    (void)found.b->open_block();
    return this->f(args...);
  }
};
template <class F> struct outermost<checkpoint_function<F>> : outermost<F> {};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The same function, of which nothing is kept for its gradient but its arguments and its results: what the gradient reads
/// beside these is computed again, as late as possible, and only where that lowers the peak of memory.
///
/// Of expressions of every kind, with any number of arguments and results, trees among them; a function inside may be
/// checkpointed as well. Of tensors it is `ct::compiled(f)`.
///
/// Value: the same bits as without. Random numbers are the same, since they are functions of their key and counter.
/// Cost: at most one more run of f, for each checkpointed function around another one.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp.
template <class F> constexpr auto checkpoint(F f) { return detail::checkpoint_function<F>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
