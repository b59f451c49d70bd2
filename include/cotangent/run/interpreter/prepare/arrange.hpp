// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_ARRANGE_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_ARRANGE_HPP

#include <cotangent/run/interpreter/execute/calls.hpp>

#include <cstdint>

// Decides which strided operands a kernel can read directly.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// Describes a matrix, or the matrices of a stack, as rows that are `row` elements apart, transposed or not; false if
/// the rows are not contiguous.
inline bool arrange_matrix(strided const& v, bool transposed, std::int64_t& row, bool& turned) noexcept {
  std::int64_t const *const size = v.size + (v.rank - 2), *const stride = v.stride + (v.rank - 2);
  bool const across = stride[1] == 1 || size[1] <= 1;
  bool const down = stride[0] == 1 || size[0] <= 1;
  if (!across && !down) return false;
  int const along = across ? 0 : 1; // the axis along which rows follow each other
  row = size[along] <= 1 ? size[1 - along] : stride[along];
  turned = transposed == across;
  return row >= size[1 - along];
}

/// True if the kernel of a node can read operand k in this layout. `b.attribute` gives numbers.
template <class Graph> bool is_ready(Graph const& b, node const& n, int k, strided const& v) {
  kernels::axes_reduction r;
  bool turned = false;
  std::int64_t row = 0;
  switch (n.op->kind) {
  case operation_kind::reduction: return kernels::arrange(v.rank, v.size, v.stride, static_cast<std::uint32_t>(b.attribute(n, 0)), r);
  case operation_kind::matmul: return arrange_matrix(v, b.attribute(n, k) != 0, row, turned);
  case operation_kind::concatenate:
  case operation_kind::pad: return true;
  default: return v.contiguous();
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
