// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Broadcasts of every kind, reductions over every subset of axes, and what feeds back from them.

using namespace executing;

namespace {

/// For every subset of the axes of [P, Q, R]: the sum with a consumer that repeats it, the largest alone.
template <element E, extend::dimension P, extend::dimension Q, extend::dimension R> struct subsets {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({E, {3, {P, Q, R}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    outputs_of out{};
    for (std::uint32_t mask = 1; mask < 8; ++mask) {
      term const s = extend::mean(x[0], mask), y = x[0] - op::sum::repeat(s, x[0].shape_id(), mask);
      out.ids.push(s.id);
      out.ids.push((y * y).id);
      out.ids.push(extend::max(x[0], mask, true).id);
    }
    static_cast<void>(b);
    return out;
  }
};

template <extend::dimension P, extend::dimension Q> struct repeated_operands {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {2, {P, Q}}});
    a.push({element::float64, {1, {Q}}});
    a.push({element::float64, {2, {P, 1}}});
    a.push({element::float64, {}});
    a.push({element::float64, {2, {1, Q}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const outer = x[2] * x[4], all = x[0] * x[1] + x[2] - x[3], loss = extend::sum(extend::apply<op::tanh>(all + outer), 3);
    std::int64_t const middle[]{1}, ends[]{0, 2};
    std::int32_t const cube = b.shape(extend::dimensions{3, {P, Q, 4}});
    term const q = detail::push_as(info_of<op::broadcast>(), b, {x[1]}, middle, 1, element::float64, cube);
    std::int32_t const wide = b.shape(extend::dimensions{3, {P, 5, Q}});
    term const e = detail::push_as(info_of<op::broadcast>(), b, {x[0]}, ends, 2, element::float64, wide);
    extend::symbol dx[5]{}, in[5]{};
    for (int k = 0; k < 5; ++k) in[k] = x[k].id;
    detail::gradient(b, {&loss.id, nullptr, 1, in, 5}, dx);
    outputs_of out{outer, all, loss, q, e, extend::sum(e * e, 5), extend::sum(e * 2, 2), extend::sum(q, 5)};
    for (extend::symbol s : dx) out.ids.push(s);
    return out;
  }
};

template <extend::dimension R, extend::dimension C> struct classics {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {2, {R, C}}});
    a.push({element::float64, {1, {C}}});
    a.push({element::float64, {1, {R}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const c = op::reshape::of(x[2], b.shape(extend::dimensions{2, {R, 1}}));
    term const m = extend::mean(x[0], 2, true), v = extend::mean(extend::apply<op::square>(x[0] - m), 2, true);
    term const layer = (x[0] - m) / extend::apply<op::sqrt>(v + 1e-3) * x[1];
    term const bm = extend::mean(x[0], 1, true), bv = extend::mean(extend::apply<op::square>(x[0] - bm), 1, true);
    term const batch = (x[0] - bm) / extend::apply<op::sqrt>(bv + 1e-3) * c;
    term const am = extend::mean(x[0], 3), both = extend::apply<op::exp>(x[0]) / extend::sum(extend::apply<op::exp>(x[0]), 3);
    term const variance = extend::mean(extend::apply<op::square>(x[0] - am), 3) + extend::sum(extend::sum(x[0] * x[1], 2), 1);
    term const of_rows = extend::sum(extend::apply<op::tanh>(extend::sum(x[0], 2)), 1), of_columns = extend::max(extend::sum(x[0], 1), 1);
    term const loss = extend::sum(layer * x[0], 3) + extend::sum(batch * batch * x[1], 3) + variance + of_rows + of_columns;
    extend::symbol in[3]{x[0].id, x[1].id, x[2].id}, dx[3]{};
    detail::gradient(b, {&loss.id, nullptr, 1, in, 3}, dx);
    outputs_of out{extend::softmax(x[0], 0), extend::softmax(x[0], 1), both, layer, batch, variance, of_rows, of_columns, loss};
    for (extend::symbol s : dx) out.ids.push(s);
    return out;
  }
};

template <int Rank> struct ranks {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    extend::dimensions d;
    extend::dimension const sizes[]{2, 3, 1, 5};
    for (int k = 0; k < Rank; ++k) d.size[d.rank++] = sizes[k];
    detail::array<argument> a;
    a.push({element::float32, d});
    return a;
  }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    outputs_of out{x[0] * 2, extend::sum(x[0], extend::all_axes(x[0]))};
    for (int k = 0; k < Rank; ++k) {
      out.ids.push(extend::sum(x[0] * x[0], 1u << k).id);
      out.ids.push(extend::softmax(x[0], k).id);
    }
    return out;
  }
};

template <extend::dimension... Sizes> struct named_classics {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = b.size(extent::named("n", 1)), m = b.size(extent::named("m", 1));
    std::int32_t const matrix = b.shape(extend::dimensions{2, {n, m}}), row = b.shape(extend::dimensions{1, {m}});
    extend::symbol in[2]{b.symbol_of(element::float64, matrix), b.symbol_of(element::float64, row)};
    term const x{&b, in[0]}, w{&b, in[1]};
    b.set_inputs(in, 2);
    term const p = extend::softmax(x, 1), q = extend::softmax(x, 0), s = extend::mean(x, 2, true);
    term const loss = extend::sum(extend::apply<op::tanh>((x - s) * w), 3) / 7 + extend::sum(extend::logsumexp(x, 2), 1);
    extend::symbol out[6]{p.id, q.id, loss.id, extend::none, extend::none, extend::mean(x * w, 1).id};
    detail::gradient(b, {&loss.id, nullptr, 1, in, 2}, out + 3);
    b.set_outputs(out, 6);
    return {b.get(), b.failed()};
  }
};

} // namespace

TEST_CASE("Reductions over every subset of axes are right, with and without a reader that broadcasts them") {
  check<graph_of<subsets<element::float64, 3, 4, 5>>>();
  check<graph_of<subsets<element::float32, 2, 17, 8>>>();
  check<graph_of<subsets<element::float64, 9, 1, 3>>>();
}
TEST_CASE("Rows, columns, numbers and middle axes broadcast, in both operands at once, with gradients") {
  check<graph_of<repeated_operands<3, 7>>>();
  check<graph_of<repeated_operands<17, 8>>>();
  check<graph_of<repeated_operands<1, 9>>>();
}
TEST_CASE("Softmax, layer norm, batch norm and variance are right, with gradients") {
  check<graph_of<classics<5, 3>>>(-2, 3, 1e-11);
  check<graph_of<classics<16, 10>>>(-2, 3, 1e-11);
  check<graph_of<classics<3, 33>>>(-2, 3, 1e-11);
  check_plain<graph_of<classics<9, 17>>>(-2, 3, 1e-11);
}
TEST_CASE("Tensors of rank 0 to 4 are right") {
  check<graph_of<ranks<0>>>();
  check<graph_of<ranks<1>>>();
  check<graph_of<ranks<2>>>();
  check<graph_of<ranks<3>>>();
  check<graph_of<ranks<4>>>();
}
TEST_CASE("Softmax and gradients over named extents are right") {
  for (std::int64_t n : {1, 2, 5, 64})
    for (std::int64_t m : {1, 3, 8, 9, 100}) check_named<named_classics<>>(n, m, -2, 3, 1e-11);
  check_named<named_classics<>>(0, 5);
  check_named<named_classics<>>(5, 0);
  check_named<named_classics<>>(3, 1000, -2, 3, 1e-10);
}
