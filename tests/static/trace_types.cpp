// SPDX-License-Identifier: BSL-1.0
// What functions of expressions make of elements and extents.
#include <cotangent/cotangent.hpp>

#include <concepts>
#include <cstdint>

namespace ct = cotangent;
using ct::expr;

template <class Wanted, class Given> consteval bool is(Given const&) { return std::same_as<Wanted, Given>; }

// A function is traced in a constant evaluation: so are its claims about types.
inline constexpr auto claims = [](auto x, auto y, auto n, auto labels) {
  static_assert(is<expr<double, 3, 4>>(decltype(x){}) && is<expr<double, 4>>(decltype(y){}));
  static_assert(is<expr<double, 3, 4>>(decltype(x + y){}) && is<expr<double, 3, 4>>(decltype(y - x){}));
  static_assert(is<expr<double, 3, 4>>(decltype(2 * x / 0.5){}) &&
                is<expr<double, 3, 4>>(decltype(ct::tanh(-x)){}));
  static_assert(is<expr<bool, 3, 4>>(decltype(x > y){}) && is<expr<bool, 3, 4>>(decltype(y == x){}));
  static_assert(is<expr<bool, 3, 4>>(decltype(x == y){}) && is<expr<bool, 3, 4>>(decltype(x != y){}));
  static_assert(is<expr<bool, 4>>(decltype((y == y && 1 < y) || !(y != 2)){}));
  static_assert(is<expr<double, 3, 4>>(decltype(ct::select(x > 0, y, 1)){}));
  static_assert(is<expr<std::int64_t, 3, 4>>(decltype(ct::select(x > 0, std::int64_t(1), std::int64_t(0))){}));
  static_assert(is<expr<std::int64_t, 3, 4>>(decltype(ct::select(x > 0, 1, std::int64_t(0))){}) &&
                is<expr<std::int32_t, 3, 4>>(decltype(ct::select(x > 0, 1, 0)){}));
  static_assert(is<expr<double, 3, 4>>(decltype(ct::select(x > 0, 1, 0.5)){}) &&
                is<expr<double, 3, 4>>(decltype(ct::select(x > 0, 1.5f, 0.5)){}) &&
                is<expr<float, 3, 4>>(decltype(ct::select(x > 0, ct::float16(1.5f), 0)){}));
  static_assert(is<expr<std::int32_t, 3, 4>>(decltype(ct::select(x > 0, true, 2)){}) &&
                is<expr<bool, 3, 4>>(decltype(ct::select(x > 0, true, false)){}));
  static_assert(is<expr<double>>(decltype(ct::sum(x)){}) &&
                is<expr<double, 4>>(decltype(ct::mean(x, ct::axes<0>)){}));
  static_assert(is<expr<double, 3, 1>>(decltype(ct::max(x, ct::axes<-1>, ct::keep)){}));
  static_assert(is<expr<double, 3, 4>>(decltype(ct::sum(x, ct::axes<>)){}), "no axes are none, not all");
  static_assert(is<expr<double, 3>>(decltype(ct::logsumexp(x, ct::axes<1>)){}));
  static_assert(is<expr<std::int64_t, 3>>(decltype(ct::argmax(x)){}) &&
                is<expr<std::int64_t, 4>>(decltype(ct::argmax<0>(x)){}));
  static_assert(is<expr<double, 3, 3>>(decltype(ct::matmul(x, ct::transpose(x))){}));
  static_assert(is<expr<double>>(decltype(ct::dot(y, y)){}));
  static_assert(is<expr<double, 2, 3, 4>>(decltype(ct::broadcast_to<2, 3, 4>(y)){}));
  static_assert(is<expr<double, 2, 6>>(decltype(ct::reshape<2, 6>(x)){}) &&
                is<expr<double, 12>>(decltype(ct::flatten(x)){}));
  static_assert(is<expr<double, 4, 3>>(decltype(ct::permute<1, 0>(x)){}));
  static_assert(is<expr<double, 6, 4>>(decltype(ct::concatenate<0>(x, x)){}));
  static_assert(is<expr<float, "2*n", 3>>(decltype(ct::concatenate<0>(n, n)){}));
  static_assert(is<expr<float, "3*n">>(decltype(ct::flatten(n)){}));
  static_assert(is<expr<float, 3, 3>>(decltype(ct::matmul(ct::transpose(n), n)){}));
  static_assert(is<expr<float, "n">>(decltype(ct::cross_entropy(n, labels)){}));
  static_assert(is<expr<float, "n", 3>>(decltype(ct::one_hot<3>(labels)){}));
  static_assert(is<expr<double, "n", 4>>(decltype(ct::gather(x, labels)){}));
  static_assert(is<expr<float, 7, 3>>(decltype(ct::scatter_add<7>(n, labels)){}));
  static_assert(is<expr<double, 4>>(decltype(x(1)){}) && is<expr<double>>(decltype(x(1, -1)){}));
  static_assert(is<expr<double, 3>>(decltype(x(ct::all, 2)){}));
  static_assert(is<expr<double, 2, 3>>(decltype(x(ct::range<0, 3, 2>, ct::range<1>)){}));
  static_assert(is<expr<float, "n-1", 3>>(decltype(n(ct::range<1>)){}));
  static_assert(is<expr<float, 3, 4>>(decltype(ct::convert<float>(x)){}));
  static_assert(is<expr<double, 3, 4>>(decltype(ct::stop_gradient(x)){}));
  static_assert(is<expr<double, 5>>(decltype(ct::zeros<5>() + ct::ones<5>()){}));
  static_assert(is<expr<float, 5>>(decltype(ct::full<float, 5>(1.5)){}) &&
                is<expr<double>>(decltype(expr<double>(0.0)){}));
  static_assert(is<expr<std::int64_t, 8>>(decltype(ct::iota<8>()){}) &&
                is<expr<double, 8>>(decltype(ct::iota<double, 8>(1, 0.5)){}));
  static_assert(is<double>(decltype(ct::sqrt(2.0)){}), "numbers without an expression stay numbers");
  return ct::sum(x) + ct::sum(y) + ct::convert<double>(ct::sum(n)) + ct::convert<double>(ct::sum(labels));
};
using P = ct::program<decltype(claims), ct::tensor<double, 3, 4>, ct::tensor<double, 4>,
                      ct::tensor<float, "n", 3>, ct::tensor<std::int32_t, "n">>;
static_assert(P::accepted);

// An operand in a loop keeps its type, and what was computed from it does not change with it.
inline constexpr auto newton = [](auto x) {
  auto y = x;
  for (int i = 0; i < 6; ++i) y = 0.5 * (y + x / y);
  auto kept = y;
  y += 1;
  return kept;
};
static_assert(ct::compiled(newton)(2.0) > 1.41421356237309 && ct::compiled(newton)(2.0) < 1.41421356237310);

// Detached values are computed ahead as far as all elements are one number.
inline constexpr auto detached = [](auto x) {
  expr<double> total = 0.0;
  for (int i = 0; i < 3; ++i) total += x(i) * (i + 1);
  total += ct::sum(ct::iota<double, 3>(0.5, 0.25) * x);
  return total + ct::sum(x * (ct::ones<3>() * 2 - 1));
};
static_assert(ct::compiled(detached)(ct::tensor<double, 3>{1, 1, 1}) == 6 + 2.25 + 3);
