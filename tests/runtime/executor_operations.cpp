// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Every elementwise operation and its gradient, at lengths around those of vectors.

using namespace executing;

namespace {

template <element E, extend::dimension N> struct elementwise_graph {
  template <class Op> static constexpr void one(extend::builder& b, term const* x, detail::array<extend::symbol>& out) {
    extend::symbol operands[3]{x[0].id, x[1].id, x[2].id};
    term const y{&b, b.push(info_of<Op>(), operands, Op::arity)};
    out.push(y.id);
    if (Op::derivative != derivative_kind::differentiable) return;
    term const weighted = extend::sum(y * x[2], 1);
    extend::symbol dx[3]{};
    detail::gradient(b, {&weighted.id, nullptr, 1, operands, Op::arity}, dx);
    for (int k = 0; k < Op::arity; ++k) out.push(dx[k]);
  }
  template <class... Op> static constexpr void all(extend::builder& b, term const* x, detail::array<extend::symbol>& out, std::tuple<Op...> const*) {
    static_cast<void>(std::initializer_list<int>{(one<Op>(b, x, out), 0)...});
  }
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = N < 0 ? b.size(extent::named("n", 1)) : N;
    std::int32_t const shape = b.shape(extend::dimensions{1, {n}});
    extend::symbol in[3]{b.symbol_of(E, shape), b.symbol_of(E, shape), b.symbol_of(E, shape)};
    term const x[3]{{&b, in[0]}, {&b, in[1]}, {&b, in[2]}};
    b.set_inputs(in, 3);
    detail::array<extend::symbol> out;
    all(b, x, out, static_cast<reference::elementwise_operations const*>(nullptr));
    b.set_outputs(out.data(), out.size());
    return {b.get(), b.failed()};
  }
};

struct integers {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    for (int k = 0; k < 2; ++k) {
      a.push({element::int32, {1, {33}}});
      a.push({element::int64, {1, {33}}});
    }
    return a;
  }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    term const a = x[0], b = x[2], c = x[1], d = x[3];
    return {a + b, a - b, a * b, -a, c + d, c - d, c * d, extend::apply<op::max>(a, b), extend::apply<op::min>(c, d),
            extend::apply<op::square>(a), extend::apply<op::abs>(c), extend::apply<op::sign>(a), extend::apply<op::relu>(c),
            a < b, a <= b, c == d, c != d, (a < b) && (c < d), (a < b) || !(c < d), extend::select(a < b, c, d),
            extend::convert(a, element::int64) + c, extend::convert(a < b, element::int32), extend::sum(a, 1), extend::sum(c, 1),
            extend::max(a, 1), extend::min(c, 1)};
  }
};

} // namespace

TEST_CASE("Elementwise operations on doubles are right at any length, with gradients") {
  for (std::int64_t n : {0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 33, 64, 100, 1000})
    check_named<elementwise_graph<element::float64, -1>>(n, 0, 0.3, 1.9, 1e-12);
}
TEST_CASE("Elementwise operations on floats are right at any length, with gradients") {
  for (std::int64_t n : {0, 1, 3, 8, 9, 15, 16, 17, 33, 100})
    check_named<elementwise_graph<element::float32, -1>>(n, 0, 0.3, 1.9, 1e-12);
}
TEST_CASE("Elementwise operations on seven doubles") { check<elementwise_graph<element::float64, 7>>(0.3, 1.9); }
TEST_CASE("Operations on integers and bools are right") {
  check<graph_of<integers>>(-9, 9);
  check_plain<graph_of<integers>>(-9, 9);
}
