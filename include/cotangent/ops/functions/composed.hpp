// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_COMPOSED_HPP
#define COTANGENT_OPS_FUNCTIONS_COMPOSED_HPP

#include <cotangent/ops/along.hpp>
#include <cotangent/ops/functions/special.hpp>

#include <cstdint>
#include <limits>
#include <source_location>
#include <type_traits>

// Elementwise functions that are formulas over other operations: their derivatives follow. (The formulas are templates, so
// that a file pays for those that it calls.)

namespace cotangent {
namespace detail {

/// The largest finite number of the element type.
constexpr term largest_of(auto const& x) {
  if (!is_floating(x.type())) {
    std::int64_t const bits = x.type() == element::int64 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max();
    return detail::push_as(info_of<op::constant>(), *x.b, {}, &bits, 1, x.type(), x.shape_id());
  }
  return extend::constant_like(x, x.type() == element::float32 ? static_cast<double>(std::numeric_limits<float>::max())
                                                               : std::numeric_limits<double>::max());
}

struct ceil_fn {
  static constexpr char const* name = "ceil";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    return -extend::apply<op::floor>(-x);
  }
};
struct trunc_fn {
  static constexpr char const* name = "trunc";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    return extend::select(x < 0, -extend::apply<op::floor>(-x), extend::apply<op::floor>(x));
  }
};
struct isnan_fn {
  static constexpr char const* name = "isnan";
  using emits = operations<>;
  static constexpr element gives = element::boolean;
  constexpr term operator()(auto x) const {
    return x != x;
  }
};
struct isfinite_fn {
  static constexpr char const* name = "isfinite";
  using emits = operations<>;
  static constexpr element gives = element::boolean;
  constexpr term operator()(auto x) const {
    return extend::apply<op::abs>(x) <= detail::largest_of(x);
  }
};
struct isinf_fn {
  static constexpr char const* name = "isinf";
  using emits = operations<>;
  static constexpr element gives = element::boolean;
  constexpr term operator()(auto x) const {
    return extend::apply<op::abs>(x) > detail::largest_of(x);
  }
};
struct rsqrt_fn {
  static constexpr char const* name = "rsqrt";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    return extend::apply<op::reciprocal>(extend::apply<op::sqrt>(x));
  }
};
struct silu_fn {
  static constexpr char const* name = "silu";
  using emits = operations<op::sigmoid>;
  constexpr term operator()(auto x) const {
    return x * extend::apply<op::sigmoid>(x);
  }
};
struct gelu_tanh_fn {
  static constexpr char const* name = "gelu_tanh";
  using emits = operations<op::sigmoid>;
  constexpr term operator()(auto x) const {
    return x * extend::apply<op::sigmoid>(x * (1.5957691216057307117597842397375 + 0.071354816272600354872 * (x * x)));
  }
};
struct softsign_fn {
  static constexpr char const* name = "softsign";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    return x / (1 + extend::apply<op::abs>(x));
  }
};
struct log_sigmoid_fn {
  static constexpr char const* name = "log_sigmoid";
  using emits = operations<op::softplus>;
  constexpr term operator()(auto x) const {
    return -extend::apply<op::softplus>(-x);
  }
};
struct logit_fn {
  static constexpr char const* name = "logit";
  using emits = operations<op::log1p, op::atanh>;
  constexpr term operator()(auto x) const {
    // 2 x - 1 is exact from 1/4 on. (Both logarithms would cancel near 1/2.)
    auto const low = x < 0.25;
    auto const a = extend::select(low, x, extend::constant_like(x, 0.125)), b = extend::select(low, extend::constant_like(x, 0.5), x);
    return extend::select(low, extend::apply<op::log>(a) - extend::apply<op::log1p>(-a), 2 * extend::apply<op::atanh>(2 * b - 1));
  }
};
struct sinc_fn {
  static constexpr char const* name = "sinc";
  using emits = operations<op::sin, op::round>;
  constexpr term operator()(auto x) const {
    auto const z = 3.1415926535897932384626433832795 * x, w = z * z;
    auto const near = w < 1;
    // Near 0 a series, whose derivatives are as exact as its value.
    auto const u = extend::select(near, w, extend::constant_like(w, 0));
    auto series = 1 - (1. / 272) * u;
    for (double const factor : {1. / 210, 1. / 156, 1. / 110, 1. / 72, 1. / 42, 1. / 20, 1. / 6}) series = 1 - factor * u * series;
    // Elsewhere sin(pi x) is that of the distance to the nearest integer, exactly: at roots, too.
    auto const safe = extend::select(near, extend::constant_like(x, 1), x);
    auto const n = extend::stop_gradient(extend::apply<op::round>(safe)), half = 0.5 * n;
    auto const odd = extend::apply<op::floor>(half) != half;
    auto const sine = extend::apply<op::sin>(3.1415926535897932384626433832795 * (safe - n));
    return extend::select(near, series, extend::select(odd, -sine, sine) / (3.1415926535897932384626433832795 * safe));
  }
};
struct leaky_relu_fn {
  static constexpr char const* name = "leaky_relu";
  using emits = operations<>;
  constexpr term operator()(auto x, auto a) const {
    return extend::select(x < 0, a * x, x);
  }
};
struct elu_fn {
  static constexpr char const* name = "elu";
  using emits = operations<op::expm1>;
  constexpr term operator()(auto x, auto a) const {
    return extend::select(x > 0, x, a * extend::apply<op::expm1>(extend::select(x > 0, extend::constant_like(x, 0), x)));
  }
};
struct logaddexp_fn {
  static constexpr char const* name = "logaddexp";
  using emits = operations<op::softplus>;
  constexpr term operator()(auto x, auto y) const {
    // Smooth at x = y, where max and abs are not: selects keep all derivatives.
    auto const left = x >= y;
    auto const high = extend::select(left, x, y), low = extend::select(left, y, x);
    auto const infinite = high == low && extend::apply<op::abs>(high) > detail::largest_of(high); // high - low would be NaN
    return high + extend::apply<op::softplus>(low - extend::select(infinite, extend::constant_like(high, 0), high));
  }
};
struct floor_div_fn {
  static constexpr char const* name = "floor_div";
  using emits = operations<op::fmod>;
  constexpr term operator()(auto x, auto y) const {
    auto const rest = extend::apply<op::fmod>(x, y), quotient = (x - rest) / y;
    auto const below = extend::select((rest < 0 && y > 0) || (rest > 0 && y < 0), quotient - 1, quotient);
    auto const n = extend::apply<op::floor>(below); // below + 0.5 would not be exact for large quotients
    return extend::select(below - n > 0.5, n + 1, n);
  }
};
/// Of integers.
struct integer_floor_div_fn {
  static constexpr char const* name = "floor_div";
  using emits = operations<op::quotient, op::remainder>;
  constexpr term operator()(auto x, auto y) const {
    auto const rest = extend::apply<op::remainder>(x, y), whole = extend::apply<op::quotient>(x, y);
    return extend::select((rest < 0 && y > 0) || (rest > 0 && y < 0), whole - 1, whole);
  }
};
struct clamp_fn {
  static constexpr char const* name = "clamp";
  using emits = operations<>;
  constexpr term operator()(auto x, auto low, auto high) const {
    return extend::apply<op::min>(extend::apply<op::max>(x, low), high);
  }
};
struct lerp_fn {
  static constexpr char const* name = "lerp";
  using emits = operations<>;
  constexpr term operator()(auto a, auto b, auto t) const {
    return (1 - t) * a + t * b;
  }
};
struct linspace_kind {
  static constexpr char const* name = "linspace";
  using emits = operations<>;
  static constexpr term of(number_list const& count, auto first, auto last) {
    builder& b = *first.b;
    dimension const n = count[0];
    term const i = extend::convert(extend::iota(b, element::int64, n), first.type());
    if (n <= 1) return first + 0 * i;
    auto const end = static_cast<double>(n - 1); // (its product with a rounded reciprocal may be below 1)
    term const part = extend::select(i == end, extend::constant_like(i, 1), i * (1. / end));
    return (1 - part) * first + part * last;
  }
};
struct fma_fn {
  static constexpr char const* name = "fma";
  using emits = operations<>;
  constexpr term operator()(auto a, auto b, auto c) const {
    return extend::apply<op::multiply_add>(a, b, c);
  }
};

} // namespace detail

