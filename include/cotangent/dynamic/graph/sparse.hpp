// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_SPARSE_HPP
#define COTANGENT_DYNAMIC_GRAPH_SPARSE_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/dynamic/graph/transformations.hpp>

#include <cotangent/transform/batch/compressed.hpp>
#include <cotangent/transform/batch/sparsity.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <vector>

// Sparse Jacobians and Hessians of functions of run-time expressions: the pattern is found when the graph is built.

COTANGENT_COLD_BEGIN
namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(sparse_memory, at_most, elements_of_pattern, elements_allowed, "cotangent: sparse_jacobian: the pattern must have at most 2^28 elements, those of several operations counted for each; use ct::jacobian for a dense one")
COTANGENT_REFUSAL(sparse_vector, equal, elements_of_vector, columns_of_matrix, "cotangent: sparse_jacobian: times takes a vector with an element for each column; of a tensor with more axes, give ct::flatten(x)")
// clang-format on
} // namespace refusals

namespace dynamic::inline COTANGENT_ABI {

/// The result of `ct::sparse_jacobian(f)(x)` and `ct::sparse_hessian(f)(x)` for expressions of a run-time graph: a matrix of
/// rows x columns. `values` are its elements at row_indices[k], column_indices[k], by rows, columns in ascending order within
/// each. All others are zero. Row r has the elements row_starts[r] to row_starts[r + 1] - 1 (compressed rows).
///
/// Checked: tests/runtime/dynamic_sparse.cpp
template <class T> struct sparse_matrix {
  expr<T> values; // [elements]
  std::int64_t rows = 0, columns = 0, elements = 0;
  /// The number of tangents or cotangents that compute them all.
  std::int64_t colors = 0;
  std::vector<std::int32_t> row_starts, row_indices, column_indices;

  /// All elements, [rows, columns].
  expr<T> dense(std::source_location where = std::source_location::current()) const {
    return in_graph(where, [&](extend::builder& b, extend::symbol own) {
      std::vector<std::int64_t> at;
      for (std::size_t k = 0; k < row_indices.size(); ++k) at.push_back(row_indices[k] * columns + column_indices[k]);
      return op::reshape::of(op::place::of({&b, own}, rows * columns, at.data()), b.shape(extend::dimensions{2, {rows, columns}})).id;
    });
  }
  /// The product with a vector, [columns]: a vector, [rows]. Throws: `shape_error` for another shape.
  expr<T> times(expr<T> const& x, std::source_location where = std::source_location::current()) const {
    return in_graph(where, [&](extend::builder& b, extend::symbol own) {
      extend::symbol const v = x.attach(b);
      if (extend::dimensions const& d = b.dims(v); d.rank != 1 || d.size[0] != columns) {
        b.refuse<refusals::sparse_vector>(d.rank == 1 ? d.size[0] : b.count(d), columns, b.place);
        return b.refused();
      }
      std::vector<std::int64_t> row(row_indices.begin(), row_indices.end()), column(column_indices.begin(), column_indices.end());
      return op::place::of(term{&b, own} * op::pick::of({&b, v}, column.data(), static_cast<int>(column.size())), rows, row.data()).id;
    });
  }

private:
  template <class Make> expr<T> in_graph(std::source_location where, Make const& make) const {
    detail::graph_state& s = detail::front_end::given(values.where_it_stands().s, where);
    return detail::front_end::changed(&s, where, [&] { return expr<T>(s.b, make(s.b, values.attach(s.b))); });
  }
};

namespace detail {

/// A pattern and its colors: `forward` by column, else by row.
struct sparse_pattern {
  static constexpr int most_groups = 1 << 17; // 400 bytes for each of them, in values that have readers
  static constexpr dimension most_elements = 1 << 28;

