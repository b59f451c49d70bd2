// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_CHOOSE_FUNCTIONS_HPP
#define COTANGENT_BENCH_CHOOSE_FUNCTIONS_HPP

// Included after the header of a front end, whose functions these call.

namespace choose {

namespace ct = cotangent;

// [loss]
inline constexpr auto loss = [](auto const& w, auto const& x) {
  return ct::mean(ct::square(ct::tanh(w * x) - 0.5));
};
// [/loss]

inline constexpr auto network = [](auto const& w1, auto const& b1, auto const& w2, auto const& b2, auto const& x,
                                   auto const& labels) {
  auto const h = ct::tanh(ct::matmul(x, w1) + b1);
  return ct::mean(ct::cross_entropy(ct::matmul(h, w2) + b2, labels));
};

inline constexpr auto iteration = [](auto const& s) { return ct::sin(s) + 0.5; };

} // namespace choose

#endif
