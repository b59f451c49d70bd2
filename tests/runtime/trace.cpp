// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace ct = cotangent;

namespace {
inline constexpr auto total = [](auto x, auto y) { return ct::sum(ct::exp(x) * y); };
inline constexpr auto axpy = [](auto a, auto x, auto y) { return a * x + y; };
inline constexpr auto half_square = [](auto x) { return 0.5 * ct::sum(x * x); };
inline constexpr auto two = [](auto x) { return std::pair(ct::sum(x), x * 2); };
} // namespace

TEST_CASE("a compiled function of tensors returns tensors, and of rank 0 a number") {
  ct::tensor<double, 3> const x{1, 2, 3}, y{4, 5, 6};
  double const value = ct::compiled(total)(x, y);
  CHECK(value == Approx(std::exp(1) * 4 + std::exp(2) * 5 + std::exp(3) * 6));
  ct::tensor<double, 3> const z = ct::compiled(axpy)(2.0, x, y);
  CHECK(z == ct::tensor<double, 3>{6, 9, 12});
}

TEST_CASE("gradients are returned for one position, and as a tuple for several") {
  ct::tensor<double, 3> const x{1, 2, 3}, y{4, 5, 6};
  auto const dx = ct::grad(total)(x, y);
  auto const [value, both] = ct::value_and_grad<0, 1>(total)(x, y);
  for (int i = 0; i < 3; ++i) {
    CHECK(dx(i) == Approx(std::exp(x(i)) * y(i)));
    CHECK(std::get<0>(both)(i) == dx(i));
    CHECK(std::get<1>(both)(i) == Approx(std::exp(x(i))));
  }
  CHECK(value == Approx(ct::compiled(total)(x, y)));
}

TEST_CASE("every call starts from zero") {
  ct::tensor<double, 2> const x{1, 2};
  CHECK(ct::grad(half_square)(x) == ct::grad(half_square)(x));
}

TEST_CASE("arrays, vectors, spans and views are arguments, and their gradients own their memory") {
  std::vector<double> const v{1, 2, 3};
  std::vector<double> const dv = ct::grad(half_square)(v);
  CHECK(dv == v);
  std::array<double, 2> const a{4, 5};
  CHECK(ct::grad(half_square)(a) == a);
  auto const ds = ct::grad(half_square)(std::span<double const>(v));
  CHECK(ds.size() == 3);
  CHECK(ds(2) == 3);
  ct::tensor<double, "n"> const dn = ct::grad(half_square)(ct::view<double const, "n">(v));
  CHECK(dn(1) == 2);
}

TEST_CASE("vectors without named sizes are combined only with themselves") {
  std::vector<double> const v{1, 2, 3};
  std::vector<double> const w = ct::grad([](auto x, auto y) { return ct::sum(x * x) * ct::sum(y); })(v, v);
  CHECK(w[2] == 6 * 6);
}

TEST_CASE("named extents are bound when the program is called") {
  auto const mean_of = ct::compiled([](auto x, auto w) { return ct::matmul(x, w); });
  ct::tensor<float, "n", 3> x(2);
  ct::tensor<float, 3, "m"> w(4);
  x.fill(1);
  w.fill(2);
  auto const y = mean_of(x, w);
  CHECK(y.extent(0) == 2);
  CHECK(y.extent(1) == 4);
  CHECK(y(1, 3) == 6);
}

TEST_CASE("one name for two sizes is an error that names both") {
  ct::tensor<double, "n"> x(3), y(4);
  std::string said;
  try {
    (void)ct::compiled(total)(x, y);
  } catch (ct::shape_error const& e) { said = e.what(); }
  CHECK(said == "cotangent: call: the size 4 of axis 0 of argument 1 must equal the extent n, which axis 0 "
                "of argument 0 "
                "binds to 3");
}

TEST_CASE("shapes that depend on names are computed at the call") {
  auto const joined = ct::compiled([](auto x, auto y) { return ct::concatenate<0>(x, y); });
  ct::tensor<double, "n"> x(3);
  ct::tensor<double, "m"> y(2);
  x.fill(1);
  y.fill(2);
  auto const z = joined(x, y);
  REQUIRE(z.size() == 5);
  CHECK(z(2) == 1);
  CHECK(z(3) == 2);
}

TEST_CASE("a range beyond a named extent is reported at the call") {
  auto const part = ct::compiled([](auto x) { return ct::sum(x(ct::range<1, 4>)) + x(-1); });
  CHECK(part(std::vector<double>{1, 2, 3, 4, 5}) == 2 + 3 + 4 + 5);
  std::string said;
  try {
    (void)part(std::vector<double>{1, 2, 3});
  } catch (ct::shape_error const& e) { said = e.what(); }
  CHECK(said == "cotangent: call: the end 4 of a range must be at most the extent of its axis, which is 3");
}

