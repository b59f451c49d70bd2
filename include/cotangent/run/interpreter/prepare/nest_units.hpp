// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_NEST_UNITS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_NEST_UNITS_HPP

#include <cotangent/run/interpreter/prepare/nest_memory.hpp>

#include <cstdint>

// The lanes of one stage of a nest as units: what segments and kernels work on.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Units of the lanes of one stage, as segments and `emit_units` take them.
class nest_units {
public:
  /// An operand that no unit of the stage computes.
  struct outer {
    std::int32_t from = none; // the instance
    std::int32_t last = 0;    // the last unit that reads it
    tile_operand operand;     // its current location
    std::int32_t slot = none;
    bool fixed = false; // one element, repeated in a pack
    bool of_row = false; // one element for each row, repeated in a register
    bool in_segments = true; // only segments read it
  };
  struct unit {
    std::int32_t of = none; // the instance
    int count = 0;
    std::int32_t chains = 0; // registers of partial results, for a reduction; it has no result
    tile_operand state{};
    std::int32_t state_step = 0; // bytes from row to row
  };

  nest_memory& m;
  program_data& program;
  array<outer> outers;
  array<unit> units;
  array<std::int32_t> first_source, sources, last, type;
  array<tile_operand> results;
  array<std::int32_t> slots, free;
  array<bool> read_outside; // by unit
  array<tile_operand> places; // by unit: where a result stands; base -1: nowhere
  array<bool> is_roomy;       // by unit: whole packs may be written there even for a part
  std::int32_t top = 0;
  std::int64_t slots_at = 0;
  std::int64_t elements = 0, tile_elements = 0; // of a phase

  explicit nest_units(nest_memory& memory) : m(memory), program(memory.program), seen_(memory.p.instances.size()) {}

  std::int32_t source(int u, int k) const { return sources[first_source[u] + k]; }
  kernel_table const& kernels() const { return m.kernels; }
  operation const* op_of(int u) const { return m.at(units[u].of).op; }
  element result_type(int u) const { return m.at(units[u].of).type; }
  element operand_type(int u, int k) const { return reduces(u) ? result_type(u) : m.operand(m.at(units[u].of), k).type; }
  bool is_read_outside(int u) const { return read_outside[u]; }
  bool of_row(int which) const { return outers[which].of_row; }
  std::int64_t row_length() const { return m.code.lanes; }
  static constexpr bool has_reductions = true;
  bool reduces(int u) const { return units[u].chains > 0; }
  /// True if it reduces, or reads values of rows, which segments take from a register.
  bool needs_segment(int u) const {
    bool needs = reduces(u);
    for (int k = 0; k < units[u].count && !needs; ++k)
      if (std::int32_t const from = source(u, k); from < 0) {
        instance const& v = m.at(outers[-1 - from].from);
        needs = !outers[-1 - from].fixed && has_whole_blocks(v) && (v.what == action::reduce || v.where == role::row);
      }
    return needs;
  }
  /// True if no block of a segment has elements of two rows.
  bool has_whole_blocks(instance const& v) const { return m.code.lanes % (kernels::block_bytes / m.bytes_of(v.type)) == 0; }

  bool stands(int u, bool whole) const { return places[u].base >= 0 && (whole || is_roomy[u]); }
  tile_operand final_place(int u) const { return places[u]; }

  kernels::elementwise_kernel kernel_of(int u, tile_work& w) { return m.kernel_of(m.at(units[u].of), w); }

  std::int32_t take() { return free.empty() ? top++ : free.pop(); }
  tile_operand slot(std::int32_t k) const noexcept { return {base::scratch, 0, slots_at + m.slot_bytes * k}; }
  void release(std::int32_t from, int u) {
    std::int32_t& s = from < 0 ? outers[-1 - from].slot : slots[from];
    if (s == none || (from < 0 ? outers[-1 - from].last : last[from]) > u || (from >= 0 && read_outside[from])) return;
    free.push(s);
    s = none;
  }

