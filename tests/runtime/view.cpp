// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/core/argument.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#if __has_include(<eigen3/Eigen/Core>)
#  include <eigen3/Eigen/Core>
#endif

namespace ct = cotangent;

namespace {

// A type of a user's, which says itself how its elements lie.
struct grid {
  std::vector<float> cells;
  std::int64_t rows = 0;
};

// Memory with gaps, or in another order, as far as a type without iterators can tell.
struct strided {
  double* first;
  double* data() const { return first; }
  std::size_t size() const { return 2; }
};
// The iterators do not say that elements lie one after the other.
struct walked : strided {
  struct iterator {
    using iterator_category = std::random_access_iterator_tag;
    using value_type = double;
    using difference_type = std::ptrdiff_t;
    using pointer = double*;
    using reference = double&;
    double* at;
    double& operator*() const { return *at; }
    iterator& operator++() { return at += 2, *this; }
    bool operator==(iterator const&) const = default;
  };
  iterator begin() const { return {first}; }
  iterator end() const { return {first + 4}; }
};

double sum(ct::view<double const, "n"> x) {
  double s = 0;
  for (double e : x) s += e;
  return s;
}

} // namespace

template <> struct cotangent::extend::memory<grid> {
  using element = float;
  static constexpr ct::shape extents = ct::shape_of<ct::extent::anonymous(0), ct::extent::anonymous(0, 1), 2>;
  static constexpr bool owns = true;
  static float* data(grid& g) { return g.cells.data(); }
  static float const* data(grid const& g) { return g.cells.data(); }
  static void sizes(grid const& g, std::int64_t* to) {
    to[0] = g.rows;
    to[1] = g.rows == 0 ? 0 : static_cast<std::int64_t>(g.cells.size()) / g.rows / 2;
    to[2] = 2;
  }
};

TEST_CASE("only contiguous ranges, and types that tell how their elements lie, are arguments") {
  STATIC_REQUIRE(ct::detail::argument_type<std::vector<double>>);
  STATIC_REQUIRE(ct::detail::argument_type<std::span<float const, 3>>);
  STATIC_REQUIRE(ct::detail::argument_type<std::array<std::array<double, 2>, 3>>);
  STATIC_REQUIRE(ct::detail::argument_type<std::vector<std::array<double, 2>>>);
  STATIC_REQUIRE(ct::detail::argument_type<grid>);
  STATIC_REQUIRE(!ct::detail::argument_type<strided>);
  STATIC_REQUIRE(!ct::detail::argument_type<walked>);
  STATIC_REQUIRE(!ct::detail::argument_type<std::vector<bool>>);
}

#if __has_include(<eigen3/Eigen/Core>)
TEST_CASE("no type of Eigen is an argument, but a view of its data() is") {
  using Eigen::Dynamic;
  using row_major = Eigen::Matrix<double, Dynamic, Dynamic, Eigen::RowMajor>;
  STATIC_REQUIRE(!ct::detail::argument_type<Eigen::VectorXd>);
  STATIC_REQUIRE(!ct::detail::argument_type<Eigen::Matrix3d>);
  STATIC_REQUIRE(!ct::detail::argument_type<Eigen::ArrayXXf>);
  STATIC_REQUIRE(!ct::detail::argument_type<row_major>);
  STATIC_REQUIRE(!ct::detail::argument_type<Eigen::Block<Eigen::MatrixXd, 1>>);
  STATIC_REQUIRE(!ct::detail::argument_type<Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<2>>>);
  STATIC_REQUIRE(!ct::detail::argument_type<std::vector<Eigen::Vector3d>>);

  Eigen::MatrixXd m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  ct::view<double const, "columns", "rows"> const transpose(m.data(), m.cols(), m.rows());
  row_major r = m;
  ct::view<double, "rows", "columns"> const rows(r.data(), r.rows(), r.cols());
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      CHECK(transpose(j, i) == m(i, j));
      CHECK(rows(i, j) == m(i, j));
    }
  rows(1, 0) = 7;
  CHECK(r(1, 0) == 7);
}
#endif

