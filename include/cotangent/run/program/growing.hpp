// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_GROWING_HPP
#define COTANGENT_RUN_PROGRAM_GROWING_HPP

#include <cotangent/plan/regions.hpp>
#include <cotangent/run/tape.hpp>

#include <cstddef>
#include <cstdint>

// Sequences of unknown length in static programs: entries in chunks of a tape. Their value is the address of the sequence, null if
// it has no entries. Written sequences do not change, so copies of the address are copies of the sequence.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

using growing_sequence = detail::tape_stack::sequence;

inline growing_sequence const* sequence_in(char const* p) noexcept {
  growing_sequence const* s;
  __builtin_memcpy(&s, p, sizeof s);
  return s;
}
inline void put_sequence(char* p, growing_sequence const* s) noexcept { __builtin_memcpy(p, &s, sizeof s); }

/// The entry of a sequence for the current iteration of a loop. Entries of the following iterations are its neighbors in a chunk.
struct entry_cursor {
  char* at = nullptr;
  std::int64_t distance = 0; // to the entry of the next iteration

  /// Moves to entry i for reading; returns the number of iterations until the next move. A missing entry is zero.
  std::int64_t read(growing_sequence const* s, std::int64_t i, bool down, std::int64_t bytes, char*& zeros,
                    detail::tape_stack& tape) noexcept {
    at = s != nullptr ? s->at(i) : nullptr;
    if (at != nullptr) {
      distance = down ? -s->entry_bytes : s->entry_bytes;
      std::int64_t const chunk = s->neighbors(i, down) + 1, rest = s->end() - i;
      return down || chunk < rest ? chunk : rest;
    }
    if (zeros == nullptr && (zeros = tape.take(bytes)) != nullptr) __builtin_memset(zeros, 0, static_cast<std::size_t>(bytes));
    at = zeros;
    return 1;
  }
  /// Moves to entry i for writing; `at` is null if there is no memory.
  std::int64_t write(growing_sequence* s, std::int64_t i, bool down, detail::tape_stack& tape) noexcept {
    at = s != nullptr ? tape.entry(*s, i) : nullptr;
    if (at == nullptr) return 1;
    distance = down ? -s->entry_bytes : s->entry_bytes;
    return s->neighbors(i, down) + 1;
  }
};

/// A value of a sequence or of its entries in memory; `Levels` are the levels of the sequence that lie outside of it.
template <class Whole, extend::symbol T, int Levels = 0> struct sequence_value {
  static constexpr extend::graph_view all = Whole::view;
  static constexpr int depth = all.tensors[T].depth;
  /// The entries of this level.
  static constexpr extend::dimension length = Levels < depth ? detail::frozen_sequences<Whole>::value.entries(T, Levels) : 1;
  static constexpr bool is_address = length == detail::sequence_sizes::unknown;
  using entry = sequence_value<Whole, T, (Levels < depth ? Levels + 1 : Levels)>;
  using T_element = element_t<all.tensors[T].type>;

  /// The number of elements, or of entries if their number is known.
  template <class Context> static std::int64_t count(Context const& x) noexcept {
    if constexpr (Levels < depth) return x.value(length);
    else {
      std::int64_t n = 1;
      for (int k = 0; k < all.shape(T).rank; ++k) n *= x.value(all.shape(T).size[k]);
      return n;
    }
  }
  template <class Context> static std::int64_t bytes(Context const& x) noexcept {
    if constexpr (is_address) return static_cast<std::int64_t>(sizeof(void*));
    else if constexpr (Levels < depth) return count(x) * entry::bytes(x);
    else return count(x) * static_cast<std::int64_t>(sizeof(T_element));
  }

  /// to = a + b
  template <class Context> static void add(Context const& x, char const* a, char const* b, char* to) noexcept {
    if constexpr (is_address) add_entries(x, a, b, to);
    else if constexpr (Levels < depth) {
      std::int64_t const step = entry::bytes(x), n = count(x);
      for (std::int64_t k = 0; k < n; ++k) entry::add(x, a + k * step, b + k * step, to + k * step);
    } else {
      T_element const *const p = reinterpret_cast<T_element const*>(a), *const q = reinterpret_cast<T_element const*>(b);
      T_element* const r = reinterpret_cast<T_element*>(to);
      std::int64_t const n = count(x);
      for (std::int64_t k = 0; k < n; ++k) r[k] = static_cast<T_element>(p[k] + q[k]);
    }
  }

private:
  template <class Context> static void add_entries(Context const& x, char const* a, char const* b, char* to) noexcept {
    growing_sequence const *const p = sequence_in(a), *const q = sequence_in(b);
    if (p == nullptr || q == nullptr) return put_sequence(to, p != nullptr ? p : q);
    std::int64_t const first = p->first < q->first ? p->first : q->first, end = p->end() > q->end() ? p->end() : q->end();
    std::int64_t const bytes = entry::bytes(x);
    growing_sequence* const sum = x.tape->make(bytes, end - first, first);
    put_sequence(to, sum);
    for (std::int64_t i = first; sum != nullptr && i < end; ++i) {
      char const *const u = p->at(i), *const v = q->at(i);
      char* const r = x.tape->entry(*sum, i);
      if (r == nullptr) return;
      if (u != nullptr && v != nullptr) entry::add(x, u, v, r);
      else if (u != nullptr || v != nullptr) __builtin_memcpy(r, u != nullptr ? u : v, static_cast<std::size_t>(bytes));
      else __builtin_memset(r, 0, static_cast<std::size_t>(bytes));
    }
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
