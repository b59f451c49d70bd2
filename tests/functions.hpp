// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_FUNCTIONS_HPP
#define COTANGENT_TESTS_FUNCTIONS_HPP

#include "formula.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>
#include <cotangent/images.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/memory_budget.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/numeric.hpp>
#include <cotangent/random.hpp>
#include <cotangent/sparse.hpp>
#include <cotangent/special.hpp>
#include <cotangent/tables.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

// Every function that a user can write on expressions, beside the formula it stands for: tests/witness.hpp holds values,
// gradients and tangents against them. A test of the house compares these lists with the headers: a function that is
// missing here is noticed.

namespace functions {

namespace ct = cotangent;
using namespace formula;

/// `traced` takes the expressions of a group, `formula` the same numbers: one of each, or arrays.
template <class Traced, class Formula> struct function {
  char const* name;
  Traced traced;
  Formula formula;
  bool smooth = true; // central differences see the derivative
};
template <class Traced, class Formula, class... Smooth>
function(char const*, Traced, Formula, Smooth...) -> function<Traced, Formula>;

// ---- elementwise: x and y are any numbers, p positive ones; the formula is of one number each

inline constexpr auto cube = [](auto z) { return ct::sum(z * z * z); };

inline constexpr std::tuple one_operand{
    function{"neg", [](auto x, auto, auto) { return ct::neg(x); }, [](dual x, dual, dual) { return -x; }},
    function{"operator- of one", [](auto x, auto, auto) { return -x; }, [](dual x, dual, dual) { return -x; }},
    function{"operator+ of one", [](auto x, auto, auto) { return +x * 2; },
             [](dual x, dual, dual) { return x * 2.; }},
    function{"abs", [](auto x, auto, auto) { return ct::abs(x); }, [](dual x, dual, dual) { return abs(x); }},
    function{"sign", [](auto x, auto, auto) { return ct::sign(x); },
             [](dual x, dual, dual) { return without_derivative(x.v < 0 ? -1 : 1); }},
    function{"floor", [](auto x, auto, auto) { return ct::floor(x); },
             [](dual x, dual, dual) { return without_derivative(std::floor(x.v)); }},
    function{"square", [](auto x, auto, auto) { return ct::square(x); }, [](dual x, dual, dual) { return x * x; }},
    function{"reciprocal", [](auto x, auto, auto) { return ct::reciprocal(x); },
             [](dual x, dual, dual) { return 1. / x; }},
    function{"sqrt", [](auto, auto, auto p) { return ct::sqrt(p); }, [](dual, dual, dual p) { return sqrt(p); }},
    function{"exp", [](auto x, auto, auto) { return ct::exp(x); }, [](dual x, dual, dual) { return exp(x); }},
    function{"expm1", [](auto x, auto, auto) { return ct::expm1(x); }, [](dual x, dual, dual) { return expm1(x); }},
    function{"log", [](auto, auto, auto p) { return ct::log(p); }, [](dual, dual, dual p) { return log(p); }},
    function{"log1p", [](auto, auto, auto p) { return ct::log1p(p); }, [](dual, dual, dual p) { return log1p(p); }},
    function{"sin", [](auto x, auto, auto) { return ct::sin(x); }, [](dual x, dual, dual) { return sin(x); }},
    function{"cos", [](auto x, auto, auto) { return ct::cos(x); }, [](dual x, dual, dual) { return cos(x); }},
    function{"atan", [](auto x, auto, auto) { return ct::atan(x); },
             [](dual x, dual, dual) { return dual(std::atan(x.v), x.d / (1. + x.v * x.v)); }},
    function{"sinh", [](auto x, auto, auto) { return ct::sinh(x); },
             [](dual x, dual, dual) { return dual(std::sinh(x.v), x.d * std::cosh(x.v)); }},
    function{"cosh", [](auto x, auto, auto) { return ct::cosh(x); },
             [](dual x, dual, dual) { return dual(std::cosh(x.v), x.d * std::sinh(x.v)); }},
    function{"asinh", [](auto x, auto, auto) { return ct::asinh(x); },
             [](dual x, dual, dual) { return dual(std::asinh(x.v), x.d / std::sqrt(1. + x.v * x.v)); }},
    function{"tanh", [](auto x, auto, auto) { return ct::tanh(x); }, [](dual x, dual, dual) { return tanh(x); }},
    function{"sigmoid", [](auto x, auto, auto) { return ct::sigmoid(x); },
             [](dual x, dual, dual) { return 1. / (1. + exp(-x)); }},
    function{"softplus", [](auto x, auto, auto) { return ct::softplus(x); },
             [](dual x, dual, dual) { return log(1. + exp(x)); }},
    function{"relu", [](auto x, auto, auto) { return ct::relu(x); },
             [](dual x, dual, dual) { return x.v < 0 ? dual() : x; }},
    function{"erf", [](auto x, auto, auto) { return ct::erf(x); }, [](dual x, dual, dual) { return erf(x); }},
    function{"normal_cdf", [](auto x, auto, auto) { return ct::normal_cdf(x); },
             [](dual x, dual, dual) { return 0.5 * (1. + erf(std::sqrt(0.5) * x)); }},
    function{"gelu", [](auto x, auto, auto) { return ct::gelu(x); },
             [](dual x, dual, dual) { return 0.5 * x * (1. + erf(std::sqrt(0.5) * x)); }},
    function{"stop_gradient", [](auto x, auto, auto) { return ct::stop_gradient(x) * x; },
             [](dual x, dual, dual) { return x.v * x; }, false},
    function{"convert", [](auto x, auto, auto) { return ct::convert<float>(ct::convert<double>(x) * 0.5); },
             [](dual x, dual, dual) { return x * 0.5; }, false},
    function{"convert to integers",
             [](auto x, auto, auto) { return ct::convert<int>(x * 2) + ct::convert<int>(x > 0); },
             [](dual x, dual, dual) { return without_derivative(std::trunc(x.v * 2) + (x.v > 0 ? 1 : 0)); }},
    function{"a literal on the right", [](auto x, auto, auto) { return ((x + 1) * 3 - 0.25) / 2; },
             [](dual x, dual, dual) { return ((x + 1.) * 3. - 0.25) / 2.; }},
    function{"a literal on the left", [](auto x, auto, auto) { return 1 + 0.5 * (2 - 3 / x); },
             [](dual x, dual, dual) { return 1. + 0.5 * (2. - 3. / x); }},
    function{"powers of literals",
             [](auto, auto, auto p) { return ct::pow(p, 3) + ct::pow(p, 0.5) + ct::pow(p, -1) + ct::pow(2, p); },
             [](dual, dual, dual p) { return p * p * p + sqrt(p) + 1. / p + exp(std::log(2.) * p); }},
};

inline constexpr std::tuple two_operands{
    function{"operator+", [](auto x, auto y, auto) { return x + y; }, [](dual x, dual y, dual) { return x + y; }},
    function{"operator-", [](auto x, auto y, auto) { return x - y; }, [](dual x, dual y, dual) { return x - y; }},
    function{"operator*", [](auto x, auto y, auto) { return x * y; }, [](dual x, dual y, dual) { return x * y; }},
    function{"operator/", [](auto x, auto y, auto) { return x / y; }, [](dual x, dual y, dual) { return x / y; }},
    function{"operator* and operator+", [](auto x, auto y, auto p) { return x * y + p; },
             [](dual x, dual y, dual p) { return x * y + p; }},
    function{"operator+= and its kin",
             [](auto x, auto y, auto p) {
               auto z = x + y + p;
               z += y;
               z *= x;
               z -= 0.5;
               z /= p;
               return z;
             },
             [](dual x, dual y, dual p) { return ((x + y + p + y) * x - 0.5) / p; }},
    function{"pow", [](auto, auto y, auto p) { return ct::pow(p, y); },
             [](dual, dual y, dual p) { return pow(p, y); }},
    function{"binary_cross_entropy_with_logits",
             [](auto x, auto y, auto) { return ct::binary_cross_entropy_with_logits(x, y); },
             [](dual x, dual y, dual) { return y * log(1. + exp(-x)) + (1. - y) * log(1. + exp(x)); }},
    function{"min", [](auto x, auto y, auto) { return ct::min(x, y); },
             [](dual x, dual y, dual) { return x < y ? x : y; }},
    function{"max", [](auto x, auto y, auto) { return ct::max(x, y); },
             [](dual x, dual y, dual) { return x < y ? y : x; }},
    function{"operator<", [](auto x, auto y, auto) { return x < y; },
             [](dual x, dual y, dual) { return truth(x.v < y.v); }},
    function{"operator>", [](auto x, auto y, auto) { return x > y; },
             [](dual x, dual y, dual) { return truth(x.v > y.v); }},
    function{"operator<=", [](auto x, auto y, auto) { return x <= y; },
             [](dual x, dual y, dual) { return truth(x.v <= y.v); }},
    function{"operator>=", [](auto x, auto y, auto) { return x >= y; },
             [](dual x, dual y, dual) { return truth(x.v >= y.v); }},
    function{"operator==", [](auto x, auto y, auto) { return ct::floor(x) == ct::floor(y); },
             [](dual x, dual y, dual) { return truth(std::floor(x.v) == std::floor(y.v)); }},
    function{"operator!=", [](auto x, auto y, auto) { return ct::floor(x) != ct::floor(y); },
             [](dual x, dual y, dual) { return truth(std::floor(x.v) != std::floor(y.v)); }},
    function{"operator&&", [](auto x, auto y, auto) { return x > 0 && y > 0; },
             [](dual x, dual y, dual) { return truth(x.v > 0 && y.v > 0); }},
    function{"operator||", [](auto x, auto y, auto) { return x > 0 || y > 0; },
             [](dual x, dual y, dual) { return truth(x.v > 0 || y.v > 0); }},
    function{"operator!", [](auto x, auto y, auto) { return !(x < y); },
             [](dual x, dual y, dual) { return truth(!(x.v < y.v)); }},
    function{"select", [](auto x, auto y, auto p) { return ct::select(x > y, x * p, y * y); },
             [](dual x, dual y, dual p) { return x.v > y.v ? x * p : y * y; }},
};

inline constexpr std::tuple special_functions{
    function{"tan", [](auto x, auto, auto) { return ct::tan(0.4 * x); },
             [](dual x, dual, dual) { return dual(std::tan(0.4 * x.v), 0.4 * x.d * (1. + std::tan(0.4 * x.v) * std::tan(0.4 * x.v))); }},
    function{"asin", [](auto x, auto, auto) { return ct::asin(ct::tanh(x)); },
             [](dual x, dual, dual) { return dual(std::asin(std::tanh(x.v)), x.d / std::cosh(x.v)); }},
    function{"acos", [](auto x, auto, auto) { return ct::acos(ct::tanh(x)); },
             [](dual x, dual, dual) { return dual(std::acos(std::tanh(x.v)), -x.d / std::cosh(x.v)); }},
    function{"acosh", [](auto, auto, auto p) { return ct::acosh(p + 1.25); },
             [](dual, dual, dual p) { return dual(std::acosh(p.v + 1.25), p.d / std::sqrt((p.v + 1.25) * (p.v + 1.25) - 1.)); }},
    function{"atanh", [](auto x, auto, auto) { return ct::atanh(0.5 * ct::tanh(x)); },
             [](dual x, dual, dual) { return dual(std::atanh(0.5 * tanh(x).v), 0.5 * tanh(x).d / (1. - 0.25 * tanh(x).v * tanh(x).v)); }},
    function{"exp2", [](auto x, auto, auto) { return ct::exp2(x); },
             [](dual x, dual, dual) { return exp(std::log(2.) * x); }},
    function{"log2", [](auto, auto, auto p) { return ct::log2(p); },
             [](dual, dual, dual p) { return log(p) / std::log(2.); }},
    function{"log10", [](auto, auto, auto p) { return ct::log10(p); },
             [](dual, dual, dual p) { return log(p) / std::log(10.); }},
    function{"cbrt", [](auto, auto, auto p) { return ct::cbrt(p) + ct::cbrt(-p) * 2; },
             [](dual, dual, dual p) { return dual(-std::cbrt(p.v), -p.d / (3. * std::cbrt(p.v) * std::cbrt(p.v))); }},
    function{"erfc", [](auto x, auto, auto) { return ct::erfc(x); },
             [](dual x, dual, dual) { return 1. - erf(x); }},
    function{"erfinv", [](auto x, auto, auto) { return ct::erfinv(ct::erf(0.5 * x)); },
             [](dual x, dual, dual) { return 0.5 * x; }},
    function{"normal_log_cdf", [](auto x, auto, auto) { return ct::normal_log_cdf(x); },
             [](dual x, dual, dual) { return log(0.5 * (1. + erf(std::sqrt(0.5) * x))); }},
    function{"lgamma", [](auto, auto, auto p) { return ct::lgamma(p); },
             [](dual, dual, dual p) { return dual(std::lgamma(p.v), p.d * polygamma(0, p.v)); }},
    function{"digamma", [](auto, auto, auto p) { return ct::digamma(p); },
             [](dual, dual, dual p) { return dual(polygamma(0, p.v), p.d * polygamma(1, p.v)); }},
    function{"trigamma", [](auto, auto, auto p) { return ct::trigamma(p + 0.5); },
             [](dual, dual, dual p) { return dual(polygamma(1, p.v + 0.5), p.d * polygamma(2, p.v + 0.5)); }},
    function{"polygamma", [](auto, auto, auto p) { return ct::polygamma<0>(p + 1) + ct::polygamma<2>(p + 1) * 0.5; },
             [](dual, dual, dual p) {
               return dual(polygamma(0, p.v + 1.) + 0.5 * polygamma(2, p.v + 1.), p.d * (polygamma(1, p.v + 1.) + 0.5 * polygamma(3, p.v + 1.)));
             }, false},
    function{"atan2", [](auto x, auto, auto p) { return ct::atan2(p, x) + ct::atan2(x, p); },
             [](dual x, dual, dual p) { return dual(std::atan2(p.v, x.v) + std::atan2(x.v, p.v), 0.); }},
    function{"atan2 of points", [](auto x, auto y, auto p) { return x * ct::atan2(y, p); },
             [](dual x, dual y, dual p) { return x * dual(std::atan2(y.v, p.v), (p.v * y.d - y.v * p.d) / (p.v * p.v + y.v * y.v)); }},
    function{"hypot", [](auto, auto y, auto p) { return ct::hypot(p, y); },
             [](dual, dual y, dual p) { return sqrt(p * p + y * y); }},
    function{"xlogy", [](auto x, auto, auto p) { return ct::xlogy(x, p); },
             [](dual x, dual, dual p) { return x * log(p); }},
};

inline constexpr std::tuple gamma_functions{
    function{"gammainc", [](auto, auto y, auto p) { return ct::gammainc(p + 0.25, y * y + 0.125); },
             [](dual, dual y, dual p) { return lower_gamma(p + 0.25, y * y + 0.125); }},
    function{"gammaincc", [](auto, auto y, auto p) { return ct::gammaincc(p, 2 * y * y + 1.25) + ct::gammaincc(p * 0.125, y * y * 0.25 + 0.01); },
             [](dual, dual y, dual p) { return 2. - lower_gamma(p, 2. * y * y + 1.25) - lower_gamma(0.125 * p, 0.25 * y * y + 0.01); }},
    function{"gammainc of large shapes", [](auto x, auto, auto p) { return ct::gammainc(20 * p + 25, 21 * p + 25 + 2 * x); },
             [](dual x, dual, dual p) { return lower_gamma(20. * p + 25., 21. * p + 25. + 2. * x); }},
    function{"gammaincinv", [](auto x, auto y, auto p) {
               auto const a = p + 0.5, q = ct::sigmoid(x), of = y * y + 0.5;
               return ct::gammaincinv(a, ct::gammainc(a, of)) + ct::gammainc(a, ct::gammaincinv(a, q));
             },
             [](dual x, dual y, dual) { return y * y + 0.5 + 1. / (1. + exp(-x)); }},
    function{"normal_quantile", [](auto x, auto, auto) { return ct::normal_quantile(ct::normal_cdf(x)); },
             [](dual x, dual, dual) { return x; }},
    function{"betaln, beta", [](auto, auto y, auto p) { return ct::betaln(p, y * y + 0.5) + ct::beta(p + 0.5, 1); },
             [](dual, dual y, dual p) {
               auto const log_gamma = [](dual a) { return dual(std::lgamma(a.v), a.d * polygamma(0, a.v)); };
               dual const b = y * y + 0.5;
               return log_gamma(p) + log_gamma(b) - log_gamma(p + b) + 1. / (p + 0.5);
             }},
    function{"multigammaln", [](auto, auto, auto p) { return ct::multigammaln<3>(p + 1.5) + ct::multigammaln<1>(p); },
             [](dual, dual, dual p) {
               auto const log_gamma = [](dual a) { return dual(std::lgamma(a.v), a.d * polygamma(0, a.v)); };
               return 1.5 * std::log(3.14159265358979323846) + log_gamma(p + 1.5) + log_gamma(p + 1.) + log_gamma(p + 0.5) + log_gamma(p);
             }},
    function{"entr, xlog1py, log1mexp", [](auto x, auto, auto p) { return ct::entr(p) + ct::xlog1py(x, p) + ct::xlog1py(x, -0.25 * ct::sigmoid(x)) + ct::log1mexp(p); },
             [](dual x, dual, dual p) { return x * log(1. + p) - p * log(p) + x * log(1. - 0.25 / (1. + exp(-x))) + log(1. - exp(-p)); }},
};

inline constexpr std::tuple composed_functions{
    function{"ceil", [](auto x, auto, auto) { return ct::ceil(x); },
             [](dual x, dual, dual) { return without_derivative(std::ceil(x.v)); }},
    function{"trunc", [](auto x, auto, auto) { return ct::trunc(2 * x); },
             [](dual x, dual, dual) { return without_derivative(std::trunc(2. * x.v)); }},
    function{"round", [](auto x, auto, auto) { return ct::round(2 * x); },
             [](dual x, dual, dual) { return without_derivative(std::nearbyint(2. * x.v)); }},
    function{"isnan and its kin", [](auto x, auto, auto) { return !ct::isnan(x) && ct::isfinite(x) && !ct::isinf(x); },
             [](dual x, dual, dual) { return truth(x.v == x.v); }},
    function{"rsqrt", [](auto, auto, auto p) { return ct::rsqrt(p); },
             [](dual, dual, dual p) { return 1. / sqrt(p); }},
    function{"silu", [](auto x, auto, auto) { return ct::silu(x); },
             [](dual x, dual, dual) { return x / (1. + exp(-x)); }},
    function{"gelu_tanh", [](auto x, auto, auto) { return ct::gelu_tanh(x); },
             [](dual x, dual, dual) { return 0.5 * x * (1. + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }},
    function{"softsign", [](auto x, auto, auto) { return ct::softsign(x); },
             [](dual x, dual, dual) { return x / (1. + abs(x)); }},
    function{"log_sigmoid", [](auto x, auto, auto) { return ct::log_sigmoid(x); },
             [](dual x, dual, dual) { return -log(1. + exp(-x)); }},
    function{"logit", [](auto x, auto, auto) { return ct::logit(ct::sigmoid(x)); },
             [](dual x, dual, dual) { return x; }},
    function{"sinc", [](auto x, auto, auto) { return ct::sinc(x) + ct::sinc(0.1 * x); },
             [](dual x, dual, dual) { return sin(3.14159265358979323846 * x) / (3.14159265358979323846 * x) + sin(0.314159265358979323846 * x) / (0.314159265358979323846 * x); }},
    function{"leaky_relu", [](auto x, auto, auto) { return ct::leaky_relu(x) + ct::leaky_relu(x, 0.25); },
             [](dual x, dual, dual) { return x.v < 0 ? 0.26 * x : 2. * x; }},
    function{"elu", [](auto x, auto, auto) { return ct::elu(x) + ct::elu(x, 0.5); },
             [](dual x, dual, dual) { return x.v > 0 ? 2. * x : 1.5 * expm1(x); }},
    function{"copysign", [](auto x, auto y, auto) { return ct::copysign(x, y); },
             [](dual x, dual y, dual) { return x.v * y.v < 0 ? -x : x; }},
    function{"logaddexp", [](auto x, auto y, auto) { return ct::logaddexp(x, y); },
             [](dual x, dual y, dual) { return log(exp(x) + exp(y)); }},
    function{"fmod", [](auto x, auto, auto p) { return ct::fmod(x, p); },
             [](dual x, dual, dual p) { return dual(std::fmod(x.v, p.v), x.d - std::trunc(x.v / p.v) * p.d); }},
    function{"floor_div", [](auto x, auto, auto p) { return ct::floor_div(x, p); },
             [](dual x, dual, dual p) { return without_derivative(std::floor(x.v / p.v)); }},
    function{"clamp", [](auto x, auto y, auto) { return ct::clamp(x, -0.5, y * y); },
             [](dual x, dual y, dual) { return x.v < -0.5 ? (y.v * y.v < -0.5 ? y * y : dual(-0.5)) : y.v * y.v < x.v ? y * y : x; }},
    function{"lerp", [](auto x, auto y, auto p) { return ct::lerp(x, y, p); },
             [](dual x, dual y, dual p) { return x + p * (y - x); }},
    function{"fma", [](auto x, auto y, auto p) { return ct::fma(x, y, p); },
             [](dual x, dual y, dual p) { return x * y + p; }},
};
// (Tables of their own: g++ 12 fails inside itself, with SSE2, in one nest of all of these.)
inline constexpr std::tuple smooth_activations{
    function{"selu, celu", [](auto x, auto, auto) { return ct::selu(x) + ct::celu(x) + ct::celu(x, 0.5); },
             [](dual x, dual, dual) {
               dual const selu = 1.05070098735548049342 * (x.v > 0 ? x : 1.67326324235437728482 * expm1(x));
               return selu + (x.v > 0 ? 2. * x : expm1(x) + 0.5 * expm1(2. * x));
             }},
    function{"mish, squareplus", [](auto x, auto, auto p) { return ct::mish(x) + ct::squareplus(x) + ct::squareplus(x, p); },
             [](dual x, dual, dual p) {
               return x * tanh(log(1. + exp(x))) + 0.5 * (x + sqrt(x * x + 4.)) + 0.5 * (x + sqrt(x * x + p));
             }},
};
inline constexpr std::tuple bounded_activations{
    function{"relu6, hard_tanh, hard_sigmoid, hard_silu, sparse_sigmoid",
             [](auto x, auto, auto) { return ct::relu6(5.9 * x) + ct::hard_tanh(1.07 * x) + ct::hard_sigmoid(2.9 * x) + ct::hard_silu(2.9 * x) + ct::sparse_sigmoid(1.07 * x); },
             [](dual x, dual, dual) {
               auto const between = [](dual a, double low, double high) { return a.v < low ? dual(low) : a.v > high ? dual(high) : a; };
               dual const gate = between(2.9 * x + 3., 0, 6) / 6.;
               return between(5.9 * x, 0, 6) + between(1.07 * x, -1, 1) + gate + 2.9 * x * gate + 0.5 * between(1.07 * x + 1., 0, 2);
             }},
};
inline constexpr std::tuple sparse_activations{
    function{"sparse_plus", [](auto x, auto, auto) { return ct::sparse_plus(1.07 * x); },
             [](dual x, dual, dual) { return 1.07 * x.v <= -1 ? dual() : 1.07 * x.v >= 1 ? 1.07 * x : 0.25 * (1.07 * x + 1.) * (1.07 * x + 1.); }},
};
inline constexpr std::tuple remainders{
    function{"degrees, radians, nan_to_num",
             [](auto x, auto, auto) { return ct::radians(x * x) * ct::degrees(x) + ct::nan_to_num(x * x); },
             [](dual x, dual, dual) { return x * x * x + x * x; }},
    function{"mod", [](auto x, auto, auto p) { return ct::mod(x, p) + ct::mod(x, -p); },
             [](dual x, dual, dual p) {
               return dual(2 * x.v - std::floor(x.v / p.v) * p.v + std::floor(-x.v / p.v) * p.v,
                           2 * x.d - std::floor(x.v / p.v) * p.d + std::floor(-x.v / p.v) * p.d);
             }},
};

// ---- transformations, of a scalar function and within one

inline constexpr std::tuple transformations{
    function{"grad", [](auto x, auto, auto) { return ct::grad(cube)(x); }, [](dual x, dual, dual) { return 3. * x * x; }},
    function{"grad of grad",
             [](auto x, auto, auto p) {
               return ct::grad([&](auto z) { return ct::sum(p * ct::grad(cube)(z)); })(x);
             },
             [](dual x, dual, dual p) { return 6. * x * p; }},
    function{"value_and_grad",
             [](auto x, auto y, auto p) {
               auto const f = [](auto a, auto b, auto c) { return ct::sum(a * b * c); };
               auto const g = ct::value_and_grad<0, 2>(f)(x, y, p).second;
               return std::get<0>(g) + std::get<1>(g) + 0 * x;
             },
             [](dual x, dual y, dual p) { return y * p + x * y; }},
    function{"vjp",
             [](auto x, auto y, auto p) {
               auto const f = [](auto a) { return ct::sin(a); };
               return ct::vjp(f)(x, x * y * p).second;
             },
             [](dual x, dual y, dual p) { return cos(x) * x * y * p; }},
    function{"jvp",
             [](auto x, auto y, auto) {
               auto const f = [](auto a, auto b) { return a * ct::exp(b); };
               return ct::jvp<0, 1>(f)(x, y, y, x).second;
             },
             [](dual x, dual y, dual) { return y * exp(y) + x * exp(y) * x; }},
    function{"hvp",
             [](auto x, auto y, auto p) {
               auto const f = [](auto a, auto b) { return ct::sum(a * a * ct::exp(b)); };
               auto const h = ct::hvp<0, 1>(f)(x, y, p, x);
               return std::get<0>(h) + std::get<1>(h);
             },
             [](dual x, dual y, dual p) { return (2. * p + 2. * x * x + 2. * x * p + x * x * x) * exp(y); }},
    function{"custom_vjp",
             [](auto x, auto y, auto) {
               auto const f = ct::custom_vjp([](auto a, auto b) { return ct::sin(a) * b; },
                                             [](auto a, auto b, auto, auto dz) { return std::tuple(ct::cos(a) * b * dz, ct::sin(a) * dz); });
               return f(x, y * y);
             },
             [](dual x, dual y, dual) { return sin(x) * y * y; }},
    function{"custom_jvp",
             [](auto x, auto y, auto) {
               auto const f = ct::custom_jvp([](auto a, auto b) { return ct::sin(a) * b; },
                                             [](auto a, auto b, auto da, auto db) { return ct::cos(a) * b * da + ct::sin(a) * db; });
               return f(x, y * y);
             },
             [](dual x, dual y, dual) { return sin(x) * y * y; }},
    function{"diagonal_hessian",
             [](auto x, auto y, auto) {
               auto const f = [](auto a, auto b) { return ct::sum(a * a * a * b) + ct::sum(a) * ct::sum(a); };
               return ct::diagonal_hessian(f)(x, y);
             },
             [](dual x, dual y, dual) { return 6. * x * y + 2.; }},
    function{"jacfwd",
             [](auto x, auto y, auto) {
               auto const f = [](auto a, auto b) { return a * a * ct::exp(b); };
               auto const j = ct::jacfwd<0, 1>(f)(ct::sum(x * 0) + 3., ct::sum(y * 0));
               return std::get<0>(j) * x + std::get<1>(j) * y;
             },
             [](dual x, dual y, dual) { return 6. * x + 9. * y; }},
    function{"jacrev",
             [](auto x, auto, auto p) {
               auto const f = [](auto a) { return std::pair(ct::sin(a), a * a * a); };
               auto const j = ct::jacrev(f)(ct::sum(p * 0) + 2.);
               return x * j.second + p * j.first * 0;
             },
             [](dual x, dual, dual) { return 12. * x; }},
    function{"jacobian",
             [](auto x, auto y, auto) {
               auto const f = [](auto a) { return a * ct::sum(a); };
               auto const a = ct::sum(x * 0) + ct::iota<typename decltype(x)::value_type, 2>();
               return x * ct::sum(ct::jacobian(f)(a)) + y * ct::jacobian(f)(a)(1, 0);
             },
             [](dual x, dual y, dual) { return 4. * x + y; }},
    function{"hessian",
             [](auto x, auto y, auto) {
               auto const f = [](auto a) { return ct::sum(a * a * a); };
               auto const a = ct::sum(y * 0) + ct::iota<typename decltype(x)::value_type, 3>();
               return x * ct::hessian(f)(a)(2, 2);
             },
             [](dual x, dual, dual) { return 12. * x; }},
    function{"vmap",
             [](auto x, auto y, auto) {
               auto const f = [](auto a, auto b) { return a * a * b; };
               auto const a = ct::sum(x * 0) + ct::iota<typename decltype(x)::value_type, 3>();
               return x * ct::sum(ct::vmap<0, ct::unmapped>(f)(a, ct::sum(y * 0) + 2));
             },
             [](dual x, dual, dual) { return 10. * x; }},
    function{"linearize", [](auto x, auto y, auto) { return ct::linearize([](auto z) { return z * z; })(x).second(y); },
             [](dual x, dual y, dual) { return 2. * x * y; }},
    function{"compiled", [](auto x, auto, auto) { return ct::compiled([](auto z) { return z * z; })(x); },
             [](dual x, dual, dual) { return x * x; }},
    function{"checkpoint",
             [](auto x, auto y, auto) {
               auto const f = [](auto z, auto w) { return ct::sin(ct::exp(z * w)) * w; };
               return ct::checkpoint(f)(x, y) * x;
             },
             [](dual x, dual y, dual) { return sin(exp(x * y)) * y * x; }},
    function{"checkpoint_sequence",
             [](auto x, auto y, auto) {
               auto const f = [](auto h, auto w) { return ct::sin(h * w); };
               auto const g = [](auto h) { return ct::exp(h); };
               auto const z = ct::checkpoint_sequence(f, {.segments = 2})(x, std::tuple(y, x, y));
               return ct::checkpoint_sequence(std::tuple(g, g), {.segments = 0, .recursive = true})(z);
             },
             [](dual x, dual y, dual) { return exp(exp(sin(sin(sin(x * y) * x) * y))); }},
    function{"memory_budget",
             [](auto x, auto, auto) { return ct::memory_budget<4096>([](auto z) { return z * z; })(x); },
             [](dual x, dual, dual) { return x * x; }},
    function{"mirror", [](auto x, auto, auto) { return ct::mirror<>([](auto z) { return z * z; })(x); },
             [](dual x, dual, dual) { return x * x; }},
    function{"debug_nans", [](auto x, auto, auto) { return ct::debug_nans([](auto z) { return z * z; })(x); },
             [](dual x, dual, dual) { return x * x; }},
    function{"exact", [](auto x, auto, auto) { return ct::exact([](auto z) { return z * z; })(x); },
             [](dual x, dual, dual) { return x * x; }},
};

// ---- loops and branches, whose formulas the compiler can evaluate

inline constexpr std::tuple control{
    function{"map", // (of rows of numbers; tests/static/map.cpp has its derivatives)
             [](auto x, auto y, auto p) {
               auto const weights = ct::map([](auto z) { return ct::sin(z) * z; }, ct::iota<double, 2>(0, 0) + 0 * ct::convert<double>(ct::sum(p)));
               return x * y + ct::sum(ct::convert<typename decltype(x)::value_type>(weights));
             },
             [](dual x, dual y, dual) { return x * y; }},
    function{"root", // (of numbers; tests/static/root.cpp has its derivatives)
             [](auto x, auto, auto p) {
               return x * ct::root([](auto a, auto b) { return a * a * a + a - b; }, ct::sum(0 * p) + 1, ct::sum(0 * p) + 10);
             },
             [](dual x, dual, dual) { return 2. * x; }},
    function{"fixed_point",
             [](auto x, auto y, auto p) {
               return ct::fixed_point([](auto z, auto a, auto b) { return z / 4 + a * b; }, p, x, y);
             },
             [](dual x, dual y, dual) { return 4. / 3. * x * y; }},
    function{"for_loop",
             [](auto x, auto y, auto p) {
               return ct::for_loop(3, [&](auto, auto s) { return s * x + ct::for_loop(2, [&](auto, auto t) { return t * y; }, p); },
                                   p);
             },
             [](dual x, dual y, dual p) {
               dual s = p;
               for (int i = 0; i < 3; ++i) s = s * x + p * y * y;
               return s;
             }},
    function{"scan",
             [](auto x, auto y, auto p) {
               auto const [last, rows] = ct::scan([&](auto s, auto row) { return std::pair(s * x + row, s * row); }, p,
                                                  ct::stack<0>(y, p));
               return last + ct::sum(rows);
             },
             [](dual x, dual y, dual p) { return (p * x + y) * x + p + p * y + (p * x + y) * p; }},
    function{"while_loop",
             [](auto x, auto y, auto p) {
               return ct::while_loop([](auto i, auto) { return i < 4; }, [&](auto, auto s) { return s * y + x; }, p);
             },
             [](dual x, dual y, dual p) {
               dual s = p;
               for (int i = 0; i < 4; ++i) s = s * y + x;
               return s;
             }},
    function{"case_of",
             [](auto x, auto y, auto p) {
               auto const f = [&](auto i, auto s) {
                 return ct::case_of(i, [&](auto z) { return z * x; }, [&](auto z) { return z * z + y; })(s);
               };
               return ct::for_loop(3, f, p);
             },
             [](dual x, dual y, dual p) { return p * x * p * x + y; }},
    function{"cond",
             [](auto x, auto y, auto p) {
               return ct::for_loop(2, [&](auto i, auto s) {
                 return ct::cond(i < 1, [&](auto z) { return z * x; }, [&](auto z) { return z - y; })(s);
               }, p);
             },
             [](dual x, dual y, dual p) { return p * x - y; }},
    function{"block_attention, block_causal_attention", // (tests/static/layers.cpp has their derivatives)
             [](auto x, auto y, auto p) {
               auto const q = ct::stack<0>(ct::stack<0>(x, y), ct::stack<0>(y, p), ct::stack<0>(p, x));
               return ct::sum(ct::block_attention<2>(q, q, q) - ct::attention(q, q, q)) + ct::sum(ct::block_causal_attention<2>(q, q, q)) -
                      ct::sum(ct::causal_attention(q, q, q)) + x;
             },
             [](dual x, dual, dual) { return x; }},
};

// ---- along axes: x is an array of three axes; formulas are of arrays from here on

/// A reduction over every choice of axes, with the axes kept and without.
#define COTANGENT_REDUCTION(NAME, FORMULA)                                                                             \
  function{#NAME ", all axes", [](auto x) { return ct::NAME(x); },                                                     \
           [](grid const& x) { return reduced(x, {0, 1, 2}, false, FORMULA); }},                                       \
      function{#NAME ", axis 0", [](auto x) { return ct::NAME(x, ct::axes<0>); },                                      \
               [](grid const& x) { return reduced(x, {0}, false, FORMULA); }},                                         \
      function{#NAME ", axis 1", [](auto x) { return ct::NAME(x, ct::axes<1>); },                                      \
               [](grid const& x) { return reduced(x, {1}, false, FORMULA); }},                                         \
      function{#NAME ", axis 2", [](auto x) { return ct::NAME(x, ct::axes<-1>); },                                     \
               [](grid const& x) { return reduced(x, {2}, false, FORMULA); }},                                         \
      function{#NAME ", axes 0 and 1", [](auto x) { return ct::NAME(x, ct::axes<1, 0>); },                             \
               [](grid const& x) { return reduced(x, {0, 1}, false, FORMULA); }},                                      \
      function{#NAME ", axes 0 and 2, kept", [](auto x) { return ct::NAME(x, ct::axes<0, 2>, ct::keep); },             \
               [](grid const& x) { return reduced(x, {0, 2}, true, FORMULA); }},                                       \
      function{#NAME ", axes 1 and 2", [](auto x) { return ct::NAME(x, ct::axes<1, -1>); },                            \
               [](grid const& x) { return reduced(x, {1, 2}, false, FORMULA); }},                                      \
      function{#NAME ", axis 0, kept", [](auto x) { return ct::NAME(x, ct::axes<0>, ct::keep); },                      \
               [](grid const& x) { return reduced(x, {0}, true, FORMULA); }},                                          \
      function {                                                                                                       \
    #NAME ", all axes, kept", [](auto x) { return ct::NAME(x, ct::axes<0, 1, 2>, ct::keep); },                         \
        [](grid const& x) { return reduced(x, {0, 1, 2}, true, FORMULA); }                                             \
  }
inline constexpr std::tuple sums{COTANGENT_REDUCTION(sum, sum), COTANGENT_REDUCTION(mean, mean)};
inline constexpr std::tuple extremes{COTANGENT_REDUCTION(max, largest), COTANGENT_REDUCTION(min, smallest)};
/// The numbers combined up to each.
template <class Of> auto running(Of const& of) {
  return [of](numbers x) {
    for (std::size_t k = 1; k < x.size(); ++k) x[k] = of(x[k - 1], x[k]);
    return x;
  };
}
inline constexpr auto plus = [](dual a, dual b) { return a + b; };
inline constexpr auto times = [](dual a, dual b) { return a * b; };
inline constexpr std::tuple along_axes{
    COTANGENT_REDUCTION(logsumexp, logsumexp),
    function{"softmax", [](auto x) { return ct::softmax(x); }, [](grid const& x) { return along(x, 2, softmax); }},
    function{"softmax, axis 0", [](auto x) { return ct::softmax<0>(x); },
             [](grid const& x) { return along(x, 0, softmax); }},
    function{"log_softmax", [](auto x) { return ct::log_softmax(x); },
             [](grid const& x) { return along(x, 2, log_softmax); }},
    function{"log_softmax, axis 1", [](auto x) { return ct::log_softmax<1>(x); },
             [](grid const& x) { return along(x, 1, log_softmax); }},
    function{"argmax, axis 1", [](auto x) { return ct::argmax<1>(x); },
             [](grid const& x) { return reduced(x, {1}, false, position_of_largest); }},
    function{"cumsum", [](auto x) { return ct::cumsum(x); }, [](grid const& x) { return along(x, 2, running(plus)); }},
    function{"cumsum, axis 0", [](auto x) { return ct::cumsum<0>(x) * x; },
             [](grid const& x) {
               grid const y = along(x, 0, running(plus));
               return made(x.size, [&](place const& p) { return y(p) * x(p); });
             }},
    function{"cumprod, axis 1", [](auto x) { return ct::cumprod<1>(x); },
             [](grid const& x) { return along(x, 1, running(times)); }},
    function{"cumprod of zeros, axis 0", [](auto x) { return ct::cumprod(ct::max(x, 0), 0); },
             [](grid const& x) {
               return along(made(x.size, [&](place const& p) { return x(p).v < 0 ? dual() : x(p); }), 0, running(times));
             }},
};
/// Formulas over other reductions.
inline constexpr std::tuple statistics{
    COTANGENT_REDUCTION(prod, product),
    COTANGENT_REDUCTION(var, variance),
    function{"std", [](auto x) { return ct::std(x, ct::axes<1>) + ct::std(x, ct::axes<-2>, ct::keep)(ct::all, 0) + 0 * ct::std(x(0, ct::all, 0)); },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const& v) { return 2. * sqrt(variance(v)); });
             }},
    function{"norm", [](auto x) { return ct::norm(x, ct::axes<1>) * ct::norm<1>(x, ct::axes<1>) + ct::norm<3>(x, ct::axes<1>, ct::keep)(ct::all, 0); },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const& v) {
                 dual one, two, three;
                 for (dual const a : v) one = one + abs(a), two = two + a * a, three = three + abs(a) * abs(a) * abs(a);
                 return sqrt(two) * one + exp(1. / 3. * log(three));
               });
             }},
    function{"norm, largest", [](auto x) { return ct::norm<ct::max_norm>(x, ct::axes<1>); },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const& v) {
                 dual most;
                 for (dual const a : v) most = abs(a).v > most.v ? abs(a) : most;
                 return most;
               });
             }},
    function{"argmin", [](auto x) { return ct::argmin<1>(x) - ct::argmax<1>(-x); },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const&) { return dual(); });
             }},
    function{"axis_size", [](auto x) { return ct::sum(x, ct::axes<1>) / ct::convert<typename decltype(x)::value_type>(ct::axis_size<1>(x)); },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const& v) {
                 dual sum;
                 for (dual const a : v) sum = sum + a;
                 return sum / static_cast<double>(v.size());
               });
             }},
    function{"any, all, count",
             [](auto x) {
               auto const up = x > 0;
               return ct::select(ct::any(up, ct::axes<1>), 1, 0) + 2 * ct::select(ct::all(up, ct::axes<1>), 1, 0) +
                      4 * ct::convert<int>(ct::count(up, ct::axes<1>, ct::keep)(ct::all, 0));
             },
             [](grid const& x) {
               return reduced(x, {1}, false, [](numbers const& v) {
                 int n = 0;
                 for (dual const a : v) n += a.v > 0;
                 return dual((n > 0 ? 1 : 0) + (n == 3 ? 2 : 0) + 4 * n);
               });
             }},
};
#undef COTANGENT_REDUCTION

