// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_SAVED_VALUES_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_SAVED_VALUES_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/source.hpp>

#include <cstdint>

// Values of loops and branches that derivatives read become further results of these.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The inputs and outputs of a region by position.
constexpr symbol region_input(builder const& b, std::int32_t r, int k) {
  return b.get().ids[b.get().regions[r].first_input + k];
}
constexpr symbol region_output(builder const& b, std::int32_t r, int k) {
  return b.get().ids[b.get().regions[r].first_output + k];
}

/// A zero of this type.
constexpr symbol zero_like(builder& b, symbol like) {
  tensor_symbol const t = b.tensor(like);
  return t.depth > 0 ? extend::sequence_zero(b, t.type, t.shape, t.depth).id
                     : extend::constant(b, t.type, t.shape, 0).id;
}

/// Finds symbols of a set. The first value that is set for a symbol is kept.
class kept_symbols {
  symbol low_ = 0;
  array<symbol> at_; // by symbol - low_: 1 + the value

public:
  constexpr kept_symbols(symbol const* of, int count) {
    symbol high = 0;
    for (int k = 0; k < count; ++k) {
      low_ = k == 0 || of[k] < low_ ? of[k] : low_;
      high = of[k] >= high ? of[k] + 1 : high;
    }
    at_ = array<symbol>(high - low_);
  }
  constexpr void set(symbol t, symbol value) {
    if (t >= low_ && t - low_ < at_.size() && at_[t - low_] == 0) at_[t - low_] = value + 1;
  }
  /// `none` for symbols that no value was set for.
  constexpr symbol operator[](symbol t) const { return at_[t - low_] - 1; }
};

/// Lets a loop stack these values of its body; `saved`: the sequences. Existing stacked or scanned sequences
/// are shared.
constexpr void stack_values(builder& b, std::int32_t at, symbol const* values, int count, symbol* saved) {
  node const n = b.get().nodes[at];
  loop_layout layout = loop_layout::of(b, n);
  region const body = b.get().regions[layout.body];
  auto const id = [&](int k) { return b.get().ids[k]; };
  array<symbol> outputs, results, operands;
  for (int k = 0; k < n.operand_count; ++k) operands.push(id(n.first + k));
  for (int k = 0; k < body.output_count; ++k) outputs.push(id(body.first_output + k));
  for (int k = 0; k < n.result_count - 1; ++k) results.push(id(n.first + n.operand_count + k));
  symbol const trips = id(n.first + n.operand_count + n.result_count - 1);
  kept_symbols sequences(values, count);
  for (int k = 0; k < layout.scanned; ++k)
    sequences.set(id(body.first_input + layout.scan(k)), operands[layout.scan(k)]);
  for (int k = layout.carried; k < outputs.size(); ++k) sequences.set(outputs[k], results[k]);
  std::int32_t const inside = b.region;
  b.region = n.region;
  for (int j = 0; j < count; ++j) {
    saved[j] = sequences[values[j]];
    if (saved[j] != none) continue;
    saved[j] = b.symbol_like(values[j], 1);
    sequences.set(values[j], saved[j]);
    outputs.push(values[j]);
    results.push(saved[j]);
    ++layout.stacked;
  }
  b.region = inside;
  results.push(trips);
  b.set_outputs(outputs.data(), outputs.size(), layout.body);
  layout.write(b.edit().numbers.data() + n.attribute);
  b.edit().rewire(at, operands, results);
}

/// Lets a branch return these values as well; `saved`: the results.
constexpr void give_values(builder& b, std::int32_t at, int branch, symbol const* values, int count,
                           symbol* saved) {
  node const n = b.get().nodes[at];
  case_layout const layout = case_layout::of(b, n);
  auto const id = [&](int k) { return b.get().ids[k]; };
  region const chosen = b.get().regions[layout.branch(branch)];
  array<symbol> operands, results, fresh;
  for (int k = 0; k < n.operand_count; ++k) operands.push(id(n.first + k));
  for (int k = 0; k < n.result_count; ++k) results.push(id(n.first + n.operand_count + k));
  kept_symbols given(values, count);
  for (int k = 0; k < layout.results; ++k) given.set(id(chosen.first_output + k), results[k]);
  std::int32_t const inside = b.region;
  b.region = n.region;
  for (int j = 0; j < count; ++j) {
    saved[j] = given[values[j]];
    if (saved[j] != none) continue;
    saved[j] = b.symbol_like(values[j]);
    given.set(values[j], saved[j]);
    results.push(saved[j]);
    fresh.push(values[j]);
  }
  b.region = inside;
  if (fresh.size() == 0) return;
  array<std::int64_t> attributes;
  for (std::int64_t a : {layout.results + fresh.size(), layout.values, layout.branches}) attributes.push(a);
  for (int k = 0; k < layout.results; ++k) attributes.push(layout.bypass(k));
  for (int k = 0; k < fresh.size(); ++k) attributes.push(-1);
  for (int j = 0; j < layout.branches; ++j) attributes.push(layout.branch(j));
  for (int j = 0; j < layout.branches; ++j) {
    std::int32_t const r = static_cast<std::int32_t>(attributes[attributes.size() - layout.branches + j]);
    array<symbol> outputs;
    for (int k = 0; k < b.get().regions[r].output_count; ++k)
      outputs.push(id(b.get().regions[r].first_output + k));
    for (symbol t : fresh) outputs.push(j == branch ? t : none);
    b.set_outputs(outputs.data(), outputs.size(), r);
  }
  b.edit().nodes[at].attribute = b.get().numbers.size();
  b.edit().nodes[at].attribute_count = attributes.size();
  for (std::int64_t a : attributes) b.edit().numbers.push(a);
  b.edit().rewire(at, operands, results);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
