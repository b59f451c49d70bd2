// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_COMPACT_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

// The last sweep of simplify: dead nodes are eliminated; products that are added become fused multiply-adds, and sums with
// scatter_adds become one operation.

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
    return p == q || !is_floating(g.tensors[p].type) ? none : first && (!second || p > q) ? p : second ? q : none;
  }
  /// The operand of a sum whose rows are added to the other one, or none. The other one is an input or has such rows, too: what
  /// elementwise operations compute is added to rows in the same pass.
  constexpr symbol fused_rows(graph_view const& g, node const& n) const noexcept {
    if (!fuses.rows || n.op != the<op::add> || !n.flags.merges || n.flags.exact) return none;
    for (int k = 1; k >= 0; --k) {
      symbol const rows = g.operand(n, k), other = g.operand(n, 1 - k);
      bool const receives = g.tensors[other].base == none && (g.tensors[other].producer == none || is_rows(g, other, n.flags.repeated));
      if (rows != other && receives && is_rows(g, rows, n.flags.repeated)) return rows;
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
  /// a b + c, a b - c = a b + (-c) and c - a b = (-a) b + c, where a product waits; of two the one that came later.
  constexpr bool fused(node const& n, symbol y) {
    symbol const p = g_.operand(n, 0), q = g_.operand(n, 1);
    if (symbol const rows = readers_.fused_rows(g_, n); rows != none) {
      if (n.flags.repeated ? !g_.producer(rows)->flags.read_once : !waits(rows)) return false;
      symbol const sum = now(rows == p ? q : p), to = readers_.views ? now(y) : none;
      array<symbol> x;
      list_rows(rows, x);
      x.push(sum);
      now_[y] = write(the<op::accumulate_rows>, x.data(), x.size(), g_.tensors[y], n, to) + 1;
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
      left = first && (!second || p > q);
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

} // namespace cotangent::detail

#endif
