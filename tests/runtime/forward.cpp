// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../random_graph.hpp"
#include "../simplify_cases.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace cotangent;
using reference::values;

namespace {

/// A function of floating inputs with its product with a tangent J v and with a cotangent J' w, in one graph. Inputs:
/// x..., v..., w. Outputs: y, J v, J' w....
struct differentiated {
  extend::builder b;
  detail::array<extend::symbol> x, v;
  extend::symbol w = extend::none;
  bool moves = false;

  explicit differentiated(extend::graph_view const& g) : b(g) {
    detail::array<extend::symbol> all;
    for (int k = 0; k < g.input_count(); ++k) {
      all.push(g.input(k));
      if (is_floating(g.tensors[g.input(k)].type)) x.push(g.input(k));
    }
    extend::symbol const y = g.output(0);
    for (extend::symbol s : x)
      all.push(v.push(b.symbol_of(b.tensor(s).type, b.tensor(s).shape)) >= 0 ? v.back() : extend::none);
    all.push(w = b.symbol_of(b.tensor(y).type, b.tensor(y).shape));
    b.set_inputs(all.data(), all.size());
    detail::array<extend::symbol> results(2 + x.size());
    results[0] = y;
    detail::tangents(b, x.data(), v.data(), x.size(), &y, 1, &results[1]);
    moves = results[1] != extend::none;
    if (!moves) results[1] = extend::constant(b, b.tensor(y).type, b.tensor(y).shape, 0).id;
    detail::gradient(b, {.outputs = &y, .seeds = &w, .output_count = 1, .wrt = x.data(), .wrt_count = x.size()},
             &results[2]);
    b.set_outputs(results.data(), results.size());
  }
};

double dot(values const& a, values const& b) {
  double s = 0;
  for (int i = 0; i < a.size(); ++i) s += a[i].as<double>() * b[i].as<double>();
  return s;
}

/// Both laws at one point: <J v, w> = <v, J' w>, and J v is the limit of differences (step 1e-6, error below 1e-6 of
/// the largest).
void check_laws(graph const& g, std::uint64_t seed, double low, double high, bool differences = true) {
  differentiated const d(g);
  REQUIRE(d.b.failed().why == nullptr);
  REQUIRE(verify(d.b.get()).text == nullptr);
  reference::dice dice(seed);
  detail::array<values> at = reference::inputs_of(d.b.get(), dice, low, high);
  detail::array<values> const r = reference::evaluate(d.b.get(), at);
  int const n = d.x.size(), first_v = at.size() - 1 - n;
  double left = dot(r[1], at[at.size() - 1]), right = 0, size = 1e-300;
  for (int k = 0; k < n; ++k) {
    right += dot(at[first_v + k], r[2 + k]);
    for (int i = 0; i < r[2 + k].size(); ++i) size += std::fabs(at[first_v + k][i].real * r[2 + k][i].real);
  }
  CHECK(std::fabs(left - right) <= 1e-11 * (size + std::fabs(left)));
  if (!differences) return;

  double const h = 1e-6;
  auto const moved = [&](double by) {
    detail::array<values> there = at;
    for (int k = 0, floating = 0; k < first_v; ++k)
      if (there[k].size() > 0 && is_floating(there[k][0].type)) {
        for (int i = 0; i < there[k].size(); ++i) there[k][i].real += by * at[first_v + floating][i].real;
        ++floating;
      }
    return reference::evaluate(d.b.get(), there);
  };
  detail::array<values> const up = moved(h), down = moved(-h);
  double largest = 1;
  for (extend::scalar const& s : r[1]) largest = std::fmax(largest, std::fabs(s.real));
  if (is_floating(r[0][0].type))
    for (int i = 0; i < r[0].size(); ++i)
      CHECK(std::fabs((up[0][i].real - down[0][i].real) / (2 * h) - r[1][i].real) <= 1e-6 * largest);
}

template <class Op> graph one() {
  extend::builder b;
  std::int32_t const shape = simplify_cases::shape_of(b, {7});
  extend::symbol x[3]{};
  for (int k = 0; k < Op::arity; ++k) x[k] = b.symbol_of(element::float64, shape);
  b.set_inputs(x, Op::arity);
  extend::symbol const y = b.push(info_of<Op>(), x, Op::arity);
  b.set_outputs(&y, 1);
  REQUIRE(b.failed().why == nullptr);
  return b.get();
}

template <class... Op> void check_all(std::tuple<Op...> const*) {
  (
      [] {
        INFO(Op::name);
        constexpr double low = std::is_same_v<Op, op::acosh> ? 1.3 : 0.3; // where the function is smooth
        if constexpr (Op::derivative != derivative_kind::none_)
          for (std::uint64_t seed = 1; seed <= 5; ++seed) check_laws(one<Op>(), seed, low, low + 0.6);
      }(),
      ...);
}

namespace e = extend;
using G = simplify_cases::given const&;
using simplify_cases::shaped;

term image(G g) { return shaped(g.x, {4, 3, 1}); }
term weights(G g) { return shaped(g.t, {2, 2, 1, 3}); }
/// Windows of two by two on an image of this size, one beside the other.
detail::stencil_numbers small_windows(std::int64_t height, std::int64_t width) {
  return {{1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 2, height, width}};
}

/// Operations that are not elementwise, and composites. (tests/functions.hpp covers new ones.)
simplify_cases::sample const others[]{
    {"sum", [](G g) { return e::sum(g.t, 5); }, ""},
    {"reduce_max", [](G g) { return e::max(g.x, 1) * e::max(g.y, 3); }, ""},
    {"reduce_min", [](G g) { return e::min(g.x, 2) * e::min(g.y, 3); }, ""},
    {"argmax", [](G g) { return e::convert(e::argmax(g.x, 1), element::float64) * e::sum(g.x, 2); }, ""},
    {"broadcast", [](G g) { return g.as_table(g.row) * g.as_table(g.column) * g.as_table(g.s); }, ""},
    {"reshape", [](G g) { return simplify_cases::shaped(g.x, {2, 6}); }, ""},
    {"permute", [](G g) { return simplify_cases::permuted(g.t, {3, 1, 0, 2}); }, ""},
    {"slice", [](G g) { return simplify_cases::sliced(g.x, {1, 2, 0, 1}, {2, 2}); }, ""},
    {"pad", [](G g) { return simplify_cases::padded(g.x, {1, 2, 0, 1}, {9, 4}); }, ""},
    {"concatenate",
     [](G g) {
       return term{g.x.b, g.x.b->push(info_of<op::concatenate>(), {g.x.id, g.square.id, g.y.id}, {0})};
     },
     ""},
    {"gather", [](G g) { return e::gather(g.t, g.i); }, ""},
    {"scatter_add", [](G g) { return op::scatter_add::of(e::gather(g.x, g.i), g.i, g.x.shape_id()) * g.y; },
     ""},
    {"matmul", [](G g) { return e::matmul(g.x, g.square); }, ""},
    {"matmul, left transposed", [](G g) { return op::matmul::of(g.x, g.y, true, false); }, ""},
    {"matmul, right transposed", [](G g) { return op::matmul::of(g.x, g.y, false, true); }, ""},
    {"matmul, both transposed", [](G g) { return op::matmul::of(g.square, g.x, true, true); }, ""},
    {"select", [](G g) { return e::select(g.c, g.x * g.x, g.y); }, ""},
    {"convert", [](G g) { return e::convert(e::convert(g.x, element::float64) * g.y, element::float64); },
     ""},
    {"identity", [](G g) { return e::apply<op::identity>(g.x) * g.y; }, ""},
    {"after", [](G g) { return e::after(g.x, g.y * g.y) * e::after(g.y, g.x); }, ""},
    {"conv2d", [](G g) { return e::conv2d(image(g), weights(g), {.stride = {2, 1}, .padding = 1}); }, ""},
    {"conv2d_image",
     [](G g) {
       return detail::convolution_of<op::conv2d_image>(shaped(g.x, {4, 1, 3}), weights(g), small_windows(5, 2));
     },
     ""},
    {"conv2d_weight",
     [](G g) {
       return detail::convolution_of<op::conv2d_weight>(image(g), shaped(g.t, {3, 2, 2}), small_windows(4, 3));
     },
     ""},
    {"max_pool2d", [](G g) { return e::max_pool2d(image(g), {.window = 3, .stride = 1, .padding = 1}); }, ""},
    {"max_pool2d_image",
     [](G g) {
       return detail::pooling_of<op::max_pool2d_image>({shaped(g.column, {1, 2, 2}), shaped(g.x, {2, 3, 2})},
                                                       small_windows(2, 3));
     },
     ""},
    {"max_pool2d_tangent",
     [](G g) {
       return detail::pooling_of<op::max_pool2d_tangent>({shaped(g.y, {2, 3, 2}), shaped(g.x, {2, 3, 2})},
                                                         small_windows(2, 3));
     },
     ""},
    {"avg_pool2d", [](G g) { return e::avg_pool2d(image(g), {.window = 3, .stride = 2, .padding = 1}); }, ""},
    {"avg_pool2d_image",
     [](G g) { return detail::pooling_of<op::avg_pool2d_image>({shaped(g.column, {1, 2, 2})}, small_windows(2, 3)); },
     ""},
    {"logsumexp", [](G g) { return e::logsumexp(g.x, 2); }, ""},
    {"softmax", [](G g) { return e::softmax(g.x, 1); }, ""},
    {"cross_entropy",
     [](G g) { return e::cross_entropy(g.x, e::convert(e::argmax(g.y, 1), element::int32)); }, ""},
};

graph written(simplify_cases::sample const& s) {
  extend::builder b;
  simplify_cases::write(b, s);
  REQUIRE(b.failed().why == nullptr);
  return b.get();
}

} // namespace

