// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_LINEAR_RULE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_LINEAR_RULE_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/transform/differentiate/activity.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>
#include <cotangent/transform/masked.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Whether a rule of forward or reverse mode can be transposed. Its derivative must not depend on the placeholders, which the
/// sweep that transposes it shows; this class finds parts without a derivative: steps that round or compare values which depend on
/// a placeholder, and terms that do not depend on one.
template <class Rule> class linear_rule {
  builder const& b_;
  Rule const& rule_;
  symbol low_;
  array<bool> vanishes_; // by symbol - low_: of what depends on a placeholder: it is zero where the placeholders are

public:
  constexpr linear_rule(builder const& b, Rule const& rule)
      : b_(b), rule_(rule), low_(rule.low()), vanishes_(b.get().tensors.size() - rule.low(), false) {
    for (std::int32_t const i : rule.nodes()) {
      node const& n = b.get().nodes[i];
      if (is_varying(n) && keeps_zero(n))
        for (int k = 0; k < n.result_count; ++k) vanishes_[operand(n, n.operand_count + k) - low_] = true;
    }
  }

  /// True if the outputs are not seen to be another function than a linear one. (The sweep refuses operations whose derivative is
  /// undefined.)
  constexpr bool holds(symbol const* outputs, int count) const {
    array<bool> needed(vanishes_.size(), false);
    auto const need = [&](symbol t) {
      if (varies(t) && !rule_.is_placeholder(t)) needed[t - low_] = true;
    };
    bool linear = true;
    for (int k = 0; k < count; ++k) {
      linear = linear && is_zero_at_zero(outputs[k]);
      need(outputs[k]);
    }
    for (int k = rule_.nodes().size(); k-- > 0;) {
      node const& n = b_.get().nodes[rule_.nodes()[k]];
      bool any = false;
      for (int j = 0; j < n.result_count; ++j)
        if (symbol const y = operand(n, n.operand_count + j); y >= low_) any = any || needed[y - low_];
      if (!any) continue;
      if (n.op->derivative == derivative_kind::none_) return true;
      linear = linear && is_step(n);
      for (int j = 0; j < n.operand_count; ++j) need(operand(n, j));
    }
    return linear;
  }

private:
  constexpr symbol operand(node const& n, int k) const { return b_.get().ids[n.first + k]; } // (results follow)
  constexpr bool varies(symbol t) const { return t != none && rule_.varies(t); }
  constexpr bool is_varying(node const& n) const {
    for (int k = 0; k < n.operand_count; ++k)
      if (varies(operand(n, k))) return true;
    return false;
  }
  /// True if a value is zero where the placeholders are: of other values, if it is seen to be zero.
  constexpr bool is_zero_at_zero(symbol t, int depth = 8) const {
    if (t == none) return true;
    if (rule_.varies(t)) return rule_.is_placeholder(t) || vanishes_[t - low_];
    if (is_zero(b_.get(), t)) return true;
    std::int32_t const p = b_.tensor(t).producer;
    return p != none && depth > 0 && keeps_zero(b_.get().nodes[p], depth - 1);
  }
  constexpr bool keeps_zero(node const& n, int depth = 8) const {
    auto const zero = [&](int k) { return is_zero_at_zero(operand(n, k), depth); };
    if (n.op == info_of<op::multiply>()) return zero(0) || zero(1);
    if (n.op == info_of<op::multiply_add>()) return (zero(0) || zero(1)) && zero(2);
    if (n.op == info_of<op::select>()) return zero(1) && zero(2);
    bool const every = n.op == info_of<op::add>() || n.op == info_of<op::subtract>() || n.op == info_of<op::update_rows>() ||
                       n.op == info_of<op::convert>() || n.op == info_of<op::negate>() ||
                       (n.op->kind >= operation_kind::broadcast && n.op->kind <= operation_kind::concatenate);
    if (!every && !is_varying(n)) return false;
    for (int k = 0; k < n.operand_count; ++k) { // (another operation is linear in the operands that vary)
      symbol const x = operand(n, k);
      if (x != none && (varies(x) || (every && is_floating(b_.tensor(x).type))) && !zero(k)) return false;
    }
    return true;
  }

  /// (A placeholder of a rule inside of this one only has the type of its operand.)
  static constexpr bool has_derivative(node const& n) {
    return n.op->derivative != derivative_kind::zero || n.op == info_of<op::placeholder>();
  }
  /// True if a node has a derivative with respect to its operands that vary.
  constexpr bool is_step(node const& n) const {
    if (n.op->kind != operation_kind::control) return has_derivative(n);
    array<bool> operands(n.operand_count, false);
    for (int k = 0; k < n.operand_count; ++k) operands[k] = varies(operand(n, k));
    graph const& g = b_.get();
    if (b_.owner == nullptr || in_order(g)) return is_step(n, region_index(g), operands.data());
    ordering const order = order_of(g);
    return is_step(n, region_index(g, order.nodes.data()), operands.data());
  }
  constexpr bool is_step(node const& n, region_index const& index, bool const* operands) const {
    graph const& g = b_.get();
    activity const follow(g, index, true);
    auto const input = [&](std::int32_t r, int k) { return g.ids[g.regions[r].first_input + k]; };
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g.numbers.data() + n.attribute);
      region_marks body(index, at.body);
      return !follow.forward_rows(at, operands, body) && are_steps(at.body, index, body);
    }
    if (n.op != info_of<op::case_of>()) return true;
    if (operands[0]) return false;
    case_layout const at = case_layout::of(g.numbers.data() + n.attribute);
    for (int j = 0; j < at.branches; ++j) {
      region_marks branch(index, at.branch(j));
      for (int k = 0; k < at.values; ++k)
        if (operands[1 + k]) follow.mark(branch, input(at.branch(j), k));
      follow.forward(at.branch(j), branch);
      if (!are_steps(at.branch(j), index, branch)) return false;
    }
    return true;
  }
  /// The same of each node of a region that results of it depend on.
  constexpr bool are_steps(std::int32_t r, region_index const& index, region_marks& varying) const {
    graph const& g = b_.get();
    activity const follow(g, index, true);
    region_marks needed(index, r);
    for (int k = 0; k < g.regions[r].output_count; ++k) follow.mark(needed, g.ids[g.regions[r].first_output + k]);
    follow.backward(r, needed);
    array<bool> operands;
    for (int p = 0; p < index.count(r); ++p) {
      std::int32_t const* const nodes = index.nodes(r);
      node const& n = g.nodes[nodes == nullptr ? p : nodes[p]];
      bool any = false, wanted = false;
      operands.assign(n.operand_count, false);
      for (int k = 0; k < n.operand_count; ++k) any = (operands[k] = follow.marked(varying, operand(n, k))) || any;
      for (int k = 0; k < n.result_count; ++k) wanted = wanted || follow.marked(needed, operand(n, n.operand_count + k));
      if (!any || !wanted) continue;
      if (n.op->kind == operation_kind::control ? !is_step(n, index, operands.data()) : !has_derivative(n)) return false;
    }
    return true;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
