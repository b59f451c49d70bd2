// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SCHEDULE_HPP
#define COTANGENT_PLAN_SCHEDULE_HPP

#include <cotangent/plan/demand.hpp>
#include <cotangent/plan/provider_list.hpp>

// Schedules the values that each nest computes, loads and keeps: the second half of planning. Nodes are
// visited in reverse, so that all readers of a value are known when it is stored, kept in a row buffer, or
// recomputed.

namespace cotangent::detail {

class scheduler : public demander {
  provider_list<served> providers_; // of the current symbol

public:
  constexpr scheduler(graph_view const& graph, classification&& fused)
      : demander(graph, static_cast<classification&&>(fused)) {
    for (int k = 0; k < g.output_count(); ++k) settle_result(k);
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) provide(g.nodes[i], g.result(g.nodes[i]));
    for (int k = 0; k < g.input_count(); ++k) provide_argument(g.input(k), k);
  }

  // ---- provided values

  constexpr void provide(node const& n, symbol y) {
    symbol_plan const& a = at[y];
    providers_.clear();
    if (a.kind == place_kind::kernel) return provide_kernel(n, y);
    if (a.kind == place_kind::immediate) return provide_immediate(n, y);
    if (!is_computed(y)) return;
    // readers in memory, readers that recompute
    bool stored = a.must_store || a.kind == place_kind::total, here = a.kind == place_kind::total,
         only_here = true;
    bool const cheap = a.kind == place_kind::lane && a.chain <= cheap_lane, row = a.kind == place_kind::row;
    demand const* const all = demands.data();
    for (std::int32_t k = a.demand; k != none; k = all[k].next) {
      demand const& d = all[k];
      if (d.access == none && (row || d.stage == a.stage)) {
        here = true;
        continue;
      }
      only_here = false;
      if (d.access != none && !d.again) stored = true;
      if (d.access == none && !cheap) here = true;
    }
    if (a.demand == none && !a.must_store) return;
    std::int32_t own = none;
    if (stored || here) own = make_own(n, y, stored);
    if (only_here) {
      demand const* const list = demands.data();
      std::int32_t* const operands = p.operands.data();
      for (std::int32_t k = a.demand; k != none; k = list[k].next) operands[list[k].operand] = own;
      return;
    }
    for (std::int32_t k = a.demand; k != none; k = demands[k].next) {
      demand const d = demands[k]; // a copy: recomputing the value adds demands on its operands
      if (d.access == none && (row || d.stage == a.stage)) serve(d, own);
      else if (d.access != none && stored && !must_repeat(d, a)) serve(d, load(y, d));
      else if (d.access == none && stored) serve(d, load_own(y, d));
      else if (d.access != none || cheap) serve(d, again(n, y, d));
      else serve(d, recall(own, d));
    }
  }

  /// True for a nest that runs no later than the nest that stores the value.
  constexpr bool must_repeat(demand const& d, symbol_plan const& a) const {
    return d.again && p.nests[d.nest].level <= a.level;
  }

  constexpr void serve(demand const& d, std::int32_t by) {
    if (d.operand != none) p.operands[d.operand] = by;
  }

  /// The stage that computes a row value or a reduction, whose readers are known: as late as they allow.
  constexpr std::int32_t stage_made(node const& n, symbol_plan const& a) const {
    if (a.kind == place_kind::lane) return a.stage;
    bool const sum = n.op->kind == operation_kind::reduction;
    std::int32_t wanted = none;
    demand const* const all = demands.data();
    for (std::int32_t k = a.demand; k != none && a.kind == place_kind::row; k = all[k].next)
      if (all[k].nest == a.nest && (wanted == none || all[k].stage < wanted)) wanted = all[k].stage;
    if (!sum) return larger(wanted, a.stage);
    return wanted == none || a.made < wanted ? a.made : wanted - 1;
  }

  constexpr std::int32_t make_own(node const& n, symbol y, bool stored) {
    symbol_plan const& a = at[y];
    bool const reduces = n.op->kind == operation_kind::reduction;
    if (reduces && a.kind == place_kind::row && !stored)
      if (picked const q = picked_by(n, a); q.from != none) return pick(y, q);
    std::int32_t const stage = stage_made(n, a);
    role where = a.kind == place_kind::row && !reduces ? role::row : role::lane;
    std::int32_t const own = compute(n, y, a.nest, stage, where);
    instance& v = p.instances[own];
    if (reduces) {
      v.what = a.kind == place_kind::row ? action::reduce : action::accumulate;
      v.detail = domains[domain_id(g.operand(n, 0))].inside;
      resolved const r = resolve(g.operand(n, 0));
      if (v.what == action::accumulate && at[r.base].kind == place_kind::row && at[r.base].nest == a.nest &&
          r.direct && domain_id(r.base) == domain_id(g.operand(n, 0))) // once for each row, not for each lane
        v.where = role::row;
    }
    if (stored) {
      v.access = own_access(y);
      p.accesses[v.access].buffer = buffer_of(y);
    }
    return own;
  }

