// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_ACTIVITY_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_ACTIVITY_HPP

#include <cotangent/ops/control.hpp>

#include <cstdint>

// Activity analysis for derivatives: through loops to a fixed point, through all branches.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The range of symbols of each region, and its nodes in order.
class region_index {
  region_nodes nodes_;
  array<symbol> low_, high_; // by region; empty if there is one region only
  symbol symbol_count_;

public:
  bool reordered; // nodes are not visited in the order of the pool

  constexpr explicit region_index(graph const& g, std::int32_t const* order = nullptr)
      : nodes_(g, order), symbol_count_(g.tensors.size()), reordered(order != nullptr) {
    int const regions = g.regions.size();
    if (regions == 1) return;
    low_ = array<symbol>(regions, symbol_count_);
    high_ = array<symbol>(regions);
    for (symbol t = symbol_count_; t-- > 0;) low_[g.tensors[t].region] = t;
    for (symbol t = 0; t < symbol_count_; ++t) high_[g.tensors[t].region] = t + 1;
  }
  /// Drops unmarked nodes of the graph itself, among those that existed when marks were set.
  constexpr void keep_of_graph(array<bool> const& kept) { nodes_.keep_of_graph(kept); }
  constexpr int count(std::int32_t r) const noexcept { return nodes_.count(r); }
  /// Null if there is one region only, in the order of the pool: then node k is node k.
  constexpr std::int32_t const* nodes(std::int32_t r) const noexcept { return nodes_.list(r); }
  constexpr symbol low(std::int32_t r) const noexcept { return low_.size() == 0 ? 0 : low_[r]; }
  constexpr symbol high(std::int32_t r) const noexcept {
    return high_.size() == 0 ? symbol_count_ : high_[r];
  }
};

/// Marks on the symbols of one region. Values that a loop saves since the index was built are never marked.
class region_marks {
  array<bool> at_;
  symbol low_;
  bool newer_ = false;

public:
  constexpr region_marks(region_index const& index, std::int32_t r)
      : at_(index.high(r) > index.low(r) ? index.high(r) - index.low(r) : 0), low_(index.low(r)) {}
  constexpr bool& operator[](symbol t) {
    if (t - low_ < at_.size()) return at_[t - low_];
    newer_ = false;
    return newer_;
  }
};

/// Propagates activity through a region, forward from its inputs or backward from its outputs.
class activity {
  graph const& g_;
  region_index const& index_;
  bool every_; // any dependence, not only that of floating-point numbers through derivatives

  constexpr symbol operand(node const& n, int k) const { return g_.ids[n.first + k]; }
  constexpr symbol result(node const& n, int k) const { return g_.ids[n.first + n.operand_count + k]; }
  constexpr symbol input(std::int32_t r, int k) const { return g_.ids[g_.regions[r].first_input + k]; }
  constexpr symbol output(std::int32_t r, int k) const { return g_.ids[g_.regions[r].first_output + k]; }
  constexpr bool floating(symbol t) const { return every_ || is_floating(g_.tensors[t].type); }
  constexpr bool passes(node const& n) const { return every_ || n.op->derivative != derivative_kind::zero; }

public:
  constexpr activity(graph const& g, region_index const& index, bool every = false)
      : g_(g), index_(index), every_(every) {}

  /// A view is marked together with its base.
  constexpr bool marked(region_marks& m, symbol t) const {
    return t != none && (m[t] || (g_.tensors[t].base != none && m[g_.tensors[t].base]));
  }
  constexpr void mark(region_marks& m, symbol t) const {
    if (t == none || !floating(t)) return;
    m[t] = true;
    if (g_.tensors[t].base != none) m[g_.tensors[t].base] = true;
  }

