// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_PARTS_HPP
#define COTANGENT_OPS_GEOMETRY_PARTS_HPP

#include <cotangent/ops/matmul.hpp>

#include <cstdint>

// Vectors and matrices of a few components, one of each position of the leading axes, as formulas over the components.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(components, equal, components_needed, extent_of_last_axis, "cotangent: geometry: the last axis must have the components that this function takes")
COTANGENT_REFUSAL(sides_of_matrix, equal, rows_and_columns_needed, extent_of_axis, "cotangent: geometry: the last two axes must be the rows and columns that this function takes")
// clang-format on
} // namespace refusals

namespace extend {

/// True if the last axis has n components; else the failure is recorded.
constexpr bool has_components(term x, dimension n) {
  dimension const have = x.rank() == 0 ? 0 : x.dims().size[x.rank() - 1];
  if (have != n) x.b->refuse<refusals::components>(n, have, x.b->place);
  return have == n;
}
/// True if the last two axes have n rows and n columns; else the failure is recorded.
constexpr bool has_sides(term x, dimension n) {
  for (int k = 1; k <= 2; ++k) {
    dimension const have = x.rank() < 2 ? 0 : x.dims().size[x.rank() - k];
    if (have != n) return x.b->refuse<refusals::sides_of_matrix>(n, have, x.b->place), false;
  }
  return true;
}

/// Component k of the last axis.
constexpr term component(term x, dimension k) { return at(x, x.rank() - 1, k); }
/// Entry (i, j) of the last two axes.
constexpr term component(term x, dimension i, dimension j) {
  dimensions d = x.dims();
  std::int64_t window[2 * max_rank]{};
  for (int k = 0; k < d.rank; ++k) window[2 * k + 1] = 1;
  window[2 * d.rank - 4] = i, window[2 * d.rank - 2] = j;
  d.size[d.rank - 2] = d.size[d.rank - 1] = 1;
  term const y = op::slice::of(x, window, x.b->shape(d));
  d.rank -= 2;
  return op::reshape::of(y, x.b->shape(d));
}
/// Components first to first + count - 1 of the last axis.
constexpr term components(term x, dimension first, dimension count) { return slice(x, x.rank() - 1, first, count); }

/// Numbers, whose shapes broadcast, as the elements of new last axes of the extents of `to`.
constexpr term joined(term const* x, dimensions const& to) {
  builder& b = *x[0].b;
  dimension count = 1;
  for (int k = 0; k < to.rank; ++k) count *= to.size[k];
  std::int32_t shape = x[0].shape_id();
  for (dimension k = 1; k < count && shape != none; ++k) shape = broadcast_shape(b, shape, x[k].shape_id());
  if (shape == none) return x[0];
  dimensions column = b.get().shapes[shape], whole = column;
  if (column.rank + to.rank > max_rank) return b.refuse<refusals::rank_too_large>(column.rank + to.rank, max_rank, b.place), x[0];
  column.size[column.rank++] = 1;
  for (int k = 0; k < to.rank; ++k) whole.size[whole.rank++] = to.size[k];
  std::int32_t const of_column = b.shape(column);
  symbol ids[16]{};
  for (dimension k = 0; k < count; ++k) ids[k] = op::reshape::of(broadcast_to(x[k], shape), of_column).id;
  std::int64_t const axis = column.rank - 1;
  term const y{&b, b.push(info_of<op::concatenate>(), ids, static_cast<int>(count), &axis, 1, b.place)};
  return b.failed().why != nullptr ? y : op::reshape::of(y, b.shape(whole));
}
/// A vector, or vectors, of these components.
template <class... Term> constexpr term vector_of(Term... x) {
  term const all[]{x...};
  return joined(all, {1, {sizeof...(Term)}});
}

/// The components of vectors of three.
struct triple {
  term x, y, z;
  constexpr explicit triple(term a, term b, term c) : x(a), y(b), z(c) {}
  constexpr explicit triple(term v, dimension first = 0)
      : x(component(v, first)), y(component(v, first + 1)), z(component(v, first + 2)) {}
  constexpr term joined() const { return vector_of(x, y, z); }
  constexpr triple operator+(triple const& b) const { return triple(x + b.x, y + b.y, z + b.z); }
  constexpr triple operator-(triple const& b) const { return triple(x - b.x, y - b.y, z - b.z); }
  constexpr triple operator-() const { return triple(-x, -y, -z); }
  constexpr triple times(term s) const { return triple(x * s, y * s, z * s); }
};
constexpr term dot(triple const& a, triple const& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr triple cross(triple const& a, triple const& b) {
  return triple(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/// Matrices times vectors, both with leading axes that broadcast.
constexpr term transformed(term matrices, term vectors) {
  if (matrices.rank() == 2 && vectors.rank() > 1) return matmul(vectors, transpose(matrices));
  dimensions column = vectors.dims();
  column.size[column.rank++] = 1;
  term const y = matmul(matrices, op::reshape::of(vectors, vectors.b->shape(column)));
  if (y.b->failed().why != nullptr) return y;
  dimensions d = y.dims();
  --d.rank;
  return op::reshape::of(y, y.b->shape(d));
}

} // namespace extend
} // namespace cotangent

#endif
