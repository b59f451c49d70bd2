// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../words.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Functions with derivative rules of their own beside loops and branches, which save values while gradients are built: against the same
// functions without rules.

namespace ct = cotangent;

namespace {

// y = sin x, by its formula, by a rule for tangents, and by one for cotangents
inline constexpr auto plain = [](auto x) { return ct::sin(x); };
inline constexpr auto by_tangent = ct::custom_jvp([](auto x) { return ct::sin(x); }, [](auto x, auto dx) { return ct::cos(x) * dx; });
inline constexpr auto by_cotangent = ct::custom_vjp([](auto x) { return ct::sin(x); }, [](auto x, auto, auto dy) { return ct::cos(x) * dy; });

inline constexpr auto loop = [](auto x) { return ct::for_loop(3, [](auto, auto s) { return ct::sin(s) * s; }, x); };
inline constexpr auto branch = [](auto x) {
  return ct::cond(x > 0.3, [](auto u) { return ct::sin(u) * u; }, [](auto u) { return ct::cos(u) * u; })(x);
};

inline constexpr std::tuple programs{
    [](auto c, auto x) { return loop(c(x)); },
    [](auto c, auto x) { return branch(c(x)); },
    [](auto c, auto x) { return c(loop(x)); },
    [](auto c, auto x) { return loop(c(loop(x))); },
    [](auto c, auto x) { return branch(c(branch(x))); },
    [](auto c, auto x) { return c(x) * loop(x); }, // a loop that does not depend on it
    [](auto c, auto x) { auto const y = c(x); return ct::for_loop(3, [=](auto, auto s) { return ct::cos(s) * y; }, x); },
    [](auto c, auto x) { return ct::for_loop(3, [=](auto, auto s) { return loop(c(s)); }, x); },
    [](auto c, auto x) { return ct::for_loop(2, [=](auto, auto s) { return branch(c(s)) * c(s); }, x); },
    [](auto c, auto x) { return loop(c(x) * x) * loop(c(x)); },
    [](auto c, auto x) { return c(loop(c(x)) * c(x)) + branch(x); },
};

template <class C, class P> struct applied {
  template <class X> constexpr auto operator()(X x) const { return P{}(C{}, x); }
};

// Rules that are derivatives of the function itself, in forward mode.
template <class F> inline constexpr auto own_tangent = ct::custom_jvp(F{}, [](auto x, auto dx) { return ct::jvp(F{})(x, dx).second; });
template <class F> inline constexpr auto own_cotangent = ct::custom_vjp(F{}, [](auto x, auto, auto dy) { return ct::jvp(F{})(x, dy).second; });
inline constexpr auto outer_branch = [](auto x) {
  auto const y = ct::sin(x);
  return ct::cond(y > 0.1, [=](auto u) { return u * x; }, [=](auto u) { return u * u; })(y);
};
inline constexpr auto outer_loop = [](auto x) {
  auto const y = ct::sin(x);
  return ct::for_loop(3, [=](auto, auto s) { return ct::cos(s) * y + x; }, y);
};

/// First and second derivatives in both modes, of the compiled function.
template <class C, class P> void compiled(double at) {
  constexpr applied<std::remove_const_t<decltype(plain)>, P> wanted;
  constexpr applied<C, P> f;
  CHECK(ct::grad(f)(at) == Approx(ct::grad(wanted)(at)).epsilon(1e-12));
  CHECK(ct::jvp(f)(at, 1.0).second == Approx(ct::grad(wanted)(at)).epsilon(1e-12));
  CHECK(ct::hessian(f)(at) == Approx(ct::hessian(wanted)(at)).epsilon(1e-11));
  CHECK(ct::grad(ct::grad(f))(at) == Approx(ct::hessian(wanted)(at)).epsilon(1e-11));
}

/// All of them in one graph.
template <class C, class P> void at_run_time(double at) {
  constexpr applied<std::remove_const_t<decltype(plain)>, P> wanted;
  constexpr applied<C, P> f;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const one = x * 0.0 + 1.0;
  auto const backward = g.gradient<double>({f(x)}, {x}).front();
  auto const right = g.gradient<double>({wanted(x)}, {x}).front(), second = g.gradient<double>({right}, {x}).front();
  auto const map = ct::linearize(f)(x);
  auto const linear = map.second(one);
  auto const forward = ct::jvp(f)(x, one).second;
  auto const pull = ct::vjp(f)(x);
  auto const pulled = pull.second(one);
  auto const twice = g.gradient<double>({backward}, {x}).front(), mixed = ct::hessian(f)(x);
  auto p = g.compile({backward, right, second, linear, forward, pulled, twice, mixed});
  p.bind(x, at);
  p.run();
  auto const value = [&](auto const& e) { return static_cast<double>(p.value(e)); };
  for (auto const& e : {backward, linear, forward, pulled}) CHECK(value(e) == Approx(value(right)).epsilon(1e-12));
  for (auto const& e : {twice, mixed}) CHECK(value(e) == Approx(value(second)).epsilon(1e-11));
}

template <class C, class... P> void all(std::tuple<P...> const&) {
  for (double const at : {0.2, 0.7}) (at_run_time<C, P>(at), ...);
}
template <class C, std::size_t... K> void some(std::index_sequence<K...>) {
  for (double const at : {0.2, 0.7}) (compiled<C, std::remove_const_t<std::tuple_element_t<K, decltype(programs)>>>(at), ...);
}

} // namespace

