// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ARENA_CASES_HPP
#define COTANGENT_TESTS_ARENA_CASES_HPP

#include <cotangent/plan/memory/arena.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

// Random lifetimes, and what may be asked of their offsets.

namespace arena_cases {

namespace ct = cotangent;

/// Of nine kinds: long, short and mixed lives; sizes of all kinds, powers of two, a few sizes.
inline ct::detail::array<ct::detail::lifetime> values(std::uint32_t seed, int count) {
  std::mt19937 random(seed);
  auto const below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(n)); };
  int const kind = static_cast<int>(seed % 9), steps = 3 + count;
  ct::detail::array<ct::detail::lifetime> v;
  for (int k = 0; k < count; ++k) {
    std::int32_t const first = below(steps);
    bool const lasting = kind % 3 == 0 || (kind % 3 == 2 && below(4) == 0);
    std::int32_t const last = std::min(first + below(lasting ? steps : 6), steps - 1);
    std::int64_t const bytes = kind / 3 == 0   ? 64 * (1 + below(100))
                               : kind / 3 == 1 ? std::int64_t{64} << below(8)
                                               : 4096 * (1 + below(3));
    v.push({first, last, bytes});
  }
  return v;
}

inline bool meet(ct::detail::lifetime const& a, ct::detail::lifetime const& b) {
  return a.first <= b.last && b.first <= a.last;
}

inline std::string wrong(ct::detail::array<ct::detail::lifetime> const& v, ct::detail::arena const& a) {
  if (a.offsets.size() != v.size()) return "a value without an offset";
  for (int i = 0; i < v.size(); ++i) {
    if (a.offsets[i] < 0 || a.offsets[i] + v[i].bytes > a.bytes) return "outside: " + std::to_string(i);
    for (int k = 0; k < i; ++k)
      if (meet(v[i], v[k]) && a.offsets[i] < a.offsets[k] + v[k].bytes &&
          a.offsets[k] < a.offsets[i] + v[i].bytes)
        return "on top of each other: " + std::to_string(i) + ", " + std::to_string(k);
  }
  return {};
}

inline std::int64_t most_at_once(ct::detail::array<ct::detail::lifetime> const& v) {
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  for (ct::detail::lifetime const& l : v) {
    events.push_back({2 * std::int64_t{l.first}, l.bytes});
    events.push_back({2 * std::int64_t{l.last} + 1, -l.bytes});
  }
  std::sort(events.begin(), events.end());
  std::int64_t now = 0, most = 0;
  for (auto const& e : events) most = std::max(most, now += e.second);
  return most;
}

/// Largest first, each at the lowest offset that is free as long as it is there.
inline std::int64_t largest_first(ct::detail::array<ct::detail::lifetime> const& v) {
  std::vector<int> order(static_cast<std::size_t>(v.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return v[a].bytes != v[b].bytes ? v[a].bytes > v[b].bytes : a < b; });
  std::vector<std::int64_t> at(order.size(), -1);
  std::int64_t top = 0;
  for (int const i : order) {
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int const k : order) {
        std::int64_t const o = at[static_cast<std::size_t>(k)];
        if (o < 0 || !meet(v[i], v[k]) || offset + v[i].bytes <= o || o + v[k].bytes <= offset) continue;
        offset = o + v[k].bytes;
        moved = true;
      }
    }
    at[static_cast<std::size_t>(i)] = offset;
    top = std::max(top, offset + v[i].bytes);
  }
  return top;
}

struct score {
  int count = 0, worse_than_largest_first = 0;
  double sum = 0, worst = 0;

  void add(ct::detail::array<ct::detail::lifetime> const& v) {
    std::int64_t const bytes = ct::detail::plan_arena(v).bytes;
    double const ratio = static_cast<double>(bytes) / static_cast<double>(most_at_once(v));
    ++count;
    sum += ratio;
    worst = std::max(worst, ratio);
    if (bytes > largest_first(v)) ++worse_than_largest_first;
  }
  double mean() const { return sum / count; }
};

} // namespace arena_cases

#endif
