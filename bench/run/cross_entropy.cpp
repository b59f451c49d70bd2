// SPDX-License-Identifier: BSL-1.0
// Mean cross-entropy of the softmax of each row against its label, with the gradient in the logits.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace {

using namespace bench::hand;

using label = std::int32_t;

template <class T, std::ptrdiff_t C>
struct row_shape {
  static constexpr std::ptrdiff_t lanes = width<T>, parts = (C + lanes - 1) / lanes,
                                  rest = C - (parts - 1) * lanes;
  static constexpr bool ragged = rest != lanes;
};

// The last register of a row; `other` where the row has ended.
template <class T, std::ptrdiff_t C>
COTANGENT_INLINE wide<T> load_last(T const* row, T other) {
  using S = row_shape<T, C>;
  T const* const p = row + (S::parts - 1) * S::lanes;
  if constexpr (S::ragged) return load_or<wide<T>>(p, S::rest, other);
  else return simd::load<wide<T>>(p);
}

template <class T, std::ptrdiff_t C>
COTANGENT_INLINE void store_last(T* row, wide<T> const& v) {
  using S = row_shape<T, C>;
  if constexpr (S::ragged) simd::store(row + (S::parts - 1) * S::lanes, v, S::rest);
  else simd::store(row + (S::parts - 1) * S::lanes, v);
}

template <class T, std::ptrdiff_t C>
COTANGENT_INLINE wide<T> row_maximum(T const* row) {
  using V = wide<T>;
  using S = row_shape<T, C>;
  V m[4] = {load_last<T, C>(row, row[0]), math::broadcast<V>(row[0]), math::broadcast<V>(row[0]),
            math::broadcast<V>(row[0])};
  std::ptrdiff_t k = 0;
  for (; k + 4 <= S::parts - 1; k += 4)
    for (std::ptrdiff_t j = 0; j < 4; ++j) m[j] = larger(simd::load<V>(row + (k + j) * S::lanes), m[j]);
  for (; k < S::parts - 1; ++k) m[k % 4] = larger(simd::load<V>(row + k * S::lanes), m[k % 4]);
  return larger(larger(m[0], m[1]), larger(m[2], m[3]));
}

// exp(row - m) into out; their sums by lanes.
template <class T, std::ptrdiff_t C>
COTANGENT_INLINE wide<T> exponentials(T const* row, wide<T> const& m, T maximum, T* out) {
  using V = wide<T>;
  using S = row_shape<T, C>;
  V s0 = math::exp<V>(load_last<T, C>(row, maximum) - m), s1{};
  store_last<T, C>(out, s0);
  if constexpr (S::ragged) s0 = math::select(simd::first<math::mask_t<V>>(S::rest), s0, V{});
  std::ptrdiff_t k = 0;
  for (; k + 2 <= S::parts - 1; k += 2) {
    V const a = math::exp<V>(simd::load<V>(row + k * S::lanes) - m),
            b = math::exp<V>(simd::load<V>(row + (k + 1) * S::lanes) - m);
    simd::store(out + k * S::lanes, a), simd::store(out + (k + 1) * S::lanes, b);
    s0 += a, s1 += b;
  }
  if (k < S::parts - 1) {
    V const a = math::exp<V>(simd::load<V>(row + k * S::lanes) - m);
    simd::store(out + k * S::lanes, a);
    s1 += a;
  }
  return s0 + s1;
}

// sum(log(s) + rest), as many at a time as a register holds.
template <class T>
T sum_of_losses(T const* s, T const* rest, std::ptrdiff_t count) {
  using V = wide<T>;
  V total{};
  for (std::ptrdiff_t i = 0; i < count; i += width<T>)
    total += math::log<V>(load_or<V>(s + i, count - i, 1)) + simd::load<V>(rest + i, count - i);
  return simd::sum<V>(total);
}

