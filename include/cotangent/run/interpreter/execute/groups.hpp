// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_GROUPS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_GROUPS_HPP

#include <cotangent/kernels/accumulate.hpp>
#include <cotangent/run/interpreter/execute/steps.hpp>

#include <cstdint>
#include <cstring>

// Executes elementwise nodes over one shape: tile by tile; within a tile, pass by pass or block by block.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

inline void run_block(program_data const& p, segment const& s, char* const* memory) noexcept {
  kernels::threaded_step const* const first = p.threaded.data() + s.steps.first;
  kernels::block_register const r{};
  first->run(first, memory, r, r, r, r, r, r, r, r);
}

/// Copies part of a block: whole packs, and the bytes behind them. (A call for each would cost more than the copy.)
inline void copy_part(char* to, char const* from, std::int64_t bytes) noexcept {
  std::int64_t at = 0;
  for (; bytes - at >= simd::bytes; at += simd::bytes) std::memcpy(to + at, from + at, static_cast<std::size_t>(simd::bytes));
  if (bytes > at) std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
}

/// A partial block is processed in staging memory. The lanes behind its end hold its first element, since
/// arbitrary values may be slow to process.
inline void run_last_block(program_data const& p, segment const& s, char** memory, char* staging,
                           std::int64_t count) noexcept {
  segment_entry const* const e = p.entries.data() + s.entries.first;
  char* places[segment::most_entries];
  for (int k = 0; k < s.moving; ++k) {
    places[k] = memory[k];
    memory[k] = staging + k * kernels::block_bytes;
    if (!e[k].reads) continue;
    auto const packs = static_cast<int>(count * e[k].bytes / simd::bytes);
    repeat_element(memory[k] + packs * simd::bytes, places[k], e[k].bytes, kernels::block_registers - packs);
    copy_part(memory[k], places[k], count * e[k].bytes);
  }
  run_block(p, s, memory);
  for (int k = 0; k < s.moving; ++k)
    if (e[k].writes) copy_part(places[k], memory[k], count * e[k].bytes);
}

/// True if an entry is written in place of one that is read.
inline bool is_in_place(segment_entry const* e, char* const* memory, int moving) noexcept {
  for (int k = 0; k < moving; ++k)
    for (int j = 0; e[k].writes && j < moving; ++j)
      if (e[j].reads && memory[j] == memory[k]) return true;
  return false;
}

inline void fetch_ahead(char const* from, std::int64_t bytes) noexcept {
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at);
}

inline void run_segment(program_data const& p, segment const& s, run_context const& c, tile_start const& start,
                        std::int64_t count) noexcept {
  segment_entry const* const e = p.entries.data() + s.entries.first;
  char* memory[segment::most_entries];
  for (int k = 0; k < s.entries.count; ++k)
    memory[k] = c.at(e[k].at, start);
  std::int64_t const* const distances = p.distances.data() + s.distances;
  std::int64_t left = count;
  std::int32_t of_row = s.blocks_of_row; // that are left
  for (; left >= s.block; left -= s.block) {
    // Each block is read and written once: memory outside the scratch memory is prefetched one block ahead.
    for (int k = 0; k < s.moving && s.fetches; ++k)
      if (e[k].at.base != 0) fetch_ahead(memory[k] + s.block * e[k].bytes, s.block * e[k].bytes);
    run_block(p, s, memory);
    bool const ends_row = s.blocks_of_row != 0 && --of_row == 0;
    if (ends_row) of_row = s.blocks_of_row;
    std::int64_t const* const d = ends_row ? distances + s.moving : distances;
    for (int k = 0; k < s.moving; ++k) memory[k] += d[k];
  }
  if (left == 0) return;
  if (count > s.block && s.moving <= 16 && !is_in_place(e, memory, s.moving)) {
    for (int k = 0; k < s.moving; ++k) memory[k] += (left - s.block) * e[k].bytes; // some elements are computed twice
    run_block(p, s, memory);
  } else run_last_block(p, s, memory, c.bases[0] + s.staging, left);
}

inline void run_kernel(program_data const& p, tile_work const& w, run_context const& c, tile_start const& start,
                       std::int64_t count) noexcept {
  tile_operand const* o = p.operands.data() + w.first;
  void const* from[8];
  char* const to = c.at(*o, start);
  for (int k = 0; k < w.arity; ++k) {
    ++o;
    from[k] = c.at(*o, start);
  }
  w.run(to, from, count, w.fixed, p.signatures.data() + w.signature);
}

inline void run_work(program_data const& p, range r, run_context const& c, tile_start const& start,
                     std::int64_t count) noexcept {
  for (tile_work const *w = p.work.data() + r.first, *const end = w + r.count; w != end; ++w)
    if (w->run == nullptr) run_segment(p, p.segments[w->first], c, start, count);
    else run_kernel(p, *w, c, start, count);
}

/// Executes threaded code for a short shape.
inline void run_short(program_data const& p, std::int32_t which, run_context& c) {
  kernels::short_step const* const first = p.shorts.data() + which;
  first->run(first, c.bases[0], c.bases, kernels::short_register{});
}
template <class T>
void add_line(char* to, std::int64_t step, char const* from, std::int64_t count) noexcept {
  static constexpr std::int64_t one = 1;
  kernels::accumulate(1, &count, reinterpret_cast<T const*>(from), &one, reinterpret_cast<T*>(to), &step);
}
inline void add_line(element e, char* to, std::int64_t step, char const* from, std::int64_t count) noexcept {
  switch (e) {
  case element::float32: return interpret::add_line<float>(to, step, from, count);
  case element::float64: return interpret::add_line<double>(to, step, from, count);
  case element::int32: return interpret::add_line<std::int32_t>(to, step, from, count);
  case element::int64: return interpret::add_line<std::int64_t>(to, step, from, count);
  case element::boolean:
  case element::float16:
  case element::bfloat16: break; // there is no addition of these
  }
}

