// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "executor_graph.hpp"
#include "plan_machine.hpp"

#include <cotangent/plan/in_place.hpp>

#include <cmath>

// Plans of many graphs, taken at their word by a machine that checks every read and write.

using namespace cotangent;
using namespace reference;

namespace {

constexpr extend::dimension axes[][4]{{3, 4, 2, 1},  {4, 4, 1, 2},  {1, 5, 3, 2},  {2, 2, 2, 2},   {6, 1, 4, 1},  {0, 3, 2, 1}, {3, 17, 1, 4},
                              {16, 8, 1, 3}, {-1, 4, 3, 1}, {4, -1, 2, 1}, {-1, -2, 3, 1}, {-1, -1, 2, 2}, {5, 3, -1, 1}};
constexpr int kinds_of_axes = static_cast<int>(sizeof axes / sizeof axes[0]), first_named = 8;

graph random_graph_of(int seed, int& kind, bool nested) {
  dice d(static_cast<std::uint64_t>(seed));
  graph_options o;
  o.nested = nested;
  o.nodes = (nested ? 6 : 8) + d.below(nested ? 14 : 30);
  o.gradients = d.below(2) == 0;
  o.mixed = d.below(3) != 0;
  kind = d.below(kinds_of_axes);
  for (int k = 0; k < 4; ++k) o.sizes[k] = axes[kind][k];
  extend::builder b;
  (void)b.size(extent::named("n", 1));
  (void)b.size(extent::named("m", 1));
  planned_graph const made(b, d, o);
  REQUIRE(b.failed().why == nullptr);
  return d.below(3) == 0 ? b.get() : detail::simplify(b.get());
}

detail::array<std::int64_t> known_of(extend::graph_view const& g, std::int64_t n, std::int64_t m) {
  detail::array<std::int64_t> known;
  for (int k = 0; k < g.extent_count; ++k)
    known.push(detail::evaluate(g.extents[k], [&](char const* name, int) { return *name == 'n' ? n : m; }));
  return known;
}

bool equal(extend::scalar const& a, extend::scalar const& b) {
  if (a.type != b.type) return false;
  if (!is_floating(a.type)) return a.integer == b.integer;
  double const near = a.type == element::float32 ? 3e-6 : 1e-12;
  return a.real == b.real || (math::is_nan(a.real) && math::is_nan(b.real)) || std::fabs(a.real - b.real) <= near * (1 + std::fabs(b.real));
}
bool equal(detail::array<values> const& a, detail::array<values> const& b) {
  for (int k = 0; k < a.size(); ++k)
    for (int i = 0; i < a[k].size(); ++i)
      if (!equal(a[k][i], b[k][i])) return false;
  return a.size() == b.size();
}

void follow(int seed, int vector_bytes, bool nested = false) {
  CAPTURE(seed);
  int kind = 0;
  graph const made = random_graph_of(seed, kind, nested);
  detail::plan const p = detail::make_plan(made, vector_bytes);
  plan_to_read const reading(p);
  std::int64_t const sizes[][2]{{3, 2}, {1, 5}, {0, 4}, {9, 1}};
  for (int k = 0; k < (kind < first_named ? 1 : 4); ++k) {
    CAPTURE(k);
    detail::array<std::int64_t> const known = known_of(made, sizes[k][0], sizes[k][1]);
    graph const sized = concrete(made, known.data());
    extend::graph_view const g = sized;
    dice d(static_cast<std::uint64_t>(seed) + 1);
    detail::array<values> const in = inputs_of(g, d, -2, 3), wanted = evaluate(g, in);
    plan_machine const run(g, p, known.data(), in);
    REQUIRE(run.error == "");
    REQUIRE(equal(run.outputs, wanted));
    for (int x = 0; x < g.input_count(); ++x)
      for (int y = 0; y < g.output_count(); ++y) {
        extend::tensor_symbol const &from = g.tensors[g.input(x)], &to = g.tensors[g.output(y)];
        if (count(g.shape(g.input(x))) != count(g.shape(g.output(y))) || size_of(from.type) != size_of(to.type)) continue;
        if (!cotangent::detail::may_be_in_place(reading, x, y)) continue;
        plan_machine const in_place(g, p, known.data(), in, y, x);
        CAPTURE(x, y);
        REQUIRE(in_place.error == "");
        REQUIRE(equal(in_place.outputs, wanted));
      }
  }
}

} // namespace

TEST_CASE("A plan computes what its graph defines, and reads no unwritten memory") {
  for (int seed = 1; seed < 1500; ++seed) follow(seed, seed % 2 == 0 ? 16 : 64);
}

TEST_CASE("A plan of values over the first axes of one shape computes what its graph defines") {
  for (int seed = 1; seed < 1500; ++seed) follow(seed, seed % 2 == 0 ? 16 : 64, true);
}

