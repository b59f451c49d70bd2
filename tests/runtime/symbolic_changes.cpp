// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

// Graphs of symbols: changes before they are compiled, duplicates, hooks, expressions among symbols, and refusals.

namespace user {

/// An operation of a user's: the cube.
struct cube : cotangent::extend::elementwise<1> {
  static constexpr char const* name = "cube";
  template <class V> COTANGENT_INLINE static constexpr V apply(V const& a) {
    return static_cast<V>(a * a * a);
  }
  static constexpr cotangent::term partial(cotangent::rule const& r, int) { return 3 * r.x() * r.x(); }
};

} // namespace user

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::automatic;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              sub = command::of<ct::op::subtract>(), log_of = command::of<ct::op::log>(),
              exp_of = command::of<ct::op::exp>(), div = command::of<ct::op::divide>();

/// z = exp(x y), w = z + x, of vectors of two.
struct small {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  symbolic_tensor x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y"),
                  t = s.tensor<double>({2}, "t"), z = s.tensor<double>({2}, "z"),
                  w = s.tensor<double>({2}, "w");
  symbolic_exec product = s.exec(mul, {x, y}, {t}, "product"), power = s.exec(exp_of, {t}, {z}, "power"),
                sum = s.exec(add, {z, x}, {w}, "sum");

  double value(symbolic_graph const& of, symbolic_tensor const& result, double a = .5, double b = 1.5) const {
    auto p = of.compile({.outputs = {result}});
    p.bind(of.same(x), {a, a});
    p.bind(of.same(y), {b, b});
    p.run();
    return p.value<double>(result)[0];
  }
  double value(symbolic_tensor const& result) const { return value(s, result); }
};

TEST_CASE("commands, inputs, outputs and attributes can be changed before a graph is compiled",
          "[symbolic]") {
  small g;
  CHECK(g.value(g.w) == Approx(std::exp(.75) + .5));
  g.s.set_command(g.product, sub);
  CHECK(g.value(g.w) == Approx(std::exp(-1.) + .5));
  g.s.set_io(g.sum, {g.z, g.t}, {g.w});
  CHECK(g.value(g.w) == Approx(std::exp(-1.) - 1));
  auto const v = g.s.tensor<double>({2}, "v");
  g.s.set_io(g.sum, {g.z, g.z}, {v});
  CHECK(g.value(v) == Approx(2 * std::exp(-1.)));
  g.s.set_io(g.product, {g.x, g.y}, {g.w}); // w has lost its writer; t now is given
  auto p = g.s.compile({.outputs = {v, g.w}});
  p.bind(g.x, {4., 4.});
  p.bind(g.y, {1., 1.});
  p.bind(g.t, {0., 0.});
  p.run();
  CHECK(p.value<double>(v)[1] == 2);
  CHECK(p.value<double>(g.w)[1] == 3);

  auto const m = g.s.tensor<double>({2, 3}, "m"), r = g.s.tensor<double>(automatic, "r");
  auto const reduced = g.s.exec(command::of<ct::op::sum>({1}), {m}, {r});
  for (std::int64_t const axis : {0, 1}) {
    g.s.set_params(reduced, {1 << axis});
    auto q = g.s.compile({.outputs = {r}});
    q.bind(m, {1., 2., 3., 4., 5., 6.});
    q.run();
    CHECK(q.value<double>(r).size() == (axis == 0 ? 3 : 2));
    CHECK(q.value<double>(r)[1] == (axis == 0 ? 7 : 15));
  }
}

