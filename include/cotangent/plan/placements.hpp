// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_PLACEMENTS_HPP
#define COTANGENT_PLAN_PLACEMENTS_HPP

#include <cotangent/ops/ops.hpp>
#include <cotangent/plan/sizes.hpp>
#include <cotangent/plan/symbol_plan.hpp>

// The planner's knowledge of a graph, its decisions, and queries of its passes about symbols: their domain, their memory,
// and the access of a nest to operands.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The passes of the planner read it and write it, in this order: classifier, fuser, late_sums, scheduler.
class placements {
  array<symbol_plan> symbols_;

public:
  graph_view g;
  plan p;
  size_table sizes;
  array<domain> domains;
  array<std::int32_t> domain_of;         // by shape
  array<std::int32_t> nest_domain_of;    // by shape: of the nests that compute it
  bool has_pads = false, hosted = false; // there are pads; some domains run in others
  symbol_plan* at; // by symbol; a pointer: constant evaluations count accessors of arrays as calls
  array<memory_view> views;
  array<resolved> repeats; // of broadcasts
  array<symbol> results;   // for each output: the symbol whose memory it is

  placements(placements const&) = delete;
  constexpr placements(graph_view const& graph, classification&& c)
      : symbols_(static_cast<array<symbol_plan>&&>(c.at)), g(graph), sizes(p.derived, graph.extent_count),
        domains(static_cast<array<domain>&&>(c.domains)),
        domain_of(static_cast<array<std::int32_t>&&>(c.domain_of)),
        nest_domain_of(static_cast<array<std::int32_t>&&>(c.nest_domain_of)), has_pads(c.has_pads),
        hosted(c.hosted), at(symbols_.data()), views(static_cast<array<memory_view>&&>(c.views)),
        repeats(static_cast<array<resolved>&&>(c.repeats)), results(static_cast<array<symbol>&&>(c.results)) {
    p.known_sizes = g.extent_count;
    p.windows = static_cast<array<window>&&>(c.windows);
    p.derived = static_cast<array<derived_size>&&>(c.derived);
  }
  /// Hands the classification to the next pass.
  constexpr classification take() {
    return {static_cast<array<domain>&&>(domains),
            static_cast<array<std::int32_t>&&>(domain_of),
            static_cast<array<std::int32_t>&&>(nest_domain_of),
            static_cast<array<symbol_plan>&&>(symbols_),
            static_cast<array<memory_view>&&>(views),
            static_cast<array<resolved>&&>(repeats),
            static_cast<array<symbol>&&>(results),
            static_cast<array<window>&&>(p.windows),
            static_cast<array<derived_size>&&>(p.derived),
            has_pads,
            hosted};
  }

  constexpr explicit placements(graph_view const& graph)
      : symbols_(graph.tensor_count), g(graph), sizes(p.derived, graph.extent_count), at(symbols_.data()) {
    p.known_sizes = g.extent_count;
    make_domains();
  }

  // ---- shapes

