// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_PRINT_HPP
#define COTANGENT_TRACE_EXPRESSIONS_PRINT_HPP

#include <cotangent/core/print.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/rule.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <type_traits>

// Values that a program prints when it runs.

namespace cotangent {
namespace detail {

/// A stream to the standard output, without <ostream>. Numbers have the fewest of 6, 9 and 17 digits that read back as the number.
class standard_output {
public:
  standard_output& operator<<(char c) {
    (void)std::fputc(c, stdout);
    return *this;
  }
  standard_output& operator<<(char const* text) {
    (void)std::fputs(text, stdout);
    return *this;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  standard_output& operator<<(T value) {
    char text[40];
    if constexpr (std::is_integral_v<T>) (void)std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    else
      for (int const digits : {6, 9, 17}) {
        (void)std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
        if (static_cast<T>(std::strtod(text, nullptr)) == value) break;
      }
    return *this << static_cast<char const*>(text);
  }
};

} // namespace detail

namespace op {

/// The operand, which is printed when the program runs. Attributes: a number of its own, so that no other one is equal; the number
/// of characters of the label; its characters, 8 in each. Adjoint: dy.
struct print : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const* name = "print";
  static constexpr float cost = 10000; // recomputing costs more than saving
  static constexpr bool prints = true;

  static constexpr void infer(inference& r) { r.like(0); }
  static constexpr term of(term x, char const* label) {
    detail::array<std::int64_t> attributes;
    attributes.push(x.b->get().nodes.size());
    attributes.push(0);
    for (; label[attributes[1]] != '\0'; ++attributes[1]) {
      int const at = static_cast<int>(attributes[1] % 8);
      if (at == 0) attributes.push(0);
      attributes[attributes.size() - 1] |= static_cast<std::int64_t>(
          static_cast<std::uint64_t>(static_cast<unsigned char>(label[attributes[1]])) << (8 * at));
    }
    x.b->prints = true;
    return {x.b, x.b->push(info_of<print>(), &x.id, 1, attributes.data(), attributes.size(), x.b->place)};
  }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, r.dy()); }
  static constexpr void tangent(tangent_rule& r) { r.give(r.dx()); }
  static constexpr void batch(batch_rule& r) {
    extend::symbol const x = r.every(0).id;
    r.give({&r.b, r.b.push(r.at.op, &x, 1, r.b.get().numbers.data() + r.at.attribute, r.at.attribute_count, r.b.place)});
  }

  template <class T> static constexpr void compute(whole_call const& c, bool writes) {
    T const* const x = c.operand[0].data<T>();
    T* const y = c.result.data<T>();
    for (std::int64_t k = 0, n = c.result.count(); k < n; ++k) y[k] = x[k];
    if (writes) write(c, x);
  }
  /// Copies operand 0, and writes it.
  static constexpr void copy(whole_call const& c, bool writes) {
    switch (c.result.type) {
    case element::float32: return compute<float>(c, writes);
    case element::float64: return compute<double>(c, writes);
    case element::int32: return compute<std::int32_t>(c, writes);
    case element::int64: return compute<std::int64_t>(c, writes);
    case element::boolean: return compute<bool>(c, writes);
    case element::float16:
    case element::bfloat16: return; // (the builder refuses them)
    }
  }
  static constexpr void whole(whole_call const& c) { copy(c, !std::is_constant_evaluated()); }

private:
  template <class T> static void write(whole_call const& c, T const* x) {
    detail::standard_output out;
    for (std::int64_t k = 0; k < c.attribute[1]; ++k)
      out << static_cast<char>(static_cast<std::uint64_t>(c.attribute[2 + k / 8]) >> (8 * (k % 8)) & 0xff);
    if (c.attribute[1] != 0) out << (c.result.rank > 1 ? " =\n" : " = ");
    detail::print_axis(out, x, c.result.size, 0, c.result.rank, c.result.count() <= detail::printed_in_full);
    out << '\n';
  }
};

/// Operand 0. Operand 1 is computed too, since that prints (`hold_prints`). Adjoint: dy.
struct hold : extend::primitive<operation_kind::whole, 2> {
  static constexpr char const* name = "hold";
  static constexpr float cost = 10000;
  static constexpr bool prints = true;

  static constexpr void infer(inference& r) { r.like(0); }
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, r.dy());
  }
  static constexpr void tangent(tangent_rule& r) {
    if (r.has(0)) r.give({&r.b, r.tangent[0]});
  }
  static constexpr void batch(batch_rule& r) {
    extend::symbol const both[]{r.every(0).id, r.every(1).id};
    r.give({&r.b, r.b.push(info_of<hold>(), both, 2, nullptr, 0, r.b.place)});
  }
  static constexpr void whole(whole_call const& c) { print::copy(c, false); }
};

} // namespace op

namespace detail {

struct print_fn {
  static constexpr char const* name = "print";
  using emits = operations<>;
  using uses = operations<op::print, op::hold>;
  char const* label = "";
  constexpr term operator()(term x) const { return op::print::of(x, label); }
};

} // namespace detail

/// The expression x, whose value is printed on the standard output when the program computes it: `y = ct::print(y, "y")`.
///
/// Shapes, value: those of x. Each call of `print` prints, and is never merged with another one. In a traced function, and in the body
///   of a loop, a branch, or a mapped function, it is never removed: it prints where a derivative does not need the value, and where
///   nothing uses the result. Outside of bodies, a value of a run-time graph that nothing needs is not computed.
/// Adjoint: the identity. An adjoint does not print; under `ct::vmap`, all rows are printed at once.
/// Domain: constant evaluations print nothing.
/// Cost: x is stored, which separates loops that would have been fused.
/// Checked: tests/static/print.cpp, tests/runtime/print.cpp.
template <detail::operand X>
constexpr auto print(X const& x, char const* label = "", std::source_location where = std::source_location::current()) {
  if constexpr (detail::is_expr<X>) {
    if (x.standing().b == nullptr) return x; // a constant without a graph
    return detail::lift_as<X>(where, detail::print_fn{label}, x);
  } else return detail::lift(where, detail::print_fn{label}, x);
}

} // namespace cotangent

#endif
