// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_REFUSALS_HPP
#define COTANGENT_DYNAMIC_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>

// What a graph that is built at run time refuses on its own account; what shapes refuse stands with the operations.

namespace cotangent::refusals {

// clang-format off

COTANGENT_REFUSAL_OF(dynamic_other_graph, allowed, "cotangent: the operands must be expressions of one graph")
COTANGENT_REFUSAL_OF(dynamic_left_body, allowed, "cotangent: an expression must not be used outside of the loop or branch that made it; return it from there")
COTANGENT_REFUSAL_OF(dynamic_detached, allowed, "cotangent: a value without operands must meet an expression of a graph first; make it with g.constant(value)")
COTANGENT_REFUSAL(dynamic_size, at_least, size_given, nothing_less, "cotangent: dynamic: a size must be at least 0, and all together must fit 64 bits")
COTANGENT_REFUSAL(dynamic_rank, at_most, rank_given, largest_rank, "cotangent: dynamic: there must be at most 8 axes")
COTANGENT_REFUSAL(dynamic_constant_count, equal, elements_given, elements_of_shape, "cotangent: dynamic: a constant must have one element for each position of its shape")
COTANGENT_REFUSAL_OF(dynamic_element, allowed, "cotangent: dynamic: an expression holds another element type than it is asked for; convert it with ct::convert<T>(x)")

COTANGENT_REFUSAL(dynamic_seed_count, equal, cotangents_given, outputs_given, "cotangent: gradient: there must be one cotangent for each output, or none at all")
COTANGENT_REFUSAL_OF(dynamic_no_gradient, allowed, "cotangent: gradient_of: a gradient must have been asked for with respect to this expression")

COTANGENT_REFUSAL(dynamic_window, equal, sizes_given, sizes_of_shape, "cotangent: view: offset and stride must have a number for each size of the shape")
COTANGENT_REFUSAL_OF(dynamic_write_place, allowed, "cotangent: write: what is written must be a view of an input or of a tensor of g.tensor, or such a tensor; what is computed already must not be")
COTANGENT_REFUSAL_OF(dynamic_write_twice, allowed, "cotangent: write: an element must be written at most once")

COTANGENT_REFUSAL_OF(dynamic_update_input, allowed, "cotangent: update: what is updated must be an input of the graph")
COTANGENT_REFUSAL_OF(dynamic_update_twice, allowed, "cotangent: update: an input must be updated by one value only")
COTANGENT_REFUSAL_OF(dynamic_update_type, allowed, "cotangent: update: the new value must have the element and the shape of the input")
COTANGENT_REFUSAL(dynamic_gradient_count, equal, gradients_given, parameters_given, "cotangent: apply_gradients: there must be one gradient for each parameter")

// clang-format on

} // namespace cotangent::refusals

#endif
