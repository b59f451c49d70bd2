// SPDX-License-Identifier: BSL-1.0
// Loops of traced functions with a tape limit: the bits that they have without one, in a smaller workspace.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

constexpr ct::loop whole{};
constexpr ct::loop limited{.tape_limit = 4096};

template <class T> void append_to(std::vector<double>& all, T const& x) {
  if constexpr (std::is_arithmetic_v<T>) all.push_back(static_cast<double>(x));
  else if constexpr (requires { x.data(); })
    for (auto const v : x) all.push_back(static_cast<double>(v));
  else if constexpr (requires { x.first; }) append_to(all, x.first), append_to(all, x.second);
  else std::apply([&](auto const&... y) { (append_to(all, y), ...); }, x);
}
template <class F, class... X> std::vector<double> results(F const& f, X const&... x) {
  std::vector<double> all;
  append_to(all, f(x...));
  return all;
}
bool equal_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}
/// A body that needs two recorded numbers.
constexpr auto step = [](auto w, auto a) { return ct::tanh(w * a + 0.25) + 0.5 * a; };

template <ct::loop O, int N> constexpr auto constant_count = [](auto w, auto s) {
  return ct::for_loop<O>(N, [&](auto, auto a) { return step(w, a); }, s);
};
template <ct::loop O> constexpr auto any_count = [](auto n, auto w, auto s) {
  return ct::for_loop<O>(n, [&](auto, auto a) { return step(w, a); }, s);
};
template <ct::loop O> constexpr auto until = [](auto w, auto s) {
  return ct::while_loop<O>([](auto, auto a) { return a < 1e3; }, [&](auto, auto a) { return a + 0.5 * ct::sin(w * a) + 0.6; }, s);
};
template <ct::loop O> constexpr auto filtered = [](auto x, auto w, auto s) {
  auto const [last, rows] = ct::scan<O>(
      [&](auto y, auto row) {
        auto const next = ct::tanh(w * y + row);
        return std::pair(next, next * row);
      },
      s, x);
  return last + ct::sum(rows * rows);
};
/// Its body records more than the gradients of its rows take.
template <ct::loop O> constexpr auto long_body = [](auto x, auto w, auto s) {
  return ct::for_loop<O>(
      1000, [&](auto i, auto y) {
        auto z = y + x(i);
        for (int k = 0; k < 8; ++k) z = ct::tanh(w * z + 0.1) + 0.5 * ct::sin(z);
        return z;
      }, s);
};
template <ct::loop O> constexpr auto nested = [](auto w, auto s) {
  return ct::for_loop<O>(60, [&](auto, auto a) {
    return ct::for_loop<O>(40, [&](auto, auto b) { return ct::sin(w * b + a); }, a);
  }, s);
};
template <ct::loop O> constexpr auto branching = [](auto w, auto s) {
  return ct::for_loop<O>(500, [&](auto i, auto a) {
    auto const up = [&](auto b) { return ct::sin(b * w) + 0.1 * ct::convert<double>(i); };
    return ct::checkpoint([](auto b) { return ct::tanh(ct::sin(b) + 0.1); })(ct::cond(a > 0.2, up, [&](auto b) { return ct::exp(b * w); })(a));
  }, s);
};
template <ct::loop O> constexpr auto of_one = [](auto w) { return constant_count<O, 1000>(w, 0.5 * w); };

// [layers]
template <ct::loop Options>
inline constexpr auto layers = [](auto w, auto b, auto x) {
  auto const y = ct::for_loop<Options>(1000, [&](auto, auto h) { return ct::tanh(w * h + b) + 0.5 * h; }, x);
  return ct::sum(y * y);
};
using vector = ct::tensor<double, 64>;
template <ct::loop Options>
using trained = ct::program<decltype(ct::value_and_grad<0, 1, 2>(layers<Options>)), vector, vector, vector>;
static_assert(trained<ct::loop{}>::workspace_bytes > 1'000'000);
static_assert(trained<ct::loop{.tape_limit = 65536}>::workspace_bytes < 65536);
// [/layers]

ct::tensor<double, 1000> wave() {
  ct::tensor<double, 1000> x;
  for (int k = 0; k < 1000; ++k) x.data()[k] = .3 * std::sin(.1 * k);
  return x;
}

} // namespace

TEST_CASE("With a tape limit gradients of loops with a constant count have the same bits, in less memory", "[tape_limit]") {
  auto const check = []<int N>(std::integral_constant<int, N>) {
    constexpr auto all = ct::value_and_grad<0, 1>(constant_count<whole, N>);
    constexpr auto blocks = ct::value_and_grad<0, 1>(constant_count<limited, N>);
    CHECK(equal_bits(results(all, .7, .3), results(blocks, .7, .3)));
    using all_of_them = ct::program<std::remove_const_t<decltype(all)>, double, double>;
    using in_blocks = ct::program<std::remove_const_t<decltype(blocks)>, double, double>;
    if constexpr (N < 100) static_assert(in_blocks::workspace_bytes == all_of_them::workspace_bytes, "the record fits");
    else static_assert(in_blocks::workspace_bytes <= limited.tape_limit && all_of_them::workspace_bytes >= N * 16);
  };
  check(std::integral_constant<int, 0>{});
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 1009>{});
}

