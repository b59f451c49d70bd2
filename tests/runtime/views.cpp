// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../view_twins.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/views/coverage.hpp>

#include <chrono>
#include <cmath>
#include <ctime>
#include <initializer_list>
#include <string>
#include <vector>

using namespace cotangent;
using namespace view_graph;
using extend::apply;

namespace {

/// A graph under test: its inputs, the symbols asked for, and its outputs.
struct bench {
  extend::builder b;
  std::vector<extend::symbol> inputs;
  detail::array<reference::values> given;

  term input(view_graph::numbers sizes_of_it, std::vector<double> const& v) {
    extend::symbol const x = tensor(b, sizes_of_it);
    reference::values values;
    for (double d : v) values.push(extend::scalar::of(d));
    given.push(values);
    inputs.push_back(x);
    b.set_inputs(inputs.data(), static_cast<int>(inputs.size()));
    return {&b, x};
  }
  term ones(extend::symbol like) { return extend::constant(b, element::float64, b.tensor(like).shape, 1); }
  /// Gradients of the outputs with seeds of one.
  std::vector<extend::symbol> gradients(std::vector<extend::symbol> const& outputs, std::vector<extend::symbol> const& wrt,
                                double seed = 1) {
    std::vector<extend::symbol> seeds, result(wrt.size());
    for (extend::symbol y : outputs)
      seeds.push_back(extend::constant(b, element::float64, b.tensor(y).shape, seed).id);
    detail::gradient(b,
             {outputs.data(), seeds.data(), static_cast<int>(outputs.size()), wrt.data(),
              static_cast<int>(wrt.size())},
             result.data());
    CHECK(b.failed().why == nullptr);
    std::vector<extend::symbol> all = outputs;
    all.insert(all.end(), result.begin(), result.end());
    b.set_outputs(all.data(), static_cast<int>(all.size()));
    verification const v = verify(b.get());
    CHECK(std::string(v.text == nullptr ? "" : v.text) == "");
    return result;
  }
  std::vector<double> value(extend::symbol t) {
    misuse wrong;
    auto const memory = memory_of(b.get(), given, wrong);
    CHECK(wrong.twice + wrong.cycles == 0);
    std::vector<double> r;
    for (extend::scalar const& s : memory[t]) r.push_back(s.real);
    return r;
  }
  double number(extend::symbol t, unsigned k = 0) { return value(t)[k]; }
  /// Nodes that outputs need; a chain of elementwise nodes over one shape counts as one, constants not at all.
  int size() const {
    extend::graph_view const g = b.get();
    std::vector<char> needed(unsigned(g.tensor_count)), roots(unsigned(g.tensor_count));
    auto const need = [&](extend::symbol t) {
      if (t == extend::none) return;
      needed[unsigned(t)] = 1;
      if (g.tensors[t].base != extend::none) roots[unsigned(g.tensors[t].base)] = 1;
      else roots[unsigned(t)] = 1;
    };
    for (int k = 0; k < g.output_count(); ++k) need(g.output(k));
    int count = 0;
    std::vector<int> group(unsigned(g.node_count), -1);
    auto const is_elementwise = [](extend::node const& n) {
      return n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::identity;
    };
    std::vector<char> alive(unsigned(g.node_count));
    for (int i = g.node_count - 1; i >= 0; --i) {
      extend::node const& n = g.nodes[i];
      extend::symbol const y = g.result(n), root = g.tensors[y].base == extend::none ? y : g.tensors[y].base;
      if (!needed[unsigned(y)] && !roots[unsigned(root)]) continue;
      alive[unsigned(i)] = 1;
      for (int k = 0; k < n.operand_count; ++k) need(g.operand(n, k));
    }
    for (int i = 0; i < g.node_count; ++i) {
      extend::node const& n = g.nodes[i];
      operation_kind const kind = n.op->kind;
      if (!alive[unsigned(i)] || kind == operation_kind::constant || kind == operation_kind::reshape)
        continue;
      bool joined = false;
      for (int k = 0; k < n.operand_count && is_elementwise(n); ++k) {
        extend::node const* const p = g.producer(g.operand(n, k));
        joined = joined || (p != nullptr && is_elementwise(*p) &&
                            g.tensors[g.operand(n, k)].shape == g.tensors[g.result(n)].shape);
      }
      count += !joined;
    }
    return count;
  }
  int zeroed() const {
    int n = 0;
    for (bool z : detail::zero_filled(b.get())) n += z;
    return n;
  }
};

} // namespace

