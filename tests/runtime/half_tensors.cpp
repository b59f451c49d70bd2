// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/images.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

inline constexpr auto half_loss = [](auto x, auto t) { return ct::sum(ct::square(ct::sin(x) - t)); };
inline constexpr auto half_layer = [](auto w, auto x) { return ct::sum(ct::tanh(ct::matmul(w, x))); };

template <class H, class T = float, class M> std::vector<T> numbers_of(M const& m) {
  std::vector<T> all;
  for (H const h : m) all.push_back(static_cast<T>(static_cast<float>(h)));
  return all;
}
template <class H> std::vector<H> wave(std::size_t n, double scale) {
  std::vector<H> x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = static_cast<float>(scale * std::sin(3. * static_cast<double>(k + 1)));
  return x;
}

/// A gradient of half precision is that of float arguments with the same numbers, rounded once.
template <class H> void gradients_are_rounded_once(std::int64_t n) {
  ct::tensor<H, "n"> x(n), t(n);
  ct::tensor<float, "n"> fx(n), ft(n);
  auto const a = wave<H>(static_cast<std::size_t>(n), 2), b = wave<H>(static_cast<std::size_t>(n), 0.7);
  for (std::int64_t k = 0; k < n; ++k) {
    x(k) = a[static_cast<std::size_t>(k)], t(k) = b[static_cast<std::size_t>(k)];
    fx(k) = x(k), ft(k) = t(k);
  }
  auto const h = ct::grad(half_loss)(x, t);
  auto const f = ct::grad(half_loss)(fx, ft);
  float const value = ct::compiled(half_loss)(x, t), expected = ct::compiled(half_loss)(fx, ft);
  CHECK(value == expected);
  int wrong = 0;
  for (std::int64_t k = 0; k < n; ++k) wrong += h(k).bits() != H(f(k)).bits();
  CHECK(wrong == 0);
}

TEST_CASE("gradients of half precision are those of float, rounded once") {
  for (std::int64_t const n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000}) {
    gradients_are_rounded_once<ct::float16>(n);
    gradients_are_rounded_once<ct::bfloat16>(n);
  }
}

template <class H> void traced_matrices() {
  ct::tensor<H, 7, 9> w;
  ct::tensor<H, 9, 5> x;
  ct::tensor<float, 7, 9> fw;
  ct::tensor<float, 9, 5> fx;
  auto const a = wave<H>(63, 0.5), b = wave<H>(45, 1);
  for (std::size_t k = 0; k < 63; ++k) w.data()[k] = a[k], fw.data()[k] = a[k];
  for (std::size_t k = 0; k < 45; ++k) x.data()[k] = b[k], fx.data()[k] = b[k];
  auto const h = ct::grad(half_layer)(w, x);
  auto const f = ct::grad(half_layer)(fw, fx);
  int wrong = 0;
  for (int k = 0; k < 63; ++k) wrong += h.data()[k].bits() != H(f.data()[k]).bits();
  CHECK(wrong == 0);
  auto const transposed = ct::compiled([](auto m) { return ct::convert<H>(ct::transpose(m)); })(w);
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 9; ++k) wrong += transposed(k, i).bits() != w(i, k).bits();
  CHECK(wrong == 0);
}
template <class H> inline constexpr auto half_result = [](auto x) { return ct::convert<H>(x * x); };
template <class H> void cotangents_of_results() {
  ct::tensor<H, 3> const x{1, 2, 3}, dy{1, 2, 1};
  auto const [y, pull] = ct::vjp(half_result<H>)(x);
  auto const [z, dx] = ct::vjp(half_result<H>)(x, dy);
  CHECK(float(y(2)) == 9);
  CHECK(float(z(2)) == 9);
  CHECK(float(pull(dy)(1)) == 8);
  CHECK(float(dx(1)) == 8);
  auto const of_number = ct::vjp(half_result<H>)(H(3)).second;
  CHECK(float(of_number()) == 6);
  CHECK(float(of_number(H(2))) == 12);
  CHECK(float(ct::vjp(half_result<H>)(H(3), H(2)).second) == 12);
  auto const inside = [](auto a, auto b) { return ct::vjp(half_result<H>)(ct::sum(a)).second() * b; };
  CHECK(ct::compiled(inside)(x, dy)(1) == 24);
}
TEST_CASE("cotangents of results of half precision have their elements") {
  cotangents_of_results<ct::float16>();
  cotangents_of_results<ct::bfloat16>();
}

