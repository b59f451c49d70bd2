// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONVOLUTION_HPP
#define COTANGENT_OPS_CONVOLUTION_HPP

#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/stencil.hpp>

// Convolution in two dimensions and its two adjoints. For an image x, weights w and a result y, the form
//
//     sum over windows p, taps t, channels c, results o:   x[pixel(p, t), c] w[t, c, o] y[p, o]
//
// is linear in each of the three. The operations here are its derivatives by y, x and w. The adjoint of each
// therefore consists of the other two, to any order.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(line_rank, is, axes_needed, axes_given, "cotangent: conv1d: a line must have the axes [width, channels] or [lines, width, channels], and weights [width, channels, results]")
COTANGENT_REFUSAL(convolution_weights, is, rank_of_weights, four, "cotangent: conv2d: weights must have the axes [height, width, channels, results]")
COTANGENT_REFUSAL(convolution_channels, equal, channels_of_image, channels_of_weights_times_groups, "cotangent: conv2d: the channels of the image must equal those of the weights times the groups")
COTANGENT_REFUSAL(convolution_groups, divides, groups_given, results_of_weights, "cotangent: conv2d: the groups must divide the results, and both must be numbers where there are several groups")
COTANGENT_REFUSAL(transposed_padding, at_most, padding_given, padding_for_an_empty_image, "cotangent: conv_transpose2d: the padding must not be larger than the image without it")
COTANGENT_REFUSAL(transposed_channels, equal, channels_of_x, channels_of_weights, "cotangent: conv_transpose: the channels of x must equal the last axis of the weights, which are [height, width, results, channels] or [width, results, channels]")
COTANGENT_REFUSAL(convolution_size, equal, extent_of_weights, extent_of_the_window, "cotangent: conv2d: the height and the width of the weights must be those of the window")
// clang-format on
} // namespace refusals

namespace detail {

/// A sum in the order of the matrix product: chains of 128 terms, whose sums are added in order.
template <class T> struct chained_sum {
  static constexpr std::int64_t chain = 128;
  T total{}, sum{};
  std::int64_t count = 0;

  constexpr void add(T a, T b) {
    if (count > 0 && count % chain == 0) {
      total = count == chain ? sum : static_cast<T>(total + sum);
      sum = T{};
    }
    sum = math::fma(a, b, sum);
    ++count;
  }
  constexpr T value() const { return count <= chain ? sum : static_cast<T>(total + sum); }
};

/// The sizes of one convolution, the same for each of the three operations.
struct convolution_sizes {
  stencil window;
  std::int64_t groups = 1, channels = 0, results = 0; // of one group

