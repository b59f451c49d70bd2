// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/dynamic/graph/graph_access.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>
#include <cotangent/transform/differentiate/forward.hpp>
#include <cotangent/transform/rematerialize/checkpoint.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>
#include <vector>

// Functions that are rematerialized for their gradients: the same bits, in less memory.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;

ct::dynamic::compile_options const own{.exact = false, .own_memory = true};

std::vector<float> numbers(std::size_t count, int seed, double most) {
  std::vector<float> v(count);
  for (std::size_t k = 0; k < count; ++k)
    v[k] = static_cast<float>(
        most * std::sin(static_cast<double>((k + 1) * static_cast<std::size_t>(2 * seed + 3))));
  return v;
}

std::vector<double> between(std::size_t count, int seed, double most) {
  std::vector<float> const v = numbers(count, seed, most);
  return {v.begin(), v.end()};
}

/// The graph of a program, and the number of its nodes with a name.
ct::graph compiled(ct::dynamic::graph const& g, std::vector<any_expr> const& outputs) {
  auto const& s = ct::dynamic::detail::graph_access::state(g);
  ct::extend::builder b = s.b;
  std::vector<ct::extend::symbol> ids;
  for (any_expr const& e : outputs) ids.push_back(e.id());
  b.set_inputs(s.inputs.data(), static_cast<int>(s.inputs.size()));
  b.set_outputs(ids.data(), static_cast<int>(ids.size()));
  return ct::detail::recompute_blocks(ct::detail::simplify(b.get()));
}
int count(ct::graph const& g, std::string_view name) {
  int n = 0;
  for (ct::extend::node const& at : g.nodes) n += at.op->name == name;
  return n;
}

/// A sequence of dense layers (no bias, tanh) with the mean of squared errors: the bytes that nobody has bound, the
/// products, and all elements of all gradients.
struct measured {
  std::int64_t bytes = 0;
  int products = 0;
  std::vector<float> gradients;
};
template <class Chain> measured dense(int length, int batch, int width, Chain const& chain) {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {batch, width}), target = g.input<float>("target", {batch, width});
  std::vector<float> rows = numbers(static_cast<std::size_t>(batch * width), 1, 1),
                     aims = numbers(rows.size(), 2, 1);
  std::vector<std::vector<float>> data;
  std::vector<ct::dynamic::binding> binds{{x, rows}, {target, aims}};
  std::vector<any_expr> wrt, outputs;
  std::vector<expr<float>> weights;
  data.reserve(static_cast<std::size_t>(length));
  for (int k = 0; k < length; ++k) {
    weights.push_back(g.parameter<float>("w", {width, width}));
    wrt.push_back(weights.back());
    data.push_back(numbers(static_cast<std::size_t>(width * width), 5 + k, 1.5 / std::sqrt(width)));
    binds.push_back({weights.back(), data.back()});
  }
  expr<float> const h = chain(x, weights);
  for (auto const& dw : g.gradient({ct::mean(ct::square(h - target))}, wrt)) outputs.push_back(dw);
  auto p = g.compile(outputs, binds, own);
  p.run();
  measured m;
  m.bytes = p.value_bytes();
  m.products = count(compiled(g, outputs), "matmul");
  for (auto const& dw : outputs) {
    auto const v = p.value(dw.as<float>());
    m.gradients.insert(m.gradients.end(), v.data(), v.data() + v.size());
  }
  return m;
}

