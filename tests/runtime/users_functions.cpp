// SPDX-License-Identifier: BSL-1.0
// Programs of users: how functions are written.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <cmath>

namespace ct = cotangent;

namespace {

namespace p04 {
constexpr auto masked = [](auto x, auto mask) { return ct::sum(ct::select(mask, x, 0)); };
constexpr auto relu_like = [](auto x) { return ct::sum(ct::select(x > 0 && x < 3, x * x, 0.0)); };
constexpr auto count = [](auto x) { return ct::sum(ct::convert<int>(x > 0)); };
constexpr auto ints = [](auto i) { return i * 2 + 1; };
constexpr auto logic = [](auto a, auto b) { return !(a && b) || (a == b); };

TEST_CASE("masks, bools and integers are used in functions") {
  ct::tensor<double, 4> x{-1, 1, 2, 4};
  ct::tensor<bool, 4> m{true, false, true, false};
  CHECK(ct::compiled(masked)(x, m) == 1);
  auto g = ct::grad(masked)(x, m);
  CHECK((g(0) == 1 && g(1) == 0));
  auto gr = ct::grad(relu_like)(x);
  CHECK((gr(0) == 0 && gr(1) == 2 && gr(2) == 4 && gr(3) == 0));
  CHECK(ct::compiled(count)(x) == 3);
  ct::tensor<int, 2, 2> i{{1, 2}, {3, 4}};
  CHECK(ct::compiled(ints)(i)(1, 1) == 9);
  ct::tensor<std::int64_t, 3> l{1, 2, 3};
  CHECK(ct::compiled(ints)(l)(2) == 7);
  ct::tensor<bool, 2> p{true, false}, q{true, true};
  auto r = ct::compiled(logic)(p, q);
  CHECK((r(0) == true && r(1) == true));
}
} // namespace p04

namespace p05 {
constexpr auto f = [](auto x) { return ct::sin(x) * ct::exp(x); };
constexpr auto pinn = [](auto w, auto t) {
  auto u = [&](auto s) { return ct::tanh(w(0) * s + w(1)) * w(2); };
  auto residual = ct::grad(u)(t) - u(t);
  return ct::square(residual);
};
constexpr auto hvp = [](auto x, auto v) {
  auto e = [](auto y) { return ct::sum(ct::square(y) * y); };
  return ct::sum(ct::grad(e)(x) * v);
};

TEST_CASE("gradients of gradients, and of functions that use gradients, are right") {
  double d2 = ct::grad(ct::grad(f))(0.5);
  CHECK(std::abs(d2 - 2 * std::cos(0.5) * std::exp(0.5)) < 1e-12);
  ct::tensor<double, 3> w{.3, .2, .5};
  auto [v, g] = ct::value_and_grad(pinn)(w, 0.7);
  double h = 1e-6;
  auto w2 = w; w2(0) += h;
  double fd = (ct::compiled(pinn)(w2, 0.7) - v) / h;
  CHECK(std::abs(fd - g(0)) < 1e-5);
  ct::tensor<double, 3> x{1, 2, 3}, dir{1, 0, 0};
  CHECK(ct::grad(hvp)(x, dir)(0) == 6);
}
} // namespace p05

namespace p07 {
struct functor { constexpr auto operator()(auto z) const { return z * 3; } };

TEST_CASE("local functions capture expressions, and loops are unrolled") {
  static constexpr auto helper = [](auto x) { return x * x; };
  auto f = [](auto x) { return helper(x) + 1; };
  CHECK(ct::grad(f)(3.0) == 6);
  auto g = [&](auto x) { return ct::sum(x * 2); };
  ct::tensor<double, 3> x{1, 2, 3};
  CHECK(ct::compiled(g)(x) == 12);
  auto h = [](auto w, auto y) {
    auto mix = [&](auto a) { return a * y + w; };
    return ct::sum(mix(mix(w)));
  };
  CHECK(ct::grad<1>(h)(x, 2.0) == 6 + 4 * 6);
  constexpr int steps = 4;
  auto k = [](auto z) { for (int i = 0; i < steps; ++i) z = z * z; return z; };
  CHECK(ct::grad(k)(1.0) == 16);
  CHECK(ct::grad(functor{})(1.0) == 3);
  // a work that doubles with every step, counted along every path, is more than a float holds
  auto deep = [](auto v) { for (int i = 0; i < 150; ++i) v = v * v; return ct::sum(v); };
  CHECK(ct::grad(deep)(ct::tensor<double, 2>{1, -1})(1) == -0x1p150);
}
} // namespace p07

namespace p13 {
template <class X> constexpr auto gelu(X x) { return 0.5 * x * (1 + ct::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }
constexpr auto f = [](ct::expr<double, 3> x) -> ct::expr<double> { return ct::sum(gelu(x)); };
constexpr auto g = []<ct::extent N>(ct::expr<double, N> x) { return ct::sum(x) / 2; };
constexpr auto h = []<class T, ct::extent... E>(ct::expr<T, E...> x) { ct::expr<T, E...> y = x; return ct::sum(y); };

TEST_CASE("functions name the types of their expressions") {
  ct::tensor<double, 3> x{1, 2, 3};
  CHECK(ct::grad(f)(x)(0) > 1);
  CHECK(ct::compiled(g)(x) == 3);
  CHECK(ct::compiled(h)(x) == 6);
}
} // namespace p13

namespace p14 {
constexpr auto f = [](auto x) { return ct::square(x); };

TEST_CASE("products with the Jacobian are taken from both sides") {
  ct::tensor<double, 3> x{1, 2, 3}, d{1, 0, 1};
  auto [y, dy] = ct::jvp(f)(x, d);
  CHECK((dy(2) == 6 && y(1) == 4));
  auto [y2, dx] = ct::vjp(f)(x, d);
  CHECK((dx(0) == 2 && dx(1) == 0));
  auto nested = [](auto v) { auto [a, b] = ct::jvp([](auto u) { return ct::sum(u * u * u); })(v, v); return b; };
  CHECK(ct::grad(nested)(2.0) == 3 * 9 * 2 * 2 / 3.0);
}
} // namespace p14

namespace p15 {
constexpr auto embed = [](auto table, auto ids) { return ct::sum(ct::gather(table, ids)); };
constexpr auto acc = [](auto logits, auto labels) { return ct::mean(ct::convert<float>(ct::argmax(logits) == ct::convert<std::int64_t>(labels))); };
constexpr auto attn = [](auto q, auto k, auto v) { return ct::matmul(ct::softmax(ct::matmul(q, ct::transpose(k)) / 2.0), v); };

TEST_CASE("tables, labels and attention are written as functions") {
  ct::tensor<float, 10, 4> table;
  ct::tensor<int, 3> ids{1, 1, 9};
  auto g = ct::grad(embed)(table, ids);
  CHECK((g(1, 0) == 2 && g(9, 3) == 1 && g(0, 0) == 0));
  ct::tensor<float, 2, 3> z{{1, 2, 3}, {3, 2, 1}};
  ct::tensor<int, 2> l{2, 1};
  CHECK(ct::compiled(acc)(z, l) == 0.5f);
  ct::tensor<double, "q", 4> q(2);
  ct::tensor<double, "k", 4> k(5);
  ct::tensor<double, "k", 3> v(5);
  auto o = ct::compiled(attn)(q, k, v);
  CHECK((o.extent(0) == 2 && o.extent(1) == 3));
  auto [gq, gk, gv] = ct::grad<0, 1, 2>([](auto a, auto b, auto c) { return ct::sum(attn(a, b, c)); })(q, k, v);
  CHECK(gv.extent(0) == 5);
}
} // namespace p15

namespace q02 {
constexpr auto norm = [](auto x, auto g, auto b) {
  auto m = ct::mean(x, ct::axes<-1>, ct::keep);
  auto v = ct::mean(ct::square(x - m), ct::axes<-1>, ct::keep);
  return (x - m) / ct::sqrt(v + 1e-5) * g + b;
};
constexpr auto nll = [](auto x) { return -ct::sum(ct::log_softmax(x)(ct::all, 0)); };
constexpr auto r = [](auto x) { return ct::reshape<"n", 6>(x) ; };
constexpr auto s = [](auto x) { return ct::sum(x, ct::axes<0, 2>); };
constexpr auto outer = [](auto x, auto y) { return ct::reshape<3, 1>(x) * y; };

TEST_CASE("normalization, likelihoods and outer products broadcast") {
  ct::tensor<float, "b", 8> x(3); ct::tensor<float, 8> g, b;
  auto y = ct::compiled(norm)(x, g, b);
  CHECK(y.extent(0) == 3);
  auto gr = ct::grad<0, 1, 2>([](auto a, auto c, auto d) { return ct::sum(norm(a, c, d)); })(x, g, b);
  CHECK(std::get<2>(gr)(0) == 3);
  ct::tensor<double, 2, 3> z; CHECK(ct::grad(nll)(z).size() == 6);
  ct::tensor<double, "n", 2, 3> t(4);
  CHECK((ct::compiled(r)(t).extent(1) == 6 && ct::compiled(s)(t).size() == 2));
  ct::tensor<double, 3> p{1, 2, 3}; ct::tensor<double, 2> q{1, 2};
  auto o = ct::compiled(outer)(p, q);
  CHECK(o(2, 1) == 6);
}
} // namespace q02

} // namespace
