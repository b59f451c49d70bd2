// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_TILES_HPP
#define COTANGENT_RUN_INTERPRETER_TILES_HPP

#include <cotangent/run/interpreter_build.hpp>
#include <cotangent/run/interpreter_regions.hpp>

#include <cstdint>

// A step of elementwise nodes becomes work on tiles that stay in the first cache: what is read at other
// positions than the tile's own is brought into order first, what nobody else reads never leaves the tile.

namespace cotangent {
namespace detail::interpret {
inline namespace COTANGENT_ABI {

template <class Build> address address_of(Build const& b, memory_root const& r) noexcept {
  switch (r.kind) {
  case home::workspace: return {base::roots, r.offset};
  case home::constant: return {base::constants, r.offset};
  case home::input: return {base::first_argument + r.which, 0};
  case home::output: return {base::first_argument + b.g.input_count(b.region) + r.which, 0};
  case home::part: {
    address a = address_of(b, b.plan.roots[r.which]);
    a.offset += r.offset;
    return a;
  }
  case home::positions: break;
  }
  return {};
}

template <class Build> address address_of(Build const& b, strided const& v) noexcept {
  memory_root const& r = b.plan.roots[v.root];
  address a = address_of(b, r);
  if (r.kind != home::positions) a.offset += v.offset * static_cast<std::int64_t>(size_of(v.type));
  return a;
}

template <class Build> fill filled_from(Build const& b, strided const& v) noexcept {
  fill f;
  f.from = joined(v);
  f.positions = b.plan.roots[v.root].kind == home::positions;
  f.memory = address_of(b, v);
  return f;
}

template <class Build> signature signature_of(Build const& b, unit const& u) noexcept {
  node const& n = b.g.nodes[u.node];
  signature s;
  s.op = n.op;
  s.arity = u.count;
  for (int k = 0; k < u.count; ++k) s.operand[k] = b.plan.operand(u, k).type;
  s.result = b.g.tensors[b.g.result(n)].type;
  return s;
}

inline std::int64_t common_divisor(std::int64_t a, std::int64_t b) noexcept {
  while (b != 0) {
    std::int64_t const rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

template <class Build> class tile_emit {
public:
  std::int64_t scratch_bytes = 0;

  tile_emit(Build const& from, program_data& to)
      : b_(from), p_(from.plan), to_(to), chains_(p_.roots.size()), local_(p_.units.size(), 0) {}

  std::int32_t emit(std::int32_t s) {
    collect(s);
    tile_group g;
    g.size = p_.roots[units_[0].root].elements;
    g.whole = g.size - g.size % granule_;
    g.tile = tile_length(g.size);
    slot_bytes_ = rounded((g.size < g.tile ? g.size : g.tile) * largest_);
    fixed_count_ = top_ = 0;
    free_.clear();
    for (outer& o : outer_) classify(o, g.tile);
    bool const drains = has_drains();
    if (g.size == 0) return to_.groups.push(g);
    g.once.first = to_.fills.size();
    for (outer& o : outer_) {
      if (o.splat) push_fill(o, o.operand, true);
      else if (o.periodic && g.whole > 0) push_fill(o, slot(take()), false);
    }
    g.once.count = to_.fills.size() - g.once.first;
    std::int32_t const kept = top_;
    if (g.whole > 0) emit_phase(true, g.each, g.work);
    if (g.whole > 0 && drains) emit_drains(g.drains);
    free_.clear();
    std::int32_t const whole_top = top_;
    top_ = kept;
    if (g.whole < g.size) {
      g.rest_copies.first = to_.copies.size();
      emit_phase(false, g.rest_fills, g.rest_work);
      if (drains) emit_drains(g.rest_drains);
      copy_results(g);
      g.rest_copies.count = to_.copies.size() - g.rest_copies.first;
    }
    std::int64_t const bytes = 64 * fixed_count_ + slot_bytes_ * (whole_top > top_ ? whole_top : top_);
    if (scratch_bytes < bytes) scratch_bytes = bytes;
    return to_.groups.push(g);
  }

private:
  /// An operand of the step that comes from outside of it.
  struct outer {
    strided v;
    std::int32_t next = none; // of the same root
    std::int32_t last = 0;    // the unit that reads it last
    tile_operand operand;     // where it is now
    std::int32_t slot = none;
    bool fixed = false;    // one element, a pack of it
    bool splat = false;    // which a fill makes
    bool direct = false;   // read where it stands
    bool foreign = false;  // in memory that may not be read beyond its end
    bool periodic = false; // every tile reads the same
  };
  struct chain {
    std::int32_t step = none, first = none;
  };

  Build const& b_;
  plan_data const& p_;
  program_data& to_;
  array<chain> chains_;       // by root
  array<std::int32_t> local_; // by unit of the plan: its place in its step
  array<outer> outer_;
  array<unit> units_;
  array<std::int32_t> sources_; // by operand of all units: a unit, or -1 - an outer operand
  array<std::int32_t> last_;    // by unit: the unit that reads it last
  array<tile_operand> results_; // by unit
  array<std::int32_t> slots_;   // by unit, none where it stands elsewhere
  array<std::int32_t> free_;
  std::int32_t top_ = 0;
  std::int64_t fixed_count_ = 0, slot_bytes_ = 0, largest_ = 1, granule_ = 1;

  void collect(std::int32_t s) {
    units_.clear();
    outer_.clear();
    sources_.clear();
    largest_ = granule_ = 1;
    for (int u = p_.steps[s].first_unit; u >= 0; u = p_.units[u].next) {
      unit const& n = p_.units[u];
      int const here = local_[u] = units_.push(n);
      widen(n);
      last_.resize(here + 1);
      last_[here] = here;
      for (int k = 0; k < n.count; ++k) {
        strided const& v = p_.operand(n, k);
        memory_root const& r = p_.roots[v.root];
        if (r.step == s) {
          sources_.push(local_[r.unit]);
          last_[local_[r.unit]] = here;
        } else {
          std::int32_t const at = outer_of(v, s);
          sources_.push(-1 - at);
          outer_[at].last = here;
        }
      }
    }
    last_.resize(units_.size());
  }

  std::int32_t outer_of(strided const& v, std::int32_t s) {
    chain& c = chains_[v.root];
    if (c.step != s) c = {s, none};
    for (std::int32_t k = c.first; k != none; k = outer_[k].next)
      if (outer_[k].v == v) return k;
    outer o;
    o.v = v;
    o.next = c.first;
    return c.first = outer_.push(o);
  }

  /// The largest element, and how many elements a kernel takes at a time.
  void widen(unit const& u) {
    node const& n = b_.g.nodes[u.node];
    auto const to = static_cast<std::int64_t>(size_of(b_.g.tensors[b_.g.result(n)].type));
    auto const from = static_cast<std::int64_t>(size_of(p_.operand(u, u.count - 1).type));
    std::int64_t const width = simd::bytes / (n.op == b_.kernels.convert && to > from ? to : from);
    if (granule_ < width) granule_ = width;
    if (largest_ < to) largest_ = to;
    for (int k = 0; k < u.count; ++k) {
      auto const bytes = static_cast<std::int64_t>(size_of(p_.operand(u, k).type));
      if (largest_ < bytes) largest_ = bytes;
    }
  }

  /// About 1,024 elements, fewer where many values are alive at once, and a multiple of what repeats.
  std::int64_t tile_length(std::int64_t count) const {
    std::int64_t const usual = units_.size() > 8 ? 512 : 1024;
    if (count <= usual) return usual;
    std::int64_t multiple = 64;
    for (outer const& o : outer_) {
      std::int64_t const p = period(o.v);
      if (p < 1 || p >= count) continue;
      std::int64_t const both = p / common_divisor(multiple, p) * multiple;
      if (both <= 2048) multiple = both;
    }
    return multiple > usual ? multiple : usual / multiple * multiple;
  }

  void classify(outer& o, std::int64_t tile) {
    memory_root const& r = p_.roots[o.v.root];
    auto const bytes = static_cast<std::int32_t>(size_of(o.v.type));
    address const a = address_of(b_, o.v);
    bool const memory = r.kind != home::positions;
    home const whole = p_.roots[p_.whole(o.v.root)].kind;
    o.foreign = whole == home::input || whole == home::output;
    o.fixed = memory && o.v.uniform() && (r.kind == home::constant || o.v.count() > 1);
    if (o.fixed) {
      o.splat = r.kind != home::constant;
      o.operand =
          o.splat ? tile_operand{base::scratch, 0, 64 * fixed_count_++} : tile_operand{a.base, 0, a.offset};
      return;
    }
    o.direct = memory && o.v.contiguous();
    if (o.direct) o.operand = {a.base, bytes, a.offset};
    std::int64_t const p = period(o.v);
    o.periodic = !o.direct && o.v.count() > tile && p >= 1 && tile % p == 0;
  }

  std::int32_t take() { return free_.empty() ? top_++ : free_.pop(); }
  tile_operand slot(std::int32_t k) const noexcept {
    return {base::scratch, 0, 64 * fixed_count_ + slot_bytes_ * k};
  }
  void push_fill(outer& o, tile_operand const& where, bool repeats_one) {
    fill f = filled_from(b_, o.v);
    f.to = {where.base, where.offset};
    f.repeats_one = repeats_one;
    o.operand = where;
    to_.fills.push(f);
  }

  /// What is read is brought into order, then every unit works; slots of values that are no longer read are
  /// used again.
  void emit_phase(bool whole, range& fills, range& work) {
    fills.first = to_.fills.size();
    for (outer& o : outer_) {
      o.slot = none;
      if (o.fixed || (o.direct && (whole || !o.foreign)) || (whole && o.periodic)) continue;
      o.slot = take();
      push_fill(o, slot(o.slot), false);
    }
    fills.count = to_.fills.size() - fills.first;
    work.first = to_.work.size();
    results_.resize(units_.size());
    slots_.resize(units_.size());
    int operand = 0;
    for (int u = 0; u < units_.size(); ++u) {
      emit_unit(u, operand, whole);
      operand += units_[u].count;
    }
    work.count = units_.size();
  }

  void emit_unit(int u, int first_source, bool whole) {
    unit const& n = units_[u];
    memory_root const& r = p_.roots[n.root];
    node const& at = b_.g.nodes[n.node];
    element const type = b_.g.tensors[b_.g.result(at)].type;
    tile_work w;
    w.run = kernel_of(n, at, w);
    w.arity = static_cast<std::int16_t>(n.count);
    w.first = to_.operands.size();
    to_.operands.push({});
    for (int k = 0; k < n.count; ++k) {
      std::int32_t const from = sources_[first_source + k];
      if (from < 0 && outer_[-1 - from].fixed) w.fixed = static_cast<std::uint16_t>(w.fixed | 1u << k);
      to_.operands.push(from < 0 ? outer_[-1 - from].operand : results_[from]);
    }
    // kernels write where they have read: a result may stand where an operand of its size does
    release(u, first_source, size_of(type), true);
    bool const stands = r.outside && (whole || r.kind == home::workspace);
    slots_[u] = stands ? none : take();
    address const a = address_of(b_, r);
    results_[u] =
        stands ? tile_operand{a.base, static_cast<std::int32_t>(size_of(type)), a.offset} : slot(slots_[u]);
    to_.operands[w.first] = results_[u];
    release(u, first_source, size_of(type), false);
    to_.work.push(w);
  }

  kernels::elementwise_kernel kernel_of(unit const& u, node const& n, tile_work& w) {
    element const type = p_.operand(u, u.count - 1).type;
    if (n.op == b_.kernels.convert)
      return b_.kernels
          .conversions[static_cast<int>(type)][static_cast<int>(b_.g.tensors[b_.g.result(n)].type)];
    if (kernel_set const* const k = b_.kernels.find(n.op); k != nullptr)
      if (k->elementwise[static_cast<int>(type)] != nullptr) return k->elementwise[static_cast<int>(type)];
    w.signature = to_.signatures.push(signature_of(b_, u));
    return &evaluate_each;
  }

  /// The slots of operands that unit u reads last, those whose elements are as large as the result's, or the
  /// others.
  void release(int u, int first_source, std::size_t bytes, bool equal) {
    for (int k = 0; k < units_[u].count; ++k) {
      std::int32_t const from = sources_[first_source + k];
      if ((size_of(p_.operand(units_[u], k).type) == bytes) != equal) continue;
      std::int32_t& s = from < 0 ? outer_[-1 - from].slot : slots_[from];
      std::int32_t const last = from < 0 ? outer_[-1 - from].last : last_[from];
      bool const copied = from >= 0 && (p_.roots[units_[from].root].outside || units_[from].drain >= 0); // at the end
      if (s == none || last != u || copied) continue;
      free_.push(s);
      s = none;
    }
  }

  bool has_drains() const {
    for (int u = 0; u < units_.size(); ++u)
      if (units_[u].drain >= 0) return true;
    return false;
  }
  /// To where it is not one run: when the tile is done.
  void emit_drains(range& r) {
    r.first = to_.drains.size();
    for (int u = 0; u < units_.size(); ++u)
      for (std::int32_t d = units_[u].drain; d >= 0; d = p_.drains[d].next)
        to_.drains.push({joined(p_.drains[d].to), results_[u], address_of(b_, p_.drains[d].to)});
    r.count = to_.drains.size() - r.first;
  }

  void copy_results(tile_group const& g) {
    for (int u = 0; u < units_.size(); ++u) {
      memory_root const& r = p_.roots[units_[u].root];
      if (!r.outside || r.kind == home::workspace) continue;
      std::int64_t const bytes = r.bytes / g.size;
      address a = address_of(b_, r);
      a.offset += g.whole * bytes;
      to_.copies.push({{results_[u].base, results_[u].offset}, a, (g.size - g.whole) * bytes});
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace detail::interpret
} // namespace cotangent

#endif
