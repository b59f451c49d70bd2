// SPDX-License-Identifier: BSL-1.0
// Gradients of loops and branches contain no dead nodes.
#include "../control_cases.hpp"

#include <cotangent/transform/pipeline.hpp>

using namespace cotangent;
using namespace control_cases;

namespace {

constexpr int count_everywhere(extend::graph_view const& g, char const* name) {
  int count = 0;
  for (std::int32_t r = 0; r < g.region_count; ++r) count += count_nodes(g, name, r);
  return count;
}
/// The loop that runs in reverse.
constexpr extend::node const* reverse_loop(extend::graph_view const& g) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (g.nodes[i].op == info_of<op::loop>() && detail::loop_layout::of(g, g.nodes[i]).is_reverse())
      return g.nodes + i;
  return nullptr;
}
constexpr detail::simplify_options plain{.fuse_multiply_add = false};

// The backward of a loop is one loop of log', two products and one sum
constexpr bool by_y() {
  wb2 c;
  c.s.gradient_of(c.u, {c.y});
  if (!c.s.finish()) return false;
  graph const simple = simplify(c.s.b.get(), plain);
  extend::graph_view const g = simple;
  if (!verify(g) || count_nodes(g, "loop", 0) != 2 || g.region_count != 4) return false;
  extend::node const* const back = reverse_loop(g);
  if (back == nullptr) return false;
  detail::loop_layout const at = detail::loop_layout::of(g, *back), forward = detail::loop_layout::of(g, *find(g, "loop"));
  int nodes = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) nodes += g.nodes[i].region == at.body;
  // the cotangent of x and the sum for y are carried, y is captured, x and x y are on the tape
  return at.carried == 2 && at.captured == 1 && at.scanned == 2 && at.stacked == 0 && at.condition == extend::none &&
         forward.stacked == 2 && forward.carried == 1 && forward.captured == 1 && nodes == 4 &&
         count_nodes(g, "div", at.body) == 1 && count_nodes(g, "mul", at.body) == 2 &&
         count_nodes(g, "add", at.body) == 1;
}
static_assert(by_y());

// by the first value alone: nothing is summed, and x itself is not recorded
constexpr bool by_x() {
  wb2 c;
  c.s.gradient_of(c.u, {c.x});
  if (!c.s.finish()) return false;
  graph const simple = simplify(c.s.b.get(), plain);
  extend::graph_view const g = simple;
  detail::loop_layout const at = detail::loop_layout::of(g, *reverse_loop(g)), forward = detail::loop_layout::of(g, *find(g, "loop"));
  return at.carried == 1 && at.captured == 1 && at.scanned == 1 && forward.stacked == 1 &&
         count_nodes(g, "add", at.body) == 0;
}
static_assert(by_x());

// only toward outer values: no loop runs backward, and nothing is recorded
constexpr bool by_v() {
  wb2 c;
  c.s.gradient_of(c.u, {c.v});
  if (!c.s.finish() || !near(run(c.s.b.get(), {1, 3.2, .22})[1], 1.5853552)) return false;
  graph const simple = simplify(c.s.b.get(), plain);
  extend::graph_view const g = simple;
  return count_nodes(c.s.b.get(), "loop", 0) == 1 && detail::loop_layout::of(g, *find(g, "loop")).stacked == 0 &&
         g.output(1) == g.result(*find(g, "loop"));
}
static_assert(by_v());

// what only counts is not recorded: x <- x count, whose adjoint reads the count
constexpr bool by_count() {
  scalars s;
  extend::symbol const x = s.input();
  detail::loop_builder loop(s.b, {.inits = &x, .carried = 1, .limit = s.index(4).id});
  extend::symbol const* in = loop.open_body();
  extend::symbol const count = in[0], v = in[1];
  extend::symbol const next = (s.of(v) * (extend::convert(s.of(count), element::float64) + 1)).id;
  loop.close_body(&next, 1);
  (void)loop.finish();
  s.gradient_of(loop.last(0), {x});
  if (!s.finish() || run(s.b.get(), {3})[0] != 24) return false;
  graph const simple = simplify(s.b.get(), plain);
  return detail::loop_layout::of(simple, *find(simple, "loop")).stacked <= 1;
}
static_assert(by_count());

