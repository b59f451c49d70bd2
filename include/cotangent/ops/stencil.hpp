// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_STENCIL_HPP
#define COTANGENT_OPS_STENCIL_HPP

#include <cotangent/core/stencil.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/broadcast.hpp>

#include <cstdint>
#include <type_traits>

// The common part of convolutions and poolings: the attributes of their nodes, and shape inference.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(stencil_numbers, equal, numbers_given, numbers_of_a_window, "cotangent: a convolution or a pooling must have 13 numbers in its node")
COTANGENT_REFUSAL(stencil_rank, is, rank_of_image, three_or_four, "cotangent: an image must have the axes [height, width, channels] or [images, height, width, channels]")
COTANGENT_REFUSAL(stencil_extent, is, extent_of_image, a_number, "cotangent: the height and the width of an image, and of a window on it, must be numbers")
COTANGENT_REFUSAL(stencil_window, at_most, extent_of_window, extent_of_image_with_border, "cotangent: a window must fit into the image with its border")
COTANGENT_REFUSAL(stencil_step, at_least, number_given, smallest_allowed, "cotangent: the extents, the stride and the dilation of a window must be at least 1, and its padding at least 0")
COTANGENT_REFUSAL(stencil_large, at_most, number_given, largest_allowed, "cotangent: the extents of an image, and of a window on it, must be less than 2^31, and so must its stride, dilation and padding")
COTANGENT_REFUSAL(stencil_result, equal, extent_given, extent_computed, "cotangent: the cotangent of a convolution or a pooling must have the shape of its result")
// clang-format on
} // namespace refusals

/// A height and a width; a single number sets both.
struct two {
  int height = 0, width = 0;

  constexpr two() = default;
  constexpr two(int both) : height(both), width(both) {}
  constexpr two(int h, int w) : height(h), width(w) {}
  constexpr bool operator==(two const&) const = default;
};

namespace detail {

/// The attributes of convolutions and poolings.
struct stencil_numbers {
  enum at {
    step_down,
    step_right,
    above,
    left,
    below,
    right,
    spread_down,
    spread_right,
    groups,
    tall,
    wide,
    height,
    width
  };
  static constexpr int count = 13;
  static constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  std::int64_t value[count]{};

  constexpr std::int64_t& operator[](at k) noexcept { return value[k]; }
  constexpr std::int64_t operator[](at k) const noexcept { return value[k]; }
  static constexpr stencil_numbers of(std::int64_t const* from) noexcept {
    stencil_numbers n;
    for (int k = 0; k < count; ++k) n.value[k] = from[k];
    return n;
  }
  static constexpr stencil_numbers of(rule const& r) noexcept {
    return of(r.b.get().numbers.data() + r.at.attribute);
  }

