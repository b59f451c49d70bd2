// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_CARRIES_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_CARRIES_HPP

#include <cotangent/run/interpreter/execute/steps.hpp>
#include <cotangent/transform/differentiate/tape_options.hpp>

#include <cstdint>
#include <cstring>

// Locations of a loop's carried values. The body writes each value where the next iteration reads it, and
// hands values on from one carried value to another by address. An iteration thus copies nothing; if the
// number of iterations is known, the last one writes directly to the loop's results.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

using tape_sequence = tape_stack::sequence;
static_assert(whole_lines(sizeof(tape_sequence)) == sequence_bytes);

inline tape_sequence* sequence_at(char const* cell) noexcept {
  tape_sequence* s = nullptr;
  std::memcpy(&s, cell, sizeof s);
  return s;
}
inline void set_sequence(char* cell, tape_sequence const* s) noexcept { std::memcpy(cell, &s, sizeof s); }

/// The bytes for a carried value, with the padding that kernels may read beyond its end.
inline std::int64_t carried_bytes(std::int64_t bytes) noexcept { return whole_lines(bytes) + 64; }

/// The last read of an input, or the first write of an output: the step's position, and the unit within a
/// pointwise step.
struct use_of_memory {
  std::int32_t position = -1, unit = -1;
};
/// True if memory read last at `read` is free when `written` happens.
constexpr bool is_free(use_of_memory const& read, use_of_memory const& written) noexcept {
  return read.position != written.position ? read.position < written.position : read.unit <= written.unit;
}

/// The source of a region's output: a step of the region writes it, or it is a whole input, or it is another
/// output.
struct output_source {
  enum form : unsigned char { made, input, output } is = made;
  std::int32_t which = 0;
};

/// The carried value that a step computes, and the number of iterations it was handed on since.
struct carry_origin {
  // index of a carried value; -1: it is handed around in a cycle, or comes from outside
  std::int32_t maker = -1;
  std::int32_t depth = 0;
};

/// The origins of all carried values; `next` holds the source of each one's next value.
inline array<carry_origin> carry_origins(output_source const* next, int carried) {
  enum : unsigned char { unknown, asked, known };
  array<carry_origin> from(carried);
  array<unsigned char> seen(carried, unknown);
  array<std::int32_t> path;
  auto const before = [&](std::int32_t k) { // the carried value that is handed on to k, or that k equals
    output_source const& s = next[k];
    std::int32_t const j = s.is == output_source::input ? s.which - 1 : s.which;
    return s.is == output_source::made || j >= carried ? -1 : j;
  };
  for (std::int32_t k = 0; k < carried; ++k) {
    std::int32_t at = k;
    for (; at >= 0 && seen[at] == unknown; at = before(at)) {
      seen[at] = asked;
      path.push(at);
    }
    carry_origin one = at >= 0 && seen[at] == known ? from[at] : carry_origin{};
    while (!path.empty()) {
      std::int32_t const j = path.pop();
      if (next[j].is == output_source::made) one = {j, 0};
      else if (next[j].is == output_source::input && one.maker >= 0) ++one.depth;
      from[j] = one;
      seen[j] = known;
    }
  }
  return from;
}

