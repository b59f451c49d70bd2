// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_STRAIGHT_STRAIGHT_HPP
#define COTANGENT_PLAN_STRAIGHT_STRAIGHT_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/graph/operation.hpp>

#include <cstdint>

// The form of a small program: a list of steps without loops. Each step computes one value, a number or a
// vector of lanes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

enum class straight_action : unsigned char {
  constant, // `bits`
  load,     // `count` elements of argument `index` from element `offset` on; the other lanes are zero
  build,    // each lane its own number
  shuffle,  // lanes of two vectors, selected by `indices`; -1: any value
  compute,  // an operation, lane by lane
  combine,  // two partial results of a reduction, lane by lane
  fold,     // the first `count` of `width` lanes to one number
  store,    // the first `count` lanes to result `index` from element `offset` on
};

/// An operand of a step: the value of an earlier step, or one of its lanes in all lanes.
struct straight_operand {
  std::int32_t step = none;
  std::int32_t lane = none; // none: the whole value

  friend constexpr bool operator==(straight_operand const&, straight_operand const&) = default;
};

struct straight_facts {
  straight_action what = straight_action::constant;
  element type = element::float32;
  std::int32_t lanes = 1; // of the value: a power of two; of a store: of the stored elements
  std::int32_t count = 1; // of the lanes that are needed
  std::int32_t width = 1;                    // of the operands of a shuffle or a fold
  std::int32_t place = 0;                    // of the value among those of its element type and lanes
  std::int32_t first = 0, operand_count = 0; // into operands
  std::int32_t first_index = 0;              // into indices
  std::int32_t index = none;
  std::int64_t offset = 0;
  std::int64_t bits = 0;
};
struct straight_step : straight_facts {
  operation const* op = nullptr;
};

/// The number of values of each element type.
struct straight_counts {
  int of[5]{};
};

/// A program as steps. Every load precedes every store, so results may alias anything except each other.
struct straight_program {
  array<straight_step> steps;
  array<straight_operand> operands;
  array<std::int32_t> indices;
  straight_counts counts[5]; // by the logarithm of the lanes: 1, 2, 4, 8, 16
  element widest = element::float32;
};

/// Programs with more steps than this run as loops, and so do those with a larger tensor. The Jacobian of a relative pose (6 x 12,
/// 2,114 steps) takes a sixth of the time of its loops, and no longer to compile. `lanes` limit the work of the compiler in one
/// constant evaluation, of which clang allows less: see `straight_estimate`.
#ifdef __clang__
inline constexpr int most_straight_steps = 1600;
inline constexpr std::int64_t most_straight_lanes = 32000;
#else
inline constexpr int most_straight_steps = 5000;
inline constexpr std::int64_t most_straight_lanes = 56000;
#endif
inline constexpr int most_straight_elements = 96;
/// Elementwise operations on whole tensors gain nothing from straight-line code: as one loop nest they are as fast, and compile in a
/// fraction of the time. Products, and values that are moved or reduced, each end a nest. The limit is `most_vectors_a_nest` vectors of
/// such operations for each of them, and a few more.
inline constexpr int most_vectors_a_nest = 32, least_vectors = 8;

inline constexpr int most_lanes = 16; // of four bytes in 64

constexpr int log_of(int lanes) noexcept {
  int k = 0;
  while (lanes > 1 << k) ++k;
  return k;
}

/// The number of elements of a tensor; -1 if it is unknown or large.
constexpr int elements_of(graph_view const& g, symbol t) noexcept {
  dimensions const& d = g.shape(t);
  dimension n = 1;
  for (int k = 0; k < d.rank; ++k) {
    if (d.size[k] < 0 || d.size[k] > most_straight_elements) return -1;
    if ((n *= d.size[k]) > most_straight_elements) return -1;
  }
  return static_cast<int>(n);
}

/// The lanes that the elements of a tensor are split into, `most` at a time.
struct lane_rule {
  element widest = element::float32;
  int most = 1, least = 1;

