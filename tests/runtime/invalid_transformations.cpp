// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/sparse.hpp>

#include "../words.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Transformations of functions of expressions of run-time graphs: in bodies, through views, of trees, of empty shapes, and refused.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using numbers = std::vector<double>;

template <class T> numbers value_of(dynamic::graph& g, dynamic::expr<T> const& y) {
  auto p = g.compile({y});
  p.run();
  auto const v = p.value(y);
  return numbers(v.begin(), v.end());
}
bool near(numbers const& a, numbers const& b, double tolerance = 1e-12) {
  bool all = a.size() == b.size();
  for (std::size_t k = 0; all && k < a.size(); ++k)
    all = std::abs(a[k] - b[k]) <= tolerance * (1 + std::abs(b[k]));
  return all;
}
inline constexpr auto squares = [](auto y) { return ct::sum(y * y); };

TEST_CASE("Transformations in bodies close over values of the graph and of the bodies around them") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2}), w = g.constant(numbers{3, 4});
  // two steps of gradient descent on 0.5 w y^2, so that y becomes (1 - 0.1 w)^2 y
  auto const energy = [&](auto y) { return 0.5 * ct::sum(w * y * y); };
  auto const descend = [&](auto from) {
    return ct::for_loop(2, [&](auto, auto y) { return y - 0.1 * ct::grad(energy)(y); }, from);
  };
  CHECK(near(value_of(g, descend(x)), {0.49, 0.72}));
  CHECK(near(value_of(g, ct::jacobian(descend)(x)), {0.49, 0, 0, 0.36}));
  CHECK(near(value_of(g, g.gradient({ct::sum(descend(x))}, {w}).front()), {-0.14, -0.24}));
  auto const row = [&](auto r) {
    return ct::for_loop(
        2, [&](auto, auto s) { return s + ct::jvp([&](auto t) { return t * t * r; })(s, w).second; }, r);
  };
  auto const m = g.constant(numbers{1, 2, 0, 1}, {2, 2});
  CHECK(near(value_of(g, ct::map(row, m)), {49, 578, 0, 81})); // s (1 + 2 w r) twice
  CHECK(near(value_of(g, ct::vmap(row)(m)), {49, 578, 0, 81}));
  auto const picked =
      ct::cond(ct::sum(x) < 0.0, squares, [&](auto y) { return ct::sum(ct::hvp(squares)(y, w)); });
  CHECK(value_of(g, picked(x)).front() == 14);
  auto const [last, all] = ct::scan(
      [&](auto c, auto r) { return std::pair(ct::grad(squares)(c) + r, ct::sum(ct::grad(energy)(c))); }, x,
      m);
  CHECK(near(value_of(g, last), {6, 13}));
  CHECK(near(value_of(g, all), {11, 33}));
  CHECK(near(value_of(g, g.gradient({ct::sum(all)}, {m}).front()), {3, 4, 0, 0}));
}
TEST_CASE("Pullbacks and linear maps are called any number of times, pullbacks also in bodies") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2}), w = g.constant(numbers{3, 4});
  auto const [y, back] =
      ct::vjp([&](auto z) { return ct::for_loop(2, [](auto, auto s) { return s * s; }, z); })(x);
  CHECK(near(value_of(g, y), {1, 16}));
  CHECK(near(value_of(g, back(w)), {12, 128}));
  CHECK(near(value_of(g, back(x)), {4, 64}));
  auto const summed = ct::for_loop(2, [&](auto, auto s) { return s + ct::sum(back(w)); }, g.constant(0.0));
  CHECK(value_of(g, summed).front() == 280);
  auto const [z, map] =
      ct::linearize([&](auto v) { return ct::for_loop(2, [](auto, auto s) { return s * s; }, v); })(x);
  CHECK(near(value_of(g, map(w)), {12, 128}));
  CHECK(near(value_of(g, map(x)), {4, 64}));
  auto const [value, one] = ct::vjp(squares)(x);
  CHECK(near(value_of(g, one()), {2, 4}));
}
TEST_CASE("Derivatives go through views and writes; batches read views of captured values, and refuse others") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2, 3, 4});
  auto const read = [&](auto y) { return ct::sum(ct::square(g.view(y, {.offset = {1}, .shape = {2}}))); };
  CHECK(near(value_of(g, ct::grad(read)(x)), {0, 4, 6, 0}));
  CHECK(near(value_of(g, ct::jvp(read)(x, x).second), {26}));
  auto const written = [&](auto y) {
    auto const t = g.tensor<double>("t", {4});
    g.write(g.view(t, {.offset = {1}, .shape = {2}}), ct::exp(y(ct::range<0, 2>)));
    return ct::sum(t * t);
  };
  CHECK(near(value_of(g, ct::grad(written)(x)), {2 * std::exp(2.0), 2 * std::exp(4.0), 0, 0}));
  CHECK(near(value_of(g, ct::jvp(written)(x, x).second), {2 * std::exp(2.0) + 4 * std::exp(4.0)}));
  auto const m = ct::reshape(x, {2, 2});
  auto const part = [&](auto r) { return ct::sum(g.view(r, {.offset = {1}, .shape = {1}})); };
  auto const piece = [&](auto r) {
    auto const t = g.tensor<double>("t", {3});
    g.write(g.view(t, {.offset = {1}, .shape = {2}}), r);
    return ct::sum(t);
  };
  CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views",
                [&] { (void)ct::vmap(part)(m); }));
  CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views",
                [&] { (void)ct::vmap(piece)(m); }));
  for (bool const forward : {true, false}) // a view that is a result, and derivatives that are in pieces
    CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views", [&] {
      auto const tail = [&](auto y) { return g.view(y, {.offset = {1}, .shape = {2}}); };
      forward ? (void)ct::jacfwd(tail)(x) : (void)ct::jacrev(tail)(x);
    }));
  CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views",
                [&] { (void)ct::hessian(read)(x); }));
  CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views", [&] {
    (void)ct::vmap([&](auto r) { // the result of a body
      return ct::for_loop(1, [&](auto, auto a) { return g.view(a, {.shape = {2}, .stride = {1}}); }, r);
    })(m);
  }));
  CHECK(near(value_of(g, ct::map(part, m)), {2, 4})); // row by row
  auto const captured = g.view(x, {.offset = {1}, .shape = {2}}); // the same for all rows
  auto const weighted = [&](auto r) { return ct::sum(r * captured / ct::exp(captured)) * captured; };
  double const e2 = 2 * std::exp(-2.0), e3 = 3 * std::exp(-3.0), first = e2 + 2 * e3, second = 3 * e2 + 4 * e3;
  CHECK(near(value_of(g, ct::vmap(weighted)(m)), {2 * first, 3 * first, 2 * second, 3 * second}, 1e-12));
  CHECK(near(value_of(g, ct::jacobian(weighted)(captured)), {2 * e2, 2 * e3, 3 * e2, 3 * e3}, 1e-12));
  // views of captured values in bodies: a batch copies the bodies
  auto const repeated = [&](auto r) {
    return ct::for_loop(2, [&](auto, auto a) { return a * r + ct::sum(g.view(x, {.offset = {1}, .shape = {2}})); }, r);
  };
  CHECK(near(value_of(g, ct::vmap(repeated)(x)), {1 + 5 + 5, 8 + 10 + 5, 27 + 15 + 5, 64 + 20 + 5}));
  auto const chosen = [&](auto r) {
    return ct::cond(r > 2.5, [&](auto a) { return a * ct::sum(g.view(x, {.offset = {1}, .shape = {2}}) * a); }, [](auto a) { return a; })(r);
  };
  CHECK(near(value_of(g, ct::vmap(chosen)(x)), {1, 2, 45, 80}));
  CHECK(near(value_of(g, ct::grad([&](auto z) { return ct::sum(ct::vmap(chosen)(z)); })(x)), {1, 1, 30, 40}));
  CHECK(refused("vmap, jacobian: the function must not read views of values that vary by row, nor write views", [&] {
    (void)ct::vmap([&](auto r) {
      return ct::for_loop(2, [&](auto, auto a) {
        auto const t = g.tensor<double>("t", {4});
        g.write(g.view(t, {.shape = {4}}), ct::exp(x));
        return a * r + ct::sum(t);
      }, r);
    })(x);
  }));
  CHECK(near(value_of(g, ct::map(piece, m)), {3, 7}));
}
TEST_CASE("Results that are views of values that vary by row: refused by batches, taken row by row by map") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2, 3}), rows = g.constant(numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  auto const last = [&](auto y) { return g.view(y, {.offset = {1}, .shape = {2}}); };
  auto const backwards = [&](auto y) { return g.view(y, {.offset = {-2}, .shape = {3}, .stride = {-1}}); };
  auto const looped = [&](auto y) { return ct::for_loop(3, [&](auto, auto s) { return backwards(s); }, y); };
  auto const chosen = [&](auto y) { return ct::cond(ct::sum(y) > 8.0, backwards, [](auto s) { return s; })(y); };
  auto const asked = [&](auto y) {
    return ct::while_loop([&](auto, auto, auto more) { return g.view(more, {.shape = {}, .stride = {}}); },
                          [](auto i, auto s, auto) { return std::tuple(s * s, i < 1); }, y, ct::sum(y) > 8.0);
  };
  char const* const sentence = "vmap, jacobian: the function must not read views of values that vary by row, nor write views";
  auto const check = [&](auto const& f) {
    CHECK(refused(sentence, [&] { (void)ct::vmap(f)(rows); }));
    CHECK(refused(sentence, [&] { (void)ct::jacfwd(f)(x); }));
    CHECK(refused(sentence, [&] { (void)ct::jacrev(f)(x); }));
  };
  check(last);
  check(looped);
  CHECK(refused(sentence, [&] { (void)ct::vmap(chosen)(rows); }));
  CHECK(refused(sentence, [&] { (void)ct::vmap(asked)(rows); }));
  CHECK(refused(sentence, [&] { (void)ct::sparse_jacobian(last)(g.input<double>("x", {3})); }));
  CHECK(near(value_of(g, ct::map(last, rows)), {2, 3, 5, 6}));
  CHECK(near(value_of(g, ct::map(looped, rows)), {3, 2, 1, 6, 5, 4}));
  CHECK(near(value_of(g, ct::map(chosen, rows)), {1, 2, 3, 6, 5, 4}));
  CHECK(near(value_of(g, g.gradient({ct::sum(ct::map(last, rows) * 2.0)}, {rows}).front()), {0, 2, 2, 0, 2, 2}));
}
template <class T, ct::extent...> using leaf = dynamic::expr<T>;
template <template <class, ct::extent...> class Tensor> struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (Tensor<double, 2>, w), (Tensor<double>, b));
};
TEST_CASE("Arguments, results, carried values and rows are trees; numbers and constants join the graph") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2});
  layer<leaf> const p{g.constant(numbers{3, 4}), g.constant(5.0)};
  auto const output = [&](auto const& q) { return ct::sum(q.w * x) * q.b; };
  auto const gradient = ct::grad(output)(p);
  CHECK(near(value_of(g, gradient.w), {5, 10}));
  CHECK(value_of(g, gradient.b).front() == 11);
  auto const j = ct::jacobian([](auto const& q) { return std::array{q.w * q.b, q.w}; })(p);
  CHECK(near(value_of(g, j[0].w), {5, 0, 0, 5}));
  CHECK(near(value_of(g, j[0].b), {3, 4}));
  CHECK(near(value_of(g, j[1].b), {0, 0}));
  CHECK(near(value_of(g, ct::grad([](auto) { return 2.0; })(x)), {0, 0}));
  CHECK(near(value_of(g, ct::jvp([](auto) { return ct::zeros<3>(); })(x, x).second), {0, 0, 0}));
  CHECK(value_of(g, ct::vmap([](auto) { return 2.0; })(x)) == numbers{2, 2});
  CHECK(value_of(g, ct::jvp([](auto s) { return s * s; })(ct::sum(x), 2.0).second).front() == 12);
  auto const m = g.constant(numbers{1, 2, 3, 4}, {2, 2});
  auto const [carry, rows] = ct::scan(
      [](auto const& c, auto const& r) {
        return std::pair(std::tuple(std::get<0>(c) + 1, std::get<1>(c) + r.first),
                         std::tuple(r.second * std::get<0>(c), ct::ones<2>()));
      },
      std::tuple(dynamic::expr<double>(0.0), x), std::pair(m, x));
  CHECK(value_of(g, std::get<0>(carry)).front() == 2);
  CHECK(near(value_of(g, std::get<1>(carry)), {5, 8}));
  CHECK(near(value_of(g, std::get<0>(rows)), {0, 2}));
  CHECK(near(value_of(g, std::get<1>(rows)), {1, 1, 1, 1}));
  auto const [pair, total] = ct::for_loop(
      g.constant(std::int64_t{2}),
      [&](auto, auto const& c, auto s) {
        return std::tuple(std::pair(c.first * 2.0, c.second + c.first), s + ct::sum(c.second * x));
      },
      std::pair(x, x), 0.0);
  CHECK(near(value_of(g, pair.second), {4, 8}));
  CHECK(value_of(g, total).front() == 15);
  auto const steps = [](auto const& from) {
    return ct::while_loop<ct::loop{.max_iterations = 2}>(
        [](auto i, auto const& q) { return q.b < 100.0 && i < 5; },
        [](auto, auto const& q) { return layer<leaf>{q.w * q.b, q.b + 1.0}; }, from);
  };
  CHECK(near(value_of(g, steps(p).w), {90, 120}));
  CHECK(value_of(g, steps(p).b).front() == 7);
  CHECK(value_of(g, ct::grad([&](auto const& q) { return ct::sum(steps(q).w); })(p).b).front() ==
        77); // 7 (2 b + 1)
}
TEST_CASE("Empty shapes and one element") {
  dynamic::graph g;
  auto const none = g.full<double>({0}, 1.0), no_rows = g.full<double>({0, 2}, 1.0),
             empty_rows = g.full<double>({2, 0}, 1.0);
  auto const one = g.constant(numbers{3});
  CHECK(value_of(g, ct::grad(squares)(none)).empty());
  CHECK(value_of(g, ct::jacobian([](auto y) { return y * y; })(none)).empty());
  CHECK(value_of(g, ct::hessian(squares)(none)).empty());
  CHECK(value_of(g, ct::vmap(squares)(no_rows)).empty());
  CHECK(value_of(g, ct::vmap(squares)(empty_rows)) == numbers{0, 0});
  CHECK(value_of(g, ct::map(squares, no_rows)).empty());
  auto const step = [](auto c, auto r) { return std::pair(c + ct::sum(r), c * r); };
  CHECK(value_of(g, ct::scan(step, 2.0, no_rows).first).front() == 2);
  CHECK(value_of(g, ct::scan(step, 2.0, no_rows).second).empty());
  CHECK(value_of(g, ct::grad([&](auto y) { return ct::scan(step, 2.0, y).first; })(empty_rows)).empty());
  CHECK(value_of(g, ct::hessian(squares)(one)).front() == 2);
  CHECK(value_of(g, ct::jacrev([](auto y) { return ct::exp(y); })(one)).front() == std::exp(3.0));
}
TEST_CASE("Solutions of vectors, in float and double") {
  dynamic::graph g;
  auto const q = g.constant(numbers{2, 5});
  auto const a = g.constant(numbers{3, 1, 0, 2}, {2, 2});
  auto const solution = [&](auto v) {
    return ct::root([&](auto z, auto c) { return ct::matmul(a, z) + z * z * z - c; }, v * 0.0, v);
  };
  auto const z = value_of(g, solution(q));
  CHECK(near({3 * z[0] + z[1] + z[0] * z[0] * z[0], 2 * z[1] + z[1] * z[1] * z[1]}, {2, 5}));
  double const d0 = 3 + 3 * z[0] * z[0], d1 = 2 + 3 * z[1] * z[1]; // the inverse of {{d0, 1}, {0, d1}}
  for (auto const& j : {ct::jacrev(solution)(q), ct::jacfwd(solution)(q)})
    CHECK(near(value_of(g, j), {1 / d0, -1 / (d0 * d1), 0, 1 / d1}, 1e-9));
  auto const s = g.constant(2.0f);
  auto const root = [](auto c) { return ct::root([](auto y, auto p) { return y * y - p; }, 1.0f, c); };
  CHECK(near(value_of(g, ct::grad(root)(s)), {0.5 / std::sqrt(2.0)}, 1e-6));
  CHECK(near(value_of(g, ct::vmap(root)(g.constant(std::vector<float>{4, 9}))), {2, 3}, 1e-6));
}
TEST_CASE("Solutions without arguments, of expressions that the function captures") {
  dynamic::graph g;
  auto const x = g.constant(9.0), v = g.constant(numbers{4, 9});
  auto const from_number = [](auto a) { return a * ct::root([&](auto z) { return z * z - a; }, 1.0); };
  auto const from_vector = [](auto a) { return ct::sum(a * ct::root([&](auto z) { return z * z - a; }, 0.0 * a + 1.0)); };
  auto const step = [](auto a) { return a * ct::fixed_point([&](auto z) { return (z + a / z) / 2.0; }, 1.0); };
  auto const mixed = [&](auto a) { return ct::root([&](auto z, auto c) { return z * z - c * a; }, 1.0, 4.0); };
  CHECK(near(value_of(g, from_number(x)), {27}));
  CHECK(near(value_of(g, ct::grad(from_number)(x)), {3}));
  CHECK(near(value_of(g, ct::vmap(from_number)(v)), {8, 27}));
  CHECK(near(value_of(g, ct::grad(from_vector)(v)), {2, 3}));
  CHECK(near(value_of(g, step(x)), {27}));
  CHECK(near(value_of(g, ct::jvp(step)(x, g.constant(1.0)).second), {3}));
  CHECK(near(value_of(g, mixed(x)), {6}));
}
TEST_CASE("Absent cotangents after the arguments count as zeros") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 3}), d = g.constant(numbers{1, 2});
  auto const f = [](auto a) { return std::tuple(a * a, ct::argmax(a), ct::sum(a)); };
  CHECK(near(value_of(g, ct::vjp(f)(x, std::tuple(d, ct::absent, ct::absent)).second), {2, 12}));
  CHECK(near(value_of(g, ct::vjp(f)(x, std::tuple(ct::absent, ct::absent, 0.5)).second), {0.5, 0.5}));
  CHECK(near(value_of(g, ct::vjp(squares)(x, ct::absent).second), {0, 0}));
  CHECK(refused("vjp: after the arguments there must be one cotangent",
                [&] { (void)ct::vjp(f)(x, std::tuple(ct::sum(d), ct::absent, ct::absent)); }));
}
TEST_CASE("Transformations refuse shapes and expressions, and leave the graph as it was") {
  dynamic::graph g, h;
  auto const x = g.input<double>("x", {2}), y = g.input<double>("y", {3}), m = g.input<double>("m", {3, 2});
  auto const n = g.input<double>("n", {2, 2, 2, 2, 2});
  auto const other = h.input<double>("other", {2});
  auto const twice = [](auto v) { return v * 2.0; };
  auto const first = g.get().nodes.size();
  auto const tensors = g.get().tensors.size();
  CHECK(refused("grad: the function must return a scalar", [&] { (void)ct::grad(twice)(x); }));
  CHECK(refused("jvp, hvp: after the arguments there must be a tangent for each position",
                [&] { (void)ct::jvp(twice)(x, y); }));
  CHECK(refused("jvp, hvp: after the arguments there must be a tangent for each position",
                [&] { (void)ct::hvp(squares)(x, y); }));
  CHECK(refused("vjp: after the arguments there must be one cotangent", [&] { (void)ct::vjp(twice)(x, y); }));
  CHECK(refused("vmap, map: every tensor of a mapped argument must have the axis that is mapped",
                [&] { (void)ct::vmap<1>(twice)(x); }));
  CHECK(refused("vmap, map: all mapped axes must have the same extent",
                [&] { (void)ct::vmap([](auto a, auto b) { return a + b; })(x, y); }));
  CHECK(refused("jacobian: the axes of an output and of an argument must be at most 8 together",
                [&] { (void)ct::jacobian(twice)(n); }));
  CHECK(refused("the operands must be expressions of one graph", [&] {
    (void)ct::for_loop(h.constant(std::int64_t{2}), [](auto, auto const& c) { return c; }, std::pair(x, x));
  }));
  CHECK(refused("scan: xs must have an axis of rows in front", [&] {
    (void)ct::scan([](auto c, auto r) { return std::pair(c, r); }, 0.0, g.constant(1.0));
  }));
  CHECK(refused("scan: all xs must have",
                [&] { (void)ct::scan([](auto c, auto r, auto) { return std::pair(c, r); }, 0.0, x, y); }));
  CHECK(refused("loop: a carried value must keep its element type and shape",
                [&] { (void)ct::scan([](auto c, auto r) { return std::pair(c + r, c); }, 0.0, m); }));
  CHECK(refused("custom_vjp: the rule must return one cotangent for each argument",
                [&] { (void)ct::custom_vjp(squares, [](auto v, auto, auto) { return ct::sum(v); })(x); }));
  CHECK(refused("custom_jvp: the rule must return the tangent of the result",
                [&] { (void)ct::custom_jvp(twice, [](auto, auto d) { return ct::sum(d); })(x); }));
  for (ct::sequence_options const o : {ct::sequence_options{.segments = -2}, ct::sequence_options{.slots = -2}})
    CHECK(refused("segments and slots must be at least 0, which leaves the number to the library; in checkpoint_sequence, at",
                  [&] { (void)ct::checkpoint_sequence([](auto state, auto layer) { return state * layer; }, o)(x, std::vector{x, x}); }));
  CHECK(refused("root: the first value must be a number or a vector",
                [&] { (void)ct::root([](auto z, auto c) { return z - c; }, m, m); }));
  auto const less_axes = [](auto z, auto c) { return ct::sum(z - c); };
  CHECK(refused("root: the residual must be a value like the first value", [&] { (void)ct::root(less_axes, x, x); }));
  CHECK(refused("fixed_point: the step must return a value like the one that it takes", [&] { (void)ct::fixed_point(less_axes, x, x); }));
  CHECK(has(words_of<ct::error>([&] { (void)ct::fixed_point(less_axes, x, x); }), "invalid_transformations.cpp"));
  // The location of the call, with up to eight arguments.
  CHECK(has(words_of<ct::error>([&] { (void)ct::grad([](auto v, auto...) { return v; })(x, x, x, x, x, x); }), "invalid_transformations.cpp"));
  CHECK(has(words_of<ct::error>([&] { (void)ct::grad([](auto v, auto...) { return v; })(x, x, x, x, x, x, x, x); }),
            "invalid_transformations.cpp"));
  CHECK(refused("the operands must be expressions of one graph",
                [&] { (void)ct::grad([&](auto v) { return ct::sum(v * other); })(x); }));
  CHECK(refused("the operands must be expressions of one graph", [&] { (void)ct::jvp(twice)(x, other); }));
  CHECK(refused("an expression without operands must be combined with an expression of a graph first",
                [&] { (void)ct::grad([](auto v) { return v * v; })(dynamic::expr<double>(2.0)); }));
  CHECK(refused("an expression must have a value before it is used", [&] {
    (void)ct::grad([](auto a, auto b) { return ct::sum(a * b); })(x, dynamic::expr<double>());
  }));
  CHECK_THROWS_AS(ct::hessian([](auto v) -> decltype(ct::sum(v)) { throw std::runtime_error("mine"); })(x),
                  std::runtime_error);
  CHECK_THROWS_AS(ct::vmap([](auto v) -> decltype(ct::sum(v)) { throw std::runtime_error("mine"); })(m),
                  std::runtime_error);
  CHECK_THROWS_AS(
      ct::scan(
          [](auto c, auto r) -> std::pair<decltype(c), decltype(r)> { throw std::runtime_error("mine"); },
          0.0, m),
      std::runtime_error);
  CHECK(g.get().nodes.size() == first + 1); // the scalar of a test above
  CHECK(g.get().tensors.size() == tensors + 1);
  CHECK(refused("an expression must not be used outside of the loop or branch that made it", [&] {
    dynamic::expr<double> out;
    (void)ct::scan(
        [&](auto c, auto r) {
          out = c + r;
          return std::pair(c, out);
        },
        0.0, x);
    (void)ct::grad(squares)(out);
  }));
  CHECK(refused("an expression must not be used outside of the loop or branch that made it", [&] {
    dynamic::expr<double> out;
    (void)ct::for_loop(
        2,
        [&](auto, auto s) {
          out = s * s;
          return ct::sum(ct::grad([&](auto v) { return ct::sum(v) * s; })(x));
        },
        g.constant(1.0));
    (void)ct::grad([&](auto v) { return ct::sum(v) * out; })(x);
  }));
  CHECK(refused("vjp: a pullback must be given one cotangent", [&] { (void)ct::vjp(twice)(x).second(y); }));
  CHECK(refused("vjp: a pullback must be given one cotangent", [&] { (void)ct::vjp(twice)(x).second(); }));
  CHECK(refused("linearize: the linear map must be given a tangent for each position",
                [&] { (void)ct::linearize(twice)(x).second(y); }));
  auto const map = ct::linearize(squares)(x).second;
  char const* const in_body = "linearize: a linear map must not be called in the body of a loop or in a branch that begins after it; call ct::jvp there";
  CHECK(refused<ct::graph_error>(in_body, [&] { (void)ct::for_loop(3, [&](auto, auto s) { return s * map(s); }, x); }));
  CHECK(refused<ct::graph_error>(in_body, [&] { (void)ct::cond(ct::sum(x) > 0.0, [&](auto s) { return map(s); }, squares)(x); }));
}
TEST_CASE("A refusal before the first operation of a call names the line of the call") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {3, 4}), v = g.input<double>("v", {4}), w = g.input<double>("w", {3}), s = g.input<double>("s");
  auto const yes = g.input<bool>("yes");
  auto const same = [](auto a) { return a; };
  auto const first = [](auto a, auto) { return a; };
  auto const second = [](auto, auto b) { return b; };
  auto const row = [](auto c, auto r) { return std::pair(c, r); };
  auto const [y, back] = ct::vjp(same)(x);
  auto const map = ct::linearize(same)(x).second;
  auto const elsewhere = [&] { (void)(x * ct::sin(s)); };
  auto const product = [](auto a) { return a * a; };
  auto const norm = [](auto a) { return ct::sum(a * a); };
  // clang-format off: one call a line
