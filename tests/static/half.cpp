// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cstdint>
#include <tuple>
#include <type_traits>

// Tensors of half precision: storage, with float arithmetic.

namespace {

namespace ct = cotangent;
template <class H> using three = ct::tensor<H, 3>;

inline constexpr auto loss = [](auto x, auto t) { return ct::sum(ct::square(x - t)); };
inline constexpr auto traced = [](auto x) {
  static_assert(std::is_same_v<typename decltype(x)::value_type, float>); // arguments of half precision are read as float
  return x * x;
};

template <class H> constexpr bool gradients_are_stored_as_arguments() {
  auto const d = ct::grad(loss)(three<H>{1, 2, 3}, three<H>{3, 5, 8});
  static_assert(std::is_same_v<decltype(d), three<H> const>);
  return d(0) == -4 && d(1) == -6 && d(2) == -10;
}
static_assert(gradients_are_stored_as_arguments<ct::float16>() && gradients_are_stored_as_arguments<ct::bfloat16>());
static_assert(gradients_are_stored_as_arguments<float>() && gradients_are_stored_as_arguments<double>());

// 257 * 257 is not rounded before the sum: arithmetic is that of float
inline constexpr auto sum_of_squares = [](auto x) { return ct::sum(ct::square(x)); };
static_assert(ct::compiled(sum_of_squares)(three<ct::float16>{257, 1, 0}) == 66050);
static_assert(ct::compiled(traced)(three<ct::bfloat16>{3, 1, 0})(0) == 9);

// results of half precision are rounded, and operations on them compute with float
template <class H> inline constexpr auto rounded = [](auto x) { return ct::convert<H>(x); };
static_assert(std::is_same_v<decltype(ct::compiled(rounded<ct::bfloat16>)(three<float>{})), three<ct::bfloat16>>);
static_assert(ct::compiled(rounded<ct::bfloat16>)(three<float>{257, 0, 0})(0) == 256);
static_assert(ct::compiled(rounded<ct::float16>)(three<float>{2049, 65520, 0})(0) == 2048);
template <class H> inline constexpr auto computed = [](auto x) {
  auto const y = ct::convert<H>(x * 1.5f);
  static_assert(std::is_same_v<typename decltype(y + y)::value_type, float>);
  static_assert(std::is_same_v<typename decltype(2 * y)::value_type, float>);
  static_assert(std::is_same_v<typename decltype(ct::exp(y))::value_type, float>);
  static_assert(std::is_same_v<typename decltype(y > 0)::value_type, bool>);
  return ct::sum(y * y) + ct::sum(ct::exp(y(0)) + 2 * y) + ct::max(ct::select(y > 1, y, 0)) - ct::cumsum(y)(1);
};
static_assert(ct::compiled(computed<ct::float16>)(ct::tensor<float, 2>{0, 2}) == 17);
static_assert(ct::compiled(computed<ct::bfloat16>)(ct::tensor<float, 2>{0, 2}) == 17);

// between half precision and double or integers: by float
template <class H> inline constexpr auto doubles = [](auto x) { return ct::convert<double>(ct::convert<H>(ct::convert<double>(x))); };
static_assert(ct::compiled(doubles<ct::bfloat16>)(ct::tensor<int, 1>{257})(0) == 256);
static_assert(ct::compiled(doubles<ct::float16>)(ct::tensor<int, 1>{70000})(0) > 1e300);
template <class H> inline constexpr auto truth = [](auto x) { return ct::convert<int>(ct::convert<bool>(ct::convert<H>(x))); };
static_assert(ct::compiled(truth<ct::float16>)(three<float>{0, 1, -2})(2) == 1 && ct::compiled(truth<ct::float16>)(three<float>{})(0) == 0);

// the gradient passes conversions, rounded where a cotangent of half precision is stored
template <class H> inline constexpr auto through = [](auto x) {
  auto const y = ct::convert<H>(x);
  return ct::sum(y * y * x);
};
static_assert(ct::grad(through<ct::bfloat16>)(ct::tensor<float, 2>{1, 2})(1) == 12);
// the cotangents of y are added as float, and rounded once: 255.5 + 0.5 + 1 + 1
inline constexpr auto fan_out = [](auto x) {
  auto const y = ct::convert<ct::bfloat16>(x);
  return ct::sum(255.5f * y) + ct::sum(0.5f * ct::convert<float>(y)) + ct::convert<float>(ct::sum(ct::convert<double>(y) * 2));
};
static_assert(ct::grad(fan_out)(ct::tensor<float, 1>{0.5f})(0) == 258);
// so are those of 1,000 iterations of a loop, which rounded sums of 8 bits would leave at 256
inline constexpr auto looped = [](auto x) {
  auto const y = ct::convert<ct::bfloat16>(x);
  return ct::for_loop(1000, [&](auto, auto s) { return s + ct::sum(y); }, 0 * ct::sum(x));
};
static_assert(ct::grad(looped)(ct::tensor<float, 1>{0.5f})(0) == 1000);

// 0-dimensional arguments
inline constexpr auto square_of = [](auto x) { return x * x; };
static_assert(std::is_same_v<decltype(ct::grad(square_of)(ct::float16(3))), ct::float16>);
static_assert(ct::grad(square_of)(ct::float16(3)) == 6);
static_assert(ct::grad(ct::grad(square_of))(ct::bfloat16(3)) == 2);

// constants of half precision are rounded
static_assert(ct::compiled([](auto x) { return x + ct::full<ct::bfloat16, 3>(257); })(three<float>{1, 1, 1})(2) == 257);
static_assert(ct::compiled([](auto x) { return x * ct::float16(2049) + ct::bfloat16(1); })(three<float>{1, 1, 1})(2) == 2049);

// Terms of half precision are moved and converted, but not computed with.
template <class F> constexpr bool fits(F f) {
  ct::extend::builder b;
  (void)f(ct::term{&b, b.symbol_of(ct::element::float16, b.shape(ct::extend::dimensions{1, {3}}))});
  return b.failed().why == nullptr;
}
static_assert(fits([](ct::term x) { return ct::extend::convert(x, ct::element::float32); }));
static_assert(fits([](ct::term x) { return ct::extend::convert(x, ct::element::bfloat16); }));
static_assert(fits([](ct::term x) { return ct::extend::slice(x, 0, 0, 2); }));
static_assert(!fits([](ct::term x) { return ct::extend::apply<ct::op::add>(x, x); }));
static_assert(!fits([](ct::term x) { return ct::extend::apply<ct::op::exp>(x); }));
static_assert(!fits([](ct::term x) { return ct::extend::sum(x, 1u); }));
static_assert(!fits([](ct::term x) { return ct::detail::push(ct::info_of<ct::op::convert>(), {x}, {std::int64_t(ct::element::float64)}); }));

// MXNet's cases of merged nodes (S8), for every floating element: (a + b) + (a + b), and [a * d, a * d] with d = a + 1
template <class T> constexpr bool merged() {
  constexpr auto twice = [](auto a, auto b) { return ct::sum((a + b) * (a + b)); };
  auto const d = ct::grad(twice)(ct::tensor<T, 2>{1, 2}, ct::tensor<T, 2>{3, 5});
  constexpr auto alike = [](auto a) {
    auto const e = a + 1, f = a + 1;
    return ct::sum(a * e) + ct::sum(a * f);
  };
  auto const s = ct::grad(alike)(ct::tensor<T, 2>{1, 2});
  return d(0) == 8 && d(1) == 14 && s(0) == 6 && s(1) == 10;
}
static_assert(merged<ct::float16>() && merged<ct::bfloat16>() && merged<float>() && merged<double>());

// Cotangents of results of half precision: absent ones, and 1 for numbers.
inline constexpr auto of_both = [](auto x) { return std::tuple(ct::convert<ct::float16>(x * x), ct::convert<ct::bfloat16>(x * 3)); };
constexpr bool pulled_back() {
  constexpr auto pull = ct::vjp(of_both)(3.f).second;
  return pull(std::tuple(ct::float16(1), ct::absent)) == 6 && pull(std::tuple(ct::absent, ct::bfloat16(1))) == 3 && pull() == 9;
}
static_assert(pulled_back());

// A cotangent may have a mask: that of relu, of dropout, of select.
template <class H> inline constexpr auto through_mask = [](auto x) { return ct::sum(ct::square(ct::relu(ct::convert<H>(x * 2)))); };
inline constexpr auto weighted_relu = [](auto x, auto w) { return ct::sum(ct::relu(x) * w); };
template <class H> constexpr bool masked() {
  auto const d = ct::grad(weighted_relu)(three<H>{1, -2, 3}, three<float>{4, 5, 6});
  auto const converted = ct::grad(through_mask<H>)(three<float>{1, -2, 3});
  return d(0) == 4 && d(1) == 0 && d(2) == 6 && converted(0) == 8 && converted(1) == 0 && converted(2) == 24;
}
static_assert(masked<ct::float16>() && masked<ct::bfloat16>() && masked<float>());

} // namespace
