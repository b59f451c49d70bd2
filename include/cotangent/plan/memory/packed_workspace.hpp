// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_PACKED_WORKSPACE_HPP
#define COTANGENT_PLAN_MEMORY_PACKED_WORKSPACE_HPP

#include <cotangent/plan/memory/arena.hpp>
#include <cotangent/plan/plan.hpp>

#include <cstdint>

// Packs the buffers of a plan with constant sizes at offsets of their own instead of in slots.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// By buffer its offset in the workspace, none for buffers elsewhere; and the total bytes.
struct packed_workspace {
  array<std::int64_t> offsets; // empty: slots need no more
  std::int64_t bytes = 0;
};

/// Offsets that need less than `in_slots` bytes, if they are found within the limits of a constant
/// evaluation.
///
/// Checked: tests/runtime/memory_profile.cpp
constexpr packed_workspace pack_workspace(buffer const* buffers, int count, std::int64_t in_slots) {
  packed_workspace packed;
  array<lifetime> values;
  packed.offsets.assign(count, none);
  for (int k = 0; k < count; ++k) {
    buffer const& b = buffers[k];
    if (b.where != residence::workspace || b.first_nest == none || b.index == none) continue;
    packed.offsets[k] = values.size();
    std::int64_t const bytes = detail::capped_product(b.count, static_cast<std::int64_t>(size_of(b.type)));
    values.push({b.first_nest, b.last_nest, bytes == 0 ? 64 : detail::whole_lines(bytes)});
  }
  // measured on clang: 700 steps for each value, 100 for each pair, plus sorting
  constexpr int most_values = 900, most_searched = 128, most_pairs = 1000;
  int const n = values.size();
  arena found;
  if (n > 1 && n <= most_values) found = plan_arena(values, n <= most_searched ? most_pairs : 0);
  packed.bytes = found.bytes;
  if (found.offsets.empty() || found.bytes >= in_slots) packed.offsets.clear();
  for (std::int64_t& o : packed.offsets)
    if (o != none) o = found.offsets[static_cast<int>(o)];
  return packed;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
