// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_CLASSIFY_HPP
#define COTANGENT_PLAN_CLASSIFY_HPP

#include <cotangent/plan/placements.hpp>

// Classifies each symbol of a graph for the planner: computed in loops or by a kernel, a view of memory, or a
// broadcast.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class classifier {
  placements& s_;

public:
  constexpr explicit classifier(placements& symbols) : s_(symbols) {
    classify();
    for (int k = 0; k < s_.g.output_count(); ++k) settle_output(s_.g.output(k));
    for (std::int32_t i = 0; i < s_.g.node_count; ++i)
      if (s_.g.nodes[i].op->kind == operation_kind::concatenate)
        settle_parts(s_.g.nodes[i], s_.g.result(s_.g.nodes[i]));
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) settle_operands(s_.g.nodes[i]);
    split_domains();
    s_.nest_domain_of = s_.domain_of;
    if (!s_.has_pads) return;
    for (std::int32_t i = 0; i < s_.g.node_count; ++i)
      if (s_.g.nodes[i].op->kind == operation_kind::pad) host_operand(s_.g.nodes[i]);
    for (std::int32_t& d : s_.nest_domain_of)
      if (s_.domains[d].host != none) d = s_.domains[d].host;
  }

private:
  constexpr void classify() {
    for (int k = 0; k < s_.g.input_count(); ++k) s_.at[s_.g.input(k)].kind = place_kind::argument;
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) {
      node const& n = s_.g.nodes[i];
      symbol const y = s_.g.result(n), x = n.operand_count > 0 ? s_.g.operand(n, 0) : none;
      place_kind& kind = s_.at[y].kind;
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
          if (!s_.is_matrix(s_.g.operand(n, k)))
            s_.at[s_.g.operand(n, k)].kind = place_kind::kernel; // a copy
      if (n.op->kind == operation_kind::whole)
        for (int k = 0; k < n.operand_count; ++k) make_contiguous(s_.g.operand(n, k));
    }
  }
  /// A loop or a branch has several results, and reads and writes whole tensors.
  constexpr void classify_control(node const& n) {
    for (int k = 0; k < n.operand_count; ++k) make_contiguous(s_.g.operand(n, k));
    for (int k = 0; k < n.result_count; ++k) s_.at[s_.g.result(n, k)].kind = place_kind::kernel;
  }
  /// A value read as one contiguous piece must be contiguous, here and, since it is viewed, to the end.
  constexpr void make_contiguous(symbol t) {
    dimension stride[max_rank]{};
    s_.kernel_strides_of(t, stride);
    memory_view const r = s_.row_major(t);
    for (int k = 0; k < s_.g.shape(t).rank; ++k)
      if (stride[k] != r.stride[k]) s_.at[t].kind = place_kind::kernel; // a copy
    symbol const base = s_.resolve(t).base;
    s_.at[s_.root_of(base)].viewed = true;
  }
  constexpr void split_domains() {
    for (std::int32_t i = 0; i < s_.g.node_count; ++i)
      if (s_.at[s_.g.result(s_.g.nodes[i])].kind == place_kind::lane) constrain(s_.g.nodes[i]);
    for (domain& d : s_.domains) {
      d.split = d.row_split != none      ? d.row_split
                : d.column_split != none ? d.column_split
                : d.total                ? 0
                                         : none;
      if (d.split != none && d.split < d.least_split) d.split = d.least_split;
    }
  }

  constexpr void classify_pad(node const& n, symbol y) {
    s_.has_pads = true;
    s_.at[y].kind = s_.domains[s_.domain_id(y)].rank == 0 ? place_kind::kernel : place_kind::lane;
    for (int k = 0; k < s_.g.shape(y).rank; ++k) // steps, and nothing on an axis that the nest lacks
      if (s_.g.attribute(n, 2 * k + 1) != 1 ||
          (s_.g.shape(y).size[k] == 1 && s_.g.shape(s_.g.operand(n, 0)).size[k] != 1))
        s_.at[y].kind = place_kind::kernel;
  }

  /// Computes a slightly padded operand in the nest of the padded value: one nest over both, whose main loop
  /// ignores the ends.
  constexpr void host_operand(node const& n) {
    std::int32_t const own = s_.domain_id(s_.g.operand(n, 0)), whole = s_.domain_id(s_.g.result(n));
    domain &part = s_.domains[own], &host = s_.domains[whole];
    if (s_.at[s_.g.result(n)].kind != place_kind::lane || part.rank != 1 || host.rank != 1 || own == whole)
      return;
    if (s_.at[s_.resolve(s_.g.operand(n, 0)).base].kind != place_kind::lane || s_.shift_of(n) == none) return;
    if (part.size[0] < 0 || host.size[0] > part.size[0] + 2 * placements::most_shift) return;
    if (part.host != none || part.hosts || host.host != none) return;
    window w;
    w.high[0] = part.size[0];
    part.inside = s_.p.windows.push(w);
    part.host = whole;
    host.hosts = s_.hosted = true;
    if (host.split == none) host.split = part.split;
  }

  /// If operands of a node forbid merging two axes of its nest, no lane axis may merge them.
  constexpr void constrain(node const& n) {
    bool const reduces = n.op->kind == operation_kind::reduction;
    domain& d = s_.domains[s_.domain_id(reduces ? s_.g.operand(n, 0) : s_.g.result(n))];
    if (d.rank < 2) return;
    bool const pads = n.op->kind == operation_kind::pad;
    for (int k = 0; k < n.operand_count; ++k) {
      resolved const r = s_.resolve(s_.g.operand(n, k));
      if (s_.at[r.base].kind == place_kind::immediate) {
        if (s_.g.producer(r.base)->op->kind == operation_kind::iota && r.repeats && r.axis[0] != none)
          d.least_split = larger(d.least_split, r.axis[0] + 1 < d.rank ? r.axis[0] + 1 : r.axis[0]);
        continue;
      }
      if (pads) d.least_split = d.rank - 1;
      if (r.direct && s_.at[r.base].kind != place_kind::alias &&
          s_.at[r.base].home == none) { // its axes are the first ones
        std::int32_t const axes = s_.domains[s_.domain_id(r.base)].rank;
        if (axes > 0 && axes < d.rank) d.least_split = larger(d.least_split, axes);
        continue;
      }
      constrain(d, r);
    }
    if (s_.at[s_.g.result(n)].home != none) constrain(d, {s_.g.result(n)});
  }
  constexpr void constrain(domain& d, resolved const& r) {
    dimension stride[max_rank]{};
    s_.strides_of(r, stride);
    for (int a = d.rank - 2; a >= d.least_split; --a)
      if (!s_.sizes.joins(stride[a], stride[a + 1], d.size[a + 1])) {
        d.least_split = a + 1;
        break;
      }
  }
  constexpr void classify_reduction(node const& n, symbol y, symbol x) {
    std::uint32_t const mask = s_.squeezed(s_.g.shape(x), static_cast<std::uint32_t>(s_.g.attribute(n)));
    if (mask == 0) return make_alias(n, y, x); // only axes of size 1 are dropped
    domain& d = s_.domains[s_.domain_id(x)];
    std::uint32_t const all = (1u << d.rank) - 1;
    s_.at[y].kind = place_kind::lane; // lane, row, total or kernel: known after the split
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
        s_.domain_id(x) == s_.domain_id(y) && s_.at[x].kind != place_kind::argument &&
        s_.at[x].kind != place_kind::alias) {
      s_.at[y].kind = place_kind::repeated;
      s_.at[y].view =
          s_.repeats.push(s_.at[x].kind == place_kind::repeated ? s_.repeats[s_.at[x].view] : resolved{x});
      return;
    }
    if (s_.at[x].kind == place_kind::repeated) {
      if (resolved const r = s_.resolve(x); r.repeats) s_.at[x].kind = place_kind::kernel;
      else {
        if (s_.at[r.base].kind == place_kind::immediate) s_.at[r.base].kind = place_kind::lane;
        set_alias(x, with_axes_of_one(r.base, x));
      }
    }
    if (s_.at[x].kind == place_kind::immediate) s_.at[x].kind = place_kind::lane;
    memory_view from = s_.view_of(x), v;
    dimensions const &dx = s_.g.shape(x), &dy = s_.g.shape(y);
    if (n.op->kind == operation_kind::permute) {
      v = from;
      for (int k = 0; k < dx.rank; ++k) v.stride[k] = from.stride[s_.g.attribute(n, k)];
    } else if (n.op->kind == operation_kind::slice) {
      v = from;
      for (int k = 0; k < dx.rank; ++k) {
        v.offset = s_.sizes.sum(v.offset, s_.sizes.product(s_.g.attribute(n, 2 * k), from.stride[k]));
        v.stride[k] = dy.size[k] == 1 ? 0 : s_.sizes.product(s_.g.attribute(n, 2 * k + 1), from.stride[k]);
      }
    } else if (s_.domain_of[s_.g.tensors[x].shape] == s_.domain_of[s_.g.tensors[y].shape]) {
      v = with_axes_of_one(x, y);
    } else {
      if (!s_.contiguous(from, x)) {
        s_.at[x].kind = place_kind::kernel;
        from = s_.row_major(x);
      }
      v = s_.row_major(y);
      v.root = from.root;
      v.offset = from.offset;
    }
    set_alias(y, v);
  }
  constexpr void set_alias(symbol y, memory_view const& v) {
    s_.at[y].kind = place_kind::alias;
    s_.at[y].view = s_.views.push(v);
    s_.at[v.root].viewed = true;
  }
  /// The memory of x as that of y, whose shape differs in axes of size 1.
  constexpr memory_view with_axes_of_one(symbol x, symbol y) {
    memory_view const from = s_.view_of(x);
    dimensions const &dx = s_.g.shape(x), &dy = s_.g.shape(y);
    memory_view v;
    v.root = from.root;
    v.offset = from.offset;
    for (int k = 0, j = 0; k < dy.rank; ++k) {
      if (dy.size[k] == 1) continue;
      while (dx.size[j] == 1) ++j;
      v.stride[k] = from.stride[j++];
    }
    return v;
  }

  /// Operands of a concatenation are computed in its memory, unless something else requires memory of their
  /// own.
  constexpr void settle_parts(node const& n, symbol y) {
    memory_view const whole = s_.row_major(y);
    dimension offset = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = s_.g.operand(n, k), base = s_.resolve(t).base;
      symbol_plan& b = s_.at[base];
      if (b.kind == place_kind::lane && s_.g.producer(base)->op->kind == operation_kind::elementwise &&
          !b.must_store && !b.viewed && b.home == none && s_.resolve(t).direct &&
          s_.count(base) == s_.count(t)) {
        memory_view v;
        v.root = base;
        v.offset = offset;
        for (int i = 0, j = 0; i < s_.g.shape(base).rank; ++i) {
          if (s_.g.shape(base).size[i] == 1) continue;
          while (s_.g.shape(t).size[j] == 1) ++j;
          v.stride[i] = whole.stride[j++];
        }
        b.view = s_.views.push(v);
        b.home = y;
        b.must_store = true;
      }
      offset = s_.sizes.sum(
          offset, s_.sizes.product(s_.g.shape(t).size[s_.g.attribute(n)], whole.stride[s_.g.attribute(n)]));
    }
  }

  /// An output needs memory of its own; another name of a computed value uses the memory of that value.
  constexpr void settle_output(symbol t) {
    symbol_plan& a = s_.at[t];
    if (a.kind == place_kind::repeated || a.kind == place_kind::alias) {
      if (symbol const root = s_.same_memory(t); s_.is_computed(root) && !s_.at[root].must_store) {
        s_.at[root].must_store = true;
        s_.results.push(root);
        return;
      }
      a.kind = place_kind::kernel;
    }
    if (a.kind == place_kind::immediate) a.kind = place_kind::lane;
    a.must_store = true;
    s_.results.push(t);
  }
  /// Operands of kernels need constants and positions in memory.
  constexpr void settle_operands(node const& n) {
    symbol const y = s_.g.result(n);
    if (s_.at[y].kind != place_kind::kernel && n.op->kind != operation_kind::pad &&
        n.op->kind != operation_kind::reduction)
      return;
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const base = s_.resolve(s_.g.operand(n, k)).base; s_.at[base].kind == place_kind::immediate)
        s_.at[base].kind = place_kind::lane;
  }

  /// Resolves a broadcast to its operand, once: axes of the nest are those of the result without size 1.
  constexpr void make_repeated(node const& n, symbol y, symbol x) {
    resolved r;
    r.repeats = true;
    r.direct = true;
    dimensions const &dx = s_.g.shape(x), &dy = s_.g.shape(y);
    std::int32_t nest_axis[max_rank]{}, axis[max_rank]{};
    for (int k = 0, j = 0; k < dy.rank; ++k) nest_axis[k] = dy.size[k] == 1 ? none : j++;
    for (int k = 0; k < dx.rank; ++k) axis[k] = dx.size[k] == 1 ? none : nest_axis[s_.g.attribute(n, k)];
    r.base = x;
    if (s_.at[x].kind == place_kind::repeated) {
      // the axes of x's own operand are numbered among those of x without size 1
      resolved const& inner = s_.repeats[s_.at[x].view];
      std::int32_t of_x[max_rank]{};
      for (int k = 0, j = 0; k < dx.rank; ++k)
        if (dx.size[k] != 1) of_x[j++] = axis[k];
      r.base = inner.base;
      for (int k = 0, next = 0; k < s_.g.shape(r.base).rank; ++k)
        if (r.axis[k] = s_.axis_of(inner, k, next); r.axis[k] != none) r.axis[k] = of_x[r.axis[k]];
    } else
      for (int k = 0; k < dx.rank; ++k) r.axis[k] = axis[k];
    for (int k = 0, j = 0; k < s_.g.shape(r.base).rank && r.direct; ++k)
      if (s_.g.shape(r.base).size[k] != 1) r.direct = r.axis[k] == j++;
    s_.at[y].kind = place_kind::repeated;
    s_.at[y].view = s_.repeats.push(r);
  }
};

/// A graph with the classes of its symbols.
constexpr classification classified(graph_view const& g) {
  placements s(g);
  classifier{s};
  return s.take();
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
