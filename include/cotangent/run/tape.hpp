// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_TAPE_HPP
#define COTANGENT_RUN_TAPE_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/extent.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace cotangent::detail {

/// A growing stack of memory for the records of loops.
class tape_stack {
public:
  /// The entries of one sequence. Entries that were not written, before the first and beyond the end
  /// included, are zero.
  struct sequence {
    static constexpr int chunk_count = 40;
    std::int64_t first = 0;       // the index of the first entry
    std::int64_t count = 0;       // up to the last written entry
    std::int64_t entry_bytes = 0; // the distance of entries: a multiple of the cache line for large ones
    std::int64_t first_size = 0;  // entries in the first chunk; each further chunk has twice as many
    char* chunks[chunk_count]{};

    std::int64_t end() const noexcept { return first + count; }
    /// Extends the sequence to entry i.
    void reach(std::int64_t i) noexcept {
      if (count <= i - first) count = i - first + 1;
    }
    /// The address of entry i; null if it does not exist.
    char* at(std::int64_t i) const noexcept {
      i -= first;
      if (i < 0 || i >= count) return nullptr;
      std::int64_t inside = i;
      int const c = chunk_of(inside);
      return chunks[c] == nullptr ? nullptr : chunks[c] + inside * entry_bytes;
    }
    /// The number of entries that follow entry i in its chunk, downward from i if `down`.
    std::int64_t neighbors(std::int64_t i, bool down) const noexcept {
      std::int64_t inside = i - first;
      int const c = chunk_of(inside);
      return down ? inside : (first_size << c) - 1 - inside;
    }
    /// The address for entry i; null if it has no memory yet.
    char* room(std::int64_t i) const noexcept {
      std::int64_t inside = i - first;
      if (inside < 0) return nullptr;
      int const c = chunk_of(inside);
      return c >= chunk_count || chunks[c] == nullptr ? nullptr : chunks[c] + inside * entry_bytes;
    }
    /// The chunk of entry i; i becomes the index in it.
    int chunk_of(std::int64_t& i) const noexcept {
      if (i < first_size) return 0;
      int c = 0;
      std::int64_t size = first_size;
      for (; i >= size; size *= 2, ++c) i -= size;
      return c;
    }
  };

  tape_stack() = default;
  tape_stack(tape_stack const&) {} // a copy starts empty
  tape_stack(tape_stack&& other) noexcept { blocks_.swap(other.blocks_); }
  tape_stack& operator=(tape_stack const&) { return *this; }
  ~tape_stack() {
    for (block const& b : blocks_) ::operator delete(b.first, std::align_val_t{64});
  }

  /// The bytes allocated.
  std::int64_t bytes() const noexcept {
    std::int64_t n = 0;
    for (block const& b : blocks_) n += b.bytes;
    return n;
  }

  // ---- used by loops

  struct mark {
    int block = 0;
    std::int64_t used = 0;
  };
  mark here() const noexcept { return {now_, used_}; }
  /// Frees everything allocated since the mark.
  void back_to(mark const& m) noexcept {
    note();
    now_ = m.block;
    used_ = m.used;
  }
  /// Keeps the records after a run, for a new owner of the tape. `bytes`: their expected size.
  void keep(std::int64_t bytes) noexcept {
    keeps_ = true;
    if (blocks_.empty() && bytes > 0) take_block(bytes);
  }
  /// Frees everything. `end` then merges the blocks, so that the next run allocates nothing.
  void begin() noexcept {
    note();
    now_ = 0;
    used_ = 0;
    failed_ = false;
  }
  void end() noexcept {
    note();
    now_ = 0;
    used_ = 0;
    if (keeps_ || blocks_.size() < 2) return;
    for (block const& b : blocks_) ::operator delete(b.first, std::align_val_t{64});
    blocks_.clear();
    take_block(most_);
  }
  bool failed() const noexcept { return failed_; }

