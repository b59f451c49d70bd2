// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

#include "control_cases.hpp"
#include "nest_runs.hpp"

#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

// Values that wait for others: the order in which things run changes, and with it the memory; no value does.

using namespace executing;

namespace {

constexpr detail::array<argument> squares(extend::dimension n) {
  detail::array<argument> a;
  for (int k = 0; k < 3; ++k) a.push({element::float32, {2, {n, n}}});
  return a;
}

/// Four layers forward; then their activations are read from the last to the first: kept ones, or ones rematerialized in two
/// parts, each after the values that are read before it.
template <bool Again, extend::dimension N> struct layers {
  static constexpr detail::array<argument> arguments(extend::builder&) { return squares(N); }
  static constexpr term layer(term x, term w) { return extend::apply<op::tanh>(extend::matmul(x, w)); }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    term const w = x[1];
    term h[5] = {x[0], x[0], x[0], x[0], x[0]};
    for (int k = 0; k < 4; ++k) h[k + 1] = layer(h[k], w);
    term d = extend::matmul(h[4], x[2]);
    if (Again) h[3] = layer(extend::after(h[2], d), w);
    for (int k = 3; k > 0; --k) {
      if (Again && k == 2) h[1] = layer(extend::after(x[0], d), w);
      d = extend::matmul(d * (1 - extend::apply<op::square>(h[k])), w);
    }
    return {d};
  }
};

/// Dependencies of loop nests and reductions, through views, on scalars and on other nests.
struct waiting {
  static constexpr detail::array<argument> arguments(extend::builder&) { return squares(24); }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const s = extend::sum(x[0] * x[1], 3), rows = extend::sum(extend::apply<op::exp>(x[2] / 8), 2);
    term const y = extend::apply<op::sin>(x[0] * x[2]);
    term const late = extend::after(y, s);
    term const flat = op::reshape::of(late, b.shape(extend::dimensions{1, {576}}));
    term const later = extend::after(extend::after(x[1], rows), late);
    term const turned = extend::transpose(extend::after(y, extend::sum(later, 3)));
    return {extend::sum(extend::apply<op::exp>(late), 2),
            extend::sum(flat * flat, 1),
            extend::matmul(later, turned) + late,
            extend::after(s, rows) * s,
            extend::after(rows, s),
            extend::apply<op::tanh>(extend::after(turned, rows)) * extend::after(x[0], y),
            late,
            extend::after(extend::sum(y, 1), y) + rows};
  }
};

/// A reduction that nothing reads: the products before it stay as they are while it runs.
struct only_waited_for {
  static constexpr detail::array<argument> arguments(extend::builder&) { return squares(24); }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    term const h = extend::matmul(x[0], x[1]), k = extend::matmul(h, x[1]);
    term const s = extend::sum(extend::apply<op::exp>(h * k), 3);
    return {extend::matmul(extend::apply<op::tanh>(extend::after(k, s)), h) + k};
  }
};

void run_in_memory(interpreter const& p, void const* const* in, void* const* out) {
  auto const bytes = static_cast<std::size_t>((p.workspace_bytes() + 64) / 64 * 64);
  std::unique_ptr<void, nest_runs::release> const workspace(std::aligned_alloc(64, bytes));
  REQUIRE(p.run(in, out, workspace.get()) == status::ok);
}

TEST_CASE("static programs: op::after leaves values unchanged in every nest and under every name",
          "[after]") {
  check<graph_of<waiting>>(-1, 1, 1e-12);
  check_plain<graph_of<waiting>>(-1, 1, 1e-12);
  check<graph_of<layers<true, 16>>>(-1, 1, 1e-12);
}

TEST_CASE("static programs: recomputation behind an op::after needs less memory than stored values",
          "[after]") {
  using kept = run::nests<simple<graph_of<layers<false, 64>>>>;
  using again = run::nests<simple<graph_of<layers<true, 64>>>>;
  INFO(kept::workspace_bytes << " " << again::workspace_bytes);
  static_assert(again::workspace_bytes + 64 * 64 * 4 <= kept::workspace_bytes);
  auto const& g = plain<graph_of<layers<false, 64>>>::view;
  reference::dice d(3);
  detail::array<values> const inputs = reference::inputs_of(g, d, -0.2, 0.2);
  CHECK(results_of<kept>(extend::builder(g).get(), inputs, nullptr, 0xFF) ==
        results_of<again>(extend::builder(g).get(), inputs, nullptr, 0x5A));
}

