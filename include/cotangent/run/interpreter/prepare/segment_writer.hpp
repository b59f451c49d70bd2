// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENT_WRITER_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENT_WRITER_HPP

#include <cotangent/run/interpreter/prepare/tile_units.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// The segment that is being written: its steps, and the memory that they read and write. `Units`: those of a step
/// (`tile_units`), or of a stage of a nest (`nest_units`).
template <class Units> class segment_writer {
  Units& t_;
  /// The entry of a value, valid in the segment of that stamp.
  struct known {
    std::int32_t stamp = 0, entry = 0;
  };
  array<known> of_outer_, of_unit_;
  array<std::int32_t> free_; // entries of blocks of dead values
  std::int32_t stamp_ = 0;

public:
  static constexpr std::int32_t unplaced = -1;
  int first = 0, end = 0; // units
  std::int32_t type = 0;
  array<segment_entry> moving, still; // a non-negative entry is an index into `moving`, else -1 - an index into `still`
  std::int64_t line_bytes = 0;        // of the blocks of memory, the most of all segments

  explicit segment_writer(Units& units) : t_(units) {}

  void begin(int first_unit, int end_unit) {
    first = first_unit;
    end = end_unit;
    type = t_.type[first];
    moving.clear();
    still.clear();
    free_.clear();
    ++stamp_;
  }

  int count_of(int u) const { return t_.units[u].count; }
  /// True for a mask that is stored as bools.
  bool is_bytes(int u, int k) const {
    return t_.operand_type(u, k) == element::boolean && t_.source(u, k) < first;
  }
  bool is_fixed(int u, int k) const {
    std::int32_t const from = t_.source(u, k);
    return from < 0 && (t_.outers[-1 - from].fixed || t_.of_row(-1 - from));
  }

  void push(kernels::threaded_kernel run, std::int32_t x = 0, std::int32_t y = 0, std::int32_t to = 0) {
    t_.program.threaded.push(
        {run, static_cast<std::int16_t>(x), static_cast<std::int16_t>(y), static_cast<std::int16_t>(to)});
  }

  std::int32_t add(tile_operand const& where, element e, bool reads, bool writes) {
    auto const bytes = static_cast<std::int32_t>(size_of(e));
    return moving.push({where, bytes, bytes * static_cast<std::int32_t>(kernels::block_bytes / (type == 1 ? 8 : 4)), 0, reads, writes});
  }
  /// A register for each row.
  std::int32_t add_of_row(tile_operand const& where, element e) {
    return moving.push({where, static_cast<std::int32_t>(size_of(e)), 0, static_cast<std::int32_t>(simd::bytes), true, false});
  }
  /// The partial results of unit u, a reduction.
  std::int32_t add_state(int u) {
    auto const& of = t_.units[u];
    return of.state_step == 0 ? add_still(of.state) : moving.push({of.state, 0, 0, of.state_step, true, true});
  }
  std::int32_t add_still(tile_operand const& where) { return -1 - still.push({where, 0, 0, 0, false, false}); }
  /// Allocates a block of memory for a value of this segment.
  std::int32_t block_of_memory() {
    if (!free_.empty()) return free_.pop();
    std::int64_t used =
        0; // with a line between two blocks: stores at equal page offsets stall each other
    for (segment_entry const& e : still) used += e.at.base == unplaced ? kernels::block_bytes + 64 : 0;
    if (line_bytes < used + kernels::block_bytes) line_bytes = used + kernels::block_bytes;
    return add_still({unplaced, 0, used});
  }

  std::int32_t entry_of(int u, int k) {
    std::int32_t const from = t_.source(u, k);
    array<known>& list = from < 0 ? of_outer_ : of_unit_;
    std::int32_t const which = from < 0 ? -1 - from : from;
    if (list.size() <= which) list.resize(which + 1);
    if (list[which].stamp == stamp_) return list[which].entry;
    element const e = t_.operand_type(u, k);
    std::int32_t const made = from >= 0                ? add(t_.results[from], e, true, false)
                              : t_.outers[which].fixed ? add_still(t_.outers[which].operand)
                              : t_.of_row(which)       ? add_of_row(t_.outers[which].operand, e)
                                                       : add(t_.outers[which].operand, e, true, false);
    list[which] = {stamp_, made};
    return made;
  }
  void stands_at(int u, std::int32_t entry) {
    if (of_unit_.size() <= u) of_unit_.resize(u + 1);
    of_unit_[u] = {stamp_, entry};
  }
  /// True if the value is in memory: of an earlier unit or of none, or stored by this segment.
  bool is_in_memory(std::int32_t v) const {
    return v < first || (v < of_unit_.size() && of_unit_[v].stamp == stamp_);
  }
  /// Frees the block of memory of a dead value; it has none if it is stored for units outside.
  void free_block(std::int32_t v) {
    if (!is_in_memory(v) || of_unit_[v].entry >= 0) return;
    free_.push(of_unit_[v].entry);
    of_unit_[v].stamp = 0;
  }

  /// The kernels of unit u with operand `block` in the block, and the operands that they read from memory.
  threaded_pair kernels_of(int u, int block, int* others) const {
    threaded_set const& s = *t_.kernels().find(t_.op_of(u))->threaded[type];
    int count = 0;
    for (int k = 0; k < count_of(u); ++k)
      if (k != block) others[count++] = k;
    bool const chooses = t_.operand_type(u, 0) == element::boolean;
    // A second factor, or the first operand of a commutative operation, uses the kernel for the other
    // position.
    int const place = s.at[block][0].run == nullptr ? 0 : block;
    if (count == 2 && place == 2 && !chooses && is_fixed(u, others[1]) && !is_fixed(u, others[0])) {
      int const kept = others[0];
      others[0] = others[1];
      others[1] = kept;
    }
    unsigned fixed = 0;
    for (int k = 0; k < count; ++k) fixed |= is_fixed(u, others[k]) ? 1u << k : 0;
    return s.at[place][fixed];
  }

  /// The entry of a result that is read outside the segment.
  std::int32_t result_of(int u, bool whole) {
    if (!t_.stands(u, whole)) {
      t_.slots[u] = t_.take();
      t_.results[u] = t_.slot(t_.slots[u]);
    } else t_.results[u] = t_.final_place(u);
    return add(t_.results[u], t_.result_type(u), false, true);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
