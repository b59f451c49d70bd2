// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../symbolic_parts.hpp"
#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// Defects of other libraries, by their numbers in the specification, and its rows without another test.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::command;
using ct::dynamic::expr;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;
using tensors = std::vector<symbolic_tensor>;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              exp_of = command::of<ct::op::exp>();

constexpr int many = 70; // more than bits in a word
std::size_t at(int k) { return static_cast<std::size_t>(k); }

tensors numbers(symbolic_graph const& s, int count) {
  tensors all;
  for (int k = 0; k < count; ++k) all.push_back(s.tensor<double>({}));
  return all;
}
double slope(std::function<double(double)> const& f, double x) { return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; }

TEST_CASE("operations of seventy results, loops and branches of seventy values have all their gradients",
          "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  tensors const x = numbers(s, many), y = numbers(s, many), z = numbers(s, many), seed = numbers(s, many);
  auto const c = s.tensor<double>({}, "c"), last = s.tensor<double>({}, "last");
  s.exec(command("many",
                 [](std::vector<ct::term> const& t) {
                   std::vector<ct::term> all;
                   for (std::size_t k = 0; k < t.size(); ++k)
                     all.push_back(t[k] * static_cast<double>(k + 1));
                   return all;
                 }),
         x, y);
  auto const body = s.sub_graph("body"); // y[k] <- c y[k + 1], three times
  tensors next;
  for (int k = 0; k < many; ++k) {
    next.push_back(body.tensor<double>({}));
    body.exec(mul, {y[at((k + 1) % many)], c}, {next.back()});
  }
  for (int k = 0; k < many; ++k) body.carry(next[at(k)], y[at(k)]);
  body.hookup(next[0], last);
  s.while_(body, while_below(body, 3));
  auto const index = s.tensor<std::int64_t>({}, "index");
  auto const choice = s.case_of(index);
  auto const branch = s.branch(choice);
  for (int k = 0; k < many; ++k) {
    branch.exec(mul, {x[at(k)], x[at(many - 1 - k)]}, {z[at(k)]});
    s.bypass(choice, x[at(k)], z[at(k)]);
  }
  auto const table = s.backward({last}, x), of_c = s.backward({last}, {c}), of_z = s.backward(z, x, seed);
  tensors all = table.all();
  for (tensors const& more : {of_c.all(), of_z.all()}) all.insert(all.end(), more.begin(), more.end());
  auto p = s.compile({.outputs = all});
  for (int k = 0; k < many; ++k) {
    p.bind(x[at(k)], .1 * k + 1);
    p.bind(seed[at(k)], 1. * k);
  }
  p.bind(c, 1.5);
  for (std::int64_t const chosen : {0, -1}) {
    p.bind(index, std::int64_t{chosen});
    p.run();
    for (int k = 0; k < many; ++k) {
      CHECK(double(p.value<double>(table.all()[at(k)])) == (k == 3 ? 4 * 1.5 * 1.5 * 1.5 : 0));
      int const other = many - 1 - k; // z[k] and z[other] are both the product of x[k] and x[other]
      CHECK(double(p.value<double>(of_z.all()[at(k)])) ==
            Approx(chosen == 0 ? (k + other) * (.1 * other + 1) : k));
    }
    CHECK(double(p.value<double>(of_c.all()[0])) == Approx(3 * 1.5 * 1.5 * 4 * 1.3));
  }
}

TEST_CASE("loops with a condition at the head or at the end have gradients", "[elsewhere]") {
  for (bool const last : {false, true})
    for (std::int64_t const n : {0, 1, 4}) {
      ct::dynamic::graph g;
      auto const s = g.symbolic();
      auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y"), z = s.tensor<double>({}, "z");
      auto const body = s.sub_graph("body");
      body.exec(mul, {x, y}, {z});
      body.carry(z, x);
      s.while_(body, while_below(body, n), last);
      auto const table = s.backward({z}, {x, y});
      auto p = s.compile({.outputs = {z, table.all()[0], table.all()[1]}});
      p.bind(x, 1.3);
      p.bind(y, .7);
      p.run();
      auto const times = static_cast<double>(n + (last ? 1 : 0));
      CAPTURE(last, n);
      CHECK(double(p.value<double>(z)) == Approx(1.3 * std::pow(.7, times)));
      CHECK(double(p.value<double>(table.all()[0])) == Approx(std::pow(.7, times)));
      CHECK(double(p.value<double>(table.all()[1])) ==
            Approx(times * 1.3 * std::pow(.7, times - 1)).margin(1e-300));
    }
}

