// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>

#include <cstdint>
#include <tuple>

// Rotations, poses and cameras at their edges: values and derivatives at 0, near and at half a turn, by the compiler.

namespace ct = cotangent;

namespace {
template <class T, int N> using vector = ct::tensor<T, N>;
using three = vector<double, 3>;
using four = vector<double, 4>;
using six = vector<double, 6>;
using matrix = ct::tensor<double, 3, 3>;
constexpr double pi = 3.141592653589793;

template <class A, class B> constexpr bool near(A const& a, B const& b, double tolerance = 2e-15) {
  for (std::int64_t k = 0; k < a.size(); ++k) {
    double const apart = static_cast<double>(a.data()[k]) - static_cast<double>(b.data()[k]);
    if (!(apart <= tolerance && -apart <= tolerance)) return false;
  }
  return a.size() == b.size();
}
template <class T, int N> constexpr auto unit() {
  ct::tensor<T, N, N> m;
  for (int k = 0; k < N; ++k) m(k, k) = 1;
  return m;
}

// quaternions: i j = k, and (w, x, y, z)
constexpr auto product = ct::compiled([](auto p, auto q) { return ct::quaternion_multiply(p, q); });
static_assert(product(four{0, 1, 0, 0}, four{0, 0, 1, 0}) == four{0, 0, 0, 1});
static_assert(product(four{1, 2, 3, 4}, four{5, 6, 7, 8}) == four{-60, 12, 30, 24});
static_assert(ct::compiled([](auto q, auto x) { return ct::quaternion_rotate(q, x); })(four{0, 0, 0, 1}, three{1, 2, 3}) == three{-1, -2, 3});
static_assert(ct::compiled([](auto q) { return ct::quaternion_to_matrix(q); })(four{0, 1, 0, 0}) == matrix{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}});

// at 0: all derivatives of rotations
constexpr auto turned = ct::compiled([](auto r) { return ct::so3_exp(r); });
static_assert(turned(three{0, 0, 0}) == unit<double, 3>());
static_assert(near(turned(three{0, 0, pi / 2}), matrix{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}) && near(turned(three{0, 2 * pi, 0}), unit<double, 3>()));
static_assert(turned(three{1e-300, 0, 0})(2, 1) == 1e-300);
static_assert(ct::jacobian([](auto r) { return ct::so3_vee(ct::so3_exp(r)); })(three{0, 0, 0}) == unit<double, 3>());
static_assert(ct::jacobian([](auto r) { return ct::axis_angle_to_quaternion(r); })(three{0, 0, 0})(2, 1) == 0.5);
// c' R x is c' x + c' (r x x) + c' (r x (r x x)) / 2 to second order: its Hessian is (c x' + x c') / 2 - c' x
constexpr auto hessian = ct::hessian([](auto r) {
  using T = typename decltype(r)::value_type;
  auto const x = ct::iota<T, 3>(1), c = ct::iota<T, 3>(2, 2);
  return ct::dot(c, ct::rodrigues(r, x + 0 * r));
});
static_assert(near(hessian(three{0, 0, 0}), matrix{{2 - 28, 4, 6}, {4, 8 - 28, 12}, {6, 12, 18 - 28}}));
constexpr auto sine = [](auto t) { return ct::rodrigues(ct::stack<0>(0 * t, 0 * t, t), ct::stack<0>(0 * t + 1, 0 * t, 0 * t))(1); };
static_assert(ct::grad([](auto t) { return ct::grad(ct::grad(sine))(t); })(0.0) == -1);

// logarithms: the inverse, with the derivative 1, at 0, at the ends of series, near half a turn; and at it
constexpr auto there_and_back = [](auto r) { return ct::so3_log(ct::so3_exp(r)); };
constexpr auto same = ct::compiled([](auto r) { return std::tuple(there_and_back(r), ct::jacobian(there_and_back)(r)); });
consteval bool is_inverse(double angle) {
  three const r{angle * 2 / 3, -angle / 3, angle * 2 / 3};
  auto const [back, slope] = same(r);
  return near(back, r) && near(slope, unit<double, 3>(), 1e-14);
}
static_assert(is_inverse(0));
static_assert(is_inverse(1e-200));
static_assert(is_inverse(1e-9));
static_assert(is_inverse(1));
static_assert(is_inverse(2));
static_assert(is_inverse(3.1));
static_assert(is_inverse(pi - 1e-9));
constexpr auto logarithm = ct::compiled([](auto m) { return ct::so3_log(m); });
static_assert(near(logarithm(matrix{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}), three{pi, 0, 0}));
static_assert(near(logarithm(matrix{{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}}), three{0, 0, pi}));
constexpr auto log_of = ct::compiled([](auto q) { return ct::quaternion_to_axis_angle(q); });
static_assert(near(log_of(four{-1, 0, 0, 0}), three{0, 0, 0}) && near(log_of(four{-3, 0, -3, 0}), three{0, pi / 2, 0}));
static_assert(near(ct::compiled(there_and_back)(vector<float, 3>{0.5f, -2, 1}), three{0.5, -2, 1}, 4e-7));

