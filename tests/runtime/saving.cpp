// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../random_graph.hpp"
#include "../random_nest.hpp"

#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/pipeline.hpp>
#include <cotangent/transform/rematerialize/parts.hpp>

#include <cstring>
#include <memory>
#include <vector>

using namespace cotangent;

namespace {

// ---- joint graphs

struct joint {
  extend::builder b;
  int inputs = 0, cotangents = 0, outputs = 0;
  graph simple;

  /// Appends cotangents and gradients with respect to all inputs that are floating.
  void differentiate(std::vector<extend::symbol> in, std::vector<extend::symbol> const& out, std::vector<extend::symbol> const& wrt) {
    inputs = static_cast<int>(in.size());
    outputs = static_cast<int>(out.size());
    std::vector<extend::symbol> seeds, dx(wrt.size() + 1, extend::none), all = out;
    for (extend::symbol const y : out) {
      seeds.push_back(b.symbol_of(b.tensor(y).type, b.tensor(y).shape));
      in.push_back(seeds.back());
      ++cotangents;
    }
    detail::gradient(b, {out.data(), seeds.data(), outputs, wrt.data(), static_cast<int>(wrt.size())}, dx.data());
    REQUIRE(b.failed().why == nullptr);
    for (std::size_t k = 0; k < wrt.size(); ++k) all.push_back(dx[k]);
    b.set_inputs(in.data(), static_cast<int>(in.size()));
    b.set_outputs(all.data(), static_cast<int>(all.size()));
  }
  detail::joint_graph plain() const { return {b.get(), inputs, cotangents, outputs}; }
  detail::joint_graph simplified() {
    simple = detail::simplify(b.get());
    return {simple, inputs, cotangents, outputs};
  }
  extend::symbol shaped(std::initializer_list<extend::dimension> sizes, element e = element::float64) {
    extend::dimensions d;
    for (extend::dimension const n : sizes) d.size[d.rank++] = n;
    return b.symbol_of(e, b.shape(d));
  }
  term at(extend::symbol t) { return {&b, t}; }
};

std::int64_t elements(extend::graph_view const& g, extend::symbol t) { return reference::count(g.shape(t)); }
std::int64_t bytes_saved(extend::graph_view const& g, detail::array<detail::saved_value> const& saved) {
  std::int64_t sum = 0;
  for (detail::saved_value const& v : saved) sum += v.bytes(elements(g, v.of));
  return sum;
}

// ---- memory of any element type

struct memory {
  element type;
  std::int64_t count;
  std::shared_ptr<unsigned char[]> bytes;
  memory(extend::graph_view const& g, extend::symbol t)
      : type(g.tensors[t].type), count(elements(g, t)),
        bytes(new unsigned char[static_cast<std::size_t>(count) * 8 + 8]()) {}
  template <class T> T* as() const { return reinterpret_cast<T*>(bytes.get()); }
  template <class To> To any() const {
    switch (type) {
    case element::float32: return To(as<float>());
    case element::float64: return To(as<double>());
    case element::int32: return To(as<std::int32_t>());
    case element::int64: return To(as<std::int64_t>());
    case element::boolean: return To(as<bool>());
    case element::float16: return To(as<float16>());
    case element::bfloat16: return To(as<bfloat16>());
    }
    return {};
  }
};
std::vector<memory> run(extend::graph_view const& g, std::vector<memory> const& in) {
  std::vector<memory> out;
  std::vector<detail::elements_in> from;
  std::vector<detail::elements_out> to;
  for (memory const& m : in) from.push_back(m.any<detail::elements_in>());
  for (int k = 0; k < g.output_count(); ++k) {
    out.emplace_back(g, g.output(k));
    to.push_back(out.back().any<detail::elements_out>());
  }
  REQUIRE(evaluate(g, nullptr, from.data(), to.data()).ok());
  return out;
}
bool equal(memory const& a, memory const& b) {
  return a.type == b.type && a.count == b.count &&
         std::memcmp(a.bytes.get(), b.bytes.get(), static_cast<std::size_t>(a.count) * size_of(a.type)) == 0;
}

/// Whether both parts, one after the other, give what the whole gives, in every bit.
void check_parts(detail::joint_graph const& j, detail::array<detail::saved_value> const& saved, reference::dice& d) {
  std::vector<memory> in, first, second;
  for (int k = 0; k < j.g.input_count(); ++k) {
    in.emplace_back(j.g, j.g.input(k));
    for (std::int64_t i = 0; i < in.back().count; ++i)
      if (in.back().type == element::float64) in.back().as<double>()[i] = d.between(-2, 2);
      else if (in.back().type == element::int64) in.back().as<std::int64_t>()[i] = d.below(3);
  }
  std::vector<memory> const whole = run(j.g, in);
  graph const forward = forward_part(j, saved), backward = backward_part(j, saved);
  first.assign(in.begin(), in.begin() + j.inputs);
  std::vector<memory> const y = run(forward, first);
  second.assign(y.begin() + j.outputs, y.end());
  second.insert(second.end(), in.begin() + j.inputs, in.end());
  std::vector<memory> const dx = run(backward, second);
  REQUIRE(y.size() == static_cast<std::size_t>(j.outputs + saved.size()));
  for (int k = 0; k < j.outputs; ++k) REQUIRE(equal(y[unsigned(k)], whole[unsigned(k)]));
  for (std::size_t k = 0; k < dx.size(); ++k) REQUIRE(equal(dx[k], whole[unsigned(j.outputs) + k]));
}

int count_of(extend::graph_view const& g, operation const* op) {
  int n = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) n += g.nodes[i].op == op;
  return n;
}

} // namespace