TEST_CASE("several results are returned as the tree of the function") {
  auto const [sum, twice] = ct::compiled(two)(ct::tensor<double, 2>{1, 2});
  CHECK(sum == 3);
  CHECK(twice == ct::tensor<double, 2>{2, 4});
}

TEST_CASE("an array of numbers is returned as an array of tensors of rank 0") {
  static constexpr auto both = [](auto x) { return std::array{ct::sum(x), ct::max(x)}; };
  ct::tensor<double, 3> const x{1, 5, 2};
  auto const r = ct::compiled(both)(x);
  CHECK(r[0] == 8.0);
  CHECK(r[1] == 5.0);
}

TEST_CASE("indices select elements, rows and windows, and gradients return there") {
  auto const picked = [](auto x) {
    return ct::sum(x(0) * x(ct::range<1>, 2)(0)) + x(-1, -1) * x(ct::all, 1)(0);
  };
  ct::tensor<double, 2, 3> const x{{1, 2, 3}, {4, 5, 6}};
  auto const [value, g] = ct::value_and_grad(picked)(x);
  CHECK(value == (1 + 2 + 3) * 6 + 6 * 2);
  CHECK(g == ct::tensor<double, 2, 3>{{6, 6 + 6, 6}, {0, 0, 6 + 2}});
}

TEST_CASE("comparisons select, and do not stop gradients") {
  auto const clipped = [](auto x) { return ct::sum(ct::select(x > 1 && x < 3, x * x, 0)); };
  CHECK(ct::grad(clipped)(ct::tensor<double, 3>{1, 2, 3}) == ct::tensor<double, 3>{0, 4, 0});
}

TEST_CASE("integers are used in arithmetic, conversions and indices") {
  auto const f = [](auto labels) { return ct::sum(labels * 2 + 1); };
  CHECK(ct::compiled(f)(ct::tensor<int, 3>{1, 2, 3}) == 15);
  auto const chosen = [](auto table, auto rows) { return ct::gather(table, rows); };
  ct::tensor<float, 3> const table{10, 20, 30};
  CHECK(ct::compiled(chosen)(table, ct::tensor<int, 4>{2, 0, 0, 1}) == ct::tensor<float, 4>{30, 10, 10, 20});
}

TEST_CASE("an index out of range is reported at run time") {
  auto const chosen = ct::compiled([](auto table, auto rows) { return ct::gather(table, rows); });
  CHECK_THROWS_AS(chosen(ct::tensor<float, 3>{10, 20, 30}, ct::tensor<int, 1>{3}), ct::shape_error);
}

TEST_CASE("softmax, logsumexp and cross entropy agree with their formulas") {
  ct::tensor<double, 2, 3> const z{{1, 2, 3}, {3, 1, 0}};
  ct::tensor<int, 2> const labels{2, 1};
  auto const p = ct::compiled([](auto x) { return ct::softmax(x); })(z);
  auto const loss = ct::compiled([](auto x, auto l) { return ct::cross_entropy(x, l); })(z, labels);
  auto const gradient = ct::grad([](auto x, auto l) { return ct::sum(ct::cross_entropy(x, l)); })(z, labels);
  for (int i = 0; i < 2; ++i) {
    double s = 0;
    for (int j = 0; j < 3; ++j) s += std::exp(z(i, j));
    CHECK(loss(i) == Approx(std::log(s) - z(i, labels(i))));
    for (int j = 0; j < 3; ++j) {
      CHECK(p(i, j) == Approx(std::exp(z(i, j)) / s));
      CHECK(gradient(i, j) == Approx(std::exp(z(i, j)) / s - (j == labels(i) ? 1 : 0)));
    }
  }
}

TEST_CASE("the exact form agrees up to rounding") {
  ct::tensor<double, 3> const x{1, 2, 3}, y{4, 5, 6};
  CHECK(ct::compiled(ct::exact(total))(x, y) == Approx(ct::compiled(total)(x, y)));
  CHECK(ct::grad(ct::exact(total))(x, y)(0) == Approx(ct::grad(total)(x, y)(0)));
}

TEST_CASE("nodes know their source line") {
  static constexpr auto f = [](auto x) {
    auto y = x * 2; // the line after the next number
    return ct::exp(y);
  };
  constexpr unsigned first = __LINE__ - 3;
  using P = ct::program<decltype(ct::compiled(f)), ct::tensor<double, 8>>;
  REQUIRE(P::graph.node_count >= 2);
  bool multiplication = false, exponential = false;
  for (int i = 0; i < P::graph.node_count; ++i) {
    std::string const name = P::graph.nodes[i].op->name;
    multiplication = multiplication || (name == "mul" && P::graph.nodes[i].where.line() == first);
    exponential = exponential || (name == "exp" && P::graph.nodes[i].where.line() == first + 1);
  }
  CHECK(multiplication);
  CHECK(exponential);
}

TEST_CASE("empty tensors are accepted") {
  CHECK(ct::compiled(half_square)(std::vector<double>{}) == 0);
  CHECK(ct::grad(half_square)(std::vector<double>{}).empty());
}
