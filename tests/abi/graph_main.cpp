// SPDX-License-Identifier: BSL-1.0
// Run-time graphs of two units with different instruction sets, in one program.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

double plain_graph(std::vector<double> const& x);
double avx2_graph(std::vector<double> const& x);

int main() {
#if defined(__GNUC__)
  bool const has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  bool const has_avx2 = false;
#endif
  for (std::size_t const n : {std::size_t{3}, std::size_t{40}, std::size_t{1000}, std::size_t{20000}}) {
    std::vector<double> x(n);
    double expected = 0;
    for (std::size_t k = 0; k < n; ++k) {
      double const v = x[k] = 0.1 * static_cast<double>(k % 17) - 0.8;
      double const t = std::tanh(0.7 * v), q = 1 + v * v;
      expected += (t - 0.5) * (t - 0.5) + std::exp(v) / q + 1.4 * (t - 0.5) * (1 - t * t) + std::exp(v) * (q - 2 * v) / (q * q);
    }
    expected /= static_cast<double>(n);
    double const plain = plain_graph(x), wide = has_avx2 ? avx2_graph(x) : plain;
    if (std::fabs(plain - expected) < 1e-12 && std::fabs(wide - expected) < 1e-12) continue;
    std::printf("of %zu numbers: %.15g with the plain flags, %.15g with AVX2; expected %.15g\n", n, plain, wide, expected);
    return 1;
  }
}
