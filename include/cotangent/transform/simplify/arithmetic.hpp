// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_ARITHMETIC_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_ARITHMETIC_HPP

#include <cotangent/transform/simplify/movement.hpp>

#include <cstdint>

// Rewrites of elementwise operations. docs/explanation/rewrites.md lists the effect of each on results.

namespace cotangent::detail {

class arithmetic_rules : public movement_rules {
  int nested_ = 0; // regrouping stops where products nest in ways in which it never ends soon

protected:
  struct product {
    symbol large = none, small = none;
  };
  /// A product of a tensor and a small one.
  constexpr product product_of(symbol t) const {
    if (origin_[t].op != the<op::multiply>) return {};
    symbol const* const x = g_.ids.data() + g_.nodes[g_.tensors[t].producer].first;
    if (origin_[x[1]].small != 0) return {x[0], x[1]};
    if (origin_[x[0]].small != 0) return {x[1], x[0]};
    return {};
  }

private:
  /// Whether the product of two small tensors is small.
  constexpr bool meet(symbol s, symbol t) const {
    return (origin_[s].op == the<op::constant> && origin_[t].op == the<op::constant>) || (varies(s) | varies(t)) != long_axes(shape_of(s));
  }
  constexpr symbol both(operation const* op, symbol x, symbol y) {
    symbol const pair[2]{x, y};
    return plain(op, pair, 2, nullptr, 0, origin_[x].type, origin_[x].shape);
  }

public:
  using movement_rules::movement_rules;

  constexpr symbol elementwise(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                               int count, element type, std::int32_t shape) {
    switch (op->code) {
    case code_of<op::add>:
      if (op == the<op::add>) return add(x[0], x[1]);
      break;
    case code_of<op::subtract>:
      if (op == the<op::subtract>) return subtract(x[0], x[1]);
      break;
    case code_of<op::multiply>:
      if (op == the<op::multiply>) return multiply(x[0], x[1]);
      break;
    case code_of<op::divide>:
      if (op == the<op::divide>) return divide(x[0], x[1]);
      break;
    case code_of<op::negate>:
      if (op == the<op::negate>) return negate(x[0]);
      break;
    case code_of<op::square>:
      if (op == the<op::square>) return multiply(x[0], x[0]);
      break;
    case code_of<op::pow>:
      if (op == the<op::pow> && origin_[x[1]].op == the<op::constant>)
        if (symbol const y = power(x[0], number(x[1]).real); y != none) return y;
      break;
    case code_of<op::select>:
      if (op == the<op::select>) return select(x, type, shape);
      break;
    case code_of<op::convert>:
      if (op == the<op::convert> && type_of(x[0]) == type) return x[0];
      break;
    case code_of<op::log>:
      if (op == the<op::log>)
        if (symbol const y = logarithm(x[0], type, shape); y != none) return y;
      break;
    case code_of<op::logical_not>:
      if (op == the<op::logical_not> && origin_[x[0]].op == op) return operand(x[0]);
      break;
    default: break;
    }
    return plain(op, x, n, attributes, count, type, shape);
  }

  /// The logarithm of a softmax or a sigmoid, without the probability, which may underflow; none of anything else.
  constexpr symbol logarithm(symbol x, element type, std::int32_t shape) {
    operation const* const p = origin_[x].op;
    if (p == the<op::sigmoid>) return negate(softplus(negate(operand(x)), type, shape));
    if (p == the<op::subtract> && op_of(operand(x, 1)) == the<op::sigmoid> && is_constant(operand(x)) &&
        is(operand(x), 1))
      return negate(softplus(operand(operand(x, 1)), type, shape));
    if (p != the<op::multiply>) return none;
    for (int k = 0; k < 2; ++k) { // e (1 / sum(e))
      symbol const e = operand(x, k), r = operand(x, 1 - k);
      if (origin_[e].op != the<op::exp> || origin_[r].op != the<op::broadcast> || op_of(operand(r)) != the<op::reciprocal>)
        continue;
      symbol const s = operand(operand(r));
      if (origin_[s].op != the<op::sum> || operand(s) != e) continue;
      auto const mask = static_cast<std::uint32_t>(attribute(s));
      int const rank = g_.shapes.data()[shape].rank;
      std::int64_t axes[max_rank]{};
      int n = 0;
      for (int j = 0; j < rank; ++j)
        if ((mask >> j & 1u) == 0) axes[n++] = j;
      bool own = attribute_count(r) == n;
      for (int j = 0; j < n && own; ++j) own = attribute(r, j) == axes[j];
      if (!own) continue;
      symbol const logs = elementwise(the<op::log>, &s, 1, nullptr, 0, type, shape_of(s));
      return subtract(operand(e), broadcast(logs, axes, shape));
    }
    return none;
  }
  constexpr symbol softplus(symbol x, element type, std::int32_t shape) {
    return plain(the<op::softplus>, &x, 1, nullptr, 0, type, shape);
  }

