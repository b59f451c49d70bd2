// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_PRUNE_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_PRUNE_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/transform/simplify/liveness.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Copies live nodes and values. Loops and branches carry, capture and return only live values.
class pruning {
  graph_view g_;
  liveness live_;
  graph to_;
  rewriter copy_;
  array<symbol> same_; // by symbol: another one that has its value
  array<std::int32_t>& regions_;

public:
  constexpr explicit pruning(graph_view const& g)
      : g_(g), live_(g), copy_(g, to_), same_(g.tensor_count, none), regions_(copy_.regions) {
    to_.tensors.reserve(g.tensor_count);
    to_.nodes.reserve(g.node_count);
    to_.ids.reserve(g.id_count);
    to_.regions.clear();
    regions_.assign(g.region_count, none);
    for (std::int32_t r = 0; r < g.region_count; ++r)
      if (r == 0 || live_.runs(g.regions[r].owner)) regions_[r] = to_.regions.push(g.regions[r]);
    for (std::int32_t r = 1; r < g.region_count; ++r)
      if (regions_[r] != none) to_.regions[regions_[r]].parent = regions_[g.regions[r].parent];
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (live_.runs(i) && g.nodes[i].op == info_of<op::loop>()) find_same(g.nodes[i]);
    copy_.name_inputs(0);
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (live_.runs(i)) copy(g.nodes[i]);
    array<symbol> out;
    for (int k = 0; k < g.output_count(); ++k) out.push(now(g.output(k)));
    name(out, 0, false);
  }
  constexpr graph take() { return static_cast<graph&&>(to_); }

private:
  constexpr symbol now(symbol old) {
    if (old == none || copy_.now[old] != 0) return copy_.now[old] - 1;
    if (same_[old] != none) copy_.now[old] = now(same_[old]) + 1;
    else (void)now(g_.tensors[old].base);
    return copy_(old);
  }
  constexpr void name(array<symbol> const& s, std::int32_t r, bool inputs) {
    if (inputs) to_.set_inputs(s.data(), s.size(), r);
    else to_.set_outputs(s.data(), s.size(), r);
  }

  /// A carried value that the loop does not change becomes a capture. Equal captures are merged.
  constexpr bool unchanged(loop_layout const& at, int k) const {
    return g_.output(k, at.body) == g_.input(at.init(k), at.body);
  }
  constexpr void alias_inputs(loop_layout const& at, int k, int as) {
    same_[g_.input(k, at.body)] = g_.input(as, at.body);
    if (at.condition != none) same_[g_.input(k, at.condition)] = g_.input(as, at.condition);
  }
  constexpr void find_same(node const& n) {
    loop_layout const at = loop_layout::of(g_, n);
    for (int k = 0; k < at.carried; ++k)
      if (unchanged(at, k)) same_[g_.result(n, k)] = g_.operand(n, at.init(k));
    for (int k = 1; k < at.scan(0); ++k) {
      if (k < at.capture(0) && !unchanged(at, k - 1)) continue;
      for (int j = 1; j < k; ++j) {
        if ((j < at.capture(0) && !unchanged(at, j - 1)) || g_.operand(n, j) != g_.operand(n, k)) continue;
        alias_inputs(at, k, j);
        break;
      }
    }
  }
  constexpr bool aliased(loop_layout const& at, int k) const { return same_[g_.input(k, at.body)] != none; }
  /// Whether anything reads the input at this position, or another that has become the same.
  constexpr bool reads(loop_layout const& at, int k) const {
    for (int j = k; j < at.scan(0); ++j) {
      if (j != k && same_[g_.input(j, at.body)] != g_.input(k, at.body)) continue;
      if (live_[g_.input(j, at.body)] || (at.condition != none && live_[g_.input(j, at.condition)]))
        return true;
    }
    return false;
  }

