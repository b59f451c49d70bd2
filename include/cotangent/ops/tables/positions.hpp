// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_POSITIONS_HPP
#define COTANGENT_OPS_TABLES_POSITIONS_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/rule.hpp>

#include <cstdint>

// Elements at constant positions along the last axis: the patterns of sparse matrices.

namespace cotangent {
namespace op {

/// Element k of the result, along the last axis, is element `attribute k` of the operand. Adjoint: place.
struct pick : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const* name = "pick";
  static constexpr float cost = 1;
  static constexpr void infer(inference& r) {
    extend::dimensions d = r.dims(0);
    r.like(0);
    d.size[d.rank - 1] = r.attribute_count;
    r.result(r.type, d);
  }
  /// `of(x, p, n)`: x at the positions p[0], ..., p[n - 1], each less than the last extent of x. Precondition: x has an axis.
  static constexpr term of(term x, std::int64_t const* positions, int count) {
    return {x.b, x.b->push(info_of<pick>(), &x.id, 1, positions, count, x.b->place)};
  }
  static constexpr term of(rule const& r, term x);
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r) { r.give(of(r, r.dx())); }
  static constexpr void batch(batch_rule& r) { r.give(of(r, r.each())); }

  template <class T> static constexpr void compute(whole_call const& c) {
    T const* x = c.operand[0].template data<T>();
    T* y = c.result.template data<T>();
    std::int64_t const from = c.operand[0].size[c.operand[0].rank - 1], to = c.result.size[c.result.rank - 1];
    for (std::int64_t lines = to == 0 ? 0 : c.result.count() / to; lines-- > 0; x += from, y += to)
      for (std::int64_t k = 0; k < to; ++k) y[k] = x[c.attribute[k]];
  }
  static constexpr void whole(whole_call const& c) {
    detail::by_element(c.result.type, [&]<class T>() { compute<T>(c); });
  }
  static constexpr double flops(extend::graph_view const&, extend::node const& n) { return n.attribute_count; }
};

/// Zeros, with element k of the operand along the last axis added to element `attribute k + 1`; the last extent is attribute 0.
/// Adjoint: pick.
struct place : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const* name = "place";
  static constexpr float cost = 1;
  static constexpr void infer(inference& r) {
    extend::dimensions d = r.dims(0);
    r.like(0);
    d.size[d.rank - 1] = r.attribute[0];
    r.result(r.type, d);
  }
  /// `of(x, n, p)`: element k of x is added to element p[k] of n zeros.
  static constexpr term of(term x, extend::dimension extent, std::int64_t const* positions) {
    detail::array<std::int64_t> a;
    a.push(extent);
    for (extend::dimension k = 0; k < x.dims().size[x.rank() - 1]; ++k) a.push(positions[k]);
    return {x.b, x.b->push(info_of<place>(), &x.id, 1, a.data(), a.size(), x.b->place)};
  }
  static constexpr term of(rule const& r, term x) {
    detail::array<std::int64_t> a;
    for (int k = 0; k < r.at.attribute_count; ++k) a.push(r.attribute(k));
    return {&r.b, r.b.push(info_of<place>(), &x.id, 1, a.data(), a.size(), r.b.place)};
  }
  static constexpr void adjoint(adjoint_rule& r) {
    detail::array<std::int64_t> a;
    for (int k = 1; k < r.at.attribute_count; ++k) a.push(r.attribute(k));
    r.give(0, pick::of(r.dy(), a.data(), a.size()));
  }
  static constexpr void tangent(tangent_rule& r) { r.give(of(r, r.dx())); }
  static constexpr void batch(batch_rule& r) { r.give(of(r, r.each())); }

  template <class T> static constexpr void compute(whole_call const& c) {
    T const* x = c.operand[0].template data<T>();
    T* y = c.result.template data<T>();
    std::int64_t const from = c.operand[0].size[c.operand[0].rank - 1], to = c.attribute[0];
    for (std::int64_t k = 0, n = c.result.count(); k < n; ++k) y[k] = T{};
    for (std::int64_t lines = to == 0 ? 0 : c.result.count() / to; lines-- > 0; x += from, y += to)
      for (std::int64_t k = 0; k < from; ++k) y[c.attribute[k + 1]] = static_cast<T>(y[c.attribute[k + 1]] + x[k]);
  }
  static constexpr void whole(whole_call const& c) {
    detail::by_element(c.result.type, [&]<class T>() { compute<T>(c); });
  }
  static constexpr double flops(extend::graph_view const&, extend::node const& n) { return n.attribute_count; }
};

constexpr term pick::of(rule const& r, term x) {
  detail::array<std::int64_t> a;
  for (int k = 0; k < r.at.attribute_count; ++k) a.push(r.attribute(k));
  return of(x, a.data(), a.size());
}
constexpr void pick::adjoint(adjoint_rule& r) {
  detail::array<std::int64_t> a;
  for (int k = 0; k < r.at.attribute_count; ++k) a.push(r.attribute(k));
  r.give(0, place::of(r.dy(), r.x().dims().size[r.x().rank() - 1], a.data()));
}

} // namespace op

namespace detail {
using position_operations = operations<op::pick, op::place>;
} // namespace detail

} // namespace cotangent

#endif