TEST_CASE("an outer tensor is read several times in a body and in a branch, to the second gradient",
          "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), w = s.tensor<double>({}, "w"), y = s.tensor<double>({}, "y"),
             z = s.tensor<double>({}, "z");
  auto const step = [&](symbolic_graph const& in, symbolic_tensor const& from, symbolic_tensor const& to) {
    auto const t = in.tensor<double>({}), u = in.tensor<double>({});
    in.exec(mul, {w, w}, {t}); // w w from + w
    in.exec(mul, {t, from}, {u});
    in.exec(add, {u, w}, {to});
  };
  auto const body = s.sub_graph();
  step(body, x, y);
  body.carry(y, x);
  s.while_(body, while_below(body, 3));
  auto const index = s.tensor<std::int64_t>({}, "index");
  auto const choice = s.case_of(index);
  step(s.branch(choice), y, z);
  s.bypass(choice, w, z);
  auto const first = s.backward({z}, {w, x}), second = s.backward({first.gradient_of(w)}, {w});
  auto p = s.compile({.outputs = {z, first.all()[0], first.all()[1], second.all()[0]}});
  for (std::int64_t const chosen : {0, -1}) {
    auto const right = [&](double a, double v) {
      for (int k = 0; k < 3; ++k) a = v * v * a + v;
      return chosen == 0 ? v * v * a + v : v;
    };
    p.bind(x, .4);
    p.bind(w, 1.1);
    p.bind(index, std::int64_t{chosen});
    p.run();
    auto const by_w = [&](double v) { return slope([&](double u) { return right(.4, u); }, v); };
    CHECK(double(p.value<double>(z)) == Approx(right(.4, 1.1)));
    CHECK(double(p.value<double>(first.all()[0])) == Approx(by_w(1.1)).epsilon(1e-7));
    CHECK(double(p.value<double>(first.all()[1])) ==
          Approx(slope([&](double a) { return right(a, 1.1); }, .4)).epsilon(1e-7));
    CHECK(double(p.value<double>(second.all()[0])) ==
          Approx((by_w(1.101) - by_w(1.099)) / .002).epsilon(1e-4).margin(1e-6));
  }
}

TEST_CASE("an output may be an alias, depend on another one, or be what a gradient is with respect to",
          "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({4}, "x"), y = s.tensor<double>({3}, "y"), s2 = s.tensor<double>({2}),
             s3 = s.tensor<double>({3});
  auto const read = s.alias(x, {.shape = {3}}), part = s.alias(y, {.offset = {1}, .shape = {2}});
  s.exec(exp_of, {read}, {y});
  auto const alone = s.backward({part}, {x}, {s2}), both = s.backward({part, y}, {x}, {s2, s3}),
             self = s.backward({part}, {part}, {s2}), of_y = s.backward({part}, {y}, {s2});
  auto const a = alone.gradient_of(x), b = both.gradient_of(x), c = self.gradient_of(part),
             d = of_y.gradient_of(y);
  auto p = s.compile({.outputs = {a, b, c, d}});
  p.bind(x, {.5, -.25, 1., 7.});
  p.bind(s2, {2., -3.});
  p.bind(s3, {10., 20., 30.});
  p.run();
  auto const values = [&](symbolic_tensor const& t) {
    auto const v = p.value<double>(t);
    return std::vector<double>(v.data(), v.data() + v.size());
  };
  double const e[]{std::exp(.5), std::exp(-.25), std::exp(1.)};
  double const one[]{0, 2 * e[1], -3 * e[2], 0}, two[]{10 * e[0], 22 * e[1], 27 * e[2], 0};
  for (std::size_t k = 0; k < 4; ++k) { // the last element is dead: zero, not the old content
    CHECK(values(a)[k] == Approx(one[k]));
    CHECK(values(b)[k] == Approx(two[k]));
  }
  CHECK(values(c) == std::vector<double>{2, -3});
  CHECK(values(d) == std::vector<double>{0, 2, -3});
}

