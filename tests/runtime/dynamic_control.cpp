// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

// Loops and branches of dynamic graphs: the cases with their numbers, what surrounds them, and what is refused.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

inline constexpr auto five_times = [](auto i, auto const&...) { return i < 5; };

double derivative(std::function<double(double)> const& f, double x, double h = 1e-5) {
  return (f(x + h) - f(x - h)) / (2 * h);
}

TEST_CASE("a loop runs five times and leaves its initial values unchanged", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y"), z0 = g.input<double>("z0");
  auto const powers = ct::while_loop(five_times, [&](auto, auto z) { return y * z; }, g.constant(1.0)) * x;
  auto const z1 = ct::while_loop(five_times, [&](auto, auto z) { return z * x; }, z0);
  auto const z3 = z1 * y + z0;
  auto p = g.compile({powers, z3});
  p.bind(x, 0.34);
  p.bind(y, 1.11);
  p.bind(z0, 1.0);
  p.run();
  CHECK(double(p.value(powers)) == Approx(.5729198));
  p.bind(x, 0.92);
  p.bind(y, 3.2);
  p.bind(z0, 1.2);
  p.run();
  CHECK(double(p.value(z3)) == Approx(3.7308730));
}

TEST_CASE("a count may have either integer type", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const few = g.input<std::int32_t>("few");
  auto const y = ct::for_loop(few, [&](auto, auto z) { return z * x + 1.; }, x);
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({y, dx});
  p.bind(x, 2.);
  p.bind(few, std::int32_t{3});
  p.run();
  CHECK(double(p.value(y)) == 23); // x^4 + x^2 + x + 1
  CHECK(double(p.value(dx)) == 37);
}

// A mean of rows, the sum of their squares, and a count, whose first values are no expressions of the graph.
inline constexpr auto moments = [](auto x) {
  auto const row = [](auto carry, auto r) {
    auto const [sum, squares, count] = carry;
    return std::pair(std::tuple(sum + r, squares + ct::sum(r * r), count + 1), squares);
  };
  auto const [last, before] = ct::scan(row, std::tuple(ct::zeros<double, 3>(), 0.0, 0), x);
  auto const [sum, squares, count] = last;
  auto const halved = ct::for_loop(
      3, [end = sum](auto, auto state) { return std::tuple(0.5 * std::get<0>(state) + end, std::get<1>(state) + 1); },
      std::tuple(ct::ones<double, 3>(), 0 * count + 2));
  return ct::sum(std::get<0>(halved) * sum) + squares * ct::convert<double>(count * std::get<1>(halved)) + ct::sum(before);
};

TEST_CASE("trees of carried values may start from constants and numbers", "[dynamic][control]") {
  ct::tensor<double, 4, 3> x;
  for (int i = 0; i < 12; ++i) x.data()[i] = 0.25 * i - 1;
  auto const [value, dx] = ct::value_and_grad(moments)(x);
  ct::dynamic::graph g;
  auto const a = g.input<double>("x", {4, 3});
  auto const y = moments(a);
  auto const da = g.gradient({y}, {a}).front();
  auto p = g.compile({y, da});
  p.bind(a, x);
  p.run();
  CHECK(static_cast<double>(p.value(y)) == Approx(value));
  CHECK(value > 100);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) CHECK(p.value(da)(i, j) == Approx(dx(i, j)));
}

TEST_CASE("carried values may be crossed and chained", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a"), b = g.input<double>("b"), c = g.input<double>("c");
  auto const [x, y] = ct::for_loop(3, [](auto, auto u, auto v) { return std::tuple(v, u); }, a, b);
  auto const [p0, p1, p2] =
      ct::for_loop(2, [&](auto, auto u, auto v, auto w) { return std::tuple(v, w, u * v * a); }, a, b, c);
  auto const d = g.gradient({p2 + p1}, {a, b, c});
  auto p = g.compile({x, y, p0, p1, p2, d[0], d[1], d[2]});
  p.bind(a, 2.0);
  p.bind(b, 3.0);
  p.bind(c, 5.0);
  p.run();
  CHECK(double(p.value(x)) == 3);
  CHECK(double(p.value(y)) == 2);
  CHECK(double(p.value(p0)) == 5);         // c
  CHECK(double(p.value(p1)) == 12);        // a b a
  CHECK(double(p.value(p2)) == 30);        // b c a
  CHECK(double(p.value(d[0])) == 15 + 12); // bc + 2ab
  CHECK(double(p.value(d[1])) == 10 + 4);  // ac + a^2
  CHECK(double(p.value(d[2])) == 6);
}

