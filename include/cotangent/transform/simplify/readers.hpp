// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_READERS_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_READERS_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

// Counts how often each value is read: dead nodes are never read, and some products are only added.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

template <class Op> inline constexpr operation const* the = info_of<Op>();

/// The nodes that become part of the sum that reads them: products, and scatter_adds.
struct fusing {
  bool products = false, rows = false;
};

/// How often each symbol is read by what an output needs; nothing reads a dead one. Reading a view reads its base, and
/// what writes a view of something that is read is needed. Loops, branches and results of regions are always needed.
class readers {
  array<std::int32_t> count_; // by symbol + 1: absent operands count at 0
  array<std::int32_t> addends_;
  array<bool> written_; // by symbol: what writes a part of it is needed; where there are views only
  array<bool> windows_; // by symbol: it is a view or has some; where there are views only
  array<bool> carried_; // by symbol: a loop gives it to the next iteration; where products are fused in loops only

public:
  bool views;
  fusing fuses;
  std::int32_t const* addends = nullptr; // by symbol: how many of its readers would contain it
  int sums = 0;

  constexpr std::int32_t const* by_symbol() const noexcept { return count_.data() + 1; }

  constexpr readers(graph_view const& g, bool has_views, fusing f = {})
      : count_(g.tensor_count + 1), views(has_views), fuses(f) {
    bool const adds = f.products || f.rows;
    if (adds) addends_ = array<std::int32_t>(g.tensor_count);
    addends = addends_.data();
    if (f.products && g.region_count > 1) mark_carried(g);
    if (views) {
      written_.assign(g.tensor_count, false);
      windows_.assign(g.tensor_count, false);
      for (symbol t = 0; t < g.tensor_count; ++t)
        if (g.tensors[t].base != none) windows_[t] = windows_[g.tensors[t].base] = true;
    }
    while (!count(g, adds)) { // a part is written after another part was read
      count_.assign(g.tensor_count + 1, 0);
      if (adds) addends_.assign(g.tensor_count, 0);
      sums = 0;
    }
  }
  constexpr readers(readers const&) = delete;

  static constexpr bool any_view(graph_view const& g) noexcept {
    for (std::int32_t k = 0; k < g.tensor_count; ++k)
      if (g.tensors[k].base != none) return true;
    return false;
  }

private:
  constexpr void mark_carried(graph_view const& g) {
    carried_ = array<bool>(g.tensor_count);
    for (std::int32_t r = 1; r < g.region_count; ++r) {
      node const& n = g.nodes[g.regions[r].owner];
      if (n.op != info_of<op::loop>()) continue;
      for (int k = loop_layout::of(g, n).carried; k > 0; --k) carried_[g.input(k, r)] = true;
    }
  }
  /// False where the parts of a tensor turn out to be read when it is too late to know who is needed for them: then
  /// they are noted.
  constexpr bool count(graph_view const& g, bool adds) {
    std::int32_t* const r = count_.data() + 1;
    tensor_symbol const* const t = g.tensors;
    for (std::int32_t k = 0; k < g.region_count; ++k)
      for (int j = 0; j < g.output_count(k); ++j) {
        if (g.output(j, k) == none) continue;
        ++r[g.output(j, k)];
        ++r[t[g.output(j, k)].base];
      }
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) {
      node const& n = g.nodes[i];
      std::int32_t const* const ids = g.ids + n.first;
      if (n.result_count == 1 && !views && n.op->kind != operation_kind::control) {
        if (r[ids[n.operand_count]] == 0) continue;
        if (adds && (n.op == the<op::add> || n.op == the<op::subtract>)) count_addends(g, n, ids);
      } else if (!needed(n, ids, t, r)) {
        continue;
      } else if (adds && n.result_count == 1 && (n.op == the<op::add> || n.op == the<op::subtract>)) {
        count_addends(g, n, ids);
      }
      for (int k = 0; k < n.operand_count; ++k) ++r[ids[k]];
      if (views)
        for (int k = 0; k < n.operand_count; ++k)
          if (ids[k] != none) ++r[t[ids[k]].base];
    }
    if (!views) return true;
    bool fine = true;
    for (std::int32_t i = 0; i < g.node_count; ++i)
      for (int k = 0; k < g.nodes[i].result_count; ++k) {
        symbol const base = t[g.result(g.nodes[i], k)].base;
        if (base == none || r[base] == 0 || written_[base]) continue;
        written_[base] = true;
        fine = false;
      }
    return fine;
  }
  constexpr void count_addends(graph_view const& g, node const& n, symbol const* ids) {
    if (!n.flags.merges || n.flags.exact || !is_floating(g.tensors[ids[2]].type)) return;
    ++sums;
    if (symbol const rows = fused_rows(g, n); rows != none) {
      bool const taken_apart = addends_[ids[2]] == count_[ids[2] + 1] && is_rows(g, ids[2], n.flags.repeated);
      ++addends_[rows];
      if (taken_apart) ++addends_[rows == ids[0] ? ids[1] : ids[0]];
      return;
    }
    if (n.flags.repeated) {
      if (symbol const product = fused_product(g, n); product != none) ++addends_[product];
      return;
    }
    if (is_product(g, ids[0], false)) ++addends_[ids[0]];
    if (is_product(g, ids[1], false)) ++addends_[ids[1]];
  }
  /// A product without views: a view keeps the node of its base.
  constexpr bool is_product(graph_view const& g, symbol t, bool repeated) const noexcept {
    return fuses.products && is_made_by(g, t, the<op::multiply>, repeated);
  }
  constexpr bool is_made_by(graph_view const& g, symbol t, operation const* op, bool repeated) const noexcept {
    if (views && windows_[t]) return false;
    node const* const n = g.producer(t);
    return n != nullptr && n->op == op && n->flags.merges && !n->flags.exact && n->flags.repeated == repeated;
  }
  /// A scatter_add, or a sum of some that were added one after the other.
  constexpr bool is_rows(graph_view const& g, symbol t, bool repeated) const noexcept {
    for (int terms = 0; terms < 64; ++terms) {
      if (is_made_by(g, t, the<op::scatter_add>, repeated)) return true;
      if (!is_made_by(g, t, the<op::add>, repeated)) return false;
      node const& sum = *g.producer(t);
      bool const first = is_made_by(g, g.operand(sum, 0), the<op::scatter_add>, repeated);
      if (!first && !is_made_by(g, g.operand(sum, 1), the<op::scatter_add>, repeated)) return false;
      t = g.operand(sum, first ? 1 : 0);
    }
    return false;
  }