TEST_CASE("user-defined operations, functions of terms, broadcasting, and unwritten symbols", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2, 3}, "x"), row = s.tensor<double>({3}, "row"),
             y = s.tensor<double>({2, 3}, "y"), z = s.tensor<double>({2, 3}, "z"),
             ones = s.tensor<double>({2, 3}, "ones"), e = s.tensor<double>({}, "e"),
             low = s.tensor<double>(automatic, "low"), high = s.tensor<double>(automatic, "high");
  s.set_flags(ones, ct::dynamic::unwritten::ones);
  s.exec(command::of<user::cube>(), {x}, {y});
  s.exec(add, {y, row, ones}, {z});
  s.exec(command("mean", [](ct::term t) { return ct::extend::mean(t, 3u); }), {z}, {e});
  s.exec(command("both",
                 [](ct::term t) {
                   return std::vector<ct::term>{ct::extend::min(t, 3u), ct::extend::max(t, 3u)};
                 }),
         {z}, {low, high});
  auto const table = s.backward({e}, {x, row, ones});
  auto const dx = table.gradient_of(x), dr = table.gradient_of(row), d1 = table.gradient_of(ones);
  auto p = s.compile({.outputs = {e, low, high, dx, dr, d1}});
  p.bind(x, {1., 2., 3., 4., 5., 6.});
  p.bind(row, {10., 20., 30.});
  p.run();
  CHECK(double(p.value<double>(e)) == Approx((441 + 2 * 60 + 6) / 6.));
  CHECK(double(p.value<double>(low)) == 12);
  CHECK(double(p.value<double>(high)) == 247);
  CHECK(p.value<double>(dx)(1, 2) == Approx(3 * 36 / 6.));
  CHECK(p.value<double>(dr)[1] == Approx(1 / 3.));
  CHECK(p.value<double>(d1)(0, 0) == Approx(1 / 6.));
  s.set_flags(ones, ct::dynamic::unwritten::zeros);
  CHECK(s.flags_of(ones) == ct::dynamic::unwritten::zeros);
}

TEST_CASE("only operations between sources and destinations run", "[symbolic]") {
  small g;
  auto const p = [&](std::vector<symbolic_exec> const& from, std::vector<symbolic_exec> const& to) {
    return g.s.compile({.outputs = {g.w}, .sources = from, .destinations = to});
  };
  auto all = p({}, {});
  all.bind(g.x, {1., 1.});
  CHECK_THROWS_AS(all.run(), ct::graph_error); // y is not given
  auto part = p({g.sum}, {});
  part.bind(g.z, {4., 4.}); // what is not computed is given
  part.bind(g.x, {1., 1.});
  part.run();
  CHECK(part.value<double>(g.w)[0] == 5);
  auto to = p({}, {g.power}); // w is not computed: it is given itself
  to.bind(g.w, {7., 7.});
  to.run();
  CHECK(to.value<double>(g.w)[0] == 7);
}

TEST_CASE("a duplicate is a separate graph, with other commands on request", "[symbolic]") {
  small g;
  auto const body = g.s.sub_graph("body");
  auto const goes_on = body.tensor<bool>({}, "goes on"), next = body.tensor<double>({2}, "next"),
             v = g.s.tensor<double>({2}, "v");
  body.exec(command("below", [](ct::term i) { return i < 3; }), {body.count()}, {goes_on});
  body.exec(mul, {g.w, g.w}, {next}, "in the body");
  body.carry(next, g.w);
  body.hookup(next, v);
  g.s.while_(body, goes_on);
  auto same = g.g.duplicate();
  int asked = 0;
  auto other = g.s.duplicate([&](symbolic_exec const& e, command const& c) {
    ++asked;
    (void)e;
    return c == mul ? add : c;
  });
  CHECK(asked == 5);
  CHECK(same.symbolic().size() == 4);
  double const w = std::exp(.75) + .5, u = std::exp(2.) + .5;
  CHECK(g.value(v) == Approx(std::pow(w, 8)));
  CHECK(g.value(same.symbolic(), same.symbolic().same(v)) == Approx(std::pow(w, 8)));
  CHECK(g.value(other.symbolic(), other.symbolic().same(v)) == Approx(8 * u));
  other.symbolic().free(other.symbolic().find_exec("sum"));
  CHECK(g.value(v) == Approx(std::pow(w, 8)));
  CHECK_THROWS_WITH(other.symbolic().exec(add, {g.x, g.y}, {g.t}),
                    Catch::Contains("expressions of one graph"));
  CHECK_THROWS_AS(
      g.g.duplicate([](symbolic_exec const&, command const&) { return command::of<ct::op::matmul>({0, 0}); }),
      ct::error);
}