TEST_CASE("the gradient of a loop runs three times with one tape", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y"), v = g.input<double>("v");
  auto const z = ct::while_loop(five_times, [&](auto, auto s) { return ct::log(s * y); }, x);
  auto const u = z * v;
  auto const d = g.gradient({u}, {x, y, v});
  auto const power = ct::while_loop(five_times, [&](auto, auto s) { return s * y; }, x);
  auto const dp = g.gradient({power}, {x}).front();
  auto p = g.compile({u, d[0], d[1], d[2], dp});
  p.bind(x, 1.0);
  p.bind(y, 3.2);
  p.bind(v, .22);
  for (int k = 0; k < 3; ++k) {
    p.run();
    CHECK(double(p.value(u)) == Approx(.3487781));
    CHECK(double(p.value(d[0])) == Approx(.065682308));
    CHECK(double(p.value(d[1])) == Approx(.18960060));
    CHECK(double(p.value(d[2])) == Approx(1.5853552));
  }
  p.bind(y, 1.11);
  p.bind(x, .34);
  p.run();
  CHECK(double(p.value(dp)) == Approx(1.6850582));
}

TEST_CASE("one iteration is differentiated, and an unused loop gets no adjoint", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y"), v = g.input<double>("v");
  auto const z =
      ct::while_loop([](auto i, auto) { return i < 1; }, [&](auto, auto s) { return ct::log(s * y); }, x);
  auto const u = z * v;
  auto const before = g.get().regions.size();
  auto const dv = g.gradient({u}, {v}).front();
  CHECK(g.get().regions.size() == before);
  auto const dy = g.gradient({u}, {y}).front();
  auto p = g.compile({dv, dy});
  p.bind(x, 1.0);
  p.bind(y, 3.2);
  p.bind(v, .22);
  p.run();
  CHECK(double(p.value(dy)) == Approx(.06875));
  CHECK(double(p.value(dv)) == Approx(std::log(3.2)));
}

TEST_CASE("a loop runs zero times, or as often as its data say", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), limit = g.input<double>("limit");
  auto const n = g.input<std::int64_t>("n");
  auto const y =
      ct::while_loop([&](auto, auto s) { return s < limit; }, [](auto, auto s) { return s * s; }, x);
  auto const t = ct::for_loop(n, [](auto i, auto s) { return s + ct::convert<double>(i); }, x);
  auto const dy = g.gradient({y}, {x}).front(), dt = g.gradient({t * t}, {x}).front();
  auto p = g.compile({y, dy, t, dt});
  auto const check = [&](double start, double end, std::int64_t count) {
    p.bind(x, start);
    p.bind(limit, end);
    p.bind(n, count);
    p.run();
    double s = start, ds = 1, sum = start;
    while (s < end) {
      ds *= 2 * s;
      s *= s;
    }
    for (std::int64_t i = 0; i < count; ++i) sum += double(i);
    CHECK(double(p.value(y)) == Approx(s));
    CHECK(double(p.value(dy)) == Approx(ds));
    CHECK(double(p.value(t)) == Approx(sum));
    CHECK(double(p.value(dt)) == Approx(2 * sum));
  };
  check(2, 1, 0);
  check(1.5, 100, 3);
  check(1.0001, 1e9, 40);
  check(3, 4, 1);
  check(2, 1, -5);
}

