// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_DETACHED_HPP
#define COTANGENT_TRACE_DETACHED_HPP

#include <cotangent/core/names.hpp> // before the graph, whose `none` its enumerator would hide
#include <cotangent/graph/builder.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

// What is computed ahead of values without operands, which have no graph yet: equal numbers, and numbers that count.

namespace cotangent::detail {

/// The elements of a symbol as far as they are known: value + step * position along `axis`; one number without an axis.
struct counted_number {
  bool known = false;
  scalar value{};
  scalar step{};
  int axis = -1;
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
    bool counts = false;
    if (n.operand_count < 1 || n.operand_count > 4) return {};
    for (int k = 0; k < n.operand_count; ++k) {
      if (!of_[operand(n, k)].known) return {};
      counts = counts || of_[operand(n, k)].axis >= 0;
    }
    switch (n.op->kind) {
    case operation_kind::elementwise: return counts ? linear(n, type) : pointwise(n, type);
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
    return {to, to == element::float32 ? static_cast<double>(v.as<float>()) : v.as<double>(), 0};
  }
  constexpr counted_number pointwise(node const& n, element type) const {
    scalar in[4]{};
    for (int k = 0; k < n.operand_count; ++k) in[k] = of_[operand(n, k)].value;
    if (n.op == info_of<op::convert>()) return {true, converted(in[0], type), zero(type)};
    if (n.op->evaluate == nullptr) return {};
    return {true, n.op->evaluate(in), zero(type)};
  }
  /// What keeps numbers that count such numbers.
  constexpr counted_number linear(node const& n, element type) const {
    counted_number const& x = of_[operand(n)];
    if (n.op == info_of<op::convert>())
      return is_floating(type) ? counted_number{true, converted(x.value, type), converted(x.step, type), x.axis}
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
  constexpr counted_number moved(node const& n) const {
    counted_number r = of_[operand(n)];
    if (r.axis < 0 || n.op->kind == operation_kind::identity) return r;
    dimensions const &from = dims(operand(n)), &to = dims(result(n));
    std::int64_t const* const at = g_.numbers.data() + n.attribute;
    int const axis = r.axis;
    switch (n.op->kind) {
    case operation_kind::broadcast:
      r.axis = static_cast<int>(at[axis]);
      return from.size[axis] == to.size[r.axis] ? r : counted_number{};
    case operation_kind::permute:
      for (int k = 0; k < to.rank; ++k)
        if (at[k] == axis) r.axis = k;
      return r;
    case operation_kind::reshape: // where axes of size 1 come or go
      r.axis = -1;
      for (int k = 0; k < from.rank; ++k)
        if (k != axis && from.size[k] != 1) return {};
      for (int k = 0; k < to.rank; ++k) {
        if (to.size[k] == from.size[axis]) r.axis = k;
        else if (to.size[k] != 1) return {};
      }
      return r.axis < 0 ? counted_number{} : r;
    default: break;
    }
    std::int64_t const start = at[2 * axis], step = at[2 * axis + 1];
    if (start < 0) return {};
    element const type = r.value.type;
    scalar const first[]{r.step, converted(scalar::of(start), type)};
    scalar const sum[]{r.value, info_of<op::multiply>()->evaluate(first)};
    scalar const steps[]{r.step, converted(scalar::of(step), type)};
    r.value = info_of<op::add>()->evaluate(sum);
    r.step = info_of<op::multiply>()->evaluate(steps);
    return r;
  }
};

/// What nodes without operands made of `wanted`.
constexpr counted_number detached_value(builder const& b, symbol wanted) { return detached_values(b)[wanted]; }

} // namespace cotangent::detail

#endif
