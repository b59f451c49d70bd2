// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "functions.hpp"

#include <cotangent/cotangent.hpp>

#include <tuple>
#include <utility>

// What users have to check a gradient with, on all functions of a list at once.

namespace ct = cotangent;

namespace {
template <auto const& Table> struct pooled {
  template <class X, class... Y> constexpr auto operator()(X const& x, Y const&... y) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple([&] {
        if constexpr (std::get<I>(Table).smooth) return std::get<I>(Table).traced(x, y...);
        else return x;
      }()...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Table)>>>{});
  }
};
} // namespace

TEST_CASE("check_gradient agrees with the elementwise functions and the transformations") {
  ct::tensor<double, 5> const x{-1.6, -0.4, 0.7, 1.3, 1.7}, y{0.6, -1.3, 1.8, 0.3, -0.7}, p{0.3, 0.8, 1.2, 1.6, 1.1};
  CHECK(ct::check_gradient(pooled<functions::one_operand>{}, x, y, p));
  CHECK(ct::check_gradient(pooled<functions::two_operands>{}, x, y, p));
  ct::tensor<float, 5> const xf{-1.5f, -0.5f, 0.7f, 1.3f, 1.7f}, yf{0.6f, -1.3f, 1.8f, 0.3f, -0.7f},
      pf{0.3f, 0.8f, 1.2f, 1.6f, 1.1f};
  CHECK(ct::check_gradient(pooled<functions::transformations>{}, xf, yf, pf));
}
TEST_CASE("check_gradient agrees with products of matrices") {
  ct::tensor<double, 3, 4> a;
  ct::tensor<double, 4, 2> b;
  ct::tensor<double, 3, 2> c;
  ct::tensor<double, 4> const u{0.5, -0.25, 0.75, 1};
  for (std::int64_t i = 0; i < 12; ++i) a.data()[i] = 0.1 * static_cast<double>(i % 7) - 0.2;
  for (std::int64_t i = 0; i < 8; ++i) b.data()[i] = 0.15 * static_cast<double>(i % 5) - 0.3;
  for (std::int64_t i = 0; i < 6; ++i) c.data()[i] = 0.2 * static_cast<double>(i % 3) - 0.1;
  CHECK(ct::check_gradient(pooled<functions::products>{}, a, b, c, u));
}
