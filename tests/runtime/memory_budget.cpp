// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/dynamic/graph/graph_access.hpp>
#include <cotangent/memory_budget.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include "catch.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// Programs in a budget of memory: the same bits, within the budget, at little more work.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

std::vector<float> numbers(std::size_t n, unsigned seed) {
  std::vector<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / 16777216.f - 0.5f;
  }
  return v;
}

/// A network of equal dense layers, its loss and the gradients of all weights.
struct network {
  ct::dynamic::graph g;
  std::vector<expr<float>> inputs;
  std::vector<ct::dynamic::any_expr> results;

  network(int layers, std::int64_t batch, std::int64_t width, int kind = 0) {
    inputs.push_back(g.input<float>("x", {batch, width}));
    expr<float> y = inputs[0];
    for (int k = 0; k < layers; ++k) {
      inputs.push_back(g.input<float>("w", {width, width}));
      auto const z = ct::matmul(y, inputs.back());
      if (kind == 0) y = ct::tanh(z);
      else if (kind == 1) y = y + ct::tanh(z); // a way around
      else y = ct::dropout(ct::gelu(z), 0.25, g.constant(std::int64_t{k}));
    }
    auto const loss = ct::mean(y * y);
    std::vector<ct::dynamic::any_expr> wrt(inputs.begin() + 1, inputs.end());
    results.push_back(loss);
    for (auto const& d : g.gradient({loss}, wrt)) results.push_back(d);
  }

  struct outcome {
    std::vector<float> bits;
    std::int64_t bytes = 0;
    ct::detail::run_prediction predicted;
  };
  outcome run(std::int64_t budget, bool (*mirror)(ct::extend::node const&) = nullptr) const {
    auto p = g.compile(results, {}, {.memory_budget = budget, .mirror = mirror});
    std::vector<std::vector<float>> data;
    data.reserve(inputs.size());
    for (auto const& x : inputs) {
      data.push_back(
          numbers(static_cast<std::size_t>(x.shape().size().number), static_cast<unsigned>(data.size())));
      p.bind(x, data.back());
    }
    p.run();
    outcome o;
    for (auto const& y : results)
      for (float const v : p.value(y.as<float>())) o.bits.push_back(v);
    o.bytes = p.workspace_bytes();
    o.predicted = p.predicted();
    return o;
  }
};

bool equal(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

TEST_CASE("a program within a budget fits and has equal bits", "[memory_budget]") {
  for (int const kind : {0, 1, 2}) {
    network const n(24, 64, 16, kind);
    network::outcome const whole = n.run(0);
    for (int const part : {2, 3}) {
      std::int64_t const budget = whole.bytes / part;
      network::outcome const fitted = n.run(budget);
      INFO("kind " << kind << ", 1/" << part << " of " << whole.bytes << ": " << fitted.bytes << ", again "
                   << fitted.predicted.again / fitted.predicted.seconds);
      CHECK(equal(whole.bits, fitted.bits));
      CHECK(fitted.bytes <= budget);
      CHECK(fitted.predicted.bytes == fitted.bytes);
      CHECK(fitted.predicted.again > 0);
      CHECK(fitted.predicted.again <= (part == 2 ? 0.25 : 0.5) * fitted.predicted.seconds);
    }
  }
}

// ---- mirroring

/// The graph of a program, before values are chosen for rematerialization.
ct::graph simplified(ct::dynamic::graph const& g, std::vector<ct::dynamic::any_expr> const& outputs) {
  auto const& s = ct::dynamic::detail::graph_access::state(g);
  ct::extend::builder b = s.b;
  std::vector<ct::extend::symbol> ids;
  for (auto const& e : outputs) ids.push_back(e.id());
  b.set_inputs(s.inputs.data(), static_cast<int>(s.inputs.size()));
  b.set_outputs(ids.data(), static_cast<int>(ids.size()));
  return ct::detail::simplify(b.get());
}
int count(ct::extend::graph_view const& g, std::string_view name) {
  int n = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) n += std::string_view(g.nodes[i].op->name).find(name) == 0;
  return n;
}
std::int64_t workspace(ct::extend::graph_view const& g) { return ct::interpreter(g).workspace_bytes(); }

