// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_LOOP_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_LOOP_HPP

#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/transform/differentiate/backward_checkpoints.hpp>

#include <cstdint>

// The adjoint of a loop: again a loop, so that it is differentiable.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Carries the cotangents of carried values, sums those of captured ones, stacks those of scanned ones; reads
/// the tape.
class loop_adjoint {
  sweep_scope const& s_;
  builder& b_;
  std::int32_t const at_;
  loop_layout const layout_;
  symbol const* cotangent_;
  bool const* wanted_;
  array<bool> active_;            // by input of the body: it gets a cotangent
  array<symbol> wrt_;             // inputs of the body
  array<int> wrt_position_;       // their positions
  array<symbol> outputs_, seeds_; // of the body
  array<int> carried_, scanned_;  // positions among the results of the loop that have cotangents
  array<symbol> carried_in_, scanned_in_;
  array<symbol> product_;         // by carried value: see `find_products`; none for others
  array<int> factor_;             // of such a product: the position of its captured factor
  array<symbol> factor_outside_;  // the operand there, noted before a tape limit may cut the loop into parts

public:
  constexpr loop_adjoint(sweep_scope const& s, std::int32_t at, symbol const* cotangent, bool const* wanted)
      : s_(s), b_(s.b), at_(at), layout_(loop_layout::of(s.b, s.b.get().nodes[at])), cotangent_(cotangent),
        wanted_(wanted), active_(layout_.operand_count()), product_(layout_.carried, none), factor_(layout_.carried), factor_outside_(layout_.carried, none) {}

  constexpr void run(symbol* given) {
    find_active();
    if (wrt_.size() == 0) return;
    std::int32_t const body = layout_.body;
    repeats(body, layout_.carried);
    for (int k = 0; k < wrt_.size(); ++k)
      if (int const j = wrt_position_[k] - layout_.init(0); j < layout_.carried && product_[j] != none) wrt_[k] = product_[j];
    adjoint_region adjoint(b_);
    sweep_scope const inner{b_, s_.index, body, &adjoint.in, s_.control, s_.tape, s_.sum};
    symbol const count = b_.symbol_of(element::int64, b_.shape(dimensions{}));
    adjoint.in.stands_for(region_input(b_, body, 0), count);
    for (int k = 0; k < layout_.carried; ++k)
      if (active_[layout_.init(k)]) {
        carried_.push(k);
        carried_in_.push(adjoint.input(region_output(b_, body, k)));
        outputs_.push(region_output(b_, body, k));
        seeds_.push(times_factor(k, carried_in_.back(), inner, region_input(b_, body, factor_[k])));
      }
    for (int k = 0; k < layout_.stacked; ++k)
      if (cotangent_[layout_.stack(k)] != none) {
        scanned_.push(layout_.stack(k));
        scanned_in_.push(adjoint.input(region_output(b_, body, layout_.entry(k))));
        outputs_.push(region_output(b_, body, layout_.entry(k)));
        seeds_.push(scanned_in_.back());
      }
    array<symbol> dx(wrt_.size(), none);
    gradient_request const r{outputs_.data(), seeds_.data(), outputs_.size(), wrt_.data(), wrt_.size()};
    if (!backward_sweep(inner, r).run(r, dx.data())) return;
    make(adjoint, count, dx, given);
  }

private:
  /// Rewrites the body as if it reran, with or without a tape limit, so that bits do not depend on the limit. Its copies differ in
  /// the readers of their values and in their carried values, so both, which decide about fused multiply-adds, are noted here.
  /// `carried`: the number of inputs of sub-graph r, from the second on, that its loop carries.
  constexpr void repeats(std::int32_t r, int carried) {
    std::int32_t const* const nodes = s_.index.nodes(r);
    symbol const low = s_.index.low(r);
    array<unsigned char> readers(s_.index.high(r) > low ? s_.index.high(r) - low : 0); // by symbol - low; 2: several
    auto const read = [&](symbol const* t, int count) {
      for (int k = 0; k < count; ++k)
        if (t[k] >= low && t[k] - low < readers.size() && readers[t[k] - low] < 2) ++readers[t[k] - low];
    };
    graph const& g = b_.get();
    read(g.ids.data() + g.regions[r].first_output, g.regions[r].output_count);
    for (int p = s_.index.count(r); p-- > 0;) {
      node& n = b_.edit().nodes[nodes[p]];
      symbol const* const ids = g.ids.data() + n.first;
      if (n.result_count == 1 && n.op->kind != operation_kind::control) {
        symbol const y = ids[n.operand_count];
        int const readers_of_y = readers[y - low];
        if (!n.flags.repeated) {
          n.flags.read_once = readers_of_y == 1;
          n.flags.of_carried = n.op == info_of<op::multiply>() && (carried_at(ids[0], r, carried) >= 0 || carried_at(ids[1], r, carried) >= 0);
        }
        if (n.op == info_of<op::multiply>() && r == layout_.body && readers_of_y > 0) note_product(n, ids);
        if (readers_of_y > 0 || g.tensors[y].base != none) read(ids, n.operand_count); // nothing reads dead nodes
      } else {
        read(ids, n.operand_count);
      }
      n.flags.repeated = true;
      if (n.op == info_of<op::loop>()) {
        loop_layout const at = loop_layout::of(b_, n);
        repeats(at.body, at.carried);
        if (at.condition != none) repeats(at.condition, at.carried);
      } else if (n.op == info_of<op::case_of>()) {
        case_layout const at = case_layout::of(b_, n);
        for (int j = 0; j < at.branches; ++j) repeats(at.branch(j), 0);
      }
    }
    for (int k = 0; k < layout_.carried && r == layout_.body; ++k)
      if (product_[k] != none && (readers[region_input(b_, r, layout_.init(k)) - low] != 1 || has_views(r))) product_[k] = none;
  }
  /// The position of a carried value among those of sub-graph r; -1 for others.
  constexpr int carried_at(symbol x, std::int32_t r, int carried) const {
    graph const& g = b_.get();
    if (g.tensors[x].producer != none || g.tensors[x].region != r) return -1;
    for (int k = 0; k < carried; ++k)
      if (g.ids[g.regions[r].first_input + 1 + k] == x) return k;
    return -1;
  }
  constexpr bool has_views(std::int32_t r) const {
    graph const& g = b_.get();
    for (symbol t = s_.index.low(r); t < s_.index.high(r); ++t)
      if (g.tensors[t].region == r && g.tensors[t].base != none) return true;
    return false;
  }

