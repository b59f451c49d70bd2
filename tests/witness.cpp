// SPDX-License-Identifier: BSL-1.0
// The half of tests/witness.hpp that is compiled once.
#include "witness.hpp"

#include <cotangent/graph/verify.hpp>
#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/run/reference/evaluate.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace witness {
namespace {

// ---- arguments

/// Distinct numbers away from 0 and from all integers, so that a small step crosses no kink; those of one argument differ
/// from those of the others where the shapes are equal.
double number(domain d, std::int64_t i, std::int64_t count, int argument) {
  std::int64_t step = 7;
  while (std::gcd(count, step) != 1) step += 2;
  double const u = (static_cast<double>(i * step % count) + 0.25 + 0.35 * (argument % 3)) / static_cast<double>(count);
  if (d == domain::positive) return 0.3 + 1.5 * u;
  double const starts[]{-1.8, -0.8, 0.2, 1.2};
  int const piece = static_cast<int>(4 * u) & 3;
  return starts[piece] + 0.6 * (4 * u - piece);
}

detail::array<values> arguments_of(extend::graph_view const& g, std::vector<domain> const& domains, std::int64_t const* known) {
  graph const sized = reference::concrete(g, known);
  extend::graph_view const of = sized;
  detail::array<values> r;
  for (int k = 0; k < static_cast<int>(domains.size()); ++k) {
    domain const from = domains[static_cast<std::size_t>(k)];
    element const type = of.tensors[of.input(k)].type;
    std::int64_t const n = reference::count(of.shape(of.input(k)));
    values numbers;
    for (std::int64_t i = 0; i < n; ++i)
      numbers.push(from == domain::position
                       ? extend::scalar{type, 0, (3 * i + 1) % 5}
                       : reference::number(type, number(from, i, n, k)));
    r.push(static_cast<values&&>(numbers));
  }
  return r;
}

/// For each of these symbols a direction; different ones for different `which`.
void push_directions(detail::array<values>& to, extend::graph_view const& sized, detail::array<extend::symbol> const& symbols, double which) {
  for (extend::symbol const s : symbols) {
    values direction;
    which += 0.7;
    for (std::int64_t i = 0; i < reference::count(sized.shape(s)); ++i)
      direction.push(reference::number(sized.tensors[s].type, std::sin(1.3 * static_cast<double>(i) + which)));
    to.push(static_cast<values&&>(direction));
  }
}

// ---- the executions that need no compiler

struct bytes_of_arguments {
  std::vector<std::vector<unsigned char>> in, out;
  explicit bytes_of_arguments(extend::graph_view const& sized, detail::array<values> const& arguments) {
    for (int k = 0; k < sized.input_count(); ++k) {
      std::size_t const each = size_of(sized.tensors[sized.input(k)].type);
      in.emplace_back(each * static_cast<std::size_t>(arguments[k].size()) + 1);
      for (int i = 0; i < arguments[k].size(); ++i)
        executing::put(in.back().data() + each * static_cast<std::size_t>(i), arguments[k][i]);
    }
    for (int k = 0; k < sized.output_count(); ++k)
      out.emplace_back(size_of(sized.tensors[sized.output(k)].type) *
                           static_cast<std::size_t>(reference::count(sized.shape(sized.output(k)))) +
                       1);
  }
};
detail::array<values> values_of(extend::graph_view const& sized, std::vector<std::vector<unsigned char>> const& out) {
  detail::array<values> r;
  for (int k = 0; k < sized.output_count(); ++k) {
    element const type = sized.tensors[sized.output(k)].type;
    values v;
    for (std::int64_t i = 0; i < reference::count(sized.shape(sized.output(k))); ++i)
      v.push(executing::get(out[static_cast<std::size_t>(k)].data() + size_of(type) * static_cast<std::size_t>(i), type));
    r.push(static_cast<values&&>(v));
  }
  return r;
}

} // namespace

detail::array<values> interpreted(extend::graph_view const& g, std::int64_t const* known, detail::array<values> const& arguments) {
  graph const sized = reference::concrete(g, known);
  bytes_of_arguments memory(sized, arguments);
  interpreter const p(g, known);
  REQUIRE(p.failed().why == nullptr);
  executing::guarded workspace(static_cast<std::size_t>(p.workspace_bytes()), 64, 0xFF);
  std::vector<void const*> in;
  std::vector<void*> out;
  for (auto& b : memory.in) in.push_back(b.data());
  for (auto& b : memory.out) out.push_back(b.data());
  REQUIRE(p.run(in.data(), out.data(), workspace.data()) == status::ok);
  REQUIRE(workspace.intact());
  return values_of(sized, memory.out);
}

