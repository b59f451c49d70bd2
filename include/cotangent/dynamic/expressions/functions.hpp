// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_FUNCTIONS_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_FUNCTIONS_HPP

#include <cotangent/dynamic/expressions/data.hpp>
#include <cotangent/dynamic/expressions/expr.hpp>
#include <cotangent/trace/expressions/statistics.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>

// Functions whose axes and sizes are numbers known when the graph is built, instead of template arguments:
// ct::sum(x, {0, 2}), ct::reshape(x, {4, 5}), ct::softmax(x, axis).

namespace cotangent {

namespace dynamic {

/// Axes, counted from the first, or negative from the last: `{0, -1}`.
class axis_list {
  std::vector<int> axes_;

public:
  axis_list(int axis) : axes_(1, axis) {}
  axis_list(std::initializer_list<int> axes) : axes_(axes) {}
  axis_list(std::vector<int> axes) : axes_(static_cast<std::vector<int>&&>(axes)) {}
  std::vector<int> const& all() const noexcept { return axes_; }
};

namespace detail {

template <class Kind> struct along_some_fn : cotangent::detail::element_given<Kind> {
  static constexpr char const* name = Kind::name;
  std::vector<int> const& axes;
  bool keep;
  along_some_fn(std::vector<int> const& some, bool keeps) : axes(some), keep(keeps) {}
  term operator()(term x) const {
    std::uint32_t mask = 0;
    for (int const axis : axes) {
      std::uint32_t const bit = 1u << axis_of(x, axis);
      if ((mask & bit) != 0)
        x.b->refuse<refusals::axis_repeated>(axis < 0 ? -(axis + 1) : axis, x.rank(), x.b->place);
      mask |= bit;
    }
    return x.b->failed().why != nullptr ? x : Kind::of(x, mask, keep);
  }
};

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

struct permute_by_fn {
  static constexpr char const* name = "permute";
  using emits = operations<>;
  std::vector<int> const& axes;
  term operator()(term x) const {
    if (static_cast<int>(axes.size()) != x.rank())
      return x.b->refuse<refusals::permute_rank>(static_cast<dimension>(axes.size()), x.rank(), x.b->place),
             x;
    std::int64_t order[max_rank + 1]{};
    for (std::size_t k = 0; k < axes.size(); ++k) order[k] = axis_of(x, axes[k]);
    return x.b->failed().why != nullptr ? x : op::permute::of(x, order);
  }
};

} // namespace detail
} // namespace dynamic

#define COTANGENT_ALONG_AXES(NAME)                                                                           \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::axis_list const& axes,                                                      \
            std::source_location where = std::source_location::current()) {                                  \
    return X::lift(where, dynamic::detail::along_some_fn<detail::NAME##_fn>{axes.all(), false}, x);          \
  }                                                                                                          \
  template <detail::open_expr X>                                                                             \
  auto NAME(X const& x, dynamic::axis_list const& axes, keep_t,                                              \
            std::source_location where = std::source_location::current()) {                                  \
    return X::lift(where, dynamic::detail::along_some_fn<detail::NAME##_fn>{axes.all(), true}, x);           \
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
  return X::lift(where, dynamic::detail::along_some_fn<detail::norm_fn<P>>{axes.all(), false}, x);
}
template <int P = 2, detail::open_expr X>
auto norm(X const& x, dynamic::axis_list const& axes, keep_t, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::along_some_fn<detail::norm_fn<P>>{axes.all(), true}, x);
}

/// Along an axis that is known when the graph is built.
template <detail::open_expr X>
auto argmax(X const& x, int axis, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::along_value<detail::argmax_fn>{axis}, x);
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
/// Broadcasts `x` to these sizes, aligned at the last axis.
template <detail::open_expr X>
auto broadcast_to(X const& x, dynamic::sizes const& to,
                  std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::broadcast_to_sizes_fn{to}, x);
}
/// Result axis k is operand axis `axes[k]`.
template <detail::open_expr X>
auto permute(X const& x, dynamic::axis_list const& axes,
             std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::permute_by_fn{axes.all()}, x);
}

} // namespace cotangent

#endif
