// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"
#include "plan_machine.hpp"

// Reductions in the order that the plan states: a static program and the machine that follows its plan compute
// equal bits. The operations round correctly, so that nothing but the order of sums can differ.

using namespace cotangent;
using namespace executing;

namespace {

/// The number of results whose bits differ from those of the machine that follows `p`.
template <class Stage> int count_differences(detail::plan const& p, std::int64_t n, std::int64_t m) {
  std::vector<std::int64_t> const known = known_of(Stage::view, n, m);
  graph const sized = reference::concrete(Stage::view, known.data());
  reference::dice d(7);
  detail::array<values> const in = reference::inputs_of(sized, d, -1, 1);
  auto const is = results_of<run::nests<Stage>>(sized, in, known.data(), 0xFF);
  reference::plan_machine const machine(sized, p, known.data(), in);
  REQUIRE(machine.error == "");
  int different = 0;
  for (int k = 0; k < machine.outputs.size(); ++k)
    for (int i = 0; i < machine.outputs[k].size(); ++i) {
      extend::scalar const& wanted = machine.outputs[k][i];
      std::size_t const each = size_of(wanted.type);
      unsigned char bytes[8];
      put(bytes, wanted);
      different += std::memcmp(bytes, is[static_cast<std::size_t>(k)].data() + each * static_cast<std::size_t>(i), each) != 0;
    }
  return different;
}
template <class Stage> void check_bits(std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  CHECK(count_differences<Stage>(detail::make_plan(Stage::view, simd::bytes), n, m) == 0);
}

template <element E, extend::dimension N, extend::dimension M> struct sums {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = N > 0 ? N : b.size(extent::named("n", 1)), m = M > 0 ? M : b.size(extent::named("m", 1));
    extend::symbol const in[3]{b.symbol_of(E, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(E, b.shape(extend::dimensions{1, {m}})),
                       b.symbol_of(E, b.shape(extend::dimensions{2, {n, 1}}))};
    term const x{&b, in[0]}, w{&b, in[1]}, column{&b, in[2]};
    b.set_inputs(in, 3);
    term const centered = x - extend::sum(x, 2, true) * 0.25, variance = extend::sum(centered * centered, 2, true);
    term const y = centered / extend::apply<op::sqrt>(1 + variance) * w;
    extend::symbol const out[6]{y.id, extend::sum(y, 3).id, extend::sum(x * column, 1).id, extend::sum(x * w, 2).id,
                        extend::max(y, 2).id, extend::sum(variance * column, 3).id};
    b.set_outputs(out, 6);
    return {b.get(), b.failed()};
  }
};
template <element E, extend::dimension N, extend::dimension M> void check_sums() { check_bits<plain<sums<E, N, M>>>(N, M); }

/// Long sums in one row, of products and of few other values.
template <element E> struct dots {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = b.size(extent::named("n", 1));
    extend::symbol const in[2]{b.symbol_of(E, b.shape(extend::dimensions{1, {n}})), b.symbol_of(E, b.shape(extend::dimensions{1, {n}}))};
    term const x{&b, in[0]}, y{&b, in[1]};
    b.set_inputs(in, 2);
    term const z = extend::apply<op::sqrt>(1 + x * x) / (2 + y) - x / (3 + y);
    extend::symbol const out[4]{extend::sum(x * y, 1).id, extend::sum(x, 1).id, extend::sum(z, 1).id, extend::sum(z * y, 1).id};
    b.set_outputs(out, 4);
    return {b.get(), b.failed()};
  }
};

/// Long chains of operations in each element, summed over everything, over rows and over columns.
template <element E, extend::dimension N, extend::dimension M> struct chains {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = N > 0 ? N : b.size(extent::named("n", 1)), m = M > 0 ? M : b.size(extent::named("m", 1));
    extend::symbol const in[2]{b.symbol_of(E, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(E, b.shape(extend::dimensions{1, {m}}))};
    term const x{&b, in[0]}, w{&b, in[1]};
    b.set_inputs(in, 2);
    term y = x;
    for (int k = 0; k < 4; ++k) y = extend::apply<op::sqrt>(1 + y * y) / (2 + y);
    term const share = y / extend::sum(y, 2, true); // of a row, read again after its sum
    extend::symbol const out[5]{extend::sum(y, 3).id, extend::sum(y, 1).id, extend::sum(y * w, 2).id, share.id, extend::max(share, 3).id};
    b.set_outputs(out, 5);
    return {b.get(), b.failed()};
  }
};
template <element E, extend::dimension N, extend::dimension M> void check_chains(int ahead) {
  using stage = plain<chains<E, N, M>>;
  CAPTURE(N, M, ahead);
  detail::plan const p = detail::make_plan(stage::view, simd::bytes);
  int most = 0;
  for (detail::stage_form const& f : p.forms) most = f.ahead > most ? f.ahead : most;
  CHECK(most == ahead);
  check_bits<stage>(N, M);
}

