// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_CONTROL_HPP
#define COTANGENT_RUN_PROGRAM_CONTROL_HPP

#include <cotangent/run/program/loop_code.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

// The control nodes of static programs: loops, branches, and operations on sequences.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// A branch.
template <class Stage, int K, class Context> struct choice_code : control_memory<Stage, K, Context> {
  using base = control_memory<Stage, K, Context>;
  using base::all, base::g, base::note, base::original, base::result_at;
  static constexpr int results = detail::case_layout::of(all, original).results, branches = detail::case_layout::of(all, original).branches,
                       operands = 1 + detail::case_layout::of(all, original).values;
  template <int J> static constexpr std::int32_t region = detail::case_layout::of(all, original).branch(J);
  template <int J> using branch = typename base::template program<region<J>>;
  using indices = std::make_index_sequence<static_cast<std::size_t>(branches)>;

  static constexpr bool is_static = []<std::size_t... J>(std::index_sequence<J...>) {
    return (true && ... && branch<static_cast<int>(J)>::is_static);
  }(indices{});
  template <class Value> static constexpr std::int64_t scratch(Value, std::int64_t const* known) {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      std::int64_t most = 0;
      for (std::int64_t const bytes : {std::int64_t{0}, base::template workspace_of<branch<static_cast<int>(J)>>(known)...})
        if (bytes > most) most = bytes;
      return most;
    }(indices{});
  }

  static status run(Context const& x) noexcept {
    typename base::addresses const a = base::find(x);
    element_t<g.tensors[base::value_of(0)].type> index;
    __builtin_memcpy(&index, a.of[0], sizeof index);
    status s = status::ok;
    bool const taken = [&]<std::size_t... J>(std::index_sequence<J...>) {
      return (false || ... || (index == static_cast<decltype(index)>(J) && (s = take<static_cast<int>(J)>(x, a), true)));
    }(indices{});
    if (!taken) pass_through(x, a, std::make_index_sequence<static_cast<std::size_t>(results)>{});
    return s;
  }

private:
  template <int J, int R> static constexpr bool is_given = all.output(R, region<J>) != extend::none;
  template <int J> COTANGENT_INLINE static status take(Context const& x, typename base::addresses const& a) noexcept {
    return take<J>(x, a, std::make_index_sequence<static_cast<std::size_t>(operands - 1)>{},
                   std::make_index_sequence<static_cast<std::size_t>(results)>{});
  }
  template <int J, std::size_t... I, std::size_t... R>
  COTANGENT_INLINE static status take(Context const& x, typename base::addresses const& a, std::index_sequence<I...>,
                                      std::index_sequence<R...>) noexcept {
    void const* const in[]{a.of[1 + I]..., nullptr};
    void* out[results + 1];
    int given = 0;
    static_cast<void>(std::initializer_list<int>{
        0, (is_given<J, static_cast<int>(R)> ? (out[given++] = a.of[result_at(static_cast<int>(R))], 0)
                                             : (clear<static_cast<int>(R)>(x, a), 0))...});
    if constexpr (branch<J>::grows) return branch<J>::run(x.scratch, in, out, x.size, x.tape);
    else return branch<J>::run(x.scratch, in, out, x.size);
  }
  template <int R> COTANGENT_INLINE static void clear(Context const& x, typename base::addresses const& a) noexcept {
    __builtin_memset(a.of[result_at(R)], 0, static_cast<std::size_t>(base::template bytes_of<result_at(R)>(x)));
  }
  template <std::size_t... R>
  COTANGENT_INLINE static void pass_through(Context const& x, typename base::addresses const& a, std::index_sequence<R...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (pass_through<static_cast<int>(R)>(x, a), 0)...});
  }
  template <int R> COTANGENT_INLINE static void pass_through(Context const& x, typename base::addresses const& a) noexcept {
    constexpr int from = detail::case_layout::of(all, original).bypass(R);
    if constexpr (from < 0) clear<R>(x, a);
    else __builtin_memcpy(a.of[result_at(R)], a.of[1 + from], static_cast<std::size_t>(base::template bytes_of<result_at(R)>(x)));
  }
};

/// Operations on whole sequences: no entries, and sums.
template <class Stage, int K, class Context> struct sequence_code : control_memory<Stage, K, Context> {
  using base = control_memory<Stage, K, Context>;
  using base::all, base::g, base::n, base::original, base::result_at;
  static constexpr bool is_static = true;
  template <class Value> static constexpr std::int64_t scratch(Value, std::int64_t const*) { return 0; }

  static status run(Context const& x) noexcept {
    typename base::addresses const a = base::find(x);
    std::int64_t const bytes = base::template bytes_of<result_at(0)>(x);
    if constexpr (n.operand_count == 0) __builtin_memset(a.of[0], 0, static_cast<std::size_t>(bytes));
    else if constexpr (detail::stage_grows<Stage>) {
      sequence_value<typename base::whole, all.result(original)>::add(x, a.of[0], a.of[1], a.of[2]);
      if (x.tape->failed()) return status::out_of_memory;
    } else {
      using T = element_t<g.tensors[base::value_of(0)].type>;
      T const *const p = reinterpret_cast<T const*>(a.of[0]), *const q = reinterpret_cast<T const*>(a.of[1]);
      T* const to = reinterpret_cast<T*>(a.of[2]);
      for (std::int64_t k = 0; k < bytes / static_cast<std::int64_t>(sizeof(T)); ++k) to[k] = static_cast<T>(p[k] + q[k]);
    }
    return status::ok;
  }
};

/// The code of a control node.
template <class Stage, int K, class Context> consteval auto find_control() {
  constexpr extend::graph_view g = Stage::view;
  constexpr operation const* op = g.nodes[detail::planned<Stage, simd::bytes>::value.nests.data[K].node].op;
  if constexpr (op == info_of<op::loop>()) return std::type_identity<loop_code<Stage, K, Context>>{};
  else if constexpr (op == info_of<op::case_of>()) return std::type_identity<choice_code<Stage, K, Context>>{};
  else return std::type_identity<sequence_code<Stage, K, Context>>{};
}
template <class Stage, int K, class Context> using control = typename decltype(find_control<Stage, K, Context>())::type;

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
