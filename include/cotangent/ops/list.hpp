// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LIST_HPP
#define COTANGENT_OPS_LIST_HPP

#include <cotangent/ops/ops.hpp>

namespace cotangent {

/// Every operation of cotangent.hpp: those that an archive may name. A test compares the lists with
/// include/cotangent/ops/.
using library_operations =
    typename detail::joined_operations<source_operations, arithmetic_operations, compare_operations, repeat_operations,
                                       function_operations, special_operations, reduction_operations,
                                       movement_operations, matmul_operations, indexing_operations, scan_operations, sorting_operations, running_operations, control_operations>::type;

} // namespace cotangent

#endif
