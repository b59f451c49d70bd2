// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_MASKED_HPP
#define COTANGENT_TRANSFORM_MASKED_HPP

#include <cotangent/ops/broadcast.hpp>

#include <cstdint>

// Cotangents of what `select` did not choose are 0. Where the function that was not chosen has a pole, 0 times an infinite
// derivative would be NaN. So elementwise operations multiply the cotangent that the mask was applied to, and the mask is
// applied to the product: select(c, dy, 0) * p becomes select(c, dy * p, 0). The earlier select is dead then, unless
// another operation reads it.

namespace cotangent::detail {

/// A cotangent select(condition, value, 0), or with `on_false` select(condition, 0, value).
struct masked_cotangent {
  symbol condition = none, value = none, zero = none;
  bool on_false = false;
  constexpr explicit operator bool() const noexcept { return value != none; }
};

constexpr bool is_zero(graph const& g, symbol x) {
  std::int32_t const p = g.tensors[x].producer;
  return p != none && g.nodes[p].op == info_of<op::constant>() && g.numbers[g.nodes[p].attribute] == 0;
}

/// True if this operation makes a cotangent, in a node from `made` on, which a sweep appended.
constexpr bool is_made_by(graph const& g, symbol x, std::int32_t made, operation const* o) {
  std::int32_t const p = g.tensors[x].producer;
  return p >= made && g.nodes[p].op == o;
}
constexpr masked_cotangent select_mask(graph const& g, symbol x, std::int32_t made) {
  if (!is_made_by(g, x, made, info_of<op::select>())) return {};
  std::int32_t const p = g.tensors[x].producer;
  symbol const* const ids = g.ids.data() + g.nodes[p].first;
  if (is_zero(g, ids[2])) return {ids[0], ids[1], ids[2], false};
  if (is_zero(g, ids[1])) return {ids[0], ids[2], ids[1], true};
  return {};
}

/// The same; the mask of a cotangent that is broadcast to the operands of a reduction is broadcast with it.
constexpr masked_cotangent cotangent_mask(builder& b, symbol x, std::int32_t made) {
  graph const& g = b.get();
  if (masked_cotangent const m = select_mask(g, x, made)) return m;
  if (is_made_by(g, x, made, info_of<op::broadcast>())) {
    node const n = g.nodes[g.tensors[x].producer];
    masked_cotangent const m = cotangent_mask(b, g.ids[n.first], made);
    if (!m) return {};
    std::int64_t axes[max_rank]{};
    int const count = b.dims(g.ids[n.first]).rank;
    for (int k = 0; k < count; ++k) axes[k] = g.numbers[n.attribute + k];
    std::int32_t const shape = g.tensors[x].shape;
    auto const wide = [&](symbol t) {
      return push_as(info_of<op::broadcast>(), b, {term{&b, t}}, axes, count, b.tensor(t).type, shape).id;
    };
    return {wide(m.condition), wide(m.value), extend::constant(b, b.tensor(x).type, shape, 0).id, m.on_false};
  }
  return {};
}

/// The mask, applied to another value.
constexpr symbol masked_by(builder& b, masked_cotangent const& m, symbol value) {
  if (value == none) return none;
  term const c{&b, m.condition}, x{&b, value};
  term const zero = b.tensor(m.zero).type == b.tensor(value).type ? term{&b, m.zero} : extend::constant_like(x, 0);
  return (m.on_false ? push(info_of<op::select>(), {c, zero, x}) : push(info_of<op::select>(), {c, x, zero})).id;
}

/// The masks of a cotangent, outermost first, and the value under them.
class cotangent_masks {
  static constexpr int most = 8; // those further in stay part of the value
  masked_cotangent all_[most];
  int count_ = 0;
  symbol value_, whole_;

public:
  constexpr cotangent_masks(builder& b, symbol cotangent, std::int32_t made) : value_(cotangent), whole_(cotangent) {
    while (count_ < most)
      if (masked_cotangent const m = cotangent_mask(b, value_, made)) {
        all_[count_++] = m;
        value_ = m.value;
      } else break;
  }
  constexpr symbol const& value() const noexcept { return value_; }
  constexpr symbol apply(builder& b, symbol x) const {
    if (x == value_) return whole_;
    for (int k = count_; k-- > 0;) x = masked_by(b, all_[k], x);
    return x;
  }
};

/// The sum of two cotangents with one mask, under that mask; `none` if they have none in common.
constexpr symbol masked_sum(builder& b, symbol x, symbol y, std::int32_t made) {
  if (!is_made_by(b.get(), x, made, info_of<op::select>())) return none;
  masked_cotangent const p = select_mask(b.get(), x, made), q = select_mask(b.get(), y, made);
  if (!p || !q || p.condition != q.condition) return none;
  if (p.on_false == q.on_false) return masked_by(b, p, push(info_of<op::add>(), {term{&b, p.value}, term{&b, q.value}}).id);
  masked_cotangent const& first = p.on_false ? q : p;
  return push(info_of<op::select>(), {term{&b, p.condition}, term{&b, first.value}, term{&b, p.on_false ? p.value : q.value}}).id;
}

} // namespace cotangent::detail

#endif
