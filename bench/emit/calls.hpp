// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_EMIT_CALLS_HPP
#define COTANGENT_BENCH_EMIT_CALLS_HPP

#include <cstdint>

// The emitted programs, compiled with the flags of the benchmark and with -ffast-math.

namespace bench::emitted {

struct digits_results {
  float *value, *w1, *b1, *w2, *b2;
};
struct calls {
  void (*rosenbrock)(double const* x, double* value, double* dx);
  void (*log_sum_exp)(double const* x, double* value, double* dx, void* workspace);
  void (*digits)(float const* w1, float const* b1, float const* w2, float const* b2, float const* x, std::int32_t const* labels,
                 digits_results const& to, void* workspace);
  void (*pendulum)(double const* x, double* value, double* dx, void* workspace);
};
extern calls const exact, fast;

} // namespace bench::emitted

#endif
