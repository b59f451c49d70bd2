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
namespace dynamic::detail {

template <element To, bool Normal> struct random_of_sizes_fn {
  static constexpr char const* name = Normal ? "random_normal" : "random_uniform";
  static constexpr element gives = To;
  sizes const& of;
  term operator()(term key) const {
    std::int32_t const s = detail::shape_for(*key.b, of);
    if (key.b->failed().why != nullptr) return key;
    return Normal ? extend::random_normal(key, s, To) : extend::random_uniform(key, s, To);
  }
};

} // namespace dynamic::detail

template <element_type T, detail::open_expr K>
auto random_uniform(K const& key, dynamic::sizes const& of,
                    std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_of_sizes_fn<element_of<T>, false>{of}, key);
}
template <element_type T, detail::open_expr K>
auto random_normal(K const& key, dynamic::sizes const& of,
                   std::source_location where = std::source_location::current()) {
  return K::lift(where, dynamic::detail::random_of_sizes_fn<element_of<T>, true>{of}, key);
}

} // namespace cotangent

#endif

COTANGENT_HEADER_END

#endif
