// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Windows on tensors of dynamic graphs: read, written in pieces, bound, differentiated.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

template <class T> std::vector<T> elements(ct::dynamic::values<T> const& v) { return {v.begin(), v.end()}; }

TEST_CASE("terms of views and of the whole tensor are summed on the whole", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = x + g.constant(std::array<double, 2>{1, 1.5});
  auto const x1 = g.view(x, {.shape = {1}}), y1 = g.view(y, {.shape = {1}}),
             y2 = g.view(y, {.offset = {1}, .shape = {1}});
  auto const u1 = y1 * y1 + y1, u2 = ct::exp(y2);
  auto const v = ct::sum(x1 + u1 + u2);
  auto const dx = g.gradient({v}, {x}).front();
  auto p = g.compile({v, dx});
  p.bind(x, {.44, -1.18});
  p.run();
  CHECK(double(p.value(v)) == Approx(5.3307277));
  CHECK(p.value(dx)(0) == Approx(4.88));
  CHECK(p.value(dx)(1) == Approx(1.3771278));
}

TEST_CASE("unread elements have gradient zero, and a view has a gradient of its own", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const x1 = g.view(x, {.shape = {1}});
  auto const y1 = ct::log(x1);
  auto const v = ct::sum(y1 * y1 + y1);
  auto const dx = g.gradient({v}, {x}).front();
  auto const da = g.gradient({ct::sum(ct::log(x1))}, {x1}).front();
  CHECK(da.shape() == ct::shape_of<1>);
  auto p = g.compile({v, dx, da});
  p.bind(x, {.21, -13.22});
  p.run();
  CHECK(double(p.value(v)) == Approx(.8749736));
  CHECK(p.value(dx)(0) == Approx(-10.1014071));
  CHECK(p.value(dx)(1) == 0);
  p.bind(x, {2.0, 4.0});
  p.run();
  CHECK(p.value(da)(0) == .5);
}

TEST_CASE("the gradient of a tensor joined through views is split", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const obs = g.input<double>("obs", {6, 4}), act = g.input<double>("act", {6, 1});
  auto const w1 = g.input<double>("w1", {5, 3}), w2 = g.input<double>("w2", {5, 2});
  auto const both = g.tensor<double>("both", {6, 5});
  g.write(g.view(both, {.shape = {6, 4}}), obs);
  g.write(g.view(both, {.offset = {0, 4}, .shape = {6, 1}}), act);
  auto const v1 = ct::matmul(both, w1), v2 = ct::matmul(both, w2);
  auto const loss = ct::sum(v1 * v1) + ct::sum(ct::sin(v2));
  auto const d = g.gradient({loss}, {w1, w2, obs, act});

  ct::dynamic::graph h; // the same without views
  auto const o = h.input<double>("o", {6, 4}), a = h.input<double>("a", {6, 1});
  auto const m1 = h.input<double>("m1", {5, 3}), m2 = h.input<double>("m2", {5, 2});
  auto const joined = ct::concatenate<1>(o, a);
  auto const u1 = ct::matmul(joined, m1), u2 = ct::matmul(joined, m2);
  auto const e = h.gradient({ct::sum(u1 * u1) + ct::sum(ct::sin(u2))}, {m1, m2, o, a});

  auto const numbers = [](std::size_t n, double phase) {
    std::vector<double> v(n);
    for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(double(k) + phase);
    return v;
  };
  auto const xo = numbers(24, 1), xa = numbers(6, 2), x1 = numbers(15, 3), x2 = numbers(10, 4);
  auto p = g.compile({both, d[0], d[1], d[2], d[3]}, {{obs, xo}, {act, xa}, {w1, x1}, {w2, x2}});
  auto q = h.compile({joined, e[0], e[1], e[2], e[3]}, {{o, xo}, {a, xa}, {m1, x1}, {m2, x2}});
  for (int k = 0; k < 2; ++k) {
    p.run();
    q.run();
    CHECK(elements(p.value(both)) == elements(q.value(joined)));
    for (std::size_t i = 0; i < 4; ++i) {
      auto const ours = elements(p.value(d[i])), theirs = elements(q.value(e[i]));
      REQUIRE(ours.size() == theirs.size());
      for (std::size_t j = 0; j < ours.size(); ++j)
        CHECK(ours[j] == Approx(theirs[j]).epsilon(1e-13).margin(1e-13));
    }
  }
}

