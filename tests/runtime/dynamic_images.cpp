// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

// Convolutions and poolings in graphs at run time: through views, in loops, refused.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

numbers waves(std::size_t n, double phase) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k) + phase);
  return v;
}
template <class V> numbers elements(V const& v) { return numbers(v.begin(), v.end()); }

/// An image or weights, by plain loops.
struct image {
  int height, width, channels;
  numbers at;
  double& operator()(int r, int c, int k) {
    return at[static_cast<std::size_t>((r * width + c) * channels + k)];
  }
};

int count(ct::dynamic::graph const& g, ct::operation const* op) {
  int n = 0;
  for (ct::extend::node const& x : g.get().nodes) n += x.op == op ? 1 : 0;
  return n;
}

/// An image of 8 x 6 x 3 is convolved to 4 channels, of which tiles go through relu to the same
/// tiles of c; d is the mean of two by two pixels of c, and the output their sum weighted by r.
struct tile {
  int row, channel;
};
void check_tiles(std::vector<tile> const& tiles) {
  numbers const x = waves(8 * 6 * 3, 0), w = waves(3 * 3 * 3 * 4, 1), bias = waves(4, 2),
                r = waves(4 * 3 * 4, 3);
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {8, 6, 3}), W = g.input<double>("w", {3, 3, 3, 4});
  auto const B = g.input<double>("bias", {4}), R = g.input<double>("r", {4, 3, 4});
  auto const b = ct::conv2d(X, W, {.padding = 1}) + B;
  auto const c = g.tensor<double>("c", {8, 6, 4});
  for (tile const& t : tiles)
    g.write(g.view(c, {.offset = {t.row, 0, t.channel}, .shape = {4, 6, 2}}),
            ct::relu(g.view(b, {.offset = {t.row, 0, t.channel}, .shape = {4, 6, 2}})));
  auto const d = ct::avg_pool2d(c);
  auto const loss = ct::sum(d * R);
  auto const gradient = g.gradient({loss}, {W, B, b, c});
  // toward what is wanted only, and once
  CHECK(count(g, ct::info_of<ct::op::conv2d_image>()) == 0);
  CHECK(count(g, ct::info_of<ct::op::conv2d_weight>()) == 1);
  CHECK(count(g, ct::info_of<ct::op::avg_pool2d_image>()) == 1);
  auto p = g.compile({loss, gradient[0], gradient[1], gradient[2], gradient[3]},
                     {{X, x}, {W, w}, {B, bias}, {R, r}});
  p.run();

  image before{8, 6, 4, numbers(8 * 6 * 4)}, after = before, dc = before, db = before;
  image from{8, 6, 3, x};
  auto const under = [&](int i, int j, int y, int z, auto f) {
    int const row = y + i - 1, column = z + j - 1;
    if (row >= 0 && row < 8 && column >= 0 && column < 6) f(row, column);
  };
  auto const weight = [](int i, int j, int k, int o) {
    return static_cast<std::size_t>(((i * 3 + j) * 3 + k) * 4 + o);
  };
  for (int y = 0; y < 8; ++y)
    for (int z = 0; z < 6; ++z)
      for (int o = 0; o < 4; ++o) {
        before(y, z, o) = bias[static_cast<std::size_t>(o)];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            under(i, j, y, z, [&](int a, int e) {
              for (int k = 0; k < 3; ++k) before(y, z, o) += from(a, e, k) * w[weight(i, j, k, o)];
            });
        dc(y, z, o) = r[static_cast<std::size_t>((y / 2 * 3 + z / 2) * 4 + o)] / 4;
      }
  for (tile const& t : tiles)
    for (int y = t.row; y < t.row + 4; ++y)
      for (int z = 0; z < 6; ++z)
        for (int o = t.channel; o < t.channel + 2; ++o) {
          after(y, z, o) = std::fmax(before(y, z, o), 0);
          db(y, z, o) = before(y, z, o) > 0 ? dc(y, z, o) : 0;
        }
  numbers dw(w.size()), dbias(4);
  double total = 0;
  for (int y = 0; y < 8; ++y)
    for (int z = 0; z < 6; ++z)
      for (int o = 0; o < 4; ++o) {
        total += after(y, z, o) * dc(y, z, o);
        dbias[static_cast<std::size_t>(o)] += db(y, z, o);
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            under(i, j, y, z, [&](int a, int e) {
              for (int k = 0; k < 3; ++k) dw[weight(i, j, k, o)] += from(a, e, k) * db(y, z, o);
            });
      }
  CHECK(double(p.value(loss)) == Approx(total));
  numbers const* const expected[]{&dw, &dbias, &db.at, &dc.at};
  for (std::size_t k = 0; k < 4; ++k) {
    numbers const is = elements(p.value(gradient[k]));
    REQUIRE(is.size() == expected[k]->size());
    for (std::size_t i = 0; i < is.size(); ++i)
      CHECK(is[i] == Approx((*expected[k])[i]).epsilon(1e-12).margin(1e-12));
  }
}

