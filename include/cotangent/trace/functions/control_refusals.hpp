// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_CONTROL_REFUSALS_HPP
#define COTANGENT_TRACE_FUNCTIONS_CONTROL_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>

// Refusals of loops and branches in traced functions.

namespace cotangent::refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_TYPES(carried_type, equal, value_before, value_after, "cotangent: loop: a carried value must keep its element type and shape")
COTANGENT_REFUSAL_TYPES(carried_rank, equal, value_before, value_after, "cotangent: loop: a carried value must keep its element type and shape; start from ct::zeros<...>(), not from a number")
COTANGENT_REFUSAL_TYPES(branch_type, equal, value_of_branch, value_of_other_branch, "cotangent: case_of: all branches must give the same element types and shapes")
COTANGENT_REFUSAL_TYPES(passed_type, equal, value_passing_by, value_of_result, "cotangent: case_of: a value that is passed through must have the element type and shape of its result")
COTANGENT_REFUSAL_TYPES(condition_type, is, value_of_condition, bool_expression, "cotangent: loop: the condition must be one bool")
COTANGENT_REFUSAL_OF(carried_of_kind, allowed, "cotangent: loop: a first value must be a number, an expression, or a tuple, array or Boost.Hana struct of expressions")
COTANGENT_REFUSAL_OF(carried_without_graph, allowed, "cotangent: loop: of a run-time graph, at least one first value must be an expression of that graph, such as g.constant(0.0)")
COTANGENT_REFUSAL_OF(passed_of_kind, allowed, "cotangent: case_of, cond: an argument must be a number, an expression, or a tuple, array or Boost.Hana struct of expressions")
COTANGENT_REFUSAL_OF(trees_of_branches, allowed, "cotangent: case_of, cond: calls with trees must be declared; include cotangent/cotangent.hpp")
COTANGENT_REFUSAL_OF(case_index_of_kind, allowed, "cotangent: case_of: the index must be an integer scalar")
COTANGENT_REFUSAL_OF(predicate_of_kind, allowed, "cotangent: cond: the predicate must be one bool expression, such as x > 0")
COTANGENT_REFUSAL_OF(count_of_kind, allowed, "cotangent: for_loop: the count must be an integer, or an int64 or int32 expression without axes")
COTANGENT_REFUSAL_OF(scan_of_kind, allowed, "cotangent: scan: after the carry there must be tensors with rows: expressions, or tuples, arrays or Boost.Hana structs of them")
COTANGENT_REFUSAL(scan_axis, at_least, axes_of_xs, one, "cotangent: scan: xs must have an axis of rows in front")
COTANGENT_REFUSAL(scan_extents, equal, rows_of_xs, rows_of_other_xs, "cotangent: scan: all xs must have the same first extent")
COTANGENT_REFUSAL_OF(scan_result, allowed, "cotangent: scan: the body must return the next carry and a row, as a std::pair")
// clang-format on
} // namespace cotangent::refusals

#endif
