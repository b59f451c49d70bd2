// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_TILES_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_TILES_HPP

#include <cotangent/run/interpreter/prepare/segments.hpp>

#include <cstdint>

// Translates a step of elementwise nodes to work on tiles that stay in the L1 cache. Operands with another
// layout are first copied to tile order; values without another reader never leave the tile.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Frees the slots of operands that unit u reads last: those with elements as large as the result's if `equal`, else the
/// others.
template <class Units> void release_operands(Units& t, int u, bool equal) {
  for (int k = 0; k < t.units[u].count; ++k)
    if ((size_of(t.operand_type(u, k)) == size_of(t.result_type(u))) == equal) t.release(t.source(u, k), u);
}

/// Emits a unit as a call of its kernel. `whole`: results of the program may be written to their final location.
template <class Units> void emit_unit(Units& t, int u, bool whole) {
  int const count = t.units[u].count;
  tile_work w;
  w.run = t.kernel_of(u, w);
  w.arity = static_cast<std::int16_t>(count);
  w.first = t.program.operands.size();
  t.program.operands.push({});
  for (int k = 0; k < count; ++k) {
    std::int32_t const from = t.source(u, k);
    if (from < 0 && t.outers[-1 - from].fixed) w.fixed = static_cast<std::uint16_t>(w.fixed | 1u << k);
    t.program.operands.push(from < 0 ? t.outers[-1 - from].operand : t.results[from]);
  }
  // Kernels write where they have read: the result may reuse the slot of an operand with elements of the
  // same size.
  release_operands(t, u, true);
  t.slots[u] = t.stands(u, whole) ? none : t.take();
  t.results[u] = t.slots[u] == none ? t.final_place(u) : t.slot(t.slots[u]);
  t.program.operands[w.first] = t.results[u];
  release_operands(t, u, false);
  t.program.work.push(w);
}

/// Emits all units: in segments where these are faster, or all are `cheap`.
template <class Units>
void emit_units(Units& t, segment_emit<Units>& segments, bool cheap, std::int64_t elements, bool whole) {
  t.results.resize(t.units.size());
  t.slots.resize(t.units.size());
  for (int u = 0; u < t.units.size();) {
    bool together = false;
    int const end = segments.end_of(u, cheap, elements, together);
    if (together) segments.emit(u, end, whole);
    else emit_unit(t, u, whole);
    u = end;
  }
}

