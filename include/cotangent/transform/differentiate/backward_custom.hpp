// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CUSTOM_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CUSTOM_HPP

#include <cotangent/transform/differentiate/backward_sweep.hpp>
#include <cotangent/transform/differentiate/linear_rule.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The adjoint of a value with a rule of its own: the rule for cotangents, or the transposed rule for tangents, which is linear in
/// the tangents.
constexpr void custom_adjoint(sweep_scope const& s, std::int32_t at, symbol const* cotangent, bool const* wanted, symbol* given) {
  builder& b = s.b;
  node const n = b.get().nodes[at];
  custom_layout const layout = custom_layout::of(b, n);
  auto const id = [&](int k) { return b.get().ids[n.first + k]; };
  array<symbol> of;
  for (int k = 0; k < layout.arguments; ++k)
    if (wanted[custom_layout::argument(k)]) of.push(id(layout.reverse ? layout.cotangent(k) : layout.tangent(k)));
  array<symbol> dx(of.size() + 1, none);
  if (!layout.reverse) {
    symbol const dy = id(layout.value_tangent());
    array<symbol> tangents;
    std::int32_t begin = at;
    for (int k = 0; k < layout.arguments; ++k) {
      tangents.push(id(layout.tangent(k)));
      if (std::int32_t const p = b.tensor(tangents.back()).producer; p < begin) begin = p;
    }
    auto const same = [](symbol t) { return t; };
    rule_copy const given_rule(b, at, at, tangents.data(), tangents.data(), tangents.size(), same);
    if (!linear_rule(b, given_rule).holds(&dy, 1)) return b.fail({why<refusals::custom_backward>(), {}, {}, at, n.where});
    gradient_request const r{&dy, cotangent, 1, of.data(), of.size()};
    std::int32_t const before = b.get().nodes.size(); // (readers of the function's value may depend on the rule)
    if (!backward_sweep(s, r, at).run(r, dx.data())) return;
    // A loop may carry tangents beside what its adjoint reads. (At run time, loops of the rule may follow the function.)
    bool has_control = false;
    for (std::int32_t i = begin; i < b.get().nodes.size(); ++i) has_control = has_control || b.get().nodes[i].op->kind == operation_kind::control;
    if (!has_control) {
      rule_copy const rule(b, at, b.get().nodes.size(), tangents.data(), tangents.data(), tangents.size(), same, before);
      for (int k = 0; k < of.size(); ++k)
        if (dx[k] != none && rule.varies(dx[k])) return b.fail({why<refusals::custom_backward>(), {}, {}, at, n.where});
    }
  } else {
    symbol const placeholders[2]{id(layout.value()), id(layout.value_cotangent())};
    symbol const values[2]{s.value(id(n.operand_count)), cotangent[0]};
    rule_copy(b, at, at, placeholders, values, 2, [&s](symbol t) { return s.value(t); }).run(of.data(), of.size(), dx.data());
  }
  for (int k = 0, next = 0; k < layout.arguments; ++k)
    if (wanted[custom_layout::argument(k)]) given[custom_layout::argument(k)] = dx[next++];
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