TEST_CASE("only symbols that were duplicated have a counterpart in a duplicate", "[symbolic]") {
  small g;
  auto const late = g.s.tensor<double>({2}, "late");
  auto const freed = g.s.exec(exp_of, {g.x}, {late}, "freed");
  auto const e = g.g.expression<double>(g.x);
  auto const squared = e * e; // no symbol of it exists yet
  auto copy = g.g.duplicate();
  auto const d = copy.symbolic();
  auto const refused = [&](auto const& symbol) {
    CHECK_THROWS_WITH(d.same(symbol), Catch::Contains("expressions of one graph; in same") &&
                                          Catch::Contains("symbolic_changes.cpp"));
  };
  CHECK(d.name_of(d.same(g.w)) == "w");
  CHECK(d.name_of(d.same(g.sum)) == "sum");
  CHECK(d.same(d.same(g.w)) == d.same(g.w)); // its own
  CHECK(d.same(d.same(g.sum)) == d.same(g.sum));
  CHECK(d.same(absent) == absent);
  CHECK(g.s.same(g.w) == g.w);
  CHECK(d.name_of(d.same(g.s.symbol_of(squared))).empty());
  g.s.visit([&](ct::dynamic::symbolic_node const& n) {
    if (g.s.outputs_of(n.exec) == std::vector{g.s.symbol_of(squared)})
      CHECK(d.outputs_of(d.same(n.exec)) == std::vector{d.same(g.s.symbol_of(squared))});
  });

  ct::dynamic::graph other;
  auto const o = other.symbolic();
  auto const theirs = o.tensor<double>({7}, "theirs"), result = o.tensor<double>({7}, "result");
  refused(theirs);
  refused(o.exec(exp_of, {theirs}, {result}));
  CHECK_THROWS_WITH(g.s.same(theirs), Catch::Contains("expressions of one graph"));
  CHECK_THROWS_WITH(g.s.same(d.same(g.w)), Catch::Contains("expressions of one graph"));

  auto const after = g.s.tensor<double>({5}, "after"), value = g.s.tensor<double>({5}, "value");
  refused(after); // before and after the duplicate has a symbol with that index
  auto const own = d.tensor<double>({9}, "own"), own_value = d.tensor<double>({9}, "own value");
  refused(after);
  auto const later = g.s.exec(exp_of, {after}, {value}, "later");
  refused(later);
  d.exec(exp_of, {own}, {own_value}, "own");
  refused(later);

  g.s.free(freed); // new symbols at the freed indices, in both graphs
  g.s.free(late);
  d.free(d.same(freed));
  d.free(d.same(late));
  auto const late_again = g.s.tensor<double>({3}, "again");
  refused(late_again);
  auto const ours = d.tensor<double>({4}, "ours");
  REQUIRE(late_again.id == ours.id);
  refused(late_again);
  auto const exec_again = g.s.exec(log_of, {g.x}, {g.s.tensor<double>({2})}),
             our_exec = d.exec(log_of, {d.same(g.x)}, {d.tensor<double>({2})});
  REQUIRE(exec_again.id == our_exec.id);
  refused(exec_again);
  CHECK_FALSE(d.is_alive(d.same(late)));
  CHECK_FALSE(d.is_alive(d.same(freed)));

  auto second = copy.duplicate();
  CHECK(second.symbolic().name_of(second.symbolic().same(ours)) == "ours");
  CHECK(second.symbolic().name_of(second.symbolic().same(g.w)) == "w"); // a duplicate of a duplicate
  CHECK_THROWS_WITH(second.symbolic().same(late_again), Catch::Contains("expressions of one graph"));
  CHECK_THROWS_WITH(second.symbolic().same(exec_again), Catch::Contains("expressions of one graph"));
  CHECK_THROWS_WITH(second.symbolic().same(after), Catch::Contains("expressions of one graph"));
}

