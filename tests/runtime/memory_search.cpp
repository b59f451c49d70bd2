// SPDX-License-Identifier: BSL-1.0
#include <cotangent/transform/memory_search.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

// What to keep and what to compute again: against searches of every way, on few values, and tables over every amount of
// memory, on chains.

namespace {

namespace ct = cotangent;

int below(std::mt19937& dice, int n) { return static_cast<int>(dice() % static_cast<unsigned>(n)); }

/// The cost of the best schedule: every set of values that may be there, again and again until nothing gets cheaper; -1
/// where no schedule fits.
double by_trying_all(ct::memory_problem const& p, std::int64_t limit) {
  int const n = p.size();
  double const far = 1e100;
  std::vector<std::vector<double>> cost(static_cast<std::size_t>(n + 1),
                                        std::vector<double>(std::size_t{1} << n, far));
  auto const at = [&](int k, unsigned set) -> double& { return cost[static_cast<std::size_t>(k)][set]; };
  at(0, 0) = 0;
  for (int k = 0; k <= n; ++k)
    for (bool better = true; better;) {
      better = false;
      for (unsigned set = 0; set < 1u << n; ++set) {
        if (at(k, set) >= far) continue;
        std::int64_t bytes = 0;
        for (int v = 0; v < n; ++v) bytes += (set >> v & 1u) != 0 ? p.bytes[v] : 0;
        auto const lower = [&](double& x, double to) {
          better = better || to < x;
          x = std::min(x, to);
        };
        for (int v = 0; v < n; ++v) {
          if ((set >> v & 1u) != 0) {
            if (!p.stays[v]) lower(at(k, set & ~(1u << v)), at(k, set));
            continue;
          }
          if (v > k || (v < k && p.once[v]) || bytes + p.bytes[v] > limit) continue;
          bool ready = true;
          for (int j = p.first[v]; j < p.first[v + 1]; ++j) ready = ready && (set >> p.reads[j] & 1u) != 0;
          if (!ready) continue;
          if (v < k) lower(at(k, set | 1u << v), at(k, set) + p.cost[v]);
          else if (double& x = at(k + 1, set | 1u << v); at(k, set) < x) x = at(k, set);
        }
      }
    }
  double const best =
      *std::min_element(cost[static_cast<std::size_t>(n)].begin(), cost[static_cast<std::size_t>(n)].end());
  return best < far ? best : -1;
}

/// Each value reads one or two before it; the later half reads the earlier one from behind, as a gradient does.
ct::memory_problem random_problem(std::mt19937& dice, int n) {
  ct::memory_problem p;
  for (int v = 0; v < n; ++v) {
    std::vector<std::int32_t> reads;
    if (v > 0) reads.push_back(v - 1 - (v > 1 && below(dice, 4) == 0 ? 1 : 0));
    if (v > n / 2) reads.push_back(n - 1 - v);
    if (v > 2 && below(dice, 4) == 0) reads.push_back(below(dice, v));
    (void)p.add(1 + below(dice, 9), 1 + below(dice, 9), reads.data(), static_cast<int>(reads.size()),
                below(dice, 12) == 0, below(dice, 12) == 0);
  }
  return p;
}

TEST_CASE("few values: nothing is cheaper than what is found, and it fits", "[memory]") {
  std::mt19937 dice(7);
  for (int round = 0; round < 40; ++round) {
    ct::memory_problem const p = random_problem(dice, 4 + below(dice, 6));
    std::int64_t const low = ct::memory_bound(p), high = ct::computed_once(p).peak;
    for (std::int64_t limit = low; limit <= high; ++limit) {
      ct::memory_schedule const found = ct::schedule_within(p, limit);
      double const best = by_trying_all(p, limit);
      INFO("round " << round << ", limit " << limit);
      REQUIRE(bool(found) == (best >= 0));
      if (!found) continue;
      CHECK(found.again == best);
      CHECK(found.peak <= limit);
    }
    CHECK_FALSE(ct::schedule_within(p, low - 1));
  }
}

TEST_CASE("twelve values: a schedule costs what the best of all ways costs", "[memory]") {
  std::mt19937 dice(11);
  for (int round = 0; round < 4; ++round) {
    ct::memory_problem const p = random_problem(dice, 12);
    std::int64_t const low = ct::memory_bound(p), high = ct::computed_once(p).peak;
    for (int part = 1; part < 4; ++part) {
      std::int64_t const limit = low + (high - low) * part / 4;
      ct::memory_schedule const found = ct::schedule_within(p, limit);
      double const best = by_trying_all(p, limit);
      REQUIRE(bool(found) == (best >= 0));
      if (found) CHECK(found.again == best);
    }
  }
}

struct chain {
  std::vector<int> bytes, cost, of_cotangent;
};

/// A chain and its gradient: cotangent k is computed from the one before and from value k.
ct::memory_problem gradient_of(chain const& c) {
  ct::memory_problem p;
  int const n = static_cast<int>(c.bytes.size());
  for (int k = 0; k < n; ++k) {
    std::int32_t const before = k - 1;
    (void)p.add(c.bytes[static_cast<std::size_t>(k)], c.cost[static_cast<std::size_t>(k)], &before,
                k == 0 ? 0 : 1);
  }
  for (int k = n; k-- > 0;) {
    std::int32_t const reads[]{k, p.size() - 1};
    (void)p.add(c.of_cotangent[static_cast<std::size_t>(k)], 1, reads, k == n - 1 ? 1 : 2, true);
  }
  return p;
}

/// What running the chain again costs at least with so many bytes, by a table over parts and bytes.
class chain_table {
  chain const& c_;
  std::map<std::tuple<int, int, std::int64_t>, double> known_;

