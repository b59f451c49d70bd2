// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_PROFILE_LIVE_HPP
#define COTANGENT_IO_PROFILE_LIVE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cotangent::detail {

/// The number of live bytes in each step; bytes of several pieces count once.
class live_bytes {
  struct edge {
    int step = 0;
    int by = 0;
    std::int64_t from = 0, to = 0;
  };
  std::vector<edge> edges_;
  // A segment tree over the intervals between the addresses at which pieces begin or end.
  std::vector<std::int64_t> at_;
  std::vector<int> covers_;           // by tree node: the number of pieces that cover all of it
  std::vector<std::int64_t> covered_; // by tree node: bytes covered

public:
  void add(std::int64_t offset, std::int64_t bytes, int first, int last) {
    if (bytes <= 0 || last < first) return;
    edges_.push_back({first, 1, offset, offset + bytes});
    edges_.push_back({last + 1, -1, offset, offset + bytes});
  }

  std::vector<std::int64_t> by_step(int steps) {
    std::vector<std::int64_t> live(static_cast<std::size_t>(steps), 0);
    if (edges_.empty()) return live;
    for (edge const& e : edges_) {
      at_.push_back(e.from);
      at_.push_back(e.to);
    }
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
    covers_.assign(4 * at_.size(), 0);
    covered_.assign(4 * at_.size(), 0);
    std::sort(edges_.begin(), edges_.end(), [](edge const& a, edge const& b) { return a.step < b.step; });
    std::size_t next = 0;
    for (int k = 0; k < steps; ++k) {
      for (; next < edges_.size() && edges_[next].step <= k; ++next)
        cover(1, 0, at_.size() - 1, edges_[next]);
      live[static_cast<std::size_t>(k)] = covered_[1];
    }
    return live;
  }

private:
  void cover(std::size_t n, std::size_t low, std::size_t high, edge const& e) {
    if (e.to <= at_[low] || at_[high] <= e.from) return;
    if (e.from <= at_[low] && at_[high] <= e.to) covers_[n] += e.by;
    else {
      std::size_t const middle = (low + high) / 2;
      cover(2 * n, low, middle, e);
      cover(2 * n + 1, middle, high, e);
    }
    covered_[n] = covers_[n] > 0    ? at_[high] - at_[low]
                  : high - low == 1 ? 0
                                    : covered_[2 * n] + covered_[2 * n + 1];
  }
};

} // namespace cotangent::detail

#endif
