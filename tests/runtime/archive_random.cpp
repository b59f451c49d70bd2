// SPDX-License-Identifier: BSL-1.0
// Graphs made by dice, saved and read under every option of gradients: equal bits, an equal second file, and equal gradients
// again, of graphs that expressions made and of graphs that the symbolic API made.
#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include "../random_graph.hpp"
#include "../random_nest.hpp"
#include "../symbolic_parts.hpp"
#include "../view_twins.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::extend::builder;
using ct::extend::symbol;
using ct::dynamic::any_expr;
using ct::dynamic::command;
using ct::dynamic::gradient_options;
using ct::dynamic::symbolic_tensor;
using access = ct::dynamic::detail::graph_access;

/// A graph with the symbols that are differentiated, and with respect to which.
struct drawn {
  ct::dynamic::graph g;
  std::vector<symbol> y, x;
  bool symbols = false; // whether gradients are asked for through the symbolic API
};

/// The graph of a builder, as expressions make it.
drawn adopted(builder const& b, std::vector<symbol> x, bool symbols) {
  drawn d;
  auto& s = access::state(d.g);
  s.b = b;
  ct::extend::graph_view const g = b.get();
  for (int k = 0; k < g.input_count(); ++k) s.inputs.push_back(g.input(k));
  for (int k = 0; k < g.output_count(); ++k) d.y.push_back(g.output(k));
  std::map<symbol, bool> in_pieces;
  for (std::int32_t i = 0; i < g.node_count; ++i)
    for (int k = 0; k < g.nodes[i].result_count; ++k)
      if (symbol const y = g.result(g.nodes[i], k), base = g.tensors[y].base; base != ct::extend::none) {
        s.written[base].push_back(y);
        in_pieces[base] = true;
      }
  for (auto const& [t, yes] : in_pieces)
    if (std::find(s.inputs.begin(), s.inputs.end(), t) == s.inputs.end() && g.tensors[t].region == 0) s.piecewise.push_back(t);
  d.x = std::move(x);
  d.symbols = symbols;
  if (symbols) (void)d.g.symbolic();
  return d;
}

/// Each node as an operation of the symbolic API.
drawn replayed(builder const& b, std::vector<symbol> const& x) {
  drawn d;
  auto const s = d.g.symbolic();
  ct::extend::graph_view const g = b.get();
  std::vector<symbolic_tensor> now;
  for (symbol t = 0; t < g.tensor_count; ++t) {
    ct::dynamic::sizes shape;
    for (int k = 0; k < g.shape(t).rank; ++k) shape.push(g.shape(t).size[k]);
    now.push_back(s.tensor(g.tensors[t].type, shape, "t" + std::to_string(t)));
  }
  auto const at = [&](symbol t) { return now[static_cast<std::size_t>(t)]; };
  for (std::int32_t i = g.node_count; i-- > 0;) { // in the wrong order
    ct::extend::node const& n = g.nodes[i];
    std::vector<symbolic_tensor> in;
    std::vector<std::int64_t> attributes;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(at(g.operand(n, k)));
    for (int k = 0; k < n.attribute_count; ++k) attributes.push_back(g.attribute(n, k));
    s.exec(command::of(n.op, attributes), in, {at(g.result(n, 0))}, "n" + std::to_string(i));
  }
  for (int k = 0; k < g.output_count(); ++k) d.y.push_back(at(g.output(k)).id);
  for (symbol const t : x) d.x.push_back(at(t).id);
  d.symbols = true;
  return d;
}

