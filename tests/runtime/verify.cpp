// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../verify_cases.hpp"
#include "../view_graph.hpp"

#include <string>

using namespace cotangent;

TEST_CASE("a valid graph passes verification") {
  graph const g = verify_cases::sound();
  CHECK(g.nodes.size() == verify_cases::node_total);
  CHECK(verify(g).text == nullptr);
  CHECK(bool(verify(g)));
  CHECK(verify(graph{}).text == nullptr);
  CHECK(verify(extend::builder{}.get()).text == nullptr);
}

TEST_CASE("each defect is reported in words") {
  for (verify_cases::damage const& d : verify_cases::damages) {
    graph g = verify_cases::sound();
    d.to(g);
    verification const v = verify(g);
    CHECK_FALSE(bool(v));
    CHECK(std::string(v.text == nullptr ? "nothing" : v.text) == d.text);
  }
}

TEST_CASE("a reported defect names its source location") {
  graph g = verify_cases::sound();
  verify_cases::attribute_of(g, verify_cases::sum_node) = 1;
  CHECK(verify(g).node == verify_cases::sum_node);
  CHECK(verify(g).tensor == verify_cases::operand_of(g, verify_cases::sum_node, 1));
  g = verify_cases::sound();
  g.tensors[1].shape = -1;
  CHECK(verify(g).tensor == 1);
  g = verify_cases::sound();
  g.regions[1].owner = extend::none;
  CHECK(verify(g).region == 1);
}

TEST_CASE("elements are assigned once, through whatever views") {
  using namespace view_graph;
  auto const text = [](auto make, verification* where = nullptr) {
    extend::builder b;
    extend::symbol const x = tensor(b, {6}), y = tensor(b, {2, 6});
    b.set_inputs(&x, 1);
    make(b, x, y);
    extend::symbol const out = b.push(info_of<op::exp>(), {y});
    b.set_outputs(&out, 1);
    verification const v = verify(b.get());
    if (where != nullptr) *where = v;
    return std::string(v.text == nullptr ? "" : v.text);
  };
  auto const copy = [](extend::builder& b, extend::symbol from, extend::symbol to) { write(b, info_of<op::identity>(), {from}, to); };
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) {
          copy(b, range(b, x, {0}, {3}), strided(b, y, 0, {2}, {3}));
          copy(b, range(b, x, {0}, {3}), strided(b, y, 1, {2}, {3}));
          copy(b, x, range(b, x, {0}, {0})); // of a view of nothing nothing is said but its shape
        }) == "a result has another shape than its operation gives it");
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) {
          copy(b, range(b, x, {0}, {3}), strided(b, y, 0, {2}, {3}));
          copy(b, range(b, x, {0}, {3}), strided(b, y, 1, {2}, {3}));
          copy(b, x, strided(b, y, 6, {1}, {6}));
        }).empty());
  verification where;
  CHECK(text(
            [&](extend::builder& b, extend::symbol x, extend::symbol y) {
              copy(b, range(b, x, {0}, {2}), strided(b, y, 7, {1}, {2}));
              copy(b, range(b, x, {0}, {3}), strided(b, y, 2, {3}, {3}));
            },
            &where) == "two nodes assign one element");
  CHECK(where.node + where.other == 1);
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) { copy(b, x, strided(b, y, 0, {0}, {6})); }) ==
        "a view that holds an element twice is written");
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) { // reads what comes later
          copy(b, strided(b, y, 1, {1}, {2}), strided(b, y, 4, {1}, {2}));
          copy(b, range(b, x, {0}, {1}), strided(b, y, 2, {1}, {1}));
        }) == "an operand is defined after its use");
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) { // reads what nobody writes: zeros
          copy(b, strided(b, y, 1, {1}, {1}), strided(b, y, 4, {1}, {1}));
          copy(b, range(b, x, {0}, {1}), strided(b, y, 2, {1}, {1}));
        })
            .empty());
  CHECK(text([&](extend::builder&, extend::symbol, extend::symbol) {}) == "an operand is defined by nothing");
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol) { // an input may be written, once
          copy(b, range(b, x, {0}, {1}), range(b, x, {1}, {1}));
        }) == "an operand is defined by nothing");
  CHECK(text([&](extend::builder& b, extend::symbol x, extend::symbol y) {
          copy(b, range(b, x, {0}, {1}), range(b, x, {1}, {1}));
          copy(b, x, strided(b, y, 0, {1}, {6}));
        }).empty());
}

TEST_CASE("shapes stay the same through thousands of nodes") {
  extend::builder b;
  detail::array<std::int32_t> first;
  for (int round = 0; round < 2; ++round)
    for (extend::dimension n = 0; n < 300; ++n)
      for (int rank = 1; rank < 4; ++rank) {
        extend::dimensions d{rank, {n, n, n}};
        std::int32_t const id = b.shape(d);
        if (round == 0) first.push(id);
        else REQUIRE(id == first[static_cast<int>(n) * 3 + rank - 1]);
      }
}