auto const layer = [](auto const& x, auto const& w) { return ct::tanh(ct::matmul(x, w)); };
/// Checkpointed blocks of n layers; 0: none.
auto blocks_of(int segment) {
  return [segment](expr<float> h, std::vector<expr<float>> const& weights) {
    auto const all = [](expr<float> y, std::vector<expr<float>> const& some) {
      for (auto const& w : some) y = layer(y, w);
      return y;
    };
    if (segment == 0) return all(h, weights);
    for (std::size_t k = 0; k < weights.size(); k += static_cast<std::size_t>(segment)) {
      std::size_t const end = std::min(weights.size(), k + static_cast<std::size_t>(segment));
      h = ct::checkpoint(all)(h,
                              std::vector<expr<float>>(weights.begin() + static_cast<std::ptrdiff_t>(k),
                                                       weights.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    return h;
  };
}

TEST_CASE("dense layers in checkpointed blocks keep their bits, need less memory and no more work than "
          "necessary",
          "[checkpoint]") {
  struct row {
    int length, segment;
    std::int64_t bytes;
    int again;
  };
  for (row const& r : {row{4, 2, 344064, 4},
                       {16, 1, 1392640, 0},
                       {16, 2, 933888, 16},
                       {16, 4, 802816, 24},
                       {16, 8, 999424, 28},
                       {16, 16, 1392640, 30}}) {
    measured const with = dense(r.length, 256, 64, blocks_of(r.segment)),
                   without = dense(r.length, 256, 64, blocks_of(0));
    CAPTURE(r.length, r.segment, with.bytes, without.bytes);
    CHECK(with.bytes <= r.bytes);
    CHECK(with.bytes <= without.bytes);
    CHECK(2 * (with.products - without.products) <= r.again);
    CHECK(with.gradients == without.gradients);
  }
}

/// Values and gradients of a function of two matrices and a vector, checkpointed or not; the bytes that are not bound.
struct taken {
  std::int64_t bytes = 0;
  int products = 0;
  std::vector<double> elements;
};
template <class F> taken taking(F const& f, bool second = false) {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {12, 12}), w = g.input<double>("w", {12, 12}),
             v = g.input<double>("v", {12});
  std::vector<double> a(144), b(144), c(12);
  for (std::size_t k = 0; k < a.size(); ++k) {
    a[k] = std::sin(static_cast<double>(3 * k + 1)) / 2;
    b[k] = std::cos(static_cast<double>(7 * k)) / 3;
    c[k % 12] = a[k] * b[k] + 0.25;
  }
  expr<double> const y = f(x, w, v);
  auto const d = g.gradient({y}, {x, w, v});
  std::vector<any_expr> outputs{y};
  for (auto const& one : d) outputs.push_back(one);
  if (second)
    for (auto const& one : g.gradient({ct::sum(ct::square(d[0])) + ct::sum(d[2])}, {x, w, v}))
      outputs.push_back(one);
  auto p = g.compile(outputs, {{x, a}, {w, b}, {v, c}}, own);
  p.run();
  taken t;
  t.bytes = p.workspace_bytes();
  t.products = count(compiled(g, outputs), "matmul");
  for (auto const& one : outputs) {
    auto const found = p.value(one.as<double>());
    t.elements.insert(t.elements.end(), found.data(), found.data() + found.size());
  }
  return t;
}
auto const kept = [](auto f) { return f; };
auto const again = [](auto f) { return ct::checkpoint(f); };

/// `f(mark)` is a function that marks its blocks by `mark`: gradients, and gradients of gradients, with and without.
template <class F> void same_bits(F const& f) {
  for (bool const second : {false, true}) {
    taken const with = taking(f(again), second), without = taking(f(kept), second);
    CAPTURE(second, with.bytes, without.bytes);
    REQUIRE(with.elements.size() == without.elements.size());
    int others = 0;
    for (std::size_t k = 0; k < with.elements.size(); ++k) {
      REQUIRE(std::isfinite(with.elements[k]));
      others += with.elements[k] != without.elements[k];
    }
    CHECK(others == 0);
    if (!second) CHECK(with.bytes <= without.bytes);
  }
}

auto const two = [](auto x, auto w) { return ct::tanh(ct::matmul(ct::tanh(ct::matmul(x, w)), w)); };

TEST_CASE("nothing is recomputed unless that saves memory, whatever the loss", "[checkpoint]") {
  std::vector<expr<float> (*)(expr<float> const&, expr<float> const&)> const losses{
      [](auto const& h, auto const& t) { return ct::mean(ct::square(h - t)); },
      [](auto const& h, auto const& t) { return ct::sum(h * t); },
      [](auto const& h, auto const& t) { return ct::mean(ct::abs(h - t)); },
      [](auto const& h, auto const& t) { return ct::sum(ct::square(ct::sin(h) - t) * t); },
      [](auto const& h, auto const& t) { return ct::sum(ct::exp(ct::square(h) * 0.1f)) + ct::mean(h * t); },
      [](auto const& h, auto const& t) { return -ct::mean(t * (h - ct::log(ct::sum(ct::exp(h))))); }};
  auto const gradient_of = [&](std::size_t loss, int length, int segment) {
    ct::dynamic::graph g;
    auto const x = g.input<float>("x", {64, 32}), target = g.input<float>("target", {64, 32});
    std::vector<any_expr> wrt;
    std::vector<expr<float>> weights;
    for (int k = 0; k < length; ++k) wrt.push_back(weights.emplace_back(g.parameter<float>("w", {32, 32})));
    expr<float> const y = losses[loss](blocks_of(segment)(x, weights), target);
    std::vector<any_expr> outputs{y};
    for (auto const& dw : g.gradient({y}, wrt)) outputs.push_back(dw);
    auto const p = g.compile(outputs);
    int products = 0;
    for (auto const& at : ct::memory_profile(p).steps) products += at.what.find("matmul") != std::string::npos;
    return std::pair(products, p.workspace_bytes());
  };
  for (std::size_t loss = 0; loss < losses.size(); ++loss)
    for (auto const& [length, segment] : {std::pair(2, 1), {3, 3}, {8, 8}, {8, 4}, {9, 3}}) {
      auto const unmarked = gradient_of(loss, length, 0), marked = gradient_of(loss, length, segment);
      CAPTURE(loss, length, segment, unmarked.second, marked.second);
      CHECK(unmarked.first == 3 * length - 1);
      if (marked.first > unmarked.first) CHECK(marked.second < unmarked.second);
      if (segment == length && loss < 2) CHECK(marked.first == unmarked.first); // its gradient comes at once
      if (segment < length && segment > 1) CHECK(marked.second < unmarked.second);
    }
}

TEST_CASE("blocks with any number of arguments and results save those that are read outside",
          "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const block = [](auto a, auto b, auto c) {
        auto const first = ct::sin(ct::matmul(a, b)) * c, other = ct::exp(ct::matmul(first, b) / 8);
        return std::tuple(ct::matmul(other, b) * first, ct::sum(other, ct::axes<1>), first * c);
      };
      auto const [p, q, r] = mark(block)(x, w, v);
      auto const [s, t, u] = mark(block)(p + r, w, q);
      return ct::sum(s * u) + ct::sum(t * v);
    };
  });
}

