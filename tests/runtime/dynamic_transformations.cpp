// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>

#include "catch.hpp"

#include "../words.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Transformations of functions of expressions of run-time graphs: in each other, in bodies, and as in traced functions.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using numbers = std::vector<double>;

// ---- every transformation of every transformation, against differences

// A function of three numbers, whose Jacobian is full.
template <class W> auto base(W const& w) {
  return [w](auto y) { return ct::sin(y) * w + ct::sum(y * y) * 0.25; };
}
template <class Q> auto summed(Q q) {
  return [q](auto y) { return ct::sum(q(y)); };
}

// Functions like `h`, through one transformation.
struct by_grad {
  auto operator()(auto h, auto) const { return ct::grad(summed(h)); }
};
struct by_jvp {
  auto operator()(auto h, auto w) const {
    return [=](auto y) { return ct::jvp(h)(y, w).second; };
  }
};
struct by_vjp {
  auto operator()(auto h, auto w) const {
    return [=](auto y) {
      auto const [value, back] = ct::vjp(h)(y);
      return back(w) + 0.1 * value;
    };
  }
};
struct by_linearize {
  auto operator()(auto h, auto w) const {
    return [=](auto y) {
      auto const [value, map] = ct::linearize(h)(y);
      return map(w) * value;
    };
  }
};
struct by_jacobian {
  auto operator()(auto h, auto w) const {
    return [=](auto y) { return ct::matmul(ct::jacobian(h)(y), w); };
  }
};
struct by_jacrev {
  auto operator()(auto h, auto w) const {
    return [=](auto y) { return ct::matmul(w, ct::jacrev(h)(y)); };
  }
};
struct by_hessian {
  auto operator()(auto h, auto w) const {
    return [=](auto y) { return ct::matmul(ct::hessian(summed(h))(y), w); };
  }
};
struct by_diagonal {
  auto operator()(auto h, auto) const { return ct::diagonal_hessian(summed(h)); }
};
struct by_vmap {
  auto operator()(auto h, auto w) const {
    return [=](auto y) {
      return ct::vmap<0, ct::unmapped>([=](auto s, auto v) { return ct::sum(h(s * v)); })(y, w);
    };
  }
};
struct by_map {
  auto operator()(auto h, auto w) const {
    return [=](auto y) { return ct::map([=](auto s) { return ct::sum(h(s * w)); }, y); };
  }
};
struct by_scan {
  auto operator()(auto h, auto w) const {
    return [=](auto y) {
      auto const step = [=](auto carry, auto s) {
        return std::pair(ct::sin(carry) + s, ct::sum(h(s * w)) * carry);
      };
      return ct::scan<ct::loop{.reverse = true}>(step, 0.5, y).second;
    };
  }
};
struct by_loop {
  auto operator()(auto h, auto) const {
    return [=](auto y) { return ct::for_loop(2, [=](auto, auto s) { return 0.3 * h(s); }, y); };
  }
};
struct by_custom_vjp {
  auto operator()(auto h, auto) const {
    return ct::custom_vjp(h, [=](auto y, auto, auto dy) { return ct::vjp(h)(y, dy).second; });
  }
};
struct by_custom_jvp {
  auto operator()(auto h, auto) const {
    return ct::custom_jvp(h, [=](auto y, auto dy) { return ct::jvp(h)(y, dy).second; });
  }
};
struct by_checkpoint {
  auto operator()(auto h, auto) const { return ct::checkpoint(ct::exact(h)); }
};

// The results of a program of one input.
class evaluation {
  dynamic::graph g_;
  dynamic::expr<double> y_;
  std::vector<dynamic::expr<double>> results_;
  dynamic::program p_;

public:
  template <class Build> explicit evaluation(dynamic::sizes const& shape, Build const& build) {
    y_ = g_.input<double>("y", shape);
    build(g_, y_, results_);
    p_ = g_.compile(results_);
  }
  numbers operator()(numbers const& y, std::size_t k) {
    p_.bind(y_, y);
    p_.run();
    auto const v = p_.value(results_[k]);
    return numbers(v.begin(), v.end());
  }
};

