// SPDX-License-Identifier: BSL-1.0
// Stencils on padded tensors, against plain loops: slices of a pad read the tensor itself.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include "../checked_matrix.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

namespace ct = cotangent;
using namespace checked_matrix;

// [laplacian]
inline constexpr auto laplacian = [](auto u) {
  auto const p = ct::pad<1, 1, 1, 1>(u);
  auto const inner = ct::range<1, -1>;
  return p(ct::range<0, -2>, inner) + p(ct::range<2>, inner) + p(inner, ct::range<0, -2>) + p(inner, ct::range<2>) - 4 * u;
};
// [/laplacian]
inline constexpr auto energy = [](auto u) { return ct::sum(ct::sin(laplacian(u)) * u); };
inline constexpr auto uneven = [](auto u) { // wide pads, corners, parts of zeros alone, steps
  auto const p = ct::pad<3, 0, 0, 2>(u);
  auto const corner = p(ct::range<1, 6>, ct::range<2, 6>);
  auto const zeros = p(ct::range<0, 3>, ct::range<0, 2>);
  auto const apart = p(ct::range<0, 8, 3>, ct::range<1, 6, 2>);
  return ct::sum(ct::square(corner - 0.5)) + ct::sum(ct::cos(zeros)) + ct::sum(apart * apart * apart) + ct::sum(ct::exp(p));
};
inline constexpr auto in_a_loop = [](auto u) {
  auto const last = ct::for_loop(3, [](auto, auto v) { return v + 0.1 * laplacian(v); }, u);
  return ct::sum(ct::square(last));
};
inline constexpr auto with_a_value = [](auto u) {
  auto const p = ct::pad<1, 1, 0, 0>(u, 2.0);
  return ct::sum(ct::square(p(ct::range<0, -2>) + p(ct::range<2>)));
};

double at_or(numbers const& u, std::size_t i, std::size_t j, double outside) { return i < rows && j < columns ? at(u, i, j) : outside; }
double plain_laplacian(numbers const& u, std::size_t i, std::size_t j) { // (indices below 0 wrap to large ones)
  return at_or(u, i - 1, j, 0) + at_or(u, i + 1, j, 0) + at_or(u, i, j - 1, 0) + at_or(u, i, j + 1, 0) - 4 * at(u, i, j);
}

} // namespace

TEST_CASE("A stencil on a padded matrix, with its gradient") {
  check(energy, [](numbers const& u) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) sum += std::sin(plain_laplacian(u, i, j)) * at(u, i, j);
    return sum;
  });
  check(in_a_loop, [](numbers const& u) {
    numbers v = u;
    for (int k = 0; k < 3; ++k) {
      numbers const before = v;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) v[columns * i + j] += 0.1 * plain_laplacian(before, i, j);
    }
    double sum = 0;
    for (double const x : v) sum += x * x;
    return sum;
  });
}

TEST_CASE("Pads of several widths, with other values, and slices of them with steps and of zeros alone") {
  check(uneven, [](numbers const& u) {
    auto const p = [&](std::size_t i, std::size_t j) { return at_or(u, i - 3, j, 0); };
    double sum = 0;
    for (std::size_t i = 1; i < 6; ++i)
      for (std::size_t j = 2; j < 6; ++j) sum += (p(i, j) - 0.5) * (p(i, j) - 0.5);
    sum += 6;
    for (std::size_t i = 0; i < 8; i += 3)
      for (std::size_t j = 1; j < 6; j += 2) sum += p(i, j) * p(i, j) * p(i, j);
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 6; ++j) sum += std::exp(p(i, j));
    return sum;
  });
  check(with_a_value, [](numbers const& u) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        double const v = at_or(u, i - 1, j, 2) + at_or(u, i + 1, j, 2);
        sum += v * v;
      }
    return sum;
  });
}

TEST_CASE("Slices of a pad read the tensor itself, and so do those of the cotangent") {
  using program = ct::program<decltype(ct::grad(energy)), ct::tensor<double, rows, columns>>;
  ct::extend::graph_view const g = program::graph;
  int pads = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    std::string_view const name = g.nodes[i].op->name;
    CHECK(name != "concatenate");
    if (name == "pad") {
      ++pads;
      CHECK(g.shape(g.result(g.nodes[i])) == g.shape(g.input(0))); // that of a neighbor, not of the padded matrix
    }
  }
  CHECK(pads == 8); // four neighbors, and the four that a cell is a neighbor of
}
