// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ARCHIVE_CASES_HPP
#define COTANGENT_TESTS_ARCHIVE_CASES_HPP

#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include <string>
#include <tuple>
#include <vector>

// A small graph in which there is one of everything that a file has to keep.

namespace archive_cases {

namespace ct = cotangent;

/// x / (1 + |x|), which is no operation of the library.
struct softsign : ct::extend::elementwise<1> {
  static constexpr char const* name = "softsign";
  static constexpr float cost = 6;
  template <class V> static constexpr V apply(V x) {
    return static_cast<V>(x / (ct::math::broadcast<V>(1) + ct::math::abs(x)));
  }
  static constexpr ct::term partial(ct::rule const& r, int) {
    ct::term const shrunk = 1 - ct::extend::apply<ct::op::abs>(r.y());
    return shrunk * shrunk;
  }
};

/// Views that are read and written, a tensor of which a part is never written, loops and branches in each other, constants,
/// parameters, integers, gradients and a gradient of one.
struct everything {
  ct::dynamic::graph g;
  ct::dynamic::expr<double> x, w, table, loss, dw, curvature;
  ct::dynamic::expr<std::int64_t> n;
  std::vector<double> x_data{.3, -.4, .5, .9}, w_data{.7, -.2};

  explicit everything(bool own_operation = false) {
    x = g.input<double>("x", {4});
    w = g.parameter<double>("w", {2});
    n = g.input<std::int64_t>("n");
    table = g.tensor<double>("table", {3, 2});
    g.write(g.view(table, {.shape = {1, 2}}), ct::tanh(w));
    g.write(g.view(table, {.offset = {2, 1}, .shape = {1, 1}}), ct::reshape(ct::sum(x), {1, 1}));
    auto const diagonal = g.view(table, {.shape = {2}, .stride = {3}}); // (0, 0) and (1, 1)
    auto const weights = g.constant(std::vector<double>{1, .5});
    auto const [s, t] = ct::while_loop(
        [&](auto i, auto a, auto) { return i < n && ct::sum(a) < 20.0; },
        [&](auto i, auto a, auto b) {
          auto const which = ct::convert<std::int32_t>(i) - 1;
          auto const next = ct::case_of(
              which, [&](auto p) { return ct::sin(p) * w; },
              [&](auto p) { return ct::for_loop(2, [&](auto, auto q) { return q * weights + p; }, p); })(a);
          return std::tuple(next + b, next);
        },
        w * diagonal, weights);
    auto total = ct::sum(s * t) + ct::sum(table * table);
    if (own_operation)
      total = total + ct::sum(ct::extend::apply<softsign>(std::source_location::current(), x));
    loss = total;
    dw = g.gradient({loss}, {w}).front();
    curvature = g.gradient({ct::sum(dw * dw)}, {x}).front();
  }

  std::string bytes() const {
    std::vector<double> X = x_data, W = w_data;
    return ct::archive::bytes_of(g, {{x, X}, {w, W}},
                                 {{"loss", loss}, {"the slope", dw}, {"curvature", curvature}});
  }
};

/// What a graph gives for so many iterations, as bytes.
template <class Program, class... E>
std::string results(Program& p, ct::dynamic::expr<std::int64_t> const& n, E const&... y) {
  std::string all;
  for (std::int64_t k = 0; k < 5; ++k) {
    p.bind(n, std::int64_t{k});
    p.run();
    (all.append(reinterpret_cast<char const*>(p.value(y).data()),
                sizeof(double) * static_cast<std::size_t>(p.value(y).size())),
     ...);
  }
  return all;
}
inline std::string results(everything& e) {
  auto p = e.g.compile({e.loss, e.dw, e.curvature}, {{e.x, e.x_data}, {e.w, e.w_data}});
  return results(p, e.n, e.loss, e.dw, e.curvature);
}
inline std::string results(ct::archive::contents& c) {
  auto const loss = c.find<double>("loss"), dw = c.find<double>("the slope"),
             curvature = c.find<double>("curvature");
  auto p = c.graph.compile({loss, dw, curvature}, c.binds());
  return results(p, c.find<std::int64_t>("n"), loss, dw, curvature);
}

} // namespace archive_cases

#endif
