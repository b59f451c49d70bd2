// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Boost.Hana structs of expressions of run-time graphs: members of fixed types, of the type of a parameter, or of a template that
// is the parameter.

namespace {

namespace ct = cotangent;
using number = ct::dynamic::expr<double>;

struct fixed {
  BOOST_HANA_DEFINE_STRUCT(fixed, (number, a), (number, b));
};
template <class T> struct of_type {
  BOOST_HANA_DEFINE_STRUCT(of_type, (T, a), (T, b));
};
template <class T, ct::extent...> using run_time = ct::dynamic::expr<T>;
template <template <class, ct::extent...> class Tensor> struct of_template {
  BOOST_HANA_DEFINE_STRUCT(of_template, (Tensor<double>, a), (Tensor<double>, b));
};

/// A program for x = 2, y = 3, v = {1, 2, 3} and m = {v, 2 v}.
struct inputs {
  ct::dynamic::graph g;
  number x = g.input<double>("x"), y = g.input<double>("y"), v = g.input<double>("v", {3}), m = g.input<double>("m", {2, 3});

  /// The first element of each result.
  std::vector<double> firsts(std::vector<number> const& results) {
    auto p = g.compile(std::vector<ct::dynamic::any_expr>(results.begin(), results.end()));
    p.bind(x, 2.0);
    p.bind(y, 3.0);
    p.bind(v, std::vector<double>{1, 2, 3});
    p.bind(m, std::vector<double>{1, 2, 3, 2, 4, 6});
    p.run();
    std::vector<double> all;
    for (number const& r : results) all.push_back(p.value(r).data()[0]);
    return all;
  }
};
using values = std::vector<double>;

inline constexpr auto scalar = [](auto s) { return s.a * s.b * s.b; }; // 18, with derivatives 9 and 12

template <class S> void check_derivatives() {
  inputs in;
  S const s{in.x, in.y};
  auto const both = [](auto q) { return S{q.a * q.b, q.b * q.b}; };
  auto const made = [](auto t) { return S{t * 2.0, t * t}; };
  auto const gradient = ct::grad(scalar)(s);
  auto const [value, tangents] = ct::jvp(both)(s, s);
  auto const [made_value, made_tangents] = ct::jvp(made)(in.x, in.x);
  auto const [pulled_value, pull] = ct::vjp(both)(s);
  auto const pulled = pull(pulled_value);
  auto const [linear_value, map] = ct::linearize(both)(s);
  auto const mapped = map(s);
  auto const product = ct::hvp(scalar)(s, s);
  auto const diagonal = ct::diagonal_hessian(scalar)(s);
  auto const columns = ct::jacfwd(made)(in.x);
  auto const rule = ct::custom_vjp(both, [](auto q, auto, auto d) { return S{d.a * q.b, d.a * q.a + 2.0 * q.b * d.b}; });
  auto const ruled = ct::grad([&](auto q) { return rule(q).a * rule(q).b; })(s);
  auto const tangent_rule = ct::custom_jvp(scalar, [](auto q, auto t) { return t.a * q.b * q.b + t.b * 2.0 * q.a * q.b; });
  auto const second = ct::grad([&](auto q) { return ct::grad(scalar)(q).a * ct::grad(scalar)(q).b; })(s);
  static_assert(std::is_same_v<decltype(tangents), S const> && std::is_same_v<decltype(pulled), S const>);
  CHECK(in.firsts({gradient.a, gradient.b, value.a, tangents.a, tangents.b}) == values{9, 12, 6, 12, 18});
  CHECK(in.firsts({made_value.b, made_tangents.b, pulled.a, pulled.b, mapped.b}) == values{4, 8, 18, 66, 18});
  CHECK(in.firsts({product.a, product.b, diagonal.a, diagonal.b, columns.a, columns.b}) == values{18, 24, 0, 4, 2, 4});
  CHECK(in.firsts({ruled.a, ruled.b, ct::jvp(tangent_rule)(s, s).second, second.a}) == values{27, 54, 54, 54});
}
template <class S> void check_bodies() {
  inputs in;
  auto const& [g, x, y, v, m] = in;
  S const s{x, y}, rows{m, m};
  auto const sums = [](auto q) { return S{ct::sum(q.a), ct::sum(q.a * q.b)}; };
  auto const turned = ct::for_loop(3, [](auto, auto q) { return S{q.b, q.a * q.b}; }, s);
  auto const again = ct::while_loop([](auto i, auto) { return i < 3; }, [](auto, auto q) { return S{q.b, q.a * q.b}; }, s);
  auto const [last, made] =
      ct::scan([](auto c, auto r) { return std::pair(S{c.a + ct::sum(r), c.b}, S{ct::sum(r), c.a}); }, s, m);
  auto const chosen = ct::cond(x > y, [](auto q) { return q; }, [](auto q) { return S{q.b, q.a}; })(s);
  auto const built = ct::cond(x > y, [](auto a, auto b) { return S{a, b}; }, [](auto a, auto b) { return S{b, a}; })(x, y);
  auto const nested = ct::case_of(ct::convert<int>(x), [](auto q) { return std::array{q[1], q[0]}; })(std::array{s, built});
  auto const mapped = ct::map(sums, rows), batched = ct::vmap(sums)(rows);
  auto const slopes = ct::vmap(ct::grad(scalar))(S{v, v});
  auto const halves = ct::vmap([](auto r) { return S{ct::sum(r) * 0.5, r(0)}; })(m);
  CHECK(in.firsts({turned.a, turned.b, again.a, again.b, last.a, made.b}) == values{18, 108, 18, 108, 20, 2});
  CHECK(in.firsts({chosen.a, built.b, nested[0].a, nested[1].a, ct::checkpoint(sums)(S{v, v}).b}) == values{3, 2, 2, 3, 14});
  CHECK(in.firsts({mapped.a, mapped.b, batched.b, slopes.b, halves.a, halves.b}) == values{6, 14, 14, 2, 3, 1});
}

TEST_CASE("derivatives take and return structs of run-time expressions of each form") {
  check_derivatives<fixed>();
  check_derivatives<of_type<number>>();
  check_derivatives<of_template<run_time>>();
}
TEST_CASE("bodies and batches take and return structs of run-time expressions of each form") {
  check_bodies<fixed>();
  check_bodies<of_type<number>>();
  check_bodies<of_template<run_time>>();
}

template <class S> void check_matrices() {
  inputs in;
  S const s{in.x, in.y};
  auto const second = ct::hessian(scalar)(s);
  auto const first = ct::jacobian([](auto q) { return S{q.a * q.b, q.b * q.b}; })(s);
  CHECK(in.firsts({second.a.b, second.b.b, first.a.a, first.b.b}) == values{6, 4, 3, 6});
}
TEST_CASE("Jacobians of structs are structs of structs, if their members may have other types") {
  check_matrices<of_type<number>>();
  check_matrices<of_template<run_time>>();
}
TEST_CASE("a struct of half precision is carried as float by a body that computes float, if its members may have other types") {
  ct::dynamic::graph g;
  auto const h = g.input<ct::float16>("h");
  auto const twice = [](auto, auto q) { return of_type<ct::dynamic::expr<float>>{q.a * 2.0f, q.b * 1.0f}; };
  auto const r = ct::for_loop(3, twice, of_type<ct::dynamic::expr<ct::float16>>{h, h});
  static_assert(std::is_same_v<decltype(r), of_type<ct::dynamic::expr<float>> const>);
  auto p = g.compile({r.a});
  p.bind(h, ct::float16(1.5f));
  p.run();
  CHECK(float(p.value(r.a)) == 12);
}

} // namespace
