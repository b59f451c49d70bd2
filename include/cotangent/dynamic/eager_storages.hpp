// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_STORAGES_HPP
#define COTANGENT_DYNAMIC_EAGER_STORAGES_HPP

#include <cotangent/dynamic/eager_code.hpp>

#include <cotangent/transform/memory_values.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <utility>
#include <vector>

// The elements that a recorder holds. Within a limit, those that were computed go while they are still needed, the cheapest
// first, and are computed again.

namespace cotangent::dynamic::detail {
inline namespace COTANGENT_ABI {

/// How elements were computed, for those that may go: they are computed again when somebody needs them.
struct eager_origin {
  eager_code* code = nullptr;
  double work = 0;  // seconds, by the model
  double again = 0; // with that for operands that were gone when it went
  std::uint64_t used = 0;
  std::uint64_t seen = 0; // the last recomputation that came here
  std::int32_t which = 0; // of the results
  std::int32_t place = 0; // among those that may go, while the elements are there

  int operands() const noexcept { return static_cast<int>(code->operands.size()); }
  storage** in() noexcept { return reinterpret_cast<storage**>(this + 1); } // null for a number
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(in() + operands()); }
  static std::size_t bytes(std::size_t operands) noexcept {
    return sizeof(eager_origin) + operands * (sizeof(storage*) + sizeof(std::int64_t));
  }
};

/// What is alive in a recorder.
struct live_counts {
  std::int64_t operations = 0; // recorded
  std::int64_t tensors = 0;    // with elements in memory
  std::int64_t bytes = 0;      // of these elements
  friend bool operator==(live_counts const&, live_counts const&) = default;
};

class eager_storages {
  std::vector<storage*> may_go_; // those that are there
  std::size_t looked_at_ = 0;
  storage* ending_ = nullptr; // storages that nobody needs and that were not taken apart yet
  bool is_ending_ = false;
  std::uint64_t clock_ = 0;

public:
  live_counts live;
  storage_pool memory;
  small_blocks blocks;
  std::function<void(std::int64_t)> on_free;
  std::int64_t limit = 0, smallest = 0; // bytes; no limit: nothing goes
  std::int64_t recompute_count = 0;
  std::uint64_t recomputations = 0;

  storage* new_storage(std::int64_t bytes) {
    storage* const p = memory.take(bytes);
    ++live.tensors;
    live.bytes += bytes;
    return p;
  }
  void release(storage* p) noexcept {
    if (p == nullptr) return;
    if (--p->users != 0) {
      if (p->origin != nullptr) settle(p);
      return;
    }
    if (p->body != nullptr || p->at == nullptr) return end(p);
    --live.tensors;
    live.bytes -= p->bytes;
    std::int64_t const bytes = p->bytes;
    memory.give_back(p);
    if (on_free) on_free(bytes);
  }

  /// For a result: with elements that may go, where they are worth it.
  storage* result_storage(std::int64_t bytes) {
    if (limit == 0) return new_storage(bytes);
    evict_for(bytes);
    if (bytes < smallest) return new_storage(bytes);
    taken body(memory, bytes);
    storage* const head = memory.take(0);
    head->bytes = bytes;
    put(head, body.keep());
    return head;
  }
  /// Memory that goes back where something goes wrong.
  class taken {
    storage_pool& from_;
    storage* p_;

  public:
    taken(storage_pool& from, std::int64_t bytes) : from_(from), p_(from.take(bytes)) {}
    taken(taken const&) = delete;
    taken& operator=(taken const&) = delete;
    ~taken() {
      if (p_ != nullptr) from_.give_back(p_);
    }
    void* data() const noexcept { return p_->at; }
    storage* keep() noexcept { return std::exchange(p_, nullptr); }
  };
  void put(storage* p, storage* body) noexcept {
    p->body = body;
    p->at = body->at;
    ++live.tensors;
    live.bytes += p->bytes;
  }
  /// Lets elements go until there is room for so many bytes, or until what is left is needed now.
  void evict_for(std::int64_t bytes) noexcept {
    while (live.bytes + bytes > limit) {
      storage* const p = cheapest();
      if (p == nullptr) return;
      evict(p);
    }
  }
  /// Notes how the elements of `p` came about. `in`: null for numbers, which are in `numbers`.
  template <class Operand> void set_origin(storage* p, eager_code& c, int which, Operand const& operand) {
    std::size_t const n = c.operands.size();
    double const work = work_of(c);
    make_place();
    auto* const o = new (blocks.take(eager_origin::bytes(n))) eager_origin;
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
  /// Before elements that may go are there, which nothing then stops.
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
    memory.give_back(std::exchange(p->body, nullptr));
    p->at = nullptr;
    --live.tensors;
    live.bytes -= p->bytes;
    if (on_free) on_free(p->bytes);
  }
  bool try_evict(storage* p) noexcept {
    if (p->origin == nullptr || p->at == nullptr || p->pins != 0) return false;
    evict(p);
    return true;
  }
  /// An operation runs on it, or does not any more.
  void pin(storage* p) noexcept {
    ++p->pins;
    if (p->origin != nullptr) p->origin->used = ++clock_;
  }
  void unpin(storage* p) noexcept {
    --p->pins;
    settle(p);
  }
  /// What is only needed to compute others again goes at once.
  void settle(storage* p) noexcept {
    if (p->origin != nullptr && p->at != nullptr && p->pins == 0 && p->users == p->waiting) evict(p);
  }
  /// Elements that are there stay from now on.
  void keep(storage* p) noexcept {
    if (p->origin == nullptr) return;
    leave(p);
    end_origin(std::exchange(p->origin, nullptr));
  }

private:
  /// Among about as many as the root of how many there are: what costs least to compute again for its bytes and the time
  /// since it was used.
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
    blocks.give_back(o, eager_origin::bytes(n));
  }
  /// Also a chain of a million, each the origin of the next.
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
        memory.give_back(e->body);
        --live.tensors;
        live.bytes -= bytes;
      }
      if (e->origin != nullptr) end_origin(e->origin);
      e->bytes = 0; // of the head alone
      memory.give_back(e);
      if (there && on_free) on_free(bytes);
    }
    is_ending_ = false;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::dynamic::detail

#endif
