// SPDX-License-Identifier: BSL-1.0
// Sparse Jacobians and Hessians of functions of run-time expressions, against dense ones and compiled ones.
#include "catch.hpp"

#include "../words.hpp"

#include <cotangent/sparse.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

inline constexpr auto chain = [](auto x) {
  auto const a = x(ct::range<0, -1>), b = x(ct::range<1>);
  return ct::sum(100 * ct::square(b - a * a) + ct::square(1 - a));
};
inline constexpr auto differences = [](auto x) {
  auto const a = x(ct::range<0, -1>), b = x(ct::range<1>);
  return ct::square(b) - ct::sin(a) * b;
};

numbers ramp(std::int64_t n) {
  numbers x;
  for (std::int64_t k = 0; k < n; ++k) x.push_back(0.5 + 0.01 * static_cast<double>(k));
  return x;
}

/// The elements of `sparse.dense()`, and of the dense Jacobian with its axes joined.
template <class F>
void agrees(ct::dynamic::graph& g, F const& f, ct::dynamic::sizes const& shape, std::int64_t elements, std::int64_t colors) {
  auto const x = g.input<double>("x", shape);
  auto const m = ct::sparse_jacobian(f)(x);
  auto const dense = ct::jacobian(f)(x);
  CHECK(m.elements == elements);
  CHECK(m.colors == colors);
  REQUIRE(static_cast<std::int64_t>(m.row_indices.size()) == m.elements);
  REQUIRE(static_cast<std::int64_t>(m.column_indices.size()) == m.elements);
  REQUIRE(static_cast<std::int64_t>(m.row_starts.size()) == m.rows + 1);
  auto const direction = g.input<double>("v", {m.columns});
  auto const all = m.dense(), product = m.times(direction);
  numbers const at = ramp(x.size()), v = ramp(m.columns);
  numbers some(static_cast<std::size_t>(m.elements)), whole(static_cast<std::size_t>(m.rows * m.columns)), full(whole.size()),
      times(static_cast<std::size_t>(m.rows));
  auto p = g.compile({m.values, all, dense, product});
  p.bind(x, at);
  p.bind(direction, v);
  p.bind(m.values, some);
  p.bind(all, whole);
  p.bind(dense, full);
  p.bind(product, times);
  p.run();
  for (std::size_t k = 0; k < whole.size(); ++k) REQUIRE(whole[k] == Approx(full[k]).margin(1e-12));
  std::int64_t zeros = 0;
  for (double const e : full) zeros += e == 0;
  CHECK(m.rows * m.columns - zeros <= m.elements);
  for (std::int64_t r = 0, k = 0; r < m.rows; ++r) {
    double sum = 0;
    for (; k < m.row_starts[static_cast<std::size_t>(r) + 1]; ++k) {
      auto const at_k = static_cast<std::size_t>(k);
      REQUIRE(m.row_indices[at_k] == r);
      REQUIRE(some[at_k] == whole[static_cast<std::size_t>(r * m.columns + m.column_indices[at_k])]);
      sum += some[at_k] * v[static_cast<std::size_t>(m.column_indices[at_k])];
    }
    REQUIRE(times[static_cast<std::size_t>(r)] == Approx(sum).margin(1e-12));
  }
}

template <class F> void agrees(F const& f, ct::dynamic::sizes const& shape, std::int64_t elements, std::int64_t colors) {
  ct::dynamic::graph g;
  agrees(g, f, shape, elements, colors);
}

} // namespace

TEST_CASE("sparse Jacobians of run-time expressions are the dense ones without zeros") {
  agrees(differences, {7}, 12, 2);
  agrees(ct::grad(chain), {9}, 25, 3);
  agrees([](auto x) { return ct::exp(x) * x; }, {3, 4}, 12, 1);
  agrees([](auto x) { return ct::softmax(x); }, {3, 4}, 48, 4);
  agrees([](auto x) { return ct::sum(x * x); }, {50}, 50, 1);
  agrees([](auto x) { return ct::transpose(x) * 2.0; }, {3, 4}, 12, 1);
  agrees([](auto x) { return ct::cumsum(x); }, {5}, 25, 5); // of whole tensors: dense
  agrees([](auto x) { return x; }, {}, 1, 1);
  agrees([](auto x) { return x * 3.0; }, {0}, 0, 0);
}