// The logarithms of all rows at the end, together.
template <class T, std::ptrdiff_t R, std::ptrdiff_t C>
void row_by_row(T const* z, label const* labels, T* value, T* dz) {
  using V = wide<T>;
  using S = row_shape<T, C>;
  constexpr T each = T(1) / static_cast<T>(R);
  T sums[R], rest[R];
  for (std::ptrdiff_t r = 0; r < R; ++r) {
    T const* const row = z + r * C;
    T* const out = dz + r * C;
    if constexpr (S::parts == 1) { // everything in one register
      V const x = load_last<T, C>(row, lowest<T>);
      auto const inside = simd::first<math::mask_t<V>>(C);
      T const m = largest(x);
      V const top = math::broadcast<V>(m),
              e = math::select(inside, math::exp<V>(math::select(inside, x, top) - top), V{});
      T const s = simd::sum<V>(e);
      sums[r] = s, rest[r] = m - row[labels[r]];
      using B = math::bits_t<V>;
      auto const hit = simd::iota<B>(0) == math::broadcast<B>(labels[r]);
      store_last<T, C>(out,
                       e * math::broadcast<V>(each / s) - math::select(hit, math::broadcast<V>(each), V{}));
    } else {
      T const m = largest(row_maximum<T, C>(row)),
              s = simd::sum<V>(exponentials<T, C>(row, math::broadcast<V>(m), m, out));
      sums[r] = s, rest[r] = m - row[labels[r]];
      V const q = math::broadcast<V>(each / s);
      for (std::ptrdiff_t k = 0; k < S::parts - 1; ++k)
        simd::store<V>(out + k * S::lanes, simd::load<V>(out + k * S::lanes) * q);
      if constexpr (S::ragged)
        simd::store<V>(out + C - S::rest, simd::load<V>(out + C - S::rest, S::rest) * q, S::rest);
      else simd::store<V>(out + C - S::rest, simd::load<V>(out + C - S::rest) * q);
      out[labels[r]] -= each;
    }
  }
  *value = sum_of_losses(sums, rest, R) * each;
}

// As many rows at a time as a register has lanes, one in each lane.
template <class T, std::ptrdiff_t R, std::ptrdiff_t C>
void rows_in_lanes(T const* z, label const* labels, T* value, T* dz) {
  using V = wide<T>;
  using B = math::bits_t<V>;
  using S = row_shape<T, C>;
  constexpr std::ptrdiff_t w = S::lanes;
  constexpr T each = T(1) / static_cast<T>(R);
  static_assert(R % w == 0);
  V loss{};
  for (std::ptrdiff_t first = 0; first < R; first += w) {
    T const* const rows = z + first * C;
    V t[S::parts * w];
    for (std::ptrdiff_t k = 0; k < S::parts; ++k) {
      V tile[w];
      for (std::ptrdiff_t r = 0; r < w; ++r)
        tile[r] = k + 1 < S::parts || !S::ragged ? simd::load<V>(rows + r * C + k * w)
                                                 : simd::load<V>(rows + r * C + k * w, S::rest);
      simd::transpose(tile);
      for (std::ptrdiff_t r = 0; r < w; ++r) t[k * w + r] = tile[r];
    }
    V m[2] = {t[0], t[1]};
    for (std::ptrdiff_t c = 2; c < C; ++c) m[c % 2] = larger(t[c], m[c % 2]);
    V const top = larger(m[0], m[1]);
    B const wanted = math::convert<B>(simd::load<math::with_lane<V, label>>(labels + first));
    V s{}, chosen{};
    for (std::ptrdiff_t c = 0; c < C; ++c) {
      chosen = math::select(wanted == math::broadcast<B>(static_cast<math::lane_t<B>>(c)), t[c], chosen);
      t[c] = math::exp<V>(t[c] - top);
      s += t[c];
    }
    loss += math::log<V>(s) + top - chosen;
    V const q = math::broadcast<V>(each) / s;
    for (std::ptrdiff_t c = 0; c < C; ++c)
      t[c] = t[c] * q - math::select(wanted == math::broadcast<B>(static_cast<math::lane_t<B>>(c)),
                                     math::broadcast<V>(each), V{});
    for (std::ptrdiff_t k = 0; k < S::parts; ++k) {
      V tile[w];
      for (std::ptrdiff_t r = 0; r < w; ++r) tile[r] = k * w + r < C ? t[k * w + r] : V{};
      simd::transpose(tile);
      for (std::ptrdiff_t r = 0; r < w; ++r)
        if (k + 1 < S::parts || !S::ragged) simd::store(dz + (first + r) * C + k * w, tile[r]);
        else simd::store(dz + (first + r) * C + k * w, tile[r], S::rest);
    }
  }
  *value = simd::sum<V>(loss) * each;
}