TEST_CASE("hooks are called for new operations, the latest hook first, during their lifetime", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  std::string seen;
  {
    auto const outer = s.on_tensor([&](symbolic_tensor const& t) { seen += "1" + s.name_of(t) + " "; });
    auto const x = s.tensor<double>({2}, "x");
    {
      auto const inner = s.on_tensor([&](symbolic_tensor const& t) { seen += "2" + s.name_of(t) + " "; });
      auto const alias =
          s.on_alias([&](symbolic_tensor const& t) { seen += "a" + s.name_of(s.base_of(t)) + " "; });
      auto const exec = s.on_exec([&](symbolic_exec const& e) { seen += "e" + s.name_of(e) + " "; });
      auto const y = s.tensor<double>({1}, "y");
      auto const part = s.alias(x, {.shape = {1}});
      s.exec(exp_of, {part}, {y}, "exp");
      s.sub_graph().tensor<double>({}, "inside");
      CHECK_THROWS_AS(s.exec(exp_of, {part}, {y}, "again"), ct::graph_error);
    }
    s.tensor<double>({}, "z");
  }
  s.tensor<double>({}, "unseen");
  CHECK(seen == "1x 2y 1y ax eexp 2inside 1inside 1z ");
}

TEST_CASE("expressions and symbols are two interfaces to one graph", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const a = g.input<double>("a", {2});
  auto const b = ct::exp(a) * 2.0;
  auto const x = s.symbol_of(b), y = s.tensor<double>({2}, "y");
  auto const squared = s.exec(mul, {x, x}, {y}, "square");
  auto const loss = ct::sum(g.expression<double>(y) + a); // computed from what an operation writes
  CHECK(s.reaches({s.find_exec("square")}, squared) == std::vector<bool>{true});
  auto const da = g.gradient({loss}, {a}).front(); // d/da 4 exp(2 a) + a
  auto p = g.compile({loss, da});
  p.bind(a, {0., .5});
  p.run();
  CHECK(double(p.value(loss)) == Approx(4 + 4 * std::exp(1.) + .5));
  CHECK(p.value(da)(1) == Approx(8 * std::exp(1.) + 1));
  auto const table = s.backward({s.symbol_of(loss)}, {y, s.symbol_of(a)});
  auto q = s.compile({.outputs = {table.gradient_of(y), table.gradient_of(s.symbol_of(a))}});
  q.bind(a, {0., .5});
  q.run();
  CHECK(q.value<double>(table.gradient_of(y))[0] == 1);
  CHECK(q.value<double>(table.gradient_of(s.symbol_of(a)))[1] == Approx(8 * std::exp(1.) + 1));
  CHECK_THROWS_WITH(s.free(y), Catch::Contains("still uses"));
  CHECK_THROWS_AS(g.expression<float>(y), ct::graph_error);
}

TEST_CASE("gradients of gradients have tables of their own", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y");
  s.exec(command::of<ct::op::cos>(), {x}, {y});
  std::vector<symbolic_tensor> all{y};
  CHECK_FALSE(s.gradient_of(x).present());
  for (int k = 0; k < 3; ++k) {
    all.push_back(s.backward({all.back()}, {x}).gradient_of(x));
    CHECK(s.gradient_of(x) == all.back());
  }
  auto p = s.compile({.outputs = all});
  p.bind(x, .7);
  p.run();
  double const right[]{std::cos(.7), -std::sin(.7), -std::cos(.7), std::sin(.7)};
  for (std::size_t k = 0; k < 4; ++k) CHECK(double(p.value<double>(all[k])) == Approx(right[k]));
}