  /// The operands of `call` are x and w, dy and w, or x and dy.
  static constexpr convolution_sizes of(whole_call const& call, whole_tensor const& image,
                                        whole_tensor const& result) {
    stencil_numbers const n = stencil_numbers::of(call.attribute);
    convolution_sizes s;
    s.window = n.on(image);
    s.groups = n[stencil_numbers::groups];
    s.channels = s.window.channels / s.groups;
    s.results = result.size[result.rank - 1] / s.groups;
    return s;
  }
  constexpr std::int64_t all_results() const noexcept { return groups * results; }
  /// The number of terms of one element of the result.
  constexpr std::int64_t terms() const noexcept { return window.taps() * channels; }
};

template <class T>
constexpr void convolve(convolution_sizes const& s, T const* x, T const* w, T* y) {
  stencil const& z = s.window;
  stencil_position at;
  for (std::int64_t p = 0; p < z.positions(); ++p, at.next(z))
    for (std::int64_t o = 0; o < s.all_results(); ++o) {
      std::int64_t const from = o / s.results * s.channels;
      chained_sum<T> sum;
      for (std::int64_t i = 0, k = 0; i < z.tall; ++i)
        for (std::int64_t j = 0; j < z.wide; ++j) {
          std::int64_t const r = z.row(at.row, i), c = z.column(at.column, j);
          bool const inside = r >= 0 && r < z.height && c >= 0 && c < z.width;
          T const* const pixel = inside ? x + z.pixel(at.image, r, c) + from : nullptr;
          for (std::int64_t h = 0; h < s.channels; ++h, ++k)
            sum.add(inside ? pixel[h] : T{}, w[k * s.all_results() + o]);
        }
      y[p * s.all_results() + o] = sum.value();
    }
}
template <class T>
constexpr void convolve_image(convolution_sizes const& s, T const* y, T const* w, T* x) {
  stencil const& z = s.window;
  bool const plain = z.is_plain();
  for (std::int64_t k = 0; k < z.images * z.height * z.width * z.channels; ++k) x[k] = T{};
  stencil_position at;
  for (std::int64_t p = 0; p < z.positions(); ++p, at.next(z)) {
    stencil::range const down = z.rows_inside(at.row), across = z.columns_inside(at.column);
    for (std::int64_t i = down.first; i < down.end; ++i)
      for (std::int64_t j = across.first; j < across.end; ++j)
        for (std::int64_t c = 0; c < z.channels; ++c) {
          std::int64_t const group = c / s.channels, k = (i * z.wide + j) * s.channels + c % s.channels;
          chained_sum<T> sum;
          for (std::int64_t o = group * s.results; o < (group + 1) * s.results; ++o)
            sum.add(y[p * s.all_results() + o], w[k * s.all_results() + o]);
          T& to = x[z.pixel(at.image, z.row(at.row, i), z.column(at.column, j)) + c];
          to = plain ? sum.value() : static_cast<T>(to + sum.value());
        }
  }
}
template <class T>
constexpr void convolve_weight(convolution_sizes const& s, T const* x, T const* y, T* w) {
  stencil const& z = s.window;
  for (std::int64_t i = 0, k = 0; i < z.tall; ++i)
    for (std::int64_t j = 0; j < z.wide; ++j)
      for (std::int64_t h = 0; h < s.channels; ++h, ++k)
        for (std::int64_t o = 0; o < s.all_results(); ++o) {
          chained_sum<T> sum;
          stencil_position at;
          for (std::int64_t p = 0; p < z.positions(); ++p, at.next(z)) {
            std::int64_t const r = z.row(at.row, i), c = z.column(at.column, j);
            bool const inside = r >= 0 && r < z.height && c >= 0 && c < z.width;
            sum.add(inside ? x[z.pixel(at.image, r, c) + o / s.results * s.channels + h] : T{},
                    y[p * s.all_results() + o]);
          }
          w[k * s.all_results() + o] = sum.value();
        }
}

/// True if weights of these sizes fit an image of `channels` channels; else the failure is recorded.
constexpr bool weights_fit(inference& r, dimensions const& w, dimension channels) {
  stencil_numbers const n = stencil_numbers::of(r.attribute);
  dimension const groups = n[stencil_numbers::groups];
  if (w.rank != 4) return r.refuse<refusals::convolution_weights>(w.rank, 4), false;
  if (w.size[0] != n[stencil_numbers::tall])
    return r.refuse<refusals::convolution_size>(w.size[0], n[stencil_numbers::tall]), false;
  if (w.size[1] != n[stencil_numbers::wide])
    return r.refuse<refusals::convolution_size>(w.size[1], n[stencil_numbers::wide]), false;
  if (groups != 1 && (w.size[2] < 0 || w.size[3] < 0 || w.size[3] % groups != 0))
    return r.refuse<refusals::convolution_groups>(groups, w.size[3]), false;
  if (groups == 1 ? channels != w.size[2] : channels != w.size[2] * groups)
    return r.refuse<refusals::convolution_channels>(channels, groups == 1 ? w.size[2] : w.size[2] * groups),
           false;
  return true;
}

/// [rows, ..., channels] as [..., rows channels].
constexpr term rows_to_channels(term x) { return extend::merge_axes(extend::move_axis(x, 0, x.rank() - 2), x.rank() - 2); }

template <class Op> constexpr term convolution_of(term a, term b, stencil_numbers const& n) {
  symbol const ids[]{a.id, b.id};
  return {a.b, a.b->push(info_of<Op>(), ids, 2, n.value, stencil_numbers::count, a.b->place)};
}

} // namespace detail

