// SPDX-License-Identifier: BSL-1.0
// Straight-line code and nests, whose object holds no rule of an operation without optimization either (tools/check_objects.py).
// (Of functions that only this file has, such as lambdas, g++ keeps the graphs, with the rules; -ftoplevel-reorder drops them.)
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

struct straight {
  template <class X> constexpr auto operator()(X x) const { return ct::sum(ct::square(x) * ct::tanh(x) / 3) + x(0) * x(7); }
};
struct normalized {
  template <class X> constexpr auto operator()(X x) const {
    auto const centered = x - ct::mean(x, ct::axes<1>, ct::keep);
    return ct::sum(ct::exp(centered / ct::sqrt(ct::mean(ct::square(centered), ct::axes<1>, ct::keep) + 1e-5)));
  }
};
struct of_windows {
  template <class X, class B> constexpr auto operator()(X x, B b) const {
    return ct::sum(ct::square(x(ct::all, ct::range<1, 40>) * b) + ct::softmax(x(ct::all, ct::range<0, 39>))) + ct::max(b);
  }
};
struct with_names {
  template <class X, class Y> constexpr auto operator()(X x, Y y) const { return ct::sum(ct::select(x > y, x * y, ct::sin(x)), ct::axes<0>); }
};

double of_numbers(ct::tensor<double, 8> const& x) { return ct::grad(straight{})(x)(0); }
double of_rows(ct::tensor<double, 64, 40> const& x) { return ct::grad(normalized{})(x)(0, 0); }
double of_parts(ct::tensor<double, 64, 40> const& x, ct::tensor<double, 39> const& b) { return ct::grad<1>(of_windows{})(x, b)(0); }
float of_names(ct::tensor<float, "n", "m"> const& x, ct::tensor<float, "m"> const& y) { return ct::compiled(with_names{})(x, y)(0); }
