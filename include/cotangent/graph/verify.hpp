// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_VERIFY_HPP
#define COTANGENT_GRAPH_VERIFY_HPP

#include <cotangent/graph/piece_writers.hpp>
#include <cotangent/graph/verify_shapes.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent {

namespace detail {

/// The regions, each after its parent, whatever their indices; without those on a cycle.
constexpr array<std::int32_t> regions_from_outside(graph_view const& g) {
  array<std::int32_t> first(g.region_count, none), next(g.region_count, none), order;
  for (std::int32_t r = g.region_count; --r > 0;) {
    next[r] = first[g.regions[r].parent];
    first[g.regions[r].parent] = r;
  }
  order.push(0);
  for (int k = 0; k < order.size(); ++k)
    for (std::int32_t r = first[order[k]]; r != none; r = next[r]) order.push(r);
  return order;
}

/// Checks a graph from its pools to its nodes; keeps the first defect.
class verifier {
  graph_view g_;
  verification found_;
  array<bool> defined_; // by symbol

public:
  constexpr explicit verifier(graph_view const& g) : g_(g), defined_(g.tensor_count) {}

  constexpr verification run() {
    regions();
    for (symbol t = 0; t < g_.tensor_count && found_; ++t) tensor(t);
    for (std::int32_t i = 0; i < g_.node_count && found_; ++i) pools(i);
    if (!found_) return found_;
    for (std::int32_t r = 0; r < g_.region_count && found_; ++r) owner(r);
    if (found_ && g_.region_count > 1 && regions_from_outside(g_).size() != g_.region_count)
      say("a region is inside itself");
    for (std::int32_t r = 0; r < g_.region_count && found_; ++r) inputs(r);
    piece_writers const writers(g_);
    for (std::int32_t i = 0; i < g_.node_count && found_; ++i) order(i, writers);
    for (std::int32_t r = 0; r < writers.roots() && found_; ++r) pieces(writers, r);
    if (found_ && writers.roots() > 0)
      if (std::int32_t const late = first_out_of_order(g_, writers); late != none)
        say("an operand is defined after its use", late);
    for (symbol t = 0; t < g_.tensor_count && found_; ++t) produced(t);
    for (std::int32_t r = 0; r < g_.region_count && found_; ++r) outputs(r);
    for (std::int32_t i = 0; i < g_.node_count && found_; ++i)
      if (node const& n = g_.nodes[i]; n.op->kind == operation_kind::control && n.op->check != nullptr)
        say(n.op->check(g_, n), i);
    if (found_) found_ = verify_shapes(g_);
    return found_;
  }

private:
  constexpr void say(char const* text, std::int32_t node = none, symbol s = none,
                     std::int32_t region = none) {
    if (found_ && text != nullptr) found_ = {text, node, s, region};
  }
  static constexpr bool within(std::int32_t first, std::int32_t count, std::int32_t size) noexcept {
    return first >= 0 && count >= 0 && first <= size && count <= size - first;
  }
  constexpr bool is_symbol(symbol t) const noexcept { return t >= 0 && t < g_.tensor_count; }

  constexpr void regions() {
    if (g_.region_count < 1) return say("the graph has no region");
    for (std::int32_t r = 0; r < g_.region_count && found_; ++r) {
      region const& at = g_.regions[r];
      if (!within(at.first_input, at.input_count, g_.id_count) ||
          !within(at.first_output, at.output_count, g_.id_count))
        return say("inputs or outputs of a region lie outside of the graph's ids", none, none, r);
      for (int k = 0; k < at.input_count; ++k)
        if (!is_symbol(g_.input(k, r)))
          return say("an input of a region is not a symbol", none, g_.input(k, r), r);
      for (int k = 0; k < at.output_count; ++k)
        if (!is_symbol(g_.output(k, r)) && !(r > 0 && g_.output(k, r) == none)) // a branch may lack one
          return say("an output of a region is not a symbol", none, g_.output(k, r), r);
    }
  }

