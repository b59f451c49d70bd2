// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_WRITER_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_WRITER_HPP

#include <cotangent/run/interpreter/execute/steps.hpp>

#include <bit>
#include <cstdint>

// The steps of threaded code over slots, and the lists that they are added to.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Threaded code by 1, 2, 4, 8 and 16 bytes.
struct short_moves {
  kernels::short_kernel by[5];

  kernels::short_kernel of(std::int64_t bytes) const { return by[std::countr_zero(static_cast<std::uint64_t>(bytes))]; }

  static short_moves loads() {
    return {{&kernels::short_load<1>, &kernels::short_load<2>, &kernels::short_load<4>, &kernels::short_load<8>, &kernels::short_load<16>}};
  }
  static short_moves inserts() {
    return {{&kernels::short_insert<1>, &kernels::short_insert<2>, &kernels::short_insert<4>, &kernels::short_insert<8>, nullptr}};
  }
  static short_moves spreads() {
    return {{&kernels::short_spread<1>, &kernels::short_spread<2>, &kernels::short_spread<4>, &kernels::short_spread<8>, nullptr}};
  }
  static short_moves saves() {
    return {{&kernels::short_store<1>, &kernels::short_store<2>, &kernels::short_store<4>, &kernels::short_store<8>, &kernels::short_store<16>}};
  }
  static short_moves sets() {
    return {{&kernels::short_set<1>, &kernels::short_set<2>, &kernels::short_set<4>, &kernels::short_set<8>, nullptr}};
  }
  static kernels::short_kernel adds(element e) {
    switch (e) {
    case element::float32: return &kernels::short_add<float>;
    case element::float64: return &kernels::short_add<double>;
    case element::int32: return &kernels::short_add<std::int32_t>;
    case element::int64: return &kernels::short_add<std::int64_t>;
    case element::boolean:
    case element::float16:
    case element::bfloat16: break; // there is no addition of these
    }
    return nullptr;
  }

  /// To the register of the last result, and from it.
  static short_moves loads_only() {
    return {{&kernels::short_load<1, false>, &kernels::short_load<2, false>, &kernels::short_load<4, false>,
             &kernels::short_load<8, false>, &kernels::short_load<16, false>}};
  }
  static short_moves saves_last() {
    return {{&kernels::short_store_last<1>, &kernels::short_store_last<2>, &kernels::short_store_last<4>,
             &kernels::short_store_last<8>, &kernels::short_store_last<16>}};
  }
  static std::int64_t piece_of(std::int64_t bytes) {
    return bytes >= kernels::short_bytes ? kernels::short_bytes : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  }
  /// Visits elements first, ..., first + n - 1 of a view in pieces of consecutive elements: with the offset in the
  /// slot, the offset in memory, and the bytes of each piece.
  template <class Visit> static void each_piece(strided const& v, std::int64_t first, std::int64_t n, Visit visit) {
    auto const size = static_cast<std::int64_t>(size_of(v.type));
    if (!v.contiguous()) {
      for (std::int64_t i = 0; i < n; ++i) visit(static_cast<std::int32_t>(i * size), v.position(first + i) * size, size);
      return;
    }
    for (std::int64_t at = 0, bytes = 0; at < n * size; at += bytes)
      visit(static_cast<std::int32_t>(at), first * size + at, bytes = piece_of(n * size - at));
  }
};

/// Adds steps to works of a program, each with at most `most_short_steps`; or to a list.
class short_writer {
public:
  std::int32_t last = none; // the slot of the last result, if it is in the register

  explicit short_writer(program_data& program) : program_(program) {}

  void begin() {
    open_ = last = none;
    steps_ = 0;
  }
  void push(kernels::short_step const& s) {
    if (list_ != nullptr) return static_cast<void>(list_->push(s));
    make_room();
    program_.shorts.push(s);
    ++steps_;
  }
  /// Ends the open work if it has the most steps. The register of the last result does not survive that.
  void make_room() {
    if (list_ != nullptr) return;
    if (open_ != none && steps_ + 1 >= kernels::most_short_steps) close();
    if (open_ != none) return;
    tile_work w;
    w.first = program_.shorts.size();
    open_ = program_.work.push(w);
    steps_ = 0;
  }
  void close() {
    if (open_ != none) program_.shorts.push({&kernels::short_end});
    open_ = last = none;
  }
  /// Adds the steps of `emit` to a list, from an empty register on.
  template <class Emit> void into(array<kernels::short_step>& list, Emit emit) {
    array<kernels::short_step>* const before = list_;
    std::int32_t const in_register = last;
    list_ = &list;
    last = none;
    emit();
    list_ = before;
    last = in_register;
  }

private:
  program_data& program_;
  array<kernels::short_step>* list_ = nullptr; // null: the open work
  std::int32_t open_ = none;
  int steps_ = 0; // of the open work
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
