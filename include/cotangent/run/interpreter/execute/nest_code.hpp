// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_NEST_CODE_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_NEST_CODE_HPP

#include <cotangent/kernels/ordered_sums.hpp>
#include <cotangent/run/interpreter/execute/operands.hpp>

#include <cstdint>

// The executable form of a nest of a plan: rows of lanes, in stages that each end in reductions of rows.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// A value of each row, repeated for every element of the row, or over one register for the segments that read it.
struct row_spread {
  address from;
  tile_operand to;
  std::int32_t bytes = 0; // of an element
  bool is_register = false;
};

/// A reduction of a stage: of each row, over all rows for each position of a row, or to totals.
struct nest_sum {
  kernels::row_sums_kernel rows = nullptr;
  kernels::reduce_kernel columns = nullptr;
  kernels::column_products_kernel products = nullptr;
  kernels::total_sums_kernel add = nullptr;
  kernels::total_begin_kernel begin = nullptr; // of totals, and of columns
  kernels::total_end_kernel end = nullptr;
  tile_operand x, y;
  address to, state;
  std::int32_t bytes = 0; // of an element
  std::int32_t width = 1, chains = 1, copies = 1; // see kernels::row_sums
  bool single = false, of_rows = false;           // `of_rows`: the operand has one value for each row
  bool is_in_segment = false;                     // a segment adds the operand to the state, which has `chains` registers for each row
  kernels::total_sums totals;
};

/// The inner loops of a nest between two reductions of its rows.
struct nest_stage {
  struct lane_code {
    range fills, spreads, work, drains, sums;
  };
  range row_fills, row_work, row_drains, row_sums; // of row values
  lane_code whole, rest;
  range sum_drains; // of the results of `sums`
};

/// Rows of lanes, tile by tile: whole rows, or parts of one row.
struct nest_code {
  std::int64_t rows = 1, lanes = 1;
  std::int64_t tile_rows = 1, tile_lanes = 1; // above 1 row: a tile has whole rows
  std::int64_t whole_rows = 1, whole_lanes = 1; // in whole packs
  range once_fills, once_work, tile_fills;
  range stages;
  range totals; // all sums over rows, in `nest_sums`
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
