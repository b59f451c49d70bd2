// SPDX-License-Identifier: BSL-1.0
// Element counts and bytes that do not fit are refused, or cannot be allocated; nothing wraps around.
#include "../catch.hpp"

#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/plan/memory/arena.hpp>

#include <cstdint>

namespace ct = cotangent;
namespace dynamic = ct::dynamic;

namespace {

constexpr std::int64_t largest = INT64_MAX;
constexpr std::int64_t power(int n) { return std::int64_t{1} << n; }
constexpr auto too_large = "cotangent: shape: a value must have fewer than 2^60 elements";

} // namespace

TEST_CASE("inputs with too many elements are refused, even if an axis is empty") {
  dynamic::graph g;
  CHECK_THROWS_AS(g.input<double>("a", {power(62)}), ct::error);
  CHECK_THROWS_AS(g.input<double>("a", {power(31), power(31)}), ct::error);
  CHECK_THROWS_AS(g.input<double>("a", {0, power(62), power(62)}), ct::error);
}

TEST_CASE("operations that enlarge refuse a result with too many elements") {
  dynamic::graph g;
  auto const column = g.input<double>("column", {power(40), 0}), row = g.input<double>("row", {0, power(40)});
  CHECK_THROWS_WITH(ct::matmul(column, row), Catch::StartsWith(too_large));

  auto const a = g.input<bool>("a", {power(57)});
  auto const four = ct::concatenate<0>(a, a, a, a);
  CHECK(four.extent(0) == power(59));
  CHECK_THROWS_WITH(ct::concatenate<0>(four, four), Catch::StartsWith(too_large));

  auto const two = g.input<double>("two", {2});
  auto const i = g.input<std::int64_t>("i", {2});
  CHECK_THROWS_WITH(ct::scatter_add<power(61)>(two, i), Catch::StartsWith(too_large));
  CHECK_THROWS_WITH(ct::broadcast_to(two, {power(60), 2}), Catch::StartsWith("cotangent:"));

  auto const image = g.input<double>("image", {1, 4, 4, 1}), weights = g.input<double>("weights", {3, 3, 1, 1});
  CHECK_THROWS_WITH(ct::conv2d<ct::convolution{.padding = INT32_MAX}>(image, weights), Catch::StartsWith(too_large));
  CHECK_THROWS_WITH(ct::split(two, {largest, largest, 4}, 0), Catch::StartsWith("cotangent: split: the sizes"));

  auto const p = g.compile({ct::sum(two)}); // the graph is as it was
  CHECK(p.workspace_bytes() >= 0);
}

TEST_CASE("views that repeat an element refuse too many elements") {
  dynamic::graph g;
  auto const a = g.input<double>("a", {4});
  CHECK_THROWS_AS(g.view(a, {.shape = {power(62)}, .stride = {0}}), ct::error);
  CHECK_THROWS_AS(g.view(a, {.shape = {power(59), power(59)}, .stride = {0, 0}}), ct::error);
  CHECK_THROWS_AS(g.view(a, {.shape = {3}, .stride = {largest}}), ct::error);
}

TEST_CASE("a stride beyond the end of its axis keeps the first element") {
  dynamic::graph g;
  auto const a = g.input<double>("a", {4});
  auto const y = a(dynamic::between(0, 4, largest));
  REQUIRE(y.extent(0) == 1);
  auto p = g.compile({y});
  p.bind(a, {5., 6., 7., 8.});
  p.run();
  CHECK(p.value(y)(0) == 5);
}

TEST_CASE("a sum over 2^50 equal elements needs no memory for them") {
  dynamic::graph g;
  auto const y = ct::sum(g.full({power(50)}, 1.0));
  auto p = g.compile({y});
  p.run();
  CHECK(static_cast<double>(p.value(y)) == 0x1p50);
}

TEST_CASE("sizes in bytes saturate at 64 bits, and cannot be allocated") {
  dynamic::graph g;
  auto const a = g.input<double>("a");
  auto const x = ct::broadcast_to(a, {power(59)});
  auto const y = ct::exp(x) + ct::sin(x), z = ct::sin(y), w = ct::cos(z);
  auto const p = g.compile({y, z, w, y * z * w}, {}, {.own_memory = true});
  CHECK(p.workspace_bytes() == largest);

  ct::detail::array<ct::detail::lifetime> values;
  for (int k = 0; k < 5; ++k) values.push({0, 1, power(61)});
  ct::detail::arena const placed = ct::detail::plan_arena(values);
  CHECK(placed.bytes == largest);
  CHECK(placed.offsets.size() == 5);
}
