// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

// Operands and numbers that operations of a graph refuse, and the edges of those that they take.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;
constexpr I MAX = INT64_MAX, MIN = INT64_MIN;

TEST_CASE("Movement operations refuse axes and sizes that do not fit") {
  CHECK(refused("reshape: the result must have as many elements as the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::reshape(a, {5});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::reshape(a, {-1, -4});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {0});
    (void)ct::reshape(a, {I(1) << 32, I(1) << 32});
  }));
  CHECK(refused("permute: every axis of the operand must be named once", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::permute(a, {0, 0});
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::permute(a, {0, 2});
  }));
  CHECK(refused("permute: every axis of the operand must be named once", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::permute(a, {0});
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::permute(a, {0, INT_MAX});
  }));
  CHECK(refused("an axis must be less than the rank of the operand (3 and 3); in expand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::expand(a, 3);
  }));
  CHECK(refused("an axis must be less than the rank of the operand (3 and 3); in expand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::expand<-4>(a);
  }));
  CHECK(refused("split: the number of parts must divide the extent of the axis, which must be a number", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::split(a, 0, 0);
  }));
  CHECK(refused("split: the number of parts must divide the extent of the axis, which must be a number", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::split(a, -1, 0);
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::split(a, 2, 3);
  }));
  CHECK(refused("split: the sizes must be at least 0 and add up to the extent of the axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::split(a, {5, -1}, 0);
  }));
  CHECK(refused("the shapes of both operands must be equal axis by axis from the last, or 1", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::broadcast_to(a, {3});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {1});
    (void)ct::broadcast_to(a, {-3});
  }));
}

TEST_CASE("Reductions refuse axes that do not exist or are repeated") {
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::sum(a, {2});
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::sum(a, {-3});
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::sum(a, {INT_MIN});
  }));
  CHECK(refused("the axes of a reduction must be different", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::sum(a, {0, 0});
  }));
  CHECK(refused("the axes of a reduction must be different", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::sum(a, {0, -2});
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::softmax(a, 5);
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    (void)ct::softmax(a, -1);
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::argmax(a, -9);
  }));
  dynamic::graph g; // of nothing it is 0
  auto const a = g.input<double>("a", {4, 0});
  auto const at = ct::argmax(a, 1);
  auto p = g.compile({at});
  p.bind(a, std::vector<double>());
  p.run();
  CHECK(p.value(at)(0) == 0);
}

// On lines of their own.
inline constexpr auto read_row = [](auto x, auto i) {
  auto const doubled = 2.0 * x;
  return doubled(i);
};
inline constexpr auto read_rows = [](auto x, auto i) {
  auto const row = x(i);
  return row * x(i + 1);
};

TEST_CASE("An index out of range names the lines that may have found it") {
  using X = ct::tensor<double, 3>;
  auto const text_of = [](auto f) -> std::string {
    try {
      f();
    } catch (ct::shape_error const& e) {
      return e.what();
    }
    return "";
  };
  auto const ends = [](std::string const& text, std::string const& end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  std::string const first = text_of([] { (void)ct::compiled(read_row)(X{1, 2, 3}, I(3)); });
  CHECK(first.find("call: an index is out of range: a position at ") != std::string::npos);
  CHECK(ends(first, "invalid_operations.cpp:158"));
  CHECK(ends(text_of([] { (void)ct::grad(read_row)(X{1, 2, 3}, I(-4)); }), "invalid_operations.cpp:158"));
  std::string const both = text_of([] { (void)ct::compiled(read_rows)(X{1, 2, 3}, I(2)); });
  CHECK(both.find("invalid_operations.cpp:161 or a position at ") != std::string::npos);
  CHECK(ends(both, "invalid_operations.cpp:162"));

  dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const i = g.input<I>("i");
  auto const y = read_row(x, i);
  auto p = g.compile({y});
  p.bind(x, {1., 2., 3.});
  p.bind(i, I(3));
  CHECK(text_of([&] { p.run(); }).find("invalid_operations.cpp:158") != std::string::npos);
}

TEST_CASE("Indices out of range are reported") {
  CHECK(refused("run: an index is out of range", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {0, 3});
    auto i = g.input<I>("i", {2});
    auto y = ct::gather(a, i);
    auto p = g.compile({y});
    std::vector<double> x;
    std::vector<I> k{0, 1};
    p.bind(a, x);
    p.bind(i, k);
    p.run();
  }));
  CHECK(refused("run: an index is out of range", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2, 3});
    auto i = g.input<I>("i", {2});
    auto y = ct::scatter_add<0>(a, i);
    auto p = g.compile({y});
    std::vector<double> x(6, 1);
    std::vector<I> k{0, 1};
    p.bind(a, x);
    p.bind(i, k);
    p.run();
  }));
  CHECK(refused("run: an index is out of range", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2, 0});
    auto i = g.input<I>("i", {2});
    auto y = ct::batch_take(a, i);
    auto p = g.compile({y});
    std::vector<double> x;
    std::vector<I> k{0, 1};
    p.bind(a, x);
    p.bind(i, k);
    p.run();
  }));
  CHECK(refused("run: an index is out of range", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {3});
    auto i = g.input<I>("i", {4});
    auto y = ct::gather(a, i);
    auto p = g.compile({y});
    std::vector<double> x{1, 2, 3};
    std::vector<I> k{MIN, MAX, -1, 3};
    p.bind(a, x);
    p.bind(i, k);
    p.run();
  }));
  // Labels and the q of a quantile are indices, too.
  std::vector<double> const x{1, 2, 4};
  dynamic::graph g;
  auto a = g.input<double>("a", {3}), q = g.input<double>("q");
  auto label = g.input<I>("label");
  auto const loss = ct::cross_entropy(a, label), part = ct::quantile(a, q);
  auto losses = g.compile({loss}), parts = g.compile({part});
  losses.bind(a, x);
  losses.bind(label, I(3));
  CHECK(refused("run: an index is out of range: a label at ", [&] { losses.run(); }));
  CHECK(double(losses.value(loss)) == Approx(std::log(std::exp(1) + std::exp(2) + std::exp(4))));
  parts.bind(a, x);
  parts.bind(q, 1.5);
  CHECK(refused("run: an index is out of range: a position at ", [&] { parts.run(); }));
  CHECK(double(parts.value(part)) == 1);
}

