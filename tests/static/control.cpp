// SPDX-License-Identifier: BSL-1.0
// Loops, branches and their gradients, run by the compiler.
#include "../control_cases.hpp"
#include "../random_nest.hpp"

#include <cotangent/graph/freeze.hpp>

using namespace cotangent;
using namespace control_cases;

namespace {

static_assert(near(w1(), .5729198));
static_assert(near(w5(1, 0), 2.1090609));
static_assert(near(w5(1.2, 1), 3.7308730));
static_assert(near(wb1(), 1.6850582));

constexpr values logs = wb2_all();
static_assert(near(logs[0], .3487781));
static_assert(near(logs[1], .065682308));
static_assert(near(logs[2], .18960060));
static_assert(near(logs[3], 1.5853552));
static_assert(near(wb2_once(), .06875));

constexpr bool stairs_are(double x, double y, double slope) {
  values const v = b1_at(x);
  return near(v[0], y) && near(v[1], slope);
}
static_assert(stairs_are(-1, 0, 0) && stairs_are(.76, .76, 1) && stairs_are(1.226, 1.113, .5) &&
              stairs_are(2.1, 1.5, 0));
static_assert(near(b2_at(-2.2)[0], .1108032) && near(b2_at(-2.2)[1], .1108032));
static_assert(near(b2_at(1.1)[0], .0953102) && near(b2_at(1.1)[1], 1 / 1.1));
static_assert(near(b2_at(.9)[0], .9) && near(b2_at(.9)[1], 1));
static_assert(near(b2_at(2.2)[0], .4545455) && near(b2_at(2.2)[1], -1 / 4.84));
static_assert(near(b2_at(1001)[0], 1101.1) && near(b2_at(1001)[1], 1.1));
static_assert(near(b4_at(1.226)[0], .3042375) && near(b4_at(1.226)[1], .3 / 16));
static_assert(near(b4_at(.8)[0], .24) && near(b4_at(.8)[1], .3));
static_assert(near(b4_at(2.5, .8)[0], .2112) && near(b4_at(2.5, .8)[1], 0));

// p q r after 5: (p, q, r) -> (q, r, p x) -> (r, p x, q x) -> (p x, q x, r x) -> (q x, r x, p x x) -> (r x, ...)
static_assert(crossed()[0] == 35 && crossed()[1] == 0 && crossed()[2] == 0 && crossed()[3] == 7 &&
              crossed()[4] == 5);
static_assert(never()[0] == 2 && never()[1] == 1 && never()[2] == 0);
static_assert(at_the_end()[0] == 6 && at_the_end()[1] == 3 && at_the_end()[2] == 2 && at_the_end()[3] == 1);
static_assert(near(powers()[0], 2.14358881) && near(powers()[1], 8 * 1.9487171) &&
              near(powers()[2], 56 * 1.771561) && near(powers()[3], 336 * 1.61051));
// (x x + x) x + x
static_assert(absent()[0] == 39 && absent()[1] == 0 && absent()[2] == 34);

// nests by dice, against the same unrolled; graphs are made in evaluations of their own, which have a limit of steps
inline constexpr double place[4]{.3, -.7, .9, .2};
template <class Maker, std::uint64_t Seed, int Depth> struct drawn {
  static constexpr detail::built make() {
    reference::nest<Maker> const n(Seed, Depth, 1, element::float64, place, 1);
    if (n.margin < 1e-6) return {};
    return {n.b.get(), n.b.failed()};
  }
};
template <std::uint64_t Seed, int Depth> constexpr bool agrees() {
  constexpr auto const& nested = detail::frozen<drawn<reference::nest_in_graph, Seed, Depth>>::value;
  constexpr auto const& unrolled = detail::frozen<drawn<reference::nest_unrolled, Seed, Depth>>::value;
  static_assert(nested.failed.why == nullptr && unrolled.failed.why == nullptr);
  static_assert(verify(nested) && unrolled.size.nodes > 0);
  constexpr values a = run(nested, {place[0], place[1], place[2], place[3]}),
                   b = run(unrolled, {place[0], place[1], place[2], place[3]});
  for (int k = 0; k < 5; ++k)
    if (!near(a[k], b[k], 1e-12)) return false;
  return a[0] != -1e300;
}
static_assert(agrees<3, 1>());
static_assert(agrees<5, 2>());
static_assert(agrees<11, 2>());
static_assert(agrees<17, 3>());

} // namespace
