// SPDX-License-Identifier: BSL-1.0
// Loops and branches under vmap, in Jacobians and in Hessians: rows may differ in iterations and branches.
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

#include <limits>
#include <tuple>
#include <utility>

namespace ct = cotangent;

namespace {

using vector = ct::tensor<double, 4>;
using matrix = ct::tensor<double, 4, 4>;
inline constexpr vector x{0.5, 1.5, -0.25, 2.5};

constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }
template <class T> constexpr bool near(T const& a, T const& b, double most = 1e-12) {
  for (int k = 0; k < a.size(); ++k) {
    double const d = a.data()[k] - b.data()[k], scale = 1 + (b.data()[k] < 0 ? -b.data()[k] : b.data()[k]);
    if (!(d <= most * scale && -d <= most * scale)) return false;
  }
  return true;
}
/// The rows of a function, one after the other.
template <class F> constexpr auto alone(F const& f) {
  return [f](vector const& from) {
    vector y;
    for (int k = 0; k < 4; ++k) y(k) = ct::compiled(f)(from(k));
    return y;
  };
}
inline constexpr matrix rows{{0.5, 1.5, -0.25, 2.5}, {1, 2, 3, 4}, {-1, 0, 1, 0}, {0.5, 0.25, 0, -3}};
template <class F> constexpr auto row_by_row(F const& f) {
  matrix y;
  for (int k = 0; k < 4; ++k) {
    vector const of = f(vector{rows(k, 0), rows(k, 1), rows(k, 2), rows(k, 3)});
    for (int j = 0; j < 4; ++j) y(k, j) = of(j);
  }
  return y;
}
/// Values, gradients by row, the gradient of all rows and second derivatives.
template <class F> constexpr bool agrees(F const& f) {
  constexpr auto all = [](auto v) { return ct::sum(ct::sin(ct::vmap(F{})(v))); };
  constexpr auto one = [](auto row) { return ct::sin(F{}(row)); };
  return near(ct::vmap(f)(x), alone(f)(x)) && near(ct::vmap(ct::grad(f))(x), alone(ct::grad(f))(x)) &&
         near(ct::grad(all)(x), alone(ct::grad(one))(x)) &&
         near(ct::vmap(ct::grad(ct::grad(f)))(x), alone(ct::grad(ct::grad(f)))(x)) &&
         near(ct::vmap(ct::jvp(f))(x, x).second, alone([](auto a) { return ct::jvp(F{})(a, a).second; })(x));
}

// ---- counts: the same for all rows, and one for each row

inline constexpr auto fixed = [](auto v) { return ct::for_loop(5, [&](auto i, auto s) { return ct::sin(s) * v + 0.125 * ct::convert<double>(i); }, v); };
static_assert(agrees(fixed));

inline constexpr auto power = [](auto v, auto n) { return ct::for_loop<ct::loop{.max_iterations = 8}>(n, [&](auto, auto s) { return s * v; }, v * 0 + 1); };
inline constexpr ct::tensor<std::int64_t, 4> counts{3, 0, 5, 1};
inline constexpr ct::tensor<double, 4> two_to{2, 3, -1, 2};
static_assert(ct::vmap(power)(two_to, counts) == vector{8, 1, -1, 2});
static_assert(ct::vmap(ct::grad(power))(two_to, counts) == vector{12, 0, 5, 1});
static_assert(ct::grad([](auto v, auto n) { return ct::sum(ct::vmap(power)(v, n)); })(two_to, counts) == vector{12, 0, 5, 1});
static_assert(ct::vmap<ct::unmapped, 0>(power)(2.0, counts) == vector{8, 1, 32, 2});
static_assert(ct::vmap<0, ct::unmapped>(power)(two_to, 2) == vector{4, 9, 1, 4});

// ---- conditions: rows that have ended keep their values

