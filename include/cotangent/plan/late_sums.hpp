// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_LATE_SUMS_HPP
#define COTANGENT_PLAN_LATE_SUMS_HPP

#include <cotangent/plan/fuse.hpp>

#include <bit>

// Chooses the stages of reductions. Each could run in the first stage that has its operand, and might load it
// there only for itself. Reductions without a reader in the nest therefore move to a stage that has their
// operand anyway.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class late_sums {
  placements& s_;

public:
  constexpr explicit late_sums(placements& symbols) : s_(symbols) {
    int sums = 0;
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) {
      node const& n = s_.g.nodes[i];
      symbol const y = s_.g.result(n);
      if (!is_sum(n)) continue;
      s_.at[y].made = first_stage(n, y);
      ++sums;
    }
    if (sums < 2) return;
    find_last_stages();
    read_.resize(s_.g.tensor_count);
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) read_for_sure(s_.g.nodes[i]);
    for (std::int32_t i = 0; i < s_.g.node_count; ++i)
      if (is_sum(s_.g.nodes[i]) && !is_awaited(s_.g.result(s_.g.nodes[i]))) choose(s_.g.nodes[i]);
  }

private:
  /// A nest of loops.
  struct place {
    std::int32_t domain = none, level = none;
    constexpr bool operator==(place const&) const = default;
  };
  /// The stages of one nest that read a symbol, as bits.
  struct stages_read {
    place in;
    std::uint64_t stages = 0;
  };
  array<std::int32_t> last_; // by symbol, of row values: the first stage that reads it
  array<stages_read> read_;  // by symbol
  static constexpr int most_stages = 64, most_deep = 4;

  constexpr bool is_sum(node const& n) const {
    place_kind const k = s_.at[s_.g.result(n)].kind;
    return n.op->kind == operation_kind::reduction && (k == place_kind::row || k == place_kind::total);
  }
  /// True if a node in its nest reads this sum.
  constexpr bool is_awaited(symbol sum) const {
    return s_.at[sum].kind == place_kind::row && last_[sum] <= s_.at[sum].stage;
  }
  constexpr std::int32_t first_stage(node const& n, symbol y) const {
    return s_.at[y].stage -
           (n.op->kind == operation_kind::reduction && s_.at[y].kind == place_kind::row ? 1 : 0);
  }

  /// The source of an operand in a nest: memory, or an available value.
  struct source {
    symbol base;
    bool here;
  };
  constexpr source source_of(symbol t, place nest) const {
    symbol_plan const& o = s_.at[t];
    if (o.kind == place_kind::lane && o.domain == nest.domain && o.level == nest.level) return {t, true};
    resolved const r = s_.resolve(t);
    if (s_.within(r, nest.domain) && s_.at[r.base].level == nest.level) return {r.base, true};
    return {s_.root_of(r.base), false};
  }

  constexpr void find_last_stages() {
    last_.assign(s_.g.tensor_count, none);
    for (std::int32_t i = s_.g.node_count - 1; i >= 0; --i) {
      node const& n = s_.g.nodes[i];
      symbol const y = s_.g.result(n);
      symbol_plan const& a = s_.at[y];
      if (a.kind < place_kind::lane || a.kind == place_kind::kernel) continue;
      if (a.kind == place_kind::row && last_[y] < a.stage) last_[y] = a.stage; // unread in this nest
      std::int32_t const reads = a.kind == place_kind::row && !is_sum(n) ? last_[y] : first_stage(n, y);
      for (int k = 0; k < n.operand_count; ++k) {
        symbol const t = s_.g.operand(n, k);
        if (s_.at[t].kind != place_kind::row && s_.at[t].kind != place_kind::repeated) continue;
        if (source const s = source_of(t, {a.domain, a.level});
            s.here && s_.at[s.base].kind == place_kind::row)
          if (std::int32_t& last = last_[s.base]; last == none || reads < last) last = reads;
      }
    }
  }

  /// True if a lane value is recomputed in each stage that reads it.
  constexpr bool is_remade(symbol t) const {
    symbol_plan const& a = s_.at[t];
    if (a.kind != place_kind::lane || a.must_store || a.chain > placements::cheap_lane) return false;
    node const* const n = s_.g.producer(t);
    return n != nullptr && n->op->kind == operation_kind::elementwise;
  }

  constexpr void read_for_sure(node const& n) {
    symbol const y = s_.g.result(n);
    symbol_plan const& a = s_.at[y];
    bool const lane = a.kind == place_kind::lane && !is_remade(y);
    if (!lane && !(is_sum(n) && is_awaited(y))) return;
    place const nest{a.domain, a.level};
    std::int32_t const stage = first_stage(n, y);
    if (lane) read({y, true}, nest, stage);
    if (n.op->kind == operation_kind::pad) return;
    for (int k = 0; k < n.operand_count; ++k) read(source_of(s_.g.operand(n, k), nest), nest, stage);
  }
  constexpr void read(source from, place nest, std::int32_t stage, int deep = 0) {
    place_kind const kind = s_.at[from.base].kind;
    if (stage >= most_stages || kind == place_kind::immediate || (from.here && kind == place_kind::row))
      return;
    stages_read& s = read_[from.base];
    if (s.in.domain == none) s.in = nest;
    if (s.in == nest) s.stages |= std::uint64_t{1} << stage;
    if (!from.here || deep == most_deep || !is_remade(from.base)) return;
    node const& n = *s_.g.producer(from.base);
    for (int k = 0; k < n.operand_count; ++k)
      read(source_of(s_.g.operand(n, k), nest), nest, stage, deep + 1);
  }
  /// The stages that have a value, or its operands, anyway.
  constexpr std::uint64_t stages_with(source from, place nest, int deep = 0) const {
    symbol_plan const& b = s_.at[from.base];
    constexpr std::uint64_t all = ~std::uint64_t{};
    if (b.kind == place_kind::immediate) return all;
    if (from.here && b.kind == place_kind::row) return b.stage < most_stages ? all << b.stage : 0;
    stages_read const& s = read_[from.base];
    std::uint64_t found = s.in == nest ? s.stages : 0;
    if (!from.here || deep == most_deep || !is_remade(from.base)) return found;
    node const& n = *s_.g.producer(from.base);
    std::uint64_t made = all;
    for (int k = 0; k < n.operand_count; ++k)
      made &= stages_with(source_of(s_.g.operand(n, k), nest), nest, deep + 1);
    return found | made;
  }

  constexpr void choose(node const& n) {
    symbol const y = s_.g.result(n);
    symbol_plan& a = s_.at[y];
    place const nest{a.domain, a.level};
    source const operand = source_of(s_.g.operand(n, 0), nest);
    std::int32_t const first = a.made;
    if (first < most_stages) {
      std::uint64_t found = stages_with(operand, nest) >> first << first;
      if (a.kind == place_kind::row && last_[y] < most_stages) found &= (std::uint64_t{1} << last_[y]) - 1;
      if (found != 0) a.made = std::countr_zero(found);
    }
    read(operand, nest, a.made);
  }
};

/// The nests and stages of a graph whose symbols are classified.
constexpr void fuse(placements& s) {
  fuser{s};
  late_sums{s};
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
