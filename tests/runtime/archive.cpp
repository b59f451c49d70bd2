// SPDX-License-Identifier: BSL-1.0
// Graphs in files: a graph that is read equals the written one.
#include "../archive_cases.hpp"

#include "../archive_bytes.hpp"
#include "catch.hpp"

#include <cotangent/geometry.hpp>
#include <cotangent/tables.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace archive_cases;
using archive_bytes::said;
using ct::dynamic::expr;

template <class T> std::vector<T> elements(ct::dynamic::values<T> const& v) { return {v.begin(), v.end()}; }
bool begins(std::string const& text, std::string const& with) { return text.rfind(with, 0) == 0; }

struct scratch_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("cotangent-" + std::to_string(std::random_device()()) + ".safetensors");
  ~scratch_file() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("a loaded graph has its symbols and their bound data", "[archive]") {
  scratch_file const file;
  {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x"), y = g.input<double>("y");
    auto const z = (x + y) * (x + y);
    double const ten = 10, eight = 8;
    ct::archive::save(file.path, g, {{x, ten}, {y, eight}}, {{"z", z}});
  }
  auto c = ct::archive::load(file.path);
  auto p = c.graph.compile({c.find("z")}, c.binds());
  p.run();
  CHECK(double(p.value(c.find<double>("z"))) == 324);
  c.data.elements<double>("x")[0] = 2; // the program reads them in place
  p.run();
  CHECK(double(p.value(c.find<double>("z"))) == 100);
  CHECK(c.names() == std::vector<std::string>{"x", "y", "z"});
}

TEST_CASE("graphs with half precision are loaded again, with bound data and constants", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.parameter<ct::bfloat16>("x", {3});
  auto const c = g.constant(std::vector<ct::float16>{4, 5, 6});
  auto const y = ct::sum(ct::square(x) * c), dx = g.gradient({y}, {x}).front() * 1;
  auto const h = ct::convert<ct::float16>(x * 3);
  std::vector<ct::bfloat16> const data{1, 2, 3};
  std::string const bytes = ct::archive::bytes_of(g, {{x, data}}, {{"y", y}, {"dx", dx}, {"h", h}});
  auto k = ct::archive::load_bytes(bytes);
  auto p = k.graph.compile({k.find("y"), k.find("dx"), k.find("h")}, k.binds());
  p.run();
  CHECK(float(p.value(k.find<float>("y"))) == 78);
  CHECK(p.value(k.find<float>("dx"))(2) == 36);
  CHECK(float(p.value(k.find<ct::float16>("h"))(1)) == 6);
  CHECK(ct::archive::bytes_of(k.graph, k.binds(), {{"y", k.find("y")}, {"dx", k.find("dx")}, {"h", k.find("h")}}) == bytes);
}

