// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CONTROL_CASES_HPP
#define COTANGENT_TESTS_CONTROL_CASES_HPP

#include <cotangent/graph/verify.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <cstdint>
#include <initializer_list>

// Loops and branches with numbers: read by the static and by the runtime test.

namespace control_cases {

using namespace cotangent;

/// A graph of scalars under way: inputs as they are asked for, outputs at the end.
struct scalars {
  extend::builder b;
  detail::array<extend::symbol> inputs, outputs;
  element type = element::float64;

  constexpr extend::symbol input() {
    inputs.push(b.symbol_of(type, 0));
    return inputs.back();
  }
  constexpr term of(extend::symbol t) { return {&b, t}; }
  constexpr void output(extend::symbol t) { outputs.push(t); }
  constexpr void output(term t) { outputs.push(t.id); }
  constexpr void gradient_of(extend::symbol y, std::initializer_list<extend::symbol> wrt) {
    detail::array<extend::symbol> d(static_cast<int>(wrt.size()), extend::none);
    detail::gradient(b, {.outputs = &y, .output_count = 1, .wrt = wrt.begin(), .wrt_count = d.size()}, d.data());
    for (extend::symbol t : d) outputs.push(t);
  }
  /// A loop over one value; `body(in, loop)` gives the next one.
  template <class Body> constexpr extend::symbol repeat(extend::symbol init, int times, Body body) {
    detail::loop_builder loop(b, {.inits = &init, .carried = 1});
    extend::symbol const* in = loop.open_condition();
    extend::symbol const count = in[0];
    loop.close_condition((of(count) < times).id);
    in = loop.open_body();
    term const x = of(in[1]);
    extend::symbol const next = body(x, loop).id;
    loop.close_body(&next, 1);
    (void)loop.finish();
    return loop.last(0);
  }
  constexpr term index(std::int64_t k) {
    return extend::constant(b, element::int64, 0, static_cast<double>(k));
  }
  constexpr term number(double v) { return extend::constant(b, type, 0, v); }
  constexpr bool finish() {
    b.set_inputs(inputs.data(), inputs.size());
    b.set_outputs(outputs.data(), outputs.size());
    return b.failed().why == nullptr && verify(b.get());
  }
};

/// The outputs for these inputs; all NaN-free comparisons fail where it could not be run.
struct values {
  double at[16]{};
  constexpr double operator[](int k) const { return at[k]; }
};
constexpr values run(extend::graph_view const& g, std::initializer_list<double> x) {
  values v;
  double const* in[8]{};
  double* out[16]{};
  for (std::size_t k = 0; k < x.size(); ++k) in[k] = x.begin() + k;
  for (int k = 0; k < 16; ++k) out[k] = v.at + k;
  if (!detail::evaluate(g, in, out).ok())
    for (double& y : v.at) y = -1e300;
  return v;
}
constexpr bool near(double a, double b, double tolerance = 2e-7) {
  double const d = a - b, size = b < 0 ? -b : b;
  return d <= tolerance * (1 + size) && -d <= tolerance * (1 + size);
}

/// The nodes of one sub-graph that compute something, by name.
constexpr bool is_named(extend::node const& n, char const* name) {
  char const* p = n.op->name;
  while (*p != 0 && *p == *name) ++p, ++name;
  return *p == *name;
}
constexpr int count_nodes(extend::graph_view const& g, char const* name, std::int32_t region) {
  int count = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i)
    count += g.nodes[i].region == region && is_named(g.nodes[i], name);
  return count;
}
constexpr extend::node const* find(extend::graph_view const& g, char const* name, int skip = 0, std::int32_t region = 0) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (g.nodes[i].region == region && is_named(g.nodes[i], name) && skip-- == 0) return g.nodes + i;
  return nullptr;
}

// ---- SPEC 3C

