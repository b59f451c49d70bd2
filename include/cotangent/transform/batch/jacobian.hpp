// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_JACOBIAN_HPP
#define COTANGENT_TRANSFORM_BATCH_JACOBIAN_HPP

#include <cotangent/transform/batch/batch.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

enum class jacobian_mode : unsigned char { forward, reverse, by_size };

/// The Jacobian of each output with respect to each `wrt`.
struct jacobian_request {
  symbol const* outputs = nullptr;
  int output_count = 0;
  symbol const* wrt = nullptr;
  int wrt_count = 0;
  jacobian_mode mode = jacobian_mode::by_size;
};

/// Computes the values once, and then the tangents of all unit vectors, or the cotangents, as rows of one batch.
class jacobian_sweep {
  builder& b_;
  jacobian_request const& r_;

  /// The unit vectors of several symbols in one list.
  struct units {
    array<symbol> rows;
    array<dimension> begin, count; // of each symbol's unit vectors
    dimension total = 0;
  };

public:
  constexpr jacobian_sweep(builder& b, jacobian_request const& r) : b_(b), r_(r) {}

  constexpr void run(symbol* result) {
    bool const forward = r_.mode == jacobian_mode::forward ||
                         (r_.mode == jacobian_mode::by_size &&
                          2 * elements(r_.wrt, r_.wrt_count) <= 3 * elements(r_.outputs, r_.output_count));
    symbol const* const from = forward ? r_.wrt : r_.outputs;
    symbol const* const to = forward ? r_.outputs : r_.wrt;
    int const from_count = forward ? r_.wrt_count : r_.output_count,
              to_count = forward ? r_.output_count : r_.wrt_count;
    array<symbol> seeds, one(to_count + 1, none), all(to_count + 1, none);
    bool const single = from_count == 1 && b_.count(b_.dims(from[0])) == 1; // needs no batch
    for (int k = 0; k < from_count; ++k) {
      tensor_symbol const& t = b_.tensor(from[k]);
      seeds.push(single ? extend::constant(b_, t.type, t.shape, 1).id : row_like(b_, t.type, t.shape));
    }
    if (forward) tangents(b_, from, seeds.data(), from_count, to, to_count, one.data());
    else gradient(b_, {from, seeds.data(), from_count, to, to_count}, one.data());
    if (b_.failed().why != nullptr) return;
    units const u = units_of(from, from_count);
    if (single) all = one;
    else batch(b_, {seeds.data(), u.rows.data(), from_count, u.total, one.data(), to_count}, all.data());
    for (int k = 0; k < to_count && b_.failed().why == nullptr; ++k)
      if (all[k] == none && one[k] != none) all[k] = repeated(one[k], u.total);
    if (b_.failed().why != nullptr) return;
    for (int j = 0; j < r_.output_count; ++j)
      for (int k = 0; k < r_.wrt_count; ++k)
        result[j * r_.wrt_count + k] = part(u, forward ? k : j, all[forward ? j : k], j, k, forward);
  }

