// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_STEPS_HPP
#define COTANGENT_RUN_INTERPRETER_STEPS_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/kernels/elementwise.hpp>
#include <cotangent/kernels/reduce.hpp>
#include <cotangent/run/interpreter_kernels.hpp>
#include <cotangent/run/interpreter_plan.hpp>
#include <cotangent/run/tape.hpp>

#include <cstdint>
#include <cstring>

// What the interpreter does when it runs: a list of steps in which everything is known but the addresses of
// the workspace, the arguments and the results.

namespace cotangent {
namespace detail::interpret {
inline namespace COTANGENT_ABI {

/// Memory, by the number of its base (0 the workspace, 1 the interpreter's constants, then inputs, then
/// outputs).
struct address {
  std::int32_t base = 0;
  std::int64_t offset = 0; // bytes
};

struct region_code;

struct run_context {
  char** bases;
  region_code const* codes = nullptr; // of all regions
  tape* record = nullptr;
  status state = status::ok;

  char* at(address const& a) const noexcept { return bases[a.base] + a.offset; }
};

struct program_data;

/// One step: what runs, and which of its kind.
struct step {
  void (*run)(program_data const&, std::int32_t, run_context&) = nullptr;
  std::int32_t which = 0;
};

// ---- moving

/// Elements of a strided view (or positions along its axes, where it has no memory) into contiguous memory.
struct fill {
  strided from; // joined; the offset is in `memory`, or is the first position
  address memory, to;
  bool positions = false;
  bool repeats_one = false; // one element, repeated over 64 bytes
};

/// From strides to strides.
struct copy_step {
  address from, to;
  std::int32_t rank = 0;
  std::int64_t size[max_rank]{}, from_stride[max_rank]{}, to_stride[max_rank]{};
};

template <class T> void write_positions(void* to, std::int64_t n, std::int64_t start,
                                        std::int64_t step) noexcept {
  T* const t = static_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i] = static_cast<T>(start + i * step);
}

inline void write_positions(element e, void* to, std::int64_t n, std::int64_t start,
                            std::int64_t step) noexcept {
  switch (e) {
  case element::float32: return write_positions<float>(to, n, start, step);
  case element::float64: return write_positions<double>(to, n, start, step);
  case element::int32: return write_positions<std::int32_t>(to, n, start, step);
  case element::int64: return write_positions<std::int64_t>(to, n, start, step);
  case element::boolean: return write_positions<bool>(to, n, start, step);
  }
}

/// Positions start, ..., start + count - 1 of the view, counted in row-major order, into contiguous memory.
inline void run_fill(fill const& f, run_context const& c, std::int64_t start, std::int64_t count) noexcept {
  std::size_t const bytes = size_of(f.from.type);
  char* to = c.at(f.to);
  char const* const from = f.positions ? nullptr : c.at(f.memory);
  if (f.repeats_one) return copy_line(to, 1, from, 0, static_cast<std::int64_t>(64 / bytes), bytes);
  if (count <= 0) return;
  int const inner = f.from.rank - 1;
  if (inner < 0) {
    if (f.positions) write_positions(f.from.type, to, count, f.from.offset, 0);
    else copy_line(to, 1, from, 0, count, bytes);
    return;
  }
  // where `start` stands
  odometer o;
  std::int64_t at = f.positions ? f.from.offset : 0, unused = 0, rest = start;
  static constexpr std::int64_t none_[max_rank]{};
  for (int k = inner; k >= 0; --k) {
    o.index[k] = k == 0 ? rest : rest % f.from.size[k];
    rest /= f.from.size[k];
    at += o.index[k] * f.from.stride[k];
  }
  std::int64_t const step = f.from.stride[inner];
  while (count > 0) {
    std::int64_t const line = f.from.size[inner] - o.index[inner], n = line < count ? line : count;
    if (f.positions) write_positions(f.from.type, to, n, at, step);
    else copy_line(to, 1, from + at * static_cast<std::int64_t>(bytes), step, n, bytes);
    to += n * static_cast<std::int64_t>(bytes);
    count -= n;
    at -= o.index[inner] * step;
    o.index[inner] = 0;
    (void)o.next(inner, f.from.size, f.from.stride, at, none_, unused);
  }
}

// ---- elementwise work, tile by tile

struct tile_operand {
  std::int32_t base = 0;
  std::int32_t scale = 0; // bytes an element, 0 where the same memory serves every tile
  std::int64_t offset = 0;
};

struct tile_work {
  kernels::elementwise_kernel run = nullptr;
  std::int32_t first = 0; // into operands: the result, then the operands
  std::int32_t signature = 0;
  std::int16_t arity = 0;
  std::uint16_t fixed = 0;
};

struct range {
  std::int32_t first = 0, count = 0;
};

/// Elements of a tile to a strided view.
struct tile_drain {
  strided shape; // joined
  tile_operand from;
  address to;
};

/// The whole packs of a group, then what is left: there, what is in the memory of others passes through the
/// workspace, since kernels read and write whole packs.
struct tile_group {
  std::int64_t size = 0;  // elements
  std::int64_t tile = 0;  // elements a tile
  std::int64_t whole = 0; // elements in whole packs
  range once, each, work, drains, rest_fills, rest_work, rest_drains, rest_copies;
};

struct copy_out {
  address from, to;
  std::int64_t bytes = 0;
};

// ---- the others

struct reduction_step {
  kernels::reduce_kernel kernel = nullptr;
  kernels::reduce_shape inner;
  std::int32_t signature = -1;
  address from, to;
  std::int64_t bytes = 0;    // of an element
  int kept = 0, reduced = 0; // axes outside the kernel
  std::int64_t kept_size[max_rank]{}, kept_from[max_rank]{}, kept_to[max_rank]{};
  std::int64_t reduced_size[max_rank]{}, reduced_from[max_rank]{};
};

struct matmul_step {
  address left, right, to;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t left_row = 0, right_row = 0; // from row to row as they lie
  bool left_turned = false, right_turned = false;
  bool scratch = false;
};

/// gather, scatter_add, arg_max: contiguous operands and results.
struct row_step {
  address from, index, to;
  std::int64_t count = 0; // indices; what stands before the axis of arg_max
  std::int64_t axis = 0;  // rows to choose from
  std::int64_t row = 0;   // elements a row
};

/// A function of whole tensors.
struct whole_step {
  void (*run)(whole_call const&) = nullptr;
  whole_call call; // without its pointers
  address operand[3], to;
  std::int32_t operands = 0, first_attribute = 0; // in `attributes`
};

// ---- what runs regions

/// A value that is passed to a region, or comes from one.
struct region_value {
  address at;
  std::int64_t bytes = 0;
};

/// A sequence that a loop makes or walks through. An entry is a value, or again a sequence: where it stands on the tape.
struct loop_sequence {
  address at;
  std::int64_t bytes = 0; // of an entry
  bool nested = false;
};

struct loop_step {
  std::int32_t condition = -1, body = -1; // codes
  bool limited = false, runs_first = false, reverse = false;
  bool keeps = false; // something of an iteration stays on the tape
  address limit, trips;
  int carried = 0, captured = 0;
  range inits, captures, lasts; // in `region_values`
  range scans, stacks;          // in `sequences`
  // in the scratch memory of the step
  std::int64_t body_table = 0, condition_table = 0, shared = 0, second = 0, zeros = 0, zero_bytes = 0, words = 0;
};

struct case_step {
  address index;
  bool wide_index = false;
  range branches; // in `branches`
  range values, results;
  range bypasses; // in `branches`, by result: a value or -1
  range sequences_; // in `branches`, by result: whether it is a sequence
  std::int64_t table = 0, shared = 0;
};

struct sequence_sum {
  address left, right, to;
  int depth = 1;
  element type = element::float64;
  std::int64_t count = 1; // elements of an innermost entry
};

struct program_data {
  array<step> steps;
  array<fill> fills;
  array<copy_step> moves;
  array<copy_out> copies;
  array<tile_operand> operands;
  array<tile_work> work;
  array<tile_group> groups;
  array<tile_drain> drains;
  array<signature> signatures;
  array<reduction_step> reductions;
  array<matmul_step> products;
  array<row_step> rows;
  array<whole_step> wholes;
  array<std::int64_t> attributes;
  array<loop_step> loops;
  array<case_step> cases;
  array<sequence_sum> sums;
  array<region_value> region_values;
  array<loop_sequence> sequences;
  array<std::int32_t> branches;
};

inline void run_work(program_data const& p, range r, run_context const& c, std::int64_t start,
                     std::int64_t count) noexcept {
  for (tile_work const *w = p.work.data() + r.first, *const end = w + r.count; w != end; ++w) {
    tile_operand const* o = p.operands.data() + w->first;
    void const* from[8];
    char* const to = c.bases[o->base] + o->offset + start * o->scale;
    for (int k = 0; k < w->arity; ++k) {
      ++o;
      from[k] = c.bases[o->base] + o->offset + start * o->scale;
    }
    w->run(to, from, count, w->fixed, p.signatures.data() + w->signature);
  }
}

/// The same in the other direction: from contiguous memory to positions start, ..., start + count - 1 of the view.
inline void run_drain(tile_drain const& d, run_context const& c, std::int64_t start, std::int64_t count) noexcept {
  std::size_t const bytes = size_of(d.shape.type);
  char const* from = c.bases[d.from.base] + d.from.offset + start * d.from.scale;
  char* const to = c.at(d.to);
  int const inner = d.shape.rank - 1;
  if (inner < 0) return copy_line(to, 1, from, 1, count, bytes);
  std::int64_t index[max_rank]{}, at = 0, rest = start;
  for (int k = inner; k >= 0; --k) {
    index[k] = k == 0 ? rest : rest % d.shape.size[k];
    rest /= d.shape.size[k];
    at += index[k] * d.shape.stride[k];
  }
  std::int64_t const step = d.shape.stride[inner];
  while (count > 0) {
    std::int64_t const line = d.shape.size[inner] - index[inner], n = line < count ? line : count;
    copy_line(to + at * static_cast<std::int64_t>(bytes), step, from, 1, n, bytes);
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

/// The last elements, and one of them again to the end of a line: what stands in the lanes behind is computed
/// with too, and what chance has left there may be slow (subnormal numbers, arguments out of range).
inline void run_rest(fill const& f, run_context const& c, std::int64_t start, std::int64_t count) noexcept {
  run_fill(f, c, start, count);
  auto const bytes = static_cast<std::int64_t>(size_of(f.from.type));
  char* const to = c.at(f.to);
  copy_line(to + count * bytes, 1, to, 0, (rounded(count * bytes) - count * bytes) / bytes,
            size_of(f.from.type));
}

inline void run_group(program_data const& p, std::int32_t which, run_context& c) {
  tile_group const& g = p.groups[which];
  for (int k = 0; k < g.once.count; ++k)
    run_fill(p.fills[g.once.first + k], c, 0, g.whole < g.tile ? g.whole : g.tile);
  for (std::int64_t start = 0; start < g.whole; start += g.tile) {
    std::int64_t const count = g.whole - start < g.tile ? g.whole - start : g.tile;
    for (int k = 0; k < g.each.count; ++k) run_fill(p.fills[g.each.first + k], c, start, count);
    run_work(p, g.work, c, start, count);
    for (int k = 0; k < g.drains.count; ++k) run_drain(p.drains[g.drains.first + k], c, start, count);
  }
  if (std::int64_t const rest = g.size - g.whole; rest > 0) {
    for (int k = 0; k < g.rest_fills.count; ++k) run_rest(p.fills[g.rest_fills.first + k], c, g.whole, rest);
    run_work(p, g.rest_work, c, g.whole, rest);
    for (int k = 0; k < g.rest_drains.count; ++k) run_drain(p.drains[g.rest_drains.first + k], c, g.whole, rest);
    for (int k = 0; k < g.rest_copies.count; ++k) {
      copy_out const& o = p.copies[g.rest_copies.first + k];
      std::memcpy(c.at(o.to), c.at(o.from), static_cast<std::size_t>(o.bytes));
    }
  }
}

inline void run_fill_step(program_data const& p, std::int32_t which, run_context& c) {
  run_fill(p.fills[which], c, 0, p.fills[which].from.count());
}

} // namespace COTANGENT_ABI
} // namespace detail::interpret
} // namespace cotangent

#endif
