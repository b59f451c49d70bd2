// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "constant_calls.hpp"

// Branches of compiled functions at run time, alone and in loops.

namespace {

namespace ct = cotangent;
using constant_calls::agrees;
using vec = ct::tensor<double, 3>;

template <int Which> constexpr auto chosen = [] { return std::tuple(std::int64_t{Which}, vec{.7, -.2, .4}, vec{.9, 1.1, -.3}); };

constexpr auto three = [](auto k, auto x, auto w) {
  auto y = ct::case_of(k, [](auto a, auto b) { return a * b; }, [=](auto a, auto) { return ct::sin(a) + w; },
                       [](auto, auto b) { return b * b * b; })(x, w);
  return ct::sum(y * x);
};
constexpr auto guarded = [](auto x) { return ct::cond(x > 0, [=](auto a) { return ct::log(a) + x; }, [](auto a) { return -a * a; })(x); };
/// Collatz's steps on a number, with a value that follows.
constexpr auto by_turns = [](auto n, auto x) {
  auto [last, y] = ct::while_loop([](auto i, auto k, auto) { return i < 60 && k > 1; },
                                  [=](auto, auto k, auto a) {
                                    auto const half = ct::floor(ct::convert<double>(k) / 2.);
                                    return ct::cond(ct::convert<double>(k) - 2. * half > .5,
                                                    [=](auto m, auto b) { return std::tuple(3 * m + 1, b * x); },
                                                    [=](auto, auto b) { return std::tuple(ct::convert<std::int64_t>(half), ct::sin(b) + x); })(k, a);
                                  },
                                  n, x);
  return y + ct::convert<double>(last);
};
constexpr auto in_a_loop = [](auto x, auto w) {
  auto y = ct::for_loop(7, [=](auto i, auto a) {
    return ct::case_of(i - 2, [=](auto b) { return ct::tanh(b * w); }, [=](auto b) { return b + x; }, [](auto b) { return b * .5; })(a);
  }, x);
  return ct::sum(y * y);
};

} // namespace

TEST_CASE("Branches run as their constant evaluations, where none is chosen too") {
  agrees(ct::value_and_grad<1, 2>(three), chosen<-1>);
  agrees(ct::value_and_grad<1, 2>(three), chosen<0>);
  agrees(ct::value_and_grad<1, 2>(three), chosen<1>);
  agrees(ct::value_and_grad<1, 2>(three), chosen<2>);
  agrees(ct::value_and_grad<1, 2>(three), chosen<3>);
  agrees(ct::value_and_grad(guarded), [] { return std::tuple(.8); });
  agrees(ct::value_and_grad(guarded), [] { return std::tuple(-.8); });
}
TEST_CASE("Branches in loops run as their constant evaluations") {
  agrees(ct::value_and_grad<0, 1>(in_a_loop), [] { return std::tuple(vec{.7, -.2, .4}, vec{.9, 1.1, -.3}); });
  agrees(ct::value_and_grad<1>(by_turns), [] { return std::tuple(std::int64_t{7}, .3); });
  agrees(ct::value_and_grad<1>(by_turns), [] { return std::tuple(std::int64_t{1}, .3); });
}
