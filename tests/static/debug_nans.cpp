// SPDX-License-Identifier: BSL-1.0
// A watched function has the value and the derivatives of the function, also inside of others.
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

namespace {

inline constexpr auto square = [](auto x) { return x * x; };
static_assert(ct::debug_nans(square)(3.0) == 9);
static_assert(ct::debug_nans(ct::value_and_grad(square))(3.0) == std::pair(9.0, 6.0));
static_assert(ct::grad(ct::debug_nans(square))(3.0F) == 6);
static_assert(ct::compiled([](auto x) { return ct::debug_nans(square)(x) + x; })(3.0) == 12);

// ---- the evaluation that watches: the first node that makes a NaN or an infinity

template <class F> consteval ct::detail::not_finite first_of(double x) {
  using graph = ct::detail::stages<ct::detail::compiled_function<F>, double>::differentiated;
  ct::detail::elements_in const in(&x);
  return ct::detail::first_not_finite(graph::view, nullptr, &in);
}
inline constexpr auto root = [](auto x) { return ct::sqrt(x - 1); };
static_assert(first_of<decltype(root)>(2).operation == nullptr);
inline constexpr ct::detail::not_finite found = first_of<decltype(root)>(0);
static_assert(found.operation != nullptr && found.is_nan && !found.of_gradient && found.where.line() == __LINE__ - 3);

} // namespace
