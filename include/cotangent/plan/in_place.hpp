// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_IN_PLACE_HPP
#define COTANGENT_PLAN_IN_PLACE_HPP

#include <cotangent/plan/plan.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

constexpr bool same_access(access const& a, access const& b, int rank) noexcept {
  if (a.offset != b.offset) return false;
  for (int k = 0; k < rank; ++k)
    if (a.stride[k] != b.stride[k]) return false;
  return true;
}

/// Decides whether a result may alias an argument exactly: every read of the argument must precede the first
/// write of the result, or be of the same element. `P` is a frozen plan.
template <class Plan> class in_place_search {
  Plan const& P;
  nest n{};
  std::int32_t to_ = none;

  /// The phase of an instance within a block of rows: with the row values of its stage, or with its lanes.
  static constexpr int phase(instance const& v) { return 2 * v.stage + (v.where == role::lane ? 1 : 0); }
  constexpr bool is_one_row() const {
    for (int k = 0; k < n.split; ++k)
      if (n.size[k] != 1) return false;
    return true;
  }
  constexpr bool stores(instance const& v) const {
    return v.access != none && P.accesses.data[v.access].buffer == to_ &&
           (v.what == action::compute || v.what == action::reduce || v.what == action::accumulate);
  }
  constexpr bool holds(instance const& v) const {
    return v.slot != none && P.row_slots.data[v.slot].buffer == to_;
  }

  /// True if instance `r` reads the argument before instance `w` overwrites the elements.
  constexpr bool is_read_before(std::int32_t r, std::int32_t w) const {
    instance const &reads = P.instances.data[r], &writes = P.instances.data[w];
    if (reads.where == role::once) return true;
    if (writes.what == action::accumulate) return false; // clears the result first
    bool const earlier = phase(reads) < phase(writes);
    if (earlier && is_one_row()) return true;
    if (phase(reads) > phase(writes) || reads.what == action::window) return false;
    access own; // of a row buffer: contiguous lanes
    own.stride[n.rank > 0 ? n.rank - 1 : 0] = 1;
    access const &to = !stores(writes) ? own : P.accesses.data[writes.access],
                 &from = P.accesses.data[reads.access];
    if (!same_access(from, to, n.rank)) return false;
    if (earlier) return true;
    // A reduction is stored after its lanes; other steps of one loop are ordered by index.
    return reads.what != action::pick && (writes.what == action::reduce || r < w);
  }

  /// True if the kernel reads the argument only where it writes the result. (Others read at other positions.)
  constexpr bool is_replaced(std::int32_t from) const {
    if (n.replaced == none) return false;
    std::int32_t const* const at = P.kernel_accesses.data + n.first_instance;
    int which = none;
    for (int k = 0; k < n.replacements; ++k)
      if (P.accesses.data[at[n.replacing + k]].buffer == to_) which = k;
    if (which == none) return false;
    for (int k = 0; k < n.replacing; ++k) // (the operands)
      if (k != n.replaced + which && P.accesses.data[at[k]].buffer == from) return false;
    access const &reads = P.accesses.data[at[n.replaced + which]], &writes = P.accesses.data[at[n.replacing + which]];
    return reads.buffer == from && same_access(reads, writes, max_rank);
  }

public:
  constexpr explicit in_place_search(Plan const& plan) : P(plan) {}

  constexpr bool find(int argument, int result) {
    std::int32_t from = none;
    to_ = none;
    for (std::int32_t k = 0; k < P.size.buffers; ++k) {
      buffer const& b = P.buffers.data[k];
      if (b.where == residence::argument && b.index == argument) from = k;
      if (b.where == residence::result && b.index == result) to_ = k;
    }
    if (from == none) return true;
    for (std::int32_t k = 0; k < P.size.results; ++k)
      if (k != result && P.results.data[k] == from) return false; // copied after all nests
    if (to_ == none) return true;                                 // so is this one
    if (P.buffers.data[from].type != P.buffers.data[to_].type) return false;
    std::int32_t const last_read = P.buffers.data[from].last_nest,
                       first_write = P.buffers.data[to_].first_nest;
    if (last_read != first_write) return last_read < first_write;
    n = P.nests.data[first_write];
    if (n.kind == nest_kind::kernel) return is_replaced(from);
    std::int32_t const end = n.first_instance + n.instance_count;
    for (std::int32_t w = n.first_instance; w < end; ++w) {
      if (!stores(P.instances.data[w]) && !holds(P.instances.data[w])) continue;
      for (std::int32_t r = n.first_instance; r < end; ++r) {
        instance const& v = P.instances.data[r];
        if (v.access != none && P.accesses.data[v.access].buffer == from && !is_read_before(r, w))
          return false;
      }
    }
    return true;
  }
};

template <class Plan> constexpr bool may_be_in_place(Plan const& P, int argument, int result) {
  return in_place_search<Plan>(P).find(argument, result);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
