// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_OPERANDS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_OPERANDS_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/run/tape.hpp>

#include <cstdint>

// Addresses that are open until a run, and the state of a run.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Indices of the bases of addresses.
namespace base {
inline constexpr std::int32_t scratch = 0, constants = 1, roots = 2, first_argument = 3;
}

/// An address relative to a base (0 the workspace, 1 the interpreter's constants, then inputs, then outputs).
struct address {
  std::int32_t base = 0;
  std::int64_t offset = 0; // bytes
};

struct range {
  std::int32_t first = 0, count = 0;
};

/// The memory of a tile's elements.
struct tile_operand {
  std::int32_t base = 0;
  std::int32_t scale = 0; // bytes per element, 0 if every tile uses the same memory
  std::int64_t offset = 0;
  std::int64_t row = 0; // in nests: bytes per row beyond those of its elements
};

/// The first element of a tile, and in nests its row.
struct tile_start {
  std::int64_t element = 0, row = 0;
};

struct region_code;
struct program_data;

struct run_context {
  char** bases;
  region_code const* codes = nullptr; // of all sub-graphs
  tape_stack* record = nullptr;
  tape_stack* apart = nullptr; // for records that are freed before the region ends
  char* marks = nullptr;       // of `apart`
  status state = status::ok;
  std::int64_t moved = 0; // bytes of carried values that loops copied

  char* at(address const& a) const noexcept { return bases[a.base] + a.offset; }
  char* at(tile_operand const& o, tile_start const& s) const noexcept {
    return bases[o.base] + o.offset + s.element * o.scale + s.row * o.row;
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
