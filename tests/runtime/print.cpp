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

TEST_CASE("a gradient prints values that it does not need, in order") {
  constexpr auto f = [](auto x) {
    (void)ct::print(x + 1.0, "unused");
    return 3.0 * ct::print(2.0 * x, "linear");
  };
  constexpr auto steps = [](auto x) { return ct::for_loop(2, [&](auto, auto s) { return ct::print(s + x, "s"); }, x); };
  double d = 0;
  CHECK(text_of([&] { d = ct::compiled(f)(1.0); }) == "unused = 2\nlinear = 2\n");
  CHECK(text_of([&] { d = ct::grad(f)(1.0); }) == "unused = 2\nlinear = 2\n");
  CHECK(d == 6);
  CHECK(text_of([&] { d = ct::jacfwd(f)(1.0); }) == "unused = 2\nlinear = 2\n");
  CHECK(text_of([&] { d = ct::hessian(f)(1.0); }) == "unused = 2\nlinear = 2\n");
  CHECK(d == 0);
  CHECK(text_of([&] { d = ct::grad(steps)(1.0); }) == "s = 2\ns = 3\n");
  CHECK(d == 3);
}

TEST_CASE("bodies print values that nothing uses") {
  double d = 0;
  constexpr auto counted = [](auto x) {
    return ct::for_loop(2, [&](auto i, auto s) {
      ct::print(i, "i");
      return s * x;
    }, 1.0);
  };
  CHECK(text_of([&] { d = ct::compiled(counted)(3.0); }) == "i = 0\ni = 1\n");
  CHECK(d == 9);
  CHECK(text_of([&] { d = ct::grad(counted)(3.0); }) == "i = 0\ni = 1\n");
  CHECK(d == 6);
  constexpr auto until = [](auto x) {
    return ct::while_loop(
        [](auto, auto s) {
          ct::print(s, "asked");
          return s < 3;
        },
        [](auto, auto s) { return 2.0 * s; }, x);
  };
  CHECK(text_of([&] { d = ct::grad(until)(1.0); }) == "asked = 1\nasked = 2\nasked = 4\n");
  CHECK(d == 4);
  constexpr auto branch = [](auto x) {
    return ct::cond(x > 0, [](auto z) {
      ct::print(2.0 * z, "positive");
      return z;
    }, [](auto z) { return -z; })(x);
  };
  CHECK(text_of([&] { d = ct::grad(branch)(1.0); }) == "positive = 2\n");
  CHECK(text_of([&] { d = ct::grad(branch)(-1.0); }).empty());
  CHECK(d == -1);
  constexpr auto sums = [](auto x) {
    auto const [last, all] = ct::scan([](auto carry, auto r) {
      ct::print(r, "r");
      return std::pair(carry + r, carry);
    }, ct::zeros<>(), x);
    return last;
  };
  CHECK(text_of([&] { (void)ct::grad(sums)(two{1, 2}); }) == "r = 1\nr = 2\n");
  constexpr auto mapped = [](auto x) {
    return ct::sum(ct::map([](auto r) {
      ct::print(r, "r");
      return 2.0 * r;
    }, x));
  };
  CHECK(text_of([&] { (void)ct::grad(mapped)(two{1, 2}); }) == "r = [1, 2]\n");
  constexpr auto mapped_loop = [](auto x) {
    return ct::sum(ct::map([](auto r) { return ct::for_loop(2, [&](auto, auto s) {
      ct::print(s, "s");
      return s + r;
    }, r); }, x));
  };
  CHECK(text_of([&] { (void)ct::compiled(mapped_loop)(two{1, 2}); }) == "s = 1\ns = 2\ns = 2\ns = 4\n");
  CHECK(text_of([&] { (void)ct::grad(mapped_loop)(two{1, 2}); }) == "s = 1\ns = 2\ns = 2\ns = 4\n");
  // Called for each row inside of a row, and not used at all
  constexpr auto nested = [](auto x) {
    (void)ct::vmap([](auto r) { return ct::vmap([](auto s) {
      ct::print(s, "s");
      return s;
    })(r); })(x);
    return ct::sum(x);
  };
  CHECK(text_of([&] { (void)ct::grad(nested)(ct::tensor<double, 1, 2>{{1, 2}}); }) == "s =\n[[1, 2]]\n");
  // Of a run-time graph
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {});
  auto const y = ct::for_loop(2, [&](auto i, auto s) {
    ct::print(i, "i");
    return s * x;
  }, 0.0 * x + 1.0);
  auto p = g.compile({y, g.gradient({y}, {x}).front()});
  p.bind(x, 3.0);
  CHECK(text_of([&] { p.run(); }) == "i = 0\ni = 1\n");
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