public:
  /// The product that a repeated sum contains in every copy of its body, or none. Who else reads it does not matter.
  constexpr symbol fused_product(graph_view const& g, node const& n) const noexcept {
    symbol const p = g.operand(n, 0), q = g.operand(n, 1);
    bool const first = is_product(g, p, true) && g.producer(p)->flags.read_once,
               second = is_product(g, q, true) && g.producer(q)->flags.read_once;
    if (p == q || !is_floating(g.tensors[p].type)) return none;
    return first && (!second || fused_first(g, p, q)) ? p : second ? q : none;
  }
  /// Products t and u of a sum: true if t is to be fused. The next iteration of a loop waits for what reads a carried value, so
  /// that it waits for one operation and not for two; otherwise the one that came later.
  constexpr bool fused_first(graph_view const& g, symbol t, symbol u) const noexcept {
    auto const waited_for = [&](symbol p) {
      node const& n = *g.producer(p);
      return n.flags.repeated ? n.flags.of_carried : !carried_.empty() && (carried_[g.operand(n, 0)] || carried_[g.operand(n, 1)]);
    };
    bool const first = waited_for(t), second = waited_for(u);
    return first == second ? t > u : first;
  }
  /// True if rows may be added to t in its memory: to an input, updated rows, rows themselves and sums with them, also seen through a
  /// reshape. Results of elementwise operations are added to rows in the same pass.
  constexpr bool receives_rows(graph_view const& g, symbol t, bool repeated) const noexcept {
    for (int terms = 0; terms < 64; ++terms) {
      if (g.tensors[t].base != none) return false;
      node const* const n = g.producer(t);
      if (n == nullptr || is_made_by(g, t, the<op::update_rows>, repeated) || is_rows(g, t, repeated)) return true;
      if (n->op == the<op::reshape>) t = g.operand(*n, 0);
      else if (!is_made_by(g, t, the<op::add>, repeated)) return false;
      else if (is_rows(g, g.operand(*n, 1), repeated)) t = g.operand(*n, 0);
      else if (is_rows(g, g.operand(*n, 0), repeated)) t = g.operand(*n, 1);
      else return false;
    }
    return false;
  }
  /// The operand of a sum whose rows are added to the other one, or none.
  constexpr symbol fused_rows(graph_view const& g, node const& n) const noexcept {
    if (!fuses.rows || n.op != the<op::add> || !n.flags.merges || n.flags.exact) return none;
    for (int k = 1; k >= 0; --k) {
      symbol const rows = g.operand(n, k), other = g.operand(n, 1 - k);
      if (rows != other && receives_rows(g, other, n.flags.repeated) && is_rows(g, rows, n.flags.repeated)) return rows;
    }
    return none;
  }

private:
  constexpr bool needed(node const& n, symbol const* ids, tensor_symbol const* t,
                        std::int32_t const* r) const {
    if (n.op->kind == operation_kind::control || n.result_count == 0) return true;
    for (int k = n.operand_count; k < n.operand_count + n.result_count; ++k)
      if (r[ids[k]] != 0 || (t[ids[k]].base != none && (r[t[ids[k]].base] != 0 || written_[t[ids[k]].base])))
        return true;
    return false;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
