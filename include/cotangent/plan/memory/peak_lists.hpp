// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_PEAK_LISTS_HPP
#define COTANGENT_PLAN_MEMORY_PEAK_LISTS_HPP

#include <cotangent/core/heap.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/plan/memory/peak_exact.hpp>

#include <cstdint>

// The memory use of steps, and list scheduling: the next step is the one that frees most.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Steps, their dependencies, and their memory. A value is live from the first step that uses it to the last,
/// as reader or writer; `edges` order these.
struct peak_problem {
  struct value {
    std::int64_t bytes = 0;
    bool given = false; // live before the first step
    bool stays = false; // live after the last one
  };
  struct use {
    std::int32_t step = 0, value = 0;
  };
  /// In `step`, if it is the last user of `from` and the first user of `to`, one overwrites the other.
  struct replacement {
    std::int32_t step = 0, from = 0, to = 0;
  };
  int steps = 0;
  array<value> values;
  array<use> uses; // each pair once
  array<dependency> edges;
  array<replacement> replacements;
  array<std::int64_t> work; // by step: bytes while it runs; empty: none
};

/// The peak of an order, and the first position that has it.
struct peak_at {
  std::int64_t bytes = 0;
  int position = 0;
};

/// The uses, by step and by value.
class peak_uses {
  peak_problem const& p_;

  template <class Key, class Entry>
  static constexpr void list(int keys, int count, array<std::int32_t>& first, array<std::int32_t>& entries,
                             Key key, Entry entry) {
    first.assign(keys + 1, 0);
    entries.resize(count);
    for (int k = 0; k < count; ++k) ++first[key(k) + 1];
    for (int k = 0; k < keys; ++k) first[k + 1] += first[k];
    array<std::int32_t> at = first;
    for (int k = 0; k < count; ++k) entries[at[key(k)]++] = entry(k);
  }

public:
  array<std::int32_t> first_value, values;                      // by step
  array<std::int32_t> first_user, users;                        // by value
  array<std::int32_t> first_before, before, first_after, after; // by step: edges
  array<std::int32_t> first_replacement, replacements;          // by step

  constexpr explicit peak_uses(peak_problem const& p) : p_(p) {
    list(
        p.steps, p.uses.size(), first_value, values, [&](int k) { return p.uses[k].step; },
        [&](int k) { return p.uses[k].value; });
    list(
        p.values.size(), p.uses.size(), first_user, users, [&](int k) { return p.uses[k].value; },
        [&](int k) { return p.uses[k].step; });
    list(
        p.steps, p.edges.size(), first_before, before, [&](int k) { return p.edges[k].after; },
        [&](int k) { return p.edges[k].before; });
    list(
        p.steps, p.edges.size(), first_after, after, [&](int k) { return p.edges[k].before; },
        [&](int k) { return p.edges[k].after; });
    list(
        p.steps, p.replacements.size(), first_replacement, replacements,
        [&](int k) { return p.replacements[k].step; }, [](int k) { return k; });
  }

