// SPDX-License-Identifier: BSL-1.0
#include "ways.hpp"

#include <cotangent/eager.hpp>

#include "functions.hpp"

#include <memory>

namespace choose {

namespace {

using ct::dynamic::variable;

task gradient_of(std::vector<double> const& w, std::vector<double> const& x) {
  struct state {
    ct::dynamic::eager e;
    variable<double> w, x;
  };
  auto s = std::make_shared<state>();
  s->w = s->e.parameter(w, {static_cast<std::int64_t>(w.size())});
  s->x = s->e.constant(x, {static_cast<std::int64_t>(x.size())});
  return [s] {
    // [eager]
    auto const value = loss(s->w, s->x);
    auto const dw = s->e.grad({value}, {s->w}).front();
    // [/eager]
    return double(value.item()) + dw.value().data()[0];
  };
}

template <class Start>
task loop_from(Start const& start) {
  struct state {
    ct::dynamic::eager e;
    variable<double> x;
  };
  auto s = std::make_shared<state>();
  s->x = s->e.parameter(start);
  return [s] {
    variable<double> h = s->x;
    for (int k = 0; k < iterations; ++k) h = iteration(h);
    auto const value = ct::sum(h);
    auto const dx = s->e.grad({value}, {s->x}).front();
    return double(value.item()) + dx.value().data()[0];
  };
}

struct trained {
  ct::dynamic::eager e;
  variable<float> w1, b1, w2, b2, x;
  variable<std::int32_t> labels;
  ct::dynamic::trainer<ct::sgd> t;
  explicit trained(data const& d)
      : w1(e.parameter(d.w1, {64, 32})), b1(e.parameter(d.b1, {32})), w2(e.parameter(d.w2, {32, 10})),
        b2(e.parameter(d.b2, {10})), x(e.constant(d.images, {50, 64})), labels(e.constant(d.labels, {50})),
        t(ct::sgd{.learning_rate = 0.01}, {w1, b1, w2, b2}) {}
  double step() {
    auto const value = network(w1, b1, w2, b2, x, labels);
    t.minimize(e, value);
    return value.item();
  }
};

} // namespace

tasks eager(data const& d) {
  auto const t = std::make_shared<trained>(d);
  return {"eager mode",
          gradient_of(d.w3, d.x3),
          gradient_of(d.w65536, d.x65536),
          [t] { return t->step(); },
          loop_from(0.25),
          loop_from(d.start1000),
          [&d] { return trained(d).step(); }};
}

} // namespace choose
