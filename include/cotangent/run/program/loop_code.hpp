// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_LOOP_CODE_HPP
#define COTANGENT_RUN_PROGRAM_LOOP_CODE_HPP

#include <cotangent/plan/in_place.hpp>
#include <cotangent/plan/straight/straight.hpp>
#include <cotangent/run/program/loop_sequences.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Loops of static programs. A body is a static program too, whose arguments and results lie where the loop keeps its values:
// carried values in the memory of the loop's results, entries of sequences in the sequences. Sequences of unknown length are
// chunks of the tape.

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
  using base::all, base::note, base::operand_at, base::original, base::result_at;
  using sequences = loop_sequences<Stage, K, Context>;
  using body_stage = typename sequences::body_stage;
  static constexpr detail::loop_layout at = sequences::at;
  static constexpr bool has_condition = sequences::has_condition;
  using body = typename base::template program<at.body>;
  using condition = typename base::template program<has_condition ? at.condition : at.body>;
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
                                 : detail::whole_lines(base::template bytes<result_at(static_cast<int>(C))>(0, value))...})
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
    if constexpr (sequences::known_limit >= 0) limit = sequences::known_limit;
    else if constexpr (sequences::is_limited) limit = integer(a.of[operand_at(detail::loop_layout::limit())]);
    if constexpr (at.has_start()) first = integer(a.of[operand_at(at.start())]);
    std::int64_t const most = limit > first ? limit - first : 0;
    iterations i{first, limit, most, 0, status::ok};
    cursors c;
    if constexpr (sequences::has_growing) {
      if (x.tape->failed()) { // the number of iterations may be that of a loop that found no memory
        i.most = 0;
        i.found = status::out_of_memory;
      }
      sequences::make_sequences(x, i, c, stacks{});
    }
    if constexpr (is_small) run_small(x, a, i, c);
    else run_large(x, a, i, c);
    if constexpr (sequences::has_growing) sequences::put_sequences(a, i, c, stacks{});
    sequences::clear_rest(x, a, i, stacks{});
    __builtin_memcpy(a.of[result_at(at.trips())], &i.done, sizeof i.done);
    return i.found;
  }

private:
  using iterations = typename sequences::iterations;
  using cursors = typename sequences::cursors;
  using scans = typename sequences::scans;
  using stacks = typename sequences::stacks;
  static std::int64_t integer(char const* p) noexcept {
    std::int64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }

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

  COTANGENT_INLINE static void run_small(Context const& x, typename base::addresses const& a, iterations& i, [[maybe_unused]] cursors& c) noexcept {
    locals v;
    load_locals(v, a, std::make_index_sequence<static_cast<std::size_t>(at.scan(0) - 1)>{});
    [[maybe_unused]] std::int64_t const most = sequences::room(x, i.first);
    for (; i.done < i.most; ++i.done) {
      std::int64_t const index = i.index();
      local<0>(v)[0] = index;
      void const* in[inputs];
      void* out[outputs + 1];
      set_locals(v, in, std::make_index_sequence<static_cast<std::size_t>(at.scan(0))>{});
      if constexpr (has_condition) {
        if (i.done > 0 || (at.flags & detail::loop_layout::runs_first) == 0) {
          bool goes_on;
          void* const to[]{&goes_on};
          note(i.found, condition::run(nullptr, in, to, nullptr));
          if (!goes_on) break;
        }
      }
      if (!sequences::fits(i, most)) break;
      if constexpr (sequences::has_growing)
        if (!sequences::advance(x, a, i, c)) break;
      sequences::set_slices(x, a, i, c, in, scans{});
      set_next(v, out, std::make_index_sequence<static_cast<std::size_t>(carried)>{});
      sequences::set_entries(x, a, i, c, out, stacks{});
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
      if (c.now == c.next || most % 2 == 0) { // the last iteration writes the result, unless the first one reads it
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
  static void run_large(Context const& x, typename base::addresses const& a, iterations& i, cursors& c) noexcept {
    run_large(x, a, i, c, std::make_index_sequence<static_cast<std::size_t>(carried)>{});
  }
  template <std::size_t... C>
  COTANGENT_INLINE static void run_large(Context const& x, typename base::addresses const& a, iterations& i,
                                         [[maybe_unused]] cursors& c, std::index_sequence<C...>) noexcept {
    char* scratch = x.scratch;
    carry v[carried + 1]{begin<static_cast<int>(C)>(x, a, i.most, scratch)...};
    [[maybe_unused]] std::int64_t const most = sequences::room(x, i.first);
    std::int64_t index = 0;
    void const* in[inputs];
    void* out[outputs + 1];
    in[0] = &index;
    for (int k = 0; k < at.captured; ++k) in[at.capture(k)] = a.of[operands.of[at.capture(k)]];
    for (; i.done < i.most; ++i.done) {
      index = i.index();
      for (int k = 0; k < carried; ++k) in[at.init(k)] = v[k].now;
      if constexpr (has_condition) {
        if (i.done > 0 || (at.flags & detail::loop_layout::runs_first) == 0) {
          bool goes_on;
          void* const to[]{&goes_on};
          note(i.found, run_inner<condition, false>(x, scratch, in, to));
          if (!goes_on) break;
        }
      }
      if (!sequences::fits(i, most)) break;
      if constexpr (sequences::has_growing)
        if (!sequences::advance(x, a, i, c)) break;
      sequences::set_slices(x, a, i, c, in, scans{});
      for (int k = 0; k < carried; ++k) out[k] = v[k].next;
      sequences::set_entries(x, a, i, c, out, stacks{});
      note(i.found, run_inner<body, returns_sequences>(x, scratch, in, out));
      for (int k = 0; k < carried; ++k) {
        char* const written = v[k].next;
        v[k].next = v[k].spare;
        v[k].now = v[k].spare = written;
      }
    }
    static_cast<void>(std::initializer_list<int>{0, (end<static_cast<int>(C)>(x, a, v[C]), 0)...});
  }
  static constexpr bool returns_sequences = [] {
    for (int k = 0; k < outputs; ++k)
      if (all.tensors[all.output(k, at.body)].depth > 0) return true;
    return false;
  }();
  /// Runs the body or the condition. Its sequences on the tape are freed, unless it returns some.
  template <class Body, bool Keeps>
  COTANGENT_INLINE static status run_inner(Context const& x, char* scratch, void const* const* in, void* const* out) noexcept {
    if constexpr (!Body::grows) return Body::run(scratch, in, out, x.size);
    else if constexpr (Keeps || !Body::has_control) return Body::run(scratch, in, out, x.size, x.tape);
    else {
      detail::tape_stack::mark const before = x.tape->here();
      status const s = Body::run(scratch, in, out, x.size, x.tape);
      x.tape->back_to(before);
      return s;
    }
  }
  struct operand_table {
    int of[inputs + 1]{};
    consteval operand_table() {
      for (int k = 0; k < inputs; ++k) of[k] = operand_at(k);
    }
  };
  static constexpr operand_table operands{};
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