TEST_CASE("Positions and ranges must lie within their axis") {
  CHECK(refused("an index must be less than the extent of its axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(5);
  }));
  CHECK(refused("an index must be less than the extent of its axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(MIN);
  }));
  CHECK(refused("an index must be less than the extent of its axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(-5);
  }));
  CHECK(refused("ct::range<start, stop, step>: the step must not be 0", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(0, 4, 0));
  }));
  CHECK(refused("a range must lie within its axis (0 and 4)", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(0, 4, -1));
  }));
  CHECK(refused("a range must lie within its axis (4 and 4)", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(4, 0, -1));
  }));
  CHECK(refused("a range must lie within its axis (-6 and 4)", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(-1, -6, -1));
  }));
  CHECK(refused("a range must lie within its axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(MIN, MAX, 1));
  }));
  CHECK(refused("a range must lie within its axis", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(dynamic::between(3, 1));
  }));
  CHECK(refused("x(i, j, ...): there must not be more indices than axes", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)a(0, 0);
  }));
}

TEST_CASE("Products, dropout and windows refuse operands that do not fit") {
  CHECK(refused("matmul: the columns of the left operand must equal the rows of the right", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 3});
    (void)ct::matmul(a, a);
  }));
  CHECK(refused("matmul: both operands must be vectors, matrices or stacks", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4}), b = g.input<double>("b", {});
    (void)ct::matmul(a, b);
  }));
  CHECK(refused("dropout: the rate must be at least 0 and less than 1", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto k = g.input<I>("k");
    (void)ct::dropout(a, 1.0, k);
  }));
  CHECK(refused("dropout: the rate must be at least 0 and less than 1", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto k = g.input<I>("k");
    (void)ct::dropout(a, NAN, k);
  }));
  CHECK(refused("dropout: the rate must be at least 0 and less than 1", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto k = g.input<I>("k");
    (void)ct::dropout(a, -1.0, k);
  }));
  CHECK(refused(
      "the extents, the stride and the dilation of a window must be at least 1, and its padding at least 0",
      [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4, 4, 1});
        auto w = g.input<double>("w", {2, 2, 1, 1});
        (void)ct::conv2d(a, w, {.stride = 0});
      }));
  CHECK(refused("layer_norm, batch_norm, group_norm, rms_norm: epsilon must be at least 0", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {3, 4}), v = g.input<double>("v", {4});
    (void)ct::layer_norm(x, v, v, -1.0);
  }));
  CHECK(refused("layer_norm, batch_norm, group_norm, rms_norm: epsilon must be at least 0", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {3, 4}), v = g.input<double>("v", {4});
    (void)ct::rms_norm(x, v, NAN);
  }));
  CHECK(refused("huber: delta must be at least 0", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {3});
    (void)ct::huber(x, x, -1.0);
  }));
  for (double const p : {-0.5, 1.5, double(NAN)})
    CHECK(refused("random_bernoulli: the probability must be at least 0 and at most 1", [&] {
      dynamic::graph g;
      (void)ct::random_bernoulli<3>(g.input<I>("k"), p);
    }));
  CHECK(refused("conv_transpose: the channels of x must equal the last axis of the weights", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {1, 5, 5, 2}), w = g.input<double>("w", {3, 3, 2, 4});
    (void)ct::conv_transpose2d(x, w);
  }));
  CHECK(refused("conv_transpose: the channels of x must equal the last axis of the weights", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {5, 2}), w = g.input<double>("w", {3, 2, 4});
    (void)ct::conv_transpose1d(x, w);
  }));
  CHECK(refused("conv_transpose2d: the padding must not be larger than the image without it", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {1, 2, 2, 1}), w = g.input<double>("w", {1, 1, 1, 1});
    (void)ct::conv_transpose2d(x, w, {.padding = 2});
  }));
  CHECK(refused("a window must fit into the image with its border", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 4, 1});
    auto w = g.input<double>("w", {2, 2, 1, 1});
    (void)ct::conv2d(a, w, {.dilation = INT_MAX});
  }));
  CHECK(refused(
      "the extents, the stride and the dilation of a window must be at least 1, and its padding at least 0",
      [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4, 4, 1});
        auto w = g.input<double>("w", {2, 2, 1, 1});
        (void)ct::conv2d(a, w, {.groups = 0});
      }));
  CHECK(refused(
      "the extents, the stride and the dilation of a window must be at least 1, and its padding at least 0",
      [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4, 4, 1});
        auto w = g.input<double>("w", {2, 2, 1, 1});
        (void)ct::conv2d(a, w, {.groups = -1});
      }));
  CHECK(refused(
      "the extents, the stride and the dilation of a window must be at least 1, and its padding at least 0",
      [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4, 4, 1});
        (void)ct::max_pool2d(a, {.window = 0});
      }));
  CHECK(refused("max_pool2d, avg_pool2d: the padding must be less than the window, otherwise a window would be "
                "outside of the image",
                [] {
                  dynamic::graph g;
                  auto a = g.input<double>("a", {4, 4, 1});
                  (void)ct::max_pool2d(a, {.window = 2, .padding = 2});
                }));
  CHECK(refused("a window must fit into the image with its border", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4, 4, 1});
    (void)ct::max_pool2d(a, {.window = 5, .stride = INT_MAX});
  }));
  CHECK(refused("gather: the result must have at most 8 axes", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2, 2, 2, 2, 2, 2, 2, 2});
    auto i = g.input<I>("i", {2, 2});
    (void)ct::gather(x, i);
  }));
  CHECK(refused("one_hot: the labels must have at most 7 axes", [] {
    dynamic::graph g;
    auto x = g.input<I>("x", {2, 2, 2, 2, 2, 2, 2, 2});
    (void)ct::one_hot<3>(x);
  }));
}

