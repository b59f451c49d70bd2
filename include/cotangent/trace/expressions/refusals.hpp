// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_REFUSALS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>

// Refusals of the front end; those about shapes are next to the operations.

namespace cotangent::refusals {

struct wanted; // the argument of tags such as floating<wanted>

// One line each: compilers print these lines with every error.
// clang-format off

COTANGENT_REFUSAL_OF(no_truth, allowed, "cotangent: an expression has no value while its graph is built, so `if`, `for`, `while` and `?:` must not ask it; choose with ct::select(condition, a, b), repeat with ct::for_loop or ct::while_loop")
COTANGENT_REFUSAL_OF(no_printing, allowed, "cotangent: an expression has no value while its graph is built, so it must not be printed; return it from the function, and print what the call returns")
COTANGENT_REFUSAL_OF(plain_operands, allowed, "cotangent: operations build graphs and do not run on tensors; write them in a function and call ct::compiled(function)(tensors...)")
COTANGENT_REFUSAL_OF(plain_numbers, allowed, "cotangent: a function of numbers alone must be elementwise, and its numbers float, double, bool or signed integers; convert them, or call the function in another: ct::compiled(function)(numbers...)")
COTANGENT_REFUSAL_OF(tensor_meets_expression, allowed, "cotangent: a tensor must not be combined with an expression; pass it to the function as one more argument")
COTANGENT_REFUSAL(size_without_name, equal, extent_of_left, extent_of_right, "cotangent: a vector or span has a size without a name, which equals only itself; give it a name: ct::view<double, \"n\">(x)")
COTANGENT_REFUSAL_OF(number_takes_expression, allowed, "cotangent: a number must not take the value of an expression, which has none while its graph is built; declare it as ct::expr<double> s = 0")
COTANGENT_REFUSAL_TYPES(fractional_literal, is, literal_of, integer_element, "cotangent: a fractional literal must not be combined with an integer expression; convert the expression with ct::convert<double>(x)")
COTANGENT_REFUSAL(literal_out_of_range, at_most, literal_given, largest_of_the_element, "cotangent: a literal must fit the element type of the expression that it is combined with")
COTANGENT_REFUSAL_OF(detached_operation, allowed, "cotangent: an expression without operands must be combined with an argument of the function before this operation; ct::iota<T, ...>(start, step) and ct::full<...>(value) state constants directly")
COTANGENT_REFUSAL(number_of_places, at_most, indices_given, rank_of_expression, "cotangent: x(i, j, ...): there must not be more indices than axes")
COTANGENT_REFUSAL_OF(index_of_kind, allowed, "cotangent: x(i, j, ...): an index must be an integer, ct::all or ct::range<start, stop, step>")
COTANGENT_REFUSAL(range_step, divides, step_given, length_of_range, "cotangent: ct::range<start, stop, step>: the step must not be 0, and must divide the length of a range whose length has a name")
COTANGENT_REFUSAL_OF(extent_of_name, allowed, "cotangent: x.size(), x.extent(k): the extent must be a number, since a name gets its size at the call; write ct::axis_size<k>(x) for its value")
COTANGENT_REFUSAL_OF(axis_as_value, allowed, "cotangent: sum, argmax and the like: the axes must be template arguments, since the type of the result depends on them; write ct::sum(x, ct::axes<0, 2>) or ct::argmax<0>(x)")
COTANGENT_REFUSAL_OF(size_as_value, allowed, "cotangent: reshape, permute, expand and the like: sizes, axes and counts must be template arguments, since the type of the result depends on them; write ct::reshape<2, 3>(x), ct::permute<1, 0>(x) or ct::expand<0>(x)")
COTANGENT_REFUSAL_OF(list_of_operands, allowed, "cotangent: concatenate, stack: the operands must be arguments of their own, and the axis a template argument; write ct::concatenate<0>(x, y)")
COTANGENT_REFUSAL(scatter_shapes, equal, extent_of_rows, extent_of_places, "cotangent: scatter_add: there must be as many rows as places to add them at")
COTANGENT_REFUSAL(dot_ranks, equal, rank_of_vector, rank_of_dot_operand, "cotangent: dot: both operands must be vectors; ct::matmul multiplies matrices")
COTANGENT_REFUSAL_SHAPES(update_type, equal, shape_before, shape_after, "cotangent: an assignment such as x = y or x += y must keep the shape of x; give the result a new name")
COTANGENT_REFUSAL_SHAPES(part_shape, broadcasts_with, shape_of_part, shape_of_value, "cotangent: x(i, j, ...) = y: the shape of y must broadcast to that of the part")
COTANGENT_REFUSAL_OF(assignment_target, allowed, "cotangent: x(i, j, ...) = y: the target of an assignment must be a variable that is not const, or a part of one; copy a value to a variable first: auto x = y; for computed positions write x = ct::at(x, i, j).set(y)")

COTANGENT_REFUSAL_OF(header_of_nn, allowed, "cotangent: this function must be declared by its header; include cotangent/nn.hpp")
COTANGENT_REFUSAL_OF(header_of_images, allowed, "cotangent: this function must be declared by its header; include cotangent/images.hpp")
COTANGENT_REFUSAL_OF(header_of_random, allowed, "cotangent: this function must be declared by its header; include cotangent/random.hpp")

// ---- functions and transformations

COTANGENT_REFUSAL_OF(trace_not_constant, allowed, "cotangent: compiled: the compiler must be able to evaluate the function: it must call only constexpr functions and stay within the limits on constant evaluations; write long loops as ct::for_loop")
COTANGENT_REFUSAL(unbound_name, is, name_of_extent, bound, "cotangent: extent: every name must be an extent of an argument, which binds it to a size; give an argument an axis of this name")
COTANGENT_REFUSAL_OF(used_capture, allowed, "cotangent: the function must not use captures, since it is traced at compile time; pass values as arguments, and put other functions at namespace scope or make them static constexpr")
COTANGENT_REFUSAL_OF(not_a_function, allowed, "cotangent: the function must be a lambda or an object with a call operator; wrap a function in a lambda: [](auto x) { return f(x); }")
COTANGENT_REFUSAL(number_of_arguments, equal, arguments_given, parameters_of_function, "cotangent: the function must be called with as many arguments as it has parameters")
COTANGENT_REFUSAL_OF(argument_types, allowed, "cotangent: the function has no call operator for expressions of these elements; write its parameters as auto or auto const&")
COTANGENT_REFUSAL_OF(argument_of_kind, allowed, "cotangent: an argument must be a float, double, std::int32_t, std::int64_t or bool, a tensor, a view, an array, vector or span of these, or a tuple, array or Boost.Hana struct of such")
COTANGENT_REFUSAL_OF(argument_of_eager, allowed, "cotangent: eager: a variable must not be an argument of a traced function; differentiate variables with e.grad, or pass the elements, x.value()")
COTANGENT_REFUSAL_OF(struct_of_kind, allowed, "cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter: template <template <class, ct::extent...> class Tensor> struct s; all members are Tensor<element, extents...>, such structs, or arrays or tuples of these")
COTANGENT_REFUSAL_OF(result_of_kind, allowed, "cotangent: the function must return an expression, or a tuple, array or Boost.Hana struct of expressions")
COTANGENT_REFUSAL_TYPES(integer_wrt, is, element_of_argument, floating, "cotangent: grad: a differentiated argument must hold float or double; name the positions of those that do, as in ct::grad<0, 2>(f); integers of a struct go into an argument of their own")
COTANGENT_REFUSAL_SHAPES(output_not_scalar, equal, shape_of_output, shape_of_scalar, "cotangent: grad: the function must return a scalar; ct::sum the output, or give its cotangent to ct::vjp")
COTANGENT_REFUSAL_TYPES(output_not_floating, is, element_of_output, floating, "cotangent: gradient, Jacobian: the function must return float or double")
COTANGENT_REFUSAL_OF(output_of_kind, allowed, "cotangent: grad: the function must return one expression")
COTANGENT_REFUSAL(position_out_of_range, less_than, position_of_argument, arguments_given, "cotangent: grad: a position must be less than the number of arguments")
COTANGENT_REFUSAL_OF(tangents_of_kind, allowed, "cotangent: jvp, hvp: after the arguments there must be a tangent for each position, of the same elements and extents as the argument there")
COTANGENT_REFUSAL_OF(cotangent_of_kind, allowed, "cotangent: vjp: after the arguments there must be one cotangent, of the same elements and extents as the result of the function")
COTANGENT_REFUSAL_OF(pulled_of_kind, allowed, "cotangent: vjp: a pullback must be given one cotangent, of the same elements and extents as the value; none if the value is numbers, and ct::absent for an absent cotangent")
COTANGENT_REFUSAL(vmap_axes, equal, axes_given, arguments_mapped, "cotangent: vmap: there must be one axis for each argument; name axes as in ct::vmap<0, ct::unmapped, 1>(f), or none to map axis 0 of every argument")
COTANGENT_REFUSAL_OF(vmap_nothing, allowed, "cotangent: vmap: at least one argument must be mapped; call the function itself instead")
COTANGENT_REFUSAL(vmap_axis, less_than, axis_mapped, rank_of_argument, "cotangent: vmap, map: every tensor of a mapped argument must have the axis that is mapped; ct::vmap passes others to every row with ct::unmapped, and a body of ct::map captures them")
COTANGENT_REFUSAL(vmap_extents, equal, extent_of_axis_mapped, extent_of_next_mapped, "cotangent: vmap, map: all mapped axes must have the same extent")
COTANGENT_REFUSAL(jacobian_rank, at_most, axes_of_jacobian, axes_of_result, "cotangent: jacobian: the axes of an output and of an argument must be at most 8 together")
COTANGENT_REFUSAL_TYPES(custom_cotangents, equal, argument_of_function, cotangent_of_rule, "cotangent: custom_vjp: the rule must return one cotangent for each argument, of its elements and extents; several as a std::tuple")
COTANGENT_REFUSAL_TYPES(custom_tangents, equal, result_of_function, tangent_of_rule, "cotangent: custom_jvp: the rule must return the tangent of the result, of its elements and extents")
COTANGENT_REFUSAL_OF(solver_of_eager, allowed, "cotangent: eager: fixed_point and root must be in a traced function or a run-time graph; variables are iterated by loops of C++")
COTANGENT_REFUSAL_OF(fixed_point_of_kind, allowed, "cotangent: fixed_point: the first value must be a float or double, or an expression of them")
COTANGENT_REFUSAL_OF(root_of_kind, allowed, "cotangent: root: the first value must be a float or double, or an expression of them")
COTANGENT_REFUSAL_TYPES(root_residual, equal, value_of_x, value_of_residual, "cotangent: root: the residual must be a value like the first value")
COTANGENT_REFUSAL_OF(root_rank, allowed, "cotangent: root: the first value must be a number or a vector; flatten a tensor of several axes")
COTANGENT_REFUSAL_OF(header_of_linalg, allowed, "cotangent: root of a vector solves linear systems; include cotangent/linalg.hpp")
COTANGENT_REFUSAL_TYPES(fixed_point_step, equal, value_before, value_after, "cotangent: fixed_point: the step must return a value like the one that it takes")
COTANGENT_REFUSAL_OF(results_constant, allowed, "cotangent: run: the results must not be const, since run writes them")
COTANGENT_REFUSAL_OF(results_of_kind, allowed, "cotangent: run: the results must be as many as the function returns, with their elements and extents")
COTANGENT_REFUSAL_OF(arguments_of_kind, allowed, "cotangent: run: the arguments must be those that the program was compiled for, as a tuple: std::tie(x, y)")
COTANGENT_REFUSAL_OF(workspace_of_kind, allowed, "cotangent: run: the workspace must be a P::workspace, a void*, or contiguous memory")

// clang-format on

} // namespace cotangent::refusals

#endif