  /// Collects the units of a stage: the computed lanes that something reads, and reductions in segments.
  template <class Sum> void collect(std::int32_t first, std::int32_t end, bool whole, Sum sum_of) {
    outers.clear();
    units.clear();
    first_source.clear();
    sources.clear();
    last.clear();
    type.clear();
    read_outside.clear();
    local_.clear();
    local_.assign(end - first, none);
    first_ = first;
    ++stamp_;
    find_needed(first, end);
    in_segments_.clear();
    for (std::int32_t i = first; i < end; ++i)
      if (m.is_in_segment(m.at(i), whole)) in_segments_.push(i);
    for (std::int32_t i = first; i < end; ++i) {
      instance const& v = m.at(i);
      if (v.what != action::compute || !needed_[i - first] || m.is_copy(v)) continue;
      bool const single = add(i, v);
      local_[i - first] = units.size() - 1;
      type.push(m.kernels.threaded_type(v.op, m.operand(v, v.operand_count - 1).type, m.operand(v, 0).type, single));
      for (std::int32_t const of : in_segments_) { // in the segment of the last operand
        instance const& r = m.at(of);
        if (m.last_unit(r) != i) continue;
        add(of, r.fused ? m.operand(r, 0) : r);
        describe(units.back(), sum_of(of));
        type.push(type.back());
      }
    }
  }
  /// A unit, or -1 - an outer operand: the source of an instance's value.
  std::int32_t value_of(std::int32_t i) {
    instance const& v = m.at(i);
    if (v.where == role::lane && v.what == action::compute && m.is_copy(v)) return value_of(m.operand_index(v, 0));
    bool const here = i >= first_ && i - first_ < local_.size();
    if (here && local_[i - first_] >= 0) return local_[i - first_];
    if (seen_[i].stamp == stamp_) return seen_[i].value;
    outer o;
    o.from = i;
    o.fixed = v.what == action::constant || (v.what != action::reduce && v.where == role::once) ||
              ((v.what == action::reduce || v.where == role::row) && !m.has_rows());
    o.last = none;
    seen_[i] = {stamp_, -1 - outers.push(o)};
    return seen_[i].value;
  }
  bool is_cheap() const noexcept {
    for (std::int32_t const t : type)
      if (t == none) return false;
    return true;
  }

private:
  array<std::int32_t> in_segments_; // reductions of the stage

  /// Adds a unit with the operands of v; true if the first is one element.
  bool add(std::int32_t i, instance const& v) {
    int const u = units.push({i, v.operand_count});
    first_source.push(sources.size());
    last.push(u);
    read_outside.push(false);
    bool single = false;
    for (int k = 0; k < v.operand_count; ++k) {
      std::int32_t const from = value_of(m.operand_index(v, k));
      sources.push(from);
      if (from >= 0) last[from] = u;
      else outers[-1 - from].last = u;
      if (k == 0) single = from < 0 && outers[-1 - from].fixed;
    }
    return single;
  }
  void describe(unit& u, nest_sum const& s) const {
    bool const total = s.add != nullptr;
    u.chains = total ? 1 : s.chains;
    u.state = {s.state.base, 0, s.state.offset};
    u.state_step = total || !m.has_rows() ? 0 : static_cast<std::int32_t>(s.chains * simd::bytes);
  }

  struct seen {
    std::int32_t stamp = 0, value = 0;
  };
  array<seen> seen_; // by instance: the outer operand in the stage of that stamp
  std::int32_t first_ = 0, stamp_ = 0;
  array<std::int32_t> local_; // by instance of the stage: its unit
  array<bool> needed_;

  /// Products that are only added, unrounded, are not computed.
  void find_needed(std::int32_t first, std::int32_t end) {
    needed_.assign(end - first, false);
    auto const need = [&](std::int32_t i) {
      if (i >= first && i < end) needed_[i - first] = true;
    };
    for (std::int32_t i = end; i-- > first;) {
      instance const& v = m.at(i);
      if (v.what == action::reduce || v.what == action::accumulate) {
        instance const& u = m.operand(v, 0);
        if (!v.fused) need(m.operand_index(v, 0));
        for (int k = 0; v.fused && k < u.operand_count; ++k) need(m.operand_index(u, k));
        continue;
      }
      if (v.access != none || v.slot != none) need(i);
      for (int k = 0; v.what == action::compute && needed_[i - first] && k < v.operand_count; ++k) need(m.operand_index(v, k));
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