TEST_CASE("each backward has a table of its own, independent of later operations", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y");
  s.exec(exp_of, {x}, {y});
  auto const first = s.backward({y}, {x});
  auto const later = s.tensor<double>({}, "later"), z = s.tensor<double>({}, "z");
  CHECK_FALSE(first.gradient_of(later).present());
  CHECK_FALSE(first.producer_of(later).present());
  s.exec(mul, {y, later}, {z});
  auto const second = s.backward({z}, {x, later});
  CHECK_FALSE(first.gradient_of(later).present());
  CHECK_FALSE(first.gradient_of(x) == second.gradient_of(x));
  CHECK(s.gradient_of(x) == second.gradient_of(x)); // the last one
  auto p = s.compile({.outputs = {first.gradient_of(x), second.gradient_of(x), second.gradient_of(later)}});
  p.bind(x, .5);
  p.bind(later, 3.);
  p.run();
  CHECK(double(p.value<double>(first.gradient_of(x))) == Approx(std::exp(.5)));
  CHECK(double(p.value<double>(second.gradient_of(x))) == Approx(3 * std::exp(.5)));
  CHECK(double(p.value<double>(second.gradient_of(later))) == Approx(std::exp(.5)));
}

TEST_CASE("graphs are built, refused, differentiated and run in several threads at once", "[elsewhere]") {
  std::vector<double> found(4);
  std::vector<std::string> said(4);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&found, &said, k] {
      for (int round = 0; round < 3; ++round) {
        ct::dynamic::graph g;
        auto const x = g.input<double>("x", {3 + k});
        try {
          (void)ct::matmul(x, g.input<double>("y", {2}));
        } catch (ct::shape_error const& e) { said[at(k)] = e.what(); }
        auto const y = ct::for_loop(3, [&](auto, auto t) { return ct::sin(t) * x; }, x);
        auto const d = g.gradient({ct::sum(y)}, {x}).front();
        auto p = g.compile({ct::sum(d)});
        std::vector<double> const data(at(3 + k), .3 + .1 * k);
        p.bind(x, data);
        p.run();
        found[at(k)] = double(p.value(ct::sum(d)));
      }
    });
  for (std::thread& t : threads) t.join();
  for (int k = 0; k < 4; ++k) {
    auto const f = [](double v) {
      double t = v;
      for (int i = 0; i < 3; ++i) t = std::sin(t) * v;
      return t;
    };
    CHECK(found[at(k)] == Approx((3 + k) * slope(f, .3 + .1 * k)).epsilon(1e-7));
    CHECK(said[at(k)].find("[" + std::to_string(3 + k) + "]") != std::string::npos);
  }
}

TEST_CASE("equal values inside and outside of a branch are both computed", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({2}, name); };
  auto const x = t("x"), y = t("y"), a = t("a"), b = t("b"), z = t("z");
  s.exec(add, {x, y}, {a});
  s.exec(add, {x, y}, {b});
  auto const index = s.tensor<std::int64_t>({}, "index");
  auto const choice = s.case_of(index);
  auto const branch = s.branch(choice);
  auto const inner = branch.tensor<double>({2});
  branch.exec(add, {x, y}, {inner});
  branch.exec(mul, {a, b, inner}, {z});
  s.bypass(choice, b, z);
  auto p = s.compile({.outputs = {a, b, z}});
  p.bind(x, {1., 2.});
  p.bind(y, {10., -5.});
  for (std::int64_t const chosen : {0, -1}) {
    p.bind(index, std::int64_t{chosen});
    p.run();
    CHECK(p.value<double>(a)[0] == 11);
    CHECK(p.value<double>(b)[1] == -3);
    CHECK(p.value<double>(z)[0] == (chosen == 0 ? 1331 : 11));
    CHECK(p.value<double>(a).data() != p.value<double>(b).data());
    CHECK(p.value<double>(z).data() != p.value<double>(b).data());
  }
}

TEST_CASE("an adjoint computes nothing toward operands that were not requested", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  tensors const x = numbers(s, 8);
  auto const y = s.tensor<double>({}, "y");
  s.exec(mul, x, {y}, "product");
  auto const size = [&] {
    int n = 0;
    s.visit([&](ct::dynamic::symbolic_node const& node) { n += node.what.kind() != command::form::set; });
    return n;
  };
  int const before = size();
  auto const one = s.backward({y}, {x[7]}).gradient_of(x[7]);
  int const for_one = size() - before;
  (void)s.backward({y}, x);
  CHECK(for_one <= 7);
  CHECK(size() - before - for_one > 2 * for_one);
  auto p = s.compile({.outputs = {one}}); // which reads the other seven only
  for (int k = 0; k < 7; ++k) p.bind(x[at(k)], 1. + k);
  p.run();
  CHECK(double(p.value<double>(one)) == 5040);
}

