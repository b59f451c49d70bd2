// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_FUNCTIONS_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_FUNCTIONS_HPP

#include <cotangent/dynamic/expressions/data.hpp>
#include <cotangent/dynamic/expressions/expr.hpp>
#include <cotangent/trace/expressions/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <vector>

// Functions whose axes and sizes are numbers known when the graph is built, instead of template arguments:
// ct::sum(x, {0, 2}), ct::reshape(x, {4, 5}), ct::softmax(x, axis).

COTANGENT_COLD_BEGIN
namespace cotangent {

namespace dynamic::inline COTANGENT_ABI {

/// Axes, counted from the first, or negative from the last: `{0, -1}`, or one axis.
class axis_list {
  std::vector<std::int64_t> axes_;

public:
  axis_list(std::int64_t axis) : axes_(1, axis) {}
  axis_list(std::initializer_list<std::int64_t> axes) : axes_(axes) {}
  axis_list(std::vector<int> const& axes) : axes_(axes.begin(), axes.end()) {}
  axis_list(std::vector<std::int64_t> axes) : axes_(static_cast<std::vector<std::int64_t>&&>(axes)) {}
  std::vector<std::int64_t> const& all() const noexcept { return axes_; }
  static axis_list none() { return std::vector<std::int64_t>{}; }
};
/// The argument `{}`: no axes or sizes. (It converts to every list and to `std::source_location`; to an enumeration without a
/// constructor call, so that these overloads are chosen.)
enum class no_numbers : bool {};

namespace detail {

/// `Kind` with these numbers, which must outlive it.
template <class Kind> with_values<Kind> with(std::vector<std::int64_t> const& numbers) {
  return with_values<Kind>({numbers.data(), static_cast<int>(numbers.size())});
}
template <class Kind> with_values<Kind> with(list_of<std::int64_t> const& numbers) {
  return with_values<Kind>({numbers.size() == 0 ? nullptr : &numbers[0], static_cast<int>(numbers.size())});
}
template <class Kind, std::size_t N> with_values<Kind> with(std::int64_t const (&numbers)[N]) {
  return with_values<Kind>({numbers, static_cast<int>(N)});
}

/// A shape in the builder; invalid sizes are refused.
inline std::int32_t shape_for(builder& b, sizes const& s) {
  dimensions d;
  if (s.rank() > max_rank) {
    b.fail({why<refusals::dynamic_rank>(), extent::of(s.rank()), extent::of(max_rank), none, b.place});
    return 0;
  }
  std::int64_t n = 1;
  for (int k = 0; k < s.rank(); ++k) {
    d.size[d.rank++] = s[k];
    if (s[k] < 0 || __builtin_mul_overflow(n, s[k] > 1 ? s[k] : 1, &n) || n > INT64_MAX / 8) {
      b.fail({why<refusals::dynamic_size>(), extent::of(s[k] < 0 ? 0 : s[k]), extent::of(0), none, b.place});
      return 0;
    }
  }
  return b.shape(d);
}

struct reshape_to_fn {
  static constexpr char const* name = "reshape";
  using emits = operations<>;
  sizes const& to;
  term operator()(term x) const {
    std::int32_t const s = shape_for(*x.b, to);
    if (x.b->failed().why != nullptr) return x;
    dimension const before = x.b->count(x.dims()), after = x.b->count(x.b->get().shapes[s]);
    if (before == after) return op::reshape::of(x, s);
    x.b->refuse<refusals::reshape_count>(before, after, x.b->place);
    return x;
  }
};

struct broadcast_to_sizes_fn {
  static constexpr char const* name = "broadcast_to";
  using emits = operations<>;
  sizes const& to;
  term operator()(term x) const {
    std::int32_t const s = shape_for(*x.b, to);
    if (x.b->failed().why != nullptr) return x;
    std::int32_t const both = extend::broadcast_shape(*x.b, x.shape_id(), s);
    if (both == s) return extend::broadcast_to(x, s);
    if (both != none) {
      dimensions const wide = x.b->get().shapes[both], want = x.b->get().shapes[s];
      x.b->refuse<refusals::shapes_do_not_broadcast>(x.b->count(wide), x.b->count(want), x.b->place);
    }
    return x;
  }
};
/// The same for a value that is written, so that messages name the user's call.
struct written_sizes_fn : broadcast_to_sizes_fn {
  static constexpr char const* name = "write";
};

/// `Kind` with a size, which is refused if it is negative.
template <class Kind> struct with_size : with_values<Kind> {
  using with_values<Kind>::with_values;
  term operator()(term first, auto... x) const {
    dimension const n = this->numbers[0];
    if (n >= 0) return with_values<Kind>::operator()(first, x...);
    first.b->fail({why<refusals::dynamic_size>(), extent::of(0), extent::of(0), none, first.b->place});
    return first;
  }
};

} // namespace detail
} // namespace dynamic

#define COTANGENT_ALONG_AXES(NAME)                                                                           \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::axis_list const& axes,                                                      \
            std::source_location where = std::source_location::current()) {                                  \
    return X::lift(where, dynamic::detail::with<detail::along_some<detail::NAME##_fn, false>>(axes.all()), x); \
  }                                                                                                          \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::axis_list const& axes, keep_t,                                              \
            std::source_location where = std::source_location::current()) {                                  \
    return X::lift(where, dynamic::detail::with<detail::along_some<detail::NAME##_fn, true>>(axes.all()), x); \
  }                                                                                                          \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) { \
    return cotangent::NAME(x, dynamic::axis_list::none(), where);                                            \
  }                                                                                                          \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::no_numbers, keep_t,                                                         \
            std::source_location where = std::source_location::current()) {                                  \
    return cotangent::NAME(x, dynamic::axis_list::none(), keep, where);                                      \
  }
