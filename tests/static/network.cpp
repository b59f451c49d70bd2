// SPDX-License-Identifier: BSL-1.0
// gelu, the loss of yes and no, batch_take and split: shapes, and values by the compiler.
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

#include <limits>
#include <type_traits>

namespace {

namespace ct = cotangent;

template <class F, class... A> using result =
    std::remove_cvref_t<decltype(ct::compiled(F{})(std::declval<A const&>()...))>;

constexpr auto second_of_three = [](auto x) { return ct::split<1, 3>(x)[1]; };
static_assert(
    std::is_same_v<result<decltype(second_of_three), ct::tensor<float, "n", 12>>, ct::tensor<float, "n", 4>>);
constexpr auto last_of_sizes = [](auto x) { return std::get<2>(ct::split<-2, 1, 0, 4>(x)); };
static_assert(
    std::is_same_v<result<decltype(last_of_sizes), ct::tensor<float, 5, "n">>, ct::tensor<float, 4, "n">>);
constexpr auto taken = [](auto x, auto i) { return ct::batch_take(x, i); };
static_assert(
    std::is_same_v<result<decltype(taken), ct::tensor<float, "n", 2, 7>, ct::tensor<std::int64_t, "n", 2>>,
                   ct::tensor<float, "n", 2>>);

// The head gradients of the parts of an axis come together.
constexpr auto parts = [](auto x, auto heads) {
  auto const [a, b, c] = ct::split<0, 3>(x);
  auto const [p, q] = ct::split<0, 2>(heads);
  return ct::sum(a) + ct::sum(b * p) + ct::sum(c * q);
};
consteval bool comes_together() {
  ct::tensor<double, 3, 5> x{{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
  ct::tensor<double, 2, 5> heads{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}};
  auto const dx = ct::grad(parts)(x, heads);
  for (int k = 0; k < 5; ++k)
    if (dx(0, k) != 1 || dx(1, k) != k + 1 || dx(2, k) != 5 - k) return false;
  return true;
}
static_assert(comes_together());

constexpr auto loss = [](auto z, auto t) { return ct::sum(ct::binary_cross_entropy_with_logits(z, t)); };
consteval bool no_loss_of_digits() {
  ct::tensor<double, 2> z{800, -800};
  ct::tensor<double, 2> right{1, 0}, wrong{0, 1};
  return ct::compiled(loss)(z, right) == 0 && ct::compiled(loss)(z, wrong) == 1600 &&
         ct::grad(loss)(z, wrong)(0) == 1;
}
static_assert(no_loss_of_digits());

constexpr auto smooth = [](auto x) { return ct::gelu(x); };
static_assert(ct::compiled(smooth)(0.0) == 0 && ct::grad(smooth)(0.0) == 0.5 &&
              ct::compiled(smooth)(30.0) == 30);
// In the left tail 1 + erf(x / sqrt(2)) has lost all digits.
constexpr float left = ct::compiled(smooth)(-8.54f);
static_assert(-5.7313e-17f < left && left < -5.7312e-17f);
static_assert(ct::compiled(smooth)(-std::numeric_limits<double>::infinity()) == 0 &&
              ct::grad(smooth)(-std::numeric_limits<double>::infinity()) == 0);

// There x + sqrt(x x + 4) has, too.
constexpr auto soft = [](auto x) { return ct::squareplus(x); };
constexpr double far_left = ct::compiled(soft)(-1e8), slope = ct::grad(soft)(-1e8);
static_assert(0.9999999e-8 < far_left && far_left < 1.0000001e-8 && 0.9999999e-16 < slope && slope < 1.0000001e-16);
static_assert(ct::compiled(soft)(0.0) == 1 && ct::grad(soft)(0.0) == 0.5);
static_assert(ct::compiled(soft)(-std::numeric_limits<double>::infinity()) == 0);

constexpr auto chosen = [](auto x, auto i) {
  return ct::sum(ct::batch_take(ct::stop_gradient(x), i) + 0 * ct::sum(x));
};
consteval bool nothing_goes_back() {
  ct::tensor<double, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  ct::tensor<std::int64_t, 2> i{2, 0};
  return ct::compiled(chosen)(x, i) == 7 && ct::grad(chosen)(x, i)(0, 2) == 0 &&
         ct::grad(chosen)(x, i)(1, 0) == 0;
}
static_assert(nothing_goes_back());

} // namespace
