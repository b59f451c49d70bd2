// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_DEPENDENCE_GROUPS_HPP
#define COTANGENT_TRANSFORM_BATCH_DEPENDENCE_GROUPS_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/batch/dependence.hpp>

#include <cstdint>

// Lists of groups of elements that depend on an input: groups that occur twice are dropped, and too many are joined.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

inline constexpr int usual_groups = 64; // enough for formulas; more is slow in constant evaluations

/// An axis that every element of the result reads. False if there are too many.
constexpr bool release(dependence& d, std::int64_t count, std::int64_t stride) {
  if (count <= 1 || stride == 0) return true;
  if (d.free == dependence::most_free) return false;
  d.free_count[d.free] = count;
  d.free_stride[d.free++] = stride;
  return true;
}
/// Drops groups that occur twice.
constexpr void unite(array<dependence>& all) {
  if (all.size() <= usual_groups) return;
  sort(all.data(), all.size(), [](dependence const& x, dependence const& y) { return x.precedes(y); });
  int n = 1;
  for (int k = 1; k < all.size(); ++k)
    if (!(all[k] == all[n - 1])) all[n++] = all[k];
  all.resize(n);
}
/// The smallest range of inputs that the group depends on.
struct input_range {
  std::int64_t position, low, high; // `position`: along the first axis of the value
};
constexpr input_range inputs_of(dependence const& d) {
  input_range r{d.first[0], d.base, d.base};
  auto const extend_by = [&](std::int64_t count, std::int64_t stride) {
    if (count > 1) (stride < 0 ? r.low : r.high) += (count - 1) * stride;
  };
  for (int a = 1; a < max_rank; ++a) extend_by(d.count[a], d.stride[a]);
  for (int k = 0; k < d.free; ++k) extend_by(d.free_count[k], d.free_stride[k]);
  return r;
}
/// Where each position along the first axis has many groups, as the entries of one matrix for each observation: those of a
/// position whose inputs overlap or are neighbors become one group, in which all its elements depend on all these inputs.
constexpr void coarsen(array<dependence>& all, dimensions const& shape) {
  if (shape.rank == 0 || all.size() <= 4096 || all.size() / 8 <= shape.size[0]) return;
  array<input_range> ranges;
  array<dependence> kept;
  for (dependence const& d : all)
    if (d.count[0] == 1) ranges.push(inputs_of(d));
    else kept.push(d);
  sort(ranges.data(), ranges.size(), [](input_range const& x, input_range const& y) {
    return x.position != y.position ? x.position < y.position : x.low < y.low;
  });
  for (int k = 0; k < ranges.size();) {
    input_range r = ranges[k++];
    for (; k < ranges.size() && ranges[k].position == r.position && ranges[k].low <= r.high + 1; ++k)
      if (ranges[k].high > r.high) r.high = ranges[k].high;
    dependence d;
    d.set(0, r.position, 1, 1, 0);
    for (int a = 1; a < shape.rank; ++a) d.set(a, 0, 1, shape.size[a], 0);
    d.base = r.low;
    (void)release(d, r.high - r.low + 1, 1);
    kept.push(d);
  }
  if (kept.size() <= all.size() / 2) all = static_cast<array<dependence>&&>(kept);
}
/// Lets each group cover the axes behind the first, as the entries of one matrix for each observation: all of them then depend on
/// its inputs.
constexpr void widen(array<dependence>& all, dimensions const& shape) {
  for (dependence& d : all)
    for (int a = 1; a < shape.rank; ++a)
      if (release(d, d.count[a], d.stride[a])) d.set(a, 0, 1, shape.size[a], 0);
  unite(all);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