TEST_CASE("matrices of half precision are read as float, in either order") {
  traced_matrices<ct::float16>();
  traced_matrices<ct::bfloat16>();
}

template <class H> void graph_equals_static(std::int64_t n) {
  auto const x = wave<H>(static_cast<std::size_t>(n), 2), t = wave<H>(static_cast<std::size_t>(n), 0.7);
  ct::dynamic::graph g;
  auto const gx = g.input<H>("x", {n}), gt = g.input<H>("t", {n});
  auto const y = half_loss(gx, gt);
  static_assert(std::is_same_v<typename decltype(ct::dynamic::expr(y))::value_type, float>);
  auto const dx = g.gradient({y}, {gx}).front();
  auto const rounded = ct::convert<H>(gx * gt);
  auto p = g.compile({y, dx, rounded});
  p.bind(gx, x);
  p.bind(gt, t);
  p.run();
  ct::tensor<H, "n"> sx(n), st(n);
  for (std::int64_t k = 0; k < n; ++k) sx(k) = x[static_cast<std::size_t>(k)], st(k) = t[static_cast<std::size_t>(k)];
  float const expected = ct::compiled(half_loss)(sx, st);
  CHECK(float(p.value(y)) == Approx(expected).epsilon(1e-5));
  auto const gradient = p.value(dx);
  auto const product = p.value(rounded);
  int wrong = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    double const a = sx(k), b = st(k), d = 2 * (std::sin(a) - b) * std::cos(a);
    wrong += !(std::abs(static_cast<double>(gradient(k)) - d) <= 0.004 * std::abs(d) + 1e-6);
    wrong += product(k).bits() != H(sx(k) * st(k)).bits();
  }
  CHECK(wrong == 0);
}
TEST_CASE("run-time graphs store half precision and compute with float") {
  for (std::int64_t const n : {1, 3, 4, 8, 13, 64, 1000}) {
    graph_equals_static<ct::float16>(n);
    graph_equals_static<ct::bfloat16>(n);
  }
}

TEST_CASE("constants, numbers and views of half precision in run-time graphs") {
  ct::dynamic::graph g;
  auto const c = g.constant(std::vector<ct::bfloat16>{1, 2, 3});
  auto const one = g.constant(ct::float16(0.1f));
  auto const y = ct::sum(c * 2) + ct::convert<float>(one) + c(1) * ct::bfloat16(1);
  auto const z = ct::convert<double>(c);
  auto const w = ct::convert<ct::float16>(c);
  auto p = g.compile({y, z, w});
  p.run();
  CHECK(float(p.value(y)) == Approx(12 + static_cast<float>(ct::float16(0.1f)) + 2));
  CHECK(p.value(z)(2) == 3);
  CHECK(float(p.value(w)(2)) == 3);
}

TEST_CASE("cotangents of half precision in loops of run-time graphs are added as float") {
  ct::dynamic::graph g;
  auto const x = g.input<ct::bfloat16>("x", {2});
  auto const y = ct::for_loop(1000, [&](auto, auto s) { return s + ct::sum(x); }, 0 * ct::sum(x));
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({dx});
  p.bind(x, std::vector<ct::bfloat16>{1, 2});
  p.run();
  CHECK(float(p.value(dx)(0)) == 1000);
}

/// A run-time graph of a function has the value and gradient of the traced function, whose argument is float.
template <class F> void check_as_traced(F const& f) {
  using H = ct::bfloat16;
  ct::tensor<H, 2, 2> const x{{1.f, 2.f}, {3.f, 4.f}};
  auto const dx = ct::grad(f)(x);
  ct::dynamic::graph g;
  auto const v = g.input<H>("x", {2, 2});
  auto const y = f(v);
  auto const dv = g.gradient({y}, {v}).front();
  auto p = g.compile({y, dv});
  p.bind(v, x);
  p.run();
  CHECK(float(p.value(y)) == float(ct::compiled(f)(x)));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) CHECK(float(p.value(dv)(i, j)) == float(dx(i, j)));
}

