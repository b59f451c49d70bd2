// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_MEMORY_CHAIN_HPP
#define COTANGENT_TRANSFORM_MEMORY_CHAIN_HPP

#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/memory_problem.hpp>

#include <cstdint>

// The gradient of a chain: values that are computed each from the one before, and then are read from the last to the first.

namespace cotangent::detail {

/// A problem that is a chain: values 0 ... length - 1, each of which reads at most the one before, and the rest, which
/// reads them from behind. A value that the rest does not read is joined with the next one, which is no larger.
struct memory_chain {
  struct link {
    std::int32_t first = 0, last = 0; // values that are computed together; `last` is what they make
    std::int64_t bytes = 0;
    double cost = 0;
    std::int64_t beside = 0;  // needed while it is computed, besides the link before
    std::int64_t after = 0;   // the same when that is not read any more
    std::int32_t begin = -1;  // the first of the rest that reads it, -1 where none does
    std::int64_t rest = 0;    // what the rest takes from there on, up to the next link's begin
    std::int64_t waiting = 0; // what of the rest is there before
  };
  array<link> links;
  std::int32_t length = 0;

  constexpr explicit memory_chain(memory_problem const& p) {
    while (length < p.size() && is_next(p)) ++length;
    if (!find_links(p)) {
      length = 0;
      links.clear();
    }
  }

private:
  constexpr bool is_next(memory_problem const& p) const {
    int const n = p.first[length + 1] - p.first[length];
    return !p.once[length] && !p.stays[length] &&
           (length == 0 ? n == 0 : n == 1 && p.reads[p.first[length]] == length - 1);
  }
  /// What reads the chain reads it from behind, one link each: as much of it as is read so.
  constexpr bool find_links(memory_problem const& p) {
    array<std::int32_t> begin;
    for (bool whole = false; !whole;) {
      if (length < 2) return false;
      begin.assign(length, -1);
      whole = true;
      std::int32_t now = length - 1;
      for (int v = length; v < p.size() && whole; ++v) {
        std::int32_t reads = -1;
        for (int k = p.first[v]; k < p.first[v + 1] && whole; ++k) {
          std::int32_t const x = p.reads[k];
          if (x >= length || x == reads) continue;
          std::int32_t const later = x > now ? x : reads < x ? x : reads;
          whole = x <= now && reads < 0;
          if (whole) reads = x;
          else length = later; // that one belongs to the rest
        }
        if (reads < 0 || !whole) continue;
        now = reads;
        if (begin[reads] < 0) begin[reads] = v;
      }
    }
    join(p, begin);
    measure_rest(p);
    return true;
  }
  constexpr void join(memory_problem const& p, array<std::int32_t> const& begin) {
    link l;
    bool fresh = true;
    for (int v = 0; v < length; ++v) {
      std::int64_t const bytes = p.bytes[v];
      if (fresh) {
        l = {};
        l.first = v;
        l.beside = bytes;
        fresh = false;
      } else if (l.after < l.bytes + bytes) l.after = l.bytes + bytes;
      l.bytes = bytes;
      l.cost += p.cost[v];
      l.last = v;
      if (begin[v] < 0 && v + 1 < length && bytes >= p.bytes[v + 1]) continue;
      l.begin = v + 1 == length ? length : begin[v]; // what comes before the last one's turn belongs to it
      links.push(l);
      fresh = true;
    }
  }
  /// What is there of the rest, with every value of it from when it is computed to the last that reads it.
  constexpr void measure_rest(memory_problem const& p) {
    int const n = p.size();
    array<std::int32_t> last(n);
    for (int v = 0; v < n; ++v) {
      last[v] = p.stays[v] ? n - 1 : v;
      for (int k = p.first[v]; k < p.first[v + 1]; ++k)
        if (last[p.reads[k]] < v) last[p.reads[k]] = v;
    }
    array<std::int64_t> change(n + 1), across(n + 1);
    for (int v = length; v < n; ++v) {
      change[v] += p.bytes[v];
      change[last[v] + 1] -= p.bytes[v];
      across[v + 1] += p.bytes[v]; // from after v on until its last reader
      across[last[v] + 1] -= p.bytes[v];
    }
    for (int v = 1; v <= n; ++v) {
      change[v] += change[v - 1];
      across[v] += across[v - 1];
    }
    std::int32_t end = n;
    for (link& l : links) { // the first link is read last
      if (l.begin < 0) continue;
      for (int v = l.begin; v < end; ++v)
        if (l.rest < change[v]) l.rest = change[v];
      l.waiting = across[l.begin];
      end = l.begin;
    }
  }
};

/// The cheapest schedule of a chain, for any limit up to the one given: what part of the chain is computed, and held, when
/// its rest is to be read from behind with `bytes` at hand, by dynamic programming over parts. A value is held until what
/// reads it has run.
class chain_schedule {
  memory_problem const& p_;
  memory_chain const& c_;
  std::int64_t limit_;
  struct point {
    std::int64_t bytes = 0;
    double cost = 0;
  };
  array<array<point>> best_; // by part: ascending bytes, descending cost
  std::int32_t links_;

public:
  array<std::int32_t> steps; // none where nothing fits
  bool exact = true;         // no more ways had to be distinguished than are

