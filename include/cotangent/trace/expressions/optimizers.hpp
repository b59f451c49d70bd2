// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_OPTIMIZERS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_OPTIMIZERS_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/expressions/operators.hpp>
#include <cotangent/trace/expressions/reductions.hpp>

#include <type_traits>

// Optimizers: formulas that update a parameter from its gradient, over expressions of any kind. Traced
// functions call them for one tensor; `ct::dynamic::graph::minimize` calls them for all parameters and keeps
// their states.
//
// An optimizer of your own has the same members. `states`: the number of state tensors like the parameter,
// initially zero; `slots()`: how many of them its settings need; `counts`: whether `update` takes the number
// of the step, from 1; `learning_rate`; and `update(parameter, gradient, states..., [step,] learning_rate)`,
// which assigns to the parameter and to the states. `settings_fit()` may be missing: then all settings fit.

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL_OF(parameter_of_half, allowed, "cotangent: update: a parameter of half precision must be updated as float, ct::convert<float>(p); graph::minimize and trainers do so")
COTANGENT_REFUSAL_OF(optimizer_settings, allowed, "cotangent: optimizer: momentum, alpha, beta1 and beta2 must be at least 0 and less than 1, epsilon at least 0, and all settings finite; nesterov needs a momentum")
} // namespace refusals

namespace detail {

/// 1 - beta^step: the bias correction of a moment that started from zero. In double, since it subtracts
/// nearly equal numbers, and a scalar.
template <class T, class Step> constexpr auto part_there(double beta, Step const& step) {
  return convert<T>(1.0 - pow(beta, convert<double>(step)));
}

/// Not a constant: in a traced function, the compiler names it.
[[noreturn]] inline void momentum_needs_a_velocity() {
#if COTANGENT_EXCEPTIONS
  throw graph_error(message("cotangent: sgd: with momentum, update takes the velocity: update(p, gradient, velocity)"));
#else
  __builtin_trap();
#endif
}

[[noreturn]] inline void settings_out_of_range() {
#if COTANGENT_EXCEPTIONS
  throw graph_error(message(refusals::optimizer_settings::text));
#else
  __builtin_trap();
#endif
}
constexpr bool is_finite(double x) noexcept { return x - x == 0; }
/// True for weights of a mean over past steps: without the last one it would not be a mean.
constexpr bool is_decay(double x) noexcept { return x >= 0 && x < 1; }
/// The settings of an optimizer with means of the gradient and of its square.
template <class Optimizer> constexpr bool moments_fit(Optimizer const& o) noexcept {
  return detail::is_decay(o.beta1) && detail::is_decay(o.beta2) && o.epsilon >= 0 && detail::is_finite(o.learning_rate) &&
         detail::is_finite(o.weight_decay);
}

/// True if a parameter can be updated; else a report.
template <class X> constexpr bool is_updatable() {
  if constexpr (is_half_expr<X>) return refusals::parameter_of_half::report<X>(), false;
  else return true;
}
/// A gradient of half precision as float.
template <class X, class G> constexpr X gradient_for(G const& gradient) {
  if constexpr (is_half_expr<G>) return convert<typename X::value_type>(gradient);
  else return X(gradient);
}

/// The gradient with weight decay added.
template <class X, class G> constexpr X decayed(double weight_decay, G const& gradient, X const& p) {
  X const d = detail::gradient_for<X>(gradient);
  if (weight_decay != 0) return d + weight_decay * p;
  return d;
}

/// Adam's direction m / (sqrt(v) + epsilon), with both moments bias-corrected.
template <class X, class Step>
constexpr X adam_direction(double beta1, double beta2, double epsilon, X const& gradient, X& m, X& v,
                           Step const& step) {
  using T = typename X::value_type;
  m = beta1 * m + (1 - beta1) * gradient;
  v = beta2 * v + (1 - beta2) * square(gradient);
  return m * (1.0 / detail::part_there<T>(beta1, step)) /
         (sqrt(v) * (1.0 / sqrt(detail::part_there<T>(beta2, step))) + epsilon);
}

} // namespace detail

