// SPDX-License-Identifier: BSL-1.0
// Programs of users: trees of parameters and of results.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <array>
#include <tuple>

namespace ct = cotangent;

namespace {

namespace p01 {
template <template <class, ct::extent...> class T> struct dense {
  BOOST_HANA_DEFINE_STRUCT(dense, (T<double, 2, 2>, w), (T<double, 2>, b));
};
template <template <class, ct::extent...> class T> struct net {
  BOOST_HANA_DEFINE_STRUCT(net, (dense<T>, first), (dense<T>, second), (T<double>, scale));
};
constexpr auto apply = [](auto const& l, auto x) { return ct::tanh(ct::matmul(x, l.w) + l.b); };
constexpr auto loss = [](auto const& p, auto x) { return ct::sum(apply(p.second, apply(p.first, x))) * p.scale; };
constexpr auto loss2 = [](auto const& ps, auto x) { auto h = x; for (auto const& l : ps) h = apply(l, h); return ct::sum(h); };
constexpr auto loss3 = [](auto const& t, auto x) { auto const& [a, b] = t; return ct::sum(a * x) + ct::sum(b * b); };

TEST_CASE("structs in structs, arrays of structs and tuples are parameters") {
  net<ct::tensor> p{{{{1, 2}, {3, 4}}, {1, 1}}, {{{1, 0}, {0, 1}}, {0, 0}}, 2.0};
  ct::tensor<double, 3, 2> x;
  auto g = ct::grad(loss)(p, x);
  static_assert(std::is_same_v<decltype(g), net<ct::tensor>>);
  CHECK(g.scale != 0.0);
  std::array<dense<ct::tensor>, 3> ps{};
  auto [v, gs] = ct::value_and_grad(loss2)(ps, x);
  static_assert(std::is_same_v<decltype(gs), std::array<dense<ct::tensor>, 3>>);
  CHECK((v == 0 && gs[2].b(0) == 3));
  std::tuple<ct::tensor<double, 2>, ct::tensor<double, 4>> t;
  auto gt = ct::grad(loss3)(t, x);
  CHECK(std::get<0>(gt).size() == 2);
}
} // namespace p01

namespace p06 {
template <template <class, ct::extent...> class T> struct line {
  BOOST_HANA_DEFINE_STRUCT(line, (T<double>, a), (T<double>, b));
};
constexpr auto loss = [](auto const& p, auto x, auto const& q) { return ct::sum(p.a * x + p.b) * q.a - q.b; };
constexpr auto many = [](auto x) { return std::tuple(x + 1, x * 2, ct::sum(x)); };
constexpr auto arr = [](auto x) { return std::array{x, x * x}; };
constexpr auto strct = [](auto const& p) { line<ct::expr> r; r.a = p.a * 2; r.b = p.b + p.a; return r; };
constexpr auto pr = [](auto x) { return std::pair(x, 1.0); };

TEST_CASE("several positions are differentiated, and tuples, arrays, pairs and structs returned") {
  line<ct::tensor> p{2.0, 1.0}, q{3.0, 4.0};
  ct::tensor<double, 3> x{1, 2, 3};
  auto [v, g] = ct::value_and_grad<0, 2>(loss)(p, x, q);
  auto& [gp, gq] = g;
  CHECK((v == 41 && gp.a == 18.0 && gq.b == -1.0));
  auto [a, b, c] = ct::compiled(many)(x);
  CHECK((a(0) == 2 && b(2) == 6 && c == 6));
  auto [d, e] = ct::compiled(arr)(x);
  CHECK(e(2) == 9);
  auto s = ct::compiled(strct)(p);
  static_assert(std::is_same_v<decltype(s), line<ct::tensor>>);
  CHECK((s.a == 4.0 && s.b == 3.0));
  auto [m, one] = ct::compiled(pr)(2.0);
  CHECK((m == 2 && one == 1.0));
  auto [vv, gg] = ct::value_and_grad([](auto y) { return y * y * y; })(2.0f);
  static_assert(std::is_same_v<decltype(gg), float>);
  CHECK((vv == 8 && gg == 12));
}
} // namespace p06

namespace q03 {
constexpr auto mlp = [](auto const& layers, auto x) {
  return ct::sum(std::apply([&](auto const&... l) { auto h = x; ((h = ct::tanh(ct::matmul(h, l))), ...); return h; }, layers));
};
template <class X> auto sq(X x) { return x * x; }

TEST_CASE("layers in a tuple are applied one after the other") {
  std::tuple<ct::tensor<double, 4, 4>, ct::tensor<double, 4, 4>> p;
  std::get<0>(p)(0, 0) = 1; std::get<1>(p)(0, 0) = 1;
  ct::tensor<double, 2, 4> x; x(0, 0) = 1;
  auto [v, g] = ct::value_and_grad(mlp)(p, x);
  CHECK(std::get<1>(g)(0, 0) != 0);
}
} // namespace q03

} // namespace
