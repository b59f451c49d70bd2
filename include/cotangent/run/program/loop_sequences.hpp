// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_LOOP_SEQUENCES_HPP
#define COTANGENT_RUN_PROGRAM_LOOP_SEQUENCES_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/run/program/control_memory.hpp>
#include <cotangent/run/program/growing.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The iterations of a loop, and their entries in the sequences that it reads and writes.
template <class Stage, int K, class Context> class loop_sequences : control_memory<Stage, K, Context> {
  using base = control_memory<Stage, K, Context>;
  using base::all, base::g, base::operand_at, base::original, base::result_at;

public:
  static constexpr detail::loop_layout at = detail::loop_layout::of(all, original);
  using body_stage = detail::region_stage<typename base::whole, at.body>;
  static constexpr bool has_condition = at.condition != extend::none;
  static constexpr bool is_limited = all.operand(original, detail::loop_layout::limit()) != extend::none;
  /// The limit if it is a number, else -1.
  static constexpr std::int64_t known_limit = [] {
    if (!is_limited) return std::int64_t{-1};
    std::int32_t const i = all.tensors[all.operand(original, detail::loop_layout::limit())].producer;
    return i != extend::none && all.nodes[i].op == info_of<op::constant>() ? all.attribute(all.nodes[i]) : std::int64_t{-1};
  }();

  struct iterations {
    std::int64_t first, limit, most, done;
    status found;

    COTANGENT_INLINE std::int64_t index() const noexcept { return at.is_reverse() ? limit - 1 - done : first + done; }
  };

  using scans = std::make_index_sequence<static_cast<std::size_t>(at.scanned)>;
  using stacks = std::make_index_sequence<static_cast<std::size_t>(at.stacked)>;

private:
  static constexpr bool scan_grows(int s) { return g.shape(base::value_of(operand_at(at.scan(s)))).rank == 0; }
  static constexpr bool stack_grows(int s) { return g.shape(base::value_of(result_at(at.stack(s)))).rank == 0; }
  static constexpr int growing_stacks = [] {
    int n = 0;
    for (int k = 0; k < at.stacked; ++k) n += stack_grows(k) ? 1 : 0;
    return n;
  }();
  struct growing_cursors {
    entry_cursor scan[at.scanned + 1], stack[at.stacked + 1];
    char* zeros[at.scanned + 1]{};
    growing_sequence* made[at.stacked + 1]{};
    std::int64_t left = 0; // the following iterations whose entries are neighbors
  };
  struct no_cursors {};
  struct place_table {
    extend::dimension of[at.stacked + 1]{};
    bool scan_starts[at.scanned + 1]{}, stack_starts[at.stacked + 1]{}; // entries lie at their distance from the start
    constexpr place_table() {
      for (int k = 0; k < at.stacked; ++k)
        of[k] = stack_grows(k) ? INT64_MAX : g.shape(base::value_of(result_at(at.stack(k)))).size[0];
      if (!at.has_start()) return;
      detail::sequence_sizes const& sizes = detail::frozen_sequences<typename base::whole>::value;
      for (int k = 0; k < at.scanned; ++k) scan_starts[k] = sizes.from_start(all.operand(original, at.scan(k)));
      for (int k = 0; k < at.stacked; ++k)
        if (extend::symbol const t = all.result(original, at.stack(k)); t != extend::none) stack_starts[k] = sizes.from_start(t);
    }
  };
  static constexpr place_table places{};

public:
  static constexpr bool has_growing = [] {
    bool found = growing_stacks > 0;
    for (int k = 0; k < at.scanned; ++k) found = found || scan_grows(k);
    return found;
  }();
  using cursors = std::conditional_t<has_growing, growing_cursors, no_cursors>;

  /// Every sequence has room below this number of an iteration: further iterations are an error.
  COTANGENT_INLINE static std::int64_t room(Context const& x, std::int64_t first) noexcept {
    std::int64_t least = INT64_MAX;
    for (int k = 0; k < at.stacked; ++k)
      if (std::int64_t const own = x.value(places.of[k]); own < INT64_MAX && own + (places.stack_starts[k] ? first : 0) < least)
        least = own + (places.stack_starts[k] ? first : 0);
    return least;
  }
  /// True if the iteration finds room; else the loop ends with an error.
  COTANGENT_INLINE static bool fits(iterations& i, std::int64_t most) noexcept {
    if constexpr (at.stacked == growing_stacks || known_limit >= 0) return true; // (sequences have room for a known limit)
    else {
      if (i.index() < most) return true;
      i.found = status::too_many_iterations;
      return false;
    }
  }

  /// Creates sequences of unknown length.
  template <std::size_t... S>
  static void make_sequences(Context const& x, iterations const& i, cursors& c, std::index_sequence<S...>) noexcept {
    [[maybe_unused]] constexpr std::int64_t few = 8; // a loop with a condition may end early
    static_cast<void>(std::initializer_list<int>{
        0, (stack_grows(static_cast<int>(S))
                ? (c.made[S] = x.tape->make(bytes_in_body<body_stage::view.output(at.entry(static_cast<int>(S)))>(x),
                                            has_condition && i.most > few ? few : i.most, i.first),
                   0)
                : 0)...});
  }
  /// Writes the addresses of the sequences to the results of the loop.
  template <std::size_t... S>
  static void put_sequences(typename base::addresses const& a, iterations const& i, cursors& c, std::index_sequence<S...>) noexcept {
    static_cast<void>(
        std::initializer_list<int>{0, (stack_grows(static_cast<int>(S)) ? (put_sequence<static_cast<int>(S)>(a, i, c), 0) : 0)...});
  }
  /// Moves to the entries of the next iteration; false if there is no memory for them.
  COTANGENT_INLINE static bool advance(Context const& x, typename base::addresses const& a, iterations& i, cursors& c) noexcept {
    if (c.left == 0) return find_entries(x, a, i, c, scans{}, stacks{});
    --c.left;
    for (int k = 0; k < at.scanned; ++k)
      if (scan_grows(k)) c.scan[k].at += c.scan[k].distance;
    for (int k = 0; k < at.stacked; ++k)
      if (stack_grows(k)) c.stack[k].at += c.stack[k].distance;
    return true;
  }
  template <std::size_t... S>
  COTANGENT_INLINE static void set_slices(Context const& x, typename base::addresses const& a, [[maybe_unused]] iterations const& i,
                                          [[maybe_unused]] cursors const& c, [[maybe_unused]] void const** in,
                                          std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (in[at.scan(static_cast<int>(S))] =
                slice<static_cast<int>(S)>(x, a, i.index() - (places.scan_starts[S] ? i.first : 0), c), 0)...});
  }
  template <std::size_t... S>
  COTANGENT_INLINE static void set_entries(Context const& x, typename base::addresses const& a, [[maybe_unused]] iterations const& i,
                                           [[maybe_unused]] cursors const& c, [[maybe_unused]] void** out,
                                           std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (out[at.entry(static_cast<int>(S))] =
                entry<static_cast<int>(S)>(x, a, i.index() - (places.stack_starts[S] ? i.first : 0), c), 0)...});
  }
  /// Entries that no iteration has written are zero.
  template <std::size_t... S>
  COTANGENT_INLINE static void clear_rest(Context const& x, typename base::addresses const& a, iterations const& i,
                                          std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (clear_rest<static_cast<int>(S)>(x, a, i), 0)...});
  }

