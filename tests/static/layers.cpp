// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

#include <tuple>

#include <limits>

// Losses, normalizations, attention and recurrent cells: values against formulas on numbers, and edges, by the compiler.

namespace ct = cotangent;

namespace {
using vector = ct::tensor<double, 3>;
using matrix = ct::tensor<double, 2, 2>;

constexpr bool near(double x, double y) { return x - y < 1e-9 && y - x < 1e-9; }
template <class A, class B> constexpr bool all_near(A const& a, B const& b) {
  for (std::int64_t k = 0; k < a.size(); ++k)
    if (!near(a.data()[k], b.data()[k])) return false;
  return a.size() == b.size();
}

static_assert(ct::compiled([](auto x, auto t) { return ct::mse(x, t); })(vector{1, 2, 3}, vector{1, 0, 1}) - 8. / 3 < 1e-15);
static_assert(ct::compiled([](auto x, auto t) { return ct::huber(x, t); })(vector{1, 2, 3}, vector{1, 1.5, 0}) == vector{0, 0.125, 2.5});
static_assert(ct::grad<0>([](auto x, auto t) { return ct::sum(ct::huber(x, t, 2)); })(vector{1, 2, 9}, vector{1, 1.5, 0}) == vector{0, 0.5, 2});
static_assert(ct::compiled([](auto x, auto t) { return ct::hinge(x, t); })(vector{2, 0.5, 0.5}, vector{1, 1, -1}) == vector{0, 0.5, 1.5});
constexpr auto kl = ct::compiled([](auto p, auto q) { return ct::kl_divergence(p, q); });
static_assert(kl(vector{0.5, 0.5, 0}, vector{0.5, 0.5, 0}) == 0 && near(kl(vector{0, 1, 0}, vector{0.25, 0.5, 0.25}), 0.6931471805599453));
constexpr auto kl_slopes = ct::grad<0, 1>([](auto p, auto q) { return ct::kl_divergence(p, q); })(vector{0.5, 0, 0}, vector{0.5, 0.5, 0});
static_assert(all_near(get<0>(kl_slopes), vector{1, 0, 0}) && all_near(get<1>(kl_slopes), vector{-1, 0, 0}));
constexpr auto spread = ct::compiled([](auto p, auto q) { return ct::kl_divergence(p, q); })(ct::tensor<double, 2>{0, 1}, ct::tensor<double, 2, 2>{{0.5, 0.5}, {0, 1}});
static_assert(near(spread(0), 0.6931471805599453) && spread(1) == 0);
static_assert(near(ct::compiled([](auto z, auto p) { return ct::soft_cross_entropy(z, p); })(vector{1, 1, 1}, vector{0.2, 0.3, 0.5}), 1.0986122886681098));
// a class without a chance, and without probability
static_assert(near(ct::compiled([](auto z, auto p) { return ct::soft_cross_entropy(z, p); })(vector{1, 1, -std::numeric_limits<double>::infinity()}, vector{0.5, 0.5, 0}), 0.69314718055994531));
constexpr auto without_third = ct::grad([](auto z, auto p) { return ct::soft_cross_entropy(z, p); })(vector{1, 1, -std::numeric_limits<double>::infinity()}, vector{0.5, 0.5, 0});
static_assert(near(without_third(0), 0) && near(without_third(1), 0) && without_third(2) == 0);
static_assert(all_near(ct::compiled([](auto p) { return ct::smooth_labels(p, 0.3); })(vector{0, 1, 0}), vector{0.1, 0.8, 0.1}));

constexpr auto layer = ct::compiled([](auto x, auto s, auto b) { return ct::layer_norm(x, s, b, 0); });
static_assert(all_near(layer(ct::tensor<double, 2, 2>{{1, 3}, {10, 4}}, ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{0, 1}), matrix{{-1, 3}, {1, -1}}));
constexpr auto batch = ct::compiled([](auto x, auto s, auto b) { return ct::batch_norm(x, s, b, 0); });
static_assert(all_near(batch(ct::tensor<double, 2, 2>{{1, 9}, {3, 4}}, ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{0, 1}), matrix{{-1, 3}, {1, -1}}));
constexpr auto group = ct::compiled([](auto x) { return ct::group_norm<2>(x, 1, 0, 0); });
static_assert(all_near(group(ct::tensor<double, 1, 4>{{1, 3, 10, 4}}), ct::tensor<double, 1, 4>{{-1, 1, 1, -1}}));
static_assert(all_near(ct::compiled([](auto x) { return ct::rms_norm(x, 2, 0); })(ct::tensor<double, 2>{1, 7}), ct::tensor<double, 2>{0.4, 2.8}));
static_assert(all_near(ct::grad([](auto x) { return ct::sum(ct::layer_norm(x, 1, 0)); })(vector{1, 2, 4}), vector{0, 0, 0}));
static_assert(ct::compiled([](auto x, auto i) { return ct::embedding(x, i); })(matrix{{1, 2}, {3, 4}}, ct::tensor<std::int32_t, 2>{1, 0}) == matrix{{3, 4}, {1, 2}});

constexpr matrix zeros{{0, 0}, {0, 0}};
constexpr matrix values{{1, 2}, {3, 4}};
static_assert(all_near(ct::compiled([](auto q, auto k, auto v) { return ct::attention(q, k, v); })(zeros, zeros, values), matrix{{2, 3}, {2, 3}}));
static_assert(all_near(ct::compiled([](auto q, auto k, auto v) { return ct::causal_attention(q, k, v); })(zeros, zeros, values), matrix{{1, 2}, {2, 3}}));
constexpr auto scaled = ct::compiled([](auto q, auto k, auto v) { return ct::attention(q, k, v); });
static_assert(near(scaled(ct::tensor<double, 1, 4>{{2, 0, 0, 0}}, ct::tensor<double, 2, 4>{{1, 0, 0, 0}, {0, 0, 0, 0}}, ct::tensor<double, 2, 1>{{1}, {0}})(0, 0), 0.7310585786300049));

// in blocks: values and gradients of two and one of three queries
using rows = ct::tensor<double, 3, 2>;
constexpr rows q{{1, 2}, {-1, 0.5}, {0.25, 3}}, k{{0.5, 1}, {2, -1}, {0, 1}}, v{{1, 0}, {2, 5}, {-1, 1}};
constexpr auto whole = [](auto a, auto b, auto c) { return ct::sum(ct::square(ct::attention(a, b, c))) + ct::sum(ct::causal_attention(a, b, c) * c); };
constexpr auto blocks = [](auto a, auto b, auto c) {
  return ct::sum(ct::square(ct::block_attention<2>(a, b, c))) + ct::sum(ct::block_causal_attention<2>(a, b, c) * c);
};
constexpr auto by_whole = ct::value_and_grad<0, 1, 2>(whole)(q, k, v), by_blocks = ct::value_and_grad<0, 1, 2>(blocks)(q, k, v);
static_assert(near(by_whole.first, by_blocks.first) && all_near(std::get<0>(by_whole.second), std::get<0>(by_blocks.second)));
static_assert(all_near(std::get<1>(by_whole.second), std::get<1>(by_blocks.second)) && all_near(std::get<2>(by_whole.second), std::get<2>(by_blocks.second)));
constexpr auto masked = ct::compiled([](auto a, auto m) { return ct::block_attention<2>(a, a, a, m > 0) - ct::attention(a, a, a, m > 0); });
static_assert(all_near(masked(q, ct::tensor<double, 3, 3>{{1, 0, 1}, {0, 0, 1}, {1, 1, 0}}), rows{{0, 0}, {0, 0}, {0, 0}}));

// edges of activations, as in JAX
constexpr auto slope_of = [](auto f, double x) consteval { return ct::grad(f)(x); };
static_assert(slope_of([](auto x) { return ct::relu6(x); }, 0.0) == 0.5 && slope_of([](auto x) { return ct::hard_tanh(x); }, 1.0) == 1);
static_assert(slope_of([](auto x) { return ct::sparse_plus(x); }, -1.0) == 0 && slope_of([](auto x) { return ct::celu(x, 2); }, 0.0) == 1);

// one unit: the formulas on numbers
constexpr auto lstm = [](auto x, auto h, auto c) {
  return ct::lstm_cell(x, h, c, 0 * ct::reshape<1, 4>(ct::tile<4>(ct::flatten(x))) + 1, 0 * ct::reshape<1, 4>(ct::tile<4>(ct::flatten(x))) + 0.5, 0);
};
using one = ct::tensor<double, 1, 1>;
static_assert(near(ct::compiled(lstm)(one{{0.5}}, one{{0.25}}, one{{-1}}).second(0, 0), 0.6513548646660543 * (-1 + 0.5545997223493823)));
constexpr auto gru = [](auto x, auto h) {
  auto const ones = 0 * ct::reshape<1, 3>(ct::tile<3>(ct::flatten(x))) + 1;
  return ct::gru_cell(x, h, ones, ones, 0, 0);
};
static_assert(near(ct::compiled(gru)(one{{0.5}}, one{{0.25}})(0, 0), 0.320821300824607 * 0.5848448040380179 + 0.679178699175393 * 0.25));
} // namespace

int main() {}
