// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_STRAIGHT_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_STRAIGHT_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/plan/straight/straighten.hpp>

namespace cotangent::detail {

struct straight_capacity {
  int steps = 0, operands = 0, indices = 0;

  constexpr bool holds(straight_capacity const& c) const noexcept {
    return steps >= c.steps && operands >= c.operands && indices >= c.indices;
  }
};

/// Straight-line code as a constant.
template <straight_capacity C> struct frozen_straight {
  detail::pool<straight_step, C.steps> steps;
  detail::pool<straight_operand, C.operands> operands;
  detail::pool<std::int32_t, C.indices> indices;
  straight_counts counts[5];
  element widest = element::float32;
  straight_capacity size;
};

template <straight_capacity C> constexpr frozen_straight<C> freeze_straight(straight_program const& p) {
  frozen_straight<C> f;
  f.size = {p.steps.size(), p.operands.size(), p.indices.size()};
  f.widest = p.widest;
  for (int k = 0; k < 5; ++k) f.counts[k] = p.counts[k];
  if (!C.holds(f.size)) return f;
  fill(f.steps, p.steps.data(), p.steps.size());
  fill(f.operands, p.operands.data(), p.operands.size());
  fill(f.indices, p.indices.data(), p.indices.size());
  return f;
}
template <class Stage, int VectorBytes, straight_capacity C> struct straightened_with {
  static constexpr frozen_straight<C> value = freeze_straight<C>(straighten(Stage::view, VectorBytes));
};

/// The straight-line code of the graph `Stage::view`: evaluated once if the guess has room for it.
template <class Stage, int VectorBytes> struct straightened {
  static constexpr int size = estimate_straight(Stage::view, VectorBytes).steps;
  static constexpr straight_capacity guess{size + 24, 3 * size + 96, 2 * size + 128}; // enough for most
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (guess.holds(detail::straightened_with<Stage, VectorBytes, guess>::value.size))
      return detail::straightened_with<Stage, VectorBytes, guess>::value;
    else
      return detail::straightened_with<
          Stage, VectorBytes, detail::straightened_with<Stage, VectorBytes, guess>::value.size>::value;
  }();
};

} // namespace cotangent::detail

#endif