/// By the symbolic API from the start: aliases that are read and written, loops, branches, noops, edges.
drawn by_symbols(std::uint64_t seed) {
  reference::dice dice(seed);
  drawn d;
  auto const s = d.g.symbolic();
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(dice.below(static_cast<int>(n))); };
  std::vector<symbolic_tensor> whole, pool;
  for (int k = 0; k < 3; ++k) {
    whole.push_back(s.tensor<double>({2}, "x" + std::to_string(k)));
    auto const wide = s.tensor<double>({6}, "w" + std::to_string(k));
    d.x.push_back(whole.back().id);
    d.x.push_back(wide.id);
    for (int j = 0; j < 3; ++j)
      pool.push_back(s.alias(wide, {.offset = {static_cast<std::int64_t>(below(5))}, .shape = {2}}));
  }
  pool.insert(pool.end(), whole.begin(), whole.end());
  auto const any = [&] { return pool[below(pool.size())]; };
  auto const compute = [&](symbolic_tensor const& y) {
    auto const a = any(), b = any();
    switch (below(3)) {
    case 0: return s.exec(command::of<ct::op::multiply>(), {a, b}, {y}, "product");
    case 1: return s.exec(command("tanh", [](ct::term t, ct::term u) { return ct::extend::apply<ct::op::tanh>(t - u); }), {a, b}, {y});
    default: return s.exec(command::of<ct::op::sin>(), {a}, {y});
    }
  };
  for (int step = 0; step < 9; ++step) {
    auto const y = s.tensor<double>({2}, "y" + std::to_string(step));
    auto const a = whole[below(whole.size())];
    switch (below(6)) {
    case 0: { // written in pieces
      auto const wide = s.tensor<double>({6});
      for (std::int64_t const at : {4, 0, 2}) compute(s.alias(wide, {.offset = {at}, .shape = {2}}));
      pool.push_back(s.alias(wide, {.offset = {static_cast<std::int64_t>(below(5))}, .shape = {2}}));
      continue;
    }
    case 1: {
      auto const body = s.sub_graph("body");
      body.exec(command("step", [](ct::term t) { return ct::extend::apply<ct::op::sin>(t) + 0.25; }), {a}, {y});
      body.carry(y, a);
      s.while_(body, while_below(body, static_cast<std::int64_t>(1 + below(4))));
      break;
    }
    case 2: {
      auto const index = s.tensor<std::int64_t>({}, "index");
      s.exec(command("index", [](ct::term t) { return ct::extend::convert(ct::extend::sum(t, 1) > 0.2, ct::element::int64); }), {a}, {index});
      auto const choice = s.case_of(index);
      s.branch(choice).exec(command::of<ct::op::sin>(), {a}, {y});
      s.branch(choice).exec(command("less", [](ct::term t) { return t * 0.5; }), {a}, {y});
      break;
    }
    case 3: {
      auto const wait = s.exec(ct::dynamic::noop, {a}, {}, "wait");
      s.concat(wait, compute(y));
      break;
    }
    default: compute(y);
    }
    pool.push_back(y);
    whole.push_back(y);
  }
  std::vector<symbolic_tensor> sums;
  for (std::size_t k = pool.size() - 5; k < pool.size(); ++k) {
    sums.push_back(s.tensor<double>({}));
    s.exec(command::of<ct::op::sum>({1}), {pool[k]}, {sums.back()});
  }
  auto const loss = s.tensor<double>({}, "loss");
  s.exec(command::of<ct::op::add>(), sums, {loss}, "loss");
  d.y = {loss.id};
  d.symbols = true;
  return d;
}

std::vector<any_expr> expressions(ct::dynamic::graph const& g, std::vector<symbol> const& ids) {
  std::vector<any_expr> all;
  for (symbol const t : ids) all.push_back(access::expression(g, t));
  return all;
}

/// The gradients of `y` along `seeds`, or of a scalar, as symbols.
std::vector<symbol> differentiated(ct::dynamic::graph& g, drawn const& d, std::vector<symbol> const& y,
                                   std::vector<symbol> const& seeds, gradient_options const& options) {
  std::vector<symbol> dx;
  if (!d.symbols) {
    for (any_expr const& e : g.gradient(expressions(g, y), expressions(g, d.x), expressions(g, seeds), options)) dx.push_back(e.id());
    return dx;
  }
  auto const s = g.symbolic();
  auto const handles = [&](std::vector<symbol> const& ids) {
    std::vector<symbolic_tensor> all;
    for (symbol const t : ids) all.push_back(s.symbol_of(access::expression(g, t)));
    return all;
  };
  for (symbolic_tensor const& t : s.backward(handles(y), handles(d.x), handles(seeds), options).all()) dx.push_back(t.id);
  return dx;
}

