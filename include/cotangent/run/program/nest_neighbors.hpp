// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_NEIGHBORS_HPP
#define COTANGENT_RUN_PROGRAM_NEST_NEIGHBORS_HPP

#include <cotangent/run/program/nest_shape.hpp>

#include <cstdint>
#include <type_traits>

// Neighboring elements that a stage loads, or stores, with one stride along the lanes, as the columns of [n, 4]: 16 bytes of each
// position are accessed at once, and transposed.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The loads, or the stores, of stage S that belong to a window of 16 bytes of each position.
///
/// A window of loads ends with an element that is loaded, and so does not leave the memory; else it begins with one. All elements of a
/// window of stores are stored; with 4 bytes each also three, where positions are three elements apart.
template <class Shape, int S, bool Stores> struct neighbors {
  static constexpr int from = Shape::begin(Shape::lane_list(S)), count = Shape::size(Shape::lane_list(S));
  struct member {
    int turner = extend::none; // the first load of its window, which loads all of it; the last store
    int first = 0;             // of its window, among the registers of windows
    int index = 0;             // in its window
    int used = 0;              // elements of the window, from the first one on, that are inside the memory
    bool leaves = false;       // the window reaches into the next position
    bool packed = false;       // windows lie side by side, without gaps
  };
  member of[count + 1]{};
  register_count registers;

  constexpr member const& at(int i) const { return of[i - from]; }
  constexpr bool has(int i) const { return at(i).turner != extend::none; }
  /// Elements of a window.
  static constexpr int most(element e) { return 16 / static_cast<int>(size_of(e)); }

  consteval neighbors() {
    if (Shape::turned || Shape::shares_stages || Shape::N.rank <= Shape::N.split || Shape::W == 1) return;
    int all[count + 1]{}, found = 0;
    for (int i = from; i < from + count; ++i)
      if (joins(i)) all[found++] = i;
    for (int k = 0; k < found; ++k) {
      if (all[k] == extend::none) continue;
      int beside[count + 1]{}, size = 0; // by offset
      for (int j = found; --j >= k;)
        if (all[j] != extend::none && is_beside(all[k], all[j])) {
          int at = size++;
          for (; at > 0 && access(beside[at - 1]).offset < access(all[j]).offset; --at) beside[at] = beside[at - 1];
          beside[at] = all[j];
          if (j != k) all[j] = extend::none;
        }
      for (int end = size; end > 0;) end = find_window(beside, end);
    }
  }

private:
  static constexpr detail::access const& access(int i) { return Shape::P.accesses.data[Shape::at(i).access]; }
  static constexpr std::int64_t lane_stride(int i) { return access(i).stride[Shape::N.rank - 1]; }
  static constexpr bool joins(int i) {
    detail::instance const& v = Shape::at(i);
    if (v.what != (Stores ? detail::action::compute : detail::action::load) || v.where != detail::role::lane ||
        v.access == extend::none || cotangent::detail::clips(v))
      return false;
    if (v.type == element::boolean || cotangent::detail::is_half(v.type)) return false;
    if (Shape::W < most(v.type) || Shape::W * static_cast<int>(size_of(v.type)) > simd::bytes) return false;
    return access(i).offset >= 0 && lane_stride(i) != 0 && lane_stride(i) != 1;
  }
  static constexpr bool is_beside(int i, int k) {
    bool same = Shape::at(i).type == Shape::at(k).type && access(i).buffer == access(k).buffer;
    for (int axis = 0; axis < Shape::N.rank; ++axis) same = same && access(i).stride[axis] == access(k).stride[axis];
    return same;
  }
  /// Elements between positions, if these few are the elements of a window without gaps. (With smaller vectors, more shuffles.)
  static constexpr int packed_elements(int i) {
    bool const wide = simd::bytes == 64 && Shape::W * static_cast<int>(size_of(Shape::at(i).type)) == 64;
    return wide && lane_stride(i) <= 4 ? static_cast<int>(lane_stride(i)) : 0;
  }
  struct window {
    std::int64_t low = 0, top = 0; // offsets
    int end = 0;                   // of the accesses that are left
    int members = 0, turner = extend::none;
  };
  /// Of accesses in the order of falling offsets: the last ones, at these many offsets.
  static constexpr window window_of(int const* beside, int end, int elements) {
    window w{access(beside[end - 1]).offset, access(beside[end - 1]).offset, end};
    for (; w.end > 0 && access(beside[w.end - 1]).offset < w.low + elements; --w.end) {
      int const i = beside[w.end - 1];
      if (w.members == 0 || access(i).offset > w.top) ++w.members;
      w.top = access(i).offset;
      if (w.turner == extend::none || (Stores ? i > w.turner : i < w.turner)) w.turner = i;
    }
    return w;
  }
  constexpr int find_window(int const* beside, int end) {
    int const i = beside[end - 1], n = most(Shape::at(i).type), side_by_side = packed_elements(i);
    window w = window_of(beside, end, side_by_side > 0 ? side_by_side : n);
    bool const packed = side_by_side > 0 && w.top == w.low + side_by_side - 1 && (!Stores || w.members == side_by_side);
    if (side_by_side > 0 && !packed) w = window_of(beside, end, n);
    bool const leaves = !packed && (Stores ? w.members == 3 && w.top == w.low + 2 && lane_stride(i) == 3 : w.top < n - 1 && lane_stride(i) > 1);
    std::int64_t const begin = packed || Stores || leaves ? w.low : w.top - n + 1;
    if (w.members < 2 || begin < 0 || (Stores && w.members < n && !leaves && !packed)) return w.end;
    int const used = static_cast<int>(w.top - begin) + 1;
    for (int k = w.end; k < end; ++k)
      of[beside[k] - from] = {w.turner, registers.of(Shape::at(i).type), static_cast<int>(access(beside[k]).offset - begin), used, leaves, packed};
    registers.of(Shape::at(i).type) += used > n ? used : n;
    return w.end;
  }
};

/// The values of lanes of one stage, and its windows.
template <class Shape, int S> struct stage_neighbors {
  static constexpr neighbors<Shape, S, false> loads{};
  static constexpr neighbors<Shape, S, true> stores{};
  using values = registers<Shape::W, typename Shape::wide, Shape::lane_count(S)>;
  struct with_windows : values {
    registers<Shape::W, typename Shape::wide, loads.registers> loaded;
    registers<Shape::W, typename Shape::wide, stores.registers> stored;
  };
  using lane_registers =
      std::conditional_t<loads.registers == register_count() && stores.registers == register_count(), values, with_windows>;
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
