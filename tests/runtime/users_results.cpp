// SPDX-License-Identifier: BSL-1.0
// Programs of users: unusual arguments and results, functions in classes.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <array>
#include <tuple>

namespace ct = cotangent;

namespace {

namespace r01 {
template <template <class, ct::extent...> class T> struct pt { BOOST_HANA_DEFINE_STRUCT(pt, (T<double>, x), (T<double>, y)); };
constexpr auto nest = [](auto x) { return std::tuple(std::pair(x, x * 2), std::array{x + 1, x + 2}, pt<ct::expr>{ct::sum(x), 1.0}); };
constexpr auto noargs = [] { return ct::iota<double, 3>() + 1; };
constexpr auto constant_result = [](auto x) { (void)x; return 3.0; };
constexpr auto unchanged = [](auto x) { return x; };
constexpr auto twice = [](auto x) { return std::tuple(x, x); };
constexpr auto cmp = [](auto x) { return x > 1; };
constexpr auto scal = [](auto x) { return std::array{ct::sum(x), ct::max(x)}; };
constexpr auto lits = [](auto x) { return x * 1.0f + 1u - true + 2L * x / 3; };
constexpr auto pw = [](auto x) { return ct::pow(x, 3) + ct::pow(2, x); };

TEST_CASE("results may be trees, constants, masks, literals, and empty or large tensors") {
  ct::tensor<double, 2> x{1, 2};
  auto r = ct::compiled(nest)(x);
  CHECK((std::get<0>(r).second(1) == 4 && std::get<1>(r)[1](0) == 3 && std::get<2>(r).x == 3.0));
  CHECK(ct::compiled(noargs)()(2) == 3);
  CHECK((ct::compiled(constant_result)(x) == 3 && ct::grad(constant_result)(x)(0) == 0));
  CHECK(ct::compiled(unchanged)(x)(1) == 2);
  auto [a, b] = ct::compiled(twice)(x);
  CHECK((a(1) == 2 && b(1) == 2));
  auto m = ct::compiled(cmp)(x);
  static_assert(std::is_same_v<decltype(m), ct::tensor<bool, 2>>);
  CHECK((!m(0) && m(1)));
  auto s = ct::compiled(scal)(x);
  CHECK((s[0] == 3.0 && s[1] == 2.0));
  auto l = ct::compiled(lits)(3.0);
  CHECK(l == 3 + 1 - 1 + 2);
  CHECK((ct::grad(pw)(1.0) > 4.38 && ct::grad(pw)(1.0) < 4.39));
  ct::tensor<float, 0> none; ct::tensor<float, 1> one{2};
  CHECK((ct::compiled([](auto v) { return ct::sum(v); })(none) == 0 && ct::grad([](auto v) { return ct::sum(v * v); })(one)(0) == 4));
  ct::tensor<float, 1, 2, 1, 2, 1, 2, 1, 2> big;
  CHECK(ct::grad([](auto v) { return ct::sum(ct::sum(ct::exp(v), ct::axes<0, 3, -1>)); })(big)(0,0,0,0,0,0,0,0) == 1);
}
} // namespace r01

namespace r04 {
template <class T> struct model {
  static constexpr auto energy = [](auto x) { return ct::sum(ct::square(x)) / 2; };
  ct::tensor<T, 3> x{1, 2, 3};
  auto force() const { return ct::grad(energy)(x); }
};
template <template <class, ct::extent...> class T> struct pt { BOOST_HANA_DEFINE_STRUCT(pt, (T<double, 2>, x), (T<double>, y)); };
constexpr auto loss = [](auto const& p, auto k) { return ct::sum(p.x * k) * p.y; };
using P = ct::program<decltype(ct::value_and_grad<0, 1>(loss)), pt<ct::tensor>, double>;

TEST_CASE("member functions are compiled, and have programs") {
  CHECK(model<float>{}.force()(2) == 3);
  pt<ct::tensor> p{{1, 2}, 3.0}, dp; double k = 2, v = 0, dk = 0;
  P::workspace mem;
  auto s = P::run(mem, std::tie(p, k), std::tie(v, dp, dk));
  CHECK((s == ct::status::ok && v == 18 && dp.x(0) == 6 && dk == 9));
  auto r = P::call(p, k);
  CHECK(r.first == 18);
}
} // namespace r04

namespace r05 {
constexpr auto va = [](auto const&... x) { return (ct::sum(x * x) + ...); };
constexpr auto fw = [](auto&& x) { return ct::sum(x) * 2; };
constexpr auto two = [](auto x, auto... rest) { return ct::sum(x) + (ct::sum(rest) + ... + 0.0); };
ct::tensor<double, 2> make() { return {1, 2}; }

TEST_CASE("functions take packs of parameters and temporaries") {
  CHECK(ct::compiled(va)(make(), make(), 2.0) == 14);
  CHECK(ct::grad(fw)(make())(0) == 2);
  CHECK((ct::compiled(two)(make()) == 3 && ct::compiled(two)(make(), make()) == 6));
  auto g = ct::grad<0, 1>(va)(make(), make());
  CHECK(std::get<1>(g)(1) == 4);
}
} // namespace r05

} // namespace
