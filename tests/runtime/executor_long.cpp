// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Bodies of so many instances that they are functions of their own, which call what takes long.

using namespace executing;

namespace {

template <element E, extend::dimension Size> struct chain {
  static constexpr detail::built make() {
    extend::builder b;
    std::int32_t const shape = b.shape(extend::dimensions{1, {Size > 0 ? Size : b.size(extent::named("n", 1))}});
    extend::symbol in[2]{b.symbol_of(E, shape), b.symbol_of(E, shape)}, out[4]{};
    b.set_inputs(in, 2);
    term const x{&b, in[0]}, w{&b, in[1]};
    term h = x, s = w;
    for (int k = 0; k < 9; ++k) {
      h = extend::apply<op::tanh>(h * w + x);
      s = s + extend::apply<op::exp>(h * 0.5) * extend::apply<op::sin>(w - (k + 1.0));
      s = extend::apply<op::select>(extend::apply<op::less>(h, w), s, s + h);
    }
    out[0] = extend::sum(s, 1).id;
    detail::gradient(b, {out, nullptr, 1, in, 2}, out + 1);
    out[3] = s.id;
    b.set_outputs(out, 4);
    return {b.get(), b.failed()};
  }
};
template <class Make> constexpr int longest = [] {
  auto const& p = detail::planned<simple<Make>, simd::bytes>::value;
  int most = 0;
  for (int k = 0; k < p.size.nests; ++k) most = p.nests.data[k].instance_count > most ? p.nests.data[k].instance_count : most;
  return most;
}();

} // namespace

TEST_CASE("Long bodies are right at every length of a tail") {
  STATIC_REQUIRE(longest<chain<element::float64, 0>> > 200);
  for (std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100}) {
    check_named<chain<element::float64, 0>>(n, 0, -1, 1, 1e-11);
    check_named<chain<element::float32, 0>>(n, 0, -1, 1, 1e-11);
  }
}
TEST_CASE("Long bodies of constant sizes are right") {
  check<chain<element::float64, 40>>(-1, 1, 1e-11);
  check<chain<element::float32, 21>>(-1, 1, 1e-11);
}
