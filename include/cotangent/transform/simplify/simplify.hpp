// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_SIMPLIFY_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_SIMPLIFY_HPP

#include <cotangent/transform/simplify/compact.hpp>
#include <cotangent/transform/simplify/hoist.hpp>
#include <cotangent/transform/simplify/prune.hpp>
#include <cotangent/transform/simplify/sums.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The options of simplify() (transform/pipeline.hpp).
struct simplify_options {
  bool rewrite = true; // false: only rewrites that change no bits
  bool fuse_multiply_add =
      math::has_fma;      // whether the target has it: decided here, before a pass duplicates a node
  bool update_rows = false; // a sum with a scatter_add as one operation: for back ends that add in place
  bool matrix_products = false; // a vector times a matrix as one operation: for back ends that fuse no broadcast with a sum
  bool split_sums = true; // a sum of two products as two sums: less work in a loop, more where there is none

  /// Of run-time graphs. Without loops, the interpreter fuses a broadcast with a sum.
  static constexpr simplify_options of_interpreter(graph_view const& g, bool exact) {
    simplify_options o;
    o.rewrite = !exact;
    o.update_rows = true;
    o.matrix_products = g.region_count > 1;
    return o;
  }
};

class simplifier {
  rewriting r_;
  movement_rules move_{r_};
  arithmetic_rules arithmetic_{r_, move_};
  sum_rules sums_;
  graph_view from_;
  bool rewrite_;
  readers readers_;
  std::int32_t const* read_;
  rewriter copy_;
  symbol* now_; // those of the rewriter
  std::int32_t const* shapes_;
  array<bool> is_base_;           // by old symbol, where there are views: something is a view of it
  array<std::int32_t> divisions_; // by what repeats in the divisor; counted for the first division

public:
  constexpr simplifier(graph_view const& g, simplify_options const& o, bool views)
      : r_(g.tensor_count + g.tensor_count / 2 + 64, o.fuse_multiply_add),
        sums_(r_, move_, arithmetic_, o.split_sums, o.matrix_products), from_(g), rewrite_(o.rewrite), readers_(g, views),
        read_(readers_.by_symbol()), copy_(g, r_.b), now_(copy_.now), shapes_(copy_.shapes) {
    r_.b.reserve(g.tensor_count + g.tensor_count / 2, g.node_count + g.node_count / 2,
                 g.id_count + g.id_count / 2);
    copy_.begin_regions();
    for (symbol t = 0; t < r_.b.get().tensors.size(); ++t) listed(t);
    if (views) {
      is_base_.assign(g.tensor_count, false);
      for (std::int32_t t = 0; t < g.tensor_count; ++t)
        if (g.tensors[t].base != none) is_base_[g.tensors[t].base] = true;
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) visit(i);
    copy_.end_regions();
  }
  simplifier(simplifier const&) = delete; // the rules refer to r_
  constexpr graph take() { return static_cast<graph&&>(r_.b.edit()); }

private:
  constexpr symbol now(symbol old) {
    if (old == none || now_[old] != 0) return now_[old] - 1;
    symbol const before = r_.g.tensors.size(), made = copy_(old);
    for (symbol t = before; t < r_.g.tensors.size(); ++t) listed(t);
    return made;
  }
  constexpr void listed(symbol t) { (void)r_.list(t, nullptr, r_.g.tensors[t].type, r_.g.tensors[t].shape); }

