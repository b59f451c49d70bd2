// SPDX-License-Identifier: BSL-1.0
// Tensors of half precision that are moved: strides of the caller's memory and of views, values that loops carry and branches return.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

template <class H> double as_number(H const& h) { return static_cast<double>(static_cast<float>(h)); }
/// Multiples of 1/4 between -2 and 7: exact in half precision, and so are their squares.
template <class H> std::vector<H> numbers(std::int64_t n) {
  std::vector<H> x;
  for (std::int64_t k = 0; k < n; ++k) x.push_back(H(0.25f * static_cast<float>(k % 37) - 2));
  return x;
}

template <class H> inline constexpr auto doubled = [](auto x) { return ct::convert<H>(x * 2.0f); };
inline constexpr auto squares = [](auto x) { return ct::sum(x * x); };

/// An argument, and a result, with these strides.
template <class H> void check_strides(std::ptrdiff_t down, std::ptrdiff_t across, std::ptrdiff_t first) {
  CAPTURE(down, across);
  std::vector<H> const memory = numbers<H>(200);
  ct::strided_span<H const, 5, 8> const in(memory.data() + first, {5, 8}, {down, across});
  auto const position = [&](std::ptrdiff_t i, std::ptrdiff_t j) { return static_cast<std::size_t>(first + i * down + j * across); };
  std::vector<H> to(200, H(-9.0f));
  ct::strided_span<H, 5, 8> out(to.data() + first, {5, 8}, {down, across});
  using program = ct::program<decltype(ct::compiled(doubled<H>)), ct::strided_span<H const, 5, 8>>;
  alignas(64) unsigned char workspace[4096];
  CHECK(program::run(workspace, std::tie(in), std::tie(out)) == ct::status::ok);
  auto const slope = ct::grad(squares)(in);
  ct::dynamic::graph g;
  auto const c = g.constant(in) * 1.0f;
  auto p = g.compile({c});
  p.run();
  double total = 0;
  int wrong = 0;
  for (std::ptrdiff_t i = 0; i < 5; ++i)
    for (std::ptrdiff_t j = 0; j < 8; ++j) {
      double const x = as_number(memory[position(i, j)]);
      wrong += as_number(to[position(i, j)]) != 2 * x;
      wrong += as_number(slope(i, j)) != 2 * x;
      wrong += as_number(p.value(c)(i, j)) != x;
      total += x * x;
    }
  CHECK(wrong == 0);
  CHECK(as_number(ct::compiled(squares)(in)) == total);
}

/// Views with strides of an n x m tensor in a run-time graph, writes to one, and gradients through one.
template <class H> void check_views(std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  ct::dynamic::graph g;
  auto x = g.input<H>("x", {n, m});
  auto const transposed = g.view(x, {.shape = {m, n}, .stride = {1, m}}), row = g.view(x, {.shape = {n, m}, .stride = {0, 1}}),
             column = g.view(x, {.shape = {n, m}, .stride = {m, 0}}), one = g.view(x, {.shape = {n, m}, .stride = {0, 0}});
  auto const y = transposed * 2.0f, of_row = row * 2.0f, of_column = column * 2.0f, of_one = one * 2.0f;
  auto t = g.tensor<H>("t", {n, 2 * m});
  g.write(g.view(t, {.shape = {n, m}, .stride = {2 * m, 2}}), ct::convert<H>(x * 2.0f));
  auto const d = g.gradient({ct::sum(y * y)}, {x}).front();
  auto p = g.compile({y, of_row, of_column, of_one, t, d});
  std::vector<H> const all = numbers<H>(n * m);
  p.bind(x, all);
  p.run();
  auto const at = [&](std::int64_t i, std::int64_t j) { return 2 * as_number(all[static_cast<std::size_t>(i * m + j)]); };
  int wrong = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      wrong += as_number(p.value(y)(j, i)) != at(i, j);
      wrong += as_number(p.value(of_row)(i, j)) != at(0, j);
      wrong += as_number(p.value(of_column)(i, j)) != at(i, 0);
      wrong += as_number(p.value(of_one)(i, j)) != at(0, 0);
      wrong += as_number(p.value(t)(i, 2 * j)) != at(i, j);
      wrong += as_number(p.value(t)(i, 2 * j + 1)) != 0;
      wrong += as_number(p.value(d)(i, j)) != 4 * at(i, j);
    }
  CHECK(wrong == 0);
}

