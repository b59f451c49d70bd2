// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_INITIALIZERS_HPP
#define COTANGENT_OPS_FUNCTIONS_INITIALIZERS_HPP

#include <cotangent/ops/linalg/decompositions.hpp>
#include <cotangent/ops/random.hpp>

#include <cstdint>

// Random initial weights of layers. The last two axes are inputs and outputs; axes before them are taps of a convolution.
// Sources: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010 (Xavier);
// K. He and others, "Delving deep into rectifiers", 2015; A. Saxe and others, "Exact solutions to the nonlinear dynamics of
// learning in deep linear neural networks", 2014 (orthogonal).

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(weights_rank, at_least, two_axes, axes_of_weights, "cotangent: initial weights need at least two axes, inputs and outputs, whose extents are numbers")
// clang-format on
} // namespace refusals

namespace extend {

/// The distribution of initial weights.
struct weight_distribution {
  bool of_outputs; // the variance is 2 / (inputs + outputs), or 2 / inputs
  bool normal;
};
/// True if weights of this shape can be drawn; else the failure is recorded.
constexpr bool are_weights(builder& b, std::int32_t shape) {
  dimensions const d = b.get().shapes[shape];
  bool fits = d.rank >= 2;
  for (int k = 0; k < d.rank; ++k) fits = fits && d.size[k] >= 0;
  if (!fits) b.refuse<refusals::weights_rank>(2, d.rank, b.place);
  return fits;
}
constexpr term initial_weights(term key, std::int32_t shape, element type, weight_distribution how) {
  if (!are_weights(*key.b, shape)) return key;
  dimensions const d = key.b->get().shapes[shape];
  double taps = 1;
  for (int k = 0; k + 2 < d.rank; ++k) taps *= static_cast<double>(d.size[k]);
  double const inputs = taps * static_cast<double>(d.size[d.rank - 2]), outputs = taps * static_cast<double>(d.size[d.rank - 1]);
  double const variance = 2 / (how.of_outputs ? inputs + outputs : inputs);
  term const x = how.normal ? random_normal(key, shape, type) : random_uniform(key, shape, type);
  if (key.b->failed().why != nullptr) return key;
  auto const times = [&](term t, double square) { return t * apply<op::sqrt>(constant_like(t, square)); };
  return how.normal ? times(x, variance) : times(2 * x - 1, 3 * variance);
}
/// A matrix with orthonormal columns, or rows if there are more columns; every direction is equally likely.
constexpr term orthogonal(term key, std::int32_t shape, element type) {
  builder& b = *key.b;
  if (!are_weights(b, shape)) return key;
  term const x = random_normal(key, shape, type);
  if (b.failed().why != nullptr) return key;
  bool const wide = detail::row_count(x) < detail::column_count(x);
  term const from = wide ? transpose_matrices(x) : x, r = diagonal_of_matrices(qr(from, 1));
  dimensions d = r.dims();
  d.size[d.rank] = d.size[d.rank - 1], d.size[d.rank - 1] = 1;
  ++d.rank;
  term const signs = op::reshape::of(select(r < 0, constant_like(r, -1), constant_like(r, 1)), b.shape(d));
  term const q = qr(from, 0) * signs;
  return wide ? transpose_matrices(q) : q;
}

} // namespace extend

} // namespace cotangent

#endif
