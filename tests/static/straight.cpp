// SPDX-License-Identifier: BSL-1.0
#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/program/frozen_straight.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/pipeline.hpp>

// How many steps small programs take, and that making them stays within the compilers' limits.

using namespace cotangent;

namespace {

template <class Make> struct simplified {
  struct made {
    static constexpr detail::built make() {
      detail::simplify_options options;
      options.split_sums = false;
      return {simplify(detail::frozen<Make>::view, options), {}};
    }
  };
  static constexpr extend::graph_view view = detail::frozen<made, detail::capacity::of(detail::frozen<Make>::view)>::view;
};
template <class Make, int VectorBytes = 64> constexpr auto const& steps_of =
    detail::straightened<simplified<Make>, VectorBytes>::value;
template <class Make, int VectorBytes = 64> constexpr int count(detail::straight_action what) {
  int n = 0;
  for (int k = 0; k < steps_of<Make, VectorBytes>.size.steps; ++k)
    n += steps_of<Make, VectorBytes>.steps.data[k].what == what;
  return n;
}

constexpr term input(extend::builder& b, element e, extend::dimensions const& d) { return {&b, b.symbol_of(e, b.shape(d))}; }
constexpr detail::built with_gradient(extend::builder& b, term value, term in) {
  extend::symbol out[2]{value.id};
  b.set_inputs(&in.id, 1);
  detail::gradient(b, {&value.id, nullptr, 1, &in.id, 1}, out + 1);
  b.set_outputs(out, 2);
  return {b.get(), b.failed()};
}

/// What has stood apart becomes one load; what only moves costs nothing.
struct moved {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {2, {2, 4}});
    term const y = op::reshape::of(x, b.shape(extend::dimensions{1, {8}})) * 2;
    b.set_inputs(&x.id, 1);
    b.set_outputs(&y.id, 1);
    return {b.get(), b.failed()};
  }
};
static_assert(count<moved>(detail::straight_action::load) == 1 && count<moved>(detail::straight_action::compute) == 1 &&
              count<moved>(detail::straight_action::store) == 1 && steps_of<moved>.size.steps == 4);
static_assert(count<moved, 16>(detail::straight_action::load) == 4 &&
              count<moved, 16>(detail::straight_action::compute) == 4);

template <int N> struct rosenbrock {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {N}}), here = extend::slice(x, 0, 0, N - 1),
               after = extend::slice(x, 0, 1, N - 1);
    term const t = after - here * here, u = 1 - here;
    return with_gradient(b, extend::sum(100 * t * t + u * u, 1), x);
  }
};
static_assert(count<rosenbrock<8>>(detail::straight_action::load) == 2 &&
              count<rosenbrock<8>>(detail::straight_action::fold) == 1 &&
              count<rosenbrock<8>>(detail::straight_action::store) == 2 && steps_of<rosenbrock<8>>.size.steps <= 28);

/// What a larger graph than any that runs straight costs a compiler.
template <int N> struct long_chain {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {3}});
    term y = x;
    for (int k = 0; k < N; ++k) y = y * x + extend::at(y, 0, k % 3);
    return with_gradient(b, extend::sum(y, 1), x);
  }
};
static_assert(detail::runs_straight(simplified<long_chain<20>>::view, 64));
static_assert(count<long_chain<20>>(detail::straight_action::store) == 2);

} // namespace
