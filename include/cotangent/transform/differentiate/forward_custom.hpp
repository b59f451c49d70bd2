// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_CUSTOM_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_CUSTOM_HPP

#include <cotangent/transform/differentiate/backward_control.hpp>
#include <cotangent/transform/differentiate/forward_sweep.hpp>
#include <cotangent/transform/differentiate/linear_rule.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The tangent of a value with a rule of its own: the rule for tangents, or the transposed rule for cotangents. Refuses a rule
/// for cotangents that is not linear in them.
constexpr void custom_tangent(forward_scope const& s, std::int32_t at, symbol const* tangent, symbol* given) {
  builder& b = s.b;
  node const n = b.get().nodes[at];
  custom_layout const layout = custom_layout::of(b, n);
  auto const id = [&](int k) { return b.get().ids[n.first + k]; };
  auto const same = [](symbol t) { return t; };
  array<symbol> of, dx;
  bool any = false;
  for (int k = 0; k < layout.arguments; ++k) any = any || tangent[custom_layout::argument(k)] != none;
  if (!any) return;
  for (int k = 0; k < layout.arguments; ++k) {
    symbol const given_dx = tangent[custom_layout::argument(k)];
    if (!layout.forward && given_dx == none) continue;
    of.push(id(layout.forward ? layout.tangent(k) : layout.cotangent(k)));
    dx.push(given_dx != none ? given_dx : zero_like(b, of.back()));
  }
  if (layout.forward) {
    symbol const dy = id(layout.value_tangent());
    if (layout.reverse) {
      of.push(id(layout.value()));
      dx.push(id(n.operand_count));
    }
    rule_copy(b, at, at, of.data(), dx.data(), dx.size(), same).run(&dy, 1, given);
    return;
  }
  symbol const value = id(layout.value()), cotangent = id(layout.value_cotangent()), y = id(n.operand_count);
  rule_copy const rule(b, at, at, &cotangent, &cotangent, 1, same);
  if (!linear_rule(b, rule).holds(of.data(), of.size())) return b.fail({why<refusals::custom_forward>(), {}, {}, at, n.where});
  symbol dy = none;
  gradient_request const r{of.data(), dx.data(), of.size(), &cotangent, 1};
  sweep_scope const scope{b, s.index, s.region, nullptr, control_adjoint};
  if (!backward_sweep(scope, r, at).run(r, &dy) || dy == none) return;
  std::int32_t const end = b.get().nodes.size();
  if (rule_copy(b, at, end, &cotangent, &cotangent, 1, same).varies(dy))
    return b.fail({why<refusals::custom_forward>(), {}, {}, at, n.where});
  rule_copy(b, at, end, &value, &y, 1, same).run(&dy, 1, given);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
