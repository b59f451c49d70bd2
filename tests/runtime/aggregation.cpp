// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

// The user chooses how the contributions to one cotangent are summed.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;
using terms = std::vector<any_expr>;

/// Two and two, and notes how many there were.
struct in_pairs {
  std::vector<std::size_t>* counts;
  any_expr operator()(terms const& all) const {
    counts->push_back(all.size());
    std::vector<expr<double>> left;
    for (any_expr const& one : all) left.push_back(one.as<double>());
    while (left.size() > 1) {
      std::vector<expr<double>> half;
      for (std::size_t k = 0; k + 1 < left.size(); k += 2) half.push_back(left[k] + left[k + 1]);
      if (left.size() % 2 != 0) half.push_back(left.back());
      left = half;
    }
    return left.front();
  }
};

template <class E, class F> std::string words_of(F const& f) {
  try {
    f();
  } catch (E const& e) {
    return e.what();
  } catch (std::exception const& e) {
    return std::string("something else: ") + e.what();
  }
  return "nothing was thrown";
}
bool holds(std::string const& text, std::initializer_list<char const*> words) {
  for (char const* const w : words)
    if (text.find(w) == std::string::npos) {
      UNSCOPED_INFO("'" << w << "' is not in: " << text);
      return false;
    }
  return true;
}
int size_of(ct::dynamic::graph const& g) { return g.get().tensors.size() + 1000 * g.get().nodes.size(); }

TEST_CASE("contributions of floats are summed in double", "[aggregation]") {
  auto const in_double = [](terms const& all) -> any_expr {
    expr<double> total = ct::convert<double>(all[0].as<float>());
    for (std::size_t k = 1; k < all.size(); ++k) total = total + ct::convert<double>(all[k].as<float>());
    return ct::convert<float>(total);
  };
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {3}), a = g.input<float>("a"), b = g.input<float>("b"),
             c = g.input<float>("c");
  auto const y = ct::sum(x * a) + ct::sum(ct::exp(x) * b) + ct::sum(x * c);
  auto const plain = g.gradient({y}, {x}).front();
  auto const better = g.gradient({y}, {x}, {}, {.sum = in_double}).front();
  auto p = g.compile({plain, better}, {}, {.exact = true});
  p.bind(x, std::vector<float>{0, 0, 0});
  int differ = 0;
  for (float const large : {1e8f, 3e7f, -1e8f}) {
    p.bind(a, float(large));
    p.bind(b, 1.f);
    p.bind(c, float(-large));
    p.run();
    for (int k = 0; k < 3; ++k) {
      CHECK(float(p.value(better)(k)) == 1.f);
      differ += float(p.value(plain)(k)) != 1.f;
    }
  }
  CHECK(differ > 0); // which is why one wants it
}

TEST_CASE("three contributions are summed in order, and second gradients are right", "[aggregation]") {
  ct::dynamic::graph g;
  std::vector<std::size_t> counts;
  auto const x = g.input<double>("x"), w = g.input<double>("w");
  auto const y = ct::sin(x) * w + x * x * x + ct::exp(x * w);
  ct::dynamic::gradient_options const options{.sum = in_pairs{&counts}};
  auto const d = g.gradient({y}, {x, w}, {}, options);
  CHECK(std::count(counts.begin(), counts.end(), std::size_t{5}) == 1); // x: sin, three of the cube, exp
  auto const dd = g.gradient({d[0] + d[1]}, {x, w}, {}, options);
  auto const mixed = g.gradient({d[0] + d[1]}, {x, w}); // each call says how
  for (std::size_t const n : counts) CHECK(n >= 2);
  auto p = g.compile({d[0], d[1], dd[0], dd[1], mixed[0], mixed[1]});
  for (double const at : {.3, -1.2})
    for (double const by : {.7, 2.}) {
      p.bind(x, double(at));
      p.bind(w, double(by));
      p.run();
      double const e = std::exp(at * by);
      CHECK(double(p.value(d[0])) == Approx(std::cos(at) * by + 3 * at * at + by * e));
      CHECK(double(p.value(d[1])) == Approx(std::sin(at) + at * e));
      double const xx = -std::sin(at) * by + 6 * at + by * by * e, xw = std::cos(at) + e + at * by * e,
                   ww = at * at * e;
      CHECK(double(p.value(dd[0])) == Approx(xx + xw));
      CHECK(double(p.value(dd[1])) == Approx(xw + ww));
      CHECK(double(p.value(mixed[0])) == Approx(xx + xw));
      CHECK(double(p.value(mixed[1])) == Approx(xw + ww));
    }
}

