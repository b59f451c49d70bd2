// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_KERNELS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_KERNELS_HPP

#include <cotangent/run/interpreter/execute/kernel_sets.hpp>

#include <cstdint>
#include <memory>
#include <vector>

// The kernels that an interpreter has, by need: those of `basic_operations`, which any function, adjoint or pass may emit; those
// that the functions of a graph bring as they are called; those of images and of separate.hpp, in programs with these headers.

namespace cotangent::detail {

namespace interpret {
inline namespace COTANGENT_ABI {

/// The kernels of `image_operations`, which are long to compile: defined where images.hpp is included, and in the program if
/// any of its files does that.
[[gnu::weak]] kernel_sets image_kernels() noexcept;
/// Kernels that only some programs need: those of all `named_operations`; those on three blocks, for float and double.
struct further_kernels {
  kernel_sets named;
  kernels::threaded_kernel blocks[2]{};
};
/// All of them in a program with a separately compiled interpreter: defined where separate.hpp is included.
[[gnu::weak]] further_kernels separate_kernels() noexcept;
inline further_kernels those_of_separate() noexcept {
  auto* const f = &separate_kernels; // null in other programs, which g++ doubts
  return reinterpret_cast<std::uintptr_t>(f) != 0 ? f() : further_kernels{};
}

/// False without optimization: each operand of each form would take its own stack slot. False also for g++
/// with AddressSanitizer: with a branch at each access g++ 12 optimizes this one function for more than a
/// quarter of an hour.
#if defined(__OPTIMIZE__) && (defined(__clang__) || !defined(__SANITIZE_ADDRESS__))
inline constexpr bool has_blocks = true;
#else
inline constexpr bool has_blocks = false;
#endif
template <class T> kernels::threaded_kernel blocks_of() noexcept {
  if constexpr (has_blocks) return &kernels::threaded_blocks<T, interpreter_forms>;
  else return nullptr;
}
template <class Later> further_kernels all_further_kernels() noexcept {
  using named = kernels_of_list<typename later<named_operations, Later>::type>;
  return {{named::sets.at, named::count}, {blocks_of<typename later<float, Later>::type>(), blocks_of<typename later<double, Later>::type>()}};
}

/// Operations of which each stands with those that its adjoint and tangent emit: `using emits = operations<cos>`.
template <class Op>
concept emits_others = requires { typename Op::emits; };

/// The kernels that a graph needs besides those of `basic_operations`.
class kernel_list {
  array<kernel_set const*> sets_;
  std::vector<std::shared_ptr<void const>> held_;
  further_kernels further_; // kernels on blocks; the others if the graph may hold any operation
  bool floating_[2]{};      // whether there are values of float, of double

public:
  kernel_list() = default;
  template <class... Ops> kernel_list(operations<Ops...> list) { add(list); }
  kernel_set const* find(operation const* op) const noexcept {
    for (kernel_set const* const k : sets_)
      if (k->op == op) return k;
    return nullptr;
  }
  /// The kernels of these operations, and of all that they emit. Every interpreter has those of `basic_operations`.
  template <class... Ops> void add(operations<Ops...>) {
    (add_one<Ops>(), ...);
  }
  /// The kernels of an operation that is applied alone, and of all that it emits. A user's operation names those of the library as
  /// `emits`, or may emit them all; `uses` lists further operations.
  template <class Op> void add_applied() {
    add(operations<Op>{});
    if constexpr (requires { typename Op::uses; }) add(typename Op::uses{});
    if constexpr (!emits_others<Op> && !is_one_of<Op>(static_cast<named_operations*>(nullptr)) &&
                  !is_one_of<Op>(static_cast<basic_operations*>(nullptr)))
      add_named<Op>();
  }
  /// All kernels, for graphs that may hold any of `named_operations`.
  template <class Later = void> void add_named() {
#ifdef COTANGENT_SEPARATE
    further_ = those_of_separate();
#else
    further_ = all_further_kernels<Later>();
#endif
    floating_[0] = floating_[1] = true;
  }
  /// The kernels for values of T, without which arithmetic is slower.
  template <class T> void add_element() {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int t = std::is_same_v<T, double> ? 1 : 0;
      floating_[t] = true;
#ifndef COTANGENT_SEPARATE
      further_.blocks[t] = blocks_of<T>();
#endif
    }
  }
  further_kernels const& further() const noexcept { return further_; }
  bool holds(element e) const noexcept { return is_floating(e) && floating_[e == element::float64 ? 1 : 0]; }
  /// Keeps what operations of the graph have an address of. Programs keep it, too.
  void hold(std::shared_ptr<void const> const& object) {
    for (std::shared_ptr<void const> const& other : held_)
      if (other == object) return;
    held_.push_back(object);
  }
  std::vector<std::shared_ptr<void const>> const& held() const noexcept { return held_; }
  void add(kernel_list const& more) {
    for (kernel_set const* const k : more.sets_)
      if (find(k->op) == nullptr) sets_.push(k);
    for (std::shared_ptr<void const> const& object : more.held_) hold(object);
    if (more.further_.named.count != 0) further_.named = more.further_.named;
    for (int t = 0; t < 2; ++t) {
      if (more.further_.blocks[t] != nullptr) further_.blocks[t] = more.further_.blocks[t];
      floating_[t] = floating_[t] || more.floating_[t];
    }
  }

private:
  template <class Op> void add_one() {
    if constexpr (!is_one_of<Op>(static_cast<basic_operations*>(nullptr)) && has_kernels<Op>) {
      if (find(info_of<Op>()) != nullptr) return;
      if (kernel_set const* const k = kernels_for<Op>(); k != nullptr) sets_.push(k);
      if constexpr (emits_others<Op>) add(typename Op::emits{});
    }
  }
  template <class Op> static kernel_set const* kernels_for() {
#ifdef COTANGENT_SEPARATE
    if constexpr (is_one_of<Op>(static_cast<named_operations*>(nullptr))) {
      kernel_sets const all = those_of_separate().named;
      for (int k = 0; k < all.count; ++k)
        if (all.first[k].op == info_of<Op>()) return all.first + k;
      return nullptr;
    } else
#endif
      return &kernel_set_of<Op>;
  }
};

struct kernel_table {
  kernel_sets lists[4]{}; // of the library
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
  template <class To> static constexpr kernels::elementwise_kernel to_half() {
    if constexpr (std::is_same_v<From, float>) return &kernels::convert_half<From, To>;
    else return nullptr;
  }
  static constexpr kernels::elementwise_kernel to[element_count] = {
      &kernels::convert<From, float>, &kernels::convert<From, double>, &kernels::convert<From, std::int32_t>,
      &kernels::convert<From, std::int64_t>, &kernels::convert<From, bool>, to_half<float16>(), to_half<bfloat16>()};
};
/// Those of half precision: between others, graphs convert to float and from it.
template <class H> struct conversions_from_half {
  static constexpr kernels::elementwise_kernel widen = &kernels::convert_half<H, float>, move = &kernels::convert_half<H, H>;
  static constexpr bool is_first = std::is_same_v<H, float16>;
  static constexpr kernels::elementwise_kernel to[element_count] = {
      widen, nullptr, nullptr, nullptr, nullptr, is_first ? move : nullptr, is_first ? nullptr : move};
};

/// The forms of blocks, and the kernels that the program has for them.
template <class Later> block_kernels block_kernels_of([[maybe_unused]] kernel_list const* users) noexcept {
  block_kernels b;
  if constexpr (has_blocks) {
    using all = typename later<interpreter_forms, Later>::type;
    b = {form_table<typename all::list>::all, all::list::count, {}};
    further_kernels const separate = those_of_separate(), listed = users == nullptr ? further_kernels{} : users->further();
    for (int t = 0; t < 2; ++t) b.run[t] = listed.blocks[t] != nullptr ? listed.blocks[t] : separate.blocks[t];
  }
  return b;
}

/// The kernels of `basic_operations` and of `users`. (A template, so that no kernel is compiled where no interpreter is.)
template <class Later = void> kernel_table table_of(kernel_list const* users = nullptr) noexcept {
  using own = kernels_of_list<typename later<basic_operations, Later>::type>;
  auto* const images = &image_kernels; // null in a program without them, which g++ doubts
  bool const has_images = reinterpret_cast<std::uintptr_t>(images) != 0;
  return {{{own::sets.at, own::count}, has_images ? images() : kernel_sets{}, those_of_separate().named,
           users == nullptr ? kernel_sets{} : users->further().named},
          users,
          info_of<typename later<op::convert, Later>::type>(),
          {conversions_from<typename later<float, Later>::type>::to,
           conversions_from<typename later<double, Later>::type>::to,
           conversions_from<typename later<std::int32_t, Later>::type>::to,
           conversions_from<typename later<std::int64_t, Later>::type>::to,
           conversions_from<typename later<bool, Later>::type>::to,
           conversions_from_half<typename later<float16, Later>::type>::to,
           conversions_from_half<typename later<bfloat16, Later>::type>::to},
          {&kernels::threaded_load<false>, &kernels::threaded_load<true>},
          {&kernels::threaded_load_mask<typename later<float, Later>::type>, &kernels::threaded_load_mask<double>},
          {&kernels::threaded_store_mask<typename later<float, Later>::type>, &kernels::threaded_store_mask<double>},
          block_kernels_of<Later>(users),
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
  case element::float16: return scalar::of(static_cast<float16 const*>(p)[i]);
  case element::bfloat16: return scalar::of(static_cast<bfloat16 const*>(p)[i]);
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
  case element::float16: static_cast<float16*>(p)[i] = v.as<float16>(); break;
  case element::bfloat16: static_cast<bfloat16*>(p)[i] = v.as<bfloat16>(); break;
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
  for (std::int64_t b = 0; b < s.blocks; ++b)
    for (std::int64_t k = 0; k < s.kept; ++k) {
      std::int64_t const from = b * s.block_step, to = b * s.block_to + (columns ? k : k * s.to_step);
      scalar sum[2]{s.first ? self.op->neutral(self.result) : read(self.result, result, to)};
      for (std::int64_t i = 0; i < s.reduced; ++i) {
        sum[1] = read(self.result, operand, from + (columns ? k + i * s.step : k * s.step + i));
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
} // namespace interpret
} // namespace cotangent::detail

#endif
