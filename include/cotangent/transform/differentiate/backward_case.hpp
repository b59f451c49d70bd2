// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CASE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CASE_HPP

#include <cotangent/transform/differentiate/adjoint_region.hpp>

#include <cstdint>

// The adjoint of a branch: again a branch, with the same index, so that it is differentiable.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class case_adjoint {
  sweep_scope const& s_;
  builder& b_;
  std::int32_t const at_;
  case_layout const layout_;
  symbol const* cotangent_;
  bool const* wanted_;
  // Operands of the adjoint, and for each branch the inputs for them; none if the branch does not read them.
  array<symbol> operands_;
  array<array<symbol>> inputs_;
  array<array<symbol>> dx_; // by branch, by value: none if zero

  constexpr std::int32_t branch(int j) const { return case_layout::of(b_, b_.get().nodes[at_]).branch(j); }
  constexpr int bypass(int k) const { return case_layout::of(b_, b_.get().nodes[at_]).bypass(k); }
  constexpr symbol operand(int k) const { return b_.get().ids[b_.get().nodes[at_].first + k]; }

  constexpr int add_operand(symbol t) {
    for (array<symbol>& inputs : inputs_) inputs.push(none);
    return operands_.push(t);
  }

public:
  constexpr case_adjoint(sweep_scope const& s, std::int32_t at, symbol const* cotangent, bool const* wanted)
      : s_(s), b_(s.b), at_(at), layout_(case_layout::of(s.b, s.b.get().nodes[at])), cotangent_(cotangent),
        wanted_(wanted), inputs_(layout_.branches), dx_(layout_.branches) {}

  constexpr void run(symbol* given) {
    array<int> place(layout_.results, -1); // of a cotangent among the operands
    for (int k = 0; k < layout_.results; ++k)
      if (cotangent_[k] != none) place[k] = add_operand(cotangent_[k]);
    array<std::int32_t> regions;
    for (int j = 0; j < layout_.branches; ++j)
      if (!differentiate(j, place, regions)) return;
    make(place, regions, given);
  }

private:
  /// The adjoint of one branch. Its outputs are set once all values with cotangents are known.
  constexpr bool differentiate(int j, array<int> const& place, array<std::int32_t>& regions) {
    adjoint_region adjoint(b_);
    regions.push(adjoint.region);
    std::int32_t const forward = branch(j);
    array<symbol> outputs, seeds, wrt;
    for (int k = 0; k < layout_.results; ++k)
      if (symbol const y = region_output(b_, forward, k); place[k] >= 0 && y != none) {
        inputs_[j][place[k]] = adjoint.input(y);
        outputs.push(y);
        seeds.push(inputs_[j][place[k]]);
      }
    for (int k = 0; k < layout_.values; ++k)
      if (wanted_[1 + k]) wrt.push(region_input(b_, forward, k));
    array<symbol> dx(wrt.size(), none);
    gradient_request const r{outputs.data(), seeds.data(), outputs.size(), wrt.data(), wrt.size()};
    sweep_scope const inner{b_, s_.index, forward, &adjoint.in, s_.control, s_.tape, s_.sum};
    if (!backward_sweep(inner, r).run(r, dx.data())) return false;
    dx_[j] = dx;
    adjoint.close(dx);

    array<symbol> saved, saved_in;
    for (int k = 0; k < adjoint.in.there.size(); ++k) {
      symbol const there = adjoint.in.there[k], here = adjoint.in.here[k];
      if (b_.tensor(here).producer != none || !adjoint.live(here)) continue;
      int position = 0;
      while (position < layout_.values && region_input(b_, forward, position) != there) ++position;
      if (position < layout_.values) {
        symbol const value = s_.value(operand(1 + position));
        int at = 0;
        while (at < operands_.size() && operands_[at] != value) ++at;
        if (at == operands_.size() || inputs_[j][at] != none) at = add_operand(value);
        inputs_[j][at] = here;
      } else {
        saved.push(there);
        saved_in.push(here);
      }
    }
    array<symbol> kept(saved.size());
    if (saved.size() > 0) give_values(b_, at_, j, saved.data(), saved.size(), kept.data());
    for (int k = 0; k < saved.size(); ++k) inputs_[j][add_operand(s_.value(kept[k]))] = saved_in[k];
    return true;
  }

  constexpr void make(array<int> const& place, array<std::int32_t> const& regions, symbol* given) {
    // Cotangents of bypassing values bypass the adjoint.
    array<std::int64_t> attributes;
    array<int> results, by; // positions among the wanted values; of bypassing ones among the operands
    int w = -1;
    for (int k = 0; k < layout_.values; ++k) {
      if (!wanted_[1 + k]) continue;
      ++w;
      array<symbol> passing;
      int at = -1;
      for (int j = 0; j < layout_.results; ++j)
        if (bypass(j) == k && place[j] >= 0) {
          at = passing.empty() ? place[j] : -1;
          passing.push(cotangent_[j]);
        }
      bool any = !passing.empty();
      for (int j = 0; j < layout_.branches; ++j) any = any || dx_[j][w] != none;
      if (!any) continue;
      results.push(w);
      by.push(passing.size() > 1 ? add_operand(cotangent_sum(b_, s_.sum, passing.data(), passing.size()))
                                 : at);
      given[1 + k] = b_.symbol_like(operand(1 + k));
    }
    if (results.size() == 0) return;
    attributes.push(results.size());
    attributes.push(operands_.size());
    attributes.push(layout_.branches);
    for (int k : by) attributes.push(k);
    for (std::int32_t r : regions) attributes.push(r);

    std::int32_t const outside = b_.region;
    for (int j = 0; j < layout_.branches; ++j) {
      std::int32_t const r = regions[j];
      b_.region = r;
      array<symbol> outputs;
      for (int k : results) {
        symbol const dx = dx_[j][k];
        outputs.push(dx != none ? dx : zero_like(b_, wanted_value(k)));
      }
      for (int k = 0; k < operands_.size(); ++k)
        if (inputs_[j][k] == none) {
          inputs_[j][k] = b_.symbol_like(operands_[k]);
        }
      b_.set_inputs(inputs_[j].data(), inputs_[j].size(), r);
      b_.set_outputs(outputs.data(), outputs.size(), r);
    }
    b_.region = outside;

    array<symbol> ids, made;
    ids.push(s_.value(operand(0)));
    for (symbol t : operands_) ids.push(t);
    for (int k = 0; k < layout_.values; ++k)
      if (given[1 + k] != none) made.push(given[1 + k]);
    for (std::int32_t r : regions) b_.edit().regions[r].owner = b_.get().nodes.size();
    (void)b_.assign(info_of<op::case_of>(), ids.data(), ids.size(), made.data(), made.size(),
                    attributes.data(), attributes.size(), b_.place);
  }
  constexpr symbol wanted_value(int w) const {
    for (int k = 0; k < layout_.values; ++k)
      if (wanted_[1 + k] && w-- == 0) return operand(1 + k);
    return none;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
