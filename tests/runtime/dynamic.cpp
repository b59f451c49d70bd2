// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace user {

/// It has neither `partial` nor `adjoint` nor `derivative`.
struct opaque : cotangent::extend::elementwise<1> {
  static constexpr char const* name = "opaque";
  template <class V> COTANGENT_INLINE static constexpr V apply(V const& a) { return static_cast<V>(a + 1); }
};

} // namespace user

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

/// Whether something is thrown as an E whose words contain all of these.
template <class E, class F> bool refuses(F const& f, std::initializer_list<char const*> words) {
  try {
    f();
  } catch (E const& e) {
    std::string const text = e.what();
    for (char const* const w : words)
      if (text.find(w) == std::string::npos) {
        UNSCOPED_INFO("'" << w << "' is not in: " << text);
        return false;
      }
    return true;
  } catch (std::exception const& e) {
    UNSCOPED_INFO("something else was thrown: " << e.what());
    return false;
  }
  return false;
}

template <class T> bool same_bits(T const* a, T const* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(T)) == 0;
}

inline constexpr auto layer = [](auto x, auto w, auto b) {
  auto h = ct::tanh(ct::matmul(x, w) + b) * 0.5;
  h = h + ct::sigmoid(h) / (1.0 + ct::square(h));
  h += ct::relu(h);
  auto chosen = ct::select(h > 0.25, h, 2.0 * h - 1.0);
  return ct::exp(-chosen) + ct::transpose(ct::transpose(chosen));
};

TEST_CASE("expressions of any element are bound from a list", "[dynamic]") {
  ct::dynamic::graph g;
  std::vector<ct::dynamic::any_expr> weights;
  std::vector<std::vector<double>> memory;
  for (int k = 0; k < 3; ++k) {
    weights.push_back(g.input<double>("w" + std::to_string(k), {2}));
    memory.emplace_back(2, k + 1.0);
  }
  auto const y = ct::sum(weights[0].as<double>() * weights[1].as<double>() * weights[2].as<double>());
  auto p = g.compile({y});
  for (std::size_t k = 0; k < 3; ++k) p.bind(weights[k], memory[k]);
  p.run();
  CHECK(static_cast<double>(p.value(y)) == 12);
  CHECK_THROWS_AS(p.bind(weights[0], std::vector<float>(2)), ct::graph_error);
}

TEST_CASE("one lambda makes a static program and a run-time graph, with equal bits", "[dynamic]") {
  ct::tensor<double, 6, 5> x;
  ct::tensor<double, 5, 7> w;
  ct::tensor<double, 7> b;
  int k = 0;
  for (auto* t : {x.data(), w.data(), b.data()})
    for (std::int64_t i = 0, n = t == x.data() ? 30 : t == w.data() ? 35 : 7; i < n; ++i)
      t[i] = std::sin(++k);
  auto const fixed = ct::compiled(layer)(x, w, b);

  ct::dynamic::graph g;
  auto const gx = g.input<double>("x", {6, 5});
  auto const gw = g.input<double>("w", {5, 7});
  auto const gb = g.input<double>("b", {7});
  auto const y = layer(gx, gw, gb);
  CHECK(y.shape() == ct::shape_of<6, 7>);
  auto p = g.compile({y});
  p.bind(gx, x);
  p.bind(gw, w);
  p.bind(gb, b);
  p.run();
  CHECK(same_bits(p.value(y).data(), fixed.data(), 42));
}

inline constexpr auto rosenbrock = [](auto x) {
  auto const here = x(ct::range<0, 7>), after = x(ct::range<1, 8>);
  return ct::sum(100.0 * ct::square(after - ct::square(here)) + ct::square(1.0 - here));
};

TEST_CASE("a gradient at run time equals that of the static program", "[dynamic]") {
  ct::tensor<double, 8> x{0.1, -1.2, 1.0, 0.7, -0.3, 2.0, 1.5, 0.9};
  auto const [value, gradient] = ct::value_and_grad(rosenbrock)(x);

  ct::dynamic::graph g;
  auto const gx = g.input<double>("x", {8});
  auto const y = rosenbrock(gx);
  auto const dx = g.gradient({y}, {gx}).front();
  auto p = g.compile({y, dx}, {{gx, x}});
  p.run();
  CHECK(double(p.value(y)) == Approx(value).epsilon(1e-14));
  for (std::int64_t i = 0; i < 8; ++i) CHECK(p.value(dx)(i) == Approx(gradient(i)).epsilon(1e-13));
}