/// Small networks in which the rule decides differently, and the values that it rematerializes.
struct mirror_case {
  char const* name;
  std::string_view again; // the operations, by name, that the rule rematerializes
  int most;               // of them
  expr<float> (*body)(expr<float> const& x, std::vector<expr<float>> const& w);
};
mirror_case const mirror_cases[]{
    {"MR1", "", 0,
     [](auto const& x, auto const& w) { return ct::tanh(ct::matmul(x, w[0]) + ct::matmul(x, w[1])); }},
    {"MR2", "", 0,
     [](auto const& x, auto const& w) { return ct::tanh(ct::matmul(ct::tanh(ct::matmul(x, w[0])), w[1])); }},
    {"MR3", "tanh", 1, [](auto const& x, auto const& w) { return ct::matmul(ct::tanh(ct::tanh(x)), w[0]); }},
    {"MR4", "", 2,
     [](auto const& x, auto const& w) {
       auto const y = ct::matmul(x, w[0]);
       return ct::matmul(ct::relu(y * (y * 2.0f + 1.0f)), w[1]);
     }},
    {"MR5", "", 2,
     [](auto const& x, auto const& w) {
       auto const y = ct::matmul(x, w[0]);
       return ct::matmul(ct::tanh(y), w[1]) + ct::matmul(ct::exp(y), w[2]);
     }},
    {"MR6", "mul", 1,
     [](auto const& x, auto const& w) {
       return ct::matmul(ct::matmul(x, w[0]) * ct::matmul(x, w[1]), w[2]);
     }},
};

TEST_CASE("mirrored programs recompute no more than the rule, in no more memory, with equal bits",
          "[mirror]") {
  int smaller = 0;
  for (mirror_case const& c : mirror_cases)
    for (std::int64_t const batch : {64, 48})
      for (int const tail :
           {0, 1, 4}) { // layers behind it, of which the widest has tail times as many columns
        ct::dynamic::graph g;
        std::vector<expr<float>> inputs{g.input<float>("x", {batch, 16})};
        for (int k = 0; k < 3; ++k) inputs.push_back(g.input<float>("w", {16, 16}));
        std::vector<expr<float>> const w(inputs.begin() + 1, inputs.end());
        expr<float> y = c.body(inputs[0], w);
        if (tail > 0) {
          inputs.push_back(g.input<float>("v", {16, 16 * tail}));
          y = ct::tanh(ct::matmul(y, inputs.back()));
        }
        std::vector<ct::dynamic::any_expr> const wrt(inputs.begin(), inputs.end());
        inputs.push_back(g.input<float>("weight", ct::dynamic::sizes(y.shape())));
        std::vector<ct::dynamic::any_expr> outputs{ct::sum(y * inputs.back())};
        for (auto const& d : g.gradient({outputs[0]}, wrt)) outputs.push_back(d);
        ct::graph const whole = simplified(g, outputs);
        ct::detail::memory_values const values(whole, &ct::is_cheap);
        ct::detail::mirror_choices const all(ct::detail::mirror_problem_of(whole, values));
        ct::detail::budgeted_graph const made = ct::detail::mirrored(whole, &ct::is_cheap, &workspace);
        INFO(c.name << ", batch " << batch << ", tail " << tail);
        auto const by_rule = all.rule.steps.empty() ? 0 : all.rule.steps.size() - values.problem.size();
        CHECK(by_rule <= c.most);
        CHECK(made.predicted.again <= all.rule.again);
        CHECK(made.predicted.bytes <= workspace(whole));
        if (!made.changed) {
          CHECK(made.predicted.again == 0);
          if (by_rule > 0) CHECK(workspace(ct::detail::recomputed(whole, values.groups, all.rule)) >= workspace(whole));
        } else {
          ++smaller;
          CHECK(workspace(made.made) < workspace(whole));
          CHECK(workspace(made.made) <= workspace(ct::detail::recomputed(whole, values.groups, all.rule)));
          CHECK(made.made.nodes.size() > whole.nodes.size());
          CHECK(count(made.made, "matmul") == count(whole, "matmul"));
          if (!c.again.empty()) CHECK(count(made.made, c.again) <= count(whole, c.again) + c.most);
        }
        auto plain = g.compile(outputs), mirrored = g.compile(outputs, {}, {.mirror = &ct::is_cheap});
        std::vector<std::vector<float>> data;
        data.reserve(inputs.size());
        for (auto const& x : inputs) {
          data.push_back(
              numbers(static_cast<std::size_t>(x.shape().size().number), static_cast<unsigned>(data.size())));
          plain.bind(x, data.back());
          mirrored.bind(x, data.back());
        }
        plain.run();
        mirrored.run();
        CHECK(mirrored.workspace_bytes() <= plain.workspace_bytes());
        CHECK(mirrored.predicted().bytes == mirrored.workspace_bytes());
        CHECK(mirrored.predicted().again <= all.rule.again);
        for (auto const& d : outputs) {
          auto const a = plain.value(d.as<float>()), b = mirrored.value(d.as<float>());
          CHECK(std::memcmp(a.data(), b.data(), 4 * static_cast<std::size_t>(a.size())) == 0);
        }
      }
  CHECK(smaller >= 8); // of 36
}

