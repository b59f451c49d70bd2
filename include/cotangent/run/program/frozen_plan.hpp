// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_PLAN_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_PLAN_HPP

#include <cotangent/plan/layout.hpp>
#include <cotangent/run/program/frozen_classes.hpp>

namespace cotangent::detail {

struct plan_capacity {
  int instances = 0, operands = 0, accesses = 0, kernel_accesses = 0, buffers = 0, slots = 0, nests = 0, lists = 0,
      row_slots = 0, windows = 0, derived = 0, results = 0, forms = 0;

  static constexpr plan_capacity of(plan const& p) noexcept {
    return {p.instances.size(), p.operands.size(), p.accesses.size(), p.kernel_accesses.size(),
            p.buffers.size(),   p.slots.size(),    p.nests.size(),    p.lists.size(),
            p.row_slots.size(), p.windows.size(),  p.derived.size(),  p.results.size(),  p.forms.size()};
  }
  constexpr bool holds(plan_capacity const& c) const noexcept {
    return instances >= c.instances && operands >= c.operands && accesses >= c.accesses &&
           kernel_accesses >= c.kernel_accesses && buffers >= c.buffers && slots >= c.slots && nests >= c.nests &&
           lists >= c.lists && row_slots >= c.row_slots && windows >= c.windows && derived >= c.derived &&
           results >= c.results && forms >= c.forms;
  }
  /// Room enough for the plan of most graphs with such nodes.
  static constexpr plan_capacity guess(graph_view const& g) noexcept {
    int const n = g.node_count + g.input_count() + g.output_count();
    int pads = 0, kernels = n / 16 + 8, kernel_accesses = n / 4 + 16;
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      operation_kind const kind = g.nodes[i].op->kind;
      if (kind == operation_kind::pad) ++pads;
      else if (kind == operation_kind::matmul || kind >= operation_kind::concatenate) {
        ++kernels;
        kernel_accesses += g.nodes[i].operand_count + g.nodes[i].result_count;
      }
    }
    return {n + n / 2 + 16, 2 * n + 16,       n + kernel_accesses, kernel_accesses, n + 8,           0,
            kernels + n / 4, 0,                n / 4 + 8,           pads + 2,        16, g.output_count(),  0};
  }
  /// The capacity after layout, from the size of the schedule.
  static constexpr plan_capacity laid_out(plan_capacity c) noexcept {
    c.buffers += c.row_slots;
    c.slots = c.buffers;
    // two for each stage; a nest has at most as many stages as instances
    c.lists = 4 * c.nests + 2 * c.instances;
    c.forms = c.nests + c.instances;
    c.derived += 8;
    return c;
  }
};

/// A plan as a constant.
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
  detail::pool<stage_form, C.forms> forms;
  plan_capacity size;
  std::int32_t known_sizes = 0;
};

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
  fill(f.forms, p.forms.data(), p.forms.size());
  return f;
}

/// Restores the plan that holds a schedule.
template <plan_capacity C> constexpr plan thaw_schedule(frozen_plan<C> const& f) {
  plan p;
  p.instances = thaw(f.instances, f.size.instances);
  p.operands = thaw(f.operands, f.size.operands);
  p.accesses = thaw(f.accesses, f.size.accesses);
  p.kernel_accesses = thaw(f.kernel_accesses, f.size.kernel_accesses);
  p.buffers = thaw(f.buffers, f.size.buffers);
  p.nests = thaw(f.nests, f.size.nests);
  p.row_slots = thaw(f.row_slots, f.size.row_slots);
  p.windows = thaw(f.windows, f.size.windows);
  p.derived = thaw(f.derived, f.size.derived);
  p.results = thaw(f.results, f.size.results);
  p.known_sizes = f.known_sizes;
  return p;
}

/// Freezes the plan that `Make::make()` builds: evaluated once if the guess has room for it.
template <class Make, plan_capacity C> struct frozen_plan_with {
  static constexpr frozen_plan<C> value = freeze_plan<C>(Make::make());
};
template <class Make, plan_capacity Guess> struct frozen_plan_of {
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (Guess.holds(frozen_plan_with<Make, Guess>::value.size))
      return frozen_plan_with<Make, Guess>::value;
    else
      return frozen_plan_with<Make, frozen_plan_with<Make, Guess>::value.size>::value;
  }();
};

/// The plan of the graph `Stage::view`. Four constant evaluations, so that each stays within a compiler's
/// limit.
template <class Stage, int VectorBytes> struct planned {
  struct schedule {
    static constexpr plan make() {
      graph_view g = Stage::view; // a variable: see frozen
      return make_schedule(g, detail::classes_of<Stage>::fused());
    }
  };
  using scheduled = detail::frozen_plan_of<schedule, plan_capacity::guess(Stage::view)>;
  struct layout {
    static constexpr plan make() {
      graph_view g = Stage::view;
      return make_plan(g, detail::thaw_schedule(scheduled::value), VectorBytes);
    }
  };
  static constexpr auto const& value =
      detail::frozen_plan_of<layout, plan_capacity::laid_out(scheduled::value.size)>::value;
};

} // namespace cotangent::detail

#endif
