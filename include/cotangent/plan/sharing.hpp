// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SHARING_HPP
#define COTANGENT_PLAN_SHARING_HPP

#include <cotangent/plan/plan.hpp>

#include <cstdint>

// Finds nests of a plan with equal code. The layers of a network become equal nests that differ only in their
// memory; a program that contains each of them once is compiled in a fraction of the time.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The buffers of each nest, numbered from 0 in the order of first use, and the first nest that does the same
/// with its own.
struct nest_sharing {
  array<std::int32_t> like;         // by nest: the first nest of the same code
  array<std::int32_t> count;        // by nest: the number of nests like it, 0 if it is like another one
  array<std::int32_t> first_buffer; // by nest, and the end: into buffers
  array<std::int32_t> buffers;      // of the plan, by own number
  array<std::int32_t> own;          // by access: the own number of its buffer in its nest
  array<std::int32_t> own_of_slot;  // by row slot
};

/// `Plan` has pools with `data`, as a frozen plan has.
template <class Plan> class sharer {
  graph_view g_;
  Plan const& p_;
  array<std::int32_t> seen_; // by buffer: its last index in s.buffers, + 1
  hash_index index_;

public:
  nest_sharing s;

  constexpr sharer(graph_view const& g, Plan const& p) : g_(g), p_(p), seen_(p.size.buffers) {
    int const nests = p.size.nests;
    s.like = array<std::int32_t>(nests);
    s.count = array<std::int32_t>(nests);
    s.first_buffer = array<std::int32_t>(nests + 1);
    s.own = array<std::int32_t>(p.size.accesses);
    s.own_of_slot = array<std::int32_t>(p.size.row_slots);
    s.buffers.reserve(p.size.accesses + p.size.row_slots);
    for (std::int32_t k = 0; k < nests; ++k) {
      nest const& n = p.nests.data[k];
      s.first_buffer[k] = s.buffers.size();
      std::uint32_t const h = n.kind == nest_kind::kernel ? number_kernel(n) : number_loops(n);
      std::int32_t const found = index_.find(h, [&](std::int32_t j) { return equal(p.nests.data[j], n); });
      index_.add(h, found == none);
      s.like[k] = found == none ? k : found;
      ++s.count[s.like[k]];
    }
    s.first_buffer[nests] = s.buffers.size();
  }

private:
  /// The own number of a buffer in the nest whose buffers are being numbered.
  constexpr std::int32_t number(std::int32_t buffer) {
    std::int32_t const first = s.first_buffer[static_cast<int>(index_.size())];
    std::int32_t const known = seen_[buffer] - 1;
    if (known >= first) return known - first;
    s.buffers.push(buffer);
    seen_[buffer] = s.buffers.size();
    return s.buffers.size() - 1 - first;
  }
  constexpr std::uint32_t number_loops(nest const& n) {
    std::uint64_t h = static_cast<std::uint64_t>(n.instance_count) << 8 ^ static_cast<std::uint32_t>(n.stages);
    for (int k = 0; k < n.rank; ++k) h = h * 31 + static_cast<std::uint64_t>(n.size[k]);
    for (int k = n.first_instance; k < n.first_instance + n.instance_count; ++k) {
      instance const& v = p_.instances.data[k];
      if (v.op != nullptr) h = h * 31 + v.op->code;
      if (v.access != none) s.own[v.access] = number(p_.accesses.data[v.access].buffer);
      if (v.slot != none) s.own_of_slot[v.slot] = number(p_.row_slots.data[v.slot].buffer);
    }
    return mix(1, h) | 1u;
  }
  constexpr std::uint32_t number_kernel(nest const& n) {
    node const& of = g_.nodes[n.node];
    std::uint64_t h = of.op->code;
    for (int k = 0; k < of.operand_count + of.result_count; ++k) {
      std::int32_t const a = p_.kernel_accesses.data[n.first_instance + k];
      s.own[a] = number(p_.accesses.data[a].buffer);
      h = h * 31 + static_cast<std::uint32_t>(g_.tensors[g_.ids[of.first + k]].shape);
    }
    return mix(2, h) | 1u;
  }

  constexpr bool equal(nest const& a, nest const& b) const {
    if (a.kind != b.kind) return false;
    return a.kind == nest_kind::kernel ? equal_kernels(a, b) : equal_loops(a, b);
  }
  constexpr bool equal_accesses(std::int32_t a, std::int32_t b, int rank) const {
    if (a == none || b == none) return a == b;
    access const &x = p_.accesses.data[a], &y = p_.accesses.data[b];
    if (s.own[a] != s.own[b] || x.offset != y.offset) return false;
    for (int k = 0; k < rank; ++k)
      if (x.stride[k] != y.stride[k]) return false;
    return true;
  }
  constexpr bool equal_kernels(nest const& a, nest const& b) const {
    node const &m = g_.nodes[a.node], &n = g_.nodes[b.node];
    if (m.op != n.op || m.operand_count != n.operand_count || m.attribute_count != n.attribute_count) return false;
    for (int k = 0; k < m.attribute_count; ++k)
      if (g_.attribute(m, k) != g_.attribute(n, k)) return false;
    for (int k = 0; k < m.operand_count + m.result_count; ++k) {
      tensor_symbol const &x = g_.tensors[g_.ids[m.first + k]], &y = g_.tensors[g_.ids[n.first + k]];
      if (x.type != y.type || x.shape != y.shape ||
          !equal_accesses(p_.kernel_accesses.data[a.first_instance + k], p_.kernel_accesses.data[b.first_instance + k],
                          g_.shapes[x.shape].rank))
        return false;
    }
    return true;
  }
  constexpr bool equal_loops(nest const& a, nest const& b) const {
    if (a.rank != b.rank || a.split != b.split || a.stages != b.stages || a.instance_count != b.instance_count ||
        a.row_slots != b.row_slots || a.widest != b.widest || a.rows_in_lanes != b.rows_in_lanes || a.block != b.block)
      return false;
    for (int k = 0; k < a.rank; ++k)
      if (a.size[k] != b.size[k]) return false;
    std::int32_t slots = 0; // of a, minus that of b: the same for all
    for (int k = 0; k < a.instance_count; ++k)
      if (p_.instances.data[a.first_instance + k].slot != none && p_.instances.data[b.first_instance + k].slot != none) {
        slots = p_.instances.data[a.first_instance + k].slot - p_.instances.data[b.first_instance + k].slot;
        break;
      }
    for (int k = 0; k < a.instance_count; ++k)
      if (!equal_instances(p_.instances.data[a.first_instance + k], p_.instances.data[b.first_instance + k], a, b, slots))
        return false;
    return true;
  }
  constexpr bool equal_instances(instance const& u, instance const& v, nest const& a, nest const& b, std::int32_t slots) const {
    if (u.op != v.op || u.what != v.what || u.where != v.where || u.type != v.type || u.stage != v.stage ||
        u.place != v.place || u.bits != v.bits || u.operand_count != v.operand_count || u.what == action::size ||
        !equal_accesses(u.access, v.access, a.rank) || (u.slot == none) != (v.slot == none))
      return false;
    if (u.slot != none && (u.slot - v.slot != slots || s.own_of_slot[u.slot] != s.own_of_slot[v.slot] ||
                           p_.row_slots.data[u.slot].exact != p_.row_slots.data[v.slot].exact))
      return false;
    for (int k = 0; k < u.operand_count; ++k)
      if (p_.operands.data[u.first_operand + k] - a.first_instance != p_.operands.data[v.first_operand + k] - b.first_instance)
        return false;
    if (u.what == action::recall) return u.detail - v.detail == slots;
    if (u.what == action::window || u.what == action::shift) return equal_windows(u.detail, v.detail, a.rank);
    return u.detail == v.detail;
  }
  constexpr bool equal_windows(std::int32_t a, std::int32_t b, int rank) const {
    for (int k = 0; k < rank; ++k)
      if (p_.windows.data[a].low[k] != p_.windows.data[b].low[k] || p_.windows.data[a].high[k] != p_.windows.data[b].high[k])
        return false;
    return true;
  }
};

/// Finds equal nests in a frozen plan of `g`.
///
/// Cost: linear.
/// Checked: tests/static/sharing.cpp.
template <class Plan> constexpr nest_sharing find_shared(graph_view const& g, Plan const& p) { return detail::sharer(g, p).s; }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