/// Gradient descent, optionally with momentum.
///
/// Value: d = gradient + weight_decay * p; velocity = momentum * velocity + (1 - dampening) * d;
///   p -= learning_rate * velocity, and with `nesterov` p -= learning_rate * (d + momentum * velocity).
///   Without momentum p -= learning_rate * d.
/// Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep
/// learning" (2013), sections 1 and 2, with the learning rate outside of the velocity. The first step is
/// dampened like all others.
/// Checked: tests/runtime/optimizers.cpp
struct sgd {
  double learning_rate = 0.01, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;

  static constexpr int states = 1;
  static constexpr bool counts = false;
  constexpr int slots() const noexcept { return momentum == 0 ? 0 : 1; }
  constexpr bool settings_fit() const noexcept {
    return detail::is_decay(momentum) && (momentum != 0 || !nesterov) && detail::is_finite(learning_rate) && detail::is_finite(dampening) &&
           detail::is_finite(weight_decay);
  }

  template <class X, class G, class Rate>
  constexpr void update(X& p, G const& gradient, X& velocity, Rate const& by) const {
    if constexpr (detail::is_updatable<X>()) {
      if (!settings_fit()) detail::settings_out_of_range();
      X d = detail::decayed<X>(weight_decay, gradient, p);
      if (momentum != 0) {
        velocity = momentum * velocity + (1 - dampening) * d;
        d = nesterov ? d + momentum * velocity : velocity;
      }
      p = p - by * d;
    }
  }
  template <class X, class G> constexpr void update(X& p, G const& gradient, X& velocity) const {
    update(p, gradient, velocity, learning_rate);
  }
  /// Without momentum. Refuses settings with momentum.
  template <class X, class G> constexpr void update(X& p, G const& gradient) const {
    if (momentum != 0) detail::momentum_needs_a_velocity();
    X unused = p;
    sgd{.learning_rate = learning_rate, .weight_decay = weight_decay}.update(p, gradient, unused, learning_rate);
  }
};

/// Adam: steps of similar size in every coordinate, from means and mean squares of past gradients.
///
/// Value: d = gradient + weight_decay * p; m = beta1 * m + (1 - beta1) * d; v = beta2 * v + (1 - beta2) * d^2;
///   p -= learning_rate * m' / (sqrt(v') + epsilon), where m' = m / (1 - beta1^step), v' = v / (1 - beta2^step).
/// Source: Kingma, Ba, "Adam: A Method for Stochastic Optimization" (2015), algorithm 1.
/// Checked: tests/runtime/optimizers.cpp
struct adam {
  double learning_rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;

  static constexpr int states = 2;
  static constexpr bool counts = true;
  constexpr int slots() const noexcept { return 2; }
  constexpr bool settings_fit() const noexcept {
    return detail::moments_fit(*this);
  }

  template <class X, class G, class Step, class Rate>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step, Rate const& by) const {
    if constexpr (detail::is_updatable<X>()) {
      if (!settings_fit()) detail::settings_out_of_range();
      X d = detail::decayed<X>(weight_decay, gradient, p);
      p = p - by * detail::adam_direction(beta1, beta2, epsilon, d, m, v, step);
    }
  }
  template <class X, class G, class Step>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step) const {
    update(p, gradient, m, v, step, learning_rate);
  }
};

/// Adam with weight decay that bypasses the moments.
///
/// Value: as `adam` without decay, then p -= learning_rate * weight_decay * p, with the p before the step.
/// Source: Loshchilov, Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2, with the learning
/// rate as schedule multiplier.
/// Checked: tests/runtime/optimizers.cpp
struct adamw {
  double learning_rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;

  static constexpr int states = 2;
  static constexpr bool counts = true;
  constexpr int slots() const noexcept { return 2; }
  constexpr bool settings_fit() const noexcept {
    return detail::moments_fit(*this);
  }

