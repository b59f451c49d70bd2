// SPDX-License-Identifier: BSL-1.0
#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/program/frozen_plan.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/pipeline.hpp>

// How many loop nests and stages programs take, and that planning stays within the compilers' limits.

using namespace cotangent;

namespace {

template <class Make> struct simplified {
  struct made {
    static constexpr detail::built make() { return {detail::simplify(detail::frozen<Make>::view), {}}; }
  };
  static constexpr extend::graph_view view = detail::frozen<made, detail::capacity::of(detail::frozen<Make>::view)>::view;
};
template <class Make> constexpr auto const& plan_of = detail::planned<simplified<Make>, 32>::value;

template <class Make> constexpr int nests = plan_of<Make>.size.nests;
template <class Make> constexpr int kernels = [] {
  int n = 0;
  for (int k = 0; k < plan_of<Make>.size.nests; ++k) n += plan_of<Make>.nests.data[k].kind == detail::nest_kind::kernel;
  return n;
}();
template <class Make, int K> constexpr detail::nest nest_of = plan_of<Make>.nests.data[K];

constexpr term input(extend::builder& b, element e, extend::dimensions const& d) { return {&b, b.symbol_of(e, b.shape(d))}; }
/// The value and its gradients.
constexpr detail::built with_gradients(extend::builder& b, term value, std::initializer_list<term> in, int differentiated) {
  extend::symbol ids[8]{}, out[9]{value.id};
  int n = 0;
  for (term const& t : in) ids[n++] = t.id;
  b.set_inputs(ids, n);
  detail::gradient(b, {&value.id, nullptr, 1, ids, differentiated}, out + 1);
  b.set_outputs(out, 1 + differentiated);
  return {b.get(), b.failed()};
}

struct softmax_cross_entropy {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float32, {2, {64, 10}}), labels = input(b, element::int64, {1, {64}});
    return with_gradients(b, extend::mean(extend::cross_entropy(x, labels), 1), {x, labels}, 1);
  }
};
static_assert(nests<softmax_cross_entropy> == 2 && kernels<softmax_cross_entropy> == 0);
static_assert(nest_of<softmax_cross_entropy, 0>.stages == 3 && nest_of<softmax_cross_entropy, 0>.split == 1);
static_assert(nest_of<softmax_cross_entropy, 1>.rank == 0);
static_assert([] { // the label's logit is one load a row, no sum
  int picks = 0, sums = 0;
  for (int k = 0; k < plan_of<softmax_cross_entropy>.size.instances; ++k) {
    picks += plan_of<softmax_cross_entropy>.instances.data[k].what == detail::action::pick;
    sums += plan_of<softmax_cross_entropy>.instances.data[k].what == detail::action::reduce;
  }
  return picks == 1 && sums == 2;
}());

struct layer_norm {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float32, {2, {128, 512}}), scale = input(b, element::float32, {1, {512}}),
               shift = input(b, element::float32, {1, {512}}), dy = input(b, element::float32, {2, {128, 512}});
    term const centered = x - extend::mean(x, 2, true);
    term const y = centered / extend::apply<op::sqrt>(extend::mean(centered * centered, 2, true) + 1e-5) * scale + shift;
    return with_gradients(b, extend::sum(y * dy, 3), {x, scale, shift, dy}, 3);
  }
};
static_assert(nests<layer_norm> == 1 && kernels<layer_norm> == 0);
// Sums without a waiting reader are computed in stages that read their operands: those of mean and variance load only `x`.
template <class Make> constexpr int loads(int stage) {
  int n = 0;
  for (int k = 0; k < plan_of<Make>.size.instances; ++k) {
    detail::instance const& v = plan_of<Make>.instances.data[k];
    n += v.what == detail::action::load && v.where == detail::role::lane && v.stage == stage;
  }
  return n;
}
static_assert(nest_of<layer_norm, 0>.stages == 5 && loads<layer_norm>(0) == 1 && loads<layer_norm>(1) == 1);

struct log_sum_exp {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {4096}});
    return with_gradients(b, extend::logsumexp(x, 1), {x}, 1);
  }
};
static_assert(nests<log_sum_exp> == 1 && nest_of<log_sum_exp, 0>.stages == 3 && nest_of<log_sum_exp, 0>.rank == 1);

