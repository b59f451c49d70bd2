// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_SUMS_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_SUMS_HPP

#include <cotangent/transform/simplify/arithmetic.hpp>

#include <cstdint>

// Rewrites of reductions: factors and terms that do not vary along the reduced axes move out of them.

namespace cotangent::detail {

class sum_rules : public arithmetic_rules {
public:
  using arithmetic_rules::arithmetic_rules;

  constexpr symbol sum(symbol x, std::uint32_t mask) {
    if (mask == 0) return x;
    std::uint32_t const longs = static_cast<std::uint32_t>(long_axes(shape_of(x)));
    std::int32_t const shape = shape_without(shape_of(x), mask);
    if ((mask & longs) == 0) return reshape(x, shape);
    // 0; not folded to a constant, since a run still reports labels that are out of range
    if (is_empty(shape_of(x), mask)) return reduce(the<op::sum>, x, mask, shape);
    operation const* const op = origin_[x].op;
    if (op == the<op::constant>) return times_count(restated(x, shape), shape_of(x), mask);
    if (op == the<op::negate>) return negate(sum(operand(x), mask));
    if (op == the<op::sum>) return sum(operand(x), merged(static_cast<std::uint32_t>(attribute(x)), mask));
    if (op == the<op::broadcast>) return of_broadcast(the<op::sum>, x, mask, shape);
    if (op == the<op::multiply>) {
      symbol p = operand(x, 0), q = operand(x, 1);
      if (!constant_along(q, mask)) {
        symbol const kept = p;
        p = q, q = kept;
      }
      if (constant_along(q, mask)) {
        symbol const rest = sum(p, mask);
        symbol const factor = without(q, mask, shape);
        return unless_empty(multiply(rest, factor), factor, shape_of(x), mask);
      }
      if (single(x))
        for (int k = 0; k < 2; ++k) {
          product const of = product_of(k == 0 ? p : q);
          if (of.small == none || !constant_along(of.small, mask)) continue;
          symbol const rest = sum(multiply(of.large, k == 0 ? q : p), mask);
          symbol const factor = without(of.small, mask, shape);
          return unless_empty(multiply(rest, factor), factor, shape_of(x), mask);
        }
    }
    if ((op == the<op::add> || op == the<op::subtract>) && single(x) && nested_ < 8)
      if (symbol const y = sum_of_terms(x, mask, shape); y != none) return y;
    if ((op == the<op::add> || op == the<op::subtract>) && splits_sums && nested_ < 8 &&
        op_of(operand(x, 0)) == the<op::multiply> &&
        op_of(operand(x, 1)) == the<op::multiply> &&
        (single(x) || (scaled(operand(x, 0), mask) && scaled(operand(x, 1), mask)))) {
      ++nested_;
      symbol const left = sum(operand(x, 0), mask), right = sum(operand(x, 1), mask);
      --nested_;
      return op == the<op::add> ? add(left, right) : subtract(left, right);
    }
    if (op == the<op::reshape>) {
      std::uint32_t before = 0;
      if (same_but_ones(shape_of(operand(x)), shape_of(x), mask, before))
        return reshape(sum(operand(x), before), shape);
    }
    return reduce(the<op::sum>, x, mask, shape);
  }

  /// The largest and the smallest, and whatever users add.
  constexpr symbol reduction(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    bool const extreme = op == the<op::reduce_max> || op == the<op::reduce_min>;
    if (!extreme) return reduce(op, x, mask, shape);
    if (mask == 0) return x;
    if ((mask & static_cast<std::uint32_t>(long_axes(shape_of(x)))) == 0) return reshape(x, shape);
    operation const* const p = origin_[x].op;
    if (p == the<op::reshape>) {
      std::uint32_t before = 0;
      std::int32_t const from = shape_of(operand(x));
      if (same_but_ones(from, shape_of(x), mask, before))
        return reshape(reduction(op, operand(x), before, shape_without(from, before)), shape);
    }
    if (p == op)
      return reduction(op, operand(x), merged(static_cast<std::uint32_t>(attribute(x)), mask), shape);
    if (p == the<op::constant> && nowhere_empty(shape_of(x), mask)) return restated(x, shape);
    if (p == the<op::broadcast> && nowhere_empty(shape_of(x), mask)) return of_broadcast(op, x, mask, shape);
    return reduce(op, x, mask, shape);
  }

  bool splits_sums = true; // of two products

private:
  int nested_ = 0; // sums of products of sums