template <class Build> class tile_emit {
public:
  std::int64_t scratch_bytes = 0;

  explicit tile_emit(tile_units<Build>& units) : t_(units) {}

  /// Places the memory of segments after that of tiles, once all steps are emitted.
  void place_segments() {
    segments_.place(whole_lines(scratch_bytes));
    if (segments_.bytes() > 0) scratch_bytes = whole_lines(scratch_bytes) + segments_.bytes();
  }

  /// Emits the collected step.
  std::int32_t emit() {
    tile_group g;
    g.size = t_.p.roots[t_.units[0].root].elements;
    cheap_ = t_.is_cheap() && (segments_.is_worth(t_.units.size(), 0, g.size) || g.size >= 1024);
    g.whole = cheap_ ? g.size : g.size - g.size % t_.granule; // segments also process partial packs
    g.tile = t_.tile_elements = t_.tile_length(g.size);
    t_.slot_bytes = whole_lines((g.size < g.tile ? g.size : g.tile) * t_.largest);
    t_.fixed_count = t_.top = 0;
    t_.free.clear();
    for (outer& o : t_.outers) t_.classify(o, g.tile);
    states_ = 64 * t_.fixed_count;
    t_.fixed_count += t_.count_sums() * t_.lines_of_state;
    bool const drains = has_drains();
    if (g.size == 0) return t_.program.groups.push(g);
    g.once.first = t_.program.fills.size();
    for (outer& o : t_.outers) {
      if (o.splat) push_fill(o, o.operand, true);
      else if (o.periodic && g.whole > 0) push_fill(o, t_.slot(t_.take()), false);
    }
    g.once.count = t_.program.fills.size() - g.once.first;
    std::int32_t const kept = t_.top;
    if (g.whole > 0) emit_phase(true, g.whole, g.each, g.work);
    if (g.whole > 0 && drains) emit_drains(g.drains);
    if (g.whole > 0) t_.emit_sums(states_, g.sums);
    t_.free.clear();
    std::int32_t const whole_top = t_.top;
    t_.top = kept;
    if (g.whole < g.size) {
      g.rest_copies.first = t_.program.copies.size();
      emit_phase(false, g.size - g.whole, g.rest_fills, g.rest_work);
      if (drains) emit_drains(g.rest_drains);
      t_.emit_sums(states_, g.rest_sums);
      copy_results(g);
      g.rest_copies.count = t_.program.copies.size() - g.rest_copies.first;
    }
    std::int64_t const bytes =
        64 * t_.fixed_count + t_.slot_bytes * (whole_top > t_.top ? whole_top : t_.top);
    if (scratch_bytes < bytes) scratch_bytes = bytes;
    if (whole_top == 0 && g.each.count == 0 && cheap_) g.tile = g.whole; // no value is in a tile
    return t_.program.groups.push(g);
  }

private:
  using outer = typename tile_units<Build>::outer;

  tile_units<Build>& t_;
  segment_emit<tile_units<Build>> segments_{t_};
  bool cheap_ = false;      // the step consists of segments only
  std::int64_t states_ = 0; // the offset of the states of reductions in the scratch memory

  void push_fill(outer& o, tile_operand const& where, bool repeats_one) {
    fill f = filled_from(t_.b, o.v);
    f.to = {where.base, where.offset};
    f.repeats_one = repeats_one;
    o.operand = where;
    t_.program.fills.push(f);
  }

  /// Emits the copies of operands, then every unit; slots of dead values are reused.
  void emit_phase(bool whole, std::int64_t elements, range& fills, range& work) {
    t_.elements = elements;
    fills.first = t_.program.fills.size();
    for (outer& o : t_.outers) {
      o.slot = none;
      if (o.fixed || (o.direct && (whole || !o.foreign)) || (whole && o.periodic)) continue;
      o.slot = t_.take();
      push_fill(o, t_.slot(o.slot), false);
    }
    fills.count = t_.program.fills.size() - fills.first;
    work.first = t_.program.work.size();
    emit_units(t_, segments_, cheap_, elements, whole);
    work.count = t_.program.work.size() - work.first;
  }

  bool has_drains() const {
    for (int u = 0; u < t_.units.size(); ++u)
      if (t_.units[u].drain >= 0) return true;
    return false;
  }
  /// Emits the copies to non-contiguous destinations, which run after the tile.
  void emit_drains(range& r) {
    r.first = t_.program.drains.size();
    for (int u = 0; u < t_.units.size(); ++u)
      for (std::int32_t d = t_.units[u].drain; d >= 0; d = t_.p.drains[d].next)
        t_.program.drains.push(
            {joined(t_.p.drains[d].to), t_.results[u], address_of(t_.b, t_.p.drains[d].to), t_.p.drains[d].turn});
    r.count = t_.program.drains.size() - r.first;
    tile_drain* const all = t_.program.drains.data() + r.first;
    detail::sort(all, r.count, [](tile_drain const& x, tile_drain const& y) { return x.turn < y.turn; });
  }

  void copy_results(tile_group const& g) {
    for (int u = 0; u < t_.units.size(); ++u) {
      memory_root const& r = t_.p.roots[t_.units[u].root];
      if (!r.outside || r.kind == home::workspace) continue;
      std::int64_t const bytes = r.bytes / g.size;
      address a = address_of(t_.b, r);
      a.offset += g.whole * bytes;
      t_.program.copies.push({{t_.results[u].base, t_.results[u].offset}, a, (g.size - g.whole) * bytes});
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
