// SPDX-License-Identifier: BSL-1.0
#include <cotangent/transform/rematerialize/memory_search.hpp>
#include <cotangent/transform/rematerialize/mirror.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

// Which values are kept and which are rematerialized: compared with exhaustive search on few values, and on chains with
// tables over all amounts of memory.

namespace {

namespace ct = cotangent;

int below(std::mt19937& dice, int n) { return static_cast<int>(dice() % static_cast<unsigned>(n)); }

/// The cost of the best schedule: every set of values that may be there, again and again until nothing gets cheaper; -1
/// where no schedule fits.
double by_trying_all(ct::detail::memory_problem const& p, std::int64_t limit) {
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
ct::detail::memory_problem random_problem(std::mt19937& dice, int n) {
  ct::detail::memory_problem p;
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

TEST_CASE("for few values no schedule is cheaper than the one found, which fits", "[memory]") {
  std::mt19937 dice(7);
  for (int round = 0; round < 40; ++round) {
    ct::detail::memory_problem const p = random_problem(dice, 4 + below(dice, 6));
    std::int64_t const low = ct::detail::memory_bound(p), high = ct::detail::computed_once(p).peak;
    for (std::int64_t limit = low; limit <= high; ++limit) {
      ct::detail::memory_schedule const found = ct::detail::schedule_within(p, limit);
      double const best = by_trying_all(p, limit);
      INFO("round " << round << ", limit " << limit);
      REQUIRE(bool(found) == (best >= 0));
      if (!found) continue;
      CHECK(found.again == best);
      CHECK(found.peak <= limit);
    }
    CHECK_FALSE(ct::detail::schedule_within(p, low - 1));
  }
}

TEST_CASE("for twelve values the schedule found costs as much as the best of all", "[memory]") {
  std::mt19937 dice(11);
  for (int round = 0; round < 4; ++round) {
    ct::detail::memory_problem const p = random_problem(dice, 12);
    std::int64_t const low = ct::detail::memory_bound(p), high = ct::detail::computed_once(p).peak;
    for (int part = 1; part < 4; ++part) {
      std::int64_t const limit = low + (high - low) * part / 4;
      ct::detail::memory_schedule const found = ct::detail::schedule_within(p, limit);
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
ct::detail::memory_problem gradient_of(chain const& c) {
  ct::detail::memory_problem p;
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

/// The least cost of running the chain again in `bytes`, by a table over parts and bytes.
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

TEST_CASE("no table over parts and bytes finds a cheaper schedule of random chains", "[memory]") {
  std::mt19937 dice(3);
  for (int const n : {8, 13, 21, 34, 48})
    for (int round = 0; round < (n > 21 ? 1 : 3); ++round) {
      chain const c = random_chain(dice, n, n == 48 ? 5 : 9);
      ct::detail::memory_problem const p = gradient_of(c);
      std::int64_t const low = ct::detail::memory_bound(p), high = ct::detail::computed_once(p).peak;
      for (int part = n == 48 ? 2 : 0; part < 8; part += 2) {
        std::int64_t const limit = low + (high - low) * part / 8;
        ct::detail::memory_schedule const found = ct::detail::schedule_within(p, limit);
        double const best = chain_table(c).again(limit);
        INFO(n << " links, limit " << limit << " of " << low << " to " << high);
        REQUIRE(bool(found) >= (best >= 0));
        if (best < 0) continue;
        CHECK(found.peak <= limit);
        CHECK(found.again <= best);
      }
    }
}

TEST_CASE("solving a chain in parts gives the same as solving it at once", "[memory]") {
  std::mt19937 dice(17);
  for (int const n : {9, 24, 40}) {
    ct::detail::memory_problem const p = gradient_of(random_chain(dice, n, n == 24 ? 1 : 50));
    ct::detail::memory_chain const c(p);
    std::int64_t const limit = (ct::detail::memory_bound(p) + ct::detail::computed_once(p).peak) / 2;
    ct::detail::chain_schedule const whole(p, c, limit);
    ct::detail::chain_schedule::progress known;
    int parts = 0;
    for (bool finished = false; !finished; ++parts) {
      ct::detail::chain_schedule const part(p, c, limit, 100, known);
      known = part.known();
      finished = part.finished;
      if (finished) CHECK(part.steps == whole.steps);
    }
    REQUIRE_FALSE(whole.steps.empty());
    CHECK(parts > 2);
  }
}

TEST_CASE("equal layers need at most one more forward run in 2 sqrt(L) values, and less memory for little "
          "more",
          "[memory]") {
  for (int const n : {16, 36, 64}) {
    chain c;
    for (int k = 0; k < n; ++k) {
      c.bytes.push_back(1000);
      c.cost.push_back(1);
      c.of_cotangent.push_back(1);
    }
    ct::detail::memory_problem const p = gradient_of(c);
    int root = 1;
    while (root * root < n) ++root;
    ct::detail::memory_schedule const s = ct::detail::schedule_within(p, 1000 * 2 * root);
    REQUIRE(s);
    CHECK(s.again < n);
    ct::detail::memory_schedule const least = ct::detail::smallest_schedule(p);
    REQUIRE(least);
    CHECK(least.peak < 2500);
    CHECK(ct::detail::computed_once(p).peak >= 1000 * n);
  }
}

TEST_CASE("for many values the greedy rules fit, and recompute little at half of the memory", "[memory]") {
  std::mt19937 dice(5);
  for (int const n : {100, 600}) {
    ct::detail::memory_problem p; // pairs of values with a way around each
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
    std::int64_t const high = ct::detail::computed_once(p).peak;
    ct::detail::memory_schedule const half = ct::detail::schedule_within(p, high / 2),
                              fifth = ct::detail::schedule_within(p, high / 5);
    REQUIRE(half);
    REQUIRE(fifth);
    CHECK(half.peak <= high / 2);
    CHECK(fifth.peak <= high / 5);
    CAPTURE(half.again / once, fifth.again / once);
    CHECK(half.again <= 0.6 * once);
    CHECK(fifth.again <= 1.0 * once);
  }
}

TEST_CASE("a value that is read three times with larger ones between is recomputed", "[memory]") {
  std::int64_t const n = 4096;
  ct::detail::memory_problem p;
  std::int32_t const x0 = p.add(n, 1, {});
  std::int32_t const y0 = p.add(n + n / 2, 1, {x0}), s0 = p.add(4, 1, {y0});
  std::int32_t const y1 = p.add(n + n / 2, 1, {s0}), s1 = p.add(4, 1, {y1});
  std::int32_t const z0 = p.add(4, 1, {x0, s1});
  std::int32_t const y2 = p.add(n + n / 2, 1, {z0}), s2 = p.add(4, 1, {y2});
  (void)p.add(4, 1, {x0, s2});
  CHECK(ct::detail::computed_once(p).peak >= 5 * n / 2);
  ct::detail::memory_schedule const s = ct::detail::schedule_within(p, 5 * n / 2 + 8);
  REQUIRE(s);
  CHECK(s.peak <= 5 * n / 2 + 8);
}

TEST_CASE("an operation that must not run twice does not, and costs its memory", "[memory]") {
  for (bool const once : {true, false}) {
    std::int64_t const n = 1024;
    ct::detail::memory_problem p; // x is the caller's
    std::int32_t const big = p.add(2 * n, 1, {}, once);
    std::int32_t const y0 = p.add(1, 1, {big});
    std::int32_t const y1 = p.add(2 * n, 1, {y0}, true);
    (void)p.add(2 * n, 1, {y1}, true);
    (void)p.add(1, 1, {big});
    ct::detail::memory_schedule const least = ct::detail::smallest_schedule(p);
    REQUIRE(least);
    int runs = 0;
    for (std::int32_t const v : least.steps) runs += v == big ? 1 : 0;
    CHECK(runs == (once ? 1 : 2));
    CHECK(least.peak == (once ? 6 * n : 4 * n));
  }
}

// Mirroring: the rule compares freed and kept bytes; the chosen schedule rematerializes no more than the rule.

using set = std::vector<std::int32_t>;
set again_in(ct::detail::mirror_problem const& m) {
  set found;
  auto const copied = ct::detail::mirrored_values(m);
  for (std::int32_t v = 0; v < copied.size(); ++v)
    if (copied[v] != 0) found.push_back(v);
  return found;
}
std::int32_t given(ct::detail::mirror_problem& m, std::int64_t bytes) { return m.given.push(bytes); }

TEST_CASE("mirroring gains nothing for tanh of a sum of two products", "[mirror]") {
  for (std::int64_t const bytes : {16384, 400}) {
    ct::detail::mirror_problem m;
    std::int32_t const x = m.add(bytes, 9, {}, {}, true), y = m.add(bytes, 9, {}, {}, true);
    std::int32_t const sum = m.add(bytes, 1, {x, y}), z = m.add(bytes, 1, {sum});
    std::int32_t const top = m.add(bytes, 9, {z}, {}, true);
    std::int32_t const dz = m.add_late(bytes, 9, {top}), ds = m.add_late(bytes, 1, {z, dz});
    (void)m.add_late(64, 9, {ds});
    CHECK(again_in(m).empty());
    ct::detail::mirror_choices const all(m);
    CHECK(all.lowest.steps.empty()); // nothing is rematerialized
  }
}

/// Two dense layers with tanh; the gradient of the first operand is not computed.
ct::detail::mirror_problem dense_layers(std::int64_t bytes, int layers) {
  ct::detail::mirror_problem m;
  std::int32_t const x = given(m, bytes);
  set tanh;
  for (int k = 0; k < layers; ++k) {
    std::int32_t const w = given(m, bytes / 4);
    std::int32_t const fc =
        k == 0 ? m.add(bytes, 50, {}, {x, w}, true) : m.add(bytes, 50, {tanh.back()}, {w}, true);
    tanh.push_back(m.add(bytes, 1, {fc}));
  }
  std::int32_t d = m.add_late(bytes, 1, {tanh.back()});
  for (int k = layers; k-- > 0;) {
    d = m.add_late(bytes, 1, {d, tanh[static_cast<std::size_t>(k)]});
    if (k > 0)
      (void)m.add_late(0, 50, {d, tanh[static_cast<std::size_t>(k - 1)]}); // dw, in the caller's memory
    if (k > 0) d = m.add_late(bytes, 50, {d}, {k * 1 + 1});
    else (void)m.add_late(0, 50, {d}, {x});
  }
  return m;
}

TEST_CASE("mirroring keeps an activation that reuses the memory of a product", "[mirror]") {
  for (int const layers : {1, 2, 5})
    for (std::int64_t const bytes : {16384, 1000}) {
      ct::detail::mirror_problem const m = dense_layers(bytes, layers);
      CHECK(again_in(m).empty());
      CHECK(ct::detail::mirror_choices(m).lowest.steps.empty());
    }
}

TEST_CASE("of two consecutive activations mirroring recomputes the second, and the product reads the copy",
          "[mirror]") {
  for (std::int64_t const bytes : {16384, 64, 5000}) {
    ct::detail::mirror_problem m;
    std::int32_t const x = given(m, bytes), w = given(m, bytes / 4);
    std::int32_t const y = m.add(bytes, 1, {}, {x}), z = m.add(bytes, 1, {y});
    std::int32_t const fc = m.add(bytes, 50, {z}, {w}, true);
    std::int32_t const large = m.add(4 * bytes, 50, {fc}, {}, true); // later values need more
    std::int32_t const top = m.add_late(bytes, 1, {large});
    (void)m.add_late(0, 50, {top, z});
    std::int32_t const dz = m.add_late(bytes, 50, {top}, {w}), dy = m.add_late(bytes, 1, {dz, z});
    (void)m.add_late(0, 1, {dy, y});
    CHECK(again_in(m) == set{z}); // x counts as what goes with y, though it is the caller's
    ct::detail::mirror_choices const all(m);
    CHECK(all.rule.again == 1);
    CHECK(all.rule.peak == ct::detail::computed_once(m.values).peak - bytes);
    CHECK(all.lowest.again <= 1);
    CHECK(all.lowest.peak <= all.rule.peak);
    auto const& steps =
        all.rule.steps; // the copy stands before the first that reads it, after what is known by then
    CHECK(std::count(steps.begin(), steps.end(), z) == 2);
    CHECK(*(std::find(std::find(steps.begin(), steps.end(), z) + 1, steps.end(), z) + 1) == top + 1);
  }
}

TEST_CASE("mirroring does not recompute a value that lowers no peak", "[mirror]") {
  ct::detail::mirror_problem m;
  std::int32_t const x = given(m, 16384);
  std::int32_t const large = m.add(200000, 50, {}, {x}, true), small = m.add(16384, 50, {large}, {}, true);
  std::int32_t const y = m.add(16384, 1, {small}), z = m.add(16384, 1, {y});
  std::int32_t const fc = m.add(64, 50, {z}, {}, true), top = m.add_late(64, 1, {fc});
  (void)m.add_late(0, 50, {top, z});
  std::int32_t const dz = m.add_late(16384, 50, {top}), dy = m.add_late(16384, 1, {dz, z});
  (void)m.add_late(0, 1, {dy, y});
  CHECK(again_in(m) == set{z});
  ct::detail::mirror_choices const all(m);
  CHECK(all.rule.again == 1);
  CHECK(all.rule.peak == ct::detail::computed_once(m.values).peak);
  CHECK(all.lowest.peak == all.rule.peak);
  CHECK(all.lowest.again == 0);
}

TEST_CASE("mirroring recomputes the values between two convolutions from the first", "[mirror]") {
  for (std::int64_t const bytes : {100, 4096}) {
    ct::detail::mirror_problem m;
    std::int32_t const image = given(m, bytes), scale = given(m, 1);
    std::int32_t const c = m.add(bytes, 99, {}, {image}, true);
    std::int32_t const bn = m.add(bytes, 1, {c}, {scale}), relu = m.add(bytes, 1, {bn});
    std::int32_t const c2 = m.add(bytes, 99, {relu}, {}, true), d = m.add(2 * bytes, 99, {c2}, {}, true);
    std::int32_t const d2 = m.add_late(bytes, 99, {d, c2}), dr = m.add_late(bytes, 99, {d2, relu});
    std::int32_t const db = m.add_late(bytes, 1, {dr, relu});
    (void)m.add_late(1, 1, {db, c}, {scale});
    (void)m.add_late(bytes, 99, {db, c});
    CHECK(again_in(m) == set{bn, relu});
    ct::detail::mirror_choices const all(m);
    CHECK(all.rule.peak < ct::detail::computed_once(m.values).peak);
    CHECK(all.lowest.peak <= all.rule.peak);
    CHECK(all.lowest.again <= all.rule.again);
    CHECK(std::count(all.lowest.steps.begin(), all.lowest.steps.end(), c) == 1);
  }
}

TEST_CASE("mirroring decides about activations of one operand together", "[mirror]") {
  for (bool const both : {true, false}) { // one of them alone does not free what both read
    ct::detail::mirror_problem m;
    std::int32_t const c = m.add(1000, 99, {}, {}, true);
    std::int32_t const s = m.add(400, 1, {c}), t = m.add(500, 1, {c}, {}, !both);
    std::int32_t const top = m.add(3000, 99, {s, t}, {}, true);
    std::int32_t const d = m.add_late(64, 1, {top});
    (void)m.add_late(0, 1, {d, s, t});
    CHECK(again_in(m) == (both ? set{} : set{s})); // 1000 go, 900 come; 0 go, 1400 come
  }
}

TEST_CASE("mirroring recomputes the product of two products from both", "[mirror]") {
  for (std::int64_t const bytes : {16384, 48}) {
    ct::detail::mirror_problem m;
    std::int32_t const a = m.add(bytes, 50, {}, {}, true), b = m.add(bytes, 50, {}, {}, true);
    std::int32_t const ab = m.add(bytes, 1, {a, b}), fc = m.add(bytes, 50, {ab}, {}, true);
    std::int32_t const top = m.add(4 * bytes, 50, {fc}, {}, true), d = m.add_late(bytes, 1, {top});
    (void)m.add_late(0, 50, {d, ab});
    std::int32_t const dab = m.add_late(bytes, 50, {d});
    (void)m.add_late(0, 50, {dab, a, b});
    CHECK(again_in(m) == set{ab});
    ct::detail::mirror_choices const all(m);
    CHECK(all.lowest.again == 1);
    CHECK(all.lowest.peak == ct::detail::computed_once(m.values).peak - bytes);
  }
}

/// The rule once more, with sets of names and nothing clever.
std::vector<bool> by_the_rule(ct::detail::mirror_problem const& m) {
  auto const& p = m.values;
  int const n = p.size(), entries = n + m.given.size();
  std::vector<set> reads(static_cast<std::size_t>(n));
  std::vector<bool> again(static_cast<std::size_t>(n));
  for (std::int32_t v = 0; v < n; ++v) {
    auto& r = reads[static_cast<std::size_t>(v)];
    for (int k = p.first[v]; k < p.first[v + 1]; ++k) r.push_back(p.reads[k]);
    for (int k = m.first_given[v]; k < m.first_given[v + 1]; ++k) r.push_back(n + m.given_reads[k]);
    again[static_cast<std::size_t>(v)] = m.late[v] == 0 && !p.once[v] && !p.stays[v];
  }
  auto const does_read = [&](std::int32_t v, std::int32_t e) {
    auto const& r = reads[static_cast<std::size_t>(v)];
    return std::find(r.begin(), r.end(), e) != r.end();
  };
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> frontier(static_cast<std::size_t>(n));
    std::vector<int> group(static_cast<std::size_t>(n), -1);
    for (std::int32_t v = 0; v < n; ++v) {
      bool ready = again[static_cast<std::size_t>(v)];
      for (std::int32_t const e : reads[static_cast<std::size_t>(v)])
        ready = ready && (e >= n || !again[static_cast<std::size_t>(e)]);
      frontier[static_cast<std::size_t>(v)] = ready;
      if (ready) group[static_cast<std::size_t>(v)] = v;
    }
    for (int round = 0; round < n; ++round)
      for (std::int32_t e = 0; e < entries; ++e) {
        int least = n;
        for (std::int32_t v = 0; v < n; ++v)
          if (frontier[static_cast<std::size_t>(v)] && does_read(v, e))
            least = std::min(least, group[static_cast<std::size_t>(v)]);
        for (std::int32_t v = 0; v < n; ++v)
          if (frontier[static_cast<std::size_t>(v)] && does_read(v, e))
            group[static_cast<std::size_t>(v)] = least;
      }
    for (int g = 0; g < n; ++g) {
      std::int64_t allocated = 0, released = 0;
      bool any = false;
      for (std::int32_t v = 0; v < n; ++v) {
        if (group[static_cast<std::size_t>(v)] != g) continue;
        any = true;
        bool used = false;
        for (std::int32_t r = 0; r < n; ++r) used = used || does_read(r, v);
        if (used) allocated += p.bytes[v];
      }
      for (std::int32_t e = 0; e < entries && any; ++e) {
        bool read = false, outside = e < n && p.stays[e];
        for (std::int32_t v = 0; v < n; ++v) {
          if (!does_read(v, e)) continue;
          read = read || group[static_cast<std::size_t>(v)] == g;
          outside = outside || !frontier[static_cast<std::size_t>(v)];
        }
        if (read) (outside ? allocated : released) += e < n ? p.bytes[e] : m.given[e - n];
      }
      if (!any || released < allocated) continue;
      changed = true;
      for (std::int32_t v = 0; v < n; ++v)
        if (group[static_cast<std::size_t>(v)] == g) again[static_cast<std::size_t>(v)] = false;
    }
  }
  // Of those, what a gradient reads, or what that is computed from.
  std::vector<bool> copied(static_cast<std::size_t>(n));
  for (std::int32_t v = n; v-- > 0;)
    for (std::int32_t r = 0; r < n; ++r)
      if (again[static_cast<std::size_t>(v)] && does_read(r, v) &&
          (m.late[r] != 0 || copied[static_cast<std::size_t>(r)]))
        copied[static_cast<std::size_t>(v)] = true;
  return copied;
}

ct::detail::mirror_problem random_mirror_problem(std::mt19937& dice, int forward) {
  ct::detail::mirror_problem m;
  for (int k = 0; k < 3; ++k) (void)given(m, 1 + below(dice, 12));
  for (int v = 0; v < 2 * forward; ++v) {
    set reads, of_given;
    bool const late = v >= forward;
    auto const read = [&](set& from, std::int32_t e) {
      if (std::find(from.begin(), from.end(), e) == from.end()) from.push_back(e);
    };
    if (v > 0) read(reads, v - 1 - (v > 1 && below(dice, 3) == 0 ? 1 : 0));
    if (!late && v > 1 && below(dice, 3) == 0) read(reads, below(dice, v));
    if (late) read(reads, 2 * forward - 1 - v);
    if (late && below(dice, 3) == 0) read(reads, below(dice, forward));
    if (v == 0 || below(dice, 4) == 0) read(of_given, below(dice, 3));
    m.values.add(1 + below(dice, 9), 1 + below(dice, 9), reads.data(), static_cast<int>(reads.size()),
                 late || below(dice, 4) == 0, below(dice, 12) == 0);
    for (std::int32_t const e : of_given) m.given_reads.push(e);
    m.first_given.push(m.given_reads.size());
    (void)m.late.push(late);
  }
  return m;
}

TEST_CASE("mirroring agrees with a plain version of its rule on random graphs and their gradients",
          "[mirror]") {
  std::mt19937 dice(19);
  int again = 0, kept = 0;
  for (int round = 0; round < 400; ++round) {
    ct::detail::mirror_problem const m = random_mirror_problem(dice, 3 + below(dice, 20));
    auto const copied = ct::detail::mirrored_values(m);
    std::vector<bool> const expected = by_the_rule(m);
    for (std::int32_t v = 0; v < copied.size(); ++v) {
      INFO("round " << round << ", value " << v);
      REQUIRE((copied[v] != 0) == expected[static_cast<std::size_t>(v)]);
      (copied[v] != 0 ? again : kept) += m.late[v] == 0;
    }
  }
  CHECK(again > 300); // both happen
  CHECK(kept > 300);
}

TEST_CASE("the mirrored choice has no higher peak than the rule, for no more work, and the lowest for few "
          "values",
          "[mirror]") {
  std::mt19937 dice(23);
  int lower = 0;
  for (int round = 0; round < 120; ++round) {
    ct::detail::mirror_problem const m = random_mirror_problem(dice, 3 + below(dice, round < 40 ? 2 : 14));
    ct::detail::mirror_choices const all(m);
    ct::detail::memory_schedule const plain = ct::detail::computed_once(m.values);
    if (all.lowest.steps.empty()) continue;
    INFO("round " << round);
    for (ct::detail::memory_schedule const* const s : {&all.reduced, &all.lowest}) {
      CHECK(s->peak <= all.rule.peak);
      CHECK(s->again <= all.rule.again);
      CHECK(s->steps.size() <= all.rule.steps.size());
      CHECK((s->again == 0 || s->peak < plain.peak)); // and nothing is done for nothing
    }
    lower += all.lowest.peak < plain.peak;
    if (m.values.size() > 10) continue;
    for (std::int64_t limit = ct::detail::memory_bound(m.values); limit < all.lowest.peak; ++limit) {
      double const best = by_trying_all(m.values, limit);
      CHECK((best < 0 || best > all.rule.again ||
             ct::detail::schedule_within(m.values, limit).steps.size() > all.rule.steps.size()));
    }
  }
  CHECK(lower > 20);
}

// The same in a constant evaluation.
constexpr double again_of_chain(int links, int part) {
  ct::detail::memory_problem p;
  for (std::int32_t k = 0; k < links; ++k) {
    std::int32_t const before = k - 1;
    (void)p.add(64, 1, &before, k == 0 ? 0 : 1);
  }
  for (std::int32_t k = links; k-- > 0;) {
    std::int32_t const reads[]{k, p.size() - 1};
    (void)p.add(64, 1, reads, 2, true);
  }
  return ct::detail::schedule_within(p, ct::detail::computed_once(p).peak * part / 8).again;
}
static_assert(again_of_chain(3, 8) == 0);
static_assert(again_of_chain(12, 8) == 0);
static_assert(again_of_chain(12, 5) > 0 && again_of_chain(12, 5) <= 12);
static_assert(again_of_chain(40, 4) > 0 && again_of_chain(40, 4) <= 40);

TEST_CASE("a constant evaluation finds the same schedule as a run", "[memory]") {
  constexpr double constant = again_of_chain(12, 5);
  int links = 12; // not a constant
  CHECK(again_of_chain(links, 5) == constant);
}

} // namespace
