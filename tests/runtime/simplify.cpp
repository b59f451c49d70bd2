// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../random_graph.hpp"
#include "../simplify_cases.hpp"
#include "../verify_cases.hpp"

#include <cotangent/core/names.hpp>
#include <cotangent/graph/verify.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

using namespace cotangent;
using reference::values;

namespace {

std::string operations_of(extend::graph_view const& g) {
  std::string s;
  for (std::int32_t i = 0; i < g.node_count; ++i) s += std::string(g.nodes[i].op->name) + " ";
  return s;
}

/// Equal up to a relative error, and in what is not finite.
bool close(detail::array<values> const& a, detail::array<values> const& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (int k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return false;
    double size = 1;
    for (extend::scalar const& s : a[k])
      if (std::fabs(s.as<double>()) > size) size = std::fabs(s.as<double>());
    for (int i = 0; i < a[k].size(); ++i) {
      double const x = a[k][i].as<double>(), y = b[k][i].as<double>();
      if (math::is_nan(x) != math::is_nan(y)) return false;
      if (!math::is_nan(x) && x != y && !(std::fabs(x - y) <= tolerance * size)) return false;
    }
  }
  return true;
}

graph random(std::uint64_t seed, int size) {
  extend::builder b;
  reference::dice d(seed);
  reference::random_graph(b, d, size, false, true, seed % 4 == 3);
  REQUIRE(b.failed().why == nullptr);
  return b.get();
}

} // namespace

TEST_CASE("each rewrite leaves the expected operations") {
  for (simplify_cases::sample const& c : simplify_cases::cases) {
    extend::builder b;
    simplify_cases::write(b, c);
    REQUIRE(b.failed().why == nullptr);
    graph const less = detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = c.fuses});
    CAPTURE(c.sentence);
    CHECK(operations_of(less) == c.left);
    CHECK(verify(less).text == nullptr);
  }
}

TEST_CASE("each rewrite keeps the values") {
  for (simplify_cases::sample const& c : simplify_cases::cases) {
    extend::builder b;
    simplify_cases::write(b, c);
    reference::dice d(7);
    detail::array<values> const inputs = reference::inputs_of(b.get(), d, 0.5, 2);
    CAPTURE(c.sentence);
    CHECK(
        close(reference::evaluate(b.get(), inputs),
              reference::evaluate(detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = c.fuses}), inputs),
              1e-14));
  }
}

