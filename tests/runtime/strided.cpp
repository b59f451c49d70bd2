// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/interop/mdspan.hpp>
#include <cotangent/kernels/strided_copy.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {
// weighs positions, so that an element read at another position is noticed
inline constexpr auto weighed = [](auto x, auto w) { return ct::sum(ct::square(x) * w); };
inline constexpr auto doubled = [](auto x) { return x + x; };
inline constexpr auto sum_and_difference = [](auto x, auto y) { return std::tuple(x + y, x - y); };

template <class T> std::vector<T> counted(std::size_t n) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), T{1});
  return v;
}

template <class T> void check_orders() {
  auto const memory = counted<T>(24), weights = counted<T>(6);
  ct::view<T const, 2, 3> const w(weights.data());
  std::int64_t const strides[][3]{{1, 2, 0}, {3, 1, 0}, {12, 2, 0}, {-3, -1, 5}, {3, -1, 2}, {-1, 2, 1}, {0, 0, 7}, {7, -3, 9}};
  for (auto const& s : strides) {
    ct::strided_span<T const, 2, 3> const x(memory.data() + s[2], {2, 3}, {s[0], s[1]});
    auto const [value, gradient] = ct::value_and_grad(weighed)(x, w);
    T expected = 0;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j) {
        T const e = memory[static_cast<std::size_t>(s[2] + i * s[0] + j * s[1])];
        CHECK(x(i, j) == e);
        CHECK(gradient(i, j) == 2 * e * w(i, j));
        expected += e * e * w(i, j);
      }
    CHECK(value == expected);
  }
}
/// The members of std::mdspan that are used, with any strides.
template <class T> struct small_mdspan {
  using element_type = T;
  using extents_type = int;
  using layout_type = int;
  T* first;
  std::size_t sizes[2], strides[2];
  static constexpr std::size_t rank() { return 2; }
  static constexpr std::size_t static_extent(std::size_t k) { return k == 0 ? static_cast<std::size_t>(-1) : 3; }
  static constexpr bool is_always_strided() { return true; }
  T* const& data_handle() const { return first; } // a reference, as std::mdspan returns
  int mapping() const { return 0; }
  std::size_t extent(std::size_t k) const { return sizes[k]; }
  std::size_t stride(std::size_t k) const { return strides[k]; }
};
} // namespace

TEST_CASE("types with the members of mdspan are arguments and results") {
  auto memory = counted<double>(12);
  std::vector<double> to(12);
  small_mdspan<double const> const left{memory.data(), {2, 3}, {1, 2}}, right{memory.data(), {2, 3}, {3, 1}};
  STATIC_REQUIRE(ct::detail::argument_type<small_mdspan<double const>>);
  STATIC_REQUIRE(!ct::detail::argument_type<small_mdspan<char>>);
  for (auto const& x : {left, right}) {
    auto const g = ct::grad([](auto a) { return ct::sum(ct::square(a)); })(x);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j) CHECK(g(i, j) == 2 * memory[i * x.strides[0] + j * x.strides[1]]);
  }
  using P = ct::program<decltype(ct::compiled(doubled)), small_mdspan<double const>>;
  small_mdspan<double> const y{to.data(), {2, 3}, {1, 4}};
  alignas(64) unsigned char workspace[1024];
  REQUIRE(P::run(workspace, std::tie(left), std::tie(y)) == ct::status::ok);
  CHECK(to == std::vector<double>{2, 4, 0, 0, 6, 8, 0, 0, 10, 12, 0, 0});
}

TEST_CASE("arguments are read by strides of any order and sign") {
  check_orders<double>();
  check_orders<float>();
}

TEST_CASE("strided arguments of named sizes may be empty or one element") {
  double const one[]{3};
  for (std::int64_t n = 0; n < 3; ++n) {
    std::vector<double> const memory = counted<double>(12);
    ct::strided_span<double const, "n", 4> const x(memory.data() + (n > 0 ? n - 1 : 0), {n, 4}, {-1, 3});
    auto const y = ct::compiled(doubled)(x);
    REQUIRE(y.extent(0) == n);
    for (std::int64_t i = 0; i < n; ++i)
      for (int j = 0; j < 4; ++j) CHECK(y(i, j) == 2 * x(i, j));
  }
  CHECK(ct::compiled(doubled)(ct::strided_span<double const, 1, 1>(one, {1, 1}, {100, -7}))(0, 0) == 6);
}