TEST_CASE("contributions through views are summed by the aggregation function: whole, equal and "
          "overlapping ones",
          "[aggregation]") {
  constexpr std::int64_t n = 12;
  std::vector<std::size_t> counts;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {n});
  auto total = ct::sum(x * x) + ct::sum(ct::sin(x));
  for (std::int64_t const from : {0, 0, 3, 3, 5, 6}) {
    auto const v = g.view(x, {.offset = {from}, .shape = {6}});
    total = total + ct::sum(ct::exp(v) * v);
  }
  auto const even = g.view(x, {.shape = {6}, .stride = {2}});
  total = total + ct::sum(even * even * even);
  auto const plain = g.gradient({total}, {x}).front();
  auto const mine = g.gradient({total}, {x}, {}, {.sum = in_pairs{&counts}}).front();
  CHECK(counts.size() >= 3);
  auto const second = g.gradient({ct::sum(mine * mine)}, {x}, {}, {.sum = in_pairs{&counts}}).front();
  auto const second_plain = g.gradient({ct::sum(plain * plain)}, {x}).front();
  auto p = g.compile({plain, mine, second, second_plain});
  std::vector<double> at;
  for (int k = 0; k < n; ++k) at.push_back(.2 * k - 1);
  p.bind(x, at);
  p.run();
  for (int k = 0; k < n; ++k) {
    double const v = at[std::size_t(k)], e = std::exp(v);
    double want = 2 * v + std::cos(v) + (k % 2 == 0 ? 3 * v * v : 0);
    for (int const from : {0, 0, 3, 3, 5, 6})
      if (k >= from && k < from + 6) want += e * v + e;
    CHECK(double(p.value(mine)(k)) == Approx(want));
    CHECK(double(p.value(mine)(k)) == Approx(double(p.value(plain)(k))).epsilon(1e-13));
    CHECK(double(p.value(second)(k)) == Approx(double(p.value(second_plain)(k))).epsilon(1e-12));
  }
}

TEST_CASE("loops and branches use the aggregation function inside, and across iterations", "[aggregation]") {
  std::vector<std::size_t> counts;
  for (std::int64_t const limit : {0, 4000}) {
    counts.clear();
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {2}), w = g.input<double>("w", {2});
    auto const n = g.input<std::int64_t>("n");
    auto const y = ct::for_loop(
        n,
        [&](auto i, auto s) {
          auto const t = ct::case_of(
              i, [&](auto u) { return u * w + ct::sin(u) + u; }, [&](auto u) { return u * w * w; })(s);
          return ct::tanh(t * w) + t * s * .1;
        },
        x);
    ct::dynamic::gradient_options options{.tape = {.limit = limit}, .sum = in_pairs{&counts}};
    auto const mine = g.gradient({ct::sum(y)}, {x, w}, {}, options);
    CHECK(std::count(counts.begin(), counts.end(), std::size_t{3}) > 0);
    CHECK(counts.size() > 5);
    auto const plain = g.gradient({ct::sum(y)}, {x, w});
    auto const twice =
        g.gradient({ct::sum(mine[0]) + ct::sum(mine[1])}, {x, w}, {}, {.sum = in_pairs{&counts}});
    auto const twice_plain = g.gradient({ct::sum(plain[0]) + ct::sum(plain[1])}, {x, w});
    auto p =
        g.compile({mine[0], mine[1], plain[0], plain[1], twice[0], twice[1], twice_plain[0], twice_plain[1]});
    p.bind(x, std::vector<double>{.4, -.7});
    p.bind(w, std::vector<double>{1.1, .6});
    for (std::int64_t const trips : {0, 1, 2, 5}) {
      p.bind(n, std::int64_t(trips));
      p.run();
      CAPTURE(limit, trips);
      for (std::size_t k = 0; k < 2; ++k)
        for (int j = 0; j < 2; ++j) {
          CHECK(double(p.value(mine[k])(j)) ==
                Approx(double(p.value(plain[k])(j))).epsilon(1e-12).margin(1e-14));
          CHECK(double(p.value(twice[k])(j)) ==
                Approx(double(p.value(twice_plain[k])(j))).epsilon(1e-11).margin(1e-13));
        }
    }
  }
}