inline constexpr auto twice = [](auto a) { return a * 2.0f; };
inline constexpr auto unchanged = [](auto a) { return a; };

TEST_CASE("loops, branches and rules of run-time graphs take half precision as traced functions do") {
  check_as_traced([](auto x) { return ct::sum(ct::for_loop(3, [](auto, auto s) { return s * 2.0f; }, x)); });
  check_as_traced([](auto x) { return ct::sum(ct::for_loop(3, [](auto&, auto& s) { return s * 2.0f; }, x)); });
  check_as_traced([](auto x) {
    auto const last = ct::while_loop([](auto i, auto, auto) { return i < 3; },
                                     [](auto, auto s, auto t) { return std::tuple(t, ct::sin(s)); }, x, x);
    return ct::sum(std::get<0>(last) * std::get<1>(last));
  });
  check_as_traced([](auto x) { return ct::sum(ct::for_loop(2, [](auto, auto s) { return std::pair(s.second, s.first * 2.0f); }, std::pair(x, x)).second); });
  check_as_traced([](auto x) { return ct::sum(ct::scan([](auto c, auto r) { return std::pair(c * ct::sum(r), r); }, x, x).first); });
  check_as_traced([](auto x) { return ct::sum(ct::case_of(ct::argmax(ct::flatten(x)), twice)(x)); });
  check_as_traced([](auto x) { return ct::sum(ct::cond(ct::sum(x) > 100.0f, unchanged, twice)(x)); });
  check_as_traced([](auto x) { return ct::sum(ct::cond(ct::sum(x) > 1.0f, unchanged, twice)(x)); });
  check_as_traced([](auto x) { return ct::sum(ct::case_of(ct::argmin(ct::flatten(x)), twice, unchanged)(x)); });
  check_as_traced([](auto x) { return ct::sum(ct::fixed_point([](auto z, auto a) { return 0.5f * ct::sin(z) + a; }, x, x)); });
  check_as_traced([](auto x) { return ct::root([](auto z, auto a) { return z * z - a; }, x(0, 0), x(1, 1)); });
  check_as_traced([](auto x) {
    return ct::sum(ct::custom_vjp([](auto a) { return a * a; }, [](auto a, auto, auto dy) { return 2.0f * a * dy; })(x));
  });
  check_as_traced([](auto x) { return ct::sum(ct::custom_jvp(unchanged, [](auto, auto da) { return 1.0f * da; })(x)); });
  check_as_traced([](auto x) { return ct::sum(ct::at(x, 1).set(x(0)) * x); });
  check_as_traced([](auto x) { return ct::sum(ct::at(x, 1).add(x(0) * 2.0f) * x); });
  check_as_traced([](auto x) { return ct::sum(ct::at(x * 2.0f, ct::argmin(ct::flatten(x))).set(x(1)) * x); });
}

TEST_CASE("values that a body of a run-time graph rounds are carried in half precision") {
  using H = ct::bfloat16;
  ct::dynamic::graph g;
  auto const x = g.input<H>("x", {2});
  auto const y = ct::for_loop(2, [](auto, auto s) { return ct::convert<H>(s * 257.f); }, x);
  static_assert(std::is_same_v<decltype(y), ct::dynamic::expr<H> const>);
  auto const z = ct::for_loop(2, [&](auto, auto) { return x; }, x * 3.f); // x is captured
  static_assert(std::is_same_v<decltype(z), ct::dynamic::expr<float> const>);
  auto p = g.compile({y, z});
  p.bind(x, std::vector<H>{1, 2});
  p.run();
  CHECK(float(p.value(y)(0)) == 256 * 256);
  CHECK(p.value(z)(1) == 2);
}

