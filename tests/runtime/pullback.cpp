// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../allocations.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/core/narrow.hpp>
#include <cotangent/random.hpp>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {

template <class A, class B> bool same_bits(A const& a, B const& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) == 0;
}
template <class T> T filled(double from, double step) {
  T t;
  for (auto& e : t) {
    e = static_cast<std::remove_reference_t<decltype(e)>>(std::sin(from));
    from += step;
  }
  return t;
}

template <template <class, ct::extent...> class T> struct layers {
  BOOST_HANA_DEFINE_STRUCT(layers, (T<float, 24, 40>, w1), (T<float, 40>, b1), (T<float, 40, 40>, w2),
                           (T<float, 40, 3>, w3));
};
inline constexpr auto network = [](auto const& p, auto x) {
  auto const h = ct::relu(ct::matmul(x, p.w1) + p.b1);
  auto const k = ct::tanh(ct::matmul(h, p.w2));
  return ct::matmul(k, p.w3);
};
inline constexpr auto network_loss = [](auto const& p, auto x) { return ct::sum(network(p, x)); };

} // namespace

TEST_CASE("Masks and small integers are restored from few bits, for any number of elements") {
  for (int n = 0; n < 70; ++n) {
    bool mask[80]{}, again[80]{};
    std::int64_t numbers[80]{}, numbers_again[80]{};
    for (int k = 0; k < n; ++k) {
      mask[k] = (k * k + n) % 3 == 0;
      numbers[k] = k * 3;
    }
    unsigned char narrow[400];
    ct::detail::put_narrow(mask, n, 1, narrow);
    ct::detail::take_narrow(narrow, n, 1, again);
    CHECK(std::memcmp(mask, again, sizeof mask) == 0);
    for (int bits : {8, 16, 32}) {
      for (std::int64_t& v : numbers_again) v = 0;
      ct::detail::put_narrow(numbers, n, bits, narrow);
      ct::detail::take_narrow(narrow, n, bits, numbers_again);
      CHECK(std::memcmp(numbers, numbers_again, sizeof numbers) == 0);
    }
  }
}

TEST_CASE("A mask may hold any byte if no branch computed it: its neighbors keep their bits") {
  for (int const n : {7, 8, 29}) {
    unsigned char bytes[32], again[32], narrow[8];
    for (int k = 0; k < n; ++k) bytes[k] = static_cast<unsigned char>(k % 3 == 0 ? 255 - 10 * k : k % 2);
    ct::detail::put_narrow(reinterpret_cast<bool const*>(bytes), n, 1, narrow);
    ct::detail::take_narrow(narrow, n, 1, reinterpret_cast<bool*>(again));
    for (int k = 0; k < n; ++k) CHECK(again[k] == (bytes[k] & 1));
  }
}

TEST_CASE("A pullback of a network has the bits of one program at every call, and saves each value once") {
  layers<ct::tensor> p{filled<ct::tensor<float, 24, 40>>(1, .3), filled<ct::tensor<float, 40>>(2, .7),
                       filled<ct::tensor<float, 40, 40>>(3, .2), filled<ct::tensor<float, 40, 3>>(4, .9)};
  auto const x = filled<ct::tensor<float, 16, 24>>(5, 1.1);
  auto [y, back] = ct::vjp(network)(p, x);
  // x, relu's and tanh's results, and the two matrices behind a gradient
  static_assert(decltype(back)::saved_bytes == 4 * (16 * 24 + 16 * 40 + 16 * 40 + 40 * 40 + 40 * 3));
  CHECK(back.bytes() == decltype(back)::saved_bytes);
  CHECK(same_bits(y, ct::compiled(network)(p, x)));
  for (int k = 0; k < 3; ++k) {
    auto const dy = filled<ct::tensor<float, 16, 3>>(6 + k, .4);
    long const before = allocations;
    auto const g = back(dy);
    if (k > 0) CHECK(allocations - before == 3); // the gradients; b1's stands in the object
    auto const [y2, g2] = ct::vjp(network)(p, x, dy);
    CHECK((same_bits(y, y2) && same_bits(g.w1, g2.w1) && same_bits(g.b1, g2.b1) && same_bits(g.w2, g2.w2) &&
           same_bits(g.w3, g2.w3)));
  }
  ct::tensor<float, 16, 3> ones;
  ones.fill(1);
  auto const [loss, whole] = ct::value_and_grad(network_loss)(p, x);
  auto const g = back(ones);
  CHECK((same_bits(g.w1, whole.w1) && same_bits(g.b1, whole.b1) && same_bits(g.w2, whole.w2)));
}

