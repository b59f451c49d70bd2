// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SYMBOL_PLAN_HPP
#define COTANGENT_PLAN_SYMBOL_PLAN_HPP

#include <cotangent/plan/plan.hpp>

#include <cstdint>

// The planner's knowledge of a symbol, of a shape, and of an operand.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The class of a symbol in the planner.
enum class place_kind : unsigned char {
  unused,
  argument,  // an input of the graph
  immediate, // constant, iota, size: computed where it is read
  alias,     // a view of stored memory
  repeated,  // a broadcast: read with stride 0
  lane,      // computed in the inner loop of its nest
  row,       // computed once for each row
  total,     // accumulated over rows: complete after its nest
  kernel,    // computed by a kernel
};

/// A shape without its axes of size 1.
struct domain {
  std::int32_t rank = 0;
  dimension size[max_rank]{};
  std::int32_t split = none;     // axes from it on are lanes; none: not required
  std::int32_t least_split = 0;  // below it the lanes would not be one axis for every operand
  std::int32_t row_split = none; // of its reductions over trailing axes
  std::int32_t column_split = none;
  bool total = false; // some reduction is over all axes
  std::int32_t host = none; // a slightly longer domain in whose nests it runs: its values are padded to that
  bool hosts = false;
  std::int32_t inside = none; // with a host: the window of its positions there
};

struct symbol_plan {
  place_kind kind = place_kind::unused;
  bool must_store = false;
  std::int32_t level = 0;
  std::int32_t ready = 0;  // the lowest level of a nest that can recompute it
  std::int32_t domain = 0; // of the nest that computes it
  std::int32_t stage = 0;  // from which on it is available
  std::int32_t made = 0;   // of a sum: the stage that computes it
  std::int32_t nest = none;
  std::int32_t view = none;   // of aliases and of values stored inside others, into views
  symbol home = none;         // the symbol whose memory holds it
  bool viewed = false;        // an alias views its memory
  std::int32_t demand = none; // head of a list
  std::int32_t buffer = none;
  float chain = 0;      // the cost of recomputing it from stored values, in additions
  symbol loaded = none; // the one stored value of a nest that recomputing it loads
};

/// Memory seen through an alias, axis by axis of the alias.
struct memory_view {
  symbol root = none;
  dimension offset = 0;
  dimension stride[max_rank]{};
};

/// An operand in the nest that reads it: `base` after following broadcasts.
struct resolved {
  symbol base = none;
  bool repeats = false;     // a broadcast is in between
  bool direct = true;       // the base's axes are the first axes of the nest, in order
  std::int32_t axis[max_rank]{}; // with `repeats`: the nest axis of the base's k-th axis, none for size 1
};

/// Strides, sizes and classes: the knowledge about a graph before nests are formed.
struct classification {
  array<domain> domains;
  array<std::int32_t> domain_of;      // by shape
  array<std::int32_t> nest_domain_of; // by shape: of the nests that compute it
  array<symbol_plan> at;              // by symbol
  array<memory_view> views;
  array<resolved> repeats; // of broadcasts
  array<symbol> results;   // for each output: the symbol whose memory it is
  array<window> windows;
  array<derived_size> derived;
  bool has_pads = false, hosted = false;
};

/// A read of a symbol: by instance operand `operand` in one stage of a nest.
struct demand {
  std::int32_t nest = 0, stage = 0;
  std::int32_t operand = none; // into plan::operands; none for kernels
  std::int32_t access = none;  // the load of it; none: it is available in the same nest
  std::int32_t axis = none;    // of positions; of loads: the window in which they may read
  bool again = false;          // may be recomputed in the reader's nest
  std::int32_t next = none;
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
