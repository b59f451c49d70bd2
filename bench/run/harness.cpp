// SPDX-License-Identifier: BSL-1.0
#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

namespace bench {

namespace {

using clock = std::chrono::steady_clock;

double seconds(contestant const& c, long repetitions) {
  auto const start = clock::now();
  c.repeat(repetitions);
  return std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(repetitions);
}

long repetitions_for(contestant const& c, double wanted) {
  c.repeat(1);
  long r = 1;
  for (double s = seconds(c, r) * static_cast<double>(r); s < wanted && r < 100000000;) {
    r = std::max(r + 1, std::min(10 * r, static_cast<long>(1.1 * wanted / std::max(s, 1e-8) *
                                                           static_cast<double>(r))));
    s = seconds(c, r) * static_cast<double>(r);
  }
  return r;
}

double at(result const& r, std::ptrdiff_t i) {
  return r.is_float ? static_cast<double>(static_cast<float const*>(r.data)[i])
                    : static_cast<double const*>(r.data)[i];
}

std::vector<double> values_of(comparison const& c, contestant const& who) {
  for (result const& r : c.results)
    for (std::ptrdiff_t i = 0; i < r.count; ++i)
      if (r.is_float) static_cast<float*>(r.data)[i] = std::numeric_limits<float>::quiet_NaN();
      else static_cast<double*>(r.data)[i] = std::numeric_limits<double>::quiet_NaN();
  who.repeat(1);
  std::vector<double> values;
  for (result const& r : c.results)
    for (std::ptrdiff_t i = 0; i < r.count; ++i) values.push_back(at(r, i));
  return values;
}

/// The contestant whose results are the reference.
contestant const& yardstick(comparison const& c) { return c.loops.empty() ? c.hand.front() : c.loops.front(); }

void require_equal(comparison const& c, contestant const& who, std::vector<double> const& wanted) {
  std::vector<double> const got = values_of(c, who);
  std::size_t first = 0;
  for (result const& r : c.results) {
    double largest = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(r.count); ++i)
      largest = std::max(largest, std::fabs(wanted[first + i]));
    double const epsilon =
        r.is_float ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    double const allowed = largest * epsilon * (32 + 4 * std::sqrt(static_cast<double>(r.terms)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(r.count); ++i)
      if (!(std::fabs(got[first + i] - wanted[first + i]) <= allowed)) {
        std::fprintf(stderr,
                     "bench: %s, %s, %s: '%s' disagrees with '%s': %s[%zu] is %.17g, not %.17g (allowed "
                     "difference %.3g)\n",
                     c.name.c_str(), c.element.c_str(), c.size.c_str(), who.name.c_str(),
                     yardstick(c).name.c_str(), r.name.c_str(), i, got[first + i], wanted[first + i],
                     allowed);
        std::exit(1);
      }
    first += static_cast<std::size_t>(r.count);
  }
}

double median(std::vector<double> const& values) { return estimate_median(values).median; }

} // namespace

std::vector<registered>& all_entries() {
  static std::vector<registered> entries;
  return entries;
}

entry::entry(char const* name, void (*run)(suite&)) { all_entries().push_back({name, run}); }

void suite::run(comparison const& c) {
  if ((c.name + '/' + c.element + '/' + c.size).find(options_.filter) == std::string::npos) return;
  if (options_.list) {
    std::printf("%s/%s/%s\n", c.name.c_str(), c.element.c_str(), c.size.c_str());
    return;
  }
  std::vector<double> const wanted = values_of(c, yardstick(c));
  for (contestant const& who : c.hand) require_equal(c, who, wanted);
  for (contestant const& who : c.ours) require_equal(c, who, wanted);

  measurement m;
  m.name = c.name, m.element = c.element, m.size = c.size, m.n = c.n;

  // The hand-written variants among themselves.
  contestant const* hand = &c.hand.front();
  std::vector<long> repetitions;
  std::vector<std::vector<double>> heats(c.hand.size());
  for (contestant const& who : c.hand) repetitions.push_back(repetitions_for(who, options_.sample_seconds));
  for (int round = 0; round < 15; ++round)
    for (std::size_t k = 0; k < c.hand.size(); ++k) {
      c.hand[k].repeat(1); // into the caches
      heats[k].push_back(seconds(c.hand[k], repetitions[k]));
    }
  std::size_t best = 0;
  for (std::size_t k = 0; k < c.hand.size(); ++k) {
    m.variants.emplace_back(c.hand[k].name, median(heats[k]));
    if (m.variants[k].second < m.variants[best].second) best = k;
  }
  hand = &c.hand[best];
  m.hand = hand->name;

  // The contest: everyone in every round, in random order; the loops in every fourth, since they are slow.
  auto const first_of = [](std::vector<contestant> const& v) { return v.empty() ? nullptr : &v.front(); };
  contestant const* const field[3] = {hand, first_of(c.loops), first_of(c.ours)};
  repetitions.clear();
  for (contestant const* who : field)
    repetitions.push_back(who == nullptr ? 0 : repetitions_for(*who, options_.sample_seconds));
  std::mt19937 random(20261120);
  std::vector<double> times[3], ratio_ours, ratio_loops;
  std::vector<std::size_t> order;
  for (int round = 0; round < options_.pairs; ++round) {
    order = {0, 2, 1};
    order.resize(round % 4 == 0 ? 3 : 2);
    std::shuffle(order.begin(), order.end(), random);
    double lap[3] = {0, 0, 0};
    for (std::size_t k : order)
      if (field[k] != nullptr) {
        field[k]->repeat(1);
        times[k].push_back(lap[k] = seconds(*field[k], repetitions[k]));
      }
    if (lap[2] > 0) ratio_ours.push_back(lap[2] / lap[0]);
    if (lap[1] > 0) ratio_loops.push_back(lap[1] / lap[0]);
  }
  m.pairs = options_.pairs;
  m.seconds_hand = median(times[0]), m.seconds_loops = median(times[1]), m.seconds_ours = median(times[2]);
  m.ours = estimate_median(ratio_ours), m.loops = estimate_median(ratio_loops);
  if (measurements_.empty()) print_heading();
  print(m);
  measurements_.push_back(std::move(m));
}

} // namespace bench
