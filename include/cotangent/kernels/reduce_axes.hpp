// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_REDUCE_AXES_HPP
#define COTANGENT_KERNELS_REDUCE_AXES_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/shape.hpp>
#include <cotangent/kernels/reduce.hpp>

#include <cstdint>

// Reductions over any axes of strided memory: loops around a kernel on rows or columns.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// Counts through the positions of some axes, the last one innermost, and moves two offsets by their strides.
struct odometer {
  std::int64_t index[max_rank]{};

  bool next(int rank, std::int64_t const* size, std::int64_t const* a_stride, std::int64_t& a,
            std::int64_t const* b_stride, std::int64_t& b) noexcept {
    for (int k = rank; k-- > 0;) {
      a += a_stride[k];
      b += b_stride[k];
      if (++index[k] < size[k]) return true;
      a -= index[k] * a_stride[k];
      b -= index[k] * b_stride[k];
      index[k] = 0;
    }
    return false;
  }
};

/// A reduction to a row-major result. The kernel has one or two of its axes, the loops around it have the others.
struct axes_reduction {
  reduce_shape inner;
  bool rows = true;          // the kernel: of rows, else of columns
  int kept = 0, reduced = 0; // axes outside the kernel
  std::int64_t kept_size[max_rank]{}, kept_from[max_rank]{}, kept_to[max_rank]{};
  std::int64_t reduced_size[max_rank]{}, reduced_from[max_rank]{};

  /// Calls `f(to, from, shape)` with the offsets in the result and the operand, for each call of the kernel.
  template <class F> void run(F f) const {
    static constexpr std::int64_t none[max_rank]{};
    reduce_shape s = inner;
    odometer outer;
    std::int64_t at = 0, out = 0;
    do {
      odometer inside;
      std::int64_t from = at, unused = 0;
      s.first = true;
      do {
        f(out, from, s);
        s.first = false;
      } while (inside.next(reduced, reduced_size, reduced_from, from, none, unused));
    } while (outer.next(kept, kept_size, kept_from, at, kept_to, out));
  }
};

/// Arranges the reduction over the axes in `mask`; false if the kernels cannot read the operand, since neighbors
/// in memory are not neighbors on an axis.
inline bool arrange(int rank, std::int64_t const* size, std::int64_t const* stride, std::uint32_t mask,
                    axes_reduction& r) noexcept {
  struct axis {
    std::int64_t size = 1, from = 0, to = 0;
    bool reduced = false;
  } a[max_rank];
  int n = 0;
  std::int64_t kept = 1, reduced = 1;
  for (int k = rank; k-- > 0;) {
    bool const gone = (mask >> k & 1u) != 0;
    if (size[k] != 1) a[n++] = {size[k], stride[k], gone ? 0 : kept, gone};
    (gone ? reduced : kept) *= size[k];
  }
  r.rows = true;
  if (kept == 0 || reduced == 0) return r.inner = {kept, 0, 0, 1}, true;
  // Innermost axis first: a stable sort by stride, so that a transposed operand is read in memory order.
  for (int i = 1; i < n; ++i)
    for (int k = i; k > 0 && a[k].from < a[k - 1].from; --k) {
      axis const t = a[k];
      a[k] = a[k - 1];
      a[k - 1] = t;
    }
  int m = 0;
  for (int k = 0; k < n; ++k)
    if (m > 0 && a[m - 1].reduced == a[k].reduced && a[m - 1].from * a[m - 1].size == a[k].from &&
        a[m - 1].to * a[m - 1].size == a[k].to)
      a[m - 1].size *= a[k].size;
    else a[m++] = a[k];
  if (m == 0) return r.inner = {1, 1, 0, 1}, true;
  if (a[0].from != 1 || (!a[0].reduced && a[0].to != 1)) return false;
  r.rows = a[0].reduced;
  int partner = 1; // the nearest axis of the other kind goes into the kernel too
  while (partner < m && a[partner].reduced == a[0].reduced) ++partner;
  axis const other = partner < m ? a[partner] : axis{};
  r.inner = r.rows ? reduce_shape{other.size, a[0].size, other.from, other.to}
                   : reduce_shape{a[0].size, other.size, other.from, 1};
  for (int k = m; k-- > 1;)
    if (k == partner) continue;
    else if (a[k].reduced) {
      r.reduced_size[r.reduced] = a[k].size;
      r.reduced_from[r.reduced++] = a[k].from;
    } else {
      r.kept_size[r.kept] = a[k].size;
      r.kept_from[r.kept] = a[k].from;
      r.kept_to[r.kept++] = a[k].to;
    }
  if (!r.rows && r.reduced == 0 && r.kept > 0) { // blocks of few columns: a call for each would cost as much as its work
    --r.kept;
    r.inner.blocks = r.kept_size[r.kept];
    r.inner.block_step = r.kept_from[r.kept];
    r.inner.block_to = r.kept_to[r.kept];
  }
  return true;
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