TEST_CASE("parts of eager variables of half precision are replaced by float") {
  ct::dynamic::eager e;
  auto const x = e.parameter(std::vector<ct::bfloat16>{1, 2, 3, 4}, {2, 2});
  auto const y = ct::at(x, 1).set(x(0) * 4.f);
  e.backward(ct::sum(y));
  CHECK(numbers_of<float>(y.value()) == std::vector<float>{1, 2, 4, 8});
  CHECK(numbers_of<ct::bfloat16>(x.grad().value()) == std::vector<float>{5, 5, 0, 0});
  CHECK(numbers_of<float>(ct::at(x, 0).add(x(1)).value()) == std::vector<float>{4, 6, 3, 4});
}

TEST_CASE("gradients of half precision update parameters of float") {
  ct::dynamic::graph g;
  auto const x = g.input<ct::bfloat16>("x", {2});
  auto const step = [&](auto const& optimizer, auto... more) {
    auto w = ct::convert<float>(x), m = 0 * w, v = 0 * w;
    optimizer.update(w, x, m, v, more...);
    return w;
  };
  auto const one = g.constant(std::int64_t{1});
  auto w = ct::convert<float>(x);
  ct::sgd{.learning_rate = 0.5}.update(w, x);
  auto const a = step(ct::adam{.learning_rate = 0.5}, one), b = step(ct::adamw{.learning_rate = 0.5, .weight_decay = 0}, one);
  auto p = g.compile({w, a, b});
  p.bind(x, std::vector<ct::bfloat16>{1, 2});
  p.run();
  CHECK(p.value(w)(1) == 1);
  CHECK(p.value(a)(1) == Approx(1.5));
  CHECK(p.value(b)(1) == Approx(1.5));
}

TEST_CASE("eager variables of half precision") {
  ct::dynamic::eager e;
  auto const check = [&]<class H>(H) {
    auto x = e.parameter(std::vector<H>{1, 2, 3});
    auto const y = ct::sum(ct::square(x)) + x(0) * 2;
    CHECK(y.item() == 16);
    e.backward(y);
    CHECK(numbers_of<H>(x.grad().value()) == std::vector<float>{4, 4, 6});
    auto const z = ct::convert<H>(x * 257.f);
    CHECK(float(z.value()(0)) == static_cast<float>(H(257.f)));
    x.set(std::vector<H>{4, 5, 6});
    CHECK(ct::sum(x).item() == 15);
  };
  check(ct::float16());
  check(ct::bfloat16());
}

TEST_CASE("parameters of half precision are trained, with states of float") {
  ct::dynamic::graph g;
  auto const x = g.parameter<ct::bfloat16>("x", {2});
  auto const loss = ct::sum(ct::square(x - 3));
  auto const step = g.minimize(loss, ct::adam{.learning_rate = 0.125}, {x});
  auto p = g.compile({loss}, {}, {.updates = step.updates});
  std::vector<ct::bfloat16> memory{0, 2};
  p.bind(x, memory);
  for (int k = 0; k < 100; ++k) p.run();
  CHECK(float(memory[0]) == Approx(3).margin(0.1));
  CHECK(float(memory[1]) == Approx(3).margin(0.1));

  ct::dynamic::eager e;
  auto y = e.parameter(std::vector<ct::float16>{0, 2});
  ct::dynamic::trainer t(ct::sgd{.learning_rate = 0.25}, {y});
  for (int k = 0; k < 20; ++k) {
    y.clear_grad();
    e.backward(ct::sum(ct::square(y - 3)));
    t.apply_gradients();
  }
  CHECK(float(y.value()(0)) == Approx(3).margin(0.01));
}

TEST_CASE("gradients are attached to all floating elements, and not to integers (MXNet's G18)") {
  ct::dynamic::eager e;
  auto const attaches = [&]<class T>(T) {
    try {
      auto x = e.parameter(std::vector<T>{1, 2});
      return x.extent(0) == 2;
    } catch (ct::graph_error const&) {
      return false;
    }
  };
  CHECK(attaches(ct::float16()));
  CHECK(attaches(ct::bfloat16()));
  CHECK(attaches(float()));
  CHECK(attaches(double()));
  CHECK(!attaches(std::int32_t()));
  CHECK(!attaches(std::int64_t()));
}