TEST_CASE("a user's graph operation may aggregate, and its derivative is taken as well", "[aggregation]") {
  // contributions that are the larger for the smaller ones: log(sum of exp), no sum at all, so that it is seen
  auto const smooth = [](terms const& all) -> any_expr {
    expr<double> total = ct::exp(all[0].as<double>());
    for (std::size_t k = 1; k < all.size(); ++k) total = total + ct::exp(all[k].as<double>());
    return ct::log(total);
  };
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::sin(x) + 2.0 * x;
  auto const d = g.gradient({y}, {x}, {}, {.sum = smooth}).front();
  auto const dd = g.gradient({d}, {x}).front();
  auto p = g.compile({d, dd});
  p.bind(x, .4);
  p.run();
  double const c = std::exp(std::cos(.4)), all = c + std::exp(2.);
  CHECK(double(p.value(d)) == Approx(std::log(all)));
  CHECK(double(p.value(dd)) == Approx(-std::sin(.4) * c / all));
}

TEST_CASE("symbolic backward takes an aggregation function", "[aggregation][symbolic]") {
  using ct::dynamic::command;
  std::vector<std::size_t> counts;
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), a = s.tensor<double>({2}, "a"), b = s.tensor<double>({2}, "b"),
             c = s.tensor<double>({2}, "c"), z = s.tensor<double>({2}, "z"),
             one = s.tensor<double>({2}, "one");
  s.exec(command::of<ct::op::multiply>(), {x, x}, {a}, "square");
  s.exec(command::of<ct::op::exp>(), {x}, {b}, "exp");
  s.exec(command::of<ct::op::add>(), {a, b}, {c}, "sum");
  s.exec(command::of<ct::op::multiply>(), {c, x}, {z}, "product");
  auto const table = s.backward({z}, {x}, {one}, {.sum = in_pairs{&counts}});
  CHECK(counts == std::vector<std::size_t>{4});
  auto const dx = table.gradient_of(x);
  auto p = s.compile({.outputs = {dx}});
  p.bind(x, std::vector<double>{.5, -2});
  p.bind(one, std::vector<double>{1, 3});
  p.run();
  for (int k = 0; k < 2; ++k) {
    double const v = k == 0 ? .5 : -2, e = std::exp(v);
    CHECK(double(p.value<double>(dx)(k)) == Approx((k == 0 ? 1 : 3) * (3 * v * v + e + v * e)));
  }
  int const before = size_of(g);
  auto const words = words_of<std::runtime_error>([&] {
    s.backward({z}, {x}, {one}, {.sum = [](terms const&) -> any_expr { throw std::runtime_error("no"); }});
  });
  CHECK(words == "no");
  CHECK(size_of(g) == before);
}

