// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../reference.hpp"
#include "../view_graph.hpp"

#include <cotangent/graph/order.hpp>

#include <chrono>
#include <vector>

using namespace cotangent;
using namespace view_graph;

namespace {

/// Few small tensors that are read and written through views in any order.
void tangle(extend::builder& b, reference::dice& d, int nodes) {
  extend::dimensions of;
  of.rank = 1 + d.below(2);
  for (int k = 0; k < of.rank; ++k) of.size[k] = 1 + d.below(6);
  extend::symbol roots[3]{};
  for (extend::symbol& r : roots) r = b.symbol_of(element::float64, b.shape(of));
  auto const any = [&] {
    std::int64_t start[2]{}, step[2]{};
    extend::dimensions s;
    s.rank = of.rank;
    for (int k = 0; k < s.rank; ++k) {
      start[k] = d.below(static_cast<int>(of.size[k]));
      step[k] = 1 + d.below(2);
      s.size[k] = 1 + d.below(static_cast<int>((of.size[k] - 1 - start[k]) / step[k] + 1));
    }
    return detail::range_view(b, roots[d.below(3)], start, step, s);
  };
  for (int i = 0; i < nodes; ++i) {
    extend::symbol const y = any(), x[2]{any(), any()};
    b.assign(info_of<op::concatenate>(), x, 1 + d.below(2), &y, 1, nullptr, 0);
  }
}

/// Pairs of nodes, one of which must run before the other.
using pairs = std::vector<std::vector<bool>>;
pairs all_pairs(extend::graph_view const& g) {
  pairs e(static_cast<unsigned>(g.node_count), std::vector<bool>(static_cast<unsigned>(g.node_count)));
  for (int i = 0; i < g.node_count; ++i)
    for (int j = 0; j < g.node_count; ++j)
      for (int k = 0; k < g.nodes[j].operand_count; ++k)
        if (detail::overlap(g, g.result(g.nodes[i]), g.operand(g.nodes[j], k))) e[unsigned(i)][unsigned(j)] = true;
  return e;
}
/// Always the first that is ready.
std::vector<int> plainly(pairs const& e) {
  std::vector<int> order;
  std::vector<bool> done(e.size());
  for (bool more = true; more;) {
    more = false;
    for (unsigned i = 0; i < e.size() && !more; ++i) {
      bool ready = !done[i];
      for (unsigned j = 0; j < e.size(); ++j) ready = ready && (!e[j][i] || done[j]);
      if (!ready) continue;
      done[i] = more = true;
      order.push_back(static_cast<int>(i));
    }
  }
  return order;
}
bool reaches_itself(pairs const& e, int node) {
  std::vector<bool> seen(e.size());
  std::vector<unsigned> left{unsigned(node)};
  while (!left.empty()) {
    unsigned const at = left.back();
    left.pop_back();
    for (unsigned j = 0; j < e.size(); ++j)
      if (e[at][j] && !seen[j]) {
        seen[j] = true;
        left.push_back(j);
      }
  }
  return seen[unsigned(node)];
}

} // namespace

TEST_CASE("a reader runs after every writer of its operands, in whatever order they are listed") {
  extend::builder b;
  extend::symbol const x = tensor(b, {4}), y = tensor(b, {4});
  b.set_inputs(&x, 1);
  extend::symbol const sum = b.push(info_of<op::exp>(), {y});                              // 0: reads all of y
  extend::symbol const first = b.push(info_of<op::exp>(), {range(b, y, {0}, {2})});        // 1: reads what 3 writes
  write(b, info_of<op::negate>(), {range(b, x, {2}, {2})}, range(b, y, {2}, {2})); // 2
  write(b, info_of<op::negate>(), {range(b, x, {0}, {2})}, range(b, y, {0}, {2})); // 3
  extend::symbol const out[2]{sum, first};
  b.set_outputs(out, 2);
  CHECK_FALSE(detail::in_order(b.get()));
  detail::ordering const o = detail::order_of(b.get());
  REQUIRE(bool(o));
  CHECK(std::vector<int>(o.nodes.begin(), o.nodes.end()) == std::vector<int>{2, 3, 0, 1});
  graph const g = reordered(b.get(), o);
  CHECK(detail::in_order(g));
  CHECK(extend::graph_view(g).producer(sum) == &g.nodes[2]);
  detail::dependency const late{1, 2}; // cannot be: 1 waits for 3 only
  CHECK(bool(order_of(b.get(), &late, 1)));
  detail::dependency const around[2]{{1, 2}, {2, 3}};
  detail::ordering const none_left = order_of(b.get(), around, 2);
  CHECK_FALSE(bool(none_left));
  CHECK(none_left.cycle >= 1);
  CHECK(none_left.cycle <= 3);
}

TEST_CASE("orders agree with those of a plain search") {
  reference::dice d(5);
  int fine = 0, cycles = 0;
  for (int round = 0; round < 3000; ++round) {
    extend::builder b;
    int const nodes = 1 + d.below(8);
    tangle(b, d, nodes);
    REQUIRE(b.failed().why == nullptr);
    extend::graph_view const g = b.get();
    pairs e = all_pairs(g);
    pairs told(e.size(), std::vector<bool>(e.size()));
    for (detail::dependency const& p : detail::edges_of(g)) told[unsigned(p.before)][unsigned(p.after)] = true;
    CHECK(told == e);
    bool stands = true;
    for (unsigned i = 0; i < e.size(); ++i)
      for (unsigned j = 0; j <= i; ++j) stands = stands && !e[i][j];
    CHECK(detail::in_order(g) == stands);
    detail::dependency extra[3]{};
    int const count = d.below(3);
    for (int k = 0; k < count; ++k) {
      extra[k] = {d.below(nodes), d.below(nodes)};
      e[unsigned(extra[k].before)][unsigned(extra[k].after)] = true;
    }
    std::vector<int> const wanted = plainly(e);
    detail::ordering const o = order_of(g, extra, count);
    CHECK(bool(o) == (wanted.size() == e.size()));
    if (o) {
      ++fine;
      CHECK(std::vector<int>(o.nodes.begin(), o.nodes.end()) == wanted);
      CHECK(detail::in_order(reordered(g, o)));
    } else {
      ++cycles;
      CHECK(reaches_itself(e, o.cycle));
    }
  }
  CHECK(fine > 100);
  CHECK(cycles > 100);
}

TEST_CASE("a hundred thousand views are ordered at once") {
  auto const seconds = [](auto make) {
    extend::builder b;
    make(b);
    auto const start = std::chrono::steady_clock::now();
    CHECK(bool(detail::order_of(b.get())));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  constexpr int n = 100000;
  // each element from the next one, last first
  CHECK(seconds([](extend::builder& b) {
          extend::symbol const x = tensor(b, {n + 1});
          for (int i = 0; i < n; ++i)
            write(b, info_of<op::exp>(), {range(b, x, {i + 1}, {1})}, range(b, x, {i}, {1}));
        }) < 5);
  // rows are written, columns are read
  CHECK(seconds([](extend::builder& b) {
          extend::symbol const x = tensor(b, {300, 300}), y = tensor(b, {300, 300});
          for (int i = 0; i < n; ++i) (void)b.push(info_of<op::exp>(), {range(b, y, {0, i % 300}, {300, 1})});
          for (int i = 0; i < 300; ++i)
            write(b, info_of<op::exp>(), {range(b, x, {i, 0}, {1, 300})}, range(b, y, {i, 0}, {1, 300}));
        }) < 5);
}
