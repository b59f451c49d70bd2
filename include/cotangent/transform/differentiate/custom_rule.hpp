// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_CUSTOM_RULE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_CUSTOM_RULE_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/transform/differentiate/region_copy.hpp>

#include <cstdint>

// Functions with derivative rules of their own: `ct::custom_vjp` and `ct::custom_jvp`. The rule is traced once, on placeholders,
// into the region of the function's value. A derivative copies the nodes of the rule with the placeholders replaced. Where no
// derivative is needed, the nodes of the rule are dead.

COTANGENT_COLD_BEGIN
namespace cotangent::refusals {
COTANGENT_REFUSAL(custom_operands, is, operands_given, those_of_its_rules, "cotangent: a value with rules of its own must have the operands that its three attributes say, of the types of the value and its arguments")
} // namespace cotangent::refusals

namespace cotangent::detail {

/// The positions of operands of a value with rules of its own. Attributes: the number of arguments, and whether there is a rule of
/// forward mode, and one of reverse mode.
///     operands   value | arguments | forward mode: placeholders of their tangents, tangent of the value
///                                  | reverse mode: placeholders of the value and its cotangent, cotangents of the arguments
/// If there are both, the rule of forward mode may read the placeholder of the value.
struct custom_layout {
  int arguments = 0;
  bool forward = false, reverse = false;

  static constexpr custom_layout of(builder const& b, node const& n) noexcept {
    std::int64_t const* const a = b.get().numbers.data() + n.attribute;
    return {static_cast<int>(a[0]), a[1] != 0, a[2] != 0};
  }
  static constexpr int argument(int k) noexcept { return 1 + k; }
  constexpr int tangent(int k) const noexcept { return 1 + arguments + k; } // of argument k
  constexpr int value_tangent() const noexcept { return 1 + 2 * arguments; }
  constexpr int value() const noexcept { return forward ? 2 + 2 * arguments : 1 + arguments; }
  constexpr int value_cotangent() const noexcept { return value() + 1; }
  constexpr int cotangent(int k) const noexcept { return value() + 2 + k; } // of argument k
  constexpr int count() const noexcept { return reverse ? value() + 2 + arguments : value(); }

  /// True of a node that has such operands: files can hold others.
  static constexpr bool fits(inference const& r) {
    if (r.attribute_count != 3) return false;
    std::int64_t const* const a = r.attribute;
    if (a[0] < 0 || a[0] > r.operand_count || ((a[1] | a[2]) & ~std::int64_t{1}) != 0 || (a[1] | a[2]) == 0) return false;
    custom_layout const at{static_cast<int>(a[0]), a[1] != 0, a[2] != 0};
    if (r.operand_count != at.count()) return false;
    for (int k = 0; k < r.operand_count; ++k)
      if (r.operand[k] == none || r.tensor(k).region != r.tensor(0).region) return false;
    auto const like = [&](int k, int other, bool replaced) { // (an input has no node that a rule could begin at)
      return same_value_type(r.tensor(k), r.tensor(other)) && (!replaced || r.tensor(k).producer != none);
    };
    bool all = !at.forward || like(at.value_tangent(), 0, false);
    all = all && (!at.reverse || (like(at.value(), 0, true) && like(at.value_cotangent(), 0, true)));
    for (int k = 0; k < at.arguments && all; ++k) {
      all = !at.forward || like(at.tangent(k), at.argument(k), true);
      all = all && (!at.reverse || like(at.cotangent(k), at.argument(k), false));
    }
    return all;
  }
};

} // namespace cotangent::detail

namespace cotangent::op {

/// Operand 0, with a rule for its derivatives: see `custom_layout`. The values of the other operands are not read.
struct custom : extend::primitive<operation_kind::identity, -1> {
  static constexpr char const* name = "custom";
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::custom_layout::fits(r)) r.refuse<refusals::custom_operands>(r.operand_count, 0);
  }
  static constexpr void batch(batch_rule& r) {
    detail::array<extend::symbol> all;
    for (int k = 0; k < r.operand_count(); ++k) all.push(r.every(k).id);
    std::int64_t const attributes[3]{r.attribute(0), r.attribute(1), r.attribute(2)};
    r.give({&r.b, r.b.push(info_of<custom>(), all.data(), all.size(), attributes, 3, r.b.place)});
  }
};

/// A value of the type of operand 0, which a derivative replaces. It varies along the rows of a batch if any other operand does.
struct placeholder : extend::primitive<operation_kind::identity, -1> {
  static constexpr char const* name = "placeholder";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) { r.like(0); }
};

} // namespace cotangent::op

