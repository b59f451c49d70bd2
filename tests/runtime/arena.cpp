// SPDX-License-Identifier: BSL-1.0
#include <cotangent/plan/memory/arena.hpp>

#include "arena_cases.hpp"
#include "catch.hpp"

#include <cstdint>
#include <random>

// Offsets from lifetimes: nothing that is there at the same time shares a byte, and little is wasted.

namespace {

namespace ct = cotangent;

TEST_CASE("values that are live at the same time do not overlap", "[arena]") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    ct::detail::array<ct::detail::lifetime> const v = arena_cases::values(seed, 1 + static_cast<int>(seed % 90));
    ct::detail::arena const a = ct::detail::plan_arena(v);
    REQUIRE(arena_cases::wrong(v, a).empty());
  }
}

TEST_CASE("the checker of offsets finds two values on one byte, and a value beyond the end", "[arena]") {
  ct::detail::array<ct::detail::lifetime> v;
  v.push({0, 1, 64});
  v.push({1, 2, 64});
  ct::detail::arena a;
  a.offsets.assign(2, 0);
  a.bytes = 127;
  CHECK_FALSE(arena_cases::wrong(v, a).empty());
  a.offsets[1] = 64;
  CHECK_FALSE(arena_cases::wrong(v, a).empty());
  a.bytes = 128;
  CHECK(arena_cases::wrong(v, a).empty());
}

TEST_CASE("memory is little more than the peak, and never more than largest first", "[arena]") {
  arena_cases::score all;
  for (std::uint32_t seed = 0; seed < 300; ++seed)
    all.add(arena_cases::values(seed, 4 + static_cast<int>(seed % 60)));
  CHECK(all.mean() <= 1.03);
  CHECK(all.worst <= 1.25);
  CHECK(all.worse_than_largest_first == 0);
}

TEST_CASE("values of equal size need no more memory than the peak, however many there are", "[arena]") {
  std::mt19937 random(3);
  for (int const n : {10, 1000, 100000}) {
    ct::detail::array<ct::detail::lifetime> v;
    for (int k = 0; k < n; ++k) {
      auto const first = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      v.push({first, first + static_cast<std::int32_t>(random() % static_cast<unsigned>(n)), 4096});
    }
    CHECK(ct::detail::plan_arena(v).bytes == arena_cases::most_at_once(v));
  }
}

TEST_CASE("with as many sizes as values, each gap is reused for the next value that fits", "[arena]") {
  ct::detail::array<ct::detail::lifetime> v;
  int const n = 5000;                                                   // more than two levels of words
  for (int k = 0; k < n; ++k) v.push({0, 2 * k, 64 * (k + 1)});         // leave one after the other
  for (int k = 0; k < n; ++k) v.push({2 * k + 1, 2 * n, 64 * (k + 1)}); // come as soon as one has left
  ct::detail::arena const a = ct::detail::plan_arena(v, 0);
  CHECK(a.bytes == arena_cases::most_at_once(v));
  for (int k = 0; k < n; ++k) REQUIRE(a.offsets[k] == a.offsets[n + k]);
}

TEST_CASE("a gap at the end grows, and neighboring gaps are merged", "[arena]") {
  ct::detail::array<ct::detail::lifetime> v;
  for (int k = 0; k < 100; ++k) v.push({k, k, 64 * (k + 1)});
  CHECK(ct::detail::plan_arena(v).bytes == 6400);
  v.clear();
  v.push({0, 0, 64});
  v.push({0, 0, 64});
  v.push({1, 1, 128});
  v.push({0, 2, 64});
  CHECK(ct::detail::plan_arena(v).bytes == 192);
  CHECK(ct::detail::plan_arena({}).bytes == 0);
}

} // namespace