TEST_CASE("mirroring rematerializes cheap values, with equal bits, and never takes more memory", "[mirror]") {
  for (int const kind : {0, 1, 2}) {
    network const n(8, 64, 16, kind);
    network::outcome const whole = n.run(0), mirrored = n.run(0, &ct::is_cheap);
    CHECK(equal(whole.bits, mirrored.bits));
    CHECK(mirrored.bytes <= whole.bytes);
    CHECK(mirrored.predicted.bytes == mirrored.bytes);
    CHECK((mirrored.predicted.again > 0) == (mirrored.bytes < whole.bytes));
    if (kind == 2) CHECK(mirrored.bytes < whole.bytes); // gelu keeps several values of a layer
  }
}

TEST_CASE("mirroring never draws random numbers again", "[mirror]") {
  network const n(6, 64, 16, 2); // dropout in each layer
  ct::graph const whole = simplified(n.g, n.results);
  int const draws = count(whole, "random");
  REQUIRE(draws > 0);
  ct::detail::budgeted_graph const cheap = ct::detail::mirrored(whole, &ct::is_cheap, &workspace);
  REQUIRE(cheap.changed);
  CHECK(count(cheap.made, "random") == draws);
  // Who says that they may be gets the same numbers again, since they are functions of their key.
  bool (*const all)(ct::extend::node const&) = [](ct::extend::node const&) { return true; };
  CHECK(equal(n.run(0).bits, n.run(0, all).bits));
  for (ct::extend::node const& at : whole.nodes)
    if (std::string_view(at.op->name).find("random") == 0) CHECK_FALSE(ct::is_cheap(at));
}

TEST_CASE("nodes that must not run twice do not, within a budget", "[memory_budget]") {
  bool (*const none)(ct::extend::node const&) = [](ct::extend::node const&) { return false; };
  for (int const layers : {6, 12}) {
    network const n(layers, 64, 16, 2);
    ct::graph const whole = simplified(n.g, n.results);
    std::int64_t const bytes = workspace(whole);
    ct::detail::budgeted_graph const all = ct::detail::within_budget(whole, bytes * 3 / 4, &workspace),
                           cheap = ct::detail::within_budget(whole, bytes * 3 / 4, &workspace, &ct::is_cheap),
                           not_one = ct::detail::within_budget(whole, bytes * 3 / 4, &workspace, none),
                           small = ct::detail::within_budget(whole, bytes / 5, &workspace),
                           small_cheap = ct::detail::within_budget(whole, bytes / 5, &workspace, &ct::is_cheap);
    REQUIRE(all.fits);
    CAPTURE(bytes, cheap.predicted.bytes);
    REQUIRE(cheap.fits);
    CHECK(cheap.predicted.bytes <= bytes * 3 / 4);
    CHECK(count(cheap.made, "matmul") == count(whole, "matmul"));
    CHECK(count(cheap.made, "random") == count(whole, "random"));
    CHECK_FALSE(not_one.fits);
    CHECK(not_one.predicted.bytes == bytes);
    if (small.fits && !small_cheap.fits) CHECK(count(small.made, "matmul") > count(whole, "matmul"));
    CHECK(small_cheap.predicted.bytes >= small.predicted.bytes);
    auto const p = n.g.compile(n.results, {}, {.memory_budget = bytes * 3 / 4, .mirror = &ct::is_cheap});
    CHECK(p.workspace_bytes() <= bytes * 3 / 4);
    CHECK_THROWS_AS(n.g.compile(n.results, {}, {.memory_budget = bytes * 3 / 4, .mirror = none}), ct::graph_error);
  }
}