  constexpr chain_schedule(memory_problem const& p, memory_chain const& c, std::int64_t limit)
      : p_(p), c_(c), limit_(limit), best_((c.links.size() + 1) * (c.links.size() + 1)),
        links_(c.links.size()) {
    for (int length = 0; length <= links_; ++length)
      for (int from = 0; from + length <= links_; ++from) solve(from, from + length);
    std::int32_t top = links_;
    if (cost_of(0, top, limit_) < 0) return;
    std::int32_t next = c_.length; // of the rest
    emit(0, top, limit_, next);
    for (; next < p_.size(); ++next) steps.push(next);
  }

private:
  // Part (s, t): link s - 1 is there (0: nothing need be), and what reads links s ... t - 1 is to run, the last first.
  constexpr array<point>& part(int s, int t) { return best_[s * (links_ + 1) + t]; }
  constexpr array<point> const& part(int s, int t) const { return best_[s * (links_ + 1) + t]; }

  /// What computing links s ... j takes at most, and costs.
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

  constexpr void solve(int s, int t) {
    array<point>& points = part(s, t);
    if (s == t) {
      points.push({0, 0});
      return;
    }
    if (c_.links[t - 1].begin < 0) { // nobody reads it
      points = part(s, t - 1);
      return;
    }
    way w;
    array<point> found;
    for (int j = s; j < t; ++j) {
      w = extended(w, s, j);
      std::int64_t const at_least = least(w, j, t), held = c_.links[j].bytes;
      array<point> const &right = part(j + 1, t), &left = part(s, j);
      if (right.empty() || left.empty()) continue;
      int a = 0, b = 0;
      for (;;) {
        std::int64_t bytes = at_least;
        if (bytes < right[a].bytes + held) bytes = right[a].bytes + held;
        if (bytes < left[b].bytes) bytes = left[b].bytes;
        if (bytes > limit_) break;
        while (a + 1 < right.size() && right[a + 1].bytes + held <= bytes) ++a;
        while (b + 1 < left.size() && left[b + 1].bytes <= bytes) ++b;
        found.push({bytes, w.cost + right[a].cost + left[b].cost});
        bool const more_right = a + 1 < right.size(), more_left = b + 1 < left.size();
        if (!more_right && !more_left) break;
        if (!more_left || (more_right && right[a + 1].bytes + held <= left[b + 1].bytes)) ++a;
        else ++b;
      }
    }
    keep_best(found, points);
  }
  static constexpr int most_points = 4096;
  constexpr void keep_best(array<point>& found, array<point>& points) {
    sort(found.data(), found.size(), [](point const& x, point const& y) {
      return x.bytes != y.bytes ? x.bytes < y.bytes : x.cost < y.cost;
    });
    for (point const& x : found)
      if (points.empty() || x.cost < points.back().cost) points.push(x);
    if (points.size() <= most_points) return;
    exact = false; // of neighbours the one that takes more stands for both
    int n = 0;
    for (int k = 1; k < points.size(); k += 2) points[n++] = points[k];
    if (points.size() % 2 != 0) points[n++] = points.back();
    points.resize(n);
  }
  constexpr double cost_of(int s, int t, std::int64_t bytes) const {
    array<point> const& points = part(s, t);
    int low = 0, high = points.size();
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
    if (c_.links[chosen].begin >= 0) { // what stands before the next link's turn
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

#endif