#define NAMES_ITS_LINE(...)                                                                                  \
  CHECK(refused(("invalid_transformations.cpp:" + std::to_string(__LINE__)).c_str(), [&] { elsewhere(); (void)(__VA_ARGS__); }))
  NAMES_ITS_LINE(ct::grad(same)(x));
  NAMES_ITS_LINE(ct::grad<0, 1>(first)(x, v));
  NAMES_ITS_LINE(ct::grad<2>([](auto, auto, auto c) { return c; })(s, s, x));
  NAMES_ITS_LINE(ct::value_and_grad([](auto, auto, auto, auto d) { return d; })(s, s, s, x));
  NAMES_ITS_LINE(ct::hessian(same)(x));
  NAMES_ITS_LINE(ct::diagonal_hessian(same)(x));
  NAMES_ITS_LINE(ct::hvp(same)(x, v));
  NAMES_ITS_LINE(ct::jvp(same)(x, v));
  NAMES_ITS_LINE(ct::vjp(same)(x, v));
  NAMES_ITS_LINE(ct::vjp([](auto a) { return std::pair(a, a); })(x, std::pair(v, ct::absent)));
  NAMES_ITS_LINE(ct::hvp(norm)(x, v));
  NAMES_ITS_LINE(ct::jvp(product)(x, v));
  NAMES_ITS_LINE(ct::vjp(product)(x, v));
  NAMES_ITS_LINE(ct::vmap(first)(x, v));
  NAMES_ITS_LINE(ct::vmap<2>(same)(x));
  NAMES_ITS_LINE(ct::vmap(same)(s));
  NAMES_ITS_LINE(ct::vmap(ct::grad(same))(x));
  NAMES_ITS_LINE(ct::checkpoint(ct::grad(same))(x));
  NAMES_ITS_LINE(ct::map(same, s));
  NAMES_ITS_LINE(ct::map(first, x, v));
  NAMES_ITS_LINE(ct::map(ct::vmap(same), w));
  NAMES_ITS_LINE(ct::scan(row, v, s));
  NAMES_ITS_LINE(ct::scan([](auto c, auto r, auto) { return std::pair(c, r); }, v, x, v));
  NAMES_ITS_LINE(ct::root(first, x, v));
  NAMES_ITS_LINE(ct::root([](auto a) { return ct::sum(a); }, x));
  NAMES_ITS_LINE(ct::fixed_point([](auto a) { return ct::sum(a); }, v));
  NAMES_ITS_LINE(ct::root(second, v, w));
  NAMES_ITS_LINE(ct::fixed_point(second, v, w));
  NAMES_ITS_LINE(ct::fixed_point([](auto, auto a, auto) { return a; }, v, w, s));
  NAMES_ITS_LINE(ct::while_loop([&](auto, auto) { return yes; }, [](auto, auto p) { return std::pair(p.second, p.first); }, std::pair(v, w)));
  NAMES_ITS_LINE(ct::for_loop(2, [](auto, auto p) { return std::pair(p.second, p.first); }, std::pair(v, w)));
  NAMES_ITS_LINE(back(v));
  NAMES_ITS_LINE(back());
  NAMES_ITS_LINE(map(v));
