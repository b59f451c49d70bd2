// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_REFUSALS_HPP
#define COTANGENT_DYNAMIC_STATE_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>
#include <cotangent/dynamic/state/names.hpp>

// Refusals of run-time graphs; those about shapes are next to the operations.

namespace cotangent::refusals {

// clang-format off

COTANGENT_REFUSAL_OF(dynamic_other_graph, allowed, "cotangent: the operands must be expressions of one graph")
COTANGENT_REFUSAL_OF(dynamic_left_body, allowed, "cotangent: an expression must not be used outside of the loop or branch that made it; return it from there")
COTANGENT_REFUSAL_OF(dynamic_in_body, allowed, "cotangent: a graph must not be compiled or trained while the body of a loop or branch is built; do it after the loop or branch")
COTANGENT_REFUSAL_OF(dynamic_no_value, allowed, "cotangent: an expression must have a value before it is used; this one is default-constructed")
COTANGENT_REFUSAL_OF(graph_moved_from, allowed, "cotangent: graph: a graph must not be used after it was moved from")
COTANGENT_REFUSAL_OF(dynamic_detached, allowed, "cotangent: an expression without operands must be combined with an expression of a graph first; create it with g.constant(value)")
COTANGENT_REFUSAL(dynamic_size, at_least, size_given, nothing_less, "cotangent: dynamic: a size must be at least 0, and all together must fit 64 bits")
COTANGENT_REFUSAL_OF(dynamic_no_parts, allowed, "cotangent: stack, concatenate: there must be at least one operand")
COTANGENT_REFUSAL(dynamic_rank, at_most, rank_given, largest_rank, "cotangent: dynamic: there must be at most 8 axes")
COTANGENT_REFUSAL(dynamic_constant_count, equal, elements_given, elements_of_shape, "cotangent: dynamic: a constant must have one element for each position of its shape")
COTANGENT_REFUSAL_OF(dynamic_element, allowed, "cotangent: dynamic: the requested element type must be that of the expression or variable; convert it with ct::convert<T>(x)")

COTANGENT_REFUSAL(dynamic_seed_count, equal, cotangents_given, outputs_given, "cotangent: gradient: there must be one cotangent for each output, or none at all")
COTANGENT_REFUSAL_OF(dynamic_sum_alone, allowed, "cotangent: gradient: in a loop or branch, a sum of contributions must be computed from these and from constants only")
COTANGENT_REFUSAL_OF(dynamic_no_gradient, allowed, "cotangent: gradient_of: a gradient must have been computed with respect to this expression")

COTANGENT_REFUSAL_OF(dynamic_part_assignment, allowed, "cotangent: x(i, j, ...) = y: x must be an expression of a traced function; of an expression of a run-time graph or a variable of eager mode, write x = ct::at(x, i, j).set(y)")
COTANGENT_REFUSAL(dynamic_window, equal, sizes_given, sizes_of_shape, "cotangent: view: offset and stride must have a number for each size of the shape")
COTANGENT_REFUSAL_OF(dynamic_write_place, allowed, "cotangent: write: the target must be a tensor of g.tensor, or a view of such a tensor or of an input; a computed value must not be written")
COTANGENT_REFUSAL_OF(dynamic_write_body, allowed, "cotangent: write: in a loop or branch, the target must be a tensor that its body creates with g.tensor, or a view of one; return that tensor from the body")
COTANGENT_REFUSAL_OF(dynamic_write_twice, allowed, "cotangent: write: an element must be written at most once")

COTANGENT_REFUSAL_OF(dynamic_update_input, allowed, "cotangent: update: the target must be an input of the graph")
COTANGENT_REFUSAL_OF(dynamic_update_twice, allowed, "cotangent: update: an input must be updated by one value only")
COTANGENT_REFUSAL_OF(dynamic_update_type, allowed, "cotangent: update: the new value must have the element and the shape of the input")
COTANGENT_REFUSAL_OF(dynamic_no_parameters, allowed, "cotangent: apply_gradients, minimize: there must be parameters to update")
COTANGENT_REFUSAL(dynamic_gradient_count, equal, gradients_given, parameters_given, "cotangent: apply_gradients: there must be one gradient for each parameter")

COTANGENT_REFUSAL_OF(program_empty, allowed, "cotangent: program: a program must be compiled before it is used; this one is default-constructed or moved from")
COTANGENT_REFUSAL_OF(program_other_graph, allowed, "cotangent: program: an expression must belong to the graph that the program was compiled from")
COTANGENT_REFUSAL_OF(bind_result, allowed, "cotangent: bind: the memory of a result must be writable and outlive the program")
COTANGENT_REFUSAL_OF(bind_expression, allowed, "cotangent: bind: an expression must be an input or a result of the program; name results in compile")
COTANGENT_REFUSAL_OF(bind_elements, allowed, "cotangent: bind: the elements of the memory must be those of the expression")
COTANGENT_REFUSAL_OF(bind_alignment, allowed, "cotangent: bind: memory must be aligned as its elements")
COTANGENT_REFUSAL_OF(bind_twice, allowed, "cotangent: bind: an input must be bound to one memory only")
COTANGENT_REFUSAL_OF(bind_shared, allowed, "cotangent: bind: results must not share memory")
COTANGENT_REFUSAL_OF(bind_overlap, allowed, "cotangent: bind: a result must not overlap an input, unless it is that input")
COTANGENT_REFUSAL_OF(run_unbound, allowed, "cotangent: run: every input that is read must be bound to memory")
COTANGENT_REFUSAL_OF(run_updated, allowed, "cotangent: run: an input that is updated must be bound to memory that can be written")
COTANGENT_REFUSAL_OF(value_before_run, allowed, "cotangent: value: the program must have run before it has values")
COTANGENT_REFUSAL_OF(value_expression, allowed, "cotangent: value: an expression must be a result of the program; name it in compile, or compile with keep_all")
COTANGENT_REFUSAL_OF(value_in_body, allowed, "cotangent: value: a symbol of a loop or branch must not be requested, since it has a value in each iteration; return it from there and name that in compile")
COTANGENT_REFUSAL_OF(value_element, allowed, "cotangent: value: the requested element type must be that of the symbol")
COTANGENT_REFUSAL_OF(value_gradient, allowed, "cotangent: value: the gradient must be with respect to this expression; name it in vjp")
COTANGENT_REFUSAL_OF(memory_expression, allowed, "cotangent: memory: an expression must be an input or a result that is not bound, of a program compiled with own_memory")

COTANGENT_REFUSAL_OF(symbolic_dead, allowed, "cotangent: symbolic: a symbol that was freed must not be used")
COTANGENT_REFUSAL_OF(symbolic_absent, allowed, "cotangent: symbolic: a symbol must be given here; only inputs and outputs of operations may be absent")
COTANGENT_REFUSAL_OF(symbolic_sub_graph, allowed, "cotangent: symbolic: a symbol must be of this sub-graph, or of an enclosing one")
COTANGENT_REFUSAL_OF(symbolic_in_body, allowed, "cotangent: symbolic: symbols must not be created while the body of a loop or branch of expressions is built")
COTANGENT_REFUSAL_OF(symbolic_sealed, allowed, "cotangent: symbolic: a sub-graph that was differentiated, or created by expressions, must not be changed")
COTANGENT_REFUSAL_OF(symbolic_foreign, allowed, "cotangent: symbolic: a loop or branch must not be changed itself; change the symbols that its sub-graphs use")
COTANGENT_REFUSAL(symbolic_inputs, equal, inputs_given, inputs_taken, "cotangent: exec: there must be as many inputs as the command takes")
COTANGENT_REFUSAL(symbolic_outputs, equal, outputs_given, outputs_made, "cotangent: exec: there must be as many outputs as the command makes")
COTANGENT_REFUSAL(symbolic_attributes, equal, attributes_given, attributes_taken, "cotangent: exec: a command must have as many attributes as its operation takes")
COTANGENT_REFUSAL(symbolic_input_absent, is, position_of_input, given, "cotangent: exec: this input must be given")
COTANGENT_REFUSAL_OF(symbolic_control, allowed, "cotangent: exec: a loop or branch must not be a command; use while_ and case_of")
COTANGENT_REFUSAL_OF(symbolic_assigned, allowed, "cotangent: exec: an element must be written by one operation at most, and once")
COTANGENT_REFUSAL_OF(symbolic_output_place, allowed, "cotangent: exec: an output must not be an input of the graph, the count of a loop, or the target of a carry")
COTANGENT_REFUSAL_OF(symbolic_output_type, allowed, "cotangent: exec: an output must have the element type and the shape that the operation gives it")
COTANGENT_REFUSAL_OF(symbolic_shape_unknown, allowed, "cotangent: symbolic: a shape must be set, or follow from the operation that writes the tensor")
COTANGENT_REFUSAL_OF(symbolic_shape_of_alias, allowed, "cotangent: set_shape: the shape of an alias must not be changed, nor that of a tensor with aliases")
COTANGENT_REFUSAL_OF(symbolic_flags_of_parts, allowed, "cotangent: set_flags: a tensor that is written by aliases must not have ones elsewhere, where it is zero; write ones by an alias, too")
COTANGENT_REFUSAL_OF(symbolic_flags_of_alias, allowed, "cotangent: set_flags: an alias must not have flags of its own; set those of its tensor")
COTANGENT_REFUSAL_OF(symbolic_edge, allowed, "cotangent: concat: an edge must join two different operations of one graph")
COTANGENT_REFUSAL_OF(symbolic_no_edge, allowed, "cotangent: disjoin: there must be such an edge, made by concat or autogen")
COTANGENT_REFUSAL_OF(symbolic_in_use, allowed, "cotangent: free: a symbol that an operation, an alias or an expression still uses must not be freed")
COTANGENT_REFUSAL_OF(symbolic_carry, allowed, "cotangent: carry: both must be symbols of the body, with one element type and shape")
COTANGENT_REFUSAL_OF(symbolic_carry_twice, allowed, "cotangent: carry: values must be carried to a symbol once, and no operation of the body must write it")
COTANGENT_REFUSAL_OF(symbolic_condition, allowed, "cotangent: while_: the condition must be one bool of the body, computed without loops and branches")
COTANGENT_REFUSAL_OF(symbolic_not_a_body, allowed, "cotangent: symbolic: the sub-graph must be the body of a loop")
COTANGENT_REFUSAL_OF(symbolic_has_owner, allowed, "cotangent: while_: a body must be a sub-graph of this graph that no loop or branch runs yet")
COTANGENT_REFUSAL_OF(symbolic_not_a_choice, allowed, "cotangent: symbolic: the operation must be a choice that case_of created")
COTANGENT_REFUSAL_OF(symbolic_branch_result, allowed, "cotangent: case_of: all branches must write the same outer symbols, and those of every bypass")
COTANGENT_REFUSAL_OF(symbolic_bypass, allowed, "cotangent: bypass: a value that is passed through must have the element type and shape of its result, which receives one value only")
COTANGENT_REFUSAL_OF(symbolic_hookup, allowed, "cotangent: hookup: a symbol must represent one symbol of the enclosing graph, with its element type and shape")
COTANGENT_REFUSAL(symbolic_number, less_than, number_given, graphs_there, "cotangent: symbolic: the number of a sub-graph must be at least 0 and less than the number of graphs")
COTANGENT_REFUSAL_OF(symbolic_not_root, allowed, "cotangent: symbolic: the graph must be the outermost one, not a sub-graph")

COTANGENT_REFUSAL_OF(eager_no_value, allowed, "cotangent: eager: a variable must hold a value; this one was moved from, or never got one")
COTANGENT_REFUSAL_OF(eager_other_recorder, allowed, "cotangent: eager: the operands must be variables of one recorder")
COTANGENT_REFUSAL_OF(trainer_empty, allowed, "cotangent: trainer: a trainer must have parameters; this one has none, or was moved from")
COTANGENT_REFUSAL_OF(eager_moved_from, allowed, "cotangent: eager: a recorder must not be used after it was moved from")
COTANGENT_REFUSAL_OF(eager_ended, allowed, "cotangent: eager: the recorder of a variable must not have ended")
COTANGENT_REFUSAL_OF(eager_no_gradient, allowed, "cotangent: eager: a backward must have reached a variable before it has a gradient")
COTANGENT_REFUSAL_OF(eager_untracked, allowed, "cotangent: eager: a gradient must be requested for a tracked variable; a constant is not tracked")
COTANGENT_REFUSAL_OF(eager_write_place, allowed, "cotangent: write: the target must be a tensor of e.tensor, or a view of one; parameters, constants and computed variables hold their elements already")
COTANGENT_REFUSAL_OF(eager_set, allowed, "cotangent: set: the variable must be a parameter or a constant; computed or written variables and views must not be set")
COTANGENT_REFUSAL_OF(eager_set_shape, allowed, "cotangent: set: the new elements must have the shape of the old ones")
COTANGENT_REFUSAL(eager_limit, at_least, bytes_given, nothing_less, "cotangent: set_memory_limit: bytes must be at least 0; a limit of 0 is no limit")

// clang-format on

} // namespace cotangent::refusals

#endif