TEST_CASE("The least cut is the minimum over all subsets") {
  reference::dice d(11);
  for (int trial = 0; trial < 400; ++trial) {
    int const n = 3 + d.below(6);
    detail::least_cut cut(n);
    struct edge {
      int from, to;
      std::int64_t capacity;
    };
    std::vector<edge> edges;
    for (int k = 0, m = d.below(3 * n); k < m; ++k) {
      int const from = d.below(n), to = d.below(n);
      if (from == to || from == 1 || to == 0) continue;
      edges.push_back({from, to, d.below(10)});
      cut.join(from, to, edges.back().capacity);
    }
    cut.find();
    auto const price = [&](auto before) {
      std::int64_t sum = 0;
      for (edge const& e : edges)
        if (before(e.from) && !before(e.to)) sum += e.capacity;
      return sum;
    };
    std::int64_t least = INT64_MAX;
    for (int set = 0; set < 1 << n; ++set) {
      if ((set & 3) != 1) continue; // 0 is before, 1 is not
      std::int64_t const here = price([&](int v) { return (set >> v & 1) != 0; });
      if (here < least) least = here;
    }
    CHECK(cut.total() == least);
    CHECK(price([&](int v) { return cut.before(v); }) == least);
  }
}

TEST_CASE("Both parts of a split graph give the bits of the whole, on random graphs") {
  reference::dice d(23);
  std::int64_t least = 0, quickly = 0, as_read = 0;
  for (int trial = 0; trial < 300; ++trial) {
    joint j;
    reference::random_graph(j.b, d, 10 + d.below(50), d.below(2) == 0);
    extend::graph_view const g = j.b.get();
    std::vector<extend::symbol> in, out;
    for (int k = 0; k < g.input_count(); ++k) in.push_back(g.input(k));
    for (int k = 0; k < g.output_count(); ++k) out.push_back(g.output(k));
    j.differentiate(in, out, in);
    detail::joint_graph const of = d.below(2) == 0 ? j.plain() : j.simplified();
    check_parts(of, choose_saved(of), d);
    detail::array<detail::saved_value> const saved = choose_saved(of, {.fewest_bytes = true});
    check_parts(of, saved, d);
    for (int which = 0; which < 3; ++which) {
      detail::array<detail::saved_value> const other = choose_saved(of, {(which & 1) != 0, (which & 2) != 0});
      check_parts(of, other, d);
      CHECK(bytes_saved(of.g, saved) <= bytes_saved(of.g, other));
      if (which == 0) as_read += bytes_saved(of.g, other);
    }
    detail::array<detail::saved_value> const quick = detail::saving(of, {}).choose(true);
    check_parts(of, quick, d);
    CHECK(bytes_saved(of.g, saved) <= bytes_saved(of.g, quick));
    CHECK(bytes_saved(of.g, quick) <= bytes_saved(of.g, choose_saved(of, {false, false})));
    least += bytes_saved(of.g, saved);
    quickly += bytes_saved(of.g, quick);
  }
  WARN("saved " << least << " bytes, by the quick choice " << quickly << ", of " << as_read
                << " that the gradients read");
  CHECK((least < as_read / 2 && quickly < as_read));
}