namespace {

/// The same graph with other sizes; equal shapes are one.
template <class Resize> graph with_sizes(graph g, Resize resize) {
  detail::array<extend::dimensions> const before = g.shapes;
  detail::array<std::int32_t> now(before.size());
  g.shapes.clear();
  for (std::int32_t s = 0; s < before.size(); ++s) {
    extend::dimensions d = before[s];
    for (int k = 0; k < d.rank; ++k) d.size[k] = resize(d.size[k]);
    while (now[s] < g.shapes.size() && !(g.shapes[now[s]] == d)) ++now[s];
    if (now[s] == g.shapes.size()) g.shapes.push(d);
  }
  for (extend::tensor_symbol& t : g.tensors) t.shape = now[t.shape];
  return g;
}
/// The same graph with other sizes than 4 and 3 in its shapes, and in products of these.
graph resized(graph const& g, extend::dimension four, extend::dimension three, extend::dimension both, extend::dimension square) {
  return with_sizes(g, [=](extend::dimension d) {
    return d == 4 ? four : d == 3 ? three : d == 12 ? both : d == 9 ? square : d;
  });
}
/// The same graph where every name is bound to `size`.
graph bound(graph g, extend::dimension size) {
  detail::bindings known;
  known.bind("n", size);
  auto const number = [&](std::int64_t d) {
    return d < 0 ? evaluate(g.extents[static_cast<int>(-1 - d)], known) : d;
  };
  for (extend::node const& n : g.nodes)
    if (n.op == info_of<op::size>())
      for (int k = 0; k < n.attribute_count; ++k)
        g.numbers[n.attribute + k] = number(g.numbers[n.attribute + k]);
  return with_sizes(g, number);
}
/// How many rewrites there are of graphs of these sizes, given as numbers and as names. Each of them leaves the values.
struct rewrites {
  int of_numbers = 0, of_names = 0;
};
rewrites check_rewrites_of(extend::dimension four, extend::dimension three) {
  rewrites count;
  for (simplify_cases::sample const& c : simplify_cases::cases) {
    extend::builder b;
    simplify_cases::write(b, c);
    CAPTURE(c.sentence, four, three);
    detail::simplify_options const options{.rewrite = true, .fuse_multiply_add = c.fuses};
    graph const numbers = resized(b.get(), four, three, four * three, three * three);
    if (verify(numbers).text != nullptr) continue; // a window of these sizes is no window of others
    ++count.of_numbers;
    reference::dice d(7);
    detail::array<values> const inputs = reference::inputs_of(numbers, d, 0.5, 2),
                        wanted = reference::evaluate(numbers, inputs);
    CHECK(close(wanted, reference::evaluate(simplify(numbers, options), inputs), 1e-14));
    if (four != 4) continue;
    graph named = b.get(); // by name, and the size only when it runs
    extend::dimension names[3]{};
    for (int k = 0; k < 3; ++k) {
      named.extents.push(extent::named(k == 0 ? "n" : k == 1 ? "4*n" : "n*n", k == 0 ? 1 : 3));
      names[k] = -named.extents.size();
    }
    named = resized(named, 4, names[0], names[1], names[2]);
    if (verify(named).text != nullptr) continue;
    ++count.of_names;
    CHECK(close(wanted, reference::evaluate(bound(simplify(named, options), three), inputs), 1e-14));
  }
  return count;
}

} // namespace

TEST_CASE("each rewrite keeps the values of empty tensors and of those with one element") {
  for (extend::dimension const n : {0, 1}) {
    rewrites const of_rows = check_rewrites_of(4, n);
    CHECK(of_rows.of_numbers > 100);
    CHECK(of_rows.of_names > 100);
    CHECK(check_rewrites_of(n, 3).of_numbers > 100);
    CHECK(check_rewrites_of(n, n).of_numbers > 100);
  }
}

TEST_CASE("a sum of no elements is 0, whatever factors are pulled out of it") {
  for (extend::dimension const n : {0, 3})
    for (bool const named : {false, true}) {
      auto const value_of = [&](auto write) {
        extend::builder b;
        extend::dimension const size = named ? b.size(extent::named("n", 1)) : n;
        extend::symbol const in[2]{b.symbol_of(element::float64, simplify_cases::shape_of(b, {size})),
                           b.symbol_of(element::float64, 0)};
        b.set_inputs(in, 2);
        extend::symbol const y = write(term{&b, in[0]}, term{&b, in[1]}).id;
        b.set_outputs(&y, 1);
        graph const less = bound(detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = false}), n);
        detail::array<values> inputs;
        inputs.push(values(static_cast<int>(n), extend::scalar::of(2.0)));
        inputs.push(values(1, extend::scalar::of(n == 0 ? 0.0 : 4.0)));
        return reference::evaluate(less, inputs)[0][0].real;
      };
      namespace e = extend;
      CAPTURE(n, named);
      CHECK(value_of([](term x, term s) { return e::sum(x / s, 1); }) == (n == 0 ? 0 : 1.5));
      CHECK(value_of([](term x, term) { return e::sum(x / e::sum(x, 1), 1); }) == Approx(n == 0 ? 0 : 1));
      CHECK(value_of([](term x, term s) { return e::sum(e::broadcast_to(1 / s, x.shape_id()), 1); }) ==
            (n == 0 ? 0 : 0.75));
      CHECK(value_of([](term x, term s) { return e::sum(x * x + 1 / s, 1); }) == (n == 0 ? 0 : 12.75));
      CHECK(value_of([](term x, term s) { return e::sum(x * (x / s), 1); }) == (n == 0 ? 0 : 3));
    }
}

