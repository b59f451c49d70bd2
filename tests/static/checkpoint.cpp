// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <array>

// Static programs whose gradients rematerialize values instead of keeping them.

namespace {

namespace ct = cotangent;

using square = ct::tensor<float, 64, 64>;
using batch = ct::tensor<float, 256, 64>;

inline constexpr auto layer = [](auto x, auto w) { return ct::tanh(ct::matmul(x, w)); };
inline constexpr auto two_layers = [](auto x, auto v, auto w) { return layer(layer(x, v), w); };
inline constexpr auto four_kept = [](auto x, auto a, auto b, auto c, auto d) {
  return ct::mean(ct::square(two_layers(two_layers(x, a, b), c, d)));
};
inline constexpr auto four_again = [](auto x, auto a, auto b, auto c, auto d) {
  auto const block = ct::checkpoint(two_layers);
  return ct::mean(ct::square(block(block(x, a, b), c, d)));
};

using kept = ct::program<decltype(ct::grad<1, 2, 3, 4>(four_kept)), batch, square, square, square, square>;
using again = ct::program<decltype(ct::grad<1, 2, 3, 4>(four_again)), batch, square, square, square, square>;
static_assert(again::workspace_bytes + 256 * 64 * 4 <= kept::workspace_bytes);

// sixteen layers, parameters in an array of structs
template <template <class, ct::extent...> class Tensor> struct dense {
  BOOST_HANA_DEFINE_STRUCT(dense, (Tensor<float, 64, 64>, weights), (Tensor<float, 64>, offsets));
};
inline constexpr auto affine = [](auto x, auto const& p) { return ct::tanh(ct::matmul(x, p.weights) + p.offsets); };
inline constexpr auto deep_kept = [](auto x, auto const& all) {
  auto h = x;
  for (auto const& p : all) h = affine(h, p);
  return ct::mean(ct::square(h));
};
inline constexpr auto deep_again = [](auto x, auto const& all) {
  return ct::mean(ct::square(ct::checkpoint_sequence(affine, {.segments = 4})(x, all)));
};
using parameters = std::array<dense<ct::tensor>, 16>;
static_assert(ct::program<decltype(ct::grad<1>(deep_again)), batch, parameters>::workspace_bytes * 10 <=
              ct::program<decltype(ct::grad<1>(deep_kept)), batch, parameters>::workspace_bytes * 7);

// in a constant evaluation
inline constexpr auto waves = [](auto x) { return ct::sin(ct::exp(x * x)) * x; };
inline constexpr auto waves_again = ct::checkpoint(waves);
static_assert(ct::grad(waves)(0.5) == ct::grad(waves_again)(0.5));
static_assert(waves_again(0.5) == ct::compiled(waves)(0.5));
inline constexpr auto slope = [](auto x) { return ct::grad(waves)(x); };
inline constexpr auto slope_again = [](auto x) { return ct::grad(ct::checkpoint(waves_again))(x); };
static_assert(ct::grad(slope)(0.5) == ct::grad(slope_again)(0.5));

// so many layers with so many places: what lies before the next place, with all of them, and what lies behind, with one less
constexpr double runs(std::int64_t units, int places) {
  if (units <= 1) return 0;
  std::int64_t const ahead = ct::detail::units_ahead(units, places);
  return static_cast<double>(ahead) + runs(ahead, places) + (places > 1 ? runs(units - ahead, places - 1) : 0);
}
constexpr bool are_fewest(int most) {
  for (int places = 1; places <= 6; ++places)
    for (int units = 1; units <= most; ++units)
      if (runs(units, places) != ct::detail::fewest_runs(units, places)) return false;
  return true;
}
static_assert(are_fewest(12));
static_assert(runs(64, 4) == ct::detail::fewest_runs(64, 4) && ct::detail::fewest_runs(64, 4) == 64. * 4 - 56);
inline constexpr auto deep_in_places = [](auto x, auto const& all) {
  return ct::mean(ct::square(ct::checkpoint_sequence(affine, {.slots = 3})(x, all)));
};
static_assert(ct::program<decltype(ct::grad<1>(deep_in_places)), batch, parameters>::workspace_bytes * 10 <
              ct::program<decltype(ct::grad<1>(deep_again)), batch, parameters>::workspace_bytes * 9);

} // namespace