namespace {

/// The fewest bytes by trying all sets of values.
std::int64_t fewest_bytes(detail::joint_graph const& j) {
  extend::graph_view const& g = j.g;
  detail::array<bool> late(g.tensor_count), early(g.tensor_count), live(g.tensor_count), read(g.tensor_count);
  for (int k = 0; k < g.input_count(); ++k) (k < j.inputs ? early : late)[g.input(k)] = true;
  for (int k = 0; k < g.output_count(); ++k) (k < j.outputs ? early : live)[g.output(k)] = true;
  for (std::int32_t i = 0; i < g.node_count; ++i)
    for (int k = 0; k < g.nodes[i].operand_count; ++k)
      if (late[g.operand(g.nodes[i], k)]) late[g.result(g.nodes[i])] = true;
  for (std::int32_t i = g.node_count; i-- > 0;)
    for (int k = 0; k < g.nodes[i].operand_count; ++k) {
      extend::symbol const y = g.result(g.nodes[i]), x = g.operand(g.nodes[i], k);
      early[x] = early[x] || early[y];
      if (!live[y] || !late[y]) continue;
      live[x] = true;
      read[x] = read[x] || !late[x];
    }
  std::vector<extend::symbol> candidates;
  for (extend::symbol t = 0; t < g.tensor_count; ++t)
    if (!late[t] && (g.producer(t) == nullptr || g.producer(t)->operand_count > 0)) candidates.push_back(t);
  REQUIRE(candidates.size() <= 16);
  std::int64_t least = INT64_MAX;
  for (unsigned set = 0; set < 1u << candidates.size(); ++set) {
    detail::array<bool> there(g.tensor_count);
    std::int64_t bytes = 0;
    for (unsigned k = 0; k < candidates.size(); ++k)
      if ((set >> k & 1) != 0) {
        there[candidates[k]] = true;
        bytes += (elements(g, candidates[k]) * detail::saved_bits(g, candidates[k]) + 7) / 8;
      }
    if (bytes >= least) continue;
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      extend::node const& n = g.nodes[i];
      bool all = !early[g.result(n)] || n.op != info_of<op::matmul>();
      for (int k = 0; k < n.operand_count; ++k) all = all && there[g.operand(n, k)];
      if (all) there[g.result(n)] = true;
    }
    bool enough = true;
    for (extend::symbol t = 0; t < g.tensor_count; ++t) enough = enough && (!read[t] || there[t]);
    if (enough) least = bytes;
  }
  return least;
}

} // namespace

TEST_CASE("No set of saved values of a small graph takes fewer bytes than the chosen one") {
  reference::dice d(31);
  std::int64_t quick = 0, best = 0;
  int compared = 0;
  for (int trial = 0; trial < 500; ++trial) {
    joint j;
    extend::symbol const a = j.shaped({4, 4}), b = j.shaped({4, 4});
    std::vector<term> pool{j.at(a), j.at(b)};
    for (int k = 0, n = 2 + d.below(4); k < n; ++k) {
      term const x = pool[static_cast<std::size_t>(d.below(static_cast<int>(pool.size())))], y = pool.back();
      switch (d.below(7)) {
      case 0: pool.push_back(extend::apply<op::tanh>(y)); break;
      case 1: pool.push_back(extend::apply<op::relu>(y)); break;
      case 2: pool.push_back(x * y); break;
      case 3: pool.push_back(extend::matmul(x, y)); break;
      case 4: pool.push_back(extend::broadcast_to(extend::sum(y, 1, true), y.shape_id())); break;
      case 5: pool.push_back(extend::apply<op::sin>(y)); break;
      default: pool.push_back(extend::apply<op::max>(x, y)); break;
      }
    }
    j.differentiate({a, b}, {pool.back().id}, {a, b});
    detail::joint_graph const of = j.plain();
    detail::array<detail::saved_value> const saved = choose_saved(of, {.fewest_bytes = true});
    int candidates = 2;
    {
      detail::array<bool> late(of.g.tensor_count);
      late[of.g.input(2)] = true;
      for (std::int32_t i = 0; i < of.g.node_count; ++i) {
        extend::node const& n = of.g.nodes[i];
        for (int k = 0; k < n.operand_count; ++k)
          if (late[of.g.operand(n, k)]) late[of.g.result(n)] = true;
        candidates += n.operand_count > 0 && !late[of.g.result(n)];
      }
    }
    if (candidates > 12) continue;
    ++compared;
    std::int64_t const least = fewest_bytes(of);
    CHECK(bytes_saved(of.g, saved) == least);
    best += least;
    quick += bytes_saved(of.g, detail::saving(of, {}).choose(true));
    check_parts(of, saved, d);
  }
  CHECK(compared > 200);
  WARN("compared " << compared << ", fewest bytes " << best << ", by the quick choice " << quick);
}

