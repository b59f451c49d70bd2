// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_FUSE_HPP
#define COTANGENT_PLAN_FUSE_HPP

#include <cotangent/plan/classify.hpp>

// Fuses nodes into nests of loops and their stages: the first half of planning.

namespace cotangent::detail {

class fuser : public classifier {
public:
  /// For a classified graph; `fused`: levels are known, too.
  constexpr fuser(graph_view const& graph, classification&& c, bool fused) : classifier(graph, static_cast<classification&&>(c)) {
    if (!fused) assign_levels();
  }

  /// True if the value is available without memory, in a nest over `d` at the value's level.
  constexpr bool within(resolved const& r, std::int32_t d) const {
    symbol_plan const& a = at[r.base];
    return r.direct && (a.kind == place_kind::lane || a.kind == place_kind::row) && a.domain == d;
  }
  /// The lowest level of a nest over `d` that reads `r`.
  constexpr std::int32_t level_for(resolved const& r, std::int32_t d) const {
    symbol const root = stored_root(r.base);
    if (root == none) return 0;
    if (root == r.base && within(r, d)) return at[root].level;
    return repeatable(r, d) ? at[root].ready : at[root].level + 1;
  }
  /// True if a nest over `d` may recompute the value instead of reading what another nest stored.
  constexpr bool repeatable(resolved const& r, std::int32_t d) const {
    symbol_plan const& b = at[r.base];
    std::int32_t const own = nest_domain(r.base);
    return r.direct && ((b.kind == place_kind::lane && b.chain <= cheap_lane &&
                         (own == d || (domains[d].split > 0 && domains[own].rank == domains[d].split))) ||
                        (b.kind == place_kind::row && domains[own].rank == 0 && b.chain <= cheap_scalar));
  }
  /// In additions, from stored values. Shared work counts once for each read, which doubles with every
  /// squaring: the count saturates at `dear`.
  static constexpr float cheap_lane = 4, cheap_scalar = 30, dear = 1000;

  // ---- levels

  constexpr void assign_levels() {
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      symbol const y = g.result(n);
      if (!is_computed(y)) {
        if (n.operand_count > 0 && at[y].kind != place_kind::immediate) delay(n, y);
        continue;
      }
      if (at[y].kind == place_kind::kernel) assign_kernel(n, y);
      else if (n.op->kind == operation_kind::reduction) assign_reduction(n, y);
      else assign_lane(n, y);
    }
  }

