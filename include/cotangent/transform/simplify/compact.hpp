// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/transform/simplify/readers.hpp>

#include <cstdint>

// The last sweep of simplify: dead nodes are eliminated; products that are added become fused multiply-adds, and sums with
// scatter_adds become one operation.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Copies live nodes into another graph.
class compaction {
  graph_view g_;
  graph to_;
  readers readers_;
  std::int32_t const* read_;
  rewriter copy_;
  symbol* now_;           // those of the rewriter
  array<symbol> negated_; // by new symbol
  bool fuses_;

public:
  constexpr compaction(graph_view const& g, fusing f, bool views)
      : g_(g), readers_(g, views, f), read_(readers_.by_symbol()), copy_(g, to_), now_(copy_.now),
        fuses_(f.products || f.rows) {
    to_.tensors.reserve(g.tensor_count + readers_.sums);
    to_.nodes.reserve(g.node_count + readers_.sums);
    to_.ids.reserve(g.id_count + 4 * readers_.sums);
    copy_.begin_regions();
    for (std::int32_t i = 0; i < g.node_count; ++i) visit(i);
    for (std::int32_t r = 0; r < g.region_count; ++r)
      for (int k = 0; k < g.output_count(r); ++k) (void)now(g.output(k, r)); // where a product has waited
    copy_.end_regions();
  }
  constexpr graph take() { return static_cast<graph&&>(to_); }

private:
  constexpr void visit(std::int32_t i) {
    node const& n = g_.nodes[i];
    if (n.result_count != 1 || n.op->kind == operation_kind::control) return copy_rare(i);
    symbol const y = g_.ids[n.first + n.operand_count];
    if (readers_.views) {
      if (fuses_ && waits(y)) return;
      bool const sum = fuses_ && (n.op == the<op::add> || n.op == the<op::subtract>);
      if (!sum || !is_read(y) || !fused(n, y)) copy_rare(i);
      return;
    }
    if (read_[y] == 0) return;
    if (fuses_) {
      if (readers_.addends[y] == read_[y]) return; // waits for a sum
      if ((n.op == the<op::add> || n.op == the<op::subtract>) && fused(n, y)) return;
    }
    copy(n, y);
  }
  /// The new symbol for an old one: made where it has no producer, or its producer was put off.
  constexpr symbol now(symbol old) {
    if (old == none || now_[old] != 0) return now_[old] - 1;
    std::int32_t const p = g_.tensors[old].producer;
    if (fuses_ && p != none && waits(old)) {
      copy(g_.nodes[p], old);
      return now_[old] - 1;
    }
    return copy_(old);
  }
  constexpr void copy(node const& from, symbol y) {
    node n = from;
    std::int32_t const* const old = g_.ids + n.first;
    for (int k = 0; k < n.operand_count; ++k)
      if (now_[old[k]] == 0 && old[k] != none) (void)now(old[k]);
    n.first = to_.ids.size();
    symbol* const x = to_.ids.extend(n.operand_count + 1);
    for (int k = 0; k < n.operand_count; ++k) x[k] = now_[old[k]] - 1;
    if (n.op->commutative && x[0] > x[1]) {
      symbol const second = x[0];
      x[0] = x[1];
      x[1] = second;
    }
    n.attribute = n.attribute_count > 0 ? to_.numbers.append(g_.numbers + n.attribute, n.attribute_count) : 0;
    tensor_symbol t = g_.tensors[y];
    t.producer = to_.nodes.push(n);
    now_[y] = 1 + (x[n.operand_count] = to_.tensors.push(t));
  }
  /// True if y is read, or the tensor that it is a view of.
  constexpr bool is_read(symbol y) const {
    return read_[y] != 0 || (g_.tensors[y].base != none && read_[g_.tensors[y].base] != 0);
  }
  /// Loops and branches, writers of views, and nodes with several results.
  constexpr void copy_rare(std::int32_t i) {
    node n = g_.nodes[i];
    int const all = n.operand_count + n.result_count;
    std::int32_t const* const old = g_.ids + n.first;
    bool live = n.result_count == 0 || n.op->kind == operation_kind::control;
    for (int k = n.operand_count; k < all && !live; ++k) live = is_read(old[k]);
    if (!live) return;
    for (int k = 0; k < all; ++k) (void)now(old[k]);
    if (n.op == the<op::identity> && writes_itself(old[0], old[1])) return;
    array<symbol> const x = copy_.operands(n), y = copy_.results(n);
    copy_.set_owner(i, to_.add(n, x.data(), x.size(), y.data(), y.size(), g_.numbers + n.attribute, n.attribute_count));
  }

  /// Where x is only copied into a view, what makes x writes there.
  constexpr bool writes_itself(symbol x, symbol view) {
    if (g_.tensors[view].base == none || read_[x] != 1 || g_.tensors[x].base != none) return false;
    std::int32_t const p = to_.tensors[now(x)].producer;
    if (p == none) return false;
    node const& n = to_.nodes[p];
    bool const works = n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::reduction ||
                       n.op->kind == operation_kind::matmul || n.op->kind == operation_kind::concatenate ||
                       n.op->kind == operation_kind::gather;
    if (!works || n.result_count != 1 || n.region != to_.tensors[now(view)].region) return false;
    to_.ids[n.first + n.operand_count] = now(view);
    to_.tensors[now(view)].producer = p;
    to_.tensors[now(x)].producer = none;
    return true;
  }