TEST_CASE("nested loops over matrices read the original values", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3, 3}), w = g.input<double>("w", {3, 3});
  auto const nested = ct::for_loop(
      3,
      [&](auto i, auto outer) {
        auto const inner = ct::for_loop(
            2,
            [&](auto j, auto s) { return ct::tanh(ct::matmul(w, s)) + ct::convert<double>(i * 2 + j) * x; },
            outer);
        return inner + outer * 0.5 + x;
      },
      x);
  auto const y = ct::sum(nested * nested);
  auto const d = g.gradient({y}, {x, w});
  auto p = g.compile({y, nested, d[0], d[1]});
  std::array<double, 9> data{}, weights{};
  for (std::size_t k = 0; k < 9; ++k) {
    data[k] = std::sin(double(k) + 1);
    weights[k] = .4 * std::cos(double(k));
  }
  p.bind(x, data);
  p.bind(w, weights);
  p.run();
  auto const plain = [](std::array<double, 9> const& a, std::array<double, 9> const& m) {
    std::array<double, 9> outer = a;
    for (int i = 0; i < 3; ++i) {
      std::array<double, 9> s = outer;
      for (int j = 0; j < 2; ++j) {
        std::array<double, 9> t{};
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t c = 0; c < 3; ++c) {
            for (std::size_t k = 0; k < 3; ++k) t[3 * r + c] += m[3 * r + k] * s[3 * k + c];
            t[3 * r + c] = std::tanh(t[3 * r + c]) + double(i * 2 + j) * a[3 * r + c];
          }
        s = t;
      }
      for (std::size_t k = 0; k < 9; ++k) outer[k] = s[k] + outer[k] * .5 + a[k];
    }
    double sum = 0;
    for (double const v : outer) sum += v * v;
    return sum;
  };
  CHECK(double(p.value(y)) == Approx(plain(data, weights)).epsilon(1e-12));
  for (std::size_t k = 0; k < 9; ++k) {
    auto const in = [&](bool weight) {
      return derivative(
          [&](double v) {
            auto a = data, m = weights;
            (weight ? m : a)[k] = v;
            return plain(a, m);
          },
          weight ? weights[k] : data[k]);
    };
    CHECK(p.value(d[0])[static_cast<std::int64_t>(k)] == Approx(in(false)).epsilon(1e-6));
    CHECK(p.value(d[1])[static_cast<std::int64_t>(k)] == Approx(in(true)).epsilon(1e-6));
  }
}

/// 0 below 0, x below 1, x/2 + 1/2 below 2, then 3/2.
auto piecewise(expr<double> const& x) {
  auto const index =
      ct::select(x < 0.0, expr<std::int32_t>(0),
                 ct::select(x < 1.0, expr<std::int32_t>(-1),
                            ct::select(x < 2.0, expr<std::int32_t>(1), expr<std::int32_t>(2))));
  return ct::case_of(
      index, [](auto) { return 0.0; }, [](auto s) { return .5 * s + .5; }, [](auto) { return 1.5; })(x);
}

TEST_CASE("a piecewise function of four branches has its value and gradient", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = piecewise(x);
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({y, dx});
  double const at[]{-1, .76, 1.226, 2.1}, values[]{0, .76, 1.113, 1.5}, slopes[]{0, 1, .5, 0};
  for (int k = 0; k < 4; ++k) {
    p.bind(x, double(at[k]));
    p.run();
    CHECK(double(p.value(y)) == Approx(values[k]));
    CHECK(double(p.value(dx)) == Approx(slopes[k]));
  }
}

TEST_CASE("one of five arithmetic branches is selected", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const index = ct::select(
      x < 0.0, expr<std::int64_t>(0),
      ct::select(x < 1.0, expr<std::int64_t>(7),
                 ct::select(x < 2.0, expr<std::int64_t>(1),
                            ct::select(x > 1000.0, expr<std::int64_t>(3), expr<std::int64_t>(2)))));
  auto const y = ct::case_of(
      index, [](auto s) { return ct::exp(s); }, [](auto s) { return ct::log(s); },
      [](auto s) { return 1.0 / s; }, [](auto s) { return 1.1 * s; })(x);
  auto p = g.compile({y});
  double const at[]{-2.2, 1.1, .9, 2.2, 1001}, values[]{.1108032, .0953102, .9, .4545455, 1101.1};
  for (int k = 0; k < 5; ++k) {
    p.bind(x, double(at[k]));
    p.run();
    CHECK(double(p.value(y)) == Approx(values[k]));
  }
}

TEST_CASE("branches in loops have their values and gradients", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::for_loop(4, [](auto, auto s) { return piecewise(s); }, x) * .3;
  auto const z = ct::for_loop(2, [](auto, auto s) { return piecewise(s * .8); }, x);
  auto const dy = g.gradient({y}, {x}).front();
  auto p = g.compile({y, dy, z});
  p.bind(x, 1.226);
  p.run();
  CHECK(double(p.value(y)) == Approx((1 + .226 * .0625) * .3));
  CHECK(double(p.value(dy)) == Approx(.0625 * .3));
  p.bind(x, .8);
  p.run();
  CHECK(double(p.value(y)) == Approx(.24));
  CHECK(double(p.value(dy)) == Approx(.3));
}

