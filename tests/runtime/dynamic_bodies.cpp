// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

// Views, writes and gradients in the bodies of loops and branches of dynamic graphs. The witness of a loop is the same body
// called once for each iteration in the graph itself.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;
using ct::dynamic::graph;

std::vector<double> elements(ct::dynamic::values<double> const& v) { return {v.begin(), v.end()}; }

/// One iteration, of a graph with the inputs x (4) and w (4), x being carried.
using body = std::function<expr<double>(graph&, expr<double> const& w, expr<std::int64_t> const& i, expr<double> const& s)>;

struct outcome {
  std::vector<double> value, dx, dw, ddx, ddw;
};
outcome run(body const& f, int trips, bool as_loop, std::vector<double> const& x0, std::vector<double> const& w0,
            ct::detail::tape_options const& tape = {}, bool second = true) {
  graph g;
  auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
  expr<double> y = x;
  if (as_loop) y = ct::for_loop(trips, [&](auto i, auto s) { return f(g, w, i, s); }, x);
  else
    for (int i = 0; i < trips; ++i) y = f(g, w, g.constant(std::int64_t{i}), y);
  auto const loss = ct::sum(ct::sin(y));
  ct::dynamic::gradient_options const options{ct::unreachable::zeros, tape, {}};
  auto const d = g.gradient({loss}, {x, w}, {}, options);
  std::vector<any_expr> results{y, d[0], d[1]};
  if (second) {
    auto const dd = g.gradient({ct::sum(d[0] * ct::cos(x)) + ct::sum(d[1] * w)}, {x, w}, {}, options);
    results.insert(results.end(), {dd[0], dd[1]});
  }
  auto p = g.compile(results);
  p.bind(x, x0);
  p.bind(w, w0);
  p.run();
  outcome o{elements(p.value(y)), elements(p.value(d[0])), elements(p.value(d[1])), {}, {}};
  if (second) {
    o.ddx = elements(p.value(results[3].as<double>()));
    o.ddw = elements(p.value(results[4].as<double>()));
  }
  return o;
}

void check_near(std::vector<double> const& a, std::vector<double> const& b, double tolerance = 1e-12) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    CHECK(a[k] == Approx(b[k]).epsilon(tolerance).margin(tolerance));
}

std::vector<double> const x0{.1, .2, .3, .4}, w0{1., -.5, .25, .75};

/// The loop against the same body called iteration by iteration, or against another one, and its gradient against central
/// differences.
void check_body(body const& f, std::vector<int> const& all_trips = {0, 1, 3}, body const& other = {}) {
  for (int const trips : all_trips) {
    outcome const loop = run(f, trips, true, x0, w0), straight = run(other ? other : f, trips, false, x0, w0);
    if (other) check_near(loop.value, straight.value);
    else CHECK(loop.value == straight.value);
    check_near(loop.dx, straight.dx);
    check_near(loop.dw, straight.dw);
    check_near(loop.ddx, straight.ddx);
    check_near(loop.ddw, straight.ddw);
    auto const loss = [&](std::vector<double> const& x, std::vector<double> const& w) {
      double sum = 0;
      for (double const v : run(f, trips, true, x, w, {}, false).value) sum += std::sin(v);
      return sum;
    };
    for (std::size_t k = 0; k < 4; ++k) {
      double const h = 1e-5;
      std::vector<double> up = x0, down = x0;
      up[k] += h;
      down[k] -= h;
      CHECK(loop.dx[k] == Approx((loss(up, w0) - loss(down, w0)) / (2 * h)).epsilon(1e-6).margin(1e-8));
      up = down = w0;
      up[k] += h;
      down[k] -= h;
      CHECK(loop.dw[k] == Approx((loss(x0, up) - loss(x0, down)) / (2 * h)).epsilon(1e-6).margin(1e-8));
    }
  }
}

