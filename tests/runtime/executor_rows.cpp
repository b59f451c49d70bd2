// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "executor.hpp"

// Rows of a block run side by side, sums over rows wait in registers meanwhile.

using namespace cotangent;
using namespace executing;

namespace {

template <element E> struct rows {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = b.size(extent::named("n", 1)), m = b.size(extent::named("m", 1));
    extend::symbol in[3]{b.symbol_of(E, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(E, b.shape(extend::dimensions{1, {m}})),
                 b.symbol_of(E, b.shape(extend::dimensions{1, {n}}))};
    term const x{&b, in[0]}, w{&b, in[1]}, y{&b, in[2]};
    b.set_inputs(in, 3);
    term const z = extend::sum(x * w, 2), d = extend::apply<op::sigmoid>(z) - y;
    term const column = op::reshape::of(d, b.shape(extend::dimensions{2, {n, 1}}));
    extend::symbol out[6]{z.id,
                  extend::max(x, 2).id,
                  extend::sum(x * column, 1).id,
                  extend::max(x - column, 1).id,
                  extend::sum(extend::apply<op::square>(x - column), 3).id,
                  extend::sum(d * y, 1).id};
    b.set_outputs(out, 6);
    return {b.get(), b.failed()};
  }
};

/// Equal rows must give equal bits, whatever their positions in a block.
template <element E> void check_alike(std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  std::vector<std::int64_t> const known = known_of(simple<rows<E>>::view, n, m);
  graph const sized = reference::concrete(plain<rows<E>>::view, known_of(plain<rows<E>>::view, n, m).data());
  reference::dice d(7);
  detail::array<values> in = reference::inputs_of(sized, d, -2, 3);
  for (std::int64_t i = 0; i < n * m; ++i) in[0][static_cast<int>(i)] = in[0][static_cast<int>(i % m)];
  auto const out = results_of<run::nests<simple<rows<E>>>>(sized, in, known.data(), 0xFF, std::nullopt);
  for (int k = 0; k < 2; ++k)
    for (std::int64_t r = 1; r < n; ++r)
      CHECK(std::memcmp(out[static_cast<std::size_t>(k)].data(),
                        out[static_cast<std::size_t>(k)].data() + static_cast<std::size_t>(r) * size_of(E), size_of(E)) == 0);
}

/// Cross-entropy with its gradient, and what labels pick from slices and from a permuted matrix.
template <element E, element Label> struct picks {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = b.size(extent::named("n", 1)), m = b.size(extent::named("m", 1));
    extend::symbol in[3]{b.symbol_of(E, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(Label, b.shape(extend::dimensions{1, {n}})),
                 b.symbol_of(E, b.shape(extend::dimensions{2, {m, n}}))};
    term const x{&b, in[0]}, label{&b, in[1]}, turned{&b, in[2]};
    b.set_inputs(in, 3);
    std::int64_t const order[max_rank]{1, 0};
    term const t = op::permute::of(turned, order);
    term const loss = extend::sum(extend::cross_entropy(x, label), 1) + extend::sum(extend::cross_entropy(t, label), 1);
    extend::symbol out[3]{loss.id, extend::none, extend::none}, wrt[2]{in[0], in[2]};
    detail::gradient(b, {&loss.id, nullptr, 1, wrt, 2}, out + 1);
    b.set_outputs(out, 3);
    return {b.get(), b.failed()};
  }
};

/// The same of sizes that are numbers, with a maximum of each row and sums of each column: blocks of rows are full and
/// known to be, or not; short rows go into the lanes.
template <element E, element Label, extend::dimension N, extend::dimension C> struct counted {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({E, {2, {N, C}}});
    a.push({Label, {1, {N}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const loss = extend::sum(extend::cross_entropy(x[0], x[1]), 1);
    extend::symbol dx = extend::none;
    detail::gradient(b, {&loss.id, nullptr, 1, &x[0].id, 1}, &dx);
    outputs_of out{loss, extend::max(x[0], 2), extend::sum(x[0] * x[0], 1), extend::sum(extend::sum(x[0], 2) * 2, 1)};
    out.ids.push(dx);
    return out;
  }
};

/// Rows that a result or another nest receives before a later stage of their own nest reads them.
template <element E, extend::dimension N, extend::dimension C> struct stored_first {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({E, {2, {N, C}}});
    a.push({E, {1, {C}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    term const h = x[0] + x[1], k = x[0] * x[1];
    return {h, extend::softmax(h, 1), extend::log_softmax(k, 1), extend::sum(extend::slice(k, 1, 1, 1), 3)};
  }
};

/// Logistic regression with its gradients, and the least, the largest and all errors: rows whose sums wait for an exponential
/// and a logarithm. C columns; N rows, or a named number of them.
template <element E, extend::dimension C, extend::dimension N = 0> struct scored {
  static constexpr detail::array<argument> arguments(extend::builder& b) {
    extend::dimension const n = N > 0 ? N : b.size(extent::named("n", 1));
    detail::array<argument> a;
    a.push({E, {2, {n, C}}});
    a.push({E, {1, {n}}});
    a.push({E, {1, {C}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const z = extend::sum(x[0] * x[2], 2), error = extend::apply<op::sigmoid>(z) - x[1];
    term const loss = extend::sum(extend::apply<op::softplus>(z) - x[1] * z, 1);
    outputs_of out{loss, extend::max(error, 1), extend::min(error * x[1], 1), error};
    extend::symbol const wrt[2]{x[1].id, x[2].id};
    extend::symbol found[2]{extend::none, extend::none};
    detail::gradient(b, {&loss.id, nullptr, 1, wrt, 2}, found);
    for (extend::symbol const g : found) out.ids.push(g);
    return out;
  }
};
template <class Stage, int... K> constexpr bool any_in_pairs(std::integer_sequence<int, K...>) {
  return (... || run::nest_shape<Stage, K>::N.pairs_blocks);
}
template <class Built> constexpr bool runs_in_pairs() {
  return any_in_pairs<simple<Built>>(
      std::make_integer_sequence<int, detail::planned<simple<Built>, simd::bytes>::value.size.nests>{});
}

/// Rows less their means, again and again: a nest that is longer than what stands in place.
struct long_nest {
  static constexpr extend::dimension n = 19, m = 21;
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {2, {n, m}}});
    a.push({element::float64, {1, {m}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term h = x[0];
    term const w = x[1];
    for (int k = 0; k < 24; ++k)
      if (k % 3 != 0) h = extend::apply<op::square>(h * w + x[0]) * 0.25;
      else h = h - op::reshape::of(extend::sum(h, 2), b.shape(extend::dimensions{2, {n, 1}})) * w * 0.01;
    term const loss = extend::sum(h, 3);
    outputs_of out{loss};
    extend::symbol const wrt[2]{x[0].id, x[1].id};
    extend::symbol found[2]{extend::none, extend::none};
    detail::gradient(b, {&loss.id, nullptr, 1, wrt, 2}, found);
    for (extend::symbol const g : found) out.ids.push(g);
    return out;
  }
};
constexpr int longest_nest() {
  constexpr auto const& plan = detail::planned<simple<graph_of<long_nest>>, simd::bytes>::value;
  int most = 0;
  for (int k = 0; k < plan.size.nests; ++k)
    if (plan.nests.data[k].instance_count > most) most = plan.nests.data[k].instance_count;
  return plan.size.nests <= 6 ? most : 0;
}

} // namespace

TEST_CASE("A long nest is compiled as a function of its own") {
  static_assert(longest_nest() > 160);
  check<graph_of<long_nest>>(-1, 1, 1e-11);
}
TEST_CASE("Rows of constant number are right in full and partial blocks, short and long, with labels") {
  check<graph_of<counted<element::float64, element::int32, 16, 3>>>(-2, 5, 1e-11);
  check<graph_of<counted<element::float64, element::int64, 64, 10>>>(-2, 12, 1e-11);
  check<graph_of<counted<element::float64, element::int32, 24, 33>>>(-2, 3, 1e-11);
  check<graph_of<counted<element::float32, element::int32, 16, 3>>>(-2, 5, 1e-4);
  check<graph_of<counted<element::float32, element::int32, 32, 10>>>(-2, 12, 1e-4);
  check<graph_of<counted<element::float32, element::int64, 19, 7>>>(-2, 8, 1e-4);
}
TEST_CASE("Stored short rows can be read by a later stage of the nest") {
  check<graph_of<stored_first<element::float64, 9, 3>>>(-2, 2, 1e-11);
  check<graph_of<stored_first<element::float64, 16, 10>>>(-2, 2, 1e-11);
  check<graph_of<stored_first<element::float32, 64, 7>>>(-2, 2, 1e-4);
  check<graph_of<stored_first<element::float32, 33, 16>>>(-2, 2, 1e-4);
}
TEST_CASE("Labels select their element of every row, and nothing if they are out of range") {
  for (std::int64_t n : {0, 1, 2, 7, 8, 19})
    for (std::int64_t m : {1, 2, 3, 9, 33}) {
      check_named<picks<element::float64, element::int64>>(n, m, -2, 3, 1e-11);
      check_named<picks<element::float32, element::int32>>(n, m, -2, 3, 2e-5);
    }
}
TEST_CASE("Pairs of blocks of short rows are right, whatever number of rows remains") {
  static_assert(runs_in_pairs<graph_of<scored<element::float64, 24>>>());
  static_assert(runs_in_pairs<graph_of<scored<element::float32, 32>>>());
  static_assert(runs_in_pairs<graph_of<scored<element::float32, 27>>>());
  for (std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 100}) {
    check_named<graph_of<scored<element::float64, 24>>>(n, 0, -1, 1, 1e-11);
    check_named<graph_of<scored<element::float32, 32>>>(n, 0, -1, 1, 2e-5);
    check_named<graph_of<scored<element::float32, 27>>>(n, 0, -1, 1, 2e-5);
  }
  check<graph_of<scored<element::float64, 24, 32>>>(-1, 1, 1e-11);
  check<graph_of<scored<element::float64, 32, 37>>>(-1, 1, 1e-11);
  check<graph_of<scored<element::float32, 27, 64>>>(-1, 1, 2e-5);
}
TEST_CASE("Any number of rows of any length is summed along both axes") {
  for (std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 19, 35})
    for (std::int64_t m : {1, 5, 8, 16, 19, 40}) {
      check_named<rows<element::float64>>(n, m, -2, 3, 1e-11);
      check_named<rows<element::float32>>(n, m, -2, 3, 2e-5);
    }
}
TEST_CASE("The result of a row does not depend on its position") {
  for (std::int64_t n : {2, 5, 13, 19})
    for (std::int64_t m : {3, 17, 100}) {
      check_alike<element::float64>(n, m);
      check_alike<element::float32>(n, m);
    }
}
