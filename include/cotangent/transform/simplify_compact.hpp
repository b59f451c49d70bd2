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
class readers {
  array<std::int32_t> count_; // by symbol + 1: absent operands count at 0
  array<std::int32_t> addends_;
  array<bool> written_; // by symbol: what writes a part of it is needed; where there are views only
  array<bool> windows_; // by symbol: it is a view or has some; where there are views only

public:
  bool views;
  std::int32_t const* addends = nullptr; // by symbol: how many of its readers would add it as a product
  int sums = 0;

  constexpr std::int32_t const* by_symbol() const noexcept { return count_.data() + 1; }

  constexpr readers(graph_view const& g, bool has_views, bool adds)
      : count_(g.tensor_count + 1), views(has_views) {
    if (adds) addends_ = array<std::int32_t>(g.tensor_count);
    addends = addends_.data();
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
    if (!n.flags.merges || n.flags.exact || n.flags.repeated || !is_floating(g.tensors[ids[2]].type)) return;
    ++sums;
    if (is_product(g, ids[0])) ++addends_[ids[0]];
    if (is_product(g, ids[1])) ++addends_[ids[1]];
  }
  /// What stands for itself alone: what is written for others to look at keeps its node.
  constexpr bool is_product(graph_view const& g, symbol t) const noexcept {
    if (views && windows_[t]) return false;
    node const* const n = g.producer(t);
    return n != nullptr && n->op == the<op::multiply> && n->flags.merges && !n->flags.exact && !n->flags.repeated;
  }
  constexpr bool needed(node const& n, symbol const* ids, tensor_symbol const* t,
                        std::int32_t const* r) const {
    if (n.op->kind == operation_kind::control || n.result_count == 0) return true;
    for (int k = n.operand_count; k < n.operand_count + n.result_count; ++k)
      if (r[ids[k]] != 0 || (t[ids[k]].base != none && (r[t[ids[k]].base] != 0 || written_[t[ids[k]].base])))
        return true;
    return false;
  }
};