TEST_CASE("Loops, branches and views are split with equal bits: records of loops are saved or recomputed") {
  reference::dice d(29);
  int with_loops = 0, run_twice = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    int const elements = 1 + static_cast<int>(seed % 2); // with two, views are read and written
    double at[8];
    for (double& v : at) v = d.between(-1, 1);
    reference::nest<reference::nest_in_graph> nested(seed, 1 + static_cast<int>(seed % 3), elements,
                                                     element::float64, at, 0);
    joint j;
    std::vector<extend::symbol> const in(nested.x, nested.x + reference::nest_slots);
    std::vector<extend::symbol> const out{extend::graph_view(nested.b.get()).output(0)};
    j.b = static_cast<extend::builder&&>(nested.b);
    j.differentiate(in, out, in);
    if (!detail::in_order(j.b.get())) {
      detail::ordering const order = detail::order_of(j.b.get());
      REQUIRE(order);
      j.b = extend::builder(reordered(j.b.get(), order));
    }
    detail::joint_graph const of = j.simplified();
    detail::array<detail::saved_value> const saved = choose_saved(of, {.records = false});
    for (detail::saved_value const& v : saved) REQUIRE(of.g.tensors[v.of].depth == 0);
    check_parts(of, saved, d);
    with_loops += of.g.region_count > 1;
    auto const loops = [&](detail::array<detail::saved_value> const& some) {
      return count_of(forward_part(of, some), info_of<op::loop>()) +
             count_of(backward_part(of, some), info_of<op::loop>());
    };
    for (bool const move : {false, true})
      CHECK(loops(choose_saved(of, {.move = move})) <= count_of(of.g, info_of<op::loop>())); // none in both
    run_twice += loops(saved) > count_of(of.g, info_of<op::loop>());
  }
  CHECK(with_loops > 50);
  CHECK(run_twice > 20);
}

TEST_CASE("A product saves both factors, and a tensor with a false mask is not an input of the gradient") {
  for (extend::dimension const n : {42, 7}) {
    joint j;
    extend::symbol const a = j.shaped({n}), b = j.shaped({n});
    j.differentiate({a, b}, {(j.at(a) * j.at(b)).id}, {a, b});
    detail::array<detail::saved_value> const saved = choose_saved(j.plain(), {false, false});
    detail::gradient_needs const need = needs_of(j.plain(), saved);
    CHECK((need.inputs[0] && need.inputs[1] && !need.outputs[0] && need.cotangents[0] && need.others == 0));
    CHECK(extend::graph_view(backward_part(j.plain(), saved)).output_count() == 2);
    CHECK(bytes_saved(j.b.get(), saved) == 16 * n);
  }
}

TEST_CASE("Identity saves nothing, relu its output, tanh, exp and sigmoid their outputs") {
  auto const needs = [](auto f) {
    joint j;
    extend::symbol const x = j.shaped({5});
    j.differentiate({x}, {f(j.at(x)).id}, {x});
    detail::gradient_needs const n = needs_of(j.plain(), choose_saved(j.plain(), {false, false}));
    CHECK(n.others == 0);
    return (n.inputs[0] ? 100 : 0) + (n.outputs[0] ? 10 : 0) + (n.cotangents[0] ? 1 : 0);
  };
  CHECK(needs([](term x) { return extend::apply<op::identity>(x); }) == 1);
  CHECK(needs([](term x) { return extend::apply<op::relu>(x); }) == 11);
  CHECK(needs([](term x) { return extend::apply<op::tanh>(x); }) == 11);
  CHECK(needs([](term x) { return extend::apply<op::exp>(x); }) == 11);
  CHECK(needs([](term x) { return extend::apply<op::sigmoid>(x); }) == 11);
  CHECK(needs([](term x) { return extend::apply<op::sqrt>(x); }) == 11);
  CHECK(needs([](term x) { return extend::apply<op::log>(x); }) == 101);
  CHECK(needs([](term x) { return extend::apply<op::sin>(x); }) == 101);
  CHECK(needs([](term x) { return -x; }) == 1);
  CHECK(needs([](term x) { return extend::sum(x, 1); }) == 1);
}

