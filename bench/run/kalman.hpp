// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_KALMAN_HPP
#define COTANGENT_BENCH_RUN_KALMAN_HPP

#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

// The likelihood of a Kalman filter of four states and two measurements: as `ct::scan`, and by hand with its gradient.

namespace bench::kalman {

using namespace bench::hand;

inline constexpr std::ptrdiff_t steps = 500;

// ---- by hand: a row of four numbers is a vector

using row = simd::pack<double, 4>;
template <int Rows> struct rows {
  row at[Rows];
};
using state = rows<4>;

COTANGENT_INLINE double dot(row const& a, row const& b) { return simd::sum<row>(row(a * b)); }
/// a b
template <int R> COTANGENT_INLINE rows<R> times(rows<R> const& a, state const& b) {
  rows<R> c;
  for (int i = 0; i < R; ++i) c.at[i] = a.at[i][0] * b.at[0] + a.at[i][1] * b.at[1] + a.at[i][2] * b.at[2] + a.at[i][3] * b.at[3];
  return c;
}
COTANGENT_INLINE state transposed(state const& a) {
  row const s = __builtin_shufflevector(a.at[0], a.at[1], 0, 4, 2, 6), t = __builtin_shufflevector(a.at[0], a.at[1], 1, 5, 3, 7),
            u = __builtin_shufflevector(a.at[2], a.at[3], 0, 4, 2, 6), v = __builtin_shufflevector(a.at[2], a.at[3], 1, 5, 3, 7);
  return {__builtin_shufflevector(s, u, 0, 1, 4, 5), __builtin_shufflevector(t, v, 0, 1, 4, 5), __builtin_shufflevector(s, u, 2, 3, 6, 7),
          __builtin_shufflevector(t, v, 2, 3, 6, 7)};
}
/// a' x
template <int R> COTANGENT_INLINE row combined(rows<R> const& a, double const (&x)[R]) {
  row sum = x[0] * a.at[0];
  for (int i = 1; i < R; ++i) sum += x[i] * a.at[i];
  return sum;
}
COTANGENT_INLINE row combined(state const& a, row const& x) {
  return x[0] * a.at[0] + x[1] * a.at[1] + x[2] * a.at[2] + x[3] * a.at[3];
}

/// A step up to what the next state needs; S is the covariance of the innovation v, G = S^-1 H P.
struct update {
  state fp, predicted; // F P, F P F' + q
  row expected;        // F x
  rows<2> a, g;        // H predicted, G
  double inverse[2][2], v[2], w[2], determinant; // S^-1, v, S^-1 v
};
COTANGENT_INLINE update updated(row const& x, state const& p, state const& f, state const& ft, rows<2> const& h, double q, double r,
                                double const* z) {
  update u;
  u.expected = combined(ft, x);
  u.fp = times(f, p);
  u.predicted = times(u.fp, ft);
  u.predicted.at[0][0] += q, u.predicted.at[1][1] += q, u.predicted.at[2][2] += q, u.predicted.at[3][3] += q;
  u.a = times(h, u.predicted);
  double const s00 = dot(u.a.at[0], h.at[0]) + r, s01 = dot(u.a.at[0], h.at[1]), s10 = dot(u.a.at[1], h.at[0]),
               s11 = dot(u.a.at[1], h.at[1]) + r;
  u.determinant = s00 * s11 - s01 * s10;
  double const one = 1 / u.determinant;
  u.inverse[0][0] = s11 * one, u.inverse[0][1] = -s01 * one, u.inverse[1][0] = -s10 * one, u.inverse[1][1] = s00 * one;
  for (int i = 0; i < 2; ++i) {
    u.v[i] = z[i] - dot(h.at[i], u.expected);
    u.g.at[i] = u.inverse[i][0] * u.a.at[0] + u.inverse[i][1] * u.a.at[1];
  }
  for (int i = 0; i < 2; ++i) u.w[i] = u.inverse[i][0] * u.v[0] + u.inverse[i][1] * u.v[1];
  return u;
}

struct filter_results {
  double *value, *noise, *f;
};

template <bool Records>
void filter_sweep(double const* z, double const* noise, double const* f_in, double const* h_in, filter_results const& out, row* tape) {
  constexpr std::ptrdiff_t kept = 5;
  double const q = std::exp(noise[0]), r = std::exp(noise[1]);
  state f;
  rows<2> h;
  for (int i = 0; i < 4; ++i) f.at[i] = simd::load<row>(f_in + 4 * i);
  for (int i = 0; i < 2; ++i) h.at[i] = simd::load<row>(h_in + 4 * i);
  state const ft = transposed(f);
  update* const records = reinterpret_cast<update*>(tape + kept * (steps + 1));
  row x{};
  state p{};
  for (int i = 0; i < 4; ++i) p.at[i][i] = 1;
  double value = 0;
  for (std::ptrdiff_t k = 0; k < steps; ++k) {
    row* const now = tape + kept * k;
    now[0] = x;
    for (int i = 0; i < 4; ++i) now[i + 1] = p.at[i];
    update const u = updated(x, p, f, ft, h, q, r, z + 2 * k);
    if (Records) records[k] = u;
    x = u.expected + combined(u.g, u.v);
    for (int i = 0; i < 4; ++i) p.at[i] = u.predicted.at[i] - u.g.at[0][i] * u.a.at[0] - u.g.at[1][i] * u.a.at[1];
    value += 0.5 * (std::log(u.determinant) + u.v[0] * u.w[0] + u.v[1] * u.w[1]);
  }
  row dx{};
  state dp{}, df{};
  double dq = 0, dr = 0;
  for (std::ptrdiff_t k = steps; k-- > 0;) {
    row const* const now = tape + kept * k;
    x = now[0];
    for (int i = 0; i < 4; ++i) p.at[i] = now[i + 1];
    update const u = Records ? records[k] : updated(x, p, f, ft, h, q, r, z + 2 * k);
    // the next state and covariance
    double dv[2];
    rows<2> dg, da;
    state const dpt = transposed(dp);
    for (int i = 0; i < 2; ++i) {
      dv[i] = dot(u.g.at[i], dx);
      dg.at[i] = u.v[i] * dx - combined(dpt, u.a.at[i]);
      da.at[i] = -combined(dp, u.g.at[i]);
    }
    // the likelihood: half of log |S| + v' S^-1 v
    double const wt[2]{u.inverse[0][0] * u.v[0] + u.inverse[1][0] * u.v[1], u.inverse[0][1] * u.v[0] + u.inverse[1][1] * u.v[1]};
    double ds[2][2];
    for (int i = 0; i < 2; ++i) {
      dv[i] += 0.5 * (u.w[i] + wt[i]);
      for (int j = 0; j < 2; ++j) ds[i][j] = 0.5 * (u.inverse[j][i] - wt[i] * u.w[j]);
    }
    // G = S^-1 A, S = A H' + r
    rows<2> back;
    for (int i = 0; i < 2; ++i) back.at[i] = u.inverse[0][i] * dg.at[0] + u.inverse[1][i] * dg.at[1];
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) ds[i][j] -= dot(back.at[i], u.g.at[j]);
    dr += ds[0][0] + ds[1][1];
    for (int i = 0; i < 2; ++i) da.at[i] += back.at[i] + ds[i][0] * h.at[0] + ds[i][1] * h.at[1];
    // A = H predicted, v = z - H expected
    for (int i = 0; i < 4; ++i) dp.at[i] += h.at[0][i] * da.at[0] + h.at[1][i] * da.at[1];
    row const de = dx - combined(h, dv);
    // predicted = F P F' + q, expected = F x
    dq += dp.at[0][0] + dp.at[1][1] + dp.at[2][2] + dp.at[3][3];
    state const dpf = times(dp, f);
    // (F P' is not F P: the covariance need not be symmetric)
    state const by_f = times(transposed(dp), u.fp);
    state const pt = transposed(p), left = times(dpf, pt);
    for (int i = 0; i < 4; ++i) df.at[i] += left.at[i] + by_f.at[i] + de[i] * x;
    dx = combined(f, de);
    dp = times(ft, dpf);
  }
  *out.value = value;
  out.noise[0] = dq * q, out.noise[1] = dr * r;
  for (int i = 0; i < 4; ++i) simd::store<row>(out.f + 4 * i, df.at[i]);
}

