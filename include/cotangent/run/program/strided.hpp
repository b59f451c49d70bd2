// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_STRIDED_HPP
#define COTANGENT_RUN_PROGRAM_STRIDED_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/shape.hpp>
#include <cotangent/kernels/accumulate.hpp>
#include <cotangent/kernels/arg_max.hpp>
#include <cotangent/kernels/movement.hpp>
#include <cotangent/kernels/reduce_axes.hpp>

#include <cstdint>
#include <type_traits>

// Kernels over strided memory that are not loops of a plan: copies, reductions over any axes, indexing.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// Sizes and strides of a tensor in memory.
struct box {
  int rank = 0;
  std::int64_t size[max_rank]{};
  std::int64_t stride[max_rank]{};

  std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }
  void make_dense() noexcept {
    std::int64_t step = 1;
    for (int k = rank - 1; k >= 0; --k) {
      stride[k] = step;
      step *= size[k];
    }
  }
};

/// Calls `f(a, b)` with the offsets of every position in two boxes of equal sizes, the last axis innermost.
template <class F> void for_each_position(box const& a, box const& b, F f) {
  if (a.count() == 0) return;
  std::int64_t index[max_rank]{}, i = 0, j = 0;
  for (;;) {
    f(i, j);
    int k = a.rank - 1;
    for (; k >= 0; --k) {
      i += a.stride[k];
      j += b.stride[k];
      if (++index[k] < a.size[k]) break;
      i -= a.stride[k] * a.size[k];
      j -= b.stride[k] * b.size[k];
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

/// Copies between boxes of equal sizes and any strides.
template <class T> void copy(box const& from, T const* p, box const& to, T* q) {
  kernels::copy(from.rank, from.size, p, from.stride, q, to.stride);
}

/// Reduces over the axes in `mask`, to a dense result.
template <class Op, class T> void reduce(box const& from, std::uint32_t mask, T const* p, T* q) {
  if constexpr (!std::is_same_v<T, bool>)
    if (kernels::axes_reduction r; kernels::arrange(from.rank, from.size, from.stride, mask, r))
      return r.run([&](std::int64_t i, std::int64_t j, kernels::reduce_shape const& s) {
        r.rows ? kernels::reduce_rows<Op, T>(q + i, p + j, s) : kernels::reduce_columns<Op, T>(q + i, p + j, s);
      });
  box to = from;
  std::int64_t step = 1;
  for (int k = from.rank - 1; k >= 0; --k) {
    bool const kept = (mask >> k & 1u) == 0;
    to.stride[k] = kept ? step : 0;
    if (kept) step *= from.size[k];
  }
  for (std::int64_t k = 0; k < step; ++k) q[k] = Op::template neutral<T>();
  for_each_position(from, to, [&](std::int64_t i, std::int64_t j) { q[j] = Op::combine(q[j], p[i]); });
}

/// The position of the maximum along an axis: the first of equals, the first NaN if there is one.
template <class T> void arg_max(box const& from, int axis, T const* p, std::int64_t* q) {
  box rest = from;
  for (int k = axis; k + 1 < from.rank; ++k) {
    rest.size[k] = rest.size[k + 1];
    rest.stride[k] = rest.stride[k + 1];
  }
  --rest.rank;
  box to = rest;
  to.make_dense();
  std::int64_t inner = 1, inner_step = 1;
  if (rest.rank > 0) { // the columns of arg_max
    inner = rest.size[--rest.rank];
    inner_step = rest.stride[rest.rank];
    --to.rank;
  }
  for_each_position(rest, to, [&](std::int64_t i, std::int64_t j) {
    kernels::arg_max(std::int64_t{1}, from.size[axis], inner, p + i, std::int64_t{0}, from.stride[axis],
                     inner_step, q + j, std::int64_t{0}, std::int64_t{1});
  });
}

/// The axes of x from the k-th on.
inline box axes_from(box const& x, int k) noexcept {
  box row;
  for (; k < x.rank; ++k) {
    row.size[row.rank] = x.size[k];
    row.stride[row.rank++] = x.stride[k];
  }
  return row;
}
inline bool is_dense(box const& x) noexcept {
  std::int64_t step = 1;
  for (int k = x.rank; k-- > 0; step *= x.size[k])
    if (x.size[k] != 1 && x.stride[k] != step) return false;
  return true;
}
inline status status_of(bool fits) noexcept { return fits ? status::ok : status::index_out_of_range; }

/// Copies row `indices[i]` of x to row i of the dense result.
template <class T, class Index>
status gather_rows(box const& x, box const& indices, T const* p, Index const* at, T* q) noexcept {
  box const row = axes_from(x, 1);
  std::int64_t const length = row.count(), rows = x.size[0];
  if (rows <= 0 || (is_dense(row) && is_dense(indices)))
    return status_of(kernels::gather_rows(indices.count(), at, rows, length, p, x.stride[0], q, length));
  box dense = row;
  dense.make_dense();
  bool fits = true;
  for_each_position(indices, indices, [&](std::int64_t j, std::int64_t) {
    std::int64_t const from = kernels::detail::clamp_index(at[j], rows, fits);
    if (length > 0) copy(row, p + from * x.stride[0], dense, q); // there is no memory without elements
    q += length;
  });
  return status_of(fits);
}

/// Adds row i of x to row `indices[i]` of the dense result, or copies it there.
template <bool Sets, class T, class Index>
status scatter_rows(box const& result, box const& x, box const& indices, T const* p, Index const* at,
                    T* q) noexcept {
  std::int64_t const rows = result.size[0], length = rows == 0 ? 0 : result.count() / rows;
  if (rows <= 0 || (is_dense(x) && is_dense(indices)))
    return status_of(kernels::scatter_rows<Sets>(indices.count(), at, rows, length, p, length, q, length));
  box const row = axes_from(x, indices.rank);
  box dense = row, lead = indices;
  dense.make_dense();
  for (int k = 0; k < lead.rank; ++k) lead.stride[k] = x.stride[k];
  bool fits = true;
  for_each_position(indices, lead, [&](std::int64_t j, std::int64_t from) {
    std::int64_t const to = kernels::detail::clamp_index(at[j], rows, fits);
    if (length == 0) return;
    if constexpr (Sets) copy(row, p + from, dense, q + to * length);
    else kernels::accumulate(row.rank, row.size, p + from, row.stride, q + to * length, dense.stride);
  });
  return status_of(fits);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
