// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_SUMS_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_SUMS_HPP

#include <cotangent/transform/simplify/arithmetic.hpp>

#include <cstdint>

// Rewrites of reductions: factors and terms that do not vary along the reduced axes move out of them.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class sum_rules {
  rewriting& r_;
  movement_rules& move_;
  arithmetic_rules& arithmetic_;
  bool const splits_;          // a sum of two products becomes two sums
  bool const matrix_products_; // a sum of a matrix times a repeated vector becomes a matrix product
  int nested_ = 0;    // sums of products of sums

public:
  constexpr sum_rules(rewriting& r, movement_rules& move, arithmetic_rules& arithmetic, bool splits, bool matrix_products)
      : r_(r), move_(move), arithmetic_(arithmetic), splits_(splits), matrix_products_(matrix_products) {}

  constexpr symbol sum(symbol x, std::uint32_t mask) {
    if (mask == 0) return x;
    std::uint32_t const longs = static_cast<std::uint32_t>(r_.long_axes(r_.shape_of(x)));
    std::int32_t const shape = r_.shape_without(r_.shape_of(x), mask);
    if ((mask & longs) == 0) return move_.reshape(x, shape);
    // 0; not folded to a constant, since a run still reports labels that are out of range
    if (is_empty(r_.shape_of(x), mask)) return reduce(the<op::sum>, x, mask, shape);
    operation const* const op = r_.origin_of[x].op;
    if (op == the<op::constant>) return times_count(r_.restated(x, shape), r_.shape_of(x), mask);
    if (op == the<op::negate>) return arithmetic_.negate(sum(r_.operand(x), mask));
    if (op == the<op::sum>)
      return sum(r_.operand(x), merged(static_cast<std::uint32_t>(r_.attribute(x)), mask));
    if (op == the<op::broadcast>) return of_broadcast(the<op::sum>, x, mask, shape);
    if (op == the<op::multiply>) {
      symbol p = r_.operand(x, 0), q = r_.operand(x, 1);
      if (!constant_along(q, mask)) {
        symbol const kept = p;
        p = q, q = kept;
      }
      if (constant_along(q, mask)) {
        symbol const rest = sum(p, mask);
        symbol const factor = without(q, mask, shape);
        return unless_empty(arithmetic_.multiply(rest, factor), factor, r_.shape_of(x), mask);
      }
      if (r_.single(x))
        for (int k = 0; k < 2; ++k) {
          auto const of = arithmetic_.product_of(k == 0 ? p : q);
          if (of.small == none || !constant_along(of.small, mask)) continue;
          symbol const rest = sum(arithmetic_.multiply(of.large, k == 0 ? q : p), mask);
          symbol const factor = without(of.small, mask, shape);
          return unless_empty(arithmetic_.multiply(rest, factor), factor, r_.shape_of(x), mask);
        }
    }
    if ((op == the<op::add> || op == the<op::subtract>) && r_.single(x) && nested_ < 8)
      if (symbol const y = sum_of_terms(x, mask, shape); y != none) return y;
    if ((op == the<op::add> || op == the<op::subtract>) && splits_ && nested_ < 8 &&
        r_.op_of(r_.operand(x, 0)) == the<op::multiply> && r_.op_of(r_.operand(x, 1)) == the<op::multiply> &&
        (r_.single(x) || (scaled(r_.operand(x, 0), mask) && scaled(r_.operand(x, 1), mask)))) {
      ++nested_;
      symbol const left = sum(r_.operand(x, 0), mask), right = sum(r_.operand(x, 1), mask);
      --nested_;
      return op == the<op::add> ? arithmetic_.add(left, right) : arithmetic_.subtract(left, right);
    }
    if (op == the<op::reshape>) {
      std::uint32_t before = 0;
      if (r_.same_but_ones(r_.shape_of(r_.operand(x)), r_.shape_of(x), mask, before))
        return move_.reshape(sum(r_.operand(x), before), shape);
    }
    if (matrix_products_ && op == the<op::multiply> && read_once(x))
      for (int k = 0; k < 2; ++k)
        if (symbol const y = matrix_product(r_.operand(x, k), r_.operand(x, 1 - k), mask, shape); y != none) return y;
    return reduce(the<op::sum>, x, mask, shape);
  }

  /// The largest and the smallest, and whatever users add.
  constexpr symbol reduction(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    bool const extreme = op == the<op::reduce_max> || op == the<op::reduce_min>;
    if (!extreme) return reduce(op, x, mask, shape);
    if (mask == 0) return x;
    if ((mask & static_cast<std::uint32_t>(r_.long_axes(r_.shape_of(x)))) == 0)
      return move_.reshape(x, shape);
    operation const* const p = r_.origin_of[x].op;
    if (p == the<op::reshape>) {
      std::uint32_t before = 0;
      std::int32_t const from = r_.shape_of(r_.operand(x));
      if (r_.same_but_ones(from, r_.shape_of(x), mask, before))
        return move_.reshape(reduction(op, r_.operand(x), before, r_.shape_without(from, before)), shape);
    }
    if (p == op)
      return reduction(op, r_.operand(x), merged(static_cast<std::uint32_t>(r_.attribute(x)), mask), shape);
    if (p == the<op::constant> && nowhere_empty(r_.shape_of(x), mask)) return r_.restated(x, shape);
    if (p == the<op::broadcast> && nowhere_empty(r_.shape_of(x), mask))
      return of_broadcast(op, x, mask, shape);
    return reduce(op, x, mask, shape);
  }