namespace {
inline constexpr auto deep_relu = [](auto x) {
  auto h = x;
  for (int k = 0; k < 6; ++k) h = ct::relu(h * 1.25 - 0.125);
  return h;
};
} // namespace
TEST_CASE("Layers of relu save bits, and their gradient has the bits of one program") {
  auto const x = filled<ct::tensor<double, 5, 101>>(1, .37);
  auto const dy = filled<ct::tensor<double, 5, 101>>(2, .11);
  auto [y, back] = ct::vjp(deep_relu)(x);
  static_assert(decltype(back)::saved_bytes <= (6 * 505 + 7) / 8 + 6, "a bit for each layer");
  auto const dx = back(dy);
  CHECK(same_bits(dx, ct::vjp(deep_relu)(x, dy).second));
  for (int i : {0, 7, 300, 504}) { // differences, and the closed form
    double const h = 1e-6;
    auto up = x, down = x;
    up.data()[i] += h;
    down.data()[i] -= h;
    double const slope =
        (ct::compiled(deep_relu)(up).data()[i] - ct::compiled(deep_relu)(down).data()[i]) / (2 * h);
    CHECK(dx.data()[i] == Approx(slope * dy.data()[i]).margin(1e-8));
    CHECK(dx.data()[i] == Approx(y.data()[i] > 0 ? std::pow(1.25, 6) * dy.data()[i] : 0));
  }
}

namespace {
inline constexpr auto scaled_sum = [](auto x, auto y) { return x * 2 + y; };
inline constexpr auto doubled_relu = [](auto x) { return ct::relu(x * 2); };
inline constexpr auto window = [](auto x) { return x(ct::range<1, 2>, ct::range<0, 2>); };
inline constexpr auto cosine = [](auto x) { return ct::cos(x); };
inline constexpr auto second_of_cosine = [](auto x) {
  auto [y, back] = ct::vjp([](auto z) { return ct::vjp(cosine)(z).second(ct::ones<3>() + 0 * z); })(x);
  return std::pair(y, back(ct::ones<3>() + 0 * x));
};
inline constexpr auto either = [](auto x, auto y) { return ct::sum(ct::select(x > 0.7, x, y)); };
inline constexpr auto partly_stopped = [](auto a) { return ct::stop_gradient(3 * a) + 4 * a; };
inline constexpr auto affine = [](auto w, auto x, auto b) { return ct::dot(w, x) - b; };
} // namespace
TEST_CASE("Small pullbacks save the necessary values only") {
  ct::tensor<double, 4> const row{1, 2, 3, 4};
  ct::tensor<double, 3, 4> const rows = filled<ct::tensor<double, 3, 4>>(1, 1);
  {
    auto const dz = filled<ct::tensor<double, 3, 4>>(3, .5);
    auto const [z, back] = ct::vjp(scaled_sum)(row, rows);
    static_assert(decltype(back)::saved_bytes == 0);
    auto const dx = back(dz);
    for (int k = 0; k < 4; ++k) CHECK(dx(k) == Approx(2 * (dz(0, k) + dz(1, k) + dz(2, k))));
    CHECK(same_bits(ct::vjp<1>(scaled_sum)(row, rows).second(dz), dz));
  }
  {
    auto const [y, back] = ct::vjp(doubled_relu)(ct::tensor<double, 2>{1, -1});
    static_assert(decltype(back)::saved_bytes == 1);
    CHECK(y == ct::tensor<double, 2>{2, 0});
    CHECK(back(ct::tensor<double, 2>{1, 1}) == ct::tensor<double, 2>{2, 0});
  }
  {
    auto const [y, back] = ct::vjp(window)(filled<ct::tensor<double, 3, 3>>(1, 1));
    static_assert(decltype(back)::saved_bytes == 0);
    CHECK(back(ct::tensor<double, 1, 2>{{1, 1}}) ==
          ct::tensor<double, 3, 3>{{0, 0, 0}, {1, 1, 0}, {0, 0, 0}});
  }
  {
    ct::tensor<double, 3> const x{.3, 1, 2};
    auto const [first, second] = ct::compiled(second_of_cosine)(x);
    for (int k = 0; k < 3; ++k)
      CHECK((first(k) == Approx(-std::sin(x(k))) && second(k) == Approx(-std::cos(x(k)))));
  }
  {
    auto const [y, back] =
        ct::vjp<0, 1>(either)(ct::tensor<double, 3>{.5, .5, .5}, ct::tensor<double, 3>{1, 1, 1});
    static_assert(decltype(back)::saved_bytes == 1);
    auto const [dx, dy] = back(1.0);
    CHECK((dx == ct::tensor<double, 3>{0, 0, 0} && dy == ct::tensor<double, 3>{1, 1, 1}));
  }
  CHECK(ct::vjp(partly_stopped)(7.0).second() == 4);
  {
    auto const [y, back] =
        ct::vjp<0, 2>(affine)(ct::tensor<double, 3>{1, 3, 5}, ct::tensor<double, 3>{2, 4, 6}, 1.0);
    auto const [dw, db] = back(2.5);
    CHECK((y == 43 && dw == ct::tensor<double, 3>{5, 10, 15} && db == -2.5));
    static_assert(decltype(back)::saved_bytes == 24, "x, not w");
  }
}

