// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_WORKSPACE_HPP
#define COTANGENT_TRACE_PROGRAM_WORKSPACE_HPP

#include <cotangent/run/program/executor.hpp>
#include <cotangent/trace/program/call_memory.hpp>
#include <cotangent/trace/program/staging.hpp>
#include <cotangent/trace/program/stages.hpp>

#include <cstddef>

// The sizes of workspaces.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

template <class Simplified, class Executor, bool IsStatic, std::size_t Staged> struct workspace_of {
private:
  template <std::size_t Bytes> struct room {
    alignas(64) unsigned char bytes[Bytes == 0 ? 1 : Bytes];
  };

public:
  /// The bytes of workspace of a run, aligned to 64 bytes.
  static constexpr std::size_t workspace_bytes = workspace_with(Executor::workspace_bytes, Staged);
  /// The bytes of workspace if results may alias any arguments: with room for copies of arguments that must
  /// not be overwritten.
  static constexpr std::size_t workspace_bytes_in_place =
      workspace_bytes + call_memory<Simplified, Executor>::bytes_of_copies(nullptr);
  /// Workspaces of these sizes.
  struct workspace : room<workspace_bytes> {};
  struct workspace_in_place : room<workspace_bytes_in_place> {};
};
template <class Simplified, class Executor, std::size_t Staged>
  requires(!Executor::grows)
struct workspace_of<Simplified, Executor, false, Staged> {};

/// The workspace of a program with loops that record values without a bound has no constant size. (`Loop` has a short name: errors
/// print it.)
template <class Loop> constexpr std::size_t refuse_workspace() {
  detail::line_of_your_source<Loop, Loop::value.where.line()>();
  return 0;
}
template <class Simplified, class Executor, std::size_t Staged>
  requires Executor::grows
struct workspace_of<Simplified, Executor, false, Staged> {
  static constexpr std::size_t workspace_bytes = refuse_workspace<unbounded_loop<Simplified>>(),
                               workspace_bytes_in_place = workspace_bytes;
  struct workspace {
    static constexpr std::size_t size = workspace_bytes;
    unsigned char bytes[size + 1];
  };
  struct workspace_in_place : workspace {};
};

template <class F, class Simplified, class... Args> struct program_of;

// The program of a refused function: enough members that no further error appears.
template <class F, class... Args> struct program_of<F, refused, Args...> {
  static_assert(stages<F, Args...>::report());
  static constexpr bool accepted = false;
  static constexpr std::size_t workspace_bytes = 0, workspace_bytes_in_place = 0;
  static constexpr double flops = 0;
  static constexpr graph_view graph{};
  struct workspace {};
  struct workspace_in_place {};
  using result = typename F::template refused_result<typename stages<F, Args...>::trace_of::returned, Args...>;
  template <class... Any> static constexpr result call(Any const&...) { return result(); }
  template <class... Any> static status run(Any&&...) noexcept { return status::ok; }
  template <class... Any> static status run_growing(Any&&...) noexcept { return status::ok; }
  template <class... Any> static std::size_t workspace_for(Any const&...) noexcept { return 0; }
  template <class... Any> static std::size_t workspace_in_place_for(Any const&...) noexcept { return 0; }
};

template <class F, class... Args> using result_of_program =
    typename outermost<F>::template result<typename stages<F, Args...>::trace_of::returned, Args...>;

/// True if the size of the workspace with all copies is a constant.
template <class Executor, class F, class Simplified, class... Args> inline constexpr bool has_static_workspace =
    Executor::is_static && !Executor::grows &&
    (Simplified::view.extent_count == 0 || !has_strided<result_of_program<F, Args...>, Args...>);
template <class Executor, class F, class Simplified, class... Args> consteval std::size_t staged_bytes_if_static() {
  if constexpr (!has_static_workspace<Executor, F, Simplified, Args...>) return 0;
  else return staged_bytes<Simplified, result_of_program<F, Args...>, Args...>(nullptr);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
