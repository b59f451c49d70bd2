// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_LOOPS_HPP
#define COTANGENT_RUN_LOOPS_HPP

#include <cotangent/run/context.hpp>
#include <cotangent/run/nest_shape.hpp>
#include <cotangent/run/values.hpp>

#include <initializer_list>
#include <utility>

// One nest of a static program as code: every instance is one inlined function, its place in the plan a template
// argument, its operands registers.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

template <class Stage, int K, class Context> struct loops : nest_shape<Stage, K> {
  using shape = nest_shape<Stage, K>;
  using shape::at, shape::B, shape::first, shape::N, shape::P, shape::turned, shape::W;
  using wide = typename shape::wide;

  static constexpr int lane_axis = N.rank > N.split ? N.rank - 1 : 0;
  template <element E> using lane_value = value_t<W, wide, E>;
  template <element E> using row_value = value_t<B, wide, E>;

  Context const x;
  std::int64_t lanes = 1;          // positions along the lane axis
  std::int64_t rows = 1, row = 0;  // of all rows: the first of the block
  std::int64_t active = 1, sub = 0; // rows in the block, the row in the block
  std::int64_t index[max_rank]{};  // of the row along each axis, where rows have several
  registers<1, wide, shape::once_count> once;
  registers<B, wide, shape::row_count> row_values;
  registers<B, wide, shape::total_count> row_totals;
  registers<W, wide, shape::total_count> lane_totals;
  registers<W, wide, shape::total_count> column_totals[shape::columns > 0 ? shape::columns : 1]; // of turned rows
  alignas(64) char ends[shape::slots > 0 ? shape::slots : 1][W * 8]{}; // of rows in exact row buffers
  alignas(64) char tiles[shape::tiles > 0 ? shape::tiles * shape::columns * W * 8 : 1];

  COTANGENT_INLINE explicit loops(Context const& context) noexcept : x(context) {
    if constexpr (N.rank > N.split) lanes = x.value(N.size[lane_axis]);
    for (int k = 0; k < N.split; ++k) rows *= x.value(N.size[k]);
  }

  // ---- memory

  /// Where the access of instance `I` is in this row; rows of a block follow each other along axis 0.
  template <int I, class T> COTANGENT_INLINE T* pointer(std::int64_t in_block) const noexcept {
    constexpr access a = P.accesses.data[at(I).access];
    std::int64_t offset = x.value(a.offset);
    if constexpr (N.split == 1) {
      if constexpr (a.stride[0] != 0) offset += (row + in_block) * x.value(a.stride[0]);
    } else if constexpr (N.split > 1)
      for (int k = 0; k < N.split; ++k) offset += index[k] * x.value(a.stride[k]);
    return reinterpret_cast<T*>(x.buffer[a.buffer]) + offset;
  }
  template <int I> static constexpr dimension lane_stride() {
    return N.rank > N.split ? P.accesses.data[at(I).access].stride[lane_axis] : 0;
  }
  template <int Slot, class T> COTANGENT_INLINE T* row_buffer(std::int64_t c) const noexcept {
    return reinterpret_cast<T*>(x.buffer[P.row_slots.data[Slot].buffer]) +
           (turned ? c * W : (B > 1 ? sub * (lanes + simd::bytes) : 0) + c);
  }

  // ---- operands

  /// Where an operand comes from.
  enum class source { constant, once, row, lane };
  static constexpr source source_of(instance const& u) {
    return u.what == action::constant ? source::constant
           : shape::is_row(u)         ? source::row
           : u.where == role::once    ? source::once
                                      : source::lane;
  }
  static constexpr instance const& operand(int i, int k) { return at(P.operands.data[at(i).first_operand + k]); }

  // One function for each kind of source and element, not for each operand: a program has thousands of these.
  template <source S, element E, class Registers>
  COTANGENT_INLINE auto in_lanes(Registers& r, int place, std::int64_t bits) const noexcept {
    using V = lane_value<E>;
    if constexpr (S == source::constant) return constant_value<E, V>(bits);
    else if constexpr (S == source::once) return spread<E, V>(once.template at<E>(place));
    else if constexpr (S == source::lane) return V(r.template at<E>(place));
    else if constexpr (turned) return V(row_values.template at<E>(place));
    else if constexpr (B == 1) return spread<E, V>(row_values.template at<E>(place));
    else return spread<E, V>(static_cast<element_t<E>>(row_values.template at<E>(place)[sub]));
  }
  template <source S, element E> COTANGENT_INLINE auto in_rows(int place, std::int64_t bits) const noexcept {
    using V = row_value<E>;
    if constexpr (S == source::constant) return constant_value<E, V>(bits);
    else if constexpr (S == source::once) return spread<E, V>(once.template at<E>(place));
    else return V(row_values.template at<E>(place));
  }
  template <source S, element E> COTANGENT_INLINE auto in_once(int place, std::int64_t bits) const noexcept {
    if constexpr (S == source::constant) return constant_value<E, element_t<E>>(bits);
    else return element_t<E>(once.template at<E>(place));
  }

  /// The number of an accumulator among those of its type: over all rows, or in one stage.
  template <int I> static constexpr int total_index = shape::ordinal(I, action::accumulate, first);
  template <int I, int S>
  static constexpr int sum_index = shape::ordinal(I, action::reduce, shape::begin(shape::lane_list(S)));

  // ---- once

  template <int I> COTANGENT_INLINE void step_once() noexcept {
    constexpr auto const& v = at(I);
    using T = element_t<v.type>;
    if constexpr (v.what == action::constant) return;
    else {
      T& y = once.template at<v.type>(v.place);
      if constexpr (v.what == action::load) y = *pointer<I, T const>(0);
      else if constexpr (v.what == action::position) y = T{};
      else if constexpr (v.what == action::size) y = size_of_shape<v.value, T>();
      else y = compute_once<I, T>(std::make_index_sequence<v.operand_count>{});
    }
  }
  template <symbol Y, class T> COTANGENT_INLINE T size_of_shape() const noexcept {
    constexpr graph_view g = Stage::view;
    constexpr node n = *g.producer(Y);
    std::int64_t count = 1;
    for (int k = 0; k < n.attribute_count; ++k) count *= x.value(g.attribute(n, k));
    return static_cast<T>(count);
  }
  template <int I, class V, std::size_t... O> COTANGENT_INLINE V compute_once(std::index_sequence<O...>) const noexcept {
    return apply_to<described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        in_once<source_of(operand(I, O)), operand(I, O).type>(operand(I, O).place, operand(I, O).bits)...);
  }

  // ---- rows

  template <int I> COTANGENT_INLINE void step_row() noexcept {
    constexpr auto const& v = at(I);
    using T = element_t<v.type>;
    using V = row_value<v.type>;
    if constexpr (v.what == action::accumulate) {
      using Op = described_by<v.op>;
      V& total = row_totals.template at<v.type>(total_index<I>);
      constexpr auto const& u = operand(I, 0);
      V y = in_rows<source_of(u), u.type>(u.place, u.bits);
      if constexpr (B > 1)
        y = math::select(simd::first<math::mask_t<V>>(active), y, math::broadcast<V>(Op::template neutral<T>()));
      total = Op::combine(total, y);
    } else {
      V& y = row_values.template at<v.type>(v.place);
      if constexpr (v.what == action::load) y = load_rows<I, V, T>();
      else if constexpr (v.what == action::position) {
        if constexpr (B > 1) y = simd::iota<V>(static_cast<T>(row));
        else y = static_cast<V>(N.split == 1 ? row : index[v.detail]);
      } else {
        y = compute_row<I, V>(std::make_index_sequence<v.operand_count>{});
        if constexpr (v.access != none) store_rows<I, V, T>(y);
      }
    }
  }
  template <int I, class V, class T> COTANGENT_INLINE V load_rows() const noexcept {
    T const* const p = pointer<I, T const>(0);
    if constexpr (B == 1) return *p;
    else if constexpr (shape::stride(at(I), 0) == 1) return active == B ? load_value<V>(p) : load_value<V>(p, active);
    else return load_value<V>(p, x.value(shape::stride(at(I), 0)), active);
  }
  template <int I, class V, class T> COTANGENT_INLINE void store_rows(V const& y) const noexcept {
    T* const p = pointer<I, T>(0);
    if constexpr (B == 1) *p = y;
    else if constexpr (shape::stride(at(I), 0) == 1) active == B ? store_value(p, y) : store_value(p, y, active);
    else store_value(p, y, x.value(shape::stride(at(I), 0)), active);
  }
  template <int I, class V, std::size_t... O> COTANGENT_INLINE V compute_row(std::index_sequence<O...>) const noexcept {
    return apply_to<described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        in_rows<source_of(operand(I, O)), operand(I, O).type>(operand(I, O).place, operand(I, O).bits)...);
  }

  // ---- lanes

  /// One instance at the positions from `c` on: all lanes where `Full`, else `count` of them.
  template <int I, int S, bool Full, class Registers, class Sums>
  COTANGENT_INLINE void step_lane(Registers& r, Sums& sums, std::int64_t c, std::int64_t count) noexcept {
    constexpr auto const& v = at(I);
    using T = element_t<v.type>;
    using V = lane_value<v.type>;
    if constexpr (v.what == action::reduce) {
      using Op = described_by<v.op>;
      V& sum = sums.template at<v.type>(sum_index<I, S>);
      if constexpr (Full && !shape::single_pass && shape::is_sum_of_products(v)) {
        constexpr auto const& u = operand(I, 0);
        constexpr auto const &a = at(P.operands.data[u.first_operand]), &b = at(P.operands.data[u.first_operand + 1]);
        sum = math::fma(in_lanes<source_of(a), a.type>(r, a.place, a.bits), in_lanes<source_of(b), b.type>(r, b.place, b.bits), sum);
      } else if constexpr (shape::single_pass) sum = counted<I, Full, V, T, Op>(r, count);
      else sum = Op::combine(sum, counted<I, Full, V, T, Op>(r, count));
    } else if constexpr (v.what == action::accumulate) {
      using Op = described_by<v.op>;
      if constexpr (shape::is_total(v)) {
        V& total = lane_totals.template at<v.type>(total_index<I>);
        total = Op::combine(total, counted<I, Full && !turned, V, T, Op>(r, turned ? active : count));
      } else if constexpr (turned) {
        V& total = column_totals[c].template at<v.type>(total_index<I>);
        total = Op::combine(total, counted<I, false, V, T, Op>(r, active));
      } else {
        T* const p = pointer<I, T>(sub) + c;
        constexpr auto const& u = operand(I, 0);
        V const y = in_lanes<source_of(u), u.type>(r, u.place, u.bits);
        if constexpr (Full) store_value(p, V(Op::combine(load_value<V>(p), y)));
        else store_value(p, V(Op::combine(load_value<V>(p, count), y)), count);
      }
    } else {
      V& y = r.template at<v.type>(v.place);
      if constexpr (v.what == action::load) y = load_lanes<I, Full, V, T const>(c, count);
      else if constexpr (v.what == action::position && turned) y = math::broadcast<V>(static_cast<T>(c));
      else if constexpr (v.what == action::position) y = simd::iota<V>(static_cast<T>(c));
      else if constexpr (v.what == action::recall && !Full && P.row_slots.data[v.what == action::recall ? v.detail : 0].exact)
        y = shape::has_long_body ? load_value<V>(row_buffer<v.detail, T const>(c), count)
                                 : load_value<V>(reinterpret_cast<T const*>(ends[v.detail - shape::first_slot]));
      else if constexpr (v.what == action::recall) y = load_value<V>(row_buffer<v.detail, T const>(c));
      else if constexpr (v.what == action::window) y = load_window<I, V, T const>(c, Full ? W : count);
      else if constexpr (v.operand_count == 1) {
        constexpr auto const& a = operand(I, 0);
        y = apply_to<described_by<v.op>, v.type, V, a.type>(in_lanes<source_of(a), a.type>(r, a.place, a.bits));
      } else if constexpr (v.operand_count == 2) {
        constexpr auto const &a = operand(I, 0), &b = operand(I, 1);
        y = apply_to<described_by<v.op>, v.type, V, a.type, b.type>(
            in_lanes<source_of(a), a.type>(r, a.place, a.bits), in_lanes<source_of(b), b.type>(r, b.place, b.bits));
      } else y = compute_lane<I, V>(r, std::make_index_sequence<v.operand_count>{});
      if constexpr (v.slot != none) {
        if constexpr (!Full && P.row_slots.data[v.slot].exact) {
          // a masked load behind a masked store would wait for it: the end of the row is kept apart
          if constexpr (shape::has_long_body) store_value(row_buffer<v.slot, T>(c), y, count);
          else store_value(reinterpret_cast<T*>(ends[v.slot - shape::first_slot]), y);
        } else store_value(row_buffer<v.slot, T>(c), y);
      }
      if constexpr (v.what == action::compute && v.access != none) store_lanes<I, Full, V, T>(y, c, count);
    }
  }
  template <int I, class V, class Registers, std::size_t... O>
  COTANGENT_INLINE V compute_lane(Registers& r, std::index_sequence<O...>) const noexcept {
    return apply_to<described_by<at(I).op>, at(I).type, V, operand(I, O).type...>(
        in_lanes<source_of(operand(I, O)), operand(I, O).type>(r, operand(I, O).place, operand(I, O).bits)...);
  }
  /// The operand of a reduction, neutral beyond the end.
  template <int I, bool Full, class V, class T, class Op, class Registers>
  COTANGENT_INLINE V counted(Registers& r, std::int64_t count) const noexcept {
    constexpr auto const& u = operand(I, 0);
    V const y = in_lanes<source_of(u), u.type>(r, u.place, u.bits);
    if constexpr (Full) return y;
    else if constexpr (W == 1) return count > 0 ? y : Op::template neutral<T>();
    else return math::select(simd::first<math::mask_t<V>>(count), y, math::broadcast<V>(Op::template neutral<T>()));
  }
  template <int I, bool Full, class V, class T> COTANGENT_INLINE V load_lanes(std::int64_t c, std::int64_t count) const noexcept {
    T* const p = pointer<I, T>(sub);
    if constexpr (shape::has_tile(I)) return load_value<V>(reinterpret_cast<T*>(tiles + tile_at<I>) + c * W);
    else if constexpr (turned) return spread<at(I).type, V>(p[c * x.value(lane_stride<I>())]);
    else if constexpr (lane_stride<I>() != 1) {
      std::int64_t const stride = x.value(lane_stride<I>());
      return load_value<V>(p + c * stride, stride, Full ? W : count);
    } else if constexpr (Full) return load_value<V>(p + c);
    else return load_value<V>(p + c, count);
  }
  template <int I, bool Full, class V, class T>
  COTANGENT_INLINE void store_lanes(V const& y, std::int64_t c, std::int64_t count) noexcept {
    T* const p = pointer<I, T>(sub);
    if constexpr (shape::has_tile(I)) store_value(reinterpret_cast<T*>(tiles + tile_at<I>) + c * W, y);
    else if constexpr (lane_stride<I>() != 1) {
      std::int64_t const stride = x.value(lane_stride<I>());
      store_value(p + c * stride, y, stride, Full ? W : count);
    } else if constexpr (Full) store_value(p + c, y);
    else store_value(p + c, y, count);
  }
  /// Loads inside the window, zero outside.
  template <int I, class V, class T> COTANGENT_INLINE V load_window(std::int64_t c, std::int64_t count) const noexcept {
    constexpr window w = P.windows.data[at(I).detail];
    constexpr access a = P.accesses.data[at(I).access];
    std::int64_t offset = x.value(a.offset);
    for (int k = 0; k < N.split; ++k) {
      std::int64_t const i = N.split == 1 ? row + sub : index[k], low = x.value(w.low[k]);
      if (i < low || i >= x.value(w.high[k])) return V{};
      offset += (i - low) * x.value(a.stride[k]);
    }
    std::int64_t const low = x.value(w.low[lane_axis]), high = x.value(w.high[lane_axis]);
    std::int64_t const stride = x.value(lane_stride<I>());
    T* const p = reinterpret_cast<T*>(x.buffer[a.buffer]) + offset;
    if (lane_stride<I>() == 1 && c >= low && c + W <= high) return load_value<V>(p + (c - low));
    std::remove_const_t<T> lane[W]{};
    for (std::int64_t k = c < low ? low - c : 0; k < count && c + k < high; ++k) lane[k] = p[(c + k - low) * stride];
    return load_value<V>(static_cast<T*>(lane));
  }

  // ---- turned rows

  template <int I> static constexpr int tile_at = shape::tile(I) * shape::columns * W * 8;
  template <class T> static constexpr bool turns_in_registers =
      !std::is_same_v<T, bool> && W * static_cast<int>(sizeof(T)) == simd::bytes;

  /// Brings the rows of the block into a tile, columns first.
  template <int I> COTANGENT_INLINE void load_tile() noexcept {
    if constexpr (shape::has_tile(I)) {
      if constexpr (at(I).what == action::load && shape::tile_owner(I) == I) {
        using T = element_t<at(I).type>;
        T const* const p = pointer<I, T const>(0);
        std::int64_t const step = x.value(shape::stride(at(I), 0)), across_step = x.value(lane_stride<I>());
        T* const to = reinterpret_cast<T*>(tiles + tile_at<I>);
        if constexpr (turns_in_registers<T> && lane_stride<I>() == 1) {
          using V = math::vector<T, W>;
          for (int c = 0; c < shape::columns; c += W) {
            V rows_[W];
            for (int k = 0; k < W; ++k)
              rows_[k] = k < active ? simd::load<V>(p + k * step + c, shape::columns - c < W ? shape::columns - c : W) : V{};
            simd::transpose(rows_);
            for (int k = 0; k < W && c + k < shape::columns; ++k) simd::store(to + (c + k) * W, rows_[k]);
          }
        } else
          for (int c = 0; c < shape::columns; ++c)
            for (int k = 0; k < W; ++k) to[c * W + k] = k < active ? p[k * step + c * across_step] : T{};
      }
    }
  }
  /// Writes a tile to the rows of the block.
  template <int I> COTANGENT_INLINE void store_tile() noexcept {
    if constexpr (shape::has_tile(I)) {
      if constexpr (at(I).what != action::load) {
        using T = element_t<at(I).type>;
        T* const p = pointer<I, T>(0);
        std::int64_t const step = x.value(shape::stride(at(I), 0)), across_step = x.value(lane_stride<I>());
        T const* const from = reinterpret_cast<T const*>(tiles + tile_at<I>);
        if constexpr (turns_in_registers<T> && lane_stride<I>() == 1) {
          using V = math::vector<T, W>;
          for (int c = 0; c < shape::columns; c += W) {
            V rows_[W];
            for (int k = 0; k < W; ++k) rows_[k] = c + k < shape::columns ? simd::load<V>(from + (c + k) * W) : V{};
            simd::transpose(rows_);
            for (int k = 0; k < W && k < active; ++k)
              simd::store(p + k * step + c, rows_[k], shape::columns - c < W ? shape::columns - c : W);
          }
        } else
          for (int k = 0; k < active; ++k)
            for (int c = 0; c < shape::columns; ++c) p[k * step + c * across_step] = from[c * W + k];
      }
    }
  }

  // ---- loops

  template <int S, bool Full, class Sums, std::size_t... I>
  COTANGENT_INLINE void body(Sums& sums, std::int64_t c, std::int64_t count, std::index_sequence<I...>) noexcept {
    registers<W, wide, shape::lane_count(S)> r;
    constexpr int from = shape::begin(shape::lane_list(S));
    static_cast<void>(std::initializer_list<int>{
        (step_lane<from + static_cast<int>(I), S, Full>(r, sums, c, count), 0)...});
  }

  template <int I, int S, class Sums> COTANGENT_INLINE void start_sum(Sums& sums) const noexcept {
    constexpr auto const& v = at(I);
    if constexpr (v.what == action::reduce)
      sums.template at<v.type>(sum_index<I, S>) =
          math::broadcast<lane_value<v.type>>(described_by<v.op>::template neutral<element_t<v.type>>());
  }
  /// Combines what ran side by side, then the lanes: a fixed order.
  template <int I, int S, int U, class Sums> COTANGENT_INLINE void finish_sum(Sums (&sums)[U]) noexcept {
    constexpr auto const& v = at(I);
    if constexpr (v.what == action::reduce) {
      using Op = described_by<v.op>;
      using V = lane_value<v.type>;
      constexpr int k = sum_index<I, S>;
      V sum = sums[0].template at<v.type>(k);
      if constexpr (U == 4)
        sum = Op::combine(V(Op::combine(sum, sums[1].template at<v.type>(k))),
                          V(Op::combine(sums[2].template at<v.type>(k), sums[3].template at<v.type>(k))));
      else if constexpr (U == 2) sum = Op::combine(sum, sums[1].template at<v.type>(k));
      if constexpr (turned) {
        row_values.template at<v.type>(v.place) = sum;
        if constexpr (v.access != none) store_rows<I, V, element_t<v.type>>(sum);
        return;
      }
      element_t<v.type> const y = across<Op>(sum);
      if constexpr (turned) return;
      else if constexpr (B == 1) row_values.template at<v.type>(v.place) = y;
      else row_values.template at<v.type>(v.place)[sub] = y;
      if constexpr (v.access != none && !turned) *pointer<I, element_t<v.type>>(sub) = y;
    }
  }
  template <class Op, class V> COTANGENT_INLINE static auto across(V const& v) noexcept {
    if constexpr (!math::is_vector<V>) return v;
    else return simd::detail::fold(v, [](auto const& a, auto const& b) { return Op::combine(a, b); });
  }

  template <int S, class Sums, class List, std::size_t... U>
  COTANGENT_INLINE void side_by_side(Sums& sums, std::int64_t c, List list, std::index_sequence<U...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(body<S, true>(sums[U], c + static_cast<int>(U) * W, W, list), 0)...});
  }

  template <int S, std::size_t... I> COTANGENT_INLINE void lane_loop(std::index_sequence<I...> list) noexcept {
    constexpr int from = shape::begin(shape::lane_list(S)), U = shape::unroll(S);
    // a long body is made once, for any count: compile time, against a mask in the loop
    constexpr bool once_made = sizeof...(I) > shape::long_body;
    constexpr std::int64_t n = shape::inner_size;
    registers<W, wide, shape::reduce_count(S)> sums[U];
    for (int u = 0; u < U; ++u)
      static_cast<void>(std::initializer_list<int>{(start_sum<from + static_cast<int>(I), S>(sums[u]), 0)...});
    std::int64_t c = 0;
    if constexpr (turned) {
      for (; c < shape::columns; ++c) body<S, true>(sums[0], c, W, list);
    } else if constexpr (once_made) {
      for (; c < lanes; c += W) body<S, false>(sums[0], c, lanes - c < W ? lanes - c : W, list);
    } else {
      if constexpr (U > 1 && (n < 0 || n >= U * W))
        for (; c + U * W <= lanes; c += U * W) side_by_side<S>(sums, c, list, std::make_index_sequence<U>{});
      if constexpr (n < 0 || (U == 1 ? n >= W : n % (U * W) >= W))
        for (; c + W <= lanes; c += W) body<S, true>(sums[0], c, W, list);
      if constexpr (n < 0 || n % W != 0)
        if (c < lanes) body<S, false>(sums[0], c, lanes - c, list);
    }
    static_cast<void>(std::initializer_list<int>{(finish_sum<from + static_cast<int>(I), S>(sums), 0)...});
  }

  template <int S, std::size_t... I> COTANGENT_INLINE void row_steps(std::index_sequence<I...>) noexcept {
    constexpr int from = shape::begin(shape::row_list(S));
    static_cast<void>(std::initializer_list<int>{(step_row<from + static_cast<int>(I)>(), 0)...});
  }
  template <std::size_t... I> COTANGENT_INLINE void once_steps(std::index_sequence<I...>) noexcept {
    constexpr int from = shape::begin(0);
    static_cast<void>(std::initializer_list<int>{(step_once<from + static_cast<int>(I)>(), 0)...});
  }

  template <int S> COTANGENT_INLINE void stage() noexcept {
    row_steps<S>(std::make_index_sequence<shape::size(shape::row_list(S))>{});
    constexpr int list = shape::lane_list(S);
    if constexpr (shape::size(list) > 0) {
      if constexpr (B == 1 || turned) lane_loop<S>(std::make_index_sequence<shape::size(list)>{});
      else
        for (sub = 0; sub < active; ++sub) lane_loop<S>(std::make_index_sequence<shape::size(list)>{});
      sub = 0;
    }
  }

  template <int I> COTANGENT_INLINE void start_total() noexcept {
    constexpr auto const& v = at(I);
    if constexpr (v.what == action::accumulate) {
      using T = element_t<v.type>;
      constexpr T nothing = described_by<v.op>::template neutral<T>();
      constexpr int k = total_index<I>;
      if constexpr (v.where == role::row) row_totals.template at<v.type>(k) = math::broadcast<row_value<v.type>>(nothing);
      else if constexpr (shape::is_total(v))
        lane_totals.template at<v.type>(k) = math::broadcast<lane_value<v.type>>(nothing);
      else if constexpr (turned)
        for (auto& column : column_totals) column.template at<v.type>(k) = math::broadcast<lane_value<v.type>>(nothing);
      else
        for (std::int64_t c = 0; c < lanes; ++c) pointer<I, T>(0)[c] = nothing;
    }
  }
  template <int I> COTANGENT_INLINE void finish_total() noexcept {
    constexpr auto const& v = at(I);
    if constexpr (v.what == action::accumulate) {
      using T = element_t<v.type>;
      using Op = described_by<v.op>;
      constexpr int k = total_index<I>;
      row = 0;
      if constexpr (v.where == role::row) *pointer<I, T>(0) = across<Op>(row_totals.template at<v.type>(k));
      else if constexpr (shape::is_total(v)) *pointer<I, T>(0) = across<Op>(lane_totals.template at<v.type>(k));
      else if constexpr (turned)
        for (int c = 0; c < shape::columns; ++c) pointer<I, T>(0)[c] = across<Op>(column_totals[c].template at<v.type>(k));
    }
  }

  template <std::size_t... I> COTANGENT_INLINE void turn_in(std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(load_tile<first + static_cast<int>(I)>(), 0)...});
  }
  template <std::size_t... I> COTANGENT_INLINE void turn_out(std::index_sequence<I...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(store_tile<first + static_cast<int>(I)>(), 0)...});
  }

  template <std::size_t... S, std::size_t... I>
  COTANGENT_INLINE void run(std::index_sequence<S...>, std::index_sequence<I...>) noexcept {
    once_steps(std::make_index_sequence<shape::size(0)>{});
    static_cast<void>(std::initializer_list<int>{(start_total<first + static_cast<int>(I)>(), 0)...});
    for (row = 0; row < rows; row += B) {
      if constexpr (B > 1) active = rows - row < B ? rows - row : B;
      if constexpr (N.split > 1) {
        std::int64_t rest = row;
        for (int k = N.split - 1; k >= 0; --k) {
          index[k] = rest % x.value(N.size[k]);
          rest /= x.value(N.size[k]);
        }
      }
      turn_in(std::make_index_sequence<shape::tiles == 0 ? 0 : N.instance_count>{});
      static_cast<void>(std::initializer_list<int>{(stage<static_cast<int>(S)>(), 0)...});
      turn_out(std::make_index_sequence<shape::tiles == 0 ? 0 : N.instance_count>{});
    }
    for (int k = 0; k < max_rank; ++k) index[k] = 0;
    static_cast<void>(std::initializer_list<int>{(finish_total<first + static_cast<int>(I)>(), 0)...});
  }

  COTANGENT_INLINE static void run(Context const& context) noexcept {
    loops l(context);
    l.run(std::make_index_sequence<N.stages>{},
          std::make_index_sequence<shape::total_count == register_count{} ? 0 : N.instance_count>{});
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