TEST_CASE("the adjoint of an operation at one shape does not affect another shape", "[elsewhere]") {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t const rows : {1, 5, 2})
      for (bool const wide : {false, true}) {
        ct::dynamic::graph g;
        auto const a = g.input<double>("a", {3});
        auto const b = wide ? g.input<double>("b", {rows, 3}) : g.input<double>("b", {3});
        auto const d = g.gradient({ct::sum(a * b)}, {a, b});
        CHECK(d[0].shape().rank == 1);
        CHECK(d[1].shape().rank == (wide ? 2 : 1));
        auto p = g.compile({d[0], d[1]});
        p.bind(a, {1., 2., 3.});
        std::vector<double> data(wide ? static_cast<std::size_t>(3 * rows) : 3, 2.);
        p.bind(b, data);
        p.run();
        CHECK(p.value(d[0])(1) == 2. * (wide ? static_cast<double>(rows) : 1));
      }
}

TEST_CASE("a freed symbol is refused by every function, and its index is reused", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({2}, name); };
  auto const x = t("x"), y = t("y"), z = t("z"), gone = t("gone"), out = t("out");
  auto const index = s.tensor<std::int64_t>({}, "index");
  auto const first = s.exec(exp_of, {x}, {y}, "first"), dead = s.exec(exp_of, {gone}, {out}, "dead");
  auto const choice = s.case_of(index);
  auto const body = s.sub_graph("body");
  auto const inner = body.tensor<double>({2}, "inner");
  s.free(dead);
  s.free(gone);
  s.free(out);
  CHECK_FALSE(s.is_alive(gone));
  CHECK_FALSE(s.is_alive(dead));
  CHECK(s.size() == 2);
  auto const table = s.backward({y}, {x}, {z});
  auto const fresh = t("fresh"); // in the place of one that is gone
  CHECK((fresh.id == gone.id || fresh.id == out.id));
  CHECK_FALSE(s.is_alive(gone));
  int const size = s.size();
  int refused = 0;
  for (auto const& use : std::vector<std::function<void()>>{
           [&] { s.alias(gone, {.shape = {1}}); },
           [&] { s.exec(exp_of, {gone}, {fresh}); },
           [&] { s.exec(exp_of, {x}, {gone}); },
           [&] { s.set_io(first, {gone}, {y}); },
           [&] { s.set_shape(gone, {2}); },
           [&] { s.set_flags(gone, ct::dynamic::unwritten::zeros); },
           [&] { s.free(gone); },
           [&] { (void)s.shape_of(gone); },
           [&] { (void)s.base_of(gone); },
           [&] { (void)s.window_of(gone); },
           [&] { (void)s.flags_of(gone); },
           [&] { (void)s.name_of(gone); },
           [&] { (void)s.is_taped(gone); },
           [&] { (void)s.peer_of(gone); },
           [&] { s.set_peer(gone, x); },
           [&] { (void)s.resolve(gone); },
           [&] { body.hookup(inner, gone); },
           [&] { body.carry(gone, inner); },
           [&] { s.bypass(choice, gone, z); },
           [&] { s.case_of(gone); },
           [&] { s.while_(body, gone); },
           [&] { s.backward({gone}, {x}, {z}); },
           [&] { s.backward({y}, {gone}, {z}); },
           [&] { s.backward({y}, {x}, {gone}); },
           [&] { (void)s.gradient_of(gone); },
           [&] { (void)s.expression<double>(gone); },
           [&] { s.compile({.outputs = {gone}}); },
           [&] { s.compile({.outputs = {y}, .updates = {{gone, y}}}); },
           [&] { s.compile({.outputs = {y}, .sources = {dead}}); },
           [&] { s.set_command(dead, exp_of); },
           [&] { s.set_params(dead, {}); },
           [&] { s.set_hint(dead, "hint"); },
           [&] { s.set_flags(dead, {.keep = true}); },
           [&] { s.set_io(dead, {x}, {z}); },
           [&] { s.concat(first, dead); },
           [&] { s.disjoin(dead, first); },
           [&] { s.set_sources({dead}); },
           [&] { s.set_destinations({dead}); },
           [&] { (void)s.reaches({dead}, first); },
           [&] { (void)s.reaches({first}, dead); },
           [&] { (void)s.forward_of(dead); },
           [&] { (void)s.inputs_of(dead); },
           [&] { (void)s.outputs_of(dead); },
           [&] { (void)s.command_of(dead); },
           [&] { (void)s.flags_of(dead); },
           [&] { (void)s.hint_of(dead); },
           [&] { (void)s.name_of(dead); },
           [&] { s.branch(dead); },
           [&] { s.bypass(dead, x, z); },
           [&] { s.free(dead); },
       }) {
    INFO("use " << refused);
    CHECK_THROWS_AS(use(), ct::graph_error);
    CHECK(s.size() == size);
    ++refused;
  }
  auto p = s.compile({.outputs = {y, table.gradient_of(x)}});
  p.bind(x, {0., 1.});
  p.bind(z, {1., 2.});
  p.run();
  CHECK(p.value<double>(table.gradient_of(x))[1] == Approx(2 * std::exp(1.)));
}