TEST_CASE("the interpreter computes the same bits in less memory with op::after", "[after]") {
  graph const kept = detail::simplify(graph_of<layers<false, 64>>::make().g);
  graph const again = detail::simplify(graph_of<layers<true, 64>>::make().g);
  interpreter const p(kept), q(again);
  INFO(p.value_bytes() << " " << q.value_bytes());
  CHECK(q.value_bytes() + 64 * 64 * 4 <= p.value_bytes());
  std::vector<float> x(64 * 64), w(x.size()), v(x.size()), a(x.size()), b(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    x[k] = static_cast<float>(k % 17) / 17 - 0.5f;
    w[k] = static_cast<float>(k % 13) / 40 - 0.15f;
    v[k] = static_cast<float>(k % 7) / 7 - 0.4f;
  }
  void const* in[]{x.data(), w.data(), v.data()};
  for (auto const& [one, to] : {std::pair{&p, &a}, {&q, &b}}) {
    void* out[]{to->data()};
    run_in_memory(*one, in, out);
  }
  CHECK(a == b);
}

TEST_CASE("the interpreter runs op::after as the reference evaluation does", "[after]") {
  for (int const which : {0, 1, 2, 3}) {
    graph g = which < 2 ? graph_of<waiting>::make().g : graph_of<only_waited_for>::make().g;
    if (which % 2 == 1) g = detail::simplify(g);
    REQUIRE(verify(g));
    reference::dice d(11);
    detail::array<values> const inputs = reference::inputs_of(g, d, -1, 1), wanted = reference::evaluate(g, inputs);
    interpreter const p(g);
    REQUIRE(p.failed().why == nullptr);
    std::vector<std::vector<float>> in, out;
    std::vector<void const*> from;
    std::vector<void*> to;
    for (values const& v : inputs) {
      in.emplace_back();
      for (extend::scalar const& s : v) in.back().push_back(static_cast<float>(s.real));
    }
    for (values const& v : wanted) out.emplace_back(static_cast<std::size_t>(v.size()));
    for (auto& v : in) from.push_back(v.data());
    for (auto& v : out) to.push_back(v.data());
    run_in_memory(p, from.data(), to.data());
    for (int k = 0; k < wanted.size(); ++k)
      for (int i = 0; i < wanted[k].size(); ++i)
        REQUIRE(out[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)] ==
                Approx(wanted[k][i].real).epsilon(1e-4).margin(1e-4));
  }
}

TEST_CASE("op::after keeps no value alive", "[after]") {
  graph const before = graph_of<only_waited_for>::make().g, after = detail::prune(before);
  auto const count = [](graph const& g, operation const* op) {
    int n = 0;
    for (extend::node const& k : g.nodes) n += k.op == op;
    return n;
  };
  CHECK((count(before, info_of<op::sum>()) == 1 && count(before, info_of<op::exp>()) == 1));
  CHECK((count(after, info_of<op::sum>()) == 0 && count(after, info_of<op::exp>()) == 0));
  CHECK(count(after, info_of<op::matmul>()) == 3);
  REQUIRE(verify(after));
  graph const both = detail::prune(graph_of<waiting>::make().g); // other operands are still dependencies
  CHECK(count(both, info_of<op::after>()) > 5);
  bool waits = false;
  for (extend::node const& n : both.nodes) waits = waits || (n.op == info_of<op::after>() && n.operand_count > 1);
  CHECK(waits);
}

