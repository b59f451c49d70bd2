// SPDX-License-Identifier: BSL-1.0
// Windows whose bounds count from the end of an axis, also of one whose extent has a name.
#include <cotangent/cotangent.hpp>
#include <cotangent/run/interpreter/interpreter.hpp>

#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace ct = cotangent;

namespace {

constexpr auto rosenbrock = [](auto x) {
  auto const next = x(ct::range<1>), here = x(ct::range<0, -1>);
  return ct::sum(100 * ct::square(next - ct::square(here)) + ct::square(1 - here));
};
constexpr auto last_three = [](auto x) { return x(ct::range<-3>); };
constexpr auto inner = [](auto x) { return x(ct::range<1, -1>, ct::range<-2, -1>); };
constexpr auto odd = [](auto x) { return x(ct::range<-4, -1, 2>); };
constexpr auto sum_of_last = [](auto x) { return ct::sum(ct::square(x(ct::range<-3>))); };
constexpr auto ends = [](auto x) { return x(-1) - x(0); };
} // namespace

TEST_CASE("all but the last and all but the first of a named axis have one extent") {
  for (int n = 1; n < 40; ++n) {
    ct::tensor<double, "n"> x(n);
    for (int i = 0; i < n; ++i) x(i) = 0.1 * i - 0.7;
    double want = 0;
    std::vector<double> g(static_cast<std::size_t>(n));
    for (int i = 0; i + 1 < n; ++i) {
      auto k = static_cast<std::size_t>(i);
      double const d = x(i + 1) - x(i) * x(i), e = 1 - x(i);
      want += 100 * d * d + e * e;
      g[k] += -400 * d * x(i) - 2 * e;
      g[k + 1] += 200 * d;
    }
    auto [v, dx] = ct::value_and_grad(rosenbrock)(x);
    CHECK(v == Approx(want));
    for (int i = 0; i < n; ++i) CHECK(dx(i) == Approx(g[static_cast<std::size_t>(i)]).margin(1e-9));
  }
  ct::tensor<double, "n"> none(0);
  CHECK_THROWS_AS(ct::grad(rosenbrock)(none), ct::shape_error);
  std::vector<double> v{1, 2, 3};
  CHECK(ct::grad(rosenbrock)(v).size() == 3);
  ct::tensor<double, 4> s{1, 2, 3, 4};
  CHECK(ct::grad(rosenbrock)(s)(3) == Approx(200. * (4 - 9)));
}
TEST_CASE("A column and argmax of a matrix without rows form no pointers into memory that is not there") {
  constexpr auto column = [](auto m) { return m(ct::all, 1); };
  constexpr auto total = [](auto m) { return ct::sum(ct::sin(m(ct::all, 1))); };
  constexpr auto largest = [](auto m) { return ct::argmax(m, ct::axes<0>); };
  ct::tensor<double, "n", 3> const x(0);
  CHECK(ct::compiled(column)(x).size() == 0);
  CHECK(ct::grad(total)(x).size() == 0);
  auto const first = ct::compiled(largest)(x);
  CHECK((first(0) == 0 && first(1) == 0 && first(2) == 0));
}
TEST_CASE("bounds of a range and positions count from the end") {
  ct::tensor<double, "n"> x(5), y(2), z(4);
  for (int i = 0; i < 5; ++i) x(i) = i;
  for (int i = 0; i < 4; ++i) z(i) = 10 + i;
  auto l = ct::compiled(last_three)(x);
  static_assert(std::is_same_v<decltype(l), ct::tensor<double, 3>>);
  CHECK((l(0) == 2 && l(2) == 4));
  CHECK_THROWS_AS(ct::compiled(last_three)(y), ct::shape_error);
  auto o = ct::compiled(odd)(z);
  CHECK((o.size() == 2 && o(0) == 10 && o(1) == 12));
  ct::tensor<double, "n", 3> m(4);
  for (int i = 0; i < 12; ++i) m(i / 3, i % 3) = i;
  auto p = ct::compiled(inner)(m);
  CHECK((p.extent(0) == 2 && p.extent(1) == 1 && p(0, 0) == 4 && p(1, 0) == 7));
  CHECK(ct::compiled(ends)(z) == 3);
  auto g = ct::grad(ends)(z);
  CHECK((g(3) == 1 && g(0) == -1 && g(1) == 0));
  auto gl = ct::grad(sum_of_last)(x);
  CHECK((gl(4) == 8 && gl(1) == 0));
  auto s4 = ct::compiled(odd)(ct::tensor<float, 6>{0, 1, 2, 3, 4, 5});
  CHECK((s4(0) == 2 && s4(1) == 4));
}

TEST_CASE("windows of named extents agree between program, interpreter and reference evaluation") {
  using P = ct::program<decltype(ct::grad(rosenbrock)), ct::tensor<double, "n">>;
  using Q = ct::program<decltype(ct::grad(sum_of_last)), ct::tensor<double, "n">>;
  for (int n : {3, 4, 9, 33}) {
    ct::tensor<double, "n"> x(n);
    for (int i = 0; i < n; ++i) x(i) = 1.5 - 0.1 * i;
    int which = 0;
    for (ct::extend::graph_view const& g : {P::graph, Q::graph}) {
      std::vector<std::int64_t> sizes;
      for (int k = 0; k < g.extent_count; ++k)
        sizes.push_back(ct::detail::evaluate(g.extents[k], [n](char const*, int) { return std::int64_t{n}; }));
      ct::tensor<double, "n"> interpreted(n), evaluated(n);
      ct::interpreter const program(g, sizes.data());
      REQUIRE(program.failed().why == nullptr);
      std::vector<char> bytes(static_cast<std::size_t>(program.workspace_bytes()) + 128);
      std::size_t room = bytes.size();
      void* memory = bytes.data();
      REQUIRE(std::align(64, room - 64, memory, room) != nullptr);
      void const* const in[]{x.data()};
      void* const out[]{interpreted.data()};
      REQUIRE(program.run(in, out, memory) == ct::status::ok);
      ct::detail::elements_in const from[]{ct::detail::elements_in(x.data())};
      ct::detail::elements_out const to[]{ct::detail::elements_out(evaluated.data())};
      REQUIRE(ct::detail::evaluate(g, sizes.data(), from, to).ok());
      ct::tensor<double, "n"> const called = which++ == 0 ? P::call(x) : Q::call(x);
      for (int i = 0; i < n; ++i) {
        CHECK(interpreted(i) == Approx(called(i)).margin(1e-12));
        CHECK(evaluated(i) == Approx(called(i)).margin(1e-12));
      }
    }
  }
}
