// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_DEMAND_HPP
#define COTANGENT_PLAN_DEMAND_HPP

#include <cotangent/plan/fuse.hpp>

// Nests, their instances, and the demands of these on the symbols that they read.

namespace cotangent::detail {

class demander : public fuser {
public:
  array<demand> demands;

  constexpr demander(graph_view const& graph, classification&& fused)
      : fuser(graph, static_cast<classification&&>(fused), true), whole_(domains.size()) {
    // (most arrays would be copied while they grow)
    int const reads = g.id_count - g.node_count + g.output_count();
    demands.reserve(reads);
    p.operands.reserve(reads);
    p.accesses.reserve(g.node_count + g.input_count() + g.output_count());
    p.instances.reserve(g.node_count + g.input_count() + g.output_count());
    make_nests();
  }

  constexpr void make_nests() {
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      symbol_plan& a = at[g.result(g.nodes[i])];
      if (a.kind < place_kind::lane) continue;
      if (a.kind != place_kind::kernel) {
        a.nest = nest_over(a.domain, a.level);
        continue;
      }
      a.nest = p.nests.push({nest_kind::kernel, a.level});
      p.nests[a.nest].node = i;
      if (g.nodes[i].op == info_of<op::accumulate_rows>()) p.nests[a.nest].replaced = g.nodes[i].operand_count - 1;
      for (int k = 1; k < g.nodes[i].result_count; ++k) at[g.result(g.nodes[i], k)].nest = a.nest;
      nest_index_.add(0, false);
    }
  }

  /// The nest of loops over a domain at a level.
  constexpr std::int32_t nest_over(std::int32_t domain, std::int32_t level) {
    if (p.nests.size() > 0)
      if (nest const& last = p.nests.back();
          last.domain == domain && last.level == level && last.kind == nest_kind::loops)
        return p.nests.size() - 1;
    std::uint32_t const h =
        mix(static_cast<std::uint32_t>(level) + 7, static_cast<std::uint64_t>(domain)) | 1u;
    std::int32_t const found = nest_index_.find(h, [&](std::int32_t k) {
      return p.nests[k].kind == nest_kind::loops && p.nests[k].level == level &&
             p.nests[k].domain == domain;
    });
    if (found != none) return found;
    nest_index_.add(h);
    nest n{nest_kind::loops, level};
    n.domain = domain;
    n.rank = domains[domain].rank;
    n.split = domains[domain].split == none ? 0 : domains[domain].split;
    for (int k = 0; k < n.rank; ++k) n.size[k] = domains[domain].size[k];
    return p.nests.push(n);
  }

  // ---- reads

  /// The access to a whole tensor over a domain: by far the most frequent one.
  constexpr access const& whole(std::int32_t d) {
    access& a = whole_[d];
    if (a.stride[0] == 0) lay_out(a, domains[d]);
    return a;
  }
  constexpr void lay_out(access& a, domain const& d) {
    dimension step = 1;
    for (int k = d.rank - 1; k >= 0; --k) {
      a.stride[k] = step;
      step = sizes.product(step, d.size[k]);
    }
  }

  constexpr void want(symbol t, std::int32_t in, std::int32_t stage, std::int32_t operand) {
    symbol_plan& o = at[t];
    if (o.kind == place_kind::lane && o.nest == in) {
      o.demand = demands.push({in, stage, operand, none, none, false, o.demand});
      return;
    }
    if (o.kind == place_kind::immediate) {
      std::int32_t const axis = g.shape(t).rank == 1 && g.shape(t).size[0] != 1 ? 0 : none;
      o.demand = demands.push({in, stage, operand, none, axis, false, o.demand});
      return;
    }
    std::int32_t const domain = p.nests[in].domain;
    if (o.kind != place_kind::repeated && o.kind != place_kind::alias && o.kind != place_kind::row &&
        o.home == none && !hosted && domain_id(t) == domain) { // a whole tensor in memory
      bool const may_repeat = o.kind == place_kind::lane && o.chain <= cheap_lane;
      o.demand = demands.push({in, stage, operand, p.accesses.push(whole(domain)), none, may_repeat, o.demand});
      return;
    }
    resolved const r = resolve(t);
    demand d{in, stage, operand};
    symbol list = r.base;
    if (at[r.base].kind == place_kind::immediate)
      d.axis = g.shape(r.base).rank == 1 ? (r.repeats                      ? r.axis[0]
                                            : g.shape(r.base).size[0] == 1 ? none
                                                                           : 0)
                                         : none;
    else if (!within(r, domain) || at[r.base].nest != in) {
      access a;
      memory_view const v = strides_of(r, a.stride);
      a.offset = v.offset;
      if (hosted) d.axis = domains[domain_id(t)].inside;
      list = v.root;
      d.access = p.accesses.push(a);
      d.again = v.root == r.base && repeatable(r, domain);
    }
    d.next = at[list].demand;
    at[list].demand = demands.push(d);
  }

