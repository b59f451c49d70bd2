// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../verify_cases.hpp"

#include <string>

using namespace cotangent;

TEST_CASE("a sound graph is found sound") {
  graph const g = verify_cases::sound();
  CHECK(g.nodes.size() == verify_cases::node_total);
  CHECK(verify(g).text == nullptr);
  CHECK(bool(verify(g)));
  CHECK(verify(graph{}).text == nullptr);
  CHECK(verify(builder{}.get()).text == nullptr);
}

TEST_CASE("each damage is said in words") {
  for (verify_cases::damage const& d : verify_cases::damages) {
    graph g = verify_cases::sound();
    d.to(g);
    verification const v = verify(g);
    CHECK_FALSE(bool(v));
    CHECK(std::string(v.text == nullptr ? "nothing" : v.text) == d.text);
  }
}

TEST_CASE("what is found says where") {
  graph g = verify_cases::sound();
  verify_cases::attribute_of(g, verify_cases::sum_node) = 1;
  CHECK(verify(g).node == verify_cases::sum_node);
  CHECK(verify(g).tensor == verify_cases::operand_of(g, verify_cases::sum_node, 1));
  g = verify_cases::sound();
  g.tensors[1].shape = -1;
  CHECK(verify(g).tensor == 1);
  g = verify_cases::sound();
  g.regions[1].owner = none;
  CHECK(verify(g).region == 1);
}