  // ---- cotangents that are carried as one factor of a product

  /// Where the body reads a carried value x only in a x, a is captured, and the cotangent of x after the loop is 0, the adjoint
  /// carries the cotangent d of a x, and not that of x, a d: each iteration begins with a d + ..., a fused multiply-add, for which
  /// alone the next one waits. It holds for finite a, since the first iteration has a times 0 in place of 0.
  constexpr void note_product(node const& n, symbol const* ids) {
    for (int which = 0; which < 2; ++which) {
      int const k = carried_at(ids[which], layout_.body, layout_.carried);
      if (k < 0 || cotangent_[k] != none || !n.flags.merges || n.flags.exact || ids[0] == ids[1]) continue;
      for (int j = 0; j < layout_.captured; ++j)
        if (region_input(b_, layout_.body, layout_.capture(j)) == ids[1 - which]) {
          product_[k] = ids[2];
          factor_[k] = layout_.capture(j);
          factor_outside_[k] = b_.get().ids[b_.get().nodes[at_].first + factor_[k]];
        }
    }
  }
  /// The cotangent of carried value k, from the factor of it that is carried; `a`: the other factor, in the scope of `where`.
  constexpr symbol times_factor(int k, symbol carried, sweep_scope const& where, symbol a) {
    if (product_[k] == none || carried == none) return carried;
    builder_scope const outer(b_);
    b_.flags.of_gradient = true;
    return (term{&b_, where.value(a)} * term{&b_, carried}).id;
  }
  constexpr symbol after_loop(int k, symbol carried) { return times_factor(k, carried, s_, factor_outside_[k]); }

  /// Propagates both marks through the carried values to a fixed point.
  constexpr void find_active() {
    activity const follow(b_.get(), s_.index);
    region_marks from(s_.index, layout_.body), to(s_.index, layout_.body);
    for (int k = 1; k < layout_.operand_count(); ++k)
      if (wanted_[k]) follow.mark(from, region_input(b_, layout_.body, k));
    follow.forward_carried(layout_, from);
    for (int k = 0; k < layout_.output_count(); ++k)
      if (cotangent_[k] != none) follow.mark(to, region_output(b_, layout_.body, k));
    follow.backward_carried(layout_, to);
    for (int k = 1; k < layout_.operand_count(); ++k) {
      symbol const x = region_input(b_, layout_.body, k);
      bool const is_carried = k < layout_.capture(0);
      bool const arrives = to[x] || (is_carried && cotangent_[k - 1] != none);
      active_[k] = from[x] && arrives && (is_carried || wanted_[k]);
      if (!active_[k]) continue;
      wrt_.push(x);
      wrt_position_.push(k);
    }
  }