TEST_CASE("blocks nest, and so do checkpoints of checkpoints", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const inner = mark([](auto a, auto b) { return two(two(a, b), b) * 1.5; });
      auto const outer = mark([inner](auto a, auto b) { return inner(inner(inner(a, b), b) + a, b); });
      return ct::sum(mark(outer)(outer(x, w), w) * v);
    };
  });
}

TEST_CASE("blocks occur in loop bodies and in branches", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const block = mark([](auto a, auto b, auto c) { return two(ct::sin(two(a, b)) * c, b); });
      auto const y = ct::for_loop(4, [&](auto, auto h) { return block(h, w, v) + 0.5 * h; }, x);
      auto const branch = [&](auto h) { return block(h, w, v) * h; };
      auto const z =
          ct::case_of(ct::convert<std::int32_t>(ct::sum(v) * 0.0 + 1.0), [](auto h) { return h; }, branch)(y);
      return ct::sum(z * v);
    };
  });
}

/// The records of gradients of this order, and their elements, optionally with the tangents of the last ones.
struct recorded {
  std::int64_t tape = 0;
  std::vector<double> elements;
};
using nested = std::function<expr<double>(expr<double>, expr<double>, expr<double>)>;
recorded recording(nested const& f, int order, bool with_tangents, ct::detail::tape_options const& tape) {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {6, 6}), w = g.input<double>("w", {6, 6}),
             v = g.input<double>("v", {6});
  std::vector<double> const a = between(36, 1, 0.6), b = between(36, 2, 0.4), c = between(6, 3, 1);
  expr<double> y = f(x, w, v);
  std::vector<any_expr> outputs{y};
  std::vector<expr<double>> d;
  for (int k = 0; k < order; ++k) {
    d = g.gradient({y}, {x, w, v}, {}, ct::dynamic::gradient_options{.tape = tape});
    outputs.insert(outputs.end(), d.begin(), d.end());
    y = ct::sum(ct::square(d[0])) + ct::sum(d[1] * w) + ct::sum(d[2]);
  }
  if (with_tangents) {
    auto& s = const_cast<ct::dynamic::detail::graph_state&>(ct::dynamic::detail::graph_access::state(g));
    ct::extend::symbol const of[]{x.id(), v.id()}, along[]{w.id(), v.id()}, asked[]{d[0].id(), d[1].id(), d[2].id()};
    ct::extend::symbol moved[3]{};
    ct::detail::tangents(s.b, of, along, 2, asked, 3, moved);
    for (ct::extend::symbol const t : moved)
      outputs.push_back(any_expr(ct::dynamic::detail::standing(s, t), ct::element::float64));
  }
  auto p = g.compile(outputs);
  p.bind(x, a);
  p.bind(w, b);
  p.bind(v, c);
  p.run();
  recorded r;
  for (any_expr const& one : outputs) {
    auto const found = p.value(one.as<double>());
    r.elements.insert(r.elements.end(), found.data(), found.data() + found.size());
  }
  r.tape = p.tape_bytes();
  return r;
}
/// `f(marks)`: gradients up to this order, and the tangents of the first: the same bits with blocks, and a smaller record.
template <class F> void same_bits_of_all_orders(F const& f, ct::detail::tape_options const& tape = {}, int most = 2) {
  for (int run = 0; run <= most; ++run) {
    bool const with_tangents = run == 0;
    int const order = with_tangents ? 1 : run;
    recorded const with = recording(f(true), order, with_tangents, tape),
                   without = recording(f(false), order, with_tangents, tape);
    CAPTURE(order, with_tangents, with.tape, without.tape);
    REQUIRE(with.elements.size() == without.elements.size());
    int others = 0;
    for (std::size_t k = 0; k < with.elements.size(); ++k) {
      REQUIRE(std::isfinite(with.elements[k]));
      others += with.elements[k] != without.elements[k];
    }
    CHECK(others == 0);
    CHECK(with.tape < without.tape);
  }
}
/// sin, products and tanh by turns, as a block or not.
expr<double> deep_block(bool marks, expr<double> const& h, expr<double> const& w, expr<double> const& v) {
  auto const f = [](auto a, auto b, auto c) { return two(ct::sin(two(a, b)) * c, b); };
  return marks ? ct::checkpoint(f)(h, w, v) : f(h, w, v);
}

