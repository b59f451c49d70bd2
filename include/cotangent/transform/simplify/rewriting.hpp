// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_REWRITING_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_REWRITING_HPP

#include <cotangent/transform/simplify/compact.hpp>

#include <bit>
#include <cstdint>

// The context of the rewrites of simplify: queries of the graph that is being rebuilt, and constant folding.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

template <class Op> inline constexpr std::uint32_t code_of = hash_of(Op::name);

/// The graph being rebuilt. Every symbol in it is simplified already, so a rewrite looks one or two producers deep.
struct rewriting {
  /// The properties that rewrites read most. Symbols that were carried over have no `op`.
  struct origin {
    operation const* op;  // its producer's; null for inputs
    std::int32_t readers; // in the graph before; 0 for results of rewrites
    std::int32_t small;   // 0, or 1 + the mask of the axes along which it varies
    std::int32_t shape;
    element type;
    double value; // of a constant
  };
  array<origin> origins; // by symbol, with room ahead
  origin* origin_of;
  std::int32_t room;
  builder b;
  bool const fuses; // products will be fused with additions
  graph const& g;   // b's

  /// `expected`: about how many symbols there will be.
  constexpr rewriting(int expected, bool fuse)
      : origins(expected), origin_of(origins.data()), room(expected), fuses(fuse), g(b.get()) {}
  constexpr rewriting(rewriting const&) = delete;

  constexpr operation const* op_of(symbol t) const noexcept { return origin_of[t].op; }
  constexpr void make_room(symbol t) {
    array<origin> more(2 * t + 64);
    for (int k = 0; k < room; ++k) more[k] = origin_of[k];
    origins = static_cast<array<origin>&&>(more);
    origin_of = origins.data();
    room = origins.size();
  }
  /// Every symbol of the new graph is listed before a rewrite sees it.
  constexpr symbol list(symbol t, operation const* op, element type, std::int32_t shape) {
    if (t >= room) make_room(t);
    // One statement, because a constant evaluation counts statements.
    return origin_of[t].op = op, origin_of[t].type = type, origin_of[t].shape = shape, t;
  }
  constexpr bool is_constant(symbol t) const noexcept { return origin_of[t].op == the<op::constant>; }
  constexpr symbol operand(symbol t, int k = 0) const noexcept {
    return g.ids[g.nodes[g.tensors[t].producer].first + k];
  }
  constexpr int operand_count(symbol t) const noexcept {
    return g.nodes[g.tensors[t].producer].operand_count;
  }
  constexpr int attribute_count(symbol t) const noexcept {
    return g.nodes[g.tensors[t].producer].attribute_count;
  }
  constexpr std::int64_t attribute(symbol t, int k = 0) const noexcept {
    return g.numbers[g.nodes[g.tensors[t].producer].attribute + k];
  }
  constexpr element type_of(symbol t) const noexcept { return origin_of[t].type; }
  constexpr std::int32_t shape_of(symbol t) const noexcept { return origin_of[t].shape; }
  /// The node that is being rewritten is its only reader.
  constexpr bool single(symbol t, int readers = 1) const noexcept { return origin_of[t].readers <= readers; }

  constexpr symbol make(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                        int count, element type, std::int32_t shape) {
    return list(b.push(op, x, n, attributes, count, type, shape, b.place), op, type, shape);
  }

  // ---- constants

