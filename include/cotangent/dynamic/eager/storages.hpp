// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_STORAGES_HPP
#define COTANGENT_DYNAMIC_EAGER_STORAGES_HPP

#include <cotangent/dynamic/eager/code.hpp>

#include <cotangent/transform/rematerialize/memory_values.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <utility>
#include <vector>

// The elements held by a recorder. Within a memory limit, computed elements are evicted while still needed,
// the cheapest first, and recomputed later.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// How evictable elements were computed, so that they can be recomputed.
struct eager_origin {
  eager_code* code = nullptr;
  double work = 0;  // predicted seconds
  double again = 0; // plus that of operands that were evicted at the same time
  std::uint64_t used = 0;
  std::uint64_t seen = 0; // the last recomputation that visited it
  std::int32_t which = 0; // the index of the result
  std::int32_t place = 0; // index among evictable elements, while present

  int operands() const noexcept { return static_cast<int>(code->operands.size()); }
  storage** in() noexcept { return reinterpret_cast<storage**>(this + 1); } // null for a number
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(in() + operands()); }
  static std::size_t bytes(std::size_t operands) noexcept {
    return sizeof(eager_origin) + operands * (sizeof(storage*) + sizeof(std::int64_t));
  }
};

/// The elements of tensors in memory, and how evicted ones are recomputed.
class eager_storages {
  small_blocks& blocks_;
  storage_pool memory_;
  std::int64_t tensors_ = 0, bytes_ = 0;  // with elements in memory
  std::int64_t limit_ = 0, smallest_ = 0; // bytes; limit 0: nothing is evicted
  std::int64_t recompute_count_ = 0;
  std::function<void(std::int64_t)> on_free_;
  std::vector<storage*> may_go_; // evictable elements that are present
  std::size_t looked_at_ = 0;
  storage* ending_ = nullptr; // storages to be freed
  bool is_ending_ = false;
  std::uint64_t clock_ = 0;

public:
  /// `blocks`: for origins.
  explicit eager_storages(small_blocks& blocks) : blocks_(blocks) {}
  eager_storages(eager_storages const&) = delete;
  eager_storages& operator=(eager_storages const&) = delete;