  template <class X, class G, class Step, class Rate>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step, Rate const& by) const {
    if constexpr (detail::is_updatable<X>()) {
      if (!settings_fit()) detail::settings_out_of_range();
      X const d = detail::decayed<X>(
          weight_decay, detail::adam_direction<X>(beta1, beta2, epsilon, detail::gradient_for<X>(gradient), m, v, step), p);
      p = p - by * d;
    }
  }
  template <class X, class G, class Step>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step) const {
    update(p, gradient, m, v, step, learning_rate);
  }
};

/// Gradients divided by their root mean square.
///
/// Value: d = gradient + weight_decay * p; v = alpha * v + (1 - alpha) * d^2; s = d / (sqrt(v) + epsilon); with momentum
///   velocity = momentum * velocity + s, p -= learning_rate * velocity; else p -= learning_rate * s.
/// Source: Tieleman, Hinton, "Lecture 6.5: RMSProp" (2012); momentum as in Graves, "Generating Sequences With
/// Recurrent Neural Networks" (2013), equations 38 to 45, without subtracting the mean.
/// Checked: tests/runtime/optimizers.cpp
struct rmsprop {
  double learning_rate = 0.01, alpha = 0.99, epsilon = 1e-8, momentum = 0, weight_decay = 0;

  static constexpr int states = 2;
  static constexpr bool counts = false;
  constexpr int slots() const noexcept { return momentum == 0 ? 1 : 2; }
  constexpr bool settings_fit() const noexcept {
    return detail::is_decay(alpha) && detail::is_decay(momentum) && epsilon >= 0 &&
           detail::is_finite(learning_rate) && detail::is_finite(weight_decay);
  }

  template <class X, class G, class Rate>
  constexpr void update(X& p, G const& gradient, X& v, X& velocity, Rate const& by) const {
    if constexpr (detail::is_updatable<X>()) {
      if (!settings_fit()) detail::settings_out_of_range();
      X d = detail::decayed<X>(weight_decay, gradient, p);
      v = alpha * v + (1 - alpha) * square(d);
      d = d / (sqrt(v) + epsilon);
      if (momentum != 0) d = velocity = momentum * velocity + d;
      p = p - by * d;
    }
  }
  template <class X, class G> constexpr void update(X& p, G const& gradient, X& v, X& velocity) const {
    update(p, gradient, v, velocity, learning_rate);
  }
};

/// LAMB: Adam whose step in each tensor has the norm of the tensor times the learning rate, for large
/// batches.
///
/// Value: d = Adam's direction + weight_decay * p; p -= learning_rate * (|p| / |d|) * d, with Euclidean
/// norms; if one of them is 0, their ratio counts as 1.
/// Source: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes" (2020),
/// algorithm 2, with the identity for phi.
/// Checked: tests/runtime/optimizers.cpp
struct lamb {
  double learning_rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0;

  static constexpr int states = 2;
  static constexpr bool counts = true;
  constexpr int slots() const noexcept { return 2; }
  constexpr bool settings_fit() const noexcept {
    return detail::moments_fit(*this);
  }

  template <class X, class G, class Step, class Rate>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step, Rate const& by) const {
    if constexpr (detail::is_updatable<X>()) {
      if (!settings_fit()) detail::settings_out_of_range();
      X const d = detail::decayed<X>(
          weight_decay, detail::adam_direction<X>(beta1, beta2, epsilon, detail::gradient_for<X>(gradient), m, v, step), p);
      auto const length = sqrt(sum(square(p))), of_step = sqrt(sum(square(d)));
      auto const ratio = select(length > 0 && of_step > 0, length / of_step, 1.0);
      p = p - by * ratio * d;
    }
  }
  template <class X, class G, class Step>
  constexpr void update(X& p, G const& gradient, X& m, X& v, Step const& step) const {
    update(p, gradient, m, v, step, learning_rate);
  }
};

} // namespace cotangent

#endif