TEST_CASE("slices of a vector, with or without a gap, have their gradients", "[dynamic][views]") {
  for (std::int64_t const slices : {3, 64, 1025})
    for (std::int64_t const dropped : {std::int64_t(-1), std::int64_t(1), slices - 1}) {
      ct::dynamic::graph g;
      auto const x = g.input<double>("x", {3 * slices});
      std::vector<expr<double>> parts;
      for (std::int64_t k = 0; k < slices; ++k)
        if (k != dropped) parts.push_back(ct::sum(ct::square(g.view(x, {.offset = {3 * k}, .shape = {3}}))));
      expr<double> y = 0.0;
      for (auto const& part : parts) y += part;
      auto const dx = g.gradient({y}, {x}).front();
      auto p = g.compile({dx});
      std::vector<double> data(static_cast<std::size_t>(3 * slices));
      for (std::size_t k = 0; k < data.size(); ++k) data[k] = double(k) + 1;
      p.bind(x, data);
      p.run();
      auto const d = p.value(dx);
      int wrong = 0;
      for (std::int64_t k = 0; k < 3 * slices; ++k)
        wrong += d[k] != (k / 3 == dropped ? 0 : 2 * data[static_cast<std::size_t>(k)]);
      CHECK(wrong == 0);
    }
}

TEST_CASE("views of views compose, and follow the memory bound to their tensor", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {6}), a = g.input<double>("a", {2, 3});
  auto const b = g.view(g.view(x, {.offset = {2}, .shape = {4}}), {.offset = {1}, .shape = {2}}) * 1.0;
  auto const a0 = g.view(a, {.offset = {1, 0}, .shape = {1, 3}, .stride = {3, 1}});
  auto const a1 = g.view(a0, {.offset = {1}, .shape = {2}, .stride = {1}});
  auto p = g.compile({b, a0, a1});
  p.bind(x, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0});
  for (double const first : {10., 20.}) {
    std::array<double, 6> data{};
    for (std::size_t k = 0; k < 6; ++k) data[k] = first + double(k);
    p.bind(a, data);
    p.run();
    CHECK(elements(p.value(b)) == std::vector<double>{3, 4});
    CHECK(elements(p.value(a0)) == std::vector<double>{first + 3, first + 4, first + 5});
    CHECK(elements(p.value(a1)) == std::vector<double>{first + 4, first + 5});
  }
}

TEST_CASE("a dense block grows in place, in whatever order it is written", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const w1 = g.input<double>("w1");
  auto const x = g.tensor<double>("x", {4});
  auto const at = [&](std::int64_t k) { return g.view(x, {.offset = {k}, .shape = {1}}); };
  auto const y = ct::sum(x), last = ct::sum(at(3));
  auto const twice = x * 2.0; // of all that will be written
  g.write(at(3), at(0) * .484 + at(1) * .912 + at(2) * .235 + .3);
  g.write(at(2), at(0) * .374 + at(1) * .886 + .2);
  g.write(at(1), at(0) * w1 + .1);
  g.write(at(0), .472);
  auto const dy = g.gradient({y}, {w1}).front(), dlast = g.gradient({last}, {w1}).front();
  auto p = g.compile({x, twice, dy, dlast});
  p.bind(w1, .234);
  for (int k = 0; k < 2; ++k) {
    p.run();
    CHECK(p.value(x)(0) == Approx(.472));
    CHECK(p.value(x)(1) == Approx(.210448));
    CHECK(p.value(x)(2) == Approx(.5629849));
    CHECK(p.value(x)(3) == Approx(.852678));
    CHECK(p.value(twice)(3) == Approx(2 * .852678));
    CHECK(double(p.value(dy)) == Approx(1.4189311));
    CHECK(double(p.value(dlast)) == Approx(.5287391));
  }
}