TEST_CASE("gradients of products, quotients and several outputs of scalars are right") {
  bench t;
  auto const f = [](term x) { return x * x + apply<op::log>(1.0 / x); };
  term const x0 = t.input({}, {.84}), x1 = t.input({}, {.24});
  term const z0 = f(x0), z1 = f(x1);
  auto const dx = t.gradients({z0.id, z1.id}, {x0.id, x1.id});
  CHECK(t.number(z0.id) == Approx(.84 * .84 - std::log(.84)));
  CHECK(t.number(z0.id) == Approx(.879953));
  CHECK(t.number(dx[0]) == Approx(2 * .84 - 1 / .84));
  CHECK(t.number(z1.id) == Approx(1.4847164));
  CHECK(t.number(dx[1]) == Approx(2 * .24 - 1 / .24));
  CHECK(t.size() <= 18);
  bench c;
  term const x = c.input({}, {.84}), y = c.input({}, {1.23});
  term const z = y * x + apply<op::log>(1.0 / x);
  int const before = c.b.get().nodes.size();
  auto const dy = c.gradients({z.id}, {y.id});
  CHECK(c.number(z.id) == Approx(1.2075534));
  CHECK(c.number(dy[0]) == Approx(.84));
  CHECK(c.b.get().nodes.size() - before <= 2); // of the logarithm and the quotient nothing
}

TEST_CASE("an independent input has gradient zero, without another node") {
  bench t;
  term const x = t.input({}, {3}), y = extend::constant(t.b, element::float64, 0, 1);
  int const before = t.b.get().nodes.size();
  auto const dx = t.gradients({y.id}, {x.id});
  CHECK(t.number(dx[0]) == 0);
  CHECK(t.b.get().nodes.size() - before <= 1);
}

TEST_CASE("gradients of differences and sums are right") {
  bench t;
  term const x = t.input({}, {43.24}), y = t.input({}, {.38});
  term const v = (x - y) * (y + 1);
  auto const d = t.gradients({v.id}, {x.id, y.id});
  CHECK(t.number(v.id) == Approx(59.1468));
  CHECK(t.number(d[0]) == Approx(1.38));
  CHECK(t.number(d[1]) == Approx(41.48));
}

TEST_CASE("the gradient of an output with respect to itself is its cotangent") {
  bench t;
  term const x = t.input({}, {3}), y = x * x, z = y * y;
  auto const d = t.gradients({z.id}, {z.id, y.id, x.id}, 5);
  CHECK(t.number(d[0]) == 5);
  CHECK(t.number(d[1]) == 5 * 18);
  CHECK(t.number(d[2]) == 5 * 4 * 27);
  bench v; // and of a part of it
  term const a = v.input({3}, {1, 2, 3});
  extend::symbol const part = range(v.b, a.id, {1}, {2});
  auto const e = v.gradients({a.id, part}, {a.id, part}, 2);
  CHECK(v.value(e[0]) == std::vector<double>{2, 4, 4});
  CHECK(v.value(e[1]) == std::vector<double>{4, 4});
}

TEST_CASE("gradients of gradients are right") {
  bench t;
  term const x = t.input({}, {2}), y = x * x * x;
  auto const first = t.gradients({y.id}, {x.id});
  auto const second = t.gradients({first[0]}, {x.id});
  auto const third = t.gradients({second[0]}, {x.id});
  CHECK(t.number(second[0]) == 12);
  CHECK(t.number(third[0]) == 6);
}

TEST_CASE("an operation of seventy operands is differentiated") {
  bench t;
  std::vector<extend::symbol> x;
  for (int k = 0; k < 70; ++k) x.push_back(t.input({1}, {double(k)}).id);
  std::int64_t const axis = 0;
  extend::symbol const all = t.b.push(info_of<op::concatenate>(), x.data(), 70, &axis, 1);
  term const y = extend::sum({&t.b, all}, 1);
  auto const d = t.gradients({y.id}, x, 2);
  CHECK(t.number(y.id) == 69 * 35);
  for (extend::symbol s : d) CHECK(t.number(s) == 2);
}