namespace {

/// The largest error, in units of 2^-24 of the exact value, of a formula of four float tensors (two of [8, 64], a row,
/// a scalar) after simplify. What is exact is the formula as it stands, in double.
template <class F> double units_of_error(F formula, bool rewrite = true) {
  auto const evaluated = [&](element type, bool simplifies) {
    extend::builder b;
    std::int32_t const shapes[]{simplify_cases::shape_of(b, {8, 64}), simplify_cases::shape_of(b, {8, 64}),
                                simplify_cases::shape_of(b, {64}), 0};
    extend::symbol in[4]{};
    for (int k = 0; k < 4; ++k) in[k] = b.symbol_of(type, shapes[k]);
    b.set_inputs(in, 4);
    extend::symbol const y = formula(term{&b, in[0]}, term{&b, in[1]}, term{&b, in[2]}, term{&b, in[3]}).id;
    b.set_outputs(&y, 1);
    reference::dice d(5);
    detail::array<values> at = reference::inputs_of(b.get(), d, 0.5, 2);
    for (values& v : at)
      for (extend::scalar& s : v) s.real = static_cast<float>(s.real);
    return reference::evaluate(
        simplifies ? detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = false}) : b.get(), at)[0];
  };
  values const exact = evaluated(element::float64, false), found = evaluated(element::float32, rewrite);
  double largest = 0;
  for (int i = 0; i < exact.size(); ++i)
    largest = std::fmax(largest, std::fabs(found[i].real / exact[i].real - 1) * 16777216);
  return largest;
}

} // namespace

TEST_CASE("errors stay within their bounds") {
  auto const p = [](term x, double e) { return extend::apply<op::pow>(x, extend::constant_like(x, e)); };
  // a little more than the bound, which is to first order
  CHECK(units_of_error([&](term x, term, term, term) { return p(x, 2); }) <= 1.001);
  CHECK(units_of_error([&](term x, term, term, term) { return p(x, 3); }) <= 2.001);
  CHECK(units_of_error([&](term x, term, term, term) { return p(x, -1); }) <= 1.001);
  CHECK(units_of_error([&](term x, term, term, term) { return p(x, 0.5); }) <= 1.001);
  CHECK(units_of_error([](term x, term, term, term) { return x / 3; }) <= 2.001);
  CHECK(units_of_error([](term x, term, term, term) { return x / 4; }) == 0);
  CHECK(units_of_error([](term x, term, term, term s) { return x / s; }) <= 2.001);
  CHECK(units_of_error([](term x, term, term row, term) { return x / row; }) <= 2.001);
  CHECK(units_of_error([](term x, term, term row, term s) { return x * row * s; }) <= 2.001);
  CHECK(units_of_error([](term x, term y, term row, term s) { return (x * row) * (y * s); }) <= 3.001);
  CHECK(units_of_error([](term x, term y, term row, term) { return (x * row) * y; }) <= 2.001);
  CHECK(units_of_error([](term x, term y, term row, term) { return (x * row) / y; }) <= 2.001);
  CHECK(units_of_error([](term x, term y, term row, term) { return x / (y * row); }) <= 3.001);
  CHECK(units_of_error([](term x, term, term, term s) {
          return x / s + extend::broadcast_to(3 / s, x.shape_id());
        }) <= 3.001); // of the addition 1 more
  // the measure sees more than one rounding
  CHECK(units_of_error([](term x, term y, term row, term) { return x * y * row; }, false) > 1);
}