// ---- movement: x is [n, 4, m], y is [m], z is [n, 4]

inline constexpr std::tuple layouts{
    function{"squeeze, expand", [](auto x, auto, auto) { return ct::squeeze<1>(ct::expand<1>(x)) * ct::squeeze<-1>(ct::expand<-1>(x)); },
             [](grid const& x, grid const&, grid const&) {
               return made(x.size, [&](place const& p) { return x(p) * x(p); });
             }},
    function{"swap_axes", [](auto x, auto, auto) { return ct::swap_axes<0, 1>(x); },
             [](grid const& x, grid const&, grid const&) {
               return made({4, x.size[0], x.size[2]}, [&](place const& p) { return x({p[1], p[0], p[2]}); });
             }},
    function{"roll", [](auto x, auto, auto z) { return ct::roll<1, 1>(x) * ct::expand<2>(ct::roll<-3>(z)); },
             [](grid const& x, grid const&, grid const& z) {
               return made(x.size, [&](place const& p) { return x({p[0], (p[1] + 3) % 4, p[2]}) * z({p[0], (p[1] + 3) % 4}); });
             }},
    function{"reverse", [](auto x, auto, auto z) { return ct::reverse<1>(x) * ct::expand<2>(ct::reverse(z)); },
             [](grid const& x, grid const&, grid const& z) {
               return made(x.size, [&](place const& p) { return x({p[0], 3 - p[1], p[2]}) * z({p[0], 3 - p[1]}); });
             }},
    function{"reverse of axes with names", [](auto x, auto y, auto) { return ct::reverse(x) * ct::reverse(y) + ct::reverse<0>(x); },
             [](grid const& x, grid const& y, grid const&) {
               return made(x.size, [&](place const& p) {
                 auto const last = x.size[2] - 1 - p[2];
                 return x({p[0], p[1], last}) * y({last}) + x({x.size[0] - 1 - p[0], p[1], p[2]});
               });
             }},
    function{"roll of axes with names", [](auto x, auto y, auto) { return ct::roll<2>(x) * ct::roll<-1>(y) + ct::roll<1, 0>(x); },
             [](grid const& x, grid const& y, grid const&) {
               std::int64_t const n = x.size[0], m = x.size[2];
               return made(x.size, [&](place const& p) {
                 return x({p[0], p[1], (p[2] + 2 * m - 2) % m}) * y({(p[2] + 1) % m}) + x({(p[0] + n - 1) % n, p[1], p[2]});
               });
             }},
    function{"diag, diagonal, trace of axes with names",
             [](auto x, auto y, auto) { return ct::diagonal(ct::expand<3>(x) * y + ct::diag(y)) + ct::trace(ct::outer(y, y)); },
             [](grid const& x, grid const& y, grid const&) {
               dual s;
               for (dual const a : y.at) s = s + a * a;
               return made(x.size, [&](place const& p) { return x(p) * y({p[2]}) + y({p[2]}) + s; });
             }},
    function{"ranges that fall, and steps in axes with names",
             [](auto x, auto y, auto z) {
               auto const part = x(ct::all, ct::range<3, ct::end, -2>, ct::range<-1, ct::end, -1>) * ct::expand<2>(z(ct::all, ct::range<3, 0, -2>));
               auto const twice = ct::concatenate<0>(y, y);
               return part * twice(ct::range<0, ct::end, 2>) + twice(ct::range<-1, ct::end, -2>);
             },
             [](grid const& x, grid const& y, grid const& z) {
               std::int64_t const m = x.size[2];
               return made({x.size[0], 2, m}, [&](place const& p) {
                 return x({p[0], 3 - 2 * p[1], m - 1 - p[2]}) * z({p[0], 3 - 2 * p[1]}) * y({2 * p[2] % m}) + y({(2 * m - 1 - 2 * p[2]) % m});
               });
             }},
    function{"repeat", [](auto, auto y, auto z) { return ct::expand<0>(ct::repeat<3>(z)(0)) * ct::expand<1>(ct::repeat<2>(y)); },
             [](grid const&, grid const& y, grid const& z) {
               return made({2 * y.size[0], 12}, [&](place const& p) { return z({0, p[1] / 3}) * y({p[0] / 2}); });
             }},
    function{"tile", [](auto, auto y, auto z) { return ct::tile<2, 3>(z)(0) * ct::sum(ct::tile<2>(y)); },
             [](grid const&, grid const& y, grid const& z) {
               dual s;
               for (dual const a : y.at) s = s + 2. * a;
               return made({12}, [&](place const& p) { return z({0, p[0] % 4}) * s; });
             }},
    function{"sort, argsort, top_k", [](auto x, auto, auto z) {
               using T = typename decltype(z)::value_type;
               auto const order = ct::convert<std::int32_t>(ct::argsort(z));
               auto const [values, positions] = ct::top_k<2>(z);
               return ct::sum(ct::sort<1>(x)) + ct::sort(z)(ct::all, ct::range<0, 2>) * (1 + ct::convert<T>(order(ct::all, ct::range<0, 2>) == 3)) +
                      values * (1 + 2 * ct::convert<T>(positions == 1));
             },
             [](grid const& x, grid const&, grid const& z) {
               dual s;
               for (dual const a : x.at) s = s + a;
               return made({z.size[0], 2}, [&](place const& p) {
                 std::vector<std::int64_t> order{0, 1, 2, 3};
                 std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return z({p[0], a}).v < z({p[0], b}).v || (z({p[0], a}).v == z({p[0], b}).v && a < b); });
                 std::int64_t const low = order[static_cast<std::size_t>(p[1])];
                 std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return z({p[0], a}).v > z({p[0], b}).v || (z({p[0], a}).v == z({p[0], b}).v && a < b); });
                 std::int64_t const high = order[static_cast<std::size_t>(p[1])];
                 return s + z({p[0], low}) * (low == 3 ? 2. : 1.) + z({p[0], high}) * (high == 1 ? 3. : 1.);
               });
             }, false}, // steps of differences change the order
    function{"logcumsumexp", [](auto, auto, auto z) { return ct::logcumsumexp(z * 3); },
             [](grid const&, grid const&, grid const& z) {
               grid const three = made(z.size, [&](place const& p) { return 3. * z(p); });
               return along(three, 1, running([](dual a, dual b) { return log(exp(a) + exp(b)); }));
             }},
    function{"median, quantile", [](auto, auto, auto z) {
               return ct::median(z, ct::axes<1>) + 2 * ct::quantile(z, 0.25, ct::axes<1>) + ct::median(z, ct::axes<1>, ct::keep)(ct::all, 0) +
                      ct::quantile(z(0, ct::range<0, 3>), 1.0) + ct::median(z(0, ct::range<0, 3>));
             },
             [](grid const&, grid const&, grid const& z) {
               auto const sorted = [](numbers v) {
                 std::sort(v.begin(), v.end(), [](dual a, dual b) { return a.v < b.v; });
                 return v;
               };
               numbers const three = sorted({z({0, 0}), z({0, 1}), z({0, 2})});
               return reduced(z, {1}, false, [&](numbers const& v) {
                 numbers const s = sorted(v);
                 return s[1] + s[2] + 2. * (0.25 * s[0] + 0.75 * s[1]) + three[2] + three[1];
               });
             }, false},
    function{"pad_edge, pad_reflect", [](auto, auto, auto z) { return ct::pad_edge<0, 0, 2, 1>(z) * ct::pad_reflect<0, 0, 1, 2>(z); },
             [](grid const&, grid const&, grid const& z) {
               std::int64_t const edge[]{0, 0, 0, 1, 2, 3, 3}, mirror[]{1, 0, 1, 2, 3, 2, 1};
               return made({z.size[0], 7}, [&](place const& p) { return z({p[0], edge[p[1]]}) * z({p[0], mirror[p[1]]}); });
             }},
    function{"meshgrid", [](auto, auto y, auto z) {
               auto const [u, v] = ct::meshgrid(z(0), y);
               auto const [p, q, r] = ct::meshgrid<ct::indexing::ij>(y, z(0), z(0));
               return u * v + p(ct::all, ct::all, 0) * q(ct::all, ct::all, 1) * r(ct::all, 2);
             },
             [](grid const&, grid const& y, grid const& z) {
               return made({y.size[0], 4}, [&](place const& p) {
                 dual const uv = z({0, p[1]}) * y({p[0]});
                 return uv + uv * z({0, p[1]});
               });
             }},
    function{"tril, triu", [](auto, auto, auto z) { return ct::tril<1>(z) * 2 + ct::triu(z); },
             [](grid const&, grid const&, grid const& z) {
               return made(z.size, [&](place const& p) { return z(p) * ((p[1] - p[0] <= 1 ? 2. : 0.) + (p[1] >= p[0] ? 1. : 0.)); });
             }},
    function{"diagonal, diag, trace", [](auto, auto, auto z) {
               auto const square = ct::outer(z(0), z(0) * z(0));
               return ct::diagonal(square) + ct::diagonal(ct::diag(z(0))) * ct::trace(square);
             },
             [](grid const&, grid const&, grid const& z) {
               dual t;
               for (std::int64_t k = 0; k < 4; ++k) t = t + z({0, k}) * z({0, k}) * z({0, k});
               return made({4}, [&](place const& p) { return z({0, p[0]}) * z({0, p[0]}) * z({0, p[0]}) + z({0, p[0]}) * t; });
             }},
    function{"pad", [](auto, auto y, auto) { return ct::pad<1, 2>(y) + ct::pad<2, 1>(y * y, ct::sum(y)); },
             [](grid const&, grid const& y, grid const&) {
               std::int64_t const m = y.size[0];
               dual s;
               for (dual const a : y.at) s = s + a;
               return made({m + 3}, [&](place const& p) {
                 dual const a = p[0] >= 1 && p[0] <= m ? y({p[0] - 1}) : dual();
                 return a + (p[0] >= 2 && p[0] < m + 2 ? y({p[0] - 2}) * y({p[0] - 2}) : s);
               });
             }},
    function{"linspace", [](auto, auto y, auto) { return ct::linspace<5>(ct::sum(y), 3); },
             [](grid const&, grid const& y, grid const&) {
               dual s;
               for (dual const a : y.at) s = s + a;
               return made({5}, [&](place const& p) {
                 double const t = static_cast<double>(p[0]) / 4;
                 return (1 - t) * s + 3. * t;
               });
             }},
    function{"outer", [](auto, auto y, auto z) { return ct::outer(y, z(0)); },
             [](grid const&, grid const& y, grid const& z) {
               return made({y.size[0], 4}, [&](place const& p) { return y({p[0]}) * z({0, p[1]}); });
             }},
    function{"cross", [](auto, auto, auto z) { return ct::cross(z(ct::all, ct::range<0, 3>), z(ct::all, ct::range<1, 4>)); },
             [](grid const&, grid const&, grid const& z) {
               return made({z.size[0], 3}, [&](place const& p) {
                 auto const a = [&](std::int64_t k) { return z({p[0], k % 3}); };
                 auto const b = [&](std::int64_t k) { return z({p[0], 1 + k % 3}); };
                 return a(p[1] + 1) * b(p[1] + 2) - a(p[1] + 2) * b(p[1] + 1);
               });
             }},
};

