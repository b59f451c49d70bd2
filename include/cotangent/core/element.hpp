// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ELEMENT_HPP
#define COTANGENT_CORE_ELEMENT_HPP

#include <cotangent/core/math/half.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cotangent {

/// The element types of tensors. Archives contain these numbers: append, never reorder.
enum class element : unsigned char { float32, float64, int32, int64, boolean, float16, bfloat16 };

inline constexpr int element_count = 7;

static_assert(sizeof(bool) == 1 && sizeof(float) == 4 && sizeof(double) == 8);
static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

namespace detail {

/// Properties of an element. `facts_of_elements` is the only list of all elements.
struct element_facts {
  char const* name;
  unsigned char bytes;
  bool floating;
  element arithmetic; // of its values in registers: elements of half precision are storage
};
inline constexpr element_facts facts_of_elements[element_count]{
    {"float", 4, true, element::float32},    {"double", 8, true, element::float64},
    {"int32", 4, false, element::int32},     {"int64", 8, false, element::int64},
    {"bool", 1, false, element::boolean},    {"float16", 2, true, element::float32},
    {"bfloat16", 2, true, element::float32},
};

template <element E, class T> struct element_entry {
  static constexpr element value = E;
  using type = T;
};
template <class> struct entry_of_type;
template <> struct entry_of_type<float> : element_entry<element::float32, float> {};
template <> struct entry_of_type<double> : element_entry<element::float64, double> {};
template <> struct entry_of_type<std::int32_t> : element_entry<element::int32, std::int32_t> {};
template <> struct entry_of_type<std::int64_t> : element_entry<element::int64, std::int64_t> {};
template <> struct entry_of_type<bool> : element_entry<element::boolean, bool> {};
template <> struct entry_of_type<float16> : element_entry<element::float16, float16> {};
template <> struct entry_of_type<bfloat16> : element_entry<element::bfloat16, bfloat16> {};

template <element> struct type_of_element;
template <> struct type_of_element<element::float32> : entry_of_type<float> {};
template <> struct type_of_element<element::float64> : entry_of_type<double> {};
template <> struct type_of_element<element::int32> : entry_of_type<std::int32_t> {};
template <> struct type_of_element<element::int64> : entry_of_type<std::int64_t> {};
template <> struct type_of_element<element::boolean> : entry_of_type<bool> {};
template <> struct type_of_element<element::float16> : entry_of_type<float16> {};
template <> struct type_of_element<element::bfloat16> : entry_of_type<bfloat16> {};

template <class T> inline constexpr bool is_element = requires { entry_of_type<T>::value; };

constexpr element_facts const& facts_of(element e) noexcept { return facts_of_elements[static_cast<unsigned char>(e)]; }

} // namespace detail

/// float, double, std::int32_t, std::int64_t, bool, or as storage ct::float16 and ct::bfloat16; without const.
template <class T>
concept element_type = detail::is_element<T>;

template <element_type T>
inline constexpr element element_of = detail::entry_of_type<T>::value;

template <element E>
using element_t = typename detail::type_of_element<E>::type;

constexpr std::size_t size_of(element e) noexcept { return detail::facts_of(e).bytes; }

constexpr char const* name_of(element e) noexcept { return detail::facts_of(e).name; }

constexpr bool is_floating(element e) noexcept { return detail::facts_of(e).floating; }

namespace detail {

/// The element in which operations compute values of `e`: float for those of half precision, else `e`.
constexpr element arithmetic_of(element e) noexcept { return facts_of(e).arithmetic; }
/// True for elements of half precision.
constexpr bool is_half(element e) noexcept { return facts_of_elements[static_cast<unsigned char>(e)].arithmetic != e; }
template <element E> using arithmetic_t = element_t<arithmetic_of(E)>;
template <class T> inline constexpr bool is_half_type = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
/// float for half precision, else T.
template <class T> using arithmetic_type = std::conditional_t<is_half_type<T>, float, T>;
template <class T> inline constexpr bool is_floating_type = std::is_floating_point_v<T> || is_half_type<T>;
/// Calls f(T()) with the unsigned integer T of as many bytes as an element has.
template <class F> constexpr decltype(auto) as_word(std::int64_t bytes, F f) {
  switch (bytes) {
  case 8: return f(std::uint64_t());
  case 4: return f(std::uint32_t());
  case 2: return f(std::uint16_t());
  default: return f(std::uint8_t());
  }
}
/// A number as a floating element has it.
constexpr double rounded_to(element e, double x) noexcept {
  return e == element::float64  ? x
         : e == element::float16  ? static_cast<double>(static_cast<float>(float16(x)))
         : e == element::bfloat16 ? static_cast<double>(static_cast<float>(bfloat16(x)))
                                  : static_cast<double>(static_cast<float>(x));
}

} // namespace detail

} // namespace cotangent

#endif