// ---- loops

inline constexpr auto pooled_step = [](auto x, auto w, auto b) {
  return ct::avg_pool2d<ct::pooling{.window = 3, .stride = 1, .padding = 1}>(
      ct::conv2d<ct::convolution{.padding = 1}>(x, w) + b);
};
inline constexpr auto step = [](auto x, auto w, auto b) {
  return ct::conv2d<ct::convolution{.padding = 1}>(x, w) + b;
};
template <auto const& Step> struct five_times {
  template <class X, class W, class B> constexpr auto operator()(X x, W w, B b) const {
    X y = x;
    for (int k = 0; k < 5; ++k) y = Step(y, w, b);
    return ct::sum(ct::square(x + y));
  }
};

using picture = ct::tensor<double, 5, 5, 4>;
using weights = ct::tensor<double, 3, 3, 4, 4>;
using biases = ct::tensor<double, 4>;
template <class T> T filled(double phase, double size) {
  T t;
  numbers const v = waves(static_cast<std::size_t>(t.size()), phase);
  for (std::int64_t k = 0; k < t.size(); ++k) t.data()[k] = size * v[static_cast<std::size_t>(k)];
  return t;
}

/// A loop equals the same steps bit by bit; its gradients are near those of the unrolled function.
template <auto const& Step> void check_loop() {
  picture x = filled<picture>(0, 1);
  weights const w = filled<weights>(1, .2);
  biases const b = filled<biases>(2, .1);
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {5, 5, 4}), W = g.input<double>("w", {3, 3, 4, 4}),
             B = g.input<double>("b", {4});
  auto const last = ct::for_loop(5, [&](auto, auto y) { return Step(y, W, B); }, X);
  auto const both = X + last; // what went in is still there
  auto const loss = ct::sum(ct::square(both));
  auto const d = g.gradient({loss}, {X, W, B});
  auto p = g.compile({last, both, loss, d[0], d[1], d[2]}, {{X, x}, {W, w}, {B, b}});
  p.run();
  p.run();
  picture y = x;
  for (int k = 0; k < 5; ++k) y = ct::compiled(Step)(y, w, b);
  for (int k = 0; k < 100; ++k) {
    CHECK(p.value(last).data()[k] == y.data()[k]);
    CHECK(p.value(both).data()[k] == x.data()[k] + y.data()[k]);
  }
  auto const [dx, dw, db] = ct::grad<0, 1, 2>(five_times<Step>{})(x, w, b);
  for (int k = 0; k < 100; ++k) CHECK(p.value(d[0]).data()[k] == Approx(dx.data()[k]).epsilon(1e-11));
  for (int k = 0; k < 144; ++k)
    CHECK(p.value(d[1]).data()[k] == Approx(dw.data()[k]).epsilon(1e-11).margin(1e-9));
  for (int k = 0; k < 4; ++k) CHECK(p.value(d[2])(k) == Approx(db(k)).epsilon(1e-11));
}

} // namespace

TEST_CASE("four tiles that cover a convolution, each followed by relu, have its gradient") {
  check_tiles({{0, 0}, {0, 2}, {4, 0}, {4, 2}});
}
TEST_CASE("tiles that cover a part of a convolution have its gradient") { check_tiles({{0, 0}, {0, 2}}); }

