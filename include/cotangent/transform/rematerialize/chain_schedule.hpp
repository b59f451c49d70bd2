// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_CHAIN_SCHEDULE_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_CHAIN_SCHEDULE_HPP

#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/rematerialize/memory_chain.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The cheapest schedule of a chain within a limit, by dynamic programming over parts: which links of a part
/// are computed and held if `bytes` are available and the rest of the chain is read in reverse. A value is
/// held until its reader has run. Parts with equal links are solved once: chains of equal layers take few
/// steps.
class chain_schedule {
public:
  struct point {
    std::int64_t bytes = 0;
    double cost = 0;
  };
  /// The parts solved so far: a constant evaluation continues where an earlier one stopped.
  struct progress {
    array<point> points;       // of a part: ascending bytes, descending cost
    array<std::int32_t> first; // by solved part: the index of its first point
  };

private:
  memory_problem const& p_;
  memory_chain const& c_;
  std::int64_t limit_, work_;
  progress known_;
  array<std::int32_t> best_of_; // by part: the index of its solution
  array<std::int32_t> alike_;   // by link: the number of links from here on that equal their predecessor
  array<std::int64_t> held_;    // by link: bytes of all links before it
  std::int32_t links_;

public:
  array<std::int32_t> steps; // none if nothing fits
  bool exact = true;         // no points had to be merged
  bool finished = false;

  /// Stops before it is finished if more than `most_work` combinations of parts would be visited.
  constexpr chain_schedule(memory_problem const& p, memory_chain const& c, std::int64_t limit,
                           std::int64_t most_work = INT64_MAX, progress const& from = {})
      : p_(p), c_(c), limit_(limit), work_(most_work), known_(from),
        best_of_((c.links.size() + 1) * (c.links.size() + 1)), alike_(c.links.size() + 1),
        links_(c.links.size()) {
    held_.push(0);
    for (int k = 0; k < links_; ++k) held_.push(held_[k] + c.links[k].bytes);
    for (int k = links_ - 1; k > 0; --k)
      alike_[k] = c.links[k].is_like(c.links[k - 1]) ? alike_[k + 1] + 1 : 0;
    if (known_.first.empty()) known_.first.push(0);
    if (!solve_parts() || cost_of(0, links_, limit_) < 0) return;
    std::int32_t next = c_.length; // of the rest
    emit(0, links_, limit_, next);
    for (; next < p_.size(); ++next) steps.push(next);
  }
  constexpr progress const& known() const { return known_; }

private:
  constexpr bool solve_parts() {
    int const before = known_.first.size() - 1;
    int solved = 0;
    for (int length = 0; length <= links_; ++length)
      for (int from = 0; from + length <= links_; ++from) {
        std::int32_t& index = best_of_[from * (links_ + 1) + from + length];
        if (from > 0 && alike_[from] >= length) {
          index = best_of_[(from - 1) * (links_ + 1) + from - 1 + length];
          continue;
        }
        index = solved++;
        if (index < before) continue;
        if (work_ < 0) return false;
        std::int32_t last = from; // the last part that is like this one
        while (last + length < links_ && alike_[last + 1] >= length) ++last;
        solve(from, from + length, limit_ - held_[last]);
      }
    return finished = true;
  }
  // Part (s, t): link s - 1 is present (0: nothing is required), and the readers of links s ... t - 1 are to
  // run, the last first.
  struct points_of_part {
    point const* data;
    int count;
    constexpr point const& operator[](int k) const { return data[k]; }
  };
  constexpr points_of_part part(int s, int t) const {
    std::int32_t const k = best_of_[s * (links_ + 1) + t], first = known_.first[k];
    return {known_.points.data() + first, known_.first[k + 1] - first};
  }

  /// The peak and the cost of computing links s ... j.
  struct way {
    std::int64_t bytes = 0;
    double cost = 0;
  };
  constexpr way extended(way w, int s, int j) const {
    memory_chain::link const& l = c_.links[j];
    std::int64_t const with = l.beside + (j > s ? c_.links[j - 1].bytes : 0);
    for (std::int64_t const b : {with, l.after})
      if (w.bytes < b) w.bytes = b;
    w.cost += l.cost;
    return w;
  }
  constexpr std::int64_t least(way const& w, int j, int t) const {
    std::int64_t const compute = w.bytes + c_.links[t - 1].waiting;
    std::int64_t const run = c_.links[j].bytes + (c_.links[j].begin < 0 ? 0 : c_.links[j].rest);
    return compute < run ? run : compute;
  }

