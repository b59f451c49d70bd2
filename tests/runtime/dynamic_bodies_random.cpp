// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

// Random bodies of loops and branches, in each other, with views, writes and gradients inside: against the same bodies called
// iteration by iteration, under every option of a gradient and of a program.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;
using ct::dynamic::graph;
using value = expr<double>; // of 6 elements
using numbers = std::vector<double>;

numbers elements(ct::dynamic::values<double> const& v) { return {v.begin(), v.end()}; }

class random_body {
  graph& g_;
  bool loops_;    // or iteration by iteration
  bool captured_; // gradients with respect to captured values, too: then there is one iteration
  std::mt19937 random_;

  int below(std::size_t n) { return static_cast<int>(random_() % static_cast<std::mt19937::result_type>(n)); }
  value one_of(std::vector<value> const& all) { return all[static_cast<std::size_t>(below(all.size()))]; }
  /// The same choices, in the body that starts here.
  random_body inner(std::mt19937::result_type seed) const { return {g_, loops_, captured_, seed}; }

  value window(value const& x) {
    switch (below(4)) {
    case 0: return g_.view(x, {.shape = {3}});
    case 1: return g_.view(x, {.offset = {3}, .shape = {3}});
    case 2: return g_.view(x, {.shape = {3}, .stride = {2}});
    default: return g_.view(g_.view(x, {.offset = {1}, .shape = {5}}), {.offset = {1}, .shape = {3}});
    }
  }
  value written(value const& a, value const& b) {
    auto const t = g_.tensor<double>("t", {6});
    auto const low = g_.view(t, {.shape = {3}}), high = g_.view(t, {.offset = {3}, .shape = {3}});
    switch (below(4)) {
    case 0:
      g_.write(low, window(a) * window(b));
      g_.write(high, ct::sin(window(b)));
      return t;
    case 1:
      g_.write(low, high + window(a)); // before it is written
      g_.write(high, ct::tanh(window(a) * window(b)));
      return t;
    case 2: g_.write(g_.view(t, {.shape = {3}, .stride = {2}}), window(a) - window(b)); return t + a;
    default: g_.write(t, a * 0.5 + ct::cos(b)); return t;
    }
  }

public:
  random_body(graph& g, bool loops, bool captured, std::mt19937::result_type seed)
      : g_(g), loops_(loops), captured_(captured), random_(seed) {}

  /// `v`: known values, the last of which was carried here.
  value step(std::vector<value> v, value const& i, int depth) {
    std::vector<value> const known = v;
    int const count = 2 + below(3);
    for (int k = 0; k < count; ++k) {
      value const a = one_of(v), b = one_of(v);
      int choice = below(7);
      if (depth >= 2 && choice > 4) choice = 0;
      switch (choice) {
      case 0: v.push_back(ct::sin(a) * b); break;
      case 1: v.push_back(written(a, b)); break;
      case 2: v.push_back(ct::tanh(a + b) * (1.0 + 0.1 * i)); break;
      case 3: {
        value const x = captured_ ? one_of(known) : known.back();
        v.push_back(ct::tanh(g_.gradient({ct::sum(v.back() * ct::cos(a))}, {x}).front() + a));
        break;
      }
      case 4: v.push_back(b + ct::sum(ct::square(window(a))) * 0.1); break;
      case 5: v.push_back(loop(v, 1 + below(2), depth + 1)); break;
      default: {
        auto const seed = random_();
        v.push_back(ct::cond(
            ct::sum(a) > 0.0,
            [&](auto q) {
              std::vector<value> more = v;
              more.push_back(q);
              return inner(seed).step(more, i, depth + 1);
            },
            [&](auto q) { return inner(seed).written(q, q) * 0.5; })(b));
      }
      }
    }
    return ct::tanh(v.back() + v[v.size() - 2] * 0.5);
  }