void check_near(numbers const& a, numbers const& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    CAPTURE(k, a[k], b[k]);
    CHECK(std::abs(a[k] - b[k]) <= tolerance * (1 + std::abs(b[k])));
  }
}
// Column k: the derivative of result `of` by element k, by central differences.
std::vector<numbers> differences(evaluation& e, numbers const& y, std::size_t of) {
  std::vector<numbers> all;
  double const step = 1e-5;
  for (std::size_t k = 0; k < y.size(); ++k) {
    numbers up = y, down = y;
    up[k] += step;
    down[k] -= step;
    numbers const a = e(up, of), b = e(down, of);
    numbers d(a.size());
    for (std::size_t j = 0; j < d.size(); ++j) d[j] = (a[j] - b[j]) / (2 * step);
    all.push_back(d);
  }
  return all;
}

numbers const at{0.3, -0.7, 1.1}, weight{0.9, 0.4, -0.6};
numbers const rows{0.3, -0.7, 1.1, 0.2, 0.5, -0.4};

template <class By> void check_all_of(By const& by) {
  evaluation e({3}, [&](dynamic::graph& g, auto y, auto& results) {
    auto const w = g.constant(weight);
    auto const q = by(base(w), w);
    auto const m = g.constant(rows, {2, 3});
    results.push_back(q(y));                                                         // 0
    results.push_back(ct::grad(summed(q))(y));                                       // 1
    results.push_back(ct::jvp(q)(y, w).second);                                      // 2
    results.push_back(ct::vjp(q)(y, w).second);                                      // 3
    results.push_back(ct::jacfwd(q)(y));                                             // 4
    results.push_back(ct::jacrev(q)(y));                                             // 5
    results.push_back(ct::linearize(q)(y).second(w));                                // 6
    results.push_back(ct::vmap(q)(m));                                               // 7
    results.push_back(ct::map(q, m));                                                // 8
    results.push_back(ct::for_loop(2, [&](auto, auto s) { return 0.1 * q(s); }, y)); // 9
    results.push_back(
        ct::scan([&](auto s, auto r) { return std::pair(0.1 * q(s), q(r)); }, y, m).second); // 10
    results.push_back(ct::cond(ct::sum(y) > 0, q, [](auto s) { return s; })(y));             // 11
    results.push_back(g.gradient({ct::sum(results[9])}, {y}).front());                       // 12
    results.push_back(ct::hvp(summed(q))(y, w));                                             // 13
  });
  numbers const of_base = e(at, 0);
  auto const jacobian = differences(e, at, 0), second = differences(e, at, 1),
             through = differences(e, at, 9);
  numbers sum(3), forward(3), reverse(3), whole(9), along(3), loop_sum(3);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t j = 0; j < 3; ++j) {
      sum[k] += jacobian[k][j];
      loop_sum[k] += through[k][j];
      forward[j] += jacobian[k][j] * weight[k];
      reverse[k] += jacobian[k][j] * weight[j];
      whole[3 * j + k] = jacobian[k][j];
      along[j] += second[k][j] * weight[k];
    }
  check_near(e(at, 1), sum, 1e-7);
  check_near(e(at, 2), forward, 1e-7);
  check_near(e(at, 3), reverse, 1e-7);
  check_near(e(at, 4), whole, 1e-7);
  check_near(e(at, 5), whole, 1e-7);
  check_near(e(at, 6), forward, 1e-7);
  numbers by_row = e(numbers(rows.begin(), rows.begin() + 3), 0),
          next = e(numbers(rows.begin() + 3, rows.end()), 0);
  by_row.insert(by_row.end(), next.begin(), next.end());
  for (std::size_t const k : {7U, 8U, 10U}) check_near(e(at, k), by_row, 1e-12);
  numbers twice = of_base;
  for (double& v : twice) v *= 0.1;
  twice = e(twice, 0);
  for (double& v : twice) v *= 0.1;
  check_near(e(at, 9), twice, 1e-12);
  check_near(e(at, 11), of_base, 1e-12);
  check_near(e(at, 12), loop_sum, 1e-7);
  check_near(e(at, 13), along, 1e-6);
}