inline constexpr std::tuple movements{
    function{"broadcast_to", [](auto, auto y, auto) { return ct::broadcast_to<2, 3, "m">(y); },
             [](grid const&, grid const& y, grid const&) {
               return made({2, 3, y.size[0]}, [&](place const& p) { return y({p[2]}); });
             }},
    function{"reshape", [](auto x, auto, auto) { return ct::reshape<2, "2*n*m">(x); },
             [](grid const& x, grid const&, grid const&) {
               return grid{{2, 2 * x.size[0] * x.size[2]}, x.at};
             }},
    function{"flatten", [](auto x, auto, auto) { return ct::flatten(x); },
             [](grid const& x, grid const&, grid const&) {
               return grid{{count(x.size)}, x.at};
             }},
    function{"transpose", [](auto x, auto, auto) { return ct::transpose(x); },
             [](grid const& x, grid const&, grid const&) {
               return made({x.size[2], 4, x.size[0]}, [&](place const& p) { return x({p[2], p[1], p[0]}); });
             }},
    function{"permute", [](auto x, auto, auto) { return ct::permute<1, -1, 0>(x); },
             [](grid const& x, grid const&, grid const&) {
               return made({4, x.size[2], x.size[0]}, [&](place const& p) { return x({p[2], p[0], p[1]}); });
             }},
    function{"concatenate of one", [](auto, auto y, auto) { return ct::concatenate<0>(y) * 2; },
             [](grid const&, grid const& y, grid const&) {
               return made(y.size, [&](place const& p) { return 2. * y(p); });
             }},
    function{"concatenate of two", [](auto x, auto, auto) { return ct::concatenate<1>(x, x * x); },
             [](grid const& x, grid const&, grid const&) {
               return made({x.size[0], 8, x.size[2]}, [&](place const& p) {
                 dual const v = x({p[0], p[1] % 4, p[2]});
                 return p[1] < 4 ? v : v * v;
               });
             }},
    function{"concatenate of three", [](auto, auto y, auto z) { return ct::concatenate<-1>(y, ct::sum(z, ct::axes<1>), y); },
             [](grid const&, grid const& y, grid const& z) {
               std::int64_t const m = y.size[0], n = z.size[0];
               grid const s = reduced(z, {1}, false, sum);
               return made({m + n + m}, [&](place const& p) {
                 return p[0] < m ? y({p[0]}) : p[0] < m + n ? s({p[0] - m}) : y({p[0] - m - n});
               });
             }},
    function{"concatenate of four",
             [](auto, auto, auto z) { return ct::concatenate<0>(z, -z, z * z, z, 2 * z); },
             [](grid const&, grid const&, grid const& z) {
               std::int64_t const n = z.size[0];
               return made({5 * n, 4}, [&](place const& p) {
                 dual const v = z({p[0] % n, p[1]});
                 dual const of[]{v, -v, v * v, v, 2. * v};
                 return of[p[0] / n];
               });
             }},
    function{"stack of one", [](auto, auto y, auto) { return ct::stack<0>(y) * 2; },
             [](grid const&, grid const& y, grid const&) {
               return made({1, y.size[0]}, [&](place const& p) { return 2. * y({p[1]}); });
             }},
    function{"stack of two", [](auto, auto y, auto) { return ct::stack<1>(y, y * y); },
             [](grid const&, grid const& y, grid const&) {
               return made({y.size[0], 2}, [&](place const& p) {
                 dual const v = y({p[0]});
                 return p[1] == 0 ? v : v * v;
               });
             }},
    function{"split in two",
             [](auto x, auto, auto) {
               auto const [a, b] = ct::split<1, 2>(x);
               return a * b;
             },
             [](grid const& x, grid const&, grid const&) {
               return made({x.size[0], 2, x.size[2]}, [&](place const& p) { return x(p) * x({p[0], p[1] + 2, p[2]}); });
             }},
    function{"split in sizes",
             [](auto, auto, auto z) {
               auto const [a, b] = ct::split<-1, 1, 3>(z);
               return a + b;
             },
             [](grid const&, grid const&, grid const& z) {
               return made({z.size[0], 3}, [&](place const& p) { return z({p[0], 0}) + z({p[0], p[1] + 1}); });
             }},
    function{"an index", [](auto x, auto, auto) { return x(ct::all, 2); },
             [](grid const& x, grid const&, grid const&) {
               return made({x.size[0], x.size[2]}, [&](place const& p) { return x({p[0], 2, p[1]}); });
             }},
    function{"an index from the end and a range",
             [](auto x, auto, auto z) { return x(ct::all, ct::range<1, 4, 2>)*z(ct::all, -1)(0); },
             [](grid const& x, grid const&, grid const& z) {
               return made({x.size[0], 2, x.size[2]}, [&](place const& p) {
                 return x({p[0], 1 + 2 * p[1], p[2]}) * z({0, 3});
               });
             }},
    function{"a range to the end", [](auto, auto, auto z) { return z(ct::range<1>, ct::range<2, ct::end>); },
             [](grid const&, grid const&, grid const& z) {
               return made({z.size[0] - 1, 2}, [&](place const& p) { return z({p[0] + 1, p[1] + 2}); });
             }},
    function{"zeros, ones, full",
             [](auto x, auto y, auto) {
               using T = typename decltype(x)::value_type;
               return y * ct::ones<T, "m">() + ct::full<T, "m">(0.5) + ct::zeros<T, "m">() + ct::zeros<T, 1>();
             },
             [](grid const&, grid const& y, grid const&) {
               return made(y.size, [&](place const& p) { return y(p) + 0.5; });
             }},
    function{"iota",
             [](auto x, auto y, auto) {
               using T = typename decltype(x)::value_type;
               return y * ct::iota<T, "m">(T(0.5), T(0.25)) +
                      ct::convert<T>(ct::iota<"m">() + ct::convert<std::int64_t>(y * 0));
             },
             [](grid const&, grid const& y, grid const&) {
               return made(y.size, [&](place const& p) {
                 double const i = static_cast<double>(p[0]);
                 return y(p) * (0.5 + 0.25 * i) + i;
               });
             }},
    function{"eye",
             [](auto x, auto y, auto) {
               using T = typename decltype(x)::value_type;
               return ct::sum(ct::eye<T, "m">() * y, ct::axes<1>) * (2 + ct::convert<T>(ct::iota<"m">() == 1));
             },
             [](grid const&, grid const& y, grid const&) {
               return made(y.size, [&](place const& p) { return y(p) * (p[0] == 1 ? 3 : 2); });
             }},
};

