// SPDX-License-Identifier: BSL-1.0
#include <cotangent/plan/memory/arena.hpp>
#include <cotangent/plan/memory/peak_order.hpp>

#include <cstdint>

// The same offsets, and the same order of steps, in a constant evaluation.

namespace {

namespace ct = cotangent;

/// A chain in which each value is read by the next: two sizes in turn.
constexpr std::int64_t chain(int n) {
  ct::detail::array<ct::detail::lifetime> v;
  for (int k = 0; k < n; ++k) v.push({k, k + 1, k % 2 == 0 ? 128 : 64});
  return ct::detail::plan_arena(v).bytes;
}
static_assert(chain(1) == 128 && chain(2) == 192 && chain(300) == 192);

/// The large one comes while small ones lie on both sides: they have to lie together.
constexpr std::int64_t apart() {
  ct::detail::array<ct::detail::lifetime> v;
  v.push({0, 5, 64});
  v.push({0, 1, 64});
  v.push({0, 5, 64});
  v.push({2, 3, 128});
  return ct::detail::plan_arena(v).bytes;
}
static_assert(apart() == 256);

static_assert(ct::detail::plan_arena({}).bytes == 0);

/// Branches that are wide in between, side by side: they run one after the other.
constexpr std::int64_t branches(int n, bool ordered) {
  ct::detail::peak_problem p;
  p.steps = 2 * n + 1;
  ct::detail::array<std::int32_t> order;
  for (int k = 0; k < p.steps; ++k) order.push(k);
  for (int k = 0; k < n; ++k) {
    int const wide = p.values.push({1000}), narrow = p.values.push({1});
    p.uses.push({k, wide});
    p.uses.push({n + k, wide});
    p.uses.push({n + k, narrow});
    p.uses.push({2 * n, narrow});
    p.edges.push({k, n + k});
    p.edges.push({n + k, 2 * n});
  }
  if (ordered) order = ct::detail::order_of_low_peak(p, order, 100); // (compilers bound what one evaluation may take)
  return ct::detail::peak_of(p, order).bytes;
}
static_assert(branches(10, false) == 10001 && branches(10, true) == 1010);
static_assert(branches(100, false) == 100001 && branches(100, true) == 1100);

} // namespace
