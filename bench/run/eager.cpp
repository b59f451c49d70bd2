// SPDX-License-Identifier: BSL-1.0
// The cost of an operation in eager mode (ours) against plain loops (by hand), one for each operation. A gradient is compared
// with the static program, which fuses all operations into one loop. For 16 elements, the time divided by the 33 operations is
// the cost of one operation.
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/eager.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int pairs_of_operations = 16;
inline constexpr auto products = [](auto x) {
  auto y = x * 0.25;
  for (int k = 0; k < pairs_of_operations; ++k) y = y * x + 0.125 * (k % 5 - 2);
  return y;
};
inline constexpr auto summed = [](auto x) { return ct::sum(products(x)); };

bench::comparison comparison_of(char const* name, std::ptrdiff_t n) {
  return {name, bench::element_name<double>, std::to_string(n), n, {}, {}, {}, {}};
}

struct recorded {
  ct::dynamic::eager e;
  ct::dynamic::variable<double> x;
  recorded(double const* from, std::ptrdiff_t n, bool tracked) {
    ct::view<double const, "n"> const elements(from, n);
    x = tracked ? e.parameter(elements) : e.constant(elements);
  }
};

void measure_value(bench::suite& suite, std::ptrdiff_t n, bool tracked) {
  bench::buffer<double> x(n), y(n);
  bench::numbers().fill(x, -1.0, 1.0);
  auto c = comparison_of(tracked ? "interpreter, eager, recorded" : "interpreter, eager, not recorded", n);
  c.results = {bench::written("y", y.data(), n)};
  c.hand = {bench::named("a loop for each operation", [n, from = x.data(), to = y.data()] {
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i] * 0.25;
    for (int k = 0; k < pairs_of_operations; ++k) {
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = to[i] * from[i];
      asm volatile("" : : "r"(to) : "memory");
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = to[i] + 0.125 * (k % 5 - 2);
      asm volatile("" : : "r"(to) : "memory");
    }
  })};
  auto const r = std::make_shared<recorded>(x.data(), n, tracked);
  c.ours = {bench::named("eager", [r, n, to = y.data()] {
    auto const z = products(r->x);
    std::memcpy(to, z.value().data(), static_cast<std::size_t>(n) * sizeof(double));
  })};
  suite.run(c);
}

void measure_gradient(bench::suite& suite, std::ptrdiff_t n) {
  bench::buffer<double> x(n), dx(n);
  bench::numbers().fill(x, -1.0, 1.0);
  auto c = comparison_of("interpreter, eager, gradient", n);
  c.results = {bench::written("dx", dx.data(), n)};
  auto fixed = bench::ours(ct::grad(summed), bench::into(ct::view<double, "n">(dx.data(), n)),
                           ct::view<double const, "n">(x.data(), n));
  fixed.name = "static program";
  c.hand = {fixed};
  auto const r = std::make_shared<recorded>(x.data(), n, true);
  c.ours = {bench::named("eager", [r, n, to = dx.data()] {
    auto const d = r->e.grad({summed(r->x)}, {r->x});
    std::memcpy(to, d.front().value().data(), static_cast<std::size_t>(n) * sizeof(double));
  })};
  suite.run(c);
}

bench::entry const eager("interpreter, eager", [](bench::suite& suite) {
  for (std::ptrdiff_t const n : {std::ptrdiff_t{16}, std::ptrdiff_t{1000}, std::ptrdiff_t{65536}}) {
    measure_value(suite, n, false);
    measure_value(suite, n, true);
    measure_gradient(suite, n);
  }
});

} // namespace
