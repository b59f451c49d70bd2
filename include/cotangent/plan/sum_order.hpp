// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SUM_ORDER_HPP
#define COTANGENT_PLAN_SUM_ORDER_HPP

#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/plan/plan.hpp>

#include <cstdint>

// Decides the order in which each reduction combines its values, which determines the bits of the result: the
// back ends that run a plan follow this order.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// True if an instance is active only inside its window of the lanes.
constexpr bool clips(instance_facts const& v) {
  if (v.detail == none || v.where != role::lane) return false;
  return v.what == action::window || v.what == action::shift || v.what == action::load || v.what == action::reduce ||
         v.what == action::accumulate || (v.what == action::compute && v.access != none);
}

/// Sets the forms of stages, and the fields of nests and instances that determine an order.
///
/// A nest combines the values of one row, in vectors of `width` positions, into `chains` sums of a vector each;
/// masked vectors, and those after the last full round, go to the first. The sums are combined as
/// (0 + 1) + (2 + 3), then lane i + w / 2 is added to lane i, for w = width, width / 2, ..., 2. Totals over
/// rows keep one sum for each lane until the nest ends.
///
/// Checked: tests/runtime/executor_sums.cpp
class sum_order {
  plan& p;

public:
  /// Longer bodies are compiled once, for any count of lanes: less compile time, for a mask in the loop.
  static constexpr int long_body = 96;
  static constexpr int short_rows = 8; // in vectors
  static constexpr float dear = 8;     // the cost of an operation whose code may be a function, called where it would be inlined too often

