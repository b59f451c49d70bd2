// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ELEMENT_HPP
#define COTANGENT_CORE_ELEMENT_HPP

#include <cstddef>
#include <cstdint>

namespace cotangent {

/// The element types of tensors. Archives contain these numbers: append, never reorder.
enum class element : unsigned char { float32, float64, int32, int64, boolean };

inline constexpr int element_count = 5;

static_assert(sizeof(bool) == 1 && sizeof(float) == 4 && sizeof(double) == 8);

namespace detail {
template <class>
inline constexpr bool is_element = false;
template <>
inline constexpr bool is_element<float> = true;
template <>
inline constexpr bool is_element<double> = true;
template <>
inline constexpr bool is_element<std::int32_t> = true;
template <>
inline constexpr bool is_element<std::int64_t> = true;
template <>
inline constexpr bool is_element<bool> = true;

template <class>
inline constexpr element element_of_type{};
template <>
inline constexpr element element_of_type<float> = element::float32;
template <>
inline constexpr element element_of_type<double> = element::float64;
template <>
inline constexpr element element_of_type<std::int32_t> = element::int32;
template <>
inline constexpr element element_of_type<std::int64_t> = element::int64;
template <>
inline constexpr element element_of_type<bool> = element::boolean;

template <element>
struct type_of_element;
template <>
struct type_of_element<element::float32> {
  using type = float;
};
template <>
struct type_of_element<element::float64> {
  using type = double;
};
template <>
struct type_of_element<element::int32> {
  using type = std::int32_t;
};
template <>
struct type_of_element<element::int64> {
  using type = std::int64_t;
};
template <>
struct type_of_element<element::boolean> {
  using type = bool;
};
} // namespace detail

/// float, double, std::int32_t, std::int64_t or bool, without const.
template <class T>
concept element_type = detail::is_element<T>;

template <element_type T>
inline constexpr element element_of = detail::element_of_type<T>;

template <element E>
using element_t = typename detail::type_of_element<E>::type;

constexpr std::size_t size_of(element e) noexcept {
  constexpr unsigned char bytes[element_count]{4, 8, 4, 8, 1};
  return bytes[static_cast<unsigned char>(e)];
}

constexpr char const* name_of(element e) noexcept {
  constexpr char const* names[element_count]{"float", "double", "int32", "int64", "bool"};
  return names[static_cast<unsigned char>(e)];
}

constexpr bool is_floating(element e) noexcept { return e <= element::float64; }

} // namespace cotangent

#endif
