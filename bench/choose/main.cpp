// SPDX-License-Identifier: BSL-1.0
// Run times of compiled functions, graphs at run time and eager mode. measure.py builds and runs it; see ../README.md.
#include "../run/statistics.hpp"
#include "ways.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

namespace {

using clock_type = std::chrono::steady_clock;

double seconds(choose::task const& run, long repetitions) {
  auto const start = clock_type::now();
  for (long k = 0; k < repetitions; ++k) static_cast<void>(run());
  return std::chrono::duration<double>(clock_type::now() - start).count() / static_cast<double>(repetitions);
}

long repetitions_for(choose::task const& run, double wanted) {
  long r = 1;
  while (r < 1000000 && seconds(run, r) * static_cast<double>(r) < wanted) r *= 2;
  return r;
}

template <class T>
std::vector<T> numbers(std::size_t count, double low, double high, std::mt19937& random) {
  std::vector<T> all(count);
  for (T& x : all) x = static_cast<T>(low + (high - low) * static_cast<double>(random() >> 8) / (1 << 24));
  return all;
}

choose::data draw() {
  std::mt19937 random(20261123);
  choose::data d;
  d.w3 = numbers<double>(3, -1, 1, random), d.x3 = numbers<double>(3, -1, 1, random);
  d.w65536 = numbers<double>(65536, -1, 1, random), d.x65536 = numbers<double>(65536, -1, 1, random);
  d.start1000 = numbers<double>(1000, 0, 1, random);
  d.w1 = numbers<float>(64 * 32, -.1, .1, random), d.b1 = numbers<float>(32, -.1, .1, random);
  d.w2 = numbers<float>(32 * 10, -.1, .1, random), d.b2 = numbers<float>(10, -.1, .1, random);
  d.images = numbers<float>(50 * 64, 0, 1, random);
  d.labels = numbers<std::int32_t>(50, 0, 10, random);
  return d;
}

struct row {
  char const* name;
  choose::task choose::tasks::*run;
};

} // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::max(11, std::atoi(argv[1])) : 51;
  choose::data const d = draw();
  std::array<choose::tasks, 3> const ways{choose::compiled(d), choose::graph(d), choose::eager(d)};
  row const rows[]{{"gradient, 3 elements", &choose::tasks::gradient_of_3},
                   {"gradient, 65,536 elements", &choose::tasks::gradient_of_65536},
                   {"training step", &choose::tasks::training_step},
                   {"loop of 100 iterations, 1 element", &choose::tasks::loop_of_1},
                   {"loop of 100 iterations, 1,000 elements", &choose::tasks::loop_of_1000},
                   {"set-up and first training step", &choose::tasks::build}};
  std::mt19937 random(1);
  for (row const& r : rows) {
    std::vector<std::size_t> present;
    for (std::size_t k = 0; k < ways.size(); ++k)
      if (ways[k].*r.run) present.push_back(k);

    double const wanted = (ways[present.front()].*r.run)();
    for (std::size_t k : present) {
      double const got = k == present.front() ? wanted : (ways[k].*r.run)();
      if (!(std::fabs(got - wanted) <= 1e-5 * std::fabs(wanted))) {
        std::fprintf(stderr, "%s: %s gives %.17g, not %.17g\n", r.name, ways[k].way, got, wanted);
        return 1;
      }
    }

    std::array<std::vector<double>, 3> times, ratios;
    std::array<long, 3> repetitions{};
    for (std::size_t k : present) repetitions[k] = repetitions_for(ways[k].*r.run, 500e-6);
    for (int round = 0; round < rounds; ++round) {
      std::array<double, 3> lap{};
      std::shuffle(present.begin(), present.end(), random);
      for (std::size_t k : present) {
        static_cast<void>((ways[k].*r.run)()); // warms the caches
        times[k].push_back(lap[k] = seconds(ways[k].*r.run, repetitions[k]));
      }
      std::size_t const base = *std::min_element(present.begin(), present.end());
      for (std::size_t k : present) ratios[k].push_back(lap[k] / lap[base]);
    }
    std::printf("%s\n", r.name);
    for (std::size_t k = 0; k < ways.size(); ++k)
      if (!times[k].empty()) {
        auto const ratio = bench::estimate_median(ratios[k]);
        std::printf("  %-20s %12.3f us   ratio %8.2f  [%.2f, %.2f]\n", ways[k].way,
                    1e6 * bench::estimate_median(times[k]).median, ratio.median, ratio.low, ratio.high);
      }
  }
}