TEST_CASE("rules for tangents and for cotangents beside loops and branches, in run-time graphs") {
  all<std::remove_const_t<decltype(by_tangent)>>(programs);
  all<std::remove_const_t<decltype(by_cotangent)>>(programs);
}

namespace {
template <class F> void by_own_rules() {
  constexpr F f;
  for (double const at : {0.05, 0.3}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x");
    auto const right = ct::grad(f)(x), second = ct::grad(ct::grad(f))(x);
    std::vector const first{ct::jvp(own_tangent<F>)(x, 1.0).second, ct::grad(own_tangent<F>)(x), ct::grad(own_cotangent<F>)(x),
                            g.gradient<double>({own_cotangent<F>(x)}, {x}).front()};
    std::vector const twice{ct::grad(ct::grad(own_cotangent<F>))(x), ct::jvp(ct::grad(own_cotangent<F>))(x, 1.0).second,
                            ct::grad(ct::grad(own_tangent<F>))(x)};
    auto const rows = g.constant(ct::tensor<double, 2>{at, 0.3});
    auto const each = ct::vmap(ct::grad(own_cotangent<F>))(rows);
    std::vector<ct::dynamic::expr<double>> all{right, second, each};
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), twice.begin(), twice.end());
    auto p = g.compile({all.begin(), all.end()});
    p.bind(x, at);
    p.run();
    CHECK(p.value(right)() == Approx(ct::grad(f)(at)).epsilon(1e-12));
    for (auto const& e : first) CHECK(p.value(e)() == Approx(ct::grad(f)(at)).epsilon(1e-12));
    for (auto const& e : twice) CHECK(p.value(e)() == Approx(ct::grad(ct::grad(f))(at)).epsilon(1e-11));
    CHECK(p.value(each)(0) == Approx(ct::grad(f)(at)).epsilon(1e-12));
    CHECK(p.value(each)(1) == Approx(ct::grad(f)(0.3)).epsilon(1e-12));
  }
}

inline constexpr auto loop_in_a_branch = [](auto z) {
  return ct::cond(ct::sum(z) > 0.1, [](auto q) { return ct::for_loop(2, [](auto, auto s) { return ct::sin(s) * s; }, q); },
                  [](auto q) { return q * q; })(z);
};
inline constexpr std::tuple derivatives_of_it{
    [](auto z) { return ct::sum(ct::vjp(loop_in_a_branch)(z, z).second * z); },
    [](auto z) { return ct::sum(ct::matmul(z, ct::jacrev(loop_in_a_branch)(z))); },
    [](auto z) { return ct::sum(ct::jvp(ct::grad([](auto y) { return ct::sum(loop_in_a_branch(y)); }))(z, z).second); },
};
template <class F> void by_rows() {
  constexpr F f;
  ct::tensor<double, 3, 2> const x{{0.3, 0.4}, {-0.3, 0.1}, {0.2, 0.7}};
  ct::dynamic::graph g;
  auto const in = g.input<double>("x", {3, 2});
  auto const first = ct::vmap(ct::grad(f))(in), second = ct::sum(ct::vmap(ct::hessian(f))(in), ct::axes<2>);
  auto p = g.compile({first, second});
  p.bind(in, x);
  p.run();
  for (int r = 0; r < 3; ++r) {
    ct::tensor<double, 2> const row{x(r, 0), x(r, 1)};
    auto const slope = ct::grad(f)(row);
    auto const curvature = ct::hessian(f)(row);
    for (int k = 0; k < 2; ++k) {
      CHECK(p.value(first)(r, k) == Approx(slope(k)).epsilon(1e-12).margin(1e-13));
      CHECK(p.value(second)(r, k) == Approx(curvature(k, 0) + curvature(k, 1)).epsilon(1e-11).margin(1e-12));
    }
  }
}
} // namespace

