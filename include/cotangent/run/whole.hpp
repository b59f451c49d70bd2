// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_WHOLE_HPP
#define COTANGENT_RUN_WHOLE_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/graph/operation.hpp>
#include <cotangent/graph/whole.hpp>

#include <cstdint>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The fast code of an operation over whole tensors, next to its scalar code. A specialization defines
///
///     static void run(whole_call const&) noexcept;
///     static constexpr std::int64_t scratch_bytes(whole_call const&); // from the sizes alone
///
/// in a header that every file that emits such nodes includes, so that all agree.
template <class Op> struct whole_kernel;

template <class Op>
concept has_whole_kernel = requires(whole_call const& c) { whole_kernel<Op>::run(c); };

template <class Op> constexpr std::int64_t whole_scratch_bytes(whole_call const& call) {
  if constexpr (has_whole_kernel<Op>) return whole_kernel<Op>::scratch_bytes(call);
  else return 0;
}
template <class Op> void whole(whole_call const& call) noexcept {
  if constexpr (has_whole_kernel<Op>) whole_kernel<Op>::run(call);
  else Op::whole(call);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
