// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_HOIST_VALUES_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_HOIST_VALUES_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/control/builder.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

// Values across the borders of loops and branches: which are equal, how far out they can be computed, where they are.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Rebuilds a graph by value numbering. A value is an operation applied to values, independent of its sub-graph. Captured inputs
/// of a sub-graph have the numbers of the values outside; its other inputs are new values.
class hoist_values {
  graph_view const& g_;
  builder& b_;
  rewriter& copy_;

  /// A sub-graph that is being built.
  struct frame {
    std::int32_t region = 0;
    std::int32_t serial = 0;          // no two frames have the same
    control_builder* maker = nullptr; // of the loop or branch; null: the graph itself
    bool is_loop = false;
    bool surely_runs = false; // at least once
  };
  array<frame> frames_; // by depth

  static constexpr std::int64_t cheap =
      4; // a cheaper elementwise operation is not worth a tensor

  struct value {
    std::int32_t node = none;  // of the old graph; none: an input, or a copied node
    std::int32_t first = 0;    // operands, among `operands_`
    std::int32_t depth = 0;    // the least at which it can be computed
    std::int32_t chain = 0;    // length of the chain of operations that are rematerialized with it
    std::int32_t where = none; // among `places_`
    bool light = false;        // computed again rather than passed on
    bool leaves_loops = false; // worth a tensor outside
    bool stays = false;        // in loops that may run zero times: see `least_depth`
    bool repeated = false;     // may be run again in a copy
  };
  struct place {
    std::int32_t serial = 0, depth = 0;
    symbol at = none;
    std::int32_t next = none;
  };
  array<value> values_;
  array<std::int32_t> operands_, number_; // values; by old symbol
  array<place> places_;
  hash_index known_;
  std::int32_t serials_ = 0;

public:
  /// Of the graph `g`, which `copy` copies into `to`.
  constexpr hoist_values(graph_view const& g, builder& to, rewriter& copy)
      : g_(g), b_(to), copy_(copy), number_(g.tensor_count, none) {
    b_.reserve(g.tensor_count, g.node_count, g.id_count);
    values_.reserve(g.tensor_count);
    places_.reserve(g.tensor_count);
    operands_.reserve(g.id_count);
    known_.reserve(g.tensor_count);
    open(nullptr, false);
  }

  constexpr int depth() const { return frames_.size() - 1; }
  constexpr void open(control_builder* maker, bool is_loop, bool surely_runs = false) {
    frames_.push({b_.region, serials_++, maker, is_loop, surely_runs});
  }
  constexpr void close() {
    (void)frames_.pop();
    b_.region = frames_.back().region;
  }
  // ---- numbers

  /// A value that nothing else is equal to, and where it is.
  constexpr std::int32_t fresh(symbol at) {
    value v;
    v.depth = depth();
    known_.add(0, false);
    std::int32_t const k = values_.push(v);
    put(k, depth(), at);
    return k;
  }
  constexpr std::int32_t number(symbol old) {
    if (number_[old] == none) number_[old] = fresh(declared(old)); // of no node's making, or a window
    return number_[old];
  }
  constexpr void set_number(symbol old, std::int32_t v) { number_[old] = v; }
  constexpr bool has_number(symbol old) const { return number_[old] != none; }
  constexpr bool is_constant(std::int32_t v) const {
    return values_[v].node != none && g_.nodes[values_[v].node].op == info_of<op::constant>();
  }
  constexpr std::int64_t constant_of(std::int32_t v) const { return g_.attribute(g_.nodes[values_[v].node]); }

  /// The value that a node with one result makes, known or new.
  constexpr std::int32_t number_node(std::int32_t i) {
    node const& n = g_.nodes[i];
    symbol const y = g_.result(n);
    std::int32_t const first = operands_.size();
    symbol const* const x = g_.ids + n.first;
    for (int k = 0; k < n.operand_count; ++k) operands_.push(number_[x[k]] != none ? number_[x[k]] : number(x[k]));
    if (n.op->commutative && operands_[first] > operands_[first + 1]) {
      std::int32_t const kept = operands_[first];
      operands_[first] = operands_[first + 1];
      operands_[first + 1] = kept;
    }
    std::uint32_t const h = builder::hash_of(n.op, operands_.data() + first, n.operand_count, g_.numbers + n.attribute,
                                             n.attribute_count, g_.tensors[y].type, g_.tensors[y].shape, 0);
    if (std::int32_t const at = known_.find_or_add(h, [&](std::int32_t v) { return same(v, n, first); });
        at != none) {
      operands_.resize(first);
      if (n.flags.repeated) repeat(at);
      return at;
    }
    return values_.push(describe(i, first));
  }

