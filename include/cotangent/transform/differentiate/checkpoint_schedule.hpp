// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_CHECKPOINT_SCHEDULE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_CHECKPOINT_SCHEDULE_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/ops/functions.hpp>
#include <cotangent/ops/integers.hpp>
#include <cotangent/transform/differentiate/tape_options.hpp>

#include <cstdint>

// The schedule of a loop that reruns for its gradient: chosen when the gradient is built, as far as sizes and
// counts are known then; otherwise the graph itself computes the numbers.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The way a loop is recorded.
struct tape_schedule {
  enum way : unsigned char { whole, spaced, binomial, impossible } by = whole;
  std::int64_t segment = 1; // iterations recorded at once; 0: the graph computes it
  int places = 0;           // reused slots for stored values
  std::int64_t least = 0;   // bytes, if it is impossible
};

/// Loops nest as deep as there are slots, and each level has a copy of the body.
inline constexpr int most_places = 12;

/// The factor of extra work that is accepted for fewer slots; recording and reversing an iteration counts as
/// three.
inline constexpr double work_for_fewer_places = 1.125;

/// Loops with an unknown number of iterations: the expected number, and numbers for which the chosen schedule
/// does at most `work_for_unknown_trips` times the work of the best one.
inline constexpr std::int64_t trips_of_unknown_loops = 4096;
inline constexpr std::int64_t trips_of_schedules[]{256, trips_of_unknown_loops, std::int64_t{1} << 16,
                                                   std::int64_t{1} << 20};
inline constexpr double work_for_unknown_trips = 1.5;
inline constexpr std::int64_t most_trips_of_unknown_loops = std::int64_t{1} << 31;

/// The least total number of forward runs of units until the last of them is reversed, with this number of
/// slots.
///
/// Source: A. Griewank, A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000), section 2: with s places and each unit run
/// at most r times C(s + r, s) units can be reversed, and u of them, no fewer than with r - 1, take r u - C(s + r, r - 1).
constexpr double fewest_runs(std::int64_t units, int places) noexcept {
  auto const u = static_cast<double>(units);
  if (units <= 1) return 0;
  if (places == 1) return u * (u - 1) / 2;
  double r = 0, reach = 1, beyond = 0; // C(s + r, s), C(s + r, s + 1)
  while (reach < u) {
    r += 1;
    beyond += reach;
    reach = reach * (r + places) / r;
  }
  return r * u - beyond;
}

/// An upper bound of the uses of the outermost slot, or of an inner one, until all units are reversed.
///
/// Source: as above; the remaining part needs one run less of its units when a slot is reused.
constexpr std::int64_t most_uses(std::int64_t units, int places) noexcept {
  if (places == 1) return units;
  double r = 0, reach = 1;
  while (reach < static_cast<double>(units)) {
    r += 1;
    reach = reach * (r + places) / r;
  }
  return static_cast<std::int64_t>(r) + 1;
}

/// The number of units, of those to be reversed, to run before the next slot is used, if their initial value
/// is in a slot. With one slot: all but the last.
///
/// Source: as above: at least C(s + r - 2, s), and at most as many as leave C(s + r - 1, s - 1) for the other
/// slots.
constexpr std::int64_t units_ahead(std::int64_t units, int places) noexcept {
  auto const u = static_cast<double>(units);
  if (places <= 1) return units - 1;
  double r = 0, before = 0, last = 0, reach = 1; // C(s + r - 2, s), C(s + r - 1, s), C(s + r, s)
  while (reach < u) {
    r += 1;
    before = last;
    last = reach;
    reach = reach * (r + places) / r;
  }
  double const most = u - (reach - last), ahead = before > most ? before : most;
  return ahead < 1 ? 1 : ahead > u - 1 ? units - 1 : static_cast<std::int64_t>(ahead);
}

