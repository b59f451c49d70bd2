// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_SYMBOLIC_PARTS_HPP
#define COTANGENT_TESTS_SYMBOLIC_PARTS_HPP

#include <cotangent/dynamic.hpp>

#include <cstdint>

// What tests of graphs by their symbols are made of.

namespace {

inline cotangent::dynamic::command below(std::int64_t n) {
  return cotangent::dynamic::command("below", [n](cotangent::term i) { return i < n; });
}
/// count < n, as a symbol of the body.
inline cotangent::dynamic::symbolic_tensor while_below(cotangent::dynamic::symbolic_graph const& body,
                                                       std::int64_t n) {
  auto const goes_on = body.tensor<bool>({}, "goes_on");
  body.exec(below(n), {body.count()}, {goes_on}, "condition");
  return goes_on;
}

} // namespace

#endif