TEST_CASE("contributions of parts and of the whole are summed in one gradient") {
  bench t;
  term const x = t.input({2}, {.44, -1.18}), one = t.input({2}, {1, 1.5});
  term const y = x + one;
  term const x1{&t.b, range(t.b, x.id, {0}, {1})}, y1{&t.b, range(t.b, y.id, {0}, {1})},
      y2{&t.b, range(t.b, y.id, {1}, {1})};
  term const v = x1 + (y1 * y1 + y1) + apply<op::exp>(y2);
  auto const d = t.gradients({v.id}, {x.id});
  CHECK(t.number(v.id) == Approx(5.3307277));
  CHECK(t.number(d[0], 0) == Approx(4.88));
  CHECK(t.number(d[0], 1) == Approx(1.3771278));
  CHECK(t.size() <= 12);
  CHECK(t.zeroed() <= 3);
}

TEST_CASE("unread elements of an input have gradient zero") {
  bench t;
  term const x = t.input({2}, {.21, -13.22});
  extend::symbol const y = tensor(t.b, {2}), y1 = range(t.b, y, {0}, {1});
  write(t.b, info_of<op::log>(), {range(t.b, x.id, {0}, {1})}, y1);
  term const w = term{&t.b, y1} * term{&t.b, y1}, v = w + term{&t.b, y1};
  auto const d = t.gradients({v.id}, {x.id});
  CHECK(t.number(v.id) == Approx(.8749736));
  CHECK(t.number(d[0], 0) == Approx(2 * std::log(.21) / .21 + 1 / .21));
  CHECK(t.number(d[0], 1) == 0);
  CHECK(t.zeroed() == 1); // the gradient itself; the sum is over the one element
  CHECK(t.size() <= 7);
}

TEST_CASE("tiles of a tensor have one gradient, which is zeroed only if they leave gaps") {
  struct tile {
    int row, channel;
  };
  auto const made = [](std::vector<tile> const& tiles, bool pooled, int& sums) {
    bench t;
    term const image = t.input({10, 10, 12}, std::vector<double>(1200, .5));
    term const b = apply<op::exp>(image);
    extend::symbol const c = tensor(t.b, {10, 10, 12});
    std::vector<extend::symbol> parts;
    for (tile k : tiles) {
      extend::symbol const from = range(t.b, b.id, {k.row, 0, k.channel}, {5, 10, 6});
      if (pooled) {
        extend::symbol const to = range(t.b, c, {k.row, 0, k.channel}, {5, 10, 6});
        write(t.b, info_of<op::relu>(), {from}, to);
      } else {
        parts.push_back(apply<op::relu>(term{&t.b, from}).id);
      }
    }
    if (pooled) parts = {extend::sum({&t.b, c}, 3).id};
    int const before = t.b.get().nodes.size();
    auto const d = t.gradients(parts, {b.id, c});
    int zeroed = 0;
    extend::graph_view const g = t.b.get();
    for (extend::symbol s = b.id + 1; s < g.tensor_count; ++s)
      if (detail::zero_filled(g, s) && s != c) ++zeroed;
    sums = 0;
    for (int i = before; i < g.node_count; ++i)
      sums += g.nodes[i].op == info_of<op::add>() && g.shape(g.result(g.nodes[i])) == g.shape(b.id);
    // element by element: one for each tile that holds it
    auto const db = t.value(d[0]);
    for (int r = 0; r < 10; ++r)
      for (int ch = 0; ch < 12; ++ch) {
        int times = 0;
        for (tile k : tiles) times += r >= k.row && r < k.row + 5 && ch >= k.channel && ch < k.channel + 6;
        CHECK(db[unsigned((r * 10 + 3) * 12 + ch)] == times);
      }
    return zeroed;
  };
  int sums = 0;
  CHECK(made({{0, 0}, {0, 6}, {5, 0}, {5, 6}}, true, sums) == 0);
  CHECK(sums == 0);
  CHECK(made({{0, 0}, {0, 6}}, true, sums) == 1); // the gradient of b
  CHECK(sums == 0);
  CHECK(made({{0, 0}, {0, 3}}, false, sums) == 2); // two tensors with gaps
  CHECK(sums == 1);                                // and their sum
}

