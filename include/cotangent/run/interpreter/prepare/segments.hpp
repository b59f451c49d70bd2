// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENTS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SEGMENTS_HPP

#include <cotangent/run/interpreter/prepare/blocks.hpp>

#include <cstdint>

// Units that cost less than their loads and stores are fused to segments: the result of one unit is the block
// that the next one reads. A result is stored only if a later unit reads it. With kernels on three blocks, a
// value with a near use stays in one of them.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

template <class Units> class segment_emit {
  Units& t_;
  segment_writer<Units> to_{t_};
  block_emit<Units> blocks_{t_, to_};
  std::int64_t staging_bytes_ = 0;

public:
  explicit segment_emit(Units& units) : t_(units) {}
  segment_emit(segment_emit const&) = delete; // its parts refer to each other
  segment_emit& operator=(segment_emit const&) = delete;

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

  /// The end of what runs together from u on: a segment, where these are faster or all are `cheap`, else one unit.
  int end_of(int u, bool cheap, std::int64_t elements, bool& together) const {
    int const end = end_of(u);
    together = end > u && (cheap || t_.needs_segment(u) || is_worth(end - u, u, elements));
    return together ? end : u + 1;
  }
  /// True if a segment of `units` units is faster. A partial block is copied, and is as slow as a full one.
  bool is_worth(int units, int first, std::int64_t elements) const {
    return units > (elements >= kernels::block_bytes / (t_.type[first] == 1 ? 8 : 4) ? 1 : 5);
  }

  /// Emits units first <= u < end. `whole`: results of the program may be written to their final location.
  void emit(int first, int end, bool whole) {
    to_.begin(first, end);
    segment s;
    s.steps.first = t_.program.threaded.size();
    s.block = static_cast<std::int32_t>(kernels::block_bytes / (to_.type == 1 ? 8 : 4));
    if (t_.kernels().blocks.run[to_.type] != nullptr && (end - first > 2 || reduces(first, end))) blocks_.emit(whole);
    else {
      find_stored();
      for (int u = first; u < end; ++u) emit_unit(u, whole);
    }
    to_.push(&kernels::threaded_end);
    s.steps.count = t_.program.threaded.size() - s.steps.first;
    for (int k = s.steps.first; k < t_.program.threaded.size(); ++k) {
      kernels::threaded_step& step = t_.program.threaded[k];
      for (std::int16_t* const e : {&step.x, &step.y, &step.to})
        if (*e < 0) *e = static_cast<std::int16_t>(to_.moving.size() - 1 - *e);
    }
    s.entries = {t_.program.entries.size(), to_.moving.size() + to_.still.size()};
    s.moving = to_.moving.size();
    for (segment_entry const& e : to_.moving)
      if (e.row_step != 0) s.blocks_of_row = static_cast<std::int32_t>(t_.row_length() / s.block);
    s.distances = t_.program.distances.size();
    for (segment_entry const& e : to_.moving) t_.program.distances.push(e.step);
    for (segment_entry const& e : to_.moving)
      if (s.blocks_of_row > 0) t_.program.distances.push(e.step + e.row_step);
    s.fetches = s.steps.count > 8 && bytes_moved() > cache_bytes;
    for (segment_entry const& e : to_.moving) t_.program.entries.push(e);
    for (segment_entry const& e : to_.still) t_.program.entries.push(e);
    bool const full = t_.elements % s.block == 0 && t_.tile_elements % s.block == 0; // every block is full
    std::int64_t const staged = full ? 0 : kernels::block_bytes * s.moving;
    if (staging_bytes_ < staged) staging_bytes_ = staged;
    release(first, end);
    tile_work w;
    w.first = t_.program.segments.push(s);
    t_.program.work.push(w);
  }

  /// The scratch bytes of all segments; `place` sets their offset.
  std::int64_t bytes() const noexcept { return to_.line_bytes + staging_bytes_; }
  void place(std::int64_t offset) {
    for (segment_entry& e : t_.program.entries)
      if (e.at.base == to_.unplaced) {
        e.at.base = base::scratch;
        e.at.offset += offset;
      }
    for (segment& s : t_.program.segments) s.staging = offset + to_.line_bytes;
  }

private:
  // by unit of the segment: the last unit that reads it from memory, none if no unit does
  array<std::int32_t> read_until_;

  /// From this size on, memory is slower than a segment of a few steps. Prefetching data that is already in
  /// the L2 cache costs a tenth of the segment's time.
  static constexpr std::int64_t cache_bytes = std::int64_t{2} << 20;
  std::int64_t bytes_moved() const {
    std::int64_t each = 0;
    for (segment_entry const& e : to_.moving) each += e.at.base == base::scratch ? 0 : e.bytes;
    return each * t_.elements;
  }
  bool reduces(int first, int end) const {
    for (int u = first; u < end; ++u)
      if (t_.reduces(u)) return true;
    return false;
  }
  /// True if unit u reads the result of the previous unit.
  bool previous(int u, int first) const {
    for (int k = 0; u > first && k < to_.count_of(u); ++k)
      if (t_.source(u, k) == u - 1) return true;
    return false;
  }

  /// The operand of unit u that is in the block.
  int operand_in_block(int u) const {
    if (to_.is_bytes(u, 0)) return 0;
    for (int k = 0; u > to_.first && k < to_.count_of(u); ++k)
      if (t_.source(u, k) == u - 1) return k;
    if (t_.operand_type(u, 0) == element::boolean) return 0;
    for (int k = 0; k < to_.count_of(u); ++k)
      if (!to_.is_fixed(u, k)) return k;
    return 0;
  }

  void find_stored() {
    read_until_.assign(to_.end - to_.first, none);
    for (int u = to_.first; u < to_.end; ++u) {
      int const block = operand_in_block(u);
      for (int k = 0; k < to_.count_of(u); ++k)
        if (std::int32_t const from = t_.source(u, k); from >= to_.first && !(k == block && from == u - 1))
          read_until_[from - to_.first] = u;
    }
  }

  void emit_unit(int u, bool whole) {
    int const block = operand_in_block(u);
    if (to_.is_bytes(u, block)) to_.push(t_.kernels().load_mask[to_.type], to_.entry_of(u, block));
    else if (u == to_.first || t_.source(u, block) != u - 1)
      to_.push(t_.kernels().load[to_.is_fixed(u, block) ? 1 : 0], to_.entry_of(u, block));
    int others[2]{-1, -1};
    threaded_pair const run = to_.kernels_of(u, block, others);
    std::int32_t const x = others[0] >= 0 ? to_.entry_of(u, others[0]) : 0,
                       y = others[1] >= 0 ? to_.entry_of(u, others[1]) : 0;
    for (int k = 0; k < to_.count_of(u); ++k) { // the last read of a block of memory frees it
      std::int32_t const source = t_.source(u, k);
      if (source < to_.first || read_until_[source - to_.first] != u) continue;
      to_.free_block(source);
      read_until_[source - to_.first] = none;
    }
    bool const mask = t_.result_type(u) == element::boolean, far = t_.last[u] >= to_.end || t_.is_read_outside(u);
    bool const near = read_until_[u - to_.first] != none && !(far && !mask);
    t_.slots[u] = none;
    std::int32_t const far_entry = far ? to_.result_of(u, whole) : 0, near_entry = near ? to_.block_of_memory() : 0;
    if (near) to_.stands_at(u, near_entry);
    else if (far && !mask) to_.stands_at(u, far_entry);
    bool const stored = run.stored != nullptr && !mask && (far || near);
    to_.push(stored ? run.stored : run.run, x, y, near ? near_entry : far_entry);
    if (far && mask) to_.push(t_.kernels().store_mask[to_.type], 0, 0, far_entry);
    if ((near || (far && !mask)) && !stored)
      to_.push(&kernels::threaded_store, 0, 0, near ? near_entry : far_entry);
  }

  /// Frees slots of the tile only after the segment has run: before, elements of another size would have
  /// another stride.
  void release(int first, int end) {
    for (int u = first; u < end; ++u)
      for (int k = 0; k < to_.count_of(u); ++k)
        if (std::int32_t const from = t_.source(u, k); from < first) t_.release(from, end - 1);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
