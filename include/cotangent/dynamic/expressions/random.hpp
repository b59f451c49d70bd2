// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_RANDOM_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_RANDOM_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>
#include <cotangent/trace/expressions/random.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/expressions/functions.hpp>

#  include <cstdint>
#  include <source_location>

// Random numbers of sizes known when the graph is built: ct::random_normal<float>(key, {64, 10}).

namespace cotangent {
namespace dynamic::inline COTANGENT_ABI::detail {

enum class random_kind { uniform, normal, exponential };
template <element To, random_kind Kind> struct random_of_sizes_fn {
  static constexpr char const* name = Kind == random_kind::uniform  ? "random_uniform"
                                      : Kind == random_kind::normal ? "random_normal"
                                                                    : "random_exponential";
  static constexpr element gives = To;
  sizes const& of;
  term operator()(term key) const {
    std::int32_t const s = detail::shape_for(*key.b, of);
    if (key.b->failed().why != nullptr) return key;
    return Kind == random_kind::uniform  ? extend::random_uniform(key, s, To)
           : Kind == random_kind::normal ? extend::random_normal(key, s, To)
                                         : extend::random_exponential(key, s, To);
  }
};
struct random_bernoulli_of_sizes_fn {
  static constexpr char const* name = "random_bernoulli";
  static constexpr element gives = element::boolean;
  sizes const& of;
  term operator()(term key, term p) const {
    std::int32_t const s = detail::shape_for(*key.b, of);
    return key.b->failed().why != nullptr ? key : extend::random_bernoulli(key, p, s);
  }
};
template <element To> struct random_gamma_of_sizes_fn {
  static constexpr char const* name = "random_gamma";
  static constexpr element gives = To;
  using uses = gamma_operations;
  sizes const& of;
  term operator()(term key, term a) const {
    std::int32_t const s = detail::shape_for(*key.b, of);
    return key.b->failed().why != nullptr ? key : cotangent::detail::gamma_numbers(key, a, s);
  }
};
struct random_split_of_fn {
  static constexpr char const* name = "random_split";
  static constexpr element gives = element::int64;
  sizes const& of; // one: the number of keys
  term operator()(term key) const {
    std::int32_t const s = detail::shape_for(*key.b, of);
    if (key.b->failed().why != nullptr) return key;
    return extend::random_split(key, key.b->get().shapes[s].size[0]);
  }
};

} // namespace dynamic::detail

template <element_type T, detail::open_expr K>
auto random_uniform(K const& key, dynamic::sizes const& of,
                    std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_of_sizes_fn<element_of<T>, dynamic::detail::random_kind::uniform>{of}, key);
}
template <element_type T, detail::open_expr K>
auto random_normal(K const& key, dynamic::sizes const& of,
                   std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_of_sizes_fn<element_of<T>, dynamic::detail::random_kind::normal>{of}, key);
}

template <element_type T, detail::open_expr K>
auto random_exponential(K const& key, dynamic::sizes const& of,
                        std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_of_sizes_fn<element_of<T>, dynamic::detail::random_kind::exponential>{of}, key);
}
template <detail::open_expr K, detail::operand P>
auto random_bernoulli(K const& key, P const& p, dynamic::sizes const& of,
                      std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_bernoulli_of_sizes_fn{of}, key, detail::as_operand<double>(p));
}
template <detail::open_expr K, detail::operand A>
auto random_gamma(K const& key, A const& a, dynamic::sizes const& of, std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_gamma_of_sizes_fn<detail::element_of_operand<A>>{of}, key, detail::as_operand<double>(a));
}
// The shape of a number, `{}`.
template <element_type T, detail::open_expr K>
auto random_uniform(K const& key, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::random_uniform<T>(key, where);
}
template <element_type T, detail::open_expr K>
auto random_normal(K const& key, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::random_normal<T>(key, where);
}
template <element_type T, detail::open_expr K>
auto random_exponential(K const& key, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::random_exponential<T>(key, where);
}
template <detail::open_expr K, detail::operand P>
auto random_bernoulli(K const& key, P const& p, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::random_bernoulli<>(key, p, where);
}
template <detail::open_expr K, detail::operand A>
auto random_gamma(K const& key, A const& a, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::random_gamma<>(key, a, where);
}
template <detail::open_expr K>
auto random_split(K const& key, std::int64_t count, std::source_location where = std::source_location::current()) {
  dynamic::sizes const of{count};
  return K::lift(where, dynamic::detail::random_split_of_fn{of}, key);
}

} // namespace cotangent

#endif

COTANGENT_HEADER_END

#endif