TEST_CASE("gradients of overlapping tiles are summed") {
  numbers const x = waves(6 * 5 * 2, 0), w = waves(3 * 3 * 2 * 6, 1);
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {6, 5, 2}), W = g.input<double>("w", {3, 3, 2, 6});
  auto const b = ct::conv2d(X, W);
  auto const c0 = ct::relu(g.view(b, {.offset = {0, 0, 0}, .shape = {4, 3, 4}}));
  auto const c1 = ct::square(g.view(b, {.offset = {0, 0, 2}, .shape = {4, 3, 4}}));
  auto const d = g.gradient({ct::sum(c0) + ct::sum(c1)}, {b, W});
  auto p = g.compile({b, d[0], d[1]}, {{X, x}, {W, w}});
  p.run();
  numbers const before = elements(p.value(b)), db = elements(p.value(d[0]));
  for (std::size_t k = 0; k < before.size(); ++k) {
    double const relu = k % 6 < 4 && before[k] > 0 ? 1 : 0, square = k % 6 >= 2 ? 2 * before[k] : 0;
    CHECK(db[k] == Approx(relu + square).epsilon(1e-13));
  }
  // along W: b is linear in it
  double along = 0, by_parts = 0;
  numbers const dw = elements(p.value(d[1]));
  for (std::size_t k = 0; k < w.size(); ++k) along += dw[k] * w[k];
  for (std::size_t k = 0; k < db.size(); ++k) by_parts += db[k] * before[k];
  CHECK(along == Approx(by_parts).epsilon(1e-12));
}

TEST_CASE("convolution and pooling run five times in a loop") { check_loop<pooled_step>(); }
TEST_CASE("convolution runs five times in a loop that reads the original image") { check_loop<step>(); }

TEST_CASE("views of a loop's result read its elements") {
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {5, 5, 4}), W = g.input<double>("w", {3, 3, 4, 4}),
             B = g.input<double>("b", {4});
  auto const y = ct::for_loop(5, [&](auto, auto z) { return step(z, W, B); }, X);
  auto const flat = ct::reshape(y, {100});
  auto const one = g.view(flat, {.offset = {1}, .shape = {3}}),
             four = g.view(flat, {.offset = {4}, .shape = {3}});
  auto const x = filled<picture>(0, 1);
  auto const w = filled<weights>(1, .2);
  auto const b = filled<biases>(2, .1);
  auto p = g.compile({y, one, four, X * 1.0}, {{X, x}, {W, w}, {B, b}});
  p.run();
  for (int k = 0; k < 3; ++k) {
    CHECK(p.value(one)(k) == p.value(y).data()[k + 1]);
    CHECK(p.value(four)(k) == p.value(y).data()[k + 4]);
  }
}

TEST_CASE("convolutions in nested loops add the original image") {
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {5, 5, 4}), W = g.input<double>("w", {3, 3, 4, 4}),
             B = g.input<double>("b", {4});
  auto const last = ct::for_loop(
      5, [&](auto, auto z) { return X + ct::for_loop(5, [&](auto, auto y) { return step(y, W, B); }, z); },
      X);
  auto const dw = g.gradient({ct::sum(last)}, {W}).front();
  picture const x = filled<picture>(0, 1);
  weights w = filled<weights>(1, .1);
  biases const b = filled<biases>(2, .1);
  auto const by_hand = [&] {
    picture z = x;
    for (int i = 0; i < 5; ++i) {
      for (int k = 0; k < 5; ++k) z = ct::compiled(step)(z, w, b);
      for (int k = 0; k < 100; ++k) z.data()[k] = x.data()[k] + z.data()[k];
    }
    return z;
  };
  auto p = g.compile({last, dw}, {{X, x}, {W, w}, {B, b}});
  p.run();
  picture const expected = by_hand();
  for (int k = 0; k < 100; ++k) CHECK(p.value(last).data()[k] == expected.data()[k]);
  auto const sum = [](picture const& z) {
    double s = 0;
    for (double const v : z) s += v;
    return s;
  };
  for (int const k : {0, 17, 143}) {
    double const h = 1e-6, at = w.data()[k];
    w.data()[k] = at + h;
    double const up = sum(by_hand());
    w.data()[k] = at - h;
    double const down = sum(by_hand());
    w.data()[k] = at;
    CHECK(p.value(dw).data()[k] == Approx((up - down) / (2 * h)).epsilon(1e-6).margin(1e-6));
  }
}

