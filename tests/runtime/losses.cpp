// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

// Cross-entropies that users write out from probabilities: values and gradients are those of the stable forms.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

/// How often an operation stands in what computes `outputs`.
template <class Op> int count(ct::dynamic::graph const& g,
                              std::vector<ct::dynamic::any_expr> const& outputs) {
  ct::extend::builder b(g.get());
  std::vector<ct::extend::symbol> in, out;
  for (std::int32_t t = 0; t < b.get().tensors.size(); ++t)
    if (b.tensor(t).producer == ct::extend::none && b.tensor(t).region == 0) in.push_back(t);
  for (auto const& e : outputs) out.push_back(e.id());
  b.set_inputs(in.data(), static_cast<int>(in.size()));
  b.set_outputs(out.data(), static_cast<int>(out.size()));
  int n = 0;
  for (ct::extend::node const& k : ct::detail::simplify(b.get()).nodes)
    if (k.op == ct::info_of<Op>()) ++n;
  return n;
}

std::vector<double> softmax_of(std::vector<double> const& z, std::size_t rows) {
  std::vector<double> p(z.size());
  std::size_t const n = z.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    double top = z[r * n], sum = 0;
    for (std::size_t k = 0; k < n; ++k) top = std::max(top, z[r * n + k]);
    for (std::size_t k = 0; k < n; ++k) sum += p[r * n + k] = std::exp(z[r * n + k] - top);
    for (std::size_t k = 0; k < n; ++k) p[r * n + k] /= sum;
  }
  return p;
}

/// The ways in which people write a softmax.
template <class X> auto by_library(X const& x) { return ct::softmax(x, 1); }
template <class X> auto shifted(X const& x) {
  auto const e = ct::exp(x - ct::max(x, {1}, ct::keep));
  return e / ct::sum(e, {1}, ct::keep);
}
template <class X> auto bare(X const& x) {
  auto const e = ct::exp(x);
  return e / ct::reshape(ct::sum(e, {1}), {x.extent(0), std::int64_t{1}});
}

template <class Softmax>
void cross_entropy(Softmax const& softmax, std::vector<double> const& logits,
                   std::vector<std::int32_t> const& labels, bool huge) {
  std::int64_t const rows = static_cast<std::int64_t>(labels.size()),
                     classes = static_cast<std::int64_t>(logits.size()) / rows;
  std::vector<double> hot(logits.size());
  for (std::size_t r = 0; r < labels.size(); ++r)
    hot[r * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[r])] = 1;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {rows, classes}), t = g.input<double>("t", {rows, classes});
  auto const loss = -ct::sum(t * ct::log(softmax(x)));
  auto const dx = g.gradient({loss}, {x}).front();
  auto p = g.compile({loss, dx});
  p.bind(x, logits);
  p.bind(t, hot);
  p.run();
  std::vector<double> const q = softmax_of(logits, labels.size());
  double expected = 0;
  for (std::size_t k = 0; k < q.size(); ++k)
    if (hot[k] == 1 && q[k] > 0) expected -= std::log(q[k]);
  if (!huge) CHECK(p.value(loss) == Approx(expected).epsilon(1e-12));
  else CHECK(std::isfinite(static_cast<double>(p.value(loss))));
  for (std::size_t k = 0; k < q.size(); ++k)
    CHECK(p.value(dx)[static_cast<std::int64_t>(k)] == Approx(q[k] - hot[k]).margin(1e-14));
  CHECK(count<ct::op::log>(g, {dx}) == 0); // the loss is not computed for its gradient
  CHECK(count<ct::op::divide>(g, {loss, dx}) == 0);
  CHECK(count<ct::op::exp>(g, {loss, dx}) == 1);
  CHECK(count<ct::op::sum>(g, {dx}) <= 2); // of exponentials, and of the labels' weights
}

TEST_CASE("the cross-entropy of a softmax, written out, has the gradient softmax minus one-hot", "[losses]") {
  std::vector<double> const small{10, -1, -5, 12, 4, 24}, huge{1000, -1000, 0, -3000, 500, 20};
  auto const library = [](auto x) { return by_library(x); };
  auto const by_hand = [](auto x) { return shifted(x); };
  auto const plain = [](auto x) { return bare(x); };
  cross_entropy(library, small, {2, 1}, false);
  cross_entropy(by_hand, small, {2, 1}, false);
  cross_entropy(plain, small, {2, 1}, false);
  cross_entropy(library, huge, {1, 0}, true);
  cross_entropy(by_hand, huge, {1, 0}, true);
  cross_entropy(library, {.1, .2, .3, .4}, {3}, false);
  cross_entropy(by_hand, {.1, .7, -2, .4, 1, 1, 1, 3, 9}, {0, 2, 1},
                false); // square: rows and columns could be mistaken
  cross_entropy(plain, {.1, .7, -2, .4, 1, 1, 1, 3, 9}, {0, 2, 1}, false);
}

