// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

// Printed values: their text and how often each is printed.

namespace ct = cotangent;

namespace printing {

/// The text that `run` writes on the standard output.
template <class Run> std::string text_of(Run const& run) {
  std::fflush(stdout);
  std::FILE* const file = std::tmpfile();
  int const before = dup(STDOUT_FILENO);
  (void)dup2(fileno(file), STDOUT_FILENO);
  run();
  std::fflush(stdout);
  (void)dup2(before, STDOUT_FILENO);
  (void)close(before);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  (void)std::fclose(file);
  return text;
}

using two = ct::tensor<double, 2>;
// [print]
inline constexpr auto loss = [](auto x) { return ct::sum(ct::square(ct::print(ct::exp(x), "exp of x"))); };
// [/print]
inline constexpr auto power = [](auto x) {
  return ct::for_loop(3, [&](auto, auto y) { return ct::sin(ct::print(y * x, "y")); }, x);
};

TEST_CASE("a traced function prints a value once, with and without its gradient") {
  double y = 0;
  two dx, x{0, 0};
  CHECK(text_of([&] { y = ct::compiled(loss)(x); }) == "exp of x = [1, 1]\n");
  CHECK(y == 2);
  CHECK(text_of([&] { dx = ct::value_and_grad(loss)(x).second; }) == "exp of x = [1, 1]\n");
  CHECK(dx(1) == 2);
  CHECK(text_of([&] { dx = ct::grad(loss)(x); }) == "exp of x = [1, 1]\n");
}

TEST_CASE("a pullback does not print") {
  two dx, x{0, 0};
  auto const made = [&] { return ct::vjp(loss)(x); };
  std::string text;
  text = text_of([&] {
    auto const [y, back] = made();
    text = text_of([&] { dx = back(1.0); });
    CHECK(text.empty());
  });
  CHECK(text == "exp of x = [1, 1]\n");
  CHECK(dx(0) == 2);
}

TEST_CASE("a body of a loop prints in each iteration, and not again in the gradient") {
  double dx = 0;
  std::string const text = text_of([&] { dx = ct::compiled(power)(1.0); });
  CHECK(text.substr(0, 6) == "y = 1\n");
  CHECK(text_of([&] { dx = ct::value_and_grad(power)(1.0).second; }) == text);
  CHECK(text_of([&] { dx = ct::grad(power)(1.0); }).size() <= text.size());
}

// Blocks whose values the gradient rematerializes: alone, with a loop inside, in the body of a loop, and within a tape limit.
inline constexpr auto block = [](auto s) { return ct::exp(ct::sin(ct::print(ct::exp(s), "e")) * s); };
inline constexpr auto blocks = [](auto x) {
  return ct::sin(ct::checkpoint(block)(ct::checkpoint(block)(x)));
};
inline constexpr auto loops_in_blocks = [](auto x) {
  return ct::sin(ct::checkpoint(power)(ct::checkpoint(power)(x)));
};
inline constexpr auto blocks_in_a_loop = [](auto x) {
  return ct::for_loop(3, [&](auto, auto y) { return ct::checkpoint(block)(ct::checkpoint(block)(ct::sin(y) * x)); }, x);
};
inline constexpr auto within_a_limit = [](auto x) {
  return ct::for_loop<ct::loop{.tape_limit = 2000}>(
      100, [&](auto, auto y) { return ct::sin(ct::print(ct::sin(y), "y") * x); }, x);
};

int lines_of(std::string const& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

/// The function alone and with its gradient, traced and in a run-time graph: they print the same lines.
template <class F> void prints_once(F const& f, int lines) {
  double d = 0;
  std::string const text = text_of([&] { (void)ct::compiled(f)(0.1); });
  CHECK(lines_of(text) == lines);
  CHECK(text_of([&] { d = ct::value_and_grad(f)(0.1).second; }) == text);
  CHECK(std::isfinite(d));
  double const h = 1e-6;
  double up = 0, down = 0;
  (void)text_of([&] { up = ct::compiled(f)(0.1 + h), down = ct::compiled(f)(0.1 - h); });
  CHECK(d == Approx((up - down) / (2 * h)).epsilon(1e-4));

  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const z = f(x);
  auto const dx = g.gradient({z}, {x}).front();
  auto p = g.compile({z, dx});
  p.bind(x, 0.1);
  CHECK(lines_of(text_of([&] { p.run(); })) == lines);
  CHECK(p.value(dx)() == Approx(d));
}

TEST_CASE("values that a gradient rematerializes are not printed again") {
  prints_once(blocks, 2);
  prints_once(loops_in_blocks, 6);
  prints_once(blocks_in_a_loop, 6);
  prints_once(within_a_limit, 100);
}

TEST_CASE("rows of elements, numbers that need their digits, and edges of long tensors are printed") {
  ct::tensor<float, 2, 2> const square{{0.1F, 1}, {1.0F / 3, -2}};
  ct::tensor<float, 2, 2> y;
  CHECK(text_of([&] { y = ct::compiled([](auto x) { return ct::print(x, "x"); })(square); }) ==
        "x =\n[[0.1, 1],\n [0.333333343, -2]]\n");
  CHECK(y(1, 1) == -2);
  std::vector<double> const many(2000, 0.5);
  double sum = 0;
  CHECK(text_of([&] {
          sum = ct::compiled([](auto x) { return ct::sum(ct::print(x)); })(ct::view<double const, "n">(many));
        }) == "[0.5, 0.5, 0.5, ..., 0.5, 0.5, 0.5]\n");
  CHECK(sum == 1000);
  std::vector<double> const none;
  CHECK(text_of([&] {
          sum = ct::compiled([](auto x) { return ct::sum(ct::print(x, "n")); })(ct::view<double const, "n">(none));
        }) == "n = []\n");
}

TEST_CASE("a run-time graph prints once in a run with its gradient") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = loss(x);
  auto const dx = g.gradient({y}, {x}).front();
  auto p = g.compile({y, dx});
  std::vector<double> const zeros(2);
  p.bind(x, zeros);
  CHECK(text_of([&] { p.run(); }) == "exp of x = [1, 1]\n");
  CHECK(p.value(dx).data()[1] == 2);
}

} // namespace printing
