// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_EINSUM_HPP
#define COTANGENT_OPS_LINALG_EINSUM_HPP

#include <cotangent/ops/linalg/products.hpp>

#include <cstdint>
#include <string_view>

// Sums of products in the notation of Einstein, planned as diagonals, sums, and products of pairs of operands.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(einsum_character, less_than, position_of_character, number_of_characters, "cotangent: einsum: the subscripts must be letters, with commas between operands and -> before those of the result")
COTANGENT_REFUSAL(einsum_operands, equal, operands_in_subscripts, operands_given, "cotangent: einsum: there must be subscripts for each operand")
COTANGENT_REFUSAL(einsum_rank, equal, letters_of_operand, rank_of_operand, "cotangent: einsum: there must be one letter for each axis of an operand")
COTANGENT_REFUSAL(einsum_extent, equal, extent_of_letter, extent_of_same_letter, "cotangent: einsum: a letter must stand for axes of one extent")
COTANGENT_REFUSAL(einsum_result, less_than, position_of_letter, letters_of_result, "cotangent: einsum: every letter of the result must occur there once, and in an operand")
// clang-format on
} // namespace refusals

namespace detail::einsum {

inline constexpr int most_operands = 8;

/// A set of letters as bits.
using letters = std::uint64_t;
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr letters bit(char c) noexcept { return letters{1} << (c >= 'a' ? c - 'a' : c - 'A' + 26); }

/// A tensor with a letter for each axis.
struct operand {
  term x;
  int rank = 0;
  char at[max_rank]{};

  constexpr int find(char c) const noexcept {
    for (int k = 0; k < rank; ++k)
      if (at[k] == c) return k;
    return -1;
  }
  constexpr letters all() const noexcept {
    letters set = 0;
    for (int k = 0; k < rank; ++k) set |= bit(at[k]);
    return set;
  }
  constexpr dimension size(char c) const { return x.dims().size[find(c)]; }
};

/// The subscripts of all operands, and those of the result.
struct subscripts {
  operand of[most_operands]{};
  operand result;
  int count = 1;
};

/// Without "->", the result has the letters that occur once, in alphabetical order.
constexpr subscripts parse(builder& b, std::string_view text) {
  subscripts s;
  bool arrow = false;
  auto const refuse = [&](std::size_t at) {
    b.refuse<refusals::einsum_character>(static_cast<dimension>(at), static_cast<dimension>(text.size()), b.place);
    return s;
  };
  for (std::size_t k = 0; k < text.size(); ++k) {
    char const c = text[k];
    operand& to = arrow ? s.result : s.of[s.count - 1];
    if (c == ' ') continue;
    if (is_letter(c) && to.rank < max_rank) to.at[to.rank++] = c;
    else if (c == ',' && !arrow && s.count < most_operands) ++s.count;
    else if (c == '-' && !arrow && k + 1 < text.size() && text[k + 1] == '>') arrow = true, ++k;
    else return refuse(k);
  }
  if (arrow) return s;
  for (int c = 0; c < 52; ++c) {
    char const letter = static_cast<char>(c < 26 ? 'A' + c : 'a' + c - 26);
    int seen = 0;
    for (int k = 0; k < s.count; ++k)
      for (int a = 0; a < s.of[k].rank; ++a) seen += s.of[k].at[a] == letter ? 1 : 0;
    if (seen != 1) continue;
    if (s.result.rank < max_rank) s.result.at[s.result.rank] = letter;
    ++s.result.rank;
  }
  if (s.result.rank > max_rank) {
    b.refuse<refusals::rank_too_large>(s.result.rank, max_rank, b.place);
    s.result.rank = max_rank;
  }
  return s;
}

/// True if the axes of each letter have one extent; else the failure is recorded.
constexpr bool extents_fit(builder& b, subscripts const& s) {
  for (int k = 0; k < s.count; ++k)
    for (int a = 0; a < s.of[k].rank; ++a)
      for (int m = 0; m <= k; ++m) {
        dimension const one = s.of[m].find(s.of[k].at[a]) < 0 ? s.of[k].x.dims().size[a] : s.of[m].size(s.of[k].at[a]);
        dimension const other = s.of[k].x.dims().size[a];
        if (one != other) return b.refuse<refusals::einsum_extent>(one, other, b.place), false;
      }
  return true;
}

constexpr void drop_axis(operand& o, int axis) {
  for (int k = axis; k + 1 < o.rank; ++k) o.at[k] = o.at[k + 1];
  --o.rank;
}
/// Repeated letters become one axis. Elements off the diagonal may be NaN.
constexpr void take_diagonals(operand& o) {
  for (int k = 0; k < o.rank; ++k)
    for (int m = o.rank - 1; m > k; --m)
      if (o.at[m] == o.at[k]) {
        o.x = extend::diagonal_of(o.x, k, m);
        drop_axis(o, m);
      }
}
/// Sums over the axes whose letters are not in `keep`.
constexpr void sum_out(operand& o, letters keep) {
  std::uint32_t mask = 0;
  for (int k = 0; k < o.rank; ++k)
    if ((bit(o.at[k]) & keep) == 0) mask |= 1u << k;
  if (mask == 0) return;
  o.x = extend::sum(o.x, mask);
  for (int k = o.rank - 1; k >= 0; --k)
    if ((mask >> k & 1u) != 0) drop_axis(o, k);
}
/// The axes in the order of `wanted`, which has the same letters.
constexpr term arranged(operand const& o, operand const& wanted) {
  std::int64_t axes[max_rank]{};
  bool same = true;
  for (int k = 0; k < wanted.rank; ++k) {
    axes[k] = o.find(wanted.at[k]);
    same = same && axes[k] == k;
  }
  return same ? o.x : op::permute::of(o.x, axes);
}

/// Appends the letters of `from` that are in `set`, with their sizes; returns the product of the sizes.
constexpr dimension append(operand& to, dimensions& sizes, operand const& from, letters set) {
  dimension product = 1;
  for (int k = 0; k < from.rank; ++k)
    if ((bit(from.at[k]) & set) != 0 && to.rank < max_rank) {
      dimension const size = from.x.dims().size[k];
      to.at[to.rank++] = from.at[k];
      sizes.size[sizes.rank++] = size;
      product = from.x.b->product(product, size);
    }
  return product;
}

/// The product of two operands, summed over their common letters that are not in `keep`: a product of stacks of matrices
/// [common, left, summed] and [common, summed, right].
constexpr operand contract(operand a, operand b, letters keep) {
  builder& g = *a.x.b;
  sum_out(a, keep | b.all());
  sum_out(b, keep | a.all());
  letters const both = a.all() & b.all(), common = both & keep, summed = both & ~keep;
  operand y, left, right;
  dimensions stack, of_left, of_right, sizes;
  append(y, stack, a, common);
  left = right = y;
  sizes = of_left = of_right = stack;
  int rank = a.rank + b.rank - y.rank; // of the result
  for (int k = 0; k < a.rank; ++k) rank -= (bit(a.at[k]) & summed) != 0 ? 2 : 0;
  if (rank > max_rank) return g.refuse<refusals::rank_too_large>(rank, max_rank, g.place), a;
  dimension const rows = append(left, of_left, a, ~both);
  dimension const inner = append(left, of_left, a, summed);
  append(right, of_right, a, summed);
  dimension const columns = append(right, of_right, b, ~both);
  append(y, sizes, a, ~both);
  append(y, sizes, b, ~both);
  term const from = arranged(a, left), with = arranged(b, right);
  if (summed == 0) {
    dimensions wide = of_left, tall = stack;
    for (int k = 0; k < b.rank - stack.rank; ++k) wide.size[wide.rank++] = 1;
    for (int k = stack.rank; k < of_left.rank; ++k) tall.size[tall.rank++] = 1;
    for (int k = stack.rank; k < of_right.rank; ++k) tall.size[tall.rank++] = of_right.size[k];
    y.x = op::reshape::of(from, g.shape(wide)) * op::reshape::of(with, g.shape(tall));
    return y;
  }
  term const product =
      extend::matmul(op::reshape::of(from, g.shape(extend::stack_of(stack, rows, inner))),
                     op::reshape::of(with, g.shape(extend::stack_of(stack, inner, columns))));
  y.x = g.failed().why != nullptr ? product : op::reshape::of(product, g.shape(sizes));
  return y;
}

/// The multiplications of a product of two operands. A named extent counts as 64.
constexpr double cost_of(operand const& a, operand const& b) {
  double cost = 1;
  for (operand const* o : {&a, &b})
    for (int k = 0; k < o->rank; ++k)
      if (o == &a || a.find(o->at[k]) < 0) {
        dimension const n = o->x.dims().size[k];
        cost *= n < 0 ? 64. : static_cast<double>(n);
      }
  return cost;
}

} // namespace detail::einsum

