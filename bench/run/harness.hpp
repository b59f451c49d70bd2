// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_HARNESS_HPP
#define COTANGENT_BENCH_RUN_HARNESS_HPP

#include "statistics.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// One case is one function, computed by several contestants that write into the same memory, so that no contestant has a
// better alignment. Their results are compared, then they are timed in turn.

namespace bench {

/// A timed function, called `repetitions` times by one indirect call.
struct contestant {
  std::string name;
  std::function<void(long)> repeat;
};

template <class F>
contestant named(std::string name, F f) {
  return {std::move(name), [f](long repetitions) {
            auto call = f;
            for (long i = 0; i < repetitions; ++i) {
              call();
              asm volatile("" : : : "memory");
            }
          }};
}

/// Memory that a contestant writes. Two agree where they differ by less than a few roundings of the largest entry; an
/// entry that is a sum of `terms` terms may differ by their square root more.
struct result {
  std::string name;
  void* data;
  std::ptrdiff_t count;
  bool is_float;
  std::ptrdiff_t terms;
};

template <class T>
result written(std::string name, T* data, std::ptrdiff_t count, std::ptrdiff_t terms = 1) {
  return {std::move(name), data, count, sizeof(T) == 4, terms};
}

struct comparison {
  std::string name, element;
  std::string size; // as printed: 4096, or 64x10
  std::ptrdiff_t n; // for sorting and drawing
  std::vector<result> results;
  std::vector<contestant> ours;  // at most one
  std::vector<contestant> hand;  // ours is compared with the fastest of these
  std::vector<contestant> loops; // at most one
};

struct measurement {
  std::string name, element, size, hand;
  std::ptrdiff_t n = 0;
  int pairs = 0;
  double seconds_ours = 0, seconds_hand = 0, seconds_loops = 0; // medians, one call
  estimate ours, loops;                                         // ratios against hand
  std::vector<std::pair<std::string, double>> variants;         // every hand-written one, seconds
};

struct options {
  std::string filter, json, svg, curve;
  bool quick = false, list = false;
  int pairs = 51;
  double sample_seconds = 60e-6;
  int core = -1;
};

class suite {
public:
  explicit suite(options o) : options_(std::move(o)) {}

  /// Compares and times, if the filter selects the case. Terminates the program if results differ.
  void run(comparison const& c);
  bool quick() const { return options_.quick; }
  /// True if the filter selects this name, for cases measured elsewhere.
  bool wanted(std::string const& name) const {
    return !options_.list && name.find(options_.filter) != std::string::npos;
  }
  /// The sizes to measure.
  std::vector<std::ptrdiff_t> sizes() const {
    return quick() ? std::vector<std::ptrdiff_t>{8, 100, 4096}
                   : std::vector<std::ptrdiff_t>{8, 64, 100, 1000, 4096, 65536, 1000000};
  }
  std::vector<measurement> const& measurements() const { return measurements_; }

private:
  options options_;
  std::vector<measurement> measurements_;
};

/// Registers a case; one static object in each file.
struct entry {
  entry(char const* name, void (*run)(suite&));
};

struct registered {
  char const* name;
  void (*run)(suite&);
};
std::vector<registered>& all_entries();

void print_heading();
void print(measurement const& m);
void print_summary(std::vector<measurement> const& all);
bool write_json(std::string const& path, std::vector<measurement> const& all);
bool write_svg(std::string const& path, std::vector<measurement> const& all);
bool write_curve(std::string const& path, std::vector<measurement> const& all);

} // namespace bench

#endif
