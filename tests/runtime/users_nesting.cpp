// SPDX-License-Identifier: BSL-1.0
// Programs of users: transformations in transformations, a step of training as one function.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <cmath>

namespace ct = cotangent;

namespace {

namespace r02 {
constexpr auto f = [](auto x) { return ct::sum(x * x * x); };
constexpr auto hvp = [](auto x, auto v) { return ct::jvp([](auto y) { return ct::grad(f)(y); })(x, v).second; };
constexpr auto via_vjp = [](auto x) { auto [y, g] = ct::vjp([](auto z) { return z * z; })(x, ct::ones<3>() + 0 * x); return ct::sum(g * y); };
constexpr auto struct_grad = [](auto x) { auto [v, g] = ct::value_and_grad(f)(x); return v + ct::sum(g); };

TEST_CASE("forward over reverse equals reverse over forward") {
  ct::tensor<double, 3> x{1, 2, 3}, v{1, 0, 1};
  auto h = ct::compiled(hvp)(x, v);
  CHECK((h(0) == 6 && h(1) == 0 && h(2) == 18));
  auto g = ct::grad(via_vjp)(x);
  CHECK(g(1) == 6 * 4);
  CHECK(ct::grad(struct_grad)(x)(0) == 3 + 6);
  auto [a, b] = ct::jvp(ct::grad(f))(x, v);
  CHECK(b(2) == 18);
  auto gg = ct::grad([](auto t) { return ct::grad([&](auto u) { return u * u * t; })(t) * t; });
  CHECK(gg(2.0) == 2 * 3 * 4);
}
} // namespace r02

namespace r03 {
template <template <class, ct::extent...> class T> struct cell { BOOST_HANA_DEFINE_STRUCT(cell, (T<float, 4, 4>, w), (T<float, 3, 4>, u), (T<float, 4>, b)); };
constexpr auto rnn = [](auto const& p, auto xs) {
  auto h = ct::tanh(ct::matmul(xs(ct::all, 0), p.u) + p.b);
  for (int t = 1; t < 5; ++t) h = ct::tanh(ct::matmul(h, p.w) + ct::matmul(xs(ct::all, t), p.u) + p.b);
  return ct::mean(h * h);
};
constexpr auto sgd = [](auto const& p, auto xs) {
  auto [v, g] = ct::value_and_grad(rnn)(p, xs);
  auto q = p;
  q.w = p.w - 0.1 * g.w; q.u -= 0.1f * g.u; q.b = p.b - 0.1 * g.b;
  return std::pair(v, q);
};

TEST_CASE("a recurrent network is unrolled, and its step gives the next parameters") {
  cell<ct::tensor> p; p.b.fill(.5f); p.w.fill(.1f); p.u.fill(.2f);
  ct::tensor<float, "batch", 5, 3> x(7); x.fill(1);
  float first = 0, last = 0;
  for (int i = 0; i < 20; ++i) { auto [v, q] = ct::compiled(sgd)(p, x); p = q; if (i == 0) first = v; last = v; }
  CHECK(last < first);
}
} // namespace r03

} // namespace
