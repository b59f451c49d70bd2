// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_LAYERS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_LAYERS_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/functions/activations.hpp>
#include <cotangent/ops/functions/composed.hpp>
#include <cotangent/ops/functions/initializers.hpp>
#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/expressions/layout.hpp>
#include <cotangent/trace/expressions/network.hpp>
#include <cotangent/trace/expressions/operators.hpp>

#include <cmath>
#include <cstdint>
#include <source_location>
#include <utility>

// Losses, normalizations, attention, recurrent cells and initial weights, as formulas over other functions. (Not part of cotangent.hpp.)

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(rows_needed, at_least, rank_needed, rank_of_operand, "cotangent: this layer needs an operand of at least one axis")
COTANGENT_REFUSAL_OF(norm_epsilon, allowed, "cotangent: layer_norm, batch_norm, group_norm, rms_norm: epsilon must be at least 0")
COTANGENT_REFUSAL_OF(huber_delta, allowed, "cotangent: huber: delta must be at least 0")
COTANGENT_REFUSAL(groups_divide, divides, number_of_groups, extent_of_last_axis, "cotangent: group_norm: the number of groups must divide the extent of the last axis, which must be a number")
COTANGENT_REFUSAL(attention_rank, equal, rank_needed, rank_of_operand, "cotangent: attention: queries, keys and values must be matrices")
// clang-format on
} // namespace refusals