namespace {
inline constexpr auto dropped = [](auto x, auto key) { return ct::dropout(x, 0.25, key) * 3; };
inline constexpr auto highest = [](auto x, auto table) { return ct::gather(table, ct::argmax<1>(x)); };
} // namespace
TEST_CASE("Dropout saves its key, and positions are saved as narrow integers") {
  auto const x = filled<ct::tensor<float, 50, 20>>(1, .1);
  auto const [y, back] = ct::vjp(dropped)(x, std::int64_t{77});
  static_assert(decltype(back)::saved_bytes == 8);
  auto const dx = back(x);
  CHECK(same_bits(dx, ct::vjp(dropped)(x, std::int64_t{77}, x).second));
  for (int k = 0; k < x.size(); ++k) CHECK(dx.data()[k] == Approx(y.data()[k])); // linear
  auto const table = filled<ct::tensor<float, 20, 2>>(2, .6);
  auto const [rows, back_rows] = ct::vjp<1>(highest)(x, table);
  static_assert(decltype(back_rows)::saved_bytes == 50);
  auto const dy = filled<ct::tensor<float, 50, 2>>(3, .2);
  CHECK(same_bits(back_rows(dy), ct::vjp<1>(highest)(x, table, dy).second));
}

namespace {
inline constexpr auto normalized = [](auto x) { return x / ct::sum(x); };
inline constexpr auto total = [](auto x) { return ct::sum(x); };
} // namespace
TEST_CASE("Named sizes are saved, and a cotangent of another size is refused") {
  ct::tensor<double, "n"> x(40), dy(40);
  for (int k = 0; k < 40; ++k) {
    x(k) = 1 + k % 7;
    dy(k) = k % 5;
  }
  auto [y, back] = ct::vjp(normalized)(x);
  CHECK((back.bytes() > 0 && back.bytes() <= 2 * 40 * 8 + 8));
  CHECK(same_bits(back(dy), ct::vjp(normalized)(x, dy).second));
  auto [sum, back_sum] = ct::vjp(total)(x);
  CHECK((back_sum.bytes() == 0 && back_sum(3.0).size() == 40 && back_sum(3.0)(39) == 3));
  std::vector<double> const v(x.begin(), x.end());
  CHECK(ct::vjp(total)(v).second(2.0) == std::vector<double>(40, 2.0));
#if COTANGENT_EXCEPTIONS
  CHECK_THROWS_AS(back(ct::tensor<double, "n">(39)), ct::shape_error);
  CHECK_THROWS_WITH(back(ct::tensor<double, "n">(39)),
                    "cotangent: vjp: the size 39 of axis 0 of the cotangent of output 0 must equal the "
                    "output's, which is 40");
#endif
}

