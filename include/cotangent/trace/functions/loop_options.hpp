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
  /// bounds, too. A loop with `.reverse` begins with its last iteration all the same.
  std::int64_t max_iterations = 0;
  /// Gradients record at most this number of bytes for the loop; 0: no such limit. Where all iterations need more, the gradient
  /// records blocks of them, and computes each block again before its part of the reverse sweep. The results have the same bits.
  ///
  /// A constant count: states at the start of equal blocks, each iteration is computed once more. Other counts (names, bounds,
  /// conditions), rows that `ct::scan` returns, and limits too small for such states: a fixed number of slots for states,
  /// which are reused, so that the limit holds for any count. Iterations are then computed a few times more.
  ///
  /// Gradients of rows are carried through the blocks, outside of the limit; where the whole record takes less than these
  /// rows, it is kept.
  ///
  /// The limit is per loop; a loop in a body has it for each iteration around it, and under `vmap` for each row. It counts
  /// named extents as one element, and inner loops whose count has no constant bound as nothing. Gradients of gradients have
  /// it for each loop that the first gradient made, and add in another order.
  /// Refuses: a limit that cannot hold the carried values and the record of one iteration; `vmap` of a gradient whose rows
  /// iterate differently often.
  /// Checked: tests/runtime/loop_tape_limit.cpp.
  std::int64_t tape_limit = 0;
  /// The iterations run from the last to the first: of `ct::scan` and `ct::for_loop`.
  bool reverse = false;
};

} // namespace COTANGENT_ABI

namespace detail {
/// Refuses negative limits.
template <loop Options> constexpr void refuse_negative() {
  static_assert(Options.max_iterations >= 0 && Options.tape_limit >= 0,
                "cotangent: loop: max_iterations and tape_limit must be at least 0, which is no limit");
}
} // namespace detail
} // namespace cotangent

#endif