  /// `floor`: the least bytes that are available, whatever is held before.
  constexpr void solve(int s, int t, std::int64_t floor) {
    array<point> best;
    if (s == t) best.push({0, 0});
    else if (c_.links[t - 1].begin < 0) { // it is not read
      points_of_part const same = part(s, t - 1);
      for (int k = 0; k < same.count; ++k) best.push(same.data[k]);
    } else find(s, t, floor, best);
    keep(best);
  }
  constexpr void find(int s, int t, std::int64_t floor, array<point>& best) {
    way w;
    array<point> fresh, merged;
    for (int j = s; j < t; ++j) {
      w = extended(w, s, j);
      if (w.bytes > limit_) break;
      points_of_part const right = part(j + 1, t), left = part(s, j);
      if (right.count == 0 || left.count == 0) continue;
      if (!best.empty() && best[0].bytes <= floor &&
          w.cost + right.data[right.count - 1].cost + left.data[left.count - 1].cost >= best[0].cost)
        continue; // not better with any memory than the best solution with the least memory
      fresh.clear();
      join(w.cost, least(w, j, t), c_.links[j].bytes, right, left, best, fresh);
      if (fresh.empty()) continue;
      merged.clear();
      int const old_count = best.size();
      int k = 0, i = 0;
      while (k < old_count || i < fresh.size()) {
        bool const old = i == fresh.size() || (k < old_count && best[k].bytes <= fresh[i].bytes);
        point const x = old ? best[k++] : fresh[i++];
        if (!merged.empty() && merged.back().cost <= x.cost) continue;
        if (!merged.empty() && (x.bytes <= floor || merged.back().bytes == x.bytes)) (void)merged.pop();
        merged.push(x);
      }
      best = merged;
    }
  }
  /// Combines the solutions of both parts beside a held link: the points that `best` does not dominate. (This
  /// loop takes all the time; a constant evaluation counts each call.)
  constexpr void join(double cost, std::int64_t at_least, std::int64_t held, points_of_part right,
                      points_of_part left, array<point> const& best, array<point>& fresh) {
    point const *r = right.data, *l = left.data, *b = best.data();
    point const *const right_end = r + right.count, *const left_end = l + left.count,
                       *const end = b + best.size();
    double least = 1e300;
    std::int64_t work = 0;
    for (;;) {
      ++work;
      std::int64_t bytes = at_least;
      if (bytes < r->bytes + held) bytes = r->bytes + held;
      if (bytes < l->bytes) bytes = l->bytes;
      if (bytes > limit_) break;
      while (r + 1 != right_end && r[1].bytes + held <= bytes) ++r;
      while (l + 1 != left_end && l[1].bytes <= bytes) ++l;
      for (; b != end && b->bytes <= bytes; ++b)
        if (b->cost < least) least = b->cost;
      double const sum = cost + r->cost + l->cost;
      if (sum < least) {
        fresh.push({bytes, sum});
        least = sum;
      }
      if (r + 1 == right_end) {
        if (l + 1 == left_end) break;
        ++l;
      } else if (l + 1 == left_end || r[1].bytes + held <= l[1].bytes) ++r;
      else ++l;
    }
    work_ -= work;
  }
  static constexpr int most_points = 4096;
  constexpr void keep(array<point> const& best) {
    array<point>& points = known_.points;
    if (best.size() <= most_points)
      for (point const& x : best) points.push(x);
    else {
      exact = false; // the larger one of two neighbors replaces both
      for (int k = 1; k < best.size(); k += 2) points.push(best[k]);
      if (best.size() % 2 != 0) points.push(best.back());
    }
    known_.first.push(points.size());
  }
  constexpr double cost_of(int s, int t, std::int64_t bytes) const {
    points_of_part const points = part(s, t);
    int low = 0, high = points.count;
    while (low < high) {
      int const middle = (low + high) / 2;
      if (points[middle].bytes <= bytes) low = middle + 1;
      else high = middle;
    }
    return low == 0 ? -1 : points[low - 1].cost;
  }

  constexpr void emit(int s, int t, std::int64_t bytes, std::int32_t& next) {
    while (s < t && c_.links[t - 1].begin < 0) --t;
    if (s == t) return;
    way w;
    double least_cost = -1;
    int chosen = s;
    for (int j = s; j < t; ++j) {
      w = extended(w, s, j);
      if (least(w, j, t) > bytes) continue;
      double const right = cost_of(j + 1, t, bytes - c_.links[j].bytes), left = cost_of(s, j, bytes);
      if (right < 0 || left < 0 || (least_cost >= 0 && w.cost + right + left >= least_cost)) continue;
      least_cost = w.cost + right + left;
      chosen = j;
    }
    for (int j = s; j <= chosen; ++j)
      for (int v = c_.links[j].first; v <= c_.links[j].last; ++v) steps.push(v);
    emit(chosen + 1, t, bytes - c_.links[chosen].bytes, next);
    if (c_.links[chosen].begin >= 0) { // steps before the next link's turn
      std::int32_t end = p_.size();
      for (int j = chosen; j-- > 0;)
        if (c_.links[j].begin >= 0) {
          end = c_.links[j].begin;
          break;
        }
      for (; next < end; ++next) steps.push(next);
    }
    emit(s, chosen, bytes, next);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