/// The inverse of `run_fill`: from contiguous memory to positions start, ..., start + count - 1 of the view.
inline void run_drain(tile_drain const& d, run_context const& c, tile_start const& first,
                      std::int64_t count) noexcept {
  std::size_t const bytes = size_of(d.shape.type);
  char const* from = c.at(d.from, first);
  char* const to = c.at(d.to);
  int const inner = d.shape.rank - 1;
  auto const put = [&](char* at, std::int64_t step, std::int64_t n) {
    d.turn > 0 ? interpret::add_line(d.shape.type, at, step, from, n)
               : copy_line(at, step, from, 1, n, bytes);
  };
  if (inner < 0) return put(to, 1, count);
  std::int64_t index[max_rank]{}, at = d.shape.position(first.element, index);
  std::int64_t const step = d.shape.stride[inner];
  while (count > 0) {
    std::int64_t const line = d.shape.size[inner] - index[inner], n = line < count ? line : count;
    put(to + at * static_cast<std::int64_t>(bytes), step, n);
    from += n * static_cast<std::int64_t>(bytes);
    count -= n;
    at -= index[inner] * step;
    index[inner] = 0;
    for (int k = inner - 1; k >= 0; --k) {
      at += d.shape.stride[k];
      if (++index[k] < d.shape.size[k]) break;
      at -= index[k] * d.shape.stride[k];
      index[k] = 0;
    }
  }
}

/// Fills the last elements, and repeats one of them up to the end of a line. The lanes behind are computed as
/// well, and arbitrary values may be slow (subnormal numbers, arguments out of range).
inline void run_rest(fill const& f, run_context const& c, std::int64_t start, std::int64_t count) noexcept {
  run_fill(f, c, start, count);
  auto const bytes = static_cast<std::int64_t>(size_of(f.from.type));
  char* const to = c.at(f.to);
  copy_line(to + count * bytes, 1, to, 0, (whole_lines(count * bytes) - count * bytes) / bytes,
            size_of(f.from.type));
}

inline void run_sums(program_data const& p, range r, run_context const& c,
                     kernels::reduce_part const& part) noexcept {
  for (int k = 0; k < r.count; ++k) {
    tile_reduction const& s = p.part_reductions[r.first + k];
    s.run(c.at(s.to), c.at(s.state), c.at(s.from, tile_start{part.start}), part);
  }
}

/// The same, if the group calls kernels in between, or reduces its results.
inline void run_short_group(program_data const& p, std::int32_t which, run_context& c) {
  short_group const& g = p.short_groups[which];
  for (tile_work const *w = p.work.data() + g.work.first, *const end = w + g.work.count; w != end; ++w)
    if (w->run == nullptr) run_short(p, w->first, c);
    else run_kernel(p, *w, c, {}, w->count);
  run_sums(p, g.sums, c, {0, g.count, g.count});
}

/// A group of one tile: no operand or result is moved, and nothing is reduced.
inline void run_tile(program_data const& p, std::int32_t which, run_context& c) {
  tile_group const& g = p.groups[which];
  run_work(p, g.work, c, {}, g.size);
}

inline void run_group(program_data const& p, std::int32_t which, run_context& c) {
  tile_group const& g = p.groups[which];
  if (g.size == 0) return; // an operand without elements may have no memory that `once` could read
  for (int k = 0; k < g.once.count; ++k)
    run_fill(p.fills[g.once.first + k], c, 0, g.whole < g.tile ? g.whole : g.tile);
  for (std::int64_t start = 0; start < g.whole; start += g.tile) {
    std::int64_t const count = g.whole - start < g.tile ? g.whole - start : g.tile;
    for (int k = 0; k < g.each.count; ++k) run_fill(p.fills[g.each.first + k], c, start, count);
    run_work(p, g.work, c, {start}, count);
    for (int k = 0; k < g.drains.count; ++k) run_drain(p.drains[g.drains.first + k], c, {start}, count);
    run_sums(p, g.sums, c, {start, count, g.size});
  }
  if (std::int64_t const rest = g.size - g.whole; rest > 0) {
    for (int k = 0; k < g.rest_fills.count; ++k) run_rest(p.fills[g.rest_fills.first + k], c, g.whole, rest);
    run_work(p, g.rest_work, c, {g.whole}, rest);
    for (int k = 0; k < g.rest_copies.count; ++k) {
      copy_out const& o = p.copies[g.rest_copies.first + k];
      std::memcpy(c.at(o.to), c.at(o.from), static_cast<std::size_t>(o.bytes));
    }
    for (int k = 0; k < g.rest_drains.count; ++k)
      run_drain(p.drains[g.rest_drains.first + k], c, {g.whole}, rest);
    run_sums(p, g.rest_sums, c, {g.whole, rest, g.size});
  }
}

inline void run_fill_step(program_data const& p, std::int32_t which, run_context& c) {
  run_fill(p.fills[which], c, 0, p.fills[which].from.count());
}

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