TEST_CASE("the gradient of a tensor joined through views is split from one sum") {
  bench t;
  auto const ramp = [](unsigned n) {
    std::vector<double> v(n);
    for (unsigned k = 0; k < n; ++k) v[k] = .1 * k - .7;
    return v;
  };
  term const obs = t.input({6, 4}, ramp(24)), act = t.input({6, 1}, ramp(6)), w1 = t.input({5, 3}, ramp(15)),
             w2 = t.input({5, 2}, ramp(10));
  extend::symbol const both = tensor(t.b, {6, 5}), left = range(t.b, both, {0, 0}, {6, 4}),
               right = range(t.b, both, {0, 4}, {6, 1});
  write(t.b, info_of<op::identity>(), {obs.id}, left);
  write(t.b, info_of<op::identity>(), {act.id}, right);
  term const v1 = extend::matmul({&t.b, both}, w1), v2 = extend::matmul({&t.b, both}, w2);
  auto const d = t.gradients({v1.id, v2.id}, {w1.id, w2.id, obs.id, act.id});
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 5; ++c) {
      double row = 0;
      for (int k = 0; k < 3; ++k) row += .1 * (c * 3 + k) - .7;
      for (int k = 0; k < 2; ++k) row += .1 * (c * 2 + k) - .7;
      CHECK((c < 4 ? t.number(d[2], unsigned(r * 4 + c)) : t.number(d[3], unsigned(r))) == Approx(row));
    }
  CHECK(t.size() <= 9);
  CHECK(t.zeroed() == 0);
}

TEST_CASE("gradients are taken with respect to a view") {
  bench t;
  term const x = t.input({2}, {2, 4}), y = apply<op::log>(x);
  extend::symbol const a = range(t.b, x.id, {0}, {1});
  auto const d = t.gradients({y.id}, {a});
  CHECK(t.value(d[0]) == std::vector<double>{.5});
  bench u;
  term const s = u.input({2, 1}, {10, 10}), v = u.input({2}, {1, 2});
  extend::symbol const turned = strided(u.b, v.id, 0, {1, 1}, {2, 1});
  term const f = s * term{&u.b, turned};
  auto const e = u.gradients({f.id}, {turned, v.id});
  CHECK(u.value(e[0]) == std::vector<double>{10, 10});
  CHECK(u.value(e[1]) == std::vector<double>{10, 10});
}

TEST_CASE("a tensor grows in place, with gradients") {
  bench t;
  term const x0 = t.input({1}, {.472}), w1 = t.input({1}, {.234}), w2 = t.input({2}, {.374, .886}),
             w3 = t.input({3}, {.484, .912, .235});
  extend::symbol const x = tensor(t.b, {4});
  write(t.b, info_of<op::identity>(), {x0.id}, range(t.b, x, {0}, {1}));
  std::vector<term> const w{w1, w2, w3};
  for (int k = 1; k < 4; ++k) {
    term const before{&t.b, range(t.b, x, {0}, {k})};
    term const sum = extend::sum(before * w[unsigned(k) - 1], 1, true);
    write(t.b, info_of<op::add>(), {sum.id, extend::constant_like(sum, .1 * k).id}, range(t.b, x, {k}, {1}));
  }
  auto const d = t.gradients({x}, {w1.id, x0.id, x});
  auto const v = t.value(x);
  CHECK(v[1] == Approx(.210448));
  CHECK(v[2] == Approx(.5629849));
  CHECK(v[3] == Approx(.852678));
  CHECK(t.number(d[0]) == Approx(.472 * (1 + .886 + .912 + .886 * .235)));
  CHECK(t.number(d[0]) == Approx(1.4189311));
  CHECK(t.number(d[2], 3) == 1);
  CHECK(t.number(d[2], 0) == Approx(t.number(d[1])));
}

TEST_CASE("the gradient with respect to a written input is that of its initial value") {
  bench t;
  term const x = t.input({3}, {1, 2, 3}), s = t.input({1}, {5});
  write(t.b, info_of<op::square>(), {s.id}, range(t.b, x.id, {1}, {1})); // the 2 is dead
  term const y = apply<op::square>(x);
  auto const d = t.gradients({y.id}, {x.id, s.id, range(t.b, x.id, {0}, {2})});
  CHECK(t.value(y.id) == std::vector<double>{1, 625, 9});
  CHECK(t.value(d[0]) == std::vector<double>{2, 0, 6});
  CHECK(t.value(d[1]) == std::vector<double>{4 * 125});
  CHECK(t.value(d[2]) == std::vector<double>{2, 0});
}

