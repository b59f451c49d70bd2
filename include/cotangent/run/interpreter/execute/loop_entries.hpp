// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_LOOP_ENTRIES_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_LOOP_ENTRIES_HPP

#include <cotangent/run/interpreter/execute/carries.hpp>
#include <cotangent/run/interpreter/execute/groups.hpp>

#include <cstdint>
#include <cstring>

// The addresses that change from one iteration of a loop to the next one.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// The entries of an iteration on the tape: those that the body reads (scans) and writes (stacks). Most are at a fixed
/// distance from the entries of the previous iteration.
class loop_entries {
  loop_sequence const* const scans_;
  loop_sequence const* const stacks_;
  std::int64_t const* const scan_steps_;
  std::int64_t const* const stack_steps_;
  loop_step const& s_;
  run_context& c_;
  char** const scanned_; // the addresses that the body takes
  char** const stacked_;
  bool zeros_ready_ = false;
  std::int64_t steady_ = 0; // the number of further iterations whose entries are at that distance

  char* zeros() noexcept {
    char* const to = c_.bases[base::scratch] + s_.zeros;
    if (!zeros_ready_) std::memset(to, 0, static_cast<std::size_t>(s_.zero_bytes));
    zeros_ready_ = true;
    return to;
  }

public:
  loop_entries(program_data const& p, loop_step const& s, run_context& c, char** scanned, char** stacked) noexcept
      : scans_(p.sequences.data() + s.scans.first), stacks_(p.sequences.data() + s.stacks.first),
        scan_steps_(p.entry_steps.data() + s.scans.first), stack_steps_(p.entry_steps.data() + s.stacks.first), s_(s), c_(c),
        scanned_(scanned), stacked_(stacked) {}

  /// Creates the sequences that the loop writes; false on failure.
  bool make(std::int64_t expected, std::int64_t first) noexcept {
    bool made = true;
    for (int k = 0; k < s_.stacks.count; ++k) {
      tape_sequence* const q = c_.record->make(stacks_[k].bytes, expected, first);
      set_sequence(c_.at(stacks_[k].at), q);
      made = made && q != nullptr;
    }
    return made;
  }
  /// The address of an entry of the next iteration; null if it has no memory yet.
  char* ahead(int stack, std::int64_t next) const noexcept {
    return steady_ > 0 ? stacked_[stack] + stack_steps_[stack] : sequence_at(c_.at(stacks_[stack].at))->room(next);
  }
  /// Moves to iteration i; false if the tape cannot grow.
  bool move_to(std::int64_t i) noexcept {
    if (steady_ > 0) {
      --steady_;
      for (int k = 0; k < s_.scans.count; ++k) scanned_[k] += scan_steps_[k];
      for (int k = 0; k < s_.stacks.count; ++k) stacked_[k] += stack_steps_[k];
      return true;
    }
    steady_ = INT64_MAX;
    auto const follow = [&](tape_sequence const& q, std::int64_t most) {
      std::int64_t const n = q.neighbors(i, s_.reverse);
      steady_ = n < steady_ ? n : steady_;
      steady_ = most < steady_ ? most : steady_;
    };
    for (int k = 0; k < s_.scans.count; ++k) {
      tape_sequence const* const from = sequence_at(c_.at(scans_[k].at));
      char* const entry = from == nullptr ? nullptr : from->at(i);
      scanned_[k] = entry == nullptr ? zeros() : entry;
      if (entry == nullptr) steady_ = 0;
      else follow(*from, s_.reverse ? INT64_MAX : from->end() - 1 - i);
    }
    for (int k = 0; k < s_.stacks.count; ++k) {
      tape_sequence& to = *sequence_at(c_.at(stacks_[k].at));
      if ((stacked_[k] = c_.record->entry(to, i)) == nullptr) return false;
      follow(to, INT64_MAX);
    }
    return true;
  }
  /// The number of iterations after this one whose entries are at that distance.
  std::int64_t steady() const noexcept { return steady_; }
  void pass(std::int64_t iterations) noexcept { steady_ -= iterations; }
  char* stacked(int stack) const noexcept { return stacked_[stack]; }
  std::int64_t scan_step(int scan) const noexcept { return scan_steps_[scan]; }
  std::int64_t stack_step(int stack) const noexcept { return stack_steps_[stack]; }
  /// Sets the ends of the sequences after iteration i, the last one.
  void end_at(std::int64_t i) const noexcept {
    for (int k = 0; k < s_.stacks.count; ++k) sequence_at(c_.at(stacks_[k].at))->reach(i);
  }
};

/// Iterations of a body that is one run of threaded code, while every address moves by a constant distance: nothing else
/// happens between two runs of the code.
class steady_iterations {
  static constexpr int most_moving = 32;
  struct moving {
    char** address;
    std::int64_t step;
  };
  struct moving_carry { // the address of its next value moves by `step`
    int carry;
    std::int64_t step;
  };
  loop_step const& s_;
  array<recorded_carry> const& records_;
  char** const to_body_;
  char** const from_body_;
  moving moving_[most_moving];
  moving_carry carries_[most_moving];
  int moving_count_ = 0, carry_count_ = 0;
  int entry_count_ = 0; // of the moving addresses, those of entries come first
  bool possible_ = true, copies_ = false;
  bool ahead_ = false; // iterations write values of the next one on the tape

