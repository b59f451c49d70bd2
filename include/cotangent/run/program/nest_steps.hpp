// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_STEPS_HPP
#define COTANGENT_RUN_PROGRAM_NEST_STEPS_HPP

#include <cotangent/kernels/interleave.hpp>
#include <cotangent/kernels/transpose.hpp>
#include <cotangent/run/program/nest_memory.hpp>
#include <cotangent/run/program/nest_neighbors.hpp>

#include <limits>
#include <utility>

// The step of each kind of instance: once, for each row, for each vector of lanes.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The functions that execute one instance, on the state `m` of its nest.
template <class Stage, int K, class Context> struct nest_steps : nest_shape<Stage, K> {
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::B, shape::N, shape::P, shape::turned, shape::W;
  using shape::lane_axis, shape::operand, shape::source_of;
  using typename shape::wide;
  template <element E> using lane_value = value_t<W, wide, E>;
  template <element E> using row_value = value_t<B, wide, E>;

  template <int S> using beside = stage_neighbors<shape, S>;

  // ---- reports

  /// True if a position is inside the window of an instance, if it has one.
  template <int I> COTANGENT_INLINE static bool is_inside(memory const& m, std::int64_t in_block, std::int64_t c) noexcept {
    if constexpr (at(I).detail == extend::none) return true;
    else {
      constexpr detail::window w = P.windows.data[at(I).detail];
      for (int k = 0; k < N.split; ++k)
        if (std::int64_t const i = N.split == 1 ? m.row + in_block : m.index[k]; i < m.x.value(w.low[k]) || i >= m.x.value(w.high[k])) return false;
      if constexpr (N.rank > N.split) return c >= m.x.value(w.low[lane_axis]) && c < m.x.value(w.high[lane_axis]);
      else return true;
    }
  }
  /// Reports pivots that are 0 or below in the first `count` lanes: rows if `Rows`, else positions from `c` on.
  template <int I, bool Rows, class V>
  COTANGENT_INLINE static void look_at(memory const& m, [[maybe_unused]] V const& y, [[maybe_unused]] std::int64_t count,
                                       [[maybe_unused]] std::int64_t c) noexcept {
    if constexpr (at(I).what == detail::action::compute && at(I).op->reporting != nullptr) {
      auto const bad = y <= V{};
      if (!math::any(bad)) [[likely]] return;
      for (std::int64_t k = 0; k < count; ++k) // (lanes beyond are garbage)
        if (is_inside<I>(m, Rows ? k : m.sub, Rows ? c : c + k)) {
          if constexpr (!math::is_vector<V>) *m.x.found = status::singular_matrix;
          else if (y[k] <= 0) *m.x.found = status::singular_matrix;
        }
    }
  }

  // ---- once

  template <int I> COTANGENT_INLINE static void step_once(memory& m) noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = cotangent::detail::arithmetic_t<v.type>;
    if constexpr (v.what == detail::action::constant) return;
    else {
      T& y = m.once.template at<v.type>(v.place);
      if constexpr (v.what == detail::action::load) y = *m.template pointer<I, element_t<v.type> const>(0);
      else if constexpr (v.what == detail::action::position) y = T{};
      else if constexpr (v.what == detail::action::size) y = size_of_shape<v.value, T>(m);
      else y = compute_once<I, T>(m, std::make_index_sequence<v.operand_count>{});
      if constexpr (at(I).detail == extend::none) look_at<I, true>(m, y, 1, 0); // (a window holds it elsewhere, too)
    }
  }
  template <extend::symbol Y, class T> COTANGENT_INLINE static T size_of_shape(memory const& m) noexcept {
    constexpr extend::node n = *Stage::view.producer(Y);
    return [&]<std::size_t... A>(std::index_sequence<A...>) { // (a loop would read the graph at run time)
      return static_cast<T>((std::int64_t{1} * ... * m.x.value(number_of_graph<n.attribute + static_cast<int>(A)>)));
    }(std::make_index_sequence<static_cast<std::size_t>(n.attribute_count)>{});
  }
  template <int Number> static constexpr std::int64_t number_of_graph = Stage::view.numbers[Number];
  template <int I, class V, std::size_t... O> COTANGENT_INLINE static V compute_once(memory const& m, std::index_sequence<O...>) noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        m.template in_once<source_of(operand(I, O)), operand(I, O).type>(shape::template operand_facts<I, O>.place,
                                                             shape::template operand_facts<I, O>.bits)...);
  }

  // ---- rows

  template <int I> COTANGENT_INLINE static void step_row(memory& m) noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = element_t<v.type>;
    using V = row_value<v.type>;
    if constexpr (v.what == detail::action::accumulate) {
      using Op = detail::described_by<at(I).op>;
      V& total = m.row_totals.template at<v.type>(shape::template total_index<I>);
      constexpr detail::instance_facts u = operand(I, 0);
      V y = m.template in_rows<source_of(u), u.type>(u.place, u.bits);
      if constexpr (!shape::whole_blocks)
        y = math::select(simd::first<math::mask_t<V>>(m.active), y, math::broadcast<V>(Op::template neutral<T>()));
      total = Op::combine(total, y);
    } else {
      V& y = m.row_values.template at<v.type>(v.place);
      if constexpr (v.what == detail::action::load) y = load_rows<I, V, T>(m);
      else if constexpr (v.what == detail::action::pick) y = picked<I, V, T>(m);
      else if constexpr (v.what == detail::action::position) {
        if constexpr (B > 1) y = simd::iota<V>(static_cast<T>(m.row));
        else y = static_cast<V>(N.split == 1 ? m.row : m.index[v.detail]);
      } else {
        y = compute_row<I, V>(m, std::make_index_sequence<v.operand_count>{});
        look_at<I, true>(m, y, m.active, 0);
        if constexpr (v.access != extend::none) store_rows<I, V, T>(m, y);
      }
    }
  }
  /// One element of each row: bitwise the sum of it and zeros.
  template <int I, class V, class T> COTANGENT_INLINE static V picked(memory const& m) noexcept {
    constexpr detail::instance_facts u = operand(I, 0);
    auto const label = m.template in_rows<source_of(u), u.type>(u.place, u.bits);
    if constexpr (constexpr int load = shape::tile_of_pick(I); load != extend::none) { // the columns are in a tile
      using L = std::remove_cvref_t<decltype(label)>;
      T const* const tile = reinterpret_cast<T const*>(m.tiles + memory::template tile_at<load>);
      V y{};
      for (int c = 0; c < shape::columns; ++c)
        y = math::select(math::mask_cast<math::mask_t<V>>(label == math::broadcast<L>(static_cast<math::lane_t<L>>(c))),
                         load_value<V>(tile + c * W), y);
      return y + V{};
    } else if constexpr (T const* const p = m.template pointer<I, T const>(0); B == 1)
      return label >= 0 && label < m.lanes ? static_cast<T>(p[label * m.x.value(shape::template lane_stride<I>())] + T{}) : T{};
    else {
      std::int64_t const stride = m.x.value(shape::template lane_stride<I>()), across = m.x.value(shape::template row_stride<I>());
      using L = std::remove_cvref_t<decltype(label)>;
      constexpr std::int64_t most = std::numeric_limits<math::lane_t<L>>::max();
      if (m.lanes <= 0) return V{};
      auto const last = static_cast<math::lane_t<L>>(m.lanes - 1 < most ? m.lanes - 1 : most);
      auto const there = (label >= L{}) & (label <= math::broadcast<L>(last));
      // a valid index in every lane, so that the loop needs no branch
      L const from = math::select(there, label, L{});
      T lane[B]{};
      for (std::int64_t k = 0; k < m.active; ++k) lane[k] = p[k * across + static_cast<std::int64_t>(from[k]) * stride];
      return math::select(math::mask_cast<math::mask_t<V>>(there), load_value<V>(static_cast<T const*>(lane)) + V{}, V{});
    }
  }
  template <int I, class V, class T> COTANGENT_INLINE static V load_rows(memory const& m) noexcept {
    T const* const p = m.template pointer<I, T const>(0);
    if constexpr (B == 1) return *p;
    else if constexpr (shape::stride(at(I), 0) == 1) return m.active == B ? load_value<V>(p) : load_value<V>(p, m.active);
    else return load_value<V>(p, m.x.value(shape::template row_stride<I>()), m.active);
  }
  template <int I, class V, class T> COTANGENT_INLINE static void store_rows(memory const& m, V const& y) noexcept {
    T* const p = m.template pointer<I, T>(0);
    if constexpr (B == 1) *p = y;
    else if constexpr (shape::stride(at(I), 0) == 1) m.active == B ? store_value(p, y) : store_value(p, y, m.active);
    else store_value(p, y, m.x.value(shape::template row_stride<I>()), m.active);
  }
  template <int I, class V, std::size_t... O> COTANGENT_INLINE static V compute_row(memory const& m, std::index_sequence<O...>) noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        m.template in_rows<source_of(operand(I, O)), operand(I, O).type>(shape::template operand_facts<I, O>.place,
                                                             shape::template operand_facts<I, O>.bits)...);
  }

  // ---- lanes

  /// One instance at the positions from `c` on: all lanes if `Full`, else `count` of them.
  template <int I, int S, bool Full, class Registers, class Sums, class Columns, class Before>
  COTANGENT_INLINE static void step_lane(memory& m, Registers& r, Sums& sums, Columns& into, Before* before, std::int64_t c,
                                  std::int64_t count) noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = element_t<v.type>;
    using V = lane_value<v.type>;
    if constexpr (!Full) count = inside<I>(m, c, count);
    if constexpr (v.what == detail::action::reduce) {
      using Op = detail::described_by<at(I).op>;
      V& sum = sums.template at<v.type>(shape::template sum_index<I, S>);
      constexpr detail::instance_facts u = operand(I, 0);
      if constexpr (shape::single_pass) sum = counted<I, Full, V, T, Op>(m, r, count);
      else {
        V all{};
        if constexpr (v.fused) {
          constexpr auto const &a = at(P.operands.data[u.first_operand]), &b = at(P.operands.data[u.first_operand + 1]);
          all = math::fma(m.template in_lanes<source_of(a), a.type>(r, a.place, a.bits),
                          m.template in_lanes<source_of(b), b.type>(r, b.place, b.bits), sum);
        } else // (a maximum tests the new operand for NaN, so that the chain does not wait for the test)
          all = Op::combine(V(m.template in_lanes<source_of(u), u.type>(r, u.place, u.bits)), sum);
        if constexpr (Full) sum = all;
        else sum = simd::first_or(all, count, sum); // one masked instruction
      }
    } else if constexpr (v.what == detail::action::accumulate) {
      using Op = detail::described_by<at(I).op>;
      if constexpr (shape::is_total(v)) {
        V& total = m.lane_totals.template at<v.type>(shape::template total_index<I>);
        total = Op::combine(total, counted<I, turned ? shape::whole_blocks : Full, V, T, Op>(m, r, turned ? m.active : count));
      } else if constexpr (turned) {
        V& total = m.column_totals[c].template at<v.type>(shape::template total_index<I>);
        total = Op::combine(total, counted<I, shape::whole_blocks, V, T, Op>(m, r, m.active));
      } else {
        V& total = into.template at<v.type>(shape::template total_index<I>);
        constexpr detail::instance_facts u = operand(I, 0);
        // fused in every position: an element's value does not depend on its position
        if constexpr (v.fused) {
          constexpr auto const &a = at(P.operands.data[u.first_operand]), &b = at(P.operands.data[u.first_operand + 1]);
          total = math::fma(m.template in_lanes<source_of(a), a.type>(r, a.place, a.bits),
                            m.template in_lanes<source_of(b), b.type>(r, b.place, b.bits), total);
        } else
          total = Op::combine(total, m.template in_lanes<source_of(u), u.type>(r, u.place, u.bits));
      }
    } else {
      V& y = r.template at<v.type>(v.place);
      constexpr std::int32_t buffer = v.what == detail::action::recall ? v.detail : v.slot,
                             kept = buffer != extend::none ? shape::own_buffer(buffer) : extend::none;
      if constexpr (v.what == detail::action::load && beside<S>::loads.has(I)) y = load_neighbor<I, S, Full, V>(m, r, c, count);
      else if constexpr (v.what == detail::action::load) y = load_lanes<I, Full, V, T const>(m, c, count);
      else if constexpr (v.what == detail::action::position && turned) y = math::broadcast<V>(static_cast<T>(c));
      else if constexpr (v.what == detail::action::position) y = simd::iota<V>(static_cast<T>(c));
      else if constexpr (v.what == detail::action::recall && !Full && P.row_slots.data[v.what == detail::action::recall ? v.detail : 0].exact)
        y = !shape::keeps_ends ? load_value<V>(m.template row_buffer<T const>(kept, c), count)
                                 : load_value<V>(reinterpret_cast<T const*>(m.ends[v.detail - shape::first_slot]));
      else if constexpr (v.what == detail::action::recall) y = load_value<V>(m.template row_buffer<T const>(kept, c));
      else if constexpr (v.what == detail::action::window) y = load_window<I, Full, V, T const>(m, c, count);
      else if constexpr (v.what == detail::action::shift) y = shifted<I, S, Full, V>(m, r, before, c);
      else if constexpr (v.operand_count == 1) {
        constexpr detail::instance_facts a = operand(I, 0);
        y = apply_to<detail::described_by<at(I).op>, v.type, V, a.type>(m.template in_lanes<source_of(a), a.type>(r, a.place, a.bits));
      } else if constexpr (v.operand_count == 2) {
        constexpr detail::instance_facts a = operand(I, 0), b = operand(I, 1);
        y = apply_to<detail::described_by<at(I).op>, v.type, V, a.type, b.type>(
            m.template in_lanes<source_of(a), a.type>(r, a.place, a.bits), m.template in_lanes<source_of(b), b.type>(r, b.place, b.bits));
      } else y = compute_lane<I, V>(m, r, std::make_index_sequence<v.operand_count>{});
      if constexpr (turned) look_at<I, true>(m, y, m.active, c);
      else look_at<I, false>(m, y, Full ? W : count, c);
      if constexpr (v.slot != extend::none) {
        if constexpr (!Full && P.row_slots.data[v.slot].exact) {
          // A masked load after a masked store would stall: the end of the row is kept in a separate buffer.
          if constexpr (!shape::keeps_ends) store_value(m.template row_buffer<T>(kept, c), y, count);
          else store_value(reinterpret_cast<T*>(m.ends[v.slot - shape::first_slot]), y);
        } else store_value(m.template row_buffer<T>(kept, c), y);
      }
      if constexpr (v.what == detail::action::compute && v.access != extend::none) {
        if constexpr (beside<S>::stores.has(I)) store_neighbor<I, S, Full, V>(m, r, y, c, count);
        else store_lanes<I, Full, V, T>(m, y, c, count);
      }
    }
  }
  template <int I, class V, class Registers, std::size_t... O>
  COTANGENT_INLINE static V compute_lane(memory const& m, Registers& r, std::index_sequence<O...>) noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        m.template in_lanes<source_of(operand(I, O)), operand(I, O).type>(r, shape::template operand_facts<I, O>.place,
                                                             shape::template operand_facts<I, O>.bits)...);
  }
  /// The operand of a reduction, with neutral lanes beyond the end.
  template <int I, bool Full, class V, class T, class Op, class Registers>
  COTANGENT_INLINE static V counted(memory const& m, Registers& r, std::int64_t count) noexcept {
    constexpr detail::instance_facts u = operand(I, 0);
    V const y = m.template in_lanes<source_of(u), u.type>(r, u.place, u.bits);
    if constexpr (Full) return y;
    else return simd::first_or(y, count, math::broadcast<V>(Op::template neutral<T>()));
  }
  template <int I, bool Full, class V, class T> COTANGENT_INLINE static V load_lanes(memory const& m, std::int64_t c, std::int64_t count) noexcept {
    T* const p = m.template pointer<I, T>(m.sub);
    if constexpr (shape::has_tile(I)) return load_value<V>(reinterpret_cast<T*>(m.tiles + memory::template tile_at<I>) + c * W);
    else if constexpr (turned) return spread<at(I).type, V>(p[c * m.x.value(shape::template lane_stride<I>())]);
    else if constexpr (shape::template lane_stride<I>() != 1) {
      std::int64_t const stride = m.x.value(shape::template lane_stride<I>());
      return load_value<V>(p + c * stride, stride, Full ? W : count);
    } else if constexpr (Full) return load_value<V>(p + c);
    else return load_value<V>(p + c, count);
  }
  /// True if all lanes are positions. (A constant where they never are: g++ warns of memory that is shorter than the vectors.)
  template <bool Full> static constexpr bool is_whole(std::int64_t count) {
    return Full || ((shape::inner_size < 0 || shape::inner_size >= W) && count == W);
  }
  /// A load among neighbors: the first one transposes the whole window.
  template <int I, int S, bool Full, class V, class Registers>
  COTANGENT_INLINE static V load_neighbor(memory const& m, Registers& r, std::int64_t c, std::int64_t count) noexcept {
    constexpr element E = at(I).type;
    constexpr auto own = beside<S>::loads.at(I);
    if constexpr (own.turner == I) {
      constexpr int n = own.packed ? own.used : beside<S>::loads.most(E);
      std::int64_t const stride = m.x.value(shape::template lane_stride<I>());
      auto const* const p = m.template pointer<I, element_t<E> const>(m.sub) - own.index + c * stride;
      V column[n];
      if constexpr (own.packed && Full) kernels::load_columns(column, p);
      else if constexpr (own.packed) kernels::load_columns(column, p, count);
      else if (is_whole<Full>(count) && (!own.leaves || c + W < m.lanes)) kernels::turn(column, p, stride);
      else
        for (int k = 0; k < n; ++k) column[k] = k < own.used ? load_value<V>(p + k, stride, count) : V{};
      for (int k = 0; k < n; ++k) r.loaded.template at<E>(own.first + k) = column[k];
    }
    return r.loaded.template at<E>(own.first + own.index);
  }
  /// A store among neighbors: the last one stores the whole window.
  template <int I, int S, bool Full, class V, class Registers>
  COTANGENT_INLINE static void store_neighbor(memory& m, Registers& r, V const& y, std::int64_t c, std::int64_t count) noexcept {
    constexpr element E = at(I).type;
    constexpr auto own = beside<S>::stores.at(I);
    r.stored.template at<E>(own.first + own.index) = y;
    if constexpr (own.turner == I) {
      constexpr int n = own.packed ? own.used : beside<S>::stores.most(E);
      std::int64_t const stride = m.x.value(shape::template lane_stride<I>());
      auto* const p = m.template pointer<I, element_t<E>>(m.sub) - own.index + c * stride;
      V column[n];
      for (int k = 0; k < n; ++k) column[k] = k < own.used ? r.stored.template at<E>(own.first + k) : y;
      if constexpr (own.packed && Full) kernels::store_columns(column, p);
      else if constexpr (own.packed) kernels::store_columns(column, p, count);
      else if (is_whole<Full>(count)) kernels::turn_back<own.used>(column, p, stride);
      else
        for (int k = 0; k < own.used; ++k) store_value(p + k, column[k], stride, count);
    }
  }
  template <int I, bool Full, class V, class T>
  COTANGENT_INLINE static void store_lanes(memory& m, V const& y, std::int64_t c, std::int64_t count) noexcept {
    T* const p = m.template pointer<I, T>(m.sub);
    if constexpr (shape::has_tile(I)) store_value(reinterpret_cast<T*>(m.tiles + memory::template tile_at<I>) + c * W, y);
    else if constexpr (shape::template lane_stride<I>() != 1) {
      std::int64_t const stride = m.x.value(shape::template lane_stride<I>());
      store_value(p + c * stride, y, stride, Full ? W : count);
    } else if constexpr (Full) store_value(p + c, y);
    else store_value(p + c, y, count);
  }
  /// The number of the `count` positions from `c` on that are inside the window of an instance.
  template <int I> COTANGENT_INLINE static std::int64_t inside(memory const& m, std::int64_t c, std::int64_t count) noexcept {
    if constexpr (!cotangent::detail::clips(at(I)) || at(I).what == detail::action::window || at(I).what == detail::action::shift) return count;
    else {
      constexpr extend::dimension high = P.windows.data[at(I).detail].high[lane_axis];
      std::int64_t const left = m.x.value(high) - c;
      return left < 0 ? 0 : left < count ? left : count;
    }
  }
  /// The operand's lanes at earlier positions: from vectors of the previous steps, or zeros before the first.
  template <int I, int S, bool Full, class V, class Registers, class Before>
  COTANGENT_INLINE static V shifted(memory const& m, Registers& r, Before* before, std::int64_t c) noexcept {
    constexpr detail::window w = P.windows.data[at(I).detail];
    constexpr int far = static_cast<int>(w.low[lane_axis]), whole = far / W, part = far % W;
    constexpr int k = shape::ordinal(I, detail::action::shift, shape::begin(shape::lane_list(S)));
    constexpr element E = at(I).type;
    static_assert(far <= shape::most_shift);
    constexpr detail::instance_facts u = operand(I, 0);
    V const now = m.template in_lanes<source_of(u), u.type>(r, u.place, u.bits);
    auto const at_hand = [&](int steps) { return steps == 0 ? now : V(before[steps - 1].template at<E>(k)); };
    V y = at_hand(whole);
    if constexpr (part != 0) y = simd::shifted<part>(at_hand(whole + 1), y);
    for (int j = whole + (part != 0) - 1; j > 0; --j) before[j].template at<E>(k) = before[j - 1].template at<E>(k);
    if constexpr (far > 0) before[0].template at<E>(k) = now;
    if constexpr (Full) return y;
    else {
      std::int64_t const left = m.x.value(w.high[lane_axis]) - c;
      using M = math::mask_t<V>;
      if constexpr (W == 1) return left > 0 ? y : V{};
      else return math::select(simd::first<M>(left < 0 ? 0 : left), y, V{});
    }
  }
  /// Loads inside the window; zeros outside.
  template <int I, bool Full, class V, class T>
  COTANGENT_INLINE static V load_window(memory const& m, std::int64_t c, std::int64_t count) noexcept {
    constexpr detail::window w = P.windows.data[at(I).detail];
    constexpr detail::access a = P.accesses.data[at(I).access];
    std::int64_t offset = m.x.value(a.offset);
    for (int k = 0; k < N.split; ++k) {
      std::int64_t const i = N.split == 1 ? m.row + m.sub : m.index[k], low = m.x.value(w.low[k]);
      if (i < low || i >= m.x.value(w.high[k])) return V{};
      offset += (i - low) * m.x.value(a.stride[k]);
    }
    std::int64_t const low = m.x.value(w.low[lane_axis]), high = m.x.value(w.high[lane_axis]);
    std::int64_t const stride = m.x.value(shape::template lane_stride<I>());
    T* const p = m.template base<T>(shape::template own_buffer_of<I>) + offset;
    if constexpr (Full && shape::template lane_stride<I>() == 1) return load_value<V>(p + (c - low));
    if (shape::template lane_stride<I>() == 1 && c >= low && c + W <= high) return load_value<V>(p + (c - low));
    if constexpr (Full && shape::template lane_stride<I>() != 1)
      return load_value<V>(p + (c - low) * stride, stride, std::int64_t{W});
    std::int64_t const begin = c < low ? low - c : 0;
    if constexpr (W > 1 && shape::template lane_stride<I>() == 1 && simd::detail::loads_between<V> &&
                  std::is_same_v<std::remove_const_t<T>, math::lane_t<V>>) // (bools and halves are not stored as lanes)
      return simd::detail::masked_load<V>(p + (c - low), high - c < count ? high - c : count, begin);
    std::remove_const_t<T> lane[W]{};
    for (std::int64_t k = begin; k < count && c + k < high; ++k) lane[k] = p[(c + k - low) * stride];
    return load_value<V>(static_cast<T*>(lane));
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
