// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_MEMORY_HPP
#define COTANGENT_DYNAMIC_EAGER_MEMORY_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/storage.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

// Memory of eager mode: reference-counted elements, and small objects. Freed memory is reused, so that an
// operation calls the allocator only the first time of its kind.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
struct eager_origin;

/// The elements of a tensor. They follow this header, aligned and padded to whole lines, since kernels
/// process whole packs. If they can be evicted while still needed, they follow another header, `body`.
struct storage {
  std::int32_t users = 1;
  std::int32_t bin = 0;
  std::int64_t bytes = 0; // of the elements
  storage* next = nullptr;
  void* at = nullptr; // the elements; null while evicted
  storage* body = nullptr;
  eager_origin* origin = nullptr; // how to recompute them
  std::int32_t waiting = 0;       // of the users: origins, which need the elements only to recompute others
  std::int32_t pins = 0;          // operations that currently run on them

  void* data() noexcept { return at; }
};
static_assert(sizeof(storage) <= 64);

class storage_pool {
  static constexpr int bin_count = 256;
  static constexpr std::int64_t most_kept = std::int64_t{1} << 28;
  storage* free_[bin_count]{};
  std::int64_t kept_ = 0;

  /// Size classes, in cache lines: 1 to 8, then four per power of two.
  static int bin_of(std::int64_t& lines) noexcept {
    if (lines <= 8) return static_cast<int>(lines);
    int log = 63 - __builtin_clzll(static_cast<unsigned long long>(lines - 1));
    std::int64_t const step = std::int64_t{1} << (log - 2);
    std::int64_t const quarters = (lines - (std::int64_t{1} << log) + step - 1) / step;
    lines = (std::int64_t{1} << log) + quarters * step;
    return 4 * log + static_cast<int>(quarters);
  }

public:
  storage_pool() = default;
  storage_pool(storage_pool const&) = delete;
  storage_pool& operator=(storage_pool const&) = delete;
  ~storage_pool() {
    for (storage* p : free_)
      while (p != nullptr) {
        storage* const next = p->next;
        ::operator delete(p, std::align_val_t{64});
        p = next;
      }
  }

  storage* take(std::int64_t bytes) {
    std::int64_t lines = (bytes + 63) / 64 + (bytes == 0 ? 1 : 0);
    int const bin = bin_of(lines);
    storage* p = free_[bin];
    if (p != nullptr) {
      free_[bin] = p->next;
      kept_ -= 64 * lines;
    } else {
      p = static_cast<storage*>(cotangent::detail::elements_on_heap(static_cast<std::size_t>(64 * (lines + 1))));
    }
    return new (p) storage{1, bin, bytes, nullptr, reinterpret_cast<char*>(p) + 64};
  }
  void give_back(storage* p) noexcept {
    std::int64_t lines = (p->bytes + 63) / 64 + (p->bytes == 0 ? 1 : 0);
    (void)bin_of(lines);
    if (kept_ + 64 * lines > most_kept) {
      ::operator delete(p, std::align_val_t{64});
      return;
    }
    kept_ += 64 * lines;
    p->next = free_[p->bin];
    free_[p->bin] = p;
  }
};

/// Small objects, in size classes of 16 bytes.
class small_blocks {
  static constexpr std::size_t step = 16, bin_count = 65, chunk_bytes = 1 << 16;
  struct link {
    link* next;
  };
  link* free_[bin_count]{};
  std::vector<void*> chunks_;
  char* at_ = nullptr;
  std::size_t left_ = 0;

public:
  small_blocks() = default;
  small_blocks(small_blocks const&) = delete;
  small_blocks& operator=(small_blocks const&) = delete;
  ~small_blocks() {
    for (void* const p : chunks_) ::operator delete(p);
  }

  void* take(std::size_t bytes) {
    std::size_t const bin = (bytes + step - 1) / step;
    if (bin >= bin_count) return ::operator new(bytes);
    if (link* const p = free_[bin]; p != nullptr) {
      free_[bin] = p->next;
      return p;
    }
    if (left_ < bin * step) {
      chunks_.reserve(chunks_.size() + 1);
      at_ = static_cast<char*>(::operator new(chunk_bytes));
      chunks_.push_back(at_);
      left_ = chunk_bytes;
    }
    void* const p = at_;
    at_ += bin * step;
    left_ -= bin * step;
    return p;
  }
  void give_back(void* p, std::size_t bytes) noexcept {
    std::size_t const bin = (bytes + step - 1) / step;
    if (bin >= bin_count) ::operator delete(p);
    else free_[bin] = new (p) link{free_[bin]};
  }
};

/// A set of operands or results.
class chosen {
  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_; // as long as the last member needs

public:
  bool operator[](int k) const noexcept {
    if (k < 64) return (low_ >> k & 1) != 0;
    auto const word = static_cast<std::size_t>(k / 64 - 1);
    return word < high_.size() && (high_[word] >> (k % 64) & 1) != 0;
  }
  void add(int k) {
    if (k < 64) {
      low_ |= std::uint64_t{1} << k;
      return;
    }
    auto const word = static_cast<std::size_t>(k / 64 - 1);
    if (word >= high_.size()) high_.resize(word + 1);
    high_[word] |= std::uint64_t{1} << (k % 64);
  }
  bool any() const noexcept { return low_ != 0 || !high_.empty(); }
  friend bool operator==(chosen const&, chosen const&) = default;
};

} // namespace cotangent::dynamic::detail

#endif
