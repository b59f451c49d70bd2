// SPDX-License-Identifier: BSL-1.0
// Elementary functions of 4,096 elements against vectorized libraries: SLEEF's kernels of 1 ulp, if it is installed, and those of
// the C library (libmvec, 4 ulp). Both are called vector by vector.
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/special.hpp>

#include <cstddef>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__FMA__) && defined(__AVX2__)

#  ifdef COTANGENT_BENCH_SLEEF
#    include <sleef.h>
#  endif
#  include <immintrin.h>

#  if COTANGENT_ABI_BYTES == 64
using doubles = __m512d;
using floats = __m512;
#    define BENCH_SLEEF(Name) Sleef_##Name##d8_u10avx512f
#    define BENCH_SLEEF_FLOAT(Name) Sleef_##Name##f16_u10avx512f
#    define BENCH_MVEC(Name) _ZGVeN8v_##Name
#    define BENCH_MVEC_2(Name) _ZGVeN8vv_##Name
#    define BENCH_MVEC_FLOAT(Name) _ZGVeN16v_##Name##f
#    define BENCH_MVEC_FLOAT_2(Name) _ZGVeN16vv_##Name##f
#  else
using doubles = __m256d;
using floats = __m256;
#    define BENCH_SLEEF(Name) Sleef_##Name##d4_u10avx2
#    define BENCH_SLEEF_FLOAT(Name) Sleef_##Name##f8_u10avx2
#    define BENCH_MVEC(Name) _ZGVdN4v_##Name
#    define BENCH_MVEC_2(Name) _ZGVdN4vv_##Name
#    define BENCH_MVEC_FLOAT(Name) _ZGVdN8v_##Name##f
#    define BENCH_MVEC_FLOAT_2(Name) _ZGVdN8vv_##Name##f
#  endif

extern "C" {
#  define BENCH_DECLARE(Name)                                                                                \
    doubles BENCH_MVEC(Name)(doubles);                                                                       \
    floats BENCH_MVEC_FLOAT(Name)(floats);
#  define BENCH_DECLARE_2(Name)                                                                              \
    doubles BENCH_MVEC_2(Name)(doubles, doubles);                                                            \
    floats BENCH_MVEC_FLOAT_2(Name)(floats, floats);
BENCH_DECLARE(exp) BENCH_DECLARE(expm1) BENCH_DECLARE(log) BENCH_DECLARE(log1p) BENCH_DECLARE(sin) BENCH_DECLARE(cos) BENCH_DECLARE(tan)
BENCH_DECLARE(tanh) BENCH_DECLARE(atan) BENCH_DECLARE(asin) BENCH_DECLARE(erf) BENCH_DECLARE_2(pow) BENCH_DECLARE_2(atan2)
}

namespace {

constexpr std::ptrdiff_t n = 4096;

/// `theirs` of one vector, or of two, over arrays.
template <class Vector, class T, auto Theirs, int Operands>
void by_vector(T const* x, T const* y, T* to) {
  constexpr std::ptrdiff_t w = sizeof(Vector) / sizeof(T);
  for (std::ptrdiff_t i = 0; i < n; i += w) {
    Vector a, b, r;
    __builtin_memcpy(&a, x + i, sizeof a);
    if constexpr (Operands == 2) {
      __builtin_memcpy(&b, y + i, sizeof b);
      r = Theirs(a, b);
    } else r = Theirs(a);
    __builtin_memcpy(to + i, &r, sizeof r);
  }
}

template <class Vector, class T, auto Theirs, int Operands>
void compare(bench::suite& suite, std::string const& function, char const* library, auto ours, double from, double to) {
  bench::buffer<T> x(n), y(n), r(n);
  bench::numbers random;
  random.fill(x, static_cast<T>(from), static_cast<T>(to)), random.fill(y, static_cast<T>(from), static_cast<T>(to));
  T *px = x.data(), *py = y.data(), *pr = r.data();
  bench::comparison c{"elementary, " + function + ", " + library, bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
  c.results = {bench::written(function, pr, n, 16)};
  c.hand = {bench::named(library, [=] { by_vector<Vector, T, Theirs, Operands>(px, py, pr); })};
  using view = ct::view<T const, n>;
  if constexpr (Operands == 2) c.ours = {bench::ours(ours, bench::into(ct::view<T, n>(pr)), view(px), view(py))};
  else c.ours = {bench::ours(ours, bench::into(ct::view<T, n>(pr)), view(px))};
  suite.run(c);
}

#  define BENCH_WITH(Name, From, To, Operands, Library, Double, Float)                                       \
    compare<doubles, double, Double, Operands>(suite, #Name, Library, of_##Name, From, To);                  \
    compare<floats, float, Float, Operands>(suite, #Name, Library, of_##Name, From, To);
#  ifdef COTANGENT_BENCH_SLEEF
#    define BENCH_WITH_SLEEF(Name, From, To, Operands)                                                       \
      BENCH_WITH(Name, From, To, Operands, "SLEEF of 1 ulp", BENCH_SLEEF(Name), BENCH_SLEEF_FLOAT(Name))
#  else
#    define BENCH_WITH_SLEEF(Name, From, To, Operands)
#  endif
#  define BENCH_ONE(Name, From, To)                                                                          \
    constexpr auto of_##Name = [](auto x) { return ct::Name(x); };                                           \
    BENCH_WITH_SLEEF(Name, From, To, 1)                                                                      \
    BENCH_WITH(Name, From, To, 1, "libmvec of 4 ulp", BENCH_MVEC(Name), BENCH_MVEC_FLOAT(Name))
#  define BENCH_TWO(Name, From, To)                                                                          \
    constexpr auto of_##Name = [](auto x, auto y) { return ct::Name(x, y); };                                \
    BENCH_WITH_SLEEF(Name, From, To, 2)                                                                      \
    BENCH_WITH(Name, From, To, 2, "libmvec of 4 ulp", BENCH_MVEC_2(Name), BENCH_MVEC_FLOAT_2(Name))

bench::entry const elementary("elementary", [](bench::suite& suite) {
  BENCH_ONE(exp, -10, 10)
  BENCH_ONE(expm1, -2, 2)
  BENCH_ONE(log, 1e-3, 100)
  BENCH_ONE(log1p, -0.5, 3)
  BENCH_ONE(sin, -10, 10)
  BENCH_ONE(cos, -10, 10)
  BENCH_ONE(tan, -1.5, 1.5)
  BENCH_ONE(tanh, -3, 3)
  BENCH_ONE(atan, -5, 5)
  BENCH_ONE(asin, -1, 1)
  BENCH_ONE(erf, -3, 3)
  BENCH_TWO(pow, 0.1, 4)
  BENCH_TWO(atan2, -2, 2)
});

} // namespace

#endif