TEST_CASE("braces hold halves and numbers of other types") {
  ct::float16 const h(1.5f);
  ct::tensor<ct::float16, 2> const same{h, h}, mixed{h, 2};
  ct::tensor<ct::bfloat16, 2> const other{h, 2.0};
  ct::tensor<float, 2> const wide{h, h};
  CHECK(float(same(1)) == 1.5f);
  CHECK(float(mixed(0)) == 1.5f);
  CHECK(float(other(0)) == 1.5f);
  CHECK(wide(1) == 1.5f);
}

TEST_CASE("gradients of half precision go through masks") {
  auto const x = std::vector<ct::bfloat16>{1, -2, 3, -4};
  ct::dynamic::graph g;
  auto const h = g.input<ct::bfloat16>("h", {4}), bias = g.input<ct::bfloat16>("bias", {2, 4});
  auto const z = g.input<float>("z", {4});
  auto const y = ct::sum(ct::square(ct::relu(h))) + ct::sum(ct::relu(h + bias)) + ct::sum(ct::square(ct::relu(ct::convert<ct::bfloat16>(z * 2.f))));
  auto const d = g.gradient({y}, {h, bias, z});
  auto p = g.compile({y, d[0], d[1], d[2]});
  std::vector<ct::bfloat16> const biases(8, 0.5f);
  std::vector<float> const zs{1, -2, 3, -4};
  p.bind(h, x);
  p.bind(bias, biases);
  p.bind(z, zs);
  float value = 0;
  std::vector<ct::bfloat16> dh(4), dbias(8);
  std::vector<float> dz(4);
  p.bind(y, value);
  p.bind(d[0], dh);
  p.bind(d[1], dbias);
  p.bind(d[2], dz);
  p.run();
  CHECK(value == 10 + 2 * 5 + 4 * 10);
  CHECK(numbers_of<ct::bfloat16>(dh) == std::vector<float>{4, 0, 8, 0});
  CHECK(numbers_of<ct::bfloat16>(dbias) == std::vector<float>{1, 0, 1, 0, 1, 0, 1, 0});
  CHECK(numbers_of<float>(dz) == std::vector<float>{8, 0, 24, 0});
}

TEST_CASE("functions with sizes or options known at run time take half precision") {
  ct::dynamic::eager e;
  auto const numbers = [&](std::vector<float> const& of, ct::dynamic::sizes const& shape) {
    return e.parameter(std::vector<ct::float16>(of.begin(), of.end()), shape);
  };
  auto const line = numbers({1, 2, 3, 4}, {4}), matrix = numbers({1, 2, 3, 4}, {2, 2});
  auto const parts = ct::split(line, 2, 0), uneven = ct::split(line, {1, 3}, 0);
  CHECK(numbers_of<float>(parts[1].value()) == std::vector<float>{3, 4});
  CHECK(numbers_of<float>(uneven[1].value()) == std::vector<float>{2, 3, 4});
  auto const wide = e.constant(std::vector<float>{1, 0, 0, 1}, {2, 2});
  CHECK(numbers_of<float>(ct::einsum("ij,jk->ik", matrix, wide).value()) == std::vector<float>{1, 2, 3, 4});
  CHECK(numbers_of<float>(ct::einsum("ij,jk,kl,lm->im", matrix, wide, matrix, wide).value()) == std::vector<float>{7, 10, 15, 22});
  auto const image = ct::conv2d(ct::reshape(matrix, {1, 2, 2, 1}), ct::reshape(wide, {2, 2, 1, 1}), {.stride = 2});
  CHECK(image.item() == 5);

  auto const target = e.tensor<ct::float16>({2, 4}, "target");
  e.write(target, line);
  CHECK(numbers_of<ct::float16>(target.value()) == std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4});
  auto sum = e.constant(std::vector<ct::float16>(4, 1.f), {4});
  e.accumulate(ct::sum(ct::square(line)), line, sum);
  CHECK(numbers_of<ct::float16>(sum.value()) == std::vector<float>{3, 5, 7, 9});

  auto const key = e.constant(std::int64_t{3});
  auto const narrow = ct::random_gamma(key, numbers({2.5f}, {1}), {4}), same = ct::random_gamma(key, e.constant(std::vector<float>{2.5f}, {1}), {4});
  CHECK(numbers_of<float>(narrow.value()) == numbers_of<float>(same.value()));
}

} // namespace