TEST_CASE("the pattern of a run-time function is that of the compiled one") {
  ct::tensor<double, 40> at;
  for (int k = 0; k < 40; ++k) at(k) = 0.5 + 0.01 * k;
  auto const compiled = ct::sparse_hessian(chain)(at);
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {40});
  auto const m = ct::sparse_hessian(chain)(x);
  REQUIRE(m.elements == compiled.elements);
  CHECK(m.colors == compiled.colors);
  CHECK(m.rows == compiled.rows);
  CHECK(m.columns == compiled.columns);
  numbers values(static_cast<std::size_t>(m.elements));
  auto p = g.compile({m.values});
  p.bind(x, at);
  p.bind(m.values, values);
  p.run();
  for (std::size_t k = 0; k < values.size(); ++k) {
    REQUIRE(m.row_indices[k] == compiled.row_indices[k]);
    REQUIRE(m.column_indices[k] == compiled.column_indices[k]);
    REQUIRE(values[k] == Approx(compiled.values(static_cast<std::int64_t>(k))));
  }
}

TEST_CASE("indices that a graph holds as a constant keep the pattern of a mesh exact") {
  // springs between random points: the Hessian of their energy has a row for each point, with its neighbors
  int const points = 3000, springs = 5000;
  std::vector<std::int64_t> from, to;
  std::uint32_t state = 7;
  auto const next = [&] { return state = state * 1664525u + 1013904223u, static_cast<std::int64_t>(state >> 8); };
  for (int k = 0; k < springs; ++k) {
    from.push_back(next() % points);
    to.push_back((from.back() + 1 + next() % 40) % points);
  }
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {points});
  auto const a = g.constant(from), b = g.constant(to);
  auto const energy = [&](auto y) {
    auto const d = ct::gather(y, a) - ct::gather(y, b);
    return ct::sum(ct::exp(0.1 * d * d));
  };
  auto const m = ct::sparse_hessian(energy)(x);
  CHECK(m.elements <= points + 2 * springs);
  CHECK(m.elements > springs);
  CHECK(m.colors < 40);
  auto const u = g.input<double>("u", {points});
  auto const product = m.times(u), by_hvp = ct::hvp(energy)(x, u);
  numbers at; // (springs join the first points and the last, too)
  for (int k = 0; k < points; ++k) at.push_back(std::sin(0.01 * k));
  numbers direction, one(points), other(points);
  for (int k = 0; k < points; ++k) direction.push_back(1 - 0.001 * (k % 17));
  auto p = g.compile({product, by_hvp});
  p.bind(x, at);
  p.bind(u, direction);
  p.bind(product, one);
  p.bind(by_hvp, other);
  p.run();
  for (std::size_t k = 0; k < one.size(); ++k) REQUIRE(one[k] == Approx(other[k]).margin(1e-9));
}

TEST_CASE("many groups of elements for each observation become one for its block of inputs") {
  // The entries of a matrix for each observation, of the parameters of its camera: 32 groups for each of 300 observations.
  std::vector<std::int64_t> camera, point;
  for (int k = 0; k < 300; ++k) camera.push_back(k * 7 % 5), point.push_back(k * 11 % 20);
  ct::dynamic::graph g;
  auto const cameras = g.constant(camera), points = g.constant(point);
  auto const f = [&](auto x) {
    auto const c = ct::gather(ct::reshape(x(ct::dynamic::between(0, 20)), {5, 4}), cameras);
    auto const p = ct::gather(x(ct::dynamic::between(20, 40)), points);
    std::vector<ct::dynamic::expr<double>> entries;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        entries.push_back(ct::sin(c(ct::all, ct::dynamic::between(i, i + 1))) * c(ct::all, ct::dynamic::between(j, j + 1)));
    return ct::concatenate(entries, 1) * ct::expand(p, 1);
  };
  agrees(g, f, {40}, 300 * 16 * 5, 5); // 4 parameters and one point
}