// ---- layers of networks: x is [n, 4], y is [4, m], z is [n, m], w is [4]

template <class Of> grid by_rows(grid const& x, Of const& of) { return along(x, 1, of); }
inline numbers standardized(numbers x) {
  dual const m = mean(x), v = variance(x);
  for (dual& a : x) a = (a - m) / sqrt(v + 1e-2);
  return x;
}
inline dual logistic(dual x) { return 1. / (1. + exp(-x)); }
/// Attention in which row i sees the rows up to i, with keys half as large.
inline constexpr auto causal = [](grid const& x, grid const&, grid const&, grid const&) {
  return made(x.size, [&](place const& p) {
    numbers scores;
    for (std::int64_t j = 0; j <= p[0]; ++j) {
      dual s;
      for (std::int64_t k = 0; k < 4; ++k) s = s + x({p[0], k}) * x({j, k}) * 0.25;
      scores.push_back(s);
    }
    scores = softmax(scores);
    dual s;
    for (std::int64_t j = 0; j <= p[0]; ++j) s = s + scores[static_cast<std::size_t>(j)] * x({j, p[1]});
    return s;
  });
};
inline constexpr std::tuple layers{
    function{"mse", [](auto x, auto, auto, auto w) { return ct::mse(x, w); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               dual s;
               for (std::size_t k = 0; k < x.at.size(); ++k) s = s + (x.at[k] - w.at[k % 4]) * (x.at[k] - w.at[k % 4]);
               return grid{{}, {s / static_cast<double>(x.at.size())}};
             }},
    function{"huber, hinge", [](auto x, auto, auto, auto w) { return ct::huber(x, w, 0.47) + ct::hinge(x, w); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               return made(x.size, [&](place const& p) {
                 dual const d = abs(x(p) - w({p[1]})), h = 1. - x(p) * w({p[1]});
                 return (d.v < 0.47 ? 0.5 * d * d : 0.47 * (d - 0.235)) + (h.v > 0 ? h : dual());
               });
             }},
    function{"kl_divergence", [](auto x, auto, auto, auto w) { return ct::kl_divergence(ct::softmax(x), ct::softmax(w)); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               numbers const q = softmax(w.at);
               return reduced(x, {1}, false, [&](numbers const& v) {
                 numbers const a = softmax(v);
                 dual s;
                 for (std::size_t k = 0; k < a.size(); ++k) s = s + a[k] * (log(a[k]) - log(q[k]));
                 return s;
               });
             }},
    function{"soft_cross_entropy, smooth_labels", [](auto x, auto, auto, auto w) { return ct::soft_cross_entropy(x, ct::smooth_labels(ct::softmax(w), 0.25)); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               numbers const q = softmax(w.at);
               return reduced(x, {1}, false, [&](numbers const& v) {
                 numbers const a = softmax(v);
                 dual s;
                 for (std::size_t k = 0; k < a.size(); ++k) s = s - (0.75 * q[k] + 0.0625) * log(a[k]);
                 return s;
               });
             }},
    function{"layer_norm", [](auto x, auto, auto, auto w) { return ct::layer_norm(x, w, 2 * w, 1e-2); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               grid const y = by_rows(x, standardized);
               return made(x.size, [&](place const& p) { return y(p) * w({p[1]}) + 2. * w({p[1]}); });
             }},
    function{"batch_norm", [](auto x, auto, auto, auto w) { return ct::batch_norm(x, w, 0, 1e-2); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               grid const y = along(x, 0, standardized);
               return made(x.size, [&](place const& p) { return y(p) * w({p[1]}); });
             }},
    function{"group_norm", [](auto x, auto, auto, auto w) { return ct::group_norm<2>(x, w, 0, 1e-2); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               grid const y = by_rows(x, [](numbers const& v) {
                 numbers const a = standardized({v[0], v[1]}), b = standardized({v[2], v[3]});
                 return numbers{a[0], a[1], b[0], b[1]};
               });
               return made(x.size, [&](place const& p) { return y(p) * w({p[1]}); });
             }},
    function{"rms_norm", [](auto x, auto, auto, auto w) { return ct::rms_norm(x, w, 1e-2); },
             [](grid const& x, grid const&, grid const&, grid const& w) {
               grid const y = by_rows(x, [](numbers v) {
                 dual s;
                 for (dual const a : v) s = s + a * a;
                 for (dual& a : v) a = a / sqrt(s / 4. + 1e-2);
                 return v;
               });
               return made(x.size, [&](place const& p) { return y(p) * w({p[1]}); });
             }},
    function{"attention", [](auto x, auto y, auto z, auto) {
               auto const keys = ct::transpose(y); // [m, 4]
               return ct::attention(x, keys, keys * 2) + 0 * ct::sum(z);
             },
             [](grid const& x, grid const& y, grid const&, grid const&) {
               std::int64_t const m = y.size[1];
               return made(x.size, [&](place const& p) {
                 numbers scores;
                 for (std::int64_t j = 0; j < m; ++j) {
                   dual s;
                   for (std::int64_t k = 0; k < 4; ++k) s = s + x({p[0], k}) * y({k, j}) * 0.5;
                   scores.push_back(s);
                 }
                 scores = softmax(scores);
                 dual s;
                 for (std::int64_t j = 0; j < m; ++j) s = s + scores[static_cast<std::size_t>(j)] * 2. * y({p[1], j});
                 return s;
               });
             }},
    function{"causal_attention", [](auto x, auto, auto, auto) { return ct::causal_attention(x, x * 0.5, x); },
             causal},
    function{"attention with a mask", [](auto x, auto, auto, auto) {
               return ct::attention(x, x * 0.5, x, ct::tril(0 * ct::matmul(x, ct::transpose(x)) + 1) > 0);
             },
             causal},
    function{"glu", [](auto x, auto, auto, auto) { return ct::glu(x) + ct::transpose(ct::glu<0>(ct::transpose(x * x))); },
             [](grid const& x, grid const&, grid const&, grid const&) {
               return made({x.size[0], 2}, [&](place const& p) {
                 dual const gate = x({p[0], p[1] + 2});
                 return x(p) * logistic(gate) + x(p) * x(p) * logistic(gate * gate);
               });
             }},
    function{"embedding", [](auto x, auto, auto z, auto) { return ct::embedding(x, ct::convert<std::int64_t>(0 * z(ct::all, 0))); },
             [](grid const& x, grid const&, grid const& z, grid const&) {
               return made({z.size[0], 4}, [&](place const& p) { return x({0, p[1]}); });
             }},
    function{"lstm_cell", [](auto x, auto y, auto z, auto) {
               auto const w = ct::concatenate<1>(y, -y, y * 0.5, y * 2);
               auto const u = 0 * ct::sum(y, ct::axes<0>);
               auto const [h, c] = ct::lstm_cell(x, z, z * z, w, ct::outer(u, ct::tile<4>(u)), ct::sum(ct::tile<4>(u)));
               return h + c;
             },
             [](grid const& x, grid const& y, grid const& z, grid const&) {
               return made(z.size, [&](place const& p) {
                 dual s;
                 for (std::int64_t k = 0; k < 4; ++k) s = s + x({p[0], k}) * y({k, p[1]});
                 dual const c = logistic(-s) * z(p) * z(p) + logistic(s) * tanh(0.5 * s);
                 return logistic(2. * s) * tanh(c) + c;
               });
             }},
    function{"gru_cell", [](auto x, auto y, auto z, auto) {
               auto const w = ct::concatenate<1>(y, -y, y * 0.5);
               auto const u = 0 * ct::sum(y, ct::axes<0>);
               return ct::gru_cell(x, z, w, ct::outer(u, ct::tile<3>(u)), 0, 0.5);
             },
             [](grid const& x, grid const& y, grid const& z, grid const&) {
               return made(z.size, [&](place const& p) {
                 dual s;
                 for (std::int64_t k = 0; k < 4; ++k) s = s + x({p[0], k}) * y({k, p[1]});
                 dual const update = logistic(0.5 - s);
                 return (1. - update) * tanh(0.5 * s + logistic(s + 0.5) * 0.5) + update * z(p);
               });
             }},
};

// ---- random numbers of the key 5, as Philox 4x32-10 makes them: x is [n, 4, m], y is [m]

struct random_pair {
  double u, v;
};
inline random_pair random_at(std::uint64_t key, std::int64_t position) {
  std::uint64_t w[4]{static_cast<std::uint64_t>(position) & 0xFFFFFFFF, static_cast<std::uint64_t>(position) >> 32, 0, 0};
  std::uint64_t k[2]{key & 0xFFFFFFFF, key >> 32};
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const a = w[0] * 0xD2511F53, b = w[2] * 0xCD9E8D57;
    std::uint64_t const next[4]{(b >> 32) ^ w[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ w[3] ^ k[1], a & 0xFFFFFFFF};
    for (int i = 0; i < 4; ++i) w[i] = next[i];
    k[0] = (k[0] + 0x9E3779B9) & 0xFFFFFFFF;
    k[1] = (k[1] + 0xBB67AE85) & 0xFFFFFFFF;
  }
  auto const number = [](std::uint64_t high, std::uint64_t low) {
    return std::ldexp(static_cast<double>((high << 21) | (low >> 11)), -53);
  };
  return {number(w[0], w[1]), number(w[2], w[3])};
}
template <class Y> constexpr auto key_five(Y const& y) { return ct::convert<std::int64_t>(ct::sum(y * 0)) + 5; }
inline constexpr std::tuple random_numbers{
    function{"random_uniform",
             [](auto, auto y) {
               using T = typename decltype(y)::value_type;
               return y * ct::random_uniform<T, "m">(functions::key_five(y));
             },
             [](grid const&, grid const& y) {
               return made(y.size, [&](place const& p) { return y(p) * random_at(5, p[0]).u; });
             }},
    function{"random_normal", // small, so that float is near
             [](auto x, auto y) {
               using T = typename decltype(y)::value_type;
               return x(0) * 0.0625 * ct::random_normal<T, 4, "m">(functions::key_five(y));
             },
             [](grid const& x, grid const&) {
               return made({4, x.size[2]}, [&](place const& p) {
                 random_pair const r = random_at(5, p[0] * x.size[2] + p[1]);
                 return x({0, p[0], p[1]}) * (0.0625 * std::sqrt(-2 * std::log(1 - r.u)) * std::cos(8 * std::atan(1.) * r.v));
               });
             }},
    function{"random_exponential, random_bernoulli",
             [](auto, auto y) {
               using T = typename decltype(y)::value_type;
               auto const key = functions::key_five(y);
               return ct::select(ct::random_bernoulli<"m">(key, 0.25), y, 2 * y) * ct::random_exponential<T, "m">(key);
             },
             [](grid const&, grid const& y) {
               return made(y.size, [&](place const& p) {
                 double const u = random_at(5, p[0]).u;
                 return y(p) * ((u < 0.25 ? 1. : 2.) * -std::log1p(-u));
               });
             }},
    function{"random_gamma", // of shape 1 they are exponential
             [](auto, auto y) { return ct::random_gamma<"m">(functions::key_five(y), 1 + y - ct::stop_gradient(y)); },
             [](grid const&, grid const& y) {
               return made(y.size, [&](place const& p) {
                 double const x = -std::log1p(-random_at(5, p[0]).u);
                 return dual(x, -lower_gamma(dual(1, y(p).d), x).d * std::exp(x));
               });
             }, false},
    function{"random_split, random_fold_in",
             [](auto, auto y) {
               using T = typename decltype(y)::value_type;
               auto const key = functions::key_five(y);
               return y * (ct::random_uniform<T, "m">(ct::random_split<4>(key)(3)) + 2 * ct::random_uniform<T, "m">(ct::random_fold_in(key, 3)));
             },
             [](grid const&, grid const& y) {
               random_pair const bits = random_at(5, 3 + (std::int64_t{1} << 62));
               auto const key = static_cast<std::uint64_t>(std::ldexp(bits.u, 53)) + (static_cast<std::uint64_t>(std::ldexp(bits.v, 24)) << 38);
               return made(y.size, [&](place const& p) { return 3. * random_at(key, p[0]).u * y(p); });
             }},
    function{"xavier_uniform, xavier_normal, he_uniform, he_normal",
             [](auto, auto y) {
               using T = typename decltype(y)::value_type;
               auto const key = functions::key_five(y);
               return ct::sum(y) * (ct::xavier_uniform<T, 3, 2, 4>(key) + 0.0625 * ct::xavier_normal<T, 3, 2, 4>(key) + ct::he_uniform<T, 3, 2, 4>(key) +
                                    0.0625 * ct::he_normal<T, 3, 2, 4>(key));
             },
             [](grid const&, grid const& y) {
               dual s;
               for (dual const a : y.at) s = s + a;
               return made({3, 2, 4}, [&](place const& p) {
                 random_pair const r = random_at(5, (p[0] * 2 + p[1]) * 4 + p[2]);
                 double const normal = std::sqrt(-2 * std::log(1 - r.u)) * std::cos(8 * std::atan(1.) * r.v), xavier = std::sqrt(2 / 18.), he = std::sqrt(2 / 6.);
                 return s * ((xavier + he) * (0.0625 * normal + std::sqrt(3.) * (2 * r.u - 1)));
               });
             }},
    function{"orthogonal",
             [](auto, auto y) {
               using T = typename decltype(y)::value_type;
               auto const q = ct::orthogonal<T, 4, 2>(functions::key_five(y));
               auto const p = ct::orthogonal<T, 2, 4>(functions::key_five(y));
               return ct::sum(y) * (ct::matmul(ct::transpose(q), q) + ct::matmul(p, ct::transpose(p)));
             },
             [](grid const&, grid const& y) {
               dual s;
               for (dual const a : y.at) s = s + a;
               return made({2, 2}, [&](place const& p) { return s * (p[0] == p[1] ? 2. : 0.); });
             }},
    function{"random_categorical",
             [](auto x, auto y) {
               using T = typename decltype(x)::value_type;
               return ct::convert<T>(ct::random_categorical(5, ct::swap_axes<1, 2>(x))) * y;
             },
             [](grid const& x, grid const& y) {
               std::int64_t const m = x.size[2];
               return made({x.size[0], m}, [&](place const& p) {
                 std::int64_t best = 0;
                 double most = -1e300;
                 for (std::int64_t k = 0; k < 4; ++k) {
                   double const u = random_at(5, (p[0] * m + p[1]) * 4 + k).u, score = x({p[0], k, p[1]}).v - std::log(-std::log(u));
                   if (score > most) most = score, best = k;
                 }
                 return static_cast<double>(best) * y({p[1]});
               });
             }, false},
    function{"dropout", [](auto x, auto) { return ct::dropout(x * x, 0.25, 5); },
             [](grid const& x, grid const&) {
               return made(x.size, [&](place const& p) {
                 bool const goes = random_at(5, static_cast<std::int64_t>(x.position(p))).u < 0.25;
                 return goes ? dual() : x(p) * x(p) * (1 / 0.75);
               });
             }},
};

// ---- products: a is [n, 4], b is [4, m], c is [n, m], u is [4]