  /// Views, tensors with views, and symbols that are read before their producer keep their nodes.
  constexpr bool stays(symbol old) const {
    return from_.tensors[old].base != none || is_base_[old] || now_[old] != 0;
  }
  constexpr void visit(std::int32_t i) {
    node const& n = from_.nodes[i];
    std::int32_t const* const ids = from_.ids + n.first;
    bool const rare = n.result_count != 1 || n.op->kind == operation_kind::control ||
                      (readers_.views && stays(ids[n.operand_count]));
    if (!rare && read_[ids[n.operand_count]] == 0) return;
    r_.b.place = n.where;
    r_.b.flags = n.flags;
    if (rare || n.operand_count > 4 || !n.flags.merges || n.flags.exact || n.flags.repeated || !rewrite_)
      return visit_rare(i, rare);
    r_.b.region = n.region;
    symbol x[4]{};
    for (int k = 0; k < n.operand_count; ++k) x[k] = now_[ids[k]] != 0 ? now_[ids[k]] - 1 : now(ids[k]);
    tensor_symbol const& t = from_.tensors[ids[n.operand_count]];
    symbol const y = rewritten(n, x, from_.numbers + n.attribute, t.type, shapes_[t.shape]);
    now_[ids[n.operand_count]] = y + 1;
    r_.origin_of[y].readers += read_[ids[n.operand_count]];
    if (y == x[0] || (n.operand_count > 1 && y == x[1]))
      --r_.origin_of[y].readers; // this node reads it no more
    if (t.name != none && r_.b.tensor(y).name == none) r_.b.edit().tensors[y].name = t.name;
  }

  /// Loops and branches; nodes that never merge, that are exact or repeated, or that have many operands or several results. The
  /// readers of repeated nodes do not matter, so that every copy is rewritten in the same way.
  constexpr void visit_rare(std::int32_t i, bool copied) {
    node const& n = from_.nodes[i];
    std::int32_t const* const ids = from_.ids + n.first;
    std::int64_t const* const attributes = from_.numbers + n.attribute;
    array<symbol> x(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) x[k] = now(ids[k]);
    r_.b.region = n.region;
    if (copied) {
      array<symbol> results(n.result_count);
      for (int k = 0; k < n.result_count; ++k) results[k] = now(ids[n.operand_count + k]);
      copy_.set_owner(i, r_.b.assign(n, x, results, attributes));
    } else {
      symbol const old = ids[n.operand_count];
      tensor_symbol const& t = from_.tensors[old];
      symbol y = none;
      if (n.op->kind == operation_kind::identity && n.flags.merges && n.op != the<op::label> && n.op != the<op::after>) y = x[0];
      else if (n.op == the<op::after> && n.flags.merges) y = after(x.data(), n.operand_count, t.type, shapes_[t.shape]);
      else if (n.flags.merges && !n.flags.exact && rewrite_)
        y = rewritten(n, x.data(), attributes, t.type, shapes_[t.shape]);
      else
        y = r_.list(r_.b.push(n.op, x.data(), n.operand_count, attributes, n.attribute_count, t.type,
                              shapes_[t.shape], n.where),
                    nullptr, t.type, shapes_[t.shape]);
      now_[old] = y + 1;
      r_.origin_of[y].readers += n.flags.repeated ? 3 : read_[old];
      if (t.name != none && r_.b.tensor(y).name == none) r_.b.edit().tensors[y].name = t.name;
    }
  }

  /// `op::after` without constants and inputs, which are never waited for. Nested ones are merged.
  constexpr symbol after(symbol const* x, int n, element type, std::int32_t shape) {
    array<symbol> all;
    auto const wait_for = [&](symbol t) {
      if ((r_.g.tensors[t].producer == none && !readers_.views) || r_.is_constant(t)) return;
      for (int k = 1; k < all.size(); ++k)
        if (all[k] == t) return;
      all.push(t);
    };
    all.push(x[0]);
    if (r_.is_constant(x[0])) return x[0];
    if (r_.origin_of[x[0]].op == the<op::after>) {
      all[0] = r_.operand(x[0]);
      for (int k = 1; k < r_.operand_count(x[0]); ++k) wait_for(r_.operand(x[0], k));
    }
    for (int k = 1; k < n; ++k) wait_for(x[k]);
    return all.size() == 1 ? all[0]
                           : r_.make(the<op::after>, all.data(), all.size(), nullptr, 0, type, shape);
  }

