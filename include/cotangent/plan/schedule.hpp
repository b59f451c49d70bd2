// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SCHEDULE_HPP
#define COTANGENT_PLAN_SCHEDULE_HPP

#include <cotangent/plan/demand.hpp>
#include <cotangent/plan/provider_list.hpp>

// Schedules the values that each nest computes, loads and keeps: the second half of planning. Nodes are
// visited in reverse, so that all readers of a value are known when it is stored, kept in a row buffer, or
// recomputed.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class scheduler {
  placements& s_;
  demander reads_;
  provider_list<served> providers_; // of the current symbol

public:
  constexpr explicit scheduler(placements& symbols) : s_(symbols), reads_(symbols) {
    for (int k = 0; k < s_.g.output_count(); ++k) settle_result(k);
    for (std::int32_t i = s_.g.node_count - 1; i >= 0; --i)
      provide(s_.g.nodes[i], s_.g.result(s_.g.nodes[i]));
    for (int k = 0; k < s_.g.input_count(); ++k) provide_argument(s_.g.input(k), k);
  }

private:
  constexpr void provide(node const& n, symbol y) {
    symbol_plan const& a = s_.at[y];
    providers_.clear();
    if (a.kind == place_kind::kernel) return provide_kernel(n, y);
    if (a.kind == place_kind::immediate) return provide_immediate(n, y);
    if (!s_.is_computed(y)) return;
    // readers in memory, readers that recompute
    bool stored = a.must_store || a.kind == place_kind::total, here = a.kind == place_kind::total,
         only_here = true;
    bool const cheap = a.kind == place_kind::lane && a.chain <= placements::cheap_lane,
               row = a.kind == place_kind::row;
    demand const* const all = reads_.demands.data();
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
      demand const* const list = reads_.demands.data();
      std::int32_t* const operands = s_.p.operands.data();
      for (std::int32_t k = a.demand; k != none; k = list[k].next) operands[list[k].operand] = own;
      return;
    }
    for (std::int32_t k = a.demand; k != none; k = reads_.demands[k].next) {
      demand const d = reads_.demands[k]; // a copy: recomputing the value adds demands on its operands
      if (d.access == none && (row || d.stage == a.stage)) serve(d, own);
      else if (d.access != none && stored && !must_repeat(d, a)) serve(d, load(y, d));
      else if (d.access == none && stored) serve(d, load_own(y, d));
      else if (d.access != none || cheap) serve(d, again(n, y, d));
      else serve(d, recall(own, d));
    }
  }

  /// True for a nest that runs no later than the nest that stores the value.
  constexpr bool must_repeat(demand const& d, symbol_plan const& a) const {
    return d.again && s_.p.nests[d.nest].level <= a.level;
  }

  constexpr void serve(demand const& d, std::int32_t by) {
    if (d.operand != none) s_.p.operands[d.operand] = by;
  }

  /// The stage that computes a row value or a reduction, whose readers are known: as late as they allow.
  constexpr std::int32_t stage_made(node const& n, symbol_plan const& a) const {
    if (a.kind == place_kind::lane) return a.stage;
    bool const sum = n.op->kind == operation_kind::reduction;
    std::int32_t wanted = none;
    demand const* const all = reads_.demands.data();
    for (std::int32_t k = a.demand; k != none && a.kind == place_kind::row; k = all[k].next)
      if (all[k].nest == a.nest && (wanted == none || all[k].stage < wanted)) wanted = all[k].stage;
    if (!sum) return larger(wanted, a.stage);
    return wanted == none || a.made < wanted ? a.made : wanted - 1;
  }

  constexpr std::int32_t make_own(node const& n, symbol y, bool stored) {
    symbol_plan const& a = s_.at[y];
    bool const reduces = n.op->kind == operation_kind::reduction;
    if (reduces && a.kind == place_kind::row && !stored)
      if (picked const q = picked_by(n, a); q.from != none) return pick(y, q);
    std::int32_t const stage = stage_made(n, a);
    role where = a.kind == place_kind::row && !reduces ? role::row : role::lane;
    std::int32_t const own = reads_.compute(n, y, a.nest, stage, where);
    instance& v = s_.p.instances[own];
    if (reduces) {
      v.what = a.kind == place_kind::row ? action::reduce : action::accumulate;
      v.detail = s_.domains[s_.domain_id(s_.g.operand(n, 0))].inside;
      resolved const r = s_.resolve(s_.g.operand(n, 0));
      if (v.what == action::accumulate && s_.at[r.base].kind == place_kind::row &&
          s_.at[r.base].nest == a.nest && r.direct &&
          s_.domain_id(r.base) == s_.domain_id(s_.g.operand(n, 0))) // once for each row, not for each lane
        v.where = role::row;
    }
    if (stored) {
      v.access = own_access(y);
      s_.p.accesses[v.access].buffer = buffer_of(y);
    }
    return own;
  }

  /// The operands of `sum(select(positions == label, from, 0))` along the lanes: one element of a row in
  /// memory.
  struct picked {
    symbol from = none, label = none;
  };
  constexpr picked picked_by(node const& n, symbol_plan const& a) const {
    domain const& d = s_.domains[a.domain];
    node const* const chosen = s_.g.producer(s_.g.operand(n, 0));
    if (n.op != info_of<op::sum>() || d.rank != d.split + 1 || chosen == nullptr ||
        chosen->op != info_of<op::select>())
      return {};
    symbol const from = s_.g.operand(*chosen, 1), other = s_.resolve(s_.g.operand(*chosen, 2)).base;
    node const *const same = s_.g.producer(s_.g.operand(*chosen, 0)), *const nothing = s_.g.producer(other);
    if (same == nullptr || same->op != info_of<op::equal>() || nothing == nullptr ||
        nothing->op->kind != operation_kind::constant || s_.g.attribute(*nothing) != 0)
      return {};
    symbol const base = s_.resolve(from).base;
    if (s_.at[s_.root_of(base)].kind != place_kind::argument) return {};
    for (int k = 0; k < 2; ++k) {
      symbol const label = s_.g.operand(*same, 1 - k);
      resolved const positions = s_.resolve(s_.g.operand(*same, k)), r = s_.resolve(label);
      node const* const of = s_.g.producer(positions.base);
      if (of == nullptr || of->op->kind != operation_kind::iota || !positions.repeats ||
          positions.axis[0] != d.split)
        continue;
      bool of_row =
          r.repeats && s_.at[r.base].kind != place_kind::immediate && !is_floating(s_.g.tensors[label].type);
      for (int j = 0; j < s_.g.shape(r.base).rank; ++j) of_row = of_row && r.axis[j] < d.split;
      if (of_row) return {from, label};
    }
    return {};
  }
  constexpr std::int32_t pick(symbol y, picked const& q) {
    symbol_plan const& a = s_.at[y];
    access from;
    memory_view const v = s_.strides_of(s_.resolve(q.from), from.stride);
    from.offset = v.offset;
    instance i;
    i.what = action::pick;
    i.where = role::row;
    i.type = s_.g.tensors[y].type;
    i.nest = a.nest;
    i.stage = a.stage;
    i.first_operand = s_.p.operands.push(none);
    i.operand_count = 1;
    i.value = y;
    i.access = s_.p.accesses.push(from);
    demand d{i.nest, i.stage, none, i.access};
    d.next = s_.at[v.root].demand;
    s_.at[v.root].demand = reads_.demands.push(d);
    reads_.want(q.label, i.nest, i.stage, i.first_operand);
    return s_.p.instances.push(i);
  }

  /// The access of a lane, row or total value to its own memory, along the axes of its nest.
  constexpr std::int32_t own_access(symbol y) {
    if (s_.at[y].kind != place_kind::total && s_.at[y].home == none)
      return s_.p.accesses.push(reads_.whole(s_.domain_id(y)));
    access a;
    memory_view const v = s_.view_of(y);
    a.offset = v.offset;
    dimensions const& d = s_.g.shape(y);
    bool const column = s_.at[y].kind == place_kind::total && d.rank != 0;
    int j = column ? s_.domains[s_.at[y].domain].rank - s_.domains[s_.domain_id(y)].rank : 0;
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] != 1) a.stride[j++] = v.stride[k];
    return s_.p.accesses.push(a);
  }

  constexpr std::int32_t buffer_of(symbol y) {
    if (s_.at[y].home != none) return buffer_of(s_.at[y].home);
    if (s_.at[y].buffer == none) {
      s_.at[y].buffer =
          s_.p.buffers.push({residence::workspace, s_.g.tensors[y].type, none, s_.count(y), none, none});
    }
    return s_.at[y].buffer;
  }

  constexpr std::int32_t load(symbol root, demand const& d) {
    s_.p.accesses[d.access].buffer = buffer_of(root);
    if (d.operand == none) return none;
    access const& a = s_.p.accesses[d.access];
    served const readers{d.nest, d.stage, a.offset};
    std::int32_t const found = providers_.find(readers, [&](std::int32_t k) {
      instance const& v = s_.p.instances[k];
      return v.what == action::load && v.detail == d.axis &&
             same(s_.p.accesses[v.access], a, s_.p.nests[d.nest].rank);
    });
    if (found != none) return found;
    instance v;
    v.what = action::load;
    v.type = s_.g.tensors[root].type;
    v.nest = d.nest;
    v.stage = d.stage;
    v.access = d.access;
    v.detail = d.axis;
    v.value = root;
    return providers_.add(readers, s_.p.instances.push(v));
  }
  constexpr std::int32_t load_own(symbol y, demand d) {
    d.access = own_access(y);
    d.axis = s_.domains[s_.domain_id(y)].inside;
    return load(y, d);
  }
  static constexpr bool same(access const& a, access const& b, int rank) {
    for (int k = 0; k < rank; ++k)
      if (a.stride[k] != b.stride[k]) return false;
    return a.offset == b.offset && a.buffer == b.buffer;
  }

  constexpr std::int32_t again(node const& n, symbol y, demand const& d) {
    domain const& in = s_.domains[s_.p.nests[d.nest].domain];
    bool const one_row = in.rank == 0 || in.split == 0; // numbers are values of the row
    role const where = s_.domains[s_.domain_id(y)].rank == 0            ? (one_row ? role::row : role::once)
                       : s_.nest_domain(y) == s_.p.nests[d.nest].domain ? role::lane
                                                                        : role::row;
    served const readers{d.nest, where == role::once ? 0 : d.stage};
    std::int32_t const found =
        providers_.find(readers, [&](std::int32_t k) { return s_.p.instances[k].what == action::compute; });
    return found != none ? found
                         : providers_.add(readers, reads_.compute(n, y, d.nest, readers.stage, where));
  }

  constexpr std::int32_t recall(std::int32_t own, demand const& d) {
    instance& v = s_.p.instances[own];
    if (v.slot == none) {
      v.slot = s_.p.row_slots.push({v.type, none});
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
    return providers_.add(readers, s_.p.instances.push(r));
  }

  constexpr void provide_immediate(node const& n, symbol y) {
    for (std::int32_t k = s_.at[y].demand; k != none; k = reads_.demands[k].next) {
      demand const d = reads_.demands[k];
      bool const position = n.op->kind == operation_kind::iota;
      served const readers{d.nest, position ? d.stage : 0};
      std::int32_t found = providers_.find(
          readers, [&](std::int32_t j) { return !position || s_.p.instances[j].detail == d.axis; });
      if (found == none) {
        instance v;
        v.where = role::once;
        v.type = s_.g.tensors[y].type;
        v.nest = d.nest;
        v.value = y;
        reads_.make_immediate(n, v, d.axis);
        if (v.what == action::position) v.stage = d.stage;
        found = providers_.add(readers, s_.p.instances.push(v));
      }
      serve(d, found);
    }
  }

  constexpr void provide_kernel(node const& n, symbol y) {
    for (int j = 0; j < n.result_count; ++j) {
      symbol const t = s_.g.result(n, j);
      if (j > 0) providers_.clear();
      for (std::int32_t k = s_.at[t].demand; k != none; k = reads_.demands[k].next)
        serve(reads_.demands[k], load(t, reads_.demands[k]));
    }
    nest& own = s_.p.nests[s_.at[y].nest];
    own.first_instance = s_.p.kernel_accesses.size();
    for (int k = 0; k < n.operand_count; ++k) {
      access a;
      memory_view const v = s_.kernel_strides_of(s_.g.operand(n, k), a.stride);
      a.offset = v.offset;
      demand d{s_.at[y].nest, 0, none, s_.p.accesses.push(a)};
      s_.p.kernel_accesses.push(d.access);
      d.next = s_.at[v.root].demand;
      s_.at[v.root].demand = reads_.demands.push(d);
    }
    for (int j = 0; j < n.result_count; ++j) {
      symbol const t = s_.g.result(n, j);
      access result;
      memory_view const v = s_.row_major(t);
      for (int k = 0; k < s_.g.shape(t).rank; ++k) result.stride[k] = v.stride[k];
      result.buffer = buffer_of(t);
      s_.p.kernel_accesses.push(s_.p.accesses.push(result));
    }
  }

  constexpr void provide_argument(symbol x, int position) {
    providers_.clear();
    buffer& b = s_.p.buffers[buffer_of(x)];
    b.where = residence::argument;
    b.index = position;
    for (std::int32_t k = s_.at[x].demand; k != none; k = reads_.demands[k].next)
      serve(reads_.demands[k], load(x, reads_.demands[k]));
  }

  /// Writes results to the caller's memory. A value that is two outputs, or an argument, is stored again by a
  /// nest that has it; a value that exists only after a nest is copied at the end.
  constexpr void settle_result(int k) {
    symbol const y = s_.results[k];
    symbol_plan const& a = s_.at[y];
    bool const first = s_.is_computed(y) && a.buffer == none;
    if (first ||
        (a.kind != place_kind::lane && a.kind != place_kind::row && a.kind != place_kind::argument)) {
      std::int32_t const b = buffer_of(y);
      s_.p.results.push(b);
      if (first) s_.p.buffers[b].where = residence::result;
      if (first) s_.p.buffers[b].index = k;
      return;
    }
    bool const lane = a.kind == place_kind::lane ||
                      (a.kind == place_kind::argument && s_.domains[s_.domain_id(y)].rank != 0);
    instance v;
    v.op = info_of<op::identity>();
    v.where = lane ? role::lane : role::row;
    v.type = s_.g.tensors[y].type;
    v.nest = a.kind == place_kind::argument ? reads_.nest_over(s_.nest_domain(y), 0) : a.nest;
    v.detail = s_.domains[s_.domain_id(y)].inside;
    v.stage = a.kind == place_kind::argument ? 0 : a.stage;
    v.first_operand = s_.p.operands.push(none);
    v.operand_count = 1;
    v.value = y;
    v.access = own_access(y);
    s_.p.accesses[v.access].buffer =
        s_.p.buffers.push({residence::result, v.type, k, s_.count(y), none, none});
    s_.p.results.push(s_.p.accesses[v.access].buffer);
    reads_.want(y, v.nest, v.stage, v.first_operand);
    s_.p.instances.push(v);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
