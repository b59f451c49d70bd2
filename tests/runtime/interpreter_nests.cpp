// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "executor_graph.hpp"
#include "plan_machine.hpp"

#include <cotangent/run/interpreter/interpreter.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// Run-time graphs that run from the plan of static programs: every bit is that of the machine which takes the plan at its word.

using namespace cotangent;
using namespace reference;

namespace {

constexpr extend::dimension axes[][4]{{3, 4, 2, 1},   {16, 8, 1, 3},  {37, 70, 1, 2}, {64, 10, 1, 2}, {5, 700, 1, 1}, {2, 1500, 1, 3},
                              {130, 3, 2, 1}, {9, 33, 5, 1},  {1, 1100, 2, 1}, {300, 1, 7, 2}, {40, 17, 4, 1}, {6, 1, 4, 1},
                              {21, 32, 1, 2}, {7, 128, 3, 1}, {19, 256, 1, 1},
                              {6, 512, 1, 1}, {3, 2048, 1, 1}}; // (whole blocks of the kernels, tiles of whole long rows; parts of a row)
constexpr int kinds_of_axes = static_cast<int>(sizeof axes / sizeof axes[0]);

graph random_graph_of(int seed, bool nested = false) {
  dice d(static_cast<std::uint64_t>(seed) + 4000);
  graph_options o;
  o.nested = nested;
  o.nodes = (nested ? 6 : 8) + d.below(nested ? 14 : 30);
  o.gradients = d.below(2) == 0;
  o.mixed = d.below(3) != 0;
  for (int k = 0; k < 4; ++k) o.sizes[k] = axes[seed % kinds_of_axes][k];
  extend::builder b;
  planned_graph const made(b, d, o);
  REQUIRE(b.failed().why == nullptr);
  return detail::simplify(b.get());
}

/// Memory of exactly as many bytes as a tensor has, so that a sanitizer finds each access beyond its end.
struct elements {
  element type;
  std::int64_t count;
  std::unique_ptr<char[]> bytes;

  elements(extend::graph_view const& g, extend::symbol t)
      : type(g.tensors[t].type), count(reference::count(g.shape(t))), bytes(new char[size()]) {
    std::memset(bytes.get(), 0x7f, size());
  }
  std::size_t size() const { return static_cast<std::size_t>(count) * size_of(type); }
  void set(values const& v) {
    for (int i = 0; i < v.size(); ++i) cotangent::detail::interpret::write(type, bytes.get(), i, v[i]);
  }
  extend::scalar get(int i) const { return cotangent::detail::interpret::read(type, bytes.get(), i); }
};

bool same(extend::scalar const& a, extend::scalar const& b, bool bits) {
  if (a.type != b.type) return false;
  if (!is_floating(a.type)) return a.integer == b.integer;
  double const near = bits ? 0 : a.type == element::float32 ? 3e-5 : 1e-11;
  return a.real == b.real || (math::is_nan(a.real) && math::is_nan(b.real)) || std::fabs(a.real - b.real) <= near * (1 + std::fabs(b.real));
}
/// True if all sums are those of loops: the order of those in kernels is not in the plan.
bool has_loops_only(extend::graph_view const& g, detail::plan const& p) {
  for (detail::nest const& n : p.nests) {
    if (n.kind != detail::nest_kind::kernel) continue;
    operation_kind const k = g.nodes[n.node].op->kind;
    if (k == operation_kind::reduction || k == operation_kind::matmul || k == operation_kind::scatter_add || k == operation_kind::whole) return false;
  }
  return true;
}

struct program {
  interpreter p;
  std::unique_ptr<char[]> memory;
  char* workspace;

