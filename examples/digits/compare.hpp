// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_COMPARE_HPP
#define COTANGENT_EXAMPLES_DIGITS_COMPARE_HPP

#include "by_hand.hpp"
#include "network.hpp"
#include "plain_loops.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace digits {

inline by_hand::parameters pointers(parameters const& p) {
  return {p.w1.data(), p.b1.data(), p.w2.data(), p.b2.data()};
}
inline by_hand::gradients pointers(parameters& p) {
  return {p.w1.data(), p.b1.data(), p.w2.data(), p.b2.data()};
}

/// Three implementations of one gradient.
struct contest {
  parameters const& p;
  images const& x;
  labels_of_images const& labels;
  float loss[3]{};
  parameters gradient[3]{};
  std::unique_ptr<gradient_step::workspace> workspace = std::make_unique<gradient_step::workspace>();
  std::unique_ptr<by_hand::step<batch>> hand = std::make_unique<by_hand::step<batch>>();

  contest(parameters const& at, images const& of, labels_of_images const& with)
      : p(at), x(of), labels(with) {}

  void ours() {
    static_cast<void>(gradient_step::run(*workspace, std::tie(p, x, labels), std::tie(loss[0], gradient[0])));
  }
  void by_hand() { loss[1] = (*hand)(pointers(p), x.data(), labels.data(), pointers(gradient[1])); }
  void loops() {
    loss[2] = plain_loops::step(pointers(p), x.data(), labels.data(), batch, pointers(gradient[2]));
  }

  /// True if the three agree: each tensor to a few roundings of its largest entry.
  bool agree() {
    ours(), by_hand(), loops();
    bool same = true;
    for (int k = 0; k < 2; ++k) {
      same = same && std::fabs(loss[k] - loss[2]) <= 1e-5f * std::fabs(loss[2]);
      hana::for_each(hana::accessors<parameters>(), [&](auto const& member) {
        auto const of = hana::second(member);
        auto const &a = of(gradient[k]), &b = of(gradient[2]);
        float largest = 0, error = 0;
        for (std::ptrdiff_t i = 0; i < b.size(); ++i) {
          largest = std::max(largest, std::fabs(b.data()[i]));
          error = std::max(error, std::fabs(a.data()[i] - b.data()[i]));
        }
        same = same && error <= 2e-5f * largest; // NaN is false
      });
    }
    return same;
  }

  struct microseconds {
    double ours, hand, loops;
  };
  /// Medians over rounds in which all three take turns.
  microseconds measure(int rounds = 301) {
    constexpr int repetitions = 20;
    std::vector<double> times[3];
    auto const time = [&](std::vector<double>& to, int count, auto&& f) {
      auto const start = std::chrono::steady_clock::now();
      for (int k = 0; k < count; ++k) {
        f();
        asm volatile("" : : : "memory");
      }
      to.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
          count);
    };
    for (int k = 0; k < rounds; ++k) {
      time(times[0], repetitions, [&] { ours(); });
      time(times[1], repetitions, [&] { by_hand(); });
      time(times[2], 4, [&] { loops(); });
    }
    for (auto& t : times) std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
    auto const middle = static_cast<std::size_t>(rounds / 2);
    return {times[0][middle], times[1][middle], times[2][middle]};
  }
};

} // namespace digits

#endif
