// SPDX-License-Identifier: BSL-1.0
#include <cotangent/plan/memory/peak_order.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

// The order of steps with a low peak of memory, against all orders there are.

namespace {

namespace ct = cotangent;
using order = ct::detail::array<std::int32_t>;

// Steps that make values of random sizes from those before; some values are written by two steps, some are given, some
// stay, some steps need memory while they run, some write over an operand.
ct::detail::peak_problem random_problem(std::uint32_t seed, int steps) {
  std::mt19937 random(seed);
  auto const dice = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  ct::detail::peak_problem p;
  p.steps = steps;
  bool const with_work = dice(3) == 0;
  std::vector<int> maker, written_by;
  for (int k = dice(3); k > 0; --k) {
    (void)p.values.push({64 * (1 + dice(6)), true, dice(4) == 0});
    maker.push_back(-1);
  }
  for (int s = 0; s < steps; ++s) {
    std::vector<int> read;
    for (int k = dice(4); k > 0 && !maker.empty(); --k) {
      int const v = dice(2) == 0 ? static_cast<int>(maker.size()) - 1 : dice(static_cast<int>(maker.size()));
      if (std::find(read.begin(), read.end(), v) == read.end()) read.push_back(v);
    }
    for (int const v : read) {
      p.uses.push({s, v});
      if (maker[static_cast<std::size_t>(v)] >= 0) p.edges.push({maker[static_cast<std::size_t>(v)], s});
    }
    int const made = p.values.push({64 * dice(7), false, dice(6) == 0});
    maker.push_back(s);
    p.uses.push({s, made});
    for (int const v : read)
      if (dice(2) == 0) {
        p.values[made].bytes = p.values[v].bytes;
        p.replacements.push({s, v, made});
        break;
      }
    if (s > 0 && dice(5) == 0) p.edges.push({dice(s), s}); // a barrier
    if (with_work) p.work.push(64 * dice(5));
  }
  return p;
}

// From the definition: a value is there from the first to the last step that uses it.
std::int64_t peak_by_definition(ct::detail::peak_problem const& p, order const& o) {
  std::vector<int> position(static_cast<std::size_t>(p.steps));
  for (int k = 0; k < o.size(); ++k) position[static_cast<std::size_t>(o[k])] = k;
  std::vector<int> first(static_cast<std::size_t>(p.values.size()), p.steps), last(first.size(), -1);
  for (auto const& u : p.uses) {
    auto const v = static_cast<std::size_t>(u.value);
    first[v] = std::min(first[v], position[static_cast<std::size_t>(u.step)]);
    last[v] = std::max(last[v], position[static_cast<std::size_t>(u.step)]);
  }
  for (std::size_t v = 0; v < first.size(); ++v) {
    bool const used = last[v] >= 0;
    if (p.values[static_cast<int>(v)].given) first[v] = -1;
    if (p.values[static_cast<int>(v)].stays && (used || p.values[static_cast<int>(v)].given))
      last[v] = p.steps;
    if (p.values[static_cast<int>(v)].given && !used) last[v] = p.steps; // nobody lets go of it
  }
  std::int64_t peak = 0;
  for (int k = 0; k < p.steps; ++k) {
    std::int64_t live = o[k] < p.work.size() ? p.work[o[k]] : 0;
    for (std::size_t v = 0; v < first.size(); ++v)
      if (first[v] <= k && k <= last[v]) live += p.values[static_cast<int>(v)].bytes;
    std::vector<int> taken;
    for (auto const& r : p.replacements) {
      auto const from = static_cast<std::size_t>(r.from), to = static_cast<std::size_t>(r.to);
      if (r.step != o[k] || last[from] != k || first[to] != k || first[from] == k) continue;
      if (std::count(taken.begin(), taken.end(), r.from) + std::count(taken.begin(), taken.end(), r.to) > 0)
        continue;
      taken.push_back(r.from);
      taken.push_back(r.to);
      live -= p.values[r.from].bytes;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

bool can_run(ct::detail::peak_problem const& p, order const& o) {
  std::vector<int> position(static_cast<std::size_t>(p.steps), -1);
  if (o.size() != p.steps) return false;
  for (int k = 0; k < o.size(); ++k) {
    if (o[k] < 0 || o[k] >= p.steps || position[static_cast<std::size_t>(o[k])] >= 0) return false;
    position[static_cast<std::size_t>(o[k])] = k;
  }
  for (auto const& e : p.edges)
    if (position[static_cast<std::size_t>(e.before)] >= position[static_cast<std::size_t>(e.after)])
      return false;
  return true;
}

order as_given(int n) {
  order o;
  for (int k = 0; k < n; ++k) o.push(k);
  return o;
}

// The lowest peak of all orders that can run.
std::int64_t best_of_all(ct::detail::peak_problem const& p) {
  std::int64_t best = INT64_MAX;
  order o;
  std::vector<int> waits(static_cast<std::size_t>(p.steps), 0);
  for (auto const& e : p.edges) ++waits[static_cast<std::size_t>(e.after)];
  std::vector<bool> done(static_cast<std::size_t>(p.steps), false);
  auto const search = [&](auto const& self) -> void {
    if (o.size() == p.steps) {
      best = std::min(best, peak_by_definition(p, o));
      return;
    }
    for (int s = 0; s < p.steps; ++s) {
      if (done[static_cast<std::size_t>(s)] || waits[static_cast<std::size_t>(s)] != 0) continue;
      done[static_cast<std::size_t>(s)] = true;
      o.push(s);
      for (auto const& e : p.edges)
        if (e.before == s) --waits[static_cast<std::size_t>(e.after)];
      self(self);
      for (auto const& e : p.edges)
        if (e.before == s) ++waits[static_cast<std::size_t>(e.after)];
      (void)o.pop();
      done[static_cast<std::size_t>(s)] = false;
    }
  };
  search(search);
  return best;
}

} // namespace

TEST_CASE("the peak of an order is the largest live set", "[peak_order]") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    ct::detail::peak_problem const p = random_problem(seed, 1 + static_cast<int>(seed % 40));
    REQUIRE(ct::detail::peak_of(p, as_given(p.steps)).bytes == peak_by_definition(p, as_given(p.steps)));
  }
}

TEST_CASE("for few steps no order has a lower peak", "[peak_order]") {
  int lower = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    ct::detail::peak_problem const p = random_problem(seed, 2 + static_cast<int>(seed % 9));
    order const o = ct::detail::order_of_low_peak(p, as_given(p.steps));
    REQUIRE(can_run(p, o));
    INFO(seed);
    REQUIRE(peak_by_definition(p, o) == best_of_all(p));
    lower += peak_by_definition(p, o) < peak_by_definition(p, as_given(p.steps));
  }
  CHECK(lower > 50);
}