/// Assigns locations to the carried values of a loop. A value that the body computes rotates through the
/// results that it will be handed on to. It gets one more location if it must not overwrite the value that is
/// then read last. `results`: by carried value. `place(bytes)` allocates in the scratch memory of the step.
template <class Code, class Place>
void place_carries(program_data& p, loop_step& s, Code const& body, Place place) {
  output_source const* const next = body.sources.data();
  bool const known = s.limited && s.condition < 0;
  array<carry_origin> const from = carry_origins(next, s.carried);
  s.handed = {p.handed.size(), 0};
  for (std::int32_t k = 0; k < s.carried; ++k)
    if (next[k].is != output_source::made)
      p.handed.push(
          {body.inputs + k, (next[k].is == output_source::output ? body.inputs : 0) + next[k].which});
  s.handed.count = p.handed.size() - s.handed.first;
  array<bool> ahead(s.carried, false);
  s.records = {p.records.size(), 0};
  for (std::int32_t k = s.carried; k < body.sources.size(); ++k) {
    if (next[k].is != output_source::input) continue;
    std::int32_t const one = next[k].which - 1;
    bool const is_first = next[one].is == output_source::made && !ahead[one];
    ahead[one] = ahead[one] || is_first;
    p.records.push({k - s.carried, one, is_first, p.sequences[s.stacks.first + k - s.carried].bytes});
    ++s.records.count;
  }

  // By computed value: the number of iterations it lives, and whether it may overwrite the oldest one.
  array<std::int32_t> stays(s.carried, 0), first(s.carried + 1, 0);
  for (carry_origin const& o : from)
    if (o.maker >= 0 && stays[o.maker] <= o.depth) stays[o.maker] = o.depth + 1;
  for (int m = 0; m < s.carried; ++m) first[m + 1] = first[m] + stays[m];
  // by computed value and its age: the carried value that it is
  array<std::int32_t> stands_for(first[s.carried], -1);
  array<bool> over(s.carried, true);
  array<std::int32_t> others;
  for (std::int32_t k = 0; k < s.carried; ++k) {
    auto const [m, depth] = from[k];
    if (m >= 0 && depth + 1 == stays[m] && !is_free(body.inputs_read[1 + k], body.outputs_written[m]))
      over[m] = false;
    if (m >= 0 && stands_for[first[m] + depth] < 0) stands_for[first[m] + depth] = k;
    else others.push(k);
  }
  s.others = {p.indices.size(), others.size()};
  for (std::int32_t const k : others) p.indices.push(k);
  auto const on_tape = [&](std::int32_t m) { return ahead[m] && known && stays[m] == 1; }; // all but the last one
  auto const has_spare = [&](std::int32_t m) { return (!over[m] && !on_tape(m)) || (stays[m] > 1 && !known); };
  auto const turns = [&](std::int32_t m) { return stays[m] > 1 || has_spare(m); };
  s.rings = {p.rings.size(), 0};
  for (std::int32_t one = 0; one < 2 * s.carried; ++one) { // those that turn first
    std::int32_t const m = one % s.carried;
    if (stays[m] == 0 || turns(m) != (one < s.carried)) continue;
    carry_ring r;
    r.output = m;
    r.spare = has_spare(m);
    r.bytes = p.region_values[s.lasts.first + m].bytes;
    r.places = {p.places.size(), stays[m]};
    for (std::int32_t d = 0; d < stays[m]; ++d) {
      std::int32_t const k = stands_for[first[m] + d];
      p.places.push({p.region_values[s.lasts.first + k].at, k});
    }
    if (r.spare) p.places.push({{0, place(carried_bytes(r.bytes))}, -1});
    r.places.count = p.places.size() - r.places.first;
    p.rings.push(r);
    ++s.rings.count;
    if (turns(m)) ++s.turning;
    else
      for (int j = 0; j < s.records.count; ++j) {
        recorded_carry& recorded = p.records[s.records.first + j];
        if (recorded.carry == m) recorded.otherwise = p.places[r.places.first].at;
      }
  }
  s.turns = place(s.rings.count * static_cast<std::int64_t>(sizeof(std::int32_t)));
}

/// The carried values of a loop at run time.
class carried_values {
  program_data const& p_;
  loop_step const& s_;
  run_context& c_;
  char** const to_body_;
  char** const from_body_;
  std::int32_t* const turns_; // by ring: the location that is written next