TEST_CASE("an aggregation that does not fit is refused, and the graph stays unchanged", "[aggregation]") {
  ct::dynamic::graph g, other;
  auto const x = g.input<double>("x", {3}), factor = g.input<double>("factor", {3});
  auto const elsewhere = other.input<double>("elsewhere", {3});
  auto const y = ct::sum(x * x * x);
  auto const in_loop = ct::sum(ct::for_loop(2, [](auto, auto s) { return s * s * s; }, x));
  int const before = size_of(g);
  auto const asked = [&](expr<double> const& of, auto sum) {
    return [&g, of, sum, x] { (void)g.gradient({of}, {x}, {}, {.sum = sum}); };
  };
  CHECK(holds(words_of<ct::shape_error>(
                  asked(y, [](terms const& t) -> any_expr { return ct::sum(t[0].as<double>()); })),
              {"gradient: a sum of contributions must have their shape and element type",
               "double [] and double [3]", "aggregation.cpp"}));
  CHECK(holds(words_of<ct::shape_error>(
                  asked(y, [](terms const& t) -> any_expr { return ct::convert<float>(t[0].as<double>()); })),
              {"must have their shape and element type", "float [3] and double [3]"}));
  CHECK(holds(words_of<ct::graph_error>(asked(y, [](terms const&) -> any_expr { return expr<double>(1.0); })),
              {"must be combined with an expression of a graph"}));
  CHECK(holds(words_of<ct::graph_error>(asked(y, [&](terms const&) -> any_expr { return elsewhere; })),
              {"of one graph"}));
  CHECK(holds(words_of<ct::shape_error>(asked(y,
                                              [&](terms const& t) -> any_expr {
                                                return t[0].as<double>() +
                                                       g.constant(std::vector<double>{1, 2, 3, 4});
                                              })),
              {"shapes of both operands"}));
  CHECK(words_of<std::out_of_range>(asked(y, [](terms const& t) -> any_expr {
          return t.at(t.size());
        })).find("else") == std::string::npos);
  // what stands around a loop cannot be used in it, constants can
  auto const scaled = [&](terms const& t) -> any_expr {
    return (t[0].as<double>() + t[1].as<double>()) * factor;
  };
  CHECK(holds(words_of<ct::graph_error>(asked(in_loop, scaled)),
              {"in a loop or branch, a sum of contributions must be computed from these and from constants only"}));
  CHECK(size_of(g) == before);
  CHECK(g.get().regions.size() == 2);
  auto const outside = g.gradient({y}, {x}, {}, {.sum = [&](terms const& t) -> any_expr {
                                    expr<double> s = t[0].as<double>() * factor;
                                    for (std::size_t k = 1; k < t.size(); ++k)
                                      s = s + t[k].as<double>() * factor;
                                    return s;
                                  }});
  auto const inside = g.gradient({in_loop}, {x}, {}, {.sum = [](terms const& t) -> any_expr {
                                   expr<double> s = t[0].as<double>() * 1.0;
                                   for (std::size_t k = 1; k < t.size(); ++k) s = s + t[k].as<double>();
                                   return s;
                                 }});
  auto p = g.compile({outside[0], inside[0]});
  p.bind(x, std::vector<double>{.5, 1, 1.5});
  p.bind(factor, std::vector<double>{1, 1, 1});
  p.run();
  for (int k = 0; k < 3; ++k) {
    double const v = .5 + .5 * k;
    CHECK(double(p.value(outside[0])(k)) == Approx(3 * v * v));
    CHECK(double(p.value(inside[0])(k)) == Approx(9 * std::pow(v, 8)));
  }
}

TEST_CASE("in a graph built by hand, the function aggregates the given contributions", "[aggregation]") {
  struct counter {
    int calls = 0, most = 0;
    bool wrong = false;
  };
  auto const sum = [](void* with, ct::extend::builder& b, ct::extend::symbol const* x, int count) {
    counter& c = *static_cast<counter*>(with);
    ++c.calls;
    c.most = c.most < count ? count : c.most;
    ct::term total{&b, x[count - 1]};
    for (int k = count - 1; k-- > 0;) total = total + ct::term{&b, x[k]};
    return c.wrong ? ct::extend::sum(total, 1).id : total.id;
  };
  for (bool const wrong : {false, true}) {
    counter c;
    c.wrong = wrong;
    ct::extend::builder b;
    ct::term const x{&b, b.symbol_of(ct::element::float64, b.shape(ct::extend::dimensions{1, {4}}))};
    b.set_inputs(&x.id, 1);
    ct::extend::symbol const y = ct::extend::sum(x * x * x, 1).id;
    ct::extend::symbol dx = ct::extend::none;
    ct::detail::gradient(b, {.outputs = &y, .output_count = 1, .wrt = &x.id, .wrt_count = 1, .sum = {sum, &c}}, &dx);
    CHECK(c.most == 3);
    CHECK(c.calls == 1);
    if (wrong) {
      REQUIRE(b.failed().why != nullptr);
      CHECK(std::string(b.failed().why->text).find("a sum of contributions") != std::string::npos);
    } else CHECK(b.failed().why == nullptr);
  }
}

} // namespace
