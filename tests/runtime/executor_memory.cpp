// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

#include <cotangent/plan/in_place.hpp>

// Results that are arguments, constants, each other; memory that is used again; results in place of arguments.

using namespace executing;

namespace {

constexpr detail::array<argument> two(extend::dimension p, extend::dimension q) {
  detail::array<argument> a;
  a.push({element::float64, {2, {p, q}}});
  a.push({element::float64, {2, {p, q}}});
  a.push({element::float64, {1, {q}}});
  return a;
}

struct shared {
  static constexpr detail::array<argument> arguments(extend::builder&) { return two(5, 9); }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term const y = x[0] * 2, s = extend::sum(y, 2), t = extend::sum(y, 3), m = extend::max(x[0], 1);
    term const flat = op::reshape::of(y, b.shape(extend::dimensions{1, {45}})), turned = extend::transpose(y), c = extend::constant_like(y, 3);
    return {x[0], y, y, x[0], s, s, t, t, m, m, flat, turned, turned, c, c, extend::iota(b, element::int32, 5),
            extend::constant(b, element::boolean, 0, 1), flat, op::reshape::of(s, b.shape(extend::dimensions{2, {5, 1}})), extend::stop_gradient(x[0])};
  }
};
struct unused {
  static constexpr detail::array<argument> arguments(extend::builder&) { return two(3, 4); }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    extend::symbol dx[2]{};
    extend::symbol const in[2]{x[0].id, x[1].id};
    term const loss = extend::sum(x[0], 3);
    detail::gradient(b, {&loss.id, nullptr, 1, in, 2}, dx);
    return {term{&b, dx[0]}, term{&b, dx[1]}};
  }
};
/// Many values whose lives end: products and sums in turn.
template <extend::dimension N> struct long_lived {
  static constexpr detail::array<argument> arguments(extend::builder&) { return two(N, N); }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    term y = x[0];
    for (int k = 0; k < 4; ++k) {
      y = extend::matmul(extend::apply<op::tanh>(y / 4), x[1]);
      y = y - extend::logsumexp(y, 1) + extend::transpose(y) * 0.125;
    }
    term const loss = extend::sum(y * x[2], 3);
    extend::symbol dx[2]{};
    extend::symbol const in[2]{x[0].id, x[1].id};
    detail::gradient(b, {&loss.id, nullptr, 1, in, 2}, dx);
    return {y, loss, term{&b, dx[0]}, term{&b, dx[1]}};
  }
};
struct replacing {
  static constexpr detail::array<argument> arguments(extend::builder&) { return two(6, 7); }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    return {x[0] * 2 + x[1], extend::softmax(x[1], 1), extend::apply<op::exp>(x[2]), extend::transpose(extend::transpose(x[0]) + 1)};
  }
};
struct shifted { // the window reads where another position is written
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {1, {33}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder&, term const* x) {
    std::int64_t const by_one[]{1, 1};
    return {op::pad::of(extend::slice(x[0], 0, 0, 32), by_one, x[0].shape_id())};
  }
};

/// Every result in place of every argument that may be: nothing else changes.
template <class Make> int try_in_place() {
  using Stage = simple<Make>;
  using E = run::nests<Stage>;
  extend::graph_view const g = plain<Make>::view;
  reference::dice d(5);
  detail::array<values> const in = reference::inputs_of(g, d, -1, 1), wanted = reference::evaluate(g, in);
  int tried = 0;
  for (int x = 0; x < g.input_count(); ++x)
    for (int y = 0; y < g.output_count(); ++y) {
      if (g.tensors[g.input(x)].type != g.tensors[g.output(y)].type || in[x].size() != wanted[y].size()) continue;
      if (!cotangent::detail::may_be_in_place(E::P, x, y)) continue;
      ++tried;
      std::vector<std::vector<double>> from, to;
      for (values const& v : in) {
        from.emplace_back();
        for (extend::scalar const& s : v) from.back().push_back(s.real);
      }
      for (values const& v : wanted) to.emplace_back(static_cast<std::size_t>(v.size()));
      std::vector<void const*> arguments;
      std::vector<void*> results;
      for (auto& v : from) arguments.push_back(v.data());
      for (auto& v : to) results.push_back(v.data());
      results[static_cast<std::size_t>(y)] = from[static_cast<std::size_t>(x)].data();
      guarded workspace(E::workspace_bytes, 64, 0xFF);
      CHECK(E::run(workspace.data(), arguments.data(), results.data(), nullptr) == status::ok);
      for (int k = 0; k < wanted.size(); ++k)
        for (int i = 0; i < wanted[k].size(); ++i) {
          CAPTURE(x, y, k, i);
          REQUIRE(close(extend::scalar::of(static_cast<double const*>(results[static_cast<std::size_t>(k)])[i]), wanted[k][i], 1e-12));
        }
    }
  return tried;
}

} // namespace

TEST_CASE("Results may be arguments, constants, views, or equal to each other") {
  check<graph_of<shared>>();
  check_plain<graph_of<shared>>();
}
TEST_CASE("Arguments may be unused") { check<graph_of<unused>>(); }
TEST_CASE("Memory of dead values is reused") {
  check<graph_of<long_lived<5>>>(-1, 1, 1e-10);
  check<graph_of<long_lived<17>>>(-1, 1, 1e-10);
  using E = run::nests<simple<graph_of<long_lived<17>>>>;
  CHECK(E::workspace_bytes < 40 * 17 * 17 * sizeof(double));
}
TEST_CASE("Results may alias arguments exactly where the plan allows it") {
  CHECK(try_in_place<graph_of<replacing>>() >= 2);
  static_cast<void>(try_in_place<graph_of<long_lived<5>>>());
  CHECK(try_in_place<graph_of<shifted>>() == 0);
}
