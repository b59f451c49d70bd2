// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_TILE_UNITS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_TILE_UNITS_HPP

#include <cotangent/run/interpreter/execute/regions.hpp>
#include <cotangent/run/interpreter/prepare/build.hpp>

#include <cstdint>

// The units of one step, their operands, and the slots of a tile for their results.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
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

/// The bytes of a value; those of its address if it is a sequence.
template <class Build> std::int64_t bytes_of(Build const& b, symbol t) noexcept {
  if (b.g.tensors[t].depth > 0) return 8;
  std::int64_t n = static_cast<std::int64_t>(size_of(b.g.tensors[t].type));
  dimensions const& d = b.g.shape(t);
  for (int k = 0; k < d.rank; ++k) n *= b.size(d.size[k]);
  return n;
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

constexpr int power_of_two(int at_least) noexcept {
  int n = 16;
  while (n < at_least && n < (1 << 29)) n *= 2;
  return n;
}

/// The bytes of the largest element that a unit reads or writes, `at_least` these.
template <class Build> std::int64_t largest_element(Build const& b, unit const& u, std::int64_t at_least) noexcept {
  auto const widen = [&](element e) {
    if (auto const bytes = static_cast<std::int64_t>(size_of(e)); at_least < bytes) at_least = bytes;
  };
  widen(b.g.tensors[b.g.result(b.g.nodes[u.node])].type);
  for (int k = 0; k < u.count; ++k) widen(b.plan.operand(u, k).type);
  return at_least;
}

template <class Build> struct tile_units {
  /// An operand of the step that is computed outside of it.
  struct outer {
    strided v;
    std::int32_t next = none; // in the same hash chain
    std::int32_t last = 0;    // the last unit that reads it
    tile_operand operand;     // its current location
    std::int32_t slot = none;
    bool fixed = false;    // one element, repeated in a pack
    bool splat = false;    // fixed, and filled by a `fill`
    bool direct = false;   // read in place
    bool foreign = false;  // in memory that must not be read beyond its end
    bool periodic = false; // the same for every tile
  };
  struct chain {
    std::int32_t step = none, first = none;
  };

  Build const& b;
  plan_data const& p;
  program_data& program;
  array<chain> chains;       // by a hash of root and offset
  array<std::int32_t> local; // by unit of the plan: its index in its step
  array<outer> outers;
  array<unit> units;
  array<std::int32_t> first_source; // by unit
  array<std::int32_t> sources;      // by operand of all units: a unit, or -1 - an outer operand
  array<std::int32_t> last;         // by unit: the last unit that reads it
  array<std::int32_t> type;         // by unit: the index of its threaded kernels, or none
  array<tile_operand> results;      // by unit
  array<std::int32_t> slots;        // by unit; none if it is stored elsewhere
  array<std::int32_t> free;
  std::int32_t top = 0;
  std::int64_t fixed_count = 0, slot_bytes = 0, largest = 1, granule = 1;
  std::int64_t elements = 0, tile_elements = 0; // of a phase of the step: all whole packs, or the rest

  tile_units(Build const& from, program_data& target)
      : b(from), p(from.plan), program(target), chains(power_of_two(2 * p.units.size())),
        local(p.units.size(), 0) {}

  node const& node_of(unit const& u) const { return b.g.nodes[u.node]; }
  element type_of(unit const& u) const { return b.g.tensors[b.g.result(node_of(u))].type; }
  std::int32_t source(int u, int k) const { return sources[first_source[u] + k]; }

  // The interface that segments and `emit_units` need.
  kernel_table const& kernels() const { return b.kernels; }
  operation const* op_of(int u) const { return node_of(units[u]).op; }
  element result_type(int u) const { return type_of(units[u]); }
  element operand_type(int u, int k) const { return p.operand(units[u], k).type; }
  static bool of_row(int) { return false; } // (tiles have no rows)
  static std::int64_t row_length() { return 1; }
  static constexpr bool has_reductions = false;
  static bool reduces(int) { return false; }
  static bool needs_segment(int) { return false; }
  bool is_read_outside(int u) const {
    return p.roots[units[u].root].outside || units[u].drain >= 0 || units[u].sum >= 0;
  }
  /// True if the result is written to its final location: with `whole` packs, or where there is room for them.
  bool stands(int u, bool whole) const {
    memory_root const& r = p.roots[units[u].root];
    return r.outside && (whole || r.kind == home::workspace);
  }
  tile_operand final_place(int u) const {
    address const a = address_of(b, p.roots[units[u].root]);
    return {a.base, static_cast<std::int32_t>(size_of(result_type(u))), a.offset};
  }

  void collect(std::int32_t s) {
    units.clear();
    outers.clear();
    sources.clear();
    first_source.clear();
    type.clear();
    largest = granule = 1;
    for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next) {
      unit const& n = p.units[u];
      int const here = local[u] = units.push(n);
      first_source.push(sources.size());
      type.push(threaded_type(n));
      widen(n);
      last.resize(here + 1);
      last[here] = here;
      for (int k = 0; k < n.count; ++k) {
        strided const& v = p.operand(n, k);
        memory_root const& r = p.roots[v.root];
        if (r.step == s) {
          sources.push(local[r.unit]);
          last[local[r.unit]] = here;
        } else {
          std::int32_t const at = outer_of(v, s);
          sources.push(-1 - at);
          outers[at].last = here;
        }
      }
    }
    last.resize(units.size());
  }

  /// The kernel of a unit, over contiguous memory.
  kernels::elementwise_kernel kernel_of(int of, tile_work& w) {
    unit const& u = units[of];
    node const& n = node_of(u);
    element const e = p.operand(u, u.count - 1).type;
    if (kernels::elementwise_kernel const k = b.kernels.elementwise(n.op, e, b.g.tensors[b.g.result(n)].type); k != nullptr)
      return k;
    w.signature = program.signatures.push(signature_of(b, u));
    return &evaluate_each;
  }

  /// True if all units have threaded kernels.
  bool is_cheap() const noexcept {
    for (std::int32_t const t : type)
      if (t == none) return false;
    return true;
  }
  std::int32_t threaded_type(unit const& u) const {
    element const e = p.operand(u, u.count - 1).type;
    strided const& mask = p.operand(u, 0);
    bool const one = mask.uniform() && (mask.count() > 1 || p.roots[mask.root].kind == home::constant);
    return b.kernels.threaded_type(node_of(u).op, e, mask.type, one);
  }

  std::int32_t outer_of(strided const& v, std::int32_t s) {
    std::uint64_t const h =
        (static_cast<std::uint64_t>(v.offset) * 0x100000001b3u + static_cast<std::uint64_t>(v.root)) *
        0x9E3779B97F4A7C15u;
    chain& c = chains[static_cast<int>((h >> 32) & static_cast<std::uint64_t>(chains.size() - 1))];
    if (c.step != s) c = {s, none};
    for (std::int32_t k = c.first; k != none; k = outers[k].next)
      if (outers[k].v == v) return k;
    outer o;
    o.v = v;
    o.next = c.first;
    return c.first = outers.push(o);
  }

  /// Updates the largest element, and the number of elements that kernels process at a time.
  void widen(unit const& u) {
    node const& n = b.g.nodes[u.node];
    auto const to = static_cast<std::int64_t>(size_of(b.g.tensors[b.g.result(n)].type));
    auto const from = static_cast<std::int64_t>(size_of(p.operand(u, u.count - 1).type));
    std::int64_t const width = simd::bytes / (n.op == b.kernels.convert && to > from ? to : from);
    if (granule < width) granule = width;
    // reductions take whole packs too
    if (u.sum >= 0 && granule < simd::bytes / to) granule = simd::bytes / to;
    largest = largest_element(b, u, largest);
  }

  /// How many values have a slot of a tile at one time, at most.
  std::int64_t live_slots() const {
    array<std::int32_t> ends(units.size() + 1, 0);
    std::int64_t live = 0, most = 0;
    for (outer const& o : outers)
      if (p.roots[o.v.root].kind == home::positions || !o.v.contiguous()) ++live, ++ends[o.last];
    for (int u = 0; u < units.size(); ++u) {
      if (!p.roots[units[u].root].outside) ++live, ++ends[last[u]];
      if (most < live) most = live;
      live -= ends[u];
    }
    return most;
  }

  /// About 1,024 elements, a multiple of what repeats; fewer where many values are live, since the slots of a tile are
  /// memory that every program with such a step needs, and should stay in the caches.
  std::int64_t tile_length(std::int64_t count) const {
    constexpr std::int64_t least = 64;
    std::int64_t usual = units.size() > 8 ? 512 : 1024;
    for (std::int64_t const bytes = live_slots() * largest; usual > least && usual * bytes > p.tile_bytes;) usual /= 2;
    if (count <= usual) return usual;
    std::int64_t multiple = least;
    std::int64_t const longest = usual < 512 ? 4 * usual : 2048;
    for (outer const& o : outers) {
      std::int64_t const repeats = period(o.v);
      if (repeats < 1 || repeats >= count) continue;
      std::int64_t const both = repeats / common_divisor(multiple, repeats) * multiple;
      if (both <= longest) multiple = both;
    }
    return multiple > usual ? multiple : usual / multiple * multiple;
  }

  void classify(outer& o, std::int64_t tile) {
    memory_root const& r = p.roots[o.v.root];
    auto const bytes = static_cast<std::int32_t>(size_of(o.v.type));
    address const a = address_of(b, o.v);
    bool const memory = r.kind != home::positions;
    home const whole = p.roots[p.whole(o.v.root)].kind;
    o.foreign = whole == home::input || whole == home::output;
    o.fixed = memory && o.v.uniform() && (r.kind == home::constant || o.v.count() > 1);
    if (o.fixed) {
      o.splat = r.kind != home::constant;
      o.operand =
          o.splat ? tile_operand{base::scratch, 0, 64 * fixed_count++} : tile_operand{a.base, 0, a.offset};
      return;
    }
    o.direct = memory && o.v.contiguous();
    if (o.direct) o.operand = {a.base, bytes, a.offset};
    std::int64_t const repeats = period(o.v);
    o.periodic = !o.direct && o.v.count() > tile && repeats >= 1 && tile % repeats == 0;
  }

  static constexpr std::int64_t lines_of_state = whole_lines(kernels::part_state_bytes) / 64;

  std::int64_t count_sums() const {
    std::int64_t n = 0;
    for (unit const& u : units)
      for (std::int32_t r = u.sum; r >= 0; r = p.units[r].sum) ++n;
    return n;
  }
  /// Emits the reductions of results that are computed; `state`: the offset of their states in the scratch memory.
  void emit_sums(std::int64_t state, range& sums) {
    sums.first = program.part_reductions.size();
    for (int u = 0; u < units.size(); ++u)
      for (std::int32_t r = units[u].sum; r >= 0; r = p.units[r].sum) {
        unit const& of = p.units[r];
        kernels::part_kernel const run =
            b.kernels.find(node_of(of).op)->parts[static_cast<int>(type_of(of))];
        program.part_reductions.push(
            {run, results[u], address_of(b, p.roots[of.root]), {base::scratch, state}});
        state += 64 * lines_of_state;
      }
    sums.count = program.part_reductions.size() - sums.first;
  }

  std::int32_t take() { return free.empty() ? top++ : free.pop(); }
  tile_operand slot(std::int32_t k) const noexcept {
    return {base::scratch, 0, 64 * fixed_count + slot_bytes * k};
  }
  /// Frees the slot of a source after its last reader u, unless it is copied at the end.
  void release(std::int32_t from, int u) {
    std::int32_t& s = from < 0 ? outers[-1 - from].slot : slots[from];
    bool const copied =
        from >= 0 && (p.roots[units[from].root].outside || units[from].drain >= 0 || units[from].sum >= 0);
    if (s == none || (from < 0 ? outers[-1 - from].last : last[from]) > u || copied) return;
    free.push(s);
    s = none;
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
