// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP

#include <cotangent/ops/ops.hpp>

#include <cstdint>

// The last walk of simplify: what nobody reads goes, and products that are added become fused multiply-adds.

namespace cotangent::detail {

template <class Op> inline constexpr operation const* the = info_of<Op>();

/// How often each symbol is read by what an output needs; nothing reads a dead one. Reading a view reads its base, and
/// what writes a view of something that is read is needed. Loops, branches and results of regions are always needed.
struct readers {
  array<std::int32_t> count; // by symbol + 1: absent operands count at 0
  bool views = false;

  constexpr std::int32_t const* by_symbol() const noexcept { return count.data() + 1; }

  constexpr explicit readers(graph_view const& g) : count(g.tensor_count + 1) {
    std::int32_t* const r = count.data() + 1;
    tensor_symbol const* const t = g.tensors;
    for (std::int32_t k = 0; k < g.tensor_count && !views; ++k) views = t[k].base != none;
    for (std::int32_t k = 0; k < g.region_count; ++k)
      for (int j = 0; j < g.output_count(k); ++j) {
        ++r[g.output(j, k)];
        ++r[t[g.output(j, k)].base];
      }
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) {
      node const& n = g.nodes[i];
      std::int32_t const* const ids = g.ids + n.first;
      if (n.result_count == 1 && !views && n.op->kind != operation_kind::control) {
        if (r[ids[n.operand_count]] == 0) continue;
      } else if (!needed(n, ids, t, r)) {
        continue;
      }
      for (int k = 0; k < n.operand_count; ++k) ++r[ids[k]];
      if (views)
        for (int k = 0; k < n.operand_count; ++k)
          if (ids[k] != none) ++r[t[ids[k]].base];
    }
  }

private:
  static constexpr bool needed(node const& n, symbol const* ids, tensor_symbol const* t, std::int32_t const* r) {
    if (n.op->kind == operation_kind::control || n.result_count == 0) return true;
    for (int k = n.operand_count; k < n.operand_count + n.result_count; ++k)
      if (r[ids[k]] != 0 || (t[ids[k]].base != none && r[t[ids[k]].base] != 0)) return true;
    return false;
  }
};

/// Copies what is read into a graph of its own.
class compaction {
  graph_view g_;
  graph to_;
  readers readers_;
  std::int32_t const* read_;
  array<symbol> now_;           // by old symbol: the new one + 1, 0 where there is none yet
  array<std::int32_t> addends_; // by old symbol: how many of its readers would add it as a product
  array<symbol> negated_;       // by new symbol
  bool fuses_;

public:
  constexpr compaction(graph_view const& g, bool fuses)
      : g_(g), readers_(g), read_(readers_.by_symbol()), now_(g.tensor_count), fuses_(fuses) {
    to_.tensors.reserve(g.tensor_count);
    to_.nodes.reserve(g.node_count);
    to_.ids.reserve(g.id_count);
    for (std::int32_t k = 0; k < g.shape_count; ++k) to_.shapes.push(g.shapes[k]);
    for (std::int32_t k = 0; k < g.extent_count; ++k) to_.extents.push(g.extents[k]);
    for (std::int32_t k = 0; k < g.name_count; ++k) to_.names.push(g.names[k]);
    to_.regions.clear();
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      to_.regions.push(g.regions[r]);
      for (int k = 0; k < g.input_count(r); ++k) (void)now(g.input(k, r));
      to_.regions[r].first_input = to_.ids.size();
      for (int k = 0; k < g.input_count(r); ++k) to_.ids.push(now(g.input(k, r)));
    }
    if (fuses_) count_addends();
    for (std::int32_t i = 0; i < g.node_count; ++i) visit(i);
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      for (int k = 0; k < g.output_count(r); ++k) (void)now(g.output(k, r));
      to_.regions[r].first_output = to_.ids.size();
      for (int k = 0; k < g.output_count(r); ++k) to_.ids.push(now(g.output(k, r)));
    }
  }
  constexpr graph take() { return static_cast<graph&&>(to_); }

