// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_ARITHMETIC_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_ARITHMETIC_HPP

#include <cotangent/transform/simplify/movement.hpp>

#include <cstdint>

// Rewrites of elementwise operations. docs/explanation/rewrites.md lists the effect of each on results.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class arithmetic_rules {
  rewriting& r_;
  movement_rules& move_;
  int nested_ = 0; // regrouping stops where products nest in ways in which it never ends soon

public:
  constexpr arithmetic_rules(rewriting& r, movement_rules& move) : r_(r), move_(move) {}

  struct product {
    symbol large = none, small = none;
  };
  /// A product of a tensor and a small one.
  constexpr product product_of(symbol t) const {
    if (r_.origin_of[t].op != the<op::multiply>) return {};
    symbol const* const x = r_.g.ids.data() + r_.g.nodes[r_.g.tensors[t].producer].first;
    if (r_.origin_of[x[1]].small != 0) return {x[0], x[1]};
    if (r_.origin_of[x[0]].small != 0) return {x[1], x[0]};
    return {};
  }

private:
  /// Whether the product of two small tensors is small.
  constexpr bool meet(symbol s, symbol t) const {
    return (r_.origin_of[s].op == the<op::constant> && r_.origin_of[t].op == the<op::constant>) ||
           (r_.varies(s) | r_.varies(t)) != r_.long_axes(r_.shape_of(s));
  }
  constexpr symbol both(operation const* op, symbol x, symbol y) {
    symbol const pair[2]{x, y};
    return plain(op, pair, 2, nullptr, 0, r_.origin_of[x].type, r_.origin_of[x].shape);
  }

