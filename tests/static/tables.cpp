// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

#include <cstdint>
#include <tuple>

// Tables at their edges: ends, one row, equal positions, the curves that they reproduce; values and derivatives, by the compiler.

namespace ct = cotangent;

namespace {
template <int N> using vector = ct::tensor<double, N>;
constexpr double nan = __builtin_nan("");

template <class A, class B> constexpr bool near(A const& a, B const& b, double tolerance = 1e-14) {
  for (std::int64_t k = 0; k < a.size(); ++k)
    if (!(a.data()[k] - b.data()[k] <= tolerance && b.data()[k] - a.data()[k] <= tolerance)) return false;
  return a.size() == b.size();
}

// searchsorted: both sides, before and behind all, NaN behind all numbers
constexpr auto left = ct::compiled([](auto a, auto x) { return ct::searchsorted(a, x); });
constexpr auto right = ct::compiled([](auto a, auto x) { return ct::searchsorted<ct::side::right>(a, x); });
using positions = ct::tensor<std::int64_t, 5>;
static_assert(left(vector<4>{1, 2, 2, 5}, vector<5>{0, 1, 2, 5, 6}) == positions{0, 0, 1, 3, 4});
static_assert(right(vector<4>{1, 2, 2, 5}, vector<5>{0, 1, 2, 5, 6}) == positions{0, 1, 3, 4, 4});
static_assert(left(vector<3>{1, 2, nan}, vector<2>{nan, 3}) == ct::tensor<std::int64_t, 2>{2, 2} && left(vector<0>{}, 3.0) == 0);
static_assert(right(vector<3>{1, 2, nan}, vector<2>{nan, 3}) == ct::tensor<std::int64_t, 2>{3, 2});
static_assert(ct::compiled([](auto a, auto x) { return ct::vmap([](auto b, auto y) { return ct::searchsorted<ct::side::right>(b, y); })(a, x); })(
                  ct::tensor<double, 2, 3>{{1, 2, nan}, {1, nan, nan}}, vector<2>{nan, nan}) == ct::tensor<std::int64_t, 2>{3, 3});
static_assert(left(ct::tensor<std::int32_t, 3>{1, 4, 9}, ct::tensor<std::int32_t, 2>{4, 5}) == ct::tensor<std::int64_t, 2>{1, 2});

template <ct::table How> constexpr auto at = ct::compiled([](auto x, auto xs, auto ys) { return ct::interp<How>(x, xs, ys); });
constexpr ct::table linear{}, cubic{ct::interpolation::cubic}, monotone{ct::interpolation::monotone};
constexpr ct::table line_beyond{ct::interpolation::linear, ct::outside::extrapolate}, cubic_beyond{ct::interpolation::cubic, ct::outside::extrapolate};
constexpr vector<4> xs{0, 1, 3, 4}, ys{1, 3, 2, 2};

// rows themselves, ends, and beyond
static_assert(at<linear>(vector<6>{-1, 0, 1, 2, 4, 9}, xs, ys) == vector<6>{1, 1, 3, 2.5, 2, 2});
static_assert(at<line_beyond>(vector<3>{-1, 2, 5}, xs, vector<4>{1, 3, 2, 4}) == vector<3>{-1, 2.5, 6});
static_assert(at<cubic>(vector<5>{-1, 0, 1, 3, 9}, xs, ys) == vector<5>{1, 1, 3, 2, 2} && at<monotone>(xs, xs, ys) == ys);
// one row, two rows, equal positions
static_assert(at<linear>(vector<3>{-1, 2, 5}, vector<1>{2}, vector<1>{7}) == vector<3>{7, 7, 7} && at<cubic>(5.0, vector<1>{2}, vector<1>{7}) == 7);
static_assert(at<cubic>(0.25, vector<2>{0, 1}, vector<2>{1, 3}) == 1.5 && at<monotone>(0.25, vector<2>{0, 1}, vector<2>{1, 3}) == 1.5);
static_assert(at<linear>(vector<3>{0.5, 1, 1.5}, vector<4>{0, 1, 1, 2}, vector<4>{0, 1, 5, 6}) == vector<3>{0.5, 5, 5.5});
// parabolas are reproduced, also beyond the ends; monotone tables stay monotone
constexpr auto parabola = [](double x) { return 3 * x * x - x + 2; };
static_assert(near(at<cubic_beyond>(vector<4>{-2, 0.5, 2, 7}, xs, vector<4>{parabola(0), parabola(1), parabola(3), parabola(4)}),
                   vector<4>{parabola(-2), parabola(0.5), parabola(2), parabola(7)}, 1e-12));
static_assert(at<monotone>(0.75, vector<4>{0, 1, 2, 3}, vector<4>{0, 0, 1, 1}) == 0 && at<monotone>(1.5, vector<4>{0, 1, 2, 3}, vector<4>{0, 0, 1, 1}) == 0.5);
static_assert(at<cubic>(0.75, vector<4>{0, 1, 2, 3}, vector<4>{0, 0, 1, 1}) < 0);

// derivatives: slopes by x, shares by ys, positions by xs
constexpr auto slopes = ct::grad<0, 1, 2>([](auto x, auto p, auto y) { return ct::interp(x, p, y); });
static_assert(std::get<0>(slopes(2.0, xs, ys)) == -0.5 && std::get<2>(slopes(2.0, xs, ys)) == vector<4>{0, 0.5, 0.5, 0});
static_assert(std::get<1>(slopes(2.0, xs, ys)) == vector<4>{0, 0.25, 0.25, 0});
static_assert(std::get<0>(slopes(4.0, xs, vector<4>{1, 3, 2, 4})) == 2 && std::get<0>(slopes(4.5, xs, ys)) == 0 && std::get<0>(slopes(-0.5, xs, ys)) == 0);
static_assert(std::get<2>(slopes(9.0, xs, ys)) == vector<4>{0, 0, 0, 1} && std::get<1>(slopes(9.0, xs, ys)) == vector<4>{0, 0, 0, 0});
static_assert(ct::grad([](auto x, auto p, auto y) { return ct::grad([](auto z, auto q, auto v) { return ct::interp<cubic_beyond>(z, q, v); })(x, p, y); })(
                  3.5, vector<3>{0, 1, 2}, vector<3>{0, 1, 4}) == 2);

// regular grids
constexpr auto mapped = ct::compiled([](auto t, auto x) { return ct::map_coordinates(t, x); });
static_assert(mapped(vector<3>{1, 3, 4}, vector<5>{-1, 0, 0.5, 2, 3}) == vector<5>{1, 1, 2, 4, 4} && mapped(vector<1>{5}, 0.5) == 5);
constexpr auto two = ct::compiled([](auto t, auto x, auto y) { return ct::map_coordinates(t, x, y); });
static_assert(two(ct::tensor<double, 2, 3>{{0, 1, 2}, {10, 11, 12}}, vector<4>{0.5, 1, -3, 7}, vector<4>{0.25, 2, 1, 9}) == vector<4>{5.25, 12, 1, 12});
constexpr auto three = ct::compiled([](auto t, auto x) { return ct::map_coordinates(t, x, 1 - x, x); });
static_assert(three(ct::tensor<double, 2, 2, 2>{{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}}, 0.25) == 0.25 * 4 + 0.75 * 2 + 0.25);

constexpr auto uneven = ct::compiled([](auto x, auto y, auto p, auto q, auto t) { return ct::interpn<cubic>(p, q, t, x, y); });
constexpr ct::tensor<double, 3, 3> squares{{0, 1, 9}, {1, 2, 10}, {16, 17, 25}}; // x x + y y at 0, 1, 4 and 0, 1, 3
static_assert(near(uneven(vector<4>{0.5, 4, 2, 9}, vector<4>{2, 1, 0.5, -1}, vector<3>{0, 1, 4}, vector<3>{0, 1, 3}, squares), vector<4>{4.25, 17, 4.25, 16}));

// polynomials, splines
static_assert(ct::compiled([](auto c, auto x) { return ct::polyval(c, x); })(vector<3>{3, -1, 2}, vector<2>{2, -1}) == vector<2>{12, 6});
static_assert(ct::compiled([](auto x) { return ct::polyval(0 * ct::broadcast_to<0>(x), x) + ct::polyval(ct::broadcast_to<1>(x), x); })(3.0) == 3);
constexpr auto spline = ct::compiled([](auto x, auto c) { return ct::bspline(x, c); });
static_assert(near(spline(vector<4>{-1, 0, 1, 9}, vector<5>{1, 3, 2, 2.5, 7}), vector<4>{2.5, 2.5, 13.5 / 6, 19. / 6}));
static_assert(near(spline(vector<2>{0.3, 1.7}, vector<5>{2, 2, 2, 2, 2}), vector<2>{2, 2}) && near(spline(vector<2>{0.3, 1.7}, vector<5>{-1, 0, 1, 2, 3}), vector<2>{0.3, 1.7}));
// clamped knots: a Bezier curve, with its end points
constexpr auto bezier = ct::compiled([](auto x, auto k, auto c) { return ct::bspline<2>(x, k, c); });
static_assert(bezier(vector<4>{0, 0.5, 1, 2}, vector<6>{0, 0, 0, 1, 1, 1}, vector<3>{1, 4, 3}) == vector<4>{1, 3, 3, 3});
} // namespace

int main() {}
