// SPDX-License-Identifier: BSL-1.0
// A constant evaluation sees memory that is read after it was moved: backward, while the arrays of its graph grow at every
// place where they can.
#include "../reference.hpp"

#include <cotangent/transform/differentiate/backward.hpp>

#include <utility>

using namespace cotangent;

namespace {

/// The derivative of the sum of l^2 + l, l = log(x + k) for k below `logarithms`, behind so many other nodes.
constexpr bool differentiates(int logarithms, int others) {
  extend::builder b;
  extend::symbol const in = b.symbol_of(element::float64, 0);
  b.set_inputs(&in, 1);
  term const x{&b, in};
  for (int k = 0; k < others; ++k) (void)extend::apply<op::exp>(x * (k + 2.0));
  term loss = x;
  for (int k = 0; k < logarithms; ++k) {
    term const l = extend::apply<op::log>(x + (k + 0.5)); // read twice, so its cotangent is a sum
    loss = loss + (l * l + l);
  }
  extend::symbol dx = extend::none;
  detail::gradient(b, {.outputs = &loss.id, .output_count = 1, .wrt = &in, .wrt_count = 1}, &dx);
  return b.failed().why == nullptr && dx != extend::none && b.producer(dx) != nullptr;
}
// each a constant evaluation of its own, for the sake of clang's limit
template <int Others> struct grown {
  static_assert(differentiates(40, Others));
};
template <int... Others> constexpr int all(std::integer_sequence<int, Others...>) {
  return (int{sizeof(grown<Others>)} + ...);
}
static_assert(all(std::make_integer_sequence<int, 12>{}) == 12);

} // namespace
