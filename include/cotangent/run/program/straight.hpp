// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_STRAIGHT_HPP
#define COTANGENT_RUN_PROGRAM_STRAIGHT_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/kernels/simd_join.hpp>
#include <cotangent/run/program/frozen_straight.hpp>
#include <cotangent/run/program/values.hpp>

#include <cstddef>
#include <initializer_list>
#include <utility>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// A small static program without loops: every step is one inlined function, its index a template argument,
/// its value in registers. Needs no workspace. All loads precede all stores.
template <class Stage> struct straight {
  static constexpr auto const& S = detail::straightened<Stage, simd::bytes>::value;
  using wide = element_t<S.widest>;
  static constexpr bool is_static = true, grows = false;
  static constexpr std::size_t workspace_bytes = 0;
  static std::size_t workspace_for(std::int64_t const*) noexcept { return 0; }

  /// A result may alias any argument of its element type.
  static constexpr bool may_be_in_place(int argument, int result) noexcept {
    extend::graph_view const g = Stage::view;
    return g.tensors[g.input(argument)].type == g.tensors[g.output(result)].type;
  }

  COTANGENT_INLINE static status run(void*, void const* const* inputs, void* const* outputs,
                                     std::int64_t const*) noexcept {
    values v;
    v.run(inputs, outputs, std::make_index_sequence<static_cast<std::size_t>(S.size.steps)>{});
    return v.found;
  }

private:
  static constexpr register_count counts(int log) {
    int const* const n = S.counts[log].of;
    return {n[0], n[1], n[2], n[3], n[4]};
  }
  template <int W, element E> using value = value_t<W, wide, E>;

  struct values {
    registers<1, wide, counts(0)> w1;
    registers<2, wide, counts(1)> w2;
    registers<4, wide, counts(2)> w4;
    registers<8, wide, counts(3)> w8;
    registers<16, wide, counts(4)> w16;
    status found = status::ok;

    template <std::size_t... I>
    COTANGENT_INLINE void run([[maybe_unused]] void const* const* inputs, [[maybe_unused]] void* const* outputs,
                              std::index_sequence<I...>) noexcept {
      static_cast<void>(std::initializer_list<int>{(step<static_cast<int>(I)>(inputs, outputs), 0)...});
    }

  private:
    template <int I> COTANGENT_INLINE auto& at() noexcept {
      constexpr detail::straight_facts s = S.steps.data[I];
      if constexpr (s.lanes == 1) return w1.template at<s.type>(s.place);
      else if constexpr (s.lanes == 2) return w2.template at<s.type>(s.place);
      else if constexpr (s.lanes == 4) return w4.template at<s.type>(s.place);
      else if constexpr (s.lanes == 8) return w8.template at<s.type>(s.place);
      else return w16.template at<s.type>(s.place);
    }

    static constexpr detail::straight_operand read(int i, int k) {
      return S.operands.data[S.steps.data[i].first + k];
    }
    template <int I> using operation_of = detail::described_by<S.steps.data[I].op>;
    template <int I> static constexpr element type_of = S.steps.data[I].type;

    /// Operand `Lane` of step `J`, as a value of W lanes.
    template <int J, int Lane, int W> COTANGENT_INLINE auto taken() noexcept {
      constexpr element e = type_of<J>;
      using V = value<W, e>;
      if constexpr (Lane == extend::none) return V(at<J>());
      else if constexpr (S.steps.data[J].lanes == 1) return spread<e, V>(static_cast<cotangent::detail::arithmetic_t<e>>(at<J>()));
      else return spread<e, V>(static_cast<cotangent::detail::arithmetic_t<e>>(at<J>()[Lane]));
    }
    template <int I, std::size_t K, int W> COTANGENT_INLINE auto operand() noexcept {
      constexpr detail::straight_operand o = read(I, static_cast<int>(K));
      return taken<o.step, o.lane, W>();
    }

    template <int I> COTANGENT_INLINE void step(void const* const* inputs, void* const* outputs) noexcept {
      constexpr detail::straight_facts s = S.steps.data[I];
      using T = element_t<s.type>;
      using V = value<s.lanes, s.type>;
      if constexpr (s.what == detail::straight_action::store) {
        T* const p = static_cast<T*>(outputs[s.index]) + s.offset;
        if constexpr (s.count == s.lanes) store_value(p, V(operand<I, 0, s.lanes>()));
        else store_value(p, V(operand<I, 0, s.lanes>()), s.count);
      } else if constexpr (s.what == detail::straight_action::constant) at<I>() = constant_value<s.type, cotangent::detail::arithmetic_t<s.type>>(s.bits);
      else if constexpr (s.what == detail::straight_action::load) {
        T const* const p = static_cast<T const*>(inputs[s.index]) + s.offset;
        if constexpr (s.count == s.lanes) at<I>() = load_value<V>(p);
        else at<I>() = load_value<V>(p, s.count);
      } else if constexpr (s.what == detail::straight_action::build)
        at<I>() = built<I, V>(std::make_index_sequence<static_cast<std::size_t>(s.lanes)>{});
      else if constexpr (s.what == detail::straight_action::shuffle)
        at<I>() = shuffled<I>(std::make_index_sequence<static_cast<std::size_t>(s.lanes)>{});
      else if constexpr (s.what == detail::straight_action::compute && s.operand_count <= 3) {
        // written out: expanding each node's operands costs compilers more than the node
        using Op = operation_of<I>;
        constexpr detail::straight_operand a = read(I, 0), b = read(I, s.operand_count > 1 ? 1 : 0),
                                   c = read(I, s.operand_count > 2 ? 2 : 0);
        constexpr element ea = S.steps.data[a.step].type, eb = S.steps.data[b.step].type,
                          ec = S.steps.data[c.step].type;
        if constexpr (s.operand_count == 1)
          at<I>() = apply_to<Op, s.type, V, ea>(taken<a.step, a.lane, s.lanes>());
        else if constexpr (s.operand_count == 2)
          at<I>() = apply_to<Op, s.type, V, ea, eb>(taken<a.step, a.lane, s.lanes>(),
                                                    taken<b.step, b.lane, s.lanes>());
        else
          at<I>() = apply_to<Op, s.type, V, ea, eb, ec>(taken<a.step, a.lane, s.lanes>(),
                                                        taken<b.step, b.lane, s.lanes>(),
                                                        taken<c.step, c.lane, s.lanes>());
      } else if constexpr (s.what == detail::straight_action::compute)
        at<I>() = computed<I, V>(std::make_index_sequence<static_cast<std::size_t>(s.operand_count)>{});
      else if constexpr (s.what == detail::straight_action::combine)
        at<I>() = operation_of<I>::combine(V(operand<I, 0, s.lanes>()), V(operand<I, 1, s.lanes>()));
      else at<I>() = folded<operation_of<I>, s.count>(operand<I, 0, s.width>());
      if constexpr (s.what == detail::straight_action::compute && S.steps.data[I].op->reporting != nullptr) look_at<s.count>(at<I>());
    }
    /// Reports pivots that are 0 or below. (Lanes beyond `Count` are garbage.)
    template <int Count, class V> COTANGENT_INLINE void look_at(V const& y) noexcept {
      if constexpr (!math::is_vector<V>) {
        if (y <= V{}) [[unlikely]] found = status::singular_matrix;
      } else
        for (int k = 0; k < Count; ++k)
          if (y[k] <= 0) [[unlikely]] found = status::singular_matrix;
    }

    template <int I, class V, std::size_t... K> COTANGENT_INLINE V
    computed(std::index_sequence<K...>) noexcept {
      constexpr detail::straight_facts s = S.steps.data[I];
      return apply_to<operation_of<I>, s.type, V, type_of<read(I, static_cast<int>(K)).step>...>(
          operand<I, K, s.lanes>()...);
    }
    template <int I, std::size_t K, class V> COTANGENT_INLINE auto lane() noexcept {
      using L = math::lane_t<V>;
      constexpr detail::straight_operand o = read(I, static_cast<int>(K));
      if constexpr (o.step == extend::none) return L{};
      else if constexpr (S.steps.data[I].type == element::boolean)
        return static_cast<L>(at<o.step>() ? -1 : 0);
      else return L(at<o.step>());
    }
    template <int I> static constexpr bool is_constant(int k) {
      detail::straight_operand const o = read(I, k);
      return o.step == extend::none || S.steps.data[o.step].what == detail::straight_action::constant;
    }
    template <int I, class V, std::size_t... K> COTANGENT_INLINE V built(std::index_sequence<K...>) noexcept {
      // With AVX-512, g++ 12 takes a constant of one number and zeros for that number in all lanes.
      if constexpr (COTANGENT_ABI_BYTES == 64 && sizeof(V) >= 32 && (is_constant<I>(static_cast<int>(K)) && ...))
        return V{math::opaque(lane<I, K, V>())...};
      else return V{lane<I, K, V>()...};
    }
    /// True if every lane keeps its index, or comes from an operand that is one lane in all lanes.
    static constexpr bool stays(int i) {
      detail::straight_step const& s = S.steps.data[i];
      bool in_place = s.width == s.lanes;
      for (int k = 0; k < s.lanes; ++k) {
        int const from = S.indices.data[s.first_index + k];
        in_place = in_place && (from == extend::none || from % s.width == k || read(i, from / s.width).lane != extend::none);
      }
      return in_place;
    }
    static constexpr bool is_zero(detail::straight_operand o) {
      detail::straight_step const& s = S.steps.data[o.step];
      return s.what == detail::straight_action::constant && s.bits == 0;
    }
    template <int I, std::size_t... K> COTANGENT_INLINE auto shuffled(std::index_sequence<K...>) noexcept {
      constexpr detail::straight_facts s = S.steps.data[I];
      auto const a = operand<I, 0, s.width>(), b = operand<I, 1, s.width>();
      if constexpr (stays(I)) { // g++ compiles it to a blend, but splits a shuffle
        using V = std::remove_cv_t<decltype(a)>;
        using mask = math::mask_t<V>;
        // With AVX-512, clang would emit an expand, at twice the cost, and g++ 12 loses the mask of a constant.
        if constexpr (is_zero(read(I, 1)) && sizeof(V) >= 32 && COTANGENT_ABI_BYTES == 64) {
          mask const kept{(S.indices.data[s.first_index + static_cast<int>(K)] < s.width ? -1 : 0)...};
          return math::bit_cast<V>(math::bit_cast<mask>(a) & math::opaque(kept));
        } else
          return math::select(
              mask{(S.indices.data[s.first_index + static_cast<int>(K)] < s.width ? -1 : 0)...}, a, b);
      } else return simd::shuffle<S.indices.data[s.first_index + static_cast<int>(K)]...>(a, b);
    }
    template <class Op, int Count, class V> COTANGENT_INLINE static math::lane_t<V>
    folded(V const& v) noexcept {
      using T = math::lane_t<V>;
      if constexpr (Count == 2) return Op::combine(T(v[0]), T(v[1]));
      else if constexpr (Count == 3) return Op::combine(T(Op::combine(T(v[0]), T(v[2]))), T(v[1]));
      else return simd::detail::fold(v, [](auto const& a, auto const& b) __attribute__((always_inline)) { return Op::combine(a, b); });
    }
  };
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
