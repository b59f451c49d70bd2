// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_SPEAK_HPP
#define COTANGENT_CORE_SPEAK_HPP

#include <cotangent/core/shape.hpp>

#include <cstddef>
#include <utility>

namespace cotangent::refusals {

// The relation that must hold between two sides. It is always false: a refusal names it only if it does not
// hold.
template <class, class>
inline constexpr bool equal = false;
template <class, class>
inline constexpr bool less_than = false;
template <class, class>
inline constexpr bool at_most = false;
template <class, class>
inline constexpr bool at_least = false;
template <class, class>
inline constexpr bool divides = false;
template <class, class>
inline constexpr bool broadcasts_with = false;
template <class, class>
inline constexpr bool is = false;
template <class, class>
inline constexpr bool has = false;
template <class...>
inline constexpr bool allowed = false;

template <auto...>
struct size; // in a list of extents: size<4>
template <char...>
struct name; // name<'n'>

} // namespace cotangent::refusals

namespace cotangent::detail {

template <std::int64_t N>
constexpr auto shortest_number() {
  if constexpr (N >= INT32_MIN && N <= INT32_MAX) return static_cast<int>(N);
  else return N;
}

// Speaks numbers as ints (compilers print 4, not 4L), names and formulas as their characters. The sequences
// are not default arguments: g++ 12 fails on those inside an alias template.
template <template <auto...> class Tag, extent E, class Characters>
struct speak_characters;
template <template <auto...> class Tag, extent E, std::size_t... I>
  requires(sizeof...(I) != 0)
struct speak_characters<Tag, E, std::index_sequence<I...>> {
  using type = Tag<E.text[I]...>;
};
template <template <auto...> class Tag, extent E>
struct speak_characters<Tag, E, std::index_sequence<>> {
  using type = Tag<shortest_number<E.number >= 0 ? E.number : static_cast<std::int64_t>(E.hash)>()>;
};

template <template <auto...> class Tag, extent E>
struct speak {
  using type =
      typename speak_characters<Tag, E,
                                std::make_index_sequence<static_cast<std::size_t>(E.text_length())>>::type;
};

template <auto...>
struct axis_content;
template <class>
struct speak_content;
template <auto... Content>
struct speak_content<axis_content<Content...>> {
  using type = refusals::size<Content...>;
};
template <char First, char... Content>
struct speak_content<axis_content<First, Content...>> {
  using type = refusals::name<First, Content...>;
};

template <template <class...> class Tag, shape S, class Axes>
struct speak_axes;
template <template <class...> class Tag, shape S, std::size_t... I>
struct speak_axes<Tag, S, std::index_sequence<I...>> {
  using type = Tag<typename speak_content<typename speak<axis_content, S.extents[I]>::type>::type...>;
};

template <template <class...> class Tag, shape S>
struct speak_shape {
  using type = typename speak_axes<Tag, S, std::make_index_sequence<S.rank>>::type;
};

} // namespace cotangent::detail

#endif