TEST_CASE("data of half precision that a program reads are not converted", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {3});
  auto const w = g.parameter<ct::float16>("w", {3});
  std::vector<ct::float16> const elements_of_w{1.f, 2.f, 3.f};
  std::string const bytes = ct::archive::bytes_of(g, {{w, elements_of_w}}, {{"loss", ct::sum(ct::square(w * x))}});
  auto before = ct::archive::load_bytes(bytes);
  CHECK(before.data.elements<float>("w")[2] == 3); // no program reads them yet
  auto file = ct::archive::load_bytes(bytes);
  auto const loss = file.find<float>("loss");
  auto p = file.graph.compile({loss}, file.binds());
  p.bind(file.find<float>("x"), std::vector<float>{1, 2, 3});
  CHECK(begins(said([&] { (void)std::as_const(file.data).elements<float>("w"); }), "the requested element type must be that of the tensor"));
  CHECK(begins(said([&] { (void)file.data.elements<float>("w"); }), "the requested element type must be that of the tensor"));
  p.run();
  CHECK(p.value(loss)() == 98);
  file.data.elements<ct::float16>("w")[2] = 0.f;
  p.run();
  CHECK(p.value(loss)() == 17);
}
TEST_CASE("views with offsets, bound data and the gradient of x are loaded again", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const a = g.view(x, {.shape = {1}}), b = g.view(x, {.offset = {1}, .shape = {1}, .stride = {1}});
  auto const y = ct::sum(ct::log(a) * b);
  auto const dx = g.gradient({y}, {x}).front();
  std::array<double, 2> data{.5, 2};
  auto const c = ct::archive::load_bytes(ct::archive::bytes_of(g, {{x, data}}, {{"y", y}}));
  auto kept = c; // copied as a value
  ct::graph const &before = g.get(), &after = kept.graph.get();
  REQUIRE(after.nodes.size() == before.nodes.size());
  REQUIRE(after.tensors.size() == before.tensors.size());
  for (ct::extend::symbol t = 0; t < before.tensors.size(); ++t) {
    CHECK(ct::detail::window_of(before, t) == ct::detail::window_of(after, t));
    CHECK(before.tensors[t].base == after.tensors[t].base);
    CHECK(before.tensors[t].producer == after.tensors[t].producer);
  }
  auto const X = kept.find<double>("x"), D = kept.graph.gradient_of(X);
  CHECK(D.id() == dx.id());
  auto p = kept.graph.compile({D}, kept.binds());
  p.run();
  CHECK(p.value(D)(0) == Approx(2 / .5));
  CHECK(p.value(D)(1) == Approx(std::log(.5)));
  CHECK(kept.data.elements<double>("x")[1] == 2);
}

TEST_CASE("loaded loops, branches, views, constants and second gradients give the same bits", "[archive]") {
  everything e;
  std::string const bytes = e.bytes();
  auto c = ct::archive::load_bytes(bytes);
  std::string const results_before = results(e);
  CHECK(results(c) == results_before);
  CHECK(results_before.substr(0, 8) !=
        results_before.substr(results_before.size() - 56, 8)); // trips do matter
  CHECK(c.graph.parameters().size() == 1);
  CHECK(c.graph.parameters()[0].id() == e.w.id());
  CHECK(c.graph.gradient_of(c.find<double>("w")).id() == e.dw.id());
  CHECK(c.graph.get().regions.size() == e.g.get().regions.size());
  // writing the graph again gives the same bytes
  std::vector<ct::archive::named> const names{
      {"loss", c.find("loss")}, {"the slope", c.find("the slope")}, {"curvature", c.find("curvature")}};
  CHECK(ct::archive::bytes_of(c.graph, c.binds(), names) == bytes);
}

TEST_CASE("loops of files from before they had a tape limit are loaded", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::for_loop(7, [](auto, auto a) { return ct::sin(a) + a; }, x);
  auto const dx = g.gradient({y}, {x}).front();
  double const data = .5;
  std::string bytes = ct::archive::bytes_of(g, {{x, data}}, {{"y", y}, {"dx", dx}});
  int loops = 0;
  for (std::size_t at = 0; (at = bytes.find("attributes", at)) != std::string::npos; ++at) {
    std::size_t const end = bytes.find(']', at), node = bytes.rfind("{", at);
    std::vector<std::size_t> commas;
    for (std::size_t k = at; k < end; ++k)
      if (bytes[k] == ',') commas.push_back(k);
    if (commas.size() != 7 || bytes.substr(node, bytes.find('}', at) - node).find("\"loop") == std::string::npos) continue;
    REQUIRE(bytes.substr(commas[4], commas[5] - commas[4]) == ",0");
    bytes.replace(commas[4], 2, "  ");
    ++loops;
  }
  CHECK(loops >= 2); // that of the gradient, too
  archive_bytes::seal(bytes);
  auto c = ct::archive::load_bytes(bytes);
  auto const Y = c.find<double>("y"), D = c.find<double>("dx");
  auto p = g.compile({y, dx}, {{x, data}});
  auto q = c.graph.compile({Y, D}, c.binds());
  p.run(), q.run();
  CHECK(q.value(Y).data()[0] == p.value(y).data()[0]);
  CHECK(q.value(D).data()[0] == p.value(dx).data()[0]);
}

