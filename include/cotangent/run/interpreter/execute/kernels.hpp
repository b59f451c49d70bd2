// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_KERNELS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_KERNELS_HPP

#include <cotangent/kernels/elementwise.hpp>
#include <cotangent/kernels/ordered_sums.hpp>
#include <cotangent/kernels/reduce.hpp>
#include <cotangent/kernels/short_code.hpp>
#include <cotangent/kernels/threaded.hpp>
#include <cotangent/ops/list.hpp>
#include <cotangent/ops/random.hpp>
#include <cotangent/run/interpreter/execute/forms.hpp>
#include <cotangent/run/whole.hpp>

#include <cstdint>
#include <type_traits>

// The SIMD code of an operation is found by a list of operation structs: those of the library, and those of users, which
// graphs collect as they are applied. Any other operation is interpreted element by element through its descriptor's
// `evaluate`. (A descriptor cannot hold its kernels: it is one object for the whole program, and kernels depend on the
// flags of the translation unit.)

namespace cotangent {

namespace detail::interpret {
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
    run::has_whole_kernel<Op> || requires { Op::operands; } || requires { Op::template neutral<float>(); };

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
template <class Op> consteval bool is_short() { return Op::cost <= 5 && Op::arity <= 3; }

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
      if constexpr (is_short<Op>()) {
        k.shorts[0][at] = &kernels::short_operation<Op, T, boolean, kernels::no_operand>;
        if constexpr (is_floating(E)) add_short_kernels<Op, T>(k, std::make_integer_sequence<int, Op::arity>{});
      }
    }
  } else if constexpr (E != element::boolean) {
    k.rows[at] = &kernels::reduce_rows<Op, T>;
    k.columns[at] = &kernels::reduce_columns<Op, T>;
    k.parts[at] = &kernels::reduce_parts<Op, T>;
    k.sums[at] = {&kernels::sum_rows<Op, T, false>, &kernels::add_to_totals<Op, T>, &kernels::begin_totals<Op, T>,
                  &kernels::end_totals<Op, T>};
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

/// The operations whose kernels every interpreter has.
using own_operations = typename joined_operations<library_operations, random_operations>::type;

struct kernel_sets {
  kernel_set const* first = nullptr;
  int count = 0;
};
/// The kernels of `image_operations`, which are long to compile: defined where images.hpp is included, and in the program if
/// any of its files does that.
[[gnu::weak]] kernel_sets image_kernels() noexcept;

/// Kernels of users' operations.
class kernel_list {
  array<kernel_set const*> sets_;

public:
  kernel_list() = default;
  template <class... Ops> kernel_list(operations<Ops...> list) { add(list); }
  kernel_set const* find(operation const* op) const noexcept {
    for (kernel_set const* const k : sets_)
      if (k->op == op) return k;
    return nullptr;
  }
  /// Operations of the library have their kernels already.
  template <class... Ops> void add(operations<Ops...>) {
    (add_one<Ops>(), ...);
  }
  void add(kernel_list const& more) {
    for (kernel_set const* const k : more.sets_)
      if (find(k->op) == nullptr) sets_.push(k);
  }

private:
  template <class Op> void add_one() {
    if constexpr (!is_one_of<Op>(static_cast<own_operations*>(nullptr)) && has_kernels<Op>)
      if (find(info_of<Op>()) == nullptr) sets_.push(&kernel_set_of<Op>);
  }
};

struct kernel_table {
  kernel_sets lists[2]{}; // of the library
  kernel_list const* users = nullptr;
  operation const* convert = nullptr;
  kernels::elementwise_kernel const*
      conversions[element_count]{}; // by source, then by destination element type

  // by whether it is a single element; by float or double
  kernels::threaded_kernel load[2]{}, load_mask[2]{}, store_mask[2]{};
  block_kernels blocks;
  kernels::row_sums_kernel row_products[2]{}; // sums of products
  kernels::column_products_kernel column_products[2]{};

  kernel_set const* find(operation const* op) const noexcept {
    for (kernel_sets const& of : lists)
      for (int k = 0; k < of.count; ++k)
        if (of.first[k].op == op) return of.first + k;
    return users == nullptr ? nullptr : users->find(op);
  }
  /// The kernel of an operation whose last operand has that element, null if there is none.
  kernels::elementwise_kernel elementwise(operation const* op, element operand, element result) const noexcept {
    if (op == convert) return conversions[static_cast<int>(operand)][static_cast<int>(result)];
    kernel_set const* const k = find(op);
    return k == nullptr ? nullptr : k->elementwise[static_cast<int>(operand)];
  }
  /// The index of an operation's threaded kernels, none if it has none. `last`, `first`: elements of these operands;
  /// `single`: the first one is one element, which fills no block as a mask.
  std::int32_t threaded_type(operation const* op, element last, element first, bool single) const noexcept {
    if (!is_floating(last)) return none;
    int const t = last == element::float64 ? 1 : 0;
    kernel_set const* const k = find(op);
    if (k == nullptr || k->threaded[t] == nullptr) return none;
    return op->arity == 3 && first == element::boolean && single ? none : t;
  }
};

template <class From> struct conversions_from {
  static constexpr kernels::elementwise_kernel to[element_count] = {
      &kernels::convert<From, float>, &kernels::convert<From, double>, &kernels::convert<From, std::int32_t>,
      &kernels::convert<From, std::int64_t>, &kernels::convert<From, bool>};
};

/// T, made dependent: nothing of it is instantiated before the template that names it.
template <class T, class> struct later {
  using type = T;
};

/// Empty without optimization: each operand of each form would take its own stack slot. Empty also for g++
/// with AddressSanitizer: with a branch at each access g++ 12 optimizes this one function for more than a
/// quarter of an hour.
template <class Later> block_kernels blocks_of() noexcept {
#if defined(__OPTIMIZE__) && (defined(__clang__) || !defined(__SANITIZE_ADDRESS__))
  using all = typename later<interpreter_forms, Later>::type;
  return {form_table<typename all::list>::all, all::list::count, {&kernels::threaded_blocks<float, all>, &kernels::threaded_blocks<double, all>}};
#else
  return {};
#endif
}

/// The kernels of the library and of `users`. (A template, so that no kernel is compiled where no interpreter is.)
template <class Later = void> kernel_table table_of(kernel_list const* users = nullptr) noexcept {
  using own = kernels_of_list<typename later<own_operations, Later>::type>;
  auto* const images = &image_kernels; // null in a program without them, which g++ doubts
  bool const has_images = reinterpret_cast<std::uintptr_t>(images) != 0;
  return {{{own::sets.at, own::count}, has_images ? images() : kernel_sets{}},
          users,
          info_of<typename later<op::convert, Later>::type>(),
          {conversions_from<typename later<float, Later>::type>::to,
           conversions_from<typename later<double, Later>::type>::to,
           conversions_from<typename later<std::int32_t, Later>::type>::to,
           conversions_from<typename later<std::int64_t, Later>::type>::to,
           conversions_from<typename later<bool, Later>::type>::to},
          {&kernels::threaded_load<false>, &kernels::threaded_load<true>},
          {&kernels::threaded_load_mask<typename later<float, Later>::type>, &kernels::threaded_load_mask<double>},
          {&kernels::threaded_store_mask<typename later<float, Later>::type>, &kernels::threaded_store_mask<double>},
          blocks_of<Later>(),
          {&kernels::sum_rows<typename later<op::sum, Later>::type, float, true>,
           &kernels::sum_rows<typename later<op::sum, Later>::type, double, true>},
          {&kernels::add_column_products<typename later<float, Later>::type>, &kernels::add_column_products<double>}};
}

// ---- operations without kernels

inline scalar read(element e, void const* p, std::int64_t i) noexcept {
  switch (e) {
  case element::float32: return scalar::of(static_cast<float const*>(p)[i]);
  case element::float64: return scalar::of(static_cast<double const*>(p)[i]);
  case element::int32: return scalar::of(static_cast<std::int32_t const*>(p)[i]);
  case element::int64: return scalar::of(static_cast<std::int64_t const*>(p)[i]);
  case element::boolean: return scalar::of(static_cast<bool const*>(p)[i]);
  }
  return {};
}
inline void write(element e, void* p, std::int64_t i, scalar const& v) noexcept {
  switch (e) {
  case element::float32: static_cast<float*>(p)[i] = v.as<float>(); break;
  case element::float64: static_cast<double*>(p)[i] = v.as<double>(); break;
  case element::int32: static_cast<std::int32_t*>(p)[i] = v.as<std::int32_t>(); break;
  case element::int64: static_cast<std::int64_t*>(p)[i] = v.as<std::int64_t>(); break;
  case element::boolean: static_cast<bool*>(p)[i] = v.as<bool>(); break;
  }
}

/// An operation and the element types of its operands and result.
struct signature {
  operation const* op = nullptr;
  element operand[8]{};
  element result{};
  int arity = 0;
};

inline void evaluate_each(void* result, void const* const* operands, std::int64_t count, unsigned fixed,
                          void const* self) {
  signature const& s = *static_cast<signature const*>(self);
  for (std::int64_t i = 0; i < count; ++i) {
    scalar x[8];
    for (int k = 0; k < s.arity; ++k) x[k] = read(s.operand[k], operands[k], (fixed >> k & 1u) != 0 ? 0 : i);
    write(s.result, result, i, s.op->evaluate(x));
  }
}

inline void reduce_each(void* result, void const* operand, kernels::reduce_shape const& s, bool columns) {
  signature const& self = *static_cast<signature const*>(s.self);
  for (std::int64_t k = 0; k < s.kept; ++k) {
    std::int64_t const to = columns ? k : k * s.to_step;
    scalar sum[2]{s.first ? self.op->neutral(self.result) : read(self.result, result, to)};
    for (std::int64_t i = 0; i < s.reduced; ++i) {
      sum[1] = read(self.result, operand, columns ? k + i * s.step : k * s.step + i);
      sum[0] = self.op->evaluate(sum);
    }
    write(self.result, result, to, sum[0]);
  }
}
inline void reduce_each_row(void* result, void const* operand, kernels::reduce_shape const& s) {
  reduce_each(result, operand, s, false);
}
inline void reduce_each_column(void* result, void const* operand, kernels::reduce_shape const& s) {
  reduce_each(result, operand, s, true);
}

} // namespace COTANGENT_ABI
} // namespace detail::interpret
} // namespace cotangent

#endif
