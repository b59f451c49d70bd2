// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_TAPE_OPTIONS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_TAPE_OPTIONS_HPP

#include <cotangent/ops/control.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The storage of a rerunning loop for the values it restarts from.
enum class checkpoints : unsigned char {
  automatic,      // the first of these that fits the limit: a full record, equally spaced, binomial
  equally_spaced, // at regular intervals; each iteration runs once more
  binomial,       // a fixed number of reused slots; each iteration runs a few times more
};

/// Limits the iterations that a loop records for its gradient.
struct tape_options {
  /// The bytes that the record of one loop may take, 0: unlimited. It counts entries, stored values, and
  /// sums. Symbolic extents count as nothing; neither do the rerunning loops themselves,
  /// about 1.2 kB of workspace each.
  std::int64_t limit = 0;
  checkpoints schedule = checkpoints::automatic;
  bool in_place = true; // true: a loop may become a loop over its parts, which reorders nodes
};

/// The bytes of a sequence besides its entries.
inline constexpr std::int64_t sequence_bytes = 384;

/// The limit of a sweep, and the sizes of the sequences that it created.
struct tape_plan {
  tape_options options;
  array<symbol> sequences;
  array<std::int64_t> bytes;
  bool disordered = false; // nodes are no longer in a valid order

  /// True if there is a limit for a loop of the graph.
  constexpr bool limited(graph const& g) const {
    bool found = options.limit > 0;
    for (int i = 0; g.regions.size() > 1 && i < g.nodes.size() && !found; ++i)
      found = g.nodes[i].op == info_of<op::loop>() && loop_layout::of(g, g.nodes[i]).tape_limit > 0;
    return found;
  }
  /// The options for a loop: the smaller one of both limits holds.
  constexpr tape_options options_of(loop_layout const& loop) const noexcept {
    tape_options own = options;
    if (loop.tape_limit > 0 && (own.limit <= 0 || loop.tape_limit < own.limit)) own.limit = loop.tape_limit;
    return own;
  }
  constexpr void note(symbol sequence, std::int64_t size) {
    sequences.push(sequence);
    bytes.push(size);
  }
  /// The bytes of a value on the tape.
  constexpr std::int64_t bytes_of(builder const& b, symbol t) const {
    tensor_symbol const& s = b.tensor(t);
    if (s.depth > 0) {
      for (int k = sequences.size(); k-- > 0;)
        if (sequences[k] == t) return bytes[k];
      return 8;
    }
    std::int64_t n = static_cast<std::int64_t>(size_of(s.type));
    dimensions const& d = b.dims(t);
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] >= 0) n = capped_product(n, d.size[k]);
    return n > 32 ? whole_lines(n) : n;
  }
  constexpr std::int64_t bytes_of_entry(builder& b, symbol sequence) const {
    tensor_symbol const s = b.tensor(sequence);
    return s.depth > 1 ? 8 : bytes_of(b, b.symbol_of(s.type, s.shape));
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