TEST_CASE("inputs may be outputs, results overwrite, and compiling changes nothing and is repeatable",
          "[elsewhere]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), w = g.input<double>("w", {3}),
             seed = g.input<double>("seed", {3});
  auto const self = g.gradient({x}, {x}, {seed}).front();
  auto const y = ct::tanh(x) * x;
  auto const d = g.gradient({y}, {x, w}, {seed});
  auto const nodes = g.get().nodes.size(), ids = g.get().ids.size();
  std::vector<double> b(3, 7.), c(3, 7.);
  auto p = g.compile({y, self, d[0], d[1]}), q = g.compile({y, self, d[0], d[1]});
  CHECK(g.get().nodes.size() == nodes);
  CHECK(g.get().ids.size() == ids);
  CHECK(p.workspace_bytes() == q.workspace_bytes());
  CHECK(p.step_count() == q.step_count());
  for (auto* one : {&p, &q}) {
    one->bind(x, {.5, 1., 2.});
    one->bind(seed, {1., -2., 3.});
  }
  p.bind(d[0], b);
  p.bind(d[1], c);
  for (int k = 0; k < 2; ++k) {
    p.run();
    CHECK(p.value(self)(1) == -2); // the seed, in memory of its own
    CHECK(b[1] == Approx(-2 * (std::tanh(1.) + 1 - std::tanh(1.) * std::tanh(1.))));
    CHECK(c == std::vector<double>(3, 0.)); // zero, not added to the old content
  }
  q.run();
  for (std::int64_t k = 0; k < 3; ++k) CHECK(q.value(d[0])(k) == b[static_cast<std::size_t>(k)]);

  auto const s = g.symbolic(); // the cotangent that was given stands for that of an output
  auto const u = s.tensor<double>({}, "u"), v = s.tensor<double>({}, "v"), dv = s.tensor<double>({}, "dv");
  s.exec(exp_of, {u}, {v});
  auto const table = s.backward({v}, {u}, {dv});
  CHECK(table.gradient_of(v) == dv);
  CHECK(table.producer_of(table.gradient_of(u)).present());
  CHECK_FALSE(table.producer_of(dv).present()); // it is given
}

TEST_CASE("contributions are summed once, zero contributions are absent, and equal graphs have equal bits",
          "[elsewhere]") {
  std::vector<double> bits[2];
  int nodes[2]{};
  for (int const with_zeros : {0, 1, 0}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {5});
    auto y = ct::sum(ct::sin(x) * x) + ct::sum(ct::exp(x)) + ct::sum(x / (x * x + 1.0));
    if (with_zeros != 0) y = y + ct::sum(ct::floor(x)) + ct::sum(ct::stop_gradient(x) * 2.0);
    int const before = g.get().nodes.size();
    auto const d = g.gradient({y}, {x}).front();
    nodes[with_zeros] = g.get().nodes.size() - before;
    auto p = g.compile({d});
    p.bind(x, {.1, -.7, 1.3, 2.9, -4.1});
    p.run();
    auto const v = p.value(d);
    std::vector<double> const now(v.data(), v.data() + 5);
    if (!bits[with_zeros].empty()) CHECK(std::memcmp(now.data(), bits[with_zeros].data(), 40) == 0);
    bits[with_zeros] = now;
  }
  CHECK(nodes[1] == nodes[0]);
  CHECK(std::memcmp(bits[0].data(), bits[1].data(), 40) == 0);
}

