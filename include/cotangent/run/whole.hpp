// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_WHOLE_HPP
#define COTANGENT_RUN_WHOLE_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/graph/operation.hpp>
#include <cotangent/graph/whole.hpp>

#include <cstdint>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The fast code of an operation over whole tensors of floating-point numbers, next to its scalar code. A specialization defines
///
///     template <class T, std::int64_t Rows> static void on(whole_call const&) noexcept; // T: the element of the result
///     static constexpr std::int64_t scratch_bytes(whole_call const&); // from the sizes alone
///
/// in a header that every file that emits such nodes includes, so that all agree. `Rows` is the last size of the first operand where a
/// program knows it, and else -1.
template <class Op> struct whole_kernel;

template <class Op>
concept has_whole_kernel = requires(whole_call const& c) { whole_kernel<Op>::template on<float, -1>(c); };

template <class Op> constexpr std::int64_t whole_scratch_bytes(whole_call const& call) {
  if constexpr (has_whole_kernel<Op>) return whole_kernel<Op>::scratch_bytes(call);
  else return 0;
}
/// For an element and a size that a program knows: only their code is emitted.
template <class Op, class T, std::int64_t Rows> void whole(whole_call const& call) noexcept {
  if constexpr (has_whole_kernel<Op>) whole_kernel<Op>::template on<T, Rows>(call);
  else Op::whole(call);
}
template <class Op> void whole(whole_call const& call) noexcept {
  if constexpr (!has_whole_kernel<Op>) Op::whole(call);
  else if (call.result.type == element::float32) run::whole<Op, float, -1>(call);
  else run::whole<Op, double, -1>(call);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
