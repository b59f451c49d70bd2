// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_KERNEL_SETS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_KERNEL_SETS_HPP

#include <cotangent/kernels/elementwise.hpp>
#include <cotangent/kernels/ordered_sums.hpp>
#include <cotangent/kernels/reduce.hpp>
#include <cotangent/kernels/short_code.hpp>
#include <cotangent/kernels/threaded.hpp>
#include <cotangent/ops/list.hpp>
#include <cotangent/run/interpreter/execute/forms.hpp>
#include <cotangent/run/sorting.hpp>
#include <cotangent/run/whole.hpp>

#include <cstdint>
#include <type_traits>

// The SIMD code of an operation is found by a list of operation structs: those of the library, and those of users, which
// graphs collect as they are applied. Any other operation is interpreted element by element through its descriptor's
// `evaluate`. (A descriptor cannot hold its kernels: it is one object for the whole program, and kernels depend on the
// flags of the translation unit.)

namespace cotangent::detail {

namespace interpret {
inline namespace COTANGENT_ABI {

/// A kernel that leaves its result in registers, and a variant that also stores it, if there is one.
struct threaded_pair {
  kernels::threaded_kernel run = nullptr, stored = nullptr;
};
/// Threaded kernels of an operation: by the operand that is in the block, then by which other operands are a
/// single element.
struct threaded_set {
  threaded_pair at[3][4]{};
};

/// The kernels of a reduction in the order of a plan.
struct nest_sum_set {
  kernels::row_sums_kernel rows = nullptr;
  kernels::total_sums_kernel add = nullptr;
  kernels::total_begin_kernel begin = nullptr;
  kernels::total_end_kernel end = nullptr;
};

struct kernel_set {
  operation const* op = nullptr;
  threaded_set const* threaded[2]{}; // float, double
  kernels::elementwise_kernel elementwise[element_count]{}; // by the element type of the last operand
  kernels::short_kernel shorts[4][element_count]{}; // by 1 + the operand that is the last result; 0: none is
  kernels::reduce_kernel rows[element_count]{}, columns[element_count]{};
  kernels::part_kernel parts[element_count]{};
  nest_sum_set sums[element_count]{};
  void (*whole)(whole_call const&) = nullptr; // and its scratch bytes
  std::int64_t (*whole_scratch)(whole_call const&) = nullptr;
};

/// True if the interpreter has code for the operation by its struct. (The executor of programs moves elements, and runs
/// matrix products and control, by the kind of the operation.)
template <class Op> inline constexpr bool has_kernels =
    run::has_whole_kernel<Op> || (requires { Op::operands; } && !requires { typename Op::reporting; }) ||
    requires { Op::template neutral<float>(); };

/// True for operations on float and double that are cheaper than their loads and stores.
template <class Op> consteval bool is_cheap() {
  if constexpr (requires { Op::operands; })
    return Op::cost <= 5 && Op::operands != extend::takes::booleans &&
           (Op::arity <= 2 ? !Op::condition_first
                            : Op::arity == 3 && (Op::condition_first || std::is_same_v<Op, op::multiply_add>));
  else return false;
}
template <class Op, class... Ops> constexpr bool is_one_of(operations<Ops...>*) {
  return (std::is_same_v<Op, Ops> || ...);
}

/// True for operations with kernels for short tensors: for others, a call of the kernel for long ones adds little.
template <class Op> consteval bool is_short(element e) { return Op::cost <= (is_floating(e) ? 40 : 5) && Op::arity <= 3; }

/// The last result is the first of two operands that can be exchanged, and never a mask.
template <class Op, class T, int K> constexpr kernels::short_kernel short_kernel_of() {
  if constexpr (K == 0 ? Op::condition_first : K == 1 && exchanges<Op>) return nullptr;
  else return &kernels::short_operation<Op, T, Op::result == extend::yields::boolean, K>;
}
template <class Op, class T, int... K>
constexpr void add_short_kernels(kernel_set& k, std::integer_sequence<int, K...>) {
  ((k.shorts[1 + K][static_cast<int>(element_of<T>)] = short_kernel_of<Op, T, K>()), ...);
}

template <class Op, element E> constexpr void add_kernels(kernel_set& k) {
  using T = element_t<E>;
  constexpr int at = static_cast<int>(E);
  if constexpr (run::has_whole_kernel<Op>) {
    k.whole = &run::whole<Op>;
    k.whole_scratch = &run::whole_scratch_bytes<Op>;
  } else if constexpr (requires { Op::operands; }) {
    if constexpr (accepts(Op::operands, E)) {
      constexpr bool boolean = Op::result == extend::yields::boolean;
      k.elementwise[at] = &kernels::elementwise<Op, T, Op::arity, boolean, Op::condition_first>;
      if constexpr (is_short<Op>(E)) {
        k.shorts[0][at] = &kernels::short_operation<Op, T, boolean, kernels::no_operand>;
        if constexpr (is_floating(E) && Op::cost <= 5) add_short_kernels<Op, T>(k, std::make_integer_sequence<int, Op::arity>{});
      }
    }
  } else if constexpr (E != element::boolean) {
    k.rows[at] = &kernels::reduce_rows<Op, T>;
    k.columns[at] = &kernels::reduce_columns<Op, T>;
    k.parts[at] = &kernels::reduce_parts<Op, T>;
    k.sums[at] = {nullptr, nullptr, &kernels::begin_totals<Op, T>, &kernels::end_totals<Op, T>};
    if constexpr (is_floating(E)) {
      k.sums[at].rows = &kernels::sum_rows<Op, T, false>;
      k.sums[at].add = &kernels::add_to_totals<Op, T>;
    } else {
      k.sums[at].rows = &kernels::reduce_integer_rows<Op, T>;
      k.sums[at].add = &kernels::add_integers_to_totals<Op, T>;
    }
  }
}

/// Operations whose results are stored most often: sums and products.
template <class Op> inline constexpr bool stores =
    is_one_of<Op>(static_cast<operations<op::add, op::subtract, op::multiply, op::multiply_add>*>(nullptr));

template <class Op, class T, int At, unsigned Fixed> constexpr threaded_pair threaded_pair_of() {
  threaded_pair p{&kernels::threaded<Op, T, At, Fixed, false>};
  if constexpr (stores<Op>) p.stored = &kernels::threaded<Op, T, At, Fixed, true>;
  return p;
}

template <class Op, class T> constexpr threaded_set threaded_of() {
  threaded_set s;
  if constexpr (Op::arity == 1) s.at[0][0] = threaded_pair_of<Op, T, 0, 0>();
  else if constexpr (Op::arity == 2) {
    s.at[0][0] = threaded_pair_of<Op, T, 0, 0>();
    s.at[0][1] = threaded_pair_of<Op, T, 0, 1>();
    if constexpr (!exchanges<Op>) {
      s.at[1][0] = threaded_pair_of<Op, T, 1, 0>();
      s.at[1][1] = threaded_pair_of<Op, T, 1, 1>();
      }
  } else {
    s.at[0][0] = threaded_pair_of<Op, T, 0, 0>();
    s.at[0][1] = threaded_pair_of<Op, T, 0, 1>();
    s.at[0][2] = threaded_pair_of<Op, T, 0, 2>();
    s.at[0][3] = threaded_pair_of<Op, T, 0, 3>();
    if constexpr (Op::condition_first) { // the mask is never a single element
      s.at[1][0] = threaded_pair_of<Op, T, 1, 0>();
      s.at[1][2] = threaded_pair_of<Op, T, 1, 2>();
      s.at[2][0] = threaded_pair_of<Op, T, 2, 0>();
      s.at[2][2] = threaded_pair_of<Op, T, 2, 2>();
    } else { // a product and the block
      s.at[2][0] = threaded_pair_of<Op, T, 2, 0>();
      s.at[2][1] = threaded_pair_of<Op, T, 2, 1>();
      s.at[2][3] = threaded_pair_of<Op, T, 2, 3>();
            }
  }
  return s;
}
template <class Op, class T> inline constexpr threaded_set threaded_set_of = threaded_of<Op, T>();

template <class Op> constexpr kernel_set kernels_of() {
  kernel_set k;
  k.op = info_of<Op>();
  if constexpr (is_cheap<Op>()) {
    k.threaded[0] = &threaded_set_of<Op, float>;
    k.threaded[1] = &threaded_set_of<Op, double>;
  }
  add_kernels<Op, element::float32>(k);
  add_kernels<Op, element::float64>(k);
  add_kernels<Op, element::int32>(k);
  add_kernels<Op, element::int64>(k);
  add_kernels<Op, element::boolean>(k);
  return k;
}

template <class Op> inline constexpr kernel_set kernel_set_of = kernels_of<Op>();

template <class List> struct kernels_of_list;
template <class... Ops> struct kernels_of_list<operations<Ops...>> {
  static constexpr int count = (0 + ... + (has_kernels<Ops> ? 1 : 0));
  struct table {
    kernel_set at[count + 1];
  };
  template <class Op> static constexpr void put(table& t, int& n) {
    if constexpr (has_kernels<Op>) t.at[n++] = kernels_of<Op>();
  }
  static constexpr table make() {
    table t{};
    int n = 0;
    (put<Ops>(t, n), ...);
    return t;
  }
  static constexpr table sets = make();
};

/// T, made dependent: nothing of it is instantiated before the template that names it.
template <class T, class> struct later {
  using type = T;
};

struct kernel_sets {
  kernel_set const* first = nullptr;
  int count = 0;
};
} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