// The backward of a choice is a choice of as many branches; the index is not differentiated
constexpr bool branches() {
  b1 c;
  if (!c.s.finish()) return false;
  graph const simple = simplify(c.s.b.get(), plain);
  extend::graph_view const g = simple;
  if (!verify(g) || count_nodes(g, "case_of", 0) != 2) return false;
  extend::node const* const back = find(g, "case_of", 1);
  detail::case_layout const at = detail::case_layout::of(g, *back), forward = detail::case_layout::of(g, *find(g, "case_of"));
  // the seed is passed through; a branch without x gives a zero; no value of the branches is kept
  return at.branches == 3 && at.results == 1 && at.values == 1 && at.bypass(0) == 0 && forward.results == 1 &&
         g.operand(*back, 0) == g.operand(*find(g, "case_of"), 0) &&
         count_nodes(g, "constant", at.branch(0)) == 1 && count_nodes(g, "mul", at.branch(1)) == 1 &&
         count_nodes(g, "mul", at.branch(0)) == 0;
}
static_assert(branches());

// a dead loop compiles to nothing, and so do dead parts of a loop
constexpr bool dead() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input();
  (void)s.repeat(x, 5, [&](term v, detail::loop_builder& l) { return v * s.of(l.capture(y)); });
  extend::symbol const inits[2]{x, y};
  detail::loop_builder loop(s.b, {.inits = inits, .carried = 2, .limit = s.index(3).id});
  extend::symbol const* in = loop.open_body();
  extend::symbol const p = in[1], q = in[2];
  extend::symbol const next[2]{(s.of(p) * s.of(loop.capture(x))).id,
                       extend::apply<op::exp>(s.of(q) * s.of(loop.capture(y))).id};
  loop.close_body(next, 2, next, 2);
  (void)loop.finish();
  s.output(loop.last(0));
  if (!s.finish()) return false;
  graph const simple = simplify(s.b.get(), plain), narrow = detail::prune(s.b.get());
  for (graph const* of : {&simple, &narrow}) {
    extend::graph_view const g = *of;
    detail::loop_layout const at = detail::loop_layout::of(g, *find(g, "loop"));
    if (count_nodes(g, "loop", 0) != 1 || g.region_count != 2 || at.carried != 1 || at.captured != 1 ||
        at.stacked != 0 || count_everywhere(g, "exp") != 0)
      return false;
  }
  return run(simple, {2, 5})[0] == 16;
}
static_assert(dead());

// a value carried unchanged becomes a capture, and its gradient is summed
constexpr bool unchanged() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input();
  extend::symbol const inits[2]{x, y};
  detail::loop_builder loop(s.b, {.inits = inits, .carried = 2, .limit = s.index(3).id});
  extend::symbol const* in = loop.open_body();
  extend::symbol const p = in[1], q = in[2];
  extend::symbol const next[2]{(s.of(p) * s.of(q)).id, q};
  loop.close_body(next, 2);
  (void)loop.finish();
  s.output(s.of(loop.last(0)) + s.of(loop.last(1)));
  s.gradient_of(s.outputs[0], {x, y});
  if (!s.finish()) return false;
  graph const simple = simplify(s.b.get(), plain);
  detail::loop_layout const at = detail::loop_layout::of(simple, *find(simple, "loop"));
  values const v = run(simple, {2, 5});
  return at.carried == 1 && at.captured == 1 && v[0] == 255 && v[1] == 125 && v[2] == 151;
}
static_assert(unchanged());

// a carried value that reaches the output through others only, and one that never does
constexpr bool through_others() {
  scalars s;
  extend::symbol const a = s.input(), b = s.input(), c = s.input(), w = s.input();
  extend::symbol const inits[3]{a, b, c};
  detail::loop_builder loop(s.b, {.inits = inits, .carried = 3, .limit = s.index(4).id});
  extend::symbol const* in = loop.open_body();
  extend::symbol const p = in[1], q = in[2], r = in[3];
  extend::symbol const next[3]{(s.of(p) + s.of(q)).id, (s.of(q) * s.of(loop.capture(w))).id,
                       (s.of(r) * s.of(r) + s.of(p)).id};
  loop.close_body(next, 3);
  (void)loop.finish();
  s.output(loop.last(0));
  s.gradient_of(loop.last(0), {a, b, c, w});
  if (!s.finish()) return false;
  values const v = run(s.b.get(), {1, 2, 3, .5});
  extend::graph_view const g = s.b.get();
  detail::loop_layout const at = detail::loop_layout::of(g, *reverse_loop(g));
  // a + b (1 + w + w w + w w w); a and b carry cotangents, w sums, c is left alone
  return near(v[0], 1 + 2 * 1.875) && v[1] == 1 && near(v[2], 1.875) && v[3] == 0 &&
         near(v[4], 2 * (1 + 1 + .75)) && at.carried == 3;
}
static_assert(through_others());

} // namespace