TEST_CASE("With a tape limit loops over vectors have the same bits", "[tape_limit]") {
  vector w, b, x;
  for (int k = 0; k < 64; ++k) w.data()[k] = .1 + .01 * k, b.data()[k] = .2 - .01 * k, x.data()[k] = 1 - .02 * k;
  CHECK(equal_bits(results(ct::value_and_grad<0, 1, 2>(layers<ct::loop{}>), w, b, x),
                   results(ct::value_and_grad<0, 1, 2>(layers<ct::loop{.tape_limit = 65536}>), w, b, x)));
}

TEST_CASE("With a tape limit the workspace is a constant for any count", "[tape_limit]") {
  constexpr auto blocks = ct::value_and_grad<1, 2>(any_count<limited>);
  static_assert(ct::program<std::remove_const_t<decltype(blocks)>, std::int64_t, double, double>::workspace_bytes < 3 * limited.tape_limit);
  for (std::int64_t const n : {-1, 0, 1, 2, 50, 3000})
    CHECK(equal_bits(results(ct::value_and_grad<1, 2>(any_count<whole>), n, .7, .3), results(blocks, n, .7, .3)));
}

TEST_CASE("With a tape limit counts that are one more than full segments have the same bits", "[tape_limit]") {
  constexpr ct::loop small{.tape_limit = 512}; // segments of 49, whose reciprocal is rounded down
  auto const with = [](auto options) {
    return [](auto n, auto x) {
      return ct::for_loop<decltype(options)::value>(n, [](auto, auto s) { return ct::sin(s); }, x);
    };
  };
  auto const bounded = with(std::integral_constant<ct::loop, small>{});
  auto const unbounded = with(std::integral_constant<ct::loop, whole>{});
  for (std::int64_t n = 0; n < 160; ++n) {
    INFO("iterations " << n);
    CHECK(equal_bits(results(ct::grad<1>(bounded), n, 0.7), results(ct::grad<1>(unbounded), n, 0.7)));
  }
}

TEST_CASE("With a tape limit loops rerun as often as their condition was true", "[tape_limit]") {
  constexpr auto all = ct::value_and_grad<0, 1>(until<whole>);
  constexpr auto blocks = ct::value_and_grad<0, 1>(until<limited>);
  constexpr auto in_blocks = ct::value_and_grad<0, 1>(until<ct::loop{.max_iterations = 3000, .tape_limit = 4096}>);
  static_assert(ct::program<std::remove_const_t<decltype(blocks)>, double, double>::workspace_bytes < 3 * limited.tape_limit);
  static_assert(ct::program<std::remove_const_t<decltype(in_blocks)>, double, double>::workspace_bytes < 3 * limited.tape_limit);
  for (double const start : {.3, 990., 999.9, 2e3}) {
    auto const expected = results(all, .7, start);
    CHECK(equal_bits(expected, results(blocks, .7, start)));
    CHECK(equal_bits(expected, results(in_blocks, .7, start)));
  }
}

TEST_CASE("With a tape limit scans, in both directions, and gradients of rows have the same bits", "[tape_limit]") {
  auto const x = wave();
  using rows = ct::tensor<double, 1000>;
  auto const check = [&]<class F, class G>(F const& all, G const& blocks) {
    static_assert(ct::program<G, rows, double, double>::workspace_bytes < ct::program<F, rows, double, double>::workspace_bytes);
    CHECK(equal_bits(results(all, x, .7, .3), results(blocks, x, .7, .3)));
  };
  constexpr ct::loop back{.reverse = true}, back_limited{.tape_limit = 4096, .reverse = true};
  check(ct::value_and_grad<1, 2>(filtered<back>), ct::value_and_grad<1, 2>(filtered<back_limited>));
  check(ct::value_and_grad<0, 1, 2>(long_body<whole>), ct::value_and_grad<0, 1, 2>(long_body<limited>));
  // here the record is not larger than the gradient of the rows
  CHECK(equal_bits(results(ct::grad(filtered<whole>), x, .7, .3), results(ct::grad(filtered<limited>), x, .7, .3)));
}

TEST_CASE("With a tape limit rows may have a name", "[tape_limit]") {
  ct::tensor<double, "n"> x(700);
  for (int k = 0; k < 700; ++k) x.data()[k] = .3 * std::cos(.1 * k);
  constexpr auto all = ct::value_and_grad<1, 2>(filtered<whole>);
  constexpr auto blocks = ct::value_and_grad<1, 2>(filtered<limited>);
  CHECK(equal_bits(results(all, x, .7, .3), results(blocks, x, .7, .3)));
}