/// Halves of s change places, one of them changed, through views and a tensor of the body.
expr<double> changed_halves(graph& g, expr<double> const& w, expr<double> const& s) {
  auto const t = g.tensor<double>("t", {4});
  auto const low = g.view(t, {.shape = {2}}), high = g.view(t, {.offset = {2}, .shape = {2}});
  g.write(low, high + g.view(s, {.offset = {2}, .shape = {2}})); // read before it is written
  g.write(high, ct::sin(g.view(s, {.shape = {2}})) * g.view(w, {.offset = {1}, .shape = {2}}));
  return t;
}

TEST_CASE("a body views carried and captured values, and writes to a tensor of its own",
          "[dynamic][bodies]") {
  check_body([](graph& g, auto const& w, auto const&, auto const& s) { return changed_halves(g, w, s); });
}

TEST_CASE("a body has views of views, strides, and elements that no node writes", "[dynamic][bodies]") {
  check_body([](graph& g, auto const& w, auto const&, auto const& s) {
    auto const t = g.tensor<double>("t", {4}), nothing = g.tensor<double>("nothing", {4});
    auto const odd = g.view(s, {.shape = {2}, .stride = {2}});
    g.write(g.view(t, {.shape = {2}, .stride = {2}}), odd * 2.0);
    g.write(g.view(t, {.offset = {1}, .shape = {1}, .stride = {1}}), g.view(odd, {.offset = {1}, .shape = {1}}));
    return t + w * s + nothing;
  });
}

TEST_CASE("a body takes a gradient with respect to a carried value", "[dynamic][bodies]") {
  check_body([](graph& g, auto const& w, auto const&, auto const& s) { // a step of descent
    auto const energy = ct::sum(ct::cos(s) * w + s * s * s * s);
    return s - 0.1 * g.gradient({energy}, {s}).front();
  });
}

TEST_CASE("a body takes a gradient with respect to a captured value along every path", "[dynamic][bodies]") {
  // not through what earlier iterations carried: that is what an iteration begins with
  check_body(
      [](graph& g, auto const& w, auto const& i, auto const& s) {
        auto const energy = ct::sum(ct::sin(w) * s * s) + ct::convert<double>(i) * ct::sum(w);
        return ct::tanh(s - 0.1 * g.gradient({energy}, {w}).front());
      },
      {0, 1, 3},
      [](graph&, auto const& w, auto const& i, auto const& s) {
        return ct::tanh(s - 0.1 * (ct::cos(w) * s * s + ct::convert<double>(i)));
      });
}

/// Element i of a tensor by an index that is computed: no row of an iteration.
expr<double> element(expr<double> const& x, expr<std::int64_t> const& i) { return ct::sum(ct::gather(x, ct::reshape(i, {1}))); }

TEST_CASE("a body takes a gradient with respect to a tensor of which it reads a row in each iteration", "[dynamic][bodies]") {
  auto const step = [](graph& g, auto const& w, auto const& s, expr<double> const& first, expr<double> const& next) {
    auto const energy = ct::sin(first) * next * next + first * ct::sum(w) + next * ct::sum(s);
    auto const d = g.gradient({energy}, {w}).front();
    return ct::tanh(s - 0.1 * d - 0.01 * g.gradient({ct::sum(d * d)}, {w}).front());
  };
  auto const check = [](body const& rows, body const& elements_of) { // (iteration by iteration, w would have paths through s)
    for (int const trips : {0, 1, 3}) {
      outcome const a = run(rows, trips, true, x0, w0), b = run(elements_of, trips, true, x0, w0);
      check_near(a.value, b.value);
      check_near(a.dx, b.dx);
      check_near(a.dw, b.dw);
      check_near(a.ddx, b.ddx);
      check_near(a.ddw, b.ddw);
    }
  };
  check([&](graph& g, auto const& w, auto const& i, auto const& s) { return step(g, w, s, w(i), w(i + 1)); },
        [&](graph& g, auto const& w, auto const& i, auto const& s) { return step(g, w, s, element(w, i), element(w, i + 1)); });
  // in a branch and an inner loop, rows of a computed tensor, of the outer and the inner iteration
  auto const nested = [](auto const& read) {
    return [read](graph& g, auto const& w, auto const& i, auto const& s) {
      auto const squares = w * w;
      auto const inner = ct::for_loop(3, [&](auto j, auto t) {
        return ct::cond(ct::sum(t) < 100.0, [&](auto u) {
          auto const energy = ct::sum(u) * read(squares, i) * read(squares, j + 1) * read(w, j);
          return u + 0.1 * g.gradient({energy}, {w}).front();
        }, [](auto u) { return u; })(t);
      }, s);
      return ct::sin(inner);
    };
  };
  check(nested([](auto const& x, auto const& i) { return x(i); }), nested(&element));
  check_body([&](graph& g, auto const& w, auto const& i, auto const& s) { return s + g.gradient({ct::square(w(i))}, {w}).front(); }, {3},
             [&](graph&, auto const& w, auto const& i, auto const& s) {
               return s + 2.0 * w * ct::convert<double>(ct::cumsum(w * 0.0 + 1.0, 0) == ct::convert<double>(i) + 1.0);
             });
}