  constexpr void tensor(symbol t) {
    tensor_symbol const& s = g_.tensors[t];
    if (s.shape < 0 || s.shape >= g_.shape_count) return say("a symbol's shape is not in the graph", none, t);
    dimensions const& d = g_.shape(t);
    if (d.rank < 0 || d.rank > max_rank) return say("a symbol has too many axes", none, t);
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] < -g_.extent_count) return say("a symbol has a size that is not in the graph", none, t);
    if (static_cast<int>(s.type) >= element_count)
      return say("a symbol has an unknown element type", none, t);
    if (s.producer < none || s.producer >= g_.node_count)
      return say("a symbol's producer is not a node", none, t);
    if (s.region < 0 || s.region >= g_.region_count) return say("a symbol lives in no region", none, t);
    if (s.name < none || s.name >= g_.name_count) return say("a symbol's name is not in the graph", none, t);
    if (s.base != none) view(t);
  }

  constexpr void view(symbol t) {
    tensor_symbol const& s = g_.tensors[t];
    if (!is_symbol(s.base)) return say("a view is of something that is not a symbol", none, t);
    tensor_symbol const& base = g_.tensors[s.base];
    if (base.base != none) return say("a view is of a view; it must be of the tensor behind it", none, t);
    if (base.type != s.type) return say("a view has another element type than its tensor", none, t);
    dimensions const& d = g_.shape(t);
    if (!within(s.window, d.rank + 1, g_.number_count))
      return say("a view's window is not in the graph", none, t);
    if (base.shape < 0 || base.shape >= g_.shape_count) return; // reported when its turn comes
    std::int64_t first = g_.numbers[s.window], last = first, elements = 1;
    for (int k = 0; k < d.rank; ++k) {
      if (d.size[k] < 0) return; // known at run time
      if (d.size[k] == 0) return;
      std::int64_t const reach = (d.size[k] - 1) * g_.numbers[s.window + 1 + k];
      (reach < 0 ? first : last) += reach;
    }
    dimensions const& from = g_.shape(s.base);
    for (int k = 0; k < from.rank; ++k) {
      if (from.size[k] < 0) return;
      elements *= from.size[k];
    }
    if (first < 0 || last >= elements) say("a view reaches outside of its tensor", none, t);
  }

  constexpr void pools(std::int32_t i) {
    node const& n = g_.nodes[i];
    if (n.op == nullptr) return say("a node has no operation", i);
    if (n.operand_count < 0 || n.result_count < 0 ||
        !within(n.first, n.operand_count + n.result_count, g_.id_count))
      return say("a node's operands or results lie outside of the graph's ids", i);
    if (!within(n.attribute, n.attribute_count, g_.number_count))
      return say("a node's attributes lie outside of the graph's numbers", i);
    if (n.region < 0 || n.region >= g_.region_count) return say("a node lives in no region", i);
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g_.operand(n, k); !is_symbol(x) && x != none)
        return say("an operand is not a symbol", i, x);
    for (int k = 0; k < n.result_count; ++k)
      if (!is_symbol(g_.result(n, k))) return say("a result is not a symbol", i, g_.result(n, k));
    if (n.op->kind == operation_kind::input) return say("an input is not a node", i);
    if (n.op->kind == operation_kind::control) return;
    for (int k = 0; k < n.operand_count; ++k)
      if (g_.operand(n, k) != none && g_.tensors[g_.operand(n, k)].depth != 0)
        return say("an operand is a sequence; only loops take sequences apart", i, g_.operand(n, k));
    if (n.op->arity >= 0 ? n.operand_count != n.op->arity : n.operand_count < 1)
      return say("an operation has the wrong number of operands", i);
    if (n.result_count != 1) return say("an operation has the wrong number of results", i);
    for (int k = 0; k < n.operand_count; ++k)
      if (g_.operand(n, k) == none) return say("an operand is missing", i);
  }

  constexpr void owner(std::int32_t r) {
    region const& at = g_.regions[r];
    if (r == 0) {
      if (at.parent != none || at.owner != none) say("the graph itself has a parent", none, none, r);
      return;
    }
    if (at.parent < 0 || at.parent >= g_.region_count) return say("a region has no parent", none, none, r);
    if (at.owner < 0 || at.owner >= g_.node_count) return say("a region has no owner", none, none, r);
    if (g_.nodes[at.owner].op->kind != operation_kind::control)
      return say("a region's owner is not an operation that runs regions", at.owner, none, r);
    if (g_.nodes[at.owner].region != at.parent)
      return say("a region's owner does not live in its parent", at.owner, none, r);
  }

  constexpr void inputs(std::int32_t r) {
    for (int k = 0; k < g_.input_count(r); ++k) {
      symbol const t = g_.input(k, r);
      if (g_.tensors[t].producer != none) return say("an input has a producer", none, t, r);
      if (g_.tensors[t].region != r) return say("an input lives in another region", none, t, r);
      if (defined_[t]) return say("a symbol is an input twice", none, t, r);
      defined_[t] = true;
    }
  }

  constexpr void order(std::int32_t i, piece_writers const& writers) {
    node const& n = g_.nodes[i];
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = g_.operand(n, k);
      if (x == none) continue;
      tensor_symbol const& t = g_.tensors[x];
      if (t.region != n.region)
        return say("an operand lives in another region than its node; it must be passed in", i, x);
      if (defined_[x] || (t.base != none && defined_[t.base])) continue;
      if (writers.of(t.base == none ? x : t.base) != none) continue; // checked element by element
      say(t.producer == none && t.base == none ? "an operand is defined by nothing"
                                               : "an operand is defined after its use",
          i, x);
      return;
    }
    for (int k = 0; k < n.result_count; ++k) {
      symbol const y = g_.result(n, k);
      tensor_symbol const& t = g_.tensors[y];
      if (defined_[y] && (t.base == none || t.producer != i)) return say("a symbol is assigned twice", i, y);
      symbol const whole = t.base == none ? y : t.base;
      if (writers.of(whole) != none && g_.tensors[whole].producer != none)
        return say("a symbol is assigned twice", i, y);
      if (t.producer != i) return say("a result names another node as its producer", i, y);
      if (t.region != n.region) return say("a result lives in another region than its node", i, y);
      defined_[y] = true;
      if (t.base != none) defined_[t.base] = true;
    }
  }

  /// Checks that each element of a tensor is assigned once.
  constexpr void pieces(piece_writers const& writers, std::int32_t r) {
    window_index const& index = writers.index(r);
    for (int i = 0; i < index.size() && found_; ++i) {
      std::int32_t const writer = writers.node_of(r, i);
      if (holds_twice(index.window(i)) != answer::no)
        return say("a view that holds an element twice is written", writer, index.window(i).root);
      index.visit(
          index.ask(index.window(i)), [&](std::int32_t, bool) { return !found_; },
          [&](std::int32_t j) {
            if (j == i) return;
            say("two nodes assign one element", writer, index.window(i).root);
            found_.other = writers.node_of(r, j);
          });
    }
  }

  constexpr void produced(symbol t) {
    std::int32_t const p = g_.tensors[t].producer;
    if (p == none) return;
    node const& n = g_.nodes[p];
    for (int k = 0; k < n.result_count; ++k)
      if (g_.result(n, k) == t) return;
    say("a symbol names a producer that does not have it as a result", p, t);
  }

  constexpr void outputs(std::int32_t r) {
    for (int k = 0; k < g_.output_count(r); ++k) {
      symbol const y = g_.output(k, r);
      if (y == none) continue;
      tensor_symbol const& t = g_.tensors[y];
      if (t.region != r) return say("an output of a region lives in another region", none, y, r);
      if (!defined_[y] && (t.base == none || !defined_[t.base]))
        return say("an output is defined by nothing", none, y, r);
    }
  }
};

} // namespace detail

/// Verifies a graph, and describes the first defect in words. Indices lie within their pools; each symbol is
/// assigned at most once and before its use; views lie within their base; regions nest, and each is a
/// function of its own; every node has the element type and shape of its operation.
///
/// Cost: linear.
/// Checked: tests/static/verify.cpp, tests/runtime/verify.cpp.
constexpr verification verify(extend::graph_view const& g) { return detail::verifier(g).run(); }

} // namespace cotangent
COTANGENT_COLD_END

#endif
