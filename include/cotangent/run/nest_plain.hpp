// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_NEST_PLAIN_HPP
#define COTANGENT_RUN_NEST_PLAIN_HPP

#include <cotangent/run/nest_steps.hpp>

// Most instances only compute, from values that are at hand: they share one function for each kind of step.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// What the code of a step over lanes depends on. Members by name, no array (see register_count).
struct step_kind {
  operation const* op = nullptr;
  int instance = none; // of a step of its own, else `none`
  int operand_count = 0;
  element type = element::float32, type0 = element::float32, type1 = element::float32, type2 = element::float32;
  operand_source from0 = operand_source::lane, from1 = operand_source::lane, from2 = operand_source::lane;
};
/// A long computation as a function of its own. Vectors go through memory, since how they would cross a call depends on
/// compiler flags.
template <class Op, element To, class V, element... From, class... X>
[[gnu::noinline]] void apply_far(V& y, X const&... x) noexcept {
  y = apply_to<Op, To, V, From...>(x...);
}

template <class Stage, int K, class Context> struct nest_plain : nest_steps<Stage, K, Context> {
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at;
  using memory::operand, memory::source_of;
  using steps = nest_steps<Stage, K, Context>;
  using steps::steps;

  static constexpr bool is_plain(instance const& v) {
    return v.what == action::compute && v.where == role::lane && v.access == none && v.slot == none && v.operand_count >= 1 &&
           v.operand_count <= 3;
  }
  static consteval step_kind kind_of(int i) {
    instance const& v = at(i);
    step_kind q;
    if (!is_plain(v)) {
      q.instance = i;
      return q;
    }
    q.op = v.op;
    q.operand_count = v.operand_count;
    q.type = v.type;
    q.type0 = operand(i, 0).type;
    q.from0 = source_of(operand(i, 0));
    if (v.operand_count > 1) {
      q.type1 = operand(i, 1).type;
      q.from1 = source_of(operand(i, 1));
    }
    if (v.operand_count > 2) {
      q.type2 = operand(i, 2).type;
      q.from2 = source_of(operand(i, 2));
    }
    return q;
  }
  static constexpr std::int64_t place_of(instance const& u) {
    return u.what == action::constant ? u.bits : u.place;
  }
  /// The place of its value, or of an operand; the bits of a constant.
  static consteval int place_of_value(int i) { return is_plain(at(i)) ? at(i).place : 0; }
  template <int O> static consteval std::int64_t place_of_operand(int i) {
    return is_plain(at(i)) && at(i).operand_count > O ? place_of(operand(i, O)) : 0;
  }

  /// In a long body what takes long is called: compile time, against some cycles.
  static constexpr float most_cost_inlined = 8;

  template <step_kind Q, int S, bool Full, bool Long, class Registers, class Sums, class Columns, class Before>
  COTANGENT_INLINE void lane_step(Registers& r, Sums& sums, Columns& into, Before* before, std::int64_t c,
                                  std::int64_t count, int place, std::int64_t p0, std::int64_t p1, std::int64_t p2) noexcept {
    if constexpr (Q.instance != none) this->template step_lane<Q.instance, S, Full>(r, sums, into, before, c, count);
    else {
      using V = typename steps::template lane_value<Q.type>;
      V& y = r.template at<Q.type>(place);
      if constexpr (Long && Q.operand_count == 1 && Q.op->cost >= most_cost_inlined) {
        V result;
        run::apply_far<described_by<Q.op>, Q.type, V, Q.type0>(result, value<Q.from0, Q.type0>(r, p0));
        y = result;
      } else if constexpr (Q.operand_count == 1)
        y = apply_to<described_by<Q.op>, Q.type, V, Q.type0>(value<Q.from0, Q.type0>(r, p0));
      else if constexpr (Q.operand_count == 2)
        y = apply_to<described_by<Q.op>, Q.type, V, Q.type0, Q.type1>(value<Q.from0, Q.type0>(r, p0),
                                                                     value<Q.from1, Q.type1>(r, p1));
      else
        y = apply_to<described_by<Q.op>, Q.type, V, Q.type0, Q.type1, Q.type2>(
            value<Q.from0, Q.type0>(r, p0), value<Q.from1, Q.type1>(r, p1), value<Q.from2, Q.type2>(r, p2));
    }
  }
  template <operand_source S, element E, class Registers>
  COTANGENT_INLINE auto value(Registers& r, std::int64_t place) const noexcept {
    return this->template in_lanes<S, E>(r, static_cast<int>(place), place);
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