TEST_CASE("rules that are tangents of the function itself, which has a loop or a branch") {
  by_own_rules<std::remove_const_t<decltype(outer_branch)>>();
  by_own_rules<std::remove_const_t<decltype(outer_loop)>>();
}

TEST_CASE("vmap of gradients of derivatives of a loop that is in one branch") {
  std::apply([](auto... f) { (by_rows<decltype(f)>(), ...); }, derivatives_of_it);
  constexpr auto f = std::get<0>(derivatives_of_it);
  ct::tensor<double, 2, 2> const x{{0.3, 0.4}, {-0.3, 0.1}};
  auto const rows = ct::compiled(ct::vmap(ct::grad(f)))(x);
  CHECK(rows(0, 1) == Approx(ct::grad(f)(ct::tensor<double, 2>{0.3, 0.4})(1)));
  CHECK(rows(1, 0) == Approx(ct::grad(f)(ct::tensor<double, 2>{-0.3, 0.1})(0)));
}

TEST_CASE("rules for tangents and for cotangents beside loops and branches, in compiled functions") {
  some<std::remove_const_t<decltype(by_tangent)>>(std::index_sequence<0, 1, 3, 5, 6>());
  some<std::remove_const_t<decltype(by_cotangent)>>(std::index_sequence<0, 3, 6>());
}

TEST_CASE("forward mode refuses a rule for cotangents with a loop that computes from the cotangent") {
  constexpr auto f = [](auto x) {
    return ct::custom_vjp([](auto a) { return ct::sin(a); },
                          [](auto a, auto, auto dy) { return ct::for_loop(3, [&](auto, auto u) { return u * ct::cos(a); }, dy); })(x);
  };
  double const slope = std::cos(0.7) * std::cos(0.7) * std::cos(0.7);
  CHECK(ct::grad(f)(0.7) == Approx(slope));
  auto const rows = ct::compiled(ct::vmap(ct::grad(f)))(ct::tensor<double, 2>{0.7, 0.7});
  CHECK(rows(1) == Approx(slope));
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  CHECK(refused("forward mode needs a rule that is linear", [&] { (void)ct::jvp(f)(x, x); }));
}

// Rules that cannot be transposed. (x: the argument, d: its tangent, or the cotangent of the result)
inline constexpr std::tuple other_rules{
    [](auto x, auto d) { return d + x; },
    [](auto x, auto d) { return ct::fma(x, d, x); },
    [](auto x, auto) { return x; },
    [](auto, auto d) { return ct::sign(d); },
    [](auto, auto d) { return ct::round(d); },
    [](auto, auto d) { return ct::stop_gradient(d); },
    [](auto x, auto d) { return ct::select(x > 3.5, d, 1.0); },
    [](auto, auto d) { return ct::select(d > 0.0, d, 2.0 * d); },
    [](auto x, auto d) { return ct::stack<0>(d(0), x(0)); },
    [](auto x, auto d) { return ct::at(d, 0).set(x(1)); },
    [](auto, auto d) { return ct::cond(ct::sum(d) > 0.5, [](auto u) { return u; }, [](auto u) { return u * 2.0; })(d); },
    [](auto, auto d) { return ct::for_loop(2, [](auto, auto s) { return ct::floor(s); }, d); },
    [](auto, auto d) {
      return ct::while_loop([](auto, auto s) { return ct::sum(s) < 9.0; }, [](auto, auto s) { return s * 2.0; }, d);
    },
};
inline constexpr std::tuple linear_rules{
    [](auto x, auto d) { return d * x + 0.0 * x; },
    [](auto x, auto d) { return -(x * (d - 0.0 * x)) / (x + 1.0); },
    [](auto x, auto d) { return ct::select(x > 3.5, d, 0.0 * d); },
    [](auto, auto d) { return ct::stack<0>(d(1), d(0)); },
    [](auto, auto d) { return ct::at(d, 0).set(2.0 * d(1)); },
    [](auto x, auto d) { return ct::cond(ct::sum(x) > 0.5, [](auto u) { return u; }, [](auto u) { return u * 2.0; })(d); },
    [](auto x, auto d) { return ct::matmul(ct::outer(x, x), d); },
};

