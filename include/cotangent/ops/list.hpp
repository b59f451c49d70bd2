// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LIST_HPP
#define COTANGENT_OPS_LIST_HPP

#include <cotangent/ops/ops.hpp>

namespace cotangent {

/// Operation structs, by name.
template <class... Ops> struct operations {};

/// Every operation of the library: those that an archive may name. A test compares the list with
/// include/cotangent/ops/.
using library_operations =
    operations<op::constant, op::iota, op::size, op::add, op::negate, op::subtract, op::multiply, op::divide,
               op::multiply_add, op::equal, op::not_equal, op::less, op::less_equal, op::logical_and,
               op::logical_or, op::logical_not, op::select, op::convert, op::stop_gradient, op::identity, op::after,
               op::broadcast, op::reshape, op::sum, op::exp, op::log, op::sqrt, op::square, op::reciprocal,
               op::abs, op::sign, op::floor, op::sin, op::cos, op::tanh, op::sigmoid, op::softplus, op::log1p,
               op::expm1, op::relu, op::pow, op::max, op::min, op::reduce_max, op::reduce_min, op::arg_max,
               op::permute, op::slice, op::pad, op::concatenate, op::matmul, op::gather, op::scatter_add,
               op::label, op::loop, op::case_of, op::sequence_add, op::sequence_zero, op::nothing>;

} // namespace cotangent

#endif
