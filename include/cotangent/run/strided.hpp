// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_STRIDED_HPP
#define COTANGENT_RUN_STRIDED_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/shape.hpp>
#include <cotangent/kernels/arg_max.hpp>
#include <cotangent/kernels/movement.hpp>

#include <cstdint>

// Kernels over strided memory that are not loops of a plan: copies, reductions over any axes, choosing by index.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// Sizes and distances of a tensor in memory.
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

/// Calls `f(a, b)` with the offsets of every position in two boxes of one size, the last axis innermost.
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

/// Same sizes, any distances.
template <class T> void copy(box const& from, T const* p, box const& to, T* q) {
  kernels::copy(from.rank, from.size, p, from.stride, q, to.stride);
}

/// Over the axes in `mask`, into a dense result.
template <class Op, class T> void reduce(box const& from, std::uint32_t mask, T const* p, T* q) {
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

/// The position of the largest along an axis: the first of equals, the first NaN where there is one.
template <class T> void arg_max(box const& from, int axis, T const* p, std::int64_t* q) {
  box rest = from, to;
  for (int k = axis; k + 1 < from.rank; ++k) {
    rest.size[k] = rest.size[k + 1];
    rest.stride[k] = rest.stride[k + 1];
  }
  --rest.rank;
  to = rest;
  to.make_dense();
  std::int64_t const n = from.size[axis], step = from.stride[axis];
  for_each_position(rest, to, [&](std::int64_t i, std::int64_t j) {
    T const* const s = p + i;
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < n; ++k)
      if (kernels::detail::takes_over(s[k * step], s[best * step])) best = k;
    q[j] = best;
  });
}

template <class Index> std::int64_t clamped(Index i, std::int64_t size, status& s) noexcept {
  if (i >= 0 && i < size) return i;
  s = status::index_out_of_range;
  return i < 0 || size == 0 ? 0 : size - 1;
}

/// Row i of the dense result is row `indices[i]` of x.
template <class T, class Index>
status gather_rows(box const& x, box const& indices, T const* p, Index const* at, T* q) noexcept {
  status s = status::ok;
  box row = x, dense;
  for (int k = 0; k + 1 < x.rank; ++k) {
    row.size[k] = x.size[k + 1];
    row.stride[k] = x.stride[k + 1];
  }
  --row.rank;
  dense = row;
  dense.make_dense();
  std::int64_t const length = row.count();
  std::int64_t i = 0;
  for_each_position(indices, indices, [&](std::int64_t j, std::int64_t) {
    std::int64_t const r = clamped(at[j], x.size[0], s);
    if (x.size[0] > 0) copy(row, p + r * x.stride[0], dense, q + i * length);
    else
      for (std::int64_t k = 0; k < length; ++k) q[i * length + k] = T{};
    ++i;
  });
  return s;
}

/// Zeros, to whose row `indices[i]` row i of x is added.
template <class T, class Index>
status scatter_rows(box const& result, box const& x, box const& indices, T const* p, Index const* at, T* q) noexcept {
  status s = status::ok;
  std::int64_t const length = result.size[0] == 0 ? 0 : result.count() / result.size[0];
  for (std::int64_t k = 0; k < result.count(); ++k) q[k] = T{};
  box row{result.rank - 1}, dense;
  for (int k = 0; k < row.rank; ++k) {
    row.size[k] = result.size[k + 1];
    row.stride[k] = x.stride[x.rank - row.rank + k];
  }
  dense = row;
  dense.make_dense();
  box lead = indices;
  for (int k = 0; k < lead.rank; ++k) lead.stride[k] = x.stride[k];
  for_each_position(indices, lead, [&](std::int64_t j, std::int64_t from) {
    std::int64_t const r = clamped(at[j], result.size[0], s);
    if (result.size[0] > 0)
      for_each_position(row, dense, [&](std::int64_t a, std::int64_t b) { q[r * length + b] += p[from + a]; });
  });
  return s;
}

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
