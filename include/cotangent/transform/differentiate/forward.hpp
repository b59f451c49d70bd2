// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/transform/differentiate/forward_control.hpp>
#include <cotangent/transform/differentiate/forward_sweep.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Appends to `b` the tangents of the outputs, given those of each `wrt` in `seeds` (`none`: zero): one
/// symbol each in `result`, `none` if the tangent is always zero. Only nodes on a path from a `wrt` with a
/// seed to an output get tangents. Loops and branches on such a path compute them together with their values;
/// this may reorder nodes, but keeps symbols. Failures are recorded in the builder.
///
/// Refuses: a seed whose shape differs from its `wrt`; an operation without a derivative on such a path.
/// Cost: linear in the nodes between.
/// Checked: tests/static/forward.cpp, tests/runtime/forward.cpp, tests/runtime/control.cpp.
constexpr void tangents(builder& b, symbol const* wrt, symbol const* seeds, int wrt_count,
                        symbol const* outputs, int output_count, symbol* result) {
  for (int k = 0; k < output_count; ++k) result[k] = none;
  for (int k = 0; k < wrt_count; ++k)
    if (seeds[k] != none && b.tensor(seeds[k]).shape != b.tensor(wrt[k]).shape)
      return b.refuse<refusals::seed_shape>(b.count(b.dims(seeds[k])), b.count(b.dims(wrt[k])), b.place);
  for (int k = 0; k < wrt_count; ++k)
    if (b.tensor(wrt[k]).region != b.region)
      return b.refuse<refusals::region_leak>(wrt[k], b.region, b.place);
  bool const stands = b.owner == nullptr || in_order(b.get()); // (traced functions are in order)
  ordering const order = stands ? ordering{} : order_of(b.get());
  if (!order)
    return b.fail({why<refusals::order_cycle>(), {}, {}, order.cycle, b.get().nodes[order.cycle].where});
  detail::region_index const index(b.get(), stands ? nullptr : order.nodes.data());
  tangent_request const r{wrt, seeds, wrt_count, outputs, output_count};
  detail::forward_scope const scope{b, index, b.region, detail::control_tangent};
  if (!detail::forward_sweep(scope).run(r, result)) return;
  // a loop may read tangents that were appended after it (graphs at run time are ordered when they are compiled)
  if (b.owner == nullptr && b.get().regions.size() > 1 && !in_order(b.get()))
    b.reorder(order_of(b.get()).nodes);
}

} // namespace cotangent::detail

namespace cotangent::extend {
using detail::tangents;
} // namespace cotangent::extend
COTANGENT_COLD_END

#endif
