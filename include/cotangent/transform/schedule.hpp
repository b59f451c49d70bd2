// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SCHEDULE_HPP
#define COTANGENT_TRANSFORM_SCHEDULE_HPP

#include <cotangent/transform/fuse.hpp>

// Which values each nest computes, loads, keeps: the second half of planning. Nodes are visited in reverse, so that all
// readers of a value are known when it is decided whether it is stored, kept in a row buffer, or computed again.

namespace cotangent::detail {

class scheduler : public fuser {
  array<demand> demands_;
  array<std::int32_t> providers_; // instances that serve the symbol at hand
  hash_index nest_index_;

public:
  constexpr explicit scheduler(graph_view const& graph) : fuser(graph) {
    make_nests();
    for (int k = 0; k < g.output_count(); ++k) settle_result(k);
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) provide(g.nodes[i], g.result(g.nodes[i]));
    for (int k = 0; k < g.input_count(); ++k) provide_argument(g.input(k), k);
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
      nest_index_.add(0, false);
    }
  }
  /// The nest of loops over a domain at a level.
  constexpr std::int32_t nest_over(std::int32_t domain, std::int32_t level) {
    if (p.nests.size() > 0)
      if (nest const& last = p.nests.back(); last.node == domain && last.level == level && last.kind == nest_kind::loops)
        return p.nests.size() - 1;
    std::uint32_t const h = mix(static_cast<std::uint32_t>(level) + 7, static_cast<std::uint64_t>(domain)) | 1u;
    std::int32_t const found = nest_index_.find(h, [&](std::int32_t k) {
      return p.nests[k].kind == nest_kind::loops && p.nests[k].level == level && p.nests[k].node == domain;
    });
    if (found != none) return found;
    nest_index_.add(h);
    nest n{nest_kind::loops, level};
    n.node = domain; // until the nests are finished
    n.rank = domains[domain].rank;
    n.split = domains[domain].split == none ? 0 : domains[domain].split;
    for (int k = 0; k < n.rank; ++k) n.size[k] = domains[domain].size[k];
    return p.nests.push(n);
  }

  // ---- reading

  constexpr void want(symbol t, std::int32_t in, std::int32_t stage, std::int32_t operand) {
    symbol_plan& o = at[t];
    if (o.kind == place_kind::lane && o.nest == in) {
      o.demand = demands_.push({in, stage, operand, none, none, false, o.demand});
      return;
    }
    if (o.kind == place_kind::immediate) {
      std::int32_t const axis = g.shape(t).rank == 1 && g.shape(t).size[0] != 1 ? 0 : none;
      o.demand = demands_.push({in, stage, operand, none, axis, false, o.demand});
      return;
    }
    resolved const r = resolve(t);
    demand d{in, stage, operand};
    symbol list = r.base;
    std::int32_t const domain = p.nests[in].node;
    if (at[r.base].kind == place_kind::immediate)
      d.axis = g.shape(r.base).rank == 1 ? (r.repeats ? r.axis[0] : g.shape(r.base).size[0] == 1 ? none : 0) : none;
    else if (!within(r, domain) || at[r.base].nest != in) {
      access a;
      memory_view const v = strides_of(r, a.stride);
      a.offset = v.offset;
      list = v.root;
      d.access = p.accesses.push(a);
      d.again = v.root == r.base && repeatable(r, domain);
    }
    d.next = at[list].demand;
    at[list].demand = demands_.push(d);
  }

  /// An instance of node `n` in a nest, and its demands on its operands.
  constexpr std::int32_t compute(node const& n, symbol y, std::int32_t in, std::int32_t stage, role where) {
    std::int32_t const first = p.operands.size();
    instance v{n.op, action::compute, where, g.tensors[y].type, in, stage, first, n.operand_count};
    v.value = y;
    if (n.operand_count == 0) return copy_immediate(n, y, v);
    if (n.op->kind == operation_kind::pad) return copy_window(n, y, v);
    std::int32_t* const operands = p.operands.extend(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) operands[k] = none; // until they are served
    for (int k = 0; k < n.operand_count; ++k) want(g.operand(n, k), in, stage, first + k);
    return p.instances.push(v);
  }

  /// What is stored of a constant, of positions, of a size: a conversion to its own type.
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
    std::int32_t const copy = p.instances.push(v); // readers come before what they read
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

  /// A pad reads its operand at the position less the start of its window.
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
    from.access = p.accesses.push(access_of(n, y));
    demand d{v.nest, v.stage, none, from.access};
    symbol const root = view_of(resolve(g.operand(n, 0)).base).root;
    d.next = at[root].demand;
    at[root].demand = demands_.push(d);
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

  // ---- providing

  constexpr void provide(node const& n, symbol y) {
    symbol_plan const& a = at[y];
    providers_.clear();
    if (a.kind == place_kind::kernel) return provide_kernel(n, y);
    if (a.kind == place_kind::immediate) return provide_immediate(n, y);
    if (!is_computed(y)) return;
    // who needs it in memory, who computes it again
    bool stored = a.must_store || a.kind == place_kind::total, here = a.kind == place_kind::total, only_here = true;
    bool const cheap = a.kind == place_kind::lane && a.chain <= cheap_lane, row = a.kind == place_kind::row;
    demand const* const all = demands_.data();
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
      demand const* const list = demands_.data();
      std::int32_t* const operands = p.operands.data();
      for (std::int32_t k = a.demand; k != none; k = list[k].next) operands[list[k].operand] = own;
      return;
    }
    for (std::int32_t k = a.demand; k != none; k = demands_[k].next) {
      demand const d = demands_[k];
      if (d.access == none && (row || d.stage == a.stage)) serve(d, own);
      else if (d.access != none && stored && !must_repeat(d, a)) serve(d, load(y, d));
      else if (d.access == none && stored) serve(d, load_own(y, d));
      else if (d.access != none || cheap) serve(d, again(n, y, d));
      else serve(d, recall(own, d));
    }
  }

  /// A nest that runs no later than the one that stores the value.
  constexpr bool must_repeat(demand const& d, symbol_plan const& a) const {
    return d.again && p.nests[d.nest].level <= a.level;
  }

  constexpr void serve(demand const& d, std::int32_t by) {
    if (d.operand != none) p.operands[d.operand] = by;
  }

  constexpr std::int32_t make_own(node const& n, symbol y, bool stored) {
    symbol_plan const& a = at[y];
    bool const reduces = n.op->kind == operation_kind::reduction;
    std::int32_t const stage = a.stage - (reduces && a.kind == place_kind::row ? 1 : 0);
    role where = a.kind == place_kind::row && !reduces ? role::row : role::lane;
    std::int32_t const own = compute(n, y, a.nest, stage, where);
    instance& v = p.instances[own];
    if (reduces) {
      v.what = a.kind == place_kind::row ? action::reduce : action::accumulate;
      resolved const r = resolve(g.operand(n, 0));
      if (v.what == action::accumulate && at[r.base].kind == place_kind::row && at[r.base].nest == a.nest && r.direct &&
          domain_id(r.base) == domain_id(g.operand(n, 0))) // once for each row, not for each lane
        v.where = role::row;
    }
    if (stored) {
      v.access = own_access(y);
      p.accesses[v.access].buffer = buffer_of(y);
    }
    return own;
  }

  /// Where the value of a lane, a row or a total stands, along the axes of its nest.
  constexpr std::int32_t own_access(symbol y) {
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
    for (int k = providers_.size() - 1; k >= 0; --k) {
      instance const& v = p.instances[providers_[k]];
      if (v.what == action::load && v.nest == d.nest && v.stage == d.stage &&
          same(p.accesses[v.access], p.accesses[d.access], p.nests[d.nest].rank))
        return providers_[k];
    }
    instance v;
    v.what = action::load;
    v.type = g.tensors[root].type;
    v.nest = d.nest;
    v.stage = d.stage;
    v.access = d.access;
    v.value = root;
    std::int32_t const at_ = p.instances.push(v);
    providers_.push(at_);
    return at_;
  }
  constexpr std::int32_t load_own(symbol y, demand d) {
    access a = p.accesses[own_access(y)];
    d.access = p.accesses.push(a);
    return load(y, d);
  }
  static constexpr bool same(access const& a, access const& b, int rank) {
    for (int k = 0; k < rank; ++k)
      if (a.stride[k] != b.stride[k]) return false;
    return a.offset == b.offset && a.buffer == b.buffer;
  }

  constexpr std::int32_t again(node const& n, symbol y, demand const& d) {
    for (int k = providers_.size() - 1; k >= 0; --k) {
      instance const& v = p.instances[providers_[k]];
      if (v.what == action::compute && v.nest == d.nest && (v.stage == d.stage || v.where == role::once)) return providers_[k];
    }
    domain const& in = domains[p.nests[d.nest].node];
    bool const one_row = in.rank == 0 || in.split == 0; // where numbers are values of the row
    role const where = domains[domain_id(y)].rank == 0 ? (one_row ? role::row : role::once)
                       : domain_id(y) == p.nests[d.nest].node ? role::lane
                                                              : role::row;
    std::int32_t const at_ = compute(n, y, d.nest, where == role::once ? 0 : d.stage, where);
    providers_.push(at_);
    return at_;
  }

  constexpr std::int32_t recall(std::int32_t own, demand const& d) {
    instance& v = p.instances[own];
    if (v.slot == none) {
      v.slot = p.row_slots.push({v.type, none});
      providers_.clear();
    }
    for (int k = providers_.size() - 1; k >= 0; --k)
      if (p.instances[providers_[k]].stage == d.stage) return providers_[k];
    instance r;
    r.what = action::recall;
    r.type = v.type;
    r.nest = d.nest;
    r.stage = d.stage;
    r.detail = v.slot;
    r.value = v.value;
    std::int32_t const at_ = p.instances.push(r);
    providers_.push(at_);
    return at_;
  }

  constexpr void provide_immediate(node const& n, symbol y) {
    for (std::int32_t k = at[y].demand; k != none; k = demands_[k].next) {
      demand const d = demands_[k];
      std::int32_t found = none;
      for (int j = providers_.size() - 1; j >= 0 && found == none; --j) {
        instance const& v = p.instances[providers_[j]];
        if (v.nest == d.nest && (v.what != action::position || (v.stage == d.stage && v.detail == d.axis))) found = providers_[j];
      }
      if (found == none) {
        instance v;
        v.where = role::once;
        v.type = g.tensors[y].type;
        v.nest = d.nest;
        v.value = y;
        make_immediate(n, v, d.axis);
        if (v.what == action::position) v.stage = d.stage;
        found = p.instances.push(v);
        providers_.push(found);
      }
      serve(d, found);
    }
  }

  constexpr void provide_kernel(node const& n, symbol y) {
    for (std::int32_t k = at[y].demand; k != none; k = demands_[k].next) serve(demands_[k], load(y, demands_[k]));
    nest& own = p.nests[at[y].nest];
    own.first_instance = p.kernel_accesses.size();
    for (int k = 0; k < n.operand_count; ++k) {
      access a;
      memory_view const v = kernel_strides_of(g.operand(n, k), a.stride);
      a.offset = v.offset;
      demand d{at[y].nest, 0, none, p.accesses.push(a)};
      p.kernel_accesses.push(d.access);
      d.next = at[v.root].demand;
      at[v.root].demand = demands_.push(d);
    }
    access result;
    memory_view const v = row_major(y);
    for (int k = 0; k < g.shape(y).rank; ++k) result.stride[k] = v.stride[k];
    result.buffer = buffer_of(y);
    p.kernel_accesses.push(p.accesses.push(result));
  }

  constexpr void provide_argument(symbol x, int position) {
    providers_.clear();
    buffer& b = p.buffers[buffer_of(x)];
    b.where = residence::argument;
    b.index = position;
    for (std::int32_t k = at[x].demand; k != none; k = demands_[k].next) serve(demands_[k], load(x, demands_[k]));
  }

  /// Results are written where the caller wants them. What two outputs share, or is an argument, is stored once more by
  /// a nest that has it at hand; what only exists after a nest is copied at the end.
  constexpr void settle_result(int k) {
    symbol const y = results[k];
    symbol_plan const& a = at[y];
    bool const first = is_computed(y) && a.buffer == none;
    if (first || (a.kind != place_kind::lane && a.kind != place_kind::row && a.kind != place_kind::argument)) {
      std::int32_t const b = buffer_of(y);
      p.results.push(b);
      if (first) p.buffers[b].where = residence::result;
      if (first) p.buffers[b].index = k;
      return;
    }
    bool const lane = a.kind == place_kind::lane || (a.kind == place_kind::argument && domains[domain_id(y)].rank != 0);
    instance v;
    v.op = info_of<op::identity>();
    v.where = lane ? role::lane : role::row;
    v.type = g.tensors[y].type;
    v.nest = a.kind == place_kind::argument ? nest_over(domain_id(y), 0) : a.nest;
    v.stage = a.kind == place_kind::argument ? 0 : a.stage;
    v.first_operand = p.operands.push(none);
    v.operand_count = 1;
    v.value = y;
    v.access = own_access(y);
    p.accesses[v.access].buffer =
        p.buffers.push({residence::result, v.type, k, count(y), none, none});
    p.results.push(p.accesses[v.access].buffer);
    want(y, v.nest, v.stage, v.first_operand);
    p.instances.push(v);
  }
};

} // namespace cotangent::detail

#endif
