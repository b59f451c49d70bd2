// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>

#include "catch.hpp"

#include "../words.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// Aliases of graphs made by symbols: read and written, their gradients, and what gathers gradients made in pieces.

namespace {

namespace ct = cotangent;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;
using tensors = std::vector<symbolic_tensor>;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              log_of = command::of<ct::op::log>(), exp_of = command::of<ct::op::exp>(),
              relu = command::of<ct::op::relu>();

struct parts {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  symbolic_tensor t(std::int64_t n) const { return s.tensor<double>({n}); }
};

TEST_CASE("contributions of aliases and of the whole are summed on the whole", "[symbolic][views]") {
  parts g;
  auto const x = g.t(2), one = g.t(2), y = g.t(2), w1 = g.t(1), u1 = g.t(1), u2 = g.t(1), v = g.t(1),
             seed = g.t(1);
  auto const x1 = g.s.alias(x, {.shape = {1}}), y1 = g.s.alias(y, {.shape = {1}}),
             y2 = g.s.alias(y, {.offset = {1}, .shape = {1}}, "y2");
  g.s.exec(add, {x, one}, {y});
  g.s.exec(mul, {y1, y1}, {w1});
  g.s.exec(add, {w1, y1}, {u1});
  g.s.exec(exp_of, {y2}, {u2});
  g.s.exec(add, {x1, u1, u2}, {v}, "three");
  CHECK(g.s.size() == 5);
  CHECK(g.s.base_of(y2) == y);
  auto const dx = g.s.backward({v}, {x}, {seed}).gradient_of(x);
  auto p = g.s.compile({.outputs = {v, dx}});
  p.bind(x, {.44, -1.18});
  p.bind(one, {1., 1.5});
  p.bind(seed, {1.});
  p.run();
  CHECK(p.value<double>(v)[0] == Approx(5.3307277));
  CHECK(p.value<double>(dx)[0] == Approx(4.88));
  CHECK(p.value<double>(dx)[1] == Approx(1.3771278));
  CHECK(p.step_count() <= 12);
}

TEST_CASE("elements that no operation writes are zero, also where nothing needs the others", "[symbolic][views]") {
  parts g;
  auto const x = g.t(2), joined = g.t(4), total = g.s.tensor<double>({}), slope = g.t(2);
  auto const left = g.s.alias(joined, {.shape = {2}}), right = g.s.alias(joined, {.offset = {2}, .shape = {2}});
  g.s.exec(log_of, {x}, {left});
  g.s.exec(command::of<ct::op::sum>({1}), {right}, {total});
  g.s.exec(exp_of, {right}, {slope});
  auto p = g.s.compile({.outputs = {total, slope}});
  p.run();
  CHECK(double(p.value<double>(total)) == 0);
  CHECK(p.value<double>(slope)[1] == 1);
  g.s.set_flags(joined, ct::dynamic::unwritten::ones);
  CHECK(refused("set_flags: a tensor that is written by aliases must not have ones elsewhere", [&] { (void)g.s.compile({.outputs = {joined}}); }));
}

TEST_CASE("the unread part of a tensor has gradient zero", "[symbolic][views]") {
  parts g;
  auto const x = g.t(2), y = g.t(2), w = g.t(1), v = g.t(1), seed = g.t(1);
  auto const x1 = g.s.alias(x, {.shape = {1}}), y1 = g.s.alias(y, {.shape = {1}});
  g.s.exec(log_of, {x1}, {y1});
  g.s.exec(mul, {y1, y1}, {w});
  g.s.exec(add, {w, y1}, {v});
  auto const table = g.s.backward({v}, {x}, {seed});
  auto const of_alias = g.s.backward({y1}, {x1}, {seed});
  auto const dx = table.gradient_of(x), da = of_alias.gradient_of(x1);
  CHECK(table.producer_of(dx).present());
  auto p = g.s.compile({.outputs = {v, dx}});
  p.bind(x, {.21, -13.22});
  p.bind(seed, {1.});
  p.run();
  CHECK(p.value<double>(v)[0] == Approx(.8749736));
  CHECK(p.value<double>(dx)[0] == Approx(-10.1014071));
  CHECK(p.value<double>(dx)[1] == 0);
  CHECK(p.step_count() <= 7);
  auto q = g.s.compile({.outputs = {da}});
  q.bind(x, {2., 4.});
  q.bind(seed, {1.});
  q.run();
  CHECK(q.value<double>(da).size() == 1);
  CHECK(q.value<double>(da)[0] == .5);
}

struct tile {
  std::int64_t row, channel;
};

/// image -conv-> b; tiles of b -relu-> the same tiles of c, or tensors of their own.
struct tiled : parts {
  symbolic_tensor image, w, bias, b, c, d;
  tensors outs;
  tiled(std::int64_t n, std::int64_t channels, std::vector<tile> const& tiles, bool same_places)
      : c(s.tensor<double>({n, n, channels}, "c")), d(s.tensor<double>({n, channels}, "d")) {
    auto const x = g.input<double>("image", std::vector{n, n, std::int64_t{3}});
    auto const k =
        g.input<double>("w", std::vector{std::int64_t{3}, std::int64_t{3}, std::int64_t{3}, channels});
    auto const to = g.input<double>("bias", {channels});
    image = s.symbol_of(x);
    w = s.symbol_of(k);
    bias = s.symbol_of(to);
    b = s.symbol_of(ct::conv2d(x, k, {.padding = {1, 1}}) + to); // expressions and symbols are of one graph
    for (tile const& one : tiles) {
      ct::dynamic::window const at{.offset = {one.row, std::int64_t{0}, one.channel},
                                   .shape = {n / 2, n, channels / 2}};
      outs.push_back(same_places ? s.alias(c, at) : s.tensor<double>({n / 2, n, channels / 2}));
      s.exec(relu, {s.alias(b, at)}, {outs.back()});
    }
    s.exec(command::of<ct::op::sum>({1}), {c}, {d}, "pool");
  }
  /// How many zero fills of the shape of b the program of this symbol has: constants, or tensors written in pieces only
  /// in part.
  int zeroed(symbolic_tensor const& t) const {
    int found = 0;
    s.visit([&](ct::dynamic::symbolic_node const& node) {
      for (symbolic_tensor const& y : node.outputs)
        found += y.present() && node.what == command::set(0.0) && s.shape_of(y) == s.shape_of(t);
    });
    return found;
  }
};

TEST_CASE("tiles of one gradient are gathered by one operation", "[symbolic][views]") {
  tiled big(100, 128, {{0, 0}, {0, 64}, {50, 0}, {50, 64}}, true);
  CHECK(big.s.window_of(big.outs[3]) == std::vector<std::int64_t>{50 * 12800 + 64, 12800, 128, 1});
  auto const seed = big.s.tensor<double>({100, 128}, "seed");
  auto const table = big.s.backward({big.d}, {big.w, big.bias, big.b, big.c}, {seed});
  auto const db = table.gradient_of(big.b), dc = table.gradient_of(big.c);
  auto const join = table.producer_of(db);
  REQUIRE(join.present());
  CHECK(big.s.command_of(join) == command());
  CHECK(big.s.inputs_of(join).size() == 4);
  CHECK(big.s.outputs_of(join) == tensors{db});
  CHECK(big.zeroed(db) == 0);
  CHECK(table.producer_of(dc).present());
  CHECK_FALSE(big.s.command_of(table.producer_of(dc)) == command());
  CHECK_FALSE(table.gradient_of(big.image).present());

  for (std::size_t const count : {4u, 2u}) { // 2: the tiles of the first rows only
    std::vector<tile> all{{0, 0}, {0, 6}, {5, 0}, {5, 6}};
    all.resize(count);
    tiled small(10, 12, all, true);
    auto const dy = small.s.tensor<double>({10, 12}, "seed");
    auto const t = small.s.backward({small.d}, {small.bias, small.b}, {dy});
    CHECK(small.s.inputs_of(t.producer_of(t.gradient_of(small.b))).size() == count);
    auto p = small.s.compile({.outputs = {small.b, t.gradient_of(small.b), t.gradient_of(small.bias)}});
    std::vector<double> image(300), w(324), bias(12), seeds(120);
    for (std::size_t k = 0; k < 324; ++k) w[k] = std::sin(double(k));
    for (std::size_t k = 0; k < 300; ++k) image[k] = std::cos(double(k));
    for (std::size_t k = 0; k < 120; ++k) seeds[k] = double(k % 7) - 3;
    p.bind(small.image, image);
    p.bind(small.w, w);
    p.bind(small.bias, bias);
    p.bind(dy, seeds);
    p.run();
    auto const b = p.value<double>(small.b), d = p.value<double>(t.gradient_of(small.b));
    std::vector<double> sums(12);
    int wrong = 0;
    for (std::int64_t i = 0; i < 10; ++i)
      for (std::int64_t j = 0; j < 10; ++j)
        for (std::int64_t k = 0; k < 12; ++k) {

          sums[static_cast<std::size_t>(k)] += d(i, j, k);
          wrong +=
              d(i, j, k) !=
              ((count == 4 || i < 5) && b(i, j, k) > 0 ? seeds[static_cast<std::size_t>(j * 12 + k)] : 0);
        }
    CHECK(wrong == 0);
    for (std::int64_t k = 0; k < 12; ++k)
      CHECK(p.value<double>(t.gradient_of(small.bias))[k] == Approx(sums[static_cast<std::size_t>(k)]));
  }
}

TEST_CASE("overlapping tiles are summed, also behind an operation that only orders", "[symbolic][views]") {
  for (bool const joined : {false, true}) {
    parts g;
    auto const b0 = g.s.tensor<double>({4, 12}, "b0"), b = g.s.tensor<double>({4, 12}, "b"),
               c = g.s.tensor<double>({4, 12}, "c"), seed = g.s.tensor<double>({4, 12}, "seed");
    g.s.exec(exp_of, {b0}, {b});
    tensors outs;
    std::vector<symbolic_exec> relus;
    for (std::int64_t const k : {0, 3}) { // channels 0 to 5 and 3 to 8
      outs.push_back(g.s.alias(c, {.offset = {std::int64_t{0}, 2 * k}, .shape = {4, 6}}));
      relus.push_back(
          g.s.exec(relu, {g.s.alias(b, {.offset = {std::int64_t{0}, k}, .shape = {4, 6}})}, {outs.back()}));
    }
    symbolic_exec order;
    if (joined) {
      order = g.s.exec(ct::dynamic::noop, outs, {c}, "both");
      CHECK(g.s.reaches({relus[0], relus[1]}, order) == std::vector<bool>{true, true});
    }
    auto const table = g.s.backward({c}, {b}, {seed});
    auto const db = table.gradient_of(b);
    auto const producer = table.producer_of(db);
    REQUIRE(producer.present());
    CHECK(g.s.command_of(producer).name() == "add");
    CHECK(g.s.inputs_of(producer).size() == 2);
    auto p = g.s.compile({.outputs = {db, c}});
    p.bind(b0, std::vector<double>(48, .1));
    p.bind(seed, std::vector<double>(48, 1.));
    p.run();
    for (std::int64_t k = 0; k < 12; ++k) {
      CHECK(p.value<double>(db)(2, k) == (k < 6) + (k >= 3 && k < 9));
      CHECK(p.value<double>(c)(1, k) == Approx(std::exp(.1)));
    }
  }
}

TEST_CASE("aliases compose, stay inside their tensor, follow it, and can be bound", "[symbolic][views]") {
  parts g;
  auto const x = g.t(6);
  auto const a = g.s.alias(x, {.offset = {2}, .shape = {4}}),
             b = g.s.alias(a, {.offset = {1}, .shape = {2}}, "b");
  CHECK(g.s.base_of(b) == x);
  CHECK(g.s.window_of(b) == std::vector<std::int64_t>{3, 1});
  auto const y = g.t(2), four = g.t(4);
  g.s.exec(mul, {b, b}, {y});
  auto p = g.s.compile({.outputs = {y}});
  for (double const first : {0., 20.}) {
    std::vector<double> data(6);
    for (std::size_t k = 0; k < 6; ++k) data[k] = first + double(k);
    p.bind(x, data);
    p.run();
    CHECK(p.value<double>(y)[0] == (first + 3) * (first + 3));
    CHECK(p.value<double>(y)[1] == (first + 4) * (first + 4));
  }
  int const before = g.s.size();
  CHECK_THROWS_AS(g.s.alias(four, {.offset = {3}, .shape = {4}}), ct::shape_error);
  CHECK_THROWS_AS(g.s.alias(four, {.offset = {-1}, .shape = {2}}), ct::shape_error);
  CHECK_THROWS_AS(g.s.alias(a, {.offset = {3}, .shape = {2}}), ct::shape_error);
  CHECK_THROWS_AS(g.s.alias(g.s.tensor<double>(ct::dynamic::automatic), {.shape = {2}}), ct::graph_error);
  CHECK(g.s.size() == before);

  // memory for a part of a tensor that nobody writes, and for a part that is written
  auto const u = g.t(3), v = g.t(3);
  auto const u1 = g.s.alias(u, {.offset = {1}, .shape = {1}}),
             v1 = g.s.alias(v, {.offset = {2}, .shape = {1}});
  g.s.exec(log_of, {u1}, {v1});
  std::vector<double> const in{2.34};
  std::vector<double> out{0};
  auto q = g.s.compile({.outputs = {v}, .binds = {{u1, in}, {v1, out}}});
  q.run();
  CHECK(out[0] == Approx(std::log(2.34)));
  CHECK(q.value<double>(v)[2] == out[0]);
  CHECK(q.value<double>(v)[0] == 0);
}

TEST_CASE("an element has one writer, whichever wrote it first", "[symbolic][views]") {
  parts g;
  auto const x = g.t(2), y = g.t(4);
  auto const low = g.s.alias(y, {.shape = {2}}), middle = g.s.alias(y, {.offset = {1}, .shape = {2}}),
             twice = g.s.alias(y, {.shape = {2}, .stride = {0}});
  g.s.exec(exp_of, {x}, {low});
  CHECK_THROWS_WITH(g.s.exec(exp_of, {x}, {middle}),
                    Catch::Contains("an element must be written by one operation"));
  CHECK_THROWS_AS(g.s.exec(exp_of, {x}, {twice}), ct::graph_error);
  CHECK_THROWS_AS(g.s.exec(command::set(0), {}, {y}), ct::graph_error);
  CHECK(g.s.size() == 1);
  auto const high = g.s.alias(y, {.offset = {2}, .shape = {2}});
  g.s.exec(log_of, {x}, {high});
  auto p = g.s.compile({.outputs = {y}});
  p.bind(x, {1., 2.});
  p.run();
  CHECK(p.value<double>(y)[1] == Approx(std::exp(2.)));
  CHECK(p.value<double>(y)[3] == Approx(std::log(2.)));
}

TEST_CASE("an operation of 70 inputs is differentiated", "[symbolic]") {
  parts g;
  tensors x;
  for (int k = 0; k < 70; ++k) x.push_back(g.s.tensor<double>({}));
  auto const y = g.s.tensor<double>({}, "y"), seed = g.s.tensor<double>({}, "seed");
  auto const sum = g.s.exec(add, x, {y});
  CHECK(g.s.inputs_of(sum).size() == 70);
  auto const table = g.s.backward({y}, x, {seed});
  CHECK(table.all().size() == 70);
  tensors all = table.all();
  all.push_back(y);
  auto p = g.s.compile({.outputs = all});
  for (int k = 0; k < 70; ++k) p.bind(x[static_cast<std::size_t>(k)], double(k));
  p.bind(seed, 2.);
  p.run();
  CHECK(double(p.value<double>(y)) == 69 * 70 / 2);
  for (symbolic_tensor const& d : table.all()) CHECK(double(p.value<double>(d)) == 2);
  for (std::size_t k = 1; k < 70; ++k) CHECK_FALSE(table.all()[k] == table.all()[0]);
}

} // namespace
