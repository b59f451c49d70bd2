// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_LATE_SUMS_HPP
#define COTANGENT_TRANSFORM_LATE_SUMS_HPP

#include <cotangent/transform/demand.hpp>

#include <bit>

// In which stage of its nest a reduction is made. Each could run in the first stage in which its operand is there, and would
// load there what nothing else needs yet. So those that nobody waits for move to a stage that has their operand anyway.

namespace cotangent::detail {

class late_sums : public demander {
public:
  constexpr late_sums(graph_view const& graph, classification&& fused)
      : demander(graph, static_cast<classification&&>(fused)) {
    int sums = 0;
    for (std::int32_t i = 0; i < g.node_count; ++i) sums += is_sum(g.nodes[i]) ? 1 : 0;
    if (sums < 2) return;
    find_last_stages();
    read_.resize(g.tensor_count);
    late_.assign(g.tensor_count, none);
    for (std::int32_t i = 0; i < g.node_count; ++i) read_for_sure(g.nodes[i]);
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (is_sum(g.nodes[i])) choose(g.nodes[i]);
  }

protected:
  /// Where the value of a row or a reduction of `n` is computed, whose readers are known.
  constexpr std::int32_t stage_made(node const& n, symbol y) const {
    symbol_plan const& a = at[y];
    bool const sum = n.op->kind == operation_kind::reduction;
    if (a.kind == place_kind::total) return sum && late_.size() > 0 && late_[y] != none ? late_[y] : a.stage;
    if (a.kind != place_kind::row || late_.size() == 0) return first_stage(n, y);
    std::int32_t wanted = none;
    demand const* const all = demands.data();
    for (std::int32_t k = a.demand; k != none; k = all[k].next)
      if (all[k].nest == a.nest && (wanted == none || all[k].stage < wanted)) wanted = all[k].stage;
    if (!sum) return wanted > a.stage ? wanted : a.stage;
    if (late_[y] == none) return a.stage - 1;
    return wanted == none || late_[y] < wanted ? late_[y] : wanted - 1;
  }

private:
  /// The stages of one nest that read a symbol, as bits.
  struct stages_read {
    std::int32_t nest = none;
    std::uint64_t stages = 0;
  };
  array<std::int32_t> last_; // by symbol, of row values: the first stage that reads it
  array<stages_read> read_;  // by symbol
  array<std::int32_t> late_; // by symbol: the stage of a reduction, none for others
  static constexpr int most_stages = 64, most_deep = 4;

  constexpr bool is_sum(node const& n) const {
    place_kind const k = at[g.result(n)].kind;
    return n.op->kind == operation_kind::reduction && (k == place_kind::row || k == place_kind::total);
  }
  constexpr std::int32_t first_stage(node const& n, symbol y) const {
    return at[y].stage - (n.op->kind == operation_kind::reduction && at[y].kind == place_kind::row ? 1 : 0);
  }
  constexpr bool is_here(resolved const& r, std::int32_t nest) const {
    return within(r, p.nests[nest].domain) && at[r.base].nest == nest;
  }

  constexpr void find_last_stages() {
    last_.assign(g.tensor_count, none);
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) {
      node const& n = g.nodes[i];
      symbol const y = g.result(n);
      symbol_plan const& a = at[y];
      if (a.kind != place_kind::lane && a.kind != place_kind::row && a.kind != place_kind::total) continue;
      if (a.kind == place_kind::row && last_[y] < a.stage) last_[y] = a.stage; // nobody in this nest asks
      std::int32_t const reads = a.kind == place_kind::row && !is_sum(n) ? last_[y] : first_stage(n, y);
      for (int k = 0; k < n.operand_count; ++k)
        if (resolved const r = resolve(g.operand(n, k));
            is_here(r, a.nest) && at[r.base].kind == place_kind::row)
          if (std::int32_t& last = last_[r.base]; last == none || reads < last) last = reads;
    }
  }

  /// Is a lane value computed again in each stage that reads it?
  constexpr bool is_remade(symbol t) const {
    node const* const n = g.producer(t);
    return at[t].kind == place_kind::lane && !at[t].must_store && at[t].chain <= cheap_lane && n != nullptr &&
           n->op->kind == operation_kind::elementwise;
  }

  constexpr void read_for_sure(node const& n) {
    symbol const y = g.result(n);
    symbol_plan const& a = at[y];
    bool const lane = a.kind == place_kind::lane && !is_remade(y);
    bool const sum = is_sum(n) && a.kind == place_kind::row && last_[y] <= a.stage; // somebody waits
    if (lane) read(y, a.nest, a.stage);
    if (sum) late_[y] = first_stage(n, y);
    if (n.op->kind == operation_kind::pad) return;
    for (int k = 0; k < n.operand_count && (lane || sum); ++k)
      read(g.operand(n, k), a.nest, first_stage(n, y));
  }
  constexpr void read(symbol t, std::int32_t nest, std::int32_t stage, int deep = 0) {
    resolved const r = resolve(t);
    place_kind const kind = at[r.base].kind;
    bool const here = is_here(r, nest);
    if (stage >= most_stages || kind == place_kind::immediate || (here && kind == place_kind::row)) return;
    stages_read& s = read_[here ? r.base : view_of(r.base).root];
    if (s.nest == none) s.nest = nest;
    if (s.nest == nest) s.stages |= std::uint64_t{1} << stage;
    if (here && deep < most_deep && is_remade(r.base)) {
      node const& n = *g.producer(r.base);
      for (int k = 0; k < n.operand_count; ++k) read(g.operand(n, k), nest, stage, deep + 1);
    }
  }
  /// The stages that have a value, or what it is made of, anyway.
  constexpr std::uint64_t stages_with(symbol t, std::int32_t nest, int deep = 0) {
    resolved const r = resolve(t);
    symbol_plan const& b = at[r.base];
    constexpr std::uint64_t all = ~std::uint64_t{};
    if (b.kind == place_kind::immediate) return all;
    bool const here = is_here(r, nest);
    if (here && b.kind == place_kind::row) return b.stage < most_stages ? all << b.stage : 0;
    stages_read const& s = read_[here ? r.base : view_of(r.base).root];
    std::uint64_t found = s.nest == nest ? s.stages : 0;
    if (here && deep < most_deep && is_remade(r.base)) {
      node const& n = *g.producer(r.base);
      std::uint64_t made = all;
      for (int k = 0; k < n.operand_count; ++k) made &= stages_with(g.operand(n, k), nest, deep + 1);
      found |= made;
    }
    return found;
  }

  constexpr void choose(node const& n) {
    symbol const y = g.result(n);
    symbol_plan const& a = at[y];
    if (late_[y] != none) return;
    std::int32_t const first = first_stage(n, y);
    late_[y] = first;
    if (first < most_stages) {
      std::uint64_t found = stages_with(g.operand(n, 0), a.nest) >> first << first;
      if (a.kind == place_kind::row && last_[y] < most_stages) found &= (std::uint64_t{1} << last_[y]) - 1;
      if (found != 0) late_[y] = std::countr_zero(found);
    }
    read(g.operand(n, 0), a.nest, late_[y]);
  }
};

} // namespace cotangent::detail

#endif
