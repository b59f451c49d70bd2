// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_FORMULA_HPP
#define COTANGENT_CORE_FORMULA_HPP

#include <cstdint>

namespace cotangent::detail {

// Polynomials with integer coefficients over names, in a normal form. Terms are sorted by descending degree,
// then by their names: a monomial order, so that long division terminates. Names within a term are sorted,
// and no coefficient is zero. Two formulas are equal if and only if their texts are.

inline constexpr int name_capacity = 16; // includes the terminating zero
inline constexpr int formula_capacity = 48;

struct formula_term {
  static constexpr int max_degree = 8;
  std::int64_t coefficient = 0;
  int degree = 0;
  char names[max_degree][name_capacity]{};
};

struct formula {
  static constexpr int max_terms = formula_capacity / 2;
  enum failure : unsigned char { nothing, malformed, does_not_fit };
  failure failed = nothing;
  int count = 0;
  formula_term terms[max_terms]{};
};

constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr int compare_names(char const* a, char const* b) noexcept {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<int>(static_cast<unsigned char>(*a)) - static_cast<int>(static_cast<unsigned char>(*b));
}

constexpr int compare_monomials(formula_term const& a, formula_term const& b) noexcept {
  if (a.degree != b.degree) return b.degree - a.degree;
  for (int i = 0; i < a.degree; ++i)
    if (int const order = compare_names(a.names[i], b.names[i]); order != 0) return order;
  return 0;
}

constexpr void copy_name(char* to, char const* from) noexcept {
  int length = 0;
  for (; length < name_capacity - 1 && from[length] != '\0'; ++length) to[length] = from[length];
  for (; length < name_capacity; ++length) to[length] = '\0';
}

/// Multiplies a term by a name; false if there is no room.
constexpr bool append_name(formula_term& t, char const* name) noexcept {
  if (t.degree == formula_term::max_degree) return false;
  int at = t.degree++;
  for (; at > 0 && compare_names(t.names[at - 1], name) > 0; --at) copy_name(t.names[at], t.names[at - 1]);
  copy_name(t.names[at], name);
  return true;
}

constexpr void append_term(formula& f, formula_term const& t) noexcept {
  if (t.coefficient == 0 || f.failed != formula::nothing) return;
  int at = 0;
  while (at < f.count && compare_monomials(f.terms[at], t) < 0) ++at;
  if (at < f.count && compare_monomials(f.terms[at], t) == 0) {
    std::int64_t& sum = f.terms[at].coefficient;
    if (__builtin_add_overflow(sum, t.coefficient, &sum)) f.failed = formula::does_not_fit;
    if (sum != 0) return;
    --f.count;
    for (; at < f.count; ++at) f.terms[at] = f.terms[at + 1];
    return;
  }
  if (f.count == formula::max_terms) {
    f.failed = formula::does_not_fit;
    return;
  }
  for (int i = f.count++; i > at; --i) f.terms[i] = f.terms[i - 1];
  f.terms[at] = t;
}

constexpr formula_term multiply(formula_term const& a, formula_term const& b, formula& failing) noexcept {
  formula_term result = a;
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &result.coefficient))
    failing.failed = formula::does_not_fit;
  for (int i = 0; i < b.degree; ++i)
    if (!append_name(result, b.names[i])) failing.failed = formula::does_not_fit;
  return result;
}

constexpr formula add(formula a, formula const& b, std::int64_t sign) noexcept {
  if (b.failed != formula::nothing) return b;
  for (int i = 0; i < b.count; ++i) {
    formula_term t = b.terms[i];
    if (__builtin_mul_overflow(t.coefficient, sign, &t.coefficient)) a.failed = formula::does_not_fit;
    append_term(a, t);
  }
  return a;
}

constexpr formula multiply(formula const& a, formula const& b) noexcept {
  formula result{};
  for (int i = 0; i < a.count; ++i)
    for (int k = 0; k < b.count; ++k) append_term(result, multiply(a.terms[i], b.terms[k], result));
  if (a.failed != formula::nothing) result.failed = a.failed;
  if (b.failed != formula::nothing) result.failed = b.failed;
  return result;
}