TEST_CASE("axes, sizes and positions may be known only when the graph is built", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3, 4});
  int const axis = 1;
  std::vector<std::int64_t> const flat{6, 4};
  CHECK(ct::sum(x, {axis}).shape() == ct::shape_of<2, 4>);
  CHECK(ct::sum(x, {0, -1}, ct::keep).shape() == ct::shape_of<1, 3, 1>);
  CHECK(ct::sum(x, {axis}).id() == ct::sum(x, ct::axes<1>).id());
  CHECK(ct::sum(x, -1).id() == ct::sum(x, {-1}).id());
  CHECK(ct::stack<1>(x, x).rank() == x.rank() + 1);
  CHECK(ct::stack<1>(x, x).extent(1) == 2);
  CHECK(ct::sum(x, ct::dynamic::axis_list(std::vector<int>{})).id() == ct::sum(x, ct::axes<>).id());
  auto const y = ct::exp(x);
  CHECK(ct::sum(y, ct::axes<>).id() == y.id());
  CHECK(ct::mean(x, {2}).id() == ct::mean(x, ct::axes<2>).id());
  CHECK(ct::logsumexp(x, {2}).id() == ct::logsumexp(x, ct::axes<-1>).id());
  CHECK(ct::median(x, {0, 2}).id() == ct::median(x, ct::axes<0, 2>).id());
  CHECK(ct::norm(x, axis).id() == ct::norm(x, ct::axes<1>).id());
  CHECK(ct::norm<3>(x, {-1}, ct::keep).id() == ct::norm<3>(x, ct::axes<2>, ct::keep).id());
  CHECK(ct::softmax(x, axis).id() == ct::softmax<1>(x).id());
  CHECK(ct::argmax(x, 0).id() == ct::argmax<0>(x).id());
  CHECK(ct::reshape(x, flat).id() == ct::reshape<6, 4>(x).id());
  CHECK(ct::permute(x, {2, 0, 1}).id() == ct::permute<2, 0, 1>(x).id());
  CHECK(ct::broadcast_to(x, {5, 2, 3, 4}).id() == ct::broadcast_to<5, 2, 3, 4>(x).id());
  CHECK(x(1, ct::dynamic::between(0, 3, 2), ct::all).id() == x(1, ct::range<0, 3, 2>).id());
  CHECK(x(-1).shape() == ct::shape_of<3, 4>);
  static_assert(std::is_same_v<decltype(ct::argmax(x)), expr<std::int64_t>>);
  static_assert(std::is_same_v<decltype(x > 0), expr<bool>>);
  static_assert(std::is_same_v<decltype(ct::convert<float>(x)), expr<float>>);
  static_assert(std::is_same_v<decltype(ct::one_hot<3>(ct::argmax(x))), expr<float>>);
}

TEST_CASE("positions may be integer expressions, also of parts that are replaced", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const i = g.input<std::int64_t>("i");
  auto const j = g.input<std::int32_t>("j");
  auto const row = x(i), one = x(i, j), column = x(ct::all, j), part = x(i, ct::dynamic::between(1)), last = x(-1, j);
  auto const set = ct::at(x, i, j).set(9.0), added = ct::at(x, i).add(1), fixed = ct::at(x, ct::all, ct::dynamic::between(0, 2)).set(0);
  auto const dx = g.gradient({ct::sum(column * column) + ct::sum(set * set)}, {x}).front();
  auto const trace = ct::for_loop(2, [&](auto k, auto s) { return s + x(k, k) * x(k, k); }, g.constant(0.0));
  auto p = g.compile({row, one, column, part, last, set, added, fixed, dx, trace});
  std::vector<double> const data{1, 5, 3, 4, 2, 6};
  std::int64_t at_i = 1;
  std::int32_t at_j = 2;
  p.bind(x, data);
  p.bind(i, at_i);
  p.bind(j, at_j);
  p.run();
  auto const is = [&](auto const& y, std::vector<double> const& expected) {
    auto const v = p.value(y);
    return std::vector<double>(v.data(), v.data() + v.size()) == expected;
  };
  CHECK(is(row, {4, 2, 6}));
  CHECK(p.value(one) == 6.0);
  CHECK(is(column, {3, 6}));
  CHECK(is(part, {2, 6}));
  CHECK(p.value(last) == 6.0);
  CHECK(is(set, {1, 5, 3, 4, 2, 9}));
  CHECK(is(added, {1, 5, 3, 5, 3, 7}));
  CHECK(is(fixed, {0, 0, 3, 0, 0, 6}));
  CHECK(is(dx, {2, 10, 12, 8, 4, 12}));
  CHECK(p.value(trace) == 5.0);
  at_j = 3;
  CHECK_THROWS_AS(p.run(), ct::error);
  CHECK_THROWS_AS(ct::at(x, i).set(ct::zeros<2>()), ct::shape_error);
}