  constexpr void make(adjoint_region& adjoint, symbol count, array<symbol> const& dx, symbol* given) {
    array<symbol> next, entries, sums_in;
    array<int> summed, stacked; // positions among the operands
    for (int k = 0; k < wrt_.size(); ++k) {
      int const position = wrt_position_[k];
      if (position < layout_.capture(0)) {
        next.push(dx[k] != none ? dx[k] : zero_like(b_, wrt_[k]));
      } else if (dx[k] != none && position < layout_.scan(0)) {
        sums_in.push(adjoint.input(dx[k]));
        next.push(cotangent_sum(b_, s_.sum, sums_in.back(), dx[k]));
        summed.push(position);
      } else if (dx[k] != none) {
        entries.push(dx[k]);
        stacked.push(position);
      }
    }
    array<symbol> outputs;
    for (symbol t : next) outputs.push(t);
    for (symbol t : entries) outputs.push(t);
    adjoint.close(outputs);
    finish(adjoint, count, sums_in, summed, stacked, given);
  }

  /// Makes tensors of zeros for the cotangents of the entries of these sequences; false if the number of entries is unknown.
  constexpr bool make_rows(array<int> const& stacked, array<symbol>& rows) {
    for (int const position : stacked) {
      graph const& g = b_.get();
      symbol const t = g.ids[g.nodes[at_].first + position];
      std::int32_t const maker = g.tensors[t].producer;
      if (maker == none || g.tensors[t].depth > 1 || g.tensors[t].region != b_.region) return false;
      node const& n = g.nodes[maker];
      dimensions to = b_.dims(t);
      if (n.op == info_of<op::rows_to_sequence>()) {
        to = b_.dims(g.ids[n.first]);
      } else {
        std::int64_t const trips = n.op == info_of<op::loop>() ? counted_trips(g, n) : -1;
        if (trips < 0 || loop_layout::of(g, n).has_start() || to.rank == max_rank) return false;
        for (int k = to.rank++; k > 0; --k) to.size[k] = to.size[k - 1];
        to.size[0] = trips;
      }
      rows.push(extend::constant(b_, b_.tensor(t).type, b_.shape(to), 0).id);
    }
    return true;
  }
  /// In the adjoint of the body, adds the last outputs, cotangents of entries, to tensors that the loop carries.
  constexpr void carry_rows(adjoint_region& adjoint, symbol count, array<symbol> const& rows, array<symbol>& carried_in) {
    if (rows.size() == 0) return;
    std::int32_t const outside = b_.region;
    b_.region = adjoint.region;
    region const r = b_.get().regions[adjoint.region];
    array<symbol> outputs;
    for (int k = 0; k < r.output_count; ++k) outputs.push(b_.get().ids[r.first_output + k]);
    for (int k = 0; k < rows.size(); ++k) {
      term const sum{&b_, b_.symbol_like(rows[k])}, entry{&b_, outputs[r.output_count - rows.size() + k]};
      dimensions one = sum.dims(), index{1, {1}};
      one.size[0] = 1;
      term const added = op::scatter_add::of(op::reshape::of(entry, b_.shape(one)),
                                             op::reshape::of({&b_, count}, b_.shape(index)), sum.shape_id());
      outputs[r.output_count - rows.size() + k] = (sum + added).id;
      carried_in.push(sum.id);
    }
    b_.set_outputs(outputs.data(), outputs.size(), adjoint.region);
    b_.region = outside;
  }