TEST_CASE("a body takes second gradients, also of values written through views", "[dynamic][bodies]") {
  check_body(
      [](graph& g, auto const& w, auto const&, auto const& s) {
        auto const t = changed_halves(g, w, s);
        auto const d = g.gradient({ct::sum(t * t * t)}, {s}).front();
        auto const dd = g.gradient({ct::sum(d * w)}, {s}).front();
        return s - 0.1 * d - 0.01 * dd;
      },
      {0, 2});
}

/// What `inner` makes of x, of what `outer` makes of it, and of another input, in a loop of one iteration and without it.
template <class Outer, class Inner> void check_outer(Outer outer, Inner inner) {
  std::vector<std::vector<double>> results;
  for (bool const as_loop : {true, false}) {
    graph g;
    auto const x = g.input<double>("x", {4}), start = g.input<double>("start", {4});
    auto const z = outer(g, x);
    auto const one = [&](auto, auto s) { return inner(g, x, z, s); };
    expr<double> const y = as_loop ? ct::for_loop(1, one, start) : expr<double>(one(0, start));
    auto const d = g.gradient({ct::sum(y * y)}, {x, start});
    auto p = g.compile({y, d[0], d[1]});
    p.bind(x, x0);
    p.bind(start, w0);
    p.run();
    for (auto const& e : {y, d[0], d[1]}) results.push_back(elements(p.value(e)));
  }
  for (std::size_t k = 0; k < 3; ++k) check_near(results[k], results[3 + k]);
}

TEST_CASE("the outer gradient passes through a gradient in a body", "[dynamic][bodies]") {
  auto const inner = [](graph& g, auto const& x, auto const& z, auto const& s) {
    return s + g.gradient({ct::sum(z * z * s) + ct::sum(x)}, {x}).front();
  };
  SECTION("operations") {
    check_outer([](graph&, auto const& x) { return ct::sin(x) * x; }, inner);
  }
  SECTION("views, and pieces that are written") {
    check_outer([](graph& g, auto const& x) { return changed_halves(g, ct::cos(x), x); }, inner);
  }
  SECTION("a view of the value that is differentiated for") {
    check_outer([](graph& g, auto const& x) { return g.view(x, {.offset = {1}, .shape = {2}}); },
                [](graph& g, auto const& x, auto const& z, auto const& s) {
                  return s + g.gradient({ct::sum(z * z * z)}, {x}).front();
                });
  }
  SECTION("a loop") {
    check_outer(
        [](graph&, auto const& x) { return ct::for_loop(3, [&](auto, auto t) { return ct::sin(t) * x; }, x); }, inner);
  }
  SECTION("a branch") {
    check_outer(
        [](graph&, auto const& x) {
          return ct::cond(
              ct::sum(x) > 0, [&](auto t) { return ct::exp(t) * x; }, [&](auto t) { return t; })(ct::cos(x));
        },
        inner);
  }
  SECTION("a constant") {
    check_outer([](graph& g, auto const&) { return g.constant(3.0); },
                [](graph& g, auto const&, auto const& z, auto const& s) {
                  return s * g.gradient({ct::sum(ct::sin(z * s))}, {z}).front();
                });
  }
}