/// The smallest n with n n >= x.
constexpr std::int64_t root_above(std::int64_t x) noexcept {
  std::int64_t low = 0, high = std::int64_t{1} << 31;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (middle * middle >= x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// The bytes that a loop needs.
struct tape_sizes {
  std::int64_t state = 0;                     // a stored state, in a sequence
  std::int64_t place = 0;  // a state in a reused slot, with the sums that its loop carries
  std::int64_t record = 0; // of an iteration
  std::int64_t fixed = 0;  // of any record
};

/// `trips`: -1 if unknown; `once`: true if the loop can be divided in place; `share`: a full record may take
/// the limit divided by it.
constexpr tape_schedule schedule_of(tape_options const& o, tape_sizes const& bytes, std::int64_t trips,
                                    bool once, int share = 1) {
  std::int64_t const limit = o.limit - bytes.fixed, record = bytes.record, state = bytes.state;
  tape_schedule s;
  if (record <= 0 || o.limit <= 0) return s; // nothing to save, or no limit
  auto const fits = [&](std::int64_t segments, std::int64_t of) {
    return capped_sum(capped_product(segments, state), capped_product(of, record)) <= limit;
  };
  if (o.schedule == checkpoints::automatic && trips >= 0 && capped_product(trips, record) <= limit / share)
    return s;
  if (o.schedule == checkpoints::equally_spaced && trips < 0) {
    s.by = tape_schedule::spaced;
    s.segment = 0;
    return s;
  }
  if (o.schedule != checkpoints::binomial && trips >= 0 &&
      (once || o.schedule == checkpoints::equally_spaced)) {
    // state trips / n + record n has its minimum here; fewer segments take as much work
    std::int64_t const ratio = capped_product(trips, state) / record;
    s.segment = root_above(ratio < (std::int64_t{1} << 61) ? ratio : (std::int64_t{1} << 61));
    if (s.segment < 1) s.segment = 1;
    s.by = tape_schedule::spaced;
    if (o.schedule == checkpoints::equally_spaced || fits((trips + s.segment - 1) / s.segment, s.segment))
      return s;
  }
  std::int64_t const room = limit - state; // the rerun part has one state more
  std::int64_t const least = capped_sum(capped_sum(bytes.place, record), state);
  if (least > limit) return {tape_schedule::impossible, 1, 0, capped_sum(bytes.fixed, least)};
  s.by = tape_schedule::binomial;
  // A further slot reduces the segment, and is one more loop: it must save enough work.
  auto const segment_with = [&](int places) {
    std::int64_t const segment = (room - capped_product(places, bytes.place)) / record;
    return trips >= 0 && segment > trips ? trips < 1 ? 1 : trips : segment;
  };
  int most = 0;
  while (most < most_places && segment_with(most + 1) > 0) ++most;
  // `s.places` grows as these iterations require
  auto const need = [&](std::int64_t counted, double allowed) {
    double work[most_places + 1]{}, fewest = 0;
    for (int places = 1; places <= most; ++places) {
      std::int64_t const segment = segment_with(places),
                         units = counted / segment + (counted % segment != 0 ? 1 : 0);
      work[places] =
          static_cast<double>(segment) * fewest_runs(units, places) + 3 * static_cast<double>(counted);
      if (places == 1 || work[places] < fewest) fewest = work[places];
    }
    while (s.places < most && work[s.places] > fewest * allowed) ++s.places;
  };
  s.places = 1;
  if (trips >= 0) need(trips, work_for_fewer_places);
  else
    for (std::int64_t const counted : trips_of_schedules) need(counted, work_for_unknown_trips);
  s.segment = segment_with(s.places);
  return s;
}

constexpr term int64_number(builder& b, std::int64_t value) {
  return {&b,
          b.push(info_of<op::constant>(), nullptr, 0, &value, 1, element::int64, b.shape(dimensions{}), {})};
}
constexpr term lesser(term x, term y) { return extend::apply<op::min>(x, y); }
constexpr term greater(term x, term y) { return extend::select(x < y, y, x); }

/// The number of parts.
constexpr term part_count(term trips, term segment) {
  return extend::apply<op::quotient>(trips + segment - int64_number(*trips.b, 1), segment);
}

/// The number of iterations to record at once, if equally spaced and known at run time only.
constexpr term spacing(term trips, std::int64_t state, std::int64_t record) {
  builder& b = *trips.b;
  term const n = extend::convert(greater(trips, int64_number(b, 1)), element::float64);
  term const root = extend::apply<op::sqrt>(
      n * (static_cast<double>(state) / static_cast<double>(record < 1 ? 1 : record)));
  return greater(extend::convert(root, element::int64), int64_number(b, 1));
}

/// The number of `units` to be reversed to run before the next of `places` slots is used.
///
/// Source: A. Griewank, A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000), section 2. With s places and every unit
/// run at most r times, at most C(s + r, s) units can be reversed.
constexpr term units_ahead(term units, int places) {
  builder& b = *units.b;
  builder_scope const outer(b);
  b.flags.exact = true; // numbers of units are integers
  term const u = extend::convert(units, element::float64);
  auto const number = [&](double v) {
    return extend::constant(b, element::float64, b.shape(dimensions{}), v).id;
  };
  // r | C(s+r-2, s), C(s+r-1, s), C(s+r, s) | C(s+r-1, s-1)
  symbol const first[]{number(0), number(0), number(0), number(1), number(1)};
  loop_builder search(b, {.inits = first, .carried = 5});
  symbol const* in = search.open_condition();
  term const last{&b, in[4]};
  search.close_condition((last < term{&b, search.capture(u.id)}).id);
  in = search.open_body();
  symbol const r0 = in[1], middle = in[3], reach0 = in[4], side0 = in[5];
  term const r = term{&b, r0} + 1;
  term const side = term{&b, side0} * (r + (places - 1)) / r;
  symbol const next[]{r.id, middle, reach0, (term{&b, reach0} + side).id, side.id};
  search.close_body(next, 5);
  (void)search.finish(b.place);
  term const ahead = greater(term{&b, search.last(1)}, u - term{&b, search.last(4)});
  return extend::convert(ahead, element::int64);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