  constexpr void make_domains() {
    domain_of.resize(g.shape_count);
    hash_index index;
    for (std::int32_t s = 0; s < g.shape_count; ++s) {
      domain d;
      std::uint32_t h = 1;
      for (int k = 0; k < g.shapes[s].rank; ++k)
        if (g.shapes[s].size[k] != 1) {
          h = mix(h, static_cast<std::uint64_t>(g.shapes[s].size[k]));
          d.size[d.rank++] = g.shapes[s].size[k];
        }
      std::int32_t const found = index.find(h, [&](std::int32_t i) {
        for (int k = 0; k < d.rank; ++k)
          if (domains[i].size[k] != d.size[k]) return false;
        return domains[i].rank == d.rank;
      });
      domain_of[s] = found != none ? found : domains.size();
      if (found != none) continue;
      index.add(h);
      domains.push(d);
    }
  }
  constexpr std::int32_t domain_id(symbol t) const { return domain_of[g.tensors[t].shape]; }
  /// The domain of the nests that compute it.
  constexpr std::int32_t nest_domain(symbol t) const { return nest_domain_of[g.tensors[t].shape]; }
  /// The bits of the axes in `mask` of a shape, numbered without axes of size 1.
  constexpr std::uint32_t squeezed(dimensions const& d, std::uint32_t mask) const {
    std::uint32_t m = 0, bit = 1;
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] != 1) {
        if ((mask >> k & 1u) != 0) m |= bit;
        bit <<= 1;
      }
    return m;
  }
  constexpr memory_view row_major(symbol t) {
    memory_view v;
    v.root = t;
    dimensions const& d = g.shape(t);
    dimension step = 1;
    for (int k = d.rank - 1; k >= 0; --k) {
      v.stride[k] = d.size[k] == 1 ? 0 : step;
      step = sizes.product(step, d.size[k]);
    }
    return v;
  }
  constexpr memory_view view_of(symbol t) {
    return at[t].kind == place_kind::alias || at[t].home != none ? views[at[t].view] : row_major(t);
  }
  constexpr bool contiguous(memory_view const& v, symbol t) {
    memory_view const r = row_major(t);
    for (int k = 0; k < g.shape(t).rank; ++k)
      if (r.stride[k] != v.stride[k]) return false;
    return true;
  }

  /// The symbol whose memory has the same elements in the same order, or `t` itself.
  constexpr symbol same_memory(symbol t) {
    symbol root = resolve(t).base;
    if (at[root].kind == place_kind::alias) {
      memory_view const& v = views[at[root].view];
      if (v.offset != 0 || !contiguous(v, root) || count(v.root) != count(root)) return t;
      root = v.root;
    }
    return count(root) == count(t) && resolve(t).direct ? root : t;
  }
  constexpr dimension count(symbol t) {
    dimension n = 1;
    for (int k = 0; k < g.shape(t).rank; ++k) n = sizes.product(n, g.shape(t).size[k]);
    return n;
  }

  // ---- operands

  constexpr resolved resolve(symbol t) const {
    return at[t].kind == place_kind::repeated ? repeats[at[t].view] : resolved{t};
  }
  /// The nest axis of the k-th axis of the base; `next` numbers those that are not of size 1.
  constexpr std::int32_t axis_of(resolved const& r, int k, int& next) const {
    return r.repeats ? r.axis[k] : g.shape(r.base).size[k] == 1 ? none : next++;
  }
  constexpr bool is_computed(symbol t) const { return at[t].kind >= place_kind::lane; }
  /// The symbol whose memory is read.
  constexpr symbol root_of(symbol t) const {
    return at[t].kind == place_kind::alias ? views[at[t].view].root : t;
  }
  /// The computed symbol that must be stored for a view, or none.
  constexpr symbol stored_root(symbol t) const {
    symbol const root = root_of(t);
    return is_computed(root) ? root : none;
  }

  /// True if a matrix product can read it directly: one axis of its matrices is contiguous.
  constexpr bool is_matrix(symbol t) {
    resolved const r = resolve(t);
    dimension stride[max_rank]{};
    kernel_strides_of(t, stride);
    dimensions const& d = g.shape(t);
    int const row = d.rank - 2, column = d.rank - 1; // (a stack may repeat one matrix)
    if (r.base != t && ((stride[row] == 0 && d.size[row] != 1) || (stride[column] == 0 && d.size[column] != 1)))
      return false;
    return stride[column] == 1 || stride[row] == 1 || d.size[row] == 1 || d.size[column] == 1;
  }

  /// The strides of an operand along the axes of its nest.
  constexpr memory_view strides_of(resolved const& r, dimension* stride) {
    memory_view const v = view_of(r.base);
    int const rank = g.shape(r.base).rank;
    for (int k = 0, next = 0; k < rank; ++k)
      if (std::int32_t const axis = axis_of(r, k, next); axis != none) stride[axis] = v.stride[k];
    return v;
  }
  /// The strides of operand `t` along its own axes.
  constexpr memory_view kernel_strides_of(symbol t, dimension* stride) {
    resolved const r = resolve(t);
    memory_view const v = view_of(r.base);
    dimensions const& d = g.shape(t);
    std::int32_t own[max_rank]{}; // the axis of t behind each of its axes that are not of size 1
    for (int k = 0, j = 0; k < d.rank; ++k)
      if (d.size[k] != 1) own[j++] = k;
    for (int k = 0, next = 0; k < g.shape(r.base).rank; ++k)
      if (std::int32_t const axis = axis_of(r, k, next); axis != none) stride[own[axis]] = v.stride[k];
    return v;
  }

  // ---- nests

  /// True if the value is available without memory, in a nest over `d` at the value's level.
  constexpr bool within(resolved const& r, std::int32_t d) const {
    symbol_plan const& a = at[r.base];
    return r.direct && (a.kind == place_kind::lane || a.kind == place_kind::row) && a.domain == d;
  }
  /// True if a nest over `d` may recompute the value instead of reading what another nest stored.
  constexpr bool repeatable(resolved const& r, std::int32_t d) const {
    symbol_plan const& b = at[r.base];
    std::int32_t const own = nest_domain(r.base);
    return r.direct && ((b.kind == place_kind::lane && b.chain <= cheap_lane &&
                         (own == d || (domains[d].split > 0 && domains[own].rank == domains[d].split))) ||
                        (b.kind == place_kind::row && domains[own].rank == 0 && b.chain <= cheap_scalar));
  }
  /// The largest costs of values that are recomputed, in additions, from stored values. Shared work counts once for each read, which doubles with every
  /// squaring: the count saturates at `dear`.
  static constexpr float cheap_lane = 4, cheap_scalar = 30, dear = 1000;
  static constexpr dimension most_shift = 4; // of pads that are computed in the nest of their operand
  /// A lower bound of the level of nests that read `t`: see op::after.
  constexpr std::int32_t not_before(symbol t) const {
    return at[t].kind == place_kind::repeated || at[t].kind == place_kind::alias ? at[t].level : 0;
  }
  /// The distance by which a pad shifts its operand along the only axis; none if it is not short.
  constexpr std::int32_t shift_of(node const& n) const {
    dimensions const& d = g.shape(g.result(n));
    std::int32_t low = none;
    for (int k = 0; k < d.rank; ++k) {
      if (d.size[k] == 1) continue;
      dimension const from = g.attribute(n, 2 * k);
      if (low != none || from < 0 || from > most_shift) return none;
      low = static_cast<std::int32_t>(from);
    }
    return low;
  }
  /// True if a pad's operand is in its own nest over `d`.
  constexpr bool shifts(node const& n, std::int32_t d) const {
    symbol const x = g.operand(n, 0);
    return at[x].kind == place_kind::lane && at[x].domain == d && domain_id(x) != d && shift_of(n) != none;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