  char* at(carry_ring const& r, std::int32_t k) const noexcept {
    return c_.at(p_.places[r.places.first + k].at);
  }
  void move(char* to, char const* from, std::int64_t bytes) const noexcept {
    if (to == from) return;
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    c_.moved += bytes;
  }

public:
  /// `rounds`: the number of iterations, if known; else 0.
  carried_values(program_data const& p, loop_step const& s, run_context& c, char** to_body, char** from_body,
                 std::int64_t rounds) noexcept
      : p_(p), s_(s), c_(c), to_body_(to_body), from_body_(from_body),
        turns_(reinterpret_cast<std::int32_t*>(c.bases[0] + s.turns)) {
    for (int k = 0; k < s.rings.count; ++k) {
      carry_ring const& r = p.rings[s.rings.first + k];
      int const n = r.places.count;
      turns_[k] = n == 1 || rounds < 1 ? 0 : static_cast<std::int32_t>((rounds - 1) % n);
      if (k >= s.turning) from_body[r.output] = at(r, 0);
    }
  }
  /// Passes to the body the addresses of its results.
  void turn() const noexcept {
    for (int k = 0; k < s_.turning; ++k) {
      carry_ring const& r = p_.rings[s_.rings.first + k];
      from_body_[r.output] = at(r, turns_[k]);
      turns_[k] = turns_[k] == 0 ? r.places.count - 1 : turns_[k] - 1;
    }
  }
  /// Records carried values on the tape: values that were not computed there are copied. `entries`: of this
  /// iteration. The next iteration's values are computed on the tape, if `goes_on` (it is certain to run) and
  /// the tape has room already.
  template <class Entries> void record(Entries const& tape, char* const* entries, std::int64_t next, bool goes_on) const noexcept {
    for (int k = 0; k < s_.records.count; ++k) {
      recorded_carry const& r = p_.records[s_.records.first + k];
      move(entries[r.sequence], to_body_[1 + r.carry], r.bytes);
      if (!r.ahead) continue;
      char* there = goes_on ? tape.ahead(r.sequence, next) : nullptr;
      if (there == nullptr && r.otherwise.base >= 0) there = c_.at(r.otherwise);
      if (there != nullptr) from_body_[r.carry] = there;
    }
  }
  /// Hands values on by address: after the addresses of all results are set, before the body runs.
  void hand_on() const noexcept {
    for (int k = 0; k < s_.handed.count; ++k) {
      handed_on const& h = p_.handed[s_.handed.first + k];
      to_body_[h.to] = to_body_[h.from];
    }
  }
  /// Moves the values after `done` iterations to the loop's results.
  void finish(std::int64_t done) const noexcept {
    region_value const* const results = p_.region_values.data() + s_.lasts.first;
    for (int k = 0; k < s_.others.count; ++k) {
      std::int32_t const i = p_.indices[s_.others.first + k];
      move(c_.at(results[i].at), to_body_[1 + i], results[i].bytes);
    }
    for (int k = 0; k < s_.rings.count; ++k) {
      carry_ring const& r = p_.rings[s_.rings.first + k];
      std::int32_t const by = turns_[k] + 1 == r.places.count ? 0 : turns_[k] + 1;
      auto const stands = [&](std::int32_t d) { // in its ring location; not an initial value, nor on the tape
        std::int32_t const i = p_.places[r.places.first + d].carry;
        return i < 0 || (done > 0 && to_body_[1 + i] == at(r, (d + by) % r.places.count));
      };
      bool turned = false;
      for (std::int32_t d = 0; d < r.places.count && r.spare && by != 0; ++d)
        turned = turned || (p_.places[r.places.first + d].carry >= 0 && stands(d));
      if (turned) turn_back(r, by);
      for (std::int32_t d = 0; d < r.places.count; ++d)
        if (std::int32_t const i = p_.places[r.places.first + d].carry; !stands(d))
          move(c_.at(results[i].at), to_body_[1 + i], r.bytes);
    }
  }

private:
  /// Moves to each location, except the spare one (the last), the value `by` locations further on.
  void turn_back(carry_ring const& r, std::int32_t by) const noexcept {
    std::int32_t const n = r.places.count, spare = n - 1;
    auto const after = [&](std::int32_t k) { return k + by < n ? k + by : k + by - n; };
    for (std::int32_t k = after(spare); k != spare; k = after(k)) move(at(r, k), at(r, after(k)), r.bytes);
    std::int32_t circles = n;
    for (std::int32_t rest = by; rest != 0;) {
      std::int32_t const left = circles % rest;
      circles = rest;
      rest = left;
    }
    for (std::int32_t first = 0; first + 1 < circles;
         ++first) { // cycles without the spare location pass through it
      move(at(r, spare), at(r, first), r.bytes);
      std::int32_t k = first;
      for (; after(k) != first; k = after(k)) move(at(r, k), at(r, after(k)), r.bytes);
      move(at(r, k), at(r, spare), r.bytes);
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
