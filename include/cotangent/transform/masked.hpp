// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_MASKED_HPP
#define COTANGENT_TRANSFORM_MASKED_HPP

#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/reduction.hpp>

#include <bit>
#include <cstdint>

// Cotangents of what `select` did not choose are 0. Where the function that was not chosen has a pole, 0 times an infinite
// derivative would be NaN. So elementwise operations multiply the cotangent that the mask was applied to, and the mask is
// applied to the product: select(c, dy, 0) * p becomes select(c, dy * p, 0). The earlier select is dead then, unless
// another operation reads it.

COTANGENT_COLD_BEGIN
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

/// (The node may be older than the sweep: an equal one of the function, or of its first gradient, is not made again.)
constexpr bool is_made_by(graph const& g, symbol x, operation const* o) {
  std::int32_t const p = g.tensors[x].producer;
  return p != none && g.nodes[p].op == o;
}
constexpr masked_cotangent select_mask(graph const& g, symbol x) {
  if (!is_made_by(g, x, info_of<op::select>())) return {};
  std::int32_t const p = g.tensors[x].producer;
  symbol const* const ids = g.ids.data() + g.nodes[p].first;
  if (is_zero(g, ids[2])) return {ids[0], ids[1], ids[2], false};
  if (is_zero(g, ids[1])) return {ids[0], ids[2], ids[1], true};
  return {};
}

constexpr masked_cotangent cotangent_mask(builder& b, symbol x);

/// The mask of a sum over axes along which the condition is repeated: the cotangent of a value that was repeated, for example for
/// many tangents. The node of the sum is `n`.
constexpr masked_cotangent mask_of_sum(builder& b, node const n, std::int32_t shape) {
  graph const& g = b.get();
  masked_cotangent const m = cotangent_mask(b, g.ids[n.first]);
  if (!m || !is_made_by(g, m.condition, info_of<op::broadcast>())) return {};
  auto const summed = static_cast<std::uint32_t>(g.numbers[n.attribute]);
  node const repeats = g.nodes[g.tensors[m.condition].producer];
  symbol const one = g.ids[repeats.first];
  dimensions const from = b.dims(one), to = b.dims(m.condition);
  std::int64_t axes[max_rank]{};
  bool in_order = from.rank == g.shapes[shape].rank;
  for (int k = 0; k < from.rank; ++k) {
    auto const axis = static_cast<int>(g.numbers[repeats.attribute + k]);
    if ((summed >> axis & 1u) != 0 || from.size[k] != to.size[axis]) return {};
    axes[k] = axis - std::popcount(summed & ((1u << axis) - 1));
    in_order = in_order && axes[k] == k;
  }
  symbol const condition =
      in_order ? one : push_as(info_of<op::broadcast>(), b, {term{&b, one}}, axes, from.rank, element::boolean, shape).id;
  symbol const value = push(info_of<op::sum>(), {term{&b, m.value}}, {static_cast<std::int64_t>(summed)}).id;
  return {condition, value, extend::constant(b, b.tensor(value).type, shape, 0).id, m.on_false};
}

/// The same; the mask of a cotangent that is broadcast to the operands of a reduction is broadcast with it.
constexpr masked_cotangent cotangent_mask(builder& b, symbol x) {
  graph const& g = b.get();
  if (masked_cotangent const m = select_mask(g, x)) return m;
  if (is_made_by(g, x, info_of<op::broadcast>())) {
    node const n = g.nodes[g.tensors[x].producer];
    masked_cotangent const m = cotangent_mask(b, g.ids[n.first]);
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
  if (is_made_by(g, x, info_of<op::sum>())) return mask_of_sum(b, g.nodes[g.tensors[x].producer], g.tensors[x].shape);
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
public:
  static constexpr int most = 8; // those further in stay part of the value

private:
  masked_cotangent all_[most];
  int count_ = 0;
  symbol value_, whole_;

public:
  constexpr cotangent_masks(builder& b, symbol cotangent) : value_(cotangent), whole_(cotangent) {
    while (count_ < most)
      if (masked_cotangent const m = cotangent_mask(b, value_)) {
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

/// Where a cotangent under these masks is kept; absent if there is no mask.
constexpr term kept_by(builder& b, masked_cotangent m) {
  term all;
  for (int k = 0; m && k < cotangent_masks::most; ++k, m = cotangent_mask(b, m.value)) {
    term const one = m.on_false ? !term{&b, m.condition} : term{&b, m.condition};
    all = all.present() ? all && one : one;
  }
  return all;
}

/// The sum of two cotangents that both have masks, under these; otherwise `none`.
constexpr symbol masked_sum(builder& b, symbol x, symbol y) {
  masked_cotangent const p = cotangent_mask(b, x), q = p ? cotangent_mask(b, y) : masked_cotangent{};
  if (!p || !q) return none;
  if (p.condition != q.condition) {
    term const sum = push(info_of<op::add>(), {term{&b, x}, term{&b, y}});
    return push(info_of<op::select>(), {kept_by(b, p) || kept_by(b, q), sum, extend::constant_like(sum, 0)}).id;
  }
  if (p.on_false == q.on_false) {
    symbol const inside = masked_sum(b, p.value, q.value);
    return masked_by(b, p, inside != none ? inside : push(info_of<op::add>(), {term{&b, p.value}, term{&b, q.value}}).id);
  }
  term const c{&b, p.condition};
  term const on_true{&b, p.on_false ? q.value : p.value}, on_false{&b, p.on_false ? p.value : q.value};
  return push(info_of<op::select>(), {c, on_true, on_false}).id;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