TEST_CASE("redundant op::after nodes vanish, and nested ones are merged", "[after]") {
  extend::builder b;
  extend::symbol const in[]{b.symbol_of(element::float64, 0), b.symbol_of(element::float64, 0)};
  term const x{&b, in[0]}, y{&b, in[1]}, s = extend::apply<op::sin>(x), e = extend::apply<op::exp>(y);
  term const out[]{extend::after(s, y), extend::after(s, extend::constant_like(x, 3)),
                   extend::after(extend::after(s, e), e), extend::after(extend::after(x, s), e),
                   extend::after(extend::constant_like(x, 2), e)};
  detail::array<extend::symbol> ids;
  for (term const& t : out) ids.push(t.id);
  b.set_inputs(in, 2);
  b.set_outputs(ids.data(), ids.size());
  graph const simple = detail::simplify(b.get());
  extend::graph_view const g = simple;
  CHECK(g.producer(g.output(0))->op == info_of<op::sin>());
  CHECK(g.output(1) == g.output(0));
  CHECK(g.producer(g.output(2))->op == info_of<op::after>());
  CHECK(g.producer(g.output(2))->operand_count == 2);
  CHECK(g.producer(g.output(3))->operand_count == 3);
  CHECK(g.producer(g.output(4))->op == info_of<op::constant>());
}

/// sin(x) x^3, with orders or without: its value, its derivative, the next one, and the tangent of the first.
template <bool Orders> constexpr control_cases::values derivatives_of(double at) {
  control_cases::scalars s;
  extend::symbol const x = s.input();
  term const t = s.of(x), sine = extend::apply<op::sin>(t);
  auto const wait = [](term a, term b) { return Orders ? extend::after(a, b) : a; };
  term const square = extend::apply<op::square>(wait(t, wait(sine, t)));
  term const cube = wait(t, sine) * square;
  extend::symbol d[4]{(wait(sine, cube) * cube).id, extend::none, extend::none, extend::none};
  for (int k = 0; k < 2; ++k)
    detail::gradient(s.b, {.outputs = d + k, .output_count = 1, .wrt = &x, .wrt_count = 1}, d + k + 1);
  extend::symbol const one = s.number(1).id;
  detail::tangents(s.b, &x, &one, 1, d + 1, 1, d + 3);
  for (extend::symbol const y : d) s.output(y);
  return s.finish() ? control_cases::run(s.b.get(), {at}) : control_cases::values{};
}
constexpr control_cases::values with_orders = derivatives_of<true>(0.7), without = derivatives_of<false>(0.7);
static_assert(control_cases::near(with_orders[0], 0.64421768723769102 * 0.343));
static_assert(control_cases::near(with_orders[1], without[1]) &&
              control_cases::near(with_orders[2], without[2]));
static_assert(control_cases::near(with_orders[3], with_orders[2]));

TEST_CASE("op::after changes no value in a loop or in its gradient", "[after]") {
  auto const made = [](bool orders) {
    control_cases::scalars s;
    extend::symbol const x = s.input(), w = s.input();
    extend::symbol const y = s.repeat(x, 5, [&](term at, auto& loop) {
      term const by = s.of(loop.capture(w)), sine = extend::apply<op::sin>(at * by);
      term const again = orders ? extend::after(at, sine) : at;
      return sine * extend::apply<op::exp>(again * by / 8);
    });
    s.output(y);
    s.gradient_of(y, {x, w});
    extend::symbol const first = s.outputs.back();
    s.gradient_of(first, {x, w});
    REQUIRE(s.finish());
    return s.b.get();
  };
  std::vector<double> const at{0.7, 1.3};
  for (bool const rewritten : {false, true}) {
    graph const g = rewritten ? detail::simplify(made(true)) : made(true),
                h = rewritten ? detail::simplify(made(false)) : made(false);
    interpreter const p(g), q(h);
    REQUIRE(p.failed().why == nullptr);
    detail::tape record, other;
    std::vector<double> const a = nest_runs::interpreted(p, at, record),
                              b = nest_runs::interpreted(q, at, other),
                              c = nest_runs::evaluated_element_by_element(g, p, at);
    REQUIRE(a.size() == 5);
    for (std::size_t k = 0; k < a.size(); ++k) {
      CHECK(a[k] == Approx(b[k]));
      CHECK(a[k] == Approx(c[k]));
      CHECK(std::fabs(a[k]) > 1e-3);
    }
  }
}

} // namespace