TEST_CASE("the comparison of values notices a wrong one") {
  detail::array<values> a, b;
  a.push(values(2, extend::scalar::of(1.0)));
  b.push(values(2, extend::scalar::of(1.0)));
  CHECK(close(a, b, 1e-14));
  b[0][1] = extend::scalar::of(1.0 + 1e-12);
  CHECK_FALSE(close(a, b, 1e-14));
  b[0][1] = extend::scalar::of(std::bit_cast<double>(std::uint64_t{0x7ff8000000000000}));
  CHECK_FALSE(close(a, b, 1e-14));
}

TEST_CASE("random graphs keep their values") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    graph const g = random(seed, 60);
    REQUIRE(verify(g).text == nullptr);
    reference::dice d(seed);
    detail::array<values> const inputs = reference::inputs_of(g, d, -1.5, 1.5),
                        wanted = reference::evaluate(g, inputs);
    for (bool fuse : {false, true}) {
      graph const less = detail::simplify(g, {.rewrite = true, .fuse_multiply_add = fuse});
      REQUIRE(verify(less).text == nullptr);
      CHECK(less.nodes.size() <= g.nodes.size() + 3);
      CHECK(close(wanted, reference::evaluate(less, inputs), 1e-10));
    }
    CHECK(close(wanted, reference::evaluate(detail::simplify(g, {.rewrite = false}), inputs), 0));
  }
}

TEST_CASE("simple graphs stay unchanged") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    graph const once = detail::simplify(random(seed, 60), {.rewrite = true, .fuse_multiply_add = false});
    graph const twice = detail::simplify(once, {.rewrite = true, .fuse_multiply_add = false});
    CHECK(twice.nodes.size() <= once.nodes.size());
    CHECK(operations_of(detail::simplify(once, {.rewrite = false})) == operations_of(once));
  }
}

TEST_CASE("inputs and outputs keep their number and order") {
  extend::builder b;
  extend::symbol const in[]{b.symbol_of(element::float32, 0), b.symbol_of(element::float64, 0),
                    b.symbol_of(element::float64, 0)};
  b.set_inputs(in, 3);
  term const x{&b, in[1]};
  extend::symbol const out[]{(x + 0).id, in[2], (x * 1).id, extend::apply<op::exp>(x).id};
  b.set_outputs(out, 4);
  graph const less = detail::simplify(b.get());
  extend::graph_view const g = less;
  REQUIRE(g.input_count() == 3);
  CHECK(g.tensors[g.input(0)].type == element::float32);
  REQUIRE(g.output_count() == 4);
  CHECK(g.output(0) == g.input(1));
  CHECK(g.output(1) == g.input(2));
  CHECK(g.output(2) == g.input(1));
  CHECK(g.producer(g.output(3))->op == info_of<op::exp>());
}

TEST_CASE("without rewriting only dead nodes, duplicates and identities vanish") {
  extend::builder b;
  extend::symbol const in = b.symbol_of(element::float64, 0);
  b.set_inputs(&in, 1);
  term const x{&b, in};
  (void)extend::apply<op::log>(x);
  extend::symbol const out = (extend::stop_gradient(x * 1 + 0) / 3).id;
  b.set_outputs(&out, 1);
  CHECK(operations_of(detail::simplify(b.get(), {.rewrite = false})) == "constant mul constant add constant div ");
}

TEST_CASE("named sizes are counted at run time") {
  extend::builder b;
  extend::dimensions d;
  d.rank = 2;
  d.size[0] = b.size(extent::named("n", 1));
  d.size[1] = 3;
  extend::symbol const in[]{b.symbol_of(element::float64, b.shape(d)), b.symbol_of(element::float64, 0)};
  b.set_inputs(in, 2);
  term const x{&b, in[0]}, s{&b, in[1]};
  extend::symbol const out =
      extend::mean(x + extend::broadcast_to(s, x.shape_id()) * 0 + extend::constant_like(x, 2), 3).id;
  b.set_outputs(&out, 1);
  CHECK(verify(b.get()).text == nullptr);
  graph const less = detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = false});
  CHECK(verify(less).text == nullptr);
  CHECK(operations_of(less) == "constant add sum size div ");
}

