// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_BUILDER_SCOPE_HPP
#define COTANGENT_GRAPH_BUILDER_SCOPE_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>
#include <source_location>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Restores region, flags and place of a builder when a scope ends.
class builder_scope {
  builder& b_;
  std::int32_t const region_;

public:
  node_flags const flags;
  std::source_location const place;

  constexpr explicit builder_scope(builder& b) : b_(b), region_(b.region), flags(b.flags), place(b.place) {}
  constexpr builder_scope(builder_scope const&) = delete;
  constexpr ~builder_scope() {
    b_.region = region_;
    b_.flags = flags;
    b_.place = place;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
