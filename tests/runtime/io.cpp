// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <sstream>
#include <string>

namespace ct = cotangent;

namespace {

constexpr auto loss = [](auto w, auto x, auto labels) {
  return ct::mean(ct::cross_entropy(ct::matmul(x, w), labels));
};
using step = ct::program<decltype(ct::value_and_grad(loss)), ct::tensor<float, 4, 3>, ct::tensor<float, 5, 4>,
                         ct::tensor<std::int32_t, 5>>;

using large_step = ct::program<decltype(ct::value_and_grad(loss)), ct::tensor<float, 40, 3>, ct::tensor<float, 50, 40>,
                               ct::tensor<std::int32_t, 50>>;

constexpr auto scaled = [](auto x, auto y) { return 2 - ct::exp(x) / y; };
using scale = ct::program<decltype(ct::compiled(scaled)), ct::tensor<double, "n">, ct::tensor<double, "n">>;

template <class P> std::string picture(ct::dot_options const& options = {}) {
  std::ostringstream out;
  ct::dot(out, P::graph, options);
  return out.str();
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

int count(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// So many lines of the picture begin like this.
int nodes_of(std::string const& text, std::string const& kind) {
  int n = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    n += line.rfind("  " + kind, 0) == 0 && line.find(" -> ") == std::string::npos &&
         line.find("label=") != std::string::npos;
  return n;
}

} // namespace

TEST_CASE("dot: every argument, every result and every non-constant operation is a node of the drawing") {
  std::string const text = picture<step>();
  int operations = 0;
  for (int i = 0; i < step::graph.node_count; ++i)
    operations += step::graph.nodes[i].op->kind != ct::operation_kind::constant;
  CHECK(nodes_of(text, "n") == operations);
  CHECK(nodes_of(text, "t") == 3);
  CHECK(nodes_of(text, "o") == 2);
  CHECK(count(text, "{") == count(text, "}"));
  CHECK(has(text, "matmul\\n[5, 3]"));
  CHECK(has(text, "matmul (left transposed)\\n[4, 3]"));
}

TEST_CASE("dot: nodes that only gradients need have another color") {
  std::string const text = picture<step>();
  auto const line_with = [&](std::string const& part) {
    auto const at = text.find(part);
    return at == std::string::npos ? std::string()
                                   : text.substr(text.rfind('\n', at), at - text.rfind('\n', at));
  };
  CHECK(line_with("label=\"matmul\\n[5, 3]").find("#cfe2f3") != std::string::npos);
  CHECK(line_with("label=\"matmul (left transposed)").find("#fce0c2") != std::string::npos);
  CHECK(count(picture<step>({nullptr, nullptr, 2}), "#fce0c2") ==
        1); // the legend: both outputs were said to be values
}

TEST_CASE("dot: given names are quoted") {
  char const* const in[]{"the \"weights\"", "x", "labels"};
  char const* const out[]{"loss", "d w"};
  std::string const text = picture<step>({in, out});
  CHECK(has(text, "the \\\"weights\\\""));
  CHECK(has(text, "label=\"d w\\n[4, 3]\""));
}

TEST_CASE("dot: named extents, constants inside operations, and the order of operands are shown") {
  std::string const text = picture<scale>();
  CHECK(has(text, "(2, &#183;"));
  CHECK(has(text, "exp\\ndouble [n]"));
  CHECK(has(text, "headlabel=\"2\""));
}

TEST_CASE("describe: nodes before and after, loops, workspace and work") {
  std::string const text = ct::describe<large_step>();
  CHECK(text.find("3 inputs, 2 outputs\n") == 0);
  CHECK(has(text, "nodes: " + std::to_string(large_step::traced_nodes) + " traced, "));
  CHECK(has(text, "workspace: "));
  CHECK(has(text, "matmul of [50, 40] x [40, 3] -> [50, 3]\n"));
  CHECK(has(text, "matmul of [50, 40] transposed x [50, 3] -> [40, 3]\n"));
  CHECK(has(text, "exp sum"));
}

TEST_CASE("describe: a small program is a list of steps") {
  using small = ct::program<decltype(ct::compiled([](auto x) { return ct::sum(x * x); })), ct::tensor<double, 2>>;
  std::string const text = ct::describe<small>();
  CHECK(has(text, "straight-line code: 1 load, 2 operations on vectors and 0 on numbers, 0 shuffles, 1 store\nworkspace: 0 bytes"));
}

TEST_CASE("describe: sizes known at the call only are shown as names") {
  std::string const text = ct::describe<scale>();
  CHECK((has(text, "workspace: depends on the sizes of a call\n") || has(text, "workspace: 0 bytes\n")));
  CHECK(has(text, "n in lanes: exp"));
}

TEST_CASE("describe: a graph alone is described by its loops") {
  CHECK(ct::describe(scale::graph) ==
        ct::describe<scale>().substr(ct::describe<scale>().find("\n   1  ") + 1));
}

TEST_CASE("describe: bodies of loops are described after the nodes outside of them") {
  // The body reads a matrix that a kernel makes: the nodes of a body are no part of the plan around it.
  constexpr auto f = [](auto w, auto z) {
    auto const captured = ct::diag(0 * w + 1);
    return ct::sum(ct::for_loop(3, [&](auto, auto p) { return ct::matmul(p, p) + captured; }, z));
  };
  using looping = ct::program<decltype(ct::compiled(f)), ct::tensor<double, 2>, ct::tensor<double, 2, 2>>;
  std::string const text = ct::describe<looping>();
  CHECK(has(text, "pad of [2] -> [4]\n"));
  CHECK(has(text, "\nregion 1 of loop, straight-line code: "));
  CHECK(!has(text, "matmul"));
  CHECK(has(ct::describe(looping::graph), "\nregion 1 of loop, loops: "));
}

TEST_CASE("describe: the body of a loop over named rows is straight-line code") {
  constexpr auto f = [](auto s0, auto z) {
    auto [last, rows] = ct::scan([](auto s, auto r) { return std::pair(0.9 * s + ct::outer(r, r), ct::sum(s)); }, s0, z);
    return ct::sum(last) + ct::sum(rows);
  };
  using of_numbers = ct::program<decltype(ct::value_and_grad(f)), ct::tensor<double, 2, 2>, ct::tensor<double, 9, 2>>;
  using of_names = ct::program<decltype(ct::value_and_grad(f)), ct::tensor<double, 2, 2>, ct::tensor<double, "t", 2>>;
  CHECK(count(ct::describe<of_numbers>(), " of loop, straight-line code: ") == 2); // forward and backward
  CHECK(count(ct::describe<of_names>(), " of loop, straight-line code: ") == 2);
}