  /// An op::after delays its readers: its level is the lowest level at which they may run.
  constexpr void delay(node const& n, symbol y) {
    at[y].level = not_before(g.operand(n, 0));
    for (int k = 1; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k), root = stored_root(resolve(t).base);
      at[y].level = larger(at[y].level, not_before(t));
      if (root == none) continue;
      bool const is_last = at[root].kind == place_kind::kernel || at[root].kind == place_kind::total;
      at[y].level = larger(at[y].level, at[root].level + (is_last ? 1 : 0));
    }
  }
  constexpr std::int32_t not_before(symbol t) const {
    return at[t].kind == place_kind::repeated || at[t].kind == place_kind::alias ? at[t].level : 0;
  }

  constexpr void assign_kernel(node const& n, symbol y) {
    at[y].kind = place_kind::kernel;
    at[y].must_store = true;
    at[y].level = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const root = stored_root(resolve(g.operand(n, k)).base);
      if (root != none && at[root].level >= at[y].level) at[y].level = at[root].level + 1;
      at[y].level = larger(at[y].level, not_before(g.operand(n, k)));
    }
    for (int k = 1; k < n.result_count; ++k) {
      at[g.result(n, k)].must_store = true;
      at[g.result(n, k)].level = at[y].level;
    }
  }

  constexpr void assign_lane(node const& n, symbol y) {
    symbol_plan& a = at[y];
    std::int32_t const d = nest_domain(y);
    if (n.op->kind == operation_kind::pad) return assign_pad(n, a, d);
    // In a nest over its own shape, or with the row values that it reads.
    std::int32_t level = 0, stage = 0, ready = 0, rows = none, row_level = -1;
    float chain = n.op->cost;
    symbol loaded = none;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k);
      symbol_plan const& o = at[t];
      std::int32_t l = 0, s = 0, again = 0;
      if (o.kind == place_kind::lane && o.domain == d) { // by far the most frequent case
        l = o.level;
        s = o.stage;
        again = o.chain <= cheap_lane ? o.ready : l + 1;
        chain += cost_again(o, t, loaded);
      } else if (o.kind != place_kind::argument && o.kind != place_kind::immediate) {
        resolved const r = resolve(t);
        symbol_plan const& b = at[r.base];
        std::int32_t const wait = not_before(t);
        l = larger(level_for(r, d), wait);
        s = within(r, d) && b.level == l ? b.stage : 0;
        again = larger(ready_for(r), wait);
        chain += b.kind == place_kind::lane ? cost_again(b, r.base, loaded) : b.kind == place_kind::immediate ? 0.0f : 0.5f;
        if (b.kind == place_kind::row && r.direct && nest_domain(r.base) == d && b.level > row_level) {
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
    a.kind = domains[d].rank == 0 ? place_kind::row : place_kind::lane;
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
    if (shifts(n, d)) {
      symbol_plan const& o = at[g.operand(n, 0)];
      a.level = a.ready = o.level;
      a.stage = o.stage;
      a.chain = dear; // it needs the previous position
      return;
    }
    symbol const root = stored_root(resolve(g.operand(n, 0)).base); // read through a window
    a.level = a.ready = larger(not_before(g.operand(n, 0)), root == none ? 0 : at[root].level + 1);
    a.chain = dear; // read through a window in its own nest only
  }
  /// True if a pad's operand is in its own nest over `d`.
  constexpr bool shifts(node const& n, std::int32_t d) const {
    symbol const x = g.operand(n, 0);
    return at[x].kind == place_kind::lane && at[x].domain == d && domain_id(x) != d && shift_of(n) != none;
  }
  constexpr void try_beside(node const& n, symbol_plan& a, std::int32_t rows) {
    std::int32_t beside = 0;
    for (int k = 0; k < n.operand_count; ++k) beside = larger(beside, larger(level_for(resolve(g.operand(n, k)), rows), not_before(g.operand(n, k))));
    if (beside > a.level) return;
    a.kind = place_kind::row;
    a.domain = rows;
    a.level = beside;
    a.stage = stage_of(n, a);
  }

  /// The lowest level of a nest that recomputes a reader of `r`.
  constexpr std::int32_t ready_for(resolved const& r) const {
    symbol const root = stored_root(r.base);
    if (root == none) return 0;
    symbol_plan const& b = at[root];
    bool const again = root == r.base && r.direct &&
                       ((b.kind == place_kind::lane && b.chain <= cheap_lane) ||
                        (b.kind == place_kind::row && domains[domain_id(root)].rank == 0 && b.chain <= cheap_scalar));
    return again ? b.ready : b.level + 1;
  }

  /// The first stage of the nest in which all operands are available.
  constexpr std::int32_t stage_of(node const& n, symbol_plan const& a) {
    std::int32_t stage = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      resolved const r = resolve(g.operand(n, k));
      symbol_plan const& b = at[r.base];
      if (within(r, a.domain) && b.level == a.level && b.stage > stage) stage = b.stage;
    }
    return stage;
  }

  constexpr void assign_reduction(node const& n, symbol y) {
    symbol_plan& a = at[y];
    symbol const x = g.operand(n, 0);
    resolved const r = resolve(x);
    std::int32_t const dx = nest_domain(x);
    domain const& d = domains[dx];
    std::uint32_t const mask = squeezed(g.shape(x), static_cast<std::uint32_t>(g.attribute(n))), all = (1u << d.rank) - 1;
    bool const of_rows = at[r.base].kind == place_kind::row && r.direct && nest_domain(r.base) == dx && at[r.base].domain != dx;
    a.chain = dear; // never recomputed
    if (of_rows && mask == all && not_before(x) <= at[r.base].level) {
      a.kind = place_kind::total;
      a.level = at[r.base].level;
      a.domain = at[r.base].domain;
      a.stage = at[r.base].stage;
      return;
    }
    std::uint32_t const trailing = d.split == none ? 0 : all & ~((1u << d.split) - 1);
    if (d.split == none || of_rows || (mask != all && mask != trailing && mask != (all & ~trailing)))
      return assign_kernel(n, y);
    a.domain = dx;
    a.level = larger(level_for(r, dx), not_before(x));
    a.kind = mask == trailing ? place_kind::row : place_kind::total;
    a.stage = stage_of(n, a) + (mask == trailing ? 1 : 0);
  }
};

} // namespace cotangent::detail

#endif