  // ---- places

  constexpr void put(std::int32_t v, int depth, symbol at) {
    values_[v].where = places_.push({frames_[depth].serial, depth, at, values_[v].where});
  }
  /// The deepest place of a value in the regions that are open, or none.
  constexpr std::int32_t place_of(std::int32_t v) {
    std::int32_t best = none;
    for (std::int32_t* p = &values_[v].where; *p != none;) {
      place const& at = places_[*p];
      if (at.depth >= frames_.size() || frames_[at.depth].serial != at.serial) {
        *p = at.next; // that region is closed
        continue;
      }
      if (best == none || at.depth > places_[best].depth) best = *p;
      p = &places_[*p].next;
    }
    return best;
  }
  /// The symbol of a value in the region at this depth: found there, passed in, or computed.
  constexpr symbol get(std::int32_t v, int depth) {
    if (std::int32_t const p = values_[v].where; p != none && places_[p].serial == frames_[depth].serial) return places_[p].at;
    std::int32_t const p = values_[v].where == none ? none : place_up_to(v, depth);
    if (p != none && (places_[p].depth == depth || !values_[v].light)) return passed(v, places_[p], depth);
    int at = depth;
    if (!values_[v].light && values_[v].leaves_loops && frames_[at].is_loop)
      for (int const last = values_[v].depth, least = least_depth(v, depth);
           at > last && frames_[at].is_loop && (at > least || frames_[at].surely_runs);)
        --at;
    symbol const y = make(v, at);
    return at == depth ? y : passed(v, places_[place_up_to(v, at)], depth);
  }
  constexpr symbol get_old(symbol old, int depth) { return old == none ? none : get(number(old), depth); }
  /// Whether the value is a node's that is better computed when it is read.
  constexpr bool waits(std::int32_t v) const { return values_[v].light && values_[v].chain < most_chain; }

private:
  static constexpr int most_chain = 32;

  /// The least depth at which a value that is read at this depth can be computed, without an error that a loop of zero
  /// iterations would not report.
  constexpr int least_depth(std::int32_t v, int depth) {
    value const at = values_[v];
    if (!at.stays) return at.depth;
    if (std::int32_t const p = at.where == none ? none : place_up_to(v, depth); p != none) return places_[p].depth;
    if (may_report(g_.nodes[at.node])) return depth;
    int least = at.depth;
    for (int k = 0; k < g_.nodes[at.node].operand_count; ++k) {
      int const one = least_depth(operands_[at.first + k], depth);
      if (least < one) least = one;
    }
    return least;
  }
  constexpr void repeat(std::int32_t v) {
    if (values_[v].repeated) return;
    values_[v].repeated = true;
    for (std::int32_t p = values_[v].where; p != none; p = places_[p].next)
      if (std::int32_t const i = b_.tensor(places_[p].at).producer; i != none) b_.edit().nodes[i].flags.repeated = true;
  }

  /// Unlike `place_of`, also among regions further in.
  constexpr std::int32_t place_up_to(std::int32_t v, int depth) {
    (void)place_of(v);
    std::int32_t best = none;
    for (std::int32_t p = values_[v].where; p != none; p = places_[p].next)
      if (places_[p].depth <= depth && (best == none || places_[p].depth > places_[best].depth)) best = p;
    return best;
  }
  constexpr symbol passed(std::int32_t v, place from, int depth) {
    symbol at = from.at;
    std::int32_t const region = b_.region;
    for (int d = from.depth + 1; d <= depth; ++d) {
      b_.region = frames_[d].region;
      at = frames_[d].maker->capture(at);
      put(v, d, at);
    }
    b_.region = region;
    return at;
  }