private:
  constexpr void visit(std::int32_t i) {
    node const& n = g_.nodes[i];
    std::int32_t const* const ids = g_.ids + n.first;
    if (n.result_count == 1 && !readers_.views && n.op->kind != operation_kind::control) {
      symbol const y = ids[n.operand_count];
      if (read_[y] == 0) return;
      if (fuses_) {
        if (waits(y)) return;
        if ((n.op == the<op::add> || n.op == the<op::subtract>) && fused(n, y)) return;
      }
    }
    copy(i);
  }
  /// The new symbol for an old one: made where it has no producer, or its producer was put off.
  constexpr symbol now(symbol old) {
    if (old == none) return none;
    if (now_[old] != 0) return now_[old] - 1;
    if (fuses_ && g_.tensors[old].producer != none && waits(old)) {
      copy(g_.tensors[old].producer);
      return now_[old] - 1;
    }
    tensor_symbol t = g_.tensors[old];
    t.producer = none;
    if (t.base != none) {
      t.base = now(t.base);
      t.window = to_.numbers.size();
      int const n = 1 + g_.shape(old).rank;
      for (int k = 0; k < n; ++k) to_.numbers.push(g_.numbers[g_.tensors[old].window + k]);
    }
    now_[old] = to_.tensors.push(t) + 1;
    return now_[old] - 1;
  }
  constexpr void copy(std::int32_t i) {
    node n = g_.nodes[i];
    std::int32_t const* const old = g_.ids + n.first;
    int const all = n.operand_count + n.result_count, given = readers_.views || n.result_count != 1 ? all : n.operand_count;
    symbol const* const known = now_.data();
    for (int k = 0; k < given; ++k)
      if (old[k] != none && known[old[k]] == 0) (void)now(old[k]);
    n.first = to_.ids.size();
    symbol* const x = to_.ids.extend(all);
    for (int k = 0; k < given; ++k) x[k] = old[k] == none ? none : known[old[k]] - 1;
    if (n.op->commutative && x[0] > x[1]) {
      symbol const second = x[0];
      x[0] = x[1];
      x[1] = second;
    }
    if (n.attribute_count > 0) {
      std::int64_t const* const attributes = g_.numbers + n.attribute;
      n.attribute = to_.numbers.size();
      std::int64_t* const numbers = to_.numbers.extend(n.attribute_count);
      for (int k = 0; k < n.attribute_count; ++k) numbers[k] = attributes[k];
    }
    std::int32_t const at = to_.nodes.push(n);
    for (int k = n.operand_count; k < given; ++k) to_.tensors[x[k]].producer = at;
    if (given == n.operand_count) {
      tensor_symbol t = g_.tensors[old[given]];
      t.producer = at;
      x[given] = to_.tensors.push(t);
      now_.data()[old[given]] = x[given] + 1;
    }
    if (n.op->kind == operation_kind::control)
      for (std::int32_t r = 1; r < g_.region_count; ++r)
        if (g_.regions[r].owner == i) to_.regions[r].owner = at;
  }

  // ---- fused multiply-adds

  constexpr bool is_product(symbol t) const noexcept {
    std::int32_t const p = g_.tensors[t].producer;
    return p != none && g_.nodes[p].op == the<op::multiply> && g_.nodes[p].merges && g_.nodes[p].region == 0;
  }
  constexpr void count_addends() {
    addends_ = array<std::int32_t>(g_.tensor_count);
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.op != the<op::add> && n.op != the<op::subtract>) continue;
      symbol const y = g_.ids[n.first + 2];
      if (read_[y] == 0 || n.region != 0 || !n.merges || !is_floating(g_.tensors[y].type)) continue;
      for (int k = 0; k < 2; ++k)
        if (is_product(g_.operand(n, k))) ++addends_[g_.operand(n, k)];
    }
  }
  /// A product that is only ever added: written where it turns out that it does not become part of a sum.
  constexpr bool waits(symbol t) const noexcept {
    std::int32_t const n = addends_.data()[t];
    return n != 0 && n == read_[t];
  }
  /// a b + c, a b - c = a b + (-c) and c - a b = (-a) b + c, where a product waits; of two the one that came later.
  constexpr bool fused(node const& n, symbol y) {
    symbol const p = g_.operand(n, 0), q = g_.operand(n, 1);
    bool const first = waits(p), second = waits(q);
    if (p == q || (!first && !second)) return false;
    bool const left = first && (!second || p > q);
    node const& product = g_.nodes[g_.tensors[left ? p : q].producer];
    symbol x[3]{now(g_.operand(product, 0)), now(g_.operand(product, 1)), now(left ? q : p)};
    if (n.op == the<op::subtract>) {
      int const k = left ? 2 : is_cheap(x[1]) ? 1 : 0;
      x[k] = negative(x[k]);
    }
    now_[y] = write(the<op::multiply_add>, x, 3, {}, 0, g_.tensors[y], n) + 1;
    return true;
  }
  constexpr operation const* op_of(symbol t) const noexcept {
    std::int32_t const p = to_.tensors[t].producer;
    return p == none ? nullptr : to_.nodes[p].op;
  }
  constexpr bool is_cheap(symbol t) const noexcept {
    return op_of(t) == the<op::constant> || op_of(t) == the<op::broadcast>;
  }
  constexpr symbol write(operation const* op, symbol const* x, int count, std::int64_t const* attributes,
                         int attribute_count, tensor_symbol t, node const& like) {
    t.producer = to_.nodes.size();
    to_.nodes.push({op, to_.ids.size(), count, 1, to_.numbers.size(), attribute_count, like.region, like.merges,
                    like.where});
    for (int k = 0; k < count; ++k) to_.ids.push(x[k]);
    for (int k = 0; k < attribute_count; ++k) to_.numbers.push(attributes[k]);
    return to_.ids[to_.ids.push(to_.tensors.push(t))];
  }
  /// -x in the new graph, written once: by sign in constants, before it repeats in broadcasts.
  constexpr symbol negative(symbol x) {
    if (x < negated_.size() && negated_[x] != none) return negated_[x];
    tensor_symbol t = to_.tensors[x];
    t.name = none;
    node const made = t.producer == none ? node{} : to_.nodes[t.producer];
    symbol y = none;
    if (made.op == the<op::negate>) {
      y = to_.ids[made.first];
    } else if (made.op == the<op::constant>) {
      std::int64_t const bits = bits_of(scalar{t.type, -scalar_of(t.type, to_.numbers[made.attribute]).real, 0});
      y = write(made.op, nullptr, 0, &bits, 1, t, made);
    } else if (made.op == the<op::broadcast>) {
      symbol const source = negative(to_.ids[made.first]);
      std::int64_t axes[max_rank]{};
      for (int k = 0; k < made.attribute_count; ++k) axes[k] = to_.numbers[made.attribute + k];
      y = write(made.op, &source, 1, axes, made.attribute_count, t, made);
    } else {
      y = write(the<op::negate>, &x, 1, nullptr, 0, t, made);
    }
    while (negated_.size() <= x) negated_.push(none);
    return negated_[x] = y;
  }
};

} // namespace cotangent::detail

#endif