TEST_CASE("absent outputs have no value, absent inputs no gradient, and the adjoint of a noop only orders",
          "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({2}, name); };
  auto const x = t("x"), y = t("y"), z = t("z"), c = s.tensor<double>({4}, "c"),
             seed = s.tensor<double>({4}, "seed");
  command const both(
      "both", [](std::vector<ct::term> const& v) { return std::vector<ct::term>{v[0] * v[0], v[0] * 3.0}; });
  auto const first = s.exec(both, {x}, {ct::dynamic::absent, y}, "second only");
  CHECK(s.outputs_of(first) == tensors{ct::dynamic::absent, y});
  auto const quotient = s.exec(command::of<ct::op::divide>(), {ct::dynamic::absent, y}, {z}, "1 / y");
  CHECK_FALSE(s.inputs_of(quotient)[0].present());
  auto const low = s.alias(c, {.shape = {2}}), high = s.alias(c, {.offset = {2}, .shape = {2}});
  s.exec(exp_of, {z}, {low});
  s.exec(exp_of, {y}, {high});
  s.exec(ct::dynamic::noop, {low, high}, {c}, "joined");
  int const before = s.size();
  auto const dx = s.backward({c}, {x}, {seed}).gradient_of(x);
  CHECK(s.size() > before);
  auto p = s.compile({.outputs = {c, dx}});
  p.bind(x, {.5, -1.});
  p.bind(seed, {1., 2., 3., 4.});
  p.run();
  double const data[]{.5, -1};
  for (std::size_t k = 0; k < 2; ++k) {
    double const v = 3 * data[k], e = std::exp(1 / v);
    CHECK(p.value<double>(c)[static_cast<std::int64_t>(k)] == Approx(e));
    CHECK(p.value<double>(dx)[static_cast<std::int64_t>(k)] ==
          Approx(3 * (-(1. + double(k)) * e / (v * v) + (3. + double(k)) * std::exp(v))));
  }
  CHECK_THROWS_AS(s.set_io(first, {x}, {z, ct::dynamic::absent}), ct::graph_error); // z has a writer
  CHECK(s.outputs_of(first)[1] == y);
}

TEST_CASE("one of several results has a gradient; without any, nothing is differentiated", "[elsewhere]") {
  for (bool const running : {true, false}) { // five inputs, or three
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    auto const x = s.tensor<double>({6, 2}, "x"), y = s.tensor<double>({6, 2}, "y"),
               dy = s.tensor<double>({6, 2}, "dy"), z = s.tensor<double>({6, 2}, "z");
    tensors in{x}, out;
    for (int k = 0; k < (running ? 4 : 2); ++k) in.push_back(s.tensor<double>({2}));
    for (int k = 0; k < 2; ++k) out.push_back(s.tensor<double>({2}));
    out.push_back(y);
    s.exec(command("normalize",
                   [running](std::vector<ct::term> const& v) {
                     auto const m = ct::extend::mean(v[0], 1u), c = v[0] - m,
                                var = ct::extend::mean(c * c, 1u);
                     auto const n = c / ct::extend::apply<ct::op::sqrt>(var + 1e-5) * v[1] + v[2];
                     if (!running) return std::vector<ct::term>{m, var, n};
                     return std::vector<ct::term>{v[3] * .9 + m * .1, v[4] * .9 + var * .1, n};
                   }),
           in, out);
    s.exec(mul, {y, y}, {z});
    auto const d = s.backward({z}, in, {dy}).all();
    int const before = s.size();
    auto const nothing = s.backward({dy}, {x}, {y}).gradient_of(x);
    CHECK(s.size() == before + 1); // the zeros
    tensors all = d;
    all.push_back(nothing);
    all.push_back(z);
    auto p = s.compile({.outputs = all});
    std::vector<double> data(12), seeds(12);
    std::vector<std::vector<double>> rest(4, {1.5, -.5});
    auto const value = [&] {
      p.bind(x, data);
      p.bind(dy, seeds);
      for (std::size_t k = 1; k < in.size(); ++k) p.bind(in[k], rest[k - 1]);
      p.run();
      double sum = 0;
      for (std::size_t k = 0; k < 12; ++k) sum += p.value<double>(z).data()[k] * seeds[k];
      return sum;
    };
    for (std::size_t k = 0; k < 12; ++k) {
      data[k] = std::sin(double(3 * k));
      seeds[k] = std::cos(double(k));
    }
    (void)value();
    std::vector<double> found;
    for (auto const& t : d)
      found.insert(found.end(), p.value<double>(t).data(),
                   p.value<double>(t).data() + p.value<double>(t).size());
    for (std::size_t k = 0; k < 12; ++k) CHECK(p.value<double>(nothing).data()[k] == 0);
    for (std::size_t k = 0; k < 16; ++k) {
      double& e = k < 12 ? data[k] : rest[(k - 12) / 2][k % 2];
      double const was = e;
      CHECK(found[k] == Approx(slope(
                                   [&](double v) {
                                     e = v;
                                     return value();
                                   },
                                   was))
                            .epsilon(1e-6)
                            .margin(1e-8));
      e = was;
    }
    for (std::size_t k = 16; k < found.size(); ++k) CHECK(found[k] == 0); // of what was running
  }
}

