// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REFUSALS_HPP
#define COTANGENT_TRANSFORM_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>

// Refusals of differentiation.

namespace cotangent::refusals {

// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(seed_missing, equal, rank_of_output, rank_of_scalar, "cotangent: gradient: an output that is not a scalar must have a cotangent; sum it, or give one as a seed: g.gradient(outputs, wrt, seeds), e.backward(y, seed)")
COTANGENT_REFUSAL(seed_shape, equal, elements_of_cotangent, elements_of_output, "cotangent: gradient: a cotangent must have the shape of its output")
COTANGENT_REFUSAL(not_differentiable, has, operation_needed, derivative, "cotangent: gradient: every operation on the way to the output must have a derivative; give the operation partial, or adjoint and tangent, or a derivative of derivative_kind::zero; ct::external has its first derivative in reverse mode only: use ct::grad, ct::vjp or ct::jacrev")
COTANGENT_REFUSAL(custom_forward, has, function_needed, rule_for_tangents, "cotangent: custom_vjp: forward mode needs a rule that is linear in the cotangent; give the function a rule for tangents with ct::custom_jvp, or use reverse mode: grad, vjp, jacrev")
COTANGENT_REFUSAL(custom_backward, has, function_needed, rule_for_cotangents, "cotangent: custom_jvp: reverse mode needs a rule that is linear in the tangents; give the function a rule for cotangents with ct::custom_vjp, or use forward mode: jvp, jacfwd")
COTANGENT_REFUSAL(not_batched, has, operation_of_function, batching_rule, "cotangent: vmap, jacobian: every operation of the function must have a batching rule; give an operation of your own batch(batch_rule&)")
COTANGENT_REFUSAL_OF(batched_views, allowed, "cotangent: vmap, jacobian: the function must not read views of values that vary by row, nor write views; ct::map runs such a function row by row")
COTANGENT_REFUSAL(escaped_value, is, value_computed, computed_here, "cotangent: vmap, map, custom_vjp, custom_jvp: a value must not leave the function or rule that it was computed in, except as its result")
COTANGENT_REFUSAL(unreachable_wrt, is, position_of_wrt, reachable, "cotangent: gradient: an output must depend on each value that a gradient is requested for")
COTANGENT_REFUSAL(tape_limit, at_least, bytes_given, bytes_needed, "cotangent: gradient: the tape limit must hold the carried values of a loop and the record of one iteration")
COTANGENT_REFUSAL_OF(batched_tape_limit, allowed, "cotangent: vmap: a gradient of a loop with a tape limit must iterate equally often in all rows; differentiate the vmap instead, or leave out ct::loop{.tape_limit}")
COTANGENT_REFUSAL_OF(unbounded_tape, allowed, "cotangent: workspace: a loop whose values are recorded must have a bound: a count that is a number or an extent, or ct::loop{.max_iterations = n}; without one, call P::run_growing")
COTANGENT_REFUSAL_OF(linear_map_in_body, allowed, "cotangent: linearize: a linear map must not be called in the body of a loop or in a branch that begins after it; call ct::jvp there")
COTANGENT_REFUSAL(gradient_sum, equal, elements_of_sum, elements_of_contribution, "cotangent: gradient: a sum of contributions must have their shape and element type")
COTANGENT_REFUSAL(budget_too_small, at_least, bytes_given, bytes_needed, "cotangent: memory_budget: the budget must hold the smallest program that computes this")
COTANGENT_REFUSAL_OF(budget_extents, allowed, "cotangent: memory_budget: every extent must be a number, so that the size of the program is known when it is compiled")
COTANGENT_REFUSAL_OF(mirror_extents, allowed, "cotangent: mirror: every extent must be a number, so that the size of the program is known when it is compiled")
COTANGENT_REFUSAL_OF(order_cycle, allowed, "cotangent: graph: a node must not depend on its own result")

// clang-format on
} // namespace cotangent::refusals

#endif
