// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_FUSE_HPP
#define COTANGENT_PLAN_FUSE_HPP

#include <cotangent/plan/placements.hpp>

// Fuses nodes into nests of loops and their stages: the first half of planning.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class fuser {
  placements& s_;
  static constexpr float cheap_lane = placements::cheap_lane, cheap_scalar = placements::cheap_scalar,
                         dear = placements::dear;

public:
  /// For classified symbols.
  constexpr explicit fuser(placements& symbols) : s_(symbols) { assign_levels(); }

private:
  /// The lowest level of a nest over `d` that reads `r`.
  constexpr std::int32_t level_for(resolved const& r, std::int32_t d) const {
    symbol const root = s_.stored_root(r.base);
    if (root == none) return 0;
    if (root == r.base && s_.within(r, d)) return s_.at[root].level;
    return s_.repeatable(r, d) ? s_.at[root].ready : s_.at[root].level + 1;
  }
  constexpr void assign_levels() {
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) {
      node const& n = s_.g.nodes[i];
      symbol const y = s_.g.result(n);
      if (!s_.is_computed(y)) {
        if (n.operand_count > 0 && s_.at[y].kind != place_kind::immediate) delay(n, y);
        continue;
      }
      if (s_.at[y].kind == place_kind::kernel) assign_kernel(n, y);
      else if (n.op->kind == operation_kind::reduction) assign_reduction(n, y);
      else assign_lane(n, y);
    }
  }

  /// An op::after delays its readers: its level is the lowest level at which they may run.
  constexpr void delay(node const& n, symbol y) {
    s_.at[y].level = s_.not_before(s_.g.operand(n, 0));
    for (int k = 1; k < n.operand_count; ++k) {
      symbol const t = s_.g.operand(n, k), root = s_.stored_root(s_.resolve(t).base);
      s_.at[y].level = larger(s_.at[y].level, s_.not_before(t));
      if (root == none) continue;
      bool const is_last = s_.at[root].kind == place_kind::kernel || s_.at[root].kind == place_kind::total;
      s_.at[y].level = larger(s_.at[y].level, s_.at[root].level + (is_last ? 1 : 0));
    }
  }
  constexpr void assign_kernel(node const& n, symbol y) {
    s_.at[y].kind = place_kind::kernel;
    s_.at[y].must_store = true;
    s_.at[y].level = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const root = s_.stored_root(s_.resolve(s_.g.operand(n, k)).base);
      if (root != none && s_.at[root].level >= s_.at[y].level) s_.at[y].level = s_.at[root].level + 1;
      s_.at[y].level = larger(s_.at[y].level, s_.not_before(s_.g.operand(n, k)));
    }
    for (int k = 1; k < n.result_count; ++k) {
      s_.at[s_.g.result(n, k)].must_store = true;
      s_.at[s_.g.result(n, k)].level = s_.at[y].level;
    }
  }

  constexpr void assign_lane(node const& n, symbol y) {
    symbol_plan& a = s_.at[y];
    std::int32_t const d = s_.nest_domain(y);
    if (n.op->kind == operation_kind::pad) return assign_pad(n, a, d);
    // In a nest over its own shape, or with the row values that it reads.
    std::int32_t level = 0, stage = 0, ready = 0, rows = none, row_level = -1;
    float chain = n.op->cost;
    symbol loaded = none;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = s_.g.operand(n, k);
      symbol_plan const& o = s_.at[t];
      std::int32_t l = 0, s = 0, again = 0;
      if (o.kind == place_kind::lane && o.domain == d) { // by far the most frequent case
        l = o.level;
        s = o.stage;
        again = o.chain <= cheap_lane ? o.ready : l + 1;
        chain += cost_again(o, t, loaded);
      } else if (o.kind != place_kind::argument && o.kind != place_kind::immediate) {
        resolved const r = s_.resolve(t);
        symbol_plan const& b = s_.at[r.base];
        std::int32_t const wait = s_.not_before(t);
        l = larger(level_for(r, d), wait);
        s = s_.within(r, d) && b.level == l ? b.stage : 0;
        again = larger(ready_for(r, d), wait);
        chain += b.kind == place_kind::lane        ? cost_again(b, r.base, loaded)
                 : b.kind == place_kind::immediate ? 0.0f
                                                   : 0.5f;
        if (b.kind == place_kind::row && r.direct && s_.nest_domain(r.base) == d && b.level > row_level) {
          rows = b.domain;
          row_level = b.level;
        }
      }
      if (l > level) stage = s;
      else if (l == level && s > stage) stage = s;
      level = larger(level, l);
      ready = larger(ready, again);
    }
    a.chain = chain < dear ? chain : dear;
    a.loaded = loaded;
    a.kind = s_.domains[d].rank == 0 ? place_kind::row : place_kind::lane;
    a.domain = d;
    a.level = level;
    a.ready = ready;
    a.stage = stage;
    if (rows != none && rows != d) try_beside(n, a, rows);
  }
  /// The cost of an operand where its reader is recomputed. A dear operand is stored and loaded: `tanh` for
  /// `1 - tanh^2`, so that one of them is stored, not both. A reader of two different ones is stored instead.
  static constexpr float cost_again(symbol_plan const& o, symbol t, symbol& loaded) {
    symbol const stored = o.chain <= cheap_lane ? o.loaded : t;
    if (stored == none) return o.chain;
    if (loaded != none && loaded != stored) return dear;
    loaded = stored;
    return stored == t ? 0.5f : o.chain;
  }
  constexpr void assign_pad(node const& n, symbol_plan& a, std::int32_t d) {
    a.kind = place_kind::lane;
    a.domain = d;
    if (s_.shifts(n, d)) {
      symbol_plan const& o = s_.at[s_.g.operand(n, 0)];
      a.level = a.ready = o.level;
      a.stage = o.stage;
      a.chain = dear; // it needs the previous position
      return;
    }
    symbol const root = s_.stored_root(s_.resolve(s_.g.operand(n, 0)).base); // read through a window
    a.level = a.ready = larger(s_.not_before(s_.g.operand(n, 0)), root == none ? 0 : s_.at[root].level + 1);
    a.chain = dear; // read through a window in its own nest only
  }
  constexpr void try_beside(node const& n, symbol_plan& a, std::int32_t rows) {
    std::int32_t beside = 0;
    for (int k = 0; k < n.operand_count; ++k)
      beside = larger(
          beside, larger(level_for(s_.resolve(s_.g.operand(n, k)), rows), s_.not_before(s_.g.operand(n, k))));
    if (beside > a.level) return;
    a.kind = place_kind::row;
    a.domain = rows;
    a.level = beside;
    a.stage = stage_of(n, a);
  }

  /// The lowest level of a nest that recomputes a reader of `r`, whose nests are over `own`. Such a nest has further axes, in
  /// which it repeats a row of `own`: it recomputes `r` as well if this is such a row, or one number.
  constexpr std::int32_t ready_for(resolved const& r, std::int32_t own) const {
    symbol const root = s_.stored_root(r.base);
    if (root == none) return 0;
    symbol_plan const& b = s_.at[root];
    bool const again =
        root == r.base && r.direct &&
        ((b.kind == place_kind::lane && b.chain <= cheap_lane && s_.nest_domain(root) == own) ||
         (b.kind == place_kind::row && s_.domains[s_.domain_id(root)].rank == 0 && b.chain <= cheap_scalar));
    return again ? b.ready : b.level + 1;
  }

  /// The first stage of the nest in which all operands are available.
  constexpr std::int32_t stage_of(node const& n, symbol_plan const& a) {
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      resolved const r = s_.resolve(s_.g.operand(n, k));
      symbol_plan const& b = s_.at[r.base];
      if (s_.within(r, a.domain) && b.level == a.level && b.stage > stage) stage = b.stage;
    }
    return stage;
  }

  constexpr void assign_reduction(node const& n, symbol y) {
    symbol_plan& a = s_.at[y];
    symbol const x = s_.g.operand(n, 0);
    resolved const r = s_.resolve(x);
    std::int32_t const dx = s_.nest_domain(x);
    domain const& d = s_.domains[dx];
    std::uint32_t const mask = s_.squeezed(s_.g.shape(x), static_cast<std::uint32_t>(s_.g.attribute(n))),
                        all = (1u << d.rank) - 1;
    bool const of_rows = s_.at[r.base].kind == place_kind::row && r.direct && s_.nest_domain(r.base) == dx &&
                         s_.at[r.base].domain != dx;
    a.chain = dear; // never recomputed
    if (of_rows && mask == all && s_.not_before(x) <= s_.at[r.base].level) {
      a.kind = place_kind::total;
      a.level = s_.at[r.base].level;
      a.domain = s_.at[r.base].domain;
      a.stage = s_.at[r.base].stage;
      return;
    }
    std::uint32_t const trailing = d.split == none ? 0 : all & ~((1u << d.split) - 1);
    if (d.split == none || of_rows || (mask != all && mask != trailing && mask != (all & ~trailing)))
      return assign_kernel(n, y);
    a.domain = dx;
    a.level = larger(level_for(r, dx), s_.not_before(x));
    a.kind = mask == trailing ? place_kind::row : place_kind::total;
    a.stage = stage_of(n, a) + (mask == trailing ? 1 : 0);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
