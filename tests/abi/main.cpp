// SPDX-License-Identifier: BSL-1.0
// Units with different instruction sets in one program: each must run its own code, and all must agree.
#include "function.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

#define COTANGENT_DECLARE(NAME)                                                                                        \
  char const* NAME##_name();                                                                                           \
  double NAME(shared::numbers const& x, shared::numbers const& w, shared::numbers& dw);
COTANGENT_DECLARE(plain)
COTANGENT_DECLARE(avx2)
COTANGENT_DECLARE(avx512)

int main() {
  struct unit {
    char const* abi;
    double (*run)(shared::numbers const&, shared::numbers const&, shared::numbers&);
    bool here;
  };
  __builtin_cpu_init();
  unit const units[]{{plain_name(), plain, true},
                     {avx2_name(), avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
                     {avx512_name(), avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                                                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")}};
  shared::numbers x, w, first, dw;
  for (int k = 0; k < 37; ++k) {
    x(k) = 0.1 * k - 1.5;
    w(k) = 1.0 / (k + 1);
  }
  double const expected = units[0].run(x, w, first);
  int failures = 0;
  for (unit const& u : units) {
    if (!u.here) {
      std::printf("%s: not on this processor\n", u.abi);
      continue;
    }
    dw.fill(0);
    double const value = u.run(x, w, dw);
    double worst = std::abs(value - expected) / std::abs(expected);
    for (int k = 0; k < 37; ++k) worst = std::fmax(worst, std::abs(dw(k) - first(k)));
    std::printf("%s: value %.17g, off by %.2g\n", u.abi, value, worst);
    if (!(worst < 1e-13)) ++failures;
  }
  for (int k = 1; k < 3; ++k)
    if (std::strcmp(units[0].abi, units[k].abi) == 0) {
      std::printf("%s is shared by two units\n", units[k].abi);
      ++failures;
    }
  return failures;
}