TEST_CASE("bodies in bodies take gradients with respect to values of each of them", "[dynamic][bodies]") {
  std::vector<std::vector<double>> results;
  for (bool const as_loop : {true, false}) {
    graph g;
    auto const x = g.input<double>("x", {4});
    auto const z = ct::sin(x);
    auto const outer = [&](auto, auto s) {
      auto const t = ct::cos(s) * z;
      if (as_loop)
        return ct::for_loop(
            2,
            [&](auto, auto r) {
              auto const d = g.gradient({ct::sum(t * t * r * z)}, {s, x, r, t});
              CHECK(g.gradient_of(x).id() == d[1].id());
              return r + 0.1 * d[0] + 0.2 * d[1] + 0.3 * d[2] + 0.4 * d[3];
            },
            s);
      expr<double> r = s;
      for (int k = 0; k < 2; ++k) {
        auto const ds = -2.0 * t * ct::sin(s) * z * r * z,
                   dx = (t * t * r + 2.0 * t * ct::cos(s) * r * z) * ct::cos(x);
        r = r + 0.1 * ds + 0.2 * dx + 0.3 * (t * t * z) + 0.4 * (2.0 * t * r * z);
      }
      return r;
    };
    expr<double> const y = as_loop ? ct::for_loop(2, outer, x) : expr<double>(outer(0, outer(0, x)));
    auto const d = g.gradient({ct::sum(y)}, {x}).front();
    auto const dd = g.gradient({ct::sum(d * d)}, {x}).front();
    CHECK_THROWS_WITH(g.gradient_of(y), Catch::Contains("must have been computed"));
    auto p = g.compile({y, d, dd});
    p.bind(x, x0);
    p.run();
    for (auto const& e : {y, d, dd}) results.push_back(elements(p.value(e)));
  }
  for (std::size_t k = 0; k < 3; ++k) check_near(results[k], results[3 + k]);
}

TEST_CASE("conditions use views and gradients", "[dynamic][bodies]") {
  graph g;
  auto const x = g.input<double>("x", {2}), w = g.input<double>("w");
  auto const f = [&](auto const& s) { return ct::sum(ct::exp(s) - s * w); }; // its minimum is at log w
  auto const steep = [&](auto, auto s) {
    return ct::max(ct::abs(g.view(g.gradient({f(s)}, {s}).front(), {.shape = {2}}))) > 1e-12;
  };
  auto const y = ct::while_loop(
      steep, [&](auto, auto s) { return s - g.gradient({f(s)}, {s}).front() / ct::exp(s); }, x);
  auto const dw = g.gradient({ct::sum(y)}, {w}).front();
  auto p = g.compile({y, dw});
  p.bind(x, {0., 2.});
  p.bind(w, 3.0);
  p.run();
  CHECK(p.value(y)(0) == Approx(std::log(3.)));
  CHECK(p.value(y)(1) == Approx(std::log(3.)));
  CHECK(double(p.value(dw)) == Approx(2 / 3.));
}