  std::int64_t tensors() const noexcept { return tensors_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  std::int64_t recompute_count() const noexcept { return recompute_count_; }
  bool is_limited() const noexcept { return limit_ != 0; }
  void set_limit(std::int64_t bytes, std::int64_t smallest) noexcept {
    limit_ = bytes;
    smallest_ = smallest;
  }
  void on_free(std::function<void(std::int64_t)> tell) { on_free_ = std::move(tell); }

  storage* new_storage(std::int64_t bytes) {
    storage* const p = memory_.take(bytes);
    ++tensors_;
    bytes_ += bytes;
    return p;
  }
  void release(storage* p) noexcept {
    if (p == nullptr) return;
    if (--p->users != 0) {
      if (p->origin != nullptr) settle(p);
      return;
    }
    if (p->body != nullptr || p->at == nullptr) return end(p);
    --tensors_;
    bytes_ -= p->bytes;
    std::int64_t const bytes = p->bytes;
    memory_.give_back(p);
    if (on_free_) on_free_(bytes);
  }

  /// Allocates a result, with evictable elements if they are large enough.
  storage* result_storage(std::int64_t bytes) {
    if (limit_ == 0) return new_storage(bytes);
    evict_for(bytes);
    if (bytes < smallest_) return new_storage(bytes);
    taken body(memory_, bytes);
    storage* const head = memory_.take(0);
    head->bytes = bytes;
    put(head, body.keep());
    return head;
  }
  /// Memory that is returned if an exception occurs.
  class taken {
    storage_pool& from_;
    storage* p_;

  public:
    taken(storage_pool& from, std::int64_t bytes) : from_(from), p_(from.take(bytes)) {}
    taken(taken&& other) noexcept : from_(other.from_), p_(std::exchange(other.p_, nullptr)) {}
    ~taken() {
      if (p_ != nullptr) from_.give_back(p_);
    }
    void* data() const noexcept { return p_->at; }
    storage* keep() noexcept { return std::exchange(p_, nullptr); }
  };
  taken room(std::int64_t bytes) { return taken(memory_, bytes); }
  /// Memory for recomputed elements of `p`.
  taken room_for(storage* p) {
    make_place();
    evict_for(p->bytes);
    return taken(memory_, p->bytes);
  }
  void restore(storage* p, taken& body) noexcept {
    put(p, body.keep());
    came(p);
    ++recompute_count_;
  }
  /// Records how the elements of `p` were computed. `in`: null for numbers, which are in `numbers`.
  template <class Operand> void set_origin(storage* p, eager_code& c, int which, Operand const& operand) {
    std::size_t const n = c.operands.size();
    double const work = work_of(c);
    make_place();
    auto* const o = new (blocks_.take(eager_origin::bytes(n))) eager_origin;
    o->code = &c;
    o->which = which;
    ++c.counted();
    for (std::size_t k = 0; k < n; ++k) {
      storage*& in = *new (o->in() + k) storage*(nullptr);
      operand(static_cast<int>(k), in, *new (o->numbers() + k) std::int64_t(0));
      if (in == nullptr) continue;
      ++in->users;
      ++in->waiting;
    }
    o->work = o->again = work;
    p->origin = o;
    came(p);
  }
  bool try_evict(storage* p) noexcept {
    if (p->origin == nullptr || p->at == nullptr || p->pins != 0) return false;
    evict(p);
    return true;
  }
  /// Marks the begin and the end of an operation on it.
  void pin(storage* p) noexcept {
    ++p->pins;
    if (p->origin != nullptr) p->origin->used = ++clock_;
  }
  void unpin(storage* p) noexcept {
    --p->pins;
    settle(p);
  }
  /// Makes present elements permanent.
  void keep(storage* p) noexcept {
    if (p->origin == nullptr) return;
    leave(p);
    end_origin(std::exchange(p->origin, nullptr));
  }

private:
  void put(storage* p, storage* body) noexcept {
    p->body = body;
    p->at = body->at;
    ++tensors_;
    bytes_ += p->bytes;
  }
  /// Evicts elements until `bytes` more fit within the limit, or until all others are in use.
  void evict_for(std::int64_t bytes) noexcept {
    while (bytes_ + bytes > limit_) {
      storage* const p = cheapest();
      if (p == nullptr) return;
      evict(p);
    }
  }
  /// Reserves room in advance, so that adding evictable elements cannot throw.
  void make_place() {
    if (may_go_.size() == may_go_.capacity()) may_go_.reserve(2 * may_go_.size() + 16);
  }
  void came(storage* p) noexcept {
    p->origin->place = static_cast<std::int32_t>(may_go_.size());
    p->origin->used = ++clock_;
    may_go_.push_back(p);
  }
  void evict(storage* p) noexcept {
    eager_origin& o = *p->origin;
    o.again = again(p);
    leave(p);
    memory_.give_back(std::exchange(p->body, nullptr));
    p->at = nullptr;
    --tensors_;
    bytes_ -= p->bytes;
    if (on_free_) on_free_(p->bytes);
  }
  /// Evicts elements that are only needed to recompute others.
  void settle(storage* p) noexcept {
    if (p->origin != nullptr && p->at != nullptr && p->pins == 0 && p->users == p->waiting) evict(p);
  }
  /// The cheapest eviction among a sample of about sqrt(n) elements: the least cost of recomputation per byte
  /// and per time since the last use.
  storage* cheapest() noexcept {
    std::size_t const n = may_go_.size();
    std::size_t count = 8;
    while (count * count < n) count *= 2;
    storage* best = nullptr;
    double least = 0;
    for (std::size_t k = 0; k < n && (k < count || best == nullptr); ++k) {
      looked_at_ = looked_at_ + 1 < n ? looked_at_ + 1 : 0;
      storage* const p = may_go_[looked_at_];
      if (p->pins != 0) continue;
      double const price =
          again(p) / (static_cast<double>(p->bytes + 1) * static_cast<double>(clock_ - p->origin->used + 1));
      if (best == nullptr || price < least) {
        best = p;
        least = price;
      }
    }
    return best;
  }
  static double again(storage* p) noexcept {
    eager_origin& o = *p->origin;
    double sum = o.work;
    for (int k = 0; k < o.operands(); ++k)
      if (storage* const in = o.in()[k]; in != nullptr && in->at == nullptr) sum += in->origin->again;
    return sum;
  }
  static double work_of(eager_code& c) {
    if (c.work < 0) {
      cotangent::detail::memory_values const values(c.g, [](node const&) { return true; });
      c.work = 0;
      for (double const seconds : values.problem.cost) c.work += seconds;
    }
    return c.work;
  }
  void leave(storage* p) noexcept {
    storage* const last = may_go_.back();
    last->origin->place = p->origin->place;
    may_go_[static_cast<std::size_t>(last->origin->place)] = last;
    may_go_.pop_back();
  }
  void end_origin(eager_origin* o) noexcept {
    for (int k = 0; k < o->operands(); ++k)
      if (storage* const in = o->in()[k]; in != nullptr) {
        --in->waiting;
        release(in);
      }
    std::size_t const n = o->code->operands.size();
    --o->code->counted();
    blocks_.give_back(o, eager_origin::bytes(n));
  }
  /// Frees iteratively: a chain of origins may have a million links.
  void end(storage* p) noexcept {
    p->next = ending_;
    ending_ = p;
    if (is_ending_) return;
    is_ending_ = true;
    while (storage* const e = ending_) {
      ending_ = e->next;
      std::int64_t const bytes = e->bytes;
      bool const there = e->at != nullptr;
      if (there) {
        if (e->origin != nullptr) leave(e);
        memory_.give_back(e->body);
        --tensors_;
        bytes_ -= bytes;
      }
      if (e->origin != nullptr) end_origin(e->origin);
      e->bytes = 0; // of the header alone
      memory_.give_back(e);
      if (there && on_free_) on_free_(bytes);
    }
    is_ending_ = false;
  }
};

} // namespace cotangent::dynamic::detail

#endif
