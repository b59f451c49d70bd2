// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_DEMAND_HPP
#define COTANGENT_PLAN_DEMAND_HPP

#include <cotangent/plan/placements.hpp>

// Nests, their instances, and the demands of these on the symbols that they read.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class demander {
  placements& s_;
  hash_index nest_index_;
  array<access> whole_; // by domain

public:
  array<demand> demands;

  constexpr explicit demander(placements& symbols) : s_(symbols), whole_(s_.domains.size()) {
    // (most arrays would be copied while they grow)
    int const reads = s_.g.id_count - s_.g.node_count + s_.g.output_count();
    demands.reserve(reads);
    s_.p.operands.reserve(reads);
    s_.p.accesses.reserve(s_.g.node_count + s_.g.input_count() + s_.g.output_count());
    s_.p.instances.reserve(s_.g.node_count + s_.g.input_count() + s_.g.output_count());
    make_nests();
  }

  constexpr void make_nests() {
    for (std::int32_t i = 0; i < s_.g.node_count; ++i) {
      symbol_plan& a = s_.at[s_.g.result(s_.g.nodes[i])];
      if (a.kind < place_kind::lane) continue;
      if (a.kind != place_kind::kernel) {
        a.nest = nest_over(a.domain, a.level);
        continue;
      }
      a.nest = s_.p.nests.push({nest_kind::kernel, a.level});
      s_.p.nests[a.nest].node = i;
      find_replaced(s_.g.nodes[i], s_.p.nests[a.nest]);
      for (int k = 1; k < s_.g.nodes[i].result_count; ++k) s_.at[s_.g.result(s_.g.nodes[i], k)].nest = a.nest;
      nest_index_.add(0, false);
    }
  }

  /// Rows are updated in their place, and so are the carried values of a loop, if its body does so (see `region_graph`).
  constexpr void find_replaced(node const& n, nest& kernel) const {
    if (n.op == info_of<op::update_rows>()) kernel.replaced = n.operand_count - 1;
    else if (n.op == info_of<op::loop>()) {
      kernel.replaced = static_cast<std::int32_t>(s_.g.attribute(n, 1));
      kernel.replacements = static_cast<std::int32_t>(s_.g.attribute(n, 2));
    }
    kernel.replacing = n.operand_count;
  }

  /// The nest of loops over a domain at a level.
  constexpr std::int32_t nest_over(std::int32_t domain, std::int32_t level) {
    if (s_.p.nests.size() > 0)
      if (nest const& last = s_.p.nests.back();
          last.domain == domain && last.level == level && last.kind == nest_kind::loops)
        return s_.p.nests.size() - 1;
    std::uint32_t const h =
        mix(static_cast<std::uint32_t>(level) + 7, static_cast<std::uint64_t>(domain)) | 1u;
    std::int32_t const found = nest_index_.find(h, [&](std::int32_t k) {
      return s_.p.nests[k].kind == nest_kind::loops && s_.p.nests[k].level == level &&
             s_.p.nests[k].domain == domain;
    });
    if (found != none) return found;
    nest_index_.add(h);
    nest n{nest_kind::loops, level};
    n.domain = domain;
    n.rank = s_.domains[domain].rank;
    n.split = s_.domains[domain].split == none ? 0 : s_.domains[domain].split;
    for (int k = 0; k < n.rank; ++k) n.size[k] = s_.domains[domain].size[k];
    return s_.p.nests.push(n);
  }

  // ---- reads

  /// The access to a whole tensor over a domain: by far the most frequent one.
  constexpr access const& whole(std::int32_t d) {
    access& a = whole_[d];
    if (a.stride[0] == 0) lay_out(a, s_.domains[d]);
    return a;
  }
  constexpr void lay_out(access& a, domain const& d) {
    dimension step = 1;
    for (int k = d.rank - 1; k >= 0; --k) {
      a.stride[k] = step;
      step = s_.sizes.product(step, d.size[k]);
    }
  }

  constexpr void want(symbol t, std::int32_t in, std::int32_t stage, std::int32_t operand) {
    symbol_plan& o = s_.at[t];
    if (o.kind == place_kind::lane && o.nest == in) {
      o.demand = demands.push({in, stage, operand, none, none, false, o.demand});
      return;
    }
    if (o.kind == place_kind::immediate) {
      std::int32_t const axis = s_.g.shape(t).rank == 1 && s_.g.shape(t).size[0] != 1 ? 0 : none;
      o.demand = demands.push({in, stage, operand, none, axis, false, o.demand});
      return;
    }
    std::int32_t const domain = s_.p.nests[in].domain;
    if (o.kind != place_kind::repeated && o.kind != place_kind::alias && o.kind != place_kind::row &&
        o.home == none && !s_.hosted && s_.domain_id(t) == domain) { // a whole tensor in memory
      bool const may_repeat = o.kind == place_kind::lane && o.chain <= placements::cheap_lane;
      o.demand =
          demands.push({in, stage, operand, s_.p.accesses.push(whole(domain)), none, may_repeat, o.demand});
      return;
    }
    resolved const r = s_.resolve(t);
    demand d{in, stage, operand};
    symbol list = r.base;
    if (s_.at[r.base].kind == place_kind::immediate)
      d.axis = s_.g.shape(r.base).rank == 1 ? (r.repeats                         ? r.axis[0]
                                               : s_.g.shape(r.base).size[0] == 1 ? none
                                                                                 : 0)
                                            : none;
    else if (!s_.within(r, domain) || s_.at[r.base].nest != in) {
      access a;
      memory_view const v = s_.strides_of(r, a.stride);
      a.offset = v.offset;
      if (s_.hosted) d.axis = s_.domains[s_.domain_id(t)].inside;
      list = v.root;
      d.access = s_.p.accesses.push(a);
      d.again = v.root == r.base && s_.repeatable(r, domain);
    }
    d.next = s_.at[list].demand;
    s_.at[list].demand = demands.push(d);
  }

  /// An instance of node `n` in a nest, and its demands on its operands.
  constexpr std::int32_t compute(node const& n, symbol y, std::int32_t in, std::int32_t stage, role where) {
    std::int32_t const first = s_.p.operands.size();
    instance v{{action::compute, where, s_.g.tensors[y].type, in, stage, first, n.operand_count}, n.op};
    v.value = y;
    if (s_.hosted) v.detail = s_.domains[s_.domain_id(y)].inside;
    if (n.operand_count == 0) return copy_immediate(n, y, v);
    if (n.op->kind == operation_kind::pad) return copy_window(n, y, v);
    std::int32_t* const operands = s_.p.operands.extend(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) operands[k] = none; // until they are served
    for (int k = 0; k < n.operand_count; ++k) want(s_.g.operand(n, k), in, stage, first + k);
    return s_.p.instances.push(v);
  }

  /// The stored form of a constant, of positions, of a size: a conversion to its own type.
  constexpr std::int32_t copy_immediate(node const& n, symbol y, instance const& v) {
    instance from;
    from.where = role::once;
    from.value = y;
    make_immediate(n, from, s_.domains[s_.domain_id(y)].rank == 0 ? none : 0);
    if (from.what == action::position) from.stage = v.stage;
    return copy_of(from, v);
  }
  constexpr std::int32_t copy_of(instance from, instance v) {
    from.type = v.type;
    from.nest = v.nest;
    from.value = v.value;
    v.op = info_of<op::convert>();
    v.operand_count = 1;
    s_.p.operands.push(s_.p.instances.size() + 1);
    std::int32_t const copy = s_.p.instances.push(v); // readers precede their operands
    s_.p.instances.push(from);
    return copy;
  }

  constexpr void make_immediate(node const& n, instance& v, std::int32_t axis) const {
    v.op = n.op;
    v.what = n.op->kind == operation_kind::constant ? action::constant
             : n.op->kind == operation_kind::iota   ? action::position
                                                    : action::size;
    if (v.what == action::constant) v.bits = s_.g.attribute(n);
    else v.detail = v.what == action::position ? axis : v.value;
  }

  /// A pad reads its operand at the position minus the start of its window.
  constexpr std::int32_t copy_window(node const& n, symbol y, instance const& v) {
    window w;
    dimensions const &to = s_.g.shape(y), &operand = s_.g.shape(s_.g.operand(n, 0));
    for (int k = 0, j = 0; k < to.rank; ++k) {
      if (to.size[k] == 1) continue;
      w.low[j] = s_.g.attribute(n, 2 * k);
      w.high[j] = s_.sizes.sum(w.low[j], operand.size[k]);
      ++j;
    }
    instance from;
    from.op = n.op;
    from.what = action::window;
    from.where = v.where;
    from.stage = v.stage;
    from.detail = s_.p.windows.push(w);
    if (s_.shifts(n, s_.at[y].domain)) {
      from.what = action::shift;
      std::int32_t const copy = copy_of(from, v), operand_ = s_.p.operands.push(none);
      s_.p.instances.back().first_operand = operand_;
      s_.p.instances.back().operand_count = 1;
      want(s_.g.operand(n, 0), v.nest, v.stage, operand_);
      return copy;
    }
    from.access = s_.p.accesses.push(access_of(n, y));
    demand d{v.nest, v.stage, none, from.access};
    symbol const root = s_.view_of(s_.resolve(s_.g.operand(n, 0)).base).root;
    d.next = s_.at[root].demand;
    s_.at[root].demand = demands.push(d);
    return copy_of(from, v);
  }
  /// The operand of a pad along the axes of its nest: those of the result without size 1.
  constexpr access access_of(node const& n, symbol y) {
    access a;
    dimension own[max_rank]{};
    a.offset = s_.kernel_strides_of(s_.g.operand(n, 0), own).offset;
    for (int k = 0, j = 0; k < s_.g.shape(y).rank; ++k)
      if (s_.g.shape(y).size[k] != 1) a.stride[j++] = own[k];
    return a;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