TEST_CASE("a view writes to its memory") {
  std::vector<double> v(12);
  ct::view<double, "n", 3> x(v);
  CHECK(x.extent(0) == 4);
  x(1, 2) = 5;
  CHECK(v[5] == 5);
  x.fill(x(1, 2));
  CHECK(v[11] == 5);
  auto const copy = x;
  CHECK(copy.data() == v.data());
  copy(0, 0) = 7;
  CHECK(v[0] == 7);
}

TEST_CASE("a view is constructed from any row-major memory") {
  std::array<double, 6> flat{1, 2, 3, 4, 5, 6};
  std::array<std::array<double, 3>, 2> nested{{{1, 2, 3}, {4, 5, 6}}};
  double c[2][3] = {{1, 2, 3}, {4, 5, 6}};
  std::vector<std::array<double, 3>> rows{{1, 2, 3}, {4, 5, 6}};
  ct::tensor<double, 2, 3> t{{1, 2, 3}, {4, 5, 6}};
  CHECK(ct::view<double, 2, 3>(flat)(1, 0) == 4);
  CHECK(ct::view<double, 2, 3>(nested)(1, 0) == 4);
  CHECK(ct::view<double, 2, 3>(c)(1, 0) == 4);
  CHECK(ct::view<double, "n", 3>(rows)(1, 0) == 4);
  CHECK(ct::view<double, 2, 3>(t)(1, 0) == 4);
  CHECK(ct::view<double, "a", "b">(t).extent(1) == 3);
  CHECK(ct::view<double const, "n">(std::span<double const>(flat))(5) == 6);
  CHECK(ct::view<double const, 6>(std::span<double, 6>(flat))(5) == 6);
  CHECK(ct::view<double, 2, 3>(flat.data())(1, 0) == 4);
  CHECK(ct::view<double const, "n", "m">(flat.data(), 3, 2)(2, 1) == 6);
  CHECK(ct::view<double const, "n", "m">(flat, 3, 2)(2, 1) == 6);
  CHECK(ct::view<double, "n", "m", 1>(rows, 3, 2)(2, 1, 0) == 6);
  double value = 3;
  CHECK(ct::view<double const>(value)() == 3);
  CHECK(ct::view<double>(value) + 1 == 4);
}

TEST_CASE("a view of the same extents converts implicitly") {
  ct::tensor<double, "n"> x{1, 2, 3};
  ct::tensor<double, "n"> const y{1, 2};
  CHECK(sum(x) == 6);
  CHECK(sum(y) == 3);
  CHECK(sum(ct::view<double, "n">(x)) == 6);
}

TEST_CASE("a tensor can be made from a view, and is a copy") {
  std::vector<double> v{1, 2, 3};
  ct::tensor<double, "n"> x(ct::view<double const, "n">{v});
  v[0] = 5;
  CHECK(x(0) == 1);
  CHECK(x.size() == 3);
}

TEST_CASE("a null view has no elements") {
  ct::view<double, 3> nothing;
  CHECK(nothing.data() == nullptr);
  CHECK(nothing.begin() == nothing.end());
  CHECK(ct::view<double, "n">().empty());
  CHECK(ct::tensor<double, 3>(nothing) == ct::tensor<double, 3>());
  std::vector<std::array<double, 3>> none;
  CHECK(ct::view<double, "n", 3>(none).size() == 0);
}