TEST_CASE("second gradients of convolution and pooling at run time") {
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {5, 5, 4}), W = g.input<double>("w", {3, 3, 4, 4}),
             B = g.input<double>("b", {4});
  auto const y = ct::sum(ct::square(ct::max_pool2d(pooled_step(X, W, B), {.window = 2, .stride = 1})));
  auto const dx = g.gradient({y}, {X}).front();
  auto const twice = g.gradient({ct::sum(ct::square(dx))}, {W}).front();
  picture const x = filled<picture>(0, 1);
  weights w = filled<weights>(1, .2);
  biases const b = filled<biases>(2, .1);
  auto p = g.compile({dx, twice}, {{X, x}, {W, w}, {B, b}});
  auto const length = [&] {
    p.run();
    double s = 0;
    for (double const v : p.value(dx)) s += v * v;
    return s;
  };
  p.run();
  numbers const d = elements(p.value(twice));
  for (int const k : {0, 31, 77, 143}) {
    double const h = 1e-6, at = w.data()[k];
    w.data()[k] = at + h;
    double const up = length();
    w.data()[k] = at - h;
    double const down = length();
    w.data()[k] = at;
    CHECK(d[static_cast<std::size_t>(k)] == Approx((up - down) / (2 * h)).epsilon(1e-6).margin(1e-6));
  }
}

TEST_CASE("the cotangents of the parts of a split are concatenated") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3, 5});
  auto const parts = ct::split(x, 3, 0);
  auto const sized = ct::split(x, {2, 0, 1}, 0);
  REQUIRE(parts.size() == 3);
  CHECK(sized[1].extent(0) == 0);
  auto const one = g.constant(numbers{1, 1, 1, 1, 1}, {1, 5}),
             up = g.constant(numbers{1, 2, 3, 4, 5}, {1, 5});
  auto const down = g.constant(numbers{5, 4, 3, 2, 1}, {1, 5});
  auto const dx = g.gradient({parts[0], parts[1], parts[2]}, {x}, {one, up, down}).front();
  auto p = g.compile({dx, sized[2]});
  p.bind(x, numbers(15, 1.0));
  p.run();
  CHECK(elements(p.value(dx)) == numbers{1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1});
  CHECK(elements(p.value(sized[2])) == numbers{1, 1, 1, 1, 1});
}

