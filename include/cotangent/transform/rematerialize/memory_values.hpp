// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_VALUES_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_VALUES_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/transform/rematerialize/memory_nodes.hpp>
#include <cotangent/transform/rematerialize/memory_problem.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The model of operations' costs, in seconds. Only ratios matter.
struct cost_model {
  double addition = 1e-10;  // of one element
  double product = 2.5e-11; // an addition or a multiplication inside a matrix product or a convolution
  double byte = 2.5e-11;    // read or written
};

/// The nodes of a graph as values of a memory problem. Elementwise nodes that are fused with their reader are
/// one value with it; free nodes (constants, views) are no values.
class memory_values {
  graph_view g_;
  array<std::int32_t> readers_; // by symbol: the number of live readers
  array<std::int32_t> reader_;  // by symbol: the last of them
  array<std::int32_t> stage_;   // by node
  array<char> needed_;          // by symbol
  array<symbol> waits_for_;     // by node: the one tensor that it is computed from, or none
  array<std::int32_t> value_of_; // by node: none for dead nodes and those that are no value

public:
  memory_nodes groups;
  memory_problem problem;

  /// `again(node)`: true if it may be recomputed.
  template <class Again>
  constexpr memory_values(graph_view const& g, Again again, cost_model const& model = {})
      : g_(g), readers_(g.tensor_count), reader_(g.tensor_count, none), stage_(g.node_count),
        needed_(g.tensor_count), value_of_(g.node_count, none), groups(g) {
    mark_needed();
    find_groups();
    describe(again, model);
  }

  constexpr std::int64_t bytes_of(symbol t) const {
    if (g_.tensors[t].depth > 0) return 0; // on the tape
    auto n = static_cast<std::int64_t>(size_of(g_.tensors[t].type));
    dimensions const& d = g_.shape(t);
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] >= 0 && __builtin_mul_overflow(n, d.size[k], &n)) return INT64_MAX / 4096;
    return n > INT64_MAX / 4096 ? INT64_MAX / 4096 : whole_lines(n);
  }

