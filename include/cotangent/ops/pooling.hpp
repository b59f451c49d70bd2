// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_POOLING_HPP
#define COTANGENT_OPS_POOLING_HPP

#include <cotangent/ops/stencil.hpp>

// Maximum and mean over windows of an image, with their adjoints as operations.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(pooling_padding, less_than, padding_given, extent_of_pooled_window, "cotangent: max_pool2d, avg_pool2d: the padding must be less than the window, otherwise a window would be outside of the image")
// clang-format on
} // namespace refusals

namespace detail {

/// True if `v` equals the maximum `m` of its window, or is NaN.
template <class V> COTANGENT_FORMULA constexpr math::mask_t<V> reaches(V const& v, V const& m) {
  return math::logical_or<math::mask_t<V>>(v == m, math::is_nan(v));
}

// The functions below process one window at one channel, or at as many channels as V has lanes. `get` and `put` read and write V there.

template <class V, class Get> COTANGENT_FORMULA constexpr V largest_of(window_taps const& w, Get get) {
  V m{};
  bool first = true;
  detail::for_taps(w, [&](std::int64_t p) {
    m = first ? get(p) : math::max(m, get(p));
    first = false;
  });
  return m;
}
template <class V, class Get>
COTANGENT_FORMULA constexpr V times_reached(window_taps const& w, V const& m,
                                           Get get) {
  V hits{};
  detail::for_taps(w, [&](std::int64_t p) {
    hits = static_cast<V>(hits + math::select(detail::reaches<V>(get(p), m), math::broadcast<V>(1), V{}));
  });
  return hits;
}

template <class V, class Get> COTANGENT_FORMULA constexpr V mean_of(window_taps const& w, Get get) {
  V sum{};
  detail::for_taps(w, [&](std::int64_t p) { sum = static_cast<V>(sum + get(p)); });
  return static_cast<V>(sum / math::broadcast<V>(static_cast<math::lane_t<V>>(w.count())));
}
template <class V, class Get, class Put>
COTANGENT_FORMULA constexpr void spread_mean(window_taps const& w, V const& dy,
                                            Get get, Put put) {
  V const share =
      static_cast<V>(dy / math::broadcast<V>(static_cast<math::lane_t<V>>(w.count())));
  detail::for_taps(w, [&](std::int64_t p) { put(p, static_cast<V>(get(p) + share)); });
}
/// `x` reads the image, `get` and `put` access its cotangent.
template <class V, class X, class Get, class Put>
COTANGENT_FORMULA constexpr void spread_largest(window_taps const& w, V const& dy, X x,
                                               Get get, Put put) {
  V const m = detail::largest_of<V>(w, x);
  V const share = static_cast<V>(dy / detail::times_reached<V>(w, m, x));
  detail::for_taps(w, [&](std::int64_t p) {
    put(p, static_cast<V>(get(p) + math::select(detail::reaches<V>(x(p), m), share, V{})));
  });
}
/// The mean of `dx` over the pixels where `x` is largest.
template <class V, class X, class Get>
COTANGENT_FORMULA constexpr V at_largest(window_taps const& w, X x, Get dx) {
  V const m = detail::largest_of<V>(w, x);
  V sum{};
  detail::for_taps(w, [&](std::int64_t p) {
    sum = static_cast<V>(sum + math::select(detail::reaches<V>(x(p), m), dx(p), V{}));
  });
  return static_cast<V>(sum / detail::times_reached<V>(w, m, x));
}

template <class Op> constexpr term pooling_of(std::initializer_list<term> x, stencil_numbers const& n) {
  symbol ids[3]{};
  int count = 0;
  for (term const& t : x) ids[count++] = t.id;
  builder& b = *x.begin()->b;
  return {&b, b.push(info_of<Op>(), ids, count, n.value, stencil_numbers::count, b.place)};
}

/// Calls `f(taps, channel, offset in the result)` for each window and channel; the offset is in elements.
template <class F> constexpr void for_windows(stencil const& z, F f) {
  detail::for_window_taps(z, [&](window_taps const& w, std::int64_t p) {
    for (std::int64_t c = 0; c < z.channels; ++c) f(w, c, p * z.channels + c);
  });
}

} // namespace detail