/// Copies what is read into a graph of its own.
class compaction {
  graph_view g_;
  graph to_;
  readers readers_;
  std::int32_t const* read_;
  array<symbol> numbering_; // by old symbol + 1: the new one + 1, 0 where there is none yet
  symbol* now_;             // the same by old symbol; of an absent operand none
  array<symbol> negated_;   // by new symbol
  bool fuses_;
  // There is room for all that may come, so that a constant evaluation need not ask.
  tensor_symbol* tensors_;
  node* nodes_;
  symbol* ids_;
  std::int32_t tensor_count_ = 0, node_count_ = 0, id_count_ = 0;

public:
  constexpr compaction(graph_view const& g, bool fuses, bool views)
      : g_(g), readers_(g, views, fuses), read_(readers_.by_symbol()), numbering_(g.tensor_count + 1),
        now_(numbering_.data() + 1), fuses_(fuses),
        tensors_(to_.tensors.extend(g.tensor_count + readers_.sums)),
        nodes_(to_.nodes.extend(g.node_count + readers_.sums)),
        ids_(to_.ids.extend(g.id_count + 4 * readers_.sums)) {
    for (std::int32_t k = 0; k < g.shape_count; ++k) to_.shapes.push(g.shapes[k]);
    for (std::int32_t k = 0; k < g.extent_count; ++k) to_.extents.push(g.extents[k]);
    for (std::int32_t k = 0; k < g.name_count; ++k) to_.names.push(g.names[k]);
    for (std::int32_t k = 0; k < g.block_count; ++k) to_.blocks.push(g.blocks[k]);
    to_.regions.clear();
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      to_.regions.push(g.regions[r]);
      for (int k = 0; k < g.input_count(r); ++k) (void)now(g.input(k, r));
      to_.regions[r].first_input = id_count_;
      for (int k = 0; k < g.input_count(r); ++k) ids_[id_count_++] = now(g.input(k, r));
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) visit(i);
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      for (int k = 0; k < g.output_count(r); ++k) (void)now(g.output(k, r));
      to_.regions[r].first_output = id_count_;
      for (int k = 0; k < g.output_count(r); ++k) ids_[id_count_++] = now(g.output(k, r));
    }
    to_.tensors.resize(tensor_count_);
    to_.nodes.resize(node_count_);
    to_.ids.resize(id_count_);
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
    tensor_symbol t = g_.tensors[old];
    t.producer = none;
    if (t.base != none) {
      t.base = now(t.base);
      t.window = to_.numbers.size();
      int const n = 1 + g_.shape(old).rank;
      for (int k = 0; k < n; ++k) to_.numbers.push(g_.numbers[g_.tensors[old].window + k]);
    }
    return place(old, t);
  }
  constexpr symbol place(symbol old, tensor_symbol const& t) {
    tensors_[tensor_count_++] = t;
    now_[old] = tensor_count_;
    return tensor_count_ - 1;
  }
  constexpr void copy(node const& from, symbol y) {
    node n = from;
    std::int32_t const* const old = g_.ids + n.first;
    for (int k = 0; k < n.operand_count; ++k)
      if (now_[old[k]] == 0 && old[k] != none) (void)now(old[k]);
    n.first = id_count_;
    symbol* const x = ids_ + id_count_;
    for (int k = 0; k < n.operand_count; ++k) x[k] = now_[old[k]] - 1;
    if (n.op->commutative && x[0] > x[1]) {
      symbol const second = x[0];
      x[0] = x[1];
      x[1] = second;
    }
    if (n.attribute_count > 0) copy_attributes(n);
    else n.attribute = 0;
    tensor_symbol t = g_.tensors[y];
    t.producer = node_count_;
    nodes_[node_count_++] = n;
    x[n.operand_count] = place(y, t);
    id_count_ += n.operand_count + 1;
  }
  constexpr void copy_attributes(node& n) {
    n.attribute = to_.numbers.append(g_.numbers + n.attribute, n.attribute_count);
  }
  /// Or what it is a part of.
  constexpr bool is_read(symbol y) const {
    return read_[y] != 0 || (g_.tensors[y].base != none && read_[g_.tensors[y].base] != 0);
  }
  /// Loops and branches, writers of views, and what has several results.
  constexpr void copy_rare(std::int32_t i) {
    node n = g_.nodes[i];
    int const all = n.operand_count + n.result_count;
    std::int32_t const* const old = g_.ids + n.first;
    bool live = n.result_count == 0 || n.op->kind == operation_kind::control;
    for (int k = n.operand_count; k < all && !live; ++k) live = is_read(old[k]);
    if (!live) return;
    for (int k = 0; k < all; ++k) (void)now(old[k]);
    if (n.op == the<op::identity> && writes_itself(old[0], old[1])) return;
    n.first = id_count_;
    for (int k = 0; k < all; ++k) ids_[id_count_++] = now(old[k]);
    copy_attributes(n);
    for (int k = n.operand_count; k < all; ++k) tensors_[now(old[k])].producer = node_count_;
    for (std::int32_t r = 1; r < g_.region_count; ++r)
      if (g_.regions[r].owner == i) to_.regions[r].owner = node_count_;
    nodes_[node_count_++] = n;
  }

  /// Where x is only copied into a view, what makes x writes there.
  constexpr bool writes_itself(symbol x, symbol view) {
    if (g_.tensors[view].base == none || read_[x] != 1 || g_.tensors[x].base != none) return false;
    std::int32_t const p = tensors_[now(x)].producer;
    if (p == none) return false;
    node const& n = nodes_[p];
    bool const works = n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::reduction ||
                       n.op->kind == operation_kind::matmul || n.op->kind == operation_kind::concatenate ||
                       n.op->kind == operation_kind::gather;
    if (!works || n.result_count != 1 || n.region != tensors_[now(view)].region) return false;
    ids_[n.first + n.operand_count] = now(view);
    tensors_[now(view)].producer = p;
    tensors_[now(x)].producer = none;
    return true;
  }

  // ---- fused multiply-adds

  /// A product that is only ever added: written where it turns out that it does not become part of a sum.
  constexpr bool waits(symbol t) const noexcept {
    return readers_.addends[t] != 0 && readers_.addends[t] == read_[t];
  }
  /// a b + c, a b - c = a b + (-c) and c - a b = (-a) b + c, where a product waits; of two the one that came later.
  constexpr bool fused(node const& n, symbol y) {
    symbol const p = g_.operand(n, 0), q = g_.operand(n, 1);
    bool const first = waits(p), second = waits(q);
    if (p == q || (!first && !second)) return false;
    bool const left = first && (!second || p > q);
    node const& product = g_.nodes[g_.tensors[left ? p : q].producer];
    symbol x[3]{now(g_.operand(product, 0)), now(g_.operand(product, 1)), now(left ? q : p)};
    if (n.op == the<op::subtract>) x[left ? 2 : 0] = negative(x[left ? 2 : 0], n);
    symbol const to = readers_.views ? now(y) : none; // it may have been read, or be a part
    now_[y] = write(the<op::multiply_add>, x, 3, g_.tensors[y], n, to) + 1;
    return true;
  }
  /// `to`: the result, where it stands already.
  constexpr symbol write(operation const* op, symbol const* x, int count, tensor_symbol t, node const& like,
                         symbol to = none) {
    t.producer = node_count_;
    nodes_[node_count_++] = {op, id_count_, count, 1, 0, 0, like.region, like.flags, like.where};
    for (int k = 0; k < count; ++k) ids_[id_count_++] = x[k];
    ids_[id_count_++] = to != none ? to : tensor_count_;
    if (to != none) {
      tensors_[to].producer = node_count_ - 1;
      return to;
    }
    tensors_[tensor_count_] = t;
    return tensor_count_++;
  }
  /// -x in the new graph, written once. (What is small was negated before it came here.)
  constexpr symbol negative(symbol x, node const& like) {
    if (negated_.size() == 0) negated_ = array<symbol>(to_.tensors.size());
    if (negated_[x] != 0) return negated_[x] - 1;
    tensor_symbol t = tensors_[x];
    t.name = t.base = t.window = none;
    negated_[x] = write(the<op::negate>, &x, 1, t, like) + 1;
    return negated_[x] - 1;
  }
};

} // namespace cotangent::detail

#endif