TEST_CASE("literals and values without operands join the graph of the other operand", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {3});
  expr<float> s = 0.5f;
  s = s + 1.5f; // still a number
  CHECK_FALSE(s.attached());
  auto const y = x * s + ct::zeros<float, 3>() + 1;
  auto const z = ct::max(0, ct::convert<std::int32_t>(x)) + ct::iota<std::int32_t, 3>();
  constexpr std::int64_t large = std::int64_t{1} << 40;
  expr<std::int64_t> const chosen = ct::select(x > 0, 1, large); // (two literals have their common type)
  auto p = g.compile({y, z, chosen});
  p.bind(x, {1.0f, -2.0f, 3.0f});
  p.run();
  CHECK(p.value(y)(0) == 3.0f);
  CHECK(p.value(y)(1) == -3.0f);
  CHECK(p.value(y)(2) == 7.0f);
  CHECK(p.value(z)(0) == 1);
  CHECK(p.value(z)(1) == 1);
  CHECK(p.value(z)(2) == 5);
  CHECK(p.value(chosen)(0) == 1);
  CHECK(p.value(chosen)(1) == large);
}

TEST_CASE("constants are numbers or tensors stored in the graph", "[dynamic]") {
  ct::dynamic::graph g;
  expr<double> y;
  {
    std::vector<double> const table{1, 2, 3, 4, 5, 6};
    auto const c = g.constant(table, {2, 3});
    y = ct::sum(c, ct::axes<1>) * g.constant(2.0) + g.full({2}, 0.5) + g.constant(std::array<double, 1>{3});
  }
  auto p = g.compile({y});
  p.run();
  CHECK(p.value(y)(0) == 15.5);
  CHECK(p.value(y)(1) == 33.5);
  CHECK(refuses<ct::shape_error>([&] { g.constant(std::vector<double>{1, 2}, {3}); },
                                 {"one element", "2", "3"}));
}

TEST_CASE("an error names operation, shapes and source location, and leaves the graph unchanged",
          "[dynamic]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("left", {2, 3});
  auto const b = g.input<double>("right", {4, 5});
  auto const f = g.input<float>("single", {2, 3});
  auto const before = [&] {
    auto const& x = g.get();
    return std::array<int, 7>{x.tensors.size(), x.nodes.size(),   x.ids.size(),  x.numbers.size(),
                              x.shapes.size(),  x.extents.size(), x.names.size()};
  };
  auto const there = ct::exp(a);
  auto const counts = before();
  CHECK(refuses<ct::shape_error>([&] { ct::matmul(a, b); },
                                 {"matmul", "left double [2, 3]", "right double [4, 5]", "dynamic.cpp:"}));
  CHECK(refuses<ct::shape_error>([&] { (void)(a + b); }, {"add", "[2, 3]", "[4, 5]", "dynamic.cpp:"}));
  CHECK(refuses<ct::graph_error>([&] { (void)(a * f); }, {"mul of", "element type", "float [2, 3]"}));
  CHECK(refuses<ct::shape_error>([&] { (void)a(2); }, {"x(i, j, ...)", "2"}));
  CHECK(refuses<ct::shape_error>([&] { (void)a(0, 0, 0); }, {"more indices than axes"}));
  CHECK(refuses<ct::shape_error>([&] { (void)a(ct::dynamic::between(1, 4)); }, {"x(i, j, ...)", "4"}));
  CHECK(refuses<ct::shape_error>([&] { ct::reshape(a, {7}); }, {"reshape", "6", "7"}));
  CHECK(refuses<ct::shape_error>([&] { ct::reshape(a, {-6}); }, {"at least 0"}));
  CHECK(refuses<ct::shape_error>([&] { ct::sum(a, {0, 0}); }, {"sum of", "different"}));
  CHECK(refuses<ct::shape_error>([&] { ct::softmax(ct::cross_entropy(b, ct::argmax(a)), 0); },
                                 {"cross_entropy"}));
  CHECK(refuses<ct::shape_error>([&] { g.gradient({there}, {a}); }, {"gradient", "scalar", "[2, 3]"}));
  CHECK(refuses<ct::unreachable_error>([&] { g.gradient({ct::sum(there)}, {b}, {}, ct::unreachable::error); },
                                       {"right double [4, 5]"}));
  CHECK(refuses<ct::shape_error>([&] { g.input<double>("huge", {1 << 30, 1 << 30, 1 << 30}); }, {"64 bits"}));
  CHECK(refuses<ct::shape_error>([&] { g.input<double>("deep", {1, 1, 1, 1, 1, 1, 1, 1, 1}); }, {"8 axes"}));
  CHECK(refuses<ct::graph_error>([&] { g.gradient_of(a); }, {"gradient_of", "left"}));
  ct::dynamic::graph other;
  auto const stranger = other.input<double>("stranger", {2, 3});
  CHECK(refuses<ct::graph_error>([&] { (void)(a + stranger); }, {"one graph"}));
  CHECK(refuses<ct::graph_error>([&] { g.compile({stranger}); }, {"one graph"}));
  auto sum = ct::sum(a);
  auto const counts_with_sum = before();
  CHECK(refuses<ct::shape_error>([&] { sum += a; }, {"shape"}));
  CHECK(counts_with_sum[0] >= counts[0]);
  CHECK(ct::exp(a).id() == there.id()); // equal nodes are still found
}