namespace extend {

/// The sum of products that the subscripts describe. The cheapest pair of operands is multiplied first.
constexpr term einsum(std::string_view text, term const* x, int count) {
  namespace e = cotangent::detail::einsum;
  builder& b = *x[0].b;
  e::subscripts s = e::parse(b, text);
  if (b.failed().why != nullptr) return x[0];
  if (s.count != count) return b.refuse<refusals::einsum_operands>(s.count, count, b.place), x[0];
  e::letters given = 0, wanted = 0;
  for (int k = 0; k < count; ++k) {
    s.of[k].x = x[k];
    if (x[k].type() != x[0].type()) return b.refuse<refusals::elements_differ>(0, 0, b.place), x[0];
    if (!is_floating(x[k].type())) return b.refuse<refusals::element_not_floating>(0, 0, b.place), x[0];
    if (s.of[k].rank != x[k].rank())
      return b.refuse<refusals::einsum_rank>(s.of[k].rank, x[k].rank(), b.place), x[0];
    given |= s.of[k].all();
  }
  for (int k = 0; k < s.result.rank; ++k) {
    e::letters const letter = e::bit(s.result.at[k]);
    if ((given & letter) == 0 || (wanted & letter) != 0)
      return b.refuse<refusals::einsum_result>(k, s.result.rank, b.place), x[0];
    wanted |= letter;
  }
  if (!e::extents_fit(b, s)) return x[0];
  for (int k = 0; k < count; ++k) e::take_diagonals(s.of[k]);
  for (; count > 1; --count) {
    int first = 0, second = 1;
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j)
        if (e::cost_of(s.of[i], s.of[j]) < e::cost_of(s.of[first], s.of[second])) first = i, second = j;
    e::letters keep = wanted;
    for (int k = 0; k < count; ++k)
      if (k != first && k != second) keep |= s.of[k].all();
    s.of[first] = e::contract(s.of[first], s.of[second], keep);
    if (b.failed().why != nullptr) return x[0];
    for (int k = second; k + 1 < count; ++k) s.of[k] = s.of[k + 1];
  }
  e::sum_out(s.of[0], wanted);
  return e::arranged(s.of[0], s.result);
}

} // namespace extend
} // namespace cotangent

#endif