  constexpr void copy(node const& n) {
    if (n.op == info_of<op::loop>()) return copy_loop(n);
    if (n.op == info_of<op::case_of>()) return copy_case(n);
    node made = n;
    symbol const* const old = g_.ids + n.first;
    int const read = read_count(n);
    made.first = to_.ids.size();
    for (int k = 0; k < n.operand_count; ++k)
      if (k < read || live_[old[k]]) (void)to_.ids.push(now(old[k]));
    made.operand_count = to_.ids.size() - made.first;
    for (int k = 0; k < n.result_count; ++k) (void)to_.ids.push(now(old[n.operand_count + k]));
    made.attribute = n.attribute_count > 0 ? to_.numbers.append(g_.numbers + n.attribute, n.attribute_count) : 0;
    made.region = regions_[n.region];
    std::int32_t const at = to_.nodes.push(made);
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = to_.ids[made.first + made.operand_count + k]; y != none) to_.tensors[y].producer = at;
    if (n.result_count == 0) copy_.set_owner(static_cast<std::int32_t>(&n - g_.nodes), at); // `op::nothing` may own sub-graphs
  }
  constexpr std::int32_t place(node n, array<symbol> const& operands, array<symbol> const& results,
                               array<std::int64_t> const& attributes) {
    n.region = regions_[n.region];
    return to_.add(n, operands.data(), operands.size(), results.data(), results.size(), attributes.data(),
                   attributes.size());
  }

  constexpr void copy_loop(node const& n) {
    loop_layout const at = loop_layout::of(g_, n);
    array<int> carried, captured, scanned, stacked; // old positions among operands, and among stacked results
    for (int k = 0; k < at.carried; ++k)
      if (!unchanged(at, k) && live_.carries(at, n, k)) carried.push(at.init(k));
    for (int k = 1; k < at.scan(0); ++k)
      if ((k >= at.capture(0) || unchanged(at, k - 1)) && !aliased(at, k) && reads(at, k)) captured.push(k);
    for (int k = at.scan(0); k < at.operand_count(); ++k)
      if (live_[g_.input(k, at.body)]) scanned.push(k);
    for (int k = 0; k < at.stacked; ++k)
      if (live_[g_.result(n, at.stack(k))]) stacked.push(k);

    array<symbol> operands, results, body_in, condition_in, out;
    operands.push(now(g_.operand(n, 0)));
    body_in.push(now(g_.input(0, at.body)));
    if (at.condition != none) condition_in.push(now(g_.input(0, at.condition)));
    for (array<int> const* list : {&carried, &captured, &scanned})
      for (int k : *list) {
        operands.push(now(g_.operand(n, k)));
        body_in.push(now(g_.input(k, at.body)));
        if (at.condition != none && list != &scanned) condition_in.push(now(g_.input(k, at.condition)));
      }
    if (at.has_start()) operands.push(now(g_.operand(n, at.start())));
    for (int k : carried) {
      results.push(now(g_.result(n, k - 1)));
      out.push(now(g_.output(k - 1, at.body)));
    }
    for (int k : stacked) {
      results.push(now(g_.result(n, at.stack(k))));
      out.push(now(g_.output(at.entry(k), at.body)));
    }
    results.push(now(g_.result(n, at.trips())));
    loop_layout const made{.carried = carried.size(),
                           .captured = captured.size(),
                           .scanned = scanned.size(),
                           .stacked = stacked.size(),
                           .flags = at.flags,
                           .tape_limit = at.tape_limit,
                           .condition = at.condition == none ? none : regions_[at.condition],
                           .body = regions_[at.body]};
    array<std::int64_t> attributes(loop_layout::attribute_count);
    made.write(attributes.data());
    std::int32_t const owner = place(n, operands, results, attributes);
    name(body_in, made.body, true);
    name(out, made.body, false);
    to_.regions[made.body].owner = owner;
    if (made.condition == none) return;
    array<symbol> goes_on;
    goes_on.push(now(g_.output(0, at.condition)));
    name(condition_in, made.condition, true);
    name(goes_on, made.condition, false);
    to_.regions[made.condition].owner = owner;
  }

  constexpr void copy_case(node const& n) {
    case_layout const at = case_layout::of(g_, n);
    array<int> values, kept, position(at.values, -1);
    array<symbol> operands, results;
    operands.push(now(g_.operand(n, 0)));
    for (int k = 0; k < at.results; ++k)
      if (live_[g_.result(n, k)]) kept.push(k);
    for (int k = 0; k < at.values; ++k)
      if (live_.passes(at, n, k)) {
        position[k] = values.push(k);
        operands.push(now(g_.operand(n, 1 + k)));
      }
    array<std::int64_t> attributes;
    for (int count : {kept.size(), values.size(), at.branches}) attributes.push(count);
    for (int k : kept) {
      results.push(now(g_.result(n, k)));
      attributes.push(at.bypass(k) < 0 ? -1 : position[at.bypass(k)]);
    }
    for (int j = 0; j < at.branches; ++j) attributes.push(regions_[at.branch(j)]);
    std::int32_t const owner = place(n, operands, results, attributes);
    for (int j = 0; j < at.branches; ++j) {
      array<symbol> in, out;
      for (int k : values) in.push(now(g_.input(k, at.branch(j))));
      for (int k : kept) out.push(now(g_.output(k, at.branch(j))));
      name(in, regions_[at.branch(j)], true);
      name(out, regions_[at.branch(j)], false);
      to_.regions[regions_[at.branch(j)]].owner = owner;
    }
  }
};

/// True if loops and branches run all sub-graphs. Other operations may refer to theirs in unknown ways.
constexpr bool knows_regions(graph_view const& g) {
  for (std::int32_t r = 1; r < g.region_count; ++r)
    if (operation const* const op = g.nodes[g.regions[r].owner].op;
        op != info_of<op::loop>() && op != info_of<op::case_of>() && op != info_of<op::nothing>())
      return false;
  return true;
}

/// Dead code elimination: removes dead nodes, and dead carried values, captures, sequences and results of loops and branches. A
/// carried value that the loop does not change becomes a capture. Inputs and outputs keep their number and order. Loops and
/// branches must run all sub-graphs.
///
/// Cost: linear in the nodes, times the depth of nesting and the length of chains of carried values.
/// Checked: tests/static/control_structure.cpp, tests/runtime/control.cpp.
constexpr graph prune(graph_view const& g) { return detail::pruning(g).take(); }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
