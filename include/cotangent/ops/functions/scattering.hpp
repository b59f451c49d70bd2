// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_SCATTERING_HPP
#define COTANGENT_OPS_FUNCTIONS_SCATTERING_HPP

#include <cotangent/ops/functions/running.hpp>

#include <source_location>

// Rows of a tensor, combined with or replaced by other rows, as formulas over segments and gathers.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(scatter_rows, equal, extent_of_operand, extent_of_rows, "cotangent: scatter_max, scatter_min, scatter_set: the rows must have the extents of the indices, then those of a row of the operand")
// clang-format on
} // namespace refusals

namespace detail {

enum class scatter_kind { max, min, set };
template <scatter_kind How> struct scatter_fn {
  static constexpr char const* name = How == scatter_kind::max ? "scatter_max" : How == scatter_kind::min ? "scatter_min" : "scatter_set";
  using emits = operations<>;
  constexpr term operator()(auto x, auto indices, auto rows) const {
    if (!fits(x, indices, rows)) return x;
    builder& b = *x.b;
    dimensions const all = x.dims(), of = indices.dims();
    dimensions list, line = all; // one axis of indices
    list.rank = 1, list.size[0] = 1;
    for (int k = 0; k < of.rank; ++k) list.size[0] = b.product(list.size[0], of.size[k]);
    line.size[0] = list.size[0];
    auto const at = op::reshape::of(indices, b.shape(list)), values = op::reshape::of(rows, b.shape(line));
    if constexpr (How == scatter_kind::set) {
      return op::update_rows::set(values, at, x);
    } else {
      auto const best = segment_extremum<How == scatter_kind::min>(values, at, all.size[0]);
      if (b.failed().why != nullptr) return x;
      if constexpr (How == scatter_kind::min) return extend::apply<op::min>(x, best);
      else return extend::apply<op::max>(x, best);
    }
  }
  /// True if there is a row for each index; else the failure is recorded.
  static constexpr bool fits(term x, term indices, term rows) {
    builder& b = *x.b;
    dimensions const all = x.dims(), of = indices.dims(), d = rows.dims();
    if (!is_index(indices.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), false;
    if (all.rank == 0) return b.refuse<refusals::gather_rank>(0, 1, b.place), false;
    if (d.rank != of.rank + all.rank - 1) return b.refuse<refusals::scatter_rows>(of.rank + all.rank - 1, d.rank, b.place), false;
    for (int k = 0; k < d.rank; ++k)
      if (dimension const n = k < of.rank ? of.size[k] : all.size[k - of.rank + 1]; n != d.size[k])
        return b.refuse<refusals::scatter_rows>(n, d.size[k], b.place), false;
    return true;
  }
};

} // namespace detail

/// x, with row `indices[i]` at least `rows[i]` (JAX: x.at[indices].max(rows)). Adjoint: dy to the larger one, the first of equal rows; it is
/// halved where a row equals that of x. Elements: any numbers.
template <detail::operand X, detail::operand I, detail::operand R>
constexpr auto scatter_max(X const& x, I const& indices, R const& rows, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::scatter_fn<detail::scatter_kind::max>{}, x, indices, rows);
}
/// x, with row `indices[i]` at most `rows[i]` (JAX: x.at[indices].min(rows)). Adjoint: as scatter_max.
template <detail::operand X, detail::operand I, detail::operand R>
constexpr auto scatter_min(X const& x, I const& indices, R const& rows, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::scatter_fn<detail::scatter_kind::min>{}, x, indices, rows);
}
/// x, with `rows[i]` in place of row `indices[i]`; the last of several (JAX: x.at[indices].set(rows)). Adjoint: dy to the rows that are
/// left, and to the other rows of x.
template <detail::operand X, detail::operand I, detail::operand R>
constexpr auto scatter_set(X const& x, I const& indices, R const& rows, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::scatter_fn<detail::scatter_kind::set>{}, x, indices, rows);
}

} // namespace cotangent

#endif
