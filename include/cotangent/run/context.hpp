// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_CONTEXT_HPP
#define COTANGENT_RUN_CONTEXT_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/graph/graph.hpp>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// What a run knows besides its plan: where buffers are, and the sizes that are not numbers. Nests copy it, so that no
/// store can be thought to change it.
template <int Buffers, int Sizes> struct context {
  char* buffer[Buffers > 0 ? Buffers : 1];
  std::int64_t size[Sizes > 0 ? Sizes : 1];
  char* scratch;

  COTANGENT_INLINE std::int64_t value(dimension d) const noexcept {
    if constexpr (Sizes == 0) return d; // else g++ -O3 sees a size that nothing set
    else return d >= 0 ? d : size[-1 - d];
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
