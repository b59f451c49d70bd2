// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MEMORY_HPP
#define COTANGENT_CORE_MEMORY_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/refusal.hpp>

#include <cotangent/core/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// Only the tag of contiguous iterators is needed. All of <iterator>, which includes streams, takes libstdc++
// a third of the compile time of this library.
#if __has_include(<bits/stl_iterator_base_types.h>)
#  include <bits/stl_iterator_base_types.h>
#else
#  include <iterator>
#endif

namespace cotangent::refusals {

// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_OF(memory_of_eigen, allowed, "cotangent: memory: an Eigen object must be described by a header; include cotangent/interop/eigen.hpp before its first use")
COTANGENT_REFUSAL_OF(memory_of_eigen_expression, allowed, "cotangent: memory: an Eigen expression must be evaluated first, since its elements are nowhere in memory; pass (a + b).eval(), or give it a name of type Eigen::MatrixXd")
COTANGENT_REFUSAL_OF(memory_with_strides, allowed, "cotangent: memory: memory that is bound, viewed or archived must be row-major without gaps; copy it first, or use a matrix with Eigen::RowMajor")
COTANGENT_REFUSAL_OF(memory_with_gaps, allowed, "cotangent: memory: a type with data() and size() must have contiguous iterators, since its elements may lie in another order or with gaps; specialize ct::extend::memory, or pass ct::view<double const, \"n\">(x.data(), x.size()) where there are no gaps")
// clang-format on

} // namespace cotangent::refusals

namespace cotangent::extend {

/// Describes how the elements of a type of yours lie in memory, row-major without gaps. To be specialized:
///
///     template <> struct cotangent::extend::memory<grid> {
///       using element = double;
///       static constexpr ct::shape extents = ct::shape_of<3, ct::extent::anonymous(0)>; // anonymous: known when it runs
///       static constexpr bool owns = true;                                              // no view of a temporary
///       static double* data(grid& g);
///       static double const* data(grid const& g);
///       static void sizes(grid const& g, std::int64_t* of_all_axes);
///     };
///
/// Elements that lie otherwise have strides as well, counted in elements and of any sign:
///
///       static void strides(grid const& g, std::int64_t* of_all_axes); // data(g) is element (0, 0, ...)
///
/// The gradient with respect to such an argument is a tensor, unless there are
///
///       using owner = grid;
///       static owner make(std::int64_t const* of_all_axes);
///
/// Arithmetic values of element types, arrays, and contiguous ranges need no specialization (`std::array`,
/// `std::vector`, `std::span` and the like, also of arrays). `data()` and `size()` alone do not tell how
/// elements lie: Eigen objects have them.
template <class T>
struct memory;

} // namespace cotangent::extend

namespace cotangent::detail {

template <class T>
concept has_own_memory = requires { extend::memory<T>::extents; };

/// Memory whose elements may have gaps or another order.
template <class T>
concept strided_memory = has_own_memory<T> && requires(T const& t, std::int64_t* to) { extend::memory<T>::strides(t, to); };
/// Memory that says which type holds its gradient.
template <class T>
concept has_owner = has_own_memory<T> && requires { typename extend::memory<T>::owner; };

template <class T>
concept has_data_and_size = requires(T& t) {
  { *t.data() };
  { t.size() } -> std::convertible_to<std::size_t>;
};
template <class I>
concept contiguous_iterator =
    std::is_pointer_v<I> || std::same_as<typename I::iterator_concept, std::contiguous_iterator_tag>;
template <class T>
concept contiguous = has_data_and_size<T> && requires(T& t) {
  { t.begin() } -> contiguous_iterator;
  { t.data() } -> std::same_as<std::add_pointer_t<decltype(*t.begin())>>;
};

/// Matrices and expressions of Eigen; Eigen itself is not included.
template <class T>
concept eigen_object = requires {
  typename T::Scalar;
  T::RowsAtCompileTime;
  T::ColsAtCompileTime;
};
/// A type that looks like memory but does not tell how its elements lie: every function that takes memory
/// refuses it.
template <class T>
concept unread_memory =
    !has_own_memory<T> && (eigen_object<T> || (has_data_and_size<T> && !contiguous<T>));

template <class T>
concept tuple_sized = requires { std::tuple_size<T>::value; };

// A span has a member `element_type`; a type that owns its elements has none.
template <class T>
concept borrows = requires { typename T::element_type; };

template <class T, std::size_t N>
struct fixed_size {
  static constexpr std::int64_t value = static_cast<std::int64_t>(N);
};

template <class T>
consteval std::int64_t known_size() {
  if constexpr (tuple_sized<T>) return static_cast<std::int64_t>(std::tuple_size<T>::value);
  else if constexpr (requires { fixed_size<T, T::extent>::value; }) {
    if constexpr (T::extent == static_cast<std::size_t>(-1)) return -1;
    else return static_cast<std::int64_t>(T::extent);
  } else return -1;
}

constexpr shape prepend(extent const& first, shape const& rest) noexcept {
  shape result;
  result.push(first);
  for (int i = 0; i < rest.rank && i < max_rank - 1; ++i) result.push(rest.extents[i]);
  return result;
}

/// Traits of memory; `T` is neither a reference nor const.
template <class T>
struct memory_traits {
  static constexpr bool exists = false;
};

template <element_type T>
struct memory_traits<T> {
  static constexpr bool exists = true;
  static constexpr bool owns = true;
  using element = T;
  static constexpr shape extents{};
  template <class U>
  static constexpr U* data(U& t) noexcept {
    return &t;
  }
  static constexpr void sizes(T const&, std::int64_t*) noexcept {}
};

template <class T>
  requires has_own_memory<T>
struct memory_traits<T> : extend::memory<T> {
  static constexpr bool exists = true;
};

template <class T, std::size_t N>
  requires(memory_traits<std::remove_const_t<T>>::exists)
struct memory_traits<T[N]> {
  using row = memory_traits<std::remove_const_t<T>>;
  static constexpr bool exists = row::extents.is_static() && !strided_memory<std::remove_const_t<T>>;
  static constexpr bool owns = true;
  using element = typename row::element;
  static constexpr shape extents = prepend(extent::of(N), row::extents);
  template <class U>
  static constexpr auto data(U& t) noexcept {
    return row::data(t[0]);
  }
  template <class U>
  static constexpr void sizes(U const&, std::int64_t* to) noexcept {
    for (int i = 0; i < extents.rank; ++i) to[i] = extents.extents[i].number;
  }
};

template <class T>
  requires(!has_own_memory<T> && !eigen_object<T> && contiguous<T>)
struct memory_traits<T> {
  using row_type = std::remove_cvref_t<decltype(*std::declval<T&>().data())>;
  using row = memory_traits<row_type>;
  static consteval bool is_memory() {
    if constexpr (!row::exists || strided_memory<row_type>) return false;
    else // no gaps between rows
      return row::extents.is_static() && row::extents.rank < max_rank &&
             static_cast<std::int64_t>(sizeof(row_type)) ==
                 row::extents.size().number * static_cast<std::int64_t>(sizeof(typename row::element));
  }
  static consteval shape all_extents() {
    if constexpr (!is_memory()) return {};
    else
      return prepend(known_size<T>() < 0 ? extent::anonymous(0) : extent::of(known_size<T>()), row::extents);
  }
  static consteval auto element_here() {
    if constexpr (is_memory()) return std::type_identity<typename row::element>{};
    else return std::type_identity<void>{};
  }