namespace {
template <class Elements, class Byte> Elements elements_at(element type, Byte* p) {
  auto const as = [&]<class T>(T*) {
    if constexpr (std::is_const_v<Byte>) return Elements(reinterpret_cast<T const*>(p));
    else return Elements(reinterpret_cast<T*>(p));
  };
  switch (type) {
  case element::float32: return as(static_cast<float*>(nullptr));
  case element::float64: return as(static_cast<double*>(nullptr));
  case element::int32: return as(static_cast<std::int32_t*>(nullptr));
  case element::int64: return as(static_cast<std::int64_t*>(nullptr));
  case element::boolean: break;
  case element::float16: return as(static_cast<float16*>(nullptr));
  case element::bfloat16: return as(static_cast<bfloat16*>(nullptr));
  }
  return as(static_cast<bool*>(nullptr));
}
} // namespace

detail::array<values> evaluated(extend::graph_view const& g, std::int64_t const* known, detail::array<values> const& arguments) {
  graph const sized = reference::concrete(g, known);
  extend::graph_view const of = sized;
  bytes_of_arguments memory(sized, arguments);
  std::vector<detail::elements_in> in;
  std::vector<detail::elements_out> out;
  for (int k = 0; k < of.input_count(); ++k)
    in.push_back(elements_at<detail::elements_in>(of.tensors[of.input(k)].type, std::as_const(memory.in[static_cast<std::size_t>(k)]).data()));
  for (int k = 0; k < of.output_count(); ++k)
    out.push_back(elements_at<detail::elements_out>(of.tensors[of.output(k)].type, memory.out[static_cast<std::size_t>(k)].data()));
  in.emplace_back();
  out.emplace_back();
  REQUIRE(evaluate(g, known, in.data(), out.data()).ok());
  return values_of(sized, memory.out);
}

namespace {
/// By output: whether a sum, the order of whose terms differs from execution to execution, stands before it.
std::vector<bool> behind_sums(extend::graph_view const& g) {
  std::vector<bool> of(static_cast<std::size_t>(g.tensor_count)), outputs;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    extend::node const& n = g.nodes[i];
    bool any = n.op == info_of<op::sum>() || n.op->kind == operation_kind::matmul ||
               n.op->kind == operation_kind::scatter_add;
    for (int k = 0; k < n.operand_count; ++k) any = any || of[static_cast<std::size_t>(g.operand(n, k))];
    of[static_cast<std::size_t>(g.result(n))] = any;
  }
  for (int k = 0; k < g.output_count(); ++k) outputs.push_back(of[static_cast<std::size_t>(g.output(k))]);
  return outputs;
}

// ---- comparing

constexpr bool fast = math::is_fast;
constexpr double rounding(element e) { return e == element::float32 ? 4e-6 : 1e-13; }
constexpr double step(element e) { return e == element::float32 ? 1. / 1024 : 1e-5; }
constexpr double difference_error(element e) { return e == element::float32 ? 1e-2 : 1e-7; }

double of(extend::scalar const& s) { return is_floating(s.type) ? s.real : static_cast<double>(s.integer); }
/// A NaN equals a NaN; what is beyond all numbers in the formula may be infinite or the largest number.
bool near(double is, double expected, double tolerance) {
  if (is == expected) return true;
  if (math::is_nan(is) || math::is_nan(expected)) return math::is_nan(is) && math::is_nan(expected);
  if (std::fabs(expected) > 1e300) return is / expected > 0 && std::fabs(is) > 3e38;
  return std::fabs(is - expected) <= tolerance * (1 + std::fabs(expected));
}
bool same_bits(extend::scalar const& a, extend::scalar const& b) {
  return a.integer == b.integer && (std::bit_cast<std::int64_t>(a.real) == std::bit_cast<std::int64_t>(b.real) ||
                                    (math::is_nan(a.real) && math::is_nan(b.real)));
}

} // namespace