TEST_CASE("blocks in the body of a counted loop keep the bits of all orders, with a smaller record",
          "[checkpoint]") {
  same_bits_of_all_orders(
      [](bool marks) {
        return [marks](expr<double> x, expr<double> w, expr<double> v) {
          auto const body = [&](auto, auto h) { return deep_block(marks, h, w, v) + 0.5 * h; };
          return ct::sum(ct::for_loop(5, body, x) * v);
        };
      },
      {}, 3);
}

namespace {
/// So many iterations, which only the condition knows, with a block in each.
auto while_of(double trips, bool marks) {
  return [trips, marks](expr<double> x, expr<double> w, expr<double> v) {
    auto const goes_on = [&](auto i, auto h) {
      return ct::sum(ct::square(h)) * 0.0 + ct::convert<double>(i) < trips;
    };
    auto const body = [&](auto, auto h) { return deep_block(marks, h, w, v) + 0.5 * h; };
    return ct::sum(ct::while_loop(goes_on, body, x) * v);
  };
}

} // namespace

TEST_CASE("blocks in the body of a while loop, also with a tape limit, keep the bits of all orders",
          "[checkpoint]") {
  auto const f = [](bool marks) { return while_of(7, marks); };
  same_bits_of_all_orders(f);
  for (auto const schedule : {ct::dynamic::checkpoints::equally_spaced, ct::dynamic::checkpoints::binomial}) {
    CAPTURE(static_cast<int>(schedule));
    same_bits_of_all_orders(f, {.limit = 100000, .schedule = schedule});
  }
}

TEST_CASE("blocks meet a tape limit that complete records of iterations exceed", "[checkpoint]") {
  auto const f = [](bool marks) { return while_of(30, marks); };
  recorded const all = recording(f(false), 1, false, {});
  ct::detail::tape_options const some{.limit = 6000, .schedule = ct::dynamic::checkpoints::binomial};
  recorded const within = recording(f(true), 1, false, some);
  CHECK(within.tape <= some.limit);
  CHECK(within.elements == all.elements);
  CHECK_THROWS_AS(recording(f(false), 1, false, some), ct::shape_error);
}

