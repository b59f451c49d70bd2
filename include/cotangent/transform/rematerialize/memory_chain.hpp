// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_CHAIN_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_CHAIN_HPP

#include <cotangent/transform/rematerialize/memory_problem.hpp>

#include <cstdint>

// The gradient of a chain: each value is computed from the previous one, and all are then read in reverse.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A problem that is a chain: values 0 ... length - 1, each of which reads at most the previous one, and the
/// rest, which reads them in reverse. A value that the rest does not read is merged with the next one, which
/// is no larger.
struct memory_chain {
  struct link {
    std::int32_t first = 0, last = 0; // values that are computed together; `last` is their result
    std::int64_t bytes = 0;
    double cost = 0;
    std::int64_t beside = 0;  // needed during its computation, besides the previous link
    std::int64_t after = 0;   // the same if the previous link is not read later
    std::int32_t begin = -1;  // the first value of the rest that reads it, -1 if none does
    std::int64_t rest = 0;    // the bytes of the rest from there on, up to the next link's begin
    std::int64_t waiting = 0; // the bytes of the rest that are live before

    /// True if parts of the chain that differ only in this link have equal bytes and cost.
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
  /// Finds the links: as much of the chain as the rest reads in reverse.
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
      l.begin = v + 1 == length ? length : begin[v]; // values before the last one's turn belong to it
      links.push(l);
      fresh = true;
    }
  }
  /// The live bytes of the rest, each value from its computation to its last reader.
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
COTANGENT_COLD_END

#endif