  int rows = 0, columns = 0, elements = 0, color_count = 0;
  bool forward = true;
  std::vector<std::int32_t> row_starts, column_indices, colors;
};

/// The elements of an input that holds a constant.
inline bool held_numbers(void const* graph, symbol t, array<std::int64_t>& all) {
  graph_state const& s = *static_cast<graph_state const*>(graph);
  for (held_constant const& held : s.constants) {
    if (held.id != t) continue;
    auto const put = [&]<class I>(I) {
      for (std::size_t k = 0; k < held.bytes.size(); k += sizeof(I)) {
        I one;
        std::memcpy(&one, held.bytes.data() + k, sizeof(I));
        all.push(one);
      }
      return true;
    };
    if (s.b.tensor(t).type == element::int32) return put(std::int32_t());
    return s.b.tensor(t).type == element::int64 && put(std::int64_t());
  }
  return false;
}

/// Finds the pattern of the Jacobian of `output` with respect to `wrt`; failures are recorded in the builder.
template <class = void> sparse_pattern pattern_in(graph_state& s, symbol output, symbol wrt) {
  builder& b = s.b;
  sparse_pattern p;
  dimensions const shape = b.dims(output);
  dimension const rows = b.count(shape), columns = b.count(b.dims(wrt));
  known_numbers const known{&s, &held_numbers};
  cotangent::detail::dependences const all(b.get(), output, wrt, sparse_pattern::most_groups, &known);
  array<dependence> const& groups = all.groups();
  double const most = elements_of(groups.data(), groups.size(), shape);
  dimension const longest = rows > columns ? rows : columns, counted = most < 1e18 ? static_cast<dimension>(most) : dimension{1} << 60;
  if (dimension const all_elements = counted > longest ? counted : longest; all_elements > sparse_pattern::most_elements) {
    b.refuse<refusals::sparse_memory>(all_elements, sparse_pattern::most_elements, b.place);
    return p;
  }
  p.rows = static_cast<int>(rows);
  p.columns = static_cast<int>(columns);
  auto const lines = [](int n) { return std::vector<std::int32_t>(static_cast<std::size_t>(n) + 1); };
  p.row_starts = lines(p.rows);
  p.column_indices = lines(static_cast<int>(most));
  p.elements = find_pattern(groups.data(), groups.size(), shape, p.rows, p.row_starts.data(), p.column_indices.data());
  std::vector<std::int32_t> column_starts = lines(p.columns), row_indices = lines(p.elements), by_row = lines(p.rows);
  transpose_pattern(p.row_starts.data(), p.column_indices.data(), p.rows, p.columns, column_starts.data(), row_indices.data());
  p.colors = lines(p.columns);
  p.color_count = color_columns(p.row_starts.data(), p.column_indices.data(), column_starts.data(), row_indices.data(), p.columns, p.colors.data());
  if (!is_forward(p.color_count, longest_row(column_starts.data(), p.columns))) {
    int const count = color_columns(column_starts.data(), row_indices.data(), p.row_starts.data(), p.column_indices.data(), p.rows, by_row.data());
    p.forward = is_forward(p.color_count, count);
    if (!p.forward) p.colors.swap(by_row), p.color_count = count;
  }
  p.column_indices.resize(static_cast<std::size_t>(p.elements));
  return p;
}

/// The elements of the sparse Jacobian, in the order of its pattern.
template <class = void> symbol append_sparse_to(graph_state& s, symbol output, symbol wrt, sparse_pattern& p) {
  symbol values = none;
  append(s, &output, 1, &values, 1, [&] {
    p = pattern_in(s, output, wrt);
    if (s.b.failed().why == nullptr)
      values = compressed_jacobian(s.b, {output, wrt, p.colors.data(), p.color_count, p.row_starts.data(), p.column_indices.data(),
                                         p.elements, p.forward});
  });
  return values;
}

/// Called by `ct::sparse_jacobian` of expressions, in trace/transformations/sparse.hpp.
template <class T> sparse_matrix<T> sparse_in_graph(front_end, std::type_identity<T>, builder& b, symbol output, symbol wrt) {
  sparse_pattern p;
  sparse_matrix<T> m;
  symbol const values = append_sparse_to(front_end::state_of(b), output, wrt, p);
  m.values = expr<T>(b, values);
  m.rows = p.rows;
  m.columns = p.columns;
  m.elements = p.elements;
  m.colors = p.color_count;
  m.row_starts.swap(p.row_starts);
  m.column_indices.swap(p.column_indices);
  for (std::int32_t r = 0; r < p.rows; ++r)
    m.row_indices.resize(static_cast<std::size_t>(m.row_starts[static_cast<std::size_t>(r) + 1]), r);
  return m;
}

} // namespace detail
} // namespace dynamic
} // namespace cotangent

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template symbol append_sparse_to(graph_state&, symbol, symbol, sparse_pattern&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
