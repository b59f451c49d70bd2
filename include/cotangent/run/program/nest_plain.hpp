// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_PLAIN_HPP
#define COTANGENT_RUN_PROGRAM_NEST_PLAIN_HPP

#include <cotangent/run/program/nest_steps.hpp>

#include <initializer_list>
#include <utility>

// Most instances only combine available values, or load a vector from an address given by numbers: they share
// one function for each kind of step.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The compile-time parameters of a step over lanes. Separate members instead of an array (see
/// register_count).
struct step_kind {
  operation const* op = nullptr;
  int instance = extend::none; // of a step with its own function, else `none`
  int operand_count = 0;
  detail::action what = detail::action::compute; // or load, recall
  bool keeps = false;            // in a row buffer
  element type = element::float32, type0 = element::float32, type1 = element::float32, type2 = element::float32;
  operand_source from0 = operand_source::lane, from1 = operand_source::lane, from2 = operand_source::lane;
};
/// A long computation on one or several vectors as a function of its own. Vectors are passed through memory, since their calling
/// convention depends on compiler flags.
template <class Op, element To, element... From, class V, std::size_t... K, class... X>
[[gnu::noinline]] void apply_far(V* y, std::index_sequence<K...>, X const*... x) noexcept {
  auto const one = [&](std::size_t k) __attribute__((always_inline)) { y[k] = apply_to<Op, To, V, From...>(x[k]...); };
  static_cast<void>(std::initializer_list<int>{(one(K), 0)...});
}