TEST_CASE("large sizes before a size 0 do not overflow") {
  double m[1]{};
  constexpr std::int64_t large = std::int64_t{1} << 40;
  ct::strided_span<double const, "a", "b", "c"> const x(m, {large, large, 0}, {0, 0, 1});
  CHECK(ct::compiled([](auto a) { return ct::sum(a * a); })(x) == 0);
}

TEST_CASE("large matrices are copied in tiles to the right places") {
  constexpr int rows = 37, columns = 53;
  auto const memory = counted<float>(rows * columns * 2);
  ct::strided_span<float const, "a", 2, "b"> const x(memory.data(), {rows, 2, columns}, {1, rows * columns, rows});
  auto const y = ct::compiled(doubled)(x);
  bool same = true;
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < columns; ++j) same = same && y(i, k, j) == 2 * x(i, k, j);
  CHECK(same);
}

TEST_CASE("run writes results by strides and nothing between them") {
  using P = ct::program<decltype(ct::compiled(sum_and_difference)), ct::strided_span<double const, 2, 2>,
                        ct::tensor<double, 2, 2>>;
  auto memory = counted<double>(4);
  ct::strided_span<double const, 2, 2> const x(memory.data(), {2, 2}, {1, 2});
  ct::tensor<double, 2, 2> const y{{10, 20}, {30, 40}};
  std::vector<double> to(16, -1);
  ct::strided_span<double, 2, 2> sum(to.data() + 15, {2, 2}, {-8, -2}), difference(to.data() + 14, {2, 2}, {-8, -2});
  alignas(64) unsigned char workspace[1024];
  REQUIRE(P::run(workspace, std::tie(x, y), std::tie(sum, difference)) == ct::status::ok);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      CHECK(sum(i, j) == x(i, j) + y(i, j));
      CHECK(difference(i, j) == x(i, j) - y(i, j));
    }
  CHECK(std::count(to.begin(), to.end(), -1.0) == 8);

  SECTION("a result may overlap arguments, which are read before") {
    auto const before = memory;
    ct::strided_span<double, 2, 2> in_place(memory.data(), {2, 2}, {1, 2});
    REQUIRE(P::run(workspace, std::tie(x, y), std::tie(in_place, difference)) == ct::status::ok);
    CHECK(memory == std::vector<double>{before[0] + 10, before[1] + 30, before[2] + 20, before[3] + 40});
  }
  SECTION("results that overlap are refused") {
    ct::strided_span<double, 2, 2> other(to.data() + 13, {2, 2}, {-8, -2});
    CHECK(P::run(workspace, std::tie(x, y), std::tie(sum, other)) == ct::status::overlap);
    ct::view<double, 2, 2> dense(to.data() + 4);
    CHECK(P::run(workspace, std::tie(x, y), std::tie(sum, dense)) == ct::status::overlap);
    CHECK(P::run(workspace, std::tie(x, y), std::tie(dense, sum)) == ct::status::overlap);
    ct::strided_span<double, 2, 2> repeated(to.data(), {2, 2}, {0, 1});
    CHECK(P::run(workspace, std::tie(x, y), std::tie(repeated, sum)) == ct::status::overlap);
  }
  SECTION("null and a short workspace are refused") {
    ct::strided_span<double, 2, 2> null;
    CHECK(P::run(workspace, std::tie(x, y), std::tie(null, sum)) != ct::status::ok);
    alignas(64) unsigned char small[64];
    CHECK(P::run(small, std::tie(x, y), std::tie(sum, difference)) == ct::status::workspace_too_small);
    P::workspace own;
    ct::tensor<double, 2, 2> a, b;
    REQUIRE(P::run(own, std::tie(x, y), std::tie(a, b)) == ct::status::ok);
    CHECK(a(1, 0) == sum(1, 0));
  }
}

TEST_CASE("a growing workspace has the memory for results and arguments with strides") {
  using P = ct::program<decltype(ct::compiled(sum_and_difference)), ct::tensor<double, 2, 2>, ct::tensor<double, 2, 2>>;
  ct::tensor<double, 2, 2> const x{{1, 2}, {3, 4}}, y{{10, 20}, {30, 40}};
  std::vector<double> to(8, -1), from{1, 3, 2, 4};
  ct::strided_span<double, 2, 2> sum(to.data(), {2, 2}, {1, 2}), difference(to.data() + 4, {2, 2}, {1, 2});
  ct::growing_workspace memory;
  for (int run = 0; run < 2; ++run) {
    REQUIRE(P::run_growing(memory, std::tie(x, y), std::tie(sum, difference)) == ct::status::ok);
    CHECK(to == std::vector<double>{11, 33, 22, 44, -9, -27, -18, -36});
    to.assign(8, -1);
  }
  ct::strided_span<double const, 2, 2> const turned(from.data(), {2, 2}, {1, 2});
  ct::tensor<double, 2, 2> plain;
  REQUIRE(P::run_growing(memory, std::tie(turned, y), std::tie(plain, difference)) == ct::status::ok);
  CHECK(plain == ct::tensor<double, 2, 2>{{11, 22}, {33, 44}});
  ct::strided_span<double, 2, 2> repeated(to.data(), {2, 2}, {0, 1});
  CHECK(P::run_growing(memory, std::tie(x, y), std::tie(repeated, sum)) == ct::status::overlap);
}

