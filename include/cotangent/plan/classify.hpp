// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_CLASSIFY_HPP
#define COTANGENT_PLAN_CLASSIFY_HPP

#include <cotangent/plan/placements.hpp>

// Classifies each symbol of a graph for the planner: computed in loops or by a kernel, a view of memory, or a
// broadcast.

namespace cotangent::detail {

class classifier : public placements {
public:
  using placements::placements;
  constexpr explicit classifier(graph_view const& graph) : placements(graph) {
    classify();
    for (int k = 0; k < g.output_count(); ++k) settle_output(g.output(k));
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->kind == operation_kind::concatenate) settle_parts(g.nodes[i], g.result(g.nodes[i]));
    for (std::int32_t i = 0; i < g.node_count; ++i) settle_operands(g.nodes[i]);
    split_domains();
    nest_domain_of = domain_of;
    if (!has_pads) return;
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->kind == operation_kind::pad) host_operand(g.nodes[i]);
    for (std::int32_t& d : nest_domain_of)
      if (domains[d].host != none) d = domains[d].host;
  }

  // ---- classes of symbols

  constexpr void classify() {
    for (int k = 0; k < g.input_count(); ++k) at[g.input(k)].kind = place_kind::argument;
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      symbol const y = g.result(n), x = n.operand_count > 0 ? g.operand(n, 0) : none;
      place_kind& kind = at[y].kind;
      switch (n.op->kind) {
      case operation_kind::constant:
      case operation_kind::iota:
      case operation_kind::size: kind = place_kind::immediate; break;
      case operation_kind::elementwise: kind = place_kind::lane; break;
      case operation_kind::pad: classify_pad(n, y); break;
      case operation_kind::broadcast: make_repeated(n, y, x); break;
      case operation_kind::reshape:
      case operation_kind::slice:
      case operation_kind::permute:
      case operation_kind::identity: make_alias(n, y, x); break;
      case operation_kind::reduction: classify_reduction(n, y, x); break;
      case operation_kind::control: classify_control(n); break;
      default: kind = place_kind::kernel; break;
      }
      if (n.op->kind == operation_kind::matmul)
        for (int k = 0; k < 2; ++k)
          if (!is_matrix(g.operand(n, k))) at[g.operand(n, k)].kind = place_kind::kernel; // a copy
      if (n.op->kind == operation_kind::whole)
        for (int k = 0; k < n.operand_count; ++k) make_contiguous(g.operand(n, k));
    }
  }
  /// A loop or a branch has several results, and reads and writes whole tensors.
  constexpr void classify_control(node const& n) {
    for (int k = 0; k < n.operand_count; ++k) make_contiguous(g.operand(n, k));
    for (int k = 0; k < n.result_count; ++k) at[g.result(n, k)].kind = place_kind::kernel;
  }
  /// A value read as one contiguous piece must be contiguous, here and, since it is viewed, to the end.
  constexpr void make_contiguous(symbol t) {
    dimension stride[max_rank]{};
    kernel_strides_of(t, stride);
    memory_view const r = row_major(t);
    for (int k = 0; k < g.shape(t).rank; ++k)
      if (stride[k] != r.stride[k]) at[t].kind = place_kind::kernel; // a copy
    symbol const base = resolve(t).base;
    at[root_of(base)].viewed = true;
  }
  constexpr void split_domains() {
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (at[g.result(g.nodes[i])].kind == place_kind::lane) constrain(g.nodes[i]);
    for (domain& d : domains) {
      d.split = d.row_split != none      ? d.row_split
                : d.column_split != none ? d.column_split
                : d.total                ? 0
                                         : none;
      if (d.split != none && d.split < d.least_split) d.split = d.least_split;
    }
  }

  constexpr void classify_pad(node const& n, symbol y) {
    has_pads = true;
    at[y].kind = domains[domain_id(y)].rank == 0 ? place_kind::kernel : place_kind::lane;
    for (int k = 0; k < g.shape(y).rank; ++k) // steps, and nothing on an axis that the nest lacks
      if (g.attribute(n, 2 * k + 1) != 1 ||
          (g.shape(y).size[k] == 1 && g.shape(g.operand(n, 0)).size[k] != 1))
        at[y].kind = place_kind::kernel;
  }

  static constexpr dimension most_shift = 4;
  /// The distance by which a pad shifts its operand along the only axis; none if it is not short.
  constexpr std::int32_t shift_of(node const& n) const {
    dimensions const& d = g.shape(g.result(n));
    std::int32_t low = none;
    for (int k = 0; k < d.rank; ++k) {
      if (d.size[k] == 1) continue;
      dimension const from = g.attribute(n, 2 * k);
      if (low != none || from < 0 || from > most_shift) return none;
      low = static_cast<std::int32_t>(from);
    }
    return low;
  }
  /// Computes a slightly padded operand in the nest of the padded value: one nest over both, whose main loop
  /// ignores the ends.
  constexpr void host_operand(node const& n) {
    std::int32_t const own = domain_id(g.operand(n, 0)), whole = domain_id(g.result(n));
    domain &part = domains[own], &host = domains[whole];
    if (at[g.result(n)].kind != place_kind::lane || part.rank != 1 || host.rank != 1 || own == whole) return;
    if (at[resolve(g.operand(n, 0)).base].kind != place_kind::lane || shift_of(n) == none) return;
    if (part.size[0] < 0 || host.size[0] > part.size[0] + 2 * most_shift) return;
    if (part.host != none || part.hosts || host.host != none) return;
    window w;
    w.high[0] = part.size[0];
    part.inside = p.windows.push(w);
    part.host = whole;
    host.hosts = hosted = true;
    if (host.split == none) host.split = part.split;
  }

  /// If operands of a node forbid merging two axes of its nest, no lane axis may merge them.
  constexpr void constrain(node const& n) {
    bool const reduces = n.op->kind == operation_kind::reduction;
    domain& d = domains[domain_id(reduces ? g.operand(n, 0) : g.result(n))];
    if (d.rank < 2) return;
    bool const pads = n.op->kind == operation_kind::pad;
    for (int k = 0; k < n.operand_count; ++k) {
      resolved const r = resolve(g.operand(n, k));
      if (at[r.base].kind == place_kind::immediate) {
        if (g.producer(r.base)->op->kind == operation_kind::iota && r.repeats && r.axis[0] != none)
          d.least_split = larger(d.least_split, r.axis[0] + 1 < d.rank ? r.axis[0] + 1 : r.axis[0]);
        continue;
      }
      if (pads) d.least_split = d.rank - 1;
      if (r.direct && at[r.base].kind != place_kind::alias &&
          at[r.base].home == none) { // its axes are the first ones
        std::int32_t const axes = domains[domain_id(r.base)].rank;
        if (axes > 0 && axes < d.rank) d.least_split = larger(d.least_split, axes);
        continue;
      }
      constrain(d, r);
    }
    if (at[g.result(n)].home != none) constrain(d, {g.result(n)});
  }
  constexpr void constrain(domain& d, resolved const& r) {
    dimension stride[max_rank]{};
    strides_of(r, stride);
    for (int a = d.rank - 2; a >= d.least_split; --a)
      if (!sizes.joins(stride[a], stride[a + 1], d.size[a + 1])) {
        d.least_split = a + 1;
        break;
      }
  }
  constexpr void classify_reduction(node const& n, symbol y, symbol x) {
    std::uint32_t const mask = squeezed(g.shape(x), static_cast<std::uint32_t>(g.attribute(n)));
    if (mask == 0) return make_alias(n, y, x); // only axes of size 1 are dropped
    domain& d = domains[domain_id(x)];
    std::uint32_t const all = (1u << d.rank) - 1;
    at[y].kind = place_kind::lane; // lane, row, total or kernel: known after the split
    if (mask == all) {
      d.total = true;
      return;
    }
    for (int k = 1; k < d.rank; ++k) {
      if (mask == (all & ~((1u << k) - 1)) && k > d.row_split) d.row_split = k;
      if (mask == (1u << k) - 1) d.column_split = k;
    }
  }

  /// Stores the operand of an alias, if the alias cannot look through it.
  constexpr void make_alias(node const& n, symbol y, symbol x) {
    // Adding or dropping axes of size 1 does not move a value.
    if (n.op->kind != operation_kind::permute && n.op->kind != operation_kind::slice &&
        domain_id(x) == domain_id(y) && at[x].kind != place_kind::argument &&
        at[x].kind != place_kind::alias) {
      at[y].kind = place_kind::repeated;
      at[y].view = repeats.push(at[x].kind == place_kind::repeated ? repeats[at[x].view] : resolved{x});
      return;
    }
    if (at[x].kind == place_kind::repeated) at[x].kind = place_kind::kernel;
    if (at[x].kind == place_kind::immediate) at[x].kind = place_kind::lane;
    memory_view from = view_of(x), v;
    dimensions const &dx = g.shape(x), &dy = g.shape(y);
    if (n.op->kind == operation_kind::permute) {
      v = from;
      for (int k = 0; k < dx.rank; ++k) v.stride[k] = from.stride[g.attribute(n, k)];
    } else if (n.op->kind == operation_kind::slice) {
      v = from;
      for (int k = 0; k < dx.rank; ++k) {
        v.offset = sizes.sum(v.offset, sizes.product(g.attribute(n, 2 * k), from.stride[k]));
        v.stride[k] = dy.size[k] == 1 ? 0 : sizes.product(g.attribute(n, 2 * k + 1), from.stride[k]);
      }
    } else if (domain_of[g.tensors[x].shape] == domain_of[g.tensors[y].shape]) {
      v.root = from.root;
      v.offset = from.offset;
      for (int k = 0, j = 0; k < dy.rank; ++k) {
        if (dy.size[k] == 1) continue;
        while (dx.size[j] == 1) ++j;
        v.stride[k] = from.stride[j++];
      }
    } else {
      if (!contiguous(from, x)) {
        at[x].kind = place_kind::kernel;
        from = row_major(x);
      }
      v = row_major(y);
      v.root = from.root;
      v.offset = from.offset;
    }
    at[y].kind = place_kind::alias;
    at[y].view = views.push(v);
    at[v.root].viewed = true;
  }

  /// Operands of a concatenation are computed in its memory, unless something else requires memory of their
  /// own.
  constexpr void settle_parts(node const& n, symbol y) {
    memory_view const whole = row_major(y);
    dimension offset = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g.operand(n, k), base = resolve(t).base;
      symbol_plan& b = at[base];
      if (b.kind == place_kind::lane && g.producer(base)->op->kind == operation_kind::elementwise &&
          !b.must_store && !b.viewed && b.home == none && resolve(t).direct && count(base) == count(t)) {
        memory_view v;
        v.root = base;
        v.offset = offset;
        for (int i = 0, j = 0; i < g.shape(base).rank; ++i) {
          if (g.shape(base).size[i] == 1) continue;
          while (g.shape(t).size[j] == 1) ++j;
          v.stride[i] = whole.stride[j++];
        }
        b.view = views.push(v);
        b.home = y;
        b.must_store = true;
      }
      offset =
          sizes.sum(offset, sizes.product(g.shape(t).size[g.attribute(n)], whole.stride[g.attribute(n)]));
    }
  }

  /// An output needs memory of its own; another name of a computed value uses the memory of that value.
  constexpr void settle_output(symbol t) {
    symbol_plan& a = at[t];
    if (a.kind == place_kind::repeated || a.kind == place_kind::alias) {
      if (symbol const root = same_memory(t); is_computed(root) && !at[root].must_store) {
        at[root].must_store = true;
        results.push(root);
        return;
      }
      a.kind = place_kind::kernel;
    }
    if (a.kind == place_kind::immediate) a.kind = place_kind::lane;
    a.must_store = true;
    results.push(t);
  }
  /// Operands of kernels need constants and positions in memory.
  constexpr void settle_operands(node const& n) {
    symbol const y = g.result(n);
    if (at[y].kind != place_kind::kernel && n.op->kind != operation_kind::pad &&
        n.op->kind != operation_kind::reduction)
      return;
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const base = resolve(g.operand(n, k)).base; at[base].kind == place_kind::immediate)
        at[base].kind = place_kind::lane;
  }

  /// Resolves a broadcast to its operand, once: axes of the nest are those of the result without size 1.
  constexpr void make_repeated(node const& n, symbol y, symbol x) {
    resolved r;
    r.repeats = true;
    r.direct = true;
    dimensions const &dx = g.shape(x), &dy = g.shape(y);
    std::int32_t nest_axis[max_rank]{}, axis[max_rank]{};
    for (int k = 0, j = 0; k < dy.rank; ++k) nest_axis[k] = dy.size[k] == 1 ? none : j++;
    for (int k = 0; k < dx.rank; ++k) axis[k] = dx.size[k] == 1 ? none : nest_axis[g.attribute(n, k)];
    r.base = x;
    if (at[x].kind == place_kind::repeated) {
      // the axes of x's own operand are numbered among those of x without size 1
      resolved const& inner = repeats[at[x].view];
      std::int32_t of_x[max_rank]{};
      for (int k = 0, j = 0; k < dx.rank; ++k)
        if (dx.size[k] != 1) of_x[j++] = axis[k];
      r.base = inner.base;
      for (int k = 0, next = 0; k < g.shape(r.base).rank; ++k)
        if (r.axis[k] = axis_of(inner, k, next); r.axis[k] != none) r.axis[k] = of_x[r.axis[k]];
    } else
      for (int k = 0; k < dx.rank; ++k) r.axis[k] = axis[k];
    for (int k = 0, j = 0; k < g.shape(r.base).rank && r.direct; ++k)
      if (g.shape(r.base).size[k] != 1) r.direct = r.axis[k] == j++;
    at[y].kind = place_kind::repeated;
    at[y].view = repeats.push(r);
  }
};

} // namespace cotangent::detail

#endif
