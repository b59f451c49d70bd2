// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>

// Code of docs/reference/operations.md and docs/how-to/custom-operations.md that no example has.

namespace ct = cotangent;

namespace {
// [windows]
inline constexpr auto features = [](auto x, auto w, auto bias) {
  auto y = ct::relu(ct::conv2d<ct::convolution{.stride = {2, 1}, .padding = 1}>(x, w) + bias);
  return ct::max_pool2d<ct::pooling{.window = 3, .stride = 2, .padding = 1}>(y);
};
// [/windows]

// [whole]
/// The sum of all elements up to each; from the last one on where attribute 0 is 1.
struct running_sum : ct::extend::primitive<ct::operation_kind::whole, 1> {
  static constexpr char const* name = "running_sum";
  static constexpr void infer(ct::inference& r) {
    r.like(0);
    if (!ct::is_floating(r.type)) r.refuse<ct::refusals::element_not_floating>();
  }
  static constexpr ct::term of(ct::term x, std::int64_t backwards) {
    return {x.b, x.b->push(ct::info_of<running_sum>(), {x.id}, {backwards}, x.b->place)};
  }
  static constexpr void adjoint(ct::adjoint_rule& r) { r.give(0, of(r.dy(), 1 - r.attribute())); }
  static constexpr void tangent(ct::tangent_rule& r) { r.give(of(r.dx(), r.attribute())); }

  template <class T> static constexpr void compute(ct::whole_call const& call) {
    T const* const x = call.operand[0].data<T>();
    T* const y = call.result.data<T>();
    T sum{};
    for (std::int64_t k = 0, n = call.result.count(); k < n; ++k) {
      std::int64_t const at = call.attribute[0] != 0 ? n - 1 - k : k;
      y[at] = sum += x[at];
    }
  }
  static constexpr void whole(ct::whole_call const& call) {
    if (call.result.type == ct::element::float32) compute<float>(call);
    else compute<double>(call);
  }
};
// [/whole]
struct running_sum_fn {
  static constexpr char const* name = "running_sum";
  using uses = ct::operations<running_sum>;
  constexpr ct::term operator()(ct::term x) const { return running_sum::of(x, 0); }
};
inline constexpr auto moments = [](auto x) {
  return ct::sum(ct::square(ct::extend::lift({}, running_sum_fn{}, x * x)));
};
static_assert(ct::grad(moments)(ct::tensor<double, 2>{1, 2})(1) ==
              40); // (1, 5): 2 5 per element of x x, times 2 2
} // namespace

TEST_CASE("one function of an image makes a static program and a run-time graph") {
  ct::tensor<float, 6, 5, 2> x;
  ct::tensor<float, 3, 3, 2, 4> w;
  ct::tensor<float, 4> bias{.1f, 0, -.1f, .2f};
  for (int k = 0; k < 60; ++k) x.data()[k] = .1f * static_cast<float>(k * 7 % 13) - .5f;
  for (int k = 0; k < 72; ++k) w.data()[k] = .1f * static_cast<float>(k * 5 % 11) - .5f;
  auto const y = ct::compiled(features)(x, w, bias);
  CHECK(y.extent(0) == 2);
  CHECK(y.extent(1) == 3);

  ct::dynamic::graph g;
  auto const image = g.input<float>("image", {6, 5, 2}), weights = g.input<float>("weights", {3, 3, 2, 4});
  auto const b = g.input<float>("bias", {4});
  auto const one = features(image, weights, b);
  auto const other =
      ct::max_pool2d(ct::relu(ct::conv2d(image, weights, {.stride = {2, 1}, .padding = 1}) + b),
                     {.window = 3, .stride = 2, .padding = 1});
  auto p = g.compile({one, other});
  p.bind(image, x);
  p.bind(weights, w);
  p.bind(b, bias);
  p.run();
  for (int k = 0; k < 24; ++k) {
    CHECK(p.value(one).data()[k] == y.data()[k]);
    CHECK(p.value(other).data()[k] == y.data()[k]);
  }
}

TEST_CASE("an operation over whole tensors needs no kernel") {
  ct::tensor<double, 7> const x{1, -2, 3, .5, 0, -1, 2};
  double sum = 0, expected = 0;
  for (double const v : x) {
    sum += v * v;
    expected += sum * sum;
  }
  CHECK(ct::compiled(moments)(x) == Approx(expected));
  CHECK(ct::check_gradient(moments, x).passed);
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {7});
  auto const y = moments(X);
  auto const d = g.gradient({y}, {X}).front();
  auto p = g.compile({y, d}, {{X, x}});
  p.run();
  CHECK(double(p.value(y)) == Approx(expected));
  auto const dx = ct::grad(moments)(x);
  for (int k = 0; k < 7; ++k) CHECK(p.value(d)(k) == Approx(dx(k)));
}
