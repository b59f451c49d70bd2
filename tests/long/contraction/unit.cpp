// SPDX-License-Identifier: BSL-1.0
// Prints the bits of every elementwise operation, of a sum with it and of a difference, at random numbers: one line for each
// operation and element, which also says whether vectors differ. Built with and without contraction, the lines have to be equal.
#include <cotangent/all.hpp>
#include <cotangent/ops/all.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {
namespace math = cotangent::math;
using cotangent::operations;

struct dice {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  }
  double real() {
    double const u = static_cast<double>(next() >> 11) * 0x1p-53;
    switch (next() % 4) {
    case 0: return (2 * u - 1) * 3;
    case 1: return (2 * u - 1) * 30;
    case 2: return u;
    default: return std::ldexp(2 * u - 1, static_cast<int>(next() % 60) - 30);
    }
  }
};

template <class Op, class V> auto value(V const (&x)[3]) {
  if constexpr (Op::arity == 1) return Op::apply(x[0]);
  else if constexpr (Op::arity == 2) return Op::apply(x[0], x[1]);
  else return Op::apply(x[0], x[1], x[2]);
}

template <class Op, class T, int W> std::uint64_t bits() {
  using V = math::vector<T, W>;
  constexpr int n = 16;
  dice d;
  std::uint64_t hash = 1469598103934665603u;
  for (int round = 0; round < 4000; ++round) {
    T in[3][n], out[3][n];
    for (auto& row : in)
      for (T& x : row) x = static_cast<T>(d.real());
    for (int j = 0; j < n; j += W) {
      V x[3];
      for (int k = 0; k < 3; ++k) std::memcpy(&x[k], in[k] + j, sizeof(V));
      V const y = value<Op>(x), results[]{y, value<Op>(x) + x[1], x[1] - value<Op>(x)};
      for (int k = 0; k < 3; ++k) std::memcpy(out[k] + j, &results[k], sizeof(V));
    }
    for (auto& row : out)
      for (T const y : row) {
        std::uint64_t word = 1; // any NaN
        if (y == y) word = 0, std::memcpy(&word, &y, sizeof(T));
        hash = (hash ^ word) * 1099511628211u;
      }
  }
  return hash;
}

int wrong = 0, seen = 0;

template <class Op, class T> void print() {
  constexpr int lanes = 32 / sizeof(T);
  std::uint64_t const scalar = bits<Op, T, 1>(), vector = bits<Op, T, lanes>();
  std::printf("%s %d %016llx%s\n", Op::name, static_cast<int>(sizeof(T)), static_cast<unsigned long long>(scalar),
              scalar == vector ? "" : " differs in vectors");
  wrong += scalar != vector, ++seen;
}

template <class Op>
concept of_numbers = requires { requires cotangent::detail::accepts(Op::operands, cotangent::element::float64); } &&
                     !std::same_as<Op, cotangent::op::select> && requires(double const (&x)[3]) {
                       { value<Op>(x) } -> std::same_as<double>;
                     };

template <class Op> void each() {
  if constexpr (cotangent::info_of<Op>()->kind == cotangent::operation_kind::elementwise)
    if constexpr (of_numbers<Op>) print<Op, float>(), print<Op, double>();
}
template <class... Ops> void all_of(operations<Ops...>) { (each<Ops>(), ...); }
} // namespace

int main() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;
#endif
  all_of(cotangent::detail::all_operations{});
  return wrong == 0 && seen > 100 ? 0 : 1;
}