// Jacobians: exp(r + d) is exp(J d) exp(r)
constexpr auto left = ct::compiled([](auto r) { return ct::so3_left_jacobian(r); });
static_assert(left(three{0, 0, 0}) == unit<double, 3>());
constexpr auto by_definition = ct::compiled([](auto r) {
  auto const f = [](auto d, auto s) { return ct::so3_vee(ct::so3_compose(ct::so3_exp(d), ct::transpose(ct::so3_exp(s)))); };
  return ct::jacobian<0>(f)(r, r);
});
static_assert(near(by_definition(three{0.1, -0.2, 0.3}), left(three{0.1, -0.2, 0.3})) && near(by_definition(three{1, -2, 1}), left(three{1, -2, 1})));
static_assert(near(ct::compiled([](auto r) { return ct::so3_right_jacobian(r); })(three{1, -2, 1}), left(three{-1, 2, -1})));

constexpr auto undone = ct::compiled([](auto r) { return ct::matmul(ct::so3_left_jacobian_inverse(r), ct::so3_left_jacobian(r)); });
static_assert(ct::compiled([](auto r) { return ct::so3_right_jacobian_inverse(r); })(three{0, 0, 0}) == unit<double, 3>());
static_assert(near(undone(three{0.1, -0.2, 0.3}), unit<double, 3>()) && near(undone(three{0, pi, 0}), unit<double, 3>()));
static_assert(near(undone(three{1, -2, 5}), unit<double, 3>(), 1e-12)); // 0.87 of a turn
static_assert(near(ct::compiled([](auto r) { return ct::so3_right_jacobian_inverse(r); })(three{1, -2, 1}), ct::compiled([](auto r) { return ct::so3_left_jacobian_inverse(r); })(three{-1, 2, -1})));

// poses
constexpr auto pose = ct::compiled([](auto x) { return ct::se3_exp(x); });
static_assert(pose(six{1, 2, 3, 0, 0, 0}) == ct::tensor<double, 4, 4>{{1, 0, 0, 1}, {0, 1, 0, 2}, {0, 0, 1, 3}, {0, 0, 0, 1}});
static_assert(near(pose(six{1, 0, 0, 0, 0, pi}), ct::tensor<double, 4, 4>{{-1, 0, 0, 0}, {0, -1, 0, 2 / pi}, {0, 0, 1, 0}, {0, 0, 0, 1}}));
constexpr auto nothing = ct::compiled([](auto x) { return ct::se3_compose(ct::se3_inverse(ct::se3_exp(x)), ct::se3_exp(x)); });
static_assert(near(nothing(six{1, 2, 3, 4, 5, 6}), unit<double, 4>()));

// (g++ 12 does not return 36 numbers from a constant evaluation)
constexpr auto from_unit = [](auto m) { return ct::max(ct::abs(m - ct::eye<6>())); };
static_assert(ct::compiled([](auto x) { return from_unit(ct::se3_left_jacobian(x)); })(six{0, 0, 0, 0, 0, 0}) < 2e-15);
constexpr auto undone_of_pose = [](auto x) { return from_unit(ct::matmul(ct::se3_right_jacobian_inverse(x), ct::se3_right_jacobian(x))); };
static_assert(ct::compiled(undone_of_pose)(six{1, 2, 3, 0, pi, 0}) < 2e-14);

// cameras
constexpr auto pixels = ct::compiled([](auto p, auto k) { return ct::pinhole_project(p, k); });
static_assert(pixels(three{1, 2, 4}, four{100, 200, 5, 6}) == vector<double, 2>{30, 106});
constexpr auto lens = ct::compiled([](auto x, auto d) { return ct::distort(x, d); });
static_assert(near(lens(vector<double, 2>{0.5, -0.5}, vector<double, 5>{1, 0, 0, 0, 0}), vector<double, 2>{0.75, -0.75}));
static_assert(near(lens(vector<double, 2>{0.5, -1}, vector<double, 5>{0, 0, 1, 2, 0}), vector<double, 2>{3, 0.25}));
static_assert(near(lens(vector<double, 2>{0.5, -1}, vector<double, 4>{0, 0, 1, 2}), vector<double, 2>{3, 0.25}));
static_assert(near(lens(vector<double, 2>{1, 2}, vector<double, 2>{1, 2}), vector<double, 2>{56, 112}));
static_assert(near(lens(vector<double, 2>{1, 0}, vector<double, 5>{0, 2, 0, 0, 3}), vector<double, 2>{6, 0}));
} // namespace

int main() {}
