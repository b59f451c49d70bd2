// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_TAPE_OPTIONS_HPP
#define COTANGENT_TRANSFORM_TAPE_OPTIONS_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>

namespace cotangent {

/// Where a loop that is run again for its gradient keeps the values from which it goes on.
enum class checkpoints : unsigned char {
  automatic,      // the first of: a full record, equally spaced, binomial, that fits the limit
  equally_spaced, // after every so many iterations; each iteration runs once more
  binomial,       // a fixed number of places, used again and again; each iteration runs a few times more
};

/// How much of its iterations a loop may record for its gradient.
struct tape_options {
  /// The bytes that the record of one loop may take, 0 where it may take any: entries, values to go on from, and sums.
  /// Values that are sequences themselves, and extents without a number, count as nothing; nor do the loops that run parts
  /// again, about 1.2 kB of workspace each.
  std::int64_t limit = 0;
  checkpoints schedule = checkpoints::automatic;
  bool in_place = true; // whether a loop may become a loop of its parts, which brings the nodes into another order
};

namespace detail {

/// What a sequence takes besides its entries.
inline constexpr std::int64_t sequence_bytes = 384;

/// The limit of a sweep, and what is known of the sequences that it made.
struct tape_plan {
  tape_options options;
  array<symbol> sequences;
  array<std::int64_t> bytes;
  bool disordered = false; // nodes do not stand in their order any more

  constexpr bool limited() const noexcept { return options.limit > 0; }
  constexpr void note(symbol sequence, std::int64_t size) {
    sequences.push(sequence);
    bytes.push(size);
  }
  /// What a value takes on the tape, as it lies there.
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
};

} // namespace detail
} // namespace cotangent

#endif
