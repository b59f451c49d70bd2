// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/all.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// Rows of ct::vmap and ct::map: each reports the indices that a call for it alone would report, and no others; loops run for
// the rows that reach them.

namespace {

namespace ct = cotangent;
using counts = ct::tensor<std::int64_t, 3>;

bool near(double a, double b) { return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b)); }
template <class F> bool reports(F const& f) {
  try {
    f();
  } catch (ct::error const& e) {
    return std::string(e.what()).find("an index is out of range") != std::string::npos;
  }
  return false;
}

inline constexpr auto pick = [](auto x, auto k) { return x(k + 1); };
inline constexpr auto put = [](auto x, auto k) { return ct::sum(ct::at(x, k + 1).set(-1.0)); };
inline constexpr auto added = [](auto x, auto k) { return ct::sum(ct::square(ct::scatter_add<4>(x, ct::stack<0>(k, k + 1, k, k)))); };

TEST_CASE("rows report indices that they compute", "[batched_indices]") {
  ct::tensor<double, 2, 4> const x{{1, 2, 3, 4}, {10, 20, 30, 40}};
  ct::tensor<std::int64_t, 2> const inside{0, 2}, outside{0, 7}, below{-2, 1};
  CHECK(ct::vmap(pick)(x, inside)(1) == 40);
  CHECK(ct::vmap(ct::grad(pick))(x, inside)(1, 3) == 1);
  CHECK_FALSE(reports([&] { (void)ct::vmap(put)(x, inside), (void)ct::vmap(added)(x, inside); }));
  for (auto const& k : {outside, below}) {
    CHECK(reports([&] { (void)ct::vmap(pick)(x, k); }));
    CHECK(reports([&] { (void)ct::vmap(ct::grad(pick))(x, k); }));
    CHECK(reports([&] { (void)ct::vmap(put)(x, k); }));
    CHECK(reports([&] { (void)ct::vmap(added)(x, k); }));
    CHECK(reports([&] { (void)ct::compiled([](auto a, auto b) { return ct::map(pick, a, b); })(x, k); }));
  }
  ct::dynamic::graph g;
  auto const rows = g.input<double>("x", {2, 4});
  auto const at = g.input<std::int64_t>("k", {2});
  auto const y = ct::vmap(pick)(rows, at);
  auto p = g.compile({y});
  p.bind(rows, std::vector<double>{1, 2, 3, 4, 10, 20, 30, 40});
  p.bind(at, std::vector<std::int64_t>{0, 2});
  p.run();
  CHECK(p.value(y)(1) == 40);
  p.bind(at, std::vector<std::int64_t>{0, 3});
  CHECK(reports([&] { p.run(); }));
}

inline constexpr auto counted = [](auto x, auto k) {
  return ct::cond(k < 10, [&](auto y) { return ct::for_loop(k, [&](auto, auto s) { return s * 1.25 + ct::sin(y) * 0.5; }, y); },
                  [](auto y) { return y * y; })(x);
};
inline constexpr auto nested = [](auto x, auto a, auto b) {
  return ct::for_loop(a, [&](auto i, auto s) { return ct::for_loop(b, [&](auto, auto t) { return t * 0.9 + ct::sin(x(i)); }, s); }, 0.1 * x(0));
};
inline constexpr auto chosen = [](auto x, auto b) {
  return ct::for_loop(5, [&](auto i, auto s) {
    return ct::cond(i < b, [&](auto t) { return t * 1.1 + x(i) * x(i); }, [](auto t) { return t * 2.0; })(s);
  }, 0 * x(0));
};

TEST_CASE("loops do not run for rows that do not reach them", "[batched_indices]") {
  ct::tensor<double, 3> const x{0.3, 1.2, -0.7};
  counts const k{3, std::int64_t{1} << 60, 0}; // (2^60 iterations would not end)
  auto const y = ct::vmap(counted)(x, k);
  auto const dy = ct::vmap(ct::grad(counted))(x, k);
  for (int i = 0; i < 3; ++i) {
    CHECK(near(y(i), ct::compiled(counted)(x(i), k(i))));
    CHECK(near(dy(i), ct::grad(counted)(x(i), k(i))));
  }
}

TEST_CASE("rows report no index of loops and branches that they do not reach", "[batched_indices]") {
  ct::tensor<double, 3, 3> const x{{1, 2, 3}, {4, 5, 6}, {0.3, 0.2, 0.1}};
  counts const a{1, 4, 3}, b{2, 0, 3}, first{3, 1, 0};
  auto const y = ct::vmap(nested)(x, a, b), z = ct::vmap(chosen)(x, first);
  auto const dy = ct::vmap(ct::grad(nested))(x, a, b);
  auto const dz = ct::grad([](auto rows, auto n) { return ct::sum(ct::vmap(chosen)(rows, n)); })(x, first);
  ct::tensor<double, 3> const shared{1, 2, 3};
  auto const of_shared = ct::vmap<ct::unmapped, 0>(ct::grad(chosen))(shared, first);
  for (int i = 0; i < 3; ++i) {
    ct::tensor<double, 3> const row{x(i, 0), x(i, 1), x(i, 2)};
    CHECK(near(y(i), ct::compiled(nested)(row, a(i), b(i))));
    CHECK(near(z(i), ct::compiled(chosen)(row, first(i))));
    auto const d = ct::grad(nested)(row, a(i), b(i));
    auto const e = ct::grad(chosen)(row, first(i)), s = ct::grad(chosen)(shared, first(i));
    for (int j = 0; j < 3; ++j) CHECK((near(dy(i, j), d(j)) && near(dz(i, j), e(j)) && near(of_shared(i, j), s(j))));
  }
  CHECK(reports([&] { (void)ct::vmap(nested)(x, counts{1, 4, 3}, counts{2, 1, 3}); }));
  CHECK(reports([&] { (void)ct::vmap(chosen)(x, counts{3, 4, 0}); }));
  ct::dynamic::graph g;
  auto const rows = g.input<double>("x", {3, 3});
  auto const n = g.input<std::int64_t>("a", {3}), m = g.input<std::int64_t>("b", {3});
  auto const value = ct::vmap(nested)(rows, n, m);
  auto const slope = g.gradient({ct::sum(value)}, {rows}).front();
  auto p = g.compile({value, slope});
  p.bind(rows, std::vector<double>(x.begin(), x.end()));
  p.bind(n, std::vector<std::int64_t>(a.begin(), a.end()));
  p.bind(m, std::vector<std::int64_t>(b.begin(), b.end()));
  p.run();
  for (int i = 0; i < 3; ++i) CHECK((near(p.value(value)(i), y(i)) && near(p.value(slope)(i, 1), dy(i, 1))));
}

} // namespace