TEST_CASE("blocks in nested loops, in branches in loops, and in blocks keep the bits of all orders",
          "[checkpoint]") {
  same_bits_of_all_orders([](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const inner = [&](auto, auto q) { return deep_block(marks, q, w, v) + 0.5 * q; };
      auto const outer = [&](auto, auto h) { return ct::for_loop(2, inner, h * 0.9) + 0.1 * h; };
      return ct::sum(ct::for_loop(3, outer, x) * v);
    };
  });
  same_bits_of_all_orders([](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const deep = [&](auto q) { return deep_block(marks, q, w, v) + 0.5 * q; };
      auto const flat = [](auto q) { return q * ct::sin(q); };
      auto const body = [&](auto i, auto h) {
        return ct::cond(ct::convert<double>(i) + ct::sum(h) * 0.0 < 2.0, deep, flat)(h);
      };
      return ct::sum(ct::for_loop(4, body, x) * v);
    };
  });
  same_bits_of_all_orders([](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const outer = [marks](auto a, auto b, auto c) {
        return ct::sin(deep_block(marks, deep_block(marks, a, b, c), b, c) * 1.5) * a;
      };
      auto const body = [&](auto, auto h) {
        return (marks ? ct::checkpoint(outer)(h, w, v) : outer(h, w, v)) + 0.5 * h;
      };
      return ct::sum(ct::for_loop(3, body, x) * v);
    };
  });
}

TEST_CASE("a checkpointed sequence in a loop body keeps the bits of all orders", "[checkpoint]") {
  for (ct::sequence_options const& options :
       {ct::sequence_options{.segments = 3}, ct::sequence_options{.recursive = true},
        ct::sequence_options{.slots = 2}})
    same_bits_of_all_orders([&](bool marks) {
      return [marks, options](expr<double> x, expr<double> w, expr<double> v) {
        std::vector<expr<double>> const layers(6, w);
        auto const body = [&](auto, auto h) {
          expr<double> q = h;
          if (marks) q = ct::checkpoint_sequence(layer, options)(q, layers);
          else
            for (auto const& one : layers) q = layer(q, one);
          return q + 0.5 * h;
        };
        return ct::sum(ct::for_loop(3, body, x) * v);
      };
    });
}

TEST_CASE("blocks in a body do not record loop-invariant values or the count", "[checkpoint]") {
  recorded const r = recording(
      [](expr<double> x, expr<double> w, expr<double> v) {
        auto const body = [&](auto i, auto h) {
          return ct::checkpoint([](auto a, auto b, auto c, auto at) {
            return ct::sin(ct::exp(ct::matmul(ct::tanh(a * ct::convert<double>(at) * c), b) / 8) * a);
          })(h, w, v, i);
        };
        return ct::sum(ct::for_loop(50, body, x));
      },
      1, false, {});
  CHECK(r.tape <= 50 * 320 + 1024); // the carried value has 6 x 6 doubles, rounded up
}

namespace {
/// A loop that records two values in each iteration, as a block or not.
constexpr int turns = 10;
expr<double> loop_block(bool marks, expr<double> const& h, expr<double> const& w, expr<double> const& v) {
  auto const f = [](auto a, auto b, auto c) {
    return ct::for_loop(
        turns, [&](auto, auto q) { return ct::tanh(ct::matmul(q, b)) * c + 0.1 * q; }, ct::sin(a));
  };
  return marks ? ct::checkpoint(f)(h, w, v) : f(h, w, v);
}
constexpr std::int64_t of_matrix = 320; // 6 x 6 doubles on the tape
constexpr std::int64_t of_record(std::int64_t entries) { return 384 + entries * of_matrix; }

} // namespace

TEST_CASE("loops in blocks of a body run again for the gradient, from the inputs of the block",
          "[checkpoint]") {
  auto const in_body = [](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const body = [&](auto, auto h) { return loop_block(marks, h, w, v) + 0.5 * h; };
      return ct::sum(ct::for_loop(8, body, x) * v);
    };
  };
  same_bits_of_all_orders(in_body);
  CHECK(recording(in_body(true), 1, false, {}).tape == of_record(8) + 2 * of_record(turns));
  CHECK(recording(in_body(false), 1, false, {}).tape > 8 * 2 * of_record(turns));
  auto const blocks_in_blocks = [](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const block = [marks](auto a, auto b, auto c) {
        return ct::for_loop(
            5, [&](auto, auto q) { return loop_block(marks, q, b, c) + 0.1 * q; }, ct::sin(a));
      };
      auto const body = [&](auto, auto h) {
        return (marks ? ct::checkpoint(block)(h, w, v) : block(h, w, v)) + 0.5 * h;
      };
      return ct::sum(ct::for_loop(8, body, x) * v);
    };
  };
  same_bits_of_all_orders(blocks_in_blocks);
  CHECK(recording(blocks_in_blocks(true), 1, false, {}).tape ==
        of_record(8) + of_record(5) + 2 * of_record(turns));
}