  constexpr void finish(adjoint_region& adjoint, symbol count, array<symbol> const& sums_in,
                        array<int> const& summed, array<int> const& stacked, symbol* given) {
    // Its reads: captured values directly, others from the tape.
    std::int64_t all_of_them = 0; // bytes
    array<symbol> captures, captures_in, saved,
        saved_in; // positions among the operands; inputs; values of the body
    for (int k = 0; k < adjoint.in.there.size(); ++k) {
      symbol const there = adjoint.in.there[k], here = adjoint.in.here[k];
      if (here == count || b_.tensor(here).producer != none || !adjoint.live(here)) continue;
      int position = layout_.capture(0);
      while (position < layout_.scan(0) && region_input(b_, layout_.body, position) != there) ++position;
      if (position < layout_.scan(0)) {
        captures.push(position);
        captures_in.push(here);
      } else {
        saved.push(there);
        saved_in.push(here);
      }
    }
    array<symbol> rows;
    if (s_.tape != nullptr && saved.size() > 0 && make_rows(stacked, rows)) {
      reverse_parts parts{.at = at_, .adjoint = &adjoint, .count = count, .rows = rows.size()};
      for (int k = 0; k < carried_.size(); ++k) {
        symbol const dy = cotangent_[carried_[k]];
        parts.carried.push(dy != none ? dy : zero_like(b_, carried_in_[k]));
        parts.carried_in.push(carried_in_[k]);
      }
      for (symbol t : sums_in) {
        parts.carried.push(zero_like(b_, t));
        parts.carried_in.push(t);
      }
      for (symbol t : rows) parts.carried.push(t);
      for (int k = 0; k < scanned_.size(); ++k)
        if (adjoint.live(scanned_in_[k])) {
          parts.scanned.push(cotangent_[scanned_[k]]);
          parts.scanned_in.push(scanned_in_[k]);
        }
      parts.captured = captures;
      parts.captured_in = captures_in;
      parts.saved = saved;
      parts.saved_in = saved_in;
      checkpointed_adjoint again(s_, parts);
      if (!again.whole()) {
        carry_rows(adjoint, count, rows, parts.carried_in);
        array<symbol> const dx = again.run();
        for (int k = 0; k < carried_.size() && k < dx.size(); ++k)
          if (wanted_[layout_.init(carried_[k])]) given[layout_.init(carried_[k])] = after_loop(carried_[k], dx[k]);
        for (int k = 0; k < summed.size() && carried_.size() + k < dx.size(); ++k)
          given[summed[k]] = dx[carried_.size() + k];
        for (int k = 0; k < stacked.size() && dx.size() > 0; ++k)
          if (wanted_[stacked[k]]) given[stacked[k]] = extend::rows_to_sequence({&b_, dx[dx.size() - rows.size() + k]}).id;
        return;
      }
      all_of_them = again.record_bytes();
    }
    array<symbol> tape(saved.size());
    if (saved.size() > 0) stack_values(b_, at_, saved.data(), saved.size(), tape.data());
    std::int64_t sequence = 0; // static programs have plain arrays
    if (!std::is_constant_evaluated()) sequence = sequence_bytes;
    for (int k = 0; k < saved.size() && s_.tape != nullptr; ++k)
      s_.tape->note(tape[k], capped_sum(sequence, k == 0 ? all_of_them : 0));

    node const forward = b_.get().nodes[at_];
    loop_layout const now = loop_layout::of(b_, forward);
    int const trips = forward.operand_count + now.trips();
    array<symbol> operands, inputs, results;
    operands.push(s_.value(b_.get().ids[forward.first + (now.condition == none ? 0 : trips)]));
    inputs.push(count);
    for (int k = 0; k < carried_.size(); ++k) {
      symbol const dy = cotangent_[carried_[k]];
      operands.push(dy != none ? dy : zero_like(b_, carried_in_[k]));
      inputs.push(carried_in_[k]);
    }
    for (symbol t : sums_in) {
      operands.push(zero_like(b_, t));
      inputs.push(t);
    }
    for (int k = 0; k < captures.size(); ++k) {
      operands.push(s_.value(b_.get().ids[b_.get().nodes[at_].first + captures[k]]));
      inputs.push(captures_in[k]);
    }
    int scans = 0;
    for (int k = 0; k < scanned_.size(); ++k) {
      if (!adjoint.live(scanned_in_[k])) continue;
      ++scans;
      operands.push(cotangent_[scanned_[k]]);
      inputs.push(scanned_in_[k]);
    }
    for (int k = 0; k < saved.size(); ++k) {
      operands.push(s_.value(tape[k]));
      inputs.push(saved_in[k]);
    }
    if (layout_.has_start()) operands.push(s_.value(b_.get().ids[forward.first + layout_.start()]));
    auto const give = [&](int position, symbol like, int deeper) {
      symbol const y = b_.symbol_like(like, deeper);
      results.push(y);
      if (wanted_[position]) given[position] = y;
    };
    for (int k = 0; k < carried_.size(); ++k) give(layout_.init(carried_[k]), carried_in_[k], 0);
    for (int k = 0; k < summed.size(); ++k) give(summed[k], sums_in[k], 0);
    for (int k = 0; k < stacked.size(); ++k) give(stacked[k], region_input(b_, layout_.body, stacked[k]), 1);
    results.push(b_.symbol_of(element::int64, b_.shape(dimensions{})));

    loop_layout const made{.carried = carried_.size() + sums_in.size(),
                           .captured = captures.size(),
                           .scanned = scans + saved.size(),
                           .stacked = stacked.size(),
                           .flags = (layout_.is_reverse() ? std::int64_t{0} : loop_layout::reverse) |
                                    (layout_.has_start() ? loop_layout::starts : std::int64_t{0}) |
                                    loop_layout::at_most(layout_.most()),
                           .tape_limit = layout_.tape_limit,
                           .body = adjoint.region};
    std::int64_t attributes[loop_layout::attribute_count]{};
    made.write(attributes);
    b_.edit().regions[adjoint.region].owner = b_.get().nodes.size();
    b_.set_inputs(inputs.data(), inputs.size(), adjoint.region);
    (void)b_.assign(info_of<op::loop>(), operands.data(), operands.size(), results.data(), results.size(),
                    attributes, loop_layout::attribute_count, b_.place);
    for (int const k : carried_)
      if (wanted_[layout_.init(k)]) given[layout_.init(k)] = after_loop(k, given[layout_.init(k)]);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
