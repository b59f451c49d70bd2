// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENTS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENTS_HPP

#include <cotangent/run/interpreter/prepare/blocks.hpp>

#include <cstdint>

// Units that cost less than their loads and stores are fused to segments: the result of one unit is the block
// that the next one reads. A result is stored only if a later unit reads it. With kernels on three blocks, a
// value with a near use stays in one of them.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

template <class Units> class segment_emit : block_emit<Units> {
  using parts = segment_parts<Units>;
  using parts::count_of, parts::block_of_memory, parts::end_, parts::entry_of, parts::first_, parts::free_,
      parts::is_bytes, parts::is_fixed, parts::line_bytes_, parts::moving_,
      parts::kernels_of, parts::of_unit_, parts::push, parts::result_of, parts::stamp_, parts::staging_bytes_,
      parts::stands_at, parts::still_, parts::t_, parts::type_, parts::unplaced;

public:
  explicit segment_emit(Units& units) : block_emit<Units>(units) {}

  /// The end of the units from u on that fit one segment; u if it has no threaded kernel.
  int end_of(int u) const {
#if defined(__OPTIMIZE__) || defined(__clang__)
    constexpr int most_steps = 400;
#else // without tail calls all steps of a segment are on the stack at once
    constexpr int most_steps = 96;
#endif
    int const first = u;
    for (int steps = 2, entries = 0;
         u < t_.units.size() && t_.type[u] != none && t_.type[u] == t_.type[first]; ++u) {
      steps += 1 + (previous(u, first) ? 0 : 1) + (t_.last[u] > u + 1 || t_.is_read_outside(u) ? 1 : 0);
      entries += t_.units[u].count + 2;
      if (u > first && (steps > most_steps || entries > segment::most_entries)) break;
    }
    return u;
  }

  /// True if a segment of `units` units is faster. A partial block is copied, and is as slow as a full one.
  bool is_worth(int units, int first, std::int64_t elements) const {
    return units > (elements >= kernels::block_bytes / (t_.type[first] == 1 ? 8 : 4) ? 1 : 5);
  }

  /// Emits units first <= u < end. `whole`: results of the program may be written to their final location.
  void emit(int first, int end, bool whole) {
    first_ = first;
    end_ = end;
    type_ = t_.type[first];
    moving_.clear();
    still_.clear();
    free_.clear();
    ++stamp_;
    segment s;
    s.steps.first = t_.program.threaded.size();
    s.block = static_cast<std::int32_t>(kernels::block_bytes / (type_ == 1 ? 8 : 4));
    if (t_.kernels().blocks.run[type_] != nullptr && end - first > 2) this->emit_in_blocks(whole);
    else {
      find_stored();
      for (int u = first; u < end; ++u) emit_unit(u, whole);
    }
    push(&kernels::threaded_end);
    s.steps.count = t_.program.threaded.size() - s.steps.first;
    for (int k = s.steps.first; k < t_.program.threaded.size(); ++k) {
      kernels::threaded_step& step = t_.program.threaded[k];
      for (std::int16_t* const e : {&step.x, &step.y, &step.to})
        if (*e < 0) *e = static_cast<std::int16_t>(moving_.size() - 1 - *e);
    }
    s.entries = {t_.program.entries.size(), moving_.size() + still_.size()};
    s.moving = moving_.size();
    for (segment_entry const& e : moving_)
      if (e.row_step != 0) s.blocks_of_row = static_cast<std::int32_t>(t_.row_length() / s.block);
    s.distances = t_.program.distances.size();
    for (segment_entry const& e : moving_) t_.program.distances.push(e.step);
    for (segment_entry const& e : moving_)
      if (s.blocks_of_row > 0) t_.program.distances.push(e.step + e.row_step);
    s.fetches = s.steps.count > 8 && bytes_moved() > cache_bytes;
    for (segment_entry const& e : moving_) t_.program.entries.push(e);
    for (segment_entry const& e : still_) t_.program.entries.push(e);
    bool const full = t_.elements % s.block == 0 && t_.tile_elements % s.block == 0; // every block is full
    std::int64_t const staged = full ? 0 : kernels::block_bytes * s.moving;
    if (staging_bytes_ < staged) staging_bytes_ = staged;
    release(first, end);
    tile_work w;
    w.first = t_.program.segments.push(s);
    t_.program.work.push(w);
  }

  /// The scratch bytes of all segments; `place` sets their offset.
  std::int64_t bytes() const noexcept { return line_bytes_ + staging_bytes_; }
  void place(std::int64_t offset) {
    for (segment_entry& e : t_.program.entries)
      if (e.at.base == unplaced) {
        e.at.base = base::scratch;
        e.at.offset += offset;
      }
    for (segment& s : t_.program.segments) s.staging = offset + line_bytes_;
  }

private:
  // by unit of the segment: the last unit that reads it from memory, none if no unit does
  array<std::int32_t> read_until_;

  /// From this size on, memory is slower than a segment of a few steps. Prefetching data that is already in
  /// the L2 cache costs a tenth of the segment's time.
  static constexpr std::int64_t cache_bytes = std::int64_t{2} << 20;
  std::int64_t bytes_moved() const {
    std::int64_t each = 0;
    for (segment_entry const& e : moving_) each += e.at.base == base::scratch ? 0 : e.bytes;
    return each * t_.elements;
  }
  /// True if unit u reads the result of the previous unit.
  bool previous(int u, int first) const {
    for (int k = 0; u > first && k < count_of(u); ++k)
      if (t_.source(u, k) == u - 1) return true;
    return false;
  }

  /// The operand of unit u that is in the block.
  int operand_in_block(int u) const {
    if (is_bytes(u, 0)) return 0;
    for (int k = 0; u > first_ && k < count_of(u); ++k)
      if (t_.source(u, k) == u - 1) return k;
    if (t_.operand_type(u, 0) == element::boolean) return 0;
    for (int k = 0; k < count_of(u); ++k)
      if (!is_fixed(u, k)) return k;
    return 0;
  }

  void find_stored() {
    read_until_.assign(end_ - first_, none);
    for (int u = first_; u < end_; ++u) {
      int const block = operand_in_block(u);
      for (int k = 0; k < count_of(u); ++k)
        if (std::int32_t const from = t_.source(u, k); from >= first_ && !(k == block && from == u - 1))
          read_until_[from - first_] = u;
    }
  }

  void emit_unit(int u, bool whole) {
    int const block = operand_in_block(u);
    if (is_bytes(u, block)) push(t_.kernels().load_mask[type_], entry_of(u, block));
    else if (u == first_ || t_.source(u, block) != u - 1)
      push(t_.kernels().load[is_fixed(u, block) ? 1 : 0], entry_of(u, block));
    int others[2]{-1, -1};
    threaded_pair const run = kernels_of(u, block, others);
    std::int32_t const x = others[0] >= 0 ? entry_of(u, others[0]) : 0,
                       y = others[1] >= 0 ? entry_of(u, others[1]) : 0;
    for (int k = 0; k < count_of(u); ++k) { // the last read of a block of memory frees it
      std::int32_t const source = t_.source(u, k);
      if (source < first_ || read_until_[source - first_] != u || of_unit_[source].entry >= 0) continue;
      free_.push(of_unit_[source].entry);
      read_until_[source - first_] = none;
    }
    bool const mask = t_.result_type(u) == element::boolean, far = t_.last[u] >= end_ || t_.is_read_outside(u);
    bool const near = read_until_[u - first_] != none && !(far && !mask);
    t_.slots[u] = none;
    std::int32_t const far_entry = far ? result_of(u, whole) : 0, near_entry = near ? block_of_memory() : 0;
    if (near) stands_at(u, near_entry);
    else if (far && !mask) stands_at(u, far_entry);
    bool const stored = run.stored != nullptr && !mask && (far || near);
    push(stored ? run.stored : run.run, x, y, near ? near_entry : far_entry);
    if (far && mask) push(t_.kernels().store_mask[type_], 0, 0, far_entry);
    if ((near || (far && !mask)) && !stored)
      push(&kernels::threaded_store, 0, 0, near ? near_entry : far_entry);
  }

  /// Frees slots of the tile only after the segment has run: before, elements of another size would have
  /// another stride.
  void release(int first, int end) {
    for (int u = first; u < end; ++u)
      for (int k = 0; k < count_of(u); ++k)
        if (std::int32_t const from = t_.source(u, k); from < first) t_.release(from, end - 1);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
