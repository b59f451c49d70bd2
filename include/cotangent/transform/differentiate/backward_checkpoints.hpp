// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CHECKPOINTS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CHECKPOINTS_HPP

#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/ops/integers.hpp>
#include <cotangent/transform/differentiate/adjoint_region.hpp>
#include <cotangent/transform/differentiate/checkpoint_schedule.hpp>
#include <cotangent/transform/differentiate/record_bytes.hpp>
#include <cotangent/transform/differentiate/region_copy.hpp>
#include <cotangent/transform/differentiate/region_records.hpp>

#include <cstdint>
#include <type_traits>

// The adjoint of a loop without a full record: a part of the loop reruns from stored values, records itself
// and is reversed, then the part before it. It consists of loops over copies of the body, so that it is
// differentiable. All copies have the same bits, see `node_flags::repeated`.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class checkpointed_adjoint {
  /// The values passed on to inner levels.
  struct values {
    array<symbol> state;             // carried values at the begin of the part to be reversed
    array<symbol> captured, scanned; // of the loop
    array<symbol> cotangents;        // sequences
    symbol from = none;              // the count of iteration 0; in a reverse loop this count minus one
  };
  sweep_scope const& s_;
  builder& b_;
  reverse_parts const& parts_;
  node const loop_;
  loop_layout const layout_;
  region_copier copies_;
  tape_options const options_;
  tape_schedule plan_;
  tape_sizes size_;
  std::int64_t uses_ = 0; // of one slot, at most; 0 if unknown

  constexpr symbol operand(int k) const { return b_.get().ids[loop_.first + k]; }
  constexpr symbol result(int k) const { return b_.get().ids[loop_.first + loop_.operand_count + k]; }
  constexpr term of(symbol t) const { return {&b_, t}; }
  constexpr term number(std::int64_t v) const { return int64_number(b_, v); }
  /// The number of iterations, if known; else -1.
  constexpr std::int64_t known_trips() const { return counted_trips(b_.get(), loop_); }
  /// The number of iterations, or its bound, if known; else -1.
  constexpr std::int64_t most_trips() const { return detail::most_trips(b_.get(), loop_); }