TEST_CASE("graphs of rotations and tables are loaded with the kernels of their operations", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const y = ct::sum(ct::so3_exp(x)) + ct::sum(ct::interp(x, ct::cumsum(ct::square(x)), x));
  auto const dx = g.gradient({y}, {x}).front();
  std::array<double, 3> data{.5, 2, 1.25};
  auto p = g.compile({y, dx});
  p.bind(x, data);
  p.run();
  auto c = ct::archive::load_bytes(ct::archive::bytes_of(g, {{x, data}}, {{"y", y}, {"dx", dx}}));
  auto const Y = c.find<double>("y"), D = c.find<double>("dx");
  auto q = c.graph.compile({Y, D}, c.binds());
  q.run();
  CHECK(q.value(Y).data()[0] == p.value(y).data()[0]);
  for (int k = 0; k < 3; ++k) CHECK(q.value(D)(k) == p.value(dx)(k));
}

TEST_CASE("a loaded graph can be extended", "[archive]") {
  everything e;
  auto c = ct::archive::load_bytes(e.bytes());
  ct::dynamic::graph& g = c.graph;
  auto const w = c.find<double>("w"), x = c.find<double>("x"), table = c.find<double>("table");
  int const before = g.get().nodes.size();
  CHECK(ct::sum(x).id() == ct::sum(e.x).id()); // equal operations still merge
  CHECK(g.get().nodes.size() == before);
  CHECK_THROWS_AS(g.write(g.view(table, {.shape = {1, 1}}), 1.0), ct::graph_error); // written already
  g.write(g.view(table, {.offset = {1, 0}, .shape = {1, 1}}), 3.0);
  auto const more = c.find<double>("loss") + ct::sum(ct::exp(w));
  auto const d = g.gradient({more}, {w}).front();
  auto const old = c.find<double>("the slope");
  auto p = g.compile({d, old, table}, c.binds());
  p.bind(c.find<std::int64_t>("n"), std::int64_t{3});
  p.run();
  for (int k : {0, 1})
    CHECK(p.value(d)(k) == Approx(p.value(old)(k) + std::exp(e.w_data[static_cast<std::size_t>(k)])));
  CHECK(p.value(table)(1, 0) == 3);
  CHECK(p.value(table)(1, 1) == 0); // no node writes it
}

TEST_CASE("source locations, flags of nodes and elements of all types are loaded again", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {2});
  auto const i = g.input<std::int32_t>("i", {2});
  auto const yes = g.constant(std::vector<std::int64_t>{1, -2});
  auto const on = x > 0.f;
  auto const y = ct::select(on, ct::exp(x), ct::convert<float>(i)) + ct::convert<float>(yes);
  std::vector<float> const xs{1, -1};
  std::vector<std::int32_t> const is{5, 6};
  std::array<bool, 2> const was{true, false};
  auto c = ct::archive::load_bytes(
      ct::archive::bytes_of(g, {{x, xs}, {i, is}, {on, was}}, {{"y", y}, {"on", on}}));
  CHECK(c.data.names() == std::vector<std::string>{"i", "on", "x"});
  CHECK(c.data.elements<bool>("on")[0]);
  for (int k = 0; k < g.get().nodes.size(); ++k) {
    ct::extend::node const &a = g.get().nodes[k], &b = c.graph.get().nodes[k];
    CHECK(a.op == b.op);
    CHECK(a.flags == b.flags);
    CHECK(a.where.line() == b.where.line());
    CHECK(a.where.column() == b.where.column());
    CHECK(std::string_view(a.where.file_name()) == b.where.file_name());
    CHECK(std::string_view(a.where.function_name()) == b.where.function_name());
  }
  auto p = c.graph.compile({c.find("y")}, c.binds());
  p.run();
  CHECK(elements(p.value(c.find<float>("y"))) == std::vector<float>{std::exp(1.f) + 1, 4});
}

