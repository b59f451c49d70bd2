// SPDX-License-Identifier: BSL-1.0
// The code that docs/how-to and docs/reference quote for tasks at hand, and what they promise of it.
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace tasks {

// [neighbors]
inline constexpr auto rosenbrock = [](auto x) {
  auto here = x(ct::range<0, -1>), next = x(ct::range<1>); // all but the last, all but the first
  return ct::sum(100 * ct::square(next - ct::square(here)) + ct::square(1 - here));
};
// [/neighbors]

// [smoothing]
inline constexpr auto smoothed = [](auto x) {
  auto left = x(ct::range<0, -2>), middle = x(ct::range<1, -1>), right = x(ct::range<2>);
  return (left + 2 * middle + right) / 4;
};
// [/smoothing]

// [product]
inline constexpr auto product = [](auto x, auto y) { return ct::sum(x * y); };
// [/product]

// [layers]
template <template <class, ct::extent...> class Tensor>
struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (Tensor<float, 8, 8>, weights), (Tensor<float, 8>, offsets));
};
template <template <class, ct::extent...> class Tensor>
struct network {
  BOOST_HANA_DEFINE_STRUCT(network, (layer<Tensor>, first), (layer<Tensor>, second), (Tensor<float>, scale));
};

inline constexpr auto through = [](auto const& l, auto x) {
  return ct::tanh(ct::matmul(x, l.weights) + l.offsets);
};
inline constexpr auto loss = [](auto const& p, auto x, auto y) {
  return ct::mean(ct::square(p.scale * through(p.second, through(p.first, x)) - y));
};
// [/layers]

// [step]
inline constexpr auto step = [](auto const& p, auto const& dp, auto rate) { return p - rate * dp; };
// [/step]

// [poles]
inline constexpr auto entropy = [](auto p) { return -ct::sum(ct::select(p > 0, p * ct::log(p), 0)); };
// [/poles]

// [horner]
inline constexpr auto polynomial = [](auto coefficients, auto x) {
  ct::expr<double> y = 0.0;
  for (auto c : coefficients) y = y * x + c;
  return y;
};
// [/horner]

// [exact]
inline constexpr auto compensated = [](auto sum, auto x) {
  auto next = sum + x;
  return (next - sum) - x;
};
inline constexpr auto lost = [](auto sum, auto x) { return ct::exact(compensated)(sum, x); };
// [/exact]

// [checkpoint]
inline constexpr auto block = [](auto x, auto v, auto w) {
  return ct::tanh(ct::matmul(ct::tanh(ct::matmul(x, v)), w));
};
inline constexpr auto deep = [](auto x, auto a, auto b, auto c, auto d) {
  auto h = ct::checkpoint(block)(x, a, b);
  return ct::sum(ct::checkpoint(block)(h, c, d));
};
// [/checkpoint]

// [sequence]
inline constexpr auto dense = [](auto x, auto w) { return ct::tanh(ct::matmul(x, w)); };
inline constexpr auto deeper = [](auto x, auto weights) { // an array of matrices
  return ct::sum(ct::checkpoint_sequence(dense)(x, weights));
};
// [/sequence]

} // namespace tasks

TEST_CASE("neighbors along an axis") {
  using tasks::rosenbrock, tasks::smoothed;
  // [neighbors called]
  std::vector<double> x{1, 2, 3};
  std::vector<double> gradient = ct::grad(rosenbrock)(x);
  // [/neighbors called]
  CHECK(gradient[2] == 200 * (3. - 4.));
  ct::tensor<float, "n"> y(6);
  y.fill(3);
  CHECK(ct::compiled(smoothed)(y).size() == 4);
  CHECK(ct::compiled(smoothed)(y)(3) == 3);
  CHECK_THROWS_AS(ct::compiled(smoothed)(ct::tensor<float, "n">(1)), ct::shape_error);
}

TEST_CASE("vectors with one named size") {
  using tasks::product;
  // [names]
  std::vector<double> x{1, 2, 3}, y{4, 5, 6};
  ct::view<double const, "n"> a(x), b(y);
  double const z = ct::compiled(product)(a, b);
  auto [dx, dy] = ct::grad<0, 1>(product)(a, b); // two ct::tensor<double, "n">
  // [/names]
  CHECK(z == 32);
  CHECK((dx(2) == 6 && dy(0) == 1));
  y.pop_back();
  CHECK_THROWS_AS(ct::compiled(product)(a, ct::view<double const, "n">(y)), ct::shape_error);
}

TEST_CASE("parameters in nested structs") {
  using tasks::layer, tasks::loss, tasks::network, tasks::step;
  network<ct::tensor> p;
  p.first.weights.fill(0.1f);
  p.second.weights.fill(0.1f);
  p.scale = 1.0f;
  ct::tensor<float, 4, 8> x, y;
  x.fill(1);
  y.fill(0.5f);
  // [layers trained]
  float last = 0;
  for (int k = 0; k < 100; ++k) {
    auto [value, dp] = ct::value_and_grad(loss)(p, x, y); // float, network<ct::tensor>
    p.first.weights = ct::compiled(step)(p.first.weights, dp.first.weights, 0.1f);
    p.second.offsets = ct::compiled(step)(p.second.offsets, dp.second.offsets, 0.1f);
    last = value;
  }
  // [/layers trained]
  CHECK(last < 0.05f);
}

TEST_CASE("functions with poles, loops and exact rounding") {
  ct::tensor<double, 3> p{0, 0.5, 0.5};
  if (!ct::math::is_fast) {
    CHECK(ct::compiled(tasks::entropy)(p) == Approx(0.6931471805599453));
    CHECK(ct::grad(tasks::entropy)(p)(0) == 0);
  }
  CHECK(ct::compiled(tasks::polynomial)(ct::tensor<double, 3>{1, 2, 3}, 2.0) == 11);
  if (!ct::math::is_fast) CHECK(ct::compiled(tasks::lost)(0x1p60, 1.0) == -1);
}

TEST_CASE("blocks that are rematerialized") {
  ct::tensor<double, 2, 2> x{{1, 2}, {3, 4}}, w{{0.5, 0.25}, {-0.5, 0.125}};
  auto const [dx, da] = ct::grad<0, 1>(tasks::deep)(x, w, w, w, w);
  auto const value = [&] { return ct::compiled(tasks::deep)(x, w, w, w, w); };
  double const before = value();
  x(1, 0) += 1e-6;
  CHECK((value() - before) / 1e-6 == Approx(dx(1, 0)).epsilon(1e-4));
  CHECK(da(0, 1) != 0);
  std::array<ct::tensor<double, 2, 2>, 4> const weights{w, w, w, w};
  CHECK(ct::compiled(tasks::deeper)(x, weights) == value());
  CHECK(ct::grad<1>(tasks::deeper)(x, weights)[0](0, 1) == ct::grad<1>(tasks::deep)(x, w, w, w, w)(0, 1));
}
