// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_REGIONS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_REGIONS_HPP

#include <cotangent/run/interpreter/execute/calls.hpp>
#include <cotangent/run/interpreter/execute/carries.hpp>
#include <cotangent/run/interpreter/execute/loop_entries.hpp>
#include <cotangent/run/interpreter/execute/record.hpp>

#include <cstdint>
#include <cstring>
#include <optional>

// Loops and branches: their sub-graphs are prepared like graphs, and run in the scratch memory of their step.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// A prepared sub-graph: its steps, and the memory that they need.
struct region_code {
  program_data program;
  array<std::int64_t> constant_words;
  int inputs = 0, outputs = 0;
  array<output_source> sources; // by output
  array<use_of_memory> inputs_read, outputs_written;
  std::int64_t kept_bytes = 0; // of slots before the scratch memory, which `program.kept` fills
  std::int64_t table_bytes = 0; // of the bases, and of the marks of the tape behind them
  std::int64_t marks = 0;       // the offset of the marks
  std::int64_t scratch_bytes = 0;
  std::int64_t memory_bytes = 0; // scratch and results
  std::int64_t root_bytes = 0;
  region_record record;
  bool planned = false; // made from the plan of static programs: sums have their bits

  /// Sets the bases, except those of arguments and results.
  char** begin(void* table, char* memory) const noexcept {
    auto** const bases = static_cast<char**>(table);
    bases[base::scratch] = memory;
    bases[base::constants] = const_cast<char*>(reinterpret_cast<char const*>(constant_words.data())); // never written
    bases[base::roots] = memory + scratch_bytes;
    return bases;
  }
  run_context context(char** bases, run_context const& outer) const noexcept {
    return {bases, outer.codes, outer.record, outer.apart, reinterpret_cast<char*>(bases) + marks, outer.state};
  }
  void run_steps(run_context& c) const noexcept {
    for (step const& s : program.steps) s.run(program, s.which, c);
  }
  /// True if threaded code is all of it.
  bool is_one_code() const noexcept { return program.steps.size() == 1 && program.steps[0].run == &run_short; }
  /// True if a run may use the tape.
  bool has_control() const noexcept { return !program.loops.empty() || !program.cases.empty() || !program.sums.empty(); }
};

/// The initial state of a run of the graph itself.
inline run_context context_of(array<region_code> const& codes, char** bases, tape* record) noexcept {
  return {bases, codes.data(), record == nullptr ? nullptr : &record->records(),
          record == nullptr ? nullptr : &record->apart(), reinterpret_cast<char*>(bases) + codes[0].marks};
}

/// Swaps the stacks of the tape while a step runs whose record goes to the stack `apart`. Records of its
/// sub-graphs then go there too, and their temporary records go to the other stack.
class records_apart {
  run_context& c_;
  bool apart_;

public:
  records_apart(run_context& c, record_place const& place)
      : c_(c), apart_(place.apart && c.record != nullptr) {
    if (!apart_) return;
    tape_stack::mark const here = c.apart->here();
    if (place.mark >= 0) std::memcpy(c.marks + place.mark * std::int64_t{sizeof here}, &here, sizeof here);
    swap_stacks();
  }
  records_apart(records_apart const&) = delete;
  ~records_apart() {
    if (apart_) swap_stacks();
  }

private:
  void swap_stacks() noexcept {
    tape_stack* const record = c_.record;
    c_.record = c_.apart;
    c_.apart = record;
  }
};
inline void run_release(program_data const&, std::int32_t which, run_context& c) {
  if (c.apart == nullptr) return;
  tape_stack::mark mark;
  std::memcpy(&mark, c.marks + which * std::int64_t{sizeof mark}, sizeof mark);
  c.apart->back_to(mark);
}
/// Runs of a sub-graph, one after the other. Its records are all temporary, unless it `keeps` some.
class region_runs {
  region_code const& code_;
  run_context& outer_;
  run_context own_;
  bool const records_;
  bool const keeps_;

public:
  region_runs(region_code const& code, char** bases, run_context& outer, bool keeps = false) noexcept
      : code_(code), outer_(outer), own_(code.context(bases, outer)), records_(outer.record != nullptr && code.has_control()),
        keeps_(keeps) {
    if (array<kernels::short_step> const& kept = code.program.kept; !kept.empty())
      kept.data()->run(kept.data(), bases[base::scratch], bases, kernels::short_register{});
  }
  region_runs(region_runs const&) = delete;
  ~region_runs() {
    if (own_.state != status::ok) outer_.state = own_.state;
    outer_.moved += own_.moved;
  }
  void run() noexcept {
    if (!records_) return code_.run_steps(own_);
    tape_stack::mark const record = own_.record->here(), apart = own_.apart->here();
    code_.run_steps(own_);
    if (!keeps_) own_.record->back_to(record);
    own_.apart->back_to(apart);
  }
};

