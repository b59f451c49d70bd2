// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_NEST_EMIT_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_NEST_EMIT_HPP

#include <cotangent/run/interpreter/prepare/nest_units.hpp>
#include <cotangent/run/interpreter/prepare/nest_values.hpp>

#include <cstdint>
#include <limits>

// Translates the nests of a plan to tiles of rows and lanes, in the plan's order of every sum.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

class nest_emit {
public:
  std::int64_t scratch_bytes = 0;

  nest_emit(nest_memory& memory, array<std::int64_t>& words) : m_(memory), values_(memory, words) {}

  /// True if the nest has only what tiles can do: no windows, no reads at computed positions.
  static bool takes(plan const& p, nest const& n, kernel_table const& kernels) {
    for (int k = 0; k < n.rank; ++k)
      if (n.size[k] <= 0) return false;
    if (n.rank - n.split > 1) return false;
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = p.instances[i];
      switch (v.what) {
      case action::window:
      case action::shift:
      case action::pick: return false;
      case action::compute:
        if (v.operand_count > 8 || (v.where == role::once && v.access != none)) return false;
        if (v.where == role::lane && v.detail != none) return false;
        break;
      case action::load:
        if (v.detail != none) return false;
        break;
      case action::reduce:
      case action::accumulate:
        if (kernel_set const* const k = kernels.find(v.op);
            v.detail != none || k == nullptr || k->sums[static_cast<int>(v.type)].rows == nullptr)
          return false;
        if (v.what == action::accumulate && v.where == role::lane && n.rank > 0 &&
            p.accesses[v.access].stride[n.rank - 1] > 1)
          return false;
        break;
      default: break;
      }
    }
    return true;
  }

  /// True if its tiles have whole rows: then row buffers of the plan need no memory of their own.
  bool has_rows(nest const& n) {
    m_.begin(n);
    return m_.has_rows();
  }

  std::int32_t emit(std::int32_t which) {
    m_.begin(m_.p.nests[which]);
    nest_code& code = m_.code;
    kept_.clear();
    kept_loads_.clear();
    kept_count_ = most_slots_ = 0;
    totals_.clear();
    values_.begin();
    units_.slots_at = values_.bytes();
    find_kept();
    values_.emit_once();
    array<nest_stage> stages;
    for (int s = 0; s < m_.n.stages; ++s) stages.push(emit_stage(s));
    code.stages = {m_.program.nest_stages.size(), stages.size()};
    for (nest_stage const& s : stages) m_.program.nest_stages.push(s);
    code.totals = {m_.program.nest_sums.size(), totals_.size()};
    for (nest_sum const& s : totals_) m_.program.nest_sums.push(s);
    code.tile_fills = {m_.program.fills.size(), kept_fills_.size()};
    for (fill const& f : kept_fills_) m_.program.fills.push(f);
    kept_fills_.clear();
    std::int64_t const bytes = units_.slots_at + m_.slot_bytes * most_slots_;
    if (scratch_bytes < bytes) scratch_bytes = bytes;
    return m_.program.nests.push(code);
  }
  /// Places the memory of segments after that of tiles, once all nests are emitted.
  void place_segments() {
    segments_.place(whole_lines(scratch_bytes));
    if (segments_.bytes() > 0) scratch_bytes = whole_lines(scratch_bytes) + segments_.bytes();
  }