  constexpr bool same(std::int32_t v, node const& n, std::int32_t first) const {
    if (values_[v].node == none) return false;
    node const& m = g_.nodes[values_[v].node];
    symbol const x = g_.result(m), y = g_.result(n);
    if (m.op != n.op || m.operand_count != n.operand_count || m.attribute_count != n.attribute_count ||
        m.flags.exact != n.flags.exact || g_.tensors[x].type != g_.tensors[y].type ||
        g_.tensors[x].shape != g_.tensors[y].shape)
      return false;
    for (int k = 0; k < n.operand_count; ++k)
      if (operands_[values_[v].first + k] != operands_[first + k]) return false;
    for (int k = 0; k < n.attribute_count; ++k)
      if (g_.attribute(m, k) != g_.attribute(n, k)) return false;
    return true;
  }
  constexpr value describe(std::int32_t i, std::int32_t first) const {
    node const& n = g_.nodes[i];
    symbol const y = g_.result(n);
    value v;
    v.node = i;
    v.first = first;
    v.repeated = n.flags.repeated;
    bool const scalar = g_.shape(y).rank == 0;
    v.light = is_light(n.op->kind);
    v.leaves_loops = !v.light && n.op->kind != operation_kind::identity &&
                     (n.op->kind != operation_kind::elementwise || scalar || n.op->cost > cheap);
    v.stays = may_report(n);
    for (int k = 0; k < n.operand_count; ++k) {
      value const& x = values_[operands_[first + k]];
      v.depth = v.depth < x.depth ? x.depth : v.depth;
      v.stays = v.stays || x.stays;
      if (!x.leaves_loops && x.node != none && v.chain <= x.chain) v.chain = x.chain + 1;
    }
    // a long chain of cheap work is worth a tensor
    if (v.chain >= most_chain && n.op->kind == operation_kind::elementwise) v.leaves_loops = true;
    return v;
  }
  static constexpr bool is_light(operation_kind k) {
    using enum operation_kind;
    return k == constant || k == size || k == iota || k == broadcast || k == reshape || k == permute || k == slice;
  }
  /// Whether a node may report an error, or divide integers by 0. (What looks something up says where an index is out of range.)
  constexpr bool may_report(node const& n) const {
    using enum operation_kind;
    operation_kind const k = n.op->kind;
    return k == elementwise ? !is_total(n)
                            : k != reduction && k != arg_reduction && k != concatenate && k != pad &&
                                  k != matmul && k != identity && !is_light(k);
  }
  /// Whether an elementwise operation has a value for all operands: integers cannot be divided by 0.
  constexpr bool is_total(node const& n) const {
    return n.op->reports == nullptr &&
           (is_floating(g_.tensors[g_.result(n)].type) || n.op == info_of<op::add>() ||
            n.op == info_of<op::subtract>() || n.op == info_of<op::multiply>() ||
            n.op == info_of<op::negate>() || n.op == info_of<op::select>() ||
            g_.tensors[g_.result(n)].type == element::boolean);
  }

  constexpr symbol make(std::int32_t v, int depth) {
    node const& n = g_.nodes[values_[v].node];
    symbol few[4]{};
    array<symbol> many(n.operand_count > 4 ? n.operand_count : 0);
    symbol* const x = n.operand_count > 4 ? many.data() : few;
    for (int k = 0; k < n.operand_count; ++k) x[k] = get(operands_[values_[v].first + k], depth);
    tensor_symbol const& old = g_.tensors[g_.result(n)];
    std::int32_t const region = b_.region;
    node_flags const flags = b_.flags;
    b_.region = frames_[depth].region;
    b_.flags = n.flags;
    b_.flags.repeated = values_[v].repeated;
    symbol const y = b_.push(n.op, x, n.operand_count, g_.numbers + n.attribute, n.attribute_count, old.type,
                             copy_.shapes[old.shape], n.where);
    b_.region = region;
    b_.flags = flags;
    if (old.name != none && b_.tensor(y).name == none) b_.edit().tensors[y].name = old.name;
    put(v, depth, y);
    return y;
  }
  /// A symbol that no node with one result makes, in the region that is open.
  constexpr symbol declared(symbol old) {
    return copy_.declare(old, get_old(g_.tensors[old].base, depth()), b_.region);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