namespace op {

struct max_pool2d_image;
struct max_pool2d_tangent;

/// The common base of poolings. If `Result`, the operands have the shape of the windows and the result that
/// of the image; else the reverse.
template <class Self, int Arity, bool Result> struct pooling : detail::stencil_operation<Self, Arity> {
  static constexpr float cost = 8;
  static constexpr void infer(inference& r) {
    using n = detail::stencil_numbers;
    if (!detail::stencil_fits(r, 0, Result)) return;
    n const v = n::of(r.attribute);
    for (auto const k : {n::above, n::below})
      if (v[k] >= v[n::tall]) return r.refuse<refusals::pooling_padding>(v[k], v[n::tall]);
    for (auto const k : {n::left, n::right})
      if (v[k] >= v[n::wide]) return r.refuse<refusals::pooling_padding>(v[k], v[n::wide]);
    extend::dimensions const d = r.dims(0);
    extend::dimension const channels = d.size[d.rank - 1];
    extend::dimensions const image = detail::image_of(d, v[n::height], v[n::width], channels);
    for (int k = 1; k < Arity; ++k) // the image itself
      for (int a = 0; a < image.rank || a < r.dims(k).rank; ++a)
        if (r.dims(k).rank != image.rank || r.dims(k).size[a] != image.size[a])
          return r.refuse<refusals::stencil_result>(
              r.dims(k).rank != image.rank ? r.dims(k).rank : r.dims(k).size[a],
              r.dims(k).rank != image.rank ? image.rank : image.size[a]);
    r.result(r.type, Result ? image : detail::image_of(d, v.rows(), v.columns(), channels));
  }
  static constexpr void batch(batch_rule& r) { detail::batch_images<Self>(r, Arity); }
  static constexpr detail::stencil window(whole_call const& c) {
    return detail::stencil_numbers::of(c.attribute).on(Result ? c.result : c.operand[0]);
  }
  static constexpr double flops(extend::graph_view const& g, extend::node const& n) {
    extend::dimensions const& d = g.shape(Result ? g.operand(n, 0) : g.result(n));
    double product = static_cast<double>(g.attribute(n, detail::stencil_numbers::tall)) *
                     static_cast<double>(g.attribute(n, detail::stencil_numbers::wide));
    for (int k = 0; k < d.rank; ++k) product *= d.size[k] < 0 ? 1. : static_cast<double>(d.size[k]);
    return product;
  }
  template <class T> static constexpr void clear(whole_call const& c) {
    for (std::int64_t k = 0; k < c.result.count(); ++k) c.result.data<T>()[k] = T{};
  }
};

/// The maximum of each window and channel.
/// Shapes: [n..., height, width, channels] -> [n..., rows, columns, channels].
/// Value: NaN wins; the border does not count.
/// Adjoint: max_pool2d_image(dy, x): to the largest pixels; ties share equally.
/// Cost: tall wide comparisons per element.
struct max_pool2d : pooling<max_pool2d, 1, false> {
  static constexpr char const* name = "max_pool2d";
  template <class T> static constexpr void compute(whole_call const& c) {
    T const* const x = c.operand[0].data<T>();
    T* const y = c.result.data<T>();
    detail::stencil const z = window(c);
    detail::for_windows(z, [&](detail::window_taps const& w, std::int64_t k, std::int64_t to) {
      y[to] = detail::largest_of<T>(w, [&](std::int64_t p) { return x[p + k]; });
    });
  }
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r);
};

/// From a cotangent dy and an image x: dy of each window, at the pixels where x is largest in it; ties share
/// equally.
/// Adjoint: max_pool2d_tangent(dx, x) toward dy; 0 toward x.
struct max_pool2d_image : pooling<max_pool2d_image, 2, true> {
  static constexpr char const* name = "max_pool2d_image";
  template <class T> static constexpr void compute(whole_call const& c) {
    T const *const dy = c.operand[0].data<T>(), *const x = c.operand[1].data<T>();
    T* const dx = c.result.data<T>();
    detail::stencil const z = window(c);
    clear<T>(c);
    detail::for_windows(z, [&](detail::window_taps const& w, std::int64_t k, std::int64_t from) {
      detail::spread_largest<T>(
          w, dy[from], [&](std::int64_t p) { return x[p + k]; },
          [&](std::int64_t p) { return dx[p + k]; }, [&](std::int64_t p, T v) { dx[p + k] = v; });
    });
  }
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r) {
    if (r.has(0))
      r.give(detail::pooling_of<max_pool2d_image>({r.dx(0), r.x(1)}, detail::stencil_numbers::of(r)));
  }
};

/// From a tangent dx and an image x: for each window, the mean of dx over the pixels where x is largest.
/// Adjoint: max_pool2d_image(dy, x) toward dx; 0 toward x.
struct max_pool2d_tangent : pooling<max_pool2d_tangent, 2, false> {
  static constexpr char const* name = "max_pool2d_tangent";
  template <class T> static constexpr void compute(whole_call const& c) {
    T const *const dx = c.operand[0].data<T>(), *const x = c.operand[1].data<T>();
    T* const dy = c.result.data<T>();
    detail::stencil const z = window(c);
    detail::for_windows(z, [&](detail::window_taps const& w, std::int64_t k, std::int64_t to) {
      dy[to] = detail::at_largest<T>(
          w, [&](std::int64_t p) { return x[p + k]; }, [&](std::int64_t p) { return dx[p + k]; });
    });
  }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0))
      r.give(0, detail::pooling_of<max_pool2d_image>({r.dy(), r.x(1)}, detail::stencil_numbers::of(r)));
  }
  static constexpr void tangent(tangent_rule& r) {
    if (r.has(0))
      r.give(detail::pooling_of<max_pool2d_tangent>({r.dx(0), r.x(1)}, detail::stencil_numbers::of(r)));
  }
};