private:
  /// The bytes of value `t` of the body.
  template <extend::symbol T> static std::int64_t bytes_in_body(Context const& x) noexcept {
    constexpr extend::dimensions d = body_stage::view.shape(T);
    std::int64_t n = static_cast<std::int64_t>(size_of(body_stage::view.tensors[T].type));
    for (int k = 0; k < d.rank; ++k) n *= x.value(d.size[k]);
    return n;
  }
  template <int S> static void put_sequence(typename base::addresses const& a, iterations const& i, cursors& c) noexcept {
    growing_sequence* const made = c.made[S];
    if (made != nullptr && i.done > 0 && !at.is_reverse()) made->reach(i.first + i.done - 1); // (reverse: the first was the last)
    run::put_sequence(a.of[result_at(at.stack(S))], made);
  }
  template <std::size_t... S, std::size_t... T>
  [[gnu::noinline]] static bool find_entries(Context const& x, typename base::addresses const& a, iterations& i, cursors& c,
                                             std::index_sequence<S...>, std::index_sequence<T...>) noexcept {
    std::int64_t const index = i.index();
    std::int64_t least = INT64_MAX;
    bool found = true;
    auto const note_run = [&](entry_cursor const& e, std::int64_t n) {
      found = found && e.at != nullptr;
      if (n < least) least = n;
    };
    static_cast<void>(std::initializer_list<int>{
        0, (scan_grows(static_cast<int>(S))
                ? (note_run(c.scan[S], c.scan[S].read(sequence_in(a.of[operand_at(at.scan(static_cast<int>(S)))]), index,
                                                      at.is_reverse(),
                                                      bytes_in_body<body_stage::view.input(at.scan(static_cast<int>(S)))>(x),
                                                      c.zeros[S], *x.tape)),
                   0)
                : 0)...});
    static_cast<void>(std::initializer_list<int>{
        0, (stack_grows(static_cast<int>(T))
                ? (note_run(c.stack[T], c.stack[T].write(c.made[T], index, at.is_reverse(), *x.tape)), 0)
                : 0)...});
    c.left = least - 1;
    if (!found) i.found = status::out_of_memory;
    return found;
  }
  template <int S>
  COTANGENT_INLINE static char* slice(Context const& x, typename base::addresses const& a, std::int64_t index,
                                      [[maybe_unused]] cursors const& c) noexcept {
    if constexpr (scan_grows(S)) return c.scan[S].at;
    else return a.of[operand_at(at.scan(S))] + index * base::template bytes_of<operand_at(at.scan(S)), 1>(x);
  }
  template <int S>
  COTANGENT_INLINE static char* entry(Context const& x, typename base::addresses const& a, std::int64_t index,
                                      [[maybe_unused]] cursors const& c) noexcept {
    if constexpr (stack_grows(S)) return c.stack[S].at;
    else return a.of[result_at(at.stack(S))] + index * base::template bytes_of<result_at(at.stack(S)), 1>(x);
  }
  template <int S>
  static void clear_rest([[maybe_unused]] Context const& x, [[maybe_unused]] typename base::addresses const& a,
                         [[maybe_unused]] iterations const& i) noexcept {
    if constexpr (!stack_grows(S)) clear_entries<S>(x, a, i);
  }
  template <int S> static void clear_entries(Context const& x, typename base::addresses const& a, iterations const& i) noexcept {
    constexpr int j = result_at(at.stack(S));
    std::int64_t const entry = base::template bytes_of<j, 1>(x), entries = x.value(places.of[S]);
    std::int64_t const low = (at.is_reverse() ? i.limit - i.done : i.first) - (places.stack_starts[S] ? i.first : 0),
                       high = low + i.done;
    // (With a bound for each count, which g++ would take for a negative one.)
    auto const clear = [&](std::int64_t first, std::int64_t end) {
      if (first < 0 || end > entries || first >= end) return;
      __builtin_memset(a.of[j] + entry * first, 0, static_cast<std::size_t>(entry) * static_cast<std::size_t>(end - first));
    };
    if (i.done <= 0) return clear(0, entries);
    clear(0, low);
    clear(high, entries);
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