TEST_CASE("vectors bypass a branch, or pass through a layer", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2}), w = g.input<double>("w", {2, 2}),
             v = g.input<double>("v", {2, 2});
  auto const index = g.input<std::int32_t>("index");
  auto const dense = [](auto m, auto a) { return ct::relu(ct::sum(m * a, ct::axes<1>)); };
  auto const y =
      ct::case_of(index, [&](auto a) { return dense(w, a); }, [&](auto a) { return dense(v, a) + x; })(x);
  auto const d = g.gradient({ct::sum(y)}, {x, w, v});
  auto p = g.compile({y, d[0], d[1], d[2]});
  p.bind(x, {-1.0, 10.0});
  p.bind(w, std::array<double, 4>{1, 2, 3, 4});
  p.bind(v, std::array<double, 4>{5, 6, 7, -8});
  auto const row = [&](expr<double> const& e) {
    auto const r = p.value(e);
    return std::vector<double>(r.begin(), r.end());
  };
  p.bind(index, -1);
  p.run();
  CHECK(row(y) == std::vector<double>{-1, 10});
  CHECK(row(d[0]) == std::vector<double>{1, 1});
  CHECK(row(d[1]) == std::vector<double>{0, 0, 0, 0});
  p.bind(index, 0);
  p.run();
  CHECK(row(y) == std::vector<double>{19, 37});
  CHECK(row(d[0]) == std::vector<double>{4, 6});
  CHECK(row(d[1]) == std::vector<double>{-1, 10, -1, 10});
  p.bind(index, 1);
  p.run();
  CHECK(row(y) == std::vector<double>{54, 10});
  CHECK(row(d[0]) == std::vector<double>{6, 7});
  CHECK(row(d[2]) == std::vector<double>{-1, 10, 0, 0});
  CHECK(row(d[1]) == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("cond selects one of two branches, with as many values as they return", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const [a, b] = ct::cond(
      x > 1.0, [](auto s) { return std::tuple(s * s, s > 3.0); },
      [&](auto s) { return std::tuple(s - x, false); })(x);
  auto const da = g.gradient({a}, {x}).front();
  static_assert(std::is_same_v<decltype(b), expr<bool> const>);
  auto p = g.compile({a, b, da});
  for (double const t : {.5, 2.0, 4.0}) {
    p.bind(x, double(t));
    p.run();
    CHECK(double(p.value(a)) == (t > 1 ? t * t : 0));
    CHECK(bool(p.value(b)) == (t > 3));
    CHECK(double(p.value(da)) == (t > 1 ? 2 * t : 0));
  }
}

template <template <class, ct::extent...> class T> struct weighted {
  BOOST_HANA_DEFINE_STRUCT(weighted, (T<double>, weight), (T<double, 3>, row));
};
template <class T, ct::extent...> using run_time = expr<T>;
// Trees of expressions and numbers as arguments and results of nested branches, in a loop that carries trees. One index passes its
// arguments through.
inline constexpr auto of_trees = [](auto n, auto x, auto v) {
  auto const step = [&](auto i, auto state) {
    auto const [s, p] = ct::case_of(
        i - 1, [](auto q, auto) { return std::tuple(q[1], std::tuple(q[0], 0.5)); },
        [&](auto q, auto r) {
          auto const turned = ct::cond(
              ct::sum(v) > 1.0, [](auto u) { return std::array{std::get<1>(u) * std::get<0>(u), std::get<0>(u)}; },
              [](auto u) { return std::array{std::get<0>(u), std::get<1>(u)}; })(std::pair(q[0], std::get<1>(r)));
          return std::tuple(turned[0] * x, std::tuple(turned[1], std::get<0>(r)));
        })(state, std::tuple(3.0, ct::sum(v * v)));
    return std::array{s * 0.5 + std::get<0>(p), ct::sin(std::get<1>(p)) + s};
  };
  auto const last = ct::for_loop(n, step, std::array{x, ct::sum(v)});
  return last[0] * last[1] + last[1];
};

TEST_CASE("branches take and return trees, as those of traced functions", "[dynamic][control]") {
  for (double const first : {0.3, 0.9}) {
    ct::tensor<double, 3> const data{first, -.2, .4};
    auto const [value, slopes] = ct::value_and_grad<1, 2>(of_trees)(std::int64_t{4}, .7, data);
    auto const& [dx, dv] = slopes;
    ct::dynamic::graph g;
    auto const x = g.input<double>("x"), v = g.input<double>("v", {3});
    auto const n = g.input<std::int64_t>("n");
    auto const y = of_trees(n, x, v);
    auto const d = g.gradient({y}, {x, v});
    auto p = g.compile({y, d[0], d[1]});
    p.bind(n, std::int64_t{4});
    p.bind(x, .7);
    p.bind(v, data);
    p.run();
    CHECK(double(p.value(y)) == Approx(value));
    CHECK(double(p.value(d[0])) == Approx(dx));
    for (int k = 0; k < 3; ++k) CHECK(p.value(d[1])[k] == Approx(dv(k)));
  }
}

TEST_CASE("branches take and return structs and arrays, and join the graph of their index", "[dynamic][control]") {
  using model = weighted<run_time>;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), v = g.input<double>("v", {3});
  auto const big = x > 1.0;
  auto const m = ct::cond(
      big, [](auto a) { return model{a.weight * ct::sum(a.row), a.row}; }, [](auto a) { return model{a.weight, a.row * 2.0}; })(model{x, v});
  auto const [a, b] = ct::cond(big, [](auto s, auto t) { return std::array{s, t}; }, [](auto s, auto t) { return std::array{t, s}; })(x, x * x);
  auto const [c, d] = ct::cond(big, [] { return std::tuple(1.0, 2.0); }, [&] { return std::array{x, a}; })();
  auto const [e] = ct::cond(expr<bool>(true), [](auto s) { return s; }, [](auto) { return std::tuple(0.0); })(std::tuple(x));
  auto p = g.compile({m.weight, m.row, a, b, c, d, e});
  for (double const t : {0.5, 2.0}) {
    p.bind(x, double(t));
    p.bind(v, std::vector<double>{1, 2, 4});
    p.run();
    CHECK(double(p.value(m.weight)) == (t > 1 ? 7 * t : t));
    CHECK(p.value(m.row)[2] == (t > 1 ? 4 : 8));
    CHECK(double(p.value(a)) == (t > 1 ? t : t * t));
    CHECK(double(p.value(b)) == (t > 1 ? t * t : t));
    CHECK(double(p.value(c)) == (t > 1 ? 1 : t));
    CHECK(double(p.value(d)) == (t > 1 ? 2 : t * t));
    CHECK(double(p.value(e)) == t);
  }
}