TEST_CASE("an argument's extents without a name are called after its position") {
  using vector = ct::detail::argument_traits<std::vector<double>, 2>;
  STATIC_REQUIRE(std::same_as<vector::view_type, ct::view<double const, "?2">>);
  using span = ct::detail::argument_traits<std::span<float const, 5>, 1>;
  STATIC_REQUIRE(std::same_as<span::view_type, ct::view<float const, 5>>);
  using rows = ct::detail::argument_traits<std::vector<std::array<float, 3>>, 1>;
  STATIC_REQUIRE(std::same_as<rows::view_type, ct::view<float const, "?1", 3>>);
  using tensor = ct::detail::argument_traits<ct::tensor<std::int32_t, "n", 5>, 0>;
  STATIC_REQUIRE(std::same_as<tensor::view_type, ct::view<std::int32_t const, "n", 5>>);
  STATIC_REQUIRE(std::same_as<ct::detail::argument_traits<double, 0>::view_type, ct::view<double const>>);
  STATIC_REQUIRE(!ct::detail::argument_type<std::vector<bool>>);
  STATIC_REQUIRE(!ct::detail::argument_type<std::vector<std::vector<double>>>);
  STATIC_REQUIRE(!ct::detail::argument_type<char const*>);

  std::vector<double> const v{1, 2, 3};
  std::int64_t size = 0;
  vector::sizes(v, &size);
  CHECK(size == 3);
  CHECK(vector::view_of(v)(2) == 3);
  CHECK(vector::data(v) == v.data());
}

TEST_CASE("a user's type defines how its memory is viewed") {
  grid g{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3};
  using traits = ct::detail::argument_traits<grid, 4>;
  STATIC_REQUIRE(std::same_as<traits::view_type, ct::view<float const, "?4", "?4b", 2>>);
  CHECK(traits::view_of(g)(2, 1, 1) == 12);
  ct::view<float, "n", "m", 2> x(g);
  x(0, 1, 0) = 0;
  CHECK(g.cells[2] == 0);
}

TEST_CASE("names are bound over several arguments, and formulas are compared once all names are known") {
  ct::detail::bindings known;
  std::int64_t const first[]{12, 3}, second[]{4}, third[]{5};
  CHECK(ct::detail::bind_axes(known, ct::shape_of<"3*n", 3>, first).failed == ct::detail::axis_fit::nothing);
  CHECK(ct::detail::bind_axes(known, ct::shape_of<"n">, second).failed == ct::detail::axis_fit::nothing);
  CHECK(ct::detail::bind_axes(known, ct::shape_of<"3*n", 3>, first, true).failed == ct::detail::axis_fit::nothing);
  CHECK(ct::detail::bind_axes(known, ct::shape_of<"n">, third).wanted == 4);
  std::int64_t const wrong[]{13, 3};
  CHECK(ct::detail::bind_axes(known, ct::shape_of<"3*n", 3>, wrong, true).wanted == 12);
}

#if COTANGENT_EXCEPTIONS
TEST_CASE("memory that does not fit is refused, with both sizes") {
  std::vector<double> v(12);
  CHECK_THROWS_WITH((ct::view<double, 3>(v)),
                    "cotangent: view: the size 12 of axis 0 must equal the extent 3; the extents are [3]");
  CHECK_THROWS_WITH((ct::view<double, "n", 5>(v)),
                    "cotangent: view: the memory has 12 elements, which do not make the extents [n, 5]");
  CHECK_THROWS_AS((ct::view<double, 2, 5>(v)), ct::shape_error);
  CHECK_THROWS_AS((ct::view<double, "n", "m">(v, 5, 2)), ct::shape_error);
  CHECK_THROWS_AS((ct::view<double, "n", 0>(v)), ct::shape_error);
  CHECK_THROWS_AS((ct::view<double, "n">(v.data(), -1)), ct::shape_error);
  ct::tensor<double, "n", "m"> t(3, 4);
  CHECK_THROWS_WITH(
      (ct::view<double, "k", "k">(t)),
      "cotangent: view: the size 4 of axis 1 must equal the extent k, which is 3; the extents are [k, k]");
}
#else
TEST_CASE("without exceptions memory that does not fit makes a null view") {
  std::vector<double> v(12);
  CHECK(ct::view<double, 3>(v).data() == nullptr);
  CHECK(ct::view<double, "n", 5>(v).data() == nullptr);
  CHECK(ct::view<double, "n", "m">(v, 5, 2).empty());
  CHECK(ct::tensor<double, "n">(-1).empty());
}
#endif