  constexpr symbol add(symbol x, symbol y) {
    if (x == y) return multiply(x, constant_like(x, 2));
    operation const *const p = origin_[x].op, *const q = origin_[y].op;
    if (q == the<op::constant> && is(y, 0)) return x;
    if (p == the<op::constant> && is(x, 0)) return y;
    if (q == the<op::negate>) return subtract(x, operand(y));
    if (p == the<op::negate>) return subtract(y, operand(x));
    if (p == the<op::pad> || q == the<op::pad>)
      if (symbol const r = p == the<op::pad> ? tiled(x, y) : tiled(y, x); r != none) return r;
    if (p == the<op::multiply> && q == the<op::multiply>)
      if (symbol const r = factored(x, y, false); r != none) return r;
    return both(the<op::add>, x, y);
  }

  constexpr symbol subtract(symbol x, symbol y) {
    operation const *const p = origin_[x].op, *const q = origin_[y].op;
    if (q == the<op::constant> && is(y, 0)) return x;
    if (p == the<op::constant> && is(x, 0)) return negate(y);
    if (q == the<op::negate>) return add(x, operand(y));
    if (p == the<op::negate> && single(x)) return negate(add(operand(x), y));
    if (fuses && p == the<op::multiply> && single(x) && origin_[y].small != 0)
      if (symbol const m = absorbed(y); m != none) return add(x, m);
    if (fuses && q == the<op::multiply> && single(y))
      if (product const of = product_of(y); of.small != none)
        if (symbol const m = absorbed(of.small); m != none) return add(x, multiply(of.large, m));
    if (p == the<op::multiply> && q == the<op::multiply>)
      if (symbol const r = factored(x, y, true); r != none) return r;
    return both(the<op::subtract>, x, y);
  }

  constexpr symbol negate(symbol x) {
    operation const* const op = origin_[x].op;
    if (op == the<op::negate>) return operand(x);
    if (op == the<op::subtract> && single(x)) return subtract(operand(x, 1), operand(x, 0));
    if (op == the<op::multiply> && single(x))
      if (product const p = product_of(x); p.small != none)
        if (symbol const m = absorbed(p.small); m != none) return multiply(p.large, m);
    return plain(the<op::negate>, &x, 1, nullptr, 0, type_of(x), shape_of(x));
  }

  /// The negated small tensor, where no sign is left over: one that was would go to and fro.
  constexpr symbol absorbed(symbol small) {
    symbol const m = negate(small);
    return origin_[m].op == the<op::negate> ? none : m;
  }

  constexpr symbol multiply(symbol x, symbol y) {
    operation const *p = origin_[x].op, *q = origin_[y].op;
    if (p == the<op::constant> && q != the<op::constant>) {
      symbol const kept = x;
      operation const* const kept_op = p;
      x = y, y = kept, p = q, q = kept_op;
    }
    if (q == the<op::constant>) {
      double const c = origin_[y].value;
      if (c == 1) return x;
      if (c == 0) return y;
      if (c == -1) return negate(x);
    }
    if (p == the<op::negate> || q == the<op::negate>)
      if (symbol const r = multiply_negated(x, y, p == the<op::negate>, q == the<op::negate>); r != none)
        return r;
    if (p == the<op::multiply> || q == the<op::multiply>)
      if (symbol const r = regrouped(x, y); r != none) return r;
    return both(the<op::multiply>, x, y);
  }

