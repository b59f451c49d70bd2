// SPDX-License-Identifier: BSL-1.0
#include "../simplify_cases.hpp"

#include <cotangent/graph/freeze.hpp>
#include <cotangent/graph/verify.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

using namespace cotangent;
using simplify_cases::consists_of;

namespace {

/// It has neither `partial` nor `tangent` nor `derivative`.
struct opaque : extend::elementwise<1> {
  static constexpr char const* name = "opaque";
  template <class V> COTANGENT_INLINE static constexpr V apply(V x) { return x; }
};

struct pushed {
  extend::builder b;
  std::int32_t before = 0;
  extend::symbol result = extend::none;
  constexpr bool is(char const* names) const {
    graph g = b.get();
    for (std::int32_t i = before; i < g.nodes.size(); ++i) g.nodes[i - before] = g.nodes[i];
    g.nodes.resize(g.nodes.size() - before);
    return b.failed().why == nullptr && bool(verify(b.get())) && consists_of(g, names);
  }
};

/// The tangent of f(x, y) along x, along y where it is asked for.
template <class F> constexpr pushed tangent_of(F f, bool along_y = false) {
  pushed p;
  std::int32_t const table = simplify_cases::shape_of(p.b, {4, 3});
  extend::symbol in[4]{};
  for (extend::symbol& s : in) s = p.b.symbol_of(element::float64, table);
  p.b.set_inputs(in, 4);
  extend::symbol const y = f(term{&p.b, in[0]}, term{&p.b, in[1]}).id, seeds[2]{in[2], along_y ? in[3] : extend::none};
  p.before = p.b.get().nodes.size();
  detail::tangents(p.b, in, seeds, 2, &y, 1, &p.result);
  return p;
}

static_assert(tangent_of([](term x, term y) { return x + y; }).is(""));
static_assert(tangent_of([](term x, term y) { return x + y; }, true).is("add "));
static_assert(tangent_of([](term x, term y) { return x * y; }).is("mul "));
static_assert(tangent_of([](term x, term y) { return x * y; }, true).is("mul mul add "));
static_assert(tangent_of([](term x, term) { return extend::apply<op::exp>(x); }).is("mul "));
static_assert(tangent_of([](term x, term) { return extend::sum(x, 3); }).is("sum "));

// only what lies between
static_assert(tangent_of([](term x, term y) {
                (void)extend::apply<op::log>(x);
                return x * extend::apply<op::exp>(y);
              }).is("mul "));
static_assert(tangent_of([](term, term y) { return extend::apply<op::exp>(y); }).result == extend::none);

// where derivatives are zero, they end
static_assert(tangent_of([](term x, term) { return extend::stop_gradient(x) * 2; }).result == extend::none);
static_assert(tangent_of([](term x, term) { return extend::select(x < 0, x, x * 2); }).is("mul select "));
static_assert(tangent_of([](term x, term) { return extend::convert(x < 0, element::float64); }).result ==
              extend::none);

// where there is none, it is said, if it is needed
static_assert(tangent_of([](term x, term) { return extend::apply<opaque>(x) * 2; }).b.failed().why ==
              detail::why<refusals::not_differentiable>());
static_assert(tangent_of([](term x, term) { return extend::apply<opaque>(x) * 2; }).b.failed().node == 0);
static_assert(tangent_of([](term x, term y) { return x * extend::apply<opaque>(y); }).is("mul "));
static_assert(tangent_of([](term x, term) {
                (void)extend::apply<opaque>(x);
                return x * 2;
              }).is("mul "));

constexpr detail::failure seed_of_another_shape() {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, simplify_cases::shape_of(b, {4})),
               seed = b.symbol_of(element::float64, 0);
  extend::symbol result = extend::none;
  detail::tangents(b, &x, &seed, 1, &x, 1, &result);
  return b.failed();
}
static_assert(seed_of_another_shape().why == detail::why<refusals::seed_shape>());
static_assert(seed_of_another_shape().right.number == 4);

// ---- a thousand nodes and three, within the compiler's own limits

template <int Nodes> struct chain {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol const x = b.symbol_of(element::float64, 0);
    b.set_inputs(&x, 1);
    extend::symbol z = x;
    for (int k = 0; k < Nodes; ++k)
      z = k % 2 == 0 ? b.push(info_of<op::multiply>(), {z, x}) : b.push(info_of<op::tanh>(), {z});
    b.set_outputs(&z, 1);
    return {b.get(), b.failed()};
  }
};
constexpr detail::capacity room(int nodes) { return {nodes + 32, nodes + 32, 4 * nodes + 32, nodes + 32}; }
template <int Nodes> struct moved {
  static constexpr detail::built make() {
    extend::graph_view const g = detail::frozen<chain<Nodes>, room(Nodes)>::view;
    extend::builder b(g);
    extend::symbol const x = g.input(0), y = g.output(0), seed = b.symbol_of(element::float64, 0);
    extend::symbol dy = extend::none;
    detail::tangents(b, &x, &seed, 1, &y, 1, &dy);
    extend::symbol const in[2]{x, seed};
    b.set_inputs(in, 2);
    b.set_outputs(&dy, 1);
    return {b.get(), b.failed()};
  }
};
static_assert(detail::frozen<moved<300>, room(1500)>::value.failed.why == nullptr);
static_assert(detail::frozen<moved<300>, room(1500)>::view.node_count > 1000);
static_assert(detail::frozen<moved<850>, room(4000)>::view.node_count > 3000);

} // namespace