TEST_CASE("values may be read before another part of their memory is written", "[mirror]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const whole = g.tensor<double>("whole", {2, 2, 2});
  auto const sums = ct::cumsum(g.view(whole, {.offset = {0, 0, 3}, .shape = {2, 1, 1}, .stride = {4, 4, 1}}), 1); // no node writes it
  auto const written = g.write(g.view(whole, {.offset = {0, 2, 0}, .shape = {1, 1, 2}, .stride = {8, 2, 1}}), x);
  auto const loss = ct::sum(sums + ct::sum(written));
  auto const slope = g.gradient({loss}, {x}).front();
  std::vector<double> data{0.5, 0.75};
  auto p = g.compile({loss, slope}, {{x, data}}, {.mirror = &ct::is_cheap});
  p.run();
  CHECK(p.value(loss)() == 2.5);
  CHECK(p.value(slope)(1) == 2);
  auto const alone = ct::sum(sums * sums);
  auto q = g.compile({alone, g.gradient({alone}, {x}).front()}, {{x, data}}, {.mirror = &ct::is_cheap});
  q.run();
  CHECK(q.value(alone)() == 0);
}

TEST_CASE("values that wait for others keep that order within a budget", "[memory_budget]") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {2, 3});
  auto const v = x / -1.25f;
  auto const a = ct::logsumexp(v, {-1}, ct::keep);
  auto const b = ct::checkpoint([&](auto, auto) { return ct::mean(ct::sin(v)); })(x, x);
  auto const loss = 0.3 * ct::sum(a) + 0.1 * ct::sum(a * a) + 0.6 * ct::sum(b) + 0.1 * ct::sum(b * b);
  auto const slope = g.gradient({loss}, {x}).front();
  std::vector<float> const along{-0.337f, -0.95f, -0.364f, -0.583f, 0.355f, -0.353f};
  auto const curve = g.gradient({ct::sum(slope * g.constant(along, {2, 3}))}, {x}).front();
  std::vector<float> data{1.3f, 1.0f, -0.9f, -1.0f, -1.2f, -0.9f};
  auto p = g.compile({a, b, loss, slope, curve}, {{x, data}});
  p.run();
  for (int eighths = 4; eighths < 8; ++eighths) try {
      auto q = g.compile({a, b, loss, slope, curve}, {{x, data}}, {.memory_budget = p.workspace_bytes() * eighths / 8});
      q.run();
      for (int k = 0; k < 6; ++k) CHECK(p.value(curve)(k / 3, k % 3) == q.value(curve)(k / 3, k % 3));
    } catch (ct::graph_error const& e) {
      CHECK(std::string(e.what()).find("the budget must hold") != std::string::npos);
    }
}

TEST_CASE("a budget that is too small is refused with the least that was found", "[memory_budget]") {
  network const n(12, 64, 16);
  try {
    (void)n.run(1000);
    FAIL("was not refused");
  } catch (ct::graph_error const& e) {
    std::string const words = e.what();
    CAPTURE(words);
    CHECK(words.find("the budget must hold") != std::string::npos);
    CHECK(words.find("1000") != std::string::npos);
  }
}

TEST_CASE("a budget that is large enough changes nothing", "[memory_budget]") {
  network const n(6, 32, 16);
  network::outcome const whole = n.run(0), fitted = n.run(whole.bytes);
  CHECK(fitted.bytes == whole.bytes);
  CHECK(fitted.predicted.again == 0);
  CHECK(fitted.predicted.seconds > 0);
  CHECK(equal(whole.bits, fitted.bits));
}