public:
  constexpr checkpointed_adjoint(sweep_scope const& s, reverse_parts const& parts)
      : s_(s), b_(s.b), parts_(parts), loop_(b_.get().nodes[parts.at]), layout_(loop_layout::of(b_, loop_)),
        copies_(b_, true), options_(s.tape->options_of(layout_)) {
    for (int k = 0; k < layout_.carried; ++k)
      size_.state = capped_sum(size_.state, bytes(operand(layout_.init(k))));
    size_.place = size_.state;
    for (int k = 0; k < parts.carried.size() - parts.rows; ++k) size_.place = capped_sum(size_.place, bytes(parts.carried[k]));
    // Checkpointed blocks change nothing here, hence no bit of any gradient, as long as the whole record
    // fits.
    choose(parts.saved);
    if (plan_.by == tape_schedule::impossible) choose(least_record(b_.get(), s.index, layout_, parts.saved));
    // Each loop around a part carries the rows, in two buffers.
    std::int64_t rows = 0, loops = 2 * (plan_.places + 1);
    for (int k = parts.carried.size() - parts.rows; k < parts.carried.size(); ++k)
      rows = capped_sum(rows, capped_product(loops, bytes(parts.carried[k])));
    if (rows > 0 && most_trips() >= 0 && record_bytes() <= rows) plan_ = {};
    if (plan_.by != tape_schedule::binomial) return;
    std::int64_t const trips = most_trips(), all = trips >= 0 ? trips : most_trips_of_unknown_loops;
    uses_ = most_uses((all - 1) / plan_.segment + 1, plan_.places);
    if (trips < 0 && uses_ > trips_of_unknown_loops) uses_ = 0;
  }

  /// True if a full record fits.
  constexpr bool whole() const noexcept { return plan_.by == tape_schedule::whole; }
  /// The bytes of the record of one iteration.
  constexpr std::int64_t record_bytes() const {
    std::int64_t const trips = most_trips();
    return trips < 0 ? 8 : capped_product(trips, size_.record);
  }

  /// The cotangents of carried values and the sums, at the begin of the loop; none after a failure.
  constexpr array<symbol> run() {
    if (plan_.by == tape_schedule::impossible) {
      b_.refuse<refusals::tape_limit>(options_.limit, plan_.least, loop_.where);
      return {};
    }
    values v;
    array<symbol> places;
    bool const cut = plan_.by == tape_schedule::spaced && can_be_cut();
    if (cut) places = cut_in_place();
    for (int k = 0; k < layout_.carried && !cut; ++k) v.state.push(s_.value(operand(layout_.init(k))));
    for (int k = 0; k < layout_.captured; ++k) v.captured.push(s_.value(operand(layout_.capture(k))));
    for (int k = 0; k < layout_.scanned; ++k) v.scanned.push(s_.value(operand(layout_.scan(k))));
    v.cotangents = parts_.scanned;
    symbol const start = layout_.has_start() ? s_.value(operand(layout_.start())) : number(0).id;
    symbol const limit = layout_.condition == none ? s_.value(operand(0)) : none;
    v.from = layout_.is_reverse() ? limit : start;
    symbol const trips = known_trips() >= 0 ? number(known_trips()).id
                         : limit == none    ? s_.value(result(layout_.trips()))
                                            : (of(limit) - of(start)).id;
    if (plan_.by == tape_schedule::binomial)
      return level(plan_.places, v, number(0).id, trips, parts_.carried);
    symbol const segment =
        plan_.segment > 0 ? number(plan_.segment).id : spacing(of(trips), size_.state, size_.record).id;
    symbol const count = known_trips() >= 0 && plan_.segment > 0
                             ? number((known_trips() + plan_.segment - 1) / plan_.segment).id
                             : part_count(of(trips), of(segment)).id;
    if (cut)
      for (symbol& t : places) t = s_.value(t);
    else places = stacked_states(v, trips, segment, count);
    v.state = {};
    return spaced(v, places, trips, segment, count);
  }