TEST_CASE("Transformations of gradients and pullbacks equal differences") {
  check_all_of(by_grad{});
  check_all_of(by_vjp{});
  check_all_of(by_custom_vjp{});
  check_all_of(by_checkpoint{});
}
TEST_CASE("Transformations of tangents equal differences") {
  check_all_of(by_jvp{});
  check_all_of(by_linearize{});
  check_all_of(by_custom_jvp{});
}
TEST_CASE("Transformations of Jacobians and Hessians equal differences") {
  check_all_of(by_jacobian{});
  check_all_of(by_jacrev{});
  check_all_of(by_hessian{});
  check_all_of(by_diagonal{});
}
TEST_CASE("Transformations of batches, scans and loops equal differences") {
  check_all_of(by_vmap{});
  check_all_of(by_map{});
  check_all_of(by_scan{});
  check_all_of(by_loop{});
}

// ---- the functions of both front ends

// The elements of all leaves, one after the other.
struct collected {
  numbers all{};
  template <class X> void operator()(X const& x) {
    if constexpr (std::is_arithmetic_v<X>) all.push_back(static_cast<double>(x));
    else
      for (auto const v : x) all.push_back(static_cast<double>(v));
  }
};
struct listed {
  std::vector<dynamic::any_expr> all{};
  template <class X> void operator()(X const& x) { all.push_back(x); }
};
template <class F, class... T> numbers traced(F f, T const&... x) {
  auto const y = ct::compiled(f)(x...);
  collected leaves;
  ct::detail::visit_leaves(y, leaves);
  return leaves.all;
}
template <class F, class... T> numbers run_time(F f, T const&... x) {
  dynamic::graph g;
  auto const y = f(g.constant(x)...);
  listed leaves;
  ct::detail::visit_leaves(y, leaves);
  auto p = g.compile(leaves.all);
  p.run();
  collected values;
  for (auto const& leaf : leaves.all) {
    if (leaf.type() == ct::element::float64) values(p.value(leaf.template as<double>()));
    else if (leaf.type() == ct::element::float32) values(p.value(leaf.template as<float>()));
    else values(p.value(leaf.template as<std::int64_t>()));
  }
  return values.all;
}

template <class X> using number_of = typename X::value_type;

