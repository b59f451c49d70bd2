// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/random.hpp>

#include <cmath>
#include <string>
#include <vector>

// Random numbers and dropout: statistics, repetition, merging, graphs at run time. (Their values are held against a formula by
// the witnesses.)

namespace ct = cotangent;

namespace {
// [dropout]
inline constexpr auto layer = [](auto x, auto w, auto key) {
  auto h = ct::dropout(ct::tanh(ct::matmul(x, w)), 0.5, key);
  return ct::mean(ct::dropout(ct::square(h), 0.1, key + 1));
};
// [/dropout]

inline constexpr auto numbers = [](auto key) {
  return std::tuple{ct::random_uniform<float, 100000>(key), ct::random_normal<double, 100000>(key + 1)};
};

ct::extend::symbol pushed(ct::extend::builder& b, ct::term const& t) {
  REQUIRE(b.failed().why == nullptr);
  return t.id;
}
} // namespace

TEST_CASE("uniform numbers in half precision are below 1") {
  auto const [coarse, fine] = ct::compiled([](auto key) {
    return std::tuple(ct::random_uniform<ct::bfloat16, 100000>(key), ct::random_uniform<ct::float16, 100000>(key));
  })(std::int64_t{3});
  float sum = 0;
  for (std::int64_t k = 0; k < 100000; ++k) {
    sum += float(fine(k)) / 100000;
    if (!(float(coarse(k)) >= 0 && float(coarse(k)) < 1 && float(fine(k)) >= 0 && float(fine(k)) < 1)) FAIL_CHECK("element " << k);
  }
  CHECK(sum == Approx(.5).margin(.01));
}
TEST_CASE("uniform and normal numbers have their distributions, independent of neighbors and keys") {
  auto const [u, n] = ct::compiled(numbers)(std::int64_t{2024});
  auto const [u2, n2] = ct::compiled(numbers)(std::int64_t{2025});
  double sum = 0, squares = 0, neighbors = 0, keys = 0, normal = 0, variance = 0, fourth = 0,
         normal_keys = 0;
  int bins[16]{};
  for (int k = 0; k < 100000; ++k) {
    double const x = static_cast<double>(u(k)) - .5, z = n(k);
    REQUIRE(u(k) >= 0);
    REQUIRE(u(k) < 1);
    ++bins[static_cast<int>(u(k) * 16)];
    sum += x;
    squares += x * x;
    if (k > 0) neighbors += x * (static_cast<double>(u(k - 1)) - .5);
    keys += x * (static_cast<double>(u2(k)) - .5);
    normal += z;
    variance += z * z;
    fourth += z * z * z * z;
    normal_keys += z * n2(k);
  }
  // within four standard deviations of each
  CHECK(std::fabs(sum) < 4 * std::sqrt(100000 / 12.));
  CHECK(std::fabs(squares - 100000 / 12.) < 4 * std::sqrt(100000 / 180.));
  CHECK(std::fabs(neighbors) < 4 * std::sqrt(100000.) / 12);
  CHECK(std::fabs(keys) < 4 * std::sqrt(100000.) / 12);
  CHECK(std::fabs(normal) < 4 * std::sqrt(100000.));
  CHECK(std::fabs(variance - 100000) < 4 * std::sqrt(200000.));
  CHECK(std::fabs(fourth - 300000) < 4 * std::sqrt(96 * 100000.));
  CHECK(std::fabs(normal_keys) < 4 * std::sqrt(100000.));
  for (int const b : bins) CHECK(std::fabs(b - 6250) < 4 * std::sqrt(6250.));
}

TEST_CASE("dropout is repeated by its gradient, and by the same key") {
  ct::tensor<double, 8, 5> x;
  ct::tensor<double, 5, 6> w;
  for (int k = 0; k < 40; ++k) x.data()[k] = .1 * (k * 7 % 13) - .6;
  for (int k = 0; k < 30; ++k) w.data()[k] = .2 * (k * 5 % 11) - 1;
  for (std::int64_t const key : {std::int64_t{1}, std::int64_t{2}, std::int64_t{-7}, std::int64_t{1} << 40}) {
    CHECK(ct::check_gradient(layer, x, w, key).passed);
    CHECK(ct::compiled(layer)(x, w, key) == ct::compiled(layer)(x, w, key));
  }
  CHECK(ct::compiled(layer)(x, w, std::int64_t{1}) != ct::compiled(layer)(x, w, std::int64_t{2}));
}

