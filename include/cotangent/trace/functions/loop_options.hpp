// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_LOOP_OPTIONS_HPP
#define COTANGENT_TRACE_FUNCTIONS_LOOP_OPTIONS_HPP

#include <cotangent/core/abi.hpp>

#include <cstdint>

namespace cotangent {
inline namespace COTANGENT_ABI {

/// Options of a loop: `ct::while_loop<ct::loop{.max_iterations = 100}>(condition, body, x...)`.
struct loop {
  /// The loop ends after this number of iterations at the latest; 0: no such limit. Gradients record values of each
  /// iteration: with a bound, their workspace has a constant size. A constant count and a condition such as `i < 100` are
  /// bounds, too.
  std::int64_t max_iterations = 0;
  /// The iterations run from the last to the first: of `ct::scan` and `ct::for_loop`.
  bool reverse = false;
};

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