  /// The operands of `sum(select(positions == label, from, 0))` along the lanes: one element of a row in
  /// memory.
  struct picked {
    symbol from = none, label = none;
  };
  constexpr picked picked_by(node const& n, symbol_plan const& a) const {
    domain const& d = domains[a.domain];
    node const* const chosen = g.producer(g.operand(n, 0));
    if (n.op != info_of<op::sum>() || d.rank != d.split + 1 || chosen == nullptr ||
        chosen->op != info_of<op::select>())
      return {};
    symbol const from = g.operand(*chosen, 1), other = resolve(g.operand(*chosen, 2)).base;
    node const *const same = g.producer(g.operand(*chosen, 0)), *const nothing = g.producer(other);
    if (same == nullptr || same->op != info_of<op::equal>() || nothing == nullptr ||
        nothing->op->kind != operation_kind::constant || g.attribute(*nothing) != 0)
      return {};
    symbol const base = resolve(from).base;
    if (at[root_of(base)].kind != place_kind::argument) return {};
    for (int k = 0; k < 2; ++k) {
      symbol const label = g.operand(*same, 1 - k);
      resolved const positions = resolve(g.operand(*same, k)), r = resolve(label);
      node const* const of = g.producer(positions.base);
      if (of == nullptr || of->op->kind != operation_kind::iota || !positions.repeats ||
          positions.axis[0] != d.split)
        continue;
      bool of_row =
          r.repeats && at[r.base].kind != place_kind::immediate && !is_floating(g.tensors[label].type);
      for (int j = 0; j < g.shape(r.base).rank; ++j) of_row = of_row && r.axis[j] < d.split;
      if (of_row) return {from, label};
    }
    return {};
  }
  constexpr std::int32_t pick(symbol y, picked const& q) {
    symbol_plan const& a = at[y];
    access from;
    memory_view const v = strides_of(resolve(q.from), from.stride);
    from.offset = v.offset;
    instance i;
    i.what = action::pick;
    i.where = role::row;
    i.type = g.tensors[y].type;
    i.nest = a.nest;
    i.stage = a.stage;
    i.first_operand = p.operands.push(none);
    i.operand_count = 1;
    i.value = y;
    i.access = p.accesses.push(from);
    demand d{i.nest, i.stage, none, i.access};
    d.next = at[v.root].demand;
    at[v.root].demand = demands.push(d);
    want(q.label, i.nest, i.stage, i.first_operand);
    return p.instances.push(i);
  }

