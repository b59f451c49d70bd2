// SPDX-License-Identifier: BSL-1.0
// Graphs and their gradients, evaluated by the compiler.
#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <limits>

namespace {

using namespace cotangent;

constexpr extend::symbol input(extend::builder& b, element e, std::initializer_list<extend::dimension> sizes) {
  extend::dimensions d;
  for (extend::dimension const n : sizes) d.size[d.rank++] = n;
  return b.symbol_of(e, b.shape(d));
}

constexpr void finish(extend::builder& b, std::initializer_list<extend::symbol> inputs,
                      std::initializer_list<extend::symbol> outputs) {
  b.set_inputs(inputs.begin(), static_cast<int>(inputs.size()));
  b.set_outputs(outputs.begin(), static_cast<int>(outputs.size()));
}

// A cube and its derivative.
struct cube {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol const x = input(b, element::float64, {});
    term const X{&b, x}, y = X * X * X;
    extend::symbol dx = extend::none;
    detail::gradient(b, {.outputs = &y.id, .output_count = 1, .wrt = &x, .wrt_count = 1}, &dx);
    finish(b, {x}, {y.id, dx});
    return {b.get(), b.failed()};
  }
};

template <class Frozen> constexpr double derivative_at(double x) {
  double y = 0, dx = 0;
  double const* const in[]{&x};
  double* const out[]{&y, &dx};
  return detail::evaluate(Frozen::view, in, out).ok() ? dx : -1;
}
static_assert(derivative_at<detail::frozen<cube>>(2.0) == 12.0);

// A dot product of 64 elements, straight on a graph.
constexpr double dot() {
  extend::builder b;
  extend::symbol const x = input(b, element::float64, {64}), y = input(b, element::float64, {64});
  finish(b, {x, y}, {extend::sum(term{&b, x} * term{&b, y}, 1).id});
  double a[64]{}, c[64]{}, r = 0;
  for (int k = 0; k < 64; ++k) {
    a[k] = k;
    c[k] = 2;
  }
  double const* const in[]{a, c};
  double* const out[]{&r};
  return detail::evaluate(b.get(), in, out).ok() ? r : -1;
}
static_assert(dot() == 64 * 63);

// A network of two layers and the gradients of its loss, against differences.
struct network {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol const x = input(b, element::float64, {3, 4}), w = input(b, element::float64, {4, 5}),
                 v = input(b, element::float64, {5, 3}), labels = input(b, element::int32, {3});
    term const X{&b, x}, W{&b, w}, V{&b, v};
    term const h = extend::apply<op::tanh>(extend::matmul(X, W));
    term const loss = extend::mean(extend::cross_entropy(extend::matmul(h, V), term{&b, labels}), 1);
    extend::symbol const wrt[]{w, v};
    extend::symbol d[2]{};
    detail::gradient(b, {.outputs = &loss.id, .output_count = 1, .wrt = wrt, .wrt_count = 2}, d);
    finish(b, {x, w, v, labels}, {loss.id, d[0], d[1]});
    return {b.get(), b.failed()};
  }
};

struct answer {
  double loss = 0, dw[20]{}, dv[15]{};
  bool ok = false;
};

constexpr answer run_network(int moved, double step) {
  double x[12]{}, w[20]{}, v[15]{};
  std::int32_t labels[3]{2, 0, 1};
  for (int k = 0; k < 12; ++k) x[k] = 0.25 * (k % 5) - 0.5;
  for (int k = 0; k < 20; ++k) w[k] = 0.125 * (k % 7) - 0.375;
  for (int k = 0; k < 15; ++k) v[k] = 0.25 * (k % 4) - 0.25;
  (moved < 20 ? w[moved < 0 ? 0 : moved] : v[moved - 20]) += step;
  answer a;
  detail::elements_in const in[]{detail::elements_in(x), detail::elements_in(w), detail::elements_in(v), detail::elements_in(labels)};
  detail::elements_out const out[]{detail::elements_out(&a.loss), detail::elements_out(a.dw), detail::elements_out(a.dv)};
  a.ok = evaluate(detail::frozen<network>::view, nullptr, in, out).ok();
  return a;
}

