// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_LOOP_CODE_HPP
#define COTANGENT_RUN_PROGRAM_LOOP_CODE_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/plan/in_place.hpp>
#include <cotangent/plan/straight/straight.hpp>
#include <cotangent/run/program/control_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Loops of static programs. A body is a static program too, whose arguments and results lie where the loop keeps its values:
// carried values in the memory of the loop's results, entries of sequences in the sequences.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The values of a loop with a small body: local variables, which compilers keep in registers.
template <int K, class T, int Count> struct local_value {
  alignas(16) T of[Count > 0 ? Count : 1];
};
template <class Stage, class Indices> struct local_values;
template <class Stage, std::size_t... K>
struct local_values<Stage, std::index_sequence<K...>>
    : local_value<static_cast<int>(K), element_t<Stage::view.tensors[Stage::view.input(static_cast<int>(K))].type>,
                  detail::elements_of(Stage::view, Stage::view.input(static_cast<int>(K)))>... {};
template <int K, class T, int Count> COTANGENT_INLINE T* local(local_value<K, T, Count>& v) noexcept { return v.of; }

/// A loop. Its scratch memory: second buffers of carried values, then the workspace of the body or of the condition.
template <class Stage, int K, class Context> struct loop_code : control_memory<Stage, K, Context> {
  using base = control_memory<Stage, K, Context>;
  using base::all, base::g, base::note, base::operand_at, base::original, base::result_at;
  static constexpr loop_layout at = loop_layout::of(all, original);
  using body = typename base::template program<at.body>;
  using body_stage = region_stage<typename base::whole, at.body>;
  static constexpr bool has_condition = at.condition != none;
  using condition = typename base::template program<has_condition ? at.condition : at.body>;
  static constexpr bool is_limited = all.operand(original, loop_layout::limit()) != none;
  /// The limit if it is a number, else -1.
  static constexpr std::int64_t known_limit = [] {
    if (!is_limited) return std::int64_t{-1};
    std::int32_t const i = all.tensors[all.operand(original, loop_layout::limit())].producer;
    return i != none && all.nodes[i].op == info_of<op::constant>() ? all.attribute(all.nodes[i]) : std::int64_t{-1};
  }();
  static constexpr int carried = at.carried, inputs = at.input_count(), outputs = at.output_count();

  /// True if carried values and captured ones are small enough for registers.
  static constexpr bool is_small = body::is_straight && condition::is_straight;
  static constexpr bool is_static = [] {
    for (int k = 0; k < carried; ++k)
      if (!base::is_known(result_at(k))) return false;
    return body::is_static && (!has_condition || condition::is_static);
  }();

  /// True if the body may write the next value over the current one.
  template <int C> static constexpr bool in_place = [] {
    if constexpr (body::is_straight) return true;
    else return detail::may_be_in_place(body::P, at.init(C), C);
  }();
  template <class Value> static constexpr std::int64_t bytes_of_copies(Value value) {
    return [&]<std::size_t... C>(std::index_sequence<C...>) {
      std::int64_t sum = 0;
      for (std::int64_t const bytes :
           {std::int64_t{0}, in_place<static_cast<int>(C)>
                                 ? std::int64_t{0}
                                 : detail::whole_lines(base::bytes(result_at(static_cast<int>(C)), 0, value))...})
        sum = detail::capped_sum(sum, bytes);
      return sum;
    }(std::make_index_sequence<static_cast<std::size_t>(carried)>{});
  }
  template <class Value> static constexpr std::int64_t scratch(Value value, std::int64_t const* known) {
    std::int64_t const own = base::template workspace_of<body>(known),
                       other = has_condition ? base::template workspace_of<condition>(known) : 0;
    return detail::capped_sum(bytes_of_copies(value), own > other ? own : other);
  }

  static status run(Context const& x) noexcept {
    typename base::addresses const a = base::find(x);
    std::int64_t first = 0, limit = INT64_MAX;
    if constexpr (known_limit >= 0) limit = known_limit;
    else if constexpr (is_limited) limit = integer(a.of[operand_at(loop_layout::limit())]);
    if constexpr (at.has_start()) first = integer(a.of[operand_at(at.start())]);
    std::int64_t const most = limit > first ? limit - first : 0;
    iterations i{first, limit, most, 0, status::ok};
    if constexpr (is_small) run_small(x, a, i);
    else run_large(x, a, i);
    clear_rest(x, a, i, std::make_index_sequence<static_cast<std::size_t>(at.stacked)>{});
    __builtin_memcpy(a.of[result_at(at.trips())], &i.done, sizeof i.done);
    return i.found;
  }

private:
  struct iterations {
    std::int64_t first, limit, most, done;
    status found;

    COTANGENT_INLINE std::int64_t index() const noexcept { return at.is_reverse() ? limit - 1 - done : first + done; }
  };
  static std::int64_t integer(char const* p) noexcept {
    std::int64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  /// The entries that every sequence has room for: more iterations than that are an error.
  COTANGENT_INLINE static std::int64_t room(Context const& x) noexcept {
    std::int64_t least = INT64_MAX;
    for (int k = 0; k < at.stacked; ++k)
      if (std::int64_t const own = x.value(places.of[k]); own < least) least = own;
    return least;
  }
  struct place_table {
    dimension of[at.stacked + 1]{};
    consteval place_table() {
      for (int k = 0; k < at.stacked; ++k) of[k] = g.shape(base::value_of(result_at(at.stack(k)))).size[0];
    }
  };
  static constexpr place_table places{};
  /// True if the iteration finds room; else the loop ends with an error.
  COTANGENT_INLINE static bool fits(iterations& i, std::int64_t most) noexcept {
    if constexpr (at.stacked == 0 || known_limit >= 0) return true; // (sequences have room for a known limit)
    else {
      if (i.index() < most) return true;
      i.found = status::too_many_iterations;
      return false;
    }
  }

  template <std::size_t... S>
  COTANGENT_INLINE static void set_slices(Context const& x, typename base::addresses const& a, [[maybe_unused]] std::int64_t index,
                                          [[maybe_unused]] void const** in, std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (in[at.scan(static_cast<int>(S))] = a.of[operand_at(at.scan(static_cast<int>(S)))] +
                                               index * base::template bytes_of<operand_at(at.scan(static_cast<int>(S))), 1>(x),
            0)...});
  }
  template <std::size_t... S>
  COTANGENT_INLINE static void set_entries(Context const& x, typename base::addresses const& a, [[maybe_unused]] std::int64_t index,
                                           [[maybe_unused]] void** out, std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (out[at.entry(static_cast<int>(S))] = a.of[result_at(at.stack(static_cast<int>(S)))] +
                                                 index * base::template bytes_of<result_at(at.stack(static_cast<int>(S))), 1>(x),
            0)...});
  }
  using scans = std::make_index_sequence<static_cast<std::size_t>(at.scanned)>;
  using stacks = std::make_index_sequence<static_cast<std::size_t>(at.stacked)>;

  // ---- small bodies

  using locals = local_values<body_stage, std::make_index_sequence<static_cast<std::size_t>(at.scan(0))>>;
  template <std::size_t... J>
  COTANGENT_INLINE static void load_locals(locals& v, typename base::addresses const& a, std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{
        0, (load_local<1 + static_cast<int>(J)>(v, a), 0)...});
  }
  /// (Copied element by element: after a copy of bytes, g++ keeps numbers in integer registers.)
  template <class T, int Count> COTANGENT_INLINE static void copy_elements(T* to, T const* from) noexcept {
    for (int k = 0; k < Count; ++k) to[k] = from[k];
  }
  template <int J> static constexpr int count_of = detail::elements_of(body_stage::view, body_stage::view.input(J));
  template <int J> COTANGENT_INLINE static void load_local(locals& v, typename base::addresses const& a) noexcept {
    using T = std::remove_pointer_t<decltype(local<J>(v))>;
    copy_elements<T, count_of<J>>(local<J>(v), reinterpret_cast<T const*>(a.of[operand_at(J)]));
  }
  template <std::size_t... J>
  COTANGENT_INLINE static void store_locals(locals& v, typename base::addresses const& a, std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (store_local<static_cast<int>(J)>(v, a), 0)...});
  }
  template <int J> COTANGENT_INLINE static void store_local(locals& v, typename base::addresses const& a) noexcept {
    constexpr int from = at.init(J);
    using T = std::remove_pointer_t<decltype(local<from>(v))>;
    copy_elements<T, count_of<from>>(reinterpret_cast<T*>(a.of[result_at(J)]), local<from>(v));
  }
  template <std::size_t... J>
  COTANGENT_INLINE static void set_locals(locals& v, void const** in, std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (in[J] = local<static_cast<int>(J)>(v), 0)...});
  }
  template <std::size_t... C>
  COTANGENT_INLINE static void set_next(locals& v, [[maybe_unused]] void** out, std::index_sequence<C...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (out[C] = local<at.init(static_cast<int>(C))>(v), 0)...});
  }

  COTANGENT_INLINE static void run_small(Context const& x, typename base::addresses const& a, iterations& i) noexcept {
    locals v;
    load_locals(v, a, std::make_index_sequence<static_cast<std::size_t>(at.scan(0) - 1)>{});
    [[maybe_unused]] std::int64_t const most = room(x);
    for (; i.done < i.most; ++i.done) {
      std::int64_t const index = i.index();
      local<0>(v)[0] = index;
      void const* in[inputs];
      void* out[outputs + 1];
      set_locals(v, in, std::make_index_sequence<static_cast<std::size_t>(at.scan(0))>{});
      if constexpr (has_condition) {
        if (i.done > 0 || (at.flags & loop_layout::runs_first) == 0) {
          bool goes_on;
          void* const to[]{&goes_on};
          note(i.found, condition::run(nullptr, in, to, nullptr));
          if (!goes_on) break;
        }
      }
      if (!fits(i, most)) break;
      set_slices(x, a, index, in, scans{});
      set_next(v, out, std::make_index_sequence<static_cast<std::size_t>(carried)>{});
      set_entries(x, a, index, out, stacks{});
      note(i.found, body::run(nullptr, in, out, nullptr));
    }
    store_locals(v, a, std::make_index_sequence<static_cast<std::size_t>(carried)>{});
  }

  // ---- large bodies

  /// The places of a carried value: where it is now, and where the next one is written.
  struct carry {
    char const* now;
    char *next, *spare;
  };
  template <int C>
  COTANGENT_INLINE static carry begin(Context const& x, typename base::addresses const& a, std::int64_t most, char*& scratch) noexcept {
    carry c{a.of[operand_at(at.init(C))], a.of[result_at(C)], a.of[result_at(C)]};
    if constexpr (!in_place<C>) {
      c.spare = scratch;
      scratch += detail::whole_lines(base::template bytes_of<result_at(C)>(x));
      if (most % 2 == 0) { // the last iteration writes the result
        char* const other = c.next;
        c.next = c.spare;
        c.spare = other;
      }
    }
    return c;
  }
  template <int C> COTANGENT_INLINE static void end(Context const& x, typename base::addresses const& a, carry const& c) noexcept {
    if (char* const to = a.of[result_at(C)]; c.now != to)
      __builtin_memcpy(to, c.now, static_cast<std::size_t>(base::template bytes_of<result_at(C)>(x)));
  }
  static void run_large(Context const& x, typename base::addresses const& a, iterations& i) noexcept {
    run_large(x, a, i, std::make_index_sequence<static_cast<std::size_t>(carried)>{});
  }
  template <std::size_t... C>
  COTANGENT_INLINE static void run_large(Context const& x, typename base::addresses const& a, iterations& i,
                                         std::index_sequence<C...>) noexcept {
    char* scratch = x.scratch;
    carry c[carried + 1]{begin<static_cast<int>(C)>(x, a, i.most, scratch)...};
    [[maybe_unused]] std::int64_t const most = room(x);
    std::int64_t index = 0;
    void const* in[inputs];
    void* out[outputs + 1];
    in[0] = &index;
    for (int k = 0; k < at.captured; ++k) in[at.capture(k)] = a.of[operands.of[at.capture(k)]];
    for (; i.done < i.most; ++i.done) {
      index = i.index();
      for (int k = 0; k < carried; ++k) in[at.init(k)] = c[k].now;
      if constexpr (has_condition) {
        if (i.done > 0 || (at.flags & loop_layout::runs_first) == 0) {
          bool goes_on;
          void* const to[]{&goes_on};
          note(i.found, condition::run(scratch, in, to, x.size));
          if (!goes_on) break;
        }
      }
      if (!fits(i, most)) break;
      set_slices(x, a, index, in, scans{});
      for (int k = 0; k < carried; ++k) out[k] = c[k].next;
      set_entries(x, a, index, out, stacks{});
      note(i.found, body::run(scratch, in, out, x.size));
      for (int k = 0; k < carried; ++k) {
        char* const written = c[k].next;
        c[k].next = c[k].spare;
        c[k].now = c[k].spare = written;
      }
    }
    static_cast<void>(std::initializer_list<int>{0, (end<static_cast<int>(C)>(x, a, c[C]), 0)...});
  }
  struct operand_table {
    int of[inputs + 1]{};
    consteval operand_table() {
      for (int k = 0; k < inputs; ++k) of[k] = operand_at(k);
    }
  };
  static constexpr operand_table operands{};

  /// Entries that no iteration has written are zero.
  template <std::size_t... S>
  COTANGENT_INLINE static void clear_rest(Context const& x, typename base::addresses const& a, iterations const& i,
                                          std::index_sequence<S...>) noexcept {
    static_cast<void>(std::initializer_list<int>{0, (clear_rest<static_cast<int>(S)>(x, a, i), 0)...});
  }
  template <int S> static void clear_rest(Context const& x, typename base::addresses const& a, iterations const& i) noexcept {
    constexpr int j = result_at(at.stack(S));
    std::int64_t const entry = base::template bytes_of<j, 1>(x), entries = x.value(places.of[S]);
    std::int64_t const low = at.is_reverse() ? i.limit - i.done : i.first, high = low + i.done;
    char* const p = a.of[j];
    if (i.done <= 0) {
      __builtin_memset(p, 0, static_cast<std::size_t>(entry * entries));
      return;
    }
    if (low > 0) __builtin_memset(p, 0, static_cast<std::size_t>(entry * low));
    if (high < entries) __builtin_memset(p + entry * high, 0, static_cast<std::size_t>(entry * (entries - high)));
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