void check_same(char const* what, extend::graph_view const& g, detail::array<values> const& a, detail::array<values> const& b) {
  std::vector<bool> const sums = behind_sums(g);
  for (int k = 0; k < a.size(); ++k) {
    int wrong = extend::none;
    for (int i = 0; i < a[k].size() && wrong == extend::none; ++i) {
      bool const rounded = fast || sums[static_cast<std::size_t>(k)];
      if (!(rounded ? near(of(a[k][i]), of(b[k][i]), 30 * rounding(a[k][i].type)) : same_bits(a[k][i], b[k][i]))) wrong = i;
    }
    if (wrong == extend::none) continue;
    INFO(what << ": output " << k << " at " << wrong << ": " << of(a[k][wrong]) << " and " << of(b[k][wrong]));
    FAIL_CHECK("two executions of one graph differ");
  }
}

namespace {

/// Two graphs that stand for the same: to rounding, of which the largest element has most.
void check_near(char const* what, detail::array<values> const& a, detail::array<values> const& b) {
  for (int k = 0; k < a.size(); ++k) {
    double largest = 1;
    for (extend::scalar const& s : b[k])
      if (std::fabs(of(s)) < 1e38 && std::fabs(of(s)) > largest) largest = std::fabs(of(s));
    for (int i = 0; i < a[k].size(); ++i)
      if (!near(of(a[k][i]), of(b[k][i]), 100 * rounding(a[k][i].type) * largest)) {
        CAPTURE(what, k, i, of(a[k][i]), of(b[k][i]));
        FAIL_CHECK("two forms of one function differ");
        break;
      }
  }
}

// ---- the formula

formula::sizes sizes_of(extend::graph_view const& sized, extend::symbol t) {
  extend::dimensions const& d = sized.shape(t);
  return formula::sizes(d.size, d.size + d.rank);
}

/// A function by its formula, with the derivative along `directions` (by argument; null where none).
std::vector<dual> by_formula(subject const& f, extend::graph_view const& sized, detail::array<values> const& x,
                                    std::vector<values const*> const& directions) {
  std::vector<grid> in;
  for (int k = 0; k < x.size(); ++k) {
    in.push_back({sizes_of(sized, sized.input(k)), {}});
    values const* const direction = directions[static_cast<std::size_t>(k)];
    for (int i = 0; i < x[k].size(); ++i)
      in.back().at.push_back({of(x[k][i]), direction == nullptr ? 0 : of((*direction)[i])});
  }
  if (f.of_arrays != nullptr) return f.of_arrays(in.data()).at;
  std::vector<dual> one(in.size());
  return formula::made(sizes_of(sized, sized.output(f.output)), [&](formula::place const& p) {
           for (std::size_t a = 0; a < in.size(); ++a) { // aligned at the last axis
             formula::place q(in[a].size.size());
             for (std::size_t k = 1; k <= q.size(); ++k)
               q[q.size() - k] = k <= p.size() ? p[p.size() - k] % std::max<std::int64_t>(1, in[a].size[q.size() - k]) : 0;
             one[a] = in[a].at.empty() ? dual() : in[a](q);
           }
           return f.of_numbers(one.data());
         })
      .at;
}

double inner(values const& a, values const& b) {
  double s = 0;
  for (int i = 0; i < a.size(); ++i) s += of(a[i]) * of(b[i]);
  return s;
}
double magnitude(values const& a, values const& b) {
  double s = 0;
  for (int i = 0; i < a.size(); ++i) s += std::fabs(of(a[i]) * of(b[i]));
  return s;
}

detail::array<values> joined(detail::array<values> const& a, detail::array<values> const& b) {
  detail::array<values> r = a;
  for (values const& v : b) r.push(v);
  return r;
}

void check_value(std::vector<dual> const& expected, values const& y) {
  REQUIRE(static_cast<std::size_t>(y.size()) == expected.size());
  for (int i = 0; i < y.size(); ++i)
    if (!near(of(y[i]), expected[static_cast<std::size_t>(i)].v, 30 * rounding(is_floating(y[i].type) ? y[i].type : element::float64))) {
      CAPTURE(i, of(y[i]), expected[static_cast<std::size_t>(i)].v);
      FAIL_CHECK("the value is not that of the formula");
      return;
    }
}

/// One function at these sizes, by every witness that needs no compiler.
void check_function(group_view const& of_group, subject const& f, std::int64_t n, std::int64_t m) {
  extend::graph_view const t = of_group.traced;
  std::size_t const arguments = of_group.domains.size();
  CAPTURE(f.name, n, m);
  detail::array<extend::symbol> one;
  one.push(t.output(f.output));
  differentiated d(t, one);
  REQUIRE(d.b.failed().why == nullptr);
  graph const plain = d.b.get();
  REQUIRE(verify(plain).text == nullptr);
  extend::graph_view const g = plain;
  std::vector<std::int64_t> const known = executing::known_of(g, n, m);
  graph const fixed = reference::concrete(g, known.data());
  extend::graph_view const sized = fixed;
  graph const traced_fixed = reference::concrete(t, known.data());
  element const type = sized.tensors[sized.output(0)].type;
  double const exact = 100 * rounding(type);

  detail::array<values> const x = arguments_of(t, of_group.domains, known.data());
  detail::array<values> v, w;
  push_directions(v, sized, d.v, 0.2);
  push_directions(w, sized, d.w, 2.1);
  detail::array<values> const all = joined(joined(x, v), w);
  detail::array<values> const r = interpreted(g, known.data(), all);

  // the executions, as the graph stands and simplified
  check_same("interpreter, constant evaluation", g, r, evaluated(g, known.data(), all));
  graph const simplified = detail::simplify(g);
  extend::graph_view const s = simplified;
  std::vector<std::int64_t> const later = executing::known_of(s, n, m);
  detail::array<values> const rewritten = interpreted(s, later.data(), all);
  check_same("interpreter, constant evaluation, simplified", s, rewritten, evaluated(s, later.data(), all));
  check_near("simplified and not", rewritten, r);

  // the formula and its derivative along v
  std::vector<values const*> along(arguments, nullptr);
  std::vector<int> argument_of; // by floating argument
  for (int k = 0; k < static_cast<int>(arguments); ++k)
    if (is_floating(sized.tensors[sized.input(k)].type)) {
      along[static_cast<std::size_t>(k)] = &v[static_cast<int>(argument_of.size())];
      argument_of.push_back(k);
    }
  std::vector<dual> const expected = by_formula(f, traced_fixed, x, along);
  check_value(expected, r[0]);
  if (!is_floating(type)) return;
  bool const moves = d.dy[0] != extend::none;
  double largest = 1;
  for (dual const y : expected) {
    if (!moves) CHECK(y.d == 0);
    if (std::fabs(y.d) > largest) largest = std::fabs(y.d);
    if (std::fabs(y.v) > largest && std::fabs(y.v) < 1e300) largest = std::fabs(y.v);
  }
  if (moves)
    for (int i = 0; i < r[1].size(); ++i)
      if (!near(of(r[1][i]), expected[static_cast<std::size_t>(i)].d, exact * largest)) {
        CAPTURE(i, of(r[1][i]), expected[static_cast<std::size_t>(i)].d);
        FAIL_CHECK("forward mode does not give the derivative of the formula");
        break;
      }

  // <J v, w> = <v, J' w>
  int const first = moves ? 2 : 1;
  double right = 0, size = 1;
  for (int k = 0; k < d.x.size(); ++k) {
    right += inner(v[k], r[first + k]);
    size += magnitude(v[k], r[first + k]);
  }
  double const left = moves ? inner(r[1], w[0]) : 0;
  CAPTURE(left, right, size);
  CHECK((math::is_nan(left) || std::fabs(left - right) <= exact * size)); // (the mean of nothing is none)

  // J' w, place by place, and the formula
  for (int k = 0; k < d.x.size(); ++k) {
    int const argument = argument_of[static_cast<std::size_t>(k)], places = x[argument].size();
    for (int i = 0; i < places; i += 1 + places / 9) {
      values unit(places, reference::number(type, 0));
      unit[i].real = 1;
      std::vector<values const*> directions(arguments, nullptr);
      directions[static_cast<std::size_t>(argument)] = &unit;
      std::vector<dual> const moved = by_formula(f, traced_fixed, x, directions);
      double should = 0, most = 1;
      for (int j = 0; j < w[0].size(); ++j) {
        double const part = of(w[0][j]) * moved[static_cast<std::size_t>(j)].d;
        should += part;
        most += std::fabs(part);
      }
      CAPTURE(argument, i, of(r[first + k][i]), should);
      if (!near(of(r[first + k][i]), should, exact * most)) FAIL_CHECK("reverse mode does not give the derivative of the formula");
    }
  }
  if (!moves || !f.smooth || n * m == 0) return;

  // central differences of the value and of J' w along v; and second derivatives are symmetric
  auto const moved = [&](double by) {
    detail::array<values> there = all;
    for (int k = 0; k < d.x.size(); ++k) {
      values& numbers = there[argument_of[static_cast<std::size_t>(k)]];
      for (int i = 0; i < numbers.size(); ++i) numbers[i] = reference::number(type, of(numbers[i]) + by * of(v[k][i]));
    }
    return interpreted(g, known.data(), there);
  };
  double const h = step(type);
  detail::array<values> const up = moved(h), down = moved(-h);
  for (int i = 0; i < r[0].size(); ++i) {
    double const slope = (of(up[0][i]) - of(down[0][i])) / (2 * h);
    if (std::fabs(slope - of(r[1][i])) <= difference_error(type) * largest) continue;
    CAPTURE(i, slope, of(r[1][i]));
    FAIL_CHECK("central differences differ");
    break;
  }
  detail::array<extend::symbol> second(d.x.size(), extend::none);
  detail::tangents(d.b, d.x.data(), d.v.data(), d.x.size(), d.dx.data(), d.x.size(), second.data());
  REQUIRE(d.b.failed().why == nullptr);
  detail::array<extend::symbol> there;
  std::vector<int> which;
  for (int k = 0; k < second.size(); ++k)
    if (second[k] != extend::none) {
      there.push(second[k]);
      which.push_back(k);
    }
  if (there.empty()) return;
  d.b.set_outputs(there.data(), there.size());
  detail::array<values> u;
  push_directions(u, sized, d.v, 5.5);
  detail::array<values> const hv = interpreted(d.b.get(), known.data(), all),
                      hu = interpreted(d.b.get(), known.data(), joined(joined(x, u), w));
  double uhv = 0, vhu = 0;
  size = 1;
  for (std::size_t j = 0; j < which.size(); ++j) {
    int const k = which[j], at = static_cast<int>(j);
    uhv += inner(u[k], hv[at]);
    vhu += inner(v[k], hu[at]);
    size += magnitude(u[k], hv[at]) + magnitude(v[k], hu[at]);
    double most = largest;
    for (extend::scalar const& y : hv[at]) most = std::fmax(most, std::fabs(of(y)));
    for (int i = 0; i < hv[at].size(); ++i) {
      double const slope = (of(up[first + k][i]) - of(down[first + k][i])) / (2 * h);
      if (std::fabs(slope - of(hv[at][i])) <= 10 * difference_error(type) * most) continue;
      CAPTURE(k, i, slope, of(hv[at][i]));
      FAIL_CHECK("of the gradient, central differences differ");
      break;
    }
  }
  CAPTURE(uhv, vhu);
  CHECK(std::fabs(uhv - vhu) <= exact * size);
}

} // namespace