TEST_CASE("inputs may be listed when gradients are requested") {
  extend::builder b;
  extend::symbol const x = tensor(b, {3}), s = tensor(b, {1});
  write(b, info_of<op::square>(), {s}, range(b, x, {1}, {1}));
  term const y = apply<op::square>(term{&b, x});
  extend::symbol const seed = extend::constant_like(y, 1).id, in[2]{x, s};
  for (int named : {0, 2}) {
    extend::builder c = b;
    extend::symbol dx = extend::none;
    detail::gradient(c, {&y.id, &seed, 1, &x, 1, unreachable::zeros, in, named}, &dx);
    c.set_inputs(in, 2);
    detail::array<reference::values> numbers;
    numbers.push(reference::values(3, extend::scalar::of(3.)));
    numbers.push(reference::values(1, extend::scalar::of(2.)));
    misuse wrong;
    auto const memory = memory_of(c.get(), numbers, wrong);
    CHECK(memory[dx][0].real == 6);
    CHECK(memory[dx][1].real == (named == 0 ? 8 : 0)); // otherwise it is a tensor like any other
  }
}

TEST_CASE("loops with views in their bodies have gradients") {
  extend::builder b;
  extend::symbol const x = tensor(b, {3}), w = tensor(b, {2}), in[2]{x, w};
  b.set_inputs(in, 2);
  extend::symbol const limit = extend::constant(b, element::int64, b.shape({}), 4).id;
  detail::loop_builder loop(b, {.inits = &x, .carried = 1, .limit = limit});
  extend::symbol const now = loop.open_body()[1], factor = loop.capture(w);
  extend::symbol const y = tensor(b, {3}), next = tensor(b, {3});
  write(b, info_of<op::sin>(), {range(b, now, {1}, {1})}, range(b, y, {0}, {1}));
  write(b, info_of<op::multiply>(), {range(b, now, {0}, {2}), factor}, range(b, y, {1}, {2}));
  term const z = term{&b, y} * .5 + term{&b, now};
  write(b, info_of<op::tanh>(), {strided(b, z.id, 2, {-1}, {3})}, range(b, next, {0}, {3}));
  loop.close_body(&next, 1);
  loop.finish();
  extend::symbol const f = loop.last(0), seed = extend::constant(b, element::float64, b.tensor(x).shape, 1).id;
  extend::symbol d[2]{}, second[2]{};
  detail::gradient(b, {&f, &seed, 1, in, 2}, d);
  detail::gradient(b, {&d[0], &seed, 1, in, 2}, second);
  REQUIRE(b.failed().why == nullptr);
  extend::symbol const out[6]{f, d[0], d[0], second[0], d[1], second[1]};
  b.set_outputs(out, 6);
  CHECK(bool(verify(b.get())));
  double given[2][3]{{.3, -.4, .7}, {1.3, .6}}, r[6][3]{};
  auto const sums = [&](double(&of)[2]) {
    double const* from[2]{given[0], given[1]};
    double* to[6]{r[0], r[1], r[2], r[3], r[4], r[5]};
    CHECK(detail::evaluate(b.get(), from, to).ok());
    for (int k = 0; k < 2; ++k) of[k] = r[k][0] + r[k][1] + r[k][2];
  };
  for (int k = 0; k < 2; ++k)
    for (int e = 0; e < 3 - k; ++e) {
      double const at = given[k][e];
      double above[2]{}, below[2]{}, here[2]{};
      given[k][e] = at + 1e-5;
      sums(above);
      given[k][e] = at - 1e-5;
      sums(below);
      given[k][e] = at;
      sums(here);
      CHECK((above[0] - below[0]) / 2e-5 == Approx(r[k == 0 ? 2 : 4][e]).epsilon(1e-6));
      CHECK((above[1] - below[1]) / 2e-5 == Approx(r[k == 0 ? 3 : 5][e]).epsilon(1e-6));
    }
}

TEST_CASE("elements that a view repeats are summed") {
  bench t;
  term const x = t.input({4}, {1, 2, 3, 4});
  term const sliding{&t.b, strided(t.b, x.id, 0, {1, 1}, {3, 2})},
      repeated{&t.b, strided(t.b, x.id, 1, {0, 1}, {5, 2})};
  term const y = extend::sum(sliding * sliding, 3) + extend::sum(repeated, 3);
  auto const d = t.gradients({y.id}, {x.id, repeated.id});
  CHECK(t.value(d[0]) == std::vector<double>{2, 8 + 5, 12 + 5, 8});
  CHECK(t.number(d[1], 4) == 8 + 5);
}

