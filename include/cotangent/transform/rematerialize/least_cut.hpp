// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_LEAST_CUT_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_LEAST_CUT_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/array.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The cheapest set of arcs that separates vertex 1 from vertex 0, by blocking flows along shortest paths.
///
/// Cost: three rounds over all arcs for most graphs of values; at worst arcs times vertices squared.
/// Source: Y. Dinitz, Algorithm for solution of a problem of maximum flow in a network with power estimation, 1970.
/// Checked: tests/runtime/saving.cpp, against all subsets.
class least_cut {
  struct arc {
    std::int32_t to, next;
    std::int64_t left;
  };
  array<arc> arcs_; // each followed by its reverse arc
  array<std::int32_t> first_, level_, now_, queue_, path_;
  std::int64_t total_ = 0;

public:
  /// The capacity of an arc that no cut takes, unless there is no other.
  static constexpr std::int64_t endless = std::int64_t{1} << 61;

  constexpr explicit least_cut(int vertices) : first_(vertices, -1) {}

  constexpr void join(int from, int to, std::int64_t capacity) {
    first_[from] = arcs_.push({to, first_[from], capacity});
    first_[to] = arcs_.push({from, first_[to], 0});
  }
  constexpr void find() {
    while (measure()) {
      now_ = first_;
      while (push_along()) {}
    }
  }
  /// True if the vertex is on the side of vertex 0. The arcs from there to the other side are the cut nearest
  /// to vertex 0.
  constexpr bool before(int v) const { return level_[v] >= 0; }
  constexpr std::int64_t total() const noexcept { return total_; }

private:
  /// The distance of each vertex along arcs with remaining capacity; false if vertex 1 is unreachable.
  constexpr bool measure() {
    level_.assign(first_.size(), -1);
    queue_.clear();
    queue_.push(0);
    level_[0] = 0;
    for (int k = 0; k < queue_.size(); ++k)
      for (std::int32_t a = first_[queue_[k]]; a >= 0; a = arcs_[a].next)
        if (arc const& at = arcs_[a]; at.left > 0 && level_[at.to] < 0) {
          level_[at.to] = level_[queue_[k]] + 1;
          queue_.push(at.to);
        }
    return level_[1] >= 0;
  }
  /// Augments one path; false if there is none. Dead ends are not visited again in this round.
  constexpr bool push_along() {
    path_.clear();
    int v = 0;
    while (v != 1) {
      std::int32_t a = now_[v];
      while (a >= 0 &&
             !(arcs_[a].left > 0 && level_[arcs_[a].to] == level_[v] + 1))
        a = arcs_[a].next;
      now_[v] = a;
      if (a >= 0) {
        path_.push(a);
        v = arcs_[a].to;
      } else if (path_.size() == 0) return false;
      else {
        std::int32_t const back = path_.pop();
        v = arcs_[back ^ 1].to;
        now_[v] = arcs_[back].next;
      }
    }
    std::int64_t most = endless;
    for (std::int32_t const a : path_)
      if (arcs_[a].left < most) most = arcs_[a].left;
    for (std::int32_t const a : path_) {
      if (arcs_[a].left < endless) arcs_[a].left -= most;
      if (arcs_[a ^ 1].left < endless) arcs_[a ^ 1].left += most;
    }
    total_ += most;
    return true;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