TEST_CASE("a rule that is not linear in the tangents, or in the cotangent, is not transposed") {
  auto const each = [](auto const& rules, bool linear) {
    int k = 0;
    auto const one = [&](auto rule) {
      INFO("rule " << k++);
      ct::dynamic::graph g;
      auto const x = g.input<double>("x", {2});
      auto const own = [](auto a) { return a * 1.0; };
      auto const by_tangents = ct::custom_jvp(own, [](auto a, auto da) { return decltype(rule){}(a, da); });
      auto const by_cotangents = ct::custom_vjp(own, [](auto a, auto, auto dy) { return decltype(rule){}(a, dy); });
      std::vector<ct::dynamic::expr<double>> both{ct::jacfwd(by_tangents)(x), ct::jacrev(by_cotangents)(x)};
      if (!linear) {
        CHECK(refused("reverse mode needs a rule that is linear", [&] { (void)g.gradient({ct::sum(by_tangents(x))}, {x}); }));
        CHECK(refused("forward mode needs a rule that is linear", [&] { (void)ct::jvp(by_cotangents)(x, x); }));
        (void)g.compile({both[0], both[1]});
        return;
      }
      both.push_back(ct::jacrev(by_tangents)(x));
      both.push_back(ct::jacfwd(by_cotangents)(x));
      auto p = g.compile({both[0], both[1], both[2], both[3]});
      p.bind(x, std::vector<double>{3, 4});
      p.run();
      auto const entry = [&](int j, int row, int column) { return p.value(both[static_cast<std::size_t>(j)]).data()[2 * row + column]; };
      for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 2; ++column) {
          CHECK(entry(0, row, column) == Approx(entry(2, row, column)));
          CHECK(entry(1, row, column) == Approx(entry(3, row, column)));
          CHECK(entry(0, row, column) == Approx(entry(1, column, row)));
        }
    };
    std::apply([&](auto... rule) { (one(rule), ...); }, rules);
  };
  each(other_rules, false);
  each(linear_rules, true);
}

TEST_CASE("a derivative that does not depend on cotangents or tangents is in each row of a Jacobian") {
  constexpr auto f = ct::custom_vjp([](auto a, auto b) { return a * b; },
                                    [](auto a, auto b, auto, auto d) { return std::tuple(d * b, 0.0 * a + 7.0); });
  constexpr auto g = ct::custom_jvp([](auto a) { return a * a; }, [](auto a, auto) { return a; });
  ct::tensor<double, 2> const x{3, 4}, w{5, 6};
  CHECK(std::get<1>(ct::jacrev<0, 1>(f)(x, w)) == ct::tensor<double, 2, 2>{{7, 7}, {7, 7}});
  CHECK(std::get<1>(ct::vjp<0, 1>(f)(x, w, ct::tensor<double, 2>{1, 0}).second) == ct::tensor<double, 2>{7, 7});
  CHECK(ct::jacfwd(g)(x) == ct::tensor<double, 2, 2>{{3, 3}, {4, 4}});
}

TEST_CASE("the refusal of a rule names its function, also if that computes a value that was there before") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const right = ct::custom_jvp([](auto a) { return a * a; }, [](auto a, auto d) { return 2.0 * a * d; });
  auto const wrong = ct::custom_jvp([](auto a) { return a * a; }, [](auto, auto d) { return d * d; });
  auto const first = ct::sum(right(x));
  int const line = __LINE__ - 2; // of the wrong rule
  auto const second = ct::sum(wrong(x));
  (void)g.gradient({first}, {x});
  CHECK(refused(("custom_control.cpp:" + std::to_string(line)).c_str(), [&] { (void)g.gradient({second}, {x}); }));
}

TEST_CASE("a rule for tangents may contain a loop") {
  // the tangent is cos(x)^3 dx
  constexpr auto f = [](auto x) {
    return ct::custom_jvp([](auto a) { return ct::sin(a); },
                          [](auto a, auto da) { return ct::for_loop(3, [&](auto, auto u) { return u * ct::cos(a); }, da); })(x) *
           x;
  };
  double const at = 0.7, slope = std::cos(at) * std::cos(at) * std::cos(at) * at + std::sin(at);
  CHECK(ct::grad(f)(at) == Approx(slope));
  CHECK(ct::jvp(f)(at, 1.0).second == Approx(slope));
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const d = g.gradient<double>({f(x)}, {x}).front();
  auto const loops = g.gradient<double>({loop(f(loop(x)))}, {x}).front(); // and others around it
  auto p = g.compile({d, loops});
  p.bind(x, at);
  p.run();
  CHECK(static_cast<double>(p.value(d)) == Approx(slope));
  CHECK(std::isfinite(static_cast<double>(p.value(loops))));
}