TEST_CASE("windows that slide over a tensor give each element all of its terms, in few slices or in many") {
  using namespace cotangent::detail;
  auto const fewest = [](std::vector<std::int64_t> const& size, std::vector<std::int64_t> const& stride) {
    tensor_window w;
    w.rank = static_cast<std::int32_t>(size.size());
    for (int k = 0; k < w.rank; ++k) w.size[k] = size[std::size_t(k)], w.stride[k] = stride[std::size_t(k)];
    std::uint32_t along = 0;
    return slices_apart(w, along);
  };
  CHECK(fewest({100, 3}, {1, 1}) == 3);
  CHECK(fewest({3, 100}, {1, 1}) == 3);
  CHECK(fewest({100, 3}, {2, 1}) == 3);
  CHECK(fewest({30, 30, 3, 3}, {32, 1, 32, 1}) == 9);
  CHECK(fewest({30, 30}, {-30, 1}) == 1);
  CHECK(fewest({30, 40}, {30, 1}) == 30);
  struct placed {
    std::vector<std::int64_t> shape, stride;
    std::int64_t offset;
  };
  for (placed const& p : {placed{{38, 3}, {1, 1}, 0},
                          {{18, 4}, {2, 1}, 1},
                          {{3, 38}, {-1, 1}, 2},
                          {{20, 20}, {1, 1}, 0},
                          {{5, 4, 2, 3}, {7, 1, 7, 1}, 0},
                          {{2, 3, 2}, {3, 1, 0}, 4}}) {
    bench t;
    std::vector<double> at;
    for (int k = 0; k < 42; ++k) at.push_back(0.1 * k - 2);
    term const x = t.input({42}, at);
    dimensions shape;
    for (std::int64_t const n : p.shape) shape.size[shape.rank++] = static_cast<dimension>(n);
    term const v{&t.b, strided_view(t.b, x.id, p.offset, p.stride.data(), shape)};
    term const y = extend::sum(v * v * v, (1u << p.shape.size()) - 1);
    auto const d = t.gradients({y.id}, {x.id});
    auto const seed = extend::sum(term{&t.b, d[0]} * term{&t.b, d[0]}, 1);
    auto const e = t.gradients({seed.id}, {x.id});
    std::vector<double> first(42), second(42);
    std::vector<std::int64_t> met(42);
    std::vector<std::int64_t> i(p.shape.size());
    for (bool more = true; more;) {
      std::int64_t n = p.offset;
      for (std::size_t k = 0; k < i.size(); ++k) n += i[k] * p.stride[k];
      ++met[std::size_t(n)];
      more = false;
      for (std::size_t k = i.size(); k-- > 0 && !more;) {
        more = ++i[k] < p.shape[k];
        if (!more) i[k] = 0;
      }
    }
    for (std::size_t k = 0; k < 42; ++k) {
      auto const m = static_cast<double>(met[k]);
      first[k] = 3 * m * at[k] * at[k];
      second[k] = 2 * first[k] * 6 * m * at[k];
    }
    auto const got = t.value(d[0]), again = t.value(e[0]);
    for (std::size_t k = 0; k < 42; ++k) {
      CAPTURE(p.shape.size(), p.shape[0], k);
      CHECK(got[k] == Approx(first[k]).margin(1e-12));
      CHECK(again[k] == Approx(second[k]).margin(1e-12));
    }
  }
}

TEST_CASE("a graph with nodes in any order is differentiated") {
  bench t;
  term const x = t.input({2}, {.5, .25});
  extend::symbol const y = tensor(t.b, {2});
  term const z = apply<op::exp>(term{&t.b, y}); // before what writes y
  write(t.b, info_of<op::square>(), {range(t.b, x.id, {1}, {1})}, range(t.b, y, {0}, {1}));
  write(t.b, info_of<op::sin>(), {range(t.b, x.id, {0}, {1})}, range(t.b, y, {1}, {1}));
  extend::symbol dx = extend::none, seed = t.ones(z.id).id;
  detail::gradient(t.b, {&z.id, &seed, 1, &x.id, 1}, &dx);
  CHECK(t.b.failed().why == nullptr);
  CHECK(t.number(dx, 1) == Approx(.5 * std::exp(.0625)));
  CHECK(t.number(dx, 0) == Approx(std::cos(.5) * std::exp(std::sin(.5))));
  // one that can be run in no order
  bench c;
  term const a = c.input({2}, {1, 2});
  extend::symbol const w = tensor(c.b, {2});
  write(c.b, info_of<op::exp>(), {range(c.b, w, {1}, {1})}, range(c.b, w, {0}, {1}));
  write(c.b, info_of<op::exp>(), {range(c.b, w, {0}, {1})}, range(c.b, w, {1}, {1}));
  detail::gradient(c.b, {&w, &a.id, 1, &a.id, 1}, &dx);
  REQUIRE(c.b.failed().why != nullptr);
  CHECK(std::string(c.b.failed().why->text) == refusals::order_cycle::text);
}

