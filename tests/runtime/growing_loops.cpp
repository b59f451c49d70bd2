// SPDX-License-Identifier: BSL-1.0
#include "constant_calls.hpp"
#include "null_allocations.hpp"

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <tuple>

// Gradients of loops whose number of iterations no bound limits: against constant evaluations, against loops with a bound, against
// run-time graphs.

namespace {

namespace ct = cotangent;

using constant_calls::agrees;
using vec = ct::tensor<double, 3>;

/// Newton's iterations for sqrt(a), until they stand.
template <ct::loop Options> constexpr auto newton(auto a) {
  return ct::while_loop<Options>([=](auto, auto y) { return ct::abs(y * y - a) > 1e-12 * a; },
                                 [=](auto, auto y) { return 0.5 * (y + a / y); }, 0.5 * a);
}
inline constexpr auto root = [](auto a) {
  return ct::while_loop([=](auto, auto y) { return ct::abs(y * y - a) > 1e-12 * a; },
                        [=](auto, auto y) { return 0.5 * (y + a / y); }, 0.5 * a);
};
inline constexpr auto bounded_root = [](auto a) { return newton<ct::loop{.max_iterations = 1000}>(a); };

/// Large bodies, a loop in a branch, a branch in a loop, a loop in the body of a loop.
inline constexpr auto vectors = [](auto x, auto w) {
  auto const grown = ct::while_loop([](auto, auto y) { return ct::sum(y * y) < 50.0; },
                                    [=](auto, auto y) { return y * 1.2 + 0.1 * ct::tanh(ct::cumsum(y * w)) + x; }, x);
  return ct::sum(grown * w);
};
inline constexpr auto branches = [](auto x, auto w) {
  auto const f = [](auto y, auto v) {
    return ct::while_loop([](auto, auto z) { return z < 20.0; }, [=](auto, auto z) { return z * 1.3 + v; }, y);
  };
  auto const g = [](auto y, auto v) { return y * v; };
  return ct::while_loop([](auto, auto y) { return y < 60.0; },
                        [=](auto, auto y) { return ct::cond(ct::sin(y) > 0, f, g)(y, w) + ct::abs(y) + 1.0; }, x);
};
inline constexpr auto nested = [](auto x, auto w) {
  return ct::for_loop(3, [=](auto, auto y) {
    return ct::while_loop([](auto, auto z) { return z < 15.0; }, [=](auto, auto z) {
      return ct::while_loop([](auto, auto u) { return u < 4.0; }, [=](auto, auto u) { return u * 1.5 + w; }, 0.3 * z) + z;
    }, y) * 0.2;
  }, x);
};
inline constexpr auto counted = [](auto n, auto x) { return ct::for_loop(n, [=](auto, auto y) { return ct::sin(y) * x; }, x); };

constexpr auto one = [] { return std::tuple(7.3); };
constexpr auto two = [] { return std::tuple(.7, .9); };
constexpr auto tensors = [] { return std::tuple(vec{.7, -.2, .4}, vec{.9, 1.1, -.3}); };
template <int N> constexpr auto count = [] { return std::tuple(std::int64_t{N}, .7); };

} // namespace

TEST_CASE("Gradients of loops without a bound equal their constant evaluations") {
  agrees(ct::value_and_grad(root), one);
  agrees(ct::grad(ct::grad(root)), one);
  agrees(ct::value_and_grad<0, 1>(vectors), tensors);
  agrees(ct::value_and_grad<0, 1>(branches), two);
  agrees(ct::value_and_grad<0, 1>(nested), two);
}
TEST_CASE("A count that is an argument needs no bound: none, one and many iterations") {
  agrees(ct::value_and_grad<1>(counted), count<0>);
  agrees(ct::value_and_grad<1>(counted), count<1>);
  agrees(ct::value_and_grad<1>(counted), count<100>);
}
TEST_CASE("Gradients of loops without a bound have the bits of those with one, and of run-time graphs") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a");
  auto const y = root(a);
  auto program = g.compile({y, g.gradient({y}, {a}).front()});
  for (double const x : {7.3, 1e-8, 4.0, 3e11}) {
    auto const [value, slope] = ct::value_and_grad(root)(x);
    auto const [wanted, wanted_slope] = ct::value_and_grad(bounded_root)(x);
    CHECK(value == wanted);
    CHECK(slope == wanted_slope);
    CHECK(std::fabs(slope * (x == 4 ? 2 : 2 * std::sqrt(x)) - 1) < 1e-9); // (at 4 no iteration improves the first value, a / 2)
    program.bind(a, x);
    program.run();
    CHECK(value == double(program.value(y)));
  }
}
TEST_CASE("Pullbacks and rows of a batch go through loops without a bound") {
  auto const [value, back] = ct::vjp(root)(7.3);
  auto const [wanted, slope] = ct::value_and_grad(root)(7.3);
  CHECK(value == wanted);
  CHECK(back(2.0) == 2 * slope);
  CHECK(back() == slope);
  auto const rows = ct::vmap(ct::grad(root))(vec{7.3, 1e-3, 4.0});
  CHECK(std::fabs(rows(0) - slope) < 1e-15);
  CHECK(std::fabs(rows(1) - ct::grad(root)(1e-3)) < 1e-13);
  CHECK(rows(2) == .5);
}
TEST_CASE("A growing workspace grows with the iterations, and is kept") {
  // [run growing]
  using P = ct::program<decltype(ct::value_and_grad<1>(counted)), std::int64_t, double>;
  ct::growing_workspace memory;
  std::int64_t n = 1000;
  double x = .7, value = 0, slope = 0;
  ct::status const s = P::run_growing(memory, std::tie(n, x), std::tie(value, slope));
  // [/run growing]
  CHECK(s == ct::status::ok);
  static_assert(P::grows);
  std::size_t const bytes = memory.bytes();
  CHECK(bytes >= 8000);
  for (std::int64_t const m : {1000, 10, 999}) {
    n = m;
    CHECK(P::run_growing(memory, std::tie(n, x), std::tie(value, slope)) == ct::status::ok);
    CHECK(memory.bytes() == bytes);
    auto const wanted = ct::value_and_grad<1>(counted)(n, x);
    CHECK(value == wanted.first);
    CHECK(slope == wanted.second);
  }
  n = std::int64_t{1} << 50;
  CHECK(P::run_growing(memory, std::tie(n, x), std::tie(value, slope)) == ct::status::out_of_memory);
  n = 5;
  CHECK(P::run_growing(memory, std::tie(n, x), std::tie(value, slope)) == ct::status::ok);
  // a program with a bound runs in it, too
  using Q = ct::program<decltype(ct::compiled(bounded_root)), double>;
  CHECK(Q::run_growing(memory, std::tie(x), std::tie(value)) == ct::status::ok);
  CHECK(std::fabs(value * value - .7) < 1e-11);
}
