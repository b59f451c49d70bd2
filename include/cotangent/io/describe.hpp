// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DESCRIBE_HPP
#define COTANGENT_IO_DESCRIBE_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/message.hpp>
#include <cotangent/io/with_commas.hpp>
#include <cotangent/plan/layout.hpp>
#include <cotangent/plan/regions.hpp>
#include <cotangent/plan/straight/straighten.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cotangent {
namespace detail {

class plan_writer {
public:
  plan_writer(graph_view const& graph, plan const& of_graph) : g(graph), p(of_graph) {}

  std::string nests() const {
    std::string text;
    for (int k = 0; k < p.nests.size(); ++k) {
      std::string const number = std::to_string(k + 1);
      text.append(number.size() < 4 ? 4 - number.size() : 0, ' ').append(number).append("  ");
      text.append(nest_text(k)).append(1, '\n');
    }
    return text;
  }
  std::string counts() const {
    int loops = 0, stages = 0;
    for (int k = 0; k < p.nests.size(); ++k)
      if (p.nests[k].kind == nest_kind::loops) ++loops, stages += p.nests[k].stages;
    std::string text = counted(loops, "loop nest").append(" of ").append(counted(stages, "stage"));
    int const kernels = p.nests.size() - loops;
    return kernels > 0 ? text.append(", ").append(counted(kernels, "kernel")) : text;
  }
  // (`"x" + std::to_string(n)` makes g++ 12 warn of an overlapping copy that does not exist.)
  static std::string counted(int n, char const* what) {
    return with_commas(n).append(1, ' ').append(what).append(n == 1 ? "" : "s");
  }
  /// The iteration space of nest k, and its operations.
  std::string nest_text(int k) const {
    nest const& n = p.nests[k];
    return n.kind == nest_kind::kernel ? kernel(n) : loop(n);
  }

private:
  graph_view g;
  plan const& p;

  std::string size(dimension d) const {
    if (d < -g.extent_count) return "(computed)";
    return message().put(g.extent_of(d)).text();
  }
  std::string shape_of(symbol t) const {
    shape s;
    for (int k = 0; k < g.shape(t).rank; ++k) s.push(g.extent_of(g.shape(t).size[k]));
    return message().put(s).text();
  }

  std::string kernel(nest const& n) const {
    node const& of = g.nodes[n.node];
    bool const product = of.op->kind == operation_kind::matmul;
    std::string text = of.op->name;
    for (int k = 0; k < of.operand_count; ++k)
      if (g.operand(of, k) != none) {
        text.append(k == 0 ? " of " : product ? " x " : ", ").append(shape_of(g.operand(of, k)));
        if (product && g.attribute(of, k) != 0) text += " transposed";
      }
    return text.append(" -> ").append(shape_of(g.result(of)));
  }

