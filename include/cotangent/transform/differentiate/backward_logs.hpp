// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_LOGS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_LOGS_HPP

#include <cotangent/ops/ops.hpp>

#include <cstdint>

// Logarithms of probabilities. Their cotangents skip the probability and go to its operand: through a softmax
// or a sigmoid that underflows they would be 0 times infinity.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Recognizes the operand of a logarithm: e / (the sum of e over axes) with e = exp(z), sigmoid(z), or 1 -
/// sigmoid(z).
class probability {
  graph const& g_;

public:
  enum class form : unsigned char { other, softmax, sigmoid, one_minus_sigmoid };
  form is = form::other;
  symbol z = none;        // its operand, without terms that a softmax does not depend on
  symbol p = none;        // the softmax or the sigmoid
  std::uint32_t mask = 0; // the axes of the softmax
  array<symbol> between;  // the symbols between z and the logarithm

  constexpr probability(graph const& g, symbol x) : g_(g) {
    node const* const n = producer(x);
    if (n == nullptr) return;
    between.push(x);
    p = x;
    if (n->op == info_of<op::sigmoid>()) {
      is = form::sigmoid;
      z = operand(*n, 0);
    } else if (n->op == info_of<op::subtract>()) {
      node const *const one = producer(operand(*n, 0)), *const s = producer(operand(*n, 1));
      if (one == nullptr || s == nullptr || one->op != info_of<op::constant>() ||
          s->op != info_of<op::sigmoid>() ||
          scalar_of(g.tensors[x].type, g.numbers[one->attribute]).as<double>() != 1)
        return;
      is = form::one_minus_sigmoid;
      p = operand(*n, 1);
      z = operand(*s, 0);
      between.push(p);
    } else if (n->op == info_of<op::divide>()) {
      node const* const e = producer(operand(*n, 0));
      if (e == nullptr || e->op != info_of<op::exp>() || !is_sum_of(operand(*n, 1), operand(*n, 0))) return;
      is = form::softmax;
      between.push(operand(*n, 0));
      z = operand(*e, 0);
      for (int hops = 0; hops < 2; ++hops) {
        node const* const shift = producer(z);
        if (shift == nullptr || shift->op != info_of<op::subtract>() ||
            !is_the_same_along(operand(*shift, 1)))
          break;
        between.push(z);
        z = operand(*shift, 0);
      }
    }
  }

private:
  constexpr node const* producer(symbol t) const {
    tensor_symbol const& s = g_.tensors[t];
    return s.producer == none || s.base != none || g_.nodes[s.producer].result_count != 1
               ? nullptr
               : &g_.nodes[s.producer];
  }
  constexpr symbol operand(node const& n, int k) const { return g_.ids[n.first + k]; }
  constexpr dimensions const& dims(symbol t) const { return g_.shapes[g_.tensors[t].shape]; }

  /// True if `r` broadcasts the sums of `e` over some axes along these axes; `mask` is these axes.
  constexpr bool is_sum_of(symbol r, symbol e) {
    std::int32_t axis[max_rank]{}; // of the current symbol: the axis of e, -1 if broadcast
    for (int k = 0; k < max_rank; ++k) axis[k] = k;
    if (g_.tensors[r].shape != g_.tensors[e].shape) return false;
    for (int hops = 0; hops < 6; ++hops) {
      node const* const n = producer(r);
      if (n == nullptr || n->operand_count != 1) return false;
      between.push(r);
      symbol const x = operand(*n, 0);
      dimensions const &from = dims(x), &to = dims(r);
      std::int32_t before[max_rank]{};
      if (n->op->kind == operation_kind::broadcast) {
        for (int k = 0; k < from.rank; ++k) {
          auto const at = static_cast<int>(g_.numbers[n->attribute + k]);
          before[k] = from.size[k] == to.size[at] ? axis[at] : -1;
        }
      } else if (n->op->kind == operation_kind::reshape) {
        int j = 0;
        for (int k = 0; k < from.rank; ++k) {
          before[k] = -1;
          if (from.size[k] == 1) continue;
          while (j < to.rank && to.size[j] == 1) ++j;
          if (j == to.rank || to.size[j] != from.size[k]) return false;
          before[k] = axis[j++];
        }
        for (; j < to.rank; ++j)
          if (to.size[j] != 1) return false;
      } else if (n->op == info_of<op::sum>()) {
        if (x != e) return false;
        mask = static_cast<std::uint32_t>(g_.numbers[n->attribute]);
        int own = 0;
        for (int k = 0; k < from.rank; ++k) {
          if ((mask >> k & 1u) != 0) continue;
          if (from.size[k] != 1 && axis[own] != k) return false;
          ++own;
        }
        return true;
      } else return false;
      for (int k = 0; k < max_rank; ++k) axis[k] = before[k];
      r = x;
    }
    return false;
  }
  /// True if `c` is broadcast along the axes of the softmax.
  constexpr bool is_the_same_along(symbol c) const {
    node const* const n = producer(c);
    if (n == nullptr || n->op->kind != operation_kind::broadcast) return false;
    dimensions const& from = dims(operand(*n, 0));
    for (int k = 0; k < from.rank; ++k)
      if (from.size[k] != 1 && (mask >> g_.numbers[n->attribute + k] & 1u) != 0) return false;
    return true;
  }
};

/// The cotangent of z, if dy is that of the logarithm of the probability, and `p` the softmax or sigmoid.
constexpr term cotangent_before(probability::form is, std::uint32_t mask, term p, term dy) {
  if (is == probability::form::sigmoid) return dy * (1 - p);
  if (is == probability::form::one_minus_sigmoid) return -(dy * p);
  return dy - p * op::sum::repeat(extend::sum(dy, mask), dy.shape_id(), mask);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
