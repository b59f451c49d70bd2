// SPDX-License-Identifier: BSL-1.0
#include "../simplify_cases.hpp"

#include <cotangent/graph/freeze.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <utility>

using namespace cotangent;

namespace {

// ---- each rewrite: an index in the compiler's message is the place in simplify_cases::cases

template <int Case> struct rewrite {
  static_assert(simplify_cases::holds(simplify_cases::cases[Case]),
                "a rewrite leaves other operations than it should");
};
template <int... Case> constexpr int all(std::integer_sequence<int, Case...>) {
  return (int{sizeof(rewrite<Case>)} + ...);
}
static_assert(all(std::make_integer_sequence<int, simplify_cases::case_count>{}) ==
              simplify_cases::case_count);

constexpr bool a_wrong_expectation_is_seen() {
  simplify_cases::sample wrong = simplify_cases::cases[0];
  wrong.left = "add ";
  return !simplify_cases::holds(wrong);
}
static_assert(a_wrong_expectation_is_seen());

// ---- the logarithm of a normal density, with its derivatives: two sums, and little work on what is large

constexpr graph density() {
  extend::builder b;
  std::int32_t const line = simplify_cases::shape_of(b, {100});
  extend::symbol const in[3]{b.symbol_of(element::float64, line), b.symbol_of(element::float64, 0),
                     b.symbol_of(element::float64, 0)};
  b.set_inputs(in, 3);
  term const x{&b, in[0]}, mu{&b, in[1]}, sigma{&b, in[2]};
  term const z = (x - mu) / sigma, log_sigma = extend::broadcast_to(extend::apply<op::log>(sigma), line);
  extend::symbol out[4]{extend::sum(-0.5 * extend::apply<op::square>(z) - log_sigma - 0.9189385332046727, 1).id};
  detail::gradient(b, {.outputs = out, .output_count = 1, .wrt = in, .wrt_count = 3}, out + 1);
  b.set_outputs(out, 4);
  return detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = true});
}
constexpr int large(extend::graph_view const& g, operation const* op) {
  int n = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    extend::node const& at = g.nodes[i];
    extend::symbol const t = op == info_of<op::sum>() ? g.operand(at, 0) : g.result(at);
    n += (op == nullptr ? at.op->kind == operation_kind::elementwise : at.op == op) && g.shape(t).rank > 0;
  }
  return n;
}
constexpr int of_any_size(extend::graph_view const& g, operation const* op) {
  int n = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) n += g.nodes[i].op == op;
  return n;
}
static_assert(large(density(), info_of<op::sum>()) == 2);
static_assert(large(density(), info_of<op::subtract>()) == 1); // x - mu
static_assert(large(density(), info_of<op::multiply>()) == 2); // its square, the gradient in x
static_assert(large(density(), nullptr) == 3);
static_assert(of_any_size(density(), info_of<op::reciprocal>()) == 1);
static_assert(of_any_size(density(), info_of<op::divide>()) == 0);

// ---- the gradient in what scalars are taken from: the parts, next to each other

constexpr bool parts_are_joined(std::initializer_list<int> order) {
  extend::builder b;
  extend::symbol const in = b.symbol_of(element::float64, simplify_cases::shape_of(b, {3}));
  b.set_inputs(&in, 1);
  term y = extend::constant(b, element::float64, 0, 1);
  for (int k : order) y = y * extend::apply<op::exp>(y + extend::at({&b, in}, 0, k));
  extend::symbol dx = extend::none;
  detail::gradient(b, {.outputs = &y.id, .output_count = 1, .wrt = &in, .wrt_count = 1}, &dx);
  b.set_outputs(&dx, 1);
  graph const less = detail::simplify(b.get());
  return of_any_size(less, info_of<op::concatenate>()) == 1 && of_any_size(less, info_of<op::pad>()) == 0 &&
         large(less, info_of<op::add>()) == 0;
}
static_assert(parts_are_joined({0, 1, 2}));
static_assert(parts_are_joined({2, 1, 0}));
static_assert(parts_are_joined({0, 2, 1}));
static_assert(parts_are_joined({1, 0, 2}));

template <int Parts> struct taken_apart {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol const in = b.symbol_of(element::float64, simplify_cases::shape_of(b, {Parts}));
    b.set_inputs(&in, 1);
    term y = extend::constant(b, element::float64, 0, 1);
    for (int k = 0; k < Parts; ++k) y = y * extend::at({&b, in}, 0, k);
    extend::symbol dx = extend::none;
    detail::gradient(b, {.outputs = &y.id, .output_count = 1, .wrt = &in, .wrt_count = 1}, &dx);
    b.set_outputs(&dx, 1);
    return {b.get(), b.failed()};
  }
};

// ---- every operation on constants, where its value is not a number or too large too: what cannot be computed by the
// compiler is left to the program, and is no error

