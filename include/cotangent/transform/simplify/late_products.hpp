// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_LATE_PRODUCTS_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_LATE_PRODUCTS_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A carried value of a loop that only sums products A' B, for matrices A and B of each iteration. After the loop, the sum is one
/// product of the stacked matrices.
struct late_product {
  int carried = 0;
  std::int32_t sum = none, product = none; // nodes of the body
  symbol factor[2]{none, none};            // A and B; reshaped, if a row stands for each
  dimension rows = 1, columns[2]{1, 1};    // of A and B in an iteration
};

/// Finds them: sums of gradients of weights in loops, above all.
class late_products {
  // A smaller matrix, or one not much larger than its factors, is summed as fast in the loop.
  static constexpr std::int64_t least_elements = 256, least_ratio = 4;

  graph_view g_;
  bool any_;
  array<std::int32_t> readers_; // by symbol; empty before the first candidate

public:
  /// `any`: false if there are to be none.
  constexpr late_products(graph_view const& g, bool any) : g_(g), any_(any) {}

  /// The number of iterations of a loop, a number or an extent; 0 if the loop may end earlier, or gradients of it may record a
  /// limited number of bytes only.
  constexpr dimension trips(node const& n) const {
    loop_layout const at = loop_layout::of(g_, n);
    node const* const limit = g_.operand(n, 0) == none ? nullptr : g_.producer(g_.operand(n, 0));
    if (at.condition != none || at.has_start() || at.tape_limit > 0 || limit == nullptr) return 0;
    if (limit->op == info_of<op::constant>() && g_.attribute(*limit) > 1) return g_.attribute(*limit);
    return limit->op == info_of<op::size>() && limit->attribute_count == 1 ? g_.attribute(*limit) : 0;
  }

