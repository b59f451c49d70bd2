// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_PLAN_HPP
#define COTANGENT_PLAN_PLAN_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>

// The plan of a program: its loop nests, and the memory of every value.
//
// A *nest* runs over the axes of one shape (its domain), without axes of size 1. Its rows are the outer axes,
// its lanes the inner axes, merged into one. A row has *stages*, one inner loop each: a reduction over the
// lanes ends a stage, and its result is a row value of the next. An *instance* is one value in one stage of
// one nest: a node, a copy of it if recomputation is cheaper than storing, or a load.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The frequency of an instance's evaluation in its nest.
enum class role : unsigned char { once, row, lane };

/// The action of an instance.
enum class action : unsigned char {
  constant,   // `bits`
  position,   // iota: the index along nest axis `detail`
  size,       // the product of the node's dimensions
  load,       // through `access`
  recall,     // from row buffer `detail`
  compute,    // `op` on the operands
  window,     // a pad: a load through `access` inside the window, zero outside
  shift,      // a pad: the operand at the position less the start of the window, zero outside
  pick,       // a load at the lane index that the operand, a row value, gives; zero if there is none
  reduce,     // over the lanes: a row value
  accumulate, // over rows too: to the memory of `access`, complete after the nest
};

struct instance_facts {
  action what = action::compute;
  role where = role::lane;
  element type = element::float32; // of its value
  std::int32_t nest = 0;
  std::int32_t stage = 0;
  std::int32_t first_operand = 0; // into plan::operands: instances
  std::int32_t operand_count = 0;
  std::int32_t access = none; // what a load reads, a compute stores to, or accumulate adds to
  std::int32_t slot = none;   // the row buffer that holds it
  std::int32_t detail = none; // by action; for a value in a part of the nest's lanes: that window
  std::int32_t place = 0;     // its index among the values of its type and role in its nest and stage
  std::int64_t bits = 0;
  symbol value = none;        // of the graph
  bool fused = false;         // of a sum: each product is added unrounded
};
struct instance : instance_facts {
  operation const* op = nullptr;
};

/// The memory access of an instance: a buffer, an offset, and a stride for each axis of the nest (0:
/// broadcast along it). Strides and offsets are dimensions: numbers, or derived sizes.
struct access {
  std::int32_t buffer = none;
  dimension offset = 0;
  dimension stride[max_rank]{};
};

/// The memory of a stored symbol: an argument, a result, or a part of the workspace.
enum class residence : unsigned char { argument, result, workspace };
struct buffer {
  residence where = residence::workspace;
  element type = element::float32;
  std::int32_t index = 0; // of the argument, of the result, of the slot
  dimension count = 0;    // in elements
  std::int32_t first_nest = 0, last_nest = 0;
};

/// A part of the workspace: `count` elements of `bytes` each, and its offset, if known.
struct slot {
  dimension count = 0;
  std::int32_t bytes = 0;
  std::int64_t offset = 0; // if all sizes are constants
};

enum class nest_kind : unsigned char { loops, kernel };

struct nest {
  nest_kind kind = nest_kind::loops;
  std::int32_t level = 0;
  std::int32_t rank = 0;  // of the domain
  std::int32_t split = 0; // axes before it are rows, from it on lanes
  dimension size[max_rank]{};
  std::int32_t stages = 1;
  std::int32_t first_instance = 0, instance_count = 0;
  std::int32_t first_list = 0; // into plan::lists: 2 stages + 2 offsets of (once, row 0, lane 0, row 1, ...)
  std::int32_t row_slots = 0;
  element widest = element::float32; // determines the number of lanes
  bool rows_in_lanes = false;
  std::int32_t block = 1; // rows whose row values are computed together
  std::int64_t lanes = 1; // the positions along the lanes, -1 if known only at the call
  std::int32_t width = 1; // positions in a vector of lanes: short rows use shorter vectors
  std::int32_t first_form = 0; // of its stages, into plan::forms
  bool single_pass = false;    // a row fits one vector: reductions need no accumulator
  bool pairs_blocks = false;   // full blocks 2 k and 2 k + 1 are interleaved, with totals of their own
  bool adds_rows = false;      // its lanes do nothing but load, multiply or add, and sum over rows
  std::int32_t panel = 0;      // if positive: the vectors whose sums over all rows are computed together, in registers
  std::int32_t node = none;   // of a kernel
  std::int32_t replaced = none, replacing = 0, replacements = 1; // of a kernel: results may replace operands: the first of each, their number
  std::int32_t domain = none; // of loops, during planning
};

/// The loop of a stage over the lanes.
struct stage_form {
  std::int8_t chains = 1;    // consecutive vectors of a row go to sums of their own, in turn
  std::int8_t rows = 1;      // rows of a block that are interleaved, vector by vector
  std::int8_t ahead = 1;     // consecutive vectors of a row that are interleaved, instance by instance: the order of sums is that of one
  bool whole_blocks = false; // all rows of a full block are interleaved
};

/// A row buffer: lanes of one type for `block` rows.
struct row_slot {
  element type = element::float32;
  std::int32_t buffer = none; // in the workspace, or the result that is stored at the last read
  bool exact = false;         // no padding behind the last position: a result
};

/// The part of a nest in which a window is nonzero: from `low` to below `high`, along each axis.
struct window {
  dimension low[max_rank]{};
  dimension high[max_rank]{};
};

/// A size computed at the call, from earlier sizes.
struct derived_size {
  dimension a = 0, b = 0;
  bool product = true; // else the sum
};

struct plan {
  array<instance> instances;
  array<std::int32_t> operands;
  array<access> accesses;
  array<std::int32_t> kernel_accesses; // operands, then results of kernels
  array<buffer> buffers;
  array<slot> slots;
  array<nest> nests; // in the order of execution
  array<stage_form> forms;
  array<std::int32_t> lists;
  array<row_slot> row_slots;
  array<window> windows;
  array<derived_size> derived;
  array<std::int32_t> results; // for each output: its buffer
  std::int32_t known_sizes = 0; // extents of the graph: derived size k is dimension -1 - (known_sizes + k)
};

/// (`std::max` would include <algorithm>, a tenth of a second in every build.)
template <class T> constexpr T larger(T a, T b) noexcept { return a < b ? b : a; }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