private:
  nest_memory& m_;
  nest_values values_;
  nest_units units_{m_};
  segment_emit<nest_units> segments_{units_};
  struct kept_value {
    std::int32_t slot = none, buffer = none; // a row buffer of the plan; or an access that does not depend on the row
    dimension offset = 0, stride = 0;
    tile_operand at;
  };
  array<kept_value> kept_;
  array<kept_value> kept_loads_;
  array<fill> kept_fills_;
  std::int32_t kept_count_ = 0, most_slots_ = 0;
  array<nest_sum> totals_;

  /// In tiles of whole rows, what stays in a slot: row buffers of the plan, and operands that are the same for all rows.
  void find_kept() {
    nest const& n = m_.n;
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count && m_.has_rows(); ++i) {
      instance const& v = m_.at(i);
      if (v.slot != none) kept_.push({v.slot, none, 0, 0, keep()});
      if (v.where != role::lane || (v.what != action::load && v.what != action::position) || !is_same_for_rows(v)) continue;
      kept_value own = kept_load(v);
      if (find_load(own) != nullptr) continue;
      own.at = keep();
      kept_loads_.push(own);
      tile_operand const to = settle(own.at);
      kept_fills_.push(values_.fill_of(i, n.rank, {to.base, to.offset}, false));
    }
  }
  tile_operand keep() { return {base::scratch, 0, kept_count_++}; }
  tile_operand settle(tile_operand const& kept) const { return units_.slot(static_cast<std::int32_t>(kept.offset)); }

  nest_stage emit_stage(int stage) {
    nest_stage s;
    std::int32_t const first = m_.list()[1 + 2 * stage], lanes = m_.list()[2 + 2 * stage], end = m_.list()[3 + 2 * stage];
    int const rows = m_.n.split;
    values_.emit_rows(first, lanes, s, totals_);
    bool const has_rows = m_.has_rows();
    if (has_rows ? m_.code.whole_rows > 0 : m_.code.whole_lanes > 0) emit_lanes(lanes, end, true, s.whole);
    if (has_rows ? m_.code.whole_rows < m_.code.rows : m_.code.whole_lanes < m_.code.lanes)
      emit_lanes(lanes, end, false, s.rest);
    s.sum_drains.first = m_.program.drains.size();
    for (std::int32_t i = lanes; i < end; ++i) {
      instance const& v = m_.at(i);
      if (v.what == action::accumulate) totals_.push(values_.sum_of(i));
      if (v.what == action::reduce && v.access != none)
        m_.program.drains.push(values_.drain_of(i, rows, values_.operand(i)));
    }
    s.sum_drains.count = m_.program.drains.size() - s.sum_drains.first;
    return s;
  }

  // ---- lanes

  /// The memory of a row buffer in tiles of a part of a row.
  tile_operand row_buffer(std::int32_t slot, element e) const {
    address const a = m_.buffers[m_.p.row_slots[slot].buffer];
    return {a.base, static_cast<std::int32_t>(nest_memory::bytes_of(e)), a.offset, -m_.code.lanes * nest_memory::bytes_of(e)};
  }
  tile_operand kept(std::int32_t slot) const {
    for (kept_value const& k : kept_)
      if (k.slot == slot) return settle(k.at);
    return {};
  }

  /// Decides which results stay in their final location, and which operands later steps of the tile read.
  void settle_lanes(std::int32_t first, std::int32_t end, bool whole) {
    units_.places.clear();
    units_.places.resize(units_.units.size());
    units_.is_roomy.assign(units_.units.size(), false);
    stored_by_.clear();
    stored_by_.assign(end - first, false);
    for (tile_operand& p : units_.places) p.base = none;
    auto const stays = [&](std::int32_t value) {
      if (value >= 0) units_.read_outside[value] = true;
      else units_.outers[-1 - value].last = std::numeric_limits<std::int32_t>::max();
    };
    for (std::int32_t i = first; i < end; ++i) {
      instance const& v = m_.at(i);
      if ((v.what == action::reduce || v.what == action::accumulate) && !m_.is_in_segment(v, whole)) {
        if (!v.fused) stays(units_.value_of(m_.operand_index(v, 0)));
        instance const& u = m_.operand(v, 0);
        for (int k = 0; v.fused && k < 2; ++k) stays(units_.value_of(m_.operand_index(u, k)));
      }
      if (v.what != action::compute || (v.access == none && v.slot == none)) continue;
      std::int32_t const u = units_.value_of(i);
      stays(u);
      if (u < 0) continue;
      if (v.slot != none && units_.places[u].base < 0) {
        bool const rows = m_.has_rows();
        units_.places[u] = rows ? kept(v.slot) : row_buffer(v.slot, v.type);
        units_.is_roomy[u] = rows || !m_.p.row_slots[v.slot].exact;
      } else if (v.access != none && units_.places[u].base < 0) {
        bool found = false;
        access const& a = m_.p.accesses[v.access];
        tile_operand const to = m_.direct(a, v.type, found);
        if (!found) continue;
        units_.places[u] = to;
        units_.is_roomy[u] = m_.has_rows() && m_.has_room(a);
        stored_by_[i - first] = true;
      }
    }
    keep_recalled(first, end);
    find_in_segments();
  }
  void find_in_segments() {
    for (int u = 0; u < units_.units.size();) {
      bool together = false;
      int const end = segments_.end_of(u, m_.cheap, units_.elements, together);
      for (; u < end; ++u)
        for (int k = 0; k < units_.units[u].count; ++k)
          if (std::int32_t const from = units_.source(u, k); from < 0 && !together) units_.outers[-1 - from].in_segments = false;
    }
  }
  /// A row buffer may be the result that is stored at its last read. Units after the store still read it here: then the result
  /// is copied at the end.
  void keep_recalled(std::int32_t first, std::int32_t end) {
    for (nest_units::outer const& o : units_.outers) {
      instance const& recalled = m_.at(o.from);
      if (recalled.what != action::recall || m_.has_rows()) continue;
      for (std::int32_t i = first; i < end; ++i) {
        if (!stored_by_[i - first]) continue;
        std::int32_t const u = units_.value_of(i);
        if (m_.p.accesses[m_.at(i).access].buffer != m_.p.row_slots[recalled.detail].buffer || o.last <= u) continue;
        units_.places[u].base = none;
        units_.is_roomy[u] = stored_by_[i - first] = false;
      }
    }
  }
  array<bool> stored_by_; // by instance of the stage: the place of its unit is its access

  void emit_lanes(std::int32_t first, std::int32_t end, bool whole, nest_stage::lane_code& to) {
    nest_code const& c = m_.code;
    program_data& p = m_.program;
    bool const rows = m_.has_rows();
    units_.elements = rows ? (whole ? c.whole_rows : c.rows - c.whole_rows) * c.lanes : whole ? c.whole_lanes : c.lanes - c.whole_lanes;
    units_.tile_elements = rows ? c.tile_rows * c.lanes : c.tile_lanes;
    units_.collect(first, end, whole, [this](std::int32_t i) { return values_.sum_of(i); });
    settle_lanes(first, end, whole);
    units_.free.clear();
    units_.top = kept_count_;
    to.fills.first = p.fills.size();
    to.spreads.first = p.spreads.size();
    for (nest_units::outer& o : units_.outers) place(o, whole);
    to.fills.count = p.fills.size() - to.fills.first;
    to.spreads.count = p.spreads.size() - to.spreads.first;
    to.work.first = p.work.size();
    if (!units_.units.empty()) emit_units(units_, segments_, m_.cheap, units_.elements, whole);
    array<nest_sum> sums;
    for (std::int32_t i = first; i < end; ++i)
      if (instance const& v = m_.at(i); v.what == action::reduce || v.what == action::accumulate) {
        nest_sum s = values_.sum_of(i, whole);
        if (m_.is_in_segment(v, whole)) {
          if (s.is_in_segment) sums.push(s); // (a total needs nothing more)
          continue;
        }
        instance const& u = m_.operand(v, 0);
        s.x = s.y = lanes_of(v.fused ? m_.operand_index(u, 0) : m_.operand_index(v, 0));
        if (v.fused) s.y = lanes_of(m_.operand_index(u, 1));
        sums.push(s);
      }
    to.sums = {p.nest_sums.size(), sums.size()};
    for (nest_sum const& s : sums) p.nest_sums.push(s);
    to.drains.first = p.drains.size();
    for (std::int32_t i = first; i < end; ++i) {
      instance const& v = m_.at(i);
      if (v.what != action::compute || (v.access == none && v.slot == none)) continue;
      std::int32_t const u = units_.value_of(i);
      tile_operand const from = u >= 0 ? units_.results[u] : lanes_of(i);
      bool const stands = u >= 0 && units_.stands(u, whole);
      if (v.access != none && !(stands && stored_by_[i - first])) p.drains.push(values_.drain_of(i, m_.n.rank, from));
      if (v.slot != none && !stands) { // a row buffer in a result
        tile_drain d;
        d.shape = lanes_only(v.type);
        d.from = from;
        d.to = m_.buffers[m_.p.row_slots[v.slot].buffer];
        p.drains.push(d);
      }
    }
    to.drains.count = p.drains.size() - to.drains.first;
    to.work.count = p.work.size() - to.work.first;
    most_slots_ = larger(most_slots_, units_.top);
  }

  /// The shape of the nest, seen through memory for one row.
  strided lanes_only(element e) const {
    strided s;
    s.type = e;
    s.rank = 2;
    s.size[0] = m_.code.rows;
    s.size[1] = m_.code.lanes;
    s.stride[1] = 1;
    return s;
  }

  /// Memory with one element for each position of the tile.
  tile_operand lanes_of(std::int32_t i) {
    std::int32_t const value = units_.value_of(i);
    if (value >= 0) return units_.results[value];
    nest_units::outer const& o = units_.outers[-1 - value];
    if (!o.fixed) return o.operand;
    element const e = m_.at(i).type;
    tile_work w; // a line repeated
    w.run = m_.kernels.conversions[static_cast<int>(e)][static_cast<int>(e)];
    w.arity = 1;
    w.fixed = 1;
    tile_operand const to = units_.slot(units_.top++);
    w.first = m_.program.operands.push(to);
    m_.program.operands.push(o.operand);
    m_.program.work.push(w);
    return to;
  }

  /// Places an operand that is not computed in the stage.
  void place(nest_units::outer& o, bool whole) {
    instance const& v = m_.at(o.from);
    o.slot = none;
    if (o.fixed) {
      o.operand = values_.operand(o.from);
      return;
    }
    if (v.what == action::reduce || v.where == role::row) {
      o.slot = units_.take();
      o.operand = units_.slot(o.slot);
      auto const bytes = nest_memory::bytes_of(v.type);
      // (segments read a register for each row, where no block has elements of two)
      o.of_row = o.in_segments && bytes >= 4 && units_.has_whole_blocks(v) && o.last < units_.units.size();
      m_.program.spreads.push({values_[o.from], o.operand, static_cast<std::int32_t>(bytes), o.of_row});
      return;
    }
    if (v.what == action::recall) {
      bool const exact = m_.p.row_slots[v.detail].exact;
      o.operand = m_.has_rows() ? kept(v.detail) : row_buffer(v.detail, v.type);
      if (m_.has_rows() || whole || !exact) return;
      fill f;
      f.from = lanes_only(v.type);
      f.memory = m_.buffers[m_.p.row_slots[v.detail].buffer];
      return fill_slot(o, f);
    }
    if (v.what == action::load) {
      bool found = false;
      access const& a = m_.p.accesses[v.access];
      o.operand = m_.direct(a, v.type, found);
      // (kernels read whole packs, also of a part; segments read its elements only)
      if (found && (whole || !m_.is_foreign(a) || (o.in_segments && o.last < units_.units.size()))) return;
    }
    if (!m_.has_rows() || !is_same_for_rows(v)) return fill_slot(o, values_.fill_of(o.from, m_.n.rank, {}, false));
    o.operand = settle(find_load(kept_load(v))->at);
  }
  void fill_slot(nest_units::outer& o, fill f) {
    o.slot = units_.take();
    o.operand = units_.slot(o.slot);
    f.to = {o.operand.base, o.operand.offset};
    m_.program.fills.push(f);
  }
  bool is_same_for_rows(instance const& v) const {
    for (int k = 0; k < m_.n.split; ++k)
      if (v.what == action::position ? v.detail == k : m_.p.accesses[v.access].stride[k] != 0) return false;
    return true;
  }
  /// An operand that is filled once for all tiles; `at` is open.
  kept_value kept_load(instance const& v) const {
    kept_value k;
    if (v.what == action::position) {
      k.slot = static_cast<std::int32_t>(v.type);
      return k;
    }
    access const& a = m_.p.accesses[v.access];
    k.buffer = a.buffer;
    k.offset = a.offset;
    k.stride = a.stride[m_.n.rank - 1];
    return k;
  }
  kept_value const* find_load(kept_value const& one) const {
    for (kept_value const& k : kept_loads_)
      if (k.buffer == one.buffer && k.offset == one.offset && k.stride == one.stride && k.slot == one.slot) return &k;
    return nullptr;
  }

};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
