// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/graph/verify.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

// Equal nodes merge, copies vanish into views; the cases count what stays.

namespace {

namespace ct = cotangent;
using ct::extend::symbol;
using ct::dynamic::any_expr;
using ct::dynamic::expr;

/// Nodes as they come, none merged as it is pushed.
struct raw {
  ct::extend::builder b;
  std::vector<symbol> in, out;

  symbol input() {
    return in.emplace_back(b.symbol_of(ct::element::float64, b.shape(ct::extend::dimensions{1, {4}})));
  }
  template <class Op> symbol op(std::initializer_list<symbol> x) {
    symbol const y = b.symbol_of(ct::element::float64, b.tensor(*x.begin()).shape);
    std::int32_t const at =
        b.assign(ct::info_of<Op>(), x.begin(), static_cast<int>(x.size()), &y, 1, nullptr, 0);
    b.edit().nodes[at].flags.merges = true;
    return y;
  }
  symbol add(symbol x, symbol y) { return op<ct::op::add>({x, y}); }
  symbol multiply(symbol x, symbol y) { return op<ct::op::multiply>({x, y}); }
  int left(std::vector<symbol> outputs, bool exact = true) {
    b.set_inputs(in.data(), static_cast<int>(in.size()));
    b.set_outputs(outputs.data(), static_cast<int>(outputs.size()));
    ct::graph const g = ct::detail::simplify(b.get(), {.rewrite = !exact, .fuse_multiply_add = false});
    REQUIRE(bool(ct::verify(g)));
    return g.nodes.size();
  }
};

TEST_CASE("two equal sums become one, and their product stays", "[simplify]") {
  raw g;
  symbol const x = g.input(), y = g.input();
  symbol const z = g.multiply(g.add(x, y), g.add(x, y));
  CHECK(g.left({z}) == 2);
  CHECK(g.left({z}, false) == 2);

  ct::dynamic::graph d;
  auto const p = d.input<double>("x"), q = d.input<double>("y");
  auto const r = (p + q) * (p + q);
  auto program = d.compile({r});
  program.bind(p, 10.);
  program.bind(q, 8.);
  program.run();
  CHECK(program.value(r) == 324);
  CHECK(program.step_count() == 1);
}

TEST_CASE("merging saves one node for each duplicate", "[simplify]") {
  {
    raw g;
    symbol const a = g.input(), b = g.input(), c = g.input();
    CHECK(g.left({g.add(g.add(a, b), g.add(a, c))}) == 3); // of 3
  }
  {
    raw g;
    symbol const a = g.input(), b = g.input();
    CHECK(g.left({g.add(g.add(a, b), g.add(a, b))}) == 2); // of 3
  }
  {
    raw g;
    symbol const a = g.input(), b = g.input();
    CHECK(g.left({g.add(g.add(a, b), g.add(b, a))}) == 2);
  }
  {
    raw g;
    symbol const a = g.input(), b = g.input(), c = g.input();
    CHECK(g.left({g.add(g.add(g.add(a, b), c), g.add(g.add(a, b), c))}) == 3); // of 5
  }
  {
    raw g;
    symbol const a = g.input(), b = g.input();
    symbol const d = g.add(a, a);
    CHECK(g.left({g.add(g.multiply(a, d), b), g.multiply(a, d)}) == 3); // of 4
  }
}

TEST_CASE("a result that is requested twice has two locations", "[simplify]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a", {3});
  auto const y = a * (a + 1.0), z = a * (a + 1.0), w = z * 1.0;
  for (bool const owns : {false, true}) {
    auto p = g.compile({y, z, w}, {}, {.exact = false, .own_memory = owns});
    p.bind(a, {1., 2., 3.});
    p.run();
    for (auto const& e : {y, z, w}) CHECK(p.value(e)(2) == 12);
    CHECK(p.value(y).data() == p.value(z).data()); // one expression
    CHECK(p.value(y).data() != p.value(w).data()); // another, of the same value
  }
}

TEST_CASE("copies become views, one node computes, and the input lies at its final location",
          "[simplify][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1}), y = g.input<double>("y", {1});
  auto const z = g.tensor<double>("z", {2});
  auto const copy = [](auto e) { return ct::stop_gradient(ct::stop_gradient(e)); };
  g.write(g.view(z, {.offset = {0}, .shape = {1}, .stride = {}}), copy(x + y));
  g.write(g.view(z, {.offset = {1}, .shape = {1}, .stride = {}}), copy(x));
  auto p = g.compile({z}, {}, {.exact = false, .own_memory = true});
  CHECK(p.step_count() == 1);
  for (double const first : {1.2, 3.4}) {
    p.memory(x)[0] = first;
    p.memory(y)[0] = 8;
    CHECK(p.memory(x).data() == p.memory(z).data() + 1);
    p.run();
    CHECK(p.value(z)(0) == Approx(first + 8));
    CHECK(p.value(z)(1) == first);
  }
  // bound memory stays where it is, so there one copy is made
  auto q = g.compile({z});
  q.bind(x, {1.2});
  q.bind(y, {8.});
  q.run();
  CHECK(q.step_count() <= 2);
  CHECK(q.value(z)(0) == Approx(9.2));
  CHECK(q.value(z)(1) == 1.2);
}

