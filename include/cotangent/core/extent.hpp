// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_EXTENT_HPP
#define COTANGENT_CORE_EXTENT_HPP

#include <cotangent/core/formula.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace cotangent {

namespace detail {

// Saturating arithmetic of sizes, strides and bytes. No memory can hold the largest number, so allocation
// refuses it.
constexpr std::int64_t capped_sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}
constexpr std::int64_t capped_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : r;
}
/// Bytes rounded up to a multiple of the cache line.
constexpr std::int64_t whole_lines(std::int64_t bytes) noexcept {
  return bytes > INT64_MAX - 63 ? INT64_MAX : (bytes + 63) / 64 * 64;
}

} // namespace detail

/// The size of one axis: a number, or a formula over names that are bound at run time.
///
/// `extent(3)`, `extent("n")` and `extent("2*n+m")` are template arguments; `extent::of`, `extent::named` and
/// `extent::anonymous` also work at run time. The members are public so that an extent can be a template
/// argument; only this header writes to them.
struct extent {
  static constexpr std::int64_t symbolic = -1;
  static constexpr std::int64_t negative = -2;  // `hash` holds the negative number
  static constexpr std::int64_t too_large = -3; // does not fit 64 bits
  static constexpr std::int64_t malformed =
      -4; // neither a number nor a formula; `text` holds the input
  static constexpr std::int64_t mismatch = -5; // a broadcast or a division that does not fit

  std::int64_t number = 0;               // the size if >= 0, else one of the above
  // The hash of the formula as a polynomial. 0 for numbers, but 1 for the number 0: in an array that is part
  // of a template argument, g++ 12 drops elements whose members are all zero.
  std::uint64_t hash = 0;
  char text[detail::formula_capacity]{}; // the formula in its normal form; empty for numbers

  constexpr extent() = default;

  /// @private One statement less than assignment: constant evaluations count statements.
  constexpr extent(std::int64_t state, std::uint64_t value) noexcept : number(state), hash(state == 0 ? 1 : value) {}

  template <std::integral I>
    requires(!std::same_as<I, bool>)
  consteval extent(I n) : number(static_cast<std::int64_t>(n)), hash(n == 0 ? 1 : 0) {
    if (number >= 0) return;
    hash = static_cast<std::uint64_t>(number);
    number = n < I{} ? negative : too_large;
  }

  template <std::size_t N>
  consteval extent(char const (&formula)[N]) {
    *this = named(formula, static_cast<int>(N) - 1);
  }

  static constexpr extent of(std::int64_t n) noexcept {
    return n >= 0 ? extent(n, 0) : extent(negative, static_cast<std::uint64_t>(n));
  }

  /// A name or a formula, parsed at run time; `is_valid()` says whether it parsed.
  static constexpr extent named(char const* formula, int length) noexcept;

  /// The size of an argument's axis that has no name: equal only to itself. Both numbers are below 26.
  static constexpr extent anonymous(int position, int axis = 0) noexcept;

  static constexpr extent refused(std::int64_t why) noexcept { return extent(why, 0); }

  constexpr bool is_number() const noexcept { return number >= 0; }
  constexpr bool is_symbol() const noexcept { return number == symbolic; }
  constexpr bool is_valid() const noexcept { return number >= symbolic; }
  constexpr bool is_anonymous() const noexcept { return text[0] == '?'; }

  /// True for a formula too long to store: it can be compared, but not evaluated.
  constexpr bool overflow() const noexcept { return text[0] == '#'; }

  constexpr int text_length() const noexcept {
    int length = 0;
    while (text[length] != '\0') ++length;
    return length;
  }

  friend constexpr bool operator==(extent const& a, extent const& b) noexcept {
    return a.number == b.number &&
           (a.number >= 0 || (a.hash == b.hash && detail::compare_names(a.text, b.text) == 0));
  }
};