inline void run_loop(program_data const& p, std::int32_t which, run_context& c) {
  loop_step const& s = p.loops[which];
  records_apart const place(c, s.place);
  region_code const& body = c.codes[s.body];
  char* const area = c.bases[base::scratch];
  auto* const count = reinterpret_cast<std::int64_t*>(area + s.words);
  bool* const goes_on = reinterpret_cast<bool*>(area + s.words + 8);
  std::int64_t limit = INT64_MAX;
  std::int64_t start = 0;
  if (s.limited) std::memcpy(&limit, c.at(s.limit), sizeof limit);
  if (s.starts) std::memcpy(&start, c.at(s.start), sizeof start);
  if (limit < start) limit = start;
  std::int64_t rounds = limit - start;
  *count = s.reverse ? limit - 1 : start;

  char** const to_body = body.begin(area + s.body_table, area + s.shared) + base::first_argument;
  char** const from_body = to_body + body.inputs;
  char** to_condition = nullptr;
  region_value const* const values = p.region_values.data();
  to_body[0] = reinterpret_cast<char*>(count);
  for (int k = 0; k < s.carried; ++k) to_body[1 + k] = c.at(values[s.inits.first + k].at);
  for (int k = 0; k < s.captured; ++k) to_body[1 + s.carried + k] = c.at(values[s.captures.first + k].at);
  if (s.condition >= 0) {
    region_code const& condition = c.codes[s.condition];
    to_condition = condition.begin(area + s.condition_table, area + s.shared) + base::first_argument;
    to_condition[0] = to_body[0];
    for (int k = 0; k < s.captured; ++k) to_condition[1 + s.carried + k] = to_body[1 + s.carried + k];
    to_condition[condition.inputs] = reinterpret_cast<char*>(goes_on);
  }
  loop_entries entries(p, s, c, to_body + 1 + s.carried + s.captured, from_body + s.carried);
  // As many entries as iterations, if that is known.
  bool has_room = entries.make(s.limited && (s.condition < 0 || rounds < 8) ? rounds : 8, start);
  carried_values const carries(p, s, c, to_body, from_body, s.limited && s.condition < 0 ? rounds : 0);
  std::int64_t done = 0;
  {
    region_runs run_body(body, to_body - base::first_argument, c, s.keeps);
    std::optional<region_runs> run_condition;
    if (s.condition >= 0) run_condition.emplace(c.codes[s.condition], to_condition - base::first_argument, c);
    std::int64_t const direction = s.reverse ? -1 : 1;
    std::optional<steady_iterations> steady;
    if (s.condition < 0 && body.is_one_code() && rounds > 2) steady.emplace(p, s, entries, to_body, from_body);
    for (; done < rounds && has_room; ++done, *count += direction) {
      if (s.condition >= 0 && !(done == 0 && s.runs_first)) {
        for (int k = 0; k < s.carried; ++k) to_condition[1 + k] = to_body[1 + k];
        run_condition->run();
        if (!*goes_on) break;
      }
      has_room = entries.move_to(*count);
      if (!has_room) break;
      carries.turn();
      carries.record(entries, from_body + s.carried, *count + direction, done + 1 < rounds);
      carries.hand_on();
      run_body.run();
      for (int k = 0; k < s.carried; ++k) to_body[1 + k] = from_body[k];
      if (steady) done += steady->run(body.program, entries, rounds - done - 1, c);
    }
  }
  if (!has_room) c.state = status::out_of_memory;
  if (done > 0) entries.end_at(*count - (s.reverse ? -1 : 1));
  carries.finish(done);
  std::memcpy(c.at(s.trips), &done, sizeof done);
}

inline void run_case(program_data const& p, std::int32_t which, run_context& c) {
  case_step const& s = p.cases[which];
  records_apart const place(c, s.place);
  std::int64_t index = 0;
  if (s.wide_index) std::memcpy(&index, c.at(s.index), sizeof index);
  else {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, c.at(s.index), sizeof narrow);
    index = narrow;
  }
  region_value const* const values = p.region_values.data() + s.values.first;
  region_value const* const results = p.region_values.data() + s.results.first;
  std::int32_t const* const branches = p.branches.data();
  if (index < 0 || index >= s.branches.count) {
    for (int k = 0; k < s.results.count; ++k) {
      std::int32_t const by = branches[s.bypasses.first + k];
      auto const bytes = static_cast<std::size_t>(results[k].bytes);
      if (by < 0) std::memset(c.at(results[k].at), 0, bytes);
      else std::memcpy(c.at(results[k].at), c.at(values[by].at), bytes);
    }
    return;
  }
  region_code const& branch = c.codes[branches[s.branches.first + static_cast<int>(index)]];
  char* const area = c.bases[base::scratch];
  char** const bases = branch.begin(area + s.table, area + s.shared);
  for (int k = 0; k < s.values.count; ++k) bases[base::first_argument + k] = c.at(values[k].at);
  bool keeps = false;
  for (int k = 0; k < s.results.count; ++k) {
    char* const to = c.at(results[k].at);
    if (branches[s.sequences_.first + k] != 0) {
      set_sequence(to, nullptr); // unless the branch sets it
      keeps = true;
    }
    bases[base::first_argument + branch.inputs + k] = to;
  }
  region_runs(branch, bases, c, keeps).run();
}