TEST_CASE("graphs with views have the gradients of equal graphs without views") {
  int compared = 0;
  for (unsigned round = 0; round < 600; ++round) {
    reference::dice d(round + 1);
    twins t(d, 3 + d.below(14), round % 3 == 0);
    std::vector<twin> outputs, seeds, wrt, all;
    for (int k = d.below(3); k >= 0; --k) outputs.push_back(t.any());
    for (twin y : outputs) seeds.push_back(t.input(t.v.dims(y.viewed)));
    for (int k = d.below(4); k >= 0; --k) wrt.push_back(t.wrt[unsigned(d.below(int(t.wrt.size())))]);
    all = outputs;
    t.finish(all);
    for (int order = d.below(2); order >= 0; --order) {
      std::vector<extend::symbol> sides[2][3];
      for (int side = 0; side < 2; ++side) {
        auto const one = [side](twin x) { return side == 0 ? x.viewed : x.plain; };
        for (twin y : outputs) sides[side][0].push_back(one(y));
        for (twin y : seeds) sides[side][1].push_back(one(y));
        for (twin y : wrt) sides[side][2].push_back(one(y));
      }
      std::vector<extend::symbol> result[2];
      for (int side = 0; side < 2; ++side) {
        auto const& s = sides[side];
        result[side].resize(wrt.size());
        detail::gradient(side == 0 ? t.v : t.p,
                 {s[0].data(), s[1].data(), int(s[0].size()), s[2].data(), int(s[2].size())},
                 result[side].data());
      }
      outputs.clear(), seeds.clear();
      for (unsigned k = 0; k < wrt.size(); ++k) outputs.push_back({result[0][k], result[1][k]});
      if (order > 0)
        for (twin y : outputs) seeds.push_back(t.input(t.v.dims(y.viewed)));
      all.insert(all.end(), outputs.begin(), outputs.end());
      t.finish(all);
    }
    CHECK(t.v.failed().why == nullptr);
    CHECK(t.p.failed().why == nullptr);
    verification const sound = verify(t.v.get());
    CHECK(std::string(sound.text == nullptr ? "" : sound.text) == "");
    detail::array<reference::values> numbers;
    for (twin x : t.inputs) {
      reference::values v;
      for (std::int64_t k = reference::count(t.v.dims(x.viewed)); k > 0; --k)
        v.push(extend::scalar::of(d.between(-1.5, 1.5)));
      numbers.push(v);
    }
    misuse wrong;
    auto const a = memory_of(t.v.get(), numbers, wrong), b = memory_of(t.p.get(), numbers, wrong);
    CHECK(wrong.twice + wrong.cycles == 0);
    double worst = 0;
    for (twin y : all)
      for (int k = 0; k < b[y.plain].size(); ++k, ++compared) {
        double const off =
            std::abs(a[y.viewed][k].real - b[y.plain][k].real) / (1 + std::abs(b[y.plain][k].real));
        worst = off <= worst ? worst : off;
      }
    CHECK(worst < 1e-9);
  }
  CHECK(compared > 5000);
}

TEST_CASE("gradients of graphs with views agree with differences") {
  int compared = 0;
  for (unsigned round = 0; round < 150; ++round) {
    reference::dice d(round + 9000);
    twins t(d, 4 + d.below(12), round % 2 == 0);
    std::vector<extend::symbol> outputs, seeds, wrt, result, all;
    std::size_t const given = t.inputs.size();
    for (std::size_t k = 0; k < given; ++k) wrt.push_back(t.inputs[k].viewed);
    for (int k = 0; k < 2; ++k) outputs.push_back(t.any().viewed);
    for (extend::symbol y : outputs) seeds.push_back(t.input(t.v.dims(y)).viewed);
    result.resize(wrt.size());
    t.finish({});
    detail::gradient(t.v, {outputs.data(), seeds.data(), 2, wrt.data(), int(wrt.size())}, result.data());
    detail::array<reference::values> numbers;
    for (twin x : t.inputs) {
      reference::values v;
      for (std::int64_t k = reference::count(t.v.dims(x.viewed)); k > 0; --k)
        v.push(extend::scalar::of(d.between(-1.2, 1.2)));
      numbers.push(v);
    }
    auto const objective = [&] {
      misuse wrong;
      auto const m = memory_of(t.v.get(), numbers, wrong);
      double sum = 0;
      for (unsigned k = 0; k < 2; ++k)
        for (int e = 0; e < m[outputs[k]].size(); ++e) sum += m[outputs[k]][e].real * m[seeds[k]][e].real;
      return sum;
    };
    misuse wrong;
    auto const exact = memory_of(t.v.get(), numbers, wrong);
    for (unsigned k = 0; k < wrt.size(); ++k) {
      reference::values& x = numbers[int(k)];
      if (x.size() == 0) continue;
      int const e = d.below(x.size());
      double const at = x[e].real, step = 1e-5;
      x[e].real = at + step;
      double const above = objective();
      x[e].real = at - step;
      double const below = objective();
      x[e].real = at;
      double const slope = exact[result[k]][e].real;
      CHECK(std::abs((above - below) / (2 * step) - slope) < 1e-6 * (1 + std::abs(slope)));
      compared += slope != 0;
    }
  }
  CHECK(compared > 150);
}

