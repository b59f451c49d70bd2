// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_FORMULAS_HPP
#define COTANGENT_IO_EMIT_FORMULAS_HPP

#include <cotangent/core/element.hpp>

#include <cstring>
#include <string>

// Elementwise operations as C++ expressions of standard functions.

namespace cotangent::detail {

/// The C++ text of an operation: $0, $1, $2 are its operands, $T is the type of its result, $U that of the same integers without a
/// sign, $P the namespace of the helpers. A helper is a function template, which is written once into each program that calls it.
struct cpp_formula {
  char const* name;
  char const* text;
  char const* helper = nullptr;
  char const* header = nullptr; // of this library, for functions that the standard library lacks
};

/// Arithmetic of integers, which wraps.
inline constexpr cpp_formula cpp_integer_formulas[] = {
    {"add", "static_cast<$T>($U($0) + $U($1))"},
    {"sum", "static_cast<$T>($U($0) + $U($1))"},
    {"sub", "static_cast<$T>($U($0) - $U($1))"},
    {"mul", "static_cast<$T>($U($0) * $U($1))"},
    {"square", "static_cast<$T>($U($0) * $U($0))"},
    {"neg", "static_cast<$T>(0 - $U($0))"},
    {"abs", "$0 < 0 ? static_cast<$T>(0 - $U($0)) : $0"},
};

inline constexpr char const cpp_max[] = "template <class T> T max(T a, T b) { return a > b || a != a ? a : b; }",
                            cpp_min[] = "template <class T> T min(T a, T b) { return a < b || a != a ? a : b; }";

inline constexpr cpp_formula cpp_formulas[] = {
    {"convert", "static_cast<$T>($0)"},
    {"identity", "$0"},
    {"stop_gradient", "$0"},
    {"add", "$0 + $1"},
    {"sub", "$0 - $1"},
    {"mul", "$0 * $1"},
    {"div", "$0 / $1"},
    {"neg", "-$0"},
    {"fma", "$0 * $1 + $2"},
    {"quotient", "$Pquotient($0, $1)",
     "template <class T> T quotient(T a, T b) { return b == 0 ? T(-1) : b == -1 ? T(0 - std::make_unsigned_t<T>(a)) : T(a / b); }"},
    {"remainder", "$Premainder($0, $1)", "template <class T> T remainder(T a, T b) { return b == 0 ? a : b == -1 ? T(0) : T(a % b); }"},
    {"equal", "$0 == $1"},
    {"not_equal", "$0 != $1"},
    {"less", "$0 < $1"},
    {"less_equal", "$0 <= $1"},
    {"and", "$0 && $1"},
    {"or", "$0 || $1"},
    {"not", "!$0"},
    {"select", "$0 ? $1 : $2"},
    {"max", "$Pmax($0, $1)", cpp_max},
    {"reduce_max", "$Pmax($0, $1)", cpp_max},
    {"min", "$Pmin($0, $1)", cpp_min},
    {"reduce_min", "$Pmin($0, $1)", cpp_min},
    {"sum", "$0 + $1"},
    {"square", "$0 * $0"},
    {"reciprocal", "$T(1) / $0"},
    {"abs", "std::abs($0)"},
    {"sign", "$0 > 0 ? $T(1) : $0 < 0 ? $T(-1) : $0"},
    {"relu", "$0 < 0 ? $T(0) : $0"},
    {"floor", "std::floor($0)"},
    {"round", "std::nearbyint($0)"},
    {"exp", "std::exp($0)"},
    {"exp2", "std::exp2($0)"},
    {"expm1", "std::expm1($0)"},
    {"log", "std::log($0)"},
    {"log2", "std::log2($0)"},
    {"log10", "std::log10($0)"},
    {"log1p", "std::log1p($0)"},
    {"sqrt", "std::sqrt($0)"},
    {"cbrt", "std::cbrt($0)"},
    {"sin", "std::sin($0)"},
    {"cos", "std::cos($0)"},
    {"tan", "std::tan($0)"},
    {"asin", "std::asin($0)"},
    {"acos", "std::acos($0)"},
    {"atan", "std::atan($0)"},
    {"sinh", "std::sinh($0)"},
    {"cosh", "std::cosh($0)"},
    {"tanh", "std::tanh($0)"},
    {"asinh", "std::asinh($0)"},
    {"acosh", "std::acosh($0)"},
    {"atanh", "std::atanh($0)"},
    {"erf", "std::erf($0)"},
    {"erfc", "std::erfc($0)"},
    {"lgamma", "std::lgamma($0)"},
    {"pow", "std::pow($0, $1)"},
    {"atan2", "std::atan2($0, $1)"},
    {"hypot", "std::hypot($0, $1)"},
    {"fmod", "std::fmod($0, $1)"},
    {"copysign", "std::copysign($0, $1)"},
    {"sigmoid", "$Psigmoid($0)",
     "template <class T> T sigmoid(T x) { T const e = std::exp(-std::abs(x)); return (x < 0 ? e : T(1)) / (T(1) + e); }"},
    {"softplus", "$Psoftplus($0)", "template <class T> T softplus(T x) { return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x))); }"},
    {"xlogy", "$Pxlogy($0, $1)", "template <class T> T xlogy(T x, T y) { return x == 0 && y == y ? T(0) : x * std::log(y); }"},
    {"digamma", "cotangent::op::digamma::apply($0)", nullptr, "cotangent.hpp"},
    {"trigamma", "cotangent::op::trigamma::apply($0)", nullptr, "cotangent.hpp"},
    {"tetragamma", "cotangent::op::tetragamma::apply($0)", nullptr, "cotangent.hpp"},
    {"pentagamma", "cotangent::op::pentagamma::apply($0)", nullptr, "cotangent.hpp"},
    {"erfinv", "cotangent::op::erfinv::apply($0)", nullptr, "cotangent.hpp"},
    {"normal_cdf", "cotangent::op::normal_cdf::apply($0)", nullptr, "cotangent.hpp"},
    {"normal_log_cdf", "cotangent::op::normal_log_cdf::apply($0)", nullptr, "cotangent.hpp"},
    {"normal_quantile", "cotangent::op::normal_quantile::apply($0)", nullptr, "special.hpp"},
    {"gammainc", "cotangent::op::gammainc::apply($0, $1)", nullptr, "special.hpp"},
    {"gammaincc", "cotangent::op::gammaincc::apply($0, $1)", nullptr, "special.hpp"},
    {"gamma_density", "cotangent::op::gamma_density::apply($0, $1)", nullptr, "special.hpp"},
    {"gammainc_slope", "cotangent::op::gammainc_slope::apply($0, $1)", nullptr, "special.hpp"},
    {"gammainc_curve", "cotangent::op::gammainc_curve::apply($0, $1)", nullptr, "special.hpp"},
    {"gammaincinv", "cotangent::op::gammaincinv::apply($0, $1)", nullptr, "special.hpp"},
    {"sinc_of_square", "cotangent::op::sinc_of_square::apply($0)", nullptr, "geometry.hpp"},
    {"cos_of_square", "cotangent::op::cos_of_square::apply($0)", nullptr, "geometry.hpp"},
    {"random24", "cotangent::op::random24::apply($0, $1)", nullptr, "random.hpp"},
    {"random53", "cotangent::op::random53::apply($0, $1)", nullptr, "random.hpp"},
    {"second_random24", "cotangent::op::second_random24::apply($0, $1)", nullptr, "random.hpp"},
    {"second_random53", "cotangent::op::second_random53::apply($0, $1)", nullptr, "random.hpp"},
    {"cholesky_pivot", "$0"}, // the identity, which reports in other programs
    {"inverse_pivot", "$0"},
    {"triangle_pivot", "$0"},
    {"solve_pivot", "$0"},
};

/// Functions of whole tensors are called in this library: their names, and their headers.
inline constexpr cpp_formula cpp_whole_functions[] = {
    {"argsort", "cotangent.hpp"},
    {"running_argmax", "cotangent.hpp"},
    {"segment_argmax", "cotangent.hpp"},
    {"conv2d", "images.hpp"},
    {"conv2d_image", "images.hpp"},
    {"conv2d_weight", "images.hpp"},
    {"max_pool2d", "images.hpp"},
    {"max_pool2d_image", "images.hpp"},
    {"max_pool2d_tangent", "images.hpp"},
    {"avg_pool2d", "images.hpp"},
    {"avg_pool2d_image", "images.hpp"},
    {"cholesky", "linalg.hpp"},
    {"cholesky_adjoint", "linalg.hpp"},
    {"triangular_solve", "linalg.hpp"},
    {"lu", "linalg.hpp"},
    {"lu_solve", "linalg.hpp"},
    {"lu_determinant", "linalg.hpp"},
    {"qr", "linalg.hpp"},
    {"eigh", "linalg.hpp"},
    {"svd", "linalg.hpp"},
    {"expm", "linalg.hpp"},
    {"searchsorted", "tables.hpp"},
    {"tridiagonal_solve", "tables.hpp"},
    {"pick", "tables.hpp"},
    {"place", "tables.hpp"},
};

template <int N> cpp_formula const* formula_in(cpp_formula const (&list)[N], char const* name) noexcept {
  for (cpp_formula const& f : list)
    if (std::strcmp(f.name, name) == 0) return &f;
  return nullptr;
}

inline char const* cpp_type(element e) noexcept {
  switch (e) {
  case element::float32: return "float";
  case element::float64: return "double";
  case element::int32: return "std::int32_t";
  case element::int64: return "std::int64_t";
  case element::boolean: return "bool";
  case element::float16:
  case element::bfloat16: break; // a program with half precision is refused
  }
  return "void";
}

/// The integer types of wrapped arithmetic.
inline char const* cpp_unsigned(element e) noexcept { return e == element::int32 ? "std::uint32_t" : "std::uint64_t"; }

} // namespace cotangent::detail

#endif