namespace detail {

constexpr std::uint64_t hash_name(char const* name) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (; *name != '\0'; ++name) h = (h ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
  return (h ^ (h >> 29)) | 1u;
}

// The value of the polynomial modulo 2^64 if every name stands for its hash. Sums and products of hashes are
// therefore the hashes of sums and products, even for formulas that overflow.
constexpr std::uint64_t hash_formula(formula const& f) noexcept {
  std::uint64_t sum = 0;
  for (int i = 0; i < f.count; ++i) {
    auto product = static_cast<std::uint64_t>(f.terms[i].coefficient);
    for (int k = 0; k < f.terms[i].degree; ++k) product *= hash_name(f.terms[i].names[k]);
    sum += product;
  }
  return sum;
}

constexpr std::uint64_t hash_value(extent const& e) noexcept {
  return e.number >= 0 ? static_cast<std::uint64_t>(e.number) : e.hash;
}

// The text of a formula that overflows must depend on the polynomial alone, not on how it was computed.
constexpr extent unkept_extent(std::uint64_t hash) noexcept {
  extent result;
  result.number = extent::symbolic;
  result.hash = hash;
  result.text[0] = '#';
  for (unsigned i = 0; i < 16; ++i) result.text[1 + i] = "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15u];
  return result;
}

constexpr extent to_extent(formula const& f) noexcept {
  if (f.failed != formula::nothing)
    return extent::refused(f.failed == formula::malformed ? extent::malformed : extent::too_large);
  if (f.count == 0) return extent::of(0);
  if (f.count == 1 && f.terms[0].degree == 0) return extent::of(f.terms[0].coefficient);
  formula_writer const written = write_formula(f);
  if (!written.fits) return unkept_extent(hash_formula(f));
  extent result;
  result.number = extent::symbolic;
  result.hash = hash_formula(f);
  for (int i = 0; i < written.length; ++i) result.text[i] = written.text[i];
  return result;
}

constexpr formula to_formula(extent const& e) noexcept {
  if (e.number < 0) return parse_formula(e.text, e.text_length());
  formula result{};
  formula_term constant{};
  constant.coefficient = e.number;
  append_term(result, constant);
  return result;
}

// Multiplies the most common formula, a number times a name, without parsing it. Not valid for any other
// formula.
constexpr extent scale(extent const& e, std::int64_t factor) noexcept {
  extent result(extent::symbolic, e.hash * static_cast<std::uint64_t>(factor));
  int at = 0;
  for (std::int64_t had = 0; is_digit(e.text[at]); ++at) {
    had = had * 10 + (e.text[at] - '0');
    if (!is_digit(e.text[at + 1]) && __builtin_mul_overflow(had, factor, &factor))
      return extent::refused(extent::too_large);
  }
  char digits[20]{};
  int count = 0;
  for (std::int64_t rest = factor; rest != 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + static_cast<int>(rest % 10));
  int to = 0;
  while (count > 0) result.text[to++] = digits[--count];
  if (at == 0) result.text[to++] = '*';
  for (; e.text[at] != '\0'; ++at) {
    if (e.text[at] == '+' || e.text[at] == '-' || to == formula_capacity - 1)
      return extent::refused(extent::mismatch);
    result.text[to++] = e.text[at];
  }
  return result;
}

constexpr extent combine(extent const& a, extent const& b, char operation) noexcept {
  if (!a.is_valid()) return a;
  if (!b.is_valid()) return b;
  if (b.number == (operation == '*' ? 1 : 0)) return a;
  if (operation != '-' && a.number == (operation == '*' ? 1 : 0)) return b;
  if (operation == '*' && (a.number == 0 || b.number == 0)) return extent::of(0);
  if (operation == '-' && a == b) return extent::of(0);
  if (operation == '*' && (a.number > 0 || b.number > 0) && !a.overflow() && !b.overflow()) {
    extent const quick = a.number > 0 ? scale(b, a.number) : scale(a, b.number);
    if (quick.number != extent::mismatch) return quick;
  }
  std::uint64_t const x = hash_value(a);
  std::uint64_t const y = hash_value(b);
  if (a.overflow() || b.overflow())
    return unkept_extent(operation == '+' ? x + y : operation == '-' ? x - y : x * y);
  formula const left = to_formula(a);
  formula const right = to_formula(b);
  return to_extent(operation == '+'   ? add(left, right, 1)
                   : operation == '-' ? add(left, right, -1)
                                      : multiply(left, right));
}

} // namespace detail