TEST_CASE("operands that do not fit are refused in words, and the graph stays unchanged", "[symbolic]") {
  small g;
  symbolic_graph const& s = g.s;
  auto const f = s.tensor<float>({2}, "f"), longer = s.tensor<double>({3}, "longer"),
             open = s.tensor<double>(automatic, "open");
  auto const flag = s.tensor<bool>({}, "flag");
  auto const part = s.alias(longer, {.shape = {2}}, "part");
  auto const choice = s.case_of(s.tensor<std::int64_t>({}, "index"), "choice");
  auto const body = s.sub_graph("body");
  auto const in = body.tensor<double>({2}, "in"), goes_on = body.tensor<bool>({}, "goes on");
  ct::dynamic::graph stranger;
  auto const theirs = stranger.symbolic().tensor<double>({2}, "theirs");
  auto const refused = [&](std::string const& words, std::function<void()> const& what) {
    int const before = s.size();
    double const w = g.value(g.w);
    std::string said;
    try {
      what();
    } catch (ct::error const& e) { said = e.what(); }
    CAPTURE(said);
    CHECK(said.find(words) != std::string::npos);
    CHECK(s.size() == before);
    CHECK(g.value(g.w) == w);
  };
  refused("f float [2]", [&] { s.exec(add, {g.x, f}, {longer}); });
  refused("must have the element type and the shape", [&] { s.exec(exp_of, {g.x}, {longer}); });
  refused("it gives double [2]", [&] { s.exec(exp_of, {g.x}, {f}); });
  refused("as many inputs", [&] { s.exec(exp_of, {g.x, g.y}, {longer}); });
  refused("as many outputs", [&] { s.exec(exp_of, {g.x}, {f, longer}); });
  refused("as many attributes", [&] { s.exec(command::of<ct::op::sum>(), {g.x}, {f}); });
  refused("this input must be given (1)", [&] { s.exec(add, {g.x, absent}, {longer}); });
  refused("use while_ and case_of", [&] { s.exec(command::of<ct::op::loop>(), {g.x}, {longer}); });
  refused("by one operation at most", [&] { s.exec(exp_of, {g.x}, {g.z}); });
  refused("by one operation at most", [&] { s.set_io(g.product, {g.x, g.y}, {g.z}); });
  refused("as many inputs", [&] { s.set_command(g.product, exp_of); });
  refused("expressions of one graph", [&] { s.exec(add, {g.x, theirs}, {g.w}); });
  refused("a symbol must be given", [&] { s.alias(absent, {.shape = {1}}); });
  refused("of this sub-graph, or of an enclosing one", [&] { s.exec(exp_of, {in}, {longer}); });
  refused("a size must be at least 0", [&] { s.tensor<double>({-1}); });
  refused("still uses", [&] { s.free(g.z); });
  refused("still uses", [&] { s.free(longer); });
  refused("must not be changed, nor", [&] { s.set_shape(part, {1}); });
  refused("must not be changed, nor", [&] { s.set_shape(longer, {4}); });
  refused("flags of its own", [&] { s.set_flags(part, ct::dynamic::unwritten::zeros); });
  refused("two different operations", [&] { s.concat(g.sum, g.sum); });
  refused("there must be such an edge", [&] { s.disjoin(g.sum, g.power); });
  refused("a shape must be set", [&] { s.compile({.outputs = {open}, .binds = {}}).run(); });
  refused("one bool of the body", [&] { s.while_(body, in); });
  refused("that no loop or branch runs yet", [&] { s.while_(s, flag); });
  refused("must be the body of a loop", [&] { s.carry(g.x, g.z); });
  refused("with one element type and shape", [&] { body.carry(in, longer); });
  refused("an integer scalar", [&] { s.case_of(g.x); });
  refused("must be a choice", [&] { s.branch(g.sum); });
  refused("a value that is passed through must have", [&] { s.bypass(choice, g.x, longer); });
  refused("must represent one symbol", [&] { body.hookup(in, longer); });
  refused("not a sub-graph", [&] { body.backward({in}, {in}); });
  refused("a loop or branch must not be changed itself", [&] { s.set_io(choice, {g.x}, {g.y}); });
  refused("an output must depend on each", [&] { s.backward({g.w}, {longer}, {g.x}, ct::unreachable::error); });
  refused("one cotangent for each output", [&] { s.backward({g.w}, {g.x}, {g.x, g.y}); });
  refused("must have a cotangent", [&] { s.backward({g.w}, {g.x}); });
  refused("needs float or double", [&] { s.backward({g.w}, {flag}, {g.x}); });
  (void)goes_on;

  auto const open_too = s.tensor<double>(automatic, "open too");
  s.exec(exp_of, {open}, {open_too});
  refused("open double", [&] { s.compile({.outputs = {open_too}}); }); // (what does not need it is compiled)

  s.concat(g.sum, g.product); // leads round
  CHECK_THROWS_AS(s.visit([](auto const&) {}), ct::graph_error);
  CHECK_THROWS_AS(s.compile({.outputs = {g.w}}), ct::graph_error);
  s.disjoin(g.sum, g.product);
  CHECK(g.value(g.w) == Approx(std::exp(.75) + .5));
}