TEST_CASE("Numbers out of range convert to the lowest integer") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {8});
  auto const wide = ct::convert<I>(x);
  auto const narrow = ct::convert<std::int32_t>(x);
  auto p = g.compile({wide, narrow, ct::convert<bool>(x)});
  p.bind(x,
         std::vector<double>{NAN, INFINITY, -INFINITY, 1e300, -1e300, 9.3e18, 2147483648.0, -2147483649.0});
  p.run();
  for (int k = 0; k < 8; ++k) {
    if (k < 6) CHECK(p.value(wide)(k) == MIN);
    CHECK(p.value(narrow)(k) == INT_MIN);
  }
}

/// Arithmetic of integers at the ends of their range wraps around.
template <class T> void check_wrapping() {
  using U = std::make_unsigned_t<T>;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  dynamic::graph g;
  auto const x = g.input<T>("x", {64}), y = g.input<T>("y", {64});
  auto const sum = x + y, difference = x - y, product = x * y, negative = -x, size = ct::abs(x),
             all = ct::sum(x);
  auto p = g.compile({sum, difference, product, negative, size, ct::sign(x), all});
  T const ends[]{least, most, T(-1), T(0), T(1)};
  std::vector<T> u, v;
  for (int k = 0; k < 64; ++k) {
    u.push_back(ends[k % 5]);
    v.push_back(ends[k / 5 % 5]);
  }
  p.bind(x, u);
  p.bind(y, v);
  p.run();
  U total = 0;
  for (int k = 0; k < 64; ++k) {
    auto const at = static_cast<std::size_t>(k);
    U const a = static_cast<U>(u[at]), b = static_cast<U>(v[at]);
    total = static_cast<U>(total + a);
    CHECK(p.value(sum)(k) == static_cast<T>(a + b));
    CHECK(p.value(difference)(k) == static_cast<T>(a - b));
    CHECK(p.value(product)(k) == static_cast<T>(a * b));
    CHECK(p.value(negative)(k) == static_cast<T>(0 - a));
    CHECK(p.value(size)(k) == (u[at] < 0 ? static_cast<T>(0 - a) : u[at]));
  }
  CHECK(p.value(all) == static_cast<T>(total));
}
TEST_CASE("Integers wrap around") {
  check_wrapping<std::int32_t>();
  check_wrapping<std::int64_t>();
}