TEST_CASE("pieces are written to non-contiguous memory, and unwritten elements are zero",
          "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {50, 70});
  auto const y = g.tensor<float>("y", {3, 50, 140});
  g.write(g.view(y, {.shape = {50, 70}, .stride = {140, 2}}), ct::sin(x) + 1.0); // strided
  g.write(g.view(y, {.offset = {0, 50}, .shape = {70, 50}, .stride = {1, 140}}),
          ct::transpose(x * 3.0)); // turned
  auto const z = g.tensor<float>("z", {2, 50, 70});
  g.write(g.view(z, {.offset = {1, 0, 0}, .shape = {1, 50, 70}}),
          ct::reshape(ct::exp(-x), {1, 50, 70})); // one run
  auto const w = g.tensor<float>("w", {140, 50});
  g.write(g.view(w, {.shape = {70, 50}, .stride = {100, 1}}), ct::transpose(x)); // every other row
  g.write(g.view(w, {.offset = {139, 0}, .shape = {1, 50}}), ct::reshape(ct::sum(x, {1}), {1, 50}));
  auto const sums = ct::sum(w, {0});
  auto const more = ct::exp(-x) * 2.0; // shares with what is written
  CHECK_THROWS_AS(g.write(g.view(y, {.offset = {1}, .shape = {1}, .stride = {2}}), 1.0), ct::graph_error);
  auto p = g.compile({y, z, w, sums, more});
  std::vector<float> data(3500);
  for (std::size_t k = 0; k < 3500; ++k) data[k] = std::sin(float(k));
  p.bind(x, data);
  std::vector<float> zs(7000);
  p.bind(z, zs);
  for (int run = 0; run < 2; ++run) {
    zs.assign(7000, 5.0f); // what stood there before
    p.run();
    int wrong = 0;
    auto const vy = p.value(y), vz = p.value(z), vw = p.value(w), vs = p.value(sums), vm = p.value(more);
    for (std::int64_t i = 0; i < 50; ++i) {
      double column = 0;
      for (std::int64_t j = 0; j < 70; ++j) {
        float const e = data[static_cast<std::size_t>(70 * i + j)];
        wrong += vz(0, i, j) != 0 || std::abs(vz(1, i, j) - std::exp(-e)) > 1e-6f * std::exp(-e) * 4;
        wrong += std::abs(vy(0, i, 2 * j) - (std::sin(e) + 1)) > 1e-6f || vy(0, i, 2 * j + 1) != 0;
        wrong += vy(1, i, j) != data[static_cast<std::size_t>(70 * i + j)] * 3 || vy(1, i, 70 + j) != 0 ||
                 vy(2, i, j) != 0;
        wrong += vm(i, j) != 2 * vz(1, i, j);
        wrong += vw(2 * j, i) != e || (j < 69 && vw(2 * j + 1, i) != 0);
        column += e;
      }
      wrong += std::abs(vw(139, i) - column) > 1e-4;
      wrong += std::abs(vs(i) - 2 * column) > 1e-4;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a tensor into which only an empty batch is written is zero", "[dynamic][views]") {
  for (std::int64_t const size : {1, 5, 700}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {0});
    auto const t = g.tensor<double>("t", {size});
    g.write(g.view(t, {.offset = {0}, .shape = {0}}), x * x);
    auto const y = ct::sum(t + 1.0);
    auto p = g.compile({t, y});
    std::vector<double> const none;
    p.bind(x, none);
    std::vector<double> to(static_cast<std::size_t>(size), 7.0);
    p.bind(t, to);
    for (int run = 0; run < 2; ++run) {
      p.run();
      CHECK(to == std::vector<double>(to.size()));
      CHECK(double(p.value(y)) == double(size));
      to.assign(to.size(), -3.0);
    }
  }
}

TEST_CASE("all readers of a written input see the written elements", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4}), y = g.input<double>("y", {2});
  auto const before = x * 10.0;
  g.write(g.view(x, {.offset = {1}, .shape = {2}}), y * y);
  auto const s = ct::sum(x * x);
  auto const d = g.gradient({s}, {x, y});
  auto p = g.compile({before, x, s, d[0], d[1]});
  std::array<double, 4> const data{1, 2, 3, 4};
  p.bind(x, data);
  p.bind(y, {5.0, 6.0});
  p.run();
  CHECK(elements(p.value(before)) == std::vector<double>{10, 250, 360, 40});
  CHECK(elements(p.value(x)) == std::vector<double>{1, 25, 36, 4});
  CHECK(elements(p.value(d[1])) == std::vector<double>{500, 864});
  CHECK(data[1] == 2);
}

