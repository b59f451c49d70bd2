// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_FROZEN_PLAN_HPP
#define COTANGENT_RUN_FROZEN_PLAN_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/transform/layout.hpp>

namespace cotangent {

struct plan_capacity {
  int instances = 0, operands = 0, accesses = 0, kernel_accesses = 0, buffers = 0, slots = 0, nests = 0, lists = 0,
      row_slots = 0, windows = 0, derived = 0, results = 0;

  static constexpr plan_capacity of(plan const& p) noexcept {
    return {p.instances.size(), p.operands.size(), p.accesses.size(), p.kernel_accesses.size(),
            p.buffers.size(),   p.slots.size(),    p.nests.size(),    p.lists.size(),
            p.row_slots.size(), p.windows.size(),  p.derived.size(),  p.results.size()};
  }
  constexpr bool holds(plan_capacity const& c) const noexcept {
    return instances >= c.instances && operands >= c.operands && accesses >= c.accesses &&
           kernel_accesses >= c.kernel_accesses && buffers >= c.buffers && slots >= c.slots && nests >= c.nests &&
           lists >= c.lists && row_slots >= c.row_slots && windows >= c.windows && derived >= c.derived &&
           results >= c.results;
  }
  /// Room for the plan of most graphs of that size.
  static constexpr plan_capacity guess(graph_view const& g) noexcept {
    int const n = g.node_count + g.input_count() + g.output_count();
    return {2 * n + 16, 3 * n + 16, 2 * n + 16, n + 8, n + 8, n + 8, n + 4, 6 * n + 16, n + 4, n + 1, 16, g.output_count()};
  }
};

/// A plan as a literal.
template <plan_capacity C> struct frozen_plan {
  detail::pool<instance, C.instances> instances;
  detail::pool<std::int32_t, C.operands> operands;
  detail::pool<access, C.accesses> accesses;
  detail::pool<std::int32_t, C.kernel_accesses> kernel_accesses;
  detail::pool<buffer, C.buffers> buffers;
  detail::pool<slot, C.slots> slots;
  detail::pool<nest, C.nests> nests;
  detail::pool<std::int32_t, C.lists> lists;
  detail::pool<row_slot, C.row_slots> row_slots;
  detail::pool<window, C.windows> windows;
  detail::pool<derived_size, C.derived> derived;
  detail::pool<std::int32_t, C.results> results;
  plan_capacity size;
  std::int32_t known_sizes = 0;
};

namespace detail {

template <plan_capacity C> constexpr frozen_plan<C> freeze_plan(plan const& p) {
  frozen_plan<C> f;
  f.size = plan_capacity::of(p);
  f.known_sizes = p.known_sizes;
  if (!C.holds(f.size)) return f;
  fill(f.instances, p.instances.data(), p.instances.size());
  fill(f.operands, p.operands.data(), p.operands.size());
  fill(f.accesses, p.accesses.data(), p.accesses.size());
  fill(f.kernel_accesses, p.kernel_accesses.data(), p.kernel_accesses.size());
  fill(f.buffers, p.buffers.data(), p.buffers.size());
  fill(f.slots, p.slots.data(), p.slots.size());
  fill(f.nests, p.nests.data(), p.nests.size());
  fill(f.lists, p.lists.data(), p.lists.size());
  fill(f.row_slots, p.row_slots.data(), p.row_slots.size());
  fill(f.windows, p.windows.data(), p.windows.size());
  fill(f.derived, p.derived.data(), p.derived.size());
  fill(f.results, p.results.data(), p.results.size());
  return f;
}

template <class Stage, int VectorBytes, plan_capacity C> struct planned_with {
  static constexpr frozen_plan<C> value = freeze_plan<C>(make_plan(Stage::view, VectorBytes));
};

} // namespace detail

/// The plan of the graph that `Stage::view` is, frozen: evaluated once where the guess has room for it.
template <class Stage, int VectorBytes> struct planned {
  static constexpr plan_capacity guess = plan_capacity::guess(Stage::view);
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (guess.holds(detail::planned_with<Stage, VectorBytes, guess>::value.size))
      return detail::planned_with<Stage, VectorBytes, guess>::value;
    else
      return detail::planned_with<Stage, VectorBytes, detail::planned_with<Stage, VectorBytes, guess>::value.size>::value;
  }();
};

} // namespace cotangent

#endif
