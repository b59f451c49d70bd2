// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_CONTROL_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_CONTROL_HPP

#include <cotangent/transform/differentiate/forward_custom.hpp>
#include <cotangent/transform/differentiate/forward_sweep.hpp>
#include <cotangent/transform/differentiate/saved_values.hpp>

#include <cstdint>

// Tangents of loops and branches: computed by the same loop and branches, together with the values. Nothing
// is stored for them, and nothing runs twice.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class loop_tangent {
  forward_scope const& s_;
  builder& b_;
  std::int32_t const at_;
  loop_layout const old_;
  array<int> carried_, captured_, scanned_,
      stacked_;          // positions among operands; of stacked ones among results
  array<symbol> x_, dx_; // inputs of the body, and their tangents

public:
  constexpr loop_tangent(forward_scope const& s, std::int32_t at)
      : s_(s), b_(s.b), at_(at), old_(loop_layout::of(s.b, s.b.get().nodes[at])) {}

  constexpr void run(symbol const* tangent, bool const* wanted, symbol* given) {
    choose(tangent, wanted);
    std::int32_t const outside = b_.region;
    b_.region = old_.body;
    for (array<int> const* list : {&carried_, &captured_, &scanned_})
      for (int k : *list) {
        x_.push(region_input(b_, old_.body, k));
        dx_.push(b_.symbol_like(x_.back()));
      }
    array<symbol> outputs;
    for (int k : carried_) outputs.push(region_output(b_, old_.body, k - 1));
    for (int k : stacked_) outputs.push(region_output(b_, old_.body, k));
    array<symbol> made(outputs.size(), none);
    tangent_request const r{x_.data(), dx_.data(), x_.size(), outputs.data(), outputs.size()};
    if (!forward_sweep({b_, s_.index, old_.body, s_.control}).run(r, made.data())) return;
    for (int k = 0; k < outputs.size(); ++k)
      if (made[k] == none) made[k] = zero_like(b_, outputs[k]);
    b_.region = outside;
    widen(tangent, made, given);
  }

private:
  constexpr symbol id(int k) const { return b_.get().ids[k]; }

  constexpr void choose(symbol const* tangent, bool const* wanted) {
    activity const follow(b_.get(), s_.index);
    region_marks from(s_.index, old_.body), to(s_.index, old_.body);
    for (int k = 1; k < old_.operand_count(); ++k)
      if (tangent[k] != none) follow.mark(from, region_input(b_, old_.body, k));
    follow.forward_carried(old_, from);
    for (int k = 0; k < old_.output_count(); ++k)
      if (wanted[k]) follow.mark(to, region_output(b_, old_.body, k));
    follow.backward_carried(old_, to);
    for (int k = 1; k < old_.operand_count(); ++k) {
      symbol const x = region_input(b_, old_.body, k);
      bool const is_carried = k < old_.capture(0);
      if (!from[x] || !(to[x] || (is_carried && wanted[k - 1]))) continue;
      (is_carried ? carried_ : k < old_.scan(0) ? captured_ : scanned_).push(k);
    }
    for (int k = 0; k < old_.stacked; ++k)
      if (wanted[old_.stack(k)]) stacked_.push(old_.stack(k));
  }

  /// Interleaves old and new values of each kind.
  constexpr void widen(symbol const* tangent, array<symbol> const& made, symbol* given) {
    node const n = b_.get().nodes[at_];
    region const body = b_.get().regions[old_.body];
    loop_layout now = old_;
    now.carried += carried_.size();
    now.captured += captured_.size();
    now.scanned += scanned_.size();
    now.stacked += stacked_.size();
    array<symbol> operands, body_in, condition_in, results, out;
    auto const keep = [&](int from, int to) {
      for (int k = from; k < to; ++k) {
        operands.push(id(n.first + k));
        body_in.push(id(body.first_input + k));
        if (now.condition != none && k < old_.scan(0)) condition_in.push(region_input(b_, now.condition, k));
      }
    };
    int next = 0;
    auto const extend_by = [&](array<int> const& list, bool in_condition) {
      for (int k : list) {
        symbol const dx = dx_[next++];
        operands.push(tangent[k] != none ? tangent[k] : zero_like(b_, dx));
        body_in.push(dx);
        if (!in_condition || now.condition == none) continue;
        std::int32_t const outside = b_.region;
        b_.region = now.condition;
        condition_in.push(b_.symbol_like(dx));
        b_.region = outside;
      }
    };
    keep(0, old_.capture(0));
    extend_by(carried_, true);
    keep(old_.capture(0), old_.scan(0));
    extend_by(captured_, true);
    keep(old_.scan(0), old_.operand_count());
    extend_by(scanned_, false);
    if (old_.has_start()) operands.push(id(n.first + old_.start()));
    int of_made = 0;
    auto const results_of = [&](int from, int to, array<int> const& list, int deeper) {
      for (int k = from; k < to; ++k) {
        results.push(id(n.first + n.operand_count + k));
        out.push(id(body.first_output + k));
      }
      for (int k : list) {
        symbol const y = made[of_made++];
        results.push(b_.symbol_like(y, deeper));
        out.push(y);
        given[deeper == 0 ? k - 1 : k] = results.back();
      }
    };
    results_of(0, old_.carried, carried_, 0);
    results_of(old_.carried, old_.output_count(), stacked_, 1);
    results.push(id(n.first + n.operand_count + old_.trips()));
    now.write(b_.edit().numbers.data() + n.attribute);
    b_.set_inputs(body_in.data(), body_in.size(), now.body);
    b_.set_outputs(out.data(), out.size(), now.body);
    if (now.condition != none) b_.set_inputs(condition_in.data(), condition_in.size(), now.condition);
    b_.edit().rewire(at_, operands, results);
  }
};

