// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../words.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

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