  constexpr symbol divide(symbol x, symbol y) {
    operation const *const p = origin_[x].op, *const q = origin_[y].op;
    if (q == the<op::constant>) {
      scalar const c = number(y);
      double const limit = c.type == element::float32 ? 1e30 : 1e290, size = c.real < 0 ? -c.real : c.real;
      if (p != the<op::constant> && size <= limit && size * limit >= 1) {
        if (size == 1) return c.real < 0 ? negate(x) : x;
        return multiply(x, reciprocal(y));
      }
    } else if (q == the<op::broadcast> || (q == the<op::size> && long_axes(shape_of(y)) != 0)) {
      return origin_[x].small != 0 && meet(x, y) ? both(the<op::divide>, x, y) : multiply(x, reciprocal(y));
    }
    if (p == the<op::constant> && q != the<op::constant>) {
      if (is(x, 0)) return x;
      if (is(x, 1)) return reciprocal(y);
    }
    if (p == the<op::negate> && single(x)) return negate(divide(operand(x), y));
    if (q == the<op::negate>) return negate(divide(x, operand(y)));
    if (p == the<op::multiply> && single(x))
      if (product const of = product_of(x); of.small != none) return multiply(divide(of.large, y), of.small);
    if (q == the<op::multiply> && single(y))
      if (product const of = product_of(y); of.small != none) {
        symbol const quotient = divide(x, of.large);
        return multiply(quotient, reciprocal(of.small));
      }
    return both(the<op::divide>, x, y);
  }

  constexpr symbol reciprocal(symbol x) {
    return plain(the<op::reciprocal>, &x, 1, nullptr, 0, type_of(x), shape_of(x));
  }

  constexpr symbol power(symbol x, double exponent) {
    if (exponent == 2) return multiply(x, x);
    if (exponent == 1) return x;
    if (exponent == 3) return multiply(multiply(x, x), x);
    if (exponent == 0) return constant_like(x, 1);
    if (exponent == -1) return reciprocal(x);
    if (exponent == 0.5) return plain(the<op::sqrt>, &x, 1, nullptr, 0, type_of(x), shape_of(x));
    return none;
  }

  constexpr symbol select(symbol const* x, element type, std::int32_t shape) {
    symbol of[3]{x[0], x[1], x[2]};
    operation const* op = origin_[of[0]].op;
    if (op == the<op::logical_not>) {
      of[0] = operand(x[0]), of[1] = x[2], of[2] = x[1];
      op = origin_[of[0]].op;
    }
    if (op == the<op::constant>) return of[is(of[0], 0) ? 2 : 1];
    if (of[1] == of[2]) return of[1];
    return plain(the<op::select>, of, 3, nullptr, 0, type, shape);
  }

  /// An operation without a rewrite of its own: on constants it is done here, on small tensors before they repeat.
  constexpr symbol plain(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                         int count, element type, std::int32_t shape) {
    for (int k = 0; k < n; ++k) {
      if (origin_[x[k]].small != 0) continue;
      if (origin_[x[k]].op == the<op::reshape>)
        if (symbol const y = before_reshape(op, x, n, attributes, count, type, shape); y != none) return y;
      return make(op, x, n, attributes, count, type, shape);
    }
    if (symbol const y = folded(op, x, n, attributes, type, shape); y != none) return y;
    if (symbol const y = hoisted(op, x, n, attributes, count, type, shape); y != none) return y;
    return make(op, x, n, attributes, count, type, shape);
  }

  /// A small tensor along fewer axes: those of the mask `kept`, which it may vary along.
  constexpr symbol narrowed(symbol t, std::int32_t kept, std::int32_t shape) {
    if (origin_[t].op != the<op::broadcast>) return restated(t, shape);
    std::int64_t axes[max_rank]{};
    int const n = attribute_count(t);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < attribute(t, k); ++j) axes[k] += kept >> j & 1;
    return broadcast(operand(t), axes, shape);
  }

private:
  /// A pad plus a tensor, if their windows, or that of one of its terms, are adjacent.
  constexpr symbol tiled(symbol x, symbol y) {
    if (!single(x) || !single(y)) return none;
    if (origin_[y].op == the<op::pad>) return joined(x, y);
    if (origin_[y].op != the<op::add> || nested_ >= 8) return none;
    symbol const terms[2]{operand(y, 0), operand(y, 1)};
    for (int k = 0; k < 2; ++k) {
      if (origin_[terms[k]].op != the<op::pad> || !single(terms[k])) continue;
      symbol const both = joined(x, terms[k]);
      if (both == none) continue;
      ++nested_;
      symbol const r = add(terms[1 - k], both);
      --nested_;
      return r;
    }
    return none;
  }