namespace detail {

/// 1 / sqrt(x + epsilon)
constexpr term inverse_root(term x, double epsilon) {
  if (!(epsilon >= 0)) return x.b->refuse<refusals::norm_epsilon>(0, 0, x.b->place), x;
  return extend::apply<op::reciprocal>(extend::apply<op::sqrt>(x + epsilon));
}
/// (x - mean) / sqrt(variance + epsilon), with both over the axes of a mask.
constexpr term standardized(auto x, std::uint32_t mask, double epsilon) {
  auto const apart = x - extend::mean(x, mask, true);
  auto const variance = extend::mean(apart * apart, mask, true);
  return apart * detail::inverse_root(variance, epsilon);
}
struct mse_fn {
  static constexpr char const* name = "mse";
  using emits = operations<>;
  constexpr term operator()(auto prediction, auto target) const {
    term const apart = prediction - target;
    return extend::mean(extend::apply<op::square>(apart), extend::all_axes(apart), false);
  }
};
struct huber_fn {
  static constexpr char const* name = "huber";
  using emits = operations<>;
  double delta = 1;
  constexpr term operator()(auto prediction, auto target) const {
    if (!(delta >= 0)) return prediction.b->template refuse<refusals::huber_delta>(0, 0, prediction.b->place), prediction;
    term const apart = prediction - target, size = extend::apply<op::abs>(apart); // (a square has its second derivative at 0, too)
    return extend::select(size < delta, 0.5 * extend::apply<op::square>(apart), delta * (size - 0.5 * delta));
  }
};
struct hinge_fn {
  static constexpr char const* name = "hinge";
  using emits = operations<>;
  constexpr term operator()(auto score, auto target) const { return extend::apply<op::relu>(1 - score * target); }
};
struct kl_divergence_fn {
  static constexpr char const* name = "kl_divergence";
  using emits = operations<>;
  constexpr term operator()(auto p, auto q) const {
    // log p and p / q are not finite at p = 0 and p = q = 0. (A NaN in q stays.)
    term const absent = extend::apply<op::logical_and>(p == 0, q == q), some = extend::select(absent, extend::constant_like(p, 1), p);
    term const y = some * (extend::apply<op::log>(some) - extend::apply<op::log>(extend::select(absent, extend::constant_like(q, 1), q)));
    if (y.b->failed().why != nullptr) return y;
    if (y.rank() == 0) return y.b->template refuse<refusals::rows_needed>(1, 0, y.b->place), y;
    return extend::sum(y, 1u << (y.rank() - 1));
  }
};
struct soft_cross_entropy_fn {
  static constexpr char const* name = "soft_cross_entropy";
  using emits = operations<>;
  constexpr term operator()(auto logits, auto p) const {
    if (logits.rank() == 0) return logits.b->template refuse<refusals::rows_needed>(1, 0, logits.b->place), logits;
    term const log_q = extend::log_softmax(logits, logits.rank() - 1), finite = extend::apply<op::max>(log_q, -largest_of(log_q));
    term const product = p * extend::select(p == 0, finite, log_q); // (0 times infinity is no number)
    return product.b->failed().why != nullptr ? product : -extend::sum(product, 1u << (product.rank() - 1));
  }
};
struct smooth_labels_fn {
  static constexpr char const* name = "smooth_labels";
  using emits = operations<>;
  double weight = 0;
  constexpr term operator()(auto p) const {
    if (p.rank() == 0) return p.b->template refuse<refusals::rows_needed>(1, 0, p.b->place), p;
    return (1 - weight) * p + weight / extend::count_of(p, 1u << (p.rank() - 1), p.shape_id());
  }
};
struct layer_norm_fn {
  static constexpr char const* name = "layer_norm";
  using emits = operations<>;
  double epsilon = 1e-5;
  constexpr term operator()(auto x, auto scale, auto shift) const {
    if (x.rank() == 0) return x.b->template refuse<refusals::rows_needed>(1, 0, x.b->place), x;
    return standardized(x, 1u << (x.rank() - 1), epsilon) * scale + shift;
  }
};
struct batch_norm_fn {
  static constexpr char const* name = "batch_norm";
  using emits = operations<>;
  double epsilon = 1e-5;
  constexpr term operator()(auto x, auto scale, auto shift) const {
    if (x.rank() == 0) return x.b->template refuse<refusals::rows_needed>(1, 0, x.b->place), x;
    return standardized(x, (1u << (x.rank() - 1)) - 1, epsilon) * scale + shift;
  }
};
struct rms_norm_fn {
  static constexpr char const* name = "rms_norm";
  using emits = operations<>;
  double epsilon = 1e-5;
  constexpr term operator()(auto x, auto scale) const {
    if (x.rank() == 0) return x.b->template refuse<refusals::rows_needed>(1, 0, x.b->place), x;
    auto const square = extend::mean(x * x, 1u << (x.rank() - 1), true);
    return x * detail::inverse_root(square, epsilon) * scale;
  }
};
template <std::int64_t Groups> struct group_norm_fn {
  static constexpr char const* name = "group_norm";
  using emits = operations<>;
  double epsilon = 1e-5;
  constexpr term operator()(auto x, auto scale, auto shift) const {
    dimensions const from = x.dims();
    dimension const n = from.rank == 0 ? 0 : from.size[from.rank - 1];
    if (from.rank == 0 || n < 0 || n % Groups != 0) return x.b->template refuse<refusals::groups_divide>(Groups, n, x.b->place), x;
    if (from.rank == max_rank) return x.b->template refuse<refusals::rank_too_large>(max_rank + 1, max_rank, x.b->place), x;
    dimensions grouped = from;
    grouped.size[grouped.rank++] = n / Groups;
    grouped.size[from.rank - 1] = Groups;
    // over the axes between the first, the batch, and the groups; and over the elements of a group
    std::uint32_t mask = 1u << from.rank;
    for (int k = 1; k + 1 < from.rank; ++k) mask |= 1u << k;
    auto const y = standardized(op::reshape::of(x, x.b->shape(grouped)), mask, epsilon);
    return op::reshape::of(y, x.shape_id()) * scale + shift;
  }
};
template <bool Causal> struct attention_fn {
  static constexpr char const* name = Causal ? "causal_attention" : "attention";
  using emits = operations<>;
  constexpr term operator()(auto q, auto k, auto v, auto... mask) const {
    for (term const& x : {q, k, v})
      if (x.rank() != 2) return x.b->template refuse<refusals::attention_rank>(2, x.rank(), x.b->place), x;
    auto const width = extend::count_of(q, 2u, q.b->shape(dimensions{}));
    auto scores = extend::matmul(q, extend::transpose(k)) * extend::apply<op::reciprocal>(extend::apply<op::sqrt>(width));
    if (scores.b->failed().why != nullptr) return scores;
    if constexpr (Causal) {
      auto const seen = with_constants<triangle_kind<true>, 0>{}(extend::constant_like(scores, 1)) > 0;
      scores = extend::select(seen, scores, extend::constant_like(scores, -1e30));
    }
    ((scores = extend::select(mask, scores, extend::constant_like(scores, -1e30))), ...);
    return extend::matmul(extend::softmax(scores, 1), v);
  }
};

/// The gates input, forget, candidate and output, side by side.
struct lstm_gates_fn {
  static constexpr char const* name = "lstm_cell";
  using emits = operations<>;
  constexpr term operator()(auto x, auto h, auto w, auto u, auto bias) const { return extend::matmul(x, w) + extend::matmul(h, u) + bias; }
};
struct lstm_memory_fn {
  static constexpr char const* name = "lstm_cell";
  using emits = operations<op::sigmoid, op::tanh>;
  constexpr term operator()(auto gates, auto c) const {
    auto const gate = [&](int k) { return extend::split(gates, gates.rank() - 1, 4, k); };
    return extend::apply<op::sigmoid>(gate(1)) * c + extend::apply<op::sigmoid>(gate(0)) * extend::apply<op::tanh>(gate(2));
  }
};
struct lstm_output_fn {
  static constexpr char const* name = "lstm_cell";
  using emits = operations<op::sigmoid, op::tanh>;
  constexpr term operator()(auto gates, auto c) const {
    return extend::apply<op::sigmoid>(extend::split(gates, gates.rank() - 1, 4, 3)) * extend::apply<op::tanh>(c);
  }
};
/// The gates reset, update and candidate, side by side, of the inputs or of the state.
struct gru_gates_fn {
  static constexpr char const* name = "gru_cell";
  using emits = operations<>;
  constexpr term operator()(auto x, auto w, auto bias) const { return extend::matmul(x, w) + bias; }
};
struct gru_state_fn {
  static constexpr char const* name = "gru_cell";
  using emits = operations<op::sigmoid, op::tanh>;
  constexpr term operator()(auto of_inputs, auto of_state, auto h) const {
    auto const gate = [](term gates, int k) { return extend::split(gates, gates.rank() - 1, 3, k); };
    term const update = extend::apply<op::sigmoid>(gate(of_inputs, 1) + gate(of_state, 1));
    term const reset = extend::apply<op::sigmoid>(gate(of_inputs, 0) + gate(of_state, 0));
    return (1 - update) * extend::apply<op::tanh>(gate(of_inputs, 2) + reset * gate(of_state, 2)) + update * h;
  }
};

template <element To, bool OfOutputs, bool Normal, extent... E> struct initial_weights_fn {
  static constexpr char const* name = "initial weights";
  static constexpr element gives = To;
  constexpr term operator()(term key) const {
    return extend::initial_weights(key, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}), To, {OfOutputs, Normal});
  }
};
template <element To, extent... E> struct orthogonal_fn {
  static constexpr char const* name = "orthogonal";
  static constexpr element gives = To;
  using uses = linalg_operations;
  constexpr term operator()(term key) const {
    return extend::orthogonal(key, key.b->shape(dimensions{sizeof...(E), {key.b->size(E)...}}), To);
  }
};

} // namespace detail