/// Windows on neighbors, and their gradients, run in one nest with the sum.
struct rosenbrock {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {4096}}), here = extend::slice(x, 0, 0, 4095), after = extend::slice(x, 0, 1, 4095);
    term const t = after - here * here, u = 1 - here;
    return with_gradients(b, extend::sum(100 * t * t + u * u, 1), {x}, 1);
  }
};
static_assert(nests<rosenbrock> == 1 && kernels<rosenbrock> == 0);

struct normal_log_density {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {1000}}), mean = input(b, element::float64, {}), sd = input(b, element::float64, {});
    term const z = (x - mean) / sd;
    return with_gradients(b, extend::sum(-0.5 * (z * z) - extend::apply<op::log>(sd) - 0.9189385332046727, 1), {x, mean, sd}, 3);
  }
};
static_assert(nests<normal_log_density> <= 2 && kernels<normal_log_density> == 0);

struct elementwise_chain {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {2, {30, 40}}), y = input(b, element::float64, {2, {30, 40}}), dy = input(b, element::float64, {2, {30, 40}});
    term const value = extend::sum(dy * extend::apply<op::tanh>(extend::apply<op::sin>(x * y) + extend::apply<op::exp>(-x)), 3);
    return with_gradients(b, value, {x, y, dy}, 2);
  }
};
static_assert(nests<elementwise_chain> == 1 && nest_of<elementwise_chain, 0>.stages == 1);
static_assert(nest_of<elementwise_chain, 0>.rank == 1 && nest_of<elementwise_chain, 0>.size[0] == 1200);

struct two_products {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float32, {2, {32, 64}}), w = input(b, element::float32, {2, {64, 48}}), v = input(b, element::float32, {2, {48, 10}});
    extend::symbol const in[3]{x.id, w.id, v.id};
    b.set_inputs(in, 3);
    term const y = extend::matmul(extend::apply<op::tanh>(extend::matmul(x, w)), v);
    b.set_outputs(&y.id, 1);
    return {b.get(), b.failed()};
  }
};
static_assert(nests<two_products> == 3 && kernels<two_products> == 2);

/// Halves of a row that is computed as a vector: axes of size 1 move nothing, so it is not copied.
struct halves_of_a_row {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {64}});
    b.set_inputs(&x.id, 1);
    term const row = op::reshape::of(extend::apply<op::exp>(x), b.shape(extend::dimensions{2, {1, 64}}));
    term const y = extend::slice(row, 1, 0, 32) * extend::apply<op::tanh>(extend::slice(row, 1, 32, 32));
    b.set_outputs(&y.id, 1);
    return {b.get(), b.failed()};
  }
};
static_assert(nests<halves_of_a_row> == 2 && kernels<halves_of_a_row> == 0);

/// tanh(h w + x), again and again, with its gradient: so many nodes.
template <int Steps> struct recurrence {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, element::float64, {1, {100}}), w = input(b, element::float64, {1, {100}});
    term h = x;
    for (int k = 0; k < Steps; ++k) h = extend::apply<op::tanh>(h * w + x);
    return with_gradients(b, extend::sum(h, 1), {x, w}, 2);
  }
};
template <int Steps> using long_program = simplified<recurrence<Steps>>;
static_assert(long_program<110>::view.node_count > 700);
static_assert(plan_of<recurrence<110>>.size.nests == 1);

// Three thousand nodes and more after backward, in the same limits.
struct taken_from_outside {
  static constexpr extend::graph_view view = detail::frozen<recurrence<300>, detail::capacity{.tensors = 4000, .nodes = 4000, .ids = 16000, .numbers = 4000}>::view;
};
static_assert(taken_from_outside::view.node_count >= 3000);
static_assert(detail::planned<taken_from_outside, 64>::value.size.nests >= 1);

// The same plan, evaluated twice; and in another order of magnitude of vectors the same nests.
constexpr bool plans_are_the_same() {
  extend::graph_view const g = simplified<softmax_cross_entropy>::view;
  detail::plan const p = detail::make_plan(g, 32), q = detail::make_plan(g, 32);
  if (p.operands != q.operands || p.lists != q.lists || p.results != q.results || p.instances.size() != q.instances.size()) return false;
  for (int k = 0; k < p.instances.size(); ++k)
    if (p.instances[k].place != q.instances[k].place || p.instances[k].value != q.instances[k].value) return false;
  return p.operands.size() == plan_of<softmax_cross_entropy>.size.operands && detail::make_plan(g, 64).nests.size() == p.nests.size();
}
static_assert(plans_are_the_same());

} // namespace
