// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_NEST_RUNS_HPP
#define COTANGENT_TESTS_NEST_RUNS_HPP

#include "catch.hpp"

#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/run/reference/evaluate.hpp>

#include <cstdlib>
#include <memory>
#include <vector>

// A graph of doubles run for elements in the order of its inputs, by the interpreter and element by element.

namespace nest_runs {

using namespace cotangent;

struct release {
  void operator()(void* p) const { std::free(p); }
};

inline std::vector<double> interpreted(interpreter const& p, std::vector<double> const& elements,
                                       detail::tape& record) {
  std::vector<std::vector<double>> out;
  std::vector<void const*> from;
  std::vector<void*> to;
  double const* at = elements.data();
  for (int k = 0; k < p.input_count(); at += p.input_elements(k++)) from.push_back(at);
  for (int k = 0; k < p.output_count(); ++k)
    to.push_back(out.emplace_back(static_cast<std::size_t>(p.output_elements(k)), -7).data());
  auto const bytes = static_cast<std::size_t>((p.workspace_bytes() + 64) / 64 * 64);
  std::unique_ptr<void, release> const workspace(std::aligned_alloc(64, bytes));
  REQUIRE(p.run(from.data(), to.data(), workspace.get(), &record) == status::ok);
  std::vector<double> all;
  for (auto const& y : out) all.insert(all.end(), y.begin(), y.end());
  return all;
}

inline std::vector<double> evaluated_element_by_element(extend::graph_view const& g, interpreter const& like,
                                                        std::vector<double> const& elements) {
  std::vector<std::vector<double>> out;
  std::vector<double const*> from;
  std::vector<double*> to;
  double const* at = elements.data();
  for (int k = 0; k < like.input_count(); at += like.input_elements(k++)) from.push_back(at);
  for (int k = 0; k < like.output_count(); ++k)
    to.push_back(out.emplace_back(static_cast<std::size_t>(like.output_elements(k))).data());
  REQUIRE(detail::evaluate(g, from.data(), to.data()).ok());
  std::vector<double> all;
  for (auto const& y : out) all.insert(all.end(), y.begin(), y.end());
  return all;
}

} // namespace nest_runs

#endif