TEST_CASE("The machine that executes plans notices a wrong plan") {
  extend::builder b;
  term x{&b, b.symbol_of(element::float64, b.shape(extend::dimensions{2, {4, 5}}))};
  b.set_inputs(&x.id, 1);
  term const y = x / extend::apply<op::sqrt>(1 + extend::sum(x * x, 2, true));
  b.set_outputs(&y.id, 1);
  dice d(3);
  detail::array<values> const in = inputs_of(b.get(), d, -1, 1);
  detail::plan const right = detail::make_plan(b.get(), 16);
  REQUIRE(plan_machine(b.get(), right, nullptr, in).error == "");
  int noticed = 0, changed = 0;
  auto const try_out = [&](detail::plan const& wrong) {
    ++changed;
    plan_machine const run(b.get(), wrong, nullptr, in);
    noticed += run.error != "" || !equal(run.outputs, evaluate(b.get(), in));
  };
  for (int k = 0; k < right.instances.size(); ++k) {
    detail::instance const& v = right.instances[k];
    detail::plan wrong = right;
    if (v.access != extend::none && v.where == detail::role::lane && right.accesses[v.access].stride[1] != 0)
      wrong.accesses[v.access].stride[1] = 0;
    else if (v.what == detail::action::compute && v.where == detail::role::row) wrong.instances[k].stage = 0, wrong.operands[v.first_operand] = k;
    else continue;
    try_out(wrong);
  }
  for (int k = 0; k < right.buffers.size(); ++k) {
    detail::plan wrong = right;
    if (wrong.buffers[k].first_nest == extend::none || wrong.buffers[k].count == 1) continue;
    wrong.buffers[k].count = 1;
    try_out(wrong);
  }
  CHECK(changed > 2);
  CHECK(noticed == changed);
}

TEST_CASE("Planning twice gives the same plan") {
  for (int seed = 1; seed < 40; ++seed) {
    int kind = 0;
    graph const g = random_graph_of(seed, kind, false);
    detail::plan const p = detail::make_plan(g, 32), q = detail::make_plan(g, 32);
    CHECK(detail::plan_capacity::of(p).holds(detail::plan_capacity::of(q)));
    CHECK(p.operands == q.operands);
    CHECK(p.lists == q.lists);
    CHECK(p.kernel_accesses == q.kernel_accesses);
    CHECK(p.results == q.results);
    for (int k = 0; k < p.instances.size(); ++k) {
      CHECK(p.instances[k].value == q.instances[k].value);
      CHECK(p.instances[k].what == q.instances[k].what);
      CHECK(p.instances[k].place == q.instances[k].place);
    }
    for (int k = 0; k < p.slots.size(); ++k) CHECK(p.slots[k].offset == q.slots[k].offset);
  }
}

TEST_CASE("100,000 nodes that share a bias: each nest loads it once") {
  extend::builder b;
  int const shape = b.shape(extend::dimensions{2, {4, 4}});
  extend::symbol in[3];
  for (extend::symbol& x : in) x = b.symbol_of(element::float64, shape);
  b.set_inputs(in, 3);
  term h{&b, in[0]};
  int const layers = 50000;
  for (int k = 0; k < layers; ++k) h = extend::matmul(h, term{&b, in[1]}) + term{&b, in[2]};
  b.set_outputs(&h.id, 1);
  detail::plan const p = detail::make_plan(b.get(), 64);
  CHECK(p.nests.size() == 2 * layers);
  int loads = 0;
  for (detail::instance const& v : p.instances) loads += v.what == detail::action::load && v.value == in[2];
  CHECK(loads == layers);
}

namespace {

int compared = 0;
struct counted {
  int nest = 0;
  bool operator==(counted const& r) const { return ++compared, nest == r.nest; }
  std::uint32_t hash() const { return cotangent::detail::mix(1, static_cast<std::uint64_t>(nest)) | 1u; }
};

} // namespace

TEST_CASE("Finding the instance that serves a nest takes a bounded number of comparisons") {
  cotangent::detail::provider_list<counted> providers;
  int const nests = 100000;
  auto const any = [](std::int32_t) { return true; };
  for (int round = 0; round < 2; ++round) {
    compared = 0;
    int wrong = 0;
    for (int k = 0; k < nests; ++k) {
      wrong += providers.find({k}, any) != extend::none;
      providers.add({k}, 7 * k);
      wrong += providers.find({k / 2}, any) != 7 * (k / 2);
    }
    CHECK(wrong == 0);
    CHECK(compared < 20 * nests);
    providers.clear();
  }
}

TEST_CASE("Derived sizes are found again among thousands") {
  detail::array<detail::derived_size> derived;
  int const count = 20000;
  detail::array<extend::dimension> made;
  int wrong = 0;
  for (int round = 0; round < 2; ++round) { // a second table continues the list of the first
    cotangent::detail::size_table sizes(derived, 2);
    for (int k = 2; k < count; ++k) {
      extend::dimension const product = sizes.product(-1, k), sum = sizes.sum(product, -2);
      if (round == 0) made.push(sum);
      wrong += sizes.product(k, -1) != product || made[k - 2] != sum;
    }
  }
  CHECK(wrong == 0);
  CHECK(derived.size() == 2 * (count - 2));
}

TEST_CASE("Backward through layers of tanh stores one value of each layer") {
  extend::builder b;
  int const layers = 1024, rows = 16, columns = 256;
  extend::symbol const in[3]{b.symbol_of(element::float64, b.shape(extend::dimensions{2, {rows, columns}})),
                     b.symbol_of(element::float64, b.shape(extend::dimensions{2, {columns, columns}})),
                     b.symbol_of(element::float64, b.shape(extend::dimensions{1, {columns}}))};
  b.set_inputs(in, 3);
  term h{&b, in[0]};
  for (int k = 0; k < layers; ++k) h = extend::apply<op::tanh>(extend::matmul(h, term{&b, in[1]}) + term{&b, in[2]});
  extend::symbol const total = extend::sum(h, 3, false).id;
  extend::symbol out[2]{total, extend::none};
  detail::gradient(b, {&total, nullptr, 1, in + 1, 1}, out + 1);
  b.set_outputs(out, 2);
  graph const g = detail::simplify(b.get());
  std::int64_t bytes = 0;
  for (detail::slot const& s : detail::make_plan(g, 64).slots) bytes += s.count * s.bytes;
  CHECK(bytes * 10 < std::int64_t{11} * layers * rows * columns * 8); // doubles
}