  constexpr sum_order(plan& laid_out, int vector_bytes) : p(laid_out) {
    for (nest& n : p.nests) {
      if (n.kind != nest_kind::loops) continue;
      for (int k = n.split; k < n.rank; ++k) n.lanes = n.lanes < 0 || n.size[k] < 0 ? -1 : n.lanes * n.size[k];
      n.width = n.rank == 0 ? 1 : vector_bytes / larger(4, static_cast<int>(size_of(n.widest)));
      while (!n.rows_in_lanes && n.lanes >= 0 && n.width > 1 && n.width / 2 >= n.lanes) n.width /= 2;
      n.single_pass = !n.rows_in_lanes && n.lanes > 0 && n.lanes <= n.width;
      n.first_form = p.forms.size();
      for (int stage = 0; stage < n.stages; ++stage) p.forms.push(form_of(n, stage));
      n.pairs_blocks = pairs_blocks(n);
      n.panel = panel(n);
    }
  }

private:
  /// True if it accumulates over rows, to one element for each position along the lanes.
  constexpr bool is_column(instance const& v, nest const& n) const {
    return v.what == action::accumulate && v.where == role::lane && !n.rows_in_lanes && n.rank > 0 &&
           p.accesses[v.access].stride[n.rank - 1] != 0;
  }
  /// True if its operand is a product of the same stage, so that no row value is multiplied again.
  constexpr bool sums_products(instance const& v) const {
    instance const& u = p.instances[p.operands[v.first_operand]];
    return math::has_fma && v.op == info_of<op::sum>() && is_floating(v.type) && u.what == action::compute &&
           u.op == info_of<op::multiply>() && u.where == role::lane && u.stage == v.stage;
  }
  constexpr stage_form form_of(nest const& n, int stage) {
    int const from = p.lists[n.first_list + 2 + 2 * stage], to = p.lists[n.first_list + 3 + 2 * stage];
    float cost = 0;
    bool sums = false, totals = false, clipped = false;
    instance* const all = p.instances.data();
    for (int i = from; i < to; ++i) {
      instance& v = all[i];
      if (v.op != nullptr) cost += v.op->cost;
      clipped = clipped || (v.detail != none && clips(v));
      if (v.what < action::reduce) continue;
      bool const row_sum = v.what == action::reduce, column = !row_sum && is_column(v, n);
      sums = sums || row_sum || (n.block > 1 && column);
      totals = totals || (!row_sum && v.where == role::lane && !column && !n.rows_in_lanes);
      v.fused = (row_sum ? !n.single_pass : column) && sums_products(v);
    }
    // (a total over all elements is one chain of additions, in whatever order: long rows, which may be computed in parts, follow each other)
    bool const in_turn = totals && n.block > 1 && (n.lanes < 0 || n.lanes > short_rows * n.width);
    bool const one = !sums || in_turn || n.rows_in_lanes || n.lanes == 0;
    // (columns are loaded and stored once for all interleaved rows)
    int const most = one ? 1 : cost <= (n.block > 1 ? 14 : 8) ? 4 : cost <= 20 ? 2 : 1;
    stage_form f;
    if (n.block == 1)
      f.chains = static_cast<std::int8_t>(n.lanes < 0 || n.lanes >= most * n.width ? most : n.lanes >= 2 * n.width ? 2 : 1);
    else if (!n.rows_in_lanes && to - from <= long_body)
      f.rows = static_cast<std::int8_t>(most < n.block ? most : n.block);
    // rows and bodies are short, else it is too much code
    f.whole_blocks = f.rows == 4 && n.block > 4 && to - from <= 6 && !clipped && n.lanes > 0 &&
                     n.lanes <= short_rows * n.width && n.lanes % n.width == 0;
    if (f.chains == 1 && f.rows == 1 && cost >= deep && !clipped && !n.rows_in_lanes && n.width > 1 &&
        (n.lanes < 0 || n.lanes >= 2 * n.width) && is_deep(from, to))
      f.ahead = n.lanes < 0 || n.lanes >= 4 * n.width ? 4 : 2;
    return f;
  }
  /// In operations that each wait for the one before: a processor does not look far enough ahead to begin the next vector meanwhile.
  static constexpr float deep = 26;
  static constexpr float longest_operation = 60; // operations of more instructions gain nothing: they are not interleaved themselves
  /// True if a value of these instances depends on a long chain of others. In a long body expensive ones are half of the cost, since its
  /// interleaved values go through memory, and no lane waits for another.
  constexpr bool is_deep(int from, int to) const {
    array<float> depth;
    float most = 0, all = 0, expensive = 0;
    bool const is_long = to - from > long_body;
    for (int i = from; i < to; ++i) {
      instance const& v = p.instances[i];
      if (is_long && v.what == action::shift) return false;
      float before = 0;
      for (int k = 0; k < v.operand_count; ++k) {
        int const u = p.operands[v.first_operand + k];
        if (u >= from && u < i) before = larger(before, depth[u - from]);
      }
      float const own = v.op != nullptr ? v.op->cost : 0;
      if (own > longest_operation) return false;
      depth.push(before + own);
      most = larger(most, before + own);
      all += own;
      if (own >= dear) expensive += own;
    }
    return most >= deep && (!is_long || 2 * expensive >= all);
  }
  /// As many vectors of columns as registers hold the sums of, if rows are few, or no longer than a panel: others are read in order.
  constexpr int panel(nest const& n) const {
    constexpr int most_sums = 8;
    constexpr std::int64_t most_bytes = std::int64_t{1} << 15; // of each matrix
    if (!n.adds_rows || n.rows_in_lanes || n.size[0] <= 0 || n.lanes < n.width || n.width == 1) return 0;
    int sums = 0;
    std::int64_t bytes = 0; // of an element
    for (int i = p.lists[n.first_list + 2]; i < p.lists[n.first_list + 3]; ++i) {
      sums += p.instances[i].what == action::accumulate ? 1 : 0;
      bytes = larger(bytes, static_cast<std::int64_t>(size_of(p.instances[i].type)));
    }
    if (sums == 0 || sums > most_sums) return 0;
    std::int64_t const vectors = (n.lanes + n.width - 1) / n.width, panels = (vectors * sums + most_sums - 1) / most_sums;
    if (panels > 1 && n.size[0] * n.lanes * bytes > most_bytes) return 0;
    return static_cast<int>((vectors + panels - 1) / panels);
  }
  /// Rows are short, and stages wait for values computed from their sums.
  constexpr bool pairs_blocks(nest const& n) const {
    constexpr int longest = 32;
    if (n.block == 1 || n.rows_in_lanes || n.split != 1 || n.stages < 2 || n.row_slots > 0 || n.instance_count > longest)
      return false;
    if (n.lanes <= 0 || n.lanes > 16 * n.width || (n.size[0] >= 0 && n.size[0] < 2 * n.block)) return false;
    float waits = 0;
    for (int i = p.lists[n.first_list + 3]; i < p.lists[n.first_list + 4]; ++i)
      if (p.instances[i].op != nullptr) waits += p.instances[i].op->cost;
    return waits >= 8;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
