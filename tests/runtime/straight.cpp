// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "executor_graph.hpp"
#include "straight_machine.hpp"

#include <cmath>

// Straight code of many small graphs, taken at its word by a machine that checks every lane.

using namespace cotangent;
using namespace reference;

namespace {

constexpr extend::dimension axes[][4]{{3, 4, 2, 1}, {3, 3, 1, 2}, {1, 5, 3, 2}, {2, 2, 2, 2},
                              {6, 1, 4, 1}, {0, 3, 2, 1}, {8, 1, 1, 3}, {7, 2, 1, 1}};
constexpr int kinds_of_axes = static_cast<int>(sizeof axes / sizeof axes[0]);

graph small_graph(int seed) {
  dice d(static_cast<std::uint64_t>(seed));
  graph_options o;
  o.nodes = 4 + d.below(24);
  o.gradients = d.below(2) == 0;
  o.mixed = d.below(3) != 0;
  o.most = 48;
  for (int k = 0; k < 4; ++k) o.sizes[k] = axes[seed % kinds_of_axes][k];
  extend::builder b;
  planned_graph const made(b, d, o);
  REQUIRE(b.failed().why == nullptr);
  return d.below(3) == 0 ? b.get() : detail::simplify(b.get());
}

bool equal(extend::scalar const& a, extend::scalar const& b) {
  if (a.type != b.type) return false;
  if (!is_floating(a.type)) return a.integer == b.integer;
  double const near = a.type == element::float32 ? 3e-6 : 1e-12;
  return a.real == b.real || (math::is_nan(a.real) && math::is_nan(b.real)) ||
         std::fabs(a.real - b.real) <= near * (1 + std::fabs(b.real));
}
bool equal(detail::array<values> const& a, detail::array<values> const& b) {
  for (int k = 0; k < a.size(); ++k)
    for (int i = 0; i < a[k].size(); ++i)
      if (!equal(a[k][i], b[k][i])) return false;
  return a.size() == b.size();
}

graph chain(int elements) {
  extend::builder b;
  term x{&b, b.symbol_of(element::float64, b.shape(extend::dimensions{1, {elements}}))};
  b.set_inputs(&x.id, 1);
  term const s = extend::sum(extend::slice(x, 0, 1, elements - 1) * extend::slice(x, 0, 0, elements - 1), 1);
  extend::symbol out[2]{s.id, extend::none};
  detail::gradient(b, {&s.id, nullptr, 1, &x.id, 1}, out + 1);
  b.set_outputs(out, 2);
  return detail::simplify(b.get());
}

/// Vectors whose components somebody wrote out: sums, cross products, scaled ones, signs that differ; with
/// gradients.
graph components(int seed) {
  dice d(static_cast<std::uint64_t>(seed));
  int const n = 2 + d.below(4), vectors = 2 + d.below(3);
  element const type = d.below(2) == 0 ? element::float64 : element::float32;
  extend::builder b;
  struct point {
    term of[5];
  };
  std::vector<point> pool;
  detail::array<extend::symbol> in;
  for (int k = 0; k < vectors; ++k) in.push(b.symbol_of(type, b.shape(extend::dimensions{1, {n}})));
  b.set_inputs(in.data(), in.size());
  for (extend::symbol x : in) {
    pool.push_back({});
    for (int i = 0; i < n; ++i) pool.back().of[i] = extend::at(term{&b, x}, 0, i);
  }
  auto const any = [&] { return pool[static_cast<std::size_t>(d.below(static_cast<int>(pool.size())))]; };
  term loss = extend::constant(b, type, b.shape({}), 0);
  for (int k = 0, nodes = 2 + d.below(5); k < nodes; ++k) {
    point const x = any(), y = any();
    point r;
    int const way = d.below(5), turn = d.below(n);
    term s = x.of[0] * y.of[0];
    for (int i = 1; i < n; ++i) s = s + x.of[i] * y.of[i];
    for (int i = 0; i < n; ++i) {
      term const &p = x.of[i], &q = y.of[(i + turn) % n];
      r.of[i] = way == 0   ? p - q
                : way == 1 ? p * x.of[(i + 1) % n] - q * y.of[(i + 2) % n]
                : way == 2 ? extend::apply<op::tanh>(p) * s
                : way == 3 ? (i % 2 == 0 ? -p : p) * q
                           : p / extend::apply<op::sqrt>(1 + s * s);
    }
    loss = loss + extend::apply<op::tanh>(s);
    pool.push_back(r);
  }
  term joined = op::reshape::of(pool.back().of[0], b.shape(extend::dimensions{1, {1}}));
  for (int i = 1; i < n; ++i) {
    extend::symbol const both[2]{joined.id, op::reshape::of(pool.back().of[i], b.shape(extend::dimensions{1, {1}})).id};
    std::int64_t const axis = 0;
    joined = {&b, b.push(info_of<op::concatenate>(), both, 2, &axis, 1, b.place)};
  }
  detail::array<extend::symbol> out(2 + vectors);
  out[0] = joined.id;
  out[1] = loss.id;
  detail::gradient(b, {&loss.id, nullptr, 1, in.data(), vectors}, out.data() + 2);
  b.set_outputs(out.data(), out.size());
  REQUIRE(b.failed().why == nullptr);
  return d.below(4) == 0 ? b.get() : detail::simplify(b.get());
}

int numbers_in(detail::straight_program const& p) {
  int n = 0;
  for (detail::straight_step const& s : p.steps) n += s.what == detail::straight_action::compute && s.lanes == 1;
  return n;
}

} // namespace