  /// Moves terms that do not vary along the summed axes out of the sum, times the number of elements; else none.
  constexpr symbol sum_of_terms(symbol x, std::uint32_t mask, std::int32_t shape) {
    symbol small = none, rest = x;
    bool minus = false, flipped = false; // the sign of `small`, and of `rest`
    while (single(rest) && (origin_[rest].op == the<op::add> || origin_[rest].op == the<op::subtract>)) {
      symbol const p = operand(rest, 0), q = operand(rest, 1);
      bool const subtracts = origin_[rest].op == the<op::subtract>, second = constant_along(q, mask);
      if (!second && !constant_along(p, mask)) break;
      symbol const part = without(second ? q : p, mask, shape);
      bool const negative = flipped != (second && subtracts);
      if (small == none) small = part, minus = negative;
      else small = minus == negative ? add(small, part) : subtract(small, part);
      flipped = flipped != (!second && subtracts);
      rest = second ? p : q;
    }
    if (small == none || origin_[rest].op != the<op::multiply>) return none; // sum(x - mean) would cancel
    ++nested_;
    symbol const total = sum(rest, mask), many = times_count(small, shape_of(x), mask);
    --nested_;
    if (flipped) return minus ? negate(add(total, many)) : subtract(many, total);
    return minus ? subtract(total, many) : add(total, many);
  }
  constexpr symbol reduce(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    std::int64_t const axes = mask;
    return make(op, &x, 1, &axes, 1, type_of(x), shape);
  }
  /// A product with a factor that does not vary along `mask`.
  constexpr bool scaled(symbol t, std::uint32_t mask) {
    return origin_[t].op == the<op::multiply> && (constant_along(operand(t, 1), mask) || constant_along(operand(t, 0), mask));
  }
  constexpr bool constant_along(symbol t, std::uint32_t mask) {
    std::int32_t const v = varies(t);
    return v >= 0 && (static_cast<std::uint32_t>(v) & mask) == 0;
  }
  /// A small tensor that does not vary along `mask`, without those axes.
  constexpr symbol without(symbol t, std::uint32_t mask, std::int32_t shape) {
    return narrowed(t, static_cast<std::int32_t>(~mask), shape);
  }
  /// A sum over `inner`, then over `outer` of the remaining axes, is one sum.
  static constexpr std::uint32_t merged(std::uint32_t inner, std::uint32_t outer) {
    std::uint32_t all = inner;
    for (int k = 0, left = 0; k < max_rank; ++k)
      if ((inner >> k & 1u) == 0) all |= (outer >> left++ & 1u) << k;
    return all;
  }
  constexpr bool nowhere_empty(std::int32_t shape, std::uint32_t mask) {
    dimensions const& d = b.get().shapes[shape];
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0 && d.size[k] <= 0) return false;
    return true;
  }

  constexpr bool is_empty(std::int32_t shape, std::uint32_t mask) {
    dimensions const& d = g_.shapes[shape];
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0 && d.size[k] == 0) return true;
    return false;
  }

  /// The number of elements that a sum over the axes `mask` of `from` combines: a constant, or a size like `y`.
  constexpr symbol count_like(symbol y, std::int32_t from, std::uint32_t mask) {
    dimensions const d = g_.shapes[from];
    dimension number = 1;
    std::int64_t factors[max_rank + 1]{};
    int named = 0;
    for (int k = 0; k < d.rank; ++k)
      if ((mask >> k & 1u) != 0) {
        if (d.size[k] >= 0) number *= d.size[k];
        else factors[named++] = d.size[k];
      }
    if (named == 0) return constant_like(y, static_cast<double>(number));
    if (number != 1) factors[named++] = number;
    return source(the<op::size>, factors, named, type_of(y), shape_of(y));
  }
  /// `y`, a sum over the axes `mask` of `from` times a factor that was inside of it; 0 where a name makes the sum empty, since
  /// 0 times a factor that is not finite would be no number.
  constexpr symbol unless_empty(symbol y, symbol factor, std::int32_t from, std::uint32_t mask) {
    if (is_constant(y) || !is_floating(type_of(y)) || origin_[factor].op == the<op::size> ||
        (is_constant(factor) && modest(number(factor))))
      return y;
    symbol const count = count_like(y, from, mask), zero = constant_like(y, 0), sides[2]{count, zero};
    if (is_constant(count)) return y;
    symbol const of[3]{elementwise(the<op::equal>, sides, 2, nullptr, 0, element::boolean, shape_of(y)), zero, y};
    return select(of, type_of(y), shape_of(y));
  }
  /// `y` times the number of elements that a sum over the axes `mask` of `from` combines.
  constexpr symbol times_count(symbol y, std::int32_t from, std::uint32_t mask) {
    if (origin_[y].op == the<op::constant> && is(y, 0)) return y;
    return unless_empty(multiply(y, count_like(y, from, mask)), y, from, mask);
  }

  /// Repeated axes are not reduced; a sum is multiplied by their length.
  constexpr symbol of_broadcast(operation const* op, symbol x, std::uint32_t mask, std::int32_t shape) {
    std::uint32_t const live = static_cast<std::uint32_t>(varies(x));
    std::int64_t axes[max_rank]{};
    std::uint32_t inner = 0;
    int const n = attribute_count(x);
    int rank = 0;
    for (int k = 0; k < n; ++k) {
      std::int64_t const axis = attribute(x, k);
      if ((mask >> axis & 1u) != 0) {
        inner |= 1u << k;
        continue;
      }
      for (int j = 0; j < axis; ++j) axes[rank] += (mask >> j & 1u) == 0;
      ++rank;
    }
    if ((mask & ~live & static_cast<std::uint32_t>(long_axes(shape_of(x)))) == 0) // nothing that repeats goes
      return reduce(op, x, mask, shape);
    symbol const source = operand(x);
    symbol const y = op == the<op::sum>
                         ? times_count(sum(source, inner), shape_of(x), mask & ~live)
                         : reduction(op, source, inner, shape_without(shape_of(source), inner));
    return broadcast(y, axes, shape);
  }
};

} // namespace cotangent::detail

#endif