TEST_CASE("a hint stays with its operation in walks, copies and drawings, and prevents merging",
          "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), a = s.tensor<double>({2}, "a"), b = s.tensor<double>({2}, "b"),
             y = s.tensor<double>({2}, "y");
  auto const first = s.exec(command::of<ct::op::tanh>(), {x}, {a}, "first"),
             second = s.exec(command::of<ct::op::tanh>(), {x}, {b}, "second");
  s.exec(mul, {a, b}, {y}, "third");
  auto const tanhs = [&] {
    std::ostringstream picture;
    ct::dot(picture, g, {{"y", s.expression<double>(y)}});
    auto p = s.compile({.outputs = {y}, .exact = false});
    p.bind(x, {.5, 1.});
    p.run();
    CHECK(p.value<double>(y)[1] == Approx(std::tanh(1.) * std::tanh(1.)));
    return picture.str();
  };
  CHECK(s.hint_of(first).empty());
  CHECK(tanhs().find("for the cache") == std::string::npos);
  s.set_hint(second, "for the cache");
  std::string const picture = tanhs();
  CHECK(picture.find("tanh\\nfor the cache") != std::string::npos);
  CHECK(picture.find("second") == std::string::npos);
  std::ostringstream all;
  ct::dot(all, g, {}, {.details = true});
  CHECK(all.str().find("tanh\\nsecond: for the cache") != std::string::npos);
  CHECK(all.str().find("third") != std::string::npos);
  int seen = 0;
  g.duplicate().symbolic().visit([&](ct::dynamic::symbolic_node const& n) {
    seen += !n.hint.empty();
    CHECK(n.hint == (n.name == "second" ? "for the cache" : ""));
  });
  CHECK(seen == 1);
  auto const left = [&] { // after equal operations were merged
    ct::dynamic::detail::graph_state copy(ct::dynamic::detail::graph_access::state(g));
    (void)ct::dynamic::detail::lower(copy, {.outputs = {y.id}}, {});
    copy.b.set_inputs(copy.inputs.data(), static_cast<int>(copy.inputs.size()));
    copy.b.set_outputs(&y.id, 1);
    int found = 0;
    for (ct::extend::node const& n : ct::detail::simplify(copy.b.get()).nodes) found += n.op == ct::info_of<ct::op::tanh>();
    return found;
  };
  CHECK(left() == 2);
  s.set_hint(second, "");
  CHECK(left() == 1);
  s.set_hint(second, "stays");
  s.set_command(second, command::of<ct::op::sin>());
  CHECK(s.hint_of(second) == "stays");
  s.free(second);
  CHECK_THROWS_AS(s.set_hint(second, "gone"), ct::graph_error);
  CHECK_THROWS_AS(s.hint_of(second), ct::graph_error);
}

