// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_COMPRESSED_HPP
#define COTANGENT_TRANSFORM_BATCH_COMPRESSED_HPP

#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/tables/positions.hpp>
#include <cotangent/transform/batch/batch.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The elements of a sparse Jacobian: its pattern as in `sparsity`, by pointers.
struct compressed_request {
  symbol output = none, wrt = none;
  std::int32_t const* colors = nullptr; // by column in forward mode, by row in reverse mode
  std::int32_t color_count = 0;
  std::int32_t const* row_starts = nullptr;
  std::int32_t const* column_indices = nullptr;
  std::int32_t elements = 0;
  bool forward = true;
};

/// Appends to `b` the elements of the Jacobian of a pattern, in its order: a symbol of rank 1. Failures are recorded in the builder.
///
/// Cost: the tangents, or cotangents, for the sum of the unit vectors of each color, as one batch.
constexpr symbol compressed_jacobian(builder& b, compressed_request const& r) {
  symbol const from = r.forward ? r.wrt : r.output, to = r.forward ? r.output : r.wrt;
  element const type = b.tensor(r.wrt).type;
  dimension const n = b.count(b.dims(from)), m = b.count(b.dims(to)), colors = r.color_count;
  std::int32_t const values = b.shape({1, {r.elements}});
  if (r.elements == 0) return extend::constant(b, type, values, 0).id;
  symbol const seed = detail::row_like(b, b.tensor(from).type, b.tensor(from).shape);
  symbol one = none, every = none;
  if (r.forward) tangents(b, &from, &seed, 1, &to, 1, &one);
  else gradient(b, {&from, &seed, 1, &to, 1}, &one);
  if (b.failed().why != nullptr) return b.refused();
  if (one == none) return extend::constant(b, type, values, 0).id;
  array<std::int64_t> at;
  for (dimension k = 0; k < n; ++k) at.push(r.colors[k] * n + k);
  term const ones = extend::constant(b, b.tensor(from).type, b.shape({1, {n}}), 1);
  std::int32_t const with_colors = batch_rule{{b, {}}, colors, nullptr}.with_rows(b.tensor(from).shape);
  if (b.failed().why != nullptr) return b.refused();
  symbol const rows = op::reshape::of(op::place::of(ones, colors * n, at.data()), with_colors).id;
  batch(b, {&seed, &rows, 1, colors, &one, 1}, &every);
  if (b.failed().why != nullptr) return b.refused();
  if (every == none) return extend::constant(b, type, values, 0).id;
  at.clear();
  for (std::int32_t row = 0; at.size() < r.elements; ++row)
    for (std::int32_t k = r.row_starts[row]; k < r.row_starts[row + 1]; ++k) {
      std::int32_t const column = r.column_indices[k];
      at.push(r.forward ? r.colors[column] * m + row : r.colors[row] * m + column);
    }
  term const flat = op::reshape::of({&b, every}, b.shape({1, {colors * m}}));
  return extend::convert(op::pick::of(flat, at.data(), at.size()), type).id;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
