// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_MEMORY_HPP
#define COTANGENT_TRACE_PROGRAM_MEMORY_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/memory.hpp>
#include <cotangent/run/growing_workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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
concept workspace_like =
    requires(W& w) { w.bytes; } || std::is_same_v<std::remove_cv_t<W>, void*> ||
    std::is_same_v<std::remove_cv_t<W>, std::nullptr_t> || contiguous<W> || std::is_array_v<W>;

/// A bare pointer has unknown size, and is trusted.
template <workspace_like W> workspace_memory memory_of_workspace(W& w) noexcept {
  if constexpr (std::is_same_v<std::remove_cv_t<W>, void*>) return {w, workspace_memory::unknown};
  else if constexpr (std::is_same_v<std::remove_cv_t<W>, std::nullptr_t>) return {};
  else if constexpr (requires { w.bytes; } || std::is_array_v<W>) return {&w, sizeof w};
  else return {w.data(), static_cast<std::size_t>(w.size()) * sizeof(*w.data())};
}

/// The workspace of one checked call: that of its thread. A call inside an external function or an operation of a user, which
/// runs while another call has that, has one of its own; so has a call in a destructor that runs after the thread's objects are gone.
///
/// Checked: tests/runtime/external.cpp
class call_workspace {
  struct kept {
    growing_workspace workspace;
    bool taken = false;
  };
  static kept* of_thread() {
    static thread_local bool is_gone = false; // (has no destructor: it may be read until the thread ends)
    struct until_exit {
      kept of;
      ~until_exit() { is_gone = true; }
    };
    if (is_gone) return nullptr;
    static thread_local until_exit k;
    return &k.of;
  }
  bool takes_ = false; // the thread's
  std::optional<growing_workspace> own_;

public:
  call_workspace() = default;
  call_workspace(call_workspace const&) = delete;
  call_workspace& operator=(call_workspace const&) = delete;
  ~call_workspace() {
    if (!takes_) return;
    if (kept* const k = of_thread(); k != nullptr) k->taken = false;
  }

  growing_workspace& get() {
    if (own_.has_value()) return *own_;
    kept* const k = of_thread();
    if (k == nullptr || (k->taken && !takes_)) return own_.emplace();
    takes_ = k->taken = true;
    return k->workspace;
  }
  /// Null if there is not enough memory.
  void* at_least(std::size_t bytes) { return growing_access::memory(get()).at_least(bytes); }
};

/// Runs an executor; loops of unknown length record in `workspace`.
template <class Executor>
status run_on_tape(growing_workspace& workspace, void* memory, void const* const* inputs,
                   void* const* outputs, std::int64_t const* sizes) noexcept {
  tape_stack& tape = growing_access::tape(workspace);
  tape.begin();
  status const s = Executor::run(memory, inputs, outputs, sizes, &tape);
  bool const failed = tape.failed();
  tape.end();
  return failed ? status::out_of_memory : s;
}

} // namespace cotangent::detail

#endif
