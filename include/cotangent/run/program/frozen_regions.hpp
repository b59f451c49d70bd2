// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_REGIONS_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_REGIONS_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/plan/regions.hpp>

#include <cstdint>

namespace cotangent::detail {

/// Sub-graph `R` of the graph `Whole::view`, as a separate graph.
template <class Whole, std::int32_t R> struct region_stage {
  using whole = Whole;
  static constexpr built make() {
    graph_view g = Whole::view; // a variable: see frozen
    return {detail::region_graph(g, R, frozen_sequences<Whole>::value), {}};
  }

private:
  static constexpr capacity room() {
    graph_view const& g = Whole::view;
    capacity c{0, 0, g.input_count(R) + g.output_count(R), g.number_count, g.shape_count, g.extent_count, 1, g.name_count,
               g.block_count};
    for (symbol t = 0; t < g.tensor_count; ++t)
      if (g.tensors[t].region == R) {
        ++c.tensors;
        if (g.tensors[t].depth > 0) ++c.shapes;
      }
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].region == R) {
        ++c.nodes;
        c.ids += g.nodes[i].operand_count + g.nodes[i].result_count;
        if (g.nodes[i].op->kind == operation_kind::control) c.numbers += 3;
      }
    return c;
  }

public:
  static constexpr auto const& value = frozen<region_stage, room()>::value;
  static constexpr graph_view view = value;
};

template <class Stage> inline constexpr bool is_region_stage = false;
template <class Whole, std::int32_t R> inline constexpr bool is_region_stage<region_stage<Whole, R>> = true;

/// True if a graph has sequences of unknown length.
template <class Whole> inline constexpr bool has_growing_tape = frozen_sequences<Whole>::value.unbounded() != none;
/// True if a planned stage may allocate such sequences.
template <class Stage> inline constexpr bool stage_grows = false;
template <class Whole, std::int32_t R> inline constexpr bool stage_grows<region_stage<Whole, R>> = has_growing_tape<Whole>;

/// The stage that is planned: without loops, branches and sequences `Stage` itself, else the part of it outside of bodies.
template <class Stage> consteval auto find_planned_stage() {
  if constexpr (!is_region_stage<Stage> && has_control(Stage::view)) return std::type_identity<region_stage<Stage, 0>>{};
  else return std::type_identity<Stage>{};
}
template <class Stage> using planned_stage = typename decltype(find_planned_stage<Stage>())::type;

} // namespace cotangent::detail

#endif