namespace op {

struct conv2d_image;
struct conv2d_weight;

/// The common base of the three: two operands, linear in each.
template <class Self> struct convolution : detail::stencil_operation<Self, 2> {
  static constexpr float cost = 100;
  static constexpr void tangent(tangent_rule& r) {
    auto const n = detail::stencil_numbers::of(r);
    term const left = r.has(0) ? detail::convolution_of<Self>(r.dx(0), r.x(1), n) : term{};
    term const right = r.has(1) ? detail::convolution_of<Self>(r.x(0), r.dx(1), n) : term{};
    r.give(!right.present() ? left : !left.present() ? right : left + right);
  }
  /// Rows of images are one stack; rows of weights, and weights for each row, are groups of channels.
  static constexpr void batch(batch_rule& r) {
    constexpr bool weighs = Self::image == 2 || Self::outcome == 2;
    if (weighs && !r.has(1)) return detail::batch_images<Self>(r, 1);
    for (term const x : {r.x(0), r.x(1), r.y()})
      if (r.rows < 1 || x.dims().size[x.rank() - 1] < 0) return; // groups must be numbers
    auto n = detail::stencil_numbers::of(r);
    n[detail::stencil_numbers::groups] *= r.rows;
    term const a = r.every(0), b = r.every(1);
    term const y = detail::convolution_of<Self>(detail::rows_to_channels(a), detail::rows_to_channels(b), n);
    if (r.b.failed().why != nullptr) return;
    extend::dimensions d = r.y().dims();
    d.size[d.rank] = d.size[d.rank - 1];
    d.size[d.rank - 1] = r.rows;
    ++d.rank;
    r.give(extend::move_axis(op::reshape::of(y, r.b.shape(d)), d.rank - 2, 0));
  }
  /// `image` and `outcome` are the positions of x and y among the operands; 2 is the result.
  static constexpr detail::convolution_sizes sizes(whole_call const& c) {
    return detail::convolution_sizes::of(c, Self::image == 2 ? c.result : c.operand[Self::image],
                                         Self::outcome == 2 ? c.result : c.operand[Self::outcome]);
  }
  static constexpr double flops(extend::graph_view const& g, extend::node const& n) {
    extend::dimensions const& y = g.shape(Self::outcome == 2 ? g.result(n) : g.operand(n, Self::outcome));
    extend::dimensions const& w = g.shape(Self::image == 2     ? g.operand(n, 1)
                                  : Self::outcome == 2 ? g.operand(n, 1)
                                                       : g.result(n));
    double product = 2;
    for (int k = 0; k < y.rank; ++k) product *= y.size[k] < 0 ? 1. : static_cast<double>(y.size[k]);
    for (int k = 0; k < 3; ++k) product *= w.size[k] < 0 ? 1. : static_cast<double>(w.size[k]);
    return product;
  }
};

/// The convolution (cross-correlation) of an image x with weights w.
/// Shapes: x [n..., height, width, channels], w [tall, wide, channels / groups, results] -> [n..., rows, columns,
///   results], with rows = (height + above + below - (tall - 1) dilation - 1) / stride + 1.
/// Value: y[p, o] = sum of x[pixel(p, t), c] w[t, c, o] over taps t and channels c, in chains as in a matrix
/// product; the border is zero.
/// Adjoint: conv2d_image(dy, w), conv2d_weight(x, dy).
/// Cost: 2 n rows columns results terms, where terms = tall wide channels / groups.
struct conv2d : convolution<conv2d> {
  static constexpr char const* name = "conv2d";
  static constexpr int image = 0, outcome = 2;
  static constexpr void infer(inference& r) {
    if (!detail::stencil_fits(r, 0, false)) return;
    extend::dimensions const x = r.dims(0), w = r.dims(1);
    if (!detail::weights_fit(r, w, x.size[x.rank - 1])) return;
    auto const n = detail::stencil_numbers::of(r.attribute);
    r.result(r.type, detail::image_of(x, n.rows(), n.columns(), w.size[3]));
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    detail::convolve<T>(sizes(c), c.operand[0].data<T>(), c.operand[1].data<T>(), c.result.data<T>());
  }
  static constexpr void adjoint(adjoint_rule& r);
};

/// The adjoint of conv2d toward the image, from a cotangent dy and weights w: dy of each window, spread over
/// its taps.
/// Shapes: dy [n..., rows, columns, results], w [tall, wide, channels / groups, results] -> [n..., height, width, channels].
/// Adjoint: conv2d(dx, w), conv2d_weight(dx, dy).
struct conv2d_image : convolution<conv2d_image> {
  static constexpr char const* name = "conv2d_image";
  static constexpr int image = 2, outcome = 0;
  static constexpr void infer(inference& r) {
    if (!detail::stencil_fits(r, 0, true)) return;
    extend::dimensions const y = r.dims(0), w = r.dims(1);
    auto const n = detail::stencil_numbers::of(r.attribute);
    extend::dimension const groups = n[detail::stencil_numbers::groups];
    extend::dimension const channels = w.rank != 4 ? 0 : groups == 1 ? w.size[2] : w.size[2] * groups;
    if (!detail::weights_fit(r, w, channels)) return;
    if (w.size[3] != y.size[y.rank - 1])
      return r.refuse<refusals::stencil_result>(y.size[y.rank - 1], w.size[3]);
    r.result(r.type, detail::image_of(y, n[detail::stencil_numbers::height],
                                      n[detail::stencil_numbers::width], channels));
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    detail::convolve_image<T>(sizes(c), c.operand[0].data<T>(), c.operand[1].data<T>(), c.result.data<T>());
  }
  static constexpr void adjoint(adjoint_rule& r);
};

/// The adjoint of conv2d toward the weights, from an image x and a cotangent dy: for each tap and channel,
/// the sum over all windows of the pixel under the tap times dy.
/// Shapes: x [n..., height, width, channels], dy [n..., rows, columns, results] -> [tall, wide, channels / groups, results].
/// Adjoint: conv2d_image(dy, dw), conv2d(x, dw).
struct conv2d_weight : convolution<conv2d_weight> {
  static constexpr char const* name = "conv2d_weight";
  static constexpr int image = 0, outcome = 1;
  static constexpr void infer(inference& r) {
    if (!detail::stencil_fits(r, 0, false)) return;
    extend::dimensions const x = r.dims(0), y = r.dims(1);
    auto const n = detail::stencil_numbers::of(r.attribute);
    extend::dimension const groups = n[detail::stencil_numbers::groups], channels = x.size[x.rank - 1];
    if (y.rank != x.rank) return r.refuse<refusals::stencil_result>(y.rank, x.rank);
    extend::dimensions const wanted = detail::image_of(x, n.rows(), n.columns(), y.size[y.rank - 1]);
    for (int k = 0; k < y.rank; ++k)
      if (y.size[k] != wanted.size[k]) return r.refuse<refusals::stencil_result>(y.size[k], wanted.size[k]);
    if (groups != 1 && (channels < 0 || channels % groups != 0))
      return r.refuse<refusals::convolution_channels>(channels, groups);
    extend::dimensions w;
    w.rank = 4;
    w.size[0] = n[detail::stencil_numbers::tall];
    w.size[1] = n[detail::stencil_numbers::wide];
    w.size[2] = groups == 1 ? channels : channels / groups;
    w.size[3] = y.size[y.rank - 1];
    if (detail::weights_fit(r, w, channels)) r.result(r.type, w);
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    detail::convolve_weight<T>(sizes(c), c.operand[0].data<T>(), c.operand[1].data<T>(), c.result.data<T>());
  }
  static constexpr void adjoint(adjoint_rule& r) {
    auto const n = detail::stencil_numbers::of(r);
    if (r.wanted(0)) r.give(0, detail::convolution_of<conv2d_image>(r.x(1), r.dy(), n));
    if (r.wanted(1)) r.give(1, detail::convolution_of<conv2d>(r.x(0), r.dy(), n));
  }
};

constexpr void conv2d::adjoint(adjoint_rule& r) {
  auto const n = detail::stencil_numbers::of(r);
  if (r.wanted(0)) r.give(0, detail::convolution_of<conv2d_image>(r.dy(), r.x(1), n));
  if (r.wanted(1)) r.give(1, detail::convolution_of<conv2d_weight>(r.x(0), r.dy(), n));
}
constexpr void conv2d_image::adjoint(adjoint_rule& r) {
  auto const n = detail::stencil_numbers::of(r);
  if (r.wanted(0)) r.give(0, detail::convolution_of<conv2d>(r.dy(), r.x(1), n));
  if (r.wanted(1)) r.give(1, detail::convolution_of<conv2d_weight>(r.dy(), r.x(0), n));
}

} // namespace op

