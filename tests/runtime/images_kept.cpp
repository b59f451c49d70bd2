// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include <cmath>
#include <vector>

// Graphs with convolutions, dropout and gelu that are made by symbols, or come back from a file.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

numbers waves(std::size_t n, double phase) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k) + phase);
  return v;
}
template <class V> numbers elements(V const& v) { return numbers(v.begin(), v.end()); }

inline constexpr auto loss_of = [](auto x, auto w, auto key) {
  auto const y = ct::gelu(ct::conv2d<ct::convolution{.padding = 1}>(x, w));
  return ct::sum(ct::dropout(ct::max_pool2d(y), 0.25, key) + ct::avg_pool2d(y));
};

template <class... Ops> void check_kernels(ct::operations<Ops...>) {
  auto const table = ct::detail::interpret::table_of<>();
  for (ct::operation const* const o : {ct::info_of<Ops>()...}) {
    INFO(o->name);
    auto const* const k = table.find(o);
    CHECK((k != nullptr && k->whole != nullptr && k->whole != o->whole));
  }
}
TEST_CASE("interpreters have the kernels of images where images.hpp is included") {
  check_kernels(ct::detail::image_operations{});
}

TEST_CASE("a graph with a convolution is loaded from a file, with its gradient", "[archive]") {
  numbers const x = waves(6 * 4 * 3, 0), w = waves(3 * 3 * 3 * 5, 1);
  std::int64_t const key = 12;
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {6, 4, 3}), W = g.input<double>("w", {3, 3, 3, 5});
  auto const K = g.input<std::int64_t>("key");
  auto const loss = loss_of(X, W, K);
  auto const dw = g.gradient({loss}, {W}).front();
  auto p = g.compile({loss, dw}, {{X, x}, {W, w}, {K, key}});
  p.run();
  std::string const file = ct::archive::bytes_of(g, {{X, x}, {W, w}, {K, key}}, {{"loss", loss}, {"dw", dw}});
  auto c = ct::archive::load_bytes(file);
  auto q = c.graph.compile({c.find("loss"), c.find("dw")}, c.binds());
  q.run();
  CHECK(double(q.value(c.find<double>("loss"))) == double(p.value(loss)));
  CHECK(elements(q.value(c.find<double>("dw"))) == elements(p.value(dw)));
}

TEST_CASE("a symbolic graph of a convolution and a softmax is right", "[symbolic]") {
  using ct::dynamic::command;
  numbers const x = waves(5 * 4 * 2, 0), w = waves(2 * 2 * 2 * 3, 1);
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const a = s.tensor<double>({5, 4, 2}, "a"), k = s.tensor<double>({2, 2, 2, 3}, "w");
  auto const b = s.tensor<double>({4, 3, 3}, "b"), m = s.tensor<double>({4, 3, 3}, "m");
  s.exec(command("conv2d",
                 [](ct::term image, ct::term weights) { return ct::extend::conv2d(image, weights, {}); }),
         {a, k}, {b}, "conv");
  s.exec(command("softmax", [](ct::term z) { return ct::extend::softmax(z, 2); }), {b}, {m}, "softmax");
  auto const l = s.tensor<double>({}, "loss");
  s.exec(command("loss", [](ct::term y) { return ct::extend::sum(y * y, ct::extend::all_axes(y)); }), {m},
         {l}, "loss");
  auto const table = s.backward({l}, {k});
  auto const dk = table.gradient_of(k);
  auto p = s.compile({.outputs = {m, dk}});
  p.bind(a, x);
  p.bind(k, w);
  p.run();

  ct::dynamic::graph h;
  auto const X = h.input<double>("x", {5, 4, 2}), W = h.input<double>("w", {2, 2, 2, 3});
  auto const y = ct::softmax(ct::conv2d(X, W), 2);
  auto const dw = h.gradient({ct::sum(y * y)}, {W}).front();
  auto q = h.compile({y, dw}, {{X, x}, {W, w}});
  q.run();
  CHECK(elements(p.value<double>(m)) == elements(q.value(y)));
  numbers const ours = elements(p.value<double>(dk)), theirs = elements(q.value(dw));
  for (std::size_t i = 0; i < 24; ++i) CHECK(ours[i] == Approx(theirs[i]).epsilon(1e-12).margin(1e-15));
}

} // namespace