TEST_CASE("the index of branches may be a number, which joins the graph of the arguments", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::cond(expr<bool>(true), [](auto s) { return s * 3.0; }, [](auto) { return 0.0; })(x);
  auto const z = ct::case_of(expr<std::int32_t>(7), [](auto s) { return s * 3.0; })(x);
  auto p = g.compile({y, z});
  p.bind(x, 0.5);
  p.run();
  CHECK(double(p.value(y)) == 1.5);
  CHECK(double(p.value(z)) == 0.5);
  CHECK_THROWS_AS(ct::cond(expr<bool>(true), [](auto s) { return s; }, [](auto) { return 0.0; })(1.0), ct::graph_error);
}

TEST_CASE("branches of trees widen half precision where one of them computes", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const i = g.input<std::int32_t>("i");
  auto const h = g.input<ct::float16>("h", {2});
  auto const [same] = ct::case_of(i, [](auto a) { return a; })(std::array{h});
  auto const [wide] = ct::case_of(i, [](auto a) { return a; }, [](auto a) { return std::array{a[0] * 2.0f}; })(std::array{h});
  static_assert(std::is_same_v<decltype(same), expr<ct::float16> const> && std::is_same_v<decltype(wide), expr<float> const>);
  auto p = g.compile({wide});
  p.bind(h, std::vector<ct::float16>{ct::float16(1.5f), ct::float16(-2.f)});
  for (std::int32_t const k : {-1, 0, 1}) {
    p.bind(i, std::int32_t(k));
    p.run();
    CHECK(p.value(wide)[1] == (k == 1 ? -4 : -2));
  }
}

TEST_CASE("branches of trees with other shapes are refused, and nothing is left in the graph", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), v = g.input<double>("v", {3});
  auto const i = g.input<std::int32_t>("i");
  auto const before = g.get().nodes.size();
  CHECK_THROWS_WITH(ct::case_of(i, [](auto a) { return std::get<0>(a); }, [](auto a) { return std::get<1>(a); })(std::tuple(x, v)),
                    Catch::Contains("all branches must give the same element types and shapes (double [3] and double [])") &&
                        Catch::Contains("dynamic_control.cpp"));
  CHECK(g.get().nodes.size() == before);
}

