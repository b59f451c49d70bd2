// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_CONTEXT_HPP
#define COTANGENT_RUN_PROGRAM_CONTEXT_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/run/tape.hpp>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The memory of sequences of unknown length, for programs that have some.
template <bool Grows> struct context_tape {};
template <> struct context_tape<true> {
  detail::tape_stack* tape = nullptr;
};

/// The status that steps of loops report, for programs that have such steps.
template <bool Reports> struct context_report {};
template <> struct context_report<true> {
  status* found = nullptr;
};

/// The state of a run besides its plan: the addresses of buffers, and the sizes that are not constants. Nests
/// copy it, so that no store can alias it.
template <int Buffers, int Sizes, bool Grows = false, bool Reports = false>
struct context : context_tape<Grows>, context_report<Reports> {
  char* buffer[Buffers > 0 ? Buffers : 1];
  std::int64_t size[Sizes > 0 ? Sizes : 1];
  char* scratch;

  COTANGENT_INLINE std::int64_t value(extend::dimension d) const noexcept {
    if constexpr (Sizes == 0) return d; // else g++ -O3 sees an uninitialized size
    else return d >= 0 ? d : size[-1 - d];
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
