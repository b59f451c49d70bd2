// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <cotangent/dynamic.hpp>

#include <algorithm>

namespace gradbench {
namespace {

using ct::dynamic::expr;

/// The graph for one number of equations and one of steps.
struct prepared {
  std::int64_t n, steps;
  ct::dynamic::graph g;
  expr<double> x = g.input<double>("x", {n}), y = solution(), gradient = g.gradient({y(n - 1)}, {x}).front();
  ct::dynamic::program primal_program = g.compile({y}), gradient_program = g.compile({gradient});

  prepared(std::int64_t equations, std::int64_t number) : n(equations), steps(number) {}

  /// Steps of Runge and Kutta, of the fourth order, from 0 to 2.
  expr<double> solution() {
    double const h = 2 / static_cast<double>(steps);
    auto const one = g.full({1}, 1.0);
    auto const slope = [&](expr<double> const& at) { // (x_0, x_1 y_0, x_2 y_1, ...)
      return n == 1 ? x : x * ct::concatenate<0>(one, at(ct::dynamic::between(0, n - 1)));
    };
    return ct::for_loop(steps, [&](auto, auto at) {
      auto const k1 = slope(at), k2 = slope(at + h / 2 * k1), k3 = slope(at + h / 2 * k2), k4 = slope(at + h * k3);
      return at + h / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }, g.full({n}, 0.0));
  }
};

struct state {
  std::shared_ptr<prepared> graph;
  ct::dynamic::program program;
  vector x;
};
std::shared_ptr<state> read(json const& input, ct::dynamic::program prepared::*which) {
  vector x = read_vector(member(input, "x"));
  std::int64_t const n = x.size(), steps = static_cast<std::int64_t>(read_count(member(input, "s")));
  require(n > 0 && steps > 0, "x must have an element, and s must be at least 1");
  static std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<prepared>> kept;
  auto& p = kept[{n, steps}];
  if (!p) p = std::make_shared<prepared>(n, steps);
  auto s = std::make_shared<state>(state{p, (*p).*which, std::move(x)});
  s->program.bind(p->x, std::span<double const>(s->x));
  return s;
}
task prepared_task(std::shared_ptr<state> s, expr<double> prepared::*result) {
  return {[s] { s->program.run(); }, [s, result](json& to) {
            write(to, {s->program.value((*s->graph).*result).data(), static_cast<std::size_t>(s->x.size())});
          }};
}
task primal(json const& input) { return prepared_task(read(input, &prepared::primal_program), &prepared::y); }
task gradient(json const& input) { return prepared_task(read(input, &prepared::gradient_program), &prepared::gradient); }

} // namespace

problem ode() { return {{"primal", primal}, {"gradient", gradient}}; }

} // namespace gradbench
