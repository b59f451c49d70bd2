// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic/dynamic.hpp>
#include <cotangent/dynamic/network.hpp>
#include <cotangent/dynamic/random.hpp>

#include "catch.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

// Programs in a budget of memory: the same bits, within the budget, at little more work.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

std::vector<float> numbers(std::size_t n, unsigned seed) {
  std::vector<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / 16777216.f - 0.5f;
  }
  return v;
}

/// A network of equal dense layers, its loss and the gradients of all weights.
struct network {
  ct::dynamic::graph g;
  std::vector<expr<float>> inputs;
  std::vector<ct::dynamic::any_expr> results;

  network(int layers, std::int64_t batch, std::int64_t width, int kind = 0) {
    inputs.push_back(g.input<float>("x", {batch, width}));
    expr<float> y = inputs[0];
    for (int k = 0; k < layers; ++k) {
      inputs.push_back(g.input<float>("w", {width, width}));
      auto const z = ct::matmul(y, inputs.back());
      if (kind == 0) y = ct::tanh(z);
      else if (kind == 1) y = y + ct::tanh(z); // a way around
      else y = ct::dropout(ct::gelu(z), 0.25, g.constant(std::int64_t{k}));
    }
    auto const loss = ct::mean(y * y);
    std::vector<ct::dynamic::any_expr> wrt(inputs.begin() + 1, inputs.end());
    results.push_back(loss);
    for (auto const& d : g.gradient({loss}, wrt)) results.push_back(d);
  }

  struct outcome {
    std::vector<float> bits;
    std::int64_t bytes = 0;
    ct::run_prediction predicted;
  };
  outcome run(std::int64_t budget, bool (*mirror)(ct::node const&) = nullptr) const {
    auto p = g.compile(results, {}, {.fit = budget, .mirror = mirror});
    std::vector<std::vector<float>> data;
    data.reserve(inputs.size());
    for (auto const& x : inputs) {
      data.push_back(
          numbers(static_cast<std::size_t>(x.shape().size().number), static_cast<unsigned>(data.size())));
      p.bind(x, data.back());
    }
    p.run();
    outcome o;
    for (auto const& y : results)
      for (float const v : p.value(y.as<float>())) o.bits.push_back(v);
    o.bytes = p.workspace_bytes();
    o.predicted = p.predicted();
    return o;
  }
};