TEST_CASE("tensors with views are bound late, and views of results are bound", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a", {2});
  auto const y = (g.view(a, {.shape = {1}}) + g.view(a, {.offset = {1}, .shape = {1}})) * a;
  auto const b = ct::log(a);
  auto const b1 = g.view(b, {.offset = {1}, .shape = {1}});
  auto p = g.compile({y, b1});
  std::vector<double> result(1);
  p.bind(a, {1.1, .4});
  p.bind(b1, result);
  p.run();
  CHECK(p.value(y)(0) == Approx(1.65));
  CHECK(p.value(y)(1) == Approx(.6));
  CHECK(result[0] == Approx(std::log(.4)));
  p.bind(a, {1.0, 2.34});
  p.run();
  CHECK(result[0] == Approx(std::log(2.34)));
}

TEST_CASE("a bound view of an input, or of unwritten elements, has memory of its own", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a", {2, 3}), t = g.tensor<double>("t", {3});
  auto const row = g.view(a, {.offset = {1, 0}, .shape = {1, 3}}),
             corner = g.view(a, {.offset = {1, 2}, .shape = {1, 1}}),
             end = g.view(t, {.offset = {2}, .shape = {1}});
  auto const y = ct::log(a), z = t * 2.0, dy = g.gradient({ct::sum(a * a)}, {a}).front();
  int const before = g.get().nodes.size();
  ct::tensor<double, 1, 3> part{{2.34, 1, 2}};
  std::vector<double> const last{7}; // also what cannot be written
  auto p = g.compile({y, z, dy}, {{row, part}, {end, last}});
  CHECK(g.get().nodes.size() == before);
  p.bind(a, ct::tensor<double, 2, 3>{{3, 4, 5}, {-1, -1, -1}});
  for (double const first : {2.34, 6.0}) {
    part(0, 0) = first; // read at every run
    p.run();
    CHECK(p.value(y)(0, 1) == Approx(std::log(4)));
    CHECK(p.value(y)(1, 0) == Approx(std::log(first)));
    CHECK(p.value(y)(1, 2) == Approx(std::log(2)));
    CHECK(p.value(dy)(1, 0) == 2 * first);
    CHECK(p.value(dy)(0, 2) == 10);
    CHECK(p.value(z)(2) == 14);
    CHECK(p.value(z)(0) == 0);
  }
  p.bind(row, {9.0, 8.0, 7.0});
  p.run();
  CHECK(p.value(y)(1, 1) == Approx(std::log(8)));

  // what has memory already, or an element that two memories would give, is copied out
  std::vector<double> seen(1);
  auto q = g.compile({y}, {{row, part}, {corner, seen}});
  q.bind(a, ct::tensor<double, 2, 3>{{3, 4, 5}, {-1, -1, -1}});
  q.run();
  CHECK(seen[0] == 2);
  CHECK_THROWS_WITH(g.compile({y}, {{a, part}, {corner, last}}), Catch::Contains("must have the shape"));
  std::vector<double> const two{1, 2};
  auto const twins = g.view(t, {.shape = {2}, .stride = {0}}); // which of the two would be the element?
  CHECK_THROWS_WITH(g.compile({y}, {{twins, two}}), Catch::Contains("must be writable"));
}