inline constexpr auto doubled = [](auto v) {
  return ct::while_loop<ct::loop{.max_iterations = 30}>([](auto, auto s) { return s < 10.0; }, [](auto, auto s) { return s * 1.5 + 0.5; }, v);
};
static_assert(agrees(doubled));
inline constexpr auto newton = [](auto v) { // two carried values, one of them an integer
  auto const [root, steps] = ct::while_loop<ct::loop{.max_iterations = 40}>(
      [&](auto i, auto s, auto) { return ct::abs(s * s - v) > 1e-14 && i < 40; }, [&](auto, auto s, auto n) { return std::pair((s + v / s) / 2, n + 1); }, v + 1, ct::zeros<std::int32_t>());
  return root + ct::convert<double>(steps);
};
inline constexpr auto roots = [](auto v) { return ct::vmap(newton)(ct::abs(v)); };
static_assert(near(ct::compiled(roots)(x), alone([](auto v) { return newton(ct::abs(v)); })(x)));
static_assert(near(ct::grad([](auto v) { return ct::sum(roots(v)); })(x), alone(ct::grad([](auto v) { return newton(ct::abs(v)); }))(x)));

// ---- branches: one for all rows, and one for each

inline constexpr auto either = [](auto v) { return ct::cond(v > 1, [](auto a) { return a * a * a; }, [&](auto a) { return ct::exp(a) * v; })(v); };
static_assert(agrees(either));
inline constexpr auto one_of = [](auto k, auto v) {
  return ct::case_of(k, [](auto a) { return a * a; }, [](auto a) { return ct::for_loop(3, [](auto, auto s) { return s * 2; }, a); })(v);
};
inline constexpr ct::tensor<std::int32_t, 4> choices{1, -1, 0, 2};
static_assert(ct::vmap(one_of)(choices, x) == vector{4, 1.5, 0.0625, 2.5}); // no such branch: the value itself
static_assert(ct::vmap(ct::grad<1>(one_of))(choices, x) == vector{8, 1, -0.5, 1});
static_assert(ct::grad<1>([](auto k, auto v) { return ct::sum(ct::vmap(one_of)(k, v)); })(choices, x) == vector{8, 1, -0.5, 1});
static_assert(ct::vmap<ct::unmapped, 0>(one_of)(1, x) == vector{4, 12, -2, 20});
static_assert(ct::vmap<ct::unmapped, 0>(ct::grad<1>(one_of))(7, x) == vector{1, 1, 1, 1});
static_assert(ct::vmap<0, ct::unmapped>(one_of)(choices, 3.0) == vector{24, 3, 9, 3});

// ---- in each other

inline constexpr auto nested = [](auto v) {
  return ct::for_loop(3, [](auto i, auto s) {
    return ct::cond(s > 0.5, [](auto a) { return doubled(a) * 0.125; }, [&](auto a) { return a * 0.5 + 0.25 + 0.125 * ct::convert<double>(i); })(s);
  }, v);
};
static_assert(near(ct::vmap(nested)(x), alone(nested)(x)));
static_assert(near(ct::vmap(ct::grad(nested))(x), alone(ct::grad(nested))(x)));
inline constexpr auto by_two = [](auto v) { return ct::reshape<4>(ct::vmap(ct::vmap(doubled))(ct::reshape<2, 2>(v))); };
static_assert(near(ct::compiled(by_two)(x), alone(doubled)(x)));
inline constexpr auto inside = [](auto v) { return ct::for_loop(2, [](auto, auto s) { return ct::vmap(doubled)(s) * 0.0625; }, v); };
static_assert(near(ct::compiled(inside)(x), alone([](auto a) { return doubled(doubled(a) * 0.0625) * 0.0625; })(x)));

// ---- rows that a loop reads and makes; indices; random numbers; rules; checkpoints; linear systems

