// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Operations that move elements, as views, through windows and by kernels; choosing by index.

using namespace executing;

namespace {

constexpr detail::array<argument> matrix(element e, extend::dimension p, extend::dimension q) {
  detail::array<argument> a;
  a.push({e, {2, {p, q}}});
  return a;
}
constexpr term pad(term x, extend::dimension top, extend::dimension left, extend::dimension p, extend::dimension q, std::int64_t step = 1) {
  std::int64_t const window[]{top, step, left, step};
  return op::pad::of(x, window, x.b->shape(extend::dimensions{2, {p, q}}));
}
constexpr term join(term x, term y, std::int64_t axis) { return {x.b, x.b->push(info_of<op::concatenate>(), {x.id, y.id}, {axis})}; }
constexpr void with_gradient(outputs_of& out, term loss, std::initializer_list<term> wrt) {
  extend::symbol in[4]{}, dx[4]{};
  int n = 0;
  for (term const& t : wrt) in[n++] = t.id;
  detail::gradient(*loss.b, {&loss.id, nullptr, 1, in, n}, dx);
  for (int k = 0; k < n; ++k) out.ids.push(dx[k]);
}

template <element E, extend::dimension P, extend::dimension Q> struct moves {
  static constexpr detail::array<argument> arguments(extend::builder&) { return matrix(E, P, Q); }
  static constexpr outputs_of of(extend::builder& b, term const* in) {
    term const x = in[0], y = x * 2 + 1, t = extend::transpose(x);
    term const odd = extend::slice(y, 1, 1, (Q - 1) / 2, 2), row = extend::at(y, 0, P / 2), column = extend::at(x, 1, Q - 1);
    term const framed = pad(y, 1, 2, P + 3, Q + 4), spread = pad(x, 0, 1, 2 * P, 2 * Q + 1, 2);
    term const flat = op::reshape::of(t, b.shape(extend::dimensions{1, {P * Q}})), back = op::reshape::of(flat, b.shape(extend::dimensions{3, {Q, 1, P}}));
    term const joined = join(x, y * y, 0), sides = join(join(x, x - 1, 1), y, 1);
    term const loss = extend::sum(odd * odd, 3) + extend::sum(framed * framed, 3) + extend::sum(row * row, 1) + extend::sum(spread * spread, 3) +
                      extend::sum(joined * joined, 3) + extend::sum(sides * sides, 3) + extend::sum(flat * flat, 1) + extend::sum(t * t * t, 3);
    outputs_of out{t, odd, row, column, framed, spread, flat, back, joined, sides, t + extend::transpose(y), extend::sum(framed, 1),
                   extend::softmax(t, 1), loss, extend::sum(odd, 2)};
    with_gradient(out, loss, {x});
    return out;
  }
};
struct of_rank_four {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {4, {2, 3, 4, 5}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* in) {
    std::int64_t const order[]{2, 0, 3, 1}, swap[]{0, 1, 3, 2};
    term const p = op::permute::of(in[0], order), q = op::permute::of(in[0], swap);
    term const s = extend::slice(extend::slice(p, 0, 1, 2, 2), 2, 1, 3);
    term const r = op::reshape::of(s, b.shape(extend::dimensions{2, {4, 9}}));
    std::int64_t const window[]{1, 1, 0, 1, 2, 1, 1, 1};
    term const w = op::pad::of(in[0], window, b.shape(extend::dimensions{4, {4, 3, 6, 7}}));
    term const loss = extend::sum(r * r, 3) + extend::sum(q * extend::apply<op::tanh>(q), 15) + extend::sum(w * w, 15);
    outputs_of out{p, q, s, r, w, p + p, extend::sum(q, 10), extend::sum(w, 5), loss};
    with_gradient(out, loss, {in[0]});
    return out;
  }
};
/// What stands at the edge of a window, in a nest that starts anywhere.
struct edges {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {1, {9}}});
    a.push({element::float32, {2, {1, 7}}});
    a.push({element::boolean, {1, {5}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* in) {
    std::int64_t const shift[]{1, 1}, far[]{20, 1}, both[]{2, 1, 3, 1};
    std::int32_t const ten = b.shape(extend::dimensions{1, {10}}), forty = b.shape(extend::dimensions{1, {40}});
    term const next = op::pad::of(extend::slice(in[0], 0, 0, 8), shift, in[0].shape_id());
    term const column = op::reshape::of(in[0], b.shape(extend::dimensions{2, {9, 1}}));
    term const constant = extend::constant(b, element::float64, b.shape(extend::dimensions{1, {3}}), 2);
    return {next, next + in[0], op::pad::of(in[0], shift, ten), op::pad::of(in[0], far, forty), pad(column, 0, 0, 9, 1),
            op::pad::of(in[1], both, b.shape(extend::dimensions{2, {5, 12}})), op::pad::of(in[2], shift, b.shape(extend::dimensions{1, {7}})),
            op::pad::of(constant, far, forty), op::pad::of(extend::iota(b, element::int32, 4), shift, b.shape(extend::dimensions{1, {6}})),
            extend::sum(op::pad::of(in[0], far, forty) * 2, 1)};
  }
};

struct choices {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {2, {5, 3}}});
    a.push({element::int32, {1, {7}}});
    a.push({element::int64, {2, {2, 4}}});
    a.push({element::float64, {2, {7, 3}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const g = extend::gather(x[0], x[1]), h = extend::gather(extend::transpose(x[0]), x[2]), y = x[0] * 2;
    term const s = op::scatter_add::of(x[3], x[1], b.shape(extend::dimensions{2, {5, 3}}));
    term const loss = extend::sum(g * g, 3) + extend::sum(s * s, 3) + extend::sum(extend::gather(y, x[2]), 7);
    outputs_of out{g, h, s, extend::gather(y, x[1]) + 1, extend::argmax(x[0], 0), extend::argmax(x[0], 1), extend::argmax(extend::transpose(y), 0), loss};
    with_gradient(out, loss, {x[0], x[3]});
    return out;
  }
};

} // namespace