constexpr extent extent::named(char const* formula, int length) noexcept {
  extent result = detail::to_extent(detail::parse_formula(formula, length));
  if (result.number == malformed)
    for (int i = 0; i < length && i < detail::formula_capacity - 1; ++i) result.text[i] = formula[i];
  return result;
}

constexpr extent extent::anonymous(int position, int axis) noexcept {
  char name[5]{'?'};
  int length = 1;
  if (position >= 10) name[length++] = static_cast<char>('0' + position / 10);
  name[length++] = static_cast<char>('0' + position % 10);
  if (axis > 0) name[length++] = static_cast<char>('a' + axis);
  return named(name, length);
}

constexpr extent operator+(extent const& a, extent const& b) noexcept {
  if (std::int64_t sum = 0; a.number >= 0 && b.number >= 0)
    return __builtin_add_overflow(a.number, b.number, &sum) ? extent::refused(extent::too_large)
                                                            : extent::of(sum);
  return detail::combine(a, b, '+');
}

constexpr extent operator-(extent const& a, extent const& b) noexcept {
  if (a.number >= 0 && b.number >= 0) return extent::of(a.number - b.number);
  return detail::combine(a, b, '-');
}

constexpr extent operator*(extent const& a, extent const& b) noexcept {
  if (std::int64_t product = 0; a.number >= 0 && b.number >= 0)
    return __builtin_mul_overflow(a.number, b.number, &product) ? extent::refused(extent::too_large)
                                                                : extent::of(product);
  return detail::combine(a, b, '*');
}

namespace detail {

/// The quotient if `b` divides `a` exactly (as polynomials), else an invalid extent.
constexpr extent divide(extent const& a, extent const& b) noexcept {
  if (a.number >= 0 && b.number > 0)
    return a.number % b.number == 0 ? extent::of(a.number / b.number) : extent::refused(extent::mismatch);
  if (!a.is_valid()) return a;
  if (!b.is_valid()) return b;
  if (b.number == 0) return extent::refused(extent::mismatch);
  if (b.number == 1) return a;
  if (a == b) return extent::of(1);
  if (a.overflow() || b.overflow()) return extent::refused(extent::mismatch);
  formula const quotient = divide(to_formula(a), to_formula(b));
  return quotient.failed != formula::nothing ? extent::refused(extent::mismatch)
                                                  : to_extent(quotient);
}

/// Broadcasts axes of sizes `a` and `b` as NumPy does; invalid if they do not fit.
constexpr extent broadcast_extents(extent const& a, extent const& b) noexcept {
  if (b.number == 1 || a == b) return a;
  if (a.number == 1) return b;
  return extent::refused(extent::mismatch);
}

/// The size of the extent, where `lookup(char const* name, int length)` gives the sizes of names. Negative if
/// a name is unknown (`lookup` returned a negative number), the formula overflows, or its value is negative
/// or does not fit 64 bits.
template <class Lookup>
constexpr std::int64_t evaluate(extent const& e, Lookup const& lookup) {
  if (e.number >= 0) return e.number;
  if (!e.is_symbol() || e.overflow()) return e.is_symbol() ? extent::too_large : e.number;
  int plain = 0;
  while (is_letter(e.text[plain]) || e.text[plain] == '?' ||
         (plain > 0 && is_digit(e.text[plain])))
    ++plain;
  if (e.text[plain] == '\0') {
    std::int64_t const size = lookup(e.text, plain);
    return size < 0 ? extent::malformed : size;
  }
  formula const f = to_formula(e);
  std::int64_t sum = 0;
  for (int i = 0; i < f.count; ++i) {
    std::int64_t product = f.terms[i].coefficient;
    for (int k = 0; k < f.terms[i].degree; ++k) {
      char const* const name = f.terms[i].names[k];
      int length = 0;
      while (name[length] != '\0') ++length;
      std::int64_t const size = lookup(name, length);
      if (size < 0) return extent::malformed;
      if (__builtin_mul_overflow(product, size, &product)) return extent::too_large;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return extent::too_large;
  }
  return sum < 0 ? extent::negative : sum;
}

} // namespace detail
} // namespace cotangent

#endif