template <class Op> constexpr bool folds(element type) {
  for (double value : {-1e15, -1000.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 1000.0, 1e15}) {
    extend::builder b;
    extend::symbol x[3]{};
    for (extend::symbol& s : x) s = extend::constant(b, type, 0, value).id;
    extend::symbol const y = b.push(info_of<Op>(), x, Op::arity);
    b.set_outputs(&y, 1);
    graph const less = detail::simplify(b.get());
    if (b.failed().why != nullptr || less.nodes.size() > 3) return false;
  }
  return true;
}
template <class Op> struct folding {
  static_assert(folds<Op>(element::float32));
  static_assert(folds<Op>(element::float64));
};
template <class... Op> constexpr int all_fold(std::tuple<Op...> const*) {
  return (int{sizeof(folding<Op>)} + ...);
}
static_assert(all_fold(static_cast<reference::elementwise_operations const*>(nullptr)) > 0);

constexpr double folded(double value) {
  extend::builder b;
  extend::symbol const y = extend::apply<op::exp>(extend::constant(b, element::float64, 0, value)).id;
  b.set_outputs(&y, 1);
  graph const less = detail::simplify(b.get());
  return less.nodes[0].op == info_of<op::constant>()
             ? detail::scalar_of(element::float64, less.numbers[0]).real
             : -1;
}
static_assert(folded(0) == 1);
static_assert(folded(1) > 2.718281828 && folded(1) < 2.718281829);

// ---- graphs of a thousand nodes and of three, in stages, each a constant evaluation within the compiler's own limits

constexpr detail::capacity room(int nodes) { return {nodes + 32, nodes + 32, 4 * nodes + 32, nodes + 32}; }

template <int Nodes> struct chain {
  static constexpr detail::built make() {
    extend::builder b;
    std::int32_t const table = simplify_cases::shape_of(b, {8, 16});
    extend::symbol const in[2]{b.symbol_of(element::float64, table), b.symbol_of(element::float64, table)};
    b.set_inputs(in, 2);
    term const x{&b, in[0]}, y{&b, in[1]};
    extend::symbol z = x.id;
    for (int k = 0; k < Nodes; ++k) switch (k % 3) {
      case 0: z = b.push(info_of<op::multiply>(), {z, y.id}); break;
      case 1: z = b.push(info_of<op::add>(), {z, x.id}); break;
      default: z = b.push(info_of<op::tanh>(), {z}); break;
      }
    b.set_outputs(&z, 1);
    return {b.get(), b.failed()};
  }
};
template <class From, int Nodes, bool Fuse> struct simplified {
  static constexpr detail::built make() {
    return {detail::simplify(detail::frozen<From, room(Nodes)>::view, {.rewrite = true, .fuse_multiply_add = Fuse}), {}};
  }
};
template <int Nodes, bool Fuse>
constexpr int left = detail::frozen<simplified<chain<Nodes>, Nodes, Fuse>, room(Nodes)>::value.size.nodes;

static_assert(left<1000, false> == 1000);
static_assert(left<3000, true> == 2000);

// Many parts, joined in linear time; sums of products within sums within sums.
constexpr extend::graph_view many_parts = detail::frozen<simplified<taken_apart<200>, 1600, false>, room(1600)>::view;
static_assert(of_any_size(many_parts, info_of<op::pad>()) == 0);
static_assert(of_any_size(many_parts, info_of<op::concatenate>()) < 10);

template <int Sums> struct nested_sums {
  static constexpr detail::built make() {
    extend::builder b;
    std::int32_t const table = simplify_cases::shape_of(b, {8, 16});
    extend::symbol const in[2]{b.symbol_of(element::float64, table), b.symbol_of(element::float64, 0)};
    b.set_inputs(in, 2);
    term z{&b, in[0]};
    for (int k = 0; k < Sums; ++k) z = z * extend::broadcast_to({&b, in[1]}, table) + (2.0 + k);
    extend::symbol const y = extend::sum(z, 3).id;
    b.set_outputs(&y, 1);
    return {b.get(), b.failed()};
  }
};
static_assert(detail::frozen<simplified<nested_sums<400>, 1600, false>, room(1600)>::view.node_count < 1300);

// The adjoint of a chain: what a gradient leaves behind, a third of it dead.
template <int Nodes> struct adjoint {
  static constexpr detail::built make() {
    extend::builder b(detail::frozen<chain<Nodes>, room(Nodes)>::view);
    extend::symbol const x = b.get().ids[b.get().regions[0].first_input],
                 y = b.get().ids[b.get().regions[0].first_output];
    extend::symbol const loss = extend::sum({&b, y}, 3).id;
    extend::symbol dx = extend::none;
    detail::gradient(b, {.outputs = &loss, .output_count = 1, .wrt = &x, .wrt_count = 1}, &dx);
    b.set_outputs(&dx, 1);
    return {b.get(), b.failed()};
  }
};
template <int Nodes>
constexpr extend::graph_view simple_adjoint =
    detail::frozen<simplified<adjoint<Nodes>, 3 * Nodes, true>, room(3 * Nodes)>::view;

static_assert(detail::frozen<adjoint<1200>, room(3600)>::view.node_count > 3000);
static_assert(simple_adjoint<1200>.node_count < 3000);

} // namespace
