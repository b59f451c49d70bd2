// SPDX-License-Identifier: BSL-1.0
// Adding a block of elements to a view of a tensor (ours) against a copy of as many bytes (by hand), and the gradient of
// overlapping views against a copy of their input.
#include "harness.hpp"
#include "inputs.hpp"

#include <cotangent/dynamic.hpp>
#include <cotangent/kernels/accumulate.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace {

namespace ct = cotangent;

/// A block of rows and columns, with the strides of both sides.
struct placement {
  char const* name;
  std::int64_t from[2], to[2];
};

template <class T>
void measure_blocks(bench::suite& suite) {
  for (std::int64_t const side : {32, 256}) {
    std::int64_t const wide = 2 * side + 5;
    placement const all[] = {
        {"contiguous", {side, 1}, {side, 1}},       {"rows of a window", {side, 1}, {wide, 1}},
        {"columns to rows", {1, side}, {wide, 1}},  {"one row to all", {0, 1}, {wide, 1}},
        {"every second", {side, 1}, {2 * wide, 2}}, {"rows that overlap", {side, 1}, {1, 1}},
    };
    for (placement const& p : all) {
      auto const from = std::make_shared<bench::buffer<T>>(side * side),
                 to = std::make_shared<bench::buffer<T>>(2 * side * wide),
                 plain = std::make_shared<bench::buffer<T>>(side * side);
      bench::numbers().fill(*from, T(-1), T(1));
      bench::comparison c{std::string("interpreter, accumulate, ") + p.name,
                          bench::element_name<T>,
                          std::to_string(side) + "x" + std::to_string(side),
                          side * side,
                          {},
                          {},
                          {},
                          {}};
      c.hand = {bench::named("memcpy", [=] {
        std::memcpy(plain->data(), from->data(), static_cast<std::size_t>(side * side) * sizeof(T));
      })};
      c.ours = {bench::named("accumulate", [=] {
        std::int64_t const extents[2]{side, side};
        ct::kernels::accumulate(2, extents, from->data(), p.from, to->data(), p.to);
      })};
      suite.run(c);
    }
  }
}

template <class T>
void measure_windows(bench::suite& suite) {
  for (std::ptrdiff_t const n : {1000, 65536, 1000000}) {
    auto const x = std::make_shared<bench::buffer<T>>(n), dx = std::make_shared<bench::buffer<T>>(n),
               plain = std::make_shared<bench::buffer<T>>(n);
    bench::numbers().fill(*x, T(-1), T(1));
    bench::comparison c{"interpreter, gradient of three windows",
                        bench::element_name<T>,
                        std::to_string(n),
                        n,
                        {},
                        {},
                        {},
                        {}};
    c.hand = {bench::named(
        "memcpy", [=] { std::memcpy(plain->data(), x->data(), static_cast<std::size_t>(n) * sizeof(T)); })};
    ct::dynamic::graph g;
    auto const gx = g.input<T>("x", {n});
    auto const part = [&](std::int64_t k) { return g.view(gx, {.offset = {k}, .shape = {n - 2}}); };
    auto const a = part(0), b = part(1), d = part(2);
    auto const gd = g.gradient({ct::sum(a * a + 3.0 * b * b + 5.0 * d * d)}, {gx}).front();
    auto const program = std::make_shared<ct::dynamic::program>(g.compile({gd}));
    program->bind(gx, ct::view<T const, "n">(x->data(), n));
    program->bind(gd, ct::view<T, "n">(dx->data(), n));
    program->run();
    for (std::ptrdiff_t k = 2; k + 2 < n; ++k)
      if (T const difference = dx->data()[k] - 18 * x->data()[k];
          difference > T(1e-4) || difference < T(-1e-4))
        std::abort();
    c.ours = {bench::named("interpreter", [=] { program->run(); })};
    suite.run(c);
  }
}

bench::entry const views("interpreter, views", [](bench::suite& suite) {
  measure_blocks<double>(suite);
  measure_blocks<float>(suite);
  measure_windows<double>(suite);
  measure_windows<float>(suite);
});

} // namespace
