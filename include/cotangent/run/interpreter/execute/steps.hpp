// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_STEPS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_STEPS_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/kernels/elementwise.hpp>
#include <cotangent/kernels/matrix/matmul_small.hpp>
#include <cotangent/kernels/movement.hpp>
#include <cotangent/kernels/reduce_axes.hpp>
#include <cotangent/kernels/short_code.hpp>
#include <cotangent/kernels/threaded.hpp>
#include <cotangent/run/interpreter/execute/kernels.hpp>
#include <cotangent/run/interpreter/execute/nest_code.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>

#include <cstdint>
#include <cstring>

// The executable form of an interpreter's program: a list of steps in which only the addresses of workspace,
// arguments and results are open.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// One step: its function, and the index of its data.
struct step {
  void (*run)(program_data const&, std::int32_t, run_context&) = nullptr;
  std::int32_t which = 0;
};

// ---- moving

/// Copies elements of a strided view (or positions along its axes, if it has no memory) to contiguous memory.
struct fill {
  strided from; // joined; the offset is in `memory`, or is the first position
  address memory, to;
  bool positions = false;
  bool repeats_one = false; // the element at the start, repeated over 64 bytes
};

/// A strided copy.
struct copy_step {
  address from, to;
  kernels::copy_axes axes;
};

/// The same, which adds.
struct accumulate_step {
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
  case element::float16: return write_positions<float16>(to, n, start, step);
  case element::bfloat16: return write_positions<bfloat16>(to, n, start, step);
  }
}

/// Writes one element of that many bytes to all lanes of some registers in memory.
inline void repeat_element(char* to, void const* element, std::int64_t bytes, int registers) noexcept {
  cotangent::detail::as_word(bytes, [&]<class Word>(Word word) {
    std::memcpy(&word, element, sizeof word);
    auto const line = math::broadcast<math::vector<Word, simd::bytes / static_cast<int>(sizeof(Word))>>(word);
    for (int k = 0; k < registers; ++k) std::memcpy(to + k * simd::bytes, &line, sizeof line);
  });
}

/// Copies `count` positions from the index `o` on, which is at element `at`. (A call for each line would cost as much as its copy.)
template <class Word>
void fill_short_lines(strided const& v, char const* from, std::int64_t at, kernels::odometer o, char* to, std::int64_t count) noexcept {
  static constexpr std::int64_t none_[max_rank]{};
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Word));
  int const inner = v.rank - 1;
  std::int64_t const step = v.stride[inner] * bytes, size = v.size[inner];
  std::int64_t unused = 0;
  auto const copy = [&](std::int64_t n) {
    char const* p = from + at * bytes;
    for (std::int64_t i = 0; i < n; ++i, to += bytes, p += step) {
      Word word;
      std::memcpy(&word, p, sizeof word);
      std::memcpy(to, &word, sizeof word);
    }
  };
  if (inner == 1 && o.index[1] == 0) // whole lines of a matrix
    for (; count >= size; count -= size, at += v.stride[0], ++o.index[0]) copy(size);
  while (count > 0) {
    std::int64_t const line = size - o.index[inner], n = line < count ? line : count;
    copy(n);
    count -= n;
    at -= o.index[inner] * v.stride[inner];
    o.index[inner] = 0;
    (void)o.next(inner, v.size, v.stride, at, none_, unused);
  }
}