  /// The diagonal of the Jacobian of outputs that are like the `wrt`.
  constexpr void diagonal(symbol* result) {
    int const count = r_.wrt_count;
    array<symbol> seeds, one(count + 1, none), all(count + 1, none);
    for (int k = 0; k < count; ++k) seeds.push(row_like(b_, b_.tensor(r_.wrt[k]).type, b_.tensor(r_.wrt[k]).shape));
    tangents(b_, r_.wrt, seeds.data(), count, r_.outputs, count, one.data());
    if (b_.failed().why != nullptr) return;
    units const u = units_of(r_.wrt, count);
    if (b_.failed().why != nullptr) return;
    batch(b_, {seeds.data(), u.rows.data(), count, u.total, one.data(), count}, all.data());
    for (int k = 0; k < count && b_.failed().why == nullptr; ++k) {
      tensor_symbol const t = b_.tensor(r_.wrt[k]);
      if (all[k] != none) result[k] = extend::sum(term{&b_, all[k]} * term{&b_, u.rows[k]}, 1u).id;
      else result[k] = one[k] != none ? one[k] : extend::constant(b_, t.type, t.shape, 0).id;
    }
  }

private:
  /// Named extents count as many.
  constexpr double elements(symbol const* s, int count) const {
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      double product = 1;
      dimensions const& d = b_.dims(s[k]);
      for (int a = 0; a < d.rank; ++a) product *= d.size[a] < 0 ? 1000. : static_cast<double>(d.size[a]);
      sum += product;
    }
    return sum;
  }
  constexpr units units_of(symbol const* s, int count) {
    units u;
    for (int k = 0; k < count; ++k) {
      u.begin.push(u.total);
      u.count.push(b_.count(b_.dims(s[k])));
      u.total = b_.sum(u.total, u.count[k]);
    }
    for (int k = 0; k < count; ++k) {
      std::int64_t const window[]{u.begin[k], 1, 0, 1};
      term const own = unit_matrix(b_.tensor(s[k]).type, u.count[k]);
      term const among = count == 1 ? own : op::pad::of(own, window, b_.shape({2, {u.total, u.count[k]}}));
      dimensions const d = b_.dims(s[k]);
      if (d.rank == max_rank) {
        b_.refuse<refusals::batch_rank>(d.rank, max_rank - 1, b_.place);
        return u;
      }
      dimensions rows{d.rank + 1, {u.total}};
      for (int a = 0; a < d.rank; ++a) rows.size[a + 1] = d.size[a];
      u.rows.push(op::reshape::of(among, b_.shape(rows)).id);
    }
    return u;
  }
  /// The derivative in every row, of a user's rule that gives it for all cotangents or tangents.
  constexpr symbol repeated(symbol one, dimension count) {
    dimensions const d = b_.dims(one);
    dimensions rows{d.rank + 1, {count}};
    for (int a = 0; a < d.rank; ++a) rows.size[a + 1] = d.size[a];
    return op::sum::repeat(term{&b_, one}, b_.shape(rows), 1u).id;
  }
  constexpr term unit_matrix(element type, dimension n) {
    std::int32_t const shape = b_.shape({2, {n, n}});
    if (n == 1) return extend::constant(b_, type, shape, 1);
    term const i = extend::iota(b_, element::int64, n);
    return extend::convert(op::sum::repeat(i, shape, 2u) == op::sum::repeat(i, shape, 1u), type);
  }
  /// The derivative of output j with respect to wrt k, with the axes of the output, then those of the input.
  constexpr symbol part(units const& u, int which, symbol all, int j, int k, bool forward) {
    dimensions const y = b_.dims(r_.outputs[j]), x = b_.dims(r_.wrt[k]);
    element const type = b_.tensor(r_.wrt[k]).type;
    dimensions const first = forward ? x : y, second = forward ? y : x;
    dimensions shape = first, result = y;
    for (int a = 0; a < second.rank; ++a) shape.size[shape.rank++] = second.size[a];
    for (int a = 0; a < x.rank; ++a) result.size[result.rank++] = x.size[a];
    if (all == none) return extend::constant(b_, type, b_.shape(result), 0).id;
    dimensions rows{second.rank + 1, {u.count[which]}};
    for (int a = 0; a < second.rank; ++a) rows.size[a + 1] = second.size[a];
    std::int64_t window[2 * max_rank]{u.begin[which], 1};
    for (int a = 1; a < rows.rank; ++a) window[2 * a + 1] = 1;
    term d{&b_, all};
    if (u.rows.size() > 1) d = op::slice::of(d, window, b_.shape(rows));
    d = op::reshape::of(d, b_.shape(shape));
    std::int64_t axes[max_rank]{};
    for (int a = 0; a < result.rank; ++a) axes[a] = a < y.rank ? x.rank + a : a - y.rank;
    if (forward && x.rank > 0 && y.rank > 0) d = op::permute::of(d, axes);
    return extend::convert(d, type).id;
  }
};

/// Appends to `b` the Jacobian of each output with respect to each `wrt`, those of the first output first: the axes of the
/// output, then those of the `wrt`, whose element type it has. Precondition: there are at most 8 axes. Failures are recorded in the builder.
///
/// Forward mode, if wanted or if there are at most 1.5 times as many inputs as outputs; else reverse mode.
/// Cost: the values once, and their tangents or cotangents as many times as there are inputs or outputs, as one batch.
constexpr void jacobian(builder& b, jacobian_request const& r, symbol* result) { detail::jacobian_sweep(b, r).run(result); }

/// Appends to `b` the derivative of each element of an output with respect to the same element of the `wrt` with the same number:
/// a symbol like each `wrt`. Precondition: outputs and `wrt` are as many, with equal types.
///
/// Cost: the tangents along all unit vectors, as one batch; the Jacobian is not stored.
constexpr void jacobian_diagonal(builder& b, jacobian_request const& r, symbol* result) { detail::jacobian_sweep(b, r).diagonal(result); }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