TEST_CASE("gradients through a hundred thousand views are computed at once") {
  constexpr int n = 100000;
  constexpr double at_once = 40; // seconds: with sanitizers a third of them, and where something is quadratic many more
  auto const seconds = [](auto make) {
    bench t;
    std::vector<extend::symbol> outputs, seeds;
    extend::symbol const x = make(t, outputs);
    for (extend::symbol y : outputs) seeds.push_back(t.ones(y).id);
    extend::symbol dx = extend::none;
    auto const start = std::clock();
    detail::gradient(t.b, {outputs.data(), seeds.data(), int(outputs.size()), &x, 1}, &dx);
    double const took = double(std::clock() - start) / CLOCKS_PER_SEC;
    CHECK(t.b.failed().why == nullptr);
    CHECK(t.b.get().nodes.size() < 8 * n);
    return took;
  };
  CHECK(seconds([](bench& t, std::vector<extend::symbol>& outputs) { // disjoint
          extend::symbol const x = tensor(t.b, {n});
          for (int i = 0; i < n; ++i)
            outputs.push_back(apply<op::exp>(term{&t.b, range(t.b, x, {i}, {1})}).id);
          return x;
        }) < at_once);
  CHECK(seconds([](bench& t, std::vector<extend::symbol>& outputs) { // each from the one before
          extend::symbol const x = tensor(t.b, {1}), y = tensor(t.b, {n});
          write(t.b, info_of<op::exp>(), {x}, range(t.b, y, {0}, {1}));
          for (int i = 1; i < n; ++i)
            write(t.b, info_of<op::sin>(), {range(t.b, y, {i - 1}, {1})}, range(t.b, y, {i}, {1}));
          outputs.push_back(y);
          return x;
        }) < at_once);
  CHECK(seconds([](bench& t, std::vector<extend::symbol>& outputs) { // each from the two before
          extend::symbol const x = tensor(t.b, {1}), y = tensor(t.b, {n});
          for (int i = 0; i < 2; ++i) write(t.b, info_of<op::exp>(), {x}, range(t.b, y, {i}, {1}));
          for (int i = 2; i < n; ++i)
            write(t.b, info_of<op::multiply>(), {range(t.b, y, {i - 1}, {1}), range(t.b, y, {i - 2}, {1})},
                  range(t.b, y, {i}, {1}));
          outputs.push_back(y);
          return x;
        }) < at_once);
  CHECK(seconds([](bench& t, std::vector<extend::symbol>& outputs) { // small boxes, everywhere
          extend::symbol const x = tensor(t.b, {1000, 1000});
          for (int i = 0; i < n; ++i) {
            int const row = static_cast<int>(i * std::int64_t{7919} % 998),
                      column = static_cast<int>(i * std::int64_t{104729} % 997);
            outputs.push_back(apply<op::exp>(term{&t.b, range(t.b, x, {row, column}, {2, 3})}).id);
          }
          return x;
        }) < at_once);
  CHECK(seconds([](bench& t, std::vector<extend::symbol>& outputs) { // boxes that overlap
          extend::symbol const x = tensor(t.b, {300, 300});
          for (int i = 0; i < n; ++i)
            outputs.push_back(apply<op::exp>(term{&t.b, range(t.b, x, {i * 7 % 290, i * 13 % 280},
                                                              {1 + i % 10, 1 + i % 20})})
                                  .id);
          return x;
        }) < at_once);
}