TEST_CASE("a budget that the program fits changes no rewrite: products stay after their loop", "[memory_budget]") {
  for (int const trips : {20, 100}) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {64}), w = g.input<double>("w", {64, 64});
    auto const last = ct::for_loop(trips, [&](auto, auto s) { return ct::tanh(ct::matmul(w, s)) + 0.1 * s; }, x);
    auto const value = ct::sum(last * last);
    auto const d = g.gradient({value}, {x, w});
    auto const p = g.compile({value, d[0], d[1]});
    std::int64_t const bytes = p.workspace_bytes() + p.predicted().tape;
    for (std::int64_t const budget : {bytes, 10 * bytes}) {
      auto const q = g.compile({value, d[0], d[1]}, {}, {.memory_budget = budget});
      CHECK(q.workspace_bytes() == p.workspace_bytes());
      CHECK(q.predicted().tape == p.predicted().tape);
      CHECK(q.predicted().again == 0);
    }
  }
}

TEST_CASE("rows that a loop scans count among its records", "[memory_budget]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1000, 8}), w = g.input<double>("w", {8});
  auto const last = ct::scan([&](auto s, auto r) { return std::pair(ct::tanh(s * w + r), std::tuple()); }, 0.0 * w, x).first;
  auto const value = ct::sum(last);
  auto const dw = g.gradient({value}, {w}, {}, {.tape = {.limit = 8192}}).front();
  std::vector<double> const rows(8000, .1), weights(8, .3);
  for (auto p : {g.compile({value}), g.compile({value, dw})}) {
    p.bind(x, rows);
    p.bind(w, weights);
    p.run();
    CHECK(p.predicted().tape >= 64000);
    CHECK(p.tape_bytes() <= p.predicted().tape + p.predicted().tape / 4 + 4096);
  }
  CHECK_THROWS_AS(g.compile({value}, {}, {.memory_budget = 60000}), ct::graph_error);
}

/// Layers around a loop, and values that are written in pieces; the weights are updated in place.
std::vector<double> trained(std::int64_t budget, std::int64_t& bytes) { // bytes: with what the loop records
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {32, 8});
  std::vector<expr<double>> weights;
  expr<double> y = x;
  auto const dense = [&] {
    weights.push_back(g.input<double>("w", {8, 8}));
    y = ct::tanh(ct::matmul(y, weights.back()));
  };
  for (int k = 0; k < 6; ++k) dense();
  y = ct::for_loop(3, [](auto, auto v) { return ct::sin(v) * v; }, y);
  for (int k = 0; k < 3; ++k) dense();
  auto const pieces = g.tensor<double>("pieces", {32, 16});
  g.write(g.view(pieces, {.offset = {0, 0}, .shape = {32, 8}}), ct::exp(y));
  g.write(g.view(pieces, {.offset = {0, 8}, .shape = {32, 8}}), y * 2.0);
  for (int k = 0; k < 3; ++k) dense();
  auto const loss = ct::mean(y * y) + ct::mean(ct::sin(pieces));
  auto const d = g.gradient({loss}, {weights.begin(), weights.end()});
  ct::dynamic::compile_options options;
  options.memory_budget = budget;
  for (std::size_t k = 0; k < weights.size(); ++k)
    options.updates.push_back({weights[k], weights[k] - 0.1 * d[k].as<double>()});
  auto p = g.compile({loss}, {}, options);
  std::vector<std::vector<double>> data;
  data.reserve(weights.size() + 1);
  auto const bind = [&](expr<double> const& to) {
    std::vector<float> const v =
        numbers(static_cast<std::size_t>(to.shape().size().number), static_cast<unsigned>(data.size()));
    data.emplace_back(v.begin(), v.end());
    p.bind(to, data.back());
  };
  bind(x);
  for (auto const& w : weights) bind(w);
  for (int k = 0; k < 3; ++k) p.run();
  bytes = p.workspace_bytes() + p.predicted().tape;
  REQUIRE(p.predicted().tape > 0);
  REQUIRE(p.tape_bytes() >= p.predicted().tape - 4096); // (a sequence is counted as somewhat more than it takes)
  REQUIRE(p.tape_bytes() <= p.predicted().tape + 4096);
  std::vector<double> all;
  for (auto const& v : data) all.insert(all.end(), v.begin(), v.end());
  return all;
}