  /// A constant or a size.
  constexpr symbol source(operation const* op, std::int64_t const* attributes, int count, element type,
                          std::int32_t shape) {
    double const value = op == the<op::constant> ? scalar_of(type, attributes[0]).as<double>() : 0;
    symbol const y = make(op, nullptr, 0, attributes, count, type, shape);
    origin_of[y].small = 1;
    origin_of[y].value = value;
    return y;
  }
  constexpr symbol constant(element type, std::int32_t shape, std::int64_t bits) {
    return source(the<op::constant>, &bits, 1, type, shape);
  }
  constexpr symbol constant_like(symbol t, double value) {
    return constant(type_of(t), shape_of(t), bits_of(type_of(t), value));
  }
  /// The number behind a constant.
  constexpr scalar number(symbol t) const noexcept { return scalar_of(type_of(t), attribute(t)); }
  constexpr bool is(symbol constant_symbol, double value) const noexcept {
    return origin_of[constant_symbol].value == value;
  }
  /// Magnitudes between which arithmetic neither overflows nor is undefined, so that it can be done when compiling.
  static constexpr bool modest(scalar const& s) noexcept {
    double const limit = s.type == element::float32   ? 1e15
                         : s.type == element::float64 ? 1e150
                         : s.type == element::int32   ? 46340
                                                      : 3e9;
    double const v = s.as<double>();
    return v <= limit && v >= -limit;
  }
  /// The value of an elementwise operation on constants, or none where it is left to the program.
  constexpr symbol folded(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                          element type, std::int32_t shape) {
    if (n < 1 || n > 3) return none;
    scalar value[3]{};
    for (int k = 0; k < n; ++k) {
      if (origin_of[x[k]].op != the<op::constant>) return none;
      value[k] = number(x[k]);
      if (!modest(value[k])) return none;
    }
    double const last = value[n - 1].as<double>();
    if (op == the<op::convert>) {
      double const limit = is_floating(type) ? 1e15 : 2e9;
      if (last > limit || last < -limit) return none;
      return constant(type, shape,
                      attributes[0] == static_cast<int>(element::boolean) ? last != 0
                      : is_floating(type) || is_floating(value[0].type)   ? bits_of(type, last)
                                                                          : value[0].integer);
    }
    if (op->evaluate == nullptr || op->reports != nullptr) return none;
    if (last == 0 && (op == the<op::divide> || op == the<op::reciprocal>)) return none;
    if (op == the<op::pow> && value[0].real <= 0) return none;
    return constant(type, shape, bits_of(op->evaluate(value)));
  }

  // ---- small tensors: constants, sizes and broadcast values

  /// The axes along which `t` varies, as far as its producer tells; -1 where that is all of them.
  constexpr std::int32_t varies(symbol t) const noexcept { return origin_of[t].small - 1; }
  constexpr bool is_small(symbol t) const noexcept { return origin_of[t].small != 0; }
  /// Repeats `x`, whose axes are in order and longer than 1.
  constexpr symbol repeated(symbol x, std::int64_t const* axes, int n, std::int32_t shape) {
    std::int32_t mask = 0;
    for (int k = 0; k < n; ++k) mask |= 1 << axes[k];
    symbol const y = make(the<op::broadcast>, &x, 1, axes, n, type_of(x), shape);
    origin_of[y].small = 1 + mask;
    return y;
  }
  /// The axes that have more (or, named, may have more) than one position.
  constexpr std::int32_t long_axes(std::int32_t shape) const noexcept {
    dimensions const& d = g.shapes[shape];
    std::int32_t mask = 0;
    for (int k = 0; k < d.rank; ++k) mask |= d.size[k] == 1 ? 0 : 1 << k;
    return mask;
  }
  /// The same constant or size with another shape.
  constexpr symbol restated(symbol t, std::int32_t shape) {
    if (shape_of(t) == shape) return t;
    std::int64_t kept[max_rank + 1]{}; // a push may move the numbers of the graph
    node const& n = g.nodes[g.tensors[t].producer];
    detail::copy_elements(kept, g.numbers.data() + n.attribute, n.attribute_count);
    return source(n.op, kept, n.attribute_count, type_of(t), shape);
  }
  /// Whether shapes differ only in axes of size 1; then `before` is the mask on `x` that `mask` is on `y`.
  constexpr bool same_but_ones(std::int32_t x, std::int32_t y, std::uint32_t mask,
                               std::uint32_t& before) const {
    dimensions const &from = g.shapes[x], &to = g.shapes[y];
    int k = 0;
    for (int j = 0; j < to.rank; ++j) {
      if (to.size[j] == 1) continue;
      while (k < from.rank && from.size[k] == 1) ++k;
      if (k == from.rank || from.size[k] != to.size[j]) return false;
      before |= (mask >> j & 1u) << k++;
    }
    while (k < from.rank && from.size[k] == 1) ++k;
    return k == from.rank;
  }
  constexpr std::int32_t shape_without(std::int32_t shape, std::uint32_t mask) {
    dimensions const d = g.shapes[shape];
    dimensions r;
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) == 0) r.size[r.rank++] = d.size[k];
    return b.shape(r);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
