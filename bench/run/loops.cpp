// SPDX-License-Identifier: BSL-1.0
// Loops inside of functions: recurrences, integrators, a simulation of paths and a recurrent cell, with gradients, against
// reverse sweeps by hand.
#include "graphs.hpp"
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/core/math/hyperbolic.hpp>
#include <cotangent/core/math/trigonometric.hpp>

#include <cmath>
#include <cstddef>
#include <tuple>

namespace {

using namespace bench::hand;

// ---- s <- s w + b and s <- tanh(s w + b), on numbers

inline constexpr int recurrence_steps = 1000;

struct recurrence_results {
  double *value, *ds, *dw, *db;
};

void affine_sweep(double const* x, recurrence_results const& r, double* tape) {
  double s = x[0];
  double const w = x[1], b = x[2];
  for (int i = 0; i < recurrence_steps; ++i) {
    tape[i] = s;
    s = s * w + b;
  }
  double d = 1, dw = 0, db = 0;
  for (int i = recurrence_steps; i-- > 0;) {
    dw += d * tape[i];
    db += d;
    d *= w;
  }
  *r.value = s, *r.ds = d, *r.dw = dw, *r.db = db;
}
template <double (*Tanh)(double)> void tanh_sweep(double const* x, recurrence_results const& r, double* tape) {
  double s = x[0];
  double const w = x[1], b = x[2];
  for (int i = 0; i < recurrence_steps; ++i) {
    tape[i] = s;
    s = Tanh(s * w + b);
  }
  tape[recurrence_steps] = s;
  double d = 1, dw = 0, db = 0;
  for (int i = recurrence_steps; i-- > 0;) {
    double const z = d * (1 - tape[i + 1] * tape[i + 1]);
    dw += z * tape[i];
    db += z;
    d = z * w;
  }
  *r.value = s, *r.ds = d, *r.dw = dw, *r.db = db;
}
inline double own_tanh(double x) { return math::tanh(x); }
inline double std_tanh(double x) { return std::tanh(x); }

inline constexpr auto affine = [](auto s, auto w, auto b) {
  return ct::for_loop(recurrence_steps, [=](auto, auto x) { return x * w + b; }, s);
};
inline constexpr auto tanh_recurrence = [](auto s, auto w, auto b) {
  return ct::for_loop(recurrence_steps, [=](auto, auto x) { return ct::tanh(x * w + b); }, s);
};

template <class F>
void measure_recurrence(bench::suite& suite, char const* name, F f, void (*hand)(double const*, recurrence_results const&, double*),
                        void (*loops)(double const*, recurrence_results const&, double*)) {
  bench::buffer<double> memory(16), tape(recurrence_steps + 1);
  double* const x = memory.data();
  x[0] = .7, x[1] = .9991, x[2] = .001;
  double* const t = tape.data();
  recurrence_results const r{x + 8, x + 9, x + 10, x + 11};
  bench::comparison c{name, "double", std::to_string(recurrence_steps), recurrence_steps, {}, {}, {}, {}};
  c.results = {bench::written("results", r.value, 4, recurrence_steps)};
  c.hand = {bench::named("sweep", [=] { hand(x, r, t); })};
  c.loops = {bench::named("loops", [=] { loops(x, r, t); })};
  bench::run_both<0, 1, 2>(suite, c, f, bench::into(*r.value, *r.ds, *r.dw, *r.db), x[0], x[1], x[2]);
}

// ---- a damped pendulum, by Runge-Kutta steps of the fourth order

inline constexpr int pendulum_steps = 200;
inline constexpr double step = .01;

// Sines and cosines wait on the tape, or are recomputed.
template <double (*Sin)(double), double (*Cos)(double), bool Records>
void pendulum_sweep(double const* x, double* r, double* tape) {
  double q = x[0], v = x[1];
  double const g = x[2], c = x[3], u = x[4], half = step / 2, sixth = step / 6;
  for (int i = 0; i < pendulum_steps; ++i) {
    double* const t = tape + 12 * i;
    auto const force = [&](int k, double angle, double speed) {
      double const sine = Sin(angle);
      t[4 + k] = speed;
      if constexpr (Records) t[k] = sine, t[8 + k] = Cos(angle);
      else t[k] = angle;
      return u - g * sine - c * speed;
    };
    double const k1 = force(0, q, v), q2 = q + half * v, v2 = v + half * k1, k2 = force(1, q2, v2), q3 = q + half * v2,
                 v3 = v + half * k2, k3 = force(2, q3, v3), q4 = q + step * v3, v4 = v + step * k3, k4 = force(3, q4, v4);
    q += sixth * (v + 2 * v2 + 2 * v3 + v4);
    v += sixth * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  double dq = 2 * q, dv = 2 * v, dg = 0, dc = 0, du = 0;
  r[0] = q * q + v * v;
  for (int i = pendulum_steps; i-- > 0;) {
    double const* const t = tape + 12 * i;
    double const dk4 = sixth * dv;
    double dk3 = 2 * dk4, dk2 = 2 * dk4, dk1 = dk4, dv4 = sixth * dq, dv3 = 2 * dv4, dv2 = 2 * dv4, dv1 = dv + dv4;
    auto const back = [&](int k, double dk) { // of a force: the cotangent of its angle
      du += dk;
      dg -= dk * (Records ? t[k] : Sin(t[k]));
      dc -= dk * t[4 + k];
      return -g * (Records ? t[8 + k] : Cos(t[k])) * dk;
    };
    double const a4 = back(3, dk4);
    dv4 -= c * dk4, dq += a4, dv3 += step * a4, dv1 += dv4, dk3 += step * dv4;
    double const a3 = back(2, dk3);
    dv3 -= c * dk3, dq += a3, dv2 += half * a3, dv1 += dv3, dk2 += half * dv3;
    double const a2 = back(1, dk2);
    dv2 -= c * dk2, dq += a2, dv1 += half * a2 + dv2, dk1 += half * dv2;
    dq += back(0, dk1), dv = dv1 - c * dk1;
  }
  r[1] = dq, r[2] = dv, r[3] = dg, r[4] = dc, r[5] = du;
}
inline double own_sin(double x) { return math::sin(x); }
inline double own_cos(double x) { return math::cos(x); }
inline double std_sin(double x) { return std::sin(x); }
inline double std_cos(double x) { return std::cos(x); }

inline constexpr auto pendulum = [](auto q0, auto v0, auto g, auto c, auto u) {
  auto const force = [=](auto angle, auto speed) { return u - g * ct::sin(angle) - c * speed; };
  auto const [last_q, last_v] = ct::for_loop(pendulum_steps, [=](auto, auto q, auto v) {
    auto const k1 = force(q, v);
    auto const v2 = v + step / 2 * k1, k2 = force(q + step / 2 * v, v2);
    auto const v3 = v + step / 2 * k2, k3 = force(q + step / 2 * v2, v3);
    auto const v4 = v + step * k3, k4 = force(q + step * v3, v4);
    return std::tuple(q + step / 6 * (v + 2 * v2 + 2 * v3 + v4), v + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4));
  }, q0, v0);
  return last_q * last_q + last_v * last_v;
};

void measure_pendulum(bench::suite& suite) {
  bench::buffer<double> memory(32), tape(12 * pendulum_steps);
  double* const x = memory.data();
  x[0] = .7, x[1] = .2, x[2] = 9.8, x[3] = .1, x[4] = .3;
  double *const r = x + 8, *const t = tape.data();
  bench::comparison c{"loop: pendulum, Runge-Kutta", "double", std::to_string(pendulum_steps), pendulum_steps, {}, {}, {}, {}};
  c.results = {bench::written("results", r, 6, 10 * pendulum_steps)};
  c.hand = {bench::named("records", [=] { pendulum_sweep<own_sin, own_cos, true>(x, r, t); }),
            bench::named("recomputes", [=] { pendulum_sweep<own_sin, own_cos, false>(x, r, t); })};
  c.loops = {bench::named("loops", [=] { pendulum_sweep<std_sin, std_cos, false>(x, r, t); })};
  bench::run_both<0, 1, 2, 3, 4>(suite, c, pendulum, bench::into(r[0], r[1], r[2], r[3], r[4], r[5]), x[0], x[1], x[2], x[3], x[4]);
}

// ---- paths of a Heston model: spot and variance by Euler steps, the mean payoff and its derivatives

inline constexpr int days = 252;
inline constexpr std::ptrdiff_t paths = 1000;
struct heston_results {
  double *value, *dspot, *dkappa, *dtheta, *dxi;
};

// One block of paths at a time, all days: variance, its root and the spot wait on a tape in the first cache.
void heston_sweep(double const* x, double const* za, double const* zb, heston_results const& r, double* tape) {
  using V = wide<double>;
  constexpr std::ptrdiff_t w = width<double>;
  double const dt = 1. / days, root = std::sqrt(dt);
  V const kappa = math::broadcast<V>(x[1]), theta = math::broadcast<V>(x[2]), xi = math::broadcast<V>(x[3]);
  V sum{}, sum_spot{}, sum_kappa{}, sum_theta{}, sum_xi{};
  for (std::ptrdiff_t p = 0; p < paths; p += w) {
    V const mask = simd::load<V>(za + p), zp = mask, zq = simd::load<V>(zb + p); // (paths are a multiple of the width)
    V s = math::broadcast<V>(x[0]), v = math::broadcast<V>(x[2]);
    for (int i = 0; i < days; ++i) {
      double* const t = tape + 3 * w * i;
      V const q = math::sqrt<V>(larger(v, math::broadcast<V>(1e-8)));
      V const growth = math::exp<V>(-.5 * dt * v + q * (zp * root));
      simd::store<V>(t, v), simd::store<V>(t + w, s * growth), simd::store<V>(t + 2 * w, q);
      s = s * growth;
      v = v + kappa * (theta - v) * dt + xi * q * (zq * root);
    }
    V const gain = s - 1.;
    sum += larger(gain, V{});
    V ds = math::select(gain > V{}, math::broadcast<V>(1. / paths), V{}), dv{};
    for (int i = days; i-- > 0;) {
      double const* const t = tape + 3 * w * i;
      V const v0 = simd::load<V>(t), next = simd::load<V>(t + w), q = simd::load<V>(t + 2 * w);
      V const dlog = ds * next;
      sum_kappa += dv * (theta - v0) * dt;
      sum_theta += dv * kappa * dt;
      sum_xi += dv * q * (zq * root);
      V const dq = dlog * (zp * root) + dv * xi * (zq * root);
      V const dmax = dq * .5 / q;
      dv = dv - dv * kappa * dt - .5 * dt * dlog + math::select(v0 > math::broadcast<V>(1e-8), dmax, V{});
      V const before = i == 0 ? math::broadcast<V>(x[0]) : simd::load<V>(t + w - 3 * w);
      ds = dlog / before;
    }
    sum_spot += ds;
    sum_theta += dv; // the variance starts at theta
  }
  *r.value = simd::sum<V>(sum) / paths, *r.dspot = simd::sum<V>(sum_spot), *r.dkappa = simd::sum<V>(sum_kappa);
  *r.dtheta = simd::sum<V>(sum_theta), *r.dxi = simd::sum<V>(sum_xi);
}

inline constexpr auto heston = [](auto spot, auto kappa, auto theta, auto xi, auto za, auto zb) {
  double const dt = 1. / days, root = 0.062994078834871203; // of dt
  auto const [s, v] = ct::for_loop(days, [=](auto, auto s0, auto v0) {
    auto const q = ct::sqrt(ct::max(v0, 1e-8));
    return std::tuple(s0 * ct::exp(-.5 * dt * v0 + q * (za * root)), v0 + kappa * (theta - v0) * dt + xi * q * (zb * root));
  }, spot + 0. * za, theta + 0. * zb);
  return ct::mean(ct::max(s - 1., 0.));
};

void measure_heston(bench::suite& suite) {
  bench::buffer<double> memory(32), za(paths), zb(paths), tape(3 * 8 * days);
  bench::numbers random;
  random.fill(za, -1.5, 1.5);
  random.fill(zb, -1.5, 1.5);
  double* const x = memory.data();
  x[0] = 1, x[1] = 2, x[2] = .04, x[3] = .3;
  double *const t = tape.data(), *const a = za.data(), *const b = zb.data();
  heston_results const r{x + 8, x + 9, x + 10, x + 11, x + 12};
  bench::comparison c{"loop: Heston, paths", "double", "252x1000", paths, {}, {}, {}, {}};
  c.results = {bench::written("results", r.value, 5, 200 * days)};
  c.hand = {bench::named("a block of paths at a time", [=] { heston_sweep(x, a, b, r, t); })};
  using row = ct::view<double const, paths>;
  bench::run_both<0, 1, 2, 3>(suite, c, heston, bench::into(*r.value, *r.dspot, *r.dkappa, *r.dtheta, *r.dxi), x[0], x[1], x[2], x[3],
                              row(a), row(b));
}

bench::entry const e("loop: affine recurrence", [](bench::suite& suite) {
  measure_recurrence(suite, "loop: affine recurrence", affine, affine_sweep, affine_sweep);
  measure_recurrence(suite, "loop: tanh recurrence", tanh_recurrence, tanh_sweep<own_tanh>, tanh_sweep<std_tanh>);
  measure_pendulum(suite);
  measure_heston(suite);
});

} // namespace