private:
  /// True if one node reads x, also in the copies of a node that is repeated.
  constexpr bool read_once(symbol x) const {
    node const* const n = r_.b.producer(x);
    return r_.single(x) || (n != nullptr && n->flags.repeated && n->flags.read_once);
  }
  /// The sum over `mask` of v w, where v repeats a vector along the other axes, and w is in memory: one row times a matrix. None for
  /// others.
  constexpr symbol matrix_product(symbol v, symbol w, std::uint32_t mask, std::int32_t shape) {
    std::int32_t const all = r_.shape_of(w);
    std::uint32_t const longs = static_cast<std::uint32_t>(r_.long_axes(all)), summed = longs & mask, kept = longs & ~mask;
    element const e = r_.type_of(w);
    if ((e != element::float32 && e != element::float64) || !r_.is_small(v) || r_.is_small(w) || r_.is_constant(v) || kept == 0 ||
        static_cast<std::uint32_t>(r_.varies(v)) != summed)
      return none;
    if (operation const* const op = r_.op_of(w);
        op != nullptr && (op->kind == operation_kind::elementwise || op->kind == operation_kind::pad))
      return none;
    bool const first = summed < (kept & (~kept + 1)); // the summed axes come before the others
    if (!first && kept >= (summed & (~summed + 1))) return none;
    dimension inner = 1, outer = 1;
    dimensions const d = r_.g.shapes[all];
    for (int k = 0; k < d.rank; ++k) {
      dimension& n = (mask >> k & 1u) != 0 ? inner : outer;
      n = r_.b.product(n, d.size[k]);
    }
    symbol const vector = arithmetic_.narrowed(v, static_cast<std::int32_t>(mask), r_.shape_without(all, ~mask));
    symbol const x[2]{move_.reshape(vector, r_.b.shape(dimensions{2, {1, inner}})),
                      move_.reshape(w, r_.b.shape(first ? dimensions{2, {inner, outer}} : dimensions{2, {outer, inner}}))};
    std::int64_t const transposed[2]{0, first ? 0 : 1};
    return move_.reshape(r_.make(the<op::matmul>, x, 2, transposed, 2, e, r_.b.shape(dimensions{2, {1, outer}})), shape);
  }
  /// Moves terms that do not vary along the summed axes out of the sum, times the number of elements; else none.
  constexpr symbol sum_of_terms(symbol x, std::uint32_t mask, std::int32_t shape) {
    symbol small = none, rest = x;
    bool minus = false, flipped = false; // the sign of `small`, and of `rest`
    while (r_.single(rest) &&
           (r_.origin_of[rest].op == the<op::add> || r_.origin_of[rest].op == the<op::subtract>)) {
      symbol const p = r_.operand(rest, 0), q = r_.operand(rest, 1);
      bool const subtracts = r_.origin_of[rest].op == the<op::subtract>, second = constant_along(q, mask);
      if (!second && !constant_along(p, mask)) break;
      symbol const part = without(second ? q : p, mask, shape);
      bool const negative = flipped != (second && subtracts);
      if (small == none) small = part, minus = negative;
      else small = minus == negative ? arithmetic_.add(small, part) : arithmetic_.subtract(small, part);
      flipped = flipped != (!second && subtracts);
      rest = second ? p : q;
    }
    if (small == none || r_.origin_of[rest].op != the<op::multiply>)
      return none; // sum(x - mean) would cancel
    ++nested_;
    symbol const total = sum(rest, mask), many = times_count(small, r_.shape_of(x), mask);
    --nested_;
    if (flipped)
      return minus ? arithmetic_.negate(arithmetic_.add(total, many)) : arithmetic_.subtract(many, total);
    return minus ? arithmetic_.subtract(total, many) : arithmetic_.add(total, many);
  }
  constexpr symbol reduce(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    std::int64_t const axes = mask;
    return r_.make(op, &x, 1, &axes, 1, r_.type_of(x), shape);
  }
  /// A product with a factor that does not vary along `mask`.
  constexpr bool scaled(symbol t, std::uint32_t mask) {
    return r_.origin_of[t].op == the<op::multiply> &&
           (constant_along(r_.operand(t, 1), mask) || constant_along(r_.operand(t, 0), mask));
  }
  constexpr bool constant_along(symbol t, std::uint32_t mask) {
    std::int32_t const v = r_.varies(t);
    return v >= 0 && (static_cast<std::uint32_t>(v) & mask) == 0;
  }
  /// A small tensor that does not vary along `mask`, without those axes.
  constexpr symbol without(symbol t, std::uint32_t mask, std::int32_t shape) {
    return arithmetic_.narrowed(t, static_cast<std::int32_t>(~mask), shape);
  }
  /// A sum over `inner`, then over `outer` of the remaining axes, is one sum.
  static constexpr std::uint32_t merged(std::uint32_t inner, std::uint32_t outer) {
    std::uint32_t all = inner;
    for (int k = 0, left = 0; k < max_rank; ++k)
      if ((inner >> k & 1u) == 0) all |= (outer >> left++ & 1u) << k;
    return all;
  }
  constexpr bool nowhere_empty(std::int32_t shape, std::uint32_t mask) {
    dimensions const& d = r_.b.get().shapes[shape];
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0 && d.size[k] <= 0) return false;
    return true;
  }

  constexpr bool is_empty(std::int32_t shape, std::uint32_t mask) {
    dimensions const& d = r_.g.shapes[shape];
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0 && d.size[k] == 0) return true;
    return false;
  }

  /// The number of elements that a sum over the axes `mask` of `from` combines: a constant, or a size like `y`.
  constexpr symbol count_like(symbol y, std::int32_t from, std::uint32_t mask) {
    dimensions const d = r_.g.shapes[from];
    dimension number = 1;
    std::int64_t factors[max_rank + 1]{};
    int named = 0;
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0) {
        if (d.size[k] >= 0) number *= d.size[k];
        else factors[named++] = d.size[k];
      }
    if (named == 0) return r_.constant_like(y, static_cast<double>(number));
    if (number != 1) factors[named++] = number;
    return r_.source(the<op::size>, factors, named, r_.type_of(y), r_.shape_of(y));
  }
  /// `y`, a sum over the axes `mask` of `from` times a factor that was inside of it; 0 where a name makes the sum empty, since
  /// 0 times a factor that is not finite would be no number.
  constexpr symbol unless_empty(symbol y, symbol factor, std::int32_t from, std::uint32_t mask) {
    if (r_.is_constant(y) || !is_floating(r_.type_of(y)) || r_.origin_of[factor].op == the<op::size> ||
        (r_.is_constant(factor) && r_.modest(r_.number(factor))))
      return y;
    symbol const count = count_like(y, from, mask), zero = r_.constant_like(y, 0), sides[2]{count, zero};
    if (r_.is_constant(count)) return y;
    symbol const of[3]{
        arithmetic_.elementwise(the<op::equal>, sides, 2, nullptr, 0, element::boolean, r_.shape_of(y)), zero,
        y};
    return arithmetic_.select(of, r_.type_of(y), r_.shape_of(y));
  }
  /// `y` times the number of elements that a sum over the axes `mask` of `from` combines.
  constexpr symbol times_count(symbol y, std::int32_t from, std::uint32_t mask) {
    if (r_.origin_of[y].op == the<op::constant> && r_.is(y, 0)) return y;
    return unless_empty(arithmetic_.multiply(y, count_like(y, from, mask)), y, from, mask);
  }

  /// Repeated axes are not reduced; a sum is multiplied by their length.
  constexpr symbol of_broadcast(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    std::uint32_t const live = static_cast<std::uint32_t>(r_.varies(x));
    std::int64_t axes[max_rank]{};
    std::uint32_t inner = 0;
    int const n = r_.attribute_count(x);
    int rank = 0;
    for (int k = 0; k < n; ++k) {
      std::int64_t const axis = r_.attribute(x, k);
      if ((mask >> axis & 1u) != 0) {
        inner |= 1u << k;
        continue;
      }
      for (int j = 0; j < axis; ++j) axes[rank] += (mask >> j & 1u) == 0;
      ++rank;
    }
    if ((mask & ~live & static_cast<std::uint32_t>(r_.long_axes(r_.shape_of(x)))) ==
        0) // nothing that repeats goes
      return reduce(op, x, mask, shape);
    symbol const source = r_.operand(x);
    symbol const y = op == the<op::sum>
                         ? times_count(sum(source, inner), r_.shape_of(x), mask & ~live)
                         : reduction(op, source, inner, r_.shape_without(r_.shape_of(source), inner));
    return move_.broadcast(y, axes, shape);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