TEST_CASE("a failed operation leaves nothing in the graph", "[dynamic]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a", {2, 3});
  auto const b = g.input<double>("b", {4, 5});
  for (int k = 0; k < 100; ++k) (void)(a + double(k)); // the tables have grown
  ct::graph const before = g.get();
  for (int k = 0; k < 100; ++k) {
    CHECK_THROWS_AS((a + 1000.0 + double(k)) * (b + 2000.0), ct::shape_error);
    CHECK_THROWS_AS(g.gradient({ct::square(ct::square(a + double(k)))}, {a}), ct::shape_error);
  }
  // what stood before is there, and equal operations still merge
  for (int i = 0; i < before.nodes.size(); ++i) CHECK(g.get().nodes[i].op == before.nodes[i].op);
  int const nodes = g.get().nodes.size();
  for (int k = 0; k < 100; ++k) (void)(a + double(k));
  CHECK(g.get().nodes.size() == nodes);
}

TEST_CASE("memory is bound late, again, or by copy, and it is checked", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 2});
  auto const s = g.input<double>("s");
  auto const y = x * s;
  auto p = g.compile({y});
  CHECK(refuses<ct::graph_error>([&] { p.run(); }, {"bound", "x double [2, 2]"}));
  CHECK(refuses<ct::graph_error>([&] { (void)p.value(y); }, {"run"}));
  ct::tensor<double, 2, 2> data{{1, 2}, {3, 4}};
  double factor = 2;
  p.bind(x, data);
  p.bind(s, factor);
  p.run();
  CHECK(p.value(y)(1, 1) == 8);
  factor = 3; // read where it lies
  data(0, 0) = 10;
  p.run();
  CHECK(p.value(y)(0, 0) == 30);
  p.bind(s, 4.0); // a temporary is copied
  p.bind(x, std::vector<double>{1, 1, 1, 5});
  p.run();
  CHECK(p.value(y)(1, 1) == 20);
  std::array<double, 4> result{};
  p.bind(y, result); // written there
  p.run();
  CHECK(result[3] == 20);
  CHECK(refuses<ct::shape_error>([&] { p.bind(x, std::vector<double>(3)); }, {"[3]", "[2, 2]", "x"}));
  CHECK(refuses<ct::graph_error>([&] { p.bind(x + 1.0, result); }, {"input or a result"}));
  CHECK(refuses<ct::graph_error>([&] { p.bind(y, std::vector<double>(4)); }, {"writable"}));
  p.bind(x, result); // in place
  p.run();
  CHECK(result[3] == 80);
  CHECK(refuses<ct::shape_error>([&] { (void)p.value(y)(2, 0); }, {"indices"}));
  CHECK(refuses<ct::shape_error>([&] { (void)double(p.value(y)); }, {"one element"}));
}