  value loop(std::vector<value> v, int trips, int depth) {
    value c = v.back() * 1.0; // a symbol of its own, so that nothing else is what is carried first
    if (captured_) v.pop_back();
    auto const seed = random_();
    auto const body = [&](value const& i, value const& carried) {
      std::vector<value> all = v;
      all.push_back(carried);
      return inner(seed).step(all, i, depth);
    };
    if (!loops_) {
      for (int k = 0; k < trips; ++k) c = body(g_.constant(double(k)), c);
      return c;
    }
    auto const at = [&](auto i, auto s) { return body(ct::convert<double>(i), s); };
    if (seed % 3 == 0) return ct::for_loop(trips, at, c);
    if (seed % 3 == 1)
      return ct::while_loop(
          [&](auto i, auto s) { return i < trips && ct::sum(g_.view(s, {.shape = {2}})) < 1e9; }, at, c);
    return ct::for_loop(
        trips, [&](auto i, auto s) { return ct::checkpoint([&](auto q) { return at(i, q); })(s); }, c);
  }
};

struct built {
  graph g;
  value x = g.input<double>("x", {6}), w = g.input<double>("w", {6}), y = x, loss = x;
  std::vector<any_expr> all{};

  built(unsigned seed, bool loops) {
    bool const captured = seed % 3 == 0;
    y = random_body(g, loops, captured, seed)
            .loop({w, ct::sin(w) * w, g.view(w, {.shape = {6}}), x}, captured ? 1 : int(seed % 4), captured ? 2 : 1);
    loss = ct::sum(ct::sin(y));
    auto const d = g.gradient({loss}, {x, w});
    auto const dd = g.gradient({ct::sum(d[0] * x) + ct::sum(d[1] * d[1])}, {x, w});
    all = {y, d[0], d[1], dd[0], dd[1]};
  }
  template <class P> void give(P& p) const {
    p.bind(x, {.1, .2, .3, .4, .5, .6});
    p.bind(w, {1., -.5, .25, .75, .3, -.2});
  }
  std::vector<numbers> run(std::vector<any_expr> const& outputs, ct::dynamic::compile_options const& options) const {
    auto p = g.compile(outputs, {}, options);
    give(p);
    p.run();
    p.run(); // again, with the same memory
    std::vector<numbers> found;
    for (any_expr const& e : outputs) found.push_back(elements(p.value(e.as<double>())));
    return found;
  }
};

bool near(numbers const& a, numbers const& b) {
  bool all = a.size() == b.size();
  for (std::size_t k = 0; all && k < a.size(); ++k) all = std::fabs(a[k] - b[k]) <= 1e-9 * (1 + std::fabs(b[k]));
  return all;
}

TEST_CASE("random bodies agree with the same bodies called iteration by iteration", "[dynamic][bodies]") {
  CHECK_FALSE(near({1, std::nan("")}, {1, 1}));
  CHECK_FALSE(near({1}, {1, 1}));
  int limited = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    built loop(seed, true);
    std::vector<numbers> const right = [&] {
      built const straight(seed, false);
      return straight.run(straight.all, {});
    }();
    for (ct::dynamic::compile_options const& options :
         {ct::dynamic::compile_options{}, {.exact = true}, {.mirror = &ct::is_cheap}, {.keep_all = true}}) {
      auto const found = loop.run(loop.all, options);
      for (std::size_t k = 0; k < found.size(); ++k) CHECK(near(found[k], right[k]));
    }
    auto s = loop.g.vjp({loop.y}, {loop.x, loop.w});
    loop.give(s);
    auto back = s.run();
    CHECK(near(elements(s.value(loop.y)), right[0]));
    numbers dy;
    for (double const v : s.value(loop.y)) dy.push_back(std::cos(v));
    back.bind(loop.y, dy);
    back.run();
    CHECK(near(elements(back.value(loop.x)), right[1]));
    CHECK(near(elements(back.value(loop.w)), right[2]));
    try {
      auto const d = loop.g.gradient({loop.loss}, {loop.x, loop.w}, {},
                                     ct::dynamic::gradient_options{ct::unreachable::zeros, {.limit = 6000}, {}});
      auto const found = loop.run({d[0], d[1]}, {});
      CHECK(near(found[0], right[1]));
      CHECK(near(found[1], right[2]));
      ++limited;
    } catch (ct::error const& e) {
      CHECK_THAT(e.what(), Catch::Contains("the tape limit must hold"));
    }
  }
  CHECK(limited > 20);
}

} // namespace
