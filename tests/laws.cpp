// SPDX-License-Identifier: BSL-1.0
#include "laws.hpp"

#include "random_graph.hpp"
#include "witness.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cmath>
#include <initializer_list>
#include <vector>

namespace laws {
namespace {

using namespace cotangent;
using reference::values;

struct law_builder {
  extend::builder b;
  detail::array<extend::symbol> in, x, out;

  explicit law_builder(extend::graph_view const& g) : b(g) {
    for (int k = 0; k < g.input_count(); ++k) {
      in.push(g.input(k));
      x.push(g.input(k));
    }
  }
  extend::symbol input_like(extend::symbol s) {
    in.push(b.symbol_of(b.tensor(s).type, b.tensor(s).shape));
    return in.back();
  }
  detail::array<extend::symbol> inputs_like(detail::array<extend::symbol> const& like) {
    detail::array<extend::symbol> r;
    for (extend::symbol const s : like) r.push(input_like(s));
    return r;
  }
  detail::array<extend::symbol> pulled(std::initializer_list<extend::symbol> outputs, std::initializer_list<extend::symbol> seeds) {
    detail::array<extend::symbol> r(x.size(), extend::none);
    detail::gradient(b, {outputs.begin(), seeds.begin(), static_cast<int>(outputs.size()), x.data(), x.size()}, r.data());
    return r;
  }
  detail::array<extend::symbol> pushed(detail::array<extend::symbol> const& outputs, detail::array<extend::symbol> const& directions) {
    detail::array<extend::symbol> r(outputs.size(), extend::none);
    detail::tangents(b, x.data(), directions.data(), x.size(), outputs.data(), outputs.size(), r.data());
    for (int k = 0; k < r.size(); ++k)
      if (r[k] == extend::none) r[k] = extend::constant(b, b.tensor(outputs[k]).type, b.tensor(outputs[k]).shape, 0).id;
    return r;
  }
  term inner(detail::array<extend::symbol> const& a, detail::array<extend::symbol> const& c) {
    term sum = extend::constant(b, element::float64, 0, 0);
    for (int k = 0; k < a.size(); ++k) {
      term const product = term{&b, a[k]} * term{&b, c[k]};
      sum = sum + extend::sum(product, extend::all_axes(product));
    }
    return sum;
  }
  int give(detail::array<extend::symbol> const& s) {
    int const first = out.size();
    for (extend::symbol const t : s) out.push(t);
    return first;
  }
};

} // namespace

void check(std::uint64_t seed, int nodes) {
  CAPTURE(seed, nodes);
  extend::builder traced;
  reference::dice d(seed);
  reference::random_graph(traced, d, nodes, false, false);
  extend::graph_view const g = traced.get();
  law_builder l(g);
  extend::builder& b = l.b;
  extend::symbol const f = g.output(0), y = g.output(1); // a scalar, and any tensor
  detail::array<extend::symbol> const v = l.inputs_like(l.x), u = l.inputs_like(l.x);
  extend::symbol const w = l.input_like(y), z = l.input_like(y);
  extend::symbol const one = extend::constant(b, element::float64, 0, 1).id;
  extend::symbol const mixed = (2 * term{&b, w} - 3 * term{&b, z}).id;
  detail::array<extend::symbol> f_and_y;
  f_and_y.push(f);
  f_and_y.push(y);

  detail::array<extend::symbol> const gradient_of_f = l.pulled({f}, {one}), by_w = l.pulled({y}, {w}), by_z = l.pulled({y}, {z}),
                      by_mixed = l.pulled({y}, {mixed}), of_both = l.pulled({f, y}, {one, w});
  detail::array<extend::symbol> const moved = l.pushed(f_and_y, v);
  detail::array<extend::symbol> const hv = l.pushed(gradient_of_f, v), hu = l.pushed(gradient_of_f, u);
  extend::symbol const along_u = l.inner(gradient_of_f, u).id;
  detail::array<extend::symbol> const reverse_hu = l.pulled({along_u}, {one});
  int const at_f = l.give(f_and_y), at_gradient = l.give(gradient_of_f), at_w = l.give(by_w), at_z = l.give(by_z),
            at_mixed = l.give(by_mixed), at_both = l.give(of_both), at_moved = l.give(moved), at_hv = l.give(hv),
            at_hu = l.give(hu), at_reverse = l.give(reverse_hu);
  b.set_inputs(l.in.data(), l.in.size());
  b.set_outputs(l.out.data(), l.out.size());
  REQUIRE(b.failed().why == nullptr);
  REQUIRE(verify(b.get()).text == nullptr);

  detail::array<values> const all = reference::inputs_of(b.get(), d, -1.5, 1.5);
  graph const simplified = detail::simplify(b.get());
  detail::array<values> const plain = witness::interpreted(b.get(), nullptr, all),
                      rewritten = witness::interpreted(simplified, nullptr, all);
  witness::check_same("interpreter, constant evaluation", b.get(), plain, witness::evaluated(b.get(), nullptr, all));
  witness::check_same("interpreter, constant evaluation, simplified", simplified, rewritten,
                      witness::evaluated(simplified, nullptr, all));

  int const inputs = l.x.size();
  for (detail::array<values> const* const r : {&plain, &rewritten}) {
    CAPTURE(r == &rewritten);
    auto const inner = [&](int first, int direction) { // of arguments, with what is given for them
      double s = 0;
      for (int k = 0; k < inputs; ++k)
        for (int i = 0; i < (*r)[first + k].size(); ++i) s += (*r)[first + k][i].real * all[direction + k][i].real;
      return s;
    };
    auto const largest = [&](int first, int count) {
      double m = 1;
      for (int k = 0; k < count; ++k)
        for (extend::scalar const& s : (*r)[first + k]) m = std::fmax(m, std::fabs(s.real));
      return m;
    };
    double const tolerance = 1e-10;
    int const in_v = inputs, in_u = 2 * inputs, in_w = 3 * inputs;

    INFO("the derivative of f along v is the gradient times v, and w J v is J' w times v");
    CHECK(std::fabs((*r)[at_moved][0].real - inner(at_gradient, in_v)) <= tolerance * 10 * largest(at_gradient, inputs));
    double wjv = 0;
    for (int i = 0; i < all[in_w].size(); ++i) wjv += all[in_w][i].real * (*r)[at_moved + 1][i].real;
    CHECK(std::fabs(wjv - inner(at_w, in_v)) <= tolerance * 10 * largest(at_w, inputs) * largest(at_moved + 1, 1));

    INFO("adjoints are linear in the cotangent, and add over outputs; second derivatives by two ways are equal");
    int wrong = 0;
    double const scale = tolerance * largest(at_w, inputs) * largest(at_z, inputs) * largest(at_gradient, inputs),
                 second = tolerance * largest(at_hu, inputs) * largest(at_gradient, inputs);
    for (int k = 0; k < inputs; ++k)
      for (int i = 0; i < (*r)[at_w + k].size(); ++i) {
        auto const at = [&](int first) { return (*r)[first + k][i].real; };
        if (!(std::fabs(at(at_mixed) - (2 * at(at_w) - 3 * at(at_z))) <= scale)) ++wrong;
        if (!(std::fabs(at(at_both) - (at(at_gradient) + at(at_w))) <= scale)) ++wrong;
        if (!(std::fabs(at(at_reverse) - at(at_hu)) <= second)) ++wrong;
      }
    CHECK(wrong == 0);

    INFO("second derivatives are symmetric");
    double const uhv = inner(at_hv, in_u), vhu = inner(at_hu, in_v);
    CHECK(std::fabs(uhv - vhu) <= 100 * tolerance * largest(at_hu, inputs) * largest(at_hv, inputs));
  }

  // central differences of f along v
  double const h = 1e-6;
  auto const f_at = [&](double by) {
    detail::array<values> there = all;
    for (int k = 0; k < inputs; ++k)
      for (int i = 0; i < there[k].size(); ++i) there[k][i].real += by * all[inputs + k][i].real;
    return witness::interpreted(simplified, nullptr, there)[at_f][0].real;
  };
  double const slope = (f_at(h) - f_at(-h)) / (2 * h), exact = rewritten[at_moved][0].real;
  double hv_size = 0;
  for (int k = 0; k < inputs; ++k)
    for (extend::scalar const& s : rewritten[at_hv + k]) hv_size = std::fmax(hv_size, std::fabs(s.real));
  CAPTURE(slope, exact);
  CHECK(std::fabs(slope - exact) <= 1e-5 * (1 + std::fabs(exact) + hv_size));
}

} // namespace laws