/// z <- y z five times, then x z.
constexpr double w1() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input(), z = s.input();
  extend::symbol const last = s.repeat(z, 5, [&](term v, detail::loop_builder& l) { return s.of(l.capture(y)) * v; });
  s.output(s.of(x) * s.of(last));
  return s.finish() ? run(s.b.get(), {.34, 1.11, 1})[0] : 0;
}
/// z0 <- z0 x five times, z1 y + z0: the first value survives the loop.
constexpr double w5(double z, double added) {
  scalars s;
  extend::symbol const x = s.input(), y = s.input(), z0 = s.input();
  extend::symbol const last = s.repeat(z0, 5, [&](term v, detail::loop_builder& l) { return v * s.of(l.capture(x)); });
  s.output(s.of(last) * s.of(y) + added * s.of(z0));
  return s.finish() ? run(s.b.get(), {.92, 3.2, z})[0] : 0;
}
/// d/dx of x <- y x, five times.
constexpr double wb1() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input();
  extend::symbol const last = s.repeat(x, 5, [&](term v, detail::loop_builder& l) { return s.of(l.capture(y)) * v; });
  s.gradient_of(last, {x});
  return s.finish() ? run(s.b.get(), {.34, 1.11})[0] : 0;
}
/// x <- log(x y), then x v: value, and gradients by x, y and v as asked for.
struct wb2 {
  scalars s;
  extend::symbol x, y, v, z, u;
  constexpr explicit wb2(int times = 5) : x(s.input()), y(s.input()), v(s.input()) {
    z = s.repeat(x, times,
                 [&](term t, detail::loop_builder& l) { return extend::apply<op::log>(t * s.of(l.capture(y))); });
    u = (s.of(z) * s.of(v)).id;
    s.output(u);
  }
  constexpr values at() { return s.finish() ? run(s.b.get(), {1, 3.2, .22}) : values{}; }
};
constexpr values wb2_all() {
  wb2 c;
  c.s.gradient_of(c.u, {c.x, c.y, c.v});
  return c.at();
}
constexpr double wb2_once() {
  wb2 c(1);
  c.s.gradient_of(c.u, {c.y});
  return c.at()[1];
}

// ---- SPEC 3D

/// 0 below 0; x itself below 1; then half the way from 1; 1.5 from 2 on.
constexpr term stairs(scalars& s, term x) {
  term const which = extend::select(
      x < 0, s.index(0), extend::select(x < 1, s.index(-1), extend::select(x < 2, s.index(1), s.index(2))));
  detail::case_builder choice(s.b, which.id, &x.id, 1);
  (void)choice.open_branch();
  extend::symbol y = s.number(0).id;
  choice.close_branch(&y, 1);
  y = (0.5 * s.of(choice.open_branch()[0]) + 0.5).id;
  choice.close_branch(&y, 1);
  (void)choice.open_branch();
  y = s.number(1.5).id;
  choice.close_branch(&y, 1);
  int const bypass = 0;
  (void)choice.finish(&bypass);
  return s.of(choice.result(0));
}
/// The stairs and their slope.
struct b1 {
  scalars s;
  constexpr b1() {
    extend::symbol const x = s.input();
    term const y = stairs(s, s.of(x));
    s.output(y);
    s.gradient_of(y.id, {x});
  }
};
constexpr values b1_at(double x) {
  b1 c;
  return c.s.finish() ? run(c.s.b.get(), {x}) : values{};
}
/// Four functions by where x lies; x itself between 0 and 1.
constexpr values b2_at(double at) {
  scalars s;
  extend::symbol const x = s.input();
  term const v = s.of(x);
  term const which = extend::select(
      v < 0, s.index(0),
      extend::select(v < 1, s.index(-1),
                     extend::select(v < 2, s.index(1), extend::select(v <= 1000, s.index(2), s.index(3)))));
  detail::case_builder choice(s.b, which.id, &x, 1);
  for (int k = 0; k < 4; ++k) {
    term const in = s.of(choice.open_branch()[0]);
    term const y = k == 0   ? extend::apply<op::exp>(in)
                   : k == 1 ? extend::apply<op::log>(in)
                   : k == 2 ? extend::apply<op::reciprocal>(in)
                            : 1.1 * in;
    choice.close_branch(&y.id, 1);
  }
  int const bypass = 0;
  (void)choice.finish(&bypass);
  s.output(choice.result(0));
  s.gradient_of(choice.result(0), {x});
  return s.finish() ? run(s.b.get(), {at}) : values{};
}
/// The stairs four times in a loop, each time of x `factor`; then 0.3 of it.
constexpr values b4_at(double at, double factor = 1) {
  scalars s;
  extend::symbol const x = s.input();
  extend::symbol const last =
      s.repeat(x, 4, [&](term v, detail::loop_builder&) { return stairs(s, factor == 1 ? v : factor * v); });
  term const y = 0.3 * s.of(last);
  s.output(y);
  s.gradient_of(y.id, {x});
  return s.finish() ? run(s.b.get(), {at}) : values{};
}