/// Carries half precision.
template <class H> inline constexpr auto carried = [](auto x, auto s) {
  auto const last = ct::for_loop(3, [&](auto, auto h) { return ct::convert<H>(h * 0.5f + x); }, ct::convert<H>(s));
  return ct::sum(last * last);
};
template <class H> inline constexpr auto branched = [](auto x) {
  return ct::cond(ct::sum(x) > 2.0f, [](auto q) { return ct::convert<H>(q * 2.0f); }, [](auto q) { return ct::convert<H>(q); })(x);
};
template <class H> inline constexpr auto ended = [](auto x) {
  return ct::while_loop([](auto i, auto s) { return ct::sum(s * 1.0f) < 3.0f && i < 4; },
                        [&](auto, auto s) { return ct::convert<H>(s * 0.5f + 1.25f); }, ct::convert<H>(x));
};

template <class H> void check_control() {
  ct::tensor<float, 4> const x{.5f, -1, .25f, 2}, s{1, 2, -.5f, .25f};
  ct::tensor<float, 4> last{}, expected{};
  for (int k = 0; k < 4; ++k) {
    last(k) = s(k);
    for (int i = 0; i < 3; ++i) last(k) = last(k) * .5f + x(k);
    expected(k) = 2 * last(k) * 1.75f;
  }
  CHECK(ct::grad<0>(carried<H>)(x, s) == expected);
  for (int k = 0; k < 4; ++k) expected(k) = 2 * last(k) * .125f;
  CHECK(ct::grad<1>(carried<H>)(x, s) == expected);
  CHECK(ct::grad([](auto q) { return ct::sum(branched<H>(q) * 1.0f); })(s) == ct::tensor<float, 4>{2, 2, 2, 2});

  ct::tensor<float, 3, 4> const rows{{.5f, -1, .25f, 2}, {1, 2, 3, 4}, {-4, 1, 0, .5f}};
  auto const all = ct::vmap(branched<H>)(rows), ends = ct::vmap(ended<H>)(rows);
  ct::dynamic::graph g;
  auto gx = g.input<float>("x", {3, 4});
  auto const y = ct::vmap(branched<H>)(gx), z = ct::vmap(ended<H>)(gx);
  auto p = g.compile({y, z});
  p.bind(gx, rows);
  p.run();
  for (int r = 0; r < 3; ++r) {
    ct::tensor<float, 4> row;
    for (int k = 0; k < 4; ++k) row(k) = rows(r, k);
    auto const one = ct::compiled(branched<H>)(row), end = ct::compiled(ended<H>)(row);
    for (int k = 0; k < 4; ++k) {
      CHECK(as_number(all(r, k)) == as_number(one(k)));
      CHECK(as_number(ends(r, k)) == as_number(end(k)));
      CHECK(as_number(p.value(y)(r, k)) == as_number(one(k)));
      CHECK(as_number(p.value(z)(r, k)) == as_number(end(k)));
    }
  }
}

} // namespace

TEST_CASE("Strided memory of half precision is read and written", "[half]") {
  check_strides<ct::float16>(16, 2, 10);
  check_strides<ct::float16>(-16, -2, 150);
  check_strides<ct::bfloat16>(1, 5, 0);
  check_strides<ct::bfloat16>(8, 1, 3);
}

TEST_CASE("Views of half precision with strides in run-time graphs", "[half]") {
  for (auto const& [n, m] : {std::pair(2, 3), {1, 2}, {8, 8}, {7, 5}, {40, 30}, {70, 90}}) {
    check_views<ct::float16>(n, m);
    check_views<ct::bfloat16>(n, m);
  }
}

TEST_CASE("Loops carry half precision and branches return it, also under vmap and with gradients", "[half]") {
  check_control<ct::float16>();
  check_control<ct::bfloat16>();
}