TEST_CASE("blocks meet a tape limit below the record of one iteration with a nested loop", "[checkpoint]") {
  auto const f = [](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const body = [&](auto, auto h) { return loop_block(marks, h, w, v) + 0.5 * h; };
      return ct::sum(ct::for_loop(30, body, x) * v);
    };
  };
  recorded const all = recording(f(false), 1, false, {});
  ct::detail::tape_options const some{.limit = 2 * of_record(turns) + 1500};
  recorded const within = recording(f(true), 1, false, some);
  CHECK(within.tape <= some.limit + 2 * of_record(turns)); // that of the loop which runs again comes on top
  CHECK(within.elements == all.elements);
  CHECK_THROWS_AS(recording(f(false), 1, false, some), ct::shape_error);
}

TEST_CASE("while loops, and branches with loops, in blocks of a body run again for the gradient",
          "[checkpoint]") {
  same_bits_of_all_orders([](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const block = [](auto a, auto b, auto c) {
        auto const goes_on = [](auto i, auto q) {
          return ct::convert<double>(i) < 3.0 + 4.0 * ct::sum(ct::square(q));
        };
        auto const turn = [&](auto, auto q) { return ct::tanh(ct::matmul(q, b)) * c + 0.1 * q; };
        return ct::while_loop(goes_on, turn, ct::sin(a) * 0.5);
      };
      auto const body = [&](auto, auto h) {
        return (marks ? ct::checkpoint(block)(h, w, v) : block(h, w, v)) + 0.5 * h;
      };
      return ct::sum(ct::for_loop(6, body, x) * v);
    };
  });
  same_bits_of_all_orders([](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      auto const block = [](auto a, auto b, auto c) {
        auto const y = ct::cond(
            ct::sum(a) < 1.0, [&](auto z) { return loop_block(false, z, b, c); },
            [](auto z) { return ct::exp(z * 0.1); })(a);
        return ct::sin(y) * a;
      };
      auto const body = [&](auto, auto h) {
        return (marks ? ct::checkpoint(block)(h, w, v) : block(h, w, v)) + 0.5 * h;
      };
      return ct::sum(ct::for_loop(6, body, x) * v);
    };
  });
}

TEST_CASE("consecutive blocks with loops need the tape of one of them", "[checkpoint]") {
  auto const f = [](bool marks) {
    return [marks](expr<double> x, expr<double> w, expr<double> v) {
      for (int k = 0; k < 8; ++k) x = loop_block(marks, x, w, v) + 0.5 * x;
      return ct::sum(x * v);
    };
  };
  recorded const with = recording(f(true), 1, true, {}), without = recording(f(false), 1, true, {});
  CHECK(with.elements == without.elements);
  CHECK(recording(f(true), 1, false, {}).tape == 2 * of_record(turns));
  CHECK(recording(f(false), 1, false, {}).tape == 8 * 2 * of_record(turns));
}

TEST_CASE("loops and branches occur in blocks", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const block = mark([](auto a, auto b, auto c) {
        auto const y =
            ct::for_loop(3, [&](auto, auto h) { return ct::tanh(ct::matmul(h, b)) * c; }, ct::sin(a));
        return ct::case_of(ct::convert<std::int32_t>(ct::sum(c) * 0.0),
                           [&](auto h) { return ct::exp(h) * b; })(y);
      });
      return ct::sum(block(block(block(x, w, v), w, v), w, v));
    };
  });
}

TEST_CASE("rematerialized random numbers in blocks are the same", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const block = [](auto a, auto b, auto c) {
        return ct::tanh(ct::matmul(ct::dropout(two(a, b), 0.25, std::int64_t{42}), b)) * c;
      };
      return ct::sum(mark(block)(mark(block)(mark(block)(x, w, v), w, v), w, v));
    };
  });
}