// ---- losses

/// The mean of the squared differences.
template <detail::operand A, detail::operand B>
constexpr auto mse(A const& prediction, B const& target, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::mse_fn{}, prediction, target);
}
/// Elementwise half the squared difference, but linear where it is beyond delta.
template <detail::operand A, detail::operand B>
constexpr auto huber(A const& prediction, B const& target, double delta = 1, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::huber_fn{delta}, prediction, target);
}
/// Elementwise max(0, 1 - score target), for targets -1 and 1.
template <detail::operand A, detail::operand B>
constexpr auto hinge(A const& score, B const& target, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::hinge_fn{}, score, target);
}
/// The sum of p log(p / q) over the last axis. Elements with p = 0 add 0, and their adjoints are 0, as in JAX.
template <detail::operand P, detail::operand Q>
constexpr auto kl_divergence(P const& p, Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::kl_divergence_fn{}, p, q);
}
/// The cross-entropy of a distribution against the softmax of logits, over the last axis. Elements with probability 0 add 0, also
/// where a logit is -infinity.
template <detail::operand Z, detail::operand P>
constexpr auto soft_cross_entropy(Z const& logits, P const& distribution, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::soft_cross_entropy_fn{}, logits, distribution);
}
/// A distribution over the last axis, mixed with the uniform one of that weight.
template <detail::operand P>
constexpr auto smooth_labels(P const& distribution, double weight, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::smooth_labels_fn{weight}, distribution);
}

// ---- layers

/// Rows of the last axis with mean 0 and variance 1, then scaled and shifted.
template <detail::operand X, detail::operand S, detail::operand B>
constexpr auto layer_norm(X const& x, S const& scale, B const& shift, double epsilon = 1e-5,
                          std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::layer_norm_fn{epsilon}, x, scale, shift);
}
/// Columns, over all axes but the last, with mean 0 and variance 1, then scaled and shifted.
template <detail::operand X, detail::operand S, detail::operand B>
constexpr auto batch_norm(X const& x, S const& scale, B const& shift, double epsilon = 1e-5,
                          std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::batch_norm_fn{epsilon}, x, scale, shift);
}
/// Groups of the last axis, of each element of the first, with mean 0 and variance 1, then scaled and shifted.
template <std::int64_t Groups, detail::operand X, detail::operand S, detail::operand B>
  requires(Groups > 0)