TEST_CASE("results never share memory", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = g.input<double>("y", {2});
  auto const z = x + y;
  auto const d = g.gradient({ct::sum(z)}, {x, y}); // one value, two results
  auto p = g.compile({d[0], d[1], x, z, x + y});
  p.bind(x, {1.0, 2.0});
  p.bind(y, {3.0, 4.0});
  p.run();
  CHECK(p.value(d[0]).data() != p.value(x).data());
  CHECK(p.value(x)(1) == 2);
  std::array<double, 3> both{};
  auto q = g.compile({z, z * 2.0});
  q.bind(x, {1.0, 2.0});
  q.bind(y, {3.0, 4.0});
  q.bind(z, ct::view<double, 2>(both.data()));
  q.bind(z * 2.0, ct::view<double, 2>(both.data() + 1));
  CHECK(refuses<ct::graph_error>([&] { q.run(); }, {"share memory"}));
}

TEST_CASE("a bound expression that is not an input is written to the bound memory", "[dynamic]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a");
  auto const b = ct::exp(a), c = b + 1.0;
  double in = 2, seen = 0;
  auto p = g.compile({c}, {{a, in}, {b, seen}});
  p.run();
  CHECK(seen == Approx(std::exp(2.0)));
  CHECK(double(p.value(c)) == Approx(std::exp(2.0) + 1));
}

TEST_CASE("copies of a program run in their own threads", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1000});
  auto const y = ct::sum(ct::sin(x) * ct::matmul(ct::reshape(x, {1, 1000}), ct::reshape(x, {1000, 1}))(0, 0));
  auto const dx = g.gradient({y}, {x}).front();
  auto const p = g.compile({y, dx});
  std::vector<double> expected(4), got(4);
  std::vector<std::vector<double>> data(4, std::vector<double>(1000));
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t i = 0; i < 1000; ++i) data[t][i] = std::cos(static_cast<double>(i * (t + 1)));
  auto const run = [&](std::size_t t, std::vector<double>& to, int times) {
    auto own = p;
    own.bind(x, data[t]);
    for (int k = 0; k < times; ++k) own.run();
    to[t] = double(own.value(y)) + own.value(dx)(17);
  };
  for (std::size_t t = 0; t < 4; ++t) run(t, expected, 1);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) threads.emplace_back([&, t] { run(t, got, 50); });
  for (auto& t : threads) t.join();
  CHECK(same_bits(expected.data(), got.data(), 4));
}

TEST_CASE("a graph is a value", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::exp(x);
  ct::dynamic::graph const copy = g;
  ct::dynamic::graph moved = std::move(g);
  auto p = moved.compile({y + 1.0});
  CHECK(copy.get().nodes.size() == 1);
  CHECK(refuses<ct::graph_error>([&] { copy.compile({y}); }, {"one graph"}));
}

// ---- scalar differentiation

TEST_CASE("every path through a scalar graph counts once", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const u = 1.0 / x, v = ct::log(u), w = x * x, z = w + v;
  auto const dx = g.gradient({z}, {x}).front();
  auto p = g.compile({z, dx});
  p.bind(x, 0.84);
  p.run();
  CHECK(double(p.value(z)) == Approx(0.84 * 0.84 - std::log(0.84)));
  CHECK(double(p.value(dx)) == Approx(0.489524).margin(1e-6));
}

TEST_CASE("gradients of unused inputs, of differences, and of one of two outputs", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y");
  auto const v = (x - y) * (y + 1.0);
  auto const d = g.gradient({v}, {x, y});
  auto const nothing = g.gradient({ct::sum(g.full({3}, 1.0))}, {x}).front();
  auto const z = y * x + ct::log(1.0 / x);
  int const before = g.get().nodes.size();
  auto const dy = g.gradient({z}, {y}).front();
  CHECK(g.get().nodes.size() - before <= 2); // the seed, and the product: nothing toward x
  auto p = g.compile({v, d[0], d[1], nothing, z, dy});
  p.bind(x, 43.24);
  p.bind(y, 0.38);
  p.run();
  CHECK(double(p.value(v)) == Approx(59.1468));
  CHECK(double(p.value(d[0])) == Approx(1.38));
  CHECK(double(p.value(d[1])) == Approx(41.48));
  CHECK(double(p.value(nothing)) == 0);
  p.bind(x, 0.84);
  p.bind(y, 1.23);
  p.run();
  CHECK(double(p.value(z)) == Approx(1.2075534));
  CHECK(double(p.value(dy)) == Approx(0.84));
}

