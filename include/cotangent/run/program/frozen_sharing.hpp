// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_SHARING_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_SHARING_HPP

#include <cotangent/plan/sharing.hpp>
#include <cotangent/plan/stage_sharing.hpp>
#include <cotangent/run/program/frozen_plan.hpp>

namespace cotangent::detail {

/// The nests that share code, as a constant.
template <int Nests, int Accesses, int Slots> struct frozen_sharing {
  detail::pool<std::int32_t, Nests> like, count;
  detail::pool<std::int32_t, Nests + 1> first_buffer;
  detail::pool<std::int32_t, Accesses + Slots> buffers;
  detail::pool<std::int32_t, Accesses> own;
  detail::pool<std::int32_t, Slots> own_of_slot;
};

/// Finds nests of the plan of `Stage` that share code.
template <class Stage, int VectorBytes> struct shared_code {
private:
  static constexpr auto const& P = planned<Stage, VectorBytes>::value;
  static constexpr auto find() {
    frozen_sharing<P.size.nests, P.size.accesses, P.size.row_slots> f;
    nest_sharing const s = find_shared(Stage::view, P);
    detail::fill(f.like, s.like.data(), s.like.size());
    detail::fill(f.count, s.count.data(), s.count.size());
    detail::fill(f.first_buffer, s.first_buffer.data(), s.first_buffer.size());
    detail::fill(f.buffers, s.buffers.data(), s.buffers.size());
    detail::fill(f.own, s.own.data(), s.own.size());
    detail::fill(f.own_of_slot, s.own_of_slot.data(), s.own_of_slot.size());
    return f;
  }

public:
  static constexpr auto value = find();
};

/// The stages of a nest that share code, as a constant.
template <int Stages, int Values> struct frozen_stage_sharing {
  detail::pool<std::int32_t, Stages> like;
  detail::pool<std::int32_t, Stages + 1> first;
  detail::pool<outer_value, Values> values;
  detail::pool<std::int32_t, Values> buffers; // of values: their buffer numbers, 0 if they have none
  std::int32_t instances = 0, size = 0;
};

/// Finds stages of nest `K` of the plan of `Stage` that share code.
template <class Stage, int VectorBytes, int K> struct shared_stages {
private:
  static constexpr auto const& P = planned<Stage, VectorBytes>::value;
  static constexpr auto const& C = shared_code<Stage, VectorBytes>::value;
  static constexpr auto find() {
    frozen_stage_sharing<P.nests.data[K].stages, count_outer(P, C, P.nests.data[K])> f;
    int const buffers = C.first_buffer.data[K + 1] - C.first_buffer.data[K];
    stage_sharing const s = find_shared_stages(P, C, P.nests.data[K], buffers);
    detail::fill(f.like, s.like.data(), s.like.size());
    detail::fill(f.first, s.first.data(), s.first.size());
    detail::fill(f.values, s.values.data(), s.values.size());
    for (int k = 0; k < s.values.size(); ++k)
      if (s.values[k].what == outer_kind::buffer) f.buffers.data[k] = s.values[k].place;
    f.instances = s.instances;
    f.size = s.values.size();
    return f;
  }

public:
  static constexpr auto value = find();
};

} // namespace cotangent::detail

#endif
