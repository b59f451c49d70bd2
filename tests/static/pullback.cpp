// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

// Pullbacks in constant evaluations, inside traced functions, and their types.

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto y) { return x * y * x; };

// As many arguments as the function takes give the value and a pullback; a cotangent more, value and gradients.
static_assert(ct::vjp<0, 1>(product)(3.0, 5.0).first == 45);
static_assert(ct::vjp<0, 1>(product)(3.0, 5.0).second(2.0) == std::tuple(60.0, 18.0));
static_assert(ct::vjp<0, 1>(product)(3.0, 5.0).second() == std::tuple(30.0, 9.0));
static_assert(ct::vjp<0, 1>(product)(3.0, 5.0, 2.0) == std::pair(45.0, std::tuple(60.0, 18.0)));
static_assert(ct::vjp<1>(product)(3.0, 5.0).second(2.0) == 18.0, "one position: one gradient");

// The types are those of grad.
inline constexpr auto energy = [](auto x) { return ct::sum(x * x * x); };
using cube = decltype(ct::vjp(energy)(ct::tensor<double, 5>()));
static_assert(std::is_same_v<cube::first_type, double>);
static_assert(std::is_same_v<cube::second_type::gradients, ct::tensor<double, 5>>);
static_assert(cube::second_type::saved_bytes == 40);
static_assert(ct::vjp(energy)(ct::tensor<double, 2>{1, 2}).second(10.0) == ct::tensor<double, 2>{30, 120});

// Masks are bits, also here.
inline constexpr auto rectified = [](auto x) { return ct::sum(ct::relu(x)); };
static_assert(decltype(ct::vjp(rectified)(ct::tensor<float, 11>()))::second_type::saved_bytes == 2);
static_assert(ct::vjp(rectified)(ct::tensor<float, 11>{1, -1, 2, 0, 3, -3, 4, 5, -2, 6, 7}).second(3.0f) ==
              ct::tensor<float, 11>{3, 0, 3, 0, 3, 0, 3, 3, 0, 3, 3});

// The choice if there are too many values for the least cut.
using of_rectified = ct::detail::vjp_stages<std::remove_const_t<decltype(rectified)>,
                                            std::integer_sequence<int, 0>, ct::tensor<float, 11>>;
static_assert(ct::detail::saving(of_rectified::whole, ct::detail::saving_options{}).choose(true).size() == 1);

// Several outputs, any of which may lack a cotangent; integers have none.
inline constexpr auto several = [](auto x, auto y) {
  return std::tuple(x * y, ct::convert<std::int32_t>(y), y * y);
};
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0).second(std::tuple(1.0, ct::absent, 1.0)) ==
              std::tuple(5.0, 13.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0).second(std::tuple(1.0, ct::absent, ct::absent)) ==
              std::tuple(5.0, 3.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0).second(std::tuple(ct::absent, ct::absent, 2.0)) ==
              std::tuple(0.0, 20.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0).second(std::tuple(ct::absent, ct::absent, ct::absent)) ==
              std::tuple(0.0, 0.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0).second() == std::tuple(5.0, 13.0), "ones");
// The same in one call, with tensors and inside traced functions.
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0, std::tuple(1.0, ct::absent, 1.0)).second == std::tuple(5.0, 13.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0, std::tuple(ct::absent, ct::absent, 2.0)).second == std::tuple(0.0, 20.0));
static_assert(ct::vjp<0, 1>(several)(3.0, 5.0, std::tuple(ct::absent, ct::absent, ct::absent)).second == std::tuple(0.0, 0.0));
static_assert(std::get<2>(ct::vjp<0>(several)(3.0, 5.0, std::tuple(1.0, ct::absent, ct::absent)).first) == 25.0);
inline constexpr auto nested = [](auto x) { return std::pair(std::tuple(x * x, ct::argmax(x)), ct::sum(x)); };
constexpr auto of_nested = ct::vjp(nested)(ct::tensor<double, 2>{3, 5}, std::pair(std::tuple(ct::tensor<double, 2>{1, 2}, ct::absent), 0.5)).second;
static_assert(of_nested(0) == 6.5 && of_nested(1) == 20.5);
inline constexpr auto traced = [](auto x, auto d) {
  auto const both = ct::vjp(nested)(x, std::pair(std::tuple(d, ct::absent), ct::absent)).second + ct::vjp(nested)(x, std::pair(std::tuple(ct::absent, ct::absent), 0.5)).second;
  return both + ct::vjp([](auto y) { return y * y; })(x, ct::absent).second;
};
static_assert(ct::compiled(traced)(ct::tensor<double, 2>{3, 5}, ct::tensor<double, 2>{1, 2})(1) == 20.5);
inline constexpr auto of_half = [](auto x) { return std::pair(x * x, ct::sum(x)); };
static_assert(ct::vjp(of_half)(ct::tensor<ct::float16, 1>{ct::float16(3)}, std::pair(ct::tensor<ct::float16, 1>{ct::float16(2)}, ct::absent)).second(0) == 12);

