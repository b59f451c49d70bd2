// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_ACTIVATIONS_HPP
#define COTANGENT_OPS_FUNCTIONS_ACTIVATIONS_HPP

#include <cotangent/ops/functions/composed.hpp>
#include <cotangent/ops/movement.hpp>

#include <source_location>

// Further activations of neural networks, as formulas over other operations: their derivatives follow.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(glu_extent, divides, two, extent_of_axis, "cotangent: glu: the extent of the axis must be an even number")
// clang-format on
} // namespace refusals

namespace detail {

struct selu_fn {
  static constexpr char const* name = "selu";
  using emits = operations<op::expm1>;
  constexpr term operator()(auto x) const {
    return 1.0507009873554804934193349852946 * elu_fn{}(x, extend::constant_like(x, 1.6732632423543772848170429916717));
  }
};
struct celu_fn {
  static constexpr char const* name = "celu";
  using emits = operations<op::expm1>;
  constexpr term operator()(auto x, auto a) const {
    auto const above = x > 0;
    return extend::select(above, x, a * extend::apply<op::expm1>(extend::select(above, extend::constant_like(x, 0), x) / a));
  }
};
struct relu6_fn {
  static constexpr char const* name = "relu6";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return between(x, 0, 6); }
  static constexpr term between(auto x, double low, double high) {
    return clamp_fn{}(x, extend::constant_like(x, low), extend::constant_like(x, high));
  }
};
struct hard_tanh_fn {
  static constexpr char const* name = "hard_tanh";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    auto const one = extend::constant_like(x, 1);
    return extend::select(x > 1, one, extend::select(x < -1, -one, x));
  }
};
struct hard_sigmoid_fn {
  static constexpr char const* name = "hard_sigmoid";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return relu6_fn{}(x + 3) / 6; }
};
struct hard_silu_fn {
  static constexpr char const* name = "hard_silu";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return x * hard_sigmoid_fn{}(x); }
};
struct mish_fn {
  static constexpr char const* name = "mish";
  using emits = operations<op::tanh, op::softplus>;
  constexpr term operator()(auto x) const { return x * extend::apply<op::tanh>(extend::apply<op::softplus>(x)); }
};
struct squareplus_fn {
  static constexpr char const* name = "squareplus";
  using emits = operations<>;
  constexpr term operator()(auto x, auto b) const {
    // (x + root) / 2 without its cancellation below 0, where it is b / 2 (root - x)
    auto const below = x < 0;
    auto const sum = extend::apply<op::sqrt>(x * x + b) + extend::select(below, -x, x);
    return 0.5 * extend::select(below, b / sum, sum);
  }
};
struct sparse_plus_fn {
  static constexpr char const* name = "sparse_plus";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    auto const zero = extend::constant_like(x, 0), inside = x + 1;
    return extend::select(x <= -1, zero, extend::select(x >= 1, x, 0.25 * (inside * inside)));
  }
};
struct sparse_sigmoid_fn {
  static constexpr char const* name = "sparse_sigmoid";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return 0.5 * relu6_fn::between(x + 1, 0, 2); }
};
template <int Axis> struct glu_fn {
  static constexpr char const* name = "glu";
  using emits = operations<op::sigmoid>;
  constexpr term operator()(auto x) const {
    int const axis = axis_of(x, Axis);
    if (x.b->failed().why != nullptr) return x;
    dimension const n = x.dims().size[axis];
    if (n < 0 || n % 2 != 0) return x.b->template refuse<refusals::glu_extent>(2, n, x.b->place), x;
    return extend::slice(x, axis, 0, n / 2) * extend::apply<op::sigmoid>(extend::slice(x, axis, n / 2, n / 2));
  }
};

} // namespace detail

/// elu with a = 1.67326..., times 1.05070...: layers of it keep mean 0 and variance 1.
template <detail::operand X> constexpr auto selu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::selu_fn{}, x);
}
/// x, or a (exp(x / a) - 1) below 0: its derivative is continuous.
template <detail::operand X, detail::operand A>
constexpr auto celu(X const& x, A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::celu_fn{}, x, a);
}
template <detail::operand X> constexpr auto celu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::celu_fn{}, x, 1);
}
/// x, but at least 0 and at most 6. Adjoint at 0 and 6: dy / 2.
template <detail::operand X> constexpr auto relu6(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::relu6_fn{}, x);
}
/// x, but at least -1 and at most 1. Adjoint at -1 and 1: dy.
template <detail::operand X> constexpr auto hard_tanh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::hard_tanh_fn{}, x);
}
/// relu6(x + 3) / 6.
template <detail::operand X> constexpr auto hard_sigmoid(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::hard_sigmoid_fn{}, x);
}
/// x relu6(x + 3) / 6, also called hard swish.
template <detail::operand X> constexpr auto hard_silu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::hard_silu_fn{}, x);
}
/// x tanh(softplus(x)).
template <detail::operand X> constexpr auto mish(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::mish_fn{}, x);
}
/// (x + sqrt(x x + b)) / 2, with b = 4 if left out.
template <detail::operand X, detail::operand B>
constexpr auto squareplus(X const& x, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::squareplus_fn{}, x, b);
}
template <detail::operand X> constexpr auto squareplus(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::squareplus_fn{}, x, 4);
}
/// (x + 1)^2 / 4 between -1 and 1, 0 below and x above.
template <detail::operand X> constexpr auto sparse_plus(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::sparse_plus_fn{}, x);
}
/// (x + 1) / 2 between -1 and 1, 0 below and 1 above. Adjoint at -1 and 1: dy / 4.
template <detail::operand X> constexpr auto sparse_sigmoid(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::sparse_sigmoid_fn{}, x);
}
/// The first half of the last axis, or of another one, times the sigmoid of the second.
template <int Axis = -1, detail::operand X>
constexpr auto glu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::glu_fn<Axis>{}, x);
}

} // namespace cotangent

#endif