TEST_CASE("every elementwise operation obeys the laws of derivatives") {
  check_all(static_cast<reference::elementwise_operations const*>(nullptr));
}

TEST_CASE("every other operation obeys the laws of derivatives") {
  for (simplify_cases::sample const& s : others) {
    INFO(s.sentence);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) check_laws(written(s), seed, 0.3, 2.7);
  }
}

TEST_CASE("tangents and adjoints agree on random graphs, simplified or not") {
  int convolutions = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO(seed);
    extend::builder b;
    reference::dice d(seed);
    reference::random_graph(b, d, 40, true, true, seed % 3 == 0);
    for (extend::node const& n : b.get().nodes) convolutions += n.op == info_of<op::conv2d>();
    check_laws(b.get(), seed, -1.5, 1.5, false); // stop_gradient: differences are no witness
    differentiated const both(b.get());
    reference::dice dice(seed);
    detail::array<values> const at = reference::inputs_of(both.b.get(), dice, -1.5, 1.5);
    detail::array<values> const r = reference::evaluate(both.b.get(), at);
    graph const less = detail::simplify(both.b.get(), {.rewrite = true, .fuse_multiply_add = true});
    REQUIRE(verify(less).text == nullptr);
    detail::array<values> const q = reference::evaluate(less, at);
    for (int k = 0; k < r.size(); ++k) {
      double size = 1;
      for (extend::scalar const& s : r[k]) size = std::fmax(size, std::fabs(s.real));
      for (int i = 0; i < r[k].size(); ++i) CHECK(std::fabs(r[k][i].real - q[k][i].real) <= 1e-10 * size);
    }
  }
  CHECK(convolutions > 20);
}

