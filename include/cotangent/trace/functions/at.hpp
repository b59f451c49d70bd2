// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_AT_HPP
#define COTANGENT_TRACE_FUNCTIONS_AT_HPP

#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/movement.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>

// at(x, i, ...).set(v): x with another part, where indices may be computed.

namespace cotangent {

namespace detail {

/// x with v in its part, or with v added to its part. Static indices select a part of x; each computed one selects a row of that part.
template <bool Adds, class... Index> struct update_at_fn {
  static constexpr char const* name = "at(x, i, j, ...)";
  using emits = operations<>;
  static constexpr int count = sizeof...(Index);
  place_on_axis places[count]{place_traits<Index>::place...};
  std::int64_t at[count]{};
  bool on_trial = true;

  static constexpr bool computed[count]{is_computed_index<Index>...};

  constexpr term operator()(term x, term v, auto... index) const {
    builder& b = *x.b;
    term const rows[count]{index...};
    place_on_axis kept[count]{};
    for (int k = 0; k < count; ++k) kept[k] = computed[k] ? place_on_axis{.whole = true} : places[k];
    indexed_part const part(x, kept, on_trial ? nullptr : at, count);
    term const before = part.read();
    if (b.failed().why != nullptr) return x;
    if (v.type() != x.type()) return b.refuse<refusals::elements_differ>(0, 0, b.place), x;
    if (Adds && x.type() == element::boolean) return b.refuse<refusals::element_not_numeric>(0, 0, b.place), x;

    if constexpr (computed[0] && count_of_first_computed<Index...>() > 1)
      if (rows[0].rank() == 0 && rows[1].rank() == 0) return in_both(x, v, index...);

    // `selected` has no axis for a computed index, `line` has one of size 1.
    dimensions selected, line = before.dims();
    int axis = 0, only = 0, rows_given = 0;
    for (int k = 0; k < count; ++k) {
      if (computed[k]) {
        ++rows_given, line.size[axis] = 1, only = axis;
      } else if (kept[k].drops) continue;
      else selected.size[selected.rank++] = before.dims().size[axis];
      ++axis;
    }
    for (; axis < line.rank; ++axis) selected.size[selected.rank++] = line.size[axis];
    v = broadcast_if_fits(v, b.shape(selected));
    if (b.failed().why != nullptr) return x;
    if constexpr (Adds && computed[0]) return op::update_rows::add(row_added(x, v, index...), one_row(rows[0]), x);
    if constexpr (!Adds && computed[0])
      if (!is_half(x.type())) return op::update_rows::set(row_set(x, v, index...), one_row(rows[0]), x);
    if constexpr (Adds)
      if (rows_given == 1) return part.replaced(before + at_row(v, first_of(rows), before.dims().size[only], only));
    v = op::reshape::of(v, b.shape(line));
    if (rows_given == 0) return part.replaced(Adds ? before + v : v);
    return part.replaced(extend::select(selects(rows, before.dims()), Adds ? before + v : v, before));
  }

private:
  /// This update by the indices from number K on.
  template <int K, class Next> constexpr Next update_from(Next next) const {
    for (int k = K; k < count; ++k) next.places[Next::count - count + k] = places[k], next.at[Next::count - count + k] = at[k];
    next.on_trial = on_trial;
    return next;
  }
  template <class First, class... Rest> constexpr auto inner_update(std::type_identity<update_at_fn<Adds, First, Rest...>>) const {
    return update_from<1>(update_at_fn<Adds, Rest...>{});
  }
  /// The update of both first axes as one, by one index.
  template <class First, class Second, class... Rest> constexpr auto flat_update(std::type_identity<update_at_fn<Adds, First, Second, Rest...>>) const {
    return update_from<2>(update_at_fn<Adds, First, Rest...>{});
  }
  constexpr term in_both(term x, term v, term first, term second, auto... rest) const {
    auto const update = flat_update(std::type_identity<update_at_fn>{});
    return op::reshape::of(update(extend::merge_axes(x), v, extend::index_in_both(x, first, second), rest...), x.shape_id());
  }
  /// The row that the first index selects, with v in place of its part, as a list of one row.
  constexpr term row_set(term x, term v, term first, auto... rest) const {
    if constexpr (count > 1) v = inner_update(std::type_identity<update_at_fn>{})(extend::row_at(x, first), v, rest...);
    return one_row(v);
  }
  /// The terms for the row that the first index selects, as a list of one row.
  constexpr term row_added(term x, term v, term, auto... rest) const {
    if constexpr (count > 1) {
      dimensions row{x.rank() - 1, {}};
      for (int k = 0; k < row.rank; ++k) row.size[k] = x.dims().size[k + 1];
      v = inner_update(std::type_identity<update_at_fn>{})(extend::constant(*x.b, x.type(), x.b->shape(row), 0), v, rest...);
    }
    return one_row(v);
  }
  static constexpr term first_of(term const* rows) {
    int k = 0;
    while (!computed[k]) ++k;
    return rows[k];
  }
  /// True where the computed indices are, which select along axes of the part.
  constexpr term selects(term const* rows, dimensions const& all) const {
    term hit{};
    for (int k = 0, axis = 0; k < count; ++k)
      if (computed[k]) {
        term const here = is_row(rows[k], all, axis++);
        hit = hit.present() ? extend::apply<op::logical_and>(hit, here) : here;
      } else if (!places[k].drops) ++axis;
    return hit;
  }
  /// True at position `index` of an axis; the run reports an index that is out of range.
  static constexpr term is_row(term index, dimensions const& all, int axis) {
    builder& b = *index.b;
    dimensions one{1, {1}}, of{1, {all.size[axis]}}, d{all.rank, {}};
    for (int k = 0; k < all.rank; ++k) d.size[k] = k == axis ? all.size[k] : 1;
    term const found = op::scatter_add::of(extend::constant(b, element::int64, b.shape(one), 1), one_row(index), b.shape(of));
    return op::reshape::of(found > 0, b.shape(d));
  }
  /// Zeros, with v at position `index` of an axis of n rows.
  static constexpr term at_row(term v, term index, dimension n, int axis) {
    term const row = one_row(v);
    dimensions all = row.dims();
    all.size[0] = n;
    return extend::move_axis(op::scatter_add::of(row, one_row(index), v.b->shape(all)), 0, axis);
  }
  /// A list of one row, or of one index.
  static constexpr term one_row(term v) {
    dimensions one{v.rank() + 1, {1}};
    for (int k = 0; k < v.rank(); ++k) one.size[k + 1] = v.dims().size[k];
    return op::reshape::of(v, v.b->shape(one));
  }
};

/// A part of x: see `at`.
template <class X, class... Index> class updated_part {
  X x_;
  std::tuple<Index...> index_;

  template <class I> static constexpr auto operand(I const& i) {
    if constexpr (is_computed_index<I>) return i;
    else return (void)i, 0;
  }
  template <bool Adds, class V> constexpr auto updated(std::source_location where, V const& v) const {
    if constexpr (requires { requires (is_expr<V> || open_expr<V>) && !std::is_same_v<arithmetic_type<typename V::value_type>, arithmetic_type<typename X::value_type>>; }) {
      static_assert(refusals::elements_differ::report<typename X::value_type, typename V::value_type>());
      return refused{};
    } else return std::apply(
        [&](Index const&... i) {
          update_at_fn<Adds, Index...> const fn{{place_of(i)...}, {position_of_index(i)...}, false};
          return detail::lift(where, fn, x_, v, operand(i)...);
        },
        index_);
  }
  template <class I> static constexpr place_on_axis place_of(I const& i) {
    if constexpr (requires { i.start, i.stop, i.step; }) return {.start = i.start, .stop = i.stop, .step = i.step};
    else return (void)i, place_traits<I>::place;
  }

public:
  constexpr explicit updated_part(X const& x, Index const&... i) : x_(x), index_(i...) {}
  /// x with v in place of the part.
  template <class V> constexpr auto set(V const& v, std::source_location where = std::source_location::current()) const {
    return updated<false>(where, v);
  }
  /// x with v added to the part.
  template <class V> constexpr auto add(V const& v, std::source_location where = std::source_location::current()) const {
    return updated<true>(where, v);
  }
};

} // namespace detail

/// A part of x, whose indices are those of `x(i, j, ...)`, also computed ones: `at(x, i).set(v)` is x with v in place of x(i), and
/// `at(x, i, ct::all).add(v)` is x with v added to row i. v broadcasts to the part; x itself does not change.
/// Adjoint: of `set`, dy to v in the part and to x outside of it; of `add`, dy to both.
/// Edges: the run reports a computed index that is out of range.
template <detail::expression X, class... Index>
  requires(sizeof...(Index) != 0)
constexpr auto at(X const& x, Index const&... index) {
  if constexpr (!((detail::place_traits<Index>::known || detail::is_computed_index<Index> || (detail::open_expr<X> && detail::is_place_at_run_time<Index>)) && ...))
    static_assert(refusals::index_of_kind::report<Index...>());
  return detail::updated_part<X, Index...>(x, index...);
}

} // namespace cotangent

#endif