TEST_CASE("every length and number of segments needs less memory than the rule of thumb", "[checkpoint]") {
  for (int const length : {4, 8, 16, 32, 64})
    for (int segment = 2; segment < length; segment *= 2) {
      auto const chain = [&](expr<float> const& x, std::vector<expr<float>> const& weights) {
        return ct::checkpoint_sequence(layer, {.segments = length / segment})(x, weights);
      };
      measured const with = dense(length, 64, 16, chain), without = dense(length, 64, 16, blocks_of(0));
      CAPTURE(length, segment);
      CHECK(with.bytes <= (length / segment + segment) * 4096 + length * 1024);
      CHECK(with.products - without.products <= length / segment * (segment - 1));
      CHECK(with.gradients == without.gradients);
    }
}

/// The bytes and the products of a chain of equal layers with the gradient of x, and that gradient.
measured equal_layers(int length, bool blocks, ct::sequence_options const& o = {}) {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {64, 16}), w = g.input<float>("w", {16, 16});
  std::vector<float> a = numbers(64 * 16, 1, 1), b = numbers(16 * 16, 2, 0.4);
  std::vector<expr<float>> const weights(static_cast<std::size_t>(length), w);
  expr<float> y = x;
  if (blocks) y = ct::checkpoint_sequence(layer, o)(x, weights);
  else
    for (auto const& one : weights) y = layer(y, one);
  std::vector<any_expr> const outputs{g.gradient({ct::sum(y)}, {x}).front()};
  auto p = g.compile(outputs, {{x, a}, {w, b}}, own);
  p.run();
  auto const dx = p.value(outputs[0].as<float>());
  return {p.value_bytes(), count(compiled(g, outputs), "matmul"), {dx.data(), dx.data() + dx.size()}};
}

TEST_CASE("chains of equal layers need the memory of a square root for one rerun, of a logarithm for a few",
          "[checkpoint]") {
  for (int const length : {4, 9, 16, 36, 64}) {
    measured const all = equal_layers(length, false), roots = equal_layers(length, true),
                   halves = equal_layers(length, true, {.segments = 0, .recursive = true});
    int const root = static_cast<int>(std::lround(std::sqrt(length))),
              log = static_cast<int>(std::ceil(std::log2(length)));
    CAPTURE(length, all.bytes, roots.bytes, halves.bytes, all.products, roots.products, halves.products);
    CHECK(roots.bytes <= (2 * root + 2) * 4096);
    CHECK(roots.products <= all.products + length);
    CHECK(halves.bytes <= (log + 4) * 4096);
    CHECK(halves.products <= all.products + length * log);
    CHECK(all.gradients == roots.gradients);
    CHECK(all.gradients == halves.gradients);
  }
}

TEST_CASE("with a number of stored values, no more layers rerun than in the binomial schedule",
          "[checkpoint]") {
  for (int const length : {5, 10, 21, 36}) {
    measured const all = equal_layers(length, false);
    for (int const places : {1, 2, 3, 5}) {
      if (places == 1 && length > 10) continue;
      measured const some = equal_layers(length, true, {.slots = places});
      CAPTURE(length, places, all.bytes, some.bytes, all.products, some.products);
      CHECK(some.products - all.products <= ct::detail::fewest_runs(length, places));
      CHECK(some.bytes <= (places + 3) * 4096);
      CHECK(all.gradients == some.gradients);
    }
  }
}

/// The result of a model after n steps of descent on a share of the sum of squared errors, from these matrices.
template <class Model>
std::vector<double> trained(Model const& model, std::vector<double> const& x,
                            std::vector<double> const& target, std::vector<ct::dynamic::sizes> const& shapes,
                            std::vector<std::vector<double>> data, std::vector<bool> const& trains,
                            double share, double rate, int steps) {
  ct::dynamic::graph g;
  auto const in = g.input<double>("x", {static_cast<int>(x.size()), 1});
  auto const aim = g.input<double>("target", {static_cast<int>(target.size()), 1});
  std::vector<expr<double>> weights;
  std::vector<any_expr> learnt;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    weights.push_back(g.parameter<double>("w", shapes[k]));
    if (trains[k]) learnt.push_back(weights.back());
  }
  auto const y = model(in, weights);
  auto const step = g.minimize(ct::sum(ct::square(y - aim)) * share, ct::sgd{.learning_rate = rate}, learnt);
  auto p = g.compile({y}, {}, {.updates = step.updates});
  p.bind(in, x);
  p.bind(aim, target);
  for (std::size_t k = 0; k < data.size(); ++k) p.bind(weights[k], data[k]);
  for (int k = 0; k < steps; ++k) p.run();
  auto const found = p.value(y);
  return {found.data(), found.data() + found.size()};
}
std::vector<double> identity(std::size_t n) {
  std::vector<double> m(n * n);
  for (std::size_t k = 0; k < n; ++k) m[k * (n + 1)] = 1;
  return m;
}
/// W x + Up (Down x).
auto const adapted = [](auto w, auto up, auto down, auto x) {
  return ct::matmul(w, x) + ct::matmul(up, ct::matmul(down, x));
};