/// Divides a monomial by another; false if it does not divide exactly.
constexpr bool divide(formula_term const& a, formula_term const& b, formula_term& quotient) noexcept {
  if (b.coefficient == 0 || (b.coefficient == -1 && a.coefficient == INT64_MIN)) return false;
  if (a.coefficient % b.coefficient != 0) return false;
  quotient = formula_term{};
  quotient.coefficient = a.coefficient / b.coefficient;
  int k = 0;
  for (int i = 0; i < a.degree; ++i) {
    if (k < b.degree && compare_names(a.names[i], b.names[k]) == 0) ++k;
    else append_name(quotient, a.names[i]);
  }
  return k == b.degree;
}

/// Long division; `malformed` if there is a remainder.
constexpr formula divide(formula a, formula const& b) noexcept {
  formula result{};
  if (b.count == 0) result.failed = formula::malformed;
  while (a.count != 0 && result.failed == formula::nothing && a.failed == formula::nothing) {
    formula step{};
    formula_term t{};
    if (!divide(a.terms[0], b.terms[0], t)) result.failed = formula::malformed;
    append_term(step, t);
    append_term(result, t);
    a = add(a, multiply(step, b), -1);
  }
  if (a.failed != formula::nothing) result.failed = a.failed;
  return result;
}

/// Reads sums of products of numbers and names: "n", "3*n", "m + n", "2*m*n-4", and the anonymous "?0".
constexpr formula parse_formula(char const* text, int length) noexcept {
  formula result{};
  int at = 0;
  auto const skip = [&] {
    while (at < length && text[at] == ' ') ++at;
  };
  auto const refuse = [&](formula::failure why) {
    result.failed = why;
    return result;
  };
  skip();
  for (bool first = true; at < length || first; first = false) {
    formula_term t{};
    t.coefficient = 1;
    if (at < length && (text[at] == '-' || (!first && text[at] == '+')))
      t.coefficient = text[at++] == '-' ? -1 : 1;
    else if (!first) return refuse(formula::malformed);
    for (bool more = true; more;) {
      skip();
      if (at >= length) return refuse(formula::malformed);
      if (is_digit(text[at])) {
        std::int64_t number = 0;
        for (; at < length && is_digit(text[at]); ++at)
          if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
              __builtin_add_overflow(number, std::int64_t{text[at] - '0'}, &number))
            return refuse(formula::does_not_fit);
        if (__builtin_mul_overflow(t.coefficient, number, &t.coefficient))
          return refuse(formula::does_not_fit);
      } else if (is_letter(text[at]) || (text[at] == '?' && at + 1 < length && is_digit(text[at + 1]))) {
        char name[name_capacity]{};
        int size = 0;
        do {
          if (size == name_capacity - 1) return refuse(formula::malformed);
          name[size++] = text[at++];
        } while (at < length && (is_letter(text[at]) || is_digit(text[at])));
        if (!append_name(t, name)) return refuse(formula::does_not_fit);
      } else {
        return refuse(formula::malformed);
      }
      skip();
      more = at < length && text[at] == '*';
      if (more) ++at;
    }
    append_term(result, t);
  }
  return result;
}

struct formula_writer {
  char text[formula_capacity]{};
  int length = 0;
  bool fits = true;
  constexpr void put(char c) noexcept {
    if (length < formula_capacity - 1) text[length++] = c;
    else fits = false;
  }
  constexpr void put_number(std::uint64_t n) noexcept {
    if (n >= 10) put_number(n / 10);
    put(static_cast<char>('0' + static_cast<int>(n % 10)));
  }
};

constexpr formula_writer write_formula(formula const& f) noexcept {
  formula_writer out{};
  if (f.count == 0) out.put('0');
  for (int i = 0; i < f.count; ++i) {
    formula_term const& t = f.terms[i];
    bool const negative = t.coefficient < 0;
    auto const magnitude =
        negative ? 0 - static_cast<std::uint64_t>(t.coefficient) : static_cast<std::uint64_t>(t.coefficient);
    if (negative) out.put('-');
    else if (i != 0) out.put('+');
    if (magnitude != 1 || t.degree == 0) out.put_number(magnitude);
    for (int k = 0; k < t.degree; ++k) {
      if (k != 0 || magnitude != 1) out.put('*');
      for (int c = 0; t.names[k][c] != '\0'; ++c) out.put(t.names[k][c]);
    }
  }
  return out;
}

} // namespace cotangent::detail

#endif
