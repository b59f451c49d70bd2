// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_STRAIGHT_GROUPS_HPP
#define COTANGENT_PLAN_STRAIGHT_GROUPS_HPP

#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/plan/straight/lanes.hpp>

#include <cstdint>

// Packs numbers that are computed alike into lanes of one value, as in SLP vectorization: the components of a
// written-out vector. Alike are nodes of one level with one operation whose operands come from the same
// values, in any lanes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class lane_grouper {
  graph_view const& g_;
  lane_rule const& rule_;
  lane_gatherer& lanes_;
  element_lanes& elements_;

public:
  /// Writes to `lanes`, with the operands and results at the locations in `elements`.
  constexpr lane_grouper(graph_view const& g, lane_rule const& rule, lane_gatherer& lanes, element_lanes& elements)
      : g_(g), rule_(rule), lanes_(lanes), elements_(elements) {
    find_wishes();
  }

  /// Defers one operation on numbers until all of its level are known.
  constexpr void compute_later(std::int32_t node_index) {
    node const& n = g_.nodes[node_index];
    member m{node_index};
    for (int k = 0; k < n.operand_count; ++k) m.from[k] = *elements_.of(g_.operand(n, k));
    if (commutes(n) && source_of(m.from[0]) > source_of(m.from[1])) {
      lane_ref const kept = m.from[0];
      m.from[0] = m.from[1];
      m.from[1] = kept;
    }
    std::uint32_t h = mix(n.op->code, static_cast<std::uint64_t>(g_.tensors[g_.result(n)].type));
    for (int k = 0; k < n.operand_count; ++k) h = mix(h, static_cast<std::uint32_t>(source_of(m.from[k])));
    std::int32_t const index = members_.push(m);
    std::int32_t const found =
        kinds_index_.find_or_add(h | 1u, [&](std::int32_t k) { return alike(members_[kinds_[k].first], m); });
    kind& k = kinds_[found != none ? found : kinds_.push({index, index, 0})];
    if (k.count++ > 0) members_[k.last].next = index;
    k.last = index;
  }

  /// Emits all deferred operations, alike ones together.
  constexpr void compute_waiting() {
    join_expensive();
    for (kind const& k : kinds_) {
      chosen_.clear();
      for (std::int32_t m = k.first; m != none; m = members_[m].next) chosen_.push(m);
      int const cost = k.count > 1 ? sort() : 0;
      bool const together =
          k.count > 2 || (k.count == 2 && (cost == 0 || g_.nodes[members_[k.first].node].op->cost > 8));
      for (int c = 0, w = 0; c < k.count; c += w) {
        w = together ? rule_.lanes(k.count - c) : 1;
        compute(c, w < k.count - c ? w : k.count - c, w);
      }
    }
    members_.clear();
    kinds_.clear();
    kinds_index_ = hash_index{};
  }