  /// An instance of node `n` in a nest, and its demands on its operands.
  constexpr std::int32_t compute(node const& n, symbol y, std::int32_t in, std::int32_t stage, role where) {
    std::int32_t const first = p.operands.size();
    instance v{n.op, action::compute, where, g.tensors[y].type, in, stage, first, n.operand_count};
    v.value = y;
    if (hosted) v.detail = domains[domain_id(y)].inside;
    if (n.operand_count == 0) return copy_immediate(n, y, v);
    if (n.op->kind == operation_kind::pad) return copy_window(n, y, v);
    std::int32_t* const operands = p.operands.extend(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) operands[k] = none; // until they are served
    for (int k = 0; k < n.operand_count; ++k) want(g.operand(n, k), in, stage, first + k);
    return p.instances.push(v);
  }

  /// The stored form of a constant, of positions, of a size: a conversion to its own type.
  constexpr std::int32_t copy_immediate(node const& n, symbol y, instance const& v) {
    instance from;
    from.where = role::once;
    from.value = y;
    make_immediate(n, from, domains[domain_id(y)].rank == 0 ? none : 0);
    if (from.what == action::position) from.stage = v.stage;
    return copy_of(from, v);
  }
  constexpr std::int32_t copy_of(instance from, instance v) {
    from.type = v.type;
    from.nest = v.nest;
    from.value = v.value;
    v.op = info_of<op::convert>();
    v.operand_count = 1;
    p.operands.push(p.instances.size() + 1);
    std::int32_t const copy = p.instances.push(v); // readers precede their operands
    p.instances.push(from);
    return copy;
  }

  constexpr void make_immediate(node const& n, instance& v, std::int32_t axis) const {
    v.op = n.op;
    v.what = n.op->kind == operation_kind::constant ? action::constant
             : n.op->kind == operation_kind::iota   ? action::position
                                                    : action::size;
    if (v.what == action::constant) v.bits = g.attribute(n);
    else v.detail = v.what == action::position ? axis : v.value;
  }

  /// A pad reads its operand at the position minus the start of its window.
  constexpr std::int32_t copy_window(node const& n, symbol y, instance const& v) {
    window w;
    dimensions const &to = g.shape(y), &operand = g.shape(g.operand(n, 0));
    for (int k = 0, j = 0; k < to.rank; ++k) {
      if (to.size[k] == 1) continue;
      w.low[j] = g.attribute(n, 2 * k);
      w.high[j] = sizes.sum(w.low[j], operand.size[k]);
      ++j;
    }
    instance from;
    from.op = n.op;
    from.what = action::window;
    from.where = v.where;
    from.stage = v.stage;
    from.detail = p.windows.push(w);
    if (shifts(n, at[y].domain)) {
      from.what = action::shift;
      std::int32_t const copy = copy_of(from, v), operand_ = p.operands.push(none);
      p.instances.back().first_operand = operand_;
      p.instances.back().operand_count = 1;
      want(g.operand(n, 0), v.nest, v.stage, operand_);
      return copy;
    }
    from.access = p.accesses.push(access_of(n, y));
    demand d{v.nest, v.stage, none, from.access};
    symbol const root = view_of(resolve(g.operand(n, 0)).base).root;
    d.next = at[root].demand;
    at[root].demand = demands.push(d);
    return copy_of(from, v);
  }
  /// The operand of a pad along the axes of its nest: those of the result without size 1.
  constexpr access access_of(node const& n, symbol y) {
    access a;
    dimension own[max_rank]{};
    a.offset = kernel_strides_of(g.operand(n, 0), own).offset;
    for (int k = 0, j = 0; k < g.shape(y).rank; ++k)
      if (g.shape(y).size[k] != 1) a.stride[j++] = own[k];
    return a;
  }

private:
  hash_index nest_index_;
  array<access> whole_; // by domain
};

} // namespace cotangent::detail

#endif
