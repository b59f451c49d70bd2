// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_ROWS_HPP
#define COTANGENT_OPS_CONTROL_ROWS_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/movement.hpp>

#include <cstdint>

// Reads of a tensor by the number of an iteration.

namespace cotangent {

namespace detail {

enum class row_range : unsigned char { outside, inside, unknown };

/// Whether the numbers of iterations, below `limit`, plus `offset` are below `rows`; with `all`, whether each row has an iteration.
constexpr row_range iterates_rows(builder const& b, symbol limit, dimension rows, std::int64_t offset, bool all) {
  row_range const open = all || offset < 0 || (offset > 0 && rows < offset) ? row_range::outside : row_range::unknown;
  node const* const n = b.producer(limit);
  if (n == nullptr) return open;
  std::int64_t const* const number = b.get().numbers.data() + n->attribute;
  if (n->op == info_of<op::size>() && n->attribute_count == 1 && *number == rows && offset == 0) return row_range::inside;
  if (n->op != info_of<op::constant>()) return open;
  if (*number <= 0 || offset < 0 || *number > rows || offset > rows - *number) return row_range::outside;
  return !all || *number == rows ? row_range::inside : row_range::outside;
}
/// An index as another one and a constant that is added.
struct shifted_index {
  symbol index;
  std::int64_t offset = 0;
};
constexpr shifted_index without_constant(builder const& b, symbol index) {
  if (node const* const n = b.producer(index); n != nullptr && n->op == info_of<op::add>()) {
    auto const of = [&](int k) { return b.get().ids[n->first + k]; };
    for (int k = 0; k < 2; ++k)
      if (node const* const c = b.producer(of(k)); c != nullptr && c->op == info_of<op::constant>())
        return {of(1 - k), b.get().numbers[c->attribute]};
  }
  return {index};
}
/// True if the index is the number of an iteration of the open body, or that plus a constant, and always one of n rows.
constexpr bool iterates_inside(builder const& b, symbol index, dimension n) {
  open_region const* const body = b.open;
  shifted_index const i = without_constant(b, index);
  return body != nullptr && body->region == b.region && body->limit != none && i.index == body->inputs[loop_layout::count()] &&
         iterates_rows(b, body->limit, n, i.offset, false) == row_range::inside;
}
/// The limit, and at most `rows`: if it is larger, the run reports an index out of range, as the iterations beyond would.
constexpr term limited_to_rows(term limit, dimension rows) {
  builder& b = *limit.b;
  std::int32_t const number = limit.shape_id();
  term const most = extend::count_of(extend::iota(b, element::int64, rows), 1, number);
  term const beyond = extend::convert(extend::apply<op::less>(most, limit), element::int64);
  term const checked = extend::gather(extend::iota(b, element::int64, 1), beyond); // its one row is 0
  return extend::apply<op::min>(limit + checked, most);
}
/// The sequence of the rows from the offset on.
constexpr symbol sequence_read(builder& b, read_by_row const& read) {
  term x{&b, read.from};
  if (read.offset != 0) x = extend::slice(x, 0, read.offset, x.dims().size[0] - read.offset);
  return extend::rows_to_sequence(x).id;
}
/// The input of an open body for a row of `x`, which it captures, at the number of its iteration, or of one around it, or at that
/// plus a constant; `none` if `x` or `index` is another value, or could be out of range. `certain`: every iteration of the body reads it,
/// so that a count which is compared at run time may end the loop.
constexpr symbol row_of_iteration(builder& b, symbol x, symbol index, open_region* body, bool certain = true, std::int64_t offset = 0) {
  if (body == nullptr) return none;
  shifted_index const given = without_constant(b, index);
  index = given.index;
  offset += given.offset;
  auto const outside = [&](symbol t) {
    for (int k = 0; k < body->captured.size(); ++k)
      if (body->captured[k] == t && t != none) return (*body->captures)[k];
    return none;
  };
  symbol const from = outside(x);
  if (from == none || b.tensor(from).depth != 0) return none;
  if (body->limit == none || index != body->inputs[loop_layout::count()]) { // a row of the body around, which does not change here
    symbol const number = outside(index), row = number == none ? none : detail::row_of_iteration(b, from, number, body->around, false, offset);
    return row == none ? none : b.capture(row, *body);
  }
  bool const in_body = b.tensor(from).region != 0; // where rows that are not read would cost time in each iteration
  row_range const range = iterates_rows(b, body->limit, b.dims(from).size[0], offset, in_body);
  if (range == row_range::outside || (range == row_range::unknown && !(body->runs_all && certain))) return none;
  for (read_by_row const& r : body->rows)
    if (r.from == from && r.offset == offset) return r.row;
  dimensions row = b.dims(from);
  for (int j = 1; j < row.rank; ++j) row.size[j - 1] = row.size[j];
  --row.rank;
  symbol const y = b.symbol_of(b.tensor(from).type, b.shape(row));
  b.edit().tensors[y].region = body->region;
  body->inputs.push(y);
  body->rows.push({from, offset, y, range == row_range::unknown});
  return y;
}

/// The input of the open body for row `index` of x, or `none`: see `row_of_iteration`.
constexpr symbol scanned_row(term x, term index) {
  open_region* const body = x.b->open;
  return body == nullptr || body->region != x.b->region ? none : detail::row_of_iteration(*x.b, x.id, index.id, body);
}

} // namespace detail

namespace extend {

/// Row `index` of x along axis 0. If a body of a loop reads a tensor from outside at the number of its iteration, or at that
/// plus a constant, the row is scanned: an input of the body, without a check, whose cotangents are rows of a result of the
/// reverse loop. If the count is known at run time only, it is compared with the rows before the loop.
constexpr term row_at(term x, term index) {
  symbol const row = detail::scanned_row(x, index);
  return row != none ? term{x.b, row} : gather(x, index);
}
/// The index of row j of row i, in the first two axes of x as one; -1 if one of both is out of range: their product could wrap around.
constexpr term index_in_both(term x, term i, term j) {
  builder& b = *x.b;
  i = convert(i, element::int64), j = convert(j, element::int64);
  auto const count = [&](int axis) { return count_of(iota(b, element::int64, x.dims().size[axis]), 1u, j.shape_id()); };
  term index = i * count(1) + j;
  for (int axis = 0; axis < 2; ++axis)
    if (term const at = axis == 0 ? i : j; !detail::iterates_inside(b, at.id, x.dims().size[axis]))
      index = select(at < 0 || at >= count(axis), constant_like(at, -1), index);
  return index;
}
/// Row j of row i: of a row that is scanned, or of both axes as one.
constexpr term row_at(term x, term i, term j, auto... rest) {
  if (x.b->failed().why != nullptr) return x;
  bool const numbers = i.rank() == 0 && j.rank() == 0 && x.rank() > 1;
  if (!numbers) return extend::row_at(extend::row_at(x, i), j, rest...);
  symbol const row = detail::scanned_row(x, i);
  if (row != none) return extend::row_at(term{x.b, row}, j, rest...);
  return extend::row_at(merge_axes(x), index_in_both(x, i, j), rest...);
}

} // namespace extend

} // namespace cotangent

#endif
