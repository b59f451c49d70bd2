// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_MEMORY_CHAIN_HPP
#define COTANGENT_TRANSFORM_MEMORY_CHAIN_HPP

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

    /// Whether parts of the chain that differ in this link alone take and cost the same.
    constexpr bool is_like(link const& o) const {
      return bytes == o.bytes && cost == o.cost && beside == o.beside && after == o.after && rest == o.rest &&
             waiting == o.waiting && (begin < 0) == (o.begin < 0);
    }
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

} // namespace cotangent::detail

#endif
