// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/core/print.hpp>
#include <cotangent/core/tensor.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

namespace ct = cotangent;

namespace {
bool aligned(void const* p, std::uintptr_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

template <class T> std::string printed(T const& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
} // namespace

TEST_CASE("a tensor is initially zero, with every constructor") {
  ct::tensor<double, 3, 4> inside;
  ct::tensor<float, 64, 32> heap;
  ct::tensor<std::int32_t, "n", 3> sized(100);
  for (double e : inside) CHECK(e == 0);
  float sum = 0;
  for (float e : heap) sum += e < 0 ? -e : e;
  CHECK(sum == 0);
  CHECK(heap.size() == 2048);
  CHECK(sized.size() == 300);
  CHECK(sized(99, 2) == 0);
}

TEST_CASE("a tensor with a named extent is empty until it is given sizes") {
  ct::tensor<double, "n", 3> x;
  CHECK(x.empty());
  CHECK(x.extent(0) == 0);
  CHECK(x.extent(1) == 3);
  CHECK(x.begin() == x.end());
  x = ct::tensor<double, "n", 3>(2);
  CHECK(x.size() == 6);
  CHECK(ct::tensor<double, "n-1">().empty());
}

TEST_CASE("one size for each name sets all extents, including formulas") {
  ct::tensor<double, "m*n", "n", 2, "n+1"> x(3, 4);
  CHECK(x.shape() == ct::shape_of<12, 4, 2, 5>);
  CHECK(x.size() == 480);
  CHECK(ct::tensor<double, "n">(std::size_t{7}).size() == 7);
  CHECK(ct::tensor<double, "n", "m">(0, 5).empty());
}

TEST_CASE("elements on the heap are aligned to 64 bytes, those inside the object to their size") {
  for (int i = 1; i < 20; ++i) {
    ct::tensor<float, "n"> x(i);
    CHECK(aligned(x.data(), 64));
  }
  ct::tensor<double, 32> inside;
  CHECK(aligned(inside.data(), 64));
  ct::tensor<float, 3> small;
  CHECK(aligned(small.data(), 16));
}

TEST_CASE("elements are in row-major order") {
  ct::tensor<double, 2, "n", 2> x{{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  CHECK(x.extent(1) == 3);
  double expected = 1;
  for (double e : x) CHECK(e == expected++);
  CHECK(x(1, 2, 0) == 11);
  x(1, 2, 0) = 5;
  CHECK(x.data()[10] == 5);
}

TEST_CASE("a copy is independent, and keeps its memory if the sizes agree") {
  ct::tensor<double, "n"> x{1, 2, 3};
  ct::tensor<double, "n"> y = x;
  y(0) = 7;
  CHECK(x(0) == 1);
  double const* const memory = y.data();
  y = x;
  CHECK(y.data() == memory);
  CHECK(y == x);
  y = ct::tensor<double, "n">{1, 2};
  CHECK(y != x);
  auto const& self = x;
  x = self;
  CHECK(x(2) == 3);
}

TEST_CASE("a tensor that was moved from is empty and can be used again") {
  ct::tensor<double, "n"> x{1, 2, 3};
  double const* const memory = x.data();
  ct::tensor<double, "n"> y = std::move(x);
  CHECK(y.data() == memory);
  CHECK(x.empty()); // NOLINT: that is the question
  CHECK(x == ct::tensor<double, "n">());
  x = std::move(y);
  CHECK(x(2) == 3);
  CHECK(y.begin() == y.end());

  ct::tensor<float, 64, 32> big;
  big(3, 4) = 1;
  ct::tensor<float, 64, 32> bigger = std::move(big);
  CHECK(bigger(3, 4) == 1);
  CHECK(big.begin() == big.end());
  ct::tensor<float, 64, 32> const copy_of_nothing = big;
  CHECK(copy_of_nothing == big);
  big = bigger;
  CHECK(big == bigger);
}

TEST_CASE("fill takes a value that may be an element of the tensor") {
  ct::tensor<double, "n"> x{1, 2, 3};
  x.fill(x(2));
  CHECK(x == ct::tensor<double, "n">{3, 3, 3});
}

TEST_CASE("a bool takes one byte, not one bit") {
  ct::tensor<bool, "n"> x(3);
  bool& middle = x(1);
  middle = true;
  CHECK(x.data()[1]);
  CHECK(x == ct::tensor<bool, "n">{false, true, false});
}

TEST_CASE("a tensor of rank 0 converts to and from its element") {
  ct::tensor<double> x = 2.5;
  double const y = x;
  x = y + 1;
  CHECK(x == 3.5);
  CHECK(x + 1 == 4.5);
  CHECK(ct::tensor<std::int64_t>(3) == 3);
}

TEST_CASE("a tensor of results takes its sizes from a shape") {
  ct::tensor<double, "n", "?1"> x(ct::uninitialized, ct::shape_of<2, 5>);
  CHECK(x.shape() == ct::shape_of<2, 5>);
  x.fill(1);
  CHECK(x(1, 4) == 1);
}

#if COTANGENT_EXCEPTIONS
TEST_CASE("impossible sizes are refused before memory is allocated") {
  using matrix = ct::tensor<double, "n", "m">;
  CHECK_THROWS_AS(matrix(-1, 2), ct::shape_error);
  CHECK_THROWS_WITH(matrix(2, -1),
                    "cotangent: tensor: the size of axis 1 must not be negative and must fit 64 bits; "
                    "the extents are [n, m]");
  CHECK_THROWS_WITH(matrix(std::int64_t{1} << 31, std::int64_t{1} << 31),
                    "cotangent: tensor: the product of the sizes [2147483648, 2147483648] must be less than "
                    "2^60; the extents "
                    "are [n, m]");
  CHECK_THROWS_AS(matrix(INT64_MAX, INT64_MAX), ct::shape_error);
  CHECK_THROWS_AS(matrix(~std::uint64_t{0}, 1), ct::shape_error);
  CHECK_NOTHROW(matrix(std::int64_t{1} << 40, 0));
  CHECK_THROWS_AS((ct::tensor<double, "n-3">(2)), ct::shape_error);
  CHECK_THROWS_AS((ct::tensor<double, "9223372036854775807*n">(2)), ct::shape_error);
  CHECK_THROWS_WITH(
      (ct::tensor<double, "n", "n">(ct::uninitialized, ct::shape_of<2, 3>)),
      "cotangent: tensor: the size 3 of axis 1 must equal the extent n, which is 2; the extents are [n, n]");
}

TEST_CASE("at() names the wrong indices and the sizes") {
  ct::tensor<double, "n", 3> x(2);
  x.at(1, 2) = 5;
  CHECK(std::as_const(x).at(1, 2) == 5);
  CHECK_THROWS_WITH(
      x.at(2, 0),
      "cotangent: tensor: the indices (2, 0) must be at least 0 and less than the extents [2, 3]");
  CHECK_THROWS_AS(x.at(0, 3), ct::shape_error);
  CHECK_THROWS_AS(x.at(0, -1), ct::shape_error);
  CHECK_THROWS_AS(x.at(0u, ~std::uint64_t{0}), ct::shape_error);
  CHECK_THROWS_AS((ct::tensor<double, "n">().at(0)), ct::shape_error);
#  ifdef COTANGENT_ASSERTIONS
  CHECK_THROWS_AS(x(2, 0), ct::shape_error);
#  endif
}
#endif

TEST_CASE("printed brackets nest like the axes") {
  CHECK(printed(ct::tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6.5}}) == "[[1, 2, 3],\n [4, 5, 6.5]]");
  CHECK(printed(ct::tensor<double>(2.5)) == "2.5");
  CHECK(printed(ct::tensor<bool, 2>{true, false}) == "[true, false]");
  CHECK(printed(ct::tensor<float, 1, 2, 1>{{{1}, {2}}}) == "[[[1],\n  [2]]]");
  CHECK(printed(ct::tensor<double, "n">()) == "[]");
  CHECK(printed(ct::tensor<std::int32_t, 2000>()) == "[0, 0, 0, ..., 0, 0, 0]");
  CHECK(printed(ct::shape_of<3, "n", "2*n+1">) == "[3, n, 2*n+1]");
  CHECK(printed(ct::element::int64) == "int64");
}
