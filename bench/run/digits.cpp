// SPDX-License-Identifier: BSL-1.0
// The step of examples/digits: the mean loss of a network of two layers on 50 images, with its gradient in all weights.
#include "../../examples/digits/network.hpp"
#include "../../examples/digits/plain_loops.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <memory>

namespace {

using namespace digits;
using views = mlp<ct::view>;

struct weights {
  bench::buffer<float> w1{64 * 32}, b1{32}, w2{32 * 10}, b2{10};
};

void measure(bench::suite& suite) {
  weights p, d;
  bench::buffer<float> x(batch * 64), value(1);
  bench::buffer<std::int32_t> labels(batch);
  bench::numbers random;
  random.fill(p.w1, -0.25f, 0.25f), random.fill(p.b1, -0.1f, 0.1f);
  random.fill(p.w2, -0.35f, 0.35f), random.fill(p.b2, -0.1f, 0.1f);
  random.fill(x, 0.f, 1.f);
  for (std::int32_t& l : labels) l = random.below(10);

  by_hand::parameters const at{p.w1.data(), p.b1.data(), p.w2.data(), p.b2.data()};
  by_hand::gradients const to{d.w1.data(), d.b1.data(), d.w2.data(), d.b2.data()};
  auto const viewed = [](weights& w) {
    return views{ct::view<float, 64, 32>(w.w1.data()), ct::view<float, 32>(w.b1.data()),
                 ct::view<float, 32, 10>(w.w2.data()), ct::view<float, 10>(w.b2.data())};
  };
  float const* const px = x.data();
  float* const pv = value.data();
  std::int32_t const* const pl = labels.data();
  auto const hand = std::make_shared<by_hand::step<batch>>();

  bench::comparison c{"digits", "float", "50x64-32-10", batch, {}, {}, {}, {}};
  c.results = {bench::written("value", pv, 1, batch), bench::written("d w1", to.w1, 64 * 32, batch),
               bench::written("d b1", to.b1, 32, batch), bench::written("d w2", to.w2, 32 * 10, batch),
               bench::written("d b2", to.b2, 10, batch)};
  c.hand = {bench::named("fused", [=] { *pv = (*hand)(at, px, pl, to); })};
  c.loops = {bench::named("loops", [=] { *pv = plain_loops::step(at, px, pl, batch, to); })};
  c.ours = {bench::ours(ct::value_and_grad(loss), bench::into(*pv, viewed(d)), viewed(p),
                        ct::view<float const, batch, 64>(px), ct::view<std::int32_t const, batch>(pl))};
  suite.run(c);
}

bench::entry const e("digits", measure);

} // namespace