TEST_CASE("gradients of several outputs with seeds, and of an output with respect to itself", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x0 = g.input<double>("x0"), x1 = g.input<double>("x1"), seed = g.input<double>("seed");
  auto const f = [](auto x) { return x * x + ct::log(1.0 / x); };
  auto const z0 = f(x0), z1 = f(x1);
  auto const d = g.gradient({z0, z1}, {x0, x1});
  auto const y = x0 * x0, z = y * y;
  auto const self = g.gradient({z}, {z}, {seed}).front();
  auto const both = g.gradient({z, y}, {y}, {g.constant(1.0), seed}).front(); // every seed counts
  CHECK(g.gradient_of(y).id() == both.id());
  auto p = g.compile({d[0], z1, d[1], self, both});
  p.bind(x0, 0.84);
  p.bind(x1, 0.24);
  p.bind(seed, 3.0);
  p.run();
  CHECK(double(p.value(d[0])) == Approx(0.489524).margin(1e-6));
  CHECK(double(p.value(z1)) == Approx(1.4847164));
  CHECK(double(p.value(d[1])) == Approx(-3.6866667));
  CHECK(double(p.value(self)) == 3);
  CHECK(double(p.value(both)) == Approx(2 * 0.84 * 0.84 + 3));
}

TEST_CASE("second derivatives, and gradients of a sum of seventy terms", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::exp(x) + x;
  auto const d = g.gradient({y}, {x}).front();
  auto const dd = g.gradient({d}, {x}).front();
  std::vector<ct::dynamic::any_expr> wrt;
  std::vector<expr<double>> all;
  expr<double> s = 0.0;
  for (int k = 0; k < 70; ++k) {
    all.push_back(g.input<double>("x" + std::to_string(k)));
    wrt.push_back(all.back());
    s += all.back();
  }
  auto const ds = g.gradient({s}, wrt, {g.constant(2.0)});
  std::vector<ct::dynamic::any_expr> outputs{d, dd};
  for (auto const& e : ds) outputs.push_back(e);
  auto p = g.compile(outputs);
  p.bind(x, 1.0);
  p.run();
  CHECK(double(p.value(d)) == Approx(3.71828175).epsilon(1e-7));
  CHECK(double(p.value(dd)) == Approx(2.71828175).epsilon(1e-7));
  for (auto const& e : ds) CHECK(double(p.value(e.as<double>())) == 2);
  CHECK(refuses<ct::graph_error>([&] { (void)ds[0].as<float>(); }, {"element type"}));
}

TEST_CASE("labels of a number, axes and strides beyond the negatable range are refused", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), m = g.input<double>("m", {2, 3});
  auto const i = g.input<std::int64_t>("i");
  CHECK_THROWS_AS(ct::cross_entropy(x, i), ct::shape_error);
  CHECK_THROWS_AS(ct::sum(m, {std::numeric_limits<int>::min()}), ct::shape_error);
  CHECK_THROWS_AS(g.view(m, {.offset = {1}, .shape = {1}, .stride = {INT64_MIN}}), ct::shape_error);
}

TEST_CASE("an operation without an adjoint is refused only on a needed path", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), y = g.input<double>("y", {3});
  auto const z = ct::extend::apply<user::opaque>(std::source_location::current(), x) * y;
  int const before = g.get().nodes.size();
  CHECK(refuses<ct::not_differentiable_error>([&] { g.gradient({ct::sum(z)}, {x}); },
                                             {"must have a derivative; give the operation partial", "opaque"}));
  auto const dy = g.gradient({ct::sum(z)}, {y}).front();
  auto const dx = g.gradient({ct::sum(ct::stop_gradient(z) * x)}, {x}).front();
  CHECK(g.get().nodes.size() > before);
  auto p = g.compile({dy, dx});
  p.bind(x, {1.0, -2.0, 3.0});
  p.bind(y, {4.0, 5.0, 6.0});
  p.run();
  CHECK(p.value(dy)(1) == -1); // opaque(-2)
  CHECK(p.value(dx)(1) == -5);
}

