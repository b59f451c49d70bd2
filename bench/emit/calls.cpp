// SPDX-License-Identifier: BSL-1.0
// COTANGENT_BENCH_EMITTED: the name of the object, `exact` or `fast`.
#include "calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace { // (the flags differ, so the functions must not be merged)
#include "emitted.hpp"
} // namespace

namespace bench::emitted {

calls const COTANGENT_BENCH_EMITTED{
    [](double const* x, double* value, double* dx) { ::rosenbrock(x, value, dx, nullptr); },
    [](double const* x, double* value, double* dx, void* workspace) { ::log_sum_exp(x, value, dx, workspace); },
    [](float const* w1, float const* b1, float const* w2, float const* b2, float const* x, std::int32_t const* labels,
       digits_results const& to, void* workspace) {
      ::digits(w1, b1, w2, b2, x, labels, to.value, to.w1, to.b1, to.w2, to.b2, workspace);
    },
    [](double const* x, double* value, double* dx, void* workspace) {
      ::pendulum(x, x + 1, x + 2, value, dx, dx + 1, dx + 2, workspace);
    }};

} // namespace bench::emitted