COTANGENT_ALONG_AXES(sum)
COTANGENT_ALONG_AXES(mean)
COTANGENT_ALONG_AXES(max)
COTANGENT_ALONG_AXES(min)
COTANGENT_ALONG_AXES(logsumexp)
COTANGENT_ALONG_AXES(prod)
COTANGENT_ALONG_AXES(any)
COTANGENT_ALONG_AXES(count)
COTANGENT_ALONG_AXES(var)
COTANGENT_ALONG_AXES(std)
COTANGENT_ALONG_AXES(median)
#undef COTANGENT_ALONG_AXES

template <int P = 2, detail::open_expr X>
auto norm(X const& x, dynamic::axis_list const& axes, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::along_some<detail::norm_fn<P>, false>>(axes.all()), x);
}
template <int P = 2, detail::open_expr X>
auto norm(X const& x, dynamic::axis_list const& axes, keep_t, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::along_some<detail::norm_fn<P>, true>>(axes.all()), x);
}

template <int P = 2, detail::open_expr X>
auto norm(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::norm<P>(x, dynamic::axis_list::none(), where);
}
template <int P = 2, detail::open_expr X>
auto norm(X const& x, dynamic::no_numbers, keep_t, std::source_location where = std::source_location::current()) {
  return cotangent::norm<P>(x, dynamic::axis_list::none(), keep, where);
}

template <detail::open_expr X>
auto all_t::operator()(X const& x, typename X::axis_list const& axes, std::source_location where) const {
  return X::lift(where, dynamic::detail::with<detail::along_some<detail::all_fn, false>>(axes.all()), x);
}
template <detail::open_expr X>
auto all_t::operator()(X const& x, typename X::axis_list const& axes, keep_t, std::source_location where) const {
  return X::lift(where, dynamic::detail::with<detail::along_some<detail::all_fn, true>>(axes.all()), x);
}
template <detail::open_expr X> auto all_t::operator()(X const& x, typename X::no_numbers, std::source_location where) const {
  return (*this)(x, dynamic::axis_list::none(), where);
}
template <detail::open_expr X> auto all_t::operator()(X const& x, typename X::no_numbers, keep_t, std::source_location where) const {
  return (*this)(x, dynamic::axis_list::none(), keep, where);
}
template <detail::open_expr X, detail::operand Q>
auto quantile(X const& x, Q const& q, dynamic::axis_list const& axes, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::quantile_along<false>>(axes.all()), x, q);
}
template <detail::open_expr X, detail::operand Q>
auto quantile(X const& x, Q const& q, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::quantile(x, q, dynamic::axis_list::none(), where);
}
template <detail::open_expr X, detail::operand Q>
auto quantile(X const& x, Q const& q, dynamic::axis_list const& axes, keep_t, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::quantile_along<true>>(axes.all()), x, q);
}
template <detail::open_expr X, detail::operand Q>
auto quantile(X const& x, Q const& q, dynamic::no_numbers, keep_t, std::source_location where = std::source_location::current()) {
  return cotangent::quantile(x, q, dynamic::axis_list::none(), keep, where);
}

/// Along an axis that is known when the graph is built.
template <detail::open_expr X>
auto argmax(X const& x, int axis, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::along_value<detail::argmax_fn>{axis}, x);
}

/// The extent of an axis, as a constant of the graph.
template <detail::open_expr X>
auto axis_size(X const& x, int axis, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::along_value<detail::axis_size_fn>{axis}, x);
}

template <detail::open_expr X>
auto argmin(X const& x, int axis, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::along_value<detail::argmin_fn>{axis}, x);
}

/// The same elements in row-major order, with other sizes.
template <detail::open_expr X>
auto reshape(X const& x, dynamic::sizes const& to,
             std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::reshape_to_fn{to}, x);
}
template <detail::open_expr X>
auto reshape(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::reshape(x, dynamic::sizes{}, where);
}
/// Broadcasts `x` to these sizes, aligned at the last axis.
template <detail::open_expr X>
auto broadcast_to(X const& x, dynamic::sizes const& to,
                  std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::broadcast_to_sizes_fn{to}, x);
}
template <detail::open_expr X>
auto broadcast_to(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::broadcast_to(x, dynamic::sizes{}, where);
}
/// Result axis k is operand axis `axes[k]`.
template <detail::open_expr X>
auto permute(X const& x, dynamic::axis_list const& axes,
             std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::permute_kind>(axes.all()), x);
}
template <detail::open_expr X>
auto permute(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::permute(x, dynamic::axis_list::none(), where);
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
