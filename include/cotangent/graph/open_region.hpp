// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_OPEN_REGION_HPP
#define COTANGENT_GRAPH_OPEN_REGION_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/graph/graph.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A tensor of the region around the body of a loop, whose row `offset` + i iteration i reads; the input for that row.
struct read_by_row {
  symbol from = none;
  std::int64_t offset = 0;
  symbol row = none;
  bool checked = false; // the number of iterations is known at run time only
};

/// A region of a loop or branch under construction.
struct open_region {
  std::int32_t region = none;
  array<symbol> inputs;               // its own
  array<symbol> captured;             // the input for each of the captures, or `none`
  array<symbol>* captures = nullptr;  // values of the region around it, listed once for all regions of a loop or branch
  int settled = 0;                    // the number of captures when the region was opened
  array<symbol> sources, copies;      // values without operands of the region around it, and those computed again
  open_region* around = nullptr;      // the next one outwards
  symbol limit = none;                // of a body of a traced loop: the first number that iterations do not have
  bool runs_all = false;              // that loop has no condition
  array<read_by_row> rows;            // what that body reads row by row: its last inputs

  /// Drops the symbols from `first` on, and captures that no region uses afterwards.
  constexpr void forget(symbol first) {
    for (symbol& t : captured)
      if (t >= first) t = none;
    while (captures->size() > settled && (captured.size() < captures->size() || captured.back() == none)) {
      if (captured.size() == captures->size()) (void)captured.pop();
      (void)captures->pop();
    }
    while (!rows.empty() && rows.back().row >= first) {
      (void)rows.pop();
      (void)inputs.pop();
    }
    while (!copies.empty() && copies.back() >= first) {
      (void)copies.pop();
      (void)sources.pop();
    }
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
