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

namespace ct = cotangent;

namespace bench {

/// Results: numbers by reference, tensors by view.
template <class... Leaf>
std::tuple<Leaf...> into(Leaf&&... leaf) {
  return std::tuple<Leaf...>(leaf...);
}

/// A function of the library as a contestant, on arguments and results that are views of memory or numbers.
template <class F, class... Results, class... Args>
contestant ours(F, std::tuple<Results...> results, Args... args) {
  using program = ct::program<F, Args...>;
  std::size_t const bytes = [&] {
    if constexpr (requires { program::workspace_bytes; }) return program::workspace_bytes;
    else return program::workspace_for(args...);
  }();
  auto const workspace = std::make_shared<buffer<unsigned char>>(static_cast<std::ptrdiff_t>(bytes + 64));
  std::span<unsigned char> const memory(workspace->data(), bytes);
  return named("ours", [workspace, memory, results, args...] {
    static_cast<void>(program::run(memory, std::tie(args...), results));
  });
}

} // namespace bench

#endif