  // ---- fused multiply-adds, and accumulated rows

  /// Only ever added: written where it turns out that it does not become part of a sum.
  constexpr bool waits(symbol t) const noexcept {
    return readers_.addends[t] != 0 && readers_.addends[t] == read_[t];
  }
  /// a b + c, a b - c = a b + (-c) and c - a b = (-a) b + c, where a product waits; of two see `readers::fused_first`.
  constexpr bool fused(node const& n, symbol y) {
    symbol const p = g_.operand(n, 0), q = g_.operand(n, 1);
    if (symbol const rows = readers_.fused_rows(g_, n); rows != none) {
      if (n.flags.repeated ? !g_.producer(rows)->flags.read_once : !waits(rows)) return false;
      symbol const sum = now(rows == p ? q : p), to = readers_.views ? now(y) : none;
      array<symbol> x;
      list_rows(rows, x);
      x.push(sum);
      now_[y] = write(the<op::update_rows>, x.data(), x.size(), g_.tensors[y], n, to) + 1;
      return true;
    }
    bool left = false;
    if (n.flags.repeated) {
      symbol const product = n.flags.merges && !n.flags.exact ? readers_.fused_product(g_, n) : none;
      if (product == none) return false;
      left = product == p;
    } else {
      bool const first = waits(p), second = waits(q);
      if (p == q || (!first && !second)) return false;
      left = first && (!second || readers_.fused_first(g_, p, q));
    }
    node const& product = g_.nodes[g_.tensors[left ? p : q].producer];
    symbol x[3]{now(g_.operand(product, 0)), now(g_.operand(product, 1)), now(left ? q : p)};
    if (n.op == the<op::subtract>) x[left ? 2 : 0] = negative(x[left ? 2 : 0], n);
    symbol const to = readers_.views ? now(y) : none; // it may have been read, or be a part
    now_[y] = write(the<op::multiply_add>, x, 3, g_.tensors[y], n, to) + 1;
    return true;
  }
  /// The operands of the scatter_adds that `t` is the sum of.
  constexpr void list_rows(symbol t, array<symbol>& x) {
    node const& from = *g_.producer(t);
    symbol const p = g_.operand(from, 0), q = g_.operand(from, 1);
    if (from.op == the<op::add>) return list_rows(p, x), list_rows(q, x);
    x.push(now(p));
    x.push(now(q));
  }
  /// `to`: the symbol of the result, if it exists already.
  constexpr symbol write(operation const* op, symbol const* x, int count, tensor_symbol t, node const& like,
                         symbol to = none) {
    t.producer = none;
    if (to == none) to = to_.tensors.push(t);
    (void)to_.add({op, 0, 0, 0, 0, 0, like.region, like.flags, like.where}, x, count, &to, 1);
    return to;
  }
  /// -x in the new graph, written once. (What is small was negated before it came here.)
  constexpr symbol negative(symbol x, node const& like) {
    if (negated_.size() == 0) negated_ = array<symbol>(to_.tensors.capacity());
    if (negated_[x] != 0) return negated_[x] - 1;
    tensor_symbol t = to_.tensors[x];
    t.name = t.base = t.window = none;
    negated_[x] = write(the<op::negate>, &x, 1, t, like) + 1;
    return negated_[x] - 1;
  }
};

/// Joins updates of rows that follow each other, where nothing else reads the value in between. True if there were any: then the nodes
/// that were joined with later ones are dead.
constexpr bool join_updates(graph& g) {
  int updates = 0;
  for (node const& n : g.nodes) updates += n.op == info_of<op::update_rows>() ? 1 : 0;
  if (updates < 2) return false;
  array<std::int32_t> reads(g.tensors.size());
  for (node const& n : g.nodes)
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.ids[n.first + k]; x != none) ++reads[x];
  graph_view const all(g);
  for (std::int32_t r = 0; r < all.region_count; ++r)
    for (int k = 0; k < all.output_count(r); ++k)
      if (symbol const y = all.output(k, r); y != none) ++reads[y];
  bool joined = false;
  for (std::int32_t i = 0; i < g.nodes.size(); ++i) {
    node& n = g.nodes[i];
    if (n.op != info_of<op::update_rows>()) continue;
    symbol const between = g.ids[n.first + n.operand_count - 1];
    tensor_symbol const& t = g.tensors[between];
    if (t.producer == none || t.base != none || reads[between] != 1) continue;
    node const& m = g.nodes[t.producer];
    int const first = m.operand_count / 2, second = n.operand_count / 2;
    if (m.op != n.op || m.region != n.region || m.flags.exact != n.flags.exact || first + second > op::update_rows::most_pairs) continue;
    array<symbol> x;
    for (int k = 0; k < 2 * first; ++k) x.push(g.ids[m.first + k]);
    for (int k = 0; k < 2 * second; ++k) x.push(g.ids[n.first + k]);
    x.push(g.ids[m.first + 2 * first]);
    x.push(g.ids[n.first + n.operand_count]);
    std::uint64_t const sets = rows_set(graph_view(g), m) | rows_set(graph_view(g), n) << first;
    std::int64_t const attribute = static_cast<std::int64_t>(sets);
    n.attribute = g.numbers.append(&attribute, 1);
    n.attribute_count = 1;
    n.first = g.ids.append(x.data(), x.size());
    n.operand_count = static_cast<decltype(n.operand_count)>(x.size() - 1);
    joined = true;
  }
  return joined;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