inline grid product(grid const& a, grid const& b) {
  return made({a.size[0], b.size[1]}, [&](place const& p) {
    dual s;
    for (std::int64_t k = 0; k < a.size[1]; ++k) s = s + a({p[0], k}) * b({k, p[1]});
    return s;
  });
}
inline grid transposed(grid const& a) {
  return made({a.size[1], a.size[0]}, [&](place const& p) { return a({p[1], p[0]}); });
}
inline constexpr std::tuple products{
    function{"matmul", [](auto a, auto b, auto, auto) { return ct::matmul(a, b); },
             [](grid const& a, grid const& b, grid const&, grid const&) { return product(a, b); }},
    function{"matmul, left transposed",
             [](auto a, auto, auto c, auto) { return ct::matmul(ct::transpose(a), c); },
             [](grid const& a, grid const&, grid const& c, grid const&) { return product(transposed(a), c); }},
    function{"matmul, right transposed",
             [](auto, auto b, auto c, auto) { return ct::matmul(c, ct::transpose(b)); },
             [](grid const&, grid const& b, grid const& c, grid const&) { return product(c, transposed(b)); }},
    function{"matmul, both transposed",
             [](auto a, auto b, auto, auto) { return ct::matmul(ct::transpose(b), ct::transpose(a)); },
             [](grid const& a, grid const& b, grid const&, grid const&) {
               return product(transposed(b), transposed(a));
             }},
    function{"matmul of a vector", [](auto a, auto, auto, auto u) { return ct::matmul(a, ct::reshape<4, 1>(u)); },
             [](grid const& a, grid const&, grid const&, grid const& u) {
               return product(a, {{4, 1}, u.at});
             }},
    function{"matmul of a sum", [](auto a, auto b, auto c, auto) { return ct::tanh(ct::matmul(a * 2, b) + c) * c; },
             [](grid const& a, grid const& b, grid const& c, grid const&) {
               grid const ab = product(a, b);
               return made(c.size, [&](place const& p) { return tanh(2. * ab(p) + c(p)) * c(p); });
             }},
    function{"matmul of a matrix and a vector", [](auto a, auto, auto, auto u) { return ct::matmul(a, u); },
             [](grid const& a, grid const&, grid const&, grid const& u) {
               return grid{{a.size[0]}, product(a, {{4, 1}, u.at}).at};
             }},
    function{"matmul of a vector and a matrix", [](auto, auto b, auto, auto u) { return ct::matmul(u, b); },
             [](grid const&, grid const& b, grid const&, grid const& u) {
               return grid{{b.size[1]}, product({{1, 4}, u.at}, b).at};
             }},
    function{"matmul of stacks",
             [](auto, auto, auto, auto u) { return ct::matmul(ct::reshape<2, 1, 2>(u), ct::reshape<1, 2, 2>(u)); },
             [](grid const&, grid const&, grid const&, grid const& u) {
               return made({2, 1, 2}, [&](place const& p) {
                 return u({2 * p[0]}) * u({p[2]}) + u({2 * p[0] + 1}) * u({2 + p[2]});
               });
             }},
    function{"einsum", [](auto a, auto b, auto, auto) { return ct::einsum<"ij,jk->ki">(a, b); },
             [](grid const& a, grid const& b, grid const&, grid const&) { return transposed(product(a, b)); }},
    function{"einsum of three", [](auto a, auto b, auto c, auto) { return ct::einsum<"ni,im,nm->im">(a, b, c); },
             [](grid const& a, grid const& b, grid const& c, grid const&) {
               grid const ac = product(transposed(a), c);
               return made(b.size, [&](place const& p) { return ac(p) * b(p); });
             }},
    function{"trace, outer", [](auto a, auto, auto, auto u) { return ct::trace(ct::matmul(ct::outer(u, u), ct::matmul(ct::transpose(a), a))); },
             [](grid const& a, grid const&, grid const&, grid const& u) {
               grid const au = product(a, {{4, 1}, u.at});
               dual s;
               for (dual const& x : au.at) s = s + x * x;
               return grid{{}, {s}};
             }},
    function{"cross", [](auto, auto, auto, auto u) { return ct::cross(u(ct::range<0, 3>), u(ct::range<1, 4>)); },
             [](grid const&, grid const&, grid const&, grid const& u) {
               return made({3}, [&](place const& p) {
                 std::int64_t const i = (p[0] + 1) % 3, j = (p[0] + 2) % 3;
                 return u({i}) * u({j + 1}) - u({j}) * u({i + 1});
               });
             }},
    function{"dot", [](auto, auto b, auto, auto u) { return ct::dot(u, ct::sum(b, ct::axes<1>)) * u(1); },
             [](grid const&, grid const& b, grid const&, grid const& u) {
               dual s;
               for (std::int64_t k = 0; k < 4; ++k)
                 for (std::int64_t j = 0; j < b.size[1]; ++j) s = s + u({k}) * b({k, j});
               return grid{{}, {s * u({1})}};
             }},
};

// ---- linear systems: x is [3, 3], u is [3]

/// A matrix without symmetry that needs no pivoting, and a symmetric positive definite one.
template <class X> constexpr auto regular(X const& x) {
  return 0.25 * x + 4 * ct::eye<typename X::value_type, 3>();
}
template <class X> constexpr auto definite(X const& x) {
  return ct::matmul(x, ct::transpose(x)) + ct::eye<typename X::value_type, 3>();
}
inline grid regular_of(grid const& x) {
  return made(x.size, [&](place const& p) { return 0.25 * x(p) + (p[0] == p[1] ? 4. : 0.); });
}
inline grid definite_of(grid const& x) {
  grid const xx = product(x, transposed(x));
  return made(x.size, [&](place const& p) { return xx(p) + (p[0] == p[1] ? 1. : 0.); });
}
/// A matrix of 3 rows as the first block of one of N rows, whose other block is the unit matrix.
template <int N, class X> constexpr auto in_rows(X const& x) {
  using T = typename X::value_type;
  return ct::pad<0, N - 3, 0, N - 3>(x) + ct::eye<T, N>() - ct::pad<0, N - 3, 0, N - 3>(0 * x + ct::eye<T, 3>());
}
/// The rows of U, with those of L below the diagonal, by elimination without exchanges.
inline grid eliminated(grid a) {
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = i + 1; k < 3; ++k) {
      a.at[3 * k + i] = a.at[3 * k + i] / a.at[3 * i + i];
      for (std::size_t c = i + 1; c < 3; ++c) a.at[3 * k + c] = a.at[3 * k + c] - a.at[3 * k + i] * a.at[3 * i + c];
    }
  return a;
}
/// The solution of A X = B, where B has `m` columns.
inline std::vector<dual> solved(grid const& a, std::vector<dual> b, std::size_t m) {
  grid const e = eliminated(a);
  for (std::size_t c = 0; c < m; ++c) {
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < i; ++k) b[i * m + c] = b[i * m + c] - e.at[3 * i + k] * b[k * m + c];
    for (std::size_t i = 3; i-- > 0;) {
      for (std::size_t k = i + 1; k < 3; ++k) b[i * m + c] = b[i * m + c] - e.at[3 * i + k] * b[k * m + c];
      b[i * m + c] = b[i * m + c] / e.at[3 * i + i];
    }
  }
  return b;
}
inline dual pivots_of(grid const& a) {
  grid const e = eliminated(a);
  return e.at[0] * e.at[4] * e.at[8];
}
inline grid part_of(grid const& a, bool lower) {
  grid const e = eliminated(a);
  return made(a.size, [&](place const& p) {
    if (lower && p[0] == p[1]) return dual(1);
    return (lower ? p[0] > p[1] : p[0] <= p[1]) ? e(p) : dual();
  });
}
inline constexpr std::tuple systems{
    function{"cholesky of 4 and 7 rows",
             [](auto x, auto) {
               auto const part = ct::range<0, 3>;
               return 2 * ct::cholesky(in_rows<4>(definite(x)))(part, part) - ct::cholesky(in_rows<7>(definite(x)))(part, part);
             },
             [](grid const& x, grid const&) {
               grid const e = eliminated(definite_of(x));
               return made(x.size, [&](place const& p) {
                 return p[0] < p[1] ? dual() : e({p[1], p[0]}) / sqrt(e({p[1], p[1]}));
               });
             }},
    function{"inverse of 4 and 5 rows",
             [](auto x, auto) {
               auto const part = ct::range<0, 3>;
               auto const turned = ct::inverse(ct::roll<1, 1>(ct::roll<1, 0>(in_rows<4>(regular(x))))); // another block of the four
               return turned(ct::range<1, 4>, ct::range<1, 4>) * 2 - ct::inverse(in_rows<5>(regular(x)))(part, part);
             },
             [](grid const& x, grid const&) {
               return grid{{3, 3}, solved(regular_of(x), {1., 0., 0., 0., 1., 0., 0., 0., 1.}, 3)};
             }},
    function{"determinants of 4 and 5 rows",
             [](auto x, auto) {
               auto const five = in_rows<5>(regular(x));
               return ct::determinant(ct::reverse<0>(five)) - 2 * ct::determinant(ct::roll<1, 0>(five(ct::range<0, 4>, ct::range<0, 4>)));
             },
             [](grid const& x, grid const&) { // an even and an odd permutation of the rows
               return grid{{}, {3. * pivots_of(regular_of(x))}};
             }},
    function{"cholesky", [](auto x, auto) { return ct::cholesky(definite(x)); },
             [](grid const& x, grid const&) { // L = (rows of U / roots of the pivots)'
               grid const e = eliminated(definite_of(x));
               return made(x.size, [&](place const& p) {
                 return p[0] < p[1] ? dual() : e({p[1], p[0]}) / sqrt(e({p[1], p[1]}));
               });
             }},
    function{"solve", [](auto x, auto u) { return ct::solve(regular(x), u); },
             [](grid const& x, grid const& u) {
               return grid{{3}, solved(regular_of(x), u.at, 1)};
             }},
    function{"solve for columns", [](auto x, auto) { return ct::solve(regular(x), x); },
             [](grid const& x, grid const&) {
               return grid{{3, 3}, solved(regular_of(x), x.at, 3)};
             }},
    function{"solve with exchanges of rows", [](auto x, auto u) { return ct::solve(ct::reverse<0>(regular(x)), u); },
             [](grid const& x, grid const& u) {
               return grid{{3}, solved(regular_of(x), {u.at[2], u.at[1], u.at[0]}, 1)};
             }},
    function{"solve with a cycle of rows", [](auto x, auto u) { return ct::solve(ct::roll<1, 0>(regular(x)), u); },
             [](grid const& x, grid const& u) {
               return grid{{3}, solved(regular_of(x), {u.at[1], u.at[2], u.at[0]}, 1)};
             }},
    function{"inverse", [](auto x, auto) { return ct::inverse(regular(x)); },
             [](grid const& x, grid const&) {
               return grid{{3, 3}, solved(regular_of(x), {1., 0., 0., 0., 1., 0., 0., 0., 1.}, 3)};
             }},
    function{"determinant", [](auto x, auto) { return ct::determinant(regular(x)); },
             [](grid const& x, grid const&) {
               return grid{{}, {pivots_of(regular_of(x))}};
             }},
    function{"slogdet", [](auto x, auto) {
               auto const [sign, logarithm] = ct::slogdet(ct::reverse<0>(regular(x)));
               return sign * logarithm;
             },
             [](grid const& x, grid const&) {
               return grid{{}, {-log(pivots_of(regular_of(x)))}};
             }},
    function{"lu, the lower triangle", [](auto x, auto) { return std::get<1>(ct::lu(ct::roll<1, 0>(regular(x)))); },
             [](grid const& x, grid const&) { return part_of(regular_of(x), true); }},
    function{"lu, the upper triangle", [](auto x, auto) { return std::get<2>(ct::lu(regular(x))); },
             [](grid const& x, grid const&) { return part_of(regular_of(x), false); }},
    function{"triangular_solve", [](auto x, auto u) { return ct::triangular_solve(regular(x), u); },
             [](grid const& x, grid const& u) {
               grid a = regular_of(x);
               a.at[1] = a.at[2] = a.at[5] = dual();
               return grid{{3}, solved(a, u.at, 1)};
             }},
    function{"triangular_solve, transposed",
             [](auto x, auto) { return ct::triangular_solve<ct::triangle{.transposed = true}>(regular(x), x); },
             [](grid const& x, grid const&) {
               grid a = regular_of(x);
               a.at[1] = a.at[2] = a.at[5] = dual();
               return grid{{3, 3}, solved(transposed(a), x.at, 3)};
             }},
    function{"triangular_solve, of an upper triangle with ones",
             [](auto x, auto u) { return ct::triangular_solve<ct::triangle{.lower = false, .unit = true}>(regular(x), u); },
             [](grid const& x, grid const& u) {
               grid a = regular_of(x);
               a.at[3] = a.at[6] = a.at[7] = dual();
               a.at[0] = a.at[4] = a.at[8] = dual(1);
               return grid{{3}, solved(a, u.at, 1)};
             }},
};

// ---- decompositions, of the same arguments
inline constexpr std::tuple decompositions{
    // Decompositions whose signs are not determined are multiplied with themselves.
    function{"qr, the triangle", [](auto x, auto) {
               auto const r = std::get<1>(ct::qr(regular(x)));
               return ct::matmul(ct::transpose(r), r) + r * ct::sign(r);
             },
             [](grid const& x, grid const&) {
               grid const a = regular_of(x), aa = product(transposed(a), a), e = eliminated(aa);
               return made(x.size, [&](place const& p) {
                 return aa(p) + (p[0] <= p[1] ? abs(e(p) / sqrt(e({p[0], p[0]}))) : dual());
               });
             }},
    function{"qr of a tall matrix, the columns", [](auto x, auto) {
               auto const a = regular(x)(ct::all, ct::range<0, 2>);
               auto const q = std::get<0>(ct::qr(a));
               return ct::matmul(q, ct::transpose(q));
             },
             [](grid const& x, grid const&) { // the projection on two columns of A is that beside the normal vector
               grid const a = regular_of(x);
               auto const other = [&](std::int64_t i) {
                 std::int64_t const j = (i + 1) % 3, k = (i + 2) % 3;
                 return a({j, 0}) * a({k, 1}) - a({k, 0}) * a({j, 1});
               };
               dual const n = other(0) * other(0) + other(1) * other(1) + other(2) * other(2);
               return made(x.size, [&](place const& p) { return (p[0] == p[1] ? 1. : 0.) - other(p[0]) * other(p[1]) / n; });
             }},
    function{"lstsq", [](auto x, auto u) { return ct::lstsq(regular(x)(ct::all, ct::range<0, 2>), u); },
             [](grid const& x, grid const& u) {
               grid const a = regular_of(x);
               auto const dot = [&](std::int64_t i, grid const& b, std::int64_t j) {
                 dual s;
                 for (std::int64_t k = 0; k < 3; ++k) s = s + a({k, i}) * (j < 0 ? b({k}) : b({k, j}));
                 return s;
               };
               dual const d = dot(0, a, 0) * dot(1, a, 1) - dot(0, a, 1) * dot(0, a, 1);
               return grid{{2}, {(dot(0, u, -1) * dot(1, a, 1) - dot(1, u, -1) * dot(0, a, 1)) / d,
                                 (dot(1, u, -1) * dot(0, a, 0) - dot(0, u, -1) * dot(0, a, 1)) / d}};
             }},
    function{"lstsq with fewer rows", [](auto x, auto u) { return ct::lstsq(regular(x)(ct::range<0, 2>, ct::all), u(ct::range<0, 2>)); },
             [](grid const& x, grid const& u) { // A' (A A')^-1 b
               grid const a = regular_of(x), aa = product(a, transposed(a));
               dual const d = aa({0, 0}) * aa({1, 1}) - aa({0, 1}) * aa({1, 0});
               dual const first = (u({0}) * aa({1, 1}) - u({1}) * aa({0, 1})) / d, second = (u({1}) * aa({0, 0}) - u({0}) * aa({1, 0})) / d;
               return made({3}, [&](place const& p) { return a({0, p[0]}) * first + a({1, p[0]}) * second; });
             }},
    function{"eigh", [](auto x, auto) { // sines of eigenvalues of [[x0, x1], [x1, -x0]] are plus and minus that of the radius
               using T = typename decltype(x)::value_type;
               auto const part = x(ct::range<0, 2>, ct::range<0, 2>) + ct::eye<T, 2>() * 2;
               auto const [w, v] = ct::eigh(part);
               return ct::matmul(v * ct::exp(w), ct::transpose(v)) + ct::sum(w * w) + ct::eigvalsh(part);
             },
             [](grid const& x, grid const&) {
               dual const a = x({0, 0}) + 2., d = x({1, 1}) + 2., b = 0.5 * (x({0, 1}) + x({1, 0}));
               dual const middle = 0.5 * (a + d), half = 0.5 * (a - d), radius = sqrt(half * half + b * b);
               dual const high = middle + radius, low = middle - radius, slope = (exp(high) - exp(low)) / (2. * radius);
               dual const mean = 0.5 * (exp(high) + exp(low)), squares = high * high + low * low;
               return made({2, 2}, [&](place const& p) {
                 dual const own = p[0] != p[1] ? b * slope : mean + (p[0] == 0 ? half : -half) * slope;
                 return own + squares + (p[1] == 0 ? low : high);
               });
             }},
    function{"eigh, a function of a symmetric matrix", [](auto x, auto) {
               auto const [w, v] = ct::eigh(definite(x));
               return ct::matmul(v / w, ct::transpose(v));
             },
             [](grid const& x, grid const&) {
               return grid{{3, 3}, solved(definite_of(x), {1., 0., 0., 0., 1., 0., 0., 0., 1.}, 3)};
             }},
    function{"svd, the inverse from the parts", [](auto x, auto) {
               auto const [u, s, vt] = ct::svd(regular(x));
               return ct::transpose(ct::matmul(u / s, vt));
             },
             [](grid const& x, grid const&) {
               return grid{{3, 3}, solved(regular_of(x), {1., 0., 0., 0., 1., 0., 0., 0., 1.}, 3)};
             }},
    function{"svd of tall and wide matrices", [](auto x, auto) {
               auto const a = regular(x)(ct::all, ct::range<0, 2>);
               auto const [u, s, vt] = ct::svd(a);
               auto const [p, t, qt] = ct::svd(ct::transpose(a)); // the pseudoinverses of both, and singular values
               return ct::matmul(ct::transpose(vt), ct::transpose(u / s)) + ct::matmul(p / t, qt) + ct::sum(s * s) * ct::prod(t);
             },
             [](grid const& x, grid const&) {
               grid const a = regular_of(x);
               auto const dot = [&](std::int64_t i, std::int64_t j) { return a({0, i}) * a({0, j}) + a({1, i}) * a({1, j}) + a({2, i}) * a({2, j}); };
               dual const d = dot(0, 0) * dot(1, 1) - dot(0, 1) * dot(0, 1), both = (dot(0, 0) + dot(1, 1)) * sqrt(d);
               return made({2, 3}, [&](place const& p) {
                 std::int64_t const i = p[0], j = 1 - p[0];
                 return 2. * (dot(j, j) * a({p[1], i}) - dot(0, 1) * a({p[1], j})) / d + both;
               });
             }},
    function{"expm", [](auto x, auto) { return ct::expm(3 * x) * 0.125; },
             [](grid const& x, grid const&) {
               grid power = made(x.size, [](place const& p) { return dual(p[0] == p[1] ? 0.125 : 0.); }), sum = power;
               for (int k = 1; k < 60; ++k) {
                 power = product(power, x);
                 for (dual& p : power.at) p = p * (3. / k);
                 for (std::size_t j = 0; j < 9; ++j) sum.at[j] = sum.at[j] + power.at[j];
               }
               return sum;
             }},
};

// ---- geometry: r and x are [3], q is [4], p is [n, 3]

