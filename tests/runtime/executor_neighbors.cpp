// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "executor.hpp"

// Functions of neighbors, with gradients: what is padded by a little runs in the nest of the padded.

using namespace cotangent;
using namespace executing;

namespace {

constexpr term part(extend::builder&, term x, extend::dimension from, extend::dimension count) { return extend::slice(x, 0, from, count); }

/// Squares of first and second differences, a product of neighbors, and their gradients; softmax of a part.
template <element E, extend::dimension N> struct neighbors {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({E, {1, {N}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const here = part(b, x[0], 0, N - 1), after = part(b, x[0], 1, N - 1);
    term const t = after - here * here, u = 1 - here;
    term const second = part(b, x[0], 0, N - 2) - 2 * part(b, x[0], 1, N - 2) + part(b, x[0], 2, N - 2);
    term const soft = extend::softmax(here, 0);
    term const loss = extend::sum(100 * t * t + u * u, 1) + extend::sum(extend::apply<op::tanh>(second), 1) + extend::sum(soft * soft * after, 1);
    extend::symbol dx = extend::none;
    detail::gradient(b, {&loss.id, nullptr, 1, &x[0].id, 1}, &dx);
    outputs_of out{loss, t, extend::max(t, 1)};
    out.ids.push(dx);
    return out;
  }
};

} // namespace

TEST_CASE("Functions of neighbors are right on vectors of every length, with gradients") {
  check<graph_of<neighbors<element::float64, 3>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 5>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 8>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 9>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 17>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 64>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float64, 67>>>(-1, 1, 1e-11);
  check<graph_of<neighbors<element::float32, 4>>>(-1, 1, 1e-4);
  check<graph_of<neighbors<element::float32, 16>>>(-1, 1, 1e-4);
  check<graph_of<neighbors<element::float32, 18>>>(-1, 1, 1e-4);
  check<graph_of<neighbors<element::float32, 100>>>(-1, 1, 1e-4);
}
