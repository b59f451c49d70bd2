// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_OPERATION_HPP
#define COTANGENT_GRAPH_OPERATION_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/core/math/lanes.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent::extend {
struct graph_view;
struct node;
} // namespace cotangent::extend

namespace cotangent {

struct inference;
struct adjoint_rule;
struct batch_rule;
struct rule;
struct term;
struct tangent_rule;
struct whole_call;

/// The access pattern of an operation, for fusion, planning and execution.
enum class operation_kind : unsigned char {
  input,       // the argument of a region; never a node
  constant,    // one number in all elements: attribute 0 has its bits
  iota,        // the index of each element; of rank 1
  size,        // the number of elements along axes of a symbolic shape: a scalar
  elementwise, // operands and result have one shape
  reduction,   // over the axes in the bits of attribute 0, which the result lacks
  arg_reduction, // the position of the selected element along axis `attribute 0`, which the result lacks
  broadcast,   // result axis `attribute k` is operand axis k; the other axes repeat
  reshape,     // the same elements in the same order
  permute,     // result axis k is operand axis `attribute k`
  slice,       // attributes: start, step for each axis
  pad,         // zeros around and between: attributes start, step for each axis; the adjoint of slice
  concatenate, // along axis `attribute 0`
  gather,      // rows of operand 0 selected by operand 1 along axis 0
  scatter_add, // rows of operand 0 added to zeros at the indices in operand 1
  matmul,      // attributes: transpose the left, transpose the right
  whole,       // a function of whole tensors, each contiguous, opaque to passes
  identity,    // the operand itself: a border for gradients
  control,     // runs sub-graphs, or works on sequences of loops
};

namespace detail {
/// True for kinds of operations that compute with the elements of their operands, which must not have half precision. (The shape
/// rules of elementwise operations check it: `accepts`.)
constexpr bool computes(operation_kind k) noexcept {
  return k == operation_kind::reduction || k == operation_kind::arg_reduction || k == operation_kind::gather ||
         k == operation_kind::scatter_add || k == operation_kind::matmul || k == operation_kind::whole;
}
} // namespace detail

enum class derivative_kind : unsigned char {
  differentiable,
  zero,  // almost everywhere: comparisons, indices, stop_gradient; cotangents end here
  none_, // undefined: requesting it is refused, naming the operation
};

namespace extend {

/// A number of any element type, for constant folding and the reference evaluation.
struct scalar {
  element type = element::float64;
  double real = 0;          // float and double
  std::int64_t integer = 0; // int32, int64, bool

  template <class T> constexpr T as() const noexcept {
    if constexpr (detail::is_floating_type<T>)
      return is_floating(type) ? static_cast<T>(real) : static_cast<T>(integer);
    else if constexpr (std::is_same_v<T, bool>)
      return is_floating(type) ? real != 0 : integer != 0;
    else
      return is_floating(type) ? math::to_integer<T>(real) : static_cast<T>(integer);
  }
  template <class T> static constexpr scalar of(T v) noexcept {
    if constexpr (detail::is_half_type<T>) return {element_of<T>, static_cast<double>(static_cast<float>(v)), 0};
    else if constexpr (std::is_floating_point_v<T>)
      return {element_of<T>, static_cast<double>(v), 0};
    else
      return {element_of<T>, 0, static_cast<std::int64_t>(v)};
  }
};

} // namespace extend

namespace detail {
using extend::scalar;
} // namespace detail

/// The descriptor of an operation in graphs: one static object for each operation struct, returned by
/// `info_of`. Its address is the identity of the operation.
struct operation {
  char const* name = "";
  std::uint32_t code = 0; // a hash of the name: constant evaluations cannot hash pointers
  operation_kind kind = operation_kind::elementwise;
  std::int8_t arity = 0;    // -1: any number
  bool commutative = false; // swapping the first two operands changes no bit
  bool has_address = false; // attributes are addresses of this process: no file can hold a node
  bool prints = false;      // the value is operand 0, and a run has an effect: a value is rematerialized without it
  derivative_kind derivative = derivative_kind::differentiable;
  float cost = 1; // of one element, in additions
  void (*infer)(inference&) = nullptr;
  void (*adjoint)(adjoint_rule&) = nullptr;
  void (*tangent)(tangent_rule&) = nullptr;
  void (*batch)(batch_rule&) = nullptr; // elementwise operations and identities need none
  /// Elementwise: the value of one element. Reductions: the combination of two values.
  extend::scalar (*evaluate)(extend::scalar const*) = nullptr;
  /// Reductions: the value of no elements.
  extend::scalar (*neutral)(element) = nullptr;
  /// Whole: the value, element by element, for constant evaluations and operations without a kernel.
  void (*whole)(whole_call const&) = nullptr;
  /// Whole: the same of a small node by other operations, with equal bits; and their number of steps in straight-line code, or -1.
  term (*formula)(rule const&) = nullptr;
  int (*formula_steps)(extend::graph_view const&, extend::node const&) = nullptr;
  /// Whole: the number of additions and multiplications of a node.
  double (*flops)(extend::graph_view const&, extend::node const&) = nullptr;
  /// Control: the defect of a node, in words, or null; indices are within their pools already.
  char const* (*check)(extend::graph_view const&, extend::node const&) = nullptr;
  /// The user's function, if a node of it reports `status::singular_matrix`. Whole: it sets `whole_call::found`.
  char const* reports = nullptr;
  /// The word for an index, if a node of it reports `status::index_out_of_range`.
  char const* looks_up = nullptr;
  /// Operations that report: a value like operand 0 for which nothing is reported. Rows of a batch that do not run a branch or an
  /// iteration give it instead of theirs.
  term (*regular)(term) = nullptr;
  /// Elementwise operations that report: the same as a function of whole tensors, which interpreters run instead.
  operation const* reporting = nullptr;
};

namespace detail {

/// True for printing and functions of users, whose runs are seen: they stay in order.
constexpr bool runs_in_order(operation const& op) noexcept { return op.cost >= 1000; }

constexpr std::uint32_t hash_of(char const* s) noexcept {
  std::uint32_t h = 2166136261u;
  for (; *s != 0; ++s) h = (h ^ static_cast<unsigned char>(*s)) * 16777619u;
  return h;
}

// Maps the address of an `operation` back to its struct: a friend that is declared for every address, and
// defined when the struct is first described. User-defined operations thus need no registry. (g++ warns of
// non-template friends, which are intended here.)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
template <auto const* Address> struct behind {
  friend constexpr auto described_at(behind<Address>);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class Described, auto const* Address> struct remember {
  friend constexpr auto described_at(behind<Address>) { return std::type_identity<Described>{}; }
  static constexpr bool done = true;
};

template <class Op> struct operation_of {
  static constexpr operation info = Op::describe(std::type_identity<Op>{});
};

} // namespace detail

/// The descriptor of an operation struct.
template <class Op> constexpr operation const* info_of() noexcept {
  static_assert(detail::remember<Op, &detail::operation_of<Op>::info>::done);
  return &detail::operation_of<Op>::info;
}

namespace detail {
/// The operation struct behind a descriptor.
template <operation const* Info>
using described_by = typename decltype(described_at(behind<Info>{}))::type;
} // namespace detail

} // namespace cotangent

#endif