  /// The access of a lane, row or total value to its own memory, along the axes of its nest.
  constexpr std::int32_t own_access(symbol y) {
    if (at[y].kind != place_kind::total && at[y].home == none) return p.accesses.push(whole(domain_id(y)));
    access a;
    memory_view const v = view_of(y);
    a.offset = v.offset;
    dimensions const& d = g.shape(y);
    bool const column = at[y].kind == place_kind::total && d.rank != 0;
    int j = column ? domains[at[y].domain].rank - domains[domain_id(y)].rank : 0;
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] != 1) a.stride[j++] = v.stride[k];
    return p.accesses.push(a);
  }

  constexpr std::int32_t buffer_of(symbol y) {
    if (at[y].home != none) return buffer_of(at[y].home);
    if (at[y].buffer == none) {
      at[y].buffer = p.buffers.push({residence::workspace, g.tensors[y].type, none, count(y), none, none});
    }
    return at[y].buffer;
  }

  constexpr std::int32_t load(symbol root, demand const& d) {
    p.accesses[d.access].buffer = buffer_of(root);
    if (d.operand == none) return none;
    access const& a = p.accesses[d.access];
    served const readers{d.nest, d.stage, a.offset};
    std::int32_t const found = providers_.find(readers, [&](std::int32_t k) {
      instance const& v = p.instances[k];
      return v.what == action::load && v.detail == d.axis && same(p.accesses[v.access], a, p.nests[d.nest].rank);
    });
    if (found != none) return found;
    instance v;
    v.what = action::load;
    v.type = g.tensors[root].type;
    v.nest = d.nest;
    v.stage = d.stage;
    v.access = d.access;
    v.detail = d.axis;
    v.value = root;
    return providers_.add(readers, p.instances.push(v));
  }
  constexpr std::int32_t load_own(symbol y, demand d) {
    d.access = own_access(y);
    d.axis = domains[domain_id(y)].inside;
    return load(y, d);
  }
  static constexpr bool same(access const& a, access const& b, int rank) {
    for (int k = 0; k < rank; ++k)
      if (a.stride[k] != b.stride[k]) return false;
    return a.offset == b.offset && a.buffer == b.buffer;
  }

  constexpr std::int32_t again(node const& n, symbol y, demand const& d) {
    domain const& in = domains[p.nests[d.nest].domain];
    bool const one_row = in.rank == 0 || in.split == 0; // numbers are values of the row
    role const where = domains[domain_id(y)].rank == 0                   ? (one_row ? role::row : role::once)
                       : nest_domain(y) == p.nests[d.nest].domain ? role::lane
                                                                         : role::row;
    served const readers{d.nest, where == role::once ? 0 : d.stage};
    std::int32_t const found = providers_.find(
        readers, [&](std::int32_t k) { return p.instances[k].what == action::compute; });
    return found != none ? found : providers_.add(readers, compute(n, y, d.nest, readers.stage, where));
  }

  constexpr std::int32_t recall(std::int32_t own, demand const& d) {
    instance& v = p.instances[own];
    if (v.slot == none) {
      v.slot = p.row_slots.push({v.type, none});
      providers_.clear();
    }
    served const readers{d.nest, d.stage};
    std::int32_t const found = providers_.find(readers, [](std::int32_t) { return true; });
    if (found != none) return found;
    instance r;
    r.what = action::recall;
    r.type = v.type;
    r.nest = d.nest;
    r.stage = d.stage;
    r.detail = v.slot;
    r.value = v.value;
    return providers_.add(readers, p.instances.push(r));
  }

  constexpr void provide_immediate(node const& n, symbol y) {
    for (std::int32_t k = at[y].demand; k != none; k = demands[k].next) {
      demand const d = demands[k];
      bool const position = n.op->kind == operation_kind::iota;
      served const readers{d.nest, position ? d.stage : 0};
      std::int32_t found = providers_.find(
          readers, [&](std::int32_t j) { return !position || p.instances[j].detail == d.axis; });
      if (found == none) {
        instance v;
        v.where = role::once;
        v.type = g.tensors[y].type;
        v.nest = d.nest;
        v.value = y;
        make_immediate(n, v, d.axis);
        if (v.what == action::position) v.stage = d.stage;
        found = providers_.add(readers, p.instances.push(v));
      }
      serve(d, found);
    }
  }

  constexpr void provide_kernel(node const& n, symbol y) {
    for (int j = 0; j < n.result_count; ++j) {
      symbol const t = g.result(n, j);
      if (j > 0) providers_.clear();
      for (std::int32_t k = at[t].demand; k != none; k = demands[k].next) serve(demands[k], load(t, demands[k]));
    }
    nest& own = p.nests[at[y].nest];
    own.first_instance = p.kernel_accesses.size();
    for (int k = 0; k < n.operand_count; ++k) {
      access a;
      memory_view const v = kernel_strides_of(g.operand(n, k), a.stride);
      a.offset = v.offset;
      demand d{at[y].nest, 0, none, p.accesses.push(a)};
      p.kernel_accesses.push(d.access);
      d.next = at[v.root].demand;
      at[v.root].demand = demands.push(d);
    }
    for (int j = 0; j < n.result_count; ++j) {
      symbol const t = g.result(n, j);
      access result;
      memory_view const v = row_major(t);
      for (int k = 0; k < g.shape(t).rank; ++k) result.stride[k] = v.stride[k];
      result.buffer = buffer_of(t);
      p.kernel_accesses.push(p.accesses.push(result));
    }
  }

  constexpr void provide_argument(symbol x, int position) {
    providers_.clear();
    buffer& b = p.buffers[buffer_of(x)];
    b.where = residence::argument;
    b.index = position;
    for (std::int32_t k = at[x].demand; k != none; k = demands[k].next)
      serve(demands[k], load(x, demands[k]));
  }

  /// Writes results to the caller's memory. A value that is two outputs, or an argument, is stored again by a
  /// nest that has it; a value that exists only after a nest is copied at the end.
  constexpr void settle_result(int k) {
    symbol const y = results[k];
    symbol_plan const& a = at[y];
    bool const first = is_computed(y) && a.buffer == none;
    if (first ||
        (a.kind != place_kind::lane && a.kind != place_kind::row && a.kind != place_kind::argument)) {
      std::int32_t const b = buffer_of(y);
      p.results.push(b);
      if (first) p.buffers[b].where = residence::result;
      if (first) p.buffers[b].index = k;
      return;
    }
    bool const lane =
        a.kind == place_kind::lane || (a.kind == place_kind::argument && domains[domain_id(y)].rank != 0);
    instance v;
    v.op = info_of<op::identity>();
    v.where = lane ? role::lane : role::row;
    v.type = g.tensors[y].type;
    v.nest = a.kind == place_kind::argument ? nest_over(nest_domain(y), 0) : a.nest;
    v.detail = domains[domain_id(y)].inside;
    v.stage = a.kind == place_kind::argument ? 0 : a.stage;
    v.first_operand = p.operands.push(none);
    v.operand_count = 1;
    v.value = y;
    v.access = own_access(y);
    p.accesses[v.access].buffer = p.buffers.push({residence::result, v.type, k, count(y), none, none});
    p.results.push(p.accesses[v.access].buffer);
    want(y, v.nest, v.stage, v.first_operand);
    p.instances.push(v);
  }
};

} // namespace cotangent::detail

#endif