/// Two sums over the rows of small matrices, one of products with a column and one with scaled values, which stay in registers.
template <element E, extend::dimension N, extend::dimension M> struct rows {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol const in[3]{b.symbol_of(E, b.shape(extend::dimensions{2, {N, M}})), b.symbol_of(E, b.shape(extend::dimensions{2, {N, M}})),
                       b.symbol_of(E, b.shape(extend::dimensions{2, {N, 1}}))};
    term const x{&b, in[0]}, y{&b, in[1]}, column{&b, in[2]};
    b.set_inputs(in, 3);
    extend::symbol const out[2]{extend::sum(x * column, 1).id, extend::sum((x - y) * column, 1).id};
    b.set_outputs(out, 2);
    return {b.get(), b.failed()};
  }
};
template <element E, extend::dimension N, extend::dimension M> void check_rows(int panel) {
  using stage = plain<rows<E, N, M>>;
  CAPTURE(N, M);
  detail::plan const p = detail::make_plan(stage::view, simd::bytes);
  REQUIRE(p.nests.size() == 1);
  CHECK(p.nests[0].panel == panel);
  check_bits<stage>(N, M);
}

} // namespace

TEST_CASE("Sums over rows, columns and everything have the bits of the plan's order") {
  if (math::is_fast) return;
  check_sums<element::float64, 37, 5>();   // rows in lanes
  check_sums<element::float64, 64, 16>();  // pairs of blocks
  check_sums<element::float64, 40, 67>();
  check_sums<element::float64, 3, 200>();
  check_sums<element::float32, 19, 32>();
  for (std::int64_t const n : {1, 7, 40})
    for (std::int64_t const m : {1, 6, 33, 64}) check_bits<plain<sums<element::float32, 0, 0>>>(n, m);
}

TEST_CASE("Sums over the rows of small matrices stay in registers, and have the bits of the plan's order") {
  if (math::is_fast) return;
  constexpr int w = simd::width<double>;
  check_rows<element::float64, 2, 4 * w>(4);
  check_rows<element::float64, 3, 8 * w>(4);      // two panels, and no full block of rows
  check_rows<element::float64, 16, 5 * w>(3);     // panels of three vectors and of two
  check_rows<element::float64, 13, 4 * w + 1>(3); // the last vector is not full
  check_rows<element::float64, 30, w + 1>(2);
  check_rows<element::float64, 12, w - 1>(0);     // narrower than a vector
  check_rows<element::float64, 300, 3 * w>(3);    // one panel: any number of rows
  check_rows<element::float64, 300, 9 * w>(0);    // too large
  check_rows<element::float32, 28, simd::width<float> + 2>(2);
  check_rows<element::float32, 5, 4 * simd::width<float>>(4);
}

TEST_CASE("Sums over interleaved vectors of long chains have the bits of the plan's order") {
  if (math::is_fast) return;
  constexpr int w = simd::width<double>;
  check_chains<element::float64, 1, 8 * w>(4);
  check_chains<element::float64, 1, 7 * w + 1>(4);
  check_chains<element::float64, 3, 3 * w>(2); // (one vector remains)
  check_chains<element::float64, 17, 2 * w + 1>(2);
  check_chains<element::float64, 9, 4 * w>(4);
  check_chains<element::float32, 5, 200>(4);
  check_chains<element::float64, 3, w + 1>(1); // fewer than two full vectors
  for (std::int64_t const n : {1, 3, 20})
    for (std::int64_t const m : {0, 1, 6, 33, 64, 100}) check_bits<plain<chains<element::float64, 0, 0>>>(n, m);
}

TEST_CASE("Sums in one row have the bits of the plan's order") {
  if (math::is_fast) return;
  for (std::int64_t const n : {0, 1, 5, 31, 64, 1000}) {
    check_bits<plain<dots<element::float64>>>(n, 1);
    check_bits<plain<dots<element::float32>>>(n, 1);
  }
}

TEST_CASE("Sums in another order have other bits") {
  if (math::is_fast) return;
  using stage = plain<dots<element::float64>>;
  detail::plan changed = detail::make_plan(stage::view, simd::bytes);
  for (detail::stage_form& f : changed.forms) f.chains = f.chains == 4 ? 2 : 4;
  CHECK(count_differences<stage>(changed, 1000, 1) > 0);
}