TEST_CASE("one variable with many uses, and two gradients of equal value", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2}), y = g.input<double>("y", {2});
  expr<double> s = x;
  for (int k = 1; k < 8; ++k) s = s + x;
  auto const d8 = g.gradient({ct::sum(s)}, {x}).front();
  auto const both = g.gradient({x + y}, {x, y}, {ct::exp(x)});
  auto const z = ct::tanh(x * y);
  auto p = g.compile({d8, both[0], both[1], z, z + 0.0});
  p.bind(x, {0.5, 2.0});
  p.bind(y, {1.0, 1.0});
  p.run();
  CHECK(p.value(d8)(0) == 8);
  CHECK(p.value(both[0])(1) == Approx(std::exp(2.)));
  CHECK(p.value(both[0])(1) == p.value(both[1])(1));
  // the same expression has one place; what is asked for apart has two
  auto const apart = g.gradient({x + y}, {x, y}, {ct::exp(y)});
  std::vector<double> first(2), second(2);
  auto q = g.compile({ct::exp(x), x * 2.0}, {});
  q.bind(x, {1.0, 1.0});
  CHECK_NOTHROW(q.run());
  auto r = g.compile({apart[0], apart[1]});
  r.bind(y, {1.0, 3.0});
  r.run();
  CHECK(r.value(apart[0])(0) == r.value(apart[1])(0));
  if (apart[0].id() != apart[1].id()) CHECK(r.value(apart[0]).data() != r.value(apart[1]).data());
}

TEST_CASE("gradients of some of the operands of a loop or branch, in any order", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2}), w = g.input<double>("w", {2}), v = g.input<double>("v", {2});
  auto const k = g.input<std::int64_t>("k");
  auto const [a, b] = ct::for_loop(
      3, [&](auto, auto p, auto q) { return std::tuple(q * w, ct::sin(p) + q * v); }, x, x + 1.0);
  auto const c = ct::case_of(
      k, [](auto p, auto q, auto) { return q * p; }, [](auto, auto, auto q) { return q * q; })(a, b, w);
  auto const unused = ct::case_of(k, [](auto p) { return ct::log(p); }, [](auto p) { return p * p; })(x);
  auto const loss = ct::sum(c * b);
  auto const all = g.gradient({loss}, {x, w, v});
  std::vector<ct::dynamic::any_expr> outputs{loss, all[0], all[1], all[2]};
  std::vector<expr<double>> alone;
  for (auto const& of : {x, w, v}) alone.push_back(g.gradient({loss}, {of}).front());
  outputs.insert(outputs.end(), alone.begin(), alone.end());
  auto p = g.compile(outputs);
  ct::tensor<double, 2> X{.3, -.4}, W{.7, 1.1}, V{-.2, .5};
  std::int64_t chosen = 0;
  p.bind(x, X);
  p.bind(w, W);
  p.bind(v, V);
  p.bind(k, chosen);
  for (; chosen < 3; ++chosen) {
    ct::tensor<double, 2>* const at[]{&X, &W, &V};
    p.run();
    std::vector<double> d;
    for (std::size_t j = 0; j < 3; ++j)
      for (std::int64_t i = 0; i < 2; ++i) {
        d.push_back(p.value(all[j])(i));
        CHECK(p.value(alone[j])(i) == Approx(d.back()).epsilon(1e-14));
      }
    for (std::size_t j = 0; j < 6; ++j) {
      double& e = (*at[j / 2])(static_cast<std::int64_t>(j % 2));
      double const was = e;
      e = was + 1e-5;
      p.run();
      double const high = p.value(loss);
      e = was - 1e-5;
      p.run();
      CHECK(d[j] == Approx((high - double(p.value(loss))) / 2e-5).epsilon(1e-7).margin(1e-9));
      e = was;
    }
  }
  (void)unused;
}

TEST_CASE("expressions of a list take numbers, and write to numbers", "[dynamic]") {
  ct::dynamic::graph g;
  std::vector<ct::dynamic::any_expr> all;
  for (char const* name : {"a", "b"}) all.push_back(g.input<double>(name, {}));
  all.push_back(g.input<float>("c", {}));
  auto const y = all[0].as<double>() * all[1].as<double>() + ct::convert<double>(all[2].as<float>());
  std::vector<ct::dynamic::any_expr> const results{y};
  auto p = g.compile(results);
  double const b = 3;
  double to = 0;
  p.bind(all[0], 2);
  p.bind(all[1], b);
  p.bind(all[2], 0.5);
  p.bind(results[0], to);
  p.run();
  CHECK(to == 6.5);
  CHECK_THROWS_AS(p.bind(all[2], b), ct::graph_error);
}

} // namespace