namespace {
inline constexpr auto normalize_batch = [](auto x, auto scale, auto shift, auto mean, auto variance) {
  auto m = ct::mean(x, ct::axes<0>);
  auto v = ct::mean(ct::square(x - m), ct::axes<0>);
  auto y = scale * (x - m) / ct::sqrt(v + 1e-5) + shift;
  return std::tuple(0.9 * mean + 0.1 * m, 0.9 * variance + 0.1 * v, y);
};
} // namespace
TEST_CASE("One of several outputs may have a cotangent; the normalizer of a batch is recomputed") {
  auto const x = filled<ct::tensor<double, 30, 4>>(1, .3), dy = filled<ct::tensor<double, 30, 4>>(2, .8);
  auto const scale = filled<ct::tensor<double, 4>>(3, .3), shift = filled<ct::tensor<double, 4>>(4, .3);
  ct::tensor<double, 4> const none{0, 0, 0, 0};
  auto const [y, back] = ct::vjp<0, 1, 2>(normalize_batch)(x, scale, shift, none, none);
  static_assert(decltype(back)::saved_bytes == 30 * 4 * 8 + 4 * 8, "x and the scale");
  auto const [dx, dscale, dshift] = back(std::tuple(ct::absent, ct::absent, dy));
  auto const zeros = std::tuple(none, none, dy);
  auto const whole = ct::vjp<0, 1, 2>(normalize_batch)(x, scale, shift, none, none, zeros).second;
  CHECK((same_bits(dx, std::get<0>(whole)) && same_bits(dscale, std::get<1>(whole)) &&
         same_bits(dshift, std::get<2>(whole))));
  for (int c = 0; c < 4; ++c) {
    double sum = 0, slope = 0;
    for (int i = 0; i < 30; ++i) {
      sum += dy(i, c);
      slope += dx(i, c);
    }
    CHECK(dshift(c) == Approx(sum));
    CHECK(slope == Approx(0).margin(1e-12)); // a shift of the whole column changes nothing
  }
}

TEST_CASE("documented: pullbacks") {
  // [pullback]
  auto const f = [](auto x) { return ct::relu(2 * x); };
  ct::tensor<float, 1000> x, dy;
  x.fill(1);
  dy.fill(3);
  auto [y, back] = ct::vjp(f)(x);
  static_assert(decltype(back)::saved_bytes == 125); // a bit for each element
  auto dx = back(dy);
  // [/pullback]
  CHECK((y(999) == 2 && dx(0) == 6 && dx(999) == 6));
}

namespace {
inline constexpr auto layer = [](auto x, auto w) { return ct::tanh(ct::matmul(x, w)); };
} // namespace
TEST_CASE("documented: a list of pullbacks") {
  using rows = ct::tensor<float, 4, 4>;
  std::vector<rows> const weights(3, filled<rows>(1, .3));
  rows const x = filled<rows>(2, .7), dy = filled<rows>(3, .2);
  // [layers]
  std::vector<decltype(ct::vjp<0, 1>(layer)(x, x).second)> tape;
  rows h = x;
  for (rows const& w : weights) {
    auto [next, back] = ct::vjp<0, 1>(layer)(h, w);
    h = next;
    tape.push_back(back);
  }
  rows dh = dy;
  std::vector<rows> dw(weights.size());
  for (std::size_t k = tape.size(); k-- > 0;) std::tie(dh, dw[k]) = tape[k](dh);
  // [/layers]
  auto const at_once = [](auto a, auto w) { return layer(layer(layer(a, w), w), w); };
  auto const [dx, sum] = ct::vjp<0, 1>(at_once)(x, weights[0], dy).second;
  for (int k = 0; k < 16; ++k) {
    CHECK(dh.data()[k] == Approx(dx.data()[k]));
    CHECK(dw[0].data()[k] + dw[1].data()[k] + dw[2].data()[k] == Approx(sum.data()[k]));
  }
}