TEST_CASE("loops, values written in pieces and updates in place keep their values within a budget",
          "[memory_budget]") {
  std::int64_t whole = 0, fitted = 0;
  std::vector<double> const all = trained(0, whole);
  for (int const percent : {85, 75, 70}) {
    std::vector<double> const again = trained(whole * percent / 100, fitted);
    CHECK(fitted <= whole * percent / 100);
    CHECK(std::memcmp(all.data(), again.data(), 8 * all.size()) == 0);
  }
}

TEST_CASE("records of loops count in a budget, and a budget below the records is refused",
          "[memory_budget]") {
  struct recorded {
    std::int64_t bytes = 0, tape = 0, taken = 0;
  };
  auto const run = [](int outer, int inner, std::int64_t budget) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {64});
    auto const y = ct::for_loop(
        outer,
        [&](auto, auto v) {
          return inner == 0 ? ct::sin(v) * v : ct::for_loop(inner, [](auto, auto u) { return ct::sin(u) * u; }, v);
        },
        x);
    auto const d = g.gradient({ct::sum(y)}, {x}).front();
    auto p = g.compile({d}, {}, {.memory_budget = budget});
    std::vector<double> data(64, 0.5);
    p.bind(x, data);
    p.run();
    p.run();
    return recorded{p.workspace_bytes(), p.predicted().tape, p.tape_bytes()};
  };
  recorded const one = run(100, 0, 0), two = run(20, 30, 0);
  CHECK(one.tape >= 100 * 512);
  CHECK(two.tape >= 600 * 512);
  for (recorded const& r : {one, two}) {
    CAPTURE(r.tape, r.taken);
    CHECK(r.taken <= r.tape + 16384);
    CHECK(r.tape <= 2 * r.taken + 16384);
  }
  CHECK(run(100, 0, one.bytes + one.tape).bytes == one.bytes);
  try {
    (void)run(100, 0, one.tape - 64);
    FAIL("was not refused");
  } catch (ct::graph_error const& e) {
    std::string const words = e.what();
    CAPTURE(words);
    CHECK(words.find("the budget must hold") != std::string::npos);
    CHECK(words.find(std::to_string(one.bytes + one.tape)) != std::string::npos);
  }
}

// ---- static programs

/// A chain with sizes and costs of all kinds and its gradient, as the stages of static programs take it.
template <int Links> struct made_chain {
  struct constants {
    int values = 2 * Links;
    ct::detail::pool<std::int32_t, 2 * Links + 1> first_node;
  };
  static constexpr constants value{};
  static constexpr ct::detail::memory_problem problem() {
    ct::detail::memory_problem p;
    unsigned seed = 5;
    auto const below = [&](unsigned n) { return (seed = seed * 1664525u + 1013904223u) >> 8 & (n - 1); };
    for (int k = 0; k < Links; ++k) {
      std::int32_t const before = k - 1;
      unsigned const bytes = below(1024), cost = below(128);
      (void)p.add(1 + bytes, 1 + cost, &before, k == 0 ? 0 : 1);
    }
    for (int k = Links; k-- > 0;) {
      std::int32_t const reads[]{k, p.size() - 1};
      (void)p.add(1 + below(1024), 1, reads, k == Links - 1 ? 1 : 2, true);
    }
    return p;
  }
  static constexpr std::int64_t limit = [] {
    ct::detail::memory_problem p = problem();
    return (2 * ct::detail::memory_bound(p) + ct::detail::computed_once(p).peak) / 3;
  }();
};
template <class Chain> void check_constants() {
  constexpr auto const& found = ct::detail::schedule_stage<Chain, Chain::limit>::value;
  ct::detail::memory_schedule const best = ct::detail::schedule_within(Chain::problem(), Chain::limit);
  REQUIRE(best);
  CHECK(found.again == best.again);
  CHECK(found.peak <= Chain::limit);
}

TEST_CASE("constant evaluations find the same schedule as a run: 12 values, a chain of 22 links",
          "[memory_budget]") {
  check_constants<made_chain<6>>();
  check_constants<made_chain<22>>();
}

