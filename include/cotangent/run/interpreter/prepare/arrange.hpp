// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_ARRANGE_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_ARRANGE_HPP

#include <cotangent/run/interpreter/execute/calls.hpp>

#include <cstdint>

// Decides which strided operands a kernel can read directly.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// Arranges a reduction as loops around a kernel; false if the operand must be copied first.
inline bool arrange_reduction(strided const& x, std::uint32_t mask, reduction_step& r, bool& rows) noexcept {
  struct axis {
    std::int64_t size = 1, from = 0, to = 0;
    bool reduced = false;
  } a[max_rank];
  int n = 0;
  std::int64_t kept = 1, reduced = 1;
  for (int k = x.rank; k-- > 0;) {
    bool const gone = (mask >> k & 1u) != 0;
    if (x.size[k] != 1) a[n++] = {x.size[k], x.stride[k], gone ? 0 : kept, gone};
    (gone ? reduced : kept) *= x.size[k];
  }
  r.bytes = static_cast<std::int64_t>(size_of(x.type));
  rows = true;
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
  rows = a[0].reduced;
  int partner = 1; // the nearest axis of the other kind goes into the kernel too
  while (partner < m && a[partner].reduced == a[0].reduced) ++partner;
  axis const other = partner < m ? a[partner] : axis{};
  r.inner = rows ? kernels::reduce_shape{other.size, a[0].size, other.from, other.to}
                 : kernels::reduce_shape{a[0].size, other.size, other.from, 1};
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
  return true;
}

/// Describes a matrix operand as rows that are `row` elements apart, transposed or not; false if its rows are
/// not contiguous.
inline bool arrange_matrix(strided const& v, bool transposed, std::int64_t& row, bool& turned) noexcept {
  bool const across = v.stride[1] == 1 || v.size[1] <= 1;
  bool const down = v.stride[0] == 1 || v.size[0] <= 1;
  if (!across && !down) return false;
  int const along = across ? 0 : 1; // the axis along which rows follow each other
  row = v.size[along] <= 1 ? v.size[1 - along] : v.stride[along];
  turned = transposed == across;
  return row >= v.size[1 - along];
}

/// True if the kernel of a node can read operand k in this layout. `b.attribute` gives numbers.
template <class Graph> bool is_ready(Graph const& b, node const& n, int k, strided const& v) {
  reduction_step r;
  bool rows = false, turned = false;
  std::int64_t row = 0;
  switch (n.op->kind) {
  case operation_kind::reduction: return arrange_reduction(v, static_cast<std::uint32_t>(b.attribute(n, 0)), r, rows);
  case operation_kind::matmul: return arrange_matrix(v, b.attribute(n, k) != 0, row, turned);
  case operation_kind::concatenate:
  case operation_kind::pad: return true;
  default: return v.contiguous();
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