template <class E, class F> bool refuses(F const& f, std::initializer_list<char const*> words) {
  try {
    f();
  } catch (E const& e) {
    UNSCOPED_INFO(e.what());
    for (char const* const w : words)
      if (std::string(e.what()).find(w) == std::string::npos) return false;
    return true;
  }
  return false;
}

TEST_CASE("views outside their tensor and second writers are refused", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const count = [&] { return g.get().tensors.size() + 1000 * g.get().nodes.size(); };
  int const before = count();
  CHECK(
      refuses<ct::shape_error>([&] { g.view(x, {.offset = {3}, .shape = {4}}); }, {"view", "x double [4]"}));
  CHECK(refuses<ct::shape_error>([&] { g.view(x, {.offset = {-1}, .shape = {2}}); }, {"view", "precede"}));
  CHECK(refuses<ct::shape_error>([&] { g.view(x, {.shape = {2, 2}, .stride = {3, 1}}); }, {"view"}));
  CHECK(refuses<ct::shape_error>([&] { g.view(x, {.shape = {2, 2}}); }, {"stride"}));
  CHECK(count() == before);
  auto const t = g.tensor<double>("t", {4});
  auto const low = g.view(t, {.shape = {3}}), high = g.view(t, {.offset = {2}, .shape = {2}});
  auto const even = g.view(t, {.shape = {2}, .stride = {2}});
  g.write(low, 1.0);
  CHECK(refuses<ct::graph_error>([&] { g.write(high, 2.0); }, {"at most once"}));
  CHECK(refuses<ct::graph_error>([&] { g.write(even, 2.0); }, {"at most once"}));
  CHECK(refuses<ct::graph_error>([&] { g.write(low, 2.0); }, {"at most once"}));
  CHECK(refuses<ct::graph_error>([&] { g.write(ct::exp(x), x); }, {"or a view of"}));
  CHECK(
      refuses<ct::shape_error>([&] { g.write(g.view(t, {.offset = {3}, .shape = {1}}), x); }, {"in write"}));
  auto const circle = g.tensor<double>("circle", {2});
  g.write(g.view(circle, {.shape = {1}}), g.view(circle, {.offset = {1}, .shape = {1}}) + 1.0);
  g.write(g.view(circle, {.offset = {1}, .shape = {1}}), g.view(circle, {.shape = {1}}) + 1.0);
  CHECK(refuses<ct::graph_error>([&] { g.compile({circle}); }, {"depend on its own result"}));
  auto const many = g.tensor<double>("many", {200});
  for (std::int64_t k = 0; k < 100; ++k) g.write(g.view(many, {.offset = {k}, .shape = {1}}), double(k));
  g.write(g.view(many, {.offset = {7}, .shape = {1}}), 0.0); // found when all are compared
  CHECK(refuses<ct::graph_error>([&] { g.compile({x}); }, {"at most once"}));
}

