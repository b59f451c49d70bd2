// SPDX-License-Identifier: BSL-1.0
// A Kalman filter of four states and two measurements as `ct::scan`, with gradients, against a reverse sweep by hand.
#include "harness.hpp"
#include "kalman.hpp"
#include "ours.hpp"

#include <string>

namespace {

using namespace bench::kalman;

bench::entry const e("scan: Kalman filter", [](bench::suite& suite) {
  problem p;
  bench::comparison c{"scan: Kalman filter", "double", std::to_string(steps), steps, {}, {}, {}, {}};
  c.results = written_results(p.out);
  c.hand = {bench::named("records", [&] { p.sweep<true>(); }), bench::named("recomputes", [&] { p.sweep<false>(); })};
  c.ours = {bench::ours(ct::value_and_grad<1, 2>(likelihood),
                        bench::into(*p.out.value, ct::view<double, 2>(p.out.noise), ct::view<double, 4, 4>(p.out.f)),
                        ct::view<double const, steps, 2>(p.z.data()), ct::view<double const, 2>(p.noise.data()),
                        ct::view<double const, 4, 4>(p.f.data()), ct::view<double const, 2, 4>(p.h.data()))};
  suite.run(c);
});

} // namespace