TEST_CASE("random nodes are merged only if their keys are equal") {
  using namespace ct;
  extend::builder b;
  std::int32_t const shape = b.shape(extend::dimensions{1, {9}});
  term const a{&b, b.symbol_of(element::float64, shape)}, key{&b, b.symbol_of(element::int64, 0)};
  auto const drawn = [&] {
    int n = 0;
    for (extend::node const& i : b.get().nodes) n += i.op == info_of<op::random53>() ? 1 : 0;
    return n;
  };
  term const once = extend::dropout(a, 0.5, key);
  CHECK(drawn() == 1);
  CHECK(extend::dropout(a, 0.5, key).id == once.id); // the same numbers: the same node
  CHECK(drawn() == 1);
  CHECK(extend::dropout(a, 0.5, key + 1).id != once.id);
  CHECK(drawn() == 2);
  (void)pushed(b, once);
}

TEST_CASE("random numbers of a run-time graph have the bits of the static program, in loops and gradients "
          "too") {
  ct::dynamic::graph g;
  auto const key = g.input<std::int64_t>("key");
  auto const x = g.input<double>("x", {37}), w = g.input<double>("w");
  auto const drops = ct::dropout(x, 0.25, key);
  auto const same = ct::random_uniform<double>(key, {5, 7}), other = ct::random_uniform<double, 5, 7>(key);
  auto const last = ct::for_loop(4, [&](auto i, auto y) { return ct::dropout(y * w, 0.25, key + i); }, x);
  auto const loss = ct::sum(last);
  auto const dw = g.gradient({loss}, {w}).front();
  auto p = g.compile({drops, same, other, loss, dw});
  std::vector<double> data(37);
  for (std::size_t k = 0; k < 37; ++k) data[k] = 1 + .25 * static_cast<double>(k % 5);
  std::int64_t const at = 99;
  double const factor = 1.5;
  p.bind(key, at);
  p.bind(x, data);
  p.bind(w, factor);
  p.run();
  constexpr auto by_hand = [](auto y, auto k) { return ct::dropout(y, 0.25, k); };
  ct::tensor<double, 37> y;
  for (int k = 0; k < 37; ++k) y(k) = data[static_cast<std::size_t>(k)];
  ct::tensor<double, 37> const dropped = ct::compiled(by_hand)(y, at);
  for (int k = 0; k < 37; ++k) CHECK(p.value(drops)(k) == dropped(k));
  for (int k = 0; k < 35; ++k) CHECK(p.value(same).data()[k] == p.value(other).data()[k]);
  // the loop, step by step; it is homogeneous of degree 4 in w
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 37; ++k) y(k) *= factor;
    y = ct::compiled(by_hand)(y, at + i);
  }
  double total = 0;
  for (int k = 0; k < 37; ++k) total += y(k);
  CHECK(std::fabs(p.value(loss)() - total) <= 1e-12 * total);
  CHECK(std::fabs(p.value(dw)() - 4 * total / factor) <= 1e-12 * total);
  double const first = p.value(loss)();
  p.run();
  CHECK(p.value(loss)() == first);
}

TEST_CASE("random numbers of the shape {} are numbers") {
  ct::dynamic::graph g;
  auto const key = g.input<std::int64_t>("key");
  auto const same = [&](auto const& a, auto const& b) {
    CHECK(a.rank() == 0);
    CHECK(a.id() == b.id());
  };
  same(ct::random_uniform<double>(key, {}), ct::random_uniform<double>(key));
  same(ct::random_normal<float>(key, {}), ct::random_normal<float>(key));
  same(ct::random_exponential<double>(key, {}), ct::random_exponential<double>(key));
  same(ct::random_bernoulli(key, 0.25, {}), ct::random_bernoulli(key, 0.25));
  same(ct::random_gamma(key, 2.5, {}), ct::random_gamma(key, 2.5));
}

TEST_CASE("invalid random numbers are refused, and the graph stays unchanged") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const key = g.input<std::int64_t>("key"), keys = g.input<std::int64_t>("keys", {2});
  auto const nodes = g.get().nodes.size();
  CHECK_THROWS_AS(ct::dropout(x, 1.0, key), ct::shape_error);
  CHECK_THROWS_AS(ct::dropout(x, -0.5, key), ct::shape_error);
  CHECK_THROWS_AS(ct::dropout(x, 0.5, keys), ct::shape_error);
  CHECK_THROWS_AS(ct::random_normal<float>(key, {2, -1}), ct::shape_error);
  try {
    (void)ct::dropout(x, 1.5, key);
    FAIL("a rate of 1.5");
  } catch (ct::shape_error const& e) {
    CHECK(std::string(e.what()).find("dropout: the rate must be at least 0 and less than 1") !=
          std::string::npos);
  }
  CHECK(g.get().nodes.size() == nodes);
}