  static constexpr bool exists = is_memory();
  static constexpr bool owns = !borrows<T>;
  using element = typename decltype(element_here())::type;
  static constexpr shape extents = all_extents();
  template <class U>
  static constexpr auto data(U& t) {
    using pointer = decltype(row::data(*t.data()));
    if constexpr (extents.rank == 1) return t.data();
    else return t.size() == 0 ? pointer{} : row::data(*t.data());
  }
  static constexpr void sizes(T const& t, std::int64_t* to) {
    to[0] = static_cast<std::int64_t>(t.size());
    for (int i = 1; i < extents.rank; ++i) to[i] = extents.extents[i].number;
  }
};

template <class T> consteval auto element_of_unread() {
  if constexpr (eigen_object<T>) return std::type_identity<typename T::Scalar>{};
  else return std::type_identity<std::remove_cvref_t<decltype(*std::declval<T&>().data())>>{};
}
template <unread_memory T>
struct memory_traits<T> {
  static constexpr bool exists = false;
  static constexpr bool owns = false;
  using named = typename decltype(element_of_unread<T>())::type;
  using element = std::conditional_t<element_type<named>, named, double>;
  static constexpr shape extents = shape_of<extent::anonymous(0)>;

  static constexpr void refuse() {
    if constexpr (eigen_object<T> && !element_type<named>) refusals::other_element::report<named>();
    else if constexpr (eigen_object<T> && !requires(T& t) { t.data(); }) refusals::memory_of_eigen_expression::report<T>();
    else if constexpr (eigen_object<T>) refusals::memory_of_eigen::report<T>();
    else refusals::memory_with_gaps::report<T>();
  }
  template <class U>
  static constexpr element* data(U&) {
    refuse();
    return nullptr;
  }
  static constexpr void sizes(T const&, std::int64_t* to) { to[0] = 0; }
};

/// Accepts types that only look like memory as well: reading them is refused in words.
template <class T>
concept takes_memory = memory_traits<T>::exists || unread_memory<T>;

template <class Derived, class Element, extent... Extents>
struct accessible_memory {
  static constexpr bool exists = true;
  using element = std::remove_const_t<Element>;
  static constexpr shape extents = layout<Extents...>::extents;
  template <class U>
  static constexpr auto data(U& t) noexcept {
    return t.data();
  }
  static constexpr void sizes(Derived const& t, std::int64_t* to) noexcept {
    for (int i = 0; i < extents.rank; ++i) to[i] = t.extent(i);
  }
};

template <class Element, extent... Extents>
struct memory_traits<tensor<Element, Extents...>>
    : accessible_memory<tensor<Element, Extents...>, Element, Extents...> {
  static constexpr bool owns = true;
};

/// True for a view of nothing, or a tensor that was moved from, whose sizes promise elements. (In constant evaluations g++ cannot compare
/// the address of a temporary object with null.)
template <class X>
constexpr bool is_of_nothing(X const& x) {
  using traits = memory_traits<X>;
  if constexpr (element_type<X>) return false;
  else if (traits::owns && std::is_constant_evaluated()) return false;
  else {
    if (traits::data(x) != nullptr) [[likely]]
      return false;
    std::int64_t sizes[max_rank + 1]{};
    traits::sizes(x, sizes);
    for (int k = 0; k < traits::extents.rank; ++k)
      if (sizes[k] == 0) return false;
    return true;
  }
}
template <class X>
constexpr void check_for_memory(X const& x) {
  if (is_of_nothing(x)) raise_status(status::null_argument, message("cotangent: ").put(text_of(status::null_argument)));
}

} // namespace cotangent::detail

#endif
