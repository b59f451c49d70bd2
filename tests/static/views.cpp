// SPDX-License-Identifier: BSL-1.0
#include <cotangent/graph/verify.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/views/coverage.hpp>

#include "../view_graph.hpp"

// Views in constant evaluations: what the passes do with them at run time they do there too.

using namespace cotangent;
using namespace view_graph;
using extend::apply;

namespace {

constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

/// y = x + c; of its first element y^2 + y, of its second the exponential, and x itself.
constexpr bool parts_and_the_whole() {
  extend::builder b;
  term const x{&b, tensor(b, {2})};
  b.set_inputs(&x.id, 1);
  term const y = x + 1;
  term const first{&b, range(b, y.id, {0}, {1})}, second{&b, range(b, y.id, {1}, {1})};
  term const v = term{&b, range(b, x.id, {0}, {1})} + (first * first + first) + second * second * second;
  extend::symbol const seed = extend::constant_like(v, 1).id;
  extend::symbol dx = extend::none;
  detail::gradient(b, {&v.id, &seed, 1, &x.id, 1}, &dx);
  extend::symbol const out[2]{v.id, dx};
  b.set_outputs(out, 2);
  double const given[2]{2, 3};
  double value[1]{}, slope[2]{};
  double const* in[1]{given};
  double* to[2]{value, slope};
  return verify(b.get()) && detail::evaluate(b.get(), in, to).ok() && value[0] == 2 + 12 + 64 && slope[0] == 8 &&
         slope[1] == 48;
}
static_assert(parts_and_the_whole());

/// A tensor that grows in place, and the gradient of its gradient.
constexpr bool grown_in_place() {
  extend::builder b;
  extend::symbol const w = tensor(b, {1}), x = tensor(b, {3});
  b.set_inputs(&w, 1);
  write(b, info_of<op::identity>(), {w}, range(b, x, {0}, {1}));
  for (int k = 1; k < 3; ++k) // x[k] = x[k - 1] w
    write(b, info_of<op::multiply>(), {range(b, x, {k - 1}, {1}), w}, range(b, x, {k}, {1}));
  extend::symbol const last = range(b, x, {2}, {1}),
               seed = extend::constant(b, element::float64, b.tensor(w).shape, 1).id;
  extend::symbol first = extend::none, second = extend::none;
  detail::gradient(b, {&last, &seed, 1, &w, 1}, &first);
  detail::gradient(b, {&first, &seed, 1, &w, 1}, &second);
  extend::symbol const out[2]{first, second};
  b.set_outputs(out, 2);
  double const given[1]{3};
  double slope[1]{}, bend[1]{};
  double const* in[1]{given};
  double* to[2]{slope, bend};
  return verify(b.get()) && detail::in_order(b.get()) && detail::evaluate(b.get(), in, to).ok() && near(slope[0], 27) &&
         near(bend[0], 18);
}
static_assert(grown_in_place());

/// The gradient of what is read in part is zero elsewhere, and that is known.
constexpr bool zeros_where_nobody_reads() {
  extend::builder b;
  extend::symbol const x = tensor(b, {2, 3});
  b.set_inputs(&x, 1);
  term const y = apply<op::square>(term{&b, range(b, x, {0, 2}, {2, 2}, {1, -2})});
  extend::symbol const seed = extend::constant_like(y, 1).id;
  extend::symbol dx = extend::none;
  detail::gradient(b, {&y.id, &seed, 1, &x, 1}, &dx);
  b.set_outputs(&dx, 1);
  double const given[6]{1, 2, 3, 4, 5, 6};
  double slope[6]{};
  double const* in[1]{given};
  double* to[1]{slope};
  bool right = verify(b.get()) && detail::evaluate(b.get(), in, to).ok() && detail::zero_filled(b.get(), dx);
  for (int k = 0; k < 6; ++k) right = right && slope[k] == (k % 3 == 1 ? 0 : 2 * given[k]);
  return right;
}
static_assert(zeros_where_nobody_reads());

constexpr bool ordered() {
  extend::builder b;
  extend::symbol const x = tensor(b, {2}), y = tensor(b, {2});
  b.set_inputs(&x, 1);
  extend::symbol const z = b.push(info_of<op::square>(), {y});
  write(b, info_of<op::negate>(), {range(b, x, {1}, {1})}, range(b, y, {0}, {1}));
  write(b, info_of<op::negate>(), {range(b, x, {0}, {1})}, range(b, y, {1}, {1}));
  b.set_outputs(&z, 1);
  detail::ordering const o = detail::order_of(b.get());
  return !detail::in_order(b.get()) && o && o.nodes[2] == 0 && verify(reordered(b.get(), o)) && !verify(b.get());
}
static_assert(ordered());

} // namespace