TEST_CASE("Powers with the largest exponents are right") {
  dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::pow(x, 1e308) + ct::pow(x, -1e308);
  auto p = g.compile({y, g.gradient({y}, {x}).front()});
  p.bind(x, 1.0);
  p.run();
  CHECK(double(p.value(y)) == 2);
}

TEST_CASE("A chain of 20,000 nodes is compiled without recursion") {
  dynamic::graph g;
  auto const x = g.input<double>("x");
  auto y = x;
  for (int i = 0; i < 20000; ++i) y = ct::sin(y);
  auto p = g.compile({g.gradient({y}, {x}).front()});
  p.bind(x, 1.0);
  p.run();
}

TEST_CASE("Commands with any attributes are accepted or refused") {
  CHECK(refused<ct::shape_error>("convert: the element must be the number of one of ct::element", [] {
    dynamic::graph g;
    auto const s = g.symbolic();
    auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y");
    s.exec(dynamic::command::of<ct::op::convert>({255}), {x}, {y});
    (void)s.compile({.outputs = {y}});
  }));
  using ct::info_of;
  for (ct::operation const* const op :
       {info_of<ct::op::convert>(), info_of<ct::op::sum>(), info_of<ct::op::reduce_max>(),
        info_of<ct::op::arg_max>(), info_of<ct::op::permute>(), info_of<ct::op::concatenate>(),
        info_of<ct::op::slice>(), info_of<ct::op::pad>(), info_of<ct::op::reshape>(),
        info_of<ct::op::matmul>(), info_of<ct::op::constant>(), info_of<ct::op::iota>(),
        info_of<ct::op::gather>(), info_of<ct::op::scatter_add>(), info_of<ct::op::size>()})
    for (I const a : {I(0), I(1), I(-1), I(5), I(255), I(1) << 32, MAX, MIN})
      for (std::size_t count : {1u, 2u, 4u, 13u})
        for (std::size_t operands : {0u, 1u, 2u}) {
          dynamic::graph g;
          auto const s = g.symbolic();
          auto const x = s.tensor<double>({2, 2}, "x"), y = s.tensor<double>({2, 2}, "y");
          try {
            s.exec(dynamic::command::of(op, std::vector<I>(count, a)),
                   std::vector<dynamic::symbolic_tensor>(operands, x), {y});
            std::vector<double> in{1, 2, 3, 4};
            auto p = s.compile({.outputs = {y}});
            if (operands != 0) p.bind(x, in);
            p.run();
          } catch (ct::error const&) {}
        }
}

TEST_CASE("Random numbers and splits refuse several keys; numbers folded in must not be below 0") {
  dynamic::graph g;
  auto const keys = g.input<I>("keys", {3}), key = g.input<I>("key");
  char const* const one = "the key of random numbers must be one number";
  CHECK(refused(one, [&] { (void)ct::random_normal<double>(keys, {3}); }));
  CHECK(refused(one, [&] { (void)ct::random_split<3>(keys); }));
  CHECK(refused(one, [&] { (void)ct::random_split<1>(keys); }));
  CHECK(refused(one, [&] { (void)ct::random_split(keys, 3); }));
  char const* const number = "random_fold_in: the number must be at least 0";
  for (I const below : {I(-1), MIN}) CHECK(refused(number, [&] { (void)ct::random_fold_in(key, below); }));
  CHECK(refused(number, [&] { (void)ct::random_fold_in(keys, -5); }));
  CHECK(ct::random_fold_in(keys, 5).size() == 3);
  CHECK(ct::random_fold_in(key, keys).size() == 3);
  CHECK(ct::vmap([](auto k) { return ct::random_split<2>(k); })(keys).size() == 6);
}

TEST_CASE("Tensors of 8 axes are right") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {2, 2, 2, 2, 2, 2, 2, 2});
  auto const y = ct::sum(ct::sin(ct::permute(x, {7, 6, 5, 4, 3, 2, 1, 0})) * x, {0, 2, 4, 6}), z = ct::sum(y);
  auto const d = g.gradient({z}, {x}).front();
  auto p = g.compile({z, d});
  p.bind(x, std::vector<double>(256, .5));
  p.run();
  CHECK(double(p.value(z)) == Approx(128 * std::sin(.5)));
}

} // namespace
