// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

namespace gradbench {
namespace {

inline constexpr auto log_sum_exp = [](auto x) {
  auto const largest = ct::max(x);
  return ct::log(ct::sum(ct::exp(x - largest))) + largest;
};

struct state {
  vector x, dx;
  double y = 0;
};
std::shared_ptr<state> read(json const& input) {
  vector x = read_vector(member(input, "x"));
  auto const n = x.size();
  require(n > 0, "x must have an element");
  return std::make_shared<state>(state{std::move(x), vector(n)});
}
task primal(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(log_sum_exp), std::tie(s->y), s->x), [s](json& to) { write(to, s->y); }};
}
task gradient(json const& input) {
  auto s = read(input);
  return {prepare(ct::grad(log_sum_exp), std::tie(s->dx), s->x), [s](json& to) { write(to, s->dx); }};
}

} // namespace

problem lse() { return {{"primal", primal}, {"gradient", gradient}}; }

} // namespace gradbench