inline constexpr auto filtered = [](auto row, auto w) {
  auto const [last, all] = ct::scan([&](auto s, auto e) { auto const n = ct::tanh(w * s + e); return std::pair(n, n * n); }, 0.25, row);
  return ct::sum(all) + last;
};
static_assert(near(ct::vmap<0, ct::unmapped>(ct::grad(filtered))(rows, 0.5), row_by_row([](auto const& r) { return ct::grad(filtered)(r, 0.5); })));
inline constexpr auto all_filtered = [](auto r, auto w) { return ct::sum(ct::vmap<0, ct::unmapped>(filtered)(r, w)); };
static_assert(near(ct::grad(all_filtered)(rows, 0.5), row_by_row([](auto const& r) { return ct::grad(filtered)(r, 0.5); })));
inline constexpr auto picked = [](auto row, auto n) {
  return ct::for_loop<ct::loop{.max_iterations = 4}>(n, [&](auto i, auto s) { return s * row(i) + row(3 - i); }, 1.0);
};
inline constexpr ct::tensor<std::int64_t, 4> lengths{4, 1, 0, 3};
inline constexpr vector last{0.5, 0.25, 0, -3};
static_assert(near(ct::vmap(picked)(rows, lengths), vector{ct::compiled(picked)(x, 4), 5, 1, ct::compiled(picked)(last, 3)}));
constexpr matrix of_picked = ct::vmap(ct::grad(picked))(rows, lengths), of_four = row_by_row([](auto const& r) { return ct::grad(picked)(r, 4); });
static_assert(near(of_picked(0, 1), of_four(0, 1)) && of_picked(1, 0) == 1 && of_picked(1, 3) == 1 && of_picked(1, 1) == 0 && of_picked(2, 1) == 0);
static_assert(near(of_picked(3, 2), ct::grad(picked)(last, 3)(2)) && near(of_picked(3, 0), ct::grad(picked)(last, 3)(0)));
inline constexpr auto ruled = [](auto v) {
  constexpr auto twice = ct::custom_vjp([](auto a) { return 2 * a; }, [](auto, auto, auto dy) { return 3 * dy; }); // the wrong one, to be seen
  return ct::for_loop(2, [&](auto, auto s) { return twice(s); }, v);
};
static_assert(ct::vmap(ct::grad(ruled))(x) == vector{9, 9, 9, 9});
static_assert(ct::grad([](auto v) { return ct::sum(ct::vmap(ruled)(v)); })(x) == vector{9, 9, 9, 9});
inline constexpr auto cosine = [](auto v) { return ct::fixed_point<ct::solver{.tolerance = 1e-11}>([](auto s, auto a) { return ct::cos(s) * a; }, 0.5, v * 0.25); };
static_assert(near(ct::vmap(cosine)(x), alone(cosine)(x), 1e-9));
static_assert(near(ct::vmap(ct::grad(cosine))(x), alone(ct::grad(cosine))(x), 1e-9));

// ---- Jacobians and Hessians through loops and branches