TEST_CASE("training continues from a saved optimizer state", "[archive]") {
  auto const train = [](bool stop) {
    ct::dynamic::graph g;
    auto const w = g.parameter<double>("w", {2});
    auto const loss = ct::sum(ct::square(ct::sin(w) - g.constant(std::vector<double>{.5, -.25})));
    auto const step = g.minimize(loss, ct::adam{.learning_rate = .05}, {w});
    std::vector<double> at{1, -1};
    std::vector<std::vector<double>> memory;
    std::vector<std::int64_t> count{0};
    auto p = g.compile({loss}, {}, {.updates = step.updates});
    p.bind(w, at);
    std::vector<ct::dynamic::binding> binds{{w, at}};
    memory.reserve(8);
    for (auto const& u : step.updates) {
      if (u.of.id() == w.id()) continue;
      if (u.of.type() == ct::element::int64) {
        p.bind(u.of.as<std::int64_t>(), count);
        binds.emplace_back(u.of.as<std::int64_t>(), count);
      } else {
        memory.emplace_back(2, 0.0);
        p.bind(u.of.as<double>(), memory.back());
        binds.emplace_back(u.of.as<double>(), memory.back());
      }
    }
    for (int k = 0; k < (stop ? 7 : 12); ++k) p.run();
    if (!stop) return at;
    auto c = ct::archive::load_bytes(ct::archive::bytes_of(g, binds, {{"loss", loss}}, step.updates));
    auto q = c.graph.compile({c.find("loss")}, c.binds(), {.updates = c.updates()});
    for (int k = 7; k < 12; ++k) q.run();
    auto const end = c.data.elements<double>("w");
    return std::vector<double>(end.begin(), end.end());
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("a file with a user-defined operation needs that operation to be loaded", "[archive]") {
  everything e(true);
  std::string const bytes = e.bytes();
  CHECK(begins(said([&] { (void)ct::archive::load_bytes(bytes); }),
               "every operation of the graph must be known; name your own, as in load(path, "
               "ct::operations<softsign>{}); "
               "softsign"));
  auto c = ct::archive::load_bytes(bytes, ct::operations<softsign>{});
  CHECK(results(c) == results(e));
}

TEST_CASE("other weights replace all weights of a file, or none", "[archive]") {
  everything e;
  auto c = ct::archive::load_bytes(e.bytes());
  ct::archive::tensors other;
  other.add("w", std::vector<double>{1, 2});
  other.add("somebody else", 3.0);
  c.take(other);
  CHECK(c.data.elements<double>("w")[1] == 2);
  CHECK(c.data.names() == std::vector<std::string>{"w", "x"});
  other.add("w", std::vector<double>{7, 7});
  other.add("x", std::vector<float>{1, 2, 3, 4});
  CHECK(begins(said([&] { c.take(other); }), "data must have the element type and the shape"));
  CHECK(c.data.elements<double>("w")[1] == 2);
}

TEST_CASE("asking for names that do not exist is refused", "[archive]") {
  everything e;
  auto c = ct::archive::load_bytes(e.bytes());
  CHECK(begins(said([&] { (void)c.find("nobody"); }), "the name must exist in the file; nobody"));
  CHECK_THROWS_AS(c.find<float>("w"), ct::graph_error);
}

TEST_CASE("unnamed expressions, and expressions of equal names, keep their own data", "[archive]") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("", {1}), b = g.input<double>("same", {1}), c = g.input<double>("same", {1}),
             d = g.input<double>("__metadata__", {1});
  std::vector<double> const A{1}, B{2}, C{3}, D{4};
  auto const sum = a + 10.0 * b + 100.0 * c + 1000.0 * d;
  auto file =
      ct::archive::load_bytes(ct::archive::bytes_of(g, {{a, A}, {b, B}, {c, C}, {d, D}}, {{"sum", sum}}));
  CHECK(file.data.names().size() == 4);
  auto p = file.graph.compile({file.find("sum")}, file.binds());
  p.run();
  CHECK(p.value(file.find<double>("sum"))(0) == 4321);
}

TEST_CASE("graphs that cannot be saved are refused and stay unchanged", "[archive]") {
  ct::dynamic::graph g, other;
  auto const x = g.input<double>("x", {2}), stranger = other.input<double>("x", {2});
  std::vector<double> const three{1, 2, 3}, two{1, 2};
  std::vector<float> const floats{1, 2};
  auto const saving = [&](std::vector<ct::dynamic::binding> const& binds,
                          std::vector<ct::archive::named> const& names = {}) {
    return said([&] { (void)ct::archive::bytes_of(g, binds, names); });
  };
  CHECK(saving({{x, two}}) == "fine");
  CHECK(begins(saving({{x, three}}), "data must have the element type and the shape"));
  std::string const names = "names must be UTF-8 without zeros, not empty, other than __metadata__, and differ; ";
  CHECK(begins(saving({}, {{"", x}}), names + "a result has an empty name"));
  CHECK(begins(saving({}, {{"a", x}, {"a", x}}), names + "two results have the name \"a\""));
  CHECK(begins(saving({}, {{std::string("a\0b", 3), x}}), names + "\"a\\u0000b\" has a zero"));
  CHECK(begins(saving({}, {{"y\xc3", x}}), names + "\"y\xef\xbf\xbd\" is not UTF-8"));
  CHECK_THROWS_AS(ct::archive::bytes_of(g, {{stranger, two}}), ct::graph_error);
  CHECK_THROWS_WITH(ct::archive::bytes_of(g, {{x, two}, {x, two}}),
                    Catch::Contains("bound to one memory only; in save of x double [2], at ") &&
                        Catch::Contains("archive.cpp:"));
  CHECK_THROWS_AS(ct::archive::bytes_of(g, {}, {{"y", stranger}}), ct::graph_error);
  CHECK_THROWS_WITH(ct::archive::bytes_of(g, {}, {{"x", x}, {"y", stranger}}), Catch::Contains("in save of the result \"y\""));
  CHECK(ct::for_loop(
            2,
            [&](auto, auto s) {
              CHECK(begins(saving({}), "a graph must not be saved while a loop"));
              return s + x;
            },
            x)
            .attached());
  (void)g.input<double>("\xff\xff", {2});
  CHECK(begins(saving({}), names + "\"\xef\xbf\xbd\xef\xbf\xbd\" is not UTF-8"));
}

TEST_CASE("a graph of symbols is loaded with names, manual edges, loops and freed symbols", "[archive]") {
  using ct::dynamic::command;
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y"), z = s.tensor<double>({2}, "z"),
             gone = s.tensor<double>({3}, "gone"), apart = s.tensor<double>({2}, "apart");
  auto const half = s.alias(z, {.offset = {1}, .shape = {1}}, "half");
  auto const first = s.exec(command::of<ct::op::exp>(), {x}, {y}, "first"),
             second = s.exec(command("twice", [](ct::term t) { return t + t; }), {x}, {apart}, "second");
  s.exec(command::of<ct::op::multiply>(), {x, y}, {z}, "third");
  s.concat(second, first);
  s.set_hint(second, "tile = 8, \"wide\"");
  s.free(gone);
  auto const dx = s.backward({z}, {x}, {y}).gradient_of(x);
  std::vector<double> const data{.5, 2};
  auto const X = g.symbolic().expression<double>(x);
  auto c = ct::archive::load_bytes(ct::archive::bytes_of(g, {{X, data}},
                                                         {{"z", s.expression<double>(z)},
                                                          {"dx", s.expression<double>(dx)},
                                                          {"half", s.expression<double>(half)}}));
  auto const t = c.graph.symbolic();
  CHECK(c.graph.get().tensors.size() == g.get().tensors.size());
  auto const Z = t.symbol_of(c.find("z"));
  std::vector<std::string> names;
  int before_first = -1;
  t.visit([&](ct::dynamic::symbolic_node const& n) {
    if (n.name.empty()) return;
    names.push_back(n.name);
    CHECK(n.hint == (n.name == "second" ? "tile = 8, \"wide\"" : ""));
    if (n.name == "first") before_first = n.edges_in;
  });
  CHECK(names == std::vector<std::string>{"second", "first", "third"});
  CHECK(before_first == 1); // written by hand: no node writes x
  std::string adjoints; // which operations have one, by name
  t.visit([&](ct::dynamic::symbolic_node const& n) {
    if (auto const f = t.forward_of(n.exec); f.present()) adjoints += t.name_of(f) + " ";
  });
  std::string expected;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    if (auto const f = s.forward_of(n.exec); f.present()) expected += s.name_of(f) + " ";
  });
  CHECK(expected.find("third") != std::string::npos);
  CHECK(adjoints == expected);
  auto p = c.graph.compile({c.find("z"), c.find("dx"), c.find("half")}, c.binds());
  p.run();
  CHECK(p.value(c.find<double>("z"))(1) == Approx(2 * std::exp(2)));
  CHECK(p.value(c.find<double>("half"))(0) == p.value(c.find<double>("z"))(1));
  CHECK(p.value(c.find<double>("dx"))(0) == Approx(std::exp(.5) * (std::exp(.5) * 1.5)));
  CHECK_THROWS_AS(t.exec(command::of<ct::op::exp>(), {Z}, {t.symbol_of(c.find("gone"))}, "dead"),
                  ct::graph_error);
}

