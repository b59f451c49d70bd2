// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_FAILURE_HPP
#define COTANGENT_GRAPH_FAILURE_HPP

#include <cotangent/core/extent.hpp>
#include <cotangent/core/refusal.hpp>
#include <cotangent/graph/operation.hpp>

#include <cstdint>
#include <source_location>

namespace cotangent::detail {

/// A refusal as data. A throw inside a constant evaluation prints dozens of lines, so constexpr passes never
/// throw and record the reason. At compile time `report` states it by one static_assert, at run time it
/// becomes an exception.
struct refusal {
  char const* text = nullptr;
};

struct failure {
  refusal const* why = nullptr;
  extent left{};
  extent right{};
  std::int32_t node = -1;
  std::source_location where{};
  std::int32_t types[2]{-1, -1}; // two tensors whose types differ: the message gives these in place of the extents
};

template <class Refusal> struct refusal_of {
  static constexpr refusal info{Refusal::text};
};

/// The record of a refusal struct (see COTANGENT_REFUSAL).
template <class Refusal> constexpr refusal const* why() noexcept {
  static_assert(detail::remember<Refusal, &detail::refusal_of<Refusal>::info>::done);
  return &detail::refusal_of<Refusal>::info;
}

} // namespace cotangent::detail

#endif
