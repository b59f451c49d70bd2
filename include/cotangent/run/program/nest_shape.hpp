// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_SHAPE_HPP
#define COTANGENT_RUN_PROGRAM_NEST_SHAPE_HPP

#include <cotangent/run/program/frozen_sharing.hpp>
#include <cotangent/run/program/registers.hpp>

#include <cstddef>
#include <utility>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The source of an operand.
enum class operand_source : unsigned char { constant, once, row, lane };

/// Compile-time constants of one nest: lanes, lists, the numbers of registers of each kind.
template <class Stage, int K> struct nest_shape {
  static constexpr auto const& P = detail::planned<Stage, simd::bytes>::value;
  static constexpr auto const& C = detail::shared_code<Stage, simd::bytes>::value;
  static constexpr detail::nest N = P.nests.data[K];
  static constexpr int first = N.first_instance;
  using wide = element_t<N.widest == element::boolean ? element::int32 : N.widest>;

  static constexpr detail::instance const& at(int i) { return P.instances.data[i]; }

  /// The stages with equal loops over lanes (evaluated only if named).
  using stages = detail::shared_stages<Stage, simd::bytes, K>;

  static constexpr std::int64_t inner_size = N.lanes;
  static constexpr int W = N.width;
  static constexpr int B = N.block;
  /// True if every block of rows is known to be full.
  static constexpr bool whole_blocks = B == 1 || (N.split == 1 && N.size[0] >= 0 && N.size[0] % B == 0);
  static constexpr bool single_pass = N.single_pass;
  static constexpr int lane_axis = N.rank > N.split ? N.rank - 1 : 0;

  static constexpr int long_body = cotangent::detail::sum_order::long_body;
  static constexpr bool has_long_body = [] {
    for (int s = 0; s < N.stages; ++s)
      if (P.lists.data[N.first_list + 3 + 2 * s] - P.lists.data[N.first_list + 2 + 2 * s] > long_body) return true;
    return false;
  }();
  /// Row buffers of this nest: from the first to the last.
  static constexpr int first_slot = [] {
    int least = P.size.row_slots;
    for (int k = first; k < first + N.instance_count; ++k)
      if (at(k).slot != extend::none && at(k).slot < least) least = at(k).slot;
    return least;
  }();
  static constexpr int slots = [] {
    int most = first_slot - 1;
    for (int k = first; k < first + N.instance_count; ++k)
      if (at(k).slot > most) most = at(k).slot;
    return most + 1 - first_slot;
  }();

  /// Rows in lanes: the loop runs over columns, and a vector holds one element of each row; memory is
  /// transposed by tiles.
  static constexpr bool turned = N.rows_in_lanes;
  static constexpr int columns = turned ? static_cast<int>(inner_size) : 0;
  static_assert(!turned || W == B);

  // The instances of list `key` (see plan::lists).
  static constexpr int begin(int key) { return P.lists.data[N.first_list + key]; }
  static constexpr int size(int key) { return begin(key + 1) - begin(key); }
  static constexpr int row_list(int stage) { return 1 + 2 * stage; }
  static constexpr int lane_list(int stage) { return 2 + 2 * stage; }

  static constexpr bool is_row(detail::instance_facts const& v) { return v.what == detail::action::reduce || v.where == detail::role::row; }
  static constexpr void see(register_count& c, detail::instance_facts const& v) {
    int& n = c.of(v.type);
    if (v.place >= n) n = v.place + 1;
  }
  static constexpr register_count once_count = [] {
    register_count c;
    for (int i = begin(0); i < begin(1); ++i)
      if (at(i).what != detail::action::constant) see(c, at(i));
    return c;
  }();
  static constexpr register_count row_count = [] {
    register_count c;
    for (int i = first; i < first + N.instance_count; ++i)
      if (is_row(at(i))) see(c, at(i));
    return c;
  }();
  static constexpr register_count lane_count(int stage) {
    register_count c;
    for (int i = begin(lane_list(stage)); i < begin(lane_list(stage) + 1); ++i)
      if (!is_row(at(i)) && at(i).what != detail::action::accumulate) see(c, at(i));
    return c;
  }
  /// Accumulators: reductions of one stage, and totals over all rows; numbered in the order of their
  /// instances.
  static constexpr register_count reduce_count(int stage) {
    register_count c;
    for (int i = begin(lane_list(stage)); i < begin(lane_list(stage) + 1); ++i)
      if (at(i).what == detail::action::reduce) ++c.of(at(i).type);
    return c;
  }
  static constexpr int ordinal(int i, detail::action what, int from) {
    int n = 0;
    for (int k = from; k < i; ++k)
      if (at(k).what == what && at(k).type == at(i).type) ++n;
    return n;
  }
  static constexpr register_count total_count = [] {
    register_count c;
    for (int i = first; i < first + N.instance_count; ++i)
      if (at(i).what == detail::action::accumulate) ++c.of(at(i).type);
    return c;
  }();

  static constexpr operand_source source_of(detail::instance_facts const& u) {
    return u.what == detail::action::constant  ? operand_source::constant
           : is_row(u)                         ? operand_source::row
           : u.where == detail::role::once     ? operand_source::once
                                               : operand_source::lane;
  }
  static constexpr detail::instance const& operand(int i, int k) { return at(P.operands.data[at(i).first_operand + k]); }
  static constexpr std::int32_t own_buffer(std::int32_t slot) { return C.own_of_slot.data[slot]; }

  // Constants, where code reads them: without optimization, code that calls `at` would bring the plan.
  template <int I> static constexpr int value_place = at(I).place;
  template <int I, std::size_t O> static constexpr detail::instance_facts operand_facts = operand(I, static_cast<int>(O));
  /// The index of an accumulator among those of its type: over all rows, or within one stage.
  template <int I> static constexpr int total_index = ordinal(I, detail::action::accumulate, first);
  template <int I, int S> static constexpr int sum_index = ordinal(I, detail::action::reduce, begin(lane_list(S)));
  template <int I> static constexpr std::int32_t own_buffer_of = C.own.data[at(I).access];
  static constexpr extend::dimension stride(detail::instance_facts const& v, int axis) { return P.accesses.data[v.access].stride[axis]; }
  template <int I> static consteval extend::dimension row_stride() { return stride(at(I), 0); }
  template <int I> static consteval extend::dimension lane_stride() { return N.rank > N.split ? stride(at(I), lane_axis) : 0; }
  /// True if it accumulates to one element, not along the lanes.
  static constexpr bool is_total(detail::instance_facts const& v) {
    return v.where == detail::role::row || N.rank == 0 || stride(v, N.rank - 1) == 0;
  }

  static constexpr bool is_same_memory(detail::access const& a, detail::access const& c) {
    return c.buffer == a.buffer && c.offset == a.offset && c.stride[0] == a.stride[0] && c.stride[1] == a.stride[1];
  }
  /// The owner of the tile that an instance reads or writes. A load uses the tile of an earlier stage's store
  /// to the same memory, which is not in memory yet; else that of the first such load.
  static constexpr int tile_owner(int i) {
    if (at(i).what != detail::action::load) return i;
    for (bool const stored : {true, false})
      for (int k = first; k < i; ++k)
        if (has_tile(k) && (at(k).what == detail::action::load) != stored &&
            is_same_memory(P.accesses.data[at(i).access], P.accesses.data[at(k).access]))
          return k;
    return i;
  }
  /// The tile of the load whose memory a pick reads one element of, if any.
  static constexpr int tile_of_pick(int i) {
    for (int k = first; k < first + N.instance_count; ++k)
      if (has_tile(k) && at(k).what == detail::action::load && is_same_memory(P.accesses.data[at(i).access], P.accesses.data[at(k).access]))
        return tile_owner(k);
    return extend::none;
  }
  static constexpr bool has_tile(int i) {
    detail::instance const& v = at(i);
    return turned && v.where == detail::role::lane && v.access != extend::none && v.what != detail::action::reduce &&
           v.what != detail::action::accumulate && stride(v, 0) != 0;
  }
  static constexpr int tile(int i) {
    int n = 0;
    for (int k = first; k < tile_owner(i); ++k)
      if (has_tile(k) && tile_owner(k) == k) ++n;
    return n;
  }
  static constexpr int tiles = [] {
    int n = 0;
    for (int k = first; k < first + N.instance_count; ++k)
      if (has_tile(k) && tile_owner(k) == k) ++n;
    return n;
  }();

  static constexpr bool stage_clips(int stage) {
    for (int i = begin(lane_list(stage)); i < begin(lane_list(stage) + 1); ++i)
      if (cotangent::detail::clips(at(i))) return true;
    return false;
  }
  /// True if the one masked step of a row keeps the row's end in a separate buffer; impossible if stages mask
  /// other steps.
  static constexpr bool keeps_ends = [] {
    for (int s = 0; s < N.stages; ++s)
      if (stage_clips(s)) return false;
    return !has_long_body;
  }();
  /// True if equal stages share one function: in a long nest with many of them, each with enough work for a
  /// call. Not if stages pass ends of rows to each other.
  static constexpr bool shares_stages = [] {
    constexpr int shortest = 96, least_saved = 48;
    constexpr float work_of_value =
        // for each value that a stage takes from outside: with less work, calls take several percent of the
        // time
        48;
    if constexpr (N.stages >= 4 && N.instance_count >= shortest && !turned) {
      if (stages::value.instances < least_saved) return false;
      float work = 0;
      for (int k = first; k < first + N.instance_count; ++k) {
        if (at(k).slot != extend::none && P.row_slots.data[at(k).slot].exact &&
            (inner_size < 0 || inner_size % W != 0))
          return false;
        work += 1 + (at(k).op != nullptr ? at(k).op->cost : 0);
      }
      auto const steps = static_cast<float>(B * (inner_size / W));
      return inner_size < 0 || work * steps >= work_of_value * static_cast<float>(stages::value.size);
    }
    return false;
  }();
  static constexpr int shared_values = [] {
    if constexpr (shares_stages) return stages::value.size;
    else return 0;
  }();
  /// Vectors of earlier positions that shifts keep: for each shift, as many as the longest distance needs.
  static constexpr register_count shift_count(int stage) {
    register_count c;
    for (int i = begin(lane_list(stage)); i < begin(lane_list(stage) + 1); ++i)
      if (at(i).what == detail::action::shift) ++c.of(at(i).type);
    return c;
  }
  static constexpr int most_shift = 4;

  /// True if it accumulates over rows, to one element for each position along the lanes.
  static constexpr bool is_column(int i) {
    return at(i).what == detail::action::accumulate && !turned && !is_total(at(i));
  }

  // Code for a few instances takes their indices as a sequence. Instantiating a function for every instance,
  // only to find that most are not affected, would cost as much as for those that are.
  template <int From, int To, class Chosen> struct chosen {
    static constexpr int count = [] {
      int n = 0;
      for (int i = From; i < To; ++i) n += Chosen()(i) ? 1 : 0;
      return n;
    }();
    struct list {
      std::size_t of[count + 1]{};
      consteval list() {
        for (int i = From, n = 0; i < To; ++i)
          if (Chosen()(i)) of[n++] = static_cast<std::size_t>(i);
      }
    };
    static constexpr list all{};
    template <std::size_t... J> static std::index_sequence<all.of[J]...> make(std::index_sequence<J...>);
    using type = decltype(make(std::make_index_sequence<static_cast<std::size_t>(count)>{}));
  };
  struct a_sum {
    constexpr bool operator()(int i) const { return at(i).what == detail::action::reduce; }
  };
  struct a_total {
    constexpr bool operator()(int i) const { return at(i).what == detail::action::accumulate; }
  };
  struct a_column {
    constexpr bool operator()(int i) const { return is_column(i); }
  };
  struct a_clipped {
    constexpr bool operator()(int i) const { return cotangent::detail::clips(at(i)); }
  };
  struct a_load {
    constexpr bool operator()(int i) const { return at(i).what == detail::action::load && at(i).access != extend::none; }
  };
  template <int S, class Chosen>
  using chosen_in = typename chosen<begin(lane_list(S)), begin(lane_list(S) + 1), Chosen>::type;
  template <int S> using sums_of = chosen_in<S, a_sum>;
  template <int S> using columns_of = chosen_in<S, a_column>;
  static constexpr bool writes_rows = [] {
    for (int i = first; i < first + N.instance_count; ++i)
      if (at(i).where == detail::role::lane && at(i).what == detail::action::compute && at(i).access != extend::none) return true;
    return false;
  }();
  template <int S> using loads_of = chosen_in<S, a_load>;
  template <int S> using clipped_in = chosen_in<S, a_clipped>;
  using totals = typename chosen<first, first + N.instance_count, a_total>::type;

  static constexpr detail::stage_form const& form(int stage) { return P.forms.data[N.first_form + stage]; }
  /// True if the sums of all rows of a block are folded at once: a scalar per row would go through memory.
  static constexpr bool folds(int stage) {
    bool any = false;
    for (int i = begin(lane_list(stage)); i < begin(lane_list(stage) + 1); ++i)
      if (at(i).what == detail::action::reduce) {
        any = true;
        if (at(i).type == element::boolean) return false;
      }
    return any && B > 1 && B <= W && !turned;
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