/// The sum of two sequences, entry by entry. (An entry that only one of them has, and that is itself a
/// sequence, is shared, not copied: it is never written again.)
inline tape_sequence* sum_of_sequences(run_context& c, sequence_step const& s, tape_sequence* a, tape_sequence* b,
                                       int depth) noexcept {
  if (a == nullptr || a->count == 0) return b;
  if (b == nullptr || b->count == 0) return a;
  std::int64_t const first = a->first < b->first ? a->first : b->first;
  std::int64_t const end = a->end() > b->end() ? a->end() : b->end();
  std::int64_t const bytes = depth > 1 ? 8 : s.count * static_cast<std::int64_t>(size_of(s.type));
  tape_sequence* const to = c.record->make(bytes, end - first, first);
  for (std::int64_t i = first; to != nullptr && i < end; ++i) {
    char* const sum = c.record->entry(*to, i);
    if (sum == nullptr) break;
    char const *const x = a->at(i), *const y = b->at(i);
    if (depth > 1) {
      set_sequence(sum, sum_of_sequences(c, s, x == nullptr ? nullptr : sequence_at(x),
                                         y == nullptr ? nullptr : sequence_at(y), depth - 1));
    } else if (x == nullptr || y == nullptr) {
      if (x == nullptr && y == nullptr) std::memset(sum, 0, static_cast<std::size_t>(bytes));
      else std::memcpy(sum, x == nullptr ? y : x, static_cast<std::size_t>(bytes));
    } else {
      for (std::int64_t k = 0; k < s.count; ++k) {
        scalar const p = read(s.type, x, k), q = read(s.type, y, k);
        scalar const r = is_floating(s.type) ? scalar{s.type, p.real + q.real, 0}
                                             : scalar{s.type, 0, p.integer + q.integer};
        write(s.type, sum, k, r);
      }
    }
  }
  if (c.record->failed()) c.state = status::out_of_memory;
  return to;
}

inline void run_sequence_sum(program_data const& p, std::int32_t which, run_context& c) {
  sequence_step const& s = p.sums[which];
  records_apart const place(c, s.place);
  set_sequence(c.at(s.to), sum_of_sequences(c, s, sequence_at(c.at(s.left)), sequence_at(c.at(s.right)), s.depth));
}

/// Visits entries first <= i < end in stretches without gaps: the first of them, their number, and the address of the first
/// one (null: not written).
template <class Visit> void each_stretch(tape_sequence const* q, std::int64_t first, std::int64_t end, Visit visit) {
  for (std::int64_t i = first, n = 0; i < end; i += n) {
    char* const at = q == nullptr ? nullptr : q->at(i);
    n = q == nullptr ? end - i : 1;
    if (at != nullptr) {
      std::int64_t const left = q->end() - i, together = 1 + q->neighbors(i, false);
      n = together < left ? together : left;
      n = n < end - i ? n : end - i;
    }
    visit(i, n, at);
  }
}
/// Copies `count` values of that many bytes, at these distances.
inline void copy_entries(char* to, std::int64_t to_step, char const* from, std::int64_t from_step, std::int64_t bytes, std::int64_t count) noexcept {
  if (to_step == bytes && from_step == bytes) return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(count * bytes)));
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * to_step, from + k * from_step, static_cast<std::size_t>(bytes));
}

/// The rows of a tensor as a sequence.
inline void run_rows_to_sequence(program_data const& p, std::int32_t which, run_context& c) {
  sequence_step const& s = p.sums[which];
  records_apart const place(c, s.place);
  std::int64_t const bytes = s.count * static_cast<std::int64_t>(size_of(s.type));
  char const* const from = c.at(s.left);
  tape_sequence* const to = c.record->make(bytes, s.rows);
  if (to != nullptr && s.rows > 0 && c.record->entry(*to, 0) != nullptr) { // (all entries are in the first chunk)
    to->reach(s.rows - 1);
    copy_entries(to->at(0), to->entry_bytes, from, bytes, bytes, s.rows);
  }
  if (c.record->failed()) c.state = status::out_of_memory;
  set_sequence(c.at(s.to), to);
}
inline void run_sequence_to_rows(program_data const& p, std::int32_t which, run_context& c) {
  sequence_step const& s = p.sums[which];
  std::int64_t const bytes = s.count * static_cast<std::int64_t>(size_of(s.type));
  tape_sequence const* const from = sequence_at(c.at(s.left));
  char* const to = c.at(s.to);
  each_stretch(from, 0, s.rows, [&](std::int64_t first, std::int64_t count, char const* at) {
    if (at == nullptr) std::memset(to + first * bytes, 0, static_cast<std::size_t>(count * bytes));
    else copy_entries(to + first * bytes, bytes, at, from->entry_bytes, bytes, count);
  });
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
