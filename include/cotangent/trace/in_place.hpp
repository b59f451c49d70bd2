// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_IN_PLACE_HPP
#define COTANGENT_TRACE_IN_PLACE_HPP

#include <cotangent/transform/plan.hpp>

#include <cstdint>

namespace cotangent::detail {

constexpr bool same_access(access const& a, access const& b, int rank) noexcept {
  if (a.offset != b.offset) return false;
  for (int k = 0; k < rank; ++k)
    if (a.stride[k] != b.stride[k]) return false;
  return true;
}

/// Whether a result may lie exactly where an argument lies: when it is written, nothing of the argument is needed but
/// the very element that is written. `P` is a frozen plan.
template <class Plan> constexpr bool may_be_in_place(Plan const& P, int argument, int result) {
  std::int32_t from = none, to = none;
  for (std::int32_t k = 0; k < P.size.buffers; ++k) {
    buffer const& b = P.buffers.data[k];
    if (b.where == residence::argument && b.index == argument) from = k;
    if (b.where == residence::result && b.index == result) to = k;
  }
  if (from == none) return true;
  for (std::int32_t k = 0; k < P.size.results; ++k)
    if (k != result && P.results.data[k] == from) return false; // copied after everything has run
  if (to == none) return true;                                  // so is this one
  if (P.buffers.data[from].type != P.buffers.data[to].type) return false;
  for (std::int32_t k = 0; k < P.size.row_slots; ++k)
    if (P.row_slots.data[k].buffer == to) return false; // it holds something else meanwhile
  std::int32_t const last_read = P.buffers.data[from].last_nest, first_write = P.buffers.data[to].first_nest;
  if (last_read != first_write) return last_read < first_write;
  nest const& n = P.nests.data[first_write];
  if (n.kind == nest_kind::kernel || n.stages != 1) return false; // a later stage may read again
  access const* seen = nullptr;
  for (std::int32_t k = n.first_instance; k < n.first_instance + n.instance_count; ++k) {
    instance const& v = P.instances.data[k];
    if (v.access == none) continue;
    access const& a = P.accesses.data[v.access];
    if (a.buffer != from && a.buffer != to) continue;
    if (v.what == action::accumulate && a.buffer == to) return false; // begins with zeros
    if ((v.what == action::window || v.what == action::pick) && a.buffer == from) return false; // at another position
    if (seen != nullptr && !same_access(*seen, a, n.rank)) return false;
    seen = &a;
  }
  return true;
}

} // namespace cotangent::detail

#endif