// Results that do not depend on an argument give zeros.
inline constexpr auto first_only = [](auto x, auto) { return 2 * x; };
static_assert(ct::vjp<0, 1>(first_only)(3.0, 5.0).second(1.5) == std::tuple(3.0, 0.0));
static_assert(decltype(ct::vjp<0, 1>(first_only)(3.0, 5.0))::second_type::saved_bytes == 0);

// One element picked: nothing of the tensor is needed.
inline constexpr auto pick = [](auto x) { return x(0); };
static_assert(ct::vjp(pick)(ct::tensor<double, 2>{1, 2}).second(1.0) == ct::tensor<double, 2>{1, 0});
static_assert(decltype(ct::vjp(pick)(ct::tensor<double, 2>{1, 2}))::second_type::saved_bytes == 0);

// Inside a traced function it is traced, as often as it is called: d/dx (x^2 * 2x + 3 * 2x) = 6 x^2 + 6.
inline constexpr auto twice = [](auto x) {
  auto [y, back] = ct::vjp([](auto z) { return z * z; })(x);
  return back(y) + back(3 * ct::sign(x));
};
static_assert(ct::compiled(twice)(2.0) == 16 + 12);
static_assert(ct::grad(twice)(2.0) == 6 * 4 + 6);
inline constexpr auto by_ones = [](auto x) {
  auto [y, back] = ct::vjp([](auto z) { return std::pair(z * z, 3 * z); })(x);
  return back() + back(std::pair(ct::absent, y.second)) + back(std::pair(2.0, ct::absent));
};
static_assert(ct::compiled(by_ones)(2.0) == (4 + 3) + 3 * 6 + 2 * 4);
static_assert(ct::grad(by_ones)(2.0) == 2 + 9 + 4);

// Of transformations, and under them.
static_assert(
    ct::vjp(ct::grad(energy))(ct::tensor<double, 2>{1, 2}).second(ct::tensor<double, 2>{1, 10})(1) == 120);
static_assert(
    ct::vjp(ct::grad(energy))(ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{1, 10}).second(1) == 120);
static_assert(ct::vjp(ct::exact(energy))(ct::tensor<double, 2>{1, 2}).second(1.0)(1) == 12);
inline constexpr auto hessian_row = [](auto x) {
  return ct::vjp(ct::grad(energy))(x).second(ct::ones<2>() + 0 * x);
};
static_assert(ct::compiled(hessian_row)(ct::tensor<double, 2>{1, 2})(0) == 6);
static_assert(ct::vjp(ct::jvp(energy))(ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{1, 1})
                  .second(std::pair(0.0, 1.0))(1) == 12);

// Values of checkpointed functions are not saved.
inline constexpr auto two_layers = [](auto x, auto w) {
  return ct::tanh(ct::matmul(ct::tanh(ct::matmul(x, w)), w));
};
inline constexpr auto marked = [](auto x, auto w) { return ct::checkpoint(two_layers)(x, w); };
using square = ct::tensor<double, 2, 2>;
using plain_back = decltype(ct::vjp<0, 1>(two_layers)(square(), square()))::second_type;
using marked_back = decltype(ct::vjp<0, 1>(marked)(square(), square()))::second_type;
static_assert(plain_back::saved_bytes == 4 * 32 && marked_back::saved_bytes == 3 * 32);
static_assert(ct::vjp<0, 1>(two_layers)(square{{1, 2}, {3, 4}}, square{{.1, .2}, {.3, -.4}})
                  .second(square{{1, 0}, {2, 3}}) ==
              ct::vjp<0, 1>(marked)(square{{1, 2}, {3, 4}}, square{{.1, .2}, {.3, -.4}})
                  .second(square{{1, 0}, {2, 3}}));
