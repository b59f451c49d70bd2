// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Matrix products whose operands are transposed, sliced, repeated, computed, constant.

using namespace executing;

namespace {

template <element E, extend::dimension M, extend::dimension N, extend::dimension K, bool A, bool B> struct product {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({E, {2, {A ? K : M, A ? M : K}}});
    a.push({E, {2, {B ? N : K, B ? K : N}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const y = op::matmul::of(x[0], x[1], A, B), z = op::matmul::of(x[0] * 2, extend::apply<op::tanh>(x[1]), A, B);
    term const loss = extend::sum(extend::apply<op::tanh>(y) * z, 3);
    extend::symbol const in[2]{x[0].id, x[1].id};
    extend::symbol dx[2]{};
    detail::gradient(b, {&loss.id, nullptr, 1, in, 2}, dx);
    return {y, z + 1, loss, term{&b, dx[0]}, term{&b, dx[1]}};
  }
};

struct views {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {2, {8, 12}}});
    a.push({element::float64, {2, {12, 10}}});
    a.push({element::float64, {1, {12}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    std::int64_t const rows[]{1}, columns[]{0};
    term const even = extend::slice(x[0], 0, 0, 4, 2), steps = extend::slice(x[0], 1, 1, 5, 2), part = extend::slice(x[1], 0, 2, 5);
    term const repeated = detail::push_as(info_of<op::broadcast>(), b, {x[2]}, rows, 1, element::float64, b.shape(extend::dimensions{2, {3, 12}}));
    term const lines = detail::push_as(info_of<op::broadcast>(), b, {x[2]}, columns, 1, element::float64, b.shape(extend::dimensions{2, {12, 2}}));
    term const column = op::reshape::of(x[2], b.shape(extend::dimensions{2, {12, 1}})), row = op::reshape::of(x[2], b.shape(extend::dimensions{2, {1, 12}}));
    term const ones = extend::constant(b, element::float64, b.shape(extend::dimensions{2, {10, 3}}), 1);
    term const counted = op::reshape::of(extend::iota(b, element::float64, 12), b.shape(extend::dimensions{2, {12, 1}}));
    return {extend::matmul(even, x[1]), extend::matmul(steps, part), extend::matmul(repeated, x[1]), extend::matmul(x[0], lines),
            extend::matmul(x[0], column), extend::matmul(row, x[1]), extend::matmul(column, row), extend::matmul(row, column),
            extend::matmul(x[1], ones), extend::matmul(x[0], counted), extend::matmul(extend::transpose(x[1]), extend::transpose(x[0])),
            op::matmul::of(x[0], x[0], true, false), op::matmul::of(x[0], x[0], false, true), lines * 2, steps + 1};
  }
};

struct named {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = b.size(extent::named("n", 1)), m = b.size(extent::named("m", 1));
    extend::symbol in[2]{b.symbol_of(element::float32, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(element::float32, b.shape(extend::dimensions{2, {m, 5}}))};
    b.set_inputs(in, 2);
    term const x{&b, in[0]}, w{&b, in[1]}, y = extend::apply<op::tanh>(extend::matmul(x, w)), loss = extend::sum(y * y, 3);
    extend::symbol out[5]{y.id, loss.id, extend::none, extend::none, op::matmul::of(x, x, true, false).id};
    detail::gradient(b, {&loss.id, nullptr, 1, in, 2}, out + 2);
    b.set_outputs(out, 5);
    return {b.get(), b.failed()};
  }
};

} // namespace

TEST_CASE("Matrix products with every transposition are right, with gradients") {
  check<graph_of<product<element::float64, 3, 5, 4, false, false>>>(-1, 1, 1e-11);
  check<graph_of<product<element::float64, 9, 7, 17, true, false>>>(-1, 1, 1e-11);
  check<graph_of<product<element::float32, 16, 33, 8, false, true>>>(-1, 1, 1e-11);
  check<graph_of<product<element::float64, 1, 8, 2, true, true>>>(-1, 1, 1e-11);
}
TEST_CASE("Matrix products of sizes 0 and 1 are right") {
  check<graph_of<product<element::float64, 0, 3, 2, false, false>>>(-1, 1);
  check<graph_of<product<element::float64, 3, 2, 0, false, false>>>(-1, 1);
  check<graph_of<product<element::float64, 1, 1, 1, false, true>>>(-1, 1);
}
TEST_CASE("Operands of matrix products may be sliced, broadcast or constant") {
  check<graph_of<views>>(-1, 1, 1e-11);
  check_plain<graph_of<views>>(-1, 1, 1e-11);
}
TEST_CASE("Matrix products of named extents are right") {
  for (std::int64_t n : {0, 1, 5, 64}) check_named<named>(n, 3, -1, 1, 1e-11);
  check_named<named>(7, 0, -1, 1, 1e-11);
  check_named<named>(17, 100, -1, 1, 1e-11);
}