struct avg_pool2d_image;

/// The mean of each window and channel, over the pixels inside the image.
/// Shapes: as max_pool2d. Adjoint: avg_pool2d_image(dy).
struct avg_pool2d : pooling<avg_pool2d, 1, false> {
  static constexpr char const* name = "avg_pool2d";
  template <class T> static constexpr void compute(whole_call const& c) {
    T const* const x = c.operand[0].data<T>();
    T* const y = c.result.data<T>();
    detail::stencil const z = window(c);
    detail::for_windows(z, [&](detail::window_taps const& w, std::int64_t k, std::int64_t to) {
      y[to] = detail::mean_of<T>(w, [&](std::int64_t p) { return x[p + k]; });
    });
  }
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r) {
    r.give(detail::pooling_of<avg_pool2d>({r.dx()}, detail::stencil_numbers::of(r)));
  }
};

/// From a cotangent dy: dy of each window divided by the number of its pixels, at each of these pixels.
/// Adjoint: avg_pool2d(dx).
struct avg_pool2d_image : pooling<avg_pool2d_image, 1, true> {
  static constexpr char const* name = "avg_pool2d_image";
  template <class T> static constexpr void compute(whole_call const& c) {
    T const* const dy = c.operand[0].data<T>();
    T* const dx = c.result.data<T>();
    detail::stencil const z = window(c);
    clear<T>(c);
    detail::for_windows(z, [&](detail::window_taps const& w, std::int64_t k, std::int64_t from) {
      detail::spread_mean<T>(
          w, dy[from], [&](std::int64_t p) { return dx[p + k]; },
          [&](std::int64_t p, T v) { dx[p + k] = v; });
    });
  }
  static constexpr void adjoint(adjoint_rule& r) {
    r.give(0, detail::pooling_of<avg_pool2d>({r.dy()}, detail::stencil_numbers::of(r)));
  }
  static constexpr void tangent(tangent_rule& r) {
    r.give(detail::pooling_of<avg_pool2d_image>({r.dx()}, detail::stencil_numbers::of(r)));
  }
};

constexpr void max_pool2d::adjoint(adjoint_rule& r) {
  r.give(0, detail::pooling_of<max_pool2d_image>({r.dy(), r.x()}, detail::stencil_numbers::of(r)));
}
constexpr void max_pool2d::tangent(tangent_rule& r) {
  r.give(detail::pooling_of<max_pool2d_tangent>({r.dx(), r.x()}, detail::stencil_numbers::of(r)));
}
constexpr void max_pool2d_image::adjoint(adjoint_rule& r) {
  if (r.wanted(0))
    r.give(0, detail::pooling_of<max_pool2d_tangent>({r.dy(), r.x(1)}, detail::stencil_numbers::of(r)));
}
constexpr void avg_pool2d::adjoint(adjoint_rule& r) {
  r.give(0, detail::pooling_of<avg_pool2d_image>({r.dy()}, detail::stencil_numbers::of(r)));
}

} // namespace op

namespace detail {
using pooling_operations =
    operations<op::max_pool2d, op::max_pool2d_image, op::max_pool2d_tangent, op::avg_pool2d,
               op::avg_pool2d_image>;
} // namespace detail

/// Options of a pooling: `{.window = 3, .stride = 2, .padding = 1}`. One number sets both axes.
struct pooling {
  two window = 2;
  two stride = 0;       // equal to `window` if omitted: adjacent windows
  two padding = 0;      // rows above and columns to the left that do not count
  two padding_end = -1; // the same below and to the right; equal to `padding` if omitted

  constexpr bool operator==(pooling const&) const = default;
};

namespace extend {

template <class Op> constexpr term pool2d(term x, pooling const& how) {
  using n = detail::stencil_numbers;
  dimensions const d = x.dims();
  bool const images = d.rank == 3 || d.rank == 4;
  two const stride = how.stride == two(0) ? how.window : how.stride;
  return detail::pooling_of<Op>(
      {x},
      n{{stride.height, stride.width, how.padding.height, how.padding.width,
         how.padding_end.height == -1 ? how.padding.height : how.padding_end.height,
         how.padding_end.width == -1 ? how.padding.width : how.padding_end.width, 1, 1, 1, how.window.height,
         how.window.width, images ? d.size[d.rank - 3] : 1, images ? d.size[d.rank - 2] : 1}});
}
constexpr term max_pool2d(term x, pooling const& how) { return pool2d<op::max_pool2d>(x, how); }
constexpr term avg_pool2d(term x, pooling const& how) { return pool2d<op::avg_pool2d>(x, how); }

} // namespace extend
} // namespace cotangent

#endif
