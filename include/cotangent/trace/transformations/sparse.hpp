// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_SPARSE_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_SPARSE_HPP

#include <cotangent/trace/program/stages.hpp>
#include <cotangent/trace/transformations/jacobian.hpp>
#include <cotangent/transform/batch/compressed.hpp>
#include <cotangent/transform/batch/sparsity.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// Sparse Jacobians and Hessians: the pattern is found while the program is compiled, and columns or rows that share none of their
// elements are computed together.

namespace cotangent {
namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(sparse_extents, is, extent_of_axis, number, "cotangent: sparse_jacobian: every extent must be a number, since the pattern is found when the function is compiled")
COTANGENT_REFUSAL(sparse_leaves, equal, tensors_of_result_and_argument, two, "cotangent: sparse_jacobian: the result of the function and the argument must each be one tensor")
COTANGENT_REFUSAL(sparse_elements, at_most, elements_of_pattern, elements_allowed, "cotangent: sparse_jacobian: the pattern must have at most 8,192 elements, since it is found when the function is compiled; divide the function, or use ct::jacobian or ct::vmap")
// clang-format on
} // namespace refusals

namespace detail {
inline namespace COTANGENT_ABI {

inline constexpr int most_sparse_elements = 8192;

/// The pattern of the Jacobian of the output of a traced graph with respect to input Leaf. Each step is an evaluation of its own.
template <class Traced, int Leaf> struct sparse_pattern {
  static constexpr symbol output = Traced::view.output(0), wrt = Traced::view.input(Leaf);
  static constexpr dimensions shape = Traced::view.shape(output);
  static constexpr int count(dimensions const& d) {
    std::int64_t n = 1;
    for (int a = 0; a < d.rank; ++a) n *= d.size[a];
    return static_cast<int>(n);
  }
  static constexpr int rows = count(shape), columns = count(Traced::view.shape(wrt));

  static constexpr int group_count = dependences(Traced::view, output, wrt).groups().size();
  struct group_list {
    dependence of[group_count + 1];
  };
  static constexpr group_list groups = [] {
    group_list list{};
    dependences const all(Traced::view, output, wrt);
    for (int k = 0; k < group_count; ++k) list.of[k] = all.groups()[k];
    return list;
  }();
  /// At least as many as there are elements.
  static constexpr double most = elements_of(groups.of, group_count, shape);
  static constexpr bool fits = most <= most_sparse_elements;

  struct found_pattern {
    int elements = 0;
    std::int32_t starts[rows + 1]{}, columns[fits ? static_cast<int>(most) + 1 : 1]{};
  };
  static constexpr found_pattern found = [] {
    found_pattern p;
    if (fits) p.elements = find_pattern(groups.of, group_count, shape, rows, p.starts, p.columns);
    return p;
  }();
  static constexpr int elements = found.elements;
  struct transposed_pattern {
    std::int32_t starts[columns + 1]{}, rows[elements + 1]{};
  };
  static constexpr transposed_pattern transposed = [] {
    transposed_pattern p;
    transpose_pattern(found.starts, found.columns, rows, columns, p.starts, p.rows);
    return p;
  }();
  template <int N> struct coloring {
    int count = 0;
    std::int32_t of[N + 1]{};
  };
  static constexpr coloring<columns> by_column = [] {
    coloring<columns> c;
    c.count = color_columns(found.starts, found.columns, transposed.starts, transposed.rows, columns, c.of);
    return c;
  }();
  /// Rows need as many colors as the longest column has elements, at least.
  static constexpr bool surely_forward = is_forward(by_column.count, longest_row(transposed.starts, columns));
  static constexpr coloring<rows> by_row = [] {
    coloring<rows> c;
    if (!surely_forward) c.count = color_columns(transposed.starts, transposed.rows, found.starts, found.columns, rows, c.of);
    return c;
  }();
  static constexpr bool forward = surely_forward || is_forward(by_column.count, by_row.count);
  static constexpr int colors = forward ? by_column.count : by_row.count;

  /// The pattern as users get it.
  struct tables {
    std::array<std::int32_t, static_cast<std::size_t>(rows) + 1> row_starts{};
    std::array<std::int32_t, static_cast<std::size_t>(elements)> row_indices{}, column_indices{};
  };
  static constexpr tables table = [] {
    tables t;
    for (int r = 0; r < rows; ++r) {
      t.row_starts[static_cast<std::size_t>(r) + 1] = found.starts[r + 1];
      for (std::int32_t k = found.starts[r]; k < found.starts[r + 1]; ++k) t.row_indices[static_cast<std::size_t>(k)] = r;
    }
    for (int k = 0; k < elements; ++k) t.column_indices[static_cast<std::size_t>(k)] = found.columns[k];
    return t;
  }();
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The result types of `sparse_jacobian`, for one pattern and element type.
template <class Pattern, class T> struct sparse_result {
  /// A matrix of rows x columns: `values` are its elements at row_indices[k], column_indices[k], by rows, columns in ascending order
  /// within each. All others are zero. Row r has the elements row_starts[r] to row_starts[r + 1] - 1 (compressed rows).
  template <template <class, extent...> class Tensor> struct matrix {
    BOOST_HANA_DEFINE_STRUCT(matrix, (Tensor<T, extent::of(Pattern::elements)>, values));

    static constexpr int rows = Pattern::rows, columns = Pattern::columns, elements = Pattern::elements;
    /// The number of tangents or cotangents that compute them all.
    static constexpr int colors = Pattern::colors;
    static constexpr auto const& row_starts = Pattern::table.row_starts;
    static constexpr auto const& row_indices = Pattern::table.row_indices;
    static constexpr auto const& column_indices = Pattern::table.column_indices;

    /// All elements, [rows, columns]; in a function, as an expression.
    constexpr tensor<T, extent::of(rows), extent::of(columns)> dense() const
      requires(detail::argument_type<Tensor<T>>)
    {
      tensor<T, extent::of(rows), extent::of(columns)> whole{};
      for (int k = 0; k < elements; ++k)
        whole(row_indices[static_cast<std::size_t>(k)], column_indices[static_cast<std::size_t>(k)]) = values.data()[k];
      return whole;
    }
    constexpr expr<T, extent::of(rows), extent::of(columns)> dense() const
      requires(!detail::argument_type<Tensor<T>>)
    {
      using result = expr<T, extent::of(rows), extent::of(columns)>;
      detail::found_builder found;
      detail::visit_leaves(values, found);
      return found.b == nullptr ? result() : result(*found.b, placed(*found.b, values.attach(*found.b)));
    }
    /// The product with a vector of the extent `columns`; in a function, as an expression.
    constexpr tensor<T, extent::of(rows)> times(tensor<T, extent::of(columns)> const& x) const
      requires(detail::argument_type<Tensor<T>>)
    {
      tensor<T, extent::of(rows)> y{};
      for (std::size_t k = 0; k < row_indices.size(); ++k) y.data()[row_indices[k]] += values.data()[k] * x.data()[column_indices[k]];
      return y;
    }
    constexpr expr<T, extent::of(rows)> times(expr<T, extent::of(columns)> const& x) const
      requires(!detail::argument_type<Tensor<T>>)
    {
      detail::found_builder found;
      detail::visit_leaves(values, found);
      if (found.b == nullptr) return expr<T, extent::of(rows)>();
      return expr<T, extent::of(rows)>(*found.b, product(*found.b, values.attach(*found.b), x.attach(*found.b)));
    }

  private:
    static constexpr extend::symbol placed(extend::builder& b, extend::symbol of) {
      std::array<std::int64_t, static_cast<std::size_t>(elements)> at{};
      for (std::size_t k = 0; k < at.size(); ++k) at[k] = std::int64_t{row_indices[k]} * columns + column_indices[k];
      return op::reshape::of(op::place::of(term{&b, of}, std::int64_t{rows} * columns, at.data()), b.shape(extend::dimensions{2, {rows, columns}})).id;
    }
    static constexpr extend::symbol product(extend::builder& b, extend::symbol of, extend::symbol x) {
      std::array<std::int64_t, static_cast<std::size_t>(elements)> row{}, column{};
      for (std::size_t k = 0; k < row.size(); ++k) row[k] = row_indices[k], column[k] = column_indices[k];
      return op::place::of(term{&b, of} * op::pick::of({&b, x}, column.data(), elements), rows, row.data()).id;
    }
  };
};

} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {

template <class X> struct sparse_leaf {
  static constexpr bool single = false;
};
template <graph_expr X> struct sparse_leaf<X> {
  static constexpr bool single = true;
  static constexpr extent named = extent::of(0); // (the pattern is found at run time)
};
template <class T, extent... E> struct sparse_leaf<expr<T, E...>> {
  static constexpr bool single = true;
  static constexpr extent named = [] {
    for (extent const& e : std::array<extent, sizeof...(E) + 1>{E..., extent::of(0)})
      if (!e.is_number()) return e;
    return extent::of(0);
  }();
};

template <class F, int I> struct sparse_function : transformation<sparse_function<F, I>> {
  using function = sparse_function; // the whole transformation is traced
  using of = F;
  static constexpr int extra = 0;
  [[no_unique_address]] F f;

  constexpr sparse_function() : f(remade<F>()) {}
  constexpr explicit sparse_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> using refused_expressions = refused_tree<Result, expr>;
  template <class Result, class...> using refused_result = refused_tree<Result, tensor>;

  template <class... X> constexpr auto trace(X const&... x) const {
    if constexpr ((tree_has<X, tree_kind::refusal> || ...)) return refused();
    else {
      using result = typename called_with<F, std::index_sequence_for<X...>, X...>::type;
      if constexpr (!takes_derivatives<F, result, I>(parts<X...>{})) return refused();
      else return checked<result_tree<result>, argument_at<I, X...>>(std::index_sequence_for<X...>{}, x...);
    }
  }

private:
  struct ends {
    symbol output, wrt;
  };
  /// The symbols of argument I and of the result.
  template <std::size_t... K, class... X> constexpr ends called_in(builder& b, std::index_sequence<K...>, X const&... x) const {
    argument_list<std::index_sequence<K...>, X...> own{{x}...};
    renamed_leaves wrt{b};
    visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt);
    auto const y = detail::called(f, static_cast<held<K, X> const&>(own).value...);
    symbols_of_leaves out{b};
    visit_leaves(y, out);
    return {out.ids[0], wrt.ids[0]};
  }
  template <class Y, class Wrt, std::size_t... K, class... X>
  constexpr auto checked(std::index_sequence<K...> indices, X const&... x) const {
    if constexpr (!sparse_leaf<Y>::single || !sparse_leaf<Wrt>::single) {
      refusals::sparse_leaves::report<extent::of(leaf_count<Y> + leaf_count<Wrt>), extent::of(2)>();
      return refused();
    } else if constexpr (!sparse_leaf<Y>::named.is_number() || !sparse_leaf<Wrt>::named.is_number()) {
      refusals::sparse_extents::report<sparse_leaf<Y>::named.is_number() ? sparse_leaf<Wrt>::named : sparse_leaf<Y>::named, extent::of(0)>();
      return refused();
    } else if constexpr (!std::is_void_v<typename integer_in<Y>::type>) {
      refusals::output_not_floating::report<typename integer_in<Y>::type, refusals::wanted>();
      return refused();
    } else if constexpr (in_graph<X...>) {
      found_builder found;
      (visit_leaves(x, found), ...);
      ends const at = called_in(*found.b, indices, x...);
      return sparse_in_graph(front_end_of<X...>{}, std::type_identity<typename Wrt::value_type>{}, *found.b, at.output, at.wrt);
    } else if constexpr (!is_captureless<F>) { // (the pattern is part of a type)
      refusals::used_capture::report<F>();
      return refused();
    } else {
      using traced = frozen<trace_stage<F, std::index_sequence<K...>, value_tree<X>...>, traced_at_first>;
      using pattern = sparse_pattern<traced, first_leaf<I, value_tree<X>...>>;
      if constexpr (traced::value.failed.why != nullptr) return refused(); // (the call of f says why)
      else if constexpr (!pattern::fits) {
        refusals::sparse_elements::report<extent::of(static_cast<std::int64_t>(pattern::most)), extent::of(most_sparse_elements)>();
        return refused();
      } else return on<typename sparse_result<pattern, typename Wrt::value_type>::template matrix<expr>, pattern>(indices, x...);
    }
  }
  template <class Matrix, class Pattern, std::size_t... K, class... X>
  constexpr Matrix on(std::index_sequence<K...> indices, X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return detail::without_graph<Matrix>(found, [&] { return f(x...); });
    builder& b = *found.b;
    ends const at = called_in(b, indices, x...);
    symbol values = b.refused();
    if (b.failed().why == nullptr)
      values = compressed_jacobian(b, {at.output, at.wrt, Pattern::forward ? Pattern::by_column.of : Pattern::by_row.of, Pattern::colors,
                                       Pattern::found.starts, Pattern::found.columns, Pattern::elements, Pattern::forward});
    leaf_from_symbols make{b, &values};
    return build_tree<Matrix>(make);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The Jacobian of a function with respect to argument I, without the elements that are zero for all arguments: see `sparse_result`.
/// Both are counted in row-major order. The pattern is found from the graph of the function, which must have no captures.
///
/// Columns that share no row are computed by one tangent (or rows by one cotangent), all together as one batch: a band of k diagonals
/// takes k tangents. `ct::sparse_jacobian(ct::grad(f))` is a sparse Hessian, which `sparse_hessian` writes.
///
/// Value: that of `ct::jacobian`. Loops, branches and functions of whole tensors count as dense.
/// Of expressions of a run-time graph: a `dynamic::sparse_matrix`, whose pattern is found as the graph is built; f may capture.
/// Refuses: trees; named extents; more than 8,192 elements.
/// Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, J. Inst. Maths Applics 13, 1974.
/// Checked: tests/static/sparse.cpp, tests/runtime/sparsity.cpp, tests/runtime/dynamic_sparse.cpp.
template <int I = 0, class F> constexpr auto sparse_jacobian(F f) { return detail::sparse_function<F, I>(f); }

/// The Hessian of a function with one number as its result, in the same form.
template <int I = 0, class F> constexpr auto sparse_hessian(F f) { return cotangent::sparse_jacobian<I>(cotangent::grad<I>(f)); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
