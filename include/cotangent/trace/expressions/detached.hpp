// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_DETACHED_HPP
#define COTANGENT_TRACE_EXPRESSIONS_DETACHED_HPP

#include <cotangent/core/names.hpp> // before the graph, whose `none` would be hidden by its enumerator
#include <cotangent/graph/builder.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/trace/expressions/expr.hpp>

#include <cstdint>

// Values without operands have no graph yet (they are detached). They are constant-folded if their elements
// are one number, an arithmetic sequence along one axis, or one of two numbers selected by a comparison of
// positions.

namespace cotangent::detail {

/// The elements of a symbol, if known: value + step * position along `axis`; one number if there is no axis.
/// With a condition: `value` where it is true, else `step`.
struct counted_number {
  bool known = false;
  scalar value{};
  scalar step{};
  int axis = -1;
  position_condition when{};

  constexpr bool is_chosen() const { return when.relation != position_condition::always; }
};

class detached_values {
  graph const& g_;
  array<counted_number> of_;

public:
  constexpr explicit detached_values(builder const& b) : g_(b.get()), of_(b.get().tensors.size()) {
    for (int i = 0; i < g_.nodes.size(); ++i) {
      node const& n = g_.nodes[i];
      if (n.result_count == 1) of_[result(n)] = compute(n);
    }
  }
  constexpr counted_number operator[](symbol s) const { return of_[s]; }

private:
  constexpr symbol operand(node const& n, int k = 0) const { return g_.ids[n.first + k]; }
  constexpr symbol result(node const& n) const { return g_.ids[n.first + n.operand_count]; }
  constexpr dimensions const& dims(symbol s) const { return g_.shapes[g_.tensors[s].shape]; }
  static constexpr scalar zero(element type) { return {type, 0, 0}; }

  constexpr counted_number compute(node const& n) const {
    element const type = g_.tensors[result(n)].type;
    if (n.op->kind == operation_kind::constant) return {true, scalar_of(type, g_.numbers[n.attribute]), zero(type)};
    if (n.op->kind == operation_kind::iota)
      return {true, zero(type), is_floating(type) ? scalar{type, 1, 0} : scalar{type, 0, 1}, 0};
    bool counts = false, chooses = false;
    if (n.operand_count < 1 || n.operand_count > 4) return {};
    for (int k = 0; k < n.operand_count; ++k) {
      counted_number const& x = of_[operand(n, k)];
      if (!x.known) return {};
      counts = counts || x.axis >= 0;
      chooses = chooses || x.is_chosen();
    }
    switch (n.op->kind) {
    case operation_kind::elementwise:
      if (counts && chooses) return {};
      if (counts && type == element::boolean) return compared(n);
      return chooses ? chosen(n, type) : counts ? linear(n, type) : pointwise(n, type);
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: return moved(n);
    default: return {};
    }
  }

