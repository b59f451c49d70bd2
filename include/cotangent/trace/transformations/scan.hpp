// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_SCAN_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_SCAN_HPP

#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/trace/functions/loops.hpp>
#include <cotangent/trace/transformations/vmap.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// Loops over the rows of tensors.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// The reason why a scan cannot be built. `said`: it was reported before.
enum class unfit_scan : unsigned char { none, said, carry, rows, axis, extents, body, pair, value, row };

template <class R> inline constexpr bool is_pair_of_trees = false;
template <class R>
  requires(tree_kind_of<R> == tree_kind::product)
inline constexpr bool is_pair_of_trees<R> = std::tuple_size<R>::value == 2;

/// The types of a scan.
template <class Body, class Carry, class... X> struct scan_types {
  using carried = values_passed<Carry>;
  using carry = result_tree<Carry>;

  static constexpr bool has_rows = (is_inner<X> || ...) || (is_expr<X> || ...);
  static constexpr bool known = sizeof...(X) != 0 && ((is_result<X>() && !tree_has<X, tree_kind::memory>) && ...);
  static constexpr mapped_extents rows = [] {
    mapped_extents found;
    if constexpr (known) (find_mapped<0, X>(found), ...);
    return found;
  }();
  static constexpr bool fits = known && rows.beyond < 0 && rows.count != 0 && rows.first == rows.next;

  static consteval auto find_values() {
    if constexpr (fits) return std::type_identity<std::tuple<carry, typename row_type<X, 0>::type...>>{};
    else return std::type_identity<std::tuple<carry>>{};
  }
  using values = typename decltype(find_values())::type;
  static consteval auto find_returned() {
    if constexpr (fits) return std::type_identity<body_result<Body, values>>{};
    else return std::type_identity<body_result<refused, values>>{};
  }
  using returned = typename decltype(find_returned())::type;
  using given = typename returned::type;
  template <int K> static consteval auto find_part() {
    if constexpr (fits && is_pair_of_trees<given>) return std::type_identity<std::remove_cvref_t<std::tuple_element_t<K, given>>>{};
    else return std::type_identity<refused>{};
  }
  using next = typename decltype(find_part<0>())::type;
  using row = typename decltype(find_part<1>())::type;
  using entry = result_tree<result_among<row, Carry, X...>>;
  using stacked = replace_leaves<entry, in_front<rows.first>>;
  using result = std::pair<carry, stacked>;

  static consteval unfit_scan find_reason() {
    if constexpr (carried::said || (tree_has<X, tree_kind::refusal> || ...)) return unfit_scan::said;
    else if constexpr (!carried::known) return unfit_scan::carry;
    else if constexpr (!known) return unfit_scan::rows;
    else if constexpr (rows.beyond >= 0 || rows.count == 0) return unfit_scan::axis;
    else if constexpr (!(rows.first == rows.next)) return unfit_scan::extents;
    else if constexpr (returned::why != unfit::nothing && returned::why != unfit::result) return unfit_scan::body;
    else if constexpr (!is_pair_of_trees<given>) return unfit_scan::pair;
    else if constexpr (!is_like<carry, next>) return unfit_scan::value;
    else return is_result<row>() ? unfit_scan::none : unfit_scan::pair;
  }
  static constexpr unfit_scan why = find_reason();
};

/// The sequences of the rows of leaves.
struct sequences_of_rows {
  builder& b;
  array<symbol> all{};
  dimension count = 0;
  template <class X> constexpr void operator()(X const& x) {
    term const rows{&b, x.attach(b)};
    if (rows.rank() == 0)
      return b.refuse<refusals::scan_axis>(0, 1, b.place); // (types say so in traced functions)
    dimension const own = rows.dims().size[0];
    if (all.size() != 0 && own != count) return b.refuse<refusals::scan_extents>(count, own, b.place);
    count = own;
    all.push(extend::rows_to_sequence(rows).id);
  }
};

/// Appends a loop over rows.
template <loop Options, class Types, class Body, class Carry, class... X>
constexpr typename Types::result append_scan(Body const& body, Carry const& carry, X const&... xs) {
  using values = typename Types::values;
  graph_search graph(carry, xs...);
  graph.template search<values>(body);
  if (!graph.found()) return graph.template result<typename Types::result>();
  builder& b = *graph.b;
  array<symbol> inits, next, entries, results;
  attach_leaves<typename Types::carry>(b, carry, inits);
  sequences_of_rows rows{b};
  (visit_leaves(xs, rows), ...);
  if constexpr (in_graph<Carry, X...>) front_end_of<Carry, X...>::check(b);
  term const limit = extend::count_of(extend::iota(b, element::int64, rows.count), 1u, b.shape(dimensions{}));
  refuse_negative<Options>();
  loop_builder made(b, {.inits = inits.data(),
                        .carried = inits.size(),
                        .limit = limit.id,
                        .flags = Options.reverse ? std::int64_t{loop_layout::reverse} : 0,
                        .scans = rows.all.data(),
                        .scanned = rows.all.size(),
                        .tape_limit = Options.tape_limit});
  leaf_from_symbols inputs{b, made.open_body_of_rows() + 1};
  {
    body_scope<Carry, X...> const here(b, made);
    auto const given = call_with(body, build_tree<values>(inputs));
    using std::get;
    attach_leaves<typename Types::carry>(b, get<0>(given), next);
    attach_leaves<typename Types::entry>(b, get<1>(given), entries);
    hold_prints(b, next.empty() ? entries : next);
    here.finish();
    made.close_body(next.data(), next.size(), entries.data(), entries.size());
  }
  (void)made.finish(b.place);
  for (int k = 0; k < next.size(); ++k) results.push(made.last(k));
  for (int k = 0; k < entries.size() && b.failed().why == nullptr; ++k) {
    dimensions const row = b.dims(made.stack(k));
    if (row.rank == max_rank) {
      b.refuse<refusals::batch_rank>(row.rank, max_rank - 1, b.place);
      break;
    }
    results.push(extend::sequence_to_rows({&b, made.stack(k)}, b.shape(with_first(row, rows.count))).id);
  }
  while (results.size() < leaf_count<typename Types::result> + 1) results.push(b.refused());
  leaf_from_symbols make{b, results.data()};
  return build_tree<typename Types::result>(make);
}