  recorded_carry const& record(int k) const noexcept { return records_[s_.records.first + k]; }
  void move(char** address, std::int64_t step) noexcept {
    if (step == 0) return;
    if (moving_count_ == most_moving) possible_ = false;
    else moving_[moving_count_++] = {address, step};
  }
  void move_carry(int carry, std::int64_t step) noexcept {
    if (step == 0) return;
    move(to_body_ + 1 + carry, step);
    move(from_body_ + carry, step);
    if (possible_) carries_[carry_count_++] = {carry, step};
  }
  std::int64_t step_of_output(loop_entries const& entries, int output) const noexcept {
    if (output >= s_.carried) return entries.stack_step(output - s_.carried);
    for (int k = 0; k < s_.records.count; ++k)
      if (record(k).ahead && record(k).carry == output) return entries.stack_step(record(k).sequence);
    return 0;
  }

public:
  steady_iterations(program_data const& p, loop_step const& s, loop_entries const& entries, char** to_body, char** from_body) noexcept
      : s_(s), records_(p.records), to_body_(to_body), from_body_(from_body), possible_(s.turning == 0) {
    int const scans_at = 1 + s.carried + s.captured, inputs = scans_at + s.scans.count;
    for (int k = 0; k < s.scans.count; ++k) move(to_body + scans_at + k, entries.scan_step(k));
    for (int k = 0; k < s.stacks.count; ++k) move(from_body + s.carried + k, entries.stack_step(k));
    entry_count_ = moving_count_;
    for (int k = 0; k < s.records.count; ++k) {
      ahead_ = ahead_ || record(k).ahead;
      copies_ = copies_ || !record(k).ahead;
      if (record(k).ahead) move_carry(record(k).carry, entries.stack_step(record(k).sequence));
    }
    for (int k = 0; k < s.handed.count; ++k) {
      handed_on const& h = p.handed[s.handed.first + k];
      int const carry = h.to - inputs;
      if (h.from >= inputs) move_carry(carry, step_of_output(entries, h.from - inputs));
      else if (h.from >= scans_at) move_carry(carry, entries.scan_step(h.from - scans_at));
      else possible_ = possible_ && (h.from > s.carried || h.from == 1 + carry); // captured, or unchanged
    }
  }
  /// Runs iterations after the current one, of which `left` are wanted, as long as addresses move so; returns their number.
  std::int64_t run(program_data const& body, loop_entries& entries, std::int64_t left, run_context& c) const noexcept {
    std::int64_t all = entries.steady() < left ? entries.steady() : left;
    if (ahead_) --all;
    if (!possible_ || all <= 0) return 0;
    for (int k = 0; k < s_.records.count; ++k)
      if (record(k).ahead && from_body_[record(k).carry] != entries.stacked(record(k).sequence) + entries.stack_step(record(k).sequence))
        return 0;
    char** const bases = to_body_ - base::first_argument;
    char* const scratch = bases[base::scratch];
    std::int64_t& count = *reinterpret_cast<std::int64_t*>(to_body_[0]);
    auto const call = [&](kernels::short_step const* code) { code->run(code, scratch, bases, kernels::short_register{}); };
    auto const go_on = [&](int addresses) {
      for (moving const *m = moving_, *const end = m + addresses; m != end; ++m) *m->address += m->step;
      count += s_.reverse ? -1 : 1;
    };
    if (!body.steady.empty()) {
      call(body.enter.data());
      for (std::int64_t n = 0; n < all; ++n) {
        go_on(entry_count_);
        call(body.steady.data());
      }
      for (int k = 0; k < carry_count_; ++k) from_body_[carries_[k].carry] += all * carries_[k].step;
      call(body.leave.data());
    } else {
      for (int k = 0; k < carry_count_; ++k) to_body_[1 + carries_[k].carry] -= carries_[k].step;
      for (std::int64_t n = 0; n < all; ++n) {
        go_on(moving_count_);
        if (copies_) copy(c);
        call(body.shorts.data() + body.steps[0].which);
      }
    }
    for (int k = 0; k < carry_count_; ++k) to_body_[1 + carries_[k].carry] = from_body_[carries_[k].carry];
    entries.pass(all);
    return all;
  }

private:
  void copy(run_context& c) const noexcept {
    for (int k = 0; k < s_.records.count; ++k) {
      recorded_carry const& r = record(k);
      if (r.ahead) continue;
      char *const to = from_body_[s_.carried + r.sequence], *const from = to_body_[1 + r.carry];
      if (r.bytes == 8) std::memcpy(to, from, 8);
      else std::memcpy(to, from, static_cast<std::size_t>(r.bytes));
      c.moved += r.bytes;
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