TEST_CASE("a condition for a whole tensor keeps all of its gradient, or none", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const kept = g.input<bool>("kept");
  auto const y = ct::sum(ct::select(kept, x * 2.0, g.full({2, 3}, 0.0)));
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({dx});
  for (bool const on : {true, false}) {
    p.bind(kept, bool{on});
    p.bind(x, std::vector<double>(6, std::nan("")));
    p.run();
    for (std::int64_t k = 0; k < 6; ++k) CHECK(p.value(dx)[k] == (on ? 2 : 0));
  }
}

// ---- memory

struct outcome {
  std::vector<double> bits;
  std::int64_t bytes = 0;
  double again = 0;
};
outcome run(ct::dynamic::graph const& g, std::vector<any_expr> const& inputs,
            std::vector<any_expr> const& outputs, ct::dynamic::compile_options const& options = {}) {
  auto p = g.compile(outputs, {}, options);
  std::vector<std::vector<double>> data;
  data.reserve(inputs.size());
  for (any_expr const& x : inputs) {
    data.emplace_back(static_cast<std::size_t>(x.as<double>().size()));
    for (std::size_t k = 0; k < data.back().size(); ++k)
      data.back()[k] = std::sin(static_cast<double>(k + 7 * data.size()));
    p.bind(x.as<double>(), data.back());
  }
  p.run();
  outcome o{{}, p.workspace_bytes(), p.predicted().again};
  for (any_expr const& y : outputs)
    for (double const v : p.value(y.as<double>())) o.bits.push_back(v);
  return o;
}
bool same(outcome const& a, outcome const& b) {
  return a.bits.size() == b.bits.size() && std::memcmp(a.bits.data(), b.bits.data(), 8 * a.bits.size()) == 0;
}

TEST_CASE("a budget is met by the smallest graphs, and accepted by an empty graph", "[elsewhere]") {
  for (int const length : {3, 6}) {
    ct::dynamic::graph g;
    std::vector<any_expr> inputs{g.input<double>("x", {2, 2})};
    auto y = inputs[0].as<double>();
    for (int k = 0; k < length; ++k) {
      inputs.push_back(g.input<double>("w", {2, 2}));
      y = ct::tanh(ct::matmul(y, inputs.back().as<double>()));
    }
    std::vector<any_expr> outputs{ct::sum(y)};
    for (auto const& d : g.gradient({outputs[0]}, inputs)) outputs.push_back(d);
    outcome const whole = run(g, inputs, outputs),
                  fitted = run(g, inputs, outputs, {.memory_budget = whole.bytes - 64});
    CHECK(same(whole, fitted));
    CHECK(fitted.bytes <= whole.bytes - 64);
  }
  ct::dynamic::graph const nothing;
  CHECK_NOTHROW(nothing.compile({}, {}, {.memory_budget = 1000}).run());
  CHECK_NOTHROW(nothing.compile({}, {}, {.mirror = &ct::is_cheap}).run());
}

TEST_CASE("mirroring rematerializes values, never takes more memory, and keeps transposes", "[elsewhere]") {
  int smaller = 0;
  for (int const length : {2, 5, 8})
    for (std::int64_t const n : {16, 33}) {
      ct::dynamic::graph g;
      std::vector<any_expr> inputs{g.input<double>("x", {n, n})};
      auto y = inputs[0].as<double>();
      for (int k = 0; k < length; ++k) {
        inputs.push_back(g.input<double>("w", {n, n}));
        auto const w = inputs.back().as<double>();
        auto const z = ct::transpose(ct::matmul(w, ct::transpose(y)));
        y = z * ct::sigmoid(z) + ct::reshape(ct::transpose(y), {n, n}) * 0.5;
      }
      std::vector<any_expr> outputs{ct::mean(y)};
      for (auto const& d : g.gradient({outputs[0]}, inputs)) outputs.push_back(d);
      outcome const whole = run(g, inputs, outputs),
                    mirrored = run(g, inputs, outputs, {.mirror = &ct::is_cheap});
      INFO(length << " layers of " << n);
      CHECK(same(whole, mirrored));
      CHECK(mirrored.bytes <= whole.bytes);
      CHECK((mirrored.again > 0) == (mirrored.bytes < whole.bytes));
      smaller += mirrored.bytes < whole.bytes;
    }
  CHECK(smaller >= 4);
}

