// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_SPARSITY_HPP
#define COTANGENT_TRANSFORM_BATCH_SPARSITY_HPP

#include <cotangent/transform/batch/dependences.hpp>

#include <cstdint>

// The pattern of a Jacobian, and the groups of its columns or rows that one tangent or cotangent computes. Patterns are compressed
// rows: the numbers of columns of all elements, by rows and in ascending order within each, and where each row starts. Every step is
// a function of its own, for a constant evaluation of its own.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Calls `visit(row, column)` for the elements of a group of a value of this shape.
template <class Visit> constexpr void visit_elements(dependence const& d, dimensions const& shape, Visit visit) {
  constexpr int most = max_rank + dependence::most_free;
  std::int64_t count[most]{}, down[most]{}, right[most]{}, index[most]{}, row = 0, column = d.base, weight = 1;
  int levels = 0;
  auto const level = [&](std::int64_t n, std::int64_t rows, std::int64_t columns) {
    if (n == 1) return;
    count[levels] = n;
    down[levels] = rows;
    right[levels++] = columns;
  };
  for (int a = shape.rank; a-- > 0; weight *= shape.size[a]) {
    row += weight * d.first[a];
    level(d.count[a], weight * d.step[a], d.stride[a]);
  }
  for (int k = 0; k < d.free; ++k) level(d.free_count[k], 0, d.free_stride[k]);
  if (levels == 0) return (void)visit(row, column);
  for (bool more = true; more;) {
    for (std::int64_t i = 0, r = row, c = column, n = count[0]; i < n; ++i, r += down[0], c += right[0]) visit(r, c);
    more = false;
    for (int k = 1; k < levels && !more; ++k) {
      row += down[k];
      column += right[k];
      more = ++index[k] < count[k];
      if (more) break;
      row -= count[k] * down[k];
      column -= count[k] * right[k];
      index[k] = 0;
    }
  }
}

/// The number of elements of groups, of which some may be counted more than once.
constexpr double elements_of(dependence const* groups, int group_count, dimensions const& shape) {
  double sum = 0;
  for (int j = 0; j < group_count; ++j) {
    double product = 1;
    for (int a = 0; a < shape.rank; ++a) product *= static_cast<double>(groups[j].count[a]);
    for (int k = 0; k < groups[j].free; ++k) product *= static_cast<double>(groups[j].free_count[k]);
    sum += product;
  }
  return sum;
}

/// Writes the pattern of groups: rows + 1 starts, and at most `elements_of` columns. The number of elements.
///
/// Cost: linear in the elements of groups, where groups of one row come with ascending columns.
constexpr int find_pattern(dependence const* groups, int group_count, dimensions const& shape, int rows, std::int32_t* row_starts,
                           std::int32_t* columns) {
  array<std::int32_t> first(rows + 1), filled, found;
  for (int j = 0; j < group_count; ++j)
    visit_elements(groups[j], shape, [&](std::int64_t row, std::int64_t) { ++first[static_cast<int>(row) + 1]; });
  for (int r = 0; r < rows; ++r) first[r + 1] += first[r];
  filled = first;
  found.assign(first[rows], 0);
  for (int j = 0; j < group_count; ++j)
    visit_elements(groups[j], shape, [&](std::int64_t row, std::int64_t column) {
      std::int32_t const from = first[static_cast<int>(row)];
      std::int32_t& filled_to = filled[static_cast<int>(row)];
      std::int32_t at = filled_to;
      while (at > from && found[at - 1] > column) --at;
      if (at > from && found[at - 1] == column) return; // (found in another group)
      for (std::int32_t k = filled_to++; k > at; --k) found[k] = found[k - 1];
      found[at] = static_cast<std::int32_t>(column);
    });
  int count = 0;
  row_starts[0] = 0;
  for (int r = 0; r < rows; ++r) {
    for (std::int32_t k = first[r]; k < filled[r]; ++k) columns[count++] = found[k];
    row_starts[r + 1] = count;
  }
  return count;
}

/// Writes the pattern of the transposed matrix.
constexpr void transpose_pattern(std::int32_t const* row_starts, std::int32_t const* columns, int row_count, int column_count,
                                 std::int32_t* column_starts, std::int32_t* rows) {
  for (int c = 0; c <= column_count; ++c) column_starts[c] = 0;
  for (std::int32_t k = 0; k < row_starts[row_count]; ++k) ++column_starts[columns[k] + 1];
  for (int c = 0; c < column_count; ++c) column_starts[c + 1] += column_starts[c];
  for (std::int32_t r = 0; r < row_count; ++r)
    for (std::int32_t k = row_starts[r]; k < row_starts[r + 1]; ++k) rows[column_starts[columns[k]]++] = r;
  for (int c = column_count; c > 0; --c) column_starts[c] = column_starts[c - 1]; // (each had moved to its end)
  column_starts[0] = 0;
}

/// Colors columns in their order, each with the first color that no column has that shares a row with it. The number of colors.
/// (For rows, exchange the patterns.)
///
/// Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, J. Inst. Maths Applics 13, 1974.
constexpr int color_columns(std::int32_t const* row_starts, std::int32_t const* columns, std::int32_t const* column_starts,
                            std::int32_t const* rows, int column_count, std::int32_t* colors) {
  int count = 0;
  array<std::int32_t> taken(column_count, none); // by color: the last column that cannot have it
  for (std::int32_t c = 0; c < column_count; ++c) {
    for (std::int32_t k = column_starts[c]; k < column_starts[c + 1]; ++k)
      for (std::int32_t const *j = columns + row_starts[rows[k]]; *j < c; ++j) taken[colors[*j]] = c;
    int color = 0;
    if (column_starts[c] != column_starts[c + 1]) // (a column of zeros shares any color)
      while (color < count && taken[color] == c) ++color;
    if (color == count) ++count;
    colors[c] = color;
  }
  return count;
}
/// True if tangents, one for each color of the columns, cost no more than cotangents, one for each color of the rows: a cotangent
/// costs about as much as 1.5 tangents.
constexpr bool is_forward(int column_colors, int row_colors) { return 2 * column_colors <= 3 * row_colors; }
/// The least number of colors that columns may need: the elements of the longest row.
constexpr int longest_row(std::int32_t const* row_starts, int rows) {
  int most = 0;
  for (int r = 0; r < rows; ++r)
    if (int const n = row_starts[r + 1] - row_starts[r]; n > most) most = n;
  return most;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
