// SPDX-License-Identifier: BSL-1.0
#include "../verify_cases.hpp"

#include <utility>

using namespace cotangent;

namespace {

static_assert(verify(verify_cases::sound()).text == nullptr);

/// The index in the compiler's message is the place in verify_cases::damages.
template <int Damage> struct damaged {
  static_assert(verify_cases::is_found(verify_cases::damages[Damage]), "verify says something else");
};
template <int... Damage> constexpr int all(std::integer_sequence<int, Damage...>) {
  return (int{sizeof(damaged<Damage>)} + ...);
}
static_assert(all(std::make_integer_sequence<int, verify_cases::damage_count>{}) ==
              verify_cases::damage_count);

static_assert(!verify_cases::is_found({[](graph&) {}, "a node has no operation"}));

// linear, and within the compiler's own limits
constexpr bool thousands(int nodes) {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, 0);
  b.set_inputs(&x, 1);
  extend::symbol z = x;
  for (int k = 0; k < nodes; ++k) z = b.push(info_of<op::multiply>(), {z, x});
  b.set_outputs(&z, 1);
  return bool(verify(b.get()));
}
static_assert(thousands(1000));
static_assert(thousands(2000));

} // namespace
