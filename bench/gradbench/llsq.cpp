// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>

namespace gradbench {
namespace {

/// t^0, t^1, ..., one row each.
template <ct::extent Rows> constexpr auto powers(auto t) {
  auto const first = ct::reshape<Rows, 1>(ct::iota<Rows>()) == 0;
  return ct::cumprod<0>(ct::select(first, 1.0, t));
}

/// Half the sum of squares of sign(t) - sum_j x_j t^j. The coefficients are in rows of 16, and t^(16 a + b) is (t^16)^a t^b.
inline constexpr auto loss = [](auto x, auto t) {
  auto const t16 = ct::square(ct::square(ct::square(ct::square(t))));
  auto const of_rows = ct::matmul(x, powers<16>(t));
  auto const residual = ct::sign(t) - ct::sum(of_rows * powers<"a">(t16), ct::axes<0>);
  return 0.5 * ct::sum(ct::square(residual));
};

struct state {
  std::size_t count;
  ct::tensor<double, "a", 16> x, dx; // padded with zeros
  ct::tensor<double, "s"> t;
  double y = 0;
};
std::shared_ptr<state> read(json const& input) {
  vector const x = read_vector(member(input, "x"));
  auto const m = static_cast<std::size_t>(x.size()), n = read_count(member(input, "n"));
  require(n > 1, "n must be at least 2");
  std::size_t const rows = (m + 15) / 16;
  state s{m, ct::tensor<double, "a", 16>(rows), ct::tensor<double, "a", 16>(rows), ct::tensor<double, "s">(n)};
  std::copy(x.begin(), x.end(), s.x.begin());
  double const step = 2 / static_cast<double>(n - 1);
  for (std::size_t i = 0; i < n; ++i) s.t.data()[i] = -1 + static_cast<double>(i) * step;
  return std::make_shared<state>(std::move(s));
}
task primal(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(loss), std::tie(s->y), s->x, s->t), [s](json& to) { write(to, s->y); }};
}
task gradient(json const& input) {
  auto s = read(input);
  return {prepare(ct::grad(loss), std::tie(s->dx), s->x, s->t),
          [s](json& to) { write(to, {s->dx.data(), s->count}); }};
}

} // namespace

problem llsq() { return {{"primal", primal}, {"gradient", gradient}}; }

} // namespace gradbench
