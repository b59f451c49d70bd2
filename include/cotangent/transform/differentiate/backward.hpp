// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/transform/differentiate/backward_control.hpp>
#include <cotangent/transform/differentiate/backward_sweep.hpp>

#include <cstdint>
#include <type_traits>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Appends to `b` the gradients of the outputs, weighted by the seeds, with respect to each `wrt`: one symbol
/// each in `result`, in the current region. Each `wrt` belongs to this region or, in a body under construction, all to one
/// around it, whose values the adjoints capture. Only nodes on a path from a `wrt` to an output get
/// adjoints. Contributions to one cotangent are summed once all are known, in the order of the reverse sweep.
/// Loops and branches on such a path get further results: the values that their adjoints read; with a tape
/// limit, loops rerun instead. Failures are recorded in the builder.
///
/// Outputs and each `wrt` may be views, inputs, or both. A result is a tensor, a view, or a tensor that nodes
/// assign in pieces; its unassigned elements are zero. The gradient with respect to an input is that of its
/// initial value: zero where a node writes it.
constexpr void gradient(builder& b, gradient_request const& r, symbol* result) {
  ordering order;
  bool views = false;
  for (tensor_symbol const& t : b.get().tensors) views = views || t.base != none;
  bool const stands = (!views && std::is_constant_evaluated()) || in_order(b.get());
  if (!stands) order = order_of(b.get());
  if (!order) return b.fail({why<refusals::order_cycle>(), {}, {}, order.cycle, b.get().nodes[order.cycle].where});
  detail::region_index const index(b.get(), stands ? nullptr : order.nodes.data());
  if (graph const& g = b.get(); g.regions.size() > 1) b.reserve(3 * g.tensors.size(), 3 * g.nodes.size(), 6 * g.ids.size());
  array<symbol> seeds(r.output_count);
  for (int k = 0; k < r.output_count; ++k) {
    symbol const y = r.outputs[k];
    seeds[k] = r.seeds == nullptr ? none : r.seeds[k];
    if (seeds[k] == none) {
      if (b.dims(y).rank != 0) return b.refuse<refusals::seed_missing>(b.dims(y).rank, 0, b.place);
      seeds[k] = extend::constant(b, b.tensor(y).type, b.tensor(y).shape, 1).id;
    } else if (b.tensor(seeds[k]).shape != b.tensor(y).shape)
      return b.refuse<refusals::seed_shape>(b.count(b.dims(seeds[k])), b.count(b.dims(y)), b.place);
  }
  gradient_request request = r;
  request.seeds = seeds.data();
  detail::tape_plan tape{r.tape, {}, {}, false};
  std::int32_t const home = r.walk.run == nullptr && r.wrt_count > 0 ? b.tensor(r.wrt[0]).region : b.region;
  bool const is_outside = home != b.region;
  if (is_outside && b.taken(r.wrt[0], b.open) == none) return b.refuse<refusals::region_leak>(r.wrt[0], b.region, b.place);
  detail::importer captures(b, b.open);
  detail::sweep_scope const scope{b, index, home, is_outside ? &captures : nullptr, detail::control_adjoint,
                                  tape.limited(b.get()) ? &tape : nullptr, r.sum};
  if (!(r.walk.run == nullptr ? detail::backward_sweep(scope, request).run(request, result)
                              : r.walk.run(r.walk.with, scope, request, result)))
    return;
  if (tape.disordered) b.reorder(order_of(b.get()).nodes);
  for (int k = 0; k < r.wrt_count; ++k) {
    if (result[k] != none) continue;
    if (r.policy == unreachable::error)
      return b.fail({why<refusals::unreachable_wrt>(), b.extent_of(k), {}, none, b.place});
    result[k] = extend::constant(b, b.tensor(r.wrt[k]).type, b.tensor(r.wrt[k]).shape, 0).id;
  }
}

} // namespace cotangent::detail

namespace cotangent::extend {
using detail::gradient;
using detail::gradient_request;
} // namespace cotangent::extend
COTANGENT_COLD_END

#endif