class case_tangent {
  forward_scope const& s_;
  builder& b_;
  std::int32_t const at_;

public:
  constexpr case_tangent(forward_scope const& s, std::int32_t at) : s_(s), b_(s.b), at_(at) {}

  constexpr void run(symbol const* tangent, bool const* wanted, symbol* given) {
    node const n = b_.get().nodes[at_];
    case_layout const old = case_layout::of(b_, n); // read before numbers grow
    array<std::int64_t> bypass, regions;
    for (int k = 0; k < old.results; ++k) bypass.push(old.bypass(k));
    for (int j = 0; j < old.branches; ++j) regions.push(old.branch(j));
    array<symbol> operands, results;
    array<int> position(old.values, -1); // of the tangents among the values
    for (int k = 0; k < n.operand_count; ++k) operands.push(b_.get().ids[n.first + k]);
    for (int k = 0; k < old.values; ++k)
      if (tangent[1 + k] != none) position[k] = operands.push(tangent[1 + k]) - 1;
    for (int k = 0; k < old.results; ++k) results.push(b_.get().ids[n.first + n.operand_count + k]);
    std::int32_t const outside = b_.region;
    for (int j = 0; j < old.branches; ++j)
      if (!differentiate(static_cast<std::int32_t>(regions[j]), old.values, old.results, position, wanted))
        return;
    b_.region = outside;
    for (int k = 0; k < old.results; ++k) {
      if (!wanted[k]) continue;
      given[k] = b_.symbol_like(results[k]);
      results.push(given[k]);
      bypass.push(bypass[k] < 0 ? -1 : position[static_cast<int>(bypass[k])]);
    }
    array<std::int64_t> attributes;
    for (int count : {results.size(), operands.size() - 1, regions.size()}) attributes.push(count);
    for (std::int64_t k : bypass) attributes.push(k);
    for (std::int64_t r : regions) attributes.push(r);
    b_.edit().nodes[at_].attribute = b_.get().numbers.size();
    b_.edit().nodes[at_].attribute_count = attributes.size();
    for (std::int64_t a : attributes) b_.edit().numbers.push(a);
    b_.edit().rewire(at_, operands, results);
  }

private:
  constexpr bool differentiate(std::int32_t r, int values, int result_count, array<int> const& position,
                               bool const* wanted) {
    array<symbol> inputs, x, dx, outputs, asked;
    b_.region = r;
    for (int k = 0; k < values; ++k) inputs.push(region_input(b_, r, k));
    for (int k = 0; k < values; ++k) {
      if (position[k] < 0) continue;
      tensor_symbol const t = b_.tensor(inputs[k]);
      x.push(inputs[k]);
      dx.push(b_.symbol_of(t.type, t.shape, t.depth));
      inputs.push(dx.back());
    }
    for (int k = 0; k < result_count; ++k) {
      outputs.push(region_output(b_, r, k));
      if (wanted[k]) asked.push(outputs.back());
    }
    array<symbol> made(asked.size(), none);
    tangent_request const request{x.data(), dx.data(), x.size(), asked.data(), asked.size()};
    if (!forward_sweep({b_, s_.index, r, s_.control}).run(request, made.data())) return false;
    for (int k = 0; k < asked.size(); ++k)
      outputs.push(made[k] != none || asked[k] == none ? made[k] : zero_like(b_, asked[k]));
    b_.set_inputs(inputs.data(), inputs.size(), r);
    b_.set_outputs(outputs.data(), outputs.size(), r);
    return true;
  }
};

constexpr void control_tangent(forward_scope const& s, std::int32_t at, symbol const* tangent,
                               bool const* wanted, symbol* given) {
  operation const* const op = s.b.get().nodes[at].op;
  if (op == info_of<op::loop>()) loop_tangent(s, at).run(tangent, wanted, given);
  else if (op == info_of<op::custom>()) custom_tangent(s, at, tangent, given);
  else case_tangent(s, at).run(tangent, wanted, given);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