TEST_CASE("a wrong derivative is noticed") {
  // J v of x x against the differences of x x + x
  graph const g = one<op::square>();
  differentiated d(g);
  extend::symbol const outputs[3]{
      (term{&d.b, d.b.get().ids[d.b.get().regions[0].first_output]} + term{&d.b, d.x[0]}).id,
      d.b.get().ids[d.b.get().regions[0].first_output + 1],
      d.b.get().ids[d.b.get().regions[0].first_output + 2]};
  d.b.set_outputs(outputs, 3);
  reference::dice dice(3);
  detail::array<values> at = reference::inputs_of(d.b.get(), dice, 0.3, 0.9);
  detail::array<values> const r = reference::evaluate(d.b.get(), at);
  double const h = 1e-6;
  for (int i = 0; i < at[0].size(); ++i) at[0][i].real += h * at[1][i].real;
  double const up = reference::evaluate(d.b.get(), at)[0][0].real;
  CHECK(std::fabs((up - r[0][0].real) / h - r[1][0].real) > 0.1);
}

TEST_CASE("every elementwise operation with a derivative is tested by a law") {
  std::vector<operation const*> met;
  std::apply([&](auto... operation_) { (met.push_back(info_of<decltype(operation_)>()), ...); },
             reference::elementwise_operations{});
  for (simplify_cases::sample const& s : others) {
    graph const g = written(s);
    for (extend::node const& n : g.nodes) met.push_back(n.op);
  }
  std::apply(
      [&](auto... operation_) {
        for (operation const* const o : {info_of<decltype(operation_)>()...}) {
          INFO(o->name);
          CHECK((o->derivative != derivative_kind::differentiable || o->kind == operation_kind::control ||
                 std::find(met.begin(), met.end(), o) != met.end()));
        }
      },
      reference::law_operations{});
}

TEST_CASE("the second derivative is symmetric") {
  for (simplify_cases::sample const& s : others) {
    INFO(s.sentence);
    extend::builder b;
    simplify_cases::write(b, s);
    extend::graph_view const g = b.get();
    extend::symbol const x = g.input(0);
    term const y{&b, g.output(0)};
    if (!is_floating(y.type())) continue;
    extend::symbol const loss = e::sum(e::apply<op::sin>(y), e::all_axes(y)).id;
    extend::symbol dx = extend::none, seeds[2]{b.symbol_of(element::float64, b.tensor(x).shape),
                               b.symbol_of(element::float64, b.tensor(x).shape)};
    detail::gradient(b, {.outputs = &loss, .output_count = 1, .wrt = &x, .wrt_count = 1}, &dx);
    extend::symbol h[2]{};
    for (int k = 0; k < 2; ++k) {
      detail::tangents(b, &x, &seeds[k], 1, &dx, 1, &h[k]);
      if (h[k] == extend::none) h[k] = extend::constant(b, element::float64, b.tensor(x).shape, 0).id;
    }
    REQUIRE(b.failed().why == nullptr);
    detail::array<extend::symbol> in;
    for (int k = 0; k < 9; ++k) in.push(b.get().ids[b.get().regions[0].first_input + k]);
    in.push(seeds[0]);
    in.push(seeds[1]);
    b.set_inputs(in.data(), in.size());
    b.set_outputs(h, 2);
    reference::dice dice(11);
    detail::array<values> const at = reference::inputs_of(b.get(), dice, 0.3, 2.7);
    detail::array<values> const r = reference::evaluate(b.get(), at);
    double const left = dot(r[0], at[10]), right = dot(r[1], at[9]);
    CHECK(std::fabs(left - right) <= 1e-10 * (1 + std::fabs(left)));
  }
}