TEST_CASE("gradients of max, min, quotients, windows, batch_take and cross_entropy at run time") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const first = g.gradient({ct::exp(x) + x}, {x}).front();
  auto const second = g.gradient({first}, {x}).front();

  auto const a = g.input<double>("a", {3}), b = g.input<double>("b", {3});
  auto const larger = g.gradient({ct::sum(ct::max(a, b))}, {a, b}),
             smaller = g.gradient({ct::sum(ct::min(a, b))}, {a, b});
  auto const quotient = g.gradient({ct::sum(a / b)}, {a, b});
  auto const right = g.gradient({ct::sum(a + b)}, {b}).front();

  auto const square = g.input<double>("square", {3, 3});
  auto const window =
      g.gradient({ct::sum(square(ct::dynamic::between(1, 2), ct::dynamic::between(0, 2)))}, {square}).front();
  auto const pick =
      g.gradient(
           {ct::sum(ct::batch_take(ct::reshape(a, {1, 3}), g.constant(std::vector<std::int64_t>{0}, {1})))},
           {a})
          .front();

  auto const z = g.input<double>("z", {2, 3});
  auto const labels = g.input<std::int64_t>("labels", {2});
  auto const loss = ct::cross_entropy(z, labels);
  auto const dz = g.gradient({ct::sum(loss)}, {z}).front();

  auto p = g.compile({first, second, larger[0], larger[1], smaller[0], smaller[1], quotient[0], quotient[1],
                      right, window, pick, loss, dz});
  p.bind(x, 1.0);
  p.bind(a, {1.0, 2.0, 3.0});
  p.bind(b, {2.0, 2.0, 1.0});
  p.bind(square, numbers(9, 7));
  p.bind(z, numbers{10, -1, -5, 12, 4, 24});
  p.bind(labels, {std::int64_t{2}, std::int64_t{1}});
  p.run();
  double const e = std::exp(1.);
  CHECK(double(p.value(first)) == Approx(e + 1).epsilon(1e-12));
  CHECK(double(p.value(second)) == Approx(e).epsilon(1e-12));
  CHECK(elements(p.value(larger[0])) == numbers{0, .5, 1});
  CHECK(elements(p.value(larger[1])) == numbers{1, .5, 0});
  CHECK(elements(p.value(smaller[0])) == numbers{1, .5, 0});
  CHECK(elements(p.value(smaller[1])) == numbers{0, .5, 1});
  CHECK(elements(p.value(quotient[0])) == numbers{.5, .5, 1});
  CHECK(elements(p.value(quotient[1])) == numbers{-.25, -.5, -3});
  CHECK(elements(p.value(right)) == numbers{1, 1, 1});
  CHECK(elements(p.value(window)) == numbers{0, 0, 0, 1, 1, 0, 0, 0, 0});
  CHECK(elements(p.value(pick)) == numbers{1, 0, 0});
  double const rows[2][3]{{10, -1, -5}, {12, 4, 24}};
  int const label[]{2, 1};
  for (int r = 0; r < 2; ++r) {
    double sum = 0;
    for (double const v : rows[r]) sum += std::exp(v);
    CHECK(p.value(loss)(r) == Approx(std::log(sum) - rows[r][label[r]]).epsilon(1e-12));
    for (int c = 0; c < 3; ++c)
      CHECK(p.value(dz)(r, c) ==
            Approx(std::exp(rows[r][c]) / sum - (c == label[r] ? 1 : 0)).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("operands that do not fit are refused with their shapes, and the graph stays unchanged") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("image", {9, 8, 2}), w = g.input<float>("w", {3, 3, 2, 4}),
             odd = g.input<float>("odd", {3, 3, 3, 4});
  auto const line = g.input<float>("line", {9, 8});
  auto const i = g.input<int>("i", {9, 3});
  auto const nodes = g.get().nodes.size(), tensors = g.get().tensors.size();
  auto const says = [](auto f, char const* words) {
    try {
      (void)f();
    } catch (ct::error const& e) {
      INFO(e.what());
      return std::string(e.what()).find(words) != std::string::npos;
    }
    return false;
  };
  CHECK(
      says([&] { return ct::conv2d(x, odd); }, "the channels of the image must equal those of the weights"));
  CHECK(says([&] { return ct::conv2d(x, odd); },
             "in conv2d of image float [9, 8, 2] and odd float [3, 3, 3, 4]"));
  CHECK(says([&] { return ct::conv2d(line, w); }, "an image must have the axes"));
  CHECK(says([&] { return ct::conv2d(x, line); }, "weights must have the axes"));
  CHECK(says([&] { return ct::conv2d(x, w, {.stride = 0}); }, "must be at least 1"));
  CHECK(says([&] { return ct::conv2d(x, w, {.padding = -1}); }, "its padding at least 0"));
  CHECK(says([&] { return ct::conv2d(x, w, {.padding = 1, .padding_end = -5}); }, "its padding at least 0"));
  CHECK(says([&] { return ct::conv2d(x, w, {.dilation = 5}); }, "a window must fit into the image"));
  CHECK(says([&] { return ct::conv2d(x, w, {.groups = 3}); }, "the groups must divide the results"));
  CHECK(says([&] { return ct::max_pool2d(x, {.window = 10}); }, "a window must fit into the image"));
  CHECK(says([&] { return ct::max_pool2d(x, {.window = 2, .padding = 2}); },
             "the padding must be less than the window"));
  CHECK(says([&] { return ct::split(x, 4, 0); }, "the number of parts must divide"));
  CHECK(says([&] { return ct::split(x, {2, 3}, 0); }, "the sizes must be at least 0 and add up"));
  CHECK(says([&] { return ct::split(x, {12, -3}, 0); }, "the sizes must be at least 0 and add up"));
  CHECK(says([&] { return ct::split(x, 3, 3); }, "an axis must be less than the rank"));
  CHECK(says([&] { return ct::batch_take(x, i); },
             "the indices must have the shape of the operand without its last axis"));
  CHECK(g.get().nodes.size() == nodes);
  CHECK(g.get().tensors.size() == tensors);
}
/// Windows, parts, sizes as numbers; of an expression or a variable.
template <class X, class Key> X of_numbers(X const& x, X const& w, Key const& key) {
  auto const y = ct::max_pool2d(ct::conv2d(x, w, {.stride = {1, 2}, .padding = 1}), {.window = 3, .stride = 1});
  auto const z = ct::avg_pool2d(y, {.window = {2, 1}}) * ct::random_normal<double>(key, {2, 1, 4});
  auto const halves = ct::split(z, 2, -1), parts = ct::split(z, {1, 3}, 2);
  return ct::sum(halves[0] * halves[1]) + ct::sum(parts[1] * ct::random_uniform<double>(key, {3}));
}
TEST_CASE("eager variables take windows, parts and sizes as numbers") {
  numbers const x = waves(7 * 6 * 3, 0), w = waves(3 * 3 * 3 * 4, 1);
  std::int64_t const at = 7;
  ct::dynamic::graph g;
  auto const X = g.input<double>("x", {7, 6, 3}), W = g.input<double>("w", {3, 3, 3, 4});
  auto const key = g.input<std::int64_t>("key");
  auto const loss = of_numbers(X, W, key);
  auto const dw = g.gradient({loss}, {W}).front();
  auto p = g.compile({loss, dw}, {{X, x}, {W, w}, {key, at}});
  p.run();
  ct::dynamic::eager e;
  auto const weights = e.parameter(w, {3, 3, 3, 4}, "w");
  auto const y = of_numbers(e.constant(x, {7, 6, 3}), weights, e.constant(at));
  e.backward(y);
  CHECK(y.item() == Approx(double(p.value(loss))).epsilon(1e-13));
  CHECK(y.item() != 0);
  for (std::int64_t k = 0; k < 108; ++k)
    CHECK(weights.grad().value().data()[k] == Approx(p.value(dw).data()[k]).epsilon(1e-12).margin(1e-14));
}
TEST_CASE("a deep network for images of 225 x 225 needs the expected arena") {
  ct::dynamic::graph g;
  auto const image = g.input<float>("image", {225, 225, 3});
  ct::dynamic::expr<float> x = image;
  std::int64_t channels = 3, weights = 0, largest = 0;
  auto const parameter = [&](ct::dynamic::sizes const& shape) {
    auto const w = g.parameter<float>("w", shape);
    std::int64_t n = 1;
    for (std::int64_t const size : shape) n *= size;
    weights += 4 * n;
    return w;
  };
  auto const seen = [&] {
    std::int64_t n = 4;
    for (std::int64_t const size : ct::dynamic::sizes(x.shape())) n *= size;
    largest = std::max(largest, n);
  };
  for (auto const& [layers, to] : {std::pair{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    for (int k = 0; k < layers; ++k, channels = to) {
      x = ct::relu(ct::conv2d(x, parameter({3, 3, channels, to}), {.padding = 1}) + parameter({to}));
      seen();
    }
    x = ct::max_pool2d(x, {.window = 2});
  }
  x = ct::reshape(x, {1, 7 * 7 * 512});
  for (std::int64_t const to : {4096, 4096, 1000}) {
    x = ct::matmul(x, parameter({ct::dynamic::sizes(x.shape())[1], to})) + parameter({to});
    if (to != 1000) x = ct::relu(x);
  }
  auto const y = ct::softmax(x, 1);
  CHECK(weights > 553'000'000);
  auto const p = g.compile({y}); // parameters and the image lie where they are bound
  CHECK(p.workspace_bytes() <= 471'513'504);
  CHECK(p.value_bytes() <= 2 * largest + (1 << 20)); // what a layer reads, and what it makes
  auto const q = g.compile({y}, {}, {.own_memory = true}); // and here
  CHECK(q.value_bytes() <= weights + 2 * largest + 2 * (1 << 20));
}