  constexpr void note_positions(array<std::int32_t> const& order, array<std::int32_t>& position,
                                array<std::int32_t>& first, array<std::int32_t>& last) const {
    first.assign(p_.values.size(), none);
    last.assign(p_.values.size(), none);
    for (int k = 0; k < order.size(); ++k) {
      position[order[k]] = k;
      for (int u = first_value[order[k]]; u < first_value[order[k] + 1]; ++u) {
        if (first[values[u]] == none) first[values[u]] = k;
        last[values[u]] = k;
      }
    }
  }
  constexpr peak_at peak_of(array<std::int32_t> const& order) const {
    peak_at highest;
    walk(order, order.size(), highest);
    return highest;
  }
  /// The live bytes after the first `count` steps.
  constexpr std::int64_t live_before(array<std::int32_t> const& order, int count) const {
    peak_at unused;
    return walk(order, count, unused);
  }
  /// A lower bound of all orders: the most that one step uses.
  constexpr std::int64_t least() const {
    std::int64_t most = 0;
    for (int s = 0; s < p_.steps; ++s) {
      std::int64_t bytes = s < p_.work.size() ? p_.work[s] : 0;
      for (int u = first_value[s]; u < first_value[s + 1]; ++u) bytes += p_.values[values[u]].bytes;
      for (int r = first_replacement[s]; r < first_replacement[s + 1]; ++r)
        bytes -= p_.values[p_.replacements[replacements[r]].from].bytes;
      if (most < bytes) most = bytes;
    }
    return most;
  }

private:
  constexpr std::int64_t walk(array<std::int32_t> const& order, int count, peak_at& highest) const {
    array<std::int32_t> left(p_.values.size());
    array<bool> replaced(p_.values.size(), false), there(p_.values.size(), false);
    std::int64_t live = 0;
    for (int v = 0; v < p_.values.size(); ++v) {
      left[v] = first_user[v + 1] - first_user[v];
      there[v] = p_.values[v].given;
      if (there[v]) live += p_.values[v].bytes;
    }
    for (int k = 0; k < count; ++k) {
      std::int32_t const s = order[k];
      std::int64_t saved = 0, freed = 0;
      for (int r = first_replacement[s]; r < first_replacement[s + 1]; ++r) {
        peak_problem::replacement const& one = p_.replacements[replacements[r]];
        bool const ends = left[one.from] == 1 && !p_.values[one.from].stays && there[one.from];
        if (!ends || there[one.to] || replaced[one.from] || replaced[one.to]) continue;
        replaced[one.from] = replaced[one.to] = true;
        saved += p_.values[one.from].bytes;
      }
      for (int u = first_value[s]; u < first_value[s + 1]; ++u) {
        std::int32_t const v = values[u];
        if (!there[v]) live += p_.values[v].bytes;
        there[v] = true;
        if (--left[v] == 0 && !p_.values[v].stays) freed += p_.values[v].bytes;
      }
      for (int r = first_replacement[s]; r < first_replacement[s + 1]; ++r)
        replaced[p_.replacements[replacements[r]].to] = false; // it may be overwritten in turn
      std::int64_t const during = live - saved + (s < p_.work.size() ? p_.work[s] : 0);
      if (highest.bytes < during) highest = {during, k};
      live -= freed;
    }
    return live;
  }
};

/// List scheduling from the first step on, or backward from the last one: the ready step that adds least is
/// taken.
class peak_list {
  struct entry {
    std::int64_t adds = 0;
    std::int32_t rank = 0, step = 0;
  };
  peak_problem const& p_;
  peak_uses const& u_;
  bool forward_;
  array<std::int32_t> left_, sum_; // by value: remaining users, and the exclusive or of their indices
  array<bool> there_;
  array<std::int32_t> waits_, rank_;
  array<std::int64_t> adds_;
  array<entry> heap_;

public:
  array<std::int32_t> order;

  constexpr peak_list(peak_problem const& p, peak_uses const& u, array<std::int32_t> const& given,
                      bool forward)
      : p_(p), u_(u), forward_(forward), left_(p.values.size()), sum_(p.values.size(), 0),
        there_(p.values.size(), false), waits_(p.steps, 0), rank_(p.steps), adds_(p.steps, 0) {
    for (int k = 0; k < p.steps; ++k) rank_[given[k]] = forward ? k : p.steps - k;
    for (int v = 0; v < p.values.size(); ++v) {
      left_[v] = u.first_user[v + 1] - u.first_user[v];
      there_[v] = begins(v);
      for (int k = u.first_user[v]; k < u.first_user[v + 1]; ++k) sum_[v] ^= u.users[k];
    }
    for (int s = 0; s < p.steps; ++s) {
      for (int k = u.first_value[s]; k < u.first_value[s + 1]; ++k) adds_[s] += change(u.values[k]);
      waits_[s] =
          forward ? u.first_before[s + 1] - u.first_before[s] : u.first_after[s + 1] - u.first_after[s];
    }
    for (int s = 0; s < p.steps; ++s)
      if (waits_[s] == 0) push(s);
    while (order.size() < p.steps) {
      entry const next = heap_pop(heap_, before);
      if (next.adds == adds_[next.step] && waits_[next.step] == 0)
        run(next.step); // else it is in the heap again
    }
    if (!forward)
      for (int k = 0; k < p.steps / 2; ++k) {
        std::int32_t const s = order[k];
        order[k] = order[p.steps - 1 - k];
        order[p.steps - 1 - k] = s;
      }
  }

private:
  constexpr bool begins(std::int32_t v) const { return forward_ ? p_.values[v].given : p_.values[v].stays; }
  constexpr bool remains(std::int32_t v) const { return forward_ ? p_.values[v].stays : p_.values[v].given; }
  /// The bytes that the next user of a value adds.
  constexpr std::int64_t change(std::int32_t v) const {
    std::int64_t const bytes = p_.values[v].bytes;
    return (there_[v] ? 0 : bytes) - (left_[v] == 1 && !remains(v) ? bytes : 0);
  }
  constexpr void run(std::int32_t s) {
    order.push(s);
    waits_[s] = none;
    for (int k = u_.first_value[s]; k < u_.first_value[s + 1]; ++k) {
      std::int32_t const v = u_.values[k];
      std::int64_t const before = change(v);
      bool const began = there_[v];
      there_[v] = true;
      sum_[v] ^= s;
      if (--left_[v] == 0) continue;
      if (!began) // all its other users now add less
        for (int j = u_.first_user[v]; j < u_.first_user[v + 1]; ++j) alter(u_.users[j], change(v) - before);
      else if (left_[v] == 1) alter(sum_[v], change(v) - before);
    }
    int const from = forward_ ? u_.first_after[s] : u_.first_before[s];
    int const to = forward_ ? u_.first_after[s + 1] : u_.first_before[s + 1];
    for (int k = from; k < to; ++k)
      if (std::int32_t const next = forward_ ? u_.after[k] : u_.before[k]; --waits_[next] == 0) push(next);
  }
  constexpr void alter(std::int32_t s, std::int64_t by) {
    if (waits_[s] == none || by == 0) return;
    adds_[s] += by;
    if (waits_[s] == 0) push(s);
  }