/// The same, or a report. (All reports are here, close to the user's call, so that errors are short.)
template <loop Options, class Body, class Carry, class... X>
constexpr auto traced_scan(Body const& body, Carry const& carry, X const&... xs) {
  static_assert(Options.max_iterations == 0, "cotangent: scan: the rows are the iterations; max_iterations has no meaning");
  using types = scan_types<Body, Carry, X...>;
  if constexpr (types::why == unfit_scan::none) return detail::append_scan<Options, types>(body, carry, xs...);
  else if constexpr (types::why == unfit_scan::value && can_widen<Carry, X...>)
    return detail::traced_scan<Options>(body, detail::widened_tree(carry), detail::widened_tree(xs)...);
  else {
    if constexpr (types::why == unfit_scan::carry) refusals::carried_of_kind::report<Carry>();
    else if constexpr (types::why == unfit_scan::rows) refusals::scan_of_kind::report<X...>();
    else if constexpr (types::why == unfit_scan::axis) refusals::scan_axis::report<extent::of(types::rows.beyond > 0 ? 1 : 0), extent::of(1)>();
    else if constexpr (types::why == unfit_scan::extents) refusals::scan_extents::report<types::rows.first, types::rows.next>();
    else if constexpr (types::why == unfit_scan::body)
      []<class... V>(std::type_identity<std::tuple<V...>>) {
        detail::report_unfit<types::returned::why, Body, V...>();
      }(std::type_identity<typename types::values>{});
    else if constexpr (types::why == unfit_scan::pair) refusals::scan_result::report<typename types::given>();
    else if constexpr (types::why == unfit_scan::value) {
      using differs = misfit_of<typename types::carry, typename types::next>;
      if constexpr (needs_zeros<typename differs::like, typename differs::given>)
        refusals::carried_rank::report<typename differs::like, typename differs::given>();
      else refusals::carried_type::report<typename differs::like, typename differs::given>();
    }
    return std::pair<refused_tree<typename types::carry, expr>, refused>();
  }
}

/// The same in a run-time graph, for a call at `where`.
template <loop Options, class Body, class... X>
auto scan_in_graph(std::source_location where, Body const& body, X const&... xs) {
  return front_end_of<X...>::transformed(where, [&](auto const&... x) { return detail::traced_scan<Options>(body, x...); }, xs...);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// For each row of xs, along axis 0: `body(carry, x...)` returns the next carry and a row of the result, as a std::pair or a
/// std::tuple. Returns the last carry, and the rows stacked along axis 0, as a std::pair. With
/// `ct::scan<ct::loop{.reverse = true}>` the rows are taken from the last to the first; a row of the result still has the
/// position of its row of xs.
///
/// Carry, xs and rows of the result are expressions or trees of them; the carry may be a number. Its type stays. The body is called
/// once, when the function is traced, and may use expressions of the surrounding function. Without rows, the carry is
/// returned as it is.
///
/// Adjoint: a loop in the other direction, over values that the iterations record. Rows are read and written in place: an
/// iteration takes equally long for any number of rows.
/// Refuses: xs whose first extents differ; a body that returns anything but two parts, or another type of carry.
/// Checked: tests/static/scan_rows.cpp, tests/runtime/scan_rows.cpp.
template <loop Options = loop{}, class Body, class Carry, class... X>
  requires detail::for_transformations<Carry, X...>
constexpr auto scan(Body const& body, Carry const& carry, X const&... xs) {
  if constexpr (detail::in_graph<Carry, X...>) return detail::scan_in_graph<Options>({}, body, carry, xs...);
  else return detail::traced_scan<Options>(body, carry, xs...);
}
// Default arguments cannot follow a pack: in run-time graphs the first overloads are written out, for the user's source location.
template <loop Options = loop{}, class Body, class Carry, class X>
  requires(detail::in_graph<Carry, X> && detail::for_transformations<Carry, X>)
auto scan(Body const& body, Carry const& carry, X const& x, std::source_location where = std::source_location::current()) {
  return detail::scan_in_graph<Options>(where, body, carry, x);
}
template <loop Options = loop{}, class Body, class Carry, class X, class Y>
  requires(detail::in_graph<Carry, X, Y> && detail::for_transformations<Carry, X, Y>)
auto scan(Body const& body, Carry const& carry, X const& x, Y const& y,
          std::source_location where = std::source_location::current()) {
  return detail::scan_in_graph<Options>(where, body, carry, x, y);
}
template <loop Options = loop{}, class Body, class Carry, class X, class Y, class Z>
  requires(detail::in_graph<Carry, X, Y, Z> && detail::for_transformations<Carry, X, Y, Z>)
auto scan(Body const& body, Carry const& carry, X const& x, Y const& y, Z const& z,
          std::source_location where = std::source_location::current()) {
  return detail::scan_in_graph<Options>(where, body, carry, x, y, z);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