TEST_CASE("Strided slices, pads, concatenations, permutes and reshapes are right, with gradients") {
  check<graph_of<moves<element::float64, 3, 5>>>();
  check<graph_of<moves<element::float64, 9, 17>>>();
  check_plain<graph_of<moves<element::float32, 8, 16>>>();
}
TEST_CASE("Tensors of four axes are permuted, sliced and padded") {
  check<graph_of<of_rank_four>>();
  check_plain<graph_of<of_rank_four>>();
}
TEST_CASE("Windows may begin and end anywhere") {
  check<graph_of<edges>>();
  check_plain<graph_of<edges>>();
}
TEST_CASE("Rows are gathered and added by index") { check<graph_of<choices>>(0, 3); }
TEST_CASE("An index out of range is clamped and reported") {
  check<graph_of<choices>>(-3, 9, 1e-12, status::index_out_of_range);
}
TEST_CASE("argmax takes the first of equals, and the first NaN if there is one") {
  detail::array<values> in(4);
  double const nan = std::nan("");
  double const rows[5][3]{{1, 1, 0}, {2, 3, 3}, {0, nan, 9}, {nan, 4, nan}, {-1, -1, -1}};
  for (auto const& row : rows)
    for (double v : row) in[0].push(extend::scalar::of(v));
  for (int k = 0; k < 7; ++k) in[1].push(extend::scalar::of(std::int32_t{0}));
  for (int k = 0; k < 8; ++k) in[2].push(extend::scalar::of(std::int64_t{0}));
  for (int k = 0; k < 21; ++k) in[3].push(extend::scalar::of(0.0));
  auto const out = results_of<run::executor<simple<graph_of<choices>>>>(plain<graph_of<choices>>::view, in, nullptr, 0);
  std::int64_t const columns[]{3, 2, 3}, lines[]{0, 1, 1, 0, 0};
  CHECK(std::memcmp(out[4].data(), columns, sizeof columns) == 0);
  CHECK(std::memcmp(out[5].data(), lines, sizeof lines) == 0);
}
