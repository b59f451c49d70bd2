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

template <class Stage, int K, class Context> struct nest_steps : nest_memory<Stage, K, Context> {
  using memory = nest_memory<Stage, K, Context>;
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::B, shape::N, shape::P, shape::turned, shape::W;
  using typename shape::wide;
  using typename memory::source;
  using memory::active, memory::index, memory::lanes, memory::once, memory::row, memory::row_values, memory::sub, memory::x;
  using memory::column_totals, memory::ends, memory::lane_totals, memory::row_totals, memory::tiles;
  using memory::lane_axis, memory::operand, memory::source_of;
  template <element E> using lane_value = value_t<W, wide, E>;
  template <element E> using row_value = value_t<B, wide, E>;

  template <int S> using beside = stage_neighbors<shape, S>;

  using memory::memory;

  // ---- reports

  /// True if a position is inside the window of an instance, if it has one.
  template <int I> COTANGENT_INLINE bool is_inside(std::int64_t in_block, std::int64_t c) const noexcept {
    if constexpr (at(I).detail == extend::none) return true;
    else {
      constexpr detail::window w = P.windows.data[at(I).detail];
      for (int k = 0; k < N.split; ++k)
        if (std::int64_t const i = N.split == 1 ? row + in_block : index[k]; i < x.value(w.low[k]) || i >= x.value(w.high[k])) return false;
      if constexpr (N.rank > N.split) return c >= x.value(w.low[lane_axis]) && c < x.value(w.high[lane_axis]);
      else return true;
    }
  }
  /// Reports pivots that are 0 or below in the first `count` lanes: rows if `Rows`, else positions from `c` on.
  template <int I, bool Rows, class V>
  COTANGENT_INLINE void look_at([[maybe_unused]] V const& y, [[maybe_unused]] std::int64_t count, [[maybe_unused]] std::int64_t c) const noexcept {
    if constexpr (at(I).what == detail::action::compute && at(I).op->reporting != nullptr) {
      auto const bad = y <= V{};
      if (!math::any(bad)) [[likely]] return;
      for (std::int64_t k = 0; k < count; ++k) // (lanes beyond are garbage)
        if (is_inside<I>(Rows ? k : sub, Rows ? c : c + k)) {
          if constexpr (!math::is_vector<V>) *x.found = status::singular_matrix;
          else if (y[k] <= 0) *x.found = status::singular_matrix;
        }
    }
  }

  // ---- once

  template <int I> COTANGENT_INLINE void step_once() noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = cotangent::detail::arithmetic_t<v.type>;
    if constexpr (v.what == detail::action::constant) return;
    else {
      T& y = once.template at<v.type>(v.place);
      if constexpr (v.what == detail::action::load) y = *this->template pointer<I, element_t<v.type> const>(0);
      else if constexpr (v.what == detail::action::position) y = T{};
      else if constexpr (v.what == detail::action::size) y = size_of_shape<v.value, T>();
      else y = compute_once<I, T>(std::make_index_sequence<v.operand_count>{});
      if constexpr (at(I).detail == extend::none) look_at<I, true>(y, 1, 0); // (a window holds it elsewhere, too)
    }
  }
  template <extend::symbol Y, class T> COTANGENT_INLINE T size_of_shape() const noexcept {
    constexpr extend::node n = *Stage::view.producer(Y);
    return [&]<std::size_t... A>(std::index_sequence<A...>) { // (a loop would read the graph at run time)
      return static_cast<T>((std::int64_t{1} * ... * x.value(number_of_graph<n.attribute + static_cast<int>(A)>)));
    }(std::make_index_sequence<static_cast<std::size_t>(n.attribute_count)>{});
  }
  template <int Number> static constexpr std::int64_t number_of_graph = Stage::view.numbers[Number];
  template <int I, class V, std::size_t... O> COTANGENT_INLINE V compute_once(std::index_sequence<O...>) const noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        this->template in_once<source_of(operand(I, O)), operand(I, O).type>(memory::template operand_facts<I, O>.place, memory::template operand_facts<I, O>.bits)...);
  }

  // ---- rows

  template <int I> COTANGENT_INLINE void step_row() noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = element_t<v.type>;
    using V = row_value<v.type>;
    if constexpr (v.what == detail::action::accumulate) {
      using Op = detail::described_by<at(I).op>;
      V& total = row_totals.template at<v.type>(memory::template total_index<I>);
      constexpr detail::instance_facts u = operand(I, 0);
      V y = this->template in_rows<source_of(u), u.type>(u.place, u.bits);
      if constexpr (!shape::whole_blocks)
        y = math::select(simd::first<math::mask_t<V>>(active), y, math::broadcast<V>(Op::template neutral<T>()));
      total = Op::combine(total, y);
    } else {
      V& y = row_values.template at<v.type>(v.place);
      if constexpr (v.what == detail::action::load) y = load_rows<I, V, T>();
      else if constexpr (v.what == detail::action::pick) y = picked<I, V, T>();
      else if constexpr (v.what == detail::action::position) {
        if constexpr (B > 1) y = simd::iota<V>(static_cast<T>(row));
        else y = static_cast<V>(N.split == 1 ? row : index[v.detail]);
      } else {
        y = compute_row<I, V>(std::make_index_sequence<v.operand_count>{});
        look_at<I, true>(y, active, 0);
        if constexpr (v.access != extend::none) store_rows<I, V, T>(y);
      }
    }
  }
  /// One element of each row: bitwise the sum of it and zeros.
  template <int I, class V, class T> COTANGENT_INLINE V picked() const noexcept {
    constexpr detail::instance_facts u = operand(I, 0);
    auto const label = this->template in_rows<source_of(u), u.type>(u.place, u.bits);
    if constexpr (constexpr int load = shape::tile_of_pick(I); load != extend::none) { // the columns are in a tile
      using L = std::remove_cvref_t<decltype(label)>;
      T const* const tile = reinterpret_cast<T const*>(tiles + memory::template tile_at<load>);
      V y{};
      for (int c = 0; c < shape::columns; ++c)
        y = math::select(math::mask_cast<math::mask_t<V>>(label == math::broadcast<L>(static_cast<math::lane_t<L>>(c))),
                         load_value<V>(tile + c * W), y);
      return y + V{};
    } else if constexpr (T const* const p = this->template pointer<I, T const>(0); B == 1)
      return label >= 0 && label < lanes ? static_cast<T>(p[label * x.value(memory::template lane_stride<I>())] + T{}) : T{};
    else {
      std::int64_t const stride = x.value(memory::template lane_stride<I>()), across = x.value(shape::template row_stride<I>());
      using L = std::remove_cvref_t<decltype(label)>;
      constexpr std::int64_t most = std::numeric_limits<math::lane_t<L>>::max();
      if (lanes <= 0) return V{};
      auto const last = static_cast<math::lane_t<L>>(lanes - 1 < most ? lanes - 1 : most);
      auto const there = (label >= L{}) & (label <= math::broadcast<L>(last));
      // a valid index in every lane, so that the loop needs no branch
      L const from = math::select(there, label, L{});
      T lane[B]{};
      for (std::int64_t k = 0; k < active; ++k) lane[k] = p[k * across + static_cast<std::int64_t>(from[k]) * stride];
      return math::select(math::mask_cast<math::mask_t<V>>(there), load_value<V>(static_cast<T const*>(lane)) + V{}, V{});
    }
  }
  template <int I, class V, class T> COTANGENT_INLINE V load_rows() const noexcept {
    T const* const p = this->template pointer<I, T const>(0);
    if constexpr (B == 1) return *p;
    else if constexpr (shape::stride(at(I), 0) == 1) return active == B ? load_value<V>(p) : load_value<V>(p, active);
    else return load_value<V>(p, x.value(shape::template row_stride<I>()), active);
  }
  template <int I, class V, class T> COTANGENT_INLINE void store_rows(V const& y) const noexcept {
    T* const p = this->template pointer<I, T>(0);
    if constexpr (B == 1) *p = y;
    else if constexpr (shape::stride(at(I), 0) == 1) active == B ? store_value(p, y) : store_value(p, y, active);
    else store_value(p, y, x.value(shape::template row_stride<I>()), active);
  }
  template <int I, class V, std::size_t... O> COTANGENT_INLINE V compute_row(std::index_sequence<O...>) const noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        this->template in_rows<source_of(operand(I, O)), operand(I, O).type>(memory::template operand_facts<I, O>.place, memory::template operand_facts<I, O>.bits)...);
  }

  // ---- lanes

  /// One instance at the positions from `c` on: all lanes if `Full`, else `count` of them.
  template <int I, int S, bool Full, class Registers, class Sums, class Columns, class Before>
  COTANGENT_INLINE void step_lane(Registers& r, Sums& sums, Columns& into, Before* before, std::int64_t c,
                                  std::int64_t count) noexcept {
    constexpr detail::instance_facts v = at(I);
    using T = element_t<v.type>;
    using V = lane_value<v.type>;
    if constexpr (!Full) count = inside<I>(c, count);
    if constexpr (v.what == detail::action::reduce) {
      using Op = detail::described_by<at(I).op>;
      V& sum = sums.template at<v.type>(memory::template sum_index<I, S>);
      constexpr detail::instance_facts u = operand(I, 0);
      if constexpr (shape::single_pass) sum = counted<I, Full, V, T, Op>(r, count);
      else {
        V all{};
        if constexpr (v.fused) {
          constexpr auto const &a = at(P.operands.data[u.first_operand]), &b = at(P.operands.data[u.first_operand + 1]);
          all = math::fma(this->template in_lanes<source_of(a), a.type>(r, a.place, a.bits),
                          this->template in_lanes<source_of(b), b.type>(r, b.place, b.bits), sum);
        } else // (a maximum tests the new operand for NaN, so that the chain does not wait for the test)
          all = Op::combine(V(this->template in_lanes<source_of(u), u.type>(r, u.place, u.bits)), sum);
        if constexpr (Full) sum = all;
        else sum = simd::first_or(all, count, sum); // one masked instruction
      }
    } else if constexpr (v.what == detail::action::accumulate) {
      using Op = detail::described_by<at(I).op>;
      if constexpr (shape::is_total(v)) {
        V& total = lane_totals.template at<v.type>(memory::template total_index<I>);
        total = Op::combine(total, counted<I, turned ? shape::whole_blocks : Full, V, T, Op>(r, turned ? active : count));
      } else if constexpr (turned) {
        V& total = column_totals[c].template at<v.type>(memory::template total_index<I>);
        total = Op::combine(total, counted<I, shape::whole_blocks, V, T, Op>(r, active));
      } else {
        V& total = into.template at<v.type>(memory::template total_index<I>);
        constexpr detail::instance_facts u = operand(I, 0);
        // fused in every position: an element's value does not depend on its position
        if constexpr (v.fused) {
          constexpr auto const &a = at(P.operands.data[u.first_operand]), &b = at(P.operands.data[u.first_operand + 1]);
          total = math::fma(this->template in_lanes<source_of(a), a.type>(r, a.place, a.bits),
                            this->template in_lanes<source_of(b), b.type>(r, b.place, b.bits), total);
        } else
          total = Op::combine(total, this->template in_lanes<source_of(u), u.type>(r, u.place, u.bits));
      }
    } else {
      V& y = r.template at<v.type>(v.place);
      constexpr std::int32_t buffer = v.what == detail::action::recall ? v.detail : v.slot,
                             kept = buffer != extend::none ? memory::own_buffer(buffer) : extend::none;
      if constexpr (v.what == detail::action::load && beside<S>::loads.has(I)) y = load_neighbor<I, S, Full, V>(r, c, count);
      else if constexpr (v.what == detail::action::load) y = load_lanes<I, Full, V, T const>(c, count);
      else if constexpr (v.what == detail::action::position && turned) y = math::broadcast<V>(static_cast<T>(c));
      else if constexpr (v.what == detail::action::position) y = simd::iota<V>(static_cast<T>(c));
      else if constexpr (v.what == detail::action::recall && !Full && P.row_slots.data[v.what == detail::action::recall ? v.detail : 0].exact)
        y = !shape::keeps_ends ? load_value<V>(this->template row_buffer<T const>(kept, c), count)
                                 : load_value<V>(reinterpret_cast<T const*>(ends[v.detail - shape::first_slot]));
      else if constexpr (v.what == detail::action::recall) y = load_value<V>(this->template row_buffer<T const>(kept, c));
      else if constexpr (v.what == detail::action::window) y = load_window<I, Full, V, T const>(c, count);
      else if constexpr (v.what == detail::action::shift) y = shifted<I, S, Full, V>(r, before, c);
      else if constexpr (v.operand_count == 1) {
        constexpr detail::instance_facts a = operand(I, 0);
        y = apply_to<detail::described_by<at(I).op>, v.type, V, a.type>(this->template in_lanes<source_of(a), a.type>(r, a.place, a.bits));
      } else if constexpr (v.operand_count == 2) {
        constexpr detail::instance_facts a = operand(I, 0), b = operand(I, 1);
        y = apply_to<detail::described_by<at(I).op>, v.type, V, a.type, b.type>(
            this->template in_lanes<source_of(a), a.type>(r, a.place, a.bits), this->template in_lanes<source_of(b), b.type>(r, b.place, b.bits));
      } else y = compute_lane<I, V>(r, std::make_index_sequence<v.operand_count>{});
      if constexpr (turned) look_at<I, true>(y, active, c);
      else look_at<I, false>(y, Full ? W : count, c);
      if constexpr (v.slot != extend::none) {
        if constexpr (!Full && P.row_slots.data[v.slot].exact) {
          // A masked load after a masked store would stall: the end of the row is kept in a separate buffer.
          if constexpr (!shape::keeps_ends) store_value(this->template row_buffer<T>(kept, c), y, count);
          else store_value(reinterpret_cast<T*>(ends[v.slot - shape::first_slot]), y);
        } else store_value(this->template row_buffer<T>(kept, c), y);
      }
      if constexpr (v.what == detail::action::compute && v.access != extend::none) {
        if constexpr (beside<S>::stores.has(I)) store_neighbor<I, S, Full, V>(r, y, c, count);
        else store_lanes<I, Full, V, T>(y, c, count);
      }
    }
  }
  template <int I, class V, class Registers, std::size_t... O>
  COTANGENT_INLINE V compute_lane(Registers& r, std::index_sequence<O...>) const noexcept {
    return apply_to<detail::described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        this->template in_lanes<source_of(operand(I, O)), operand(I, O).type>(r, memory::template operand_facts<I, O>.place, memory::template operand_facts<I, O>.bits)...);
  }
  /// The operand of a reduction, with neutral lanes beyond the end.
  template <int I, bool Full, class V, class T, class Op, class Registers>
  COTANGENT_INLINE V counted(Registers& r, std::int64_t count) const noexcept {
    constexpr detail::instance_facts u = operand(I, 0);
    V const y = this->template in_lanes<source_of(u), u.type>(r, u.place, u.bits);
    if constexpr (Full) return y;
    else return simd::first_or(y, count, math::broadcast<V>(Op::template neutral<T>()));
  }
  template <int I, bool Full, class V, class T> COTANGENT_INLINE V load_lanes(std::int64_t c, std::int64_t count) const noexcept {
    T* const p = this->template pointer<I, T>(sub);
    if constexpr (shape::has_tile(I)) return load_value<V>(reinterpret_cast<T*>(tiles + memory::template tile_at<I>) + c * W);
    else if constexpr (turned) return spread<at(I).type, V>(p[c * x.value(memory::template lane_stride<I>())]);
    else if constexpr (memory::template lane_stride<I>() != 1) {
      std::int64_t const stride = x.value(memory::template lane_stride<I>());
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
  COTANGENT_INLINE V load_neighbor(Registers& r, std::int64_t c, std::int64_t count) const noexcept {
    constexpr element E = at(I).type;
    constexpr auto own = beside<S>::loads.at(I);
    if constexpr (own.turner == I) {
      constexpr int n = own.packed ? own.used : beside<S>::loads.most(E);
      std::int64_t const stride = x.value(memory::template lane_stride<I>());
      auto const* const p = this->template pointer<I, element_t<E> const>(sub) - own.index + c * stride;
      V column[n];
      if constexpr (own.packed && Full) kernels::load_columns(column, p);
      else if constexpr (own.packed) kernels::load_columns(column, p, count);
      else if (is_whole<Full>(count) && (!own.leaves || c + W < lanes)) kernels::turn(column, p, stride);
      else
        for (int k = 0; k < n; ++k) column[k] = k < own.used ? load_value<V>(p + k, stride, count) : V{};
      for (int k = 0; k < n; ++k) r.loaded.template at<E>(own.first + k) = column[k];
    }
    return r.loaded.template at<E>(own.first + own.index);
  }
  /// A store among neighbors: the last one stores the whole window.
  template <int I, int S, bool Full, class V, class Registers>
  COTANGENT_INLINE void store_neighbor(Registers& r, V const& y, std::int64_t c, std::int64_t count) noexcept {
    constexpr element E = at(I).type;
    constexpr auto own = beside<S>::stores.at(I);
    r.stored.template at<E>(own.first + own.index) = y;
    if constexpr (own.turner == I) {
      constexpr int n = own.packed ? own.used : beside<S>::stores.most(E);
      std::int64_t const stride = x.value(memory::template lane_stride<I>());
      auto* const p = this->template pointer<I, element_t<E>>(sub) - own.index + c * stride;
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
  COTANGENT_INLINE void store_lanes(V const& y, std::int64_t c, std::int64_t count) noexcept {
    T* const p = this->template pointer<I, T>(sub);
    if constexpr (shape::has_tile(I)) store_value(reinterpret_cast<T*>(tiles + memory::template tile_at<I>) + c * W, y);
    else if constexpr (memory::template lane_stride<I>() != 1) {
      std::int64_t const stride = x.value(memory::template lane_stride<I>());
      store_value(p + c * stride, y, stride, Full ? W : count);
    } else if constexpr (Full) store_value(p + c, y);
    else store_value(p + c, y, count);
  }
  /// The number of the `count` positions from `c` on that are inside the window of an instance.
  template <int I> COTANGENT_INLINE std::int64_t inside(std::int64_t c, std::int64_t count) const noexcept {
    if constexpr (!cotangent::detail::clips(at(I)) || at(I).what == detail::action::window || at(I).what == detail::action::shift) return count;
    else {
      constexpr extend::dimension high = P.windows.data[at(I).detail].high[lane_axis];
      std::int64_t const left = x.value(high) - c;
      return left < 0 ? 0 : left < count ? left : count;
    }
  }
  /// The operand's lanes at earlier positions: from vectors of the previous steps, or zeros before the first.
  template <int I, int S, bool Full, class V, class Registers, class Before>
  COTANGENT_INLINE V shifted(Registers& r, Before* before, std::int64_t c) const noexcept {
    constexpr detail::window w = P.windows.data[at(I).detail];
    constexpr int far = static_cast<int>(w.low[lane_axis]), whole = far / W, part = far % W;
    constexpr int k = shape::ordinal(I, detail::action::shift, shape::begin(shape::lane_list(S)));
    constexpr element E = at(I).type;
    static_assert(far <= shape::most_shift);
    constexpr detail::instance_facts u = operand(I, 0);
    V const now = this->template in_lanes<source_of(u), u.type>(r, u.place, u.bits);
    auto const at_hand = [&](int steps) { return steps == 0 ? now : V(before[steps - 1].template at<E>(k)); };
    V y = at_hand(whole);
    if constexpr (part != 0) y = simd::shifted<part>(at_hand(whole + 1), y);
    for (int j = whole + (part != 0) - 1; j > 0; --j) before[j].template at<E>(k) = before[j - 1].template at<E>(k);
    if constexpr (far > 0) before[0].template at<E>(k) = now;
    if constexpr (Full) return y;
    else {
      std::int64_t const left = x.value(w.high[lane_axis]) - c;
      using M = math::mask_t<V>;
      if constexpr (W == 1) return left > 0 ? y : V{};
      else return math::select(simd::first<M>(left < 0 ? 0 : left), y, V{});
    }
  }
  /// Loads inside the window; zeros outside.
  template <int I, bool Full, class V, class T>
  COTANGENT_INLINE V load_window(std::int64_t c, std::int64_t count) const noexcept {
    constexpr detail::window w = P.windows.data[at(I).detail];
    constexpr detail::access a = P.accesses.data[at(I).access];
    std::int64_t offset = x.value(a.offset);
    for (int k = 0; k < N.split; ++k) {
      std::int64_t const i = N.split == 1 ? row + sub : index[k], low = x.value(w.low[k]);
      if (i < low || i >= x.value(w.high[k])) return V{};
      offset += (i - low) * x.value(a.stride[k]);
    }
    std::int64_t const low = x.value(w.low[lane_axis]), high = x.value(w.high[lane_axis]);
    std::int64_t const stride = x.value(memory::template lane_stride<I>());
    T* const p = this->template base<T>(shape::template own_buffer_of<I>) + offset;
    if constexpr (Full && memory::template lane_stride<I>() == 1) return load_value<V>(p + (c - low));
    if (memory::template lane_stride<I>() == 1 && c >= low && c + W <= high) return load_value<V>(p + (c - low));
    if constexpr (Full && memory::template lane_stride<I>() != 1)
      return load_value<V>(p + (c - low) * stride, stride, std::int64_t{W});
    std::int64_t const begin = c < low ? low - c : 0;
    if constexpr (W > 1 && memory::template lane_stride<I>() == 1 && simd::detail::loads_between<V> &&
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