TEST_CASE("orders of many steps are valid, and never worse than the given one", "[peak_order]") {
  double sum = 0;
  int count = 0;
  for (std::uint32_t seed = 1000; seed < 1060; ++seed, ++count) {
    ct::detail::peak_problem const p = random_problem(seed, 20 + 20 * static_cast<int>(seed % 16));
    order const o = ct::detail::order_of_low_peak(p, as_given(p.steps));
    REQUIRE(can_run(p, o));
    std::int64_t const before = peak_by_definition(p, as_given(p.steps)), now = peak_by_definition(p, o);
    REQUIRE(now <= before);
    sum += static_cast<double>(now) / static_cast<double>(before);
  }
  CHECK(sum / count < 0.8);
}

TEST_CASE("branches with large peaks and small results run one after the other", "[peak_order]") {
  // widen (1 -> 100), narrow (100 -> 1) in each of 30 branches, given level by level; at the end all are summed
  ct::detail::peak_problem p;
  int const branches = 30;
  p.steps = 2 * branches + 1;
  for (int k = 0; k < branches; ++k) {
    int const wide = p.values.push({6400}), narrow = p.values.push({64});
    p.uses.push({k, wide});
    p.uses.push({branches + k, wide});
    p.uses.push({branches + k, narrow});
    p.uses.push({2 * branches, narrow});
    p.edges.push({k, branches + k});
    p.edges.push({branches + k, 2 * branches});
  }
  CHECK(ct::detail::peak_of(p, as_given(p.steps)).bytes == 30 * 6400 + 64);
  CHECK(ct::detail::peak_of(p, ct::detail::order_of_low_peak(p, as_given(p.steps))).bytes == 6400 + 30 * 64);
}

TEST_CASE("a hundred thousand steps are ordered in n log n", "[peak_order]") {
  ct::detail::peak_problem const p = random_problem(5, 100000);
  order const o = ct::detail::order_of_low_peak(p, as_given(p.steps));
  CHECK(can_run(p, o));
  CHECK(ct::detail::peak_of(p, o).bytes <= ct::detail::peak_of(p, as_given(p.steps)).bytes);
}
