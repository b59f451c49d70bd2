// SPDX-License-Identifier: BSL-1.0
// Convolution and pooling: shapes, and values by the compiler.
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

#include <type_traits>

namespace {

namespace ct = cotangent;

template <class F, class... A> using result =
    std::remove_cvref_t<decltype(ct::compiled(F{})(std::declval<A const&>()...))>;

constexpr auto strided = [](auto x, auto w) {
  return ct::conv2d<ct::convolution{
      .stride = {2, 3}, .padding = {1, 0}, .padding_end = {2, 1}, .dilation = {2, 1}}>(x, w);
};
static_assert(
    std::is_same_v<result<decltype(strided), ct::tensor<float, "n", 9, 8, 2>, ct::tensor<float, 3, 2, 2, 5>>,
                   ct::tensor<float, "n", 4, 3, 5>>);
constexpr auto grouped = [](auto x, auto w) { return ct::conv2d<ct::convolution{.groups = 3}>(x, w); };
static_assert(
    std::is_same_v<result<decltype(grouped), ct::tensor<double, 4, 4, 6>, ct::tensor<double, 1, 4, 2, 9>>,
                   ct::tensor<double, 4, 1, 9>>);
constexpr auto pooled = [](auto x) {
  return ct::avg_pool2d<ct::pooling{.window = 3, .stride = 2, .padding = 1}>(ct::max_pool2d(x));
};
static_assert(std::is_same_v<result<decltype(pooled), ct::tensor<double, 2, 9, 12, "c">>,
                             ct::tensor<double, 2, 2, 3, "c">>);

// 2 x 2 taps on [[1, 2, 3], [4, 5, 6]]
constexpr auto value = [](auto x, auto w) { return ct::sum(ct::square(ct::conv2d(x, w))); };
consteval double at(double a, double b) {
  ct::tensor<double, 2, 3, 1> x{{{a}, {2}, {3}}, {{4}, {5}, {6}}};
  ct::tensor<double, 2, 2, 1, 1> w{{{{1}}, {{b}}}, {{{0}}, {{-1}}}};
  return ct::compiled(value)(x, w);
}
static_assert(at(1, 10) == 16. * 16. + 26. * 26.); // 1 + 20 - 5, 2 + 30 - 6
consteval double slope(double a, double b) {
  ct::tensor<double, 2, 3, 1> x{{{a}, {2}, {3}}, {{4}, {5}, {6}}};
  ct::tensor<double, 2, 2, 1, 1> w{{{{1}}, {{b}}}, {{{0}}, {{-1}}}};
  auto const [dx, dw] = ct::grad<0, 1>(value)(x, w);
  return dx(0, 1, 0) + 1000 * dw(0, 1, 0, 0);
}
static_assert(slope(1, 10) == 2 * (16 * 10 + 26 * 1) + 1000 * 2 * (16 * 2 + 26 * 3));

constexpr auto largest = [](auto x) {
  return ct::sum(ct::max_pool2d<ct::pooling{.window = {1, 2}, .stride = 1}>(x));
};
consteval bool shares() {
  ct::tensor<double, 1, 4, 1> x{{{2}, {2}, {1}, {5}}};
  auto const dx = ct::grad(largest)(x);
  return ct::compiled(largest)(x) == 9 && dx(0, 0, 0) == .5 && dx(0, 1, 0) == 1.5 && dx(0, 2, 0) == 0 &&
         dx(0, 3, 0) == 1;
}
static_assert(shares());

// Of the squares of windows' means and maxima: first and second derivatives, which use every operation of pooling.
constexpr auto means = [](auto x) {
  return ct::sum(ct::square(ct::avg_pool2d<ct::pooling{.window = {1, 2}, .stride = 1}>(x))) +
         ct::sum(ct::square(ct::max_pool2d<ct::pooling{.window = {1, 2}, .stride = 1}>(x)));
};
constexpr auto sloping = [](auto x) { return ct::sum(ct::square(ct::grad(means)(x))); };
consteval bool twice() {
  ct::tensor<double, 1, 3, 1> x{{{2}, {4}, {-6}}};
  auto const dx = ct::grad(means)(x), ddx = ct::grad(sloping)(x);
  // means 3, -1; maxima 4, 4: dx = (3, 3 - 1 + 16, -1); each is linear in x near here: ddx = 2 (d dx / dx)' dx
  return dx(0, 0, 0) == 3 && dx(0, 1, 0) == 18 && dx(0, 2, 0) == -1 &&
         ddx(0, 0, 0) == 2 * (.5 * 3 + .5 * 18) && ddx(0, 1, 0) == 2 * (.5 * 3 + 5 * 18 - .5) &&
         ddx(0, 2, 0) == 2 * (.5 * 18 - .5);
}
static_assert(twice());

} // namespace