  static constexpr bool before(entry const& a, entry const& b) {
    return a.adds != b.adds ? a.adds < b.adds : a.rank != b.rank ? a.rank < b.rank : a.step < b.step;
  }
  constexpr void push(std::int32_t s) {
    heap_push(heap_, entry{adds_[s], rank_[s], s}, before);
  }
};

/// An order from the last steps down to their operands, the largest need first.
class peak_descent {
  array<std::int64_t> needs_,
      leaves_; // by step: the memory to run it with all its operands, if these have no other users
  array<std::int32_t> before_; // by edge of `peak_uses`: the largest need first

public:
  array<std::int32_t> order;

  constexpr peak_descent(peak_problem const& p, peak_uses const& u, array<std::int32_t> const& given)
      : needs_(p.steps, 0), leaves_(p.steps, 0), before_(u.before) {
    array<bool> there(p.values.size(), false);
    for (std::int32_t const s : given) {
      for (int k = u.first_value[s]; k < u.first_value[s + 1]; ++k) {
        std::int32_t const v = u.values[k];
        if (!there[v] && !p.values[v].given) leaves_[s] += p.values[v].bytes;
        there[v] = true;
      }
      std::int32_t* const first = before_.data() + u.first_before[s];
      int const count = u.first_before[s + 1] - u.first_before[s];
      sort(first, count,
           [&](std::int32_t a, std::int32_t b) { return needs_[a] - leaves_[a] > needs_[b] - leaves_[b]; });
      std::int64_t held = 0;
      for (int k = 0; k < count; ++k) {
        if (needs_[s] < held + needs_[first[k]]) needs_[s] = held + needs_[first[k]];
        held += leaves_[first[k]];
      }
      held += leaves_[s] + (s < p.work.size() ? p.work[s] : 0);
      if (needs_[s] < held) needs_[s] = held;
    }
    array<bool> seen(p.steps, false);
    array<std::int32_t> path, at(p.steps, 0);
    for (std::int32_t const last : given) {
      if (seen[last] || u.first_after[last] != u.first_after[last + 1]) continue;
      seen[last] = true;
      path.push(last);
      while (!path.empty()) {
        std::int32_t const s = path.back();
        if (at[s] == u.first_before[s + 1] - u.first_before[s]) {
          order.push(path.pop());
          continue;
        }
        std::int32_t const next = before_[u.first_before[s] + at[s]++];
        if (!seen[next]) path.push(next);
        seen[next] = true;
      }
    }
  }
};

/// The peak of the live bytes if steps run in this order.
constexpr peak_at peak_of(peak_problem const& p, array<std::int32_t> const& order) {
  return detail::peak_uses(p).peak_of(order);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
