// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_REGION_COPY_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_REGION_COPY_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/control.hpp>

#include <cstdint>

// Copies of sub-graphs, with all sub-graphs inside of them, for code that is rematerialized.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Copies sub-graphs of one builder. Copies never merge with their originals. A node without results has only an effect and is
/// not copied. `silent`: the originals run, too, so the copies print nothing.
class region_copier {
  builder& b_;
  region_nodes nodes_; // those before the first copy
  rewriter copy_;      // of the region that was copied last
  bool silent_;

public:
  constexpr explicit region_copier(builder& b, bool silent = false)
      : b_(b), nodes_(b.get()), copy_(b.edit()), silent_(silent) {}

  /// Where region `r`, inside the one in which nodes go now, stands a second time. It has the inputs of `r`, no outputs
  /// yet, and no owner.
  constexpr std::int32_t copy(std::int32_t r) {
    copy_.forget();
    return copied(r);
  }
  /// The copy of a symbol of the region that was copied last.
  constexpr symbol operator()(symbol old) { return copy_(old); }

  /// The same view of `base`.
  constexpr symbol view_again(symbol old, symbol base) { return copy_.declare(old, base, b_.region); }

  /// A node with all that stands inside, from these operands, with the flags of the builder. Its results.
  constexpr array<symbol> again(node n, array<symbol> const& x) {
    array<symbol> results;
    for (int k = 0; k < n.result_count; ++k) {
      symbol const old = id(n.first + n.operand_count + k);
      results.push(old == none ? none : b_.symbol_like(old));
    }
    if (n.op->kind == operation_kind::control) copy_.forget();
    n.flags = b_.flags;
    assign_again(n, x, results);
    return results;
  }

private:
  constexpr std::int32_t copied(std::int32_t r) {
    std::int32_t const outside = b_.region, made = b_.open_region();
    while (copy_.regions.size() <= r) copy_.regions.push(none);
    copy_.regions[r] = made;
    array<symbol> inputs;
    for (int k = 0; k < b_.get().regions[r].input_count; ++k)
      inputs.push((*this)(id(b_.get().regions[r].first_input + k)));
    b_.set_inputs(inputs.data(), inputs.size(), made);
    for (int p = 0; p < nodes_.count(r); ++p) node_again(nodes_.at(r, p));
    b_.region = outside;
    return made;
  }
  constexpr symbol id(int k) const { return b_.get().ids[k]; }

  /// A node like `n` with all that stands inside.
  constexpr void assign_again(node const& n, array<symbol> const& x, array<symbol> const& y) {
    array<std::int64_t> attributes;
    array<std::int32_t> inside;
    for (int k = 0; k < n.attribute_count; ++k) attributes.push(b_.get().numbers[n.attribute + k]);
    for (int k = first_region(n, attributes.data()); k < n.attribute_count; ++k) {
      std::int32_t const old = static_cast<std::int32_t>(attributes[k]);
      if (old == none) continue;
      std::int32_t const made = copied(old);
      array<symbol> outputs;
      for (int j = 0; j < b_.get().regions[old].output_count; ++j)
        outputs.push((*this)(id(b_.get().regions[old].first_output + j)));
      b_.set_outputs(outputs.data(), outputs.size(), made);
      attributes[k] = made;
      inside.push(made);
    }
    std::int32_t const at = b_.assign(n, x, y, attributes.data());
    for (std::int32_t const r : inside) b_.edit().regions[r].owner = at;
  }
  constexpr void node_again(std::int32_t i) {
    node n = b_.get().nodes[i];
    if (n.result_count == 0) return;
    n.flags.repeated = true;
    if (silent_ && n.op->prints) {
      n.op = info_of<op::identity>();
      n.attribute_count = 0;
    }
    array<symbol> x, y;
    for (int k = 0; k < n.operand_count; ++k) x.push((*this)(id(n.first + k)));
    for (int k = 0; k < n.result_count; ++k) y.push((*this)(id(n.first + n.operand_count + k)));
    assign_again(n, x, y);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