using vector3 = std::array<dual, 3>;
inline vector3 scaled_by(dual s, vector3 const& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline vector3 added(vector3 const& a, vector3 const& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline dual dot_of(vector3 const& a, vector3 const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline vector3 cross_of(vector3 const& a, vector3 const& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline vector3 vector_at(grid const& x, std::size_t first = 0) { return {x.at[first], x.at[first + 1], x.at[first + 2]}; }
inline grid grid_of(std::vector<dual> x) { return {{static_cast<std::int64_t>(x.size())}, x}; }
inline grid grid_of(vector3 const& x) { return {{3}, {x[0], x[1], x[2]}}; }
inline grid hat_of(vector3 const& r) { return {{3, 3}, {0., -r[2], r[1], r[2], 0., -r[0], -r[1], r[0], 0.}}; }
/// a + b [r] + c [r] [r]
inline grid series_of(vector3 const& r, double a, dual b, dual c) {
  grid const k = hat_of(r), kk = product(k, k);
  return made({3, 3}, [&](place const& p) { return (p[0] == p[1] ? a : 0.) + b * k(p) + c * kk(p); });
}
inline grid rotation_of(vector3 const& r) {
  dual const w = dot_of(r, r), h = sqrt(w);
  return series_of(r, 1, sin(h) / h, (1. - cos(h)) / w);
}
inline grid jacobian_of(vector3 const& r) {
  dual const w = dot_of(r, r), h = sqrt(w);
  return series_of(r, 1, (1. - cos(h)) / w, (h - sin(h)) / (h * w));
}
inline grid inverse_jacobian_of(vector3 const& r) {
  dual const w = dot_of(r, r), h = 0.5 * sqrt(w);
  return series_of(r, 1, -0.5, (1. - h * cos(h) / sin(h)) / w);
}
/// The Jacobian of a translation and a rotation vector, as the series of the powers of their adjoint matrix.
inline grid pose_jacobian_of(vector3 const& t, vector3 const& r) {
  grid const of_r = hat_of(r), of_t = hat_of(t);
  grid const m = made({6, 6}, [&](place const& p) {
    place const at{p[0] % 3, p[1] % 3};
    return p[0] / 3 == p[1] / 3 ? of_r(at) : p[0] < 3 ? of_t(at) : dual();
  });
  grid power = made({6, 6}, [](place const& p) { return dual(p[0] == p[1] ? 1. : 0.); }), all = power;
  for (int k = 2; k < 60; ++k) {
    power = product(power, m);
    for (std::size_t j = 0; j < 36; ++j) power.at[j] = power.at[j] / k, all.at[j] = all.at[j] + power.at[j];
  }
  return all;
}
inline vector3 acted(grid const& m, vector3 const& x) {
  return vector_at(product(m, {{3, 1}, {x[0], x[1], x[2]}}));
}
inline numbers multiplied(numbers const& p, numbers const& q) {
  vector3 const a{p[1], p[2], p[3]}, b{q[1], q[2], q[3]};
  vector3 const v = added(added(scaled_by(p[0], b), scaled_by(q[0], a)), cross_of(a, b));
  return {p[0] * q[0] - dot_of(a, b), v[0], v[1], v[2]};
}
inline numbers half_turned(vector3 const& r) {
  dual const h = sqrt(dot_of(r, r));
  vector3 const v = scaled_by(sin(0.5 * h) / h, r);
  return {cos(0.5 * h), v[0], v[1], v[2]};
}
inline numbers unit(numbers q) {
  dual const length = sqrt(sum({q[0] * q[0], q[1] * q[1], q[2] * q[2], q[3] * q[3]}));
  for (dual& a : q) a = a / length;
  return q;
}
inline numbers with_largest_positive(numbers q) {
  dual most;
  for (dual const a : q) most = abs(most) < abs(a) ? a : most;
  for (dual& a : q) a = most.v < 0 ? -a : a;
  return q;
}
/// The rotation vector of a quaternion of a positive real part.
inline vector3 turn_of(numbers const& q) {
  dual const n = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), square = n * n + q[0] * q[0];
  dual const angle(2 * std::atan2(n.v, q[0].v), 2 * (n.d * q[0].v - q[0].d * n.v) / square.v);
  return scaled_by(angle / n, {q[1], q[2], q[3]});
}
inline grid pose_of(grid const& m, vector3 const& t) {
  return made({4, 4}, [&](place const& p) {
    if (p[0] == 3) return dual(p[1] == 3 ? 1 : 0);
    return p[1] == 3 ? t[static_cast<std::size_t>(p[0])] : m(p);
  });
}
inline grid pose_of(vector3 const& along, vector3 const& r) { return pose_of(rotation_of(r), acted(jacobian_of(r), along)); }
inline grid acted_on_rows(grid const& m, grid const& p, vector3 const& t) {
  return made(p.size, [&](place const& at) {
    dual s = t[static_cast<std::size_t>(at[1])];
    for (std::int64_t k = 0; k < 3; ++k) s = s + m({at[1], k}) * p({at[0], k});
    return s;
  });
}
inline std::pair<dual, dual> distorted(dual x, dual y, numbers const& d) {
  dual const rr = x * x + y * y, radial = 1. + d[0] * rr + d[1] * rr * rr + d[4] * rr * rr * rr;
  return {x * radial + 2. * d[2] * x * y + d[3] * (rr + 2. * x * x), y * radial + d[2] * (rr + 2. * y * y) + 2. * d[3] * x * y};
}
/// Half a turn about axis K, as a quaternion.
template <int K, class X> constexpr auto half_turn(X const&) {
  return ct::convert<typename X::value_type>(ct::iota<4>() == K);
}
inline numbers about(std::size_t k, numbers const& q) {
  numbers p(4);
  p[k] = 1;
  return multiplied(p, q);
}
inline grid matrix_of(numbers const& q) {
  dual const w = q[0];
  vector3 const v{q[1], q[2], q[3]};
  grid const m = series_of(v, 1, 2. * w, 2.);
  return m;
}
inline constexpr std::tuple quaternions{
    function{"quaternion_multiply", [](auto, auto, auto q, auto) { return ct::quaternion_multiply(q, ct::roll<1>(q)); },
             [](grid const&, grid const&, grid const& q, grid const&) {
               return grid_of(multiplied(q.at, {q.at[3], q.at[0], q.at[1], q.at[2]}));
             }},
    function{"quaternion_conjugate, quaternion_normalize",
             [](auto, auto, auto q, auto) { return ct::quaternion_normalize(ct::quaternion_conjugate(q)); },
             [](grid const&, grid const&, grid const& q, grid const&) {
               return grid_of(unit({q.at[0], -q.at[1], -q.at[2], -q.at[3]}));
             }},
    function{"quaternion_rotate", [](auto, auto, auto q, auto p) { return ct::quaternion_rotate(ct::quaternion_normalize(q), p); },
             [](grid const&, grid const&, grid const& q, grid const& p) {
               return acted_on_rows(matrix_of(unit(q.at)), p, {});
             }},
    function{"quaternion_to_matrix", [](auto, auto, auto q, auto) { return ct::quaternion_to_matrix(q); },
             [](grid const&, grid const&, grid const& q, grid const&) { return matrix_of(q.at); }},
    function{"axis_angle_to_quaternion", [](auto r, auto, auto, auto) { return ct::axis_angle_to_quaternion(r); },
             [](grid const& r, grid const&, grid const&, grid const&) { return grid_of(half_turned(vector_at(r))); }},
    function{"axis_angle_to_quaternion of rows", [](auto, auto, auto, auto p) { return ct::axis_angle_to_quaternion(0.3 * p); },
             [](grid const&, grid const&, grid const&, grid const& p) {
               return made({p.size[0], 4}, [&](place const& at) {
                 vector3 const r = scaled_by(0.3, vector_at(p, static_cast<std::size_t>(3 * at[0])));
                 return half_turned(r)[static_cast<std::size_t>(at[1])];
               });
             }},
    function{"quaternion_to_axis_angle", [](auto, auto, auto q, auto) { return ct::quaternion_to_axis_angle(q); },
             [](grid const&, grid const&, grid const& q, grid const&) {
               return grid_of(q.at[0].v < 0 ? turn_of({-q.at[0], -q.at[1], -q.at[2], -q.at[3]}) : turn_of(q.at));
             }},
    function{"matrix_to_quaternion",
             [](auto r, auto, auto, auto) {
               auto const q = ct::axis_angle_to_quaternion(0.5 * r);
               auto const of = [](auto x) { return ct::matrix_to_quaternion(ct::quaternion_to_matrix(x)); };
               return of(q) + 2 * of(ct::quaternion_multiply(half_turn<1>(r), q)) + 3 * of(ct::quaternion_multiply(half_turn<2>(r), q)) +
                      4 * of(ct::quaternion_multiply(half_turn<3>(r), q));
             },
             [](grid const& r, grid const&, grid const&, grid const&) {
               numbers const q = half_turned(scaled_by(0.5, vector_at(r)));
               numbers s = with_largest_positive(q);
               for (std::size_t k = 1; k < 4; ++k)
                 for (std::size_t i = 0; i < 4; ++i) s[i] = s[i] + (1. + static_cast<double>(k)) * with_largest_positive(about(k, q))[i];
               return grid_of(s);
             }},
};
inline constexpr std::tuple rotations{
    function{"rodrigues", [](auto r, auto x, auto, auto) { return ct::rodrigues(r, x); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               return grid_of(acted(rotation_of(vector_at(r)), vector_at(x)));
             }},
    function{"rodrigues of rows", [](auto, auto x, auto, auto p) { return ct::rodrigues(0.4 * p, x); },
             [](grid const&, grid const& x, grid const&, grid const& p) {
               return made(p.size, [&](place const& at) {
                 vector3 const r = scaled_by(0.4, vector_at(p, static_cast<std::size_t>(3 * at[0])));
                 return acted(rotation_of(r), vector_at(x))[static_cast<std::size_t>(at[1])];
               });
             }},
    function{"so3_hat, so3_vee", [](auto r, auto x, auto, auto) { return ct::so3_vee(ct::so3_hat(r) + ct::outer(x, r)); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               vector3 const a = vector_at(x), b = vector_at(r);
               return grid_of(added(b, scaled_by(-0.5, cross_of(a, b))));
             }},
    function{"so3_exp", [](auto r, auto, auto, auto) { return ct::so3_exp(r); },
             [](grid const& r, grid const&, grid const&, grid const&) { return rotation_of(vector_at(r)); }},
    function{"so3_log", [](auto r, auto x, auto, auto) { return ct::so3_log(ct::so3_exp(0.4 * r) + 0.02 * ct::outer(x, r)); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               grid const m = rotation_of(scaled_by(0.4, vector_at(r)));
               auto const e = [&](std::size_t i, std::size_t k) { return m.at[3 * i + k] + 0.02 * x.at[i] * r.at[k]; };
               return grid_of(turn_of({1. + e(0, 0) + e(1, 1) + e(2, 2), e(2, 1) - e(1, 2), e(0, 2) - e(2, 0), e(1, 0) - e(0, 1)}));
             }},
    function{"so3_compose, so3_act",
             [](auto r, auto x, auto, auto p) { return ct::so3_act(ct::so3_compose(ct::so3_exp(r), ct::so3_exp(x)), p); },
             [](grid const& r, grid const& x, grid const&, grid const& p) {
               return acted_on_rows(product(rotation_of(vector_at(r)), rotation_of(vector_at(x))), p, {});
             }},
    function{"so3_act of stacks", [](auto, auto x, auto, auto p) { return ct::so3_act(ct::so3_exp(p), p + x); },
             [](grid const&, grid const& x, grid const&, grid const& p) {
               return made(p.size, [&](place const& at) {
                 vector3 const r = vector_at(p, static_cast<std::size_t>(3 * at[0]));
                 return acted(rotation_of(r), added(r, vector_at(x)))[static_cast<std::size_t>(at[1])];
               });
             }},
    function{"so3_left_jacobian", [](auto r, auto, auto, auto) { return ct::so3_left_jacobian(r); },
             [](grid const& r, grid const&, grid const&, grid const&) { return jacobian_of(vector_at(r)); }},
    function{"so3_right_jacobian", [](auto r, auto, auto, auto) { return ct::so3_right_jacobian(0.4 * r); },
             [](grid const& r, grid const&, grid const&, grid const&) { return jacobian_of(scaled_by(-0.4, vector_at(r))); }},
};
inline constexpr std::tuple poses{
    function{"so3_left_jacobian_inverse", [](auto r, auto, auto, auto) { return ct::so3_left_jacobian_inverse(r); },
             [](grid const& r, grid const&, grid const&, grid const&) { return inverse_jacobian_of(vector_at(r)); }},
    function{"so3_right_jacobian_inverse of rows", [](auto, auto, auto, auto p) { return ct::so3_right_jacobian_inverse(0.4 * p)(0); },
             [](grid const&, grid const&, grid const&, grid const& p) { return inverse_jacobian_of(scaled_by(-0.4, vector_at(p))); }},
    function{"se3_pose", [](auto r, auto x, auto, auto) { return ct::se3_pose(ct::outer(x, r), r); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               return pose_of(made({3, 3}, [&](place const& p) { return x({p[0]}) * r({p[1]}); }), vector_at(r));
             }},
    function{"se3_exp", [](auto r, auto x, auto, auto) { return ct::se3_exp(ct::concatenate<0>(r, x)); },
             [](grid const& r, grid const& x, grid const&, grid const&) { return pose_of(vector_at(r), vector_at(x)); }},
    function{"se3_log", [](auto r, auto x, auto, auto) { return ct::se3_log(ct::se3_exp(ct::concatenate<0>(x, 0.9 * r))); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               vector3 const a = scaled_by(0.9, vector_at(r));
               return grid_of(numbers{x.at[0], x.at[1], x.at[2], a[0], a[1], a[2]});
             }},
    function{"se3_left_jacobian", [](auto r, auto x, auto, auto) { return ct::se3_left_jacobian(ct::concatenate<0>(r, x)); },
             [](grid const& r, grid const& x, grid const&, grid const&) { return pose_jacobian_of(vector_at(r), vector_at(x)); }},
    function{"se3_right_jacobian", [](auto r, auto x, auto, auto) { return ct::se3_right_jacobian(ct::concatenate<0>(x, 0.3 * r)); },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               return pose_jacobian_of(scaled_by(-1., vector_at(x)), scaled_by(-0.3, vector_at(r)));
             }},
    function{"se3_left_jacobian_inverse, se3_right_jacobian_inverse", // their products with vectors, solved by the Jacobians
             [](auto r, auto x, auto, auto) {
               auto const at = ct::concatenate<0>(r, x), v = ct::concatenate<0>(x * x, r + 1);
               return ct::matmul(ct::se3_left_jacobian_inverse(at), ct::matmul(ct::se3_left_jacobian(at), v)) +
                      ct::matmul(ct::se3_right_jacobian_inverse(0.3 * at), ct::matmul(ct::se3_right_jacobian(0.3 * at), 2 * v));
             },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               return made({6}, [&](place const& p) { return 3. * (p[0] < 3 ? x.at[static_cast<std::size_t>(p[0])] * x.at[static_cast<std::size_t>(p[0])] : r.at[static_cast<std::size_t>(p[0] - 3)] + 1.); });
             }},
    function{"se3_compose, se3_inverse",
             [](auto r, auto x, auto, auto) {
               auto const a = ct::se3_exp(ct::concatenate<0>(r, x)), b = ct::se3_exp(ct::concatenate<0>(x, r));
               return ct::se3_compose(ct::se3_inverse(a), b);
             },
             [](grid const& r, grid const& x, grid const&, grid const&) {
               vector3 const a = vector_at(r), b = vector_at(x);
               grid const m = transposed(rotation_of(b));
               vector3 const t = added(acted(jacobian_of(a), b), scaled_by(-1., acted(jacobian_of(b), a)));
               return pose_of(product(m, rotation_of(a)), acted(m, t));
             }},
    function{"se3_act", [](auto r, auto x, auto, auto p) { return ct::se3_act(ct::se3_exp(ct::concatenate<0>(r, x)), p); },
             [](grid const& r, grid const& x, grid const&, grid const& p) {
               vector3 const a = vector_at(r), b = vector_at(x);
               return acted_on_rows(rotation_of(b), p, acted(jacobian_of(b), a));
             }},
};
inline constexpr std::tuple cameras{
    function{"distort", [](auto, auto x, auto q, auto p) {
               auto const two = ct::range<0, 2>;
               return ct::distort(x(two), q) + ct::distort(p(ct::all, two), ct::concatenate<0>(q, x(ct::range<0, 1>))) - ct::distort(x(two), q(two));
             },
             [](grid const&, grid const& x, grid const& q, grid const& p) {
               return made({p.size[0], 2}, [&](place const& at) {
                 auto const four = distorted(x.at[0], x.at[1], {q.at[0], q.at[1], q.at[2], q.at[3], 0.});
                 auto const five = distorted(p({at[0], 0}), p({at[0], 1}), {q.at[0], q.at[1], q.at[2], q.at[3], x.at[0]});
                 auto const two = distorted(x.at[0], x.at[1], {q.at[0], q.at[1], 0., 0., 0.});
                 return at[1] == 0 ? four.first + five.first - two.first : four.second + five.second - two.second;
               });
             }},
    function{"pinhole_project", [](auto, auto x, auto q, auto p) {
               return ct::pinhole_project(p + 4, q) * 0.25 + ct::pinhole_project(x + 4, q, 0.01 * q);
             },
             [](grid const&, grid const& x, grid const& q, grid const& p) {
               return made({p.size[0], 2}, [&](place const& at) {
                 std::size_t const i = static_cast<std::size_t>(at[1]);
                 auto const d = distorted((x.at[0] + 4.) / (x.at[2] + 4.), (x.at[1] + 4.) / (x.at[2] + 4.),
                                          {0.01 * q.at[0], 0.01 * q.at[1], 0.01 * q.at[2], 0.01 * q.at[3], 0.});
                 dual const one = (p({at[0], at[1]}) + 4.) / (p({at[0], 2}) + 4.);
                 return 0.25 * (one * q.at[i] + q.at[2 + i]) + (i == 0 ? d.first : d.second) * q.at[i] + q.at[2 + i];
               });
             }},
};

// ---- tables: x is [n], y is [6], p is [6]

inline constexpr ct::table cubic{ct::interpolation::cubic}, monotone{ct::interpolation::monotone};
inline constexpr ct::table beyond{ct::interpolation::linear, ct::outside::extrapolate}, cubic_beyond{ct::interpolation::cubic, ct::outside::extrapolate},
    monotone_beyond{ct::interpolation::monotone, ct::outside::extrapolate};
template <class P> constexpr auto positions_of(P const& p) { return ct::cumsum(p) - 2.5; }
inline numbers positions_of_numbers(grid const& p) {
  numbers xs;
  dual s = -2.5;
  for (dual const a : p.at) xs.push_back(s = s + a);
  return xs;
}
inline numbers slopes_of(numbers const& xs, numbers const& ys, bool limited) {
  std::size_t const n = xs.size();
  numbers h, d, m(n);
  for (std::size_t k = 0; k + 1 < n; ++k) h.push_back(xs[k + 1] - xs[k]), d.push_back((ys[k + 1] - ys[k]) / h[k]);
  if (n == 2) return {d[0], d[0]};
  auto const end = [&](dual h0, dual h1, dual d0, dual d1) {
    dual const e = d0 + (d0 - d1) * h0 / (h0 + h1);
    if (limited && e.v * d0.v <= 0) return dual();
    return limited && d0.v * d1.v < 0 && abs(3. * d0) < abs(e) ? 3. * d0 : e;
  };
  for (std::size_t k = 1; k + 1 < n; ++k) {
    if (!limited) m[k] = (h[k] * d[k - 1] + h[k - 1] * d[k]) / (h[k] + h[k - 1]);
    else if (d[k - 1].v * d[k].v > 0)
      m[k] = 3. * (h[k - 1] + h[k]) * d[k - 1] * d[k] / ((2. * h[k] + h[k - 1]) * d[k] + (h[k] + 2. * h[k - 1]) * d[k - 1]);
  }
  m[0] = end(h[0], h[1], d[0], d[1]), m[n - 1] = end(h[n - 2], h[n - 3], d[n - 2], d[n - 3]);
  return m;
}
inline dual interpolated(ct::table how, dual x, numbers const& xs, numbers const& ys) {
  std::size_t const n = xs.size();
  if (how.ends == ct::outside::constant && x.v < xs[0].v) return ys[0];
  if (how.ends == ct::outside::constant && x.v > xs[n - 1].v) return ys[n - 1];
  std::size_t i = 0;
  while (i + 2 < n && x.v >= xs[i + 1].v) ++i;
  dual const h = xs[i + 1] - xs[i], d = (ys[i + 1] - ys[i]) / h, s = x - xs[i];
  if (how.kind == ct::interpolation::linear) return ys[i] + s * d;
  numbers const m = slopes_of(xs, ys, how.kind == ct::interpolation::monotone);
  return ys[i] + s * (m[i] + s * ((3. * d - 2. * m[i] - m[i + 1]) / h + s * (m[i] + m[i + 1] - 2. * d) / (h * h)));
}
inline numbers counted(std::size_t n) {
  numbers k;
  while (k.size() < n) k.push_back(static_cast<double>(k.size()));
  return k;
}
template <class Of> grid at_each(grid const& x, Of const& of) {
  return made(x.size, [&](place const& p) { return of(x(p)); });
}
/// Basis function i of a degree at x, by its definition; the piece that x is in counts as that of `inside`.
inline dual basis_of(numbers const& knots, std::size_t i, std::size_t degree, dual x, double inside) {
  if (degree == 0) return dual(knots[i].v <= inside && inside < knots[i + 1].v ? 1 : 0);
  dual s;
  if (knots[i] < knots[i + degree]) s = (x - knots[i]) / (knots[i + degree] - knots[i]) * basis_of(knots, i, degree - 1, x, inside);
  if (knots[i + 1] < knots[i + degree + 1])
    s = s + (knots[i + degree + 1] - x) / (knots[i + degree + 1] - knots[i + 1]) * basis_of(knots, i + 1, degree - 1, x, inside);
  return s;
}
inline dual spline_at(numbers const& knots, numbers const& c, std::size_t degree, dual x, bool extrapolate) {
  dual const first = knots[degree], last = knots[c.size()];
  if (!extrapolate) x = x < first ? first : last < x ? last : x;
  double const inside = std::clamp(x.v, first.v, last.v - 1e-9);
  dual s;
  for (std::size_t k = 0; k < c.size(); ++k) s = s + c[k] * basis_of(knots, k, degree, x, inside);
  return s;
}
/// Along the last axis, then along the others.
inline dual on_grid(ct::table how, std::vector<dual> const& at, std::vector<numbers> const& positions, numbers const& values) {
  if (at.empty()) return values[0];
  std::size_t const rows = values.size() / positions[0].size();
  numbers each;
  for (std::size_t k = 0; k < positions[0].size(); ++k)
    each.push_back(on_grid(how, {at.begin() + 1, at.end()}, {positions.begin() + 1, positions.end()},
                           {values.begin() + static_cast<std::ptrdiff_t>(k * rows), values.begin() + static_cast<std::ptrdiff_t>((k + 1) * rows)}));
  return interpolated(how, at[0], positions[0], each);
}
#define COTANGENT_INTERPOLATION(HOW)                                                                                   \
  function{"interp, " #HOW, [](auto x, auto y, auto p) { return ct::interp<HOW>(1.7 * x, positions_of(p), y); },       \
           [](grid const& x, grid const& y, grid const& p) {                                                           \
             return at_each(x, [&](dual a) { return interpolated(HOW, 1.7 * a, positions_of_numbers(p), y.at); });     \
           }},                                                                                                         \
  function{"map_coordinates, " #HOW, [](auto x, auto y, auto) { return ct::map_coordinates<HOW>(y, 2 * x + 2.3); },    \
           [](grid const& x, grid const& y, grid const&) {                                                             \
             return at_each(x, [&](dual a) { return interpolated(HOW, 2. * a + 2.3, counted(6), y.at); });             \
           }}
/// The natural spline by its second derivatives.
inline dual natural_at(numbers const& xs, numbers const& ys, dual x, bool extrapolates) {
  std::size_t const n = xs.size();
  if (!extrapolates) x = x < xs[0] ? xs[0] : xs[n - 1] < x ? xs[n - 1] : x;
  numbers diagonal(n, dual(1)), right(n), curve(n);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    diagonal[i] = 2. * (xs[i + 1] - xs[i - 1]);
    right[i] = 6. * ((ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]) - (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1]));
    if (i == 1) continue;
    dual const beside = xs[i] - xs[i - 1], factor = beside / diagonal[i - 1];
    diagonal[i] = diagonal[i] - factor * beside, right[i] = right[i] - factor * right[i - 1];
  }
  for (std::size_t i = n - 1; i-- > 1;) curve[i] = (right[i] - (xs[i + 1] - xs[i]) * curve[i + 1]) / diagonal[i];
  std::size_t k = 0;
  while (k + 2 < n && !(x < xs[k + 1])) ++k;
  dual const h = xs[k + 1] - xs[k], a = xs[k + 1] - x, b = x - xs[k];
  return (curve[k] * a * a * a + curve[k + 1] * b * b * b) / (6. * h) + (ys[k] / h - curve[k] * h / 6.) * a + (ys[k + 1] / h - curve[k + 1] * h / 6.) * b;
}
inline constexpr std::tuple tables{
    function{"interp", [](auto x, auto y, auto p) { return ct::interp(1.7 * x, positions_of(p), y); },
             [](grid const& x, grid const& y, grid const& p) {
               return at_each(x, [&](dual a) { return interpolated({}, 1.7 * a, positions_of_numbers(p), y.at); });
             }},
    COTANGENT_INTERPOLATION(beyond), COTANGENT_INTERPOLATION(cubic), COTANGENT_INTERPOLATION(monotone),
    COTANGENT_INTERPOLATION(cubic_beyond), COTANGENT_INTERPOLATION(monotone_beyond),
    function{"interp of rows",
             [](auto x, auto y, auto p) { return ct::interp<cubic>(1.7 * x, positions_of(p), ct::outer(y, p(ct::range<0, 2>))); },
             [](grid const& x, grid const& y, grid const& p) {
               return made({x.size[0], 2}, [&](place const& at) {
                 numbers column = y.at;
                 for (dual& a : column) a = a * p({at[1]});
                 return interpolated(cubic, 1.7 * x({at[0]}), positions_of_numbers(p), column);
               });
             }},
    function{"interp of two and three rows",
             [](auto x, auto y, auto p) {
               auto const of = [&](auto range) { return ct::interp<monotone>(1.7 * x, positions_of(p)(range), y(range)); };
               return of(ct::range<0, 2>) + 2 * of(ct::range<1, 4>);
             },
             [](grid const& x, grid const& y, grid const& p) {
               numbers const xs = positions_of_numbers(p);
               auto const part = [](numbers const& v, std::size_t first, std::size_t count) { return numbers(&v[first], &v[first] + count); };
               return at_each(x, [&](dual a) {
                 return interpolated(monotone, 1.7 * a, part(xs, 0, 2), part(y.at, 0, 2)) +
                        2. * interpolated(monotone, 1.7 * a, part(xs, 1, 3), part(y.at, 1, 3));
               });
             }},
    function{"tridiagonal_solve", [](auto, auto y, auto p) {
               return ct::tridiagonal_solve(y, p + 5, 0.5 * y, p) + ct::sum(ct::tridiagonal_solve(y, p + 5, y, ct::stack<1>(y, p)), ct::axes<1>);
             },
             [](grid const&, grid const& y, grid const& p) {
               auto const solved = [&](double above, numbers b) { // by elimination from below
                 numbers d = p.at;
                 for (std::size_t i = 6; i-- > 0;) {
                   d[i] = d[i] + 5.;
                   if (i == 5) continue;
                   dual const factor = above * y.at[i] / d[i + 1];
                   d[i] = d[i] - factor * y.at[i + 1];
                   b[i] = b[i] - factor * b[i + 1];
                 }
                 for (std::size_t i = 0; i < 6; ++i) b[i] = (i > 0 ? b[i] - y.at[i] * b[i - 1] : b[i]) / d[i];
                 return b;
               };
               numbers const a = solved(0.5, p.at), u = solved(1, y.at), v = solved(1, p.at);
               return made({6}, [&](place const& at) {
                 auto const i = static_cast<std::size_t>(at[0]);
                 return a[i] + u[i] + v[i];
               });
             }},
    function{"natural_spline",
             [](auto x, auto y, auto p) {
               auto const s = positions_of(p);
               return ct::natural_spline(1.7 * x, s, y) + ct::natural_spline<ct::outside::extrapolate>(1.3 * x, s, ct::outer(y, y))(ct::all, 1) +
                      ct::natural_spline(x, s(ct::range<0, 2>), y(ct::range<0, 2>)) + ct::natural_spline(x, s(ct::range<0, 1>), y(ct::range<0, 1>));
             },
             [](grid const& x, grid const& y, grid const& p) {
               numbers const s = positions_of_numbers(p);
               numbers scaled = y.at;
               for (dual& a : scaled) a = a * y.at[1];
               auto const two = [&](dual a) { return a < s[0] ? y.at[0] : s[1] < a ? y.at[1] : y.at[0] + (a - s[0]) / (s[1] - s[0]) * (y.at[1] - y.at[0]); };
               return at_each(x, [&](dual a) {
                 return natural_at(s, y.at, 1.7 * a, false) + natural_at(s, scaled, 1.3 * a, true) + two(a) + y.at[0];
               });
             }},
};
inline constexpr auto squared_neighbors = [](auto u) { return ct::square(u(ct::range<1>)) * u(ct::range<0, -1>); };
inline constexpr auto sum_of_neighbors = [](auto u) { return ct::sum(ct::square(u(ct::range<0, -1>)) * u(ct::range<1>)); };
inline constexpr std::tuple grids{
    function{"sparse_jacobian", [](auto x, auto y, auto) { return ct::sparse_jacobian(squared_neighbors)(y).values * ct::sum(x); },
             [](grid const& x, grid const& y, grid const&) {
               dual s;
               for (dual const& v : x.at) s = s + v;
               return made({10}, [&](place const& p) {
                 dual const a = y.at[static_cast<std::size_t>(p[0] / 2)], b = y.at[static_cast<std::size_t>(p[0] / 2 + 1)];
                 return (p[0] % 2 == 0 ? b * b : 2. * a * b) * s;
               });
             }},
    function{"sparse_hessian", [](auto x, auto y, auto) { return ct::sparse_hessian(sum_of_neighbors)(y).values * ct::sum(x); },
             [](grid const& x, grid const& y, grid const&) { // of y[k]^2 y[k+1], by three diagonals without the last element
               dual s;
               for (dual const& v : x.at) s = s + v;
               return made({15}, [&](place const& p) {
                 std::size_t const k = static_cast<std::size_t>(p[0] + 1) / 3;
                 return 2. * s * (p[0] % 3 == 2 ? y.at[k - 1] : p[0] % 3 == 0 ? y.at[k + 1] : y.at[k]);
               });
             }},
    function{"map_coordinates of two axes",
             [](auto x, auto y, auto p) { return ct::map_coordinates(ct::outer(y, p), 2 * x + 2.3, x * x + y(0)); },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 6}, p.at});
               return at_each(x, [&](dual a) { return on_grid({}, {2. * a + 2.3, a * a + y.at[0]}, {counted(6), counted(6)}, t.at); });
             }},
    function{"map_coordinates of three axes",
             [](auto x, auto y, auto p) {
               return ct::map_coordinates<beyond>(ct::reshape<3, 4, 3>(ct::outer(y, p)), x + 0.9, 1.3 * x + y(1) + 1.1, p(1));
             },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 6}, p.at});
               return at_each(x, [&](dual a) { return on_grid(beyond, {a + 0.9, 1.3 * a + y.at[1] + 1.1, p.at[1]}, {counted(3), counted(4), counted(3)}, t.at); });
             }},
    function{"map_coordinates of rows",
             [](auto x, auto y, auto p) { return ct::map_coordinates(ct::reshape<2, 6, 3>(ct::outer(y, p)), x, 2 * x + 2.3); },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 6}, p.at});
               return made({x.size[0], 3}, [&](place const& at) {
                 numbers column;
                 for (std::size_t k = static_cast<std::size_t>(at[1]); k < t.at.size(); k += 3) column.push_back(t.at[k]);
                 return on_grid({}, {x({at[0]}), 2. * x({at[0]}) + 2.3}, {counted(2), counted(6)}, column);
               });
             }},
    function{"searchsorted",
             [](auto x, auto y, auto p) {
               return 10 * ct::searchsorted(positions_of(p), 1.7 * x) + ct::searchsorted<ct::side::right>(ct::floor(ct::sort(y)), ct::floor(x));
             },
             [](grid const& x, grid const& y, grid const& p) {
               return at_each(x, [&](dual a) {
                 double s = 0;
                 for (dual const b : positions_of_numbers(p)) s += b.v < 1.7 * a.v ? 10 : 0;
                 for (dual const b : y.at) s += std::floor(b.v) <= std::floor(a.v) ? 1 : 0;
                 return without_derivative(s);
               });
             }},
    function{"polyval", [](auto x, auto y, auto) { return ct::polyval(y, x); },
             [](grid const& x, grid const& y, grid const&) {
               return at_each(x, [&](dual a) {
                 dual s;
                 for (std::size_t k = 0; k < 6; ++k) {
                   dual power = y.at[k];
                   for (std::size_t i = k + 1; i < 6; ++i) power = power * a;
                   s = s + power;
                 }
                 return s;
               });
             }},
    function{"bspline of uniform knots",
             [](auto x, auto y, auto) { return ct::bspline(1.3 * x + 1.5, y) + ct::bspline<1, ct::outside::extrapolate>(2 * x + 2.3, y); },
             [](grid const& x, grid const& y, grid const&) {
               numbers three = counted(10), one = counted(8);
               for (dual& a : three) a = a - 3.;
               for (dual& a : one) a = a - 1.;
               return at_each(x, [&](dual a) {
                 return spline_at(three, y.at, 3, 1.3 * a + 1.5, false) + spline_at(one, y.at, 1, 2. * a + 2.3, true);
               });
             }},
    function{"bspline of knots",
             [](auto x, auto y, auto p) {
               auto const c = y(ct::range<0, 3>);
               auto const knots = positions_of(p);
               return ct::bspline<2>(x, knots, c) + ct::bspline<2, ct::outside::extrapolate>(1.2 * x, knots, c);
             },
             [](grid const& x, grid const& y, grid const& p) {
               numbers const c{y.at[0], y.at[1], y.at[2]}, knots = positions_of_numbers(p);
               return at_each(x, [&](dual a) { return spline_at(knots, c, 2, a, false) + spline_at(knots, c, 2, 1.2 * a, true); });
             }},
    function{"bspline of repeated knots",
             [](auto x, auto y, auto p) {
               auto const s = positions_of(p);
               return ct::bspline<2>(1.4 * x, ct::concatenate<0>(s(ct::range<0, 1>), s(ct::range<0, 1>), s, s(ct::range<5, 6>)), y);
             },
             [](grid const& x, grid const& y, grid const& p) {
               numbers const s = positions_of_numbers(p);
               numbers const knots{s[0], s[0], s[0], s[1], s[2], s[3], s[4], s[5], s[5]};
               return at_each(x, [&](dual a) { return spline_at(knots, y.at, 2, 1.4 * a, false); });
             }},
};
inline constexpr std::tuple fields{
    function{"map_coordinates of two axes, cubic",
             [](auto x, auto y, auto p) { return ct::map_coordinates<cubic>(ct::outer(y, p), 2 * x + 2.3, x * x + y(0)); },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 6}, p.at});
               return at_each(x, [&](dual a) { return on_grid(cubic, {2. * a + 2.3, a * a + y.at[0]}, {counted(6), counted(6)}, t.at); });
             }},
    function{"interpn of two axes",
             [](auto x, auto y, auto p) {
               return ct::interpn<monotone>(positions_of(p), positions_of(ct::exp(y))(ct::range<0, 4>), ct::outer(y, p(ct::range<0, 4>)), 1.7 * x, x * x);
             },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 4}, {p.at[0], p.at[1], p.at[2], p.at[3]}});
               grid e = y;
               for (dual& a : e.at) a = exp(a);
               numbers ys = positions_of_numbers(e);
               ys.resize(4);
               return at_each(x, [&](dual a) { return on_grid(monotone, {1.7 * a, a * a}, {positions_of_numbers(p), ys}, t.at); });
             }},
    function{"interpn of three axes",
             [](auto x, auto y, auto p) {
               auto const s = positions_of(p);
               auto const values = ct::reshape<3, 2, 6>(ct::outer(y, p));
               return ct::interpn(s(ct::range<0, 3>), s(ct::range<1, 3>), s, values, x, y(0), p(0));
             },
             [](grid const& x, grid const& y, grid const& p) {
               grid const t = product({{6, 1}, y.at}, {{1, 6}, p.at});
               numbers const s = positions_of_numbers(p);
               return at_each(x, [&](dual a) { return on_grid({}, {a, y.at[0], p.at[0]}, {{s[0], s[1], s[2]}, {s[1], s[2]}, s}, t.at); });
             }},
};
#undef COTANGENT_INTERPOLATION