TEST_CASE("a graph that calls a C++ function is not saved") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::external({2}, [](auto, auto) {}, [](auto, auto, auto, auto) {})(x);
  CHECK(begins(said([&] { (void)ct::archive::bytes_of(g, {}, {{"y", y}}); }), "a graph must not call functions of this process"));
}

TEST_CASE("graphs of maps whose rows have loops are loaded again", "[archive]") {
  for (std::ptrdiff_t const n : {1, 3, 17, 40}) {
    ct::dynamic::graph g;
    auto x = g.input<double>("x", {n});
    auto y = ct::map([](auto r) { return ct::for_loop(3, [&](auto, auto t) { return ct::sin(t * r); }, r); }, x);
    auto const dx = g.gradient({ct::sum(y)}, {x})[0];
    std::vector<double> at;
    for (std::ptrdiff_t k = 0; k < n; ++k) at.push_back(0.1 * static_cast<double>(k + 1));
    ct::view<double const, "n"> const data(at.data(), n);
    auto p = g.compile({y, dx}, {{x, data}});
    p.run();
    auto loaded = ct::archive::load_bytes(ct::archive::bytes_of(g, {{x, data}}, {{"y", y}, {"dx", dx}}));
    auto const again = loaded.find<double>("y"), slope = loaded.find<double>("dx");
    auto q = loaded.graph.compile({again, slope}, loaded.binds());
    q.run();
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      CHECK(p.value(y)(k) == q.value(again)(k));
      CHECK(p.value(dx)(k) == q.value(slope)(k));
    }
  }
}

TEST_CASE("a graph that prints is loaded again, and prints", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const squares = ct::print(x * x, "squares");
  auto const y = ct::sum(ct::for_loop(1, [](auto i, auto s) {
    ct::print(i, "not used");
    return s * 1.0;
  }, squares));
  std::vector<double> const data{1, 2};
  auto c = ct::archive::load_bytes(ct::archive::bytes_of(g, {{x, data}}, {{"y", y}}));
  auto p = c.graph.compile({c.find("y")}, c.binds());
  p.run();
  CHECK(double(p.value(c.find<double>("y"))) == 5);
}