TEST_CASE("a run for which there is not enough memory leaves results with strides as they are") {
  constexpr auto power = [](auto n, auto x) { return ct::sum(ct::for_loop(n, [=](auto, auto v) { return v * ct::sin(x); }, x)); };
  using P = ct::program<decltype(ct::grad<1>(power)), std::int64_t, ct::tensor<double, 2, 2>>;
  ct::tensor<double, 2, 2> const x{{1, 1}, {1, 1}};
  std::vector<double> to(4, -1);
  ct::strided_span<double, 2, 2> gradient(to.data(), {2, 2}, {1, 2});
  ct::growing_workspace memory;
  std::int64_t n = std::int64_t{1} << 50;
  CHECK(P::run_growing(memory, std::tie(n, x), std::tie(gradient)) == ct::status::out_of_memory);
  CHECK(to == std::vector<double>(4, -1));
  n = 0;
  CHECK(P::run_growing(memory, std::tie(n, x), std::tie(gradient)) == ct::status::ok);
  CHECK(to == std::vector<double>(4, 1));
}

TEST_CASE("memory with strides that is row-major is not copied") {
  auto memory = counted<double>(6);
  std::vector<double> to(6);
  using P = ct::program<decltype(ct::compiled(doubled)), ct::tensor<double, 2, 3>>;
  ct::strided_span<double const, 2, 3> const x(memory.data(), {2, 3}, {3, 1});
  ct::strided_span<double, 2, 3> y(to.data(), {2, 3}, {3, 1});
  REQUIRE(P::run(nullptr, std::tie(x), std::tie(y)) == ct::status::ok);
  CHECK(to[5] == 12);
}

TEST_CASE("cotangents of a pullback may have strides") {
  ct::tensor<double, 2, 3> const x{{1, 2, 3}, {4, 5, 6}};
  auto const [y, pullback] = ct::vjp([](auto a) { return ct::square(a); })(x);
  auto const memory = counted<double>(6);
  ct::strided_span<double const, 2, 3> const dy(memory.data() + 5, {2, 3}, {-1, -2});
  auto const dx = pullback(dy);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(dx(i, j) == 2 * x(i, j) * dy(i, j));
}

TEST_CASE("overlaps of strided memory are found exactly or refused") {
  std::mt19937 random(7);
  auto const draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  static double memory[400];
  int apart = 0, refused_apart = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    ct::detail::strided_leaf leaf[2];
    std::set<std::int64_t> at[2];
    std::int64_t const shared[]{draw(-9, 9), draw(-9, 9)};
    for (int k = 0; k < 2; ++k) {
      auto& l = leaf[k];
      std::int64_t const first = draw(150, 250);
      l.rank = draw(0, 2);
      l.element_bytes = 8;
      l.first = reinterpret_cast<char*>(memory + first);
      std::int64_t sizes[2]{1, 1}, strides[2]{0, 0};
      for (int a = 0; a < l.rank; ++a) {
        sizes[a] = l.size[a] = draw(0, 4);
        strides[a] = l.stride[a] = trial % 2 == 0 ? shared[a] : draw(-9, 9);
      }
      for (int i = 0; i < sizes[0]; ++i)
        for (int j = 0; j < sizes[1]; ++j) at[k].insert(first + i * strides[0] + j * strides[1]);
      if (static_cast<std::int64_t>(at[k].size()) != l.count()) CHECK(ct::detail::repeats_elements(l));
    }
    bool meet = false;
    for (auto const i : at[0]) meet = meet || at[1].contains(i);
    bool const said = ct::detail::may_overlap(leaf[0], leaf[1]);
    if (meet) CHECK(said);
    else {
      ++apart;
      refused_apart += said ? 1 : 0;
    }
  }
  CHECK(apart > 1000);
  CHECK(refused_apart < apart / 50);
}