private:
  constexpr bool is_needed(std::int32_t i) const {
    node const& n = g_.nodes[i];
    if (n.result_count == 0) return true;
    for (int k = 0; k < n.result_count; ++k) {
      symbol const y = g_.result(n, k);
      if (y != none && (needed_[y] != 0 || (g_.tensors[y].base != none && needed_[g_.tensors[y].base] != 0)))
        return true;
    }
    return false;
  }
  /// Calls `visit(node)` for the nodes, except views, that compute operand t of node `by`, or that it waits for.
  template <class Visit> constexpr void each_source(symbol t, std::int32_t by, Visit visit) const {
    for (;;) {
      if (t == none) return;
      if (g_.tensors[t].base != none) t = g_.tensors[t].base;
      std::int32_t const i = g_.tensors[t].producer;
      if (i == none) {
        // The first that writes a piece. Reads before it are of pieces that none writes.
        if (groups.is_base(t) && reader_[t] != none && reader_[t] < by) visit(reader_[t]);
        return;
      }
      if (!groups.is_free(i)) return visit(i);
      node const& n = g_.nodes[i];
      if (n.operand_count == 0) return;
      for (int k = 1; k < n.operand_count && n.op == info_of<op::after>(); ++k) each_source(g_.operand(n, k), by, visit);
      t = g_.operand(n, 0);
    }
  }

  constexpr double elements_of(symbol t) const {
    double n = 1;
    for (int k = 0; k < g_.shape(t).rank; ++k)
      if (g_.shape(t).size[k] >= 0) n *= static_cast<double>(g_.shape(t).size[k]);
    return n;
  }
  /// Seconds, by the model; a loop counts as one iteration of its operands and results only.
  constexpr double cost_of(std::int32_t i, cost_model const& m) const {
    node const& n = g_.nodes[i];
    if (n.result_count == 0) return 0;
    double bytes = 0;
    for (int k = 0; k < n.operand_count + n.result_count; ++k)
      if (symbol const t = g_.ids[n.first + k]; t != none)
        bytes += elements_of(t) * static_cast<double>(size_of(g_.tensors[t].type));
    double work = 0;
    symbol const y = g_.result(n);
    if (n.op->kind == operation_kind::matmul) {
      dimension const inner = product_sizes_of(g_, n).k;
      work = 2 * elements_of(y) * static_cast<double>(inner < 0 ? 1 : inner) * m.product;
    } else if (n.op->kind == operation_kind::whole && n.op->flops != nullptr)
      work = n.op->flops(g_, n) * m.product;
    else if (n.op->kind == operation_kind::reduction || n.op->kind == operation_kind::scatter_add)
      work = elements_of(g_.operand(n, 0)) * static_cast<double>(n.op->cost) * m.addition;
    else if (n.op->kind == operation_kind::elementwise)
      work = elements_of(y) * static_cast<double>(n.op->cost) * m.addition;
    return work + bytes * m.byte;
  }

  constexpr void mark_needed() {
    auto const need = [&](symbol t, std::int32_t by) {
      if (t == none) return;
      needed_[t] = 1;
      ++readers_[t];
      reader_[t] = by;
      if (symbol const base = g_.tensors[t].base; base != none) needed_[base] = 1;
    };
    for (int k = 0; k < g_.output_count(); ++k) need(g_.output(k), none);
    for (std::int32_t i = g_.node_count; i-- > 0;) {
      node const& n = g_.nodes[i];
      if (n.region != 0 || !is_needed(i)) continue;
      for (int k = 0; k < n.operand_count; ++k) need(g_.operand(n, k), i);
    }
    for (std::int32_t t = 0; t < g_.tensor_count; ++t)
      if (groups.is_base(t)) reader_[t] = none;
    for (std::int32_t i = g_.node_count; i-- > 0;)
      if (node const& n = g_.nodes[i]; n.region == 0 && is_needed(i))
        for (int k = 0; k < n.result_count; ++k)
          if (symbol const y = g_.result(n, k); y != none && g_.tensors[y].base != none)
            reader_[g_.tensors[y].base] = i;
  }

  constexpr bool is_elementwise(std::int32_t i) const {
    return g_.nodes[i].op->kind == operation_kind::elementwise;
  }
  constexpr bool has_shape_of(symbol a, symbol b) const { return g_.tensors[a].shape == g_.tensors[b].shape; }

  /// A node computed from one tensor is deferred to its first reader, as in the interpreter.
  constexpr void find_waiting() {
    waits_for_.assign(g_.node_count, runs);
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.region != 0 || !is_elementwise(i) || groups.is_written(g_.result(n))) continue;
      symbol from = none;
      bool one = true;
      for (int k = 0; k < n.operand_count && one; ++k) {
        symbol t = g_.operand(n, k);
        std::int32_t const p = g_.tensors[t].producer;
        if (p != none && waits_for_[p] != runs) t = waits_for_[p];
        else if (!groups.is_ordered(t)) continue;
        if (t == none) continue;
        one = from == none || from == t;
        from = t;
      }
      if (one) waits_for_[i] = from;
    }
  }
  static constexpr symbol runs = -2; // not deferred

  /// Finds the groups that executions fuse: elementwise nodes of one shape that are ready at the same time,
  /// and full reductions.
  constexpr void find_groups() {
    array<std::int32_t> end(g_.node_count, none); // by node: the node that it is fused with
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.region != 0 || !is_needed(i)) continue;
      for (int k = 0; k < n.operand_count; ++k) {
        symbol const t = g_.operand(n, k);
        each_source(t, i, [&](std::int32_t p) {
          bool const direct = is_elementwise(p) && is_elementwise(i) && g_.tensors[t].producer == p &&
                              has_shape_of(t, g_.result(n));
          std::int32_t const s = stage_[p] + (direct ? 0 : 1);
          if (stage_[i] < s) stage_[i] = s;
        });
      }
    }
    find_waiting();
    for (std::int32_t i = g_.node_count; i-- > 0;) {
      node const& n = g_.nodes[i];
      if (n.region != 0 || !is_needed(i) || groups.is_free(i)) continue;
      end[i] = i;
      if (!is_elementwise(i) || groups.is_written(g_.result(n)) || readers_[g_.result(n)] != 1) continue;
      std::int32_t const r = reader_[g_.result(n)];
      if (r == none || groups.is_free(r)) continue;
      bool const together = is_elementwise(r) && (stage_[r] == stage_[i] || waits_for_[i] != runs) &&
                            has_shape_of(g_.result(n), g_.result(g_.nodes[r])),
                 sums = g_.nodes[r].op->kind == operation_kind::reduction &&
                        g_.shape(g_.result(g_.nodes[r])).rank == 0;
      if (together || sums) end[i] = end[r];
    }
    array<std::int32_t> count(g_.node_count + 1);
    int values = 0;
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      if (end[i] == i) value_of_[i] = values++;
      if (end[i] != none) ++count[end[i]];
    }
    groups.first.push(0);
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      if (end[i] == i) groups.first.push(groups.first.back() + count[i]);
    array<std::int32_t> at = groups.first;
    groups.nodes.resize(groups.first.back());
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      if (end[i] == none) continue;
      value_of_[i] = value_of_[end[i]];
      groups.nodes[at[value_of_[i]]++] = i;
    }
  }

  template <class Again> constexpr void describe(Again again, cost_model const& model) {
    array<char> asked(g_.node_count);   // must be live at the end
    array<char> outside(g_.node_count); // and is in the caller's memory
    for (int k = 0; k < g_.output_count(); ++k) {
      bool whole = true;
      for (symbol t = g_.output(k); t != none;) {
        std::int32_t const i = g_.tensors[t].producer;
        if (i == none || !groups.is_free(i) || g_.nodes[i].operand_count == 0) break;
        operation_kind const kind = g_.nodes[i].op->kind;
        whole = whole && (kind == operation_kind::reshape || kind == operation_kind::identity);
        t = g_.operand(g_.nodes[i], 0);
      }
      each_source(g_.output(k), g_.node_count, [&](std::int32_t i) {
        asked[i] = 1;
        if (whole && g_.nodes[i].result_count == 1) outside[i] = 1;
      });
    }
    array<std::int32_t> reads, seen(groups.first.size(), none);
    for (std::int32_t v = 0; v + 1 < groups.first.size(); ++v) {
      reads.clear();
      bool once = false, orders = false;
      double cost = 0;
      for (int k = groups.first[v]; k < groups.first[v + 1]; ++k) {
        std::int32_t const i = groups.nodes[k];
        node const& n = g_.nodes[i];
        cost += cost_of(i, model);
        once = once || n.result_count != 1 || n.op->kind == operation_kind::control ||
               groups.is_written(g_.result(n)) || !again(n);
        for (int j = 0; j < n.operand_count; ++j) {
          orders = orders || groups.is_ordered(g_.operand(n, j));
          each_source(g_.operand(n, j), i, [&](std::int32_t p) {
            std::int32_t const x = value_of_[p];
            if (x == none || x == v || seen[x] == v) return;
            seen[x] = v;
            reads.push(x);
          });
        }
      }
      std::int32_t const last = groups.nodes[groups.first[v + 1] - 1];
      std::int64_t bytes = 0;
      node const& n = g_.nodes[last];
      for (int k = 0; k < n.result_count; ++k) {
        symbol const y = g_.result(n, k);
        if (y == none || outside[last] != 0) continue;
        if (g_.tensors[y].base == none) bytes += bytes_of(y);
        else if (reader_[g_.tensors[y].base] == last) bytes += bytes_of(g_.tensors[y].base);
      }
      (void)problem.add(bytes, cost, reads.data(), reads.size(), once || !orders, asked[last] != 0);
    }
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