  /// Those of a loop. Together, their factors of all iterations take no more memory than what the loop scans.
  constexpr array<late_product> of(node const& n) {
    loop_layout const at = loop_layout::of(g_, n);
    array<late_product> found;
    if (!any_ || n.flags.exact || trips(n) == 0) return found;
    array<symbol> stacked;
    std::int64_t room = 0;
    for (int k = 0; k < at.scanned; ++k) room += bytes(g_.input(at.scan(k), at.body));
    for (int k = 0; k < at.carried; ++k) {
      late_product p;
      p.carried = k;
      if (!matches(at, p)) continue;
      std::int64_t more = 0;
      for (symbol const t : p.factor)
        if (scanned(n, t) < 0 && index_of(stacked, t) == stacked.size()) more += bytes(t);
      if (more > room) continue;
      room -= more;
      for (symbol const t : p.factor)
        if (scanned(n, t) < 0) stacked.push(t);
      found.push(p);
    }
    return found;
  }
  /// The position in a list; its length for others.
  static constexpr int index_of(array<symbol> const& in, symbol t) {
    int k = 0;
    while (k < in.size() && in[k] != t) ++k;
    return k;
  }
  /// The position of the sequence that a value of the body is an entry of, if there is one entry for each iteration; else -1.
  constexpr int scanned(node const& n, symbol t) const {
    int const k = entry(loop_layout::of(g_, n), t);
    node const* const made = k < 0 ? nullptr : g_.producer(g_.operand(n, k));
    if (made == nullptr) return -1;
    dimension const entries = made->op == info_of<op::rows_to_sequence>() ? g_.shape(g_.operand(*made, 0)).size[0]
                              : made->op == info_of<op::loop>()           ? trips(*made)
                                                                          : 0;
    return entries == trips(n) ? k : -1;
  }

private:
  /// The position of the sequence that a value of the body is an entry of, -1 for others.
  constexpr int entry(loop_layout const& at, symbol t) const {
    for (int k = at.scan(0); k < at.operand_count(); ++k)
      if (g_.input(k, at.body) == t) return k;
    return -1;
  }
  /// -1 if it is not a number.
  constexpr std::int64_t elements(symbol t) const {
    std::int64_t count = 1;
    for (int k = 0; k < g_.shape(t).rank; ++k) {
      if (g_.shape(t).size[k] < 0) return -1;
      count *= g_.shape(t).size[k];
    }
    return count;
  }
  constexpr std::int64_t bytes(symbol t) const {
    std::int64_t const count = elements(t);
    return g_.tensors[t].depth != 0 || count < 0 ? 0 : count * static_cast<std::int64_t>(size_of(g_.tensors[t].type));
  }
  constexpr bool matches(loop_layout const& at, late_product& p) {
    symbol const in = g_.input(at.init(p.carried), at.body), out = g_.output(p.carried, at.body);
    element const e = g_.tensors[out].type;
    if ((e != element::float32 && e != element::float64) || g_.tensors[out].depth != 0 || elements(out) < least_elements) return false;
    node const* const sum = made_in(at.body, out, info_of<op::add>());
    if (sum == nullptr || (g_.operand(*sum, 0) == in) == (g_.operand(*sum, 1) == in)) return false;
    symbol const product = g_.operand(*sum, g_.operand(*sum, 0) == in ? 1 : 0);
    if (readers(in) != 1 || readers(out) != 1 || readers(product) != 1) return false;
    node const* const of = g_.producer(product);
    if (of == nullptr || !is_plain(at.body, *of) || !(of->op == info_of<op::matmul>() ? is_matmul(*of, p) : is_outer(*of, p))) return false;
    p.sum = static_cast<std::int32_t>(sum - g_.nodes);
    p.product = static_cast<std::int32_t>(of - g_.nodes);
    std::int64_t const factors = elements(p.factor[0]) + elements(p.factor[1]);
    return elements(out) >= least_ratio * factors && varies(at, p.factor[0]) && varies(at, p.factor[1]);
  }
  constexpr bool is_plain(std::int32_t body, node const& n) const {
    return n.region == body && n.flags.merges && !n.flags.exact && g_.tensors[g_.result(n)].base == none;
  }
  constexpr node const* made_in(std::int32_t body, symbol t, operation const* op) const {
    node const* const n = g_.producer(t);
    return n != nullptr && n->op == op && is_plain(body, *n) ? n : nullptr;
  }
  /// Computed in the body, or an entry of a sequence.
  constexpr bool varies(loop_layout const& at, symbol t) const {
    node const* const n = g_.producer(t);
    return n == nullptr ? entry(at, t) >= 0 && g_.tensors[t].depth == 0
                        : n->region == at.body && n->op != info_of<op::constant>() && g_.tensors[t].base == none;
  }
  /// The same elements in the shape in which they are computed.
  constexpr symbol unshaped(symbol t) const {
    for (node const* n = g_.producer(t); n != nullptr && n->op == info_of<op::reshape>() && n->flags.merges; n = g_.producer(t))
      t = g_.operand(*n, 0);
    return t;
  }
  constexpr bool is_matmul(node const& n, late_product& p) const {
    if (g_.attribute(n, 0) == 0 || g_.attribute(n, 1) != 0 || g_.shape(g_.operand(n, 0)).rank != 2) return false;
    for (int k = 0; k < 2; ++k) {
      p.factor[k] = unshaped(g_.operand(n, k));
      p.columns[k] = g_.shape(g_.operand(n, k)).size[1];
    }
    p.rows = g_.shape(g_.operand(n, 0)).size[0];
    return p.rows > 0 && elements(p.factor[0]) > 0 && elements(p.factor[1]) > 0;
  }
  /// A product of two broadcasts, one along the last axes, and one along the first ones.
  constexpr bool is_outer(node const& n, late_product& p) const {
    if (n.op != info_of<op::multiply>()) return false;
    int low[2], high[2]{-1, -1}; // the axes along which an operand varies
    for (int k = 0; k < 2; ++k) {
      node const* const b = g_.producer(g_.operand(n, k));
      if (b == nullptr || b->op != info_of<op::broadcast>() || b->region != n.region) return false;
      dimensions const &from = g_.shape(g_.operand(*b, 0)), &to = g_.shape(g_.result(*b));
      low[k] = to.rank;
      for (int a = 0; a < from.rank; ++a)
        if (int const axis = static_cast<int>(g_.attribute(*b, a)); from.size[a] == to.size[axis] && from.size[a] != 1) {
          low[k] = axis < low[k] ? axis : low[k];
          high[k] = axis > high[k] ? axis : high[k];
        }
      p.factor[k] = unshaped(g_.operand(*b, 0));
      p.columns[k] = elements(p.factor[k]);
    }
    if (low[0] > high[1]) {
      symbol const t = p.factor[0];
      p.factor[0] = p.factor[1], p.factor[1] = t;
      dimension const c = p.columns[0];
      p.columns[0] = p.columns[1], p.columns[1] = c;
    } else if (low[1] <= high[0]) {
      return false;
    }
    return p.columns[0] > 0 && p.columns[1] > 0 && p.columns[0] * p.columns[1] == elements(g_.result(n));
  }
  constexpr int readers(symbol t) {
    if (readers_.empty()) {
      readers_.assign(g_.tensor_count, 0);
      auto const read = [&](symbol s) {
        if (s != none) ++readers_[s];
      };
      for (std::int32_t i = 0; i < g_.node_count; ++i)
        for (int k = 0; k < g_.nodes[i].operand_count; ++k) read(g_.operand(g_.nodes[i], k));
      for (std::int32_t r = 0; r < g_.region_count; ++r)
        for (int k = 0; k < g_.output_count(r); ++k) read(g_.output(k, r));
      for (std::int32_t s = 0; s < g_.tensor_count; ++s) read(g_.tensors[s].base);
    }
    return readers_[t];
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