private:
  constexpr std::int64_t bytes(symbol t) const { return s_.tape->bytes_of(b_, t); }
  /// Chooses a schedule if these values of the body are recorded.
  constexpr void choose(array<symbol> const& recorded) {
    size_.record = 0;
    std::int64_t sequence = 0; // static programs have plain arrays
    if (!std::is_constant_evaluated()) sequence = sequence_bytes;
    size_.fixed = sequence * layout_.carried;
    for (symbol const t : recorded)
      if (scanned_at(t) < 0) {
        size_.record = capped_sum(size_.record, bytes(t));
        size_.fixed += sequence;
      }
    tape_options options = options_;
    // A bounded loop of another gradient is short, and part of others, which record its records.
    if (layout_.most() > 0) options.schedule = checkpoints::automatic;
    plan_ = schedule_of(options, size_, most_trips(), can_be_cut(), layout_.most() > 0 ? 8 : 1);
  }
  /// The position of a value among the scanned operands; -1 for other values.
  constexpr int scanned_at(symbol t) const {
    for (int k = 0; k < layout_.scanned; ++k)
      if (region_input(b_, layout_.body, layout_.scan(k)) == t) return k;
    return -1;
  }
  /// True if the loop itself can become a loop over its parts: then stored values cost no extra run.
  constexpr bool can_be_cut() const {
    return options_.in_place && layout_.condition == none && layout_.stacked == 0 &&
           known_trips() >= 0;
  }
  constexpr symbol like(symbol t, int deeper = 0) {
    return b_.symbol_like(t, deeper);
  }

  // ---- parts of the loop, from iteration `low` to `high`

  /// The loop restricted to these iterations, `most` at most; `region` becomes its body. Returns its final
  /// values, then the stacked ones.
  constexpr array<symbol> part(values const& v, symbol low, symbol high, std::int64_t most,
                               std::int32_t region, symbol const* next, array<symbol> const& entries) {
    array<symbol> operands, results, outputs;
    bool const back = layout_.is_reverse();
    operands.push(back ? (of(v.from) - of(low)).id : (of(v.from) + of(high)).id);
    for (array<symbol> const* const list : {&v.state, &v.captured, &v.scanned})
      for (symbol const t : *list) operands.push(t);
    operands.push(back ? (of(v.from) - of(high)).id : (of(v.from) + of(low)).id);
    for (int k = 0; k < layout_.carried; ++k) {
      results.push(like(v.state[k]));
      outputs.push(next[k]);
    }
    for (symbol const t : entries) {
      results.push(like(t, 1));
      outputs.push(t);
    }
    results.push(b_.symbol_of(element::int64, b_.shape(dimensions{})));
    loop_layout at = layout_;
    at.stacked = entries.size();
    at.flags = (back ? loop_layout::starts | loop_layout::reverse : loop_layout::starts) | loop_layout::at_most(most);
    at.condition = none;
    at.body = region;
    if (entries.size() > 0) at.tape_limit = 0; // entries lie at their distance from the start: no part has parts
    std::int64_t attributes[loop_layout::attribute_count]{};
    at.write(attributes);
    b_.set_outputs(outputs.data(), outputs.size(), region);
    b_.edit().regions[region].owner = b_.get().nodes.size();
    (void)b_.assign(info_of<op::loop>(), operands.data(), operands.size(), results.data(), results.size(),
                    attributes, loop_layout::attribute_count, loop_.where);
    (void)results.pop();
    return results;
  }
  constexpr array<symbol> part_again(values const& v, symbol low, symbol high, std::int64_t most,
                                     array<symbol> const& entries) {
    std::int32_t const body = copies_.copy(layout_.body);
    array<symbol> next, stacked;
    for (int k = 0; k < layout_.carried; ++k) next.push(copies_(region_output(b_, layout_.body, k)));
    for (symbol const t : entries) stacked.push(copies_(t));
    return part(v, low, high, most, body, next.data(), stacked);
  }

  /// Records these iterations and reverses them.
  constexpr array<symbol> unit(values const& v, symbol low, symbol high, array<symbol> const& dy) {
    array<symbol> entries, sequences(parts_.saved.size(), none);
    array<int> at;
    for (int k = 0; k < parts_.saved.size(); ++k) {
      int const scanned = scanned_at(parts_.saved[k]);
      if (scanned >= 0) sequences[k] = v.scanned[scanned];
      else at.push(k), entries.push(parts_.saved[k]);
    }
    array<symbol> const made = part_again(v, low, high, plan_.segment, entries);
    for (int k = 0; k < at.size(); ++k) sequences[at[k]] = made[layout_.carried + k];

    std::int32_t const region = parts_.adjoint->region;
    bool const back = layout_.is_reverse();
    array<symbol> operands, inputs, results;
    operands.push(back ? (of(v.from) - of(low)).id : (of(v.from) + of(high)).id);
    inputs.push(parts_.count);
    auto const pass = [&](symbol value, symbol in) {
      operands.push(value);
      inputs.push(in);
    };
    for (int k = 0; k < dy.size(); ++k) pass(dy[k], parts_.carried_in[k]);
    for (int k = 0; k < parts_.captured.size(); ++k)
      pass(v.captured[parts_.captured[k] - layout_.capture(0)], parts_.captured_in[k]);
    for (int k = 0; k < v.cotangents.size(); ++k) pass(v.cotangents[k], parts_.scanned_in[k]);
    for (int k = 0; k < sequences.size(); ++k) pass(sequences[k], parts_.saved_in[k]);
    operands.push(back ? (of(v.from) - of(high)).id : (of(v.from) + of(low)).id);
    for (symbol const t : dy) results.push(like(t));
    results.push(b_.symbol_of(element::int64, b_.shape(dimensions{})));
    loop_layout const reversed{.carried = dy.size(),
                               .captured = parts_.captured.size(),
                               .scanned = v.cotangents.size() + sequences.size(),
                               .flags = loop_layout::starts |
                                        (back ? std::int64_t{0} : loop_layout::reverse) |
                                        loop_layout::at_most(plan_.segment),
                               .body = region};
    std::int64_t attributes[loop_layout::attribute_count]{};
    reversed.write(attributes);
    b_.edit().regions[region].owner = b_.get().nodes.size();
    b_.edit().regions[region].parent = b_.region;
    b_.set_inputs(inputs.data(), inputs.size(), region);
    (void)b_.assign(info_of<op::loop>(), operands.data(), operands.size(), results.data(), results.size(),
                    attributes, loop_layout::attribute_count, b_.place);
    (void)results.pop();
    return results;
  }

  /// The same values in the body of a loop under construction.
  constexpr values inside(loop_builder& loop, values const& v) const {
    values in;
    for (symbol const t : v.state) in.state.push(loop.capture(t));
    for (symbol const t : v.captured) in.captured.push(loop.capture(t));
    for (symbol const t : v.scanned) in.scanned.push(loop.capture(t));
    for (symbol const t : v.cotangents) in.cotangents.push(loop.capture(t));
    in.from = v.from == none ? number(0).id : loop.capture(v.from);
    return in;
  }

  // ---- reused slots

  /// Reverses iterations `low` to `high` with this number of slots.
  constexpr array<symbol> level(int places, values const& v, symbol low, symbol high,
                                array<symbol> const& dy) {
    if (places == 0) return unit(v, low, high, dy);
    array<symbol> first;
    first.push(high);
    for (symbol const t : dy) first.push(t);
    loop_builder back(b_,
                      {.inits = first.data(),
                       .carried = first.size(),
                       .flags = loop_layout::at_most(uses_),
                       .tape_limit = layout_.tape_limit});
    symbol const* in = back.open_condition();
    symbol const end = in[1];
    back.close_condition((of(back.capture(low)) < of(end)).id);
    in = back.open_body();
    symbol const high_in = in[1];
    array<symbol> dy_in, next;
    for (int k = 0; k < dy.size(); ++k) dy_in.push(in[2 + k]);
    values now = inside(back, v);
    symbol const low_in = back.capture(low);
    std::int64_t const segment = plan_.segment;
    term const units = extend::apply<op::quotient>(of(high_in) - of(low_in) + number(segment - 1), number(segment));
    symbol const middle = (of(low_in) + units_ahead(units, places) * number(segment)).id;
    values later = now;
    later.state = part_again(now, low_in, middle, most_trips(), {});
    next.push(middle);
    for (symbol const t : level(places - 1, later, middle, high_in, dy_in)) next.push(t);
    back.close_body(next.data(), next.size());
    (void)back.finish(loop_.where);
    array<symbol> dx;
    for (int k = 0; k < dy.size(); ++k) dx.push(back.last(1 + k));
    return dx;
  }

  // ---- equally spaced slots

  /// The loop as a loop over its parts, which stacks the initial values of each; `last` receives the final
  /// values. Without `trips` and `segment` the numbers are known, and the loop's own body is used instead of
  /// a copy.
  constexpr array<symbol> stacked_states(values const& v, symbol trips, symbol segment, symbol count,
                                         array<symbol>* last = nullptr) {
    loop_builder parts(
        b_, {.inits = v.state.data(), .carried = v.state.size(), .limit = count, .tape_limit = layout_.tape_limit});
    auto const here = [&](symbol t, std::int64_t otherwise) {
      return t == none ? number(otherwise) : of(parts.capture(t));
    };
    symbol const* const in = parts.open_body();
    symbol const part_number = in[0];
    array<symbol> state;
    for (int k = 0; k < v.state.size(); ++k) state.push(in[1 + k]);
    values now = inside(parts, v);
    now.state = state;
    term const low = of(part_number) * here(segment, plan_.segment);
    symbol const high = lesser(low + here(segment, plan_.segment), here(trips, known_trips())).id;
    array<symbol> next;
    if (trips != none) {
      next = part_again(now, low.id, high, plan_.segment, {});
    } else {
      std::int32_t const own = layout_.body;
      b_.edit().regions[own].parent = b_.region;
      array<symbol> outputs;
      for (int k = 0; k < layout_.carried; ++k) outputs.push(region_output(b_, own, k));
      next = part(now, low.id, high, plan_.segment, own, outputs.data(), {});
    }
    parts.close_body(next.data(), next.size(), state.data(), state.size());
    (void)parts.finish(loop_.where);
    array<symbol> places;
    for (int k = 0; k < state.size(); ++k) places.push(parts.stack(k));
    if (last != nullptr)
      for (int k = 0; k < state.size(); ++k) last->push(parts.last(k));
    return places;
  }

  /// Turns the loop itself into the loop over its parts. Returns the stacks.
  constexpr array<symbol> cut_in_place() {
    std::int32_t const region = b_.region;
    b_.region = loop_.region;
    values v;
    array<symbol> old, last;
    for (int k = 0; k < layout_.result_count(); ++k) old.push(result(k));
    for (int k = 0; k < layout_.carried; ++k) v.state.push(operand(layout_.init(k)));
    for (int k = 0; k < layout_.captured; ++k) v.captured.push(operand(layout_.capture(k)));
    for (int k = 0; k < layout_.scanned; ++k) v.scanned.push(operand(layout_.scan(k)));
    v.from = layout_.is_reverse() ? operand(0) : layout_.has_start() ? operand(layout_.start()) : none;
    std::int64_t const count = (known_trips() + plan_.segment - 1) / plan_.segment;
    array<symbol> const places = stacked_states(v, none, none, number(count).id, &last);
    for (symbol const t : places) s_.tape->note(t, capped_product(count, s_.tape->bytes_of_entry(b_, t)));
    s_.tape->disordered = true; // the count follows the loop
    // The former results of the loop become those of the loop over parts; its node keeps the number of trips.
    node& parts = b_.edit().nodes[b_.get().nodes.size() - 1];
    loop_layout const now = loop_layout::of(b_, parts);
    symbol* const ids = b_.edit().ids.data() + parts.first + parts.operand_count;
    for (int k = 0; k < layout_.carried; ++k) ids[k] = old[k];
    node& was = b_.edit().nodes[parts_.at];
    std::int32_t const end = b_.get().nodes.size() - 1;
    was = parts;
    for (int k = 0; k < was.result_count; ++k)
      b_.edit().tensors[b_.get().ids[was.first + was.operand_count + k]].producer = parts_.at;
    b_.edit().regions[now.body].owner = parts_.at;
    for (symbol const t : last) b_.edit().tensors[t].producer = none;
    node& rest = b_.edit().nodes[end];
    rest.op = info_of<op::constant>();
    rest.first = b_.get().ids.size();
    rest.operand_count = 0;
    rest.result_count = 1;
    rest.attribute = b_.get().numbers.size();
    rest.attribute_count = 1;
    b_.edit().numbers.push(known_trips());
    b_.edit().ids.push(old[layout_.trips()]);
    b_.edit().tensors[old[layout_.trips()]].producer = end;
    b_.region = region;
    return places;
  }

  constexpr array<symbol> spaced(values const& v, array<symbol> const& places, symbol trips, symbol segment,
                                 symbol count) {
    loop_builder back(b_, {.inits = parts_.carried.data(),
                           .carried = parts_.carried.size(),
                           .limit = count,
                           .flags = loop_layout::reverse,
                           .scans = places.data(),
                           .scanned = places.size(),
                           .tape_limit = layout_.tape_limit});
    symbol const* const in = back.open_body();
    array<symbol> dy, state;
    for (int k = 0; k < parts_.carried.size(); ++k) dy.push(in[1 + k]);
    for (int k = 0; k < places.size(); ++k) state.push(in[1 + parts_.carried.size() + k]);
    term const low = of(in[0]) * of(back.capture(segment));
    values now = inside(back, v);
    now.state = state;
    symbol const high = lesser(low + of(back.capture(segment)), of(back.capture(trips))).id;
    array<symbol> const next = unit(now, low.id, high, dy);
    back.close_body(next.data(), next.size());
    (void)back.finish(loop_.where);
    array<symbol> dx;
    for (int k = 0; k < dy.size(); ++k) dx.push(back.last(k));
    return dx;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
