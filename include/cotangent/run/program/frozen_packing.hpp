// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_PACKING_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_PACKING_HPP

#include <cotangent/plan/memory/packed_workspace.hpp>
#include <cotangent/run/program/frozen_plan.hpp>

#include <cstdint>

namespace cotangent::detail {

/// The offsets of the buffers of a plan, as a constant.
template <int Buffers> struct frozen_packing {
  detail::pool<std::int64_t, Buffers> offsets; // packed offsets
  std::int64_t bytes = 0;                      // of all buffers
  bool packed = false;                         // else buffers lie in the slots of the plan, one after another
};

/// The offsets of the buffers of the plan of `Stage`, if its sizes are constants: a constant evaluation of
/// its own.
template <class Stage, int VectorBytes> struct packing {
  static constexpr auto const& P = planned<Stage, VectorBytes>::value;
  static constexpr auto value = [] {
    frozen_packing<P.size.buffers> f;
    for (int k = 0; k < P.size.slots; ++k) {
      if (P.slots.data[k].count < 0) return f;
      f.bytes = detail::capped_sum(
          f.bytes, detail::whole_lines(detail::capped_product(P.slots.data[k].count, P.slots.data[k].bytes)));
    }
    packed_workspace const found = pack_workspace(P.buffers.data, P.size.buffers, f.bytes);
    if (found.offsets.empty()) return f;
    detail::fill(f.offsets, found.offsets.data(), P.size.buffers);
    f.bytes = found.bytes;
    f.packed = true;
    return f;
  }();
};

} // namespace cotangent::detail

#endif
