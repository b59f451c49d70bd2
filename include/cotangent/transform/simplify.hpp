// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_HPP

#include <cotangent/transform/simplify_compact.hpp>
#include <cotangent/transform/simplify_sums.hpp>

#include <cstdint>

namespace cotangent {

struct simplify_options {
  bool rewrite = true;                    // false: only what leaves every bit as it is
  bool fuse_multiply_add = math::has_fma; // whether the target has it: decided here, before a pass duplicates a node
};

namespace detail {

class simplifier : public sum_rules {
  graph_view g_;
  simplify_options o_;
  readers readers_;
  std::int32_t const* read_;
  array<symbol> now_;          // by old symbol: the new one + 1, 0 where there is none yet
  array<std::int32_t> shapes_; // by old shape

public:
  constexpr simplifier(graph_view const& g, simplify_options const& o)
      : sum_rules(g.tensor_count + g.tensor_count / 2 + 64), g_(g), o_(o), readers_(g), read_(readers_.by_symbol()),
        now_(g.tensor_count), shapes_(g.shape_count) {
    graph& to = b.edit();
    for (std::int32_t k = 0; k < g.extent_count; ++k) to.extents.push(g.extents[k]);
    for (std::int32_t k = 0; k < g.name_count; ++k) to.names.push(g.names[k]);
    for (std::int32_t k = 0; k < g.shape_count; ++k) shapes_[k] = b.shape(g.shapes[k]);
    to.tensors.reserve(g.tensor_count);
    to.nodes.reserve(g.node_count);
    to.ids.reserve(g.id_count);
    to.regions.clear();
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      to.regions.push(g.regions[r]);
      to.regions[r].first_input = to.ids.size();
      for (int k = 0; k < g.input_count(r); ++k) to.ids.push(now(g.input(k, r)));
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) visit(i);
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      for (int k = 0; k < g.output_count(r); ++k) (void)now(g.output(k, r));
      to.regions[r].first_output = to.ids.size();
      for (int k = 0; k < g.output_count(r); ++k) to.ids.push(now(g.output(k, r)));
    }
  }

private:
  constexpr symbol now(symbol old) {
    if (old == none || now_[old] != 0) return old == none ? none : now_[old] - 1;
    tensor_symbol t = g_.tensors[old];
    t.shape = shapes_[t.shape];
    t.producer = none;
    if (t.base != none) {
      t.base = now(t.base);
      t.window = b.get().numbers.size();
      int const n = 1 + g_.shape(old).rank;
      for (int k = 0; k < n; ++k) b.edit().numbers.push(g_.numbers[g_.tensors[old].window + k]);
    }
    stands(old, b.edit().tensors.push(t));
    return now_[old] - 1;
  }
  constexpr void stands(symbol old, symbol s) {
    now_.data()[old] = s + 1;
    origin_of(s).readers += read_[old];
    std::int32_t const name = g_.tensors[old].name;
    if (name != none && b.get().tensors[s].name == none) b.edit().tensors[s].name = name;
  }

  constexpr void visit(std::int32_t i) {
    node const& n = g_.nodes[i];
    std::int32_t const* const ids = g_.ids + n.first;
    symbol const old = ids[n.operand_count];
    bool const copied = n.result_count != 1 || readers_.views || n.op->kind == operation_kind::control;
    if (!copied && read_[old] == 0) return;
    b.place = n.where;
    b.region = n.region;
    symbol few[4]{};
    array<symbol> many(n.operand_count <= 4 ? 0 : n.operand_count);
    symbol* const x = n.operand_count <= 4 ? few : many.data();
    symbol const* const known = now_.data();
    for (int k = 0; k < n.operand_count; ++k) {
      x[k] = ids[k] == none ? none : known[ids[k]] - 1;
      if (x[k] == none) x[k] = now(ids[k]);
    }
    std::int64_t const* const attributes = g_.numbers + n.attribute;
    if (copied) {
      array<symbol> results(n.result_count);
      for (int k = 0; k < n.result_count; ++k) results[k] = now(ids[n.operand_count + k]);
      std::int32_t const at = b.assign(n.op, x, n.operand_count, results.data(), n.result_count, attributes,
                                       n.attribute_count, n.where);
      b.edit().nodes[at].merges = n.merges;
      for (std::int32_t r = 1; r < g_.region_count; ++r)
        if (g_.regions[r].owner == i) b.edit().regions[r].owner = at;
      return;
    }
    element const type = g_.tensors[old].type;
    std::int32_t const shape = shapes_[g_.tensors[old].shape];
    if (n.merges && n.region == 0 && n.op->kind == operation_kind::identity)
      stands(old, x[0]);
    else if (!n.merges || n.region != 0 || !o_.rewrite)
      stands(old, b.push(n.op, x, n.operand_count, attributes, n.attribute_count, type, shape, n.where, n.merges));
    else
      stands(old, rewritten(n, x, attributes, type, shape));
  }

  constexpr symbol rewritten(node const& n, symbol const* x, std::int64_t const* attributes, element type,
                             std::int32_t shape) {
    switch (n.op->kind) {
    case operation_kind::elementwise:
      return elementwise(n.op, x, n.operand_count, attributes, n.attribute_count, type, shape);
    case operation_kind::reduction:
      return n.op == the<op::sum> ? sum(x[0], static_cast<std::uint32_t>(attributes[0]))
                                  : reduction(n.op, x[0], static_cast<std::uint32_t>(attributes[0]), shape);
    case operation_kind::broadcast: return broadcast(x[0], attributes, shape);
    case operation_kind::reshape: return reshape(x[0], shape);
    case operation_kind::permute: return permute(x[0], attributes);
    case operation_kind::slice:
    case operation_kind::pad: return window(n.op, x[0], attributes, shape);
    case operation_kind::matmul: return matmul(x, attributes, shape);
    case operation_kind::concatenate:
      if (n.operand_count == 1) return x[0];
      break;
    default: break;
    }
    return make(n.op, x, n.operand_count, attributes, n.attribute_count, type, shape);
  }
};

} // namespace detail

/// The same function with less to do: dead nodes go, equal ones merge, borders for gradients vanish, and the rewrites
/// listed with their error bounds in docs/explanation/rewrites.md are applied. Inputs and outputs keep their number and
/// order; two outputs may become one symbol. Runs after differentiation.
///
/// Cost: linear.
/// Checked: tests/static/simplify.cpp, tests/runtime/simplify.cpp.
constexpr graph simplify(graph_view const& g, simplify_options const& o = {}) {
  detail::simplifier const rebuilt(g, o);
  return detail::compaction(rebuilt.b.get(), o.rewrite && o.fuse_multiply_add).take();
}

} // namespace cotangent

#endif
