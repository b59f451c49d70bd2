// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_INDEXING_HPP
#define COTANGENT_TRACE_INDEXING_HPP

#include <cotangent/trace/lift.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

// x(i, ct::all, ct::range<0, 8, 2>): elements, rows and windows of an expression.

namespace cotangent {

struct all_t {};
/// Keeps an axis as it is.
inline constexpr all_t all{};

/// The end of an axis, in a range.
inline constexpr std::int64_t end = INT64_MAX;

template <std::int64_t Start, std::int64_t Stop, std::int64_t Step = 1> struct range_t {};
/// Keeps the positions Start, Start + Step, ... below Stop. Negative bounds count from the end of the axis, also where its
/// extent has a name: `ct::range<0, -1>` is all but the last.
template <std::int64_t Start, std::int64_t Stop = end, std::int64_t Step = 1>
inline constexpr range_t<Start, Stop, Step> range{};

namespace detail {

/// What one index does to its axis: `position` counts only where the axis goes.
struct place_on_axis {
  bool drops = false, whole = false;
  std::int64_t start = 0, stop = 0, step = 1;

  /// A bound counted from the start of an axis of extent n.
  static constexpr extent counted(std::int64_t bound, extent const& n) noexcept {
    return bound == end ? n : bound >= 0 ? extent::of(bound) : n - extent::of(-bound);
  }
  /// Whether the range lies within an axis of n elements; then `start` and `stop` count from its start.
  constexpr bool fits(dimension n) noexcept {
    start += start < 0 ? n : 0;
    stop = stop == end ? n : stop < 0 ? stop + n : stop;
    return start >= 0 && start <= stop && stop <= n;
  }
  constexpr std::int64_t count() const noexcept { return stop > start ? (stop - start - 1) / step + 1 : 0; }
};

template <class Index> struct place_traits {
  static constexpr bool known = std::convertible_to<Index, std::int64_t> && !std::is_same_v<Index, bool>;
  static constexpr place_on_axis place{.drops = true};
};
template <> struct place_traits<all_t> {
  static constexpr bool known = true;
  static constexpr place_on_axis place{.whole = true};
};
template <std::int64_t Start, std::int64_t Stop,
          std::int64_t Step> struct place_traits<range_t<Start, Stop, Step>> {
  static constexpr bool known = true;
  static constexpr place_on_axis place{.start = Start, .stop = Stop, .step = Step};
};

/// One slice for all axes, and one reshape for those that go. Integers are values, so what they refuse is known only
/// when the function is traced; all else is refused by type.
template <class... Index> struct take_fn {
  std::int64_t at[sizeof...(Index)]{};
  bool on_trial = true;

  constexpr term operator()(term x) const {
    builder& b = *x.b;
    dimensions const from = x.dims();
    dimensions part = from, result;
    std::int64_t window[2 * max_rank]{};
    place_on_axis const places[]{place_traits<Index>::place...};
    for (int k = 0; k < from.rank; ++k) {
      window[2 * k + 1] = 1;
      place_on_axis const p =
          k < static_cast<int>(sizeof...(Index)) ? places[k] : place_on_axis{.whole = true};
      dimension const n = from.size[k];
      if (p.drops) {
        window[2 * k] = position(b, n, at[k]);
        part.size[k] = 1;
        continue;
      }
      if (!p.whole && !narrow(b, n, p, window[2 * k], part.size[k])) return x;
      window[2 * k + 1] = p.step;
      result.size[result.rank++] = part.size[k];
    }
    if (b.failed().why != nullptr) return x;
    term const y = part == from ? x : op::slice::of(x, window, b.shape(part));
    return op::reshape::of(y, b.shape(result));
  }

private:
  constexpr dimension position(builder& b, dimension n, std::int64_t i) const {
    if (on_trial) return 0;
    if (n < 0) return i >= 0 ? i : b.size(b.extent_of(n) - extent::of(-i));
    if (i >= -n && i < n) return i < 0 ? i + n : i;
    b.fail({why<refusals::index_out_of_range>(), extent::of(i), extent::of(n), none, b.place});
    return 0;
  }
  static constexpr bool narrow(builder& b, dimension n, place_on_axis p, dimension& start, dimension& count) {
    auto const refuse = [&](refusal const* why, std::int64_t given, extent const& wanted) {
      b.fail({why, extent::of(given), wanted, none, b.place});
      return false;
    };
    if (p.step < 1) return refuse(why<refusals::range_step>(), p.step, extent::of(1));
    if (n < 0) {
      extent const size = b.extent_of(n), first = place_on_axis::counted(p.start, size);
      extent const length = place_on_axis::counted(p.stop, size) - first;
      if (length.is_symbol()) {
        if (p.step != 1) return refuse(why<refusals::range_step>(), p.step, extent::of(1));
        start = b.size(first);
        count = b.size(length);
        return true;
      }
      if (length.is_number()) {
        start = b.size(first);
        count = length.number > 0 ? (length.number - 1) / p.step + 1 : 0;
        return true;
      }
      return refuse(why<refusals::slice_out_of_range>(), p.start, size);
    }
    place_on_axis within = p;
    if (!within.fits(n)) {
      bool const start_fits = within.start >= 0 && within.start <= within.stop;
      return refuse(why<refusals::slice_out_of_range>(), start_fits ? p.stop : p.start, extent::of(n));
    }
    start = within.start;
    count = within.count();
    return true;
  }
};

template <class X> struct index_list {
  template <class... Index>
  static constexpr auto take(std::source_location where, X const& x, Index const&... index) {
    if constexpr (!(place_traits<Index>::known && ...)) {
      static_assert(refusals::index_of_kind::report<Index...>());
      return refused{};
    } else if constexpr (sizeof...(Index) > X::rank) {
      refusals::number_of_places::report<extent::of(sizeof...(Index)), extent::of(X::rank)>();
      return refused{};
    } else {
      // as `lift`, but with less between an error and the line that made it
      using trial = inferred<take_fn<Index...>, X>;
      if constexpr (trial::refuses) {
        static_assert(refusal_behind<trial::value.why>::template report<trial::value.left, trial::value.right>());
        return refused{};
      } else {
        auto const position = []<class I>(I const& i) -> std::int64_t {
          if constexpr (std::convertible_to<I, std::int64_t>) return static_cast<std::int64_t>(i);
          else return 0;
        };
        return detail::lift_as<typename trial::type>(where, take_fn<Index...>{{position(index)...}, false},
                                                     x);
      }
    }
  }
};

} // namespace detail
} // namespace cotangent

#endif