bool equal(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

TEST_CASE("a program in a budget has equal bits, and fits", "[fit]") {
  for (int const kind : {0, 1, 2}) {
    network const n(24, 64, 16, kind);
    network::outcome const whole = n.run(0);
    for (int const part : {2, 3}) {
      std::int64_t const budget = whole.bytes / part;
      network::outcome const fitted = n.run(budget);
      INFO("kind " << kind << ", 1/" << part << " of " << whole.bytes << ": " << fitted.bytes << ", again "
                   << fitted.predicted.again / fitted.predicted.seconds);
      CHECK(equal(whole.bits, fitted.bits));
      CHECK(fitted.bytes <= budget);
      CHECK(fitted.predicted.bytes == fitted.bytes);
      CHECK(fitted.predicted.again > 0);
      CHECK(fitted.predicted.again <= (part == 2 ? 0.25 : 0.5) * fitted.predicted.seconds);
    }
  }
}

TEST_CASE("mirroring computes again what is cheap, with equal bits, and never takes more", "[fit]") {
  for (int const kind : {0, 1, 2}) {
    network const n(8, 64, 16, kind);
    network::outcome const whole = n.run(0), mirrored = n.run(0, &ct::is_cheap);
    CHECK(equal(whole.bits, mirrored.bits));
    CHECK(mirrored.bytes <= whole.bytes);
    if (kind == 2) CHECK(mirrored.bytes < whole.bytes); // gelu keeps several values of a layer
  }
}

TEST_CASE("a budget that nothing fits in names the least that something does", "[fit]") {
  network const n(12, 64, 16);
  try {
    (void)n.run(1000);
    FAIL("was not refused");
  } catch (ct::graph_error const& e) {
    std::string const words = e.what();
    CAPTURE(words);
    CHECK(words.find("the budget must hold") != std::string::npos);
    CHECK(words.find("1000") != std::string::npos);
  }
}

TEST_CASE("a budget that all fits in changes nothing", "[fit]") {
  network const n(6, 32, 16);
  network::outcome const whole = n.run(0), fitted = n.run(whole.bytes);
  CHECK(fitted.bytes == whole.bytes);
  CHECK(fitted.predicted.again == 0);
  CHECK(fitted.predicted.seconds > 0);
  CHECK(equal(whole.bits, fitted.bits));
}

/// Layers around a loop, and values that are written in pieces; the weights are updated in place.
std::vector<double> trained(std::int64_t budget, std::int64_t& bytes) {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {32, 8});
  std::vector<expr<double>> weights;
  expr<double> y = x;
  auto const dense = [&] {
    weights.push_back(g.input<double>("w", {8, 8}));
    y = ct::tanh(ct::matmul(y, weights.back()));
  };
  for (int k = 0; k < 6; ++k) dense();
  y = ct::for_loop(3, [](auto, auto v) { return ct::sin(v) * v; }, y);
  for (int k = 0; k < 3; ++k) dense();
  auto const pieces = g.tensor<double>("pieces", {32, 16});
  g.write(g.view(pieces, {.offset = {0, 0}, .shape = {32, 8}}), ct::exp(y));
  g.write(g.view(pieces, {.offset = {0, 8}, .shape = {32, 8}}), y * 2.0);
  for (int k = 0; k < 3; ++k) dense();
  auto const loss = ct::mean(y * y) + ct::mean(ct::sin(pieces));
  auto const d = g.gradient({loss}, {weights.begin(), weights.end()});
  ct::dynamic::compile_options options;
  options.fit = budget;
  for (std::size_t k = 0; k < weights.size(); ++k)
    options.updates.push_back({weights[k], weights[k] - 0.1 * d[k].as<double>()});
  auto p = g.compile({loss}, {}, options);
  std::vector<std::vector<double>> data;
  data.reserve(weights.size() + 1);
  auto const bind = [&](expr<double> const& to) {
    std::vector<float> const v =
        numbers(static_cast<std::size_t>(to.shape().size().number), static_cast<unsigned>(data.size()));
    data.emplace_back(v.begin(), v.end());
    p.bind(to, data.back());
  };
  bind(x);
  for (auto const& w : weights) bind(w);
  for (int k = 0; k < 3; ++k) p.run();
  bytes = p.workspace_bytes();
  std::vector<double> all;
  for (auto const& v : data) all.insert(all.end(), v.begin(), v.end());
  return all;
}

TEST_CASE("loops, values written in pieces and updates in place stay what they are in a budget", "[fit]") {
  std::int64_t whole = 0, fitted = 0;
  std::vector<double> const all = trained(0, whole);
  for (int const percent : {85, 70, 60}) {
    std::vector<double> const again = trained(whole * percent / 100, fitted);
    CHECK(fitted <= whole * percent / 100);
    CHECK(std::memcmp(all.data(), again.data(), 8 * all.size()) == 0);
  }
}

// ---- static programs

inline constexpr auto deep = [](auto w, auto x) {
  auto y = x;
  for (int k = 0; k < 5; ++k) y = ct::tanh(ct::matmul(y, w) + 0.01 * k);
  return ct::sum(y * y);
};
using weights = ct::tensor<float, 16, 16>;
using batch = ct::tensor<float, 64, 16>;
using whole_program = ct::program<decltype(ct::value_and_grad(deep)), weights, batch>;
inline constexpr auto two_thirds = static_cast<std::int64_t>(whole_program::workspace_bytes) * 2 / 3;
using fitted_program = ct::program<decltype(ct::fit<two_thirds>(ct::value_and_grad(deep))), weights, batch>;
static_assert(fitted_program::workspace_bytes <= two_thirds);
static_assert(fitted_program::predicted.bytes == static_cast<std::int64_t>(fitted_program::workspace_bytes));
static_assert(fitted_program::predicted.again > 0);
static_assert(fitted_program::predicted.again < 0.5 * fitted_program::predicted.seconds);

TEST_CASE("a static program in a budget has equal bits", "[fit]") {
  weights w;
  batch x;
  std::vector<float> const a = numbers(256, 1), b = numbers(1024, 2);
  std::memcpy(w.data(), a.data(), 1024);
  std::memcpy(x.data(), b.data(), 4096);
  auto const [value, gradient] = ct::value_and_grad(deep)(w, x);
  auto const [again, fitted] = ct::fit<two_thirds>(ct::value_and_grad(deep))(w, x);
  CHECK(std::memcmp(&value, &again, 4) == 0);
  CHECK(std::memcmp(gradient.data(), fitted.data(), 1024) == 0);
}

} // namespace