  constexpr lane_rule(graph_view const& g, int vector_bytes) noexcept {
    int wide = 0, narrow = 8;
    for (std::int32_t k = 0; k < g.tensor_count; ++k) {
      element const e = arithmetic_of(g.tensors[k].type);
      if (e == element::boolean) continue;
      int const bytes = static_cast<int>(size_of(e));
      if (bytes > wide) widest = e, wide = bytes;
      if (bytes < narrow) narrow = bytes;
    }
    if (wide == 0) wide = narrow = 4;
    most = vector_bytes / wide;
    least = 16 / narrow < most ? 16 / narrow : most;
  }
  /// The lanes of the next vector if `left` elements remain; 1 for the last one.
  constexpr int lanes(int left) const noexcept {
    if (left >= most) return most;
    if (left <= 1) return 1;
    int w = least;
    while (w < left) w *= 2;
    return w;
  }
  constexpr int vectors(int elements) const noexcept { return elements == 0 ? 0 : (elements - 1) / most + 1; }
};

/// Straight-line code of a graph, estimated.
struct straight_estimate {
  int steps = -1;         // -1: impossible: sizes are unknown or large, or elements are selected by index
  std::int64_t lanes = 0; // of all steps, each times the shuffles that it may come through: the compiler's work
  int wide = 0;           // the steps of elementwise operations on at least `least_vectors`
  int nests = least_nests; // about as many loop nests would compute the same

  static constexpr int least_nests = 8;

  constexpr void add(int times, int vectors, int elements) noexcept {
    steps += times * vectors;
    lanes += std::int64_t{times} * elements;
  }
};

/// For vectors of that many bytes. `formulas`: functions of whole tensors count if they have a formula, by which a pass replaces them.
constexpr straight_estimate estimate_straight(graph_view const& g, int vector_bytes, bool formulas = false) {
  if (g.region_count > 1 || g.node_count > 4 * most_straight_steps) return {};
  detail::lane_rule const rule(g, vector_bytes);
  straight_estimate all{0};
  for (std::int32_t k = 0; k < g.tensor_count; ++k)
    if (detail::elements_of(g, k) < 0 || g.tensors[k].base != none) return {};
  auto const add_whole = [&](symbol t) {
    int const elements = detail::elements_of(g, t);
    all.add(1, rule.vectors(elements), elements);
  };
  for (int k = 0; k < g.input_count(); ++k) add_whole(g.input(k));
  for (int k = 0; k < g.output_count(); ++k) add_whole(g.output(k));
  for (std::int32_t k = 0; k < g.node_count && all.steps <= most_straight_steps; ++k) {
    node const& n = g.nodes[k];
    if (n.result_count != 1) return {};
    int const elements = detail::elements_of(g, g.result(n)), vectors = rule.vectors(elements);
    switch (n.op->kind) {
    case operation_kind::elementwise: {
      int const times = n.op->cost > 8 ? 4 : 1;
      all.add(times, vectors, elements);
      if (vectors >= least_vectors) all.wide += times * vectors;
      break;
    }
    case operation_kind::reduction: {
      int const from = detail::elements_of(g, g.operand(n, 0));
      int const rows = elements <= 1 ? 0 : from / elements * vectors;
      all.nests += elements > 1 ? 1 : 0;
      all.add(2, elements <= 1 ? rule.vectors(from) : elements < rows ? elements : rows, from);
      break;
    }
    case operation_kind::matmul: {
      ++all.nests;
      all.add(3 * static_cast<int>(detail::product_sizes_of(g, n).k), vectors, elements);
      break;
    }
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::reshape:
    case operation_kind::identity: break;
    case operation_kind::broadcast:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::pad:
    case operation_kind::concatenate:
      if (elements > 1) all.add(1, vectors, elements);
      if (elements > 1 && detail::elements_of(g, g.operand(n, 0)) > 1) ++all.nests;
      break;
    case operation_kind::whole: {
      int const formula = !formulas || n.op->formula_steps == nullptr ? -1 : n.op->formula_steps(g, n);
      if (formula < 0) return {};
      ++all.nests;
      all.add(formula, 1, 1);
      break;
    }
    default: return {};
    }
  }
  all.lanes *= 1 + log_of(rule.most);
  return all;
}

/// True if this graph runs as straight-line code.
constexpr bool runs_straight(graph_view const& g, int vector_bytes, bool formulas = false) {
  straight_estimate const e = estimate_straight(g, vector_bytes, formulas);
  return e.steps >= 0 && e.steps <= most_straight_steps && e.lanes <= most_straight_lanes && e.wide <= most_vectors_a_nest * e.nests;
}

/// The same of the graph of a stage. It is asked twice: of the graph before simplification, which splits sums of products only
/// in loops, and of the graph that is planned.
template <class Stage, int VectorBytes>
inline constexpr bool is_straight_line = runs_straight(Stage::view, VectorBytes);

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