void check_covered(std::initializer_list<operation const*> list, std::span<group_view const> groups) {
  std::vector<operation const*> met;
  for (group_view const& g : groups) {
    differentiated const d(g.traced, outputs_of(g.traced));
    for (extend::node const& n : d.b.get().nodes) met.push_back(n.op);
  }
  for (operation const* const o : list) {
    INFO(o->name << " is in no function of tests/functions.hpp: give the function that uses it an entry there");
    bool const emitted_by_simplify = o == info_of<op::update_rows>(); // tests/runtime/update_rows.cpp
    CHECK((emitted_by_simplify || o->derivative != derivative_kind::differentiable || std::find(met.begin(), met.end(), o) != met.end()));
  }
}

void check_functions(group_view const& g, std::int64_t n, std::int64_t m) {
  for (subject const& f : g.subjects) check_function(g, f, n, m);
}

void check_rows(group_view const& of_group, std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  constexpr int rows = 3;
  differentiated const d(of_group.traced, outputs_of(of_group.traced));
  REQUIRE(d.b.failed().why == nullptr);
  graph const alone = d.b.get();
  extend::graph_view const g = alone;
  std::vector<std::int64_t> const known = executing::known_of(g, n, m);
  graph const sized = reference::concrete(g, known.data());
  std::vector<detail::array<values>> all;
  for (int r = 0; r < rows; ++r) {
    detail::array<values> own = arguments_of(g, of_group.domains, known.data());
    for (values& v : own) std::rotate(v.begin(), v.begin() + std::min(r, v.size()), v.end());
    push_directions(own, sized, d.v, 0.2 + r);
    push_directions(own, sized, d.w, 2.1 - r);
    all.push_back(own);
  }
  for (unsigned const mapped : {~0u, 0x55555555u, 0xAAAAAAAAu, 1u, 2u, 4u, 8u}) {
    CAPTURE(mapped);
    auto const has_rows = [&](int k) { return (mapped >> k & 1u) != 0; };
    extend::builder b(g);
    detail::array<extend::symbol> in, from, batched, results(g.output_count() + 1, extend::none);
    for (int k = 0; k < g.input_count(); ++k) {
      in.push(g.input(k));
      if (!has_rows(k)) continue;
      batch_rule const rule{{b, {}}, rows, nullptr};
      in[k] = b.symbol_of(b.tensor(in[k]).type, rule.with_rows(b.tensor(in[k]).shape));
      from.push(g.input(k));
      batched.push(in[k]);
    }
    detail::array<extend::symbol> out = outputs_of(g);
    detail::batch(b, {from.data(), batched.data(), from.size(), rows, out.data(), out.size()}, results.data());
    INFO((b.failed().why == nullptr ? "" : b.failed().why->text));
    INFO((b.failed().node == extend::none ? "" : b.get().nodes[b.failed().node].op->name));
    REQUIRE(b.failed().why == nullptr);
    for (int k = 0; k < out.size(); ++k)
      if (results[k] != extend::none) out[k] = results[k];
    detail::array<extend::symbol> inputs = in;
    for (extend::symbol const s : from) inputs.push(s); // (dead, but nodes still read them)
    b.set_inputs(inputs.data(), inputs.size());
    b.set_outputs(out.data(), out.size());
    REQUIRE(verify(b.get()).text == nullptr);
    detail::array<values> together;
    for (int k = 0; k < in.size(); ++k) {
      values v;
      for (int r = 0; r < (has_rows(k) ? rows : 1); ++r)
        for (extend::scalar const& s : all[static_cast<std::size_t>(r)][k]) v.push(s);
      together.push(static_cast<values&&>(v));
    }
    for (int k = 0; k < in.size(); ++k)
      if (has_rows(k)) together.push(all[0][k]);
    detail::array<values> const whole = interpreted(b.get(), executing::known_of(b.get(), n, m).data(), together);
    for (int r = 0; r < rows; ++r) {
      detail::array<values> own = all[static_cast<std::size_t>(r)], wanted, is;
      for (int k = 0; k < in.size(); ++k)
        if (!has_rows(k)) own[k] = all[0][k];
      wanted = interpreted(g, known.data(), own);
      for (int k = 0; k < out.size(); ++k) {
        values v;
        int const count = wanted[k].size(), first = results[k] == extend::none ? 0 : r * count;
        REQUIRE(whole[k].size() == (results[k] == extend::none ? count : rows * count));
        for (int i = 0; i < count; ++i) v.push(whole[k][first + i]);
        is.push(static_cast<values&&>(v));
      }
      CAPTURE(r);
      check_near("batched, alone", is, wanted);
    }
  }
}

void check_program_of(group_view const& of_group, extend::graph_view const& view, std::int64_t n, std::int64_t m, static_run run) {
  CAPTURE(n, m);
  differentiated const d(of_group.traced, outputs_of(of_group.traced));
  REQUIRE(d.b.failed().why == nullptr);
  graph const plain = d.b.get();
  std::vector<std::int64_t> const before = executing::known_of(plain, n, m), known = executing::known_of(view, n, m);
  graph const fixed = reference::concrete(view, known.data()), plain_fixed = reference::concrete(plain, before.data());
  detail::array<values> all = arguments_of(plain, of_group.domains, before.data());
  push_directions(all, plain_fixed, d.v, 0.2);
  push_directions(all, plain_fixed, d.w, 2.1);
  detail::array<values> const program = values_of(fixed, run(fixed, all, known.data(), 0xFF, status::ok));
  check_same("static program, interpreter", view, program, interpreted(view, known.data(), all));
  check_same("static program, constant evaluation", view, program, evaluated(view, known.data(), all));
  detail::array<values> const traced = interpreted(plain, before.data(), all);
  check_near("static program, graph as it was traced", program, traced);
}
} // namespace witness
