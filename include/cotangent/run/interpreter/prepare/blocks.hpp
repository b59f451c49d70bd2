// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_BLOCKS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_BLOCKS_HPP

#include <cotangent/run/interpreter/prepare/segment_writer.hpp>
#include <cotangent/run/interpreter/prepare/uses.hpp>

#include <cstdint>
#include <limits>

// Segments for the kernels on three blocks: a value with a near use stays in one of the blocks.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

template <class Units> class block_emit {
  Units& t_;
  segment_writer<Units>& to_;

public:
  block_emit(Units& units, segment_writer<Units>& to) : t_(units), to_(to), uses_(units) {}

  /// Emits the units of the segment that is being written.
  void emit(bool whole) {
    uses_.find(to_.first, to_.end, [this](int u) { return t_.is_read_outside(u); });
    for (std::int32_t& h : holds_) h = nothing;
    now_ = 0;
    last_ = -1;
    moved_from_ = kernels::spot::none;
    for (std::int32_t const u : uses_.order) {
      uses_.pass(u);
      if constexpr (Units::has_reductions)
        if (t_.reduces(u)) {
          emit_reduction(u);
          ++now_;
          for (int k = 0; k < to_.count_of(u); ++k) free_block(t_.source(u, k));
          continue;
        }
      spot to = spot::a;
      if (!takes_form(u, to)) emit_leaving(u);
      ++now_;
      for (int k = 0; k < to_.count_of(u); ++k) free_block(t_.source(u, k));
      holds_[static_cast<int>(to)] = u;
      put_outside(u, to, whole);
    }
  }

private:
  using spot = kernels::spot;

  static constexpr std::int32_t nothing = std::numeric_limits<std::int32_t>::min();
  segment_uses<Units> uses_;
  std::int32_t holds_[3]{nothing, nothing, nothing}; // the values in the blocks a, b, c
  std::int32_t now_ = 0;                             // the position in the order
  int last_ = -1;           // the number of steps after the last one that computes was added
  bool last_takes_ = false; // true if that step takes an entry
  spot moved_from_ = spot::none, moved_to_ = spot::none; // the last step, if it was a move

  bool is_live(std::int32_t v) const { return v != nothing && uses_.next(v) != uses_.never; }
  bool is_in_memory(std::int32_t v) const { return to_.is_in_memory(v); }
  spot place_of(int u, int k) const {
    std::int32_t const v = t_.source(u, k);
    for (int r = 0; r < 3; ++r)
      if (holds_[r] == v) return static_cast<spot>(r);
    return to_.is_fixed(u, k) ? spot::fixed : spot::memory;
  }
  /// Copies a value to the location where it is read. Two consecutive moves become one step if such a step
  /// exists.
  void move(spot from, spot to, std::int32_t entry = 0) {
    block_kernels const& b = t_.kernels().blocks;
    auto& steps = t_.program.threaded;
    bool const loads = from == spot::memory || from == spot::fixed;
    if (moved_from_ != spot::none) {
      int const code = moved_from_ == spot::a && to == spot::a
                           ? b.find(known_form::sets_aside, from, moved_to_)
                       : from == spot::a && moved_to_ == spot::memory && moved_from_ == to
                           ? b.find(known_form::replaces, to, spot::memory)
                           : 0;
      moved_from_ = spot::none;
      if (code != 0) {
        steps.back().code = static_cast<std::uint16_t>(code);
        if (loads) steps.back().x = static_cast<std::int16_t>(entry);
        return;
      }
    }
    to_.push(b.run[to_.type], loads ? entry : 0, 0, loads ? 0 : entry);
    steps.back().code = static_cast<std::uint16_t>(b.find(known_form::is_move, from, to));
    moved_from_ = from;
    moved_to_ = to;
  }
  void store(spot r) {
    std::int32_t const v = holds_[static_cast<int>(r)], entry = to_.block_of_memory();
    move(r, spot::memory, entry);
    to_.stands_at(v, entry);
  }
  /// Frees the block of memory of a value that is dead.
  void free_block(std::int32_t v) {
    if (v >= to_.first && !is_live(v)) to_.free_block(v);
  }

  /// The block to evict in favor of block a: its value has a later use than the value of block a. Block a
  /// itself if there is none. `busy`: the blocks that the next step reads.
  spot given_up(unsigned busy) const {
    std::int32_t const v = holds_[0];
    int best = 0;
    for (int r = 1; r < 3; ++r) {
      std::int32_t const w = holds_[r];
      bool const stores =
          is_live(w) && !is_in_memory(w); // either way one store: worth a move only if its use is much later
      if ((busy >> r & 1u) != 0 || (stores && is_in_memory(v))) continue;
      if (stores && next_of(w) - now_ < 2 * (next_of(v) - now_)) continue;
      if (next_of(w) > next_of(holds_[best])) best = r;
    }
    return static_cast<spot>(best);
  }
  void save(spot r) {
    if (std::int32_t const v = holds_[static_cast<int>(r)]; is_live(v) && !is_in_memory(v)) store(r);
  }
  /// True if the value in block a is live and only there.
  bool is_needed() const { return is_live(holds_[0]) && holds_[1] != holds_[0] && holds_[2] != holds_[0]; }
  /// Saves the value of block a to another block, or to memory, before block a is overwritten.
  void keep(unsigned busy) {
    if (!is_needed()) return;
    spot const r = given_up(busy);
    save(r);
    if (r == spot::a) return;
    move(spot::a, r);
    holds_[static_cast<int>(r)] = holds_[0];
  }
  std::int32_t next_of(std::int32_t v) const { return v == nothing ? uses_.never : uses_.next(v); }

  /// Emits unit u as a step of the kernels on three blocks, with its result in `to`; false if no form fits.
  bool takes_form(int u, spot& to) {
    operation const* const op = t_.op_of(u);
    if (to_.is_bytes(u, 0) || !t_.kernels().blocks.knows(op)) return false;
    int order[3]{0, 1, 2};
    spot p[3];
    bool found = false;
    if (is_needed()) { // keep it if the result can go to another block
      for (int r = 1; r < 3 && !found; ++r)
        if (!is_live(holds_[r])) {
          to = static_cast<spot>(r);
          found = find_form(u, op, to, order, p);
        }
      if (!found && (to = given_up(read_by(u))) != spot::a && find_form(u, op, to, order, p)) {
        found = true;
        save(to);
      }
    }
    if (!found) {
      to = spot::a;
      found = find_form(u, op, to, order, p);
      if (!found && !bring(u, op, order, p)) return false;
      keep(read_by(u));
    }
    std::int32_t entry[2]{0, 0};
    int entries = 0;
    for (int k = 0; k < to_.count_of(u); ++k)
      if (p[k] == spot::memory || p[k] == spot::fixed) entry[entries++] = to_.entry_of(u, order[k]);
    block_kernels const& b = t_.kernels().blocks;
    int const code = b.find(op, p[0], p[1], p[2], to);
    moved_from_ = spot::none;
    auto& steps = t_.program.threaded;
    if (int const pair = last_ == steps.size() && entries < 2 ? b.find_pair(steps.back().code, code) : 0;
        pair != 0) {
      bool const second = last_takes_;
      (second ? steps.back().y : steps.back().x) = static_cast<std::int16_t>(entry[0]);
      steps.back().code = static_cast<std::uint16_t>(pair);
      return true;
    }
    to_.push(b.run[to_.type], entry[0], entry[1]);
    steps.back().code = static_cast<std::uint16_t>(code);
    last_ = steps.size();
    last_takes_ = entries > 0;
    return true;
  }
  /// Combines the operand of unit u, or the products of two, with partial results in memory.
  void emit_reduction(int u) {
    block_kernels const& b = t_.kernels().blocks;
    int order[2]{0, 1}, code = 0;
    auto const find = [&] {
      for (int turn = 0; turn < to_.count_of(u) && code == 0; ++turn) {
        order[0] = turn, order[1] = 1 - turn;
        code = b.find_sum(t_.op_of(u), place_of(u, order[0]), to_.count_of(u) > 1 ? place_of(u, order[1]) : spot::none);
      }
    };
    find();
    if (code == 0) { // all operands are in memory
      keep(read_by(u));
      move(spot::memory, spot::a, to_.entry_of(u, 0));
      holds_[0] = t_.source(u, 0);
      find();
    }
    std::int32_t entry = 0;
    for (int k = 0; k < to_.count_of(u); ++k)
      if (spot const is = place_of(u, order[k]); is == spot::memory || is == spot::fixed) entry = to_.entry_of(u, order[k]);
    to_.push(b.run[to_.type], entry, t_.units[u].chains, to_.add_state(u));
    t_.program.threaded.back().code = static_cast<std::uint16_t>(code);
    moved_from_ = spot::none;
  }
  /// The blocks that unit u reads.
  unsigned read_by(int u) const {
    unsigned r = 0;
    for (int k = 0; k < to_.count_of(u); ++k)
      if (spot const is = place_of(u, k); is <= spot::c) r |= 1u << static_cast<int>(is);
    return r;
  }
  /// Finds the form for the operands' locations; commutative operations try both orders.
  bool find_form(int u, operation const* op, spot to, int* order, spot* p) const {
    threaded_set const& s = *t_.kernels().find(op)->threaded[to_.type];
    int const n = to_.count_of(u);
    bool const exchanges = n == 2 ? s.at[1][0].run == nullptr : n == 3 && s.at[1][0].run == nullptr;
    for (int turn = 0; turn < (exchanges ? 2 : 1); ++turn) {
      order[0] = turn, order[1] = 1 - turn, order[2] = 2;
      for (int k = 0; k < 3; ++k) p[k] = k < n ? place_of(u, order[k]) : spot::none;
      if (t_.kernels().blocks.find(op, p[0], p[1], p[2], to) != 0) return true;
    }
    return false;
  }
  /// Moves one operand to block a, if block a holds none: one that is in a block, else one in memory.
  bool bring(int u, operation const* op, int* order, spot* p) {
    int which = -1;
    for (int k = 0; k < to_.count_of(u); ++k) {
      spot const is = place_of(u, k);
      if (is == spot::a) return false;
      if (which < 0 || is < place_of(u, which)) which = k;
    }
    keep(read_by(u));
    spot const from = place_of(u, which);
    move(from, spot::a, from <= spot::c ? 0 : to_.entry_of(u, which));
    std::int32_t const v = t_.source(u, which);
    holds_[0] = v;
    return find_form(u, op, spot::a, order, p);
  }

  /// Emits unit u by a kernel that takes only block a: all other operands, and live values, are stored first.
  void emit_leaving(int u) {
    int const block = operand_to_leave_with(u);
    bool const bytes = to_.is_bytes(u, block);
    for (int r = 0; r < 3; ++r) {
      std::int32_t const w = holds_[r];
      bool read = is_live(w);
      for (int k = 0; k < to_.count_of(u); ++k) read = read || (k != block && t_.source(u, k) == w);
      if (w != nothing && read && !is_in_memory(w)) store(static_cast<spot>(r));
    }
    spot const is = place_of(u, block);
    if (bytes) to_.push(t_.kernels().load_mask[to_.type], to_.entry_of(u, block));
    else if (is != spot::a) move(is, spot::a, is <= spot::c ? 0 : to_.entry_of(u, block));
    int others[2]{-1, -1};
    threaded_pair const run = to_.kernels_of(u, block, others);
    std::int32_t const x = others[0] >= 0 ? to_.entry_of(u, others[0]) : 0,
                       y = others[1] >= 0 ? to_.entry_of(u, others[1]) : 0;
    to_.push(run.run, x, y);
    moved_from_ = spot::none;
    for (std::int32_t& h : holds_) h = nothing;
  }
  int operand_to_leave_with(int u) const {
    if (to_.is_bytes(u, 0)) return 0;
    int which = 0;
    for (int k = 1; k < to_.count_of(u); ++k)
      if (place_of(u, k) < place_of(u, which)) which = k;
    return which;
  }

  /// Stores a result that is read outside the segment.
  void put_outside(int u, spot from, bool whole) {
    if (t_.last[u] < to_.end && !t_.is_read_outside(u)) return;
    t_.slots[u] = none;
    std::int32_t const entry = to_.result_of(u, whole);
    if (t_.result_type(u) != element::boolean) {
      move(from, spot::memory, entry);
      return to_.stands_at(u, entry);
    }
    for (int r = 0; r < 3; ++r) save(static_cast<spot>(r));
    if (from != spot::a) move(from, spot::a);
    to_.push(t_.kernels().store_mask[to_.type], 0, 0, entry);
    moved_from_ = spot::none;
    for (std::int32_t& h : holds_) h = nothing;
    holds_[0] = u;
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
