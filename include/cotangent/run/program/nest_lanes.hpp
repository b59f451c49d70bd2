// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_LANES_HPP
#define COTANGENT_RUN_PROGRAM_NEST_LANES_HPP

#include <cotangent/ops/reduction.hpp>
#include <cotangent/run/program/nest_plain.hpp>

#include <initializer_list>
#include <utility>

// The loops over the lanes of a nest, one for each stage.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The loops over lanes, on the state `m` of a nest.
template <class Stage, int K, class Context> struct nest_lanes : nest_shape<Stage, K> {
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::B, shape::first, shape::N, shape::turned, shape::W;
  using typename shape::wide;
  template <element E> using lane_value = value_t<W, wide, E>;
  template <element E> using row_value = value_t<B, wide, E>;

  using steps = nest_steps<Stage, K, Context>;
  using plain = nest_plain<Stage, K, Context>;

  template <int S, bool Full, class Sums, class Columns, class Before, std::size_t... I>
  COTANGENT_INLINE static void body(memory& m, Sums& sums, Columns& into, Before* before, std::int64_t c, std::int64_t count,
                             std::index_sequence<I...>) noexcept {
    typename stage_neighbors<shape, S>::lane_registers r;
    constexpr std::size_t from = static_cast<std::size_t>(shape::begin(shape::lane_list(S)) - first);
    static_cast<void>(std::initializer_list<int>{
        (plain::template lane_step<plain::all_steps.of[from + I].kind, plain::stage_for(from + I, S), Full, (sizeof...(I) > shape::long_body)>(m, 
             r, sums, into, before, c, count, plain::all_places.of[from + I].place, plain::all_places.of[from + I].operand0,
             plain::all_places.of[from + I].operand1, plain::all_places.of[from + I].operand2,
             plain::all_places.of[from + I].kept),
         0)...});
  }

  /// Sums over rows, along the lanes: kept in registers while interleaved rows add to them.
  using column_sums = registers<W, wide, shape::total_count>;
  template <int I, bool Full> COTANGENT_INLINE static void load_column(memory& m, column_sums& into, std::int64_t c, std::int64_t count) noexcept {
    constexpr element E = at(I).type;
    using V = lane_value<E>;
    auto const* const p = m.template pointer<I, element_t<E> const>(0) + c;
    into.template at<E>(shape::template total_index<I>) = Full ? load_value<V>(p) : load_value<V>(p, count);
  }
  template <int I, bool Full>
  COTANGENT_INLINE static void store_column(memory& m, column_sums const& into, std::int64_t c, std::int64_t count) noexcept {
    constexpr element E = at(I).type;
    auto* const p = m.template pointer<I, element_t<E>>(0) + c;
    if constexpr (Full) store_value(p, into.template at<E>(shape::template total_index<I>));
    else store_value(p, into.template at<E>(shape::template total_index<I>), count);
  }
  template <bool Full, std::size_t... I>
  COTANGENT_INLINE static void load_columns(memory& m, [[maybe_unused]] column_sums& into, [[maybe_unused]] std::int64_t c,
                                     [[maybe_unused]] std::int64_t count, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(load_column<static_cast<int>(I), Full>(m, into, c, count), 0)...});
  }
  template <bool Full, std::size_t... I>
  COTANGENT_INLINE static void store_columns(memory& m, [[maybe_unused]] column_sums const& into, [[maybe_unused]] std::int64_t c,
                                      [[maybe_unused]] std::int64_t count, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(store_column<static_cast<int>(I), Full>(m, into, c, count), 0)...});
  }
  /// The same positions of one row, or of interleaved rows from `sub` on.
  template <int S, bool Full, class Sums, class Before, std::size_t... I, std::size_t... R>
  COTANGENT_INLINE static void step(memory& m, Sums* sums, Before* before, std::int64_t c, std::int64_t count, std::index_sequence<I...> list,
                             std::index_sequence<R...>) noexcept {
    column_sums into;
    std::int64_t const top = m.sub;
    load_columns<Full>(m, into, c, count, typename shape::template columns_of<S>{});
    static_cast<void>(std::initializer_list<int>{
        (m.sub = top + static_cast<int>(R), body<S, Full>(m, sums[R], into, before, c, count, list), 0)...});
    m.sub = top;
    store_columns<Full>(m, into, c, count, typename shape::template columns_of<S>{});
  }

  /// A separate function: a long body inlined through every level up to the program would be optimized at
  /// each.
  template <int S, class Sums, class Before, class List, class Rows>
  [[gnu::noinline]] static void long_step(memory& m, Sums* sums, Before* before, std::int64_t c, std::int64_t count, List list, Rows all) noexcept {
    step<S, false>(m, sums, before, c, count, list, all);
  }

  struct part_of_row {
    std::int64_t c, count;
  };

  /// Up to `Count` vectors, each instance as a loop over them: no more code than for one. Missing vectors are recomputations of the first
  /// one, which are not summed: memory beyond the row is not touched.
  template <int S, int Count, class Sums, class Before, std::size_t... I>
  [[gnu::noinline]] static void long_interleaved(memory& m, Sums& sums, Before* before, std::int64_t c, std::int64_t count,
                                                  std::index_sequence<I...>) noexcept {
    constexpr std::size_t from = static_cast<std::size_t>(shape::begin(shape::lane_list(S)) - first);
    constexpr typename shape::template columns_of<S> added{};
    typename stage_neighbors<shape, S>::lane_registers r[Count];
    column_sums into[Count];
    part_of_row part[Count]{{c, count < W ? count : W}};
    int present = 1;
    for (int v = 1; v < Count; ++v) {
      std::int64_t const left = count - v * W;
      if (left > 0) ++present;
      part[v] = left > 0 ? part_of_row{c + v * W, left < W ? left : W} : part[0];
    }
    for (int v = 0; v < present; ++v) load_columns<false>(m, into[v], part[v].c, part[v].count, added);
    // (g++ takes a time that grows with the square of a function's loops)
    constexpr std::size_t together = 48;
    [&]<std::size_t... P>(std::index_sequence<P...>) __attribute__((always_inline)) {
      static_cast<void>(std::initializer_list<int>{
          (long_interleaved_steps<S, from + P * together, Count>(m, 
               r, sums, into, before, part, present,
               std::make_index_sequence<(sizeof...(I) - P * together < together ? sizeof...(I) - P * together : together)>{}),
           0)...});
    }(std::make_index_sequence<(sizeof...(I) + together - 1) / together>{});
    for (int v = 0; v < present; ++v) store_columns<false>(m, into[v], part[v].c, part[v].count, added);
  }
  template <int S, std::size_t From, int Count, class Registers, class Sums, class Before, std::size_t... I>
  [[gnu::noinline]] static void long_interleaved_steps(memory& m, Registers* r, Sums& sums, column_sums* into, Before* before, part_of_row const* part,
                                                int present, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(long_interleaved_step<S, From + I, Count>(m, r, sums, into, before, part, present), 0)...});
  }
  template <int S, std::size_t I, int Count, class Registers, class Sums, class Before>
  COTANGENT_INLINE static void long_interleaved_step(memory& m, Registers* r, Sums& sums, column_sums* into, Before* before, part_of_row const* part,
                                              int present) noexcept {
    constexpr typename plain::step_places s = plain::all_places.of[I];
    constexpr bool sums_up = shape::at(first + static_cast<int>(I)).what >= detail::action::reduce;
    if constexpr (plain::is_far(plain::all_steps.of[I].kind))
      plain::template far_step<plain::all_steps.of[I].kind>(m, r, part[0].c, present, s.place, s.operand0, s.operand1, s.kept, std::make_index_sequence<Count>{});
    else {
#pragma GCC unroll 1
      for (int v = 0; v < (sums_up ? present : Count); ++v)
        plain::template lane_step<plain::all_steps.of[I].kind, plain::stage_for(I, S), false, true>(m, 
            r[v], sums, into[v], before, part[v].c, part[v].count, s.place, s.operand0, s.operand1, s.operand2, s.kept);
    }
  }

  template <int I, int S, class Sums> COTANGENT_INLINE static void start_sum(Sums& sums) noexcept {
    constexpr element E = at(I).type;
    sums.template at<E>(shape::template sum_index<I, S>) =
        math::broadcast<lane_value<E>>(detail::described_by<at(I).op>::template neutral<element_t<E>>());
  }
  /// Combines interleaved partial sums, then the lanes, in a fixed order.
  template <int I, int S, int U, class Sums> COTANGENT_INLINE static void finish_sum(memory& m, Sums* sums) noexcept {
    constexpr element E = at(I).type;
    constexpr int place = at(I).place, k = shape::template sum_index<I, S>;
    constexpr bool stores = at(I).access != extend::none;
    using Op = detail::described_by<at(I).op>;
    using V = lane_value<E>;
    if constexpr (turned) {
      static_assert(U == 1);
      V const sum = sums[0].template at<E>(k);
      m.row_values.template at<E>(place) = sum;
      if constexpr (stores) steps::template store_rows<I, V, element_t<E>>(m, sum);
    } else if constexpr (math::is_vector<V> && is_extreme<Op>)
      keep_sum<I>(m, extreme_of<Op, V, E, k>(sums, std::make_index_sequence<U>{}));
    else {
      V sum = sums[0].template at<E>(k);
      if constexpr (U == 4)
        sum = Op::combine(V(Op::combine(sum, sums[1].template at<E>(k))),
                          V(Op::combine(sums[2].template at<E>(k), sums[3].template at<E>(k))));
      else if constexpr (U == 2) sum = Op::combine(sum, sums[1].template at<E>(k));
      keep_sum<I>(m, across<Op>(sum));
    }
  }
  template <int I> COTANGENT_INLINE static void keep_sum(memory& m, element_t<at(I).type> y) noexcept {
    constexpr element E = at(I).type;
    if constexpr (B == 1) m.row_values.template at<E>(shape::template value_place<I>) = y;
    else m.row_values.template at<E>(shape::template value_place<I>)[m.sub] = y;
    if constexpr (at(I).access != extend::none) *m.template pointer<I, element_t<E>>(m.sub) = y;
  }
  /// Reductions that test for NaN once, before lanes depend on each other.
  template <class Op> static constexpr bool is_extreme = std::is_same_v<Op, op::reduce_max> || std::is_same_v<Op, op::reduce_min>;
  template <class Op, class V, element E, int At, class Sums, std::size_t... U>
  COTANGENT_INLINE static auto extreme_of(Sums const* sums, std::index_sequence<U...>) noexcept {
    V const all[]{sums[U].template at<E>(At)...};
    if constexpr (std::is_same_v<Op, op::reduce_max>) return simd::max_of(all);
    else return simd::min_of(all);
  }
  template <class Op, class V> COTANGENT_INLINE static auto across(V const& v) noexcept {
    if constexpr (!math::is_vector<V>) return v;
    else if constexpr (std::is_same_v<Op, op::reduce_max>) return simd::max(v);
    else if constexpr (std::is_same_v<Op, op::reduce_min>) return simd::min(v);
    else return simd::detail::fold(v, [](auto const& a, auto const& b) __attribute__((always_inline)) { return Op::combine(a, b); });
  }

  /// Several vectors of a row, instance by instance: each hides the latency of the others. Sums take them in order.
  template <int S, class Sums, class Before, std::size_t... I, std::size_t... V>
  COTANGENT_INLINE static void interleaved(memory& m, Sums& sums, Before* before, std::int64_t c, std::index_sequence<I...>,
                                           std::index_sequence<V...> all) noexcept {
    constexpr std::size_t from = static_cast<std::size_t>(shape::begin(shape::lane_list(S)) - first);
    constexpr typename shape::template columns_of<S> added{};
    typename stage_neighbors<shape, S>::lane_registers r[sizeof...(V)];
    column_sums into[sizeof...(V)];
    static_cast<void>(std::initializer_list<int>{(load_columns<true>(m, into[V], c + static_cast<int>(V) * W, W, added), 0)...});
    static_cast<void>(std::initializer_list<int>{
        (interleaved_step<S, from + I, (plain::far_cost(from, sizeof...(I)) > most_inlined)>(m, r, sums, into, before, c, all), 0)...});
    static_cast<void>(std::initializer_list<int>{(store_columns<true>(m, into[V], c + static_cast<int>(V) * W, W, added), 0)...});
  }
  static constexpr float most_inlined = 64; // of expensive operations: if they cost more, each is a call, for less compile time
  template <int S, std::size_t I, bool Far, class Registers, class Sums, class Before, std::size_t... V>
  COTANGENT_INLINE static void interleaved_step(memory& m, Registers* r, Sums& sums, column_sums* into, Before* before, std::int64_t c,
                                         std::index_sequence<V...> all) noexcept {
    constexpr typename plain::step_places s = plain::all_places.of[I];
    if constexpr (Far && plain::is_far(plain::all_steps.of[I].kind))
      plain::template far_step<plain::all_steps.of[I].kind>(m, r, c, static_cast<int>(sizeof...(V)), s.place, s.operand0, s.operand1, s.kept, all);
    else
      static_cast<void>(std::initializer_list<int>{
          (plain::template lane_step<plain::all_steps.of[I].kind, plain::stage_for(I, S), true, false>(m, 
               r[V], sums, into[V], before, c + static_cast<int>(V) * W, W, s.place, s.operand0, s.operand1, s.operand2, s.kept),
           0)...});
  }

  template <int S, class Sums, class Before, class List, std::size_t... U>
  COTANGENT_INLINE static void side_by_side(memory& m, Sums* sums, Before* before, std::int64_t c, List list, std::index_sequence<U...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        (step<S, true>(m, sums + U, before, c + static_cast<int>(U) * W, W, list, std::index_sequence<0>{}), 0)...});
  }

  /// One stage of a row, or of R interleaved rows. These share loads of rows that all of them read, and sums
  /// over rows. A row's own sums form one chain in either case.
  template <int S, int R, class Sums, std::size_t... I>
  COTANGENT_INLINE static void lane_loop(memory& m, Sums* sums, std::index_sequence<I...> list) noexcept {
    constexpr int U = shape::form(S).chains;
    constexpr int A = R == 1 ? shape::form(S).ahead : 1;
    static_assert(U == 1 || (R == 1 && A == 1));
    // A long body is compiled once, for any count: less compile time, for a mask in the loop.
    constexpr bool once_made = sizeof...(I) > shape::long_body;
    constexpr std::int64_t n = shape::inner_size;
    constexpr std::make_index_sequence<R> all{};
    registers<W, wide, shape::shift_count(S)> before[shape::most_shift]{};
    std::int64_t c = 0;
    if constexpr (turned) {
      for (; c < shape::columns; ++c) step<S, true>(m, sums, before, c, W, list, all);
    } else if constexpr (once_made && A > 1) {
      for (; c < m.lanes; c += A * W) long_interleaved<S, A>(m, sums[0], before, c, m.lanes - c, list);
    } else if constexpr (once_made) {
      for (; c < m.lanes; c += W) long_step<S>(m, sums, before, c, m.lanes - c < W ? m.lanes - c : W, list, all);
    } else if constexpr (shape::stage_clips(S)) {
      // Unmasked in the intersection of all windows; masked at both ends.
      std::int64_t low = 0, high = m.lanes;
      narrow_all(m, low, high, typename shape::template clipped_in<S>{});
      while (c < m.lanes) {
        if (c >= low) {
          if constexpr (U > 1)
            for (; c + U * W <= high; c += U * W) side_by_side<S>(m, sums, before, c, list, std::make_index_sequence<U>{});
          for (; c + W <= high; c += W) step<S, true>(m, sums, before, c, W, list, all);
          if (c >= m.lanes) break;
        }
        step<S, false>(m, sums, before, c, m.lanes - c < W ? m.lanes - c : W, list, all);
        c += W;
      }
    } else {
      if constexpr (U > 1 && (n < 0 || n >= U * W))
        for (; c + U * W <= m.lanes; c += U * W)
          side_by_side<S>(m, sums, before, c, list, std::make_index_sequence<U>{});
      if constexpr (A > 1)
        for (; c + A * W <= m.lanes; c += A * W) interleaved<S>(m, sums[0], before, c, list, std::make_index_sequence<A>{});
      if constexpr (A > 1 && N.row_slots == 0 && (n < 0 || n % W != 0)) { // (the rest is compiled once, too)
        for (; c < m.lanes; c += W) step<S, false>(m, sums, before, c, m.lanes - c < W ? m.lanes - c : W, list, all);
        return;
      }
      if constexpr (n < 0 || n % (U * A * W) >= W || (U * A == 1 && n >= W))
        for (; c + W <= m.lanes; c += W) step<S, true>(m, sums, before, c, W, list, all);
      if constexpr (n < 0 || n % W != 0)
        if (c < m.lanes) {
          if (m.lanes - c <= 0 || m.lanes - c >= W) __builtin_unreachable(); // masks need no second bound
          step<S, false>(m, sums, before, c, m.lanes - c, list, all);
        }
    }
  }
  template <int I> COTANGENT_INLINE static void narrow(memory const& m, std::int64_t& low, std::int64_t& high) noexcept {
    constexpr detail::window w = shape::P.windows.data[at(I).detail];
    // before its window a shift yields the values before the row: zeros
    if constexpr (at(I).what != detail::action::shift)
      if (std::int64_t const from = m.x.value(w.low[shape::lane_axis]); from > low) low = from;
    if (std::int64_t const to = m.x.value(w.high[shape::lane_axis]); to < high) high = to;
  }
  template <std::size_t... I>
  COTANGENT_INLINE static void narrow_all(memory const& m, [[maybe_unused]] std::int64_t& low, [[maybe_unused]] std::int64_t& high,
                                   std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(narrow<static_cast<int>(I)>(m, low, high), 0)...});
  }
  template <int S, class Sums, std::size_t... I>
  COTANGENT_INLINE static void start_each([[maybe_unused]] Sums& sums, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (start_sum<static_cast<int>(I), S>(sums), 0)...});
  }
  // (Not a loop: clang would keep the sums in memory.)
  template <int S, class Sums, class List, std::size_t... U>
  COTANGENT_INLINE static void start_sums(Sums* sums, List list, std::index_sequence<U...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(start_each<S>(sums[U], list), 0)...});
  }
  /// Clears the sums of a missing row, one by one: clearing the whole array would call memset.
  template <int I, int S, class Sums> COTANGENT_INLINE static void clear_sum(Sums& sums) noexcept {
    constexpr element E = at(I).type;
    sums.template at<E>(shape::template sum_index<I, S>) = lane_value<E>{};
  }
  template <int S, class Sums, std::size_t... I>
  COTANGENT_INLINE static void clear_each([[maybe_unused]] Sums& sums, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (clear_sum<static_cast<int>(I), S>(sums), 0)...});
  }
  template <int S, int U, class Sums, std::size_t... I>
  COTANGENT_INLINE static void finish_sums(memory& m, [[maybe_unused]] Sums* sums, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (finish_sum<static_cast<int>(I), S, U>(m, sums), 0)...});
  }

  /// Finishes the sums of interleaved rows from `sub` on.
  template <int S, class Sums, class List, std::size_t... R>
  COTANGENT_INLINE static void finish_rows(memory& m, Sums* sums, List list, std::index_sequence<R...>) noexcept {
    std::int64_t const top = m.sub;
    static_cast<void>(std::initializer_list<int>{
        (m.sub = top + static_cast<int>(R), finish_sums<S, 1>(m, sums + R, list), 0)...});
  }

  /// Folds the sums of all rows of a block at once: lane i of the row value is row i.
  template <int I, int S, class Sums, std::size_t... R> COTANGENT_INLINE static void
  fold_sum(memory& m, Sums* sums, std::index_sequence<R...>) noexcept {
    constexpr element E = at(I).type;
    using Op = detail::described_by<at(I).op>;
    lane_value<E> of_row[B]{sums[R].template at<E>(shape::template sum_index<I, S>)...};
    auto const all = simd::fold_rows(of_row, [](auto const& a, auto const& b) __attribute__((always_inline)) { return Op::combine(a, b); });
    m.row_values.template at<E>(shape::template value_place<I>) = all;
    if constexpr (at(I).access != extend::none) steps::template store_rows<I, row_value<E>, element_t<E>>(m, all);
  }
  template <int S, class Sums, std::size_t... I>
  COTANGENT_INLINE static void fold_sums(memory& m, [[maybe_unused]] Sums* sums, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        (fold_sum<static_cast<int>(I), S>(m, sums, std::make_index_sequence<B>{}), 0)...});
  }

  /// The loop of stage `S`, whose row values are computed. `Whole`: the block is known to be full.
  template <int S, bool Whole = shape::whole_blocks> COTANGENT_INLINE static void lanes_of(memory& m) noexcept {
    constexpr int list = shape::lane_list(S);
    if constexpr (shape::size(list) > 0) {
      constexpr std::make_index_sequence<shape::size(list)> all{};
      constexpr typename shape::template sums_of<S> reduced{};
      if constexpr (B == 1 || turned) {
        registers<W, wide, shape::reduce_count(S)> sums[shape::form(S).chains];
        start_sums<S>(sums, reduced, std::make_index_sequence<static_cast<std::size_t>(shape::form(S).chains)>{});
        lane_loop<S, 1>(m, sums, all);
        finish_sums<S, shape::form(S).chains>(m, sums, reduced);
      } else if constexpr (shape::form(S).whole_blocks && Whole) whole_block<S>(m, all);
      else {
        constexpr int R = shape::form(S).rows;
        constexpr bool folds = shape::folds(S);
        if constexpr (shape::form(S).whole_blocks)
          if (m.active == B) return whole_block<S>(m, all);
        registers<W, wide, shape::reduce_count(S)> sums[folds ? B : R];
        if constexpr (folds) start_sums<S>(sums, reduced, std::make_index_sequence<B>{});
        std::int64_t k = 0;
        if constexpr (Whole) {
          static_assert(B % R == 0);
          for (; k < B; k += R) several_rows<S, R>(m, sums, k, all);
        } else {
          if constexpr (R > 1)
            for (; k + R <= m.active; k += R) several_rows<S, R>(m, sums, k, all);
          for (; k < m.active; ++k) several_rows<S, 1>(m, sums, k, all);
          if constexpr (folds)
            for (; k < B; ++k) clear_each<S>(sums[k], reduced);
        }
        if constexpr (folds) fold_sums<S>(m, sums, reduced);
      }
      m.sub = 0;
    }
  }
  template <int S, class Sums, class Before, class List, std::size_t... C>
  COTANGENT_INLINE static void whole_steps(memory& m, Sums* sums, Before* before, List list, std::index_sequence<C...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(
        step<S, true>(m, sums, before, static_cast<std::int64_t>(C) * W, W, list, std::make_index_sequence<B>{}),
        0)...});
  }
  /// All rows of a full block interleaved: their sums stay in registers.
  template <int S, class List> COTANGENT_INLINE static void whole_block(memory& m, List list) noexcept {
    constexpr typename shape::template sums_of<S> reduced{};
    registers<W, wide, shape::reduce_count(S)> sums[B], *const before = nullptr;
    start_sums<S>(sums, reduced, std::make_index_sequence<B>{});
    // unrolled: g++ would keep one pointer for each row, more than it has registers
    whole_steps<S>(m, sums, before, list, std::make_index_sequence<static_cast<std::size_t>(shape::inner_size / W)>{});
    if constexpr (shape::folds(S)) fold_sums<S>(m, sums, reduced);
    else finish_rows<S>(m, sums, reduced, std::make_index_sequence<B>{});
    m.sub = 0;
  }
  template <int S, int R, class Sums, class List>
  COTANGENT_INLINE static void several_rows(memory& m, Sums* sums, std::int64_t k, List list) noexcept {
    m.sub = k;
    if constexpr (shape::folds(S)) lane_loop<S, R>(m, sums + k, list);
    else {
      constexpr typename shape::template sums_of<S> reduced{};
      start_sums<S>(sums, reduced, std::make_index_sequence<R>{});
      lane_loop<S, R>(m, sums, list);
      finish_rows<S>(m, sums, reduced, std::make_index_sequence<R>{});
    }
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