public:
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
      if (op == the<op::pow> && r_.origin_of[x[1]].op == the<op::constant>)
        if (symbol const y = power(x[0], r_.number(x[1]).real); y != none) return y;
      break;
    case code_of<op::select>:
      if (op == the<op::select>) return select(x, type, shape);
      break;
    case code_of<op::convert>:
      if (op == the<op::convert> && r_.type_of(x[0]) == type) return x[0];
      break;
    case code_of<op::log>:
      if (op == the<op::log>)
        if (symbol const y = logarithm(x[0], type, shape); y != none) return y;
      break;
    case code_of<op::logical_not>:
      if (op == the<op::logical_not> && r_.origin_of[x[0]].op == op) return r_.operand(x[0]);
      break;
    default: break;
    }
    return plain(op, x, n, attributes, count, type, shape);
  }

  /// The logarithm of a softmax or a sigmoid, without the probability, which may underflow; none of anything else.
  constexpr symbol logarithm(symbol x, element type, std::int32_t shape) {
    operation const* const p = r_.origin_of[x].op;
    if (p == the<op::sigmoid>) return negate(softplus(negate(r_.operand(x)), type, shape));
    if (p == the<op::subtract> && r_.op_of(r_.operand(x, 1)) == the<op::sigmoid> &&
        r_.is_constant(r_.operand(x)) && r_.is(r_.operand(x), 1))
      return negate(softplus(r_.operand(r_.operand(x, 1)), type, shape));
    if (p != the<op::multiply>) return none;
    for (int k = 0; k < 2; ++k) { // e (1 / sum(e))
      symbol const e = r_.operand(x, k), r = r_.operand(x, 1 - k);
      if (r_.origin_of[e].op != the<op::exp> || r_.origin_of[r].op != the<op::broadcast> ||
          r_.op_of(r_.operand(r)) != the<op::reciprocal>)
        continue;
      symbol const s = r_.operand(r_.operand(r));
      if (r_.origin_of[s].op != the<op::sum> || r_.operand(s) != e) continue;
      auto const mask = static_cast<std::uint32_t>(r_.attribute(s));
      int const rank = r_.g.shapes.data()[shape].rank;
      std::int64_t axes[max_rank]{};
      int n = 0;
      for (int j = 0; j < rank; ++j)
        if ((mask >> j & 1u) == 0) axes[n++] = j;
      bool own = r_.attribute_count(r) == n;
      for (int j = 0; j < n && own; ++j) own = r_.attribute(r, j) == axes[j];
      if (!own) continue;
      symbol const logs = elementwise(the<op::log>, &s, 1, nullptr, 0, type, r_.shape_of(s));
      return subtract(r_.operand(e), move_.broadcast(logs, axes, shape));
    }
    return none;
  }
  constexpr symbol softplus(symbol x, element type, std::int32_t shape) {
    return plain(the<op::softplus>, &x, 1, nullptr, 0, type, shape);
  }

  constexpr symbol add(symbol x, symbol y) {
    if (x == y) return multiply(x, r_.constant_like(x, 2));
    operation const *const p = r_.origin_of[x].op, *const q = r_.origin_of[y].op;
    if (q == the<op::constant> && r_.is(y, 0)) return x;
    if (p == the<op::constant> && r_.is(x, 0)) return y;
    if (q == the<op::negate>) return subtract(x, r_.operand(y));
    if (p == the<op::negate>) return subtract(y, r_.operand(x));
    if (p == the<op::pad> || q == the<op::pad>)
      if (symbol const r = p == the<op::pad> ? tiled(x, y) : tiled(y, x); r != none) return r;
    if (p == the<op::multiply> && q == the<op::multiply>)
      if (symbol const r = factored(x, y, false); r != none) return r;
    return both(the<op::add>, x, y);
  }

  constexpr symbol subtract(symbol x, symbol y) {
    operation const *const p = r_.origin_of[x].op, *const q = r_.origin_of[y].op;
    if (q == the<op::constant> && r_.is(y, 0)) return x;
    if (p == the<op::constant> && r_.is(x, 0)) return negate(y);
    if (q == the<op::negate>) return add(x, r_.operand(y));
    if (p == the<op::negate> && r_.single(x)) return negate(add(r_.operand(x), y));
    if (r_.fuses && p == the<op::multiply> && r_.single(x) && r_.origin_of[y].small != 0)
      if (symbol const m = absorbed(y); m != none) return add(x, m);
    if (r_.fuses && q == the<op::multiply> && r_.single(y))
      if (product const of = product_of(y); of.small != none)
        if (symbol const m = absorbed(of.small); m != none) return add(x, multiply(of.large, m));
    if (p == the<op::multiply> && q == the<op::multiply>)
      if (symbol const r = factored(x, y, true); r != none) return r;
    return both(the<op::subtract>, x, y);
  }

  constexpr symbol negate(symbol x) {
    operation const* const op = r_.origin_of[x].op;
    if (op == the<op::negate>) return r_.operand(x);
    if (op == the<op::subtract> && r_.single(x)) return subtract(r_.operand(x, 1), r_.operand(x, 0));
    if (op == the<op::multiply> && r_.single(x))
      if (product const p = product_of(x); p.small != none)
        if (symbol const m = absorbed(p.small); m != none) return multiply(p.large, m);
    return plain(the<op::negate>, &x, 1, nullptr, 0, r_.type_of(x), r_.shape_of(x));
  }

  /// The negated small tensor, where no sign is left over: one that was would go to and fro.
  constexpr symbol absorbed(symbol small) {
    symbol const m = negate(small);
    return r_.origin_of[m].op == the<op::negate> ? none : m;
  }

  constexpr symbol multiply(symbol x, symbol y) {
    operation const *p = r_.origin_of[x].op, *q = r_.origin_of[y].op;
    if (p == the<op::constant> && q != the<op::constant>) {
      symbol const kept = x;
      operation const* const kept_op = p;
      x = y, y = kept, p = q, q = kept_op;
    }
    if (q == the<op::constant>) {
      double const c = r_.origin_of[y].value;
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
    operation const *const p = r_.origin_of[x].op, *const q = r_.origin_of[y].op;
    if (q == the<op::constant>) {
      scalar const c = r_.number(y);
      double const limit = c.type == element::float32 ? 1e30 : 1e290, size = c.real < 0 ? -c.real : c.real;
      if (p != the<op::constant> && size <= limit && size * limit >= 1) {
        if (size == 1) return c.real < 0 ? negate(x) : x;
        return multiply(x, reciprocal(y));
      }
    } else if (q == the<op::broadcast> || (q == the<op::size> && r_.long_axes(r_.shape_of(y)) != 0)) {
      return r_.origin_of[x].small != 0 && meet(x, y) ? both(the<op::divide>, x, y)
                                                      : multiply(x, reciprocal(y));
    }
    if (p == the<op::constant> && q != the<op::constant>) {
      if (r_.is(x, 0)) return x;
      if (r_.is(x, 1)) return reciprocal(y);
    }
    if (p == the<op::negate> && r_.single(x)) return negate(divide(r_.operand(x), y));
    if (q == the<op::negate>) return negate(divide(x, r_.operand(y)));
    if (p == the<op::multiply> && r_.single(x))
      if (product const of = product_of(x); of.small != none) return multiply(divide(of.large, y), of.small);
    if (q == the<op::multiply> && r_.single(y))
      if (product const of = product_of(y); of.small != none) {
        symbol const quotient = divide(x, of.large);
        return multiply(quotient, reciprocal(of.small));
      }
    return both(the<op::divide>, x, y);
  }

  constexpr symbol reciprocal(symbol x) {
    return plain(the<op::reciprocal>, &x, 1, nullptr, 0, r_.type_of(x), r_.shape_of(x));
  }

  constexpr symbol power(symbol x, double exponent) {
    if (exponent == 2) return multiply(x, x);
    if (exponent == 1) return x;
    if (exponent == 3) return multiply(multiply(x, x), x);
    if (exponent == 0) return r_.constant_like(x, 1);
    if (exponent == -1) return reciprocal(x);
    if (exponent == 0.5) return plain(the<op::sqrt>, &x, 1, nullptr, 0, r_.type_of(x), r_.shape_of(x));
    return none;
  }

  constexpr symbol select(symbol const* x, element type, std::int32_t shape) {
    symbol of[3]{x[0], x[1], x[2]};
    operation const* op = r_.origin_of[of[0]].op;
    if (op == the<op::logical_not>) {
      of[0] = r_.operand(x[0]), of[1] = x[2], of[2] = x[1];
      op = r_.origin_of[of[0]].op;
    }
    if (op == the<op::constant>) return of[r_.is(of[0], 0) ? 2 : 1];
    if (of[1] == of[2]) return of[1];
    return plain(the<op::select>, of, 3, nullptr, 0, type, shape);
  }

  /// An operation without a rewrite of its own: on constants it is done here, on small tensors before they repeat.
  constexpr symbol plain(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                         int count, element type, std::int32_t shape) {
    for (int k = 0; k < n; ++k) {
      if (r_.origin_of[x[k]].small != 0) continue;
      if (r_.origin_of[x[k]].op == the<op::reshape>)
        if (symbol const y = before_reshape(op, x, n, attributes, count, type, shape); y != none) return y;
      return r_.make(op, x, n, attributes, count, type, shape);
    }
    if (symbol const y = r_.folded(op, x, n, attributes, type, shape); y != none) return y;
    if (symbol const y = hoisted(op, x, n, attributes, count, type, shape); y != none) return y;
    return r_.make(op, x, n, attributes, count, type, shape);
  }

  /// A small tensor along fewer axes: those of the mask `kept`, which it may vary along.
  constexpr symbol narrowed(symbol t, std::int32_t kept, std::int32_t shape) {
    if (r_.origin_of[t].op != the<op::broadcast>) return r_.restated(t, shape);
    std::int64_t axes[max_rank]{};
    int const n = r_.attribute_count(t);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < r_.attribute(t, k); ++j) axes[k] += kept >> j & 1;
    return move_.broadcast(r_.operand(t), axes, shape);
  }