private:
  struct member {
    std::int32_t node = none;
    lane_ref from[4]{};
    std::int32_t next = none;
  };
  struct kind {
    std::int32_t first = none, last = none, count = 0;
  };
  array<member> members_;
  array<kind> kinds_;
  hash_index kinds_index_;
  array<std::int32_t> chosen_, best_;
  array<std::int32_t>
      wish_; // by symbol: the preferred lane of a number, from its position in a result

  constexpr void find_wishes() {
    wish_.assign(g_.tensor_count, none);
    for (std::int32_t i = g_.node_count; i-- > 0;) {
      node const& n = g_.nodes[i];
      symbol const y = g_.result(n);
      bool const joins = n.op->kind == operation_kind::concatenate;
      if (!joins && wish_[y] == none) continue;
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = g_.operand(n, k); wish_[x] == none && elements_of(g_, x) == 1)
          wish_[x] = joins ? k : wish_[y];
    }
  }

  /// Divisions, roots and functions share lanes wherever their operands come from: building a vector costs
  /// less.
  constexpr void join_expensive() {
    for (int k = 0; k < kinds_.size(); ++k) {
      if (kinds_[k].count != 1 || g_.nodes[members_[kinds_[k].first].node].op->cost < 4) continue;
      for (int j = k + 1; j < kinds_.size(); ++j) {
        if (kinds_[j].count != 1 || !same_operation(members_[kinds_[k].first], members_[kinds_[j].first]))
          continue;
        members_[kinds_[k].last].next = kinds_[j].first;
        kinds_[k].last = kinds_[j].last;
        ++kinds_[k].count;
        kinds_[j] = {};
      }
    }
  }

  static constexpr bool commutes(node const& n) {
    return n.op->commutative || n.op == info_of<op::multiply_add>();
  }

  /// The value that an element is a lane of; the same for a value and its negative, and for all constants.
  constexpr std::int32_t source_of(lane_ref r) const {
    if (r.step < 0) return r.step;
    straight_step const& s = lanes_.written().steps[r.step];
    if (s.what == straight_action::constant) return -1;
    if (s.lanes > 1 && s.what == straight_action::compute && s.op == info_of<op::negate>()) {
      straight_operand const o = lanes_.written().operands[s.first];
      if (o.lane == none) return o.step;
    }
    return r.step;
  }
  constexpr bool same_operation(member const& a, member const& b) const {
    node const &n = g_.nodes[a.node], &m = g_.nodes[b.node];
    if (n.op != m.op || g_.tensors[g_.result(n)].type != g_.tensors[g_.result(m)].type) return false;
    for (int k = 0; k < n.operand_count; ++k)
      if (g_.tensors[g_.operand(n, k)].type != g_.tensors[g_.operand(m, k)].type) return false;
    return true;
  }
  constexpr bool alike(member const& a, member const& b) const {
    if (!same_operation(a, b)) return false;
    for (int k = 0; k < g_.nodes[a.node].operand_count; ++k)
      if (source_of(a.from[k]) != source_of(b.from[k])) return false;
    return true;
  }

  /// Sorts the chosen by the lanes of the operand for which the fewest operands need a shuffle; returns that
  /// operand.
  constexpr int sort() {
    int least = 100;
    int const operands = g_.nodes[members_[chosen_[0]].node].operand_count;
    for (int k = 0; k < operands; ++k) {
      if (!lanes_.written().steps.empty() && source_of(members_[chosen_[0]].from[k]) == -1) continue;
      for (int i = 1; i < chosen_.size(); ++i) { // few, and mostly in order
        std::int32_t const m = chosen_[i];
        int j = i;
        for (; j > 0 && members_[chosen_[j - 1]].from[k].lane > members_[m].from[k].lane; --j)
          chosen_[j] = chosen_[j - 1];
        chosen_[j] = m;
      }
      if (int const cost = shuffles(); cost < least) {
        least = cost;
        best_ = chosen_;
      }
    }
    for (int i = 1; i < chosen_.size(); ++i) {
      std::int32_t const m = chosen_[i];
      int j = i;
      for (; j > 0 && wish(chosen_[j - 1]) > wish(m); --j) chosen_[j] = chosen_[j - 1];
      chosen_[j] = m;
    }
    bool wished = wish(chosen_[0]) != none;
    for (int i = 1; i < chosen_.size(); ++i) wished = wished && wish(chosen_[i]) > wish(chosen_[i - 1]);
    if (wished && shuffles() <= least) return shuffles();
    if (least < 100) chosen_ = best_;
    return least;
  }
  constexpr std::int32_t wish(std::int32_t member_index) const {
    return wish_[g_.result(g_.nodes[members_[member_index].node])];
  }
  constexpr int shuffles() {
    int count = 0;
    lane_ref lane[most_lanes];
    int const w = rule_.lanes(chosen_.size()), filled = w < chosen_.size() ? w : chosen_.size();
    for (int k = 0; k < g_.nodes[members_[chosen_[0]].node].operand_count; ++k) {
      for (int i = 0; i < filled; ++i) lane[i] = members_[chosen_[i]].from[k];
      count += lanes_.shuffles_for(lane, filled, w);
    }
    return count;
  }

  constexpr void compute(int c, int filled, int w) {
    node const& n = g_.nodes[members_[chosen_[c]].node];
    straight_operand operands[4]{};
    lane_ref lane[most_lanes];
    for (int k = 0; k < n.operand_count; ++k) {
      for (int i = 0; i < filled; ++i) lane[i] = members_[chosen_[c + i]].from[k];
      operands[k] = lanes_.gather(lane, filled, w, g_.tensors[g_.operand(n, k)].type);
    }
    straight_step s;
    s.op = n.op;
    s.what = straight_action::compute;
    s.type = g_.tensors[g_.result(n)].type;
    s.lanes = w;
    s.count = filled;
    std::int32_t const made = lanes_.push(s, operands, n.operand_count);
    for (int i = 0; i < filled; ++i)
      elements_.at[elements_.begin(g_, g_.result(g_.nodes[members_[chosen_[c + i]].node]))] = {made, i};
  }
};

/// Orders nodes so that all numbers of a level are adjacent. Operations that move elements belong to the
/// level of their operand; a negation is between two levels, so that lanes of different signs stay together.
constexpr void sort_by_level(graph_view const& g, array<std::int32_t>& order, array<std::int32_t>& level_of) {
  array<std::int32_t> level(g.tensor_count, 0), next;
  level_of.assign(g.node_count, 0);
  int levels = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    int most = 0;
    for (int k = 0; k < n.operand_count; ++k)
      if (int const l = level[g.operand(n, k)]; l > most) most = l;
    bool const computes = n.op->kind == operation_kind::elementwise ||
                          n.op->kind == operation_kind::reduction || n.op->kind == operation_kind::matmul;
    if (computes) most = n.op == info_of<op::negate>() && most % 2 == 0 ? most + 1 : most / 2 * 2 + 2;
    level[g.result(n)] = most;
    level_of[i] = 2 * most + (computes ? 0 : 1);
    if (level_of[i] >= levels) levels = level_of[i] + 1;
  }
  next.assign(levels + 1, 0);
  for (std::int32_t i = 0; i < g.node_count; ++i) ++next[level_of[i] + 1];
  for (int k = 0; k < levels; ++k) next[k + 1] += next[k];
  order.resize(g.node_count);
  for (std::int32_t i = 0; i < g.node_count; ++i) order[next[level_of[i]]++] = i;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