// As many rows at a time as a register has lanes, each by itself, but reduced together.
template <class T, std::ptrdiff_t R, std::ptrdiff_t C>
void tiled(T const* z, label const* labels, T* value, T* dz) {
  using V = wide<T>;
  using S = row_shape<T, C>;
  constexpr std::ptrdiff_t w = S::lanes;
  constexpr T each = T(1) / static_cast<T>(R);
  static_assert(R % w == 0);
  V loss{};
  for (std::ptrdiff_t first = 0; first < R; first += w) {
    T const* const rows = z + first * C;
    T* const out = dz + first * C;
    V v[w];
    alignas(64) T tops[w], scales[w], chosen[w];
    for (std::ptrdiff_t r = 0; r < w; ++r) {
      v[r] = row_maximum<T, C>(rows + r * C);
      chosen[r] = rows[r * C + labels[first + r]];
    }
    V const top = reduce_each<w / 2>(v, [](V const& a, V const& b) { return larger(a, b); });
    simd::store(tops, top);
    V e[w]; // of rows which fit a register
    for (std::ptrdiff_t r = 0; r < w; ++r)
      if constexpr (S::parts == 1) {
        auto const inside = simd::first<math::mask_t<V>>(C);
        e[r] = math::select(
            inside, math::exp<V>(load_last<T, C>(rows + r * C, tops[r]) - math::broadcast<V>(tops[r])), V{});
        v[r] = e[r];
      } else v[r] = exponentials<T, C>(rows + r * C, math::broadcast<V>(tops[r]), tops[r], out + r * C);
    V const s = reduce_each<w / 2>(v, [](V const& a, V const& b) { return V(a + b); });
    simd::store<V>(scales, math::broadcast<V>(each) / s);
    loss += math::log<V>(s) + (top - simd::load<V>(chosen));
    for (std::ptrdiff_t r = 0; r < w; ++r) {
      V const q = math::broadcast<V>(scales[r]);
      T* const row = out + r * C;
      label const l = labels[first + r];
      if constexpr (S::parts == 1) {
        using B = math::bits_t<V>;
        store_last<T, C>(row, e[r] * q - math::select(simd::iota<B>(0) == math::broadcast<B>(l),
                                                      math::broadcast<V>(each), V{}));
      } else {
        for (std::ptrdiff_t k = 0; k < S::parts - 1; ++k)
          simd::store<V>(row + k * w, simd::load<V>(row + k * w) * q);
        simd::store<V>(row + C - S::rest, simd::load<V>(row + C - S::rest, S::rest) * q, S::rest);
        row[l] -= each;
      }
    }
  }
  *value = simd::sum<V>(loss) * each;
}

template <class T>
void loops(T const* z, label const* labels, T* value, T* dz, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  double loss = 0;
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    T const* const row = z + r * columns;
    T* const out = dz + r * columns;
    T const m = *std::max_element(row, row + columns);
    T s = 0;
    for (std::ptrdiff_t c = 0; c < columns; ++c) s += out[c] = std::exp(row[c] - m);
    loss += std::log(s) + m - row[labels[r]];
    for (std::ptrdiff_t c = 0; c < columns; ++c) out[c] /= s * static_cast<T>(rows);
    out[labels[r]] -= T(1) / static_cast<T>(rows);
  }
  *value = static_cast<T>(loss) / static_cast<T>(rows);
}

inline constexpr auto loss_of_rows = [](auto z, auto labels) {
  return ct::mean(ct::cross_entropy(z, labels));
};

template <class T, std::ptrdiff_t R, std::ptrdiff_t C>
void measure(bench::suite& suite) {
  bench::buffer<T> z(R * C), dz(R * C), value(1);
  bench::buffer<label> labels(R);
  bench::numbers random;
  random.fill(z, T(-4), T(4));
  for (label& l : labels) l = random.below(static_cast<label>(C));
  T *pz = z.data(), *pv = value.data(), *pd = dz.data();
  label const* const pl = labels.data();
  bench::comparison c{"cross-entropy",
                      bench::element_name<T>,
                      std::to_string(R) + 'x' + std::to_string(C),
                      R * C,
                      {},
                      {},
                      {},
                      {}};
  c.results = {bench::written("value", pv, 1, R), bench::written("dz", pd, R * C, C)};
  c.hand = {bench::named("row by row", [=] { row_by_row<T, R, C>(pz, pl, pv, pd); })};
  if constexpr (R % width<T> == 0) {
    if constexpr (C <= 128)
      c.hand.push_back(bench::named("rows in lanes", [=] { rows_in_lanes<T, R, C>(pz, pl, pv, pd); }));
    c.hand.push_back(bench::named("tiled", [=] { tiled<T, R, C>(pz, pl, pv, pd); }));
  }
  c.loops = {bench::named("loops", [=] { loops(pz, pl, pv, pd, R, C); })};
  c.ours = {bench::ours(ct::value_and_grad<0>(loss_of_rows), bench::into(*pv, ct::view<T, R, C>(pd)),
                        ct::view<T const, R, C>(pz), ct::view<label const, R>(pl))};
  suite.run(c);
}

template <class T>
void measure_all(bench::suite& suite) {
  measure<T, 64, 10>(suite), measure<T, 64, 128>(suite), measure<T, 8, 1000>(suite);
}

bench::entry const e("cross-entropy",
                     [](bench::suite& suite) { measure_all<double>(suite), measure_all<float>(suite); });

} // namespace