inline constexpr auto gated = [](auto w, auto x) {
  auto y = x;
  for (int k = 0; k < 3; ++k) {
    auto const z = ct::matmul(y, w);
    y = z / (1.0f + ct::exp(-z)) + ct::tanh(z); // keeps several values of a layer
  }
  return ct::sum(y * y);
};
using weights = ct::tensor<float, 16, 16>;
using batch = ct::tensor<float, 64, 16>;
using whole_program = ct::program<decltype(ct::value_and_grad(gated)), weights, batch>;
inline constexpr auto two_thirds = static_cast<std::int64_t>(whole_program::workspace_bytes) * 2 / 3;
using fitted_program = ct::program<decltype(ct::memory_budget<two_thirds>(ct::value_and_grad(gated))), weights, batch>;
static_assert(fitted_program::workspace_bytes <= two_thirds);
static_assert(fitted_program::predicted.bytes == static_cast<std::int64_t>(fitted_program::workspace_bytes));
static_assert(fitted_program::predicted.again > 0);
static_assert(fitted_program::predicted.again < 0.5 * fitted_program::predicted.seconds);

// The layout does not shrink with every limit of the model. The search then ends at the smallest schedule, which fits.
inline constexpr auto six_layers = [](auto w, auto x) {
  auto y = x;
  for (int k = 0; k < 6; ++k) y = ct::tanh(ct::matmul(y, w) + ct::sin(y));
  return ct::sum(ct::square(y));
};
using layer = ct::tensor<double, 8, 8>;
inline constexpr auto most_of_it =
    static_cast<std::int64_t>(ct::program<decltype(ct::value_and_grad<0, 1>(six_layers)), layer, layer>::workspace_bytes) * 95 / 100;
static_assert(ct::program<decltype(ct::memory_budget<most_of_it>(ct::value_and_grad<0, 1>(six_layers))), layer, layer>::workspace_bytes <= most_of_it);

TEST_CASE("a static program within a budget has equal bits", "[memory_budget]") {
  weights w;
  batch x;
  std::vector<float> const a = numbers(256, 1), b = numbers(1024, 2);
  std::memcpy(w.data(), a.data(), 1024);
  std::memcpy(x.data(), b.data(), 4096);
  auto const [value, gradient] = ct::value_and_grad(gated)(w, x);
  auto const [again, fitted] = ct::memory_budget<two_thirds>(ct::value_and_grad(gated))(w, x);
  CHECK(std::memcmp(&value, &again, 4) == 0);
  CHECK(std::memcmp(gradient.data(), fitted.data(), 1024) == 0);
}

constexpr bool only_exponentials(ct::extend::node const& n) { return n.op == ct::info_of<ct::op::exp>(); }
constexpr bool nothing(ct::extend::node const&) { return false; }
template <bool (*May)(ct::extend::node const&)>
using mirrored_program = ct::program<decltype(ct::mirror<May>(ct::value_and_grad(gated))), weights, batch>;
using kept_program = ct::program<decltype(ct::value_and_grad(gated)), weights, batch>;
static_assert(3 * mirrored_program<&ct::is_cheap>::workspace_bytes <= 2 * kept_program::workspace_bytes);
static_assert(mirrored_program<&ct::is_cheap>::predicted.bytes ==
              static_cast<std::int64_t>(mirrored_program<&ct::is_cheap>::workspace_bytes));
static_assert(mirrored_program<&ct::is_cheap>::predicted.again > 0);
static_assert(mirrored_program<&only_exponentials>::workspace_bytes <= kept_program::workspace_bytes);
static_assert(mirrored_program<&nothing>::workspace_bytes == kept_program::workspace_bytes);
static_assert(mirrored_program<&nothing>::predicted.again == 0);

TEST_CASE("a static program mirrors the operations that a predicate allows, with equal bits", "[mirror]") {
  weights w;
  batch x;
  std::vector<float> const a = numbers(256, 1), b = numbers(1024, 2);
  std::memcpy(w.data(), a.data(), 1024);
  std::memcpy(x.data(), b.data(), 4096);
  auto const [value, gradient] = ct::value_and_grad(gated)(w, x);
  auto const [again, mirrored] = ct::mirror<>(ct::value_and_grad(gated))(w, x);
  if (ct::math::is_fast) return; // two programs may be rewritten in two ways
  CHECK(std::memcmp(&value, &again, 4) == 0);
  CHECK(std::memcmp(gradient.data(), mirrored.data(), 1024) == 0);
}

} // namespace