/// Steps over lanes by kind, on the state `m` of a nest.
template <class Stage, int K, class Context> struct nest_plain : nest_shape<Stage, K> {
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::first, shape::N, shape::operand, shape::P, shape::source_of, shape::turned;
  using steps = nest_steps<Stage, K, Context>;

  static constexpr bool is_plain(detail::instance const& v) {
    if (v.where != detail::role::lane || (v.slot != extend::none && P.row_slots.data[v.slot].exact)) return false;
    if (v.what == detail::action::load) return is_plain_load(v);
    if (v.what == detail::action::recall) return v.slot == extend::none && !P.row_slots.data[v.detail].exact;
    return v.what == detail::action::compute && v.op->reporting == nullptr && v.access == extend::none && v.operand_count >= 1 && v.operand_count <= 3;
  }
  /// True for contiguous vectors of a row whose address depends on the row's index only.
  static constexpr bool is_plain_load(detail::instance_facts const& v) {
    return !turned && N.split <= 1 && N.rank > N.split && v.slot == extend::none && !cotangent::detail::clips(v) &&
           shape::stride(v, shape::lane_axis) == 1;
  }
  static constexpr std::int64_t place_of(detail::instance_facts const& u) {
    return u.what == detail::action::constant ? u.bits : u.place;
  }
  /// An instance as an argument of `lane_step`: its kind, the location of its value, those of its operands or
  /// the bits of constants, and its row buffer. For a load: its buffer, offset and stride of rows.
  struct step_places {
    int place = 0;
    std::int64_t operand0 = 0, operand1 = 0, operand2 = 0;
    std::int32_t kept = extend::none;
  };
  struct step_data : step_places {
    step_kind kind;
  };
  /// Of all instances, in one constant evaluation: one call each would take as long as compiling their code.
  struct step_table {
    step_data of[N.instance_count > 0 ? N.instance_count : 1]{};
    consteval step_table() {
      for (int k = 0; k < N.instance_count; ++k) {
        detail::instance const& v = at(first + k);
        step_data& s = of[k];
        if (!is_plain(v)) {
          s.kind.instance = first + k;
          continue;
        }
        s.place = v.place;
        s.kind.what = v.what;
        s.kind.type = v.type;
        if (v.what == detail::action::load) {
          detail::access const& a = P.accesses.data[v.access];
          s.operand0 = shape::C.own.data[v.access];
          s.operand1 = a.offset;
          s.operand2 = N.split == 1 ? a.stride[0] : 0;
          continue;
        }
        if (v.what == detail::action::recall) {
          s.kept = shape::own_buffer(v.detail);
          continue;
        }
        s.kind.op = v.op;
        s.kind.operand_count = v.operand_count;
        s.kind.keeps = v.slot != extend::none;
        if (s.kind.keeps) s.kept = shape::own_buffer(v.slot);
        detail::instance const& a = operand(first + k, 0);
        s.kind.type0 = a.type;
        s.kind.from0 = source_of(a);
        s.operand0 = place_of(a);
        if (v.operand_count == 1) continue;
        detail::instance const& b = operand(first + k, 1);
        s.kind.type1 = b.type;
        s.kind.from1 = source_of(b);
        s.operand1 = place_of(b);
        if (v.operand_count == 2) continue;
        detail::instance const& c = operand(first + k, 2);
        s.kind.type2 = c.type;
        s.kind.from2 = source_of(c);
        s.operand2 = place_of(c);
      }
    }
  };
  static constexpr step_table all_steps{};
  /// The part that code reads: without optimization, the operations of the kinds would bring their rules.
  struct place_table {
    step_places of[N.instance_count > 0 ? N.instance_count : 1]{};
    consteval place_table() {
      for (int k = 0; k < N.instance_count; ++k) of[k] = all_steps.of[k];
    }
  };
  static constexpr place_table all_places{};
  /// Only a step with its own function depends on its stage.
  static constexpr int stage_for(std::size_t k, int stage) { return all_steps.of[k].kind.instance == extend::none ? 0 : stage; }

  /// Expensive operations in long bodies are calls, not inlined code: less compile time, for some cycles.
  static constexpr float dear = cotangent::detail::sum_order::dear;

  template <step_kind Q, int S, bool Full, bool Long, class Registers, class Sums, class Columns, class Before>
  COTANGENT_INLINE static void lane_step(memory& m, Registers& r, Sums& sums, Columns& into, Before* before, std::int64_t c,
                                  std::int64_t count, int place, std::int64_t p0, std::int64_t p1, std::int64_t p2,
                                  std::int32_t kept) noexcept {
    if constexpr (Q.instance != extend::none) steps::template step_lane<Q.instance, S, Full>(m, r, sums, into, before, c, count);
    else {
      using V = typename steps::template lane_value<Q.type>;
      using T = element_t<Q.type>;
      V& y = r.template at<Q.type>(place);
      if constexpr (Q.what == detail::action::load) {
        T const* const p = m.template base<T const>(static_cast<std::int32_t>(p0)) + m.x.value(p1) + (m.row + m.sub) * m.x.value(p2) + c;
        if constexpr (Full) y = load_value<V>(p);
        else y = load_value<V>(p, count);
      } else if constexpr (Q.what == detail::action::recall) y = load_value<V>(m.template row_buffer<T const>(kept, c));
      else if constexpr (Long && is_far(Q)) {
        far_step<Q>(m, &r, c, 1, place, p0, p1, kept, std::index_sequence<0>{});
        return;
      } else if constexpr (Q.operand_count == 1)
        y = apply_to<detail::described_by<Q.op>, Q.type, V, Q.type0>(value<Q.from0, Q.type0>(m, r, p0));
      else if constexpr (Q.operand_count == 2)
        y = apply_to<detail::described_by<Q.op>, Q.type, V, Q.type0, Q.type1>(value<Q.from0, Q.type0>(m, r, p0),
                                                                     value<Q.from1, Q.type1>(m, r, p1));
      else
        y = apply_to<detail::described_by<Q.op>, Q.type, V, Q.type0, Q.type1, Q.type2>(
            value<Q.from0, Q.type0>(m, r, p0), value<Q.from1, Q.type1>(m, r, p1), value<Q.from2, Q.type2>(m, r, p2));
      if constexpr (Q.keeps) store_value(m.template row_buffer<T>(kept, c), y);
    }
  }
  static constexpr bool is_far(step_kind const& q) { return q.op != nullptr && q.operand_count <= 2 && q.op->cost >= dear; }
  static constexpr float far_cost(std::size_t from, std::size_t count) {
    float sum = 0;
    for (std::size_t k = from; k < from + count; ++k) sum += is_far(all_steps.of[k].kind) ? all_steps.of[k].kind.op->cost : 0;
    return sum;
  }
  /// A step of several vectors, from position `c` on: one call for all. Only those `present` are kept.
  template <step_kind Q, class Registers, std::size_t... V>
  COTANGENT_INLINE static void far_step(memory& m, Registers* r, std::int64_t c, int present, int place, std::int64_t p0, std::int64_t p1, std::int32_t kept,
                                 std::index_sequence<V...> all) noexcept {
    using Y = typename steps::template lane_value<Q.type>;
    using op = detail::described_by<Q.op>;
    Y y[sizeof...(V)];
    decltype(value<Q.from0, Q.type0>(m, *r, p0)) const x0[]{value<Q.from0, Q.type0>(m, r[V], p0)...};
    if constexpr (Q.operand_count == 1) run::apply_far<op, Q.type, Q.type0>(y, all, x0);
    else {
      decltype(value<Q.from1, Q.type1>(m, *r, p1)) const x1[]{value<Q.from1, Q.type1>(m, r[V], p1)...};
      run::apply_far<op, Q.type, Q.type0, Q.type1>(y, all, x0, x1);
    }
    static_cast<void>(std::initializer_list<int>{(r[V].template at<Q.type>(place) = y[V], 0)...});
    if constexpr (Q.keeps) // (vectors of a row lie side by side)
      for (int v = 0; v < present; ++v) store_value(m.template row_buffer<element_t<Q.type>>(kept, c + v * shape::W), y[v]);
  }
  template <operand_source S, element E, class Registers>
  COTANGENT_INLINE static auto value(memory const& m, Registers& r, std::int64_t place) noexcept {
    return m.template in_lanes<S, E>(r, static_cast<int>(place), place);
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