// ---- carried values of all kinds; in each: value, gradient by the inputs

/// (p, q, r) <- (q, r, p x): chained and crossed; p is what comes out, after five times.
constexpr values crossed() {
  scalars s;
  extend::symbol const p = s.input(), q = s.input(), r = s.input(), x = s.input();
  extend::symbol const inits[3]{p, q, r};
  detail::loop_builder loop(s.b, {.inits = inits, .carried = 3, .limit = s.index(5).id});
  extend::symbol const* in = loop.open_body();
  extend::symbol const carried[3]{in[1], in[2], in[3]};
  extend::symbol const next[3]{carried[1], carried[2], (s.of(carried[0]) * s.of(loop.capture(x))).id};
  loop.close_body(next, 3);
  (void)loop.finish();
  s.output(loop.last(0));
  s.gradient_of(loop.last(0), {p, q, r, x});
  return s.finish() ? run(s.b.get(), {2, 3, 5, 7}) : values{};
}
/// No iteration: the last value is the first, and so are the cotangents.
constexpr values never() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input();
  extend::symbol const last = s.repeat(x, 0, [&](term v, detail::loop_builder& l) { return v * s.of(l.capture(y)); });
  s.output(last);
  s.gradient_of(last, {x, y});
  return s.finish() ? run(s.b.get(), {2, 3}) : values{};
}
/// The condition is first asked after an iteration: one iteration although it is false from the start.
constexpr values at_the_end() {
  scalars s;
  extend::symbol const x = s.input(), y = s.input();
  detail::loop_builder loop(s.b, {.inits = &x, .carried = 1, .flags = detail::loop_layout::runs_first});
  extend::symbol const count = loop.open_condition()[0];
  loop.close_condition((s.of(count) < 0).id);
  extend::symbol const v = loop.open_body()[1];
  extend::symbol const next = (s.of(v) * s.of(loop.capture(y))).id;
  loop.close_body(&next, 1);
  (void)loop.finish();
  s.output(loop.last(0));
  s.gradient_of(loop.last(0), {x, y});
  s.output(extend::convert(s.of(loop.trips()), element::float64));
  return s.finish() ? run(s.b.get(), {2, 3}) : values{};
}
/// x <- x x, three times: x^8, its first three derivatives.
constexpr values powers() {
  scalars s;
  extend::symbol const x = s.input();
  extend::symbol y = s.repeat(x, 3, [](term v, detail::loop_builder&) { return v * v; });
  s.output(y);
  for (int k = 0; k < 3; ++k) {
    s.gradient_of(y, {x});
    y = s.outputs.back();
  }
  return s.finish() ? run(s.b.get(), {1.1}) : values{};
}
/// The first value, a captured one, and one that nothing depends on; what is captured is used twice, and is the first
/// value as well.
constexpr values absent() {
  scalars s;
  extend::symbol const x = s.input(), unused = s.input();
  extend::symbol const last =
      s.repeat(x, 2, [&](term v, detail::loop_builder& l) { return v * s.of(l.capture(x)) + s.of(l.capture(x)); });
  s.output(last);
  s.gradient_of(last, {unused, x});
  return s.finish() ? run(s.b.get(), {3, 9}) : values{};
}

} // namespace control_cases

#endif
