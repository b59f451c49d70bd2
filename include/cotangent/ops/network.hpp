// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_NETWORK_HPP
#define COTANGENT_OPS_NETWORK_HPP

#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/functions/special.hpp>

// Further formulas of neural networks: gelu, binary cross-entropy, batch_take and split.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(batch_take_shape, equal, extent_of_operand, extent_of_indices, "cotangent: batch_take: the indices must have the shape of the operand without its last axis")
COTANGENT_REFUSAL(split_parts, divides, number_of_parts, extent_that_is_split, "cotangent: split: the number of parts must divide the extent of the axis, which must be a number")
COTANGENT_REFUSAL(split_sizes, equal, sum_of_sizes, extent_that_is_split, "cotangent: split: the sizes must be at least 0 and add up to the extent of the axis")
// clang-format on
} // namespace refusals

namespace extend {

/// x times the probability that a standard normal number is less than x. That probability is 0 below -40,
/// where x is clamped, so that -infinity gives 0.
constexpr term gelu(term x) { return select(x > -40, x, constant_like(x, -40)) * apply<op::normal_cdf>(x); }

/// The loss of the probability sigmoid(z) against a target t in [0, 1], without overflow and without
/// cancellation if both are near 0 or 1. Adjoint toward z: dy (sigmoid(z) - t); toward t: -dy z.
constexpr term binary_cross_entropy_with_logits(term z, term t) {
  return t * apply<op::softplus>(-z) + (1 - t) * apply<op::softplus>(z);
}

/// The element of each row of the last axis that an index selects. An index out of range selects nothing,
/// which gives 0; the run reports it if it comes from an argument.
constexpr term batch_take(term x, term indices) {
  builder& b = *x.b;
  dimensions const from = x.dims(), at = indices.dims();
  if (!detail::is_index(indices.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), x;
  if (from.rank == 0) return b.refuse<refusals::batch_take_shape>(0, at.rank + 1, b.place), x;
  if (at.rank + 1 != from.rank)
    return b.refuse<refusals::batch_take_shape>(from.rank - 1, at.rank, b.place), x;
  for (int k = 0; k < at.rank; ++k)
    if (from.size[k] != at.size[k])
      return b.refuse<refusals::batch_take_shape>(from.size[k], at.size[k], b.place), x;
  term const known = detail::push(info_of<op::label>(), {indices}, {from.size[at.rank]});
  return sum(select(hits(known, from.size[at.rank]), x, constant_like(x, 0)), 1u << at.rank);
}

/// `count` positions of an axis from `start` on. Precondition: the bounds were checked.
constexpr term part(term x, int axis, dimension start, dimension count) {
  dimensions d = x.dims();
  if (start == 0 && d.size[axis] == count) return x;
  std::int64_t window[2 * max_rank]{};
  for (int k = 0; k < d.rank; ++k) window[2 * k + 1] = 1;
  window[2 * axis] = start;
  d.size[axis] = count;
  return op::slice::of(x, window, x.b->shape(d));
}
/// Part `k` of an axis split into `parts` equal ones.
constexpr term split(term x, int axis, std::int64_t parts, std::int64_t k) {
  dimension const n = x.dims().size[axis];
  if (parts < 1 || n < 0 || n % parts != 0)
    return x.b->refuse<refusals::split_parts>(parts < 0 ? 0 : parts, n, x.b->place), x;
  return part(x, axis, k * (n / parts), n / parts);
}
/// Part `k` of an axis split into parts of these sizes.
constexpr term split(term x, int axis, std::int64_t const* sizes, int count, int k) {
  dimension sum = 0, start = 0;
  bool fits = true;
  for (int j = 0; j < count; ++j) {
    fits = fits && sizes[j] >= 0;
    if (j == k) start = sum;
    sum = cotangent::detail::capped_sum(sum, fits ? sizes[j] : 0);
  }
  if (!fits || count < 1 || sum != x.dims().size[axis])
    return x.b->refuse<refusals::split_sizes>(fits ? sum : 0, x.dims().size[axis], x.b->place), x;
  return part(x, axis, start, sizes[k]);
}

} // namespace extend
} // namespace cotangent

#endif
