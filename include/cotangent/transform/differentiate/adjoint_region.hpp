// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_ADJOINT_REGION_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_ADJOINT_REGION_HPP

#include <cotangent/transform/differentiate/backward_sweep.hpp>
#include <cotangent/transform/differentiate/saved_values.hpp>

#include <cstdint>

// The region of an adjoint.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The region of an adjoint under construction: its new nodes, and their reads of the forward region.
class adjoint_region {
  builder& b_;
  std::int32_t first_node_;
  symbol first_symbol_;
  array<bool> live_; // by symbol - first_symbol_

public:
  std::int32_t region;
  importer in;

  constexpr explicit adjoint_region(builder& b)
      : b_(b), first_node_(b.get().nodes.size()), first_symbol_(b.get().tensors.size()),
        region(b.open_region()), in(b) {}

  constexpr symbol input(symbol like, int deeper = 0) {
    return b_.symbol_like(like, deeper);
  }
  constexpr bool live(symbol t) const { return live_[t - first_symbol_]; }

  /// Keeps the nodes that the outputs need. Dead ones read nothing any more; they remain as unused constants.
  constexpr void close(array<symbol> const& outputs) {
    graph& g = b_.edit();
    tensor_symbol const* const tensors = g.tensors.data();
    live_ = array<bool>(g.tensors.size() - first_symbol_);
    bool* const live = live_.data();
    symbol const first = first_symbol_;
    auto const need = [&](symbol t) { // (of a view also its tensor)
      if (t == none) return;
      live[t - first] = true;
      if (symbol const base = tensors[t].base; base != none) live[base - first] = true;
    };
    for (symbol const t : outputs) need(t);
    for (std::int32_t i = g.nodes.size(); i-- > first_node_;) {
      node& n = g.nodes[i];
      if (n.region != region) continue;
      symbol const* const ids = g.ids.data() + n.first;
      bool needed = n.op == info_of<op::loop>() || n.op == info_of<op::case_of>() || n.result_count != 1;
      for (int k = n.operand_count; k < n.operand_count + n.result_count; ++k)
        needed = needed || live[ids[k] - first] || (tensors[ids[k]].base != none && live[tensors[ids[k]].base - first]);
      if (!needed) {
        n.op = tensors[ids[n.operand_count]].depth > 0 ? info_of<op::sequence_zero>() : info_of<op::constant>();
        n.first += n.operand_count;
        n.operand_count = 0;
        n.attribute = g.numbers.size();
        n.attribute_count = n.op == info_of<op::constant>() ? 1 : 0;
        g.numbers.push(0);
        continue;
      }
      for (int k = 0; k < n.operand_count; ++k) need(ids[k]);
    }
    b_.set_outputs(outputs.data(), outputs.size(), region);
    b_.close_region(region);
  }
};

/// The parts of a reverse loop: symbols of the region under construction, except for those of the adjoint's
/// region.
struct reverse_parts {
  std::int32_t at = none; // the loop
  adjoint_region* adjoint = nullptr;
  symbol count = none;
  array<symbol> carried = {}, carried_in = {};   // cotangents of carried values, then sums
  array<symbol> captured = {}, captured_in = {}; // positions among the operands of the loop
  array<symbol> scanned = {}, scanned_in = {};   // sequences of cotangents
  array<symbol> saved = {}, saved_in = {};       // of the body
  int rows = 0;                                  // of the carried values, the last ones: gradients of tensors, row by row
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
