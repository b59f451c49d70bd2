// SPDX-License-Identifier: BSL-1.0
// Emitted C++ text against the static programs that it was emitted from.
#include "../emit/calls.hpp"
#include "../emit/functions.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace {

using namespace bench::emitted;

/// Memory of all cases, which lives as long as their contestants.
struct memory {
  bench::buffer<unsigned char> workspace{1 << 18};
  bench::buffer<double> x{4096}, value{1}, dx{4096};
  bench::buffer<float> w1{64 * 32}, b1{32}, w2{32 * 10}, b2{10}, images{50 * 64}, loss{1}, dw1{64 * 32}, db1{32}, dw2{32 * 10}, db2{10};
  bench::buffer<std::int32_t> labels{50};

  memory() {
    bench::numbers random;
    random.fill(x, -1., 1.);
    for (auto* const of : {&w1, &b1, &w2, &b2, &images}) random.fill(*of, -0.5f, 0.5f);
    for (std::int32_t k = 0; k < 50; ++k) labels.data()[k] = k % 10;
  }
};

bench::comparison of_doubles(std::string name, memory& m, std::ptrdiff_t n) {
  bench::comparison c{std::move(name), "double", std::to_string(n), n, {}, {}, {}, {}};
  c.results = {bench::written("value", m.value.data(), 1, n), bench::written("dx", m.dx.data(), n)};
  return c;
}
void compare(bench::suite& to, bench::comparison c, bench::contestant program, bench::contestant text) {
  program.name = "static program";
  c.hand = {std::move(program)};
  c.ours = {std::move(text)};
  to.run(c);
}

void measure(bench::suite& to, std::string const& how, calls const& emitted) {
  auto const m = std::make_shared<memory>();
  double const* const x = m->x.data();
  double *const value = m->value.data(), *const dx = m->dx.data();
  void* const workspace = m->workspace.data();
  compare(to, of_doubles(how + "Rosenbrock", *m, 2),
          bench::ours(ct::value_and_grad(rosenbrock), bench::into(*value, ct::view<double, 2>(dx)), ct::view<double const, 2>(x)),
          bench::named("emitted", [=, keep = m] { emitted.rosenbrock(x, value, dx); }));
  compare(to, of_doubles(how + "log-sum-exp", *m, 4096),
          bench::ours(ct::value_and_grad(log_sum_exp), bench::into(*value, ct::view<double, 4096>(dx)), ct::view<double const, 4096>(x)),
          bench::named("emitted", [=, keep = m] { emitted.log_sum_exp(x, value, dx, workspace); }));
  compare(to, of_doubles(how + "pendulum", *m, 3),
          bench::ours(ct::value_and_grad<0, 1, 2>(pendulum), bench::into(*value, dx[0], dx[1], dx[2]), x[0], x[1], x[2]),
          bench::named("emitted", [=, keep = m] { emitted.pendulum(x, value, dx, workspace); }));

  bench::comparison c{how + "digits", "float", "50", 50, {}, {}, {}, {}};
  c.results = {bench::written("value", m->loss.data(), 1, 64), bench::written("w1", m->dw1.data(), 64 * 32, 64),
               bench::written("b1", m->db1.data(), 32, 64), bench::written("w2", m->dw2.data(), 320, 64), bench::written("b2", m->db2.data(), 10, 64)};
  digits_results const results{m->loss.data(), m->dw1.data(), m->db1.data(), m->dw2.data(), m->db2.data()};
  compare(to, c,
          bench::ours(ct::value_and_grad<0, 1, 2, 3>(digits),
                      bench::into(*results.value, ct::view<float, 64, 32>(results.w1), ct::view<float, 32>(results.b1),
                                  ct::view<float, 32, 10>(results.w2), ct::view<float, 10>(results.b2)),
                      ct::view<float const, 64, 32>(m->w1.data()), ct::view<float const, 32>(m->b1.data()),
                      ct::view<float const, 32, 10>(m->w2.data()), ct::view<float const, 10>(m->b2.data()),
                      ct::view<float const, 50, 64>(m->images.data()), ct::view<std::int32_t const, 50>(m->labels.data())),
          bench::named("emitted", [=, keep = m] {
            emitted.digits(keep->w1.data(), keep->b1.data(), keep->w2.data(), keep->b2.data(), keep->images.data(), keep->labels.data(), results,
                           workspace);
          }));
}

bench::entry const cases("emitted", [](bench::suite& suite) {
  measure(suite, "emitted, ", exact);
  measure(suite, "emitted with -ffast-math, ", fast);
});

} // namespace
