// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LIST_HPP
#define COTANGENT_OPS_LIST_HPP

#include <cotangent/ops/ops.hpp>
#include <cotangent/ops/random.hpp>

#include <type_traits>

namespace cotangent {

namespace detail {
/// Every operation of cotangent.hpp: those that an archive may name. A test compares the lists with
/// include/cotangent/ops/.
using library_operations =
    typename detail::joined_operations<source_operations, arithmetic_operations, integer_operations, compare_operations, repeat_operations,
                                       function_operations, special_operations, normal_operations, reduction_operations,
                                       movement_operations, matmul_operations, indexing_operations, scan_operations, sorting_operations, running_operations, control_operations>::type;
} // namespace detail

namespace detail {
/// The operations of `List` that `Of` lacks.
template <class List, class Of> struct operations_beyond;
template <class... Op, class... Of> struct operations_beyond<operations<Op...>, operations<Of...>> {
  template <class A> static constexpr bool is_in = (std::is_same_v<A, Of> || ...);
  using type = typename joined_operations<operations<>, std::conditional_t<is_in<Op>, operations<>, operations<Op>>...>::type;
};
} // namespace detail

namespace detail {
/// The elementwise operations that are emitted only by functions, adjoints and tangents that name them as `emits`: long to
/// compile, so an interpreter has their kernels if a function that emits them was called.
using named_operations =
    typename detail::joined_operations<operations<op::sin, op::cos, op::atan, op::sinh, op::cosh, op::asinh, op::tanh, op::sigmoid,
                                                  op::softplus, op::log1p, op::expm1, op::pow>,
                                       integer_operations, special_operations, normal_operations, random_operations>::type;
} // namespace detail
/// All others of cotangent.hpp, which any function, adjoint or pass may emit.
namespace detail {
using basic_operations = typename detail::operations_beyond<library_operations, named_operations>::type;
} // namespace detail

} // namespace cotangent

#endif