  /// The source of a tensor, through up to four broadcasts, reshapes and identities.
  constexpr symbol source_of(symbol t) const {
    for (int hops = 0; hops < 4; ++hops) {
      node const* const n = from_.producer(t);
      if (n == nullptr || n->result_count != 1) break;
      operation_kind const kind = n->op->kind;
      if (kind != operation_kind::broadcast && kind != operation_kind::reshape &&
          kind != operation_kind::identity)
        break;
      t = from_.operand(*n, 0);
    }
    return t;
  }
  /// Whether this divisor is one scalar, or repeats a smaller tensor, by which there are other divisions.
  constexpr bool shares(symbol divisor) {
    if (divisions_.size() == 0) {
      divisions_ = array<std::int32_t>(from_.tensor_count);
      for (std::int32_t i = 0; i < from_.node_count; ++i) {
        node const& n = from_.nodes[i];
        if (n.op != the<op::divide> && n.op != the<op::reciprocal>) continue;
        if (read_[from_.result(n)] != 0)
          ++divisions_[source_of(from_.operand(n, n.op == the<op::divide> ? 1 : 0))];
      }
    }
    symbol const s = source_of(divisor);
    if (divisions_[s] < 2) return false;
    return r_.long_axes(shapes_[from_.tensors[s].shape]) == 0 ||
           r_.long_axes(shapes_[from_.tensors[divisor].shape]) !=
               r_.long_axes(shapes_[from_.tensors[s].shape]);
  }

  constexpr symbol rewritten(node const& n, symbol const* x, std::int64_t const* attributes, element type,
                             std::int32_t shape) {
    switch (n.op->kind) {
    case operation_kind::elementwise:
      if (n.op == the<op::divide> && is_floating(type) && r_.origin_of[x[1]].op != the<op::constant> &&
          !n.flags.repeated && shares(from_.ids[n.first + 1]))
        return arithmetic_.multiply(x[0], arithmetic_.reciprocal(x[1]));
      return arithmetic_.elementwise(n.op, x, n.operand_count, attributes, n.attribute_count, type, shape);
    case operation_kind::reduction:
      return n.op == the<op::sum>
                 ? sums_.sum(x[0], static_cast<std::uint32_t>(attributes[0]))
                 : sums_.reduction(n.op, x[0], static_cast<std::uint32_t>(attributes[0]), shape);
    case operation_kind::identity:
      if (n.op == the<op::label>) break;
      return n.op == the<op::after> ? after(x, n.operand_count, type, shape) : x[0];
    case operation_kind::constant:
    case operation_kind::size: return r_.source(n.op, attributes, n.attribute_count, type, shape);
    case operation_kind::broadcast: return move_.broadcast(x[0], attributes, shape);
    case operation_kind::reshape: return move_.reshape(x[0], shape);
    case operation_kind::permute: return move_.permute(x[0], attributes);
    case operation_kind::slice:
    case operation_kind::pad: return move_.window(n.op, x[0], attributes, shape);
    case operation_kind::matmul: return move_.matmul(x, attributes, shape);
    case operation_kind::concatenate: return move_.concatenate(x, n.operand_count, attributes[0], shape);
    default: break;
    }
    return r_.make(n.op, x, n.operand_count, attributes, n.attribute_count, type, shape);
  }
};

constexpr graph rewritten(graph_view const& g, simplify_options const& o) {
  simplifier rebuilt(g, o, readers::any_view(g));
  return rebuilt.take();
}
constexpr graph compacted(graph_view const& g, simplify_options const& o) {
  bool const views = readers::any_view(g), updates = o.rewrite && o.update_rows;
  graph small = compaction(g, {o.rewrite && o.fuse_multiply_add, updates}, views).take();
  if (!updates || !join_updates(small)) return small;
  return compaction(small, {}, views).take();
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