private:
  /// A pad plus a tensor, if their windows, or that of one of its terms, are adjacent.
  constexpr symbol tiled(symbol x, symbol y) {
    if (!r_.single(x) || !r_.single(y)) return none;
    if (r_.origin_of[y].op == the<op::pad>) return move_.joined(x, y);
    if (r_.origin_of[y].op != the<op::add> || nested_ >= 8) return none;
    symbol const terms[2]{r_.operand(y, 0), r_.operand(y, 1)};
    for (int k = 0; k < 2; ++k) {
      if (r_.origin_of[terms[k]].op != the<op::pad> || !r_.single(terms[k])) continue;
      symbol const both = move_.joined(x, terms[k]);
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
    if (!r_.fuses || !r_.single(x) || !r_.single(y) || !is_floating(r_.type_of(x))) return none;
    product const p = product_of(x), q = product_of(y);
    if (p.small == none || q.small == none || !r_.is_constant(p.small) || !r_.is_constant(q.small))
      return none;
    if (r_.op_of(p.large) != the<op::multiply> && r_.op_of(q.large) != the<op::multiply>) return none;
    double const c = r_.number(p.small).real, d = r_.number(q.small).real;
    if (c != d && c != -d) return none;
    return multiply((c == d) == minus ? subtract(p.large, q.large) : add(p.large, q.large), p.small);
  }

  /// Small operands that do not vary along every axis between them: computed on the varying axes, then repeated.
  constexpr symbol hoisted(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                           int count, element type, std::int32_t shape) {
    std::int32_t mask = 0;
    for (int k = 0; k < n; ++k) mask |= r_.varies(x[k]);
    if (mask == r_.long_axes(shape)) return none;
    std::int32_t const less = r_.shape_without(shape, ~static_cast<std::uint32_t>(mask));
    symbol on[8]{};
    if (n > 8) return none;
    for (int k = 0; k < n; ++k) on[k] = narrowed(x[k], mask, less);
    std::int64_t axes[max_rank]{};
    int rank = 0;
    for (int k = 0; mask >> k != 0; ++k)
      if ((mask >> k & 1) != 0) axes[rank++] = k;
    return move_.broadcast(elementwise(op, on, n, attributes, count, type, less), axes, shape);
  }

  /// Operands that a reshape gave axes of size 1: computed without these axes, then reshaped.
  constexpr symbol before_reshape(operation const* op, symbol const* x, int n, std::int64_t const* attributes,
                                  int count, element type, std::int32_t shape) {
    std::int32_t from = none;
    for (int k = 0; k < n; ++k) {
      if (r_.origin_of[x[k]].small != 0) continue;
      if (r_.origin_of[x[k]].op != the<op::reshape>) return none;
      std::int32_t const s = r_.shape_of(r_.operand(x[k]));
      if (from != none && from != s) return none;
      from = s;
    }
    std::uint32_t all = 0;
    if (n > 4 || r_.b.get().shapes[from].rank >= r_.b.get().shapes[shape].rank ||
        !r_.same_but_ones(from, shape, 0, all))
      return none;
    symbol on[4]{};
    for (int k = 0; k < n; ++k) on[k] = move_.reshape(x[k], from);
    return move_.reshape(elementwise(op, on, n, attributes, count, type, from), shape);
  }

  /// Signs move outwards, into small factors where there are any.
  constexpr symbol multiply_negated(symbol x, symbol y, bool left, bool right) {
    if (left && right) return multiply(r_.operand(x), r_.operand(y));
    if (left && r_.origin_of[y].small != 0)
      if (symbol const m = absorbed(y); m != none) return multiply(r_.operand(x), m);
    if (right && r_.origin_of[x].small != 0)
      if (symbol const m = absorbed(x); m != none) return multiply(m, r_.operand(y));
    if (left && r_.single(x)) return negate(multiply(r_.operand(x), y));
    if (right && r_.single(y)) return negate(multiply(x, r_.operand(y)));
    return none;
  }

  /// Small factors meet each other first; where there is one, it comes last.
  constexpr symbol regrouped(symbol x, symbol y) {
    if (nested_ >= 8) return none;
    product const p = product_of(x), q = product_of(y);
    ++nested_;
    symbol r = none;
    if (r_.origin_of[y].small != 0) {
      if (p.small != none && meet(p.small, y)) r = multiply(p.large, multiply(p.small, y));
    } else if (r_.origin_of[x].small != 0) {
      if (q.small != none && meet(q.small, x)) r = multiply(q.large, multiply(q.small, x));
    } else {
      int const readers = x == y ? 2 : 1;
      bool const left = p.small != none && r_.single(x, readers),
                 right = q.small != none && r_.single(y, readers);
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
COTANGENT_COLD_END

#endif
