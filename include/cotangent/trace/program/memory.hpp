// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_MEMORY_HPP
#define COTANGENT_TRACE_PROGRAM_MEMORY_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/memory.hpp>
#include <cotangent/run/growing_workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
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

/// The workspace of the checked calls of a thread, which never nest.
inline growing_workspace& workspace_of_thread() {
  static thread_local growing_workspace workspace;
  return workspace;
}
inline growing_memory& memory_of_thread() { return growing_access::memory(workspace_of_thread()); }

/// Runs an executor; loops of unknown length record in `workspace`.
template <class Executor>
status run_on_tape(growing_workspace& workspace, void* memory, void const* const* inputs, void* const* outputs,
                   std::int64_t const* sizes) noexcept {
  tape_stack& tape = growing_access::tape(workspace);
  tape.begin();
  status const s = Executor::run(memory, inputs, outputs, sizes, &tape);
  bool const failed = tape.failed();
  tape.end();
  return failed ? status::out_of_memory : s;
}

} // namespace cotangent::detail

#endif
