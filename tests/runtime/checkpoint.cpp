// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic/dynamic.hpp>
#include <cotangent/dynamic/graph_access.hpp>
#include <cotangent/dynamic/random.hpp>
#include <cotangent/transform/checkpoint.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

// Functions that are computed again for their gradients: the same bits, in less memory.

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

/// The graph that a program is made from, and how many nodes of this name it has.
ct::graph compiled(ct::dynamic::graph const& g, std::vector<any_expr> const& outputs) {
  auto const& s = ct::dynamic::detail::graph_access::state(g);
  ct::builder b = s.b;
  std::vector<ct::symbol> ids;
  for (any_expr const& e : outputs) ids.push_back(e.id());
  b.set_inputs(s.inputs.data(), static_cast<int>(s.inputs.size()));
  b.set_outputs(ids.data(), static_cast<int>(ids.size()));
  return ct::recompute_blocks(ct::simplify(b.get()));
}
int count(ct::graph const& g, std::string_view name) {
  int n = 0;
  for (ct::node const& at : g.nodes) n += at.op->name == name;
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
/// Blocks of so many layers, each checkpointed; 0: none is.
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

TEST_CASE(
    "K3: dense layers in checkpointed blocks: the same bits, less memory, and no more work than need be",
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

/// `f(mark)` is a function that marks its blocks by `mark`: gradients, and gradients of gradients, with and without. (In the
/// body of a loop what is computed again is differentiated as what it is: second gradients are sums in another order.)
template <class F> void same_bits(F const& f, bool of_second = true) {
  for (bool const second : {false, true}) {
    taken const with = taking(f(again), second), without = taking(f(kept), second);
    CAPTURE(second, with.bytes, without.bytes);
    REQUIRE(with.elements.size() == without.elements.size());
    int others = 0;
    double worst = 0;
    for (std::size_t k = 0; k < with.elements.size(); ++k) {
      REQUIRE(std::isfinite(with.elements[k]));
      bool const same_order = of_second || !second;
      others += same_order && with.elements[k] != without.elements[k];
      REQUIRE(with.elements[k] == Approx(without.elements[k]).epsilon(1e-9).margin(1e-12));
      worst = std::max(worst, std::fabs(with.elements[k] - without.elements[k]));
    }
    CAPTURE(worst);
    CHECK(others == 0);
    if (!second) CHECK(with.bytes <= without.bytes);
  }
}

auto const two = [](auto x, auto w) { return ct::tanh(ct::matmul(ct::tanh(ct::matmul(x, w)), w)); };

TEST_CASE(
    "any number of arguments and results: each that is read outside is kept, the others are computed again",
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

TEST_CASE("blocks in blocks, and a checkpoint of a checkpoint", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const inner = mark([](auto a, auto b) { return two(two(a, b), b) * 1.5; });
      auto const outer = mark([inner](auto a, auto b) { return inner(inner(inner(a, b), b) + a, b); });
      return ct::sum(mark(outer)(outer(x, w), w) * v);
    };
  });
}

TEST_CASE("blocks in bodies of loops and in branches", "[checkpoint]") {
  same_bits(
      [](auto mark) {
        return [mark](auto x, auto w, auto v) {
          auto const block = mark([](auto a, auto b, auto c) { return two(ct::sin(two(a, b)) * c, b); });
          auto const y = ct::for_loop(4, [&](auto, auto h) { return block(h, w, v) + 0.5 * h; }, x);
          auto const branch = [&](auto h) { return block(h, w, v) * h; };
          auto const z = ct::case_of(
              ct::convert<std::int32_t>(ct::sum(v) * 0.0 + 1.0), [](auto h) { return h; }, branch)(y);
          return ct::sum(z * v);
        };
      },
      false);
}

TEST_CASE("loops and branches in blocks", "[checkpoint]") {
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

TEST_CASE("random numbers in blocks are the same when they are computed again", "[checkpoint]") {
  same_bits([](auto mark) {
    return [mark](auto x, auto w, auto v) {
      auto const block = [](auto a, auto b, auto c) {
        return ct::tanh(ct::matmul(ct::dropout(two(a, b), 0.25, std::int64_t{42}), b)) * c;
      };
      return ct::sum(mark(block)(mark(block)(mark(block)(x, w, v), w, v), w, v));
    };
  });
}

} // namespace