// ---- numerical functions: x is [n, 4], y is [4], p is [4] and positive

inline constexpr std::tuple numerics{
    function{"diff", [](auto x, auto, auto) { return ct::diff(x * x)(ct::all, 0) + ct::sum(ct::diff<0>(x)); },
             [](grid const& x, grid const&, grid const&) {
               std::int64_t const n = x.size[0];
               dual s;
               for (std::int64_t k = 0; k < 4 && n > 0; ++k) s = s + x({n - 1, k}) - x({0, k});
               return made({n}, [&](place const& p) { return x({p[0], 1}) * x({p[0], 1}) - x({p[0], 0}) * x({p[0], 0}) + s; });
             }},
    function{"trapezoid", [](auto x, auto y, auto) { return ct::trapezoid(x) + ct::trapezoid(x, y) * ct::trapezoid(y, x(ct::all, ct::range<0, 4>)); },
             [](grid const& x, grid const& y, grid const&) {
               return reduced(x, {1}, false, [&](numbers const& v) {
                 dual a, b, c;
                 for (std::size_t k = 0; k < 3; ++k) {
                   a = a + 0.5 * (v[k] + v[k + 1]);
                   b = b + 0.5 * (v[k] + v[k + 1]) * (y.at[k + 1] - y.at[k]);
                   c = c + 0.5 * (y.at[k] + y.at[k + 1]) * (v[k + 1] - v[k]);
                 }
                 return a + b * c;
               });
             }},
    function{"cov", [](auto, auto y, auto p) { return ct::cov(ct::stack<0>(y, p)) * ct::cov(y); },
             [](grid const&, grid const& y, grid const& p) {
               auto const covariance = [](numbers a, numbers b) {
                 dual const of_a = mean(a), of_b = mean(b);
                 dual s;
                 for (std::size_t k = 0; k < 4; ++k) s = s + (a[k] - of_a) * (b[k] - of_b);
                 return s / 3.;
               };
               dual const a = covariance(y.at, y.at), b = covariance(y.at, p.at);
               return grid{{2, 2}, {a * a, a * b, a * b, a * covariance(p.at, p.at)}};
             }},
    function{"corrcoef", [](auto, auto y, auto p) { return ct::corrcoef(ct::stack<0>(y, 2 * p + 1)); },
             [](grid const&, grid const& y, grid const& p) {
               dual const of_y = mean(y.at), of_p = mean(p.at);
               dual yy, yp, pp;
               for (std::size_t k = 0; k < 4; ++k) {
                 dual const a = y.at[k] - of_y, b = p.at[k] - of_p;
                 yy = yy + a * a, yp = yp + a * b, pp = pp + b * b;
               }
               dual const r = yp / sqrt(yy * pp);
               return grid{{2, 2}, {1., r, r, 1.}};
             }},
    function{"kron", [](auto x, auto y, auto p) { return ct::kron(x, ct::stack<1>(y, p)) * 2 + ct::sum(ct::kron(y, p)); },
             [](grid const& x, grid const& y, grid const& p) {
               dual a, b;
               for (std::size_t k = 0; k < 4; ++k) a = a + y.at[k], b = b + p.at[k];
               return made({4 * x.size[0], 8}, [&](place const& q) {
                 return 2. * x({q[0] / 4, q[1] / 2}) * (q[1] % 2 == 0 ? y : p)({q[0] % 4}) + a * b;
               });
             }},
    function{"average", [](auto x, auto, auto p) { return ct::average<1>(x, p) + ct::average<-1>(x, p) * ct::average(p, p); },
             [](grid const& x, grid const&, grid const& p) {
               dual w, square;
               for (dual const a : p.at) w = w + a, square = square + a * a;
               return reduced(x, {1}, false, [&](numbers const& v) {
                 dual s;
                 for (std::size_t k = 0; k < 4; ++k) s = s + v[k] * p.at[k];
                 return s / w + s / w * (square / w);
               });
             }},
    function{"geomspace, logspace", [](auto, auto y, auto p) {
               return ct::geomspace<5>(p(0), p(1)) + ct::geomspace<5>(-p(0), -p(2)) + ct::logspace<5>(y(0), p(3)) + ct::geomspace<1>(p(0), p(1))(0);
             },
             [](grid const&, grid const& y, grid const& p) {
               return made({5}, [&](place const& q) {
                 double const t = static_cast<double>(q[0]) / 4;
                 auto const geometric = [&](dual a, dual b) { return exp((1 - t) * log(a) + t * log(b)); };
                 return geometric(p.at[0], p.at[1]) - geometric(p.at[0], p.at[2]) + exp(std::log(10.) * ((1 - t) * y.at[0] + t * p.at[3])) + p.at[0];
               });
             }},
};

