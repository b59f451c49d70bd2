// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "functions.hpp"

#include <cotangent/dynamic.hpp>
#include <cotangent/dynamic/graph/graph_access.hpp>
#include <cotangent/ops/list.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

// An interpreter has kernels of `named_operations` only if a function that emits them was called. Here all functions, and their
// derivatives, are searched for operations that they do not name.

namespace kernels_by_need {

namespace ct = cotangent;
namespace interpret = ct::detail::interpret;

template <class... Ops> bool is_among(ct::operation const* op, ct::operations<Ops...>) {
  return ((op == ct::info_of<Ops>()) || ...);
}
interpret::kernel_list const& kernels_of(ct::dynamic::graph const& g) {
  return ct::dynamic::detail::graph_access::state(g).kernels;
}
/// The first operation of a graph whose kernel is missing, else "".
std::string missing_in(ct::dynamic::graph const& g) {
  for (ct::extend::node const& n : ct::dynamic::detail::graph_access::state(g).b.get().nodes)
    if (is_among(n.op, ct::detail::named_operations{}) && kernels_of(g).find(n.op) == nullptr && kernels_of(g).further().named.count == 0)
      return n.op->name;
  return "";
}

/// The gradient and its gradient; operations without derivative have none.
template <class X, class Y> void differentiate_twice(ct::dynamic::graph& g, X const& x, Y const& y) {
  if constexpr (std::is_floating_point_v<typename Y::value_type>) {
    try {
      auto const dx = g.gradient({ct::sum(y)}, {x}).front();
      (void)g.gradient({ct::sum(dx)}, {x});
    } catch (ct::not_differentiable_error const&) {
    }
  }
}
template <class Op, class Number> void apply_alone() {
  using T = std::conditional_t<Op::operands == ct::extend::takes::integers, std::int64_t, Number>;
  ct::dynamic::graph g;
  auto const x = g.input<T>("x", {4});
  auto const here = std::source_location::current();
  auto const y = [&] {
    if constexpr (Op::arity == 1) return ct::extend::apply<Op>(here, x);
    else return ct::extend::apply<Op>(here, x, g.input<T>("y", {4}));
  }();
  differentiate_twice(g, x, y);
  INFO(Op::name);
  CHECK(missing_in(g) == "");
  CHECK(kernels_of(g).find(ct::info_of<Op>()) != nullptr);
  CHECK(kernels_of(g).further().named.count == 0);
}
template <class Op> inline constexpr bool is_integer = std::is_same_v<Op, ct::op::random24> || std::is_same_v<Op, ct::op::random53> ||
                                                    std::is_same_v<Op, ct::op::second_random24> || std::is_same_v<Op, ct::op::second_random53>;
template <class... Ops> void apply_each(ct::operations<Ops...>) {
  (apply_alone<Ops, std::conditional_t<is_integer<Ops>, std::int64_t, double>>(), ...);
}

/// Calls each function of a list on expressions of a new graph.
template <auto const& Table, class Inputs> void call_each(Inputs const& inputs) {
  std::apply(
      [&](auto const&... f) {
        (
            [&] {
              ct::dynamic::graph g;
              auto const x = inputs(g);
              auto const y = std::apply(f.traced, x);
              INFO(f.name);
              differentiate_twice(g, std::get<0>(x), y);
              CHECK(missing_in(g) == "");
            }(),
            ...);
      },
      Table);
}

} // namespace kernels_by_need

TEST_CASE("an operation brings its kernel, and those of its derivatives, to a graph") {
  using namespace kernels_by_need;
  apply_each(ct::detail::named_operations{});
}

TEST_CASE("a graph has no kernels that nothing in it can need") {
  using namespace kernels_by_need;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const y = ct::sum(ct::sigmoid(ct::exp(x) * 2 + 1));
  (void)g.gradient({y}, {x});
  CHECK(kernels_of(g).find(ct::info_of<ct::op::sigmoid>()) != nullptr);
  CHECK(kernels_of(g).find(ct::info_of<ct::op::softplus>()) != nullptr); // the logarithm of a sigmoid is simplified to it
  CHECK(kernels_of(g).find(ct::info_of<ct::op::tanh>()) == nullptr);
  CHECK(kernels_of(g).further().named.count == 0);
}

TEST_CASE("a graph has kernels for the elements of its values") {
  using namespace kernels_by_need;
  auto const holds = [](ct::dynamic::graph const& g) {
    return std::pair(kernels_of(g).holds(ct::element::float32), kernels_of(g).holds(ct::element::float64));
  };
  ct::dynamic::graph g;
  auto const n = g.input<int>("n", {4});
  (void)(n * n + 2);
  CHECK(holds(g) == std::pair(false, false));
  auto const x = ct::convert<float>(n) * 2;
  CHECK(holds(g) == std::pair(true, false));
  (void)(ct::convert<double>(x) < 3);
  CHECK(holds(g) == std::pair(true, true));

  ct::dynamic::graph doubles;
  auto const y = doubles.input<double>("y", {4});
  (void)doubles.gradient({ct::sum(ct::exp(2 * y))}, {y});
  CHECK(holds(doubles) == std::pair(false, true));
}

TEST_CASE("functions name all operations that they and their derivatives emit") {
  using namespace kernels_by_need;
  auto const three = [](ct::dynamic::graph& g) {
    return std::tuple(g.input<double>("x", {4}), g.input<double>("y", {4}), g.input<double>("p", {4}));
  };
  call_each<functions::one_operand>(three);
  call_each<functions::two_operands>(three);
  call_each<functions::special_functions>(three);
  call_each<functions::gamma_functions>(three);
  call_each<functions::composed_functions>(three);
  call_each<functions::smooth_activations>(three);
  call_each<functions::bounded_activations>(three);
  call_each<functions::sparse_activations>(three);
  call_each<functions::remainders>(three);
}
