// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_LOOPS_HPP
#define COTANGENT_RUN_PROGRAM_LOOPS_HPP

#include <cotangent/run/program/nest_lanes.hpp>

#include <initializer_list>
#include <utility>

// One nest of a static program as code: every instance is one inlined function, its index in the plan a
// template argument, its operands registers.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The loops over blocks of rows; `run` executes the nest.
template <class Stage, int K, class Context> struct loops : nest_shape<Stage, K> {
  using steps = nest_steps<Stage, K, Context>;
  using lane_loops = nest_lanes<Stage, K, Context>;
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::B, shape::first, shape::N, shape::turned, shape::W;
  template <element E> using lane_value = typename lane_loops::template lane_value<E>;
  template <element E> using row_value = typename lane_loops::template row_value<E>;

  template <int S, std::size_t... I> COTANGENT_INLINE static void row_steps(memory& m, std::index_sequence<I...>) noexcept {
    constexpr int from = shape::begin(shape::row_list(S));
    static_cast<void>(
        std::initializer_list<int>{(steps::template step_row<from + static_cast<int>(I)>(m), 0)...});
  }
  template <std::size_t... I> COTANGENT_INLINE static void once_steps(memory& m, std::index_sequence<I...>) noexcept {
    constexpr int from = shape::begin(0);
    static_cast<void>(
        std::initializer_list<int>{(steps::template step_once<from + static_cast<int>(I)>(m), 0)...});
  }

  /// `buffers`: the buffers of shared stages, by value.
  template <int S> COTANGENT_INLINE static void stage(memory& m, [[maybe_unused]] char* const* buffers) noexcept {
    row_steps<S>(m, std::make_index_sequence<shape::size(shape::row_list(S))>{});
    if constexpr (shape::size(shape::lane_list(S)) > 0) {
      if constexpr (shape::shares_stages) {
        constexpr auto const& of = shape::stages::value;
        shared_lanes<of.like.data[S]>(m, buffers + of.first.data[S], of.values.data + of.first.data[S]);
      } else lane_loops::template lanes_of<S>(m);
    }
  }

  // Stages with the same loop share one function. It works on a nest object of its own, with the buffers and
  // values of the calling stage: since nothing else refers to that object, its values stay in registers.

  template <int S>
  [[gnu::noinline]] static void shared_lanes(memory& from, char* const* buffers,
                                             detail::outer_value const* places) noexcept {
    constexpr auto const& of = shape::stages::value;
    constexpr int begin = of.first.data[S];
    constexpr std::make_index_sequence<static_cast<std::size_t>(of.first.data[S + 1] - begin)> all{};
    Context context{};
    take_buffers<begin>(context, buffers, all);
    if constexpr (constexpr int sizes = shape::P.known_sizes + shape::P.size.derived; sizes > 0)
      for (int k = 0; k < sizes; ++k) context.size[k] = from.x.size[k];
    if constexpr (requires { context.found; }) context.found = from.x.found;
    memory own(context);
    own.row = from.row;
    if constexpr (!shape::whole_blocks) own.active = from.active;
    if constexpr (N.split > 1)
      for (int k = 0; k < N.split; ++k) own.index[k] = from.index[k];
    take_values<begin>(own, from, places, all);
    lane_loops::template lanes_of<S>(own);
    hand_back<begin>(own, from, places, all);
  }
  static constexpr detail::outer_value value_at(int k) { return shape::stages::value.values.data[k]; }
  template <int From, std::size_t... J>
  COTANGENT_INLINE static void take_buffers(Context& to, char* const* buffers,
                                            std::index_sequence<J...>) noexcept {
    static_cast<void>(
        std::initializer_list<int>{0, (take_buffer<From + static_cast<int>(J)>(to, buffers[J]), 0)...});
  }
  template <int V> COTANGENT_INLINE static void take_buffer(Context& to, char* buffer) noexcept {
    constexpr detail::outer_value v = value_at(V);
    if constexpr (v.what == detail::outer_kind::buffer) to.buffer[v.place] = buffer;
  }
  template <int From, std::size_t... J>
  COTANGENT_INLINE static void take_values(memory& to, memory const& from, detail::outer_value const* places,
                                           std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (take_value<From + static_cast<int>(J)>(to, from, places[J].place), 0)...});
  }
  template <int V> COTANGENT_INLINE static void take_value(memory& to, memory const& from,
                                                           std::int32_t place) noexcept {
    constexpr detail::outer_value v = value_at(V);
    constexpr element E = v.type;
    if constexpr (v.what == detail::outer_kind::row)
      to.row_values.template at<E>(v.place) = from.row_values.template at<E>(place);
    if constexpr (v.what == detail::outer_kind::once) to.once.template at<E>(v.place) = from.once.template at<E>(place);
    if constexpr (v.what == detail::outer_kind::total)
      to.lane_totals.template at<E>(v.place) = from.lane_totals.template at<E>(place);
    if constexpr (v.what == detail::outer_kind::sum) to.row_values.template at<E>(v.place) = row_value<E>{};
  }
  template <int From, std::size_t... J>
  COTANGENT_INLINE static void hand_back(memory const& own, memory& to, detail::outer_value const* places,
                                         std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (hand_back_value<From + static_cast<int>(J)>(own, to, places[J].place), 0)...});
  }
  template <int V> COTANGENT_INLINE static void hand_back_value(memory const& own, memory& to,
                                                                std::int32_t place) noexcept {
    constexpr detail::outer_value v = value_at(V);
    constexpr element E = v.type;
    if constexpr (v.what == detail::outer_kind::sum)
      to.row_values.template at<E>(place) = own.row_values.template at<E>(v.place);
    if constexpr (v.what == detail::outer_kind::total)
      to.lane_totals.template at<E>(place) = own.lane_totals.template at<E>(v.place);
  }

  template <int I, bool Columns = true> COTANGENT_INLINE static void start_total(memory& m) noexcept {
    constexpr element E = at(I).type;
    using T = element_t<E>;
    constexpr T nothing = detail::described_by<at(I).op>::template neutral<T>();
    constexpr int k = shape::template total_index<I>;
    if constexpr (at(I).where == detail::role::row)
      m.row_totals.template at<E>(k) = math::broadcast<row_value<E>>(nothing);
    else if constexpr (shape::is_total(at(I)))
      m.lane_totals.template at<E>(k) = math::broadcast<lane_value<E>>(nothing);
    else if constexpr (turned)
      for (auto& column : m.column_totals) column.template at<E>(k) = math::broadcast<lane_value<E>>(nothing);
    else if constexpr (Columns)
      for (std::int64_t c = 0; c < m.lanes; ++c) m.template pointer<I, T>(0)[c] = nothing;
  }
  template <int I> COTANGENT_INLINE static void finish_total(memory& m) noexcept {
    constexpr element E = at(I).type;
    using T = element_t<E>;
    using Op = detail::described_by<at(I).op>;
    constexpr int k = shape::template total_index<I>;
    m.row = 0;
    if constexpr (at(I).where == detail::role::row) *m.template pointer<I, T>(0) = lane_loops::template across<Op>(m.row_totals.template at<E>(k));
    else if constexpr (shape::is_total(at(I))) *m.template pointer<I, T>(0) = lane_loops::template across<Op>(m.lane_totals.template at<E>(k));
    else if constexpr (turned)
      for (int c = 0; c < shape::columns; ++c) m.template pointer<I, T>(0)[c] = lane_loops::template across<Op>(m.column_totals[c].template at<E>(k));
  }

  template <std::size_t... I> COTANGENT_INLINE static void turn_in(memory& m, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(m.template load_tile<first + static_cast<int>(I)>(), 0)...});
  }
  template <std::size_t... I> COTANGENT_INLINE static void turn_out(memory& m, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(m.template store_tile<first + static_cast<int>(I)>(), 0)...});
  }

  template <std::size_t... S> COTANGENT_INLINE static void blocks(memory& m, std::index_sequence<S...>) noexcept {
    [[maybe_unused]] char* buffers[shape::shared_values + 1];
    if constexpr (shape::shares_stages)
      for (int k = 0; k < shape::shared_values; ++k) buffers[k] = m.x.buffer[shape::stages::value.buffers.data[k]];
    bool const far = is_far(m, loads{});
    for (; m.row < m.rows; m.row += B) {
      if (far) prefetch<B>(m, loads{});
      if constexpr (!shape::whole_blocks) {
        m.active = m.rows - m.row < B ? m.rows - m.row : B;
        if (m.active < 1 || m.active > B) __builtin_unreachable(); // masks need no other bounds
      }
      if constexpr (!shape::whole_blocks && !turned)
        if (m.active < B) m.row_values = {}; // garbage in missing rows could be subnormal, and slow
      turn_in(m, std::make_index_sequence<shape::tiles == 0 ? 0 : N.instance_count>{});
      static_cast<void>(std::initializer_list<int>{(stage<static_cast<int>(S)>(m, buffers), 0)...});
      turn_out(m, std::make_index_sequence<shape::tiles == 0 ? 0 : N.instance_count>{});
      if constexpr (N.split > 1) { // (its blocks have one row)
        int k = N.split - 1;
        for (; k > 0 && ++m.index[k] == m.x.value(N.size[k]); --k) m.index[k] = 0;
        if (k == 0) ++m.index[0];
      }
    }
  }

  // Short rows of a block are read side by side, an order that processors do not foresee. Where the tensors are larger than a cache, the
  // next block is prefetched while one is computed: measured 1.3 to 2.2 times as fast for reductions, but up to 1.2 times as slow for
  // rows below 256 bytes and for nests that write rows.

  static constexpr std::int64_t cached = std::int64_t{1} << 21, most_prefetched = std::int64_t{1} << 14, least_row = 256; // bytes
  using loads = typename shape::template loads_of<0>;
  /// The bytes of a row that instance `I` reads, if rows follow each other.
  template <int I> static constexpr std::int64_t streamed() {
    constexpr detail::access a = shape::P.accesses.data[at(I).access];
    constexpr std::int64_t bytes = N.size[1] * static_cast<std::int64_t>(size_of(at(I).type));
    return a.stride[0] == N.size[1] && a.stride[1] == 1 && bytes >= least_row && 2 * B * bytes <= most_prefetched ? bytes : 0;
  }
  template <std::size_t... I> COTANGENT_INLINE static bool is_far(memory const& m, std::index_sequence<I...>) noexcept {
    if constexpr (B == 1 || turned || N.rank != 2 || N.split != 1 || N.size[1] <= 0 || shape::writes_rows) return false;
    else {
      constexpr std::int64_t bytes = (std::int64_t{0} + ... + streamed<static_cast<int>(I)>());
      if constexpr (bytes == 0 || (N.size[0] >= 0 && N.size[0] * bytes <= cached)) return false;
      else return m.rows * bytes > cached;
    }
  }
  template <int Rows, std::size_t... I> COTANGENT_INLINE static void prefetch(memory const& m, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (prefetch_rows<Rows, static_cast<int>(I)>(m), 0)...});
  }
  template <int Rows, int I> COTANGENT_INLINE static void prefetch_rows(memory const& m) noexcept {
    constexpr std::int64_t bytes = streamed<I>() * Rows;
    char const* const next = reinterpret_cast<char const*>(m.template pointer<I, element_t<at(I).type> const>(Rows));
    for (std::int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(next + k, 0, 2);
  }

  // Runs two full blocks interleaved, stage by stage: each hides the latency of the other. The remaining
  // blocks run in a separate function: in one function, both would spill registers.

  /// The partial sums over rows.
  struct sums_of_rows {
    registers<B, typename shape::wide, shape::total_count> row_totals;
    registers<W, typename shape::wide, shape::total_count> lane_totals;
  };
  template <bool Add, int I, class To, class From>
  COTANGENT_INLINE static void take_total([[maybe_unused]] To& to,
                                          [[maybe_unused]] From const& from) noexcept {
    constexpr element E = at(I).type;
    constexpr int k = shape::template total_index<I>;
    auto const take = [](auto& sum, auto const& more) {
      if constexpr (Add) sum = detail::described_by<at(I).op>::combine(sum, more);
      else sum = more;
    };
    if constexpr (at(I).where == detail::role::row)
      take(to.row_totals.template at<E>(k), from.row_totals.template at<E>(k));
    else if constexpr (shape::is_total(at(I)))
      take(to.lane_totals.template at<E>(k), from.lane_totals.template at<E>(k));
  }
  template <bool Add, class To, class From, std::size_t... I>
  COTANGENT_INLINE static void take_totals(To& to, From const& from, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (take_total<Add, static_cast<int>(I)>(to, from), 0)...});
  }
  template <int S> COTANGENT_INLINE static void stage_with(memory& m, memory& other) noexcept {
    constexpr std::make_index_sequence<static_cast<std::size_t>(shape::size(shape::row_list(S)))> of_rows{};
    row_steps<S>(m, of_rows);
    row_steps<S>(other, of_rows);
    if constexpr (shape::size(shape::lane_list(S)) > 0) {
      lane_loops::template lanes_of<S, true>(m);
      lane_loops::template lanes_of<S, true>(other);
    }
  }
  template <std::size_t... S> COTANGENT_INLINE static void blocks_with(memory& m, memory& other,
                                                                std::index_sequence<S...>) noexcept {
    if constexpr (!shape::whole_blocks) m.active = other.active = B;
    bool const far = is_far(m, loads{});
    for (; m.row + 2 * B <= m.rows; m.row += 2 * B) {
      if (far) prefetch<2 * B>(m, loads{});
      other.row = m.row + B;
      static_cast<void>(std::initializer_list<int>{(stage_with<static_cast<int>(S)>(m, other), 0)...});
    }
  }
  [[gnu::noinline]] static void in_pairs(Context const& context, sums_of_rows& totals) noexcept {
    constexpr typename shape::totals all{};
    memory one(context), other(context);
    start<false>(other, all);
    start(one, all);
    blocks_with(one, other, std::make_index_sequence<N.stages>{});
    take_totals<true>(one, other, all);
    take_totals<false>(totals, one, all);
  }
  [[gnu::noinline]] static void left_over(Context const& context, sums_of_rows& totals) noexcept {
    memory own(context);
    own.row = own.rows - own.rows % (2 * B);
    once_steps(own, std::make_index_sequence<shape::size(0)>{});
    take_totals<false>(own, totals, typename shape::totals{});
    blocks(own, std::make_index_sequence<N.stages>{});
    finish(own, typename shape::totals{});
  }

  template <bool Columns = true, std::size_t... I>
  COTANGENT_INLINE static void start(memory& m, std::index_sequence<I...>) noexcept {
    once_steps(m, std::make_index_sequence<shape::size(0)>{});
    static_cast<void>(std::initializer_list<int>{(start_total<static_cast<int>(I), Columns>(m), 0)...});
  }
  template <std::size_t... I> COTANGENT_INLINE static void finish(memory& m, std::index_sequence<I...>) noexcept {
    for (int k = 0; k < max_rank; ++k) m.index[k] = 0;
    static_cast<void>(std::initializer_list<int>{(finish_total<static_cast<int>(I)>(m), 0)...});
  }

  // A panel: several vectors of columns, whose sums over all rows stay in registers.

  using columns = typename shape::template columns_of<0>;
  using column_sums = typename lane_loops::column_sums;
  template <std::size_t... I> COTANGENT_INLINE static void start_columns(column_sums& into, std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(start_column<static_cast<int>(I)>(into), 0)...});
  }
  template <int I> COTANGENT_INLINE static void start_column(column_sums& into) noexcept {
    constexpr element E = at(I).type;
    into.template at<E>(shape::template total_index<I>) =
        math::broadcast<lane_value<E>>(detail::described_by<at(I).op>::template neutral<element_t<E>>());
  }
  /// Row R of a block. `Masked`: the last vector is not full.
  template <bool Masked, int R, std::size_t... V>
  COTANGENT_INLINE static void panel_row(memory& m, column_sums* into, std::int64_t c, std::int64_t count, std::index_sequence<V...>) noexcept {
    constexpr std::make_index_sequence<static_cast<std::size_t>(shape::size(shape::lane_list(0)))> list{};
    registers<W, typename shape::wide, register_count{}> sums, *const before = nullptr;
    m.sub = R;
    static_cast<void>(std::initializer_list<int>{
        (lane_loops::template body<0, !(Masked && V + 1 == sizeof...(V))>(m, sums, into[V], before, c + static_cast<int>(V) * W, count, list), 0)...});
  }
  template <bool Masked, class Vectors, std::size_t... R>
  COTANGENT_INLINE static void panel_block(memory& m, column_sums* into, std::int64_t c, std::int64_t count, Vectors all,
                                           std::index_sequence<R...>) noexcept {
    row_steps<0>(m, std::make_index_sequence<static_cast<std::size_t>(shape::size(shape::row_list(0)))>{});
    static_cast<void>(std::initializer_list<int>{(panel_row<Masked, static_cast<int>(R)>(m, into, c, count, all), 0)...});
  }
  template <bool Masked, std::size_t... V>
  COTANGENT_INLINE static void panel(memory& m, std::int64_t c, std::int64_t count, std::index_sequence<V...> all) noexcept {
    constexpr auto rest = static_cast<std::size_t>(N.size[0] % B);
    column_sums into[sizeof...(V)];
    static_cast<void>(std::initializer_list<int>{(start_columns(into[V], columns{}), 0)...});
    if constexpr (rest > 0) m.active = B;
    for (m.row = 0; m.row + B <= N.size[0]; m.row += B)
      panel_block<Masked>(m, into, c, count, all, std::make_index_sequence<static_cast<std::size_t>(B)>{});
    if constexpr (rest > 0) {
      m.active = static_cast<int>(rest);
      m.row_values = {}; // see `blocks`
      panel_block<Masked>(m, into, c, count, all, std::make_index_sequence<rest>{});
    }
    m.row = m.sub = 0;
    static_cast<void>(std::initializer_list<int>{
        (lane_loops::template store_columns<!(Masked && V + 1 == sizeof...(V))>(m, into[V], c + static_cast<int>(V) * W, count, columns{}), 0)...});
  }
  COTANGENT_INLINE static void panels(memory& m) noexcept {
    constexpr std::int64_t n = shape::inner_size, together = std::int64_t{N.panel} * W, rest = n % together;
    for (std::int64_t c = 0; c + together <= n; c += together) panel<false>(m, c, W, std::make_index_sequence<static_cast<std::size_t>(N.panel)>{});
    if constexpr (rest > 0)
      panel<rest % W != 0>(m, n - rest, rest % W, std::make_index_sequence<static_cast<std::size_t>((rest + W - 1) / W)>{});
  }

  COTANGENT_INLINE static void run(Context const& context) noexcept {
    if constexpr (N.panel > 0) {
      memory own(context);
      once_steps(own, std::make_index_sequence<shape::size(0)>{});
      panels(own);
    } else run_rows(context);
  }
  COTANGENT_INLINE static void run_rows(Context const& context) noexcept {
    if constexpr (N.pairs_blocks)
      if (N.size[0] >= 0 || context.value(N.size[0]) >= 2 * B) {
        sums_of_rows totals;
        in_pairs(context, totals);
        return left_over(context, totals);
      }
    if constexpr (!N.pairs_blocks || N.size[0] < 0) {
      memory own(context);
      start(own, typename shape::totals{});
      blocks(own, std::make_index_sequence<N.stages>{});
      finish(own, typename shape::totals{});
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