TEST_CASE("nodes marked not to merge stay unchanged") {
  extend::builder b;
  extend::symbol const in = b.symbol_of(element::float64, 0);
  b.set_inputs(&in, 1);
  extend::symbol out[2]{};
  b.flags.merges = false;
  for (extend::symbol& y : out) y = b.push(info_of<op::square>(), &in, 1, nullptr, 0, element::float64, 0, {});
  b.set_outputs(out, 2);
  graph const less = detail::simplify(b.get());
  CHECK(operations_of(less) == "square square ");
  CHECK_FALSE(less.nodes[0].flags.merges);
}

TEST_CASE("views are copied in the order in which they are written and read") {
  graph const g = verify_cases::sound();
  graph const less = detail::simplify(g);
  CHECK(verify(less).text == nullptr);
  CHECK(operations_of(less) == "matmul mul neg constant mul runs_regions ");
  extend::graph_view const v = less;
  extend::node const& write = v.nodes[2];
  extend::symbol const base = v.tensors[v.result(write)].base;
  REQUIRE(base != extend::none);
  CHECK(v.operand(v.nodes[5], 0) == base);
  CHECK(v.numbers[v.tensors[v.result(write)].window] == 6);
  CHECK(v.tensors[v.operand(v.nodes[1], 0)].base == v.input(0));
}

TEST_CASE("regions of unknown operations are copied, and their contents are simplified") {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, 0), dead = b.symbol_of(element::float64, 0);
  b.set_inputs(&x, 1);
  b.edit().regions.push({.parent = 0});
  extend::symbol const inside = b.symbol_of(element::float64, 0);
  b.edit().tensors[inside].region = 1;
  b.set_inputs(&inside, 1, 1);
  b.region = 1;
  extend::symbol const body = (term{&b, inside} * 1 + term{&b, inside} * 1 * 2).id;
  b.region = 0;
  b.set_outputs(&body, 1, 1);
  extend::symbol results[2]{b.symbol_of(element::float64, 0), b.symbol_of(element::float64, 0)};
  std::int64_t const attribute = 7;
  b.edit().regions[1].owner =
      b.assign(info_of<verify_cases::runs_regions>(), &x, 1, results, 2, &attribute, 1);
  extend::symbol const y = (term{&b, results[1]} * 1).id;
  b.set_outputs(&y, 1);
  (void)dead;
  REQUIRE(verify(b.get()).text == nullptr);
  graph const less = detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = true});
  CHECK(verify(less).text == nullptr);
  CHECK(operations_of(less) == "constant fma runs_regions ");
  extend::graph_view const v = less;
  CHECK(v.region_count == 2);
  CHECK(v.nodes[v.regions[1].owner].op == info_of<verify_cases::runs_regions>());
  CHECK(v.nodes[v.regions[1].owner].result_count == 2);
  CHECK(v.attribute(v.nodes[v.regions[1].owner]) == 7);
  CHECK(v.output(0) == v.result(v.nodes[v.regions[1].owner], 1));
  CHECK(v.tensors[v.input(0, 1)].region == 1);
}

TEST_CASE("names stay with their symbols") {
  extend::builder b;
  extend::symbol const in = b.symbol_of(element::float64, 0);
  b.set_inputs(&in, 1);
  extend::symbol const out = extend::apply<op::exp>(extend::apply<op::identity>({&b, in})).id;
  for (char c : {'x', '\0', 'y', '\0'}) b.edit().names.push(c);
  b.edit().tensors[in].name = 0;
  b.edit().tensors[out].name = 2;
  b.set_outputs(&out, 1);
  graph const less = detail::simplify(b.get());
  extend::graph_view const g = less;
  CHECK(std::string(g.name(g.input(0))) == "x");
  CHECK(std::string(g.name(g.output(0))) == "y");
}