// ---- ours

inline constexpr auto likelihood = [](auto measured, auto log_noise, auto f, auto h) {
  auto const model = ct::exp(log_noise(0)) * ct::eye<double, 4>();
  auto const sensor = ct::exp(log_noise(1)) * ct::eye<double, 2>();
  auto const step = [=](auto carry, auto z) {
    auto const [x, p, total] = carry;
    auto const expected = ct::matmul(f, x);
    auto const predicted = ct::matmul(ct::matmul(f, p), ct::transpose(f)) + model;
    auto const innovation = z - ct::matmul(h, expected);
    auto const a = ct::matmul(h, predicted);
    auto const s = ct::matmul(a, ct::transpose(h)) + sensor;
    auto const gain = ct::transpose(ct::solve(s, a));
    auto const term = 0.5 * (ct::log(ct::determinant(s)) + ct::sum(innovation * ct::solve(s, innovation)));
    auto const next = expected + ct::matmul(gain, innovation);
    return std::pair(std::tuple(next, predicted - ct::matmul(gain, a), total + term), next(0));
  };
  return std::get<2>(ct::scan(step, std::tuple(ct::zeros<double, 4>(), ct::eye<double, 4>(), 0.0), measured).first);
};

/// The measurements, the logarithms of the noise, the matrices, and room for results and the tape of the sweep by hand.
struct problem {
  bench::buffer<double> z{2 * steps}, noise{8}, f{16}, h{8}, df{16}, results{16};
  bench::buffer<row> tape{5 * (steps + 1) + steps * static_cast<std::ptrdiff_t>(sizeof(update) / sizeof(row) + 1)};
  filter_results out{results.data(), results.data() + 8, df.data()};

  problem() {
    bench::numbers().fill(z, -1.0, 1.0);
    // positions and velocities in two axes, whose positions are measured
    for (int i = 0; i < 4; ++i) f.data()[5 * i] = i < 2 ? 1 : 0.95;
    f.data()[2] = f.data()[7] = 0.1;
    h.data()[0] = h.data()[5] = 1;
    h.data()[2] = 0.05;
    noise.data()[0] = -4, noise.data()[1] = -1;
  }
  template <bool Records> void sweep() { filter_sweep<Records>(z.data(), noise.data(), f.data(), h.data(), out, tape.data()); }
};

inline auto written_results(filter_results const& to) {
  return std::vector{bench::written("value", to.value, 1, 100 * steps), bench::written("noise", to.noise, 2, 100 * steps),
                     bench::written("df", to.f, 16, 100 * steps)};
}

} // namespace bench::kalman

#endif
