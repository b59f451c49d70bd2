// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Programs whose nests are equal up to the memory they work on, so that many run one function.

using namespace executing;

namespace {

/// A network of equal layers, its value and all gradients; rows by name or by number.
template <element E, extend::dimension Rows, int Layers> struct network {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const rows = Rows > 0 ? Rows : b.size(extent::named("n", 1));
    std::int32_t const weights = b.shape(extend::dimensions{2, {6, 6}}), row = b.shape(extend::dimensions{1, {6}});
    extend::symbol in[2 * Layers + 1]{b.symbol_of(E, b.shape(extend::dimensions{2, {rows, 6}}))}, out[2 * Layers + 1]{};
    term h{&b, in[0]};
    for (int k = 0; k < Layers; ++k) {
      term const w{&b, in[2 * k + 1] = b.symbol_of(E, weights)}, bias{&b, in[2 * k + 2] = b.symbol_of(E, row)};
      h = extend::apply<op::tanh>(extend::matmul(h, w) + bias);
    }
    b.set_inputs(in, 2 * Layers + 1);
    out[0] = extend::sum(h * h, 3).id;
    detail::gradient(b, {out, nullptr, 1, in + 1, 2 * Layers}, out + 1);
    b.set_outputs(out, 2 * Layers + 1);
    return {b.get(), b.failed()};
  }
};

/// Layers that meet in one nest, with means of rows, a scalar and values on the way that are results, and all gradients.
template <element E, extend::dimension Rows, extend::dimension Columns, int Layers> struct centered {
  static constexpr detail::built make() {
    extend::builder b;
    extend::dimension const n = Rows > 0 ? Rows : b.size(extent::named("n", 1)),
                    m = Columns > 0 ? Columns : b.size(extent::named("m", 1));
    std::int32_t const row = b.shape(extend::dimensions{1, {m}});
    extend::symbol const in[]{b.symbol_of(E, b.shape(extend::dimensions{2, {n, m}})), b.symbol_of(E, row),
                      b.symbol_of(E, row), b.symbol_of(E, b.shape(extend::dimensions{}))};
    term const x{&b, in[0]}, w{&b, in[1]}, c{&b, in[2]}, s{&b, in[3]};
    b.set_inputs(in, 4);
    term h = x, kept = x, most = x;
    for (int k = 0; k < Layers; ++k) {
      h = extend::apply<op::tanh>(h * w + c) * s;
      h = h - extend::mean(h, 2, true) * w;
      if (k == Layers / 2) kept = h;
      if (k == Layers / 3) most = extend::max(h, 2);
    }
    extend::symbol out[7]{extend::sum(h * h, 3).id, extend::none, extend::none, extend::none, extend::none, kept.id, most.id};
    detail::gradient(b, {out, nullptr, 1, in, 4}, out + 1);
    b.set_outputs(out, 7);
    return {b.get(), b.failed()};
  }
};
template <class Make> constexpr bool shares_stages = [] {
  return []<std::size_t... K>(std::index_sequence<K...>) {
    return (run::nest_shape<simple<Make>, static_cast<int>(K)>::shares_stages || ...);
  }(std::make_index_sequence<static_cast<std::size_t>(
             detail::planned<simple<Make>, simd::bytes>::value.size.nests)>{});
}();

} // namespace

TEST_CASE("Equal layers share one function and keep their values") {
  using fixed = network<element::float64, 9, 6>;
  constexpr auto const& code = detail::shared_code<simple<fixed>, simd::bytes>::value;
  int most = 0;
  for (int count : code.count.data) most = count > most ? count : most;
  CHECK(most >= 4);
  check<fixed>(-1, 1, 1e-11);
  check_plain<fixed>(-1, 1, 1e-11);
  check<network<element::float32, 3, 5>>(-1, 1, 1e-5);
}
TEST_CASE("Equal layers of named rows share one function") {
  for (std::int64_t n : {0, 1, 5, 64}) check_named<network<element::float64, 0, 6>>(n, 0, -1, 1, 1e-11);
}
TEST_CASE("Equal stages of a nest share one function and keep their values") {
  using fixed = centered<element::float64, 5, 256, 9>;
  static_assert(shares_stages<fixed>);
  check<fixed>(-1, 1, 1e-11);
  check<centered<element::float32, 9, 131, 8>>(-1, 1, 1e-4);
}
TEST_CASE("Equal stages of named rows and columns share one function") {
  using named = centered<element::float64, 0, 0, 9>;
  for (std::int64_t n : {0, 1, 7})
    for (std::int64_t m : {1, 5, 67}) check_named<named>(n, m, -1, 1, 1e-11);
}