TEST_CASE("An addition that broadcasts saves nothing") {
  for (extend::dimension const rows : {5, 9}) {
    joint j;
    extend::symbol const a = j.shaped({42}), b = j.shaped({rows, 42});
    j.differentiate({a, b}, {(j.at(a) + j.at(b)).id}, {a, b});
    CHECK(choose_saved(j.plain()).size() == 0);
    detail::gradient_needs const need = needs_of(j.plain(), choose_saved(j.plain(), {false, false}));
    CHECK((!need.inputs[0] && !need.inputs[1] && !need.outputs[0] && need.cotangents[0] && need.others == 0));
    reference::dice d(3);
    check_parts(j.plain(), choose_saved(j.plain()), d);
  }
}

TEST_CASE("Smaller equivalents are saved: masks as bits, means, positions as narrow integers") {
  reference::dice d(5);
  SECTION("relu before a sum: one bit an element") {
    joint j;
    extend::symbol const x = j.shaped({100});
    term const y = extend::sum(extend::apply<op::relu>(j.at(x)), 1);
    j.differentiate({x}, {y.id}, {x});
    detail::array<detail::saved_value> const saved = choose_saved(j.plain());
    REQUIRE(saved.size() == 1);
    CHECK((saved[0].moved && saved[0].bits == 1 && bytes_saved(j.b.get(), saved) == 13));
    check_parts(j.plain(), saved, d);
  }
  SECTION("the square of a mean: one number") {
    joint j;
    extend::symbol const x = j.shaped({64});
    j.differentiate({x}, {extend::apply<op::square>(extend::mean(j.at(x), 1)).id}, {x});
    CHECK(bytes_saved(j.b.get(), choose_saved(j.plain())) == 8);
    check_parts(j.plain(), choose_saved(j.plain()), d);
  }
  SECTION("a chain of cheap operations: the operand is saved, and all values are rematerialized") {
    joint j;
    extend::symbol const x = j.shaped({64});
    term y = j.at(x);
    for (int k = 0; k < 10; ++k) y = extend::apply<op::tanh>(y * 1.5);
    j.differentiate({x}, {extend::sum(y, 1).id}, {x});
    detail::saving_options const small{.fewest_bytes = true};
    CHECK(bytes_saved(j.b.get(), choose_saved(j.plain(), small)) == 64 * 8);
    CHECK(bytes_saved(j.b.get(), choose_saved(j.plain(), {true, false})) == 10 * 64 * 8);
    check_parts(j.plain(), choose_saved(j.plain(), small), d);
  }
  SECTION("a chain of functions: small tensors are saved, since computing them again takes longer; of large ones the operand") {
    for (extend::dimension const n : {1, 64, 100000}) {
      joint j;
      extend::symbol const x = j.shaped({n});
      term y = j.at(x);
      for (int k = 0; k < 10; ++k) y = extend::apply<op::tanh>(y * 1.5);
      j.differentiate({x}, {extend::sum(y, 1).id}, {x});
      CHECK(bytes_saved(j.b.get(), choose_saved(j.plain())) == (n == 100000 ? 1 : 10) * n * 8);
    }
  }
  SECTION("matrix products run once") {
    joint j;
    extend::symbol const x = j.shaped({8, 8}), w = j.shaped({8, 8}), v = j.shaped({8, 8});
    term const h = extend::apply<op::tanh>(extend::matmul(j.at(x), j.at(w)));
    j.differentiate({x, w, v}, {extend::matmul(h, j.at(v)).id}, {w, v});
    detail::array<detail::saved_value> const saved = choose_saved(j.simplified());
    CHECK(bytes_saved(j.simple, saved) == 3 * 64 * 8); // x, tanh, v
    detail::joint_graph const of{j.simple, j.inputs, j.cotangents, j.outputs};
    CHECK(count_of(forward_part(of, saved), info_of<op::matmul>()) == 2);
    CHECK(count_of(backward_part(of, saved), info_of<op::matmul>()) == 3);
    CHECK(count_of(backward_part(of, saved), info_of<op::tanh>()) == 0);
    check_parts(of, saved, d);
  }
  SECTION("positions of 10 classes: 8 bits") {
    joint j;
    extend::symbol const x = j.shaped({100, 10}), w = j.shaped({10, 3});
    extend::symbol const at = j.b.push(info_of<op::arg_max>(), {x}, {1});
    REQUIRE(j.b.failed().why == nullptr);
    term const row{&j.b, j.b.push(info_of<op::gather>(), {w, at})};
    j.differentiate({x, w}, {row.id}, {w});
    detail::array<detail::saved_value> const saved = choose_saved(j.plain());
    REQUIRE(saved.size() == 1);
    CHECK((saved[0].bits == 8 && bytes_saved(j.b.get(), saved) == 100));
    check_parts(j.plain(), saved, d);
  }
}