TEST_CASE("an adapted layer that is checkpointed as a whole learns the same as without", "[checkpoint]") {
  std::vector<double> x(10), target(10);
  for (std::size_t k = 0; k < 10; ++k) x[k] = static_cast<double>(k), target[k] = 10 - x[k];
  auto const run = [&](auto mark) {
    return trained([mark](auto in, auto const& w) { return mark(adapted)(w[0], w[1], w[2], in); }, x, target,
                   {{10, 10}, {10, 2}, {2, 10}}, {identity(10), std::vector<double>(20), between(20, 3, 0.4)},
                   {false, true, true}, 0.1, 0.01, 11);
  };
  std::vector<double> const with = run(again), without = run(kept);
  CHECK(with == without);
  for (std::size_t k = 0; k < 10; ++k) CHECK(with[k] == Approx(target[k]).margin(1e-2));
}

TEST_CASE("a checkpointed gated network with adapted layers learns the same as without", "[checkpoint]") {
  auto const gated = [](auto in, auto const& w) {
    auto const one = [&](int k, auto at) {
      auto const n = static_cast<std::size_t>(3 * k);
      return adapted(w[n], w[n + 1], w[n + 2], at);
    };
    return one(2, one(0, in) * ct::gelu(one(1, in)));
  };
  std::vector<double> const x{1, 2, 3, 4, 5}, target{5, 4, 3, 2, 1};
  std::vector<ct::dynamic::sizes> shapes;
  std::vector<std::vector<double>> data;
  std::vector<bool> trains;
  for (int k = 0; k < 3; ++k) {
    for (ct::dynamic::sizes const& s : {ct::dynamic::sizes{5, 5}, {5, 2}, {2, 5}}) shapes.push_back(s);
    data.push_back(k == 2 ? identity(5) : between(25, k + 2, 0.5));
    data.push_back(std::vector<double>(10));
    data.push_back(between(10, k + 5, 0.75));
    for (bool const yes : {false, true, true}) trains.push_back(yes);
  }
  auto const run = [&](auto mark) {
    return trained(mark(gated), x, target, shapes, data, trains, 0.5, 0.001, 101);
  };
  std::vector<double> const with = run(again), without = run(kept);
  CHECK(with == without);
  for (std::size_t k = 0; k < 5; ++k) CHECK(with[k] == Approx(target[k]).margin(0.1));
}

TEST_CASE("arguments and results of blocks may be views, and results may be written through views",
          "[checkpoint]") {
  auto const run = [](auto mark) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {6, 4}), w = g.input<double>("w", {4, 4});
    auto const part = g.view(x, {.offset = {1, 0}, .shape = {4, 4}});
    auto const both = g.tensor<double>("both", {8, 4});
    auto const block = mark([](auto a, auto b) { return two(two(a, b) * a, b); });
    g.write(g.view(both, {.offset = {0, 0}, .shape = {4, 4}}), block(part, w));
    g.write(g.view(both, {.offset = {4, 0}, .shape = {4, 4}}),
            block(g.view(both, {.offset = {0, 0}, .shape = {4, 4}}), w));
    auto const dx = g.gradient({ct::sum(ct::square(both))}, {x, w});
    std::vector<double> const a = between(24, 1, 1), b = between(16, 2, 0.8);
    auto p = g.compile({dx[0], dx[1]}, {{x, a}, {w, b}}, own);
    p.run();
    std::vector<double> all;
    for (auto const& d : dx) {
      auto const found = p.value(d);
      all.insert(all.end(), found.data(), found.data() + found.size());
    }
    return all;
  };
  std::vector<double> const with = run(again), without = run(kept);
  CHECK(with == without);
  CHECK(with[0] == 0);
  CHECK(with[5] != 0);
}

} // namespace