  program(extend::graph_view const& g, interpreter_memory const& how)
      : p(g, nullptr, {}, how), memory(new char[static_cast<std::size_t>(p.workspace_bytes()) + 64]) {
    std::size_t const at = reinterpret_cast<std::uintptr_t>(memory.get()) % 64;
    workspace = memory.get() + (64 - at) % 64;
    std::memset(workspace, 0xff, static_cast<std::size_t>(p.workspace_bytes()));
  }
  bool planned() const { return p.codes()[0].planned; }
};

void check(detail::array<values> const& wanted, std::vector<elements> const& found, bool bits) {
  for (int k = 0; k < wanted.size(); ++k)
    for (int i = 0; i < wanted[k].size(); ++i) {
      extend::scalar const is = found[static_cast<std::size_t>(k)].get(i);
      if (same(is, wanted[k][i], bits && !math::is_fast)) continue; // (compilers reassociate with -ffast-math)
      CAPTURE(k, i, is.real, is.integer, wanted[k][i].real, wanted[k][i].integer);
      FAIL("other bits than those of the plan");
    }
}

enum class outcome { unplanned, near, bits };

/// Runs a graph from its plan, where possible.
outcome follow(graph const& made, int seed, interpreter_memory const& how) {
  extend::graph_view const g = made;
  program q(g, how);
  REQUIRE(q.p.failed().why == nullptr);
  if (!q.planned()) return outcome::unplanned;
  dice d(static_cast<std::uint64_t>(seed) + 1);
  detail::array<values> const in = inputs_of(g, d, -2, 3);
  detail::plan const p = detail::make_plan(g, static_cast<int>(simd::bytes));
  plan_machine const machine(g, p, nullptr, in);
  bool const bits = has_loops_only(g, p);
  REQUIRE(machine.error == "");
  std::vector<elements> from, to;
  std::vector<void const*> inputs;
  std::vector<void*> outputs;
  for (int k = 0; k < g.input_count(); ++k) from.emplace_back(g, g.input(k)), from.back().set(in[k]), inputs.push_back(from.back().bytes.get());
  for (int k = 0; k < g.output_count(); ++k) to.emplace_back(g, g.output(k)), outputs.push_back(to.back().bytes.get());
  program const by_steps(g, {});
  status const found = by_steps.p.run(inputs.data(), outputs.data(), by_steps.workspace); // indices may be out of range
  for (int times = 0; times < 2; ++times) {
    REQUIRE(q.p.run(inputs.data(), outputs.data(), q.workspace) == found);
    check(machine.outputs, to, bits);
  }
  for (int x = 0; x < g.input_count(); ++x) // results in the place of arguments
    for (int y = 0; y < g.output_count(); ++y) {
      elements& argument = from[static_cast<std::size_t>(x)];
      if (argument.size() != to[static_cast<std::size_t>(y)].size() || (how.results_apart && !q.p.may_replace(y, x))) continue;
      CAPTURE(x, y);
      for (int k = 0; k < g.input_count(); ++k) from[static_cast<std::size_t>(k)].set(in[k]);
      outputs[static_cast<std::size_t>(y)] = argument.bytes.get();
      REQUIRE(q.p.run(inputs.data(), outputs.data(), q.workspace) == found);
      outputs[static_cast<std::size_t>(y)] = to[static_cast<std::size_t>(y)].bytes.get();
      std::memcpy(outputs[static_cast<std::size_t>(y)], argument.bytes.get(), argument.size());
      check(machine.outputs, to, bits);
      argument.set(in[x]);
    }
  return bits ? outcome::bits : outcome::near;
}

/// How many random graphs run from their plan in which way.
std::array<int, 3> outcomes(bool nested) {
  std::array<int, 3> of{};
  for (int seed = 1; seed <= 700; ++seed) {
    CAPTURE(seed);
    interpreter_memory how;
    how.from_plan = true;
    how.results_apart = seed % 3 == 0;
    if (seed % 5 == 0) how.tile_bytes = 1; // the shortest tiles
    ++of[static_cast<std::size_t>(follow(random_graph_of(seed, nested), seed, how))];
  }
  return of;
}

} // namespace

TEST_CASE("Run-time graphs that run from the plan of static programs have the bits of the plan") {
  auto const [unplanned, near, bits] = outcomes(false);
  CAPTURE(unplanned);
  CHECK(near > 60);
  CHECK(bits > 300);
}

TEST_CASE("Run-time graphs of values over the first axes of one shape have the bits of the plan") {
  auto const [unplanned, near, bits] = outcomes(true);
  CAPTURE(unplanned, near);
  CHECK(bits > 200);
}