TEST_CASE("parameters of a symbolic graph are learned like those of expressions", "[symbolic]") {
  auto const run = [](auto const& optimizer, bool symbols, bool apart) {
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    std::vector<double> w{.3, -.2}, b{.1}, losses;
    auto const train = [&](auto& p, auto const& value) {
      for (int k = 0; k < 5; ++k) {
        p.run();
        losses.push_back(double(value(p)));
      }
      losses.insert(losses.end(), {w[0], w[1], b[0]});
      return losses;
    };
    if (!symbols) {
      auto const W = g.input<double>("w", {2}), B = g.input<double>("b", {});
      auto const loss = ct::sum(ct::square(ct::tanh(W) * 2.0 - 0.5 + B));
      auto const step = g.minimize(loss, optimizer, {W, B});
      auto p = g.compile({loss}, {{W, w}, {B, b}}, {.updates = step.updates});
      return train(p, [&](auto const& done) { return done.value(loss); });
    }
    auto const W = s.tensor<double>({2}, "w"), B = s.tensor<double>({}, "b"), h = s.tensor<double>({2}),
               loss = s.tensor<double>({}, "loss");
    s.exec(command("layer", [](ct::term x, ct::term c) { return ct::extend::apply<ct::op::tanh>(x) * 2.0 - 0.5 + c; }), {W, B}, {h});
    s.exec(command("loss", [](ct::term x) { return ct::extend::sum(x * x, 1u); }), {h}, {loss});
    ct::dynamic::symbolic_step step;
    if (apart) step = g.apply_gradients(optimizer, {W, B}, s.backward({loss}, {W, B}).all());
    else step = g.minimize(loss, optimizer, {W, B});
    CHECK(step.gradients.size() == 2);
    REQUIRE(step.updates.size() >= 2);
    CHECK(step.updates[0].first == W);
    CHECK(step.updates[1].first == B);
    auto p = s.compile({.outputs = {loss}, .binds = {{W, w}, {B, b}}, .updates = step.updates});
    return train(p, [&](auto const& done) { return done.template value<double>(loss); });
  };
  auto const agree = [&](auto const& optimizer) {
    auto const expected = run(optimizer, false, false), found = run(optimizer, true, false);
    for (std::size_t k = 0; k < expected.size(); ++k) CHECK(found[k] == Approx(expected[k]).epsilon(1e-14));
    CHECK(run(optimizer, true, true) == found);
    CHECK(found[4] < found[0]);
  };
  agree(ct::sgd{.learning_rate = .05, .momentum = .9});
  agree(ct::adam{.learning_rate = .05});

  small g;
  auto const loss = g.s.tensor<double>({}, "loss");
  g.s.exec(command::of<ct::op::sum>({1}), {g.w}, {loss});
  int const before = g.s.size();
  auto const of = [&](std::vector<symbolic_tensor> const& p) {
    return [&g, &loss, p] { g.g.minimize(loss, ct::sgd{}, p); };
  };
  CHECK_THROWS_WITH(of({g.z})(), Catch::Contains("must be an input") && Catch::Contains("z"));
  CHECK_THROWS_WITH(of({g.x, g.x})(), Catch::Contains("by one value only"));
  CHECK_THROWS_WITH(of({ct::dynamic::absent})(), Catch::Contains("must be given here"));
  CHECK_THROWS_WITH(of({g.s.tensor<double>(automatic)})(), Catch::Contains("a shape must be set"));
  CHECK_THROWS_AS(g.g.apply_gradients(ct::sgd{}, {g.x}, {loss}), ct::shape_error);
  CHECK_THROWS_AS(g.s.compile({.outputs = {loss}, .updates = {{g.z, g.w}}}), ct::graph_error);
  CHECK_THROWS_AS(g.s.compile({.outputs = {loss}, .updates = {{g.x, loss}}}), ct::shape_error);
  CHECK(g.s.size() == before);
}

} // namespace
