// SPDX-License-Identifier: BSL-1.0
// Compiled several times, with UNIT the name of what it exports.
#include <cotangent/cotangent.hpp>

#include "function.hpp"

char const* COTANGENT_UNIT_NAME();
double COTANGENT_UNIT(shared::numbers const& x, shared::numbers const& w, shared::numbers& dw);

#define COTANGENT_TEXT_OF(X) #X
#define COTANGENT_TEXT(X) COTANGENT_TEXT_OF(X)

char const* COTANGENT_UNIT_NAME() { return COTANGENT_TEXT(COTANGENT_ABI); }

double COTANGENT_UNIT(shared::numbers const& x, shared::numbers const& w, shared::numbers& dw) {
  auto [value, gradient] = cotangent::value_and_grad<1>(shared::loss)(x, w);
  dw = gradient;
  return value;
}
