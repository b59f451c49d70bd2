// SPDX-License-Identifier: BSL-1.0
// Fused multiply-adds in bodies of loops: every copy of a body fuses the same products.
#include "../control_cases.hpp"

#include <cotangent/transform/pipeline.hpp>

using namespace cotangent;
using namespace control_cases;

namespace {

constexpr detail::simplify_options fusing{.fuse_multiply_add = true}, plain{.fuse_multiply_add = false};

/// s <- sin(s w + b) w + s, `times` times. The products s w are recorded by the caller, so they have two readers; a rerun body has
/// one. Value, gradients by all three, simplified.
struct recurrence {
  scalars s;

  constexpr recurrence(int times, bool records, detail::tape_options const& tape) {
    extend::symbol const x = s.input(), w = s.input(), b = s.input();
    detail::loop_builder loop(s.b, {.inits = &x, .carried = 1, .limit = s.index(times).id});
    extend::symbol const in = loop.open_body()[1];
    term const u = s.of(loop.capture(w)), product = s.of(in) * u;
    term const entry = records ? extend::apply<op::exp>(product) : product;
    extend::symbol const next = (extend::apply<op::sin>(product + s.of(loop.capture(b))) * u + s.of(in)).id;
    loop.close_body(&next, 1, &entry.id, records ? 1 : 0);
    (void)loop.finish();
    extend::symbol const last = loop.last(0);
    s.output(last);
    detail::array<extend::symbol> wrt, d(3, extend::none);
    for (extend::symbol const t : {x, w, b}) wrt.push(t);
    detail::gradient(s.b, {.outputs = &last, .output_count = 1, .wrt = wrt.data(), .wrt_count = 3, .tape = tape}, d.data());
    for (extend::symbol const t : d) s.output(t);
  }
  constexpr graph simple(detail::simplify_options const& o) {
    if (!s.finish()) return {};
    return simplify(s.b.get(), o);
  }
};

constexpr int count_everywhere(extend::graph_view const& g, char const* name) {
  int count = 0;
  for (std::int32_t r = 0; r < g.region_count; ++r) count += count_nodes(g, name, r);
  return count;
}
constexpr std::int32_t forward_body(extend::graph_view const& g) { return detail::loop_layout::of(g, *find(g, "loop")).body; }

// Both sums of the body contain a product; sin's operand, which the adjoint reads, is recorded.
constexpr bool fuses() {
  graph const simple = recurrence(4, false, {}).simple(fusing);
  extend::graph_view const g = simple;
  return verify(g) && count_nodes(g, "fma", forward_body(g)) == 2 && count_nodes(g, "mul", forward_body(g)) == 0 &&
         count_nodes(g, "add", forward_body(g)) == 0;
}
static_assert(fuses());

// A product with another reader stays.
constexpr bool keeps() {
  graph const simple = recurrence(4, true, {}).simple(fusing);
  extend::graph_view const g = simple;
  return verify(g) && count_nodes(g, "fma", forward_body(g)) == 1 && count_nodes(g, "add", forward_body(g)) == 1;
}
static_assert(keeps());

/// s <- w s + b sin(s): of both products, the fused one reads the carried value, whichever was written first, with and without a gradient.
constexpr bool fuses_carried(bool first, bool differentiates) {
  scalars s;
  extend::symbol const x = s.input(), w = s.input(), b = s.input();
  detail::loop_builder loop(s.b, {.inits = &x, .carried = 1, .limit = s.index(4).id});
  extend::symbol const in = loop.open_body()[1];
  term const u = s.of(loop.capture(w)), v = s.of(loop.capture(b)), y = extend::apply<op::sin>(s.of(in)), early = first ? u * s.of(in) : v * y,
             late = first ? v * y : u * s.of(in);
  extend::symbol const next = (early + late).id;
  loop.close_body(&next, 1, nullptr, 0);
  (void)loop.finish();
  extend::symbol const last = loop.last(0), wrt[]{x, w, b};
  s.output(last);
  extend::symbol d[3]{extend::none, extend::none, extend::none};
  if (differentiates) detail::gradient(s.b, {.outputs = &last, .output_count = 1, .wrt = wrt, .wrt_count = 3}, d);
  for (extend::symbol const t : d)
    if (t != extend::none) s.output(t);
  if (!s.finish()) return false;
  graph const simple = simplify(s.b.get(), fusing);
  extend::graph_view const g = simple;
  extend::node const* const sum = g.producer(g.output(0, forward_body(g)));
  extend::symbol const carried = g.input(1, forward_body(g));
  return verify(g) && sum->op == info_of<op::multiply_add>() && (g.operand(*sum, 0) == carried || g.operand(*sum, 1) == carried);
}
static_assert(fuses_carried(true, false) && fuses_carried(false, false));
static_assert(fuses_carried(true, true) && fuses_carried(false, true));

/// The values where a body reruns from checkpoints, or records everything.
template <bool Records, std::int64_t Limit, detail::checkpoints Schedule> struct simplified {
  static constexpr detail::built make() {
    detail::simplify_options const o = fusing; // a variable, see `frozen`
    return {recurrence(6, Records, {.limit = Limit, .schedule = Schedule}).simple(o), {}};
  }
};
template <bool Records, std::int64_t Limit, detail::checkpoints Schedule> constexpr values at() {
  return run(detail::frozen<simplified<Records, Limit, Schedule>>::view, {.37, 1.13, -.71});
}
template <bool Records> constexpr bool same_bits() {
  constexpr values all = at<Records, 0, detail::checkpoints::automatic>(), spaced = at<Records, 1024, detail::checkpoints::equally_spaced>(),
                   few = at<Records, 4096, detail::checkpoints::binomial>();
  for (int k = 0; k < 4; ++k)
    if (all[k] != spaced[k] || all[k] != few[k]) return false;
  return all[0] != -1e300;
}
static_assert(same_bits<false>());
static_assert(same_bits<true>());

// ... and it does rerun, with multiply-adds in the copies.
static_assert(count_everywhere(detail::frozen<simplified<false, 1024, detail::checkpoints::equally_spaced>>::view, "fma") >
              count_everywhere(detail::frozen<simplified<false, 0, detail::checkpoints::automatic>>::view, "fma"));

// Fused and unfused bits differ, so the test above compares something.
constexpr bool differs() {
  graph const fused = recurrence(6, false, {}).simple(fusing), apart = recurrence(6, false, {}).simple(plain);
  values const a = run(fused, {.37, 1.13, -.71}), b = run(apart, {.37, 1.13, -.71});
  return (a[0] != b[0]) == math::has_fma && near(a[0], b[0], 1e-14);
}
static_assert(differs());

} // namespace