/// Copies positions start, ..., start + count - 1 of the view, in row-major order, to contiguous memory.
inline void run_fill(fill const& f, run_context const& c, std::int64_t start, std::int64_t count) noexcept {
  std::size_t const bytes = size_of(f.from.type);
  char* to = c.at(f.to);
  char const* const from = f.positions ? nullptr : c.at(f.memory);
  if (f.repeats_one) {
    std::int64_t const at = f.from.position(start), line = static_cast<std::int64_t>(64 / bytes);
    if (f.positions) write_positions(f.from.type, to, line, f.from.offset + at, 0);
    else repeat_element(to, from + at * static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(bytes), 64 / simd::bytes);
    return;
  }
  if (count <= 0) return;
  int const inner = f.from.rank - 1;
  if (inner < 0) {
    if (f.positions) write_positions(f.from.type, to, count, f.from.offset, 0);
    else copy_line(to, 1, from, 0, count, bytes);
    return;
  }
  kernels::odometer o;
  std::int64_t at = f.positions ? f.from.offset : 0, unused = 0;
  static constexpr std::int64_t none_[max_rank]{};
  if (start != 0) at += f.from.position(start, o.index);
  if (!f.positions && f.from.size[inner] <= 8)
    return as_word(static_cast<std::int64_t>(bytes), [&]<class Word>(Word) { fill_short_lines<Word>(f.from, from, at, o, to, count); });
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

struct tile_work {
  kernels::elementwise_kernel run = nullptr; // null for a segment, or for threaded code of a short group
  std::int32_t first = 0; // in operands: the result, then the operands; else the index of the segment or the code
  std::int32_t signature = 0;
  std::int16_t arity = 0;
  std::uint16_t fixed = 0;
  std::int32_t count = 0; // elements, in a short group
};

/// Memory that a segment reads or writes; it advances by `bytes` per element, unless they are 0.
struct segment_entry {
  tile_operand at;
  std::int32_t bytes = 0;
  std::int32_t step = 0, row_step = 0; // from block to block; besides, from row to row
  bool reads = false, writes = false;
};

/// Consecutive cheap units, executed block by block: values of a block stay in registers and in a few lines of memory.
struct segment {
  static constexpr int most_entries = 1600;
  range steps, entries;
  std::int32_t moving = 0, distances = 0; // entries that advance, which precede the others; the first of their distances
  std::int32_t block = 0, blocks_of_row = 0; // elements; blocks from one step of rows to the next, or 0
  bool fetches = false;     // prefetches the memory of the next block
  std::int64_t staging = 0; // in the scratch memory, for a partial block: one block per moving entry
};

/// Copies elements of a tile to a strided view.
struct tile_drain {
  strided shape; // joined
  tile_operand from;
  address to;
  std::int32_t turn = 0; // above 0: adds to the old value
};

/// Reduces a tile's part of a reduction over the whole group.
struct tile_reduction {
  kernels::part_kernel run = nullptr;
  tile_operand from;
  address to, state;
};

/// Elementwise work on whole packs, then on the rest. Kernels read and write whole packs, so the rest of
/// foreign memory passes through the workspace.
struct tile_group {
  std::int64_t size = 0;  // elements
  std::int64_t tile = 0;  // elements per tile
  std::int64_t whole = 0; // elements in whole packs
  range once, each, work, drains, sums, rest_fills, rest_work, rest_drains, rest_copies, rest_sums;

  /// True if it only works on memory where it is, all at once.
  bool is_one_tile() const noexcept {
    return size > 0 && size <= tile && whole == size && once.count + each.count + drains.count + sums.count == 0;
  }
};

/// Elementwise work on a short shape.
struct short_group {
  range work;
  range sums; // in `part_reductions`
  std::int64_t count = 0; // elements
};

struct copy_out {
  address from, to;
  std::int64_t bytes = 0;
};

// ---- other steps

struct reduction_step {
  kernels::reduce_kernel kernel = nullptr;
  kernels::axes_reduction axes;
  std::int32_t signature = -1;
  address from, to;
  std::int64_t bytes = 0; // per element
};

struct matmul_step {
  address left, right, to;
  kernels::product_shape shape;
  std::int64_t matrices = 1, left_matrix = 0, right_matrix = 0; // of stacks, and the strides of their matrices
  kernels::detail::block_kernel block = nullptr; // that of a result of at most 4 x 4 elements
  bool is_short = false, scratch = false;
};

/// gather, scatter_add, arg_max: contiguous operands and results.
struct row_step {
  address from, index, to, sum;
  bool changes = false;   // rows of a copy of `sum`, which may be `to` itself; else of zeros
  std::int64_t count = 0; // the number of indices; for arg_max: positions before the axis
  std::int64_t axis = 0;  // rows to select from
  std::int64_t row = 0;   // elements per row
};

/// A call of a function of whole tensors.
struct whole_step {
  void (*run)(whole_call const&) = nullptr;
  whole_call call; // without its pointers
  address operand[whole_call::max_operands], to;
  std::int32_t operands = 0, first_attribute = 0; // in `attributes`
};

// ---- control nodes

/// A value passed to a sub-graph, or returned by one.
struct region_value {
  address at;
  std::int64_t bytes = 0;
};

/// A sequence that a loop writes or reads. An entry is a value, or the address of another sequence on the
/// tape.
struct loop_sequence {
  address at;
  std::int64_t bytes = 0; // of an entry
};

/// A carried value that a step of the body computes, and the locations it rotates through, from the last to
/// the first.
struct carry_ring {
  std::int32_t output = 0; // of the body
  bool spare = false;      // the last location is no result of the loop
  range places;            // in `places`
  std::int64_t bytes = 0;
};
struct carry_place {
  address at;
  std::int32_t carry = -1; // the carried value whose result it is
};
/// A carried value that the body hands on by address: from one of its arguments or results.
struct handed_on {
  std::int32_t to = 0, from = 0;
};
/// A carried value that is recorded at the start of each iteration.
struct recorded_carry {
  std::int32_t sequence = 0, carry = 0;
  bool ahead = false; // the previous iteration computes it directly on the tape, if the tape has room
  std::int64_t bytes = 0;
  address otherwise = {-1, 0}; // its location without that room, if its ring has one only
};

/// The stack for a step's records: that of the region's results, or `apart`, which is later reset to a mark.
struct record_place {
  bool apart = false;
  std::int32_t mark = -1;
};

struct loop_step {
  record_place place;
  std::int32_t condition = -1, body = -1; // codes
  bool limited = false, starts = false, runs_first = false, reverse = false;
  bool keeps = false; // an iteration leaves records on the tape
  address limit, start, trips;
  int carried = 0, captured = 0;
  range inits, captures, lasts; // in `region_values`
  range scans, stacks;          // in `sequences`
  range rings, handed, records;
  int turning = 0; // rings, the first ones, whose location may differ from one iteration to the next
  range others; // in `indices`: carried values whose final location is not one of their rings
  // Offsets in the scratch memory of the step.
  std::int64_t body_table = 0, condition_table = 0, shared = 0, turns = 0, zeros = 0, zero_bytes = 0,
               words = 0;
};

struct case_step {
  record_place place;
  address index;
  bool wide_index = false;
  range branches; // in `branches`
  range values, results;
  range bypasses; // in `branches`, by result: a value or -1
  range sequences_; // in `branches`, by result: whether it is a sequence
  std::int64_t table = 0, shared = 0;
};

/// The sum of sequences, or a conversion between a sequence and rows.
struct sequence_step {
  record_place place;
  address left, right, to;
  int depth = 1;
  element type = element::float64;
  std::int64_t count = 1; // elements of an innermost entry
  std::int64_t rows = 0;
};

struct program_data {
  array<step> steps;
  array<fill> fills;
  array<copy_step> moves;
  array<accumulate_step> additions;
  array<copy_out> copies;
  array<tile_operand> operands;
  array<tile_work> work;
  array<kernels::threaded_step> threaded;
  array<segment_entry> entries;
  array<std::int64_t> distances; // by segment: to the next block, of each moving entry; then those at the end of a row
  array<segment> segments;
  array<tile_group> groups;
  array<kernels::short_step> shorts;
  // Of the body of a loop: loads of loop-invariant values; iterations with carried values in slots, their loads and stores.
  array<kernels::short_step> kept, enter, steady, leave;
  array<short_group> short_groups;
  array<row_spread> spreads;
  array<nest_sum> nest_sums;
  array<nest_stage> nest_stages;
  array<nest_code> nests;
  array<tile_drain> drains;
  array<tile_reduction> part_reductions;
  array<signature> signatures;
  array<reduction_step> reductions;
  array<matmul_step> products;
  array<row_step> rows;
  array<whole_step> wholes;
  array<std::int64_t> attributes;
  array<loop_step> loops;
  array<case_step> cases;
  array<sequence_step> sums;
  array<region_value> region_values;
  array<loop_sequence> sequences;
  array<std::int64_t> entry_steps; // by sequence: from the entry of an iteration to that of the next one
  array<carry_ring> rings;
  array<carry_place> places;
  array<handed_on> handed;
  array<recorded_carry> records;
  array<std::int32_t> branches, indices;
};

/// Code that is instantiated only with an interpreter.
struct step_table {
  using runs = void (*)(program_data const&, std::int32_t, run_context&);
  runs product[2]{};               // float, double
  runs gather[2][element_count]{}; // by int32, int64
  runs scatter_add[2][element_count]{};
  runs set_rows[2][element_count]{};
  runs copy[element_count]{};
  runs accumulate[element_count]{};
  runs arg_max[element_count]{};
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
