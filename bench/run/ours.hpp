// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_OURS_HPP
#define COTANGENT_BENCH_RUN_OURS_HPP

#include "harness.hpp"
#include "inputs.hpp"

#include <cotangent/cotangent.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>

namespace ct = cotangent;

namespace bench {

/// Results: numbers by reference, tensors by view.
template <class... Leaf>
std::tuple<Leaf...> into(Leaf&&... leaf) {
  return std::tuple<Leaf...>(leaf...);
}

template <class T>
using held = std::conditional_t<std::is_arithmetic_v<T>, T const&, T>;

/// A function of the library as a contestant. Arguments and results are views of memory or numbers, which are not copied, as
/// for the contestants by hand.
template <class F, class... Results, class... Args>
contestant ours(F, std::tuple<Results...> results, Args const&... args) {
  auto const arguments = std::tuple<held<Args>...>(args...);
  using program = ct::program<F, Args...>;
  std::size_t const bytes = [&] {
    if constexpr (requires { program::workspace_bytes; }) return program::workspace_bytes;
    else return program::workspace_for(args...);
  }();
  auto const workspace = std::make_shared<buffer<unsigned char>>(static_cast<std::ptrdiff_t>(bytes + 64));
  std::span<unsigned char> const memory(workspace->data(), bytes);
  return named("ours", [workspace, memory, results, arguments] {
    static_cast<void>(program::run(memory, arguments, results));
  });
}

} // namespace bench

#endif
