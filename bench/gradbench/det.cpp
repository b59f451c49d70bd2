// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <cotangent/dynamic.hpp>

#include <algorithm>

namespace gradbench {
namespace {

using ct::dynamic::expr;

/// The graph for one size. A minor is determined by its columns, because it has the last rows; each is expanded once.
struct prepared {
  std::int64_t size;
  ct::dynamic::graph g;
  expr<double> a = g.input<double>("a", {size * size});
  std::map<unsigned, expr<double>> minors;
  expr<double> determinant = minor((1u << size) - 1, 0), gradient = g.gradient({determinant}, {a}).front();
  ct::dynamic::program primal_program = g.compile({determinant}), gradient_program = g.compile({gradient});

  explicit prepared(std::int64_t n) : size(n) {}

  expr<double> minor(unsigned columns, std::int64_t row) {
    if (auto const found = minors.find(columns); found != minors.end()) return found->second;
    std::vector<expr<double>> terms; // of both signs, by turns
    for (int j = 0; j < size; ++j) {
      if (!(columns >> j & 1)) continue;
      expr<double> const factor = a(row * size + j);
      terms.push_back(row + 1 == size ? factor : factor * minor(columns & ~(1u << j), row + 1));
    }
    expr<double> sum = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k) sum = k % 2 ? sum - terms[k] : sum + terms[k];
    minors.emplace(columns, sum);
    return sum;
  }
};

struct state {
  std::shared_ptr<prepared> graph;
  ct::dynamic::program program;
  vector a;
};
std::shared_ptr<state> read(json const& input, ct::dynamic::program prepared::*which) {
  auto const size = read_count(member(input, "ell"));
  vector a = read_vector(member(input, "A"));
  require(size > 0 && size <= 16, "ell must be between 1 and 16");
  require(a.size() == static_cast<std::int64_t>(size * size), "A must have ell^2 numbers");
  static std::map<std::size_t, std::shared_ptr<prepared>> kept;
  auto& p = kept[size];
  if (!p) p = std::make_shared<prepared>(static_cast<std::int64_t>(size));
  auto s = std::make_shared<state>(state{p, (*p).*which, std::move(a)});
  s->program.bind(p->a, std::span<double const>(s->a));
  return s;
}
task primal(json const& input) {
  auto s = read(input, &prepared::primal_program);
  return {[s] { s->program.run(); },
          [s](json& to) { write(to, static_cast<double>(s->program.value(s->graph->determinant))); }};
}
task gradient(json const& input) {
  auto s = read(input, &prepared::gradient_program);
  return {[s] { s->program.run(); },
          [s](json& to) { write(to, {s->program.value(s->graph->gradient).data(), static_cast<std::size_t>(s->a.size())}); }};
}

} // namespace

problem det() { return {{"primal", primal}, {"gradient", gradient}}; }

} // namespace gradbench
