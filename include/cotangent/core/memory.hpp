// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MEMORY_HPP
#define COTANGENT_CORE_MEMORY_HPP

#include <cotangent/core/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cotangent::extend {

/// How elements that lie in a type of yours, row by row without gaps, can be seen: to be specialised.
///
///     template <> struct cotangent::extend::memory<grid> {
///       using element = double;
///       static constexpr ct::shape extents = ct::shape_of<3, ct::extent::anonymous(0)>;  // known when it
///       runs: anonymous static constexpr bool owns = true;                                               //
///       a temporary must not be seen static double* data(grid& g); static double const* data(grid const& g);
///       static void sizes(grid const& g, std::int64_t* of_all_axes);
///     };
///
/// Arithmetic values of element types, arrays, and what has `data()` and `size()` (`std::array`,
/// `std::vector`, `std::span` and their like, also of arrays) need none.
template <class T>
struct memory;

} // namespace cotangent::extend

namespace cotangent::detail {

template <class T>
concept has_own_memory = requires { extend::memory<T>::extents; };

template <class T>
concept contiguous = requires(T& t) {
  { *t.data() };
  { t.size() } -> std::convertible_to<std::size_t>;
};

template <class T>
concept tuple_sized = requires { std::tuple_size<T>::value; };

// A span says so by `element_type`; what owns its elements has none.
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

/// What is known about memory; `T` is neither a reference nor const.
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
  static constexpr bool exists = row::extents.is_static();
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
  requires(!has_own_memory<T> && contiguous<T>)
struct memory_traits<T> {
  using row_type = std::remove_cvref_t<decltype(*std::declval<T&>().data())>;
  using row = memory_traits<row_type>;
  static consteval bool is_memory() {
    if constexpr (!row::exists) return false;
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

} // namespace cotangent::detail

#endif