  /// Allocates; null on failure.
  char* take(std::int64_t bytes) noexcept {
    bytes = detail::whole_lines(bytes);
    while (now_ < blocks_.size()) {
      if (used_ + bytes <= blocks_[now_].bytes) {
        char* const p = blocks_[now_].first + used_;
        used_ += bytes;
        return p;
      }
      note();
      blocks_[now_].left = blocks_[now_].bytes - used_;
      if (now_ + 1 == blocks_.size()) break;
      ++now_;
      used_ = 0;
    }
    std::int64_t size = keeps_ ? this->bytes() / 4 : this->bytes(); // kept memory gets little spare room
    if (size < bytes) size = bytes;
    if (size < 4096) size = 4096;
    void* const p = ::operator new(static_cast<std::size_t>(size), std::align_val_t{64}, std::nothrow);
    if (p == nullptr) return failed_ = true, nullptr;
    blocks_.push({static_cast<char*>(p), size, 0});
    now_ = blocks_.size() - 1;
    used_ = bytes;
    return static_cast<char*>(p);
  }

  /// The distance of entries of that many bytes.
  static std::int64_t distance_of(std::int64_t entry_bytes) noexcept {
    return entry_bytes > 32 ? detail::whole_lines(entry_bytes) : entry_bytes;
  }
  /// Creates a sequence of about `expected` entries; null on failure.
  sequence* make(std::int64_t entry_bytes, std::int64_t expected, std::int64_t first = 0) noexcept {
    char* const p = take(static_cast<std::int64_t>(sizeof(sequence)));
    if (p == nullptr) return nullptr;
    auto* const s = ::new (p) sequence;
    s->entry_bytes = distance_of(entry_bytes);
    s->first = first;
    s->first_size = expected < 1 ? 1 : expected;
    return s;
  }
  /// The address to write entry i to; null on failure.
  char* entry(sequence& s, std::int64_t i) noexcept {
    i -= s.first;
    std::int64_t inside = i;
    int const c = s.chunk_of(inside);
    if (c >= sequence::chunk_count) return failed_ = true, nullptr;
    if (s.chunks[c] == nullptr) {
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(s.first_size << c, s.entry_bytes, &bytes)) return failed_ = true, nullptr;
      s.chunks[c] = take(bytes);
      if (s.chunks[c] == nullptr) return nullptr;
    }
    s.reach(s.first + i);
    return s.chunks[c] + inside * s.entry_bytes;
  }

private:
  struct block {
    char* first = nullptr;
    std::int64_t bytes = 0;
    std::int64_t left = 0; // unused at its end, when the next block was begun
  };
  array<block> blocks_;
  int now_ = 0;
  std::int64_t used_ = 0;
  std::int64_t most_ = 0; // the peak of bytes in use
  bool failed_ = false;
  bool keeps_ = false;

  void take_block(std::int64_t size) noexcept {
    void* const one = ::operator new(static_cast<std::size_t>(size), std::align_val_t{64}, std::nothrow);
    if (one != nullptr) blocks_.push({static_cast<char*>(one), size, 0});
  }
  void note() noexcept {
    std::int64_t in_use = used_;
    for (int k = 0; k < now_ && k < blocks_.size(); ++k) in_use += blocks_[k].bytes - blocks_[k].left;
    if (most_ < in_use) most_ = in_use;
  }
};

/// The records of loops for their reverse sweep: one entry for each iteration, in growing memory. Memory is
/// kept from run to run: a run with no more iterations than the previous one allocates nothing. One tape
/// serves one run at a time.
class tape {
  tape_stack records_, apart_;

public:
  tape() = default;
  tape(tape const&) = default;
  /// Takes over kept records.
  tape(tape&& other) noexcept : records_(static_cast<tape_stack&&>(other.records_)) {}
  tape& operator=(tape const&) { return *this; }

  /// The bytes allocated.
  std::int64_t bytes() const noexcept { return records_.bytes() + apart_.bytes(); }
  /// Keeps the records after a run, for a new owner. `bytes`: their expected size.
  void keep(std::int64_t bytes) noexcept { records_.keep(bytes); }
  /// The stack for records that stay until the run ends.
  tape_stack& records() noexcept { return records_; }
  /// The stack for records that are read again before the run ends.
  tape_stack& apart() noexcept { return apart_; }
  void begin() noexcept {
    records_.begin();
    apart_.begin();
  }
  void end() noexcept {
    records_.end();
    apart_.end();
  }
};

} // namespace cotangent::detail

#endif