#undef NAMES_ITS_LINE
  // clang-format on
}
TEST_CASE("A value of one row, and of a rule, must not leave its function") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto row = ct::sum(x), shared = row, seen = row;
  auto const y = ct::vmap([&](auto a) {
    row = row + a * a;
    shared = shared * 2.0;
    return a * shared;
  })(x);
  auto const z = ct::map([&](auto a) { return ct::for_loop(2, [&](auto, auto s) { return s * a; }, seen); }, x);
  auto const d = ct::grad([&](auto a) {
    return ct::custom_vjp([](auto b) { return b * b; }, [&](auto b, auto, auto slope) {
      seen = slope * b;
      return 2.0 * slope * b;
    })(ct::sum(a));
  })(x);
  CHECK_NOTHROW(g.compile({y, z, d, shared}));
  for (auto const& left : {row, ct::sin(row), seen, ct::sum(z * row)}) {
    std::string const words = words_of<ct::graph_error>([&] { (void)g.compile({y, left}); });
    CHECK(has(words, "a value must not leave the function or rule that it was computed in"));
    CHECK(has(words, "invalid_transformations.cpp"));
  }
  CHECK(refused("a value must not leave the function or rule", [&] { (void)g.compile({g.gradient({row * ct::sum(y)}, {x}).front()}); }));
  CHECK_NOTHROW(g.compile({g.gradient({ct::sum(y * z)}, {x}).front()}));
}
TEST_CASE("Graphs of the symbolic API have transformations, too") {
  dynamic::graph g;
  auto const x = g.constant(numbers{1, 2});
  auto s = g.symbolic();
  auto const y = s.tensor<double>({2}, "y");
  s.exec(dynamic::command::of<ct::op::exp>(), {s.symbol_of(x)}, {y}, "exp");
  auto const e = g.expression<double>(y);
  CHECK(near(value_of(g, ct::grad([&](auto z) { return ct::sum(z * e * z); })(x)),
             {2 * std::exp(1.0), 4 * std::exp(2.0)}));
  auto const f = [&](auto z) { return ct::for_loop(2, [&](auto, auto v) { return v * e; }, z); };
  CHECK(near(value_of(g, ct::jvp(f)(x, x).second), {std::exp(2.0), 2 * std::exp(4.0)}));
  CHECK(near(value_of(g, ct::jacobian(f)(x)), {std::exp(2.0), 0, 0, std::exp(4.0)}));
  CHECK(near(value_of(g, ct::vmap(f)(ct::reshape(x, {1, 2}))), {std::exp(2.0), 2 * std::exp(4.0)}));
}

} // namespace
