// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_MAP_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_MAP_HPP

#include <cotangent/trace/transformations/scan.hpp>

#include <cstdint>
#include <source_location>

// Functions of independent rows.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// The rows of a function with loops or branches: blocks of rows that fill SIMD lanes, or one row after the other.
struct rows_by_loop {
  /// `outputs()`: the symbols of one row's results, appended where nodes go now, for the symbols in `row.from`.
  /// `all_rows(outputs, to)`: these for each of `row.rows`.
  template <class... X, class Outputs, class AllRows>
  static constexpr void rows(leaves_of_row& row, int before, array<symbol> const& out, symbol* results, Outputs const& outputs,
                             AllRows const& all_rows) {
    builder& b = row.b;
    dimension const count = b.dims(row.rows[0]).size[0];
    std::int64_t const at_once = rows_at_once(b.get(), before, b.region, out, COTANGENT_ABI_BYTES);
    auto const lacks_room = [&](array<symbol> const& of, int axes) {
      for (symbol const t : of)
        if (b.dims(t).rank + axes > max_rank) return true;
      return false;
    };
    bool const by_row = at_once == 1 || count < 2 /* or a name */ || lacks_room(row.rows, 1) || lacks_room(out, 2);
    if (at_once == 0 || (!by_row && count <= 2 * at_once)) return all_rows(out, results);
    dimension const blocks = by_row ? count : (count + at_once - 1) / at_once;
    array<symbol> const whole = row.rows;
    array<symbol> sequences, made;
    for (symbol const x : whole)
      sequences.push(extend::rows_to_sequence(by_row ? term{&b, x} : in_blocks({&b, x}, blocks, at_once)).id);
    term const limit = extend::count_of(extend::iota(b, element::int64, blocks), 1u, b.shape(dimensions{}));
    loop_builder loop(b, {.limit = limit.id, .scans = sequences.data(), .scanned = sequences.size()});
    {
      builder_scope const outer(b); // (before the body is open: the results of the loop belong outside)
      symbol const* const in = loop.open_body_of_rows() + 1;
      body_scope<X...> const here(b, loop);
      if (!by_row) (void)b.open_block(); // a gradient computes a block again
      for (int k = 0; k < whole.size(); ++k) {
        row.rows[k] = in[k];
        row.from[k] = by_row ? in[k] : leaves_of_row::row_of(b, in[k]);
      }
      made = outputs();
      if (!by_row && b.failed().why == nullptr) {
        array<symbol> const one = made;
        all_rows(one, made.data());
      }
      here.finish();
      loop.close_body(nullptr, 0, made.data(), made.size());
    }
    (void)loop.finish(b.place);
    for (int k = 0; k < made.size() && b.failed().why == nullptr; ++k) {
      dimensions const entry = b.dims(loop.stack(k));
      if (entry.rank == max_rank) return b.refuse<refusals::batch_rank>(entry.rank, max_rank - 1, b.place);
      term const y = extend::sequence_to_rows({&b, loop.stack(k)}, b.shape(with_first(entry, blocks)));
      results[k] = by_row ? y.id : extend::slice(extend::merge_axes(y), 0, 0, count).id;
    }
  }

private:
  /// [blocks, rows, ...]. The last row again, where the last block is not full; these copies have no gradient.
  static constexpr term in_blocks(term x, dimension blocks, dimension rows) {
    dimensions const each = without_first(x.dims());
    dimension const count = x.dims().size[0], more = blocks * rows - count;
    if (more > 0) {
      term const last = extend::stop_gradient(extend::slice(x, 0, count - 1, 1));
      x = joined_along(0, x, extend::broadcast_to(last, x.b->shape(with_first(each, more))));
    }
    return op::reshape::of(x, x.b->shape(with_first(with_first(each, rows), blocks)));
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The rows `body(x(i), y(i), ...)`, for use in traced functions: rows are positions along axis 0 of the arguments, and of the
/// results.
///
/// The body may use expressions of the surrounding function, and return a tree. It is called when the function is traced: once, or
/// twice if it has loops or branches.
/// Rows become an axis of the operations of the body (`vmap`), so that they fill SIMD lanes, and sums over them need no memory.
///
/// A body with loops or branches runs on blocks of 64 bytes of numbers, 8 doubles or 16 floats; of 128 bytes with AVX-512, for
/// values of up to 4 elements. As with `vmap`, a loop goes on as long as any row of the block does, and all branches that rows
/// select are computed. A gradient stores arguments and results alone. It computes a block with its gradient if that depends on
/// no results, as the gradient of their sum; else it computes the block again. Row by row run bodies whose loops have values of
/// more than 9 elements, or operations without a batching rule, and rows whose number is a name; so do values that have no room
/// for an axis more. Gradients that need the results first record values of all these rows.
///
/// Adjoint: of each row; those of expressions that the body uses are added over the rows.
/// Refuses: what vmap refuses, but for operations without a batching rule.
/// Checked: tests/static/map.cpp.
template <class Body, class... X>
  requires(sizeof...(X) > 0)
constexpr auto map(Body const& body, X const&... xs) {
  return detail::vmap_function<detail::rows_by_loop, Body>(body)(xs...);
}
// Default arguments cannot follow a pack: in run-time graphs the first overloads are written out, for the user's source location.
template <class Body, class X>
  requires detail::in_graph<X>
auto map(Body const& body, X const& x, std::source_location where = std::source_location::current()) {
  return detail::vmap_function<detail::rows_by_loop, Body>(body)(x, where);
}
template <class Body, class X, class Y>
  requires detail::in_graph<X, Y>
auto map(Body const& body, X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::vmap_function<detail::rows_by_loop, Body>(body)(x, y, where);
}
template <class Body, class X, class Y, class Z>
  requires detail::in_graph<X, Y, Z>
auto map(Body const& body, X const& x, Y const& y, Z const& z, std::source_location where = std::source_location::current()) {
  return detail::vmap_function<detail::rows_by_loop, Body>(body)(x, y, z, where);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
