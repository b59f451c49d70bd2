// SPDX-License-Identifier: BSL-1.0
// Sizes of a call, bound quickly, against the way that also finds the words for what is wrong.
#include "catch.hpp"

#include "../reference.hpp"

#include <cotangent/trace/program/quick_binding.hpp>

#include <cstdint>

using namespace cotangent;

namespace {

struct call {
  static constexpr int leaf_count = 5;
  shape leaves[leaf_count]{};
  extent wanted[6]{extent("n"),   extent("n+m-1"), extent("n*n*m"),
                   extent("n-m"), extent("m"),     extent("4*n-2*m+3")};
  constexpr call() {
    leaves[0].push(extent("n"));
    leaves[0].push(extent("m"));
    leaves[1].push(extent("m"));
    leaves[1].push(extent("n-1"));
    leaves[2].push(extent(7));
    leaves[3].push(extent("n*m"));
    leaves[4].push(extent("m+k"));
  }
};
constexpr call c{};
constexpr int axes = 6, extents = 6;
constexpr detail::binding_table<axes, extents> of_call{c.leaves, call::leaf_count, c.wanted};

struct square_call {
  shape leaves[1]{};
  extent wanted[1]{extent("n*n*n*n")};
  constexpr square_call() { leaves[0].push(extent("n")); }
};
constexpr square_call q{};
constexpr detail::binding_table<1, 1> squares{q.leaves, 1, q.wanted};

struct long_call {
  shape leaves[1]{};
  extent wanted[1]{extent("n*n*n*n*n")};
  constexpr long_call() { leaves[0].push(extent("n")); }
};
constexpr long_call l{};
constexpr detail::binding_table<1, 1> too_long{l.leaves, 1, l.wanted};

struct shorter_call {
  shape leaves[2]{};
  extent wanted[1]{extent("3*n-3")};
  constexpr shorter_call() {
    leaves[0].push(extent("n"));
    leaves[1].push(extent("n-3"));
  }
};
constexpr shorter_call sizes_of_two{};
constexpr detail::binding_table<2, 1> binding_of_two{sizes_of_two.leaves, 2, sizes_of_two.wanted};

} // namespace

TEST_CASE("quick binding of sizes succeeds exactly when slow binding does, with the same numbers") {
  static_assert(of_call.formulas && of_call.quick);
  reference::dice d(5);
  int good = 0, bad = 0;
  for (int round = 0; round < 20000; ++round) {
    std::int64_t const n = 1 + d.below(6), m = d.below(5), k = d.below(3);
    std::int64_t of_leaves[call::leaf_count * max_rank]{};
    std::int64_t const right[]{n, m, m, n - 1, 7, n * m, m + k};
    int const at[]{0, 1, max_rank, max_rank + 1, 2 * max_rank, 3 * max_rank, 4 * max_rank};
    for (int i = 0; i < 7; ++i) of_leaves[at[i]] = right[i];
    if (d.below(2) == 0) of_leaves[at[d.below(7)]] += d.below(3) - 1;
    std::int64_t slow[extents]{}, quick[extents]{};
    bool const binds = of_call.bind(c.leaves, c.wanted, of_leaves, slow).kind == detail::size_conflict::nothing;
    REQUIRE(detail::quick_binding<of_call>::bind(of_leaves, quick) == binds);
    (binds ? good : bad) += 1;
    for (int i = 0; binds && i < extents; ++i) REQUIRE(slow[i] == quick[i]);
  }
  CHECK(good > 5000);
  CHECK(bad > 5000);
}

TEST_CASE("a formula that is negative agrees with no size") {
  for (std::int64_t n = 0; n < 6; ++n)
    for (std::int64_t size = 0; size < 4; ++size) {
      std::int64_t of_leaves[2 * max_rank]{}, slow = 0, quick = 0;
      of_leaves[0] = n, of_leaves[max_rank] = size;
      CHECK((binding_of_two.bind(sizes_of_two.leaves, sizes_of_two.wanted, of_leaves, &slow).kind == detail::size_conflict::nothing) == (n - 3 == size));
      CHECK(detail::quick_binding<binding_of_two>::bind(of_leaves, &quick) == (n - 3 == size));
    }
}

TEST_CASE("quick binding refuses a size that does not fit 64 bits") {
  static_assert(squares.quick);
  for (std::int64_t const n : {std::int64_t{0}, std::int64_t{55108}, std::int64_t{55109}, INT64_MAX}) {
    std::int64_t const of_leaves[max_rank]{n};
    std::int64_t slow = 0, quick = 0;
    bool const binds =
        squares.bind(q.leaves, q.wanted, of_leaves, &slow).kind == detail::size_conflict::nothing;
    CHECK(binds == (n < 55109));
    CHECK(detail::quick_binding<squares>::bind(of_leaves, &quick) == binds);
    CHECK((!binds || slow == quick));
  }
}

TEST_CASE("quick binding leaves a formula that is too long to slow binding") {
  STATIC_REQUIRE(!too_long.quick);
}