constexpr bool near(double a, double b) { return a - b < 1e-7 && b - a < 1e-7; }
constexpr bool agrees(int k) {
  double const h = 1e-4, slope = (run_network(k, h).loss - run_network(k, -h).loss) / (2 * h);
  answer const a = run_network(-1, 0);
  return a.ok && near(slope, k < 20 ? a.dw[k] : a.dv[k - 20]);
}
static_assert(agrees(0));
static_assert(agrees(7));
static_assert(agrees(19));
static_assert(agrees(20));
static_assert(agrees(34));

// Every kind of node, on numbers that can be checked by eye.
struct movements {
  std::int32_t result[60]{};
  std::int64_t positions[3]{};
  bool bits[6]{};
  status state{};
};
constexpr movements moved() {
  extend::builder b;
  extend::symbol const x = input(b, element::int32, {2, 3}), rows = input(b, element::int64, {3});
  term const X{&b, x}, R{&b, rows};
  std::int64_t const window[]{0, 1, 1, 2}, into[]{1, 1, 0, 3};
  extend::dimensions small, large;
  small.rank = large.rank = 2;
  small.size[0] = 2;
  small.size[1] = 2;
  large.size[0] = 4;
  large.size[1] = 7;
  term const part = op::slice::of(X, window, b.shape(extend::dimensions{2, {2, 1}}));
  term const padded = op::pad::of(X, into, b.shape(large));
  term const taken = extend::gather(X, R); // rows 1, 0, 5: the last is beyond the end
  term const added = op::scatter_add::of(taken, R, X.shape_id());
  term const joined = detail::push(info_of<op::concatenate>(), {X, part}, {1});
  term const top = extend::argmax(extend::transpose(X), 1);
  finish(b, {x, rows},
         {extend::transpose(X).id, part.id, padded.id, taken.id, added.id, joined.id, extend::max(X, 1).id,
          top.id, (X > extend::broadcast_to(extend::iota(b, element::int32, 3), X.shape_id())).id,
          extend::convert(X > 2, element::int32).id});
  std::int32_t const values[]{1, 5, 3, 4, 0, 9};
  std::int64_t const chosen[]{1, 0, 5};
  movements m;
  detail::elements_in const in[]{detail::elements_in(values), detail::elements_in(chosen)};
  std::int32_t* const r = m.result;
  std::int32_t padding[28]{};
  detail::elements_out const out[]{detail::elements_out(r),      detail::elements_out(r + 6),       detail::elements_out(padding),
                           detail::elements_out(r + 8),  detail::elements_out(r + 17),      detail::elements_out(r + 23),
                           detail::elements_out(r + 31), detail::elements_out(m.positions), detail::elements_out(m.bits),
                           detail::elements_out(r + 34)};
  m.state = evaluate(b.get(), nullptr, in, out).state;
  for (int k = 0; k < 28; ++k) r[40] += padding[k];
  r[41] = padding[7];
  r[42] = padding[10];
  r[43] = padding[14 + 6];
  return m;
}
template <int N> constexpr bool same(std::int32_t const* a, std::int32_t const (&b)[N]) {
  for (int k = 0; k < N; ++k)
    if (a[k] != b[k]) return false;
  return true;
}
constexpr movements all = moved();
static_assert(all.state == status::index_out_of_range);
static_assert(same<6>(all.result, {1, 4, 5, 0, 3, 9}));
static_assert(same<2>(all.result + 6, {5, 0}));
static_assert(same<9>(all.result + 8, {4, 0, 9, 1, 5, 3, 4, 0, 9}));
static_assert(same<6>(all.result + 17, {1, 5, 3, 8, 0, 18}));
static_assert(same<8>(all.result + 23, {1, 5, 3, 5, 4, 0, 9, 0}));
static_assert(same<3>(all.result + 31, {4, 5, 9}));
static_assert(all.positions[0] == 1 && all.positions[1] == 0 && all.positions[2] == 1);
static_assert(all.bits[0] && all.bits[1] && all.bits[2] && all.bits[3] && !all.bits[4] && all.bits[5]);
static_assert(same<6>(all.result + 34, {0, 1, 1, 1, 0, 1}));
static_assert(same<4>(all.result + 40, {22, 1, 5, 9}));

// A size that is not known is refused.
constexpr bool refused() {
  extend::builder b;
  extend::symbol const x = input(b, element::float64, {b.size(extent("n"))});
  finish(b, {x}, {x});
  return detail::evaluate(b.get(), nullptr, nullptr, nullptr).failed.why == detail::why<refusals::evaluate_sizes>();
}
static_assert(refused());

} // namespace

int main() {}