TEST_CASE("indices that are inputs count as dense") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {5});
  auto const at = g.input<std::int64_t>("at", {3});
  auto const held = g.constant(std::vector<std::int64_t>{4, 0, 1});
  CHECK(ct::sparse_jacobian([&](auto y) { return ct::square(ct::gather(y, at)); })(x).elements == 15);
  CHECK(ct::sparse_jacobian([&](auto y) { return ct::square(ct::gather(y, held)); })(x).elements == 3);
}

TEST_CASE("sparse Jacobians of values computed before, of captured values, and in bodies of loops") {
  // captured values are constants; the argument may be any expression
  agrees([](auto x) { return ct::square(x); }, {6}, 6, 1);
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {6});
  auto const twice = 2.0 * x;
  auto const m = ct::sparse_jacobian([&](auto y) { return y * ct::sum(x) + ct::reverse(x); })(twice);
  CHECK(m.elements == 6);
  // in the body of a loop: Newton's method for y^3 = x, whose Jacobian is a diagonal
  auto const solved = ct::for_loop(40, [&](auto, auto y) {
    auto const residual = [&](auto z) { return z * z * z - twice; };
    auto const j = ct::sparse_jacobian(residual)(y);
    return y - residual(y) / j.values;
  }, twice * 0.0 + 1.5);
  numbers const at = ramp(6);
  numbers diagonal(6), roots(6);
  auto p = g.compile({m.values, solved});
  p.bind(x, at);
  p.bind(m.values, diagonal);
  p.bind(solved, roots);
  p.run();
  double sum = 0;
  for (double const e : at) sum += e;
  for (std::size_t k = 0; k < 6; ++k) {
    CHECK(diagonal[k] == Approx(sum));
    CHECK(roots[k] * roots[k] * roots[k] == Approx(2 * at[k]));
  }
}

TEST_CASE("sparse Jacobians of run-time expressions are differentiated and batched") {
  ct::dynamic::graph g;
  auto const scale = g.input<float>("scale");
  auto const x = g.input<float>("x", {3, 4});
  // of the second of two arguments: the derivative of scale y^2 at y is 2 scale y, in each row
  auto const row = [&](auto y) { return ct::sparse_jacobian<1>([](auto s, auto z) { return s * z * z; })(scale, y).values; };
  auto const rows = ct::vmap(row)(x);
  auto const loss = ct::sum(ct::square(rows));
  auto const d = g.gradient<float>({loss}, {x, scale});
  auto const by_trace = ct::grad([&](auto y) { return ct::sum(ct::square(row(ct::reshape(y, {12})))); })(x);
  std::vector<float> at(12), first(12), second(12), third(12);
  for (std::size_t k = 0; k < 12; ++k) at[k] = 0.25f * static_cast<float>(k) - 1;
  float three = 3, by_scale = 0, squares = 0;
  auto p = g.compile({rows, d[0], by_trace, d[1]});
  p.bind(scale, three);
  p.bind(x, at);
  p.bind(rows, first);
  p.bind(d[0], second);
  p.bind(by_trace, third);
  p.bind(d[1], by_scale);
  p.run();
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(first[k] == Approx(6 * at[k]));
    CHECK(second[k] == Approx(72 * at[k]));
    CHECK(third[k] == Approx(72 * at[k]));
    squares += 4 * at[k] * at[k];
  }
  CHECK(by_scale == Approx(2 * 3 * squares));
}

TEST_CASE("sparse Jacobians of run-time expressions refuse large patterns and other shapes in words") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {20000});
  auto const nodes = g.get().nodes.size();
  CHECK(refused("at most 2^28 elements", [&] { (void)ct::sparse_jacobian([](auto y) { return ct::cumsum(y); })(x); }));
  CHECK(g.get().nodes.size() == nodes);
  auto const m = ct::sparse_jacobian([](auto y) { return y * y; })(x);
  CHECK(refused("an element for each column", [&] { (void)m.times(g.input<double>("v", {3})); }));
  CHECK_THROWS_AS(ct::dynamic::sparse_matrix<double>().dense(), ct::graph_error);
}