std::vector<double> values(ct::dynamic::graph const& g, std::vector<symbol> const& wanted, std::vector<symbol> const& inputs) {
  auto p = g.compile(expressions(g, wanted));
  reference::dice dice(7);
  for (symbol const t : inputs) {
    std::int64_t n = 1;
    for (int k = 0; k < g.get().shapes[g.get().tensors[t].shape].rank; ++k) n *= g.get().shapes[g.get().tensors[t].shape].size[k];
    std::vector<double> at;
    for (std::int64_t k = 0; k < n; ++k) at.push_back(dice.between(-1, 1));
    p.bind(access::expression(g, t).as<double>(), std::move(at)); // a copy that the program keeps
  }
  p.run();
  std::vector<double> all;
  for (symbol const t : wanted)
    for (double const v : p.value(access::expression(g, t).as<double>())) all.push_back(v);
  return all;
}
bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// `twice`: also that both are differentiated again.
void check(drawn d, gradient_options const& options, bool twice = true) {
  std::vector<symbol> const first = {d.y[0]}, dx = differentiated(d.g, d, first, {}, options);
  std::vector<symbol> wanted = d.y;
  wanted.insert(wanted.end(), dx.begin(), dx.end());
  std::vector<ct::archive::named> results, found;
  for (symbol const t : wanted) results.push_back({"result " + std::to_string(results.size()), access::expression(d.g, t)});
  auto const bytes = ct::archive::bytes_of(d.g, {}, results);
  auto c = ct::archive::load_bytes(bytes);
  for (auto const& r : results) found.push_back({r.name, c.find(r.name)});
  CHECK(ct::archive::bytes_of(c.graph, {}, found) == bytes);
  std::vector<symbol> inputs = access::state(d.g).inputs;
  if (d.symbols) inputs = d.x;
  auto const before = values(d.g, wanted, inputs);
  CHECK(same_bits(values(c.graph, wanted, inputs), before));
  if (!twice) return;
  // along their gradients
  auto const again = differentiated(d.g, d, dx, dx, options), also = differentiated(c.graph, d, dx, dx, options);
  CHECK(same_bits(values(c.graph, also, inputs), values(d.g, again, inputs)));
}

/// The options of gradients.
gradient_options option(int k) {
  using ct::dynamic::checkpoints;
  switch (k) {
  case 0: return {};
  case 1: return {.tape = {.limit = 40000}};
  case 2: return {.tape = {.limit = 40000, .schedule = checkpoints::equally_spaced}};
  case 3: return {.tape = {.limit = 40000, .schedule = checkpoints::binomial}};
  case 4: return {.tape = {.limit = 40000, .in_place = false}};
  default:
    return {.sum = [](std::vector<any_expr> const& parts) { // the last ones first
      auto sum = parts.back().as<double>();
      for (std::size_t i = parts.size() - 1; i-- > 0;) sum = sum + parts[i].as<double>();
      return any_expr(sum);
    }};
  }
}
constexpr int options = 6;

} // namespace

TEST_CASE("random nests of loops and branches are saved under every option, from expressions and from "
          "symbols",
          "[archive]") {
  int const k = GENERATE(range(0, options));
  bool const symbols = GENERATE(false, true);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(k, symbols, seed);
    int const elements = 1 + static_cast<int>(seed % 2), depth = seed < 3 ? 1 : 2;
    bool const blocks = seed / 2 % 2 == 1;
    std::vector<double> const at(static_cast<std::size_t>(reference::nest_slots * elements), 0.5);
    reference::nest<reference::nest_in_graph> const n(seed + 40, depth, elements, ct::element::float64, at.data(), 0, {}, reference::all_codes, blocks ? 5 : 0);
    check(adopted(n.b, {n.x, n.x + reference::nest_slots}, symbols), option(k), depth == 1);
  }
}

TEST_CASE("random graphs of many operations are saved under every option, from expressions and from symbols",
          "[archive]") {
  int const k = GENERATE(range(0, options)), floor = GENERATE(0, 1, 2);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(k, floor, seed);
    builder b;
    reference::dice dice(seed + 11);
    reference::random_graph const made(b, dice, 40, true, true, seed % 2 == 1);
    check(floor == 2 ? replayed(b, {0, 1, 2, 3}) : adopted(b, {0, 1, 2, 3}, floor == 1), option(k));
  }
}

TEST_CASE("random graphs with views are saved under every option, from expressions and from symbols",
          "[archive]") {
  int const k = GENERATE(range(0, options));
  bool const symbols = GENERATE(false, true);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(k, symbols, seed);
    reference::dice dice(seed + 5);
    view_graph::twins t(dice, 30, false);
    auto const last = t.any();
    ct::term const all{&t.v, last.viewed};
    symbol const y = ct::extend::sum(all, ct::extend::all_axes(all)).id;
    t.finish({{y, last.plain}});
    std::vector<symbol> x;
    for (auto const& one : t.inputs) x.push_back(one.viewed);
    check(adopted(t.v, x, symbols), option(k));
  }
}

TEST_CASE("random graphs of symbols with aliases, loops, branches and noops are saved under every option",
          "[archive]") {
  int const k = GENERATE(range(0, options));
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(k, seed);
    check(by_symbols(seed), option(k));
  }
}
