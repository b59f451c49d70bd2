// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_SEGMENTS_HPP
#define COTANGENT_RUN_INTERPRETER_SEGMENTS_HPP

#include <cotangent/run/interpreter_tile_units.hpp>

#include <cstdint>

// Units that cost less than their loads and stores become segments: the result of one is the block that the next one
// takes, and is stored only where another one reads it later.

namespace cotangent {
namespace detail::interpret {
inline namespace COTANGENT_ABI {

template <class Build> class segment_emit {
public:
  explicit segment_emit(tile_units<Build>& units) : t_(units) {}

  /// The end of the units from u on that one segment can hold; u where it has no threaded kernel.
  int end_of(int u) const {
#if defined(__OPTIMIZE__) || defined(__clang__)
    constexpr int most_steps = 400;
#else // a call is no jump: the steps of a segment stand on the stack together
    constexpr int most_steps = 96;
#endif
    int const first = u;
    for (int steps = 2, entries = 0;
         u < t_.units.size() && t_.type[u] != none && t_.type[u] == t_.type[first]; ++u) {
      steps += 1 + (previous(u, first) ? 0 : 1) + (t_.last[u] > u + 1 || is_read_outside(u) ? 1 : 0);
      entries += t_.units[u].count + 2;
      if (u > first && (steps > most_steps || entries > segment::most_entries)) break;
    }
    return u;
  }

  /// Whether so many units are worth a segment. A block that is not full is copied, and as slow as a full one.
  bool is_worth(int units, int first, std::int64_t elements) const {
    return units > (elements >= kernels::block_bytes / (t_.type[first] == 1 ? 8 : 4) ? 1 : 5);
  }

  /// Units first <= u < end. `whole`: results of the program may be written where they belong.
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
    find_stored();
    for (int u = first; u < end; ++u) emit_unit(u, whole);
    push(&kernels::threaded_end);
    s.steps.count = t_.program.threaded.size() - s.steps.first;
    for (int k = s.steps.first; k < t_.program.threaded.size(); ++k) {
      kernels::threaded_step& step = t_.program.threaded[k];
      for (std::int16_t* const e : {&step.x, &step.y, &step.to})
        if (*e < 0) *e = static_cast<std::int16_t>(moving_.size() - 1 - *e);
    }
    s.entries = {t_.program.entries.size(), moving_.size() + still_.size()};
    s.moving = moving_.size();
    for (segment_entry const& e : moving_) t_.program.entries.push(e);
    for (segment_entry const& e : still_) t_.program.entries.push(e);
    bool const full = t_.elements % s.block == 0 && t_.tile_elements % s.block == 0; // no block is not
    std::int64_t const staged = full ? 0 : kernels::block_bytes * s.moving;
    if (staging_bytes_ < staged) staging_bytes_ = staged;
    release(first, end);
    tile_work w;
    w.first = t_.program.segments.push(s);
    t_.program.work.push(w);
  }

  /// What all segments need of the scratch memory; `place` says where it is.
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
  static constexpr std::int32_t unplaced = -1;
  /// Which entry a value is, in the segment of that stamp.
  struct known {
    std::int32_t stamp = 0, entry = 0;
  };

  tile_units<Build>& t_;
  int first_ = 0, end_ = 0;
  std::int32_t type_ = 0, stamp_ = 0;
  array<segment_entry> moving_,
      still_; // an entry is its place among the moving ones, or -1 - that among the others
  array<known> of_outer_, of_unit_;
  array<std::int32_t> read_until_; // by unit of the segment: the last one that reads it from memory, none
  array<std::int32_t> free_;       // entries of blocks that nobody reads any more
  std::int32_t blocks_ = 0;
  std::int64_t line_bytes_ = 0, staging_bytes_ = 0;

  unit const& at(int u) const { return t_.units[u]; }
  bool is_read_outside(int u) const {
    return t_.p.roots[at(u).root].outside || at(u).drain >= 0 || at(u).sum >= 0;
  }
  /// Whether unit u takes the result of the one before.
  bool previous(int u, int first) const {
    for (int k = 0; u > first && k < at(u).count; ++k)
      if (t_.source(u, k) == u - 1) return true;
    return false;
  }
  /// A mask that stands in memory as bools.
  bool is_bytes(int u, int k) const {
    return t_.p.operand(at(u), k).type == element::boolean && t_.source(u, k) < first_;
  }
  bool is_fixed(int u, int k) const {
    std::int32_t const from = t_.source(u, k);
    return from < 0 && t_.outers[-1 - from].fixed;
  }

  /// The operand of unit u that the block is.
  int operand_in_block(int u) const {
    if (is_bytes(u, 0)) return 0;
    for (int k = 0; u > first_ && k < at(u).count; ++k)
      if (t_.source(u, k) == u - 1) return k;
    if (t_.p.operand(at(u), 0).type == element::boolean) return 0;
    for (int k = 0; k < at(u).count; ++k)
      if (!is_fixed(u, k)) return k;
    return 0;
  }

  void find_stored() {
    read_until_.assign(end_ - first_, none);
    for (int u = first_; u < end_; ++u) {
      int const block = operand_in_block(u);
      for (int k = 0; k < at(u).count; ++k)
        if (std::int32_t const from = t_.source(u, k); from >= first_ && !(k == block && from == u - 1))
          read_until_[from - first_] = u;
    }
  }

  void push(kernels::threaded_kernel run, std::int32_t x = 0, std::int32_t y = 0, std::int32_t to = 0) {
    t_.program.threaded.push(
        {run, static_cast<std::int16_t>(x), static_cast<std::int16_t>(y), static_cast<std::int16_t>(to)});
  }

  std::int32_t add(tile_operand const& where, element e, bool reads, bool writes) {
    return moving_.push({where, static_cast<std::int32_t>(size_of(e)), reads, writes});
  }
  std::int32_t add_still(tile_operand const& where) { return -1 - still_.push({where, 0, false, false}); }
  /// A block of memory for a value of this segment.
  std::int32_t block_of_memory() {
    if (!free_.empty()) return free_.pop();
    std::int64_t used = 0;
    for (segment_entry const& e : still_) used += e.at.base == unplaced ? kernels::block_bytes : 0;
    if (line_bytes_ < used + kernels::block_bytes) line_bytes_ = used + kernels::block_bytes;
    return add_still({unplaced, 0, used});
  }

  std::int32_t entry_of(int u, int k) {
    std::int32_t const from = t_.source(u, k);
    array<known>& list = from < 0 ? of_outer_ : of_unit_;
    std::int32_t const which = from < 0 ? -1 - from : from;
    if (list.size() <= which) list.resize(which + 1);
    if (list[which].stamp == stamp_) return list[which].entry;
    element const e = t_.p.operand(at(u), k).type;
    std::int32_t const made = from >= 0                ? add(t_.results[from], e, true, false)
                              : t_.outers[which].fixed ? add_still(t_.outers[which].operand)
                                                       : add(t_.outers[which].operand, e, true, false);
    list[which] = {stamp_, made};
    return made;
  }
  void stands_at(int u, std::int32_t entry) {
    if (of_unit_.size() <= u) of_unit_.resize(u + 1);
    of_unit_[u] = {stamp_, entry};
  }

  void emit_unit(int u, bool whole) {
    int const block = operand_in_block(u);
    if (is_bytes(u, block)) push(t_.b.kernels.load_mask[type_], entry_of(u, block));
    else if (u == first_ || t_.source(u, block) != u - 1)
      push(t_.b.kernels.load[is_fixed(u, block) ? 1 : 0], entry_of(u, block));
    int others[2]{-1, -1};
    threaded_pair const run = kernels_of(u, block, others);
    std::int32_t const x = others[0] >= 0 ? entry_of(u, others[0]) : 0,
                       y = others[1] >= 0 ? entry_of(u, others[1]) : 0;
    for (int k = 0; k < at(u).count; ++k) { // a block of memory that is read for the last time
      std::int32_t const source = t_.source(u, k);
      if (source < first_ || read_until_[source - first_] != u || of_unit_[source].entry >= 0) continue;
      free_.push(of_unit_[source].entry);
      read_until_[source - first_] = none;
    }
    bool const mask = t_.type_of(at(u)) == element::boolean, far = t_.last[u] >= end_ || is_read_outside(u);
    bool const near = read_until_[u - first_] != none && !(far && !mask);
    t_.slots[u] = none;
    std::int32_t const far_entry = far ? result_of(u, whole) : 0, near_entry = near ? block_of_memory() : 0;
    if (near) stands_at(u, near_entry);
    else if (far && !mask) stands_at(u, far_entry);
    bool const stored = run.stored != nullptr && !mask && (far || near);
    push(stored ? run.stored : run.run, x, y, near ? near_entry : far_entry);
    if (far && mask) push(t_.b.kernels.store_mask[type_], 0, 0, far_entry);
    if ((near || (far && !mask)) && !stored)
      push(&kernels::threaded_store, 0, 0, near ? near_entry : far_entry);
  }

  /// The kernels of unit u around the block, and which operands they take besides.
  threaded_pair kernels_of(int u, int block, int* others) const {
    threaded_set const& s = *t_.b.kernels.find(t_.node_of(at(u)).op)->threaded[type_];
    int count = 0;
    for (int k = 0; k < at(u).count; ++k)
      if (k != block) others[count++] = k;
    bool const chooses = t_.p.operand(at(u), 0).type == element::boolean;
    // the second factor, like the first operand of what exchanges, stands where the other one would
    int const place = s.at[block][0].run == nullptr ? 0 : block;
    if (count == 2 && place == 2 && !chooses && is_fixed(u, others[1]) && !is_fixed(u, others[0])) {
      int const first = others[0];
      others[0] = others[1];
      others[1] = first;
    }
    unsigned fixed = 0;
    for (int k = 0; k < count; ++k) fixed |= is_fixed(u, others[k]) ? 1u << k : 0;
    return s.at[place][fixed];
  }

  /// An entry for what is read outside of the segment.
  std::int32_t result_of(int u, bool whole) {
    memory_root const& r = t_.p.roots[at(u).root];
    element const e = t_.type_of(at(u));
    bool const stands = r.outside && (whole || r.kind == home::workspace);
    if (!stands) t_.slots[u] = t_.take();
    address const a = stands ? address_of(t_.b, r) : address{};
    t_.results[u] =
        stands ? tile_operand{a.base, static_cast<std::int32_t>(size_of(e)), a.offset} : t_.slot(t_.slots[u]);
    return add(t_.results[u], e, false, true);
  }

  /// What stands in slots of the tile is no longer needed when the segment has run: elements of other sizes would not
  /// stand at equal distances before.
  void release(int first, int end) {
    for (int u = first; u < end; ++u)
      for (int k = 0; k < at(u).count; ++k)
        if (std::int32_t const from = t_.source(u, k); from < first) t_.release(from, end - 1);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail::interpret
} // namespace cotangent

#endif