TEST_CASE("overlapping contributions are summed in one tensor, in whatever order they come",
          "[dynamic][views]") {
  constexpr std::int64_t n = 30000;
  for (bool const falling : {false, true}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {n});
    auto const part = [&](std::int64_t k) {
      return g.view(x, {.offset = {falling ? 3 - k : k}, .shape = {n - 3}});
    };
    auto y = part(0) * part(0);
    for (int k = 1; k < 4; ++k) y = y * 3.0 + part(k) * part(k);
    auto const dx = g.gradient({ct::sum(y)}, {x}).front();
    auto p = g.compile({dx});
    std::vector<double> at(n), expected(n);
    for (int i = 0; i < n; ++i) at[std::size_t(i)] = double(i % 17) - 8;
    for (int k = 0, power = 27; k < 4; ++k, power /= 3)
      for (int i = 0; i < n - 3; ++i) {
        auto const j = std::size_t(i + (falling ? 3 - k : k));
        expected[j] += 2 * power * at[j];
      }
    p.bind(x, at);
    p.run();
    CHECK(elements(p.value(dx)) == expected);
    p.run(); // from the beginning again
    CHECK(elements(p.value(dx)) == expected);
    if (!falling) CHECK(p.workspace_bytes() < 2 * n * 8); // four terms, each as large as x
  }
}

TEST_CASE("windows of every shape are summed in place", "[dynamic][views]") {
  std::uint32_t state = 7;
  auto const below = [&](std::int64_t n) {
    state = state * 1664525u + 1013904223u;
    return std::int64_t(state >> 8) % n;
  };
  for (int trial = 0; trial < 60; ++trial) {
    std::int64_t const rows = 1 + below(60), columns = 1 + below(90);
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {rows, columns});
    auto total = ct::sum(x);
    std::vector<double> at(std::size_t(rows * columns)), expected(at.size(), 1), second(at.size(), 0);
    for (double& v : at) v = double(below(9)) - 4;
    expr<double> before;
    std::int64_t shape[2]{};
    std::int64_t const count = 2 + below(6), kind = below(3);
    for (std::int64_t k = 0; k < count; ++k) {
      if (k == 0 || kind == 0) {
        shape[0] = 1 + below(rows);
        shape[1] = kind == 1 ? columns : 1 + below(columns);
      }
      std::int64_t const step = kind == 2 && shape[1] * 2 <= columns ? 2 : 1;
      std::int64_t const i = below(rows - shape[0] + 1), j = below((columns - 1) / step - shape[1] + 2);
      auto const v = g.view(x, {.offset = {i, j}, .shape = {shape[0], shape[1]}, .stride = {columns, step}});
      auto const seen = [&](auto visit) {
        for (std::int64_t a = 0; a < shape[0]; ++a)
          for (std::int64_t b = 0; b < shape[1]; ++b) visit(std::size_t((i + a) * columns + (j + b) * step));
      };
      auto y = v * v;
      if (k > 0 && kind == 1) y = y + 2.0 * before; // terms of one step
      total = total + ct::sum(y) * double(k + 1);
      double weight = double(k + 1);
      if (kind == 1)
        for (std::int64_t m = k + 1, power = 2; m < count; ++m, power *= 2) weight += double(power * (m + 1));
      seen([&](std::size_t e) { expected[e] += 2 * weight * at[e]; });
      seen([&](std::size_t e) { second[e] += 2 * weight; });
      before = y;
    }
    auto const dx = g.gradient({total}, {x}).front();
    auto const again = g.gradient({ct::sum(dx * dx)}, {x}).front(); // reads the first one, too
    auto p = trial % 2 == 0 ? g.compile({total, dx, again}) : g.compile({dx});
    p.bind(x, at);
    p.run();
    CAPTURE(trial, rows, columns, count, kind);
    CHECK(elements(p.value(dx)) == expected);
    if (trial % 2 != 0) continue;
    for (std::size_t e = 0; e < at.size(); ++e) second[e] *= 2 * expected[e];
    CHECK(elements(p.value(again)) == second);
  }
}

} // namespace

