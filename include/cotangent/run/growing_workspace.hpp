// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_GROWING_WORKSPACE_HPP
#define COTANGENT_RUN_GROWING_WORKSPACE_HPP

#include <cotangent/core/memory.hpp>
#include <cotangent/run/tape.hpp>

#include <cstddef>
#include <new>

namespace cotangent::detail {

/// Memory that grows to the largest request.
class growing_memory {
  void* first_ = nullptr;
  std::size_t bytes_ = 0;

public:
  growing_memory() = default;
  growing_memory(growing_memory&& other) noexcept : first_(other.first_), bytes_(other.bytes_) {
    other.first_ = nullptr;
    other.bytes_ = 0;
  }
  growing_memory& operator=(growing_memory const&) = delete;
  ~growing_memory() { ::operator delete(first_, std::align_val_t{64}); }

  std::size_t bytes() const noexcept { return bytes_; }
  void* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return first_;
    ::operator delete(first_, std::align_val_t{64});
    first_ = nullptr;
    bytes_ = 0;
    first_ = elements_on_heap(bytes);
    bytes_ = first_ == nullptr ? 0 : bytes;
    return first_;
  }
};

struct growing_access;

} // namespace cotangent::detail

namespace cotangent {

/// The workspace of `P::run_growing`: memory that grows with the iterations of loops whose number no bound limits. It is kept from run
/// to run: a run that needs no more than the previous one allocates nothing. One workspace serves one run at a time.
class growing_workspace {
  detail::growing_memory memory_;
  detail::tape_stack tape_;

  friend detail::growing_access;

public:
  growing_workspace() = default;
  growing_workspace(growing_workspace&&) noexcept = default;

  /// The bytes allocated.
  std::size_t bytes() const noexcept { return memory_.bytes() + static_cast<std::size_t>(tape_.bytes()); }
};

} // namespace cotangent

namespace cotangent::detail {

struct growing_access {
  static growing_memory& memory(growing_workspace& w) noexcept { return w.memory_; }
  static tape_stack& tape(growing_workspace& w) noexcept { return w.tape_; }
};

} // namespace cotangent::detail

#endif