namespace detail {
using convolution_operations = operations<op::conv2d, op::conv2d_image, op::conv2d_weight>;
} // namespace detail

/// Options of a convolution: `{.stride = 2, .padding = {1, 0}}`. One number sets both axes.
struct convolution {
  two stride = 1;
  two padding = 0;      // rows above and columns to the left that are zero
  two padding_end = -1; // the same below and to the right; equal to `padding` if omitted
  two dilation = 1;     // the distance between taps
  int groups = 1;       // the number of independent parts of the channels and of the results

  constexpr bool operator==(convolution const&) const = default;
};

namespace extend {

constexpr term conv2d(term x, term w, convolution const& how) {
  using n = detail::stencil_numbers;
  dimensions const d = x.dims(), k = w.dims();
  bool const images = d.rank == 3 || d.rank == 4;
  return detail::convolution_of<op::conv2d>(
      x, w,
      n{{how.stride.height, how.stride.width, how.padding.height, how.padding.width,
         how.padding_end.height == -1 ? how.padding.height : how.padding_end.height,
         how.padding_end.width == -1 ? how.padding.width : how.padding_end.width, how.dilation.height,
         how.dilation.width, how.groups, k.rank == 4 ? k.size[0] : 1, k.rank == 4 ? k.size[1] : 1,
         images ? d.size[d.rank - 3] : 1, images ? d.size[d.rank - 2] : 1}});
}

/// The adjoint of `conv2d` toward its image, as a layer: x [n..., rows, columns, inputs], w [tall, wide, results / groups, inputs]. The image
/// is the smallest that has these rows and columns.
constexpr term conv_transpose2d(term x, term w, convolution const& how) {
  using n = detail::stencil_numbers;
  dimensions const d = x.dims(), k = w.dims();
  bool const images = d.rank == 3 || d.rank == 4;
  int const end_height = how.padding_end.height == -1 ? how.padding.height : how.padding_end.height;
  int const end_width = how.padding_end.width == -1 ? how.padding.width : how.padding_end.width;
  dimension least = 0, padding = 0; // the smallest extent below 0, and the padding that makes it so
  auto const size = [&](dimension count, int stride, int begin, int end, int dilation, dimension taps) {
    if (count < 0 || taps < 0) return count;
    dimension const extent = (count - 1) * stride - begin - end + dilation * (taps - 1) + 1;
    if (extent < least) least = extent, padding = begin + end;
    return extent;
  };
  dimension const tall = k.rank == 4 ? k.size[0] : 1, wide = k.rank == 4 ? k.size[1] : 1;
  dimension const height = size(images ? d.size[d.rank - 3] : 1, how.stride.height, how.padding.height, end_height, how.dilation.height, tall);
  dimension const width = size(images ? d.size[d.rank - 2] : 1, how.stride.width, how.padding.width, end_width, how.dilation.width, wide);
  if (least < 0 && x.b->failed().why == nullptr) return x.b->refuse<refusals::transposed_padding>(padding, padding + least, x.b->place), x;
  if (images && k.rank == 4 && d.size[d.rank - 1] != k.size[3] && x.b->failed().why == nullptr)
    return x.b->refuse<refusals::transposed_channels>(d.size[d.rank - 1], k.size[3], x.b->place), x;
  return detail::convolution_of<op::conv2d_image>(
      x, w,
      n{{how.stride.height, how.stride.width, how.padding.height, how.padding.width, end_height, end_width, how.dilation.height,
         how.dilation.width, how.groups, tall, wide, height, width}});
}
/// `layer(x, w)` of images of one row: x [n..., width, channels], w [wide, channels, results].
template <class Layer> constexpr term of_one_row(term x, term w, convolution how, Layer layer) {
  builder& b = *x.b;
  auto const with_row = [&](term t, int at) {
    dimensions const from = t.dims();
    dimensions d;
    d.rank = from.rank + 1;
    for (int k = 0; k < d.rank; ++k) d.size[k] = k == at ? 1 : from.size[k < at ? k : k - 1];
    return op::reshape::of(t, b.shape(d));
  };
  if (x.rank() < 2 || x.rank() > 3) return b.refuse<refusals::line_rank>(2, x.rank(), b.place), x;
  if (w.rank() != 3) return b.refuse<refusals::line_rank>(3, w.rank(), b.place), x;
  how.stride.height = how.dilation.height = 1;
  how.padding.height = how.padding_end.height = 0;
  term const y = layer(with_row(x, x.rank() - 2), with_row(w, 0), how);
  if (b.failed().why != nullptr) return x;
  dimensions d = y.dims();
  d.size[d.rank - 3] = d.size[d.rank - 2], d.size[d.rank - 2] = d.size[d.rank - 1];
  --d.rank;
  return op::reshape::of(y, b.shape(d));
}
constexpr term conv1d(term x, term w, convolution const& how) { return of_one_row(x, w, how, conv2d); }
constexpr term conv_transpose1d(term x, term w, convolution const& how) { return of_one_row(x, w, how, conv_transpose2d); }

} // namespace extend
} // namespace cotangent

#endif