TEST_CASE("the offset of a view counts steps of its stride", "[dynamic][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {10});
  auto const even = g.view(x, {.offset = {2}, .shape = {3}, .stride = {2}}) * 1.0;
  auto const odd = g.view(g.view(x, {.offset = {3}, .shape = {7}}), {.shape = {3}, .stride = {2}}) * 1.0;
  std::vector<double> const at{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> from_four(3), from_three(3);
  auto p = g.compile({even, odd});
  p.bind(x, at);
  p.bind(even, from_four);
  p.bind(odd, from_three);
  p.run();
  CHECK(from_four == std::vector<double>{4, 6, 8});
  CHECK(from_three == std::vector<double>{3, 5, 7});
}

namespace {

/// The gradients of `y` in an m of 2 x 2 and in s, against differences.
template <class F> void check_gradients(char const* name, F const& f) {
  CAPTURE(name);
  ct::dynamic::graph g;
  auto const m = g.input<double>("m", {2, 2}), s = g.input<double>("s", {});
  auto const y = f(g, m, s);
  auto const d = g.gradient({y}, {m, s});
  auto p = g.compile({y, d[0], d[1]});
  std::vector<double> at{.3, -.4, .5, .6, .7};
  auto const run = [&] {
    p.bind(m, std::vector<double>(at.begin(), at.begin() + 4));
    p.bind(s, at[4]);
    p.run();
    return double(p.value(y));
  };
  (void)run();
  std::vector<double> slopes = elements(p.value(d[0]));
  slopes.push_back(double(p.value(d[1])));
  for (std::size_t k = 0; k < at.size(); ++k) {
    double const h = 1e-6, before = at[k];
    at[k] = before + h;
    double const up = run();
    at[k] = before - h;
    double const down = run();
    at[k] = before;
    CAPTURE(k);
    CHECK(slopes[k] == Approx((up - down) / (2 * h)).epsilon(1e-7).margin(1e-8));
  }
}

} // namespace

TEST_CASE("values of a body that are read only by views of all their elements have gradients", "[dynamic][views]") {
  auto const flat = [](auto& g, auto const& x) { return g.view(x, {.shape = {4}, .stride = {1}}); };
  auto const turned = [](auto& g, auto const& x) { return g.view(x, {.shape = {2, 2}, .stride = {1, 2}}); };
  auto const column = [](auto& g, auto const& row) { return g.view(row, {.shape = {2, 1}, .stride = {1, 1}}); };
  auto const same = [](auto a) { return a; };
  check_gradients("captured by a branch, flattened", [&](auto& g, auto m, auto s) {
    auto const c = g.constant(std::vector<double>{1, 2, 3, 4});
    return ct::cond(s < 1.0, [&](auto a) { return a * a + ct::sum(ct::exp(flat(g, m)) * c); }, same)(s);
  });
  check_gradients("captured by a branch, transposed, inside and outside", [&](auto& g, auto m, auto s) {
    return ct::cond(s < 1.0, [&](auto a) { return a * ct::sum(ct::sin(turned(g, m)) * m); }, same)(s) + ct::sum(turned(g, m) * m);
  });
  check_gradients("carried, flattened", [&](auto& g, auto m, auto s) {
    return ct::sum(ct::for_loop(3, [&](auto, auto a) { return ct::reshape(ct::sin(flat(g, a)) * 2.0 + s, {2, 2}); }, m));
  });
  check_gradients("carried, transposed", [&](auto& g, auto m, auto s) {
    return ct::sum(ct::for_loop(3, [&](auto, auto a) { return ct::sin(turned(g, a)) * s; }, m) * m);
  });
  check_gradients("rows of a scan as columns", [&](auto& g, auto m, auto s) {
    auto const [last, all] = ct::scan([&](auto a, auto row) { return std::pair(a * 1.5, ct::sum(ct::exp(column(g, row)) * a)); }, s, m);
    return ct::sum(all) + last;
  });
  check_gradients("rows of a map as columns", [&](auto& g, auto m, auto s) {
    return ct::sum(ct::map([&](auto row) { return ct::sum(ct::exp(column(g, row)) * s); }, m));
  });
}