inline constexpr auto derivatives = [](auto x, auto w, auto m) {
  using number = number_of<decltype(x)>;
  auto const f = [&](auto y) { return ct::sum(ct::sin(y) * w) + ct::square(ct::sum(y)); };
  auto const both = [&](auto y, auto v) { return std::tuple(ct::matmul(m, y) * ct::sum(v), ct::sum(y * v)); };
  auto const [value, gradient] = ct::value_and_grad(f)(x);
  auto const [outputs, map] = ct::linearize<0, 1>(both)(x, w);
  auto const [again, back] = ct::vjp<0, 1>(both)(x, w);
  return std::tuple(value, gradient,
                    ct::grad<0, 1>([&](auto y, auto v) { return f(y) + ct::sum(y * v * v); })(x, w),
                    ct::jvp<0, 1>(both)(x, w, w, x), ct::jacobian<0, 1>(both)(x, w),
                    ct::jacfwd<1>(both)(x, w), ct::jacrev(both)(x, w),
                    ct::hessian<0, 1>([&](auto y, auto v) { return ct::sum(ct::exp(y * v)); })(x, w),
                    ct::hvp(f)(x, w), ct::diagonal_hessian(f)(x), outputs, map(w, x), again,
                    back(std::tuple(ct::sum(m, ct::axes<1>), number(0.5))), back(std::tuple(ct::absent, number(2))));
};
inline constexpr auto loops = [](auto x, auto w, auto m) {
  using number = number_of<decltype(x)>;
  auto const steps = ct::scan(
      [&](auto carry, auto row) {
        auto const next = ct::tanh(carry * w + row);
        return std::pair(next, std::tuple(ct::sum(next), next * row));
      },
      x, m);
  auto const reversed = ct::scan<ct::loop{.reverse = true}>(
      [&](auto c, auto a, auto b) { return std::pair(c * 0.5 + ct::sum(a), b * c); }, number(1), m,
      ct::sum(m, ct::axes<1>));
  auto const through = [&](auto y) {
    auto const walked =
        ct::scan([&](auto c, auto row) { return std::pair(c + ct::sin(c * row), ct::sum(c)); }, y, m);
    return ct::sum(walked.first * w) + ct::sum(walked.second);
  };
  auto const limited = ct::while_loop<ct::loop{.max_iterations = 4}>(
      [](auto, auto s) { return ct::sum(s) < 100.0; }, [](auto, auto s) { return s * 1.5; }, x);
  auto const downward = ct::for_loop<ct::loop{.reverse = true}>(
      3, [](auto i, auto s) { return s * 2.0 + ct::convert<number>(i); }, x);
  auto const last = ct::grad([&](auto y) {
    return ct::sum(ct::for_loop<ct::loop{.max_iterations = 2, .reverse = true}>(
        5, [&](auto i, auto s) { return s * y + ct::convert<number>(i); }, y));
  })(x);
  return std::tuple(steps, reversed, ct::grad(through)(x), limited, downward, last,
                    ct::map([&](auto row) { return std::tuple(ct::sum(row * w), row * row); }, m),
                    ct::map(
                        [&](auto row, auto s) {
                          return ct::while_loop([](auto i, auto) { return i < 3; },
                                                [&](auto, auto t) { return t * s; }, ct::sum(row));
                        },
                        m, ct::sum(m, ct::axes<1>)));
};
inline constexpr auto batches = [](auto x, auto w, auto m) {
  auto const f = [&](auto y, auto v) { return ct::sum(ct::sin(y) * v); };
  auto const columns = ct::transpose(m);
  return std::tuple(ct::vmap<0, ct::unmapped>(f)(m, w), ct::vmap<-1, ct::unmapped>(f)(columns, x),
                    ct::vmap(ct::grad<0, 1>(f))(m, m),
                    ct::vmap<0, ct::unmapped>(ct::vmap(f))(m * 0.5, w) * 0.0,
                    ct::vmap(ct::hessian([](auto y) { return ct::sum(y * y * y); }))(m),
                    ct::jacobian([&](auto y) { return ct::vmap<0, ct::unmapped>(f)(m * y, w); })(x),
                    ct::vmap([&](auto r) { return std::tuple(r + x, 2.0); })(m));
};
inline constexpr auto rules = [](auto x, auto w, auto m) {
  using number = number_of<decltype(x)>;
  auto const clipped = ct::custom_vjp([](auto y) { return ct::sqrt(y * y); },
                                      [](auto y, auto, auto dy) { return ct::sign(y) * dy; });
  auto const product = ct::custom_jvp([](auto y, auto v) { return y * v; },
                                      [](auto y, auto v, auto dy, auto dv) { return dy * v + y * dv; });
  auto const f = [&](auto y) { return ct::sum(clipped(y) * w) + ct::sum(product(y, w)); };
  auto const solution = [&](auto v) {
    return ct::fixed_point([](auto z, auto p) { return ct::cos(z) * p; }, v * 0.0, v);
  };
  auto const newton = [&](auto p) { return ct::root([](auto z, auto q) { return z * z * z - q; }, number(1), p); };
  auto const s = ct::square(ct::sum(w));
  return std::tuple(f(x), ct::grad(f)(x), ct::jvp(f)(x, w).second, solution(w * 0.5), newton(s),
                    ct::grad(newton)(s), ct::jvp(newton)(s, number(1)).second, ct::stop_gradient(x),
                    ct::grad([&](auto y) { return ct::sum(ct::stop_gradient(y) * y); })(x),
                    ct::checkpoint([&](auto y) { return ct::matmul(m, y); })(x),
                    ct::grad([](auto) { return 2.0; })(x), ct::compiled(f)(x), ct::exact(f)(x));
};

template <class T> void check_both() {
  ct::tensor<T, 3> const x{T(0.4), T(-0.8), T(1.3)}, w{T(0.7), T(0.2), T(-0.5)};
  ct::tensor<T, 2, 3> const m{{T(0.1), T(0.9), T(-0.3)}, {T(1.2), T(0.6), T(-0.7)}};
  double const tolerance = std::is_same_v<T, double> ? 1e-12 : 1e-5;
  check_near(run_time(derivatives, x, w, m), traced(derivatives, x, w, m), tolerance);
  check_near(run_time(batches, x, w, m), traced(batches, x, w, m), tolerance);
  check_near(run_time(loops, x, w, m), traced(loops, x, w, m), tolerance);
  check_near(run_time(rules, x, w, m), traced(rules, x, w, m), tolerance);
}
TEST_CASE("Transformations have the results of those of traced functions") {
  check_both<double>();
  check_both<float>();
}

} // namespace
