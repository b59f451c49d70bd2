// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_MEMORY_HPP
#define COTANGENT_TRACE_PROGRAM_MEMORY_HPP

#include <cotangent/core/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

// Workspaces: those of callers, and those of checked calls.

namespace cotangent::detail {

struct workspace_memory {
  void* first = nullptr;
  std::size_t bytes = 0;
  static constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

  /// True if it certainly has `wanted` bytes, aligned to 64.
  bool holds(std::size_t wanted) const noexcept {
    return bytes >= wanted && bytes != unknown && reinterpret_cast<std::uintptr_t>(first) % 64 == 0;
  }
};

template <class W>
concept workspace_like = requires(W& w) { w.bytes; } || std::is_same_v<std::remove_cv_t<W>, void*> ||
                         std::is_same_v<std::remove_cv_t<W>, std::nullptr_t> || contiguous<W> || std::is_array_v<W>;

/// A bare pointer has unknown size, and is trusted.
template <workspace_like W> workspace_memory memory_of_workspace(W& w) noexcept {
  if constexpr (std::is_same_v<std::remove_cv_t<W>, void*>) return {w, workspace_memory::unknown};
  else if constexpr (std::is_same_v<std::remove_cv_t<W>, std::nullptr_t>) return {};
  else if constexpr (requires { w.bytes; } || std::is_array_v<W>) return {&w, sizeof w};
  else return {w.data(), static_cast<std::size_t>(w.size()) * sizeof(*w.data())};
}

/// Memory that grows to the largest call of a thread.
class growing_memory {
  void* first_ = nullptr;
  std::size_t bytes_ = 0;

public:
  growing_memory() = default;
  growing_memory(growing_memory const&) = delete;
  growing_memory& operator=(growing_memory const&) = delete;
  ~growing_memory() { ::operator delete(first_, std::align_val_t{64}); }

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

/// The workspace of the checked calls of a thread, which never nest.
inline growing_memory& memory_of_thread() {
  static thread_local growing_memory memory;
  return memory;
}

} // namespace cotangent::detail

#endif
