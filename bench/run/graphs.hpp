// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_GRAPHS_HPP
#define COTANGENT_BENCH_RUN_GRAPHS_HPP

#include "harness.hpp"
#include "ours.hpp"

#include <cotangent/dynamic.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bench {

/// A program of a run-time graph, whose inputs and results are bound, as a contestant.
inline contestant interpreted(cotangent::dynamic::program p) {
  auto const shared = std::make_shared<cotangent::dynamic::program>(std::move(p));
  return named("interpreter", [shared] { shared->run(); });
}

template <class T> auto input_like(cotangent::dynamic::graph& g, std::string const& name, T const&) { return g.input<T>(name, {}); }
template <class T, cotangent::extent... E>
auto input_like(cotangent::dynamic::graph& g, std::string const& name, cotangent::view<T const, E...> const&) {
  return g.input<T>(name, {static_cast<std::ptrdiff_t>(E.number)...});
}

/// A function in a run-time graph as a contestant: its value and its gradients with respect to the arguments I. Arguments and
/// results are views of memory or numbers, as those of ours().
template <std::size_t... I, class F, class... Results, class... Args>
contestant interpreted(F f, std::tuple<Results...> results, Args const&... args) {
  cotangent::dynamic::graph g;
  auto const inputs = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple{input_like(g, std::string("x").append(std::to_string(K)), args)...};
  }(std::index_sequence_for<Args...>());
  auto const value = std::apply(f, inputs);
  std::vector<cotangent::dynamic::any_expr> wanted{value};
  for (auto const& slope : g.gradient({value}, {std::get<I>(inputs)...})) wanted.push_back(slope);
  auto p = g.compile(wanted);
  std::apply([&](auto const&... x) { (p.bind(x, args), ...); }, inputs);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (p.bind(wanted[K], std::get<K>(results)), ...);
  }(std::index_sequence_for<Results...>());
  return interpreted(std::move(p));
}

/// The function and its gradients, compiled and as a run-time graph.
template <std::size_t... I, class F, class... Results, class... Args>
void run_both(suite& to, comparison c, F f, std::tuple<Results...> results, Args const&... args) {
  c.ours = {ours(cotangent::value_and_grad<static_cast<int>(I)...>(f), results, args...)};
  to.run(c);
  c.name = "interpreter, " + c.name;
  c.ours = {interpreted<I...>(f, results, args...)};
  to.run(c);
}

} // namespace bench

#endif