// ---- integers choose: t is [5, m], z is [n, 5], r is [n, m], i is [n] in 0, 1, ... 4

inline std::int64_t chosen(grid const& i, std::int64_t k) { return static_cast<std::int64_t>(i({k}).v); }
inline constexpr std::tuple choices{
    function{"gather", [](auto t, auto, auto, auto i) { return ct::gather(t, i); },
             [](grid const& t, grid const&, grid const&, grid const& i) {
               return made({i.size[0], t.size[1]}, [&](place const& p) { return t({chosen(i, p[0]), p[1]}); });
             }},
    function{"at", [](auto t, auto z, auto, auto i) {
               auto const k = ct::min(ct::sum(i), 4);
               auto const column = ct::at(z, ct::all, k).set(0.5) * ct::at(z, ct::all, k).add(0.5);
               return ct::at(ct::at(t, k).add(t(2) * t(3)), 1).set(t(0) * t(4)) + ct::sum(column) / 16;
             },
             [](grid const& t, grid const& z, grid const&, grid const& i) {
               std::int64_t at = 0;
               for (std::int64_t k = 0; k < i.size[0]; ++k) at = std::min<std::int64_t>(at + chosen(i, k), 4);
               dual sum;
               for (std::int64_t k = 0; k < z.size[0]; ++k)
                 for (std::int64_t c = 0; c < 5; ++c) sum = sum + (c == at ? 0.5 * (z({k, c}) + 0.5) : z({k, c}) * z({k, c}));
               return made({5, t.size[1]}, [&](place const& p) {
                 if (p[0] == 1) return t({0, p[1]}) * t({4, p[1]}) + sum / 16.;
                 return (p[0] == at ? t(p) + t({2, p[1]}) * t({3, p[1]}) : t(p)) + sum / 16.;
               });
             }},
    function{"scatter_add", [](auto, auto, auto r, auto i) { return ct::scatter_add<5>(r * r, i); },
             [](grid const&, grid const&, grid const& r, grid const& i) {
               return made({5, r.size[1]}, [&](place const& p) {
                 dual s;
                 for (std::int64_t k = 0; k < i.size[0]; ++k)
                   if (chosen(i, k) == p[0]) s = s + r({k, p[1]}) * r({k, p[1]});
                 return s;
               });
             }},
    function{"operator%=, floor_div, mod and fmod of integers", [](auto, auto, auto r, auto i) {
               using T = typename decltype(r)::value_type;
               auto k = 3 * i - 5;
               auto const of = [](auto n) { return ct::expand<1>(ct::convert<T>(n)); };
               auto const rest = of(k % 2) + 8 * of(ct::mod(k, 3)) + 64 * of(ct::fmod(k, -3));
               auto const whole = of(k / 4) + 16 * of(ct::floor_div(k, 4)) + of(7 / (k + 5));
               k /= 2, k %= 3;
               return r * (rest + whole * of(k));
             },
             [](grid const&, grid const&, grid const& r, grid const& i) {
               return made(r.size, [&](place const& p) {
                 std::int64_t k = 3 * chosen(i, p[0]) - 5;
                 auto const of = [](std::int64_t n) { return static_cast<double>(n); };
                 double const rest = of(k % 2) + 8 * of((k % 3 + 3) % 3) + 64 * of(k % 3);
                 double const whole = of(k / 4) + 16 * std::floor(of(k) / 4) + of(k + 5 == 0 ? -1 : 7 / (k + 5));
                 return r(p) * (rest + whole * of(k / 2 % 3));
               });
             }},
    function{"cummax, cummin", [](auto, auto z, auto, auto) { return ct::cummax(z) + 2 * ct::cummin<1>(z); },
             [](grid const&, grid const& z, grid const&, grid const&) {
               grid const high = along(z, 1, running([](dual a, dual b) { return a.v < b.v ? b : a; }));
               grid const low = along(z, 1, running([](dual a, dual b) { return b.v < a.v ? b : a; }));
               return made(z.size, [&](place const& p) { return high(p) + 2. * low(p); });
             }, false},
    function{"segment_sum, segment_max, segment_min", [](auto, auto, auto r, auto i) {
               auto const high = ct::segment_max<5>(r, i), low = ct::segment_min<5>(r, i);
               return ct::segment_sum<5>(r, i) + 2 * ct::select(high > -1e30, high, 0) + ct::select(low < 1e30, low, 0);
             },
             [](grid const&, grid const&, grid const& r, grid const& i) {
               return made({5, r.size[1]}, [&](place const& p) {
                 dual s, high, low;
                 bool any = false;
                 for (std::int64_t k = 0; k < i.size[0]; ++k) {
                   if (chosen(i, k) != p[0]) continue;
                   dual const v = r({k, p[1]});
                   s = s + v;
                   high = !any || high.v < v.v ? v : high;
                   low = !any || v.v < low.v ? v : low;
                   any = true;
                 }
                 return s + 2. * high + low;
               });
             }, false},
    function{"scatter_max, scatter_min, scatter_set", [](auto t, auto, auto r, auto i) {
               return ct::scatter_max(t, i, 0.93 * r) + 2 * ct::scatter_min(t, i, 0.9 * r) + 4 * ct::scatter_set(t, i, r * r);
             },
             [](grid const& t, grid const&, grid const& r, grid const& i) {
               return made(t.size, [&](place const& p) {
                 dual high = t(p), low = t(p), last = t(p);
                 for (std::int64_t k = 0; k < i.size[0]; ++k) {
                   if (chosen(i, k) != p[0]) continue;
                   dual const v = r({k, p[1]});
                   high = high < 0.93 * v ? 0.93 * v : high;
                   low = 0.9 * v < low ? 0.9 * v : low;
                   last = v * v;
                 }
                 return high + 2. * low + 4. * last;
               });
             }, false},
    function{"one_hot",
             [](auto t, auto z, auto, auto i) {
               return ct::one_hot<5, typename decltype(t)::value_type>(i) * z;
             },
             [](grid const&, grid const& z, grid const&, grid const& i) {
               return made(z.size, [&](place const& p) { return p[1] == chosen(i, p[0]) ? z(p) : dual(); });
             }},
    function{"one_hot as float", [](auto, auto, auto, auto i) { return ct::one_hot<5>(i); },
             [](grid const&, grid const&, grid const&, grid const& i) {
               return made({i.size[0], 5}, [&](place const& p) { return truth(p[1] == chosen(i, p[0])); });
             }},
    function{"argmax", [](auto, auto z, auto, auto) { return ct::argmax(z); },
             [](grid const&, grid const& z, grid const&, grid const&) {
               return reduced(z, {1}, false, position_of_largest);
             }},
    function{"batch_take", [](auto, auto z, auto, auto i) { return ct::batch_take(z * z, i); },
             [](grid const&, grid const& z, grid const&, grid const& i) {
               return made(i.size, [&](place const& p) {
                 dual const v = z({p[0], chosen(i, p[0])});
                 return v * v;
               });
             }},
    function{"cross_entropy", [](auto, auto z, auto, auto i) { return ct::cross_entropy(z, i); },
             [](grid const&, grid const& z, grid const&, grid const& i) {
               grid const l = reduced(z, {1}, false, logsumexp);
               return made(l.size, [&](place const& p) { return l(p) - z({p[0], chosen(i, p[0])}); });
             }},
};

// ---- images: x is [n, 5, 4, m], w is [3, 2, m, 3], z is one image [6, 5, 2], v is [2, 3, 1, 4]

/// Height and width of each.
struct windows {
  std::int64_t size[2]{}, step[2]{1, 1}, before[2]{}, after[2]{}, spread[2]{1, 1};
  std::int64_t count(int axis, std::int64_t extent) const {
    return (extent + before[axis] + after[axis] - (size[axis] - 1) * spread[axis] - 1) / step[axis] + 1;
  }
};
/// What `of(numbers, places in the window)` makes of the pixels under each window, of a channel that `of` chooses.
template <class Of> grid pooled(grid const& x, windows const& s, Of const& of) {
  return made({x.size[0], s.count(0, x.size[1]), s.count(1, x.size[2]), x.size[3]}, [&](place const& p) {
    numbers inside;
    for (std::int64_t i = 0; i < s.size[0]; ++i)
      for (std::int64_t j = 0; j < s.size[1]; ++j) {
        std::int64_t const r = p[1] * s.step[0] - s.before[0] + i, c = p[2] * s.step[1] - s.before[1] + j;
        if (r >= 0 && r < x.size[1] && c >= 0 && c < x.size[2]) inside.push_back(x({p[0], r, c, p[3]}));
      }
    return of(inside);
  });
}
inline grid convolved(grid const& x, grid const& w, windows s, std::int64_t groups = 1) {
  s.size[0] = w.size[0];
  s.size[1] = w.size[1];
  std::int64_t const results = w.size[3] / groups, channels = w.size[2];
  return made({x.size[0], s.count(0, x.size[1]), s.count(1, x.size[2]), w.size[3]}, [&](place const& p) {
    dual sum;
    for (std::int64_t i = 0; i < w.size[0]; ++i)
      for (std::int64_t j = 0; j < w.size[1]; ++j)
        for (std::int64_t k = 0; k < channels; ++k) {
          std::int64_t const r = p[1] * s.step[0] - s.before[0] + i * s.spread[0];
          std::int64_t const c = p[2] * s.step[1] - s.before[1] + j * s.spread[1];
          if (r >= 0 && r < x.size[1] && c >= 0 && c < x.size[2])
            sum = sum + x({p[0], r, c, p[3] / results * channels + k}) * w({i, j, k, p[3]});
        }
    return sum;
  });
}
inline grid one_image(grid x) {
  x.size.insert(x.size.begin(), 1);
  return x;
}
inline grid of_one_image(grid x) {
  x.size.erase(x.size.begin());
  return x;
}
inline constexpr std::tuple images{
    function{"conv2d", [](auto x, auto w, auto, auto) { return ct::conv2d(x, w); },
             [](grid const& x, grid const& w, grid const&, grid const&) { return convolved(x, w, {}); }},
    function{"conv2d with a border, steps and spread taps",
             [](auto x, auto w, auto, auto) {
               return ct::conv2d<ct::convolution{
                   .stride = {2, 1}, .padding = {1, 0}, .padding_end = {3, 1}, .dilation = {1, 2}}>(x, w);
             },
             [](grid const& x, grid const& w, grid const&, grid const&) {
               return convolved(x, w, {{}, {2, 1}, {1, 0}, {3, 1}, {1, 2}});
             }},
    function{"conv2d in groups, of one image",
             [](auto, auto, auto z, auto v) {
               return ct::conv2d<ct::convolution{.padding = 1, .groups = 2}>(z, v);
             },
             [](grid const&, grid const&, grid const& z, grid const& v) {
               return of_one_image(convolved(one_image(z), v, {{}, {1, 1}, {1, 1}, {1, 1}}, 2));
             }},
    function{"conv2d with one tap",
             [](auto x, auto w, auto, auto) {
               return ct::conv2d(x * x, w(ct::range<1, 2>, ct::range<0, 1>));
             },
             [](grid const& x, grid const& w, grid const&, grid const&) {
               return convolved(made(x.size, [&](place const& p) { return x(p) * x(p); }),
                                made({1, 1, w.size[2], 3}, [&](place const& p) { return w({1, 0, p[2], p[3]}); }), {});
             }},
    function{"conv2d of every other column, and more",
             [](auto x, auto w, auto, auto) {
               return ct::tanh(ct::conv2d(x(ct::all, ct::all, ct::range<0, 4, 2>), w) + 1);
             },
             [](grid const& x, grid const& w, grid const&, grid const&) {
               grid const y = convolved(made({x.size[0], 5, 2, x.size[3]},
                                             [&](place const& p) { return x({p[0], p[1], 2 * p[2], p[3]}); }),
                                        w, {});
               return made(y.size, [&](place const& p) { return tanh(y(p) + 1.); });
             }},
    function{"conv1d", [](auto x, auto w, auto, auto) { return ct::conv1d<ct::convolution{.stride = 2, .padding = 1}>(x(ct::all, 1), w(2)); },
             [](grid const& x, grid const& w, grid const&, grid const&) {
               std::int64_t const n = x.size[0], m = x.size[3];
               grid const y = convolved(made({n, 1, 4, m}, [&](place const& p) { return x({p[0], 1, p[2], p[3]}); }),
                                        made({1, 2, m, 3}, [&](place const& p) { return w({2, p[1], p[2], p[3]}); }),
                                        {{}, {1, 2}, {0, 1}, {0, 1}});
               return made({n, 3, 3}, [&](place const& p) { return y({p[0], 0, p[1], p[2]}); });
             }},
    function{"conv_transpose2d, conv_transpose1d",
             [](auto x, auto w, auto, auto) {
               auto const y = ct::conv2d(x, w);
               auto const image = ct::conv_transpose2d<ct::convolution{.stride = {2, 1}, .padding = {1, 0}}>(y, w); // [n, 5, 4, m]
               return image(ct::all, 0) * 2 + ct::conv_transpose1d(y(ct::all, 1), w(0));
             },
             [](grid const& x, grid const& w, grid const&, grid const&) {
               grid const y = convolved(x, w, {});
               return made({x.size[0], 4, x.size[3]}, [&](place const& p) { // row 0 is row 1 without the border
                 dual s;
                 for (std::int64_t c = 0; c < 3; ++c)
                   for (std::int64_t o = 0; o < 3; ++o)
                     if (std::int64_t const j = p[1] - c; j >= 0 && j < 2)
                       s = s + 2. * y({p[0], 0, c, o}) * w({1, j, p[2], o}) + y({p[0], 1, c, o}) * w({0, j, p[2], o});
                 return s;
               });
             }},
    function{"max_pool2d", [](auto x, auto, auto, auto) { return ct::max_pool2d(x); },
             [](grid const& x, grid const&, grid const&, grid const&) {
               return pooled(x, {{2, 2}, {2, 2}}, largest);
             }},
    function{"max_pool2d with a border, of one image",
             [](auto, auto, auto z, auto) {
               return ct::max_pool2d<ct::pooling{.window = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .padding_end = 0}>(z);
             },
             [](grid const&, grid const&, grid const& z, grid const&) {
               return of_one_image(pooled(one_image(z), {{3, 2}, {2, 1}, {2, 1}}, largest));
             }},
    function{"avg_pool2d", [](auto x, auto, auto, auto) { return ct::avg_pool2d<ct::pooling{.window = {1, 2}}>(x); },
             [](grid const& x, grid const&, grid const&, grid const&) {
               return pooled(x, {{1, 2}, {1, 2}}, mean);
             }},
    function{"avg_pool2d with a border",
             [](auto x, auto, auto, auto) {
               return ct::avg_pool2d<ct::pooling{.window = 3, .stride = {1, 2}, .padding = 1}>(x);
             },
             [](grid const& x, grid const&, grid const&, grid const&) {
               return pooled(x, {{3, 3}, {1, 2}, {1, 1}, {1, 1}}, mean);
             }},
};

} // namespace functions

#endif