  double at(int s, int t,
            std::int64_t left) { // value s - 1 is there; cotangents t - 1 ... s are to be computed
    if (s == t) return 0;
    if (auto const k = known_.find({s, t, left}); k != known_.end()) return k->second;
    auto const b = [&](int k) { return static_cast<std::int64_t>(c_.bytes[static_cast<std::size_t>(k)]); };
    auto const d = [&](int k) {
      return k == static_cast<int>(c_.bytes.size())
                 ? std::int64_t{0}
                 : static_cast<std::int64_t>(c_.of_cotangent[static_cast<std::size_t>(k)]);
    };
    double best = 1e100, forward = 0;
    for (int j = s; j < t; ++j) {
      forward += c_.cost[static_cast<std::size_t>(j)];
      if (b(j) + (j > s ? b(j - 1) : 0) + d(t) > left) break;
      if (b(j) + d(j) + d(j + 1) > left) continue;
      best = std::min(best, forward + at(j + 1, t, left - b(j)) + at(s, j, left));
    }
    return known_[{s, t, left}] = best;
  }

public:
  explicit chain_table(chain const& c) : c_(c) {}
  /// -1: nothing fits.
  double again(std::int64_t bytes) {
    double const all = at(0, static_cast<int>(c_.bytes.size()), bytes);
    double once = 0;
    for (int const x : c_.cost) once += x;
    return all < 1e100 ? all - once : -1;
  }
};

chain random_chain(std::mt19937& dice, int n, int sizes) {
  chain c;
  for (int k = 0; k < n; ++k) {
    c.bytes.push_back(1 + below(dice, sizes));
    c.cost.push_back(1 + below(dice, 100));
    c.of_cotangent.push_back(1 + below(dice, sizes));
  }
  return c;
}

TEST_CASE("chains with sizes and costs by dice: no table over parts and bytes finds less", "[memory]") {
  std::mt19937 dice(3);
  for (int const n : {8, 13, 21, 34, 64})
    for (int round = 0; round < (n == 64 ? 1 : 3); ++round) {
      chain const c = random_chain(dice, n, n == 64 ? 5 : 9);
      ct::memory_problem const p = gradient_of(c);
      std::int64_t const low = ct::memory_bound(p), high = ct::computed_once(p).peak;
      for (int part = n == 64 ? 2 : 0; part < 8; part += 2) {
        std::int64_t const limit = low + (high - low) * part / 8;
        ct::memory_schedule const found = ct::schedule_within(p, limit);
        double const best = chain_table(c).again(limit);
        INFO(n << " links, limit " << limit << " of " << low << " to " << high);
        REQUIRE(bool(found) >= (best >= 0));
        if (best < 0) continue;
        CHECK(found.peak <= limit);
        CHECK(found.again <= best);
      }
    }
}

TEST_CASE("equal layers: at most one forward more in 2 sqrt(L) values, and far less memory for a little more",
          "[memory]") {
  for (int const n : {16, 36, 64}) {
    chain c;
    for (int k = 0; k < n; ++k) {
      c.bytes.push_back(1000);
      c.cost.push_back(1);
      c.of_cotangent.push_back(1);
    }
    ct::memory_problem const p = gradient_of(c);
    int root = 1;
    while (root * root < n) ++root;
    ct::memory_schedule const s = ct::schedule_within(p, 1000 * 2 * root);
    REQUIRE(s);
    CHECK(s.again < n);
    ct::memory_schedule const least = ct::smallest_schedule(p);
    REQUIRE(least);
    CHECK(least.peak < 2500);
    CHECK(ct::computed_once(p).peak >= 1000 * n);
  }
}

TEST_CASE("many values: the greedy rules fit, and run little again at half of the memory", "[memory]") {
  std::mt19937 dice(5);
  for (int const n : {100, 600}) {
    ct::memory_problem p; // pairs of values with a way around each
    double once = 0;
    for (int k = 0; k < n; ++k) {
      std::int32_t const reads[]{k - 1, k - 2};
      (void)p.add(50 + below(dice, 100), 50 + below(dice, 100), reads,
                  k > 1 && k % 2 == 0 ? 2
                  : k > 0             ? 1
                                      : 0);
      once += p.cost[k];
    }
    for (int k = n; k-- > 0;) {
      std::int32_t const reads[]{p.size() - 1, k, k == 0 ? 0 : k - 1};
      (void)p.add(20, 50, reads, 3, true);
    }
    std::int64_t const high = ct::computed_once(p).peak;
    ct::memory_schedule const half = ct::schedule_within(p, high / 2),
                              fifth = ct::schedule_within(p, high / 5);
    REQUIRE(half);
    REQUIRE(fifth);
    CHECK(half.peak <= high / 2);
    CHECK(fifth.peak <= high / 5);
    CAPTURE(half.again / once, fifth.again / once);
    CHECK(half.again <= 0.6 * once);
    CHECK(fifth.again <= 1.0 * once);
  }
}

TEST_CASE("G20: a value that is read three times with larger ones between is computed again", "[memory]") {
  std::int64_t const n = 4096;
  ct::memory_problem p;
  std::int32_t const x0 = p.add(n, 1, {});
  std::int32_t const y0 = p.add(n + n / 2, 1, {x0}), s0 = p.add(4, 1, {y0});
  std::int32_t const y1 = p.add(n + n / 2, 1, {s0}), s1 = p.add(4, 1, {y1});
  std::int32_t const z0 = p.add(4, 1, {x0, s1});
  std::int32_t const y2 = p.add(n + n / 2, 1, {z0}), s2 = p.add(4, 1, {y2});
  (void)p.add(4, 1, {x0, s2});
  CHECK(ct::computed_once(p).peak >= 5 * n / 2);
  ct::memory_schedule const s = ct::schedule_within(p, 5 * n / 2 + 8);
  REQUIRE(s);
  CHECK(s.peak <= 5 * n / 2 + 8);
}

TEST_CASE("G20: an operation that is not to be run twice is not, and costs its memory", "[memory]") {
  for (bool const once : {true, false}) {
    std::int64_t const n = 1024;
    ct::memory_problem p; // x is the caller's
    std::int32_t const big = p.add(2 * n, 1, {}, once);
    std::int32_t const y0 = p.add(1, 1, {big});
    std::int32_t const y1 = p.add(2 * n, 1, {y0}, true);
    (void)p.add(2 * n, 1, {y1}, true);
    (void)p.add(1, 1, {big});
    ct::memory_schedule const least = ct::smallest_schedule(p);
    REQUIRE(least);
    int runs = 0;
    for (std::int32_t const v : least.steps) runs += v == big ? 1 : 0;
    CHECK(runs == (once ? 1 : 2));
    CHECK(least.peak == (once ? 6 * n : 4 * n));
  }
}

// Mirroring: only what is cheap for its bytes may be computed again. Inputs and weights are the caller's, so they are no
// values here, and are never counted as released.

int runs_of(ct::memory_schedule const& s, std::int32_t v) {
  return static_cast<int>(std::count(s.steps.begin(), s.steps.end(), v));
}

TEST_CASE("MR1: tanh of a sum of two products has nothing to gain", "[memory]") {
  ct::memory_problem p;
  std::int32_t const x = p.add(16384, 9, {}, true), y = p.add(16384, 9, {}, true);
  std::int32_t const sum = p.add(16384, 1, {x, y}), z = p.add(16384, 1, {sum});
  std::int32_t const dz = p.add(16384, 1, {z}, true), ds = p.add(16384, 1, {z, dz}, true);
  (void)p.add(64, 9, {ds}, true, true);
  ct::memory_schedule const s = ct::smallest_schedule(p);
  CHECK(s.steps.size() == p.size()); // nothing is computed again
  CHECK(s.peak == ct::computed_once(p).peak);
}

TEST_CASE("MR4: what stands between two convolutions is computed again from the first", "[memory]") {
  for (std::int64_t const bytes : {100, 4096}) {
    ct::memory_problem p;
    std::int32_t const c = p.add(bytes, 99, {}, true), bn = p.add(bytes, 1, {c}),
                       relu = p.add(bytes, 1, {bn});
    std::int32_t const c2 = p.add(bytes, 99, {relu}, true), d = p.add(2 * bytes, 1, {c2}, true);
    std::int32_t const loss = p.add(1, 1, {d}, true);
    std::int32_t const d2 = p.add(bytes, 99, {loss, c2}, true), dr = p.add(bytes, 99, {d2, relu}, true);
    std::int32_t const db = p.add(bytes, 1, {dr, relu, bn}, true);
    (void)p.add(bytes, 99, {db, c}, true);
    ct::memory_schedule const s = ct::smallest_schedule(p);
    CHECK(s.peak < ct::computed_once(p).peak);
    CHECK(runs_of(s, bn) + runs_of(s, relu) <= 4); // each of the two once more at most
    CHECK(runs_of(s, c) == 1);
    CHECK(runs_of(s, c2) == 1);
  }
}

// The same in a constant evaluation.
constexpr double again_of_chain(int links, int part) {
  ct::memory_problem p;
  for (std::int32_t k = 0; k < links; ++k) {
    std::int32_t const before = k - 1;
    (void)p.add(64, 1, &before, k == 0 ? 0 : 1);
  }
  for (std::int32_t k = links; k-- > 0;) {
    std::int32_t const reads[]{k, p.size() - 1};
    (void)p.add(64, 1, reads, 2, true);
  }
  return ct::schedule_within(p, ct::computed_once(p).peak * part / 8).again;
}
static_assert(again_of_chain(3, 8) == 0);
static_assert(again_of_chain(12, 8) == 0);
static_assert(again_of_chain(12, 5) > 0 && again_of_chain(12, 5) <= 12);
static_assert(again_of_chain(40, 4) > 0 && again_of_chain(40, 4) <= 40);

TEST_CASE("a constant evaluation finds what a run finds", "[memory]") {
  constexpr double constant = again_of_chain(12, 5);
  int links = 12; // not a constant
  CHECK(again_of_chain(links, 5) == constant);
}

} // namespace