TEST_CASE("branches use views, write in pieces and take gradients", "[dynamic][bodies]") {
  for (std::int64_t const which : {0, 1, 2}) {
    graph g;
    auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
    auto const n = g.input<std::int64_t>("n");
    auto const first = [&](auto s) { return changed_halves(g, w, s); };
    auto const second = [&](auto s) { return g.gradient({ct::sum(ct::sin(s * x) * w)}, {x}).front(); };
    auto const y = ct::case_of(n, first, second)(x * x); // s is x x, so that both of its ways count
    auto const right = which == 0 ? first(x * x) : which == 1 ? ct::cos(x * x * x) * 3.0 * x * x * w : x * x;
    auto const d = g.gradient({ct::sum(y * y)}, {x, w}), e = g.gradient({ct::sum(right * right)}, {x, w});
    auto p = g.compile({y, right, d[0], d[1], e[0], e[1]});
    p.bind(x, x0);
    p.bind(w, w0);
    p.bind(n, which);
    p.run();
    check_near(elements(p.value(y)), elements(p.value(right)));
    check_near(elements(p.value(d[0])), elements(p.value(e[0])));
    check_near(elements(p.value(d[1])), elements(p.value(e[1])));
  }
}

TEST_CASE("checkpointed bodies, tape limits and pullbacks give the same values", "[dynamic][bodies]") {
  body const plain = [](graph& g, auto const& w, auto const&, auto const& s) {
    auto const t = changed_halves(g, w, s);
    return s - 0.1 * g.gradient({ct::sum(t * t * t)}, {s}).front() + ct::tanh(t);
  };
  body const checkpointed = [&](graph& g, auto const& w, auto const& i, auto const& s) {
    return ct::checkpoint([&](auto r) { return plain(g, w, i, r); })(s);
  };
  outcome const right = run(plain, 5, true, x0, w0), again = run(checkpointed, 5, true, x0, w0),
                long_loop = run(plain, 30, true, x0, w0, {}, false),
                limited = run(plain, 30, true, x0, w0, {.limit = 16'000}, false);
  CHECK(right.value == again.value);
  CHECK(right.dx == again.dx);
  CHECK(right.dw == again.dw);
  check_near(right.ddx, again.ddx);
  check_near(right.ddw, again.ddw);
  CHECK(long_loop.dx == limited.dx);
  CHECK(long_loop.dw == limited.dw);
  for (int const trips : {0, 5}) {
    graph g;
    auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
    auto const y = ct::for_loop(trips, [&](auto i, auto s) { return plain(g, w, i, s); }, x);
    auto s = g.vjp({y}, {x, w});
    s.bind(x, x0);
    s.bind(w, w0);
    auto back = s.run();
    outcome const other = run(plain, trips, true, x0, w0);
    CHECK(elements(s.value(y)) == other.value);
    std::vector<double> dy;
    for (double const v : other.value) dy.push_back(std::cos(v));
    back.bind(y, dy);
    back.run();
    check_near(elements(back.value(x)), other.dx);
    check_near(elements(back.value(w)), other.dw);
  }
}

TEST_CASE("bodies of symbolic graphs use views and gradients", "[dynamic][bodies]") {
  graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({4}, "x");
  auto const last = s.tensor<double>({4}, "last");
  auto const inner = s.sub_graph("body");
  auto const goes_on = inner.tensor<bool>({}, "goes on"), next = inner.tensor<double>({4}, "next");
  inner.exec(ct::dynamic::command("below", [](ct::term i) { return i < 2; }), {inner.count()}, {goes_on});
  inner.exec(ct::dynamic::command::of<ct::op::sin>(), {x}, {next});
  inner.carry(next, x);
  inner.hookup(next, last);
  s.while_(inner, goes_on); // last = sin(sin(x))
  auto const a = g.expression<double>(x), b = g.expression<double>(last);
  auto const y = ct::for_loop(
      2, [&](auto, auto r) { return r * g.gradient({ct::sum(b * r)}, {a}).front(); }, a);
  // r1 = r0 (r0 b'), r2 = r1 (r1 b')
  auto const slope = ct::cos(ct::sin(a)) * ct::cos(a);
  auto const r1 = a * a * slope, r2 = r1 * r1 * slope;
  auto const d = g.gradient({ct::sum(y)}, {a}).front(), e = g.gradient({ct::sum(r2)}, {a}).front();
  auto p = g.compile({y, r2, d, e});
  p.bind(a, x0);
  p.run();
  check_near(elements(p.value(y)), elements(p.value(r2)));
  check_near(elements(p.value(d)), elements(p.value(e)));
}

TEST_CASE("invalid operations in a body are refused in one sentence, and the graph stays unchanged",
          "[dynamic][bodies]") {
  graph g;
  auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
  auto const around = g.tensor<double>("around", {4});
  auto const refused = [&](std::string const& words, std::function<void(expr<double>)> const& what) {
    auto const once = [&](auto s) {
      what(s);
      return s;
    };
    auto const positive = ct::sum(x) > 0;
    std::int32_t nodes = 0;
    for (int k = 0; k < 2; ++k) { // the second time all numbers stand already
      nodes = g.get().nodes.size();
      CHECK_THROWS_WITH(ct::for_loop(2, [&](auto, auto s) { return once(s); }, x), Catch::Contains(words));
      CHECK_THROWS_WITH(ct::cond(positive, once, once)(x), Catch::Contains(words));
    }
    CHECK(g.get().nodes.size() == nodes);
  };
  std::string const makes = "a tensor that its body creates with g.tensor";
  refused(makes, [&](auto) { g.write(around, 1.0); });
  refused(makes, [&](auto) { g.write(g.view(around, {.shape = {2}}), 1.0); });
  refused(makes, [&](auto s) { g.write(g.view(s, {.shape = {2}}), 1.0); });
  refused(makes, [&](auto) { g.write(g.view(w, {.shape = {2}}), 1.0); });
  refused("a computed value must not be written", [&](auto s) { g.write(s + w, 1.0); });
  refused("written at most once", [&](auto s) {
    auto const t = g.tensor<double>("t", {4});
    g.write(g.view(t, {.shape = {2}}), g.view(s, {.shape = {2}}));
    g.write(g.view(t, {.shape = {1}}), 1.0);
  });
  refused("must not be compiled or trained while", [&](auto s) { (void)g.compile({s}); });
  refused("must not be compiled or trained while", [&](auto) { (void)g.compile({x}); });
  refused("must not be compiled or trained while", [&](auto) { (void)g.vjp({x}, {w}); });
  refused("must not be compiled or trained while", [&](auto s) {
    (void)g.apply_gradients(ct::sgd{}, {x}, {s});
  });
  CHECK_THROWS_AS(g.gradient_of(x), ct::graph_error);

  expr<double> inside = x, mine = x;
  auto const y = ct::for_loop(
      2,
      [&](auto, auto s) {
        inside = s;
        mine = g.tensor<double>("mine", {4});
        CHECK_THROWS_AS(g.view(w, {.offset = {3}, .shape = {2}}), ct::shape_error);
        CHECK_THROWS_AS(g.gradient({s * w}, {w}), ct::error); // no scalar
        CHECK_THROWS_AS(g.gradient({ct::sum(s)}, {w}, {}, ct::unreachable::error), ct::unreachable_error);
        return s + g.gradient({ct::sum(s * w)}, {w}).front(); // and it goes on
      },
      x);
  std::string const left = "outside of the loop or branch that made it";
  CHECK_THROWS_WITH(g.view(inside, {.shape = {1}}), Catch::Contains(left));
  CHECK_THROWS_WITH(g.write(mine, 1.0), Catch::Contains(left));
  CHECK_THROWS_WITH(g.gradient({ct::sum(inside)}, {x}), Catch::Contains(left));
  CHECK_THROWS_WITH(g.gradient({ct::sum(y)}, {inside}), Catch::Contains(left));
  CHECK_THROWS_WITH(g.gradient_of(inside), Catch::Contains(left));
  auto p = g.compile({y});
  p.bind(x, x0);
  p.run();
  CHECK(p.value(y)(3) == Approx(1.6));
}

} // namespace