  std::string loop(nest const& n) const {
    std::string text;
    for (int k = 0; k < n.rank; ++k) {
      if (k > 0) text += " x ";
      text += size(n.size[k]);
      if (k < n.split) text += n.rows_in_lanes ? " in lanes" : "";
      else if (!n.rows_in_lanes) text += " in lanes";
    }
    if (n.rank == 0) text += "numbers";
    for (int s = 0; s < n.stages; ++s) text.append(s == 0 ? ": " : " | ").append(stage(n, s));
    return text;
  }
  std::string stage(nest const& n, int s) const {
    std::string text;
    int same = 1;
    operation const* before = nullptr;
    auto const end = [&] {
      if (before == nullptr) return;
      text.append(text.empty() ? "" : " ").append(before->name);
      if (same > 1) text.append(" x").append(std::to_string(same));
    };
    for (int i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = p.instances[i];
      bool const computes =
          v.what == action::compute || v.what == action::reduce || v.what == action::accumulate;
      if (!computes || v.op == nullptr || v.stage != s) continue;
      if (v.op == before) ++same;
      else {
        end();
        before = v.op;
        same = 1;
      }
    }
    end();
    return text.empty() ? "copy" : text;
  }
};

/// Calls `visit(view, plan, straight)` for region `r`, planned as a separate graph: 0 has the nodes outside of bodies. With
/// `straight_code`, a small one has no plan.
template <class Visit>
void with_planned_region(graph_view const& g, std::int32_t r, int vector_bytes, bool straight_code, Visit visit) {
  graph own;
  if (has_control(g)) own = region_graph(g, r, sequence_solver(g).sizes());
  graph_view const view = has_control(g) ? graph_view(own) : g;
  bool const straight = straight_code && runs_straight(view, vector_bytes);
  visit(view, straight ? plan() : make_plan(view, vector_bytes), straight);
}

/// The number of steps of each kind in straight-line code.
inline std::string describe_steps(straight_program const& p) {
  int loads = 0, vectors = 0, numbers = 0, shuffles = 0, stores = 0;
  for (straight_step const& s : p.steps) switch (s.what) {
    case straight_action::constant: break;
    case straight_action::load: ++loads; break;
    case straight_action::build:
    case straight_action::shuffle: ++shuffles; break;
    case straight_action::store: ++stores; break;
    default: ++(s.lanes > 1 || s.what == straight_action::fold ? vectors : numbers);
    }
  return plan_writer::counted(loads, "load")
      .append(", ")
      .append(plan_writer::counted(vectors, "operation"))
      .append(" on vectors and ")
      .append(std::to_string(numbers))
      .append(" on numbers, ")
      .append(plan_writer::counted(shuffles, "shuffle"))
      .append(", ")
      .append(plan_writer::counted(stores, "store"));
}

/// The code of a region in words, and its nests, if it has any.
struct region_text {
  std::string code, nests;
};
inline std::vector<region_text> describe_regions(graph_view const& g, int vector_bytes, bool straight_code) {
  std::vector<region_text> all;
  auto const describe_region = [&](graph_view const& v, plan const& p, bool straight) {
    plan_writer const w(v, p);
    if (straight) all.push_back({"straight-line code: " + describe_steps(straighten(v, vector_bytes)), {}});
    else all.push_back({"loops: " + w.counts(), w.nests()});
  };
  for (std::int32_t r = 0; r < g.region_count; ++r) with_planned_region(g, r, vector_bytes, straight_code, describe_region);
  return all;
}
/// The nests outside of bodies, then the code of bodies.
inline std::string text_of(graph_view const& g, std::vector<region_text> const& all) {
  std::string text = all[0].nests;
  for (std::size_t r = 1; r < all.size(); ++r)
    text.append("region ").append(std::to_string(r)).append(" of ").append(g.nodes[g.regions[r].owner].op->name)
        .append(", ").append(all[r].code).append(1, '\n').append(all[r].nests);
  return text;
}

} // namespace detail

inline namespace COTANGENT_ABI {

/// Describes the loop nests of a graph for registers of that size: for each nest the sizes it iterates over,
/// which of them is in SIMD lanes, and the operations of its stages; a reduction ends a stage.
inline std::string describe(extend::graph_view const& g, int vector_bytes = COTANGENT_ABI_BYTES) {
  return detail::text_of(g, detail::describe_regions(g, vector_bytes, false));
}

/// Describes how a program was compiled, in words: `std::cout << ct::describe<P>();`
///
/// Checked: tests/runtime/io.cpp
template <class P> std::string describe() {
  using detail::plan_writer;
  extend::graph_view const g = P::graph;
  auto const number = [](auto n) { return detail::with_commas(static_cast<std::int64_t>(n)); };
  std::string text = plan_writer::counted(g.input_count(), "input")
                         .append(", ")
                         .append(plan_writer::counted(g.output_count(), "output"));
  text.append("\nnodes: ");
  if constexpr (requires { P::traced_nodes; })
    text.append(number(P::traced_nodes))
        .append(" traced, ")
        .append(number(P::differentiated_nodes))
        .append(" with gradients, ");
  text.append(number(g.node_count)).append(" simplified\n");
  auto const regions = detail::describe_regions(g, COTANGENT_ABI_BYTES, true);
  text.append(regions[0].code);
  text.append("\nworkspace: ");
  if constexpr (P::grows) text.append("grows with the iterations of loops");
  else if constexpr (requires { P::workspace_bytes; }) text.append(number(P::workspace_bytes)).append(" bytes");
  else text.append("depends on the sizes of a call");
  text.append("\nwork: ").append(number(P::flops)).append(" additions or equivalent");
  if (g.extent_count > 0) text.append(", were named sizes 1");
  return text.append(1, '\n').append(detail::text_of(g, regions));
}

} // namespace COTANGENT_ABI
} // namespace cotangent

COTANGENT_HEADER_END

#endif