TEST_CASE("Components that are computed alike share lanes") {
  int followed = 0, numbers = 0, all = 0;
  for (int seed = 1; seed < 1500; ++seed) {
    CAPTURE(seed);
    graph const g = components(seed);
    int const bytes = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 32 : 64;
    if (!detail::runs_straight(g, bytes)) continue;
    ++followed;
    dice d(static_cast<std::uint64_t>(seed) + 1);
    detail::array<values> const in = inputs_of(g, d, -1, 1);
    detail::straight_program const p = detail::straighten(g, bytes);
    straight_machine const run(g, p, in);
    REQUIRE(run.error == "");
    REQUIRE(equal(run.outputs, evaluate(g, in)));
    numbers += numbers_in(p);
    for (extend::node const& n : g.nodes) all += n.op->kind == operation_kind::elementwise;
  }
  CHECK(followed > 1000);
  CHECK(numbers < all / 2);
}

TEST_CASE("Straight-line code computes what its graph defines, and reads no undefined lane") {
  int followed = 0;
  for (int seed = 1; seed < 3000; ++seed) {
    CAPTURE(seed);
    graph const g = small_graph(seed);
    int const bytes = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 32 : 64;
    if (!detail::runs_straight(g, bytes)) continue;
    ++followed;
    dice d(static_cast<std::uint64_t>(seed) + 1);
    detail::array<values> const in = inputs_of(g, d, -2, 3);
    detail::straight_program const p = detail::straighten(g, bytes);
    straight_machine const run(g, p, in);
    REQUIRE(run.error == "");
    REQUIRE(equal(run.outputs, evaluate(g, in)));
  }
  CHECK(followed > 1500);
}

TEST_CASE("The machine that executes straight-line code notices wrong code") {
  graph const g = chain(7);
  dice d(3);
  detail::array<values> const in = inputs_of(g, d, 1, 2);
  detail::straight_program const right = detail::straighten(g, 64);
  REQUIRE(straight_machine(g, right, in).error == "");
  int noticed = 0, changed = 0;
  auto const try_out = [&](detail::straight_program const& wrong) {
    ++changed;
    straight_machine const run(g, wrong, in);
    noticed += run.error != "" || !equal(run.outputs, evaluate(g, in));
  };
  for (int k = 0; k < right.steps.size(); ++k) {
    detail::straight_step const& s = right.steps[k];
    detail::straight_program wrong = right;
    if (s.what == detail::straight_action::load) wrong.steps[k].offset += 1;
    else if (s.what == detail::straight_action::store) wrong.steps[k].count -= 1;
    else if (s.what == detail::straight_action::fold) wrong.steps[k].count /= 2;
    else continue;
    try_out(wrong);
  }
  for (detail::straight_step const& s : right.steps)
    for (int k = s.first_index; s.what == detail::straight_action::shuffle && k < s.first_index + s.lanes; ++k) {
      if (right.indices[k] == extend::none || right.operands[s.first + right.indices[k] / s.width].lane != extend::none)
        continue; // one number
      detail::straight_program wrong = right;
      wrong.indices[k] ^= 1;
      try_out(wrong);
    }
  CHECK(changed > 10);
  CHECK(noticed == changed);
}

TEST_CASE("Rows of small matrices stay in vectors of their length") {
  auto const shuffles = [](detail::straight_program const& p) {
    int n = 0;
    for (detail::straight_step const& s : p.steps) n += s.what == detail::straight_action::shuffle;
    return n;
  };
  auto const most = [](detail::straight_program const& p) {
    int n = 0;
    for (detail::straight_step const& s : p.steps)
      if (s.what == detail::straight_action::compute && s.lanes > n) n = s.lanes;
    return n;
  };
  // the covariance of a linear system of four states, and its gradient
  extend::builder b;
  auto const square = b.shape(extend::dimensions{2, {4, 4}});
  term f{&b, b.symbol_of(element::float64, square)}, p{&b, b.symbol_of(element::float64, square)};
  extend::symbol const in[2]{f.id, p.id};
  b.set_inputs(in, 2);
  term const next = extend::matmul(extend::matmul(f, p), extend::transpose(f));
  term const s = extend::sum(next * next, 3);
  extend::symbol out[4]{next.id, s.id};
  detail::gradient(b, {&s.id, nullptr, 1, in, 2}, out + 2);
  b.set_outputs(out, 4);
  graph const g = detail::simplify(b.get());
  detail::straight_program const rows = detail::straighten(g, 64), wide = detail::straightener(g, 64).result();
  CHECK(most(rows) == 4);
  CHECK(most(wide) == 8);
  CHECK(shuffles(rows) < shuffles(wide));
  dice d(7);
  detail::array<values> const given = inputs_of(g, d, -1, 1);
  straight_machine const run(g, rows, given);
  REQUIRE(run.error == "");
  CHECK(equal(run.outputs, evaluate(g, given)));
  CHECK(most(detail::straighten(chain(64), 64)) == 8); // neighbors are loaded
}

TEST_CASE("Large graphs, and those that index elements, run as loops") {
  CHECK(detail::runs_straight(chain(8), 64));
  CHECK_FALSE(detail::runs_straight(chain(detail::most_straight_elements + 1), 64));
  extend::builder b;
  term x{&b, b.symbol_of(element::float64, b.shape(extend::dimensions{1, {4}}))},
      i{&b, b.symbol_of(element::int32, b.shape(extend::dimensions{1, {2}}))};
  extend::symbol const in[2]{x.id, i.id};
  b.set_inputs(in, 2);
  term const y = extend::gather(x, i);
  b.set_outputs(&y.id, 1);
  CHECK(detail::estimate_straight(b.get(), 64).steps == -1);
}
