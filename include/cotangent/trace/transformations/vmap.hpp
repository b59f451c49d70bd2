// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_VMAP_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_VMAP_HPP

#include <cotangent/trace/functions/held_prints.hpp>
#include <cotangent/trace/transformations/jacobian.hpp>
#include <cotangent/transform/batch/batch.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>

#include <climits>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace cotangent {

/// In place of an axis of `ct::vmap`: every row gets the whole argument.
inline constexpr int unmapped = INT_MIN;

namespace detail {
inline namespace COTANGENT_ABI {

/// The axis, counted from the first; -1 if there is none.
constexpr int mapped_axis(int axis, int rank) noexcept {
  return axis < -rank || axis >= rank ? -1 : axis < 0 ? axis + rank : axis;
}
constexpr shape without_axis(shape const& s, int axis) noexcept {
  shape rest;
  for (int k = 0; k < s.rank; ++k)
    if (k != axis) rest.push(s[k]);
  return rest;
}
/// A row of an expression along an axis.
template <int Axis> struct row_along {
  template <class X> struct made {
    using type = refused; // (also asked for by `members`, of expressions without axes)
  };
  template <class X>
    requires(mapped_axis(Axis, X::rank) >= 0)
  struct made<X> {
    static constexpr shape extents = without_axis(X::extents, mapped_axis(Axis, X::rank));
    using type = typename made_of<expr, typename X::value_type, extents, std::make_index_sequence<extents.rank>>::type;
  };
  template <graph_expr X> struct made<X> {
    using type = X;
  };
  template <class X> using of = typename made<X>::type;
};
template <class X, int Axis> struct row_type {
  using type = replace_leaves<X, row_along<Axis>>;
};
template <class X> struct row_type<X, unmapped> {
  using type = X;
};

/// The extents of the mapped axes: the first, and one that differs if there is one. `beyond`: the rank of a leaf that lacks
/// the axis.
struct mapped_extents {
  int count = 0, axis = 0, beyond = -1;
  extent first{}, next{};
  constexpr void add(int at, shape const& s) {
    if (mapped_axis(at, s.rank) < 0) {
      axis = at < 0 ? -at - 1 : at;
      beyond = s.rank;
      return;
    }
    extent const e = s[mapped_axis(at, s.rank)];
    if (count++ == 0) first = next = e;
    else if (next == first) next = e;
  }
};
template <int Axis, class X> constexpr void find_mapped(mapped_extents& found) {
  if constexpr (Axis == unmapped) return;
  else if constexpr (is_inner<X>)
    []<class... Part>(parts<Part...>, mapped_extents& to) {
      (find_mapped<Axis, Part>(to), ...);
    }(typename parts_of<X>::type{}, found);
  else if constexpr (graph_expr<X>) ++found.count; // extents are known at run time only
  else found.add(Axis, X::extents);
}

/// The rows of the leaves of an argument, with the mapped axis in front, and the symbols that stand for one row.
struct leaves_of_row {
  builder& b;
  int axis = 0;
  array<symbol> from{}, rows{};
  int next = 0;
  template <class X> constexpr void operator()(X const& x) {
    term all{&b, x.attach(b)};
    if (!fits(all)) {
      rows.push(all.id);
      return from.push(b.refused()), void();
    }
    all = extend::move_axis(all, mapped_axis(axis, all.rank()), 0);
    rows.push(all.id);
    from.push(row_of(b, all.id));
  }
  template <class X> constexpr X leaf() { return X(b, from[next++]); }

  /// Stands for one row of `all`: `batch` replaces it, and no output may depend on it (`escaped_value`).
  static constexpr symbol row_of(builder& b, symbol all) {
    symbol const zero = extend::constant(b, b.tensor(all).type, b.shape(without_first(b.dims(all))), 0).id;
    std::int64_t const unique = b.get().nodes.size(); // never merges with another one
    return b.push(info_of<op::placeholder>(), &zero, 1, &unique, 1, b.place);
  }

private:
  /// Checks what the types of traced expressions say.
  constexpr bool fits(term x) {
    int const at = mapped_axis(axis, x.rank());
    if (at < 0) return b.refuse<refusals::vmap_axis>(axis < 0 ? -axis - 1 : axis, x.rank(), b.place), false;
    dimension const first = rows.size() == 0 ? x.dims().size[at] : b.dims(rows[0]).size[0];
    if (x.dims().size[at] == first) return true;
    return b.refuse<refusals::vmap_extents>(first, x.dims().size[at], b.place), false;
  }
};

/// `Otherwise` computes the rows of a function that is not batched as a whole; void: such a function is refused.
template <class Otherwise, class F, int... Axis> struct vmap_function : transformation<vmap_function<Otherwise, F, Axis...>> {
  using function = vmap_function; // the whole transformation is traced
  using of = F;
  [[no_unique_address]] F f;

  constexpr vmap_function() : f(remade<F>()) {}
  constexpr explicit vmap_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> using refused_expressions = refused_tree<Result, expr>;
  template <class Result, class...> using refused_result = refused_tree<Result, tensor>;

  /// The axis of argument K.
  template <std::size_t K> static consteval int axis_of_argument() {
    constexpr int all[]{Axis..., 0};
    return sizeof...(Axis) == 0 ? 0 : K < sizeof...(Axis) ? all[K] : unmapped;
  }
  template <class Indices, class... X> struct rows;
  template <std::size_t... K, class... X> struct rows<std::index_sequence<K...>, X...> {
    using type = parts<typename row_type<X, axis_of_argument<K>()>::type...>;
    static constexpr mapped_extents mapped = [] {
      mapped_extents found;
      (find_mapped<axis_of_argument<K>(), X>(found), ...);
      return found;
    }();
  };
  /// The arguments of the function.
  template <class... X> using rows_of = typename rows<std::index_sequence_for<X...>, X...>::type;

  template <class... X> constexpr auto trace(X const&... x) const {
    if constexpr ((tree_has<X, tree_kind::refusal> || ...)) return refused();
    else if constexpr (sizeof...(Axis) != 0 && sizeof...(Axis) != sizeof...(X)) {
      refusals::vmap_axes::report<extent::of(sizeof...(Axis)), extent::of(sizeof...(X))>();
      return refused();
    } else {
      constexpr mapped_extents mapped = rows<std::index_sequence_for<X...>, X...>::mapped;
      if constexpr (mapped.beyond >= 0) {
        refusals::vmap_axis::report<extent::of(mapped.axis), extent::of(mapped.beyond)>();
        return refused();
      } else if constexpr (mapped.count == 0) {
        refusals::vmap_nothing::report<F>();
        return refused();
      } else if constexpr (!(mapped.first == mapped.next)) {
        refusals::vmap_extents::report<mapped.first, mapped.next>();
        return refused();
      } else return on<mapped.first>(rows_of<X...>{}, std::index_sequence_for<X...>{}, x...);
    }
  }

private:
  template <extent Size, class... Row, std::size_t... K, class... X>
  constexpr auto on(parts<Row...>, std::index_sequence<K...>, X const&... x) const {
    using result = result_among<call_type<callable<F>, Row...>, Row...>;
    constexpr unfit why = unfit_result<F, result, sizeof...(K)>();
    if constexpr (why != unfit::nothing) {
      detail::report_unfit<why, F, Row...>();
      return refused_tree<result, expr>();
    } else {
      using all = replace_leaves<result_tree<result>, in_front<Size>>;
      found_builder found;
      (visit_leaves(x, found), ...);
      if (found.b == nullptr)
        return detail::without_graph<all>(found, [&] {
          broken_leaf row{standing::refused};
          return f(build_tree<Row>(row)...);
        });
      builder& b = *found.b;
      leaves_of_row row{b};
      (add_rows<axis_of_argument<K>()>(row, x), ...);
      auto const outputs = [&] { // with what `row.from` stands for
        row.next = 0;
        std::int32_t const first = b.get().nodes.size();
        argument_list<std::index_sequence<K...>, Row...> const own{{row_of<axis_of_argument<K>(), Row>(row, x)}...};
        result const y = detail::called(f, static_cast<held<K, Row> const&>(own).value...);
        symbols_of_leaves out{b};
        visit_leaves(y, out);
        hold_prints(b, out.ids, first);
        return out.ids;
      };
      auto const all_rows = [&](array<symbol> const& one, symbol* to) { // of one row; for each
        dimension const size = b.dims(row.rows[0]).size[0];
        batch_request const request{row.from.data(), row.rows.data(), row.from.size(), size, one.data(), one.size()};
        if constexpr (in_graph<X...>) front_end_of<X...>::batch(b, request, to);
        else batch(b, request, to);
        for (int k = 0; k < one.size() && b.failed().why == nullptr; ++k)
          if (to[k] == none)
            to[k] = extend::broadcast_to({&b, one[k]}, batch_rule{{b, {}}, size, nullptr}.with_rows(b.tensor(one[k]).shape)).id;
      };
      if constexpr (in_graph<X...>) front_end_of<X...>::check(b);
      int const before = b.get().nodes.size();
      array<symbol> const out = outputs();
      array<symbol> results(out.size() + 1, b.refused());
      if (b.failed().why == nullptr) {
        if constexpr (std::is_void_v<Otherwise>) all_rows(out, results.data());
        else Otherwise::template rows<X...>(row, before, out, results.data(), outputs, all_rows);
      }
      for (symbol& s : results)
        if (s == none) s = b.refused();
      leaf_from_symbols make{b, results.data()};
      return build_tree<all>(make);
    }
  }
  template <int At, class X> static constexpr void add_rows(leaves_of_row& row, X const& x) {
    row.axis = At;
    if constexpr (At != unmapped) visit_leaves(x, row);
  }
  template <int At, class Row, class X> static constexpr Row row_of(leaves_of_row& row, X const& x) {
    if constexpr (At == unmapped) return x;
    else return build_tree<Row>(row);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The function for every row of its arguments at once: row i of the result is `f(x(i), y(i), ...)`. Rows are positions
/// along axis 0; `ct::vmap<0, ct::unmapped, 1>(f)` names an axis for each argument, -1 for the last one. An argument
/// that is `ct::unmapped` goes to every row as it is. The rows of the results are their axis 0.
///
/// Takes trees, of which every tensor has the axis, and functions that are transformations; its derivatives and Jacobians
/// are those of other functions. Random numbers are the same in every row, unless the key is mapped.
///
/// A loop runs as long as any row does, and rows that have ended keep their values. Where rows select different branches, all are
/// computed.
///
/// Refuses: axes that differ in extent; operations without a batching rule.
/// Value: sums in matrix products may be ordered otherwise than for one row.
/// Checked: tests/static/jacobians.cpp, tests/static/batched_loops.cpp, tests/runtime/jacobians.cpp.
template <int... Axis, class F> constexpr auto vmap(F f) { return detail::vmap_function<void, F, Axis...>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