TEST_CASE("With a tape limit loops in loops, branches and checkpoints have the same bits", "[tape_limit]") {
  auto const check = []<class F, class G>(F const& all, G const& blocks) {
    static_assert(ct::program<G, double, double>::workspace_bytes < ct::program<F, double, double>::workspace_bytes / 2);
    CHECK(equal_bits(results(all, .7, .3), results(blocks, .7, .3)));
  };
  check(ct::value_and_grad<0, 1>(nested<whole>), ct::value_and_grad<0, 1>(nested<limited>));
  check(ct::value_and_grad<0, 1>(branching<whole>), ct::value_and_grad<0, 1>(branching<limited>));
}

TEST_CASE("With a tape limit vmap, jvp and second derivatives agree", "[tape_limit]") {
  auto const check = []<class F, class G, class... X>(F const& all, G const& blocks, X const&... x) {
    static_assert(ct::program<G, X...>::workspace_bytes < ct::program<F, X...>::workspace_bytes / 2);
    return std::pair(results(all, x...), results(blocks, x...));
  };
  auto const is_equal = [&](auto const&... x) {
    auto const [expected, found] = check(x...);
    CHECK(equal_bits(expected, found));
  };
  is_equal(ct::jvp(ct::grad(of_one<whole>)), ct::jvp(ct::grad(of_one<limited>)), .7, 1.);
  ct::tensor<double, 5> const x{.3, .2, .1, .4, .7};
  is_equal(ct::vmap(ct::grad(of_one<whole>)), ct::vmap(ct::grad(of_one<limited>)), x);
  is_equal(ct::grad([](auto s) { return ct::sum(ct::vmap(of_one<whole>)(s)); }),
           ct::grad([](auto s) { return ct::sum(ct::vmap(of_one<limited>)(s)); }), x);
  auto const [expected, found] = check(ct::grad(ct::grad(of_one<whole>)), ct::grad(ct::grad(of_one<limited>)), .7);
  CHECK(found.front() == Approx(expected.front()).epsilon(1e-12)); // the sums have another order
}

TEST_CASE("With a tape limit loops of floats have the same bits", "[tape_limit]") {
  auto const f = []<ct::loop O>(std::integral_constant<ct::loop, O>) {
    return ct::value_and_grad<0, 1>([](auto w, auto s) { return ct::for_loop<O>(2000, [&](auto, auto a) { return ct::tanh(w * a + 0.25f) + 0.5f * a; }, s); });
  };
  CHECK(equal_bits(results(f(std::integral_constant<ct::loop, whole>{}), .7f, .3f), results(f(std::integral_constant<ct::loop, limited>{}), .7f, .3f)));
}

TEST_CASE("A tape limit holds for each gradient of a loop", "[tape_limit]") {
  std::vector<double> slopes;
  for (std::int64_t const limit : {std::int64_t{0}, std::int64_t{20000}})
    for (int const calls : {1, 2, 3}) {
      ct::dynamic::graph g;
      auto const x = g.input<double>("x"), w = g.input<double>("w");
      auto const y = ct::for_loop(2000, [&](auto, auto s) { return ct::tanh(ct::exp(0.5 * ct::sin(s)) * w); }, x);
      auto const dw = [&] { return g.gradient({y}, {w}, {}, {.tape = {.limit = limit}}).front(); };
      for (int k = 1; k < calls; ++k) (void)dw();
      auto const last = dw();
      auto p = g.compile({y, last});
      p.bind(x, 0.1);
      p.bind(w, 0.3);
      p.run();
      CAPTURE(limit, calls);
      if (limit > 0) CHECK(p.tape_bytes() <= limit);
      slopes.push_back(p.value(last)());
    }
  for (double const slope : slopes) CHECK(slope == slopes.front());
}
TEST_CASE("Loops of run-time expressions take a tape limit", "[tape_limit]") {
  auto const run = []<ct::loop O>(std::integral_constant<ct::loop, O>, bool counted) {
    ct::dynamic::graph g;
    auto const w = g.input<double>("w"), s = g.input<double>("s");
    auto const n = g.input<std::int64_t>("n");
    auto const body = [&](auto, auto a) { return step(w, a); };
    auto const y = counted ? ct::for_loop<O>(n, body, s) : ct::for_loop<O>(20000, body, s);
    auto const z = ct::while_loop<O>([](auto, auto a) { return a < 1e3; }, [&](auto, auto a) { return a + 0.5 * ct::sin(w * a) + 0.6; }, s);
    auto const d = g.gradient({y + z}, {w, s});
    auto p = g.compile({y, z, d[0], d[1]});
    p.bind(w, .7);
    p.bind(s, .3);
    p.bind(n, std::int64_t{20000});
    p.run();
    std::vector<double> all;
    for (auto const& e : {y, z, d[0], d[1]}) append_to(all, p.value(e));
    return std::pair(all, p.tape_bytes());
  };
  for (bool const counted : {false, true}) {
    auto const all = run(std::integral_constant<ct::loop, whole>{}, counted), blocks = run(std::integral_constant<ct::loop, limited>{}, counted);
    CHECK(equal_bits(all.first, blocks.first));
    CHECK(all.second > 300000);
    CHECK(blocks.second < 4 * limited.tape_limit);
  }
}