TEST_CASE("the cross-entropy of a sigmoid, written out, has the gradient sigmoid minus target", "[losses]") {
  ct::dynamic::graph g;
  auto const z = g.input<double>("z", {6}), t = g.input<double>("t", {6});
  auto const p = ct::sigmoid(z);
  auto const loss = -ct::sum(t * ct::log(p) + (1.0 - t) * ct::log(1.0 - p));
  auto const dz = g.gradient({loss}, {z}).front();
  auto program = g.compile({loss, dz});
  std::vector<double> const logits{-800, 800, -1, .5, 40, -40}, targets{1, 0, 1, .3, 0, 1};
  program.bind(z, logits);
  program.bind(t, targets);
  program.run();
  double expected = 0;
  for (std::size_t k = 0; k < 6; ++k) {
    double const v = logits[k];
    auto const softplus = [](double x) {
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    };
    expected += targets[k] * softplus(-v) + (1 - targets[k]) * softplus(v);
    CHECK(program.value(dz)[static_cast<std::int64_t>(k)] ==
          Approx(1 / (1 + std::exp(-v)) - targets[k]).margin(1e-15));
  }
  CHECK(program.value(loss) == Approx(expected));
  CHECK(count<ct::op::log>(g, {loss, dz}) == 0);
  CHECK(count<ct::op::softplus>(g, {dz}) == 0);
}

TEST_CASE("formulas that are not a softmax stay unchanged", "[losses]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3, 3});
  auto const e = ct::exp(x);
  auto const across = e / ct::reshape(ct::sum(e, {1}), {1, 3}); // divides columns by sums of rows
  auto const y = ct::sum(ct::log(across) * x);
  auto const dx = g.gradient({y}, {x}).front();
  std::vector<double> v{.1, .5, -.3, .7, .2, .9, -1, .4, .6};
  auto p = g.compile({y, dx});
  p.bind(x, v);
  p.run();
  std::vector<double> const slope(p.value(dx).begin(), p.value(dx).end());
  for (std::size_t k = 0; k < v.size(); ++k) {
    double const kept = v[k], h = 1e-5;
    v[k] = kept + h;
    p.run();
    double const above = p.value(y);
    v[k] = kept - h;
    p.run();
    CHECK(slope[k] == Approx((above - static_cast<double>(p.value(y))) / (2 * h)).epsilon(1e-7).margin(1e-9));
    v[k] = kept;
  }
  CHECK(count<ct::op::log>(g, {y}) == 1);
}

TEST_CASE("requested cotangents of intermediate values are not skipped, and second derivatives are right",
          "[losses]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const p = ct::softmax(x, 1);
  auto const y = ct::sum(ct::log(p) * g.constant(std::vector<double>{0, 1, 2}, {3}));
  auto const dp = g.gradient({y}, {p}).front(), both = g.gradient({y}, {x}).front();
  auto const second = g.gradient({ct::sum(both * both)}, {x}).front();
  auto program = g.compile({p, dp, both, ct::sum(both * both), second});
  std::vector<double> v{.1, .5, -.3, .7, .2, .9};
  program.bind(x, v);
  program.run();
  for (std::int64_t k = 0; k < 6; ++k) {
    CHECK(program.value(dp)[k] == Approx(static_cast<double>(k % 3) / program.value(p)[k]));
    CHECK(program.value(both)[k] == Approx(static_cast<double>(k % 3) - 3 * program.value(p)[k]));
  }
  std::vector<double> const slope(program.value(second).begin(), program.value(second).end());
  for (std::size_t k = 0; k < v.size(); ++k) {
    double const kept = v[k], h = 1e-5;
    auto const at = [&](double e) {
      v[k] = e;
      program.run();
      double sum = 0;
      for (double const d : program.value(both)) sum += d * d;
      return sum;
    };
    CHECK(slope[k] == Approx((at(kept + h) - at(kept - h)) / (2 * h)).epsilon(1e-7).margin(1e-8));
    v[k] = kept;
  }
}

inline constexpr auto written_out = [](auto z, auto t) { return -ct::sum(t * ct::log(ct::softmax(z))); };

TEST_CASE("losses are recognized in traced functions and in loops", "[losses]") {
  ct::tensor<double, 2, 3> const z{{1000, -1000, 0}, {-3000, 500, 20}}, t{{0, 1, 0}, {1, 0, 0}};
  auto const [value, slope] = ct::value_and_grad(written_out)(z, t);
  CHECK(value == Approx(5500));
  CHECK(slope(0, 0) == 1);
  CHECK(slope(0, 1) == -1);
  CHECK(slope(1, 0) == -1);
  CHECK(slope(1, 1) == 1);

  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const y = ct::sum(ct::for_loop(2, [](auto, auto s) { return ct::log(ct::softmax(s, 1)) * 2.0; }, x));
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({dx});
  std::vector<double> const v{800, -800, 0, .1, .2, .3};
  p.bind(x, v);
  p.run();
  for (std::int64_t k = 0; k < 6; ++k) CHECK(std::isfinite(p.value(dx)[k]));
}

} // namespace
