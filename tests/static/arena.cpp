// SPDX-License-Identifier: BSL-1.0
#include <cotangent/transform/arena.hpp>

#include <cstdint>

// The same offsets in a constant evaluation.

namespace {

namespace ct = cotangent;

/// A chain in which each value is read by the next: two sizes in turn.
constexpr std::int64_t chain(int n) {
  ct::array<ct::lifetime> v;
  for (int k = 0; k < n; ++k) v.push({k, k + 1, k % 2 == 0 ? 128 : 64});
  return ct::plan_arena(v).bytes;
}
static_assert(chain(1) == 128 && chain(2) == 192 && chain(300) == 192);

/// The large one comes while small ones lie on both sides: they have to lie together.
constexpr std::int64_t apart() {
  ct::array<ct::lifetime> v;
  v.push({0, 5, 64});
  v.push({0, 1, 64});
  v.push({0, 5, 64});
  v.push({2, 3, 128});
  return ct::plan_arena(v).bytes;
}
static_assert(apart() == 256);

static_assert(ct::plan_arena({}).bytes == 0);

} // namespace