  /// a c + b c and a c - b c, with c or -c a constant, if the products have no other reader: a constant times a sum, into
  /// which a product may be fused.
  constexpr symbol factored(symbol x, symbol y, bool minus) {
    if (!fuses || !single(x) || !single(y) || !is_floating(type_of(x))) return none;
    product const p = product_of(x), q = product_of(y);
    if (p.small == none || q.small == none || !is_constant(p.small) || !is_constant(q.small)) return none;
    if (op_of(p.large) != the<op::multiply> && op_of(q.large) != the<op::multiply>) return none;
    double const c = number(p.small).real, d = number(q.small).real;
    if (c != d && c != -d) return none;
    return multiply((c == d) == minus ? subtract(p.large, q.large) : add(p.large, q.large), p.small);
  }

  /// Small operands that do not vary along every axis between them: computed on the varying axes, then repeated.
  constexpr symbol hoisted(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                           int count, element type, std::int32_t shape) {
    std::int32_t mask = 0;
    for (int k = 0; k < n; ++k) mask |= varies(x[k]);
    if (mask == long_axes(shape)) return none;
    std::int32_t const less = shape_without(shape, ~static_cast<std::uint32_t>(mask));
    symbol on[8]{};
    if (n > 8) return none;
    for (int k = 0; k < n; ++k) on[k] = narrowed(x[k], mask, less);
    std::int64_t axes[max_rank]{};
    int rank = 0;
    for (int k = 0; mask >> k != 0; ++k)
      if ((mask >> k & 1) != 0) axes[rank++] = k;
    return broadcast(elementwise(op, on, n, attributes, count, type, less), axes, shape);
  }

  /// Operands that a reshape gave axes of size 1: computed without these axes, then reshaped.
  constexpr symbol before_reshape(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                                  int count, element type, std::int32_t shape) {
    std::int32_t from = none;
    for (int k = 0; k < n; ++k) {
      if (origin_[x[k]].small != 0) continue;
      if (origin_[x[k]].op != the<op::reshape>) return none;
      std::int32_t const s = shape_of(operand(x[k]));
      if (from != none && from != s) return none;
      from = s;
    }
    std::uint32_t all = 0;
    if (n > 4 || b.get().shapes[from].rank >= b.get().shapes[shape].rank ||
        !same_but_ones(from, shape, 0, all))
      return none;
    symbol on[4]{};
    for (int k = 0; k < n; ++k) on[k] = reshape(x[k], from);
    return reshape(elementwise(op, on, n, attributes, count, type, from), shape);
  }

  /// Signs move outwards, into small factors where there are any.
  constexpr symbol multiply_negated(symbol x, symbol y, bool left, bool right) {
    if (left && right) return multiply(operand(x), operand(y));
    if (left && origin_[y].small != 0)
      if (symbol const m = absorbed(y); m != none) return multiply(operand(x), m);
    if (right && origin_[x].small != 0)
      if (symbol const m = absorbed(x); m != none) return multiply(m, operand(y));
    if (left && single(x)) return negate(multiply(operand(x), y));
    if (right && single(y)) return negate(multiply(x, operand(y)));
    return none;
  }

  /// Small factors meet each other first; where there is one, it comes last.
  constexpr symbol regrouped(symbol x, symbol y) {
    if (nested_ >= 8) return none;
    product const p = product_of(x), q = product_of(y);
    ++nested_;
    symbol r = none;
    if (origin_[y].small != 0) {
      if (p.small != none && meet(p.small, y)) r = multiply(p.large, multiply(p.small, y));
    } else if (origin_[x].small != 0) {
      if (q.small != none && meet(q.small, x)) r = multiply(q.large, multiply(q.small, x));
    } else {
      int const readers = x == y ? 2 : 1;
      bool const left = p.small != none && single(x, readers), right = q.small != none && single(y, readers);
      if (left && right && meet(p.small, q.small)) {
        symbol const large = multiply(p.large, q.large);
        r = multiply(large, multiply(p.small, q.small));
      } else if (left) r = multiply(multiply(p.large, y), p.small);
      else if (right) r = multiply(multiply(x, q.large), q.small);
    }
    --nested_;
    return r;
  }
};

} // namespace cotangent::detail

#endif