constexpr auto group_norm(X const& x, S const& scale, B const& shift, double epsilon = 1e-5,
                          std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::group_norm_fn<Groups>{epsilon}, x, scale, shift);
}
/// Rows of the last axis divided by the root of their mean square, then scaled.
template <detail::operand X, detail::operand S>
constexpr auto rms_norm(X const& x, S const& scale, double epsilon = 1e-5,
                        std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::rms_norm_fn{epsilon}, x, scale);
}
/// Rows of a table, by integers.
template <detail::operand X, detail::operand I>
constexpr auto embedding(X const& table, I const& indices, std::source_location where = std::source_location::current()) {
  return cotangent::gather(table, indices, where);
}
/// softmax(q k' / sqrt(d)) v, for queries [t, d], keys [s, d] and values [s, e].
template <detail::operand Q, detail::operand K, detail::operand V>
constexpr auto attention(Q const& q, K const& k, V const& v, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::attention_fn<false>{}, q, k, v);
}
/// Attention in which row i sees the rows j where `mask[i, j]`, a bool, is true; the mask broadcasts. A row that sees none sees all.
template <detail::operand Q, detail::operand K, detail::operand V, detail::operand M>
constexpr auto attention(Q const& q, K const& k, V const& v, M const& mask, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::attention_fn<false>{}, q, k, v, mask);
}
/// Attention in which row i sees the rows up to i.
template <detail::operand Q, detail::operand K, detail::operand V>
constexpr auto causal_attention(Q const& q, K const& k, V const& v, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::attention_fn<true>{}, q, k, v);
}
/// A step of a long short-term memory: inputs x [b, n], state h and c [b, m], weights [n, 4 m] and [m, 4 m], bias [4 m], for
/// the gates input, forget, candidate, output. Returns the new h and c.
template <detail::operand X, detail::operand H, detail::operand C, detail::operand W, detail::operand U, detail::operand B>
constexpr auto lstm_cell(X const& x, H const& h, C const& c, W const& w, U const& u, B const& bias,
                         std::source_location where = std::source_location::current()) {
  auto const gates = detail::lift(where, detail::lstm_gates_fn{}, x, h, w, u, bias);
  auto const next = detail::lift(where, detail::lstm_memory_fn{}, gates, c);
  return std::pair(detail::lift(where, detail::lstm_output_fn{}, gates, next), next);
}
/// A step of a gated recurrent unit: inputs x [b, n], state h [b, m], weights [n, 3 m] and [m, 3 m], biases [3 m], for the gates
/// reset, update, candidate. Returns the new h.
template <detail::operand X, detail::operand H, detail::operand W, detail::operand U, detail::operand B, detail::operand D>
constexpr auto gru_cell(X const& x, H const& h, W const& w, U const& u, B const& bias, D const& state_bias,
                        std::source_location where = std::source_location::current()) {
  auto const of_inputs = detail::lift(where, detail::gru_gates_fn{}, x, w, bias);
  auto const of_state = detail::lift(where, detail::gru_gates_fn{}, h, u, state_bias);
  return detail::lift(where, detail::gru_state_fn{}, of_inputs, of_state, h);
}

// ---- initial weights

/// Uniform weights of variance 2 / (inputs + outputs): `ct::xavier_uniform<float, 64, 32>(key)` (JAX: glorot_uniform).
template <element_type T, extent... E, detail::operand K>
constexpr auto xavier_uniform(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::initial_weights_fn<element_of<T>, true, false, E...>{}, key);
}
/// Normal weights of variance 2 / (inputs + outputs).
template <element_type T, extent... E, detail::operand K>
constexpr auto xavier_normal(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::initial_weights_fn<element_of<T>, true, true, E...>{}, key);
}
/// Uniform weights of variance 2 / inputs, for layers with relu.
template <element_type T, extent... E, detail::operand K>
constexpr auto he_uniform(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::initial_weights_fn<element_of<T>, false, false, E...>{}, key);
}
/// Normal weights of variance 2 / inputs.
template <element_type T, extent... E, detail::operand K>
constexpr auto he_normal(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::initial_weights_fn<element_of<T>, false, true, E...>{}, key);
}
/// Matrices with orthonormal columns, or rows if there are more columns: `ct::orthogonal<float, 64, 32>(key)`.
template <element_type T, extent... E, detail::operand K>
constexpr auto orthogonal(K const& key, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::orthogonal_fn<element_of<T>, E...>{}, key);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