TEST_CASE("an input with other readers, or whose location is cleared, is copied to its window",
          "[simplify][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2}), y = g.input<double>("y", {2});
  auto const z = g.tensor<double>("z", {2, 3});
  g.write(g.view(z, {.offset = {0, 0}, .shape = {1, 2}, .stride = {}}),
          ct::reshape(x, {1, 2})); // z(0, 2), z(1, *): zero
  auto const w = g.tensor<double>("w", {4});
  g.write(g.view(w, {.offset = {0}, .shape = {2}, .stride = {}}), x);
  g.write(g.view(w, {.offset = {2}, .shape = {2}, .stride = {}}), ct::exp(x) * y);
  auto const s = ct::sum(z) + ct::sum(x);
  for (bool const owns : {false, true}) {
    auto p = g.compile({z, w, s}, {}, {.exact = false, .own_memory = owns});
    p.bind(x, {1., 2.});
    p.bind(y, {5., 6.});
    for (int times = 0; times < 2; ++times) {
      p.run();
      CHECK(std::vector<double>(p.value(z).begin(), p.value(z).end()) ==
            std::vector<double>{1, 2, 0, 0, 0, 0});
      CHECK(p.value(w)(1) == 2);
      CHECK(p.value(w)(3) == Approx(6 * std::exp(2.)));
      CHECK(p.value(s) == 6);
    }
  }
}

TEST_CASE("graphs with views are simplified like others, except for viewed tensors", "[simplify][views]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const y = ct::exp(x);
  auto const half = g.view(y, {.offset = {1}, .shape = {2}, .stride = {}});
  auto const r = (half * 1.0 + 0.0) - (-half); // 2 half
  auto const s = (x * 3.0) * 0.0 + ct::sum(r);
  auto p = g.compile({r, s});
  p.bind(x, {0., 1., 2., 3.});
  p.run();
  CHECK(p.value(r)(0) == Approx(2 * std::exp(1.)));
  CHECK(p.value(s)(3) == Approx(2 * std::exp(1.) + 2 * std::exp(2.)));
  ct::extend::builder b(g.get());
  std::vector<symbol> const in{x.id()}, out{r.id()};
  b.set_inputs(in.data(), 1);
  b.set_outputs(out.data(), 1);
  ct::graph const simple = ct::detail::simplify(b.get());
  REQUIRE(bool(ct::verify(simple)));
  int working = 0;
  for (ct::extend::node const& n : simple.nodes) working += n.op->kind == ct::operation_kind::elementwise;
  CHECK(working == 2); // exp, and one addition or product
}

TEST_CASE("sums of products become fused multiply-adds, also with views", "[simplify][views]") {
  raw g;
  symbol const x = g.input(), t = g.b.symbol_of(ct::element::float64, g.b.tensor(x).shape);
  auto const half = [&](symbol of, std::int64_t at) {
    std::int64_t const step = 1;
    return ct::detail::range_view(g.b, of, &at, &step, ct::extend::dimensions{1, {2}});
  };
  auto const assign = [&]<class Op>(std::type_identity<Op>, symbol a, symbol b, symbol to) {
    symbol const both[]{a, b};
    (void)g.b.assign(ct::info_of<Op>(), both, 2, &to, 1, nullptr, 0);
    g.b.edit().nodes[g.b.get().nodes.size() - 1].flags.merges = true;
  };
  symbol const v = half(x, 0), w = half(x, 2), low = half(t, 0), high = half(t, 2);
  symbol const p = g.multiply(v, w), q = g.multiply(w, w), r = g.multiply(low, w), kept = g.multiply(v, v);
  assign(std::type_identity<ct::op::add>{}, p, v, low);       // into a part
  assign(std::type_identity<ct::op::subtract>{}, w, q, high); // w - w w
  symbol const y = g.add(r, high), z = g.add(kept, w);        // what another reads too stays a product
  symbol const out[]{t, y, z, kept};
  g.b.set_inputs(&x, 1);
  g.b.set_outputs(out, 4);
  REQUIRE(g.b.failed().why == nullptr);
  auto const with = [&](bool fuse) { return ct::detail::simplify(g.b.get(), {.rewrite = true, .fuse_multiply_add = fuse}); };
  auto const count = [](ct::graph const& of, ct::operation const* op) {
    int n = 0;
    for (ct::extend::node const& i : of.nodes) n += i.op == op;
    return n;
  };
  ct::graph const plain = with(false), fused = with(true);
  REQUIRE(bool(ct::verify(fused)));
  CHECK(count(plain, ct::info_of<ct::op::multiply_add>()) == 0);
  CHECK(count(fused, ct::info_of<ct::op::multiply_add>()) == 3);
  CHECK(count(fused, ct::info_of<ct::op::multiply>()) + count(fused, ct::info_of<ct::op::square>()) == 1);
  std::vector<double> const in{.3, -1.7, 2.1, .9};
  auto const run = [&](ct::graph const& of) {
    ct::interpreter const code(of);
    REQUIRE(code.failed().why == nullptr);
    std::vector<double> a(4), b(2), c(2), d(2);
    void const* const from[]{in.data()};
    void* const to[]{a.data(), b.data(), c.data(), d.data()};
    ct::detail::tape tape;
    alignas(64) static unsigned char room[65536];
    REQUIRE(code.workspace_bytes() <= 65536);
    CHECK(code.run(from, to, room, &tape) == ct::status::ok);
    a.insert(a.end(), {b[0], b[1], c[0], c[1], d[0], d[1]});
    return a;
  };
  std::vector<double> const one = run(fused), two = run(plain);
  for (std::size_t k = 0; k < one.size(); ++k) CHECK(one[k] == Approx(two[k]).epsilon(1e-14));
  for (std::size_t k = 0; k < 2 && ct::math::has_fma; ++k) { // the bits of one rounding
    double const l = std::fma(in[k], in[k + 2], in[k]), h = std::fma(-in[k + 2], in[k + 2], in[k + 2]);
    CHECK(one[k] == l);
    CHECK(one[k + 2] == h);
    CHECK(one[k + 4] == std::fma(l, in[k + 2], h));
  }
}

} // namespace