inline constexpr auto step = [](auto v) { return ct::for_loop(4, [](auto, auto s) { return s + 0.125 * ct::sin(ct::reverse(s)) * s; }, v); };
inline constexpr auto loss = [](auto v) { return ct::sum(ct::square(step(v))); };
static_assert(near(ct::jacfwd(step)(x), ct::jacrev(step)(x)));
static_assert(near(ct::hessian(loss)(x), ct::jacrev(ct::grad(loss))(x)));
constexpr bool by_products() {
  matrix j;
  for (int k = 0; k < 4; ++k) {
    vector e{};
    e(k) = 1;
    auto const d = ct::jvp(step)(x, e).second;
    for (int i = 0; i < 4; ++i) j(i, k) = d(i);
  }
  return near(ct::jacobian(step)(x), j);
}
static_assert(by_products());
inline constexpr auto chosen = [](auto v) { return ct::cond(v(0) > 0, [](auto a) { return a * a; }, [](auto a) { return ct::exp(a); })(v); };
static_assert(ct::jacobian(chosen)(x) == ct::tensor<double, 4, 4>{{1, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, -0.5, 0}, {0, 0, 0, 5}});
static_assert(ct::jacrev(chosen)(x) == ct::jacfwd(chosen)(x));
inline constexpr auto grown = [](auto v) {
  return ct::while_loop<ct::loop{.max_iterations = 20}>([](auto, auto s) { return ct::sum(s) < 20.0; }, [](auto, auto s) { return s * 1.5 + ct::square(ct::reverse(s)) * 0.125; }, v);
};
static_assert(near(ct::jacfwd(grown)(x), ct::jacrev(grown)(x)));
static_assert(near(ct::diagonal_hessian([](auto v) { return ct::sum(fixed(v)); })(x), alone(ct::grad(ct::grad(fixed)))(x)));
inline constexpr auto traces = [](auto v) { return ct::vmap([](auto row) { return ct::sum(ct::diagonal(ct::jacobian(step)(row))); })(v); };
constexpr vector of_traces = ct::compiled(traces)(rows);
static_assert(near(of_traces(1), ct::compiled([](auto v) { return ct::sum(ct::diagonal(ct::jacobian(step)(v))); })(vector{1, 2, 3, 4})));

// ---- none, one, and as many as a name says

static_assert(ct::vmap(doubled)(ct::tensor<double, 0>{}).size() == 0 && ct::vmap(either)(ct::tensor<double, 0>{}).size() == 0);
static_assert(ct::grad([](auto v) { return ct::sum(ct::vmap(doubled)(v)); })(ct::tensor<double, 0>{}).size() == 0);
static_assert(near(ct::vmap(doubled)(ct::tensor<double, 1>{1.5}), ct::tensor<double, 1>{ct::compiled(doubled)(1.5)}));
static_assert(ct::vmap(either)(ct::tensor<float, 2>{2, 0})(0) == 8);
static_assert(std::is_same_v<decltype(ct::vmap(doubled)(ct::tensor<double, "n">(3))), ct::tensor<double, "n">>);

// ---- a branch that a row does not take leaks no NaN, neither do iterations after its last (in main: no constants)

inline constexpr auto safe = [](auto v) { return ct::cond(v > 0, [](auto a) { return ct::sqrt(a) * ct::log(a); }, [](auto a) { return a; })(v); };
inline constexpr auto until_negative = [](auto v, auto w) {
  return ct::while_loop<ct::loop{.max_iterations = 9}>([](auto, auto s) { return s > 0; }, [&](auto, auto s) { return ct::sqrt(s) * w - 1; }, v);
};
inline constexpr auto all_negative = [](auto v, auto w) { return ct::sum(ct::vmap<0, ct::unmapped>(until_negative)(v, w)); };
bool leaks_nothing() {
  vector const from{0.5, 3, -1, 0};
  auto const [by_v, by_w] = ct::grad<0, 1>(all_negative)(from, 0.875);
  double of_w = 0;
  for (int k = 0; k < 4; ++k) {
    auto const [v, w] = ct::grad<0, 1>(until_negative)(from(k), 0.875);
    of_w += w;
    if (!near(by_v(k), v)) return false;
  }
  vector const of_safe = ct::grad([](auto v) { return ct::sum(ct::vmap(safe)(v)); })(vector{1, 0, -3, 4});
  return near(by_w, of_w) && near(of_safe, vector{1, 1, 1, 0.25 * 1.3862943611198906 + 0.5});
}

} // namespace

int main() {
  if (!leaks_nothing()) return 2;
  ct::tensor<double, "n"> from(3);
  from(0) = 1.5, from(1) = 0.5, from(2) = 20;
  auto const y = ct::vmap(doubled)(from);
  auto const d = ct::grad([](auto v) { return ct::sum(ct::vmap(doubled)(v)); })(from);
  return y(2) == 20 && y(0) == ct::compiled(doubled)(1.5) && d(2) == 1 && d(1) == ct::grad(doubled)(0.5) ? 0 : 1;
}