namespace cotangent::detail {

/// Copies the nodes before `end` that depend on placeholders of the rule of node `at`, into the region in which nodes go now. `Outside` gives the symbol there
/// of a value that does not depend on them. Nodes from `at` on that are before `resume` count as constants.
template <class Outside> class rule_copy {
  builder& b_;
  Outside outside_;
  std::int32_t region_;
  array<std::int32_t> nodes_; // to copy, operands before readers
  symbol low_;
  array<symbol> copies_; // by symbol - low_; none before it is copied
  array<bool> varies_, needed_;

public:
  constexpr rule_copy(builder& b, std::int32_t at, std::int32_t end, symbol const* placeholders, symbol const* values,
                      int count, Outside const& outside, std::int32_t resume = 0)
      : b_(b), outside_(outside), region_(b.get().nodes[at].region), low_(b.get().tensors.size()) {
    std::int32_t begin = at;
    for (int k = 0; k < count; ++k) {
      if (placeholders[k] < low_) low_ = placeholders[k];
      if (std::int32_t const p = b.tensor(placeholders[k]).producer; p < begin) begin = p;
    }
    list_nodes(begin, at, resume, end);
    int const size = b.get().tensors.size() - low_;
    copies_ = array<symbol>(size, none);
    varies_ = array<bool>(size);
    needed_ = array<bool>(size);
    for (int k = 0; k < count; ++k) {
      copies_[placeholders[k] - low_] = values[k];
      varies_[placeholders[k] - low_] = true;
    }
    for (std::int32_t const i : nodes_) find_varying(b_.get().nodes[i]);
  }
  /// True if `t` depends on a placeholder.
  constexpr bool varies(symbol t) const { return t >= low_ && varies_[t - low_]; }
  constexpr bool is_placeholder(symbol t) const { return varies(t) && copies_[t - low_] != none; }
  constexpr array<std::int32_t> const& nodes() const { return nodes_; } // operands before readers
  constexpr symbol low() const { return low_; } // no symbol before it varies

  constexpr void run(symbol const* outputs, int count, symbol* results) {
    for (int k = 0; k < count; ++k)
      if (varies(outputs[k])) needed_[outputs[k] - low_] = true;
    for (int k = nodes_.size(); k-- > 0;) find_needed(b_.get().nodes[nodes_[k]]);
    builder_scope const outer(b_);
    for (int k = 0; k < nodes_.size() && b_.failed().why == nullptr; ++k)
      if (node const& n = b_.get().nodes[nodes_[k]]; needed(n)) copy(n);
    for (int k = 0; k < count; ++k) results[k] = now(outputs[k]);
  }

private:
  /// (In a graph at run time, a loop or a branch that got tangents in a rule may read nodes behind it.)
  constexpr void list_nodes(std::int32_t begin, std::int32_t at, std::int32_t resume, std::int32_t end) {
    auto const list = [&](std::int32_t i) {
      if (i >= begin && (i < at || i >= resume) && i < end && b_.get().nodes[i].region == region_) nodes_.push(i);
    };
    if (b_.owner == nullptr || in_order(b_.get()))
      for (std::int32_t i = begin; i < end; ++i) list(i);
    else {
      ordering const order = order_of(b_.get());
      for (int k = 0; k < order.nodes.size(); ++k) list(order.nodes[k]);
    }
  }
  constexpr symbol id(int k) const { return b_.get().ids[k]; }
  constexpr symbol now(symbol t) {
    if (t == none || !varies(t)) return t == none ? none : outside_(t);
    return copies_[t - low_];
  }
  constexpr void find_varying(node const& n) {
    bool any = false;
    for (int k = 0; k < n.operand_count && !any; ++k) any = varies(id(n.first + k));
    for (int k = 0; any && k < n.result_count; ++k) {
      symbol const y = id(n.first + n.operand_count + k);
      if (y >= low_ && copies_[y - low_] == none) varies_[y - low_] = true;
    }
  }
  /// True if a result is needed that is no placeholder.
  constexpr bool needed(node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = id(n.first + n.operand_count + k); varies(y) && needed_[y - low_] && copies_[y - low_] == none)
        return true;
    return false;
  }
  constexpr void find_needed(node const& n) {
    if (!needed(n)) return;
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = id(n.first + k); varies(x)) needed_[x - low_] = true;
  }
  constexpr void copy(node n) {
    b_.place = n.where;
    b_.flags.exact = n.flags.exact;
    array<symbol> x, y;
    array<std::int64_t> attributes;
    for (int k = 0; k < n.operand_count; ++k) x.push(now(id(n.first + k)));
    for (int k = 0; k < n.attribute_count; ++k) attributes.push(b_.get().numbers[n.attribute + k]);
    symbol const old = id(n.first + n.operand_count);
    if (n.result_count == 1 && n.op->kind != operation_kind::control)
      y.push(b_.push(n.op, x.data(), x.size(), attributes.data(), attributes.size(), b_.tensor(old).type, b_.tensor(old).shape, n.where));
    else y = region_copier(b_).again(n, x);
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const t = id(n.first + n.operand_count + k); t != none) copies_[t - low_] = y[k];
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