TEST_CASE("symbolic graphs are mirrored with their edges, once all shapes are known", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  tensors w;
  auto const x = s.tensor<double>({24, 24}, "x"), seed = s.tensor<double>({24, 24}, "seed");
  auto y = x;
  ct::dynamic::symbolic_exec last;
  for (int k = 0; k < 5; ++k) {
    w.push_back(s.tensor<double>({24, 24}, "w"));
    auto const z = s.tensor<double>(ct::dynamic::automatic), gate = s.tensor<double>(ct::dynamic::automatic),
               next = s.tensor<double>(ct::dynamic::automatic);
    auto const product = s.exec(command::of<ct::op::matmul>({0, 0}), {y, w.back()}, {z});
    if (last.present()) s.concat(last, product);
    s.exec(command::of<ct::op::tanh>(), {z}, {gate});
    last = s.exec(mul, {gate, z}, {next});
    y = next;
  }
  tensors all = s.backward({y}, w, {seed}).all();
  all.push_back(y);
  auto const outcome_of = [&](bool (*mirror)(ct::extend::node const&), std::int64_t fit) {
    auto p = s.compile({.outputs = all, .memory_budget = fit, .mirror = mirror});
    std::vector<std::vector<double>> data;
    data.reserve(7);
    auto const give = [&](symbolic_tensor const& t) {
      data.emplace_back(576);
      for (std::size_t k = 0; k < 576; ++k)
        data.back()[k] = std::sin(static_cast<double>(k * data.size())) / 3;
      p.bind(t, data.back());
    };
    give(x);
    give(seed);
    for (auto const& t : w) give(t);
    p.run();
    outcome o{{}, p.workspace_bytes(), p.predicted().again};
    for (auto const& t : all)
      o.bits.insert(o.bits.end(), p.value<double>(t).data(), p.value<double>(t).data() + 576);
    return o;
  };
  outcome const whole = outcome_of(nullptr, 0), mirrored = outcome_of(&ct::is_cheap, 0),
                fitted = outcome_of(nullptr, whole.bytes * 3 / 4);
  CHECK(same(whole, mirrored));
  CHECK(mirrored.bytes < whole.bytes);
  CHECK(mirrored.again > 0);
  CHECK(same(whole, fitted));
  CHECK(fitted.bytes <= whole.bytes * 3 / 4);
  auto const open = s.tensor<double>(ct::dynamic::automatic, "open"),
             of_open = s.tensor<double>(ct::dynamic::automatic);
  s.exec(exp_of, {open}, {of_open});
  CHECK_THROWS_WITH(s.compile({.outputs = {of_open}, .mirror = &ct::is_cheap}),
                    Catch::Contains("open double"));
  CHECK_THROWS_WITH(s.compile({.outputs = all, .memory_budget = 100}), Catch::Contains("the budget must hold"));
}

TEST_CASE("detached or unused values have gradient zero, or are refused on request", "[elsewhere]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), w = g.input<double>("w", {2});
  auto const y = x * x, cut = ct::stop_gradient(y) + 0.0;
  auto const z = ct::sum(y * y);
  auto const d = g.gradient({z}, {cut, y});
  auto const dw = g.gradient({z}, {w}).front();
  CHECK_THROWS_WITH(g.gradient({z}, {cut}, {}, ct::unreachable::error), Catch::Contains("must depend on"));
  CHECK_THROWS_WITH(g.gradient({z}, {w}, {}, ct::unreachable::error), Catch::Contains("w double [2]"));
  auto p = g.compile({d[0], d[1], dw});
  p.bind(x, {1., 2., 3.});
  p.run();
  for (std::int64_t k = 0; k < 3; ++k) {
    CHECK(p.value(d[0])(k) == 0);
    CHECK(p.value(d[1])(k) == 2. * static_cast<double>((k + 1) * (k + 1)));
  }
  CHECK(p.value(dw)(1) == 0);
}

} // namespace
