// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {
template <template <class, ct::extent...> class Tensor> struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (Tensor<double, 2, 3>, w), (Tensor<double, 3>, b));
};
template <template <class, ct::extent...> class Tensor> struct network {
  BOOST_HANA_DEFINE_STRUCT(network, (layer<Tensor>, first), (Tensor<double, 3>, second),
                           (Tensor<double>, offset));
};

inline constexpr auto output = [](auto const& p, auto x) {
  auto const h = ct::tanh(ct::flatten(ct::matmul(ct::reshape<1, 2>(x), p.first.w)) + p.first.b);
  return ct::dot(h, p.second) + p.offset;
};
inline constexpr auto descend = [](auto p, auto x, auto rate) {
  auto const g = ct::grad(output)(p, x);
  p.first.w -= rate * g.first.w;
  p.first.b -= rate * g.first.b;
  p.second -= rate * g.second;
  p.offset -= rate * g.offset;
  return p;
};

network<ct::tensor> some_network() {
  network<ct::tensor> p;
  p.first.w = {{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}};
  p.first.b = {0.1, 0.2, 0.3};
  p.second = {1, -2, 3};
  p.offset = 0.5;
  return p;
}
} // namespace

TEST_CASE("the gradient of a struct of tensors is a struct with the same nesting") {
  auto const p = some_network();
  ct::tensor<double, 2> const x{0.3, -0.7};
  auto const [value, g] = ct::value_and_grad(output)(p, x);
  static_assert(std::is_same_v<std::remove_const_t<decltype(g)>, network<ct::tensor>>);
  CHECK(g.offset == 1.0);
  double sum = 0.5;
  for (int j = 0; j < 3; ++j) {
    double const h = std::tanh(0.3 * p.first.w(0, j) - 0.7 * p.first.w(1, j) + p.first.b(j));
    sum += h * p.second(j);
    CHECK(g.second(j) == Approx(h));
    CHECK(g.first.b(j) == Approx(p.second(j) * (1 - h * h)));
    CHECK(g.first.w(1, j) == Approx(-0.7 * p.second(j) * (1 - h * h)));
  }
  CHECK(value == Approx(sum));
}

namespace {
inline constexpr auto sum_of_layer = [](auto const& p) { return ct::sum(p.w * p.w) + 3 * ct::sum(p.b); };
} // namespace

TEST_CASE("a const struct of views receives results, and a const struct of tensors does not") {
  using P = ct::program<decltype(ct::grad(sum_of_layer)), layer<ct::tensor>>;
  layer<ct::tensor> const p = some_network().first;
  layer<ct::tensor> d;
  layer<ct::view> const to{ct::view<double, 2, 3>(d.w), ct::view<double, 3>(d.b)};
  static_assert(ct::detail::is_writable<layer<ct::view> const>() && !ct::detail::is_writable<layer<ct::tensor> const>());
  P::workspace space;
  REQUIRE(P::run(space, std::tie(p), to) == ct::status::ok);
  CHECK((d.w(1, 2) == 2 * p.w(1, 2) && d.b(2) == 3));
}

TEST_CASE("a function may return a struct, and use gradients in it") {
  auto const p = some_network();
  ct::tensor<double, 2> const x{0.3, -0.7};
  auto const g = ct::grad(output)(p, x);
  network<ct::tensor> const q = ct::compiled(descend)(p, x, 0.1);
  CHECK(q.offset == Approx(0.4));
  CHECK(q.first.w(0, 2) == Approx(p.first.w(0, 2) - 0.1 * g.first.w(0, 2)));
}

TEST_CASE("vectors of different sizes form a tuple; those of an array share their size") {
  std::vector<double> const two{1, 2}, three{3, 4, 5};
  constexpr auto squares = [](auto p) { return ct::sum(ct::square(std::get<0>(p))) + ct::sum(ct::square(std::get<1>(p))); };
  CHECK(ct::compiled(squares)(std::tuple(two, three)) == 55);
  CHECK(ct::compiled(squares)(std::array{two, two}) == 10);
  CHECK_THROWS_AS(ct::compiled(squares)(std::array{two, three}), ct::shape_error);
}

TEST_CASE("tuples, pairs and arrays of tensors are trees too") {
  auto const f = [](auto const& t) {
    auto const& [a, pair] = t;
    return ct::sum(a[0] * a[1]) + pair.first * ct::sum(pair.second);
  };
  std::tuple const t(std::array{ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{3, 4}},
                     std::pair(2.0, ct::tensor<double, 3>{1, 2, 3}));
  auto const g = ct::grad(f)(t);
  static_assert(std::is_same_v<std::remove_const_t<decltype(g)>, std::remove_const_t<decltype(t)>>);
  CHECK(std::get<0>(g)[0] == ct::tensor<double, 2>{3, 4});
  CHECK(std::get<0>(g)[1] == ct::tensor<double, 2>{1, 2});
  CHECK(std::get<1>(g).first == 6);
  CHECK(std::get<1>(g).second == ct::tensor<double, 3>{2, 2, 2});
}
