// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CONTROL_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_CONTROL_HPP

#include <cotangent/transform/differentiate/backward_case.hpp>
#include <cotangent/transform/differentiate/backward_custom.hpp>
#include <cotangent/transform/differentiate/backward_loop.hpp>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

constexpr void control_adjoint(sweep_scope const& s, std::int32_t at, symbol const* cotangent,
                               bool const* wanted, symbol* given) {
  operation const* const op = s.b.get().nodes[at].op;
  if (op == info_of<op::loop>()) loop_adjoint(s, at, cotangent, wanted).run(given);
  else if (op == info_of<op::custom>()) custom_adjoint(s, at, cotangent, wanted, given);
  else case_adjoint(s, at, cotangent, wanted).run(given);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