TEST_CASE("second gradients pass through loops in branches in loops", "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), n = g.input<double>("n");
  auto const f = [&](auto const& start) {
    return ct::while_loop([&](auto i, auto) { return ct::convert<double>(i) < n; },
                          [&](auto, auto s) {
                            return ct::cond(
                                s > 1.0,
                                [&](auto t) {
                                  return ct::for_loop(
                                      2, [&](auto, auto u) { return ct::sin(u * x) + u * .5; }, t);
                                },
                                [&](auto t) { return t * t + x; })(s);
                          },
                          start);
  };
  auto const y = f(x);
  auto const d = g.gradient({y}, {x}).front();
  auto const dd = g.gradient({d}, {x}).front();
  auto const plain = [](double at, double count) {
    double s = at;
    for (int i = 0; i < count; ++i) {
      if (s > 1)
        for (int j = 0; j < 2; ++j) s = std::sin(s * at) + s * .5;
      else s = s * s + at;
    }
    return s;
  };
  auto p = g.compile({y, d, dd});
  for (double const count : {0.0, 1.0, 4.0, 7.0}) {
    p.bind(n, double(count));
    p.bind(x, .83);
    p.run();
    double const dy = derivative([&](double v) { return plain(v, count); }, .83, 1e-5);
    double const ddy = (plain(.83 + 1e-4, count) - 2 * plain(.83, count) + plain(.83 - 1e-4, count)) / 1e-8;
    CHECK(double(p.value(y)) == Approx(plain(.83, count)));
    CHECK(double(p.value(d)) == Approx(dy).epsilon(1e-6).margin(1e-8));
    CHECK(double(p.value(dd)) == Approx(ddy).epsilon(1e-4).margin(1e-4));
  }
}

template <class E, class F> bool refuses(F const& f, char const* words) {
  try {
    f();
  } catch (E const& e) {
    UNSCOPED_INFO(e.what());
    return std::string(e.what()).find(words) != std::string::npos;
  }
  return false;
}

TEST_CASE("an operand that does not fit a loop is refused, and nothing is left in the graph",
          "[dynamic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), s = g.input<double>("s");
  auto const good = ct::exp(x);
  auto const counts = [&] {
    auto const& at = g.get();
    return std::array<int, 6>{at.tensors.size(), at.nodes.size(),   at.ids.size(),
                              at.numbers.size(), at.regions.size(), at.shapes.size()};
  };
  auto const before = counts();
  CHECK(refuses<ct::shape_error>([&] { ct::for_loop(3, [&](auto, auto t) { return t + x; }, s); },
                                 "carried value"));
  CHECK(refuses<ct::shape_error>([&] { ct::for_loop(3, [&](auto, auto t) { return ct::matmul(t, x); }, s); },
                                 "matrices"));
  CHECK(refuses<ct::shape_error>(
      [&] { ct::while_loop([&](auto, auto t) { return t > 0.0; }, [](auto, auto t) { return t; }, x); },
      "one bool"));
  CHECK(refuses<ct::shape_error>(
      [&] { ct::cond(s > 0.0, [&](auto t) { return t + x; }, [](auto t) { return t; })(s); }, "branches"));
  auto const index = ct::convert<std::int32_t>(s);
  CHECK(refuses<ct::shape_error>([&] { ct::case_of(index, [&](auto t) { return t + x; })(s); }, "passed through"));
  struct mine {};
  CHECK_THROWS_AS(ct::for_loop(3, [&](auto, auto t) -> expr<double> { return throw mine(), t; }, s), mine);
  expr<double> leaked;
  (void)ct::for_loop(3, [&](auto, auto t) { return leaked = t * 2.0; }, s);
  CHECK(refuses<ct::graph_error>([&] { (void)(leaked + 1.0); }, "outside of the loop"));
  CHECK(refuses<ct::graph_error>([&] { g.compile({leaked}); }, "outside of the loop"));
  CHECK(refuses<ct::graph_error>([&] { ct::for_loop(3, [&](auto, auto t) { return t + leaked; }, s); },
                                 "outside of the loop"));
  auto const after = counts();
  CHECK(after[4] == before[4] + 1); // the one loop that was made
  CHECK(ct::exp(x).id() == good.id());
}

} // namespace