  static constexpr scalar converted(scalar const& v, element to) {
    if (!is_floating(to)) return {to, 0, to == element::boolean ? v.as<bool>() : v.as<std::int64_t>()};
    return {to, rounded_to(to, v.as<double>()), 0};
  }
  static constexpr scalar computed(node const& n, scalar const* in, element type) {
    return n.op == info_of<op::convert>() ? converted(in[0], type) : n.op->evaluate(in);
  }
  static constexpr bool is_computable(node const& n) {
    return n.op == info_of<op::convert>() || n.op->evaluate != nullptr;
  }
  constexpr counted_number pointwise(node const& n, element type) const {
    if (!is_computable(n)) return {};
    scalar in[4]{};
    for (int k = 0; k < n.operand_count; ++k) in[k] = of_[operand(n, k)].value;
    return {true, computed(n, in, type), zero(type)};
  }
  /// Folds operands selected by one condition, and numbers: once for each outcome.
  constexpr counted_number chosen(node const& n, element type) const {
    if (!is_computable(n)) return {};
    scalar yes[4]{}, no[4]{};
    counted_number r{true, {}, {}, -1};
    for (int k = 0; k < n.operand_count; ++k) {
      counted_number const& x = of_[operand(n, k)];
      if (x.is_chosen() && r.is_chosen() && x.when != r.when) return {};
      if (x.is_chosen()) r.when = x.when;
      yes[k] = x.value;
      no[k] = x.is_chosen() ? x.step : x.value;
    }
    r.value = computed(n, yes, type);
    r.step = computed(n, no, type);
    return r;
  }
  /// False if a number is not an integer that int64 and double represent exactly.
  static constexpr bool is_integer(scalar const& v, std::int64_t& to) {
    if (is_floating(v.type) && !(v.real >= -9007199254740992. && v.real <= 9007199254740992.)) return false;
    to = v.as<std::int64_t>();
    return !is_floating(v.type) || static_cast<double>(to) == v.real;
  }
  /// Folds a comparison of arithmetic sequences.
  constexpr counted_number compared(node const& n) const {
    bool const unequal = n.op == info_of<op::not_equal>();
    counted_number r{true, {element::boolean, 0, unequal ? 0 : 1}, {element::boolean, 0, unequal ? 1 : 0}, -1};
    position_condition& c = r.when;
    if (unequal || n.op == info_of<op::equal>()) c.relation = position_condition::equal;
    else if (n.op == info_of<op::less>()) c.relation = position_condition::less;
    else if (n.op == info_of<op::less_equal>()) c.relation = position_condition::less_equal;
    else return {};
    counted_number const &x = of_[operand(n)], &y = of_[operand(n, 1)];
    std::int64_t from = 0, to = 0;
    if (!is_integer(x.value, from) || !is_integer(y.value, to) || __builtin_sub_overflow(from, to, &c.offset)) return {};
    if ((x.axis >= 0 && !is_integer(x.step, c.first)) || (y.axis >= 0 && !is_integer(y.step, c.second))) return {};
    c.axis = x.axis;
    c.other = y.axis;
    if (c.axis == c.other) {
      if (__builtin_sub_overflow(c.first, c.second, &c.first)) return {};
      c.second = 0;
      c.other = -1;
    }
    return r;
  }
  /// Folds operations that are linear in arithmetic sequences.
  constexpr counted_number linear(node const& n, element type) const {
    counted_number const& x = of_[operand(n)];
    if (n.op == info_of<op::convert>())
      return is_floating(type) && !is_half(type) // (each number of a sequence is rounded on its own)
                 ? counted_number{true, converted(x.value, type), converted(x.step, type), x.axis}
                 : counted_number{};
    if (n.op == info_of<op::negate>())
      return {true, n.op->evaluate(&x.value), n.op->evaluate(&x.step), x.axis};
    if (n.operand_count != 2) return {};
    counted_number const& y = of_[operand(n, 1)];
    scalar const values[]{x.value, y.value};
    counted_number r{true, {}, {}, x.axis >= 0 ? x.axis : y.axis};
    if (n.op == info_of<op::add>() || n.op == info_of<op::subtract>()) {
      if (x.axis >= 0 && y.axis >= 0 && x.axis != y.axis) return {};
      scalar const steps[]{x.step, y.step};
      r.step = n.op->evaluate(steps);
    } else if (n.op == info_of<op::multiply>() && (x.axis < 0 || y.axis < 0)) {
      scalar const steps[]{x.axis < 0 ? x.value : x.step, y.axis < 0 ? y.value : y.step};
      r.step = n.op->evaluate(steps);
    } else if (n.op == info_of<op::divide>() && y.axis < 0 && is_floating(type)) {
      scalar const steps[]{x.step, y.value};
      r.step = n.op->evaluate(steps);
    } else return {};
    r.value = n.op->evaluate(values);
    return r;
  }
  /// Finds the position of an operand's axis in the result (-1 if it had size 1 and was dropped), and which
  /// positions along it are kept; false if unknown.
  constexpr bool move(node const& n, int& axis, std::int64_t& start, std::int64_t& step) const {
    dimensions const &from = dims(operand(n)), &to = dims(result(n));
    std::int64_t const* const at = g_.numbers.data() + n.attribute;
    int const before = axis;
    switch (n.op->kind) {
    case operation_kind::broadcast:
      axis = static_cast<int>(at[before]);
      return from.size[before] == to.size[axis];
    case operation_kind::permute:
      for (int k = 0; k < to.rank; ++k)
        if (at[k] == before) axis = k;
      return true;
    case operation_kind::reshape: { // adds or drops axes of size 1
      int k = 0, found = -1;
      if (from.size[before] == 1) return axis = -1, true;
      for (int old = 0; old < from.rank; ++old) {
        if (from.size[old] == 1) continue;
        while (k < to.rank && to.size[k] == 1) ++k;
        if (k == to.rank || to.size[k] != from.size[old]) return false;
        if (old == before) found = k;
        ++k;
      }
      for (; k < to.rank; ++k)
        if (to.size[k] != 1) return false;
      axis = found;
      return true;
    }
    case operation_kind::slice:
      start = at[2 * before];
      step = at[2 * before + 1];
      return start >= 0;
    default: return true;
    }
  }
  constexpr counted_number moved(node const& n) const {
    counted_number r = of_[operand(n)];
    std::int64_t start = 0, step = 1;
    if (r.axis >= 0) {
      if (!move(n, r.axis, start, step)) return {};
      element const type = r.value.type;
      scalar const first[]{r.step, converted(scalar::of(start), type)};
      scalar const sum[]{r.value, info_of<op::multiply>()->evaluate(first)};
      scalar const steps[]{r.step, converted(scalar::of(step), type)};
      r.value = info_of<op::add>()->evaluate(sum);
      r.step = info_of<op::multiply>()->evaluate(steps);
    }
    if (r.when.axis >= 0) {
      if (!move(n, r.when.axis, start = 0, step = 1)) return {};
      r.when.offset += r.when.first * start;
      r.when.first = r.when.axis < 0 ? 0 : r.when.first * step;
    }
    if (r.when.other >= 0) {
      if (!move(n, r.when.other, start = 0, step = 1)) return {};
      r.when.offset -= r.when.second * start;
      r.when.second = r.when.other < 0 ? 0 : r.when.second * step;
    }
    if (!r.is_chosen() || r.when.axis >= 0 || r.when.other >= 0) return r;
    bool const holds = r.when.relation == position_condition::equal  ? r.when.offset == 0
                       : r.when.relation == position_condition::less ? r.when.offset < 0
                                                                     : r.when.offset <= 0;
    return {true, holds ? r.value : r.step, zero(r.value.type)};
  }
};

/// The value of `wanted`, which nodes without operands compute.
constexpr counted_number detached_value(builder const& b, symbol wanted) { return detached_values(b)[wanted]; }

} // namespace cotangent::detail

#endif