  /// Marks the results that depend on the marked operands.
  constexpr void forward(node const& n, bool const* operands, bool* results) const {
    for (int k = 0; k < n.result_count; ++k) results[k] = false;
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) any = any || operands[k];
    if (!any || !passes(n)) return;
    if (n.op == info_of<op::loop>()) return forward_loop(n, operands, results);
    if (n.op == info_of<op::case_of>()) return forward_case(n, operands, results);
    for (int k = 0; k < n.result_count; ++k) results[k] = floating(result(n, k));
  }
  /// Marks the operands that the marked results depend on.
  constexpr void backward(node const& n, bool const* results, bool* operands) const {
    for (int k = 0; k < n.operand_count; ++k) operands[k] = false;
    bool any = false;
    for (int k = 0; k < n.result_count; ++k) any = any || results[k];
    if (!any || !passes(n)) return;
    if (n.op == info_of<op::loop>()) return backward_loop(n, results, operands);
    if (n.op == info_of<op::case_of>()) return backward_case(n, results, operands);
    for (int k = 0; k < n.operand_count; ++k) operands[k] = operand(n, k) != none && floating(operand(n, k));
  }

  /// Marks everything in the region that depends on marked symbols.
  constexpr void forward(std::int32_t r, region_marks& m) const {
    std::int32_t const* const nodes = index_.nodes(r);
    array<bool> from, to;
    for (int p = 0; p < index_.count(r); ++p) {
      node const& n = g_.nodes[nodes == nullptr ? p : nodes[p]];
      if (n.op->kind != operation_kind::control) {
        if (passes(n) && any_marked(m, n.first, n.operand_count))
          mark_all(m, n.first + n.operand_count, n.result_count);
        continue;
      }
      from.assign(n.operand_count, false);
      to.assign(n.result_count, false);
      for (int k = 0; k < n.operand_count; ++k) from[k] = marked(m, operand(n, k));
      forward(n, from.data(), to.data());
      for (int k = 0; k < n.result_count; ++k)
        if (to[k]) mark(m, result(n, k));
    }
  }
  /// Marks everything in the region that marked symbols depend on.
  constexpr void backward(std::int32_t r, region_marks& m) const {
    std::int32_t const* const nodes = index_.nodes(r);
    array<bool> from, to;
    for (int p = index_.count(r); p-- > 0;) {
      node const& n = g_.nodes[nodes == nullptr ? p : nodes[p]];
      if (n.op->kind != operation_kind::control) {
        if (passes(n) && any_marked(m, n.first + n.operand_count, n.result_count))
          mark_all(m, n.first, n.operand_count);
        continue;
      }
      from.assign(n.result_count, false);
      to.assign(n.operand_count, false);
      for (int k = 0; k < n.result_count; ++k) from[k] = marked(m, result(n, k));
      backward(n, from.data(), to.data());
      for (int k = 0; k < n.operand_count; ++k)
        if (to[k]) mark(m, operand(n, k));
    }
  }

  /// Marks carried values (by position), to a fixed point; `m` then holds the body's marks.
  constexpr void forward_carried(loop_layout const& at, region_marks& m) const {
    for (bool grew = true; grew;) {
      forward(at.body, m);
      grew = false;
      for (int k = 0; k < at.carried; ++k) {
        symbol const x = input(at.body, at.init(k));
        if (m[x] || !marked(m, output(at.body, k))) continue;
        mark(m, x);
        grew = grew || m[x];
      }
    }
  }
  /// The same from the marked operands. True if the rows of a batch would end the loop in different iterations: then all
  /// carried values are marked.
  constexpr bool forward_rows(loop_layout const& at, bool const* operands, region_marks& m) const {
    for (int k = 1; k < at.operand_count(); ++k)
      if (operands[k]) mark(m, input(at.body, k));
    forward_carried(at, m);
    if (!every_ || !ends_by_row(at, operands, m)) return false;
    for (int k = 0; k < at.carried; ++k) mark(m, input(at.body, at.init(k)));
    forward_carried(at, m);
    return true;
  }
  constexpr void backward_carried(loop_layout const& at, region_marks& m) const {
    for (bool grew = true; grew;) {
      backward(at.body, m);
      grew = false;
      for (int k = 0; k < at.carried; ++k) {
        symbol const y = output(at.body, k);
        if (m[y] || !m[input(at.body, at.init(k))]) continue;
        mark(m, y);
        grew = grew || m[y];
      }
    }
  }

private:
  constexpr bool any_marked(region_marks& m, int first, int count) const {
    for (int k = 0; k < count; ++k)
      if (marked(m, g_.ids[first + k])) return true;
    return false;
  }
  constexpr void mark_all(region_marks& m, int first, int count) const {
    for (int k = 0; k < count; ++k) mark(m, g_.ids[first + k]);
  }
  constexpr bool ends_by_row(loop_layout const& at, bool const* operands, region_marks& body) const {
    if (operands[0] || (at.has_start() && operands[at.start()])) return true;
    if (at.condition == none) return false;
    region_marks m(index_, at.condition);
    for (int k = 1; k < at.condition_input_count(); ++k)
      if (body[input(at.body, k)]) mark(m, input(at.condition, k));
    forward(at.condition, m);
    return marked(m, output(at.condition, 0));
  }
  constexpr void forward_loop(node const& n, bool const* operands, bool* results) const {
    loop_layout const at = loop_layout::of(g_.numbers.data() + n.attribute);
    region_marks m(index_, at.body);
    bool const by_row = forward_rows(at, operands, m);
    results[at.trips()] = by_row;
    for (int k = 0; k < at.carried; ++k) results[k] = m[input(at.body, at.init(k))];
    for (int k = 0; k < at.stacked; ++k) results[at.stack(k)] = by_row || marked(m, output(at.body, at.entry(k)));
  }
  constexpr void backward_loop(node const& n, bool const* results, bool* operands) const {
    loop_layout const at = loop_layout::of(g_.numbers.data() + n.attribute);
    region_marks m(index_, at.body);
    for (int k = 0; k < at.output_count(); ++k)
      if (results[k]) mark(m, output(at.body, k));
    backward_carried(at, m);
    for (int k = 1; k < at.operand_count(); ++k) operands[k] = m[input(at.body, k)];
    for (int k = 0; k < at.carried; ++k) operands[at.init(k)] = operands[at.init(k)] || results[k];
  }
  constexpr void forward_case(node const& n, bool const* operands, bool* results) const {
    case_layout const at = case_layout::of(g_.numbers.data() + n.attribute);
    bool const by_row = every_ && operands[0]; // other branches in other rows of a batch
    for (int k = 0; k < at.results; ++k) results[k] = by_row || (at.bypass(k) >= 0 && operands[1 + at.bypass(k)]);
    for (int j = 0; j < at.branches; ++j) {
      region_marks m(index_, at.branch(j));
      for (int k = 0; k < at.values; ++k)
        if (operands[1 + k]) mark(m, input(at.branch(j), k));
      forward(at.branch(j), m);
      for (int k = 0; k < at.results; ++k) results[k] = results[k] || marked(m, output(at.branch(j), k));
    }
  }
  constexpr void backward_case(node const& n, bool const* results, bool* operands) const {
    case_layout const at = case_layout::of(g_.numbers.data() + n.attribute);
    for (int k = 0; k < at.results; ++k)
      if (results[k] && at.bypass(k) >= 0) operands[1 + at.bypass(k)] = true;
    for (int j = 0; j < at.branches; ++j) {
      region_marks m(index_, at.branch(j));
      for (int k = 0; k < at.results; ++k)
        if (results[k]) mark(m, output(at.branch(j), k));
      backward(at.branch(j), m);
      for (int k = 0; k < at.values; ++k) operands[1 + k] = operands[1 + k] || m[input(at.branch(j), k)];
    }
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