/// The smallest integer that is at least x; adjoint 0.
template <detail::operand X>
constexpr auto ceil(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::ceil_fn{}, x);
}
/// The integer part of x; adjoint 0.
template <detail::operand X>
constexpr auto trunc(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::trunc_fn{}, x);
}
/// The nearest integer, and the even one of two; adjoint 0.
template <detail::operand X>
constexpr auto round(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::round>(where, x);
}
/// True for NaN.
template <detail::operand X>
constexpr auto isnan(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::isnan_fn{}, x);
}
/// True for numbers that are neither infinite nor NaN.
template <detail::operand X>
constexpr auto isfinite(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::isfinite_fn{}, x);
}
/// True for infinity and -infinity.
template <detail::operand X>
constexpr auto isinf(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::isinf_fn{}, x);
}
/// 1 / sqrt(x), 1.5 ulp. Adjoint: -dy y / (2 x). Edges: infinite at 0, NaN below.
template <detail::operand X>
constexpr auto rsqrt(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::rsqrt_fn{}, x);
}
/// x sigmoid(x), also called swish.
template <detail::operand X>
constexpr auto silu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::silu_fn{}, x);
}
/// The approximation of gelu by tanh, x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x x x))) / 2, right in both tails.
template <detail::operand X>
constexpr auto gelu_tanh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gelu_tanh_fn{}, x);
}
/// x / (1 + |x|).
template <detail::operand X>
constexpr auto softsign(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::softsign_fn{}, x);
}
/// log(sigmoid(x)), without overflow.
template <detail::operand X>
constexpr auto log_sigmoid(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::log_sigmoid_fn{}, x);
}
/// log(x / (1 - x)), the inverse of sigmoid. Edges: infinite at 0 and 1, NaN outside.
template <detail::operand X>
constexpr auto logit(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::logit_fn{}, x);
}
/// sin(pi x) / (pi x), and 1 at 0.
template <detail::operand X>
constexpr auto sinc(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::sinc_fn{}, x);
}
/// x, or a x below 0. Adjoint at 0: dy.
template <detail::operand X, detail::operand A>
constexpr auto leaky_relu(X const& x, A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::leaky_relu_fn{}, x, a);
}
template <detail::operand X> constexpr auto leaky_relu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::leaky_relu_fn{}, x, 0.01);
}
/// x, or a (exp(x) - 1) below 0.
template <detail::operand X, detail::operand A>
constexpr auto elu(X const& x, A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::elu_fn{}, x, a);
}
template <detail::operand X> constexpr auto elu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::elu_fn{}, x, 1);
}
/// log(exp(x) + exp(y)), without overflow. Adjoints: dy exp(x - result), dy exp(y - result).
template <detail::operand X, detail::operand Y>
constexpr auto logaddexp(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::logaddexp_fn{}, x, y);
}
/// The largest integer that is at most x / y, exactly, with the limits of fmod, also of integers; adjoint 0.
template <detail::operand X, detail::operand Y>
constexpr auto floor_div(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  using fn = std::conditional_t<detail::divides_integers<X, Y>, detail::integer_floor_div_fn, detail::floor_div_fn>;
  return detail::lift(where, fn{}, x, y);
}
/// x, but at least low and at most high (NumPy: clip). Adjoint: dy to the selected operand; ties share equally.
/// Elements: any numbers.
template <detail::operand X, detail::operand L, detail::operand H>
constexpr auto clamp(X const& x, L const& low, H const& high, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::clamp_fn{}, x, low, high);
}
/// The point between a (t = 0) and b (t = 1), exact at both.
template <detail::operand A, detail::operand B, detail::operand T>
constexpr auto lerp(A const& a, B const& b, T const& t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::lerp_fn{}, a, b, t);
}
/// a b + c, rounded once if the target has FMA.
template <detail::operand A, detail::operand B, detail::operand C>
constexpr auto fma(A const& a, B const& b, C const& c, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::fma_fn{}, a, b, c);
}

} // namespace cotangent

#endif