  /// The number of windows along an axis of `size` pixels; -1 if none fits.
  static constexpr std::int64_t windows(std::int64_t size, std::int64_t before, std::int64_t after,
                                        std::int64_t taps, std::int64_t spread, std::int64_t step) noexcept {
    std::int64_t const last = size + before + after - (taps - 1) * spread - 1;
    return last < 0 ? -1 : last / step + 1;
  }
  constexpr std::int64_t rows() const noexcept {
    return windows(value[height], value[above], value[below], value[tall], value[spread_down],
                   value[step_down]);
  }
  constexpr std::int64_t columns() const noexcept {
    return windows(value[width], value[left], value[right], value[wide], value[spread_right],
                   value[step_right]);
  }
  /// The stencil on images shaped like `image`, of which only the number of images and the channels are read.
  constexpr stencil on(whole_tensor const& image) const noexcept {
    stencil s;
    s.images = image.rank == 4 ? image.size[0] : 1;
    s.height = value[height];
    s.width = value[width];
    s.channels = image.size[image.rank - 1];
    s.rows = rows();
    s.columns = columns();
    s.tall = value[tall];
    s.wide = value[wide];
    s.step_down = value[step_down];
    s.step_right = value[step_right];
    s.above = value[above];
    s.left = value[left];
    s.spread_down = value[spread_down];
    s.spread_right = value[spread_right];
    return s;
  }
};

/// The shape of an image with another height, width and number of channels.
constexpr dimensions image_of(dimensions const& like, dimension height, dimension width, dimension channels) {
  dimensions d = like;
  d.size[d.rank - 3] = height;
  d.size[d.rank - 2] = width;
  d.size[d.rank - 1] = channels;
  return d;
}

/// True if the attributes and the shapes of images are consistent; else the first mistake is recorded.
/// `image`: the position of the image operand, with the image's height and width or, if `result`, those of
/// the windows.
constexpr bool stencil_fits(inference& r, int image, bool result) {
  using n = stencil_numbers;
  auto const refuse = [&]<class Refusal>(std::type_identity<Refusal>, dimension a, dimension b) {
    r.refuse<Refusal>(a, b);
    return false;
  };
  r.like(image);
  if (!is_floating(r.type)) return refuse(std::type_identity<refusals::element_not_floating>{}, 0, 0);
  for (int k = 0; k < r.operand_count; ++k)
    if (r.tensor(k).type != r.type) return refuse(std::type_identity<refusals::elements_differ>{}, 0, 0);
  if (r.attribute_count != n::count)
    return refuse(std::type_identity<refusals::stencil_numbers>{}, r.attribute_count, n::count);
  dimensions const d = r.dims(image);
  if (d.rank != 3 && d.rank != 4) return refuse(std::type_identity<refusals::stencil_rank>{}, d.rank, 4);
  n const v = n::of(r.attribute);
  for (auto const k : {n::height, n::width, n::tall, n::wide})
    if (v[k] < 0)
      return refuse(std::type_identity<refusals::stencil_extent>{},
                    v[k] < -r.b.get().extents.size() ? 0 : v[k], 0);
  for (auto const k :
       {n::step_down, n::step_right, n::spread_down, n::spread_right, n::groups, n::tall, n::wide})
    if (v[k] < 1) return refuse(std::type_identity<refusals::stencil_step>{}, v[k] < 0 ? 0 : v[k], 1);
  for (auto const k : {n::above, n::left, n::below, n::right})
    if (v[k] < 0) return refuse(std::type_identity<refusals::stencil_step>{}, 0, 0);
  for (int k = 0; k < n::count; ++k) // (of files: products of two fit into 64 bits)
    if (v.value[k] > n::most) return refuse(std::type_identity<refusals::stencil_large>{}, v.value[k], n::most);
  if (v.rows() < 0)
    return refuse(std::type_identity<refusals::stencil_window>{}, (v[n::tall] - 1) * v[n::spread_down] + 1,
                  v[n::height] + v[n::above] + v[n::below]);
  if (v.columns() < 0)
    return refuse(std::type_identity<refusals::stencil_window>{}, (v[n::wide] - 1) * v[n::spread_right] + 1,
                  v[n::width] + v[n::left] + v[n::right]);
  dimension const down = result ? v.rows() : v[n::height], across = result ? v.columns() : v[n::width];
  if (d.size[d.rank - 3] != down)
    return refuse(std::type_identity<refusals::stencil_result>{}, d.size[d.rank - 3], down);
  if (d.size[d.rank - 2] != across)
    return refuse(std::type_identity<refusals::stencil_result>{}, d.size[d.rank - 2], across);
  return true;
}

/// An image operation on rows of images: all in one stack.
template <class Op> constexpr void batch_images(batch_rule& r, int images) {
  symbol ids[3]{};
  for (int k = 0; k < r.operand_count(); ++k) {
    ids[k] = r.x(k).id;
    if (k >= images) continue;
    dimensions d = r.x(k).dims();
    if (d.rank == 3) d = {4, {r.rows, d.size[0], d.size[1], d.size[2]}};
    else d.size[0] = r.b.product(r.rows, d.size[0]);
    ids[k] = op::reshape::of(r.every(k), r.b.shape(d)).id;
  }
  stencil_numbers const n = stencil_numbers::of(r);
  symbol const y = r.b.push(info_of<Op>(), ids, r.operand_count(), n.value, stencil_numbers::count, r.b.place);
  if (r.b.failed().why == nullptr) r.give(op::reshape::of({&r.b, y}, r.with_rows(r.y().shape_id())));
}

/// A function of whole tensors with one template `compute` over their element. The base class defines
/// `whole`, because the rules of `Self` emit the same operation and need it defined.
template <class Self, int Arity> struct stencil_operation : extend::primitive<operation_kind::whole, Arity> {
  static constexpr void whole(whole_call const& c) {
    if (c.result.type == element::float32) Self::template compute<float>(c);
    else Self::template compute<double>(c);
  }
};

} // namespace detail
} // namespace cotangent

#endif
